// Abstudy shows how often hone compare is right, and how often benchmarks that run one after the other and benchstat's
// test are, when both take the same time:
//
//	go run ./tools/abstudy -load 8 -log study.json
//
// Benchmarks of the standard library are compared with themselves, and with versions of which every hundredth, fiftieth,
// twentieth or tenth operation is done twice. Each change that is called between the former is a false call.
//
// With -hone, the program itself makes the comparisons, all benchmarks at once, and nothing runs in turn:
//
//	go run ./tools/abstudy -hone ./hone -load 1 -budget 4s -same 13 -changed 4 -changes 0,3 -log front.json
//
// A second table deals the pairs that were measured of identical programs out again, many times: in another order, each
// side as likely to be the old one, with the change put on top by calculation. That says more about rare events than there
// is time to measure, of the same noise. With -table files that were written before make the tables.
package main

import (
	"bytes"
	"context"
	_ "embed"
	"encoding/json"
	"flag"
	"fmt"
	"log"
	"math"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/hone-perf/hone/internal/bench"
	"github.com/hone-perf/hone/internal/duel"
	"github.com/hone-perf/hone/internal/recording"
	"github.com/hone-perf/hone/internal/stat"
)

//go:embed work.go.txt
var work []byte

// A study is what to do.
type study struct {
	same, changed, load int
	changes             []int // nil is all
	bench               string
	budget              time.Duration
	hone                string // the program that compares; "" is the code of this one
	sources             bool   // it builds the versions, too
	log                 *json.Encoder
}

func main() {
	log.SetFlags(0)
	log.SetPrefix("abstudy: ")
	var s study
	flag.IntVar(&s.same, "same", 3, "times to compare each benchmark with itself")
	flag.IntVar(&s.changed, "changed", 1, "times to compare it with each change")
	flag.Func("changes", "percents of change to have, such as 0,2,5; all of 0, 1, 2, 3, 5 and 10 when not given", func(v string) error {
		for _, one := range strings.Split(v, ",") {
			n, err := strconv.Atoi(one)
			if err != nil || !slices.Contains(changes, n) {
				return fmt.Errorf("%q is none of %v", one, changes)
			}
			s.changes = append(s.changes, n)
		}
		return nil
	})
	flag.IntVar(&s.load, "load", 0, "processes that keep the machine busy meanwhile")
	flag.StringVar(&s.bench, "bench", ".", "benchmarks")
	flag.DurationVar(&s.budget, "budget", 20*time.Second, "time for each comparison")
	flag.StringVar(&s.hone, "hone", "", "have the hone program `FILE` compare, without benchmarks in turn")
	flag.BoolVar(&s.sources, "sources", false, "with -hone, let it build the benchmarks, which times them more exactly than test programs that were built before")
	file := flag.String("log", "abstudy.json", "add what was measured to `FILE`")
	table := flag.Bool("table", false, "measure nothing: make the tables of the files that are named")
	burn := flag.Bool("burn", false, "keep the machine busy until the end of standard input")
	flag.Parse()
	var err error
	switch {
	case *burn:
		keepBusy()
	case *table:
		err = tables(os.Stdout, s.budget, flag.Args())
	default:
		err = s.run(*file)
	}
	if err != nil {
		log.Fatal(err)
	}
}

// A trial is one comparison, by hone and by others.
type trial struct {
	Change  int             `json:"change"` // percent
	Bench   string          `json:"bench"`
	Ratio   float64         `json:"ratio"`
	Lo      float64         `json:"lo"`
	Hi      float64         `json:"hi"`
	Within  float64         `json:"within"`
	Verdict stat.Verdict    `json:"verdict"`
	Took    float64         `json:"took"`        // seconds
	Whole   float64         `json:"whole"`       // with building and getting to know the benchmark
	Pairs   []float64       `json:"pairs"`       // logarithms of ratios
	N       int             `json:"n,omitempty"` // how many, for logs from before hone was asked for them
	InTurn  stat.Verdict    `json:"in_turn,omitempty"`
	Medians float64         `json:"medians,omitempty"` // their ratio, in turn
	Load    json.RawMessage `json:"load"`
}

