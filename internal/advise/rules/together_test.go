package rules

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/hone-perf/hone/internal/report"
)

// The patches of all findings can be applied together: what they declare has different names, and no two of them change one line.
func TestPatchesTogether(t *testing.T) {
	const src = `package main

import (
	"encoding/json"
	"fmt"
	"io"
	"math/big"
	"os"
	"strings"
)

func kind(v any) int {
	switch v.(type) {
	case json.Number, int:
		return 1
	}
	return 0
}

func isInteger(num any) bool {
	rat, ok := new(big.Rat).SetString(fmt.Sprint(num)) // cost: fmt.Sprint fmt.(*pp).doPrint
	return ok && rat.IsInt()
}

func equal(a, b any) bool {
	x, ok1 := new(big.Rat).SetString(fmt.Sprint(a)) // cost: fmt.Sprint fmt.(*pp).doPrint
	y, ok2 := new(big.Rat).SetString(fmt.Sprint(b)) // cost: fmt.Sprint fmt.(*pp).doPrint
	return ok1 && ok2 && x.Cmp(y) == 0
}

func two(w io.Writer, a, b int) {
	fmt.Fprintf(w, "%d %d\n", a, b) // cost: fmt.Fprintf fmt.(*pp).doPrintf
	fmt.Fprintf(w, "%d-%d\n", a, b) // cost: fmt.Fprintf fmt.(*pp).doPrintf
}

func search(names []string, query string) (hits int) {
	for _, name := range names {
		for _, w := range strings.Fields(query) { // cost: strings.Fields
			if strings.Contains(name, w) {
				hits++
			}
		}
	}
	return hits
}

func main() {
	fmt.Println(kind(json.Number("1")), isInteger(json.Number("12")), equal(json.Number("1"), 1), search([]string{"ab"}, "a b"))
	two(os.Stdout, 1, 2)
}
`
	found := adviseAll(t, src)
	var edits []report.Edit
	fixed := map[string][]int{}
	for _, f := range found {
		if len(f.Fixes) > 0 {
			for _, e := range f.Fixes[0].Edits {
				if !slices.Contains(edits, e) { // an import that several patches add
					edits = append(edits, e)
				}
			}
			fixed[f.Rule] = append(fixed[f.Rule], f.Where.Line)
		}
	}
	for rule, want := range map[string]int{"fmt-text": 2, "write-joined": 2, "same-each-round": 1, "split-one": 0} {
		if len(fixed[rule]) != want {
			t.Errorf("%s has patches for the lines %v, want %d", rule, fixed[rule], want)
		}
	}
	slices.SortStableFunc(edits, func(a, b report.Edit) int { return a.Start - b.Start })
	text := src
	for _, e := range slices.Backward(edits) {
		text = text[:e.Start] + e.New + text[e.End:]
	}
	if strings.Contains(text, "fmt.Sprint(a)") || strings.Contains(text, "fmt.Sprint(b)") || !strings.Contains(text, "case json.Number:\n\t\treturn x.String()") {
		t.Errorf("calls of fmt stay, or numbers of JSON are not looked for:\n%s", text)
	}
	dir := t.TempDir()
	for name, text := range map[string]string{"main.go": text, "go.mod": "module example.com/one\n\ngo 1.26\n"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.Command("go", "run", ".")
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	if err != nil || string(out) != "1 true true 2\n1 2\n1-2\n" {
		t.Errorf("with all patches: %v\n%s\n%s", err, out, text)
	}
}
