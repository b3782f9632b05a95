package prove

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/hone-perf/hone/internal/gocmd"
	"github.com/hone-perf/hone/internal/hint"
	"github.com/hone-perf/hone/internal/order"
)

// A neighbor is a folder outside of what is compared that differs between the versions, and that has packages which those at hand are built of:
// another module of the repository, or the rest of the module at hand. The functions there are not called. The tests at hand run with it.
type neighbor struct {
	dir      string   // relative to the folder of the versions, with slashes
	module   bool     // it is another module
	packages []string // import paths of those in use whose Go files differ
	files    []string // why other files may change what is in use
}

// neighbors returns those of a change.
func (c *Change) neighbors(ctx context.Context) ([]neighbor, error) {
	old, err := c.Old.modules()
	if err != nil {
		return nil, fmt.Errorf("finding the modules of %s: %w", c.Old.Name, err)
	}
	now, err := c.New.modules()
	if err != nil {
		return nil, fmt.Errorf("finding the modules of %s: %w", c.New.Name, err)
	}
	type folders struct{ old, now string }
	differ := make(map[folders][]string)
	any := false
	for path, dir := range now.dirs {
		f := folders{old.dirs[path], dir}
		if _, done := differ[f]; done || f.old == f.now || f.now == real(c.New.Dir) {
			continue
		}
		// A module of one version alone makes its go.mod or go.work differ; a folder outside of the repository has one version.
		if st, err := os.Stat(f.old); err != nil || !st.IsDir() {
			continue
		}
		if differ[f], err = c.differing(f.old, f.now); err != nil {
			return nil, err
		}
		any = any || len(differ[f]) > 0
	}
	var out []neighbor
	if n, ok, err := c.workspaces(old.work, now.work); err != nil {
		return nil, err
	} else if ok {
		out = append(out, n)
	}
	if !any {
		return out, nil // to ask the go command takes long in a large module
	}
	before, after, err := c.used(ctx)
	if err != nil {
		return nil, err
	}
	for f, names := range differ {
		n := neighbor{dir: c.fromHere(f.now), module: f.now != now.main}
		for _, name := range names {
			n.add(f.now, name, func(dir string) string {
				return cmp.Or(after[filepath.Join(f.now, dir)], before[filepath.Join(f.old, dir)])
			})
		}
		if len(n.packages)+len(n.files) > 0 {
			slices.Sort(n.packages)
			slices.Sort(n.files)
			out = append(out, n)
		}
	}
	order.Stable(out, func(a, b neighbor) int { return strings.Compare(a.dir, b.dir) })
	return out, nil
}

// fromHere returns the name of a file of the new version as it is in the folder of the version, with slashes.
func (c *Change) fromHere(name string) string {
	if rel, err := filepath.Rel(real(c.New.Dir), name); err == nil {
		name = rel
	}
	return filepath.ToSlash(name)
}

// workspaces returns where go.work is, if it differs and is not in the folder of the versions itself.
func (c *Change) workspaces(old, now string) (n neighbor, differs bool, err error) {
	at := cmp.Or(now, old)
	switch {
	case old == now, now != "" && filepath.Dir(now) == real(c.New.Dir), old != "" && filepath.Dir(old) == real(c.Old.Dir):
		return n, false, nil
	case old != "" && now != "":
		if same, err := sameText(old, now); err != nil || same {
			return n, false, err
		}
		fallthrough
	default:
		name := c.fromHere(at)
		if now == "" {
			name = filepath.Base(at)
		}
		return neighbor{dir: c.fromHere(filepath.Dir(at)), files: []string{name + doubtful("", filepath.Base(at))}}, true, nil
	}
}

// differing returns the names of files in a folder that differ between the versions, without those below the folder of the versions, if that is
// in there: they are compared anyway.
func (c *Change) differing(old, now string) ([]string, error) {
	before, err := listFiles(old, real(c.Old.Dir))
	if err != nil {
		return nil, err
	}
	after, err := listFiles(now, real(c.New.Dir))
	if errors.Is(err, os.ErrNotExist) {
		after, err = make(map[string]string), nil // all of it is gone
	}
	if err != nil {
		return nil, err
	}
	return differing(before, after)
}

