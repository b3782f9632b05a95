package prove

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/hone-perf/hone/internal/gocmd"
	"github.com/hone-perf/hone/internal/report"
	"github.com/hone-perf/hone/internal/scratch"
	"github.com/hone-perf/hone/internal/unit"
)

// goOld and goNew return the go command in the folders of the versions.
func (r *run) goOld() gocmd.Command { return r.change.Old.goIn(r.change.Old.Dir) }

func (r *run) goNew() gocmd.Command { return r.change.New.goIn(r.change.New.Dir) }

// compiles builds what changed and what uses it, and returns the folders with tests of all that; none where it does not build.
func (r *run) compiles(ctx context.Context, pairs []*pair) ([]string, error) {
	if len(pairs)+len(r.neighbors) == 0 {
		return nil, nil
	}
	r.opt.Say("building, vet")
	dirs, code, err := r.usersOf(ctx, pairs)
	if err != nil {
		return nil, err
	}
	own := patterns(pairs)
	if r.opt.Stop && sameOutside(pairs) {
		code = slices.DeleteFunc(code, func(dir string) bool { return !slices.Contains(own, dir) })
	}
	ok, err := r.builds(ctx, code)
	if err != nil || !ok {
		return nil, err
	}
	if r.opt.Stop { // those that only use it come last
		r.users = slices.DeleteFunc(slices.Clone(dirs), func(dir string) bool { return slices.Contains(own, dir) || !r.change.hasTests(dir) })
		dirs = slices.DeleteFunc(dirs, func(dir string) bool { return !slices.Contains(own, dir) })
	}
	if len(pairs) == 0 {
		return dirs, nil
	}
	return dirs, r.vets(ctx, pairs)
}

// sameOutside reports whether all packages that use what changed compile as they did before: only bodies of functions differ, and what is new
// has a name that they cannot use.
func sameOutside(pairs []*pair) bool {
	for _, p := range pairs {
		for key, d := range p.new.decls {
			before := p.old.decls[key]
			switch {
			case d.test:
			case before == nil:
				if d.obj.Exported() {
					return false
				}
			case d.text != before.text && (d.body == "" || strings.TrimSuffix(d.text, d.body) != strings.TrimSuffix(before.text, before.body)):
				return false
			}
		}
		for key, d := range p.old.decls {
			if p.new.decls[key] == nil && !d.test {
				return false
			}
		}
	}
	return true
}

// builds builds what changed, and what uses it where it may no longer compile.
func (r *run) builds(ctx context.Context, dirs []string) (bool, error) {
	args := append([]string{"build", "-o", os.DevNull}, dirs...)
	_, err := r.goNew().Run(ctx, args...)
	var wrong *gocmd.Error
	if errors.As(err, &wrong) {
		if _, before := r.goOld().Run(ctx, args...); before != nil {
			r.add(report.BuildCheck(report.Passed, "parts do not build, as before"))
			return true, nil
		}
		r.add(report.BuildCheck(report.Failed, wrong.Output))
		return false, nil
	}
	if err == nil {
		r.add(report.BuildCheck(report.Passed, ""))
	}
	return err == nil, err
}

// vets counts only complaints that are new.
func (r *run) vets(ctx context.Context, pairs []*pair) error {
	now, err := newComplaints(ctx, r.goOld(), r.goNew(), patterns(pairs), patterns(pairs))
	if err != nil {
		return err
	}
	if len(now) > 0 {
		r.check("vet", report.Failed, strings.Join(now, "\n"))
	} else {
		r.check("vet", report.Passed, "")
	}
	return nil
}

// newComplaints returns what go vet says in one place that it does not say in the other, wherever it says so there.
func newComplaints(ctx context.Context, old, now gocmd.Command, oldArgs, nowArgs []string) ([]string, error) {
	complaints := func(c gocmd.Command, args []string) ([]string, error) {
		_, err := c.Run(ctx, append([]string{"vet"}, args...)...)
		var wrong *gocmd.Error
		if !errors.As(err, &wrong) {
			return nil, err
		}
		var out []string
		for line := range strings.Lines(wrong.Output) {
			if line = strings.TrimSpace(line); line != "" && line[0] != '#' {
				out = append(out, line)
			}
		}
		return out, nil
	}
	after, err := complaints(now, nowArgs)
	if err != nil || len(after) == 0 {
		return nil, err
	}
	before, err := complaints(old, oldArgs)
	if err != nil {
		return nil, err
	}
	place := regexp.MustCompile(`^\S+:\d+:\d+: `)
	known := make(map[string]bool)
	for _, c := range before {
		known[place.ReplaceAllString(c, "")] = true
	}
	return slices.DeleteFunc(after, func(c string) bool { return known[place.ReplaceAllString(c, "")] }), nil
}

