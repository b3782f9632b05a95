// Package fix tries the patches of findings, and keeps those that are proven: the same behavior, and a gain.
//
// Run copies the module twice and works on the copies. It runs and profiles the benchmarks, and asks package advise for findings. It puts
// each patch into one of the two copies. There, package prove builds, vets and tests it, calls both versions with the same arguments, and
// runs their benchmarks against each other. Run writes only proven patches into the tree, whole files at a time, or commits them to a
// branch. Then it profiles again, because other code now costs most, until nothing is left or the budget ends.
package fix

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/hone-perf/hone/internal/advise"
	"github.com/hone-perf/hone/internal/advise/rules"
	"github.com/hone-perf/hone/internal/capture"
	"github.com/hone-perf/hone/internal/gocmd"
	"github.com/hone-perf/hone/internal/hint"
	"github.com/hone-perf/hone/internal/patch"
	"github.com/hone-perf/hone/internal/prove"
	"github.com/hone-perf/hone/internal/recording"
	"github.com/hone-perf/hone/internal/report"
)

// Options tune Run. What is to be made faster is in Benchmarks, in Workload or in Recorded.
type Options struct {
	Dir        string                 // in the module; packages are named from here. "" is the current folder
	Benchmarks *capture.Benchmarks    // to be run again after what was kept; of packages without, tests and made-up calls
	Workload   *Workload              // to be run again after what was kept
	Recorded   []*recording.Recording // looked at once, when there is neither
	Refs       []string               // what to call them
	Flags      []string               // that were given with them, for saying the command again
	Arguments  []string               // that were given behind --

	Pick   int           // the finding to try, as advise numbers them; 0 is all that have a patch
	All    bool          // also what would save less than a hundredth, and what was refused before
	DryRun bool          // write nothing
	Doubts bool          // also write what shows no difference, but is not proven
	Commit string        // a branch to commit to, instead of writing; "" is none
	Budget time.Duration // for all of it; 0 is ten minutes
	Extra  time.Duration // beyond the budget, until a patch is kept
	Each   time.Duration // for looking for differences, and as much for measuring one patch; 0 is 15 s
	Calls  int           // of each function, at most; 0 is as many as there is time for
	Seed   uint64        // of what is made up

	// MinGain is the share of its CPU time, bytes or objects that some benchmark has to save for a patch to be kept; 0 is 3 %, and what is
	// below 0 asks for no more than what is proven.
	MinGain float64

	CoreHour report.Price // see advise.Options

	Memory *Memory // of what was refused; nil remembers nothing
	Hone   string  // version of hone
	Say    func(doing string)
	Note   func(text string)                // is told what is known before the end, and worth a line; nil is nobody
	Done   func(x *report.Fixed, kept bool) // is told what became of each patch that was tried; nil is nobody
}

// Errors of Run.
var (
	ErrNoFinding = errors.New("no such finding")
	ErrFlag      = errors.New("patches are tried on a copy of the module and written to its files")
)

const (
	usualBudget = 10 * time.Minute
	usualEach   = 15 * time.Second
	usualGain   = 0.03
	leastShare  = 0.001 // of what is tried with All

	// What a run of the tests of a package may take, and all of a patch with its builds: times Each, but never less than a busy machine needs.
	testsShare, leastTests = 4, time.Minute
	trialShare, leastTrial = 12, 3 * time.Minute

	moreCalls = 3 // times Each, where calls of a patch are too few for a proof

	standInShare = 5 // of the budget goes to what stands in for benchmarks: a fifth
	profileShare = 3 // of what is left of it goes to profiling benchmarks: a third
)

