package exectrace

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"github.com/hone-perf/hone/internal/unit"
)

// A decoder puts the events of threads in order. Each thread's are in order in the file; between threads, time says which comes first, but clocks of
// cores differ by a little, so that what a goroutine and a P do is numbered as well: an event that may not happen yet
// waits until what comes before it did.
type decoder struct {
	t       *Trace
	yield   func(*Event, error) bool
	ev      Event
	rest    bool // ev has fields set that most events have not
	tables  tables
	scratch []byte
	key     []byte
	funcs   map[place]uint32

	threads    map[uint64]*thread
	goroutines map[uint64]*goroutine
	most       int                 // of them at a time
	recent     [1 << 10]*goroutine // that were looked up last, by the end of their number
	ended      []*goroutine        // room for new ones
	procs      map[uint64]*proc
	tasks      map[uint64]string
	queue      []*thread // that have events, a heap by the time of the next one
	waiting    []*thread // room to try them in order
	tries      int       // how many threads were looked at for that

	number uint64 // of the generation
	begun  bool
	full   bool    // names were left out, and it was said
	unit   float64 // of the generation before
	whole  int64   // unit, where that is a whole number of nanoseconds: 64 on Linux
	base   int64   // Event.Time at baseAt
	baseAt uint64
	last   int64 // Event.Time of the last event
	gcSeq  uint64
	gcSeen bool // gcSeq is known
}

type place struct{ pc, fn, file, line uint64 }

type thread struct {
	id    uint64
	g     *goroutine
	p     *proc
	batch int // the next one
	list  []batch
	room  []byte
	buf   []byte // events that are left of the batch
	off   int64  // of the end of buf in the file
	clock uint64 // time of the last event
	next  event
}

type event struct {
	kind byte
	time uint64
	args [5]uint64
}

type goroutine struct {
	id    uint64
	seq   sequence
	state State
	stop  string // kind of stop-the-world that it is in
	slot  Slot
}

// A sequence numbers what a goroutine or a P does. Each generation begins again, with the statement of what there is.
type sequence struct{ generation, number uint64 }

func (d *decoder) begins() sequence { return sequence{generation: d.number} }

// follows reports whether n is the next number.
func (d *decoder) follows(s sequence, n uint64) bool {
	return s.generation == d.number && n == s.number+1
}

type proc struct {
	id     uint64
	seq    sequence
	status procStatus
}

type procStatus uint8

const (
	procRunning procStatus = 1 + iota
	procIdle
	procSyscall
	procAbandoned
)

// states are those of goroutines, as files number them.
var states = [...]State{Unknown, Ready, Running, Syscall, Waiting}

// events yields the events of a trace of Go 1.22 or later, from a border on.
func (t *Trace) events(from border, yield func(*Event, error) bool) error {
	d := &decoder{
		t: t, yield: yield, scratch: make([]byte, maxBatch), funcs: map[place]uint32{},
		threads: map[uint64]*thread{}, goroutines: map[uint64]*goroutine{}, most: maxGoroutines, procs: map[uint64]*proc{}, tasks: map[uint64]string{},
	}
	if from.number != 0 {
		d.begun, d.base, d.baseAt, d.unit, d.last = true, from.base, from.baseAt, from.unit, from.time
	}
	s := &scanner{t: t, off: from.off}
	for number := uint64(0); ; {
		g, err := s.next()
		switch {
		case err != nil:
			return err
		case g == nil:
			return nil
		}
		if number != 0 && g.number != number+1 {
			d.forget()
		}
		number, d.number = g.number, g.number
		if err := d.generation(g); err != nil {
			return err
		}
	}
}

// forget is called where something is missing: each generation says again what there is.
func (d *decoder) forget() {
	clear(d.threads)
	clear(d.goroutines)
	clear(d.recent[:])
	clear(d.procs)
	d.gcSeen = false
}

