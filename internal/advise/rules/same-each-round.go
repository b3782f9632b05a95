package rules

import (
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"slices"
	"strings"

	"github.com/hone-perf/hone/internal/advise"
	"github.com/hone-perf/hone/internal/advise/facts/calls"
	"github.com/hone-perf/hone/internal/advise/facts/code"
	"github.com/hone-perf/hone/internal/advise/facts/cost"
	"github.com/hone-perf/hone/internal/advise/facts/edit"
	"github.com/hone-perf/hone/internal/advise/facts/flow"
	"github.com/hone-perf/hone/internal/advise/facts/kind"
	"github.com/hone-perf/hone/internal/advise/facts/steady"
	"github.com/hone-perf/hone/internal/advise/facts/text"
	"github.com/hone-perf/hone/internal/report"
	"github.com/hone-perf/hone/internal/report/missing"
)

var sameEachRound = &advise.Rule{
	Name: "same-each-round", Rank: 3, Hoists: true,
	Doc: "a result that is the same in all rounds of a loop is computed in each of them",

	NoFix: missing.SameEachCall,
	Find: func(p *advise.Pass) {
		advise.Each(p, func(call *ast.CallExpr) {
			s, ok := sameIn(p.Func, call)
			if !ok {
				return
			}
			loop := s.loop
			if up, ok := p.Parent(call).(*ast.CallExpr); ok {
				if _, ok := sameIn(p.Func, up); ok {
					return // which is told as a whole
				}
			}
			src := p.Src(call)
			var same []*ast.CallExpr
			first := true
			ast.Inspect(loop, func(n ast.Node) bool {
				if other, ok := n.(*ast.CallExpr); ok && p.Src(other) == src && sameNames(p.Func, call, other) {
					first = first && (len(same) > 0 || other == call)
					same = append(same, other)
				}
				return true
			})
			if !first {
				return // it is told with the first of them
			}
			var c cost.Cost
			lines := map[int]bool{}
			var also []ast.Node
			for _, one := range same {
				if at := p.Line(one.Pos()); !lines[at] {
					lines[at] = true
					v := p.Cost(one, calls.Calling(p.Func, one))
					c.Add(&v)
					also = append(also, one)
				}
			}
			if others := othersOf(p.Func, loop, call); others > 1 { // on the same lines: they cannot be told apart
				for m := range c {
					c[m] /= int64(others)
				}
			}
			fn := p.Callee(call)
			f := advise.Finding{
				Title:  "same result computed in every round of a loop",
				Claim:  fmt.Sprintf("%s is the same in all rounds of the loop", src),
				Advice: "compute it once, before the loop",
				Callee: p.ProfileName(fn),
				Risk:   "none, but that it is computed when there is no round", Safe: true,
				Also: also,
			}
			if p.Worth(c) {
				guard, ok := s.guard(p.Func)
				if !ok {
					f.NoFix = missing.MayHaveNoRound.Of(src)
					p.Report(call, c, f)
					return
				}
				name := text.LowerFirst(strings.TrimPrefix(fn.Name(), "To"))
				if len(call.Args) == 1 && p.Local(call.Args[0]) != nil {
					name += upperFirst(p.Src(call.Args[0]))
				} else if len(call.Args) == 1 {
					if sel, ok := call.Args[0].(*ast.SelectorExpr); ok {
						name += upperFirst(sel.Sel.Name)
					}
				}
				name = p.NewLocal(name)
				if v := declaredBy(p, call); v != nil && p.LocalName(v.Name()) == v.Name()+"2" {
					name = v.Name()
				}
				made := fmt.Sprintf("%s := %s\n", name, src)
				if guard != "" {
					made = fmt.Sprintf("var %s %s\nif %s {\n%s = %s\n}\n", name, types.TypeString(p.TypeOf(call), p.Qualifier()), guard, name, src)
					f.Risk = "none"
				}
				if v := declaredBy(p, call); v != nil && v.Name() == name && guard == "" {
					made = name + " := " + src + edit.Comment(p.Func, p.Parent(call)) + "\n"
				}
				edits := []edit.Edit{edit.Before(loop, made)}
				for _, one := range same {
					if v := declaredBy(p, one); v != nil && v.Name() == name {
						st := p.Parent(one)
						edits = append(edits, edit.New(st.Pos(), edit.NextLine(p.Func, st), ""))
						continue
					}
					edits = append(edits, edit.Replace(one, name))
				}
				f.Fixes = p.Fix(report.Mechanical, "compute it before the loop", edits...)
			}
			p.Report(call, c, f)
		})
	},
}

