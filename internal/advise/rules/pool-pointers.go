package rules

import (
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"slices"

	"github.com/hone-perf/hone/internal/advise"
	"github.com/hone-perf/hone/internal/advise/facts/code"
	"github.com/hone-perf/hone/internal/advise/facts/edit"
	"github.com/hone-perf/hone/internal/report"
	"github.com/hone-perf/hone/internal/report/missing"
)

// A pooled is a variable of the package that is a pool of values that are no pointers.
type pooled struct {
	*advise.Pass
	v     *types.Var
	value types.Type // of what is in it
	edits []edit.Edit
	twice bool // a function may put what it got back more than once
}

// pointersInPool is a fix that puts pointers into a pool: where it is a variable of the package, whose New returns a value, and each function that
// uses it has one Get, and keeps the value in a variable until it puts it back. The value is read right behind Get and written right before Put, so
// whatever happens in between is as before.
func pointersInPool(p *advise.Pass, call *ast.CallExpr) []report.Fix {
	id := code.AsIdent(call.Fun.(*ast.SelectorExpr).X)
	if id == nil {
		return p.No(missing.PoolNoVariable, p.Src(call.Fun.(*ast.SelectorExpr).X))
	}
	v, ok := p.Info().Uses[id].(*types.Var)
	above := p.Pkg.Above()
	if ok && p.Local(id) == v {
		for _, use := range p.Uses(v) {
			if call, _ := poolCall(above, use); call == nil {
				return p.No(missing.PoolUsedOtherwise, v.Name(), p.Line(use.Pos()))
			}
		}
	}
	if !ok || v.Parent() != p.Pkg.Types.Scope() || v.Exported() || p.Pkg.NamedElsewhere(v.Name()) {
		return p.No(missing.PoolNoVariable, id.Name)
	}
	pool := &pooled{Pass: p, v: v, value: p.TypeOf(call.Args[0])}
	users := map[*ast.FuncDecl][]*ast.CallExpr{}
	uses := slices.SortedFunc(slices.Values(p.Pkg.UsesOf(v)), func(a, b *ast.Ident) int { return int(a.Pos()) - int(b.Pos()) })
	for _, use := range uses {
		call, decl := poolCall(above, use)
		if call == nil || decl == nil {
			return p.No(missing.PoolUsedOtherwise, v.Name(), p.Pkg.Fset.Position(use.Pos()).Line)
		}
		users[decl] = append(users[decl], call)
	}
	if !pool.makes() {
		return p.No(missing.PoolMakes, v.Name())
	}
	for _, use := range uses {
		_, decl := poolCall(above, use)
		list := users[decl]
		if delete(users, decl); list == nil {
			continue // it was looked at
		}
		if !code.Within(decl, p.File.AST) {
			return p.No(missing.SeveralFiles)
		}
		if !pool.keeps(p.In(p.File, decl), list) {
			if pool.twice {
				return p.No(missing.PoolPutTwice, decl.Name.Name, v.Name())
			}
			return p.No(missing.PoolNotKept, decl.Name.Name, v.Name())
		}
	}
	return p.Fix(report.Mechanical, "put pointers into the pool", pool.edits...)
}

// poolCall returns the call of a method of a pool, and the function that it is in.
func poolCall(above map[ast.Node]ast.Node, pool *ast.Ident) (*ast.CallExpr, *ast.FuncDecl) {
	sel, ok := above[pool].(*ast.SelectorExpr)
	if !ok || sel.Sel.Name != "Get" && sel.Sel.Name != "Put" {
		return nil, nil
	}
	call, ok := above[sel].(*ast.CallExpr)
	if !ok || call.Fun != ast.Expr(sel) {
		return nil, nil
	}
	for n := above[call]; n != nil; n = above[n] {
		if decl, ok := n.(*ast.FuncDecl); ok {
			return call, decl
		}
	}
	return call, nil
}

// makes reports whether the pool is declared in the file with a New that does no more than return a value, which is then returned by its address.
func (p *pooled) makes() bool {
	for _, d := range p.File.AST.Decls {
		g, ok := d.(*ast.GenDecl)
		if !ok || g.Tok != token.VAR {
			continue
		}
		for _, spec := range g.Specs {
			spec := spec.(*ast.ValueSpec)
			if len(spec.Names) != 1 || len(spec.Values) != 1 || p.Info().Defs[spec.Names[0]] != types.Object(p.v) {
				continue
			}
			made := spec.Values[0]
			if ref, ok := made.(*ast.UnaryExpr); ok && ref.Op == token.AND {
				made = ref.X
			}
			lit, ok := made.(*ast.CompositeLit)
			if !ok || len(lit.Elts) != 1 {
				return false
			}
			field, ok := lit.Elts[0].(*ast.KeyValueExpr)
			if !ok || p.Src(field.Key) != "New" {
				return false
			}
			fn, ok := field.Value.(*ast.FuncLit)
			if !ok || len(fn.Body.List) != 1 {
				return false
			}
			ret, ok := fn.Body.List[0].(*ast.ReturnStmt)
			if !ok || len(ret.Results) != 1 || !types.Identical(p.TypeOf(ret.Results[0]), p.value) {
				return false
			}
			text := fmt.Sprintf("v := %s\nreturn &v", p.Src(ret.Results[0]))
			if p.Line(fn.Body.Lbrace) == p.Line(ret.Pos()) {
				text = "\n" + text
			}
			if p.Line(fn.Body.Rbrace) == p.Line(ret.End()) {
				text += "\n"
			}
			p.edits = append(p.edits, edit.Replace(ret, text))
			return true
		}
	}
	return false
}

