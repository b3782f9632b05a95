package rules

import (
	"fmt"
	"go/ast"
	"go/types"
	"strings"

	"github.com/hone-perf/hone/internal/advise"
	"github.com/hone-perf/hone/internal/advise/facts/calls"
	"github.com/hone-perf/hone/internal/advise/facts/code"
	"github.com/hone-perf/hone/internal/advise/facts/edit"
	"github.com/hone-perf/hone/internal/advise/facts/flow"
	"github.com/hone-perf/hone/internal/report"
	"github.com/hone-perf/hone/internal/report/missing"
)

var appendTwin = &advise.Rule{
	Name: "append-twin", Rank: 37,
	Doc: "a function makes a new string or slice for what a twin of it appends",

	NoFix: missing.ResultNotOnlyAppended,
	Find: func(p *advise.Pass) {
		advise.Each(p, func(call *ast.CallExpr) {
			fn := p.Callee(call)
			if fn == nil || p.Told(p.Line(call.Pos()), p.Line(call.End())) {
				return
			}
			twin, ok := appendTwinOf(fn.Origin().FullName())
			if !ok || !p.Pkg.AtLeast(twin.minor) {
				return
			}
			var e ast.Expr = call
			if conv, isConv := p.Parent(call).(*ast.CallExpr); isConv && p.BytesOf(conv) == ast.Expr(call) {
				e = conv
			}
			up, isCall := p.Parent(e).(*ast.CallExpr)
			f := advise.Finding{
				Title:  fmt.Sprintf("%s makes a new %s that is copied at once", fn.Name(), map[bool]string{true: "string", false: "slice"}[isText(fn.Signature().Results().At(0).Type())]),
				Callee: p.ProfileName(fn), Risk: "none", Safe: true,
			}
			f.Claim = fmt.Sprintf("%s allocates its result, of which only a copy is used", p.Src(call.Fun))
			f.Advice = fmt.Sprintf("%s appends the same to bytes that are there already", twin.name)
			switch {
			case !twin.recv(p.Func, call):
				return // of a type that embeds the one with the twin, and has its own
			case isCall && p.Builtin(up, "append") != nil && up.Ellipsis.IsValid() && len(up.Args) == 2 && up.Args[1] == e:
				grade := report.Mechanical
				if twin.reads(p.Func, call, up.Args[0]) {
					grade = report.Ownership
					f.Risk, f.Safe = "what is encoded must not be in the room behind the bytes that it is appended to", false
				}
				f.Fixes = twin.fix(p, up, grade, &f, "append it", typed(p.Func, up, twin.call(p.Func, call, p.Src(up.Args[0]))))
			case isCall && e == ast.Expr(call) && p.Calls(up, "(*bytes.Buffer).WriteString", "(*bufio.Writer).WriteString", "(*bytes.Buffer).Write", "(*bufio.Writer).Write") != nil && up.Args[0] == e:
				w := up.Fun.(*ast.SelectorExpr).X
				f.NoFix = missing.MayWriteToo.Of(p.Src(w))
				if runsLater(p.Func, up) {
					f.NoFix = missing.EvaluatedLater.Of()
				} else if why := lacksFreePart(p.Func, w); why.Fact != "" {
					f.NoFix = why
				} else if flow.Simple(p.Func, w) && flow.Quiet(p.Func, call) && p.HasToo(up, "Write") && p.HasToo(up, "AvailableBuffer") {
					f.Fixes = twin.fix(p, up, report.Mechanical, &f, "append it to the free part of the buffer", fmt.Sprintf("%s.Write(%s)", p.Src(w), twin.call(p.Func, call, p.Src(w)+".AvailableBuffer()")))
				}
			case e != ast.Expr(call) && fn.Signature().Results().At(0).Type() == types.Typ[types.String]:
				none := "nil"
				if twin.mayBeEmpty(p.Func, call) {
					none = "[]byte{}" // as a conversion has it
				}
				f.Fixes = twin.fix(p, e, report.Mechanical, &f, "make the bytes without a string", typed(p.Func, e, twin.call(p.Func, call, none)))
			default:
				return
			}
			p.Report(call, p.Cost(call, calls.Calling(p.Func, call)), f)
		})
	},
}