// Run tries patches until nothing is left to try, or the budget ends. When it is interrupted, or something goes wrong behind the
// first patch, it returns what was done until then, and the error; the tree has whole proven fixes at any time.
func Run(ctx context.Context, opt Options) (*report.Fixes, error) {
	opt.Budget, opt.Each = cmp.Or(opt.Budget, usualBudget), cmp.Or(opt.Each, usualEach)
	opt.MinGain = max(cmp.Or(opt.MinGain, usualGain), 0)
	if opt.Say == nil {
		opt.Say = func(string) {}
	}
	if opt.Note == nil {
		opt.Note = func(string) {}
	}
	if opt.Done == nil {
		opt.Done = func(*report.Fixed, bool) {}
	}
	began := time.Now()
	opt.Say("copying the module")
	t, err := openTree(ctx, opt.Dir)
	if err != nil {
		return nil, err
	}
	defer t.close()
	r := &run{tree: t, opt: opt, tried: make(map[string]bool), little: make(map[string]report.CompareRow), latest: make(map[string]float64), changes: make(map[string][]change), out: &report.Fixes{
		Refs: opt.Refs, Flags: opt.Flags, Arguments: opt.Arguments, Root: t.mod, Kept: []report.Fixed{}, Refused: []report.Fixed{}, Picked: opt.Pick, Dry: opt.DryRun, Branch: opt.Commit,
	}}
	if err := r.flags(ctx); err != nil {
		return nil, err
	}
	if opt.Benchmarks != nil {
		r.profiling = &prove.Profiling{Benchmarks: *opt.Benchmarks, Time: opt.Budget / standInShare, Seed: opt.Seed, Note: func(text string) {
			r.note("%s", text)
			opt.Note(text)
		}}
		defer r.profiling.Close()
	}
	limited, cancel := r.budget(ctx, began)
	defer cancel()
	if err = r.prepare(limited); err == nil {
		err = r.all(limited)
	}
	if errors.Is(context.Cause(limited), errBudget) {
		r.out.Ended = hint.Text{"the budget of ", opt.Budget, " is used up; ", moreBudget}
		if stopped(err) {
			err = nil
		}
	}
	if ctx.Err() != nil {
		r.out.Ended = hint.Text{"interrupted"}
		err = ctx.Err()
	} else if err == nil && len(r.out.Kept) > 0 {
		err = r.whole(ctx)
	}
	if failing := r.tests.Failing(); len(failing) > 0 {
		r.note("tests failed before any change, so they cannot check patches: %s", strings.Join(failing, ", "))
	}
	if err != nil && ctx.Err() == nil && len(r.out.Kept)+len(r.out.Doubtful)+len(r.out.Refused) == 0 {
		return nil, err
	}
	if err != nil && r.out.Ended == nil {
		r.out.Ended = hint.Text{err.Error()}
	}
	r.out.Took = time.Since(began)
	if wrong := opt.Memory.save(); wrong != nil {
		r.note("%v", wrong)
	}
	return r.out, err
}

var errBudget = errors.New("the time budget is used up")

// budget returns a context that ends with the budget, or when a patch is kept after that, but not later than there is extra time for.
func (r *run) budget(ctx context.Context, began time.Time) (context.Context, context.CancelFunc) {
	r.end, r.last = began.Add(r.opt.Budget), began.Add(r.opt.Budget+r.opt.Extra)
	limited, late := context.WithDeadlineCause(ctx, r.last, errBudget)
	limited, stop := context.WithCancelCause(limited)
	r.enough = func() { stop(errBudget) }
	return limited, func() {
		if r.timer != nil {
			r.timer.Stop()
		}
		stop(nil)
		late()
	}
}

// kept says that a patch was: from now on, there is no extra time.
func (r *run) kept() {
	r.last = r.end
	if r.timer == nil {
		r.timer = time.AfterFunc(time.Until(r.end), r.enough)
	}
}

// stopped reports whether an error says only that time was up: that of a context, or of a command that it ended.
func stopped(err error) bool {
	var exit *exec.ExitError
	return errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled) || errors.Is(err, errBudget) || errors.As(err, &exit)
}

// A run is one under way.
type run struct {
	*tree
	opt    Options
	out    *report.Fixes
	tests  prove.Tests
	base   map[string][]byte // texts of files as the advice at hand is about them, where they were changed since
	tried  map[string]bool
	little map[string]report.CompareRow // by patch that was tried, now or before, and gained too little: what it gained most of
	latest map[string]float64           // by benchmark and what was measured: how much it was with what was kept last
	branch *branch

	changes map[string][]change // by file: what was kept, in order
	began   int                 // how many fixes were kept when the advice at hand was made
	build   []string            // flags for the go command
	env     []string            // with which it has them
	races   []prove.Race        // of what was kept
	noise   noise               // when it was last found out

	profiling *prove.Profiling // of Benchmarks; nil when there are none

	least time.Duration // that a patch took; 0 when none was tried

	end    time.Time   // of the budget
	last   time.Time   // that something may be begun at
	enough func()      // ends all of it
	timer  *time.Timer // that calls enough at the end of the budget; nil until a patch was kept
}

