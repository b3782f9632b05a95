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
	"github.com/hone-perf/hone/internal/advise/facts/kind"
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
			if writesFormatted(p.Func, call) != nil {
				return // format-then-write has it
			}
			x := anything(p.Func, call)
			var all []*ast.CallExpr // that show a value whose type only the program knows
			if x != nil {
				if all = anythings(p.Func); all[0] != call {
					return // its patch is that of the first
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
			if x != nil {
				var worst *ast.CallExpr
				worst, c, f.Also = anythingsCost(p, all)
				call, name = worst, "fmt."+p.Callee(worst).Name()
				f.Callee = name
				f.Claim = name + " finds out at run time that its argument is a string or a number, and copies even what is a string already"
				f.Advice = "look for the usual types first, and leave the others to package fmt"
				typesFirst(p, all, &f)
			} else if list, ok := texts(p).Formatted(call); ok && text.Dynamic(list) > 0 && p.Worth(c) {
				f.Fixes = addedUp(p, call, list)
			} else if ok && text.Dynamic(list) == 0 {
				f.NoFix = missing.AllConstant.Of()
			} else if !ok && p.Why.Fact == missing.PrintsItself {
				f.Advice = "call the String or Error method of the argument, and use + for the rest; or keep the string where values repeat"
				if slices.ContainsFunc(call.Args, func(a ast.Expr) bool { return formatsItself(p.TypeOf(a)) }) {
					f.Advice = "fmt calls the Format method of the argument, which + does not: append what that writes, or keep the string where values repeat"
				}
				f.Risk, f.Safe = "a string that is kept takes memory, and may be out of date", false
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

// anythings returns all calls of the function that show just one value, of which only the program knows the type.
func anythings(f *code.Func) (out []*ast.CallExpr) {
	ast.Inspect(f.Decl, func(n ast.Node) bool {
		if call := f.Calls(n, "fmt.Sprintf", "fmt.Sprint"); call != nil && len(call.Args) > 0 && !call.Ellipsis.IsValid() && anything(f, call) != nil {
			out = append(out, call)
		}
		return true
	})
	return out
}

// anythingsCost returns the call that costs most, what all of them do, and the others.
func anythingsCost(p *advise.Pass, all []*ast.CallExpr) (worst *ast.CallExpr, sum cost.Cost, others []ast.Node) {
	var most cost.Cost
	worst = all[0]
	lines := map[int]bool{}
	for _, call := range all {
		if line := p.Line(call.Pos()); lines[line] {
			continue
		} else {
			lines[line] = true
		}
		c := p.Cost(call, cost.Either(formatting("fmt."+p.Callee(call).Name()), calls.Boxing(p.Func, call)))
		sum.Add(&c)
		if p.Costs.Weight(&c) > p.Costs.Weight(&most) {
			worst, most = call, c
		}
	}
	for _, call := range all {
		if call != worst {
			others = append(others, call)
		}
	}
	return worst, sum, others
}

// typesFirst gives a finding a fix that has a function of its own for texts, the usual numbers, and what the package itself tells apart and has
// a text.
func typesFirst(p *advise.Pass, all []*ast.CallExpr, f *advise.Finding) {
	p.Need("strconv")
	cases, names := "", []string{"string", "bool", "int", "int64", "uint64"}
	for _, t := range speakers(p) {
		name := types.TypeString(t, p.Qualifier())
		cases += "	case " + name + ":\n		return x.String()\n"
		names = append(names, name)
		if pkg := t.Obj().Pkg(); pkg != p.Pkg.Types {
			p.Need(pkg.Path())
		}
	}
	name, edits := edit.DeclareShared(p.Func, "textOf", "// %s returns what fmt.Sprint does.", `func %s(v `+p.Pkg.Any()+`) string {
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
`+cases+`	}
	return fmt.Sprint(v)
}`)
	for _, call := range all {
		edits = append(edits, edit.Replace(call, name+"("+p.Src(anything(p.Func, call))+")"))
	}
	f.Fixes = p.Fix(report.Mechanical, "look for the usual types first", edits...)
	last := len(names) - 1
	f.Risk = "which types come is only known when the program runs: what is no " + strings.Join(names[:last], ", ") + " or " + names[last] + " takes as long as before, so measure it"
	f.Safe = false
}

// speakers returns the types that the package tells apart where a value may be of any, and that fmt asks for their text: those of texts and
// numbers whose method never panics.
func speakers(p *advise.Pass) (out []*types.Named) {
	for _, file := range p.Pkg.Files {
		ast.Inspect(file.AST, func(n ast.Node) bool {
			sw, ok := n.(*ast.TypeSwitchStmt)
			if !ok {
				return true
			}
			for _, st := range sw.Body.List {
				for _, e := range st.(*ast.CaseClause).List {
					t, ok := types.Unalias(p.TypeOf(e)).(*types.Named)
					if ok && speaks(t) && answers(p.Func, t) && (t.Obj().Exported() || t.Obj().Pkg() == p.Pkg.Types) && !slices.Contains(out, t) && ofAnything(p.Func, sw) {
						out = append(out, t)
					}
				}
			}
			return true
		})
	}
	slices.SortFunc(out, func(a, b *types.Named) int { return strings.Compare(a.String(), b.String()) })
	return out
}

// ofAnything reports whether a switch is over the type of a value that may be of any.
func ofAnything(f *code.Func, sw *ast.TypeSwitchStmt) bool {
	found := false
	ast.Inspect(sw.Assign, func(n ast.Node) bool {
		if as, ok := n.(*ast.TypeAssertExpr); ok && as.Type == nil {
			t, isInterface := f.TypeOf(as.X).Underlying().(*types.Interface)
			found = isInterface && t.Empty()
		}
		return !found
	})
	return found
}

// speaks reports whether fmt asks a type for its text, which is a text or number itself, by its method String.
func speaks(t *types.Named) bool {
	if _, basic := t.Underlying().(*types.Basic); !basic || t.TypeArgs().Len() > 0 || t.Obj().Parent() != t.Obj().Pkg().Scope() || formatsItself(t) {
		return false
	}
	methods := types.NewMethodSet(t) // without those of the pointer
	str := methods.Lookup(nil, "String")
	return str != nil && methods.Lookup(nil, "Error") == nil && types.Identical(str.Obj().(*types.Func).Signature(), signature(nil, types.Typ[types.String]))
}

// answers reports whether the method String of a type never panics, after which fmt writes a text of its own.
func answers(f *code.Func, t *types.Named) bool {
	str, _, _ := types.LookupFieldOrMethod(t, false, f.Pkg.Types, "String")
	fn, ok := str.(*types.Func)
	if !ok {
		return false
	}
	if fn.Pkg() != f.Pkg.Types {
		return slices.Contains(answering, fn.FullName())
	}
	decl, file := f.DeclOf(fn)
	return decl != nil && decl.Body != nil && neverPanics(f.In(file, decl), decl.Body)
}

// answering are methods of types of texts and numbers that never panic.
var answering = []string{
	"(encoding/json.Number).String", "(time.Duration).String", "(time.Month).String", "(time.Weekday).String", "(io/fs.FileMode).String", "(reflect.Kind).String",
	"(log/slog.Level).String", "(go/token.Token).String", "(net.HardwareAddr).String",
}

// neverPanics reports whether statements do nothing that may panic: they only compare, convert and format numbers and texts.
func neverPanics(f *code.Func, body ast.Node) bool {
	ok := true
	ast.Inspect(body, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.IndexExpr:
			ok = ok && kind.IsMap(f.TypeOf(n.X)) && kind.IsBasic(f.TypeOf(n.Index), types.IsInteger|types.IsString)
		case *ast.SliceExpr, *ast.StarExpr, *ast.TypeAssertExpr, *ast.SendStmt, *ast.FuncLit, *ast.DeferStmt, *ast.GoStmt:
			ok = false
		case *ast.SelectorExpr:
			s := f.Info().Selections[n]
			ok = ok && (s == nil || !s.Indirect())
		case *ast.BinaryExpr:
			ok = ok && n.Op != token.QUO && n.Op != token.REM && n.Op != token.SHL && n.Op != token.SHR || f.IsConst(n)
			if t := f.TypeOf(n.X); types.IsInterface(t) {
				ok = false
			}
		case *ast.AssignStmt:
			switch n.Tok {
			case token.QUO_ASSIGN, token.REM_ASSIGN, token.SHL_ASSIGN, token.SHR_ASSIGN:
				ok = false
			}
			ok = ok && !slices.ContainsFunc(n.Lhs, func(e ast.Expr) bool { return code.AsIdent(e) == nil })
		case *ast.CallExpr:
			fn := f.Callee(n)
			ok = ok && (f.Info().Types[n.Fun].IsType() || f.Builtin(n, "len") != nil || fn != nil && slices.Contains(neverPanicking, fn.FullName()))
		}
		return ok
	})
	return ok
}

// neverPanicking are functions that String methods call, and that never panic.
var neverPanicking = []string{
	"strconv.Itoa", "strconv.Quote", "strconv.FormatBool", "fmt.Sprint", "fmt.Sprintf", "fmt.Sprintln", "strings.ToLower", "strings.ToUpper", "strings.TrimSpace",
}

// maxSummands bounds the parts of a sum: the compiler adds up to five at once without a list of them, and what is longer reads worse
// than a format.
const maxSummands = 7
