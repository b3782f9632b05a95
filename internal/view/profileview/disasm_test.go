package profileview

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/hone-perf/hone/internal/hint"
	"github.com/hone-perf/hone/internal/profile"
	"github.com/hone-perf/hone/internal/query"
	"github.com/hone-perf/hone/internal/recording"
	"github.com/hone-perf/hone/internal/report"
	"github.com/hone-perf/hone/internal/view"
)

// fakeCode is a program of functions of 16 bytes, instructions of 4, mapped 0x1000 above where its file says.
type fakeCode struct {
	functions []string                   // "" is one whose code is missing
	inlined   map[uint64]recording.Frame // what was inlined at an address of the file
	err       error
	lack      error // of functions that are not here
}

func (c *fakeCode) Object(*profile.Mapping) (recording.Object, error) { return c, c.err }

func (c *fakeCode) Base() uint64 { return 0x1000 }

func (c *fakeCode) Lack() error { return c.lack }

func (c *fakeCode) Unused() error { return nil }

func (c *fakeCode) Functions(keep func(*recording.Function) bool) ([]recording.Function, error) {
	var out []recording.Function
	for i, name := range c.functions {
		f := recording.Function{Name: name, Start: 0x100 + 16*uint64(i), End: 0x110 + 16*uint64(i)}
		if name != "" && keep(&f) {
			out = append(out, f)
		}
	}
	return out, nil
}

func (c *fakeCode) Instructions(f *recording.Function) ([]recording.Instruction, error) {
	var out []recording.Instruction
	for at := f.Start; at < f.End; at += 4 {
		in := recording.Instruction{Address: at, Size: 4, Text: fmt.Sprintf("OP %x", at)}
		own := recording.Frame{Func: f.Name, File: "/src/a.go", Line: int(at-f.Start)/4 + 1}
		if inner, ok := c.inlined[at]; ok {
			in.Frames = append(in.Frames, inner)
		}
		in.Frames = append(in.Frames, own)
		out = append(out, in)
	}
	return out, nil
}

// codeRecording has samples in a (two instructions, one of them in its middle) and b, which calls a and inlines c[int].
func codeRecording(t *testing.T) *recording.Recording {
	t.Helper()
	b := profile.NewBuilder(profile.Header{SampleTypes: []profile.ValueType{{Type: "cpu", Unit: "nanoseconds"}}})
	b.Mappings = []profile.Mapping{{ID: 1, Start: 0x1000, Limit: 0x2000, File: "/bin/p"}}
	for _, name := range []string{"main.a", "main.b", "main.c[...]"} {
		b.Functions = append(b.Functions, profile.Function{Name: name, SystemName: name, File: "/src/a.go"})
	}
	location := func(addr uint64, lines ...profile.Line) {
		b.Locations = append(b.Locations, profile.Location{Address: addr, Lines: lines})
	}
	location(0x1104, profile.Line{Function: 0, Line: 2})
	location(0x110a, profile.Line{Function: 0, Line: 3})
	location(0x1114, profile.Line{Function: 2, Line: 40}, profile.Line{Function: 1, Line: 2})
	location(0x1118, profile.Line{Function: 1, Line: 3})
	b.Add([]uint32{0, 3}, 0, []int64{5})
	b.Add([]uint32{1, 3}, 0, []int64{7})
	b.Add([]uint32{2}, 0, []int64{11})
	b.Renumber()
	p, err := b.Profile()
	if err != nil {
		t.Fatal(err)
	}
	return &recording.Recording{Profile: p, Sources: fakeSources{}, Code: &fakeCode{
		functions: []string{"main.a", "main.b", "main.unused"},
		inlined:   map[uint64]recording.Frame{0x114: {Func: "main.c[go.shape.int]", File: "/src/a.go", Line: 40}},
	}}
}

// fakeSources has a file of fifty lines.
type fakeSources struct{}

func (fakeSources) Find(file, _ string, _ int) (recording.Text, error) {
	return recording.Text{Path: file, Lines: strings.Split(strings.Repeat("text\n", 50), "\n")}, nil
}

