package prove

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/hone-perf/hone/internal/bench"
	"github.com/hone-perf/hone/internal/duel"
	"github.com/hone-perf/hone/internal/hint"
	"github.com/hone-perf/hone/internal/recording"
	"github.com/hone-perf/hone/internal/report"
	"github.com/hone-perf/hone/internal/scratch"
	"github.com/hone-perf/hone/internal/unit"
	"golang.org/x/tools/cover"
)

// A Race is what Options.Faster is asked to run: benchmarks of both versions, against each other.
type Race struct {
	Old, New  Version
	Packages  []string               // as the go command names them
	Bench     string                 // pattern of their names
	Names     []string               // of benchmarks, which Bench is made of; none where there is a program instead
	Skip      func(name string) bool // as in duel.Options: parts of them that do not reach what changed; nil is none
	Flags     []string               // for building
	Budget    time.Duration          // for each benchmark
	Limit     time.Duration          // for all of them together; 0 is none
	Renamed   map[string]string      // import paths of packages in the old version → in the new one, where they differ
	Generated bool                   // benchmarks are, and in an overlay
	NoWhy     bool                   // do not profile to explain what changed: the machine is too busy for that
	Live      bool                   // watch how much of the heap is in use, too
	Noise     *duel.Noise            // what identical programs differ by, where it is known

	Enough func(*recording.Duel) bool          // as in duel.Options; nil is none
	Clear  func(*recording.DuelBenchmark) bool // as in duel.Options; nil is none
}

// A Speed is the answer of Options.Faster.
type Speed struct {
	Pace   report.Pace
	Report *report.Compare // nil when there was nothing to compare
	Noise  *duel.Noise     // what identical programs differ by; nil when that was not found out
	Failed []string        // benchmarks that fail on the new side
	Notes  []string
}

// Limits of what a benchmark gets.
const (
	leastBudget = 2 * time.Second
	mostBudget  = 20 * time.Second
	probeLimit  = 30 * time.Second // for a benchmark to be run once
	partsShare  = 4                // of the time for calls goes to finding the parts of a benchmark that reach the change: a fourth
	mostStretch = 4                // of the clock against CPU time, for there to be time for profiles
)

