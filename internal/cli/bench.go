package cli

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/hone-perf/hone/internal/bench"
	"github.com/hone-perf/hone/internal/query"
	"github.com/hone-perf/hone/internal/recording"
	"github.com/hone-perf/hone/internal/report"
	"github.com/hone-perf/hone/internal/source"
	"github.com/hone-perf/hone/internal/view"
)

const benchHelp = `What benchmarks measured: for each the median of its runs, and how far it may be off.

It reads the lines of go test -bench from a file, a recording or standard input (-): as
text, as go test -json, in UTF-16, and between whatever else was written. Lines that a
benchmark tore apart with its own output are put together; what could not be read is
counted and named. It also reads what benchcmp printed, as in commit messages.`

const benchExamples = `  hone bench old.txt
  hone bench --focus Encode --csv old.txt
  go test -bench . -count 10 | hone bench -
  git log -1 | hone bench -`

// benchCommand is the command of the view about benchmark lines.
func benchCommand(v *view.View, sys *System) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "bench FILE",
		Short:   v.Doc,
		Long:    benchHelp,
		Example: benchExamples,
		GroupID: groupLook,
	}
	var q query.Query
	query.Flags(cmd.Flags(), &q, v.Uses)
	completions(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		q.View = v.Name
		out, err := outputOf(cmd, sys)
		if err != nil {
			return err
		}
		if err := drawable(v, out); err != nil {
			return err
		}
		if len(args) != 1 {
			return usagef("hone benchstat old.txt new.txt compares two", "bench wants one file, has %d", len(args))
		}
		if q.Limit == 0 && (out.format == "csv" || out.format == "json") {
			q.Limit = -1 // programs want them all
		}
		q.Refs = args
		rec, err := benchOf(sys, args[0])
		if err != nil {
			return err
		}
		return benchAnswer(sys, out, q, rec, nil)
	}
	return cmd
}

// benchOf reads benchmark lines.
func benchOf(sys *System, ref string) (*recording.Recording, error) {
	if ref == "-" {
		f, err := bench.Open(sys.In, "standard input")
		return &recording.Recording{Ref: ref, Bench: f}, err
	}
	rec, _, err := source.Recording(ref)
	if err != nil {
		return nil, err
	}
	if rec != nil {
		defer rec.Close()
		if err := rec.ReadLogs(); err != nil {
			return nil, err
		}
		if rec.Bench == nil {
			return nil, &hinted{fmt.Errorf("%s holds no benchmark lines", ref), "hone record --test PKG -bench . keeps them"}
		}
		return rec, nil
	}
	if err := present([]string{ref}); err != nil {
		return nil, err
	}
	return source.BenchFile(ref)
}

// benchAnswer shows what benchmarks measured.
func benchAnswer(sys *System, out output, q query.Query, rec *recording.Recording, next []report.Command) error {
	r, err := view.Bench([]*recording.Recording{rec}, q)
	switch {
	case errors.Is(err, view.ErrNoBenchmarks):
		for _, n := range rec.Bench.Notes {
			note(sys, "%s", n.In(rec.Ref))
		}
		return &hinted{fmt.Errorf("%s: %w", rec.Ref, err), "go test -bench . -count 10 > old.txt makes some"}
	case err != nil:
		return fmt.Errorf("%s: %w", rec.Ref, err)
	}
	b := r.(*report.Bench)
	b.Next = next
	return out.write(sys, b)
}

// lookBench is a first look at a file of benchmark lines.
func lookBench(sys *System, out output, rec *recording.Recording) error {
	ref := quoted(rec.Ref)
	next := []report.Command{{Line: "hone bench --csv " + ref, Answer: "all numbers, for programs"}}
	if rec.Bench.Results[0].Get("side") == "" { // it is not a table with both sides
		next = append(next, report.Command{Line: "hone benchstat --strict " + ref + " new.txt", Answer: "what changed since, with new.txt made the same way"})
	}
	return benchAnswer(sys, out, query.Query{View: "bench", Refs: []string{rec.Ref}, Limit: lookBenchmarks}, rec, next)
}

// lookBenchmarks is how many benchmarks a first look shows.
const lookBenchmarks = 20
