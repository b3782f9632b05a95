package profileview

import (
	"strings"
	"testing"
	"time"

	"github.com/hone-perf/hone/internal/heapgraph"
	"github.com/hone-perf/hone/internal/heapgraph/heapgraphtest"
	"github.com/hone-perf/hone/internal/profile"
	"github.com/hone-perf/hone/internal/query"
	"github.com/hone-perf/hone/internal/recording"
	"github.com/hone-perf/hone/internal/report"
)

// leaky returns a recording of who holds the memory of a leaky service.
func leaky(t *testing.T, sessions, waiting int) *recording.Recording {
	t.Helper()
	h := heapgraphtest.Leaky(sessions, waiting)
	p, garbage, err := heapgraph.Profile(h)
	if err != nil {
		t.Fatal(err)
	}
	m := &recording.Manifest{Started: h.Time, Ended: h.Time, Holders: []recording.HeapRead{{Go: h.GoVersion, Pause: h.Pause, Garbage: garbage, Notes: h.Notes}}}
	rec, _, err := recording.Made("leaky", m, map[string]*profile.Profile{recording.Held: p}).Pick("", 0, 0)
	if err != nil {
		t.Fatal(err)
	}
	return rec
}

func holdersOf(t *testing.T, q query.Query, in ...*recording.Recording) *report.Holders {
	t.Helper()
	r, err := Holders(in, q)
	if err != nil {
		t.Fatal(err)
	}
	return r.(*report.Holders)
}

func TestHolders(t *testing.T) {
	rec := leaky(t, 1024, 20)
	h := holdersOf(t, query.Query{Min: -1}, rec)
	if h.Garbage == nil || h.Garbage.Bytes != 4160 || h.Pause != 7200*time.Microsecond || h.Go != "go1.27.3" || len(h.Unread) != 1 {
		t.Errorf("sums are %v, %v, %v, %v", h.Garbage, h.Pause, h.Go, h.Unread)
	}
	sum := int64(0)
	for _, r := range h.Rows {
		sum += r.Value
	}
	if sum != h.Total || h.Of != 8 || h.Shown != 8 {
		t.Errorf("%d rows of %d hold %d of %d", h.Shown, h.Of, sum, h.Total)
	}
	first := h.Rows[0]
	if first.Kind != heapgraph.KindGlobal || first.Names[0] != "main.cache" || first.File != "/src/shop/cache.go" || first.Line != 21 ||
		first.Value != 48+128*(32+208)+1024*(64+4096) {
		t.Errorf("the first is %+v", first)
	}
	if w := first.Way; len(w) != 3 || w[2].Name != ".buf []uint8" || w[2].Flat != 1024*4096 || w[2].Objects != 1024 {
		t.Errorf("its way is %+v", first.Way)
	}
	if made := h.Rows[1].Made; len(made) != 1 || made[0].Function != "main.readFile" || made[0].Value != 32*65536 {
		t.Errorf("the second is made by %v", made)
	}
	if r := h.Rows[2]; r.Kind != heapgraph.KindGoroutine || r.Names[0] != "main.handle" || r.Goroutines != 20 || r.Waits != "chan receive" || r.Since != 3*time.Minute {
		t.Errorf("the third is %+v", r)
	}
	if r := h.Rows[3]; r.Kind != heapgraph.KindTogether || strings.Join(r.Names, ", ") != "main.pending, main.queue" || r.More {
		t.Errorf("the fourth is %+v", r)
	}
	hidden := holdersOf(t, query.Query{Steps: []query.Step{{Op: query.TagHide, Arg: "holder"}}}, rec)
	for range hidden.Blocks() { // which have names without labels
	}
	few := holdersOf(t, query.Query{Limit: 2, Steps: []query.Step{{Op: query.Ignore, Arg: "Session"}}}, rec)
	if few.Shown != 2 || few.Rows[0].Names[0] != "main.heads" || few.Left == nil {
		t.Errorf("without sessions: %+v", few.Rows)
	}
}

// TestHoldersCompared lists what grew first, and then what shrank.
func TestHoldersCompared(t *testing.T) {
	h := holdersOf(t, query.Query{}, leaky(t, 1024, 60), leaky(t, 1000, 20))
	if len(h.Rows) != 2 || h.Rows[0].Names[0] != "main.handle" || h.Rows[0].Value-*h.Rows[0].Before != 40*(96+16384) || h.Rows[1].Names[0] != "main.cache" {
		t.Errorf("got %+v", h.Rows)
	}
	h = holdersOf(t, query.Query{Min: -1}, leaky(t, 1000, 20), leaky(t, 1024, 20))
	if len(h.Rows) != 1 || h.Rows[0].Value >= *h.Rows[0].Before {
		t.Errorf("got %+v", h.Rows)
	}
}

func TestHoldersOfOthers(t *testing.T) {
	b := profile.NewBuilder(profile.Header{SampleTypes: []profile.ValueType{{Type: "cpu", Unit: "nanoseconds"}}})
	p, err := b.Profile()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Holders([]*recording.Recording{{Ref: "cpu", Profile: p}}, query.Query{}); err == nil {
		t.Error("a CPU profile says who holds memory")
	}
}
