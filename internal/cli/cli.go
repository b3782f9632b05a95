// Package cli is the command line of hone: its commands, their flags, and their output.
//
// Main parses the arguments, runs one command, and returns its exit code. A System has everything that a command may touch, so tests can
// replace it. Most commands turn flags into a query, open recordings with package open, run a view, and write its report with package
// render. cli.go adds the commands to the root command; most other files have one command each.
package cli

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/hone-perf/hone/internal/capture"
	"github.com/hone-perf/hone/internal/compat/ab"
	"github.com/hone-perf/hone/internal/compat/benchcmp"
	"github.com/hone-perf/hone/internal/compat/benchstat"
	"github.com/hone-perf/hone/internal/compat/pprof"
	"github.com/hone-perf/hone/internal/hint"
	"github.com/hone-perf/hone/internal/profile"
	"github.com/hone-perf/hone/internal/recording"
	"github.com/hone-perf/hone/internal/render"
	"github.com/hone-perf/hone/internal/scratch"
	"github.com/hone-perf/hone/internal/source"
	"github.com/hone-perf/hone/internal/view"
	"github.com/hone-perf/hone/internal/views"
)

// Exit codes of hone.
const (
	exitDone      = 0
	exitFailed    = 1
	exitUsage     = 2
	exitGate      = 3 // the answer crosses a gate that the user set
	exitUndecided = 4 // there is no answer, and the user asked to be told

	exitInterrupted = 130 // the user ended it, as shells say that; what is shown is what had been done
)

// A System is what a command may touch.
type System struct {
	In       io.Reader
	Out, Err io.Writer
	Env      func(string) string
	Dir      string         // current folder
	Zone     *time.Location // that times are shown in

	args      []string
	unwritten error // why the help could not be written
	partial   bool  // a profile that was named, or a part of a recording, could not be read, and the answer is of the others
}

// names reports whether the command line may be about a command, which then gets its flags. Hundreds of flags that nobody
// will look at take time, so other commands are only there to be listed in help.
func (s *System) names(cmd *cobra.Command) bool {
	if slices.ContainsFunc(s.args, func(arg string) bool { return arg == cmd.Name() || slices.Contains(cmd.Aliases, arg) }) {
		return true
	}
	cmd.RunE = func(*cobra.Command, []string) error { return nil } // makes it a command for help
	return false
}

// OS returns the real thing.
func OS() System {
	dir, _ := os.Getwd() // commands that need it say that there is none
	return System{In: os.Stdin, Out: os.Stdout, Err: os.Stderr, Env: os.Getenv, Dir: dir, Zone: time.Local}
}

// Interruptible returns a context that ends with the first interrupt, or when hone is asked to end; the second time ends
// the program. When interrupts are ignored, as in what a script runs in the background, they stay so, for us and for what
// we run. A command that only reads starts nothing that would outlive it: there the first time ends the program, also while it
// waits for a pipe that nobody writes to.
func Interruptible(args []string) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(context.Background())
	if onlyReads(args) {
		return ctx, cancel
	}
	signals := []os.Signal{os.Interrupt, syscall.SIGTERM}
	if signal.Ignored(os.Interrupt) {
		signals = signals[1:]
	}
	// From here on, not a moment later: a server that has printed its address may be asked to end right away.
	asked := make(chan os.Signal, 1)
	signal.Notify(asked, signals...)
	go endWhenAsked(ctx, asked, cancel, func() { signal.Stop(asked) })
	return ctx, cancel
}

// endWhenAsked ends what is being done at the first signal, and stops listening, so that the next one ends the program: who asks twice does
// not want to wait. Two at once are one: timeout(1) signals its child, and then the group of the child.
func endWhenAsked(ctx context.Context, asked <-chan os.Signal, cancel, stop func()) {
	select {
	case <-asked:
		cancel()
		time.Sleep(capture.Pair)
	case <-ctx.Done():
	}
	stop()
}

// onlyReads reports whether a command runs and serves nothing, and leaves nothing behind when it is cut off.
func onlyReads(args []string) bool {
	if len(args) == 0 || slices.Contains(args, "--") {
		return false
	}
	switch args[0] {
	case "merge", "pgo", "benchstat", "benchcmp", "version", "help", "completion":
		return true
	case "pprof":
		return !slices.ContainsFunc(args, func(a string) bool { return strings.HasPrefix(strings.TrimLeft(a, "-"), "http") })
	}
	if args[0] == "-" || strings.ContainsAny(args[0], "./:") {
		return true // a first look at a file or a server
	}
	v, ok := views.Find(args[0])
	return ok && (v.Part == view.Profile || v.Part == view.Metrics || v.Part == view.GCLog || v.Part == view.Trace)
}

