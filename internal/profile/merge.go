package profile

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/hone-perf/hone/internal/unit"
)

// A Merger adds profiles up. It holds the sum and nothing of the profiles that went in, so any number can be
// merged in the memory of the result. The zero Merger is ready to use.
type Merger struct {
	n         int
	b         *Builder
	mappings  map[mappingKey]int32
	functions hashIndex
	locations hashIndex
	samples   hashIndex   // by stack and labels
	stacks    *stackIndex // of samples with labels, which often differ in nothing else
	lines     []Line      // the block that lines of locations are put into
	block     mergeBlock
	notes     []string
}

// Merge adds up the samples of profiles. Samples with the same stack and labels become one. Sample types that
// not all profiles have are left out; units are converted to the finest.
func Merge(profiles ...*Profile) (*Profile, error) {
	differs := func(p *Profile) bool {
		return !slices.Equal(p.SampleTypes, profiles[0].SampleTypes) || p.PeriodType != profiles[0].PeriodType
	}
	if slices.ContainsFunc(profiles, differs) {
		var err error
		if profiles, err = Agree(profiles...); err != nil {
			return nil, err
		}
	}
	var m Merger
	if len(profiles) == 0 {
		return m.Profile() // says so
	}
	m.start(profiles[0].Header)
	m.samplesOf(profiles[:min(2, len(profiles))]...)
	for _, p := range profiles {
		if err := m.Add(p); err != nil {
			return nil, err
		}
	}
	return m.Profile()
}

// samplesOf makes room for the samples of profiles. What is not used takes no memory.
func (m *Merger) samplesOf(profiles ...*Profile) {
	n := 0
	for _, p := range profiles {
		n += len(p.stack)
	}
	m.b.reserve(n)
}

// Add adds p. When profiles differ in their sample types, samples may come in another order than from Merge, which
// knows all types before it looks at the first sample.
func (m *Merger) Add(p *Profile) error {
	if m.b == nil {
		m.start(p.Header)
	}
	if m.n > 0 {
		q, err := m.agree(p)
		if err != nil {
			return err
		}
		p = q
	}
	m.n++
	m.addHeader(p.Header)
	m.notes = append(m.notes, p.Notes...)
	m.add(p, 0)
	return nil
}

// Take adds p, which nobody may use afterwards, nor what it was made of: its tables are used again for the next profile that is read.
func (m *Merger) Take(p *Profile) error {
	err := m.Add(p)
	if err == nil {
		p.recycle()
	}
	return err
}

// Profile returns the sum. The Merger must not be used afterwards.
func (m *Merger) Profile() (*Profile, error) {
	if m.n == 0 {
		return nil, fmt.Errorf("no profiles to merge")
	}
	m.b.Notes = m.notes
	m.b.Renumber()
	p, err := m.b.Profile()
	if err != nil {
		return nil, err
	}
	for i := range p.stack {
		if p.isZero(i) {
			// What canceled out goes, and with it what only that referred to.
			return Merge(p)
		}
	}
	return p, nil
}

func (p *Profile) isZero(i int) bool {
	for _, col := range p.values {
		if col[i] != 0 {
			return false
		}
	}
	return true
}

// start begins a sum of profiles that have the sample types and the frames to drop of h.
func (m *Merger) start(h Header) {
	m.b = NewBuilder(Header{
		SampleTypes: h.SampleTypes,
		DropFrames:  h.DropFrames,
		KeepFrames:  h.KeepFrames,
		PeriodType:  h.PeriodType,
	})
	m.mappings = make(map[mappingKey]int32)
	m.functions, m.locations, m.samples = hashIndex{}, hashIndex{}, hashIndex{}
	m.stacks = newStackIndex(m.b.stacks)
}

func (m *Merger) addHeader(s Header) {
	h := &m.b.Header
	if h.TimeNanos == 0 || s.TimeNanos < h.TimeNanos {
		h.TimeNanos = s.TimeNanos
	}
	h.DurationNanos += s.DurationNanos
	if h.Period == 0 || h.Period < s.Period {
		h.Period = s.Period
	}
	for _, c := range s.Comments {
		if !slices.Contains(h.Comments, c) {
			h.Comments = append(h.Comments, c)
		}
	}
	if h.DefaultType == "" {
		h.DefaultType = s.DefaultType
	}
	if h.DocURL == "" {
		h.DocURL = s.DocURL
	}
}

