package disk

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"time"

	"github.com/hone-perf/hone/internal/store"
)

// When segments of an hour become one: after the hour and what comes late, or when there are many.
const (
	lateness     = 2 * time.Minute
	manySegments = 8
)

// Maintain does what has to be done now and then: it flushes what is in the log for long, makes one segment of those of an
// hour, turns old profiles into sums, drops what is too old or too much, and keeps memory small.
func (s *Store) Maintain(ctx context.Context) error {
	var errs []error
	if size, born := s.wal.state(); size > 0 && (size >= s.FlushBytes || time.Since(born) >= s.FlushAfter) {
		errs = append(errs, s.Flush())
	}
	pins, err := s.catalog.pins("", true)
	errs = append(errs, err)
	for _, b := range s.all() {
		if err := ctx.Err(); err != nil {
			return err
		}
		errs = append(errs, s.compact(b), s.roll(b, pins))
	}
	errs = append(errs, s.shrink(pins))
	if s.forget() {
		debug.FreeOSMemory()
	}
	return errors.Join(errs...)
}

// Run maintains s until ctx ends. It tells failed what goes wrong.
func (s *Store) Run(ctx context.Context, failed func(error)) {
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	next := time.Now()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		var err error
		if size, _ := s.wal.state(); size >= s.FlushBytes {
			err = s.Flush()
			if pins, perr := s.catalog.pins("", true); perr == nil {
				err = errors.Join(err, s.shrink(pins))
			}
			s.forget()
		}
		if time.Now().After(next) {
			err = errors.Join(err, s.Maintain(ctx))
			next = time.Now().Add(20 * time.Second)
		}
		if err != nil && ctx.Err() == nil {
			failed(err)
		}
	}
}

// compact makes one segment of several of the same hour.
func (s *Store) compact(b *block) error {
	s.flushMu.Lock()
	defer s.flushMu.Unlock()
	byHour := map[int64][]*segment{}
	b.mu.RLock()
	for _, g := range b.segments {
		if !g.rolled() {
			byHour[g.hour] = append(byHour[g.hour], g)
		}
	}
	b.mu.RUnlock()
	over := hourOf(s.Now().Add(-lateness).UnixNano())
	for _, at := range slices.Sorted(maps.Keys(byHour)) {
		list := byHour[at]
		if len(list) < 2 || at >= over && len(list) < manySegments {
			continue
		}
		if err := s.join(b, at, list); err != nil {
			return full(fmt.Errorf("joining segments of %s of %s: %w", b.Service, b.Day, err))
		}
	}
	return nil
}

// join makes one segment of several. Those that can't be read stay as they are, for Check to find.
func (s *Store) join(b *block, at int64, list []*segment) error {
	o, err := b.view()
	if err != nil {
		return err
	}
	byKey := map[sectionKey]*section{}
	seen := map[store.ID]bool{}
	var from []*segment
	for _, g := range list {
		sections, err := o.load(g)
		if errors.Is(err, errDamaged) {
			continue
		}
		if err != nil {
			return err
		}
		from = append(from, g)
		for _, sec := range sections {
			key := sec.key()
			all := byKey[key]
			if all == nil {
				all = &section{kind: sec.kind, labels: sec.labels, shape: sec.shape}
				byKey[key] = all
			}
			for _, t := range sec.taken {
				if !seen[t.id] {
					seen[t.id] = true
					all.taken = append(all.taken, t)
				}
			}
		}
	}
	if len(from) < 2 {
		return nil
	}
	g, err := s.writeSegment(b, at, slices.Collect(maps.Values(byKey)), o.dict.shapes, false)
	if err != nil {
		return err
	}
	return s.replace(b, from, []*segment{g})
}

// load reads all profiles of a segment.
func (o *opened) load(g *segment) ([]*section, error) {
	r := segmentReader{segment: g, dir: o.dir}
	defer r.close()
	var out []*section
	for i := range g.sections {
		at := &g.sections[i]
		about, err := r.about(at, o.dict)
		if err != nil {
			return nil, err
		}
		plain, err := r.piece(at.detail)
		if err != nil {
			return nil, err
		}
		sec := &section{kind: at.kind, labels: at.labels, shape: at.shape, taken: make([]*taken, len(about))}
		for j := range about {
			sec.taken[j] = &about[j]
		}
		rows, err := rowsOf(plain, sec.taken, len(o.dict.shapes[at.shape].SampleTypes), len(o.dict.entries))
		if err != nil {
			return nil, &segmentError{g, err}
		}
		for j := range rows {
			sec.taken[j].packed = rows[j]
		}
		out = append(out, sec)
	}
	return out, nil
}

