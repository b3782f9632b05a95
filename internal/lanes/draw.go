package lanes

import (
	"cmp"
	"math/bits"
	"slices"

	"github.com/hone-perf/hone/internal/order"
)

// A drawing is a picture that is being drawn. What there is in the window is handed to it twice: first spend takes how long goroutines did what, of which choose
// finds the kinds and goroutines to draw, then goroutine takes when they did it.
type drawing struct {
	*Picture
	x     *Index
	ask   Ask
	shift uint // binary logarithm of Pixel
	mixes map[string]int
	key   []byte

	spent  []spent          // by goroutine
	kinds  []*kind          // that are drawn, the most active first
	early  []*kind          // by number, all that there may be, where they are drawn before it is known which are wanted; nil otherwise
	lanes  map[uint32]*lane // goroutines that are drawn
	as     []uint16         // by goroutine, what is drawn of it
	tracks []*lane          // of the collector and of Ps
}

// spent is how many nanoseconds of the window a goroutine was so.
type spent struct{ busy, blocked int64 }

const (
	kindBits   = 1<<8 - 1 // number of the kind, from 1
	hasLane    = 1 << 8
	isQuiet    = 1 << 9 // what it does lasts for all of the window, and is drawn by choose
	quietShift = 10     // above is what that is
)

// A kind is one of goroutines.
type kind struct {
	Area
	number  uint16
	blocked int64
	time    [][States]int64 // by stretch
	whole   [][States]int64 // how many more were so for all of a stretch than of the one before
	quiet   [States]int64   // how many were so for all of the window
}

func newDrawing(x *Index, ask Ask) *drawing {
	w := ask.Window
	if x.room.spent == nil {
		x.room.spent, x.room.as = make([]spent, x.count), make([]uint16, x.count)
	}
	clear(x.room.spent)
	clear(x.room.as)
	d := &drawing{
		Picture: &Picture{Window: w}, x: x, ask: ask, mixes: map[string]int{}, lanes: map[uint32]*lane{},
		spent: x.room.spent, as: x.room.as,
	}
	for (w.To-1)>>d.shift-w.From>>d.shift >= int64(max(1, ask.Pixels)) {
		d.shift++
	}
	d.Pixel = 1 << d.shift
	d.Start = w.From &^ (d.Pixel - 1)
	d.Pixels = d.pixelOf(w.To-1) + 1
	return d
}

// fromLog draws what is in the log of the index.
func (d *drawing) fromLog() {
	w, l := d.ask.Window, d.x.log
	l.ready(w.From, w.To)
	level := l.levelFor(d.shift)
	for n, since := range d.x.procs {
		if since < w.To {
			d.track(firstProc + uint32(n))
		}
	}
	all, some := [classes]bool{}, [classes]bool{}
	for class := range all {
		all[class] = true
	}
	l.each(w.From, w.To, level, &all, func(class int, e *entry) {
		if e.proc != 0 {
			d.add(d.track(e.proc), e.what.state(), e.from, e.to)
		}
		if e.lane < firstGoroutine {
			d.add(d.track(e.lane), e.what.state(), e.from, e.to)
			return
		}
		n := e.lane - firstGoroutine
		d.spend(n, e.what, e.to-e.from)
		if e.from == w.From && e.to == w.To {
			d.as[n] |= isQuiet | uint16(e.what)<<quietShift
			return
		}
		some[class] = true
	}, func(key uint32, at, sum int64) {
		if lane := key >> 4; lane >= firstGoroutine {
			d.spend(lane-firstGoroutine, code(key&15), sum)
		} else {
			d.addSum(d.track(lane), code(key&15).state(), at, sum)
		}
	})
	d.choose(nil)
	l.each(w.From, w.To, level, &some, func(_ int, e *entry) {
		if e.lane >= firstGoroutine && d.as[e.lane-firstGoroutine]&isQuiet == 0 {
			if level != nil {
				e.by = 0 // of some it is not known any more
			}
			d.goroutine(e.lane-firstGoroutine, e.what.state(), e.from, e.to, e.by)
		}
	}, func(key uint32, at, sum int64) {
		if lane := key >> 4; lane >= firstGoroutine {
			d.sumOf(lane-firstGoroutine, code(key&15).state(), at, sum)
		}
	})
}

// spend says for how long of the window a goroutine was so.
func (d *drawing) spend(number uint32, what code, took int64) {
	switch {
	case what.active():
		d.spent[number].busy += took
	case what != code(Idle):
		d.spent[number].blocked += took
	}
}