// agree brings the sum and p to the same sample types and units and returns p so changed.
func (m *Merger) agree(p *Profile) (*Profile, error) {
	h := &m.b.Header
	if len(h.SampleTypes) > 0 && slices.Equal(h.SampleTypes, p.SampleTypes) && h.PeriodType == p.PeriodType {
		return p, nil
	}
	n, notes := m.n, m.notes
	sum, err := m.b.Profile()
	if err != nil {
		return nil, err
	}
	both, err := Agree(sum, p)
	if err != nil {
		return nil, err
	}
	m.start(both[0].Header)
	m.addHeader(both[0].Header)
	m.add(both[0], 0)
	m.n, m.notes = n, notes
	return both[1], nil
}

// ErrNothingCommon says that there is nothing that all of some profiles measured.
var ErrNothingCommon = errors.New("profiles have no metric in common")

// Agree returns profiles reduced to the sample types they share, in the order of the first, and scaled to the
// finest of their units, so that their values can be added.
func Agree(profiles ...*Profile) ([]*Profile, error) {
	out, err := agree(profiles)
	if err == nil {
		return out, nil
	}
	for _, p := range profiles {
		if p.Damage != nil {
			// Not wrapped: what to do about profiles of two kinds is of no help.
			return nil, fmt.Errorf("%v: one of them is damaged (%v), and the names of what it measured may be lost", err, p.Damage)
		}
	}
	return nil, err
}

func agree(profiles []*Profile) ([]*Profile, error) {
	first := profiles[0]
	var common []string
	for _, t := range first.SampleTypes {
		if !slices.ContainsFunc(profiles, func(p *Profile) bool { return p.typeIndex(t.Type) < 0 }) {
			common = append(common, t.Type)
		}
	}
	if len(common) == 0 {
		return nil, ErrNothingCommon
	}
	out := make([]*Profile, len(profiles))
	for i, p := range profiles {
		out[i] = p.WithTypes(common)
	}

	period := out[0].PeriodType
	for _, p := range out[1:] {
		switch none := (ValueType{}); {
		case p.PeriodType == none: // it does not say
			continue
		case period == none:
			period = p.PeriodType
			continue
		}
		var err error
		if period, err = finer(period, p.PeriodType); err != nil {
			return nil, fmt.Errorf("period type: %w", err)
		}
	}
	types := slices.Clone(out[0].SampleTypes)
	for _, p := range out[1:] {
		for k, t := range p.SampleTypes {
			var err error
			if types[k], err = finer(types[k], t); err != nil {
				return nil, fmt.Errorf("sample types: %w", err)
			}
		}
	}
	if len(profiles) == 1 {
		return out, nil
	}
	for i, p := range out {
		h := p.Header
		if h.PeriodType == (ValueType{}) {
			h.Period, h.PeriodType = 0, period // the period of an unknown type is no number of these units
		}
		v, _ := unit.Scale(h.Period, h.PeriodType.Unit, period.Unit)
		h.Period, h.PeriodType.Unit = int64(v), period.Unit
		h.SampleTypes = slices.Clone(h.SampleTypes)
		ratios := make([]float64, len(types))
		for k := range types {
			ratios[k], _ = unit.Scale(1, h.SampleTypes[k].Unit, types[k].Unit)
			h.SampleTypes[k].Unit = types[k].Unit
		}
		out[i] = p.Scale(ratios).WithHeader(h)
	}
	return out, nil
}

// finer returns the one of two value types that has the finer unit.
func finer(a, b ValueType) (ValueType, error) {
	if strings.TrimSuffix(a.Type, "s") != strings.TrimSuffix(b.Type, "s") || !unit.Compatible(a.Unit, b.Unit) {
		return a, fmt.Errorf("incompatible types: {%s %s 0 0} {%s %s 0 0}", a.Type, a.Unit, b.Type, b.Unit)
	}
	if ratio, _ := unit.Scale(1, b.Unit, a.Unit); ratio < 1 {
		return b, nil
	}
	return a, nil
}

func (p *Profile) typeIndex(name string) int {
	return slices.IndexFunc(p.SampleTypes, func(t ValueType) bool { return t.Type == name })
}

// WithTypes returns p with just these of its sample types, in this order.
func (p *Profile) WithTypes(names []string) *Profile {
	same := len(names) == len(p.SampleTypes)
	for k, name := range names {
		same = same && p.SampleTypes[k].Type == name
	}
	if same {
		return p
	}
	q := *p
	q.SampleTypes, q.values = nil, nil
	q.DefaultType = names[0]
	for _, name := range names {
		k := p.typeIndex(name)
		q.SampleTypes = append(q.SampleTypes, p.SampleTypes[k])
		q.values = append(q.values, p.values[k])
		if name == p.DefaultType {
			q.DefaultType = name
		}
	}
	return &q
}

