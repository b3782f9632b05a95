package lanes

import (
	"bytes"
	"os"
	"reflect"
	"testing"

	"github.com/hone-perf/hone/internal/exectrace"
	"github.com/hone-perf/hone/internal/requests"
	"github.com/hone-perf/hone/internal/waits"
)

// shop is the trace of examples/shop.
func shop(t testing.TB) (*waits.Index, []requests.Request) {
	t.Helper()
	b, err := os.ReadFile("../../testdata/trace/shop.trace")
	if err != nil {
		t.Fatal(err)
	}
	open := func() *exectrace.Trace {
		tr, err := exectrace.Open(bytes.NewReader(b), int64(len(b)))
		if err != nil {
			t.Fatal(err)
		}
		return tr
	}
	x, err := waits.NewIndex(open(), nil)
	if err != nil {
		t.Fatal(err)
	}
	found, err := requests.Find(open())
	if err != nil {
		t.Fatal(err)
	}
	return x, found.Requests
}

// TestPicture holds that lanes show what there was: each state of a goroutine has as much of its lane as it has of the time, as far as pixels
// with many things in them allow that, and runs do not lie over each other.
func TestPicture(t *testing.T) {
	x, found := shop(t)
	windows := []waits.Window{{To: x.End}, {From: 30e6, To: 50e6}, {From: 40e6, To: 41e6}}
	for at := int64(5e6); at < x.End; at += 5e6 {
		windows = append(windows, waits.Window{From: at, To: at + 10e3}) // in which many a lane does not change
	}
	for _, w := range windows {
		const pixels = 1000
		p, err := Draw(x, found, Ask{Window: w, Pixels: pixels, Goroutines: 2000})
		if err != nil {
			t.Fatal(err)
		}
		pixel := float64(w.To-w.From) / pixels
		want := map[int64]*[States]int64{}
		of := map[string]*[States]float64{} // by kind, from when on that is known
		ran := int64(0)
		there := map[int64]bool{} // goroutines of the program
		walk := &waits.Walk{Window: w, Index: x}
		err = x.Read(func(tr *exectrace.Trace, names *waits.Names) error {
			walk.Span = func(s *waits.Span) {
				if !waits.IsRuntime(names.Kind(s.Goroutine, s.Stack)) {
					there[s.Goroutine.ID] = true
				}
				if s.State == exectrace.Running {
					ran += s.Length()
				}
				v := want[s.Goroutine.ID]
				if v == nil {
					v = new([States]int64)
					want[s.Goroutine.ID] = v
				}
				state := State(requests.WhatOf(names, s)) + 1
				if s.State == exectrace.Waiting && names.Idle(s) {
					state = Idle
				}
				v[state] += s.Length()
				if kind := names.Kind(s.Goroutine, s.Stack); !waits.IsRuntime(kind) {
					if of[kind] == nil {
						of[kind] = new([States]float64)
					}
					of[kind][state] += float64(s.Length())
				}
			}
			return walk.Run(tr)
		})
		if err != nil {
			t.Fatal(err)
		}
		if len(p.Goroutines) != len(there) || p.Of != len(there) {
			t.Errorf("%v: %d of %d goroutines are drawn, want %d", w, len(p.Goroutines), p.Of, len(there))
		}
		for _, l := range p.Goroutines {
			var got [States]float64
			mixed := 0
			check(t, p, l)
			for _, r := range l.Runs {
				if len(p.Mixes[r.Mix]) > 1 || p.Mixes[r.Mix][0].Share != whole {
					mixed += r.Width
				}
				for _, part := range p.Mixes[r.Mix] {
					got[part.State] += float64(r.Width) * pixel * float64(part.Share) / whole
				}
			}
			for s := range States {
				// A sixteenth of each pixel that is not of one thing, and what was there too shortly for that.
				if d := got[s] - float64(want[l.ID][s]); d > pixel*float64(mixed+1)/8+1 || -d > pixel*float64(mixed+1)/8+1 {
					t.Errorf("%v: goroutine %d has %.0f ns %v, want %d", w, l.ID, got[s], s, want[l.ID][s])
				}
			}
		}
		// Processors run what goroutines run, and are busy as long as the summary says, though they may have begun that before the window.
		sum := func(list []Lane, what func(State) bool) (total, wrong float64) {
			for _, l := range list {
				for _, r := range l.Runs {
					for _, part := range p.Mixes[r.Mix] {
						if what(part.State) {
							total += float64(r.Width) * pixel * float64(part.Share) / whole
						}
					}
					if len(p.Mixes[r.Mix]) > 1 || p.Mixes[r.Mix][0].Share != whole {
						wrong += float64(r.Width) * pixel / 8
					}
				}
			}
			return total, wrong + pixel*float64(len(list))
		}
		var s *waits.Summary
		if err := x.Read(func(tr *exectrace.Trace, _ *waits.Names) (err error) {
			s, err = waits.Summarize(tr, w, nil)
			return err
		}); err != nil {
			t.Fatal(err)
		}
		for _, c := range []struct {
			what  string
			lanes []Lane
			of    func(State) bool
			want  int64
		}{
			{"processors run", p.Procs, func(s State) bool { return s == running || s == collecting }, ran},
			{"processors are busy", p.Procs, func(s State) bool { return s != Nothing }, s.Busy},
			{"the collector marks", p.Collector[:1], func(s State) bool { return s != Nothing }, s.Marking},
		} {
			if got, wrong := sum(c.lanes, c.of); got-float64(c.want) > wrong || float64(c.want)-got > wrong {
				t.Errorf("%v: %s for %.0f ns, want %d", w, c.what, got, c.want)
			}
		}
		for _, l := range append(append(p.Procs, p.Collector...), p.Requests...) {
			check(t, p, l)
		}
		for _, k := range p.Kinds {
			var got [States]float64
			busy := int64(0)
			for _, levels := range k.Levels {
				for state, v := range levels {
					got[state] += v * float64(w.To-w.From) / stretches
				}
			}
			for _, l := range p.Goroutines {
				if l.Name == k.Kind {
					busy += l.Busy
				}
			}
			if k.Busy != busy {
				t.Errorf("%v: %s is busy for %d, its goroutines for %d", w, k.Kind, k.Busy, busy)
			}
			for state := range States {
				if d, wrong := got[state]-of[k.Kind][state], of[k.Kind][state]/100+float64(k.Count*stretches); d > wrong || -d > wrong {
					t.Errorf("%v: %s has %.0f ns %v, its goroutines %.0f", w, k.Kind, got[state], state, of[k.Kind][state])
				}
			}
		}
		drawn := map[int]bool{}
		for _, l := range p.Requests {
			for _, r := range l.Runs {
				drawn[r.ID] = true
			}
		}
		in := 0
		for _, r := range found {
			if r.To >= w.From && r.From < w.To {
				in++
			}
		}
		if len(drawn)+p.Small != in {
			t.Errorf("%v: %d requests are drawn and %d are not, of %d", w, len(drawn), p.Small, in)
		}
	}
}

