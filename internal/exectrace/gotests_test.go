package exectrace

import (
	"encoding/binary"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"

	"github.com/hone-perf/hone/internal/testrun"
)

// wireNames are the names of events in the order of their types, as Go's own tests write them.
var wireNames = strings.Fields(`- EventBatch Stacks Stack Strings String CPUSamples CPUSample Frequency ProcsChange ProcStart ProcStop ProcSteal ProcStatus
	GoCreate GoCreateSyscall GoStart GoDestroy GoDestroySyscall GoStop GoBlock GoUnblock GoSyscallBegin GoSyscallEnd GoSyscallEndBlocked GoStatus
	STWBegin STWEnd GCActive GCBegin GCEnd GCSweepActive GCSweepBegin GCSweepEnd GCMarkAssistActive GCMarkAssistBegin GCMarkAssistEnd HeapAlloc HeapGoal
	GoLabel UserTaskBegin UserTaskEnd UserRegionBegin UserRegionEnd UserLog GoSwitch GoSwitchDestroy GoCreateBlocked GoStatusStack ExperimentalBatch
	Sync ClockSnapshot EndOfGeneration`)

// fromText turns the text form of a trace into a trace.
func fromText(text string) ([]byte, error) {
	var b []byte
	number := func(field string) error {
		_, value, _ := strings.Cut(field, "=")
		v, err := strconv.ParseUint(value, 0, 64)
		b = binary.AppendUvarint(b, v)
		return err
	}
	for line := range strings.Lines(text) {
		fields := strings.Fields(line)
		if len(fields) == 0 {
			continue
		}
		if version, ok := strings.CutPrefix(strings.TrimSpace(line), "Trace Go"); ok {
			b = fmt.Appendf(b, "go %s trace\x00\x00\x00", version)
			continue
		}
		if data, ok := strings.CutPrefix(strings.TrimSpace(line), "data="); ok {
			s, err := strconv.Unquote(data)
			if err != nil {
				return nil, err
			}
			b = binary.AppendUvarint(b, uint64(len(s)))
			b = append(b, s...)
			continue
		}
		if line[0] != '\t' {
			kind := slices.Index(wireNames, fields[0])
			if kind < 0 {
				return nil, fmt.Errorf("no event is called %s", fields[0])
			}
			b = append(b, byte(kind))
			fields = fields[1:]
		}
		for _, f := range fields {
			if err := number(f); err != nil {
				return nil, err
			}
		}
	}
	return b, nil
}

// goSource is the folder of Go's own tests of traces.
func goSource(t *testing.T) string {
	t.Helper()
	out, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		testrun.Missing(t, "no go command: %v", err)
	}
	return filepath.Join(strings.TrimSpace(string(out)), "src", "internal", "trace")
}

// TestGoTests holds that Go's own traces for tests are read as golang.org/x/exp/trace reads them: cases that are rare, such as a P that is taken
// from a thread with the number of one that is gone.
func TestGoTests(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(goSource(t), "testdata", "tests", "*.test"))
	if err != nil || len(files) == 0 {
		t.Skipf("this Go has no tests of traces: %v", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".test"), func(t *testing.T) {
			a, err := txtar.ParseFile(file)
			if err != nil {
				t.Fatal(err)
			}
			var text, expect string
			for _, f := range a.Files {
				switch f.Name {
				case "trace":
					text = string(f.Data)
				case "expect":
					expect = string(f.Data)
				}
			}
			b, err := fromText(text)
			if err != nil {
				t.Fatal(err)
			}
			ours, theirs := open(t, b), open(t, b)
			got := stories(t, ours, ours.whole)
			if !strings.HasPrefix(expect, "SUCCESS") {
				return
			}
			want := stories(t, theirs, theirs.library)
			if d := ours.Damage(); len(d) > 0 {
				t.Errorf("damage: %v", d)
			}
			for _, about := range slices.Sorted(maps.Keys(want)) {
				if !slices.Equal(got[about], want[about]) {
					t.Errorf("%s:\n%s", about, firstDifference(got[about], want[about]))
				}
			}
		})
	}
}

// TestOldTraces holds that traces of Go 1.11 to 1.21 are read.
func TestOldTraces(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(goSource(t), "internal", "tracev1", "testdata", "*_good"))
	if err != nil || len(files) == 0 {
		t.Skipf("this Go has no old traces: %v", err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			b, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			tr := open(t, b)
			n := 0
			for e, err := range tr.Events() {
				if err != nil {
					t.Fatal(err)
				}
				if e.Kind == Change {
					n++
				}
			}
			if n == 0 || len(tr.Damage()) > 0 {
				t.Errorf("%d changes of goroutines, damage %v", n, tr.Damage())
			}
		})
	}
}
