package runview

import (
	"cmp"
	"math"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/hone-perf/hone/internal/hint"
	"github.com/hone-perf/hone/internal/order"
	"github.com/hone-perf/hone/internal/query"
	"github.com/hone-perf/hone/internal/recording"
	"github.com/hone-perf/hone/internal/report"
	"github.com/hone-perf/hone/internal/view/profileview"
)

// Thresholds of symptoms. Runs of ordinary servers are below these.
const (
	grownSteps       = 4 // of the run, in none of which there may be less than before
	grownGoroutines  = 10
	grownMemory      = 1 << 20
	grownMemoryShare = 1.2
	muchGC           = 0.20 // of the CPU time
	muchDelay        = 0.20 // of the time that threads ran or could have run
	muchThrottled    = 0.05 // of the periods of the kernel
	fewThrottled     = 5    // periods, which may be those of the start
	muchLocked       = 0.10 // of the CPU time of the run
	mostGrown        = 10   // functions that are listed
	manyStuck        = 10   // goroutines

	// Of a run with few measurements the live heap has to grow by more, and not only at first: programs fill their tables when they start.
	shortGrowth = 16 << 20
	shortTimes  = 3
	shortHalf   = 0.75 // of the last value, at most, in the middle
)

// Symptoms lists what is unusual about a run, most serious first.
func Symptoms(in []*recording.Recording, _ query.Query) (report.Report, error) {
	s, err := seriesOf(in)
	if err != nil {
		return nil, err
	}
	rec := in[0]
	last := len(s.Times) - 1
	out := &report.Symptoms{Ref: rec.Ref, Length: s.Times[last], Symptoms: []report.Symptom{}, Notes: s.Notes}
	live := liveOf(rec, s)
	out.Unknown = untold(rec, s, live)
	add := func(one report.Symptom) { out.Symptoms = append(out.Symptoms, one) }

	if m := rec.Manifest; m != nil {
		if m.Exit != nil && m.Exit.Cause != "" && !m.Exit.Asked {
			add(report.Symptom{Kind: report.SymptomEnded, Name: m.Exit.Cause, Next: hint.Ask("timeline", rec.Ref).For("what led up to it")})
		}
		for _, e := range m.Events[:min(len(m.Events), 3)] {
			add(report.Symptom{Kind: report.SymptomTrouble, Name: report.NewTimeEvent(e).Text, Next: hint.Ask("timeline", rec.Ref).For("what led up to it")})
		}
	}
	if mem, err := Mem(in, query.Query{}); err == nil {
		mem := mem.(*report.Mem)
		for _, l := range mem.Limits {
			if mem.AtPeak > l.Bytes/10*9 {
				add(report.Symptom{Kind: report.SymptomLimit, Name: l.Name, Part: mem.AtPeak, Whole: l.Bytes, Next: hint.Ask("mem", rec.Ref).For("what memory is used for")})
			}
		}
	}
	periods, throttled := increase(s, recording.GroupPeriods), increase(s, recording.GroupThrottled)
	if throttled >= fewThrottled && throttled > muchThrottled*periods {
		one := report.Symptom{Kind: report.SymptomThrottled, Part: int64(throttled), Whole: int64(periods), Lost: time.Duration(nanos(increase(s, recording.GroupStopped)))}
		if m := rec.Manifest; m != nil && m.Machine != nil {
			one.Cores = m.Machine.Quota()
		}
		one.Next = hint.Ask("timeline", rec.Ref).For("when it was throttled")
		add(one)
	}
	list := hint.Ask("goroutines", rec.Ref).For("where they are")
	leaks, leaksMost := leaked(rec)
	if leaks > 0 {
		add(report.Symptom{Kind: report.SymptomLeaked, Part: leaks, Where: leaksMost, Returned: profileview.MainReturned(rec), Next: list})
	}
	// The runtime does not find all of them: of those that have slept before, Go 1.26 and 1.27 find none.
	if n, state, where := stuck(rec); n > 0 && where != leaksMost {
		add(report.Symptom{Kind: report.SymptomStuck, Part: n, Name: state, Where: where, Next: list})
	}
	goroutines := recording.NumGoroutine
	if s.Values(goroutines) == nil {
		goroutines = metricGoroutines
	}
	number := courseOf(s, goroutines)
	if a, b, ok := number.grows(); ok && b-a >= grownGoroutines {
		b = max(b, number.last()) // the leaked ones are counted then
		next := hint.Ask("timeline", rec.Ref).For("when there were how many")
		if len(rec.Parts[recording.Goroutine]) > 0 {
			next = list
		}
		add(report.Symptom{Kind: report.SymptomGoroutines, From: int64(a), To: int64(b), Where: grownStacks(rec), Next: next})
	}
	a, b, ok := live.grows()
	if !ok {
		a, b, ok = live.growsSoon()
	}
	if a == 0 {
		a = live.first()
	}
	b = max(b, live.last())
	if ok && b-a >= grownMemory && b > grownMemoryShare*a {
		one := report.Symptom{Kind: report.SymptomMemory, From: int64(a), To: int64(b), Next: hint.Ask("mem", rec.Ref).For("what grew")}
		recorder := query.Step{Op: query.Ignore, Arg: "^" + regexp.QuoteMeta(recording.RecorderPackage+".")}
		if grown, _, _ := grownHeap(rec, recorder); len(grown) > 0 {
			one.Where, one.Part = grown[0].Function, grown[0].To-grown[0].From
		}
		add(one)
	}
	cpu := increase(s, recording.ProcessCPU)
	if gc := collecting(cpu, func(name string) float64 { return increase(s, name) }); gc > muchGC*cpu {
		verb := "timeline"
		if recording.GC.FileKind.Has(rec) {
			verb = "gc"
		}
		add(report.Symptom{Kind: report.SymptomGC, Part: nanos(gc), Whole: nanos(cpu), Next: hint.Ask(verb, rec.Ref).For("when it collects, and what would change that")})
	}
	if delay := increase(s, recording.ProcessDelay); delay > muchDelay*(delay+cpu) && delay > 0.1 {
		add(report.Symptom{Kind: report.SymptomCores, Part: nanos(delay), Whole: nanos(cpu), Next: hint.Ask("timeline", rec.Ref).For("when cores were busy")})
	}
	if waited, where := locked(rec, s); waited > time.Duration(muchLocked*cpu*float64(time.Second)) && waited > 100*time.Millisecond {
		one := report.Symptom{Kind: report.SymptomLocks, Part: int64(waited), Whole: int64(out.Length), Where: where}
		if len(rec.Parts[recording.Mutex]) > 0 {
			one.Next = hint.Ask("top", rec.Ref).With("metric", recording.Mutex).For("where locks were held that others waited for")
		}
		add(one)
	}
	return out, nil
}