// A twin appends what a function makes anew.
type twin struct {
	name  string // of the twin
	form  string // how it is called: %r is the receiver, %b what it appends to, %a the arguments
	minor int    // of Go, that has it
	zero  string // what the function says of values that are not valid, of which the twin appends nothing
}

// appendTwinOf returns the twin of a function, if it has one.
func appendTwinOf(name string) (twin, bool) {
	switch name {
	case "(time.Time).Format":
		return twin{"AppendFormat", "%r.AppendFormat(%b, %a)", 5, ""}, true
	case "(*encoding/base64.Encoding).EncodeToString", "(*encoding/base32.Encoding).EncodeToString":
		return twin{"AppendEncode", "%r.AppendEncode(%b, %a)", 22, ""}, true
	case "encoding/hex.EncodeToString":
		return twin{"hex.AppendEncode", "hex.AppendEncode(%b, %a)", 22, ""}, true
	case "(net/netip.Addr).String":
		return twin{"AppendTo", "%r.AppendTo(%b)", 18, "invalid IP"}, true
	case "(net/netip.AddrPort).String":
		return twin{"AppendTo", "%r.AppendTo(%b)", 18, "invalid AddrPort"}, true
	case "(net/netip.Prefix).String":
		return twin{"AppendTo", "%r.AppendTo(%b)", 18, "invalid Prefix"}, true
	case "(*math/big.Int).String":
		return twin{"Append", "%r.Append(%b, 10)", 6, ""}, true
	case "(*math/big.Int).Text", "(*math/big.Float).Text":
		return twin{"Append", "%r.Append(%b, %a)", 6, ""}, true
	}
	return twin{}, false
}

// call returns a call of the twin that appends to a buffer.
func (t twin) call(f *code.Func, call *ast.CallExpr, buf string) string {
	recv := ""
	if sel, ok := call.Fun.(*ast.SelectorExpr); ok {
		recv = f.Src(sel.X)
	}
	var args []string
	for _, a := range call.Args {
		args = append(args, f.Src(a))
	}
	list := strings.Join(args, ", ")
	if call.Ellipsis.IsValid() {
		list += "..."
	}
	return strings.NewReplacer("%r", recv, "%b", buf, "%a", list).Replace(t.form)
}

// recv reports whether the twin is a function of a package, or a method of the same type, where a call of the function stands.
func (t twin) recv(f *code.Func, call *ast.CallExpr) bool {
	return !strings.HasPrefix(t.form, "%r") || f.HasToo(call, t.name)
}

// reads reports whether the twin reads bytes that may be where it appends to: in the array of that, unless that is new.
func (t twin) reads(f *code.Func, call *ast.CallExpr, to ast.Expr) bool {
	if t.name != "AppendEncode" && t.name != "hex.AppendEncode" {
		return false
	}
	if arg, _ := f.Conversion(to); arg != nil {
		to = arg
	}
	v := f.Local(to)
	return !f.Info().Types[to].IsNil() && (v == nil || !ownArray(f, v))
}

// mayBeEmpty reports whether the function may return an empty string.
func (t twin) mayBeEmpty(f *code.Func, call *ast.CallExpr) bool {
	switch t.name {
	case "AppendFormat":
		layout, known := f.Text(call.Args[0])
		return !known || strings.Trim(layout, ".,9") == "" // a fraction of a second may be nothing
	case "AppendEncode", "hex.AppendEncode":
		return true
	}
	return false
}

// typed returns an expression that has the type of what it takes the place of: twins return bytes of no type of its own.
func typed(f *code.Func, e ast.Expr, with string) string {
	if n, ok := types.Unalias(f.TypeOf(e)).(*types.Named); ok {
		return fmt.Sprintf("%s(%s)", types.TypeString(n, f.Qualifier()), with)
	}
	return with
}

// fix is a fix that calls the twin.
func (t twin) fix(p *advise.Pass, n ast.Node, grade report.Grade, f *advise.Finding, title, with string) []report.Fix {
	if t.zero != "" {
		grade = report.Ownership
		f.Risk, f.Safe = fmt.Sprintf("of a value that is not valid, %s appends nothing, in place of %s", t.name, t.zero), false
	}
	return p.Fix(grade, title, edit.Replace(n, with))
}
