// Package pgo makes profiles for go build -pgo out of CPU profiles.
//
// The compiler reads little of a profile: of each sample, the two innermost locations, as calls from a line of one function to
// another function, and how often. Make keeps that alone, and weighs programs that share one build against each other. Calls
// is what the compiler makes of a profile.
package pgo

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"time"

	"github.com/hone-perf/hone/internal/hint"
	"github.com/hone-perf/hone/internal/profile"
	"github.com/hone-perf/hone/internal/report"
	"github.com/hone-perf/hone/internal/unit"
)

// An Input is a CPU profile, of a service or of one run.
type Input struct {
	Name    string
	Profile *profile.Profile
	Cores   float64 // that it used on average; 0 where the profile has to say
	Weight  float64 // what it counts next to others; 0 where nobody said
}

// Options are how profiles become one. The zero Options count each by the cores that it used.
type Options struct {
	Equal   bool  // each counts the same, unless it has a weight
	MaxSize int64 // bytes of the profile as a file; 0 is no limit

	Module string                     // path of the module that is to be built; "" where there is none
	Has    func(function string) bool // reports whether the sources of Module have a function
}

// few is how many samples are too few: ten seconds of one core.
const few = 1000

// Make returns a profile for the compiler, as Go reads it from Go 1.21 on, and what became of the inputs.
func Make(inputs []Input, o Options) (*profile.Profile, *report.PGO, error) {
	out := &report.PGO{}
	var all []*counts
	for _, in := range inputs {
		c, err := read(in.Profile)
		if err != nil {
			return nil, nil, fmt.Errorf("%s: %w", in.Name, err)
		}
		all = append(all, c)
		row := report.PGOInput{Ref: in.Name, Samples: c.samples, CPU: c.cpu, Cores: in.Cores}
		if row.Cores == 0 && in.Profile.DurationNanos > 0 {
			row.Cores = float64(c.cpu) / float64(in.Profile.DurationNanos)
		}
		out.Inputs = append(out.Inputs, row)
		for _, n := range in.Profile.Notes {
			out.Notes.AddNew(hint.Text{in.Name, ": ", n})
		}
	}
	scales := weigh(inputs, all, o, out)
	t := newTrimmed(inputs)
	for i, c := range all {
		t.add(inputs[i].Profile, c, scales[i])
	}
	doubts(inputs, all, out)
	whole, err := t.profile(len(t.order))
	if err != nil {
		return nil, nil, err
	}
	calls := Calls(whole)
	if len(calls) == 0 {
		return nil, nil, errors.New("no sample says which function called another, which is all that the compiler reads")
	}
	out.Calls, out.Hot = len(calls), hot(calls)
	o.sources(calls, out)
	p, size, err := t.within(o.MaxSize, whole)
	if err != nil {
		return nil, nil, err
	}
	kept := Calls(p)
	out.Size, out.KeptCalls, out.Kept = size, len(kept), float64(weightOf(kept))/float64(weightOf(calls))
	left := map[Site]bool{}
	for _, c := range kept {
		left[c.Site] = true
	}
	for _, c := range calls[:out.Hot] {
		if left[c.Site] {
			out.KeptHot++
		}
	}
	return p, out, nil
}

// counts are what the samples of a profile count.
type counts struct {
	weight  []int64 // that the compiler reads
	nanos   []int64
	period  int64 // CPU time of a sample
	samples int64
	cpu     time.Duration
	noLine  int64 // samples of functions that do not say where they begin
}

// A NotCPUError says that a profile has nothing that the compiler takes.
type NotCPUError struct{ Types []profile.ValueType }

func (e *NotCPUError) Error() string {
	return fmt.Sprintf("go build -pgo takes CPU profiles, with samples/count or cpu/nanoseconds, and this one has %s", profile.Shorten(typesText(e.Types), 100))
}

func typesText(types []profile.ValueType) string {
	text := ""
	for i, t := range types {
		if i > 0 {
			text += ", "
		}
		text += t.Type + "/" + t.Unit
	}
	return cmp.Or(text, "nothing")
}

// ErrNoStartLines says that a profile can't be used, since its functions do not say where they begin.
var ErrNoStartLines = errors.New("its functions do not say on which line they begin (start_line), and the compiler counts lines of calls from there")

// usualPeriod is the CPU time of a sample where the profile does not say: Go takes 100 a second.
const usualPeriod = int64(10 * time.Millisecond)

