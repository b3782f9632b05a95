package profileview

import (
	"reflect"
	"regexp"
	"testing"

	"github.com/hone-perf/hone/internal/profile"
	"github.com/hone-perf/hone/internal/profile/profiletest"
	"github.com/hone-perf/hone/internal/query"
	"github.com/hone-perf/hone/internal/recording"
	"github.com/hone-perf/hone/internal/report"
)

// TestListAfterCallers holds that lines are the same whether or not callers have found the samples with the function before.
func TestListAfterCallers(t *testing.T) {
	p, err := profile.ParseBytes(profiletest.Bytes(profiletest.Config{Samples: 2000, Functions: 60}))
	if err != nil {
		t.Fatal(err)
	}
	top, err := Top(recorded(p), query.Query{})
	if err != nil {
		t.Fatal(err)
	}
	kept := recorded(p)
	kept[0] = kept[0].Numbered().Remembering(recording.NewMemo(1 << 20))
	rows := top.(*report.Top).Rows
	for _, r := range rows[:min(len(rows), 12)] {
		row := r.Name
		for _, steps := range [][]query.Step{nil, {{Op: query.Focus, Arg: "json|http"}}} {
			callers := query.Query{View: "sandwich", Arg: row, Steps: steps}
			if _, err := Sandwich(kept, callers); err != nil {
				continue // not on the stacks that are left
			}
			a, err := ask(kept, callers)
			if err != nil {
				t.Fatal(err)
			}
			if _, ok := recording.Recall[passing](a.rec, a.passing(row)); !ok {
				t.Errorf("nothing is kept of %s", row)
			}
			q := query.Query{View: "list", Arg: "^" + regexp.QuoteMeta(row) + "$", Steps: steps}
			got, err := List(kept, q)
			if err != nil {
				t.Fatal(err)
			}
			want, err := List(recorded(p), q)
			if err != nil {
				t.Fatal(err)
			}
			if !reflect.DeepEqual(got, want) {
				t.Errorf("%s %v: %+v, want %+v", row, steps, got, want)
			}
		}
	}
}
