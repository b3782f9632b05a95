package prove

import (
	"cmp"
	"context"
	"fmt"
	"go/types"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/hone-perf/hone/internal/prove/worker"
)

// A search calls both versions side by side until it has seen enough.
type search struct {
	*gen
	opt    Options
	files  [2]*built // old, new
	masks  map[string]int
	live   [2]*process
	states map[*target]*state

	executions int
	unsteady   int // differences that did not show again
	deaths     int
	seen       map[string]*finding
	busy       map[string]int // how often differences of a kind were looked at
	nondet     map[string]bool
	covered    [2][]bool
	history    []*worker.Program // since the workers were started
	dirty      bool              // a difference was seen since then: what they hold may differ
	foundAt    time.Time
}

// A state is how far the search is with a target.
type state struct {
	seeds      []seedCall
	corpus     []*worker.Program
	executions int
	invalid    int // programs that could not be made
	quiet      int // executions since something new was seen
	deaths     int
	found      bool // a grave difference
	done       bool
}

// A finding is a difference that showed every time.
type finding struct {
	target  *target
	program *worker.Program
	layer   worker.Layer
	path    string
	step    int
	fn      string
	old     string
	new     string
	note    string // what softens it
	lines   [2][]worker.Line
}

// batchSize is how many programs are handed to the workers at a time.
const batchSize = 48

func newSearch(s *surface, opt Options, files [2]*built) *search {
	f := &search{
		gen: newGen(s, opt.Seed), opt: opt, files: files, masks: make(map[string]int),
		states: make(map[*target]*state), seen: make(map[string]*finding), busy: make(map[string]int), nondet: make(map[string]bool),
	}
	for i := range f.covered {
		f.covered[i] = make([]bool, len(files[i].blocks)+1)
	}
	for _, t := range s.targets {
		if t.entry != nil {
			f.states[t] = &state{seeds: f.gen.seeds[t.key]}
		}
	}
	return f
}

// config is what a worker is told.
func (f *search) config(limit time.Duration) *worker.Config {
	c := &worker.Config{Fields: make(map[string][]worker.FieldRule), Masks: maps.Clone(f.masks), Limit: limit, Memory: 1 << 30}
	for name, rules := range f.rules {
		list := []worker.FieldRule{}
		for _, r := range rules {
			layer := worker.LayerResult
			if r.inside {
				layer = worker.LayerInside
			}
			list = append(list, worker.FieldRule{Name: r.name, Layer: layer})
		}
		c.Fields[name] = list
	}
	return c
}

// Limits of one program: long enough for a busy machine, short enough for a search.
const (
	runLimit     = time.Second
	confirmLimit = 8 * time.Second
)

// restart gives both sides fresh workers.
func (f *search) restart(ctx context.Context) error {
	f.stop()
	f.history, f.dirty = nil, false
	for i := range f.live {
		p, err := start(ctx, f.files[i].file, f.config(runLimit))
		if err != nil {
			return err
		}
		f.live[i] = p
	}
	return nil
}

func (f *search) stop() {
	for i, p := range f.live {
		if p != nil {
			p.stop()
			f.live[i] = nil
		}
	}
}

// run searches until the time is up, each target had its executions, or nothing new shows.
func (f *search) run(ctx context.Context) error {
	defer f.stop()
	if err := f.restart(ctx); err != nil {
		return err
	}
	began := time.Now()
	for round := 0; ; round++ {
		idle := true
		for _, t := range f.targets {
			st := f.states[t]
			if st == nil || st.done {
				continue
			}
			// What is far from the change, or quiet, gets its turn less often.
			if skip := min(t.distance, 3) + min(st.quiet/20_000, 4); round%(skip+1) != 0 {
				idle = false
				continue
			}
			if ctx.Err() != nil {
				return ctx.Err()
			}
			if time.Since(began) > f.opt.Time || f.enough() {
				return nil
			}
			if err := f.batch(ctx, t, st); err != nil {
				return err
			}
			most := f.opt.Executions
			if st.found {
				most = (most + 3) / 4 // the rest of the time is for the others
			}
			st.done = most > 0 && st.executions+st.invalid >= most || st.invalid > invalidEnough && st.executions == 0 || most == 0 && st.quiet > quietEnough
			idle = idle && st.done
		}
		if idle {
			return nil
		}
	}
}

