package web_test

import (
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"github.com/hone-perf/hone/internal/profile"
	"github.com/hone-perf/hone/internal/recording"
)

// long is a source file of three hundred lines.
type long struct{}

func (long) Find(file, _ string, _ int) (recording.Text, error) {
	return recording.Text{Path: file, Lines: strings.Split(strings.Repeat("code()\n", 299)+"code()", "\n")}, nil
}

// TestPageSourceOpens holds that a function opens with its name in view: on a phone before its lines, and otherwise with its hottest line in view as well.
func TestPageSourceOpens(t *testing.T) {
	b := profile.NewBuilder(profile.Header{SampleTypes: []profile.ValueType{{Type: "cpu", Unit: "nanoseconds"}}})
	b.Functions = []profile.Function{{Name: "main.near", SystemName: "main.near", File: "/src/w.go", StartLine: 10}, {Name: "main.far", SystemName: "main.far", File: "/src/w.go", StartLine: 60}}
	for i, l := range []profile.Line{{Function: 0, Line: 10}, {Function: 0, Line: 14}, {Function: 1, Line: 60}, {Function: 1, Line: 260}} {
		b.Locations = append(b.Locations, profile.Location{Mapping: profile.NoMapping, Address: uint64(i + 1), Lines: []profile.Line{l}})
		b.Add([]uint32{uint32(i)}, 0, []int64{int64(10 + i)})
	}
	b.Renumber()
	prof, err := b.Profile()
	if err != nil {
		t.Fatal(err)
	}
	p := open(t, serveRecordings(t, &recording.Recording{Ref: "cpu.pprof", Profile: prof, Sources: long{}}), 1280, 800)
	const seen = `((e) => { const r = e.getBoundingClientRect(); return r.top > -1 && r.bottom < innerHeight + 1 && e.contains(document.elementFromPoint(r.left + 4, r.top + r.height / 2)); })`
	for _, width := range []int64{1280, 390} {
		p.do(chromedp.EmulateViewport(width, 800))
		for _, name := range []string{"main.near", "main.far"} {
			p.visit("/source?arg=" + name)
			p.wait(`document.querySelectorAll(".listing .hot").length > 0`)
			if !eval[bool](p, seen+`(document.querySelector(".listing h2"))`) {
				t.Errorf("%d pixels wide, the name of %s is out of sight", width, name)
			}
			if width == 1280 && !eval[bool](p, seen+`([...document.querySelectorAll(".listing .hot td.text")].pop())`) {
				t.Errorf("the hottest line of %s is out of sight", name)
			}
			p.shoot("opens-" + name)
		}
	}
}

// TestPageGoroutinesUnknown holds that goroutines without a stack, which have not run yet, are listed as all others, and that on a phone the
// table is not wider than the page.
func TestPageGoroutinesUnknown(t *testing.T) {
	b := profile.NewBuilder(profile.Header{SampleTypes: []profile.ValueType{{Type: "goroutine", Unit: "count"}}})
	for _, name := range []string{"sync.runtime_SemacquireWaitGroup", "main.(*allocationState).waitForEverybodyElseToFinish"} {
		b.Functions = append(b.Functions, profile.Function{Name: name, SystemName: name, File: "/src/w.go", StartLine: 1})
	}
	for i := range b.Functions {
		b.Locations = append(b.Locations, profile.Location{Mapping: profile.NoMapping, Address: uint64(i + 1), Lines: []profile.Line{{Function: uint32(i), Line: 1}}})
	}
	b.Add([]uint32{0, 1}, 0, []int64{40})
	b.Add(nil, 0, []int64{2})
	b.Renumber()
	prof, err := b.Profile()
	if err != nil {
		t.Fatal(err)
	}
	p := open(t, serveRecordings(t, &recording.Recording{Ref: "goroutines.pprof", Profile: prof}), 390, 800)
	p.visit("/goroutines")
	if got := p.text(".groups"); !strings.Contains(got, "<unknown>") || !strings.Contains(got, "sync.WaitGroup.Wait") {
		t.Errorf("the groups are %q", got)
	}
	if over := eval[float64](p, `(() => { const e = document.querySelector(".goroutines .wide-table"); return e.scrollWidth - e.clientWidth; })()`); over > 0 {
		t.Errorf("the table is %g pixels wider than the page", over)
	}
}

// TestPageGuard holds that a view which cannot be drawn says so, in place of an empty page, and that the others still work.
func TestPageGuard(t *testing.T) {
	p := open(t, serve(t, []byte("main;work 3\n")), 1280, 800)
	p.visit("/overview")
	eval[bool](p, `(() => {
		const real = window.fetch;
		window.fetch = (url, options) => String(url).includes("/api/tags") ? Promise.resolve(new Response('{"keys":[null]}')) : real(url, options);
		return true;
	})()`)
	p.click(".tabs a", "Tags")
	p.wait(`document.querySelector("main").innerText.includes("This view cannot be shown")`)
	p.forgive("TypeError")
	p.visitTab("Top")
	if got := p.text("main"); !strings.Contains(got, "work") || strings.Contains(got, "cannot be shown") {
		t.Errorf("after another view failed, the top functions are %q", got)
	}
}
