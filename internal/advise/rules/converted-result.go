package rules

import (
	"fmt"
	"go/ast"
	"go/types"
	"slices"

	"github.com/hone-perf/hone/internal/advise"
	"github.com/hone-perf/hone/internal/advise/facts/calls"
	"github.com/hone-perf/hone/internal/advise/facts/code"
	"github.com/hone-perf/hone/internal/advise/facts/cost"
	"github.com/hone-perf/hone/internal/advise/facts/edit"
	"github.com/hone-perf/hone/internal/advise/facts/kind"
	"github.com/hone-perf/hone/internal/advise/facts/owner"
	"github.com/hone-perf/hone/internal/report"
	"github.com/hone-perf/hone/internal/report/missing"
)

var convertedResult = &advise.Rule{
	Name: "converted-result", Rank: 9,
	Doc: "what a function makes is converted by its caller, which copies it once more",

	NoFix: missing.OtherResult,
	Find: func(p *advise.Pass) {
		advise.Each(p, func(conv *ast.CallExpr) {
			if arg := p.BytesOf(conv); arg != nil {
				convertedBack(p, conv, arg, "string", "[]byte", "stringtoslicebyte")
			} else if arg := p.StringOf(conv); arg != nil {
				convertedBack(p, conv, arg, "[]byte", "string", "slicebytetostring")
			}
		})
		assertedBack(p)
	},
}

// convertedBack is about []byte(f()) where f returns string(b), and the other way around.
func convertedBack(p *advise.Pass, conv *ast.CallExpr, arg ast.Expr, from, to, leaf string) {
	call := madeBy(p.Func, arg)
	if call == nil || p.Told(p.Line(conv.Pos()), p.Line(conv.Pos())) {
		return
	}
	fn := p.Callee(call)
	q := lookedAt(p, fn)
	if q == nil || fn.Signature().Results().Len() != 1 {
		return
	}
	made := results(q)
	if len(made) == 0 || slices.ContainsFunc(made, func(e ast.Expr) bool { return !copiesInto(q, e, from) }) {
		return
	}
	f := advise.Finding{
		Title:  fmt.Sprintf("result converted to %s and back", from),
		Claim:  fmt.Sprintf("%s makes a %s of %s that it has, and %s(…) copies it back", fn.Name(), from, theType(to), to),
		Advice: fmt.Sprintf("let %s return %s, or append to a buffer that the caller has; where others need the %s, in a second function", fn.Name(), theType(to), from),
		Risk:   fmt.Sprintf("%s gets another result, which changes all that call it", fn.Name()),
		NoFix:  missing.OtherResultOf.Of(fn.Name()),
	}
	if q.File == p.File {
		for _, e := range made {
			f.Also = append(f.Also, e)
		}
	}
	c := p.Cost(conv, cost.Allocates(leaf))
	if p.Worth(c) {
		if f.Fixes = withoutConversions(p, q, fn, made, to); f.Fixes != nil {
			f.Risk, f.Safe = "none", true
		}
	}
	p.Report(conv, c, f)
}

// theType returns a type with its article.
func theType(typ string) string {
	if typ == "[]byte" {
		return "the bytes"
	}
	return "the " + typ
}

// madeBy returns the call whose result an expression is: the call itself, or what the function keeps in a variable that is used for
// nothing else.
func madeBy(f *code.Func, e ast.Expr) *ast.CallExpr {
	e = ast.Unparen(e)
	if v := f.Local(e); v != nil && !f.IsParam(v) && len(f.Uses(v)) == 1 {
		_, e = f.Declared(v)
	}
	call, ok := e.(*ast.CallExpr)
	if !ok || f.Info().Types[call.Fun].IsType() || f.Callee(call) == nil {
		return nil
	}
	return call
}

// lookedAt returns a function of the package, or one of another that costs something, or nil.
func lookedAt(p *advise.Pass, fn *types.Func) *code.Func {
	if fn == nil || fn.Pkg() == nil {
		return nil
	}
	if decl, file := p.DeclOf(fn); decl != nil {
		if decl.Body == nil {
			return nil
		}
		return p.In(file, decl)
	}
	name := p.ProfileName(fn)
	for _, f := range p.All {
		if f.Name == name {
			return f.Func
		}
	}
	return nil
}

// results returns what a function with one result returns, or nil where a return statement names no value.
func results(f *code.Func) (out []ast.Expr) {
	ok := true
	ast.Inspect(f.Decl.Body, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncLit:
			return false
		case *ast.ReturnStmt:
			if ok = ok && len(n.Results) == 1; ok {
				out = append(out, ast.Unparen(n.Results[0]))
			}
		}
		return ok
	})
	if !ok {
		return nil
	}
	return out
}