// untold returns what a recording does not tell: its metrics are not known, or the run was too short to see whether they grow.
func untold(rec *recording.Recording, s *recording.Series, live course) (list []report.SymptomKind) {
	has := func(names ...string) bool {
		return slices.ContainsFunc(names, func(name string) bool { return s.Values(name) != nil })
	}
	last := len(s.Times) - 1
	for _, one := range []struct {
		kind report.SymptomKind
		told bool
	}{
		{report.SymptomGoroutines, has(recording.NumGoroutine, metricGoroutines) && last >= 2*grownSteps},
		{report.SymptomMemory, len(live.times) > shortTimes},
		{report.SymptomGC, has(recording.ProcessCPU) && has(metricGC)},
		{report.SymptomLocks, has(metricLocked) || len(rec.Parts[recording.Mutex]) > 0},
		{report.SymptomCores, has(recording.ProcessDelay)},
		{report.SymptomThrottled, has(recording.GroupPeriods)},
	} {
		if !one.told {
			list = append(list, one.kind)
		}
	}
	return list
}

func nanos(seconds float64) int64 { return int64(seconds * float64(time.Second)) }

// A course is how a value went, NaN where it is not known.
type course struct {
	times   []time.Duration
	values  []float64
	running bool // the program had run before
}

// courseOf returns the course of a metric.
func courseOf(s *recording.Series, name string) course {
	if s.Values(name) == nil {
		return course{}
	}
	return course{times: s.Times, values: s.Values(name)}
}

