// Racestudy measures what hone race finds in public code: in versions of modules with a data race that was fixed later, and in
// versions of modules without one that is known.
//
//	go run ./tools/racestudy [-only regexp] [-for time] [-seed n] [-fixed] [-keep folder] [-log file] [-hone file]
//	go run ./tools/racestudy -table file…
//
// It builds hone, gets each module in cases.json through the Go module proxy, and runs hone race on the package that the case names. A
// race is the known one if a function that the case names is on one of its stacks. All other races are false, except for those that
// somebody has read and listed in the case.
//
// -fixed looks at the versions that have the fix instead, where each race of the case would be a false one.
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

// A racing is what to do, and where.
type racing struct {
	study.Options
	time time.Duration
	seed uint64
}

func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	flags := flag.NewFlagSet("racestudy", flag.ContinueOnError)
	var s racing
	flags.DurationVar(&s.time, "for", 20*time.Second, "`time` for the search, as in hone race")
	flags.Uint64Var(&s.seed, "seed", 0, "of what is made up, as in hone race")
	fixed := flags.Bool("fixed", false, "look at the versions without the known races")
	if code, done := s.Parse(flags, args, stderr); done {
		return code
	}
	all, err := readCases(s.List)
	if err != nil {
		return s.Fail(err)
	}
	if *fixed {
		all = withFix(all)
	}
	if !s.Table {
		cleanUp, err := s.Prepare(ctx, true)
		if err != nil {
			return s.Fail(err)
		}
		defer cleanUp()
	}
	results, code := study.Results(ctx, &s.Options, all, s.look)
	return s.Missed(writeTables(stdout, all, results), code)
}
