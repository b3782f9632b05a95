package fix

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/hone-perf/hone/internal/hint"
	"github.com/hone-perf/hone/internal/patch"
	"github.com/hone-perf/hone/internal/prove"
	"github.com/hone-perf/hone/internal/report"
	"github.com/hone-perf/hone/internal/unit"
	"github.com/hone-perf/hone/internal/verdict"
)

// A trial is a patch on its way.
type trial struct {
	finding *report.Finding
	fix     *report.Fix
	file    string // in the module
	was     []byte
	moved   bool   // whether the file was changed since the advice
	text    []byte // of the file with the patch
	diff    string

	proof     *report.Proof
	poisonous bool              // …and that shows a difference
	poison    *report.Proof     // with pools whose members are overwritten; nil when there are none
	race      *prove.Race       // what was run to compare them
	reason    string            // why it is not proven
	try       hint.Text         // what may change that
	decided   bool              // the same would come out again
	doubtful  bool              // nothing speaks against it, but it is not proven
	stale     bool              // the next round makes it anew
	costs     []string          // what got a little worse for what was won
	score     float64           // what is left of the time, or of the allocations; the less the better
	least     float64           // share that it has to gain
	short     bool              // it gains less than that, and nothing else speaks against it
	most      report.CompareRow // what it gains most of then
	vain      string            // why it is not worth it, whatever else would be measured

	raced time.Duration // how long benchmarks of both versions took
	doing string        // what was begun last, and when
	since time.Time
}

// tryAll tries the patches of a finding. It returns those that it tried, and the best of them, which is nil if none helps. x gets the reason why
// others were not tried.
func (r *run) tryAll(ctx context.Context, f *report.Finding, x *report.Fixed) (all []*trial, best *trial, err error) {
	for i := range f.Fixes {
		y, err := r.trial(f, &f.Fixes[i])
		if err != nil {
			x.Reason, x.Try = err.Error(), hint.Next(err)
			continue
		}
		once, enough := r.tried[y.again()], r.mayBeEnough(y) // in an earlier round; now
		if once && !enough {
			continue
		}
		if why := r.opt.Memory.refused(y.key(r.vers), r.opt.MinGain); why != nil && !enough && !r.opt.All && r.opt.Pick == 0 {
			if why.Gained != nil {
				r.little[y.again()] = *why.Gained
			}
			x.Remembered = why.Reason
			x.Reason = fmt.Sprintf("it was rejected on %s: %s", why.When.Format(time.DateOnly), why.Reason)
			x.Try = hint.Text{hint.Option{Name: "all"}, " tries it again"}
			continue
		}
		if r.branch != nil {
			if err := r.branch.clean(ctx, filepath.Join(r.mod, filepath.FromSlash(y.file))); err != nil {
				x.Reason, x.Try = err.Error(), hint.Next(err)
				continue
			}
		} else if err := r.writable(y); err != nil {
			return nil, nil, err
		}
		if err := r.prove(ctx, y); err != nil {
			if ctx.Err() != nil {
				x.Reason, x.Unfinished = y.cutShort(), true
				r.out.Left = append(r.out.Left, *x)
				return nil, nil, ctx.Err()
			}
			return nil, nil, fmt.Errorf("%s: %s: %w", x.Where, f.Fixes[i].Title, err)
		}
		if y.stale {
			x.Reason, x.Try = y.reason, y.try
			continue
		}
		r.tried[y.again()] = true
		if delete(r.little, y.again()); y.short {
			r.little[y.again()] = y.most
		}
		if once {
			r.out.Refused = slices.DeleteFunc(r.out.Refused, func(was report.Fixed) bool {
				return was.Rule == x.Rule && was.Where.Function == x.Where.Function && was.Where.Text == x.Where.Text
			})
		}
		all = append(all, y)
		if y.reason == "" && y.better(best, r.opt) {
			best = y
		}
	}
	return all, best, nil
}

// trial makes the patch of a fix, on top of what was kept.
func (r *run) trial(f *report.Finding, x *report.Fix) (*trial, error) {
	y := &trial{finding: f, fix: x, least: r.opt.MinGain}
	for _, e := range x.Edits {
		if y.file == "" {
			y.file = e.File
		}
		if e.File != y.file {
			return nil, errors.New("it changes more than one file")
		}
	}
	if y.file == "" || !filepath.IsLocal(filepath.FromSlash(y.file)) {
		return nil, fmt.Errorf("%s is not in the module", f.Where.File)
	}
	var err error
	if y.was, err = r.read(y.file); err != nil {
		return nil, err
	}
	base, ok := r.base[y.file]
	if y.moved = ok; !ok {
		base = y.was
	}
	edits, err := patch.Moved(y.file, base, y.was, x.Edits)
	if err == nil {
		y.text, err = patch.Apply(y.was, edits)
	}
	if err == nil && copiesOld(base, y.was, x.Edits) {
		err = errors.New("another patch changed the lines that it copies")
	}
	if err != nil {
		return nil, fmt.Errorf("the patch does not apply any more: %w", err)
	}
	if y.text, err = patch.Format(y.was, y.text); err != nil {
		return nil, fmt.Errorf("the patch does not apply any more: %w", err)
	}
	if y.diff = patch.Diff(y.file, y.was, y.text); y.diff == "" {
		return nil, errors.New("another patch already made this change")
	}
	return y, nil
}

