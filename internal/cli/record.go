package cli

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/hone-perf/hone/internal/capture"
	"github.com/hone-perf/hone/internal/gocmd"
	"github.com/hone-perf/hone/internal/open"
	"github.com/hone-perf/hone/internal/recording"
	"github.com/hone-perf/hone/internal/secret"
	"github.com/hone-perf/hone/internal/source"
	"github.com/hone-perf/hone/internal/unit"
)

const recordHelp = `Run a program, or fetch from a server, and save everything about the run in one file.

hone builds a package, or a list of Go files, with a recorder inside. The code needs no
change. Arguments of the program come after --. The program keeps its input, output,
signals and exit code; hone takes the lines of its garbage collector out of its standard
error, which is a terminal where it is one without hone (Linux). --test records the tests of a package, and takes the flags of go test.
Or put hone record in front of a go run or go test command line.

A command after -- runs as it is, and hone watches it from outside, like the process of --pid.
From a server (host:port or URL), hone fetches everything under /debug/pprof.

The file has a CPU profile of every second; heap, goroutine, block and mutex profiles of
every few seconds; garbage collections; memory, threads and scheduling over time; how the
run ended and what it used; and the source files that the profiles name. During the run it
is a folder, so a crash loses at most a second.

Passwords, keys and tokens in arguments, labels, URLs and texts are saved as …, as far as
hone recognizes them, unless --keep-secrets is given. hone info --privacy FILE lists what
a recording reveals to others; hone merge --strip removes most of it.

--when waits for trouble: rss, cgroup, heap, goroutines, cpu, gc or latency above a limit,
such as rss>50%, cgroup>80%, heap>90%, goroutines>10000, cpu>180%, gc>20% or latency>200ms.
Separate several conditions by commas. hone takes profiles as soon as one holds, and again
after --cooldown if it is worse than ever before. It keeps only the last --window of the
run, and of the time before each capture, so you can record a program for days. rss>50% is
a share of the memory available to the control group or the machine; heap is the memory that
GOMEMLIMIT limits; cpu>180% means 1.8 cores. For a server, rss is the peak so far. For a
program watched from outside, only rss, cgroup, cpu and gc are available.

latency>200ms waits until a net/http handler takes longer than that for a request. With
--flight 10s, hone then writes the execution trace of the last ten seconds, and hone request
slowest FILE shows what the request waited for. WebSockets, server-sent events and
/debug/pprof do not count.`

const recordExamples = `  hone record ./cmd/app -- -v input.txt
  hone record -o app.hone main.go
  hone record --test ./pkg -run XXX -bench Parse
  hone record go test -bench Parse ./pkg
  hone record -race -tags=debug ./cmd/app
  hone record -- ./server -addr :8080
  hone record localhost:6060 --for 30s
  hone record --when 'rss>50%,goroutines>10000' --flight 10s ./cmd/app
  hone record --when 'latency>200ms' --flight 10s ./cmd/server
  hone record --pid 4711 --for 10s`

// recordFlags are the flags of hone record.
type recordFlags struct {
	test, trace, leaks bool
	limit, every       time.Duration
	flight             time.Duration
	when               whenFlag
	window, cooldown   time.Duration
	captures           int
	pid                int
	out                string
	keepSecrets        bool
	push, service      string

	bench string // value of -bench
}

