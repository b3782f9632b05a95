package capture

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"go/token"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/hone-perf/hone/internal/bench"
	"github.com/hone-perf/hone/internal/capture/agent"
	"github.com/hone-perf/hone/internal/gocmd"
	"github.com/hone-perf/hone/internal/order"
	"github.com/hone-perf/hone/internal/profile"
	"github.com/hone-perf/hone/internal/recording"
	"github.com/hone-perf/hone/internal/scratch"
	"github.com/hone-perf/hone/internal/source/objfile"
	"github.com/hone-perf/hone/internal/unit"
)

// Benchmarks say which benchmarks to run, and how.
type Benchmarks struct {
	Packages  []string // patterns; none is the package in the folder
	Bench     string   // pattern; "" is all
	Flags     []string // of the go command
	Args      []string // of the test programs: -test.benchtime=100ms
	Count     int      // rounds in which each runs once
	NoProfile bool     // leave out the round that is profiled

	// ProfileFor leaves out the rounds that measure, and begins no benchmark any more in the one with profiles when this time is up; 0 does
	// neither. Each benchmark then runs by itself, since a test program that is ended early leaves no profile.
	ProfileFor time.Duration

	// Instead names packages that have no benchmarks of their own. They have no part in the rounds that measure; in the one with profiles,
	// their tests run, and what benchmarks Flags bring in with an overlay, for InsteadTime in all.
	Instead     []string
	InsteadTime time.Duration
}

// Errors of Bench.
var (
	ErrNoBenchmarks = errors.New("there are no benchmarks")
	ErrNotMeasured  = errors.New("nothing was measured")
)

// A benched is a package whose benchmarks run.
type benched struct {
	gocmd.TestPackage
	file    string // the test program
	failed  string // why it runs no more
	instead bool   // it has no benchmarks of its own
}

