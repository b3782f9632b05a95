package profileview

import (
	"encoding/json"
	"runtime"
	"testing"

	"github.com/hone-perf/hone/internal/profile"
	"github.com/hone-perf/hone/internal/profile/profiletest"
	"github.com/hone-perf/hone/internal/query"
	"github.com/hone-perf/hone/internal/recording"
)

// TestGraphOnCores holds that the graph is the same, in the same order, on however many cores the calls are found.
func TestGraphOnCores(t *testing.T) {
	p, err := profile.ParseBytes(profiletest.Bytes(profiletest.Config{Samples: 65_000, Functions: 300}))
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
