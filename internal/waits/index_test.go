package waits

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"runtime/trace"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/hone-perf/hone/internal/exectrace"
)

// ofSeconds is a trace that has several parts, which all tests share.
func ofSeconds(t *testing.T) []byte {
	t.Helper()
	if testing.Short() {
		t.Skip("records a trace for three seconds")
	}
	b, err := secondsTrace()
	if err != nil {
		t.Skip("somebody else records a trace: ", err)
	}
	return b
}

// secondsTrace has goroutines that wait over the borders of parts, work, and end.
var secondsTrace = sync.OnceValues(func() ([]byte, error) {
	var b bytes.Buffer
	if err := trace.Start(&b); err != nil {
		return nil, err
	}
	var wg sync.WaitGroup
	var mu sync.Mutex
	stop := make(chan bool)
	jobs := make(chan int)
	for range 3 {
		wg.Go(func() {
			for n := range jobs {
				mu.Lock()
				time.Sleep(time.Duration(n) * time.Millisecond)
				mu.Unlock()
			}
		})
	}
	wg.Go(func() { <-stop })
	wg.Go(func() { time.Sleep(2500 * time.Millisecond) })
	for begin := time.Now(); time.Since(begin) < 3200*time.Millisecond; {
		jobs <- 7
	}
	close(jobs)
	close(stop)
	wg.Wait()
	trace.Stop()
	return b.Bytes(), nil
})

// TestIndex holds that a part of a trace is the same, whether all that came before is read or not.
func TestIndex(t *testing.T) {
	all := recorded(t)
	if !testing.Short() {
		all["seconds"] = ofSeconds(t)
	}
	for name, b := range all {
		t.Run(name, func(t *testing.T) {
			tr := open(t, b)
			x, err := NewIndex(tr, nil)
			if err != nil {
				t.Fatal(err)
			}
			if name == "seconds" && tr.Parts() < 3 {
				t.Fatalf("a trace of three seconds has %d parts", tr.Parts())
			}
			for i := range 20 {
				w := Window{From: x.End * int64(i) / 20, To: x.End * int64(i+2) / 20}
				spans := func(index *Index, quiet bool) (out []string) {
					walk := &Walk{Window: w, Index: index}
					var now standing // at the begin of the window, then of each event
					begun := false
					state := func() {
						for i := range now.procs {
							out = append(out, fmt.Sprint("P ", i, now.procs[i].Kind, now.within[i].To, now.within[i].Goroutine))
						}
						out = append(out, fmt.Sprint("goes on: ", slices.Sorted(maps.Keys(now.ranges)), now.most.Value))
					}
					walk.Before = func(e *exectrace.Event) {
						if (e.Kind == exectrace.ProcStart || e.Kind == exectrace.ProcStop) && int(e.Proc) < len(now.procs) && now.procs[e.Proc].Kind == e.Kind {
							return // stated anew
						}
						now.take(e)
					}
					walk.Event = func(e *exectrace.Event) {
						if !begun && e.Time > w.From {
							begun = true
							state()
						}
						if !begun {
							walk.Before(e)
						}
					}
					walk.Span = func(s *Span) {
						g := s.Goroutine
						out = append(out, fmt.Sprint(g.ID, g.Start, g.Created, g.Creator, g.Worker, s.State, s.From, s.To, s.Since, s.Stack, s.Reason, s.By, s.ByStack, s.Begun, s.Open))
					}
					quietly := 0
					if quiet {
						walk.Quiet = func(s *Span) {
							quietly++
							walk.Span(s)
						}
					}
					if err := walk.Run(tr); err != nil {
						t.Fatal(err)
					}
					if quiet && quietly == 0 {
						t.Errorf("%v: nobody is quiet", w)
					}
					if walk.Begin != w.From || walk.End > w.To {
						t.Errorf("%v: from %d to %d was seen", w, walk.Begin, walk.End)
					}
					slices.Sort(out) // with an index, what is open at the end may come in another order
					return out
				}
				want, got := spans(nil, false), spans(x, false)
				if slices.Equal(got, want) {
					got = spans(x, true)
				}
				if !slices.Equal(got, want) {
					for _, s := range got {
						if !slices.Contains(want, s) {
							t.Errorf("%v: %s is there only with an index", w, s)
						}
					}
					for _, s := range want {
						if !slices.Contains(got, s) {
							t.Errorf("%v: %s is not there with an index", w, s)
						}
					}
				}
			}
			// It does not begin at the begin.
			if _, begin, _ := tr.EventsFrom(x.End); name == "seconds" && begin < x.End/2 {
				t.Errorf("what comes last is read from %d of %d on", begin, x.End)
			}
		})
	}
}

