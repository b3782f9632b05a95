package calls

import (
	"runtime"
	"slices"
	"testing"

	"github.com/hone-perf/hone/internal/profile"
	"github.com/hone-perf/hone/internal/profile/profiletest"
)

// Several cores add up what one does.
func TestColumnOnCores(t *testing.T) {
	p, err := profile.ParseBytes(profiletest.Bytes(profiletest.Config{Samples: 3001}))
	if err != nil {
		t.Fatal(err)
	}
	b := NewBuilder(Measure{Profile: p}, NewFrameTable(p, Detail{Function: true}, func(s string) string { return s }))
	wantFlat, want := b.Column(p.Values(0))
	defer func(many, cores int) { manySamples = many; runtime.GOMAXPROCS(cores) }(manySamples, runtime.GOMAXPROCS(3))
	manySamples = 900
	flat, sums := b.Column(p.Values(0))
	if !slices.Equal(flat, wantFlat) || !slices.Equal(sums, want) {
		t.Errorf("on three cores the costs of frames are others")
	}
}
