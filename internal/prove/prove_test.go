package prove

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/txtar"

	"github.com/hone-perf/hone/internal/gocmd"
	"github.com/hone-perf/hone/internal/report"
	"github.com/hone-perf/hone/internal/testrun"
)

// TestCases has prove compare a package in which every file is a case: nine of ten changes of behavior have to be
// found, and nothing else. How much is tried goes by calls, not by time, so that a busy machine finds the same.
func TestCases(t *testing.T) {
	testrun.Live(t, "calls a hundred functions 400 times each")
	dir := t.TempDir()
	kinds := map[string]string{} // by file
	for _, kind := range []string{"different", "same"} {
		a, err := txtar.ParseFile(filepath.Join("testdata", kind+".txtar"))
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range a.Files {
			kinds[filepath.Base(f.Name)] = kind
			write(t, filepath.Join(dir, f.Name), f.Data)
		}
	}
	for _, v := range []string{"old", "new"} {
		write(t, filepath.Join(dir, v, "go.mod"), []byte("module example.com/cases\n\ngo 1.26\n"))
	}
	calls := 1500 // of each function
	if !testrun.InNightly() {
		testrun.Left(t, t.Name(), "calls each function 1500 times, not 400")
		calls = 400
	}
	p := proveIn(t, dir, "old", "new", Options{Executions: calls, Time: time.Hour, NoTests: true})
	found := map[string][]report.Difference{}
	for _, d := range p.Differences {
		found[d.File] = append(found[d.File], d)
	}
	missed, different := 0, 0
	for file, kind := range kinds {
		got := found[file]
		switch {
		case kind == "different":
			different++
			if len(got) == 0 {
				missed++
				t.Logf("%s: no difference was found", file)
				continue
			}
			d := got[0]
			// Which of several that are as short it comes to depends on which difference was met first, and so on the machine.
			if want := leastCalls[file]; want != "" && len(d.Call) > len(want) {
				t.Errorf("%s: shown by %s; the least that shows it is %s", file, d.Call, want)
			}
			t.Logf("%s: %s after %d calls: %s: %s: %s → %s", strings.TrimSuffix(file, ".go"), d.Layer, d.Calls, d.Call, d.What, d.Old, d.New)
		case slices.ContainsFunc(got, func(d report.Difference) bool { return d.Grave }):
			t.Errorf("%s: %+v", file, got)
		}
	}
	for _, f := range p.Functions { // what does things that stay is left alone
		if strings.EqualFold(f.Name, "sameEnter") && (f.Executions > 0 || !strings.Contains(f.Why, "os.Chdir")) {
			t.Errorf("%s was called %d times: %q", f.Name, f.Executions, f.Why)
		}
	}
	if missed*10 > different {
		t.Errorf("%d of %d changes were missed", missed, different)
	}
	t.Logf("%d of %d changes found in %d calls, %v", different-missed, different, p.Executions, p.Took)
}

// TestGenerated holds that the benchmarks that are made of calls compile and run, in both versions, whatever the calls take.
func TestGenerated(t *testing.T) {
	testrun.Nightly(t, "compiles and runs the benchmarks of a hundred functions")
	dir := t.TempDir()
	a, err := txtar.ParseFile(filepath.Join("testdata", "same.txtar"))
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range a.Files {
		write(t, filepath.Join(dir, f.Name), f.Data)
	}
	for _, v := range []string{"old", "new"} {
		write(t, filepath.Join(dir, v, "go.mod"), []byte("module example.com/cases\n\ngo 1.26\n"))
	}
	ctx := context.Background()
	c, err := Open(ctx, dir, []string{"old", "new"})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	pairs, _, err := pairUp(ctx, c, []string{"."})
	if err != nil {
		t.Fatal(err)
	}
	danger, err := findDanger(ctx, pairs[0].old, pairs[0].new)
	if err != nil {
		t.Fatal(err)
	}
	s := newSurface(pairs[0], danger)
	files, err := s.buildBoth(ctx, func(side int) string { return workDir(dir, 0, side) })
	if err != nil {
		t.Fatal(err)
	}
	f := newSearch(s, Options{Executions: 300, Time: time.Hour, Say: func(string) {}}, files)
	if err := f.run(ctx); err != nil {
		t.Fatal(err)
	}
	g, err := f.generate(ctx, 1000)
	if err != nil || g == nil {
		t.Fatalf("generated %v, %v", g, err)
	}
	overlay, err := writeGenerated(dir, []*benchmarks{g})
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range []string{"old", "new"} {
		out, err := (gocmd.Command{Dir: filepath.Join(dir, v)}).Run(ctx, "test", "-vet=off", "-run=^$", "-bench=.", "-benchtime=1x", "-overlay="+overlay)
		if err != nil {
			t.Fatal(err)
		}
		if n := strings.Count(string(out), " ns/op"); n != g.rows {
			t.Errorf("%s: %d benchmarks ran; want %d:\n%s", v, n, g.rows, out)
		}
	}
	called := 0
	for _, target := range f.targets {
		if st := f.states[target]; st != nil && len(st.agreed) > 0 {
			called++
		}
	}
	t.Logf("%d of %d functions have a benchmark", len(g.about), called)
	if len(g.about)*10 < called*7 {
		t.Errorf("only %d of %d functions have a benchmark", len(g.about), called)
	}
}

