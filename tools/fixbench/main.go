// Fixbench measures what hone fix makes of the practice programs.
//
//	go run ./tools/fixbench [-only regexp] [-budget time] [-each time] [-keep folder]
//
// It builds hone, copies each module of examples/, has hone fix work on the copy of the first version of the program, and
// compares what came out with that version, and for leftpad with the one that was made by hand as well. loadgen is also run, before and
// after, with few and with many requests, to see how much of its heap is in use. The answer is two
// Markdown tables on standard output: what was won, and what was kept and refused. The exit code is 0 if all goals are met, 1 if
// one is missed or could not be measured, and 2 for a wrong command line.
//
// It is run at the root of the repository.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"strings"
	"time"
)

// A work is a program to make faster, and what is to come of it.
type work struct {
	module, pkg string
	bench       string // pattern; "" is all
	byHand      string // the version to compare with, too
	goal        string
	met         func(whole, hand []row) (missed []string)
	n           int // the program is run with -n of that and ten times that, and its heap is not to grow; 0 is not at all
}

var works = []work{
	{module: "hi", pkg: "stage0", goal: "10 times less CPU time, 4 allocations at most", met: func(whole, _ []row) []string {
		return append(want(whole, "Hi", "CPU time", func(r row) bool { return r.New*10 <= r.Old }),
			want(whole, "Hi", "allocations", func(r row) bool { return r.New <= 4 })...)
	}},
	{module: "havlak", pkg: "stage1", goal: "half the CPU time", met: func(whole, _ []row) []string {
		return want(whole, "FindHavlakLoops", "CPU time", func(r row) bool { return r.New*2 <= r.Old })
	}},
	{module: "leftpad", pkg: "v1", byHand: "v2", goal: "as fast as v2 in every benchmark", met: func(_, hand []row) []string {
		return want(hand, "", "CPU time", func(r row) bool { return r.Verdict != "worse" })
	}},
	{module: "metrics", pkg: "v1", goal: "90 % fewer bytes", met: func(whole, _ []row) []string {
		return want(whole, "Metrics", "memory", func(r row) bool { return r.New*10 <= r.Old })
	}},
	{module: "loadgen", pkg: "v1", goal: "a live heap that does not grow with n, and no benchmark slower", n: 10_000, met: func(whole, _ []row) []string {
		return want(whole, "", "CPU time", func(r row) bool { return r.Verdict != "worse" })
	}},
}

// A row is a benchmark before and after, as hone says it in JSON.
type row struct {
	Name    string  `json:"name"`
	What    string  `json:"what"`
	Unit    string  `json:"unit"`
	Old     float64 `json:"old"`
	New     float64 `json:"new"`
	Verdict string  `json:"verdict"`
}

// A fixed is a finding and what became of it.
type fixed struct {
	Where struct {
		File string `json:"file"`
		Line int    `json:"line"`
	} `json:"where"`
	Title  string `json:"title"`
	Fix    string `json:"fix"`
	Reason string `json:"reason"`
	Speed  []row  `json:"speed"`
}

// A result is what hone fix says.
type result struct {
	Kept    []fixed       `json:"kept"`
	Refused []fixed       `json:"refused"`
	Left    []fixed       `json:"left"`
	Whole   []row         `json:"whole"`
	Rounds  int           `json:"rounds"`
	Ended   string        `json:"ended"`
	Took    time.Duration `json:"took_nanos"`

	hand          []row
	before, after growth // of the heap
}

// want returns what is wrong with the rows of a benchmark: those that do not do, or that there are none.
func want(rows []row, bench, what string, ok func(row) bool) (missed []string) {
	seen := 0
	for _, r := range rows {
		if r.What != what || bench != "" && r.Name != bench && !strings.HasPrefix(r.Name, bench+"/") {
			continue
		}
		seen++
		if !ok(r) {
			missed = append(missed, fmt.Sprintf("%s, %s: %.4g before, %.4g now, %s", r.Name, r.What, r.Old, r.New, r.Verdict))
		}
	}
	if seen == 0 {
		missed = append(missed, fmt.Sprintf("nothing was measured about %s of %s", what, bench))
	}
	return missed
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	code := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop() // explicitly: os.Exit skips deferred calls
	os.Exit(code)
}