// generation yields the events of a generation.
func (d *decoder) generation(g *generation) error {
	lost := d.t.lost
	d.tries = 0
	d.load(g)
	if !d.begun {
		d.begun = true
		d.baseAt, d.unit = d.tables.begin, d.tables.unit
		if d.t.zero != 0 && d.tables.wall != 0 {
			d.t.begin = max(0, d.tables.wall-d.time(d.tables.wallAt)-d.t.zero)
		}
		d.base, d.last = d.t.begin, d.t.begin
	} else if d.tables.begin > d.baseAt {
		// Where the unit of time is measured, each generation has its own.
		d.base += int64(float64(d.tables.begin-d.baseAt) * d.unit)
		d.baseAt = d.tables.begin
	}
	d.unit, d.whole = d.tables.unit, 0
	if whole := int64(min(d.unit, 1<<20)); float64(whole) == d.unit {
		d.whole = whole
	}
	if n := len(d.t.borders); n == 0 || d.t.borders[n-1].off < g.begin {
		d.t.borders = append(d.t.borders, border{g.begin, g.number, d.time(d.baseAt), d.base, d.baseAt, d.unit})
	}
	d.t.part, _ = slices.BinarySearchFunc(d.t.borders, g.begin, func(b border, off int64) int { return cmp.Compare(b.off, off) })
	if d.t.wall == 0 && d.tables.wall != 0 {
		d.t.wall = d.tables.wall - d.time(d.tables.wallAt)
	}
	for _, p := range d.threads {
		p.list, p.batch, p.buf = p.list[:0], 0, nil
	}
	var begin []*thread // in the order of the file, so that the answer is always the same
	for _, b := range g.batches {
		switch b.kind {
		case evStrings, evStacks, evCPUSamples, evSync, evFrequency:
			continue
		}
		th := d.threads[b.thread]
		if th == nil {
			if len(d.threads) >= maxThreads {
				d.t.lose(b.off, d.last, "batch", fmt.Errorf("there are more than %d threads", maxThreads))
				break
			}
			th = &thread{id: b.thread}
			d.threads[b.thread] = th
		}
		if len(th.list) == 0 {
			begin = append(begin, th)
		}
		th.list = append(th.list, b)
	}
	d.queue = d.queue[:0]
	for _, th := range begin {
		ok, err := d.read1(th)
		if isRead(err) {
			return err
		}
		if err != nil {
			// The other threads go on as far as they do not need this one.
			d.t.lose(th.list[0].off, d.last, "batch", err)
		}
		if ok {
			d.queue = append(d.queue, th)
		}
	}
	for i := len(d.queue)/2 - 1; i >= 0; i-- {
		d.down(i)
	}
	if err := d.merge(); err != nil {
		if err == errStop || isRead(err) {
			return err
		}
		at := g.begin
		if len(d.queue) > 0 {
			at = d.queue[0].off - int64(len(d.queue[0].buf))
		}
		if g.cut && at < d.t.size {
			// A thread whose events come later in the file is missing.
			err = errors.New("the file ends before all that happened in the last second is in it")
		}
		d.t.lose(at, d.last, "generation", err)
	} else if g.cut {
		d.t.lose(d.t.size, d.last, "cut", errors.New("the file ends before the trace does"))
	}
	if d.t.lost != lost || g.cut || g.damaged {
		d.forget()
	}
	if d.t.names.full && !d.full {
		d.full = true
		d.t.lose(g.begin, d.last, "names", fmt.Errorf("the names in it take more than %s", unit.Size(maxNames)))
	}
	for id, th := range d.threads {
		if th.g == nil && th.p == nil {
			delete(d.threads, id) // it may be gone; its next batch makes it again
		}
	}
	return nil
}

// maxThreads and maxGoroutines bound what there may be at a time.
const (
	maxTries      = 1 << 26 // a generation
	maxThreads    = 1 << 20
	maxGoroutines = 1 << 24
)

func isRead(err error) bool {
	var pe *pathError
	return errors.As(err, &pe)
}

// time is the Event.Time of a time stamp.
func (d *decoder) time(at uint64) int64 {
	since := int64(at - d.baseAt) // less than 0 where a generation begins later than a thread of it
	if d.whole != 0 {
		return max(d.base+since*d.whole, d.last)
	}
	return max(d.base+int64(float64(since)*d.unit), d.last)
}

// merge yields the events of all threads in the queue, and the CPU samples of the time.
func (d *decoder) merge() error {
	samples := d.tables.samples
	for len(d.queue) > 0 {
		th := d.queue[0]
		limit := ^uint64(0)
		for i := 1; i < min(len(d.queue), 3); i++ {
			limit = min(limit, d.queue[i].next.time)
		}
		for {
			for len(samples) > 0 && samples[0].time < th.next.time {
				if err := d.sample(samples[0]); err != nil {
					return err
				}
				samples = samples[1:]
			}
			ok, err := d.advance(th)
			if err != nil {
				return err
			}
			if !ok {
				if err := d.another(); err != nil {
					return err
				}
				break
			}
			if ok, err = d.read1(th); err != nil {
				return err
			}
			if !ok {
				last := len(d.queue) - 1
				d.queue[0] = d.queue[last]
				d.queue = d.queue[:last]
				d.down(0)
				break
			}
			if th.next.time > limit {
				d.down(0)
				break
			}
		}
	}
	for _, s := range samples {
		if err := d.sample(s); err != nil {
			return err
		}
	}
	return nil
}