// flags finds out with which flags benchmarks are built, so that all else is built in the same way.
func (r *run) flags(ctx context.Context) error {
	var flags []string
	switch {
	case r.opt.Benchmarks != nil:
		flags = r.opt.Benchmarks.Flags
	case r.opt.Workload != nil:
		flags = r.opt.Workload.Flags
	}
	for _, f := range flags {
		r.build = append(r.build, gocmd.FromFolder(f, r.dir))
	}
	in, about, err := gocmd.Command{Dir: r.dir}.WithFlags(ctx, r.build)
	if err != nil {
		return err
	}
	if name := about.Names("overlay", "modfile"); name != "" {
		return fmt.Errorf("%s cannot be used: %w", name, ErrFlag)
	}
	r.env = in.Env
	return nil
}

// short reports whether what is left of the budget is so little that it would be wasted: less than half of what any patch took. Those
// behind the first take less, since the tests of the version before ran already.
func (r *run) short() bool {
	return r.least > 0 && time.Until(r.last) < r.least/2
}

// prepare finds out what would make all the work useless.
func (r *run) prepare(ctx context.Context) (err error) {
	if r.opt.Commit != "" {
		r.branch, err = newBranch(ctx, r.mod, r.opt.Commit)
		return err
	}
	return nil
}

// all looks for findings and tries them, until nothing more is kept.
// moreBudget says how there would be more time.
var moreBudget = hint.Text{hint.Option{Name: "budget"}, " gives more"}

func (r *run) all(ctx context.Context) error {
	for {
		advice, err := r.advice(ctx)
		if err != nil {
			if errors.Is(err, advise.ErrNothing) && r.out.Rounds > 1 {
				r.out.Ended = hint.Text{"no findings are left"}
				return nil
			}
			return err
		}
		for _, n := range advice.Notes {
			r.out.Notes.AddNew(n)
		}
		if r.opt.Pick > len(advice.Findings) {
			return fmt.Errorf("%w: number %d of %d", ErrNoFinding, r.opt.Pick, len(advice.Findings))
		}
		r.out.Left = nil // those of the last round stay
		kept := len(r.out.Kept)
		for i := range advice.Findings {
			f := &advice.Findings[i]
			if r.opt.Pick > 0 && f.Number != r.opt.Pick {
				continue
			}
			if err := r.finding(ctx, f); err != nil {
				return err
			}
		}
		kept = len(r.out.Kept) - kept
		switch {
		case r.opt.Pick > 0:
			r.out.Ended = hint.Text{"finding ", r.opt.Pick, " was asked for"}
			return nil
		case r.short():
			r.out.Ended = hint.Text{"the rest of the budget of ", r.opt.Budget, " is too little for another patch; ", moreBudget}
			return nil
		case kept == 0:
			r.out.Ended = hint.Text{"nothing more is proven to help"}
			return nil
		case r.opt.Recorded != nil:
			r.out.Ended = hint.Text{"the recording shows the code before these fixes; record again, or name packages, so that hone runs their benchmarks"}
			return nil
		}
	}
}

// advice profiles and looks at the profiles.
func (r *run) advice(ctx context.Context) (*report.Advice, error) {
	r.out.Rounds++
	r.base, r.began = make(map[string][]byte), len(r.out.Kept)
	opt := advise.Options{Dir: r.in(r.mod), Flags: r.build, CoreHour: r.opt.CoreHour}
	if r.opt.All {
		opt.Least = leastShare
	}
	if r.opt.Recorded != nil {
		opt.Dir = r.mod // as profiles name its files
		r.opt.Say("looking for expensive code")
		return advise.Run(ctx, rules.All, r.opt.Recorded, opt)
	}
	files, err := r.record(ctx)
	if err != nil {
		return nil, err
	}
	var recs []*recording.Recording
	for _, file := range files {
		rec, err := recording.Open(file)
		if err != nil {
			return nil, err
		}
		defer rec.Close()
		recs = append(recs, rec)
	}
	r.opt.Say("looking for expensive code")
	a, err := advise.Run(ctx, rules.All, recs, opt)
	if err != nil {
		return nil, err
	}
	for i, n := range a.Notes {
		a.Notes[i] = n.Map(r.asUser)
	}
	return a, nil
}

