package rules

import (
	"fmt"
	"go/ast"
	"go/token"
	"strings"

	"github.com/hone-perf/hone/internal/advise"
	"github.com/hone-perf/hone/internal/advise/facts/code"
	"github.com/hone-perf/hone/internal/advise/facts/cost"
	"github.com/hone-perf/hone/internal/advise/facts/flow"
	"github.com/hone-perf/hone/internal/advise/facts/kind"
	"github.com/hone-perf/hone/internal/report/missing"
)

var closurePerCall = &advise.Rule{
	Name: "closure-per-call", Rank: 6, PerCall: true,
	Doc: "a function literal that captures variables is allocated for every call",

	NoFix: missing.LiteralMayBeKept,
	Find: func(p *advise.Pass) {
		advise.Each(p, func(lit *ast.FuncLit) {
			line := p.Lines[p.Line(lit.Pos())]
			c := line.Sum(cost.Allocates("newobject"))
			if p.Line(lit.Pos()) == p.Line(p.Decl.Pos()) || allocatesElse(p.Func, lit) || c == (cost.Cost{}) {
				return
			}
			captured := flow.CapturedBy(p.Func, lit)
			if len(captured) == 0 {
				return
			}
			f := advise.Finding{
				Title:  "closure allocated on every call",
				Claim:  fmt.Sprintf("it captures %s, and may outlive the function, so it and what it changes are on the heap", strings.Join(captured, ", ")),
				Advice: "make it a method, or give it what it needs as arguments; or make it once, and use it again",
				Risk:   "what is captured is seen as it is when the function is called, arguments as they were before",
				NoFix:  keeperOf(p.Func, lit).Of(strings.Join(captured, ", ")),
			}
			if d := undisguised(p, lit); d != nil && p.Worth(c) {
				if f.Fixes = d.shed(p); len(f.Fixes) > 0 {
					method := p.Parent(lit).(*ast.CallExpr).Fun.(*ast.SelectorExpr).Sel.Name
					f.Advice = fmt.Sprintf("have %s return %s in place of an interface: the compiler then sees whether %s keeps the function literal", d.of.Decl.Name.Name, d.typ, method)
					f.Risk, f.Safe = "none: only the package calls "+d.of.Decl.Name.Name, true
				}
			}
			p.Report(lit, c, f)
		})
	},
}

// keeperOf says who may keep a function literal.
func keeperOf(f *code.Func, lit *ast.FuncLit) missing.Fact {
	var n ast.Node = lit
	for {
		switch up := f.Parent(n).(type) {
		case *ast.ParenExpr:
			n = up
			continue
		case *ast.CallExpr:
			if f.Info().Types[up.Fun].IsType() {
				n = up
				continue
			}
			if f.Builtin(up, "append") == nil {
				return missing.LiteralMayKeep
			}
		case *ast.ReturnStmt:
			return missing.LiteralReturned
		}
		return missing.LiteralStored
	}
}

// allocatesElse reports whether something else on the first line of a literal, or of another node, may allocate.
func allocatesElse(f *code.Func, lit ast.Node) bool {
	found := false
	at := f.Line(lit.Pos())
	ast.Inspect(f.Decl, func(n ast.Node) bool {
		if n == nil || n == lit {
			return false
		}
		if f.Line(n.Pos()) != at {
			return true
		}
		switch n := n.(type) {
		case *ast.CompositeLit:
			found = true
		case *ast.BinaryExpr:
			found = found || n.Op == token.ADD && kind.IsString(f.TypeOf(n)) && !f.IsConst(n)
		case *ast.CallExpr:
			found = found || f.Builtin(n, "make") != nil || f.Builtin(n, "new") != nil || f.Builtin(n, "append") != nil || f.Info().Types[n.Fun].IsType()
		case *ast.FuncLit:
			found = true
		case *ast.GoStmt:
			found = true
		}
		return !found
	})
	return found
}
