package rules

import (
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"slices"
	"strings"

	"github.com/hone-perf/hone/internal/advise"
	"github.com/hone-perf/hone/internal/advise/facts/code"
	"github.com/hone-perf/hone/internal/advise/facts/cost"
	"github.com/hone-perf/hone/internal/advise/facts/edit"
	"github.com/hone-perf/hone/internal/advise/facts/flow"
	"github.com/hone-perf/hone/internal/advise/facts/kind"
	"github.com/hone-perf/hone/internal/report"
	"github.com/hone-perf/hone/internal/report/missing"
)

var numberText = &advise.Rule{
	Name: "number-text", Rank: 16,
	Doc: "a number is converted to a string only to build a larger one",

	NoFix: missing.NotOnlyAppended,
	Find: func(p *advise.Pass) {
		advise.Each(p, func(call *ast.CallExpr) {
			fn := p.Callee(call)
			if fn == nil {
				return
			}
			with, ok := formatter(fn.FullName())
			if !ok {
				return
			}
			if sel, ok := call.Fun.(*ast.SelectorExpr); ok { // by the name that the file has for the package
				with.name = p.Src(sel.X) + with.name[strings.IndexByte(with.name, '.'):]
			}
			f := advise.Finding{
				Title:  "number converted to a string only to build a larger one",
				Claim:  fmt.Sprintf("%s.%s allocates a string that is copied at once", fn.Pkg().Name(), fn.Name()),
				Advice: fmt.Sprintf("%s writes it where it belongs", with.name),
				Callee: fn.FullName(), Risk: "none", Safe: true,
			}
			grade := report.Mechanical
			if strings.HasSuffix(with.name, ".AppendEncode") && !ownBytes(p.Func, call.Args[0]) {
				grade = report.Ownership
				f.Risk, f.Safe = fmt.Sprintf("%s must not be in the array that it is appended to", p.Src(call.Args[0])), false
			}
			up, isCall := p.Parent(call).(*ast.CallExpr)
			switch {
			case isCall && p.Builtin(up, "append") != nil && up.Ellipsis.IsValid() && len(up.Args) == 2 && up.Args[1] == call:
				if !types.Identical(p.TypeOf(up), types.NewSlice(types.Typ[types.Byte])) && !staysNamed(p.Func, up) {
					f.NoFix = missing.OwnType.Of(p.Src(up.Args[0]))
				} else {
					f.Fixes = p.Fix(grade, "append it", edit.Replace(up, appendsNumber(p.Func, call, with, p.Src(up.Args[0]))))
				}
			case isCall && len(up.Args) == 1 && p.Calls(up, "(*bytes.Buffer).WriteString", "(*bufio.Writer).WriteString") != nil:
				w := up.Fun.(*ast.SelectorExpr).X
				f.NoFix = missing.NumberMayWriteToo.Of(p.Src(w))
				if why := lacksFreePart(p.Func, w); why.Fact != "" {
					f.NoFix = why
				} else if isLater(p.Func, up) {
					f.NoFix = missing.EvaluatedLater.Of()
				} else if !writesAsString(p.Func, up) {
					f.NoFix = missing.OwnType.Of(p.Src(w))
				} else if flow.Simple(p.Func, w) && flow.Quiet(p.Func, call) {
					f.Fixes = p.Fix(grade, "append it to the free part of the buffer", edit.Replace(up, fmt.Sprintf("%s.Write(%s)", p.Src(w), appendsNumber(p.Func, call, with, p.Src(w)+".AvailableBuffer()"))))
				}
			case isCall && p.Callee(up) != nil && p.Callee(up).Pkg() == p.Pkg.Types:
				f.Claim = fmt.Sprintf("%s.%s allocates a string for %s", fn.Pkg().Name(), fn.Name(), p.Callee(up).Name())
				f.Advice = fmt.Sprintf("where %s only appends or writes it, give it the number, or a buffer that %s was called with", p.Callee(up).Name(), with.name)
				f.Risk, f.Safe = "the function changes, and all that call it", false
				if f.Fixes = asNumber(p, call, up, with); len(f.Fixes) > 0 {
					f.Risk, f.Safe = "there are two functions then that have to be kept alike", false
				}
			default:
				return // of a sum, which write-joined looks at, or kept
			}
			p.Report(call, p.Cost(call, cost.Below(p.ProfileName(fn))), f)
		})
	},
}

