package race

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/diff"
	"golang.org/x/tools/txtar"

	"github.com/hone-perf/hone/internal/racelog"
)

// TestPatch makes the patches of testdata/patch. In each page, x.go has the code, with the accesses of a race on the lines marked
// // write, // read and // map; want is either the patched code, or the name of the variable and why there is no patch.
// UPDATE=1 rewrites want.
func TestPatch(t *testing.T) {
	pages, err := filepath.Glob("testdata/patch/*.txtar")
	if err != nil || len(pages) == 0 {
		t.Fatalf("there are no pages: %v", err)
	}
	for _, page := range pages {
		t.Run(strings.TrimSuffix(filepath.Base(page), ".txtar"), func(t *testing.T) {
			t.Parallel()
			a, err := txtar.ParseFile(page)
			if err != nil {
				t.Fatal(err)
			}
			dir, err := filepath.EvalSymlinks(t.TempDir())
			if err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(dir, "go.mod"), []byte("module example.com/x\n\ngo 1.25\n"), 0o600); err != nil {
				t.Fatal(err)
			}
			file := filepath.Join(dir, "x.go")
			if err := os.WriteFile(file, a.Files[0].Data, 0o600); err != nil {
				t.Fatal(err)
			}
			var r racelog.Race
			for i, text := range strings.Split(string(a.Files[0].Data), "\n") {
				_, mark, _ := strings.Cut(text, "// ")
				at := racelog.Frame{Func: "example.com/x.f", File: file, Line: i + 1}
				stack := []racelog.Frame{at}
				for word := range strings.FieldsSeq(mark) {
					switch word {
					case "map":
						stack = append([]racelog.Frame{{Func: "runtime.mapassign_faststr", File: "/go/map.go", Line: 1}}, at)
					case "write", "read":
						r.Accesses = append(r.Accesses, racelog.Access{Write: word == "write", Stack: stack})
					}
				}
			}
			var c codes
			got := "the variable is unknown\n"
			v, err := c.variable(t.Context(), &r)
			if err != nil {
				t.Fatal(err)
			}
			if v != nil {
				f, err := v.patch()
				if err == nil {
					_, err = f.Write()
				}
				if err != nil {
					got = v.name + ": " + err.Error() + "\n"
				} else if text, err := os.ReadFile(file); err != nil {
					t.Fatal(err)
				} else {
					got = string(text)
				}
			}
			want := a.Files[1].Data
			if bytes.Equal(want, []byte(got)) {
				return
			}
			if os.Getenv("UPDATE") != "" {
				a.Files[1].Data = []byte(got)
				if err := os.WriteFile(page, txtar.Format(a), 0o666); err != nil {
					t.Fatal(err)
				}
				return
			}
			t.Errorf("%s", diff.Diff("want", want, "got", []byte(got)))
		})
	}
}
