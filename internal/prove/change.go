package prove

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/hone-perf/hone/internal/duel"
	"github.com/hone-perf/hone/internal/git"
	"github.com/hone-perf/hone/internal/gocmd"
	"github.com/hone-perf/hone/internal/hint"
	"github.com/hone-perf/hone/internal/scratch"
)

// A Change is two versions of a folder of Go code. Old and New are there until Close.
type Change struct {
	Old, New Version
	done     []func() // to be called in the end

	asked asked // by which it was opened

	compiled map[string]bool // kinds of builds for which compile was called; nil means that nobody wants to know
}

// asked is what Open was told. In a Change that was made without Open, only the folders differ.
type asked struct {
	refs           []string
	folders, patch bool // what refs are; else revisions
	open           bool
}

// first reports whether no build of a kind was made before, so that the build cache may have nothing for it.
func (c *Change) first(kind string) bool {
	if c.compiled[kind] {
		return false
	}
	if c.compiled != nil {
		c.compiled[kind] = true
	}
	return true
}

// A Version is one of the two.
type Version struct {
	Name string // what to call it: a revision, a folder
	Dir  string // absolute

	Env []string // of the go command; nil is that of this process

	about gocmd.About // what the go command says of itself in Dir; empty when it was not asked
}

// goIn returns the go command in a folder of the version.
func (v Version) goIn(dir string) gocmd.Command { return gocmd.Command{Dir: dir, Env: v.Env} }

// ErrFlag is that a flag for the go command cannot be used here.
var ErrFlag = errors.New("hone compares the files of both versions without an overlay")

// withFlags returns the change as it is built with more flags for the go command.
func (c *Change) withFlags(ctx context.Context, flags []string) (*Change, error) {
	out := *c
	for _, v := range []*Version{&out.Old, &out.New} {
		cmd, about, err := v.goIn(v.Dir).WithFlags(ctx, flags)
		if err != nil {
			return nil, err
		}
		if name := about.Names("overlay"); name != "" {
			return nil, fmt.Errorf("%s cannot be used: %w", name, ErrFlag)
		}
		v.Env, v.about = cmd.Env, about
	}
	return &out, nil
}

// Close removes what Open made.
func (c *Change) Close() {
	for _, done := range c.done {
		done()
	}
}

// ErrAsked is what a change that cannot be understood wraps.
var ErrAsked = errors.New("the change is not clear")

// Open finds the two versions that refs name: nothing for the working tree against where the work in it began, BASE for
// the working tree against a revision, A..B for two revisions, a file with a patch for the working tree with and without
// it, or two folders.
func Open(ctx context.Context, dir string, refs []string) (*Change, error) {
	c := &Change{asked: asked{refs: refs, open: true}}
	dir, err := filepath.Abs(dir)
	if err == nil {
		err = c.open(ctx, dir, refs)
	}
	if err != nil {
		c.Close()
		return nil, err
	}
	return c, nil
}

func (c *Change) open(ctx context.Context, dir string, refs []string) error {
	at := func(ref string) string {
		if filepath.IsAbs(ref) {
			return ref
		}
		return filepath.Join(dir, ref)
	}
	switch len(refs) {
	case 0:
		return c.revisions(ctx, dir, "")
	case 1:
		st, err := os.Stat(at(refs[0]))
		if err == nil && st.Mode().IsRegular() {
			c.asked.patch = true
			return c.patch(ctx, dir, at(refs[0]), refs[0])
		}
		if ext := filepath.Ext(refs[0]); errors.Is(err, fs.ErrNotExist) && (ext == ".patch" || ext == ".diff") {
			return fmt.Errorf("%s: no such file", refs[0])
		}
		wrong := c.revisions(ctx, dir, refs[0])
		if wrong != nil && err == nil {
			return fmt.Errorf("%w: %s is one folder: name the old one and the new one", ErrAsked, refs[0])
		}
		return wrong
	case 2:
		c.asked.folders = true
		for i, ref := range refs {
			st, err := os.Stat(at(ref))
			if err != nil && i == 0 && strings.Contains(ref, "..") {
				return hint.Errorf(hint.Text{hint.Option{Name: "func"}, " takes one function of it"}, "%w: %s %s: a change is checked as a whole; drop %[3]s", ErrAsked, ref, refs[1])
			}
			if err != nil || !st.IsDir() {
				return fmt.Errorf("%w: %s is not a folder; two arguments name two folders, and A..B names two revisions", ErrAsked, ref)
			}
			v := Version{Name: ref, Dir: at(ref)}
			if v.Dir, err = filepath.EvalSymlinks(v.Dir); err != nil {
				return err
			}
			if v.Dir, err = c.outOfCache(ctx, v.Dir); err != nil {
				return err
			}
			*[]*Version{&c.Old, &c.New}[i] = v
		}
		return nil
	}
	return fmt.Errorf("%w: %d arguments; name two folders, a revision, or two revisions as A..B", ErrAsked, len(refs))
}

