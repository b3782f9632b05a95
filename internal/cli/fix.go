package cli

import (
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/hone-perf/hone/internal/advise"
	"github.com/hone-perf/hone/internal/capture"
	"github.com/hone-perf/hone/internal/fix"
	"github.com/hone-perf/hone/internal/gocmd"
	"github.com/hone-perf/hone/internal/gotypes"
	"github.com/hone-perf/hone/internal/hint"
	"github.com/hone-perf/hone/internal/open"
	"github.com/hone-perf/hone/internal/report"
	"github.com/hone-perf/hone/internal/source"
	"github.com/hone-perf/hone/internal/unit"
)

const fixHelp = `Try the patches of hone advise, and keep those that are proven: the program does the same, and
it is faster or allocates less.

For packages, hone runs and profiles the benchmarks. It tries the findings that save most
first, and then profiles again, because the hottest code has changed. It stops when no other
patch is proven to help, or after --budget. In packages without benchmarks, it profiles the
tests and made-up calls of exported functions. It then measures patches with benchmarks
generated from such calls, and with the tests that run long enough. A recording, profiles, or
those of a store are read once, and their findings are measured with the benchmarks of the module.

With --load, the package is a server, which hone builds, runs and loads like hone compare
--load. With --cmd, it is a program that ends, which hone runs many times in this folder with
these arguments. hone profiles that run, and a patch has to make it faster. The output of a
--cmd program has to stay the same.

All work is done on a copy of the module. A patch has to build, and to pass go vet and the
tests of its package and of all packages that use it, with the race detector if available.
Both versions have to do the same in made-up calls (see hone prove), even when hone overwrites
everything that is put back into a pool. The patch has to save --min-gain of the CPU time,
bytes or objects of a benchmark, and must not make any benchmark worse. hone writes a patch
that passes at once, each file as a whole. With --commit, it commits it to a new branch with
the evidence instead, and leaves the working tree as it is. It lists the other patches with
the reason, and does not try them again with the same version of hone.

With N, hone tries only finding N of hone advise; the exit code is 3 if it is not proven.`

const fixExamples = `  hone fix ./codec
  hone fix ./codec -bench=Encode --budget 5m
  hone fix --dry-run ./...
  hone fix --commit ./codec
  hone fix --cmd '-n 1000 <data.txt' ./cmd/tool
  hone fix --load '127.0.0.1:{port}/ -c 8 -t 3s' ./cmd/server -- -addr 127.0.0.1:{port}
  hone fix server.hone 2
  hone fix store:api@-1d --source ./api`

// fixFlags are the flags of hone fix.
type fixFlags struct {
	source     string
	all        bool
	dry        bool
	doubts     bool
	commit     bool
	branch     string
	budget     time.Duration
	each       time.Duration
	calls      int
	seed       uint64
	forget     bool
	minGain    shareFlag
	coreHour   priceFlag
	sourceOpts *source.Options
	workloadFlags
}

func fixCommand(sys *System) *cobra.Command {
	var f fixFlags
	cmd := &cobra.Command{
		Use:                "fix [flags] PACKAGE… | RECORDING | PROFILE… [N]",
		Short:              "Apply patches that are proven to help",
		Long:               fixHelp,
		Example:            fixExamples,
		GroupID:            groupAdvise,
		DisableFlagParsing: true, // flags of the go command have one dash
	}
	if !sys.names(cmd) {
		return cmd
	}
	flags := cmd.Flags()
	flags.BoolVar(&f.all, "all", false, "also try findings below 1%, and patches that were rejected before")
	flags.Var(&f.minGain, "min-gain", "keep patches that save at least this `SHARE` of a benchmark's CPU time, bytes or objects (default 3%; 0 keeps every proven patch)")
	flags.BoolVar(&f.dry, "dry-run", false, "write nothing; show the patches that would be kept")
	flags.BoolVar(&f.doubts, "doubts", false, "also write patches that show no difference, but are not proven")
	flags.BoolVar(&f.commit, "commit", false, "commit each fix to a new branch, and leave the working tree as it is")
	flags.StringVar(&f.branch, "branch", "", "commit to the new branch `NAME` (default hone-fix)")
	flags.Var(&secondsFlag{&f.budget}, budgetFlag, "limit on the whole run (default 10m)")
	flags.Var(&secondsFlag{&f.each}, "each", "for each patch, how long to look for differences and to run benchmarks (default 15s)")
	flags.IntVar(&f.calls, "calls", 0, "stop looking for differences after `N` calls of each function")
	flags.Uint64Var(&f.seed, "seed", 0, "use `N` as the seed for made-up calls")
	flags.BoolVar(&f.forget, "forget", false, "forget the patches that were rejected before in this module")
	flags.StringVar(&f.source, "source", "", "find the source of the recorded module in `DIR`")
	flags.Var(&f.coreHour, "core-hour", coreHourHelp)
	f.workloadFlags.add(flags)
	f.sourceOpts = sourceFlags(cmd)
	cmd.RunE = withArguments(func(cmd *cobra.Command, build, test, args, behind []string) error {
		f.server = behind
		return runFix(cmd, sys, &f, build, test, args)
	})
	return cmd
}

