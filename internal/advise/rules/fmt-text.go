package rules

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"slices"
	"strings"

	"github.com/hone-perf/hone/internal/advise"
	"github.com/hone-perf/hone/internal/advise/facts/calls"
	"github.com/hone-perf/hone/internal/advise/facts/code"
	"github.com/hone-perf/hone/internal/advise/facts/cost"
	"github.com/hone-perf/hone/internal/advise/facts/edit"
	"github.com/hone-perf/hone/internal/advise/facts/symbol"
	"github.com/hone-perf/hone/internal/advise/facts/text"
	"github.com/hone-perf/hone/internal/report"
	"github.com/hone-perf/hone/internal/report/missing"
)

var fmtText = &advise.Rule{
	Name: "fmt-text", Rank: 13, PerCall: true,
	Doc: "fmt formats strings and numbers; + and strconv do it without boxing",

	NoFix: missing.OnlyFmt,
	Find: func(p *advise.Pass) {
		advise.Each(p, func(call *ast.CallExpr) {
			if p.Calls(call, "fmt.Sprintf", "fmt.Sprint", "fmt.Sprintln") == nil || len(call.Args) == 0 || call.Ellipsis.IsValid() {
				return // what there is to print is known to others
			}
			if up, ok := p.Parent(call).(*ast.CallExpr); ok && p.BytesOf(up) != nil {
				if outer, ok := p.Parent(up).(*ast.CallExpr); ok {
					if arg, _ := text.Written(p.Func, outer); arg != nil {
						return // write-joined has the word
					}
				}
			}
			name := "fmt." + p.Callee(call).Name()
			f := advise.Finding{
				Title:  "string built by fmt",
				Claim:  fmt.Sprintf("%s parses its format and inspects its arguments on every call, and numbers and strings move to the heap as interface values", name),
				Advice: "concatenate the parts with +, and format numbers with strconv; append many parts to a buffer",
				Callee: name, Risk: "none", Safe: true,
			}
			c := p.Cost(call, cost.Either(formatting(name), calls.Boxing(p.Func, call)))
			if x := anything(p.Func, call); x != nil {
				f.Claim = name + " finds out by itself that it is given a text or a number, and makes a copy on the heap also of what is a text already"
				f.Advice = "look for the usual types first, and leave the others to package fmt"
				f.Fixes = typesFirst(p, call, x)
			} else if list, ok := texts(p).Formatted(call); ok && text.Dynamic(list) > 0 && p.Worth(c) {
				f.Fixes = addedUp(p, call, list)
			} else if ok && text.Dynamic(list) == 0 {
				f.NoFix = missing.AllConstant.Of()
			} else if !ok && p.Why.Fact == missing.PrintsItself {
				f.Advice = "call the String or Error method of the argument, and use + for the rest; or keep the text where the values repeat"
				if slices.ContainsFunc(call.Args, func(a ast.Expr) bool { return formatsItself(p.TypeOf(a)) }) {
					f.Advice = "fmt calls the Format method of the argument, which + does not: append what that writes, or keep the text where the values repeat"
				}
				f.Risk, f.Safe = "a text that is kept takes memory, and may be out of date", false
			} else if !ok && p.Calls(call, "fmt.Sprintf") == nil {
				f.NoFix = missing.SpacesBetween.Of(name)
			}
			p.Report(call, c, f)
		})
	},
}

// formatsItself reports whether a type has the method that fmt.Formatter asks for.
func formatsItself(t types.Type) bool {
	o, _, _ := types.LookupFieldOrMethod(t, false, nil, "Format")
	fn, ok := o.(*types.Func)
	return ok && fn.Signature().Params().Len() == 2 && fn.Signature().Params().At(0).Type().String() == "fmt.State"
}

