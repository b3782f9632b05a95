package prove

import (
	"context"
	"fmt"
	"go/token"
	"go/types"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/hone-perf/hone/internal/order"
	"github.com/hone-perf/hone/internal/prove/worker"
)

// Parallel is calls of a package that its users may make from several goroutines at the same time: of functions with values of their own,
// and of methods of one value whose type is made for that.
type Parallel struct {
	ImportPath string
	Files      []ParallelFile // with tests that make the calls
	Calls      []ParallelCall
	Left       string // why there are none
}

// A ParallelFile is a file of tests, in the folder of the package.
type ParallelFile struct{ Name, Source string }

// Without returns what is left of calls when lines of a file do not compile: the calls around these lines are left out, or all of the
// file where the lines are not in calls, or none are known. It returns nil where nothing is left.
func (p *Parallel) Without(file string, lines []int) *Parallel {
	out := *p
	out.Files, out.Calls = nil, nil
	gone := make(map[int]bool) // lines
	all := false
	for _, f := range p.Files {
		if f.Name != file {
			out.Files = append(out.Files, f)
			continue
		}
		text := strings.Split(f.Source, "\n")
		whole := len(lines) == 0
		for _, n := range lines {
			if n < 1 || n > len(text) {
				whole = true
				break
			}
			from, to := n-1, n-1
			if !importLine.MatchString(text[n-1]) {
				for from >= 0 && strings.TrimSpace(text[from]) != groupMark && strings.TrimSpace(text[from]) != groupEnd {
					from--
				}
				for to < len(text) && strings.TrimSpace(text[to]) != groupEnd {
					to++
				}
				whole = whole || from < 0 || to == len(text) || strings.TrimSpace(text[from]) == groupEnd
			}
			for i := max(from, 0); i <= to && i < len(text); i++ {
				gone[i+1] = true
				if i != from && i != to || from == to { // the marks stay
					text[i] = ""
				}
			}
		}
		if whole {
			all = true
			continue
		}
		out.Files = append(out.Files, ParallelFile{f.Name, strings.Join(text, "\n")})
	}
	for _, c := range p.Calls {
		if c.File != file || !all && !gone[c.First] {
			out.Calls = append(out.Calls, c)
		}
	}
	if len(out.Calls) == 0 {
		return nil
	}
	return &out
}

// importLine is a line that imports a package.
var importLine = regexp.MustCompile(`^\t(\w+ )?"[^"]+"$`)

// A ParallelCall is one that several goroutines make.
type ParallelCall struct {
	Name        string // of what is called
	Of          string // "" for a function with values of its own; else the type of the value that all goroutines share
	Setup, Text string // statements that make what is shared, and of the call
	File        string // that it is in
	First, Last int    // its lines there
}

// Names in the source of Parallel.
const (
	ParallelTest  = parallelMade + "|" + parallelInside + "|" + parallelOutside // pattern of the tests
	ParallelOrder = "HONE_RACE_ORDER"                                           // environment variable: the number of the call that goroutines begin with; without it, the test is skipped
	parallelMark  = "// hone:call "
	groupMark     = "// hone:group"
	groupEnd      = "// hone:end"

	parallelMade    = "TestHoneParallel"
	parallelInside  = "TestHoneRepeat"
	parallelOutside = "TestHoneOutside" // another name, as tests outside may import the package with a dot
	callsFile       = "zz_hone_calls_test.go"
	insideFile      = "zz_hone_repeat_test.go"
	outsideFile     = "zz_hone_repeat_outside_test.go"
)

// Limits of the calls that are made in parallel.
const (
	parallelTries  = 120  // of each function
	parallelEach   = 4    // programs of a function
	parallelValues = 2    // kinds of shared values of a type
	parallelMost   = 400  // calls of a package
	manyGroups     = 1000 // from which on each gets two passes: rows of tables
)

// ParallelCalls makes up calls of the packages in folders of a version. Packages that cannot be called say why. It takes the time
// that is given for each package, and writes to work.
func ParallelCalls(ctx context.Context, v Version, dirs []string, work string, seed uint64, each time.Duration, say func(string)) ([]Parallel, error) {
	sides, err := loadSides(ctx, v, dirs)
	if err != nil {
		return nil, err
	}
	var out []Parallel
	for i, at := range dirs {
		s := sides[at]
		if s == nil || s.pkg.Types.Name() == "main" {
			continue
		}
		say("making up calls of " + s.pkg.PkgPath)
		p, err := s.parallel(ctx, filepath.Join(work, fmt.Sprintf("calls%d", i)), Options{Seed: seed, Executions: parallelTries, Time: each, Say: say})
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if err != nil {
			p = &Parallel{Left: strings.TrimSpace(err.Error())}
		}
		p.ImportPath = s.pkg.PkgPath
		g := s.guards()
		if files, calls, err := g.writeRepeated(g.repeatTests()); err == nil && len(calls) > 0 {
			p.Files, p.Calls, p.Left = append(p.Files, files...), append(p.Calls, calls...), ""
		}
		out = append(out, *p)
	}
	return out, nil
}