// A sameness is an expression that has the same value in all rounds of a loop.
type sameness struct {
	loop  ast.Stmt
	roots []*types.Var  // pointers that it looks through
	calls *ast.CallExpr // of a function of the package, which may panic
}

// sameIn returns the outermost loop in whose rounds a call always has the same result, which nobody changes.
func sameIn(f *code.Func, call *ast.CallExpr) (sameness, bool) {
	t := f.TypeOf(call)
	if f.Callee(call) == nil || t == nil {
		return sameness{}, false
	}
	if kind.Refers(t) { // a round may change what the next one would see
		list, isSlice := t.Underlying().(*types.Slice)
		r, isRange := f.Parent(call).(*ast.RangeStmt)
		if !isSlice || kind.Refers(list.Elem()) || !isRange || r.X != ast.Expr(call) {
			return sameness{}, false
		}
	}
	var s sameness
	through := func(sel *ast.SelectorExpr) bool {
		v, indirect := fieldOf(f, sel)
		if v == nil || kind.Refers(f.TypeOf(sel)) || flow.Addressed(f, v) {
			return false
		}
		if indirect && !slices.Contains(s.roots, v) {
			s.roots = append(s.roots, v)
		}
		return true
	}
	if fn := f.Callee(call); fn.Pkg() == f.Pkg.Types && fn.Signature().Recv() == nil && kind.Refers(t) && steady.Pure(f, fn, 3) {
		s.calls = call
		for _, a := range call.Args {
			if v := f.Local(a); !f.IsConst(a) && (v == nil || kind.Refers(v.Type())) {
				return sameness{}, false
			}
		}
	} else if !waits(f, call, through) {
		return sameness{}, false
	}
	s.loop = invariantIn(f, call, func(loop ast.Stmt) bool {
		return !slices.ContainsFunc(s.roots, func(v *types.Var) bool { return !writesNo(f, loop, v) })
	})
	return s, s.loop != nil && f.Statement(s.loop) == s.loop
}

// fieldOf returns the variable of the function that an expression is a field of, or a field of a field, and whether that is a pointer.
func fieldOf(f *code.Func, sel *ast.SelectorExpr) (v *types.Var, indirect bool) {
	for {
		s := f.Info().Selections[sel]
		if s == nil || s.Kind() != types.FieldVal {
			return nil, false
		}
		if v := f.Local(sel.X); v != nil {
			if !s.Indirect() {
				return v, false
			}
			_, pointer := v.Type().Underlying().(*types.Pointer)
			if !pointer || len(s.Index()) != 1 { // it may look through another pointer, too
				return nil, false
			}
			if t, ok := types.Unalias(v.Type().Underlying().(*types.Pointer).Elem()).(*types.Named); ok && t.TypeArgs().Len() > 0 {
				return nil, false // each instance has fields of its own
			}
			return v, true
		}
		if s.Indirect() {
			return nil, false
		}
		up, ok := ast.Unparen(sel.X).(*ast.SelectorExpr)
		if !ok {
			return nil, false
		}
		sel = up
	}
}

