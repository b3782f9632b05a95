// Package prove checks that a change does the same as before: both versions build and pass their tests, without races, and a great many
// calls of the changed code have the same results.
//
// Open finds the two versions, and Run compares them. Run builds both versions of a package into separate programs, the workers, each with
// a table of the package's functions; see package worker. A search makes up calls, runs them in both workers, and compares the results. A
// difference counts only if it shows again in fresh workers, and if the old version agrees with itself.
package prove

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/hone-perf/hone/internal/duel"
	"github.com/hone-perf/hone/internal/hint"
	"github.com/hone-perf/hone/internal/prove/worker"
	"github.com/hone-perf/hone/internal/report"
	"github.com/hone-perf/hone/internal/scratch"
	"github.com/hone-perf/hone/internal/unit"
)

// Options tune Run. The zero Options are those of hone prove.
type Options struct {
	Time       time.Duration // for calling both versions once they are built, and with Faster for the benchmarks; 0 means a minute
	TestTime   time.Duration // for a run of the tests of what changed, once they are built; 0 is as long as they take
	More       time.Duration // beyond Time, where functions were called too few times, or differences were left open; 0 is none
	Executions int           // of each function; 0 means until the time is up or nothing new shows
	Seed       uint64        // of what is made up
	Only       string        // the one function to compare; "" means all that changed
	Strict     bool          // what is only to be noted makes a change different, too
	NoTests    bool          // leaves building, vet and tests out
	Stop       bool          // at the first thing that speaks against the change: what takes longest comes last, and is not done then
	Shared     bool          // the change has goroutines share something: with Stop, all tests run with the race detector
	Tests      *Tests        // of changes of the same old version; nil runs its tests each time
	Flags      []string      // for the go command, behind those in GOFLAGS
	Args       []string      // the program of the package is run with these, too; nil means it is not
	Regress    bool          // tests of the differences are written
	Say        func(string)  // is told what is being done; nil means nobody

	// Faster runs benchmarks of both versions against each other; nil means that nobody wants to know how fast they are.
	Faster func(ctx context.Context, race Race) (Speed, error)

	// Hopeless is asked when benchmarks that both versions have ran against each other, which then happens before tests and calls: if it says
	// so, nothing else is done, because whatever that shows, the change is not worth it. nil means that Faster comes last. With sure, only what
	// more time would not change counts: then a test that fails tells more.
	Hopeless func(p *report.Proof, sure bool) bool

	// First are the names of benchmarks that are tried first, where it is found out which of them reach the change. As soon as one does, the
	// others are tried for no longer than Time. nil means none.
	First *regexp.Regexp

	// Workload says that Faster runs the program rather than benchmarks, so that none are looked for or generated.
	Workload bool
	// Command is a program that is run, too, whichever packages changed: what it prints and how it ends is compared. nil is none.
	Command *duel.Command
}

// Run compares the two versions of a change. With an error, it returns what was found until then.
func Run(ctx context.Context, c *Change, opt Options) (*report.Proof, error) {
	opt.Time = cmp.Or(opt.Time, time.Minute)
	if opt.Say == nil {
		opt.Say = func(string) {}
	}
	began := time.Now()
	c, err := c.withFlags(ctx, opt.Flags)
	if err != nil {
		return nil, err
	}
	c.compiled = opt.Tests.kinds()
	r := &run{change: c, opt: opt, checked: began, proof: &report.Proof{
		Old: c.Old.Name, New: c.New.Name, Seed: opt.Seed,
		Checks: []report.Check{}, Differences: []report.Difference{}, Functions: []report.Tried{},
	}}
	err = r.all(ctx)
	if err == nil {
		r.verdict()
	}
	r.proof.Took = time.Since(began)
	return r.proof, err
}

// A run is one comparison on its way.
type run struct {
	change *Change
	opt    Options
	proof  *report.Proof
	doubts []report.Doubt // why it is not proven

	checked time.Time // when the last check ended

	unreached, partly []string                  // functions that changed
	always            []string                  // those with a condition that was true each time
	few               []string                  // those that were called too seldom
	enough            []callsOf                 // those that were called often enough
	reached           map[string]map[place]bool // code that the program ran, by package
	ran               bool                      // the program, with arguments
	unchanged         bool                      // nothing that is built differs
	broken            bool                      // the new version does not build
	users             []string                  // folders whose tests run last, since they only use what changed
	raced             bool                      // benchmarks ran against each other
	benchmarks        *reached                  // that reach what changed; nil when that was not found out
	dirs              []string                  // folders whose Go files differ
	neighbors         []neighbor                // what else differs
	blocks, hit       int                       // of functions that changed: how many there are, and how many were reached

	left  time.Duration // of the time for calling both versions
	grace time.Duration // that may be taken beyond it, to look into what was found

	generated []*benchmarks // of packages that changed, for when they have none of their own
	suite     *suite        // how the tests of the old version went, which the change may have made quicker; nil when they did not run
	plain     *plainRun     // tests that ran without the race detector; nil is none
}