// quietEnough is how many executions without anything new end the search for a target.
const quietEnough = 60_000

// invalidEnough is how many programs that cannot be made end it, when there was none that can.
const invalidEnough = 2000

// enough reports whether a grave difference was found, and there was some time to find a graver one.
func (f *search) enough() bool {
	return f.opt.Executions == 0 && !f.foundAt.IsZero() && time.Since(f.foundAt) > f.opt.Time/6
}

// batch makes programs about a target, has them run, and looks at what became of them.
func (f *search) batch(ctx context.Context, t *target, st *state) error {
	list := make([]*worker.Program, 0, batchSize)
	for range batchSize {
		switch {
		case len(st.seeds) > 0:
			list = append(list, f.fromSeed(t, st.seeds[0]))
			st.seeds = st.seeds[1:]
		case len(st.corpus) > 0 && f.chance(60):
			// The newest half was the hardest to find.
			i := len(st.corpus) - 1 - f.rng.IntN(len(st.corpus))
			if f.chance(50) {
				i = len(st.corpus) - 1 - f.rng.IntN(len(st.corpus)/2+1)
			}
			list = append(list, f.mutate(t, st.corpus[i]))
		default:
			list = append(list, f.program(t))
		}
	}
	var seen [2][]*worker.Seen
	var wg sync.WaitGroup
	for i := range f.live {
		wg.Go(func() {
			seen[i] = f.live[i].run(list, 0)
			if n := len(seen[i]); n > 0 && seen[i][n-1].Status == died {
				seen[i] = f.whichDied(ctx, i, list) // what it said last was lost with it
			}
		})
	}
	wg.Wait()
	if ctx.Err() != nil {
		return ctx.Err()
	}
	n := min(len(seen[0]), len(seen[1]))
	looked, again := 0, false
	var grave bool
	for i := range n {
		old, now := seen[0][i], seen[1][i]
		if old.Status == worker.Invalid && now.Status == worker.Invalid {
			st.invalid++
			continue
		}
		f.executions++
		st.executions++
		st.quiet++
		fresh := f.cover(0, old) + f.cover(1, now)
		if fresh > 0 {
			st.quiet = 0
			if len(st.corpus) < 400 {
				st.corpus = append(st.corpus, list[i])
			} else {
				st.corpus[f.rng.IntN(len(st.corpus))] = list[i]
			}
		}
		kind := kindOf(f, list[i], old, now)
		if kind == "" {
			continue
		}
		if f.busy[kind] >= 3 && f.rng.IntN(40*f.busy[kind]) != 0 || looked >= 4 {
			f.dirty = true
			continue
		}
		looked++
		before := append(f.history[:len(f.history):len(f.history)], list[:i]...)
		found, err := f.examine(ctx, t, list[i], before)
		if err != nil {
			return err
		}
		if found == nil && f.dirty {
			again = true // most likely because of what was seen before; with fresh workers it would not have shown
			break
		}
		f.dirty = true
		f.busy[kind]++
		grave = grave || found != nil && found.alarms()
	}
	st.found = st.found || grave
	if n > 0 && n < len(list) {
		for _, s := range list[n-1].Steps {
			if s.Func != t.id {
				f.slow[s.Func]++
			}
		}
		st.deaths++
		f.deaths++
		if st.deaths > 2 {
			f.calm[t] = true
		}
		if st.deaths > 40 {
			st.done = true
		}
	}
	if again || f.live[0].dead || f.live[1].dead {
		return f.restart(ctx)
	}
	f.history = append(f.history, list...)
	if len(f.history) > 512 {
		return f.restart(ctx) // so that what depends on all that went before can be shown
	}
	return nil
}