func (s *side) parallel(ctx context.Context, work string, opt Options) (*Parallel, error) {
	d, err := findDanger(ctx, s)
	if err != nil {
		return nil, err
	}
	of := newSurface(&pair{rel: s.rel, old: s, new: s}, d)
	if why := of.aim(); len(of.targets) == 0 {
		return &Parallel{Left: why}, nil
	}
	made, left, err := of.build(ctx, s, work, layoutHere)
	if err != nil {
		return nil, err
	}
	of.targets = slices.DeleteFunc(of.targets, func(t *target) bool { return slices.Contains(left, t.id) })
	f := newSearch(of, opt, [2]*built{made, made})
	if err := within(ctx, time.Now().Add(opt.Time), f.run); err != nil {
		return nil, err
	}
	w := &parallelWriter{search: f, coder: newCoder(of), guards: s.guards()}
	// What comes back without a panic is called. It may come back otherwise the next time.
	sound := make(map[*target][]*worker.Program)
	err = within(ctx, time.Now().Add(opt.Time), func(ctx context.Context) error { return f.sound(ctx, sound) })
	if err != nil {
		return nil, err
	}
	w.own(sound)
	w.shared(sound)
	if len(w.calls) == 0 {
		return &Parallel{Left: "no call was found that can be made at the same time as others"}, nil
	}
	return w.write(s)
}

// sound runs programs of each target, and keeps those that come to their end.
func (f *search) sound(ctx context.Context, out map[*target][]*worker.Program) error {
	p, err := start(ctx, f.files[0].file, f.config(runLimit))
	if err != nil {
		return err
	}
	defer func() { p.stop() }()
	for _, t := range f.targets {
		st := f.states[t]
		if st == nil {
			continue
		}
		var list []*worker.Program
		for _, a := range st.agreed {
			list = append(list, a.Program)
		}
		for _, c := range slices.Backward(st.corpus) {
			if !slices.Contains(list, c) {
				list = append(list, c)
			}
		}
		list = list[:min(len(list), 6*parallelEach)]
		for range 4 * parallelEach {
			list = append(list, f.program(t))
		}
		for _, c := range list {
			if len(out[t]) == parallelEach || ctx.Err() != nil {
				break
			}
			prog := cloneProgram(c)
			prog.After = false
			began := time.Now()
			seen := p.run([]*worker.Program{prog}, worker.Full|worker.FlushEach)
			if p.dead {
				next, err := start(ctx, f.files[0].file, f.config(runLimit))
				if err != nil {
					return err
				}
				p.stop()
				p = next
				continue
			}
			if len(seen) == 1 && seen[0].Status == worker.Done && time.Since(began) < longestCall && !panics(seen[0]) && f.outside(prog) {
				out[t] = append(out[t], prog)
			}
		}
	}
	return nil
}

// outside reports whether code of other packages could make the calls of a program. The package's own functions may return what nobody
// else gets.
func (f *search) outside(p *worker.Program) bool {
	return !slices.ContainsFunc(p.Steps, func(s worker.Step) bool {
		if e := f.entries[s.Func]; e.method && !e.called && e.key == "" && len(e.params) > 0 && !types.IsInterface(e.params[0]) {
			return true // what another package made, which may have rules of its own: nothing more after Write
		}
		for part := range strings.SplitSeq(f.entries[s.Func].key, ".") {
			if part != "" && !token.IsExported(part) {
				return true
			}
		}
		return false
	})
}

// panics reports whether a program panicked.
func panics(s *worker.Seen) bool {
	return slices.ContainsFunc(s.Lines, func(l worker.Line) bool { return l.Layer == worker.LayerPanic && l.Text != "returns" })
}

// A parallelWriter writes calls for goroutines.
type parallelWriter struct {
	*search
	coder  *coder
	guards *guards
	calls  []ParallelCall
	groups []parallelGroup
}

// A parallelGroup is calls that are made at the same time.
type parallelGroup struct {
	of    string
	setup string
	calls []int
}

// own adds calls with values of their own: what goroutines share is what the package keeps.
func (w *parallelWriter) own(sound map[*target][]*worker.Program) {
	var calls []int
	for _, t := range w.targets {
		if !t.method && w.guards.settings(t.key) {
			continue
		}
		for _, p := range sound[t] {
			if slices.ContainsFunc(p.Steps, func(s worker.Step) bool {
				e := w.entries[s.Func]
				return !e.method && e.key != "" && e != t.entry && w.guards.settings(e.key)
			}) {
				continue
			}
			text, ok := w.coder.program(p)
			if !ok || len(w.calls) >= parallelMost {
				continue
			}
			before, text, _ := strings.Cut(text, "\x00")
			calls = w.add(calls, ParallelCall{Name: t.name, Text: before + "\n" + text})
		}
	}
	if len(calls) > 0 {
		w.groups = append(w.groups, parallelGroup{calls: calls})
	}
}

