package cli

import (
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/hone-perf/hone/internal/capture"
	"github.com/hone-perf/hone/internal/duel"
	"github.com/hone-perf/hone/internal/fix"
	"github.com/hone-perf/hone/internal/gocmd"
	"github.com/hone-perf/hone/internal/hint"
	"github.com/hone-perf/hone/internal/mcp"
	"github.com/hone-perf/hone/internal/prove"
	"github.com/hone-perf/hone/internal/recording"
	"github.com/hone-perf/hone/internal/render"
	"github.com/hone-perf/hone/internal/safefile"
	"github.com/hone-perf/hone/internal/scratch"
	"github.com/hone-perf/hone/internal/stat"
	"github.com/hone-perf/hone/internal/unit"
)

// workloadFlags make advise and fix run a program instead of benchmarks.
type workloadFlags struct {
	load    string
	command string
	runs    bool     // --cmd was given, perhaps with no arguments for the program
	server  []string // arguments after --
}

func (f *workloadFlags) add(flags *pflag.FlagSet) {
	flags.StringVar(&f.load, "load", "", "run the package as a server under this load instead of benchmarks: `ARGS` of hone load; the server's own arguments come after --")
	flags.StringVar(&f.command, "cmd", "", "run the package as a program instead of benchmarks, with these `ARGS`, split as by a shell")
}

// given reports whether there is a workload. It returns an error about arguments and flags that cannot be combined with one.
func (f *workloadFlags) given(command string, flags *pflag.FlagSet, test, args []string) (bool, error) {
	f.runs = flags.Changed("cmd")
	flag := "--load"
	if f.runs {
		flag = "--cmd"
	}
	switch {
	case f.runs && f.load != "":
		return false, usagef("", "--load is for a server, --cmd for a program that ends: use only one of them")
	case len(f.server) > 0 && f.load == "":
		return false, usagef("pass the arguments of a program with --cmd", "%s: arguments after -- are for a server, which --load runs", strings.Join(f.server, " "))
	case !f.runs && f.load == "":
		return false, nil
	case len(args) != 1:
		return false, usagef(fmt.Sprintf("for example: hone %s %s", command, f.example()), "%s runs one program: name its package", flag)
	case len(test) > 0:
		return false, usagef("", "%s is for running benchmarks, but %s runs the program instead", asTyped(test[0]), flag)
	}
	return true, nil
}

func (f *workloadFlags) example() string {
	if f.runs {
		return "--cmd '-n 1000 <data.txt' ./cmd/tool"
	}
	return "--load '127.0.0.1:{port}/ -t 3s' ./cmd/server -- -addr 127.0.0.1:{port}"
}

// of returns how to run a program, and the folder in which its package is named. Each recording of a program that ends by itself takes at most limit;
// 0 means the remaining time.
func (f *workloadFlags) of(ctx context.Context, sys *System, build []string, arg string, limit time.Duration) (*fix.Workload, string, error) {
	dir, packages := gocmd.Home(sys.Dir, []string{arg})
	found, err := gocmd.Command{Dir: dir}.TestPackages(ctx, packages, build)
	var wrong *gocmd.Error
	switch {
	case errors.As(err, &wrong):
		return nil, "", withHint(err, "go list reports the same")
	case err != nil:
		return nil, "", err
	case len(found) == 0:
		return nil, "", usagef("", "%s matches no package", arg)
	case len(found) > 1:
		return nil, "", usagef("", "%s matches %d packages, but only one program can run at a time", arg, len(found))
	}
	pkg := found[0]
	switch {
	case pkg.Name == "":
		text := "there are no Go files in it"
		if pkg.Error != nil {
			text = pkg.Error.Err
		}
		return nil, "", fmt.Errorf("%s: %s", arg, text)
	case pkg.Name != "main":
		return nil, "", usagef("name a main package; without --load and --cmd, hone runs the benchmarks or tests of a package", "%s is package %s, not a program", arg, pkg.Name)
	}
	w := &fix.Workload{}
	for _, flag := range build {
		w.Flags = append(w.Flags, gocmd.FromFolder(flag, dir))
	}
	targets := []string{pkg.ImportPath} // the import path works in each copy of the module
	if f.load != "" {
		under := underLoad(sys, f.load, f.server)
		if _, _, err := under.Plan(); err != nil {
			return nil, "", err
		}
		w.Record = func(ctx context.Context, opt capture.Options) ([]*capture.Recorded, error) {
			opt.Build = &capture.Build{Targets: targets, Flags: w.Flags, Dir: opt.Dir}
			done, _, err := under.Record(ctx, opt)
			if err != nil {
				return nil, err
			}
			return []*capture.Recorded{done}, nil
		}
		w.Duel = func(ctx context.Context, opt duel.Options) (*recording.Duel, error) {
			opt.Packages = targets
			return under.Duel(ctx, &opt, stat.Plan{}.Fewest())
		}
		return w, dir, nil
	}
	command := duel.Command{Package: pkg.ImportPath, Words: f.command, Dir: sys.Dir}
	w.Command = &command
	w.Record = func(ctx context.Context, opt capture.Options) ([]*capture.Recorded, error) {
		opt.Build = &capture.Build{Targets: targets, Flags: w.Flags, Dir: opt.Dir}
		opt.For = limit
		return recordRuns(ctx, opt, command, arg)
	}
	w.Duel = func(ctx context.Context, opt duel.Options) (*recording.Duel, error) {
		return duel.Run(ctx, command.Of(opt))
	}
	return w, dir, nil
}

