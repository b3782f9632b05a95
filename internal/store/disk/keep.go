package disk

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/hone-perf/hone/internal/store"
)

// nothing is the step of sums of a block of which only what is pinned stays.
const nothing time.Duration = 0

// A settled says what a block was when all was done that had to be done: pinned blocks have to be read to know that.
type settled struct {
	step  time.Duration
	state string
}

// touching returns the pins that may keep profiles of a block, or what counters of the next day are compared with.
func (b *block) touching(pins []store.Pin) (out []store.Pin) {
	for _, p := range pins {
		service, one := p.Query.Selector.Only(store.ServiceLabel)
		if p.Query.Tenant == b.Tenant && (!one || service == b.Service) && b.day.Before(p.Query.To) &&
			b.day.Add(24*time.Hour+store.Baseline).After(p.Query.From) {
			out = append(out, p)
		}
	}
	return out
}

// pinned reports whether one of pins, of the same tenant, keeps a profile.
func (f *found) pinned(pins []store.Pin) bool {
	return !f.part.rolled && f.flags&flagBaseline == 0 && slices.ContainsFunc(pins, func(p store.Pin) bool {
		q := &p.Query
		return (q.Kind == "" || q.Kind == f.part.kind) && q.Holds(fromNano(f.start)) &&
			q.Selector.Match(f.part.Service, f.part.labels, f.part.dict.rows[f.row])
	})
}

// settle keeps of a block what is pinned, and of the rest sums of steps or nothing. s.flushMu must be held.
func (s *Store) settle(b *block, step time.Duration, pins []store.Pin) error {
	b.mu.RLock()
	list := b.segments
	busy := b.gone || len(b.head)+len(b.flushing) > 0
	b.mu.RUnlock()
	pins = b.touching(pins)
	switch state := stateOf(list, pins); {
	case busy:
		return nil
	case len(pins) == 0 && step == nothing:
		return s.drop(b)
	case len(pins) == 0:
		if !slices.ContainsFunc(list, func(g *segment) bool { return g.hour != baselineHour && !(g.rolled() && g.hour == int64(step)) }) {
			return nil
		}
	case b.settled.state == state && (b.settled.step == nothing || b.settled.step >= step && step != nothing):
		return nil
	}
	l, err := s.leave(b, step, pins)
	if err != nil {
		return err
	}
	defer l.close()
	switch {
	case !l.changes:
	case step != nothing:
		err = s.sumUp(b, l)
	case len(l.pinned)+len(l.baselines) == 0:
		return s.drop(b)
	default:
		b, err = s.rewrite(b, l)
	}
	if err == nil {
		b.settled = settled{step, stateOf(b.segments, pins)}
	}
	return err
}

// stateOf returns as a text what decides what there is to do with a block.
func stateOf(list []*segment, pins []store.Pin) string {
	var out strings.Builder
	for _, g := range list {
		fmt.Fprint(&out, g.seq, " ")
	}
	for _, p := range pins {
		fmt.Fprintln(&out, p.Query)
	}
	return out.String()
}

// A leaving is what retention leaves of a block.
type leaving struct {
	*answer
	step      time.Duration
	pins      []store.Pin
	changes   bool
	pinned    map[*segment][]*found
	baselines []*found
	rest      [][]*found // by stream: what becomes sums
}