// writesNo reports whether a statement changes nothing that a pointer may lead to. The fields that are read are known not to be named where something
// is assigned.
func writesNo(f *code.Func, st ast.Stmt, ptr *types.Var) bool {
	to := ptr.Type().Underlying().(*types.Pointer).Elem()
	ok := true
	assigned := func(e ast.Expr) {
		e = ast.Unparen(e)
		if code.IsBlank(e) || f.Local(e) != nil {
			return
		}
		switch e := e.(type) {
		case *ast.IndexExpr, *ast.SelectorExpr:
			ok = ok && !holds(f.TypeOf(e), to)
		default:
			ok = false
		}
	}
	ast.Inspect(st, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncLit, *ast.GoStmt, *ast.DeferStmt, *ast.SendStmt, *ast.SelectStmt:
			ok = false
		case *ast.UnaryExpr:
			ok = ok && n.Op != token.ARROW
		case *ast.AssignStmt:
			for _, l := range n.Lhs {
				assigned(l)
			}
		case *ast.IncDecStmt:
			assigned(n.X)
		case *ast.RangeStmt:
			switch f.TypeOf(n.X).Underlying().(type) {
			case *types.Slice, *types.Array, *types.Map, *types.Basic:
			default:
				ok = false
			}
			for _, e := range []ast.Expr{n.Key, n.Value} {
				if e != nil {
					assigned(e)
				}
			}
		case *ast.CallExpr:
			if f.Info().Types[n.Fun].IsType() {
				return ok
			}
			if list := f.Builtin(n, "append"); list != nil {
				s, isSlice := f.TypeOf(list).Underlying().(*types.Slice)
				ok = ok && isSlice && !holds(s.Elem(), to)
				return ok
			}
			for _, name := range []string{"len", "cap", "min", "max", "make", "new"} {
				if f.Builtin(n, name) != nil {
					return ok
				}
			}
			fn := f.Callee(n)
			for _, a := range n.Args {
				if s, isSlice := f.TypeOf(a).Underlying().(*types.Slice); isSlice && holds(s.Elem(), to) {
					ok = false
				}
			}
			ok = ok && fn != nil && (steady.Pure(f, fn, 3) || strings.HasPrefix(fn.FullName(), "(*strings.Builder)."))
		}
		return ok
	})
	return ok
}

// holds reports whether a value of one type may have one of another type in it.
func holds(t, other types.Type) bool {
	if types.Identical(t, other) || types.Identical(t.Underlying(), other.Underlying()) || kind.IsTypeParam(t) {
		return true
	}
	switch u := t.Underlying().(type) {
	case *types.Array:
		return holds(u.Elem(), other)
	case *types.Struct:
		for v := range u.Fields() {
			if holds(v.Type(), other) {
				return true
			}
		}
	}
	return false
}

// guard returns the condition under which the first round evaluates the expression, or would panic where that does; "" for always. It reports
// whether it is known.
func (s *sameness) guard(f *code.Func) (string, bool) {
	unknown := slices.DeleteFunc(slices.Clone(s.roots), func(v *types.Var) bool { return lookedInto(f, s.loop, v) })
	if len(unknown) == 0 && s.calls == nil {
		return "", true
	}
	r, ok := s.loop.(*ast.RangeStmt)
	if !ok || !flow.Simple(f, r.X) {
		return "", false
	}
	switch f.TypeOf(r.X).Underlying().(type) {
	case *types.Slice, *types.Map:
	default:
		return "", false
	}
	for _, v := range unknown {
		if !beginsWith(f, r.Body, v) {
			return "", false
		}
	}
	if s.calls != nil && !s.reached(f, r.Body) {
		return "", false
	}
	return "len(" + f.Src(r.X) + ") > 0", true
}

// reached reports whether each round comes to the loop over what is called before it does anything that others could see.
func (s *sameness) reached(f *code.Func, body *ast.BlockStmt) bool {
	for _, st := range body.List {
		switch st := st.(type) {
		case *ast.AssignStmt:
			for i := range st.Lhs {
				if st.Tok != token.DEFINE || len(st.Lhs) != len(st.Rhs) || !f.IsConst(st.Rhs[i]) {
					return false
				}
			}
		case *ast.DeclStmt:
			for _, spec := range st.Decl.(*ast.GenDecl).Specs {
				if v, ok := spec.(*ast.ValueSpec); ok && len(v.Values) > 0 {
					return false
				}
			}
		case *ast.RangeStmt:
			return st.X == ast.Expr(s.calls)
		default:
			return false
		}
	}
	return false
}

// lookedInto reports whether a statement before another one of the same list looks into a pointer, which is the same then: it is not nil.
func lookedInto(f *code.Func, st ast.Stmt, v *types.Var) bool {
	block, ok := f.Parent(st).(*ast.BlockStmt)
	isLabel := func(st ast.Stmt) bool { _, is := st.(*ast.LabeledStmt); return is } // which may be where it goes on, behind that statement
	if !ok || slices.ContainsFunc(block.List, isLabel) || flow.Assigns(f, block, func(o types.Object) bool { return o == types.Object(v) }) {
		return false
	}
	i := slices.Index(block.List, st)
	return slices.ContainsFunc(block.List[:max(i, 0)], func(st ast.Stmt) bool {
		return v.Pos() < st.Pos() && flow.LooksInto(f, st, v)
	})
}

