package pprof

import (
	"cmp"
	"maps"
	"path/filepath"
	"slices"
	"sort"
	"strings"

	"github.com/hone-perf/hone/internal/profile"
	"github.com/hone-perf/hone/internal/query"
	"github.com/hone-perf/hone/internal/recording"
	"github.com/hone-perf/hone/internal/report"
	"github.com/hone-perf/hone/internal/view"
	"github.com/hone-perf/hone/internal/view/profileview"
)

// A weblist is source text with the machine code of its lines, as pprof puts them together: it takes apart what lies
// around the sampled addresses, not functions, and counts an instruction to the function whose code it is in. The view
// of the same name knows what was inlined; this is for those who compare.
type weblist struct {
	report.Raw
	funcs []webFunc
}

// A webFunc is a range of lines in a file.
type webFunc struct {
	name, file string
	begin, end int
	cost
	lines []webLine
}

// A webLine is a line and its instructions.
type webLine struct {
	line int
	text string
	cost
	code []webInst
}

// A webInst is an instruction at a line.
type webInst struct {
	instruction
	apart bool       // it does not follow the one before
	calls []webPlace // inlined calls that lead from the line to it, the outermost first
}

// An instruction is what is known of an address at run time.
type instruction struct {
	cost
	at     uint64 // in the file
	length uint64
	text   string // "" when nobody knows the code there
	place  webPlace
}

// A webPlace is a line of source, with its text where a page shows it.
type webPlace struct {
	file string
	line int
	text string
}

type cost struct{ flat, cum int64 }

func (c *cost) add(d cost) {
	c.flat += d.flat
	c.cum += d.cum
}

// newWeblist answers weblist.
func newWeblist(in []*recording.Recording, q query.Query) (report.Report, error) {
	q.NoInlines = false
	r, err := profileview.Raw(in, q)
	if err != nil {
		return nil, err
	}
	w := &weblist{Raw: *r.(*report.Raw)}
	x := &weblister{
		p: w.Profile, code: in[0].Code.(*binaries), sources: in[0].Sources,
		objects: make(map[string]*binary),
		wanted:  make(map[string]bool), pretty: make(map[string]string),
		sums: make(map[uint64]cost), insts: make(map[uint64]instruction), files: make(map[string]*webFile),
	}
	places, err := x.scan(q)
	if err != nil {
		return nil, err
	}
	if len(x.wanted) == 0 {
		return nil, &view.NoMatch{Arg: q.Arg, Remarks: w.Remarks}
	}
	x.expand(places)
	x.charge()
	for _, name := range sortedKeys(x.files) {
		w.funcs = append(w.funcs, x.listing(name)...)
	}
	return w, nil
}

// A weblister puts a weblist together.
type weblister struct {
	p       *profile.Profile
	code    *binaries
	sources recording.Sources

	objects map[string]*binary // by the file of the mapping; nil when it cannot be opened
	wanted  map[string]bool    // names of functions that match, theirs and the linker's
	pretty  map[string]string  // names by those of the linker
	sums    map[uint64]cost    // by address
	insts   map[uint64]instruction
	files   map[string]*webFile
}

// A webFile is the instructions of a file by line.
type webFile struct {
	code  map[int][]webStep
	names map[int]string // functions by line
}

// A webStep is an address at a line, and the inlined calls from there to it.
type webStep struct {
	addr  uint64
	calls []webPlace
}

// A spot is an address where a wanted function was seen.
type spot struct {
	location uint32
	object   *binary // nil when there is no code
}

// scan adds up what addresses cost and finds the wanted ones.
func (x *weblister) scan(q query.Query) (map[uint64]spot, error) {
	k, err := x.p.SampleIndex(q.Metric)
	if err != nil {
		return nil, asPprofSays(err)
	}
	rx := x.code.rx
	only, isAddress := x.code.address()
	matches := func(f *profile.Function) bool {
		return rx.MatchString(f.Name) || rx.MatchString(f.SystemName) || rx.MatchString(f.File)
	}
	hit := make([]bool, len(x.p.Functions))
	for i := range x.p.Functions {
		hit[i] = matches(&x.p.Functions[i])
	}
	// Locations without an address get one behind all mappings.
	free := uint64(1)
	for i := range x.p.Mappings {
		free = max(free, x.p.Mappings[i].Limit)
	}
	made := make(map[uint32]uint64)

	spots := make(map[uint64]spot)
	want := func(addr uint64, at uint32, line int) {
		l := &x.p.Locations[at]
		f := &x.p.Functions[l.Lines[line].Function]
		x.wanted[f.Name], x.wanted[f.SystemName] = true, true
		if _, ok := spots[addr]; !ok {
			spots[addr] = spot{at, x.object(l.Mapping)}
		}
	}
	var stack []uint32
	for i := range x.p.NumSamples() {
		v := x.p.Values(k)[i]
		if q.Mean {
			v /= cmp.Or(x.p.Values(0)[i], 1)
		}
		stack = x.p.Stack(i, stack[:0])
		for j, at := range slices.Backward(stack) {
			l := &x.p.Locations[at]
			for _, ln := range l.Lines {
				f := &x.p.Functions[ln.Function]
				x.pretty[f.SystemName] = f.Name
			}
			addr := l.Address
			if addr == 0 {
				if made[at] == 0 {
					made[at] = free
					free++
				}
				addr = made[at]
			}
			sum := x.sums[addr]
			sum.cum += v
			if j == 0 {
				sum.flat += v
			}
			x.sums[addr] = sum
			if isAddress && addr == only {
				if len(l.Lines) > 0 {
					want(addr, at, len(l.Lines)-1)
				}
				continue
			}
			inFile := l.Mapping != profile.NoMapping && rx.MatchString(x.p.Mappings[l.Mapping].File)
			for n, ln := range l.Lines {
				if n == 0 && inFile || hit[ln.Function] {
					want(addr, at, n)
				}
			}
		}
	}
	return spots, nil
}

