package lanes

import (
	"encoding/binary"
	"math"
	"math/bits"
	"slices"
)

// A log is all that the lanes of a trace have, packed: spans by how long they are, and, for times of lengths that are powers of two, sums of
// those that are shorter than such a time. A picture of any window is added up from the sums of times that are not longer than a pixel of it, from the
// spans that are longer, and at the edges of the window from all spans: that is exact.
type log struct {
	lists  [classes]list
	levels []*level // the shortest times first
	spans  int
	length int64 // nanoseconds of the trace
	asked  bool  // something was asked for
	summed bool  // levels are made
}

// Spans are of class 0 where they are shorter than 1<<shortest nanoseconds, of class 1 where they are shorter than 1<<(shortest+classStep), and so on.
const (
	shortest  = 12
	classStep = 2
	classes   = 14
	levelStep = classStep // from the times of one level to those of the next
	blockSize = 32 << 10
)

// perTime is how many spans there are, on average, in a time of the lowest level. Tests change it.
var perTime = 128

// fewestTimes is in how many times of a level a trace has to be, or no picture would be made of them.
const fewestTimes = 400

func classOf(length int64) int {
	return min(max(0, (bits.Len64(uint64(length))-shortest+classStep-1)/classStep), classes-1)
}

// An entry is a span as a log has it.
type entry struct {
	lane     uint32
	proc     uint32 // lane of a P that did the same meanwhile; 0 is none
	by       uint32 // lane of the goroutine that ended a wait; 0 is none
	what     code
	from, to int64
}

// add adds a span. They come in the order of their ends.
func (l *log) add(e entry) {
	if e.to == e.from && e.by == 0 {
		return
	}
	l.lists[classOf(e.to-e.from)].add(e)
	l.spans++
}

// mostOnce is how many spans are gone through for the first picture without sums: who asks for one alone need not wait for these.
const mostOnce = 2 << 20

// ready makes sums when they are worth it.
func (l *log) ready(from, to int64) {
	if !l.summed && (l.asked || float64(l.spans)*float64(to-from) > mostOnce*float64(l.length)) {
		l.summed = true
		l.sum(l.length)
	}
	l.asked = true
}

// sum makes sums of what was added.
func (l *log) sum(length int64) {
	shift := uint(shortest)
	for shift < 62 && float64(l.spans)*math.Ldexp(1, int(shift)) < float64(perTime)*float64(length) {
		shift += classStep
	}
	class := 0
	var below *level
	for ; length>>shift >= fewestTimes && shift <= shortest+classStep*(classes-2); shift += levelStep {
		v := &level{shift: shift, lists: int(shift-shortest)/classStep + 1}
		v.make(l.lists[class:v.lists], below)
		l.levels = append(l.levels, v)
		class, below = v.lists, v
	}
}

// size is how many bytes the log takes.
func (l *log) size() (n int) {
	for i := range l.lists {
		for _, b := range l.lists[i].blocks {
			n += cap(b.packed)
		}
	}
	for _, v := range l.levels {
		for _, b := range v.blocks {
			n += cap(b.packed)
		}
	}
	return n
}

// levelFor is the level whose times are the longest that are not longer than a pixel; nil is none.
func (l *log) levelFor(pixel uint) *level {
	for _, v := range slices.Backward(l.levels) {
		if v.shift <= pixel {
			return v
		}
	}
	return nil
}

// each hands on what the lanes have in a window: spans that are longer than the times of a level, sums of the times of the level that are in the window,
// and spans that are shorter at its edges, all of them cut to the window, by class. Without a level, it hands on all spans. Classes that are not wanted are passed over.
func (l *log) each(from, to int64, v *level, wanted *[classes]bool, span func(class int, e *entry), sum func(key uint32, at, sum int64)) {
	short := 0 // classes of spans that are looked at only at the edges
	first, last := from, from
	if v != nil {
		if first, last = (from+1<<v.shift-1)>>v.shift, to>>v.shift; first < last {
			short = v.lists
			r := v.from(first)
			for r.next() && r.number < last {
				at := r.number << v.shift
				for r.sum() {
					sum(r.key, at, r.value)
				}
			}
		}
	}
	for class := range l.lists {
		switch {
		case !wanted[class]:
		case class >= short:
			l.lists[class].each(from, to, class, span)
		default:
			l.lists[class].each(from, first<<v.shift, class, span)
			l.lists[class].each(last<<v.shift, to, class, span)
		}
	}
}

