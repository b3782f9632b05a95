package profileview_test

import (
	"bytes"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"

	library "github.com/google/pprof/profile"

	"github.com/hone-perf/hone/internal/profile"
	"github.com/hone-perf/hone/internal/query"
	"github.com/hone-perf/hone/internal/recording"
	"github.com/hone-perf/hone/internal/report"
	"github.com/hone-perf/hone/internal/view/profileview"
)

// oneEach is a profile with a sample for each label.
func oneEach(t testing.TB, n int, label func(i int) (key, value string)) *profile.Profile {
	t.Helper()
	f := &library.Function{ID: 1, Name: "main.main"}
	l := &library.Location{ID: 1, Line: []library.Line{{Function: f}}}
	p := &library.Profile{SampleType: []*library.ValueType{{Type: "n", Unit: "count"}}, Function: []*library.Function{f}, Location: []*library.Location{l}}
	for i := range n {
		key, value := label(i)
		p.Sample = append(p.Sample, &library.Sample{Location: []*library.Location{l}, Value: []int64{int64(1 + i%7)}, Label: map[string][]string{key: {value}}})
	}
	var b bytes.Buffer
	if err := p.WriteUncompressed(&b); err != nil {
		t.Fatal(err)
	}
	out, err := profile.ParseBytes(b.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func TestTagsAreBoundedAndSaySo(t *testing.T) {
	many := func(p *profile.Profile, limit int) *report.Tags {
		r, err := profileview.Tags([]*recording.Recording{{Profile: p}}, query.Query{Limit: limit})
		if err != nil {
			t.Fatal(err)
		}
		return r.(*report.Tags)
	}
	keys := oneEach(t, 5000, func(i int) (string, string) { return fmt.Sprintf("k%04d", i), "v" })
	r := many(keys, 0)
	sorted := slices.IsSortedFunc(r.Keys, func(a, b report.TagKey) int { return strings.Compare(a.Key, b.Key) })
	if len(r.Keys) != 200 || r.Of != 5000 || r.Keys[0].Total != 7 || !sorted || r.Notes.String() != "200 of 5000 keys are shown, those with the most; raise limit to see more" {
		t.Errorf("%d of %d keys, the first of %d, in order %v, notes %q", len(r.Keys), r.Of, r.Keys[0].Total, sorted, r.Notes)
	}
	if r := many(keys, -1); len(r.Keys) != 5000 || len(r.Notes) != 0 {
		t.Errorf("without a limit: %d keys, notes %q", len(r.Keys), r.Notes)
	}
	values := oneEach(t, 5000, func(i int) (string, string) { return "k", fmt.Sprint("v", i) })
	if r := many(values, 0); len(r.Keys) != 1 || len(r.Keys[0].Values) != 200 || r.Keys[0].Of != 5000 || r.Keys[0].Values[0].Flat != 7 || len(r.Notes) != 1 {
		t.Errorf("%d keys with %d of %d values, notes %q", len(r.Keys), len(r.Keys[0].Values), r.Keys[0].Of, r.Notes)
	}
	if r := many(values, 3); len(r.Keys[0].Values) != 3 {
		t.Errorf("%d values, want 3", len(r.Keys[0].Values))
	}
}

// allocated returns how many bytes do allocates.
func allocated(do func()) int {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	do()
	runtime.ReadMemStats(&after)
	return int(after.TotalAlloc - before.TotalAlloc)
}

func TestTagsOfManyKeysTakeLittleMemory(t *testing.T) {
	const n = 50_000
	p := oneEach(t, n, func(i int) (string, string) { return fmt.Sprint("k", i), "v" })
	if got := allocated(func() { profileview.Tags([]*recording.Recording{{Profile: p}}, query.Query{Limit: 100}) }); got > 400*n {
		t.Errorf("%d bytes for each key", got/n)
	}
}
