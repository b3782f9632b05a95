package prove

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/hone-perf/hone/internal/prove/worker"
)

// Masks are by function, since they are learned while it is called: a part that varies in some calls is masked in all of them. Whether a
// difference that they hide is one is found out by calling again. A map of two keys comes in one order most of the time, so that it takes
// many calls to say that something does not vary, and several processes, since some take a random number once and for all.

// A veil is a program whose versions differ in what masks hide.
type veil struct {
	p        *worker.Program
	old, now *worker.Seen
	apart    []apart
	kind     stir
}

// How often a program is called again until a difference that masks hide is believed.
const (
	veilCalls = 24 // in the workers there are,
	mostVeils = 6  // of so many programs at a time,
	veilTime  = 50 * time.Millisecond

	sureProcesses = 12 // then in so many new ones of each version,
	sureCalls     = 16 // so many times in each

	mostVain = 3 // differences of a function that did not show again, which are looked into like this

	veilShare = 10 // one part of so many of the time may go for all of that, until no more calls are made up
	mostStirs = 20 // calls of a function that varied each time; of later ones, fewer and fewer are made again
)

// A stir is a kind of calls with hidden differences: of a function, by number, that takes what varies or does not.
type stir struct {
	fn     int
	taking bool
}

// A suspect is a program of which it is to be found out whether its versions differ, when there is time again.
type suspect struct {
	t *target
	p *worker.Program
}

// mayLook reports whether there is time to look into what masks hide. Calls of which it is not known stay uncounted, or are a doubt: see weigh.
func (f *search) mayLook() bool {
	return f.opt.Executions > 0 || f.looked <= (f.opt.Time-time.Until(f.end))/veilShare
}

// suspects has sure look into a program now, or else when no more calls are made up.
func (f *search) suspects(ctx context.Context, t *target, p *worker.Program) (*finding, error) {
	if !f.mayLook() {
		if name := f.lastName(p); f.later[name].p == nil {
			f.later[name] = suspect{t, p}
		}
		return nil, nil
	}
	began := time.Now()
	defer func() { f.looked += time.Since(began) }()
	return f.sure(ctx, t, p)
}

// settle looks into the suspects that are left, and notes those for which there is no time.
func (f *search) settle(ctx context.Context) error {
	if !f.foundAt.IsZero() { // the change is a different one anyway
		return nil
	}
	for _, name := range slices.Sorted(maps.Keys(f.later)) {
		s := f.later[name]
		if ctx.Err() == nil {
			if _, err := f.sure(ctx, s.t, s.p); err != nil && ctx.Err() == nil {
				return err
			}
		}
		if ctx.Err() != nil {
			f.leaveOpen(s.p)
		}
	}
	return nil
}

// veil adds a program to list, if code that changed may run where the versions differ.
func (f *search) veil(list []veil, p *worker.Program, old, now *worker.Seen, how []apart, taking []bool) []veil {
	how = slices.Clone(how)
	first := -1
	for i := range how {
		if !f.touches(f.entries[p.Steps[i].Func]) {
			how[i] = 0
		}
		if first < 0 && how[i] != 0 {
			first = i
		}
	}
	if first < 0 {
		return list
	}
	kind := stir{p.Steps[first].Func, taking[first]}
	if n := f.stirs[kind]; n > mostStirs && f.pick.IntN(n) >= mostStirs {
		return list
	}
	return append(list, veil{p, old, now, how, kind})
}

// unveil looks for differences in programs that masks hide, and reports whether there is a grave one.
func (f *search) unveil(ctx context.Context, t *target, list []veil) (grave bool, err error) {
	if len(list) == 0 || !f.mayLook() {
		return false, nil
	}
	began := time.Now()
	list = f.still(ctx, list, 1)
	if len(list) > mostVeils {
		f.pick.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
		list = list[:mostVeils]
	}
	for range 3 {
		if list = f.still(ctx, list, veilCalls/3); time.Since(began) > veilTime && f.opt.Executions == 0 {
			break
		}
	}
	f.looked += time.Since(began)
	for _, v := range list {
		step := slices.IndexFunc(v.apart, func(a apart) bool { return a != 0 })
		name := f.entries[v.p.Steps[step].Func].name
		if n := f.veils[name]; n >= 3 && f.pick.IntN(4*n) != 0 || f.over() && !f.foundAt.IsZero() {
			continue
		}
		d, err := f.suspects(ctx, t, v.p)
		if err != nil {
			if ctx.Err() != nil {
				f.leaveOpen(v.p)
			}
			return grave, err
		}
		if d == nil {
			f.veils[name]++
			continue
		}
		grave = grave || d.alarms()
	}
	return grave, nil
}

// still returns those programs that are answered so many times as they were, by the old version at least, and not alike. Of apart, it leaves
// the steps for which that is so.
func (f *search) still(ctx context.Context, list []veil, times int) (out []veil) {
	if len(list) == 0 || ctx.Err() != nil || f.live[0].dead || f.live[1].dead {
		return nil
	}
	programs := make([]*worker.Program, 0, times*len(list))
	for i := range list {
		for range times {
			programs = append(programs, list[i].p)
		}
	}
	seen := f.both(ctx, programs)
	f.history = append(f.history, programs...)
	f.again += len(programs)
	for side := range seen {
		for _, s := range seen[side] {
			f.forget(side, s.Cover) // the next program that comes there says so
		}
	}
	if n := min(len(seen[0]), len(seen[1])); n < len(programs) {
		return nil
	}
	for i, v := range list {
		left := slices.Clone(v.apart)
		for j := range times {
			again := seen[0][i*times+j]
			if again.Status != worker.Done {
				clear(left)
				break
			}
			for step, how := range f.apart(v.p, v.old, again) {
				left[step] &^= how
			}
		}
		if slices.ContainsFunc(left, func(a apart) bool { return a != 0 }) {
			v.apart = left
			out = append(out, v)
		} else {
			f.stirs[v.kind]++
		}
	}
	return out
}

