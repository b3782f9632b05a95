package rules

import (
	"go/format"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/hone-perf/hone/internal/advise"
	"github.com/hone-perf/hone/internal/patch"
	"github.com/hone-perf/hone/internal/recording"
	"github.com/hone-perf/hone/internal/testrun"
)

// What a patch adds to a file that is not as gofmt has it is as gofmt has it, and the rest of the file stays as it is. Lines end as
// they did.
func TestPatchesOfFilesThatAreNotFormatted(t *testing.T) {
	if testing.Short() {
		t.Skip("runs the go command")
	}
	for name, roughen := range map[string]func(string) string{
		"indented with spaces": func(s string) string { return strings.ReplaceAll(s, "\t", "   ") },
		"not indented": func(s string) string {
			lines := strings.Split(s, "\n")
			for i := range lines {
				lines[i] = strings.TrimLeft(lines[i], "\t")
			}
			return strings.Join(lines, "\n")
		},
		"lines of Windows": func(s string) string { return strings.ReplaceAll(s, "\n", "\r\n") },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if name == "not indented" {
				testrun.Nightly(t, "compiles the patches of all rules once more")
			}
			root, err := filepath.EvalSymlinks(t.TempDir())
			if err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(root, "go.mod"), []byte("module example.com/rules\n\ngo 1.26\n"), 0o666); err != nil {
				t.Fatal(err)
			}
			p := newProfile()
			texts := map[string]string{} // by name
			dirs, err := filepath.Glob("testdata/*-*")
			if err != nil {
				t.Fatal(err)
			}
			for _, dir := range dirs {
				rule := filepath.Base(dir)
				if _, err := os.Stat(filepath.Join(dir, "main.go")); err != nil {
					continue
				}
				text, err := os.ReadFile(filepath.Join("testdata", rule, "main.go"))
				if err != nil {
					t.Fatal(err)
				}
				texts[rule+"/main.go"] = roughen(string(text))
				at := filepath.Join(root, rule, "main.go")
				if err := os.Mkdir(filepath.Dir(at), 0o777); err != nil {
					t.Fatal(err)
				}
				// Costs are in comments behind the lines.
				if err := os.WriteFile(at, text, 0o666); err != nil {
					t.Fatal(err)
				}
				p.read(t, at, "example.com/rules/"+rule)
				if err := os.WriteFile(at, []byte(texts[rule+"/main.go"]), 0o666); err != nil {
					t.Fatal(err)
				}
			}
			a, err := advise.Run(t.Context(), All, []*recording.Recording{{Ref: "made.pprof", Profile: p.profile(t)}}, advise.Options{Dir: root, Least: 1e-9})
			if err != nil {
				t.Fatal(err)
			}
			tried := 0
			for _, f := range a.Findings {
				was := texts[f.Where.File]
				had := strings.SplitAfter(was, "\n")
				for _, x := range f.Fixes {
					is, err := patch.Apply([]byte(was), x.Edits)
					if err != nil {
						t.Fatal(err)
					}
					all, err := format.Source(is)
					if err != nil {
						t.Fatal(err)
					}
					tried++
					formatted := strings.SplitAfter(string(all), "\n")
					windows := strings.Contains(was, "\r\n")
					for line := range strings.Lines(string(is)) {
						if strings.HasSuffix(line, "\r\n") != windows {
							t.Errorf("%s: %s: %q does not end as lines did", f.Where, x.Title, line)
						}
						if !slices.Contains(had, line) && !slices.Contains(formatted, strings.TrimSuffix(strings.TrimSuffix(line, "\n"), "\r")+"\n") {
							t.Errorf("%s: %s: it adds %q, which gofmt would change:\n%s", f.Where, x.Title, line, x.Patch)
						}
					}
					if n := strings.Count(x.Patch, "\n"); n > 80 {
						t.Errorf("%s: %s: the patch has %d lines:\n%s", f.Where, x.Title, n, x.Patch)
					}
				}
			}
			if tried < 10 {
				t.Errorf("%d patches; want 10 or more", tried)
			}
		})
	}
}