// copiesInto reports whether an expression is a conversion to a type: a copy of what the function has.
func copiesInto(f *code.Func, e ast.Expr, typ string) bool {
	if typ == "string" {
		return f.StringOf(e) != nil || f.Calls(e, "(*bytes.Buffer).String") != nil
	}
	return f.BytesOf(e) != nil && !f.IsConst(f.BytesOf(e))
}

// withoutConversions is a fix for a function of the file that only callers which convert its result call.
func withoutConversions(p *advise.Pass, q *code.Func, fn *types.Func, made []ast.Expr, to string) []report.Fix {
	if q.File != p.File || fn.Exported() || fn.Signature().Recv() != nil || fn.Signature().TypeParams() != nil || len(q.Decl.Type.Results.List[0].Names) > 0 {
		return p.No(missing.CallersUnknown, fn.Name())
	}
	var edits []edit.Edit
	for _, e := range made {
		arg, _ := q.Conversion(e)
		if arg == nil {
			return p.No(missing.ReturnsItsArray, fn.Name())
		}
		if to == "[]byte" { // which somebody else must not have
			v := q.Local(arg)
			if v == nil || q.IsParamResult(v) || !owner.OwnList(q, v) {
				return p.No(missing.CallerNeedsCopy, q.Src(arg), fn.Name())
			}
			if !types.Identical(v.Type(), types.NewSlice(types.Typ[types.Byte])) {
				return p.No(missing.OwnType, q.Src(arg))
			}
		} else if !types.Identical(q.TypeOf(arg), types.Typ[types.String]) {
			return p.No(missing.OwnType, q.Src(arg))
		}
		edits = append(edits, edit.Replace(e, q.Src(arg)))
	}
	above := p.Pkg.Above()
	for _, id := range p.Pkg.UsesOf(fn) {
		call, isCall := above[id].(*ast.CallExpr)
		if !isCall || call.Fun != ast.Expr(id) || id.Pos() < p.File.AST.FileStart || id.Pos() >= p.File.AST.FileEnd {
			return p.No(missing.UsedUnconverted, fn.Name())
		}
		conv, isConv := above[call].(*ast.CallExpr)
		if !isConv || p.TypeOf(conv) == nil || types.TypeString(p.TypeOf(conv), nil) != map[string]string{"[]byte": "[]byte", "string": "string"}[to] || !p.Info().Types[conv.Fun].IsType() {
			return p.No(missing.CalledUnconverted, fn.Name())
		}
		edits = append(edits, edit.New(conv.Pos(), call.Pos(), ""), edit.New(call.End(), conv.End(), ""))
	}
	edits = append(edits, edit.Replace(q.Decl.Type.Results.List[0].Type, to))
	return p.Fix(report.Mechanical, "return what it has without a conversion", edits...)
}

// assertedBack is about a function that returns values of one type as an interface, which all that call it turn back into values of it.
func assertedBack(p *advise.Pass) {
	fn, ok := p.Info().Defs[p.Decl.Name].(*types.Func)
	if !ok || fn.Signature().Results().Len() != 1 || fn.Exported() || !types.IsInterface(fn.Signature().Results().At(0).Type()) || kind.IsTypeParam(fn.Signature().Results().At(0).Type()) {
		return
	}
	list := results(p.Func)
	uses := p.Pkg.UsesOf(fn)
	if len(list) == 0 || len(uses) == 0 {
		return
	}
	t := p.TypeOf(list[0])
	var c cost.Cost
	var first ast.Expr
	for _, e := range list {
		if !types.Identical(p.TypeOf(e), t) || !calls.Boxes(p.Func, e) {
			return
		}
		one := p.Cost(e, cost.Allocates("convT"))
		if c.Add(&one); first == nil && one != (cost.Cost{}) {
			first = e
		}
	}
	above := p.Pkg.Above()
	for _, id := range uses {
		var e ast.Node = id
		if sel, isSel := above[e].(*ast.SelectorExpr); isSel && sel.Sel == id {
			e = sel
		}
		call, isCall := above[e].(*ast.CallExpr)
		if !isCall {
			return
		}
		asserted, isAssert := above[call].(*ast.TypeAssertExpr)
		if !isAssert || asserted.Type == nil || !types.Identical(p.TypeOf(asserted.Type), t) {
			return
		}
	}
	if first == nil || p.Told(p.Line(first.Pos()), p.Line(first.Pos())) {
		return
	}
	name := types.TypeString(t, p.Qualifier())
	p.Report(first, c, advise.Finding{
		Title:  "result converted to an interface and back",
		Claim:  fmt.Sprintf("%s only returns values of type %s, which are copied to the heap for its result type %s, and all that call it turn them back", fn.Name(), name, types.TypeString(fn.Signature().Results().At(0).Type(), p.Qualifier())),
		Advice: fmt.Sprintf("let %s return %s", fn.Name(), name),
		Risk:   fmt.Sprintf("%s gets another result type, which changes all that call it", fn.Name()),
		NoFix:  missing.OtherResultForInterface.Of(fn.Name()),
	})
}
