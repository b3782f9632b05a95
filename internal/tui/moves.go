package tui

import (
	"slices"

	"github.com/hone-perf/hone/internal/query"
	"github.com/hone-perf/hone/internal/report"
)

// flameKeys is what ? shows.
const flameKeys = `arrows, h j k l    select a frame: above, below, left, right
Enter              zoom into the selected frame
click              select a frame; click again to zoom in
Esc, Backspace     back out
/                  search by regexp; Enter shows how much matches
Esc                in a search, clear it
n, N               next match, previous match
i                  invert: callees above their callers, and back
r                  reset zoom and search
PgUp, PgDn, wheel  scroll
?                  show these keys
q                  quit`

// update does what a key asks for and reports whether that is to quit.
func (u *Flame) update(k key) (quit bool) {
	u.message = ""
	switch {
	case k.name == "ctrl-c":
		return true
	case u.help:
		u.help = false
		return k.char == 'q'
	case u.typing:
		u.typeSearch(k)
		return false
	}
	switch {
	case k.char == 'q':
		return true
	case k.char == '?':
		u.help = true
	case k.char == '/':
		u.typing = true
	case k.char == 'n':
		u.next(1)
	case k.char == 'N':
		u.next(-1)
	case k.char == 'i':
		q := u.query
		q.Invert, q.Root = !q.Invert, ""
		u.outer, u.all = nil, nil
		u.show(q)
	case k.char == 'r':
		u.searchFor("")
		u.outer = nil
		u.zoomOut("")
	case k.name == "enter":
		u.zoomInto(u.selected)
	case k.name == "esc", k.name == "backspace":
		u.back()
	case k.name == "up", k.char == 'k':
		u.up()
	case k.name == "down", k.char == 'j':
		u.down()
	case k.name == "left", k.char == 'h':
		u.beside(-1)
	case k.name == "right", k.char == 'l':
		u.beside(1)
	case k.name == "home":
		u.choose(u.flame.Root)
	case k.name == "pageup":
		u.scrollBy(-u.room() / 2)
	case k.name == "pagedown":
		u.scrollBy(u.room() / 2)
	case k.name == "wheelup":
		u.scrollBy(-3)
	case k.name == "wheeldown":
		u.scrollBy(3)
	case k.name == "click":
		u.click(k.x, k.y)
	}
	return false
}

func (u *Flame) choose(n *report.FlameNode) {
	u.selected = n
	u.scroll()
}

// up selects what calls the selected frame.
func (u *Flame) up() {
	if p := u.parent[u.selected]; p != nil {
		u.choose(p)
		return
	}
	if row, _ := u.spot(u.selected); row > 0 { // the root, or above it
		u.choose(u.above[row-1])
	}
}

// down selects the heaviest of what the selected frame calls.
func (u *Flame) down() {
	if row := slices.Index(u.above, u.selected); row >= 0 {
		u.choose(u.rows[row+1][0].Node)
		return
	}
	for _, c := range u.selected.Children {
		if row, _ := u.spot(c); row >= 0 {
			u.choose(c)
			return
		}
	}
	if u.selected.Calls == 0 {
		u.message = "the stack ends here"
	} else if u.selected != u.flame.Root {
		u.message = "its callees are too narrow: Enter zooms in"
	}
}

// beside selects the next box in the row, or the one before.
func (u *Flame) beside(step int) {
	row, at := u.spot(u.drawn())
	for at += step; at >= 0 && at < len(u.rows[row]); at += step {
		if n := u.rows[row][at].Node; n != nil {
			u.choose(n)
			return
		}
	}
}

// click selects a box, or zooms into it if it is the selected one.
func (u *Flame) click(x, y int) {
	row := y - linesAbove + u.top
	if y < linesAbove || y >= linesAbove+u.room() || row >= len(u.rows) {
		return
	}
	for _, b := range u.rows[row] {
		if x < b.From || x >= b.To {
			continue
		}
		switch {
		case b.Node == nil:
			u.message = "these frames are too narrow: zoom into their callers"
		case b.Node == u.selected:
			u.zoomInto(b.Node)
		default:
			u.choose(b.Node)
		}
	}
}

// zoomInto makes n fill the width.
func (u *Flame) zoomInto(n *report.FlameNode) {
	if n == u.flame.Root {
		return
	}
	q := u.query
	q.Root = u.pathTo(n)
	was := u.query.Root
	if u.show(q) {
		u.outer = append(u.outer, was)
	}
}

// zoomOut shows a root again that was shown before. What was shown last stays selected.
func (u *Flame) zoomOut(root string) {
	was := u.flame.Path
	q := u.query
	q.Root = root
	if q.Root == u.query.Root || !u.show(q) {
		return
	}
	n := u.flame.Root
	for _, w := range was[min(len(u.flame.Path), len(was)):] {
		i := slices.IndexFunc(n.Children, func(c *report.FlameNode) bool { return c.Frame == w.Frame })
		if i < 0 {
			break
		}
		n = n.Children[i]
	}
	if row, _ := u.spot(n); row >= 0 {
		u.choose(n)
	}
}

// show asks q and reports whether there is an answer. When there is none, all stays as it is.
func (u *Flame) show(q query.Query) bool {
	if err := u.load(q); err != nil {
		u.message = err.Error()
		return false
	}
	return true
}

// back leaves the search, or else goes back to what was shown before.
func (u *Flame) back() {
	switch n := len(u.outer); {
	case u.search != "":
		u.searchFor("")
	case n > 0:
		to := u.outer[n-1]
		u.outer = u.outer[:n-1]
		u.zoomOut(to)
	default:
		u.zoomOut("")
	}
}
