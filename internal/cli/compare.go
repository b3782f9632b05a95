package cli

import (
	"cmp"
	"context"
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

	"github.com/hone-perf/hone/internal/duel"
	"github.com/hone-perf/hone/internal/duel/server"
	"github.com/hone-perf/hone/internal/hint"
	"github.com/hone-perf/hone/internal/open"
	"github.com/hone-perf/hone/internal/query"
	"github.com/hone-perf/hone/internal/recording"
	"github.com/hone-perf/hone/internal/report"
	"github.com/hone-perf/hone/internal/stat"
	"github.com/hone-perf/hone/internal/unit"
	"github.com/hone-perf/hone/internal/view"
	"github.com/hone-perf/hone/internal/view/benchview"
)

const compareHelp = `Find out whether a change is faster: run the benchmarks of two versions against each other.

A..B are two git revisions. A alone is compared with the working tree. Without either, hone
compares the working tree with the commit where your branch left main. Two folders, or two
test programs (go test -c), work as well. Packages come last (default ./...). -bench and the
build flags are those of the go command.

--old-go, --old-env and --old-flags, and the same with new, select the Go version, environment
variables and build flags of one side. Without A..B, both sides are then the working tree. A
setting of one side does not affect the other. If the sides differ only in variables that
matter at run time, such as GOGC, hone builds once. In --cmd, {program} stands for the main
package that comes last.

Both versions of a benchmark run at the same time on one core, and hone compares their CPU
time, so other load on the machine affects both alike. Benchmarks that use several cores,
wait, or differ more than threefold take turns. hone goes on until each benchmark is decided
(faster, slower, or the same within a threshold) or its time is up.

With --load, the package is a server. hone starts the two versions in turns under the same
load, and compares what a request costs and how long it takes.

With --gate, the exit code is 3 when the new side is slower, needs more memory or fails.
Otherwise it is 4 when hone could not decide whether anything takes longer. With
--gate=undecided it is also 4 when any row is undecided or missing.`

const compareExamples = `  hone compare
  hone compare main..HEAD ./codec -bench=Decode
  hone compare v1.4.0 --gate --md > report.md
  hone compare old/ new/ -bench=.
  hone compare old.test new.test
  hone compare old.txt new.txt    # files of benchmark lines
  hone compare --cmd './old <in' --cmd './new <in'
  hone compare --old-go 1.26.5 --new-go 1.27.3 ./...
  hone compare --new-env GOGC=200 --new-env GOMEMLIMIT=1GiB ./codec
  hone compare --cmd '{program} -n 100' --new-flags -pgo=off ./cmd/app
  hone compare --load '127.0.0.1:{port}/ -c 8 -t 3s' main..HEAD ./cmd/server -- -addr 127.0.0.1:{port}
  hone compare before.hone after.hone    # load runs
  hone compare -o change.hone     # then: hone compare change.hone`

type compareFlags struct {
	budget   time.Duration
	count    bool
	live     bool
	within   string
	alpha    float64
	how      string
	layouts  int
	newTests bool
	offerNew bool // newTests could measure benchmarks that only the new side has
	gate     string
	raw      string
	noWhy    bool
	commands []string
	load     string
	server   []string // arguments of the server
	settings settingFlags

	keepSecrets bool
}

