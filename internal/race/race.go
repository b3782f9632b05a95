// Package race finds data races that tests alone do not show. It runs tests with the race detector in shuffled orders and with several
// values of GOMAXPROCS, and sends concurrent requests to HTTP handlers.
//
// Find searches for races and deadlocks. Report returns them, with a patch for each race where one is known. Fix proves the patches: it
// repeats what found the race.
package race

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/hone-perf/hone/internal/gocmd"
	"github.com/hone-perf/hone/internal/hint"
	"github.com/hone-perf/hone/internal/prove"
	"github.com/hone-perf/hone/internal/racelog"
	"github.com/hone-perf/hone/internal/report"
	"github.com/hone-perf/hone/internal/scratch"
	"github.com/hone-perf/hone/internal/unit"
)

// Options say what to run, and how long. The zero Options look at the package in the current folder for half a minute.
type Options struct {
	Dir      string   // "" is the current folder
	Packages []string // patterns; none means the package in Dir
	Program  bool     // the one package is a program, to be run with Args
	Args     []string
	Time     time.Duration // for the search, when all is built; 0 means 30s
	Runs     int           // rounds; 0 means as many as there is time for
	CPUs     []int         // values of GOMAXPROCS; none means 4, 2 and 1
	Seed     uint64        // of orders and requests
	Run      string        // tests, as for go test -run; "" means all
	NoReplay bool          // handlers are not asked
	NoCalls  bool          // functions are not called with made-up arguments
	Requests []prove.MadeRequest
	Flags    []string // for the go command, behind those in GOFLAGS
	Say      func(string)

	env []string      // of the go command
	own gocmd.Overlay // that the flags name

	quick []string // flags for test programs, which nobody debugs
}

// Errors of Find that are no answer.
var (
	ErrNoRace  = errors.New("the race detector cannot be used")
	ErrNothing = errors.New("there is nothing to run")
	ErrNoBuild = errors.New("the packages do not build")
	ErrAsked   = errors.New("cannot be run")
)

func (o Options) resolved(ctx context.Context) (Options, error) {
	o.Time = cmp.Or(o.Time, 30*time.Second)
	if len(o.Packages) == 0 {
		o.Packages = []string{"."}
	}
	if len(o.CPUs) == 0 {
		o.CPUs = []int{4, 2, 1}
	}
	if o.Say == nil {
		o.Say = func(string) {}
	}
	dir, err := filepath.Abs(o.Dir)
	if err != nil {
		return o, err
	}
	o.Dir = dir
	in, about, err := gocmd.Command{Dir: dir}.WithFlags(ctx, o.Flags)
	if err != nil {
		return o, err
	}
	o.env, o.quick = in.Env, about.WithoutDWARF()
	o.own, err = about.OwnOverlay(dir)
	return o, err
}

// A Search is what was built and found. Close removes what was built.
type Search struct {
	opt     Options
	dir     string // where the go command runs
	work    string
	subject []*subject
	groups  racelog.Grouper
	how     []How // of each run that showed something, by the number that pairs have
	hangs   []*report.Hang
	out     *report.Races
	failing map[string]string          // tests that fail without a race
	patched map[string]bool            // variables that a patch was told for
	calls   map[string]*prove.Parallel // by package; made up once, so that they can be made again with a patch
	code    codes
}

// A How is one run of a program: with it, the run can be done again.
type How struct {
	Subject int
	Replay  bool // handlers are asked
	Calls   bool // functions are called at the same time; with neither, it is the tests, or the program itself
	CPU     int
	Seed    uint64
}

// A subject is a test program, or a program.
type subject struct {
	importPath, dir string
	file            string // that can be run
	tests           int    // how many tests there are
	serving         *prove.Serving
	requests        string                      // file that the handlers are asked from
	calls           *prove.Parallel             // that goroutines make at the same time
	slow            time.Duration               // the longest run
	patience        time.Duration               // that it needs at least
	stuck           []*prove.ParallelCall       // calls that did not return in the last run
	rebuilt         int                         // how often such calls were left out
	build           func(context.Context) error // builds its tests anew
	hung            [3]int                      // runs in which it came to no end: of tests, of requests, of calls
	program         bool
}

