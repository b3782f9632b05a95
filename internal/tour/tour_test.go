package tour

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/tools/txtar"

	"github.com/hone-perf/hone/internal/hint"
	"github.com/hone-perf/hone/internal/render"
	"github.com/hone-perf/hone/internal/report"
	"github.com/hone-perf/hone/internal/testrun"
)

// TestProgram holds the copy of the practice program equal to examples/hi; UPDATE=1 makes it anew.
func TestProgram(t *testing.T) {
	const from = "../../examples/hi"
	want := &txtar.Archive{Comment: []byte("The practice program of hone tour: examples/hi, stage 0.\n")}
	for _, name := range []string{"go.mod", stage + "/hi.go", stage + "/hi_test.go"} {
		text, err := os.ReadFile(filepath.Join(from, name))
		if err != nil {
			t.Fatal(err)
		}
		want.Files = append(want.Files, txtar.File{Name: name, Data: text})
	}
	all, err := filepath.Glob(filepath.Join(from, stage, "*"))
	if err != nil || len(all) != len(want.Files)-1 {
		t.Errorf("%s/%s has %d files, %v; want %d", from, stage, len(all), err, len(want.Files)-1)
	}
	if os.Getenv("UPDATE") != "" {
		if err := os.WriteFile("hi.txtar", txtar.Format(want), 0o666); err != nil {
			t.Fatal(err)
		}
		return
	}
	if !bytes.Equal(program, txtar.Format(want)) {
		t.Errorf("hi.txtar is not %s; UPDATE=1 go test ./internal/tour overwrites it", from)
	}
}

func TestUnpack(t *testing.T) {
	dir := t.TempDir()
	pkg, err := unpack(dir)
	if err != nil {
		t.Fatal(err)
	}
	if pkg != filepath.Join(dir, stage) {
		t.Errorf("unpack returned %s", pkg)
	}
	for _, name := range []string{filepath.Join(dir, "go.mod"), filepath.Join(pkg, "hi.go"), filepath.Join(pkg, "hi_test.go")} {
		if _, err := os.Stat(name); err != nil {
			t.Error(err)
		}
	}
}

func TestWidths(t *testing.T) {
	picture := func(ns float64) *Picture { return &Picture{Request: ns, Changed: true} }
	tests := []struct {
		name          string
		before, after *Picture
		want          []float64
	}{
		{"half as dear", picture(40), picture(20), []float64{pageWidth, pageWidth / 2}},
		{"dearer", picture(20), picture(40), []float64{pageWidth / 2, pageWidth}},
		{"not known", picture(20), picture(0), []float64{pageWidth, pageWidth}},
		{"not decided", picture(40), &Picture{Request: 20}, []float64{pageWidth, pageWidth}},
		{"nothing after", picture(20), nil, []float64{pageWidth, pageWidth}},
	}
	for _, tt := range tests {
		if got := (&Tour{Before: tt.before, After: tt.after}).Widths(); !slices.Equal(got, tt.want) {
			t.Errorf("%s: Widths() = %v, want %v", tt.name, got, tt.want)
		}
	}
}

// TestPage holds that the page has what was found, as text whatever is in it, and nothing of what there was not.
func TestPage(t *testing.T) {
	flame := func(name string) *Picture {
		root := &report.FlameNode{Cum: 10, Children: []*report.FlameNode{{Frame: report.Frame{Name: name}, Cum: 10, Flat: 10}}}
		return &Picture{Request: 2000, Flame: &report.Flame{Head: report.Head{Metric: "cpu", Unit: "nanoseconds", Total: 10}, Whole: 10, FlameTree: report.FlameTree{Root: root}}}
	}
	t1 := &Tour{
		Before: flame("main.<b>slow</b>"),
		Steps: []*Step{{
			Number: 1, Title: "look <here>", Command: "hone top 'a&b'",
			Found: []report.Report{some{report.Plain{Text: "--- a\n+++ b\n+<script>\n"}}},
			Whole: some{report.Title{Text: "everything"}},
		}},
		Left: []string{"races: no <compiler>"},
	}
	var out bytes.Buffer
	if err := t1.Write(&out, nil); err != nil {
		t.Fatal(err)
	}
	page := out.String()
	for _, want := range []string{
		"main.&lt;b&gt;slow&lt;/b&gt;", "look &lt;here&gt;", `<span class="add">+&lt;script&gt;</span>`, "everything</h3>", "races: no &lt;compiler&gt;", "before-", "fix ./pkg",
	} {
		if !strings.Contains(page, want) {
			t.Errorf("the page has no %q", want)
		}
	}
	for _, not := range []string{"<script", "<b>slow", "after-", "http-equiv", "src=", "href="} {
		if strings.Contains(page, not) {
			t.Errorf("the page has %q", not)
		}
	}
	t1.After, t1.Left = flame("main.fast"), nil
	out.Reset()
	if err := t1.Write(&out, nil); err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(out.String(), "<svg"); n != 2 || strings.Contains(out.String(), "Left out") {
		t.Errorf("the page has %d pictures, want 2, and nothing that is left out:\n%s", n, out.String())
	}
}