func (x *weblister) object(mapping int32) *binary {
	if mapping == profile.NoMapping {
		return nil
	}
	m := &x.p.Mappings[mapping]
	o, ok := x.objects[m.File]
	if !ok {
		o, _ = x.code.open(m) // without code there is still the source
		x.objects[m.File] = o
	}
	return o
}

// A codeRange is code around addresses of interest.
type codeRange struct {
	begin, end uint64
	object     *binary
	flat       int64
}

// expand takes apart what lies around the spots.
func (x *weblister) expand(spots map[uint64]spot) {
	var addrs []uint64
	for _, addr := range sortedKeys(spots) {
		if s := spots[addr]; s.object != nil {
			addrs = append(addrs, addr)
		} else {
			x.unknown(addr, &x.p.Locations[s.location])
		}
	}
	ranges := x.ranges(addrs, spots)
	// As in pprof, to the order in which a sort that is not stable leaves what is equal.
	const most = 25
	sort.Slice(ranges, func(i, j int) bool { return ranges[i].flat > ranges[j].flat })
	for _, r := range ranges[:min(len(ranges), most)] {
		x.disassemble(r)
	}
}

// ranges are the spots at addrs with what is nearby. Those that are near each other share one.
func (x *weblister) ranges(addrs []uint64, spots map[uint64]spot) []codeRange {
	const near = 500
	var out []codeRange
	for i := 0; i < len(addrs); {
		first := spots[addrs[i]]
		m := &x.p.Mappings[x.p.Locations[first.location].Mapping]
		r := codeRange{addrs[i], addrs[i], first.object, x.sums[addrs[i]].flat}
		for i++; i < len(addrs) && addrs[i] <= r.end+2*near && addrs[i] < m.Limit; i++ {
			r.end = addrs[i]
			r.flat += x.sums[addrs[i]].flat
		}
		// These may wrap around, as they do in pprof.
		if m.Start-r.begin >= near {
			r.begin -= near
		} else {
			r.begin = m.Start
		}
		if m.Limit-r.end >= near {
			r.end += near
		} else {
			r.end = m.Limit
		}
		out = append(out, r)
	}
	return out
}

func (x *weblister) disassemble(r codeRange) {
	base := r.object.Base()
	code, err := r.object.Instructions(&recording.Function{Start: r.begin - base, End: r.end - base})
	if err != nil {
		return // the lines are shown all the same
	}
	var last recording.Frame
	var lastAddr, most uint64
	for i, c := range code {
		addr := c.Address + base
		if addr <= most {
			continue
		}
		most = addr
		in := instruction{at: c.Address, length: 1, text: c.Text}
		if i+1 < len(code) {
			in.length = code[i+1].Address - c.Address
		}
		f := recording.Frame{}
		if fr, ok := r.object.SourceLine(c.Address); ok {
			f = recording.Frame(fr)
		} else if len(c.Frames) > 0 {
			f = c.Frames[0]
		}
		in.place = webPlace{file: f.File, line: f.Line}
		x.insts[addr] = in
		// Instructions without a line belong to the one before, if that is not far away.
		const neighborhood = 32
		if f.Line != 0 {
			last, lastAddr = f, addr
		} else if addr-lastAddr <= neighborhood && lastAddr != 0 {
			f = last
		}
		x.place(addr, []recording.Frame{f})
	}
}

// unknown takes an address of which there is no code.
func (x *weblister) unknown(addr uint64, l *profile.Location) {
	var frames []recording.Frame
	for _, ln := range l.Lines {
		f := &x.p.Functions[ln.Function]
		frames = append(frames, recording.Frame{Func: f.Name, File: f.File, Line: int(ln.Line)})
	}
	in := instruction{at: addr, length: 1}
	if len(frames) > 0 {
		in.place = webPlace{file: frames[0].File, line: frames[0].Line}
	}
	x.insts[addr] = in
	x.place(addr, frames)
}

