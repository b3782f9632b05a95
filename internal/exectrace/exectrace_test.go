package exectrace

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/hone-perf/hone/internal/testrun"
)

// recorded returns the traces in testdata, by name.
func recorded(t testing.TB) map[string][]byte {
	t.Helper()
	files, err := filepath.Glob("testdata/*.trace.gz")
	if err != nil || len(files) < 6 {
		t.Fatalf("testdata has %d traces (%v), want one of each version of Go", len(files), err)
	}
	all := map[string][]byte{}
	for _, name := range files {
		f, err := os.Open(name)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		r, err := gzip.NewReader(f)
		if err != nil {
			t.Fatal(err)
		}
		b, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		all[strings.TrimSuffix(filepath.Base(name), ".trace.gz")] = b
	}
	return all
}

func open(t testing.TB, b []byte) *Trace {
	t.Helper()
	tr, err := Open(bytes.NewReader(b), int64(len(b)))
	if err != nil {
		t.Fatal(err)
	}
	return tr
}

// A story is what events say, by what they are about: the order between goroutines is that of clocks, which two readers may take differently where
// they are equal.
type story map[string][]string

// stories reads all events.
func stories(t testing.TB, tr *Trace, events func(func(*Event, error) bool) error) story {
	t.Helper()
	s := story{}
	last := int64(0)
	err := events(func(e *Event, _ error) bool {
		if e.Time < last {
			t.Fatalf("the time goes back from %d to %d", last, e.Time)
		}
		last = e.Time
		about := fmt.Sprintf("goroutine %d", e.Goroutine)
		said := ""
		switch e.Kind {
		case Change:
			if e.From == e.To {
				return true // said at the begin of a generation
			}
			said = fmt.Sprintf("%d→%d reason %d by %d at %s own %s", e.From, e.To, e.Reason, e.By, calls(tr, e.Stack), calls(tr, e.Own))
		case ProcStart, ProcStop:
			about = fmt.Sprintf("P %d", e.Proc)
			said = fmt.Sprint("kind ", e.Kind)
		case RangeBegin, RangeActive, RangeEnd:
			if e.Goroutine < 0 {
				about = e.Name
				if strings.Contains(e.Name, "sweep") {
					about = fmt.Sprintf("P %d", e.Proc)
				}
			}
			said = fmt.Sprintf("kind %d %s value %d at %s", e.Kind, e.Name, e.Value, calls(tr, e.Stack))
		case Metric:
			about, said = e.Name, fmt.Sprint(e.Value)
		default:
			said = fmt.Sprintf("kind %d %q %q task %d parent %d at %s", e.Kind, e.Name, e.Text, e.Task, e.Parent, calls(tr, e.Stack))
		}
		s[about] = append(s[about], said)
		return true
	})
	if err != nil {
		t.Fatal(err)
	}
	for about, list := range s {
		if strings.HasPrefix(about, "/") {
			slices.Sort(list) // Ps say it, each at its time
		}
	}
	return s
}

func calls(tr *Trace, s Stack) string {
	var b strings.Builder
	for _, f := range tr.Frames(s) {
		fmt.Fprintf(&b, "%s:%d ", f.Func, f.Line)
	}
	return b.String()
}

// TestSameAsLibrary holds that the events are those that golang.org/x/exp/trace reads.
func TestSameAsLibrary(t *testing.T) {
	for name, b := range recorded(t) {
		t.Run(name, func(t *testing.T) {
			ours, theirs := open(t, b), open(t, b)
			got := stories(t, ours, ours.whole)
			want := stories(t, theirs, theirs.library)
			if d := ours.Damage(); len(d) > 0 {
				t.Errorf("damage: %v", d)
			}
			for _, about := range slices.Sorted(maps.Keys(want)) {
				if !slices.Equal(got[about], want[about]) {
					t.Errorf("%s:\n%s", about, firstDifference(got[about], want[about]))
				}
			}
			for about := range got {
				if want[about] == nil {
					t.Errorf("%s: %q, which the library does not have", about, got[about])
				}
			}
			if ours.Version >= 25 && ours.Wall() == 0 {
				t.Error("no time of day")
			}
		})
	}
}