// outOfCache returns dir, or the same folder of a copy if its module lies in the module cache: the go command refuses to build with other files
// there.
func (c *Change) outOfCache(ctx context.Context, dir string) (string, error) {
	about, err := gocmd.Command{Dir: dir}.About(ctx)
	if err != nil {
		return "", err
	}
	cache, err := filepath.EvalSymlinks(about.GOMODCACHE)
	if err != nil {
		return dir, nil // there is none
	}
	module := filepath.Dir(about.GOMOD)
	if rel, err := filepath.Rel(cache, module); err != nil || !filepath.IsLocal(rel) {
		return dir, nil
	}
	below, err := filepath.Rel(module, dir)
	if err != nil {
		return "", err
	}
	to, err := c.folder()
	if err != nil {
		return "", err
	}
	if err := os.CopyFS(to, os.DirFS(module)); err != nil {
		return "", fmt.Errorf("copying %s out of the module cache: %w", module, err)
	}
	return filepath.Join(to, below), nil
}

// revisions takes the two sides as hone compare does.
func (c *Change) revisions(ctx context.Context, dir, spec string) error {
	old, now, done, err := duel.Revisions(ctx, dir, spec)
	if err != nil {
		return err
	}
	c.done = append(c.done, done)
	c.Old, c.New = Version{Name: old.Name, Dir: old.Dir}, Version{Name: now.Name, Dir: now.Dir}
	return nil
}

// patch makes the new version of what the working tree is and what a patch makes of it.
func (c *Change) patch(ctx context.Context, dir, file, name string) error {
	top, err := git.Command{Dir: dir}.Line(ctx, "rev-parse", "--show-toplevel")
	if err != nil {
		return err
	}
	top = filepath.FromSlash(top)
	if dir, err = filepath.EvalSymlinks(dir); err != nil {
		return err
	}
	rel, err := filepath.Rel(top, dir)
	if err != nil || !filepath.IsLocal(rel) {
		return fmt.Errorf("%s is not in the repository %s", dir, top)
	}
	c.Old = Version{Name: "working tree", Dir: dir}
	tree, err := c.folder()
	if err != nil {
		return err
	}
	list, err := git.Command{Dir: top}.Run(ctx, "ls-files", "-z", "--cached", "--others", "--exclude-standard")
	if err != nil {
		return err
	}
	for name := range strings.SplitSeq(strings.TrimSuffix(string(list), "\x00"), "\x00") {
		if err := copyFile(filepath.Join(tree, name), filepath.Join(top, name)); err != nil {
			return fmt.Errorf("copying the working tree: %w", err)
		}
	}
	// In a repository of its own, so that nothing above it is asked.
	in := git.Command{Dir: tree}
	if _, err := in.Run(ctx, "init", "-q"); err != nil {
		return err
	}
	if _, err := in.Run(ctx, "apply", "--whitespace=nowarn", file); err != nil {
		return fmt.Errorf("applying %s: %s", name, git.Said(err))
	}
	c.New = Version{Name: "working tree with " + name, Dir: filepath.Join(tree, rel)}
	return nil
}

func copyFile(to, from string) error {
	st, err := os.Lstat(from)
	if errors.Is(err, fs.ErrNotExist) {
		return nil // deleted, and not yet committed
	}
	if err != nil || !st.Mode().IsRegular() {
		return err
	}
	text, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
		return err
	}
	return os.WriteFile(to, text, st.Mode().Perm())
}

// folder makes a folder that Close removes.
func (c *Change) folder() (string, error) {
	dir, err := scratch.Dir("prove-")
	if err != nil {
		return "", err
	}
	c.done = append(c.done, func() { os.RemoveAll(dir) })
	return filepath.EvalSymlinks(dir)
}