// recordRuns records a program again until one of these limits is reached.
const (
	commandCPU  = time.Second / 2  // CPU time of all runs: enough for samples
	commandRuns = 5                // number of runs
	commandTime = 20 * time.Second // time of all runs
)

// recordRuns records runs of a program, in a file each.
func recordRuns(ctx context.Context, opt capture.Options, c duel.Command, name string) (all []*capture.Recorded, err error) {
	work, err := scratch.Dir("program-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(work)
	if opt.Say != nil {
		opt.Say("building " + name)
	}
	if err := opt.Build.Once(ctx, work); err != nil {
		return nil, err
	}
	opt.Program = capture.Program{Words: c.Words, Dir: c.Dir, Out: io.Discard, Err: io.Discard}
	say, out, limit := opt.Say, opt.Out, opt.For
	var cpu, took time.Duration
	for len(all) < commandRuns && cpu < commandCPU && took < commandTime {
		if say != nil {
			say(strings.TrimSpace(fmt.Sprintf("recording %s %s, run %d", name, c.Words, len(all)+1)))
		}
		opt.Say = nil // capture would say that it builds, but the program is built already
		if len(all) > 0 && out != "" {
			opt.Out = fmt.Sprintf("%s-%d.hone", strings.TrimSuffix(out, ".hone"), len(all)+1)
		}
		if end, ok := ctx.Deadline(); ok && limit == 0 {
			opt.For = max(time.Until(end), time.Millisecond)
		}
		done, err := capture.Record(ctx, opt)
		if done != nil && (err != nil || done.Code != 0 || ctx.Err() != nil) {
			defer os.RemoveAll(done.File)
		}
		switch {
		case err != nil:
			return nil, err
		case opt.For > 0 && done.Manifest.Usage.Real >= opt.For:
			return nil, withHint(fmt.Errorf("%s did not end within %s", name, unit.Time(opt.For)), "use --load for a server; --budget gives a program more time")
		case ctx.Err() != nil:
			return nil, context.Cause(ctx)
		case done.Code != 0:
			return nil, withHint(fmt.Errorf("%s ended with exit code %d%s", strings.TrimSpace(name+" "+c.Words), done.Code, lastSaid(done)), "a program that fails is not worth measuring: give --cmd arguments with which it exits with 0")
		}
		all = append(all, done)
		usage := done.Manifest.Usage
		cpu, took = cpu+usage.User+usage.System, took+usage.Real
	}
	return all, nil
}

// lastSaid returns the last line that a program wrote on standard error, as the end of a sentence.
func lastSaid(done *capture.Recorded) string {
	rec, err := recording.Open(done.File)
	if err != nil {
		return ""
	}
	defer rec.Close()
	text, err := rec.File(recording.OutputFile, 1<<20)
	said := strings.TrimSpace(string(text))
	if err != nil || said == "" {
		return ""
	}
	return ": " + render.Message(said[strings.LastIndexByte(said, '\n')+1:])
}

// profiled records packages for advise: their workload, or their benchmarks, or their tests if there are no benchmarks. It returns the recordings and
// the folder of the module. The user did not ask for these files, so the next run for the same packages replaces them. Until then, evidence in the
// findings can be opened.
func (f *adviseFlags) profiled(ctx context.Context, sys *System, build, test, args []string) (files []string, home string, err error) {
	say := newSaying(sys)
	work, err := scratch.Dir("advise-") // removed when hone exits
	if err != nil {
		return nil, "", err
	}
	opt := capture.Options{
		Out:  filepath.Join(work, "run.hone"),
		Hone: version(), Flags: append([]string{"hone"}, sys.args...), Say: say.now,
		Now: func() time.Time { return time.Now().In(sys.Zone) },
	}
	var all []*capture.Recorded
	if f.load != "" || f.runs {
		w, dir, err := f.of(ctx, sys, build, args[0], cmp.Or(f.budget, adviseBudget))
		if err != nil {
			return nil, "", err
		}
		home, opt.Dir = dir, dir
		all, err = w.Record(ctx, opt)
		say.now("")
		if err != nil {
			return nil, "", err
		}
	} else {
		dir, packages := gocmd.Home(sys.Dir, args)
		run, err := benchmarksOf("advise", build, test, packages)
		if err != nil {
			return nil, "", err
		}
		run.Count = 1
		home, opt.Dir = dir, dir
		p := prove.Profiling{Benchmarks: run, Time: cmp.Or(f.budget, adviseBudget), Note: func(text string) {
			say.now("")
			note(sys, "%s", text)
		}}
		defer p.Close()
		done, err := p.Run(ctx, opt)
		say.now("")
		if done == nil {
			return nil, "", profilingError(err, "advise", packages, run)
		}
		if err := errors.Join(err, ctx.Err()); err != nil {
			return nil, "", err
		}
		all = append(all, done)
	}
	of := sha256.Sum256([]byte(home + "\x00" + strings.Join(args, "\x00")))
	for i, done := range all {
		for _, n := range done.Manifest.Notes {
			note(sys, "%s", n)
		}
		file := done.File
		if !filepath.IsAbs(file) {
			file = filepath.Join(home, file)
		}
		name := fmt.Sprintf("%s-%x-%d.hone", done.Name, of[:4], i+1)
		if kept, err := keepRun(file, name); err != nil {
			note(sys, "the recording could not be kept: %v", err)
		} else {
			file = kept
			fmt.Fprintf(sys.Err, "hone: %s: %s, until the next such run\n", file, unit.Size(done.Bytes))
			if sys.forTools() {
				fmt.Fprintln(sys.Err, mcp.Made+file)
			}
		}
		files = append(files, file)
	}
	return files, home, nil
}

// runsKept is the maximum number of such recordings. The oldest are removed.
const runsKept = 20

// runsFolder is the folder for such recordings, in the cache of the user.
func runsFolder() (string, error) {
	cache, err := os.UserCacheDir()
	return filepath.Join(cache, "hone", "runs"), err
}

// keepRun moves a recording to the runsFolder.
func keepRun(file, name string) (string, error) {
	dir, err := runsFolder()
	if err != nil {
		return "", err
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", err
	}
	in, err := os.Open(file)
	if err != nil {
		return "", err
	}
	defer in.Close()
	to := filepath.Join(dir, name)
	err = safefile.Write(to, func(w io.Writer) error {
		_, err := io.Copy(w, in)
		return err
	})
	if err != nil {
		return "", err
	}
	if list, err := gocmd.Files(dir, "*.hone"); err == nil && len(list) > runsKept {
		age := func(name string) time.Time {
			if st, err := os.Stat(name); err == nil {
				return st.ModTime()
			}
			return time.Time{}
		}
		slices.SortFunc(list, func(a, b string) int { return age(a).Compare(age(b)) })
		for _, old := range list[:len(list)-runsKept] {
			os.Remove(old)
		}
	}
	return to, nil
}

// profilingError explains why packages could not be profiled.
func profilingError(err error, command string, packages []string, run capture.Benchmarks) error {
	var nothing *prove.NothingToRunError
	if !errors.As(err, &nothing) {
		return benchError(err, packages, run)
	}
	if nothing.Main {
		return withHint(err, hint.Ask(command, nothing.Packages[0]).With("cmd", "ARGS"), " runs the program; ", hint.Option{Name: "load", Value: "ARGS"}, " runs a server under load")
	}
	return withHint(err, "record a program that uses it, with ", hint.Ask("record", "./cmd/app"), ", and then ", hint.Ask(command, "app.hone"), "; or write a benchmark")
}
