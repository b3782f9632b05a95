package runview

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hone-perf/hone/internal/query"
	"github.com/hone-perf/hone/internal/recording"
	"github.com/hone-perf/hone/internal/report"
	"github.com/hone-perf/hone/internal/view/profileview"
)

// TestSymptomsOfLeak holds that two seconds of a program that leaks are enough to say so, and that programs that only fill their tables are
// not said to.
func TestSymptomsOfLeak(t *testing.T) {
	for name, want := range map[string][]string{
		"advise/leaky":  {"stuck 50 main.lookup.func1 chan send", "memory 21751802 main.newHistory "},
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

// TestSymptomsOfLeakProfile holds that what the runtime says of leaked goroutines is read as each version of Go writes it. The profiles are of
// testdata/leak/main.go: Go 1.26 built with GOEXPERIMENT=goroutineleakprofile.
func TestSymptomsOfLeakProfile(t *testing.T) {
	for _, version := range []string{"go1.26.8", "go1.27.3"} {
		dir := t.TempDir()
		leaks, err := os.ReadFile(filepath.Join("testdata", "leak", version+".pb.gz"))
		if err != nil {
			t.Fatal(err)
		}
		for name, text := range map[string][]byte{
			recording.PartFile(recording.Leaks, 0, time.Second): leaks,
			recording.MetricsFile:                               []byte(`{"t": 0, "go/goroutines": 10}` + "\n" + `{"t": 1000, "go/goroutines": 10}` + "\n"),
		} {
			file := filepath.Join(dir, filepath.FromSlash(name))
			if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(file, text, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		if err := recording.WriteManifest(dir, &recording.Manifest{Format: recording.Format, How: recording.Built}); err != nil {
			t.Fatal(err)
		}
		rec, err := recording.Open(dir)
		if err != nil {
			t.Fatal(err)
		}
		defer rec.Close()
		r, err := Symptoms([]*recording.Recording{rec}, query.Query{})
		if err != nil {
			t.Fatal(err)
		}
		list := r.(*report.Symptoms).Symptoms
		if len(list) != 1 || list[0].Kind != report.SymptomLeaked || list[0].Part != 6 || list[0].Where != "main.lookup.func1" {
			t.Errorf("%s: %+v", version, list)
		}
		picked, _, err := rec.Pick("goroutineleak", 0, 0)
		if err != nil {
			t.Fatal(err)
		}
		g, err := profileview.Goroutines([]*recording.Recording{picked}, query.Query{})
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, g := range g.(*report.Goroutines).Groups {
			got = append(got, fmt.Sprint(g.Count, g.States, g.Where.Name))
		}
		if want := []string{"5 [chan send]main.lookup.func1", "1 [chan receive]main.main.func2"}; !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", version, got, want)
		}
	}
}

// TestCollecting holds that a program that has to wait for cores is not said to collect garbage more than it does: the runtime counts the
// time that threads wait.
func TestCollecting(t *testing.T) {
	for _, test := range []struct {
		name          string
		cpu, gc, idle float64 // in each second; the runtime counts two cores
		unusual       bool
	}{
		{"alone", 1.6, 0.2, 0.4, false},
		{"alone, and much", 1.6, 0.8, 0.4, true},
		{"starved", 0.2, 0.2, 0.4, false},
		{"starved, and much", 0.2, 0.8, 0.4, true},
	} {
		dir := t.TempDir()
		var lines strings.Builder
		for sec := range 11 {
			n := float64(sec)
			fmt.Fprintf(&lines, `{"t": %d, "process/cpu": %g, "%s": %g, "%s": %g, "%s": %g, "%s": 0}`+"\n", sec*1000, n*test.cpu, metricGC, n*test.gc, metricCPU, n*2, metricIdle, n*test.idle, metricIdleGC)
		}
		if err := os.WriteFile(filepath.Join(dir, recording.MetricsFile), []byte(lines.String()), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := recording.WriteManifest(dir, &recording.Manifest{Format: recording.Format, How: recording.Built}); err != nil {
			t.Fatal(err)
		}
		rec, err := recording.Open(dir)
		if err != nil {
			t.Fatal(err)
		}
		defer rec.Close()
		in := []*recording.Recording{rec}
		r, err := Symptoms(in, query.Query{})
		if err != nil {
			t.Fatal(err)
		}
		share := test.gc / (2 - test.idle)
		list := r.(*report.Symptoms).Symptoms
		if len(list) > 0 != test.unusual {
			t.Errorf("%s: %+v, and the share is %v", test.name, list, share)
		}
		for _, s := range list {
			if got := float64(s.Part) / float64(s.Whole); s.Kind != report.SymptomGC || math.Abs(got-share) > 0.001 {
				t.Errorf("%s: %+v is %v, want %v", test.name, s, got, share)
			}
		}
		r, err = Timeline(in, query.Query{})
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range r.(*report.Timeline).Points[1:] {
			if math.Abs(p.GC-share*p.CPU) > 0.001 {
				t.Errorf("%s: at %v, %v of %v cores collect, want %v", test.name, p.At, p.GC, p.CPU, share*p.CPU)
			}
		}
	}
}