// sure calls a program many times in new processes, without masks, and returns a difference that shows in each of them, in what neither
// version says otherwise in another: nil is none. A call of a process may say something else than the one before, such as the next of some
// numbers, if that is so in all processes. It keeps what it finds.
func (f *search) sure(ctx context.Context, t *target, p *worker.Program) (*finding, error) {
	calls := slices.Repeat([]*worker.Program{p}, sureCalls)
	masks := f.masks
	f.masks = nil
	defer func() { f.masks = masks }()
	var first [2][]*worker.Seen
	var varies [2]map[stepPath]bool
	var d *finding
	var waver string
	for i := range sureProcesses {
		var seen [2][]*worker.Seen
		var errs [2]error
		var wg sync.WaitGroup
		for side := range 2 {
			wg.Go(func() {
				file, config := f.files[side].file, f.config(f.limit())
				if moved := f.files[side].elsewhere; moved != "" && i%2 == 1 {
					file, config.Aside = moved, aside
				}
				w, err := start(ctx, file, config)
				if errs[side] = err; err == nil {
					seen[side] = w.run(calls, worker.Full)
					w.stop()
				}
			})
		}
		wg.Wait()
		if err := errors.Join(errs[:]...); err != nil {
			return nil, err
		}
		for side := range 2 {
			if len(seen[side]) < len(calls) || slices.ContainsFunc(seen[side], func(s *worker.Seen) bool { return s.Status != worker.Done }) {
				return nil, ctx.Err() // it takes too long, or ends the process
			}
			if i == 0 {
				first[side], varies[side] = seen[side], make(map[stepPath]bool)
				continue
			}
			for n := range calls {
				for _, at := range differingPaths(first[side][n].Lines, seen[side][n].Lines) {
					varies[side][at] = true
				}
			}
		}
		if i == 0 {
			continue
		}
		d = f.compare(p, without(first[0][0], varies[0], varies[1]), without(first[1][0], varies[0], varies[1]))
		if waver = f.wavering(p, first[1], varies); d == nil && waver == "" {
			return nil, nil
		}
	}
	if d == nil {
		if !slices.Contains(f.wavers, waver) {
			f.wavers = append(f.wavers, waver)
		}
		return nil, nil
	}
	d.target, d.calls, d.masks = t, f.states[t].executions, make(map[string]int)
	for _, list := range varies {
		for at := range list {
			d.masks[worker.MaskKey(f.entries[p.Steps[at.step].Func].name, at.path)] = worker.MaskAll
		}
	}
	f.keep(d)
	return d, nil
}

// without returns what was seen but for parts that vary, and values as a whole that have such a part.
func without(s *worker.Seen, varies ...map[stepPath]bool) *worker.Seen {
	gone := make(map[stepPath]bool)
	for _, list := range varies {
		for at := range list {
			gone[at] = true
			gone[stepPath{at.step, " " + rootOf(at.path)}] = true
		}
	}
	out := &worker.Seen{Status: s.Status}
	for _, l := range s.Lines {
		at := stepPath{l.Step, l.Path}
		if l.Layer == worker.LayerWhole {
			at.path = " " + l.Path
		}
		if !gone[at] {
			out.Lines = append(out.Lines, l)
		}
	}
	return out
}

// cut is shrink for a difference that masks would hide. What it is cut down to may vary, which takes the same proof as before.
func (f *search) cut(ctx context.Context, d *finding) error {
	if d.masks[worker.MaskKey(f.entries[d.program.Steps[d.step].Func].name, d.path)] > 0 {
		return nil // it varies in another call of the same program
	}
	short := *d
	masks := f.masks
	f.masks = d.masks
	err := f.shrink(ctx, &short)
	f.masks = masks
	if err != nil || short.program == d.program {
		return err
	}
	again, err := f.sure(ctx, d.target, short.program)
	if err != nil || again == nil || again.bucket() != d.bucket() || again.note != d.note {
		return err
	}
	again.calls = d.calls
	*d = *again
	return nil
}

// wavering returns the function of a part that varies in the new version alone, or "".
func (f *search) wavering(p *worker.Program, seen []*worker.Seen, varies [2]map[stepPath]bool) string {
	for _, s := range seen {
		for _, l := range s.Lines {
			if at := (stepPath{l.Step, l.Path}); varies[1][at] && !varies[0][at] && l.Layer <= f.gravest() && !l.Shares() {
				return f.entries[p.Steps[l.Step].Func].name
			}
		}
	}
	return ""
}

// waver returns a doubt about functions that vary in the new version alone.
func (f *search) waver() string {
	if len(f.wavers) == 0 {
		return ""
	}
	slices.Sort(f.wavers)
	return "results vary from call to call of the new version alone: " + strings.Join(f.wavers, ", ")
}