// read finds what a profile counts.
func read(p *profile.Profile) (*counts, error) {
	c := &counts{period: usualPeriod}
	if p.PeriodType == (profile.ValueType{Type: "cpu", Unit: "nanoseconds"}) && p.Period > 0 {
		c.period = p.Period
	}
	weight := slices.Index(p.SampleTypes, profile.ValueType{Type: "samples", Unit: "count"})
	nanos := slices.Index(p.SampleTypes, profile.ValueType{Type: "cpu", Unit: "nanoseconds"})
	if weight >= 0 {
		c.weight = p.Values(weight)
	}
	if nanos >= 0 {
		c.nanos = p.Values(nanos)
	}
	switch {
	case weight < 0 && nanos < 0:
		return nil, &NotCPUError{p.SampleTypes}
	case weight < 0:
		c.weight = make([]int64, len(c.nanos))
		for i, v := range c.nanos {
			c.weight[i] = max((v+c.period/2)/c.period, min(v, 1))
		}
	case nanos < 0:
		c.nanos = make([]int64, len(c.weight))
		for i, v := range c.weight {
			c.nanos[i] = saturated(v, c.period)
		}
	}
	var stack []uint32
	for i, v := range c.weight {
		if v <= 0 {
			continue
		}
		c.samples += v
		c.cpu += time.Duration(c.nanos[i])
		stack = p.Stack(i, stack[:0])
		if !begins(p, stack) {
			c.noLine += v
		}
	}
	switch {
	case c.samples <= 0 || c.cpu < 0:
		return nil, errors.New("the profile has no samples")
	case c.noLine == c.samples:
		return nil, ErrNoStartLines
	}
	return c, nil
}

// begins reports whether the functions that the compiler reads of a stack say where they begin.
func begins(p *profile.Profile, stack []uint32) bool {
	named := false
	for _, at := range stack[:min(len(stack), 2)] {
		for _, l := range p.Locations[at].Lines {
			if p.Functions[l.Function].StartLine > 0 {
				return true
			}
			named = true
		}
	}
	return !named
}

func saturated(a, b int64) int64 {
	if a > 0 && b > 0 && a > math.MaxInt64/b {
		return math.MaxInt64
	}
	return a * b
}

// most is what all samples together may count, when they are weighted.
const most = 1 << 50

// fine is what one sample of the input that counts least becomes, so that rounding loses nothing of interest.
const fine = 1000

// weigh returns what to multiply the samples of each input by.
func weigh(inputs []Input, all []*counts, o Options, out *report.PGO) []float64 {
	weights := make([]float64, len(inputs))
	given := slices.ContainsFunc(inputs, func(in Input) bool { return in.Weight > 0 })
	timeless := slices.ContainsFunc(out.Inputs, func(r report.PGOInput) bool { return r.Cores <= 0 })
	sum := 0.0
	for i := range weights {
		switch r := out.Inputs[i]; {
		case given || o.Equal:
			weights[i] = cmp.Or(inputs[i].Weight, 1)
		case timeless: // how long each was profiled is not known, so they count as they are
			weights[i] = float64(r.CPU)
		default:
			weights[i] = r.Cores
		}
		sum += weights[i]
	}
	if timeless && !given && !o.Equal && len(inputs) > 1 {
		out.Notes.Add("some of the profiles do not say how long they took, so each counts by its CPU time and not by its cores; see ", hint.Option{Name: "weight"})
	}
	scales := make([]float64, len(inputs))
	least, total := math.Inf(1), 0.0
	for i, c := range all {
		out.Inputs[i].Share = weights[i] / sum
		scales[i] = weights[i] / sum / float64(c.samples)
		least = min(least, scales[i])
		total += weights[i] / sum
	}
	even := true
	for _, s := range scales {
		even = even && s < least*1.000001
	}
	factor := min(fine/least, most/total)
	for i := range scales {
		if scales[i] *= factor; even {
			scales[i] = 1 // as they were measured
		}
	}
	return scales
}

// doubts says what makes the profile a poor one.
func doubts(inputs []Input, all []*counts, out *report.PGO) {
	for i, c := range all {
		if c.samples < few {
			out.Notes.Add(inputs[i].Name, " has only ", strconv.FormatInt(c.samples, 10), " samples, so it is chance which of the rarely called functions are among them: profile for longer, under load")
		}
		if c.noLine > 0 {
			out.Notes.Add(inputs[i].Name, ": ", unit.Share(float64(c.noLine)/float64(c.samples)), " of the samples are of functions that do not say on which line they begin, and the compiler can't use these")
		}
	}
}

// lost is which part of the time of a module may be of functions that are not in its sources.
const lost = 0.05

