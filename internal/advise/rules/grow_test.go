package rules

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hone-perf/hone/internal/advise"
	"github.com/hone-perf/hone/internal/recording"
)

// TestOlderGo holds that a module that promises to build with an older Go gets no patch with what that does not have.
func TestOlderGo(t *testing.T) {
	if testing.Short() {
		t.Skip("runs the go command")
	}
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		"go.mod": "module example.com/old\n\ngo 1.16\n",
		"main.go": `package main

import (
	"fmt"
	"reflect"
)

type list struct{ items []int }

func (l *list) texts(f func(int) string) (out []string) {
	for _, x := range l.items {
		out = append(out, f(x)) // cost: runtime.growslice runtime.mallocgc
	}
	return out
}

func (l *list) more(f func(int) string) (out []string) {
	out = append(out, "first")
	for _, x := range l.items {
		out = append(out, f(x)) // cost: runtime.growslice runtime.mallocgc
	}
	return out
}

func same(a, b []int) bool {
	return reflect.DeepEqual(a, b) // cost: reflect.DeepEqual
}

func main() {
	l := &list{[]int{1, 2}}
	text := func(x int) string { return fmt.Sprint(x) }
	fmt.Println(l.texts(text), l.more(text), (&list{}).texts(text) == nil, same(nil, l.items))
}
`,
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	p := newProfile()
	p.read(t, filepath.Join(dir, "main.go"), "main")
	a, err := advise.Run(t.Context(), []*advise.Rule{preallocSlice, reflectHot}, []*recording.Recording{{Ref: "made.pprof", Profile: p.profile(t)}}, advise.Options{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	if len(a.Findings) != 3 {
		t.Fatalf("%d findings, want 3: %+v", len(a.Findings), a.Findings)
	}
	for _, f := range a.Findings {
		fixes := len(f.Fixes)
		switch {
		case strings.HasSuffix(f.Where.Function, ".texts"):
			if fixes != 1 || !strings.Contains(f.Fixes[0].Patch, "+\tif len(l.items) > 0 {\n+\t\tout = make([]string, 0, len(l.items))\n+\t}\n") {
				t.Errorf("a result that is nil until then: %d patches: %+v", fixes, f.Fixes)
			}
		case strings.HasSuffix(f.Where.Function, ".same"):
			if fixes != 1 || !strings.Contains(f.Fixes[0].Patch, "+\treturn equalLists(a, b)") {
				t.Errorf("lists compared without type parameters: %d patches: %+v", fixes, f.Fixes)
			}
		case fixes != 0:
			t.Errorf("%s: a patch for a slice that has something in it: %s", f.Where.Function, f.Fixes[0].Patch)
		}
	}
}
