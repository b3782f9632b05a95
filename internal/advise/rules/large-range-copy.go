package rules

import (
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"strings"

	"github.com/hone-perf/hone/internal/advise"
	"github.com/hone-perf/hone/internal/advise/facts/code"
	"github.com/hone-perf/hone/internal/advise/facts/cost"
	"github.com/hone-perf/hone/internal/advise/facts/edit"
	"github.com/hone-perf/hone/internal/advise/facts/flow"
	"github.com/hone-perf/hone/internal/advise/facts/kind"
	"github.com/hone-perf/hone/internal/report"
	"github.com/hone-perf/hone/internal/report/missing"
)

var largeRangeCopy = &advise.Rule{
	Name: "large-range-copy", Rank: 23,
	Doc: "a loop copies large elements to look at them",

	NoFix: missing.ElementMayChange,
	Find: func(p *advise.Pass) {
		advise.Each(p, func(loop *ast.RangeStmt) {
			v, ok := loop.Value.(*ast.Ident)
			if !ok || v.Name == "_" || loop.Tok != token.DEFINE || kind.IsMap(p.TypeOf(loop.X)) {
				return
			}
			t := p.TypeOf(v)
			if t == nil {
				return
			}
			size, _ := p.SizeOf(t)
			if size < 128 {
				return
			}
			obj := p.Info().Defs[v]
			// The copy is on the line of the range, by itself or by the runtime.
			head := p.Lines[p.Line(loop.For)]
			c := head.Sum(func(c *cost.Chain) bool {
				return c.OnCPU && (len(c.Below) == 0 || c.Has("runtime.duffcopy", "runtime.memmove", "runtime.typedmemmove", "runtime.wbMove"))
			})
			f := advise.Finding{
				Title:  "large elements copied to look at them",
				Claim:  fmt.Sprintf("each round copies an element of %d bytes to %s", size, v.Name),
				Advice: "range over the index, and take the address of the element",
				Risk:   "what the loop does to the elements is then seen in the variable, too, and the other way round",
			}
			_, isSlice := p.TypeOf(loop.X).Underlying().(*types.Slice)
			switch {
			case !isSlice || obj == nil || !flow.Simple(p.Func, loop.X):
				f.NoFix = missing.NoSliceVariable.Of(p.Src(loop.X))
			case !onlyReadIn(p.Func, loop.Body, obj):
				f.NoFix = missing.ElementUse.Of(v.Name)
			case !staysSlice(p.Func, loop):
				f.NoFix = missing.OtherSlice.Of(p.Src(loop.X))
			default:
				key := p.LocalName("i")
				begin := key
				if id, ok := loop.Key.(*ast.Ident); ok && id.Name != "_" {
					begin, key = id.Name, id.Name
				}
				f.Risk, f.Safe = "none: the loop calls nothing, and writes to no element", true
				at, line := loop.Body.Lbrace+1, fmt.Sprintf("%s := &%s[%s]", v.Name, p.Src(loop.X), key)
				end := edit.New(at, at, "\n"+line+"\n")
				if behind := edit.Comment(p.Func, edit.At(at)); behind != "" || strings.HasPrefix(p.Between(at, p.File.AST.FileEnd), "\n") {
					at = edit.NextLine(p.Func, edit.At(at)) // the comment is about the loop
					end = edit.New(at, at, line+"\n")
				}
				f.Fixes = p.Fix(report.Mechanical, "take the address of the element", edit.New(loop.Key.Pos(), loop.Value.End(), begin), end)
			}
			p.Report(loop, c, f)
		})
	},
}

// staysSlice reports whether a loop ranges over a variable of the function, which it gives no other value.
func staysSlice(f *code.Func, loop *ast.RangeStmt) bool {
	v := f.Local(loop.X)
	return v != nil && !flow.Captured(f, v, f.Decl.Body) && !flow.Assigns(f, loop.Body, func(o types.Object) bool { return o == v })
}

// holdsElements reports whether a variable of a type may have elements of slices in itself.
func holdsElements(t types.Type) bool {
	if t == nil {
		return false // it is blank
	}
	switch t.Underlying().(type) {
	case *types.Array, *types.Struct:
		return true
	}
	return false
}

// onlyReadIn reports whether a node only reads fields of a variable, calls nothing, and assigns to nothing but plain variables.
func onlyReadIn(f *code.Func, n ast.Node, v types.Object) bool {
	ok := true
	ast.Inspect(n, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.CallExpr:
			if f.Builtin(n, "len") == nil && f.Builtin(n, "min") == nil && f.Builtin(n, "max") == nil && !f.Info().Types[n.Fun].IsType() {
				ok = false
			}
		case *ast.AssignStmt:
			for _, l := range n.Lhs {
				id, isID := l.(*ast.Ident)
				ok = ok && isID && f.Info().ObjectOf(id) != v && !holdsElements(f.TypeOf(id))
			}
		case *ast.SliceExpr:
			_, isArray := f.TypeOf(n.X).Underlying().(*types.Array)
			ok = ok && !isArray // of the copy, which nobody else changes
		case *ast.RangeStmt:
			ok = ok && n.Tok != token.ASSIGN
		case *ast.IncDecStmt:
			_, isID := n.X.(*ast.Ident)
			ok = ok && isID
		case *ast.UnaryExpr:
			ok = ok && n.Op != token.AND && n.Op != token.ARROW
		case *ast.FuncLit, *ast.SendStmt, *ast.GoStmt, *ast.DeferStmt:
			ok = false
		case *ast.Ident:
			if f.Info().Uses[n] == v {
				sel, isSel := f.Parent(n).(*ast.SelectorExpr)
				ok = ok && isSel && sel.X == n && f.Info().Selections[sel] != nil && f.Info().Selections[sel].Kind() == types.FieldVal
			}
		}
		return ok
	})
	return ok
}
