package rules

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/hone-perf/hone/internal/advise"
	"github.com/hone-perf/hone/internal/recording"
	"github.com/hone-perf/hone/internal/report"
	"github.com/hone-perf/hone/internal/report/missing"
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

func flat(rows map[int]map[int]string) []string {
	out := make([]string, 0)
	for _, row := range rows {
		for _, x := range row {
			out = append(out, x+"!") // cost: runtime.growslice runtime.mallocgc
		}
	}
	return out
}

func flatNil(rows [][]string) []string {
	var out []string
	for _, row := range rows {
		for _, x := range row {
			out = append(out, x+"!") // cost: runtime.growslice runtime.mallocgc
		}
	}
	return out
}

func late(read func() []string) []string {
	out := make([]string, 0)
	list := read()
	for _, x := range list {
		out = append(out, x+"!") // cost: runtime.growslice runtime.mallocgc
	}
	return out
}

func main() {
	l := &list{[]int{1, 2}}
	text := func(x int) string { return fmt.Sprint(x) }
	fmt.Println(l.texts(text), l.more(text), (&list{}).texts(text) == nil, same(nil, l.items), flat(nil), flatNil(nil), late(nil))
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
	if len(a.Findings) != 6 {
		t.Fatalf("%d findings, want 6: %+v", len(a.Findings), a.Findings)
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
		case strings.HasSuffix(f.Where.Function, ".flat"):
			if fixes != 1 || !strings.Contains(f.Fixes[0].Patch, "+\tn := 0\n+\tfor _, row := range rows {\n+\t\tn += len(row)\n+\t}\n+\tout := make([]string, 0, n)\n") {
				t.Errorf("lists of a map, counted first: %d patches: %+v", fixes, f.Fixes)
			}
		case strings.HasSuffix(f.Where.Function, ".flatNil"):
			if fixes != 1 || !strings.Contains(f.Fixes[0].Patch, "+\tif n > 0 {\n+\t\tout = make([]string, 0, n)\n+\t}\n") {
				t.Errorf("a list that is nil without elements, counted first: %d patches: %+v", fixes, f.Fixes)
			}
		case strings.HasSuffix(f.Where.Function, ".late"):
			if fixes != 1 || !strings.Contains(f.Fixes[0].Patch, "+\tout = make([]string, 0, len(list))\n") {
				t.Errorf("a list that is empty until the loop: %d patches: %+v", fixes, f.Fixes)
			}
		case fixes != 0:
			t.Errorf("%s: a patch for a slice that has something in it: %s", f.Where.Function, f.Fixes[0].Patch)
		}
	}
}

// Numbers are put into arrays where AppendUint32 and the like may not be there. Numbers that are written one after the other have arrays of
// other names.
func TestNumbersOfOlderGo(t *testing.T) {
	const src = `package main

import (
	"encoding/binary"
	"hash/fnv"
	"io"
)

func update(w io.Writer, a uint64, b int32) error {
	e1 := binary.Write(w, binary.LittleEndian, a) // cost: encoding/binary.Write encoding/binary.intDataSize
	if e1 != nil {
		return e1
	}
	if err := binary.Write(w, binary.BigEndian, b); err != nil { // cost: encoding/binary.Write encoding/binary.intDataSize
		return err
	}
	return binary.Write(w, binary.LittleEndian, uint16(b)) // cost: encoding/binary.Write encoding/binary.intDataSize
}

func writer() io.Writer { return fnv.New64() }

func last(a uint64) (ok bool) {
	binary.Write(writer(), binary.LittleEndian, a) // cost: encoding/binary.Write encoding/binary.intDataSize
	if ok {
		return true
	} else if err := binary.Write(fnv.New64(), binary.LittleEndian, a); err != nil { // cost: encoding/binary.Write encoding/binary.intDataSize
		return false
	}
	return true
}

func main() {
	for {
		update(writer(), 1, 2)
		last(3)
	}
}
`
	want := map[string]string{
		"e1 := ":                   "+\tvar aBytes [8]byte\n+\tbinary.LittleEndian.PutUint64(aBytes[:], a)\n+\t_, e1 := w.Write(aBytes[:])",
		"if err := binary.Write(w": "+\tvar bBytes [4]byte\n+\tbinary.BigEndian.PutUint32(bBytes[:], uint32(b))\n+\tif _, err := w.Write(bBytes[:]); err != nil {",
		"return binary":            "+\tvar number [2]byte\n+\tbinary.LittleEndian.PutUint16(number[:], uint16(b))\n+\t_, err2 := w.Write(number[:])\n+\treturn err2",
		"binary.Write(writer":      "",
		"} else if err":            "",
	}
	found := adviseOnGo(t, "1.16", src, nil)
	for at, patch := range want {
		i := slices.IndexFunc(found, func(f report.Finding) bool { return f.Where.Line == lineOf(src, at) && f.Rule == "binary-reflect" })
		if i < 0 {
			t.Errorf("%s: nothing found: %+v", at, found)
			continue
		}
		f := found[i]
		if patch == "" {
			if len(f.Fixes) != 0 || f.Missing.Fact != missing.OlderGo {
				t.Errorf("%s: %+v, %v; want no patch", at, f.Fixes, f.Missing)
			}
			continue
		}
		if len(f.Fixes) != 1 || !strings.Contains(strings.ReplaceAll(f.Fixes[0].Patch, " // cost: encoding/binary.Write encoding/binary.intDataSize", ""), patch) {
			t.Errorf("%s: %+v, %v; want %s", at, f.Fixes, f.Missing, patch)
		}
	}
}
