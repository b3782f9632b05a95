package prove

import (
	"fmt"
	"go/ast"
	"go/constant"
	"go/token"
	"go/types"
	"slices"
	"strings"

	"golang.org/x/tools/go/packages"
)

// What functions read from outside of their arguments, such as variables that programs may set, the environment and the clock, is the same in
// all calls that are made up. A version that reads it when it is called, and one that read it once before, answer alike until it changes.

// An ambient is what the functions of a module read when they are called.
type ambient struct {
	uses     map[string][]string // as in danger, but without what variables were made from, and what is done once
	reads    map[string][]string // what of it may change between calls, in words
	settable map[string]bool     // variables that programs may set, by name
	assigned map[string]bool     // those that the module sets itself
}

func newAmbient() *ambient {
	return &ambient{uses: make(map[string][]string), reads: make(map[string][]string), settable: make(map[string]bool), assigned: make(map[string]bool)}
}

// ambientFuncs are functions that read what may change between calls.
var ambientFuncs = map[string]string{
	"os.Getenv": "the environment", "os.LookupEnv": "the environment", "os.Environ": "the environment", "os.ExpandEnv": "the environment",
	"os.UserHomeDir": "the environment", "os.UserCacheDir": "the environment", "os.UserConfigDir": "the environment",
	"os.Getwd": "the working directory", "time.Now": "the clock", "time.Since": "the clock", "time.Until": "the clock",
}

// read notes what a declaration uses and reads when it is called.
func (o *ambient) read(p *packages.Package, version, name string, n ast.Node) {
	test := strings.HasSuffix(p.Fset.Position(n.Pos()).Filename, "_test.go")
	info := p.TypesInfo
	variable := func(e ast.Expr) string {
		switch x := ast.Unparen(e).(type) {
		case *ast.Ident:
			return variableName(info.Uses[x])
		case *ast.SelectorExpr:
			return variableName(info.Uses[x.Sel])
		}
		return ""
	}
	ast.Inspect(n, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.AssignStmt:
			for _, l := range n.Lhs {
				if v := variable(l); v != "" && !test {
					o.assigned[v] = true
				}
			}
		case *ast.IncDecStmt:
			if v := variable(n.X); v != "" && !test {
				o.assigned[v] = true
			}
		case *ast.CallExpr:
			fn := calledFunc(info, n)
			if fn == nil {
				return true
			}
			switch full := fn.FullName(); {
			case full == "(*sync.Once).Do" || fn.Pkg() != nil && fn.Pkg().Path() == "sync" && strings.HasPrefix(fn.Name(), "Once"):
				return false
			case full == "os.Getenv" || full == "os.LookupEnv":
				if v := info.Types[n.Args[0]].Value; v != nil && v.Kind() == constant.String {
					o.reads[name] = append(o.reads[name], "the environment variable "+constant.StringVal(v))
					return false
				}
			case fn.Pkg() != nil && fn.Pkg().Path() == "flag":
				for _, a := range n.Args {
					if u, ok := ast.Unparen(a).(*ast.UnaryExpr); ok && u.Op == token.AND {
						if v := variable(u.X); v != "" {
							o.settable[v] = true
						}
					}
				}
			}
		case *ast.Ident:
			switch obj := info.Uses[n].(type) {
			case *types.Func:
				full := obj.Origin().FullName()
				if what := ambientFuncs[full]; what != "" {
					o.reads[name] = append(o.reads[name], what)
				}
				o.uses[name] = append(o.uses[name], version+" "+full)
			case *types.Var:
				v := variableName(obj)
				if v == "" {
					return true
				}
				if v == "os.Args" {
					o.reads[name] = append(o.reads[name], "the arguments of the program")
				} else {
					o.reads[name] = append(o.reads[name], v)
				}
				switch obj.Type().Underlying().(type) {
				case *types.Signature, *types.Map, *types.Slice, *types.Struct, *types.Interface:
					o.uses[name] = append(o.uses[name], version+" "+v) // it may hold functions
				}
			}
		}
		return true
	})
}

