package profileview

import (
	"strings"
	"testing"

	"github.com/hone-perf/hone/internal/profile"
	"github.com/hone-perf/hone/internal/query"
	"github.com/hone-perf/hone/internal/recording"
	"github.com/hone-perf/hone/internal/report"
)

func TestStartMoved(t *testing.T) {
	lines := strings.Split(`package shop

func price(name string) int {
	defer func() { recover() }()
	return 0
}

func (c *cart[T]) add(item T) {}

func timeSleep(ns int64) {}

func init() {}
`, "\n")
	for _, tt := range []struct {
		function string
		start    int
		want     bool
	}{
		{"shop.price", 3, false},
		{"shop.price", 4, true}, // a function begins there, but another one
		{"shop.price", 5, true},
		{"shop.price", 500, true},
		{"shop.price", 0, false}, // unknown
		{"shop.price.func1", 4, false},
		{"shop.price.func1", 5, true},
		{"shop.price.func1.2", 4, false},
		{"example.com/v2.x/shop.(*cart[go.shape.struct { Of []string }]).add", 8, false},
		{"example.com/v2.x/shop.(*cart[go.shape.struct { Of []string }]).add", 7, true},
		{"shop.(*cart[...]).add", 8, false},
		{"time.Sleep", 10, false}, // as the linker knows it
		{"shop.init.0", 12, false},
		{"shop.init", 2, false}, // of variables
		{"shop.price.gowrap1", 5, false},
		{"shop.price.deferwrap2", 5, false},
		{"shop.price-range1", 5, false},
		{"shop.(*cart[...]).add-fm", 5, false},
	} {
		if got := startMoved(tt.function, "shop.go", tt.start, lines); got != tt.want {
			t.Errorf("startMoved(%q, %d) is %v", tt.function, tt.start, got)
		}
	}
	if startMoved("shop.price", "shop.y", 5, lines) {
		t.Error("startMoved says something of what is not Go")
	}
}

// oneFile has one file, whatever it is asked for.
type oneFile string

func (f oneFile) Find(file, _ string, _ int) (recording.Text, error) {
	return recording.Text{Path: file, Lines: strings.Split(string(f), "\n"), Notes: []string{"found"}}, nil
}

// TestListOfChanged lists a function from the file it is from, and from one where a line was put in above it.
func TestListOfChanged(t *testing.T) {
	b := profile.NewBuilder(profile.Header{SampleTypes: []profile.ValueType{{Type: "cpu", Unit: "nanoseconds"}}})
	b.Functions = []profile.Function{{ID: 1, Name: "main.work", File: "/src/main.go", StartLine: 3}}
	b.Locations = []profile.Location{{ID: 1, Mapping: profile.NoMapping, Lines: []profile.Line{{Function: 0, Line: 4}}}}
	b.Add([]uint32{0}, 0, []int64{10_000_000})
	p, err := b.Profile()
	if err != nil {
		t.Fatal(err)
	}
	const text = "package main\n\nfunc work() {\n\tspin()\n}\n"
	for _, tt := range []struct {
		text, note string
	}{{text, "found"}, {"// Main.\n" + text, "found; this function began at line 3 when it was compiled, but not here: costs may be on the wrong lines"}} {
		r, err := List([]*recording.Recording{{Ref: "cpu.pprof", Profile: p, Sources: oneFile(tt.text)}}, parse(t, "list main.work"))
		if err != nil {
			t.Fatal(err)
		}
		notes := r.(*report.Source).Functions[0].Files[0].Notes
		if len(notes) != 1 || notes[0] != tt.note {
			t.Errorf("the notes of %q are %q", tt.text, notes)
		}
	}
}

// TestListBase has what lines cost before beside what they cost now, for another build in another folder, too.
func TestListBase(t *testing.T) {
	side := func(file string, lines map[int64]int64) *recording.Recording {
		b := profile.NewBuilder(profile.Header{SampleTypes: []profile.ValueType{{Type: "cpu", Unit: "nanoseconds"}}})
		b.Functions = []profile.Function{{ID: 1, Name: "main.work", File: file, StartLine: 3}}
		for line, v := range lines {
			b.Locations = append(b.Locations, profile.Location{ID: uint64(line), Mapping: profile.NoMapping, Lines: []profile.Line{{Function: 0, Line: line}}})
			b.Add([]uint32{uint32(len(b.Locations) - 1)}, 0, []int64{v})
		}
		p, err := b.Profile()
		if err != nil {
			t.Fatal(err)
		}
		return &recording.Recording{Ref: file, Profile: p, Sources: oneFile("package main\n\nfunc work() {\n\ta()\n\tb()\n}\n")}
	}
	for _, folder := range []string{"/new", "/old"} {
		rep, err := List([]*recording.Recording{side("/new/main.go", map[int64]int64{4: 30}), side(folder+"/main.go", map[int64]int64{4: 10, 5: 7})}, query.Query{Arg: "work"})
		if err != nil {
			t.Fatal(err)
		}
		file := rep.(*report.Source).Functions[0].Files[0]
		if file.Cum != 30 || file.Before == nil || *file.Before != (report.Cost2{Flat: 17, Cum: 17}) {
			t.Errorf("base in %s: the function cost %+v before, and now %d", folder, file.Before, file.Cum)
		}
		for _, l := range file.Lines {
			want := map[int]*report.Cost2{4: {Flat: 10, Cum: 10}, 5: {Flat: 7, Cum: 7}}[l.Line]
			if (l.Before == nil) != (want == nil) || want != nil && *l.Before != *want {
				t.Errorf("base in %s: line %d cost %+v before, want %+v", folder, l.Line, l.Before, want)
			}
		}
	}
}
