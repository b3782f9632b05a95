package heapgraph

import (
	"strings"
)

// A row is objects with the same holder, the same way from it to them, and the same type: what a reader sees as one. Rows are a tree.
type row struct {
	up      int32 // or -1
	depth   int16
	isMap   bool
	step    uint32 // index into steps, or one of the constants below
	typ     uint32
	holder  int32  // of a row for a holder, or -1
	set     uint32 // of a row for a set of holders, or 0
	bytes   uint64
	objects uint64
	made    map[uint32]own // by site, of the objects that were sampled; a part of bytes and objects
}

// own is what objects take by themselves.
type own struct{ bytes, objects uint64 }

const (
	maxRows  = 1 << 17 // what more rows would have is added to those above them
	maxDepth = 48
)

// around is the step to an object that is dominated by another one, but not by a pointer of it: several ways lead there.
const around = ^uint32(0)

// rows are a heap as a reader sees it.
type rows struct {
	g       *Graph
	holders []holder
	steps   []string
	sets    *sets
	nodes   []uint32 // node → what it is
	list    []row
	reached own

	child map[rowKey]int32
	maps  []bool // types that are insides of a map
}

type rowKey struct {
	up   int32
	step uint32
	typ  uint32
}

// merge makes the rows of a heap.
func merge(g *Graph) *rows {
	holders, steps := holdersOf(g)
	t := dominators(g, holders)
	sets := t.together()
	r := &rows{g: g, holders: holders, steps: steps, sets: sets, nodes: t.node, child: make(map[rowKey]int32), maps: make([]bool, len(g.Types))}
	for i, name := range g.Types {
		r.maps[i] = insideMap(name)
	}
	r.fill(t)
	return r
}

// insideMap reports whether a type is a part of how the runtime keeps maps, of which Go has no words.
func insideMap(name string) bool {
	name = strings.TrimLeft(name, "*[]")
	name = strings.TrimPrefix(name, "noalg.")
	for _, p := range []string{
		"internal/runtime/maps.", "map.", "maps.", "table<", "group<", "groupReference<", "bucket<", "hash<", "hmap<", "runtime.hmap", "runtime.bmap", "runtime.mapextra",
	} {
		if strings.HasPrefix(name, p) {
			return true
		}
	}
	return false
}

func (r *rows) fill(t *tree) {
	g, objects := t.g, uint32(len(t.g.Words))
	site := make(map[uint32]uint32, len(g.Made))
	for _, s := range g.Made {
		site[s.Object] = s.Site
	}
	const none = -1
	at := make([]int32, len(t.node)) // node → row
	for i := range at {
		at[i] = none
	}
	setRow := make(map[uint32]int32)
	var last rowKey
	lastRow := int32(none)
	place := func(up int32, step, typ uint32) int32 {
		if k := (rowKey{up, step, typ}); k != last || lastRow == none {
			last, lastRow = k, r.under(up, step, typ)
		}
		return lastRow
	}
	add := func(to int32, o uint32) {
		w := &r.list[to]
		size := uint64(g.Words[o]) * 8
		w.bytes += size
		w.objects++
		r.reached.bytes += size
		r.reached.objects++
		if s, ok := site[o]; ok && len(site) > 0 {
			if w.made == nil {
				w.made = make(map[uint32]own)
			}
			m := w.made[s]
			w.made[s] = own{m.bytes + size, m.objects + 1}
		}
	}
	for n := uint32(1); n < uint32(len(t.node)); n++ {
		what, above := t.node[n], t.idom[n]
		if what >= objects {
			h := int32(what - objects)
			up := int32(none)
			if above != 0 {
				up = at[above]
			}
			at[n] = r.holderRow(up, h)
			for _, e := range t.holders[h].holds {
				to := t.number[e.to]
				if t.idom[to] == n && at[to] == none {
					at[to] = place(at[n], e.step, g.Type[e.to])
				}
			}
			continue
		}
		if at[n] == none {
			up, step := int32(none), around
			if above != 0 {
				up = at[above]
			} else {
				step = 0
				set := r.sets.of[n]
				var ok bool
				if up, ok = setRow[set]; !ok {
					up = int32(len(r.list))
					r.list = append(r.list, row{up: none, holder: none, set: set + 1})
					setRow[set] = up
				}
			}
			at[n] = place(up, step, g.Type[what])
		}
		mine := at[n]
		add(mine, what)
		for e := g.First[what]; e < g.First[what+1]; e++ {
			o := g.To[e]
			if t.single.has(o) {
				add(place(mine, g.Step[e], g.Type[o]), o)
			} else if to := t.number[o]; t.idom[to] == n && at[to] == none {
				at[to] = place(mine, g.Step[e], g.Type[o])
			}
		}
	}
}

// holderRow returns the row of a holder, which has its own.
func (r *rows) holderRow(up, h int32) int32 {
	depth := int16(0)
	if up >= 0 {
		depth = r.list[up].depth + 1
	}
	r.list = append(r.list, row{up: up, holder: h, depth: depth})
	return int32(len(r.list) - 1)
}

// under returns the row of objects of a type, one step from those of another row. Lists and trees are rows whose types come back: they are one row, not one for
// each object in the depth. What a map is made of is the map.
func (r *rows) under(up int32, step, typ uint32) int32 {
	k := rowKey{up, step, typ}
	if at, ok := r.child[k]; ok {
		return at
	}
	at := int32(-1)
	inMap := r.maps[typ]
	if inMap && r.list[up].isMap {
		at = up
	}
	for above := up; at < 0 && above >= 0 && r.list[above].holder < 0 && r.list[above].set == 0; above = r.list[above].up {
		if r.list[above].typ == typ {
			at = above
		}
	}
	if at < 0 {
		if len(r.list) >= maxRows || r.list[up].depth >= maxDepth && r.list[up].holder < 0 {
			return up // without a note of it: there may be many more
		}
		at = int32(len(r.list))
		r.list = append(r.list, row{
			up: up, step: step, typ: typ, depth: r.list[up].depth + 1, holder: -1,
			isMap: inMap || strings.HasPrefix(r.g.Types[typ], "map["),
		})
	}
	if len(r.child) < 8*maxRows {
		r.child[k] = at
	}
	return at
}
