package rules

import (
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"slices"
	"strings"

	"github.com/hone-perf/hone/internal/advise"
	"github.com/hone-perf/hone/internal/advise/facts/code"
	"github.com/hone-perf/hone/internal/advise/facts/cost"
	"github.com/hone-perf/hone/internal/advise/facts/edit"
	"github.com/hone-perf/hone/internal/advise/facts/flow"
	"github.com/hone-perf/hone/internal/advise/facts/kind"
	"github.com/hone-perf/hone/internal/advise/facts/loops"
	"github.com/hone-perf/hone/internal/report"
	"github.com/hone-perf/hone/internal/report/missing"
)

var textRoom = &advise.Rule{
	Name: "text-room", Rank: 4,
	Doc: "a Builder or Buffer grows step by step",

	NoFix: missing.LengthUnknown,
	Find: func(p *advise.Pass) {
		seen := map[*types.Var]bool{}
		advise.Each(p, func(call *ast.CallExpr) {
			if b, _ := writeTo(p.Func, call); b != nil && !seen[b] {
				seen[b] = true
				grownBuffer(p, b)
			}
		})
	},
}

// writeTo returns the Builder or Buffer of the function that a call writes to, and the name of its type.
func writeTo(f *code.Func, call *ast.CallExpr) (*types.Var, string) {
	sel, ok := call.Fun.(*ast.SelectorExpr)
	if !ok || !strings.HasPrefix(sel.Sel.Name, "Write") {
		return nil, ""
	}
	b := f.Local(sel.X)
	if b == nil || f.IsParam(b) {
		return nil, ""
	}
	t := types.TypeString(b.Type(), nil)
	switch t = strings.TrimPrefix(t, "*"); t {
	case "strings.Builder", "bytes.Buffer":
		return b, t
	}
	return nil, ""
}

func grownBuffer(p *advise.Pass, b *types.Var) {
	decl, value := p.Declared(b)
	if decl == nil || !isNewBuffer(p.Func, decl, value) || flow.Captured(p.Func, b, p.Decl.Body) {
		return
	}
	var writes []*ast.CallExpr
	lines := map[int]bool{}
	var sum, most cost.Cost
	var worst *ast.CallExpr
	typ := strings.TrimPrefix(types.TypeString(b.Type(), nil), "*")
	for _, id := range p.Uses(b) {
		sel, ok := p.Parent(id).(*ast.SelectorExpr)
		if !ok {
			ref, isRef := p.Parent(id).(*ast.UnaryExpr)
			if _, points := b.Type().(*types.Pointer); !points && !(isRef && ref.Op == token.AND) {
				return // a copy would have the same room
			}
			var given ast.Node = id
			if isRef {
				given = ref
			}
			if call, isCall := p.Parent(given).(*ast.CallExpr); isCall && p.Callee(call) != nil && p.Callee(call).Pkg() == p.Pkg.Types && p.Pkg.Calls(asksForRoom...) {
				return
			}
			continue
		}
		switch sel.Sel.Name {
		case "Grow", "Bytes", "Cap", "Available", "AvailableBuffer": // what nothing was written to has none
			return
		}
		call, ok := p.Parent(sel).(*ast.CallExpr)
		if !ok {
			continue
		}
		if to, _ := writeTo(p.Func, call); to != b || lines[p.Line(call.Pos())] {
			continue
		}
		lines[p.Line(call.Pos())] = true
		c := p.Cost(call, growingBuffer)
		sum.Add(&c)
		if worst == nil || p.Costs.Weight(&c) > p.Costs.Weight(&most) {
			worst, most = call, c
		}
		writes = append(writes, call)
	}
	if worst == nil {
		return
	}
	isBuffer := typ == "bytes.Buffer"
	begins := "nothing"
	if isBuffer {
		begins = "64 bytes"
	}
	f := advise.Finding{
		Title:  "Builder or Buffer grown step by step",
		Claim:  fmt.Sprintf("a %s begins with %s: it makes a larger array again and again, and copies %s each time", typ, begins, b.Name()),
		Advice: "start with room for the usual size (Grow)",
		Risk:   "some of the room may not be needed",
		Callee: strings.Replace(typ, ".", ".(*", 1) + ")." + worst.Fun.(*ast.SelectorExpr).Sel.Name,
	}
	for _, w := range writes {
		if w != worst {
			f.Also = append(f.Also, w)
		}
	}
	if n := roomForWrites(p.Func, b, decl, writes); n != "" {
		f.Fixes = p.Fix(report.Mechanical, "make room for as much as there is to read", edit.After(decl, fmt.Sprintf("\n%s.Grow(%s)", b.Name(), n)))
	}
	// Without Grow, a Buffer has as much room as roomFor gives it.
	if n := roomFor(usualSize(p, writes, growingBuffer, byGrowing, halfOfGrowing)); n > 0 && !isBuffer {
		f.Fixes = append(f.Fixes, p.Fix(report.Mechanical, fmt.Sprintf("begin with room for %d bytes", n), edit.After(decl, fmt.Sprintf("\n%s.Grow(%d)", b.Name(), n)))...)
	}
	p.Report(worst, sum, f)
}

