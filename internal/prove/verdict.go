package prove

import (
	"fmt"
	"strings"

	"github.com/hone-perf/hone/internal/hint"
	"github.com/hone-perf/hone/internal/report"
	"github.com/hone-perf/hone/internal/unit"
)

// verdict decides.
func (r *run) verdict() {
	p := r.proof
	p.Verdict = report.Proven
	if r.unchanged {
		p.Verdict = report.Unchanged
	}
	for _, c := range p.Checks {
		if c.Outcome == report.Failed {
			p.Verdict = report.Different
			p.Reasons = append(p.Reasons, c.Name+" failed")
		}
	}
	if len(r.unreached) > 0 {
		r.doubt(report.DoubtNotReached, "not reached: %s", strings.Join(r.unreached, ", "))
	}
	if len(r.few) > 0 {
		r.doubt(report.DoubtFewCalls, "called too few times in both versions: %s", strings.Join(r.few, ", "))
	}
	if len(r.partly) > 0 {
		r.doubt(report.DoubtReachedInPart, "reached only in part: %s", strings.Join(r.partly, ", "))
	}
	if len(r.always) > 0 {
		r.doubt(report.DoubtAlwaysTrue, "a condition was true in every call: %s", strings.Join(r.always, ", "))
	}
	grave := 0
	for _, d := range p.Differences {
		if d.Grave {
			grave++
		}
	}
	if grave > 0 {
		p.Verdict = report.Different
	}
	if p.Verdict == report.Different {
		return // how fast it is does not change that, and stands beside it
	}
	if len(r.doubts) > 0 {
		p.Verdict = report.NotProven
		p.Doubts = r.doubts
		for _, d := range r.doubts {
			p.Reasons = append(p.Reasons, d.Text)
		}
	}
	if len(r.few) > 0 {
		r.hint(hint.Option{Name: "for"}, " or ", hint.Option{Name: "calls"}, " gives more calls")
	}
	if p.Executions+p.Partly > 0 {
		more := ""
		if p.Partly > 0 {
			more = fmt.Sprintf(", nor in %d more of which results vary from call to call, and only the rest was compared", p.Partly)
		}
		p.Reasons = append(p.Reasons, fmt.Sprintf("no difference in %d calls of both versions", p.Executions)+more)
		if len(r.enough) > 0 && len(r.doubts) == 0 {
			p.Reasons = append(p.Reasons, fmt.Sprintf("the change was reached, %d of %s, and called often enough: %s", r.hit, unit.Counted(r.blocks, "block"), r.closest()))
		}
	}
	switch p.Pace {
	case report.PaceSlower:
		p.Verdict = report.Slower
	case report.PaceHeavier:
		p.Verdict = report.Heavier
	}
}
