package prove

import (
	"fmt"
	"go/types"
	"slices"
	"strings"

	"github.com/hone-perf/hone/internal/order"
	"github.com/hone-perf/hone/internal/prove/worker"
)

// A sharedMethod is one that goroutines may call on one value, if that is made to be shared.
type sharedMethod struct {
	*entry
	programs []*worker.Program
}

// shared adds calls of methods of one value, for each type of the package.
func (w *parallelWriter) shared(sound map[*target][]*worker.Program) {
	byType := make(map[*types.TypeName][]*sharedMethod)
	var names []*types.TypeName
	methods := make(map[int]*sharedMethod)
	add := func(e *entry, p *worker.Program) {
		m := methods[e.id]
		if m == nil {
			named, ok := types.Unalias(base(e.params[0])).(*types.Named)
			if !ok || named.Obj().Pkg() != w.new.pkg.Types {
				return
			}
			m = &sharedMethod{entry: e}
			methods[e.id] = m
			obj := named.Origin().Obj()
			if byType[obj] == nil {
				names = append(names, obj)
			}
			byType[obj] = append(byType[obj], m)
		}
		if len(m.programs) < parallelEach {
			m.programs = append(m.programs, p)
		}
	}
	for _, t := range w.targets {
		for _, p := range sound[t] {
			if t.method {
				add(t.entry, p)
			}
			for _, s := range p.Steps { // methods of interfaces are called on what a function returns
				if e := w.entries[s.Func]; e.method && e.key == "" {
					add(e, p)
				}
			}
		}
	}
	order.Stable(names, func(a, b *types.TypeName) int { return strings.Compare(a.Name(), b.Name()) })
	var later []func()
	for _, obj := range names {
		later = append(later, w.sharedOf(obj, byType[obj])...)
	}
	for _, f := range later {
		f()
	}
}

// A maker is how a shared value is made.
type maker struct {
	steps []worker.Step // the last one returns it
	at    int64         // the result that it is
	key   string        // of the function that makes it
	made  string        // key of its declaration
	used  int
}

// sharedOf adds calls of methods of values of one type, and returns what adds those of such values with a field set, for when all types
// had their turn.
func (w *parallelWriter) sharedOf(obj *types.TypeName, methods []*sharedMethod) (later []func()) {
	// Which functions make one, and how; and where none does, its zero value.
	var makers []*maker
	for _, e := range methods {
		for _, p := range e.programs {
			m := makerOf(p, e.id)
			if m == nil {
				if types.IsInterface(obj.Type()) {
					continue
				}
				m = w.zero(e.params[0])
			}
			i := slices.IndexFunc(makers, func(o *maker) bool { return o.key == m.key })
			if i < 0 {
				makers = append(makers, m)
				i = len(makers) - 1
			}
			makers[i].used++
			if len(m.steps) < len(makers[i].steps) {
				m.used = makers[i].used
				makers[i] = m
			}
		}
	}
	order.Stable(makers, func(a, b *maker) int { return b.used - a.used })
	n := 0
	for _, m := range makers {
		m.made = w.entries[m.steps[len(m.steps)-1].Func].key
		allowed := make(map[int]bool)
		for _, e := range w.entries {
			if !e.method || len(e.params) == 0 || e.field != "" {
				continue
			}
			named, ok := types.Unalias(base(e.params[0])).(*types.Named)
			if ok && named.Origin().Obj() == obj && w.guards.mayShare(obj, e.name[strings.LastIndexByte(e.name, '.')+1:], e.key, m.made) {
				allowed[e.id] = true
			}
		}
		if n == parallelValues || len(allowed) == 0 {
			continue
		}
		n++
		w.group(obj, methods, m, allowed, parallelEach, parallelMost)
		later = append(later, func() {
			for _, one := range w.withFields(obj, m) {
				w.group(obj, methods, one, allowed, 1, parallelMost+parallelFields)
			}
		})
	}
	return later
}

