package prove

import (
	"cmp"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/hone-perf/hone/internal/prove/worker"
)

// A part of what a function does, such as a result, may vary from call to call of the old version: in each call, in calls with some arguments,
// or because it is called with what varies. What is left of a text without its numbers, or of a list without its order, is then compared;
// masks say of which parts that is all. The workers also say whether there is a difference that masks hide. If there is none in a step of a
// program, it was compared in full. If there is one, then
//
//   - the versions may differ, although neither varies in this call: see unveil,
//   - the step may take something that varies. It counts as not called: other calls have to tell,
//   - or the function varies by itself. That is a doubt: it could hide any change.

// A vary is what is known to vary.
type vary struct {
	masked   map[string]bool // parts, by worker.MaskKey
	byItself map[string]bool // those of them that varied where the function took nothing that does
	sources  map[int]bool    // functions that have such a part, by number
	lost     []varying       // what is not compared
	unseen   map[int]bool    // functions of which a difference was hidden that matters, by number
	matters  map[int]bool    // whether a function judges, by number

	confirmed map[string]bool // kinds of differences that were found
	veils     map[string]int  // how many hidden differences of a function were looked into in vain
	settled   map[int]int     // in how many steps a function took nothing that varies, and both versions said the same, by number
	taken     map[int]int     // in how many it did, and they did not
	lessons   int             // how often masks were raised, or layers learned
	vain      map[string]int  // how many differences of a function did not show again
	wavers    []string        // functions that vary in the new version alone

	stirs  map[stir]int       // how often a hidden difference was none, since the old version did not answer twice the same
	later  map[string]suspect // by function: see settle
	looked time.Duration      // how long hidden differences were looked into
	pick   *rand.Rand         // of those to look into; it is not that of the calls, so that what varies does not change which are made
}

func newVary(seed uint64) vary {
	return vary{masked: make(map[string]bool), byItself: make(map[string]bool), sources: make(map[int]bool), unseen: make(map[int]bool), matters: make(map[int]bool),
		confirmed: make(map[string]bool), veils: make(map[string]int), vain: make(map[string]int), settled: make(map[int]int), taken: make(map[int]int),
		stirs: make(map[stir]int), later: make(map[string]suspect), pick: rand.New(rand.NewPCG(seed, 1))}
}

// A varying is a part of what a function does that is not compared.
type varying struct {
	fn, part string
	what     string // of it is not compared, such as its numbers; "" is all of it
}

// What of a part is not compared.
const (
	itsNumbers = "numbers in "
	itsOrder   = "the order of characters in "
)

// gravest is the last layer of differences that make a change a different one.
func (f *search) gravest() worker.Layer {
	if f.opt.Strict {
		return worker.LayerText
	}
	return worker.LayerShared
}

// lose notes the parts that masks took something from, of what was seen with them: parts that vary, in steps that take nothing that does.
func (f *search) lose(p *worker.Program, lines []worker.Line, taking []bool) {
	for _, l := range lines {
		key := worker.MaskKey(f.entries[p.Steps[l.Step].Func].name, l.Path)
		if taking[l.Step] || f.masks[key] == 0 || !f.byItself[key] {
			continue
		}
		switch {
		case f.masks[key] == worker.MaskOrder && !strings.HasSuffix(l.Path, worker.InOrder) && strings.ContainsAny(l.Text, `"[{`):
			f.loses(p, l, itsOrder)
		case strings.HasPrefix(strings.TrimPrefix(l.Text, "-"), "#"): // it is one
			f.loses(p, l, "")
		case strings.Contains(l.Text, "#"):
			f.loses(p, l, itsNumbers)
		}
	}
}

// losesAt notes the part that lines say something of.
func (f *search) losesAt(p *worker.Program, at stepPath, lines ...[]worker.Line) {
	for _, l := range slices.Concat(lines...) {
		if l.Step == at.step && l.Path == at.path && l.Layer != worker.LayerWhole {
			f.loses(p, l, "")
		}
	}
}

// loses notes one part, or only something of it, if a difference would have been one.
func (f *search) loses(p *worker.Program, l worker.Line, what string) {
	// Whether memory is shared cannot be said of results that vary by themselves.
	if l.Layer > f.gravest() || l.Shares() {
		return
	}
	v := varying{f.entries[p.Steps[l.Step].Func].name, strings.TrimSpace(worker.MaskKey("", l.Path)), what}
	if !slices.Contains(f.lost, v) {
		f.lost = append(f.lost, v)
	}
}

