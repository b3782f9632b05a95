package duel

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/hone-perf/hone/internal/bench"
	"github.com/hone-perf/hone/internal/capture"
	"github.com/hone-perf/hone/internal/maxrss"
	"github.com/hone-perf/hone/internal/unit"
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
	cpu   int    // where it runs when it is alone
	alone bool   // on one core, which it may share with the other side
	turns int    // that it takes with the other side; 0 is none
	args  []string
	env   []string
	under []string // command that runs it
}

// A result is what a run gave.
type result struct {
	lines  []bench.Result
	turns  []turn
	cpu    time.Duration // of the process
	wall   time.Duration
	maxRSS int64
	stdout string
	stderr string
	failed error
}

// maxOutput is how much of what a run prints is read.
const maxOutput = 16 << 20

// An overrun is a run that was ended because it took too long.
type overrun struct{ after time.Duration }

func (o *overrun) Error() string { return fmt.Sprintf("it took more than %s", o.after) }

// do runs benchmarks at the same time. An error of one of them is in its result.
func (d *duel) do(ctx context.Context, runs ...run) ([]result, error) {
	cmds := make([]*exec.Cmd, len(runs))
	for i, run := range runs {
		args := []string{"-test.run=^$", "-test.bench=" + run.bench, "-test.benchtime=" + run.time, "-test.benchmem", "-test.timeout=0"}
		line := slices.Concat(run.under, []string{run.prog.file}, args, run.args)
		cmd := exec.Command(line[0], line[1:]...)
		cmd.Dir = run.prog.dir
		cmd.Env = slices.Concat(os.Environ(), []string{"PWD=" + run.prog.dir}, run.prog.env, run.env)
		if run.alone {
			cmd.Env = append(cmd.Env, "GOMAXPROCS=1")
		}
		cmds[i] = cmd
	}
	var steps *steps
	if len(runs) == 2 && runs[0].turns > 1 {
		var err error
		if steps, err = takeTurns(cmds, runs[0].turns); err != nil {
			return nil, fmt.Errorf("running two programs in turns: %w", err)
		}
		defer steps.close()
	}
	oom := capture.NewOOM()
	results, err := d.together(ctx, runs[0].cpu, runs[0].alone, cmds, steps)
	for i := range results {
		res := &results[i]
		if steps != nil {
			res.turns = steps.took(i)
		}
		if res.failed == nil && !bench.Passed([]byte(res.stdout)) {
			res.failed = errors.New("the program ended before its benchmarks did, with exit code 0")
		}
		if f, err := bench.Read(strings.NewReader(res.stdout), ""); err == nil {
			res.lines = f.Results
			d.better(f)
		}
		if res.failed != nil {
			var exit *exec.ExitError
			if why := oom.Killed(cmds[i].ProcessState); why != "" && errors.As(res.failed, &exit) { // else hone killed it
				res.failed = errors.New(why)
			}
			res.failed = bench.WhyFailed(res.failed, []byte(res.stdout), []byte(res.stderr))
		}
	}
	return results, err
}

// better notes what lines such as "Unit widgets better=higher" say.
func (d *duel) better(f *bench.File) {
	if len(f.Units) == 0 {
		return
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	for i := range f.Results {
		for _, v := range f.Results[i].Values {
			if b := f.Units.GetBetter(v.Tidy().Unit); b != 0 {
				if d.out.Better == nil {
					d.out.Better = make(map[string]int)
				}
				d.out.Better[v.Unit] = b
			}
		}
	}
}

// together runs programs at the same time, on one core when they are to be alone with each other.
func (d *duel) together(ctx context.Context, cpu int, alone bool, cmds []*exec.Cmd, steps *steps) ([]result, error) {
	// One that hangs shall not take all the time there is.
	patience := max(time.Minute, 3*d.opt.Budget)
	limited, cancel := context.WithTimeoutCause(ctx, patience, &overrun{patience})
	defer cancel()
	outs, errs := make([]capped, len(cmds)), make([]capped, len(cmds))
	for i, cmd := range cmds {
		outs[i].limit, errs[i].limit = maxOutput, maxOutput
		cmd.Stdout, cmd.Stderr = &outs[i], &errs[i]
		cmd.WaitDelay = 5 * time.Second // of a machine that is too busy to read what is there already, or for a child that is left behind
	}
	began := time.Now()
	var err error
	if alone {
		err = startOn(cpu, cmds...)
	} else {
		err = start(cmds)
	}
	if steps != nil {
		steps.started()
	}
	if err != nil {
		if errors.Is(err, syscall.ENOEXEC) {
			return nil, errors.New("the built program does not run on this machine: it is built for another architecture")
		}
		return nil, fmt.Errorf("running a program: %w", err)
	}
	stop := context.AfterFunc(limited, func() {
		for _, cmd := range cmds {
			cmd.Process.Kill()
		}
	})
	defer stop()
	results := make([]result, len(cmds))
	var all sync.WaitGroup
	for i, cmd := range cmds {
		all.Go(func() {
			if err := cmd.Wait(); !errors.Is(err, exec.ErrWaitDelay) { // which only those say that ended well
				results[i].failed = err
			}
			results[i].wall = time.Since(began)
		})
	}
	all.Wait()
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	for i, cmd := range cmds {
		res := &results[i]
		if limited.Err() != nil {
			res.failed = context.Cause(limited)
		} else if outs[i].over {
			res.failed = fmt.Errorf("it prints more than %s", unit.Size(maxOutput))
		}
		res.cpu = cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
		res.maxRSS = maxrss.Of(cmd.ProcessState)
		res.stdout, res.stderr = outs[i].text.String(), errs[i].text.String()
	}
	return results, nil
}

// Exactly returns the pattern that only one benchmark matches.
func Exactly(name string) string {
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
	over  bool
}

func (c *capped) Write(p []byte) (int, error) {
	rest := c.limit - c.text.Len()
	c.over = c.over || len(p) > rest
	c.text.Write(p[:min(len(p), rest)])
	return len(p), nil
}
