//go:build amd64 || arm64

package heap

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/hone-perf/hone/internal/heapgraph"
	"github.com/hone-perf/hone/internal/testrun"
)

// startEveryday runs testdata/everyday, and returns what it has allocated.
func startEveryday(t *testing.T, file string) (pid int, allocated heapgraph.Sum) {
	t.Helper()
	pid, line := start(t, file)
	if _, err := fmt.Sscanf(line, "ready %d %d", &allocated.Bytes, &allocated.Objects); err != nil {
		t.Fatalf("%s printed %q", file, line)
	}
	return pid, allocated
}

// held returns what each holder holds.
func held(t *testing.T, h *heapgraph.Heap) (rows map[string]int64, garbage heapgraph.Sum) {
	t.Helper()
	p, garbage, err := heapgraph.Profile(h)
	if err != nil {
		t.Fatal(err)
	}
	space, err := p.SampleIndex(heapgraph.Space)
	if err != nil {
		t.Fatal(err)
	}
	rows = map[string]int64{}
	for i, v := range p.Values(space) {
		name := ""
		for _, l := range p.LabelSets()[p.Label(i)] {
			if l.Key == heapgraph.HolderLabel && name != "" {
				name += heapgraph.Together
			}
			if l.Key == heapgraph.HolderLabel {
				name += l.Str
			}
		}
		rows[name] += v
	}
	return rows, garbage
}

// TestTimers checks that a timer does not hold all others, though the runtime has pointers from each to all.
func TestTimers(t *testing.T) {
	testrun.Live(t, "it builds a program and reads its heap")
	pid, _ := startEveryday(t, build(t, "everyday", "", nil))
	rows, _ := held(t, read(t, pid, Options{}))
	if least := int64(1000 * (8<<10 + 32 + 100)); rows["main.sessions"] < least {
		t.Errorf("main.sessions holds %d bytes, want at least %d: %v", rows["main.sessions"], least, rows)
	}
	if most := int64(1 << 10); rows["main.beat"] > most || rows["main.reload"] > most {
		t.Errorf("timers hold more than themselves: %v", rows)
	}
}

// TestInUse has an object of a variable that a goroutine needs as well, which has no name for it any more. Without the variable, nothing is freed.
func TestInUse(t *testing.T) {
	testrun.Live(t, "it builds a program and reads its heap")
	pid, _ := startEveryday(t, build(t, "everyday", "", nil))
	rows, _ := held(t, read(t, pid, Options{}))
	if of := "goroutine main.(*upload).loop + main.uploads"; rows[of] < 1<<20 || rows["main.uploads"] > 0 {
		t.Errorf("%s hold %d bytes, and main.uploads alone %d: %v", of, rows[of], rows["main.uploads"], rows)
	}
}

// TestGeneric has values of a generic type in interfaces. The debug data often lacks such types, here it lacks them always.
func TestGeneric(t *testing.T) {
	testrun.Live(t, "it builds a program and reads its heap")
	file := build(t, "everyday", "", nil)
	pid, _ := startEveryday(t, file)
	exe, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer exe.Close()
	p, err := openProgram(exe, "")
	if err != nil {
		t.Fatal(err)
	}
	p.limit = 1 << 30
	lacks := 0
	for addr, off := range p.debug.rtypes {
		if e, _, err := p.debug.at(off); err == nil && strings.Contains(string(e.name), "main.entry[") {
			delete(p.debug.rtypes, addr)
			lacks++
		}
	}
	if lacks == 0 {
		t.Error("the debug data has no entry to take away")
	}
	var h *heapgraph.Heap
	_, err = stopped(t.Context(), pid, func(target int, list []thread, _ func()) error {
		p.reader, p.threads = &reader{memory: processMemory(target)}, list
		h, err = p.heap(t.Context(), 0, func() {})
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"container/list.Element .Value main.entry[int,*main.session]", "main.entry[int,*main.session] .value main.session"} {
		if !hasEdge(h, want) {
			t.Errorf("no pointer of a %s", want)
		}
	}
}

// TestGarbage compares what nothing holds with what the runtime says that is allocated.
func TestGarbage(t *testing.T) {
	testrun.Live(t, "it builds a program and reads its heap")
	pid, allocated := startEveryday(t, build(t, "everyday", "", nil))
	h := read(t, pid, Options{})
	_, garbage := held(t, h)
	if least := (heapgraph.Sum{Bytes: 8<<20 + 5000*(4096+64), Objects: 10_001}); garbage.Bytes < least.Bytes || garbage.Objects < least.Objects {
		t.Errorf("garbage is %v, want at least %v", garbage, least)
	}
	reached := heapgraph.Sum{Objects: uint64(len(h.Words))}
	for _, w := range h.Words {
		reached.Bytes += uint64(w) * 8
	}
	// What it did since takes some more.
	if got := reached.Bytes + garbage.Bytes; got < allocated.Bytes || got > allocated.Bytes+16<<10 { // the buffer of io.Copy
		t.Errorf("%d bytes are held and %d are garbage, of %d", reached.Bytes, garbage.Bytes, allocated.Bytes)
	}
	if got := reached.Objects + garbage.Objects; got < allocated.Objects || got > allocated.Objects+20 {
		t.Errorf("%d objects are held and %d are garbage, of %d", reached.Objects, garbage.Objects, allocated.Objects)
	}
}
