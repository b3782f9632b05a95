// Package heapgraphtest makes heaps for tests.
package heapgraphtest

import (
	"time"

	"github.com/hone-perf/hone/internal/heapgraph"
)

// A Maker makes a heap object by object.
type Maker struct {
	heapgraph.Heap
	pointers [][]pointer
	names    map[string]uint32
	steps    map[string]uint32
}

type pointer struct{ to, step uint32 }

// Object adds an object of a type and returns its number.
func (m *Maker) Object(typ string, bytes int) uint32 {
	if m.names == nil {
		m.names, m.steps = map[string]uint32{"": 0}, map[string]uint32{"": 0}
		m.Types, m.Steps, m.Sites = []string{""}, []string{""}, [][]heapgraph.Frame{nil}
	}
	at, ok := m.names[typ]
	if !ok {
		at = uint32(len(m.Types))
		m.names[typ] = at
		m.Types = append(m.Types, typ)
	}
	m.Type = append(m.Type, at)
	m.Words = append(m.Words, uint32(bytes/8))
	m.pointers = append(m.pointers, nil)
	return uint32(len(m.Words) - 1)
}

// Step returns the number of a step.
func (m *Maker) Step(step string) uint32 {
	at, ok := m.steps[step]
	if !ok {
		at = uint32(len(m.Steps))
		m.steps[step] = at
		m.Steps = append(m.Steps, step)
	}
	return at
}

// Point adds a pointer.
func (m *Maker) Point(from uint32, step string, to uint32) {
	m.pointers[from] = append(m.pointers[from], pointer{to, m.Step(step)})
}

// Global adds a variable of a package.
func (m *Maker) Global(name, file string, line int, to uint32) {
	m.Roots = append(m.Roots, heapgraph.Root{Kind: heapgraph.Global, Name: name, File: file, Line: line, Object: to})
}

// Stack adds a stack.
func (m *Maker) Stack(frames ...heapgraph.Frame) uint32 {
	m.Sites = append(m.Sites, frames)
	return uint32(len(m.Sites) - 1)
}

// Done returns the heap.
func (m *Maker) Done() *heapgraph.Heap {
	m.First, m.To, m.Graph.Step = []uint32{0}, nil, nil
	m.Allocated = heapgraph.Sum{Objects: uint64(len(m.Words))}
	for _, w := range m.Words {
		m.Allocated.Bytes += uint64(w) * 8
	}
	for _, list := range m.pointers {
		for _, p := range list {
			m.To = append(m.To, p.to)
			m.Graph.Step = append(m.Graph.Step, p.step)
		}
		m.First = append(m.First, uint32(len(m.To)))
	}
	return &m.Heap
}

// Leaky is the heap of a service with a cache that never forgets, with goroutines that wait for a channel that nobody sends to, and more
// kinds of holders. Sessions says how many sessions the cache has, and waiting how many goroutines wait.
func Leaky(sessions, waiting int) *heapgraph.Heap {
	var m Maker
	m.Meta = heapgraph.Meta{
		PID: 4711, Command: "shop", GoVersion: "go1.27.3", BuildID: "abc", Time: time.Date(2026, 11, 30, 10, 0, 0, 0, time.UTC), Pause: 7200 * time.Microsecond,
		Rate: 512 << 10, Notes: []heapgraph.Note{{Code: "c memory", Count: 2}},
	}
	// The cache: a map with groups of eight slots, as the runtime has it.
	cache := m.Object("map[string]*main.Session", 48)
	m.Global("main.cache", "/src/shop/cache.go", 21, cache)
	var group uint32
	for i := range sessions {
		if i%8 == 0 {
			table := m.Object("map.table[string]*main.Session", 32)
			m.Point(cache, "", table)
			group = m.Object("map.group[string]*main.Session", 208)
			m.Point(table, "", group)
		}
		s := m.Object("main.Session", 64)
		m.Point(group, "value", s)
		m.Point(s, ".buf", m.Object("[]uint8", 4096))
	}
	// A queue: a list of jobs that two variables hold.
	var last uint32
	for i := range 100 {
		job := m.Object("main.Job", 48)
		m.Point(job, ".data", m.Object("[]uint8", 1024))
		if i > 0 {
			m.Point(last, ".next", job)
		} else {
			m.Global("main.queue", "/src/shop/queue.go", 8, job)
			m.Global("main.pending", "/src/shop/queue.go", 9, job)
		}
		last = job
	}
	// Goroutines that wait, each with a request. Their caller has the server.
	serve := heapgraph.Frame{Func: "main.(*Server).serve", File: "/src/shop/server.go", Line: 60}
	exit := heapgraph.Frame{Func: "runtime.goexit"}
	outer := m.Stack(serve, exit)
	handle := heapgraph.Frame{Func: "main.handle", File: "/src/shop/server.go", Line: 33}
	blocked := m.Stack(heapgraph.Frame{Func: "runtime.chanrecv1"}, handle, serve, exit)
	inner := m.Stack(handle, serve, exit)
	server := m.Object("main.Server", 128)
	m.Point(server, ".name", m.Object("[]uint8", 16))
	for range waiting {
		r := m.Object("main.Request", 96)
		m.Point(r, ".Body", m.Object("[]uint8", 16384))
		for _, root := range []heapgraph.Root{{Object: r, Name: "r", Where: inner}, {Object: r, Name: "c", Where: blocked}, {Object: server, Name: "s", Where: inner}, {Object: server, Name: "srv", Where: outer}} {
			root.Kind, root.Type, root.Count, root.Waits, root.Since = heapgraph.Variable, "*main.Request", uint32(waiting), "chan receive", 3*time.Minute
			root.Stacks = 4096 * uint64(waiting)
			m.Roots = append(m.Roots, root)
		}
	}
	// Views of large arrays, which were sampled when they were made.
	made := m.Stack(heapgraph.Frame{Func: "runtime.makeslice"}, heapgraph.Frame{Func: "main.readFile", File: "/src/shop/file.go", Line: 14}, heapgraph.Frame{Func: "main.main"})
	heads := m.Object("[][]uint8", 768)
	m.Global("main.heads", "/src/shop/file.go", 5, heads)
	for range 32 {
		part := m.Object("[]uint8", 65536)
		m.Point(heads, "[]", part)
		m.Made = append(m.Made, heapgraph.Sample{Object: part, Site: made, Size: 65536})
	}
	m.Global("runtime.allp", "", 0, m.Object("[]*runtime.p", 64))
	m.Global("runtime.allm", "", 0, m.Object("runtime.m", 512))
	// A finalizer and the runtime: neither takes what a variable holds.
	file := m.Object("os.file", 64)
	m.Roots = append(m.Roots,
		heapgraph.Root{Object: file, Kind: heapgraph.Finalizer, Name: "main.main.func3"},
		heapgraph.Root{Object: cache, Kind: heapgraph.Runtime, Name: "timer main.expire"},
		heapgraph.Root{Object: m.Object("time.Timer", 96), Kind: heapgraph.Runtime, Name: "timer main.expire"},
	)
	m.Point(m.Object("main.Session", 64), ".buf", m.Object("[]uint8", 4096)) // garbage
	return m.Done()
}
