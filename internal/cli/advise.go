package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/hone-perf/hone/internal/advise"
	"github.com/hone-perf/hone/internal/advise/rules"
	"github.com/hone-perf/hone/internal/gocmd"
	"github.com/hone-perf/hone/internal/gotypes"
	"github.com/hone-perf/hone/internal/open"
	"github.com/hone-perf/hone/internal/query"
	"github.com/hone-perf/hone/internal/recording"
	"github.com/hone-perf/hone/internal/report"
	"github.com/hone-perf/hone/internal/source"
)

const adviseHelp = `Find work that costs something and can be avoided. A finding has the line, the cause, and
the most that a fix could save. It has a patch if hone knows one that keeps the behavior.

The input is a recording, profiles, or a server. It can also be packages: hone then runs and
records their benchmarks, with the flags of go test. In packages without benchmarks, it
records the tests and made-up calls of exported functions. With --load or --cmd, hone builds,
runs and records a program: with --load a server under load, with the arguments of hone load;
with --cmd a program that ends, with the given arguments. Sources come from the module in this
folder, or in --source DIR. A note says which functions are left out because they have
changed since the recording.

Findings are ranked by what they could save: CPU including garbage collection counts in
full, bytes and objects a quarter each, live memory and time spent waiting half. A finding
without a patch counts half, and one for which hone knows no cheaper way a quarter. Findings
that would save less than --min are left out. A line that allocates, and for which no rule
knows a better way, has to make 15 times --min of all objects or bytes, and to take 5 times
--min of the CPU time. For code in other modules there is advice but no patch.

For profiles from a store, findings say what they cost all processes of the service together,
and are ranked by that: by cores, where 4 GB of live memory count as one. --core-hour '$0.04'
adds the price of a month. A store keeps no source files: they come from the module here.

There are two kinds of patches. For a mechanical patch, types and code show that nothing else
changes. An ownership patch reuses memory, and says who must not keep a reference to it. Every
patch compiles. hone prove checks whether a change does the same, and whether it is faster.

--sarif writes findings for code review, --format vim for the quickfix list of editors, and
--format github as annotations of a pull request. With --gate, the exit code is 3 when there are findings.`

const adviseExamples = `  hone advise server.hone
  hone advise cpu.pprof heap.pprof
  hone advise ./codec -bench=Encode
  hone advise --cmd '-n 1000 <data.txt' ./cmd/tool
  hone advise --load '127.0.0.1:{port}/' ./cmd/server -- -addr 127.0.0.1:{port}
  hone advise --finding 2 server.hone
  hone advise --core-hour '$0.04' store:api@-1d
  hone advise --md -o advice.md server.hone
  hone advise --format vim cpu.pprof
  hone advise --sarif -o advice.sarif --gate --min 5% server.hone`

// adviseFlags are the flags of hone advise.
type adviseFlags struct {
	source     string
	finding    int
	all        bool
	sarif      bool
	format     string
	gate       bool
	least      shareFlag
	budget     time.Duration
	coreHour   priceFlag
	sourceOpts *source.Options
	workloadFlags
}

// A priceFlag is a price, such as $0.04.
type priceFlag struct{ report.Price }

func (f *priceFlag) Set(text string) (err error) {
	f.Price, err = report.ParsePrice(text)
	return err
}

func (f *priceFlag) String() string {
	if f.Value == 0 {
		return ""
	}
	return f.Price.String()
}

func (f *priceFlag) Type() string { return "PRICE" }

// coreHourHelp is the help of the flag that takes a priceFlag.
const coreHourHelp = "`PRICE` of a core for an hour; for profiles from a store, findings then say what they cost in a month"

// adviseBudget is the default time limit for the tests that hone advise runs in packages without benchmarks.
const adviseBudget = 2 * time.Minute