func (r *run) all(ctx context.Context) error {
	dirs, err := r.differing(ctx)
	if err != nil || len(dirs)+len(r.neighbors) == 0 {
		return err
	}
	r.dirs = dirs
	work, err := scratch.Dir("prove-build-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(work)
	r.opt.Tests.begin()
	r.opt.Say("loading both versions")
	var pairs []*pair
	if len(dirs) > 0 {
		var notes []string
		pairs, notes, err = pairUp(ctx, r.change, dirs)
		var broken *BrokenError
		if errors.As(err, &broken) && broken.New {
			r.broken = true
			r.add(report.BuildCheck(report.Failed, err.Error()))
			return nil
		}
		if err != nil {
			return err
		}
		r.proof.Notes = append(r.proof.Notes, hint.Said(notes...)...)
		if err := r.opt.affected(pairs); err != nil {
			return err
		}
	}
	if !r.opt.NoTests {
		dirs, err := r.compiles(ctx, pairs)
		if err != nil || r.stops() {
			return err
		}
		if hopeless, err := r.hopeless(ctx, pairs); err != nil || hopeless || r.stops() {
			return err
		}
		if err := r.tests(ctx, pairs, dirs); err != nil {
			return err
		}
		if r.stops() {
			return nil
		}
	} else {
		r.hint("build, vet and tests were skipped (", hint.Option{Name: "no-tests"}, ")")
	}
	if r.opt.Args != nil {
		for _, p := range pairs {
			if p.new.pkg.Types.Name() != "main" || p.old.pkg.Types.Name() != "main" {
				continue
			}
			r.ran = true
			if err := r.program(ctx, r.arguments(p), work, p); err != nil {
				return err
			}
		}
		if !r.ran {
			r.note("no changed program can be run with arguments")
		}
	}
	if c := r.opt.Command; c != nil && len(pairs) > 0 {
		r.ran = true
		if err := r.program(ctx, r.command(*c), work, pairs...); err != nil {
			return err
		}
		if r.stops() {
			return nil
		}
	}
	began := time.Now()
	if r.left = r.opt.Time; r.opt.Faster != nil {
		r.left /= 2 // the other half is for the benchmarks
	}
	r.grace = graceOf(r.opt.Time)
	for i, p := range pairs {
		opt := r.opt
		opt.Time = share(r.left, len(pairs)-i)
		if err := r.compare(ctx, p, opt, func(side int) string { return workDir(work, i, side) }); err != nil {
			return fmt.Errorf("comparing package %s: %w", p.new.pkg.PkgPath, err)
		}
	}
	if !r.broken && r.opt.Only == "" && !r.stops() {
		r.doubtGoroutines(pairs)
		if err := r.checkShared(ctx, pairs); err != nil {
			return err
		}
	}
	if r.opt.Faster != nil && len(pairs) == 0 && len(r.neighbors) > 0 { // only benchmarks of packages that differ are known to reach the change
		r.proof.Pace = report.PaceUnknown
		if !r.change.asked.patch {
			r.hint(hint.Ask("compare", r.change.asked.refs...), " compares the speed of the benchmarks here")
		}
	}
	if r.opt.Faster != nil && len(pairs) > 0 && !r.broken && !r.raced && !r.stops() {
		took := time.Since(began)
		racing := time.Now()
		err := r.speed(ctx, pairs, took)
		if r.proof.Racing += time.Since(racing); err != nil {
			return err
		}
	}
	if r.stops() || r.broken || r.opt.Hopeless != nil && r.opt.Hopeless(r.proof, false) {
		return nil
	}
	if err := r.testUsers(ctx); err != nil || r.stops() {
		return err
	}
	return r.raceTests(ctx)
}

// differing finds out where the versions differ, and returns the folders whose Go files do. What is not compared is a doubt.
func (r *run) differing(ctx context.Context) ([]string, error) {
	c := r.change
	if c.asked.open && !c.New.hasModule() && c.New.workspace() == "" {
		return nil, c.noModule()
	}
	dirs, others, err := c.changedDirs()
	if err != nil {
		return nil, err
	}
	goFile := len(dirs) > 0
	for _, name := range others {
		if why := doubtful(c.New.Dir, name); why != "" {
			r.doubt(report.DoubtOtherFiles, "%s%s", name, why)
			goFile = goFile || filepath.Ext(name) == ".go"
		}
	}
	if c.asked.open {
		if r.neighbors, err = c.neighbors(ctx); err != nil {
			return nil, err
		}
	}
	for _, n := range r.neighbors {
		if len(n.packages) > 0 {
			r.doubt(report.DoubtOtherFolder, "%s", n.uncalled())
			r.hint(append(c.next(n.dir), " calls the functions that differ there")...)
		}
		for _, why := range n.files {
			r.doubt(report.DoubtOtherFiles, "%s", why)
		}
	}
	if goFile || len(r.neighbors) > 0 {
		return dirs, nil
	}
	r.note("no Go file differs")
	if r.unchanged = len(r.doubts) == 0; r.unchanged && c.asked.open {
		if _, changed, err := c.nested(); err == nil && len(changed) > 0 {
			r.hint(append(append(hint.Text{"a module below this folder differs, but is not in use here: "}, c.next(changed[:min(len(changed), mostNamed)]...)...), " compares it")...)
		}
	}
	return dirs, nil
}

// hopeless runs benchmarks that reach the change against each other, if there are any, and reports whether what comes behind them is useless.
// They cost a fixed time, and half of all patches fail there; tests of all packages that use the change, and calls, take longer.
func (r *run) hopeless(ctx context.Context, pairs []*pair) (bool, error) {
	if r.opt.Hopeless == nil || r.opt.Faster == nil || r.opt.Workload || len(pairs) == 0 {
		return false, nil
	}
	began := time.Now()
	defer func() { r.checked = time.Now() }()
	reaching, _, err := r.reaching(ctx, pairs)
	if err != nil || len(reaching) == 0 {
		return false, err
	}
	r.raced = true
	if err := r.speed(ctx, pairs, r.opt.Time/2); err != nil {
		return false, err
	}
	r.proof.Racing = time.Since(began)
	return r.opt.Hopeless(r.proof, true), nil
}

// stops reports whether what was found is enough.
func (r *run) stops() bool {
	return r.opt.Stop && (slices.ContainsFunc(r.proof.Checks, func(c report.Check) bool { return c.Outcome == report.Failed }) ||
		slices.ContainsFunc(r.proof.Differences, func(d report.Difference) bool { return d.Grave }))
}

func (r *run) doubt(fact report.DoubtFact, format string, args ...any) {
	r.doubts = append(r.doubts, report.Doubt{Fact: fact, Text: fmt.Sprintf(format, args...)})
}

func (r *run) check(name string, o report.Outcome, detail string) {
	r.add(report.Check{Name: name, Outcome: o, Detail: detail})
}

func (r *run) add(c report.Check) {
	now := time.Now()
	c.Took, r.checked = now.Sub(r.checked), now
	r.proof.Checks = append(r.proof.Checks, c)
}

// compare searches one package for differences.
func (r *run) compare(ctx context.Context, p *pair, opt Options, work func(side int) string) error {
	d, err := findDanger(ctx, p.old, p.new)
	if err != nil {
		return err
	}
	d.refused = true
	s := newSurface(p, d)
	s.addPromoted()
	if opt.Only != "" {
		s.targets = slices.DeleteFunc(s.targets, func(t *target) bool { return !opt.compares(t.key) && (t.entry == nil || t.name != opt.Only) })
	}
	began, own, before := time.Now(), opt, len(r.proof.Differences)
	var callers []string
	if opt.Only == "" && !r.opt.Workload {
		if callers = r.callers(ctx, p); len(callers) > 0 {
			own.Time = opt.Time * 3 / 4 // the rest is for them
		}
	}
	f, err := r.search(ctx, s, own, work)
	if err != nil {
		return err
	}
	grave := slices.ContainsFunc(r.proof.Differences[before:], func(d report.Difference) bool { return d.Grave })
	if len(callers) > 0 && !grave && r.wantsCallers(s, f) {
		opt.Time = max(opt.Time/4, opt.Time-time.Since(began))
		from, err := r.callFrom(ctx, p, s, callers, opt, work)
		if err != nil {
			return err
		}
		defer func() { r.proof.Functions = append(r.proof.Functions, from...) }()
	}
	r.tried(ctx, p, s, f)
	return nil
}

// search calls what there is to call of a package, and says what came of it. It returns nil when there is nothing.
func (r *run) search(ctx context.Context, s *surface, opt Options, work func(side int) string) (*search, error) {
	if !slices.ContainsFunc(s.targets, func(t *target) bool { return t.entry != nil }) {
		return nil, nil
	}
	opt.Say("building both versions of " + s.new.pkg.PkgPath)
	if place, _ := s.old.workerPlace(); r.change.first("worker " + place) {
		if err := s.compileImports(ctx, s.old, work(0)+"-imports"); err != nil {
			return nil, err
		}
	}
	files, err := s.buildBoth(ctx, work)
	if err != nil {
		return nil, err
	}
	f := newSearch(s, opt, files)
	opt.Say("calling both versions of " + s.new.pkg.PkgPath)
	if err := r.call(ctx, f); err != nil {
		return nil, err
	}
	r.proof.Executions += f.executions
	r.proof.Partly += f.partly
	for key := range f.masked {
		r.proof.Masked = append(r.proof.Masked, key)
	}
	slices.Sort(r.proof.Masked)
	if doubt := f.waver(); doubt != "" {
		r.doubt(report.DoubtVaries, "%s", doubt)
	}
	if doubt := f.doubt(); doubt != "" {
		r.doubt(report.DoubtVaries, "%s", doubt)
		r.note("to compare what varies from call to call, make it an argument, such as the time or a source of random numbers, or sort what comes from a map")
	}
	if n := f.textsOnly(); n > 0 && !opt.Strict {
		r.hint("error messages differ, in ", unit.Counted(n, "function"), ": ", hint.Option{Name: "strict"}, " shows them")
	}
	for _, name := range f.open {
		r.doubt(report.DoubtOpenDifference, "a call of %s differed, but time ran out before that could be confirmed", name)
	}
	if f.unsteady.n > 0 {
		r.note("%s did not recur when the same calls were made in new processes, and %s not count, since something outside the calls plays a part: %s",
			unit.Counted(f.unsteady.n, "difference"), doOrDoes(f.unsteady.n), f.unsteady.text())
	}
	if f.deaths.n > 0 {
		r.note("%s took too long, used too much memory, or ended the process, in one version or both: %s", unit.Counted(f.deaths.n, "call"), f.deaths.text())
	}
	return f, nil
}

// call calls both versions, and looks into what they do differently.
func (r *run) call(ctx context.Context, f *search) error {
	began, start := time.Now(), time.Now()
	defer func() { r.proof.Calling += time.Since(start) }()
	f.grace = r.grace
	if err := f.run(ctx); err != nil {
		return err
	}
	more := time.Now()
	if err := r.settleWithMore(ctx, f); err != nil {
		return err
	}
	began = began.Add(time.Since(more)) // which is beyond the share of the package
	found, err := f.findings(ctx)
	if err != nil {
		return err
	}
	for _, d := range found {
		r.proof.Differences = append(r.proof.Differences, f.difference(d))
	}
	if r.opt.Regress {
		if err := r.regressions(ctx, f, found); err != nil {
			return fmt.Errorf("writing tests for the differences: %w", err)
		}
	}
	if r.opt.Faster != nil && !r.opt.Workload && f.called == nil {
		err = within(ctx, f.last, func(ctx context.Context) error {
			g, err := f.generate(ctx, maxGenerated)
			if g != nil {
				r.generated = append(r.generated, g)
			}
			return err
		})
	}
	r.used(f.opt.Time, time.Since(began))
	return err
}

// used notes how much of the time for calls a package took, of its share.
func (r *run) used(share, took time.Duration) {
	r.left = max(0, r.left-took)
	r.grace = max(0, r.grace-max(0, took-share))
}

// share returns how long one of so many packages may take.
func share(left time.Duration, packages int) time.Duration {
	return max(left/time.Duration(packages), leastShare)
}

// briefly shows a program in a sentence.
func (s *surface) briefly(p *worker.Program) string {
	text := strings.ReplaceAll(s.show(p, len(p.Steps)-1).call, "\n", "; ")
	const most = 160
	if len(text) > most {
		text = strings.ToValidUTF8(text[:most/2], "") + " … " + strings.ToValidUTF8(text[len(text)-most/2:], "")
	}
	return text
}

// buildBoth builds the workers of both sides, and that of the old one once more, with another layout: what it does not say there as
// well is about itself. Without that one there is less to learn, and no reason to give up.
func (s *surface) buildBoth(ctx context.Context, work func(side int) string) ([2]*built, error) {
	var files [2]*built
	var errs [2]error
	var left [2][]int
	var moved *built
	var wg sync.WaitGroup
	for i, v := range []*side{s.old, s.new} {
		wg.Go(func() { files[i], left[i], errs[i] = s.build(ctx, v, work(i), layoutHere) })
	}
	wg.Go(func() { moved, _, _ = s.build(ctx, s.old, work(0)+"-elsewhere", layoutElsewhere) })
	wg.Wait()
	if files[0] != nil && moved != nil {
		files[0].elsewhere = moved.file
	}
	for _, t := range s.targets {
		if t.entry != nil && (slices.Contains(left[0], t.id) || slices.Contains(left[1], t.id)) {
			t.entry, t.why = nil, "it cannot be called from a test"
		}
	}
	return files, cmp.Or(errs[0], errs[1])
}