// choose finds the kinds of goroutines to draw, and of the goroutines that pass those that were active for longest. What passes is nil where all do.
func (d *drawing) choose(passes func(number int) bool) {
	w := d.ask.Window
	var list []uint32
	compare := func(a, b uint32) int {
		if c := cmp.Compare(d.spent[b].busy, d.spent[a].busy); c != 0 {
			return c
		}
		return cmp.Or(cmp.Compare(d.spent[b].blocked, d.spent[a].blocked), cmp.Compare(d.x.at(int(a)).id, d.x.at(int(b)).id))
	}
	kinds := slices.Clone(d.early)
	if kinds == nil {
		kinds = make([]*kind, len(d.x.kinds))
	}
	for n := range d.x.count {
		r := d.x.at(n)
		if r.kind == 0 || r.from >= w.To || r.last <= w.From {
			continue
		}
		k := kinds[r.kind]
		if k == nil {
			k = d.newKind(r.kind)
			kinds[r.kind] = k
		}
		k.Count++
		k.Busy += d.spent[n].busy
		k.blocked += d.spent[n].blocked
		if passes != nil && !passes(n) {
			continue
		}
		d.Of++
		number := uint32(n)
		if len(list) < d.ask.Goroutines || len(list) > 0 && compare(number, list[len(list)-1]) < 0 {
			at, _ := slices.BinarySearchFunc(list, number, compare)
			list = slices.Insert(list, at, number)
			list = list[:min(len(list), d.ask.Goroutines)]
		}
	}
	for i, n := range list {
		d.as[n] |= hasLane
		r := d.x.at(int(n))
		d.lanes[n] = &lane{Lane: Lane{Name: d.x.kinds[r.kind], ID: r.id, Busy: d.spent[n].busy}, number: i}
	}
	d.kinds = slices.DeleteFunc(slices.Clone(kinds), func(k *kind) bool { return k == nil })
	order.Stable(d.kinds, func(a, b *kind) int {
		return cmp.Or(cmp.Compare(b.Busy, a.Busy), cmp.Compare(b.blocked, a.blocked), cmp.Compare(a.Kind, b.Kind))
	})
	d.MoreKinds = max(0, len(d.kinds)-mostKinds)
	d.kinds = d.kinds[:len(d.kinds)-d.MoreKinds]
	for i, k := range d.kinds {
		k.number = uint16(i + 1)
		d.makeRoom(k)
	}
	d.countMost(kinds)
	for n, as := range d.as {
		k := kinds[d.x.at(n).kind]
		if k == nil {
			continue
		}
		d.as[n] |= k.number
		if as&isQuiet == 0 {
			continue
		}
		if k.number != 0 {
			k.quiet[code(as>>quietShift).state()]++
		}
		if as&hasLane != 0 {
			d.add(d.lanes[uint32(n)], code(as>>quietShift).state(), w.From, w.To)
		}
	}
}

func (d *drawing) newKind(number uint32) *kind {
	k := &kind{}
	k.Kind = d.x.kinds[number]
	return k
}

// countMost finds out how many goroutines of each kind that is drawn there were at a time.
func (d *drawing) countMost(kinds []*kind) {
	w := d.Window
	begin := make([][]int64, len(d.kinds))
	end := make([][]int64, len(d.kinds))
	for n := range d.x.count {
		r := d.x.at(n)
		if k := kinds[r.kind]; k != nil && k.number != 0 && r.from < w.To && r.last > w.From {
			begin[k.number-1] = append(begin[k.number-1], r.from)
			end[k.number-1] = append(end[k.number-1], r.last)
		}
	}
	for i, k := range d.kinds {
		from, to := begin[i], end[i]
		slices.Sort(from)
		slices.Sort(to)
		gone := 0
		for at, t := range from {
			for to[gone] <= t {
				gone++
			}
			k.Most = max(k.Most, at+1-gone)
		}
	}
}

// makeRoom has a kind be drawn.
func (d *drawing) makeRoom(k *kind) {
	if k.time == nil {
		n := d.stretchOf(d.Window.To-1) + 1
		k.time, k.whole = make([][States]int64, n), make([][States]int64, n)
	}
}

// goroutine draws a span of a goroutine, and, where that is known, who ended it.
func (d *drawing) goroutine(number uint32, state State, from, to int64, by uint32) {
	as := d.as[number]
	if k := as & kindBits; k != 0 && d.early == nil {
		d.addTo(d.kinds[k-1], state, from, to)
	}
	if as&hasLane != 0 {
		l := d.lanes[number]
		d.add(l, state, from, to)
		if by >= firstGoroutine {
			if by := d.lanes[by-firstGoroutine]; by != nil && by != l && len(d.Wakes) < mostWakes {
				d.Wakes = append(d.Wakes, Wake{to, by.number, l.number})
			}
		}
	}
}

