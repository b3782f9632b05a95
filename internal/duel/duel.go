// Package duel runs two versions of a program against each other until it is known which one is faster.
//
// The time that a program takes depends more on the machine than on a small change: on what else runs there, and when. So both versions of
// a benchmark run at the same time on one core, and each is measured by its own CPU time; a disturbance affects both alike. Versions that
// need more than one core, or wait, take turns instead. Each pair of runs uses fresh processes, and pairs go on until a stat.Plan has seen
// enough.
//
// A side comes from Revisions, or is a folder or a test program. Run returns the measurements; package verdict decides what they mean.
package duel

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/hone-perf/hone/internal/recording"
	"github.com/hone-perf/hone/internal/scratch"
	"github.com/hone-perf/hone/internal/stat"
	"github.com/hone-perf/hone/internal/unit"
)

// Options say what to run against what.
type Options struct {
	Old, New Side
	Commands *[2]string             // of a shell, to be run instead of benchmarks
	Program  string                 // a main package, which is built on both sides for {program} in the commands; "" is none
	Dir      string                 // where commands run
	Packages []string               // patterns of the go command; nil is ./...
	Bench    string                 // as for go test; "" is all
	Skip     func(name string) bool // benchmarks to leave out, which are named as in the answer; nil is none
	Flags    []string               // for building
	NewTests bool                   // benchmarks of the new side for both
	Plan     stat.Plan              // when to stop; a Within of 0 is the least that this machine can tell, 1 % or more
	Budget   time.Duration          // for each benchmark; 0 is 20 s
	Limit    time.Duration          // for measuring all of them, whatever is decided then; 0 is none
	How      string                 // Duet or Alternate for all; "" decides for each
	Layouts  int                    // link each side this often with its code in another order; 0 and 1 leave it as it is
	NoWhy    bool                   // do not profile to explain what changed
	AsIs     bool                   // do not look whether the machine code is the same on both sides, which takes two builds
	Count    bool                   // count instructions, too
	Live     bool                   // watch how much of the heap is in use, too
	Noise    *Noise                 // what identical programs differ by here, where that was found out just before; nil is not known
	Seed     uint64                 // of the random order; 0 is any
	Notes    []string               // about the sides, for the answer

	// Clear is asked after each pair whether those of a benchmark are so far apart that no more are wanted. It may be nil.
	Clear func(b *recording.DuelBenchmark) bool

	// Say is told what is going on. It may be nil.
	Say func(text string)

	// Enough is asked when each benchmark ran once on both sides, which already tells how much it allocates, and then each time that one is
	// decided. If it says that more would change nothing, measuring ends. It may be nil.
	Enough func(d *recording.Duel) bool

	name       string        // of the commands in the answer; "" is what they are
	countLimit time.Duration // of a run in which instructions are counted; 0 is two minutes. What comes before benchmarks takes longer then, too
}

// Noise is by how much pairs of identical programs differ.
type Noise struct {
	Spread float64 // of the logarithm of their ratio
	Of     int     // pairs
}

const (
	chunk        = 50 * time.Millisecond // of CPU time in a run
	chunkApart   = 4 * chunk             // when the time that starting takes has to be guessed
	noisePairs   = 12                    // of identical programs, in all
	fewestPairs  = 3                     // however little time there is
	overtime     = 3                     // times of its budget that a benchmark gets to have enough pairs to tell anything,
	leastTime    = 20 * time.Second      // or this, if that is more
	noiseLooks   = 6                     // of them for a benchmark at most
	leastNoise   = 5                     // of them, where a pair takes long
	noiseShare   = 4                     // of the time for a benchmark goes to them at most: a fourth
	defaultSpend = 20 * time.Second
)

// A TooFineError says that a threshold is below what the machine can tell from noise.
type TooFineError struct{ Within, Floor float64 }

func (e *TooFineError) Error() string {
	return fmt.Sprintf("a change of %s is within the noise of this machine now: identical programs differ by up to %s", unit.Share(e.Within), unit.Share(e.Floor))
}

// ErrNothing is that there is nothing to compare.
var ErrNothing = errors.New("no benchmarks")

// ErrNoTime is that the limit ended before any benchmark was run on both sides.
var ErrNoTime = errors.New("the time ended before any benchmark had run on both sides")

// A duel is one under way.
type duel struct {
	opt  Options
	rand *rand.Rand
	rows []*row
	out  *recording.Duel

	courts   []int  // cores for duets
	dir      string // that is thrown away in the end
	valgrind string // that counts instructions; or ""
	ended    bool   // since somebody knew enough
	mu       sync.Mutex
}

