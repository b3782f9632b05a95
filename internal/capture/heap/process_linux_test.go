//go:build amd64 || arm64

package heap

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/hone-perf/hone/internal/heapgraph"
	"github.com/hone-perf/hone/internal/testrun"
)

// build builds a program of testdata in a module of its own, with some version of Go or, if that is "", with that of the test.
func build(t *testing.T, name, version string, env []string, flags ...string) string {
	t.Helper()
	return buildIn(t, t.TempDir(), name, name, version, env, flags...)
}

// buildIn is build for a folder: its name is in the program.
func buildIn(t *testing.T, dir, output, name, version string, env []string, flags ...string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", name, "main.go"))
	if err != nil {
		t.Fatal(err)
	}
	for file, text := range map[string]string{"main.go": string(text), "go.mod": "module " + name + "\n\ngo 1.22\n"} {
		if err := os.WriteFile(filepath.Join(dir, file), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.CommandContext(t.Context(), "go", append(append([]string{"build", "-o", output}, flags...), ".")...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), env...)
	if version != "" {
		cmd.Env = append(cmd.Env, "GOTOOLCHAIN="+version)
	}
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("building %s: %v\n%s", name, err, out)
	}
	return filepath.Join(dir, output)
}

// start runs a program until the end of the test. It returns its process, and the first line that it prints.
func start(t *testing.T, file string, args ...string) (int, string) {
	t.Helper()
	cmd := exec.Command(file, args...)
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stderr = os.Stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		in.Close()
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatalf("%s: %v", file, err)
	}
	go func() { _, _ = io.Copy(io.Discard, out) }()
	return cmd.Process.Pid, strings.TrimSpace(line)
}

