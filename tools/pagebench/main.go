// Pagebench measures what the page of hone web costs next to that of go tool pprof -http, and whether it keeps to its
// targets.
//
//	go run ./tools/pagebench [-only regexp] [-n rounds] [-sizes list] [-pprof samples] [-limit time] [-dir folder] [-speedscope folder] [-hone program]
//
// It builds hone, or takes a program that was built before, finds pprof, makes profiles with tools/enginebench, and opens the flame graph of each in a headless
// Chromium. Elapsed times run from the start of the server, or from the click, to the end of the script that paints; the
// page says when that is, by entries named hone.paint in its performance timeline. CPU time and memory are those of
// the server, as Linux counts them. The answer is a Markdown table on standard output. The exit code is 0 if all
// targets are met, 1 if one is missed or could not be measured, and 2 for a wrong command line.
package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/hone-perf/hone/internal/profile/profiletest"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	code := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop() // explicitly: os.Exit skips deferred calls
	os.Exit(code)
}

// options are the command line.
type options struct {
	only   *regexp.Regexp // names of the profiles to look at
	rounds int
	sizes  []int // samples in the profiles
	pprof  int   // samples in the largest profile that pprof has to show
	limit  time.Duration
	dir    string // for profiles; "" means a temporary folder
	scope  string // folder with the page of speedscope; "" leaves it out
	hone   string // program to measure; "" is that of the sources
}

func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	opt, err := parseOptions(args, stderr)
	switch {
	case errors.Is(err, flag.ErrHelp):
		return 0
	case err != nil:
		fmt.Fprintln(stderr, "pagebench:", err)
		return 2
	}
	met, err := bench(ctx, opt, stdout, stderr)
	if err != nil {
		fmt.Fprintln(stderr, "pagebench:", cmp.Or(ctx.Err(), err))
	}
	if err != nil || !met {
		return 1
	}
	return 0
}

func parseOptions(args []string, stderr io.Writer) (options, error) {
	var opt options
	fs := flag.NewFlagSet("pagebench", flag.ContinueOnError)
	fs.SetOutput(stderr)
	only := fs.String("only", "", "look only at profiles whose name, such as cpu 50k, matches this `regexp`")
	fs.IntVar(&opt.rounds, "n", 3, "open every profile in so many `rounds` and take medians; pprof has one")
	sizes := fs.String("sizes", "50k,500k,2M", "`samples` in the profiles")
	largest := fs.String("pprof", "500k", "let pprof show profiles of up to so many `samples`; 0 leaves it out. At 500k it takes minutes and 10 GB")
	fs.DurationVar(&opt.limit, "limit", 15*time.Minute, "stop waiting for pprof after this `time`")
	fs.StringVar(&opt.dir, "dir", "", "keep the profiles in this `folder`, and use those already there")
	fs.StringVar(&opt.scope, "speedscope", "", "open the profiles in speedscope, too, whose page is in this `folder`: dist/release of its npm package")
	fs.StringVar(&opt.hone, "hone", "", "measure this `program` instead of building hone, such as one of another commit")
	if err := fs.Parse(args); err != nil {
		return opt, err
	}
	if fs.NArg() > 0 {
		return opt, fmt.Errorf("unexpected argument %q", fs.Arg(0))
	}
	if opt.rounds < 1 {
		return opt, fmt.Errorf("-n %d: want at least one round", opt.rounds)
	}
	if opt.hone != "" {
		// Relative names would be sought in the folder where the program runs, or in PATH.
		path, err := filepath.Abs(opt.hone)
		if err != nil {
			return opt, fmt.Errorf("-hone: %w", err)
		}
		if st, err := os.Stat(path); err != nil || !st.Mode().IsRegular() {
			return opt, fmt.Errorf("-hone %s: no such program", opt.hone)
		}
		opt.hone = path
	}
	if opt.limit <= 0 {
		return opt, fmt.Errorf("-limit %v: want some time", opt.limit)
	}
	var err error
	if opt.only, err = regexp.Compile(*only); err != nil {
		return opt, fmt.Errorf("-only: %w", err)
	}
	if *largest != "0" {
		if opt.pprof, err = parseSize(*largest); err != nil {
			return opt, fmt.Errorf("-pprof: %w", err)
		}
	}
	for s := range strings.SplitSeq(*sizes, ",") {
		n, err := parseSize(s)
		if err != nil {
			return opt, fmt.Errorf("-sizes: %w", err)
		}
		if opt.only.MatchString("cpu " + formatSize(n)) {
			opt.sizes = append(opt.sizes, n)
		}
	}
	if len(opt.sizes) == 0 {
		return opt, errors.New("no profile is called like that")
	}
	return opt, nil
}

