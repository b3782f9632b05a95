package lanes

import "slices"

// A lane is one that is being drawn.
type lane struct {
	Lane
	number int
	times  [States][]int64 // by pixel, nanoseconds
}

// start is where a pixel begins.
func (d *drawing) start(pixel int) int64 { return d.Start + int64(pixel)<<d.shift }

func (d *drawing) pixelOf(at int64) int { return int((at - d.Start) >> d.shift) }

// add draws a span of the window.
func (d *drawing) add(l *lane, state State, from, to int64) {
	if to <= from {
		return
	}
	times := d.timesOf(l, state)
	first, last := d.pixelOf(from), d.pixelOf(to-1)
	if first == last {
		times[first] += to - from
		return
	}
	times[first] += d.start(first+1) - from
	for i := first + 1; i < last; i++ {
		times[i] += d.Pixel
	}
	times[last] += to - d.start(last)
}

// addSum draws what there was of a state within a pixel.
func (d *drawing) addSum(l *lane, state State, at, sum int64) {
	d.timesOf(l, state)[d.pixelOf(at)] += sum
}

func (d *drawing) timesOf(l *lane, state State) []int64 {
	if l.times[state] == nil {
		l.times[state] = make([]int64, d.Pixels)
	}
	return l.times[state]
}

// whole is all of a pixel.
const whole = 16

// rest makes what a P that is on does not do otherwise the time in which it looks for a goroutine.
func (d *drawing) rest(l *lane) {
	times := l.times[on]
	if times == nil {
		return
	}
	for s := range States {
		if l.times[s] == nil || s == State(on) {
			continue
		}
		for i, v := range l.times[s] {
			times[i] -= v
		}
	}
	l.times[on], l.times[scheduling] = nil, times
}

// paint makes the runs of a lane of what was added up.
func (d *drawing) paint(l *lane) {
	var states []State
	for s := range States {
		if l.times[s] != nil {
			states = append(states, s)
		}
	}
	var parts [States]Part
	for i := range d.Pixels {
		size := min(d.start(i+1), d.Window.To) - max(d.start(i), d.Window.From)
		list := parts[:0]
		left := whole
		for _, s := range states {
			v := l.times[s][i]
			if v <= 0 {
				continue
			}
			// A state that was there for a moment is shown, too, if there is room.
			if share := min(left, max(1, int((v*whole+size/2)/size))); share > 0 {
				list = append(list, Part{s, uint8(share)})
				left -= share
			}
		}
		if len(list) > 0 {
			l.run(i, d.mix(list))
		}
	}
	l.times = [States][]int64{}
}

func (l *lane) run(at, mix int) {
	if n := len(l.Runs); n > 0 {
		if r := &l.Runs[n-1]; r.Mix == mix && r.At+r.Width == at {
			r.Width++
			return
		}
	}
	l.Runs = append(l.Runs, Run{At: at, Width: 1, Mix: mix})
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
