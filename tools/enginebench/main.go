// Enginebench measures what hone's engine costs next to go tool pprof, and whether it keeps to its targets.
//
//	go run ./tools/enginebench [-only regexp] [-n rounds] [-max samples] [-sizes list] [-dir folder] [-inner]
//
// It builds hone, makes profiles and lets hone and go tool pprof do the same work in turn. The go command takes some time to find
// the program that it then runs; with -inner that one is run by its path. What counts is CPU
// time, which a busy machine disturbs less than elapsed time, and the peak of resident memory. The answer is a
// Markdown table on standard output. The exit code is 0 if all targets are met, 1 if one is missed or could not be
// measured, and 2 for a wrong command line.
//
// Profiles are made by the same program in a process of its own (enginebench generate), because on Linux the peak
// memory of a program begins with that of the program that started it.
package main

import (
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
	"runtime"
	"strings"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	code := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop() // explicitly: os.Exit skips deferred calls
	os.Exit(code)
}

// options are the command line.
type options struct {
	only   *regexp.Regexp // names of the works to do
	rounds int
	dir    string // for profiles; "" means a temporary folder
	max    int    // samples in the largest profile; 0 means any number
	sizes  []int  // samples in the profiles that show how cost grows
	inner  bool   // run pprof by its path
}

func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	if len(args) > 0 && args[0] == "generate" {
		if err := generate(args[1:]); err != nil {
			fmt.Fprintln(stderr, "enginebench:", err)
			return 1
		}
		return 0
	}
	opt, err := parseOptions(args, stderr)
	switch {
	case errors.Is(err, flag.ErrHelp):
		return 0
	case err != nil:
		fmt.Fprintln(stderr, "enginebench:", err)
		return 2
	}
	met, err := bench(ctx, opt, stdout, stderr)
	if err != nil {
		fmt.Fprintln(stderr, "enginebench:", err)
	}
	if err != nil || !met {
		return 1
	}
	return 0
}

func parseOptions(args []string, stderr io.Writer) (options, error) {
	var opt options
	fs := flag.NewFlagSet("enginebench", flag.ContinueOnError)
	fs.SetOutput(stderr)
	only := fs.String("only", "", "do only the works whose name matches this `regexp`")
	fs.IntVar(&opt.rounds, "n", 3, "run every command in so many `rounds` and take medians")
	fs.StringVar(&opt.dir, "dir", "", "keep the profiles in this `folder`, and use those already there")
	fs.BoolVar(&opt.inner, "inner", false, "run pprof by its path, and not as go tool pprof")
	largest := fs.String("max", "", "leave out works on profiles of more `samples`, such as 500k")
	sizes := fs.String("sizes", "50k,100k,500k,1M,2M,5M", "`samples` in the profiles that show how cost grows")
	if err := fs.Parse(args); err != nil {
		return opt, err
	}
	if fs.NArg() > 0 {
		return opt, fmt.Errorf("unexpected argument %q", fs.Arg(0))
	}
	if opt.rounds < 1 {
		return opt, fmt.Errorf("-n %d: want at least one round", opt.rounds)
	}
	var err error
	if opt.only, err = regexp.Compile(*only); err != nil {
		return opt, fmt.Errorf("-only: %w", err)
	}
	if *largest != "" {
		if opt.max, err = parseSize(*largest); err != nil {
			return opt, fmt.Errorf("-max: %w", err)
		}
	}
	for s := range strings.SplitSeq(*sizes, ",") {
		if s == "" {
			continue
		}
		n, err := parseSize(s)
		if err != nil {
			return opt, fmt.Errorf("-sizes: %w", err)
		}
		opt.sizes = append(opt.sizes, n)
	}
	return opt, nil
}

// bench does the works and reports whether all targets were met.
func bench(ctx context.Context, opt options, stdout, stderr io.Writer) (met bool, err error) {
	tmp, err := os.MkdirTemp("", "enginebench")
	if err != nil {
		return false, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(tmp)) }()
	if opt.dir == "" {
		opt.dir = tmp
	} else if err := os.MkdirAll(opt.dir, 0o777); err != nil {
		return false, err
	}

	root, err := moduleRoot(ctx)
	if err != nil {
		return false, err
	}
	works, err := allWorks(opt, tmp, filepath.Join(root, "..", "shared", "corpus", "profiles"))
	if err != nil {
		return false, err
	}
	if works, err = chosen(works, opt); err != nil {
		return false, err
	}
	r := &runner{rounds: opt.rounds, log: stderr}
	if r.self, err = os.Executable(); err != nil {
		return false, err
	}
	path, err := output(ctx, root, "go", "tool", "-n", "pprof") // builds it, if need be
	if err != nil {
		return false, err
	}
	if r.pprof = []string{"go", "tool", "pprof"}; opt.inner {
		r.pprof = []string{path}
	}
	r.hone = filepath.Join(tmp, "hone")
	if runtime.GOOS == "windows" {
		r.hone += ".exe"
	}
	if _, err := output(ctx, root, "go", "build", "-o", r.hone, "."); err != nil {
		return false, err
	}
	return r.do(ctx, works, stdout)
}

// moduleRoot returns the folder of the go.mod that is in force here.
func moduleRoot(ctx context.Context) (string, error) {
	mod, err := output(ctx, "", "go", "env", "GOMOD")
	if err != nil {
		return "", err
	}
	if mod == "" || mod == os.DevNull {
		return "", errors.New("building hone: this folder is not in its module")
	}
	return filepath.Dir(mod), nil
}

// output runs a command in a folder and returns what it prints.
func output(ctx context.Context, dir, name string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir = dir
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("%s %s: %w: %s", name, strings.Join(args, " "), err, strings.TrimSpace(stderr.String()))
	}
	return strings.TrimSpace(string(out)), nil
}