// replace puts segments in the place of others, all at once.
func (s *Store) replace(b *block, old, made []*segment) error {
	if err := s.catalog.apply(change{segments: made, noSegments: old}); err != nil {
		s.removeSegments(b, made)
		return err
	}
	b.mu.Lock()
	kept := slices.DeleteFunc(slices.Clone(b.segments), func(g *segment) bool { return slices.Contains(old, g) })
	b.segments = append(kept, made...)
	b.mu.Unlock()
	for _, g := range made {
		s.resize(g.size)
	}
	for _, g := range old {
		s.resize(-g.size)
	}
	s.removeSegments(b, old)
	return nil
}

// roll turns the profiles of an old block into sums of hours, and these into sums of the day, and drops it when it is older than
// everything. What is pinned stays as it is.
func (s *Store) roll(b *block, pins []store.Pin) error {
	age := s.Now().Sub(b.day.Add(24 * time.Hour))
	old := func(limit time.Duration) bool { return limit > 0 && age > limit }
	s.flushMu.Lock()
	defer s.flushMu.Unlock()
	var err error
	switch {
	case old(s.Days):
		err = s.settle(b, nothing, pins)
	case old(s.Hours):
		err = s.settle(b, 24*time.Hour, pins)
	case old(s.Detail):
		err = s.settle(b, time.Hour, pins)
	}
	if err != nil {
		return full(fmt.Errorf("summing up %s of %s: %w", b.Service, b.Day, err))
	}
	return nil
}

// drop removes a block.
func (s *Store) drop(b *block) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.gone || len(b.head)+len(b.flushing) > 0 {
		return nil // what comes so late goes with the next segments
	}
	if err := s.catalog.apply(change{noBlocks: []*blockRecord{&b.blockRecord}, noSegments: b.segments}); err != nil {
		return err
	}
	size := b.Names
	for _, g := range b.segments {
		size += g.size
	}
	b.segments, b.dict, b.Names, b.ids = nil, newDict(), 0, map[int64]map[store.ID]bool{}
	s.mu.Lock()
	s.size -= size + b.newest
	b.newest = 0
	delete(s.blocks, string(b.key()))
	s.sorted = nil
	b.gone = true
	s.mu.Unlock()
	err := os.RemoveAll(b.dir)
	os.Remove(filepath.Dir(b.dir)) // the day, when it was the last one
	return err
}

// baselineHour is the hour of segments that hold what counters of the next day are compared with.
const baselineHour = -1 << 40

// emptyRow returns the row of no labels, on disk.
func (s *Store) emptyRow(b *block) (uint32, error) {
	b.mu.Lock()
	d, err := b.names()
	if err != nil {
		b.mu.Unlock()
		return 0, err
	}
	d.finding()
	row := d.row(nil)
	piece, size := d.unkept()
	b.mu.Unlock()
	if len(piece) == 0 {
		return row, nil
	}
	if err := s.appendNames(b, piece); err != nil {
		return 0, err
	}
	record := b.blockRecord
	record.Names += int64(len(piece))
	if err := s.catalog.apply(change{blocks: []*blockRecord{&record}}); err != nil {
		return 0, err
	}
	b.mu.Lock()
	b.Names, d.kept = record.Names, size
	b.mu.Unlock()
	s.resize(int64(len(piece)))
	return row, nil
}

// sumsWith adds up the values of each entry of a block in all parts, which are like the first.
func (a *answer) sumsWith(b *block, first *part) ([][]int64, error) {
	sums := make([][]int64, len(first.types()))
	for k := range sums {
		sums[k] = make([]int64, len(first.dict.entries))
	}
	for _, p := range a.parts {
		if p.factors == nil {
			continue
		}
		if p.block == b {
			if err := p.addTo(sums); err != nil {
				return nil, err
			}
			continue
		}
		// The day before, which counters of the first profiles are compared with, has other names.
		before, err := a.sum([]*part{p})
		if err != nil {
			return nil, err
		}
		b.mu.Lock()
		d, err := b.names()
		if err != nil {
			b.mu.Unlock()
			return nil, err
		}
		for i, entry := range d.entriesOf(before) {
			for k := range sums {
				if int(entry) >= len(sums[k]) {
					sums[k] = append(sums[k], make([]int64, int(entry)+1-len(sums[k]))...)
				}
				sums[k][entry] += before.Values(k)[i]
			}
		}
		b.mu.Unlock()
	}
	return sums, nil
}