func recordCommand(sys *System) *cobra.Command {
	var f recordFlags
	cmd := &cobra.Command{
		Use:                "record [flags] PACKAGE | FILES | URL | -- COMMAND…",
		Short:              "Run a program and record everything about it in one file",
		Long:               recordHelp,
		Example:            recordExamples,
		GroupID:            groupRecord,
		DisableFlagParsing: true, // flags of the go command have one dash
	}
	if !sys.names(cmd) {
		return cmd
	}
	flags := cmd.Flags()
	flags.BoolVar(&f.test, "test", false, "record the tests of a package; also takes -run, -bench and similar flags")
	flags.Var(&secondsFlag{&f.limit}, lengthFlag, "how long to record; then the program is told to exit")
	flags.Var(&secondsFlag{&f.every}, "every", "time between heap profiles (default 5s)")
	flags.IntVar(&f.pid, "pid", 0, "watch the running process `N` from outside (Linux)")
	flags.BoolVar(&f.trace, "trace", false, "also record an execution trace, which slows the program more")
	flags.Var(&secondsFlag{&f.flight}, "flight", "keep the last `TIME` of an execution trace; write it at the end, and when --when captures")
	flags.Var(&f.when, "when", "capture when CONDITION holds, such as rss>50%, and keep the time before it")
	flags.Var(&secondsFlag{&f.window}, "window", "with --when: how much time before the trouble to keep (default 30s)")
	flags.Var(&secondsFlag{&f.cooldown}, "cooldown", "with --when: ignore a condition for this long after it held (default 10s)")
	flags.IntVar(&f.captures, "captures", 5, "with --when: capture at most `N` times")
	flags.BoolVar(&f.leaks, "leaks", false, "find leaked goroutines with Go 1.26; rebuilds the standard library. With Go 1.27, hone always finds them")
	keepSecretsFlag(flags, &f.keepSecrets)
	flags.StringVar(&f.push, "push", "", "after the run, send the profiles to the store at `URL`")
	flags.StringVar(&f.service, "service", "", "with --push: send the profiles as those of the service `NAME` (default: name of the program)")
	ask := &source.Options{}
	flags.StringVar(&ask.TLSCert, "tls-cert", "", "present the client certificate in `FILE`")
	flags.StringVar(&ask.TLSKey, "tls-key", "", "private key of the client certificate, in `FILE`")
	flags.StringVar(&ask.TLSCA, "tls-ca", "", "trust the certificate authorities in `FILE`")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if slices.Contains(args[:dashOf(args)], "--help") || slices.Contains(args[:dashOf(args)], "-h") {
			return cmd.Help()
		}
		return record(cmd, sys, &f, ask, args)
	}
	return cmd
}

// keepSecretsFlag adds the flag of commands that write recordings.
func keepSecretsFlag(flags *pflag.FlagSet, keep *bool) {
	flags.BoolVar(keep, "keep-secrets", false, "keep values that look like passwords, keys or tokens in the recording, instead of …")
}

// dashOf returns the index of the first -- in args, or len(args).
func dashOf(args []string) int {
	if i := slices.Index(args, "--"); i >= 0 {
		return i
	}
	return len(args)
}

