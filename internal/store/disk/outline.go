package disk

import (
	"slices"
	"sync"

	"github.com/hone-perf/hone/internal/profile"
	"github.com/hone-perf/hone/internal/store"
)

// An outline is what a dict shows without lines and columns. A deploy moves functions to other lines, so that most of its stacks are new, and almost none of them calls
// other functions: a day with a deploy every hour has a million calls in the dict, and as many in the outline as one version has. Like the dict, it only grows. It is
// not on disk; who asks first makes it.
type outline struct {
	mu   sync.Mutex
	dict // functions, frames, nodes and entries; the rest is that of the dict

	// Of each function, frame, node and entry of the dict, the number of what stands for it here.
	functionOf, frameOf, nodeOf, entryOf []uint32

	functionAt map[function]uint32
	frameAt    map[string]uint32
	nodeAt     nodeTable
	entryAt    map[entry]uint32

	useless int // nodes that the dict had when an outline of it had about as many; or 0
}

// An outlined is an outline as far as a dict goes.
type outlined struct {
	dict
	of                           *dict
	functionOf, frameOf, entryOf []uint32
}

// now takes in what d has now, and returns it. It returns nil when d has hardly more than an outline of it, as on a day without deploys.
func (o *outline) now(d *dict) *outlined {
	o.mu.Lock()
	defer o.mu.Unlock()
	if len(d.nodes) < 2*o.useless {
		return nil
	}
	known := len(o.nodeOf) > 0
	if !known {
		o.begin()
	}
	saves := func(all, here int) bool { return known || 4*here <= 3*all }
	o.addFrames(d)
	useful := saves(len(d.frames), len(o.frames)) // else the nodes are not worth a look
	if useful {
		o.addNodes(d)
		useful = saves(len(d.nodes), len(o.nodes))
	}
	if !useful {
		o.clear(len(d.nodes))
		return nil
	}
	return &outlined{
		dict: dict{
			texts: d.texts, functions: o.functions, frames: o.frames, nodes: o.nodes, sets: d.sets, entries: o.entries, rows: d.rows, shapes: d.shapes,
		},
		of: d, functionOf: o.functionOf, frameOf: o.frameOf, entryOf: o.entryOf,
	}
}

func (o *outline) begin() {
	o.nodes, o.nodeOf, o.nodeAt = make([]store.CallNode, 1), make([]uint32, 1), newNodeTable(0)
	o.functionAt, o.frameAt, o.entryAt = map[function]uint32{}, map[string]uint32{}, map[entry]uint32{}
}

// clear forgets an outline that is of no use until there are twice as many nodes.
func (o *outline) clear(nodes int) {
	o.dict = dict{}
	o.functionOf, o.frameOf, o.nodeOf, o.entryOf = nil, nil, nil, nil
	o.functionAt, o.frameAt, o.nodeAt, o.entryAt = nil, nil, nodeTable{}, nil
	o.useless = nodes
}

// addFrames adds the functions and frames of d that are new.
func (o *outline) addFrames(d *dict) {
	for _, fn := range d.functions[min(len(o.functionOf), len(d.functions)):] {
		key := fn
		if d.texts[fn.name] != "" {
			key.start = 0 // else it is all that tells functions without names apart
		}
		id, ok := o.functionAt[key]
		if !ok {
			id = uint32(len(o.functions))
			o.functions = append(o.functions, fn)
			o.functionAt[key] = id
		}
		o.functionOf = append(o.functionOf, id)
	}
	var key encoder
	for i := len(o.frameOf); i < len(d.frames); i++ {
		fr := &d.frames[i]
		key.b = key.b[:0]
		key.uint(uint64(fr.mapping))
		key.uint(fr.address)
		key.bool(fr.folded)
		for _, l := range fr.lines {
			key.uint(uint64(o.functionOf[l.function]))
		}
		id, ok := o.frameAt[string(key.b)]
		if !ok {
			id = uint32(len(o.frames))
			plain := frame{mapping: fr.mapping, address: fr.address, folded: fr.folded, lines: make([]line, len(fr.lines))}
			for j, l := range fr.lines {
				plain.lines[j].function = o.functionOf[l.function]
			}
			o.frames = append(o.frames, plain)
			o.frameAt[string(key.b)] = id
		}
		o.frameOf = append(o.frameOf, id)
	}
}