func compareCommand(v *view.View, sys *System) *cobra.Command {
	var f compareFlags
	cmd := &cobra.Command{
		Use:                "compare [A..B | A | OLD NEW] [PACKAGE…]",
		Short:              v.Doc,
		Long:               compareHelp,
		Example:            compareExamples,
		GroupID:            groupProve,
		DisableFlagParsing: true, // flags of the go command have one dash
	}
	if !sys.names(cmd) {
		return cmd
	}
	flags := cmd.Flags()
	flags.Var(&secondsFlag{&f.budget}, budgetFlag, "how long each benchmark may take (default 20s)")
	flags.StringVar(&f.within, "within", "", "count only changes that are surely larger than `SHARE`, such as 2% (default: all that this machine can resolve, from 1%)")
	flags.Float64Var(&f.alpha, "alpha", stat.DefaultAlpha, "accept the chance `P` of a false verdict, for each benchmark")
	flags.Var(&choiceFlag{&f.how, []string{recording.Duet, recording.Alternate}}, "how", "run every benchmark this `WAY`: duet (both sides on one core) or alternate (in turns)")
	flags.IntVar(&f.layouts, "layouts", 1, "link each side `N` times with the functions in different orders, because code layout alone changes times")
	flags.BoolVar(&f.newTests, "new-tests", false, "run the new side's benchmarks on both sides, so that new ones can be compared")
	flags.Var(&choiceFlag{&f.gate, []string{report.Worse, report.Undecided}}, "gate", "exit with 3 when something is worse; with `WHAT` undecided, also exit with 4 when a row is undecided")
	flags.Lookup("gate").NoOptDefVal = "worse"
	flags.StringArrayVar(&f.commands, "cmd", nil, "compare two shell `COMMAND`s instead, the old one first; one is enough with {program} or settings")
	flags.StringVar(&f.load, "load", "", "compare two versions of a server under load: `ARGS` of hone load; the server's own arguments come after --")
	flags.BoolVar(&f.count, "count", false, "also count instructions under valgrind; other load on the machine hardly changes the count")
	flags.BoolVar(&f.live, "live", false, "also measure the peak of the live heap, in separate runs")
	flags.BoolVar(&f.noWhy, "no-why", false, "do not profile to explain what changed")
	f.settings.add(flags)
	flags.StringVar(&f.raw, "raw", "", "also write old.txt and new.txt into `FOLDER`, for benchstat")
	keepSecretsFlag(flags, &f.keepSecrets)
	cmd.RunE = withArguments(func(cmd *cobra.Command, build, test, args, behind []string) error {
		f.server = behind
		if f.load == "" && len(behind) > 0 {
			return usagef("--load compares servers, which may have some", "%s: arguments after -- are for a server", strings.Join(behind, " "))
		}
		return compare(cmd, sys, &f, build, test, args)
	})
	return cmd
}

func compare(cmd *cobra.Command, sys *System, f *compareFlags, build, test, args []string) error {
	out, err := outputOf(cmd, sys)
	if err != nil {
		return err
	}
	if f.gate != "" && len(args) > 0 && (args[0] == report.Worse || args[0] == report.Undecided) {
		f.gate, args = args[0], args[1:] // --gate undecided
	}
	if err := f.check(args); err != nil {
		return err
	}
	if f.within != "" && !runs(f, args) {
		return usagef("", "--within is for running benchmarks, but %s already has results", args[0])
	}
	set := f.settings.given()
	if set != "" && !runs(f, args) {
		return usagef("name packages, revisions, folders or a test program", "%s is for running benchmarks, but %s already has results", set, args[0])
	}
	save := ""
	if strings.HasSuffix(out.file, ".hone") {
		// The recording goes to the file; the answer still goes to standard output.
		save, out.file = out.file, ""
		if _, err := os.Stat(save); err == nil {
			return withHint(fmt.Errorf("%s: file already exists", save), "choose another name with -o, or remove the file")
		}
	}
	if save != "" && !runs(f, args) {
		return usagef("", "-o %s: the comparison is recorded already; .json, .csv and .md write its report", save)
	}
	if len(args) == 1 && (recording.IsRecording(args[0]) || strings.HasSuffix(args[0], ".hone")) {
		return compared(cmd.Context(), sys, out, f, args[0])
	}
	if len(args) == 2 && recording.IsRecording(args[0]) && recording.IsRecording(args[1]) {
		return compareLoadRuns(cmd.Context(), sys, out, f, args[0], args[1])
	}
	if len(args) == 2 && f.commands == nil {
		if shown, err := compareBenchFiles(sys, out, f, args[0], args[1]); shown || err != nil {
			return err
		}
	}
	opt, err := f.options(sys.Dir, build, test)
	if err != nil {
		return err
	}
	say := newSaying(sys)
	opt.Say = say.now
	ctx := cmd.Context()
	say.now("preparing both versions")
	done, err := sidesOf(cmd, sys, &opt, args, f.settings.settings())
	say.now("")
	defer done()
	err = settingError(err)
	if err != nil {
		return err
	}
	began := time.Now()
	var d *recording.Duel
	if f.load == "" {
		d, err = duel.Run(ctx, opt)
	} else {
		d, err = underLoad(sys, f.load, f.server).Duel(ctx, &opt, server.Least)
	}
	say.now("")
	var tooFine *duel.TooFineError
	var broken error
	switch {
	case d != nil && ctx.Err() != nil && measured(d):
		d.Notes = append(d.Notes, "interrupted: this was measured so far")
	case errors.As(err, &tooFine):
		return withHint(err, "--within="+unit.Share(math.Ceil(1000*tooFine.Floor)/1000)+" or more is detectable; or run on a machine with less other load")
	case errors.Is(err, duel.ErrNoValgrind):
		return withHint(err, "install valgrind, or drop ", hint.Option{Name: "count"})
	case errors.Is(err, duel.ErrNothing):
		return withHint(fmt.Errorf("%w match in %s", err, cmp.Or(strings.Join(opt.Packages, " "), "./...")), hint.Option{Name: "bench", Value: "."}, " matches all; go test -list Benchmark lists those of a package")
	case err != nil && (d == nil || !measured(d)):
		return err
	case err != nil:
		d.Notes = append(d.Notes, "stopped by an error; these are partial results")
		broken = err
	}
	if f.raw != "" {
		if err := writeRaw(f.raw, d); err != nil {
			return err
		}
	}
	if save != "" {
		if err := saveDuel(sys, save, d, began, f.keepSecrets); err != nil {
			return err
		}
	}
	f.offerNew = !f.newTests && f.load == "" && f.commands == nil && opt.Old.File == ""
	err = finished(ctx, showCompare(sys, out, f, recording.Versions.Of("compare", d)))
	if broken != nil {
		return errors.Join(broken, err)
	}
	return err
}

