package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/hone-perf/hone/internal/exectrace"
	"github.com/hone-perf/hone/internal/hint"
	"github.com/hone-perf/hone/internal/open"
	"github.com/hone-perf/hone/internal/query"
	"github.com/hone-perf/hone/internal/recording"
	"github.com/hone-perf/hone/internal/source"
	"github.com/hone-perf/hone/internal/view"
	"github.com/hone-perf/hone/internal/view/traceview"
	"github.com/hone-perf/hone/internal/views"
	"github.com/hone-perf/hone/internal/waits"
)

const traceHelp = `%s.

TRACE is a file that runtime/trace or /debug/pprof/trace wrote, also compressed with gzip; a
recording made with hone record --trace or --flight; standard input (-); or a server, which
then traces for five seconds. hone reads traces of Go 1.11 and later. Those of Go 1.22 and
later take little memory, no matter how long they are.`

// traceCommand is the command of a view of execution traces.
func traceCommand(v *view.View, sys *System) *cobra.Command {
	use := v.Name
	if v.Arg != "" {
		use += " " + v.Arg
	}
	cmd := &cobra.Command{
		Use:     use + " TRACE",
		Short:   v.Doc,
		GroupID: groupTrace,
	}
	if !sys.names(cmd) {
		return cmd
	}
	cmd.Long = fmt.Sprintf(traceHelp, v.Doc)
	cmd.Example = "  " + strings.Join(traceExamples(v), "\n  ")
	if v.Name == "spans" {
		cmd.Long += spansHelp
		cmd.Example += "\n  hone spans -o spans.parquet trace.out\n  hone spans --at 3s..4s -o spans.pftrace trace.out"
	}
	var q query.Query
	queryFlags(cmd.Flags(), &q, v.Uses.List())
	if f := cmd.Flags().Lookup("focus"); f != nil {
		f.Usage = "keep goroutines that were in a matching function"
		cmd.Flags().Lookup("ignore").Usage = "leave out goroutines that were in a matching function"
	}
	lasts := new(time.Duration)
	cmd.Flags().Var(&secondsFlag{lasts}, lengthFlag, "trace a server for `TIME`")
	cmd.Flags().Lookup(lengthFlag).DefValue = source.TraceLength.String() // a URL may set another one
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		q.View = v.Name
		out, err := outputOf(cmd, sys)
		if err != nil {
			return err
		}
		if err := drawable(v, out); err != nil {
			return err
		}
		if v.Arg != "" {
			if len(args) != 2 {
				return usagef("for example: "+traceExamples(v)[0], "%s needs %s and an execution trace", v.Name, v.Argument())
			}
			q.Arg, args = query.Pattern(args[0]), args[1:]
			if err := query.CheckRegexp(q.Arg); err != nil {
				return usagef("", "%s %s: %w", v.Name, quoted(q.Arg), err)
			}
		}
		if len(args) == 2 && v.Compares {
			return usagef("to compare two: hone "+v.Name+" --base "+quoted(args[0])+" "+quoted(args[1]), "%s needs one execution trace", v.Name)
		}
		if len(args) != 1 {
			return usagef("for example: "+traceExamples(v)[0], "%s needs one execution trace", v.Name)
		}
		q.Refs = args
		rec, at, err := openTrace(cmd.Context(), sys, args[0], *lasts)
		if err != nil {
			return err
		}
		defer rec.Close()
		if q.At == (query.Span{}) {
			q.At = at
		}
		in := []*recording.Recording{rec}
		if len(q.Base) > 1 {
			return usagef("for example: hone "+v.Name+" --base "+quoted(q.Base[0])+" "+quoted(args[0]), "%s compares one trace with one", v.Name)
		}
		for _, ref := range q.Base {
			base, _, err := openTrace(cmd.Context(), sys, ref, *lasts)
			if err != nil {
				return err
			}
			defer base.Close()
			in = append(in, base)
		}
		if format := spanFormat(cmd, out); format != "" {
			return writeSpans(cmd.Context(), sys, out, format, rec, q)
		}
		return showTrace(cmd.Context(), sys, v, out, in, q)
	}
	return cmd
}

const spansHelp = `

-o FILE writes all spans of the program's goroutines, no matter how many there are:

  .parquet              a table for DuckDB, ClickHouse, pandas and others
  .csv                  the same as text; --csv writes only the longest
  .json                 an array with an object for each; --json writes only the longest
  .jsonl, .ndjson       one such object per line
  .perfetto, .pftrace   a trace for https://ui.perfetto.dev and trace_processor

Columns: goroutine, started_as, state (running, ready, syscall, blocked, idle), cause,
from_ns, took_ns, function, file, line, begun (true if it began before the part that is
written), open (true if it had not ended by then), ended_by (goroutine, timer, network,
runtime), waker, waker_function, waker_line, stack (outermost function first, separated by ;),
request (the number that hone requests shows) and handler.`

// spanFormats maps file extensions to the formats that hold all spans.
var spanFormats = map[string]traceview.SpanFormat{
	".parquet": traceview.SpanParquet, ".csv": traceview.SpanCSV, ".json": traceview.SpanJSON, ".jsonl": traceview.SpanJSONLines, ".ndjson": traceview.SpanJSONLines,
	".perfetto": traceview.SpanPerfetto, ".pftrace": traceview.SpanPerfetto,
}