// sources says how the profile fits the module that is to be built.
func (o *Options) sources(calls []Call, out *report.PGO) {
	if o.Module == "" || o.Has == nil {
		return
	}
	var inside, missing int64
	gone := map[string]bool{}
	example := ""
	for _, c := range calls {
		for _, name := range []string{c.Caller, c.Callee} {
			pkg := profile.PackageOf(name)
			if pkg != "main" && pkg != o.Module && !within(pkg, o.Module) {
				continue
			}
			has := o.Has(name)
			if pkg == "main" && !has {
				continue // of another program; see below
			}
			inside += c.Weight
			if !has {
				if example == "" {
					example = name
				}
				gone[name] = true
				missing += c.Weight
			}
		}
	}
	switch {
	case inside == 0:
		out.Notes.Add("no function of ", o.Module, ", the module in the current folder, is in the profile: it is of another program")
	case float64(missing) > lost*float64(inside):
		out.Notes.Add(strconv.Itoa(len(gone)), " functions of ", o.Module, " in the profile, such as ", example, ", are not in the sources in the current folder: the profile is of another version. They have ",
			unit.Share(float64(missing)/float64(inside)), " of the calls of the module")
	}
}

// within reports whether a package is below a path.
func within(pkg, path string) bool {
	return len(pkg) > len(path) && pkg[:len(path)] == path && pkg[len(path)] == '/'
}

// A trimmed is a profile in the making: the two innermost locations of stacks, and what counts for them.
type trimmed struct {
	header    profile.Header
	tables    profile.Tables
	functions map[function]uint32
	locations map[string]uint32
	samples   map[[2]uint32]*[2]float64 // by leaf and caller: samples, nanoseconds
	order     [][2]uint32               // the heaviest first, once all are there
	scale     float64                   // of nanoseconds
	raw, used float64                   // nanoseconds as they were measured, and as they were weighted
	key       []byte
}

// A function is what the compiler knows one by.
type function struct {
	name  string
	start int64
}

func newTrimmed(inputs []Input) *trimmed {
	t := &trimmed{functions: map[function]uint32{}, locations: map[string]uint32{}, samples: map[[2]uint32]*[2]float64{}}
	t.header = profile.Header{
		SampleTypes: []profile.ValueType{{Type: "samples", Unit: "count"}, {Type: "cpu", Unit: "nanoseconds"}},
		PeriodType:  profile.ValueType{Type: "cpu", Unit: "nanoseconds"}, Period: usualPeriod,
	}
	for i, in := range inputs {
		p := in.Profile
		if i == 0 && p.PeriodType == t.header.PeriodType && p.Period > 0 {
			t.header.Period = p.Period
		}
		if p.TimeNanos > 0 && (t.header.TimeNanos == 0 || p.TimeNanos < t.header.TimeNanos) {
			t.header.TimeNanos = p.TimeNanos
		}
		if p.DurationNanos > 0 && t.header.DurationNanos < math.MaxInt64-p.DurationNanos {
			t.header.DurationNanos += p.DurationNanos
		}
	}
	return t
}

// The roles of a location. The line at which the innermost function was when the sample was taken says nothing about calls, so all
// lines of a leaf are one. Leaves and callers never share a location: a function that calls itself would not be seen to.
const (
	leaf   = 'l'
	caller = 'c'
)

// noCaller is in place of the caller where there is none.
const noCaller = math.MaxUint32

// add adds the samples of a profile.
func (t *trimmed) add(p *profile.Profile, c *counts, scale float64) {
	var stack []uint32
	for i, v := range c.weight {
		if v <= 0 {
			continue
		}
		stack = p.Stack(i, stack[:0])
		if len(stack) == 0 {
			continue
		}
		inner := &p.Locations[stack[0]]
		pair := [2]uint32{0, noCaller}
		switch {
		case len(stack) == 1 && len(inner.Lines) < 2:
			continue // nobody called anybody
		case len(stack) == 1:
			pair[0] = t.location(p, inner, leaf)
		case inner.Address != 0 && samePlace(inner, &p.Locations[stack[1]]):
			// The sample is of the very instruction of the call. The compiler takes the two for one.
			pair[0] = t.location(p, inner, caller)
			pair[1] = pair[0]
		default:
			pair[0], pair[1] = t.location(p, inner, leaf), t.location(p, &p.Locations[stack[1]], caller)
		}
		sum := t.samples[pair]
		if sum == nil {
			sum = new([2]float64)
			t.samples[pair] = sum
			t.order = append(t.order, pair)
		}
		nanos := float64(max(c.nanos[i], 0))
		sum[0] += float64(v) * scale
		sum[1] += nanos * scale
		t.raw += nanos
		t.used += nanos * scale
	}
}

func samePlace(a, b *profile.Location) bool {
	return a.Address == b.Address && slices.Equal(a.Lines, b.Lines)
}