// used returns the import paths of packages that each version is built of, by folder.
func (c *Change) used(ctx context.Context) (old, now map[string]string, err error) {
	var wg sync.WaitGroup
	var failed error
	wg.Go(func() { old, failed = c.Old.used(ctx) })
	now, err = c.New.used(ctx)
	wg.Wait()
	return old, now, cmp.Or(err, failed)
}

// add adds a file of the neighbor's folder that differs, where it plays a part. used returns the import path of the package in a folder there, if
// it is in use.
func (n *neighbor) add(top, name string, used func(dir string) string) {
	pkg := used(filepath.Dir(name))
	if filepath.Ext(name) == ".go" {
		if pkg != "" && !strings.HasSuffix(name, "_test.go") && !slices.Contains(n.packages, pkg) {
			n.packages = append(n.packages, pkg)
		}
		return
	}
	inUse := isModFile(name)
	for dir := filepath.Dir(name); !inUse; dir = filepath.Dir(dir) { // the package above it may embed it
		if inUse = used(dir) != ""; dir == "." {
			break
		}
	}
	if !inUse {
		return
	}
	if why := doubtful(top, name); why != "" {
		n.files = append(n.files, n.dir+"/"+filepath.ToSlash(name)+why)
	}
}

// uncalled says which packages differ whose functions were not called.
func (n neighbor) uncalled() string {
	where := "in " + n.dir + ", outside of this folder"
	if n.module {
		where = "in another module, " + n.dir
	}
	return fmt.Sprintf("%s differs, %s: its functions were not called", strings.Join(n.packages, ", "), where)
}

// next returns how to compare a folder that is none of what is compared now.
func (c *Change) next(dirs ...string) hint.Text {
	var out hint.Text
	for i, dir := range dirs {
		if i > 0 {
			out = append(out, ", ")
		}
		switch {
		case c.asked.folders:
			var refs []string
			for _, ref := range c.asked.refs {
				refs = append(refs, filepath.Join(ref, filepath.FromSlash(dir)))
			}
			out = append(out, hint.Ask("prove", refs...))
		case c.asked.patch:
			file := c.asked.refs[0]
			if rel, err := filepath.Rel(filepath.FromSlash(dir), file); err == nil && !filepath.IsAbs(file) {
				file = rel
			}
			out = append(out, hint.Ask("prove", file), " in "+dir)
		default:
			out = append(out, hint.Ask("prove", c.asked.refs...), " in "+dir)
		}
	}
	return out
}

// A noModuleError says that the folder of a version is in no module.
type noModuleError struct {
	version string
	next    hint.Text
}

func (e *noModuleError) Error() string {
	return e.version + ": there is no go.mod in this folder or above it, and only modules can be compared"
}

// Hint returns the next step.
func (e *noModuleError) Hint() hint.Text { return e.next }

// noModule returns the error that the folder of the versions is in no module. The next step is one of those below it.
func (c *Change) noModule() error {
	list, changed, err := c.nested()
	if err != nil {
		return err
	}
	e := &noModuleError{version: c.New.Name}
	switch {
	case len(changed) > 0:
		e.next = append(hint.Text{"the change is in a module below it: "}, c.next(changed...)...)
	case len(list) > 0:
		e.next = append(hint.Text{"choose a module below it; none differs: "}, c.next(list[:min(len(list), mostNamed)]...)...)
	default:
		e.next = hint.Text{"change to the folder of a module, or make one here: go mod init NAME, then go mod tidy"}
	}
	return e
}

// mostNamed is how many modules are named where the user has to choose one.
const mostNamed = 5

// nested returns the folders of modules below that of the new version, and which of them differ from the old one.
func (c *Change) nested() (list, changed []string, err error) {
	list = gocmd.ModulesBelow(c.New.Dir)
	for _, dir := range list {
		old := filepath.Join(c.Old.Dir, filepath.FromSlash(dir))
		if _, err := os.Stat(old); err != nil {
			changed = append(changed, dir)
			continue
		}
		names, err := c.differing(old, filepath.Join(c.New.Dir, filepath.FromSlash(dir)))
		if err != nil {
			return nil, nil, err
		}
		if len(names) > 0 {
			changed = append(changed, dir)
		}
	}
	return list, changed, nil
}
