package profileview

import (
	"cmp"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/hone-perf/hone/internal/calls"
	"github.com/hone-perf/hone/internal/hint"
	"github.com/hone-perf/hone/internal/order"
	"github.com/hone-perf/hone/internal/profile"
	"github.com/hone-perf/hone/internal/query"
	"github.com/hone-perf/hone/internal/recording"
	"github.com/hone-perf/hone/internal/report"
	"github.com/hone-perf/hone/internal/unit"
)

// codeLimit is the default number of functions to disassemble.
const codeLimit = 10

// Disasm shows the machine code of the functions that match, or that have an address, with the cost of each instruction.
// The most expensive functions come first. If all matches were inlined, it shows the functions that they were inlined into.
func Disasm(in []*recording.Recording, q query.Query) (report.Report, error) {
	d, err := newDisassembly(in, q)
	if err != nil {
		return nil, err
	}
	fns, err := d.functions(d.matches)
	if err == nil && len(fns) > 0 {
		d.noteInlined()
	}
	if err == nil && len(fns) == 0 {
		inlined := d.holding(d.rx.MatchString)
		fns, err = d.functions(func(f *recording.Function, nodes []codeNode) bool {
			return slices.ContainsFunc(nodes, func(n codeNode) bool { return inlined[n.Address] })
		})
		if len(fns) > 0 {
			d.note("all matching functions were inlined: these are the functions that they were inlined into")
		}
	}
	if err != nil {
		return nil, err
	}
	if len(fns) == 0 {
		return nil, d.none()
	}
	for _, g := range d.failed {
		d.notes = append(d.notes, hint.With(g.err))
	}
	return d.report(fns, cmp.Or(q.Limit, codeLimit))
}

// DisasmByAddress is Disasm as pprof has it: a sample belongs to all functions that have its address, in whichever
// program. The functions are those that the recording's Code offers under a matching name, sorted by name.
func DisasmByAddress(in []*recording.Recording, q query.Query) (report.Report, error) {
	d, err := newDisassembly(in, q)
	if err != nil {
		return nil, err
	}
	d.anywhere = true
	fns, err := d.functions(func(f *recording.Function, _ []codeNode) bool { return d.rx.MatchString(f.Name) })
	if err != nil {
		return nil, err
	}
	if len(fns) == 0 {
		return nil, d.noMatch()
	}
	out, err := d.report(fns, -1)
	if err != nil {
		return nil, err
	}
	order.Stable(out.Functions, func(a, b report.CodeFunction) int {
		return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.Address, b.Address))
	})
	return out, nil
}

// minInlined is the share of the cost of matching functions that their inlined copies have at least where a note names these.
const minInlined = 0.1

// noteInlined adds a note if much of what the matching functions cost is in copies of them, in the code of functions that do not match.
func (d *disassembly) noteInlined() {
	if d.Mean || d.address != 0 {
		return
	}
	any, copies := make([]bool, len(d.Profile.Locations)), make([]bool, len(d.Profile.Locations))
	for i := range d.Profile.Locations {
		lines := d.Profile.Locations[i].Lines
		any[i] = slices.ContainsFunc(lines, func(ln profile.Line) bool { return d.rx.MatchString(d.Profile.Functions[ln.Function].Name) })
		copies[i] = any[i] && !d.rx.MatchString(d.Profile.Functions[lines[len(lines)-1].Function].Name)
	}
	all, inlined := d.Through(any), d.Through(copies)
	if inlined != 0 && float64(inlined) >= minInlined*float64(all) {
		d.notes.Add("of the ", unit.Format(all, d.head.Unit, d.unit), " that the matching functions cost, ", unit.Format(inlined, d.head.Unit, d.unit),
			" passes through copies that were inlined into other functions, whose code is not here: ", hint.Ask("weblist", d.query.Refs...).Of(d.query.Arg), " shows it")
	}
}

// A disassembly combines the addresses of a profile with machine code.
type disassembly struct {
	*question
	rx       *regexp.Regexp
	code     recording.Code
	shorten  func(string) string // file names
	address  uint64              // that was asked for, or 0
	anywhere bool                // addresses count whichever program they are in
	costs    *calls.Builder
	nodes    []*calls.Node
	failed   []gap // programs that could not be opened
	partial  []gap // programs of which there is only some code
	notes    hint.Texts
}

