package prove

import (
	"context"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/hone-perf/hone/internal/prove/worker"
)

// What looked like a difference and had no time to be confirmed is a doubt, and not a difference.
func TestSuspectWithoutTimeIsADoubt(t *testing.T) {
	f := &search{gen: &gen{surface: &surface{entries: []*entry{{name: "Parse"}}}}, vary: newVary(0)}
	f.opt.Time, f.end = time.Hour, time.Now().Add(30*time.Minute)
	f.looked = 10 * time.Minute // of 30
	p := &worker.Program{Steps: []worker.Step{{}}}
	if d, err := f.suspects(t.Context(), nil, p); d != nil || err != nil {
		t.Fatalf("it is %v, %v; want it left for later", d, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := f.settle(ctx); err != nil || !slices.Equal(f.open, []string{"Parse"}) {
		t.Errorf("open are %q, %v; want Parse", f.open, err)
	}
}

// Where a function varies each time, little is called again, but some always is.
func TestWhatVariesEachTimeIsSeldomCalledAgain(t *testing.T) {
	f := &search{gen: &gen{surface: &surface{entries: []*entry{{name: "New"}}}, rng: rand.New(rand.NewPCG(1, 1))}, vary: newVary(0)}
	p := &worker.Program{Steps: []worker.Step{{}}}
	n := 0
	for range 10_000 {
		if list := f.veil(nil, p, nil, nil, []apart{content}, []bool{false}); len(list) > 0 {
			n++
			f.stirs[list[0].kind]++
		}
	}
	if n < 2*mostStirs || n > 1000 {
		t.Errorf("%d of 10,000 calls are made again; want some hundred", n)
	}
	if n := len(f.veil(nil, p, nil, nil, []apart{content}, []bool{true})); n != 1 {
		t.Error("a call of it that takes what varies is not looked into, since others vary")
	}
}
