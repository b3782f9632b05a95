package advise

import (
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"slices"
	"strings"

	"github.com/hone-perf/hone/internal/report"
)

var readAll = &Rule{
	Name: "read-all", Rank: 43,
	Doc: "a body is read into a slice that grows, to be decoded from there",

	NoFix: "the code does not say how long a body may be",
	Find: func(p *Pass) {
		each(p, func(call *ast.CallExpr) {
			if p.calls(call, "io.ReadAll", "io/ioutil.ReadAll") == nil {
				return
			}
			c := p.cost(call, func(c *chain) bool {
				return slices.Contains([]string{"io.ReadAll", "io/ioutil.ReadAll"}, c.first()) && (len(c.below) == 1 || isRuntime(c.below[1]) || c.below[1] == "io.ReadAll")
			})
			f := finding{
				title:  "body read into a slice that grows",
				claim:  "io.ReadAll begins with 512 bytes and makes a larger slice whenever they are full",
				advice: "where the length is known, such as from ContentLength, read into a buffer of that size, after a look at whether it is reasonable; or use a bytes.Buffer again, from a pool",
				risk:   "a length that a peer sends is not to be trusted",
			}
			p.report(call, c, f)
		})
	},
}

var unbufferedWrite = &Rule{
	Name: "unbuffered-write", Rank: 39,
	Doc: "each piece of output is a system call",

	NoFix: "the code does not say when somebody else has to see what is written",
	Find: func(p *Pass) {
		each(p, func(call *ast.CallExpr) {
			if p.loop(call) == nil || p.calls(call, logFuncs...) != nil {
				return
			}
			fn := p.callee(call)
			if fn == nil || !strings.HasPrefix(fn.Name(), "Write") && !strings.HasPrefix(fn.Name(), "Fprint") && !strings.HasPrefix(fn.Name(), "Print") {
				return
			}
			match := p.calling(call)
			c := p.cost(call, func(c *chain) bool {
				return match(c) && c.has("syscall.write", "syscall.Write", "internal/poll.(*FD).Write", "internal/poll.ignoringEINTRIO") &&
					!slices.ContainsFunc(c.below, func(b string) bool { return strings.HasPrefix(b, "bufio.") || strings.HasPrefix(b, "log.") })
			})
			p.report(call, c, finding{
				title:  "a system call for each piece of output",
				claim:  "each round writes by itself, which is a switch to the system",
				advice: "write through a bufio.Writer, and Flush it behind the loop, and before something else has to be seen",
				risk:   "what is in the buffer is lost in a crash; errors show when it is flushed",
			})
		})
	},
}

var builderForBuffer = &Rule{
	Name: "buffer-string", Rank: 29,
	Doc: "a text is put together in a bytes.Buffer, and copied to be a string",

	NoFix: "a strings.Builder cannot do all that is done with the Buffer",
	Find: func(p *Pass) {
		each(p, func(call *ast.CallExpr) {
			if p.calls(call, "(*bytes.Buffer).String") == nil {
				return
			}
			sel := call.Fun.(*ast.SelectorExpr)
			b := p.local(sel.X)
			if b == nil {
				return
			}
			f := finding{
				title:  "text copied out of a bytes.Buffer",
				claim:  "String copies all that is in the Buffer; that of a strings.Builder does not",
				advice: "put the text together in a strings.Builder",
				callee: "bytes.(*Buffer).String",
				risk:   "none",
			}
			decl, value := p.declared(b)
			st, isVar := decl.(*ast.DeclStmt)
			f.noFix = fmt.Sprintf("%s is not declared by var alone, without a value", b.Name())
			if use := p.needsBuffer(b); use != "" {
				f.noFix = fmt.Sprintf("a strings.Builder cannot take the place of %s: there is %s", b.Name(), use)
			} else if isVar && value == nil {
				spec := st.Decl.(*ast.GenDecl).Specs
				if vs, ok := spec[0].(*ast.ValueSpec); ok && len(spec) == 1 && len(vs.Names) == 1 {
					p.need("strings")
					f.fixes = p.fix(report.Mechanical, "put it together in a strings.Builder", replace(vs.Type, "strings.Builder"))
				}
			}
			p.report(call, p.cost(call, below("bytes.(*Buffer).String")), f)
		})
	},
}

// needsBuffer returns what is done with a bytes.Buffer that cannot be done with a strings.Builder, or "".
func (p *function) needsBuffer(b *types.Var) string {
	same := []string{"Write", "WriteByte", "WriteRune", "WriteString", "String", "Len", "Grow", "Reset", "Cap"}
	for _, id := range p.uses(b) {
		switch up := p.parent(id).(type) {
		case *ast.SelectorExpr:
			if !slices.Contains(same, up.Sel.Name) {
				return p.src(up)
			}
		case *ast.UnaryExpr:
			call, ok := p.parent(up).(*ast.CallExpr)
			if !ok || up.Op != token.AND || p.calls(call, "fmt.Fprint", "fmt.Fprintf", "fmt.Fprintln", "io.WriteString") == nil {
				if ok {
					return p.src(call)
				}
				return p.src(up)
			}
		default:
			return fmt.Sprintf("another use at line %d", p.line(id.Pos()))
		}
	}
	return ""
}
