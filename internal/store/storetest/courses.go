package storetest

import (
	"context"
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/hone-perf/hone/internal/profile"
	"github.com/hone-perf/hone/internal/store"
)

// A Work is a process that does the same all the time, and its profiles.
type Work struct {
	Version  string
	Instance string
	From     time.Duration // of the first profile, since the start of the day
	To       time.Duration // no profile begins from then on
	Every    time.Duration
	Took     time.Duration // how long a profile is of; 0 counts since the start of the process
	Rate     float64       // cores, or a thousandth of what is counted in a second
}

// A Course is what processes did in a time.
type Course struct {
	Name      string
	Works     []Work
	From, To  time.Duration
	Rate      float64 // of all processes, while there were any
	Processes float64
	Ran       time.Duration // 0 is from From to To
}

const second, minute = time.Second, time.Minute

// courses are processes of which it is known what they did.
var courses = []Course{
	// Of the report: cores are the sum of the rates of processes, whatever part of their time is profiled.
	{"at different rates", []Work{{"v1", "a", 0, time.Hour, 15 * second, 15 * second, 0.5}, {"v1", "b", 0, time.Hour, minute, 10 * second, 1}}, 20 * minute, 50 * minute, 1.5, 2, 0},
	{"seldom and often", []Work{{"v1", "a", 0, time.Hour, minute, 10 * second, 0.5}, {"v1", "b", 0, time.Hour, 5 * minute, 10 * second, 1}}, 20 * minute, 50 * minute, 1.5, 2, 0},
	{"seldom and often, in a minute", []Work{{"v1", "a", 0, time.Hour, minute, 10 * second, 0.5}, {"v1", "b", 0, time.Hour, 5 * minute, 10 * second, 1}}, 22*minute + 20*second, 23*minute + 20*second, 1.5, 2, 0},
	{"slower later", []Work{{"v1", "a", 0, 30 * minute, 15 * second, 15 * second, 0.5}, {"v1", "a", 30 * minute, time.Hour, minute, 10 * second, 0.5}}, 10 * minute, 50 * minute, 0.5, 1, 0},

	// Windows that are short and cut steps.
	{"two minutes", edge(), 20*minute + 15*second, 22*minute + 15*second, 1, 2, 0},
	{"a minute", edge(), 20*minute + 45*second, 21*minute + 45*second, 1, 2, 0},
	{"half a minute without a profile of one", edge(), 20*minute + 8*second, 20*minute + 38*second, 1, 2, 0},
	{"without any profile", edge(), 20*minute + 10*second, 20*minute + 20*second, 1, 2, 0},
	{"five minutes", edge(), 20*minute + 15*second, 25*minute + 15*second, 1, 2, 0},
	{"ten minutes", edge(), 20*minute + 50*second, 30*minute + 50*second, 1, 2, 0},
	{"until now, one is not due", edge(), 58*minute + 30*second, 60 * minute, 1, 2, 0},
	{"until now, one is due and did not come yet", edge(), 58*minute + 30*second, 60*minute + 12*second, 1, 2, 0},
	{"counters", []Work{{"v1", "a", 5 * second, time.Hour, 15 * second, 0, 0.5}, {"v1", "b", 10 * second, time.Hour, minute, 0, 1}}, 20*minute + 15*second, 22*minute + 15*second, 1.5, 2, 0},

	// Processes that begin or end inside.
	{"the first profiles come in turn", edge(), 0, 10 * minute, 1, 2, 10*minute - 5*second},
	{"one begins", []Work{{"v1", "a", 0, time.Hour, minute, 10 * second, 0.5}, {"v1", "b", 25 * minute, time.Hour, minute, 10 * second, 1}}, 20 * minute, 30 * minute, 1, 1.5, 0},
	{"one ends", []Work{{"v1", "a", 0, time.Hour, minute, 10 * second, 0.5}, {"v1", "b", 0, 25 * minute, minute, 10 * second, 1}}, 20 * minute, 30 * minute, 1, 1.5, 0},
	{"one ended before", []Work{{"v1", "a", 0, time.Hour, minute, 10 * second, 0.5}, {"v1", "b", 0, 19 * minute, minute, 10 * second, 1}}, 20 * minute, 30 * minute, 0.5, 1, 0},
	{"one ended just before now", []Work{{"v1", "a", 30 * second, time.Hour, minute, 10 * second, 0.5}, {"v1", "b", 0, 59 * minute, minute, 10 * second, 1}}, 59*minute + 20*second, 60 * minute, 0.5, 1, 0},
	{"alone, and only in between", []Work{{"v1", "a", 23 * minute, 27 * minute, minute, 10 * second, 0.5}}, 20 * minute, 30 * minute, 0.5, 1, 4 * minute},
	{"a pause", []Work{{"v1", "a", 0, 23 * minute, minute, 10 * second, 0.5}, {"v1", "a", 50 * minute, time.Hour, minute, 10 * second, 0.5}}, 20 * minute, 30 * minute, 0.5, 1, 3 * minute},

	// Processes that others replace.
	{"a deploy inside of a step", []Work{
		{"v1", "a", 5 * second, 23 * minute, minute, 10 * second, 0.5}, {"v1", "b", 40 * second, 23 * minute, minute, 10 * second, 0.5},
		{"v2", "c", 23*minute + 5*second, time.Hour, minute, 10 * second, 0.7}, {"v2", "d", 23*minute + 40*second, time.Hour, minute, 10 * second, 0.7},
	}, 20*minute + 22500*time.Millisecond, 26*minute + 22500*time.Millisecond, 1.2, 2, 0},
	{"replaced pods", pods(), 5*minute + 20*second, 55*minute + 20*second, 1.5, 1, 0},
	{"replaced pods that count", counted(pods()), 20 * minute, 50 * minute, 1.5, 1, 0},
	{"restarted", []Work{{"v1", "a", 0, 25 * minute, minute, 0, 1}, {"v1", "a", 25 * minute, time.Hour, minute, 0, 1}}, 27 * minute, 50 * minute, 1, 1, 0},
}

