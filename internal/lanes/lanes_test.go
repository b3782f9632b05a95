package lanes

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/hone-perf/hone/internal/exectrace"
	"github.com/hone-perf/hone/internal/requests"
	"github.com/hone-perf/hone/internal/testrun"
	"github.com/hone-perf/hone/internal/waits"
)

// indexOf is the index of a trace.
func indexOf(t testing.TB, b []byte) *Index {
	t.Helper()
	tr, err := exectrace.Open(bytes.NewReader(b), int64(len(b)))
	if err != nil {
		t.Fatal(err)
	}
	x, _, err := NewIndex(tr)
	if err != nil {
		t.Fatal(err)
	}
	return x
}

// read reads a file, which may be packed.
func read(t testing.TB, file string) []byte {
	t.Helper()
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	r := io.Reader(f)
	if strings.HasSuffix(file, ".gz") {
		if r, err = gzip.NewReader(f); err != nil {
			t.Fatal(err)
		}
	}
	b, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// shop is the trace of examples/shop.
func shop(t testing.TB) *Index {
	t.Helper()
	return indexOf(t, read(t, "../../testdata/trace/shop.trace"))
}

// length is how long of the window some pixels are.
func length(p *Picture, at, width int) float64 {
	from, to := p.Start+int64(at)*p.Pixel, p.Start+int64(at+width)*p.Pixel
	return float64(min(to, p.Window.To) - max(from, p.Window.From))
}

// TestPicture holds that lanes show what there was: each state of a goroutine has as much of its lane as it has of the time, as far as pixels
// with many things in them allow that, and runs do not lie over each other.
func TestPicture(t *testing.T) {
	x := shop(t)
	windows := []waits.Window{{To: x.End}, {From: 30e6, To: 50e6}, {From: 40e6, To: 41e6}}
	for at := int64(5e6); at < x.End; at += 5e6 {
		windows = append(windows, waits.Window{From: at, To: at + 10e3}) // in which many a lane does not change
	}
	for _, w := range windows {
		const pixels = 1000
		p, err := x.Draw(Ask{Window: w, Pixels: pixels, Goroutines: 2000})
		if err != nil {
			t.Fatal(err)
		}
		pixel := float64(p.Pixel)
		want := map[int64]*[States]int64{}
		of := map[string]*[States]float64{} // by kind, from when on that is known
		ran := int64(0)
		there := map[int64]bool{} // goroutines of the program
		walk := &waits.Walk{Window: w, Index: x.Index}
		err = x.Read(func(tr *exectrace.Trace, names *waits.Names) error {
			walk.Span = func(s *waits.Span) {
				// What is known of its kind may be known from another time.
				kind := x.kinds[x.at(x.numberOf(s.Goroutine.ID)).kind]
				if kind != "" {
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
				if kind != "" {
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
					got[part.State] += length(p, r.At, r.Width) * float64(part.Share) / whole
				}
			}
			for s := range States {
				// A sixteenth of each pixel that is not of one thing, and what was there too shortly for that.
				if d := got[s] - float64(want[l.ID][s]); d > pixel*float64(mixed+1)/8+1 || -d > pixel*float64(mixed+1)/8+1 {
					t.Errorf("%v: goroutine %d has %.0f ns %v, want %d", w, l.ID, got[s], s, want[l.ID][s])
				}
			}
		}
		// Ps run what goroutines run, and are busy as long as the summary says, though they may have begun that before the window.
		sum := func(list []Lane, what func(State) bool) (total, wrong float64) {
			for _, l := range list {
				for _, r := range l.Runs {
					for _, part := range p.Mixes[r.Mix] {
						if what(part.State) {
							total += length(p, r.At, r.Width) * float64(part.Share) / whole
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
			{"Ps run", p.Procs, func(s State) bool { return s == running || s == collecting }, ran},
			{"Ps are busy", p.Procs, func(s State) bool { return s != Nothing }, s.Busy},
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
			for i, levels := range k.Levels {
				for state, v := range levels {
					got[state] += v * length(p, i<<stretch, 1<<stretch)
				}
			}
			for _, l := range p.Goroutines {
				if l.Name == k.Kind {
					busy += l.Busy
				}
			}
			most := 0
			for n := range x.count {
				begun, together := x.at(n), 0
				for m := range x.count {
					r := x.at(m)
					if x.kinds[r.kind] == k.Kind && x.kinds[begun.kind] == k.Kind && r.from <= begun.from && begun.from < r.last && max(r.from, begun.from) < w.To && r.last > w.From && begun.last > w.From {
						together++
					}
				}
				most = max(most, together)
			}
			if k.Most != most || most < 1 || most > k.Count {
				t.Errorf("%v: at most %d of %s at a time, want %d of %d", w, k.Most, k.Kind, most, k.Count)
			}
			if k.Busy != busy {
				t.Errorf("%v: %s is busy for %d, its goroutines for %d", w, k.Kind, k.Busy, busy)
			}
			for state := range States {
				if d := k.Means[state]*float64(p.Window.To-p.Window.From) - got[state]; d > got[state]/1e6 || -d > got[state]/1e6 {
					t.Errorf("%v: %s has a mean of %g goroutines %v, and they are so for %.0f ns", w, k.Kind, k.Means[state], state, got[state])
				}
				if d, wrong := got[state]-of[k.Kind][state], of[k.Kind][state]/1e6; d > wrong || -d > wrong {
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
		for _, r := range x.Requests {
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

// same tells how two pictures of a window differ, if they do. Of a picture that is drawn from sums it is not known who woke whom.
func same(t *testing.T, what string, got, want *Picture, sums bool) {
	t.Helper()
	if sums {
		a, b := *got, *want
		a.Wakes, b.Wakes = nil, nil
		got, want = &a, &b
	}
	if reflect.DeepEqual(got, want) {
		return
	}
	g, w := reflect.ValueOf(got).Elem(), reflect.ValueOf(want).Elem()
	for i := range g.NumField() {
		if a, b := g.Field(i).Interface(), w.Field(i).Interface(); !reflect.DeepEqual(a, b) {
			t.Errorf("%v, %s: %s is %.2000v, want %.2000v", got.Window, what, g.Type().Field(i).Name, fmt.Sprint(a), fmt.Sprint(b))
		}
	}
}

// TestLog holds that a picture which is drawn from the log is that which is drawn from what happened, of any window.
func TestLog(t *testing.T) {
	traces := map[string][]byte{"shop": read(t, "../../testdata/trace/shop.trace")}
	files, err := filepath.Glob("../exectrace/testdata/*.trace.gz")
	if err != nil || len(files) == 0 {
		t.Fatal("there are no traces of other versions of Go: ", err)
	}
	for _, f := range files {
		traces[filepath.Base(f)] = read(t, f)
	}
	defer func(n int) { perTime = n }(perTime)
	for name, b := range traces {
		for _, perTime = range []int{1, 8, 256} {
			x := indexOf(t, b)
			random := rand.New(rand.NewPCG(1, 2))
			levels := map[uint]int{}
			for i := range testrun.Size(60, 18) {
				length := int64(math.Exp(random.Float64() * math.Log(float64(x.End-x.Begin))))
				from := x.Begin + random.Int64N(x.End-x.Begin-length+1)
				w := waits.Window{From: from, To: from + max(length, 1)}
				switch i {
				case 0:
					w = waits.Window{From: x.Begin, To: x.End}
				case 1:
					w = waits.Window{From: x.End - 1, To: x.End}
				}
				ask := Ask{Window: w, Pixels: []int{10, 300, 1600}[i%3], Goroutines: []int{5, 24, 2000}[i/3%3]}
				got, err := x.Draw(ask)
				if err != nil {
					t.Fatal(err)
				}
				level := x.log.levelFor(newDrawing(x, ask).shift)
				if level != nil {
					levels[level.shift]++
				} else {
					levels[0]++
				}
				log := x.log
				x.log = nil
				want, err := x.Draw(ask)
				x.log = log
				if err != nil {
					t.Fatal(err)
				}
				same(t, fmt.Sprintf("%s, with sums of %d", name, perTime), got, want, level != nil)
				if t.Failed() {
					return
				}
			}
			if perTime == 1 && len(levels) < 2 {
				t.Errorf("%s: no picture is made of sums: %v", name, levels)
			}
		}
	}
}

// TestReadTwice holds that a picture is the same where there are too many spans to keep.
func TestReadTwice(t *testing.T) {
	x := shop(t)
	x.log = nil
	defer func(spans, early int) { maxSpans, mostEarly = spans, early }(maxSpans, mostEarly)
	for _, w := range []waits.Window{{To: x.End}, {From: 30e6, To: 31e6}} {
		var pictures []*Picture
		for i := range 5 {
			maxSpans, mostEarly = []int{1 << 19, 1000, 1}[i%3], []int{1 << 8, 0}[i/3]
			p, err := x.Draw(Ask{Window: w, Pixels: 300, Goroutines: 40})
			if err != nil {
				t.Fatal(err)
			}
			pictures = append(pictures, p)
		}
		for _, p := range pictures[1:] {
			same(t, "read twice", p, pictures[0], false)
		}
	}
}

// TestTooLarge holds that a picture of a trace whose log would be too large is the same without it.
func TestTooLarge(t *testing.T) {
	defer func(log, rows int) { mostLog, mostRows = log, rows }(mostLog, mostRows)
	ask := Ask{Window: waits.Window{From: 30e6, To: 50e6}, Pixels: 1600, Goroutines: 24}
	want, err := shop(t).Draw(ask)
	if err != nil {
		t.Fatal(err)
	}
	for _, most := range [][2]int{{1, 1 << 20}, {1 << 20, 1}} {
		mostLog, mostRows = most[0], most[1]
		x := shop(t)
		if x.log != nil {
			t.Errorf("of %d bytes and %d goroutines at most, there is a log of %d bytes", mostLog, mostRows, x.log.size())
		}
		got, err := x.Draw(ask)
		if err != nil {
			t.Fatal(err)
		}
		same(t, "without a log", got, want, false)
	}
}

// TestFilters holds that filters choose goroutines by the functions on their stacks, and leave the kinds alone.
func TestFilters(t *testing.T) {
	x := shop(t)
	ask := Ask{Window: waits.Window{To: x.End}, Pixels: 100, Goroutines: 2000}
	all, err := x.Draw(ask)
	if err != nil {
		t.Fatal(err)
	}
	price := func(f string) bool { return f == "main.(*shop).price" }
	ask.Filters = []Filter{{Matches: price}}
	some, err := x.Draw(ask)
	if err != nil {
		t.Fatal(err)
	}
	ask.Filters = []Filter{{Matches: price, Drop: true}}
	others, err := x.Draw(ask)
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
	x := shop(b)
	for b.Loop() {
		if _, err := x.Draw(Ask{Window: waits.Window{To: x.End}, Pixels: 1200, Goroutines: 24}); err != nil {
			b.Fatal(err)
		}
	}
}