// another yields the first event that may happen of the other threads: the first of the queue has to wait for it.
func (d *decoder) another() error {
	// Of thousands of threads one may have to wait for another one. All of them always do in files that are made to take long.
	if d.tries += len(d.queue); d.tries > maxTries {
		return errors.New("too much happened in another order than the clocks say")
	}
	d.waiting = append(d.waiting[:0], d.queue...)
	slices.SortFunc(d.waiting, func(a, b *thread) int {
		switch {
		case a.next.time < b.next.time:
			return -1
		case a.next.time > b.next.time:
			return 1
		}
		return 0
	})
	for _, th := range d.waiting {
		ok, err := d.advance(th)
		if err != nil {
			return err
		}
		if !ok {
			continue
		}
		if ok, err = d.read1(th); err != nil {
			return err
		}
		i := slices.Index(d.queue, th)
		if !ok {
			d.queue = slices.Delete(d.queue, i, i+1)
			for i := len(d.queue)/2 - 1; i >= 0; i-- {
				d.down(i)
			}
		} else {
			d.down(i)
		}
		return nil
	}
	return errors.New("what happened is not in an order that there can be")
}

// down moves a thread of the queue to its place among later ones.
func (d *decoder) down(i int) {
	q := d.queue
	for {
		c := 2*i + 1
		if c >= len(q) {
			return
		}
		if c+1 < len(q) && q[c+1].next.time < q[c].next.time {
			c++
		}
		if q[i].next.time <= q[c].next.time {
			return
		}
		q[i], q[c] = q[c], q[i]
		i = c
	}
}

// read1 reads the next event of a thread. It reports whether there is one.
func (d *decoder) read1(th *thread) (bool, error) {
	if len(th.buf) == 0 {
		if ok, err := d.fill(th); !ok {
			return false, err
		}
	}
	b := th.buf
	e := &th.next
	e.kind = b[0]
	n := int(args[e.kind])
	if n == 0 {
		return false, fmt.Errorf("there is an event of type %d among those of a thread", e.kind)
	}
	i := 1
	for k := range n {
		var v uint64
		switch {
		case i < len(b) && b[i] < 0x80:
			v = uint64(b[i])
			i++
		case i+1 < len(b) && b[i+1] < 0x80:
			v = uint64(b[i]&0x7f) | uint64(b[i+1])<<7
			i += 2
		default:
			m := 0
			if v, m = uvarint(b[min(i, len(b)):]); m == 0 {
				if th.off >= d.t.size {
					// The file ends in the middle of an event.
					th.buf, th.batch = nil, len(th.list)
					return false, nil
				}
				return false, errShort
			}
			i += m
		}
		if k == 0 {
			th.clock += v
			e.time = th.clock
		} else {
			e.args[k-1] = v
		}
	}
	th.buf = b[i:]
	return true, nil
}

// fill reads the next batch of a thread. It reports whether there is one.
func (d *decoder) fill(th *thread) (bool, error) {
	for len(th.buf) == 0 {
		if th.batch == len(th.list) {
			return false, nil
		}
		b := th.list[th.batch]
		th.batch++
		if cap(th.room) < int(b.size) {
			th.room = make([]byte, max(int(b.size), min(maxBatch, 2*cap(th.room))))
		}
		data, err := d.read(b, th.room)
		if err != nil {
			return false, &pathError{fmt.Errorf("reading the trace at %d: %w", b.off, err)}
		}
		th.buf, th.clock, th.off = data, b.time, b.off+int64(b.size)
	}
	return true, nil
}

func (d *decoder) sample(s sample) error {
	d.rest = true
	d.ev = Event{
		Kind: Sample, Time: d.time(s.time), Goroutine: int64(s.goroutine), By: int64(s.goroutine), Proc: small(s.proc), Thread: int64(s.thread),
		Stack: d.tables.stacks.get(s.stack),
	}
	return d.send()
}

func (d *decoder) send() error {
	d.last = d.ev.Time
	d.t.some = true
	if !d.yield(&d.ev, nil) {
		return errStop
	}
	return nil
}

// small returns the number of a P, or -1 for none.
func small(p uint64) int32 {
	if p >= 1<<31 {
		return -1
	}
	return int32(p)
}