// group adds the calls of methods of one value, a few of each, as long as there are not too many in all.
func (w *parallelWriter) group(obj *types.TypeName, methods []*sharedMethod, m *maker, allowed map[int]bool, each, most int) {
	g := parallelGroup{of: obj.Name()}
	for _, e := range methods {
		n := 0
		for _, p := range e.programs {
			if !allowed[e.id] || len(w.calls) >= most || n == each {
				continue
			}
			q := onShared(p, m, allowed, e.id)
			if q == nil {
				continue
			}
			setup, text, ok := w.coder.after(q, len(m.steps))
			if !ok || g.setup != "" && setup != g.setup {
				continue
			}
			had := len(g.calls)
			if g.calls = w.add(g.calls, ParallelCall{Name: e.name, Of: obj.Name(), Setup: setup, Text: text}); len(g.calls) > had {
				g.setup = setup
				n++
			}
		}
	}
	if len(g.calls) > 0 {
		w.groups = append(w.groups, g)
	}
}

// makerOf finds how the receiver of a method is made in a program, or returns nil where it is written out.
func makerOf(p *worker.Program, method int) *maker {
	for i := range p.Steps {
		if p.Steps[i].Func != method {
			continue
		}
		v := &p.Steps[i].Args[0]
		for v.Kind == worker.Same && v.Int&255 == 0 && int(v.Int>>8) < i {
			v = &p.Steps[v.Int>>8].Args[0]
		}
		if v.Kind != worker.Ref {
			return nil
		}
		made := int(v.Int >> 8)
		q := &worker.Program{Steps: cloneProgram(p).Steps[:made+1]}
		// What it does not need is left out.
		for at := made - 1; at >= 0; at-- {
			if removeStep(q, at) {
				made--
			}
		}
		return &maker{steps: q.Steps, at: int64(made)<<8 | v.Int&255, key: fmt.Sprint(p.Steps[v.Int>>8].Func)}
	}
	return nil
}

// zero makes the zero value of what a pointer is to.
func (w *parallelWriter) zero(t types.Type) *maker {
	t = types.NewPointer(base(t))
	name := "new(" + w.spell(base(t)) + ")"
	i := slices.IndexFunc(w.entries, func(e *entry) bool { return e.name == name })
	if i < 0 {
		i = len(w.entries)
		w.entries = append(w.entries, &entry{id: i, name: name, expr: fmt.Sprintf("func() %s { return %s }", w.spell(t), name), results: []types.Type{t}, inOld: true})
	}
	return &maker{steps: []worker.Step{{Func: i}}, key: name}
}

