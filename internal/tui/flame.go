// Package tui shows a flame graph on the whole screen of a terminal, and is operated with keys and mouse.
package tui

import (
	"regexp"
	"slices"
	"strings"

	"github.com/hone-perf/hone/internal/query"
	"github.com/hone-perf/hone/internal/recording"
	"github.com/hone-perf/hone/internal/render"
	"github.com/hone-perf/hone/internal/report"
)

// A Flame is an interactive flame graph in a terminal: what is shown, and what keys do to it. It knows no terminal:
// keys go into update, lines come out of view.
//
// What fills the width is the root of the query, so that looking closer is asking again, and there is always as much
// detail as there is room for.
type Flame struct {
	source
	opt render.Options

	query   query.Query
	flame   *report.Flame
	painter *render.FlamePainter
	all     *report.FlameNode   // the whole tree, of which only the cost is looked at
	above   []*report.FlameNode // what leads to the root that is shown, the outermost first
	parent  map[*report.FlameNode]*report.FlameNode
	order   []*report.FlameNode // all that are shown, callers before what they call
	below   int64               // what was too small at first

	selected *report.FlameNode
	outer    []string // roots that were shown before

	width, height int
	rows          [][]render.FlameBox // those above first
	hidden        int                 // rows that are too narrow
	top           int                 // first row that is shown

	typing  bool
	search  string
	rx      *regexp.Regexp
	matches map[*report.FlameNode]bool
	matched string // how much that is

	help    bool
	message string // about the last key
}

// A source answers what a Flame asks.
type source struct {
	ask  func(query.Query) (*report.Flame, error)
	find func(query.Query) (*report.Search, error) // how much matches the argument
}

// NewFlame asks q of recordings and shows the answer.
func NewFlame(in []*recording.Recording, q query.Query, opt render.Options) (*Flame, error) {
	return newFlame(q, opt, sourceOf(in))
}

// newFlame asks q and shows the answer.
func newFlame(q query.Query, opt render.Options, from source) (*Flame, error) {
	u := &Flame{source: from, opt: opt}
	if err := u.load(q); err != nil {
		return nil, err
	}
	return u, nil
}

// load asks q and shows the answer from its root on.
func (u *Flame) load(q query.Query) error {
	f, err := u.ask(q)
	if err != nil {
		return err
	}
	if u.flame == nil {
		u.below = f.Below
	}
	if u.all == nil || q.Root == "" {
		u.all = &report.FlameNode{Frame: report.Frame{Name: "all"}, Cum: f.Root.Cum, Before: f.Root.Before}
		if q.Root != "" {
			u.all.Cum = f.Total
		}
	}
	u.query, u.flame = q, f
	shown := *f
	shown.Below = u.below // more detail does not make for smaller units
	u.painter = render.NewFlamePainter(&shown, u.opt)
	u.above = nil
	if n := len(f.Path); n > 0 { // the last is the root
		u.above = append(u.above, u.all)
		for i := range n - 1 {
			u.above = append(u.above, &f.Path[i])
		}
	}
	u.parent = make(map[*report.FlameNode]*report.FlameNode)
	u.order = nil
	u.number(f.Root)
	u.selected = f.Root
	u.match()
	u.layout()
	const context = 3 // rows above that stay in view
	u.top = max(0, min(len(u.above)-context, len(u.rows)-u.room()))
	return nil
}

func (u *Flame) number(n *report.FlameNode) {
	u.order = append(u.order, n)
	for _, c := range n.Children {
		u.parent[c] = n
		u.number(c)
	}
}

// pathTo returns the root of a query that shows n.
func (u *Flame) pathTo(n *report.FlameNode) string {
	var names []string
	if i := slices.Index(u.above, n); i >= 0 {
		for _, n := range u.above[1 : i+1] { // the first is all
			names = append(names, n.Frame.String())
		}
		return strings.Join(names, ";")
	}
	for ; n != u.flame.Root; n = u.parent[n] {
		names = append(names, n.Frame.String())
	}
	slices.Reverse(names)
	if u.query.Root != "" {
		names = append([]string{u.query.Root}, names...)
	}
	return strings.Join(names, ";")
}

// layout lays the tree out anew.
func (u *Flame) layout() {
	cols := max(u.width-1, 1) // without colors, a bar ends the last box
	if u.opt.Color {
		cols = max(u.width, 1)
	}
	u.rows = nil
	for _, n := range u.above {
		u.rows = append(u.rows, []render.FlameBox{{Node: n, To: cols}})
	}
	rows, hidden := render.FlameBoxes(u.flame.Root, cols)
	u.rows, u.hidden = append(u.rows, rows...), hidden
	u.scroll()
}

// Lines that are not rows of the graph.
const (
	linesAbove = 1 // title
	linesBelow = 2 // what is selected
)

func (u *Flame) room() int { return max(u.height-linesAbove-linesBelow, 1) }

// scroll brings the selected box into view.
func (u *Flame) scroll() {
	row, _ := u.spot(u.drawn())
	u.top = max(min(u.top, row), row-u.room()+1)
	u.scrollBy(0)
}

func (u *Flame) scrollBy(rows int) { u.top = max(0, min(u.top+rows, len(u.rows)-u.room())) }

// spot returns the row of a node and its place there, or -1.
func (u *Flame) spot(n *report.FlameNode) (row, at int) {
	for i, r := range u.rows {
		if j := slices.IndexFunc(r, func(b render.FlameBox) bool { return b.Node == n }); j >= 0 {
			return i, j
		}
	}
	return -1, -1
}