func runFix(cmd *cobra.Command, sys *System, f *fixFlags, build, test, args []string) error {
	out, err := outputOf(cmd, sys)
	if err != nil {
		return err
	}
	if out.pictured() || out.format == "sarif" {
		return usagef("hone fix -o fixes.md writes one for a pull request", "%s: fixes cannot be drawn as a picture", out.file)
	}
	opt := fix.Options{
		Dir: sys.Dir, All: f.all, DryRun: f.dry, Doubts: f.doubts, Budget: f.budget, Each: f.each, Calls: f.calls, Seed: f.seed, MinGain: f.minGain.v, CoreHour: f.coreHour.Price, Hone: version(),
	}
	if args, opt.Pick, err = pickOf(sys, args); err != nil {
		return err
	}
	workload, err := f.given("fix", cmd.Flags(), test, args)
	switch {
	case err != nil:
		return err
	case len(args) == 0:
		return usagef("for example: hone fix ./pkg, or hone fix cpu.pprof", "fix needs packages, a recording, or profiles")
	case f.calls < 0:
		return usagef("", "--calls %d: want a number of calls", f.calls)
	case f.dry && (f.commit || f.branch != ""):
		return usagef("use only one of them", "--dry-run writes nothing, but --commit commits")
	case f.commit || f.branch != "":
		opt.Commit = "hone-fix"
		if f.branch != "" {
			opt.Commit = f.branch
		}
	}
	opt.Refs = args
	cmd.Flags().Visit(func(flag *pflag.Flag) {
		if slices.Contains([]string{"all", "doubts", "min-gain", budgetFlag, "each", "calls", "seed", "source", "load", "cmd"}, flag.Name) {
			opt.Flags = append(opt.Flags, "--"+flag.Name+"="+flag.Value.String())
		}
	})
	for _, flag := range slices.Concat(build, test) {
		opt.Flags = append(opt.Flags, strings.Replace(flag, "-test.", "-", 1))
	}
	if workload || arePackages(sys, args) {
		if err := noLength(cmd); err != nil {
			return err
		}
		if f.source != "" {
			return usagef("change to that folder, or name its packages", "--source is for recordings, but %s are packages", strings.Join(args, " "))
		}
		var packages []string
		opt.Dir, packages = gocmd.Home(sys.Dir, args)
		if err := gotypes.Readable(cmd.Context(), opt.Dir, nil, packages...); err != nil {
			return err
		}
		if workload {
			opt.Workload, opt.Dir, err = f.of(cmd.Context(), sys, build, args[0], 0)
			opt.Arguments = f.server
		} else {
			opt.Benchmarks = new(capture.Benchmarks)
			*opt.Benchmarks, err = benchmarksOf("fix", build, test, packages)
			opt.Benchmarks.Count = 1
		}
		if err != nil {
			return err
		}
	} else {
		if given := append(build, test...); len(given) > 0 {
			return usagef("", "%s is for running benchmarks, but %s is already recorded", asTyped(given[0]), strings.Join(args, " "))
		}
		if opt.Dir, err = moduleDir(sys, f.source); err != nil {
			return err
		}
		for _, ref := range args {
			r, err := adviseInput(cmd, sys, f.sourceOpts, ref)
			if err != nil {
				return err
			}
			defer r.Close()
			opt.Recorded = append(opt.Recorded, r)
		}
	}
	if opt.Memory, err = refusals(sys, f.forget, opt.Dir); err != nil {
		return fixError(err, f, args, opt)
	}
	say := newSaying(sys)
	opt.Say = say.now
	opt.Done = tried(sys, say)
	opt.Note = func(text string) {
		say.now("")
		note(sys, "%s", text)
	}
	fixes, err := fix.Run(cmd.Context(), opt)
	say.now("")
	if fixes == nil {
		return fixError(err, f, args, opt)
	}
	if err := errors.Join(out.write(sys, fixes), fixError(err, f, args, opt)); err != nil {
		return err
	}
	if opt.Pick > 0 && len(fixes.Kept) == 0 {
		return &exited{exitGate, nil}
	}
	return nil
}

