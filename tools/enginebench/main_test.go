package main

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/pprof/profile"
	"github.com/hone-perf/hone/internal/profile/profiletest"
)

// The test binary also plays hone, pprof and the generator.
func TestMain(m *testing.M) {
	switch {
	case os.Getenv("ENGINEBENCH_FAKE") == "":
		os.Exit(m.Run())
	case len(os.Args) > 1 && os.Args[1] == "generate":
		main()
	default:
		fake(os.Args[1:])
	}
}

// fake does what its arguments say, one after the other.
func fake(args []string) {
	for i := 0; i < len(args); i++ {
		switch args[i] {
		case "print":
			fmt.Println("something")
		case "read": // a profile must be there
			i++
			data, err := os.ReadFile(args[i])
			if err != nil || len(data) == 0 {
				fmt.Fprintln(os.Stderr, "fake:", err)
				os.Exit(1)
			}
		case "write":
			i++
			if err := os.WriteFile(args[i], []byte("merged"), 0o666); err != nil {
				os.Exit(1)
			}
		case "log": // appends its argument to a file
			f, err := os.OpenFile(args[i+1], os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o666)
			if err != nil {
				os.Exit(1)
			}
			fmt.Fprint(f, args[i+2])
			i += 2
			if err := f.Close(); err != nil {
				os.Exit(1)
			}
		case "memory": // megabytes
			i++
			n, _ := strconv.Atoi(args[i])
			b := make([]byte, n<<20)
			for j := 0; j < len(b); j += 512 {
				b[j] = 1
			}
			fmt.Fprintln(io.Discard, b[len(b)/2:len(b)/2+1])
		case "spin": // until it has taken so many milliseconds of CPU
			i++
			n, _ := strconv.Atoi(args[i])
			for ownCPU() < time.Duration(n)*time.Millisecond {
			}
		case "fail":
			fmt.Fprintln(os.Stderr, "first line\nno such profile")
			os.Exit(1)
		}
	}
	os.Exit(0)
}

func newRunner(t *testing.T) *runner {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("ENGINEBENCH_FAKE", "1")
	t.Setenv("GORACE", "atexit_sleep_ms=0") // else every fake waits for a second before it ends
	return &runner{hone: self, pprof: []string{self}, self: self, rounds: 3, log: io.Discard}
}

func TestDoWorks(t *testing.T) {
	r := newRunner(t)
	dir := t.TempDir()
	in := newInput(dir, profiletest.Config{Samples: 20, Functions: 300})
	merged := filepath.Join(dir, "merged")
	works := []work{
		{name: "top", inputs: []input{in}, duels: []duel{{pprof: []string{"read", in.path}, hone: []string{"read", in.path, "print"}}}},
		{name: "merge", duels: []duel{{pprof: []string{"print"}, hone: []string{"write", merged}, out: merged}}},
		{name: "corpus", mayRefuse: true, target: target{each: time.Hour}, duels: []duel{
			{name: "odd", pprof: []string{"fail"}, hone: []string{"print"}},
			{name: "fine", pprof: []string{}, hone: []string{"print"}},
		}},
		{name: "linear 20", inputs: []input{in}, grows: 20, duels: []duel{{hone: []string{"read", in.path, "print"}}}},
	}
	var out strings.Builder
	met, err := r.do(t.Context(), works, &out)
	if err != nil {
		t.Fatal(err)
	}
	if !met {
		t.Errorf("targets missed:\n%s", &out)
	}
	lines := strings.Split(out.String(), "\n")
	for _, want := range []string{"| work |", "| top |", "| merge |", "| corpus |", "| hone top |", "| 20 |",
		"- corpus: odd is left out: pprof does not read it"} {
		if !slices.ContainsFunc(lines, func(l string) bool { return strings.HasPrefix(l, want) }) {
			t.Errorf("no line begins with %q in\n%s", want, &out)
		}
	}
	data, err := os.ReadFile(in.path)
	if err != nil {
		t.Fatal(err)
	}
	if p, err := profile.ParseData(data); err != nil || len(p.Sample) != 20 {
		t.Errorf("the profile made for top: %v, %v; want 20 samples", p, err)
	}
}

func TestDoReportsFailures(t *testing.T) {
	r := newRunner(t)
	missing := filepath.Join(t.TempDir(), "out")
	for _, tt := range []struct {
		name string
		work work
		want string
	}{
		{"hone fails", work{duels: []duel{{pprof: []string{"print"}, hone: []string{"fail"}}}}, "exit status 1: no such profile"},
		{"hone is silent", work{duels: []duel{{pprof: []string{"print"}, hone: []string{"quiet"}}}}, "hone quiet: no output"},
		{"hone writes nothing", work{duels: []duel{{pprof: []string{"print"}, hone: []string{"print"}, out: missing}}}, "hone print: "},
		{"pprof fails", work{duels: []duel{{pprof: []string{"fail"}, hone: []string{"print"}}}}, "exit status 1: no such profile"},
		{"nothing left", work{mayRefuse: true, duels: []duel{{pprof: []string{"fail"}, hone: []string{"print"}}}}, "nothing to measure"},
		{"no profile", work{inputs: []input{newInput(missing, profiletest.Config{Samples: 3})}, duels: []duel{{hone: []string{"print"}}}}, "generate"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			tt.work.name = "work"
			var out strings.Builder
			met, err := r.do(t.Context(), []work{tt.work}, &out)
			if err != nil {
				t.Fatal(err)
			}
			if met {
				t.Error("the target counts as met")
			}
			if !strings.Contains(out.String(), "| **no** |") || !strings.Contains(out.String(), tt.want) {
				t.Errorf("printed\n%swant a row with no, and %q", &out, tt.want)
			}
		})
	}
}

