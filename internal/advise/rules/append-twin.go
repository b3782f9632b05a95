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
			case isCall && p.Builtin(up, "append") != nil && up.Ellipsis.IsValid() && len(up.Args) == 2 && up.Args[1] == e:
				f.Fixes = twinFix(p, up, "append it", twin.call(p.Func, call, p.Src(up.Args[0])))
			case isCall && e == ast.Expr(call) && p.Calls(up, "(*bytes.Buffer).WriteString", "(*bufio.Writer).WriteString", "(*bytes.Buffer).Write", "(*bufio.Writer).Write") != nil && up.Args[0] == e:
				w := up.Fun.(*ast.SelectorExpr).X
				f.NoFix = missing.MayWriteToo.Of(p.Src(w))
				if why := lacksFreePart(p.Func, w); why.Fact != "" {
					f.NoFix = why
				} else if flow.Simple(p.Func, w) && flow.Quiet(p.Func, call) {
					f.Fixes = twinFix(p, up, "append it to the free part of the buffer", fmt.Sprintf("%s.Write(%s)", p.Src(w), twin.call(p.Func, call, p.Src(w)+".AvailableBuffer()")))
				}
			case e != ast.Expr(call) && fn.Signature().Results().At(0).Type() == types.Typ[types.String]:
				f.Fixes = twinFix(p, e, "make the bytes without a string", twin.call(p.Func, call, "nil"))
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
}

// appendTwinOf returns the twin of a function, if it has one.
func appendTwinOf(name string) (twin, bool) {
	switch name {
	case "(time.Time).Format":
		return twin{"AppendFormat", "%r.AppendFormat(%b, %a)", 5}, true
	case "(*encoding/base64.Encoding).EncodeToString", "(*encoding/base32.Encoding).EncodeToString":
		return twin{"AppendEncode", "%r.AppendEncode(%b, %a)", 22}, true
	case "encoding/hex.EncodeToString":
		return twin{"hex.AppendEncode", "hex.AppendEncode(%b, %a)", 22}, true
	case "(net/netip.Addr).String", "(net/netip.AddrPort).String", "(net/netip.Prefix).String":
		return twin{"AppendTo", "%r.AppendTo(%b)", 18}, true
	case "(*math/big.Int).String":
		return twin{"Append", "%r.Append(%b, 10)", 6}, true
	case "(*math/big.Int).Text", "(*math/big.Float).Text":
		return twin{"Append", "%r.Append(%b, %a)", 6}, true
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

func twinFix(p *advise.Pass, n ast.Node, title, with string) []report.Fix {
	return p.Fix(report.Mechanical, title, edit.Replace(n, with))
}
