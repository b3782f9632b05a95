package render

import (
	"bytes"
	"runtime"
	"strings"
	"testing"

	library "github.com/google/pprof/profile"

	"github.com/hone-perf/hone/internal/profile"
	"github.com/hone-perf/hone/internal/query"
	"github.com/hone-perf/hone/internal/recording"
	"github.com/hone-perf/hone/internal/report"
	"github.com/hone-perf/hone/internal/view/profileview"
)

// A name of any length is cut before it is copied, and where it is shown.
func TestLongNameCostsLittle(t *testing.T) {
	f := &library.Function{ID: 1, Name: strings.Repeat("example.com/a.(*T[int]).b", 1<<20/25), Filename: strings.Repeat("/a", 1<<19)}
	l := &library.Location{ID: 1, Line: []library.Line{{Function: f}}}
	lp := &library.Profile{
		SampleType: []*library.ValueType{{Type: "n", Unit: "count"}}, Function: []*library.Function{f}, Location: []*library.Location{l},
		Sample: []*library.Sample{{Location: []*library.Location{l}, Value: []int64{1}, Label: map[string][]string{"k": {strings.Repeat("v", 1<<20)}}}},
	}
	var b bytes.Buffer
	if err := lp.WriteUncompressed(&b); err != nil {
		t.Fatal(err)
	}
	p, err := profile.ParseBytes(b.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	allocated := func(do func()) int {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		do()
		runtime.ReadMemStats(&after)
		return int(after.TotalAlloc - before.TotalAlloc)
	}
	for name, run := range map[string]func([]*recording.Recording, query.Query) (report.Report, error){"look": profileview.Look, "top": profileview.Top, "tree": profileview.Tree, "flame": profileview.Flame, "traces": profileview.Traces} {
		var out bytes.Buffer
		got := allocated(func() {
			r, err := run([]*recording.Recording{{Profile: p.WithShortNames()}}, query.Query{View: name, Refs: []string{"x"}})
			if err != nil {
				t.Fatal(err)
			}
			if err := Write(&out, "text", r, Options{}); err != nil {
				t.Fatal(err)
			}
		})
		if got > 8<<20 || out.Len() > 64<<10 || !strings.Contains(out.String(), "…") {
			t.Errorf("%s: %d bytes allocated, %d printed", name, got, out.Len())
		}
	}
}
