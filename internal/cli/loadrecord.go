package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/hone-perf/hone/internal/capture"
	"github.com/hone-perf/hone/internal/gocmd"
	"github.com/hone-perf/hone/internal/latency"
	"github.com/hone-perf/hone/internal/load"
	"github.com/hone-perf/hone/internal/recording"
	"github.com/hone-perf/hone/internal/render"
	"github.com/hone-perf/hone/internal/source"
	"github.com/hone-perf/hone/internal/unit"
)

// recordLoad loads a server that it starts, or one that serves profiles, and shows the results and the cost of requests. behind has the arguments of
// the server.
func recordLoad(cmd *cobra.Command, sys *System, out output, f *loadFlags, ask *source.Options, args, behind []string) error {
	switch {
	case f.record != "" && f.pprof != "":
		return usagef("", "--record starts a server, --pprof uses a running one: give only one of them")
	case f.pprof != "" && f.flight > 0:
		return usagef("--trace records all of the run", "--flight needs a server that is built with the recorder")
	case len(f.when.list) == 0 && (cmd.Flags().Changed("cooldown") || cmd.Flags().Changed("captures")):
		return usagef("for example: --when 'latency>200ms' --flight 10s", "--cooldown and --captures are about --when")
	case len(f.when.list) > 0 && f.captures < 1:
		return usagef("", "--captures %d: want a number of captures, such as 5", f.captures)
	case len(f.when.list) > 0 && f.trace:
		return usagef("--flight 10s keeps the last ten seconds of a trace, and writes them when there is trouble", "--trace has all of the run, and needs no --when")
	case f.findMax:
		return usagef("", "--find-max makes many runs and records none of them")
	case f.pprof != "" && len(behind) > 0:
		return usagef("", "a running server takes no arguments")
	}
	save := ""
	if strings.HasSuffix(out.file, ".hone") {
		save, out.file = out.file, ""
	}
	words, err := load.WithPort(slices.Concat(args, behind))
	if err != nil {
		return err
	}
	args, behind = words[:len(args)], words[len(args):]
	p, err := f.plan(cmd, sys, ask, args)
	if err != nil {
		return err
	}
	say := newSaying(sys)
	p.Row = f.row(sys, say)
	opt := capture.Options{
		Out: save, Dir: sys.Dir, Hone: version(), Say: say.now,
		Now: func() time.Time { return time.Now().In(sys.Zone) },

		KeepSecrets: f.keepSecrets, Trace: f.trace, Flight: f.flight,
	}
	if len(f.when.list) > 0 {
		const all = 1000 * time.Hour // the cost of requests is computed from the profiles of the whole run
		opt.When, opt.Window, opt.Cooldown, opt.Captures = f.when.list, all, f.cooldown, f.captures
	}
	var done *capture.Recorded
	if f.pprof != "" {
		done, err = load.Attach(cmd.Context(), opt, capture.Server{Target: f.pprof, Ask: *ask}, *p)
	} else {
		if err := f.program(sys, &opt, behind); err != nil {
			return err
		}
		done, err = load.Record(cmd.Context(), opt, *p)
	}
	say.now("")
	if done == nil || err != nil {
		return loadFailed(cmd.Context(), sys, done, err)
	}
	rec, err := recording.Open(done.File)
	if err != nil {
		return err
	}
	defer rec.Close()
	if err := rec.Check(); err != nil {
		return err
	}
	fmt.Fprintf(sys.Err, "hone: %s: %s\n", done.File, unit.Size(done.Bytes))
	switch m := done.Manifest; {
	case len(m.Events) > 0:
		sayTrouble(sys, m)
	case m.Lookout != nil:
		note(sys, "there was no trouble (%s)", strings.Join(m.Lookout.When, ", "))
	}
	sayHidden(sys, "recording", done.Hidden)
	if err := finished(cmd.Context(), showLoad(sys, out, f, rec)); err != nil {
		return err
	}
	if recording.LoadRun.In(rec).Stopped == load.ServerEnded {
		why := fmt.Sprintf("exit code %d", done.Code)
		if x := done.Manifest.Exit; x != nil && x.Cause != "" {
			why += ", " + x.Cause
		}
		return fmt.Errorf("the server ended during the run: %s", why)
	}
	return noAnswer(recording.LoadRun.In(rec))
}

