package rules

import (
	"fmt"
	"go/ast"
	"go/constant"
	"go/token"
	"go/types"
	"slices"

	"github.com/hone-perf/hone/internal/advise"
	"github.com/hone-perf/hone/internal/advise/facts/calls"
	"github.com/hone-perf/hone/internal/advise/facts/code"
	"github.com/hone-perf/hone/internal/advise/facts/edit"
	"github.com/hone-perf/hone/internal/advise/facts/flow"
	"github.com/hone-perf/hone/internal/advise/facts/kind"
	"github.com/hone-perf/hone/internal/advise/facts/owner"
	"github.com/hone-perf/hone/internal/advise/facts/steady"
	"github.com/hone-perf/hone/internal/advise/facts/text"
	"github.com/hone-perf/hone/internal/report"
	"github.com/hone-perf/hone/internal/report/missing"
)

var constantCall = &advise.Rule{
	Name: "constant-call", Rank: 3, PerCall: true,
	Doc: "a result that is always the same is computed in every call",

	NoFix: missing.ResultMayChange,
	Find: func(p *advise.Pass) {
		advise.Each(p, func(call *ast.CallExpr) {
			fn := p.Callee(call)
			if fn == nil || p.IsConst(call) || p.Startup(call) || p.Told(p.Line(call.Pos()), p.Line(call.End())) {
				return
			}
			if up, ok := p.Parent(call).(*ast.CallExpr); ok && sameEachTime(p.Func, up) {
				return // which is told as a whole
			}
			c := p.Cost(call, calls.Calling(p.Func, call))
			t := p.TypeOf(call)
			f := advise.Finding{Callee: p.ProfileName(fn), Title: fmt.Sprintf("%s gives the same result on every call", fn.Name())}
			switch {
			case t == nil:
				return
			case sameEachTime(p.Func, call) && !kind.Refers(t):
				f.Claim = fmt.Sprintf("all that %s is given is constant, so that it computes the same each time", p.Src(call))
				f.Advice = "compute it once, in a variable of the package"
				f.Risk, f.Safe = "none, but that it is computed when the program starts", true
				grade := report.Mechanical
				if !surelyReturns(p.Func, call) {
					grade = report.Ownership
					f.Risk, f.Safe = "it is computed when the program starts, which it does not where this panics; and it stays in memory, however large it is", false
				}
				if p.Worth(c) {
					f.Fixes = p.Fix(grade, "compute it once", edit.Hoisted(p.Func, call, constantName(p, call, fn))...)
				}
			case madeOfConstants(p, fn) && owner.ReadOnly(p.Func, call): // who changes it, or may, needs one of its own
				f.Claim = fmt.Sprintf("%s takes nothing, and makes new memory with the same content each time, which %s only reads", fn.Name(), p.Callable(call))
				f.Advice = "keep one in a variable of the package"
				f.Risk = "who changes it later changes it for all"
				if p.Worth(c) {
					f.Fixes = p.Fix(report.Mechanical, "make it once", edit.Hoisted(p.Func, call, constantName(p, call, fn))...)
				}
			default:
				return
			}
			p.Report(call, c, f)
		})
	},
}

// constantName returns a name for a result: that of the variable which it is given to, or one made of the function that returns it or makes it.
func constantName(p *advise.Pass, call *ast.CallExpr, fn *types.Func) string {
	switch up := p.Parent(call).(type) {
	case *ast.AssignStmt:
		if v := p.Local(up.Lhs[0]); up.Tok == token.DEFINE && len(up.Lhs) == 1 && v != nil {
			const enough = 4 // letters
			const some = 3
			if len(v.Name()) < some {
				return p.NewName(text.LowerFirst(p.Decl.Name.Name) + upperFirst(fn.Name())) // x says less than what it is
			}
			if len(v.Name()) < enough || !flow.OnlyRead(p.Func, v, up) {
				return p.NewName(text.LowerFirst(p.Decl.Name.Name) + upperFirst(v.Name()))
			}
			return p.PackageName(v)
		}
	case *ast.ReturnStmt:
		return p.NewName(text.LowerFirst(p.Decl.Name.Name) + "Result")
	}
	return p.NewName(text.LowerFirst(fn.Name()) + "Result")
}

