package noticetest

import (
	"math"
	"slices"
	"strings"
	"time"
)

// A Kind is how a function changes.
type Kind int

const (
	Slower Kind = iota // its own code costs more
	Busier             // all below it costs more
	Calls              // it calls something that it did not call before
	Kinds

	Whole  // all that a handler does costs more
	Shared // it calls what most of its handler calls, too, as code that allocates does with the runtime
)

// A Regression is a change of code.
type Regression struct {
	At    time.Time
	Size  float64 // of the cost of the service; below zero for less
	Kind  Kind
	Large bool      // of a function that could also cost less by that
	Ended time.Time // zero is never
}

type change struct {
	Regression
	Function string
	near     map[string]bool
	extra    []float64 // by stack
}

// Regress plans a change of code, and returns the function. A change that would free more than any function costs is made smaller.
func (f *Fleet) Regress(r Regression) string {
	// What the function costs depends on how much work there is now.
	now, total := make([]float64, len(f.stacks)), 0.0
	for i, s := range f.stacks {
		now[i] = s.weight
		if f.rates != nil {
			now[i] *= f.rates[s.root]
		}
		total += now[i]
	}
	c := &change{Regression: r, near: map[string]bool{}, extra: make([]float64, len(f.stacks))}
	switch r.Kind {
	case Whole:
		f.change = c
		return f.whole(c, now, total)
	case Shared:
		f.change = c
		return f.shared(c, total)
	}
	for tries := 0; ; tries++ {
		if tries > 20_000 {
			r.Size /= 2 // no function costs so much
			tries = 0
		}
		// A function of the program that costs something, and not most of its handler.
		s := f.stacks[f.rng.IntN(len(f.stacks))]
		at := len(s.frames) - 1 - f.rng.IntN(min(4, len(s.frames)))
		fn := s.frames[at]
		name := f.tables.Functions[fn].Name
		isApp := len(name) > 12 && name[:12] == "example.com/"
		if !isApp || slices.ContainsFunc(f.roots, func(r root) bool { return r.name == name }) {
			continue
		}
		self, cum := 0.0, 0.0
		var below []int
		for i, s := range f.stacks {
			j := slices.Index(s.frames, fn)
			if j < 0 {
				continue
			}
			below = append(below, i)
			cum += now[i]
			if j == len(s.frames)-1 {
				self += now[i]
			}
		}
		share := cum / total
		if share < 0.002 || share > 0.3 || (r.Size < 0 || r.Large) && (r.Kind == Calls || self/total < 1.3*math.Abs(r.Size)) {
			continue
		}
		add := r.Size * total
		c.Function = name
		for _, i := range below {
			s := f.stacks[i]
			j := slices.Index(s.frames, fn)
			switch r.Kind {
			case Slower:
				if j == len(s.frames)-1 {
					c.extra[i] += add * s.weight / self
				}
			case Busier:
				c.extra[i] += add * s.weight / cum
			case Calls:
				// What it calls now is a library that something below it uses, or itself.
				c.extra[i] += add * s.weight / cum
			}
			if j > 0 {
				c.near[f.tables.Functions[s.frames[j-1]].Name] = true
			}
			if j+1 < len(s.frames) {
				c.near[f.tables.Functions[s.frames[j+1]].Name] = true
			}
		}
		if r.Kind == Calls {
			// One leaf below it takes all.
			clear(c.extra)
			leafs := slices.DeleteFunc(slices.Clone(below), func(i int) bool { return len(f.stacks[i].frames)-1 == slices.Index(f.stacks[i].frames, fn) })
			if len(leafs) == 0 {
				continue
			}
			leaf := leafs[f.rng.IntN(len(leafs))]
			c.extra[leaf] = add * f.stacks[leaf].weight / now[leaf]
			for _, g := range f.stacks[leaf].frames[slices.Index(f.stacks[leaf].frames, fn):] {
				c.near[f.tables.Functions[g].Name] = true
			}
		}
		if r.Kind == Slower && self == 0 {
			continue
		}
		f.change = c
		return name
	}
}

// whole changes all of a handler.
func (f *Fleet) whole(c *change, now []float64, total float64) string {
	for {
		root := f.rng.IntN(f.Handlers())
		sum := 0.0
		for i, s := range f.stacks {
			if s.root == root {
				sum += now[i]
			}
		}
		if share := sum / total; share < 2*math.Abs(c.Size) || share > 20*math.Abs(c.Size) {
			c.Size *= 0.99 // until there is one
			continue
		}
		for i, s := range f.stacks {
			if s.root != root {
				continue
			}
			c.extra[i] = c.Size * total * s.weight / sum
			for _, g := range s.frames {
				if name := f.tables.Functions[g].Name; strings.HasPrefix(name, "example.com/") {
					c.near[name] = true
				}
			}
		}
		c.Function = f.roots[root].name
		return c.Function
	}
}

// shared has a function below the first handler that has one call all that others below that handler end in.
func (f *Fleet) shared(c *change, total float64) string {
	var leafs, above []uint32
	root := 0
	for _, s := range f.stacks {
		if s.root != root && above == nil {
			root, leafs = s.root, nil // this one calls only libraries
		}
		if s.root != root {
			break
		}
		leaf := s.frames[len(s.frames)-1]
		if name := f.tables.Functions[leaf].Name; above == nil && name != f.roots[root].name && strings.HasPrefix(name, "example.com/") {
			c.Function, above = name, s.frames
			c.near[f.tables.Functions[s.frames[len(s.frames)-2]].Name] = true
		}
		if !slices.Contains(leafs, leaf) {
			leafs = append(leafs, leaf)
		}
	}
	for _, leaf := range leafs {
		s := stack{root: root, frames: append(slices.Clone(above), leaf), bound: 1}
		s.places = slices.Clone(s.frames)
		slices.Reverse(s.places)
		f.stacks = append(f.stacks, s)
		c.extra = append(c.extra, c.Size*total/f.rates[root]/float64(len(leafs)))
		c.near[f.tables.Functions[leaf].Name] = true
	}
	return c.Function
}

// Near reports whether a function is the one that changed, calls it or is called by it.
func (f *Fleet) Near(name string) bool {
	return f.change != nil && (name == f.change.Function || f.change.near[name])
}
