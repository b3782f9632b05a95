package notice

import (
	"math"

	"github.com/hone-perf/hone/internal/fleet/event"
	"github.com/hone-perf/hone/internal/recording"
)

// When a shift of work is reported: traffic and its mix vary all the time, so only sudden and large shifts are.
const (
	shiftSteps = 6    // before and after
	shiftBegin = 2    // of those after, which have to show it by themselves
	shiftRatio = 1.35 // at least so much more, or less
	shiftWorth = 0.05 // of the cost of the service
	usualShift = 0.05 // that scales of entries move in half an hour before that is known, relative
)

// shifts reports sudden changes of the amount of work, of all entries or of some. While a function seems to have changed, it only
// learns how much scales move: a large change makes scales uncertain, and is reported first.
func (n *Noticer) shifts(s *service, kind string, m *memory, scales [][]float64, changing bool) error {
	last := len(m.steps)
	at := last - shiftSteps
	first := at - shiftSteps
	if first < 0 {
		return nil
	}
	mean := func(values func(t int) float64, from, to int) float64 {
		sum, processes := 0.0, 0.0
		for t := from; t < to; t++ {
			sum += values(t)
			if c := m.steps[t].Covered.Seconds(); c > 0 {
				processes += c / max(1, m.steps[t].Processes)
			} else {
				processes++
			}
		}
		return sum / processes // what the service costs per second, or per step
	}
	type shift struct {
		row           int
		before, after float64
	}
	var shifted []shift
	var all, moved, before, after float64
	for row := 1; row < len(m.entries); row++ {
		cost := m.work(row, scales[row])
		b, x := mean(func(t int) float64 { return cost[t] }, first, at), mean(func(t int) float64 { return cost[t] }, at, last)
		before, after = before+b, after+x
		if b <= 0 {
			continue
		}
		w := m.moves[row]
		usual := math.Sqrt(w.variance(usualShift * usualShift))
		d := math.Log(max(x, 1e-3*b) / b)
		if m.count%3 == 0 {
			if w == nil {
				w = &wander{}
				m.moves[row] = w
			}
			w.learn(min(d*d, 9*usual*usual))
		}
		// A deploy that makes the work of the last step dearer is told as a change of code when there are more steps of it. Until then it could pass for
		// more work, which began before the deploy.
		begin := math.Log(max(mean(func(t int) float64 { return cost[t] }, at, at+shiftBegin), 1e-3*b) / b)
		if math.Abs(d) > math.Log(shiftRatio) && math.Abs(d) > sure*usual && begin/d > 0.5 {
			shifted = append(shifted, shift{row, b, x})
		}
	}
	if before <= 0 || changing || len(shifted) == 0 || last-m.shifted < 2*shiftSteps {
		return nil
	}
	// More work costs more CPU time. If that is known, it is told of that alone: once, and not where new code only allocates in another way.
	if c := s.memories[recording.CPU]; kind != recording.CPU && c != nil && len(c.steps) >= 2*shiftSteps && !c.steps[len(c.steps)-1].Time.Before(m.steps[at].Time) {
		return nil
	}
	ratio := after / before
	best := shifted[0]
	for _, x := range shifted {
		if math.Abs(math.Log(max(x.after, 1e-3*x.before)/x.before/ratio)) < 0.25 {
			moved += x.before
		}
		if math.Abs(x.after-x.before) > math.Abs(best.after-best.before) {
			best = x
		}
	}
	all = before
	if math.Abs(best.after-best.before) < shiftWorth*all {
		return nil
	}
	m.shifted = last
	profiles := func(from, to int) (sum int) {
		for _, s := range m.steps[from:to] {
			sum += s.Profiles
		}
		return sum
	}
	seconds := 1.0
	if m.steps[at].Covered == 0 {
		seconds = n.Step.Seconds()
	}
	cost := func(v float64, profiles int) event.Cost {
		half := 1.96 * math.Sqrt(sampleSpread*m.unit*v)
		return event.Cost{Value: v / seconds, Low: max(0, v-half) / seconds, High: (v + half) / seconds, Profiles: profiles}
	}
	ch := &event.Change{Kind: kind, Type: m.types}
	e := event.Event{Tenant: s.tenant, Kind: event.Changed, Service: s.name, Time: m.steps[at].Time, Noticed: n.Now().UTC(), Change: ch}
	if moved > 0.65*all { // work in the background follows less
		ch.Source = event.Traffic
		best = shift{-1, before, after}
	} else {
		ch.Source = event.Mix
		fn := &m.names.functions[m.entries[best.row]]
		ch.Function, ch.File, ch.Package = name(fn.Name), name(fn.File), name(fn.Package())
		for _, x := range shifted {
			if x != best {
				ch.With = append(ch.With, name(m.names.functions[m.entries[x.row]].Name))
			}
		}
	}
	ch.Before, ch.After = cost(best.before, profiles(first, at)), cost(best.after, profiles(at, last))
	ch.Share = (best.after - best.before) / all
	return n.add(e, nil, m)
}

// work returns what the work of an entry would cost, by step, if its code had not changed.
func (m *memory) work(row int, scale []float64) []float64 {
	out := make([]float64, len(m.steps))
	for _, x := range m.series {
		if x.row == row && !x.cum {
			for t, v := range x.values {
				out[t] += float64(v)
			}
		}
	}
	if scale == nil {
		return out // it is new
	}
	from, to := m.base()
	sum, work := 0.0, 0.0
	for t := from; t < to; t++ {
		sum, work = sum+out[t], work+scale[t]
	}
	for t := range out {
		out[t] = scale[t] * sum / work
	}
	return out
}