// A row is one benchmark that both sides have.
type row struct {
	recording.DuelBenchmark
	old, new []*program       // by layout
	commands *[2]command      // to be run instead
	bench    string           // pattern that only it matches
	was      string           // path of the old package, when that is another one
	start    [2]time.Duration // what starting takes, about, of programs without a clock
	built    *built           // nil when that is not known
	reached  map[string]bool  // symbols that it reaches, the same on both sides
	turns    int              // that both sides take in a run; 0 when they run as the system lets them
	far      bool             // commands: they take turns since they are so far apart
	want     int              // pairs before the next look
	decks    [2][]int         // layouts of each side that are still to come up
}

func (d *duel) say(format string, args ...any) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.opt.Say != nil {
		d.opt.Say(fmt.Sprintf(format, args...))
	}
}

// Run runs the benchmarks of both sides against each other. When it is interrupted it returns what was measured, and the error.
func Run(ctx context.Context, opt Options) (*recording.Duel, error) {
	if len(opt.Packages) == 0 {
		opt.Packages = []string{"./..."}
	}
	opt.Bench = cmp.Or(opt.Bench, ".")
	opt.Budget = cmp.Or(opt.Budget, defaultSpend)
	for opt.Seed == 0 {
		opt.Seed = rand.Uint64()
	}
	d := &duel{opt: opt, rand: rand.New(rand.NewPCG(opt.Seed, 1))}
	d.courts = courts(d.rand)
	d.out = &recording.Duel{
		Old: opt.Old.DuelSide, New: opt.New.DuelSide,
		Alpha: cmp.Or(opt.Plan.Alpha, stat.DefaultAlpha), Within: opt.Plan.Within, Surely: opt.Plan.Surely, Notes: slices.Clone(opt.Notes),
	}
	if opt.Count {
		var err error
		if d.valgrind, err = findValgrind(); err != nil {
			return nil, err
		}
	}
	work, err := scratch.Dir("work-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(work)
	d.dir = work
	if err := d.prepare(ctx, work); err != nil {
		return nil, err
	}
	err = d.measureWithin(ctx)
	for _, r := range d.rows {
		d.out.Benchmarks = append(d.out.Benchmarks, r.DuelBenchmark)
	}
	if len(d.out.Benchmarks) == 0 && len(d.out.Same) == 0 && err == nil {
		err = ErrNothing
	}
	return d.out, err
}

// measureWithin measures for as long as the limit allows. Benchmarks that were not run against each other until then are left out.
func (d *duel) measureWithin(ctx context.Context) error {
	if d.opt.Limit == 0 {
		return d.measure(ctx)
	}
	limited, cancel := context.WithTimeout(ctx, d.opt.Limit)
	defer cancel()
	err := d.measure(limited)
	if limited.Err() == nil || ctx.Err() != nil {
		return err
	}
	all := len(d.rows)
	d.rows = slices.DeleteFunc(d.rows, func(r *row) bool { return r.Error == "" && r.Only == "" && len(r.Pairs) == 0 })
	for _, r := range d.runnable() {
		r.Stop = "time"
	}
	if n := all - len(d.rows); n > 0 {
		d.out.Notes = append(d.out.Notes, fmt.Sprintf("there was no time for %d of %d benchmarks", n, all))
	}
	if d.out.Within == 0 {
		d.out.Within = stat.DefaultWithin
	}
	if len(d.out.Same) == 0 && !slices.ContainsFunc(d.rows, func(r *row) bool { return r.Error != "" || len(r.Pairs) > 0 }) {
		return ErrNoTime
	}
	return nil
}

// measure runs what is to be run.
func (d *duel) measure(ctx context.Context) error {
	i := 0
	err := d.work(ctx, func() *job {
		for ; i < len(d.rows); i++ {
			r := d.rows[i]
			if r.Error != "" || r.Only != "" {
				continue
			}
			i++
			d.say("%s: first runs, %d of %d", r.Name, i, len(d.rows))
			know := d.calibrate
			if r.commands != nil {
				know = d.tryCommands
			}
			// What it leaves idle or does in parallel shows only when it has the machine for itself, as far as there is one.
			return &job{do: func(cpu int) error { return know(ctx, r, cpu) }}
		}
		return nil
	})
	if err != nil {
		return err
	}
	if err := d.first(ctx); err != nil || d.ended {
		return err
	}
	if err := d.noise(ctx); err != nil {
		return err
	}
	if err := d.rounds(ctx); err != nil || d.ended {
		return err
	}
	if d.valgrind != "" {
		if err := d.count(ctx); err != nil {
			return err
		}
	}
	if d.opt.Live {
		if err := d.live(ctx); err != nil {
			return err
		}
	}
	if !d.opt.AsIs {
		if err := d.sameCode(ctx); err != nil {
			return err
		}
	}
	if d.opt.NoWhy {
		return nil
	}
	return d.explain(ctx)
}

// runnable returns the rows that have not come to an end.
func (d *duel) runnable() []*row {
	return slices.DeleteFunc(slices.Clone(d.rows), func(r *row) bool { return r.Error != "" || r.Only != "" || r.Stop != "" })
}

// noise runs the old side against itself, to see what differences mean nothing here.
func (d *duel) noise(ctx context.Context) error {
	rows := slices.DeleteFunc(d.runnable(), func(r *row) bool { return r.far || r.Apart[0] > 0 }) // they are above all noise
	if shared := slices.DeleteFunc(slices.Clone(rows), func(r *row) bool { return r.How != recording.Duet }); len(shared) > 0 {
		rows = shared // those that take turns are another matter, and tell it by their intervals
	}
	if known := d.opt.Noise; known != nil {
		return d.differ(*known)
	}
	if len(rows) == 0 {
		return d.differ(Noise{})
	}
	var ds []float64
	each := min(noiseLooks, (noisePairs+len(rows)-1)/len(rows))
	i, all, spent := 0, max(each*len(rows), 1), time.Duration(0)
	err := d.work(ctx, func() *job {
		if i == all || spent > d.opt.Budget/noiseShare && len(ds) >= leastNoise {
			return nil
		}
		r := rows[i%len(rows)]
		i++
		d.say("%s against itself, %d of %d", r.Name, i, all)
		lots := d.draw(r)
		var p recording.DuelPair
		return &job{
			alone: r.How != recording.Duet,
			do: func(cpu int) (err error) {
				p, _, err = d.same(ctx, r, lots, cpu)
				return err
			},
			done: func(took time.Duration) {
				spent += took
				if a, b := p.Old[r.Unit], p.New[r.Unit]; a > 0 && b > 0 {
					ds = append(ds, math.Log(b/a))
				}
			},
		}
	})
	if err != nil {
		return err
	}
	if len(ds) < 2 {
		return nil
	}
	for i, x := range ds {
		ds[i] = math.Abs(x) // their middle is zero
	}
	return d.differ(Noise{1.4826 * stat.Median(ds), len(ds)})
}

// differ says what is too small a change to be told from noise.
func (d *duel) differ(n Noise) error {
	d.out.Spread, d.out.SpreadOf = n.Spread, n.Of
	plan := d.opt.Plan
	floor := plan.Resolution(d.out.Spread)
	switch {
	case plan.Within == 0:
		d.out.Within = max(stat.DefaultWithin, math.Ceil(1000*floor)/1000)
		d.opt.Plan.Within = d.out.Within
	case plan.Within < floor:
		return &TooFineError{plan.Within, floor}
	}
	return nil
}

// Sides as recordings call them, the old one first.
const (
	oldSide = "old"
	newSide = "new"
)

var sideNames = [2]string{oldSide, newSide}

// errSkipped is what is wrong with a benchmark that only the other side runs.
var errSkipped = errors.New("it is skipped on that side")

// A failure is a run of one of the sides that came to no result.
type failure struct {
	side string
	err  error
}

// fail notes that r has no result for the error of a side.
func (r *row) fail(side string, err error) { r.Fails, r.Error = side, err.Error() }

// same runs the old side against itself.
func (d *duel) same(ctx context.Context, r *row, lots draw, cpu int) (recording.DuelPair, *failure, error) {
	if r.commands != nil {
		return d.pairOfCommands(ctx, r, [2]command{r.commands[0], r.commands[0]}, lots, cpu)
	}
	return d.pair(ctx, r, r.old, r.old, lots, cpu)
}

// look ends a row when enough is known about it.
func (d *duel) look(r *row) {
	if d.opt.Clear != nil && d.opt.Clear(&r.DuelBenchmark) {
		r.Stop = "clear"
		return
	}
	if len(r.Pairs) >= r.want {
		if _, r.want = d.opt.Plan.Judge(recording.Ratios(r.Pairs, r.Unit)); r.want == 0 {
			r.Stop = "decided"
			return
		}
	}
	// Fewer pairs than those at the first look tell nothing, whatever they show: time spent on them alone would be lost. So a benchmark of
	// which there will not be so many ends as soon as there are enough to have an idea.
	n, most := len(r.Pairs), max(overtime*d.opt.Budget, leastTime)
	late := r.Took > most || n < d.opt.Plan.Fewest() && r.Took/time.Duration(n)*time.Duration(d.opt.Plan.Fewest()) > most
	if r.Took > d.opt.Budget && n >= d.opt.Plan.Fewest() || late && n >= fewestPairs {
		r.Stop = "time"
	}
}

// pairTries is how often a pair is run in which a program seems to need no CPU time beyond its start.
const pairTries = 3

// pair runs a benchmark once on each side. When one of them fails, wrong says how. On a busy machine, the run that starts a program and does
// nothing else may take longer than the one with the benchmark: such a pair tells nothing, and is run again.
func (d *duel) pair(ctx context.Context, r *row, old, new []*program, lots draw, cpu int) (p recording.DuelPair, wrong *failure, err error) {
	if r.commands != nil {
		return d.pairOfCommands(ctx, r, *r.commands, lots, cpu)
	}
	for range pairTries {
		p, wrong, err = d.pairOnce(ctx, r, old, new, lots, cpu)
		if err != nil || wrong != nil || r.Unit != cpuUnit || p.Old[cpuUnit] > 0 && p.New[cpuUnit] > 0 {
			break
		}
	}
	return p, wrong, err
}

func (d *duel) pairOnce(ctx context.Context, r *row, old, new []*program, lots draw, cpu int) (p recording.DuelPair, wrong *failure, err error) {
	a := run{prog: old[lots.old%len(old)], bench: r.bench, time: fmt.Sprintf("%dx", r.Iters), alone: r.alone(), cpu: cpu}
	if r.How == recording.Duet {
		a.turns = r.turns
	}
	b := a
	b.prog = new[lots.new%len(new)]
	if apart := r.Apart; apart[0] > 0 {
		a.time, b.time = fmt.Sprintf("%dx", apart[0]), fmt.Sprintf("%dx", apart[1])
	}
	sides := []run{a, b}
	if lots.swapped {
		sides[0], sides[1] = b, a
	}
	if r.How == recording.Duet {
		// In random order, since the first copy is likely to get what the first one before it gave back.
		for i := range sides {
			var remove func()
			if sides[i].prog, remove, err = d.place(sides[i].prog); err != nil {
				return p, nil, err
			}
			defer remove()
		}
	}
	results, err := d.both(ctx, r, sides)
	if err != nil {
		return p, nil, err
	}
	start := r.start
	if r.Unit == cpuUnit && !(a.prog.clocked && b.prog.clocked) {
		// What starting takes is measured anew for each pair. One figure for all pairs would be off in the same direction in all of them, and
		// so make identical programs differ surely.
		for i := range sides {
			sides[i].time, sides[i].turns = "1x", 0
		}
		starts, err := d.both(ctx, r, sides)
		if err != nil {
			return p, nil, err
		}
		for i := range starts {
			start[i] = starts[i].cpu
		}
		if lots.swapped {
			start[0], start[1] = start[1], start[0]
		}
	}
	if lots.swapped {
		results[0], results[1] = results[1], results[0]
	}
	for i, side := range []struct {
		name   string
		values *map[string]float64
	}{{oldSide, &p.Old}, {newSide, &p.New}} {
		values, err := r.values(&results[i], start[i])
		if err != nil {
			return p, &failure{side.name, err}, nil
		}
		*side.values = values
	}
	if ratio, ok := inStep(results[0].turns, results[1].turns); ok && r.Unit == cpuUnit {
		mid := math.Sqrt(p.Old[cpuUnit] * p.New[cpuUnit])
		p.Old[cpuUnit], p.New[cpuUnit] = mid/math.Sqrt(ratio), mid*math.Sqrt(ratio)
	}
	return p, nil, nil
}

// both runs both sides, at the same time in a duet and else one after the other.
func (d *duel) both(ctx context.Context, r *row, sides []run) ([]result, error) {
	if r.How == recording.Duet {
		return d.do(ctx, sides...)
	}
	var results []result
	for _, side := range sides {
		one, err := d.do(ctx, side)
		if err != nil {
			return nil, err
		}
		results = append(results, one...)
	}
	return results, nil
}

// alone reports whether a benchmark runs on one core.
func (r *row) alone() bool { return r.Unit == cpuUnit }

// values returns what a run of one benchmark measured, in a program that needs about so much CPU time to start.
func (r *row) values(res *result, start time.Duration) (map[string]float64, error) {
	if res.failed != nil {
		return nil, res.failed
	}
	if len(res.lines) != 1 {
		return nil, fmt.Errorf("it printed %d lines of results", len(res.lines))
	}
	line := &res.lines[0]
	values := make(map[string]float64, len(line.Values))
	for _, v := range line.Values {
		if !strings.HasPrefix(v.Unit, ownUnits) && !math.IsNaN(v.Value) && !math.IsInf(v.Value, 0) {
			values[v.Unit] = v.Value
		}
	}
	if _, ok := values[cpuUnit]; !ok && line.Iters > 0 {
		values[cpuUnit] = max(0, float64(res.cpu-start)) / float64(line.Iters)
	}
	return values, nil
}

func pairsText(n int) string {
	if n == 1 {
		return "1 pair"
	}
	return fmt.Sprintf("%d pairs", n)
}
