package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/hone-perf/hone/internal/duel"
	"github.com/hone-perf/hone/internal/profile"
	"github.com/hone-perf/hone/internal/prove"
	"github.com/hone-perf/hone/internal/query"
	"github.com/hone-perf/hone/internal/recording"
	"github.com/hone-perf/hone/internal/report"
	"github.com/hone-perf/hone/internal/view"
)

const proveHelp = `Say what can be said for a change: that it builds, passes the tests of both versions
without races, and does the same as before.

The change is the working tree against where your branch left the main one, or against
BASE; two revisions, A..B; a file with a patch; or two folders. Every function that changed, and what uses it,
is called in both versions, side by side, with arguments that are made up from the code,
its tests, and experience: results, errors, panics, changed arguments, what is written, and
the answers to HTTP requests are compared. No difference after many calls is no proof in
the sense of mathematics; the answer says how many there were and how far they reached.

Functions that can remove files, run programs, talk to other machines or end the process
are not called with made-up arguments. What is behind -- is given to the program of the
package, in both versions, and what it prints is compared.

--faster runs the benchmarks that reach what changed against each other, too, as hone
compare does; where none does, some are generated from calls that both versions answer alike.

Exit code 3 says that the versions differ, or that the new one is slower, or needs more
memory and is not faster for it; with --fail-undecided, 4 says that not all of the change
could be tried, or that how fast it is could not be told.`

const proveExamples = `  hone prove
  hone prove main --time 5m
  hone prove v1.2.0..v1.3.0
  hone prove faster.patch
  hone prove stage1 stage2
  hone prove --md -o proof.md main
  hone prove stage1 stage2 -- -n 3`

func proveCommand(sys *System) *cobra.Command {
	var opt prove.Options
	var undecided, faster bool
	cmd := &cobra.Command{
		Use:     "prove [flags] [BASE | A..B | PATCH | OLDDIR NEWDIR] [-- ARGS…]",
		Short:   "does a change do the same as before?",
		Long:    proveHelp,
		Example: proveExamples,
		GroupID: groupProve,
	}
	if !sys.names(cmd) {
		return cmd
	}
	flags := cmd.Flags()
	flags.Var(&secondsFlag{&opt.Time}, "time", "how long to look for differences, and with --faster half of it for the benchmarks; 60s when not given")
	flags.IntVar(&opt.Executions, "calls", 0, "stop after `N` calls about each function, in place of --time")
	flags.Uint64Var(&opt.Seed, "seed", 0, "make up other calls, those of `N`")
	flags.StringVar(&opt.Only, "func", "", "compare one `FUNCTION` only, such as Parse or Type.Method")
	flags.BoolVar(&opt.Strict, "strict", false, "count nil against empty, and texts of errors, as differences, too")
	flags.BoolVar(&opt.NoTests, "no-tests", false, "leave out building, vet and tests")
	flags.BoolVar(&faster, "faster", false, "compare how fast they are, too")
	flags.BoolVar(&undecided, "fail-undecided", false, "exit with 4 when not all of the change could be tried")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if n := cmd.ArgsLenAtDash(); n >= 0 {
			args, opt.Args = args[:n], append([]string{}, args[n:]...)
		}
		if opt.Executions < 0 {
			return usagef("", "--calls %d: want a number of calls", opt.Executions)
		}
		if faster {
			opt.Faster = runFaster
		}
		return runProve(cmd, sys, opt, undecided, args)
	}
	return cmd
}

func runProve(cmd *cobra.Command, sys *System, opt prove.Options, undecided bool, args []string) error {
	out, err := outputOf(cmd, sys)
	if err != nil {
		return err
	}
	if slices.Contains([]string{"html", "svg", "png"}, out.format) {
		return usagef("hone prove -o proof.md writes one for a pull request", "%s: a verdict has no picture", out.file)
	}
	say := &saying{sys: sys, on: width(sys.Err) > 0}
	opt.Say = say.now
	change, err := prove.Open(cmd.Context(), sys.Dir, args)
	if errors.Is(err, prove.ErrAsked) {
		return &usageError{err, "for example: hone prove, hone prove main, hone prove A..B, hone prove OLDDIR NEWDIR"}
	}
	if err != nil {
		return err
	}
	defer change.Close()
	proof, err := prove.Run(cmd.Context(), change, opt)
	say.now("")
	if err != nil {
		return err
	}
	if err := out.write(sys, proof); err != nil {
		return err
	}
	switch {
	case proof.Verdict == report.Different, proof.Verdict == report.Slower, proof.Verdict == report.Heavier:
		return &exited{exitGate, nil}
	case (proof.Verdict == report.NotProven || proof.Pace == report.PaceUnknown) && undecided:
		return &exited{exitUndecided, nil}
	}
	return nil
}

// runFaster runs benchmarks of two versions against each other.
func runFaster(ctx context.Context, race prove.Race) (prove.Speed, error) {
	side := func(v prove.Version) duel.Side {
		return duel.Side{DuelSide: recording.DuelSide{Name: v.Name}, Dir: v.Dir}
	}
	d, err := duel.Run(ctx, duel.Options{
		Old: side(race.Old), New: side(race.New), Packages: race.Packages, Bench: race.Bench, Flags: race.Flags, Budget: race.Budget, NoWhy: race.NoWhy,
	})
	if errors.Is(err, duel.ErrNothing) {
		return prove.Speed{Notes: []string{"there are no benchmarks that both versions have: whether it is faster is not known"}}, nil
	}
	if err != nil {
		return prove.Speed{}, err
	}
	for i := range d.Why {
		d.Why[i].Old = renamed(d.Why[i].Old, race.Renamed)
	}
	r, err := view.Compare([]*recording.Recording{{Ref: "compare", Duel: d}}, query.Query{View: "compare"})
	if err != nil {
		return prove.Speed{}, err
	}
	c := r.(*report.Compare)
	for i, n := range c.Notes {
		c.Notes[i] = strings.ReplaceAll(n, "--budget gives more", "--time gives more")
	}
	s := prove.Speed{Report: c}
	for _, f := range c.Failed {
		if !strings.HasPrefix(f.Why, "fails on the old side") {
			s.Failed = append(s.Failed, f.Name+" "+f.Why)
		}
	}
	s.Pace, s.Notes = paceOf(c)
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

// paceOf sums up a comparison: what takes longer anywhere is slower, whatever is won elsewhere; more memory is too much
// where no time is won for it.
func paceOf(c *report.Compare) (report.Pace, []string) {
	type key struct{ pkg, name string }
	faster, slower, heavier := map[key]bool{}, map[key]bool{}, map[key]bool{}
	for _, r := range c.Rows {
		k := key{r.Pkg, r.Name}
		time := slices.Contains([]string{"CPU time", "time", "throughput"}, r.What)
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