// speed asks how fast both versions are: by the benchmarks that reach what changed, or by generated ones where none does.
func (r *run) speed(ctx context.Context, pairs []*pair, took time.Duration) error {
	p := r.proof
	p.Pace = report.PaceUnknown
	race := Race{Old: r.change.Old, New: r.change.New, Flags: slices.Clone(r.opt.Flags), Renamed: make(map[string]string)}
	for _, pair := range pairs {
		if old, now := pair.old.pkg.PkgPath, pair.new.pkg.PkgPath; old != now {
			race.Renamed[old] = now
		}
	}
	// What the search left over is for this.
	left := max(r.opt.Time-took, r.opt.Time/2)
	if r.opt.Workload {
		race.Budget = left
		return r.race(ctx, race)
	}
	reaching, all, err := r.reaching(ctx, pairs)
	if err != nil {
		return err
	}
	rows := 0
	var wall, cpu time.Duration
	var names []string
	away := make(map[string]bool)
	for _, b := range reaching {
		rows += b.rows
		wall += b.wall
		cpu += b.cpu
		if !slices.Contains(names, b.name) {
			names = append(names, b.name)
		}
		if !slices.Contains(race.Packages, b.dir) {
			race.Packages = append(race.Packages, b.dir)
		}
		for _, part := range b.away {
			away[part] = true
		}
	}
	for _, b := range reaching {
		for _, part := range b.parts {
			if !slices.Contains(b.away, part) {
				delete(away, part) // another package has a benchmark of that name, and parts are left out by name alone
			}
		}
	}
	rows = max(rows-len(away), min(rows, 1))
	slices.Sort(names)
	if rows == 0 {
		work, err := scratch.Dir("prove-bench-")
		if err != nil {
			return err
		}
		defer os.RemoveAll(work)
		tests, err := r.slowTests(ctx, pairs, work)
		if err != nil {
			return err
		}
		var shown []string
		if len(r.generated) > 0 {
			shown = append(shown, "benchmarks generated from calls that both versions answer alike")
		}
		if len(tests) > 0 {
			shown = append(shown, "tests that reach it and take long enough to be compared")
		}
		if shown == nil {
			r.note("%s, and none could be generated: the speed is unknown", noneReach(all))
			return nil
		}
		made := slices.Concat(r.generated, tests)
		overlay, err := writeGenerated(work, made)
		if err != nil {
			return err
		}
		race.Flags, race.Generated = append(race.Flags, "-overlay="+overlay), true
		for _, g := range made {
			p.Generated = append(p.Generated, g.about...)
			rows += g.rows
			names = append(names, g.names...)
			if dir := "./" + filepath.ToSlash(g.rel); !slices.Contains(race.Packages, dir) {
				race.Packages = append(race.Packages, dir)
			}
		}
		r.note("%s: those shown are %s", noneReach(all), strings.Join(shown, ", and "))
	} else if rest := all - len(reaching) + len(away); rest > 0 {
		r.note("%s left out: what changed is not reached by %s", unit.Counted(rest, "benchmark"), itOrThem(rest))
	}
	race.Bench, race.Names = "^("+strings.Join(names, "|")+")$", names
	if len(away) > 0 {
		race.Skip = func(name string) bool { return away[name] }
	}
	race.Budget = min(max(left/time.Duration(rows), leastBudget), mostBudget)
	if race.NoWhy = wall > mostStretch*cpu && wall > time.Second; race.NoWhy {
		r.hint("the machine is too busy to profile the reason; ", hint.Ask("compare"), " takes the time")
	}
	return r.race(ctx, race)
}

// race has both versions run against each other.
func (r *run) race(ctx context.Context, race Race) error {
	p := r.proof
	r.opt.Say("comparing how fast they are")
	s, err := r.opt.Faster(ctx, race)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if err != nil { // the verdict on what it does stands
		p.Generated = nil
		p.Unpaced = err
		r.note("speed could not be compared: %v", err)
		return nil
	}
	p.Pace, p.Speed = cmp.Or(s.Pace, report.PaceUnknown), s.Report
	p.Notes = append(p.Notes, hint.Said(s.Notes...)...)
	if len(s.Failed) > 0 {
		r.check("benchmarks", report.Failed, strings.Join(s.Failed, "\n"))
	}
	return nil
}

func (r *run) note(format string, args ...any) {
	r.proof.Notes.Add(fmt.Sprintf(format, args...))
}

// hint notes what names something to set or to ask.
func (r *run) hint(items ...any) { r.proof.Notes.Add(items...) }

func noneReach(all int) string {
	if all == 0 {
		return "no benchmark covers the change"
	}
	return fmt.Sprintf("none of %s reaches the change", unit.Counted(all, "benchmark"))
}

func itOrThem(n int) string {
	if n == 1 {
		return "it"
	}
	return "them"
}

// A reaching benchmark runs what changed.
type reaching struct {
	dir, name string
	rows      int      // lines that it prints
	parts     []string // that these are about, without the word Benchmark: Encode/size=10
	away      []string // those that do not reach what changed
	wall, cpu time.Duration
}

// reached are the benchmarks that reach what changed, of all.
type reached struct {
	found []reaching
	all   int
}

