package render

import (
	"math"
	"slices"
	"strings"

	"github.com/hone-perf/hone/internal/hint"
	"github.com/hone-perf/hone/internal/profile"
	"github.com/hone-perf/hone/internal/report"
)

const ms = 1_000_000

// head is the head of most reports here.
func head() report.Head {
	return report.Head{
		File:     "api",
		BuildID:  "f7d24f8186d1e0dc48cae331336475805981b6fe",
		Metric:   "cpu",
		Unit:     "nanoseconds",
		Time:     1_795_251_600_000_000_000,
		Duration: 30_000 * ms,
		Total:    13_010 * ms,
	}
}

func named(name string) report.Frame { return report.Frame{Name: name} }

func row(name string, flat, cum int64, inline report.Inlining) report.TopRow {
	return report.TopRow{Cost: report.Cost{Frame: named(name), Flat: flat, Cum: cum}, Inline: inline}
}

func topReport() *report.Top {
	h := head()
	h.Filters = []string{"focus=json", "ignore=^runtime"}
	h.Comments = []string{"on a laptop", "#machine readable"}
	h.Notes = hint.Said("the profile was cut short")
	return &report.Top{
		Head:     h,
		Trimming: report.Trimming{Shown: 5, Of: 7, Dropped: 134, Below: 65 * ms, Accounted: 9_400 * ms},
		Rows: []report.TopRow{
			row("encoding/json.(*decodeState).object", 5_200*ms, 9_100*ms, report.Called),
			row("runtime.memmove", 2_600*ms, 2_600*ms, report.Called),
			row("github.com/acme/shop/internal/cart.(*Store[go.shape/x.Item]).Total", 1_300*ms, 4_000*ms, report.Partial),
			row("strconv.ParseFloat", 300*ms, 310*ms, report.Inlined),
			row("main.main", 0, 12_900*ms, report.Called),
		},
	}
}

// graphReport is a graph of three frames and one that is not listed.
func graphReport() *report.Graph {
	edge := func(from, to int, weight int64) report.Edge {
		return report.Edge{From: from, To: to, Weight: weight, Mean: weight}
	}
	g := &report.Graph{
		Head:     head(),
		Trimming: report.Trimming{Shown: 3, Of: 3, DroppedEdges: 1, EdgesBelow: 13 * ms, Accounted: 13_010 * ms},
		Nodes: []report.Node{
			{Cost: report.Cost{Frame: named("main.main"), Flat: 10 * ms, Cum: 13_010 * ms}, Out: []int{0, 1}},
			{Cost: report.Cost{Frame: named("encoding/json.Unmarshal"), Flat: 3_000 * ms, Cum: 12_000 * ms}, In: []int{0}, Out: []int{2}},
			{Cost: report.Cost{Frame: named("strconv.ParseFloat"), Flat: 10_000 * ms, Cum: 10_000 * ms}, In: []int{2, 1}},
		},
		Edges:    []report.Edge{edge(0, 1, 12_000*ms), edge(0, 2, 1_000*ms), edge(1, 2, 9_000*ms)},
		Unlisted: []report.Frame{named("os.Exit")},
	}
	g.Edges[2].Inline = true
	g.Nodes[0].Out = append(g.Nodes[0].Out, 3)
	g.Edges = append(g.Edges, edge(0, 3, 0))
	return g
}

func peekReport() *report.Graph {
	g := graphReport()
	g.Trimming = report.Trimming{Shown: 3, Of: 3, Accounted: 13_010 * ms}
	asked := g.Nodes[1]
	asked.In, asked.Out = []int{0}, []int{1}
	into, out := g.Edges[0], g.Edges[2]
	into.From, into.To, out.From, out.To = 1, 0, 0, 2
	g.Unlisted = []report.Frame{g.Nodes[0].Frame, g.Nodes[2].Frame}
	g.Nodes, g.Edges, g.Others = []report.Node{asked}, []report.Edge{into, out}, 10*ms
	return g
}

