package profileview

import (
	"fmt"
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
	if r := h.Rows[2]; r.Kind != heapgraph.KindGoroutine || r.Names[0] != "main.handle" || r.Goroutines != 20 || r.Stacks != 20*4096 || r.Waits != "chan receive" || r.Since != 3*time.Minute {
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

// server is the heap of a server that many goroutines refer to, with a cache, a log and a little more, and an item in five variables.
func server(cached int) *heapgraph.Heap {
	var m heapgraphtest.Maker
	srv := m.Object("main.server", 64)
	cache := m.Object("main.cache", 48)
	m.Point(srv, ".c", cache)
	for range cached {
		m.Point(cache, ".items", m.Object("[]uint8", 1024))
	}
	for range 256 {
		m.Point(srv, ".log[]", m.Object("[]uint8", 512))
	}
	m.Point(srv, ".name", m.Object("[]uint8", 16))
	for _, f := range []string{"main.main", "main.work", "net/http.(*conn).serve"} {
		where := m.Stack(heapgraph.Frame{Func: f}, heapgraph.Frame{Func: "runtime.goexit"})
		m.Roots = append(m.Roots, heapgraph.Root{Object: srv, Kind: heapgraph.Variable, Name: "s", Where: where, Count: 1})
	}
	item := m.Object("main.Item", 32)
	m.Point(item, ".body", m.Object("[]uint8", 65536))
	for _, name := range []string{"main.a", "main.b", "main.c", "main.d", "main.e"} {
		m.Global(name, "/src/main.go", 5, item)
	}
	return m.Done()
}

// TestHoldersShared has rows for the fields of an object that many goroutines refer to. None of these can let go of it.
func TestHoldersShared(t *testing.T) {
	made := func(cached int) *recording.Recording {
		p, _, err := heapgraph.Profile(server(cached))
		if err != nil {
			t.Fatal(err)
		}
		rec, _, err := recording.Made("server", &recording.Manifest{}, map[string]*profile.Profile{recording.Held: p}).Pick("", 0, 0)
		if err != nil {
			t.Fatal(err)
		}
		return rec
	}
	h := holdersOf(t, query.Query{Min: -1}, made(1000))
	goroutines := "goroutine main.main goroutine main.work goroutine net/http.(*conn).serve"
	want := []struct {
		object, names, way, text string
		value                    int64
	}{
		{"main.server.c", goroutines, ".c main.cache .items []uint8", "main.server.c, shared by goroutine main.main, goroutine main.work and goroutine net/http.(*conn).serve", 48 + 1000*1024},
		{"main.server.log", goroutines, ".log[] []uint8", "", 256 * 512},
		{"main.Item", "main.a main.b main.c main.d main.e", ".body []uint8", "main.Item, shared by main.a, main.b and 3 others", 32 + 65536},
		{"main.server", goroutines, "main.server", "", 64 + 16},
	}
	if len(h.Rows) != len(want) {
		t.Fatalf("got %+v", h.Rows)
	}
	for i, w := range want {
		r := h.Rows[i]
		var way []string
		for _, s := range r.Way {
			way = append(way, s.Name)
		}
		if r.Object != w.object || strings.Join(r.Names, " ") != w.names || r.Value != w.value || strings.Join(way, " ") != w.way {
			t.Errorf("row %d is %+v, want %+v", i, r, w)
		}
		if w.text != "" && !strings.Contains(tableOf(h), w.text) {
			t.Errorf("the table lacks %q: %s", w.text, tableOf(h))
		}
	}
	h = holdersOf(t, query.Query{}, made(1100), made(1000))
	if len(h.Rows) != 1 || h.Rows[0].Object != "main.server.c" || h.Rows[0].Value-*h.Rows[0].Before != 100*1024 {
		t.Errorf("compared: %+v", h.Rows)
	}
}

// TestHoldersTie has two ways that lead to as much. Each report tells the same one.
func TestHoldersTie(t *testing.T) {
	var m heapgraphtest.Maker
	conn := m.Object("main.conn", 64)
	for _, f := range []string{".bufr", ".bufw"} {
		buffer := m.Object("main.buffer", 32)
		m.Point(conn, f, buffer)
		m.Point(buffer, ".body", m.Object("[]uint8", 4096))
	}
	m.Global("main.client", "/src/main.go", 5, conn)
	p, _, err := heapgraph.Profile(m.Done())
	if err != nil {
		t.Fatal(err)
	}
	rec, _, err := recording.Made("client", &recording.Manifest{}, map[string]*profile.Profile{recording.Held: p}).Pick("", 0, 0)
	if err != nil {
		t.Fatal(err)
	}
	first := ""
	for range 50 {
		h := holdersOf(t, query.Query{Min: -1}, rec)
		if got := fmt.Sprint(h.Rows[0].Way); first == "" {
			first = got
		} else if got != first {
			t.Fatalf("the way is %s, and then %s", first, got)
		}
	}
}

// tableOf returns the table of a report as it is printed.
func tableOf(r report.Report) string {
	var b strings.Builder
	for block := range r.Blocks() {
		fmt.Fprint(&b, block)
	}
	return b.String()
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
