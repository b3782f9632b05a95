// Provestudy measures what hone prove says of public code: of two versions of a module that are known to behave differently, and of
// two that are known to behave alike.
//
//	go run ./tools/provestudy [-only regexp] [-for time] [-seed n] [-keep folder] [-log file] [-hone file]
//	go run ./tools/provestudy -witness [-only regexp]
//	go run ./tools/provestudy -table file…
//
// It builds hone, gets both versions of each module in cases.json through the Go module proxy, and commits one after the other to a
// new git repository. There it runs hone prove between the two commits, without the tests: those of the later release know of the
// change, so that they would say it all.
//
// -witness looks whether a case is one. A test that knows of the change fails in the version before and passes in the one after; where
// nothing changed, each version passes the tests of the other.
//
// The answers are Markdown tables on standard output; -log adds what was measured to a file, and -table makes the tables of such
// files. The exit code is 0 if all goals are met, 1 if one is missed or something could not be measured, and 2 for a wrong command
// line. It is run at the root of the repository.
package main

import (
	"context"
	"flag"
	"io"
	"time"

	"github.com/hone-perf/hone/tools/study"
)

func main() { study.Main(run) }

// A proving is what to do, and where.
type proving struct {
	study.Options
	time time.Duration
	seed uint64
}

func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	flags := flag.NewFlagSet("provestudy", flag.ContinueOnError)
	var s proving
	witness := flags.Bool("witness", false, "look whether the cases are right, and do nothing else")
	flags.DurationVar(&s.time, "for", 5*time.Second, "`time` for calling both versions, as in hone prove")
	flags.Uint64Var(&s.seed, "seed", 0, "of what is made up, as in hone prove")
	if code, done := s.Parse(flags, args, stderr); done {
		return code
	}
	all, err := readCases(s.List)
	if err != nil {
		return s.Fail(err)
	}
	if !s.Table {
		cleanUp, err := s.Prepare(ctx, !*witness)
		if err != nil {
			return s.Fail(err)
		}
		defer cleanUp()
	}
	look := s.look
	if *witness {
		look = func(ctx context.Context, c caseOf) (*result, error) { return nil, s.witness(ctx, c) }
	}
	results, code := study.Results(ctx, &s.Options, all, look)
	if *witness {
		return code
	}
	return s.Missed(writeTables(stdout, all, results), code)
}