// each hands on what the spans of a list have of a window.
func (l *list) each(from, to int64, class int, span func(class int, e *entry)) {
	if from >= to {
		return
	}
	var e entry // one for all, since it is handed on
	r := l.reader(from)
	until := min(to, math.MaxInt64-l.longest) + l.longest
	for r.next() && r.to <= until {
		if r.from >= to || r.to < from || r.to == from && r.from < from {
			continue
		}
		e = r.entry // which the next one is read from
		if e.from < from {
			e.from = from
		}
		if e.to >= to {
			e.to, e.by = to, 0
		}
		span(class, &e)
	}
}

// A list is spans in the order of their ends.
type list struct {
	blocks  []block
	longest int64

	end    int64 // of the last one
	length int64
	lane   uint32
	recent recent
}

// A block is a stretch of a list or of a level.
type block struct {
	before int64 // end of the span, or number of the time, before its first
	last   int64
	packed []byte
}

// Recent are lanes that spans were of, since the block began: these have short numbers.
type recent [64]uint32

// The packed form of a span is a head, the time from the end of the one before to its own, its length, or 0 for that of the one before, and, where there is one,
// the P and who ended it. The head is how far the lane is from that of the one before, or its place among the recent ones, and above the code what
// the others are like. Times are in units of 64 nanoseconds, that in which most traces have them, unless they are fine.
const (
	isFine    = 1 << 4
	hasBy     = 1 << 5
	hasProc   = 1 << 6
	isRecent  = 1 << 7
	laneShift = 8

	unitShift = 6
	unitMask  = 1<<unitShift - 1
	maxEntry  = 5 * binary.MaxVarintLen64
)

func (l *list) add(e entry) {
	n := len(l.blocks)
	if n == 0 || len(l.blocks[n-1].packed)+maxEntry > cap(l.blocks[n-1].packed) {
		l.blocks = append(l.blocks, block{before: l.end, packed: make([]byte, 0, min(blockSize, 1<<9<<min(n, 8)))})
		l.length, l.lane, l.recent = 0, 0, recent{}
		n++
	}
	b := &l.blocks[n-1]
	gap, length := uint64(e.to-l.end), uint64(e.to-e.from)
	if e.by == 0 && e.to-e.from == l.length {
		length = 0
	}
	l.length = e.to - e.from
	head := uint64(e.what)
	if e.by != 0 {
		head |= hasBy
	}
	if e.proc != 0 {
		head |= hasProc
	}
	if (gap|length)&unitMask != 0 {
		head |= isFine
	} else {
		gap, length = gap>>unitShift, length>>unitShift
	}
	place := &l.recent[e.lane%uint32(len(l.recent))]
	if *place == e.lane {
		head |= isRecent | uint64(e.lane%uint32(len(l.recent)))<<laneShift
	} else {
		*place = e.lane
		far := int64(e.lane) - int64(l.lane)
		head |= uint64(far<<1^far>>63) << laneShift
	}
	l.lane = e.lane
	p := binary.AppendUvarint(b.packed, head)
	p = binary.AppendUvarint(p, gap)
	p = binary.AppendUvarint(p, length)
	if e.proc != 0 {
		p = binary.AppendUvarint(p, uint64(e.proc))
	}
	if e.by != 0 {
		by := uint64(e.by) << 1
		if l.recent[e.by%uint32(len(l.recent))] == e.by {
			by = uint64(e.by%uint32(len(l.recent)))<<1 | 1
		}
		p = binary.AppendUvarint(p, by)
	}
	b.packed, b.last, l.end = p, e.to, e.to
	l.longest = max(l.longest, e.to-e.from)
}

// A reader reads a list.
type reader struct {
	entry
	length int64
	blocks []block
	packed []byte
	recent recent
}

// reader reads those that end at a time or later, and some that end before.
func (l *list) reader(end int64) reader {
	return reader{blocks: l.blocks[search(l.blocks, end):]}
}

// search is the number of the first block that has something that is not before a time or a number.
func search(blocks []block, first int64) int {
	i, _ := slices.BinarySearchFunc(blocks, first, func(b block, first int64) int {
		if b.last < first {
			return -1
		}
		return 1
	})
	return i
}

