package rules

import (
	"fmt"
	"go/ast"
	"slices"
	"strings"

	"github.com/hone-perf/hone/internal/advise"
	"github.com/hone-perf/hone/internal/advise/facts/calls"
	"github.com/hone-perf/hone/internal/advise/facts/cost"
	"github.com/hone-perf/hone/internal/report/missing"
	amount "github.com/hone-perf/hone/internal/unit"
)

var logPerCall = &advise.Rule{
	Name: "log-per-call", Rank: 30, PerCall: true,
	Doc: "a line is logged on every call",

	NoFix: missing.LinesNeeded,
	Find: func(p *advise.Pass) {
		advise.Each(p, func(call *ast.CallExpr) {
			if p.Calls(call, calls.LogFuncs...) == nil {
				return
			}
			match := cost.Either(calls.Calling(p.Func, call), calls.Boxing(p.Func, call))
			c := p.Cost(call, match)
			format := p.Cost(call, func(c *cost.Chain) bool {
				return match(c) && slices.ContainsFunc(c.Below, func(b string) bool { return strings.HasPrefix(b, "fmt.") })
			})
			writes := p.Cost(call, func(c *cost.Chain) bool {
				return match(c) && c.Has("syscall.write", "syscall.Write", "internal/poll.(*FD).Write", "os.(*File).Write")
			})
			waits := p.Cost(call, func(c *cost.Chain) bool {
				return match(c) && (c.Has(calls.LockFuncs...) || c.Has(calls.UnlockFuncs...))
			})
			f := advise.Finding{
				Title:  "a line is logged on every call",
				Claim:  "it is formatted by fmt, and its arguments are made interfaces",
				Advice: "log less: only errors, or a sample",
				Callee: p.ProfileName(p.Callee(call)),
				Risk:   "lines that are not logged may be missed later",
			}
			if strings.HasPrefix(p.Callee(call).Pkg().Path(), "log/slog") {
				f.Claim = "its arguments are made interfaces, and the handler formats them"
			}
			if n := c[cost.CPU]; n > 0 {
				f.Claim += fmt.Sprintf("; %s of its CPU is formatting", percentOf(format[cost.CPU], n))
			}
			if writes[cost.CPU] > 0 {
				f.Claim += fmt.Sprintf(", %s is the system call that writes each line by itself", percentOf(writes[cost.CPU], c[cost.CPU]))
				f.Advice += "; write through a bufio.Writer that is flushed every second and in the end"
				f.Risk += "; the last lines before a crash are lost with a buffer"
			}
			if w := cost.Waited(&waits); w > 0 {
				f.Claim += fmt.Sprintf("; goroutines waited %s for the mutex of the logger, which is held while a line is written", amount.Format(w, "nanoseconds", amount.Auto))
				f.Advice += "; a buffer behind the logger makes the time short for which the mutex is held"
			}
			if p.Calls(call, "log.Printf", "(*log.Logger).Printf") != nil {
				f.Advice += "; and put the line together with append and strconv where it stays"
			}
			p.Report(call, c, f)
		})
	},
}

func percentOf(part, whole int64) string {
	return fmt.Sprintf("%d%%", int64(float64(part)/float64(max(whole, 1))*100+0.5))
}
