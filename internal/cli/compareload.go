package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/hone-perf/hone/internal/duel/server"
	"github.com/hone-perf/hone/internal/hint"
	"github.com/hone-perf/hone/internal/load"
	"github.com/hone-perf/hone/internal/open"
	"github.com/hone-perf/hone/internal/recording"
	"github.com/hone-perf/hone/internal/view"
	"github.com/hone-perf/hone/internal/view/loadview"
)

// compareLoadRuns compares two recorded load runs.
func compareLoadRuns(ctx context.Context, sys *System, out output, f *compareFlags, old, new string) error {
	var in []*recording.Recording
	for _, ref := range []string{new, old} {
		rec, _, err := openPart(ctx, sys, view.LoadRun, ref)
		var none *open.NoPartError
		if errors.As(err, &none) {
			return withHint(fmt.Errorf("%s: %w", ref, loadview.ErrNoLoad), hint.Ask("diff", old, new), " compares profiles; hone compare takes two load runs, or one recording that hone compare made")
		}
		if err != nil {
			return err
		}
		defer rec.Close()
		if err := rec.Check(); err != nil {
			return err
		}
		in = append(in, rec)
	}
	return showCompare(sys, out, f, in...)
}

// underLoad is the load for a server that hone builds: the command line of hone load, and the arguments of the server.
func underLoad(sys *System, words string, args []string) *server.Load {
	return &server.Load{
		Name: words, Hone: version(),
		Plan:    func() (*load.Plan, []string, error) { return planOf(sys, words, args) },
		Explain: func(ctx context.Context, err error) error { return underLoadError(ctx, sys, err) },
	}
}

// underLoadError adds to an error the setting to change when a run under load had no results to compare.
func underLoadError(ctx context.Context, sys *System, err error) error {
	var start *server.StartError
	var silent *server.SilentError
	var wrong *server.WrongError
	const longer = "make each run longer, with -t in --load"
	switch {
	case errors.As(err, &start):
		return loadFailed(ctx, sys, start.Done, start.Err)
	case errors.As(err, &silent):
		return cmp.Or(noAnswer(silent.Log), fmt.Errorf("%w: %s", err, longer))
	case errors.As(err, &wrong):
		return fmt.Errorf("%w; --expect sets which status codes are", err)
	case errors.Is(err, server.ErrNoCPU):
		return fmt.Errorf("%w: %s", err, longer)
	case errors.Is(err, server.ErrComparable):
		return usagef("for example: hone compare --load '127.0.0.1:{port}/' main..HEAD ./cmd/server -- -addr 127.0.0.1:{port}",
			"--load compares two versions of one package; it cannot be combined with benchmarks, --cmd, --layouts or --how")
	}
	return err
}

// planOf returns the load plan and the arguments of the server, both with the same free port.
func planOf(sys *System, asked string, server []string) (*load.Plan, []string, error) {
	words, err := load.WithPort(slices.Concat(promptWords(asked), server))
	if err != nil {
		return nil, nil, err
	}
	n := len(words) - len(server)
	cmd := &cobra.Command{}
	lf, ask := loadFlagsOf(cmd)
	if err := cmd.ParseFlags(words[:n]); err != nil {
		return nil, nil, usagef("", "--load: %w", err)
	}
	if lf.record != "" || lf.pprof != "" || lf.findMax || lf.ndjson || lf.hgrm != "" || lf.slo != "" {
		return nil, nil, usagef("", "--load only sets what is sent and how: it cannot contain --record, --pprof, --find-max, --slo, --hgrm or --ndjson")
	}
	p, err := lf.plan(cmd, sys, ask, cmd.Flags().Args())
	if err != nil {
		return nil, nil, err
	}
	if lf.duration == 0 && lf.number == 0 && lf.stages == "" {
		p.Duration = 3 * time.Second
	}
	if !cmd.Flags().Changed("warmup") {
		p.Warmup = time.Second
	}
	return p, words[n:], nil
}