// whichDied runs programs again that a worker did not survive, so that it is known which of them it was.
func (f *search) whichDied(ctx context.Context, side int, list []*worker.Program) []*worker.Seen {
	p, err := start(ctx, f.files[side].file, f.config(runLimit))
	if err != nil {
		return nil // as will the next
	}
	defer p.stop()
	return p.run(list, worker.FlushEach)
}

// cover notes what ran, and returns how much of it is new.
func (f *search) cover(side int, s *worker.Seen) int {
	for _, c := range s.Cover {
		if i := int(c / 8); i < len(f.covered[side]) {
			f.covered[side][i] = true
		}
	}
	return len(s.Cover)
}

// kindOf says what kind of difference there is between what two workers saw, or "" when there is none that matters.
func kindOf(f *search, p *worker.Program, old, now *worker.Seen) string {
	if old.Status != now.Status {
		return fmt.Sprintf("status %d %d %s", old.Status, now.Status, f.lastName(p))
	}
	if old.Status != worker.Done {
		return ""
	}
	kind, least := "", worker.LayerInside
	mark := func(h worker.Hash) {
		if h.Layer < least {
			least = h.Layer
			kind = fmt.Sprintf("%s %c", f.entries[p.Steps[h.Step].Func].name, h.Layer)
		}
	}
	for i := range max(len(old.Hashes), len(now.Hashes)) {
		switch {
		case i >= len(old.Hashes):
			mark(now.Hashes[i])
		case i >= len(now.Hashes):
			mark(old.Hashes[i])
		case old.Hashes[i] != now.Hashes[i]:
			if old.Hashes[i].Step != now.Hashes[i].Step || old.Hashes[i].Layer != now.Hashes[i].Layer {
				a, b := old.Hashes[i], now.Hashes[i]
				if cmp.Or(cmp.Compare(a.Step, b.Step), cmp.Compare(a.Layer, b.Layer)) < 0 {
					mark(a)
				} else {
					mark(b)
				}
				if kind != "" {
					return kind
				}
				continue
			}
			mark(old.Hashes[i])
		}
	}
	return kind
}

func (f *search) lastName(p *worker.Program) string {
	if len(p.Steps) == 0 {
		return ""
	}
	return f.entries[p.Steps[len(p.Steps)-1].Func].name
}

// replay runs programs in fresh workers, in full, and returns what was seen of the last one: by old, new, old, new….
func (f *search) replay(ctx context.Context, list []*worker.Program, times int, limit time.Duration) ([]*worker.Seen, error) {
	out := make([]*worker.Seen, 2*times)
	for i := 0; i < len(out); i += 2 {
		var errs [2]error
		var wg sync.WaitGroup
		for side := range 2 {
			wg.Go(func() {
				p, err := start(ctx, f.files[side].file, f.config(limit))
				if err != nil {
					errs[side] = err
					return
				}
				defer p.stop()
				seen := p.run(list, worker.Full|worker.FlushEach)
				out[i+side] = seen[len(seen)-1]
				if len(seen) < len(list) && out[i+side].Status == worker.Done {
					out[i+side] = &worker.Seen{Status: died}
				}
			})
		}
		wg.Wait()
		if err := cmp.Or(errs[0], errs[1]); err != nil {
			return nil, err
		}
	}
	return out, ctx.Err()
}

