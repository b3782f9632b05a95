package lanes

import (
	"slices"

	"github.com/hone-perf/hone/internal/waits"
)

// A lane is one that is being drawn.
type lane struct {
	Lane
	number int

	pixel int // that sums are of
	sums  [States]int64
	sure  waits.Window // times that are in this pixel, whatever the rounding

	state State // of processors and the collector
	since int64
}

// start is where a pixel begins.
func (d *drawing) start(pixel int) int64 {
	w := d.ask.Window
	return w.From + int64(float64(w.To-w.From)*float64(pixel)/float64(d.ask.Pixels))
}

func (d *drawing) pixelOf(at int64) int {
	w := d.ask.Window
	return min(d.ask.Pixels-1, max(0, int(float64(at-w.From)/float64(w.To-w.From)*float64(d.ask.Pixels))))
}

// add draws a stretch that comes after all that was drawn of the lane.
func (d *drawing) add(l *lane, from, to int64, state State) {
	w := d.ask.Window
	from, to = max(from, w.From), min(to, w.To)
	if to <= from || state == Nothing {
		return
	}
	if from >= l.sure.From && to <= l.sure.To {
		l.sums[state] += to - from
		return
	}
	first, last := d.pixelOf(from), d.pixelOf(to-1)
	l.sure = waits.Window{From: d.start(last) + 2, To: d.start(last+1) - 2}
	if first != l.pixel {
		d.flush(l)
		l.pixel = first
	}
	if first == last {
		l.sums[state] += to - from
		return
	}
	l.sums[state] += max(0, d.start(first+1)-from)
	d.flush(l)
	if last > first+1 {
		d.run(l, first+1, last-first-1, d.mix([]Part{{state, whole}}))
	}
	l.pixel = last
	l.sums[state] += max(1, to-d.start(last))
}

// whole is all of a pixel.
const whole = 16

// flush draws the pixel that a lane has come to.
func (d *drawing) flush(l *lane) {
	size := max(1, d.start(l.pixel+1)-d.start(l.pixel))
	var parts [States]Part
	list := parts[:0]
	left := whole
	for s, v := range l.sums {
		if v == 0 {
			continue
		}
		l.sums[s] = 0
		// A state that was there for a moment is shown, too, if there is room.
		share := min(left, max(1, int((v*whole+size/2)/size)))
		if share > 0 {
			list = append(list, Part{State(s), uint8(share)})
			left -= share
		}
	}
	if len(list) > 0 {
		d.run(l, l.pixel, 1, d.mix(list))
	}
}

func (d *drawing) run(l *lane, at, width, mix int) {
	if n := len(l.Runs); n > 0 {
		if r := &l.Runs[n-1]; r.Mix == mix && r.At+r.Width == at {
			r.Width += width
			return
		}
	}
	l.Runs = append(l.Runs, Run{At: at, Width: width, Mix: mix})
}

// mix is the number of a mix.
func (d *drawing) mix(list []Part) int {
	d.key = d.key[:0]
	for _, p := range list {
		d.key = append(d.key, byte(p.State), p.Share)
	}
	n, ok := d.mixes[string(d.key)]
	if !ok {
		n = len(d.Mixes)
		d.mixes[string(d.key)] = n
		d.Mixes = append(d.Mixes, slices.Clone(list))
	}
	return n
}