// patterns names the packages of pairs as the go command does.
func patterns(pairs []*pair) []string {
	var out []string
	for _, p := range pairs {
		out = append(out, "./"+filepath.ToSlash(p.rel))
	}
	return out
}

// tests runs the tests of the old version as they were, those of the new version, and where they differ those of the old
// version on the new code.
func (r *run) tests(ctx context.Context, pairs []*pair, dirs []string) error {
	if len(dirs) == 0 {
		return nil
	}
	overlay, err := oldTests(pairs)
	if err != nil {
		return err
	}
	if overlay != "" {
		defer os.RemoveAll(filepath.Dir(overlay))
	}
	if r.opt.Stop && overlay == "" {
		return r.plainTests(ctx, dirs)
	}
	race, why := hasRace(ctx, r.goNew())
	how := "tests"
	if race {
		how = "tests, with -race"
	}
	old, err := r.oldSuite(ctx, dirs, race, false)
	var now *suite
	if err == nil {
		r.opt.Say("running the tests of the new version" + withRace(race))
		now, err = r.limitedTests(ctx, r.goNew(), dirs, race, old.short, "")
	}
	if errors.Is(err, errLongTests) {
		r.tooLong(how)
		return nil
	}
	if err != nil {
		return err
	}
	if old.short {
		how += ", with -short"
	}
	r.opt.Tests.went(testKey(dirs, race), old, now)
	r.suite = old
	if err := r.judge(ctx, how, old, now, dirs, race, ""); err != nil {
		return err
	}
	if overlay != "" {
		r.opt.Say("running the old tests on the new code" + withRace(race))
		crossed, err := r.limitedTests(ctx, r.goNew(), dirs, race, old.short, overlay)
		if errors.Is(err, errLongTests) {
			r.tooLong("old tests on new code")
			return nil
		}
		if err != nil {
			return err
		}
		if crossed.broken != "" && now.broken == "" {
			r.check("old tests on new code", report.Skipped, "they do not compile with it")
		} else if err := r.judge(ctx, "old tests on new code", old, crossed, dirs, race, overlay); err != nil {
			return err
		}
	}
	if !race {
		r.check(raceCheck, report.Skipped, why)
		return nil
	}
	return r.judgeRaces(ctx, old, now, dirs)
}

// raceCheck names what tests with the race detector show.
const raceCheck = "race detector"

// plainTests runs the tests of the new version without the race detector, which takes several times as long to build and to run: most
// changes that fail tests fail these. The old version's run only where some fail, and those with the race detector in the end; see raceTests.
func (r *run) plainTests(ctx context.Context, dirs []string) error {
	const how = "tests"
	short := false
	r.opt.Say("running the tests of the new version")
	now, err := r.limitedTests(ctx, r.goNew(), dirs, false, false, "")
	if errors.Is(err, errLongTests) {
		short = true
		r.opt.Say("running the short tests of the new version")
		now, err = r.limitedTests(ctx, r.goNew(), dirs, false, true, "")
	}
	if errors.Is(err, errLongTests) {
		r.tooLong(how)
		return nil
	}
	if err != nil {
		return err
	}
	r.plain = &plainRun{dirs, short}
	old := r.opt.Tests.before(testKey(dirs, false))
	if old == nil && now.fails() {
		old, err = r.oldSuite(ctx, dirs, false, short)
		if errors.Is(err, errLongTests) {
			r.tooLong(how)
			return nil
		}
		if err != nil {
			return err
		}
	}
	r.opt.Tests.went(testKey(dirs, false), old, now)
	if old == nil {
		old = now // nothing fails
	}
	name := how
	if short {
		name += ", with -short"
	}
	return r.judge(ctx, name, old, now, dirs, false, "")
}

// A plainRun is how tests ran without the race detector that have yet to run with it.
type plainRun struct {
	dirs  []string
	short bool
}