// examine finds out whether a difference is one: it has to show in fresh workers, every time, and the old version has to
// agree with itself.
func (f *search) examine(ctx context.Context, t *target, p *worker.Program, before []*worker.Program) (*finding, error) {
	list := []*worker.Program{p}
	for round := 0; round < 6; round++ {
		seen, err := f.replay(ctx, list, 1, confirmLimit)
		if err != nil {
			return nil, err
		}
		if f.compare(p, seen[0], seen[1]) == nil {
			seen = append(seen, seen...) // it does not show: that need not be seen twice
		} else {
			again, err := f.replay(ctx, list, 1, confirmLimit)
			if err != nil {
				return nil, err
			}
			seen = append(seen, again...)
		}
		if f.learn(p, seen[0], seen[2]) {
			continue // and see what is left
		}
		d := f.compare(p, seen[0], seen[1])
		again := f.compare(p, seen[2], seen[3])
		switch {
		case d == nil && again == nil && len(list) == 1 && len(before) > 0:
			list = append(before[max(0, len(before)-256):len(before):len(before)], p) // it may take what went before
			continue
		case d == nil || again == nil || d.bucket() != again.bucket():
			if len(list) == 1 {
				f.unsteady++
			}
			return nil, nil
		}
		if len(list) > 1 {
			if list, err = f.cutHistory(ctx, list, d); err != nil {
				return nil, err
			}
			joined := joinPrograms(list)
			seen, err := f.replay(ctx, []*worker.Program{joined}, 2, confirmLimit)
			if err != nil {
				return nil, err
			}
			if d = f.compare(joined, seen[0], seen[1]); d == nil || f.compare(joined, seen[2], seen[3]) == nil {
				f.unsteady++
				return nil, nil
			}
			p = joined
		}
		d.target, d.program = t, p
		if f.seen[d.bucket()] == nil {
			if ok, err := f.steady(ctx, d, 3); err != nil || !ok {
				return nil, err
			}
		}
		f.keep(d)
		return d, nil
	}
	f.unsteady++
	return nil, nil
}

// steady reports whether a finding shows each of n times more. What the versions take by chance, such as the order of a
// map, can come out the same a few times in a row.
func (f *search) steady(ctx context.Context, d *finding, n int) (bool, error) {
	if ok, err := f.repeats(ctx, d, n+2); ok || err != nil {
		return ok, err
	}
	// A version that remembers may do it only once in a process.
	seen, err := f.replay(ctx, []*worker.Program{d.program}, n, confirmLimit)
	if err != nil {
		return false, err
	}
	for i := 0; i < len(seen); i += 2 {
		c := f.compare(d.program, seen[i], seen[i+1])
		if c == nil || c.bucket() != d.bucket() || f.learn(d.program, seen[0], seen[i]) {
			f.unsteady++
			return false, nil
		}
	}
	return true, nil
}

// repeats reports whether both versions say the same n times in one process, and the finding shows each time.
func (f *search) repeats(ctx context.Context, d *finding, n int) (bool, error) {
	if d.lines[0] == nil {
		return false, nil // it ended a worker
	}
	list := slices.Repeat([]*worker.Program{d.program}, n)
	var seen [2][]*worker.Seen
	for side := range 2 {
		p, err := start(ctx, f.files[side].file, f.config(confirmLimit))
		if err != nil {
			return false, err
		}
		seen[side] = p.run(list, worker.Full)
		p.stop()
		if len(seen[side]) < n {
			return false, ctx.Err()
		}
	}
	for i := range n {
		c := f.compare(d.program, seen[0][i], seen[1][i])
		if c == nil || c.bucket() != d.bucket() || c.old != d.old || c.new != d.new {
			return false, nil
		}
	}
	return true, nil
}

// cutHistory finds how much of what went before a difference takes.
func (f *search) cutHistory(ctx context.Context, list []*worker.Program, d *finding) ([]*worker.Program, error) {
	for n := 1; n < len(list); n *= 2 {
		short := list[len(list)-1-n:]
		seen, err := f.replay(ctx, short, 1, confirmLimit)
		if err != nil {
			return nil, err
		}
		if c := f.compare(short[n], seen[0], seen[1]); c != nil && c.bucket() == d.bucket() {
			return short, nil
		}
	}
	return list, nil
}

// bucket is the same for differences that are probably one.
func (d *finding) bucket() string {
	return fmt.Sprintf("%c %s %s", d.layer, d.fn, worker.MaskKey("", d.path))
}

// keep keeps a finding if it is the first of its kind.
func (f *search) keep(d *finding) {
	if had := f.seen[d.bucket()]; had != nil {
		if weight(d.program) < weight(had.program) {
			f.seen[d.bucket()] = d
		}
		return
	}
	f.seen[d.bucket()] = d
	if d.alarms() && f.foundAt.IsZero() {
		f.foundAt = time.Now()
	}
}