func record(cmd *cobra.Command, sys *System, f *recordFlags, ask *source.Options, args []string) error {
	args, verb := fromGo(cmd, args)
	if verb == "test" {
		args = slices.Insert(slices.Clone(args), 0, "--test")
	}
	// What follows -args is for the program, as in go test.
	if i := slices.IndexFunc(args[:dashOf(args)], beginsArgs); i >= 0 && slices.Contains(args[:i], "--test") {
		args = slices.Insert(slices.Clone(args), i, "--")
	}
	before, behind := args[:dashOf(args)], args[dashOf(args):]
	hasDash := len(behind) > 0
	if hasDash {
		behind = behind[1:]
	}
	before, build, tests, err := splitGoFlags(cmd, before)
	if err != nil {
		return err
	}
	cmd.DisableFlagParsing = false
	if err := cmd.ParseFlags(before); err != nil {
		return recordFlagError(cmd, err, before)
	}
	f.out, _ = cmd.Flags().GetString("output")
	targets := cmd.Flags().Args()
	if f.test {
		behind = ofTestBinary(behind)
		if len(targets) == 0 && f.pid == 0 {
			targets = []string{"."} // the default of go test
		}
	}
	opt := capture.Options{
		Out: f.out, Dir: sys.Dir, Hone: version(), For: f.limit, Every: f.every, Trace: f.trace, Flight: f.flight,
		When: f.when.list, Window: f.window, Cooldown: f.cooldown, Captures: f.captures,
		Program: capture.Program{Args: behind, In: sys.In, Out: sys.Out, Err: sys.Err},
		Now:     func() time.Time { return time.Now().In(sys.Zone) },

		KeepSecrets: f.keepSecrets,
	}
	if width(sys.Err) > 0 { // standard error is a terminal; elsewhere it belongs to the program until that ends
		opt.Trouble = func(e recording.Event) {
			fmt.Fprintf(sys.Err, "hone: after %s: %s\n", unit.Time(e.At), troubleText(e))
		}
	}
	if err := f.check(cmd); err != nil {
		return err
	}
	switch {
	case len(tests) > 0 && !f.test:
		flag, _, _ := strings.Cut(tests[0], "=")
		return usagef("for tests and benchmarks: hone record --test ./pkg -bench Parse; for arguments of the program, write -- before them",
			"-%s is a test flag", strings.TrimPrefix(flag, "-test."))
	case f.pid != 0 && (len(targets) > 0 || hasDash || f.test || len(build) > 0):
		return usagef("for example: hone record --pid 4711 --for 10s", "--pid records a running process and nothing else")
	case f.pid < 0:
		return usagef("", "--pid %d: want the number of a process", f.pid)
	case f.pid != 0:
		if err := f.seen(recording.Watched); err != nil {
			return err
		}
		return watchRecord(cmd, sys, f, opt, f.pid)
	case len(targets) == 0 && len(behind) == 0:
		return usagef("for example: hone record ./cmd/app, or hone record -- ./app -v", "record needs a package, Go files, a server, or a command after --")
	case len(targets) == 0 && len(build) > 0:
		return usagef("name a package, which hone then builds", "%s is a build flag, and a command after -- is run as it is", build[0])
	case len(targets) == 0:
		if err := f.seen(recording.Ran); err != nil {
			return err
		}
		if len(behind) > 1 && gocmd.Is(behind[0]) && (behind[1] == "run" || behind[1] == "test") {
			note(sys, "this records the go command itself; hone record go %s, without --, records what it runs", behind[1])
		}
		return runRecord(cmd, sys, f, opt)
	case len(targets) == 1 && isNumber(targets[0]):
		return usagef("hone record --pid "+targets[0]+" records the running process "+targets[0], "%s: want a package, Go files, or a server", targets[0])
	case len(targets) == 1 && !f.test && isServer(targets[0]):
		if hasDash {
			return usagef("", "a server takes no arguments")
		}
		if err := f.seen(recording.Fetched); err != nil {
			return err
		}
		return fetchRecord(cmd, sys, f, opt, capture.Server{Target: targets[0], Ask: *ask})
	}
	if err := isSourceOf(targets, f.test); err != nil {
		return err
	}
	words := slices.Concat(tests, behind)
	if f.test {
		var cover bool
		if words, cover, err = asGoTest(words, sys.Dir, targets); err != nil {
			return err
		}
		if cover {
			build = append(build, "-cover")
		}
	}
	opt.Build = &capture.Build{Targets: targets, Test: f.test, Flags: build, Dir: sys.Dir, Leaks: f.leaks, Flight: f.flight > 0, Trace: f.trace, Latency: capture.WatchesLatency(f.when.list)}
	opt.Program.Args = words
	for _, a := range opt.Program.Args {
		if bench, ok := strings.CutPrefix(a, "-test.bench="); ok {
			f.bench = bench
		}
	}
	return runRecord(cmd, sys, f, opt)
}

// recordFlagError returns an error about a flag. A flag after the package is probably meant for the program.
func recordFlagError(cmd *cobra.Command, err error, args []string) error {
	var unknown *pflag.NotExistError
	targets := cmd.Flags().Args() // the arguments before it
	if !errors.As(err, &unknown) || len(targets) == 0 || isServer(targets[0]) || nearestFlag(cmd, cmp.Or(unknown.GetSpecifiedShortnames(), unknown.GetSpecifiedName())) != "" {
		return flagError(cmd, err, buildFlags(), testFlags())
	}
	if isCommand(targets[0]) {
		i := slices.Index(args, targets[0])
		return usagef(commandHint(slices.Concat(args[:i], []string{"--"}, args[i:])), "%w", err)
	}
	at := max(0, slices.Index(args, targets[len(targets)-1]))
	for at < len(args)-1 && !(strings.HasPrefix(args[at], "-") && strings.Contains(args[at], unknown.GetSpecifiedName())) {
		at++
	}
	return usagef("arguments of the program come after --: "+recordLine(slices.Concat(args[:at], []string{"--"}, args[at:])), "%w", err)
}

