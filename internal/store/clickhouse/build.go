package clickhouse

import (
	"context"
	"fmt"
	"slices"

	"github.com/hone-perf/hone/internal/profile"
	"github.com/hone-perf/hone/internal/store"
)

// build makes a profile of samples that were added up. It asks for the stacks of those that are left, and of nothing else.
func (s *Store) build(ctx context.Context, tenant string, h profile.Header, sums *sums) (*profile.Profile, []error, error) {
	b := &builder{
		Builder: profile.NewBuilder(h), s: s, tenant: tenant,
		mappings: map[profile.Mapping]int32{}, functions: map[profile.Function]uint32{},
	}
	if sums.found != sums.wanted {
		b.damage = append(b.damage, fmt.Errorf("%d of %d samples are in the database; the others have expired, or are not on this replica yet",
			sums.found, sums.wanted))
	}
	byService := map[string][]int{}
	for i, p := range sums.places {
		if slices.ContainsFunc(sums.values[i*sums.types:(i+1)*sums.types], func(v int64) bool { return v != 0 }) {
			byService[p.service] = append(byService[p.service], i)
		}
	}
	for _, service := range sortedKeys(byService) {
		if err := b.add(ctx, service, sums, byService[service]); err != nil {
			return nil, nil, err
		}
	}
	b.Renumber()
	p, err := b.Profile()
	return p, b.damage, err
}

type builder struct {
	*profile.Builder
	s         *Store
	tenant    string
	mappings  map[profile.Mapping]int32
	functions map[profile.Function]uint32
	damage    []error
}

// add adds samples of a service.
func (b *builder) add(ctx context.Context, service string, sums *sums, samples []int) error {
	var ids, setIDs []uint64
	for _, i := range samples {
		ids = append(ids, sums.places[i].stack)
		if set := sums.places[i].sets; set != 0 {
			setIDs = append(setIDs, set)
		}
	}
	d := b.s.dictionary(b.tenant, service)
	stacks, err := lookUp(ctx, d, &d.stacks, unique(ids), b.s.stacks)
	if err != nil {
		return err
	}
	sets, err := lookUp(ctx, d, &d.sets, unique(setIDs), b.s.sets)
	if err != nil {
		return err
	}
	var frameIDs []uint64
	for _, st := range stacks {
		frameIDs = append(frameIDs, st...)
	}
	frameIDs = unique(frameIDs)
	frames, err := lookUp(ctx, d, &d.frames, frameIDs, b.s.frames)
	if err != nil {
		return err
	}
	b.s.trim(d)
	locations := make(map[uint64]uint32, len(frames))
	lost := 0
	for _, id := range frameIDs {
		f := frames[id]
		if f == nil {
			f = &frame{location: profile.Location{Mapping: profile.NoMapping}, lines: []profile.Function{{Name: "[lost]"}}}
			f.location.Lines = []profile.Line{{}}
			lost++
		}
		locations[id] = b.location(f)
	}
	if lost > 0 {
		b.damage = append(b.damage, fmt.Errorf("%d of %d frames of %s are not in the database", lost, len(frameIDs), service))
	}
	labels := map[uint64]uint32{0: 0}
	for id, set := range sets {
		labels[id] = b.Labels(set)
	}
	var stack []uint32
	lost = 0
	for _, i := range samples {
		p := sums.places[i]
		of, ok := stacks[p.stack]
		if !ok {
			lost++
		}
		stack = stack[:0]
		for _, id := range of {
			stack = append(stack, locations[id])
		}
		b.Add(stack, labels[p.sets], sums.values[i*sums.types:(i+1)*sums.types])
	}
	if lost > 0 {
		b.damage = append(b.damage, fmt.Errorf("stacks of %d of %d samples of %s are not in the database", lost, len(samples), service))
	}
	return nil
}

func unique(ids []uint64) []uint64 {
	slices.Sort(ids)
	return slices.Compact(ids)
}

// location adds a location to the tables.
func (b *builder) location(f *frame) uint32 {
	l := f.location
	if l.Mapping != profile.NoMapping {
		at, ok := b.mappings[f.mapping]
		if !ok {
			at = int32(len(b.Mappings))
			b.mappings[f.mapping] = at
			b.Mappings = append(b.Mappings, f.mapping)
		}
		l.Mapping = at
	}
	l.Lines = slices.Clone(l.Lines)
	for i := range l.Lines {
		at, ok := b.functions[f.lines[i]]
		if !ok {
			at = uint32(len(b.Functions))
			b.functions[f.lines[i]] = at
			b.Functions = append(b.Functions, f.lines[i])
		}
		l.Lines[i].Function = at
	}
	b.Locations = append(b.Locations, l)
	return uint32(len(b.Locations) - 1)
}

// Profile implements store.Store. The bytes that were received are there of the newest profile of each stream, and of those that are pinned.
func (s *Store) Profile(ctx context.Context, q store.Query, id store.ID) (*store.Entry, *profile.Profile, []byte, error) {
	sel, err := s.selected(ctx, &q, q.From)
	if err != nil {
		return nil, nil, nil, err
	}
	condition := both(where(&q), between("start", q.From, q.To), "id = unhex('"+id.String()+"')")
	entries, err := s.entries(ctx, sel, condition, 1)
	if err != nil {
		return nil, nil, nil, err
	}
	if len(entries) == 0 {
		return nil, nil, nil, store.ErrNotFound
	}
	e := &entries[0]
	q.Selector, q.Kind = store.Service(e.Service), e.Kind
	q.From, q.To = e.Start, e.Start.Add(1)
	rows, err := s.rowsOf(ctx, &q, sel, condition)
	if err != nil {
		return nil, nil, nil, err
	}
	if len(rows) == 0 {
		return nil, nil, nil, store.ErrNotFound // it has just expired
	}
	p := parts(rows, store.Sum)[0]
	sums, err := s.sums(ctx, &q, p)
	if err != nil {
		return nil, nil, nil, err
	}
	made, damage, err := s.build(ctx, q.Tenant, p.head, sums)
	if err != nil {
		return nil, nil, nil, err
	}
	for _, d := range damage {
		made = made.WithNote(d.Error())
	}
	var received []string
	err = s.db.query(ctx, "SELECT bytes FROM "+s.withPinned("received", "bytes", both(where(&q),
		fmt.Sprintf("stream = %d AND id = unhex('%s')", rows[0].stream.id, id)))+" LIMIT 1", &received)
	if err != nil {
		return nil, nil, nil, err
	}
	var raw []byte
	if len(received) > 0 {
		raw = []byte(received[0])
	}
	return e, made, raw, nil
}
