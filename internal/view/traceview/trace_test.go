package traceview

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/hone-perf/hone/internal/query"
	"github.com/hone-perf/hone/internal/recording"
	"github.com/hone-perf/hone/internal/report"
)

// TestRunningIsNotOnCPU holds that the overview of a trace has the CPU time that the recording of the same run measured: a trace does not know what the
// system gave to other programs.
func TestRunningIsNotOnCPU(t *testing.T) {
	trace, err := os.ReadFile("../../../testdata/trace/shop.trace")
	if err != nil {
		t.Fatal(err)
	}
	of := func(name string, seconds float64) *report.Execution {
		t.Helper()
		dir := t.TempDir()
		if err := recording.WriteManifest(dir, &recording.Manifest{Format: recording.Format, How: recording.Built}); err != nil {
			t.Fatal(err)
		}
		metrics := fmt.Sprintf(`{"t":10,"process/cpu":%f}`+"\n"+`{"t":110,"process/cpu":%f}`+"\n", 0.1*seconds, 1.1*seconds)
		for file, text := range map[string][]byte{name: trace, recording.MetricsFile: []byte(metrics)} {
			if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, file)), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(dir, file), text, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		rec, err := recording.Open(dir)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { rec.Close() })
		r, err := Execution([]*recording.Recording{rec}, query.Query{})
		if err != nil {
			t.Fatal(err)
		}
		return r.(*report.Execution)
	}
	notes := func(e *report.Execution) (n int) {
		for b := range e.Blocks() {
			if _, ok := b.(report.Note); ok {
				n++
			}
		}
		return n
	}
	// Goroutines ran for 50 ms of its 110.
	little, enough := of(recording.TraceFile, 0.01), of(recording.TraceFile, 0.08)
	if want := int64(11 * time.Millisecond); little.OnCPU < want*95/100 || little.OnCPU > want || notes(little) != 1 {
		t.Errorf("with 11 ms of CPU it says %v, with %d notes", time.Duration(little.OnCPU), notes(little))
	}
	if want := int64(88 * time.Millisecond); enough.OnCPU < want*95/100 || enough.OnCPU > want || notes(enough) != 0 {
		t.Errorf("with 88 ms of CPU it says %v, with %d notes", time.Duration(enough.OnCPU), notes(enough))
	}
	// What a flight recorder kept begins at some time of the run.
	if e := of(recording.FlightDir+"/1.out", 0.01); e.OnCPU != 0 {
		t.Errorf("of a flight recording it says %v", time.Duration(e.OnCPU))
	}
}
