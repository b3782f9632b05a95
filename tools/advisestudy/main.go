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
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"time"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	code := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop() // explicitly: os.Exit skips deferred calls
	os.Exit(code)
}

// A study is what to do, and where.
type study struct {
	fix          bool
	budget, each time.Duration
	dir, hone    string
	stderr       io.Writer
}

func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	flags := flag.NewFlagSet("advisestudy", flag.ContinueOnError)
	flags.SetOutput(stderr)
	s := study{stderr: stderr}
	only := flags.String("only", "", "the cases whose name this `regexp` matches")
	list := flags.String("list", "", "a `file` with other cases")
	isTuned := flags.Bool("tuned", false, "the packages that were tuned already")
	gain := flags.Bool("gain", false, "say what the benchmarks won between the two versions, and nothing else")
	flags.BoolVar(&s.fix, "fix", false, "have hone fix prove patches, and check what it keeps")
	flags.DurationVar(&s.budget, "budget", 3*time.Minute, "for the fixes of each case")
	flags.DurationVar(&s.each, "each", 15*time.Second, "for each patch, as in hone fix")
	keep := flags.String("keep", "", "a `folder` for what was made; thrown away when not given")
	flags.StringVar(&s.hone, "hone", "", "a `file` with another hone; that of this repository is built when not given")
	log := flags.String("log", "", "add what was measured to `file`")
	table := flags.Bool("table", false, "measure nothing: make the tables of the files that are named")
	if err := flags.Parse(args); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			return 0
		}
		return 2
	}
	rx, err := regexp.Compile(*only)
	if err != nil {
		fmt.Fprintln(stderr, "advisestudy: -only:", err)
		return 2
	}
	if *table == (flags.NArg() == 0) {
		fmt.Fprintln(stderr, "advisestudy: files are named with -table, and only with it")
		return 2
	}
	fail := func(err error) int {
		fmt.Fprintln(stderr, "advisestudy:", err)
		return 1
	}
	all, err := readCases(*list, *isTuned)
	if err != nil {
		return fail(err)
	}
	var results []*result
	code := 0
	if *table {
		if results, err = readResults(flags.Args()); err != nil {
			return fail(err)
		}
	} else {
		cleanUp, err := s.prepare(ctx, *keep)
		if err != nil {
			return fail(err)
		}
		defer cleanUp()
		for _, c := range all {
			if c.Dropped != "" && !*gain || !rx.MatchString(c.Name) {
				continue
			}
			fmt.Fprintf(stderr, "advisestudy: %s\n", c.Name)
			var r *result
			if *gain {
				r, err = s.gain(ctx, c)
			} else {
				r, err = s.look(ctx, c)
			}
			if err == nil && *log != "" {
				err = writeResult(*log, r)
			}
			if err != nil {
				fmt.Fprintf(stderr, "advisestudy: %s: %v\n", c.Name, err)
				code = 1
				if ctx.Err() != nil {
					break
				}
				continue
			}
			results = append(results, r)
		}
	}
	var missed []string
	switch {
	case *gain:
		gainTable(stdout, results)
	case *isTuned:
		missed = tunedTable(stdout, results)
	default:
		missed = caseTable(stdout, all, results)
	}
	for _, m := range missed {
		fmt.Fprintln(stderr, "advisestudy: missed:", m)
		code = 1
	}
	return code
}

// prepare makes a folder to work in, and hone.
func (s *study) prepare(ctx context.Context, keep string) (cleanUp func(), err error) {
	cleanUp = func() {}
	if s.dir = keep; keep == "" {
		if s.dir, err = os.MkdirTemp("", "advisestudy-"); err != nil {
			return nil, err
		}
		cleanUp = func() { os.RemoveAll(s.dir) }
	} else if s.dir, err = filepath.Abs(keep); err != nil {
		return nil, err
	} else if err = os.MkdirAll(s.dir, 0o755); err != nil {
		return nil, err
	}
	if s.hone != "" {
		s.hone, err = filepath.Abs(s.hone)
		return cleanUp, err
	}
	s.hone = filepath.Join(s.dir, "hone")
	if out, err := exec.CommandContext(ctx, "go", "build", "-o", s.hone, ".").CombinedOutput(); err != nil {
		cleanUp()
		return nil, fmt.Errorf("building hone: %w\n%s", err, out)
	}
	return cleanUp, nil
}

func writeResult(file string, r *result) error {
	f, err := os.OpenFile(file, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	return errors.Join(json.NewEncoder(f).Encode(r), f.Close())
}

// readResults reads files that were written by -log. Of a case that was measured again, the last counts.
func readResults(files []string) (all []*result, err error) {
	at := map[string]int{}
	for _, name := range files {
		f, err := os.Open(name)
		if err != nil {
			return nil, err
		}
		defer f.Close()
		for d := json.NewDecoder(f); ; {
			r := new(result)
			if err := d.Decode(r); errors.Is(err, io.EOF) {
				break
			} else if err != nil {
				return nil, fmt.Errorf("%s: %w", name, err)
			}
			if i, ok := at[r.Case]; ok {
				all[i] = r
				continue
			}
			at[r.Case] = len(all)
			all = append(all, r)
		}
	}
	return all, nil
}
