package advise

import (
	"context"
	"math/bits"
	"strings"

	"github.com/hone-perf/hone/internal/recording"
)

// A class says whose code a function is.
type class int

const (
	std     class = iota // of Go itself
	own                  // of the module that is looked at
	foreign              // of another module
	test                 // in a file with tests
)

// A frame is a place on a stack: small, since stacks are made of them.
type frame struct {
	fn     int32 // number of the function
	line   int32 // number of the line
	class  class
	idle   bool // a worker of the collector
	starts bool // main, or what runs before it
}

// A walker turns samples into frames, the leaf first.
type walker struct {
	ctx   context.Context
	mine  func(fn, file string) class
	names map[string]string // without type arguments

	// Numbers are compared and hashed sooner than names are.
	numbers map[string]int32
	fns     []string // by number
	lines   map[lineKey]int32
	fresh   []Line  // by number, before anything is added to one
	at      []*Line // by number; nil for those that cost too little
	seen    []int32 // by number: the stack on which a line was seen last
	stacks  int32
}

func newWalker(ctx context.Context, mine func(fn, file string) class) *walker {
	return &walker{ctx: ctx, mine: mine, names: make(map[string]string), numbers: make(map[string]int32), lines: make(map[lineKey]int32)}
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
func (w *walker) line(k lineKey, fn string, start int) int32 {
	id, ok := w.lines[k]
	if !ok {
		id = int32(len(w.at))
		w.lines[k], w.at, w.seen = id, append(w.at, nil), append(w.seen, 0)
		w.fresh = append(w.fresh, Line{key: k, fn: fn, start: start})
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

func (w *walker) walk(in *input, yield func(v *cost, fs []frame, t traits)) {
	p := in.profile
	frames := make([][]frame, len(p.Locations))
	for i := range p.Locations {
		for _, line := range p.Locations[i].Lines {
			fn := &p.Functions[line.Function]
			name := w.plain(fn.Name)
			frames[i] = append(frames[i], frame{
				fn: w.number(name), line: w.line(lineKey{fn.File, int(line.Line)}, name, int(fn.StartLine)),
				class:  w.mine(fn.Name, fn.File),
				starts: name == "main.main" || isInit(name),
				idle:   name == "runtime.gcBgMarkWorker" || name == "runtime.bgsweep" || name == "runtime.bgscavenge",
			})
		}
	}
	columns := make([][]int64, numMetrics)
	for m, k := range in.column {
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
		var v cost
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
		t := traits{onCPU: v[cpu] != 0}
		for _, l := range set {
			switch {
			case l.Key == "state" && !l.Numeric:
				t.labels = l.Str
			case l.Key == "bytes" && l.Numeric && l.Num > 0:
				t.size = upToPower(l.Num)
			}
		}
		w.stacks++
		yield(&v, fs, t)
	}
}

// upToPower returns the least power of two that is no less than n, which is more than 0.
func upToPower(n int64) int64 { return 1 << bits.Len64(uint64(n-1)) }

// plain returns the name of a function without type arguments.
func (w *walker) plain(name string) string {
	if !strings.Contains(name, "[") {
		return name
	}
	s, ok := w.names[name]
	if !ok {
		s = withoutTypes(name)
		w.names[name] = s
	}
	return s
}

func withoutTypes(name string) string {
	var b strings.Builder
	depth := 0
	for _, r := range name {
		switch r {
		case '[':
			depth++
		case ']':
			depth--
		default:
			if depth == 0 {
				b.WriteRune(r)
			}
		}
	}
	return b.String()
}

// packageOf returns the import path in the name of a function. It is main for all commands.
func packageOf(fn string) string {
	fn, _, _ = strings.Cut(fn, "[")
	slash := strings.LastIndexByte(fn, '/') + 1
	if dot := strings.IndexByte(fn[slash:], '.'); dot >= 0 {
		fn = fn[:slash+dot]
	}
	return strings.NewReplacer("%252e", ".", "%2e", ".").Replace(fn) // escaped twice in closures since Go 1.27
}
