package rule

import (
	"context"
	"errors"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/hone-perf/hone/internal/fleet/event"
	"github.com/hone-perf/hone/internal/profile"
	"github.com/hone-perf/hone/internal/recording"
	"github.com/hone-perf/hone/internal/report"
	"github.com/hone-perf/hone/internal/store"
	"github.com/hone-perf/hone/internal/unit"
	"github.com/hone-perf/hone/internal/view/fleetview"
)

const (
	versionLabel = "version"
	limitLabel   = "memory_limit"
)

// A subject is what a rule measures: a service, or one of its versions.
type subject struct {
	service string
	version string // of shares; "" is all of the service
	every   bool   // whatever the version
}

func (s subject) selector() store.Selector {
	out := store.Service(s.service)
	if !s.every {
		out = append(out, store.Matcher{Name: versionLabel, Op: store.Is, Value: s.version})
	}
	return out
}

// A value is the result of a measurement.
type value struct {
	v        float64
	process  store.Labels // that it is of, where it is of one
	function string       // that it is of: the one that costs most of those that a pattern names
}

// errNothing is that there are no profiles to measure.
var errNothing = errors.New("nothing was measured")

// A meter measures rules, and counts merged profiles, which are expensive.
type meter struct {
	store  store.Store
	merges int
	merged map[string]*store.Merged // of the round
}

// measure measures a rule of a service in the time that ends at to.
func (m *meter) measure(ctx context.Context, r *Rule, of subject, to time.Time) (value, error) {
	q := store.Query{Tenant: r.Tenant, Selector: slices.Concat(r.Selector, of.selector()), From: to.Add(-time.Duration(r.Over)), To: to}
	switch r.Metric {
	case report.RuleCores:
		return m.cores(ctx, q)
	case report.RuleHeap:
		return m.largest(ctx, q, recording.Heap, "inuse_space", func(v float64, _ store.Labels) float64 { return v })
	case report.RuleRSS:
		return m.largest(ctx, q, recording.Process, "rss", func(v float64, _ store.Labels) float64 { return v })
	case report.RuleGoroutines:
		return m.largest(ctx, q, recording.Goroutine, "goroutine", func(v float64, _ store.Labels) float64 { return v })
	case report.RuleMemory:
		return m.largest(ctx, q, recording.Heap, "inuse_space", func(v float64, process store.Labels) float64 {
			limit := limitOf(process)
			if limit == 0 {
				limit = r.Memory
			}
			if limit == 0 {
				return 0 // nobody knows
			}
			return v / float64(limit)
		})
	case report.RuleGC:
		return m.share(ctx, q, collector(), true)
	}
	return m.share(ctx, q, r.Function, false)
}