// doubt returns a doubt about what varies and matters: a changed function does it, or one through which alone a change can be seen.
func (f *search) doubt() string {
	var list []string
	named := make(map[string]bool)
	for _, v := range f.lost {
		if v.what != "" && slices.Contains(f.lost, varying{fn: v.fn, part: v.part}) {
			continue // nothing of it is compared
		}
		if slices.ContainsFunc(f.entries, func(e *entry) bool { return e.name == v.fn && f.judgesOnce(e) }) {
			list = append(list, v.what+v.part+" of "+v.fn)
			named[v.fn] = true
		}
	}
	for id := range f.unseen {
		if name := f.entries[id].name; !named[name] {
			list = append(list, "some results of "+name)
			named[name] = true
		}
	}
	if len(list) == 0 {
		return ""
	}
	slices.Sort(list)
	return "not compared, since they vary from call to call of the old version: " + strings.Join(list, ", ")
}

// judgesOnce is judges, which looks through much code, once for each function.
func (f *search) judgesOnce(e *entry) bool {
	known, ok := f.matters[e.id]
	if !ok {
		known = f.judges(e)
		f.matters[e.id] = known
	}
	return known
}

// touches reports whether code that changed may run in a function.
func (f *search) touches(e *entry) bool {
	_, ok := f.changes[e.key]
	return ok || e.key == "" || f.called != nil
}

// How often a function takes nothing that varies, and how often it does, until it is known whether there is enough of the former.
const (
	settledEnough = 20
	takenEnough   = 100
)

// followed reports whether masks are learned of a function where it takes what varies: most of the time, other calls tell more.
func (f *search) followed(fn int) bool {
	return f.settled[fn] < settledEnough && f.taken[fn] >= takenEnough
}

// left returns which steps of a program cannot be compared, since they take what varies. nil is none.
func (f *search) left(p *worker.Program, taking []bool) []bool {
	var out []bool
	for i, takes := range taking {
		if takes && !f.followed(p.Steps[i].Func) {
			if out == nil {
				out = make([]bool, len(taking))
			}
			out[i] = true
		}
	}
	return out
}

// onlyTaken reports whether versions differ only in steps that take what varies.
func (f *search) onlyTaken(p *worker.Program, old, now *worker.Seen, taking []bool) bool {
	left := f.left(p, taking)
	if left == nil || old.Status != now.Status {
		return left != nil
	}
	only := true
	unlike(old.Hashes, now.Hashes, func(a, b worker.Hash) bool { return a.Sum == b.Sum }, func(h worker.Hash) {
		only = only && (h.Layer >= worker.LayerInside || left[h.Step])
	})
	return only
}

// An apart says how a step differs in what two workers saw, with what masks hide.
type apart byte

const (
	content apart = 1 << iota // in more than
	inOrder                   // the order of lists, which is masked
)

// apart returns how the steps of a program differ, or nil if they do not.
func (f *search) apart(p *worker.Program, a, b *worker.Seen) (out []apart) {
	note := func(h worker.Hash, how apart) {
		if h.Layer > f.gravest() || h.Step >= len(p.Steps) {
			return
		}
		if out == nil {
			out = make([]apart, len(p.Steps))
		}
		out[h.Step] |= how
	}
	same := func(a, b worker.Hash) bool { return cmp.Or(a.All, a.Sum) == cmp.Or(b.All, b.Sum) }
	unlike(a.Hashes, b.Hashes, same, func(h worker.Hash) { note(h, content) })
	unlike(a.Hashes, b.Hashes, func(a, b worker.Hash) bool { return a.Order == b.Order }, func(h worker.Hash) { note(h, inOrder) })
	return out
}

// A compared says what of a program was compared.
type compared struct {
	apart  []apart // nil if all of it was, in full
	left   []bool  // steps that do not count; nil is none
	taking []bool  // steps that take something that varies; nil if that is not known
}

// counts reports whether what ran in a step counts as reached. One step more than there are is that it may have been any.
func (c compared) counts(step int) bool {
	if step < len(c.left) {
		return !c.left[step]
	}
	return !slices.Contains(c.left, true)
}

// weigh says what of a program counts, of which the versions differ or not where masks hide nothing.
func (f *search) weigh(p *worker.Program, old, now *worker.Seen, differs bool) (c compared) {
	if !differs && len(f.masks) == 0 {
		return c
	}
	c.taking = f.taking(p, nil)
	if old.Status != now.Status { // which counts if it turns out to be a difference
		c.left = slices.Repeat([]bool{true}, len(p.Steps))
		return c
	}
	if c.apart = f.apart(p, old, now); c.apart == nil {
		return c
	}
	c.taking = f.taking(p, func(step int) bool { return c.apart[step]&content != 0 })
	c.left = make([]bool, len(p.Steps))
	for i, how := range c.apart {
		e := f.entries[p.Steps[i].Func]
		switch {
		case how&content == 0 || !f.touches(e): // the elements of a list whose order varies were compared
		case differs || c.taking[i] || !f.judgesOnce(e):
			c.left[i] = true
		default:
			f.unseen[e.id] = true
		}
	}
	return c
}