// copiesOld reports whether edits add lines that follow each other in the text that they were made for, and do not in what it became
// since: then they bring back what another patch changed.
func copiesOld(base, now []byte, edits []report.Edit) bool {
	const few = 3 // lines, that are often alike
	had, has := runs(string(base), few), runs(string(now), few)
	for _, e := range edits {
		for run := range runs(e.New, few) {
			if had[run] && !has[run] {
				return true
			}
		}
	}
	return false
}

// runs returns the runs of n lines of a text, without what they are indented with.
func runs(text string, n int) map[string]bool {
	lines := strings.Split(text, "\n")
	for i := range lines {
		lines[i] = strings.TrimSpace(lines[i])
	}
	out := make(map[string]bool)
	for i := range len(lines) - n + 1 {
		out[strings.Join(lines[i:i+n], "\n")] = true
	}
	return out
}

// key names the patch for the memory: the same rule that wants the same of the same function, with the same Go.
func (y *trial) key(version string) string {
	h := sha256.New()
	for _, part := range append(y.parts(), y.function(), version) {
		fmt.Fprintf(h, "%d:%s", len(part), part)
	}
	return hex.EncodeToString(h.Sum(nil)[:16])
}

// again names the patch within a run, in which the function may have changed in other places.
func (y *trial) again() string {
	return y.finding.Where.Function + "\x00" + strings.Join(y.parts(), "\x00")
}

func (y *trial) parts() []string {
	parts := []string{y.finding.Rule, y.fix.Title}
	for _, e := range y.fix.Edits {
		parts = append(parts, e.New)
	}
	return parts
}

// function returns the text of the function that the finding is about, or of the file when it is not found.
func (y *trial) function() string {
	set := token.NewFileSet()
	f, err := parser.ParseFile(set, "", y.was, parser.SkipObjectResolution)
	if err != nil {
		return string(y.was)
	}
	for _, d := range f.Decls {
		fn, ok := d.(*ast.FuncDecl)
		if !ok || fn.Body == nil {
			continue
		}
		// Profiles name it with its package and type, and literals in it behind that.
		if name := y.finding.Where.Function; strings.HasSuffix(name, "."+fn.Name.Name) || strings.Contains(name, "."+fn.Name.Name+".") {
			from, to := set.Position(fn.Pos()), set.Position(fn.End())
			return string(y.was[from.Offset:to.Offset])
		}
	}
	return string(y.was)
}

// prove puts the patch into the copy for it, and finds out what speaks for it and against it. A patch that takes too long is undecided.
func (r *run) prove(ctx context.Context, y *trial) error {
	limited, cancel := context.WithTimeout(ctx, max(trialShare*r.opt.Each, leastTrial))
	defer cancel()
	err := r.proveWithin(limited, y)
	if err != nil && limited.Err() != nil && ctx.Err() == nil {
		y.refuse(false, "%s", y.cutShort())
		y.try = moreEach
		return nil
	}
	return err
}

