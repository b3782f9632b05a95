package disk

import (
	"context"
	"errors"

	"github.com/hone-perf/hone/internal/profile"
	"github.com/hone-perf/hone/internal/store"
)

// grow calls add, which adds up the values of streams as weigh weighs them and reports whether a counter shrank. A counter that shrinks was restarted, even
// if the totals do not show it because the new process has counted more than the one before. Then the profiles are compared stack by stack, and add is
// called again. Otherwise, most of them are not even read.
func (a *answer) grow(ctx context.Context, streams [][]*found, add func() (shrunk bool, err error)) error {
	damage := len(a.damage)
	shrunk, err := add()
	if err != nil || !shrunk {
		return err
	}
	found, err := a.findRestarts(ctx, streams)
	if err != nil || !found {
		return err
	}
	a.damage = a.damage[:damage]
	for _, p := range a.parts {
		p.factors = nil
	}
	a.weigh(streams)
	_, err = add()
	return err
}

// shrunk reports whether a counter shrank, given sums by entry of profiles of a kind.
func (a *answer) shrunk(kind string, types []profile.ValueType, sums [][]int64) bool {
	for k, t := range types {
		if a.Fold != store.Natural || sums[k] == nil || store.NatureOf(kind, t.Type, true) != store.Counter {
			continue
		}
		for _, v := range sums[k] {
			if v < 0 {
				return true
			}
		}
	}
	return false
}

// findRestarts marks the profiles of streams in which a stack has counted less than in the profile before, and reports whether there are any.
func (a *answer) findRestarts(ctx context.Context, streams [][]*found) (some bool, err error) {
	by := map[*part][]*found{}
	var order []*part
	for _, s := range streams {
		for _, f := range s {
			if f.before == nil || !f.counters() {
				continue
			}
			if by[f.part] == nil {
				order = append(order, f.part)
			}
			by[f.part] = append(by[f.part], f)
		}
	}
	for _, p := range order {
		if err := ctx.Err(); err != nil {
			return some, err
		}
		read := map[*part][][]byte{} // the rows of p and of the parts before it: those of all parts may not fit into memory
		rows := func(f *found) ([]byte, error) {
			if f.part.stored == nil {
				return f.packed, nil
			}
			all, ok := read[f.part]
			if !ok {
				plain, err := f.part.reader.piece(f.part.stored.detail)
				if err != nil {
					return nil, err
				}
				if all, err = rowsOf(plain, f.part.about, len(f.part.types()), len(f.part.dict.entries)); err != nil {
					return nil, &segmentError{f.part.reader.segment, err}
				}
				read[f.part] = all
			}
			return all[f.at], nil
		}
		for _, f := range by[p] {
			f.fell, err = a.fell(f, rows)
			var bad *segmentError
			if err != nil && !errors.As(err, &bad) { // adding it up reports the damage
				return some, err
			}
			some = some || f.fell
		}
	}
	return some, nil
}

// fell reports whether a counter of a stack has fallen since the profile before.
func (a *answer) fell(f *found, rows func(*found) ([]byte, error)) (bool, error) {
	now, err := rows(f)
	if err != nil {
		return false, err
	}
	was, err := rows(f.before)
	if err != nil {
		return false, err
	}
	d, types := f.part.dict, len(f.part.types())
	natures := a.natures(f)
	if f.before.part.opened != f.part.opened { // another day, which has other names
		of := func(p *part, packed []byte, sign int64) (*profile.Profile, error) {
			sums, err := sumsOf(packed, types, len(p.dict.entries), sign)
			if err != nil {
				return nil, err
			}
			return p.profile(sums)
		}
		p, err := of(f.part, now, 1)
		if err != nil {
			return false, err
		}
		before, err := of(f.before.part, was, -1)
		if err != nil {
			return false, err
		}
		if p, err = profile.Merge(p, before); err != nil {
			return false, err
		}
		return store.Shrunk(f.part.kind, p), nil
	}
	sums, err := sumsOf(now, types, len(d.entries), 1)
	if err != nil {
		return false, err
	}
	fell := false
	err = eachRow(was, types, func(entry uint32, values []int64) {
		for k, n := range natures {
			fell = fell || n == store.Counter && sums[k][entry] < values[k]
		}
	})
	return fell, err
}

// sumsOf returns the rows of a profile by type and entry, multiplied by a number.
func sumsOf(packed []byte, types, entries int, by int64) ([][]int64, error) {
	sums := make([][]int64, types)
	for k := range sums {
		sums[k] = make([]int64, entries)
	}
	err := eachRow(packed, types, func(entry uint32, values []int64) {
		for k, v := range values {
			sums[k][entry] = by * v
		}
	})
	return sums, err
}
