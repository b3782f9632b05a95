package worker

import (
	"runtime"
	"runtime/debug"
	"runtime/metrics"
)

// A memory is how much a worker may take. The limit is of what is in use. As much again may be garbage, or not Go's: the collector runs
// the more often the closer it gets to that. A call can ask for more before anybody looks, since nothing else runs while a large text is
// copied; the system refuses that, where it can.
type memory struct {
	limit uint64 // 0 is none
	base  uint64 // what the worker took before the first call
	now   []metrics.Sample
}

func newMemory(limit uint64) *memory {
	m := &memory{limit: limit, now: []metrics.Sample{
		{Name: "/memory/classes/heap/objects:bytes"}, {Name: "/memory/classes/total:bytes"}, {Name: "/memory/classes/heap/released:bytes"},
		{Name: "/gc/heap/live:bytes"},
	}}
	if limit > 0 {
		m.base = m.total()
		debug.SetMemoryLimit(int64(m.base + 2*limit))
		limitData(2*limit + limit/4)
	}
	return m
}

// exceeded reports whether more than the limit is in use.
func (m *memory) exceeded() bool {
	if m.limit == 0 {
		return false
	}
	if most := m.base + m.limit; m.read(0) > most {
		runtime.GC() // how much of it is garbage depends on when that was last collected
		live := m.read(0)
		if m.now[3].Value.Kind() == metrics.KindUint64 { // since Go 1.21
			live = m.read(3) // what was allocated since the collector began, while it waited for its turn, is not in there
		}
		if live > most {
			return true
		}
	}
	if most := m.base + 2*m.limit + m.limit/4; m.total() > most {
		debug.FreeOSMemory()
		return m.total() > most
	}
	return false
}

func (m *memory) read(i int) uint64 {
	metrics.Read(m.now)
	return m.now[i].Value.Uint64()
}

// total returns the bytes that the process has of the machine.
func (m *memory) total() uint64 {
	if n := resident(); n > 0 {
		return n
	}
	return m.read(1) - m.now[2].Value.Uint64()
}