// An appender appends the text that a function makes of a number or of bytes.
type appender struct{ name, after string }

// formatter returns what appends the same as a function, if it makes a text of a number or of bytes.
func formatter(name string) (with appender, ok bool) {
	switch name {
	case "strconv.Itoa":
		return appender{"strconv.AppendInt", ", 10"}, true
	case "strconv.FormatInt":
		return appender{"strconv.AppendInt", ""}, true
	case "strconv.FormatUint":
		return appender{"strconv.AppendUint", ""}, true
	case "strconv.FormatFloat":
		return appender{"strconv.AppendFloat", ""}, true
	case "strconv.FormatBool":
		return appender{"strconv.AppendBool", ""}, true
	case "strconv.Quote":
		return appender{"strconv.AppendQuote", ""}, true
	case "strconv.QuoteToASCII":
		return appender{"strconv.AppendQuoteToASCII", ""}, true
	case "strconv.QuoteRune":
		return appender{"strconv.AppendQuoteRune", ""}, true
	case "encoding/hex.EncodeToString":
		return appender{"hex.AppendEncode", ""}, true
	}
	return appender{}, false
}

func appendsNumber(f *code.Func, call *ast.CallExpr, with appender, buf string) string {
	first := f.Src(call.Args[0])
	if with.after != "" {
		first = "int64(" + first + ")"
	}
	rest := ""
	for _, a := range call.Args[1:] {
		rest += ", " + f.Src(a)
	}
	return fmt.Sprintf("%s(%s, %s%s%s)", with.name, buf, first, rest, with.after)
}

// meansOther returns a name in an expression that stands for something else at another node, or for nothing, or "".
func meansOther(f *code.Func, e ast.Expr, at ast.Node) (name string) {
	scope := f.Pkg.Types.Scope().Innermost(at.Pos())
	ast.Inspect(e, func(n ast.Node) bool {
		if sel, ok := n.(*ast.SelectorExpr); ok && f.Info().Selections[sel] == nil {
			n = sel.X // of a package
		}
		if id, ok := n.(*ast.Ident); ok && name == "" {
			_, there := scope.LookupParent(id.Name, at.Pos())
			if there != f.Info().ObjectOf(id) {
				name = id.Name
			}
			return false
		}
		return name == ""
	})
	return name
}

// staysNamed reports whether a slice is assigned to a variable or field of its own type, which takes one of another type as well.
func staysNamed(f *code.Func, e ast.Expr) bool {
	st, ok := f.Parent(e).(*ast.AssignStmt)
	if !ok || st.Tok != token.ASSIGN || len(st.Lhs) != len(st.Rhs) {
		return false
	}
	to := f.TypeOf(st.Lhs[slices.Index(st.Rhs, e)])
	return to != nil && types.Identical(to, f.TypeOf(e))
}

// writesAsString reports whether Write and AvailableBuffer are methods of the same type as the WriteString that is called: a type around a Buffer may have
// a Write of its own.
func writesAsString(f *code.Func, call *ast.CallExpr) bool {
	write, _, _ := types.LookupFieldOrMethod(f.TypeOf(call.Fun.(*ast.SelectorExpr).X), true, f.Pkg.Types, "Write")
	fn, ok := write.(*types.Func)
	return ok && sameReceiver(fn, f.Callee(call)) && hasFreePart(f, call.Fun.(*ast.SelectorExpr).X)
}

// ownBytes reports whether nothing else leads to bytes but the expression itself: they are made of a string, the sum of a hash, or all of an array that is
// used for nothing else by its address.
func ownBytes(f *code.Func, e ast.Expr) bool {
	e = ast.Unparen(e)
	if f.BytesOf(e) != nil {
		return true
	}
	if call, ok := e.(*ast.CallExpr); ok {
		sum, ok := call.Fun.(*ast.SelectorExpr)
		return ok && sum.Sel.Name == "Sum" && len(call.Args) == 1 && f.Info().Types[call.Args[0]].IsNil()
	}
	part, ok := e.(*ast.SliceExpr)
	if !ok || f.Local(part.X) == nil {
		return false
	}
	v := f.Local(part.X)
	if _, isArray := v.Type().Underlying().(*types.Array); !isArray {
		return false
	}
	return !slices.ContainsFunc(f.Uses(v), func(id *ast.Ident) bool { return ast.Expr(id) != part.X && flow.ByAddress(f, id) })
}