// program determines what to run: a package, Go files, or a compiled program.
func (f *loadFlags) program(sys *System, opt *capture.Options, args []string) error {
	opt.Program = capture.Program{Args: args}
	st, err := os.Stat(f.record)
	if err == nil && st.Mode().IsRegular() && !strings.HasSuffix(f.record, ".go") {
		if f.trace || f.flight > 0 {
			return usagef("--record PACKAGE builds the server with the recorder", "an execution trace needs a server that is built with the recorder")
		}
		if err := capture.CanSee(recording.Ran, f.when.list); err != nil {
			return usagef("--record PACKAGE builds the server with the recorder, which can see all", "--when %w", err)
		}
		opt.Program.Args = append([]string{runnable(f.record)}, args...)
		return nil
	}
	targets := strings.Fields(f.record)
	if len(targets) == 1 {
		targets = []string{f.record}
	}
	if err := isSourceOf(targets, false); err != nil {
		return err
	}
	opt.Build = &capture.Build{Targets: targets, Dir: sys.Dir, Trace: f.trace, Flight: f.flight > 0, Latency: capture.WatchesLatency(f.when.list)}
	return nil
}

// row returns the callback for the results of each second of a run.
func (f *loadFlags) row(sys *System, say *saying) func(latency.Row) {
	return func(r latency.Row) {
		if f.ndjson {
			if err := writeLine(sys.Out, struct {
				Type string `json:"type"`
				latency.Row
			}{"second", r}); err != nil {
				say.now("")
			}
			return // the progress lines show the run
		}
		say.now(live(r))
	}
}

// loadFailed explains why there is no load run, with the last output of the server. It removes an empty recording.
func loadFailed(ctx context.Context, sys *System, done *capture.Recorded, err error) error {
	said := ""
	if done != nil {
		if rec, openErr := recording.Open(done.File); openErr == nil {
			text, _ := rec.File(recording.OutputFile, 1<<20)
			said = strings.TrimSpace(string(text))
			rec.Close()
		}
		var notReady *load.NotReadyError
		if errors.As(err, &notReady) {
			os.RemoveAll(done.File)
		}
	}
	if lines := strings.Split(said, "\n"); said != "" {
		for _, l := range lines[max(0, len(lines)-10):] {
			fmt.Fprintf(sys.Err, "server: %s\n", render.Message(l))
		}
	}
	var wrong *gocmd.Error
	var public *load.PublicError
	var notReady *load.NotReadyError
	switch {
	case ctx.Err() != nil && errors.Is(err, capture.ErrBuilding):
		return errors.New("interrupted during the build of the server: nothing was recorded")
	case ctx.Err() != nil:
		return errors.New("interrupted before there was anything to save")
	case errors.As(err, &public):
		return &usageError{err, "--allow-public loads it anyway: make sure that you are allowed to"}
	case errors.As(err, &wrong):
		return withHint(err, "go build reports the same; hone changed nothing in the package")
	case errors.Is(err, capture.ErrExists):
		return exists(err)
	case errors.Is(err, load.ErrTaken):
		return withHint(err, "write {port} in the URL and in the server's arguments for a free port, or use --pprof to load a running server")
	case errors.As(err, &notReady):
		return withHint(err, "pass its address as an argument after --, or make it listen on the one in the URL")
	case errors.Is(err, capture.ErrNoProfiles):
		return withHint(err, `import _ "net/http/pprof" makes a Go server offer them; --record starts a server with the recorder`)
	case errors.Is(err, syscall.ECONNREFUSED):
		return withHint(err, "is the server running? --record starts one")
	}
	return err
}
