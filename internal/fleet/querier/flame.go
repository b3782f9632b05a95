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

// A tree is the calls of one profile, or of two. Samples are collected first; build makes nodes of them.
type tree struct {
	names []string
	ids   map[string]uint32

	paths   []uint32 // of all samples, from the root to the leaf
	samples []sample

	nodes []node // each is followed by those below it, by name; the root is the first one
}

type sample struct {
	from, to int // in paths
	side     int
	value    int64
}

type node struct {
	name        uint32
	parent      int32
	end         int32 // of the nodes below it
	self, total [2]int64
}

func newTree() *tree { return &tree{names: []string{""}, ids: map[string]uint32{"": 0}} }

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
	size := 0
	for i := range p.NumSamples() {
		size += p.StackAt(i).Len()
	}
	t.paths = slices.Grow(t.paths, size+size/4) // and lines of what was inlined
	t.samples = slices.Grow(t.samples, p.NumSamples())
	var stack []uint32
	for i, v := range p.Values(k) {
		if v <= 0 || keep != nil && !keep(i) {
			continue
		}
		stack = p.Stack(i, stack[:0])
		from := len(t.paths)
		for _, at := range slices.Backward(stack) {
			l := &p.Locations[at]
			if len(l.Lines) == 0 {
				t.paths = append(t.paths, t.name(strconv.FormatUint(l.Address, 16)))
			}
			for _, line := range slices.Backward(l.Lines) {
				t.paths = append(t.paths, functions[line.Function])
			}
		}
		if path := t.paths[from:]; len(path) < len(begin) || !slices.Equal(path[:len(begin)], begin) {
			t.paths = t.paths[:from]
			continue
		}
		t.samples = append(t.samples, sample{from, len(t.paths), side, v})
	}
}

// build makes the nodes. Samples that are in order by the names on their stacks share what they have in common with the one before.
func (t *tree) build() {
	order := make([]uint32, len(t.names))
	for i := range order {
		order[i] = uint32(i)
	}
	slices.SortFunc(order, func(a, b uint32) int { return strings.Compare(t.names[a], t.names[b]) })
	rank := make([]uint32, len(order))
	names := make([]string, len(order))
	for i, id := range order {
		rank[id], names[i] = uint32(i), t.names[id]
	}
	t.names = names // ordered, so that numbers compare as the names do
	for i, id := range t.paths {
		t.paths[i] = rank[id]
	}
	path := func(s *sample) []uint32 { return t.paths[s.from:s.to] }
	slices.SortFunc(t.samples, func(a, b sample) int { return slices.Compare(path(&a), path(&b)) })
	shared := make([]int, len(t.samples)) // how much of its path each has in common with the one before
	size := 1
	var last []uint32
	for i := range t.samples {
		here := path(&t.samples[i])
		n := 0
		for n < len(last) && n < len(here) && last[n] == here[n] {
			n++
		}
		shared[i], last = n, here
		size += len(here) - n
	}
	t.nodes = make([]node, 1, size)
	t.nodes[0].parent = -1
	open := []int32{0} // nodes that more may come below
	for i := range t.samples {
		s := &t.samples[i]
		here, common := path(s), shared[i]
		for _, n := range open[common+1:] {
			t.nodes[n].end = int32(len(t.nodes))
		}
		open = open[:common+1]
		for _, name := range here[common:] {
			t.nodes = append(t.nodes, node{name: name, parent: open[len(open)-1]})
			open = append(open, int32(len(t.nodes)-1))
		}
		t.nodes[open[len(open)-1]].self[s.side] += s.value
	}
	for _, n := range open {
		t.nodes[n].end = int32(len(t.nodes))
	}
	for i := len(t.nodes) - 1; i >= 0; i-- {
		n := &t.nodes[i]
		n.total[0], n.total[1] = n.total[0]+n.self[0], n.total[1]+n.self[1]
		if i > 0 {
			up := &t.nodes[n.parent]
			up.total[0], up.total[1] = up.total[0]+n.total[0], up.total[1]+n.total[1]
		}
	}
}

