package profileview

import (
	"testing"

	"github.com/hone-perf/hone/internal/profile"
	"github.com/hone-perf/hone/internal/query"
	"github.com/hone-perf/hone/internal/report"
)

// TestMeansRankedAsShown holds that means are ranked by what is shown of them.
func TestMeansRankedAsShown(t *testing.T) {
	b := profile.NewBuilder(profile.Header{SampleTypes: []profile.ValueType{{Type: "contentions", Unit: "count"}, {Type: "delay", Unit: "nanoseconds"}}})
	for i, name := range []string{"main.often", "main.once", "main.main"} {
		b.Functions = append(b.Functions, profile.Function{ID: uint64(i + 1), Name: name})
		b.Locations = append(b.Locations, profile.Location{ID: uint64(i + 1), Mapping: profile.NoMapping, Lines: []profile.Line{{Function: uint32(i)}}})
	}
	b.Add([]uint32{0, 2}, 0, []int64{1000, 5000})
	b.Add([]uint32{1, 2}, 0, []int64{1, 900})
	p, err := b.Profile()
	if err != nil {
		t.Fatal(err)
	}
	q := query.Query{Metric: "delay", Mean: true}
	top, err := Top(recorded(p), q)
	if err != nil {
		t.Fatal(err)
	}
	if r := top.(*report.Top).Rows; r[0].Name != "main.once" || r[0].Flat != 900 || r[1].Flat != 5 {
		t.Errorf("top: %+v", r)
	}
	// pprof ranks the sums, and its shares are of the mean of all.
	q.PProf = true
	if top, err = TopByCalls(recorded(p), q); err != nil {
		t.Fatal(err)
	}
	if r := top.(*report.Top); r.Rows[0].Name != "main.often" || r.Mean {
		t.Errorf("top as in pprof: %+v", r)
	}
}