// reaching runs the benchmarks of the packages that changed, and of those that use them, once each, and returns those that
// reach what changed, and how many there are.
func (r *run) reaching(ctx context.Context, pairs []*pair) (found []reaching, all int, err error) {
	if r.benchmarks != nil {
		return r.benchmarks.found, r.benchmarks.all, nil
	}
	defer func() {
		if err == nil {
			r.benchmarks = &reached{found, all}
		}
	}()
	touched, paths := touchedBy(pairs)
	if len(touched) == 0 {
		return nil, 0, nil
	}
	dirs, _, err := r.usersOf(ctx, pairs)
	if err != nil {
		return nil, 0, err
	}
	work, err := scratch.Dir("prove-reach-")
	if err != nil {
		return nil, 0, err
	}
	defer os.RemoveAll(work)
	// Each package has to be built with counters for this, which takes minutes where dozens use what changed. What changed comes first. As
	// soon as there is a benchmark, the others get no more time than calls do; in a package that changed, building it does not count.
	own := patterns(pairs)
	dirs = slices.Concat(own, slices.DeleteFunc(dirs, func(dir string) bool { return slices.Contains(own, dir) }))
	began, late, unknown := time.Now(), 0, 0
	over := func() bool { return time.Since(began) > r.opt.Time }
	for i, dir := range dirs {
		if !hasBenchmarks(filepath.Join(r.change.New.Dir, dir)) || !hasBenchmarks(filepath.Join(r.change.Old.Dir, dir)) {
			continue
		}
		if len(found) > 0 && over() && !slices.Contains(own, dir) {
			late++
			continue
		}
		r.opt.Say("finding the benchmarks that reach the change, " + dir)
		in, n, err := r.reachingIn(ctx, probing{
			dir: dir, file: filepath.Join(work, strconv.Itoa(i)+".test"), paths: paths, touched: touched, time: "1x", apart: true,
			ends: func(in []reaching, ran time.Duration) bool {
				return len(found)+len(in) > 0 && (ran > r.opt.Time || over() && !slices.Contains(own, dir))
			},
		})
		if err != nil {
			return nil, 0, err
		}
		found, all, unknown = append(found, in...), all+n.looked, unknown+n.left
	}
	if unknown > 0 {
		r.note("there was no time to look at %s, which may reach the change, too", unit.Counted(unknown, "benchmark"))
	}
	if late > 0 {
		r.note("benchmarks of %s that use it were left out: there was no time to find those that reach the change", unit.Counted(late, "package"))
	}
	return found, all, nil
}

// touchedBy returns the lines of files, as coverage names these, that were changed, and the paths of the packages that they are in.
func touchedBy(pairs []*pair) (touched map[string][]span, paths []string) {
	touched = make(map[string][]span)
	for _, p := range pairs {
		paths = append(paths, p.new.pkg.PkgPath)
		for file, spans := range p.touched() {
			touched[file] = spans
		}
	}
	return touched, paths
}

// A probing says how to find out which benchmarks of a package reach what changed.
type probing struct {
	dir     string   // of the package, in the new version
	flags   []string // for building
	bench   string   // pattern of the benchmarks; "" is all
	time    string   // for which each runs: 1x is once
	apart   bool     // look at their parts, too
	file    string   // for the test program
	paths   []string // of packages whose code is counted
	touched map[string][]span
	ends    func(found []reaching, ran time.Duration) bool // before the next one; nil means never
	limit   time.Duration                                  // for each of them; 0 is probeLimit
	quiet   bool                                           // about those that fail
}

// A count says how many benchmarks were looked at, and how many were left out.
type count struct{ looked, left int }