// Bench runs benchmarks in rounds, each of them once in a round, and records what they measure. Rounds are apart in time,
// so that what the machine does for a while hits all benchmarks rather than all runs of one. When all is measured they run
// once more, with profiles. What was measured until something went wrong is returned, whatever err says.
func Bench(ctx context.Context, opt Options, b Benchmarks) (*Recorded, error) {
	s := opt.session()
	work, err := scratch.Dir("bench-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(work)
	pkgs, err := b.build(ctx, s, work)
	if err != nil {
		return nil, err
	}
	tree := treeOf(ctx, s.Dir) // before there are files of the recording in it
	m := s.manifest
	m.How, m.Dir, m.Command = recording.Benched, s.Dir, s.Flags
	if err := s.begin("bench"); err != nil {
		return nil, err
	}
	of := &built{file: pkgs[0].file, dir: pkgs[0].Dir, path: pkgs[0].ImportPath, tree: tree}
	m.Machine = machine(self)
	m.Program = s.program(of.file, of)
	if len(pkgs) > 1 {
		m.Program.Path = ""
	}
	s.keepChanges(tree)
	r := &rounds{session: s, Benchmarks: b, pkgs: pkgs, began: time.Now()}
	if err := r.open(); err != nil {
		s.discard()
		return nil, err
	}
	if b.ProfileFor > 0 {
		r.Count = 0
	}
	group := agent.Self()
	before, limited := group.Throttled()
	for r.round = 1; r.round <= r.Count && ctx.Err() == nil && r.left() > 0; r.round++ {
		for i := range pkgs {
			if !pkgs[i].instead {
				r.run(ctx, &pkgs[i])
			}
		}
		if r.round == 1 {
			r.first = r.lines
		}
	}
	if after, ok := group.Throttled(); ok && limited {
		s.noteThrottled(before, after, group.Cores())
	}
	measured := r.lines > 0
	if ctx.Err() != nil && measured {
		s.note("interrupted in round %d of %d", r.round-1, b.Count)
	}
	if (measured || len(b.Instead) > 0 || b.ProfileFor > 0) && !b.NoProfile && ctx.Err() == nil {
		r.profiled(ctx, work)
		measured = measured || r.profiles > 0
	}
	err = r.file.Close()
	m.Ended = s.Now()
	m.Exit = &recording.Exit{}
	for _, p := range pkgs {
		if p.failed != "" {
			m.Exit.Code = 1
			s.note("%s", p.failed)
		}
	}
	if !measured {
		s.discard()
		return nil, errors.Join(ErrNotMeasured, context.Cause(ctx), r.why())
	}
	s.wrote(0, err)
	out, err := s.pack()
	out.Name, out.Code = "bench", m.Exit.Code
	return out, err
}

// noteThrottled says that benchmarks measured the CPU limit of their control group, if they did.
func (s *session) noteThrottled(before, after agent.Throttling, cores float64) {
	periods, throttled := after.Periods-before.Periods, after.Throttled-before.Throttled
	if throttled > 0 {
		s.note("times include waiting: the kernel throttled the control group in %d of %d periods, as its limit is %s", throttled, periods, unit.Quota(cores))
	}
}

// build builds the test programs of the packages that have benchmarks.
func (b Benchmarks) build(ctx context.Context, s *session, work string) ([]benched, error) {
	patterns := b.Packages
	if len(patterns) == 0 {
		patterns = []string{"."}
	}
	rx, err := regexp.Compile(strings.Split(b.Bench, "/")[0])
	if err != nil {
		return nil, fmt.Errorf("-bench=%s: %w", b.Bench, err)
	}
	s.say("looking for benchmarks in " + strings.Join(patterns, " "))
	cmd := gocmd.Command{Dir: s.Dir}
	var wrong *gocmd.Error
	found, err := cmd.TestPackages(ctx, patterns, b.Flags)
	if errors.As(err, &wrong) {
		wrong.Doing = "looking for benchmarks in " + strings.Join(patterns, " ")
	}
	if err != nil {
		return nil, err
	}
	var out []benched
	unbuilt := 0
	for _, p := range found {
		one := benched{TestPackage: p, file: filepath.Join(work, strconv.Itoa(len(out)), "bench.test"), instead: slices.Contains(b.Instead, p.ImportPath)}
		if !one.instead && !p.HasBenchmark(rx) {
			continue
		}
		s.say("building the tests of " + p.ImportPath)
		args := append([]string{"test", "-c", "-vet=off"}, b.Flags...)
		if _, err := cmd.Run(ctx, append(args, "-o", one.file, p.ImportPath)...); err != nil {
			if !errors.As(err, &wrong) {
				return nil, err
			}
			wrong.Doing = "building the tests of " + p.ImportPath
			one.failed = wrong.Error()
			unbuilt++
		}
		out = append(out, one)
	}
	switch {
	case len(out) == 0:
		return nil, ErrNoBenchmarks
	case unbuilt == len(out):
		return nil, wrong
	}
	// Those that run come first, since the recording says of which program it is.
	order.Stable(out, func(a, b benched) int { return cmp.Compare(min(len(a.failed), 1), min(len(b.failed), 1)) })
	return out, nil
}

// rounds run benchmarks.
type rounds struct {
	*session
	Benchmarks
	pkgs  []benched
	file  *os.File // of their lines
	began time.Time
	round int
	lines int // of results so far
	first int // of the first round; 0 while that lasts

	profiles int // that were kept, of CPU time
}

func (r *rounds) open() (err error) {
	if err := r.writeManifest(); err != nil {
		return err
	}
	r.file, err = os.Create(filepath.Join(r.folder, recording.BenchFile))
	return err
}

// left is how many packages run.
func (r *rounds) left() (n int) {
	for _, p := range r.pkgs {
		if p.failed == "" {
			n++
		}
	}
	return n
}

// why says what came in between.
func (r *rounds) why() error {
	var all []string
	for _, p := range r.pkgs {
		if p.failed != "" {
			all = append(all, p.failed)
		}
	}
	if all == nil {
		return nil
	}
	return errors.New(strings.Join(all, "; "))
}

// run runs the benchmarks of a package once.
func (r *rounds) run(ctx context.Context, p *benched, args ...string) {
	if p.failed != "" || ctx.Err() != nil {
		return
	}
	args = append([]string{"-test.run=^$", "-test.bench=" + r.pattern(), "-test.benchmem", "-test.count=1", "-test.timeout=0"}, args...)
	cmd := exec.CommandContext(ctx, p.file, append(args, r.Args...)...)
	cmd.Dir = p.Dir
	cmd.Env = append(os.Environ(), "PWD="+p.Dir)
	cmd.WaitDelay = time.Second
	var errs tail
	out := &progress{rounds: r, pkg: p}
	cmd.Stdout, cmd.Stderr = out, &errs
	oom := NewOOM()
	err := cmd.Run()
	out.end()
	if ctx.Err() != nil {
		return
	}
	if err == nil && !bench.Passed(out.text.bytes()) {
		err = errors.New("the program ended before its benchmarks did, with exit code 0")
	}
	if err != nil {
		why := oom.Killed(cmd.ProcessState)
		if why == "" {
			why = bench.WhyFailed(err, out.text.bytes(), errs.bytes()).Error()
		}
		p.failed = p.ImportPath + ": " + why
	}
}

// pattern is what -test.bench is to be.
func (r *rounds) pattern() string {
	if r.Bench == "" {
		return "."
	}
	return r.Bench
}

// A progress reads what a test program writes, keeps the lines and says how far it has come.
type progress struct {
	*rounds
	pkg  *benched
	line []byte // not ended yet
	said string
	text tail
}

// maxLine is how long a line may be that is looked at.
const maxLine = 64 << 10

func (p *progress) Write(b []byte) (int, error) {
	p.text.Write(b)
	for rest := b; len(rest) > 0; {
		line, next, ended := bytes.Cut(rest, []byte("\n"))
		rest = next
		if len(p.line)+len(line) <= maxLine {
			p.line = append(p.line, line...)
		}
		name, isName := p.name()
		if isName && name != p.said {
			p.said = name
			p.tell(name)
		}
		if ended {
			if isName && len(bytes.Fields(p.line)) > 2 {
				p.lines++
			}
			p.end()
		}
	}
	return len(b), nil
}

// end ends a line.
func (p *progress) end() {
	if len(p.line) > 0 && string(p.line) != "PASS" {
		p.wrote(p.file.Write(append(p.line, '\n')))
	}
	p.line, p.said = p.line[:0], ""
}

// name returns the name of the benchmark that the line is of. It is written before the benchmark runs.
func (p *progress) name() (string, bool) {
	rest, ok := bytes.CutPrefix(p.line, []byte("Benchmark"))
	end := bytes.IndexAny(rest, " \t")
	if !ok || end <= 0 {
		return "", false
	}
	return string(rest[:end]), true
}

// tell says which benchmark runs, and how long all may still take.
func (p *progress) tell(name string) {
	what := name
	if len(p.pkgs) > 1 {
		what = p.pkg.ImportPath + " " + name
	}
	text := fmt.Sprintf("round %d of %d, %s", p.round, p.Count, what)
	switch {
	case p.ProfileFor > 0:
		text = "profiling " + what
	case p.round > p.Count:
		text = "one more round with profiles, " + what
	case p.first > 0:
		took := time.Since(p.began)
		all := p.first * p.Count
		if !p.NoProfile {
			all += p.first
		}
		left := time.Duration(float64(took) / float64(p.lines) * float64(max(0, all-p.lines)))
		text += fmt.Sprintf(", %s left", unit.Time(left.Truncate(time.Second)))
	}
	p.say(text)
}

// profiled runs the benchmarks once more, with profiles. What they measure then does not count.
func (r *rounds) profiled(ctx context.Context, work string) {
	lines := r.file
	defer func() { r.file = lines }()
	var err error
	if r.file, err = os.Create(os.DevNull); err != nil {
		r.wrote(0, err)
		return
	}
	defer r.file.Close()
	k := &keeper{rounds: r, work: work, start: time.Now()}
	end := time.Now().Add(r.ProfileFor)
	var late []string
	for i := range r.pkgs {
		switch p := &r.pkgs[i]; {
		case p.instead:
		case r.ProfileFor > 0:
			late = append(late, r.profileEach(ctx, k, p, end)...)
		default:
			r.profileAll(ctx, k, p)
		}
	}
	if n := len(late); n > 0 && ctx.Err() == nil {
		const most = 5
		names := strings.Join(late[:min(n, most)], ", ")
		if n > most {
			names += fmt.Sprintf(" and %d more", n-most)
		}
		r.note("no time was left to profile %s", names)
	}
	r.runInstead(ctx, k)
	heaps, start := k.heaps, k.start
	if len(heaps) > 0 {
		r.wrote(0, r.keepHeap(heaps, time.Since(start)))
	}
	rec, err := recording.Open(r.folder)
	if err != nil {
		r.wrote(0, err)
		return
	}
	defer rec.Close()
	r.keepSources(rec, &built{file: r.pkgs[0].file, dir: r.pkgs[0].Dir}) // which knows the module
	r.keepCode(rec, codeOpener{open: objfile.Open, own: true})
}

// profileAll runs the benchmarks of a package with profiles.
func (r *rounds) profileAll(ctx context.Context, k *keeper, p *benched, args ...string) {
	k.keep(func(profiles []string) bool {
		r.run(ctx, p, append(profiles, args...)...)
		return p.failed == "" && ctx.Err() == nil
	})
}

// profileEach runs the benchmarks of a package with profiles, one by one until there is no time left, and returns the names of the others. The
// first benchmark of all runs in any case.
func (r *rounds) profileEach(ctx context.Context, k *keeper, p *benched, end time.Time) (late []string) {
	top, rest, nested := strings.Cut(r.pattern(), "/")
	names := r.listed(ctx, p, top)
	if len(names) == 0 || nested && strings.Contains(r.pattern(), "|") { // which may be alternatives of both
		if k.profiles == 0 || time.Now().Before(end) {
			r.profileAll(ctx, k, p)
			return nil
		}
		return []string{"the benchmarks of " + p.ImportPath}
	}
	for i, name := range names {
		if k.profiles > 0 && !time.Now().Before(end) {
			return names[i:]
		}
		one := "^" + name + "$"
		if nested {
			one += "/" + rest
		}
		r.profileAll(ctx, k, p, "-test.bench="+one)
		if p.failed != "" {
			return nil
		}
	}
	return nil
}

// listed returns the names of the benchmarks of a package that match a pattern, in their order.
func (r *rounds) listed(ctx context.Context, p *benched, pattern string) (names []string) {
	ctx, cancel := context.WithTimeout(ctx, listTime)
	defer cancel()
	cmd := exec.CommandContext(ctx, p.file, "-test.list="+pattern)
	cmd.Dir = p.Dir
	cmd.Env = append(os.Environ(), "PWD="+p.Dir)
	cmd.WaitDelay = time.Second
	out, err := cmd.Output()
	if err != nil {
		return nil
	}
	for line := range strings.Lines(string(out)) {
		if name := strings.TrimSpace(line); strings.HasPrefix(name, "Benchmark") && token.IsIdentifier(name) {
			names = append(names, name)
		}
	}
	return names
}

// listTime is how long a test program may take to say which benchmarks it has.
const listTime = 10 * time.Second

// A keeper keeps the profiles of test programs.
type keeper struct {
	*rounds
	work  string
	start time.Time
	heaps []*profile.Profile
}

// heapRate is of how many bytes one is sampled while the time of benchmarks does not count: eight times as many as usual show lines that make small
// objects, for at most some percent of the CPU time.
const heapRate = 64 << 10

// keep runs a test program that is told where to write its profiles, and keeps them when that went well.
func (k *keeper) keep(run func(args []string) bool) {
	cpu, mem := filepath.Join(k.work, "cpu.pb.gz"), filepath.Join(k.work, "mem.pb.gz")
	os.Remove(cpu)
	os.Remove(mem)
	from := time.Since(k.start)
	if !run([]string{"-test.cpuprofile=" + cpu, "-test.memprofile=" + mem, "-test.memprofilerate=" + strconv.Itoa(heapRate)}) {
		return
	}
	text, err := os.ReadFile(cpu)
	if err == nil {
		err = k.write(filepath.Join(k.folder, filepath.FromSlash(recording.PartFile(recording.CPU, from, time.Since(k.start)))), text)
		k.profiles++
	}
	k.wrote(0, err)
	heap, err := readProfile(mem)
	k.wrote(0, err)
	if heap != nil {
		k.heaps = append(k.heaps, heap)
	}
}

func readProfile(name string) (*profile.Profile, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return profile.Parse(f)
}

// keepHeap keeps what all packages allocated as one profile, since each counts from the start of its program.
func (r *rounds) keepHeap(heaps []*profile.Profile, at time.Duration) error {
	sum, err := profile.Merge(heaps...)
	if err != nil {
		return err
	}
	var b bytes.Buffer
	if err := sum.Write(&b); err != nil {
		return err
	}
	return r.write(filepath.Join(r.folder, filepath.FromSlash(recording.PartFile(recording.Heap, at, at))), b.Bytes())
}
