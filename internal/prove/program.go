package prove

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"github.com/hone-perf/hone/internal/capture"
	"github.com/hone-perf/hone/internal/duel"
	"github.com/hone-perf/hone/internal/gocmd"
	"github.com/hone-perf/hone/internal/report"
	"github.com/hone-perf/hone/internal/scratch"
	"github.com/hone-perf/hone/internal/secret"
	"github.com/hone-perf/hone/internal/unit"
)

// programLimit is how long a program may run.
const programLimit = 5 * time.Minute

// A runnable is a program that both versions have, and how it is run.
type runnable struct {
	old, new gocmd.Command // where it is built
	pkg      string        // what is built there
	what     string
	start    func(file, empty string) *exec.Cmd // empty is a folder
}

// arguments is the program of a package, with the arguments that were given, in an empty folder.
func (r *run) arguments(p *pair) runnable {
	what := strings.TrimSpace("the program with " + strings.Join(new(secret.Hider).Args(r.opt.Args), " "))
	if len(r.opt.Args) == 0 {
		what = "the program without arguments"
	}
	return runnable{p.old.goIn(), p.new.goIn(), ".", what, func(file, empty string) *exec.Cmd {
		cmd := exec.Command(file, r.opt.Args...)
		cmd.Dir = empty
		return cmd
	}}
}

// command is a program that runs where the user has it run.
func (r *run) command(c duel.Command) runnable {
	return runnable{r.goOld(), r.goNew(), c.Package, strings.TrimSpace(c.Package + " " + c.Words), func(file, _ string) *exec.Cmd {
		return capture.Shell(capture.ShellLine(file, c.Words), c.Dir)
	}}
}

// program runs both versions of a program in the same way and compares what they print and how they end. Which code of the pairs that
// reached counts as tried.
func (r *run) program(ctx context.Context, p runnable, work string, pairs ...*pair) error {
	var files [2]string
	for i, in := range []gocmd.Command{p.old, p.new} {
		files[i] = filepath.Join(work, fmt.Sprintf("program%d", i))
		if runtime.GOOS == "windows" {
			files[i] += ".exe"
		}
		if _, err := in.Run(ctx, "build", "-o", files[i], p.pkg); err != nil {
			return err
		}
	}
	what := p.what
	r.opt.Say("running both versions of " + what)
	first, err := p.output(ctx, files[0])
	if err != nil {
		return err
	}
	now, err := p.output(ctx, files[1])
	if err != nil {
		return err
	}
	both := fmt.Sprintf("exit code %d and %s of output, from both, in %s and %s of CPU time",
		now.code, unit.Counted(len(now.text), "byte"), unit.Time(first.cpu), unit.Time(now.cpu))
	if first.same(now) {
		r.check(what, report.Passed, both)
		return r.cover(ctx, p, pairs, work, files[1], now)
	}
	again, err := p.output(ctx, files[0])
	if err != nil {
		return err
	}
	if again.text != first.text || again.code != first.code {
		r.check(what, report.Skipped, "the output of the old version varies between runs")
		return nil
	}
	if first.text == now.text && first.code == now.code && again.errors != first.errors {
		r.check(what, report.Passed, both+"; the old version's output on standard error varies between runs")
		return r.cover(ctx, p, pairs, work, files[1], now)
	}
	detail := fmt.Sprintf("exit code %d → %d", first.code, now.code)
	switch {
	case first.text != now.text:
		a, b := differingLine(first.text, now.text)
		detail = fmt.Sprintf("%q → %q", a, b)
	case first.code == now.code:
		a, b := differingLine(first.errors, now.errors)
		detail = fmt.Sprintf("standard error: %q → %q", a, b)
	}
	r.check(what, report.Failed, detail)
	return nil
}

// A printout is what a program printed, and its exit code.
type printout struct {
	text, errors string
	code         int
	cpu          time.Duration
}

func (p printout) same(q printout) bool {
	return p.text == q.text && p.errors == q.errors && p.code == q.code
}

// output runs the program.
func (p runnable) output(ctx context.Context, file string, env ...string) (printout, error) {
	limited, cancel := context.WithTimeout(ctx, programLimit)
	defer cancel()
	dir, err := scratch.Dir("prove-run-")
	if err != nil {
		return printout{}, err
	}
	defer os.RemoveAll(dir)
	cmd := p.start(file, dir)
	cmd.Env = append(os.Environ(), env...)
	cmd.WaitDelay = time.Second
	var out, problems bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &problems
	if err := cmd.Start(); err != nil {
		return printout{}, fmt.Errorf("running %s: %w", p.what, err)
	}
	stop := context.AfterFunc(limited, func() { cmd.Process.Kill() })
	err = cmd.Wait()
	stop()
	var exit *exec.ExitError
	switch {
	case ctx.Err() != nil:
		return printout{}, context.Cause(ctx)
	case limited.Err() != nil:
		return printout{}, fmt.Errorf("running %s: it did not end within %v", p.what, programLimit)
	case err != nil && !errors.As(err, &exit):
		return printout{}, fmt.Errorf("running %s: %w", p.what, err)
	}
	st := cmd.ProcessState
	return printout{out.String(), withoutStacks(problems.String()), st.ExitCode(), st.UserTime() + st.SystemTime()}, nil
}

// withoutStacks leaves out where goroutines were when a program crashed: lines and addresses are others in each version.
func withoutStacks(text string) string {
	said, _, found := strings.Cut(text, "\n\ngoroutine ")
	if found && (strings.Contains(said, "panic: ") || strings.Contains(said, "fatal error: ")) {
		return said
	}
	return text
}

// differingLine returns the first line that differs.
func differingLine(a, b string) (string, string) {
	la, lb := strings.Split(a, "\n"), strings.Split(b, "\n")
	for i := range max(len(la), len(lb)) {
		var x, y string
		if i < len(la) {
			x = la[i]
		}
		if i < len(lb) {
			y = lb[i]
		}
		if x != y {
			return x, y
		}
	}
	return a, b
}