// spanFormat returns the format of -o if it holds all spans, or "".
func spanFormat(cmd *cobra.Command, out output) traceview.SpanFormat {
	asCSV, _ := cmd.Flags().GetBool("csv")
	asJSON, _ := cmd.Flags().GetBool("json")
	if cmd.Name() != "spans" || asCSV || asJSON {
		return ""
	}
	return spanFormats[strings.ToLower(filepath.Ext(out.file))]
}

// writeSpans writes all spans of a trace to a file.
func writeSpans(ctx context.Context, sys *System, out output, format traceview.SpanFormat, rec *recording.Recording, q query.Query) error {
	var notes []string
	err := out.with(sys, func(w io.Writer) (err error) {
		notes, err = traceview.WriteSpans(&heeding{ctx, w}, format, []*recording.Recording{rec}, q)
		return err
	})
	for _, n := range notes {
		note(sys, "%s", n)
	}
	sys.partial = sys.partial || rec.LostTrace()
	return traceError(rec, err)
}

// A heeding writer fails once its context ends.
type heeding struct {
	ctx context.Context
	w   io.Writer
}

func (h *heeding) Write(b []byte) (int, error) {
	if err := h.ctx.Err(); err != nil {
		return 0, err
	}
	return h.w.Write(b)
}

// traceExamples returns the examples of a trace view as command lines.
func traceExamples(v *view.View) []string {
	var list []string
	for _, e := range v.Examples {
		list = append(list, strings.TrimSuffix(commandLine(v, e), "cpu.pprof")+"trace.out")
	}
	return list
}

// lookTrace is the first look at an execution trace.
func lookTrace(cmd *cobra.Command, sys *System, out output, ref string) error {
	rec, at, err := openTrace(cmd.Context(), sys, ref, 0)
	if err != nil {
		return err
	}
	defer rec.Close()
	v, _ := views.Find("trace")
	return showTrace(cmd.Context(), sys, v, out, []*recording.Recording{rec}, query.Query{View: v.Name, Refs: []string{ref}, At: at})
}

func showTrace(ctx context.Context, sys *System, v *view.View, out output, in []*recording.Recording, q query.Query) error {
	r, err := askView(ctx, v, in, q)
	var outside *waits.OutsideError
	var unreadable *exectrace.UnreadableError
	switch {
	case len(in) > 1 && (errors.As(err, &outside) || errors.As(err, &unreadable)):
		return err // the error names the trace
	case err != nil:
		return traceError(in[0], err)
	}
	sys.partial = sys.partial || slices.ContainsFunc(in, (*recording.Recording).LostTrace)
	return out.write(sys, r)
}

// traceError adds the name of the trace to an error, and a next step.
func traceError(rec *recording.Recording, err error) error {
	var none *view.NoMatch
	var noRequest *traceview.NoRequestError
	var noGoroutine *traceview.NoGoroutineError
	var outside *waits.OutsideError
	var unreadable *exectrace.UnreadableError
	switch {
	case errors.As(err, &outside), errors.As(err, &unreadable):
		return fmt.Errorf("%s: %w", rec.Ref, err)
	case errors.As(err, &none):
		return withHint(fmt.Errorf("%s: nothing waits below a function that matches %s", rec.Ref, quoted(none.Arg)), hint.Ask("waits", rec.Ref), " shows where goroutines waited")
	case errors.As(err, &noRequest) && noRequest.Of == 0:
		return withHint(fmt.Errorf("%s: %w", rec.Ref, err), hint.Ask("waits", rec.Ref), " shows where goroutines waited")
	case errors.As(err, &noRequest):
		return withHint(fmt.Errorf("%s: %w", rec.Ref, err), hint.Ask(string(noRequest.Work)+"s", rec.Ref), " lists the slowest")
	case errors.As(err, &noGoroutine):
		return withHint(fmt.Errorf("%s: %w", rec.Ref, err), hint.Ask("lanes", rec.Ref), " shows goroutines and their numbers")
	}
	return err
}

// openTrace opens an execution trace from a file, a recording, standard input, or a server.
func openTrace(ctx context.Context, sys *System, ref string, lasts time.Duration) (*recording.Recording, query.Span, error) {
	rec, at, err := openPart(ctx, sys, view.Trace, ref)
	var none *open.NoPartError
	var noFile *open.NoFileError
	var other *recording.NotTraceError
	switch {
	case err == nil:
		return rec, at, nil
	case errors.As(err, &none):
		err = withHint(fmt.Errorf("%s has no execution trace", ref), hint.Ask("record").With("trace", ""), ", or ", hint.Option{Name: "flight", Value: "10s"}, ", makes a recording with one")
	case errors.As(err, &other):
		err = withHint(err, "runtime/trace, go test -trace, /debug/pprof/trace and ", hint.Ask("record").With("trace", ""), " make one")
	case errors.As(err, &noFile) && strings.Contains(ref, ":"):
		o := &source.Options{Duration: lasts, Say: func(msg string) { note(sys, "%s", msg) }}
		if rec, serverErr := o.Trace(ctx, ref); serverErr == nil {
			return rec, query.Span{}, nil
		} else {
			err = fmt.Errorf("%s: %w", ref, serverErr)
			var status *source.StatusError
			if errors.As(serverErr, &status) && status.Said != "" {
				err = withHint(err, "a program records one execution trace at a time; if somebody else is taking one, try again when it has ended")
			}
		}
	}
	return nil, at, openHints(err)
}
