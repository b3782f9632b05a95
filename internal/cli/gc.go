package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/hone-perf/hone/internal/capture"
	"github.com/hone-perf/hone/internal/hint"
	"github.com/hone-perf/hone/internal/open"
	"github.com/hone-perf/hone/internal/query"
	"github.com/hone-perf/hone/internal/recording"
	"github.com/hone-perf/hone/internal/source"
	"github.com/hone-perf/hone/internal/unit"
	"github.com/hone-perf/hone/internal/view"
	"github.com/hone-perf/hone/internal/view/runview"
)

const gcHelp = `Summarize what garbage collection did and cost, and point out problems.

hone reads the lines that a Go program of any version writes to standard error with
GODEBUG=gctrace=1, from a file, from standard input (-), or from a program that it runs.
Other lines may come in between. A program that hone runs keeps its input, output and
exit code; the report then goes to standard error, or with -o to a file.`

const gcExamples = `  hone gc gc.log
  hone gc --limit all --at 10s..20s gc.log
  hone gc -o gc.svg gc.log
  hone gc --csv gc.log > gc.csv
  hone gc -o gc.png -- ./server -v`

// gcCommand is the command of the view of garbage collection.
func gcCommand(v *view.View, sys *System) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "gc [flags] LOG | -- COMMAND…",
		Short:   v.Doc,
		Long:    gcHelp,
		Example: gcExamples,
		GroupID: groupRun,
	}
	if !sys.names(cmd) {
		return cmd
	}
	var q query.Query
	queryFlags(cmd.Flags(), &q, v.Uses.List())
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		q.View = v.Name
		out, err := outputOf(cmd, sys)
		if err != nil {
			return err
		}
		if q.Limit == 0 && slices.Contains([]string{"csv", "json", "svg", "png"}, out.format) {
			q.Limit = -1 // scripts want all rows, and pictures show all
		}
		if cmd.ArgsLenAtDash() == 0 && len(args) > 0 {
			return gcRun(cmd, sys, out, q, args)
		}
		if len(args) != 1 || cmd.ArgsLenAtDash() > 0 {
			return usagef("for example: hone gc gc.log, or hone gc -- ./server", "gc needs one log, or a command after --")
		}
		q.Refs = args
		rec, err := gcLog(cmd.Context(), sys, args[0])
		if err != nil {
			return err
		}
		defer rec.Close()
		return gcAnswer(sys, out, q, rec)
	}
	return cmd
}

// gcLog opens a gctrace log.
func gcLog(ctx context.Context, sys *System, ref string) (*recording.Recording, error) {
	rec, _, err := openPart(ctx, sys, view.GCLog, ref)
	var none *open.NoPartError
	var noFile *open.NoFileError
	var program *open.ProgramError
	switch {
	case errors.As(err, &none) && (none.How == recording.Fetched || none.How == recording.Watched):
		err = withHint(fmt.Errorf("%s has no garbage collector log: a program writes it only if it was started with GODEBUG=gctrace=1", ref),
			hint.Ask("timeline", ref), " shows its memory over time; ", hint.Command{Verb: "record", Behind: []string{"COMMAND"}}, " starts a program with the log")
	case errors.As(err, &none):
		err = withHint(fmt.Errorf("%s has no garbage collector log: no collection ran, or it is not a recording of a run", ref),
			"in an environment with GOGC=10, even a short run collects")
	case errors.As(err, &noFile) && noFile.Near == "" && strings.Contains(ref, ":"):
		err = withHint(err, "a server does not offer this log: GODEBUG=gctrace=1 writes it to standard error; ", hint.Ask("record", ref), " records memory over time")
	case errors.As(err, &noFile) && noFile.Near == "":
		err = withHint(err, "a command comes after --: ", hint.Command{Verb: "gc", Behind: []string{ref}})
	case errors.As(err, &program):
		err = usagef("hone gc -- "+quoted(ref)+" runs it", "%w", err)
	case err != nil:
		if info, statErr := os.Stat(ref); statErr == nil && info.IsDir() {
			err = withHint(fmt.Errorf("%s is a folder, not a log", ref), hint.Command{Verb: "gc", Behind: []string{"PROGRAM"}}, " runs a program and reads its log")
		}
	}
	if err != nil {
		return nil, openHints(err)
	}
	return rec, nil
}

// gcAnswer shows a gctrace log.
func gcAnswer(sys *System, out output, q query.Query, rec *recording.Recording) error {
	ref := rec.Ref
	r, err := runview.GC([]*recording.Recording{rec}, q)
	switch {
	case errors.Is(err, runview.ErrNoCycles) && source.IsTrace(ref):
		return withHint(fmt.Errorf("%s is an execution trace, not a log", ref), hint.Ask("trace", ref), " shows the garbage collections in it")
	case errors.Is(err, runview.ErrNoCycles) && isBinary(ref) && isProfile(context.Background(), ref):
		return withHint(fmt.Errorf("%s is a profile, not a log", ref), hint.Ask("top", ref), " shows the hottest functions in it")
	case errors.Is(err, runview.ErrNoCycles):
		return withHint(
			fmt.Errorf("%s: %w among %s", ref, err, unit.Counted(recording.GC.In(rec).Lines, "line")),
			"GODEBUG=gctrace=1 PROGRAM 2> gc.log makes a Go program write them, and ", hint.Command{Verb: "gc", Behind: []string{"PROGRAM"}}, " runs it so",
		)
	case err != nil:
		return fmt.Errorf("%s: %w", ref, err)
	}
	return out.write(sys, r)
}

// gcRun runs a program and shows what its garbage collector did. The exit code is the one of the program, even if hone fails.
func gcRun(cmd *cobra.Command, sys *System, out output, q query.Query, args []string) error {
	log, code, err := capture.GC(cmd.Context(), capture.Program{Args: args, Dir: sys.Dir, In: sys.In, Out: sys.Out, Err: sys.Err})
	if errors.Is(err, capture.ErrGoCommand) {
		return usagef("go build -o prog . and hone gc -- ./prog, or go test -c -o pkg.test . and hone gc -- ./pkg.test", "hone gc -- %s: %w", shownArgs(args), err)
	}
	if log == nil {
		return err
	}
	if err == nil {
		q.Refs = args[:1]
		errs := *sys
		errs.Out = sys.Err // the program uses standard output
		if out.file == "" {
			out = out.on(&errs)
		}
		err = gcAnswer(&errs, out, q, recording.GC.Of(args[0], log))
		if errors.Is(err, runview.ErrNoCycles) {
			// The program itself succeeded.
			note(sys, "%s: %v: it is not a Go program, or it ended before it allocated 4 MB, or it changes GODEBUG or its standard error", args[0], runview.ErrNoCycles)
			err = nil
		}
	}
	if code == 0 {
		return err
	}
	return &exited{code, err}
}

// exited is the error for a program run by hone that ended with its own exit code, which hone passes on. err is what else went wrong.
type exited struct {
	code int
	err  error
}

func (e *exited) Error() string {
	if e.err != nil {
		return e.err.Error()
	}
	return fmt.Sprintf("exit code %d", e.code)
}

func (e *exited) Unwrap() error { return e.err }