func firstDifference(got, want []string) string {
	for i := range max(len(got), len(want)) {
		g, w := "nothing", "nothing"
		if i < len(got) {
			g = got[i]
		}
		if i < len(want) {
			w = want[i]
		}
		if g != w {
			return fmt.Sprintf("event %d of %d, %d\n got %s\nwant %s", i, len(got), len(want), g, w)
		}
	}
	return ""
}

// TestContent holds that a trace has what its program did.
func TestContent(t *testing.T) {
	for name, b := range recorded(t) {
		t.Run(name, func(t *testing.T) {
			tr := open(t, b)
			reasons := map[Reason]int{}
			kinds := map[Kind]int{}
			names := map[string]int{}
			for e, err := range tr.Events() {
				if err != nil {
					t.Fatal(err)
				}
				kinds[e.Kind]++
				names[e.Name]++
				if e.Kind == Change && e.To == Waiting && e.From == Running {
					reasons[e.Reason]++
				}
			}
			for _, r := range []Reason{Network, Select, Cond, Sync, ChanReceive, Sleep} {
				if reasons[r] == 0 {
					t.Errorf("nothing waits for %d: %v", r, reasons)
				}
			}
			if tr.Version >= 23 && reasons[Coroutine] != 11 {
				t.Errorf("%d switches of coroutines, want 11", reasons[Coroutine])
			}
			for _, k := range []Kind{Change, RangeBegin, RangeEnd, ProcStart, ProcStop, TaskBegin, TaskEnd, RegionBegin, RegionEnd, Log, Sample, Metric, Label} {
				if kinds[k] == 0 {
					t.Errorf("no event of kind %d", k)
				}
			}
			for _, name := range []string{"whole", "channels", "category", "GC concurrent mark phase", "/sched/gomaxprocs:threads"} {
				if names[name] == 0 {
					t.Errorf("nothing is called %q: %v", name, names)
				}
			}
		})
	}
}

// times returns what identifies events: their order, kind and time.
func times(t testing.TB, tr *Trace) (list []string) {
	t.Helper()
	for e, err := range tr.Events() {
		if err != nil {
			return list
		}
		list = append(list, fmt.Sprint(e.Kind, e.Time, e.Goroutine, e.From, e.To, e.Thread))
	}
	return list
}

// TestCut holds that of a file that is cut short all generations before the cut are read, and of the last one what can be.
func TestCut(t *testing.T) {
	for name, b := range recorded(t) {
		t.Run(name, func(t *testing.T) {
			most := 0
			for size := headerLen; size < len(b); size += max(1, len(b)/testrun.Size(97, 23)) {
				tr := open(t, b[:size])
				n := len(times(t, tr))
				most = max(most, n)
				if len(tr.Damage()) == 0 && n > 0 && tr.Version >= 26 {
					t.Errorf("cut at %d of %d, and it is not said", size, len(b))
				}
			}
			if all := len(times(t, open(t, b))); most < all/2 || most > all {
				t.Errorf("%d of %d events at most", most, all)
			}
		})
	}
}

// TestFlipped holds that damaged files are read without a panic and with an end, and that something of each is.
func TestFlipped(t *testing.T) {
	for name, b := range recorded(t) {
		t.Run(name, func(t *testing.T) {
			r := rand.New(rand.NewPCG(1, 2))
			for range testrun.Size(50, 12) {
				bad := bytes.Clone(b)
				for range 1 + r.IntN(3) {
					bad[headerLen+r.IntN(len(bad)-headerLen)] ^= 1 << r.IntN(8)
				}
				times(t, open(t, bad))
			}
		})
	}
}

