package querier

import (
	"cmp"
	"encoding/binary"
	"errors"
	"math/bits"
	"slices"
	"strconv"
	"strings"

	"github.com/hone-perf/hone/internal/fleet/connect"
	"github.com/hone-perf/hone/internal/profile"
	"github.com/hone-perf/hone/internal/store"
)

// How many frames an answer has.
const (
	defaultNodes = 8192 // as in Pyroscope
	mostNodes    = 1 << 20
)

// other is the frame that stands for those that are left out.
const other = "other"

// nodesOf returns how many frames a client wants.
func nodesOf(n *int64) int {
	switch {
	case n == nil || *n == 0:
		return defaultNodes
	case *n < 0 || *n > mostNodes:
		return mostNodes
	}
	return int(*n)
}

// A tree is the calls of one profile, or of two. Samples are added first; cut says how much of it is shown.
type tree struct {
	names []string
	ids   map[string]uint32

	paths []uint32 // names that nodes stand for
	nodes []node   // the root is the first one
	below edges

	least  int64  // what a frame has to have to be shown
	always string // the name of frames that are shown in any case, or ""
}

// edges leads from nodes to those below them, whose first names they have. It is a hash table: a map takes three times as long, and most of
// the time of a flame graph goes here.
type edges struct {
	slots []edge // a power of two
	used  int
}

type edge struct {
	parent int32
	name   uint32
	below  int32 // 0 is none: the root is below no node
}

// at returns the place for a node below another. It is good until the next call.
func (e *edges) at(parent int32, name uint32) *int32 {
	if 2*e.used >= len(e.slots) {
		e.resize(max(2*len(e.slots), 1<<10))
	}
	i := (uint64(parent)<<32 | uint64(name)) * 0x9e3779b97f4a7c15 >> 20
	for ; ; i++ {
		s := &e.slots[i&uint64(len(e.slots)-1)]
		if s.below != 0 && (s.parent != parent || s.name != name) {
			continue
		}
		if s.below == 0 {
			s.parent, s.name = parent, name
			e.used++ // those who ask for a place fill it
		}
		return &s.below
	}
}

// resize makes room for other numbers of edges: n is a power of two.
func (e *edges) resize(n int) {
	old := e.slots
	e.slots, e.used = make([]edge, n), 0
	for _, o := range old {
		if o.below != 0 {
			*e.at(o.parent, o.name) = o.below
		}
	}
}

// reserve makes room for n edges more.
func (e *edges) reserve(n int) {
	if n = 1 << bits.Len(uint(2*(e.used+n))); n > len(e.slots) {
		e.resize(n)
	}
}

// A node stands for calls that follow each other, where none but the last one has others below it. Most stacks are deep, and end in calls that
// they share with no other stack.
type node struct {
	from, to    int32 // in paths; the root has none
	parent      int32
	child, next int32 // of those below it, in any order; 0 is none
	self, total [2]int64
}

func (n *node) size() int64 { return max(n.total[0], n.total[1]) }

func newTree() *tree {
	return &tree{names: []string{""}, ids: map[string]uint32{"": 0}, nodes: []node{{parent: -1}}}
}

func (t *tree) name(s string) uint32 {
	id, ok := t.ids[s]
	if !ok {
		id = uint32(len(t.names))
		t.ids[s] = id
		t.names = append(t.names, s)
	}
	return id
}

// add adds the values of sample type k on one side, of the samples that keep says. site is what stacks have to begin with at the root.
func (t *tree) add(side int, p *profile.Profile, k int, site []location, keep func(i int) bool) {
	functions := make([]uint32, len(p.Functions))
	for i := range p.Functions {
		functions[i] = t.name(p.Functions[i].Name)
	}
	var begin []uint32
	for _, s := range site {
		begin = append(begin, t.name(s.Name))
	}
	// As in services whose stacks are deep; what is too small grows.
	t.paths, t.nodes = slices.Grow(t.paths, 16*p.NumSamples()), slices.Grow(t.nodes, 2*p.NumSamples())
	t.below.reserve(2 * p.NumSamples())
	var stack, path []uint32 // a path goes from the root to the leaf
	for i, v := range p.Values(k) {
		if v <= 0 || keep != nil && !keep(i) {
			continue
		}
		stack = p.Stack(i, stack[:0])
		path = path[:0]
		for _, at := range slices.Backward(stack) {
			l := &p.Locations[at]
			if len(l.Lines) == 0 {
				path = append(path, t.name(strconv.FormatUint(l.Address, 16)))
			}
			for k := len(l.Lines) - 1; k >= 0; k-- {
				path = append(path, functions[l.Lines[k].Function])
			}
		}
		if len(path) < len(begin) || !slices.Equal(path[:len(begin)], begin) {
			continue
		}
		t.count(path, side, v)
	}
}

