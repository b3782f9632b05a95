package prove

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
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

	executions int   // that were compared in full
	partly     int   // others, in which results varied
	unsteady   tally // differences that did not show again
	deaths     tally
	seen       map[string]*finding
	busy       map[string]int // how often differences of a kind were looked at
	layered    map[int]bool   // functions whose results have the same lines in other layers, by number: see asLines
	vary
	covered   [2][]bool
	away      [2][]bool         // of the package that this one is called for: the same
	history   []*worker.Program // since the workers were started
	again     int               // of these, programs that were run again only to see whether they vary
	restarted time.Time         // when that was
	unhurried bool              // what changed takes long
	dirty     bool              // a difference was seen since then: what they hold may differ
	foundAt   time.Time
	clock
	moved     map[string]bool            // variables of the package with which an answer of the old version changed
	only      map[*target]bool           // that are called; nil is all
	openCalls map[string]*worker.Program // one of each of those in open
	open      []string                   // functions that answered otherwise when it was too late to look into it
	shrunk    int                        // findings that were cut down
}

// A state is how far the search is with a target.
type state struct {
	seeds      []seedCall
	corpus     []*worker.Program
	agreed     []agreed // programs for benchmarks: those of tests, and those that reached something new
	size       int      // of the next batch
	executions int      // those that count
	clean      int      // of these, in which the function takes nothing that varies
	partly     int      // of these, in which the function varies by itself, so that not all was compared
	veiled     int      // others: it takes something that varies, and what came of it did, too
	invalid    int      // programs that could not be made, or that neither version ended
	quiet      int      // executions since something new was seen
	deaths     int
	turns      int  // batches so far
	found      bool // a grave difference
	done       bool
	spent      time.Duration
}

// How many programs are handed to the workers at a time: more where they are quick, so that a batch takes neither many
// exchanges nor much of the time there is.
const (
	firstBatch = 6
	mostBatch  = 48
	batchTime  = 300 * time.Millisecond
)

func newSearch(s *surface, opt Options, files [2]*built) *search {
	s.findSetters()
	f := &search{
		moved: make(map[string]bool),
		gen:   newGen(s, opt.Seed), opt: opt, files: files, clock: clock{grace: mostGrace}, masks: make(map[string]int),
		states: make(map[*target]*state), seen: make(map[string]*finding), busy: make(map[string]int), layered: make(map[int]bool), vary: newVary(opt.Seed),
	}
	for i := range f.covered {
		f.covered[i] = make([]bool, len(files[i].blocks)+1)
		f.away[i] = make([]bool, len(files[i].away)+1)
	}
	for _, t := range s.targets {
		if t.entry != nil {
			f.states[t] = &state{seeds: f.gen.seeds[t.key], size: firstBatch}
		}
	}
	return f
}

