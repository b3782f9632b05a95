package layout

// An arc is an edge as ranking sees it: never against the rows.
type arc struct {
	from, to     int
	span, weight int
}

func (a *arc) slack(rank []int) int { return rank[a.to] - rank[a.from] - a.span }

// backward says which arcs to turn round so that no cycle is left: those that lead back to a node on the way from the
// one where a depth-first walk began. The walk begins where no arc leads to, as programs do, and follows arcs in the
// order given.
func backward(n int, arcs []arc) []bool {
	out := make([][]int, n)
	balance := make([]int, n)
	sink := make([]bool, n) // arcs lead to it
	for i, a := range arcs {
		out[a.from] = append(out[a.from], i)
		sink[a.to] = true
		balance[a.from] += a.weight
		balance[a.to] -= a.weight
	}
	const (
		fresh = iota
		open
		closed
	)
	state := make([]int, n)
	next := make([]int, n) // of out, to follow
	back := make([]bool, len(arcs))
	walk := func(root int) {
		path := []int{root}
		state[root] = open
		for len(path) > 0 {
			v := path[len(path)-1]
			if next[v] == len(out[v]) {
				state[v] = closed
				path = path[:len(path)-1]
				continue
			}
			i := out[v][next[v]]
			next[v]++
			switch to := arcs[i].to; state[to] {
			case fresh:
				state[to] = open
				path = append(path, to)
			case open:
				back[i] = true
			}
		}
	}
	for v := range n {
		if !sink[v] {
			walk(v)
		}
	}
	// What is left are cycles that nothing leads to. Where more goes out than comes in is most like a beginning.
	for {
		best := -1
		for v := range n {
			if state[v] == fresh && (best < 0 || balance[v] > balance[best]) {
				best = v
			}
		}
		if best < 0 {
			return back
		}
		walk(best)
	}
}

// ranks gives every node a row such that the arcs, which have no cycle and hang together, are as short as can be, the
// heavy ones above all. It is the network simplex method of Gansner et al.; when the work is used up, the rows reached
// so far are good, but not the best.
func ranks(n int, arcs []arc, work *budget) []int {
	s := &simplex{n: n, arcs: arcs, rank: longestPaths(n, arcs), touching: make([][]int, n), work: work}
	for i, a := range arcs {
		s.touching[a.from] = append(s.touching[a.from], i)
		s.touching[a.to] = append(s.touching[a.to], i)
	}
	if s.span() {
		for from := 0; !work.spent(); {
			leave := s.leaving(from)
			if leave < 0 {
				break
			}
			from = leave + 1
			s.exchange(leave)
		}
	}
	least := 0
	for i, r := range s.rank {
		if i == 0 || r < least {
			least = r
		}
	}
	for i := range s.rank {
		s.rank[i] -= least
	}
	return s.rank
}

// longestPaths puts every node as far up as its arcs let it.
func longestPaths(n int, arcs []arc) []int {
	rank, into := make([]int, n), make([]int, n)
	out := make([][]int, n)
	for i, a := range arcs {
		out[a.from] = append(out[a.from], i)
		into[a.to]++
	}
	var ready []int
	for v := range n {
		if into[v] == 0 {
			ready = append(ready, v)
		}
	}
	for len(ready) > 0 {
		v := ready[0]
		ready = ready[1:]
		for _, i := range out[v] {
			a := &arcs[i]
			rank[a.to] = max(rank[a.to], rank[v]+a.span)
			if into[a.to]--; into[a.to] == 0 {
				ready = append(ready, a.to)
			}
		}
	}
	return rank
}

// A simplex is a spanning tree of arcs that are as short as they may be, and the ranks that follow from it.
type simplex struct {
	n        int
	arcs     []arc
	rank     []int
	touching [][]int // arcs at a node
	work     *budget

	tree   []bool // by arc
	parent []int  // by node, the tree arc towards the root, or -1
	order  []int  // nodes, parents before children
	low    []int  // by node, the numbers in post-order of what hangs below: from low…
	high   []int  // …to high, which is its own
	cut    []int  // by tree arc, what the sum of weighted lengths loses when it gets longer by one
}

