package report

import "iter"

// A CallTree is the calls of a profile, each below its caller, with one row per call. If Inverted, each caller is below its callee.
type CallTree struct {
	Head
	Trimming
	Whole      int64         `json:"whole"`                // total before filters
	Before     *Head         `json:"before,omitempty"`     // in a diff: what the base is; Head is about the new side
	Normalized bool          `json:"normalized,omitempty"` // the base was scaled to the total of the new side
	Inverted   bool          `json:"inverted,omitempty"`
	Rows       []CallTreeRow `json:"rows"` // each row is followed by the rows below it; the first is the root

	Tree FlameTree `json:"-"` // the same calls as a tree
}

// A CallTreeRow is a function in one context.
type CallTreeRow struct {
	Depth int `json:"depth"` // 0 for the root
	FlameFrame
	Inline bool  `json:"inline,omitempty"`
	Flat   int64 `json:"flat,omitempty"`
	Cum    int64 `json:"cum"`

	FlatBefore *int64 `json:"flat_before,omitempty"`
	CumBefore  *int64 `json:"cum_before,omitempty"`

	Calls int `json:"calls,omitempty"` // number of calls directly below it, shown or not
}

// List makes the rows of a tree.
func (c *CallTree) List() {
	type placed struct {
		*FlameNode
		depth int
	}
	c.Rows = []CallTreeRow{}
	if c.Tree.Root == nil {
		return
	}
	for todo := []placed{{c.Tree.Root, 0}}; len(todo) > 0; {
		n := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		r := CallTreeRow{Depth: n.depth, Inline: n.Inline, Flat: n.Flat, Cum: n.Cum, Calls: n.Calls}
		if n.Number != 0 {
			r.FlameFrame = c.Tree.frame(n.FlameNode)
		}
		if n.Before != nil {
			r.FlatBefore, r.CumBefore = &n.Before.Flat, &n.Before.Cum
		}
		if c.Inverted { // an inverted tree has no self cost of callers
			r.Flat, r.FlatBefore = 0, nil
		}
		c.Rows = append(c.Rows, r)
		for i := len(n.Children) - 1; i >= 0; i-- { // the last one pushed is the next one
			todo = append(todo, placed{n.Children[i], n.depth + 1})
		}
	}
}

// Blocks is the tree as a table, on a terminal too, where a Flame is drawn.
func (c *CallTree) Blocks() iter.Seq[Block] {
	m := c.measure()
	m.add(c.Below)
	return c.answer(m, &c.Trimming, FlameBlock{Measure: m, Root: c.Tree.Root, Below: c.Below, Callers: c.Inverted, Table: true})
}