// reachingIn runs benchmarks of a package, those that Options.First names first, and returns those that reach what changed.
func (r *run) reachingIn(ctx context.Context, p probing) (found []reaching, n count, err error) {
	args := slices.Concat([]string{"test", "-c", "-vet=off", "-cover", "-covermode=atomic", "-coverpkg=" + strings.Join(p.paths, ",")}, r.change.New.about.WithoutDWARF(), p.flags, []string{"-o", p.file, p.dir})
	if _, err := r.goNew().Run(ctx, args...); err != nil {
		if ctx.Err() != nil {
			return nil, n, err
		}
		r.note("%s: its benchmarks cannot be built with counters: %s", p.dir, firstOf(err))
		return nil, n, nil
	}
	dir := filepath.Join(r.change.New.Dir, p.dir)
	names, err := listBenchmarks(ctx, p.file, dir, cmp.Or(p.bench, "^Benchmark"))
	if err != nil {
		return nil, n, err
	}
	if first := r.opt.First; first != nil {
		named := slices.DeleteFunc(slices.Clone(names), func(name string) bool { return !first.MatchString(name) })
		names = append(named, slices.DeleteFunc(names, first.MatchString)...)
	}
	// What runs before any benchmark does, such as what gives variables of packages their values, says nothing about one of them.
	cover := p.file + ".cover"
	before, err := new(reaching).probe(ctx, p, dir, cover)
	if ctx.Err() != nil {
		return nil, n, ctx.Err()
	}
	if err != nil {
		before = nil
	}
	began := time.Now()
	for i, name := range names {
		if p.ends != nil && p.ends(found, time.Since(began)) {
			n.left = len(names) - i
			break
		}
		n.looked++
		b := reaching{dir: p.dir, name: name}
		covered, err := b.probe(ctx, p, dir, cover)
		if err != nil {
			if ctx.Err() != nil {
				return nil, n, ctx.Err()
			}
			if errors.Is(err, errProbeLimit) && r.opt.First != nil && r.opt.First.MatchString(name) {
				b.rows = 1 // with counters, it takes long before it begins; who named it knows what it runs
				found = append(found, b)
				continue
			}
			if !p.quiet {
				r.note("%s: it is unknown whether it reaches the change: %v", name, err)
			}
			continue
		}
		if reaches(covered, before, p.touched) {
			b.rows = max(b.rows, 1)
			if p.apart && len(b.parts) > 1 {
				if b.away, err = r.partsAway(ctx, &b, p, dir, cover); err != nil {
					return nil, n, err
				}
			}
			found = append(found, b)
		}
	}
	return found, n, nil
}

// partsAway runs the parts of a benchmark one by one, and returns those that do not reach what changed. Those for which there is no time, and
// those that do not run by themselves, count as reaching it.
func (r *run) partsAway(ctx context.Context, b *reaching, p probing, dir, cover string) (away []string, err error) {
	began := time.Now()
	// What is around the parts runs with each of them, so it says nothing about one, unless it is not the same each time.
	around := reaching{name: b.name + "/no part has this name"}
	before, err := around.probe(ctx, p, dir, cover)
	if err == nil {
		var again map[codeBlock]int
		if again, err = around.probe(ctx, p, dir, cover); !maps.Equal(before, again) {
			return nil, ctx.Err()
		}
	}
	if err != nil || around.rows > 0 {
		return nil, ctx.Err()
	}
	for _, name := range b.parts {
		if time.Since(began) > r.opt.Time/partsShare {
			break
		}
		part := reaching{name: "Benchmark" + name}
		covered, err := part.probe(ctx, p, dir, cover)
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if err == nil && part.rows == 1 && !reaches(covered, before, p.touched) {
			away = append(away, name)
		}
	}
	if len(away) == len(b.parts) {
		return nil, nil // what reaches it is around them
	}
	return away, nil
}

func firstOf(err error) string {
	lines := strings.Split(strings.TrimSpace(err.Error()), "\n")
	return lines[min(1, len(lines)-1)]
}

// A span is lines of a file.
type span struct{ from, to int }

