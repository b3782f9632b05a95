package prove

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/hone-perf/hone/internal/unit"
)

// A tally counts calls by function, with one of each.
type tally struct {
	n     int
	names []string
	count map[string]int
	call  map[string]string
}

func (c *tally) add(name, call string) {
	if c.count == nil {
		c.count, c.call = make(map[string]int), make(map[string]string)
	}
	c.n++
	if c.count[name]++; c.count[name] == 1 {
		c.names = append(c.names, name)
		c.call[name] = call
	}
}

// text names the functions, those with most calls first.
func (c *tally) text() string {
	names := slices.Clone(c.names)
	slices.SortStableFunc(names, func(a, b string) int { return cmp.Compare(c.count[b], c.count[a]) })
	const most = 5
	var parts []string
	for i, name := range names {
		if i == most {
			parts = append(parts, fmt.Sprintf("and in %s more", unit.Counted(len(names)-most, "function")))
			break
		}
		times := ""
		if n := c.count[name]; n > 1 {
			times = fmt.Sprintf("%d in %s, such as ", n, name)
		}
		parts = append(parts, times+c.call[name])
	}
	return strings.Join(parts, "; ")
}

func doOrDoes(n int) string {
	if n == 1 {
		return "does"
	}
	return "do"
}