// A gap is a program or library whose code is missing.
type gap struct {
	mapping int32
	err     error
}

// A codeNode is the cost of an address in a program.
type codeNode struct {
	at uint64 // in the file
	*calls.Node
}

// A codeFunction is a function and the samples in it, by address.
type codeFunction struct {
	recording.Function
	object recording.Object
	file   string
	nodes  []codeNode
}

func newDisassembly(in []*recording.Recording, q query.Query) (*disassembly, error) {
	// One frame for an address: with inlined functions apart, what one calls would count several times.
	q.By, q.NoInlines = "address", true
	a, err := ask(in, q)
	if err != nil {
		return nil, err
	}
	a.head.By = ""
	d := &disassembly{question: a, code: in[0].Code, shorten: calls.PathTrimmer(q)}
	if d.code == nil {
		return nil, errors.New("no machine code found")
	}
	if d.rx, err = a.pattern(); err != nil {
		return nil, err
	}
	if n, err := strconv.ParseUint(q.Arg, 0, 64); err == nil {
		d.address = n
	}
	b, err := a.builder(true)
	if err != nil {
		return nil, err
	}
	b.Costs()
	d.costs = b
	d.nodes = b.Graph(nil, nil).Nodes
	return d, nil
}

func (d *disassembly) note(format string, args ...any) {
	d.notes.Add(fmt.Sprintf(format, args...))
}

// none is the error when nothing matches, which may be because a program is missing.
func (d *disassembly) none() error {
	if len(d.failed) > 0 {
		return d.failed[0].err
	}
	named := slices.ContainsFunc(d.Profile.Functions, func(f profile.Function) bool { return d.rx.MatchString(f.Name) })
	if len(d.partial) > 0 && (named || d.address != 0) {
		return d.partial[0].err
	}
	if named && !slices.ContainsFunc(d.Profile.Locations, func(l profile.Location) bool { return l.Address != 0 }) {
		// Stacks as text have none, and a store drops those of functions that it knows.
		return hint.Errorf(hint.Text{hint.Ask("list", d.query.Refs...).Of(d.query.Arg), " shows the lines of the source"}, "the profile has no addresses, by which machine code is found")
	}
	return d.noMatch()
}

// matches reports whether f is what was asked for. Names in a profile differ from those of the linker: they leave out
// type arguments, and are those of C++ rather than of its linker.
func (d *disassembly) matches(f *recording.Function, nodes []codeNode) bool {
	if d.address != 0 {
		base := nodes[0].Address - nodes[0].at
		return f.Start <= d.address && d.address < f.End || f.Start <= d.address-base && d.address-base < f.End
	}
	return d.rx.MatchString(f.Name) ||
		slices.ContainsFunc(nodes, func(n codeNode) bool { return n.Name != "" && d.rx.MatchString(n.Name) })
}

// holding returns the addresses at which a function that matches is on the stack, inlined or not.
func (d *disassembly) holding(match func(name string) bool) map[uint64]bool {
	hit := make([]bool, len(d.Profile.Functions))
	for i := range d.Profile.Functions {
		hit[i] = match(d.Profile.Functions[i].Name)
	}
	out := make(map[uint64]bool)
	for i := range d.Profile.Locations {
		l := &d.Profile.Locations[i]
		if slices.ContainsFunc(l.Lines, func(ln profile.Line) bool { return hit[ln.Function] }) {
			out[l.Address] = true
		}
	}
	return out
}

