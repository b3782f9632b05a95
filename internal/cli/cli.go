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

	exitInterrupted = 130 // interrupted by the user, with the code that shells use; the output has what was done so far
)

// A System is what a command may touch.
type System struct {
	In       io.Reader
	Out, Err io.Writer
	Env      func(string) string
	Dir      string         // current folder
	Zone     *time.Location // time zone of times on display

	args      []string
	unwritten error // error of writing the help
	partial   bool  // a profile or a part of a recording could not be read, so the answer lacks it
}

// names reports whether the command line may call cmd. Only then cmd gets its flags: making the hundreds of flags of all commands takes time, and the
// other commands are only listed in help.
func (s *System) names(cmd *cobra.Command) bool {
	if slices.ContainsFunc(s.args, func(arg string) bool { return arg == cmd.Name() || slices.Contains(cmd.Aliases, arg) }) {
		return true
	}
	cmd.RunE = func(*cobra.Command, []string) error { return nil } // cobra lists only commands that can run
	return false
}

// OS returns the System of this process.
func OS() System {
	dir, _ := os.Getwd() // commands that need the folder report that it is missing
	return System{In: os.Stdin, Out: os.Stdout, Err: os.Stderr, Env: os.Getenv, Dir: dir, Zone: time.Local}
}

// Interruptible returns a context that ends with the first interrupt or SIGTERM; the second one kills hone. If interrupts are ignored, as in
// background jobs of a script, hone and its child processes go on ignoring them. Commands that only read start nothing that would outlive hone: for
// them, the first signal kills hone, even while it waits for input on a pipe.
func Interruptible(args []string) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(context.Background())
	if onlyReads(args) {
		return ctx, cancel
	}
	signals := []os.Signal{os.Interrupt, syscall.SIGTERM}
	if signal.Ignored(os.Interrupt) {
		signals = signals[1:]
	}
	// Listen before anything runs: a server can get a signal as soon as it has printed its address.
	asked := make(chan os.Signal, 1)
	signal.Notify(asked, signals...)
	go endWhenAsked(ctx, asked, cancel, func() { signal.Stop(asked) })
	return ctx, cancel
}

// endWhenAsked ends the context at the first signal and then stops listening, so that a second signal kills hone. It counts two signals at the same
// time as one: timeout(1) signals its child and then the process group of the child.
func endWhenAsked(ctx context.Context, asked <-chan os.Signal, cancel, stop func()) {
	select {
	case <-asked:
		cancel()
		time.Sleep(capture.Pair)
	case <-ctx.Done():
	}
	stop()
}

// onlyReads reports whether a command only reads: it runs no program, serves nothing, and leaves nothing behind when killed.
func onlyReads(args []string) bool {
	if len(args) == 0 || slices.Contains(args, "--") {
		return false
	}
	switch args[0] {
	case "merge", "pgo", "benchstat", "benchcmp", "version", "help", "completion":
		return true
	case "holders": // while it reads a process, that has stopped, or has a fork
		return !slices.ContainsFunc(args, isNumber)
	case "pprof":
		return !slices.ContainsFunc(args, func(a string) bool { return strings.HasPrefix(strings.TrimLeft(a, "-"), "http") })
	}
	if args[0] == "-" || strings.ContainsAny(args[0], "./:") {
		return true // a first look at a file or a server
	}
	v, ok := views.Find(args[0])
	return ok && (v.Part == view.Profile || v.Part == view.Metrics || v.Part == view.GCLog || v.Part == view.Trace)
}

// width returns the number of columns of the terminal w, or 0 if w is not a terminal.
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