// addNodes adds the nodes and entries of d that are new.
func (o *outline) addNodes(d *dict) {
	if n := len(d.nodes) - len(o.nodeOf); n > 0 {
		o.nodeOf = slices.Grow(o.nodeOf, n)
	}
	for i := len(o.nodeOf); i < len(d.nodes); i++ {
		n := store.CallNode{Parent: o.nodeOf[d.nodes[i].Parent], Frame: o.frameOf[d.nodes[i].Frame]}
		id, ok := o.nodeAt.get(o.nodes, n)
		if !ok {
			id = uint32(len(o.nodes))
			o.nodes = append(o.nodes, n)
			o.nodeAt.put(o.nodes, id)
		}
		o.nodeOf = append(o.nodeOf, id)
	}
	for i := len(o.entryOf); i < len(d.entries); i++ {
		e := entry{o.nodeOf[d.entries[i].node], d.entries[i].set}
		id, ok := o.entryAt[e]
		if !ok {
			id = uint32(len(o.entries))
			o.entries = append(o.entries, e)
			o.entryAt[e] = id
		}
		o.entryOf = append(o.entryOf, id)
	}
}

// memory returns about how many bytes o takes.
func (o *outline) memory() int64 {
	o.mu.Lock()
	defer o.mu.Unlock()
	return int64(80*len(o.functions) + 200*len(o.frames) + 8*len(o.nodes) + 4*len(o.nodeAt.slots) + 40*len(o.entries) +
		4*(len(o.functionOf)+len(o.frameOf)+len(o.nodeOf)+len(o.entryOf)))
}

// profile makes a profile of values by entry of the dict. Each is divided first, for its type. It returns nil when some are negative: where they add up to nothing
// with others, nobody would see them.
func (o *outlined) profile(h profile.Header, sums [][]int64, dividers []int) (*profile.Profile, error) {
	folded := make([][]int64, len(sums))
	for k, values := range sums {
		folded[k] = make([]int64, len(o.entries))
		for i, v := range values {
			if v == 0 {
				continue
			}
			if v < 0 {
				return nil, nil
			}
			if dividers[k] > 1 {
				v = store.PerRound(v, dividers[k])
			}
			folded[k][o.entryOf[i]] += v
		}
	}
	plain := o.dict
	frames := o.of.framesIn(sums)
	plain.functions = slices.Clone(plain.functions)
	begun := make([]bool, len(plain.functions))
	for i, at := range frames {
		for _, l := range o.of.frames[at].lines {
			if id := o.functionOf[l.function]; !begun[id] {
				plain.functions[id].start, begun[id] = o.of.functions[l.function].start, true
			}
		}
		frames[i] = o.frameOf[at]
	}
	return plain.profile(h, folded, frames)
}

// framesIn returns the frames of the stacks that have values, in the order in which a profile of them has them. Where functions began at several lines, the first
// one counts.
func (d *dict) framesIn(sums [][]int64) []uint32 {
	nodes, frames := make([]bool, len(d.nodes)), make([]bool, len(d.frames))
	var out []uint32
	for i, e := range d.entries {
		if !slices.ContainsFunc(sums, func(values []int64) bool { return values[i] != 0 }) {
			continue
		}
		for at := e.node; at != 0 && !nodes[at]; at = d.nodes[at].Parent {
			nodes[at] = true
			if fr := d.nodes[at].Frame; !frames[fr] {
				frames[fr] = true
				out = append(out, fr)
			}
		}
	}
	return out
}
