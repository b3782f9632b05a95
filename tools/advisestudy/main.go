// Advisestudy measures what hone advise and hone fix say of public code: of versions of modules before a release that made them
// faster, where it is known what was to be found, and of packages that were tuned already, where there is nothing to be found.
//
//	go run ./tools/advisestudy [-only regexp] [-fix] [-budget time] [-each time] [-keep folder] [-log file] [-hone file]
//	go run ./tools/advisestudy -tuned [-fix] …
//	go run ./tools/advisestudy -gain [-only regexp]
//	go run ./tools/advisestudy -table file…
//
// It builds hone, gets both versions of each module in cases.json through the Go module proxy, and has hone record the benchmark
// on a copy of the one before. Where the fix was made is not written down but taken from the difference of the two: the functions
// that changed. A finding hits if it is in one of them, or within 3 lines of a line that changed. With -fix, hone fix works on the
// copy, and each patch that it keeps is looked at once more by other means: whether it applies, whether a test fails that did
// not, and whether the benchmark, run by the go command, allocates less or takes less time.
//
// -gain runs the benchmark on both versions, which says whether a case is one. -tuned is about the packages of tuned.json. The
// answers are Markdown tables on standard output; -log adds what was measured to a file, and -table makes the tables of such files.
//
// The exit code is 0 if all goals are met, 1 if one is missed or something could not be measured, and 2 for a wrong command line.
// It is run at the root of the repository.
package main

import (
	"context"
	"flag"
	"io"
	"time"

	"github.com/hone-perf/hone/tools/study"
)

func main() { study.Main(run) }

// An advising is what to do, and where.
type advising struct {
	study.Options
	fix          bool
	budget, each time.Duration
}

func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	flags := flag.NewFlagSet("advisestudy", flag.ContinueOnError)
	var s advising
	isTuned := flags.Bool("tuned", false, "the packages that were tuned already")
	gain := flags.Bool("gain", false, "say what the benchmarks won between the two versions, and nothing else")
	flags.BoolVar(&s.fix, "fix", false, "have hone fix prove patches, and check what it keeps")
	flags.DurationVar(&s.budget, "budget", 3*time.Minute, "for the fixes of each case")
	flags.DurationVar(&s.each, "each", 15*time.Second, "for each patch, as in hone fix")
	if code, done := s.Parse(flags, args, stderr); done {
		return code
	}
	all, err := readCases(s.List, *isTuned)
	if err != nil {
		return s.Fail(err)
	}
	if !s.Table {
		cleanUp, err := s.Prepare(ctx, true)
		if err != nil {
			return s.Fail(err)
		}
		defer cleanUp()
	}
	look := s.look
	if *gain {
		look = s.gain
		for i := range all {
			all[i].Dropped = "" // that says it
		}
	}
	results, code := study.Results(ctx, &s.Options, all, look)
	var missed []string
	switch {
	case *gain:
		gainTable(stdout, results)
	case *isTuned:
		missed = tunedTable(stdout, results)
	default:
		missed = caseTable(stdout, all, results)
	}
	return s.Missed(missed, code)
}
