package main

// A BasicBlock is a run of instructions that is entered at the top and left at the end.
type BasicBlock struct {
	Name              int
	InEdges, OutEdges []*BasicBlock
}

// A CFG is a control-flow graph. A block is at the place in Blocks that its name says.
type CFG struct {
	Start  *BasicBlock
	Blocks []*BasicBlock
}

// CreateNode adds a block, and returns its name.
func (cfg *CFG) CreateNode() int {
	bb := &BasicBlock{Name: len(cfg.Blocks)}
	cfg.Blocks = append(cfg.Blocks, bb)
	if cfg.Start == nil {
		cfg.Start = bb
	}
	return bb.Name
}

// Connect adds an edge.
func (cfg *CFG) Connect(from, to int) {
	a, b := cfg.Blocks[from], cfg.Blocks[to]
	a.OutEdges = append(a.OutEdges, b)
	b.InEdges = append(b.InEdges, a)
}

// straight adds n blocks one after the other and returns the last.
func (cfg *CFG) straight(from, n int) int {
	for range n {
		to := cfg.CreateNode()
		cfg.Connect(from, to)
		from = to
	}
	return from
}

// branch adds two ways that meet again, and returns where.
func (cfg *CFG) branch(from int) int {
	yes, no, join := cfg.CreateNode(), cfg.CreateNode(), cfg.CreateNode()
	cfg.Connect(from, yes)
	cfg.Connect(from, no)
	cfg.Connect(yes, join)
	cfg.Connect(no, join)
	return join
}

// nest adds three loops inside each other, with branches in them, and returns the block behind them.
func (cfg *CFG) nest(from int) int {
	outer := cfg.straight(from, 1)
	middle := cfg.branch(outer)
	inner := cfg.straight(middle, 1)
	end := cfg.branch(inner)
	cfg.Connect(end, inner)
	end = cfg.straight(end, 1)
	cfg.Connect(end, middle)
	end = cfg.straight(end, 1)
	cfg.Connect(end, outer)
	return cfg.straight(end, 1)
}

// NewGraph returns a graph with 7,600 loops in each of its trees.
func NewGraph(trees int) *CFG {
	cfg := new(CFG)
	entry, exit := cfg.CreateNode(), cfg.CreateNode()
	for range trees {
		at := cfg.straight(entry, 1)
		for range 100 {
			at = cfg.straight(at, 1)
			top := at
			for range 25 {
				at = cfg.nest(at)
			}
			at = cfg.straight(at, 1)
			cfg.Connect(at, top)
		}
		cfg.Connect(at, exit)
	}
	return cfg
}
