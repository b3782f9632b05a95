package prove

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/hone-perf/hone/internal/duel"
	"github.com/hone-perf/hone/internal/profile"
	"github.com/hone-perf/hone/internal/query"
	"github.com/hone-perf/hone/internal/recording"
	"github.com/hone-perf/hone/internal/report"
	"github.com/hone-perf/hone/internal/view"
)

// Faster runs benchmarks of two versions against each other, as hone compare does. It is what Options.Faster is meant to be.
func Faster(ctx context.Context, race Race) (Speed, error) {
	side := func(v Version) duel.Side {
		return duel.Side{DuelSide: recording.DuelSide{Name: v.Name}, Dir: v.Dir}
	}
	d, err := duel.Run(ctx, duel.Options{
		Old: side(race.Old), New: side(race.New), Packages: race.Packages, Bench: race.Bench, Flags: race.Flags, Budget: race.Budget, NoWhy: race.NoWhy, Live: race.Live, Noise: race.Noise,
	})
	if errors.Is(err, duel.ErrNothing) {
		return Speed{Notes: []string{"there are no benchmarks that both versions have: whether it is faster is not known"}}, nil
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
	r, err := view.Compare([]*recording.Recording{{Ref: "compare", Duel: d}}, query.Query{View: "compare"})
	if err != nil {
		return Speed{}, err
	}
	c := r.(*report.Compare)
	c.Notes = c.Notes.Renamed("budget", "for")
	s := Speed{Report: c}
	if d.SpreadOf > 0 {
		s.Noise = &duel.Noise{Spread: d.Spread, Of: d.SpreadOf}
	}
	for _, f := range c.FailedByChange() {
		s.Failed = append(s.Failed, f.Name+" "+f.Why)
	}
	s.Pace, s.Notes = PaceOf(c)
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

// PaceOf sums up a comparison: what takes longer anywhere is slower, whatever is won elsewhere; more memory is too much
// where no time is won for it.
func PaceOf(c *report.Compare) (report.Pace, []string) {
	type key struct{ pkg, name string }
	faster, slower, heavier := map[key]bool{}, map[key]bool{}, map[key]bool{}
	for _, r := range c.Rows {
		k := key{r.Pkg, r.Name}
		time := r.What.IsTime()
		switch {
		case time && r.Verdict == report.Better:
			faster[k] = true
		case time && r.Verdict == report.Worse:
			slower[k] = true
		case r.Verdict == report.Worse:
			heavier[k] = true
		}
	}
	var notes []string
	unpaid := 0
	for k := range heavier {
		if !faster[k] {
			unpaid++
		}
	}
	if paid := len(heavier) - unpaid; paid > 0 {
		notes = append(notes, fmt.Sprintf("%s for less time with more memory or allocations", benchmarksPay(paid)))
	}
	switch {
	case len(slower) > 0:
		if len(faster) > 0 {
			notes = append(notes, fmt.Sprintf("slower in %s, faster in %d", counted(len(slower), "benchmark"), len(faster)))
		}
		return report.PaceSlower, notes
	case unpaid > 0:
		return report.PaceHeavier, notes
	case len(faster) > 0:
		return report.PaceFaster, notes
	case c.TimeDecided() || len(c.Identical) > 0 && len(c.Rows) == 0:
		return report.PaceSame, notes
	}
	return report.PaceUnknown, notes
}

func benchmarksPay(n int) string {
	if n == 1 {
		return "1 benchmark pays"
	}
	return fmt.Sprintf("%d benchmarks pay", n)
}
