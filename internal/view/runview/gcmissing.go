package runview

import (
	"math"
	"time"

	"github.com/hone-perf/hone/internal/gclog"
	"github.com/hone-perf/hone/internal/query"
	"github.com/hone-perf/hone/internal/report"
)

// Logs lose lines: they are filtered, rotated, written by two at once, or buffered when the program is killed. The runtime numbers its
// cycles, and writes with each which share of the CPU they have had since the program began, in whole percents. So it shows when some are
// missing, and a share is only told of the time of which the log has all of them.

// gapBefore reports whether the log lacks cycles between the one before i and that.
func (r *gcRun) gapBefore(i int) bool { return i > 0 && r.cycles[i].N > r.cycles[i-1].N+1 }

// lastEnd returns when the cycle before i ended.
func (r *gcRun) lastEnd(i int) time.Duration { return r.cycles[i-1].Start + r.cycles[i-1].Wall() }

// cost sums up what the cycles took of the CPU and what there was of it. The first cycle after a gap counts in neither: the time that
// it is the price of began in the gap.
func (r *gcRun) cost() {
	s := &r.sum
	var all, known struct{ cpu, assist, idle time.Duration }
	var capacity, covered time.Duration
	at := r.from
	for i, c := range r.cycles {
		all.cpu += c.CPU.Total()
		all.assist += c.CPU.Assist
		all.idle += c.CPU.Idle
		end := min(c.Start+c.Wall(), r.to)
		if r.gapBefore(i) {
			r.miss(i)
			at = max(at, end)
			continue
		}
		known.cpu += c.CPU.Total()
		known.assist += c.CPU.Assist
		known.idle += c.CPU.Idle
		if end > at {
			capacity += (end - at) * time.Duration(max(c.Procs, 1))
			covered += end - at
			at = end
		}
	}
	if n := len(r.cycles); n > 0 && r.to > at {
		capacity += (r.to - at) * time.Duration(max(r.cycles[n-1].Procs, 1))
		covered += r.to - at
	}
	sum := all
	if r.missing != nil {
		r.missing.Covered = int64(covered)
		if 2*covered < r.to-r.from {
			capacity = 0
		} else {
			sum = known
		}
	} else if r.unlike = r.contradicted(all.cpu); r.unlike {
		capacity = 0
	}
	s.CPU, s.Assist, s.Idle, s.Capacity = int64(sum.cpu), int64(sum.assist), int64(sum.idle), int64(capacity)
	if covered > 0 && (r.missing == nil || capacity > 0) {
		s.Alloc = int64(float64(s.Allocated) / covered.Seconds())
	}
}

// miss notes the gap before cycle i.
func (r *gcRun) miss(i int) {
	if r.missing == nil {
		r.missing = &report.GCMissing{}
	}
	m := r.missing
	before, after := r.cycles[i-1], r.cycles[i]
	m.Cycles += after.N - before.N - 1
	m.Gaps++
	if after.N-before.N > m.Before-m.After {
		m.After, m.Before = before.N, after.N
		m.From, m.To = int64(r.lastEnd(i)), int64(after.Start)
	}
}

// missed is how many cycles the log lacks.
func (r *gcRun) missed() int {
	if r.missing == nil {
		return 0
	}
	return r.missing.Cycles
}

// runtimePercent is the runtime's own count of the share of the CPU, up to the last cycle; 0 when it is of another time than asked for.
func (r *gcRun) runtimePercent() int {
	if !r.timed || r.at != (query.Span{}) {
		return 0
	}
	return r.cycles[len(r.cycles)-1].Share
}

// contradicted reports whether the runtime counted much more or much less than cpu, which is what all of the cycles come to. Its percents
// are cut, so that the longer a program had run when the log began the less can be told.
func (r *gcRun) contradicted(cpu time.Duration) bool {
	const (
		tolerance = 0.03 // of all CPU time
		factor    = 1.5
	)
	if r.at != (query.Span{}) || r.to <= r.from {
		return false
	}
	first, last := r.cycles[0], r.cycles[len(r.cycles)-1]
	for _, c := range r.cycles {
		if c.Procs != last.Procs {
			return false // what it counted then, it does not say
		}
	}
	upTo := func(c *gclog.Cycle) float64 { return float64(c.Start+c.Wall()) * float64(max(c.Procs, 1)) }
	share := func(c *gclog.Cycle) float64 { return float64(c.Share) / 100 }
	low, high := share(last)*upTo(last), (share(last)+0.01)*upTo(last)
	counted := float64(cpu)
	if first.N > 1 {
		counted -= float64(first.CPU.Total())
		low, high = low-(share(first)+0.01)*upTo(first), high-share(first)*upTo(first)
	}
	slack := tolerance * upTo(last)
	return counted < math.Max(low, 0)/factor-slack || counted > math.Max(high, 0)*factor+slack
}

// lose takes the time from begin to end out of windows, which are all of the same length.
func lose(windows []gcWindow, begin, end time.Duration) {
	length := windows[0].to - windows[0].from
	for i := max(int((begin-windows[0].from)/length), 0); i < len(windows) && windows[i].from < end; i++ {
		w := &windows[i]
		w.lost += max(0, min(end, w.to)-max(begin, w.from))
		w.lost = min(w.lost, length)
	}
}

// endsWith reports whether the last cycle of the log is the last one that the question is about.
func (r *gcRun) endsWith(log *gclog.Log) bool {
	return log.Dropped == 0 && r.cycles[len(r.cycles)-1] == &log.Cycles[len(log.Cycles)-1]
}
