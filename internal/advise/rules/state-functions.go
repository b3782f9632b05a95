package rules

import (
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"maps"
	"slices"

	"github.com/hone-perf/hone/internal/advise"
	"github.com/hone-perf/hone/internal/advise/facts/code"
	"github.com/hone-perf/hone/internal/advise/facts/cost"
	"github.com/hone-perf/hone/internal/advise/facts/edit"
	"github.com/hone-perf/hone/internal/advise/facts/flow"
	"github.com/hone-perf/hone/internal/report"
	"github.com/hone-perf/hone/internal/report/missing"
)

// stateTypeOf returns the type of the package that the result of a function without parameters has, when its values are such functions
// themselves: type stateFn func() stateFn.
func stateTypeOf(f *code.Func, fn types.Type) *types.TypeName {
	sig, ok := fn.Underlying().(*types.Signature)
	if !ok || sig.Params().Len() > 0 || sig.Results().Len() != 1 {
		return nil
	}
	named, ok := types.Unalias(sig.Results().At(0).Type()).(*types.Named)
	if !ok || named.Obj().Pkg() != f.Pkg.Types || named.TypeParams().Len() > 0 || !types.Identical(named.Underlying(), sig) {
		return nil
	}
	return named.Obj()
}

// boundAs adds up what it costs in the package to bind methods as values of a type of states, and returns the one where that is most.
func boundAs(p *advise.Pass, t *types.TypeName) (all cost.Cost, most *ast.SelectorExpr) {
	worst := 0.0
	for _, f := range p.OfPackage() {
		lines := map[int]bool{}
		q := p.On(f)
		ast.Inspect(f.Decl, func(n ast.Node) bool {
			sel, ok := n.(*ast.SelectorExpr)
			if !ok {
				return true
			}
			fn := boundMethod(f.Func, sel)
			if fn == nil || stateTypeOf(f.Func, fn.Type()) != t || lines[f.Line(sel.Pos())] || allocatesElse(f.Func, sel) {
				return true
			}
			lines[f.Line(sel.Pos())] = true
			c := q.Cost(sel, binding(f.Func, sel))
			all.Add(&c)
			if w := p.Costs.Weight(&c); w > worst {
				worst, most = w, sel
			}
			return true
		})
	}
	return all, most
}

// takingReceiver is a fix that makes functions that take the receiver of a type of states whose values are methods that are bound to it.
func takingReceiver(p *advise.Pass, t *types.TypeName, method *types.Func) []report.Fix {
	s := &states{Pass: p, name: t, recv: receiverType(method)}
	if s.recv == nil {
		return p.No(missing.ReceiverMayDiffer, "the receiver")
	}
	if t.Exported() || p.Pkg.NamedElsewhere(t.Name()) {
		return p.No(missing.StatesElsewhere, t.Name())
	}
	for _, name := range slices.Sorted(maps.Keys(p.Pkg.Files)) {
		file := p.Pkg.Files[name]
		for _, d := range file.AST.Decls {
			s.declaration(file, d)
		}
	}
	switch {
	case s.other != "":
		return p.No(missing.StatesUsedOtherwise, t.Name(), s.other)
	case s.declared != p.File:
		return p.No(missing.AnotherFile, t.Name())
	case s.files > 1:
		return p.No(missing.SeveralFiles)
	}
	return p.Fix(report.Mechanical, "give it the receiver when it is called", s.edits...)
}

// states follows the values of a type of states through a package. Each has to be a method that is bound to the variable at hand where the value
// is made, returned, kept in a local variable, and called: then all that a method has are bound to its own receiver, as those are that it gets
// from methods of that, and to call one with it is the same.
type states struct {
	*advise.Pass
	name     *types.TypeName
	recv     *types.Named // its methods have a pointer to it
	declared *code.File   // that has the type
	hand     *types.Var   // receiver or parameter of the declaration that is looked at, which is a pointer to recv; nil if there is none
	edits    []edit.Edit
	files    int
	other    string // use that is none of these, by its line; "" if there is none
}