// startPlanted runs testdata/planted, and returns what it has allocated.
func startPlanted(t *testing.T, file string, args ...string) (pid int, allocated uint64) {
	t.Helper()
	pid, line := start(t, file, args...)
	f := strings.Fields(line)
	if len(f) != 3 || f[0] != "ready" {
		t.Fatalf("%s printed %q", file, line)
	}
	n, err := strconv.ParseUint(f[1], 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return pid, n
}

// read reads a heap, or skips the test where the system does not allow it.
func read(t *testing.T, pid int, o Options) *heapgraph.Heap {
	t.Helper()
	if o.MaxPause == 0 {
		o.MaxPause = time.Minute
	}
	h, err := Read(t.Context(), pid, o)
	if errors.Is(err, ErrNoFork) && !o.Stop {
		o.Stop = true
		h, err = Read(t.Context(), pid, o)
	}
	if err != nil {
		if strings.Contains(err.Error(), "ptrace") || strings.Contains(err.Error(), "permission") {
			testrun.Unable(t, "%v", err)
		}
		t.Fatal(err)
	}
	return h
}

// check returns an error if a heap refers to something that it does not have.
func check(h *heapgraph.Heap) error {
	n := uint32(len(h.Words))
	if len(h.Type) != int(n) || len(h.First) != int(n)+1 || len(h.Step) != len(h.To) || int(h.First[n]) != len(h.To) {
		return errors.New("the columns differ in length")
	}
	for i := range n {
		if h.First[i] > h.First[i+1] || int(h.Type[i]) >= len(h.Types) {
			return fmt.Errorf("object %d is wrong", i)
		}
	}
	for e, to := range h.To {
		if to >= n || int(h.Step[e]) >= len(h.Steps) {
			return fmt.Errorf("edge %d is wrong", e)
		}
	}
	for _, r := range h.Roots {
		if r.Object >= n || int(r.Step) >= len(h.Steps) || int(r.Where) >= len(h.Sites) {
			return fmt.Errorf("root %+v is wrong", r)
		}
	}
	for _, s := range h.Made {
		if s.Object >= n || int(s.Site) >= len(h.Sites) {
			return fmt.Errorf("sample %+v is wrong", s)
		}
	}
	return nil
}

// reached is how many bytes the objects take that some roots lead to.
func reached(h *heapgraph.Heap, roots ...uint32) uint64 {
	seen := make([]bool, len(h.Words))
	sum := uint64(0)
	for len(roots) > 0 {
		o := roots[len(roots)-1]
		roots = roots[:len(roots)-1]
		if seen[o] {
			continue
		}
		seen[o] = true
		sum += uint64(h.Words[o]) * 8
		roots = append(roots, h.To[h.First[o]:h.First[o+1]]...)
	}
	return sum
}

// A planted holder of testdata/planted, the object that it points to, and how much it leads to at least.
type planted struct {
	kind            heapgraph.RootKind
	name, step, typ string
	least           uint64
	since           string // the release that has it
	in              string // of a variable: its function
	waits           string
	atLeastRoots    int
}

var holders = []planted{
	{name: "main.global", typ: "main.blob", least: 1 << 20},
	{name: "main.structed", step: ".inner.b", typ: "main.blob", least: 1 << 20},
	{name: "main.structed", step: ".arr[]", typ: "main.blob", least: 1 << 20},
	{name: "main.structed", step: ".any", typ: "main.blob", least: 1 << 19},
	{name: "main.pointed", typ: "main.holder", least: 1<<20 + 1<<20 + 1<<18},
	{name: "main.slice", typ: "[]*main.blob", least: 1000 * 1000},
	{name: "main.structs", typ: "[]main.holder", least: 1000 * 500},
	{name: "main.small", typ: "map[string]*main.blob", least: 1 << 20},
	{name: "main.large", typ: "map[int]*main.blob", least: 20000 * 100},
	{name: "main.keyed", typ: "map[main.key]*main.blob", least: 20000 * 60},
	{name: "main.bigval", typ: "map[int][40]*main.blob", least: 100 * 2000},
	{name: "main.nested", typ: "map[string]map[string][]*main.blob", least: 100 * 600},
	{name: "main.channel", typ: "chan *main.blob", least: 10 << 16},
	{name: "main.boxed", typ: "main.holder", least: 1 << 20},
	{name: "main.shaped", typ: "main.blob", least: 1 << 19},
	{name: "main.closure", typ: "func main.fill.func2", least: 1 << 19},
	{name: "main.chain", typ: "main.blob", least: 10000 * 64},
	{name: "main.heads", typ: "[][]uint8", least: 8 << 20},
	{name: "main.lst", typ: "container/list.List", least: 100 * 1000},
	{name: "main.array", step: "[]", typ: "main.blob", least: 1 << 20},
	{name: "main.sharedA", typ: "main.blob", least: 1 << 22},
	{name: "main.sharedB", typ: "[]*main.blob", least: 1 << 22},
	{name: "main.floats", typ: "[]float64", least: 8 << 18},
	{name: "main.boxedInt", typ: "[]interface {}", least: 3000 * 8},
	{name: "main.bigarr", typ: "[1000]main.holder", least: 1 << 18},
	{name: "main.large2", typ: "[2000]*main.blob", least: 1 << 18},
	{name: "main.pp", typ: "*main.blob", least: 1 << 18},
	{name: "main.method", typ: "func main.(*blob).shape-fm", least: 1 << 18},
	{name: "main.strs", typ: "[]string", least: 3000 * 16},
	{name: "main.sm", step: ".m.root.v", least: 3000 * 128, since: "go1.24"},
	{kind: heapgraph.Finalizer, name: "main.fill.func3", typ: "func main.fill.func3", least: 1 << 20},
	{kind: heapgraph.Finalizer, name: "main.fill.func4", step: ".next", typ: "main.blob", least: 1 << 20},
	{kind: heapgraph.Variable, name: "onstack", step: ".inner.b", typ: "main.blob", least: 100 << 10, in: "main.worker", waits: "chan receive", atLeastRoots: 20},
}

// checkPlanted compares a heap with what the program has planted.
func checkPlanted(t *testing.T, h *heapgraph.Heap, allocated uint64) {
	t.Helper()
	checkHolders(t, h, allocated, allocated+allocated/1000)
}

// checkHolders checks that the roots lead to no less than some bytes, less what was printed since, and to no more than others.
func checkHolders(t *testing.T, h *heapgraph.Heap, least, most uint64) {
	t.Helper()
	if err := check(h); err != nil {
		t.Fatal(err)
	}
	var all []uint32
	for _, r := range h.Roots {
		all = append(all, r.Object)
	}
	// What the program has printed since takes some more.
	if sum := reached(h, all...); sum+1000 < least || sum > most || sum > h.Allocated.Bytes {
		t.Errorf("roots lead to %d bytes of %d; the program has %d to %d after a collection", sum, h.Allocated.Bytes, least, most)
	}
	untyped := uint64(0)
	for i, w := range h.Words {
		if h.Type[i] == 0 {
			untyped += uint64(w) * 8
		}
	}
	if limit := least / 5; untyped > limit { // the arrays that temporary values of the workers hold have no name
		t.Errorf("%d bytes have no type; want less than %d", untyped, limit)
	}
	release := goRelease(h.GoVersion)
	for _, p := range holders {
		if p.since != "" && release < goRelease(p.since) || release < 23 && strings.HasPrefix(p.typ, "func ") && p.kind == heapgraph.Global {
			continue
		}
		n := 0
		var near []string
		for _, r := range h.Roots {
			if r.Kind != p.kind || r.Name != p.name {
				continue
			}
			near = append(near, fmt.Sprintf("%s%s leads to a %s of %d bytes", r.Name, h.Steps[r.Step], h.Types[h.Type[r.Object]], reached(h, r.Object)))
			if h.Steps[r.Step] != p.step || p.typ != "" && h.Types[h.Type[r.Object]] != p.typ || reached(h, r.Object) < p.least {
				continue
			}
			if p.in != "" && (len(h.Sites[r.Where]) == 0 || h.Sites[r.Where][0].Func != p.in || r.Waits != p.waits || int(r.Count) != p.atLeastRoots) {
				continue
			}
			n++
		}
		if n < max(p.atLeastRoots, 1) {
			t.Errorf("%s%s leads to a %s of at least %d bytes %d times; there are: %q", p.name, p.step, p.typ, p.least, n, near)
		}
	}
	for _, want := range []string{
		"map.group[int]*main.blob value main.blob", "main.blob .next main.blob", "main.holder .f func main.fill.func1", "[]main.holder [].any [3]int",
		"func main.fill.func2 captured y main.blob", "runtime.timeTimer .timer.arg func main.fill.func5", "chan *main.blob .buf []*main.blob", "[][]uint8 [] []uint8",
	} {
		if release < 24 && (strings.Contains(want, "map.group") || strings.Contains(want, "func ") || strings.Contains(want, "timeTimer")) {
			continue
		}
		if !hasEdge(h, want) {
			t.Errorf("no pointer of a %s", want)
		}
	}
	made := 0
	for _, s := range h.Made {
		if slices.ContainsFunc(h.Sites[s.Site], func(f heapgraph.Frame) bool { return f.Func == "main.fill" && f.Line > 0 && f.File != "" }) {
			made++
		}
	}
	if made == 0 || h.Rate != 512<<10 {
		t.Errorf("of %d samples %d were made by main.fill; the rate is %d", len(h.Made), made, h.Rate)
	}
	for _, list := range [][]string{h.Types, h.Steps} {
		for _, s := range list {
			if strings.Contains(s, "secret") {
				t.Errorf("what the program wrote to memory is in the answer: %q", s)
			}
		}
	}
}

// goRelease returns 22 for go1.22.12.
func goRelease(v string) int {
	n := 0
	_, _ = fmt.Sscanf(v, "go1.%d", &n)
	return n
}

func hasEdge(h *heapgraph.Heap, want string) bool {
	for i := range h.Words {
		for e := h.First[i]; e < h.First[i+1]; e++ {
			if from := h.Types[h.Type[i]]; strings.HasPrefix(strings.TrimPrefix(want, "[]"), strings.TrimPrefix(from, "[]")) && from != "" {
				if got := from + " " + h.Steps[h.Step[e]] + " " + h.Types[h.Type[h.To[e]]]; got == want || got == "[]"+want {
					return true
				}
			}
		}
	}
	return false
}

// checkUndisturbed checks that nothing of hone is left in a process, and that it runs on.
func checkUndisturbed(t *testing.T, pid int) {
	t.Helper()
	m, err := status(fmt.Sprintf("/proc/%d/", pid))
	if err != nil {
		t.Fatal(err)
	}
	if m["TracerPid"] != 0 {
		t.Errorf("process %d is still traced", pid)
	}
	tids, err := threadsOf(pid)
	if err != nil {
		t.Fatal(err)
	}
	for _, tid := range tids {
		if b, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/children", pid, tid)); err == nil && len(b) > 0 {
			t.Errorf("process %d has children: %s", pid, b)
		}
		b, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/stat", pid, tid))
		if err != nil {
			continue
		}
		if _, rest, _ := strings.Cut(string(b), ") "); strings.HasPrefix(rest, "t") || strings.HasPrefix(rest, "T") {
			t.Errorf("thread %d of process %d is stopped", tid, pid)
		}
	}
}

