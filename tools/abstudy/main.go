// Abstudy shows how often hone compare is right, and how often benchmarks that run one after the other and benchstat's
// test are, when both take the same time:
//
//	go run ./tools/abstudy -load 2
//
// Benchmarks of the standard library are compared with themselves, and with versions of which every hundredth, fiftieth,
// twentieth or tenth operation is done twice. Each change that is called between the former is a false call.
package main

import (
	"bytes"
	"context"
	_ "embed"
	"flag"
	"fmt"
	"log"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/hone-perf/hone/internal/bench"
	"github.com/hone-perf/hone/internal/duel"
	"github.com/hone-perf/hone/internal/recording"
	"github.com/hone-perf/hone/internal/stat"
)

//go:embed work.go.txt
var work []byte

func main() {
	log.SetFlags(0)
	log.SetPrefix("abstudy: ")
	same := flag.Int("same", 3, "times to compare each benchmark with itself")
	changed := flag.Int("changed", 1, "times to compare it with each change")
	load := flag.Int("load", 0, "processes that keep the machine busy meanwhile")
	pattern := flag.String("bench", ".", "benchmarks")
	budget := flag.Duration("budget", 20*time.Second, "time for each comparison")
	burn := flag.Bool("burn", false, "keep the machine busy until the end of standard input")
	flag.Parse()
	if *burn {
		keepBusy()
		return
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := study(ctx, *same, *changed, *load, *pattern, *budget); err != nil {
		log.Fatal(err)
	}
}

// A tally counts comparisons of one kind.
type tally struct {
	of, right, wrong, missed int
	took                     time.Duration
}

func (t *tally) add(v stat.Verdict, want stat.Verdict, took time.Duration) {
	t.of++
	t.took += took
	switch {
	case v == want:
		t.right++
	case v.Changed():
		t.wrong++
	default:
		t.missed++
	}
}

func study(ctx context.Context, same, changed, load int, pattern string, budget time.Duration) error {
	dir, err := os.MkdirTemp("", "abstudy-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	for range load {
		quiet, err := startBurner(ctx)
		if err != nil {
			return err
		}
		defer quiet()
	}
	old, err := version(dir, "old", 0)
	if err != nil {
		return err
	}
	out := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintf(out, "change\tcomparisons\thone: right\twrong\tundecided\ts each\tin turn: right\twrong\tundecided\t\n")
	for _, every := range []int{0, 100, 50, 20, 10} {
		name, times, want := "none", same, stat.Same
		if every > 0 {
			name, times, want = fmt.Sprintf("+%d%%", 100/every), changed, stat.Higher
		}
		var ours, theirs tally
		for round := range times {
			new, err := version(dir, fmt.Sprintf("new-%d-%d", every, round), every)
			if err != nil {
				return err
			}
			d, err := duel.Run(ctx, duel.Options{
				Old: old, New: new, Bench: pattern, Budget: budget, Plan: stat.Plan{},
			})
			if err != nil {
				return err
			}
			for _, b := range d.Benchmarks {
				if len(b.Pairs) == 0 {
					return fmt.Errorf("%s: %s", b.Name, b.Error)
				}
				c := stat.Plan{Alpha: d.Alpha, Within: d.Within}.Conclude(duel.Ratios(b.Pairs, b.Unit))
				ours.add(c.Verdict, want, b.Took)
				fmt.Fprintf(os.Stderr, "%s %s: %s %+.2f%% (%.2f … %.2f), %d pairs, %s\n", name, b.Name, c.Verdict, 100*(c.Ratio-1), 100*(c.Lo-1), 100*(c.Hi-1), c.N, b.Took.Round(time.Millisecond))
				v, err := inTurn(ctx, dir, old, new, b, d.Within)
				if err != nil {
					return err
				}
				theirs.add(v, want, 0)
			}
		}
		fmt.Fprintf(out, "%s\t%d\t%d\t%d\t%d\t%.1f\t%d\t%d\t%d\t\n", name, ours.of, ours.right, ours.wrong, ours.missed,
			ours.took.Seconds()/float64(max(ours.of, 1)), theirs.right, theirs.wrong, theirs.missed)
	}
	return out.Flush()
}

// version writes a version of the benchmarks, and builds it as go test does.
func version(dir, name string, every int) (duel.Side, error) {
	s := duel.Side{DuelSide: recording.DuelSide{Name: name}, Dir: filepath.Join(dir, name)}
	if err := os.MkdirAll(s.Dir, 0o755); err != nil {
		return s, err
	}
	text := bytes.Replace(work, []byte(`every, version = 0, "old"`), fmt.Appendf(nil, `every, version = %d, %q`, every, name), 1)
	if bytes.Equal(text, work) && name != "old" {
		return s, fmt.Errorf("the benchmarks have no place for a change")
	}
	if err := os.WriteFile(filepath.Join(s.Dir, "work_test.go"), text, 0o644); err != nil {
		return s, err
	}
	if err := os.WriteFile(filepath.Join(s.Dir, "go.mod"), []byte("module example.com/work\n\ngo 1.24\n"), 0o644); err != nil {
		return s, err
	}
	cmd := exec.Command("go", "test", "-c", "-o", "work.test")
	cmd.Dir = s.Dir
	if out, err := cmd.CombinedOutput(); err != nil {
		return s, fmt.Errorf("building: %w\n%s", err, out)
	}
	return s, nil
}

// inTurn runs a benchmark ten times on one side and then on the other, as people do, in the time that a duel took, and
// returns what benchstat's test says.
func inTurn(ctx context.Context, dir string, old, new duel.Side, b recording.DuelBenchmark, within float64) (stat.Verdict, error) {
	const count = 10
	// Each of them runs for about this long, and half as long before, to find out how often.
	time := b.Took.Seconds() / (2 * count) / 1.5
	var sides [2][]float64
	for i, s := range []duel.Side{old, new} {
		cmd := exec.CommandContext(ctx, filepath.Join(s.Dir, "work.test"), "-test.run=^$", "-test.bench=^Benchmark"+regexp.QuoteMeta(b.Name)+"$",
			fmt.Sprintf("-test.benchtime=%.3fs", time), fmt.Sprint("-test.count=", count))
		cmd.Dir = s.Dir
		text, err := cmd.Output()
		if err != nil {
			return "", err
		}
		f, err := bench.Read(bytes.NewReader(text), "")
		if err != nil {
			return "", err
		}
		for _, r := range f.Results {
			if v, ok := r.Value("ns/op"); ok && strings.TrimSuffix(r.Name, fmt.Sprint("-", runtime.GOMAXPROCS(0))) == b.Name {
				sides[i] = append(sides[i], v)
			}
		}
	}
	c := stat.Unpaired(sides[0], sides[1], within)
	if c.Verdict == stat.Undecided && c.P < stat.UnpairedAlpha {
		c.Verdict = stat.Higher
		if c.Ratio < 1 {
			c.Verdict = stat.Lower
		}
	}
	return c.Verdict, nil
}

// startBurner starts this program again to keep a processor busy, now and then.
func startBurner(ctx context.Context) (quiet func(), err error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(ctx, self, "-burn")
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	return func() { in.Close(); cmd.Wait() }, nil
}

// keepBusy computes in bursts, on other memory each time, as neighbours do.
func keepBusy() {
	go func() {
		os.Stdin.Read(make([]byte, 1))
		os.Exit(0)
	}()
	memory := make([]byte, 64<<20)
	for i := 0; ; i++ {
		burst := time.Duration(1+i%7) * 100 * time.Millisecond
		for began := time.Now(); time.Since(began) < burst; {
			for k := i * 4096 % len(memory); k < len(memory); k += 4096 + 64 {
				memory[k]++
			}
		}
		time.Sleep(time.Duration(i%3) * 100 * time.Millisecond)
	}
}
