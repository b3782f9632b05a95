package store

import (
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hone-perf/hone/internal/profile"
)

func TestSelector(t *testing.T) {
	for text, want := range map[string]string{
		`api`:                                  `api`,
		` api { } `:                            `api`,
		`api{version="v2"}`:                    `api{version="v2"}`,
		`{service_name="api",pod=~"a.*"}`:      `api{pod=~"a.*"}`,
		`{service_name="a b", x!="\"y\"",z!~"`: ``,
		`{a="1", b=~"x|y", c!="",}`:            `{a="1", b=~"x|y", c!=""}`,
		"{a=`raw`}":                            `{a="raw"}`,
		`a b{}`:                                ``,
		`api{version=v2, a!=x.y:1}`:            `api{version="v2", a!="x.y:1"}`,
		`api{version="v2"} x`:                  ``,
		`api{=""}`:                             ``,
		`api{a=~"("}`:                          ``,
		``:                                     `{}`,
	} {
		s, err := ParseSelector(text)
		if want == "" {
			if err == nil {
				t.Errorf("%s: %s, want an error", text, s)
			}
			continue
		}
		if err != nil || s.String() != want {
			t.Errorf("%s: %s, %v, want %s", text, s, err, want)
		}
	}
	s, err := ParseSelector(`api{pod=~"a.*", zone!="x"}`)
	if err != nil {
		t.Fatal(err)
	}
	labels, row := NewLabels(Label{"zone", "y"}), NewLabels(Label{"pod", "abc"})
	if !s.Match("api", labels, row) || s.Match("web", labels, row) || s.Match("api", labels, NewLabels(Label{"pod", "bab"})) {
		t.Error("the wrong ones match")
	}
}

func FuzzSelector(f *testing.F) {
	for _, s := range []string{`api`, `api{version="v2", pod=~"a.*"}`, `{service_name="a b", x!~"\"y\""}`, "{a=`raw`}"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		s, err := ParseSelector(text)
		if err != nil {
			return
		}
		again, err := ParseSelector(s.String())
		if err != nil || again.String() != s.String() {
			t.Errorf("%q was written as %q, and read as %q, %v", text, s, again, err)
		}
	})
}

func TestRef(t *testing.T) {
	now := time.Date(2026, 9, 2, 12, 0, 0, 0, time.UTC)
	for text, want := range map[string]string{
		`api`:                   `api@2026-09-02T11:00:00Z..2026-09-02T12:00:00Z`,
		`api@-2h`:               `api@2026-09-02T10:00:00Z..2026-09-02T12:00:00Z`,
		`api@-1d..-30m`:         `api@2026-09-01T12:00:00Z..2026-09-02T11:30:00Z`,
		`api{v="a@b"}@-1w..now`: `api{v="a@b"}@2026-08-26T12:00:00Z..2026-09-02T12:00:00Z`,
		`api{v="a@-1h"}`:        `api{v="a@-1h"}@2026-09-02T11:00:00Z..2026-09-02T12:00:00Z`,
		`api@2026-09-01..`:      `api@2026-09-01T00:00:00Z..2026-09-02T12:00:00Z`,
		`api@2026-09-01T10:30`:  `api@2026-09-01T10:30:00Z..2026-09-02T12:00:00Z`,
		`api@1788300000..-1h`:   `api@2026-09-01T22:00:00Z..2026-09-02T11:00:00Z`,
		`api@yesterday`:         `api@2026-09-01T00:00:00Z..2026-09-02T12:00:00Z`,
		`api@yesterday..today`:  `api@2026-09-01T00:00:00Z..2026-09-02T00:00:00Z`,
		`api@lately`:            `! not a time`,
		`api@now..-1h`:          `! ends before`,
		`api@-1h..-2h`:          `! did you mean -2h..-1h`,
		`api@-1h..-1h`:          `! is empty`,
		`api@..-1h`:             `! the time from 2026-09-02 11:00:00 UTC to -1h is empty: a time without a start begins an hour before now`,
		`api@now`:               `! the time from now to now is empty; times look like -1h`,
		`api@now..now`:          `! the time from now to now is empty; times look like -1h`,
		`api@2027-01-01`:        `! 2027-01-01 00:00:00 UTC is not before now, which is 2026-09-02 12:00:00 UTC`,
		`@-1h`:                  `! names no service`,
		`api{a="}@-1h`:          `! not in double quotes`,
		`api{a=~b}`:             `! single quotes`,
		`api{a=~"("}`:           `! the pattern ( of a: missing closing )`,

		`api@2026-09-01 14:00..2026-09-01 15:00`:             `api@2026-09-01T14:00:00Z..2026-09-01T15:00:00Z`,
		`api@2026-09-01 14:00..15:30`:                        `api@2026-09-01T14:00:00Z..2026-09-01T15:30:00Z`,
		`api@11:00`:                                          `api@2026-09-02T11:00:00Z..2026-09-02T12:00:00Z`,
		`api@23:50..00:10`:                                   `api@2026-09-01T23:50:00Z..2026-09-02T00:10:00Z`,
		`api@2026-09-01T14:00+02:00..2026-09-01T14:00Z`:      `api@2026-09-01T12:00:00Z..2026-09-01T14:00:00Z`,
		`api@2026-09-01 14:00 UTC`:                           `api@2026-09-01T14:00:00Z..2026-09-02T12:00:00Z`,
		`api@1788300000000`:                                  `api@2026-09-01T22:00:00Z..2026-09-02T12:00:00Z`,
		`api{profile_id="0123456789abcdef0123456789abcdef"}`: `api{profile_id="0123456789abcdef0123456789abcdef"}@2016-09-04T12:00:00Z..2026-09-02T12:10:00Z`,
		`api@2026-09-02T11:00:00Z..2026-09-02T12:00:00Z`:     `api@2026-09-02T11:00:00Z..2026-09-02T12:00:00Z`,
	} {
		r, err := ParseRef(text, now)
		got := r.String()
		if err != nil {
			got = "! " + err.Error()
		}
		if part, isErr := strings.CutPrefix(want, "! "); isErr && !strings.Contains(got, part) || !isErr && got != want {
			t.Errorf("%s: %s, want %s", text, got, want)
		}
	}
}