// onShared makes a program call its methods on what a maker made. It returns nil where that cannot be: all that it calls of the shared
// value has to be allowed, and it may not use anything else that was made together with it.
func onShared(p *worker.Program, m *maker, allowed map[int]bool, method int) *worker.Program {
	q := cloneProgram(p)
	at := slices.IndexFunc(q.Steps, func(s worker.Step) bool { return s.Func == method })
	if at < 0 {
		return nil
	}
	// Everything that is the receiver becomes the shared value, which has a number that no step has.
	const shared = int64(1) << 40
	isOne := func(v *worker.Value) bool { return false }
	switch recv := q.Steps[at].Args[0]; recv.Kind {
	case worker.Ref:
		isOne = func(v *worker.Value) bool { return v.Kind == worker.Ref && v.Int == recv.Int }
	case worker.Same:
		from := recv.Int
		for {
			v := q.Steps[from>>8].Args[from&255]
			if v.Kind != worker.Same {
				recv = v
				break
			}
			from = v.Int
		}
		if recv.Kind == worker.Ref {
			isOne = func(v *worker.Value) bool { return v.Kind == worker.Ref && v.Int == recv.Int }
		}
	}
	same := make(map[int64]bool) // arguments that are the receiver
	var replace func(v *worker.Value)
	replace = func(v *worker.Value) {
		if isOne(v) || v.Kind == worker.Same && same[v.Int] {
			*v = worker.Value{Kind: worker.Ref, Int: shared}
		}
		for i := range v.Elems {
			replace(&v.Elems[i])
		}
	}
	receives := func(step int) bool { // a method of the receiver's type
		return allowed[q.Steps[step].Func] && len(q.Steps[step].Args) > 0
	}
	for i := range q.Steps {
		for j := range q.Steps[i].Args {
			id := int64(i)<<8 | int64(j)
			v := &q.Steps[i].Args[j]
			if j == 0 && (i == at || receives(i) && (isOne(v) || v.Kind == worker.Same && same[v.Int])) {
				*v = worker.Value{Kind: worker.Ref, Int: shared}
			}
			replace(v)
			if v.Kind == worker.Ref && v.Int == shared {
				same[id] = true
			}
		}
	}
	// Calls that got the shared value but are not its methods, or not those that may be made, end it.
	for i := range q.Steps {
		for j := range q.Steps[i].Args {
			if mentions(&q.Steps[i].Args[j], shared) && !(j == 0 && allowed[q.Steps[i].Func]) {
				return nil
			}
		}
	}
	// What made the receiver is not needed any more, nor what only that needed.
	last := slices.IndexFunc(q.Steps, func(s worker.Step) bool { return s.Func == method })
	for i := last - 1; i >= 0; i-- {
		if len(q.Steps[i].Args) > 0 && mentions(&q.Steps[i].Args[0], shared) {
			continue // a call of the shared value itself
		}
		if removeShared(q, i, shared) {
			last--
		}
	}
	n := int64(len(m.steps))
	var move func(v *worker.Value)
	move = func(v *worker.Value) {
		switch {
		case v.Kind == worker.Ref && v.Int == shared:
			v.Int = m.at
		case v.Kind == worker.Ref || v.Kind == worker.Same:
			v.Int += n << 8
		}
		for i := range v.Elems {
			move(&v.Elems[i])
		}
	}
	for i := range q.Steps {
		for j := range q.Steps[i].Args {
			move(&q.Steps[i].Args[j])
		}
	}
	first := cloneProgram(&worker.Program{Steps: m.steps})
	q.Steps = append(first.Steps, q.Steps...)
	return q
}

func mentions(v *worker.Value, ref int64) bool {
	return v.Kind == worker.Ref && v.Int == ref || slices.ContainsFunc(v.Elems, func(e worker.Value) bool { return mentions(&e, ref) })
}

// removeShared is removeStep for a program in which the shared value has a number above those of all steps.
func removeShared(p *worker.Program, at int, shared int64) bool {
	const away = worker.Zero
	var hidden []*worker.Value
	var hide func(v *worker.Value)
	hide = func(v *worker.Value) {
		if v.Kind == worker.Ref && v.Int == shared {
			v.Kind = away
			hidden = append(hidden, v)
		}
		for i := range v.Elems {
			hide(&v.Elems[i])
		}
	}
	for i := range p.Steps {
		for j := range p.Steps[i].Args {
			hide(&p.Steps[i].Args[j])
		}
	}
	ok := removeStep(p, at)
	if !ok {
		for _, v := range hidden {
			v.Kind = worker.Ref
		}
		return false
	}
	var show func(v *worker.Value)
	show = func(v *worker.Value) {
		if v.Kind == away && v.Int == shared {
			v.Kind = worker.Ref
		}
		for i := range v.Elems {
			show(&v.Elems[i])
		}
	}
	for i := range p.Steps {
		for j := range p.Steps[i].Args {
			show(&p.Steps[i].Args[j])
		}
	}
	return true
}

// after writes the first steps of a program, and the others, which are done later and more than once.
func (c *coder) after(p *worker.Program, first int) (setup, text string, ok bool) {
	c.names, c.used, c.lines, c.setup, c.n, c.bad = make(map[int64]string), make(map[int64]bool), nil, nil, 0, false
	markUsed(p, c.used)
	c.at = nil
	var before []string
	for i := range p.Steps {
		if i == first {
			before, c.lines = append(c.setup, c.lines...), nil
			c.setup = nil
		}
		c.at = append(c.at, p.Steps[i].Func)
		c.step(i, &p.Steps[i])
	}
	setup = strings.ReplaceAll(strings.Join(before, "\n"), "reqN_", "reqS_")
	return setup, strings.Join(append(c.setup, c.lines...), "\n"), !c.bad
}