// next reads the next entry. It reports whether there is one.
func (r *reader) next() bool {
	p := r.packed
	if len(p) == 0 {
		if len(r.blocks) == 0 {
			return false
		}
		p, r.to, r.lane, r.length, r.recent = r.blocks[0].packed, r.blocks[0].before, 0, 0, recent{}
		r.blocks = r.blocks[1:]
	}
	head, p := number(p)
	gap, p := number(p)
	length, p := number(p)
	r.proc, r.by = 0, 0
	if head&isRecent != 0 {
		r.lane = r.recent[head>>laneShift%uint64(len(r.recent))]
	} else {
		far := head >> laneShift
		r.lane += uint32(far>>1) ^ -uint32(far&1)
		r.recent[r.lane%uint32(len(r.recent))] = r.lane
	}
	if head&hasProc != 0 {
		var proc uint64
		proc, p = number(p)
		r.proc = uint32(proc)
	}
	if head&hasBy != 0 {
		var by uint64
		if by, p = number(p); by&1 != 0 {
			r.by = r.recent[by>>1%uint64(len(r.recent))]
		} else {
			r.by = uint32(by >> 1)
		}
	}
	if head&isFine == 0 {
		gap, length = gap<<unitShift, length<<unitShift
	}
	if length != 0 || r.by != 0 {
		r.length = int64(length)
	}
	r.what = code(head & 15)
	r.to += int64(gap)
	r.from = r.to - r.length
	r.packed = p
	return true
}

// number is the number at the begin of what is packed, and what follows it.
func number(p []byte) (uint64, []byte) {
	if p[0] < 0x80 {
		return uint64(p[0]), p[1:]
	}
	if p[1] < 0x80 {
		return uint64(p[0]&0x7f) | uint64(p[1])<<7, p[2:]
	}
	if len(p) > 2 && p[2] < 0x80 {
		return uint64(p[0]&0x7f) | uint64(p[1]&0x7f)<<7 | uint64(p[2])<<14, p[3:]
	}
	v, n := binary.Uvarint(p)
	return v, p[n:]
}

// A level is sums of what is in times of equal length: of spans that are shorter than such a time.
type level struct {
	shift  uint // binary logarithm of the time, in nanoseconds
	lists  int  // of the log have spans that are shorter
	blocks []block
	number int64 // of the last time that was written
	order  []uint64
}

// make adds up spans and the sums of a shorter level, which may be nil.
func (v *level) make(lists []list, below *level) {
	readers := make([]reader, 0, len(lists))
	for i := range lists {
		if r := lists[i].reader(0); r.next() {
			readers = append(readers, r)
		}
	}
	var short levelReader
	more := false
	if below != nil {
		short = below.from(0)
		more = short.next()
	}
	var open [2]sums // a time and that before, of which spans that end in it have something
	for {
		// The next time that something is in.
		now := int64(math.MaxInt64)
		for i := range readers {
			now = min(now, (readers[i].to-1)>>v.shift)
		}
		if more {
			now = min(now, short.number>>(v.shift-below.shift))
		}
		v.write(&open, now-1)
		if now == math.MaxInt64 {
			v.order = nil
			return
		}
		is, was := at(&open, now), at(&open, now-1)
		for i := 0; i < len(readers); i++ {
			r := &readers[i]
			left := true
			for left && (r.to-1)>>v.shift == now {
				begin := now << v.shift
				key, proc := keyOf(r.lane, r.what), keyOf(r.proc, r.what)
				if r.from < begin {
					was.add(key, begin-r.from)
					if r.proc != 0 {
						was.add(proc, begin-r.from)
					}
				}
				if d := r.to - max(r.from, begin); d > 0 {
					is.add(key, d)
					if r.proc != 0 {
						is.add(proc, d)
					}
				}
				left = r.next()
			}
			if !left {
				readers = slices.Delete(readers, i, i+1)
				i--
			}
		}
		for more && short.number>>(v.shift-below.shift) == now {
			for short.sum() {
				is.add(short.key, short.value)
			}
			more = short.next()
		}
	}
}

// at is the time of a number among those that are open.
func at(open *[2]sums, number int64) *sums {
	s := &open[number&1]
	s.number = number
	return s
}

