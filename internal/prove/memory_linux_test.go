package prove

import (
	"path/filepath"
	"testing"
	"time"

	"github.com/hone-perf/hone/internal/maxrss"
	"github.com/hone-perf/hone/internal/prove/worker"
	"github.com/hone-perf/hone/internal/testrun"
)

// greedy has functions that take memory: as garbage, more and more of it, all at once, and in a copy during which nobody can look.
const greedy = `package greedy

var kept [][]byte

func Garbage() int {
	kept = nil
	for range 40 {
		kept = append(kept, full(10<<20))
	}
	n := 0
	for range 300 {
		n += len(full(10<<20))
	}
	return n + version
}

func Grow() int {
	for {
		kept = append(kept, full(10<<20))
		if len(kept) > 100_000 {
			return version
		}
	}
}

func Huge() int {
	kept = append(kept, make([]byte, 20<<30))
	return version
}

func Copy() int {
	b := full(900 << 20)
	kept = append(kept, []byte(string(b)))
	return version
}

func full(n int) []byte {
	b := make([]byte, n)
	for i := 0; i < n; i += 4096 {
		b[i] = 1
	}
	return b
}
`

// TestMemoryOfWorkers holds that a worker takes of the machine no more than a little over twice what it may have in use, that a call which
// needs more counts as too large, and that garbage alone does not.
func TestMemoryOfWorkers(t *testing.T) {
	testrun.Nightly(t, "builds workers that take a gigabyte")
	ctx, dir := t.Context(), t.TempDir()
	for v, text := range map[string]string{"old": "1", "new": "2"} {
		write(t, filepath.Join(dir, v, "go.mod"), []byte("module example.com/greedy\n\ngo 1.24\n"))
		write(t, filepath.Join(dir, v, "greedy.go"), []byte(greedy))
		write(t, filepath.Join(dir, v, "version.go"), []byte("package greedy\n\nconst version = "+text+"\n"))
	}
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
	f := newSearch(s, Options{Executions: 1, Say: func(string) {}}, files)
	want := map[string]byte{"Garbage": worker.Done, "Grow": worker.Large, "Huge": worker.Large, "Copy": worker.Large}
	tried := 0
	for _, target := range f.targets {
		status, ok := want[target.key]
		if !ok || target.entry == nil {
			continue
		}
		tried++
		for side := range 2 {
			p, err := start(ctx, f.files[side].file, f.config(time.Hour)) // what is confirmed may take more than the search
			if err != nil {
				t.Fatal(err)
			}
			seen := p.run([]*worker.Program{{Steps: []worker.Step{{Func: target.id}}}}, worker.FlushEach)
			p.stop()
			if got := seen[0].Status; got != status {
				t.Errorf("%s, version %d: the status is %d, want %d", target.key, side+1, got, status)
			}
			const most int64 = 2*confirmMemory + confirmMemory/4 + 64<<20 // and what it has before the first call
			if peak := maxrss.Of(p.cmd.ProcessState); peak > most {
				t.Errorf("%s, version %d: the worker took %d MB, want %d at most", target.key, side+1, peak>>20, most>>20)
			} else {
				t.Logf("%s: %d MB", target.key, peak>>20)
			}
		}
	}
	if tried != len(want) {
		t.Errorf("%d of %d functions were called", tried, len(want))
	}
}