// raceTests runs the tests that ran without the race detector once more with it. It comes last, since to build with it often takes longer than
// all that was done before.
func (r *run) raceTests(ctx context.Context) error {
	if r.plain == nil {
		return nil
	}
	r.checked = time.Now()
	dirs, short := r.plain.dirs, r.plain.short
	race, why := hasRace(ctx, r.goNew())
	if !race {
		r.check(raceCheck, report.Skipped, why)
		return nil
	}
	r.opt.Say("running the tests of the new version" + withRace(true))
	now, err := r.limitedTests(ctx, r.goNew(), dirs, true, short, "")
	if errors.Is(err, errLongTests) && !short {
		r.opt.Say("running the short tests of the new version" + withRace(true))
		short = true
		now, err = r.limitedTests(ctx, r.goNew(), dirs, true, true, "")
	}
	old := r.opt.Tests.before(testKey(dirs, true))
	if err == nil && old == nil && (now.fails() || len(now.racy()) > 0) {
		old, err = r.oldSuite(ctx, dirs, true, short)
	}
	if errors.Is(err, errLongTests) {
		r.tooLong(raceCheck)
		return nil
	}
	if err != nil {
		return err
	}
	r.opt.Tests.went(testKey(dirs, true), old, now)
	if old == nil {
		old = now // nothing fails
	}
	if now.fails() {
		if err := r.judge(ctx, "tests, with -race", old, now, dirs, true, ""); err != nil || r.stops() {
			return err
		}
	}
	return r.judgeRaces(ctx, old, now, dirs)
}

// judgeRaces says what the race detector showed.
func (r *run) judgeRaces(ctx context.Context, old, now *suite, dirs []string) error {
	before, after := old.racy(), now.racy()
	if len(after) > 0 && len(before) == 0 {
		// Whether a race shows is up to chance: the old version gets more of them.
		r.opt.Say("running tests that had data races again, in the old version")
		again, err := runTests(ctx, r.goOld(), dirs, true, "", "-run=^("+strings.Join(topNames(after), "|")+")$", "-count=5")
		if err != nil {
			return err
		}
		before = again.racy()
	}
	switch {
	case len(now.tests) == 0:
	case len(after) > 0 && len(before) == 0:
		r.check(raceCheck, report.Failed, "data race in "+strings.Join(after, ", ")+"\n"+now.tests[after[0]].text)
	case len(after) > 0:
		r.check(raceCheck, report.Passed, "data races as before, in "+strings.Join(after, ", "))
		r.doubt(report.DoubtRacesBefore, "both versions have data races")
	case len(before) > 0:
		r.check(raceCheck, report.Passed, "the old version has a data race in "+strings.Join(before, ", ")+", the new one has none")
	default:
		r.check(raceCheck, report.Passed, "no data race in the tests")
	}
	return nil
}

// oldSuite runs the tests of the old version, unless it is known how they went. Those that take too long run with -short.
func (r *run) oldSuite(ctx context.Context, dirs []string, race, short bool) (*suite, error) {
	if old := r.opt.Tests.before(testKey(dirs, race)); old != nil {
		return old, nil
	}
	if !short {
		r.opt.Say("running the tests of the old version" + withRace(race))
		old, err := r.limitedTests(ctx, r.goOld(), dirs, race, false, "")
		if !errors.Is(err, errLongTests) {
			return old, err
		}
	}
	r.opt.Say("running the short tests of the old version" + withRace(race))
	return r.limitedTests(ctx, r.goOld(), dirs, race, true, "")
}

// withRace ends what a step says if it uses the race detector, which takes several times as long.
func withRace(race bool) string {
	if race {
		return " with the race detector"
	}
	return ""
}

// errLongTests says that tests took longer than they may.
var errLongTests = errors.New("tests take too long")

// limitedTests runs the tests of what changed for as long as they may take.
func (r *run) limitedTests(ctx context.Context, in gocmd.Command, dirs []string, race, short bool, overlay string) (*suite, error) {
	if r.opt.TestTime == 0 {
		return runTests(ctx, in, dirs, race, overlay)
	}
	limited, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	began := func() *time.Timer {
		return time.AfterFunc(r.opt.TestTime, func() { cancel(errLongTests) })
	}
	var more []string
	if short {
		more = append(more, "-short")
	}
	s, err := runTestsFrom(limited, began, in, dirs, race, overlay, more...)
	if err != nil && errors.Is(context.Cause(limited), errLongTests) {
		return nil, errLongTests
	}
	if s != nil {
		s.short = short
	}
	return s, err
}

