package cli

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/hone-perf/hone/internal/hint"
	"github.com/hone-perf/hone/internal/load"
	"github.com/hone-perf/hone/internal/prove"
	"github.com/hone-perf/hone/internal/race"
)

const raceHelp = `Find data races that tests alone do not show.

hone runs the tests with the race detector again and again, in shuffled orders and with
several values of GOMAXPROCS. It sends many concurrent requests to HTTP handlers. Their
paths, form values, headers and bodies come from the code, or from a file. It also calls the
exported functions of a package with made-up arguments from several goroutines, and methods
of one value where its type has a lock or its documentation says that goroutines may share
it. It does the same with what tests do with such values. With --, hone runs a program with
the arguments that follow, until the time is up.

Each pair of conflicting accesses is reported once, however many runs showed it. The report
has the variable, both accesses with their source and stacks, and a patch where hone knows
one: an atomic variable or a mutex. Deadlocks are reported too: what waits for what.

--fix proves the patches. On a copy with the patch, it repeats the run that showed the race,
then runs the tests and go vet. It writes proven patches to the files.

The exit code is 3 when something was found, 0 when nothing was, and 1 when a program failed
in all runs. The report says how much was tried. Finding no race does not prove that there
is none. The race detector needs cgo and a C compiler.`

const raceExamples = `  hone race
  hone race ./... --for 2m
  hone race --fix ./cache
  hone race --requests targets.txt ./cmd/app
  hone race ./cmd/app -- -addr 127.0.0.1:0`

func raceCommand(sys *System) *cobra.Command {
	opt := race.Options{}
	var fix bool
	var cpus, requests string
	cmd := &cobra.Command{
		Use:     "race [flags] [PACKAGES] [-- ARGS…]",
		Short:   "Find data races and deadlocks",
		Long:    raceHelp,
		Example: raceExamples,
		GroupID: groupProve,

		DisableFlagParsing: true, // flags of the go command have one dash
	}
	if !sys.names(cmd) {
		return cmd
	}
	flags := cmd.Flags()
	flags.Var(&secondsFlag{&opt.Time}, lengthFlag, "how long to search once everything is built (default 30s); ends earlier when nothing new is found")
	flags.IntVar(&opt.Runs, "runs", 0, "stop after `N` rounds of all tests and requests")
	flags.StringVar(&cpus, "cpu", "", "run with these values of GOMAXPROCS: `LIST`, such as 4,2,1")
	flags.StringVar(&opt.Run, "run", "", "run only the tests that match `REGEXP`")
	flags.StringVar(&requests, "requests", "", "send handlers the requests in `FILE`, in any format that hone load --targets reads")
	flags.BoolVar(&opt.NoReplay, "no-requests", false, "only run the tests; send no requests to handlers")
	flags.BoolVar(&opt.NoCalls, "no-calls", false, "do not call functions with made-up arguments from several goroutines")
	flags.Uint64Var(&opt.Seed, "seed", 0, "use `N` as the seed for orders and requests")
	flags.StringArrayVar(&opt.Flags, "flag", nil, "pass `FLAG` to the go command, such as --flag=-tags=x; build flags work without --flag")
	flags.BoolVar(&fix, "fix", false, "prove the patches that hone found, and write the proven ones")
	cmd.RunE = withArguments(func(cmd *cobra.Command, build, test, args, behind []string) error {
		opt.Packages, opt.Args, opt.Program = args, behind, behind != nil
		opt.Flags = slices.Concat(build, opt.Flags)
		for _, t := range test {
			name, value, _ := strings.Cut(strings.TrimPrefix(t, "-test."), "=")
			switch name {
			case "run":
				opt.Run = value
			case "cpu":
				cpus = value
			default:
				return noTestFlag("race", "decides itself how tests run", "-run, -cpu and the flags of go build", t)
			}
		}
		var err error
		if opt.CPUs, err = numbers(cpus); err != nil {
			return usagef("for example: --cpu 4,2,1", "--cpu %s: %w", quoted(cpus), err)
		}
		if opt.Runs < 0 {
			return usagef("", "--runs %d: want a number of rounds", opt.Runs)
		}
		if requests != "" {
			if opt.Requests, err = readRequests(sys, requests); err != nil {
				return err
			}
		}
		return runRace(cmd, sys, opt, fix)
	})
	return cmd
}