// functions returns the functions with samples for which keep is true.
func (d *disassembly) functions(keep func(*recording.Function, []codeNode) bool) ([]codeFunction, error) {
	d.failed, d.partial = nil, nil
	var out []codeFunction
	for i := range d.Profile.Mappings {
		m := &d.Profile.Mappings[i]
		nodes, wanted := d.mapped(m)
		if !wanted {
			continue
		}
		o, err := d.code.Object(m)
		if err != nil {
			d.failed = append(d.failed, gap{int32(i), err})
			continue
		}
		if some, ok := o.(recording.PartialObject); ok {
			if err := some.Lack(); err != nil {
				d.partial = append(d.partial, gap{int32(i), err})
			}
			if err := some.Unused(); err != nil {
				d.notes.AddNew(hint.Text{err.Error()})
			}
		}
		base := o.Base()
		for j := range nodes {
			nodes[j].at = nodes[j].Address - base
		}
		order.Stable(nodes, func(a, b codeNode) int {
			return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.Full(), b.Full()))
		})
		within := func(f *recording.Function) []codeNode {
			from, _ := slices.BinarySearchFunc(nodes, f.Start, byAddress)
			to, _ := slices.BinarySearchFunc(nodes, f.End, byAddress)
			return nodes[from:max(from, to)]
		}
		fns, err := o.Functions(func(f *recording.Function) bool {
			in := within(f)
			return len(in) > 0 && keep(f, in)
		})
		if err != nil {
			d.failed = append(d.failed, gap{int32(i), fmt.Errorf("%s: %w", m.File, err)})
			continue
		}
		for _, f := range fns {
			out = append(out, codeFunction{f, o, m.File, within(&f)})
		}
	}
	return out, nil
}

func byAddress(n codeNode, at uint64) int { return cmp.Compare(n.at, at) }

// mapped returns what may be in the program of m, and whether there is a reason to open that.
func (d *disassembly) mapped(m *profile.Mapping) (nodes []codeNode, wanted bool) {
	if d.anywhere {
		wanted = d.address != 0 && m.Start <= d.address && d.address <= m.Limit
	}
	for _, n := range d.nodes {
		own := n.Object == m.File
		if d.anywhere {
			wanted = wanted || own && m.File != "" && d.rx.MatchString(n.Printable())
			own = true
		} else if own = own && m.Start <= n.Address && (m.Limit == 0 || n.Address <= m.Limit); own {
			wanted = true // no name need match: inlined functions are not among them
		}
		if own {
			nodes = append(nodes, codeNode{Node: n})
		}
	}
	return nodes, wanted
}

// report disassembles up to limit functions, the most expensive first.
func (d *disassembly) report(fns []codeFunction, limit int) (*report.Disasm, error) {
	out := &report.Disasm{}
	type ranked struct {
		*codeFunction
		flat, cum calls.Weight
	}
	all := make([]ranked, len(fns))
	sets := make([][]codeNode, len(fns))
	for i := range fns {
		sets[i] = fns[i].nodes
	}
	cums := d.cums(sets)
	for i := range fns {
		r := ranked{codeFunction: &fns[i], cum: cums[i]}
		for _, n := range fns[i].nodes {
			r.flat.V += n.Flat
			r.flat.Div += n.FlatDiv
		}
		if d.anywhere { // pprof divides what it shows of instructions, but not their sum
			r.flat.Div, r.cum.Div = 0, 0
		}
		all[i] = r
	}
	abs := d.Magnitude()
	order.Stable(all, func(a, b ranked) int {
		return cmp.Or(cmp.Compare(abs(b.flat.V), abs(a.flat.V)), cmp.Compare(abs(b.cum.V), abs(a.cum.V)), cmp.Compare(a.Name, b.Name))
	})
	if limit > 0 && len(all) > limit {
		out.LeftOut = len(all) - limit
		all = all[:limit]
	}
	for _, r := range all {
		ins, err := d.instructions(r.codeFunction)
		if err != nil {
			return nil, err
		}
		out.Functions = append(out.Functions, report.CodeFunction{
			Name: r.Name, Object: r.file, Address: r.Start,
			Flat: calls.Per(r.flat.V, r.flat.Div), Cum: calls.Per(r.cum.V, r.cum.Div),
			Instructions: ins,
		})
	}
	out.Head = d.head
	out.Notes = append(slices.Clip(out.Notes), d.notes...)
	return out, nil
}

