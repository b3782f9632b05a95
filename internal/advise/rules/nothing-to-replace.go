package rules

import (
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"regexp"
	"regexp/syntax"
	"slices"
	"strings"

	"github.com/hone-perf/hone/internal/advise"
	"github.com/hone-perf/hone/internal/advise/facts/calls"
	"github.com/hone-perf/hone/internal/advise/facts/code"
	"github.com/hone-perf/hone/internal/advise/facts/edit"
	"github.com/hone-perf/hone/internal/advise/facts/flow"
	"github.com/hone-perf/hone/internal/advise/facts/steady"
	"github.com/hone-perf/hone/internal/report"
	"github.com/hone-perf/hone/internal/report/missing"
)

var nothingToReplace = &advise.Rule{
	Name: "nothing-to-replace", Rank: 1, PerCall: true, Vague: true, // how often there is nothing to replace is not in the profile
	Doc: "a regular expression replaces, and copies, where there may be nothing that it can match",

	NoFix: missing.AnyLetterMatches,
	Find: func(p *advise.Pass) {
		advise.Each(p, func(call *ast.CallExpr) {
			const re = "(*regexp.Regexp)."
			if p.Calls(call, re+"ReplaceAllString", re+"ReplaceAllLiteralString", re+"ReplaceAllStringFunc") == nil || len(call.Args) != 2 {
				return
			}
			sel, ok := call.Fun.(*ast.SelectorExpr)
			if !ok {
				return
			}
			pattern, ok := patternOf(p, sel.X)
			if !ok {
				return
			}
			set, ok := requiredLetters(pattern)
			if !ok {
				return
			}
			s := p.Src(call.Args[0])
			guard := fmt.Sprintf("strings.ContainsAny(%s, %q)", s, string(set))
			if len(set) == 1 {
				guard = fmt.Sprintf("strings.ContainsRune(%s, %q)", s, set[0])
			}
			f := advise.Finding{
				Title:  "regular expression where there may be nothing to replace",
				Claim:  fmt.Sprintf("%s copies its argument even when nothing matches, and nothing can match without one of the letters %q", sel.Sel.Name, string(set)),
				Advice: "look for these letters first, and replace only where there are any",
				Risk:   "strings that have such letters are looked at twice",
				Callee: "regexp.(*Regexp)." + sel.Sel.Name,
			}
			c := p.Cost(call, calls.Calling(p.Func, call))
			_, isLit := ast.Unparen(call.Args[1]).(*ast.FuncLit)
			switch {
			case p.Local(call.Args[0]) == nil || !isLit && !flow.Simple(p.Func, call.Args[1]):
				f.NoFix = missing.EvaluatedTwice.Of(s)
			case p.Worth(c):
				p.Need("strings")
				f.Fixes = guarded(p, call, s, guard)
			}
			p.Report(call, c, f)
		})
	},
}

// guarded is a fix that replaces only where a condition says that there may be something to replace.
func guarded(p *advise.Pass, call *ast.CallExpr, s, guard string) []report.Fix {
	const title = "look first whether there is anything to replace"
	switch up := p.Parent(call).(type) {
	case *ast.ReturnStmt:
		if len(up.Results) == 1 && p.Statement(up) == ast.Stmt(up) {
			return p.Fix(report.Mechanical, title, edit.Before(up, fmt.Sprintf("if !%s {\nreturn %s\n}\n", guard, s)))
		}
	case *ast.AssignStmt:
		if len(up.Lhs) != 1 || len(up.Rhs) != 1 || p.Statement(up) != ast.Stmt(up) {
			break
		}
		v := p.Local(up.Lhs[0])
		switch {
		case v != nil && up.Tok == token.ASSIGN && v == p.Local(call.Args[0]):
			return p.Fix(report.Mechanical, title, edit.Before(up, "if "+guard+" {\n"), edit.Behind(p.Func, up, "}"))
		case v != nil && up.Tok == token.DEFINE && types.Identical(v.Type(), p.TypeOf(call.Args[0])):
			return p.Fix(report.Mechanical, title, edit.Replace(up, fmt.Sprintf("%s := %s\nif %s {\n%s = %s", v.Name(), s, guard, v.Name(), p.Src(call))), edit.Behind(p.Func, up, "}"))
		}
	}
	return p.No(missing.NoPlainCall)
}

