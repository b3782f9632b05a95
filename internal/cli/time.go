package cli

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/hone-perf/hone/internal/capture"
	"github.com/hone-perf/hone/internal/secret"
	"github.com/hone-perf/hone/internal/unit"
)

const timeHelp = `Run a command and print one line: user and system CPU time, elapsed time, and peak memory.
The command keeps its input, output and exit code.

A program that ends within a few milliseconds may be gone before hone can measure it. On Linux,
its memory is then shown as <16420kB: less than hone used when it started the program.

-v shows more. For a Go program, it also shows the CPU time of garbage collection.`

const timeExamples = `  hone time -- ./app input.txt
  hone time -v -- go build ./...`

func timeCommand(sys *System) *cobra.Command {
	cmd := &cobra.Command{
		Use: "time [-v] -- COMMAND…",

		DisableFlagsInUseLine: true,

		Short:   "Run a command and report its CPU time and memory",
		Long:    timeHelp,
		Example: timeExamples,
		GroupID: groupRecord,
	}
	cmd.Flags().SetInterspersed(false)
	verbose := cmd.Flags().BoolP("verbose", "v", false, "show more, one fact per line")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if len(args) == 0 {
			return usagef("for example: hone time -- ./app input.txt", "time needs a command")
		}
		t, err := capture.Time(cmd.Context(), capture.Program{Args: args, Dir: sys.Dir, In: sys.In, Out: sys.Out, Err: sys.Err}, *verbose)
		if t == nil {
			if isPackage(args[0]) {
				return withHint(fmt.Errorf("%s is a folder, but time runs a program", args[0]), "hone record "+quoted(args[0])+" builds the package in it, and records a run")
			}
			return err
		}
		if *verbose {
			timeInFull(sys, args, t)
		} else {
			memory := "?"
			switch {
			case t.MaxRSS > 0:
				memory = strconv.FormatInt(t.MaxRSS>>10, 10)
			case t.Below > 0: // the program ended before the first sample
				memory = "<" + strconv.FormatInt(t.Below>>10, 10)
			}
			fmt.Fprintf(sys.Err, "%.2fu %.2fs %.2fr %skB %s\n", t.User.Seconds(), t.System.Seconds(), t.Real.Seconds(), memory, shownArgs(args))
		}
		if t.Exit.Code == 0 {
			return err
		}
		return &exited{t.Exit.Code, err}
	}
	return cmd
}

// shownArgs returns a command line for display.
func shownArgs(args []string) string { return strings.Join(new(secret.Hider).Args(args), " ") }

// timeInFull prints everything that is known about a run.
func timeInFull(sys *System, args []string, t *capture.Timed) {
	line := func(name, format string, args ...any) {
		fmt.Fprintf(sys.Err, "%-10s "+format+"\n", append([]any{name}, args...)...)
	}
	line("command", "%s", shownArgs(args))
	cpu := t.User + t.System
	line("real", "%s", unit.Time(t.Real))
	line("user", "%s", unit.Time(t.User))
	line("system", "%s", unit.Time(t.System))
	if t.Real > 0 {
		line("CPU", "%s, %s cores on average", unit.Time(cpu), unit.Cores(cpu.Seconds()/t.Real.Seconds()))
	}
	switch {
	case t.MaxRSS > 0:
		line("memory", "%s at most", unit.Size(t.MaxRSS))
	case t.Below > 0:
		line("memory", "less than %s", unit.Size(t.Below))
	}
	if s := t.Switches; s != (capture.Switches{}) {
		line("switches", "%d voluntary, %d involuntary", s.Waited, s.Displaced)
		line("pages", "%d mapped, %d read from disk", s.Touched, s.Faults)
	}
	if t.GC != nil && len(t.GC.Cycles) > 0 {
		var gc, pauses time.Duration
		for i := range t.GC.Cycles {
			gc += t.GC.Cycles[i].CPU.Total()
			pauses += t.GC.Cycles[i].Pause()
		}
		share := ""
		if cpu > 0 {
			share = ", " + unit.Share(gc.Seconds()/cpu.Seconds()) + " of the CPU time"
		}
		line("GC", "%s, %s%s; the world stopped for %s", unit.Counted(len(t.GC.Cycles), "cycle"), unit.Time(gc), share, unit.Time(pauses))
	}
	if t.Exit.Signal != "" {
		line("exit", "code %d, by signal %s", t.Exit.Code, t.Exit.Signal)
	} else {
		line("exit", "code %d", t.Exit.Code)
	}
}