// record runs what there is to run, and returns the recordings of it.
func (r *run) record(ctx context.Context) (files []string, err error) {
	opt := capture.Options{
		Out: filepath.Join(r.work, fmt.Sprintf("round%d.hone", r.out.Rounds)), Dir: r.in(r.dir), Hone: r.opt.Hone, Flags: []string{"hone", "fix"}, Say: r.opt.Say,
		KeepSecrets: true, // it is not kept
	}
	var all []*capture.Recorded
	if r.opt.Workload != nil {
		all, err = r.opt.Workload.Record(ctx, opt)
	} else {
		r.profiling.ProfileFor = max(time.Until(r.end)/profileShare, time.Second)
		var one *capture.Recorded
		if one, err = r.profiling.Run(ctx, opt); one != nil {
			all = append(all, one)
		}
	}
	if err != nil {
		return nil, err
	}
	for _, done := range all {
		files = append(files, done.File)
		for _, n := range done.Manifest.Notes {
			r.note("%s", r.asUser(n))
		}
	}
	return files, nil
}

func (r *run) note(format string, args ...any) {
	r.out.Notes.AddNew(hint.Text{fmt.Sprintf(format, args...)})
}

// finding tries what a finding offers.
func (r *run) finding(ctx context.Context, f *report.Finding) error {
	inFix := 0
	f.Where, inFix = r.place(f.Where)
	x := report.Fixed{InFix: inFix, Number: f.Number, Round: r.out.Rounds, Rule: f.Rule, Title: f.Title, Where: f.Where, Risk: f.Risk, Safe: f.Safe, Paid: f.Paid()}
	left := func(format string, args ...any) error {
		x.Reason = fmt.Sprintf(format, args...)
		r.out.Left = append(r.out.Left, x)
		return nil
	}
	if len(f.Fixes) == 0 {
		x.Missing = f.Missing
		r.out.Left = append(r.out.Left, x)
		return nil
	}
	x.Fix, x.Grade, x.Patch = f.Fixes[0].Title, f.Fixes[0].Grade, f.Fixes[0].Patch
	if ctx.Err() != nil {
		return left("the budget was used up before its turn")
	}
	if r.short() {
		x.Try = hint.Text{moreBudget}
		return left("the rest of the budget was too short")
	}
	began := time.Now()
	all, best, err := r.tryAll(ctx, f, &x)
	if err != nil {
		return err
	}
	if len(all) == 0 {
		if x.Reason == "" {
			return nil // it is listed already
		}
		r.out.Left = append(r.out.Left, x)
		return nil
	}
	won := best
	if won == nil {
		won = all[0]
	}
	won.fill(&x)
	for _, y := range all {
		if y != won {
			x.Variants = append(x.Variants, report.Variant{Fix: y.fix.Title, Reason: cmp.Or(y.reason, "it is also proven, but gains less"), Try: y.try})
		}
	}
	x.Took = time.Since(began)
	if r.least == 0 || x.Took < r.least {
		r.least = x.Took
	}
	if best == nil {
		for _, y := range all {
			if y.decided {
				r.opt.Memory.refuse(r.tree, y, f)
			}
		}
		r.out.Refused = append(r.out.Refused, x)
		r.opt.Done(&x, false)
		return nil
	}
	if best.doubtful && !r.opt.Doubts {
		r.out.Doubtful = append(r.out.Doubtful, x)
		r.opt.Done(&x, false)
		return nil
	}
	if err := r.keep(ctx, best, &x); err != nil {
		var changed *patch.ChangedError
		if errors.As(err, &changed) {
			err = fmt.Errorf("the fix of %s is proven, but %w; another run starts from the current files", x.Where, err)
		}
		return err
	}
	for i := range x.Speed {
		r.latest[rowKey(&x.Speed[i])] = x.Speed[i].New
	}
	r.out.Kept = append(r.out.Kept, x)
	r.kept()
	r.opt.Done(&x, true)
	return nil
}

