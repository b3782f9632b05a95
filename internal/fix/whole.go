package fix

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/hone-perf/hone/internal/patch"
	"github.com/hone-perf/hone/internal/prove"
)

// whole compares the code as it was with all that was kept.
func (r *run) whole(ctx context.Context) error {
	all := &patch.Patch{Dir: r.mod}
	for _, name := range r.changed() {
		is, err := os.ReadFile(r.at(r.old, name))
		if err != nil {
			return err
		}
		all.Set(filepath.Join(r.mod, filepath.FromSlash(name)), r.first(name), is)
	}
	r.out.Patch = all.Diff()
	if len(r.out.Kept) == 1 {
		r.out.Whole = r.out.Kept[0].Speed
		return nil
	}
	var race prove.Race
	if r.opt.Workload != nil {
		return r.wholeOf(ctx, race)
	}
	var names []string
	for _, one := range r.races {
		race.Live = race.Live || one.Live
		for _, dir := range one.Packages {
			if !slices.Contains(race.Packages, dir) {
				race.Packages = append(race.Packages, dir)
			}
		}
		for _, name := range one.Names {
			if !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
	}
	if len(names) == 0 {
		return nil
	}
	slices.Sort(names)
	race.Bench = "^(" + strings.Join(names, "|") + ")$"
	race.Skip = func(name string) bool {
		top, _, _ := strings.Cut(name, "/")
		return !slices.ContainsFunc(r.races, func(one prove.Race) bool {
			return slices.Contains(one.Names, "Benchmark"+top) && (one.Skip == nil || !one.Skip(name))
		})
	}
	return r.wholeOf(ctx, race)
}

// wholeOf compares the code as it was with all that was kept.
func (r *run) wholeOf(ctx context.Context, race prove.Race) error {
	// The one copy has all that was kept; the other becomes what it was in the beginning.
	if err := r.restore(); err != nil {
		return err
	}
	race.Old, race.New = prove.Version{Name: "as it was", Dir: r.copyOf(r.now)}, prove.Version{Name: "with all fixes", Dir: r.copyOf(r.old)}
	race.Budget, race.NoWhy = max(r.opt.Each/3, 2*time.Second), true
	r.opt.Say("comparing the original code with all kept fixes")
	s, err := r.compare(ctx, race)
	if err != nil {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		r.note("all fixes together could not be compared with the original code: %v", err)
		return nil
	}
	if c := s.Report; c != nil {
		r.out.Whole = c.Rows
	}
	return nil
}