// asNumber is a fix that gives a number to a copy of a function which appends it, where the function is given a text and only appends
// that. Whoever else calls the function is left alone.
func asNumber(p *advise.Pass, call, up *ast.CallExpr, with appender) []report.Fix {
	fn := p.Callee(up)
	sig := fn.Signature()
	i := slices.Index(up.Args, ast.Expr(call))
	decl, f := p.DeclOf(fn)
	switch {
	case decl == nil || decl.Body == nil || i < 0 || i >= sig.Params().Len() || sig.Variadic() || sig.TypeParams() != nil || sig.RecvTypeParams() != nil:
		return p.No(missing.NoPlainFunction, fn.Name())
	case decl == p.Decl:
		return p.No(missing.CallsItself, fn.Name())
	case f != p.File:
		return p.No(missing.AnotherFile, fn.Name())
	}
	v, number := sig.Params().At(i), p.Callee(call).Signature().Params().At(0)
	if !kind.IsBasic(number.Type(), types.IsNumeric|types.IsBoolean) {
		return p.No(missing.NotANumber, p.Src(call.Args[0]))
	}
	for _, a := range call.Args[1:] {
		if !p.IsConst(a) {
			p.No(missing.SameNumber)
			return nil
		}
	}
	q := p.In(f, decl)
	uses := q.Uses(v)
	if len(uses) != 1 {
		p.No(missing.NotOnlyAppendedBy, fn.Name())
		return nil
	}
	add, ok := q.Parent(uses[0]).(*ast.CallExpr)
	if !ok || q.Builtin(add, "append") == nil || !add.Ellipsis.IsValid() || len(add.Args) != 2 || add.Args[1] != ast.Expr(uses[0]) || !kind.IsBytes(q.TypeOf(add.Args[0])) {
		p.No(missing.NotOnlyAppendedBy, fn.Name())
		return nil
	}
	if !types.Identical(q.TypeOf(add), types.NewSlice(types.Typ[types.Byte])) && !staysNamed(q, add) {
		return p.No(missing.OwnType, q.Src(add.Args[0]))
	}
	first := v.Name()
	if with.after != "" {
		first = "int64(" + first + ")"
	}
	rest := ""
	for _, a := range call.Args[1:] {
		if name := meansOther(p.Func, a, add); name != "" {
			return p.No(missing.OtherMeaning, name)
		}
		rest += ", " + p.Src(a)
	}
	kind := number.Type().String()
	name := p.NewName(fn.Name() + strings.ToUpper(kind[:1]) + kind[1:])
	text := "// " + name + " is " + fn.Name() + " of a number.\nfunc "
	if decl.Recv != nil {
		text += q.Src(decl.Recv) + " "
	}
	var params []string
	for _, field := range decl.Type.Params.List {
		for _, id := range field.Names {
			t := q.Src(field.Type)
			if p.Info().Defs[id] == v {
				t = kind
			}
			params = append(params, id.Name+" "+t)
		}
	}
	text += name + "(" + strings.Join(params, ", ") + ")"
	if decl.Type.Results != nil {
		text += " " + q.Src(decl.Type.Results)
	}
	at := f.Tok.Offset(decl.Body.Pos())
	text += " " + string(f.Text[at:f.Tok.Offset(add.Pos())]) + fmt.Sprintf("%s(%s, %s%s%s)", with.name, q.Src(add.Args[0]), first, rest, with.after) +
		string(f.Text[f.Tok.Offset(add.End()):f.Tok.Offset(decl.Body.End())])
	p.Need("strconv")
	called := ast.Unparen(up.Fun)
	if sel, ok := called.(*ast.SelectorExpr); ok {
		called = sel.Sel
	}
	return p.Fix(report.Mechanical, "append the number in a function of its own", edit.New(decl.End(), decl.End(), "\n\n"+text),
		edit.Replace(called, name), edit.Replace(call, p.Src(call.Args[0])))
}
