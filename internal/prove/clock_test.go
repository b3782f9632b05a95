package prove

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hone-perf/hone/internal/report"
)

// TestTimeIsKept holds that a search ends about when it has to, where each look at a difference takes longer than there is time: calls wait,
// and the difference shows only after several of them. What has shown and was not looked into is said.
func TestTimeIsKept(t *testing.T) {
	if testing.Short() {
		t.Skip("builds and calls two versions of a package")
	}
	const text = `package waits

import "time"

var calls int

func Wait(n int) int {
	time.Sleep(100 * time.Millisecond)
	if calls++; calls > LIMIT {
		return n + 1
	}
	return n
}
`
	dir := t.TempDir()
	for v, limit := range map[string]string{"old": "1000", "new": "3"} {
		write(t, filepath.Join(dir, v, "go.mod"), []byte("module example.com/waits\n\ngo 1.24\n"))
		write(t, filepath.Join(dir, v, "waits.go"), []byte(strings.Replace(text, "LIMIT", limit, 1)))
	}
	const asked = 3 * time.Second
	began := time.Now()
	p := proveIn(t, dir, "old", "new", Options{Time: asked, NoTests: true, Say: func(s string) {
		if strings.HasPrefix(s, "calling both versions") {
			began = time.Now()
		}
	}})
	// Twice the time beyond is for a busy machine. Without an end it takes minutes.
	took := time.Since(began)
	if took > asked+2*mostGrace {
		t.Errorf("it took %v of %v", took, asked)
	}
	t.Logf("%v: %s %q", took, p.Verdict, p.Reasons)
	if want := "a call of Wait differed, but time ran out before that could be confirmed"; p.Verdict == report.Proven || len(p.Differences) == 0 && !slices.Contains(p.Reasons, want) {
		t.Errorf("%s: %q", p.Verdict, p.Reasons)
	}
}

// TestShares holds that what a package does not use of its time is for those after it, and that what it uses beyond is theirs.
func TestShares(t *testing.T) {
	r := &run{left: time.Minute, grace: mostGrace}
	for i, step := range []struct{ share, took time.Duration }{
		{20 * time.Second, 5 * time.Second},
		{27500 * time.Millisecond, 30 * time.Second},
		{25 * time.Second, 28 * time.Second},
	} {
		if got := share(r.left, 3-i); got != step.share {
			t.Errorf("package %d gets %v, want %v", i, got, step.share)
		}
		r.used(step.share, step.took)
	}
	if r.left != 0 || r.grace != 0 {
		t.Errorf("%v and %v are left, want nothing", r.left, r.grace)
	}
	if got := share(r.left, 2); got != leastShare {
		t.Errorf("a package for which nothing is left gets %v, want %v", got, leastShare)
	}
}