func TestSidesTakeTurns(t *testing.T) {
	r := newRunner(t)
	log := filepath.Join(t.TempDir(), "log")
	_, _, err := r.fight(t.Context(), duel{pprof: []string{"log", log, "p"}, hone: []string{"print", "log", log, "h"}})
	if err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(log)
	if err != nil {
		t.Fatal(err)
	}
	if want := "h" + "ph" + "hp" + "ph"; string(got) != want { // the first is the check of the output
		t.Errorf("ran in the order %s, want %s", got, want)
	}
}

func TestMedianAndTotal(t *testing.T) {
	costs := []cost{{cpu: 30, rss: 1}, {cpu: 10, rss: 3}, {cpu: 20, rss: 2}}
	if got, want := median(costs), (cost{cpu: 20, rss: 2}); got != want {
		t.Errorf("median %v, want %v", got, want)
	}
	if got, want := total(costs), (cost{cpu: 60, rss: 3}); got != want {
		t.Errorf("total %v, want %v", got, want)
	}
}

func TestTargetsAndRows(t *testing.T) {
	const ms, mb = time.Millisecond, 1 << 20
	one := func(t target, pprof, hone cost) result {
		return result{work: work{name: "top", target: t}, duels: []duel{{}}, pprof: []cost{pprof}, hone: []cost{hone}}
	}
	for _, tt := range []struct {
		res    result
		missed string
		row    string
	}{
		{
			one(target{cpu: 30, rss: 8}, cost{3000 * ms, 800 * mb}, cost{100 * ms, 100 * mb}),
			"",
			"| top | 3.000 | 800.0 | 0.100 | 100.0 | 30.0× | 8.0× | CPU ≥ 30×, RSS ≤ 1/8 | yes |",
		},
		{
			one(target{cpu: 30, rss: 8}, cost{2900 * ms, 700 * mb}, cost{100 * ms, 100 * mb}),
			"29.0× less CPU than pprof, want 30×; 7.0× less memory than pprof, want 8×",
			"| top | 2.900 | 700.0 | 0.100 | 100.0 | 29.0× | 7.0× | CPU ≥ 30×, RSS ≤ 1/8 | **no** |",
		},
		{
			one(target{cpu: 2, rss: 8}, cost{200 * ms, 0}, cost{100 * ms, 0}),
			"",
			"| top | 0.200 | not measured | 0.100 | not measured | 2.0× |  | CPU ≥ 2×, RSS ≤ 1/8 | yes |",
		},
		{
			result{
				work:  work{name: "real", target: target{each: 25 * ms, never: true}},
				duels: []duel{{name: "a"}, {name: "b"}, {name: "c"}},
				pprof: []cost{{20 * ms, mb}, {20 * ms, 2 * mb}, {40 * ms, mb}},
				hone:  []cost{{20 * ms, mb}, {21 * ms, mb}, {26 * ms, mb}},
			},
			"b 21 ms of CPU, pprof takes 20 ms; c 26 ms of CPU, want 25 ms at most",
			"| real | 0.080 | 2.0 | 0.067 | 1.0 | 1.2× | 2.0× | never slower, CPU ≤ 25 ms | **no** |",
		},
		{
			result{work: work{name: "version", target: target{each: 15 * ms}}, duels: []duel{{}}, hone: []cost{{15 * ms, 9 * mb}}},
			"",
			"| version |  |  | 0.015 | 9.0 |  |  | CPU ≤ 15 ms | yes |",
		},
		{
			result{work: work{name: "top", target: target{cpu: 2}}, err: os.ErrPermission},
			"permission denied",
			"| top |  |  |  |  |  |  | CPU ≥ 2× | **no** |",
		},
	} {
		missed := misses(tt.res)
		if got := strings.Join(missed, "; "); got != tt.missed {
			t.Errorf("misses: %q, want %q", got, tt.missed)
		}
		if got := costRow(tt.res, len(missed) == 0); got != tt.row {
			t.Errorf("row is\n%s, want\n%s", got, tt.row)
		}
	}
}

func TestGrowthRow(t *testing.T) {
	res := result{work: work{grows: 500_000}, hone: []cost{{300 * time.Millisecond, 64 << 20}}}
	if got, want := growthRow(res, true), "| 500k | 0.300 | 64.0 | 600 |"; got != want {
		t.Errorf("row is %s, want %s", got, want)
	}
	res.err = os.ErrInvalid
	if got, want := growthRow(res, false), "| 500k | failed |  |  |"; got != want {
		t.Errorf("row is %s, want %s", got, want)
	}
}