// span finds a first tree, or reports that there was too much work.
func (s *simplex) span() bool {
	in := make([]bool, s.n)
	s.tree = make([]bool, len(s.arcs))
	nodes := []int{0}
	in[0] = true
	for i := 0; ; {
		// Whatever tight arcs reach belongs to the tree.
		for ; i < len(nodes); i++ {
			v := nodes[i]
			s.work.spend(len(s.touching[v]))
			for _, id := range s.touching[v] {
				a := &s.arcs[id]
				to := a.from + a.to - v
				if !in[to] && a.slack(s.rank) == 0 {
					s.tree[id] = true
					in[to] = true
					nodes = append(nodes, to)
				}
			}
		}
		if len(nodes) == s.n {
			s.number()
			s.cuts()
			return true
		}
		if s.work.spend(len(s.arcs)); s.work.spent() {
			return false
		}
		// Move the tree until the shortest arc that leaves it is tight.
		best, least := -1, 0
		for id := range s.arcs {
			a := &s.arcs[id]
			if in[a.from] == in[a.to] {
				continue
			}
			if sl := a.slack(s.rank); best < 0 || sl < least {
				best, least = id, sl
			}
		}
		a := &s.arcs[best]
		by := least
		if in[a.to] {
			by = -least
		}
		for _, v := range nodes {
			s.rank[v] += by
		}
		s.tree[best] = true
		v := a.from
		if in[v] {
			v = a.to
		}
		in[v] = true
		nodes = append(nodes, v)
	}
}

// number walks the tree from node 0.
func (s *simplex) number() {
	s.parent, s.low, s.high = make([]int, s.n), make([]int, s.n), make([]int, s.n)
	s.order = s.order[:0]
	next := make([]int, s.n)
	count := 0
	s.parent[0] = -1
	path := []int{0}
	s.order = append(s.order, 0)
	for len(path) > 0 {
		v := path[len(path)-1]
		if next[v] == len(s.touching[v]) {
			s.high[v] = count
			count++
			path = path[:len(path)-1]
			continue
		}
		id := s.touching[v][next[v]]
		next[v]++
		if !s.tree[id] || id == s.parent[v] {
			continue
		}
		to := s.arcs[id].from + s.arcs[id].to - v
		s.parent[to] = id
		s.low[to] = count
		s.order = append(s.order, to)
		path = append(path, to)
	}
	s.work.spend(s.n + len(s.arcs))
}

// below reports whether v hangs below the node under, or is it.
func (s *simplex) below(v, under int) bool {
	return s.low[under] <= s.high[v] && s.high[v] <= s.high[under]
}

// cuts finds the cut values of all tree arcs, from the leaves up: that of an arc follows from those of the arcs at its
// lower node.
func (s *simplex) cuts() {
	if s.cut == nil {
		s.cut = make([]int, len(s.arcs))
	}
	for i := len(s.order) - 1; i > 0; i-- {
		v := s.order[i]
		up := s.parent[v]
		// Seen from v, arcs that run in the direction of the tree arc count for it, others against it.
		out := s.arcs[up].from == v
		sum := 0
		for _, id := range s.touching[v] {
			a := &s.arcs[id]
			w := a.weight
			if s.tree[id] && id != up {
				w -= s.cut[id]
			}
			if (a.from == v) == out {
				sum += w
			} else {
				sum -= w
			}
		}
		s.cut[up] = sum
	}
	s.work.spend(2 * len(s.arcs))
}

// leaving returns a tree arc that it pays to make longer, or -1. The search goes round from where the last one ended.
func (s *simplex) leaving(from int) int {
	s.work.spend(len(s.arcs) / 4)
	for i := range s.arcs {
		id := (from + i) % len(s.arcs)
		if s.tree[id] && s.cut[id] < 0 {
			return id
		}
	}
	return -1
}

// exchange takes an arc out of the tree and puts the one in that its halves are then nearest by.
func (s *simplex) exchange(leave int) {
	a := &s.arcs[leave]
	child := a.from
	if s.parent[a.to] == leave {
		child = a.to
	}
	// The half with the head of the arc moves away from that with its tail, until an arc the other way is tight.
	headBelow := child == a.to
	enter, least := -1, 0
	for id := range s.arcs {
		b := &s.arcs[id]
		from, to := s.below(b.from, child), s.below(b.to, child)
		if from == to || from != headBelow {
			continue
		}
		if sl := b.slack(s.rank); enter < 0 || sl < least {
			enter, least = id, sl
		}
	}
	s.work.spend(len(s.arcs))
	if !headBelow {
		least = -least
	}
	for v := range s.n {
		if s.below(v, child) {
			s.rank[v] += least
		}
	}
	s.tree[leave], s.tree[enter] = false, true
	s.number()
	s.cuts()
}