// width returns the number of columns of the terminal that w is, or 0 when it is none.
func width(w io.Writer) int {
	f, ok := w.(*os.File)
	if !ok || !term.IsTerminal(int(f.Fd())) {
		return 0
	}
	if cols, _, err := term.GetSize(int(f.Fd())); err == nil && cols > 0 {
		return cols
	}
	return 80
}

// Main runs the command that args ask for and returns its exit code.
func Main(ctx context.Context, sys System, args []string) int {
	tuneGC(sys, args)
	defer scratch.Clean()
	if len(args) > 0 {
		// The flags of other tools are not ours.
		switch args[0] {
		case "pprof":
			return pprof.Main(ctx, pprof.System{In: sys.In, Out: sys.Out, Err: sys.Err, Env: sys.Env}, args[1:])
		case "benchstat":
			return benchstat.Main(benchstat.System{In: sys.In, Out: sys.Out, Err: sys.Err}, args[1:])
		case "benchcmp":
			return benchcmp.Main(benchcmp.System{Out: sys.Out, Err: sys.Err}, args[1:])
		case "ab":
			return ab.Main(ctx, ab.System{Out: sys.Out, Err: sys.Err, Zone: sys.Zone}, args[1:])
		}
	}
	sys.args = args
	root := newRoot(&sys)
	root.SetArgs(args)
	root.SetIn(sys.In)
	root.SetOut(sys.Out)
	root.SetErr(sys.Err)
	err := root.ExecuteContext(ctx)
	if err == nil {
		err = sys.unwritten
	}
	switch {
	case err == nil && sys.partial:
		return exitFailed // a script does not read notes
	case err == nil:
		return exitDone
	}
	var ended *exited
	if errors.As(err, &ended) && ended.err == nil {
		return ended.code
	}
	if ctx.Err() != nil && errors.Is(err, context.Canceled) {
		fmt.Fprintln(sys.Err, "hone: interrupted")
	} else {
		text := err.Error()
		var bad *badValue
		if errors.As(err, &bad) && sys.forTools() {
			text = bad.spell(sys.speller())
		}
		fmt.Fprintf(sys.Err, "hone: %s\n", render.Message(text))
		for _, h := range hints(err, sys.speller()) {
			fmt.Fprintf(sys.Err, "hint: %s\n", render.Message(h))
		}
	}
	var wrong *usageError
	switch {
	case ended != nil:
		return ended.code
	case errors.As(err, &wrong):
		return exitUsage
	case ctx.Err() != nil:
		return exitInterrupted
	}
	return exitFailed
}

// finished returns what a command ends with that has shown what it has: err, or that the user ended it before it was done. Then
// nobody may take the answer for a whole one, least of all a gate.
func finished(ctx context.Context, err error) error {
	var gate *exited
	if ctx.Err() != nil && (err == nil || errors.As(err, &gate)) {
		return ctx.Err()
	}
	return err
}

// tuneGC sets how much garbage may pile up, unless the environment says. Beside a large file it is little: most of the
// heap is then columns without pointers, which cost the collector next to nothing. But each time it begins, it wakes threads and stops those
// that work, so it does not begin before there is about as much as such a profile takes: to begin at 24 MB took a tenth of the time, for no
// less memory. Beside small files it is 40 MB: a command that ends after a tenth of a second would spend a tenth of that on collecting
// what its end makes free.
func tuneGC(sys System, args []string) {
	if sys.Env("GOGC") != "" {
		return
	}
	size, packed := profileIn(args)
	large := size > manyBytes
	switch {
	case len(args) == 0:
	case args[0] == "web": // it sets this anew once all is read, which must not be undone behind that
		if large {
			debug.SetGCPercent(15)
		}
	case large:
		if packed {
			size *= 4
		}
		collectLater(min(size, 1<<30), 15)
	default:
		collectLater(40<<20, 100)
	}
}

// profileIn returns how large the largest profile is that a command line names, as far as that can be told, and whether it is packed.
func profileIn(args []string) (size int64, packed bool) {
	if len(args) > 0 && slices.Contains([]string{"gc", "bench"}, args[0]) {
		return 0, false // lines of text, of which little is kept
	}
	for _, a := range args {
		if st, err := os.Stat(a); err == nil && st.Mode().IsRegular() && st.Size() > size {
			if n, p := largestProfile(a, st.Size()); n > size {
				size, packed = n, p
			}
		}
	}
	return size, packed
}

