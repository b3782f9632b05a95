package rules

import (
	"cmp"
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/hone-perf/hone/internal/advise"
	"github.com/hone-perf/hone/internal/advise/facts/cost"
	"github.com/hone-perf/hone/internal/advise/facts/edit"
	"github.com/hone-perf/hone/internal/advise/facts/flow"
	"github.com/hone-perf/hone/internal/report"
	"github.com/hone-perf/hone/internal/report/missing"
)

var constError = &advise.Rule{
	Name: "const-error", Rank: 18, PerCall: true,
	Doc: "an error that is always the same is made for every call",

	NoFix: missing.BelowShare,
	Find: func(p *advise.Pass) {
		advise.Each(p, func(call *ast.CallExpr) {
			if p.Calls(call, "errors.New", "fmt.Errorf") == nil || len(call.Args) != 1 || p.Startup(call) {
				return
			}
			text, ok := p.Text(call.Args[0])
			if !ok || strings.Contains(text, "%") {
				return
			}
			name := p.Callee(call).Pkg().Name() + "." + p.Callee(call).Name()
			c := p.Cost(call, cost.Below(name))
			f := advise.Finding{
				Title:  "same error created on every call",
				Claim:  fmt.Sprintf("%s allocates an error whose message never changes", name),
				Advice: "use a package variable: var Err… = errors.New(…), which callers can ask for with errors.Is, too",
				Callee: name,
				Risk:   "two errors with the same message are then one",
			}
			if p.Worth(c) {
				f.Fixes = errorOnce(p, call, errorName(p, text), fmt.Sprintf("errors.New(%s)", edit.Outer(p.Func, call.Args[0])))
			}
			p.Report(call, c, f)
		})
		advise.Each(p, func(ref *ast.UnaryExpr) {
			lit, ok := ref.X.(*ast.CompositeLit)
			if !ok || ref.Op != token.AND || !sameError(p, ref, lit) || p.Startup(ref) {
				return
			}
			c := p.Cost(ref, cost.Allocates("newobject"))
			name := p.Src(lit.Type)
			f := advise.Finding{
				Title:  "same error created on every call",
				Claim:  fmt.Sprintf("a %s that is always the same is allocated, since an error is returned as a pointer", name),
				Advice: "use a package variable for it",
				Risk:   "two errors with the same message are then one",
			}
			if p.Worth(c) {
				base := strings.TrimSuffix(strings.TrimSuffix(strings.TrimPrefix(name, "err"), "Error"), "Err")
				f.Fixes = errorOnce(p, ref, "err"+upperFirst(cmp.Or(base, p.Decl.Name.Name)), edit.Outer(p.Func, ref))
			}
			p.Report(ref, c, f)
		})
	},
}

// errorOnce is a fix that returns a variable of the package in place of an error that is always the same.
func errorOnce(p *advise.Pass, e ast.Expr, base, value string) []report.Fix {
	if strings.HasPrefix(value, "errors.") {
		p.Need("errors")
	}
	name := p.NewName(base) // one with the same text that there is already may be asked for, with errors.Is
	return p.Fix(report.Ownership, "make it once, in a package variable", edit.Declare(p.Func, "var "+name+" = "+value), edit.Replace(e, name))
}

// errorName returns what to call an error with a text.
func errorName(p *advise.Pass, text string) string {
	if _, rest, ok := strings.Cut(text, ": "); ok {
		text = rest // behind the name of the package, or of the function
	}
	name := "err"
	const most = 4 // words
	for i, word := range strings.FieldsFunc(text, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) }) {
		if i == most || strings.ContainsFunc(word, func(r rune) bool { return r >= utf8.RuneSelf }) {
			return "err" + upperFirst(p.Decl.Name.Name) // that would be a sentence, or a word that is hard to type
		}
		name += upperFirst(word)
	}
	if name == "err" {
		return "err" + upperFirst(p.Decl.Name.Name)
	}
	return name
}

func upperFirst(s string) string { return strings.ToUpper(s[:1]) + s[1:] }

// sameError reports whether the address of a literal is returned as an error, of a type that only the package knows and never changes, and with
// constants in all of its fields.
func sameError(p *advise.Pass, ref *ast.UnaryExpr, lit *ast.CompositeLit) bool {
	ret, ok := p.Parent(ref).(*ast.ReturnStmt)
	if !ok || lit.Type == nil {
		return false
	}
	named, ok := types.Unalias(p.TypeOf(lit)).(*types.Named)
	if !ok || named.Obj().Pkg() != p.Pkg.Types || named.Obj().Exported() || named.TypeArgs() != nil {
		return false
	}
	st, ok := named.Underlying().(*types.Struct)
	if !ok || !isErrorResult(p, ret, slices.Index(ret.Results, ast.Expr(ref))) {
		return false
	}
	for _, e := range lit.Elts {
		if kv, ok := e.(*ast.KeyValueExpr); ok {
			e = kv.Value
		}
		if !p.IsConst(e) {
			return false
		}
	}
	fields := map[types.Object]bool{}
	for f := range st.Fields() {
		fields[f] = true
	}
	for _, file := range p.Pkg.Files {
		if flow.Assigns(p.Func, file.AST, func(o types.Object) bool { return fields[o] }) {
			return false
		}
	}
	return true
}

// isErrorResult reports whether a result of the function that returns is an error.
func isErrorResult(p *advise.Pass, ret *ast.ReturnStmt, i int) bool {
	sig, _ := p.Info().TypeOf(p.Decl.Name).(*types.Signature)
	if lit := p.Literal(ret); lit != nil {
		sig, _ = p.TypeOf(lit).(*types.Signature)
	}
	return sig != nil && i >= 0 && len(ret.Results) == sig.Results().Len() && types.Identical(sig.Results().At(i).Type(), types.Universe.Lookup("error").Type())
}
