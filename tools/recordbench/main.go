// Recordbench measures what recording costs a program, and how soon one sees something of a recording.
//
//	go run ./tools/recordbench [-only regexp] [-n rounds] [-together] [-load time] [-keep file]
//
// It builds hone and some of the practice programs, and runs each with and without hone record in turn, on the same work. What
// counts is the CPU time of the program, user and system, as the system says when it has ended: a busy machine disturbs that
// less than elapsed time. With -together both run at the same time, which a busy machine disturbs less, but then neither
// collector has a core to itself. The second table is of a recording of a server under load, made by clients in this
// program: how large it is, and how long it takes until there is something to see. The answer is two Markdown tables on
// standard output. The exit code is 0 if all targets are met, 1 if one is missed or could not be measured, and 2 for a
// wrong command line.
//
// It is run at the root of the repository.
package main

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	code := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop() // explicitly: os.Exit skips deferred calls
	os.Exit(code)
}

// load is the name of what the second table is of.
const load = "load"

// options are the command line.
type options struct {
	only   *regexp.Regexp // names of the works to do
	rounds int
	both   bool          // at the same time
	load   time.Duration // of the recording under load
	keep   string        // where that recording goes; "" is nowhere
}

func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	opt, err := parseOptions(args, stderr)
	switch {
	case errors.Is(err, flag.ErrHelp):
		return 0
	case err != nil:
		fmt.Fprintln(stderr, "recordbench:", err)
		return 2
	}
	met, err := bench(ctx, opt, stdout, stderr)
	if err != nil {
		fmt.Fprintln(stderr, "recordbench:", cmp.Or(ctx.Err(), err))
	}
	if err != nil || !met {
		return 1
	}
	return 0
}

func parseOptions(args []string, stderr io.Writer) (options, error) {
	var opt options
	fs := flag.NewFlagSet("recordbench", flag.ContinueOnError)
	fs.SetOutput(stderr)
	only := fs.String("only", "", "do only the works whose name matches this `regexp`; that of the second table is load")
	fs.IntVar(&opt.rounds, "n", 5, "run everything in so many `rounds`, with and without, and take medians")
	fs.BoolVar(&opt.both, "together", false, "run both at the same time")
	fs.DurationVar(&opt.load, "load", time.Minute, "how long to record a server under load")
	fs.StringVar(&opt.keep, "keep", "", "keep that recording as this `file`")
	if err := fs.Parse(args); err != nil {
		return opt, err
	}
	if fs.NArg() > 0 {
		return opt, fmt.Errorf("unexpected argument %q", fs.Arg(0))
	}
	if opt.rounds < 1 {
		return opt, fmt.Errorf("-n %d: want at least one round", opt.rounds)
	}
	if opt.load < time.Second {
		return opt, fmt.Errorf("-load %v: want a second at least", opt.load)
	}
	var err error
	if opt.only, err = regexp.Compile(*only); err != nil {
		return opt, fmt.Errorf("-only: %w", err)
	}
	if !opt.only.MatchString(load) && !slices.ContainsFunc(works, func(w work) bool { return opt.only.MatchString(w.name) }) {
		return opt, errors.New("nothing is called like that")
	}
	if opt.keep != "" {
		if opt.keep, err = filepath.Abs(opt.keep); err != nil {
			return opt, err
		}
	}
	return opt, nil
}

// bench does the works and reports whether all targets were met.
func bench(ctx context.Context, opt options, stdout, stderr io.Writer) (met bool, err error) {
	tmp, err := os.MkdirTemp("", "recordbench")
	if err != nil {
		return false, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(tmp)) }()
	r := runner{hone: filepath.Join(tmp, "hone"), dir: tmp, rounds: opt.rounds, both: opt.both, log: stderr}
	if err := build(ctx, "", "build", "-o", r.hone, "github.com/hone-perf/hone"); err != nil {
		return false, err
	}
	met = true
	head := costHeader
	for _, w := range works {
		if !opt.only.MatchString(w.name) {
			continue
		}
		res, err := r.measure(ctx, w)
		if err != nil {
			return false, fmt.Errorf("%s: %w", w.name, err)
		}
		fmt.Fprintf(stdout, "%s%s\n", head, res.row())
		head = ""
		met = met && res.met()
	}
	if opt.only.MatchString(load) {
		rows, err := r.look(ctx, opt)
		if err != nil {
			return false, fmt.Errorf("%s: %w", load, err)
		}
		fmt.Fprint(stdout, lookHeader)
		for _, l := range rows {
			fmt.Fprintln(stdout, l.row())
			met = met && l.met()
		}
	}
	return met, nil
}

// build runs the go command.
func build(ctx context.Context, dir string, args ...string) error {
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("go %s: %w: %s", strings.Join(args, " "), err, strings.TrimSpace(string(out)))
	}
	return nil
}
