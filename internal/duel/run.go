package duel

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"time"

	"github.com/hone-perf/hone/internal/bench"
)

// start starts all programs, or none.
func start(cmds []*exec.Cmd) error {
	for i, c := range cmds {
		if err := c.Start(); err != nil {
			for _, c := range cmds[:i] {
				c.Process.Kill()
				c.Wait()
			}
			return err
		}
	}
	return nil
}

// A run is one process of a test program that runs one benchmark, or all that match.
type run struct {
	prog  *program
	bench string // pattern
	time  string // -test.benchtime
	alone bool   // on one processor, which it may share with the other side
	args  []string
}

// A result is what a run gave.
type result struct {
	lines  []bench.Result
	cpu    time.Duration // of the process
	wall   time.Duration
	maxRSS int64
	stdout string
	stderr string
	failed error
}

const (
	maxOutput = 1 << 20 // of a run; what it prints beyond that is cut
	patience  = 10 * time.Minute
)

// do runs benchmarks at the same time. An error of one of them is in its result.
func do(ctx context.Context, r *rand.Rand, runs ...run) ([]result, bool, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, patience, fmt.Errorf("a run took more than %s", patience))
	defer cancel()
	cmds := make([]*exec.Cmd, len(runs))
	outs, errs := make([]capped, len(runs)), make([]capped, len(runs))
	for i, run := range runs {
		args := []string{"-test.run=^$", "-test.bench=" + run.bench, "-test.benchtime=" + run.time, "-test.benchmem", "-test.timeout=0"}
		cmd := exec.CommandContext(ctx, run.prog.file, append(args, run.args...)...)
		cmd.Dir = run.prog.dir
		cmd.Env = append(os.Environ(), "PWD="+run.prog.dir)
		if run.alone {
			cmd.Env = append(cmd.Env, "GOMAXPROCS=1")
		}
		cmd.WaitDelay = time.Second
		outs[i].limit, errs[i].limit = maxOutput, maxOutput
		cmd.Stdout, cmd.Stderr = &outs[i], &errs[i]
		cmds[i] = cmd
	}
	pinned := false
	began := time.Now()
	var err error
	if runs[0].alone {
		pinned, err = startTogether(r, cmds...)
	} else {
		err = start(cmds)
	}
	if err != nil {
		return nil, false, fmt.Errorf("running a test program: %w", err)
	}
	done := make(chan int, len(cmds))
	results := make([]result, len(cmds))
	for i, cmd := range cmds {
		go func() {
			results[i].failed = cmd.Wait()
			results[i].wall = time.Since(began)
			done <- i
		}()
	}
	for range cmds {
		<-done
	}
	if ctx.Err() != nil {
		return nil, false, context.Cause(ctx)
	}
	for i, cmd := range cmds {
		res := &results[i]
		res.cpu = cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
		res.maxRSS = maxRSS(cmd.ProcessState)
		res.stderr = errs[i].text.String()
		res.stdout = outs[i].text.String()
		f, err := bench.Read(strings.NewReader(res.stdout), "")
		if err == nil {
			res.lines = f.Results
		}
		if res.failed != nil {
			res.failed = whyFailed(res.failed, res.stdout, res.stderr)
		}
	}
	return results, pinned, nil
}

var failure = regexp.MustCompile(`(?m)^(--- FAIL: .*|panic: .*|fatal error: .*|.*_test\.go:\d+: .*)$`)

// whyFailed says in a line why a benchmark failed.
func whyFailed(err error, outs ...string) error {
	for _, out := range outs {
		if lines := failure.FindAllString(out, 3); len(lines) > 0 {
			for i, l := range lines {
				lines[i] = strings.TrimSpace(l)
			}
			return errors.New(strings.Join(lines, "; "))
		}
	}
	last := strings.TrimSpace(outs[len(outs)-1])
	if i := strings.LastIndexByte(last, '\n'); i >= 0 {
		last = last[i+1:]
	}
	return errors.New(cmp.Or(last, err.Error()))
}

// exactly returns the pattern that only one benchmark matches.
func exactly(name string) string {
	parts := strings.Split(name, "/")
	for i, p := range parts {
		parts[i] = "^" + regexp.QuoteMeta(p) + "$"
	}
	return strings.Join(parts, "/")
}

// capped keeps what is written to it up to a limit and lets go of the rest.
type capped struct {
	text  bytes.Buffer
	limit int
}

func (c *capped) Write(p []byte) (int, error) {
	c.text.Write(p[:min(len(p), c.limit-c.text.Len())])
	return len(p), nil
}
