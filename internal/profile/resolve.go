package profile

import (
	"errors"
	"fmt"
	"io"

	"github.com/hone-perf/hone/internal/pages"
)

// finish turns the numbers that the decoder has read into a profile and checks that they make sense. Input that
// ends too early is used as far as it goes, with a note.
func (d *decoder) finish() (*Profile, error) {
	lost := d.lost()
	if lost != "" && (len(d.b.stack) == 0 || len(d.sampleTypes) == 0) {
		return nil, d.cutShort()
	}
	r := resolver{strings: &d.strings, lenient: lost != ""}

	h := d.header(&r)
	mappings, mappingOf, badMapping := d.resolveMappings(&r)
	functions, functionOf, badFunction := d.resolveFunctions(&r)
	sets, setOf := d.resolveLabels(&r)
	if r.err != nil {
		return nil, r.err
	}
	locations, locationOf, badLocation := d.resolveLocations(mappingOf, functionOf, lost != "")
	badSample := d.checkSamples()
	if badSample == nil {
		locations, badSample = d.resolveStacks(locations, locationOf, lost != "")
	}
	for _, err := range []error{badSample, badMapping, badFunction, badLocation} {
		if err != nil {
			return nil, &FormatError{Doing: "malformed profile", Err: err}
		}
	}

	b := d.b
	for i, s := range b.label {
		b.label[i] = setOf[s]
	}
	if b.values == nil {
		b.values = make([][]int64, len(h.SampleTypes))
	}
	p := &Profile{
		Header: h,
		Tables: Tables{mappings, functions, locations},
		stacks: b.stacks,
		stack:  b.stack,
		labels: b.label,
		values: b.values,
		sets:   sets,
		lines:  d.lineBlocks,
	}
	if lost != "" {
		p.Notes = append(p.Notes, lost)
		p.Damage = &FormatError{Doing: "decompressing profile", Err: d.s.err}
		if !d.s.packed {
			p.Damage = &FormatError{Doing: "parsing profile", Err: errUnrecognized}
		}
	}
	return p, nil
}

// lost says in words what is missing when the input ended too early, or "".
func (d *decoder) lost() string {
	err := d.s.err
	if err == io.EOF {
		if len(d.s.buf) == 0 {
			return ""
		}
		err = errCutShort
	}
	names := "its names came after that and are lost; give the program as the first argument to symbolize addresses again"
	if d.strings.n > 0 {
		names = "functions named after that are lost"
	}
	if len(d.s.buf) == 0 && d.strings.n > 0 {
		names = "all of it was read, but it may be wrong"
	}
	return fmt.Sprintf("the profile is damaged after %d samples (%v): %s", len(d.b.stack), err, names)
}

// cutShort is the error for input that ended before there was anything to show.
func (d *decoder) cutShort() error {
	if d.s.err == io.EOF {
		return errCutShort
	}
	if !d.s.packed {
		return &readError{d.s.err}
	}
	return &FormatError{
		Doing:  "decompressing profile",
		Err:    d.s.err,
		Detail: "the file ends before its first sample, so it was cut off or is damaged: copy or download it again",
	}
}

// A readError says that input could not be read; what it holds is not to blame.
type readError struct{ err error }

func (e *readError) Error() string { return e.err.Error() }
func (e *readError) Unwrap() error { return e.err }

// A resolver looks up strings and remembers whether one was missing.
type resolver struct {
	strings *pile[string]
	lenient bool // missing strings are empty
	err     error
}

func (r *resolver) string(i int64) string {
	if i < 0 || i >= int64(r.strings.n) {
		if !r.lenient {
			r.err = errString
		}
		return ""
	}
	return *r.strings.at(int(i))
}

func (d *decoder) header(r *resolver) Header {
	h := d.b.Header
	for i, t := range d.sampleTypes {
		vt := ValueType{r.string(t.typ), r.string(t.unit)}
		if vt.Type == "" && r.lenient {
			vt.Type = fmt.Sprintf("value%d", i+1)
		}
		h.SampleTypes = append(h.SampleTypes, vt)
	}
	h.PeriodType = ValueType{r.string(d.periodType.typ), r.string(d.periodType.unit)}
	h.DropFrames, h.KeepFrames = r.string(d.drop), r.string(d.keep)
	for _, c := range d.comments {
		h.Comments = append(h.Comments, r.string(c))
	}
	h.DefaultType, h.DocURL = r.string(d.defaultType), r.string(d.docURL)
	return h
}

// An indexOf finds the entry of a table that has an id.
type indexOf struct {
	dense  []int32 // 1 + index
	sparse map[uint64]int32
}

func newIndexOf(n int) indexOf { return indexOf{dense: table[int32](n+1, 4)} }

func (x *indexOf) get(id uint64) (int32, bool) {
	if id < uint64(len(x.dense)) {
		return x.dense[id] - 1, x.dense[id] != 0
	}
	v, ok := x.sparse[id]
	return v, ok
}

func (x *indexOf) put(id uint64, i int) {
	if id < uint64(len(x.dense)) {
		x.dense[id] = int32(i) + 1
		return
	}
	if x.sparse == nil {
		x.sparse = make(map[uint64]int32)
	}
	x.sparse[id] = int32(i)
}

func (d *decoder) resolveMappings(r *resolver) ([]Mapping, *indexOf, error) {
	var bad error
	of := newIndexOf(len(d.mappings))
	out := make([]Mapping, len(d.mappings))
	for i, m := range d.mappings {
		out[i] = m.Mapping
		out[i].File, out[i].BuildID = r.string(m.file), r.string(m.buildID)
		if _, dup := of.get(m.ID); bad == nil && m.ID == 0 {
			bad = errMappingID
		} else if bad == nil && dup {
			bad = fmt.Errorf("multiple mappings with same id: %d", m.ID)
		}
		of.put(m.ID, i)
	}
	return out, &of, bad
}