// bench looks at the profiles and reports whether all targets were met.
func bench(ctx context.Context, opt options, stdout, stderr io.Writer) (met bool, err error) {
	tmp, err := os.MkdirTemp("", "pagebench")
	if err != nil {
		return false, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(tmp)) }()
	if opt.dir == "" {
		opt.dir = tmp
	} else if err := os.MkdirAll(opt.dir, 0o777); err != nil {
		return false, err
	}
	r := runner{rounds: opt.rounds, limit: opt.limit, speedscope: opt.scope, hone: cmp.Or(opt.hone, filepath.Join(tmp, "hone"))}
	generator := filepath.Join(tmp, "enginebench")
	const module = "github.com/hone-perf/hone"
	if opt.hone == "" {
		if _, err := output(ctx, "go", "build", "-o", r.hone, module); err != nil {
			return false, err
		}
	}
	if _, err := output(ctx, "go", "build", "-o", generator, module+"/tools/enginebench"); err != nil {
		return false, err
	}
	if r.pprof, err = output(ctx, "go", "tool", "-n", "pprof"); err != nil {
		return false, err
	}
	stop, err := r.startBrowser(ctx)
	if err != nil {
		return false, err
	}
	defer stop()

	met = true
	var notes []string
	fmt.Fprintln(stdout, tableHeader)
	for _, n := range opt.sizes {
		name := "cpu " + formatSize(n)
		file, err := makeProfile(ctx, generator, opt.dir, n)
		if err != nil {
			return false, err
		}
		fmt.Fprintf(stderr, "%s …\n", name)
		res := r.measure(ctx, file, n <= opt.pprof)
		if ctx.Err() != nil {
			return false, ctx.Err()
		}
		for _, row := range rowsOf(n, res) {
			fmt.Fprintln(stdout, row.markdown(name))
			met = met && row.met != missed
		}
		for _, note := range res.notes {
			notes = append(notes, name+": "+note)
		}
	}
	if len(notes) > 0 {
		fmt.Fprintln(stdout)
	}
	for _, n := range notes {
		fmt.Fprintln(stdout, "-", n)
	}
	return met, nil
}

// makeProfile returns the profile of so many samples that enginebench uses too, making it unless it is there already.
func makeProfile(ctx context.Context, generator, dir string, samples int) (string, error) {
	file := filepath.Join(dir, "cpu-"+formatSize(samples)+".pb.gz")
	if _, err := os.Stat(file); !errors.Is(err, fs.ErrNotExist) {
		return file, err
	}
	config, err := json.Marshal(profiletest.Config{Samples: samples, Seed: 1})
	if err != nil {
		return "", err
	}
	_, err = output(ctx, generator, "generate", string(config), file)
	return file, err
}

// output runs a command and returns what it prints.
func output(ctx context.Context, name string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, name, args...)
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("%s %s: %w: %s", name, strings.Join(args, " "), err, strings.TrimSpace(stderr.String()))
	}
	return strings.TrimSpace(string(out)), nil
}

// parseSize parses a number of samples such as 500k or 2M.
func parseSize(s string) (int, error) {
	digits, unit := s, 1
	if d, ok := strings.CutSuffix(s, "k"); ok {
		digits, unit = d, 1000
	} else if d, ok := strings.CutSuffix(s, "M"); ok {
		digits, unit = d, 1000_000
	}
	n, err := strconv.Atoi(digits)
	if err != nil || n < 1 || n > 1000_000_000/unit {
		return 0, fmt.Errorf("%q is not a number of samples such as 500k or 2M", s)
	}
	return n * unit, nil
}

func formatSize(n int) string {
	switch {
	case n >= 1000_000 && n%1000_000 == 0:
		return strconv.Itoa(n/1000_000) + "M"
	case n >= 1000 && n%1000 == 0:
		return strconv.Itoa(n/1000) + "k"
	}
	return strconv.Itoa(n)
}