// Days and times of day are those of who writes them, unless these say otherwise.
func TestRefZone(t *testing.T) {
	berlin := time.FixedZone("CET", 3600)
	now := time.Date(2026, 9, 2, 0, 30, 0, 0, berlin)
	for text, want := range map[string]string{
		`api@2026-09-01`:           `api@2026-08-31T23:00:00Z..2026-09-01T23:30:00Z`,
		`api@2026-09-01 14:00`:     `api@2026-09-01T13:00:00Z..2026-09-01T23:30:00Z`,
		`api@2026-09-01 14:00 UTC`: `api@2026-09-01T14:00:00Z..2026-09-01T23:30:00Z`,
		`api@2026-09-01T14:00Z`:    `api@2026-09-01T14:00:00Z..2026-09-01T23:30:00Z`,
		`api@today`:                `api@2026-09-01T23:00:00Z..2026-09-01T23:30:00Z`,
		`api@00:10..00:20`:         `api@2026-09-01T23:10:00Z..2026-09-01T23:20:00Z`,
	} {
		if r, err := ParseRef(text, now); err != nil || r.String() != want {
			t.Errorf("%s: %s, %v, want %s", text, r, err, want)
		}
	}
}

// What is stored just now belongs to the last hour.
func TestRefNow(t *testing.T) {
	now := time.Date(2026, 9, 2, 12, 0, 0, 5e8, time.UTC)
	r, err := ParseRef("api", now)
	if got := r.String(); err != nil || got != "api@2026-09-02T11:00:00Z..2026-09-02T12:00:01Z" {
		t.Errorf("%s, %v", got, err)
	}
}