// recordLine returns a command line of hone record that can be shown.
func recordLine(args []string) string {
	line := "hone record"
	for _, w := range new(secret.Hider).Args(args) {
		line += " " + quoted(w)
	}
	return line
}

// isCommand reports whether word is the name of an installed program, and of no file or package here.
func isCommand(word string) bool {
	if _, err := os.Stat(word); err == nil || filepath.Base(word) != word {
		return false
	}
	_, err := exec.LookPath(word)
	return err == nil
}

// commandHint says how to record a command. args are those of hone record.
func commandHint(args []string) string {
	return recordLine(args) + " runs this command as it is, and watches it from outside"
}

// check returns an error about flags that cannot be combined.
func (f *recordFlags) check(cmd *cobra.Command) error {
	if len(f.when.list) == 0 {
		for _, name := range []string{"window", "cooldown", "captures"} {
			if cmd.Flags().Changed(name) {
				return usagef("for example: hone record --when 'rss>50%' --"+name+" "+cmd.Flag(name).Value.String()+" ./cmd/app", "--%s needs --when", name)
			}
		}
		return nil
	}
	switch {
	case f.captures < 1:
		return usagef("", "--captures %d: want a number of captures, such as 5", f.captures)
	case f.trace:
		return usagef("--flight 10s keeps the last ten seconds of a trace, and writes them when there is trouble", "--trace and --when cannot be used together: a trace of the whole run cannot be limited to what led up to trouble")
	}
	return nil
}

// seen returns an error if a flag needs data that this way of recording does not have.
func (f *recordFlags) seen(how recording.How) error {
	if err := capture.CanSee(how, f.when.list); err != nil {
		return usagef("hone record PACKAGE builds the program with the recorder, which sees everything", "--when %w", err)
	}
	if f.flight > 0 && how != recording.Built {
		hint := "hone record PACKAGE builds it with the recorder"
		if how == recording.Fetched {
			hint = "--trace records all of the run; " + hint
		}
		return usagef(hint, "--flight needs a program that is built with the recorder")
	}
	return nil
}

// A whenFlag is a list of conditions. The flag may be repeated.
type whenFlag struct{ list []capture.Condition }

func (f *whenFlag) Set(text string) error {
	list, err := capture.ParseConditions(text)
	f.list = append(f.list, list...)
	return err
}

func (f *whenFlag) String() string {
	var all []string
	for _, c := range f.list {
		all = append(all, c.Text)
	}
	return strings.Join(all, ",")
}

func (f *whenFlag) Type() string { return "CONDITION" }

// beginsArgs reports whether the arguments after a are for the program of go test.
func beginsArgs(a string) bool { return a == "-args" || a == "--args" }

// ofTestBinary converts flags of go test into flags of a test binary: -run becomes -test.run.
func ofTestBinary(args []string) []string {
	args = slices.Clone(args)
	for i, a := range args {
		if beginsArgs(a) {
			break
		}
		name, _, _ := strings.Cut(strings.TrimLeft(a, "-"), "=")
		if _, is := testFlags()[name]; is && strings.HasPrefix(a, "-") {
			args[i] = "-test." + strings.TrimLeft(a, "-")
		}
	}
	return args
}

