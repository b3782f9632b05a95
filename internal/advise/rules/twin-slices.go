package rules

import (
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"slices"

	"github.com/hone-perf/hone/internal/advise"
	"github.com/hone-perf/hone/internal/advise/facts/code"
	"github.com/hone-perf/hone/internal/advise/facts/cost"
	"github.com/hone-perf/hone/internal/advise/facts/edit"
	"github.com/hone-perf/hone/internal/advise/facts/flow"
	"github.com/hone-perf/hone/internal/report"
	"github.com/hone-perf/hone/internal/report/missing"
)

var twinSlices = &advise.Rule{
	Name: "twin-slices", Rank: 8, PerCall: true,
	Doc: "two slices of the same type and length are allocated one after the other",

	NoFix: missing.DoesNotApply,
	Find: func(p *advise.Pass) {
		taken := map[*ast.CallExpr]bool{}
		advise.Each(p, func(one *ast.CallExpr) {
			if p.Builtin(one, "make") == nil || taken[one] {
				return
			}
			other := twinOfMake(p.Func, one)
			if other == nil || taken[other] {
				return
			}
			c := twinCost(p, one, other)
			if c == (cost.Cost{}) {
				return
			}
			taken[one], taken[other] = true, true
			list, n := types.TypeString(p.TypeOf(one), p.Qualifier()), p.Src(one.Args[1])
			f := advise.Finding{
				Title:  "two slices of one length allocated separately",
				Claim:  fmt.Sprintf("both are a %s with %s elements, made one after the other: one array of twice the length would do", list, n),
				Advice: "make one slice of twice the length, and give each its half, without the capacity of the other",
				Risk:   "each of them keeps the memory of both, as long as it is in use",
				Also:   []ast.Node{other},
			}
			if p.Worth(c) {
				f.Fixes = halves(p, one, other)
			}
			p.Report(one, c, f)
		})
	},
}

// twinOfMake returns the call that makes a slice of the same type and length as another: in the same statement, or in the next one.
func twinOfMake(f *code.Func, one *ast.CallExpr) *ast.CallExpr {
	slice, ok := f.TypeOf(one).Underlying().(*types.Slice)
	st := f.Statement(one)
	if !ok || len(one.Args) != 2 || st == nil || !lengthStays(f, one.Args[1]) {
		return nil
	}
	if size, known := f.SizeOf(slice.Elem()); !known || size == 0 {
		return nil // such lists may be of any length
	}
	var found *ast.CallExpr
	look := func(in ast.Stmt) {
		for _, e := range madeIn(f, in) {
			if found == nil && e.Pos() > one.Pos() && f.Src(e) == f.Src(one) && types.Identical(f.TypeOf(e), f.TypeOf(one)) {
				found = e
			}
		}
	}
	made := madeIn(f, st)
	at := -1
	for i, e := range made {
		if e == one {
			at = i
		}
	}
	if at < 0 {
		return nil
	}
	if look(st); found != nil {
		return found
	}
	next := nextStatement(f, st)
	assign, ok := st.(*ast.AssignStmt)
	if next == nil || !ok || len(assign.Lhs) != 1 || !apart(f, assign.Lhs[0], one.Args[1]) {
		return nil
	}
	if second, ok := next.(*ast.AssignStmt); !ok || len(second.Lhs) != 1 {
		return nil
	}
	look(next)
	return found
}

// madeIn returns the slices that a statement makes for what it does with them first: values that it assigns, or elements of a literal of a struct
// that it assigns or returns. There is nothing else in it that is called.
func madeIn(f *code.Func, st ast.Stmt) (out []*ast.CallExpr) {
	var values []ast.Expr
	switch st := st.(type) {
	case *ast.AssignStmt:
		if st.Tok != token.ASSIGN && st.Tok != token.DEFINE {
			return nil
		}
		for _, l := range st.Lhs {
			if !flow.Simple(f, l) {
				return nil
			}
		}
		values = st.Rhs
	case *ast.ReturnStmt:
		values = st.Results
	default:
		return nil
	}
	for _, e := range values {
		if ref, ok := e.(*ast.UnaryExpr); ok && ref.Op == token.AND {
			e = ref.X
		}
		elements := []ast.Expr{e}
		if lit, ok := e.(*ast.CompositeLit); ok {
			if _, isStruct := f.TypeOf(lit).Underlying().(*types.Struct); !isStruct {
				return nil
			}
			elements = nil
			for _, e := range lit.Elts {
				if kv, ok := e.(*ast.KeyValueExpr); ok {
					e = kv.Value
				}
				elements = append(elements, e)
			}
		}
		for _, e := range elements {
			if call := f.Builtin(e, "make"); call != nil {
				out = append(out, call)
			} else if !flow.Simple(f, e) {
				return nil
			}
		}
	}
	return out
}