// count adds the value of a path.
func (t *tree) count(path []uint32, side int, v int64) {
	at := int32(0)
	t.nodes[0].total[side] += v
	for len(path) > 0 {
		slot := t.below.at(at, path[0])
		if *slot == 0 {
			*slot = t.node(at, path)
		}
		below := *slot
		n := &t.nodes[below]
		run := t.paths[n.from:n.to]
		same := 1
		for same < len(run) && same < len(path) && run[same] == path[same] {
			same++
		}
		if same < len(run) {
			// The first calls of the node get one of their own, where the path leaves them.
			upper := int32(len(t.nodes))
			t.nodes = append(t.nodes, node{from: n.from, to: n.from + int32(same), parent: at, total: n.total})
			n = &t.nodes[below]
			n.from, n.parent = n.from+int32(same), upper
			*slot = upper
			*t.below.at(upper, run[same]) = below
			below, n = upper, &t.nodes[upper]
		}
		n.total[side] += v
		at, path = below, path[same:]
	}
	t.nodes[at].self[side] += v
}

// node returns a new node.
func (t *tree) node(parent int32, path []uint32) int32 {
	from := int32(len(t.paths))
	t.paths = append(t.paths, path...)
	t.nodes = append(t.nodes, node{from: from, to: int32(len(t.paths)), parent: parent})
	return int32(len(t.nodes) - 1)
}

// cut has the n largest frames shown, and those that are named always.
func (t *tree) cut(n int, always string) {
	t.least, t.always = least(t.nodes[1:], n), always
	for i := 1; i < len(t.nodes); i++ {
		n := &t.nodes[i]
		up := &t.nodes[n.parent]
		n.next, up.child = up.child, int32(i)
	}
}

// least returns the size that a frame needs to be among the largest n of some nodes, or 0 if there are not more.
func least(nodes []node, n int) int64 {
	// Those of about the same size are counted together, so that only one of these groups has to be put in order.
	group := func(n *node) int { return bits.Len64(uint64(n.size())) }
	var frames [65]int
	all := 0
	for i := range nodes {
		length := int(nodes[i].to - nodes[i].from)
		frames[group(&nodes[i])] += length
		all += length
	}
	if all <= n {
		return 0
	}
	g := len(frames) - 1
	for ; n > frames[g]; g-- {
		n -= frames[g]
	}
	var near []*node
	for i := range nodes {
		if group(&nodes[i]) == g {
			near = append(near, &nodes[i])
		}
	}
	slices.SortFunc(near, func(a, b *node) int { return cmp.Compare(b.size(), a.size()) })
	for _, one := range near {
		if n -= int(one.to - one.from); n <= 0 {
			return one.size()
		}
	}
	return 0
}

// A place is one of the calls that a node stands for.
type place struct{ at, call int32 }

// children appends the frames that are shown on one, by name, and returns what those have that are not.
func (t *tree) children(at place, buf []frame) (shown []frame, rest [2]int64) {
	add := func(p place) {
		n := &t.nodes[p.at]
		id := t.paths[n.from+p.call]
		name := t.names[id]
		if n.size() < t.least && (t.always == "" || name != t.always) {
			rest = [2]int64{rest[0] + n.total[0], rest[1] + n.total[1]}
			return
		}
		f := frame{place: p, id: id, name: name, total: n.total}
		if p.call+1 == n.to-n.from {
			f.self = n.self
		}
		buf = append(buf, f)
	}
	n := &t.nodes[at.at]
	if at.call+1 < n.to-n.from {
		add(place{at.at, at.call + 1})
		return buf, rest
	}
	for c := n.child; c != 0; c = t.nodes[c].next {
		add(place{c, 0})
	}
	slices.SortFunc(buf, func(a, b frame) int { return strings.Compare(a.name, b.name) })
	return buf, rest
}

// A frame is what is written at some place.
type frame struct {
	place
	rest        bool   // it stands for several
	id          uint32 // of its name
	name        string
	depth       int
	x           [2]int64
	self, total [2]int64
}

// root returns the frame of the root.
func (t *tree) root() frame { return frame{self: t.nodes[0].self, total: t.nodes[0].total} }