func (s *states) declaration(file *code.File, d ast.Decl) {
	before := len(s.edits)
	s.hand = nil
	f := s.In(file, nil)
	if fn, ok := d.(*ast.FuncDecl); ok {
		f = s.In(file, fn)
		s.hand = s.atHand(f)
	} else {
		f.Decl = &ast.FuncDecl{Name: ast.NewIdent("_"), Type: &ast.FuncType{Params: &ast.FieldList{}}} // nothing is local
	}
	ast.Inspect(d, func(n ast.Node) bool {
		ok := true
		switch n := n.(type) {
		case *ast.Ident:
			if s.Info().Uses[n] == types.Object(s.name) {
				ok = s.typeName(f, n)
			}
		case *ast.TypeSpec:
			if s.Info().Defs[n.Name] == types.Object(s.name) {
				written, isFunc := n.Type.(*ast.FuncType)
				if ok = isFunc && !n.Assign.IsValid(); ok {
					s.declared = file
					s.edits = append(s.edits, edit.New(written.Params.Opening+1, written.Params.Closing, "*"+s.recv.Obj().Name()))
				}
			}
		}
		if e, isExpr := n.(ast.Expr); ok && isExpr {
			ok = s.value(f, e)
		}
		if !ok && s.other == "" {
			s.other = fmt.Sprintf("%s:%d", file.Name, f.Line(n.Pos()))
		}
		return s.other == ""
	})
	if len(s.edits) > before && file != s.File {
		s.files = 2
	}
	if len(s.edits) > before && s.files == 0 {
		s.files = 1
	}
}

// receiverType returns the type that a function is a method of, with a pointer for a receiver, or nil.
func receiverType(fn *types.Func) *types.Named {
	if fn.Signature().Recv() == nil {
		return nil
	}
	ptr, ok := types.Unalias(fn.Signature().Recv().Type()).(*types.Pointer)
	if !ok {
		return nil
	}
	named, ok := types.Unalias(ptr.Elem()).(*types.Named)
	if !ok || named.TypeParams().Len() > 0 {
		return nil
	}
	return named
}

// atHand returns the receiver of a function, or the parameter, which is a pointer to the type of the methods and stays what it is; nil if there is
// none, or two.
func (s *states) atHand(f *code.Func) *types.Var {
	fn, ok := s.Info().Defs[f.Decl.Name].(*types.Func)
	if !ok || f.Decl.Body == nil {
		return nil
	}
	var found *types.Var
	all := []*types.Var{fn.Signature().Recv()}
	for v := range fn.Signature().Params().Variables() {
		all = append(all, v)
	}
	for _, v := range all {
		if v != nil && types.Identical(v.Type(), types.NewPointer(s.recv)) && v.Name() != "" && v.Name() != "_" {
			if found != nil {
				return nil
			}
			found = v
		}
	}
	if found == nil || !flow.OnlyRead(f, found, nil) {
		return nil
	}
	for id, o := range s.Info().Defs {
		if o != nil && o != types.Object(found) && id.Name == found.Name() && code.Within(id, f.Decl) {
			return nil // somewhere the name stands for another
		}
	}
	return found
}

// typeName reports whether the type is named as the only result of a function that others cannot call, or as the type of a local variable.
func (s *states) typeName(f *code.Func, id *ast.Ident) bool {
	above := s.Pkg.Above()
	switch up := above[id].(type) {
	case *ast.ValueSpec:
		return up.Type == ast.Expr(id) && f.Decl.Body != nil
	case *ast.Field:
		list, _ := above[up].(*ast.FieldList)
		fn, _ := above[list].(*ast.FuncType)
		if fn == nil || fn.Results != list || list.NumFields() != 1 {
			return false
		}
		switch of := above[fn].(type) {
		case *ast.FuncDecl:
			return !of.Name.IsExported() && !s.Pkg.ResultCalledElsewhere(of.Name.Name)
		case *ast.FuncLit:
			return true
		case *ast.TypeSpec:
			return s.Info().Defs[of.Name] == types.Object(s.name)
		}
	}
	return false
}

