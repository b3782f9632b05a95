package advise

import (
	"fmt"
	"go/ast"
	"go/types"
	"slices"
	"strings"

	"github.com/hone-perf/hone/internal/report"
)

var fmtText = &Rule{
	Name: "fmt-text", Rank: 13, PerCall: true,
	Doc: "fmt makes a text of strings and numbers, which + and strconv do without boxes",

	NoFix: "only package fmt knows how some of the parts are printed",
	Find: func(p *Pass) {
		each(p, func(call *ast.CallExpr) {
			if p.calls(call, "fmt.Sprintf", "fmt.Sprint", "fmt.Sprintln") == nil || len(call.Args) == 0 || call.Ellipsis.IsValid() {
				return // what there is to print is known to others
			}
			if up, ok := p.parent(call).(*ast.CallExpr); ok && p.bytesOf(up) != nil {
				if outer, ok := p.parent(up).(*ast.CallExpr); ok {
					if arg, _ := p.written(outer); arg != nil {
						return // write-joined has the word
					}
				}
			}
			name := "fmt." + p.callee(call).Name()
			f := finding{
				title:  "text made by fmt",
				claim:  fmt.Sprintf("%s looks at its format and at the types of its arguments for every call, and its arguments are made interfaces, for which numbers and strings are put on the heap", name),
				advice: "add the parts up with +, and let strconv make texts of numbers; where there are many parts, append them to a buffer",
				callee: name, risk: "none",
			}
			c := p.cost(call, either(formatting(name), p.boxing(call)))
			if x := p.anything(call); x != nil {
				f.claim = name + " finds out by itself that it is given a text or a number, and makes a copy on the heap also of what is a text already"
				f.advice = "look for the usual types first, and leave the others to package fmt"
				f.fixes = p.typesFirst(call, x)
			} else if list, ok := p.texts().formatted(call); ok && dynamic(list) > 0 && p.worth(c) {
				f.fixes = p.addedUp(call, list)
			} else if ok && dynamic(list) == 0 {
				f.noFix = "all of its parts are constants, and the text may be one as well"
			} else if !ok && p.calls(call, "fmt.Sprintf") == nil {
				f.noFix = name + " puts spaces between some of its arguments, and leaves them out between others"
			}
			p.report(call, c, f)
		})
	},
}

// formatting is what a function of fmt does by itself: what it asks methods of its arguments for stays.
func formatting(name string) func(*chain) bool {
	return func(c *chain) bool {
		if c.first() != name {
			return false
		}
		return !slices.ContainsFunc(c.below, func(b string) bool {
			return !isRuntime(b) && !strings.HasPrefix(b, "fmt.") && !strings.HasPrefix(b, "sync.") && !strings.HasPrefix(b, "internal/sync.") && !strings.HasPrefix(b, "strconv.") &&
				!strings.HasPrefix(b, "unicode/utf8.") && !strings.HasPrefix(b, "reflect.") && !strings.HasPrefix(b, "slices.")
		})
	}
}

// addedUp is a fix that adds pieces up in place of a call of fmt: as a sum, or as what is written where that is all that is done
// with it.
func (p *Pass) addedUp(call *ast.CallExpr, list []piece) []report.Fix {
	list = joined(list)
	if len(list) > maxSummands {
		p.why = "it has more parts than + adds up at once"
		return nil
	}
	var parts []string
	for _, v := range list {
		if v.append == nil {
			parts = append(parts, quotedText(v.text))
			continue
		}
		if v.expr == "" {
			p.why = "a part of it is no string or number"
			return nil
		}
		p.need(v.needs...)
		parts = append(parts, v.expr)
	}
	text := strings.Join(parts, " + ")
	if _, ok := p.parent(call).(*ast.BinaryExpr); ok && len(parts) > 1 {
		text = "(" + text + ")" // of which the order of the sum is the same anyhow
	}
	return p.fix(report.Mechanical, "add the parts up", replace(call, text))
}

// anything returns the argument of a call that shows just one, of which only the program knows the type.
func (p *function) anything(call *ast.CallExpr) ast.Expr {
	x := call.Args[len(call.Args)-1]
	switch p.callee(call).Name() {
	case "Sprint":
		if len(call.Args) != 1 {
			return nil
		}
	case "Sprintf":
		if format, _ := p.text(call.Args[0]); len(call.Args) != 2 || format != "%v" {
			return nil
		}
	default:
		return nil
	}
	if _, generic := types.Unalias(p.typeOf(x)).(*types.TypeParam); generic {
		return nil
	}
	if t, ok := p.typeOf(x).Underlying().(*types.Interface); !ok || !t.Empty() {
		return nil
	}
	return x
}

// typesFirst is a fix that has a function of its own for texts and the usual numbers. What has methods has another type than these.
func (p *Pass) typesFirst(call *ast.CallExpr, x ast.Expr) []report.Fix {
	name, anyType := p.newName("textOf"), "any"
	if !p.unit.atLeast(18) {
		anyType = "interface{}"
	}
	p.need("strconv")
	return p.fix(report.Mechanical, "look for the usual types first", replace(call, name+"("+p.src(x)+")"), p.declare(fmt.Sprintf(`// %[1]s returns what fmt.Sprint does.
func %[1]s(v %[2]s) string {
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
}`, name, anyType)))
}

// maxSummands bounds the parts of a sum: the compiler adds up to five at once without a list of them, and what is longer reads worse
// than a format.
const maxSummands = 7
