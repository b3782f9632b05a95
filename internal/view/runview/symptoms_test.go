package runview

import (
	"fmt"
	"slices"
	"testing"

	"github.com/hone-perf/hone/internal/query"
	"github.com/hone-perf/hone/internal/recording"
	"github.com/hone-perf/hone/internal/report"
)

// TestSymptomsOfLeak holds that two seconds of a program that leaks are enough to say so, and that programs that only fill their tables are
// not said to.
func TestSymptomsOfLeak(t *testing.T) {
	for name, want := range map[string][]string{
		"advise/leaky":  {"stuck 50 main.lookup.func1 chan send", "memory 0 main.newHistory "},
		"havlak/havlak": nil,
		"leftpad/v1":    nil,
	} {
		rec, err := recording.Open("../../../testdata/docs/" + name + ".hone")
		if err != nil {
			t.Fatal(err)
		}
		defer rec.Close()
		r, err := Symptoms([]*recording.Recording{rec}, query.Query{})
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, s := range r.(*report.Symptoms).Symptoms {
			switch s.Kind {
			case report.SymptomLeaked, report.SymptomStuck, report.SymptomGoroutines, report.SymptomMemory:
				got = append(got, fmt.Sprintf("%s %d %s %s", s.Kind, s.Part, s.Where, s.Name))
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
}