// formatting is what a function of fmt does by itself: what it asks methods of its arguments for stays.
func formatting(name string) func(*cost.Chain) bool {
	return func(c *cost.Chain) bool {
		if c.First() != name {
			return false
		}
		return !slices.ContainsFunc(c.Below, func(b string) bool {
			return !symbol.IsRuntime(b) && !strings.HasPrefix(b, "fmt.") && !strings.HasPrefix(b, "sync.") && !strings.HasPrefix(b, "internal/sync.") && !strings.HasPrefix(b, "strconv.") &&
				!strings.HasPrefix(b, "unicode/utf8.") && !strings.HasPrefix(b, "reflect.") && !strings.HasPrefix(b, "slices.")
		})
	}
}

// addedUp is a fix that adds pieces up in place of a call of fmt: as a sum, or as what is written where that is all that is done
// with it.
func addedUp(p *advise.Pass, call *ast.CallExpr, list []text.Piece) []report.Fix {
	list = text.Joined(list)
	if len(list) > maxSummands {
		p.No(missing.TooManyParts)
		return nil
	}
	var parts []string
	for _, v := range list {
		if v.Append == nil {
			parts = append(parts, text.QuotedText(v.Text))
			continue
		}
		if v.Expr == "" {
			p.No(missing.NoStringOrNumber)
			return nil
		}
		p.Need(v.Needs...)
		parts = append(parts, withoutParens(v.Expr))
	}
	title := "concatenate the parts"
	if len(parts) == 1 {
		title = "format it without fmt"
	}
	// Whatever it is compared with, or added to, + binds as tightly, and a sum of texts is the same in any order of adding.
	return p.Fix(report.Mechanical, title, edit.Replace(call, strings.Join(parts, " + ")))
}

// withoutParens returns a sum of texts as a part of a larger one.
func withoutParens(src string) string {
	e, err := parser.ParseExpr(src)
	if err != nil {
		return src
	}
	if paren, ok := e.(*ast.ParenExpr); ok {
		if sum, ok := paren.X.(*ast.BinaryExpr); ok && sum.Op == token.ADD {
			return src[1 : len(src)-1]
		}
	}
	return src
}

// anything returns the argument of a call that shows just one, of which only the program knows the type.
func anything(f *code.Func, call *ast.CallExpr) ast.Expr {
	x := call.Args[len(call.Args)-1]
	switch f.Callee(call).Name() {
	case "Sprint":
		if len(call.Args) != 1 {
			return nil
		}
	case "Sprintf":
		if format, _ := f.Text(call.Args[0]); len(call.Args) != 2 || format != "%v" {
			return nil
		}
	default:
		return nil
	}
	if _, generic := types.Unalias(f.TypeOf(x)).(*types.TypeParam); generic {
		return nil
	}
	if t, ok := f.TypeOf(x).Underlying().(*types.Interface); !ok || !t.Empty() {
		return nil
	}
	return x
}

// typesFirst is a fix that has a function of its own for texts and the usual numbers. What has methods has another type than these.
func typesFirst(p *advise.Pass, call *ast.CallExpr, x ast.Expr) []report.Fix {
	anyType := "any"
	if !p.Pkg.AtLeast(18) {
		anyType = "interface{}"
	}
	p.Need("strconv")
	name, edits := edit.DeclareShared(p.Func, "textOf", "// %s returns what fmt.Sprint does.", `func %s(v `+anyType+`) string {
	switch x := v.(type) {
	case string:
		return x
	case bool:
		return strconv.FormatBool(x)
	case int:
		return strconv.Itoa(x)
	case int64:
		return strconv.FormatInt(x, 10)
	case uint64:
		return strconv.FormatUint(x, 10)
	}
	return fmt.Sprint(v)
}`)
	return p.Fix(report.Mechanical, "look for the usual types first", append(edits, edit.Replace(call, name+"("+p.Src(x)+")"))...)
}

// maxSummands bounds the parts of a sum: the compiler adds up to five at once without a list of them, and what is longer reads worse
// than a format.
const maxSummands = 7
