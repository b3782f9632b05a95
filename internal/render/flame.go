package render

import (
	"slices"
	"sort"
	"strings"

	"github.com/hone-perf/hone/internal/order"
	"github.com/hone-perf/hone/internal/report"
	"github.com/hone-perf/hone/internal/unit"
)

// A flameBox is a frame in a picture, or a run of adjacent frames that are too narrow to draw.
type flameBox struct {
	node   *report.FlameNode // nil for a run
	x, w   float64
	frames int // number of frames in a run
}

// flameRows lays out a tree in rows, one for each depth below root. It merges adjacent boxes narrower than least into runs, and omits their callees.
func flameRows(root *report.FlameNode, width, least float64) [][]flameBox {
	if root == nil {
		return nil
	}
	sizes := make(map[*report.FlameNode]float64)
	whole := flameSize(root, sizes)
	var rows [][]flameBox
	row := []flameBox{{node: root, w: width, frames: 1}}
	for len(row) > 0 {
		rows = append(rows, row)
		var next []flameBox
		for _, b := range row {
			if b.node == nil {
				continue
			}
			x := b.x
			for _, c := range b.node.Children {
				w := 0.0
				if whole > 0 {
					w = width * sizes[c] / whole
				}
				next = addBox(next, flameBox{c, x, w, 1}, least)
				x += w
			}
			if left := b.node.Left.Width(); left > 0 && whole > 0 {
				next = addBox(next, flameBox{x: x, w: width * float64(left) / whole, frames: b.node.Calls - len(b.node.Children)}, least)
			}
		}
		row = slices.DeleteFunc(next, func(b flameBox) bool { return b.node == nil && b.w < least })
	}
	return rows
}

// addBox adds b to a row, or merges it into the run at the end.
func addBox(row []flameBox, b flameBox, least float64) []flameBox {
	if b.w >= least {
		return append(row, b)
	}
	if n := len(row); n > 0 && row[n-1].node == nil && b.x-row[n-1].x-row[n-1].w < least {
		row[n-1].w = b.x + b.w - row[n-1].x
		row[n-1].frames += b.frames
		return row
	}
	b.node = nil
	return append(row, b)
}

// cutSlivers removes the rows below the last one with a box as wide as least, because tall thin towers would take most of many pictures. It returns
// the number of removed rows.
func cutSlivers(rows [][]flameBox, least float64) ([][]flameBox, int) {
	n := len(rows)
	for n > 1 && !slices.ContainsFunc(rows[n-1], func(b flameBox) bool { return b.w >= least }) {
		n--
	}
	return rows[:n], len(rows) - n
}

// flameSize returns the width that n needs. In a diff it can be more than the sum, because positive and negative values cancel out.
func flameSize(n *report.FlameNode, sizes map[*report.FlameNode]float64) float64 {
	below := 0.0
	for _, c := range n.Children {
		below += flameSize(c, sizes)
	}
	own := n.Width
	if own == 0 {
		own = unit.Abs(n.Cum)
	}
	sizes[n] = max(float64(own), below)
	return sizes[n]
}

// A tint is the meaning of a frame's color.
type tint int

const (
	tintOwn tint = iota // see report.Origin
	tintStd
	tintDep
	tintRuntime
	tintOther

	tintGone // in a diff, from least to most
	tintMuchLess
	tintLess
	tintLittleLess
	tintSame
	tintLittleMore
	tintMore
	tintMuchMore
	tintNew

	tintRun // a run of narrow frames
)

func tintOf(o report.Origin) tint {
	switch o {
	case report.OwnCode:
		return tintOwn
	case report.StdLibrary:
		return tintStd
	case report.Dependency:
		return tintDep
	case report.GoRuntime:
		return tintRuntime
	}
	return tintOther
}

func originName(o report.Origin) string {
	switch o {
	case report.OwnCode:
		return "your code"
	case report.StdLibrary:
		return "standard library"
	case report.Dependency:
		return "dependencies"
	case report.GoRuntime:
		return "runtime"
	}
	return "other"
}

// flameTints chooses the tints of a tree.
type flameTints struct {
	diff   bool // the tree compares two sides
	signed bool // values are differences
	single bool // all frames have the same origin

	all *report.FlameNode // the root, if it is not a frame
}

