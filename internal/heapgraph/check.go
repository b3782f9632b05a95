package heapgraph

import (
	"errors"
	"fmt"
	"math"
)

// MaxObjects is how many objects a graph may have. With their edges, so many take some 5 GB.
const MaxObjects = 100_000_000

// MaxEdges is how many edges a graph may have.
const MaxEdges = 400_000_000

// Check returns an error if a graph refers to something that it does not have, or is too large.
func (g *Graph) Check() error {
	n := len(g.Words)
	switch {
	case n > MaxObjects:
		return fmt.Errorf("heap has %d objects, and hone reads up to %d", n, MaxObjects)
	case len(g.To) > MaxEdges:
		return fmt.Errorf("heap has %d pointers, and hone reads up to %d", len(g.To), MaxEdges)
	case len(g.Roots) > math.MaxInt32:
		return fmt.Errorf("heap has %d roots", len(g.Roots))
	case len(g.Type) != n || len(g.First) != n+1 || len(g.Step) != len(g.To):
		return errors.New("columns of the heap differ in length")
	case g.First[0] != 0 || int(g.First[n]) != len(g.To):
		return errors.New("edges of the heap belong to no object")
	case len(g.Types) == 0 || len(g.Steps) == 0 || len(g.Sites) == 0:
		return errors.New("the heap lacks the names for what is not known")
	}
	for i := range n {
		if g.First[i] > g.First[i+1] || int(g.Type[i]) >= len(g.Types) {
			return fmt.Errorf("object %d of the heap has edges or a type that do not exist", i)
		}
	}
	for e, to := range g.To {
		if int(to) >= n || int(g.Step[e]) >= len(g.Steps) {
			return fmt.Errorf("pointer %d of the heap leads nowhere", e)
		}
	}
	for i := range g.Roots {
		r := &g.Roots[i]
		if int(r.Object) >= n || int(r.Step) >= len(g.Steps) || int(r.Where) >= len(g.Sites) || r.Kind > Runtime {
			return fmt.Errorf("root %d of the heap leads nowhere", i)
		}
	}
	for _, s := range g.Made {
		if int(s.Object) >= n || int(s.Site) >= len(g.Sites) {
			return errors.New("a sampled allocation of the heap is of no object")
		}
	}
	return nil
}