// TestSeekEvents holds that the events from a border on are those that follow it in the whole trace, but for what is stated first.
func TestSeekEvents(t *testing.T) {
	tr := open(t, ofSeconds(t))
	read := func(from int64) (out []string) {
		_, begin, events := tr.EventsFrom(from)
		if from > 0 && begin == 0 {
			t.Errorf("from %d on, it is read from the begin", from)
		}
		for e, err := range events {
			if err != nil {
				t.Fatal(err)
			}
			if e.Time > from && e.From != e.To && e.From != exectrace.Unknown {
				out = append(out, fmt.Sprint(e.Kind, e.From, e.To, e.Time, e.Goroutine, e.By, e.Proc, e.Thread, e.Stack, e.Own, e.Reason, e.Name, e.Text, e.Value))
			}
		}
		return out
	}
	all := read(0)
	last := int64(0)
	for e := range tr.Events() {
		last = e.Time
	}
	for _, from := range []int64{last * 6 / 10, last * 9 / 10} {
		got := read(from)
		if len(got) == 0 || len(got) > len(all) || !slices.Equal(got, all[len(all)-len(got):]) {
			t.Errorf("from %d of %d on there are %d events, which are not the last of %d", from, last, len(got), len(all))
		}
	}
}

// TestCountFrom holds that a trace whose times count from before its begin is the same, but for that.
func TestCountFrom(t *testing.T) {
	const later = 7_000_000_000
	for name, b := range map[string][]byte{"seconds": ofSeconds(t)} {
		t.Run(name, func(t *testing.T) {
			tr := open(t, b)
			whole, err := Summarize(tr, Window{}, nil)
			if err != nil {
				t.Fatal(err)
			}
			if tr.Wall() == 0 {
				t.Skip("it does not know the time of day")
			}
			moved := open(t, b)
			moved.CountFrom(tr.Wall() - later)
			if moved.Begin() != later {
				t.Fatalf("it begins at %d", moved.Begin())
			}
			x, err := NewIndex(moved, nil)
			if err != nil {
				t.Fatal(err)
			}
			if x.Begin != later || x.End != whole.End+later || moved.Wall() != tr.Wall()-later {
				t.Errorf("it is from %d to %d, %d is %d; without that the end is %d and the time of day %d", x.Begin, x.End, 0, moved.Wall(), whole.End, tr.Wall())
			}
			spans := func(t0 int64, w Window, tr *exectrace.Trace, x *Index) (out []string) {
				walk := &Walk{Window: w, Index: x}
				walk.Span = func(s *Span) {
					out = append(out, fmt.Sprint(s.Goroutine.ID, s.State, s.From-t0, s.To-t0, s.Since-t0, s.Stack, s.Reason, s.By, s.ByStack, s.Begun, s.Open))
				}
				if err := walk.Run(tr); err != nil {
					t.Fatal(err)
				}
				slices.Sort(out)
				return out
			}
			for i := range int64(4) {
				w := Window{From: whole.End * i / 4, To: whole.End*(i+1)/4 + 1}
				want := spans(0, w, tr, nil)
				w.From, w.To = w.From+later, w.To+later
				for _, index := range []*Index{nil, x} {
					if got := spans(later, w, moved, index); !slices.Equal(got, want) {
						t.Errorf("%v, by index %v: %d spans, want %d", w, index != nil, len(got), len(want))
					}
				}
			}
			var outside *OutsideError
			if err := (&Walk{Window: Window{To: later / 2}}).Run(moved); !errors.As(err, &outside) || outside.Begin != later {
				t.Errorf("before the begin: %v", err)
			}
			s, err := Summarize(moved, Window{}, nil)
			if err != nil {
				t.Fatal(err)
			}
			if s.Begin != later || s.Running != whole.Running || s.Blocked != whole.Blocked || s.Capacity != whole.Capacity || s.Busy != whole.Busy {
				t.Errorf("the overview is %+v, without that %+v", s, whole)
			}
		})
	}
}
