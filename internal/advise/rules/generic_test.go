package rules

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hone-perf/hone/internal/advise"
	"github.com/hone-perf/hone/internal/recording"
)

// TestReasonsInGenericCode holds that the reason for an allocation in a generic function is found where only the tests of the package call it
// with types.
func TestReasonsInGenericCode(t *testing.T) {
	if testing.Short() {
		t.Skip("runs the go command")
	}
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		"go.mod":      "module example.com/box\n\ngo 1.24\n",
		"box.go":      "package box\n\ntype Box[T any] struct{ in T }\n\nfunc (b *Box[T]) Fresh() *Box[T] {\n\treturn &Box[T]{b.in} // cost: runtime.newobject\n}\n",
		"box_test.go": "package box\n\nimport \"testing\"\n\nfunc TestFresh(t *testing.T) { t.Log((&Box[int]{1}).Fresh()) }\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	m := newProfile()
	m.stack(filepath.Join(dir, "box.go"), 1000, "runtime.newobject", 0, "example.com/box.(*Box[...]).Fresh", 6)
	a, err := advise.Run(t.Context(), []*advise.Rule{hotObjects}, []*recording.Recording{{Ref: "made.pprof", Profile: m.profile(t)}}, advise.Options{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	if len(a.Findings) != 1 || !strings.Contains(a.Findings[0].Escape, "it has to outlive the function that returns it") {
		t.Errorf("found %+v with the notes %q; want one finding with the reason", a.Findings, a.Notes)
	}
}
