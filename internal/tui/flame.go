// Package tui is hone in a terminal that is all its own: a flame graph to walk through with keys and mouse.
package tui

import (
	"fmt"
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
	if u.selected.Flat == u.selected.Cum {
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

// typeSearch changes the search as it is typed.
func (u *Flame) typeSearch(k key) {
	switch {
	case k.name == "enter":
		u.typing = false
		if len(u.matches) > 0 && !u.matches[u.selected] {
			u.next(1)
			u.message = "" // how much it is says more than that it is narrow
		}
		u.total()
	case k.name == "esc", k.name == "backspace" && u.search == "":
		u.typing = false
		u.searchFor("")
	case k.name == "backspace":
		r := []rune(u.search)
		u.searchFor(string(r[:len(r)-1]))
	case k.char != 0:
		u.searchFor(u.search + string(k.char))
	}
}

// searchFor marks the frames that match.
func (u *Flame) searchFor(text string) {
	u.search, u.rx, u.matched = text, nil, ""
	if text != "" {
		rx, err := regexp.Compile(u.pattern())
		if err != nil {
			u.message = "no regexp yet: " + text
		}
		u.rx = rx
	}
	u.match()
}

// pattern returns the regexp that is searched for. In lower case it finds both.
func (u *Flame) pattern() string {
	if strings.ToLower(u.search) == u.search {
		return "(?i)" + u.search
	}
	return u.search
}

// match finds the frames shown that match.
func (u *Flame) match() {
	u.matches = make(map[*report.FlameNode]bool)
	if u.rx == nil {
		return
	}
	names := make(map[string]bool)
	for _, n := range slices.Concat(u.above, u.order) {
		if n == u.all || n == u.flame.Root && u.query.Root == "" {
			continue // it is no frame
		}
		name := n.Frame.String()
		is, ok := names[name]
		if !ok {
			is = u.rx.MatchString(name)
			names[name] = is
		}
		if is {
			u.matches[n] = true
		}
	}
}

// total asks how much matches, of all there is and not only of what is large enough to be shown.
func (u *Flame) total() {
	if u.rx == nil {
		return
	}
	q := u.query
	q.Arg = u.pattern()
	s, err := u.find(q)
	if err != nil {
		u.message = err.Error()
		return
	}
	u.matched = u.painter.Text(u.painter.Value(s.Value), ", ", report.Share{Part: s.Value, Whole: s.Total}, " of all matched")
}

// next selects the next match, step by step, also one that is too narrow for a box.
func (u *Flame) next(step int) {
	at := slices.Index(u.order, u.selected)
	for range u.order {
		at = (at + step + len(u.order)) % len(u.order)
		n := u.order[at]
		if !u.matches[n] {
			continue
		}
		u.choose(n)
		if u.drawn() != n {
			u.message = "too narrow for a box: Enter zooms in"
		}
		return
	}
	u.message = "nothing matches here"
	if u.rx == nil {
		u.message = "/ searches"
	}
}

// drawn returns what has a box: the selected frame, or the nearest of its callers where it is too narrow.
func (u *Flame) drawn() *report.FlameNode {
	for n := u.selected; n != nil; n = u.parent[n] {
		if row, _ := u.spot(n); row >= 0 {
			return n
		}
	}
	return u.flame.Root
}

// view returns the lines of the screen.
func (u *Flame) view(width, height int) []string {
	if width != u.width || height != u.height {
		u.width, u.height = width, height
		u.layout()
	}
	const leastWidth, leastHeight = 20, 6
	if width < leastWidth || height < leastHeight {
		return []string{"too small"}
	}
	lines := []string{u.title()}
	help := strings.Split(flameKeys, "\n")
	for i := range u.room() {
		line := ""
		switch row := u.top + i; {
		case u.help && 0 < i && i <= len(help):
			line = u.painter.Fit("  "+help[i-1], width)
		case !u.help && row < len(u.rows):
			line = u.painter.Row(u.rows[row], u.mark(row))
		}
		lines = append(lines, line)
	}
	return append(lines, u.status()...)
}

// mark returns how boxes of a row stand out.
func (u *Flame) mark(row int) func(*report.FlameNode) render.FlameMark {
	selected := u.drawn()
	return func(n *report.FlameNode) render.FlameMark {
		switch {
		case n == selected:
			return render.FlameSelected
		case u.matches[n]:
			return render.FlameMatch
		case u.rx != nil, row < len(u.above):
			return render.FlameFaint
		}
		return render.FlamePlain
	}
}

// title says what is shown and what the colors mean.
func (u *Flame) title() string {
	f := u.flame
	parts := []string{u.painter.Text(f.Metric, " ", u.painter.Value(f.Total))}
	if f.File != "" {
		parts = slices.Insert(parts, 0, f.File)
	}
	if f.Inverted {
		parts = append(parts, "inverted")
	}
	left := strings.Join(append(parts, f.Filters...), "  ")
	const between, leastLeft = 3, 30
	legend, cols := u.painter.Legend()
	if cols == 0 || u.width < leastLeft+between+cols {
		return u.painter.Fit(left, u.width)
	}
	return u.painter.Fit(left, u.width-cols-between) + strings.Repeat(" ", between) + legend
}

// place says where the function of a frame is in the sources, unless its name says that.
func (u *Flame) place(n *report.FlameNode) string {
	if n.File != "" || u.flame.Where == nil {
		return ""
	}
	at := u.flame.Where(n.Name)
	if at.File != "" && at.Line > 0 {
		return fmt.Sprintf("%s:%d", at.File, at.Line)
	}
	return at.File
}

// status says what is selected, where that is, and what it costs.
func (u *Flame) status() []string {
	n, p := u.selected, u.painter
	const between, leastPlace = 2, 24
	name, place := p.Name(n), u.place(n)
	first := p.FitPath(name, u.width)
	if place != "" { // the name goes first, but what is left must suffice for a file
		used := max(1, min(len([]rune(name)), u.width-between-leastPlace))
		first = p.FitPath(name, used) + strings.Repeat(" ", between) + p.FitPath(place, u.width-used-between)
	}
	share := func(whole int64) report.Share { return report.Share{Part: n.Cum, Whole: whole} }
	change := ""
	if c, ok := p.Change(n); ok {
		change = "  " + p.Text(c)
	}
	flat := p.Text("flat ", p.Value(n.Flat))
	costs := []string{
		p.Text(p.Value(n.Cum), "  ", share(u.flame.Root.Cum), " of view  ", share(u.flame.Total), " of all  ") + flat + change,
		p.Text(p.Value(n.Cum), "  ", share(u.flame.Total), "  ") + flat + change,
		p.Text(p.Value(n.Cum), "  ") + flat,
	}
	return []string{p.Strong(first), u.sides(costs, u.news())}
}

// news says what just happened, or what can be done, from long to short.
func (u *Flame) news() []string {
	const keys = "? keys  q quit"
	switch {
	case u.message != "" && u.matches[u.selected]:
		return []string{u.step() + "  " + u.message, u.message}
	case u.message != "":
		return []string{u.message}
	case u.typing:
		search := "/" + u.search + "_"
		return []string{fmt.Sprintf("%s  %d frames here", search, len(u.matches)), search}
	case u.search != "":
		search, at := "/"+u.search, u.step()
		return []string{search + "  " + at + "  " + u.matched, search + "  " + at, at}
	case u.hidden > 0:
		return []string{fmt.Sprintf("%d narrow rows hidden  %s", u.hidden, keys), keys}
	}
	return []string{keys}
}

// step says which of the matches is selected: 3/359.
func (u *Flame) step() string {
	at := "–"
	if u.matches[u.selected] {
		n := 0
		for _, m := range u.order {
			if u.matches[m] {
				n++
			}
			if m == u.selected {
				break
			}
		}
		at = fmt.Sprint(n)
	}
	return fmt.Sprintf("%s/%d", at, len(u.matches))
}

// sides puts two texts, each given from long to short, at both ends of a line. What is on the right is news: it becomes shorter
// only where the shortest text on the left does not fit beside it.
func (u *Flame) sides(left, right []string) string {
	const between, leastLeft = 2, 8
	for _, r := range right {
		for _, l := range left {
			if room := u.width - u.painter.Width(r) - between; u.painter.Width(l) <= room {
				return u.painter.Fit(l, room) + strings.Repeat(" ", between) + r
			}
		}
	}
	r := right[len(right)-1]
	room := u.width - u.painter.Width(r) - between
	if room < leastLeft {
		return u.painter.Fit(r, u.width)
	}
	return u.painter.Fit(left[len(left)-1], room) + strings.Repeat(" ", between) + r
}