// check refuses values of flags, and flags that do not go together.
func (f *compareFlags) check(args []string) error {
	switch {
	case f.alpha <= 0 || f.alpha > 0.2:
		return usagef("", "--alpha=%v: want a chance above 0 and at most 0.2", f.alpha)
	case f.layouts < 1 || f.layouts > 50:
		return usagef("", "--layouts=%d: want 1 to 50", f.layouts)
	case f.count && (f.load != "" || f.commands != nil || !runs(f, args)):
		return usagef("", "--count counts instructions of benchmarks, but none are run here")
	case f.live && (f.load != "" || f.commands != nil || !runs(f, args)):
		return usagef("", "--live watches the heap of benchmarks, but none are run here")
	}
	return nil
}

// options returns the options of a duel that flags give.
func (f *compareFlags) options(dir string, build, test []string) (duel.Options, error) {
	opt := duel.Options{Flags: build, Budget: f.budget, NewTests: f.newTests, How: f.how, Layouts: f.layouts, NoWhy: f.noWhy, Count: f.count, Live: f.live}
	opt.Plan.Alpha = f.alpha
	opt.Dir = dir
	if f.within != "" {
		var err error
		opt.Plan.Surely = true
		if opt.Plan.Within, err = shareOf(f.within); err != nil {
			return opt, usagef("for example: --within=2%", "--within=%s: want a share above 0 and below 100%%", f.within)
		}
	}
	for _, t := range test {
		name, value, _ := strings.Cut(strings.TrimPrefix(t, "-test."), "=")
		if name != "bench" {
			return opt, noTestFlag("compare", "decides itself how often and how long to run", "-bench and the flags of go build", t)
		}
		opt.Bench = value
	}
	switch n := len(f.commands); {
	case n == 0:
	case n == 2:
		opt.Commands = &[2]string{f.commands[0], f.commands[1]}
	case n == 1 && (f.settings.given() != "" || duel.NamesProgram(f.commands[0])):
		opt.Commands = &[2]string{f.commands[0], f.commands[0]}
	default:
		return opt, usagef("for example: hone compare --cmd ./old --cmd ./new", "give --cmd twice, the old command first; got %d", len(f.commands))
	}
	return opt, nil
}

// saveDuel writes the recording of a duel.
func saveDuel(sys *System, save string, d *recording.Duel, began time.Time, keepSecrets bool) error {
	m := &recording.Manifest{
		Format: recording.Format, Hone: version(), How: recording.Dueled, Dir: sys.Dir,
		Command: append([]string{"hone"}, passable(sys.args)...), Started: began.In(sys.Zone), Ended: time.Now().In(sys.Zone),
		KeepSecrets: keepSecrets,
	}
	hidden, err := recording.SaveDuel(save, m, d)
	if err != nil {
		return fmt.Errorf("writing %s: %w", save, err)
	}
	sayHidden(sys, "recording", hidden)
	return nil
}

// compareBenchFiles compares two files of benchmark lines, if both args are such files.
func compareBenchFiles(sys *System, out output, f *compareFlags, old, new string) (bool, error) {
	before, err := open.Lines(old)
	if before == nil || err != nil {
		return false, err
	}
	after, err := open.Lines(new)
	if after == nil && err == nil {
		err = fmt.Errorf("%s has benchmark lines, but %s has none", old, new)
	}
	if err != nil {
		return false, err
	}
	return true, showCompare(sys, out, f, after, before)
}

