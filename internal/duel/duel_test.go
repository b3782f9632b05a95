package duel

import (
	"bytes"
	"context"
	"errors"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/txtar"

	"github.com/hone-perf/hone/internal/bench"
	"github.com/hone-perf/hone/internal/gocmd"
	"github.com/hone-perf/hone/internal/recording"
	"github.com/hone-perf/hone/internal/stat"
	"github.com/hone-perf/hone/internal/testrun"
)

// sides lays out two versions: the new one takes twice as long and allocates twice as much.
func sides(t *testing.T) (old, new Side) {
	t.Helper()
	if testing.Short() {
		t.Skip("builds and runs programs")
	}
	a, err := txtar.ParseFile(filepath.Join("testdata", "sides.txtar"))
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	write := func(name string, text []byte) {
		t.Helper()
		file := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, text, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for _, f := range a.Files {
		if name, ok := strings.CutPrefix(f.Name, "old/"); ok {
			write(f.Name, f.Data)
			text := bytes.ReplaceAll(f.Data, []byte("Turns = 1000"), []byte("Turns = 2000"))
			write("new/"+name, bytes.ReplaceAll(text, []byte("make([]byte, 1000)"), []byte("make([]byte, 2000)")))
			continue
		}
		name := strings.TrimSuffix(strings.TrimPrefix(f.Name, "only/"), "_test.go")
		write(name+"/only_test.go", f.Data)
	}
	old = Side{DuelSide: recording.DuelSide{Name: "old"}, Dir: filepath.Join(dir, "old")}
	new = Side{DuelSide: recording.DuelSide{Name: "new"}, Dir: filepath.Join(dir, "new")}
	return old, new
}

// rowsOf returns the benchmarks of a duel by name.
func rowsOf(d *recording.Duel) map[string]recording.DuelBenchmark {
	out := map[string]recording.DuelBenchmark{}
	for _, b := range d.Benchmarks {
		out[b.Name] = b
	}
	return out
}

// Every kind of benchmark is found, run as it needs, and judged.
func TestRun(t *testing.T) {
	testrun.Live(t, "measures fourteen benchmarks")
	old, new := sides(t)
	d, err := Run(context.Background(), Options{Old: old, New: new, Budget: 50 * time.Millisecond, Plan: stat.Plan{Within: 0.99, Looks: []int{fewestPairs}}, Noise: &Noise{Spread: 0.02, Of: 7}, Seed: 1, NoWhy: true, AsIs: true})
	if err != nil {
		t.Fatal(err)
	}
	rows := rowsOf(d)
	for name, how := range map[string]string{
		"Work": recording.Duet, "Far": recording.Alternate, "Old": recording.Duet, "Stopped": recording.Duet, "Parallel": recording.Alternate, "Sleep": recording.Alternate,
		"Nested/a_b": recording.Duet, "Nested/c/d": recording.Duet, "Nested/(.*)": recording.Duet, "Nested/c/d#01": recording.Duet,
	} {
		r := rows[name]
		if how == recording.Duet && !canShare {
			how = recording.Alternate
		}
		if r.How != how || len(r.Pairs) == 0 || r.Error != "" || r.Only != "" || r.Pkg != "example.com/sides" {
			t.Errorf("%s: %+v, want it to be run %s", name, r, how)
		}
		for _, p := range r.Pairs {
			if p.Old[r.Unit] <= 0 || p.New[r.Unit] <= 0 || p.Old[parallelUnit] != 0 {
				t.Errorf("%s: %+v", name, p)
				break
			}
		}
	}
	if r := rows["Fails"]; r.Fails != newSide || r.Error != "work_test.go:68: this is 2000" {
		t.Errorf("Fails: %q", r.Error)
	}
	if r := rows["Gone"]; r.Only != "old" {
		t.Errorf("Gone: %+v", r)
	}
	if r := rows["Added"]; r.Only != "new" {
		t.Errorf("Added: %+v", r)
	}
	if r := rows["Panics"]; !strings.Contains(r.Error, "panic: at once") {
		t.Errorf("Panics: %+v", r)
	}
	if len(rows) != 14 {
		t.Errorf("there are %d rows: %v", len(rows), rows)
	}
	// The new side does twice the work.
	ds := recording.Ratios(rows["Work"].Pairs, rows["Work"].Unit)
	mid, _, _ := stat.Middle(ds, 0.9)
	if c, want := (stat.Plan{}).Judge(ds); want == 0 && c.Verdict != stat.Higher || mid < 0.4 || mid > 1.1 {
		t.Errorf("Work: %+v, want twice as much; the middle is %v", c, mid)
	}
	if p := rows["Old"].Pairs[0]; p.Old["widgets"] != 3 || p.New["allocs/op"] != 0 {
		t.Errorf("Old: %+v", p)
	}
	var timed []float64
	for _, p := range rows["Stopped"].Pairs {
		if p.Old["B/op"] != 1024 || p.New["B/op"] != 2048 || p.Old["allocs/op"] != 1 {
			t.Errorf("Stopped: %+v", p)
		}
		timed = append(timed, p.Old[cpuUnit])
	}
	// What is done while the clock stands still does not count: Work takes some 20 times longer.
	if stat.Median(timed) > 8000 {
		t.Errorf("Stopped: %v ns took longer than what it times", timed)
	}
	if r := rows["Sleep"]; r.Pairs[0].Old["ns/op"] < 2e6 || r.Unit != "ns/op" {
		t.Errorf("Sleep: %+v", r)
	}
	// The lines are benchmarks for others.
	for side, n := range map[string]float64{"old": 1024, "new": 2048} {
		var text bytes.Buffer
		if err := WriteLines(&text, d, side); err != nil {
			t.Fatal(err)
		}
		f, err := bench.Read(&text, side)
		if err != nil || len(f.Notes) != 0 {
			t.Errorf("reading what was written: %v, %+v", err, f.Notes)
		}
		i := slices.IndexFunc(f.Results, func(r bench.Result) bool { return r.Name == "Stopped" })
		if i < 0 || f.Results[i].Get("pkg") != "example.com/sides" {
			t.Fatalf("no results of %s", side)
		}
		if ns, _ := f.Results[i].Value("ns/op"); canShare && ns != rows["Stopped"].Pairs[0].Old[cpuUnit] && side == "old" {
			t.Errorf("%v ns/op, want CPU time: %+v", ns, rows["Stopped"].Pairs[0])
		}
		if v, _ := f.Results[i].Value("B/op"); v != n {
			t.Errorf("%s: %v bytes", side, v)
		}
	}
}

// This version of Go has a package testing that can be given a clock.
func TestClock(t *testing.T) {
	about, err := gocmd.Command{}.About(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	overlay := gocmd.Overlay{}
	if ok, _, err := addClock(about.GOROOT, t.TempDir(), overlay); !ok || err != nil {
		t.Errorf("%s: %v, %v", about.GOVERSION, ok, err)
	}
	if overlay[filepath.Join(about.GOROOT, "src", "testing", "zz_hone_turns.go")] == "" {
		t.Errorf("%s takes no turns", about.GOVERSION)
	}
	text, err := os.ReadFile(filepath.Join(about.GOROOT, "src", "testing", "benchmark.go"))
	if err != nil {
		t.Fatal(err)
	}
	// One that could be given a clock, but loops in another way, is given that.
	loops := t.TempDir()
	os.MkdirAll(filepath.Join(loops, "src", "testing"), 0o755)
	os.WriteFile(filepath.Join(loops, "src", "testing", "benchmark.go"), bytes.ReplaceAll(text, []byte("\tvar more bool\n"), nil), 0o644)
	overlay = gocmd.Overlay{}
	if ok, _, err := addClock(loops, t.TempDir(), overlay); !ok || err != nil || len(overlay) != 6 {
		t.Errorf("a package that loops in another way: %v, %v, %v", ok, err, overlay)
	}
	// Before Go 1.23 it took the time with package time.
	older := t.TempDir()
	os.MkdirAll(filepath.Join(older, "src", "testing"), 0o755)
	was := bytes.ReplaceAll(bytes.ReplaceAll(text, []byte("highPrecisionTimeNow()"), []byte("time.Now()")), []byte("highPrecisionTimeSince("), []byte("time.Since("))
	os.WriteFile(filepath.Join(older, "src", "testing", "benchmark.go"), was, 0o644)
	overlay = gocmd.Overlay{}
	if ok, _, err := addClock(older, t.TempDir(), overlay); !ok || err != nil {
		t.Errorf("a package with the time of Go 1.22: %v, %v", ok, err)
	}
	// Another one is left alone.
	other := t.TempDir()
	os.MkdirAll(filepath.Join(other, "src", "testing"), 0o755)
	os.WriteFile(filepath.Join(other, "src", "testing", "benchmark.go"), []byte("package testing\n"), 0o644)
	overlay = gocmd.Overlay{}
	if ok, _, err := addClock(other, t.TempDir(), overlay); ok || err != nil || len(overlay) != 0 {
		t.Errorf("a package that it does not know: %v, %v, %v", ok, err, overlay)
	}
}

// Programs of the same code are the same wherever they are built, and need no runs.
func TestSame(t *testing.T) {
	old, _ := sides(t)
	copied := old
	copied.Dir = filepath.Join(t.TempDir(), "elsewhere")
	if err := os.CopyFS(copied.Dir, os.DirFS(old.Dir)); err != nil {
		t.Fatal(err)
	}
	d, err := Run(context.Background(), Options{Old: old, New: copied, Packages: []string{"."}})
	if err != nil || len(d.Same) != 1 || len(d.Benchmarks) != 0 {
		t.Errorf("%+v, %v", d, err)
	}
}

// Test programs that were built before do as well, and are compared without a clock.
func TestPrograms(t *testing.T) {
	testrun.Live(t, "builds and measures programs")
	old, new := sides(t)
	for _, s := range []*Side{&old, &new} {
		s.File = filepath.Join(t.TempDir(), "x.test")
		if _, err := (gocmd.Command{Dir: s.Dir}).Run(context.Background(), "test", "-c", "-o", s.File, "."); err != nil {
			t.Fatal(err)
		}
	}
	d, err := Run(context.Background(), Options{Old: old, New: new, Bench: "Work|Fails", Budget: time.Nanosecond, How: recording.Duet, Plan: stat.Plan{Within: 0.4}})
	if err != nil {
		t.Fatal(err)
	}
	rows := rowsOf(d)
	if r := rows["Work"]; len(r.Pairs) < fewestPairs || len(r.Pairs) > (stat.Plan{}).Fewest()+mostCourts || r.Stop != "time" || r.Pairs[0].New[cpuUnit] <= r.Pairs[0].Old[cpuUnit] {
		t.Errorf("Work: %+v", r)
	}
	if rows["Fails"].Error == "" || len(rows) != 2 {
		t.Errorf("%+v", rows)
	}
	new.File = old.File
	if d, err = Run(context.Background(), Options{Old: old, New: new}); err != nil || len(d.Same) != 1 {
		t.Errorf("the same program: %+v, %v", d, err)
	}
}

// What programs without a clock need to start is taken off pair by pair, so a start that takes longer from some run on, as on a machine that gets
// busier, makes no difference.
func TestStartOfPrograms(t *testing.T) {
	testrun.Live(t, "builds and measures programs")
	const text = `package work

import (
	"os"
	"testing"
)

var sink int

func TestMain(m *testing.M) {
	f, err := os.OpenFile("runs", os.O_APPEND|os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		panic(err)
	}
	f.Write([]byte{0})
	if s, err := f.Stat(); err != nil || s.Size() > LATE {
		for range 100_000_000 {
			sink++
		}
	}
	os.Exit(m.Run())
}

func BenchmarkWork(b *testing.B) {
	for range b.N {
		for range 10_000 {
			sink++
		}
	}
}
`
	var sides [2]Side
	for i, late := range []string{"1 << 30", "8"} { // before the pairs, a program runs eight times at most
		s := &sides[i]
		s.Dir = t.TempDir()
		s.Name, s.File = sideNames[i], filepath.Join(s.Dir, "x.test")
		for name, text := range map[string]string{"go.mod": "module example.com/work\n\ngo 1.24\n", "work_test.go": strings.Replace(text, "LATE", late, 1)} {
			if err := os.WriteFile(filepath.Join(s.Dir, name), []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := (gocmd.Command{Dir: s.Dir}).Run(context.Background(), "test", "-c", "-o", s.File, "."); err != nil {
			t.Fatal(err)
		}
	}
	d, err := Run(context.Background(), Options{Old: sides[0], New: sides[1], Budget: time.Second, How: recording.Duet, Noise: &Noise{Spread: 0.02, Of: 7}, NoWhy: true, AsIs: true})
	if err != nil {
		t.Fatal(err)
	}
	r := d.Benchmarks[0]
	ds := recording.Ratios(r.Pairs, r.Unit)
	if len(ds) < fewestPairs || math.Abs(stat.Median(ds)) > 0.2 {
		t.Errorf("%d pairs differ by %.2f in the middle, %q: %+v", len(ds), stat.Median(ds), r.Error, r.Pairs)
	}
}

func TestMistakes(t *testing.T) {
	old, new := sides(t)
	broken := new
	broken.Dir = t.TempDir()
	os.WriteFile(filepath.Join(broken.Dir, "go.mod"), []byte("module example.com/sides\n"), 0o644)
	os.WriteFile(filepath.Join(broken.Dir, "work.go"), []byte("package sides\n\nvar x int = nothing\n"), 0o644)
	os.WriteFile(filepath.Join(broken.Dir, "x_test.go"), []byte("package sides\n\nimport \"testing\"\n\nfunc BenchmarkWork(b *testing.B) {}\n"), 0o644)
	for _, tt := range []struct {
		name string
		opt  Options
		err  string
	}{
		{"broken", Options{Old: old, New: broken}, "building the tests of example.com/sides, new:\n# example.com/sides"},
		{"pattern", Options{Old: old, New: new, Bench: "("}, "-bench: error parsing regexp"},
		{"none", Options{Old: old, New: new, Bench: "Nothing"}, ErrNothing.Error()},
		{"folder", Options{Old: old, New: new, Packages: []string{"./nowhere"}}, "nowhere"},
		{"threshold", Options{Old: old, New: new, Bench: "Work", Plan: stat.Plan{Within: 1e-12}}, "is within the noise"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			d, err := Run(context.Background(), tt.opt)
			if err == nil || !strings.Contains(err.Error(), tt.err) {
				t.Errorf("%+v, %v; want an error with %q", d, err, tt.err)
			}
		})
	}
	ctx, cancel := context.WithCancel(context.Background())
	opt := Options{Old: old, New: new, Bench: "Work", Say: func(text string) {
		if strings.Contains(text, "2 pairs") {
			cancel()
		}
	}}
	d, err := Run(ctx, opt)
	if !errors.Is(err, context.Canceled) || d == nil || len(d.Benchmarks) != 1 || len(d.Benchmarks[0].Pairs) != 2 {
		t.Errorf("interrupted: %+v, %v", d, err)
	}
}

// What was checked out for a comparison is gone after it.
func TestRevisions(t *testing.T) {
	if _, err := exec.LookPath("git"); err != nil {
		t.Fatal("these tests need git: ", err)
	}
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	git := func(args ...string) string {
		t.Helper()
		cmd := exec.Command("git", append([]string{"-c", "user.name=t", "-c", "user.email=t@example.com", "-c", "commit.gpgsign=false"}, args...)...)
		cmd.Dir = dir
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("git %v: %v\n%s", args, err, out)
		}
		return strings.TrimSpace(string(out))
	}
	sub := filepath.Join(dir, "sub")
	commit := func(text string) string {
		t.Helper()
		os.MkdirAll(sub, 0o755)
		if err := os.WriteFile(filepath.Join(sub, "file"), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		git("add", ".")
		git("commit", "-q", "-m", text)
		return git("rev-parse", "HEAD")
	}
	ctx := context.Background()
	if _, _, _, err := Revisions(ctx, dir, "a..b"); !errors.Is(err, ErrNoRepository) {
		t.Errorf("outside of a repository: %v", err)
	}
	git("init", "-q", "-b", "main")
	first := commit("first")
	if _, _, _, err := Revisions(ctx, dir, ""); err == nil {
		t.Error("one commit was compared with something")
	}
	second := commit("second")
	for _, tt := range []struct {
		spec     string
		branch   bool // go on from second on a branch with a third
		dirty    bool
		old, new string // what is in the file
		rev      string // of old
		err      string
	}{
		{spec: "", old: "first", new: "second", rev: first},
		{spec: "", dirty: true, old: "second", new: "dirty", rev: second},
		{spec: first, old: "first", new: "second", rev: first},
		{spec: "HEAD~1..HEAD", old: "first", new: "second", rev: first},
		{spec: "HEAD~1..", dirty: true, old: "first", new: "dirty", rev: first},
		{spec: "", branch: true, old: "second", new: "third", rev: second},
		{spec: "main~1...side", branch: true, old: "first", new: "third", rev: first},
		{spec: "nothing..HEAD", err: "nothing names no commit"},
		{spec: "--help..HEAD", err: "names no commit"},
	} {
		git("checkout", "-q", "-f", "main")
		if tt.branch {
			git("checkout", "-q", "-B", "side")
			commit("third")
		}
		if tt.dirty {
			os.WriteFile(filepath.Join(sub, "file"), []byte("dirty"), 0o644)
		}
		old, new, done, err := Revisions(ctx, sub, tt.spec)
		if tt.err != "" {
			if err == nil || !strings.Contains(err.Error(), tt.err) {
				t.Errorf("%q: %v, want an error with %q", tt.spec, err, tt.err)
			}
			continue
		}
		if err != nil {
			t.Errorf("%q: %v", tt.spec, err)
			continue
		}
		before, _ := os.ReadFile(filepath.Join(old.Dir, "file"))
		after, _ := os.ReadFile(filepath.Join(new.Dir, "file"))
		if string(before) != tt.old || string(after) != tt.new || old.Rev != tt.rev || new.Dirty != tt.dirty {
			t.Errorf("%q compares %+v, which has %q, with %+v, which has %q", tt.spec, old, before, new, after)
		}
		done()
		if left := git("worktree", "list"); strings.Contains(left, "\n") {
			t.Errorf("%q leaves %s", tt.spec, left)
		}
		if _, err := os.Stat(old.Dir); !os.IsNotExist(err) {
			t.Errorf("%q leaves %s: %v", tt.spec, old.Dir, err)
		}
	}
}