// asGoTest completes the arguments of a test binary as go test does: the files that it writes go to the current folder, or that of -outputdir, while
// it runs in the folder of its package. cover tells that it has to be built with -cover.
func asGoTest(args []string, dir string, targets []string) (out []string, cover bool, err error) {
	if dir, err = filepath.Abs(dir); err != nil {
		return nil, false, err
	}
	end := slices.IndexFunc(args, func(a string) bool { return beginsArgs(a) || a == "--" })
	if end < 0 {
		end = len(args)
	} else if beginsArgs(args[end]) {
		args = slices.Delete(slices.Clone(args), end, end+1) // of the go command, which a test binary does not know
	}
	profile, writes := "", false
	for i := 0; i < end; i++ {
		name, value, whole := strings.Cut(strings.TrimPrefix(strings.TrimLeft(args[i], "-"), "test."), "=")
		takes := testFlags()[name] && strings.HasPrefix(args[i], "-")
		if takes && !whole && i+1 < end {
			i++
			value = args[i]
		}
		switch {
		case !takes || value == "":
			out = append(out, args[i])
			continue
		case name == "fuzz":
			return nil, false, usagef("without -fuzz, it runs with the inputs that it has: hone record --test "+quoted(strings.Join(targets, " "))+" -run "+quoted(value),
				"-fuzz calls %s in other processes, which hone cannot record", quoted(value))
		case name == "outputdir":
			dir, writes = fromFolder(dir, value), true
			continue
		case name == "coverprofile":
			profile = value // which a test binary does not look for in -test.outputdir
			continue
		case slices.Contains([]string{"cpuprofile", "memprofile", "blockprofile", "mutexprofile", "trace"}, name):
			writes = true
		}
		out = append(out, "-test."+name+"="+value)
	}
	if profile != "" {
		out = slices.Insert(out, 0, "-test.coverprofile="+fromFolder(dir, profile))
	}
	if writes {
		out = slices.Insert(out, 0, "-test.outputdir="+dir)
	}
	return append(out, args[end:]...), profile != "", nil
}

// fromFolder returns a name as it is from every folder.
func fromFolder(dir, name string) string {
	if filepath.IsAbs(name) {
		return name
	}
	return filepath.Join(dir, name)
}

// isNumber reports whether s can be a process ID: it is a whole number, and no file has this name.
func isNumber(s string) bool {
	_, err := strconv.ParseUint(s, 10, 32)
	_, none := os.Stat(s)
	return err == nil && none != nil
}

// isServer reports whether a word is the address of a server rather than a package.
func isServer(s string) bool {
	if strings.Contains(s, "://") {
		return true
	}
	if _, err := os.Stat(s); err == nil {
		return false
	}
	host, _, _ := strings.Cut(s, "/")
	_, port, err := net.SplitHostPort(host)
	return err == nil && port != "" && strings.Trim(port, "0123456789") == ""
}

// isSourceOf returns an error if targets are clearly not one package, or Go files of one. test tells that its tests are to be recorded.
func isSourceOf(targets []string, test bool) error {
	files := 0
	for _, t := range targets {
		if strings.HasSuffix(t, ".go") {
			files++
			if _, err := os.Stat(t); errors.Is(err, fs.ErrNotExist) {
				return openHints(open.NoFile(t))
			}
			continue
		}
		if st, err := os.Stat(t); err == nil && st.Mode().IsRegular() {
			return usagef("hone record -- "+quoted(runnable(t))+" runs it as it is", "%s is neither a package nor a Go file", t)
		}
	}
	if files != 0 && files != len(targets) || files == 0 && len(targets) > 1 {
		hint := "arguments of the program come after --: " + recordLine(slices.Insert(slices.Clone(targets), 1, "--"))
		switch {
		case test:
			hint = "for example: " + recordLine([]string{"--test", targets[0]}) + "; hone bench runs the benchmarks of several packages"
		case isCommand(targets[0]):
			hint = commandHint(slices.Insert(slices.Clone(targets), 0, "--"))
		}
		return usagef(hint,
			"only one package, or Go files of one, can be recorded at a time; got %s", strings.Join(targets, " "))
	}
	return nil
}

// runnable returns a file as a command in a shell.
func runnable(file string) string {
	if filepath.Base(file) == file {
		return "./" + file
	}
	return file
}
