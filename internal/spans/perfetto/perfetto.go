// Package perfetto writes traces that https://ui.perfetto.dev and trace_processor read: tracks, slices of time on them, moments with arrows between
// them, and counters. Nothing is held. The messages stand in https://github.com/google/perfetto/tree/main/protos/perfetto/trace.
package perfetto

import (
	"encoding/binary"
	"io"
)

// A Writer writes a trace. Events of one track have to be in order, those of several need not be.
type Writer struct {
	w      io.Writer
	text   func(uint32) string
	names  map[uint32]bool // texts that were written, by what they are used for
	values map[uint32]bool
	kinds  map[string]uint64 // names of arguments
	groups map[string]uint64 // categories
	b      message
	event  message
	tables message
	begun  bool
	err    error
}

// A Track is a row of a trace; 0 is none. Whoever writes gives the numbers.
type Track uint64

// A Value is an argument of a slice: a text by its number, or a whole number.
type Value struct {
	Name   string
	Text   uint32
	Number int64
}

// New begins a trace. wall is the time of day at time 0 in nanoseconds, 0 where it is not known; text returns the texts that events name by numbers.
func New(w io.Writer, wall int64, text func(uint32) string) *Writer {
	out := &Writer{w: w, text: text, names: map[uint32]bool{}, values: map[uint32]bool{}, kinds: map[string]uint64{}, groups: map[string]uint64{}}
	if wall != 0 {
		out.b.message(clockSnapshot, func(m *message) {
			for _, c := range []struct{ id, at uint64 }{{bootClock, 0}, {wallClock, uint64(wall)}} {
				m.message(1, func(m *message) {
					m.uint(1, c.id)
					m.uint(2, c.at)
				})
			}
		})
		out.packet()
	}
	return out
}

// Fields of the message TracePacket, and numbers that stand in it.
const (
	packetInTrace   = 1
	clockSnapshot   = 6
	timestamp       = 8
	sequence        = 10
	trackEvent      = 11
	internedData    = 12
	sequenceFlags   = 13
	trackDescriptor = 60

	cleared, needed      = 1, 2 // flags: what was said before no longer holds, and what was said before is needed
	wallClock, bootClock = 1, 6
	ours                 = 1 // the one sequence there is
)

// Process begins a track that stands for a program. Its groups are in the order of their ranks.
func (w *Writer) Process(t Track, pid int, name string) {
	w.descriptor(t, 0, "", 0, func(m *message) {
		m.message(3, func(m *message) {
			m.uint(1, uint64(pid))
			m.text(6, name)
		})
	})
}

// Track begins a track, or a group of tracks, within another one.
func (w *Writer) Track(t, parent Track, name string, rank int) {
	w.descriptor(t, parent, name, rank, nil)
}

// Counter begins a track of numbers.
func (w *Writer) Counter(t, parent Track, name string, rank int, bytes bool) {
	unit := uint64(2) // a count
	if bytes {
		unit = 3
	}
	w.descriptor(t, parent, name, rank, func(m *message) {
		m.message(8, func(m *message) { m.uint(3, unit) })
	})
}

func (w *Writer) descriptor(t, parent Track, name string, rank int, more func(*message)) {
	w.b.message(trackDescriptor, func(m *message) {
		m.uint(1, uint64(t))
		if name != "" {
			m.text(2, name)
		}
		if parent != 0 {
			m.uint(5, uint64(parent))
		}
		const explicit = 3
		m.uint(11, explicit) // children are in the order of their ranks
		m.uint(12, uint64(rank))
		if more != nil {
			more(m)
		}
	})
	w.packet()
}

// Types of events.
const (
	sliceBegin = 1
	sliceEnd   = 2
	instant    = 3
	counter    = 4
)

// Slice writes what was on a track from one time to another. An arrow leads to it that has a number, which Moment gave it.
func (w *Writer) Slice(t Track, category string, name uint32, from, to int64, arrow uint64, values ...Value) {
	w.start(sliceBegin, t)
	w.named(category, name)
	if arrow != 0 {
		w.event.fixed(48, arrow)
	}
	for _, v := range values {
		w.value(v)
	}
	w.send(from)
	w.start(sliceEnd, t)
	w.send(to)
}

// Moment writes something that took no time, from which the arrow of that number goes out.
func (w *Writer) Moment(t Track, category string, name uint32, at int64, arrow uint64) {
	w.start(instant, t)
	w.named(category, name)
	w.event.fixed(47, arrow)
	w.send(at)
}

