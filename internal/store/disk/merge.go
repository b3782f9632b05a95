package disk

import (
	"context"
	"errors"
	"io/fs"
	"slices"

	"github.com/hone-perf/hone/internal/profile"
	"github.com/hone-perf/hone/internal/store"
)

// Merge implements store.Store.
func (s *Store) Merge(ctx context.Context, q store.Query) (*store.Merged, error) {
	return retry(func() (*store.Merged, error) { return s.merge(ctx, q) })
}

// retry asks again when files went away because they were written anew, as parts of others.
func retry[T any](ask func() (T, error)) (T, error) {
	for range 3 {
		if v, err := ask(); !errors.Is(err, fs.ErrNotExist) {
			return v, err
		}
	}
	return ask()
}

func (s *Store) merge(ctx context.Context, q store.Query) (*store.Merged, error) {
	a, streams, common, err := s.weighed(ctx, q)
	if err != nil {
		return nil, err
	}
	defer a.close()
	var out *store.Merged
	err = a.grow(ctx, streams, func() (shrunk bool, err error) {
		out, shrunk, err = a.mergeOf(ctx, streams, common)
		return shrunk, err
	})
	return out, err
}

// mergeOf adds up streams, and reports whether a counter shrank.
func (a *answer) mergeOf(ctx context.Context, streams [][]*found, common *store.Common) (*store.Merged, bool, error) {
	out := &store.Merged{Streams: len(streams)}
	first, last := streams[0][0].start, streams[0][0].start
	took := int64(0)
	for _, list := range streams {
		for _, f := range list {
			out.Profiles += f.profiles
			took += f.duration
			first, last = min(first, f.start), max(last, f.start)
		}
	}
	out.First, out.Last = fromNano(first), fromNano(last)
	if a.Fold == store.Natural {
		out.Shared = shared(streams)
	}
	var sums []*profile.Profile
	groups := a.byShape()
	levels := 1 // what they are divided by
	if a.Fold == store.Natural && hasLevels(a.Kind, groups[0][0].types()) {
		levels = a.levels.Units
	}
	shrunk := false
	outlined := a.Functions && (levels == 1 || len(groups) == 1) // else values are added before they are divided
	for _, group := range groups {
		if err := ctx.Err(); err != nil {
			return nil, false, err
		}
		values, err := a.sums(group)
		if err != nil {
			return nil, false, err
		}
		shrunk = len(groups) == 1 && a.shrunk(group[0].kind, group[0].types(), values)
		var p *profile.Profile
		if outlined {
			p, outlined, err = a.outlined(group[0], values, levels)
		} else {
			p, err = group[0].profile(values)
		}
		if err != nil {
			return nil, false, err
		}
		sums = append(sums, p)
	}
	p := sums[0]
	if len(sums) > 1 {
		var err error
		if p, err = common.AddUp(sums); err != nil {
			return nil, false, err
		}
		// What one group takes away is in another one.
		shrunk = a.Fold == store.Natural && store.Shrunk(a.Kind, p)
	}
	if !outlined && levels > 1 {
		p = store.DivideLevels(a.Kind, p, func() int { return levels })
	}
	h := p.Header
	h.TimeNanos, h.DurationNanos = first, took // not the time in the profiles, which the clock of their sender gave
	out.Profile, out.Damage = withBuild(p.WithHeader(h), streams), a.damage
	return out, shrunk, nil
}

// weighed asks for the values of profiles that are to be added up. The caller closes the answer. It is an error when there are none.
func (s *Store) weighed(ctx context.Context, q store.Query) (*answer, [][]*found, *store.Common, error) {
	a, err := s.ask(ctx, q, nil)
	if err != nil {
		return nil, nil, nil, err
	}
	all := a.streams()
	groups := make([]store.Group, len(all))
	for i, list := range all {
		p := list[0].part
		groups[i] = store.Group{Service: p.Service, Kind: p.kind, Types: p.types()}
		for _, f := range list {
			groups[i].Profiles += f.profiles
		}
	}
	common := store.Together(&q, groups)
	a.damage = append(a.damage, common.Damage...)
	var streams [][]*found
	for i, list := range all {
		if common.Keep[i] {
			streams = append(streams, list)
		}
	}
	if len(streams) == 0 {
		defer a.close()
		return nil, nil, nil, a.nothing()
	}
	a.weigh(streams)
	return a, streams, &common, nil
}

