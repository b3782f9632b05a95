package exectrace

import (
	"encoding/binary"
	"unsafe"
)

// Names are the strings, frames and stacks of a trace, each once: the tables of a trace are of one generation, about a second.
type names struct {
	texts    map[string]string
	frameIDs map[Frame]uint32
	frames   []Frame
	stackIDs map[string]Stack
	stacks   []string // numbers of frames, four bytes each
	size     int      // about what all of them take
	full     bool     // some were left out
}

// maxNames bounds what names may take. Programs have a few MB of them, however long their traces are.
const maxNames = 512 << 20

// room reports whether there is room for n bytes more, and what goes with them.
func (n *names) room(bytes int) bool {
	if n.size > maxNames {
		n.full = true
		return false
	}
	n.size += bytes + 100
	return true
}

func newNames() names {
	// Frame 0 stands for those that there is no room for.
	return names{texts: map[string]string{}, frameIDs: map[Frame]uint32{{}: 0}, frames: make([]Frame, 1), stackIDs: map[string]Stack{"": 0}, stacks: []string{""}}
}

func (n *names) text(b []byte) string {
	if s, ok := n.texts[string(b)]; ok {
		return s
	}
	if !n.room(len(b)) {
		return ""
	}
	s := string(b)
	n.texts[s] = s
	return s
}

func (n *names) frame(f Frame) uint32 {
	id, ok := n.frameIDs[f]
	if !ok && n.room(int(unsafe.Sizeof(f))) {
		id = uint32(len(n.frames))
		n.frames = append(n.frames, f)
		n.frameIDs[f] = id
	}
	return id
}

// stack returns the number of a stack, which is given as numbers of frames in bytes.
func (n *names) stack(key []byte) Stack {
	s, ok := n.stackIDs[unsafe.String(unsafe.SliceData(key), len(key))]
	if !ok && n.room(2*len(key)) {
		s = Stack(len(n.stacks))
		text := string(key)
		n.stacks = append(n.stacks, text)
		n.stackIDs[text] = s
	}
	return s
}

func (n *names) framesOf(s Stack) []Frame {
	if s == 0 || int(s) >= len(n.stacks) {
		return nil
	}
	key := n.stacks[s]
	list := make([]Frame, 0, len(key)/4)
	for i := 0; i+4 <= len(key); i += 4 {
		list = append(list, n.frames[binary.LittleEndian.Uint32([]byte(key[i:i+4]))])
	}
	return list
}

// A table has a value for each number of a generation. Numbers are dense as the runtime gives them, in any order, but a file may have any:
// the list grows with how many there are, never by a number alone.
type table[T any] struct {
	list []T
	rest map[uint64]T // of numbers past the end of list
	n    int          // how often a value was set
}

func (t *table[T]) set(id uint64, v T) {
	t.n++
	// Growing by doubling bounds how often rest is moved.
	if size := 2*t.n + 1024; id >= uint64(len(t.list)) && id < uint64(size) && size >= 2*len(t.list) {
		t.list = append(t.list, make([]T, size-len(t.list))...)
		for k, v := range t.rest {
			if k < uint64(size) {
				t.list[k] = v
				delete(t.rest, k)
			}
		}
	}
	if id < uint64(len(t.list)) {
		t.list[id] = v
		return
	}
	if t.rest == nil {
		t.rest = map[uint64]T{}
	}
	t.rest[id] = v
}

func (t *table[T]) get(id uint64) T {
	if id < uint64(len(t.list)) {
		return t.list[id]
	}
	return t.rest[id]
}

// reset forgets all values and keeps the room.
func (t *table[T]) reset() {
	clear(t.list)
	t.list = t.list[:0]
	t.rest = nil
	t.n = 0
}
