package requests

import (
	"bytes"
	"compress/gzip"
	"io"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hone-perf/hone/internal/exectrace"
	"github.com/hone-perf/hone/internal/profile"
	"github.com/hone-perf/hone/internal/waits"
)

// recorded returns traces by name: of each version of Go, and of examples/shop.
func recorded(t *testing.T) map[string]func() *exectrace.Trace {
	t.Helper()
	files, err := filepath.Glob("../exectrace/testdata/*.trace.gz")
	if err != nil || len(files) < 6 {
		t.Fatalf("%d traces (%v), want one of each version of Go", len(files), err)
	}
	all := map[string]func() *exectrace.Trace{}
	for _, name := range append(files, "../../testdata/trace/shop.trace") {
		b, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if strings.HasSuffix(name, ".gz") {
			r, err := gzip.NewReader(bytes.NewReader(b))
			if err != nil {
				t.Fatal(err)
			}
			if b, err = io.ReadAll(r); err != nil {
				t.Fatal(err)
			}
		}
		all[strings.TrimSuffix(filepath.Base(name), ".gz")] = func() *exectrace.Trace {
			tr, err := exectrace.Open(bytes.NewReader(b), int64(len(b)))
			if err != nil {
				t.Fatal(err)
			}
			return tr
		}
	}
	return all
}

// timesBy returns the nanoseconds of a profile by the value of a label, "" for samples without it.
func timesBy(p *profile.Profile, label string) map[string]int64 {
	times := map[string]int64{}
	for k, typ := range waits.Types {
		if typ == waits.Waits {
			continue
		}
		for i, v := range p.Values(k) {
			value := ""
			for _, l := range p.LabelSets()[p.Label(i)] {
				if l.Key == label {
					value = l.Str
				}
			}
			times[value] += v
		}
	}
	return times
}

// TestProfile holds that a profile has the time of all goroutines of the program, and that two parts of the time have as much as all of it.
func TestProfile(t *testing.T) {
	for name, open := range recorded(t) {
		t.Run(name, func(t *testing.T) {
			p, err := Profile(open(), waits.Window{})
			if err != nil {
				t.Fatal(err)
			}
			var want int64
			tr := open()
			names := waits.NewNames(tr)
			walk := &waits.Walk{Names: names, Named: func(s *waits.Span) {
				if !waits.IsRuntime(names.Kind(s.Goroutine, s.Stack)) {
					want += s.Length()
				}
			}}
			if err := walk.Run(tr); err != nil {
				t.Fatal(err)
			}
			by := timesBy(p, waits.HandlerLabel)
			var got int64
			for _, v := range by {
				got += v
			}
			if got != want || got == 0 {
				t.Errorf("%d ns in the profile, %d in spans", got, want)
			}
			halves, middle := map[string]int64{}, (walk.Begin+walk.End)/2
			for _, w := range []waits.Window{{To: middle}, {From: middle}} {
				p, err := Profile(open(), w)
				if err != nil {
					t.Fatal(err)
				}
				for handler, v := range timesBy(p, waits.HandlerLabel) {
					halves[handler] += v
				}
			}
			if !maps.Equal(halves, by) {
				t.Errorf("the halves have %v, all has %v", halves, by)
			}
		})
	}
}

// TestHandlersOfProfile holds that the time of a profile under a handler is that of its requests.
func TestHandlersOfProfile(t *testing.T) {
	for name, open := range recorded(t) {
		t.Run(name, func(t *testing.T) {
			found, err := Find(open())
			if err != nil {
				t.Fatal(err)
			}
			want := map[string]int64{}
			for _, r := range found.Requests {
				for _, v := range r.Split {
					if r.Handler != "" {
						want[r.Handler] += v
					}
				}
			}
			if name == "shop.trace" && len(want) != 2 {
				t.Fatalf("handlers %v, want two", want)
			}
			p, err := Profile(open(), waits.Window{})
			if err != nil {
				t.Fatal(err)
			}
			got := timesBy(p, waits.HandlerLabel)
			delete(got, "")
			if !maps.Equal(got, want) {
				t.Errorf("the profile has %v, requests took %v", got, want)
			}
		})
	}
}

// fetches and parses are what goroutines of TestOneName are for.
func fetches() { time.Sleep(2 * time.Millisecond) }
func parses()  { time.Sleep(time.Millisecond) }

// TestOneName holds that goroutines that are started through sync.WaitGroup.Go have the name of what they are for, the same in each answer.
func TestOneName(t *testing.T) {
	tr := func() *exectrace.Trace {
		return tracing(t, func() {
			var wg sync.WaitGroup
			for range 3 {
				for _, f := range []func(){fetches, parses} {
					wg.Go(f)
				}
			}
			wg.Wait()
		})
	}
	const pkg = "github.com/hone-perf/hone/internal/requests."
	p, err := Profile(tr(), waits.Window{})
	if err != nil {
		t.Fatal(err)
	}
	by := timesBy(p, waits.GoroutineLabel)
	kinds, _, err := waits.Kinds(tr(), waits.Window{})
	if err != nil {
		t.Fatal(err)
	}
	for _, k := range kinds {
		if strings.HasPrefix(k.Kind, "sync.") {
			t.Errorf("kinds have %d goroutines of %s", k.Count, k.Kind)
		}
		if k.Kind == pkg+"fetches" && (k.Count != 3 || k.Born != 3 || k.Ended != 3) {
			t.Errorf("%+v, want three that began and ended", k)
		}
	}
	for _, name := range []string{"fetches", "parses"} {
		if by[pkg+name] == 0 {
			t.Errorf("the profile has %v", by)
		}
	}
	for name := range by {
		if strings.HasPrefix(name, "sync.") {
			t.Errorf("the profile has goroutines of %s", name)
		}
	}
}

// TestLeaksHideNothing holds that waits which have not ended are told from others, so that what is too small to be shown is not measured by them.
func TestLeaksHideNothing(t *testing.T) {
	leak := make(chan int)
	tr := tracing(t, func() {
		for range 100 {
			go func() { leak <- 1 }()
		}
		time.Sleep(10 * time.Millisecond)
	})
	for range 100 {
		<-leak
	}
	p, err := Profile(tr, waits.Window{})
	if err != nil {
		t.Fatal(err)
	}
	still := timesBy(p, waits.WakerLabel)[waits.Still]
	if lasting := waits.Lasting(p, 0); lasting <= 0 || lasting > still {
		t.Errorf("%d ns have not ended, %d are labeled so", lasting, still)
	}
	if got := waits.Lasting(p, 2); got != 0 {
		t.Errorf("%d ns of being ready have not ended", got)
	}
}
