package report

import (
	"encoding/json"
	"math"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/hone-perf/hone/internal/hint"
	"github.com/hone-perf/hone/internal/profile"
)

func cost(name string, flat, cum int64) Cost {
	return Cost{Frame: Frame{Name: name}, Flat: flat, Cum: cum}
}

// find returns the first block of a kind.
func find[B Block](t *testing.T, r Report) B {
	t.Helper()
	for b := range r.Blocks() {
		if b, ok := b.(B); ok {
			return b
		}
	}
	var none B
	t.Fatalf("%T has no block of type %T", r, none)
	return none
}

// notes returns the texts of all notes.
func notes(r Report) []Phrase {
	var list []Phrase
	for b := range r.Blocks() {
		if n, ok := b.(Note); ok {
			list = append(list, n.Text)
		}
	}
	return list
}

func TestTopBlocks(t *testing.T) {
	top := &Top{
		Head: Head{Unit: "bytes", Total: 100, Notes: hint.Said("a caveat")},
		Trimming: Trimming{
			Shown: 2, Of: 3, Dropped: 1, Below: 7, DroppedEdges: 2, EdgesBelow: 3, Accounted: 70,
		},
		Rows: []TopRow{{Cost: cost("a", 60, 90)}, {Cost: cost("b", -10, 10), Inline: Inlined}, {Cost: cost("c", 0, 5)}},
	}
	table := find[Table](t, top)
	m := table.Rows[0][0].(Value).Measure
	if want := (Measure{Unit: "bytes", Total: 100, Least: 5}); *m != want {
		t.Errorf("measure is %+v, want %+v", *m, want)
	}
	want := []any{Value{-10, m}, Share{-10, 100}, Value{10, m}, Share{10, 100}, Name{"b", Inlined}}
	if got := table.Rows[1]; !reflect.DeepEqual(got, want) {
		t.Errorf("row is %v, want %v", got, want)
	}
	if !table.Columns[1].Bar || table.Columns[3].Bar {
		t.Error("rows are sorted by flat, but bars are not beside it")
	}
	wantNotes := []Phrase{
		{"the first ", 2, " of ", 3, " rows are shown; raise ", hint.Option{Name: "limit"}, " to see more"},
		{1, " row", " below ", Value{7, m}, " left out; ", hint.Option{Name: "min", Value: "0"}, " shows them"},
		{2, " calls", " below ", Value{3, m}, " left out"},
		{hint.Text{"a caveat"}},
	}
	if got := notes(top); !reflect.DeepEqual(got, wantNotes) {
		t.Errorf("notes are %v, want %v", got, wantNotes)
	}

	slices.Reverse(top.Rows)
	if table := find[Table](t, top); table.Columns[1].Bar || !table.Columns[3].Bar {
		t.Error("rows are not sorted by flat, but bars are beside it")
	}
}

func TestFrameColumn(t *testing.T) {
	function, file, object := &Frame{Name: "f", File: "f.go"}, &Frame{File: "f.go"}, &Frame{Object: "libc.so"}
	tests := []struct {
		by     string
		frames []*Frame
		want   string
	}{
		{"", nil, "function"},
		{"", []*Frame{object}, "function"},
		{"", []*Frame{object, file}, "file"},
		{"", []*Frame{file, function}, "function"},
		{"line", []*Frame{file, function}, "function"},
		{"package", []*Frame{function}, "package"},
		{"label:endpoint", []*Frame{function}, "endpoint"},
	}
	for _, tt := range tests {
		if got := frameColumn(tt.by, tt.frames); got != tt.want {
			t.Errorf("column of %s %v is %q, want %q", tt.by, tt.frames, got, tt.want)
		}
	}
}

func TestHeading(t *testing.T) {
	tests := []struct {
		name string
		head Head
		trim *Trimming
		want []Phrase // with values of measure nil
	}{
		{
			name: "little is known",
			head: Head{Metric: "space", Unit: "bytes", Total: 5},
			want: []Phrase{{"space", " ", Value{V: 5}}},
		},
		{
			name: "all is shown",
			head: Head{Metric: "space", Unit: "bytes", Total: 5},
			trim: &Trimming{Accounted: 5},
			want: []Phrase{{"space", " ", Value{V: 5}}},
		},
		{
			name: "everything",
			head: Head{
				Metric: "cpu", Unit: "seconds", Total: 5, File: "app", BuildID: "id", Time: 3, Duration: 10e9,
				Comments: []string{"#hidden", "shown"}, Filters: []string{"focus=a", "hide=b"},
			},
			trim: &Trimming{Accounted: 4},
			want: []Phrase{
				{"cpu", " ", Value{V: 4}, " of ", Value{V: 5}, " shown", Sep{}, "app", " (build id ", ID("id"), ")",
					Sep{}, time.Unix(0, 3), Sep{}, 10 * time.Second, " at ", Share{5e9, 10e9}, " of one core"},
				{"comment: ", "shown"},
				{"filters: focus=a, hide=b"},
			},
		},
		{
			name: "waiting is no use of a core",
			head: Head{Metric: "delay", Unit: "nanoseconds", Total: 5, BuildID: "id", Duration: 10},
			want: []Phrase{{"delay", " ", Value{V: 5}, Sep{}, "build id ", ID("id"), Sep{}, time.Duration(10)}},
		},
	}
	for _, tt := range tests {
		if got := tt.head.heading(nil, tt.trim).Lines; !reflect.DeepEqual(got, tt.want) {
			t.Errorf("%s: heading is %v, want %v", tt.name, got, tt.want)
		}
	}
}