// nothing returns the error of a question that selects nothing, or nothing that can be read.
func (a *answer) nothing() error {
	if len(a.damage) > 0 {
		return &store.DamageError{Damage: a.damage}
	}
	return &store.NothingError{Query: a.Query}
}

// withBuild returns p with the build that all profiles in it are of, if there is one.
func withBuild(p *profile.Profile, streams [][]*found) *profile.Profile {
	build := streams[0][0].label(store.BuildLabel)
	if build == "" || slices.ContainsFunc(streams, func(s []*found) bool { return s[0].label(store.BuildLabel) != build }) {
		return p
	}
	t := p.Tables
	t.Mappings = slices.Clone(t.Mappings)
	named := 0
	for i := range t.Mappings {
		if m := &t.Mappings[i]; m.HasFunctions {
			named++
			m.BuildID = build
		}
	}
	if named != 1 {
		return p
	}
	return p.WithTables(t)
}

// shared returns the labels of streams that look like those of several processes.
func shared(streams [][]*found) (out *store.Shared) {
	for _, s := range streams {
		k := store.CounterOf(s[0].part.kind, s[0].part.types())
		if k < 0 {
			continue
		}
		var totals []int64
		for _, f := range s {
			if f.counters() && !f.part.rolled {
				totals = append(totals, f.totals[k])
			}
		}
		if store.AreShared(totals) {
			out = store.AddShared(out, s[0].part.Service, s[0].labels())
		}
	}
	return out
}

// hasLevels reports whether a type of a kind of profiles is a level.
func hasLevels(kind string, types []profile.ValueType) bool {
	return slices.ContainsFunc(types, func(t profile.ValueType) bool { return store.NatureOf(kind, t.Type, false) == store.Level })
}

// byShape returns the parts that count, those together whose values can be added.
func (a *answer) byShape() [][]*part {
	type key struct {
		block *opened
		shape uint32
	}
	at := map[key]int{}
	var out [][]*part
	for _, p := range a.parts {
		if p.factors == nil {
			continue
		}
		k := key{p.opened, p.shape}
		i, ok := at[k]
		if !ok {
			i = len(out)
			at[k] = i
			out = append(out, nil)
		}
		out[i] = append(out[i], p)
	}
	return out
}

// sum adds up parts of one block and shape.
func (a *answer) sum(parts []*part) (*profile.Profile, error) {
	sums, err := a.sums(parts)
	if err != nil {
		return nil, err
	}
	return parts[0].profile(sums)
}

// profile makes a profile of values by entry.
func (p *part) profile(sums [][]int64) (*profile.Profile, error) {
	return p.dict.profile(p.dict.shapes[p.shape].Header, sums, nil)
}

// sums adds up the values of each entry in parts of one block and shape.
func (a *answer) sums(parts []*part) ([][]int64, error) {
	sums := make([][]int64, len(parts[0].types()))
	for k := range sums {
		sums[k] = make([]int64, len(parts[0].dict.entries))
	}
	for _, p := range parts {
		if err := a.addPart(p, sums); err != nil {
			return nil, err
		}
	}
	return sums, nil
}

// outlined makes a profile of values by entry, of parts like one. It leaves out the lines and divides the levels, unless the lines are needed.
func (a *answer) outlined(of *part, sums [][]int64, levels int) (p *profile.Profile, done bool, err error) {
	d := of.dict
	h := d.shapes[of.shape].Header
	if o := d.outline.now(d); o != nil {
		if p, err = o.profile(h, sums, a.dividers(h, levels)); p != nil || err != nil {
			return p, true, err
		}
	}
	p, err = of.profile(sums)
	return p, false, err
}

// dividers returns what the values of each type are divided by.
func (a *answer) dividers(h profile.Header, levels int) []int {
	out := make([]int, len(h.SampleTypes))
	for k, t := range h.SampleTypes {
		if out[k] = 1; store.NatureOf(a.Kind, t.Type, false) == store.Level {
			out[k] = levels
		}
	}
	return out
}

// addPart adds the values of p that count, or notes that they are damaged.
func (a *answer) addPart(p *part, sums [][]int64) error {
	err := p.addTo(sums)
	var bad *segmentError
	if errors.As(err, &bad) {
		a.damage = append(a.damage, err)
		return nil
	}
	return err
}