// Count writes a number of a counter.
func (w *Writer) Count(t Track, at, v int64) {
	w.start(counter, t)
	w.event.uint(30, uint64(v))
	w.send(at)
}

// Err is what went wrong with writing.
func (w *Writer) Err() error { return w.err }

func (w *Writer) start(typ uint64, t Track) {
	w.event, w.tables = w.event[:0], w.tables[:0]
	w.event.uint(9, typ)
	w.event.uint(11, uint64(t))
}

// intern says what a number stands for, the first time that it is used.
func (w *Writer) intern(table int, id uint64, text string) {
	w.tables.message(table, func(m *message) {
		m.uint(1, id)
		m.text(2, text)
	})
}

func number(of map[string]uint64, text string) (id uint64, known bool) {
	id, known = of[text]
	if !known {
		id = uint64(len(of) + 1)
		of[text] = id
	}
	return id, known
}

func (w *Writer) named(category string, name uint32) {
	const categories, names = 1, 2
	id, known := number(w.groups, category)
	if !known {
		w.intern(categories, id, category)
	}
	w.event.uint(3, id)
	if !w.names[name] {
		w.names[name] = true
		w.intern(names, uint64(name)+1, w.text(name))
	}
	w.event.uint(10, uint64(name)+1)
}

func (w *Writer) value(v Value) {
	const argumentNames, texts = 3, 29
	id, known := number(w.kinds, v.Name)
	if !known {
		w.intern(argumentNames, id, v.Name)
	}
	if v.Text != 0 && !w.values[v.Text] {
		w.values[v.Text] = true
		w.intern(texts, uint64(v.Text), w.text(v.Text))
	}
	w.event.message(4, func(m *message) {
		m.uint(1, id)
		if v.Text != 0 {
			m.uint(17, uint64(v.Text))
		} else {
			m.uint(4, uint64(v.Number))
		}
	})
}

func (w *Writer) send(at int64) {
	w.b.uint(timestamp, uint64(at))
	w.b.bytes(trackEvent, w.event)
	if len(w.tables) > 0 {
		w.b.bytes(internedData, w.tables)
	}
	w.event, w.tables = w.event[:0], w.tables[:0]
	w.packet()
}

// packet writes the packet that was made.
func (w *Writer) packet() {
	flags := uint64(needed)
	if !w.begun {
		w.begun, flags = true, cleared
	}
	w.b.uint(sequence, ours)
	w.b.uint(sequenceFlags, flags)
	if w.err == nil {
		w.event = binary.AppendUvarint(append(w.event[:0], packetInTrace<<3|lengthType), uint64(len(w.b)))
		if _, w.err = w.w.Write(w.event); w.err == nil {
			_, w.err = w.w.Write(w.b)
		}
	}
	w.b = w.b[:0]
}

// A message is one of protocol buffers that is being made.
type message []byte

const (
	varintType = 0
	fixedType  = 1
	lengthType = 2
)

func (m *message) key(field, typ int) {
	*m = binary.AppendUvarint(*m, uint64(field)<<3|uint64(typ))
}

// Not inlined, like text: there are many calls, and each would take 100 bytes of the program.
//
//go:noinline
func (m *message) uint(field int, v uint64) {
	m.key(field, varintType)
	*m = binary.AppendUvarint(*m, v)
}

func (m *message) fixed(field int, v uint64) {
	m.key(field, fixedType)
	*m = binary.LittleEndian.AppendUint64(*m, v)
}

//go:noinline
func (m *message) text(field int, s string) {
	m.key(field, lengthType)
	*m = binary.AppendUvarint(*m, uint64(len(s)))
	*m = append(*m, s...)
}

func (m *message) bytes(field int, b []byte) {
	m.key(field, lengthType)
	*m = binary.AppendUvarint(*m, uint64(len(b)))
	*m = append(*m, b...)
}

// message adds a message within: its length, which comes before it, is known after it.
func (m *message) message(field int, fill func(*message)) {
	m.key(field, lengthType)
	at := len(*m)
	fill(m)
	var length [binary.MaxVarintLen64]byte
	n := binary.PutUvarint(length[:], uint64(len(*m)-at))
	*m = append(*m, length[:n]...)
	copy((*m)[at+n:], (*m)[at:])
	copy((*m)[at:], length[:n])
}
