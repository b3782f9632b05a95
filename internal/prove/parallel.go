package prove

import (
	"context"
	"fmt"
	"go/token"
	"go/types"
	"path/filepath"
	"slices"
	"strings"
	"time"

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
	parallelRounds = 24   // in which each function has a try
	parallelValues = 2    // kinds of shared values of a type
	parallelOwn    = 240  // calls with values of their own, of a package,
	parallelMost   = 400  // with those of shared values,
	parallelFields = 100  // and so many more of values with a field set
	manyGroups     = 1000 // from which on each gets one pass with few goroutines: rows of tables
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

// sound runs programs of each target, and keeps those that come to their end soon. Each target has its turn before any has another: a
// package with many functions gets a call of each.
func (f *search) sound(ctx context.Context, out map[*target][]*worker.Program) error {
	p, err := start(ctx, f.files[0].file, f.config(longestAlone))
	if err != nil {
		return err
	}
	defer func() { p.stop() }()
	left := make(map[*target][]*worker.Program)
	for range parallelRounds {
		var whose []*target
		var list []*worker.Program
		for _, t := range f.targets {
			if f.states[t] == nil || len(out[t]) == parallelEach {
				continue
			}
			if left[t] == nil {
				left[t] = slices.DeleteFunc(f.candidates(t), func(p *worker.Program) bool { return !f.outside(p) || f.printsOwn(p) })
			}
			if len(left[t]) > 0 {
				prog := cloneProgram(left[t][0])
				prog.After = false
				whose, list, left[t] = append(whose, t), append(list, prog), left[t][1:]
			}
		}
		for len(list) > 0 {
			if ctx.Err() != nil {
				return nil
			}
			seen := p.run(list[:min(len(list), mostBatch)], worker.Full|worker.FlushEach)
			for i, s := range seen {
				if s.Status == worker.Done && !panics(s) {
					out[whose[i]] = append(out[whose[i]], list[i])
				}
			}
			n := max(1, len(seen)) // where it died, the last one is what it died of
			whose, list = whose[n:], list[n:]
			if p.dead {
				next, err := start(ctx, f.files[0].file, f.config(longestAlone))
				if err != nil {
					return err
				}
				p.stop()
				p = next
			}
		}
	}
	return nil
}

// candidates are programs of a target, those first that are known to give the same each time.
func (f *search) candidates(t *target) (list []*worker.Program) {
	st := f.states[t]
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
	return list
}

// outside reports whether code of other packages could make the calls of a program. The package's own functions may return what nobody
// else gets.
func (f *search) outside(p *worker.Program) bool {
	return !slices.ContainsFunc(p.Steps, func(s worker.Step) bool {
		e := f.entries[s.Func]
		if e.method && !e.called && e.key == "" && len(e.params) > 0 {
			if !types.IsInterface(e.params[0]) {
				return true // what another package made, which may have rules of its own: nothing more after Write
			}
			if _, method, ok := strings.Cut(e.name, "."); ok && !token.IsExported(method[strings.LastIndexByte(method, '.')+1:]) {
				return true // of an interface that others can hold, but not use
			}
		}
		for part := range strings.SplitSeq(e.key, ".") {
			if part != "" && !token.IsExported(part) {
				return true
			}
		}
		return false
	})
}

// printsOwn reports whether a program hands what the package gave it to a parameter of any type, such as those of Println: to print the
// package's own logger reads what its locks guard, but no program does that.
func (f *search) printsOwn(p *worker.Program) bool {
	var given func(v *worker.Value) bool
	given = func(v *worker.Value) bool {
		if step, i := int(v.Int>>8), int(v.Int&255); v.Kind == worker.Ref && step >= 0 && step < len(p.Steps) {
			from := f.entries[p.Steps[step].Func]
			return from.key != "" && i < len(from.results) && refers(from.results[i])
		}
		return slices.ContainsFunc(v.Elems, func(e worker.Value) bool { return given(&e) })
	}
	for _, s := range p.Steps {
		for i, t := range f.entries[s.Func].params {
			if list, ok := t.Underlying().(*types.Slice); ok {
				t = list.Elem()
			}
			if i < len(s.Args) && isAny(t) && given(&s.Args[i]) {
				return true
			}
		}
	}
	return false
}

// refers reports whether copies of a value share memory.
func refers(t types.Type) bool {
	switch t.Underlying().(type) {
	case *types.Pointer, *types.Interface, *types.Map, *types.Slice, *types.Struct:
		return true
	}
	return false
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

	fieldsSet int // how many values have a field set
}

// A parallelGroup is calls that are made at the same time.
type parallelGroup struct {
	of    string
	setup string
	calls []int
	ends  []int // of the calls of each function
}

// own adds calls with values of their own: what goroutines share is what the package keeps.
func (w *parallelWriter) own(sound map[*target][]*worker.Program) {
	var calls, ends []int
	each := max(1, parallelOwn/max(1, len(sound))) // so that the last functions have their turn
	for _, t := range w.targets {
		if !t.method && w.guards.settings(t.key) {
			continue
		}
		for _, p := range sound[t][:min(each, len(sound[t]))] {
			if slices.ContainsFunc(p.Steps, func(s worker.Step) bool {
				e := w.entries[s.Func]
				return !e.method && e.key != "" && e != t.entry && w.guards.settings(e.key)
			}) {
				continue
			}
			text, ok := w.coder.program(p)
			if !ok || len(w.calls) >= parallelOwn {
				continue
			}
			before, text, _ := strings.Cut(text, "\x00")
			calls = w.add(calls, ParallelCall{Name: t.name, Text: before + "\n" + text})
		}
		if n := len(calls); n > 0 && (len(ends) == 0 || n > ends[len(ends)-1]) {
			ends = append(ends, n)
		}
	}
	if len(calls) > 0 {
		w.groups = append(w.groups, parallelGroup{calls: calls, ends: ends})
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