func TestPlanted(t *testing.T) {
	testrun.Live(t, "it builds a program and reads its heap")
	file := build(t, "planted", "", nil)
	for _, o := range []Options{{}, {Stop: true}} {
		pid, allocated := startPlanted(t, file)
		h := read(t, pid, o)
		checkPlanted(t, h, allocated)
		checkUndisturbed(t, pid)
		if h.PID != pid || h.Pause <= 0 || h.BuildID == "" || h.Time.IsZero() || h.Command == "" {
			t.Errorf("what the heap is from: %+v", h.Meta)
		}
	}
	t.Run("ended", func(t *testing.T) {
		pid, _ := startPlanted(t, file)
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := Read(ctx, pid, Options{}); !errors.Is(err, context.Canceled) && !errors.Is(err, ErrNoFork) {
			t.Errorf("with a context that has ended: %v", err)
		}
		checkUndisturbed(t, pid)
		var pause *PauseError
		if _, err := Read(t.Context(), pid, Options{MaxPause: time.Nanosecond}); !errors.As(err, &pause) {
			t.Errorf("with a pause that is too short: %v", err)
		}
	})
	t.Run("young", func(t *testing.T) {
		// The collector has not made the masks of large types yet.
		t.Setenv("GOGC", "off")
		pid, _ := startPlanted(t, file, "young")
		h := read(t, pid, Options{})
		for _, r := range h.Roots {
			if r.Name == "main.bigval" && reached(h, r.Object) < 100*2000 {
				t.Errorf("main.bigval leads to %d bytes; notes: %+v", reached(h, r.Object), h.Notes)
			}
		}
		if len(h.Notes) > 0 {
			t.Errorf("notes: %+v", h.Notes)
		}
	})
	t.Run("damaged", func(t *testing.T) { damaged(t, file) })
}

