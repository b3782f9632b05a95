package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/hone-perf/hone/internal/capture"
	"github.com/hone-perf/hone/internal/git"
	"github.com/hone-perf/hone/internal/gocmd"
	"github.com/hone-perf/hone/internal/hint"
	"github.com/hone-perf/hone/internal/query"
	"github.com/hone-perf/hone/internal/recording"
	"github.com/hone-perf/hone/internal/safefile"
	"github.com/hone-perf/hone/internal/scratch"
	"github.com/hone-perf/hone/internal/unit"
)

// usualRounds is the default number of runs of each benchmark. An interval needs at least 6.
const usualRounds = 10

// benchRun runs benchmarks, saves the results, and shows them.
func benchRun(cmd *cobra.Command, sys *System, out output, f *benchFlags, q query.Query, build, test, packages []string) error {
	run, err := benchmarksOf("bench", build, test, packages)
	if err != nil {
		return err
	}
	run.Count, run.NoProfile = cmp.Or(run.Count, usualRounds), f.noProfile
	keep, temporary, err := benchFile(cmd.Context(), sys, &out, f)
	if err != nil {
		return err
	}
	if temporary != "" {
		defer os.RemoveAll(temporary)
		run.NoProfile = true // the recording is removed, so nobody would see the profiles
	}
	if f.raw != "" {
		// Fail before hours of measuring, not after them.
		if file, err := os.OpenFile(f.raw, os.O_CREATE|os.O_WRONLY, 0o644); err != nil {
			return err
		} else if err := file.Close(); err != nil {
			return err
		}
	}
	say := newSaying(sys)
	opt := capture.Options{
		Out: keep, Dir: sys.Dir, Hone: version(), Flags: append([]string{"hone"}, sys.args...), Say: say.now,
		Now: func() time.Time { return time.Now().In(sys.Zone) },

		KeepSecrets: f.keepSecrets || temporary != "",
	}
	done, err := capture.Bench(cmd.Context(), opt, run)
	say.now("")
	if done == nil {
		return benchError(err, packages, run)
	}
	made := done.File
	if !filepath.IsAbs(made) {
		made = filepath.Join(sys.Dir, made)
	}
	rec, openErr := benchOf(cmd.Context(), sys, made)
	if openErr != nil {
		return errors.Join(err, openErr)
	}
	rec = rec.Named(cmp.Or(strings.Join(packages, " "), "."))
	for _, n := range done.Manifest.Notes {
		note(sys, "%s", n)
	}
	if f.raw != "" {
		err = errors.Join(err, copyLines(f.raw, made))
	}
	var next []hint.Command
	switch {
	case temporary == "":
		fmt.Fprintf(sys.Err, "hone: %s: %s\n", done.File, unit.Size(done.Bytes))
		sayHidden(sys, "recording", done.Hidden)
		if len(done.Manifest.Notes) == 0 && !run.NoProfile {
			next = append(next, hint.Ask("top", done.File).For("where the time goes"))
		}
		if f.save {
			next = append(next, hint.Ask("bench").With("history", "").For("what changed since the previous run"))
		}
	default:
		next = append(next, hint.Ask("compare").For("did your changes make it faster?"))
	}
	if err := errors.Join(err, benchAnswer(sys, out, q, rec, next)); err != nil {
		return err
	}
	if err := cmd.Context().Err(); err != nil {
		return err
	}
	if done.Code != 0 {
		return &exited{done.Code, errors.New("some benchmarks did not finish")}
	}
	return nil
}

// benchmarksOf reads the flags of go test that are about benchmarks. Count is 0 when -count is not given.
func benchmarksOf(command string, build, test, packages []string) (capture.Benchmarks, error) {
	run := capture.Benchmarks{Packages: packages, Flags: build}
	takes := "-bench, -benchtime, -cpu, -short, -skip"
	if command == "bench" {
		takes = "-bench, -benchtime, -count, -cpu, -short, -skip"
	}
	for _, t := range test {
		name, value, _ := strings.Cut(strings.TrimPrefix(t, "-test."), "=")
		switch {
		case name == "bench":
			run.Bench = value
		case name == "count" && command == "bench":
			n, err := strconv.Atoi(value)
			if err != nil || n < 1 {
				return run, usagef("", "-count=%s: want how many times each benchmark runs, such as 10", value)
			}
			run.Count = n
		case slices.Contains([]string{"benchtime", "cpu", "short", "skip"}, name):
			run.Args = append(run.Args, t)
		case name == "benchmem": // allocations are always measured
		case name == "run":
			if value != "XXX" && value != "^$" && value != "NONE" {
				return run, usagef("hone record --test PKG runs tests, and other commands take the recording", "%s runs only benchmarks and does not take -run=%s", command, value)
			}
		default:
			return run, usagef("it takes "+takes+" and the flags of go build", "%s does not take -%s", command, name)
		}
	}
	return run, nil
}

