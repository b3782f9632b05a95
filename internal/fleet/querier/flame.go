package querier

import (
	"encoding/binary"
	"errors"
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

// A tree is the calls of one profile, or of two.
type tree struct {
	names []string
	ids   map[string]uint32
	nodes []node // the root is the first one
	at    map[edge]int32
}

type node struct {
	name        uint32
	self, total [2]int64
	children    []int32
}

type edge struct {
	parent int32
	name   uint32
}

func newTree() *tree {
	return &tree{names: []string{""}, ids: map[string]uint32{"": 0}, nodes: make([]node, 1), at: map[edge]int32{}}
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
	var stack, path []uint32
	for i, v := range p.Values(k) {
		if v <= 0 || keep != nil && !keep(i) {
			continue
		}
		stack, path = p.Stack(i, stack[:0]), path[:0]
		for _, at := range slices.Backward(stack) {
			l := &p.Locations[at]
			if len(l.Lines) == 0 {
				path = append(path, t.name(strconv.FormatUint(l.Address, 16)))
			}
			for _, line := range slices.Backward(l.Lines) {
				path = append(path, functions[line.Function])
			}
		}
		if len(path) < len(begin) || !slices.Equal(path[:len(begin)], begin) {
			continue
		}
		at := int32(0)
		t.nodes[0].total[side] += v
		for _, name := range path {
			e := edge{at, name}
			child, ok := t.at[e]
			if !ok {
				child = int32(len(t.nodes))
				t.nodes = append(t.nodes, node{name: name})
				t.nodes[at].children = append(t.nodes[at].children, child)
				t.at[e] = child
			}
			at = child
			t.nodes[at].total[side] += v
		}
		t.nodes[at].self[side] += v
	}
}

// order sorts the children of each node by name.
func (t *tree) order() {
	for i := range t.nodes {
		slices.SortFunc(t.nodes[i].children, func(a, b int32) int { return strings.Compare(t.names[t.nodes[a].name], t.names[t.nodes[b].name]) })
	}
}

// least returns the total that a node needs to be among the largest n of some nodes, or 0 if there are not more.
func least(nodes []node, n int) int64 {
	if len(nodes) <= n {
		return 0
	}
	totals := make([]int64, len(nodes))
	for i := range nodes {
		totals[i] = max(nodes[i].total[0], nodes[i].total[1])
	}
	slices.Sort(totals)
	return totals[len(totals)-n]
}

// A frame is a node that is to be written at some place.
type frame struct {
	node  node
	name  string
	depth int
	x     [2]int64
}

// walk calls write for each node that is shown, those on the right first.
func (t *tree) walk(min int64, hide func(name string) bool, write func(f *frame)) {
	stack := []frame{{node: t.nodes[0]}}
	for len(stack) > 0 {
		f := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		write(&f)
		x := [2]int64{f.x[0] + f.node.self[0], f.x[1] + f.node.self[1]}
		var rest [2]int64
		for _, c := range f.node.children {
			child := &t.nodes[c]
			name := t.names[child.name]
			if max(child.total[0], child.total[1]) < min || hide(name) {
				rest[0], rest[1] = rest[0]+child.total[0], rest[1]+child.total[1]
				continue
			}
			stack = append(stack, frame{node: *child, name: name, depth: f.depth + 1, x: x})
			x[0], x[1] = x[0]+child.total[0], x[1]+child.total[1]
		}
		if rest != [2]int64{} {
			stack = append(stack, frame{node: node{self: rest, total: rest}, name: other, depth: f.depth + 1, x: x})
		}
	}
}

// A numbering gives names numbers in the order in which they are met. The first one is of the root.
type numbering struct {
	names []string
	ids   map[string]int64
}

func (n *numbering) of(name string) int64 {
	if n.ids == nil {
		n.ids = map[string]int64{}
	}
	id, ok := n.ids[name]
	if !ok {
		id = int64(len(n.names))
		n.ids[name] = id
		if id == 0 {
			name = "total"
		}
		n.names = append(n.names, name)
	}
	return id
}

// graph returns the left side of t as a flame graph.
func (t *tree) graph(maxNodes int) *flameGraph {
	t.order()
	out := &flameGraph{Total: t.nodes[0].total[0]}
	var names numbering
	t.walk(least(t.nodes[1:], maxNodes), func(name string) bool { return name == other }, func(f *frame) {
		if f.depth == len(out.Levels) {
			out.Levels = append(out.Levels, level{})
		}
		l := &out.Levels[f.depth]
		// Backwards, since nodes come from the right.
		l.Values = append(l.Values, names.of(f.name), f.node.self[0], f.node.total[0], f.x[0])
		out.MaxSelf = max(out.MaxSelf, f.node.self[0])
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
	t.order()
	total := t.nodes[0].total
	out := &flameGraphDiff{Total: total[0] + total[1], LeftTicks: total[0], RightTicks: total[1]}
	var names numbering
	t.walk(least(t.nodes, maxNodes), func(string) bool { return false }, func(f *frame) {
		if f.depth == len(out.Levels) {
			out.Levels = append(out.Levels, level{})
		}
		l := &out.Levels[f.depth]
		n := &f.node
		l.Values = append(l.Values, names.of(f.name), n.self[1], n.total[1], f.x[1], n.self[0], n.total[0], f.x[0])
		out.MaxSelf = max(out.MaxSelf, n.self[0], n.self[1])
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
	t.order()
	min := least(t.nodes[1:], maxNodes)
	// How many children a node has is known only once they have been looked at.
	var out []byte
	type item struct {
		name string
		node node
	}
	stack := []item{{"", t.nodes[0]}}
	for len(stack) > 0 {
		it := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		out = binary.AppendUvarint(out, uint64(len(it.name)))
		out = append(out, it.name...)
		out = binary.AppendUvarint(out, uint64(it.node.self[0]))
		var shown []item
		rest, at := int64(0), -1
		for _, c := range it.node.children {
			child := t.nodes[c]
			name := t.names[child.name]
			if child.total[0] < min && name != other {
				rest += child.total[0]
				continue
			}
			if name == other {
				at = len(shown)
			}
			shown = append(shown, item{name, child})
		}
		if rest > 0 && at < 0 {
			at, _ = slices.BinarySearchFunc(shown, other, func(i item, name string) int { return strings.Compare(i.name, name) })
			shown = slices.Insert(shown, at, item{name: other})
		}
		if rest > 0 {
			shown[at].node.self[0] += rest
			shown[at].node.total[0] += rest
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
		if p, err = s.named(c, q, ids); p == nil || err != nil {
			return nil, 0, err
		}
	} else {
		m, err := s.opt.Store.Merge(c.ctx, q)
		if err != nil {
			// Nothing is no error for those who look at a time without profiles.
			if some, _, failed := s.opt.Store.Entries(c.ctx, q, 1); failed == nil && len(some) == 0 {
				return nil, 0, nil
			}
			if errors.Is(err, profile.ErrNothingCommon) {
				return nil, 0, connect.Errorf(connect.InvalidArgument, "%v: select fewer of them", err)
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

// named adds up profiles that are named, of those that a query selects.
func (s *Server) named(c *call, q store.Query, ids []string) (*profile.Profile, error) {
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
		e, p, _, err := s.opt.Store.Profile(c.ctx, c.tenant, id)
		switch {
		case errors.Is(err, store.ErrNotFound):
			continue
		case err != nil:
			return nil, err
		case e.Kind != q.Kind || !q.Holds(e.Start) || !q.Selector.Match(e.Service, e.Labels, nil):
			continue
		}
		err = m.Add(p)
		if errors.Is(err, profile.ErrNothingCommon) {
			return nil, connect.Errorf(connect.InvalidArgument, "%v: select fewer of them", err)
		}
		if err != nil {
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
	t := newTree()
	if err := s.grow(c, t, 0, &m, nil); err != nil {
		return err
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