func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	flags := flag.NewFlagSet("fixbench", flag.ContinueOnError)
	flags.SetOutput(stderr)
	only := flags.String("only", "", "the modules that this `regexp` matches")
	budget := flags.Duration("budget", 10*time.Minute, "for each program")
	each := flags.Duration("each", 15*time.Second, "for each patch, as in hone fix")
	keep := flags.String("keep", "", "a `folder` for what was made; thrown away when not given")
	if err := flags.Parse(args); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			return 0
		}
		return 2
	}
	rx, err := regexp.Compile(*only)
	if err != nil {
		fmt.Fprintln(stderr, "fixbench: -only:", err)
		return 2
	}
	dir := *keep
	if dir == "" {
		if dir, err = os.MkdirTemp("", "fixbench-"); err == nil {
			defer os.RemoveAll(dir)
		}
	} else if dir, err = filepath.Abs(dir); err == nil {
		err = os.MkdirAll(dir, 0o755)
	}
	if err != nil {
		fmt.Fprintln(stderr, "fixbench:", err)
		return 1
	}
	b := bench{dir: dir, hone: filepath.Join(dir, "hone"), stderr: stderr, budget: *budget, each: *each}
	if out, err := exec.CommandContext(ctx, "go", "build", "-o", b.hone, ".").CombinedOutput(); err != nil {
		fmt.Fprintf(stderr, "fixbench: building hone: %v\n%s", err, out)
		return 1
	}
	code := 0
	var details strings.Builder
	fmt.Fprintln(stdout, "| program | benchmark | what | before | after | | goal | took |")
	fmt.Fprintln(stdout, "|---|---|---|---:|---:|---:|---|---:|")
	for _, w := range works {
		if !rx.MatchString(w.module) {
			continue
		}
		r, err := b.fix(ctx, w)
		if err != nil {
			fmt.Fprintf(stderr, "fixbench: %s: %v\n", w.module, err)
			code = 1
			continue
		}
		missed := w.met(r.Whole, r.hand)
		if w.n > 0 && (!r.before.grows() || r.after.grows()) {
			missed = append(missed, fmt.Sprintf("live heap with -n %d and %d: %d and %d MB before, %d and %d MB now", w.n, 10*w.n,
				r.before.few>>20, r.before.many>>20, r.after.few>>20, r.after.many>>20))
		}
		for _, m := range missed {
			fmt.Fprintf(stderr, "fixbench: %s: missed: %s\n", w.module, m)
			code = 1
		}
		table(stdout, w, r, len(missed) == 0)
		list(&details, w, r)
	}
	fmt.Fprintf(stdout, "\n| program | where | what | |\n|---|---|---|---|\n%s", &details)
	return code
}

// A bench is programs on their way.
type bench struct {
	dir, hone    string
	stderr       io.Writer
	budget, each time.Duration
}

// fix has hone fix work on a copy of a program.
func (b bench) fix(ctx context.Context, w work) (*result, error) {
	dir := filepath.Join(b.dir, w.module)
	if err := os.CopyFS(dir, os.DirFS(filepath.Join("examples", w.module))); err != nil {
		return nil, err
	}
	args := []string{"fix", "--json", "--budget", b.budget.String(), "--each", b.each.String(), "./" + w.pkg}
	if w.bench != "" {
		args = append(args, "-bench="+w.bench)
	}
	r := new(result)
	if err := b.ask(ctx, dir, r, args...); err != nil {
		return nil, err
	}
	if w.byHand != "" {
		var c struct {
			Rows []row `json:"rows"`
		}
		if err := b.ask(ctx, dir, &c, "compare", "--json", "--no-why", w.byHand, w.pkg); err != nil {
			return nil, err
		}
		r.hand = c.Rows
	}
	if w.n > 0 {
		var err error
		if r.before, err = b.growth(ctx, filepath.Join("examples", w.module, w.pkg), w.n); err != nil {
			return nil, err
		}
		if r.after, err = b.growth(ctx, filepath.Join(dir, w.pkg), w.n); err != nil {
			return nil, err
		}
	}
	return r, nil
}