// manyBytes is the size from which on a file is large.
const manyBytes = 8 << 20

// largestProfile returns how large the profile in a file of some size can be, or the largest in a recording, and whether it is packed with gzip or
// zstd. Thousands of small profiles are not a large one.
func largestProfile(name string, size int64) (largest int64, packed bool) {
	if size <= manyBytes {
		return size, false // no matter
	}
	f, err := os.Open(name)
	if err != nil {
		return size, false
	}
	defer f.Close()
	if recording.IsRecording(name) {
		return recording.LargestProfile(f, size), true
	}
	if source.IsTrace(name) {
		return 0, false // it is read bit by bit
	}
	var head [4]byte
	n, _ := io.ReadFull(f, head[:])
	return size, profile.IsPacked(head[:n])
}

// collectLater keeps the collector from running before there is something worth collecting, and then lets that percentage of
// what is in use pile up.
func collectLater(enough int64, percent int) {
	if debug.SetMemoryLimit(-1) != math.MaxInt64 {
		debug.SetGCPercent(percent)
		return // the environment says how much there may be
	}
	debug.SetGCPercent(-1)
	debug.SetMemoryLimit(enough)
	// What nobody holds tells when the first collection has been.
	runtime.AddCleanup(new([32]byte), func(struct{}) {
		debug.SetGCPercent(percent)
		debug.SetMemoryLimit(math.MaxInt64)
	}, struct{}{})
}

// A usageError says that hone was called in a way it does not understand.
type usageError struct {
	err  error
	hint string
}

func (e *usageError) Error() string { return e.err.Error() }
func (e *usageError) Unwrap() error { return e.err }

func usagef(hint, format string, args ...any) error {
	return &usageError{fmt.Errorf(format, args...), hint}
}

// withHint returns err with a next step: words, and what to set or to run, which each front spells in its own way.
func withHint(err error, next ...any) error { return &hint.Error{Err: err, Next: next} }

// hints returns what can be done about err, as a front words it.
func hints(err error, by hint.Speller) []string {
	var out []string
	var wrong *usageError
	var bad *badValue
	_, typed := by.(flagSpeller) // by somebody who can ask for help with flags
	if errors.As(err, &wrong) && wrong.hint != "" && (typed || !errors.As(err, &bad)) {
		out = append(out, wrong.hint)
	}
	next := hint.Next(err)
	var missing *exec.Error
	if next == nil && errors.As(err, &missing) && missing.Name == "go" && errors.Is(missing, exec.ErrNotFound) {
		out = append(out, "install Go (https://go.dev/doc/install), or add the folder of the go command to PATH")
	}
	var knows hint.Knows
	for rest := err; errors.As(rest, &knows); { // the command may know a step, and what it called another one
		out = append(out, knows.Hint().Spell(by))
		rest = nil
		if inner, ok := knows.(interface{ Unwrap() error }); ok {
			rest = inner.Unwrap()
		}
	}
	var noexec *scratch.NoExec
	if errors.As(err, &noexec) {
		out = append(out, scratch.Variable+"=DIR names a folder where programs can run; the go command uses it too")
	}
	var unusable *scratch.Unusable
	if errors.As(err, &unusable) {
		out = append(out, "TMPDIR=DIR names another one")
	}
	if errors.Is(err, profile.ErrNothingCommon) {
		out = append(out, "they are of different kinds, such as cpu and heap; hone info FILE shows the kind, and only profiles of one kind can be merged or compared")
	}
	if errors.Is(err, profile.ErrEmpty) {
		out = append(out, "a program writes its CPU profile in pprof.StopCPUProfile; os.Exit and log.Fatal skip deferred calls of it")
	}
	var format *profile.FormatError
	if errors.As(err, &format) && format.Detail != "" && next == nil { // a hint about what the file is instead says more
		out = append(out, format.Detail)
	}
	return out
}

const rootHelp = `Find what makes a Go program slow, fix it, and prove it.

hone reads any Go profile: CPU, heap, allocs, block, mutex, goroutine, threadcreate;
from files, folders, glob patterns, servers (host:port or URL), a store (store:SERVICE@-1h)
and standard input (-). Several profiles are merged. It also reads execution traces,
benchmark results, logs of GODEBUG=gctrace=1, and what hone record writes.`

const rootExamples = `  hone tour                       # the whole loop, on a practice program
  hone record ./cmd/server        # one file with everything about a run
  hone cpu.pprof                  # a first look; also at recordings, traces, benchmark results
  hone web cpu.pprof              # in the browser
  hone top localhost:6060         # where a server spends its time
  hone diff old.pprof new.pprof   # what changed
  hone pgo profiles/              # a profile for go build -pgo`

