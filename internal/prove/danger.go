package prove

import (
	"context"
	"encoding/json"
	"fmt"
	"go/ast"
	"go/types"
	"io"
	"slices"
	"strings"
	"sync"

	"golang.org/x/tools/go/packages"

	"github.com/hone-perf/hone/internal/gotypes"
)

// A danger knows what functions can reach that must not be called with made-up arguments: what removes files, runs
// programs, talks to other machines, or ends the process.
type danger struct {
	calls map[string][]string // full names of functions of the module → full names of what they use

	mu    sync.Mutex // both sides are built at the same time
	known map[string]string

	ambient *ambient

	refused bool // calls may be ended in front of it, where workers alone make them
}

// findDanger reads the packages of the module that the sides import.
func findDanger(ctx context.Context, sides ...*side) (*danger, error) {
	d := &danger{calls: make(map[string][]string), known: make(map[string]string), ambient: newAmbient()}
	for _, s := range sides {
		d.read(s.pkg, s.name())
		paths, err := ownImports(ctx, s)
		if err != nil {
			return nil, err
		}
		if len(paths) == 0 {
			continue
		}
		found, err := gotypes.Load(&packages.Config{Context: ctx, Dir: s.dir, Env: s.version.Env, Mode: packages.LoadSyntax}, paths...)
		if err != nil {
			return nil, fmt.Errorf("loading the imports of %s: %w", s.pkg.PkgPath, err)
		}
		for _, p := range found {
			d.read(p, s.name())
		}
	}
	return d, nil
}

// name tells the versions apart.
func (s *side) name() string { return s.version.Dir }

// ownImports returns the packages of the same module that a package depends on.
func ownImports(ctx context.Context, s *side) ([]string, error) {
	if !importsModules(s.pkg) {
		return nil, nil // which saves a go command
	}
	out, err := s.goIn().Run(ctx, "list", "-deps", "-json=ImportPath,Module,Standard", ".")
	if err != nil {
		return nil, fmt.Errorf("listing the imports of %s: %w", s.pkg.PkgPath, err)
	}
	var paths []string
	for dec := json.NewDecoder(strings.NewReader(string(out))); ; {
		var p struct {
			ImportPath string
			Standard   bool
			Module     *struct{ Main bool }
		}
		if err := dec.Decode(&p); err == io.EOF {
			return paths, nil
		} else if err != nil {
			return nil, err
		}
		if p.Module != nil && p.Module.Main && p.ImportPath != s.pkg.PkgPath {
			paths = append(paths, p.ImportPath)
		}
	}
}

// importsModules reports whether a package imports others than those of the standard library, which import no module.
func importsModules(p *packages.Package) bool {
	for _, imported := range p.Imports {
		if imported.Module != nil {
			return true
		}
	}
	return false
}

func (d *danger) read(p *packages.Package, version string) {
	for _, f := range p.Syntax {
		for _, decl := range f.Decls {
			switch decl := decl.(type) {
			case *ast.FuncDecl:
				if fn, ok := p.TypesInfo.Defs[decl.Name].(*types.Func); ok {
					d.uses(p, version, version+" "+fn.FullName(), decl)
				}
			case *ast.GenDecl:
				for _, spec := range decl.Specs {
					if spec, ok := spec.(*ast.ValueSpec); ok {
						for _, name := range spec.Names {
							d.uses(p, version, version+" "+p.PkgPath+"."+name.Name, spec)
							d.ambient.declare(p, name, spec)
						}
					}
				}
			}
		}
	}
}

// uses notes which functions and variables a declaration uses.
func (d *danger) uses(p *packages.Package, version, name string, n ast.Node) {
	d.ambient.read(p, version, name, n)
	ast.Inspect(n, func(n ast.Node) bool {
		id, ok := n.(*ast.Ident)
		if !ok {
			return true
		}
		switch obj := p.TypesInfo.Uses[id].(type) {
		case *types.Func:
			d.calls[name] = append(d.calls[name], version+" "+obj.Origin().FullName())
		case *types.Var:
			if obj.Pkg() != nil && obj.Parent() == obj.Pkg().Scope() {
				d.calls[name] = append(d.calls[name], version+" "+obj.Pkg().Path()+"."+obj.Name())
			}
		}
		return true
	})
}

// of returns what dangerous thing a declaration of a side can reach, or "".
func (d *danger) of(s *side, key string) string {
	decl := s.decls[key]
	if decl == nil {
		return ""
	}
	name := s.pkg.PkgPath + "." + key
	if fn, ok := decl.obj.(*types.Func); ok {
		name = fn.FullName()
	}
	return d.from(s.name() + " " + name)
}

// from returns what dangerous thing a function or variable can reach, or "".
func (d *danger) from(name string) string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.reach(name, nil)
}

func (d *danger) reach(name string, above []string) string {
	if found, ok := d.known[name]; ok {
		return found
	}
	_, plain, _ := strings.Cut(name, " ")
	if isDangerous(plain) {
		return plain
	}
	if slices.Contains(above, name) {
		return ""
	}
	found := ""
	for _, c := range d.calls[name] {
		if found = d.reach(c, append(above, name)); found != "" {
			break
		}
	}
	if found != "" || len(above) == 0 {
		d.known[name] = found // within a circle, nothing may only mean not yet
	}
	return found
}

// isDangerous reports whether a function of the standard library does things that stay.
func isDangerous(name string) bool {
	for _, prefix := range []string{
		"os/exec.", "(*os/exec.", "syscall.", "golang.org/x/sys/", "plugin.", "database/sql.", "(*database/sql.", "net/smtp.", "(*net/smtp.",
		"net/rpc.", "(*net/rpc.", "log.Fatal", "(*log.Logger).Fatal", "net.Dial", "(*net.Dialer)", "net.Listen", "(*net.ListenConfig)",
		"net.Lookup", "(*net.Resolver)", "net/http.Get", "net/http.Post", "net/http.Head", "net/http.ListenAndServe", "net/http.Serve",
		"(*net/http.Client)", "(*net/http.Server)", "(*net/http.Transport)", "(*os.Root)", "(*os.Process)", "os.StartProcess",
		"crypto/tls.Dial", "crypto/tls.Listen", "os/signal.", "net/http/httptest.NewServer",
	} {
		if strings.HasPrefix(name, prefix) && name != "net/http.ServeContent" && name != "net/http.ServeFile" && name != "net/http.ServeFileFS" {
			return true
		}
	}
	return slices.Contains([]string{
		"os.Remove", "os.RemoveAll", "os.Rename", "os.WriteFile", "os.Create", "os.OpenFile", "os.Mkdir", "os.MkdirAll", "os.Chmod",
		"os.Chown", "os.Lchown", "os.Chtimes", "os.Truncate", "os.Symlink", "os.Link", "os.Exit", "os.Chdir", "os.Setenv", "os.Unsetenv",
		"os.Clearenv", "os.OpenRoot", "os.FindProcess", "os.CopyFS", "io/ioutil.WriteFile", "runtime/debug.SetGCPercent",
		"runtime/debug.SetMemoryLimit", "flag.Parse", "os.CreateTemp", "os.MkdirTemp", "io/ioutil.TempDir", "io/ioutil.TempFile",
	}, name)
}
