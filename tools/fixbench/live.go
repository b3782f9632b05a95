package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"

	"github.com/hone-perf/hone/internal/gclog"
)

// A growth is how much of its heap a program has in use at most, when it is asked to do much and ten times as much.
type growth struct{ few, many int64 }

// grows reports whether the one is much more than the other, as far as whole megabytes tell.
func (g growth) grows() bool { return g.many > 2*g.few+2<<20 }

// growth builds a program in a folder and runs it with -n and ten times that.
func (b bench) growth(ctx context.Context, dir string, n int) (growth, error) {
	file := filepath.Join(b.dir, "program")
	build := exec.CommandContext(ctx, "go", "build", "-o", file, ".")
	build.Dir = dir
	if out, err := build.CombinedOutput(); err != nil {
		return growth{}, fmt.Errorf("building %s: %w\n%s", dir, err, out)
	}
	var g growth
	for _, run := range []struct {
		n    int
		most *int64
	}{{n, &g.few}, {10 * n, &g.many}} {
		cmd := exec.CommandContext(ctx, file, "-n", strconv.Itoa(run.n))
		var log bytes.Buffer
		cmd.Stderr = &log
		// Garbage is collected often, so that the most that is in use is seen, and while nothing is allocated, which would count.
		cmd.Env = append(os.Environ(), "GODEBUG=gctrace=1,gcstoptheworld=1", "GOGC=20")
		if err := cmd.Run(); err != nil {
			return g, fmt.Errorf("%s: %w\n%s", cmd, err, &log)
		}
		cycles, err := gclog.Parse(&log)
		if err != nil {
			return g, err
		}
		if len(cycles.Cycles) == 0 {
			return g, fmt.Errorf("%s: no garbage was collected", cmd)
		}
		for _, c := range cycles.Cycles {
			*run.most = max(*run.most, c.Live)
		}
	}
	return g, nil
}
