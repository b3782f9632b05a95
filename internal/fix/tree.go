package fix

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/mod/modfile"

	"github.com/hone-perf/hone/internal/gocmd"
	"github.com/hone-perf/hone/internal/scratch"
	"github.com/hone-perf/hone/internal/unit"
)

// A tree is a module and two copies of it, in which patches are tried.
type tree struct {
	dir  string // where the user is
	mod  string // root of the module
	root string // of what is copied: the module, or the workspace that it is in
	uses string // name of the file in root that says which modules are in the workspace; "" is no workspace
	path string // of the module
	vers string // of Go

	work     string // folder of the copies, thrown away in the end
	old, now string // copies of root: with all that was kept, and with the patch at hand

	was map[string][]byte // files of the module that were changed, as they were in the beginning
}

// What is copied at most.
const (
	maxFiles = 200_000
	maxBytes = 4 << 30
)

// openTree copies the module that a folder is in.
func openTree(ctx context.Context, dir string) (*tree, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	if dir, err = filepath.EvalSymlinks(dir); err != nil {
		return nil, err
	}
	about, err := gocmd.Command{Dir: dir}.About(ctx)
	if err != nil {
		return nil, err
	}
	if about.GOMOD == "" || about.GOMOD == os.DevNull {
		return nil, gocmd.NoModule(dir)
	}
	t := &tree{dir: dir, vers: about.GOVERSION + " " + about.GOOS + "/" + about.GOARCH, was: make(map[string][]byte)}
	if t.mod, err = filepath.EvalSymlinks(filepath.Dir(about.GOMOD)); err != nil {
		return nil, err
	}
	t.root = t.mod
	if about.GOWORK != "" && about.GOWORK != "off" {
		if top, err := filepath.EvalSymlinks(filepath.Dir(about.GOWORK)); err == nil && below(t.mod, top) {
			t.root, t.uses = top, filepath.Base(about.GOWORK)
		}
	}
	if t.work, err = scratch.Dir("fix-"); err != nil {
		return nil, err
	}
	if t.work, err = filepath.EvalSymlinks(t.work); err == nil {
		err = t.copies(ctx)
	}
	if err != nil {
		t.close()
		return nil, err
	}
	return t, nil
}

func below(name, dir string) bool {
	rel, err := filepath.Rel(dir, name)
	return err == nil && filepath.IsLocal(rel)
}

func (t *tree) close() { os.RemoveAll(t.work) }

func (t *tree) copies(ctx context.Context) error {
	base := filepath.Base(t.root) // tests may know the name of their folder
	t.old, t.now = filepath.Join(t.work, "old", base), filepath.Join(t.work, "new", base)
	linked, err := ignored(ctx, t.root)
	if err != nil {
		return fmt.Errorf("listing the files that git ignores in %s: %w", t.root, err)
	}
	for _, to := range []string{t.old, t.now} {
		if err := copyTree(ctx, to, t.root, t.work, linked); err != nil {
			return fmt.Errorf("copying %s: %w", t.root, err)
		}
		if err := t.mendMod(to); err != nil {
			return fmt.Errorf("copying go.mod: %w", err)
		}
		if err := t.mendWork(to); err != nil {
			return fmt.Errorf("copying %s: %w", t.uses, err)
		}
	}
	return nil
}

// skipped reports whether a folder holds nothing that is built or tested: what version control keeps for itself, and packages of JavaScript.
func skipped(name string) bool {
	return slices.Contains([]string{".git", ".hg", ".svn", "node_modules"}, name)
}

// copyTree copies a folder, without another folder that may be in it. What is named in linked becomes a link to the original.
func copyTree(ctx context.Context, to, from, without string, linked map[string]bool) error {
	files, bytes := 0, int64(0)
	return filepath.WalkDir(from, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		rel, err := filepath.Rel(from, path)
		if err != nil {
			return err
		}
		at := filepath.Join(to, rel)
		switch {
		case d.IsDir():
			if path == without || skipped(d.Name()) && path != from {
				return fs.SkipDir
			}
			if linked[filepath.ToSlash(rel)] && os.Symlink(path, at) == nil {
				return fs.SkipDir
			}
			return os.MkdirAll(at, 0o700)
		case linked[filepath.ToSlash(rel)] && os.Symlink(path, at) == nil:
			return nil
		case d.Type() == fs.ModeSymlink:
			return copyLink(at, path, from)
		case !d.Type().IsRegular() || d.Name() == ".git":
			return nil
		}
		st, err := d.Info()
		if errors.Is(err, fs.ErrNotExist) {
			return nil // it went away meanwhile
		}
		if err != nil {
			return err
		}
		if files, bytes = files+1, bytes+st.Size(); files > maxFiles || bytes > maxBytes {
			return fmt.Errorf("it has more than %d files, or more than %s", maxFiles, unit.Size(maxBytes))
		}
		return copyFile(at, path, st.Mode().Perm())
	})
}

// copyLink makes a link to the same. One that stays inside leads to the copy of what it leads to. A file outside is copied: what is
// written to the copy must not reach it.
func copyLink(at, path, root string) error {
	target, err := os.Readlink(path)
	if err != nil {
		return err
	}
	real, err := filepath.EvalSymlinks(path)
	if err != nil {
		return os.Symlink(target, at) // it leads nowhere
	}
	if !below(real, root) {
		if st, err := os.Stat(real); err == nil && st.Mode().IsRegular() {
			return copyFile(at, real, st.Mode().Perm())
		}
		return os.Symlink(real, at)
	}
	if filepath.IsAbs(target) || !below(filepath.Join(filepath.Dir(path), target), root) {
		if target, err = filepath.Rel(filepath.Dir(path), real); err != nil {
			return err
		}
	}
	return os.Symlink(target, at)
}