// place puts an address to the lines of the wanted functions among its frames.
func (x *weblister) place(addr uint64, frames []recording.Frame) {
	for i, f := range frames {
		if !x.wanted[f.Func] {
			continue
		}
		name := filepath.Clean(strings.TrimPrefix(strings.TrimPrefix(f.File, "/proc/self/cwd/"), "./"))
		file := x.files[name]
		if file == nil {
			file = &webFile{code: make(map[int][]webStep), names: make(map[int]string)}
			x.files[name] = file
		}
		var calls []webPlace
		for _, c := range slices.Backward(frames[:i]) {
			calls = append(calls, webPlace{file: c.File, line: c.Line})
		}
		file.code[f.Line] = append(file.code[f.Line], webStep{addr, calls})
		if _, ok := file.names[f.Line]; !ok {
			file.names[f.Line] = f.Func
		}
	}
}

// charge gives instructions the samples at all their bytes.
func (x *weblister) charge() {
	for addr, in := range x.insts {
		for p := addr; p < addr+in.length; p++ {
			in.add(x.sums[p])
		}
		x.insts[addr] = in
	}
}

// listing cuts a file into functions.
func (x *weblister) listing(name string) []webFunc {
	f := x.files[name]
	var out []webFunc
	for _, fn := range x.functions(f) {
		if fn.cum == 0 {
			continue
		}
		fn.file = name
		for line := fn.begin; line < fn.end; line++ {
			text, ok := x.line(name, line)
			switch {
			case ok:
			case len(f.code[line]) == 0:
				continue
			case line == 0:
				text = "<instructions with unknown line numbers>"
			default:
				text = "???"
			}
			l := webLine{line: line, text: text}
			next := uint64(0)
			for i, s := range f.code[line] {
				in := x.insts[s.addr]
				l.add(in.cost)
				for j := range s.calls {
					s.calls[j].text, _ = x.line(s.calls[j].file, s.calls[j].line)
				}
				l.code = append(l.code, webInst{in, i > 0 && s.addr != next, s.calls})
				next = s.addr + in.length
			}
			fn.lines = append(fn.lines, l)
		}
		out = append(out, fn)
	}
	return out
}

func (x *weblister) line(file string, line int) (string, bool) {
	t, err := x.sources.Find(file, "", line)
	if err != nil || line <= 0 || line > len(t.Lines) {
		return "", false
	}
	return t.Lines[line-1], true
}

// functions returns the ranges of lines of each function, with some lines around them.
func (x *weblister) functions(f *webFile) []webFunc {
	const (
		joined = 20 // lines of a function that are no further apart are in one range
		around = 5
	)
	var out []webFunc
	for _, line := range sortedKeys(f.code) {
		fn := webFunc{name: f.names[line], begin: line, end: line + 1}
		if pretty, ok := x.pretty[fn.name]; ok {
			fn.name = pretty
		}
		for _, s := range f.code[line] {
			fn.add(x.insts[s.addr].cost)
		}
		if n := len(out); n > 0 && line-out[n-1].end < joined && out[n-1].name == fn.name {
			out[n-1].end = fn.end
			out[n-1].add(fn.cost)
			continue
		}
		out = append(out, fn)
	}
	for i := range out {
		fn := &out[i]
		if i > 0 {
			gap := min((fn.begin-out[i-1].end)/2, around)
			out[i-1].end += gap
			fn.begin -= gap
		} else if fn.begin > around {
			fn.begin -= around
		} else if fn.begin > 1 { // 0 is not a line: that is where code without one stands
			fn.begin = 1
		}
	}
	if n := len(out); n > 0 {
		out[n-1].end += around
	}
	return out
}

func sortedKeys[K cmp.Ordered, V any](m map[K]V) []K { return slices.Sorted(maps.Keys(m)) }

// indentation is the width of the blanks that a line begins with.
func indentation(line string) int {
	column := 0
	for _, c := range line {
		switch c {
		case ' ':
			column++
		case '\t':
			column += 8 - column%8
		default:
			return column
		}
	}
	return column
}

// padded returns s with blanks in place of tabs, and behind it up to a width of n. A tab is as wide as it is in pprof.
func padded(s string, n int) string {
	var b strings.Builder
	column := 0
	for _, c := range s {
		column++
		if c != '\t' {
			b.WriteRune(c)
			continue
		}
		b.WriteByte(' ')
		for ; column%8 != 0; column++ {
			b.WriteByte(' ')
		}
	}
	b.WriteString(strings.Repeat(" ", max(n-column, 0)))
	return b.String()
}