func sourceReport() *report.Source {
	return &report.Source{Head: head(), Functions: []report.SourceFunction{
		{Name: "main.sum", Files: []report.SourceFile{{
			File: "/build/src/sum.go", Found: "/home/gopher/sum.go", Notes: []string{"the file is newer than the profile"},
			Flat: 5_000 * ms, Cum: 9_000 * ms,
			Lines: []report.SourceLine{
				{Line: 9, Text: "func sum(in []float64) (s float64) {"},
				{Line: 10, Flat: 1_000 * ms, Cum: 1_000 * ms, Text: "\tfor _, x := range in {"},
				{Line: 11, Flat: 4_000 * ms, Cum: 8_000 * ms, Text: "\t\ts += weigh(x) // 重さ"},
				{Line: 12, Text: "\t}"},
			},
		}}},
		{Name: "main.lost", Files: []report.SourceFile{{File: "lost.go", Flat: 10 * ms, Cum: 10 * ms, Error: "no such file"}}},
		{Name: "main.nowhere"},
	}}
}

// text and size are labels.
func text(key, value string) profile.Label { return profile.Label{Key: key, Str: value} }

func size(key string, n int64, unit string) profile.Label {
	return profile.Label{Key: key, Numeric: true, Num: n, Unit: unit}
}

func tracesReport() *report.Traces {
	leaf, middle, root := named("runtime.memmove"), named("bytes.(*Buffer).Write"), named("main.main")
	traces := []report.Trace{
		{Value: 10 * ms, Labels: profile.LabelSet{text("path", "/a"), text("path", "<b>"), size("bytes", 4096, "bytes")},
			Frames: []report.TraceFrame{{Frame: &leaf}, {Frame: &middle, Inline: true}, {Frame: &root}}},
		{Value: 12_000 * ms, Frames: []report.TraceFrame{{Frame: &root}}},
		{Value: 0},
	}
	return &report.Traces{Head: head(), Each: func(yield func(*report.Trace) bool) {
		var t report.Trace // as views do it: one for all
		for i := range traces {
			t = traces[i]
			if !yield(&t) {
				return
			}
		}
	}}
}

func tagsReport() *report.Tags {
	return &report.Tags{Head: head(), Keys: []report.TagKey{
		{Key: "bytes", Total: 1_000 * ms, Values: []report.Tag{{Name: "4kB", Flat: 1_000 * ms}}},
		{Key: "path", Total: 12_000 * ms, Values: []report.Tag{{Name: "/a|b", Flat: 11_000 * ms}, {Name: "/日本", Flat: 1_000 * ms}}},
	}}
}

func flameReport() *report.Flame {
	numbers := map[string]int32{"": 0}
	node := func(name string, flat, cum int64, children ...*report.FlameNode) *report.FlameNode {
		if _, known := numbers[name]; !known {
			numbers[name] = int32(len(numbers))
		}
		return &report.FlameNode{Frame: named(name), Number: numbers[name], Flat: flat, Cum: cum, Children: children}
	}
	inlined := node("strconv.readFloat", 4_000*ms, 4_000*ms)
	inlined.Inline = true
	return &report.Flame{
		Head:     head(),
		Trimming: report.Trimming{Shown: 9, Of: 9, Below: 65 * ms, Accounted: 13_010 * ms},
		FlameTree: report.FlameTree{Root: node("", 0, 13_010*ms,
			node("runtime.main", 0, 12_000*ms,
				node("main.main", 0, 12_000*ms,
					node("encoding/json.Unmarshal", 3_000*ms, 9_000*ms,
						node("strconv.ParseFloat", 2_000*ms, 6_000*ms, inlined)),
					node("fmt.Println", 10*ms, 3_000*ms,
						node("os.(*File).Write", 2_980*ms, 2_980*ms),
						node("fmt.tiny", 0, 10*ms, node("fmt.tinier", 10*ms, 10*ms))))),
			node("runtime.gcBgMarkWorker", 1_010*ms, 1_010*ms),
		), Where: func(function string) report.FlamePlace {
			if strings.HasPrefix(function, "fmt.") {
				return report.FlamePlace{Package: "fmt", File: "/usr/local/go/src/fmt/print.go", Line: int64(len(function))}
			}
			return report.FlamePlace{}
		}},
	}
}

func flameDiffReport() *report.Flame {
	f := flameReport()
	f.Root.Before = &report.Cost2{Cum: 15_000 * ms}
	f.Root.Children[0].Before = &report.Cost2{Cum: 14_500 * ms}
	f.Root.Children[1].Before = &report.Cost2{Flat: 500 * ms, Cum: 500 * ms}
	return f
}

