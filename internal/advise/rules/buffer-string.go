package rules

import (
	"go/ast"
	"go/token"
	"go/types"
	"slices"

	"github.com/hone-perf/hone/internal/advise"
	"github.com/hone-perf/hone/internal/advise/facts/code"
	"github.com/hone-perf/hone/internal/advise/facts/cost"
	"github.com/hone-perf/hone/internal/advise/facts/edit"
	"github.com/hone-perf/hone/internal/report"
	"github.com/hone-perf/hone/internal/report/missing"
)

var bufferString = &advise.Rule{
	Name: "buffer-string", Rank: 29,
	Doc: "a string is built in a bytes.Buffer, which is copied to become a string",

	NoFix: missing.NotABuilder,
	Find: func(p *advise.Pass) {
		advise.Each(p, func(call *ast.CallExpr) {
			if p.Calls(call, "(*bytes.Buffer).String") == nil {
				return
			}
			sel := call.Fun.(*ast.SelectorExpr)
			b := p.Local(sel.X)
			if b == nil {
				return
			}
			f := advise.Finding{
				Title:  "string copied out of a bytes.Buffer",
				Claim:  "String copies all that is in the Buffer; that of a strings.Builder does not",
				Advice: "build the string in a strings.Builder",
				Callee: "bytes.(*Buffer).String",
				Risk:   "none", Safe: true,
			}
			f.NoFix = missing.NotDeclaredEmpty.Of(b.Name())
			if need := needsBuffer(p.Func, b); need.Fact != "" {
				f.NoFix = need
			} else if typ := declaredEmpty(p.Func, b); typ != nil {
				p.Need("strings")
				f.Fixes = p.Fix(report.Mechanical, "put it together in a strings.Builder", edit.Replace(typ, "strings.Builder"))
			}
			p.Report(call, p.Cost(call, cost.Below("bytes.(*Buffer).String")), f)
		})
	},
}

// declaredEmpty returns where the declaration of an empty Buffer names its type, or nil where it is declared in another way, or together with others.
func declaredEmpty(f *code.Func, b *types.Var) ast.Expr {
	decl, value := f.Declared(b)
	switch d := decl.(type) {
	case *ast.DeclStmt:
		spec := d.Decl.(*ast.GenDecl).Specs
		vs, ok := spec[0].(*ast.ValueSpec)
		if !ok || len(spec) != 1 || len(vs.Names) != 1 || value != nil && vs.Type != nil {
			return nil
		}
		if value == nil {
			return vs.Type
		}
	case *ast.AssignStmt:
		if len(d.Lhs) != 1 {
			return nil
		}
	default:
		return nil
	}
	if made := f.Builtin(value, "new"); made != nil {
		return made.Args[0]
	}
	if ref, ok := value.(*ast.UnaryExpr); ok && ref.Op == token.AND {
		value = ref.X
	}
	if lit, ok := value.(*ast.CompositeLit); ok && len(lit.Elts) == 0 {
		return lit.Type
	}
	return nil
}

// writers are functions that write to what is their first argument, whatever it is.
var writers = []string{"fmt.Fprint", "fmt.Fprintf", "fmt.Fprintln", "io.WriteString"}

// needsBuffer says what is done with a bytes.Buffer that cannot be done with a strings.Builder.
func needsBuffer(f *code.Func, b *types.Var) missing.Reason {
	same := []string{"Write", "WriteByte", "WriteRune", "WriteString", "String", "Len", "Grow"} // Reset would begin with new memory
	for _, id := range f.Uses(b) {
		switch up := f.Parent(id).(type) {
		case *ast.SelectorExpr:
			if !slices.Contains(same, up.Sel.Name) {
				return missing.NotABuilderFor.Of(b.Name(), f.Src(up))
			}
		case *ast.UnaryExpr:
			call, ok := f.Parent(up).(*ast.CallExpr)
			if !ok || up.Op != token.AND || f.Calls(call, writers...) == nil || call.Args[0] != ast.Expr(up) {
				if ok {
					return missing.NotABuilderFor.Of(b.Name(), f.Src(call))
				}
				return missing.NotABuilderFor.Of(b.Name(), f.Src(up))
			}
		case *ast.CallExpr: // of a pointer
			if f.Calls(up, writers...) == nil || up.Args[0] != ast.Expr(id) {
				return missing.NotABuilderFor.Of(b.Name(), f.Src(up))
			}
		default:
			return missing.NotABuilderAt.Of(b.Name(), f.Line(id.Pos()))
		}
	}
	return missing.Reason{}
}
