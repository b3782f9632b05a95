package rules

import (
	"math"
	"os"
	"path/filepath"
	"testing"

	"github.com/hone-perf/hone/internal/advise"
	"github.com/hone-perf/hone/internal/profile"
	"github.com/hone-perf/hone/internal/recording"
)

// Code that allocates one small object for each run is no finding when the only sample of that makes it look like a twentieth of all
// objects; code of which as large a part shows in many samples is one.
func TestOneSampleOfSmallObjectsIsNoFinding(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	main := filepath.Join(dir, "main.go")
	for name, text := range map[string]string{
		filepath.Join(dir, "go.mod"): "module example.com/m\n\ngo 1.25\n",
		main:                         "package main\n\ntype graph struct{ root [14]*int }\n\nfunc newGraph() *graph {\n\treturn &graph{}\n}\n\nfunc main() { newGraph() }\n",
	} {
		if err := os.WriteFile(name, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	const rate, size = 512 << 10, 112
	for samples, want := range map[int64]int{1: 0, 2: 0, 60: 1} {
		b := profile.NewBuilder(profile.Header{
			SampleTypes: []profile.ValueType{{Type: "alloc_objects", Unit: "count"}, {Type: "alloc_space", Unit: "bytes"}},
			PeriodType:  profile.ValueType{Type: "space", Unit: "bytes"}, Period: rate,
		})
		b.Functions = []profile.Function{
			{Name: "main.newGraph", SystemName: "main.newGraph", File: main, StartLine: 5},
			{Name: "main.main", SystemName: "main.main", File: main, StartLine: 9},
		}
		b.Locations = []profile.Location{
			{Mapping: profile.NoMapping, Lines: []profile.Line{{Function: 0, Line: 6}}}, {Mapping: profile.NoMapping, Lines: []profile.Line{{Function: 1, Line: 9}}},
		}
		b.Renumber()
		objects := int64(math.Round(float64(samples) / -math.Expm1(-float64(size)/rate)))
		b.Add([]uint32{0, 1}, 0, []int64{objects, objects * size})
		b.Add([]uint32{1}, 0, []int64{11 * objects, 11 * objects * size})
		p, err := b.Profile()
		if err != nil {
			t.Fatal(err)
		}
		a, err := advise.Run(t.Context(), []*advise.Rule{objectPerCall}, []*recording.Recording{{Ref: "heap", Profile: p}}, advise.Options{Dir: dir})
		if err != nil {
			t.Fatal(err)
		}
		if len(a.Findings) != want {
			t.Errorf("%d samples, of 12 times as many: %d findings, want %d: %+v", samples, len(a.Findings), want, a.Findings)
		}
	}
}
