package profile

import (
	"fmt"
	"os"
	"testing"
	"time"
)

func TestZZ(t *testing.T) {
	fn := os.Getenv("ZZ")
	if fn == "" {
		return
	}
	f, _ := os.Open(fn)
	t0 := time.Now()
	p, err := Parse(f)
	if err != nil {
		t.Fatal(err)
	}
	d := 0
	var st []uint32
	for i := 0; i < p.NumSamples(); i++ {
		st = p.Stack(i, st[:0])
		d += len(st)
	}
	n := 0
	for _, r := range p.tree().runs {
		n += int(r.len)
	}
	fmt.Println("samples", p.NumSamples(), "contexts", p.NumContexts(), "frames", n, "per sample", float64(n)/float64(p.NumSamples()), "avg depth", float64(d)/float64(p.NumSamples()), "locs", len(p.Locations), "funcs", len(p.Functions), "sets", len(p.sets), time.Since(t0))
}