// keeps reports whether a function has one Get, whose value it gives to a new variable, and puts only that back, or a part of it, as often as it
// gets it; then it also keeps the pointer.
func (p *pooled) keeps(f *code.Func, list []*ast.CallExpr) bool {
	var get *ast.CallExpr
	var puts []*ast.CallExpr
	for _, call := range list {
		switch {
		case len(call.Args) == 1:
			puts = append(puts, call)
		case get != nil:
			return false
		default:
			get = call
		}
	}
	if get == nil || jumps(f) {
		return false
	}
	var got ast.Expr
	got, ok := f.Parent(get).(*ast.TypeAssertExpr)
	if !ok || !types.Identical(f.TypeOf(got), p.value) {
		return false
	}
	from := got
	cut, isCut := f.Parent(got).(*ast.SliceExpr)
	if isCut && cut.X == got {
		from = cut
	}
	st, ok := f.Parent(from).(*ast.AssignStmt)
	if !ok || st.Tok != token.DEFINE || len(st.Lhs) != 1 || len(st.Rhs) != 1 || f.Statement(st) != st {
		return false
	}
	v := f.Local(st.Lhs[0])
	if v == nil {
		return false
	}
	ptr := f.LocalName(v.Name() + "Ptr")
	typ := got.(*ast.TypeAssertExpr).Type
	value := "*" + ptr
	if isCut {
		value = "(*" + ptr + ")"
	}
	edits := []edit.Edit{
		edit.Before(st, fmt.Sprintf("%s := %s.(*%s)\n", ptr, f.Src(get), f.Src(typ))),
		edit.Replace(got, value),
	}
	for i, put := range puts {
		arg := ast.Unparen(put.Args[0])
		part, isPart := arg.(*ast.SliceExpr)
		if isPart {
			arg = part.X
		}
		if f.Local(arg) != v || f.Loop(put) != f.Loop(get) && f.Literal(put) == f.Literal(get) || !types.Identical(f.TypeOf(put.Args[0]), p.value) {
			return false
		}
		if slices.ContainsFunc(puts[:i], func(before *ast.CallExpr) bool { return !neverBoth(f, before, put) }) || f.Literal(put) != f.Literal(get) && (len(puts) > 1 || f.Loop(put) != nil) {
			p.twice = true // who gets it later would share what the pointer leads to
			return false
		}
		var at ast.Stmt
		switch up := f.Parent(put).(type) {
		case *ast.ExprStmt:
			at = up
		case *ast.DeferStmt:
			if at = up; len(puts) > 1 {
				p.twice = true
				return false
			}
		default:
			return false
		}
		if lit := f.Literal(put); lit != f.Literal(get) && !deferredAlone(f, lit, f.Loop(get)) {
			return false
		}
		if f.Statement(put) != at {
			return false
		}
		edits = append(edits, edit.Before(at, fmt.Sprintf("*%s = %s\n", ptr, f.Src(put.Args[0]))), edit.Replace(put.Args[0], ptr))
	}
	p.edits = append(p.edits, edits...)
	return true
}

// neverBoth reports whether no two of the same Get come to both of two Puts, of which one stands behind the other: what is between them leaves the
// function, or the iteration, or a statement picks one of them.
func neverBoth(f *code.Func, first, second ast.Node) bool {
	for n := ast.Node(f.Statement(first)); n != nil; n = f.Parent(n) {
		up := f.Parent(n)
		if up != nil && code.Within(second, up) {
			switch up := up.(type) {
			case *ast.IfStmt:
				return up.Else != nil && code.Within(second, up.Else)
			case *ast.BlockStmt:
				clause, ok := n.(*ast.CaseClause)
				if _, comm := n.(*ast.CommClause); comm {
					return true
				}
				return ok && !fallsThrough(clause)
			}
			return false
		}
		var list []ast.Stmt
		switch up := up.(type) {
		case *ast.BlockStmt:
			list = up.List
		case *ast.CaseClause:
			list = up.Body
		case *ast.CommClause:
			list = up.Body
		}
		for i := slices.IndexFunc(list, func(st ast.Stmt) bool { return st == n }) + 1; i > 0 && i < len(list); i++ {
			last, ok := list[i].(*ast.BranchStmt)
			switch {
			case ok && last.Tok == token.CONTINUE && last.Label == nil && f.Loop(last) == f.Loop(second):
				return true
			case branches(list[i]):
				return false
			}
			if _, ok := list[i].(*ast.ReturnStmt); ok {
				return true
			}
		}
	}
	return false
}

// branches reports whether something in a statement goes on elsewhere.
func branches(st ast.Stmt) (found bool) {
	ast.Inspect(st, func(n ast.Node) bool {
		_, is := n.(*ast.BranchStmt)
		found = found || is
		return !found
	})
	return found
}

// fallsThrough reports whether a case goes on with the next one.
func fallsThrough(c *ast.CaseClause) bool {
	if len(c.Body) == 0 {
		return false
	}
	branch, ok := c.Body[len(c.Body)-1].(*ast.BranchStmt)
	return ok && branch.Tok == token.FALLTHROUGH
}

// deferredAlone reports whether a function literal is called by a defer statement, once for the Get, which is in a loop if it is not nil.
func deferredAlone(f *code.Func, lit *ast.FuncLit, loop ast.Stmt) bool {
	call, ok := f.Parent(lit).(*ast.CallExpr)
	if !ok || call.Fun != ast.Expr(lit) {
		return false
	}
	st, ok := f.Parent(call).(*ast.DeferStmt)
	return ok && f.Loop(st) == loop && f.Literal(lit) == nil
}