func diffReport() *report.Diff {
	before := head()
	before.Total = 15_000 * ms
	diff := func(name string, flatBefore, flat, cumBefore, cum int64) report.DiffRow {
		return report.DiffRow{Frame: named(name), FlatBefore: flatBefore, Flat: flat, CumBefore: cumBefore, Cum: cum}
	}
	return &report.Diff{
		Head: head(), Before: before, Normalized: true,
		Trimming: report.Trimming{Shown: 4, Of: 4},
		Rows: []report.DiffRow{
			diff("strconv.ParseFloat", 100*ms, 600*ms, 100*ms, 600*ms),
			diff("reflect.Value.Set", 0, 200*ms, 0, 200*ms),
			diff("encoding/json.Unmarshal", 4_000*ms, 1_500*ms, 9_000*ms, 6_500*ms),
			diff("fmt.Sprintf", 690*ms, 0, 700*ms, 0),
			diff("main.main", 0, 0, 15_000*ms, 13_010*ms),
		},
	}
}

func infoReport() *report.Info {
	h := head()
	h.Comments = []string{"on a laptop"}
	h.Doc = "https://example.com/doc"
	h.Notes = hint.Said("several programs")
	return &report.Info{
		Head:    h,
		Types:   []report.TypeTotal{{Type: "samples", Unit: "count", Total: 1301}, {Type: "cpu", Unit: "nanoseconds", Total: h.Total, Default: true}},
		Samples: 1000, Contexts: 800, Locations: 500, Functions: 300,
		Labels: []string{"path", "bytes"},
		Mappings: []report.MappingInfo{
			{File: "/usr/local/bin/api", BuildID: h.BuildID, Start: 0x400000, Limit: 0x900000, Named: true, Locations: 498},
			{File: "[vdso]", Start: 0x7fff0000, Limit: 0x7fff2000, Locations: 2},
		},
		Period: 10 * ms, PeriodType: "cpu", PeriodUnit: "nanoseconds",
		DropFrames: "malloc", KeepFrames: "tc_malloc",
	}
}

func foldedReport() *report.Folded {
	return &report.Folded{FoldedHead: report.FoldedHead{Head: head()}, Each: func(yield func(*report.FoldedStack) bool) {
		_ = yield(&report.FoldedStack{Frames: []string{"main.main", "a;b <c>"}, Value: 12_000 * ms}) &&
			yield(&report.FoldedStack{Frames: []string{"main.main"}, Value: 1_010 * ms})
	}}
}

// oddReport is what no profile should hold.
func oddReport() *report.Top {
	return &report.Top{
		Head: report.Head{Metric: "weird\x1b[2J", Unit: "count", Total: 0},
		Rows: []report.TopRow{
			row("line\nbreak \x1b[31mred|pipe `tick` *star*", math.MaxInt64, math.MinInt64, report.Called),
			row("全角の名前/パッケージ.関数", -5, -7, report.Called),
			row("", 0, 0, report.Called),
		},
	}
}

// negativeReport is what a difference made by subtraction looks like.
func negativeReport() *report.Top {
	h := head()
	h.Total = 100 * ms
	return &report.Top{
		Head:     h,
		Trimming: report.Trimming{Shown: 2, Of: 2, Accounted: -150 * ms},
		Rows: []report.TopRow{
			row("main.better", -200*ms, -300*ms, report.Called),
			row("main.worse", 50*ms, 50*ms, report.Called),
		},
	}
}

// filesReport has files in place of functions, and a unit and a factor that were asked for.
func filesReport() *report.Top {
	h := head()
	h.Show = report.Show{Unit: "ms", Factor: 0.5}
	return &report.Top{
		Head:     h,
		Trimming: report.Trimming{Shown: 2, Of: 2, Accounted: h.Total},
		Rows: []report.TopRow{
			{Cost: report.Cost{Frame: report.Frame{File: "/usr/local/go/src/runtime/proc.go"}, Flat: 13_000 * ms, Cum: 13_010 * ms}},
			{Cost: report.Cost{Frame: report.Frame{File: "main.go"}, Flat: 10 * ms, Cum: 10 * ms}},
		},
	}
}

