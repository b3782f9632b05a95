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

	"github.com/hone-perf/hone/internal/report"
	"github.com/hone-perf/hone/internal/scratch"
	"github.com/hone-perf/hone/internal/secret"
)

// programLimit is how long a program may run.
const programLimit = 5 * time.Minute

// program runs both versions of a program with the same arguments and compares what they print and how they end. It
// returns whether there was a program to run.
func (r *run) program(ctx context.Context, p *pair, work string) (bool, error) {
	if p.new.pkg.Types.Name() != "main" || p.old.pkg.Types.Name() != "main" {
		return false, nil
	}
	var files [2]string
	for i, v := range []*side{p.old, p.new} {
		files[i] = filepath.Join(work, fmt.Sprintf("program%d", i))
		if runtime.GOOS == "windows" {
			files[i] += ".exe"
		}
		if _, err := v.goIn().Run(ctx, "build", "-o", files[i], "."); err != nil {
			return false, err
		}
	}
	what := strings.TrimSpace("the program with " + strings.Join(new(secret.Hider).Args(r.opt.Args), " "))
	if len(r.opt.Args) == 0 {
		what = "the program without arguments"
	}
	r.opt.Say("running both versions of " + what)
	first, err := r.output(ctx, files[0])
	if err != nil {
		return false, err
	}
	now, err := r.output(ctx, files[1])
	if err != nil {
		return false, err
	}
	both := fmt.Sprintf("exit code %d and %s of output, from both, in %v and %v of CPU time",
		now.code, counted(len(now.text), "byte"), first.cpu.Round(time.Millisecond), now.cpu.Round(time.Millisecond))
	if first.same(now) {
		r.check(what, report.Passed, both)
		return true, r.cover(ctx, p, work, files[1], now)
	}
	again, err := r.output(ctx, files[0])
	if err != nil {
		return false, err
	}
	if again.text != first.text || again.code != first.code {
		r.check(what, report.Skipped, "the old version does not print the same each time")
		return true, nil
	}
	if first.text == now.text && first.code == now.code && again.errors != first.errors {
		r.check(what, report.Passed, both+"; what the old version writes to standard error is not the same each time")
		return true, r.cover(ctx, p, work, files[1], now)
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
	return true, nil
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

// output runs a program in an empty folder.
func (r *run) output(ctx context.Context, file string, env ...string) (printout, error) {
	ctx, cancel := context.WithTimeout(ctx, programLimit)
	defer cancel()
	dir, err := scratch.Dir("prove-run-")
	if err != nil {
		return printout{}, err
	}
	defer os.RemoveAll(dir)
	cmd := exec.CommandContext(ctx, file, r.opt.Args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), env...)
	cmd.WaitDelay = time.Second
	var out, problems bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &problems
	err = cmd.Run()
	var exit *exec.ExitError
	switch {
	case ctx.Err() == context.DeadlineExceeded:
		return printout{}, fmt.Errorf("running the program with %s: it did not end within %v", strings.Join(new(secret.Hider).Args(r.opt.Args), " "), programLimit)
	case err != nil && !errors.As(err, &exit):
		return printout{}, fmt.Errorf("running the program: %w", err)
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