func TestSizes(t *testing.T) {
	for s, want := range map[string]int{"7": 7, "1500": 1500, "50k": 50_000, "2M": 2_000_000, "1500k": 1_500_000} {
		got, err := parseSize(s)
		if err != nil || got != want {
			t.Errorf("parseSize(%q) = %d, %v; want %d", s, got, err, want)
		}
		if again, err := parseSize(formatSize(got)); err != nil || again != got {
			t.Errorf("formatSize(%d) = %s, which parses as %d, %v", got, formatSize(got), again, err)
		}
	}
	for _, s := range []string{"", "k", "0", "-5k", "1.5M", "2G", "99999999999", "9999999999M"} {
		if got, err := parseSize(s); err == nil {
			t.Errorf("parseSize(%q) = %d, want an error", s, got)
		}
	}
}

func TestOptions(t *testing.T) {
	opt, err := parseOptions([]string{"-only", "top", "-n", "5", "-max", "500k", "-sizes", "1k,2k", "-dir", "d"}, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	if opt.only.String() != "top" || opt.rounds != 5 || opt.max != 500_000 || !slices.Equal(opt.sizes, []int{1000, 2000}) || opt.dir != "d" {
		t.Errorf("options are %+v", opt)
	}
	for _, args := range []string{"-n 0", "-max much", "-sizes 1k,x", "-only (", "stray", "-fcous x"} {
		var stderr bytes.Buffer
		if code := run(t.Context(), strings.Fields(args), io.Discard, &stderr); code != 2 || stderr.Len() == 0 {
			t.Errorf("enginebench %s: exit code %d and %q, want 2 and why", args, code, &stderr)
		}
	}
}

func TestChosenWorks(t *testing.T) {
	corpus := t.TempDir()
	for name, size := range map[string]int{"a.pb.gz": 10, "INDEX.tsv": 10, "large.pb.gz": 1<<20 + 1} {
		if err := os.WriteFile(filepath.Join(corpus, name), make([]byte, size), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	names := func(args ...string) string {
		opt, err := parseOptions(args, io.Discard)
		if err != nil {
			t.Fatal(err)
		}
		works, err := allWorks(opt, "tmp", corpus)
		if err != nil {
			t.Fatal(err)
		}
		works, err = chosen(works, opt)
		if err != nil {
			return err.Error()
		}
		var names []string
		for _, w := range works {
			names = append(names, w.name)
			for _, d := range w.duels {
				if d.name != "" {
					names = append(names, "("+d.name+")")
				}
			}
		}
		return strings.Join(names, ", ")
	}
	for _, tt := range []struct {
		args []string
		want string
	}{
		{[]string{"-only", "^top cpu"}, "top cpu 50k, top cpu 500k, top cpu 500k tables last, top cpu 2M"},
		{[]string{"-only", "^top", "-max", "50k"}, "top cpu 50k, top small real profiles, (a.pb.gz)"},
		{[]string{"-only", "linear|version", "-sizes", "1k,2M", "-max", "1M"}, "version, linear 1k"},
		{[]string{"-only", "merge|heap"}, "top heap 500k, top heap 500k tables last, merge 100 × 4k"},
		{[]string{"-only", "-diff_base"}, "pprof -top -diff_base cpu 50k, pprof -top -diff_base cpu 500k"},
		{[]string{"-only", "nothing"}, "no work is called like that and small enough"},
	} {
		if got := names(tt.args...); got != tt.want {
			t.Errorf("%v chooses\n%s, want\n%s", tt.args, got, tt.want)
		}
	}
}

// Two works that need the same profile must mean the same by its name.
func TestInputNamesAreUnambiguous(t *testing.T) {
	opt, err := parseOptions(nil, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	works, err := allWorks(opt, "tmp", "")
	if err != nil {
		t.Fatal(err)
	}
	configs := map[string]profiletest.Config{}
	for _, w := range works {
		for _, in := range w.inputs {
			if c, ok := configs[in.path]; ok && c != in.config {
				t.Errorf("%s is %+v and %+v", in.path, c, in.config)
			}
			configs[in.path] = in.config
		}
	}
	if len(configs) < 100 {
		t.Errorf("%d profiles, want those of the merge and more", len(configs))
	}
}

func TestInputsAreReused(t *testing.T) {
	in := newInput(t.TempDir(), profiletest.Config{Samples: 10})
	if err := os.WriteFile(in.path, []byte("there already"), 0o666); err != nil {
		t.Fatal(err)
	}
	if err := in.make(t.Context(), "no such generator"); err != nil {
		t.Error(err)
	}
}

func TestGenerateErrors(t *testing.T) {
	dir := t.TempDir()
	out := filepath.Join(dir, "out.pb.gz")
	for _, args := range [][]string{{}, {"{}"}, {"no json", out}, {`{"Samples": -1}`, out}} {
		if err := generate(args); err == nil {
			t.Errorf("generate %q: no error", args)
		}
	}
	left, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	if len(left) > 0 {
		t.Errorf("a failure left %v behind", left)
	}
}