func check(t *testing.T, p *Picture, l Lane) {
	t.Helper()
	end := 0
	for _, r := range l.Runs {
		sum := 0
		for _, part := range p.Mixes[r.Mix] {
			sum += int(part.Share)
		}
		if r.At < end || r.Width < 1 || r.At+r.Width > p.Pixels || sum < 1 || sum > whole {
			t.Fatalf("lane %s %d: %+v of %v after %d", l.Name, l.ID, r, p.Mixes[r.Mix], end)
		}
		end = r.At + r.Width
	}
}

// TestReadTwice holds that a picture is the same where there are too many spans to keep.
func TestReadTwice(t *testing.T) {
	x, found := shop(t)
	for _, w := range []waits.Window{{To: x.End}, {From: 30e6, To: 31e6}} {
		var pictures []*Picture
		was := maxSpans
		for _, maxSpans = range []int{was, 1000, 1} {
			p, err := Draw(x, found, Ask{Window: w, Pixels: 300, Goroutines: 40})
			if err != nil {
				t.Fatal(err)
			}
			pictures = append(pictures, p)
		}
		maxSpans = was
		for _, p := range pictures[1:] {
			if !reflect.DeepEqual(p, pictures[0]) {
				t.Errorf("%v: read twice, the picture is %+v, and not %+v", w, p, pictures[0])
			}
		}
	}
}

// TestFilters holds that filters choose goroutines by the functions on their stacks, and leave the kinds alone.
func TestFilters(t *testing.T) {
	x, found := shop(t)
	ask := Ask{Window: waits.Window{To: x.End}, Pixels: 100, Goroutines: 2000}
	all, err := Draw(x, found, ask)
	if err != nil {
		t.Fatal(err)
	}
	price := func(f string) bool { return f == "main.(*shop).price" }
	ask.Filters = []Filter{{Matches: price}}
	some, err := Draw(x, found, ask)
	if err != nil {
		t.Fatal(err)
	}
	ask.Filters = []Filter{{Matches: price, Drop: true}}
	others, err := Draw(x, found, ask)
	if err != nil {
		t.Fatal(err)
	}
	if some.Of == 0 || some.Of+others.Of != all.Of || len(some.Kinds) != len(all.Kinds) {
		t.Errorf("%d goroutines have it, %d have not, of %d", some.Of, others.Of, all.Of)
	}
	for _, l := range some.Goroutines {
		if l.Name != "net/http.(*conn).serve" {
			t.Errorf("goroutine %d is %s", l.ID, l.Name)
		}
	}
}

func BenchmarkDraw(b *testing.B) {
	x, found := shop(b)
	for b.Loop() {
		if _, err := Draw(x, found, Ask{Window: waits.Window{To: x.End}, Pixels: 1200, Goroutines: 24}); err != nil {
			b.Fatal(err)
		}
	}
}