// nextStatement returns the statement behind another one in its list, or nil.
func nextStatement(f *code.Func, st ast.Stmt) ast.Stmt {
	var list []ast.Stmt
	switch up := f.Parent(st).(type) {
	case *ast.BlockStmt:
		list = up.List
	case *ast.CaseClause:
		list = up.Body
	case *ast.CommClause:
		list = up.Body
	}
	for i, s := range list {
		if s == st && i+1 < len(list) {
			return list[i+1]
		}
	}
	return nil
}

// lengthStays reports whether a length is an int made of variables and fields that are numbers, of constants, and of lengths of variables, so that
// giving a slice to anything else does not change it. Twice an int that is too large is one that make does not take either.
func lengthStays(f *code.Func, n ast.Expr) bool {
	if t, ok := types.Unalias(f.TypeOf(n)).(*types.Basic); !ok || t.Kind() != types.Int && t.Kind() != types.UntypedInt {
		return false
	}
	ok := flow.Simple(f, n)
	ast.Inspect(n, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.BinaryExpr:
			ok = ok && (n.Op == token.ADD || n.Op == token.SUB || n.Op == token.MUL) // division panics
		case *ast.CallExpr:
			ok = ok && f.Builtin(n, "len") != nil && code.AsIdent(n.Args[0]) != nil
		}
		return ok
	})
	return ok
}

// apart reports whether what is assigned to is nothing that a length is made of: a struct may have a field that is, even if it has another name there.
func apart(f *code.Func, to, n ast.Expr) bool {
	if code.IsBlank(to) {
		return true
	}
	id := code.AsIdent(to)
	if id != nil && f.Info().Defs[id] != nil {
		return true
	}
	_, isSlice := f.TypeOf(to).Underlying().(*types.Slice)
	return isSlice && (id == nil || !f.MentionsVar(n, f.Info().ObjectOf(id)))
}

// liveAlike reports whether two slices, as far as the function shows, are needed for as long as each other: both stay in the function, or neither does.
// Else what goes on to be used keeps memory that nobody needs.
func liveAlike(f *code.Func, one, other *ast.CallExpr) bool {
	return handedOn(f, one) == handedOn(f, other)
}

// handedOn reports whether a new slice is given to anything but a variable of the function that is only measured, indexed, ranged over and copied.
func handedOn(f *code.Func, made *ast.CallExpr) bool {
	st, ok := f.Parent(made).(*ast.AssignStmt)
	if !ok || len(st.Lhs) != len(st.Rhs) {
		return true
	}
	v := f.Local(st.Lhs[slices.Index(st.Rhs, ast.Expr(made))])
	if v == nil || f.IsParamResult(v) {
		return true
	}
	for _, id := range f.Uses(v) {
		switch up := f.Parent(id).(type) {
		case *ast.IndexExpr:
			ok = up.X == ast.Expr(id)
		case *ast.RangeStmt:
			ok = up.X == ast.Expr(id)
		case *ast.AssignStmt:
			ok = up == st
		case *ast.CallExpr:
			ok = f.Builtin(up, "len") != nil || f.Builtin(up, "copy") != nil
		default:
			ok = false
		}
		if !ok {
			return true
		}
	}
	return false
}

// twinCost is what one of two allocations costs: that which costs less, or half of both where they are on one line.
func twinCost(p *advise.Pass, one, other *ast.CallExpr) cost.Cost {
	made := cost.Allocates("makeslice")
	a, b := p.Cost(one, made), p.Cost(other, made)
	if p.Line(one.Pos()) == p.Line(other.Pos()) {
		if p.IsConst(one.Args[1]) {
			return cost.Cost{} // one of them may be on the stack
		}
		for i := range a {
			a[i] /= 2
		}
		b = a
	}
	if a == (cost.Cost{}) || b == (cost.Cost{}) {
		return cost.Cost{}
	}
	if p.Costs.Weight(&b) < p.Costs.Weight(&a) {
		a = b
	}
	a[cost.BytesMade], a[cost.InUse], a[cost.InUseSpread] = 0, 0, 0 // they stay
	return a
}

// halves is a fix that makes both slices of one array.
func halves(p *advise.Pass, one, other *ast.CallExpr) []report.Fix {
	st := p.Statement(one)
	n := p.Src(one.Args[1])
	if _, sum := ast.Unparen(one.Args[1]).(*ast.BinaryExpr); sum {
		n = "(" + n + ")"
	}
	both := p.NewLocal("both")
	at := p.Src(one.Args[1])
	grade := report.Mechanical
	if !liveAlike(p.Func, one, other) {
		grade = report.Ownership
	}
	return p.Fix(grade, "cut both from one array",
		edit.Before(st, fmt.Sprintf("%s := make(%s, 2*%s)\n", both, p.Src(one.Args[0]), n)),
		edit.Replace(one, fmt.Sprintf("%s[:%s:%s]", both, at, at)),
		edit.Replace(other, fmt.Sprintf("%s[%s:]", both, at)))
}