// location returns the number of a location for all that mean the same to the compiler.
func (t *trimmed) location(p *profile.Profile, l *profile.Location, role byte) uint32 {
	key := append(t.key[:0], role)
	lines := make([]profile.Line, len(l.Lines))
	for i, line := range l.Lines {
		f := &p.Functions[line.Function]
		lines[i] = profile.Line{Function: t.function(function{linked(f), f.StartLine}), Line: line.Line}
	}
	recursive := func(l profile.Line) bool { return l.Function == lines[0].Function }
	if role == leaf && len(lines) > 0 && !slices.ContainsFunc(lines[1:], recursive) { // an inlined function that calls itself is told apart by lines
		lines[0].Line = 0
	}
	for _, l := range lines {
		key = binary.AppendUvarint(key, uint64(l.Function))
		key = binary.AppendVarint(key, l.Line)
	}
	t.key = key
	at, ok := t.locations[string(key)]
	if !ok {
		at = uint32(len(t.tables.Locations))
		t.locations[string(key)] = at
		t.tables.Locations = append(t.tables.Locations, profile.Location{Mapping: profile.NoMapping, Lines: lines})
	}
	return at
}

// linked is the name that the compiler knows a function by. The name to show may be shorter: what shortens the names of C++ also takes the
// parentheses out of go.shape.interface { Len() int }.
func linked(f *profile.Function) string { return cmp.Or(f.SystemName, f.Name) }

func (t *trimmed) function(f function) uint32 {
	at, ok := t.functions[f]
	if !ok {
		at = uint32(len(t.tables.Functions))
		t.functions[f] = at
		t.tables.Functions = append(t.tables.Functions, profile.Function{Name: f.name, SystemName: f.name, StartLine: f.start})
	}
	return at
}

// profile returns the n heaviest samples as a profile, with the tables that they need.
func (t *trimmed) profile(n int) (*profile.Profile, error) {
	if t.scale == 0 {
		t.scale = 1
		if t.used > 0 {
			t.scale = t.raw / t.used
		}
		slices.SortStableFunc(t.order, func(a, b [2]uint32) int { return cmp.Compare(t.samples[b][0], t.samples[a][0]) })
	}
	b := profile.NewBuilder(t.header)
	functions, locations := map[uint32]uint32{}, map[uint32]uint32{}
	location := func(at uint32) uint32 {
		to, ok := locations[at]
		if ok {
			return to
		}
		l := t.tables.Locations[at]
		l.Lines = slices.Clone(l.Lines)
		for i := range l.Lines {
			f := &l.Lines[i].Function
			to, ok := functions[*f]
			if !ok {
				to = uint32(len(b.Functions))
				functions[*f] = to
				b.Functions = append(b.Functions, t.tables.Functions[*f])
			}
			*f = to
		}
		to = uint32(len(b.Locations))
		locations[at] = to
		l.Address = uint64(to) + 1 // the compiler tells places apart by it
		b.Locations = append(b.Locations, l)
		return to
	}
	for _, pair := range t.order[:n] {
		stack := []uint32{location(pair[0])}
		if pair[1] != noCaller {
			stack = append(stack, location(pair[1]))
		}
		sum := t.samples[pair]
		b.Add(stack, 0, []int64{max(int64(math.Round(sum[0])), 1), int64(math.Round(min(sum[1]*t.scale, math.MaxInt64/2)))})
	}
	b.Renumber()
	return b.Profile()
}

// within returns the profile of as many of the heaviest samples as have room in so many bytes, and its size. All of them are whole.
func (t *trimmed) within(limit int64, whole *profile.Profile) (*profile.Profile, int64, error) {
	size, err := sizeOf(whole)
	if err != nil || limit <= 0 || size <= limit {
		return whole, size, err
	}
	var best *profile.Profile
	var bestSize int64
	low, high := 0, len(t.order)
	for low+1 < high {
		n := (low + high) / 2
		p, err := t.profile(n)
		if err != nil {
			return nil, 0, err
		}
		if size, err = sizeOf(p); err != nil {
			return nil, 0, err
		}
		if size > limit {
			high = n
			continue
		}
		low, best, bestSize = n, p, size
	}
	if best == nil || len(Calls(best)) == 0 {
		return nil, 0, &TooSmallError{limit}
	}
	return best, bestSize, nil
}

// A TooSmallError says that nothing has room in the size that was asked for.
type TooSmallError struct{ Limit int64 }

func (e *TooSmallError) Error() string { return fmt.Sprintf("no call has room in %d bytes", e.Limit) }

func sizeOf(p *profile.Profile) (int64, error) {
	var b bytes.Buffer
	err := p.Write(&b)
	return int64(b.Len()), err
}
