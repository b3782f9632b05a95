package web_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/hone-perf/hone/internal/profile"
	"github.com/hone-perf/hone/internal/recording"
)

// ten is source files of ten lines. Those of yacc are missing.
type ten struct{}

func (ten) Find(file, _ string, _ int) (recording.Text, error) {
	if strings.HasSuffix(file, ".y") {
		return recording.Text{}, fmt.Errorf("no source of %s", file)
	}
	return recording.Text{Path: file, Lines: strings.Split(strings.Repeat("code()\n", 9)+"code()", "\n")}, nil
}

const lines = `[...document.querySelectorAll(".hotlines .line")].map((l) => l.querySelector(".no").innerText + ": " + l.querySelector(".num").innerText).join(", ")`

// TestPageLinesOfTheCall holds that the hottest lines beside a call of the flame graph are those of that call, and that it
// is said where they are of all calls.
func TestPageLinesOfTheCall(t *testing.T) {
	work := func(ref string, fromA, fromB int64) *recording.Recording {
		b := profile.NewBuilder(profile.Header{SampleTypes: []profile.ValueType{{Type: "cpu", Unit: "nanoseconds"}}})
		for _, name := range []string{"main.main", "main.a", "main.b", "main.work"} {
			b.Functions = append(b.Functions, profile.Function{Name: name, SystemName: name, File: "/src/w.go", StartLine: 1})
		}
		for i, l := range []profile.Line{{Function: 0, Line: 1}, {Function: 1, Line: 2}, {Function: 2, Line: 3}, {Function: 3, Line: 5}, {Function: 3, Line: 6}} {
			b.Locations = append(b.Locations, profile.Location{Mapping: profile.NoMapping, Address: uint64(i + 1), Lines: []profile.Line{l}})
		}
		b.Add([]uint32{3, 1, 0}, 0, []int64{fromA}) // line 5
		b.Add([]uint32{4, 2, 0}, 0, []int64{fromB}) // line 6
		b.Renumber()
		prof, err := b.Profile()
		if err != nil {
			t.Fatal(err)
		}
		return &recording.Recording{Ref: ref, Profile: prof, Sources: ten{}}
	}
	p := open(t, serveRecordings(t, work("cpu.pprof", 40, 60), work("new.pprof", 10e6, 6e9), work("old.pprof", 3.43e6, 6e9)), 1280, 800)
	p.visit("/flame")
	for _, x := range []float64{0.05, 0.95} {
		p.point(x, 3, 1)
		p.wait(`document.querySelector(".panel .name").innerText.includes("work")`)
		want := "5: 40ns"
		if strings.Contains(p.text(".panel dl"), "60ns") {
			want = "6: 60ns"
		}
		p.wait(lines + ` === "` + want + `"`)
		if got := p.text(".hotlines h2"); !strings.Contains(strings.ToLower(got), "in this call") {
			t.Errorf("the lines of a call are called %q", got)
		}
	}
	for _, path := range []string{"/flame?invert=true&ui.sel=main.work", "/sandwich?arg=main.work"} {
		p.visit(path)
		p.wait(lines + ` === "6: 60ns, 5: 40ns"`)
		if got := p.text(".hotlines h2"); !strings.Contains(strings.ToLower(got), "in all its calls") {
			t.Errorf("%s: the lines of all calls are called %q", path, got)
		}
		if got := p.text(".panel dl"); !strings.Contains(got, "flat\n100ns") {
			t.Errorf("%s: main.work costs by itself %q", path, got)
		}
	}

	// What callers cost by themselves is not in what they cost as callers.
	if got := eval[string](p, `document.querySelector(".callers .twin").textContent`); !strings.Contains(got, "main.a, cum 40ns") || strings.Contains(got, "flat") {
		t.Errorf("the callers are %q", got)
	}
	p.visit("/flame?invert=true&ui.sel=main.b")
	p.wait(`document.querySelector(".panel .name").innerText === "main.b"`)
	if got := p.text(".panel dl"); !strings.Contains(got, "60ns") || strings.Contains(got, "flat") {
		t.Errorf("inverted, the caller main.b costs %q", got)
	}

	// The unit of a column is one in which what lines cost before can be read, too.
	p.visit("/source?ref=new.pprof&base=old.pprof&arg=main.work")
	if got, want := eval[string](p, `[...document.querySelectorAll("#L0-5 td")].slice(0, 3).map((c) => c.innerText).join()`), "10ms,10ms,3.43ms"; got != want {
		t.Errorf("line 5 costs %s, want %s", got, want)
	}
}

// The lines beside a call are chosen, listed and drawn by what they cost with all that they call. It is said what lines are missing that would be
// among them.
func TestPageHottestLines(t *testing.T) {
	b := profile.NewBuilder(profile.Header{SampleTypes: []profile.ValueType{{Type: "cpu", Unit: "nanoseconds"}}})
	for _, name := range []string{"main.many", "main.parse", "main.work"} {
		for _, file := range []string{"/src/w.go", "/src/w.y"} {
			b.Functions = append(b.Functions, profile.Function{Name: name, SystemName: name, File: file, StartLine: 1})
		}
	}
	add := func(value int64, stack ...profile.Line) {
		var at []uint32
		for _, l := range stack {
			b.Locations = append(b.Locations, profile.Location{Mapping: profile.NoMapping, Address: uint64(len(b.Locations) + 1), Lines: []profile.Line{l}})
			at = append(at, uint32(len(b.Locations)-1))
		}
		b.Add(at, 0, []int64{value})
	}
	const many, parse, grammar, work = 0, 2, 3, 4
	for line := range int64(7) {
		add(20, profile.Line{Function: many, Line: line + 1})
	}
	add(10, profile.Line{Function: many + 1, Line: 3})
	add(10, profile.Line{Function: many, Line: 8})
	add(200, profile.Line{Function: work, Line: 1}, profile.Line{Function: many, Line: 8})
	add(100, profile.Line{Function: work, Line: 1}, profile.Line{Function: many, Line: 9})
	add(20, profile.Line{Function: parse, Line: 5})
	add(90, profile.Line{Function: grammar, Line: 7})
	b.Renumber()
	prof, err := b.Profile()
	if err != nil {
		t.Fatal(err)
	}
	p := open(t, serveRecordings(t, &recording.Recording{Ref: "cpu.pprof", Profile: prof, Sources: ten{}}), 1280, 800)
	p.visit("/flame?ui.sel=main.many")
	p.wait(lines + ` === "8: 210ns, 9: 100ns, 1: 20ns, 2: 20ns, 3: 20ns, 4: 20ns"`)
	bars := eval[[]float64](p, `[...document.querySelectorAll(".hotlines .line .bar > span")].map((b) => Math.round(100 * b.clientWidth / b.parentElement.clientWidth))`)
	if len(bars) != 6 || bars[0] != 100 || bars[1] < 40 || bars[1] > 55 || bars[2] > 20 {
		t.Errorf("the bars are %v", bars)
	}
	if got := p.text(".hotlines"); !strings.Contains(strings.ToLower(got), "by cum") || strings.Contains(got, "w.y") {
		t.Errorf("beside main.many it says %q", got)
	}
	p.visit("/flame?ui.sel=main.parse")
	p.wait(lines + ` === "5: 20ns"`)
	if got := p.text(".hotlines"); !strings.Contains(got, "90ns more without source: no source of /src/w.y") {
		t.Errorf("beside main.parse it says %q", got)
	}
}
