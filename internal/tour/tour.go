// Package tour shows the whole loop on a practice program. It records the program under load, shows where time goes, looks for races, gives
// advice, applies fixes, proves them, and records once more. Run does all of that in a temporary folder and prints each step; Write writes
// the results as one page.
package tour

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"github.com/hone-perf/hone/internal/gocmd"
	"github.com/hone-perf/hone/internal/race"
	"github.com/hone-perf/hone/internal/recording"
	"github.com/hone-perf/hone/internal/report"
	"github.com/hone-perf/hone/internal/unit"
)

// Options tune Run.
type Options struct {
	Dir    string        // an empty folder to work in
	Budget time.Duration // for all of it; 0 is a minute and a half, or more where nothing is proven until then
	Hone   string        // version

	Say   func(doing string)                   // is told what is being done; nil is nobody
	Begin func(*Step)                          // is told of a step when it begins; nil is nobody
	Tried func(patch *report.Fixed, kept bool) // is told what became of each patch; nil is nobody
	Done  func(*Step)                          // is told what a step came to; nil is nobody
	Note  func(text string)                    // is told what is not as planned, when it shows; nil is nobody

	usual time.Duration // in place of a minute and a half
	load  time.Duration // in place of loadTime
}

// A Tour is what came of it.
type Tour struct {
	Steps  []*Step
	Before *Picture // of the program under load
	After  *Picture // with all that was kept; nil when nothing was, or there was no time for it
	Took   time.Duration
	Left   []string // what was left out, and why
	Notes  []string // what was not as planned
}

// A Step is a part of the loop.
type Step struct {
	Number  int
	Title   string
	Command string // that does the same, in the folder of the program
	Says    string // what is being done
	Found   []report.Report
	Whole   report.Report // of which Found is a part; nil when there is no more
	Took    time.Duration
}

// A Picture is what the cores did for requests.
type Picture struct {
	Flame   *report.Flame
	Request float64 // nanoseconds of CPU time for each request; 0 is not known
	Changed bool    // that is known to be other than it was
}

const (
	usualBudget = 90 * time.Second
	mostBudget  = 10 * time.Minute // where nobody says how long it may take, and the machine is slow
	loadTime    = 5 * time.Second
	raceTime    = 3 * time.Second
	eachTime    = 2 * time.Second           // for what is open-ended about one patch
	againTime   = loadTime + 4*time.Second  // kept for recording it once more
	fixedTime   = againTime + 2*time.Second // and for comparing all that was kept with what was, as far as there is time for that
	leastFix    = 15 * time.Second          // in less time no patch is proven
)

// errBudget is why what did not fit is left out.
var errBudget = errors.New("time ran out; --budget gives more")

// Run goes through all steps. What could not be done because time was over, or because something is missing, is listed as
// left out; an error is what makes the rest pointless, or that it was interrupted.
func Run(ctx context.Context, opt Options) (*Tour, error) {
	began := time.Now()
	planned, most := opt.Budget, opt.Budget
	if planned == 0 {
		planned, most = cmp.Or(opt.usual, usualBudget), mostBudget
	}
	opt.load = cmp.Or(opt.load, loadTime)
	if opt.Note == nil {
		opt.Note = func(string) {}
	}
	if opt.Say == nil {
		opt.Say = func(string) {}
	}
	if opt.Begin == nil {
		opt.Begin = func(*Step) {}
	}
	if opt.Tried == nil {
		opt.Tried = func(*report.Fixed, bool) {}
	}
	if opt.Done == nil {
		opt.Done = func(*Step) {}
	}
	dir, err := filepath.EvalSymlinks(opt.Dir)
	if err != nil {
		return nil, err
	}
	g := &guide{opt: opt, dir: dir, planned: planned, soft: began.Add(planned), end: began.Add(most), out: &Tour{}}
	defer g.close()
	if g.pkg, err = unpack(dir); err != nil {
		return nil, fmt.Errorf("unpacking the practice program: %w", err)
	}
	if _, err := (gocmd.Command{Dir: g.pkg}).About(ctx); err != nil {
		return nil, err
	}
	for _, s := range []struct {
		do   func(context.Context) error
		rest time.Duration // that it and those behind it take on two idle cores, but for patches of what costs
	}{
		{g.record, 0}, {g.look, 0}, {g.findRaces, 40 * time.Second}, {g.advise, 30 * time.Second}, {g.fixRaces, 28 * time.Second}, {g.fix, leastFix + fixedTime}, {g.again, 0},
	} {
		g.late(s.rest)
		if err := s.do(ctx); err != nil {
			return nil, err
		}
	}
	g.out.Took = time.Since(began)
	return g.out, nil
}

// A guide leads through the steps.
type guide struct {
	opt      Options
	dir, pkg string
	planned  time.Duration
	soft     time.Time // when it is over as planned: from then on, nothing is begun that can be done without
	end      time.Time // when it is over in any case
	slow     bool      // it is said that it takes longer than planned
	out      *Tour
	first    *recording.Recording // the program as it was
	races    *race.Search         // nil when there was none
	kept     bool                 // a patch
}

func (g *guide) close() {
	if g.first != nil {
		g.first.Close()
	}
	if g.races != nil {
		g.races.Close()
	}
}

// left returns how much time there is, when some is kept for what comes later.
func (g *guide) left(keep time.Duration) time.Duration { return time.Until(g.end) - keep }

// within returns a context that ends when no more time is left than what is kept.
func (g *guide) within(ctx context.Context, keep time.Duration) (context.Context, context.CancelFunc) {
	return context.WithDeadlineCause(ctx, g.end.Add(-keep), errBudget)
}

// late says that it takes longer than planned, when as much is left to be done.
func (g *guide) late(rest time.Duration) {
	if g.slow || g.soft.Equal(g.end) || time.Until(g.soft) >= rest {
		return
	}
	g.slow = true
	g.opt.Note(fmt.Sprintf("this takes longer than %s here, since the cores are busy or slow, or Go's build cache is empty: "+
		"the tour goes on until a patch is proven, for %s at most; --budget sets another limit", unit.Time(g.planned), unit.Time(mostBudget)))
	// The report is read at the end.
	g.out.Notes = append(g.out.Notes, fmt.Sprintf("this took longer than %s, since the cores were busy or slow, or Go's build cache was empty; --budget sets another limit", unit.Time(g.planned)))
}

// leaveOut writes down what was not done, and why.
func (g *guide) leaveOut(what string, why error) {
	g.out.Left = append(g.out.Left, fmt.Sprintf("%s: %v", what, why))
}

// failed writes down a step that came to nothing within a context of its own. It returns an error when the whole was interrupted.
func (g *guide) failed(ctx, limited context.Context, what string, err error) error {
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case limited.Err() != nil:
		g.leaveOut(what, context.Cause(limited))
	default:
		g.leaveOut(what, err)
	}
	return nil
}

// begin tells that a step begins, and returns a function that tells what it came to.
func (g *guide) begin(title, command, says string) func(whole report.Report, found ...report.Report) {
	began := time.Now()
	s := &Step{Number: len(g.out.Steps) + 1, Title: title, Command: command, Says: says}
	g.opt.Begin(s)
	return func(whole report.Report, found ...report.Report) {
		s.Whole, s.Found, s.Took = whole, found, time.Since(began)
		g.out.Steps = append(g.out.Steps, s)
		g.opt.Done(s)
	}
}