// sumOf returns profiles of many streams of a block as one. It starts with the first of them and so never at a time all of whose
// profiles are pinned.
func (a *answer) sumOf(b *block, streams [][]*found, end int64) (*taken, error) {
	at := streams[0][0].start
	for _, s := range streams {
		at = min(at, s[0].start)
	}
	for _, p := range a.parts {
		p.factors = nil
	}
	a.within = time.Duration(end - at)
	a.weigh(streams)
	first := streams[0][0].part
	var sums [][]int64
	err := a.grow(context.Background(), streams, func() (shrunk bool, err error) {
		if sums, err = a.sumsWith(b, first); err != nil {
			return false, err
		}
		return a.shrunk(first.kind, first.types(), sums), nil
	})
	if err != nil {
		return nil, err
	}
	if len(a.damage) > 0 {
		return nil, errors.Join(a.damage...)
	}
	t := &taken{start: at, end: end, time: at, totals: make([]int64, len(sums))}
	for _, s := range streams {
		for _, f := range s {
			t.profiles += f.profiles
			t.duration += f.duration
		}
	}
	a.weighLevels(streams)
	t.rounds = max(1, int(math.Round(float64(t.profiles)/a.levels.Processes)))
	if a.levels.Covered > 0 {
		t.end = at + a.levels.Covered
		t.flags |= flagCovered
	}
	if t.rounds != a.levels.Units {
		for k, typ := range first.types() {
			if store.NatureOf(first.kind, typ.Type, false) == store.Level {
				for i, v := range sums[k] {
					sums[k][i] = int64(math.Round(float64(v) / float64(a.levels.Units) * float64(t.rounds)))
				}
			}
		}
	}
	values := make([]int64, len(sums))
	var e encoder
	last := uint32(0)
	for entry := range sums[0] {
		for k := range values {
			values[k] = sums[k][entry]
			t.totals[k] += values[k]
		}
		if !allZero(values) {
			e.uint(uint64(uint32(entry) - last))
			last = uint32(entry)
			for _, v := range values {
				e.int(v)
			}
		}
	}
	t.packed = e.b
	return t, nil
}

// shrink drops the oldest blocks, but not what is pinned, until the store is within its bytes.
func (s *Store) shrink(pins []store.Pin) error {
	if s.Bytes == 0 {
		return nil
	}
	blocks := slices.Clone(s.all())
	slices.SortStableFunc(blocks, func(a, b *block) int { return a.day.Compare(b.day) })
	logged, _ := s.wal.state()
	var errs []error
	for _, b := range blocks {
		s.mu.Lock()
		over := s.size+logged > s.Bytes-s.Bytes/10
		s.mu.Unlock()
		if !over {
			break
		}
		s.flushMu.Lock()
		err := s.settle(b, nothing, pins)
		s.flushMu.Unlock()
		if err != nil {
			errs = append(errs, full(fmt.Errorf("dropping %s of %s: %w", b.Service, b.Day, err)))
		}
	}
	return errors.Join(errs...)
}

// forget drops from memory what nobody needed for long: IDs of hours that are over, and names until they fit in Memory. It reports
// whether that was much.
func (s *Store) forget() bool {
	blocks := slices.Clone(s.all())
	over := hourOf(s.Now().Add(-2 * time.Hour).UnixNano())
	total := int64(0)
	sizes := map[*block]int64{}
	for _, b := range blocks {
		b.mu.Lock()
		if len(b.head)+len(b.flushing) == 0 {
			for at := range b.ids {
				if at < over {
					delete(b.ids, at)
				}
			}
			if b.dict != nil && time.Since(time.Unix(0, b.used.Load())) > time.Hour {
				b.dict.find = nil
			}
		}
		if b.dict != nil {
			sizes[b] = b.dict.memory()
			total += sizes[b]
		}
		b.mu.Unlock()
	}
	if s.Memory == 0 {
		return false
	}
	before := total
	slices.SortFunc(blocks, func(a, b *block) int { return cmp.Compare(a.used.Load(), b.used.Load()) })
	for _, b := range blocks {
		if total <= s.Memory {
			break
		}
		b.mu.Lock()
		if b.dict != nil && len(b.head)+len(b.flushing) == 0 && b.dict.kept == b.dict.size() {
			b.dict = nil
			total -= sizes[b]
		}
		b.mu.Unlock()
	}
	return before-total > 8<<20
}

// memory returns about how many bytes d takes.
func (d *dict) memory() int64 {
	n := int64(100*len(d.texts)+32*len(d.functions)+96*len(d.frames)+8*len(d.nodes)+100*len(d.sets)+8*len(d.entries)) + d.outline.memory()
	if d.find != nil {
		n += int64(40*len(d.texts) + 24*(len(d.functions)+len(d.frames)) + 8*len(d.nodes) + 32*len(d.entries) + 100*len(d.sets))
	}
	return n
}
