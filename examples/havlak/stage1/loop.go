package main

// A SimpleLoop is a loop: its header, the blocks in it that are in no inner loop, and the inner loops.
type SimpleLoop struct {
	Header       *BasicBlock
	Blocks       map[*BasicBlock]bool
	Parent       *SimpleLoop
	Children     map[*SimpleLoop]bool
	IsReducible  bool
	NestingLevel int // 0 for a loop without inner ones
}

// AddNode adds a block.
func (l *SimpleLoop) AddNode(bb *BasicBlock) {
	l.Blocks[bb] = true
}

// SetParent puts l into an outer loop.
func (l *SimpleLoop) SetParent(p *SimpleLoop) {
	l.Parent = p
	p.Children[l] = true
}

func (l *SimpleLoop) calculateNesting() int {
	l.NestingLevel = 0
	for child := range l.Children {
		l.NestingLevel = max(l.NestingLevel, child.calculateNesting()+1)
	}
	return l.NestingLevel
}

// An LSG is a loop structure graph: the loops of a function, and how they are nested.
type LSG struct {
	Root  *SimpleLoop // stands for the function as a whole
	Loops []*SimpleLoop
}

// NewLSG returns a graph without loops.
func NewLSG() *LSG {
	return &LSG{Root: newLoop(nil, true)}
}

func newLoop(header *BasicBlock, reducible bool) *SimpleLoop {
	return &SimpleLoop{
		Header:      header,
		Blocks:      make(map[*BasicBlock]bool),
		Children:    make(map[*SimpleLoop]bool),
		IsReducible: reducible,
	}
}

// NewLoop adds a loop with only its header.
func (g *LSG) NewLoop(header *BasicBlock, reducible bool) *SimpleLoop {
	loop := newLoop(header, reducible)
	loop.AddNode(header)
	g.Loops = append(g.Loops, loop)
	return loop
}

// NumLoops returns how many loops were found.
func (g *LSG) NumLoops() int {
	return len(g.Loops)
}

// CalculateNesting puts the loops without parent into the root, and finds out how deep each of them is.
func (g *LSG) CalculateNesting() {
	for _, loop := range g.Loops {
		if loop.Parent == nil {
			loop.SetParent(g.Root)
		}
	}
	g.Root.calculateNesting()
}
