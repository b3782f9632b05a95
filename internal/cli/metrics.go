package cli

import (
	"errors"
	"strings"

	"github.com/spf13/cobra"

	"github.com/hone-perf/hone/internal/hint"
	"github.com/hone-perf/hone/internal/open"
	"github.com/hone-perf/hone/internal/query"
	"github.com/hone-perf/hone/internal/recording"
	"github.com/hone-perf/hone/internal/view"
)

// metricsCommand is the command of a view of the metrics in a recording.
func metricsCommand(v *view.View, sys *System) *cobra.Command {
	cmd := &cobra.Command{
		Use:     v.Name + " RECORDING",
		Short:   v.Doc,
		GroupID: groupRun,
	}
	if !sys.names(cmd) {
		return cmd
	}
	cmd.Example = examplesOf(v)
	var q query.Query
	queryFlags(cmd.Flags(), &q, v.Uses.List())
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		q.View = v.Name
		out, err := outputOf(cmd, sys)
		if err != nil {
			return err
		}
		if err := drawable(v, out); err != nil {
			return err
		}
		if len(args) != 1 {
			return usagef("for example: hone "+v.Name+" server.hone", "%s needs one recording", v.Name)
		}
		rec, at, err := openPart(cmd.Context(), sys, v.Part, args[0])
		var other *open.NotRecordingError
		if errors.As(err, &other) {
			if err := present(args); err != nil {
				return err
			}
			return withHint(other, hint.Ask("record", "./PACKAGE"), " records a program, ", hint.Ask("record", "URL"), " a server")
		}
		if err != nil {
			return openHints(err)
		}
		defer rec.Close()
		if q.At == (query.Span{}) {
			q.At = at
		}
		r, err := v.Run([]*recording.Recording{rec}, q)
		if err != nil {
			return err
		}
		return out.write(sys, r)
	}
	return cmd
}

// examplesOf returns examples of a view about a run: with --at and with a picture, if the view supports them.
func examplesOf(v *view.View) string {
	list := []string{"hone " + v.Name + " server.hone"}
	if v.Uses.Has("at") {
		list = append(list, "hone "+v.Name+" --at 10s..20s server.hone", "hone "+v.Name+" -o "+v.Name+".svg server.hone")
	}
	return "  " + strings.Join(list, "\n  ")
}
