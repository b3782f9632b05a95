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
	"sync"
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
func do(ctx context.Context, r *rand.Rand, runs ...run) ([]result, error) {
	cmds := make([]*exec.Cmd, len(runs))
	for i, run := range runs {
		args := []string{"-test.run=^$", "-test.bench=" + run.bench, "-test.benchtime=" + run.time, "-test.benchmem", "-test.timeout=0"}
		cmd := exec.Command(run.prog.file, append(args, run.args...)...)
		cmd.Dir = run.prog.dir
		cmd.Env = append(os.Environ(), "PWD="+run.prog.dir)
		if run.alone {
			cmd.Env = append(cmd.Env, "GOMAXPROCS=1")
		}
		cmds[i] = cmd
	}
	results, err := together(ctx, r, runs[0].alone, cmds)
	for i := range results {
		res := &results[i]
		if f, err := bench.Read(strings.NewReader(res.stdout), ""); err == nil {
			res.lines = f.Results
		}
		if res.failed != nil {
			res.failed = whyFailed(res.failed, res.stdout, res.stderr)
		}
	}
	return results, err
}

// together runs programs at the same time, on one processor when they are to be alone with each other.
func together(ctx context.Context, r *rand.Rand, alone bool, cmds []*exec.Cmd) ([]result, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, patience, fmt.Errorf("a run took more than %s", patience))
	defer cancel()
	outs, errs := make([]capped, len(cmds)), make([]capped, len(cmds))
	for i, cmd := range cmds {
		outs[i].limit, errs[i].limit = maxOutput, maxOutput
		cmd.Stdout, cmd.Stderr = &outs[i], &errs[i]
		cmd.WaitDelay = time.Second
	}
	began := time.Now()
	var err error
	if alone {
		err = startTogether(r, cmds...)
	} else {
		err = start(cmds)
	}
	if err != nil {
		return nil, fmt.Errorf("running a program: %w", err)
	}
	stop := context.AfterFunc(ctx, func() {
		for _, cmd := range cmds {
			cmd.Process.Kill()
		}
	})
	defer stop()
	results := make([]result, len(cmds))
	var all sync.WaitGroup
	for i, cmd := range cmds {
		all.Go(func() {
			results[i].failed = cmd.Wait()
			results[i].wall = time.Since(began)
		})
	}
	all.Wait()
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	for i, cmd := range cmds {
		res := &results[i]
		res.cpu = cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
		res.maxRSS = maxRSS(cmd.ProcessState)
		res.stdout, res.stderr = outs[i].text.String(), errs[i].text.String()
	}
	return results, nil
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
