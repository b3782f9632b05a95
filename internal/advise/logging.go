package advise

import (
	"fmt"
	"go/ast"
	"slices"
	"strings"

	amount "github.com/hone-perf/hone/internal/unit"
)

// logFuncs are functions that log.
var logFuncs = []string{
	"log.Print", "log.Printf", "log.Println", "(*log.Logger).Print", "(*log.Logger).Printf", "(*log.Logger).Println", "(*log.Logger).Output",
	"log/slog.Info", "log/slog.Debug", "log/slog.Warn", "log/slog.Error",
	"(*log/slog.Logger).Info", "(*log/slog.Logger).Debug", "(*log/slog.Logger).Warn", "(*log/slog.Logger).Error",
	"(*log/slog.Logger).InfoContext", "(*log/slog.Logger).DebugContext", "(*log/slog.Logger).LogAttrs",
}

var logPerCall = &Rule{
	Name: "log-per-call", Rank: 30, PerCall: true,
	Doc: "a line is logged for every call",

	NoFix: "the code does not say which lines somebody needs",
	Find: func(p *Pass) {
		each(p, func(call *ast.CallExpr) {
			if p.calls(call, logFuncs...) == nil {
				return
			}
			match := either(p.calling(call), p.boxing(call))
			c := p.cost(call, match)
			format := p.cost(call, func(c *chain) bool {
				return match(c) && slices.ContainsFunc(c.below, func(b string) bool { return strings.HasPrefix(b, "fmt.") })
			})
			writes := p.cost(call, func(c *chain) bool {
				return match(c) && c.has("syscall.write", "syscall.Write", "internal/poll.(*FD).Write", "os.(*File).Write")
			})
			waits := p.cost(call, func(c *chain) bool { return match(c) && (c.has(lockFuncs...) || c.has(unlockFuncs...)) })
			f := finding{
				title:  "a line is logged for every call",
				claim:  "it is formatted by fmt, and its arguments are made interfaces",
				advice: "log less: where something goes wrong, or one in many",
				callee: p.profileName(p.callee(call)),
				risk:   "what is not logged is missed when it is needed",
			}
			if strings.HasPrefix(p.callee(call).Pkg().Path(), "log/slog") {
				f.claim = "its arguments are made interfaces, and the handler formats them"
			}
			if n := c[cpu]; n > 0 {
				f.claim += fmt.Sprintf("; %s of its CPU is formatting", percentOf(format[cpu], n))
			}
			if writes[cpu] > 0 {
				f.claim += fmt.Sprintf(", %s is the system call that writes each line by itself", percentOf(writes[cpu], c[cpu]))
				f.advice += "; write through a bufio.Writer that is flushed every second and in the end"
				f.risk += "; the last lines before a crash are lost with a buffer"
			}
			if w := waited(&waits); w > 0 {
				f.claim += fmt.Sprintf("; goroutines waited %s for the mutex of the logger, which is held while a line is written", amount.Format(w, "nanoseconds", amount.Auto))
				f.advice += "; a buffer behind the logger makes the time short for which the mutex is held"
			}
			if p.calls(call, "log.Printf", "(*log.Logger).Printf") != nil {
				f.advice += "; and put the line together with append and strconv where it stays"
			}
			p.report(call, c, f)
		})
	},
}

func percentOf(part, whole int64) string {
	return fmt.Sprintf("%d%%", int64(float64(part)/float64(max(whole, 1))*100+0.5))
}
