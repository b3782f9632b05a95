package rules

import (
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"strings"

	"github.com/hone-perf/hone/internal/advise"
	"github.com/hone-perf/hone/internal/advise/facts/code"
	"github.com/hone-perf/hone/internal/advise/facts/cost"
	"github.com/hone-perf/hone/internal/advise/facts/edit"
	"github.com/hone-perf/hone/internal/advise/facts/flow"
	"github.com/hone-perf/hone/internal/advise/facts/symbol"
	"github.com/hone-perf/hone/internal/advise/facts/text"
	"github.com/hone-perf/hone/internal/report"
	"github.com/hone-perf/hone/internal/report/missing"
)

var binaryReflect = &advise.Rule{
	Name: "binary-reflect", Rank: 38, PerCall: true,
	Doc: "numbers are read or written with encoding/binary.Read and Write",

	NoFix: missing.SizeByType,
	Find: func(p *advise.Pass) {
		advise.Each(p, func(call *ast.CallExpr) {
			if p.Calls(call, "encoding/binary.Read", "encoding/binary.Write") == nil || len(call.Args) != 3 {
				return
			}
			name := p.Callee(call).Name()
			c := p.Cost(call, func(c *cost.Chain) bool {
				return c.First() == "encoding/binary."+name && (len(c.Below) == 1 || strings.HasPrefix(c.Below[1], "encoding/binary.") || strings.HasPrefix(c.Below[1], "reflect.") || symbol.IsRuntime(c.Below[1]))
			})
			var fixes []report.Fix
			if name == "Write" && p.Worth(c) {
				fixes = appendedNumber(p, call)
			}
			verb := "Uint32 and the like take a number out of bytes"
			switch {
			case name == "Write" && p.Pkg.AtLeast(appendsNumbers):
				verb = "AppendUint32 and the like append a number to bytes"
			case name == "Write":
				verb = "PutUint32 and the like put a number into bytes"
			}
			p.Report(call, c, advise.Finding{
				Title:  "binary." + name + " on a hot path",
				Claim:  fmt.Sprintf("binary.%s inspects the type of its argument on each call, by reflection unless it is a plain number, and allocates bytes for it", name),
				Advice: verb + ", without an interface in between",
				Callee: "encoding/binary." + name,
				Risk:   "the order and size of fields have to stay the same",
				Fixes:  fixes,
			})
		})
	},
}

// appendsNumbers is the version of Go since which encoding/binary has AppendUint32 and the like.
const appendsNumbers = 19

// appendedNumber is a fix that appends a number to bytes, and writes those. For a Go that cannot do so, it puts the number into an array.
func appendedNumber(p *advise.Pass, call *ast.CallExpr) []report.Fix {
	w, order, x := call.Args[0], call.Args[1], call.Args[2]
	if fn, ok := order.(*ast.SelectorExpr); !ok || p.Src(fn) != "binary.LittleEndian" && p.Src(fn) != "binary.BigEndian" {
		return p.No(missing.OrderAtRunTime, p.Src(order))
	}
	b, ok := p.TypeOf(x).Underlying().(*types.Basic)
	if !ok {
		return p.No(missing.FieldsToSpell, p.Src(x))
	}
	size, ok := map[types.BasicKind]int{types.Int16: 2, types.Uint16: 2, types.Int32: 4, types.Uint32: 4, types.Int64: 8, types.Uint64: 8}[b.Kind()]
	if !ok {
		return p.No(missing.NoAppendOfSize, p.Src(x))
	}
	value := p.Src(x)
	if word := fmt.Sprintf("uint%d", 8*size); p.TypeOf(x).String() != word {
		if p.IsConst(x) {
			return p.No(missing.ConstantMayNotFit, value)
		}
		value = word + "(" + value + ")"
	}
	if !p.Pkg.AtLeast(appendsNumbers) {
		return putNumber(p, call, 8*size, value)
	}
	room, to := fmt.Sprintf("make([]byte, 0, %d)", size), p.Src(w)
	if ref, ok := ast.Unparen(w).(*ast.UnaryExpr); ok && ref.Op == token.AND {
		to = text.Operand(ref.X, p.Src(ref.X)) // whose methods can be called
	}
	// What makes the number may write to the buffer, after which it has another free part.
	if t := p.TypeOf(w).String(); (t == "*bytes.Buffer" || t == "*bufio.Writer") && p.Pkg.AtLeast(21) && flow.Simple(p.Func, w) && flow.Quiet(p.Func, call) {
		room = to + ".AvailableBuffer()"
	}
	text := fmt.Sprintf("%s.Write(%s.AppendUint%d(%s, %s))", to, p.Src(order), 8*size, room, value)
	return inPlaceOfWrite(p, call, "append it to bytes", text)
}

// putNumber is a fix that puts a number of so many bits into an array before the statement, and writes that.
func putNumber(p *advise.Pass, call *ast.CallExpr, bits int, value string) []report.Fix {
	w, order, x := call.Args[0], call.Args[1], call.Args[2]
	up := p.Parent(call)
	set, isAssign := up.(*ast.AssignStmt)
	st := p.Statement(call)
	check, isIf := st.(*ast.IfStmt)
	first := ast.Node(st) == up || isIf && isAssign && check.Init == ast.Stmt(set) // nothing else is evaluated before the call
	if !first || !flow.Simple(p.Func, w) || isAssign && (len(set.Lhs) != 1 || code.AsIdent(set.Lhs[0]) == nil) {
		return p.No(missing.OlderGo, appendsNumbers, "AppendUint32 and the like")
	}
	base := "number"
	if id := code.AsIdent(x); id != nil {
		base = id.Name + "Bytes"
	}
	name := p.NewLocal(base)
	put := fmt.Sprintf("var %[1]s [%[2]d]byte\n%[3]s.PutUint%[4]d(%[1]s[:], %[5]s)\n", name, bits/8, p.Src(order), bits, value)
	return inPlaceOfWrite(p, call, "put it into bytes", fmt.Sprintf("%s.Write(%s[:])", p.Src(w), name), edit.Before(st, put))
}

// inPlaceOfWrite is a fix that replaces a call, which returns an error, by one that returns how much it wrote, too.
func inPlaceOfWrite(p *advise.Pass, call *ast.CallExpr, title, text string, edits ...edit.Edit) []report.Fix {
	switch up := p.Parent(call).(type) {
	case *ast.ExprStmt:
		return p.Fix(report.Mechanical, title, append(edits, edit.Replace(call, text))...)
	case *ast.ReturnStmt:
		if len(up.Results) == 1 && p.Statement(up) == up {
			err := p.LocalName("err")
			return p.Fix(report.Mechanical, title, append(edits, edit.Replace(up, fmt.Sprintf("_, %s := %s\nreturn %s", err, text, err)))...)
		}
	case *ast.AssignStmt:
		if len(up.Lhs) == 1 && len(up.Rhs) == 1 && (up.Tok == token.DEFINE || up.Tok == token.ASSIGN) {
			return p.Fix(report.Mechanical, title, append(edits, edit.Before(up.Lhs[0], "_, "), edit.Replace(call, text))...)
		}
	}
	return p.No(missing.TwoResults)
}