// TestDamageEndsGeneration holds that damage is said, and that what was read before it is kept.
func TestDamageEndsGeneration(t *testing.T) {
	b := recorded(t)["go1.26.8"]
	all := times(t, open(t, b))
	s := &scanner{t: open(t, b), off: headerLen}
	g, err := s.next()
	if err != nil || g == nil {
		t.Fatal(g, err)
	}
	most := slices.MaxFunc(g.batches, func(a, b batch) int {
		if args[a.kind] == 0 || args[b.kind] == 0 {
			return int(args[a.kind]) - int(args[b.kind])
		}
		return cmp.Compare(a.size, b.size)
	})
	bad := bytes.Clone(b)
	// No event has this type.
	for i := range most.size / 2 {
		bad[most.off+int64(most.size/2+i)] = 0xfe
	}
	tr := open(t, bad)
	some := times(t, tr)
	if len(tr.Damage()) == 0 || len(some) == 0 || len(some) >= len(all) {
		t.Errorf("%d of %d events, damage %v", len(some), len(all), tr.Damage())
	}
}

func TestNoTrace(t *testing.T) {
	for _, in := range []string{"", "go 1.22", "go 1.22 trace", "something else entirely", "go 1.x2 trace\x00\x00\x00", "go 1.09 trace\x00\x00\x00"} {
		if _, err := Open(strings.NewReader(in), int64(len(in))); err == nil {
			t.Errorf("Open(%q) has no error", in)
		}
		if in != "go 1.09 trace\x00\x00\x00" && Is([]byte(in)) {
			t.Errorf("Is(%q)", in)
		}
	}
}

// FuzzEvents holds that no file makes the reader crash or hang, that time does not go back, and that reading it again, or from a border on, is no different.
func FuzzEvents(f *testing.F) {
	for _, b := range recorded(f) {
		f.Add(b[:min(len(b), 8<<10)])
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		tr, err := Open(bytes.NewReader(b), int64(len(b)))
		if err != nil || tr.Version < 22 {
			return
		}
		last, n := int64(0), 0
		for e, err := range tr.Events() {
			if err != nil {
				return
			}
			if e.Time < last {
				t.Fatalf("the time goes back from %d to %d", last, e.Time)
			}
			last = e.Time
			tr.Frames(e.Stack)
			n++
		}
		again := 0
		for range tr.Events() {
			again++
		}
		if n != again {
			t.Errorf("%d events, and then %d", n, again)
		}
		_, begin, events := tr.EventsFrom(last)
		for e, err := range events {
			if err == nil && e.Time < begin {
				t.Errorf("from %d on there is an event at %d", begin, e.Time)
			}
		}
	})
}

func BenchmarkEvents(b *testing.B) {
	for _, how := range []string{"ours", "library"} {
		b.Run(how, func(b *testing.B) {
			name := os.Getenv("HONE_TRACE")
			if name == "" {
				b.Skip("HONE_TRACE names a trace")
			}
			file, err := os.ReadFile(name)
			if err != nil {
				b.Fatal(err)
			}
			n := 0
			b.SetBytes(int64(len(file)))
			b.ReportAllocs()
			for b.Loop() {
				tr := open(b, file)
				read := tr.whole
				if how == "library" {
					read = tr.library
				}
				if err := read(func(*Event, error) bool { n++; return true }); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(n)/b.Elapsed().Seconds()/1e6, "Mevents/s")
		})
	}
}

// whole yields all events of a trace of Go 1.22 or later.
func (t *Trace) whole(yield func(*Event, error) bool) error {
	return t.events(border{off: headerLen}, yield)
}

// TestEnd holds that the end of a trace is known without all of it being read.
func TestEnd(t *testing.T) {
	for name, b := range recorded(t) {
		for _, zero := range []int64{0, 1} {
			tr := open(t, b)
			tr.CountFrom(zero)
			got, err := tr.End()
			if err != nil {
				t.Fatal(err)
			}
			want := int64(0)
			for e, err := range tr.Events() {
				if err != nil {
					t.Fatal(err)
				}
				want = e.Time
			}
			// Where the unit of time is measured in each part, the rest is rounded otherwise.
			if d := got - want; d > 1e6 || d < -1e6 {
				t.Errorf("%s from %d: %d, want %d", name, zero, got, want)
			}
		}
	}
}