func (r *run) proveWithin(ctx context.Context, y *trial) (err error) {
	if err := r.put(y.file, y.text); err != nil {
		return err
	}
	defer func() { // else the next patch would be tried on top of this one
		if back := r.put(y.file, y.was); back != nil {
			err = errors.Join(err, fmt.Errorf("taking a patch back: %w", back))
		}
	}()
	about := fmt.Sprintf("%s, %s: ", y.finding.Where, y.fix.Title)
	change := &prove.Change{Old: prove.Version{Name: "as it was", Dir: r.copyOf(r.old)}, New: prove.Version{Name: "with the patch", Dir: r.copyOf(r.now)}}
	opt := prove.Options{
		Workload: r.opt.Workload != nil, Time: r.opt.Each, More: moreCalls * r.opt.Each, TestTime: max(testsShare*r.opt.Each, leastTests), Executions: r.opt.Calls, Seed: r.opt.Seed, Stop: true, Tests: &r.tests,
		Flags: r.build, Shared: y.shares(),
		Say: func(s string) {
			y.doing, y.since = s, time.Now()
			r.opt.Say(about + s)
		},
		Faster: func(ctx context.Context, race prove.Race) (prove.Speed, error) {
			race.NoWhy, race.Live, race.Limit = true, y.finding.Live, r.opt.Each-y.raced
			began := time.Now()
			defer func() { y.raced += time.Since(began) }()
			if !race.Generated { // those in the tests, which are there in the end as well
				y.race = &race
			}
			race.Enough, race.Clear = y.enough, verdict.Clear
			return r.askedFirst(ctx, y, race)
		},
	}
	opt.Hopeless = func(p *report.Proof, sure bool) bool {
		judged := trial{finding: y.finding, least: y.least, proof: p, vain: y.vain}
		judged.gains()
		return judged.reason != "" && (judged.decided || !sure)
	}
	if b := r.opt.Benchmarks; b != nil && b.Bench != "" {
		top, _, _ := strings.Cut(b.Bench, "/")
		opt.First, _ = regexp.Compile(top) // the go command has refused what is none
	}
	if w := r.opt.Workload; w != nil {
		opt.Command = w.Command
	}
	if y.proof, err = prove.Run(ctx, change, opt); err != nil {
		return r.mended(err)
	}
	y.judge()
	if y.reason != "" {
		return nil
	}
	return r.poisoned(ctx, y, change, opt)
}

// shares reports whether goroutines may share something with the patch that they did not before: what is in the package, in a pool, or atomic.
func (y *trial) shares() bool {
	for line := range strings.Lines(y.diff) {
		if added, ok := strings.CutPrefix(line, "+"); ok && (strings.HasPrefix(added, "var ") || strings.Contains(added, "sync.") || strings.Contains(added, "atomic.") || strings.Contains(added, "go func")) {
			return true
		}
	}
	return false
}

// mended names files in an error as the user knows them.
func (r *run) mended(err error) error {
	if err == nil {
		return nil
	}
	return &mendedError{r.asUser(err.Error()), err}
}

// A mendedError is an error with another text.
type mendedError struct {
	text string
	error
}

func (e *mendedError) Error() string { return e.text }
func (e *mendedError) Unwrap() error { return e.error }

// poisoned proves a patch that uses a pool once more, with what is put back overwritten.
func (r *run) poisoned(ctx context.Context, y *trial, change *prove.Change, opt prove.Options) (err error) {
	if !strings.Contains(y.diff, ".Put(") {
		return nil
	}
	dir := filepath.Dir(r.at(r.now, y.file))
	files, err := poison(ctx, dir, r.env)
	if err != nil || len(files) == 0 {
		return err
	}
	before := make(map[string][]byte)
	defer func() {
		// What stays overwritten would be in all patches after this one.
		for name := range files {
			var back error
			if before[name] == nil {
				if back = os.Remove(name); errors.Is(back, os.ErrNotExist) {
					back = nil
				}
			} else {
				back = os.WriteFile(name, before[name], 0o600)
			}
			if back != nil {
				err = errors.Join(err, fmt.Errorf("putting a file back as it was before pools were overwritten: %w", back))
			}
		}
	}()
	for name, text := range files {
		before[name], _ = os.ReadFile(name) // one of them is new
		if err := os.WriteFile(name, text, 0o600); err != nil {
			return err
		}
	}
	say := opt.Say
	opt.Faster, opt.Hopeless, opt.Tests, opt.Time = nil, nil, opt.Tests.Again(), opt.Time/2
	opt.Say = func(s string) { say("with everything in the pool overwritten: " + s) }
	if y.poison, err = prove.Run(ctx, change, opt); err != nil {
		return r.mended(err)
	}
	poisonous := func(format string, args ...any) {
		y.refuse(true, "something is used after it was put back into the pool: "+format, args...)
		y.poisonous = true
	}
	for _, c := range y.poison.Checks {
		if c.Outcome == report.Failed {
			poisonous("%s failed: %s", c.Name, c.Detail)
			return nil
		}
	}
	for _, d := range y.poison.Differences {
		if d.Grave {
			poisonous("%s: %s", d.OneLine(), d.Change())
			return nil
		}
	}
	return nil
}

func (y *trial) refuse(decided bool, format string, args ...any) {
	y.reason, y.decided = fmt.Sprintf(format, args...), decided
}