// recorded is a memory that keeps what is read of it.
type recorded struct {
	processMemory
	pages map[uint64][]byte
}

func (r *recorded) read(addr uint64, b []byte) error {
	if err := r.processMemory.read(addr, b); err != nil {
		return err
	}
	for at := addr &^ (pageSize - 1); at < addr+uint64(len(b)); at += pageSize {
		if r.pages[at] == nil {
			page := make([]byte, pageSize)
			if r.processMemory.read(at, page) == nil {
				r.pages[at] = page
			}
		}
	}
	return nil
}

func (r *recorded) readMany(pieces []piece, b []byte) error { return eachPiece(r, pieces, b) }

func eachPiece(m memory, pieces []piece, b []byte) error {
	for _, p := range pieces {
		if err := m.read(p.addr, b[:p.size]); err != nil {
			return err
		}
		b = b[p.size:]
	}
	return nil
}

// worn is a memory of which some words are wrong.
type worn struct {
	pages map[uint64][]byte
	bad   map[uint64]uint64
}

func (w *worn) read(addr uint64, b []byte) error {
	for len(b) > 0 {
		at := addr &^ (pageSize - 1)
		page := w.pages[at]
		if page == nil {
			return errMemory
		}
		for off := uint64(0); off < pageSize && len(w.bad) > 0; off += pageSize {
			if v, ok := w.bad[at]; ok {
				page = slices.Clone(page)
				word := v >> 16 % (pageSize / 8) * 8
				for i := range uint64(8) {
					page[word+i] = byte(v >> (i * 8) & 0xff)
				}
			}
		}
		n := copy(b, page[addr-at:])
		b, addr = b[n:], addr+uint64(n)
	}
	return nil
}

