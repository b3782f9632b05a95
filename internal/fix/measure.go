package fix

import (
	"cmp"
	"context"
	"errors"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/hone-perf/hone/internal/duel"
	"github.com/hone-perf/hone/internal/prove"
	"github.com/hone-perf/hone/internal/recording"
	"github.com/hone-perf/hone/internal/report"
	"github.com/hone-perf/hone/internal/verdict"
)

// leastLimit is what benchmarks get however little time is left: less tells nothing on a busy machine. They end when the answer is certain.
const leastLimit = 12 * time.Second

// steady is how long the machine is taken for as noisy as it was.
const steady = 3 * time.Minute

// A noise is how much a machine disturbs some benchmarks.
type noise struct {
	of   string // packages and benchmarks
	took time.Time
	*duel.Noise
}

// faster runs benchmarks against each other. Patches that are tried one after the other have much the same, and how much noise there is
// need not be found out for each.
func (r *run) faster(ctx context.Context, race prove.Race) (prove.Speed, error) {
	race.Limit = max(race.Limit, leastLimit)
	began := time.Now()
	of := strings.Join(race.Packages, " ") + " " + race.Bench
	if r.noise.of == of && time.Since(r.noise.took) < steady {
		race.Noise = r.noise.Noise
	}
	s, err := r.compare(ctx, race)
	if err != nil {
		return s, err
	}
	if s.Noise != nil && race.Noise == nil {
		r.noise = noise{of, time.Now(), s.Noise}
	}
	c := s.Report
	if c == nil {
		return s, nil
	}
	// Of a dozen benchmarks one may well seem a little slower by chance. Those that do are asked once more.
	if names := hardlySlower(c.Rows); len(names) > 0 && r.opt.Workload == nil {
		race.Limit = max(race.Limit-time.Since(began), leastLimit)
		race.Bench, race.Noise, race.Enough = "^("+strings.Join(names, "|")+")$", s.Noise, nil
		second, err := prove.Faster(ctx, race)
		if err != nil {
			return s, err
		}
		if now := second.Report; now != nil {
			c.Rows = askedAgain(c.Rows, now.Rows)
			s.Pace, s.Notes = verdict.Pace(c)
		}
	}
	return s, nil
}

// leastOthers is what all benchmarks together get that were not asked for.
const leastOthers = leastLimit / 2

// askedFirst runs the benchmarks that the user named against each other, and then the others that reach the change: in little time, which shows
// whether one allocates more or is slower for sure. With the time shared by dozens, none would be decided on a busy machine.
func (r *run) askedFirst(ctx context.Context, y *trial, race prove.Race) (prove.Speed, error) {
	if r.opt.Benchmarks == nil || race.Generated || !isPart(r.opt.Benchmarks.Bench, race.Names) {
		return r.faster(ctx, race)
	}
	asked := race
	asked.Bench = r.opt.Benchmarks.Bench
	first, err := r.faster(ctx, asked)
	if err == nil && (first.Report == nil || len(first.Report.Rows) == 0) {
		return r.faster(ctx, race) // other benchmarks than those profiled reach it
	}
	if err != nil || y.vain != "" {
		return first, err
	}
	race.Limit, race.Noise = leastOthers, cmp.Or(first.Noise, r.noise.Noise)
	race.Enough = func(d *recording.Duel) bool {
		y.vain = slowerForSure(d)
		return y.vain != ""
	}
	second, err := r.compare(ctx, race)
	if errors.Is(err, duel.ErrNoTime) || err == nil && second.Report == nil {
		return first, nil
	}
	if err != nil {
		return first, err
	}
	first.Report.Rows = append(first.Report.Rows, worseBeside(first.Report.Rows, second.Report.Rows)...)
	first.Failed = append(first.Failed, second.Failed...)
	first.Pace, first.Notes = verdict.Pace(first.Report)
	return first, nil
}

// isPart reports whether a -bench pattern selects at least one of these benchmarks, and may leave out others.
func isPart(pattern string, names []string) bool {
	top, _, below := strings.Cut(pattern, "/")
	re, err := regexp.Compile(top)
	if pattern == "" || err != nil {
		return false
	}
	matches := 0
	for _, name := range names {
		if re.MatchString(name) {
			matches++
		}
	}
	return matches > 0 && (below || matches < len(names))
}

// worseBeside returns rows of benchmarks that are not among the first ones and got worse: what was asked for has to gain, and nothing may lose.
func worseBeside(first, rows []report.CompareRow) (out []report.CompareRow) {
	for _, row := range rows {
		known := slices.ContainsFunc(first, func(f report.CompareRow) bool { return f.Pkg == row.Pkg && f.Name == row.Name })
		if !known && row.Verdict == report.Worse {
			out = append(out, row)
		}
	}
	return out
}

// hardlySlower returns patterns of the benchmarks that seem slower, and may be so by next to nothing, where others are faster for sure.
func hardlySlower(rows []report.CompareRow) (names []string) {
	gain := false
	for i := range rows {
		row := &rows[i]
		if !row.What.IsTime() {
			continue
		}
		gain = gain || row.Verdict == report.Better
		least := row.Lo - 1
		if row.What == report.Throughput {
			least = 1 - row.Hi
		}
		if row.Verdict == report.Worse && least < maxDoubt {
			name, _, _ := strings.Cut(row.Name, "/")
			if name = regexp.QuoteMeta("Benchmark" + strings.TrimPrefix(name, "Benchmark")); !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
	}
	if !gain {
		return nil
	}
	return names
}

// askedAgain returns rows with those about time in the place of which there is one of a second time.
func askedAgain(rows, second []report.CompareRow) []report.CompareRow {
	out := slices.Clone(rows)
	for i := range out {
		j := slices.IndexFunc(second, func(s report.CompareRow) bool {
			return s.Pkg == out[i].Pkg && s.Name == out[i].Name && s.What == out[i].What
		})
		if j >= 0 && out[i].What.IsTime() {
			out[i] = second[j]
		}
	}
	return out
}