// The groups of commands in help.
const (
	groupLook   = "look"
	groupRun    = "run"
	groupTrace  = "trace"
	groupRecord = "record"
	groupLoad   = "load"
	groupAdvise = "advise"
	groupProve  = "prove"
	groupWatch  = "watch"
	groupData   = "data"
	groupCompat = "compat"
	groupOther  = "other"
)

// otherCommands are those that are not views.
var otherCommands = []struct {
	name string
	make func(*System) *cobra.Command
}{
	{"record", recordCommand},
	{"time", timeCommand},
	{"tour", tourCommand},
	{"advise", adviseCommand},
	{"fix", fixCommand},
	{"prove", proveCommand},
	{"race", raceCommand},
	{"why-alloc", whyCommand},
	{"init", initCommand},
	{"shell", shellCommand},
	{"serve", serveCommand},
	{"services", servicesCommand},
	{"events", eventsCommand},
	{"push", pushCommand},
	{"shelf", shelfCommand},
	{"pgo", pgoCommand},
	{"mcp", mcpCommand},
	{"merge", mergeCommand},
	{"web", webCommand},
	{"version", versionCommand},
}

// commandNamed returns the command that the command line begins with, or nil if it begins with none.
func commandNamed(sys *System) *cobra.Command {
	if len(sys.args) == 0 {
		return nil
	}
	if v, ok := views.Find(sys.args[0]); ok {
		return commandOf(v, sys)
	}
	for i := range otherCommands {
		if otherCommands[i].name == sys.args[0] {
			return otherCommands[i].make(sys)
		}
	}
	return nil
}

// addAll adds all commands, for help and to find the one that is meant.
func addAll(root *cobra.Command, sys *System) {
	for v := range views.All() {
		root.AddCommand(commandOf(v, sys))
	}
	for i := range otherCommands {
		root.AddCommand(otherCommands[i].make(sys))
	}
	addCompat(root)
}

func newRoot(sys *System) *cobra.Command {
	root := &cobra.Command{
		Use:           "hone [COMMAND] PROFILE…",
		Short:         "a Go performance workbench",
		Long:          rootHelp,
		Example:       rootExamples,
		SilenceErrors: true,
		SilenceUsage:  true,
		Args:          cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if show, _ := cmd.Flags().GetBool("version"); show {
				_, err := fmt.Fprintln(sys.Out, version())
				return err
			}
			if len(args) == 0 {
				return around(cmd, sys)
			}
			return look(cmd, sys, args)
		},
	}
	root.PersistentPreRunE = refuseStored
	root.ValidArgsFunction = completeFirst
	root.Flags().Bool("version", false, "show the version")
	root.SetHelpFunc(func(cmd *cobra.Command, _ []string) {
		w := bufio.NewWriter(sys.Out)
		help(cmd, w, width(sys.Out))
		if err := w.Flush(); !isBrokenPipe(err) {
			sys.unwritten = err // cobra takes none from here
		}
	})
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		if cmd == root && !strings.HasPrefix(sys.args[0], "-") {
			if wrong := knowCommand(root, sys.args[0]); wrong != nil {
				return wrong // its flags are unknown because it is
			}
		}
		return orPprof(cmd, sys.args, flagError(cmd, err))
	})
	root.AddGroup(
		&cobra.Group{ID: groupLook, Title: "Look at profiles:"},
		&cobra.Group{ID: groupRun, Title: "Look at a run:"},
		&cobra.Group{ID: groupTrace, Title: "Look at an execution trace:"},
		&cobra.Group{ID: groupRecord, Title: "Record:"},
		&cobra.Group{ID: groupLoad, Title: "Load:"},
		&cobra.Group{ID: groupAdvise, Title: "Advise:"},
		&cobra.Group{ID: groupProve, Title: "Prove:"},
		&cobra.Group{ID: groupWatch, Title: "Watch:"},
		&cobra.Group{ID: groupData, Title: "Convert:"},
		&cobra.Group{ID: groupCompat, Title: "Compatibility:"},
		&cobra.Group{ID: groupOther, Title: "Other:"},
	)
	if cmd := commandNamed(sys); cmd != nil {
		root.AddCommand(cmd) // to make all the others takes some hundredths of each start
	} else {
		addAll(root, sys)
	}
	root.SetHelpCommand(helpCommand())
	outputFlags(root)
	if c, _, err := root.Find(sys.args); err != nil || c == root {
		addCompletion(root)
	} else {
		root.CompletionOptions.DisableDefaultCmd = true
	}
	return root
}