// leastCalls are the smallest that show a difference, for cases in which there is one that is smaller than all others.
var leastCalls = map[string]string{
	"off_by_one.go":      `Shorten("", 0)`,
	"forgotten_quote.go": `Escape("'")`,
	"color.go":           `Color(httptest.NewRecorder(), httptest.NewRequest("GET", "/?color=red", nil))`,
	"boundary.go":        "Overlap(Span{}, Span{})",
	"empty_accepted.go":  `CheckName("")`,
	"in_place.go":        "Positive([]int{0, 1})", // or what shows that memory is shared
	"last_line.go":       `CountLines(strings.NewReader("a"))`,
	"reset.go":           "x1 := &Tally{}\nx1.Add(\"\")\nx1.Reset()\nx1.Total()",
	"words_of_eight.go":  `Checksum([]byte("aaaaaaaa"))`,
}

func write(t *testing.T, name string, text []byte) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, text, 0o644); err != nil {
		t.Fatal(err)
	}
}

// compiledOnce are the kinds of builds that the tests have made so far: only the first change needs what it imports compiled ahead.
var compiledOnce = make(map[string]bool)

// proveIn compares two folders in dir.
func proveIn(t *testing.T, dir, old, now string, opt Options) *report.Proof {
	t.Helper()
	c, err := Open(context.Background(), dir, []string{old, now})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	opt.Tests = &Tests{compiled: compiledOnce}
	p, err := Run(context.Background(), c, opt)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// TestExamples compares steps of the programs to practise on.
func TestExamples(t *testing.T) {
	if testing.Short() {
		t.Skip("builds and calls two versions of programs")
	}
	const handleHi = `handleHi(httptest.NewRecorder(), `
	tests := []struct {
		old, new string
		calls    int
		call     string // of the first difference; "" when there has to be none
		what     string
		nightly  bool
	}{
		{"hi/stage1", "hi/stage3", 1500, handleHi, "status: 200 → 400", true},
		{"hi/stage3", "hi/stage6", 1500, "", "", true},
		{"hi/stage6", "hi/stage8", 1500, handleHi, "status: 400 → 200", true},
		{"leftpad/v1", "leftpad/v2", 500, `leftpad("", 2, `, "result: ", false},
		{"leftpad/v1", "leftpad/fixed", 500, "", "", true},
		{"metrics/v1", "metrics/v2", 100, "", "", true},
	}
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS("../../examples")); err != nil {
		t.Fatal(err)
	}
	if err := os.CopyFS(filepath.Join(dir, "leftpad", "fixed"), os.DirFS("../../examples/leftpad/v2")); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, "leftpad", "fixed", "leftpad.go")
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	fixed := strings.Replace(string(text), "for range n - len(s) {", "for b.Len()+len(s) < n {", 1)
	if fixed == string(text) {
		t.Fatal("leftpad has another loop now")
	}
	write(t, file, []byte(fixed))
	for _, tt := range tests {
		if tt.nightly && !testrun.InNightly() {
			testrun.Left(t, t.Name()+", "+tt.old+" to "+tt.new, "builds and calls two versions of a program")
			continue
		}
		p := proveIn(t, dir, tt.old, tt.new, Options{Executions: tt.calls, Time: time.Hour, NoTests: true})
		var grave []report.Difference
		for _, d := range p.Differences {
			if d.Grave {
				grave = append(grave, d)
			}
		}
		switch {
		case tt.call == "" && (len(grave) > 0 || p.Verdict == report.Different || p.Executions < tt.calls):
			t.Errorf("%s to %s: %s after %d calls, %+v", tt.old, tt.new, p.Verdict, p.Executions, grave)
		case tt.call != "" && len(grave) == 0:
			t.Errorf("%s to %s: nothing was found in %d calls", tt.old, tt.new, p.Executions)
		case tt.call != "":
			d := grave[0]
			if got := d.What + ": " + d.Old + " → " + d.New; !strings.Contains(d.Call, tt.call) || !strings.HasPrefix(got, tt.what) {
				t.Errorf("%s to %s: %s: %s; want %s: %s", tt.old, tt.new, d.Call, got, tt.call, tt.what)
			}
		}
	}
}

func TestSampleFor(t *testing.T) {
	for name, want := range map[string]string{
		"color": "red", "shirtColor": "red", "shirt_color": "red", "Zip": "10115", "user-id": "1", "ID": "1", "x": "", "": "", "7": "",
	} {
		if got := sampleFor(name); got != want {
			t.Errorf("sampleFor(%q) = %q; want %q", name, got, want)
		}
	}
}