// leave finds out what retention leaves of a block. All that is left of counters in sums is how much they grew, so the last
// profiles stay, for the next day to be compared with; and those that counters of pinned profiles are compared with.
func (s *Store) leave(b *block, step time.Duration, pins []store.Pin) (*leaving, error) {
	q := store.Query{
		Tenant: b.Tenant, Selector: store.Selector{{Name: store.ServiceLabel, Op: store.Is, Value: b.Service}},
		From: b.day, To: b.day.Add(24*time.Hour + store.Baseline),
	}
	a, err := s.ask(context.Background(), q, nil)
	if err != nil {
		return nil, err
	}
	if len(a.damage) > 0 {
		a.close()
		return nil, errors.Join(a.damage...)
	}
	l := &leaving{answer: a, step: step, pins: pins, pinned: map[*segment][]*found{}}
	for _, stream := range a.withBaselines() {
		var rest, own []*found
		compared := map[*found]bool{}
		for _, f := range stream {
			pinned := f.pinned(pins)
			if pinned && f.before != nil && f.counters() {
				compared[f.before] = true
			}
			if f.part.block != b || f.part.stored == nil { // what has come in meanwhile is for the next time
				continue
			}
			if !f.part.rolled {
				own = append(own, f)
			}
			switch {
			case pinned:
				g := f.part.reader.segment
				l.pinned[g] = append(l.pinned[g], f)
			case f.in:
				rest = append(rest, f)
				l.changes = l.changes || !f.part.rolled || step == nothing || f.part.reader.hour != int64(step)
			}
		}
		if n := len(own); n > 0 && step != nothing && own[n-1].counters() {
			compared[own[n-1]] = true
		}
		for _, f := range own {
			if f.pinned(pins) {
				continue
			}
			if compared[f] {
				l.baselines = append(l.baselines, f)
			}
			l.changes = l.changes || compared[f] != (f.flags&flagBaseline != 0)
		}
		if len(rest) > 0 {
			l.rest = append(l.rest, rest)
		}
	}
	return l, nil
}

// sumUp writes sums of the rest beside what is pinned.
func (s *Store) sumUp(b *block, l *leaving) error {
	type key struct {
		sectionKey
		step int64
	}
	groups := map[key][][]*found{}
	for _, stream := range l.rest {
		steps := map[int64]int{}
		for _, f := range stream {
			at := floorDiv(f.start, int64(l.step))
			k := key{sectionKey{f.part.kind, f.part.series, f.part.shape}, at}
			i, ok := steps[at]
			if !ok {
				i = len(groups[k])
				steps[at] = i
				groups[k] = append(groups[k], nil)
			}
			groups[k][i] = append(groups[k][i], f)
		}
	}
	sums := map[sectionKey]*section{}
	for k, streams := range groups {
		t, err := l.sumOf(b, streams, (k.step+1)*int64(l.step))
		if err != nil {
			return err
		}
		part := streams[0][0].part
		if sums[k.sectionKey] == nil {
			sums[k.sectionKey] = &section{kind: part.kind, labels: part.labels, shape: part.shape}
		}
		sums[k.sectionKey].taken = append(sums[k.sectionKey].taken, t)
	}
	if len(sums) > 0 {
		row, err := s.emptyRow(b)
		if err != nil {
			return err
		}
		for _, sec := range sums {
			for _, t := range sec.taken {
				t.row = row
			}
		}
	}
	o, err := b.view()
	if err != nil {
		return err
	}
	var made []*segment
	write := func(hour int64, sections []*section, rolled bool) error {
		if len(sections) == 0 {
			return nil
		}
		g, err := s.writeSegment(b, hour, sections, o.dict.shapes, rolled)
		if err == nil {
			made = append(made, g)
		}
		return err
	}
	err = write(int64(l.step), slices.Collect(maps.Values(sums)), true)
	var from []*segment
	for _, g := range o.segments {
		list := l.pinned[g]
		if len(list) == g.profiles() {
			continue // all of it stays
		}
		from = append(from, g)
		if err == nil {
			err = l.copyOf(list, 0, func(sections []*section) error { return write(g.hour, sections, false) })
		}
	}
	if err == nil {
		err = l.copyOf(l.baselines, flagBaseline, func(sections []*section) error { return write(baselineHour, sections, false) })
	}
	if err != nil {
		s.removeSegments(b, made)
		return err
	}
	if err := s.replace(b, from, made); err != nil {
		return err
	}
	err = s.keepPinned(b, b.dir, l.pins)
	s.weighNewest(b)
	return err
}

func (s *segment) profiles() (n int) {
	for i := range s.sections {
		n += s.sections[i].profiles
	}
	return n
}

// copyOf calls back with sections of profiles in segments, with flags.
func (l *leaving) copyOf(list []*found, flags uint8, each func([]*section) error) error {
	by := map[*part][]*found{}
	for _, f := range list {
		by[f.part] = append(by[f.part], f)
	}
	sections := map[sectionKey]*section{}
	for p, list := range by {
		plain, err := p.reader.piece(p.stored.detail)
		if err != nil {
			return err
		}
		rows, err := rowsOf(plain, p.about, len(p.types()), len(p.dict.entries))
		if err != nil {
			return &segmentError{p.reader.segment, err}
		}
		key := sectionKey{p.kind, p.series, p.shape}
		if sections[key] == nil {
			sections[key] = &section{kind: p.kind, labels: p.labels, shape: p.shape}
		}
		for _, f := range list {
			t := *f.taken
			t.flags |= flags
			t.packed = rows[f.at]
			sections[key].taken = append(sections[key].taken, &t)
		}
	}
	return each(slices.Collect(maps.Values(sections)))
}