// costsOf writes the instructions that cost something.
func costsOf(ins []report.Instruction) string {
	var out []string
	for _, in := range ins {
		if in.Flat != 0 || in.Cum != 0 {
			out = append(out, fmt.Sprintf("%s %d/%d", in.Text, in.Flat, in.Cum))
		}
	}
	return strings.Join(out, ", ")
}

func TestDisasm(t *testing.T) {
	tests := []struct {
		arg   string
		limit int
		want  []string // functions, the costliest first
		code  string   // what costs something in the first
	}{
		{arg: "main", want: []string{"main.a", "main.b"}, code: "OP 104 5/5, OP 108 7/7"},
		{arg: "main", limit: 1, want: []string{"main.a"}, code: "OP 104 5/5, OP 108 7/7"},
		{arg: `^main\.b$`, want: []string{"main.b"}, code: "OP 114 11/11, OP 118 0/12"},
		{arg: `^main\.c\[\.\.\.\]$`, want: []string{"main.b"}, code: "OP 114 11/11, OP 118 0/12"}, // into which it was inlined
		{arg: `^main\.[ac]`, want: []string{"main.a"}, code: "OP 104 5/5, OP 108 7/7"},            // and much of main.c is elsewhere
		{arg: "0x118", want: []string{"main.b"}, code: "OP 114 11/11, OP 118 0/12"},               // in the file
		{arg: "0x1101", want: []string{"main.a"}, code: "OP 104 5/5, OP 108 7/7"},                 // in the process
	}
	for _, tt := range tests {
		r, err := Disasm([]*recording.Recording{codeRecording(t)}, query.Query{Arg: tt.arg, Limit: tt.limit})
		if err != nil {
			t.Errorf("disasm %s: %v", tt.arg, err)
			continue
		}
		d := r.(*report.Disasm)
		var names []string
		for _, f := range d.Functions {
			names = append(names, f.Name)
		}
		if got := costsOf(d.Functions[0].Instructions); !slices.Equal(names, tt.want) || got != tt.code {
			t.Errorf("disasm %s limit=%d: functions %q with %s, want %q with %s", tt.arg, tt.limit, names, got, tt.want, tt.code)
		}
		if inlined := strings.Contains(tt.arg, "c"); inlined != (len(d.Notes) > 0) {
			t.Errorf("disasm %s: notes %q", tt.arg, d.Notes)
		}
		if left := tt.limit == 1; left != (d.LeftOut == 1) {
			t.Errorf("disasm %s limit=%d: %d left out", tt.arg, tt.limit, d.LeftOut)
		}
	}
}

func TestDisasmErrors(t *testing.T) {
	rec := codeRecording(t)
	var none *view.NoMatch
	if _, err := Disasm([]*recording.Recording{rec}, query.Query{Arg: "nothing"}); !errors.As(err, &none) {
		t.Errorf("no match: %v", err)
	}
	if _, err := Disasm([]*recording.Recording{rec}, query.Query{Arg: "unused"}); !errors.As(err, &none) {
		t.Errorf("a function without samples: %v", err)
	}
	missing := errors.New("p is not on this machine")
	rec.Code = &fakeCode{err: missing}
	if _, err := Disasm([]*recording.Recording{rec}, query.Query{Arg: "main"}); err != missing {
		t.Errorf("no program: %v", err)
	}
	rec.Code = &fakeCode{functions: []string{"", "main.b"}, lack: missing}
	if _, err := Disasm([]*recording.Recording{rec}, query.Query{Arg: "main.a"}); err != missing {
		t.Errorf("a function that the recording does not keep: %v", err)
	}
	if _, err := Disasm([]*recording.Recording{rec}, query.Query{Arg: "nothing"}); !errors.As(err, &none) {
		t.Errorf("no match in a recording that keeps some code: %v", err)
	}
	rec.Code = nil
	if _, err := Disasm([]*recording.Recording{rec}, query.Query{Arg: "main"}); err == nil {
		t.Error("no code, and no error")
	}
}