// variableName returns the full name of a variable of a package, or "".
func variableName(obj types.Object) string {
	if v, ok := obj.(*types.Var); ok && v.Pkg() != nil && v.Parent() == v.Pkg().Scope() {
		return v.Pkg().Path() + "." + v.Name()
	}
	return ""
}

// calledFunc returns the function that a call names, or nil.
func calledFunc(info *types.Info, call *ast.CallExpr) *types.Func {
	var id *ast.Ident
	switch f := ast.Unparen(call.Fun).(type) {
	case *ast.Ident:
		id = f
	case *ast.SelectorExpr:
		id = f.Sel
	default:
		return nil
	}
	fn, _ := info.Uses[id].(*types.Func)
	return fn
}

// declare notes whether programs may set a variable of a package.
func (o *ambient) declare(p *packages.Package, name *ast.Ident, spec *ast.ValueSpec) {
	v, ok := p.TypesInfo.Defs[name].(*types.Var)
	if !ok {
		return // such as _
	}
	full := variableName(v)
	flags := false
	for _, value := range spec.Values {
		if call, ok := ast.Unparen(value).(*ast.CallExpr); ok {
			fn := calledFunc(p.TypesInfo, call)
			flags = flags || fn != nil && fn.Pkg() != nil && fn.Pkg().Path() == "flag"
		}
	}
	if flags || v.Exported() && p.Name != "main" && configures(v.Type()) {
		o.settable[full] = true
	}
}

// configures reports whether variables of a type are there to be set, and not tables, errors, or what was compiled.
func configures(t types.Type) bool {
	if types.Implements(t, types.Universe.Lookup("error").Type().Underlying().(*types.Interface)) {
		return false
	}
	switch u := t.Underlying().(type) {
	case *types.Array, *types.Chan:
		return false
	case *types.Pointer:
		return types.TypeString(u, nil) != "*regexp.Regexp"
	}
	return true
}

// of returns what a function reads when it is called.
func (o *ambient) of(name string) map[string]bool {
	out := make(map[string]bool)
	seen := map[string]bool{name: true}
	queue := []string{name}
	for len(queue) > 0 {
		at := queue[0]
		queue = queue[1:]
		for _, what := range o.reads[at] {
			out[what] = true
		}
		for _, u := range o.uses[at] {
			if !seen[u] {
				seen[u] = true
				queue = append(queue, u)
			}
		}
	}
	return out
}

// isVariable reports whether what is read is a variable, and not named in words.
func isVariable(what string) bool { return !strings.HasPrefix(what, "the ") }

// readings returns doubts about what only one version of a function reads when it is called.
func (s *surface) readings() []string {
	var doubts, had []string
	o := s.danger.ambient
	for _, t := range s.targets { // the nearest to the change first
		a, b := s.old.decls[t.key], s.new.decls[t.key]
		if t.adapted || a == nil || b == nil || !a.isFunc() || !b.isFunc() {
			continue
		}
		old, now := o.of(s.old.called(a)), o.of(s.new.called(b))
		for _, side := range []struct {
			has, lacks map[string]bool
			in, not    string
		}{{old, now, "old", "new"}, {now, old, "new", "old"}} {
			for _, what := range sortedKeys(side.has) {
				if side.lacks[what] || slices.Contains(had, what) || isVariable(what) && (!o.settable[what] || o.assigned[what] || !s.both(what)) {
					continue
				}
				had = append(had, what)
				shown := strings.TrimPrefix(what, s.new.pkg.PkgPath+".")
				doubts = append(doubts, fmt.Sprintf("%s reads %s when it is called in the %s version, but not in the %s one, and hone does not change that between calls",
					t.key, shown, side.in, side.not))
			}
		}
	}
	return doubts
}

// both reports whether both versions have a variable, as far as that is known.
func (s *surface) both(variable string) bool {
	name, ok := strings.CutPrefix(variable, s.new.pkg.PkgPath+".")
	return !ok || s.old.decls[name] != nil && s.new.decls[name] != nil
}

// called returns the name of a function among those that a danger knows.
func (s *side) called(d *decl) string {
	return s.name() + " " + d.obj.(*types.Func).FullName()
}
