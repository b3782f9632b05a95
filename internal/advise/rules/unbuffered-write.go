package rules

import (
	"go/ast"
	"slices"
	"strings"

	"github.com/hone-perf/hone/internal/advise"
	"github.com/hone-perf/hone/internal/advise/facts/calls"
	"github.com/hone-perf/hone/internal/advise/facts/cost"
	"github.com/hone-perf/hone/internal/report/missing"
)

var unbufferedWrite = &advise.Rule{
	Name: "unbuffered-write", Rank: 39,
	Doc: "each write is a system call",

	NoFix: missing.WriterSeenWhen,
	Find: func(p *advise.Pass) {
		advise.Each(p, func(call *ast.CallExpr) {
			if p.Loop(call) == nil || p.Calls(call, calls.LogFuncs...) != nil {
				return
			}
			fn := p.Callee(call)
			if fn == nil || !strings.HasPrefix(fn.Name(), "Write") && !strings.HasPrefix(fn.Name(), "Fprint") && !strings.HasPrefix(fn.Name(), "Print") {
				return
			}
			match := calls.Calling(p.Func, call)
			c := p.Cost(call, func(c *cost.Chain) bool {
				return match(c) && c.Has("syscall.write", "syscall.Write", "internal/poll.(*FD).Write", "internal/poll.ignoringEINTRIO") &&
					!slices.ContainsFunc(c.Below, func(b string) bool { return strings.HasPrefix(b, "bufio.") || strings.HasPrefix(b, "log.") })
			})
			p.Report(call, c, advise.Finding{
				Title:  "a system call for each write",
				Claim:  "each iteration makes its own write, which is a system call",
				Advice: "write through a bufio.Writer; Flush it after the loop, and before other output has to appear",
				Risk:   "buffered output is lost in a crash; errors appear only on Flush",
			})
		})
	},
}