// addTo adds the values of p that count to sums[type][entry]. Types whose sums are nil are left out.
func (p *part) addTo(sums [][]int64) error {
	all, none := true, true // each value counts as much in all profiles, or nothing
	times := make([]int64, len(sums))
	for k, f := range p.factors {
		if sums[k] == nil || len(f) == 0 {
			continue
		}
		times[k] = f[0]
		for _, n := range f {
			all, none = all && n == f[0], none && n == 0
		}
	}
	entries := len(p.dict.entries)
	switch {
	case none:
		return nil
	case p.stored == nil:
		for i, t := range p.about {
			weights := make([]int64, len(sums))
			for k := range weights {
				weights[k] = p.factors[k][i]
			}
			if allZero(weights) {
				continue
			}
			err := eachRow(t.packed, len(sums), func(entry uint32, values []int64) {
				for k, v := range values {
					if sums[k] != nil {
						sums[k][entry] += v * weights[k]
					}
				}
			})
			if err != nil {
				return err
			}
		}
		return nil
	case all:
		plain, err := p.reader.piece(p.stored.sums)
		if err != nil {
			return err
		}
		if err := addSums(plain, sums, times, entries); err != nil {
			return &segmentError{p.reader.segment, err}
		}
		return nil
	}
	plain, err := p.reader.piece(p.stored.detail)
	if err != nil {
		return err
	}
	if err := addDetail(plain, p.about, p.factors, sums, entries); err != nil {
		return &segmentError{p.reader.segment, err}
	}
	return nil
}

// profile makes a profile of values by entry. Some frames come before others.
func (d *dict) profile(h profile.Header, sums [][]int64, before []uint32) (*profile.Profile, error) {
	b := profile.NewBuilder(h)
	places := make([]uint32, len(d.frames)) // location, plus 1
	functions := make([]uint32, len(d.functions))
	mappings := map[uint32]int32{}
	sets := make([]uint32, len(d.sets))
	values := make([]int64, len(sums))
	var stack []uint32
	var lines lineMaker
	place := func(fr uint32) uint32 {
		if places[fr] == 0 {
			b.Locations = append(b.Locations, d.location(b, fr, functions, mappings, &lines))
			places[fr] = uint32(len(b.Locations))
		}
		return places[fr] - 1
	}
	for _, fr := range before {
		place(fr)
	}
	for i, e := range d.entries {
		for k := range values {
			values[k] = sums[k][i]
		}
		if allZero(values) {
			continue
		}
		stack = stack[:0]
		for at := e.node; at != 0; at = d.nodes[at].Parent {
			stack = append(stack, place(d.nodes[at].Frame))
		}
		if e.set != 0 && sets[e.set] == 0 {
			sets[e.set] = b.Labels(slices.Clone(d.sets[e.set]))
		}
		b.Add(stack, sets[e.set], values)
	}
	b.Renumber()
	return b.Profile()
}

// A lineMaker makes slices of lines, of which there are as many as locations, from few allocations.
type lineMaker struct{ free []profile.Line }

func (m *lineMaker) make(n int) []profile.Line {
	if n > len(m.free) {
		m.free = make([]profile.Line, max(n, 1<<10))
	}
	lines := m.free[:n:n]
	m.free = m.free[n:]
	return lines
}

// location returns a location for a frame, and sees to it that b has what it refers to.
func (d *dict) location(b *profile.Builder, at uint32, functions []uint32, mappings map[uint32]int32, lines *lineMaker) profile.Location {
	fr := &d.frames[at]
	l := profile.Location{Mapping: profile.NoMapping, Address: fr.address, Folded: fr.folded}
	if fr.mapping > 0 {
		m, ok := mappings[fr.mapping]
		if !ok {
			m = int32(len(b.Mappings))
			mappings[fr.mapping] = m
			b.Mappings = append(b.Mappings, profile.Mapping{File: d.texts[fr.mapping-1]})
		}
		l.Mapping = m
		if len(fr.lines) > 0 {
			has := &b.Mappings[m]
			has.HasFunctions, has.HasFilenames, has.HasLineNumbers, has.HasInlineFrames = true, true, true, true
		}
	}
	l.Lines = lines.make(len(fr.lines))
	for i, ln := range fr.lines {
		if functions[ln.function] == 0 {
			fn := &d.functions[ln.function]
			b.Functions = append(b.Functions, profile.Function{
				Name: d.texts[fn.name], SystemName: d.texts[fn.system], File: d.texts[fn.file], StartLine: fn.start,
			})
			functions[ln.function] = uint32(len(b.Functions))
		}
		l.Lines[i] = profile.Line{Function: functions[ln.function] - 1, Line: ln.line, Column: ln.column}
	}
	return l
}