// cums returns what each of some sets of addresses costs with all that is called there. A recursive function has several of its addresses on
// a stack; such a sample counts once, unless it is pprof that asks, which adds the addresses up.
func (d *disassembly) cums(sets [][]codeNode) []calls.Weight {
	out := make([]calls.Weight, len(sets))
	var todo []int
	for i, set := range sets {
		for _, n := range set {
			out[i].V += n.Cum
			out[i].Div += n.CumDiv
		}
		if len(set) > 1 && !d.anywhere {
			todo = append(todo, i)
		}
	}
	values := d.Profile.Values(d.Type)
	// Several functions may have the same code, such as those with two names. An address is in one set at a time.
	for len(todo) > 0 {
		group := make([]int32, len(d.costs.Table.Frames))
		var now, later []int
		for _, i := range todo {
			if slices.ContainsFunc(sets[i], func(n codeNode) bool { return group[n.ID] != 0 }) {
				later = append(later, i)
				continue
			}
			now = append(now, i)
			for _, n := range sets[i] {
				group[n.ID] = int32(len(now))
			}
		}
		_, cum := d.costs.GroupCosts(values, group, nil, len(now), nil)
		div := make([]int64, len(now))
		if d.Mean {
			_, div = d.costs.GroupCosts(d.Profile.Values(0), group, nil, len(now), nil)
		}
		for k, i := range now {
			out[i] = calls.Weight{V: cum[k], Div: div[k]}
		}
		todo = later
	}
	return out
}

// instructions disassembles f and adds the samples.
func (d *disassembly) instructions(f *codeFunction) ([]report.Instruction, error) {
	code, err := f.object.Instructions(&f.Function)
	if err != nil {
		return nil, err
	}
	out := make([]report.Instruction, len(code))
	nodes := f.nodes
	sets := make([][]codeNode, len(code))
	for i := range code {
		in := report.Instruction{Address: code[i].Address, Text: code[i].Text}
		for j, fr := range code[i].Frames {
			p := report.Place{Function: fr.Func, File: fr.File, Line: fr.Line}
			if j == 0 {
				in.Place = p
			} else {
				in.InlinedInto = append(in.InlinedInto, p)
			}
		}
		// Samples may be in the middle of an instruction.
		var flat calls.Weight
		first := nodes
		for ; len(nodes) > 0 && (i+1 == len(code) || nodes[0].at < code[i+1].Address); nodes = nodes[1:] {
			n := nodes[0]
			flat.V += n.Flat
			flat.Div += n.FlatDiv
			// The profile may know what the program does not.
			in.File = cmp.Or(in.File, n.File)
			in.Line = cmp.Or(in.Line, int(n.Line))
			in.Function = cmp.Or(in.Function, n.Name)
		}
		sets[i] = first[:len(first)-len(nodes)]
		in.Flat = calls.Per(flat.V, flat.Div)
		out[i] = in
	}
	for i, cum := range d.cums(sets) {
		out[i].Cum = calls.Per(cum.V, cum.Div)
	}
	if n := len(code); n > 0 && code[n-1].Address+uint64(code[n-1].Size) < f.End {
		d.note("%s has %d bytes of machine code: only the first %d are disassembled", f.Name, f.End-f.Start,
			code[n-1].Address+uint64(code[n-1].Size)-f.Start)
	}
	return out, nil
}

// Weblist is List with the machine code of each line. An instruction stands at every line that led to it: where it is
// inlined, at the line of the call, too.
func Weblist(in []*recording.Recording, q query.Query) (report.Report, error) {
	r, err := List(in, q)
	if err != nil {
		return nil, err
	}
	src := r.(*report.Source)
	d, err := newDisassembly(in, q)
	if err != nil {
		return nil, err
	}
	holds := d.holding(d.rx.MatchString)
	fns, err := d.functions(func(f *recording.Function, nodes []codeNode) bool {
		return slices.ContainsFunc(nodes, func(n codeNode) bool { return holds[n.Address] })
	})
	if err != nil {
		return nil, err
	}
	dis, err := d.report(fns, weblistLimit)
	if err != nil {
		return nil, err
	}
	if dis.LeftOut > 0 {
		src.Notes.Add(fmt.Sprintf("machine code is shown for the %d costliest functions with a match, of %d",
			weblistLimit, weblistLimit+dis.LeftOut))
	}
	src.Notes = append(src.Notes, d.notes...)
	d.putCode(src, dis)
	d.explain(src, dis.LeftOut > 0)
	return &report.Weblist{Source: *src}, nil
}

// weblistLimit is the maximum number of functions whose machine code a listing has. A small function is inlined in many places.
const weblistLimit = 100