// ask runs hone and reads its answer.
func (b bench) ask(ctx context.Context, dir string, into any, args ...string) error {
	cmd := exec.CommandContext(ctx, b.hone, args...)
	cmd.Dir, cmd.Stderr = dir, b.stderr
	// What was refused before shall not count, and what is refused here shall not be remembered; what was compiled may.
	cache, err := exec.CommandContext(ctx, "go", "env", "GOCACHE").Output()
	if err != nil {
		return fmt.Errorf("asking for the cache of the go command: %w", err)
	}
	cmd.Env = append(os.Environ(), "XDG_CACHE_HOME="+filepath.Join(b.dir, "cache"), "GOCACHE="+strings.TrimSpace(string(cache)))
	out, err := cmd.Output()
	if err != nil {
		return fmt.Errorf("hone %s: %w", strings.Join(args, " "), err)
	}
	return json.Unmarshal(out, into)
}

func table(w io.Writer, k work, r *result, met bool) {
	goal := k.goal
	if !met {
		goal += ": **missed**"
	}
	took := r.Took.Round(time.Second).String()
	line := func(program string, x row) {
		ratio := "–"
		if x.Old > 0 && x.New > 0 {
			ratio = fmt.Sprintf("÷ %.3g", x.Old/x.New)
		}
		fmt.Fprintf(w, "| %s | %s | %s | %s | %s | %s | %s | %s |\n", program, x.Name, x.What, shown(x.Old, x.Unit), shown(x.New, x.Unit), ratio, goal, took)
		goal, took = "", ""
	}
	for _, x := range r.Whole {
		line(k.module+" "+k.pkg, x)
	}
	if k.n > 0 {
		for _, x := range []struct {
			n             int
			before, after int64
		}{{k.n, r.before.few, r.after.few}, {10 * k.n, r.before.many, r.after.many}} {
			line(k.module+" "+k.pkg, row{Name: fmt.Sprintf("-n %d", x.n), What: "live heap", Unit: "MB", Old: float64(x.before >> 20), New: float64(x.after >> 20)})
		}
	}
	for _, x := range r.hand {
		line(k.byHand+" → fixed "+k.pkg, x)
	}
	if len(r.Whole) == 0 {
		fmt.Fprintf(w, "| %s %s | – | nothing kept | | | | %s | %s |\n", k.module, k.pkg, goal, took)
	}
}

// shown writes a value in the unit that benchmarks have.
func shown(v float64, unit string) string {
	if strings.HasPrefix(unit, "sec") || strings.HasPrefix(unit, "cpu-sec") {
		return time.Duration(v * 1e9).String()
	}
	return fmt.Sprintf("%.4g %s", v, unit)
}

func list(w io.Writer, k work, r *result) {
	line := func(x fixed, what, outcome string) {
		outcome, _, _ = strings.Cut(outcome, "\n")
		fmt.Fprintf(w, "| %s | %s:%d | %s | %s |\n", k.module, x.Where.File, x.Where.Line, what, strings.ReplaceAll(outcome, "|", "\\|"))
	}
	for _, x := range r.Kept {
		line(x, x.Fix, "kept")
	}
	for _, x := range r.Refused {
		line(x, x.Fix, "not kept: "+x.Reason)
	}
	for _, x := range r.Left {
		line(x, x.Title, "not tried: "+x.Reason)
	}
}