// A change is what a kept fix made of a file.
type change struct {
	fix     int // its number, from 1
	was, is []byte
}

// untouched reports whether the user's files stay as they are.
func (r *run) untouched() bool { return r.opt.DryRun || r.branch != nil }

// place returns where a line that the advice at hand is about is in the file that the user has, and the number of the kept fix that made the line,
// if it is not in there.
func (r *run) place(s report.Spot) (at report.Spot, inFix int) {
	list := r.changes[s.File]
	if !r.untouched() {
		for _, c := range list {
			if c.fix > r.began {
				s.Line, _ = patch.Line(s.File, c.was, c.is, s.Line)
			}
		}
		return s, 0
	}
	for _, c := range slices.Backward(list) {
		if c.fix > r.began {
			continue
		}
		line, same := patch.Line(s.File, c.is, c.was, s.Line)
		if s.Line = line; !same {
			inFix = max(inFix, c.fix)
		}
	}
	return s, inFix
}

// better reports whether a patch is to be preferred to the best one before it: one that is proven to one that is not, unless both may be written.
func (y *trial) better(best *trial, opt Options) bool {
	if best != nil && y.doubtful != best.doubtful && !opt.Doubts {
		return best.doubtful
	}
	return y.beats(best, opt.MinGain)
}

// beats reports whether a proven patch is better than one that was proven before it, which changes fewer lines or as many: it has to gain as much
// beyond that as one has to gain at all.
func (y *trial) beats(best *trial, least float64) bool {
	return best == nil || y.score < best.score*(1-least)
}

// mayBeEnough reports whether a patch that gained too little would gain enough of what there is now: where others have made a benchmark cheaper,
// the same bytes are a larger part of it.
func (r *run) mayBeEnough(y *trial) bool {
	row, ok := r.little[y.again()]
	if !ok || row.What == report.Throughput {
		return false
	}
	now, ok := r.latest[rowKey(&row)]
	return ok && row.Old-row.New >= r.opt.MinGain*now
}

// rowKey names what a row is about.
func rowKey(row *report.CompareRow) string {
	return row.Pkg + "\x00" + row.Name + "\x00" + string(row.What)
}

// writable says why a patch could not be written, before time is spent on it.
func (r *run) writable(y *trial) error {
	if r.opt.DryRun {
		return nil
	}
	p := &patch.Patch{Dir: r.mod}
	p.Set(filepath.Join(r.mod, filepath.FromSlash(y.file)), y.was, y.text)
	return p.Check()
}

// keep writes a proven patch, and goes on from there.
func (r *run) keep(ctx context.Context, y *trial, x *report.Fixed) error {
	at := filepath.Join(r.mod, filepath.FromSlash(y.file))
	switch {
	case r.opt.DryRun:
	case r.branch != nil:
		commit, err := r.branch.commit(ctx, at, y.text, message(x))
		if err != nil {
			return err
		}
		x.Commit = commit
	default:
		p := &patch.Patch{Dir: r.mod}
		p.Set(at, y.was, y.text)
		written, err := p.Write()
		if err != nil {
			return err
		}
		x.Written = written
	}
	if err := r.take(y); err != nil {
		return err
	}
	if _, ok := r.base[y.file]; !ok {
		r.base[y.file] = y.was
	}
	r.changes[y.file] = append(r.changes[y.file], change{len(r.out.Kept) + 1, y.was, y.text})
	if !r.untouched() {
		for _, list := range [][]report.Fixed{r.out.Left, r.out.Doubtful, r.out.Refused} {
			for i := range list {
				if s := &list[i].Where; s.File == y.file {
					s.Line, _ = patch.Line(s.File, y.was, y.text, s.Line)
				}
			}
		}
	}
	r.tests.Took()
	if y.race != nil {
		r.races = append(r.races, *y.race)
	}
	return nil
}