// is reports whether a type is that of states, or of the methods that are their values.
func (s *states) is(t types.Type) bool {
	return t != nil && (types.Identical(t, s.name.Type()) || types.Identical(t, s.name.Type().Underlying()))
}

// value reports whether an expression, if it is a state, is one that is known, in a place that is.
func (s *states) value(f *code.Func, e ast.Expr) bool {
	tv, known := s.Info().Types[e]
	if !known || tv.IsType() || tv.IsNil() || !s.is(tv.Type) {
		return true
	}
	above := s.Pkg.Above()
	call, _ := above[e].(*ast.CallExpr)
	called := call != nil && call.Fun == e
	switch e := e.(type) {
	case *ast.Ident:
		v, ok := s.Info().ObjectOf(e).(*types.Var)
		return ok && f.Local(e) == v && v != nil && (called || s.place(f, e))
	case *ast.SelectorExpr:
		if !s.ownMethod(e) {
			return false
		}
		if called {
			return true
		}
		s.edits = append(s.edits, edit.Replace(e, "(*"+s.recv.Obj().Name()+")."+e.Sel.Name))
		return s.place(f, e)
	case *ast.FuncLit:
		s.edits = append(s.edits, edit.New(e.Type.Params.Opening+1, e.Type.Params.Closing, "*"+s.recv.Obj().Name()))
		return !called && s.place(f, e)
	case *ast.CallExpr:
		if fun, ok := e.Fun.(*ast.SelectorExpr); ok {
			return s.ownMethod(fun) && (called || s.place(f, e))
		}
		if !s.is(s.TypeOf(e.Fun)) || s.Info().Types[e.Fun].IsType() || s.hand == nil {
			return false
		}
		s.edits = append(s.edits, edit.New(e.Lparen+1, e.Rparen, s.hand.Name()))
		return called || s.place(f, e)
	}
	return false
}

// ownMethod reports whether a method is selected of the variable at hand.
func (s *states) ownMethod(sel *ast.SelectorExpr) bool {
	of := s.Info().Selections[sel]
	id := code.AsIdent(sel.X)
	return of != nil && of.Kind() == types.MethodVal && len(of.Index()) == 1 && isPointerMethod(of) && s.hand != nil && id != nil && s.Info().Uses[id] == types.Object(s.hand)
}

// place reports whether a state stays one where an expression stands: it is returned as one, or given to a local variable that is one, or compared
// with nil, or not used.
func (s *states) place(f *code.Func, e ast.Expr) bool {
	above := s.Pkg.Above()
	switch up := above[e].(type) {
	case *ast.ExprStmt:
		return true
	case *ast.ReturnStmt:
		return len(up.Results) == 1 && s.returns(f, up)
	case *ast.BinaryExpr:
		return (up.Op == token.EQL || up.Op == token.NEQ) && (s.Info().Types[up.X].IsNil() || s.Info().Types[up.Y].IsNil())
	case *ast.AssignStmt:
		if slices.Contains(up.Lhs, e) {
			return true
		}
		i := slices.Index(up.Rhs, e)
		if len(up.Lhs) != len(up.Rhs) || i < 0 {
			return false
		}
		v := f.Local(up.Lhs[i])
		return code.IsBlank(up.Lhs[i]) || v != nil && s.is(v.Type())
	case *ast.ValueSpec:
		i := slices.Index(up.Values, e)
		if len(up.Names) != len(up.Values) || i < 0 {
			return false
		}
		v := f.Local(up.Names[i])
		return v != nil && s.is(v.Type())
	}
	return false
}

// returns reports whether the function, or the literal, that a return statement is in returns a state.
func (s *states) returns(f *code.Func, ret *ast.ReturnStmt) bool {
	above := s.Pkg.Above()
	for n := above[ret]; n != nil; n = above[n] {
		var list *ast.FieldList
		switch n := n.(type) {
		case *ast.FuncLit:
			list = n.Type.Results
		case *ast.FuncDecl:
			list = n.Type.Results
		default:
			continue
		}
		return list.NumFields() == 1 && s.is(s.TypeOf(list.List[0].Type))
	}
	return false
}