// Main runs the command that args name and returns its exit code.
func Main(ctx context.Context, sys System, args []string) int {
	tuneGC(sys, args)
	defer scratch.Clean()
	if len(args) > 0 {
		// These commands parse the flags of the tools that they replace.
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
		return exitFailed // scripts do not read notes, so the exit code has to say it
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

// finished returns err, or an error if the user interrupted a command that has shown its answer. An incomplete answer must not exit with 0, and must
// not pass a gate.
func finished(ctx context.Context, err error) error {
	var gate *exited
	if ctx.Err() != nil && (err == nil || errors.As(err, &gate)) {
		return ctx.Err()
	}
	return err
}

// tuneGC sets how much garbage may pile up, unless GOGC or GOMEMLIMIT is set. With a large profile, the first collection starts when the heap is
// about as large as that profile takes. Most of such a heap is columns without pointers, which cost the collector little, but each cycle wakes
// threads and stops the workers: starting at 24 MB took a tenth of the time and saved no memory. With small files, the first collection starts at 40
// MB: a command of a tenth of a second would spend a tenth of that on freeing memory which exit frees anyway.
func tuneGC(sys System, args []string) {
	if sys.Env("GOGC") != "" {
		return
	}
	size, packed := profileIn(args)
	large := size > manyBytes
	switch {
	case len(args) == 0:
	case args[0] == "web": // hone web sets its own value after loading, and this must not overwrite it
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

// profileIn returns the size of the largest profile on the command line, as far as it can be known, and whether it is compressed.
func profileIn(args []string) (size int64, packed bool) {
	if len(args) > 0 && slices.Contains([]string{"gc", "bench"}, args[0]) {
		return 0, false // text lines, of which hone keeps little
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

// manyBytes is the size above which a file is large.
const manyBytes = 8 << 20

// largestProfile returns the possible size of the profile in a file, or of the largest one in a recording, and whether it is compressed with gzip or
// zstd. Thousands of small profiles do not count as a large one.
func largestProfile(name string, size int64) (largest int64, packed bool) {
	if size <= manyBytes {
		return size, false // compression makes no difference for small files
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
		return 0, false // read as a stream
	}
	var head [4]byte
	n, _ := io.ReadFull(f, head[:])
	return size, profile.IsPacked(head[:n])
}

// collectLater delays the first collection until the heap has enough bytes. After it, the garbage may grow to percent of the live heap.
func collectLater(enough int64, percent int) {
	if debug.SetMemoryLimit(-1) != math.MaxInt64 {
		debug.SetGCPercent(percent)
		return // GOMEMLIMIT is set
	}
	debug.SetGCPercent(-1)
	debug.SetMemoryLimit(enough)
	// The cleanup of an unreachable object runs after the first collection.
	runtime.AddCleanup(new([32]byte), func(struct{}) {
		debug.SetGCPercent(percent)
		debug.SetMemoryLimit(math.MaxInt64)
	}, struct{}{})
}

// A usageError reports a wrong command line.
type usageError struct {
	err  error
	hint string
}

func (e *usageError) Error() string { return e.err.Error() }
func (e *usageError) Unwrap() error { return e.err }

func usagef(hint, format string, args ...any) error {
	return &usageError{fmt.Errorf(format, args...), hint}
}

// withHint returns err with a next step. The step consists of words, options and commands; each front end spells options and commands in its own way.
func withHint(err error, next ...any) error { return &hint.Error{Err: err, Next: next} }

// hints returns the next steps for err, spelled by a front end.
func hints(err error, by hint.Speller) []string {
	var out []string
	var wrong *usageError
	var bad *badValue
	_, typed := by.(flagSpeller) // the reader can type flags, and so ask for their help
	if errors.As(err, &wrong) && wrong.hint != "" && (typed || !errors.As(err, &bad)) {
		out = append(out, wrong.hint)
	}
	next := hint.Next(err)
	var missing *exec.Error
	if next == nil && errors.As(err, &missing) && missing.Name == "go" && errors.Is(missing, exec.ErrNotFound) {
		out = append(out, "install Go (https://go.dev/doc/install), or add the folder of the go command to PATH")
	}
	var knows hint.Knows
	for rest := err; errors.As(rest, &knows); { // an error and the error that it wraps may both have a hint
		if text := knows.Hint().Spell(by); text != "" {
			out = append(out, text)
		}
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
		out = append(out, "a program writes its CPU profile in pprof.StopCPUProfile, and its trace in trace.Stop; os.Exit and log.Fatal skip deferred calls of them")
	}
	var format *profile.FormatError
	if errors.As(err, &format) && format.Detail != "" && next == nil { // a hint about the actual kind of the file is more useful
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
	{"targets", targetsCommand},
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
			sys.unwritten = err // cobra has no way to return this error
		}
	})
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		if cmd == root && !strings.HasPrefix(sys.args[0], "-") {
			if wrong := knowCommand(root, sys.args[0]); wrong != nil {
				return wrong // the command is unknown; its flags are unknown for that reason alone
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
		if len(sys.args) > 1 && (sys.args[0] == cobra.ShellCompRequestCmd || sys.args[0] == cobra.ShellCompNoDescRequestCmd) {
			completions(root, sys, sys.args[1])
		}
	} else {
		root.CompletionOptions.DisableDefaultCmd = true
	}
	return root
}