// alarms reports whether a finding makes a change a different one.
func (d *finding) alarms() bool { return d.layer <= worker.LayerShared && d.note == "" }

// weight is how much there is to read in a program.
func weight(p *worker.Program) int {
	n := 0
	var count func(v *worker.Value)
	count = func(v *worker.Value) {
		n += 1 + len(v.Text)
		for i := range v.Elems {
			count(&v.Elems[i])
		}
	}
	for i := range p.Steps {
		n += 20
		for j := range p.Steps[i].Args {
			count(&p.Steps[i].Args[j])
		}
	}
	return n
}

// learn masks what the old version does not say the same twice, and reports whether there was something.
func (f *search) learn(p *worker.Program, a, b *worker.Seen) bool {
	if a.Status != worker.Done || b.Status != worker.Done {
		return false
	}
	learned := false
	for _, path := range differingPaths(a.Lines, b.Lines) {
		key := worker.MaskKey(f.entries[p.Steps[path.step].Func].name, path.path)
		if f.masks[key] < worker.MaskAll {
			f.masks[key]++
			f.nondet[key] = true
			learned = true
		}
		// The order of a list is masked at the list.
		for i := len(path.path) - 1; i > 0; i-- {
			if path.path[i] == '[' {
				f.masks[worker.MaskKey(f.entries[p.Steps[path.step].Func].name, path.path[:i])] = worker.MaskOrder
				break
			}
		}
	}
	return learned
}

type stepPath struct {
	step int
	path string
}

// differingPaths returns where two lists of lines differ.
func differingPaths(a, b []worker.Line) []stepPath {
	index, other := make(map[stepPath]string), make(map[stepPath]string)
	for _, l := range a {
		if l.Layer != worker.LayerWhole {
			index[stepPath{l.Step, l.Path}] += l.Text + "\n"
		}
	}
	for _, l := range b {
		if l.Layer != worker.LayerWhole {
			other[stepPath{l.Step, l.Path}] += l.Text + "\n"
		}
	}
	var out []stepPath
	for k, v := range index {
		if other[k] != v {
			out = append(out, k)
		}
	}
	for k := range other {
		if _, ok := index[k]; !ok {
			out = append(out, k)
		}
	}
	slices.SortFunc(out, func(a, b stepPath) int { return cmp.Or(cmp.Compare(a.step, b.step), cmp.Compare(a.path, b.path)) })
	return out
}

// compare returns the gravest difference between what two workers saw, or nil.
func (f *search) compare(p *worker.Program, old, now *worker.Seen) *finding {
	d := &finding{program: p}
	if old.Status != now.Status {
		d.layer, d.path, d.old, d.new = worker.LayerPanic, "outcome", statusText(old.Status), statusText(now.Status)
		d.fn, d.step = f.lastName(p), len(p.Steps)-1
		if old.Status == worker.Invalid || now.Status == worker.Invalid {
			return nil
		}
		if old.Status != worker.Done {
			d.note = "the old version did not return"
		}
		return d
	}
	if old.Status != worker.Done {
		return nil
	}
	d.lines = [2][]worker.Line{old.Lines, now.Lines}
	paths := differingPaths(old.Lines, now.Lines)
	if len(paths) == 0 {
		return nil
	}
	find := func(lines []worker.Line, at stepPath) (worker.Layer, string, bool) {
		for _, l := range lines {
			if l.Step == at.step && l.Path == at.path && l.Layer != worker.LayerWhole {
				return l.Layer, l.Text, true
			}
		}
		return worker.LayerInside, "", false
	}
	best := worker.LayerInside + 1
	for _, at := range paths {
		a, was, had := find(old.Lines, at)
		b, is, has := find(now.Lines, at)
		layer := max(a, b)
		if !had || !has {
			layer = min(a, b)
		}
		// The first step that differs is to blame for the others.
		better := layer < best && (best > worker.LayerShared || at.step == d.step)
		if better || layer == best && at.step == d.step && strings.HasSuffix(at.path, " status") {
			best = layer
			d.layer, d.path, d.step, d.old, d.new = layer, at.path, at.step, was, is
			if !had {
				d.old = "nothing"
			}
			if !has {
				d.new = "nothing"
			}
		}
	}
	if best >= worker.LayerInside {
		return nil
	}
	d.fn = f.entries[p.Steps[d.step].Func].name
	d.soften(f.surface)
	return d
}

