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
	a, err := s.ask(ctx, q, nil)
	if err != nil {
		return nil, err
	}
	defer a.close()
	streams := a.streams()
	if len(streams) == 0 {
		return nil, a.nothing()
	}
	a.weigh(streams)
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
			divided = rounds(streams)
		}
		if len(groups) > 1 && (nature != store.Flow || slices.ContainsFunc(streams, countersIn)) {
			return nil, nil
		}
	}
	out := make([]store.CallTree, 0, len(groups))
	for _, group := range groups {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		t, err := a.callTree(group, k, divided)
		if err != nil {
			return nil, err
		}
		out = append(out, t)
	}
	return out, nil
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

// callTree adds up column k of parts of one block, and divides by n.
func (a *answer) callTree(parts []*part, k, n int) (store.CallTree, error) {
	d := parts[0].dict
	sums := make([][]int64, len(parts[0].types()))
	sums[k] = make([]int64, len(d.entries))
	for _, p := range parts {
		if err := a.addPart(p, sums); err != nil {
			return store.CallTree{}, err
		}
	}
	plain := d.outline.now(d)
	t := store.CallTree{Nodes: plain.nodes, Frames: len(plain.frames), Functions: plain.functionsOf}
	costs := make([]int64, len(plain.entries))
	for i, v := range sums[k] {
		if v == 0 {
			continue
		}
		if n > 1 {
			v = store.PerRound(v, n)
		}
		if v < 0 {
			// Flame graphs show what costs something; this takes nothing away from the stacks of other lines.
			t.Costs = append(t.Costs, store.CallCost{Node: plain.entries[plain.entryOf[i]].node, Value: v})
			continue
		}
		costs[plain.entryOf[i]] += v
	}
	for i, v := range costs {
		if v != 0 {
			t.Costs = append(t.Costs, store.CallCost{Node: plain.entries[i].node, Value: v})
		}
	}
	return t, nil
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