func TestWeigh(t *testing.T) {
	every := func(from, n, step int) (out []Sample) {
		for i := range n {
			out = append(out, Sample{At: int64(from + i*step), Rounds: 1, Profiles: 1})
		}
		return out
	}
	join := func(all ...[]Sample) (out []Sample) { return slices.Concat(all...) }
	sum := func(from, each, rounds, processes int) []Sample {
		return []Sample{{At: int64(from), Hold: int64(each), Rounds: rounds, Profiles: rounds * processes}}
	}
	for name, c := range map[string]struct {
		streams [][]Sample
		units   int       // 0 if the weights differ
		shares  []float64 // what each stream counts for, of one process all of the time
	}{
		"nothing":              {nil, 1, nil},
		"one process":          {[][]Sample{every(0, 60, 100)}, 60, []float64{1}},
		"at the same time":     {[][]Sample{every(0, 60, 100), every(3, 60, 100), every(7, 60, 100)}, 60, []float64{1, 1, 1}},
		"taking turns":         {[][]Sample{every(0, 2, 100), every(25, 2, 100), every(50, 2, 100), every(75, 2, 100)}, 2, []float64{1, 1, 1, 1}},
		"replaced, with turns": {[][]Sample{every(0, 4, 100), every(75, 2, 100), every(290, 2, 100)}, 4, []float64{1, 0.5, 0.5}},
		"one after the other":  {[][]Sample{every(0, 30, 100), every(3000, 30, 100)}, 60, []float64{0.5, 0.5}},
		"once each":            {[][]Sample{{{At: 1, Rounds: 1, Profiles: 1}}, {{At: 2, Rounds: 1, Profiles: 1}}}, 1, []float64{1, 1}},
		"with a pause":         {[][]Sample{join(every(0, 10, 100), every(100000, 10, 100)), every(5, 10, 100)}, 20, []float64{1, 0.5}},
		"one more often":       {[][]Sample{every(0, 360, 100), every(300, 60, 600)}, 0, []float64{1, 1}},
		"with one profile":     {[][]Sample{every(0, 60, 100), every(3000, 1, 100)}, 60, []float64{1, 1. / 60}},
		"sums side by side":    {[][]Sample{sum(0, 100, 36, 2), sum(20, 100, 36, 3)}, 36, []float64{1, 1}},
		"sums and profiles":    {[][]Sample{sum(0, 100, 36, 2), every(3600, 36, 100)}, 72, []float64{0.5, 0.5}},
		"sums sampled apart":   {[][]Sample{sum(0, 100, 36, 1), sum(0, 600, 6, 1)}, 0, []float64{1, 1}},
	} {
		Hold(c.streams)
		w := Weigh(c.streams, 0)
		if (w.Of == nil) != (c.units > 0) || c.units > 0 && w.Units != c.units {
			t.Errorf("%s: %d units, want %d; weights %v", name, w.Units, c.units, w.Of)
		}
		processes := 0.0
		for i, s := range c.streams {
			got := 0.0
			for j := range s {
				got += float64(w.Weight(i, j)) * float64(s[j].Rounds) / float64(w.Units)
				processes += float64(w.Weight(i, j)) * float64(s[j].Profiles) / float64(w.Units)
			}
			if math.Abs(got-c.shares[i]) > 0.001 {
				t.Errorf("%s: stream %d counts for %.4f, want %.4f", name, i, got, c.shares[i])
			}
		}
		if math.Abs(processes-w.Processes) > 1e-9 {
			t.Errorf("%s: %v processes, want %v", name, w.Processes, processes)
		}
	}
	// A process is sampled every 10 s for half of the time, then every five minutes.
	slower := [][]Sample{join(every(0, 180, 10), every(1800, 6, 300))}
	Hold(slower)
	w := Weigh(slower, 0)
	mean := 0.0
	for j := range slower[0] {
		mean += float64(w.Weight(0, j)) * map[bool]float64{true: 100, false: 500}[j < 180] / float64(w.Units)
	}
	if math.Abs(mean-300) > 0.5 || w.Covered != 3600 {
		t.Errorf("the mean of 100 and 500 is %v, in %d seconds", mean, w.Covered)
	}
	// In a step of a minute, a process that is sampled every five minutes stands for no more than the step.
	step := [][]Sample{every(0, 6, 10), {{At: 20, Hold: 300, Rounds: 1, Profiles: 1}}}
	Hold(step)
	if w := Weigh(step, 60); math.Abs(w.Processes-2) > 0.001 {
		t.Errorf("%v processes in a step, want 2", w.Processes)
	}
}

// A label of a sender that has the name by which selectors know single profiles gets another name, under which it can be selected.
func TestExportedLabel(t *testing.T) {
	id := Label{ProfileLabel, "batch-7"}
	now := time.Date(2026, 9, 1, 10, 0, 0, 0, time.UTC)
	u := &Upload{Service: "api", Kind: "cpu", Labels: NewLabels(id, Label{"version", "v1"}), Row: NewLabels(id), Parsed: &profile.Profile{}, Start: now, End: now}
	if err := u.Take("t", DefaultLimits, now); err != nil {
		t.Fatal(err)
	}
	if got, want := u.Labels.String()+u.Row.String(), `{exported_profile_id="batch-7",version="v1"}{exported_profile_id="batch-7"}`; got != want {
		t.Errorf("the labels are %s, want %s", got, want)
	}
	first := u.ID
	if err := u.Take("t", DefaultLimits, now); err != nil || u.ID != first {
		t.Errorf("taken again, its ID is %v, want %v; %v", u.ID, first, err)
	}
}

// A profile whose values cannot be added up is refused, in place of a sum that wraps around.
func TestHugeValues(t *testing.T) {
	const most = math.MaxInt64
	for _, tt := range []struct {
		values []int64
		ok     bool
	}{
		{[]int64{most}, true},
		{[]int64{most - 1, 1}, true},
		{[]int64{most, 1}, false},
		{[]int64{most / 2, most / 2, 2}, false},
		{[]int64{-most, most}, false}, // a filter may leave one of them
		{[]int64{math.MinInt64}, true},
		{[]int64{most, most, most}, false},
	} {
		b := profile.NewBuilder(profile.Header{SampleTypes: []profile.ValueType{{Type: "cpu", Unit: "nanoseconds"}}})
		for _, v := range tt.values {
			b.Add(nil, 0, []int64{v})
		}
		p, err := b.Profile()
		if err != nil {
			t.Fatal(err)
		}
		u := &Upload{Service: "api", Kind: "cpu", Parsed: p}
		err = u.Take("t", DefaultLimits, time.Unix(1e9, 0))
		if (err == nil) != tt.ok {
			t.Errorf("values %v: %v", tt.values, err)
		}
		if err != nil && err.Error() != "the sum of all values of a type of the profile is more than 9223372036854775807" {
			t.Errorf("values %v: %v", tt.values, err)
		}
	}
}