// TestWeblist has an instruction at the line that it was compiled from and at the line of the call that was inlined.
func TestWeblist(t *testing.T) {
	r, err := Weblist([]*recording.Recording{codeRecording(t)}, query.Query{Arg: `main\.[bc]`})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, f := range r.(*report.Weblist).Functions {
		for _, l := range f.Files[0].Lines {
			for _, in := range l.Instructions {
				got = append(got, fmt.Sprintf("%s:%d %s depth %d %d/%d", f.Name, l.Line, in.Text, in.Depth, in.Flat, in.Cum))
			}
		}
	}
	want := []string{
		"main.b:1 OP 110 depth 0 0/0",
		"main.b:2 OP 114 depth 1 11/11",
		"main.b:3 OP 118 depth 0 0/12",
		"main.b:4 OP 11c depth 0 0/0",
		"main.c[...]:40 OP 114 depth 0 11/11",
	}
	if !slices.Equal(got, want) {
		t.Errorf("instructions\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// TestWeblistSaysWhyNoCode holds that each function says why its machine code is missing: what holds of another program
// is not said of it.
func TestWeblistSaysWhyNoCode(t *testing.T) {
	notHere := &recording.NoCodeError{Gap: recording.NotHere, File: "/bin/p"}
	notKept := &recording.NoCodeError{Gap: recording.NotKept, File: "/bin/p", Err: notHere}
	tests := []struct {
		name   string
		change func(*recording.Recording)
		arg    string
		want   string // of main.a
	}{
		{"all is there", func(*recording.Recording) {}, "main.a", ""},
		{"the program is gone", func(r *recording.Recording) { r.Code = &fakeCode{err: notHere} }, "main.a", "not-here /bin/p " + hint.With(notHere).String()},
		{"the recording keeps the code of others", func(r *recording.Recording) {
			r.Code = &fakeCode{functions: []string{"", "main.b"}, inlined: map[uint64]recording.Frame{}, lack: notKept}
		}, "main.a", "not-kept /bin/p " + hint.With(notKept).String()},
		{"the recording keeps it", func(r *recording.Recording) { r.Code.(*fakeCode).lack = notKept }, "main.a", ""},
		{"the program has no such function", func(r *recording.Recording) {
			r.Code = &fakeCode{functions: []string{"x.other"}, inlined: map[uint64]recording.Frame{}}
		},
			"main.b", "no-symbol  no instruction of the program comes from these lines of main.b"},
		{"another program is gone", func(r *recording.Recording) {
			p := r.Profile
			tables := p.Tables
			tables.Mappings = append(slices.Clone(tables.Mappings), profile.Mapping{ID: 2, Start: 0x5000, Limit: 0x6000, File: "/lib/gone.so"})
			r.Profile = p.WithTables(tables)
		}, "main.a", ""},
		{"the profile names no program", func(r *recording.Recording) {
			p := r.Profile
			tables := p.Tables
			tables.Locations = slices.Clone(tables.Locations)
			for i := range tables.Locations {
				tables.Locations[i].Mapping = profile.NoMapping
			}
			tables.Mappings = nil
			r.Profile = p.WithTables(tables)
		}, "main.a", "unnamed  " + hint.With(&recording.NoCodeError{Gap: recording.Unnamed}).String()},
	}
	for _, tt := range tests {
		rec := codeRecording(t)
		tt.change(rec)
		r, err := Weblist([]*recording.Recording{rec}, query.Query{Arg: "^" + regexp.QuoteMeta(tt.arg) + "$"})
		if err != nil {
			t.Errorf("%s: %v", tt.name, err)
			continue
		}
		var got []string
		for _, n := range r.(*report.Weblist).Functions[0].NoCode {
			got = append(got, fmt.Sprintf("%s %s %v", n.Why, n.File, n.Text))
		}
		if got := strings.Join(got, ", "); got != tt.want {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
		}
	}
}
