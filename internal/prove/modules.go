package prove

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/mod/modfile"
)

// modules are the folders of code that a version is built of: the module at hand, and those that go.mod and go.work name by their folders. All
// names of files are real.
type modules struct {
	dirs map[string]string // by path, and for a replacement of one version, by path@version
	main string            // folder of the module at hand; "" in a workspace outside of its modules
	work string            // go.work; "" is none
	uses []string          // folders of the modules in go.work
}

// hasModule reports whether the folder of a version is in a module.
func (v Version) hasModule() bool { return v.about.GOMOD != "" && v.about.GOMOD != os.DevNull }

// workspace returns the go.work of a version; "" is none.
func (v Version) workspace() string {
	if v.about.GOWORK == "off" {
		return ""
	}
	return v.about.GOWORK
}

func (v Version) modules() (modules, error) {
	m := modules{dirs: make(map[string]string)}
	if v.hasModule() {
		m.main = real(filepath.Dir(v.about.GOMOD))
		if err := m.add(m.main, v.about.ModFile()); err != nil {
			return m, err
		}
	}
	if v.workspace() == "" {
		return m, nil
	}
	m.work = real(v.workspace())
	text, err := os.ReadFile(m.work)
	if err != nil {
		return m, err
	}
	f, err := modfile.ParseWork(m.work, text, nil)
	if err != nil {
		return m, err
	}
	for _, u := range f.Use {
		dir := under(filepath.Dir(m.work), u.Path)
		m.uses = append(m.uses, dir)
		if err := m.add(dir, filepath.Join(dir, "go.mod")); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return m, err
		}
	}
	m.replace(filepath.Dir(m.work), f.Replace)
	return m, nil
}

// add adds the module in a folder, and what the file that is its go.mod replaces by folders.
func (m *modules) add(dir, file string) error {
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	m.dirs[modfile.ModulePath(text)] = dir
	if f, err := modfile.Parse(file, text, nil); err == nil { // else the go command says what is wrong
		m.replace(dir, f.Replace)
	}
	return nil
}

func (m *modules) replace(dir string, by []*modfile.Replace) {
	for _, r := range by {
		if r.New.Version == "" {
			m.dirs[r.Old.String()] = under(dir, r.New.Path)
		}
	}
}

// patterns names the packages at hand for the go command: those in the folder of the version, or all of the workspace where that is in no
// module.
func (v Version) patterns() ([]string, error) {
	if v.hasModule() || v.workspace() == "" {
		return []string{"./..."}, nil
	}
	m, err := v.modules()
	if err != nil {
		return nil, err
	}
	var out []string
	for _, dir := range m.uses {
		rel, err := filepath.Rel(real(v.Dir), dir)
		if err != nil {
			return nil, err
		}
		out = append(out, "./"+filepath.ToSlash(rel)+"/...")
	}
	return out, nil
}

// used returns the import paths of the packages at hand and of all that they and their tests are built of, by folder.
func (v Version) used(ctx context.Context) (map[string]string, error) {
	out := make(map[string]string)
	patterns, err := v.patterns()
	if err != nil || len(patterns) == 0 || !v.hasModule() && v.workspace() == "" {
		return out, err
	}
	list, err := v.goIn(v.Dir).Run(ctx, append([]string{"list", "-e", "-deps", "-test", "-json=Dir,ImportPath,Standard"}, patterns...)...)
	if err != nil {
		return nil, err
	}
	for dec := json.NewDecoder(bytes.NewReader(list)); dec.More(); {
		var p struct {
			Dir, ImportPath string
			Standard        bool
		}
		if err := dec.Decode(&p); err != nil {
			return nil, fmt.Errorf("reading the output of go list: %w", err)
		}
		path, _, test := strings.Cut(p.ImportPath, " [") // as it is built for a test
		if p.Standard || p.Dir == "" || test || strings.HasSuffix(path, ".test") {
			continue
		}
		out[real(p.Dir)] = path
	}
	return out, nil
}

// under returns the real name of a file or folder that a file in dir names.
func under(dir, name string) string {
	if name = filepath.FromSlash(name); !filepath.IsAbs(name) {
		name = filepath.Join(dir, name)
	}
	return real(name)
}

// real returns a name without symbolic links, so that one file has one name.
func real(name string) string {
	if r, err := filepath.EvalSymlinks(name); err == nil {
		return r
	}
	return name
}