// Find builds what is to be run and runs it until the time is over. When it is interrupted after a run has ended or shown something, it
// returns what was found until then, and the error.
func Find(ctx context.Context, opt Options) (*Search, error) {
	opt, err := opt.resolved(ctx)
	if err != nil {
		return nil, err
	}
	if ok, why := prove.RaceDetector(ctx, gocmd.Command{Dir: opt.Dir, Env: opt.env}); !ok {
		return nil, fmt.Errorf("%w: %s", ErrNoRace, why)
	}
	work, err := scratch.Dir("race-")
	if err != nil {
		return nil, err
	}
	s := newSearch(opt, work)
	err = s.find(ctx)
	if err != nil && (ctx.Err() == nil || s.out.Tried.Runs == 0) {
		s.Close()
		return nil, err
	}
	return s, err
}

func newSearch(opt Options, work string) *Search {
	dir, packages := gocmd.Home(opt.Dir, opt.Packages)
	opt.Packages = packages
	return &Search{
		opt: opt, dir: dir, work: work, failing: make(map[string]string), patched: make(map[string]bool),
		out: &report.Races{Races: []report.DataRace{}}, code: codes{env: opt.env},
	}
}

// Close removes what was built.
func (s *Search) Close() { os.RemoveAll(s.work) }

func (s *Search) find(ctx context.Context) error {
	if err := s.prepare(ctx, nil, s.work); err != nil {
		return err
	}
	began := time.Now()
	err := s.rounds(ctx)
	s.out.Tried.Took = time.Since(began)
	if ctx.Err() != nil {
		s.note("interrupted; found so far")
	}
	return err
}

// prepare builds all subjects, with some files replaced.
func (s *Search) prepare(ctx context.Context, overlay gocmd.Overlay, work string) error {
	s.subject = nil
	if s.opt.Program {
		return s.buildProgram(ctx, overlay, work)
	}
	return s.buildTests(ctx, overlay, work)
}

// hungEnough is how often goroutines may wait for each other before what they do is left out: it shows nothing else any more.
const hungEnough = 2

// A plan is the runs of one round: all ways to run each subject, those that find most first.
func (s *Search) plan(round int) []How {
	var out []How
	for _, cpu := range s.opt.CPUs {
		for i, sub := range s.subject {
			h := How{Subject: i, CPU: cpu, Seed: s.opt.Seed + uint64(round)}
			if sub.serving != nil && !sub.program && !s.opt.NoReplay && sub.hung[1] < hungEnough {
				h.Replay = true
				out = append(out, h)
				h.Replay = false
			}
			if sub.calls != nil && sub.hung[2] < hungEnough {
				h.Calls = true
				out = append(out, h)
				h.Calls = false
			}
			if (sub.tests > 0 || sub.program) && sub.hung[0] < hungEnough {
				out = append(out, h)
			}
		}
	}
	return out
}

// quietRounds is how many rounds without anything new end a search that has found something.
const quietRounds = 2

// rounds runs everything in turns.
func (s *Search) rounds(ctx context.Context) error {
	until := time.Now().Add(s.opt.Time)
	quiet := 0
	for round := 0; ; round++ {
		if s.opt.Runs > 0 && round == s.opt.Runs {
			return nil
		}
		fresh := 0
		for _, how := range s.plan(round) {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			left := time.Until(until)
			if left <= 0 && s.out.Tried.Runs > 0 {
				return nil
			}
			s.opt.Say(s.say(how))
			n, err := s.run(ctx, how, max(left, time.Second))
			if err != nil {
				return err
			}
			fresh += n
		}
		if fresh > 0 {
			quiet = 0
		} else {
			quiet++
		}
		if s.out.Tried.AllFailed() {
			return nil // and so they will
		}
		if len(s.plan(round)) == 0 || quiet >= quietRounds && (len(s.groups.Pairs()) > 0 || len(s.hangs) > 0) {
			return nil
		}
	}
}