// patternOf returns the constant pattern of a regular expression in a variable of the package that is only given it.
func patternOf(p *advise.Pass, e ast.Expr) (string, bool) {
	v, ok := p.Object(e).(*types.Var)
	if !ok || v.Parent() != p.Pkg.Types.Scope() || !steady.Variable(p.Func, v) {
		return "", false
	}
	for _, file := range p.Pkg.Files {
		for _, d := range file.AST.Decls {
			g, ok := d.(*ast.GenDecl)
			if !ok || g.Tok != token.VAR {
				continue
			}
			for _, spec := range g.Specs {
				vs := spec.(*ast.ValueSpec)
				for i, id := range vs.Names {
					if p.Info().Defs[id] != types.Object(v) || i >= len(vs.Values) {
						continue
					}
					return compiled(p.Func, vs.Values[i])
				}
			}
		}
	}
	return "", false
}

// compiled returns the pattern of a regular expression that is compiled, where it stands or in a function that does nothing else.
func compiled(f *code.Func, e ast.Expr) (string, bool) {
	call, ok := ast.Unparen(e).(*ast.CallExpr)
	if !ok {
		return "", false
	}
	if f.Calls(call, "regexp.MustCompile") != nil {
		return constantText(f, call.Args[0])
	}
	fn := f.Callee(call)
	if fn == nil || len(call.Args) > 0 || fn.Signature().Recv() != nil {
		return "", false
	}
	decl, file := f.DeclOf(fn)
	if decl == nil || decl.Body == nil {
		return "", false
	}
	q := f.In(file, decl)
	list := results(q)
	if len(list) != 1 || q.Calls(list[0], "regexp.MustCompile") == nil {
		return "", false
	}
	return compiled(q, list[0])
}

// constantText returns the value of a text that is made of constants, and of variables of the function that only ever hold such.
func constantText(f *code.Func, e ast.Expr) (string, bool) {
	e = ast.Unparen(e)
	if s, ok := f.Text(e); ok {
		return s, true
	}
	if sum, ok := e.(*ast.BinaryExpr); ok && sum.Op == token.ADD {
		x, isX := constantText(f, sum.X)
		y, isY := constantText(f, sum.Y)
		return x + y, isX && isY
	}
	if call := f.Calls(e, "regexp.QuoteMeta"); call != nil {
		s, ok := constantText(f, call.Args[0])
		return regexp.QuoteMeta(s), ok
	}
	v := f.Local(e)
	if v == nil || f.IsParam(v) {
		return "", false
	}
	decl, value := f.Declared(v)
	st, _ := decl.(*ast.AssignStmt)
	if value == nil || !flow.OnlyRead(f, v, st) {
		return "", false
	}
	return constantText(f, value)
}

// mostLetters is how many letters there may be that one is looked for of.
const mostLetters = 8

// requiredLetters returns letters of which each match of a pattern has at least one. It is false where there are many, or none that is known.
func requiredLetters(pattern string) ([]rune, bool) {
	re, err := syntax.Parse(pattern, syntax.Perl)
	if err != nil {
		return nil, false
	}
	set := required(re.Simplify())
	slices.Sort(set)
	set = slices.Compact(set)
	if len(set) == 0 || len(set) > mostLetters || strings.ContainsRune(string(set), '\uFFFD') {
		return nil, false
	}
	return set, true
}

func required(re *syntax.Regexp) []rune {
	switch re.Op {
	case syntax.OpLiteral:
		if re.Flags&syntax.FoldCase != 0 {
			return nil
		}
		return re.Rune[:1]
	case syntax.OpCharClass:
		var set []rune
		for i := 0; i < len(re.Rune); i += 2 {
			if re.Rune[i+1]-re.Rune[i] > mostLetters {
				return nil
			}
			for r := re.Rune[i]; r <= re.Rune[i+1]; r++ {
				set = append(set, r)
			}
		}
		return set
	case syntax.OpCapture, syntax.OpPlus:
		return required(re.Sub[0])
	case syntax.OpRepeat:
		if re.Min > 0 {
			return required(re.Sub[0])
		}
	case syntax.OpConcat: // the part that has the fewest
		var best []rune
		for _, sub := range re.Sub {
			if set := required(sub); len(set) > 0 && (best == nil || len(set) < len(best)) {
				best = set
			}
		}
		return best
	case syntax.OpAlternate:
		var all []rune
		for _, sub := range re.Sub {
			set := required(sub)
			if len(set) == 0 {
				return nil
			}
			all = append(all, set...)
		}
		return all
	}
	return nil
}