// numbers parses "4,2,1".
func numbers(list string) ([]int, error) {
	if list == "" {
		return nil, nil
	}
	var out []int
	for word := range strings.SplitSeq(list, ",") {
		n, err := strconv.Atoi(strings.TrimSpace(word))
		if err != nil || n < 1 || n > 1024 {
			return nil, fmt.Errorf("%s is not a value of GOMAXPROCS", quoted(word))
		}
		out = append(out, n)
	}
	return out, nil
}

// readRequests reads recorded or handwritten requests.
func readRequests(sys *System, name string) ([]prove.MadeRequest, error) {
	at := func(name string) string {
		if filepath.IsAbs(name) {
			return name
		}
		return filepath.Join(sys.Dir, name)
	}
	text, err := os.ReadFile(at(name))
	if err != nil {
		return nil, err
	}
	list, err := load.ReadTargets(bytes.NewReader(text), name, func(body string) ([]byte, error) { return os.ReadFile(at(body)) })
	if err != nil {
		return nil, err
	}
	var out []prove.MadeRequest
	for _, t := range list {
		r := prove.MadeRequest{Method: cmp.Or(t.Method, "GET"), Target: t.URL.RequestURI(), Body: string(t.Body)}
		for _, f := range t.Header {
			r.Header = append(r.Header, []string{f.Name, f.Value})
		}
		out = append(out, r)
	}
	return out, nil
}

// patience is the time that hone takes to write its answer after an interrupt.
const patience = 10 * time.Second

func runRace(cmd *cobra.Command, sys *System, opt race.Options, fix bool) error {
	out, err := outputOf(cmd, sys)
	if err != nil {
		return err
	}
	if out.pictured() {
		return usagef("hone race -o races.md writes one for a pull request", "%s: races cannot be drawn as a picture", out.file)
	}
	say := newSaying(sys)
	opt.Say, opt.Dir = say.now, sys.Dir
	ctx := cmd.Context()
	s, err := race.Find(ctx, opt)
	if s == nil {
		say.now("")
		return raceError(err)
	}
	defer s.Close()
	if err != nil { // After an interrupt, take a short time to symbolize the races found so far.
		var stop context.CancelFunc
		ctx, stop = context.WithTimeout(context.WithoutCancel(ctx), patience)
		defer stop()
	}
	r := s.Report(ctx)
	if fix && err == nil {
		r.Fixed, err = s.Fix(ctx)
	}
	say.now("")
	// Even after an error there are results to show, and some patches may be complete.
	if err := errors.Join(err, out.write(sys, r)); err != nil {
		return err
	}
	if len(r.Races)+len(r.Hangs) > 0 {
		return &exited{exitGate, nil}
	}
	if r.Tried.AllFailed() {
		return withHint(errors.New("the program failed in all runs, so little of its code ran"), "its arguments come after --; it runs in the current folder")
	}
	return nil
}

func raceError(err error) error {
	switch {
	case errors.Is(err, context.Canceled):
		return errors.New("interrupted before a run ended or a race was found")
	case errors.Is(err, race.ErrAsked):
		return &usageError{err: withHint(err, "for example: ", hint.Command{Verb: "race", Args: []string{"./cmd/app"}, Behind: []string{"-addr", "127.0.0.1:0"}})}
	case errors.Is(err, race.ErrNoRace):
		return withHint(err, "install a C compiler such as gcc, and unset CGO_ENABLED or set it to 1")
	case errors.Is(err, race.ErrNothing):
		var std *race.NotInStdError
		if errors.As(err, &std) {
			return withHint(err, "write a folder as for the go command: ./"+std.Path)
		}
		return withHint(err, "to run a program, use ", hint.Command{Verb: "race", Args: []string{"PACKAGE"}, Behind: []string{"ARGS"}})
	}
	return err
}