func (w *worn) readMany(pieces []piece, b []byte) error { return eachPiece(w, pieces, b) }

// damaged reads a heap again and again with some of the memory changed, and with some of the debug data changed. There may be an error, but
// it has to come to an end.
func damaged(t *testing.T, file string) {
	pid, _ := startPlanted(t, file)
	exe, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer exe.Close()
	memory := &recorded{processMemory(0), map[uint64][]byte{}}
	var threads []thread
	fresh := func() *program {
		p, err := openProgram(exe, "")
		if err != nil {
			t.Fatal(err)
		}
		p.limit = 1 << 30
		return p
	}
	_, err = stopped(t.Context(), pid, func(target int, list []thread, _ func()) error {
		memory.processMemory, threads = processMemory(target), list
		p := fresh()
		p.reader, p.threads = &reader{memory: memory}, list
		serial := runtime.GOMAXPROCS(1) // the map of pages is for one at a time
		defer runtime.GOMAXPROCS(serial)
		_, err := p.heap(t.Context(), 0, func() {})
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	var addrs []uint64
	for at := range memory.pages {
		addrs = append(addrs, at)
	}
	slices.Sort(addrs)
	runs := 20
	if testrun.InNightly() {
		runs = 300
	}
	failed := 0
	for seed := range uint64(runs) {
		random := rand.New(rand.NewPCG(seed, 1))
		w := &worn{memory.pages, map[uint64]uint64{}}
		p := fresh()
		if seed%4 == 3 {
			for name, b := range p.debug.sections {
				b = slices.Clone(b)
				for range 1 + len(b)/2000 {
					b[random.IntN(len(b))] = byte(random.Uint32())
				}
				p.debug.sections[name] = b
			}
		} else {
			for range 1 + random.IntN(len(addrs)) {
				v := random.Uint64()
				if at := addrs[random.IntN(len(addrs))]; random.IntN(2) == 0 {
					w.bad[at] = v
				} else {
					w.bad[at] = addrs[v%uint64(len(addrs))] + v%16*8 // a pointer to something else
				}
			}
		}
		p.reader, p.threads = &reader{memory: w}, threads
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		h, err := p.heap(ctx, 0, func() {})
		if ctx.Err() != nil {
			t.Errorf("seed %d: it does not end", seed)
		}
		cancel()
		if err != nil {
			failed++
		} else if err := check(h); err != nil {
			t.Errorf("seed %d: %v", seed, err)
		}
	}
	t.Logf("of %d damaged heaps %d gave an error", runs, failed)
}

// TestHostile reads heaps of shapes that algorithms are slow with, or fail. With a larger number, as hostile has them when it is run by hand, they are for measuring.
func TestHostile(t *testing.T) {
	testrun.Live(t, "it builds a program and reads its heap")
	file := build(t, "hostile", "", nil)
	const n = 20_000
	for shape, want := range map[string]struct {
		holder string
		bytes  uint64
	}{
		"list":       {"main.head", n * 16},
		"indexed":    {"main.head + main.index", n * 24},
		"doubly":     {"main.doubly", n * (48 + 24 + 8)},
		"tree":       {"main.root", n * 24},
		"map":        {"main.index", n * (24 + 8)},
		"shared":     {"main.all", n * 16},
		"dense":      {"main.dense", 10_000 * (24 + 8*100)},
		"goroutines": {"main.hold", n * (24 + 8)},
		"timers":     {"timer: main.(*item).expire", n * (24 + 8)},
		"interfaces": {"main.chain", n * 16},
		"closures":   {"main.call", n * (24 + 24 + 8)},
	} {
		t.Run(shape, func(t *testing.T) {
			number := n
			if shape == "dense" {
				number = 100
			}
			pid, line := start(t, file, shape, strconv.Itoa(number))
			h := read(t, pid, Options{})
			if err := check(h); err != nil {
				t.Fatal(err)
			}
			var all []uint32
			for _, r := range h.Roots {
				all = append(all, r.Object)
			}
			_, least, _ := strings.Cut(line, " ")
			allocated, err := strconv.ParseUint(least, 10, 64)
			if sum := reached(h, all...); err != nil || sum+1000 < allocated || sum > h.Allocated.Bytes {
				t.Errorf("roots lead to %d bytes of %d; the program printed %q", sum, h.Allocated.Bytes, line)
			}
			p, _, err := heapgraph.Profile(h)
			if err != nil {
				t.Fatal(err)
			}
			held := map[string]uint64{}
			space, err := p.SampleIndex(heapgraph.Space)
			if err != nil {
				t.Fatal(err)
			}
			for i, v := range p.Values(space) {
				stack := p.Stack(i, nil)
				name := p.Functions[p.Locations[stack[len(stack)-1]].Lines[0].Function].Name
				held[name] += uint64(v)
			}
			if held[want.holder] < want.bytes {
				t.Errorf("%s holds %d bytes, want %d: %v", want.holder, held[want.holder], want.bytes, held)
			}
		})
	}
}

// goReleases are those of which testdata/planted is read.
var goReleases = []string{"go1.22.12", "go1.23.12", "go1.24.11", "go1.25.5", "go1.26.5", "go1.27.3"}

func TestReleases(t *testing.T) {
	testrun.Nightly(t, "it builds a program with each release of Go")
	for _, v := range goReleases {
		t.Run(v, func(t *testing.T) {
			pid, allocated := startPlanted(t, build(t, "planted", v, nil))
			checkPlanted(t, read(t, pid, Options{}), allocated)
			checkUndisturbed(t, pid)
		})
	}
	for v, experiment := range map[string]string{"go1.25.5": "greenteagc", "go1.26.5": "nogreenteagc"} {
		t.Run(experiment, func(t *testing.T) {
			pid, allocated := startPlanted(t, build(t, "planted", v, []string{"GOEXPERIMENT=" + experiment}))
			checkPlanted(t, read(t, pid, Options{}), allocated)
		})
	}
}

// TestChurn reads heaps at any moment of collections that never end, while others allocate.
func TestChurn(t *testing.T) {
	testrun.Nightly(t, "it reads many heaps")
	pid, allocated := startPlanted(t, build(t, "planted", "", nil), "churn")
	for i := range 30 {
		checkHolders(t, read(t, pid, Options{Stop: i%5 == 0}), allocated, allocated+allocated/10)
	}
	checkUndisturbed(t, pid)
}

func TestBuilds(t *testing.T) {
	testrun.Nightly(t, "it builds a program in several ways")
	t.Run("anywhere", func(t *testing.T) {
		pid, allocated := startPlanted(t, build(t, "planted", "", nil, "-buildmode=pie"))
		checkPlanted(t, read(t, pid, Options{}), allocated)
	})
	t.Run("unoptimized", func(t *testing.T) {
		pid, allocated := startPlanted(t, build(t, "planted", "", nil, "-gcflags=all=-N -l"))
		checkPlanted(t, read(t, pid, Options{}), allocated)
	})
	t.Run("twin", func(t *testing.T) {
		small := build(t, "planted", "", nil, "-trimpath", "-ldflags=-s -w")
		pid, allocated := startPlanted(t, small)
		if _, err := Read(t.Context(), pid, Options{}); !errors.Is(err, ErrNoDebug) {
			t.Errorf("without debug data: %v", err)
		}
		checkPlanted(t, read(t, pid, Options{Binary: build(t, "planted", "", nil, "-trimpath")}), allocated)
		if _, err := Read(t.Context(), pid, Options{Binary: build(t, "planted", "", nil)}); err == nil || !strings.Contains(err.Error(), "is not the program") {
			t.Errorf("with another program's debug data: %v", err)
		}
		dir := t.TempDir()
		pid, allocated = startPlanted(t, buildIn(t, dir, "small", "planted", "", nil, "-ldflags=-s -w"))
		checkPlanted(t, read(t, pid, Options{Binary: buildIn(t, dir, "twin", "planted", "", nil, "-ldflags=-w=0 ")}), allocated)
	})
}