// keyOf is what sums are kept by.
func keyOf(lane uint32, what code) uint32 { return lane<<4 | uint32(what) }

// The packed form of a time is its number less that of the one before, how many sums it has, and these in the order of their keys: the key less that of the one before,
// with a bit for what is fine, and the sum.

// write writes those that are open and before a time.
func (v *level) write(open *[2]sums, before int64) {
	first, second := &open[0], &open[1]
	if second.number < first.number {
		first, second = second, first
	}
	for _, s := range []*sums{first, second} {
		if s.number >= before || len(s.list) == 0 {
			continue
		}
		n := len(v.blocks)
		if n == 0 || len(v.blocks[n-1].packed) > blockSize {
			v.blocks = append(v.blocks, block{before: v.number})
			if n > 0 {
				v.blocks[n].packed = make([]byte, 0, blockSize+blockSize/4)
			}
			n++
		}
		b := &v.blocks[n-1]
		p := binary.AppendUvarint(b.packed, uint64(s.number-v.number))
		p = binary.AppendUvarint(p, uint64(len(s.list)))
		// Numbers are faster to sort than what has them.
		v.order = v.order[:0]
		for i, one := range s.list {
			v.order = append(v.order, uint64(one.key)<<32|uint64(i))
		}
		slices.Sort(v.order)
		key := uint32(0)
		for _, i := range v.order {
			one := s.list[uint32(i)]
			head, sum := uint64(one.key-key)<<1, uint64(one.sum)
			key = one.key
			if sum&unitMask != 0 {
				head |= 1
			} else {
				sum >>= unitShift
			}
			p = binary.AppendUvarint(binary.AppendUvarint(p, head), sum)
		}
		b.packed, b.last, v.number = p, s.number, s.number
		s.clear()
	}
}

// A levelReader reads the times of a level.
type levelReader struct {
	number int64
	key    uint32
	value  int64

	blocks []block
	packed []byte
	count  uint64 // of sums of the time that are to come
}

// from reads the times from a number on.
func (v *level) from(first int64) levelReader {
	r := levelReader{blocks: v.blocks[search(v.blocks, first):]}
	for before := r; r.next(); before = r {
		if r.number >= first {
			return before
		}
		for r.sum() {
		}
	}
	return r
}

// next goes to the next time, after all sums of the one before were read. It reports whether there is one.
func (r *levelReader) next() bool {
	if len(r.packed) == 0 {
		if len(r.blocks) == 0 {
			return false
		}
		r.packed, r.number = r.blocks[0].packed, r.blocks[0].before
		r.blocks = r.blocks[1:]
	}
	gap, p := number(r.packed)
	r.count, r.packed = number(p)
	r.key = 0
	r.number += int64(gap)
	return true
}

// sum reads the next sum of the time. It reports whether there is one.
func (r *levelReader) sum() bool {
	if r.count == 0 {
		return false
	}
	r.count--
	head, p := number(r.packed)
	v, p := number(p)
	if head&1 == 0 {
		v <<= unitShift
	}
	r.key, r.value, r.packed = r.key+uint32(head>>1), int64(v), p
	return true
}

// sums are how long lanes were in what state, in a time.
type sums struct {
	number int64
	list   []sumOf
	table  []int32 // places in the list, by key; 0 is none
}

type sumOf struct {
	key uint32
	sum int64
}

func (s *sums) add(key uint32, v int64) {
	if 2*len(s.list) >= len(s.table) {
		s.table = make([]int32, max(64, 2*len(s.table)))
		for i, one := range s.list {
			s.table[s.place(one.key)] = int32(i + 1)
		}
	}
	at := s.place(key)
	if n := s.table[at]; n > 0 {
		s.list[n-1].sum += v
		return
	}
	s.list = append(s.list, sumOf{key, v})
	s.table[at] = int32(len(s.list))
}

// place is where a key is in the table, or would be. The length of that is a power of two.
func (s *sums) place(key uint32) int {
	at := int(key*0x9e3779b1>>8) & (len(s.table) - 1)
	for s.table[at] != 0 && s.list[s.table[at]-1].key != key {
		at = (at + 1) & (len(s.table) - 1)
	}
	return at
}

func (s *sums) clear() {
	clear(s.table)
	s.list = s.list[:0]
}
