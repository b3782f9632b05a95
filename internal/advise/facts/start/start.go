// Package start knows what may run while the variables of a package are given their values, before main. The compiler gives a variable its value
// before others that need it, as far as it sees that: what a function names, it needs. It does not see which methods are called of an interface, or by
// another package that is handed a value, so these may run while the variables that they name are still empty.
package start

import (
	"go/ast"
	"go/token"
	"go/types"

	"github.com/hone-perf/hone/internal/advise/facts/code"
)

// MayPrecede reports whether a function may run before a new variable of the package that it names has its value.
func MayPrecede(f *code.Func) bool {
	fn, ok := f.Info().Defs[f.Decl.Name].(*types.Func)
	if !ok {
		return false // it was made of a declaration of variables, which the compiler sees to
	}
	s := &search{u: f.Pkg, f: f, unseen: map[*types.Func]bool{}, seen: map[*types.Func]bool{}}
	for _, file := range f.Pkg.Files {
		for _, d := range file.AST.Decls {
			if g, ok := d.(*ast.GenDecl); ok && g.Tok == token.VAR {
				s.look(g, false)
			}
		}
	}
	return s.unseen[fn] || s.calledElsewhere(fn)
}

// A search follows what runs at the start of a program.
type search struct {
	u      *code.Package
	f      *code.Func
	seen   map[*types.Func]bool // called in a way that the compiler sees
	unseen map[*types.Func]bool // called in another way, or by what is
}

// reach notes that a function may be called.
func (s *search) reach(fn *types.Func, unseen bool) {
	fn = fn.Origin()
	to := s.seen
	if unseen {
		to = s.unseen
	}
	if to[fn] || fn.Pkg() != s.u.Types {
		return
	}
	to[fn] = true
	if decl, _ := s.f.DeclOf(fn); decl != nil && decl.Body != nil {
		s.look(decl.Body, unseen)
	}
}

// look follows all that a piece of code may call.
func (s *search) look(n ast.Node, unseen bool) {
	info := s.u.TypesInfo
	ast.Inspect(n, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.Ident:
			if fn, ok := info.Uses[n].(*types.Func); ok {
				if recv := fn.Signature().Recv(); recv != nil && types.IsInterface(recv.Type()) {
					s.named(fn.Name())
				} else {
					s.reach(fn, unseen)
				}
			}
			if in, ok := info.Instances[n]; ok && info.Uses[n] != nil && info.Uses[n].Pkg() != s.u.Types {
				for t := range in.TypeArgs.Types() {
					s.handed(t)
				}
			}
		case *ast.CallExpr:
			s.call(n)
		case *ast.CompositeLit:
			if !s.own(info.TypeOf(n)) {
				for _, e := range n.Elts {
					if kv, ok := e.(*ast.KeyValueExpr); ok {
						e = kv.Value
					}
					s.handed(info.TypeOf(e))
				}
			}
		case *ast.AssignStmt:
			for i, l := range n.Lhs {
				if sel, ok := ast.Unparen(l).(*ast.SelectorExpr); ok && len(n.Lhs) == len(n.Rhs) && info.Uses[sel.Sel] != nil && info.Uses[sel.Sel].Pkg() != s.u.Types {
					s.handed(info.TypeOf(n.Rhs[i]))
				}
			}
		}
		return true
	})
}

// call follows what somebody else may call who is called here: methods of what it is given.
func (s *search) call(call *ast.CallExpr) {
	info := s.u.TypesInfo
	_, isLit := ast.Unparen(call.Fun).(*ast.FuncLit)
	if isLit || info.Types[call.Fun].IsType() || info.Types[call.Fun].IsBuiltin() {
		return
	}
	if fn := s.f.Callee(call); fn != nil && fn.Pkg() == s.u.Types {
		return
	}
	for _, a := range call.Args {
		s.handed(info.TypeOf(a))
	}
	if sel, ok := ast.Unparen(call.Fun).(*ast.SelectorExpr); ok && info.Selections[sel] != nil {
		s.handed(info.TypeOf(sel.X))
	}
}

// named follows all methods of a name.
func (s *search) named(name string) {
	for _, file := range s.u.Files {
		for _, d := range file.AST.Decls {
			if decl, ok := d.(*ast.FuncDecl); ok && decl.Recv != nil && decl.Name.Name == name {
				if fn, ok := s.u.TypesInfo.Defs[decl.Name].(*types.Func); ok {
					s.reach(fn, true)
				}
			}
		}
	}
}

// handed follows the methods that another package may call of a value of a type, or of what is in it.
func (s *search) handed(t types.Type) { s.carried(t, map[types.Type]bool{}) }

func (s *search) carried(t types.Type, seen map[types.Type]bool) {
	if t = types.Unalias(t); t == nil || seen[t] {
		return
	}
	seen[t] = true
	switch t := t.(type) {
	case *types.Named:
		for a := range t.TypeArgs().Types() {
			s.carried(a, seen)
		}
		switch {
		case types.IsInterface(t):
			s.implementing(t.Underlying().(*types.Interface))
		case s.own(t):
			s.methods(t)
			s.carried(t.Underlying(), seen)
		}
	case *types.Interface:
		s.implementing(t)
	case *types.TypeParam:
		s.implementing(types.NewInterfaceType(nil, nil))
	case *types.Pointer:
		s.carried(t.Elem(), seen)
	case *types.Slice:
		s.carried(t.Elem(), seen)
	case *types.Array:
		s.carried(t.Elem(), seen)
	case *types.Chan:
		s.carried(t.Elem(), seen)
	case *types.Map:
		s.carried(t.Key(), seen)
		s.carried(t.Elem(), seen)
	case *types.Struct:
		for field := range t.Fields() {
			s.carried(field.Type(), seen)
		}
	case *types.Tuple: // of a call that is given all results of another
		for v := range t.Variables() {
			s.carried(v.Type(), seen)
		}
	}
}

// own reports whether a type is of the package.
func (s *search) own(t types.Type) bool {
	named, ok := types.Unalias(t).(*types.Named)
	return !ok || named.Obj().Pkg() == s.u.Types
}

// methods follows the exported methods of a type: nobody else can call others.
func (s *search) methods(t types.Type) {
	set := types.NewMethodSet(types.NewPointer(t))
	for m := range set.Methods() {
		if fn, ok := m.Obj().(*types.Func); ok && fn.Exported() {
			s.reach(fn, true)
		}
	}
}

// implementing follows the methods of all types that may be in an interface.
func (s *search) implementing(i *types.Interface) {
	for _, t := range s.types() {
		if types.Implements(types.NewPointer(t), i) || t.TypeParams().Len() > 0 {
			s.methods(t)
		}
	}
}

// types returns the types that the package declares.
func (s *search) types() (out []*types.Named) {
	for _, o := range s.u.TypesInfo.Defs {
		if name, ok := o.(*types.TypeName); ok {
			if t, ok := types.Unalias(name.Type()).(*types.Named); ok && !types.IsInterface(t) {
				out = append(out, t)
			}
		}
	}
	return out
}

// calledElsewhere reports whether a test, or a file for another system, may call a function at the start in a way that the compiler does not see.
func (s *search) calledElsewhere(fn *types.Func) bool {
	if !s.u.ComputesElsewhere() {
		return false
	}
	s.unseen = map[*types.Func]bool{}
	for _, t := range s.types() {
		s.methods(t)
	}
	return s.unseen[fn.Origin()]
}