// rewrite puts a block with only what is pinned, and only its names, in the place of b. It has another folder, so that the catalog
// changes from one to the other at once.
func (s *Store) rewrite(b *block, l *leaving) (*block, error) {
	record := b.blockRecord
	record.Names = 0
	var small *block
	for {
		record.Folder = fmt.Sprintf("%s/%s/%s.%d", folderOf(b.Tenant), b.Day, folderOf(b.Service), s.nextSeq())
		var err error
		if small, err = newBlock(s.dir, record); err != nil {
			return b, err
		}
		if err = os.Mkdir(small.dir, 0o700); err == nil {
			break
		}
		if !errors.Is(err, fs.ErrExist) { // after a crash there may be one that the catalog never knew
			return b, err
		}
	}
	small.dict = newDict()
	small.dict.finding()
	fail := func(err error) (*block, error) { return b, errors.Join(err, os.RemoveAll(small.dir)) }
	o, err := b.view()
	if err != nil {
		return fail(err)
	}
	write := func(hour int64) func([]*section) error {
		return func(sections []*section) error {
			if len(sections) == 0 {
				return nil
			}
			for _, sec := range sections {
				if err := small.dict.adopt(sec, o.dict); err != nil {
					return err
				}
			}
			g, err := s.writeSegment(small, hour, sections, small.dict.shapes, false)
			if err == nil {
				small.segments = append(small.segments, g)
			}
			return err
		}
	}
	for _, g := range o.segments {
		if err := l.copyOf(l.pinned[g], 0, write(g.hour)); err != nil {
			return fail(err)
		}
	}
	if err := l.copyOf(l.baselines, flagBaseline, write(baselineHour)); err != nil {
		return fail(err)
	}
	piece, size := small.dict.unkept()
	if err := s.appendNames(small, piece); err != nil {
		return fail(err)
	}
	small.Names, small.dict.kept, small.dict.find = int64(len(piece)), size, nil
	if err := s.keepPinned(b, small.dir, l.pins); err != nil {
		return fail(err)
	}
	small.newest = small.sizeOfNewest()
	for _, dir := range []string{small.dir, filepath.Dir(small.dir)} {
		if err := s.wal.syncDir(dir); err != nil {
			return fail(err)
		}
	}

	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.head)+len(b.flushing) > 0 {
		return fail(nil) // what comes so late goes with the next segments
	}
	if err := s.catalog.apply(change{blocks: []*blockRecord{&small.blockRecord}, segments: small.segments, noSegments: b.segments}); err != nil {
		return fail(err)
	}
	by := small.Names - b.Names + small.newest
	for _, g := range small.segments {
		by += g.size
	}
	for _, g := range b.segments {
		by -= g.size
	}
	b.segments, b.dict, b.ids = nil, newDict(), map[int64]map[store.ID]bool{}
	s.mu.Lock()
	s.size += by - b.newest
	b.newest = 0
	s.blocks[string(b.key())] = small
	s.sorted = nil
	b.gone = true
	s.mu.Unlock()
	return small, os.RemoveAll(b.dir)
}

// adopt turns what a section says in the numbers of another dict into those of d.
func (d *dict) adopt(sec *section, from *dict) error {
	h := from.shapes[sec.shape].Header
	sums := make([][]int64, len(h.SampleTypes))
	for k := range sums {
		sums[k] = make([]int64, len(from.entries))
	}
	for _, t := range sec.taken {
		for k := range sums {
			clear(sums[k])
		}
		err := eachRow(t.packed, len(sums), func(entry uint32, values []int64) {
			for k, v := range values {
				sums[k][entry] = v
			}
		})
		if err != nil {
			return err
		}
		p, err := from.profile(h, sums, nil)
		if err != nil {
			return err
		}
		t.packed, t.totals = encodeRows(p, d.entriesOf(p))
		t.row = d.row(from.rows[t.row])
	}
	sec.shape = d.shape(h)
	return nil
}