func copyFile(to, from string, mode fs.FileMode) error {
	in, err := os.Open(from)
	if errors.Is(err, fs.ErrNotExist) {
		return nil // it went away meanwhile
	}
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.OpenFile(to, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, mode|0o200)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	return errors.Join(err, out.Close())
}

// mendMod makes replacements in go.mod that lead out of the copy lead there still. It also learns the name of the module.
func (t *tree) mendMod(to string) error {
	rel, err := filepath.Rel(t.root, t.mod)
	if err != nil {
		return err
	}
	name := filepath.Join(to, rel, "go.mod")
	text, err := os.ReadFile(name)
	if err != nil {
		return err
	}
	f, err := modfile.Parse("go.mod", text, nil)
	if err != nil {
		return err
	}
	if f.Module != nil {
		t.path = f.Module.Mod.Path
	}
	if _, err := os.Stat(filepath.Join(to, rel, "vendor", "modules.txt")); err == nil {
		return nil // what is replaced is in there, and the go command compares it with go.mod
	}
	changed := false
	for _, r := range f.Replace {
		at, out := t.outside(t.mod, r.New.Path)
		if r.New.Version != "" || !out {
			continue
		}
		if err := f.AddReplace(r.Old.Path, r.Old.Version, at, ""); err != nil {
			return err
		}
		changed = true
	}
	if !changed {
		return nil
	}
	if text, err = f.Format(); err != nil {
		return err
	}
	return os.WriteFile(name, text, 0o600)
}

// mendWork makes modules in the workspace that are outside of the copy be in it still, and what replaces others.
func (t *tree) mendWork(to string) error {
	if t.uses == "" {
		return nil
	}
	name := filepath.Join(to, t.uses)
	text, err := os.ReadFile(name)
	if err != nil {
		return err
	}
	f, err := modfile.ParseWork(t.uses, text, nil)
	if err != nil {
		return err
	}
	changed := false
	for _, u := range f.Use {
		if at, out := t.outside(t.root, u.Path); out {
			changed = true
			u.Path, u.Syntax.Token = at, []string{"use", modfile.AutoQuote(at)}
			if u.Syntax.InBlock {
				u.Syntax.Token = u.Syntax.Token[1:]
			}
		}
	}
	for _, r := range f.Replace {
		if at, out := t.outside(t.root, r.New.Path); out && r.New.Version == "" {
			changed = true
			if err := f.AddReplace(r.Old.Path, r.Old.Version, at, ""); err != nil {
				return err
			}
		}
	}
	if !changed {
		return nil
	}
	return os.WriteFile(name, modfile.Format(f.Syntax), 0o600)
}

// outside returns where a path leads that a file in a folder names, when that is not copied and would not be found from the copy.
func (t *tree) outside(dir, path string) (at string, out bool) {
	at = filepath.Join(dir, filepath.FromSlash(path))
	return at, !filepath.IsAbs(path) && !below(at, t.root)
}

// in returns where a folder of the tree is in the copy of what was kept.
func (t *tree) in(dir string) string { return t.inside(t.old, dir) }

// inside returns where a folder of the tree is in one of the copies.
func (t *tree) inside(top, dir string) string {
	rel, err := filepath.Rel(t.root, dir)
	if err != nil || !filepath.IsLocal(rel) {
		return top
	}
	return filepath.Join(top, rel)
}

// copyOf returns where the module is in one of the copies.
func (t *tree) copyOf(top string) string {
	rel, _ := filepath.Rel(t.root, t.mod) // root is above it
	return filepath.Join(top, rel)
}

// at returns where a file of the module is in one of the copies.
func (t *tree) at(top, name string) string {
	return filepath.Join(t.copyOf(top), filepath.FromSlash(name))
}

// asUser says a text with names of files as the user knows them.
func (t *tree) asUser(text string) string {
	for _, top := range []string{t.old, t.now} {
		text = strings.ReplaceAll(text, t.copyOf(top)+string(filepath.Separator), "")
		text = strings.ReplaceAll(text, top, t.root)
	}
	return text
}

// read returns a file of the module with what was kept. One behind a link is none of the module: it may be anywhere, and somebody
// else's.
func (t *tree) read(name string) ([]byte, error) {
	for _, at := range []string{t.at(t.old, name), filepath.Join(t.mod, filepath.FromSlash(name))} {
		real, err := filepath.EvalSymlinks(at)
		if err != nil {
			return nil, err
		}
		if real != at {
			return nil, fmt.Errorf("%s is a symbolic link, or in a linked folder: patch the target", name)
		}
	}
	return os.ReadFile(t.at(t.old, name))
}

// put puts a patched file into the copy for the patch at hand.
func (t *tree) put(name string, text []byte) error {
	return os.WriteFile(t.at(t.now, name), text, 0o600)
}

// take makes the patch at hand part of what was kept.
func (t *tree) take(y *trial) error {
	if _, ok := t.was[y.file]; !ok {
		t.was[y.file] = y.was
	}
	for _, top := range []string{t.old, t.now} {
		if err := os.WriteFile(t.at(top, y.file), y.text, 0o600); err != nil {
			return err
		}
	}
	return nil
}

// first returns a file as it was in the beginning.
func (t *tree) first(name string) []byte { return t.was[name] }

// changed returns the files that were changed by what was kept.
func (t *tree) changed() []string {
	var names []string
	for name := range t.was {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// restore makes the copy for patches what the module was in the beginning.
func (t *tree) restore() error {
	for name, text := range t.was {
		if err := t.put(name, text); err != nil {
			return err
		}
	}
	return nil
}
