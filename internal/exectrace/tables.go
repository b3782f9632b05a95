package exectrace

import (
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"time"
)

// Tables are what a generation says beside its events.
type tables struct {
	texts   table[string]
	reasons table[Reason] // of texts, as far as they were asked for
	stacks  table[Stack]
	samples []sample
	unit    float64 // nanoseconds
	begin   uint64  // the least time of a batch
	wall    int64   // time of day in nanoseconds, at wallAt; 0 is unknown
	wallAt  uint64
}

type sample struct {
	time, thread, proc, goroutine, stack uint64
}

// A fields reads numbers one after the other.
type fields struct {
	b   []byte
	err error
}

var errShort = errors.New("a number is cut off")

func (f *fields) byte() byte {
	if len(f.b) == 0 {
		f.err = errShort
		return 0
	}
	c := f.b[0]
	f.b = f.b[1:]
	return c
}

func (f *fields) number() uint64 {
	v, n := uvarint(f.b)
	if n == 0 {
		f.err, f.b = errShort, nil
		return 0
	}
	f.b = f.b[n:]
	return v
}

// load reads the tables of a generation, and returns the batches with events by thread. What of a table cannot be read is lost.
func (d *decoder) load(g *generation) {
	t := &d.tables
	t.texts.reset()
	t.reasons.reset()
	t.stacks.reset()
	t.samples = t.samples[:0]
	t.unit, t.begin, t.wall = 0, 0, 0
	clear(d.funcs)
	for _, b := range g.batches {
		if t.begin == 0 || b.time < t.begin {
			t.begin = b.time
		}
	}
	each := func(kind byte, read func(f *fields, b batch) error) {
		for _, b := range g.batches {
			if b.kind != kind {
				continue
			}
			data, err := d.read(b, d.scratch)
			if err != nil {
				d.t.lose(b.off, d.last, "names", err)
				continue
			}
			f := &fields{b: data}
			if kind != evFrequency {
				f.byte()
			}
			for len(f.b) > 0 {
				err := read(f, b)
				if err = cmp.Or(err, f.err); err != nil {
					if !g.cut || b.off+int64(b.size) < d.t.size {
						d.t.lose(b.off, d.last, "names", err)
					}
					break
				}
			}
		}
	}
	each(evStrings, d.readText)
	each(evStacks, d.readStack)
	each(evCPUSamples, d.readSample)
	each(evSync, d.readSync)
	each(evFrequency, d.readSync)
	slices.SortStableFunc(t.samples, func(a, b sample) int { return cmp.Compare(a.time, b.time) })
	if t.unit == 0 {
		// It was lost, or cut off. Other generations of the file mostly have the same; this is the one of Linux.
		t.unit = cmp.Or(d.unit, 64)
	}
}

func (d *decoder) readText(f *fields, _ batch) error {
	if f.byte() != evString {
		return errors.New("there is something else in the table of names")
	}
	id, size := f.number(), f.number()
	switch {
	case f.err != nil:
		return f.err
	case size > maxText:
		return fmt.Errorf("a name of %d bytes is more than the %d that there can be", size, maxText)
	case size > uint64(len(f.b)):
		return errShort
	}
	d.tables.texts.set(id, d.t.names.text(f.b[:size]))
	f.b = f.b[size:]
	return nil
}

func (d *decoder) readStack(f *fields, _ batch) error {
	if f.byte() != evStack {
		return errors.New("there is something else in the table of stacks")
	}
	id, n := f.number(), f.number()
	if f.err == nil && n > maxFrames {
		return fmt.Errorf("a stack of %d calls is more than the %d that there can be", n, maxFrames)
	}
	d.key = d.key[:0]
	for range n {
		at := place{pc: f.number(), fn: f.number(), file: f.number(), line: f.number()}
		if f.err != nil {
			return f.err
		}
		frame, ok := d.funcs[at]
		if !ok {
			frame = d.t.names.frame(Frame{PC: at.pc, Func: d.tables.texts.get(at.fn), File: d.tables.texts.get(at.file), Line: int(min(at.line, 1<<30))})
			d.funcs[at] = frame
		}
		d.key = binary.LittleEndian.AppendUint32(d.key, frame)
	}
	if f.err == nil {
		d.tables.stacks.set(id, d.t.names.stack(d.key))
	}
	return f.err
}

// maxSamples bounds the samples of a generation: there are 100 a second for each P.
const maxSamples = 1 << 20

func (d *decoder) readSample(f *fields, _ batch) error {
	if f.byte() != evCPUSample {
		return errors.New("there is something else in the table of CPU samples")
	}
	s := sample{time: f.number(), thread: f.number(), proc: f.number(), goroutine: f.number(), stack: f.number()}
	if f.err == nil && len(d.tables.samples) >= maxSamples {
		return fmt.Errorf("there are more than %d CPU samples in about a second", maxSamples)
	}
	if f.err == nil {
		d.tables.samples = append(d.tables.samples, s)
	}
	return f.err
}

func (d *decoder) readSync(f *fields, b batch) error {
	switch kind := f.byte(); kind {
	case evFrequency:
		if v := f.number(); v > 0 {
			d.tables.unit = 1e9 / float64(v)
		}
	case evClockSnapshot:
		at := b.time + f.number()
		f.number() // the monotonic clock
		sec, nsec := f.number(), f.number()
		if f.err == nil && sec < 1<<33 && nsec < 1e9 {
			d.tables.wall, d.tables.wallAt = time.Unix(int64(sec), int64(nsec)).UnixNano(), at
		}
	default:
		return fmt.Errorf("there is an event of type %d where the clocks are", kind)
	}
	return f.err
}

// read reads what is in a batch, into buf where it fits.
func (d *decoder) read(b batch, buf []byte) ([]byte, error) {
	if int(b.size) > cap(buf) {
		buf = make([]byte, b.size)
	}
	buf = buf[:b.size]
	n, err := d.t.r.ReadAt(buf, b.off)
	if n < len(buf) {
		return buf[:n], err
	}
	return buf, nil
}