// soften notes what makes a difference less grave than its layer.
func (d *finding) soften(s *surface) {
	switch {
	case d.layer == worker.LayerPanic && d.old == "panics":
		d.note = "the old version panicked"
	case d.layer == worker.LayerShared && d.old == "true" && d.new == "false":
		d.note = "less memory is shared than before"
	case s.own(d.fn):
		d.note = "only the package can call it, and all that does changed with it"
	default:
		for i := range d.program.Steps {
			for j, t := range s.entries[d.program.Steps[i].Func].params {
				if ctor := s.bypassed(&d.program.Steps[i].Args[j], t); ctor != "" {
					d.note = "it takes a value that " + ctor + " did not make"
				}
			}
		}
	}
}

// own reports whether a function is one that changed together with all that use it.
func (s *surface) own(name string) bool {
	return slices.ContainsFunc(s.targets, func(t *target) bool { return t.entry != nil && t.name == name && t.adapted })
}

// bypassed returns the constructor that would have made v, when v is a literal.
func (s *surface) bypassed(v *worker.Value, t types.Type) string {
	if v.Kind != worker.Struct && v.Kind != worker.Ptr {
		return ""
	}
	named, _ := structOf(t)
	if named == nil {
		return ""
	}
	for _, e := range s.ctors[s.baseKey(t)] {
		if strings.EqualFold(e.name, "new"+named.Obj().Name()) || e.name == "New" {
			return e.name
		}
	}
	return ""
}

func statusText(s byte) string {
	switch s {
	case worker.Done:
		return "returns"
	case worker.Late:
		return "does not return within " + confirmLimit.String()
	case worker.Large:
		return "takes more than 1 GB"
	}
	return "ends the process"
}

// findings returns what was found, the gravest first, each cut down to the least that shows it.
func (f *search) findings(ctx context.Context) ([]*finding, error) {
	list := slices.Collect(maps.Values(f.seen))
	if !f.opt.Strict {
		list = slices.DeleteFunc(list, func(d *finding) bool { return d.layer == worker.LayerText })
	}
	slices.SortFunc(list, func(a, b *finding) int {
		return cmp.Or(cmpBool(b.alarms(), a.alarms()), cmp.Compare(a.layer, b.layer), cmp.Compare(a.target.distance, b.target.distance), cmp.Compare(a.bucket(), b.bucket()))
	})
	// One of each layer and function is shown, the one that says most.
	known := make(map[string]bool)
	var out []*finding
	for _, d := range list {
		k := fmt.Sprintf("%c %s %v", d.layer, d.fn, d.note != "")
		if known[k] {
			continue
		}
		if err := f.shrink(ctx, d); err != nil {
			return nil, err
		}
		if d.alarms() {
			if ok, err := f.steady(ctx, d, 4); err != nil {
				return nil, err
			} else if !ok {
				continue
			}
		}
		known[k] = true
		out = append(out, d)
	}
	slices.SortStableFunc(out, func(a, b *finding) int {
		return cmp.Or(cmpBool(b.alarms(), a.alarms()), cmp.Compare(a.layer, b.layer), cmp.Compare(weight(a.program), weight(b.program)))
	})
	return out, nil
}

func cmpBool(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return 1
	}
	return -1
}

// workDir is where the worker of a side is built.
func workDir(work string, pair, side int) string {
	return filepath.Join(work, fmt.Sprintf("%d-%d", pair, side))
}