// formats are functions that depend on nothing but what they are given, beside those that steady.Pure knows.
var formats = []string{"fmt.Sprint", "fmt.Sprintf", "fmt.Sprintln", "encoding/hex.EncodeToString", "path/filepath.Join", "path/filepath.Clean", "html.EscapeString", "net/url.QueryEscape", "net/url.PathEscape"}

// sameEachTime reports whether an expression is a call that is given constants alone, of a function that depends on nothing else.
func sameEachTime(f *code.Func, e ast.Expr) bool {
	call, ok := ast.Unparen(e).(*ast.CallExpr)
	if !ok || call.Ellipsis.IsValid() || len(call.Args) == 0 {
		return false
	}
	fn := f.Callee(call)
	if fn == nil || fn.Signature().Recv() != nil || fn.Signature().Results().Len() != 1 {
		return false
	}
	if f.Calls(call, "strings.Repeat") != nil && constant.Sign(valueOf(f, call.Args[1])) < 0 {
		return false // which panics
	}
	if !slices.Contains(formats, fn.FullName()) && !steady.Pure(f, fn, 3) {
		return false
	}
	return !slices.ContainsFunc(call.Args, func(a ast.Expr) bool { return !f.IsConst(a) && !sameEachTime(f, a) })
}

// surelyReturns reports whether it is known that a call that sameEachTime has looked at returns, whatever it is given, and before long.
func surelyReturns(f *code.Func, call *ast.CallExpr) bool {
	fn := f.Callee(call)
	ok := fn.Pkg() != f.Pkg.Types
	switch fn.FullName() {
	case "strings.Repeat":
		const most = 64 << 10 // bytes that may stay for as long as the program runs
		s, known := f.Text(call.Args[0])
		n, exact := constant.Int64Val(constant.ToInt(valueOf(f, call.Args[1])))
		ok = known && exact && n >= 0 && int64(len(s)) <= most && n <= most && int64(len(s))*n <= most
	case "strconv.FormatInt", "strconv.FormatUint":
		base, exact := constant.Int64Val(constant.ToInt(valueOf(f, call.Args[1])))
		ok = exact && base >= 2 && base <= 36
	case "strconv.FormatFloat":
		size, exact := constant.Int64Val(constant.ToInt(valueOf(f, call.Args[3])))
		ok = exact && (size == 32 || size == 64)
	default:
		ok = ok && fn.Pkg().Path() != "math/bits" // which divides
	}
	return ok && !slices.ContainsFunc(call.Args, func(a ast.Expr) bool {
		inner, isCall := ast.Unparen(a).(*ast.CallExpr)
		return isCall && !f.IsConst(a) && !surelyReturns(f, inner)
	})
}

// valueOf returns the value of a constant, which is unknown for what is none.
func valueOf(f *code.Func, e ast.Expr) constant.Value {
	if v := f.Info().Types[e].Value; v != nil {
		return v
	}
	return constant.MakeUnknown()
}

// madeOfConstants reports whether a function of the module takes nothing and returns a literal of constants, in new memory.
func madeOfConstants(p *advise.Pass, fn *types.Func) bool {
	sig := fn.Signature()
	if sig.Recv() != nil || sig.Params().Len() > 0 || sig.Results().Len() != 1 || !kind.Refers(sig.Results().At(0).Type()) || types.IsInterface(sig.Results().At(0).Type()) {
		return false
	}
	q := lookedAt(p, fn)
	if q == nil || len(q.Decl.Body.List) != 1 {
		return false
	}
	list := results(q)
	return len(list) == 1 && literalOfConstants(q, list[0], 0)
}

// literalOfConstants reports whether an expression is a literal with some elements, all of which are constant or literals of such.
func literalOfConstants(f *code.Func, e ast.Expr, depth int) bool {
	e = ast.Unparen(e)
	if ref, ok := e.(*ast.UnaryExpr); ok && ref.Op == token.AND {
		e = ref.X
	}
	lit, ok := e.(*ast.CompositeLit)
	if !ok {
		return depth > 0 && (f.IsConst(e) || f.Info().Types[e].IsNil())
	}
	if depth == 0 && len(lit.Elts) == 0 {
		return false // which is there to be filled
	}
	return !slices.ContainsFunc(lit.Elts, func(x ast.Expr) bool {
		if kv, ok := x.(*ast.KeyValueExpr); ok {
			x = kv.Value
		}
		return !literalOfConstants(f, x, depth+1)
	})
}
