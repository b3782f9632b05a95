package web_test

import (
	"strings"
	"testing"

	"github.com/hone-perf/hone/internal/profile"
	"github.com/hone-perf/hone/internal/recording"
)

// ten is a source file of ten lines.
type ten struct{}

func (ten) Find(file, _ string, _ int) (recording.Text, error) {
	return recording.Text{Path: file, Lines: strings.Split(strings.Repeat("code()\n", 9)+"code()", "\n")}, nil
}

// TestPageLinesOfTheCall holds that the hottest lines beside a call of the flame graph are those of that call, and that it
// is said where they are of all calls.
func TestPageLinesOfTheCall(t *testing.T) {
	b := profile.NewBuilder(profile.Header{SampleTypes: []profile.ValueType{{Type: "cpu", Unit: "nanoseconds"}}})
	for _, name := range []string{"main.main", "main.a", "main.b", "main.work"} {
		b.Functions = append(b.Functions, profile.Function{Name: name, SystemName: name, File: "/src/w.go", StartLine: 1})
	}
	for i, l := range []profile.Line{{Function: 0, Line: 1}, {Function: 1, Line: 2}, {Function: 2, Line: 3}, {Function: 3, Line: 5}, {Function: 3, Line: 6}} {
		b.Locations = append(b.Locations, profile.Location{Mapping: profile.NoMapping, Address: uint64(i + 1), Lines: []profile.Line{l}})
	}
	b.Add([]uint32{3, 1, 0}, 0, []int64{40}) // line 5, from a
	b.Add([]uint32{4, 2, 0}, 0, []int64{60}) // line 6, from b
	b.Renumber()
	prof, err := b.Profile()
	if err != nil {
		t.Fatal(err)
	}
	p := open(t, serveRecordings(t, &recording.Recording{Ref: "cpu.pprof", Profile: prof, Sources: ten{}}), 1280, 800)
	const lines = `[...document.querySelectorAll(".hotlines .line")].map((l) => l.querySelector(".no").innerText + ": " + l.querySelector(".num").innerText).join(", ")`
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
		p.wait(lines + ` === "5: 40ns, 6: 60ns"`)
		if got := p.text(".hotlines h2"); !strings.Contains(strings.ToLower(got), "in all its calls") {
			t.Errorf("%s: the lines of all calls are called %q", path, got)
		}
	}
}
