package prove

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hone-perf/hone/internal/gocmd"
	"github.com/hone-perf/hone/internal/report"
)

// versions writes two versions of a package into folders and loads them.
func versions(t *testing.T, old, now string) (dir string, pairs []*pair) {
	t.Helper()
	dir = t.TempDir()
	for v, code := range map[string]string{"old": old, "new": now} {
		write(t, filepath.Join(dir, v, "go.mod"), []byte("module example.com/p\n\ngo 1.26\n"))
		write(t, filepath.Join(dir, v, "p.go"), []byte(code))
	}
	c, err := Open(t.Context(), dir, []string{"old", "new"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	if pairs, _, err = pairUp(t.Context(), c, []string{"."}); err != nil || len(pairs) != 1 {
		t.Fatal(pairs, err)
	}
	return dir, pairs
}

// Functions that newly write to package variables are found, however they do; those that lock, or only set up the package, are not.
func TestNewWrites(t *testing.T) {
	const head = "package p\n\nimport (\n\"bytes\"\n\"sync\"\n\"sync/atomic\"\n)\n\nvar (\nbuf bytes.Buffer\nmu sync.Mutex\nn int\nm = map[string]int{}\npool sync.Pool\ncount atomic.Int64\n)\n" +
		"func use(b *bytes.Buffer) { b.WriteString(\"a\") }\nfunc unused() { n++ }\n"
	_, pairs := versions(t, head+`
func Address() {}
func Method() {}
func Assign() { helper() }
func helper() int { return 0 }
func Map() {}
func Locked() {}
func Shared() {}
func Before() { n++ }
func SetN(k int) {}
`, head+`
func Address() { b := &buf; use(b) }
func Method() { buf.Reset() }
func Assign() { helper() }
func helper() int { n += 2; return n }
func Map() { m["a"]++; delete(m, "b") }
func Locked() { mu.Lock(); n++; mu.Unlock() }
func Shared() { pool.Put(1); count.Add(1); p := &count; p.Add(1) }
func Before() { n++; n++ }
func SetN(k int) { n = k }
`)
	want := []string{"Address writes to the package variable buf", "Map writes to the package variable m",
		"Method writes to the package variable buf", "helper writes to the package variable n"}
	if got := pairs[0].newWrites(); !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
}

// A data race that no test of the package shows fails the proof.
func TestNewDataRace(t *testing.T) {
	if testing.Short() {
		t.Skip("builds two versions with the race detector")
	}
	const old = "package p\n\nimport \"bytes\"\n\nfunc Twice(s string) string {\n\tvar buf bytes.Buffer\n\tbuf.WriteString(s)\n\tbuf.WriteString(s)\n\treturn buf.String()\n}\n"
	now := strings.NewReplacer("func Twice", "var shared bytes.Buffer\n\nfunc Twice", "var buf bytes.Buffer", "buf := &shared\n\tbuf.Reset()").Replace(old)
	dir, _ := versions(t, old, now)
	p := proveIn(t, dir, "old", "new", Options{Executions: 20, Time: time.Hour, NoTests: true})
	if ok, _ := hasRace(t.Context(), gocmd.Command{Dir: dir}); !ok {
		if p.Verdict != report.NotProven {
			t.Errorf("without a race detector: %s", p.Verdict)
		}
		return
	}
	i := slices.IndexFunc(p.Checks, func(c report.Check) bool { return c.Name == parallelCheck })
	if p.Verdict != report.Different || i < 0 || p.Checks[i].Outcome != report.Failed || !strings.Contains(p.Checks[i].Detail, "DATA RACE") {
		t.Errorf("%s: %+v", p.Verdict, p.Checks)
	}
}