func TestGraphBlocks(t *testing.T) {
	g := &Graph{
		Head:  Head{Unit: "bytes", Total: 10},
		Nodes: []Node{{Cost: cost("callee", 3, 6), In: []int{0}, Out: []int{1}}},
		Edges: []Edge{{From: 1, To: 0, Weight: 12, Mean: 6, Inline: true}, {From: 0, To: 2, Weight: 3, Mean: 3}},
		// What is dropped can still be called.
		Unlisted: []Frame{{Name: "caller"}, {Name: "dropped"}},
		Others:   2,
	}
	calls := find[Calls](t, g)
	want := []CallNode{{
		Name: Name{Text: "callee"}, Flat: 3, Cum: 6,
		Callers: []Call{{Name{"caller", Inlined}, 6}},
		Callees: []Call{{Name{"dropped", Called}, 3}},
	}}
	if !reflect.DeepEqual(calls.Nodes, want) {
		t.Errorf("calls are %+v, want %+v", calls.Nodes, want)
	}
	if calls.Measure.Least != 2 {
		t.Errorf("least value is %d, want 2", calls.Measure.Least)
	}
}

func TestTracesBlocks(t *testing.T) {
	leaf, root := Frame{Name: "leaf"}, Frame{Name: "root"}
	traces := &Traces{Each: func(yield func(*Trace) bool) {
		tr := &Trace{
			Value:  3,
			Labels: profile.LabelSet{{Key: "k", Str: "v"}, {Key: "n", Numeric: true, Num: 5, Unit: "bytes"}},
			Frames: []TraceFrame{{&leaf, true}, {&root, false}},
		}
		_ = yield(tr) && yield(&Trace{Value: 4})
	}}
	s := find[Stacks](t, traces)
	if s.Measure.Show.Unit != "auto" {
		t.Errorf("unit is %q, want auto", s.Measure.Show.Unit)
	}
	var got []Stack
	for s := range s.Each {
		got = append(got, Stack{s.V, slices.Clone(s.Labels), slices.Clone(s.Frames)})
	}
	want := []Stack{
		{3, []Fact{{"k", "v"}, {"n", Value{5, alone("bytes")}}}, []Name{{"leaf", Inlined}, {"root", Called}}},
		{4, []Fact{}, []Name{}},
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("stacks are %+v, want %+v", got, want)
	}
}

func TestTraceJSON(t *testing.T) {
	leaf := Frame{Name: "leaf"}
	tr := &Trace{
		Value:  3,
		Labels: profile.LabelSet{{Key: "k", Str: "v"}, {Key: "n", Numeric: true}},
		Frames: []TraceFrame{{&leaf, true}},
	}
	got, err := json.Marshal(tr)
	if err != nil {
		t.Fatal(err)
	}
	want := `{"value":3,"labels":[{"key":"k","text":"v"},{"key":"n","number":0}],"frames":[{"name":"leaf","inline":true}]}`
	if string(got) != want {
		t.Errorf("json is %s, want %s", got, want)
	}
}

func TestDiffBlocks(t *testing.T) {
	row := func(name string, flatBefore, flat, cumBefore, cum int64) DiffRow {
		return DiffRow{Frame: Frame{Name: name}, FlatBefore: flatBefore, Flat: flat, CumBefore: cumBefore, Cum: cum}
	}
	d := &Diff{
		Head:   Head{Unit: "count", Total: 100},
		Before: Head{Unit: "count", Total: 300},
		Rows: []DiffRow{
			row("same", 50, 50, 50, 50), row("d", 0, 0, 10, 5), row("b", 10, 0, 10, 0), row("a", 0, 10, 0, 10),
			row("most", math.MinInt64, math.MaxInt64, 0, 0), row("c", 10, 0, 12, 1),
		},
	}
	table := find[Table](t, d)
	var names []string
	for _, r := range table.Rows {
		names = append(names, r[len(r)-1].(Name).Text)
	}
	if want := []string{"same", "d", "b", "a", "most", "c"}; !slices.Equal(names, want) {
		t.Errorf("rows are %q, want %q", names, want)
	}
	if m := table.Rows[0][0].(Value).Measure; m.Total != 300 || m.Least != 1 {
		t.Errorf("measure is %+v, want total 300 and least 1", *m)
	}
}

// Readers may stop at any block.
func TestBlocksStop(t *testing.T) {
	for _, r := range []Report{
		&Top{}, &Graph{}, &Source{Functions: []SourceFunction{{Name: "f"}}}, &Traces{}, &Tags{}, &Raw{}, &Comments{}, &Flame{},
		&Diff{}, &Info{},
	} {
		n := 0
		for range r.Blocks() {
			n++
			break
		}
		if n != 1 {
			t.Errorf("%T has no blocks", r)
		}
	}
}

func TestAbs(t *testing.T) {
	tests := []struct{ in, want int64 }{
		{0, 0}, {5, 5}, {-5, 5}, {math.MinInt64, math.MaxInt64}, {math.MaxInt64, math.MaxInt64},
	}
	for _, tt := range tests {
		if got := abs(tt.in); got != tt.want {
			t.Errorf("abs(%d) = %d, want %d", tt.in, got, tt.want)
		}
	}
}