// touched returns the lines of functions that changed, or that use a table, a constant or a type that did.
func (p *pair) touched() map[string][]span {
	distance := p.changed()
	changed := make(map[string]bool) // what is no function, and those of its kind that use it
	isFunc := func(key string) bool {
		d := p.new.decls[key]
		if d == nil {
			d = p.old.decls[key]
		}
		return d != nil && d.isFunc()
	}
	for key, far := range distance {
		changed[key] = far == 0 && !isFunc(key)
	}
	for again := true; again; {
		again = false
		for key := range distance {
			if d := p.new.decls[key]; d != nil && !d.isFunc() && !changed[key] && slices.ContainsFunc(d.uses, func(u string) bool { return changed[u] }) {
				changed[key], again = true, true
			}
		}
	}
	out := make(map[string][]span)
	for key, far := range distance {
		d := p.new.decls[key]
		if d == nil || d.test || !d.isFunc() || far > 0 && !slices.ContainsFunc(d.uses, func(u string) bool { return changed[u] }) {
			continue
		}
		from, to := p.new.pkg.Fset.Position(d.node.Pos()), p.new.pkg.Fset.Position(d.node.End())
		file := path.Join(p.new.pkg.PkgPath, filepath.Base(from.Filename))
		out[file] = append(out[file], span{from.Line, to.Line})
	}
	return out
}

func hasBenchmarks(dir string) bool {
	files, _ := filepath.Glob(filepath.Join(dir, "*_test.go"))
	return slices.ContainsFunc(files, func(f string) bool {
		text, err := os.ReadFile(f)
		return err == nil && bytes.Contains(text, []byte("\nfunc Benchmark"))
	})
}

func listBenchmarks(ctx context.Context, file, dir, pattern string) ([]string, error) {
	cmd := exec.CommandContext(ctx, file, "-test.list="+pattern)
	cmd.Dir = dir
	cmd.WaitDelay = time.Second
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("listing benchmarks in %s: %w", dir, cmp.Or(ctx.Err(), err))
	}
	var names []string
	for line := range strings.Lines(string(out)) {
		if line = strings.TrimSpace(line); strings.HasPrefix(line, "Benchmark") && !strings.ContainsAny(line, " \t") {
			names = append(names, line)
		}
	}
	return names, nil
}

// probe runs a benchmark as often as time says, or none where it has no name, and returns how often each block of code ran.
func (b *reaching) probe(ctx context.Context, p probing, dir, profile string) (map[codeBlock]int, error) {
	limit := cmp.Or(p.limit, probeLimit)
	limited, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	cmd := exec.CommandContext(limited, p.file, "-test.run=^$", "-test.bench="+duel.Exactly(b.name), "-test.benchtime="+p.time, "-test.coverprofile="+profile)
	cmd.Dir = dir
	cmd.WaitDelay = time.Second
	began := time.Now()
	out, err := cmd.CombinedOutput()
	if st := cmd.ProcessState; st != nil {
		b.wall, b.cpu = time.Since(began), st.UserTime()+st.SystemTime()
	}
	switch {
	case errors.Is(limited.Err(), context.DeadlineExceeded):
		return nil, fmt.Errorf("%w %v", errProbeLimit, limit)
	case err != nil:
		return nil, err
	}
	b.rows = bytes.Count(out, []byte(" ns/op"))
	if f, err := bench.Read(bytes.NewReader(out), ""); err == nil {
		for i := range f.Results {
			b.parts = append(b.parts, f.Results[i].Name)
		}
	}
	ran, err := cover.ParseProfiles(profile)
	if err != nil {
		return nil, err
	}
	counts := make(map[codeBlock]int)
	for _, p := range ran {
		for _, at := range p.Blocks {
			counts[codeBlock{p.FileName, span{at.StartLine, at.EndLine}}] += at.Count
		}
	}
	return counts, nil
}

var errProbeLimit = errors.New("it takes more than")

// A codeBlock is code that runs as a whole.
type codeBlock struct {
	file string // as coverage names it
	span
}

// reaches reports whether a block ran more often than before that is in one of the spans.
func reaches(ran, before map[codeBlock]int, touched map[string][]span) bool {
	for b, n := range ran {
		if n > before[b] && slices.ContainsFunc(touched[b.file], func(s span) bool { return s.from <= b.from && b.to <= s.to }) {
			return true
		}
	}
	return false
}