// tintsOf returns the tints of a tree.
func tintsOf(root *report.FlameNode) flameTints {
	p := flameTints{single: true}
	if root != nil && root.Frame == (report.Frame{}) {
		p.all = root
	}
	var first *report.FlameNode
	var look func(n *report.FlameNode)
	look = func(n *report.FlameNode) {
		p.diff = p.diff || n.Before != nil
		p.signed = p.signed || n.Cum < 0
		if n != p.all {
			if first == nil {
				first = n
			}
			p.single = p.single && n.Origin == first.Origin
		}
		for _, c := range n.Children {
			look(c)
		}
	}
	if root != nil {
		look(root)
	}
	return p
}

// tint returns the tint of a box.
func (p flameTints) tint(b flameBox) tint {
	switch n := b.node; {
	case n == nil:
		return tintRun
	case p.diff:
		return changeTint(costBefore(n).Cum, n.Cum)
	case p.signed && n.Cum < 0:
		return tintMuchLess
	case p.signed && n.Cum > 0:
		return tintMuchMore
	case p.signed:
		return tintSame
	case n == p.all:
		return tintRun
	case p.single:
		return tintOwn // all frames have this origin, so color would not say anything
	default:
		return tintOf(n.Origin)
	}
}

// changeTint returns the tint of a difference.
func changeTint(before, after int64) tint {
	const little, fair, much = 0.02, 0.1, 0.4
	switch {
	case before == after:
		return tintSame
	case before == 0:
		return tintNew
	case after == 0:
		return tintGone
	}
	d := float64(after) - float64(before)
	switch x := d / float64(max(unit.Abs(after), unit.Abs(before))); {
	case x <= -much:
		return tintMuchLess
	case x <= -fair:
		return tintLess
	case x <= -little:
		return tintLittleLess
	case x < little:
		return tintSame
	case x < fair:
		return tintLittleMore
	case x < much:
		return tintMore
	}
	return tintMuchMore
}

// A legendItem explains some tints, with text before and after them.
type legendItem struct {
	from, to tint
	before   string
	after    string
}

// legend returns the explanation of the tints in a tree.
func (p flameTints) legend(root *report.FlameNode) []legendItem {
	switch {
	case p.diff:
		return []legendItem{
			{tintMuchLess, tintMuchMore, "less", "more"}, {tintGone, tintGone, "", "gone"}, {tintNew, tintNew, "", "new"},
		}
	case p.signed:
		return []legendItem{{tintMuchLess, tintMuchLess, "", "less"}, {tintMuchMore, tintMuchMore, "", "more"}}
	case p.single || root == nil:
		return nil
	}
	has := make(map[tint]bool)
	var list []legendItem
	var look func(n *report.FlameNode)
	look = func(n *report.FlameNode) {
		if t := tintOf(n.Origin); !has[t] && n != p.all {
			has[t] = true
			list = append(list, legendItem{t, t, "", originName(n.Origin)})
		}
		for _, c := range n.Children {
			look(c)
		}
	}
	look(root)
	order.Stable(list, func(a, b legendItem) int { return int(a.from - b.from) })
	return list
}

// boxName shortens a name to a width, and reports whether the rest identifies the function. It removes the path of the package, then the package,
// then the receiver, and then cuts the end.
func boxName(name, dots string, fits func(string) bool) (string, bool) {
	name = cutTypes(name, dots)
	short := shortName(name)
	forms := []string{name, short}
	path := pathEnd(short)
	if pkg, inside, ok := strings.Cut(short[:path], "."); ok && !strings.Contains(pkg, "/") {
		forms = append(forms, dots+inside+short[path:])
	}
	bare := bareName(short)
	forms = append(forms, dots+bare, bare)
	for _, s := range forms {
		if fits(s) {
			return s, true
		}
	}
	// fewer than three letters say nothing
	const least = 3
	runes := []rune(bare)
	n := sort.Search(len(runes), func(n int) bool { return !fits(string(runes[:n+1]) + dots) })
	if n < least {
		return "", false
	}
	return string(runes[:n]) + dots, false
}

// bareName returns the name of a function without its package, its receiver and its type arguments.
func bareName(s string) string {
	if i := strings.LastIndex(s, ")."); i >= 0 {
		return s[i+len(")."):]
	}
	if i := strings.IndexByte(s, '['); i > 0 {
		s = s[:i]
	}
	if _, inside, ok := strings.Cut(s[strings.LastIndexByte(s, '/')+1:], "."); ok && inside != "" {
		return strings.TrimLeft(inside, ".")
	}
	return s
}