func adviseCommand(sys *System) *cobra.Command {
	var f adviseFlags
	cmd := &cobra.Command{
		Use:                "advise [flags] RECORDING | PROFILE… | PACKAGE…",
		Short:              "Find what wastes time or memory, with line, cause and patch",
		Long:               adviseHelp,
		Example:            adviseExamples,
		GroupID:            groupAdvise,
		DisableFlagParsing: true, // flags of the go command have one dash
	}
	if !sys.names(cmd) {
		return cmd
	}
	flags := cmd.Flags()
	flags.StringVar(&f.source, "source", "", "find the source of the profiled module in `DIR`")
	flags.IntVar(&f.finding, "finding", 0, "show finding `N` in full")
	flags.BoolVar(&f.all, "all", false, "show all findings in full")
	flags.Var(&f.least, "min", "leave out findings that would save less than this `SHARE` of the total (default 1%)")
	flags.BoolVar(&f.sarif, "sarif", false, "write SARIF, for code review and editors")
	flags.Var(&choiceFlag{&f.format, findingFormats}, "format", "write findings as `FORMAT`: vim for editors (FILE:LINE:COLUMN: TEXT), github for annotations, or sarif")
	flags.BoolVar(&f.gate, "gate", false, "exit with 3 when there are findings")
	flags.Var(&secondsFlag{&f.budget}, budgetFlag, "limit on runs without benchmarks: tests, made-up calls, or a program (default 2m)")
	flags.Var(&f.coreHour, "core-hour", coreHourHelp)
	f.workloadFlags.add(flags)
	f.sourceOpts = sourceFlags(cmd)
	cmd.RunE = withArguments(func(cmd *cobra.Command, build, test, args, behind []string) error {
		f.server = behind
		return runAdvise(cmd, sys, &f, build, test, args)
	})
	return cmd
}

// A shareFlag is a part of a whole, such as 5% or 0.05. It is 0 when the flag is not given, and -1 when the user gave 0.
type shareFlag struct {
	v    float64
	text string
}

func (f *shareFlag) Set(text string) error {
	q, err := query.Parse("top min=" + text)
	if err != nil {
		return errors.New("want a share, such as 5% or 0.05")
	}
	f.v, f.text = q.Min, text
	return nil
}

func (f *shareFlag) String() string { return f.text }
func (f *shareFlag) Type() string   { return "SHARE" }

// findingFormats are the formats that only advise can write.
var findingFormats = []string{"vim", "github", "sarif"}

func runAdvise(cmd *cobra.Command, sys *System, f *adviseFlags, build, test, args []string) error {
	out, err := outputOf(cmd, sys)
	if err != nil {
		return err
	}
	switch {
	case f.sarif && slices.Contains([]string{"json", "csv", "markdown"}, out.format):
		return usagef("use only one of them", "--sarif cannot be combined with another format")
	case f.sarif:
		out.format = "sarif"
	}
	if f.format != "" {
		if f.sarif || slices.Contains([]string{"json", "csv", "markdown"}, out.format) {
			return usagef("use only one of them", "--format cannot be combined with another format")
		}
		out.format = f.format
	}
	if out.pictured() {
		return usagef("hone advise -o advice.md writes one for a pull request", "%s: advice cannot be drawn as a picture", out.file)
	}
	if f.finding < 0 {
		return wrongValue("finding", strconv.Itoa(f.finding), "want the number of a finding")
	}
	workload, err := f.given("advise", cmd.Flags(), test, args)
	if err != nil {
		return err
	}
	if len(args) == 0 {
		return usagef("for example: hone advise cpu.pprof, or hone advise ./pkg", "advise needs a recording, profiles, or packages")
	}
	var in []*recording.Recording
	refs, home := args, ""
	if workload || arePackages(sys, args) {
		if err := noLength(cmd); err != nil {
			return err
		}
		dir, packages := gocmd.Home(sys.Dir, args)
		if err := gotypes.Readable(cmd.Context(), dir, nil, packages...); err != nil {
			return err
		}
		if refs, home, err = f.profiled(cmd.Context(), sys, build, test, args); err != nil {
			return err
		}
	} else if f.budget > 0 {
		return usagef("", "--budget limits runs, but %s is already recorded", strings.Join(args, " "))
	} else if given := append(build, test...); len(given) > 0 {
		return usagef("", "%s is for running benchmarks, but %s is already recorded", asTyped(given[0]), strings.Join(args, " "))
	}
	for _, ref := range refs {
		r, err := adviseInput(cmd, sys, f.sourceOpts, ref)
		if err != nil {
			return err
		}
		in = append(in, r)
		defer r.Close()
	}
	dir, err := moduleDir(sys, f.source)
	if err != nil {
		return err
	}
	from := f.source
	if from == "" && home != "" {
		if dir = home; home != sys.Dir {
			from = relativeTo(sys.Dir, home)
		}
	}
	say := newSaying(sys)
	say.now("looking for expensive code")
	a, err := advise.Run(cmd.Context(), rules.All, in, advise.Options{Dir: dir, Flags: build, Least: f.least.v, CoreHour: f.coreHour.Price})
	say.now("")
	if errors.Is(err, advise.ErrNothing) {
		return withHint(fmt.Errorf("%s: %w", open.Naming(refs), err), "record for longer, or put the program under load")
	}
	if errors.Is(err, context.Canceled) {
		return err
	}
	if err != nil {
		return fmt.Errorf("%s: %w", open.Naming(refs), err)
	}
	a.Refs = refs
	if from != "" {
		sourcesIn(a, sys, from)
	}
	switch n := len(a.Findings); {
	case f.finding > 0 && n == 0:
		return wrongValue("finding", strconv.Itoa(f.finding), "there are no findings")
	case f.finding > n && n == 1:
		return wrongValue("finding", strconv.Itoa(f.finding), "there is only one")
	case f.finding > n:
		return wrongValue("finding", strconv.Itoa(f.finding), "there are only %d", n)
	}
	a.Show = f.finding
	if f.all || out.format == "markdown" && f.finding == 0 {
		a.Show = -1
	}
	if err := out.write(sys, a); err != nil {
		return err
	}
	if f.gate && len(a.Findings) > 0 {
		return &exited{exitGate, nil}
	}
	return nil
}

