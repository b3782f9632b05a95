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

// TestRecursionCountsOnce holds that a function costs in its lines and in its code what it costs in top, though it is on stacks twice: at the
// same line, at two of its lines, and as one that was inlined into itself.
func TestRecursionCountsOnce(t *testing.T) {
	b := profile.NewBuilder(profile.Header{SampleTypes: []profile.ValueType{{Type: "cpu", Unit: "nanoseconds"}}})
	b.Mappings = []profile.Mapping{{ID: 1, Start: 0x1000, Limit: 0x2000, File: "/bin/p"}}
	b.Functions = []profile.Function{
		{ID: 1, Name: "main.walk", SystemName: "main.walk", File: "/src/a.go", StartLine: 1},
		{ID: 2, Name: "main.visit", SystemName: "main.visit", File: "/src/a.go", StartLine: 20},
	}
	walk2, walk3 := profile.Line{Function: 0, Line: 2}, profile.Line{Function: 0, Line: 3}
	for i, lines := range [][]profile.Line{{walk2}, {walk3}, {walk2, walk3}, {{Function: 1, Line: 21}}, {walk3}} {
		b.Locations = append(b.Locations, profile.Location{ID: uint64(i + 1), Address: []uint64{0x1100, 0x1104, 0x1108, 0x1110, 0x1105}[i], Lines: lines})
	}
	b.Add([]uint32{0, 1, 3, 0}, 0, []int64{1000}) // line 2 twice
	b.Add([]uint32{2, 3}, 0, []int64{200})        // line 2, inlined at line 3
	b.Add([]uint32{1, 4, 3, 0}, 0, []int64{30})   // one instruction twice, and line 3
	b.Add([]uint32{3, 1}, 0, []int64{4})          // once
	p, err := b.Profile()
	if err != nil {
		t.Fatal(err)
	}
	rec := &recording.Recording{Profile: p, Sources: fakeSources{}, Code: &fakeCode{functions: []string{"main.walk", "main.visit"}}}
	in := []*recording.Recording{rec}
	top, err := Top(in, query.Query{})
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range top.(*report.Top).Rows {
		list, err := List(in, query.Query{Arg: r.Name})
		if err != nil {
			t.Fatal(err)
		}
		file := list.(*report.Source).Functions[0].Files[0]
		if file.Flat != r.Flat || file.Cum != r.Cum {
			t.Errorf("list: %s is %d/%d, want %d/%d as in top", r.Name, file.Flat, file.Cum, r.Flat, r.Cum)
		}
		dis, err := Disasm(in, query.Query{Arg: r.Name})
		if err != nil {
			t.Fatal(err)
		}
		if f := dis.(*report.Disasm).Functions[0]; f.Cum != r.Cum {
			t.Errorf("disasm: %s is %d/%d, want %d/%d as in top", r.Name, f.Flat, f.Cum, r.Flat, r.Cum)
		}
		if r.Name != "main.walk" {
			continue
		}
		want := map[int][2]int64{2: {1200, 1230}, 3: {30, 1234}}
		for _, l := range file.Lines {
			if w := want[l.Line]; l.Flat != w[0] || l.Cum != w[1] {
				t.Errorf("list: line %d is %d/%d, want %d/%d", l.Line, l.Flat, l.Cum, w[0], w[1])
			}
		}
		if got, want := costsOf(dis.(*report.Disasm).Functions[0].Instructions), "OP 100 1000/1030, OP 104 30/1034, OP 108 200/200"; got != want {
			t.Errorf("disasm: %s, want %s", got, want)
		}
	}
	// The base of a difference counts it once, too.
	diff, err := List([]*recording.Recording{rec, rec}, query.Query{Arg: "main.walk"})
	if err != nil {
		t.Fatal(err)
	}
	if file := diff.(*report.Source).Functions[0].Files[0]; file.Cum != 1234 || file.Before == nil || file.Before.Cum != 1234 {
		t.Errorf("list with a base: cum %d, before %+v", file.Cum, file.Before)
	}
	// pprof adds lines up.
	list, err := ListFromStart(in, query.Query{Arg: "main.walk", PProf: true})
	if err != nil {
		t.Fatal(err)
	}
	if file := list.(*report.Source).Functions[0].Files[0]; file.Cum != 2464 {
		t.Errorf("list as in pprof: cum %d, want 2464", file.Cum)
	}
}