func (w *parallelWriter) add(to []int, c ParallelCall) []int {
	c.Text = strings.TrimSpace(strings.ReplaceAll(c.Text, "reqN_", "req_"))
	for _, i := range to {
		if w.calls[i].Text == c.Text {
			return to
		}
	}
	w.calls = append(w.calls, c)
	return append(to, len(w.calls)-1)
}

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
	for _, obj := range names {
		w.sharedOf(obj, byType[obj])
	}
}

// A maker is how a shared value is made.
type maker struct {
	steps []worker.Step // the last one returns it
	at    int64         // the result that it is
	key   string        // of the function that makes it
	used  int
}

func (w *parallelWriter) sharedOf(obj *types.TypeName, methods []*sharedMethod) {
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
		allowed := make(map[int]bool)
		made := w.entries[m.steps[len(m.steps)-1].Func].key
		for _, e := range w.entries {
			if !e.method || len(e.params) == 0 {
				continue
			}
			named, ok := types.Unalias(base(e.params[0])).(*types.Named)
			if ok && named.Origin().Obj() == obj && w.guards.mayShare(obj, e.name[strings.LastIndexByte(e.name, '.')+1:], e.key, made) {
				allowed[e.id] = true
			}
		}
		if n == parallelValues || len(allowed) == 0 {
			continue
		}
		n++
		g := parallelGroup{of: obj.Name()}
		for _, e := range methods {
			for _, p := range e.programs {
				if !allowed[e.id] || len(w.calls) >= parallelMost {
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
				}
			}
		}
		if len(g.calls) > 0 {
			w.groups = append(w.groups, g)
		}
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

// write writes the file, and notes where its calls are.
func (w *parallelWriter) write(s *side) (*Parallel, error) {
	var body strings.Builder
	std := func(path string) string { return w.coder.std(path) }
	fmt.Fprintf(&body, "func %s(t *testing.T) {\nif %s.Getenv(%q) == \"\" {\nt.Skip(\"the search for races alone runs this\")\n}\n", parallelMade, std("os"), ParallelOrder)
	for _, g := range w.groups {
		fmt.Fprintf(&body, "honeParallel(%d, func() []func() {\n%s\nreturn []func(){\n", len(w.groups), g.setup)
		for _, i := range g.calls {
			fmt.Fprintf(&body, "%s\nfunc() {\n%s%d\n%s\n},\n%s\n", groupMark, parallelMark, i, w.calls[i].Text, groupEnd)
		}
		body.WriteString("}\n})\n")
	}
	body.WriteString("}\n")
	fmt.Fprintf(&body, parallelCode, std("strconv"), std("os"), ParallelOrder, std("time"), std("sync"), manyGroups, std("time"), std("time"), std("time"))
	file := callsWriter{name: callsFile, calls: w.calls}
	out := &Parallel{}
	made, calls, err := file.finish(w.coder.file(s, body.String()))
	if err != nil {
		return nil, fmt.Errorf("writing calls of %s: %w", s.pkg.PkgPath, err)
	}
	out.Files, out.Calls = []ParallelFile{made}, calls
	return out, nil
}

// Nothing synchronizes the goroutines between their calls: that would put accesses in an order that they do not have, and hide what is
// looked for. Each pass makes the shared value anew, as some races are only in its first use.
const parallelCode = `
func honeParallel(groups int, made func() []func()) {
	seed, _ := %s.Atoi(%s.Getenv(%q))
	began := %s.Now()
	for pass := 0; pass < 200; pass++ {
		calls := made()
		var done %s.WaitGroup
		start := make(chan struct{})
		for g := 0; g < 8; g++ {
			done.Add(1)
			go func(g int) {
				defer done.Done()
				<-start
				for i := range calls {
					k := (i + seed + pass) %% len(calls)
					if pass%%2 == 1 { // each goroutine at a place of its own
						k = (i*(1+2*(g%%3)) + g*(1+pass/2) + seed) %% len(calls)
					}
					honeCall(calls[k])
				}
			}(g)
		}
		close(start)
		done.Wait()
		if pass >= 1 && groups >= %d || pass >= 3 && %s.Since(began) > 3*%s.Second/%s.Duration(groups+2) {
			return
		}
	}
}

func honeCall(f func()) {
	defer func() { _ = recover() }()
	f()
}
`