func (s *Search) say(h How) string {
	sub := s.subject[h.Subject]
	what := "tests of " + sub.importPath
	switch {
	case h.Replay:
		what = "asking the handlers of " + sub.importPath
	case h.Calls:
		what = "calling functions of " + sub.importPath + " from several goroutines"
	case sub.program:
		what = "running " + sub.importPath
	}
	found := len(s.groups.Pairs())
	return fmt.Sprintf("%s, GOMAXPROCS %d; %s so far", what, h.CPU, unit.Counted(found, "race"))
}

// Report says what was found.
func (s *Search) Report(ctx context.Context) *report.Races {
	out := s.out
	for _, sub := range s.subject {
		out.Packages = append(out.Packages, sub.importPath)
		if sub.calls != nil {
			out.Tried.Calls += len(sub.calls.Calls)
		}
		if sub.serving == nil {
			continue
		}
		if sub.program {
			s.asking(sub)
			continue
		}
		for _, h := range sub.serving.Handlers {
			out.Tried.Handlers = append(out.Tried.Handlers, h.Name)
			if h.Zero {
				s.note("%s is called on a zero value: no constructor of its receiver is known", h.Name)
			}
		}
		for _, why := range sub.serving.Left {
			s.note("%s", why)
		}
	}
	out.Tried.Seed = s.opt.Seed
	behind := make(map[string]int) // races in what two calls of the module lead to outside of it
	var runs []map[int]bool        // that had each race
	for _, p := range s.knownFirst() {
		key := s.callers(p)
		if i, ok := behind[key]; ok && key != "" {
			d := &out.Races[i]
			d.Count, d.More = d.Count+p.Count, d.More+1
			continue
		}
		d := s.race(ctx, p)
		if i := slices.IndexFunc(out.Races, func(o report.DataRace) bool { return o.Variable == d.Variable }); i >= 0 && d.Variable != "" && !everyPlace(p) {
			o := &out.Races[i] // d tells nothing new of the variable
			o.Count += p.Count
			for _, n := range p.Sources {
				runs[i][n] = true
			}
			o.Runs = len(runs[i])
			continue
		}
		behind[key] = len(out.Races)
		out.Races = append(out.Races, d)
		runs = append(runs, make(map[int]bool))
		for _, n := range p.Sources {
			runs[len(runs)-1][n] = true
		}
	}
	for _, h := range s.hangs {
		out.Hangs = append(out.Hangs, *h)
	}
	names := make([]string, 0, len(s.failing))
	for name := range s.failing {
		names = append(names, name)
	}
	slices.Sort(names)
	out.Failing = names
	for _, name := range names {
		if text := s.failing[name]; text != "" {
			s.note("%s fails, but not because of a race: %s", name, text)
		} else {
			s.note("%s fails, but not because of a race", name)
		}
	}
	return out
}

// knownFirst returns the pairs of accesses that were reported, those first of which both places are known.
func (s *Search) knownFirst() []*racelog.Pair {
	pairs := slices.Clone(s.groups.Pairs())
	rank := func(p *racelog.Pair) int {
		if everyPlace(p) {
			return 0
		}
		return 1
	}
	slices.SortStableFunc(pairs, func(a, b *racelog.Pair) int { return rank(a) - rank(b) })
	return pairs
}

func everyPlace(p *racelog.Pair) bool {
	for i := range p.Accesses {
		if !known(&p.Accesses[i]) {
			return false
		}
	}
	return true
}

// asking says whether a program was asked something.
func (s *Search) asking(sub *subject) {
	switch {
	case len(sub.serving.Left) > 0:
		s.note("it got no requests: %s", sub.serving.Left[0])
	case s.out.Tried.Requests == 0 && len(sub.serving.Handlers) > 0:
		s.note("it got no requests: it did not print a local address that it listens on")
	}
	for _, h := range sub.serving.Handlers {
		s.out.Tried.Handlers = append(s.out.Tried.Handlers, h.Name)
	}
}

func (s *Search) note(format string, args ...any) {
	s.out.Notes.AddNew(hint.Text{fmt.Sprintf(format, args...)})
}

// rel returns a file as it is called in the folder where hone was called.
func (s *Search) rel(file string) string {
	if rel, err := filepath.Rel(s.opt.Dir, file); err == nil && filepath.IsLocal(rel) {
		return filepath.ToSlash(rel)
	}
	return file
}