// putCode assigns instructions to their source lines.
func (d *disassembly) putCode(src *report.Source, dis *report.Disasm) {
	type key struct {
		function, file string
		line           int
	}
	lines := make(map[key]*report.SourceLine)
	for i := range src.Functions {
		f := &src.Functions[i]
		for j := range f.Files {
			for k := range f.Files[j].Lines {
				l := &f.Files[j].Lines[k]
				lines[key{f.Name, f.Files[j].File, l.Line}] = l
			}
		}
	}
	for i := range dis.Functions {
		for _, in := range dis.Functions[i].Instructions {
			place := in.Place
			for depth := 0; ; depth++ {
				if l := lines[key{shownName(place.Function), calls.CleanFile(d.shorten(place.File), d.query.PProf), place.Line}]; l != nil {
					at := in
					at.Depth = depth
					l.Instructions = append(l.Instructions, at)
				}
				if depth == len(in.InlinedInto) {
					break
				}
				place = in.InlinedInto[depth]
			}
		}
	}
}

// explain adds to each function without machine code the reason why it is missing.
func (d *disassembly) explain(src *report.Source, leftOut bool) {
	in := d.mappingsOf(src)
	for i := range src.Functions {
		f := &src.Functions[i]
		for _, m := range in[f.Name] {
			if m == profile.NoMapping {
				err := &recording.NoCodeError{Gap: recording.Unnamed}
				f.NoCode = append(f.NoCode, report.NoCode{Why: err.Gap, Text: hint.With(err)})
			}
			for _, g := range d.failed {
				if g.mapping == m {
					f.NoCode = append(f.NoCode, noCode(d.Profile.Mappings[m].File, g.err))
				}
			}
		}
		shown := slices.ContainsFunc(f.Files, func(file report.SourceFile) bool { return len(file.Lines) > 0 })
		switch {
		case len(f.NoCode) > 0 || !shown || hasCode(f):
		case d.isPartial(in[f.Name]) >= 0:
			g := d.partial[d.isPartial(in[f.Name])]
			f.NoCode = []report.NoCode{noCode(d.Profile.Mappings[g.mapping].File, g.err)}
		case leftOut:
			f.NoCode = []report.NoCode{{Why: report.LeftOut, Text: hint.Text{fmt.Sprintf(
				"the code of %s is only in functions that cost less than the first %d with a match", f.Name, weblistLimit)}}}
		default:
			f.NoCode = []report.NoCode{{Why: report.NoSymbol, Text: hint.Text{fmt.Sprintf(
				"no instruction of the program comes from these lines of %s", f.Name)}}}
		}
	}
}

// isPartial returns which of the programs with only some code is among mappings, or -1.
func (d *disassembly) isPartial(mappings []int32) int {
	return slices.IndexFunc(d.partial, func(g gap) bool { return slices.Contains(mappings, g.mapping) })
}

// mappingsOf returns where the code of each function of a listing was when it was sampled, by name.
func (d *disassembly) mappingsOf(src *report.Source) map[string][]int32 {
	out := make(map[string][]int32, len(src.Functions))
	for i := range src.Functions {
		out[src.Functions[i].Name] = nil
	}
	for i := range d.Profile.Locations {
		l := &d.Profile.Locations[i]
		for _, line := range l.Lines {
			name := d.Profile.Functions[line.Function].Name
			if list, ok := out[name]; ok && !slices.Contains(list, l.Mapping) {
				out[name] = append(list, l.Mapping)
			}
		}
	}
	return out
}

func noCode(file string, err error) report.NoCode {
	out := report.NoCode{Why: recording.Unreadable, File: file, Text: hint.With(err)}
	var missing *recording.NoCodeError
	if errors.As(err, &missing) {
		out.Why = missing.Gap
	}
	return out
}

// hasCode reports whether any line of f has an instruction.
func hasCode(f *report.SourceFunction) bool {
	return slices.ContainsFunc(f.Files, func(file report.SourceFile) bool {
		return slices.ContainsFunc(file.Lines, func(l report.SourceLine) bool { return len(l.Instructions) > 0 })
	})
}

// shownName returns the name that a profile has for a function of the linker's: the runtime leaves out what stands
// between the first bracket and the last.
func shownName(name string) string {
	from, to := strings.IndexByte(name, '['), strings.LastIndexByte(name, ']')
	if from < 0 || to < from {
		return name
	}
	return name[:from] + "[...]" + name[to+1:]
}
