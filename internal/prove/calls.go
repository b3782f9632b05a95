package prove

import (
	"cmp"
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"math"
	"slices"

	"github.com/hone-perf/hone/internal/unit"
)

// How many calls of a function it takes to say that two versions of it do the same. Of the changes of behavior in testdata, made on
// purpose, the one that was hardest to find took less than a tenth of the least. A parser takes more: one of 58 blocks changed in what
// 560, 1,931 and more than 12,209 calls showed.
const (
	callsNeeded = 1000   // of any
	callsBlock  = 250    // for each block of what changed that calls reach,
	fewBlocks   = 8      // beyond these
	callsText   = 20     // for each text and character that is written in it
	callsMost   = 20_000 // more takes too long
)

// A callsOf is how often a function was called, and how often it has to be.
type callsOf struct {
	name       string
	had, needs int
}

// needs returns how many calls it takes of a function: the more, the more of the change they reach. One that takes nothing, or truth
// values alone, has nothing to say in more of them.
func (s *surface) needs(e *entry, key string, far map[string]reach) int {
	many := s.callsFor(key, far)
	for _, t := range e.results { // what is made is called with more
		if isHandlerType(t) || len(s.uses(t)) > 0 {
			return many
		}
	}
	inputs := 1
	for _, t := range e.params {
		inputs *= s.valuesOf(t, 0)
		if inputs >= callsNeeded {
			return many
		}
	}
	return min(callsNeeded, 4*inputs) // some come up more often than others
}

// callsFor returns how many calls it takes of a function that may be called with anything: by what changed of it, and of what it uses.
func (s *surface) callsFor(key string, far map[string]reach) int {
	blocks, texts := 0, 0
	seen := map[string]bool{key: true}
	queue := []string{key}
	for len(queue) > 0 {
		next := queue[0]
		queue = queue[1:]
		d := s.new.decls[next]
		if d == nil {
			continue
		}
		if distance, ok := s.changes[next]; ok && distance == 0 {
			blocks += far[next].reached
			texts += literalsIn(d.node)
		}
		for _, u := range d.uses {
			if !seen[u] {
				seen[u] = true
				queue = append(queue, u)
			}
		}
	}
	if blocks <= fewBlocks {
		return callsNeeded
	}
	return min(callsNeeded+(blocks-fewBlocks)*callsBlock+texts*callsText, callsMost)
}

// literalsIn counts the texts and characters that are written in code, each once.
func literalsIn(n ast.Node) int {
	had := make(map[string]bool)
	ast.Inspect(n, func(n ast.Node) bool {
		if lit, ok := n.(*ast.BasicLit); ok && (lit.Kind == token.STRING || lit.Kind == token.CHAR) {
			had[lit.Value] = true
		}
		return true
	})
	return len(had)
}

// valuesOf returns how many values a type has, up to a limit.
func (s *surface) valuesOf(t types.Type, depth int) int {
	switch u := t.Underlying().(type) {
	case *types.Basic:
		switch u.Kind() {
		case types.Bool:
			return 2
		case types.Int8, types.Uint8:
			return 1 << 8
		}
	case *types.Struct:
		n := 1
		for f := range u.Fields() {
			if n *= s.valuesOf(f.Type(), depth+1); n >= callsNeeded || depth > 4 {
				return callsNeeded
			}
		}
		return n
	case *types.Pointer:
		if _, ok := u.Elem().Underlying().(*types.Struct); ok && depth <= 4 {
			return min(1+s.valuesOf(u.Elem(), depth+1), callsNeeded)
		}
	}
	return math.MaxInt16
}

// count notes whether a function that changed was called often enough. One that cannot be called itself is by those that use it.
func (r *run) count(s *surface, f *search, t *target, name string, far map[string]reach) {
	c := callsOf{name: name}
	var states map[*target]*state // none where nothing of the package can be called
	if f != nil {
		states = f.states
	}
	if st := states[t]; st != nil && t.entry != nil {
		c.had, c.needs = st.compared()+s.awayHad[t.key], s.needs(t.entry, t.key, far)
	} else {
		for user, st := range states {
			if f.reaches(user.key, t.key) {
				c.had += st.compared()
				c.needs = max(c.needs, f.needs(user.entry, t.key, far))
			}
		}
		if n := s.awayHad[t.key]; n > 0 {
			c.had += n
			c.needs = s.callsFor(t.key, far)
		}
		if c.had == 0 && r.ran || c.needs == 0 {
			return // the program runs it, with arguments that were given
		}
	}
	if c.had < c.needs {
		r.few = append(r.few, fmt.Sprintf("%s had %d of the %d that it takes", name, c.had, c.needs))
		return
	}
	r.enough = append(r.enough, c)
}

// closest says which changed function came closest to having too few calls. Functions that only use what changed may have fewer.
func (r *run) closest() string {
	least := slices.MinFunc(r.enough, func(a, b callsOf) int { return cmp.Compare(a.had*b.needs, b.had*a.needs) })
	calls := fmt.Sprintf("%d, at least %d are required", least.had, least.needs)
	switch {
	case len(r.enough) == 1:
		return least.name + " had " + unit.Counted(least.had, "call") + fmt.Sprintf(", at least %d are required", least.needs)
	case slices.ContainsFunc(r.enough, func(c callsOf) bool { return c.had < least.had }):
		return "of the changed functions, " + least.name + " came closest to the required number of calls: " + calls
	}
	return "of the changed functions, " + least.name + " had the fewest calls: " + calls
}

// reaches reports whether a function uses a declaration, directly or not, in the new version.
func (s *surface) reaches(key, used string) bool {
	seen := map[string]bool{key: true}
	queue := []string{key}
	for len(queue) > 0 {
		d := s.new.decls[queue[0]]
		queue = queue[1:]
		if d == nil {
			continue
		}
		for _, u := range d.uses {
			if u == used {
				return true
			}
			if !seen[u] {
				seen[u] = true
				queue = append(queue, u)
			}
		}
	}
	return false
}