// mostProfiles is how many heap profiles are read to see how live memory went.
const mostProfiles = 2*grownSteps + 1

// liveOf returns the course of live memory: what collections found or, of a server, which does not say that, what some of the heap profiles show.
func liveOf(rec *recording.Recording, s *recording.Series) course {
	if c := courseOf(s, recording.HeapLive); c.values != nil {
		return c
	}
	profiles := rec.Profiles(recording.Heap)
	parts := profiles.Parts()
	c := course{running: true}
	for i := range min(len(parts), mostProfiles) {
		if len(parts) > mostProfiles {
			i = i * (len(parts) - 1) / (mostProfiles - 1)
		}
		p, _, err := profiles.Between(inuseSpace, parts[i].To, parts[i].To)
		if err != nil {
			continue
		}
		k, err := p.SampleIndex(inuseSpace)
		if err != nil {
			continue
		}
		live := 0.0
		for _, v := range p.Values(k) {
			live += float64(v)
		}
		c.times, c.values = append(c.times, parts[i].To), append(c.values, live)
	}
	return c
}

const inuseSpace = "inuse_space"

// grows reports whether a value rose all the time, and its first and last value. Short peaks do not count.
func (c course) grows() (from, to float64, ok bool) {
	last := len(c.times) - 1
	if last < 2*grownSteps {
		return 0, 0, false
	}
	was, times := math.Inf(-1), 0
	for i := range grownSteps + 1 {
		at := last * i / grownSteps
		v := math.Inf(1)
		for _, x := range c.values[max(0, at-1) : min(last, at+1)+1] {
			if !math.IsNaN(x) {
				v = min(v, x)
			}
		}
		if v < was || math.IsInf(v, 1) {
			return 0, 0, false
		}
		if i == 0 {
			from = v
		} else if v > was {
			times++
		}
		was = v
	}
	return from, was, times >= grownSteps-1
}

// growsSoon is grows for a run with too few measurements for that.
func (c course) growsSoon() (from, to float64, ok bool) {
	last := len(c.times) - 1
	if last < shortTimes || last >= 2*grownSteps {
		return 0, 0, false
	}
	begin, times := 1, float64(shortTimes) // the first is from before the program has done anything
	if c.running {
		begin, times = 0, grownMemoryShare
	}
	var middle float64
	for i := begin; i <= last; i++ {
		v := c.values[i]
		switch {
		case math.IsNaN(v) || v < to || c.running && v == to:
			return 0, 0, false
		case i == begin:
			from = v
		}
		to = v
		if c.times[i] <= c.times[last]/2 {
			middle = v
		}
	}
	return from, to, to-from >= shortGrowth && to > times*from && middle < shortHalf*to
}

// first returns the first value that is not 0, or 0. Before the first collection, the runtime says that nothing is live.
func (c course) first() float64 {
	for _, v := range c.values {
		if v > 0 {
			return v
		}
	}
	return 0
}

// last returns the last value that is known, or 0.
func (c course) last() float64 {
	for _, v := range slices.Backward(c.values) {
		if !math.IsNaN(v) {
			return v
		}
	}
	return 0
}

// increase is the growth of a counter, or 0.
func increase(s *recording.Series, name string) float64 {
	first, last := math.NaN(), math.NaN()
	for i := range s.Times {
		if v, ok := s.At(name, i); ok {
			if math.IsNaN(first) {
				first = v
			}
			last = v
		}
	}
	if d := last - first; d > 0 {
		return d
	}
	return 0
}

// snapshots returns a recording with its first profile of a kind, and with its last.
func snapshots(rec *recording.Recording, kind, typ string) (first, last *recording.Recording, parts []recording.Part) {
	of := rec.Profiles(kind)
	parts = of.Parts()
	if len(parts) < 2 || parts[0].To <= 0 {
		return nil, nil, nil
	}
	parts = []recording.Part{parts[0], parts[len(parts)-1]}
	was, _, err := of.Between(typ, parts[0].To, parts[0].To)
	if err != nil {
		return nil, nil, nil // what there is to say can be said without
	}
	now, _, err := of.Between(typ, parts[1].To, parts[1].To)
	if err != nil {
		return nil, nil, nil
	}
	return rec.WithProfile(was, "first"), rec.WithProfile(now, "last"), parts
}