// walk calls write for each frame that is shown, those on the right first. Those that hide names count as not shown.
func (t *tree) walk(hide func(name string) bool, write func(f *frame)) {
	stack := []frame{t.root()}
	others := t.name(other)
	var buf []frame
	var f frame // one for all: write keeps none
	for len(stack) > 0 {
		f = stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		write(&f)
		if f.rest {
			continue
		}
		x := [2]int64{f.x[0] + f.self[0], f.x[1] + f.self[1]}
		shown, rest := t.children(f.place, buf[:0])
		buf = shown
		for _, child := range shown {
			if hide(child.name) {
				rest[0], rest[1] = rest[0]+child.total[0], rest[1]+child.total[1]
				continue
			}
			child.depth, child.x = f.depth+1, x
			stack = append(stack, child)
			x[0], x[1] = x[0]+child.total[0], x[1]+child.total[1]
		}
		if rest != [2]int64{} {
			stack = append(stack, frame{rest: true, id: others, name: other, depth: f.depth + 1, x: x, self: rest, total: rest})
		}
	}
}

// A numbering gives names numbers in the order in which they are met. The first one is of the root.
type numbering struct {
	names []string
	ids   []int64 // by those of the tree, from 1 on
}

func (n *numbering) of(f *frame) int64 {
	if int(f.id) >= len(n.ids) {
		n.ids = append(n.ids, make([]int64, int(f.id)+1-len(n.ids))...)
	}
	if n.ids[f.id] == 0 {
		name := f.name
		if len(n.names) == 0 {
			name = "total"
		}
		n.names = append(n.names, name)
		n.ids[f.id] = int64(len(n.names))
	}
	return n.ids[f.id] - 1
}

// graph returns the left side of t as a flame graph.
func (t *tree) graph(maxNodes int) *flameGraph {
	t.cut(maxNodes, "")
	out := &flameGraph{Total: t.nodes[0].total[0]}
	var names numbering
	t.walk(func(name string) bool { return name == other }, func(f *frame) {
		if f.depth == len(out.Levels) {
			out.Levels = append(out.Levels, level{})
		}
		l := &out.Levels[f.depth]
		// Backwards, since nodes come from the right.
		l.Values = append(l.Values, names.of(f), f.self[0], f.total[0], f.x[0])
		out.MaxSelf = max(out.MaxSelf, f.self[0])
	})
	for i := range out.Levels {
		slices.Reverse(out.Levels[i].Values)
		distances(out.Levels[i].Values, 0, 4)
	}
	out.Names = names.names
	return out
}

// diff returns both sides of t as one flame graph.
func (t *tree) diff(maxNodes int) *flameGraphDiff {
	t.cut(maxNodes, "")
	total := t.nodes[0].total
	out := &flameGraphDiff{Total: total[0] + total[1], LeftTicks: total[0], RightTicks: total[1]}
	var names numbering
	t.walk(func(string) bool { return false }, func(f *frame) {
		if f.depth == len(out.Levels) {
			out.Levels = append(out.Levels, level{})
		}
		l := &out.Levels[f.depth]
		l.Values = append(l.Values, names.of(f), f.self[1], f.total[1], f.x[1], f.self[0], f.total[0], f.x[0])
		out.MaxSelf = max(out.MaxSelf, f.self[0], f.self[1])
	})
	for i := range out.Levels {
		slices.Reverse(out.Levels[i].Values)
		distances(out.Levels[i].Values, 0, 7)
		distances(out.Levels[i].Values, 3, 7)
	}
	out.Names = names.names
	return out
}

// distances makes offsets of places how far they are from the end of the place before.
func distances(values []int64, start, step int) {
	end := int64(0)
	for i := start; i < len(values); i += step {
		values[i] -= end
		end += values[i] + values[i+1]
	}
}

// bytes returns the left side of t in the form of Pyroscope's trees: for each node its name, its self and the number of its children,
// which follow it.
func (t *tree) bytes(maxNodes int) []byte {
	t.cut(maxNodes, other)
	var out []byte
	var buf []frame
	stack := []frame{t.root()}
	for len(stack) > 0 {
		f := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		out = binary.AppendUvarint(out, uint64(len(f.name)))
		out = append(out, f.name...)
		out = binary.AppendUvarint(out, uint64(f.self[0]))
		var shown []frame
		if !f.rest {
			var rest [2]int64
			shown, rest = t.children(f.place, buf[:0])
			if rest[0] > 0 {
				at, there := slices.BinarySearchFunc(shown, other, func(f frame, name string) int { return strings.Compare(f.name, name) })
				if !there {
					shown = slices.Insert(shown, at, frame{rest: true, name: other})
				}
				shown[at].self[0] += rest[0]
			}
			buf = shown
		}
		out = binary.AppendUvarint(out, uint64(len(shown)))
		stack = append(stack, shown...)
	}
	return out
}