// collector are the functions under which the runtime marks what is in use: its workers, and those who allocate and help.
var collector = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^runtime\.gc(BgMarkWorker|AssistAlloc)$`) })

// limitOf returns how much memory a process may have, if its labels say so: in bytes, or as 512MB.
func limitOf(process store.Labels) int64 {
	text := process.Get(limitLabel)
	if n, err := strconv.ParseInt(text, 10, 64); err == nil {
		return max(0, n)
	}
	n, _ := unit.ParseSize(text)
	return n
}

// typeIn returns the index of a sample type.
func typeIn(types []profile.ValueType, name string) int {
	return slices.IndexFunc(types, func(t profile.ValueType) bool { return t.Type == name || name == "goroutine" && t.Type == "goroutines" })
}

// cores returns how many cores all processes used: what each used while it was profiled.
func (m *meter) cores(ctx context.Context, q store.Query) (value, error) {
	q.Kind, q.Means = recording.CPU, true
	at := fleetview.Window{From: q.From, To: q.To, Step: time.Minute}
	lines, err := m.store.Totals(ctx, q, at.Step, nil)
	if err != nil {
		return value{}, err
	}
	profiled := func(p store.Point) bool { return p.Covered > 0 }
	if !slices.ContainsFunc(lines, func(l store.Line) bool { return typeIn(l.Types, "cpu") >= 0 && slices.ContainsFunc(l.Points, profiled) }) {
		return value{}, errNothing
	}
	return value{v: fleetview.Cores(lines, at)}, nil
}

// largest returns the largest of the newest levels of all processes, as change sees them.
func (m *meter) largest(ctx context.Context, q store.Query, kind, typ string, change func(float64, store.Labels) float64) (value, error) {
	q.Kind = kind
	lines, err := m.store.Totals(ctx, q, time.Minute, append([]string{limitLabel}, event.ProcessLabels...))
	if err != nil {
		return value{}, err
	}
	out, found := value{}, false
	for _, l := range lines {
		k := typeIn(l.Types, typ)
		if k < 0 || len(l.Points) == 0 {
			continue
		}
		p := l.Points[len(l.Points)-1]
		v := change(float64(p.Values[k])/float64(max(1, p.Streams)), l.Labels)
		if v > 0 && (!found || v > out.v) {
			out, found = value{v: v, process: l.Labels}, true
		}
	}
	if !found {
		return out, errNothing
	}
	return out, nil
}

// merge adds up profiles, once in a round.
func (m *meter) merge(ctx context.Context, q store.Query) (*store.Merged, error) {
	key := q.Tenant + "\x00" + q.Kind + "\x00" + store.Ref{Selector: q.Selector, From: q.From, To: q.To}.String()
	if got := m.merged[key]; got != nil {
		return got, nil
	}
	m.merges++
	got, err := m.store.Merge(ctx, q)
	if err != nil {
		return nil, err
	}
	if m.merged == nil || len(m.merged) >= 16 { // rules about one service follow each other
		m.merged = map[string]*store.Merged{}
	}
	m.merged[key] = got
	return got, nil
}

// share returns which part of the CPU time functions have, with all that they call: all together, or the one that has most.
func (m *meter) share(ctx context.Context, q store.Query, functions *regexp.Regexp, together bool) (value, error) {
	q.Kind = recording.CPU
	merged, err := m.merge(ctx, q)
	if errors.As(err, new(*store.NothingError)) {
		return value{}, errNothing
	}
	if err != nil {
		return value{}, err
	}
	p := merged.Profile
	k := typeIn(p.SampleTypes, "cpu")
	if k < 0 {
		return value{}, errNothing
	}
	total := int64(0)
	for _, v := range p.Values(k) {
		total += v
	}
	if total <= 0 {
		return value{}, errNothing
	}
	// Locations of each function. A function may have several, for example from two builds.
	sets := map[string][]bool{}
	for i, l := range p.Locations {
		for _, line := range l.Lines {
			name := p.Functions[line.Function].Name
			if !functions.MatchString(name) {
				continue
			}
			if together {
				name = ""
			}
			if sets[name] == nil {
				if len(sets) == mostMatches {
					continue
				}
				sets[name] = make([]bool, len(p.Locations))
			}
			sets[name][i] = true
		}
	}
	best := value{}
	for _, name := range slices.Sorted(maps.Keys(sets)) {
		set := p.LocationSet(sets[name])
		cum := int64(0)
		for i, v := range p.Values(k) {
			if p.HasAny(i, set) {
				cum += v
			}
		}
		if share := float64(cum) / float64(total); share > best.v {
			best = value{v: share, function: name}
		}
	}
	return best, nil
}

// mostMatches is of how many functions that a pattern names the most expensive one is looked for.
const mostMatches = 50

// The period that defines usual values.
const (
	usualTimes = 12
	leastTimes = 4
)

// usual returns the median of what a rule measured of a service before.
func (m *meter) usual(ctx context.Context, r *Rule, of subject, now time.Time) (float64, error) {
	of.every = true // a new version is compared with those before it
	var all []float64
	step := time.Duration(r.Usual) / usualTimes
	for n := range usualTimes {
		v, err := m.measure(ctx, r, of, now.Add(-time.Duration(r.Over)-time.Duration(n)*step))
		if err == nil {
			all = append(all, v.v)
		} else if err != errNothing {
			return 0, err
		}
	}
	if len(all) < leastTimes {
		return 0, errNothing
	}
	slices.Sort(all)
	return all[len(all)/2], nil
}
