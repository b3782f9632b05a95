package cli

import (
	"errors"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/hone-perf/hone/internal/hint"
	"github.com/hone-perf/hone/internal/prove"
	"github.com/hone-perf/hone/internal/report"
)

const proveHelp = `Check a change: that it builds, that it passes the tests of both versions without races, and
that it does the same as before.

The change is the working tree compared with the commit where your branch left the main one,
or with BASE; two revisions, A..B; a patch file; or two folders. Every changed function, and
every function that uses one, is called in both versions, side by side, with arguments made up
from the code, its tests, and common edge cases. Results, errors, panics, changed arguments,
output and the answers to HTTP requests are compared. No difference after many calls is not a
mathematical proof; the report says how many calls there were and how much code they reached.

Functions that can remove files, run programs, talk to other machines or end the process
are not called with made-up arguments. Arguments after -- are passed to the program of the
package, in both versions, and its output is compared.

-o with a name that ends in _test.go writes tests of the differences there: they pass with the
old version and fail with the new one.

Build flags, such as -tags=x, apply to every build.

--faster also compares the benchmarks that reach the change, as hone compare does. If none
does, benchmarks are generated from calls that both versions answer alike, and tests that
reach the change and take 20 ms or more are compared.

Exit code 3 means that the versions differ, or that the new one is slower, or needs more
memory without being faster; with --fail-undecided, 4 means that part of the change could
not be tried, or that its speed could not be decided.`

const proveExamples = `  hone prove
  hone prove main --for 5m
  hone prove v1.2.0..v1.3.0
  hone prove faster.patch
  hone prove stage1 stage2
  hone prove --md -o proof.md main
  hone prove -o regress_test.go main
  hone prove stage1 stage2 -- -n 3`

func proveCommand(sys *System) *cobra.Command {
	var opt prove.Options
	var undecided, faster bool
	cmd := &cobra.Command{
		Use:     "prove [flags] [BASE | A..B | PATCH | OLDDIR NEWDIR] [-- ARGS…]",
		Short:   "Prove that a change does the same as before",
		Long:    proveHelp,
		Example: proveExamples,
		GroupID: groupProve,

		DisableFlagParsing: true, // flags of the go command have one dash
	}
	if !sys.names(cmd) {
		return cmd
	}
	flags := cmd.Flags()
	flags.Var(&secondsFlag{&opt.Time}, lengthFlag, "how long to call both versions, after builds and tests (default 60s); with --faster, half of it goes to benchmarks, at least 2s each")
	formerly(flags, lengthFlag, "time")
	flags.IntVar(&opt.Executions, "calls", 0, "stop after about `N` calls of each function, instead of --for")
	flags.Uint64Var(&opt.Seed, "seed", 0, "use `N` as the seed for made-up calls")
	flags.StringVar(&opt.Only, "func", "", "compare only one `FUNCTION`, such as Parse or Type.Method")
	flags.BoolVar(&opt.Strict, "strict", false, "also count nil versus empty, and error messages, as differences")
	flags.BoolVar(&opt.NoTests, "no-tests", false, "skip build, vet and tests")
	flags.BoolVar(&faster, "faster", false, "also compare speed")
	flags.BoolVar(&undecided, "fail-undecided", false, "exit with 4 when not all of the change could be tried")
	cmd.RunE = withArguments(func(cmd *cobra.Command, build, test, args, behind []string) error {
		switch {
		case len(test) > 0:
			return noTestFlag("prove", "decides itself how tests run", "the flags of go build", test[0])
		case opt.Executions < 0:
			return usagef("", "--calls %d: want a number of calls", opt.Executions)
		case faster:
			opt.Faster = prove.Faster
		}
		opt.Flags, opt.Args = build, behind
		return runProve(cmd, sys, opt, undecided, args)
	})
	return cmd
}

func runProve(cmd *cobra.Command, sys *System, opt prove.Options, undecided bool, args []string) error {
	tests, _ := cmd.Flags().GetString("output")
	if opt.Regress = strings.HasSuffix(tests, "_test.go"); opt.Regress { // the report is shown then
		if err := cmd.Flags().Set("output", ""); err != nil {
			return err
		}
	}
	out, err := outputOf(cmd, sys)
	if err != nil {
		return err
	}
	if out.pictured() {
		return usagef("hone prove -o proof.md writes one for a pull request", "%s: a verdict cannot be drawn as a picture", out.file)
	}
	say := newSaying(sys)
	opt.Say = say.now
	say.now("preparing both versions")
	change, err := prove.Open(cmd.Context(), sys.Dir, args)
	say.now("")
	if errors.Is(err, prove.ErrAsked) {
		return &usageError{err: withHint(err, "for example: ", hint.Ask("prove"), ", ", hint.Ask("prove", "main"), ", ", hint.Ask("prove", "A..B"), ", ", hint.Ask("prove", "OLDDIR", "NEWDIR"))}
	}
	if err != nil {
		return revisionError("prove", err)
	}
	defer change.Close()
	proof, err := prove.Run(cmd.Context(), change, opt)
	say.now("")
	if errors.Is(err, prove.ErrFlag) || errors.Is(err, prove.ErrFunction) {
		return &usageError{err, ""}
	}
	if err != nil {
		return err
	}
	if err := out.write(sys, proof); err != nil {
		return err
	}
	if opt.Regress {
		if err := writeTests(sys, proof, tests); err != nil {
			return err
		}
	}
	switch {
	case proof.Verdict == report.Different, proof.Verdict == report.Slower, proof.Verdict == report.Heavier:
		return &exited{exitGate, nil}
	case (proof.Verdict == report.NotProven || proof.Pace == report.PaceUnknown) && undecided:
		return &exited{exitUndecided, nil}
	}
	return nil
}

// writeTests writes tests that reproduce the differences.
func writeTests(sys *System, p *report.Proof, file string) error {
	t := p.Regression
	if t == nil {
		note(sys, "%s is not written: there is no test to put in it", file)
		return nil
	}
	err := (output{file: file}).with(sys, func(w io.Writer) error {
		_, err := io.WriteString(w, t.Source)
		return err
	})
	if err == nil {
		note(sys, "tests written to %s: %d. They belong to package %s, pass with %s, and fail with %s", file, t.Tests, t.Package, p.Old, p.New)
	}
	return err
}
