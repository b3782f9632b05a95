package rules

import (
	"bytes"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// Each rule is the only one in a file that is named as it is, and has a folder of testdata with code where it finds something and code
// where it costs something and must not.
func TestEachRuleHasItsFile(t *testing.T) {
	files := map[string]string{} // by rule
	names, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		f, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		for _, rule := range rulesIn(t, f) {
			if files[rule] != "" || name != rule+".go" {
				t.Errorf("rule %s is in %s; want it in %s.go alone", rule, name, rule)
			}
			files[rule] = name
		}
	}
	seen := map[string]bool{}
	for _, r := range All {
		if seen[r.Name] {
			t.Errorf("rule %s is in All twice", r.Name)
		}
		seen[r.Name] = true
		if files[r.Name] == "" {
			t.Errorf("rule %s has no file %s.go", r.Name, r.Name)
		}
		delete(files, r.Name)
		finds, silent := false, false
		for _, line := range testdataOf(t, r.Name) {
			want := wantComment.MatchString(line)
			finds, silent = finds || want, silent || !want && costComment.MatchString(line)
		}
		if !finds || !silent {
			t.Errorf("testdata/%s has code where the rule speaks: %v, and code where it must not: %v; want both", r.Name, finds, silent)
		}
	}
	for rule := range files {
		t.Errorf("rule %s is not in All", rule)
	}
}

// rulesIn returns the names of the rules that a file makes.
func rulesIn(t *testing.T, f *ast.File) (names []string) {
	ast.Inspect(f, func(n ast.Node) bool {
		lit, ok := n.(*ast.CompositeLit)
		if !ok {
			return true
		}
		sel, ok := lit.Type.(*ast.SelectorExpr)
		if !ok || sel.Sel.Name != "Rule" {
			return true
		}
		for _, e := range lit.Elts {
			kv, ok := e.(*ast.KeyValueExpr)
			if !ok {
				continue
			}
			key, isName := kv.Key.(*ast.Ident)
			value, isText := kv.Value.(*ast.BasicLit)
			if !isName || !isText || key.Name != "Name" {
				continue
			}
			name, err := strconv.Unquote(value.Value)
			if err != nil {
				t.Fatal(err)
			}
			names = append(names, name)
		}
		return true
	})
	return names
}

// testdataOf returns the lines of the code in the folder of a rule.
func testdataOf(t *testing.T, rule string) (lines []string) {
	files, err := filepath.Glob(filepath.Join("testdata", rule, "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		text, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		lines = append(lines, strings.Split(string(text), "\n")...)
	}
	return lines
}

// Facts know neither the framework nor rules, which are made of them, and the framework knows no rules.
func TestImportsInTheRoom(t *testing.T) {
	const room = "github.com/hone-perf/hone/internal/advise"
	for _, in := range []struct {
		files string
		not   []string
	}{{"../facts/*/*.go", []string{room, room + "/rules"}}, {"../*.go", []string{room + "/rules"}}} {
		names, err := filepath.Glob(filepath.FromSlash(in.files))
		if err != nil || len(names) == 0 {
			t.Fatalf("%s: %v, %v", in.files, names, err)
		}
		for _, name := range names {
			f, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ImportsOnly)
			if err != nil {
				t.Fatal(err)
			}
			for _, s := range f.Imports {
				if path, _ := strconv.Unquote(s.Path.Value); slices.Contains(in.not, path) {
					t.Errorf("%s imports %s", name, path)
				}
			}
		}
	}
}

// No file of the room is so long that one has to look for things in it.
func TestFilesAreShort(t *testing.T) {
	const most = 600
	err := filepath.WalkDir("..", func(name string, d fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(name, ".go") {
			return err
		}
		text, err := os.ReadFile(name)
		if n := bytes.Count(text, []byte("\n")); n > most {
			t.Errorf("%s has %d lines, want at most %d", name, n, most)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}