// judge decides whether a patch is proven.
func (y *trial) judge() {
	for _, c := range y.proof.Checks {
		if c.Outcome != report.Failed {
			continue
		}
		if y.moved && c.Kind == report.BuildsCheck {
			// Both may add the same import, or a variable of the same name.
			y.stale = true
			y.refuse(false, "it does not build together with an earlier fix in the same file, and has to be recomputed")
			return
		}
		y.refuse(true, "%s failed: %s", c.Name, strings.TrimSpace(c.Detail))
		return
	}
	for _, d := range y.proof.Differences {
		if d.Grave {
			y.refuse(true, "it behaves differently: %s: %s", d.OneLine(), d.Change())
			return
		}
	}
	if why := y.unreached(); why != "" {
		y.refuse(true, "%s", why)
		return
	}
	if y.gains(); y.reason == "" && y.proof.Untried {
		y.refuse(false, "its tests take longer than they may, so they could not check it")
		y.try = moreEach
	}
	if y.reason == "" {
		y.weighDoubts()
	}
	if y.reason != "" && !y.decided {
		y.reason += "; " + y.passed()
	}
}

// weighDoubts decides about a patch that helps, but that hone prove would call not proven. What may be a difference is never written.
func (y *trial) weighDoubts() {
	for _, d := range y.proof.Doubts {
		if d.Fact == report.DoubtOpenDifference || d.Fact == report.DoubtStaleState {
			y.refuse(false, "it may behave differently: %s", d.Text)
			y.try = moreEach
			return
		}
	}
	y.doubtful = slices.ContainsFunc(y.proof.Doubts, func(d report.Doubt) bool { return !d.OfBefore() })
}

// passed says what speaks for a patch that is not decided, how long each of it took, and for how long benchmarks ran in vain.
func (y *trial) passed() string {
	var parts []string
	took := func(what string, d time.Duration) {
		if d >= time.Second/10 {
			what += " in " + unit.Time(d)
		}
		parts = append(parts, what)
	}
	for _, c := range y.proof.Checks {
		if c.Outcome == report.Passed {
			took(strings.ReplaceAll(c.Name, ", ", " "), c.Took)
		}
	}
	if n := y.proof.Executions; n > 0 && len(y.proof.Differences) == 0 {
		took(fmt.Sprintf("%d calls without a difference", n), y.proof.Calling)
	}
	text := "nothing has passed yet"
	if len(parts) > 0 {
		text = "passed: " + strings.Join(parts, ", ")
	}
	if d := y.proof.Racing; d >= time.Second && len(y.rows()) > 0 {
		what := "did not decide"
		if y.helps() {
			what = "show that it helps"
		}
		text += fmt.Sprintf("; %s of benchmarks %s", unit.Time(d), what)
	}
	return text
}

// helps reports whether benchmarks decided that a patch helps, whatever else is to be checked.
func (y *trial) helps() bool {
	judged := trial{finding: y.finding, least: y.least, proof: y.proof, vain: y.vain}
	judged.gains()
	return judged.reason == ""
}

// unreached says what of a patch was not tried, though it has to be. What types prove needs no calls; who uses what is used
// again shows in calls alone, made up or, where that cannot be done, by tests that go through most of it.
func (y *trial) unreached() string {
	if y.fix.Grade == report.Mechanical {
		return ""
	}
	for _, f := range y.proof.Functions {
		if f.Changed && f.Blocks > 0 && f.Reached == 0 && 2*f.Tested < f.Blocks {
			why := ""
			if f.Why != "" {
				why = ": " + f.Why
			}
			return fmt.Sprintf("%s could not be checked for the same behavior%s", f.Name, why)
		}
	}
	return ""
}

// cutShort says how far the patch was when the time was over.
func (y *trial) cutShort() string {
	text := "time ran out while it was tried"
	if y.doing != "" {
		text += fmt.Sprintf(": %s took %s so far", y.doing, unit.Time(time.Since(y.since)))
	}
	if y.proof != nil {
		text += "; " + y.passed()
	}
	return text
}

// doubts are what the proof leaves open.
func (y *trial) doubts() []report.Doubt {
	var out []report.Doubt
	out = append(out, y.proof.Doubts...)
	for _, text := range y.costs {
		out = append(out, report.Doubt{Fact: report.DoubtCosts, Text: text})
	}
	return out
}

// fill writes down what became of the trial.
func (y *trial) fill(x *report.Fixed) {
	x.Fix, x.Grade, x.Patch, x.Reason, x.Try = y.fix.Title, y.fix.Grade, y.diff, y.reason, y.try
	x.Where.File = y.file
	x.Checks, x.Calls, x.Differences, x.Doubts = y.proof.Checks, y.proof.Executions, y.proof.Differences, y.doubts()
	x.Speed, x.Generated = y.rows(), len(y.proof.Generated) > 0
	if y.poison != nil {
		c := report.Check{Name: "pool poisoned", Outcome: report.Passed, Detail: fmt.Sprintf("with everything in the pool overwritten, tests and %d calls show no difference", y.poison.Executions)}
		if y.poisonous {
			c.Outcome, c.Detail = report.Failed, y.reason
			x.Differences = append(x.Differences, y.poison.Differences...)
		}
		x.Checks = append(x.Checks, c)
	}
}