// Diff puts two profiles side by side. The sample types of the result are those of after, followed by the same
// types of before; a sample that one of them lacks has zero there.
func Diff(before, after *Profile) (*Profile, error) {
	both, err := Agree(after, before)
	if err != nil {
		return nil, err
	}
	after, before = both[0], both[1]
	h := after.Header
	h.SampleTypes = append(slices.Clone(after.SampleTypes), before.SampleTypes...)
	var m Merger
	m.start(h)
	m.n = 2
	m.addHeader(after.Header)
	m.notes = append(append(m.notes, after.Notes...), before.Notes...)
	m.samplesOf(after, before)
	m.add(after, 0)
	m.add(before, len(after.SampleTypes))
	return m.Profile()
}

// Scale multiplies the values of each sample type by its ratio, rounding half away from zero. Samples that become
// zero go, unless all ratios are 1.
func (p *Profile) Scale(ratios []float64) *Profile {
	if !slices.ContainsFunc(ratios, func(r float64) bool { return r != 1 }) {
		return p
	}
	values := make([][]int64, len(p.values))
	keep := NewSampleSet(len(p.stack))
	for k, col := range p.values {
		values[k] = col
		if ratios[k] == 1 {
			continue
		}
		values[k] = make([]int64, len(col))
		for i, v := range col {
			values[k][i] = int64(math.Round(float64(v) * ratios[k]))
			if values[k][i] != 0 {
				keep.Add(uint32(i))
			}
		}
	}
	q := *p
	q.values = values
	return q.Filter(keep)
}

// MapValues returns p with each value changed, of sample type k. Samples of which nothing is left go.
func (p *Profile) MapValues(change func(k int, v int64) int64) *Profile {
	q := *p
	q.values = make([][]int64, len(p.values))
	keep := NewSampleSet(len(p.stack))
	for k, col := range p.values {
		q.values[k] = make([]int64, len(col))
		for i, v := range col {
			v = change(k, v)
			if q.values[k][i] = v; v != 0 {
				keep.Add(uint32(i))
			}
		}
	}
	return q.Filter(keep)
}

// Negate returns p with all values negative.
func (p *Profile) Negate() *Profile {
	ratios := make([]float64, len(p.SampleTypes))
	for k := range ratios {
		ratios[k] = -1
	}
	return p.Scale(ratios)
}

// Normalize returns p scaled so that its sums are those of base.
func (p *Profile) Normalize(base *Profile) (*Profile, error) {
	if a, b := p.PeriodType, base.PeriodType; a != b {
		return nil, fmt.Errorf("incompatible period types &{%s %s 0 0} and &{%s %s 0 0}", a.Type, a.Unit, b.Type, b.Unit)
	}
	if !slices.Equal(p.SampleTypes, base.SampleTypes) {
		return nil, fmt.Errorf("incompatible sample types %v and %v", p.SampleTypes, base.SampleTypes)
	}
	ratios := make([]float64, len(p.SampleTypes))
	for k := range ratios {
		var sum, want int64
		for _, v := range p.values[k] {
			sum += v
		}
		for _, v := range base.values[k] {
			want += v
		}
		if sum != 0 {
			ratios[k] = float64(want) / float64(sum)
		}
	}
	return p.Scale(ratios), nil
}

// Divide returns p with all values divided, such that the sums of its columns are, too: what is cut off one value goes to
// those after it. Most values of a CPU profile are 1, and would else all become 0.
func (p *Profile) Divide(by float64) *Profile {
	q := *p
	q.values = make([][]int64, len(p.values))
	for k, col := range p.values {
		q.values[k] = make([]int64, len(col))
		rest := 0.0
		for i, v := range col {
			exact := float64(v)/by + rest
			whole := math.Round(exact)
			q.values[k][i] = int64(whole)
			rest = exact - whole
		}
	}
	return &q
}

// Times returns p with all values multiplied and cut to whole numbers, as in pprof; no sample goes.
func (p *Profile) Times(factor float64) *Profile {
	q := *p
	q.values = make([][]int64, len(p.values))
	for k, col := range p.values {
		q.values[k] = make([]int64, len(col))
		for i, v := range col {
			q.values[k][i] = int64(float64(v) * factor)
		}
	}
	return &q
}
