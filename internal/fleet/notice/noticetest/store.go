package noticetest

import (
	"context"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/hone-perf/hone/internal/profile"
	"github.com/hone-perf/hone/internal/recording"
	"github.com/hone-perf/hone/internal/store"
)

// each calls do for every instance in every step that q selects.
func (f *Fleet) each(q store.Query, do func(d *drawn, instance int)) {
	if q.Kind != "cpu" || q.Tenant != Tenant {
		return
	}
	for _, d := range f.steps {
		if !q.Holds(d.at) {
			continue
		}
		for i := range d.counts {
			if labels, row := f.labels(d, i); q.Selector.Match(Service, labels, row) {
				do(d, i)
			}
		}
	}
}

func (f *Fleet) labels(d *drawn, i int) (labels, row store.Labels) {
	return store.Labels{{Name: "version", Value: "v" + strconv.Itoa(d.versions[i])}}, store.Labels{{Name: "instance", Value: "10.0.0." + strconv.Itoa(i)}}
}

var types = []profile.ValueType{{Type: "samples", Unit: "count"}, {Type: "cpu", Unit: "nanoseconds"}}

// Tenants implements store.Store.
func (f *Fleet) Tenants(context.Context) ([]string, error) { return []string{Tenant}, nil }

// requests merges the counts of requests.
func (f *Fleet) requests(q store.Query) (*store.Merged, error) {
	b := profile.NewBuilder(profile.Header{SampleTypes: processTypes})
	sums := make([]int64, f.Handlers())
	out := &store.Merged{}
	for _, d := range f.steps {
		if f.Requests && q.Holds(d.at) {
			out.Profiles += perStep * f.Instances
			for r := range sums {
				sums[r] += d.served[r]
			}
		}
	}
	if out.Profiles == 0 {
		return nil, &store.NothingError{Query: q}
	}
	for r, n := range sums {
		name := f.roots[r].name[strings.LastIndexByte(f.roots[r].name, '.')+1:]
		b.Tables.Functions = append(b.Tables.Functions, profile.Function{ID: uint64(r) + 1, Name: name, SystemName: name})
		b.Tables.Locations = append(b.Tables.Locations, profile.Location{ID: uint64(r) + 1, Mapping: profile.NoMapping, Lines: []profile.Line{{Function: uint32(r)}}})
		b.Add([]uint32{uint32(r)}, 0, []int64{0, n})
	}
	var err error
	out.Profile, err = b.Profile()
	return out, err
}

var processTypes = []profile.ValueType{{Type: "rss", Unit: "bytes"}, {Type: "requests", Unit: "count"}}

// Merge implements store.Store.
func (f *Fleet) Merge(_ context.Context, q store.Query) (*store.Merged, error) {
	if q.Kind == recording.Process {
		return f.requests(q)
	}
	sums := make([]int64, len(f.stacks))
	streams := map[[2]int]bool{}
	out := &store.Merged{}
	f.each(q, func(d *drawn, i int) {
		for k, n := range d.counts[i] {
			sums[k] += int64(n)
		}
		streams[[2]int{i, d.versions[i]}] = true
		out.Profiles += perStep
	})
	if out.Profiles == 0 {
		return nil, &store.NothingError{Query: q}
	}
	out.Streams = len(streams)
	b := profile.NewBuilder(profile.Header{
		SampleTypes: types, PeriodType: types[1], Period: int64(time.Second / hertz),
		TimeNanos: q.From.UnixNano(), DurationNanos: int64(out.Profiles) * int64(seconds*time.Second),
	})
	b.Tables = f.tables
	for k, n := range sums {
		if n > 0 {
			b.Add(f.stacks[k].places, 0, []int64{n, n * b.Period})
		}
	}
	var err error
	out.Profile, err = b.Profile()
	return out, err
}

// Totals implements store.Store, for what the Noticer asks: points of one step, and means.
func (f *Fleet) Totals(_ context.Context, q store.Query, step time.Duration, _ []string) ([]store.Line, error) {
	if q.Kind == recording.Process {
		if !f.Requests {
			return nil, nil
		}
		return []store.Line{{Types: processTypes, Points: []store.Point{{Time: q.From, Values: []int64{0, 1}}}}}, nil
	}
	points := map[int]*store.Point{}
	means := map[int][]store.Mean{}
	f.each(q, func(d *drawn, i int) {
		p := points[d.versions[i]]
		if p == nil {
			p = &store.Point{Time: d.at, Values: []int64{0, 0}}
			points[d.versions[i]] = p
		}
		p.Profiles += perStep
		p.Streams++
		p.Covered += perStep * seconds * time.Second
		all := means[d.versions[i]]
		if len(all) == 0 || !all[len(all)-1].Time.Equal(d.at) {
			all = append(all, store.Mean{Time: d.at, Values: []float64{0, 0}, Ran: Step, Told: Step})
		}
		m := &all[len(all)-1]
		m.Alive += Step
		for _, n := range d.counts[i] {
			p.Values[1] += int64(n) * int64(time.Second/hertz)
			m.Values[1] += float64(n) * float64(time.Second/hertz) * Step.Seconds() / (perStep * seconds)
		}
		means[d.versions[i]] = all
	})
	var out []store.Line
	for _, v := range slices.Sorted(maps.Keys(points)) {
		labels := store.NewLabels(store.Label{Name: store.ServiceLabel, Value: Service}, store.Label{Name: "version", Value: "v" + strconv.Itoa(v)})
		out = append(out, store.Line{Labels: labels, Types: types, Points: []store.Point{*points[v]}, Means: means[v]})
	}
	return out, nil
}

// Names implements store.Store.
func (f *Fleet) Names(context.Context, store.Query) ([]string, error) {
	return []string{"instance", store.ServiceLabel, "version"}, nil
}

// Values implements store.Store.
func (f *Fleet) Values(_ context.Context, q store.Query, label, _ string, limit int) ([]string, bool, error) {
	found := map[string]bool{}
	f.each(q, func(d *drawn, i int) {
		labels, row := f.labels(d, i)
		found[labels.With(row).Get(label)] = true
	})
	all := slices.Sorted(maps.Keys(found))
	return all[:min(limit, len(all))], len(all) > limit, nil
}
