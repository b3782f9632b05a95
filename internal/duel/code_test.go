package duel

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/hone-perf/hone/internal/profile"
	"github.com/hone-perf/hone/internal/recording"
)

// named returns a profile with a sample in each of some functions: name file.
func named(t *testing.T, functions ...string) *profile.Profile {
	t.Helper()
	b := profile.NewBuilder(profile.Header{SampleTypes: []profile.ValueType{{Type: "cpu", Unit: "nanoseconds"}}})
	for i, f := range functions {
		name, file, _ := strings.Cut(f, " ")
		b.Functions = append(b.Functions, profile.Function{Name: name, File: file})
		b.Locations = append(b.Locations, profile.Location{Mapping: profile.NoMapping, Lines: []profile.Line{{Function: uint32(i)}}})
	}
	b.Renumber()
	for i := range functions {
		b.Add([]uint32{uint32(i)}, 0, []int64{int64(len(functions) - i)})
	}
	p, err := b.Profile()
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// Of the functions in profiles it says which were changed, and what the compiler makes of that.
func TestChangedCode(t *testing.T) {
	module := func(files map[string]string) string {
		dir := t.TempDir()
		files["go.mod"] = "module example.com/m\n\ngo 1.23\n"
		for name, text := range files {
			name = filepath.Join(dir, filepath.FromSlash(name))
			if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		return dir
	}
	const same = "\nfunc Same() int { return 1 }\n"
	old := codeSide{dir: module(map[string]string{
		"v1/a.go": "package a\n\ntype T struct{ n int }\n\nfunc (t *T) Put(n int) *int {\n\tx := n\n\treturn &x\n}\n" + same + "\nfunc Gone() int { return Same() }\n",
	}), module: "example.com/m", pkg: "v1"}
	new := codeSide{dir: module(map[string]string{
		"v2/b.go": "package a\n" + same + "\ntype T struct{ n int }\n\nfunc (t *T) Put(n int) int {\n\tt.n = n\n\treturn n\n}\n",
	}), module: "example.com/m", pkg: "v2"}
	before := named(t, "example.com/m/v1.(*T).Put.func1 example.com/m/v1/a.go", "example.com/m/v1.Gone example.com/m/v1/a.go",
		"example.com/m/v1.Same example.com/m/v1/a.go", "runtime.mallocgc runtime/malloc.go")
	after := named(t, "example.com/m/v2.(*T).Put example.com/m/v2/b.go", "example.com/m/v2.Same example.com/m/v2/b.go")
	got, err := changedCode(t.Context(), old, new, before, after)
	if err != nil {
		t.Fatal(err)
	}
	if len(got) != 2 {
		t.Fatalf("%d functions were changed, want 2: %+v", len(got), got)
	}
	// That chance takes a sample of a function on one side only is no change of its code.
	for _, seen := range [][2]*profile.Profile{{before, named(t, "example.com/m/v2.(*T).Put example.com/m/v2/b.go")}, {named(t, "example.com/m/v1.Gone example.com/m/v1/a.go"), after}} {
		again, err := changedCode(t.Context(), old, new, seen[0], seen[1])
		if err != nil {
			t.Fatal(err)
		}
		if len(again) != 2 || slices.ContainsFunc(again, func(c recording.DuelCode) bool { return strings.HasSuffix(c.Function, ".Same") }) {
			t.Errorf("these were changed: %+v", again)
		}
	}
	put, gone := got[0], got[1]
	if put.Function != "example.com/m/v2.(*T).Put" || !slices.Contains(put.Lost, "moved to heap: x") || len(put.Gained) > 0 {
		t.Errorf("Put was changed like this: %+v", put)
	}
	for _, want := range []string{"--- old/v1/a.go\n+++ new/v2/b.go\n", "\n-\tx := n\n", "\n+\tt.n = n\n"} {
		if !strings.Contains(put.Diff, want) {
			t.Errorf("the difference lacks %q:\n%s", want, put.Diff)
		}
	}
	if gone.Function != "example.com/m/v1.Gone" || !strings.Contains(gone.Diff, "\n-func Gone()") || !slices.Contains(gone.Lost, "inlining call to Same") {
		t.Errorf("Gone is gone like this: %+v", gone)
	}
}
