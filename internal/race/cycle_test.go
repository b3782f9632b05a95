package race

import (
	"os"
	"strings"
	"testing"
	"time"

	"github.com/hone-perf/hone/internal/testrun"
)

// TestCrossed holds that two calls which take two locks in different orders are found, and that the other calls have their turn then.
func TestCrossed(t *testing.T) {
	testrun.Live(t, "builds a package with the race detector, and calls it until it hangs")
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS("testdata/crossed")); err != nil {
		t.Fatal(err)
	}
	s, err := Find(t.Context(), Options{Dir: dir, Time: time.Hour, Runs: 1, CPUs: []int{4, 2}})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	r := s.Report(t.Context())
	if len(r.Hangs) != 1 || len(r.Hangs[0].Waiting) != 2 {
		t.Fatalf("want one deadlock of two goroutines, got %+v", r.Hangs)
	}
	if len(r.Races) == 0 || r.Races[0].Variable != "hits" {
		t.Errorf("of the other calls, want a race about hits, got %+v", r.Races)
	}
	h := r.Hangs[0]
	if !strings.Contains(h.Text, "booksMu") || !strings.Contains(h.Text, "shelfMu") || !strings.HasPrefix(h.By, "Put and ") {
		t.Errorf("it is told as %q, by %q", h.Text, h.By)
	}
	for i, line := range []int{17, 31} {
		if w := h.Waiting[i]; w.Line != line {
			t.Errorf("a goroutine waits at line %d (%s), want %d", w.Line, w.Text, line)
		}
	}
}

func TestYielding(t *testing.T) {
	for _, c := range []struct{ in, want string }{
		{"package a\n\nfunc f() {\n\tmu.Lock() // as one\n\tdefer mu.Unlock()\n}\n",
			"package a; import hone_runtime \"runtime\"\n\nfunc f() {\n\tmu.Lock(); hone_runtime.Gosched() // as one\n\tdefer mu.Unlock()\n}\n"},
		{"package a\n\nfunc f(n int) {\n\tswitch n {\n\tcase 1:\n\t\ts.mu.RLock()\n\t}\n}\n",
			"package a; import hone_runtime \"runtime\"\n\nfunc f(n int) {\n\tswitch n {\n\tcase 1:\n\t\ts.mu.RLock(); hone_runtime.Gosched()\n\t}\n}\n"},
		{"package a\n\nfunc f() {\n\tfor mu.Lock(); more(); {\n\t}\n\tx := mu.Lock\n\tmu.Lock(1)\n\tgo mu.Lock()\n}\n", ""},
		{"package a\n\nimport \"C\"\n\nfunc f() {\n\tmu.Lock()\n}\n", ""},
		{"package a\n\nfunc f() {\n\tmu.Lock(\n", ""},
	} {
		got, ok := yielding([]byte(c.in))
		if string(got) != c.want || ok != (c.want != "") {
			t.Errorf("%s\nbecomes\n%s\nwant\n%s", c.in, got, c.want)
		}
	}
}