// config is what a worker is told. One that has more time has more memory, too: what is near a limit is not beyond both.
func (f *search) config(limit time.Duration) *worker.Config {
	c := &worker.Config{Fields: make(map[string][]worker.FieldRule), Masks: maps.Clone(f.masks), Limit: limit, Memory: searchMemory, Stack: searchStack}
	if limit > runLimit {
		c.Memory, c.Stack = confirmMemory, confirmStack
	}
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

// Limits of the CPU time of one program: short enough for a search, and long enough to say that it does not return.
const (
	leastLimit    = 100 * time.Millisecond
	runLimit      = time.Second
	confirmLimit  = 8 * time.Second
	searchMemory  = 256 << 20 // in use, of each worker
	confirmMemory = 2 * searchMemory
	searchStack   = 16 << 20 // a call that calls itself without end takes seconds to fill more
	confirmStack  = 8 * searchStack
)

// limit is how long one program may take in a search: a fiftieth of its time, so that a few slow calls do not take all of it.
func (f *search) limit() time.Duration {
	if f.opt.Executions > 0 || f.unhurried {
		return runLimit
	}
	return min(runLimit, max(leastLimit, f.opt.Time/50))
}

// patience is how long a difference is looked at, when there is time for that.
func (f *search) patience() time.Duration {
	if f.opt.Executions > 0 {
		return confirmLimit
	}
	return min(confirmLimit, max(2*runLimit, f.opt.Time/8))
}

// restart gives both sides fresh workers.
func (f *search) restart(ctx context.Context) error {
	f.stop()
	f.history, f.again, f.dirty, f.restarted = nil, 0, false, time.Now()
	for i := range f.live {
		p, err := start(ctx, f.files[i].file, f.config(f.limit()))
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
	f.begin()
	return within(ctx, f.callsEnd, f.rounds)
}

func (f *search) rounds(ctx context.Context) error {
	if err := f.restart(ctx); err != nil {
		return err
	}
	turn := f.byTime
	if f.opt.Executions > 0 {
		turn = f.byRounds()
	}
	for {
		t := turn()
		if t == nil || f.over() || f.enough() {
			return f.settle(ctx)
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		st := f.states[t]
		began := time.Now()
		if err := f.batch(ctx, t, st); err != nil {
			return err
		}
		st.spent += min(time.Since(began), max(batchTime, f.opt.Time/20)) // no more: on a busy machine any call can take seconds
		most := f.opt.Executions
		if st.found {
			most = (most + 3) / 4 // the rest of the time is for the others
		}
		st.done = most > 0 && (st.executions+st.invalid >= most || st.veiled >= 2*most) || st.invalid > invalidEnough && st.executions+st.veiled == 0 || most == 0 && st.quiet > quietEnough
	}
}

// byRounds returns a function that returns the target whose turn it is, the same ones however long calls take. nil is that all are done.
func (f *search) byRounds() func() *target {
	round, next, idle := 0, 0, true
	return func() *target {
		for {
			if next == len(f.targets) {
				if idle {
					return nil
				}
				round, next, idle = round+1, 0, true
			}
			t := f.targets[next]
			next++
			st := f.states[t]
			if st == nil || st.done {
				continue
			}
			idle = false
			// What is far from the change, or quiet, gets its turn less often.
			if skip := t.class() + min(st.quiet/20_000, 4); round%(skip+1) == 0 {
				return t
			}
		}
	}
}

// The part of the time that functions get which changed, those with which callers of the package come to them, those of the package's own
// which use them, and all others.
var timeShares = [...]time.Duration{8, 8, 3, 2}

// class is the place of a target among these. What a parser does with a text shows when the parser is called: its own functions alone
// have little to say, and there are many of them.
func (t *target) class() int {
	if t.distance > 0 && exportedKey(t.key) {
		return 1
	}
	return min(2*t.distance, len(timeShares)-1)
}

// headStart is how long others wait before what changed is first called.
const headStart = 30 * time.Millisecond

// byTime returns the target whose turn it is, or nil when all are done: the one that had least of the time that is for it. One slow call
// of what only uses the change takes no time from what changed.
func (f *search) byTime() *target {
	var many [len(timeShares)]time.Duration
	for _, t := range f.targets {
		if st := f.states[t]; st != nil && !st.done {
			many[t.class()]++
		}
	}
	var next *target
	var least time.Duration
	for _, t := range f.targets {
		st := f.states[t]
		if st == nil || st.done || f.only != nil && !f.only[t] {
			continue
		}
		far := t.class()
		had := (st.spent + headStart*time.Duration(far)/many[far]) * many[far] * time.Duration(1+min(st.quiet/20_000, 4)) / timeShares[far]
		if next == nil || had < least {
			next, least = t, had
		}
	}
	return next
}

// quietEnough is how many executions without anything new end the search for a target.
const quietEnough = 60_000

// invalidEnough is how many programs that cannot be made end it, when there was none that can.
const invalidEnough = 2000

// How much may go before a call, where calls are quick.
const (
	longHistory = 150 * time.Millisecond
	mostHistory = 4096
)

// enough reports whether a grave difference was found, and there was some time to find a graver one.
func (f *search) enough() bool {
	return f.opt.Executions == 0 && !f.foundAt.IsZero() && time.Since(f.foundAt) > f.opt.Time/6
}

// batch makes programs about a target, has them run, and looks at what became of them.
func (f *search) batch(ctx context.Context, t *target, st *state) error {
	var list []*worker.Program
	var around [][2]int
	seeds := 0
	if st.turns++; st.turns%stateEvery == 2 && len(f.setters[t]) > 0 {
		list, around = f.stateCalls(t, st)
	} else {
		list, seeds = f.calls(t, st)
	}
	began := time.Now()
	seen := f.both(ctx, list)
	again := f.asLines(ctx, list, seen)
	isUp := ctx.Err() != nil
	switch took := time.Since(began); {
	case f.opt.Executions > 0: // then the same calls are to be made, however busy the machine
		st.size = mostBatch
	case took > batchTime:
		st.size = max(1, st.size/2)
	case took < batchTime/4:
		st.size = min(2*st.size, mostBatch)
	}
	n := min(len(seen[0]), len(seen[1]))
	looked, muddied := 0, false
	var grave bool
	var veiled []veil
	for i := range n {
		old, now := seen[0][i], seen[1][i]
		if f.opt.Executions == 0 && old.Status != worker.Invalid && now.Status != worker.Invalid { // the same calls are to be made, however busy the machine
			f.costs.took(list[i], f.lasted(old, now))
		}
		if isUp && (old.Status == killed || now.Status == killed) {
			break
		}
		if old.Status == worker.Invalid || now.Status == worker.Invalid {
			st.invalid++
			f.dirty = f.dirty || old.Status != now.Status
			continue
		}
		if old.Status == now.Status && old.Status != worker.Done || beyond(old) && beyond(now) {
			st.invalid++ // neither answered: there is nothing to compare
			continue
		}
		kind := kindOf(f, list[i], old, now)
		c := f.weigh(list[i], old, now, kind != "")
		fresh := f.count(t, st, list[i], old, now, c)
		if kind == "" {
			if around != nil {
				f.noteState(list[i], old, around[i])
			}
			if c.apart != nil {
				veiled = f.veil(veiled, list[i], old, now, c.apart, c.taking)
			}
			if old.Status == worker.Done && (fresh > 0 || i < seeds) && len(st.agreed) < agreedPrograms && !f.refusesIn(list[i]) {
				st.agreed = append(st.agreed, agreed{list[i], i < seeds})
			}
			continue
		}
		if f.onlyTaken(list[i], old, now, c.taking) {
			f.dirty = true
			continue
		}
		if f.passesNil(list[i]) {
			kind += " with nil" // which must not keep others from being looked at
		}
		if isUp {
			if !late(old) && !late(now) { // which is soon said, with little time for each
				f.leaveOpen(list[i])
			}
			continue
		}
		if f.busy[kind] >= 3 && f.rng.IntN(40*f.busy[kind]) != 0 || looked >= 4 || f.over() && !f.foundAt.IsZero() {
			f.dirty = true
			if f.confirmed[kind] {
				f.recount(t, st, list[i], old, now, c)
			}
			continue
		}
		looked++
		before := append(f.history[:len(f.history):len(f.history)], list[:i]...)
		lessons, layered := f.lessons, len(f.layered)
		found, err := f.examine(ctx, t, list[i], before, old.Status != now.Status)
		if name := f.lastName(list[i]); found == nil && err == nil && lessons == f.lessons && !slices.Contains(c.taking, true) && f.vain[name] < mostVain {
			f.vain[name]++
			found, err = f.suspects(ctx, t, list[i]) // the new version may vary where the old one does not
		}
		if err != nil {
			if ctx.Err() != nil {
				f.leaveOpen(list[i])
			}
			return err
		}
		if found == nil && len(f.layered) > layered {
			f.recount(t, st, list[i], old, now, c) // it is none
			muddied = true                         // those behind it were not made again for their lines
			break
		}
		if found == nil && f.dirty {
			muddied = true // most likely because of what was seen before; with fresh workers it would not have shown
			break
		}
		f.dirty = true
		f.busy[kind]++
		if found != nil {
			f.confirmed[kind] = true
			f.recount(t, st, list[i], old, now, c)
		}
		if found != nil && found.late {
			f.busy[kind] += 3 // once is enough, as long as it takes
		}
		grave = grave || found != nil && found.alarms()
	}
	if isUp {
		return ctx.Err()
	}
	st.found = st.found || grave
	if n > 0 && n < len(list) {
		f.endedBy(t, st, list[n-1])
	}
	if muddied || f.live[0].dead || f.live[1].dead {
		return f.restart(ctx)
	}
	f.history = append(append(f.history, list...), again...)
	f.again += len(again)
	found, err := f.unveil(ctx, t, veiled)
	if err != nil {
		return err
	}
	st.found = st.found || found
	if f.live[0].dead || f.live[1].dead || around != nil {
		return f.restart(ctx)
	}
	// What depends on all that went before can only be shown when that is little; but a start takes as long as many quick calls.
	if n := len(f.history) - f.again; n > 512 && (f.opt.Executions > 0 || n > mostHistory || time.Since(f.restarted) > longHistory) {
		return f.restart(ctx)
	}
	return nil
}

// calls makes up the calls of a batch. The first so many of them are seeds.
func (f *search) calls(t *target, st *state) (list []*worker.Program, seeds int) {
	list = make([]*worker.Program, 0, st.size)
	for range st.size {
		if len(st.seeds) > 0 {
			list = append(list, f.fromSeed(t, st.seeds[0]))
			st.seeds = st.seeds[1:]
			seeds++
			continue
		}
		p := f.made(t, st)
		for i := 1; i < dearTries && f.tooDear(t, p); i++ {
			p = f.made(t, st)
		}
		list = append(list, p)
	}
	return list, seeds
}

// made makes up a program, or changes one.
func (f *search) made(t *target, st *state) *worker.Program {
	if len(st.corpus) == 0 || !f.chance(60) {
		return f.program(t)
	}
	// The newest half was the hardest to find.
	i := len(st.corpus) - 1 - f.rng.IntN(len(st.corpus))
	if f.chance(50) {
		i = len(st.corpus) - 1 - f.rng.IntN(len(st.corpus)/2+1)
	}
	return f.mutate(t, st.corpus[i])
}

// both makes the calls in both workers.
func (f *search) both(ctx context.Context, list []*worker.Program) [2][]*worker.Seen {
	var how byte
	if len(list) <= firstBatch {
		how = worker.FlushEach // they may be so slow that the time is up before all are through
	}
	return f.bothWith(ctx, list, how)
}

// bothWith is both with flags for the workers.
func (f *search) bothWith(ctx context.Context, list []*worker.Program, how byte) [2][]*worker.Seen {
	var seen [2][]*worker.Seen
	var wg sync.WaitGroup
	for i := range f.live {
		wg.Go(func() {
			seen[i] = f.live[i].run(list, how)
			if n := len(seen[i]); n > 0 && seen[i][n-1].Status == died {
				seen[i] = f.whichDied(ctx, i, list) // what it said last was lost with it
			}
		})
	}
	wg.Wait()
	return seen
}

// lasted returns how long a program took in both workers.
func (f *search) lasted(old, now *worker.Seen) time.Duration {
	if old.Status != worker.Done || now.Status != worker.Done {
		return f.limit()
	}
	return old.Took + now.Took
}

// beyond reports whether a program took more than a worker gives it, of one thing or the other.
func beyond(s *worker.Seen) bool { return s.Status == worker.Late || s.Status == worker.Large }

// endedBy notes that a worker got no further than this call.
func (f *search) endedBy(t *target, st *state, p *worker.Program) {
	for _, s := range p.Steps {
		if s.Func != t.id {
			f.slow[s.Func]++
		}
	}
	st.deaths++
	f.deaths.add(t.name, f.briefly(p))
	if st.deaths > 2 {
		f.calm[t] = true
	}
	f.unhurried = f.unhurried || st.deaths > 1 && st.executions+st.veiled == 0 && t.distance == 0
	if st.deaths > 40 {
		st.done = true
	}
}

// refusesIn reports whether a program calls what only workers may call.
func (f *search) refusesIn(p *worker.Program) bool {
	return slices.ContainsFunc(p.Steps, func(s worker.Step) bool { return f.entries[s.Func].refuses })
}

// leaveOpen notes that the versions differ in a program, and that there was no time to look into that.
func (f *search) leaveOpen(p *worker.Program) {
	if name := f.lastName(p); !slices.Contains(f.open, name) {
		f.open = append(f.open, name)
		if f.openCalls == nil {
			f.openCalls = make(map[string]*worker.Program)
		}
		f.openCalls[name] = p
	}
}

// cover notes what ran, but for steps that do not count, and returns how much of it is new. What ran in those is new again the next time.
func (f *search) cover(side int, s *worker.Seen, c compared) int {
	fresh := 0
	var forget []worker.Count
	for _, n := range s.Cover {
		if !c.counts(n.Step) {
			forget = append(forget, n)
			continue
		}
		fresh++
		own := len(f.covered[side])
		switch i := int(n.Counter / 8); {
		case i < own:
			f.covered[side][i] = true
		case i-own < len(f.away[side]):
			f.away[side][i-own] = true
		}
	}
	f.forget(side, forget)
	return fresh
}

// forget makes counters new again in a worker.
func (f *search) forget(side int, list []worker.Count) {
	if p := f.live[side]; len(list) > 0 && p != nil && !p.dead {
		p.forget(list)
	}
}

// kindOf says what kind of difference there is between what two workers saw, or "" when there is none that matters.
func kindOf(f *search, p *worker.Program, old, now *worker.Seen) string {
	if old.Status == killed || now.Status == killed {
		return ""
	}
	if old.Status != now.Status {
		return fmt.Sprintf("status %d %d %s", old.Status, now.Status, f.lastName(p))
	}
	if old.Status != worker.Done {
		return ""
	}
	kind, least := "", worker.LayerInside
	unlike(old.Hashes, now.Hashes, func(a, b worker.Hash) bool { return a.Sum == b.Sum }, func(h worker.Hash) {
		if h.Layer < least {
			least = h.Layer
			kind = fmt.Sprintf("%s %c", f.entries[p.Steps[h.Step].Func].name, h.Layer)
		}
	})
	return kind
}

// unlike calls see with hashes of a step and a layer that are not the same in two lists.
func unlike(a, b []worker.Hash, same func(x, y worker.Hash) bool, see func(h worker.Hash)) {
	for len(a) > 0 || len(b) > 0 {
		at := 0
		switch {
		case len(a) == 0:
			at = 1
		case len(b) == 0:
			at = -1
		default:
			at = cmp.Or(cmp.Compare(a[0].Step, b[0].Step), cmp.Compare(a[0].Layer, b[0].Layer))
		}
		var x, y worker.Hash // one that is not there is like one of which masks left nothing
		if at <= 0 {
			x, a = a[0], a[1:]
		}
		if at >= 0 {
			y, b = b[0], b[1:]
		}
		if !same(x, y) {
			see(cmp.Or(x, y))
		}
	}
}

func (f *search) lastName(p *worker.Program) string {
	if len(p.Steps) == 0 {
		return ""
	}
	return f.entries[p.Steps[len(p.Steps)-1].Func].name
}

// workDir is where the worker of a side is built.
func workDir(work string, pair, side int) string {
	return filepath.Join(work, fmt.Sprintf("%d-%d", pair, side))
}