// handmade returns a small profile that has some of everything.
func handmade() *profile.Profile {
	b := profile.NewBuilder(profile.Header{
		SampleTypes:   []profile.ValueType{{Type: "alloc", Unit: "bytes"}, {Type: "cpu", Unit: "nanoseconds"}},
		DefaultType:   "cpu",
		TimeNanos:     1_795_251_600_123_456_789,
		DurationNanos: 1_234_567_890,
		PeriodType:    profile.ValueType{Type: "cpu", Unit: "nanoseconds"},
		Period:        10 * ms,
		Comments:      []string{"one", "two"},
		DocURL:        "https://example.com",
	})
	b.Mappings = []profile.Mapping{
		{Start: 0x400000, Limit: 0x500000, Offset: 0x1000, File: "/bin/app", BuildID: "abc", HasFunctions: true, HasFilenames: true,
			HasLineNumbers: true, HasInlineFrames: true},
		{Start: 0x7f0000000000, Limit: 0x7f0000001000},
	}
	b.Functions = []profile.Function{
		{Name: "main.main", SystemName: "main.main", File: "/src/main.go", StartLine: 3},
		{Name: "github.com/acme/shop/v2/cart.(*Store[...]).Total", SystemName: "total", File: "/src/cart/store.go", StartLine: 10},
		{Name: `ns::Class::method("\x")`, SystemName: "_ZN2ns", File: "/src/class.cc"},
		{Name: "runtime.memmove", SystemName: "runtime.memmove", File: "/go/src/runtime/memmove.s", StartLine: 30},
	}
	b.Locations = []profile.Location{
		{Mapping: 0, Address: 0x401000, Lines: []profile.Line{{Function: 0, Line: 5}}},
		{Mapping: 0, Address: 0x401010, Lines: []profile.Line{{Function: 3, Line: 31, Column: 2}, {Function: 1, Line: 12}}},
		{Mapping: 0, Address: 0x402000, Folded: true, Lines: []profile.Line{{Function: 2, Line: 7}}},
		{Mapping: 1, Address: 0x7f0000000123},
		{Mapping: profile.NoMapping, Address: 0},
	}
	add := func(bytes, ns int64, labels []profile.Label, stack ...uint32) {
		b.Add(stack, b.Labels(labels), []int64{bytes, ns})
	}
	bytes := func(n int64) profile.Label {
		return profile.Label{Key: "bytes", Numeric: true, Num: n, Unit: "bytes", HasUnit: true}
	}
	add(4096, 500*ms, []profile.Label{text("path", "/a"), text("path", "/b"), text("a:", "1"), text("a", "2")}, 1, 0)
	add(-3, 300*ms, []profile.Label{text("path", "/c"), bytes(1024)}, 2, 0)
	add(12_345_678_901, 120*ms, nil, 3, 2, 0)
	add(0, 20*ms, []profile.Label{size("count", 5, ""), size("count", 6, "")}, 0)
	for i := range int64(7) {
		add(1, (10+i)*ms, []profile.Label{bytes(1 << (2 * i))}, 1, 0)
	}
	add(1, 1*ms, nil, 4)
	b.Renumber()
	p, err := b.Profile()
	if err != nil {
		panic(err)
	}
	return p
}

func everyReport() map[string]report.Report {
	return map[string]report.Report{
		"top":       topReport(),
		"tree":      graphReport(),
		"peek":      peekReport(),
		"list":      sourceReport(),
		"traces":    tracesReport(),
		"tags":      tagsReport(),
		"flame":     flameReport(),
		"flamediff": flameDiffReport(),
		"diff":      diffReport(),
		"info":      infoReport(),
		"folded":    foldedReport(),
		"odd":       oddReport(),
		"negative":  negativeReport(),
		"files":     filesReport(),
		"raw":       &report.Raw{Head: head(), Profile: handmade()},
		"comments":  &report.Comments{Head: report.Head{Metric: "cpu", Unit: "nanoseconds", Comments: []string{"one", "two"}}},
		"empty":     &report.Top{Head: report.Head{Metric: "cpu", Unit: "nanoseconds"}, Rows: []report.TopRow{}},
	}
}

func everyName() []string {
	var names []string
	for name := range everyReport() {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}
