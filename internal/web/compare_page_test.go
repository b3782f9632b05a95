package web_test

import (
	"bytes"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/hone-perf/hone/internal/bench"
	"github.com/hone-perf/hone/internal/profile"
	"github.com/hone-perf/hone/internal/query"
	"github.com/hone-perf/hone/internal/recording"
	"github.com/hone-perf/hone/internal/render"
	"github.com/hone-perf/hone/internal/report"
	"github.com/hone-perf/hone/internal/view/benchview"
)

// duel makes a comparison of benchmarks of all sizes, with profiles of one of them.
func duel(t *testing.T) (of *recording.Recording, why []*recording.Recording) {
	t.Helper()
	r := rand.New(rand.NewPCG(1, 2))
	d := &recording.Duel{
		Old: recording.DuelSide{Name: "main", Rev: "0123456789abcdef"}, New: recording.DuelSide{Name: "working tree", Rev: "f00", Dirty: true, Go: "go1.26.5"},
		BuiltOnce: true, Alpha: 0.01, Within: 0.01, Spread: 0.01, SpreadOf: 12, Same: []string{"example.com/same"},
	}
	size := 0.37
	for i, ratio := range []float64{1, 1.004, 1.03, 0.97, 0.5, 0.033, 12.4, 1.5, 1000} {
		b := recording.DuelBenchmark{Pkg: "example.com/p", Name: fmt.Sprintf("B%d", i), How: recording.Duet, Unit: "cpu-ns/op", Stop: "decided"}
		for range 37 {
			side := func(ratio float64) map[string]float64 {
				return map[string]float64{"cpu-ns/op": size * ratio * math.Exp(0.005*r.NormFloat64()), "B/op": math.Round(size * ratio), "allocs/op": 2, "hits": 7 * ratio}
			}
			b.Pairs = append(b.Pairs, recording.DuelPair{Old: side(1), New: side(ratio)})
		}
		d.Benchmarks = append(d.Benchmarks, b)
		size *= 31
	}
	d.Benchmarks = append(d.Benchmarks, recording.DuelBenchmark{Pkg: "example.com/p", Name: "Broken", Fails: "new", Error: "oh"})
	parse := func(text []byte) *profile.Profile {
		p, err := profile.Parse(bytes.NewReader(text))
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	d.Why = []recording.DuelWhy{{Pkg: "example.com/p", Name: "B4", Kind: recording.CPU, Iters: 1000, Old: parse(kinds(t)["cpu"]), New: parse(run2())}}
	d.Why[0].Code = []recording.DuelCode{{Function: "example.com/p.Work", Diff: "--- old/p.go\n+++ new/p.go\n-was\n+is\n", Lost: []string{"moved to heap: x"}}}
	for _, side := range []string{"new", "old"} {
		p := d.Why[0].New
		if side == "old" {
			p = d.Why[0].Old
		}
		why = append(why, &recording.Recording{Ref: d.Why[0].Ref(side), Profile: p})
	}
	of = recording.Versions.Of("change.hone", d)
	of.Profile, of.Manifest = &profile.Profile{}, &recording.Manifest{Format: recording.Format, How: recording.Dueled}
	return of, why
}

// tablesOf returns the cells of the tables in Markdown, row by row.
func tablesOf(t *testing.T, r report.Report) []string {
	t.Helper()
	var b bytes.Buffer
	if err := render.Write(&b, "markdown", r, render.Options{}); err != nil {
		t.Fatal(err)
	}
	var rows []string
	for line := range strings.Lines(b.String()) {
		cells, ok := strings.CutPrefix(strings.TrimSpace(line), "|")
		if !ok || strings.Trim(cells, "|-: ") == "" {
			continue
		}
		var row []string
		for _, c := range strings.Split(strings.TrimSuffix(cells, "|"), "|") {
			c = strings.ReplaceAll(strings.ReplaceAll(c, "\\", ""), "**", "")
			row = append(row, strings.Trim(strings.TrimSpace(c), "`"))
		}
		rows = append(rows, strings.Join(row, "|"))
	}
	return rows
}

// pageTables returns the same of the page, without what only it has.
const pageTables = `[...document.querySelectorAll(".versions tr")].map((tr) => [...tr.cells].filter((c) => !c.matches(".gauge, :has(.hidden)") && !c.dataset.only)
	.map((c) => c.innerText.trim()).join("|"))`

// The comparison in the browser has the numbers of the one on the command line, and leads to the flame graph of what changed.
func TestPageCompare(t *testing.T) {
	rec, why := duel(t)
	p := open(t, serveRecordings(t, append([]*recording.Recording{rec}, why...)...), 1280, 800)
	p.visit("/compare")
	want, err := benchview.Compare([]*recording.Recording{rec}, query.Query{View: "compare"})
	if err != nil {
		t.Fatal(err)
	}
	if head := eval[string](p, `document.querySelector(".big").parentElement.innerText`); !strings.Contains(head, "both sides are one program, built once with go1.26.5") {
		t.Errorf("the page does not say what both sides are:\n%s", head)
	}
	got := eval[[]string](p, pageTables)
	shown := tablesOf(t, want)
	if len(shown) < 30 {
		t.Fatalf("the command line shows %d rows", len(shown))
	}
	for _, row := range shown {
		if row != "" && !slices.ContainsFunc(got, func(g string) bool { return alike(g, row) }) {
			t.Errorf("the page lacks the row\n%s of\n%s", row, strings.Join(got, "\n"))
		}
	}
	if got := p.text(".hero"); !strings.Contains(got, "better") || !strings.Contains(got, "working tree (f00 and changes) · old: main (0123456789ab)") {
		t.Errorf("it begins with %q", got)
	}
	if got := p.text(".notes"); !strings.Contains(got, "example.com/same: the same program") || !strings.Contains(got, "Broken fails on the new side: oh") {
		t.Errorf("its notes are %q", got)
	}
	if got := eval[string](p, `[...document.querySelectorAll(".tabs a")].map((a) => a.innerText).join(" ")`); got != "Compare" {
		t.Errorf("the tabs are %q", got)
	}
	if got := p.text(".code-change"); !strings.Contains(got, "the code of example.com/p.Work") || !strings.Contains(got, "-was\n+is\n") || !strings.Contains(got, "no longer: moved to heap: x") {
		t.Errorf("of the code it says %q", got)
	}
	p.click(".card a", "Flame graph of the difference")
	p.wait(`location.pathname === "/diff"`)
	p.settled()
	if got := p.text(".headline"); !strings.Contains(got, "The base is p.B4 cpu, old.") {
		t.Errorf("the difference says %q", got)
	}
}

// alike reports whether rows show the same: the page has no cell where a table has an empty one at its end.
func alike(a, b string) bool { return strings.TrimRight(a, "|") == strings.TrimRight(b, "|") }

// What benchmarks measured is shown, too.
func TestPageBench(t *testing.T) {
	f, err := bench.Read(strings.NewReader(strings.Repeat("BenchmarkA-8 10 1234567 ns/op 3.5 MB/s 12 B/op 0 allocs/op\nBenchmarkB/x-8 10 0.25 ns/op 1.5 hits\n", 7)+"BenchmarkB/x-8 10 0.27 ns/op 1 hits\n"), "b")
	if err != nil {
		t.Fatal(err)
	}
	rec := recording.Benchmarks.Of("b.hone", f)
	rec.Profile, rec.Manifest = &profile.Profile{}, &recording.Manifest{Format: recording.Format, How: recording.Benched}
	p := open(t, serveRecordings(t, rec), 1280, 800)
	p.visit("/bench")
	if heads := p.text(".versions thead"); !strings.Contains(heads, "runs") {
		t.Errorf("the columns are %q", heads)
	}
	got := strings.Join(eval[[]string](p, pageTables), "\n")
	for _, want := range []string{"A-8|1.235ms|", "|3.338MB/s|", "|12B|", "B/x-8|0.250ns|", "|1.5|"} {
		if !strings.Contains(got, want) {
			t.Errorf("the page lacks %q of\n%s", want, got)
		}
	}
}

// Both fit on a narrow screen, and axe-core finds nothing in them.
func TestPageCompareAccessibility(t *testing.T) {
	rec, why := duel(t)
	p := open(t, serveRecordings(t, append([]*recording.Recording{rec}, why...)...), 390, 844)
	p.visit("/compare")
	if over := eval[int](p, `document.documentElement.scrollWidth - document.documentElement.clientWidth`); over > 0 {
		t.Errorf("it is %d pixels wider than the screen: %v", over, eval[[]string](p, `[...document.querySelectorAll("body *")].filter((e) =>
			e.getBoundingClientRect().right > document.documentElement.clientWidth && !e.closest(".wide-table table")).map((e) => e.outerHTML.slice(0, 80))`))
	}
	p.accessible("compare", "html")
}