// tried returns a callback that prints the outcome of each patch.
func tried(sys *System, say *saying) func(x *report.Fixed, kept bool) {
	return func(x *report.Fixed, kept bool) {
		say.now("")
		what := "kept"
		switch {
		case kept:
		case x.Reason == "":
			what = "not proven"
		default:
			what = "not kept"
		}
		fmt.Fprintf(sys.Err, "hone: %s: %s: %s%s\n", what, x.Where, x.Fix, fixResult(x, kept, sys.speller()))
	}
}

// fixResult describes the largest gain of a patch in a few words, or why the patch is not kept.
func fixResult(x *report.Fixed, kept bool, by hint.Speller) string {
	if !kept {
		reason, _, _ := strings.Cut(x.Reason, "\n")
		if reason == "" && len(x.Doubts) > 0 {
			reason = x.Doubts[0].Text
		}
		if x.Try != nil {
			reason += "; " + x.Try.Spell(by)
		}
		return ": " + reason
	}
	var time, most *report.CompareRow
	gain := func(r *report.CompareRow) float64 {
		if r == nil || r.Verdict != report.Better {
			return 0
		}
		return math.Abs(r.Ratio - 1)
	}
	for i := range x.Speed {
		r := &x.Speed[i]
		if gain(r) > gain(most) {
			most = r
		}
		if r.What.IsTime() && gain(r) > gain(time) {
			time = r
		}
	}
	const much = 0.03 // a time gain of this much is what users look for; name it even if allocations fell by more
	if gain(time) >= much {
		most = time
	}
	if most == nil {
		return ""
	}
	return fmt.Sprintf(": %s of %s %s", most.What, most.Name, unit.Relative(most.Ratio))
}

// pickOf removes the number of a finding from the end of args.
func pickOf(sys *System, args []string) ([]string, int, error) {
	if len(args) < 2 {
		return args, 0, nil
	}
	last := args[len(args)-1]
	n, err := strconv.Atoi(last)
	if err != nil {
		return args, 0, nil
	}
	if _, err := os.Stat(filepath.Join(sys.Dir, last)); err == nil {
		return args, 0, nil // a file with a number as its name
	}
	if n < 1 {
		return nil, 0, &usageError{err: withHint(fmt.Errorf("%d: want the number of a finding", n), hint.Ask("advise", args[:len(args)-1]...), " numbers findings from 1")}
	}
	return args[:len(args)-1], n, nil
}

// refusals opens the list of patches that the user rejected. It belongs to the user, not to a module.
func refusals(sys *System, forget bool, dir string) (*fix.Memory, error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		note(sys, "rejected patches cannot be remembered: %v", err)
		return nil, nil
	}
	m, err := fix.OpenMemory(filepath.Join(cache, "hone", "refused.json"), version())
	if err != nil {
		return nil, withHint(err, "remove the file to start over")
	}
	if forget {
		n, err := m.Forget(dir)
		if err != nil {
			return nil, err
		}
		note(sys, "forgot %d rejected patches", n)
	}
	return m, nil
}

func fixError(err error, f *fixFlags, args []string, opt fix.Options) error {
	again := func(verb string) hint.Command {
		c := hint.Ask(verb, args...)
		if f.source != "" {
			c = c.With("source", f.source)
		}
		return c
	}
	switch {
	case err == nil:
		return nil
	case errors.As(err, new(*gocmd.NoModuleError)):
		return withHint(err, "for a recording, ", hint.Option{Name: "source", Value: "DIR"}, " names the folder of its module")
	case errors.Is(err, fix.ErrFlag):
		return &usageError{err, ""}
	case errors.Is(err, fix.ErrNoFinding):
		return &usageError{err: withHint(err, again("advise"), " lists them")}
	case errors.Is(err, advise.ErrNothing):
		return withHint(fmt.Errorf("%s: %w", open.Naming(args), err), "record for longer, or put the program under load")
	case errors.Is(err, os.ErrPermission):
		return withHint(err, again("fix").With("dry-run", ""), " shows the patches without writing them")
	case opt.Benchmarks != nil:
		return profilingError(err, "fix", args, *opt.Benchmarks)
	}
	return err
}