// sumOf draws how long a goroutine was so within a pixel.
func (d *drawing) sumOf(number uint32, state State, at, sum int64) {
	as := d.as[number]
	if k := as & kindBits; k != 0 {
		d.kinds[k-1].time[d.stretchOf(at)][state] += sum
	}
	if as&hasLane != 0 {
		d.addSum(d.lanes[number], state, at, sum)
	}
}

// track is the lane of a P or of the collector.
func (d *drawing) track(n uint32) *lane {
	for int(n) >= len(d.tracks) {
		d.tracks = append(d.tracks, &lane{Lane: Lane{ID: int64(len(d.tracks) - firstProc)}})
	}
	return d.tracks[n]
}

// stretchOf is the number of the stretch that a time is in.
func (d *drawing) stretchOf(at int64) int { return d.pixelOf(at) >> stretch }

// addTo adds what a goroutine of a kind did.
func (d *drawing) addTo(k *kind, state State, from, to int64) {
	switch {
	case to <= from:
		return
	case from == d.Window.From && to == d.Window.To:
		k.quiet[state]++
		return
	}
	first, last := d.stretchOf(from), d.stretchOf(to-1)
	if first == last {
		k.time[first][state] += to - from
		return
	}
	k.time[first][state] += d.start((first+1)<<stretch) - from
	k.time[last][state] += to - d.start(last<<stretch)
	k.whole[first+1][state]++
	k.whole[last][state]--
}

// finish makes the picture of what was added up.
func (d *drawing) finish() {
	d.track(firstProc - 1)
	for n, l := range d.tracks {
		d.rest(l)
		if d.paint(l); n >= firstProc {
			d.Procs = append(d.Procs, l.Lane)
			continue
		}
		l.ID, l.Name = 0, [firstProc]string{markLane: "marking", stopLane: "stop the world"}[n]
		d.Collector = append(d.Collector, l.Lane)
	}
	d.Goroutines = make([]Lane, len(d.lanes))
	byNumber := make([]*lane, len(d.lanes)) // so that mixes have the same numbers each time
	for _, l := range d.lanes {
		byNumber[l.number] = l
	}
	for i, l := range byNumber {
		d.paint(l)
		d.Goroutines[i] = l.Lane
	}
	for _, k := range d.kinds {
		d.level(k)
		d.Kinds = append(d.Kinds, k.Area)
	}
	if len(d.Wakes) == mostWakes {
		d.Wakes = nil // nobody could tell them apart
	}
	order.Stable(d.Wakes, func(a, b Wake) int {
		return cmp.Or(cmp.Compare(a.At, b.At), cmp.Compare(a.From, b.From), cmp.Compare(a.To, b.To))
	})
}

// level makes means of the sums of a kind.
func (d *drawing) level(k *kind) {
	k.Levels = make([][States]float64, len(k.time))
	whole := k.quiet
	for i := range k.time {
		length := float64(min(d.start((i+1)<<stretch), d.Window.To) - max(d.start(i<<stretch), d.Window.From))
		for s := range States {
			whole[s] += k.whole[i][s]
			k.Levels[i][s] = float64(k.time[i][s])/length + float64(whole[s])
			k.Means[s] += k.Levels[i][s] * length / float64(d.Window.To-d.Window.From)
		}
	}
}

// drawRequests draws the requests of the window: the longest first, each in the first lane that has room.
func (d *drawing) drawRequests() {
	w := d.Window
	taken := make([]uint16, d.Pixels) // by pixel, a bit for each row
	pure := map[State]int{}
	d.x.eachRequest(w, func(r *requestAt) {
		from := min(d.pixelOf(max(r.from, w.From)), d.Pixels-1)
		to := min(max(d.pixelOf(min(r.to, w.To)), from+1), d.Pixels)
		rows := uint16(0)
		for _, bits := range taken[from:to] {
			rows |= bits
		}
		row := bits.TrailingZeros16(^rows)
		if row >= mostRequests {
			d.Small++
			return
		}
		for i := range taken[from:to] {
			taken[from+i] |= 1 << row
		}
		if row == len(d.Requests) {
			d.Requests = append(d.Requests, Lane{})
		}
		of := &d.x.Requests[r.index]
		state := State(of.Most()) + 1
		mix, ok := pure[state]
		if !ok {
			mix = d.mix([]Part{{state, whole}})
			pure[state] = mix
		}
		l := &d.Requests[row]
		l.Runs = append(l.Runs, Run{At: from, Width: to - from, Mix: mix, ID: of.Number})
		l.Busy += of.Took()
	})
	for i := range d.Requests {
		order.Stable(d.Requests[i].Runs, func(a, b Run) int { return cmp.Compare(a.At, b.At) })
	}
}
