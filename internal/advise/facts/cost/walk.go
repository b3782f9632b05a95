package cost

import (
	"context"
	"math/bits"
	"strings"

	"github.com/hone-perf/hone/internal/advise/facts/symbol"
	"github.com/hone-perf/hone/internal/recording"
)

// A Class says whose code a function is.
type Class int

const (
	Std     Class = iota // of Go itself
	Own                  // of the module that is looked at
	Foreign              // of another module
	Test                 // in a file with tests
)

// A frame is a place on a stack: small, since stacks are made of them.
type frame struct {
	fn     int32 // number of the function
	line   int32 // number of the line
	class  Class
	idle   bool // a worker of the collector
	starts bool // main, or what runs before it

	untimed bool // in a benchmark whose timer does not run there
}

// A Whose says whose code a function is, and what of tests is left out.
type Whose struct {
	Class   func(fn, file string) Class
	Untimed func(fn, file string, line int) bool // asked about tests; nil leaves nothing out
}

// A walker turns samples into frames, the leaf first.
type walker struct {
	ctx   context.Context
	whose Whose
	names map[string]string // without type arguments

	// Numbers are compared and hashed sooner than names are.
	numbers map[string]int32
	fns     []string // by number
	lines   map[LineKey]int32
	fresh   []Line  // by number, before anything is added to one
	at      []*Line // by number; nil for those that cost too little
	seen    []int32 // by number: the stack on which a line was seen last
	stacks  int32
}

func newWalker(ctx context.Context, whose Whose) *walker {
	return &walker{ctx: ctx, whose: whose, names: make(map[string]string), numbers: make(map[string]int32), lines: make(map[LineKey]int32)}
}

// number returns the number of a function.
func (w *walker) number(fn string) int32 {
	id, ok := w.numbers[fn]
	if !ok {
		id = int32(len(w.fns))
		w.numbers[fn], w.fns = id, append(w.fns, fn)
	}
	return id
}

// line returns the number of a line of a function.
func (w *walker) line(k LineKey, fn string, start int) int32 {
	id, ok := w.lines[k]
	if !ok {
		id = int32(len(w.at))
		w.lines[k], w.at, w.seen = id, append(w.at, nil), append(w.seen, 0)
		w.fresh = append(w.fresh, Line{Key: k, Func: fn, Start: start})
	}
	return id
}

// first reports whether a line was not on the stack yet.
func (w *walker) first(line int32) bool {
	if w.seen[line] == w.stacks {
		return false
	}
	w.seen[line] = w.stacks
	return true
}

func (w *walker) walk(in *Input, yield func(v *Cost, fs []frame, t Traits)) {
	p := in.Profile
	frames := make([][]frame, len(p.Locations))
	for i := range p.Locations {
		for _, line := range p.Locations[i].Lines {
			fn := &p.Functions[line.Function]
			name, class := w.plain(fn.Name), w.whose.Class(fn.Name, fn.File)
			frames[i] = append(frames[i], frame{
				fn: w.number(name), line: w.line(LineKey{fn.File, int(line.Line)}, name, int(fn.StartLine)),
				class:  class,
				starts: name == "main.main" || symbol.IsInit(name),
				idle:   name == "runtime.gcBgMarkWorker" || name == "runtime.bgsweep" || name == "runtime.bgscavenge",

				untimed: class == Test && w.whose.Untimed != nil && w.whose.Untimed(fn.Name, fn.File, int(line.Line)),
			})
		}
	}
	columns := make([][]int64, NumMetrics)
	for m, k := range in.Column {
		if k >= 0 {
			columns[m] = p.Values(k)
		}
	}
	var stack []uint32
	var fs []frame
	for i := range p.NumSamples() {
		if i%4096 == 0 && w.ctx.Err() != nil {
			return // whoever asked does not want to know any more
		}
		set := p.LabelSets()[p.Label(i)]
		if set.Has(recording.OverheadLabel, recording.Recorder) {
			continue
		}
		var v Cost
		some := false
		for m, col := range columns {
			if col != nil {
				v[m] = col[i]
				some = some || v[m] != 0
			}
		}
		if !some {
			continue
		}
		in.spread(&v)
		stack, fs = p.Stack(i, stack[:0]), fs[:0]
		for _, l := range stack {
			fs = append(fs, frames[l]...)
		}
		t := Traits{OnCPU: v[CPU] != 0}
		for _, l := range set {
			switch {
			case l.Key == "state" && !l.Numeric:
				t.labels = l.Str
			case l.Key == "bytes" && l.Numeric && l.Num > 0:
				t.Size = UpToPower(l.Num)
			}
		}
		w.stacks++
		yield(&v, fs, t)
	}
}

// UpToPower returns the least power of two that is no less than n, which is more than 0.
func UpToPower(n int64) int64 { return 1 << bits.Len64(uint64(n-1)) }

// plain returns the name of a function without type arguments.
func (w *walker) plain(name string) string {
	if !strings.Contains(name, "[") {
		return name
	}
	s, ok := w.names[name]
	if !ok {
		s = symbol.WithoutTypes(name)
		w.names[name] = s
	}
	return s
}