// TestFixesOf holds that a step says what all patches together won, and what each won when that was not measured.
func TestFixesOf(t *testing.T) {
	kept := func(title string) report.Fixed {
		return report.Fixed{Fix: title, Where: report.Spot{File: "hi.go", Line: 3}, Speed: []report.CompareRow{{Name: "Hi", What: "allocations", Old: 4, New: 2, Ratio: 0.5, Words: "fewer", Verdict: report.Better}}}
	}
	whole := []report.CompareRow{{Name: "Hi", What: "allocations", Old: 4, New: 1, Ratio: 0.25, Words: "fewer", Verdict: report.Better}}
	tests := []struct {
		name      string
		fixes     report.Fixes
		want, not []string
	}{
		{"none", report.Fixes{Ended: hint.Text{"no time"}, Rounds: 1}, []string{"no fix is proven", "stopped: no time"}, []string{"benchmark"}},
		{"whole", report.Fixes{Kept: []report.Fixed{kept("one"), kept("two")}, Whole: whole, Patch: "--- a\n"}, []string{"2 proven and kept", "hi.go:3", "two", "-75%", "--- a"}, []string{"by 1"}},
		{"each", report.Fixes{Kept: []report.Fixed{kept("one"), kept("two")}, Patch: "--- a\n"}, []string{"Hi, by 1", "Hi, by 2", "-50%"}, nil},
	}
	for _, tt := range tests {
		var out strings.Builder
		for _, r := range fixesOf(&tt.fixes) {
			if err := render.Text(&out, r, render.Options{}); err != nil {
				t.Fatal(err)
			}
		}
		for _, want := range tt.want {
			if !strings.Contains(out.String(), want) {
				t.Errorf("%s: there is no %q in\n%s", tt.name, want, out.String())
			}
		}
		for _, not := range tt.not {
			if strings.Contains(out.String(), not) {
				t.Errorf("%s: there is %q in\n%s", tt.name, not, out.String())
			}
		}
	}
}

// TestRunOnBusyMachine holds that the loop is finished where there is less time than planned, as on a machine that is busy with other
// things: a patch is proven and kept, all steps are there, and it is said that it takes longer.
func TestRunOnBusyMachine(t *testing.T) {
	testrun.Nightly(t, "goes through all of hone, and compiles net/http with the race detector; pages of TestScript do each step")
	var said []string
	got, err := Run(t.Context(), Options{Dir: t.TempDir(), Note: func(text string) { said = append(said, text) }, usual: time.Second, load: 2 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	if len(said) != 1 || !strings.HasPrefix(said[0], "this takes longer than 1s here") || len(got.Notes) != 1 || !strings.HasPrefix(got.Notes[0], "this took longer than 1s, ") {
		t.Errorf("it says %q, and in the end %q; want once that it takes longer", said, got.Notes)
	}
	steps := map[string]string{}
	for _, s := range got.Steps {
		var out strings.Builder
		for _, r := range s.Found {
			if err := render.Text(&out, r, render.Options{}); err != nil {
				t.Fatal(err)
			}
		}
		steps[s.Title] = out.String()
	}
	for title, want := range map[string]string{
		"record a server under load": "answered", "look where the time goes": "main.handleHi", "be advised": "hi.go:23",
		"fix expensive code step by step, and prove each step": " proven and kept, ", "record it again": "CPU time",
	} {
		if !strings.Contains(steps[title], want) {
			t.Errorf("%s: there is no %q in %q", title, want, steps[title])
		}
	}
	for _, l := range got.Left {
		if !strings.HasPrefix(l, "the patch of ") && !strings.HasPrefix(l, "looking for races: ") {
			t.Errorf("left out: %s", l)
		}
	}
	if got.After == nil {
		t.Error("there is no picture of what became of it")
	}
}
