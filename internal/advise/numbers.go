package advise

import (
	"fmt"
	"go/ast"
	"go/types"
	"slices"
	"strings"

	"github.com/hone-perf/hone/internal/report"
)

// formatters are functions that make texts of numbers and bytes, and what appends the same.
var formatters = map[string]struct{ name, after string }{
	"strconv.Itoa":                {"strconv.AppendInt", ", 10"},
	"strconv.FormatInt":           {"strconv.AppendInt", ""},
	"strconv.FormatUint":          {"strconv.AppendUint", ""},
	"strconv.FormatFloat":         {"strconv.AppendFloat", ""},
	"strconv.FormatBool":          {"strconv.AppendBool", ""},
	"strconv.Quote":               {"strconv.AppendQuote", ""},
	"strconv.QuoteToASCII":        {"strconv.AppendQuoteToASCII", ""},
	"strconv.QuoteRune":           {"strconv.AppendQuoteRune", ""},
	"encoding/hex.EncodeToString": {"hex.AppendEncode", ""},
}

var numberText = &Rule{
	Name: "number-text", Rank: 16,
	Doc: "a number is made a text of its own on its way into a larger one",

	NoFix: "the text is used for more than to be appended",
	Find: func(p *Pass) {
		each(p, func(call *ast.CallExpr) {
			fn := p.callee(call)
			if fn == nil {
				return
			}
			with, ok := formatters[fn.FullName()]
			if !ok {
				return
			}
			f := finding{
				title:  "number made a text on its way into another",
				claim:  fmt.Sprintf("%s.%s allocates a string that is copied at once", fn.Pkg().Name(), fn.Name()),
				advice: fmt.Sprintf("%s writes it where it belongs", with.name),
				callee: fn.FullName(), risk: "none",
			}
			up, isCall := p.parent(call).(*ast.CallExpr)
			switch {
			case isCall && p.builtin(up, "append") != nil && up.Ellipsis.IsValid() && len(up.Args) == 2 && up.Args[1] == call:
				f.fixes = p.fix(report.Mechanical, "append it", replace(up, p.appendsNumber(call, with, p.src(up.Args[0]))))
			case isCall && len(up.Args) == 1 && p.calls(up, "(*bytes.Buffer).WriteString", "(*bufio.Writer).WriteString") != nil:
				w := up.Fun.(*ast.SelectorExpr).X
				f.noFix = fmt.Sprintf("what makes the number may write to %s as well", p.src(w))
				if p.simple(w) && p.quiet(call) {
					f.fixes = p.fix(report.Mechanical, "append it to the free part of the buffer", replace(up, fmt.Sprintf("%s.Write(%s)", p.src(w), p.appendsNumber(call, with, p.src(w)+".AvailableBuffer()"))))
				}
			case isCall && p.callee(up) != nil && p.callee(up).Pkg() == p.unit.Types:
				f.claim = fmt.Sprintf("%s.%s allocates a string for %s", fn.Pkg().Name(), fn.Name(), p.callee(up).Name())
				f.advice = fmt.Sprintf("where %s only appends or writes it, give it the number, or a buffer that %s was called with", p.callee(up).Name(), with.name)
				f.risk = "the function changes, and all that call it"
				if f.fixes = p.asNumber(call, up, with); len(f.fixes) > 0 {
					f.risk = "there are two functions then that have to be kept alike"
				}
			default:
				return // of a sum, which write-joined looks at, or kept
			}
			p.report(call, p.cost(call, below(p.profileName(fn))), f)
		})
	},
}

func (p *function) appendsNumber(call *ast.CallExpr, with struct{ name, after string }, buf string) string {
	first := p.src(call.Args[0])
	if with.after != "" {
		first = "int64(" + first + ")"
	}
	rest := ""
	for _, a := range call.Args[1:] {
		rest += ", " + p.src(a)
	}
	return fmt.Sprintf("%s(%s, %s%s%s)", with.name, buf, first, rest, with.after)
}

// asNumber is a fix that gives a number to a copy of a function which appends it, where the function is given a text and only appends
// that. Whoever else calls the function is left alone.
func (p *Pass) asNumber(call, up *ast.CallExpr, with struct{ name, after string }) []report.Fix {
	fn := p.callee(up)
	sig := fn.Signature()
	i := slices.Index(up.Args, ast.Expr(call))
	decl, f := p.declOf(fn)
	switch {
	case decl == nil || decl.Body == nil || i < 0 || i >= sig.Params().Len() || sig.Variadic() || sig.TypeParams() != nil || sig.RecvTypeParams() != nil:
		return p.no("%s is variadic or generic, or not written in Go", fn.Name())
	case decl == p.decl:
		return p.no("%s calls itself with the text", fn.Name())
	case f != p.file:
		return p.no("%s is in another file", fn.Name())
	}
	v, number := sig.Params().At(i), p.callee(call).Signature().Params().At(0)
	if !isBasic(number.Type(), types.IsNumeric|types.IsBoolean) {
		return p.no("%s is no number", p.src(call.Args[0]))
	}
	for _, a := range call.Args[1:] {
		if !p.isConst(a) {
			p.why = "how the number is written is not always the same"
			return nil
		}
	}
	q := p.in(f, decl)
	uses := q.uses(v)
	if len(uses) != 1 {
		p.why = fmt.Sprintf("%s does more with the text than to append it", fn.Name())
		return nil
	}
	add, ok := q.parent(uses[0]).(*ast.CallExpr)
	if !ok || q.builtin(add, "append") == nil || !add.Ellipsis.IsValid() || len(add.Args) != 2 || add.Args[1] != ast.Expr(uses[0]) || !isBytes(q.typeOf(add.Args[0])) {
		p.why = fmt.Sprintf("%s does more with the text than to append it", fn.Name())
		return nil
	}
	first := v.Name()
	if with.after != "" {
		first = "int64(" + first + ")"
	}
	rest := ""
	for _, a := range call.Args[1:] {
		rest += ", " + p.src(a)
	}
	kind := number.Type().String()
	name := p.newName(fn.Name() + strings.ToUpper(kind[:1]) + kind[1:])
	text := "// " + name + " is " + fn.Name() + " of a number.\nfunc "
	if decl.Recv != nil {
		text += q.src(decl.Recv) + " "
	}
	var params []string
	for _, field := range decl.Type.Params.List {
		for _, id := range field.Names {
			t := q.src(field.Type)
			if p.info().Defs[id] == v {
				t = kind
			}
			params = append(params, id.Name+" "+t)
		}
	}
	text += name + "(" + strings.Join(params, ", ") + ")"
	if decl.Type.Results != nil {
		text += " " + q.src(decl.Type.Results)
	}
	at := f.tok.Offset(decl.Body.Pos())
	text += " " + string(f.text[at:f.tok.Offset(add.Pos())]) + fmt.Sprintf("%s(%s, %s%s%s)", with.name, q.src(add.Args[0]), first, rest, with.after) +
		string(f.text[f.tok.Offset(add.End()):f.tok.Offset(decl.Body.End())])
	p.need("strconv")
	called := ast.Unparen(up.Fun)
	if sel, ok := called.(*ast.SelectorExpr); ok {
		called = sel.Sel
	}
	return p.fix(report.Mechanical, "append the number in a function of its own", newEdit(decl.End(), decl.End(), "\n\n"+text),
		replace(called, name), replace(call, p.src(call.Args[0])))
}
