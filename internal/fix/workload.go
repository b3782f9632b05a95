package fix

import (
	"context"

	"github.com/hone-perf/hone/internal/capture"
	"github.com/hone-perf/hone/internal/duel"
	"github.com/hone-perf/hone/internal/prove"
	"github.com/hone-perf/hone/internal/recording"
)

// A Workload is what a program is run with, in the place of benchmarks: to see what costs, and which of two versions costs less.
type Workload struct {
	Flags []string // for building

	// Record runs the program as it is in the folder of the options, with the recorder inside, once or more often.
	Record func(ctx context.Context, opt capture.Options) ([]*capture.Recorded, error)
	// Duel runs both versions against each other, as hone compare does.
	Duel func(ctx context.Context, opt duel.Options) (*recording.Duel, error)
	// Command is what both versions are to do alike; nil where that does not show in what they print, as of a server. Its package is named
	// in the module.
	Command *duel.Command
}

// compare runs two versions against each other: with the workload, or else their benchmarks.
func (r *run) compare(ctx context.Context, race prove.Race) (prove.Speed, error) {
	w := r.opt.Workload
	if w == nil {
		return prove.Faster(ctx, race)
	}
	side := func(v prove.Version, top string) duel.Side {
		return duel.Side{DuelSide: recording.DuelSide{Name: v.Name}, Dir: r.inside(top, r.dir)}
	}
	d, err := w.Duel(ctx, duel.Options{
		// Versions are modules; the user is in some folder of it.
		Old: side(race.Old, r.topOf(race.Old)), New: side(race.New, r.topOf(race.New)), Flags: r.build,
		Budget: race.Budget, NoWhy: race.NoWhy, Noise: race.Noise, Clear: race.Clear, Say: r.opt.Say,
	})
	if err != nil {
		return prove.Speed{}, err
	}
	return prove.SpeedOf(d)
}

// topOf returns the copy that a version is in.
func (r *run) topOf(v prove.Version) string {
	if v.Dir == r.copyOf(r.now) {
		return r.now
	}
	return r.old
}
