package rules

import (
	"fmt"
	"go/ast"
	"go/types"

	"github.com/hone-perf/hone/internal/advise"
	"github.com/hone-perf/hone/internal/advise/facts/code"
	"github.com/hone-perf/hone/internal/advise/facts/cost"
	"github.com/hone-perf/hone/internal/advise/facts/edit"
	"github.com/hone-perf/hone/internal/advise/facts/flow"
	"github.com/hone-perf/hone/internal/report"
	"github.com/hone-perf/hone/internal/report/missing"
)

var methodValue = &advise.Rule{
	Name: "method-value", Rank: 6, PerCall: true,
	Doc: "a method is bound to its receiver for every call, which allocates a function",

	NoFix: missing.ReceiverMayDiffer,
	Find: func(p *advise.Pass) {
		lines := map[int]bool{}
		advise.Each(p, func(sel *ast.SelectorExpr) {
			fn := boundMethod(p.Func, sel)
			if fn == nil || lines[p.Line(sel.Pos())] || allocatesElse(p.Func, sel) {
				return
			}
			c := p.Cost(sel, binding(p.Func, sel))
			if c == (cost.Cost{}) {
				return
			}
			lines[p.Line(sel.Pos())] = true
			f := advise.Finding{
				Title:  "method bound to its receiver on every call",
				Claim:  fmt.Sprintf("%s as a value is a function that holds %s: it is allocated each time the line runs", p.Src(sel), p.Src(sel.X)),
				Advice: "where the receiver stays the same, bind the method once, and keep the function in a field or a variable; a method expression, which takes the receiver as its first argument, needs no memory",
				Risk:   "a function that is kept holds its receiver in memory",
				NoFix:  missing.ReceiverMayDiffer.Of(p.Src(sel.X)),
			}
			if t := stateTypeOf(p.Func, fn.Type()); t != nil {
				all, most := boundAs(p, t)
				if most != sel {
					return // it is told once, where it costs most
				}
				c = all
				f.Claim = fmt.Sprintf("%s as a value is a function that holds %s: the methods that return a %s allocate one for each step", p.Src(sel), p.Src(sel.X), t.Name())
				f.Advice = fmt.Sprintf("let a %s take the receiver as an argument, and return method expressions: they are the same function each time", t.Name())
				f.Risk, f.Safe = fmt.Sprintf("none: only the package has values of %s, and it calls each with the receiver that they were bound to", t.Name()), true
				if p.Worth(c) {
					f.Fixes = takingReceiver(p, t, fn)
				}
			} else if loop := unboundIn(p.Func, sel); loop != nil {
				f.Advice = "bind it once, before the loop"
				f.Risk, f.Safe = "none, but that it is bound even if no iteration needs it", true
				if p.Worth(c) {
					f.Fixes = boundBefore(p, sel, loop)
				}
			}
			p.Report(sel, c, f)
		})
	},
}

// boundMethod returns the method that a selector makes a value of, or nil where it does not, calls it right away, or makes
// the receiver for it.
func boundMethod(f *code.Func, sel *ast.SelectorExpr) *types.Func {
	s := f.Info().Selections[sel]
	if s == nil || s.Kind() != types.MethodVal || makesOne(sel.X) {
		return nil
	}
	var n ast.Node = sel
	for {
		up := f.Parent(n)
		if paren, ok := up.(*ast.ParenExpr); ok {
			n = paren
			continue
		}
		if call, ok := up.(*ast.CallExpr); ok && call.Fun == n {
			return nil
		}
		fn, _ := s.Obj().(*types.Func)
		return fn
	}
}

// makesOne reports whether an expression makes a value of a literal.
func makesOne(e ast.Expr) (found bool) {
	ast.Inspect(e, func(n ast.Node) bool {
		_, is := n.(*ast.CompositeLit)
		found = found || is
		return !found
	})
	return found
}

// binding is what it costs to make a function of a method and its receiver: a heap profile says how large objects are, and this one is a pointer
// and the receiver.
func binding(f *code.Func, sel *ast.SelectorExpr) func(*cost.Chain) bool {
	recv := f.Info().Selections[sel].Obj().(*types.Func).Signature().Recv().Type()
	size, known := f.SizeOf(recv)
	made := cost.Allocates("newobject")
	return func(c *cost.Chain) bool {
		return made(c) && (c.OnCPU || !known || c.Size <= cost.UpToPower(size+8))
	}
}

// unboundIn returns the outermost loop around a method value in which its receiver, a pointer in a variable, is always the same; nil if there is
// none. Binding a method of a pointer does not look at what it points to.
func unboundIn(f *code.Func, sel *ast.SelectorExpr) (outer ast.Stmt) {
	v := f.Local(sel.X)
	s := f.Info().Selections[sel]
	if v == nil || len(s.Index()) != 1 || !isPointerMethod(s) {
		return nil
	}
	declared, _ := f.Declared(v)
	by, _ := declared.(*ast.AssignStmt)
	if !flow.OnlyRead(f, v, by) {
		return nil
	}
	for loop := f.Loop(sel); loop != nil && v.Pos() < loop.Pos(); loop = f.Loop(loop) {
		outer = loop
	}
	return outer
}

// isPointerMethod reports whether a method with a pointer for a receiver is selected of a pointer.
func isPointerMethod(s *types.Selection) bool {
	_, of := types.Unalias(s.Recv()).(*types.Pointer)
	_, takes := types.Unalias(s.Obj().(*types.Func).Signature().Recv().Type()).(*types.Pointer)
	return of && takes
}

// boundBefore is a fix that binds a method before a loop.
func boundBefore(p *advise.Pass, sel *ast.SelectorExpr, loop ast.Stmt) []report.Fix {
	st := p.Statement(loop)
	if st == nil {
		return p.No(missing.LoopInStatement)
	}
	name := p.NewLocal("bound" + upperFirst(sel.Sel.Name))
	edits := []edit.Edit{edit.Before(st, name+" := "+p.Src(sel)+"\n")}
	ast.Inspect(loop, func(n ast.Node) bool {
		same, ok := n.(*ast.SelectorExpr)
		if ok && p.Src(same) == p.Src(sel) && p.Local(same.X) == p.Local(sel.X) && boundMethod(p.Func, same) != nil {
			edits = append(edits, edit.Replace(same, name))
		}
		return true
	})
	return p.Fix(report.Mechanical, "bind it before the loop", edits...)
}
