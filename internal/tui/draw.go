package tui

import (
	"fmt"
	"slices"
	"strings"

	"github.com/hone-perf/hone/internal/render"
	"github.com/hone-perf/hone/internal/report"
)

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
	flat := ""
	if n.Flat != 0 || !u.flame.Inverted { // the time of callers is that of what they call
		flat = p.Text("  flat ", p.Value(n.Flat))
	}
	costs := []string{
		p.Text(p.Value(n.Cum), "  ", share(u.flame.Root.Cum), " of view  ", share(u.flame.Total), " of all") + flat + change,
		p.Text(p.Value(n.Cum), "  ", share(u.flame.Total)) + flat + change,
		p.Text(p.Value(n.Cum)) + flat,
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