// count notes that both versions answered a program, and returns how much of what ran is new.
func (f *search) count(t *target, st *state, p *worker.Program, old, now *worker.Seen, c compared) int {
	st.quiet++
	for i, s := range p.Steps {
		switch differs := c.apart != nil && c.apart[i]&content != 0; {
		case !differs && (c.taking == nil || !c.taking[i]):
			f.settled[s.Func]++
		case differs && c.taking[i]:
			f.taken[s.Func]++
		}
	}
	counts, clean, masked := true, true, false
	for i, s := range p.Steps {
		if s.Func != t.id {
			continue
		}
		counts = counts && c.counts(i)
		clean = clean && (c.taking == nil || !c.taking[i])
		masked = masked || c.apart != nil && c.apart[i]&content != 0
	}
	switch {
	case !counts:
		st.veiled++
		f.partly++
	case masked:
		st.executions++
		st.partly++
		f.partly++
	default:
		st.executions++
		f.executions++
	}
	if counts && clean {
		st.clean++
	}
	fresh := f.cover(0, old, c) + f.cover(1, now, c)
	if fresh > 0 {
		st.quiet = 0
		if len(st.corpus) < 400 {
			st.corpus = append(st.corpus, p)
		} else {
			st.corpus[f.rng.IntN(len(st.corpus))] = p
		}
	}
	return fresh
}

// recount counts a program after all, since the difference in it is known.
func (f *search) recount(t *target, st *state, p *worker.Program, old, now *worker.Seen, c compared) {
	if c.left == nil {
		return
	}
	for i, s := range p.Steps {
		if s.Func == t.id && c.left[i] {
			st.veiled--
			f.partly--
			st.executions++
			st.clean++
			f.executions++
			break
		}
	}
	f.cover(0, old, compared{})
	f.cover(1, now, compared{})
}

// compared returns how many calls of its function count: only those that take nothing that varies, where others had varying results. Such
// a function may vary by itself as well.
func (st *state) compared() int {
	if st.veiled > 0 {
		return st.clean
	}
	return st.executions
}

// judges reports whether what a function does says how something changed that no call of the changed function itself says.
func (s *surface) judges(e *entry) bool {
	called := make(map[string]bool) // functions that changed and are called themselves
	for _, t := range s.targets {
		if t.distance > 0 || t.entry == nil {
			continue
		}
		called[t.key] = true
		if t.entry == e {
			return true
		}
		for _, result := range t.entry.results { // what one returns is used
			if e.key == "" && slices.Contains(s.uses(result), e) {
				return true
			}
		}
	}
	if e.key == "" {
		return false
	}
	seen := map[string]bool{e.key: true}
	queue := []string{e.key}
	for len(queue) > 0 {
		key := queue[0]
		queue = queue[1:]
		if far, ok := s.changes[key]; ok && far == 0 {
			return true
		}
		for _, v := range []*side{s.old, s.new} {
			d := v.decls[key]
			if d == nil {
				continue
			}
			if s.called != nil && len(s.awayUses(v, d, s.called.changed())) > 0 {
				return true
			}
			for _, u := range d.uses {
				if !seen[u] && !called[u] {
					seen[u] = true
					queue = append(queue, u)
				}
			}
		}
	}
	return false
}

// taking returns which steps of a program take something that varies: a result that does, a result of a step that takes such a thing, or a
// value that was passed to one of these. varied, unless it is nil, reports more steps that do.
func (f *search) taking(p *worker.Program, varied func(step int) bool) []bool {
	out := make([]bool, len(p.Steps))
	type place struct {
		kind worker.Kind // Ref or Same
		of   int64
	}
	spoiled := make(map[place]bool)
	var each func(list []worker.Value, see func(at place))
	each = func(list []worker.Value, see func(at place)) {
		for i := range list {
			if v := &list[i]; v.Kind == worker.Ref || v.Kind == worker.Same {
				see(place{v.Kind, v.Int})
			}
			each(list[i].Elems, see)
		}
	}
	varies := func(step int) bool {
		return out[step] || f.sources[p.Steps[step].Func] || varied != nil && varied(step)
	}
	for i := range p.Steps {
		args := p.Steps[i].Args
		each(args, func(at place) {
			from := int(at.of >> 8)
			out[i] = out[i] || spoiled[at] || from >= 0 && from < i && at.kind == worker.Ref && varies(from)
		})
		if !varies(i) {
			continue
		}
		each(args, func(at place) { spoiled[at] = true })
		for j := range args {
			spoiled[place{worker.Same, int64(i)<<8 | int64(j)}] = true
		}
	}
	return out
}
