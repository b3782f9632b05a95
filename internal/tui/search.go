package tui

import (
	"regexp"
	"slices"

	"github.com/hone-perf/hone/internal/query"
	"github.com/hone-perf/hone/internal/report"
)

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

// pattern returns the regexp for what somebody searches.
func pattern(text string) string { return query.Pattern(query.SmartCase(text)) }

// searchFor marks the frames that match.
func (u *Flame) searchFor(text string) {
	u.search, u.rx, u.matched = text, nil, ""
	if text != "" {
		rx, err := regexp.Compile(pattern(text))
		if err != nil {
			u.message = "no regexp yet: " + text
		}
		u.rx = rx
	}
	u.match()
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
	q.Arg = pattern(u.search)
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
