package prove

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/hone-perf/hone/internal/prove/worker"
)

// What takes a thousand times as long as the rest is called rarely, and what is larger is not tried to find out.
func TestDearCalls(t *testing.T) {
	const build, find = 0, 1
	program := func(size int64) *worker.Program {
		return &worker.Program{Steps: []worker.Step{
			{Func: build, Args: []worker.Value{{Kind: worker.Int, Int: size}}},
			{Func: find, Args: []worker.Value{{Kind: worker.Ref}}},
		}}
	}
	f := &search{gen: &gen{costs: make(costs), rng: rand.New(rand.NewPCG(1, 1))}}
	for range costKnown {
		f.costs.took(program(-100), 10*time.Microsecond)
		f.costs.took(program(0), 20*time.Microsecond)
		f.costs.took(program(100), 400*time.Millisecond)
	}
	for _, tt := range []struct {
		size        int64
		least, most int
	}{{-5, 0, 0}, {0, 0, 0}, {1, 0, 0}, {100, 970, 999}, {1 << 40, 970, 999}} {
		dear := 0
		for range 1000 {
			if f.tooDear(&target{entry: &entry{id: find}}, program(tt.size)) {
				dear++
			}
		}
		if dear < tt.least || dear > tt.most {
			t.Errorf("of size %d, %d of 1000 calls are left out; want %d to %d", tt.size, dear, tt.least, tt.most)
		}
	}
	// Where each call takes long, none is too dear.
	slow := &search{gen: &gen{costs: make(costs), rng: rand.New(rand.NewPCG(1, 1))}}
	for range costKnown {
		slow.costs.took(program(1), 100*time.Millisecond)
	}
	if slow.tooDear(&target{entry: &entry{id: find}}, program(1)) {
		t.Error("a call is left out that is as quick as they get")
	}
	// One that was slow but once may have been slow by chance.
	slow.costs.took(program(1), time.Millisecond)
	if got := slow.costs.most(program(1)); got != time.Millisecond {
		t.Errorf("it costs %v", got)
	}
}