// asksForRoom are methods whose results depend on how much room there is.
var asksForRoom = []string{"(*strings.Builder).Cap", "(*bytes.Buffer).Cap", "(*bytes.Buffer).Available", "(*bytes.Buffer).AvailableBuffer"}

// growingBuffer is what making a Builder or Buffer larger costs. The first array of a Buffer is not part of that: it has room for 64 bytes, so
// a short text needs no other.
func growingBuffer(c *cost.Chain) bool {
	first := c.First()
	if strings.HasPrefix(first, "strings.(*Builder).Write") {
		return !c.OnCPU || c.Has("runtime.growslice")
	}
	return strings.HasPrefix(first, "bytes.(*Buffer).Write") && c.Has("bytes.growSlice")
}

// firstArray is what the first array of a Buffer costs.
func firstArray(c *cost.Chain) bool {
	return strings.HasPrefix(c.First(), "bytes.(*Buffer).Write") && c.Has("bytes.(*Buffer).grow") && !c.Has("bytes.growSlice")
}

// isNewBuffer reports whether a declaration is that of a Builder or Buffer alone, with nothing in it.
func isNewBuffer(f *code.Func, decl ast.Stmt, value ast.Expr) bool {
	switch d := decl.(type) {
	case *ast.AssignStmt:
		if len(d.Lhs) > 1 {
			return false
		}
	case *ast.DeclStmt:
		if len(d.Decl.(*ast.GenDecl).Specs) > 1 {
			return false
		}
		if value == nil {
			return true
		}
	}
	if ref, ok := value.(*ast.UnaryExpr); ok {
		value = ref.X
	}
	if lit, ok := value.(*ast.CompositeLit); ok {
		return len(lit.Elts) == 0
	}
	return f.Builtin(value, "new") != nil && f.Statement(decl) == decl
}

// roomForWrites returns how long the text is that a loop with writes in it goes through, if there is one. How long others are that the function is
// given says little: what it makes of them may be a small part.
func roomForWrites(f *code.Func, b *types.Var, decl ast.Stmt, writes []*ast.CallExpr) string {
	there := func(e ast.Expr) bool {
		v := f.Local(e)
		return v != nil && v.Pos() < decl.Pos() && (kind.IsString(v.Type()) || kind.IsBytes(v.Type()))
	}
	for _, w := range writes {
		for l := f.Loop(w); l != nil && l.Pos() > decl.Pos(); l = f.Loop(l) {
			if emptied(f, l, b) || endsWith(f, loops.BodyOf(l), b) {
				return ""
			}
			switch l := l.(type) {
			case *ast.RangeStmt:
				if there(l.X) {
					return "len(" + f.Src(l.X) + ")"
				}
				if size := f.Builtin(l.X, "len"); size != nil && there(size.Args[0]) {
					return f.Src(l.X)
				}
			case *ast.ForStmt:
				if cond, ok := l.Cond.(*ast.BinaryExpr); ok {
					if size := f.Builtin(cond.Y, "len"); size != nil && cond.Op == token.LSS && there(size.Args[0]) {
						return f.Src(size)
					}
				}
			}
		}
	}
	return ""
}

// emptied reports whether a loop starts a Builder, a Buffer or another collection anew, so that it never has all that the loop adds.
func emptied(f *code.Func, loop ast.Node, b *types.Var) bool {
	return slices.ContainsFunc(f.Uses(b), func(id *ast.Ident) bool {
		if !code.Within(id, loop) {
			return false
		}
		switch up := f.Parent(id).(type) {
		case *ast.AssignStmt:
			return slices.Contains(up.Lhs, ast.Expr(id))
		case *ast.StarExpr:
			st, ok := f.Parent(up).(*ast.AssignStmt)
			return ok && slices.Contains(st.Lhs, ast.Expr(up))
		case *ast.SelectorExpr:
			return slices.Contains([]string{"Reset", "Truncate", "Clear", "Empty", "Init", "WriteTo"}, strings.ToUpper(up.Sel.Name[:1])+up.Sel.Name[1:])
		}
		return false
	})
}