func (s *study) run(file string) error {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	f, err := os.OpenFile(file, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	defer f.Close()
	s.log = json.NewEncoder(f)
	dir, err := os.MkdirTemp("", "abstudy-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	for range s.load {
		quiet, err := startBurner(ctx)
		if err != nil {
			return err
		}
		defer quiet()
	}
	old, err := version(dir, "old-000", 0)
	if err != nil {
		return err
	}
	for round := range max(s.same, s.changed) {
		for _, change := range changes {
			if change == 0 && round >= s.same || change > 0 && round >= s.changed || s.changes != nil && !slices.Contains(s.changes, change) {
				continue
			}
			every := 0
			if change > 0 {
				every = 100 / change
			}
			new, err := version(dir, fmt.Sprintf("%03d-%03d", every, round), every)
			if err != nil {
				return err
			}
			compare := s.compare
			if s.hone != "" {
				compare = s.askHone
			}
			if err := compare(ctx, old, new, change); err != nil {
				return err
			}
		}
	}
	return tables(os.Stdout, s.budget, []string{file})
}

// compare compares two versions in both ways.
func (s *study) compare(ctx context.Context, old, new duel.Side, change int) error {
	began := time.Now()
	d, err := duel.Run(ctx, duel.Options{Old: old, New: new, Bench: s.bench, Budget: s.budget, NoWhy: true, AsIs: true})
	if err != nil {
		return err
	}
	whole := time.Since(began).Seconds() / float64(len(d.Benchmarks))
	for _, b := range d.Benchmarks {
		if len(b.Pairs) == 0 {
			return fmt.Errorf("%s: %s", b.Name, b.Error)
		}
		c := stat.Plan{Alpha: d.Alpha, Within: d.Within}.Conclude(recording.Ratios(b.Pairs, b.Unit))
		t := trial{
			Change: change, Bench: b.Name, Ratio: c.Ratio, Lo: c.Lo, Hi: min(c.Hi, math.MaxFloat64), Within: d.Within, Verdict: c.Verdict,
			Took: b.Took.Seconds(), Whole: whole, Pairs: recording.Ratios(b.Pairs, b.Unit), Load: loadAverage(),
		}
		if t.InTurn, t.Medians, err = inTurn(ctx, old, new, b); err != nil {
			return err
		}
		fmt.Fprintf(os.Stderr, "%+d%% %s: %s %+.2f%% (%+.2f … %+.2f), %d pairs, %.1fs; in turn: %s %+.2f%%; load %s\n", change, b.Name,
			c.Verdict, 100*(c.Ratio-1), 100*(c.Lo-1), 100*(c.Hi-1), c.N, t.Took, t.InTurn, 100*(t.Medians-1), t.Load)
		if err := s.log.Encode(&t); err != nil {
			return err
		}
	}
	return nil
}

// version writes a version of the benchmarks, and builds it as go test does.
func version(dir, name string, every int) (duel.Side, error) {
	s := duel.Side{DuelSide: recording.DuelSide{Name: name}, Dir: filepath.Join(dir, name)}
	if err := os.MkdirAll(s.Dir, 0o755); err != nil {
		return s, err
	}
	if every == 0 {
		every = 1 << 30
	}
	text := bytes.Replace(work, []byte(`every, version = 1 << 30, "old-000"`), fmt.Appendf(nil, `every, version = %d, %q`, every, name), 1)
	if bytes.Equal(text, work) && name != "old-000" {
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
// returns what benchstat's test says, and by how much the medians differ.
func inTurn(ctx context.Context, old, new duel.Side, b recording.DuelBenchmark) (stat.Verdict, float64, error) {
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
			return "", 0, err
		}
		f, err := bench.Read(bytes.NewReader(text), "")
		if err != nil {
			return "", 0, err
		}
		for _, r := range f.Results {
			if v, ok := r.Value("ns/op"); ok && strings.TrimSuffix(r.Name, fmt.Sprint("-", runtime.GOMAXPROCS(0))) == b.Name {
				sides[i] = append(sides[i], v)
			}
		}
	}
	c := stat.Unpaired(sides[0], sides[1], stat.DefaultWithin)
	ratio := stat.Median(sides[1]) / stat.Median(sides[0])
	switch {
	case c.P >= stat.UnpairedAlpha: // it has no word for that nothing changed
		return stat.Undecided, ratio, nil
	case ratio < 1:
		return stat.Lower, ratio, nil
	}
	return stat.Higher, ratio, nil
}

// loadAverage is that of the last minute, where the system says it.
func loadAverage() json.RawMessage {
	text, err := os.ReadFile("/proc/loadavg")
	first, _, ok := strings.Cut(string(text), " ")
	if err != nil || !ok {
		return json.RawMessage("null")
	}
	return json.RawMessage(first)
}

// startBurner starts this program again to keep a core busy, now and then.
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

// keepBusy computes in bursts, on other memory each time, as neighbors do.
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