// benchFile returns the file for the recording. It is in a temporary folder when the user does not keep the recording.
func benchFile(ctx context.Context, sys *System, out *output, f *benchFlags) (file, temporary string, err error) {
	isRecording := strings.HasSuffix(out.file, ".hone")
	switch {
	case f.save && isRecording:
		return "", "", usagef("hone bench takes a file or --history, not both", "--save and -o %s cannot be used together: the recording goes to one place", out.file)
	case f.save:
		dir, err := historyDir(ctx, sys)
		if err != nil {
			return "", "", err
		}
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return "", "", err
		}
		return filepath.Join(dir, time.Now().UTC().Format("20060102-150405.000")+".hone"), "", nil
	case isRecording:
		// The recording goes to the file; the answer still goes to standard output.
		file, out.file = out.file, ""
		if _, err := os.Stat(file); err == nil {
			return "", "", withHint(fmt.Errorf("%s: file already exists", file), "choose another name with -o, or remove the file")
		}
		return file, "", nil
	}
	dir, err := scratch.Dir("bench-")
	return filepath.Join(dir, "bench.hone"), dir, err
}

// historyDir returns the folder with the history of the repository.
func historyDir(ctx context.Context, sys *System) (string, error) {
	dir, err := git.Command{Dir: sys.Dir}.Line(ctx, "rev-parse", "--git-common-dir")
	switch {
	case git.IsOutside(err):
		return "", withHint(errors.New("the benchmark history is kept in a git repository, but this folder is not in one"), "-o FILE.hone saves a run; hone bench OLD.hone NEW.hone shows several")
	case err != nil:
		return "", hint.Errorf(hint.Next(err), "the benchmark history is kept in a git repository: %s", git.Said(err))
	}
	if !filepath.IsAbs(dir) {
		dir = filepath.Join(sys.Dir, dir)
	}
	return filepath.Join(dir, "hone", "bench"), nil
}

// savedRuns lists the history of the repository, oldest first.
func savedRuns(ctx context.Context, sys *System) ([]string, error) {
	dir, err := historyDir(ctx, sys)
	if err != nil {
		return nil, err
	}
	files, err := gocmd.Files(dir, "*.hone")
	if err != nil {
		return nil, err
	}
	if len(files) == 0 {
		return nil, withHint(errors.New("no benchmark run was saved in this repository"), "hone bench --save runs benchmarks and saves the results")
	}
	slices.Sort(files) // their names are times
	for i, f := range files {
		if rel, err := filepath.Rel(sys.Dir, f); err == nil && filepath.IsLocal(rel) {
			files[i] = rel
		}
	}
	return files, nil
}

// copyLines writes the lines of a recording to a file.
func copyLines(to, from string) error {
	rec, err := recording.Open(from)
	if err != nil {
		return err
	}
	defer rec.Close()
	in, err := rec.OpenFile(recording.BenchFile)
	if err != nil {
		return err
	}
	defer in.Close()
	return safefile.Write(to, func(w io.Writer) error {
		_, err := io.Copy(w, in)
		return err
	})
}

// benchError explains why no benchmark ran.
func benchError(err error, packages []string, run capture.Benchmarks) error {
	var wrong *gocmd.Error
	where := strings.Join(packages, " ")
	if where == "" {
		where = "."
	}
	switch {
	case errors.Is(err, capture.ErrNoBenchmarks) && run.Bench != "":
		return withHint(fmt.Errorf("%w that match %s in %s", err, run.Bench, where), hint.Option{Name: "bench", Value: "."}, " matches all; go test -list Benchmark lists those of a package")
	case errors.Is(err, capture.ErrNoBenchmarks):
		return withHint(fmt.Errorf("%w in %s", err, where), "./... searches all packages below this folder")
	case errors.As(err, &wrong):
		return withHint(err, "go test -run=^$ "+where+" reports the same") // go build compiles no tests, and go vet links none
	}
	return err
}