// beginsWith reports whether the first thing that a block does, but for what cannot panic and nobody sees, is to look into a pointer.
func beginsWith(f *code.Func, body *ast.BlockStmt, v *types.Var) bool {
	if len(body.List) == 0 {
		return false
	}
	var first ast.Node = body.List[0]
	switch st := first.(type) {
	case *ast.IfStmt:
		if st.Init != nil {
			return false
		}
		first = st.Cond
	case *ast.AssignStmt, *ast.ExprStmt, *ast.IncDecStmt:
	default:
		return false
	}
	plain := true
	ast.Inspect(first, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.IndexExpr, *ast.SliceExpr, *ast.StarExpr, *ast.TypeAssertExpr, *ast.FuncLit:
			plain = false
		case *ast.BinaryExpr:
			plain = plain && n.Op != token.QUO && n.Op != token.REM && n.Op != token.SHL && n.Op != token.SHR
		case *ast.CallExpr:
			if !f.Info().Types[n.Fun].IsType() && f.Builtin(n, "len") == nil {
				fn := f.Callee(n)
				plain = plain && fn != nil && fn.Pkg() != f.Pkg.Types && !slices.Contains(canPanic, fn.FullName())
			}
		}
		return plain
	})
	if cond, ok := first.(ast.Expr); ok {
		return plain && flow.LooksInto(f, &ast.ExprStmt{X: cond}, v)
	}
	return plain && flow.LooksInto(f, first.(ast.Stmt), v)
}

// sameNames reports whether expressions with the same text have the same variables and functions in it.
func sameNames(f *code.Func, a, b ast.Expr) bool {
	var of [2][]types.Object
	for k, e := range []ast.Expr{a, b} {
		ast.Inspect(e, func(n ast.Node) bool {
			if id, ok := n.(*ast.Ident); ok {
				of[k] = append(of[k], f.Info().ObjectOf(id))
			}
			return true
		})
	}
	return slices.Equal(of[0], of[1])
}

// declaredBy returns the variable that a statement of a list declares with the result of a call, and that is not changed, or nil.
func declaredBy(p *advise.Pass, call *ast.CallExpr) *types.Var {
	st, ok := p.Parent(call).(*ast.AssignStmt)
	if !ok || len(st.Lhs) != 1 || p.Statement(st) != ast.Stmt(st) {
		return nil
	}
	id := code.AsIdent(st.Lhs[0])
	if id == nil {
		return nil
	}
	v, ok := p.Info().Defs[id].(*types.Var)
	if !ok || !flow.OnlyRead(p.Func, v, st) {
		return nil
	}
	return v
}

// othersOf counts the other calls of the same function on the same lines of a loop.
func othersOf(f *code.Func, loop ast.Stmt, call *ast.CallExpr) (n int) {
	at := f.Line(call.Pos())
	ast.Inspect(loop, func(x ast.Node) bool {
		if other, ok := x.(*ast.CallExpr); ok && f.Callee(other) == f.Callee(call) && f.Line(other.Pos()) == at {
			n++
		}
		return true
	})
	return n
}

// invariantIn returns the outermost loop around an expression in whose rounds it always has the same value, or nil. What else has to be so of the
// loop, stays reports.
func invariantIn(f *code.Func, e ast.Expr, stays func(loop ast.Stmt) bool) (out ast.Stmt) {
	vars := map[types.Object]bool{}
	first := e.Pos()
	ok := true
	ast.Inspect(e, func(n ast.Node) bool {
		if id, isID := n.(*ast.Ident); isID {
			if v, isVar := f.Info().Uses[id].(*types.Var); isVar {
				vars[v] = true
				ok = ok && (v.IsField() || !flow.Captured(f, v, f.Decl.Body) && !flow.Addressed(f, v))
			}
		}
		return ok
	})
	if !ok || len(vars) == 0 || f.Literal(e) != nil {
		return nil
	}
	for l := f.Loop(e); l != nil; l = f.Loop(l) {
		if !stays(l) || flow.Assigns(f, l, func(o types.Object) bool { return vars[o] }) || slices.ContainsFunc(keysOf(vars), func(o types.Object) bool { return !o.(*types.Var).IsField() && o.Pos() >= l.Pos() && o.Pos() < first }) {
			return out
		}
		out = l
	}
	return out
}

func keysOf(m map[types.Object]bool) (out []types.Object) {
	for o := range m {
		out = append(out, o)
	}
	return out
}
