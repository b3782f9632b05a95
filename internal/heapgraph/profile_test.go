package heapgraph_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/hone-perf/hone/internal/heapgraph"
	"github.com/hone-perf/hone/internal/heapgraph/heapgraphtest"
)

// TestProfile looks at how holders are written down: maps and lists are one step each, goroutines are below their callers, and what two hold is theirs together.
func TestProfile(t *testing.T) {
	p, garbage, err := heapgraph.Profile(heapgraphtest.Leaky(16, 3))
	if err != nil {
		t.Fatal(err)
	}
	if garbage != (heapgraph.Sum{Bytes: 4160, Objects: 2}) {
		t.Errorf("garbage is %v", garbage)
	}
	var lines []string
	var stack []uint32
	for i := range p.NumSamples() {
		stack = p.Stack(i, stack[:0])
		var names []string
		for _, l := range slices.Backward(stack) {
			names = append(names, p.Functions[p.Locations[l].Lines[0].Function].Name)
		}
		line := fmt.Sprintf("%d %d %s |", p.Values(1)[i], p.Values(0)[i], strings.Join(names, " > "))
		for _, l := range p.LabelSets()[p.Label(i)] {
			if l.Numeric {
				line += fmt.Sprintf(" %s=%d", l.Key, l.Num)
			} else {
				line += fmt.Sprintf(" %s=%s", l.Key, l.Str)
			}
		}
		lines = append(lines, line)
	}
	want := strings.Split(strings.TrimSpace(`
528 5 main.cache > map[string]*main.Session | holder=main.cache kind=global
1024 16 main.cache > map[string]*main.Session > value main.Session | holder=main.cache kind=global
65536 16 main.cache > map[string]*main.Session > value main.Session > .buf []uint8 | holder=main.cache kind=global
4800 100 main.pending + main.queue > main.Job | holder=main.pending holder=main.queue kind=together
102400 100 main.pending + main.queue > main.Job > .data []uint8 | holder=main.pending holder=main.queue kind=together
128 1 main.(*Server).serve > var srv main.Server | holder=main.(*Server).serve kind=goroutine waits=chan receive goroutines=3 since=180 stacks=12288
16 1 main.(*Server).serve > var srv main.Server > .name []uint8 | holder=main.(*Server).serve kind=goroutine waits=chan receive goroutines=3 since=180 stacks=12288
288 3 main.(*Server).serve > main.handle > var r main.Request | holder=main.handle kind=goroutine waits=chan receive goroutines=3 since=180 stacks=12288
49152 3 main.(*Server).serve > main.handle > var r main.Request > .Body []uint8 | holder=main.handle kind=goroutine waits=chan receive goroutines=3 since=180 stacks=12288
768 1 main.heads > [][]uint8 | holder=main.heads kind=global
2097152 32 main.heads > [][]uint8 > [] []uint8 | holder=main.heads kind=global made=main.readFile
64 1 runtime > runtime.allp []*runtime.p | holder=runtime kind=runtime
512 1 runtime > runtime.allm runtime.m | holder=runtime kind=runtime
64 1 finalizer main.main.func3 > os.file | holder=finalizer main.main.func3 kind=finalizer
96 1 timer main.expire > time.Timer | holder=timer main.expire kind=runtime
`), "\n")
	slices.Sort(lines)
	slices.Sort(want)
	if !slices.Equal(lines, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(lines, "\n"), strings.Join(want, "\n"))
	}
}

// TestCheck refuses graphs that lead out of their columns.
func TestCheck(t *testing.T) {
	for name, spoil := range map[string]func(h *heapgraph.Heap){
		"type":   func(h *heapgraph.Heap) { h.Type[3] = 1 << 30 },
		"to":     func(h *heapgraph.Heap) { h.To[0] = uint32(len(h.Words)) },
		"step":   func(h *heapgraph.Heap) { h.Step[0] = uint32(len(h.Steps)) },
		"first":  func(h *heapgraph.Heap) { h.First[1] = h.First[len(h.First)-1] + 1 },
		"short":  func(h *heapgraph.Heap) { h.First = h.First[1:] },
		"root":   func(h *heapgraph.Heap) { h.Roots[0].Object = 1 << 31 },
		"kind":   func(h *heapgraph.Heap) { h.Roots[0].Kind = 77 },
		"where":  func(h *heapgraph.Heap) { h.Roots[0].Where = 77 },
		"made":   func(h *heapgraph.Heap) { h.Made[0].Site = 77 },
		"names":  func(h *heapgraph.Heap) { h.Steps = nil },
		"nobody": func(h *heapgraph.Heap) { *h = heapgraph.Heap{} },
	} {
		h := heapgraphtest.Leaky(8, 1)
		spoil(h)
		if _, _, err := heapgraph.Profile(h); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}