// compared shows a recorded comparison.
func compared(ctx context.Context, sys *System, out output, f *compareFlags, ref string) error {
	rec, _, err := openPart(ctx, sys, view.Versions, ref)
	var none *open.NoPartError
	var other *open.NotRecordingError
	switch {
	case errors.As(err, &none):
		return withHint(fmt.Errorf("%s has no comparison", ref), hint.Ask("compare").With("o", "FILE.hone"), " records one")
	case errors.As(err, &other):
		return other.Why()
	case err != nil:
		return err
	}
	defer rec.Close()
	return showCompare(sys, out, f, rec)
}

// lookCompare is the first look at a recorded comparison.
func lookCompare(sys *System, out output, rec *recording.Recording) error {
	r, err := benchview.Compare([]*recording.Recording{rec}, query.Query{View: "compare"})
	if err != nil {
		return err
	}
	c := r.(*report.Compare)
	compare := hint.Ask("compare", rec.Ref)
	c.Next = []hint.Command{
		hint.Ask("web", rec.Ref).For("in a browser, with flame graphs of what changed"),
		compare.With("md", "").For("for a pull request"),
		compare.With("gate", "").For("exit code 3 when something is worse"),
	}
	return out.write(sys, c)
}

func showCompare(sys *System, out output, f *compareFlags, in ...*recording.Recording) error {
	r, err := benchview.Compare(in, query.Query{View: "compare"})
	if err != nil {
		return err
	}
	c := r.(*report.Compare)
	if f.offerNew && slices.ContainsFunc(c.Missing, func(a report.CompareAbsent) bool { return a.Side == report.NewSide }) {
		c.Notes.Add(hint.Option{Name: "new-tests"}, " runs the benchmarks of the new side on both sides")
	}
	if err := out.write(sys, c); err != nil {
		return err
	}
	return gateOf(sys, f.gate, c)
}

// runs reports whether hone compare runs something, rather than reads files.
func runs(f *compareFlags, args []string) bool {
	if f.commands != nil || f.load != "" || len(args) == 0 {
		return true
	}
	st, err := os.Stat(args[0])
	if err != nil || !st.Mode().IsRegular() {
		return true
	}
	file, err := os.Open(args[0])
	if err != nil {
		return true
	}
	defer file.Close()
	return open.IsProgram(file)
}

func measured(d *recording.Duel) bool {
	for _, b := range d.Benchmarks {
		if len(b.Pairs) > 0 {
			return true
		}
	}
	return false
}

// gateOf returns an error with the exit code of --gate, or nil if the comparison passes the gate.
func gateOf(sys *System, gate string, c *report.Compare) error {
	if gate == "" {
		return nil
	}
	worse, undecided := c.Worst()
	unclear := c.Unclear()
	failed := len(c.FailedByChange())
	open := fmt.Sprintf("%s undecided, %d missing, %d failed", unit.Counted(undecided, "row"), len(c.Missing), len(c.Failed))
	if unclear > 0 {
		// Benchmarks can print it as a line such as "Unit widgets better=lower".
		open += fmt.Sprintf(", %d changed in units where it is unknown whether more is better", unclear)
	}
	switch {
	case worse > 0 || failed > 0:
		return &exited{exitGate, fmt.Errorf("gate failed: %s worse, %s", unit.Counted(worse, "row"), unit.Counted(failed, "failure"))}
	case !c.TimeDecided() && len(c.Identical) == 0:
		return &exited{exitUndecided, errors.New("gate undecided: could not decide whether anything takes longer; in all, " + open)}
	case undecided+unclear+len(c.Missing)+len(c.Failed) == 0:
		return nil
	case gate == report.Undecided:
		return &exited{exitUndecided, errors.New("gate undecided: " + open)}
	}
	note(sys, "gate passed, but %s; --gate=undecided fails then", open)
	return nil
}

// shareOf parses 2% or 0.02.
func shareOf(s string) (float64, error) {
	number, percent := strings.CutSuffix(s, "%")
	x, err := strconv.ParseFloat(number, 64)
	if percent {
		x /= 100
	}
	if err == nil && !(x > 0 && x < 1) {
		err = errors.New("out of range")
	}
	return x, err
}

// writeRaw writes the measurements of both sides as benchmark lines.
func writeRaw(dir string, d *recording.Duel) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	for _, side := range []string{"old", "new"} {
		f, err := os.Create(filepath.Join(dir, side+".txt"))
		if err != nil {
			return err
		}
		if err := errors.Join(duel.WriteLines(f, d, side), f.Close()); err != nil {
			return err
		}
	}
	return nil
}