// changedDirs returns the folders below both versions whose Go files differ, and which other files do.
func (c *Change) changedDirs() (dirs, others []string, err error) {
	old, err := listFiles(c.Old.Dir, "")
	if err != nil {
		return nil, nil, err
	}
	now, err := listFiles(c.New.Dir, "")
	if err != nil {
		return nil, nil, err
	}
	names, err := differing(old, now)
	if err != nil {
		return nil, nil, err
	}
	for _, name := range names {
		dir := filepath.Dir(name)
		switch {
		case filepath.Ext(name) != ".go", strings.HasPrefix(filepath.ToSlash(name), "vendor/"):
			others = append(others, name)
		case !slices.Contains(dirs, dir):
			dirs = append(dirs, dir)
		}
	}
	slices.Sort(dirs)
	return dirs, others, nil
}

// differing returns the names of files that differ, or that one list lacks, in order.
func differing(old, now map[string]string) ([]string, error) {
	var names []string
	for name := range old {
		if now[name] == "" {
			names = append(names, name)
		}
	}
	for name, file := range now {
		if old[name] != "" {
			same, err := sameText(old[name], file)
			if err != nil {
				return nil, err
			}
			if same {
				continue
			}
		}
		names = append(names, name)
	}
	slices.Sort(names)
	return names, nil
}

// sameText compares two files, which may be larger than memory.
func sameText(a, b string) (bool, error) {
	var files [2]*os.File
	var size [2]int64
	for i, name := range []string{a, b} {
		f, err := os.Open(name)
		if err != nil {
			return false, err
		}
		defer f.Close()
		st, err := f.Stat()
		if err != nil {
			return false, err
		}
		files[i], size[i] = f, st.Size()
	}
	if size[0] != size[1] {
		return false, nil
	}
	var bufs [2][64 << 10]byte
	for {
		n, err := io.ReadFull(files[0], bufs[0][:])
		m, other := io.ReadFull(files[1], bufs[1][:])
		if !bytes.Equal(bufs[0][:n], bufs[1][:m]) {
			return false, nil
		}
		switch ended := errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF); {
		case ended:
			return true, nil
		case err != nil || other != nil:
			return false, errors.Join(err, other)
		}
	}
}

// maxTree is how many files are compared.
const maxTree = 200_000

// listFiles returns the files of a module that the go command would look at, by name in it. One folder may be left out; "" is none.
func listFiles(root, without string) (map[string]string, error) {
	files := make(map[string]string)
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name := d.Name()
		if d.IsDir() {
			if path == root {
				return nil
			}
			if name[0] == '.' || name[0] == '_' || name == "node_modules" || path == without {
				return fs.SkipDir
			}
			if _, err := os.Stat(filepath.Join(path, "go.mod")); err == nil {
				return fs.SkipDir // another module
			}
			return nil
		}
		if d.Type().IsRegular() && name[0] != '.' {
			rel, err := filepath.Rel(root, path)
			if err != nil {
				return err
			}
			files[rel] = path
		}
		if len(files) > maxTree {
			return fmt.Errorf("%s has more than %d files", root, maxTree)
		}
		return nil
	})
	return files, err
}

// doubtful says why a file that is no Go file of the module in top may change what the module does; "" when it cannot.
func doubtful(top, name string) string {
	slashed := filepath.ToSlash(name)
	if isModFile(name) {
		return " differs, so code of other modules may differ"
	}
	switch path.Ext(slashed) {
	case ".s", ".S", ".c", ".cc", ".cpp", ".cxx", ".m", ".h", ".hh", ".syso":
		return " differs, but is not Go"
	}
	if strings.HasPrefix(slashed, "vendor/") {
		return " differs, but is seen only where it is called"
	}
	for dir := filepath.Dir(name); ; dir = filepath.Dir(dir) {
		in := os.DirFS(filepath.Join(top, dir)) // whose name is no pattern
		files, _ := fs.Glob(in, "*.go")
		for _, f := range files {
			if text, err := fs.ReadFile(in, f); err == nil && bytes.Contains(text, []byte("\n//go:embed ")) {
				return " differs, and may be embedded"
			}
		}
		if dir == "." {
			return ""
		}
	}
}

// isModFile reports whether a file says which modules the go command builds.
func isModFile(name string) bool {
	return slices.Contains([]string{"go.mod", "go.sum", "go.work"}, filepath.Base(name))
}