// children calls each for the nodes on a node, by name.
func (t *tree) children(at int32, each func(child int32)) {
	for c := at + 1; c < t.nodes[at].end; c = t.nodes[c].end {
		each(c)
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
	at          int32 // its node; -1 where it stands for several
	name        string
	depth       int
	x           [2]int64
	self, total [2]int64
}

// walk calls write for each node that is shown, those on the right first.
func (t *tree) walk(min int64, hide func(name string) bool, write func(f *frame)) {
	stack := []frame{{self: t.nodes[0].self, total: t.nodes[0].total}}
	for len(stack) > 0 {
		f := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		write(&f)
		if f.at < 0 {
			continue
		}
		x := [2]int64{f.x[0] + f.self[0], f.x[1] + f.self[1]}
		var rest [2]int64
		t.children(f.at, func(c int32) {
			child := &t.nodes[c]
			name := t.names[child.name]
			if max(child.total[0], child.total[1]) < min || hide(name) {
				rest[0], rest[1] = rest[0]+child.total[0], rest[1]+child.total[1]
				return
			}
			stack = append(stack, frame{at: c, name: name, depth: f.depth + 1, x: x, self: child.self, total: child.total})
			x[0], x[1] = x[0]+child.total[0], x[1]+child.total[1]
		})
		if rest != [2]int64{} {
			stack = append(stack, frame{at: -1, name: other, depth: f.depth + 1, x: x, self: rest, total: rest})
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
	t.build()
	out := &flameGraph{Total: t.nodes[0].total[0]}
	var names numbering
	t.walk(least(t.nodes[1:], maxNodes), func(name string) bool { return name == other }, func(f *frame) {
		if f.depth == len(out.Levels) {
			out.Levels = append(out.Levels, level{})
		}
		l := &out.Levels[f.depth]
		// Backwards, since nodes come from the right.
		l.Values = append(l.Values, names.of(f.name), f.self[0], f.total[0], f.x[0])
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
	t.build()
	total := t.nodes[0].total
	out := &flameGraphDiff{Total: total[0] + total[1], LeftTicks: total[0], RightTicks: total[1]}
	var names numbering
	t.walk(least(t.nodes, maxNodes), func(string) bool { return false }, func(f *frame) {
		if f.depth == len(out.Levels) {
			out.Levels = append(out.Levels, level{})
		}
		l := &out.Levels[f.depth]
		l.Values = append(l.Values, names.of(f.name), f.self[1], f.total[1], f.x[1], f.self[0], f.total[0], f.x[0])
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
	t.build()
	min := least(t.nodes[1:], maxNodes)
	type item struct {
		at   int32 // -1 for a node that stands for several
		name string
		self int64
	}
	var out []byte
	stack := []item{{0, "", t.nodes[0].self[0]}}
	for len(stack) > 0 {
		it := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		out = binary.AppendUvarint(out, uint64(len(it.name)))
		out = append(out, it.name...)
		out = binary.AppendUvarint(out, uint64(it.self))
		var shown []item
		rest, at := int64(0), -1
		if it.at >= 0 {
			t.children(it.at, func(c int32) {
				child := &t.nodes[c]
				name := t.names[child.name]
				if child.total[0] < min && name != other {
					rest += child.total[0]
					return
				}
				if name == other {
					at = len(shown)
				}
				shown = append(shown, item{c, name, child.self[0]})
			})
		}
		if rest > 0 && at < 0 {
			at, _ = slices.BinarySearchFunc(shown, other, func(i item, name string) int { return strings.Compare(i.name, name) })
			shown = slices.Insert(shown, at, item{-1, other, 0})
		}
		if rest > 0 {
			shown[at].self += rest
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
			if errors.As(err, new(*store.NothingError)) {
				return nil, 0, nil // is no error for those who look at a time without profiles
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
		e, p, _, err := s.opt.Store.Profile(c.ctx, q, id)
		switch {
		case errors.Is(err, store.ErrNotFound):
			continue
		case err != nil:
			return nil, err
		case e.Kind != q.Kind:
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