// sourcesIn makes the commands in advice work in the folder of the user, who has the module elsewhere: from there, its folder is at.
func sourcesIn(a *report.Advice, sys *System, at string) {
	a.Source = at
	for i := range a.Findings {
		place := a.Findings[i].Where.String()
		for _, c := range a.Findings[i].Ask {
			if n := slices.Index(c.Args, place); n >= 0 {
				c.Args[n] = relativeTo(sys.Dir, filepath.Join(a.Root, filepath.FromSlash(place)))
			}
		}
	}
}

// relativeTo returns a name as users in dir write it.
func relativeTo(dir, name string) string {
	if rel, err := filepath.Rel(dir, name); err == nil {
		return rel
	}
	return name
}

// noLength refuses --for with benchmarks, which end when all of them have run.
func noLength(cmd *cobra.Command) error {
	for _, name := range []string{lengthFlag, "seconds"} {
		if cmd.Flags().Changed(name) {
			hint := "-benchtime sets how long each benchmark runs"
			if cmd.Flags().Lookup(budgetFlag) != nil {
				hint = "--budget limits the whole run, -benchtime sets how long each benchmark runs"
			}
			return usagef(hint, "--%s sets how long a server records, but here benchmarks are run", name)
		}
	}
	return nil
}

// moduleDir returns the folder that --source names, or the current one when it is "".
func moduleDir(sys *System, source string) (string, error) {
	if source == "" {
		return sys.Dir, nil
	}
	dir := source
	if !filepath.IsAbs(dir) {
		dir = filepath.Join(sys.Dir, dir)
	}
	if st, err := os.Stat(dir); err != nil || !st.IsDir() {
		return "", wrongValue("source", source, "no such folder")
	}
	return dir, nil
}

// arePackages reports whether all arguments name packages, rather than recordings or profiles.
func arePackages(sys *System, args []string) bool {
	for _, a := range args {
		if strings.HasSuffix(a, "...") {
			continue
		}
		at := a
		if !filepath.IsAbs(at) {
			at = filepath.Join(sys.Dir, at)
		}
		st, err := os.Stat(at)
		if err != nil || !st.IsDir() || recording.IsRecording(at) {
			return false
		}
		if files, err := gocmd.Files(at, "*.go"); err != nil || len(files) == 0 {
			return false
		}
	}
	return true
}

// adviseInput opens a recording with all its profiles, or reads a profile.
func adviseInput(cmd *cobra.Command, sys *System, o *source.Options, ref string) (*recording.Recording, error) {
	r, when, err := openWhole(cmd.Context(), ref)
	switch {
	case err != nil:
		return nil, err
	case r != nil && when != (query.Span{}):
		r.Close()
		return nil, usagef("name the recording without a time", "%s: advice needs a whole run, not a part of its time", ref)
	case r != nil:
		return r, nil
	}
	opened, err := openProfiles(cmd, sys, o, []string{ref}, open.Want{Raw: true})
	if st, statErr := os.Stat(ref); err != nil && statErr == nil && st.IsDir() && errors.As(err, new(*open.ProfilesError)) {
		return nil, withHint(err, "name a package with Go files, such as ./cmd/app or ./..., a recording, or profiles")
	}
	if err != nil {
		return nil, openHints(err)
	}
	r = opened.Recordings[0]
	return r.WithProfile(r.Profile.WithShortNames(), ""), nil
}
