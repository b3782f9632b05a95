package capture

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/hone-perf/hone/internal/bench"
	"github.com/hone-perf/hone/internal/unit"
)

// How long what runs in the place of benchmarks is to take.
const (
	insteadTests = time.Second            // of CPU time in the tests of a package, for there to be samples; they run again for it
	insteadAgain = 50                     // times at most
	insteadLeast = 20 * time.Millisecond  // of a made-up benchmark,
	insteadMost  = 300 * time.Millisecond // whose first runs, which find out how often it is to run, take about as long
)

// runInstead runs what there is of packages without benchmarks of their own, as long as there is time.
func (r *rounds) runInstead(ctx context.Context, k *keeper) {
	end := time.Now().Add(r.InsteadTime)
	var late []string
	for i := range r.pkgs {
		p := &r.pkgs[i]
		if !p.instead || p.failed != "" || ctx.Err() != nil {
			continue
		}
		if time.Now().After(end) {
			late = append(late, p.ImportPath)
			continue
		}
		if p.HasTest() {
			r.say("profiling the tests of " + p.ImportPath)
			r.runTests(ctx, k, p, time.Until(end))
		}
		if p.HasBenchmark(regexp.MustCompile(r.pattern())) {
			r.say("profiling made-up calls of " + p.ImportPath)
			r.runMadeUp(ctx, k, p, time.Until(end))
		}
	}
	if len(late) > 0 {
		r.note("no time was left to profile %s", strings.Join(late, ", "))
	}
}

// runTests runs the tests of a package with profiles. When they are so quick that there would be no samples, they run again and again;
// those that pass only once have run once.
func (r *rounds) runTests(ctx context.Context, k *keeper, p *benched, left time.Duration) {
	limited, cancel := context.WithTimeout(ctx, left)
	defer cancel()
	var took, cpu time.Duration
	var failed error
	k.keep(func(args []string) bool {
		took, cpu, failed = r.runTest(limited, p, 1, args)
		return limited.Err() == nil && cpu > 0
	})
	switch {
	case ctx.Err() != nil:
	case limited.Err() != nil:
		r.note("%s: its tests take more than %s, so they are not profiled", p.ImportPath, unit.Time(left))
	case failed != nil:
		r.note("%s: its tests fail, but are profiled anyway: %v", p.ImportPath, failed)
	default:
		again := int(min(insteadTests/max(cpu, time.Millisecond), 3*insteadTests/max(took, time.Millisecond), insteadAgain))
		if again < 2 {
			return
		}
		k.keep(func(args []string) bool {
			_, _, failed := r.runTest(limited, p, again, args)
			return limited.Err() == nil && failed == nil
		})
	}
}

// runTest runs the tests of a package so many times.
func (r *rounds) runTest(ctx context.Context, p *benched, count int, args []string) (took, cpu time.Duration, failed error) {
	args = append([]string{"-test.run=.", fmt.Sprintf("-test.count=%d", count), "-test.timeout=0"}, args...)
	args = append(args, slices.DeleteFunc(slices.Clone(r.Args), func(a string) bool { return strings.HasPrefix(a, "-test.bench") })...)
	cmd := exec.CommandContext(ctx, p.file, args...)
	cmd.Dir = p.Dir
	cmd.Env = append(os.Environ(), "PWD="+p.Dir)
	cmd.WaitDelay = time.Second
	var out, errs tail
	cmd.Stdout, cmd.Stderr = &out, &errs
	began, oom := time.Now(), NewOOM()
	if failed = cmd.Run(); failed != nil {
		if why := oom.Killed(cmd.ProcessState); why != "" {
			failed = errors.New(why)
		}
		failed = bench.WhyFailed(failed, out.bytes(), errs.bytes())
	}
	if st := cmd.ProcessState; st != nil {
		cpu = st.UserTime() + st.SystemTime()
	}
	return time.Since(began), cpu, failed
}

// runMadeUp runs the benchmarks that were brought into a package, all of them for a little.
func (r *rounds) runMadeUp(ctx context.Context, k *keeper, p *benched, left time.Duration) {
	limited, cancel := context.WithTimeout(ctx, max(left, 10*time.Second))
	defer cancel()
	names := r.list(limited, p)
	each := min(max(left/time.Duration(4*max(names, 1)), insteadLeast), insteadMost)
	k.keep(func(args []string) bool {
		r.run(limited, p, append(args, "-test.benchtime="+each.String())...)
		return limited.Err() == nil && p.failed == ""
	})
}

// list returns how many benchmarks a test program has.
func (r *rounds) list(ctx context.Context, p *benched) int {
	cmd := exec.CommandContext(ctx, p.file, "-test.list="+r.pattern())
	cmd.Dir = p.Dir
	cmd.WaitDelay = time.Second
	out, err := cmd.Output()
	if err != nil {
		return 0
	}
	return strings.Count("\n"+string(out), "\nBenchmark")
}
