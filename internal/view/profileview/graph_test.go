package profileview

import (
	"encoding/json"
	"reflect"
	"runtime"
	"testing"

	"github.com/hone-perf/hone/internal/profile"
	"github.com/hone-perf/hone/internal/profile/profiletest"
	"github.com/hone-perf/hone/internal/query"
	"github.com/hone-perf/hone/internal/recording"
)

// TestGraphOnCores holds that the graph is the same, in the same order, on however many cores the calls are found.
func TestGraphOnCores(t *testing.T) {
	p, err := profile.ParseBytes(profiletest.Bytes(profiletest.Config{Samples: 125_000, Functions: 300}))
	if err != nil {
		t.Fatal(err)
	}
	cores := runtime.GOMAXPROCS(0)
	defer runtime.GOMAXPROCS(cores)
	var want []byte
	for _, n := range []int{1, 3} {
		runtime.GOMAXPROCS(n)
		r, err := Graph([]*recording.Recording{{Profile: p}}, query.Query{})
		if err != nil {
			t.Fatal(err)
		}
		got, err := json.Marshal(r)
		if err != nil {
			t.Fatal(err)
		}
		if want == nil {
			want = got
		}
		if string(got) != string(want) || len(got) < 1000 {
			t.Errorf("with %d cores the graph is another one: %d bytes, and %d", n, len(got), len(want))
		}
	}
}

// TestGraphKnown checks that a graph is the same whether its calls were found when it was asked for, before in several goes, in part, or for another one.
func TestGraphKnown(t *testing.T) {
	p, err := profile.ParseBytes(profiletest.Bytes(profiletest.Config{Samples: 10_000, Functions: 600}))
	if err != nil {
		t.Fatal(err)
	}
	remembering := func() *recording.Recording {
		return (&recording.Recording{Profile: p}).Numbered().Remembering(recording.NewMemo(16 << 20))
	}
	for _, q := range []query.Query{{}, {Limit: 20}, {Positive: true}} {
		want, err := Graph(recorded(p), q)
		if err != nil {
			t.Fatal(err)
		}
		before := remembering()
		goes := 0
		for search := SearchGraph(before, q); !search.Done(); goes++ {
			asked := 0
			search.Go(func() bool { asked++; return asked > 2 })
		}
		if goes < 2 {
			t.Errorf("%v: the calls were found in %d goes", q, goes)
		}
		begun := remembering()
		asked := 0
		SearchGraph(begun, q).Go(func() bool { asked++; return asked > 2 })
		if SearchGraph(begun, q).Done() {
			t.Errorf("%v: all calls were found in one go", q)
		}
		again := remembering()
		if _, err := Graph([]*recording.Recording{again}, query.Query{Limit: 40, Positive: q.Positive}); err != nil {
			t.Fatal(err)
		}
		for name, rec := range map[string]*recording.Recording{"before": before, "in part": begun, "for another one": again} {
			got, err := Graph([]*recording.Recording{rec}, q)
			if err != nil {
				t.Fatal(err)
			}
			if !reflect.DeepEqual(got, want) {
				t.Errorf("%v: with calls found %s, it is another graph", q, name)
			}
			if !SearchGraph(rec, q).Done() {
				t.Errorf("%v: with calls found %s, they were not kept", q, name)
			}
		}
	}
}
