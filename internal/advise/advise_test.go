package advise

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/hone-perf/hone/internal/profile"
	"github.com/hone-perf/hone/internal/recording"
)

// An interrupted Run returns no answer: one without findings would look like a program in which there is nothing to find.
func TestInterruptedIsNoAnswer(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	main := filepath.Join(dir, "main.go")
	for name, text := range map[string]string{filepath.Join(dir, "go.mod"): "module example.com/m\n\ngo 1.25\n", main: "package main\n\nfunc main() {}\n"} {
		if err := os.WriteFile(name, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	b := profile.NewBuilder(profile.Header{SampleTypes: []profile.ValueType{{Type: "cpu", Unit: "nanoseconds"}}})
	b.Functions = []profile.Function{{Name: "main.main", SystemName: "main.main", File: main, StartLine: 3}}
	b.Locations = []profile.Location{{Mapping: profile.NoMapping, Lines: []profile.Line{{Function: 0, Line: 3}}}}
	b.Renumber()
	b.Add([]uint32{0}, 0, []int64{1e9})
	p, err := b.Profile()
	if err != nil {
		t.Fatal(err)
	}
	in := []*recording.Recording{{Ref: "cpu", Profile: p}}
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