// grownHeap returns the functions of whose allocations more is live in the last heap profile than in the first, those that grew most first. It
// looks at what is left of the profiles after some steps.
func grownHeap(rec *recording.Recording, steps ...query.Step) (grown []report.HeapGrowth, from, to time.Duration) {
	first, last, parts := snapshots(rec, recording.Heap, inuseSpace)
	if first == nil {
		return nil, 0, 0
	}
	diff, err := profileview.Diff([]*recording.Recording{last, first}, query.Query{Metric: inuseSpace, Limit: 100, Steps: steps})
	if err != nil {
		return nil, 0, 0
	}
	for _, r := range diff.(*report.Diff).Rows {
		if r.Flat > r.FlatBefore {
			grown = append(grown, report.HeapGrowth{Function: cmp.Or(r.Name, r.Frame.String()), From: r.FlatBefore, To: r.Flat})
		}
	}
	order.Stable(grown, func(a, b report.HeapGrowth) int { return cmp.Compare(b.To-b.From, a.To-a.From) })
	return grown[:min(len(grown), mostGrown)], parts[0].To, parts[1].To
}

// grownStacks returns the function with the largest growth of goroutines, or "".
func grownStacks(rec *recording.Recording) string {
	first, last, _ := snapshots(rec, recording.Goroutine, "")
	if first == nil {
		return ""
	}
	r, err := profileview.Goroutines([]*recording.Recording{last, first}, query.Query{})
	if err != nil {
		return ""
	}
	if groups := r.(*report.Goroutines).Groups; len(groups) > 0 && groups[0].Before != nil && groups[0].Count > *groups[0].Before {
		return groups[0].Where.Name
	}
	return ""
}

// stuck returns how many goroutines were blocked at one place, in the first snapshot and in the last, where others have to come to wake them,
// and what they wait for there. Workers that wait for something to do are not: they receive.
func stuck(rec *recording.Recording) (n int64, state, where string) {
	first, last, _ := snapshots(rec, recording.Goroutine, "")
	if first == nil {
		return 0, "", ""
	}
	r, err := profileview.Goroutines([]*recording.Recording{last, first}, query.Query{Limit: -1})
	if err != nil {
		return 0, "", ""
	}
	for _, g := range r.(*report.Goroutines).Groups {
		if g.Before == nil || len(g.States) != 1 {
			continue
		}
		switch s := g.States[0]; {
		case strings.HasPrefix(s, "chan send"), strings.HasPrefix(s, "chan receive (nil"), strings.HasPrefix(s, "select (no cases"):
			if both := min(g.Count, *g.Before); both >= manyStuck && both > n {
				n, state, where = both, s, g.Where.Name
			}
		}
	}
	return n, state, where
}

// leaked returns how many goroutines nothing can wake, as the collector found them at the end, and the function that most of them are in.
func leaked(rec *recording.Recording) (int64, string) { return mostIn(rec, recording.Leaks) }

// locked returns how long goroutines waited for mutexes, and the function that held one for most of that. The runtime counts one wait of eight, and the
// profile has one of many more, so it is only asked where, unless nobody else knows.
func locked(rec *recording.Recording, s *recording.Series) (time.Duration, string) {
	total, where := mostIn(rec, recording.Mutex)
	if s.Values(metricLocked) != nil {
		total = nanos(increase(s, metricLocked))
	}
	return time.Duration(total), where
}

// mostIn returns the total of a profile of a recording, and the function of the program itself that has most of it.
func mostIn(rec *recording.Recording, kind string) (total int64, where string) {
	profiles := rec.Profiles(kind)
	if len(profiles.Parts()) == 0 {
		return 0, ""
	}
	p, typ, err := profiles.Between("", 0, 0)
	if err != nil {
		return 0, ""
	}
	return profileview.Most(p, typ)
}
