package cli

import (
	"strings"
	"testing"

	"github.com/hone-perf/hone/internal/heapgraph"
	"github.com/hone-perf/hone/internal/heapgraph/heapgraphtest"
	"github.com/hone-perf/hone/internal/profile"
	"github.com/hone-perf/hone/internal/recording"
)

func TestLanding(t *testing.T) {
	for _, tt := range []struct {
		refs, base []string
		want       string
	}{
		{[]string{"run.hone"}, nil, "overview"},
		{[]string{"a.hone", "b.hone"}, nil, "overview"},
		{[]string{"cpu.pprof"}, nil, "flame"},
		{[]string{"run.hone", "cpu.pprof"}, nil, "flame"},
		{[]string{"localhost:6060"}, nil, "flame"},
		{[]string{"run.hone"}, []string{"old.hone"}, "flame"},
	} {
		if got := landing(tt.refs, tt.base); got != tt.want {
			t.Errorf("%v against %v opens %s, want %s", tt.refs, tt.base, got, tt.want)
		}
	}
}

// A page of who holds memory begins with that, where nothing else was recorded.
func TestOnlyView(t *testing.T) {
	held, _, err := heapgraph.Profile(heapgraphtest.Leaky(3, 3))
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		profiles map[string]*profile.Profile
		want     string
	}{
		{map[string]*profile.Profile{recording.Held: held}, "holders"},
		{map[string]*profile.Profile{recording.Held: held, recording.Goroutine: held}, ""},
		{map[string]*profile.Profile{recording.Goroutine: held}, ""},
	} {
		if got := onlyView(recording.Made("r", &recording.Manifest{}, tt.profiles)); got != tt.want {
			t.Errorf("%v: a page begins with %q, want %q", tt.profiles, got, tt.want)
		}
	}
	if got := onlyView(&recording.Recording{Ref: "held.pb.gz", Profile: held}); got != "holders" {
		t.Errorf("a page of a bare profile begins with %q", got)
	}
}

// The profiles that explain a difference between versions say that both are of as much work: their amounts are not those of longer or shorter runs.
func TestSidesOfWhy(t *testing.T) {
	p, _, err := heapgraph.Profile(heapgraphtest.Leaky(3, 3))
	if err != nil {
		t.Fatal(err)
	}
	sides := sidesOfWhy(&recording.Duel{Why: []recording.DuelWhy{{Name: "Work", Kind: recording.CPU, Iters: 500, Old: p, New: p}}}, nil, nil)
	for _, rec := range sides {
		if len(rec.Profile.Notes) != 1 || !strings.HasPrefix(rec.Profile.Notes[0], "it is of 500 operations, as is that of the other version") {
			t.Errorf("%s has the notes %q", rec.Ref, rec.Profile.Notes)
		}
	}
	if len(sides) != 2 {
		t.Errorf("there are %d sides", len(sides))
	}
}