func (d *decoder) resolveFunctions(r *resolver) ([]Function, *indexOf, error) {
	var bad error
	of := newIndexOf(d.functions.n)
	n := d.functions.n
	out := spareFunctions.get(n)
	if out == nil {
		out = pages.Make[Function](n, n)
	}
	out = out[:n]
	for i := range out {
		f := d.functions.at(i)
		out[i].ID, out[i].StartLine = f.id, f.start
		out[i].Name, out[i].SystemName, out[i].File = r.string(f.name), r.string(f.system), r.string(f.file)
		if _, dup := of.get(f.id); bad == nil && f.id == 0 {
			bad = errFunctionID
		} else if bad == nil && dup {
			bad = fmt.Errorf("multiple functions with same id: %d", f.id)
		}
		of.put(f.id, i)
	}
	return out, &of, bad
}

// resolveLocations puts indexes into the locations where they have numbers of ids. In a salvaged profile, lines whose
// function is lost go away.
func (d *decoder) resolveLocations(mappingOf, functionOf *indexOf, lenient bool) ([]Location, *indexOf, error) {
	var bad error
	of := newIndexOf(len(d.locations))
	for i := range d.locations {
		l := &d.locations[i]
		if _, dup := of.get(l.ID); bad == nil && l.ID == 0 {
			bad = errLocationID
		} else if bad == nil && dup {
			bad = fmt.Errorf("multiple locations with same id: %d", l.ID)
		}
		of.put(l.ID, i)
		m, ok := mappingOf.get(d.mappingIDs.id(uint32(l.Mapping)))
		if !ok {
			m = NoMapping
		}
		l.Mapping = m
		kept := 0
		for _, ln := range l.Lines {
			id := d.functionIDs.id(ln.Function)
			f, ok := functionOf.get(id)
			if !ok || id == 0 {
				if bad == nil && !lenient {
					bad = fmt.Errorf("location id: %d has a line with nil function", l.ID)
				}
				continue
			}
			if lenient && d.functions.at(int(f)).name >= int64(d.strings.n) {
				continue
			}
			ln.Function = uint32(f)
			l.Lines[kept] = ln
			kept++
		}
		if kept < len(l.Lines) {
			l.Lines = l.Lines[:kept:kept]
		}
	}
	return d.locations, &of, bad
}

// checkSamples returns what is wrong with the values of samples.
func (d *decoder) checkSamples() error {
	b, types := d.b, len(d.sampleTypes)
	switch {
	case len(b.stack) == 0 && d.oddValues < 0:
		return nil
	case types == 0:
		return errors.New("missing sample type information")
	case len(b.values) != types:
		return fmt.Errorf("mismatch: sample has %d values vs. %d types", len(b.values), types)
	case d.oddValues >= 0:
		return fmt.Errorf("mismatch: sample has %d values vs. %d types", d.oddValues, types)
	}
	return nil
}

var (
	errNoLocation = errors.New("sample has nil location")
	errDeep       = limitError{fmt.Sprintf("%d frames in one stack", maxDepth)}
)

// resolveStacks checks that stacks are made of locations that are there. Nearly every writer numbers locations 1, 2,
// 3, … in order, and then the stacks are good as they are; others are packed anew. In a salvaged profile, a location
// that is lost becomes one that nothing is known of.
func (d *decoder) resolveStacks(locations []Location, of *indexOf, lenient bool) ([]Location, error) {
	inOrder := true
	for i := range locations {
		inOrder = inOrder && locations[i].ID == uint64(i)+1
	}
	b := d.b
	if inOrder && !lenient {
		if d.ids.zero || uint64(d.ids.max) > uint64(len(locations)) {
			return nil, errNoLocation
		}
		return locations, nil
	}
	old := b.stacks
	b.stacks = &stackTable{}
	var stack []uint32
	for i, at := range b.stack {
		packed := old.stack(at)
		stack = packed.Append(stack[:0])
		for j, n := range stack {
			id := d.ids.numbers.id(n + 1)
			l, ok := of.get(id)
			switch {
			case ok && id != 0:
			case lenient && len(locations) < maxTable:
				l = int32(len(locations))
				locations = append(locations, Location{ID: id, Mapping: NoMapping})
				of.put(id, int(l))
			default:
				return nil, errNoLocation
			}
			stack[j] = uint32(l)
		}
		b.packed = packStack(b.packed, stack, 1)
		var err error
		if b.stack[i], err = b.stacks.add(b.packed); err != nil {
			return nil, err
		}
	}
	return locations, nil
}

// resolveLabels returns the label sets and, for each set as it was read, its number among them.
func (d *decoder) resolveLabels(r *resolver) ([]LabelSet, []uint32) {
	x := newLabelIndex()
	of := make([]uint32, len(d.rawLabels))
	for i, raw := range d.rawLabels {
		var labels []Label
		for _, l := range raw {
			switch key := r.string(l.key); {
			case l.str != 0:
				labels = append(labels, Label{Key: key, Str: r.string(l.str)})
			case l.num != 0 || l.unit != 0:
				labels = append(labels, Label{Key: key, Numeric: true, Num: l.num, Unit: r.string(l.unit), HasUnit: l.unit != 0})
			}
		}
		of[i] = x.id(newLabelSet(labels))
	}
	d.labelSets, d.rawLabels = nil, nil
	return x.sets, of
}
