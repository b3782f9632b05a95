package disk

import (
	"context"
	"slices"
	"strconv"

	"github.com/hone-perf/hone/internal/profile"
	"github.com/hone-perf/hone/internal/store"
)

var _ store.CallStore = (*Store)(nil)

// Calls implements store.CallStore.
func (s *Store) Calls(ctx context.Context, q store.Query, typ profile.ValueType) ([]store.CallTree, error) {
	return retry(func() ([]store.CallTree, error) { return s.callTrees(ctx, q, typ) })
}

func (s *Store) callTrees(ctx context.Context, q store.Query, typ profile.ValueType) ([]store.CallTree, error) {
	a, streams, _, err := s.weighed(ctx, q)
	if err != nil {
		return nil, err
	}
	defer a.close()
	groups := a.byBlock()
	k := groups[0][0].columnOf(typ)
	for _, group := range groups {
		for _, p := range group {
			if k < 0 || !sameTypes(p, groups[0][0]) {
				return nil, nil
			}
		}
	}
	divided := 1
	if q.Fold == store.Natural {
		nature := store.NatureOf(q.Kind, typ.Type, false)
		if nature == store.Level {
			divided = a.levels.Units
		}
		if len(groups) > 1 && (nature != store.Flow || slices.ContainsFunc(streams, countersIn)) {
			return nil, nil
		}
	}
	var out []store.CallTree
	err = a.grow(ctx, streams, func() (shrunk bool, err error) {
		out = make([]store.CallTree, 0, len(groups))
		for _, group := range a.byBlock() {
			if err := ctx.Err(); err != nil {
				return false, err
			}
			t, fell, err := a.callTree(group, k, divided)
			if err != nil {
				return false, err
			}
			out, shrunk = append(out, t), shrunk || fell
		}
		return shrunk, nil
	})
	return out, err
}

// countersIn reports whether profiles of a stream count since their process began.
func countersIn(list []*found) bool {
	return slices.ContainsFunc(list, func(f *found) bool { return f.counters() })
}

// columnOf returns the number of a sample type, or -1.
func (p *part) columnOf(typ profile.ValueType) int { return slices.Index(p.types(), typ) }

// sameTypes reports whether the values of two parts are of the same types.
func sameTypes(a, b *part) bool {
	return slices.Equal(a.types(), b.types()) && a.dict.shapes[a.shape].PeriodType == b.dict.shapes[b.shape].PeriodType
}

// byBlock returns the parts that count, those of a block together.
func (a *answer) byBlock() [][]*part {
	at := map[*opened]int{}
	var out [][]*part
	for _, p := range a.parts {
		if p.factors == nil {
			continue
		}
		i, ok := at[p.opened]
		if !ok {
			i = len(out)
			at[p.opened] = i
			out = append(out, nil)
		}
		out[i] = append(out[i], p)
	}
	return out
}

// callTree adds up column k of parts of one block, and divides by n. It reports whether a counter shrank.
func (a *answer) callTree(parts []*part, k, n int) (tree store.CallTree, shrunk bool, err error) {
	d := parts[0].dict
	sums := make([][]int64, len(parts[0].types()))
	sums[k] = make([]int64, len(d.entries))
	for _, p := range parts {
		if err := a.addPart(p, sums); err != nil {
			return store.CallTree{}, false, err
		}
	}
	shrunk = a.shrunk(parts[0].kind, parts[0].types(), sums)
	if n > 1 {
		for i, v := range sums[k] {
			sums[k][i] = store.PerRound(v, n)
		}
	}
	o := d.outline.now(d)
	if o == nil {
		return store.CallTree{Nodes: d.nodes, Frames: len(d.frames), Functions: d.functionsOf, Costs: d.costs(nil, sums[k])}, shrunk, nil
	}
	// Negative values take nothing away from the stacks of other lines: flame graphs show what costs something.
	var negative []store.CallCost
	folded := make([]int64, len(o.entries))
	for i, v := range sums[k] {
		if v < 0 {
			negative = append(negative, store.CallCost{Node: o.entries[o.entryOf[i]].node, Value: v})
		} else {
			folded[o.entryOf[i]] += v
		}
	}
	return store.CallTree{Nodes: o.nodes, Frames: len(o.frames), Functions: o.functionsOf, Costs: o.costs(negative, folded)}, shrunk, nil
}

// costs appends the values of entries.
func (d *dict) costs(costs []store.CallCost, values []int64) []store.CallCost {
	some := 0
	for _, v := range values {
		if v != 0 {
			some++
		}
	}
	costs = slices.Grow(costs, some)
	for i, v := range values {
		if v != 0 {
			costs = append(costs, store.CallCost{Node: d.entries[i].node, Value: v})
		}
	}
	return costs
}

// functionsOf appends the names of the functions in a frame, the outermost first, or its address where it has none.
func (d *dict) functionsOf(frame uint32, names []string) []string {
	fr := &d.frames[frame]
	if len(fr.lines) == 0 {
		return append(names, strconv.FormatUint(fr.address, 16))
	}
	for _, l := range slices.Backward(fr.lines) {
		names = append(names, d.texts[d.functions[l.function].name])
	}
	return names
}
