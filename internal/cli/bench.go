package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/hone-perf/hone/internal/hint"
	"github.com/hone-perf/hone/internal/open"
	"github.com/hone-perf/hone/internal/query"
	"github.com/hone-perf/hone/internal/recording"
	"github.com/hone-perf/hone/internal/report"
	"github.com/hone-perf/hone/internal/view"
	"github.com/hone-perf/hone/internal/view/benchview"
)

const benchHelp = `Run benchmarks, or summarize results: the median of each benchmark, and its margin of error.

Packages (default .), -bench, -benchtime, -cpu, -count and build flags are those of the go
command. hone runs all benchmarks once in each of -count rounds (default 10), so a disturbance
of the machine affects some runs of every benchmark, not all runs of one. It then runs them
once more with profiles. -o FILE.hone saves all of that, and --raw FILE only the benchmark
lines. --save adds the recording to the history of the repository, in its .git folder.
--history shows the saved runs, and what changed last.

From files, hone reads the lines of go test -bench: as text, as go test -json, in UTF-16, in
recordings, on standard input (-), and between other output. It joins lines that a benchmark
split with its own output, and reports lines that it could not read. It also reads tables that
benchcmp printed, as in commit messages. Several files are several runs, the oldest first.

To find out whether a new version is faster, use hone compare: runs at different times cannot
tell.`

const benchExamples = `  hone bench ./codec -bench=Encode
  hone bench ./... --save
  hone bench --history --focus Encode
  hone bench --raw old.txt -count=6 && hone benchstat old.txt
  hone bench -o codec.hone ./codec && hone top codec.hone
  hone bench old.txt
  hone bench --focus Encode --csv old.txt
  go test -bench . -count 10 | hone bench -
  git log -1 | hone bench -`

// benchFlags are the flags of hone bench that control a run.
type benchFlags struct {
	save, history, noProfile bool
	raw                      string
	keepSecrets              bool
}

// benchCommand is the command of the view of benchmark lines. It can also run the benchmarks.
func benchCommand(v *view.View, sys *System) *cobra.Command {
	cmd := &cobra.Command{
		Use:                "bench [PACKAGE… | FILE…]",
		Short:              "Run benchmarks or summarize their results",
		Long:               benchHelp,
		Example:            benchExamples,
		GroupID:            groupProve,
		DisableFlagParsing: true, // flags of the go command have one dash
	}
	if !sys.names(cmd) {
		return cmd
	}
	var q query.Query
	var f benchFlags
	queryFlags(cmd.Flags(), &q, v.Uses.List())
	cmd.Flags().Lookup("focus").Usage = "keep benchmarks with a matching name"
	cmd.Flags().Lookup("ignore").Usage = "drop benchmarks with a matching name"
	cmd.Flags().BoolVar(&f.save, "save", false, "save the run in the history of the repository")
	cmd.Flags().BoolVar(&f.history, "history", false, "show the saved runs")
	cmd.Flags().StringVar(&f.raw, "raw", "", "write the benchmark lines to `FILE`, for benchstat")
	cmd.Flags().BoolVar(&f.noProfile, "no-profile", false, "skip the last round, which is profiled")
	keepSecretsFlag(cmd.Flags(), &f.keepSecrets)
	cmd.RunE = withGoFlags(func(cmd *cobra.Command, build, test, args []string) error {
		q.View = v.Name
		out, err := outputOf(cmd, sys)
		if err != nil {
			return err
		}
		if q.Limit == 0 && (out.format == "csv" || out.format == "json") {
			q.Limit = -1 // scripts want all rows
		}
		if !f.history && !areLines(args) {
			return benchRun(cmd, sys, out, &f, q, build, test, args)
		}
		if err := drawable(v, out); err != nil {
			return err
		}
		if given := append(build, test...); len(given) > 0 {
			return usagef("", "%s is for running benchmarks, but %s already has results", asTyped(given[0]), cmp.Or(strings.Join(args, " "), "--history"))
		}
		for flag, on := range map[string]bool{"save": f.save, "raw": f.raw != "", "no-profile": f.noProfile} {
			if on {
				return usagef("", "--%s is for running benchmarks, but %s already has results", flag, cmp.Or(strings.Join(args, " "), "--history"))
			}
		}
		if f.history {
			saved, err := savedRuns(cmd.Context(), sys)
			if err != nil {
				return err
			}
			args = append(saved, args...)
		}
		q.Refs = args
		return benchLook(cmd.Context(), sys, out, q)
	})
	return cmd
}

// areLines reports whether arguments name files with results, rather than packages to run.
func areLines(args []string) bool {
	return slices.ContainsFunc(args, func(a string) bool {
		if a == "-" || strings.HasSuffix(a, ".hone") || strings.HasSuffix(a, ".txt") {
			return true
		}
		st, err := os.Stat(a)
		return err == nil && (st.Mode().IsRegular() || !st.IsDir()) || recording.IsRecording(a)
	})
}

// benchLook shows the results in files.
func benchLook(ctx context.Context, sys *System, out output, q query.Query) error {
	if len(q.Refs) == 1 {
		rec, err := benchOf(ctx, sys, q.Refs[0])
		if err != nil {
			return err
		}
		return benchAnswer(sys, out, q, rec, nil)
	}
	var in []*recording.Recording
	for _, ref := range q.Refs {
		rec, err := benchOf(ctx, sys, ref)
		if err != nil {
			return err
		}
		in = append(in, rec)
	}
	r, err := benchview.Bench(in, q)
	if err != nil {
		return err
	}
	return out.write(sys, r)
}

// benchOf reads the benchmark lines of a file or a recording.
func benchOf(ctx context.Context, sys *System, ref string) (*recording.Recording, error) {
	rec, _, err := openPart(ctx, sys, view.Benchmarks, ref)
	var none *open.NoPartError
	switch {
	case errors.As(err, &none):
		return nil, withHint(fmt.Errorf("%s has no benchmark lines", ref), "hone record --test PKG -bench . keeps them")
	case err != nil:
		return nil, openHints(err)
	}
	rec.Close() // openPart has read the results already
	return rec, rec.Check()
}

// benchAnswer shows the results of one recording.
func benchAnswer(sys *System, out output, q query.Query, rec *recording.Recording, next []hint.Command) error {
	r, err := benchview.Bench([]*recording.Recording{rec}, q)
	switch {
	case errors.Is(err, benchview.ErrNoBenchmarks):
		for _, n := range recording.Benchmarks.In(rec).Notes {
			note(sys, "%s", n.In(rec.Ref))
		}
		return withHint(fmt.Errorf("%s: %w", rec.Ref, err), "go test -bench . -count 10 > old.txt makes some")
	case err != nil:
		return fmt.Errorf("%s: %w", rec.Ref, err)
	}
	b := r.(*report.Bench)
	b.Next = next
	return out.write(sys, b)
}

// lookBench is the first look at a file of benchmark lines.
func lookBench(sys *System, out output, rec *recording.Recording) error {
	next := []hint.Command{hint.Ask("bench", rec.Ref).With("csv", "").For("all numbers, for scripts")}
	if rec.Manifest == nil && recording.Benchmarks.In(rec).Results[0].Get("side") == "" { // it is not a table with both sides
		next = append(next, hint.Ask("benchstat", rec.Ref, "new.txt").With("strict", "").For("what changed since, with new.txt made in the same way"))
	}
	return benchAnswer(sys, out, query.Query{View: "bench", Refs: []string{rec.Ref}, Limit: lookBenchmarks}, rec, next)
}

// lookBenchmarks is the number of benchmarks in a first look.
const lookBenchmarks = 20