// tooLong notes that tests could not check the change in their time.
func (r *run) tooLong(what string) {
	r.proof.Untried = true
	r.check(what, report.Skipped, fmt.Sprintf("they take longer than %s", unit.Time(r.opt.TestTime)))
	r.doubt(report.DoubtTests, "its tests take longer than %s", unit.Time(r.opt.TestTime))
}

// judge compares how tests went before and after.
func (r *run) judge(ctx context.Context, what string, old, now *suite, dirs []string, race bool, overlay string) error {
	if now.broken != "" {
		outcome := report.Failed
		if old.broken != "" {
			outcome = report.Skipped
		}
		r.check(what, outcome, now.broken)
		return nil
	}
	var failed, always []string
	for _, name := range slices.Sorted(maps.Keys(now.tests)) {
		if !now.tests[name].failed {
			continue
		}
		if before, ok := old.tests[name]; ok && before.failed {
			always = append(always, name)
		} else {
			failed = append(failed, name)
		}
	}
	if len(failed) == 0 {
		detail := unit.Counted(len(now.tests), "test")
		if len(always) > 0 {
			detail += "; failing before and after: " + strings.Join(always, ", ")
		}
		if len(now.tests) == 0 {
			r.check(what, report.Skipped, "there are none")
			return nil
		}
		r.check(what, report.Passed, detail)
		return nil
	}
	// A test that fails now and then proves nothing.
	only := "-run=^(" + strings.Join(topNames(failed), "|") + ")$"
	r.opt.Say("running failed tests again, in both versions" + withRace(race))
	before, err := runTests(ctx, r.goOld(), dirs, race, "", only, "-count=3")
	if err != nil {
		return err
	}
	after, err := runTests(ctx, r.goNew(), dirs, race, overlay, only, "-count=3")
	if err != nil {
		return err
	}
	var sure, flaky []string
	for _, name := range failed {
		if before.tests[name].failed || !after.tests[name].failed {
			flaky = append(flaky, name)
		} else {
			sure = append(sure, name)
		}
	}
	if len(sure) == 0 {
		r.check(what, report.Passed, "flaky: "+strings.Join(flaky, ", "))
		r.doubt(report.DoubtFlaky, "tests are flaky: %s", strings.Join(flaky, ", "))
		return nil
	}
	r.check(what, report.Failed, strings.Join(sure, ", ")+"\n"+now.tests[sure[len(sure)-1]].text)
	return nil
}

// topNames returns the names of tests without their packages and what is below them.
func topNames(names []string) []string {
	var out []string
	for _, n := range names {
		if _, test, ok := strings.Cut(n, "."); ok {
			test, _, _ = strings.Cut(test, "/")
			if !slices.Contains(out, test) {
				out = append(out, regexp.QuoteMeta(test))
			}
		}
	}
	return out
}

// oldTests writes an overlay that puts the tests of the old version in place of those of the new one, or returns "" when
// they are the same.
func oldTests(pairs []*pair) (string, error) {
	replace := gocmd.Overlay{}
	differ := false
	for _, p := range pairs {
		old, err := filepath.Glob(filepath.Join(p.old.dir, "*_test.go"))
		if err != nil {
			return "", err
		}
		now, err := filepath.Glob(filepath.Join(p.new.dir, "*_test.go"))
		if err != nil {
			return "", err
		}
		for _, f := range now {
			replace[f] = ""
		}
		for _, f := range old {
			at := filepath.Join(p.new.dir, filepath.Base(f))
			replace[at] = f
			a, err := os.ReadFile(f)
			if err != nil {
				return "", err
			}
			b, err := os.ReadFile(at)
			if err != nil && !errors.Is(err, fs.ErrNotExist) {
				return "", err
			}
			differ = differ || !bytes.Equal(a, b)
		}
	}
	if !differ {
		return "", nil
	}
	dir, err := scratch.Dir("prove-tests-")
	if err != nil {
		return "", err
	}
	file := filepath.Join(dir, "overlay.json")
	return file, replace.Write(file)
}