// merged returns what a query selects as a profile, and the number of a sample type in it, or nil when there is nothing.
func (s *Server) merged(c *call, q store.Query, ref typeRef, ids []string) (*profile.Profile, int, error) {
	var p *profile.Profile
	if len(ids) > 0 {
		var err error
		if p, err = s.named(c, q, ref, ids); p == nil || err != nil {
			return nil, 0, err
		}
	} else {
		m, err := s.opt.Store.Merge(c.ctx, q)
		if err != nil {
			if errors.As(err, new(*store.NothingError)) {
				return nil, 0, nil // is no error for those who look at a time without profiles
			}
			return nil, 0, err
		}
		p = m.Profile
	}
	k := slices.IndexFunc(p.SampleTypes, func(t profile.ValueType) bool { return t == ref.typ })
	if k < 0 {
		return nil, 0, nil
	}
	return p, k, nil
}

// maxIDs is how many profiles can be named.
const maxIDs = 1000

// named adds up a sample type of profiles that are named, of those that a query selects.
func (s *Server) named(c *call, q store.Query, ref typeRef, ids []string) (*profile.Profile, error) {
	if len(ids) > maxIDs {
		return nil, connect.Errorf(connect.InvalidArgument, "there are %d profiles, more than %d", len(ids), maxIDs)
	}
	var m profile.Merger
	found := false
	for _, text := range ids {
		id, err := store.ParseID(strings.ReplaceAll(text, "-", ""))
		if err != nil {
			return nil, connect.Errorf(connect.InvalidArgument, "%v", err)
		}
		e, p, _, err := s.opt.Store.Profile(c.ctx, q, id)
		switch {
		case errors.Is(err, store.ErrNotFound):
			continue
		case err != nil:
			return nil, err
		case e.Kind != q.Kind || !slices.Contains(p.SampleTypes, ref.typ):
			continue
		}
		if err = m.Add(p.WithTypes([]string{ref.typ.Type})); err != nil {
			return nil, err
		}
		found = true
	}
	if !found {
		return nil, nil
	}
	return m.Profile()
}

func callSite(s *stackSelector) []location {
	if s == nil || s.GoPGO != nil {
		return nil
	}
	return s.CallSite
}

func (s *Server) stacktraces(c *call) error {
	var m stacktracesRequest
	if err := c.decode(&m); err != nil {
		return err
	}
	t, err := s.largest(c, &m)
	if err != nil {
		return err
	}
	if t == nil {
		t = newTree()
		if err := s.grow(c, t, 0, &m, nil); err != nil {
			return err
		}
	}
	return c.answer(shown(t, m.Format, nodesOf(m.MaxNodes)))
}

// shown returns a tree in the format that a client wants.
func shown(t *tree, format int32, maxNodes int) *stacktracesResponse {
	if format == formatTree {
		return &stacktracesResponse{Tree: t.bytes(maxNodes)}
	}
	return &stacktracesResponse{Flamegraph: t.graph(maxNodes)}
}

// grow adds what a request selects to a tree.
func (s *Server) grow(c *call, t *tree, side int, m *stacktracesRequest, keep func(p *profile.Profile) func(i int) bool) error {
	q, ref, err := s.selectOne(c, m.ProfileTypeID, m.LabelSelector, m.Start, m.End)
	if err != nil {
		return err
	}
	p, k, err := s.merged(c, q, ref, m.IDs)
	if p == nil || err != nil {
		return err
	}
	var only func(i int) bool
	if keep != nil {
		only = keep(p)
	}
	t.add(side, p, k, callSite(m.Stacks), only)
	return nil
}

// spanLabel is what libraries of Pyroscope for OpenTelemetry write on samples.
const spanLabel = "span_id"

func (s *Server) spanProfile(c *call) error {
	var m spanProfileRequest
	if err := c.decode(&m); err != nil {
		return err
	}
	t := newTree()
	of := &stacktracesRequest{ProfileTypeID: m.ProfileTypeID, LabelSelector: m.LabelSelector, Start: m.Start, End: m.End}
	err := s.grow(c, t, 0, of, func(p *profile.Profile) func(i int) bool {
		sets := p.LabelSets()
		in := make([]bool, len(sets))
		for i, set := range sets {
			in[i] = slices.ContainsFunc(m.Spans, func(span string) bool { return set.Has(spanLabel, span) })
		}
		return func(i int) bool { return in[p.Label(i)] }
	})
	if err != nil {
		return err
	}
	return c.answer(shown(t, m.Format, nodesOf(m.MaxNodes)))
}

func (s *Server) diff(c *call) error {
	var m diffRequest
	if err := c.decode(&m); err != nil {
		return err
	}
	if m.Left == nil || m.Right == nil {
		return connect.Errorf(connect.InvalidArgument, "left and right are required")
	}
	t := newTree()
	for side, one := range []*stacktracesRequest{m.Left, m.Right} {
		if err := s.grow(c, t, side, one, nil); err != nil {
			return err
		}
	}
	return c.answer(&diffResponse{t.diff(max(nodesOf(m.Left.MaxNodes), nodesOf(m.Right.MaxNodes)))})
}