// edge returns two processes whose profiles begin 5 and 40 seconds after each minute.
func edge() []Work {
	return []Work{{"v1", "a", 5 * second, time.Hour, minute, 10 * second, 0.5}, {"v1", "b", 40 * second, time.Hour, minute, 10 * second, 0.5}}
}

// pods returns processes that run for ten minutes each.
func pods() (all []Work) {
	for i := range time.Duration(6) {
		all = append(all, Work{"v1", fmt.Sprint("pod-", i), i * 10 * minute, (i + 1) * 10 * minute, minute, 10 * second, 1.5})
	}
	return all
}

// counted returns works of which profiles count since the start of the process.
func counted(all []Work) []Work {
	for i := range all {
		all[i].Took = 0
	}
	return all
}

// upload returns the profile of a process that began at an offset.
func (w *Work) upload(t *testing.T, service string, day time.Time, at time.Duration) *store.Upload {
	t.Helper()
	u := &store.Upload{
		Service: service, Kind: "cpu", Start: day.Add(at), End: day.Add(at + w.Took),
		Labels: store.NewLabels(store.Label{Name: "version", Value: w.Version}), Row: store.NewLabels(store.Label{Name: "instance", Value: w.Instance}),
	}
	h := profile.Header{SampleTypes: []profile.ValueType{{Type: "samples", Unit: "count"}, {Type: "cpu", Unit: "nanoseconds"}}, DurationNanos: int64(w.Took)}
	values := []int64{int64(w.Rate * w.Took.Seconds() * 100), int64(w.Rate * float64(w.Took))}
	if w.Took == 0 {
		u.Kind, u.Counters = "heap", true
		h.SampleTypes = []profile.ValueType{{Type: "alloc_space", Unit: "bytes"}, {Type: "inuse_space", Unit: "bytes"}}
		values = []int64{int64(w.Rate * (at - w.From + w.Every).Seconds() * 1000), 100}
	}
	b := profile.NewBuilder(h)
	b.Functions = []profile.Function{{Name: "main.work", File: "main.go", StartLine: 1}}
	b.Locations = []profile.Location{{Mapping: profile.NoMapping, Lines: []profile.Line{{Function: 0, Line: 2}}}}
	b.Add([]uint32{0}, 0, values)
	u.Raw = written(t, b)
	return u
}

// coursesOf asks what processes of services did: in short and long steps, together, by version, and by process, which must add up to the same.
func coursesOf(t *testing.T, open func(*testing.T, func() time.Time) store.Store) {
	day := time.Date(2026, 9, 1, 0, 0, 0, 0, time.UTC)
	p := newPair(t, open, func() time.Time { return day.Add(time.Hour) })
	for _, c := range courses {
		var all []*store.Upload
		for _, w := range c.Works {
			for at := w.From; at < w.To; at += w.Every {
				all = append(all, w.upload(t, c.Name, day, at))
			}
		}
		p.add(c.Name, all...) // a tenant of its own, for Memory looks at all of one
		q := store.Query{Tenant: c.Name, Selector: store.Service(c.Name), Kind: all[0].Kind, From: day.Add(c.From), To: day.Add(c.To)}
		q.Means = true
		unit, k := 1e9, 1
		if q.Kind == "heap" {
			unit, k = 1000, 0
		}
		for _, step := range []time.Duration{minute, 5 * minute, 1000 * time.Hour} {
			var all float64
			for _, by := range [][]string{nil, {"version"}, {"instance"}} {
				lines, err := p.got.Totals(context.Background(), q, step, by)
				if err != nil {
					t.Fatal(err)
				}
				var sum, alive float64
				var ran, told time.Duration
				for _, l := range lines {
					for _, m := range l.Means {
						sum += m.Values[k] / unit
						alive += m.Alive.Seconds()
						ran += m.Ran
						told += m.Told
					}
				}
				if by != nil {
					if math.Abs(sum-all) > 1e-6*all {
						t.Errorf("%s: by %s in steps of %v, processes did %v, together %v", c.Name, by, step, sum, all)
					}
					continue
				}
				all = sum
				want := c.Ran
				if want == 0 {
					want = c.To - c.From
				}
				if ran != want || told != want {
					t.Errorf("%s: in steps of %v, processes ran for %v, and what they did is told for %v; want %v", c.Name, step, ran, told, want)
				}
				if rate, n := sum/told.Seconds(), alive/ran.Seconds(); math.Abs(rate-c.Rate) > 1e-9 || math.Abs(n-c.Processes) > 1e-9 {
					t.Errorf("%s: in steps of %v, %v processes did %v each second; want %v, and %v", c.Name, step, n, rate, c.Processes, c.Rate)
				}
			}
		}
	}
}
