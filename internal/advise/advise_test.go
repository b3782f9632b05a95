package advise

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/hone-perf/hone/internal/heapgraph"
	"github.com/hone-perf/hone/internal/heapgraph/heapgraphtest"
	"github.com/hone-perf/hone/internal/profile"
	"github.com/hone-perf/hone/internal/recording"
)

// An interrupted Run returns no answer: one without findings would look like a program in which there is nothing to find.
func TestInterruptedIsNoAnswer(t *testing.T) {
	dir, main := module(t, "package main\n\nfunc main() {}\n")
	in := sampled(t, "main.main", main, 3, 3)
	for _, interrupted := range []bool{false, true} {
		ctx, interrupt := context.WithCancel(t.Context())
		rule := &Rule{Name: "last", Find: func(*Pass) {
			if interrupted {
				interrupt()
			}
		}}
		a, err := Run(ctx, []*Rule{rule}, in, Options{Dir: dir})
		interrupt()
		if !interrupted && err != nil || interrupted && (a != nil || !errors.Is(err, context.Canceled)) {
			t.Errorf("interrupted: %t: Run = %+v, %v", interrupted, a, err)
		}
	}
}

// The compiler makes functions of calls in go and defer statements, which begin at the statement.
func TestCallsOfStatements(t *testing.T) {
	dir, main := module(t, "package main\n\nfunc main() {\n\tgo work(1)\n\tdefer work(2)\n}\n\nfunc work(int) {}\n")
	for _, tt := range []struct {
		function string
		line     int64
	}{{"main.main.gowrap1", 4}, {"main.main.deferwrap2", 5}} {
		var costs []int
		rule := &Rule{Name: "costs", Find: func(p *Pass) {
			for line := range p.Lines {
				costs = append(costs, line)
			}
		}}
		a, err := Run(t.Context(), []*Rule{rule}, sampled(t, tt.function, main, tt.line, tt.line), Options{Dir: dir})
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(costs, []int{int(tt.line)}) || len(a.Notes) > 0 {
			t.Errorf("%s: lines %d have a cost, and the notes are %q", tt.function, costs, a.Notes)
		}
	}
}

// module returns the folder of a module with one file, and the file.
func module(t *testing.T, text string) (dir, file string) {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	file = filepath.Join(dir, "main.go")
	for name, text := range map[string]string{filepath.Join(dir, "go.mod"): "module example.com/m\n\ngo 1.25\n", file: text} {
		if err := os.WriteFile(name, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	return dir, file
}

// sampled returns a recording of a second on a line.
func sampled(t *testing.T, function, file string, start, line int64) []*recording.Recording {
	t.Helper()
	b := profile.NewBuilder(profile.Header{SampleTypes: []profile.ValueType{{Type: "cpu", Unit: "nanoseconds"}}})
	b.Functions = []profile.Function{{Name: function, SystemName: function, File: file, StartLine: start}}
	b.Locations = []profile.Location{{Mapping: profile.NoMapping, Lines: []profile.Line{{Function: 0, Line: line}}}}
	b.Renumber()
	b.Add([]uint32{0}, 0, []int64{1e9})
	p, err := b.Profile()
	if err != nil {
		t.Fatal(err)
	}
	return []*recording.Recording{{Ref: "cpu", Profile: p}}
}

// Who holds memory is no cost, and so nothing that findings could be about, however long it is recorded.
func TestHeldIsForeign(t *testing.T) {
	p, _, err := heapgraph.Profile(heapgraphtest.Leaky(3, 3))
	if err != nil {
		t.Fatal(err)
	}
	rec := recording.Made("held.hone", &recording.Manifest{}, map[string]*profile.Profile{recording.Held: p})
	if _, err := Run(t.Context(), nil, []*recording.Recording{rec}, Options{}); !errors.Is(err, ErrForeign) {
		t.Errorf("the error is %v, want %v", err, ErrForeign)
	}
}
