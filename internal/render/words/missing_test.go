package words

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/hone-perf/hone/internal/report/missing"
)

// TestMissing holds that each fact has a sentence, and is one that some rule misses.
func TestMissing(t *testing.T) {
	f, err := parser.ParseFile(token.NewFileSet(), "../../report/missing/missing.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	var rules strings.Builder
	for _, pattern := range []string{"*.go", "*/*.go", "*/*/*.go"} {
		files, err := filepath.Glob(filepath.Join("../../advise", pattern))
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range files {
			text, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			rules.Write(text)
		}
	}
	facts := 0
	ast.Inspect(f, func(n ast.Node) bool {
		spec, ok := n.(*ast.ValueSpec)
		if !ok {
			return true
		}
		facts++
		name := spec.Names[0].Name
		fact, err := strconv.Unquote(spec.Values[0].(*ast.BasicLit).Value)
		if err != nil {
			t.Fatal(err)
		}
		if missingFacts()[missing.Fact(fact)] == "" {
			t.Errorf("%s has no sentence", name)
		}
		if uses := strings.Count(rules.String(), "missing."+name); uses == 0 {
			t.Errorf("no rule misses %s", name)
		}
		return false
	})
	if facts == 0 || facts != len(missingFacts()) {
		t.Errorf("there are %d facts and %d sentences", facts, len(missingFacts()))
	}
}

func TestMissingNames(t *testing.T) {
	if got, want := Missing(missing.NotAsStrconv.Of("x", "d")), "package strconv does not format x as %d does"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if got := Missing(missing.Reason{}); got != "" {
		t.Errorf("got %q where nothing is missing", got)
	}
}
