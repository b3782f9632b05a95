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
	time      time.Duration
	seed      uint64
	dir, hone string
}

func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	flags := flag.NewFlagSet("provestudy", flag.ContinueOnError)
	flags.SetOutput(stderr)
	var s study
	only := flags.String("only", "", "the cases whose name this `regexp` matches")
	list := flags.String("list", "", "a `file` with other cases")
	witness := flags.Bool("witness", false, "look whether the cases are right, and do nothing else")
	flags.DurationVar(&s.time, "for", 5*time.Second, "`time` for calling both versions, as in hone prove")
	flags.Uint64Var(&s.seed, "seed", 0, "of what is made up, as in hone prove")
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
		fmt.Fprintln(stderr, "provestudy: -only:", err)
		return 2
	}
	if *table == (flags.NArg() == 0) {
		fmt.Fprintln(stderr, "provestudy: files are named with -table, and only with it")
		return 2
	}
	fail := func(err error) int {
		fmt.Fprintln(stderr, "provestudy:", err)
		return 1
	}
	all, err := readCases(*list)
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
		cleanUp, err := s.prepare(ctx, *keep, !*witness)
		if err != nil {
			return fail(err)
		}
		defer cleanUp()
		for _, c := range all {
			if c.Dropped != "" || !rx.MatchString(c.Name) {
				continue
			}
			fmt.Fprintf(stderr, "provestudy: %s\n", c.Name)
			var r *result
			if *witness {
				err = s.witness(ctx, c)
			} else {
				r, err = s.look(ctx, c)
			}
			if r != nil && err == nil && *log != "" {
				err = writeResult(*log, r)
			}
			if err != nil {
				fmt.Fprintf(stderr, "provestudy: %s: %v\n", c.Name, err)
				code = 1
				if ctx.Err() != nil {
					break
				}
			} else if r != nil {
				results = append(results, r)
			}
		}
		if *witness {
			return code
		}
	}
	for _, m := range writeTables(stdout, all, results) {
		fmt.Fprintln(stderr, "provestudy: missed:", m)
		code = 1
	}
	return code
}

// prepare makes a folder to work in, and hone.
func (s *study) prepare(ctx context.Context, keep string, build bool) (cleanUp func(), err error) {
	cleanUp = func() {}
	if s.dir = keep; keep == "" {
		if s.dir, err = os.MkdirTemp("", "provestudy-"); err != nil {
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
	if !build {
		return cleanUp, nil
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
