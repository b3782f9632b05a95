package rules

import (
	"fmt"
	"go/ast"
	"go/token"
	"go/types"

	"github.com/hone-perf/hone/internal/advise"
	"github.com/hone-perf/hone/internal/advise/facts/cost"
	"github.com/hone-perf/hone/internal/advise/facts/edit"
	"github.com/hone-perf/hone/internal/advise/facts/kind"
	"github.com/hone-perf/hone/internal/report"
	"github.com/hone-perf/hone/internal/report/missing"
)

var runeString = &advise.Rule{
	Name: "rune-string",
	Doc:  "a rune is converted to a string only to be appended or written",

	NoFix: missing.NoTwin,
	Find: func(p *advise.Pass) {
		advise.Each(p, func(call *ast.CallExpr) {
			appended := p.Builtin(call, "append") != nil && call.Ellipsis != token.NoPos
			write := p.Calls(call, "(*strings.Builder).WriteString", "(*bytes.Buffer).WriteString", "(*bufio.Writer).WriteString")
			if !appended && write == nil {
				return
			}
			x := call.Args[len(call.Args)-1]
			arg, to := p.Conversion(ast.Unparen(x))
			if arg == nil || !kind.IsString(to) || p.IsConst(x) {
				return
			}
			r := p.Src(arg)
			k, ok := p.TypeOf(arg).Underlying().(*types.Basic)
			if !ok {
				return
			}
			switch k.Kind() {
			case types.Int32, types.Uint8, types.Int8, types.Uint16, types.Int16:
			default:
				return // a string is not bytes of one rune, or a rune cannot hold all values
			}
			if !types.Identical(p.TypeOf(arg), types.Typ[types.Rune]) {
				r = "rune(" + r + ")"
			}
			match := cost.Allocates("intstring")
			f := advise.Finding{
				Title:  "rune converted to a string only to be copied",
				Claim:  "the conversion encodes the rune into a string, which is then copied to its destination",
				Advice: "encode the rune where it belongs: with utf8.AppendRune for bytes, with WriteRune for a Builder, Buffer or Writer",
				Callee: "runtime.intstring",
				Risk:   "none: both encode all values alike", Safe: true,
			}
			if appended { // the memory that is allocated here is for the bytes
				match = func(c *cost.Chain) bool { return c.OnCPU && c.First() == "runtime.intstring" }
			}
			c := p.Cost(call, match)
			switch {
			case !p.Worth(c):
			case write != nil:
				name, ok := call.Fun.(*ast.SelectorExpr)
				if !ok {
					return
				}
				twin, _, _ := types.LookupFieldOrMethod(p.TypeOf(name.X), true, p.Pkg.Types, "WriteRune")
				if fn, ok := twin.(*types.Func); !ok || !sameReceiver(fn, p.Callee(call)) {
					f.NoFix = missing.OwnType.Of(p.Src(name.X)) // what it writes goes another way
					break
				}
				f.Fixes = p.Fix(report.Mechanical, "write the rune", edit.Replace(name.Sel, "WriteRune"), edit.Replace(x, r))
			case !types.Identical(p.TypeOf(call.Args[0]), types.NewSlice(types.Typ[types.Byte])): // AppendRune returns another type
			case !p.Pkg.AtLeast(18):
				p.No(missing.OlderGo, 18, "utf8.AppendRune")
			default:
				p.Need("unicode/utf8")
				f.Fixes = p.Fix(report.Mechanical, "append the rune", edit.Replace(call, fmt.Sprintf("utf8.AppendRune(%s, %s)", p.Src(call.Args[0]), r)))
			}
			p.Report(call, c, f)
		})
	},
}
