package prove

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/hone-perf/hone/internal/duel"
	"github.com/hone-perf/hone/internal/profile"
	"github.com/hone-perf/hone/internal/recording"
	"github.com/hone-perf/hone/internal/verdict"
	"github.com/hone-perf/hone/internal/view/benchview"
)

// Faster runs benchmarks of two versions against each other, as hone compare does. It is what Options.Faster is meant to be.
func Faster(ctx context.Context, race Race) (Speed, error) {
	side := func(v Version) duel.Side {
		return duel.Side{DuelSide: recording.DuelSide{Name: v.Name}, Dir: v.Dir}
	}
	d, err := duel.Run(ctx, duel.Options{
		Old: side(race.Old), New: side(race.New), Packages: race.Packages, Bench: race.Bench, Skip: race.Skip, Flags: race.Flags, Budget: race.Budget, Limit: race.Limit, NoWhy: race.NoWhy, AsIs: race.NoWhy, Live: race.Live, Noise: race.Noise, Enough: race.Enough, Clear: race.Clear,
	})
	if errors.Is(err, duel.ErrNothing) {
		return Speed{Notes: []string{"no benchmark exists in both versions: the speed is unknown"}}, nil
	}
	if err != nil {
		return Speed{}, err
	}
	for i := range d.Why {
		d.Why[i].Old = renamed(d.Why[i].Old, race.Renamed)
	}
	return SpeedOf(d)
}

// SpeedOf says what two versions that ran against each other tell about how fast they are.
func SpeedOf(d *recording.Duel) (Speed, error) {
	c, err := benchview.Duel(d)
	if err != nil {
		return Speed{}, err
	}
	c.Notes = c.Notes.Renamed("budget", "for")
	s := Speed{Report: c}
	if d.SpreadOf > 0 {
		s.Noise = &duel.Noise{Spread: d.Spread, Of: d.SpreadOf}
	}
	for _, f := range c.FailedByChange() {
		s.Failed = append(s.Failed, f.Name+" "+f.Why)
	}
	s.Pace, s.Notes = verdict.Pace(c)
	return s, nil
}

// renamed returns a profile in which packages have the names that they have in the new version, so that functions of two
// folders of one module are held against each other.
func renamed(p *profile.Profile, paths map[string]string) *profile.Profile {
	if p == nil || len(paths) == 0 {
		return p
	}
	q := *p
	q.Functions = slices.Clone(p.Functions)
	for i := range q.Functions {
		f := &q.Functions[i]
		for old, now := range paths {
			if rest, ok := strings.CutPrefix(f.Name, old+"."); ok {
				f.Name = now + "." + rest
				break
			}
		}
	}
	return &q
}
