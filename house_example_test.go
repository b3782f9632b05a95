package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/hone-perf/hone/internal/testrun"
)

// TestContributingExample holds that the view which CONTRIBUTING.md adds, and its kind of part, compile in three files and two.
func TestContributingExample(t *testing.T) {
	t.Parallel()
	testrun.Nightly(t, "compiles packages with other files than those that are here")
	text, err := os.ReadFile("CONTRIBUTING.md")
	if err != nil {
		t.Fatal(err)
	}
	_, page, _ := strings.Cut(string(text), "\n## Adding a view, or a kind of part\n")
	page, _, _ = strings.Cut(page, "\n## ")
	blocks := regexp.MustCompile("(?s)```go\n(.*?)```").FindAllStringSubmatch(page, -1)
	if len(blocks) != 3 {
		t.Fatalf("there are %d examples, want a report, an entry for a view, and a kind", len(blocks))
	}
	dir := t.TempDir()
	replace := make(map[string]string)
	put := func(name, text string) {
		to := filepath.Join(dir, strings.ReplaceAll(name, "/", "-"))
		if err := os.WriteFile(to, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
		name, err := filepath.Abs(name)
		if err != nil {
			t.Fatal(err)
		}
		replace[name] = to
	}
	// insert puts an example before the only line of a file that begins in a way.
	insert := func(name, before, example string) {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		head, tail, ok := strings.Cut(string(text), before)
		if !ok || strings.Contains(tail, before) {
			t.Fatalf("%s does not have %q once", name, before)
		}
		put(name, head+example+before+tail)
	}
	put("internal/report/depth.go", "package report\n\nimport \"iter\"\n\n// A DepthRow is a depth.\ntype DepthRow struct {\n\tFrames int\n\tValue int64\n}\n\n"+blocks[0][1])
	put("internal/view/profileview/depth.go", `package profileview

import (
	"github.com/hone-perf/hone/internal/query"
	"github.com/hone-perf/hone/internal/recording"
	"github.com/hone-perf/hone/internal/report"
)

func Depth(in []*recording.Recording, q query.Query) (report.Report, error) {
	a, err := ask(in, q)
	if err != nil {
		return nil, err
	}
	return &report.Depth{Head: a.head}, nil
}
`)
	insert("internal/view/profileview/views.go", "\t{\n\t\tName: \"top\",", blocks[1][1])
	put("internal/recording/limits.go", `package recording

const LimitsFile = "limits.json"

type Limits struct{}

func readLimits(*Recording) (*Limits, error) { return nil, nil }
`)
	insert("internal/recording/kinds.go", "\tLoadRun = kindOf(", blocks[2][1])
	overlay, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		t.Fatal(err)
	}
	put("overlay.json", string(overlay))
	goCommand(t, "build", "-overlay", filepath.Join(dir, "overlay.json"), "./internal/view/profileview")
}
