package profileview

import (
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/hone-perf/hone/internal/profile"
	"github.com/hone-perf/hone/internal/profile/profiletest"
	"github.com/hone-perf/hone/internal/query"
	"github.com/hone-perf/hone/internal/report"
	"github.com/hone-perf/hone/internal/unit"
)

func flame(t testing.TB, p *profile.Profile, q query.Query) *report.Flame {
	t.Helper()
	r, err := Flame(recorded(p), q)
	if err != nil {
		t.Fatalf("%s: %v", q, err)
	}
	return r.(*report.Flame)
}

// sameFlame reports whether two answers are equal but for functions, which are never equal.
func sameFlame(a, b *report.Flame) bool {
	x, y := *a, *b
	x.Where, y.Where = nil, nil
	return reflect.DeepEqual(x, y)
}

// outline returns a tree as text: cum, flat and name of each frame.
func outline(f *report.Flame) string {
	var b strings.Builder
	var add func(n *report.FlameNode, indent string)
	add = func(n *report.FlameNode, indent string) {
		mark := ""
		if n.Inline {
			mark = " (inline)"
		}
		name := n.Frame.String()
		if n == f.Root {
			name = "all"
		}
		fmt.Fprintf(&b, "%s%d %d %s%s\n", indent, n.Cum, n.Flat, name, mark)
		for _, c := range n.Children {
			add(c, indent+" ")
		}
	}
	add(f.Root, "")
	return b.String()
}

func TestFlame(t *testing.T) {
	tests := []struct {
		name, in, q string
		want        string // without the indent of the test
		trimming    report.Trimming
	}{
		{
			"heaviest first", "main;a 1\nmain;b;c 2\nmain;b 3\nmain 4\n", "flame",
			`10 0 all
			 10 4 main
			  5 3 b
			   2 2 c
			  1 1 a`,
			report.Trimming{Shown: 4, Of: 4, Accounted: 10},
		},
		{
			"equal ones by name", "main;b 1\nmain;a 1\n", "flame",
			`2 0 all
			 2 0 main
			  1 1 a
			  1 1 b`,
			report.Trimming{Shown: 3, Of: 3, Accounted: 2},
		},
		{
			"recursion", "main;f;f;g 2\nmain;f;g 1\n", "flame",
			`3 0 all
			 3 0 main
			  3 0 f
			   2 0 f
			    2 2 g
			   1 1 g`,
			report.Trimming{Shown: 5, Of: 5, Accounted: 3},
		},
		{
			"inlined in all places or some", "main;f;g_[i] 1\nmain;f;h_[i] 2\nmain;f;h 4\n", "flame",
			`7 0 all
			 7 0 main
			  7 0 f
			   6 6 h
			   1 1 g (inline)`,
			report.Trimming{Shown: 4, Of: 4, Accounted: 7},
		},
		{
			"noinlines", "main;f;g_[i] 1\nmain;f 2\n", "flame noinlines",
			`3 0 all
			 3 0 main
			  3 3 f`,
			report.Trimming{Shown: 2, Of: 2, Accounted: 3},
		},
		{
			"what is small stays in the callers", "main;a 97\nmain;b;c 2\nmain;b;d 1\n", "flame min=3%",
			`100 0 all
			 100 0 main
			  97 97 a
			  3 0 b`,
			report.Trimming{Shown: 3, Of: 3, Dropped: 2, Below: 3, Accounted: 100},
		},
		{
			"limit takes the heaviest anywhere", "main;a;x 5\nmain;b;y 9\nmain;c 1\n", "flame limit=4",
			`15 0 all
			 15 0 main
			  9 0 b
			   9 9 y
			  5 0 a`,
			report.Trimming{Shown: 4, Of: 6, Accounted: 15},
		},
		{
			"filters", "main;a;x 5\nmain;b;y 9\nz;x 1\n", "flame focus=x show-from=^a$ relative",
			`5 0 all
			 5 0 a
			  5 5 x`,
			report.Trimming{Shown: 2, Of: 2, Accounted: 5},
		},
		{
			"what cancels out is still seen", "main;a 5\nmain;b -5\n", "flame",
			`0 0 all
			 0 0 main
			  5 5 a
			  -5 -5 b`,
			report.Trimming{Shown: 3, Of: 3},
		},
		{
			"inverted, only the functions of the samples cost something by themselves", "main;a 5\nmain;b;a 3\nmain 2\n", "flame invert",
			`10 0 all
			 8 8 a
			  5 0 main
			  3 0 b
			   3 0 main
			 2 2 main`,
			report.Trimming{Shown: 5, Of: 5, Accounted: 10},
		},
		{"empty", "", "flame", `0 0 all`, report.Trimming{}},
		{
			"hidden ends", "a;b 3\nc 2\n", "flame hide=b",
			`5 0 all
			 3 3 a
			 2 2 c`,
			report.Trimming{Shown: 2, Of: 2, Accounted: 5},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			f := flame(t, folded(t, tt.in), parse(t, tt.q))
			want := strings.ReplaceAll(tt.want, "\t", "") + "\n"
			if got := outline(f); got != want {
				t.Errorf("%s of\n%sis\n%swant\n%s", tt.q, tt.in, got, want)
			}
			if f.Trimming != tt.trimming {
				t.Errorf("trimming is %+v, want %+v", f.Trimming, tt.trimming)
			}
		})
	}
}

func TestFlameErrors(t *testing.T) {
	for _, q := range []query.Query{{Mean: true}, {Metric: "none"}, {By: "color"}} {
		if _, err := Flame(recorded(folded(t, "a 1\n")), q); err == nil {
			t.Errorf("%s: no error", q)
		}
	}
	if _, err := Flame(nil, query.Query{}); err == nil {
		t.Error("no error for no profile")
	}
}

// TestFlameDepth checks that deep stacks are cut and that the cut is told.
func TestFlameDepth(t *testing.T) {
	f := flame(t, folded(t, strings.Repeat("f;", 5000)+"g 3\nf 1\n"), query.Query{Min: -1, Limit: -1})
	n := f.Root
	for len(n.Children) > 0 {
		n = n.Children[0]
	}
	if f.Shown != maxFlameDepth || n.Cum != 3 || n.Flat != 0 {
		t.Errorf("shows %d frames, the last with %d and %d, want %d with 3 and 0", f.Shown, n.Cum, n.Flat, maxFlameDepth)
	}
	if len(f.Notes) != 1 || !strings.Contains(f.Notes[0].String(), "cut below 2000 frames") {
		t.Errorf("notes are %q", f.Notes)
	}
}

// agrees checks that f has the same costs for each frame as top.
func agrees(t *testing.T, p *profile.Profile, q query.Query) {
	t.Helper()
	q.Limit, q.Min = -1, -1
	f := flame(t, p, q)
	r, err := Top(recorded(p), q)
	if err != nil {
		t.Fatal(err)
	}
	type cost struct{ flat, cum int64 }
	got := make(map[report.Frame]cost)
	onPath := make(map[report.Frame]int)
	deepest := 0
	var add func(n *report.FlameNode, depth int)
	add = func(n *report.FlameNode, depth int) {
		deepest = max(deepest, depth)
		c := got[n.Frame]
		c.flat += n.Flat
		if onPath[n.Frame] == 0 {
			c.cum += n.Cum
		}
		got[n.Frame] = c
		onPath[n.Frame]++
		left := n.Cum - n.Flat
		for i, child := range n.Children {
			left -= child.Cum
			add(child, depth+1)
			if i > 0 && unit.Abs(child.Cum) > unit.Abs(n.Children[i-1].Cum) {
				t.Errorf("%s: %s is heavier than what stands before it", q, child.Frame.String())
			}
		}
		if left != 0 {
			t.Errorf("%s: %s costs %d more than its parts", q, n.Frame.String(), left)
		}
		onPath[n.Frame]--
	}
	var total int64
	for _, child := range f.Root.Children {
		add(child, 1)
		total += child.Cum
	}
	if total+f.Root.Flat != f.Root.Cum || deepest == maxFlameDepth {
		t.Errorf("%s: root costs %d, its parts %d", q, f.Root.Cum, total+f.Root.Flat)
	}
	for _, row := range r.(*report.Top).Rows {
		if c := got[row.Frame]; c.flat != row.Flat || c.cum != row.Cum {
			t.Errorf("%s: %s costs %+v, in top %d and %d", q, row.Frame.String(), c, row.Flat, row.Cum)
		}
		delete(got, row.Frame)
	}
	for frame, c := range got {
		if c != (cost{}) {
			t.Errorf("%s: %s costs %+v but is not in top", q, frame.String(), c)
		}
	}
}

func TestFlameAgreesWithTop(t *testing.T) {
	queries := []query.Query{
		{}, {By: "line"}, {By: "filefunction", NoInlines: true}, {By: "address"}, {By: "file"},
		{Steps: []query.Step{{Op: query.Hide, Arg: "^runtime|alloc"}, {Op: query.Ignore, Arg: "gc"}}},
	}
	profiles := corpus(t)
	for _, kind := range []profiletest.Kind{profiletest.CPU, profiletest.Heap} {
		p, err := profile.ParseBytes(profiletest.Bytes(profiletest.Config{Kind: kind, Samples: 2000, Functions: 400}))
		if err != nil {
			t.Fatal(err)
		}
		profiles[fmt.Sprint("made ", kind)] = p
	}
	for name, p := range profiles {
		t.Run(name, func(t *testing.T) {
			for _, q := range queries {
				agrees(t, p, q)
			}
		})
	}
}

// TestFlameLimit checks that what a limit leaves is a part of the whole tree, and the heaviest one.
func TestFlameLimit(t *testing.T) {
	p, err := profile.ParseBytes(profiletest.Bytes(profiletest.Config{Samples: 3000, Functions: 300}))
	if err != nil {
		t.Fatal(err)
	}
	whole := flame(t, p, query.Query{Limit: -1, Min: -1})
	part := flame(t, p, query.Query{Limit: 50, Min: -1})
	if again := flame(t, p, query.Query{Limit: 50, Min: -1}); !sameFlame(part, again) {
		t.Error("two flames of one profile differ")
	}
	var least int64 = 1 << 62
	shown := 0
	var compare func(a, b *report.FlameNode)
	compare = func(a, b *report.FlameNode) {
		if a.Cum != b.Cum || a.Flat != b.Flat || a.Frame != b.Frame || len(a.Children) > len(b.Children) {
			t.Fatalf("%+v is shown for %+v", a, b)
		}
		for i := range a.Children {
			shown++
			least = min(least, a.Children[i].Cum)
			compare(a.Children[i], b.Children[i])
		}
	}
	compare(part.Root, whole.Root)
	if shown != 50 || part.Shown != 50 || part.Of <= 50 {
		t.Errorf("%d frames, said to be %d of %d, want 50", shown, part.Shown, part.Of)
	}
	heavier := 0
	var count func(n *report.FlameNode)
	count = func(n *report.FlameNode) {
		for _, c := range n.Children {
			if c.Cum > least {
				heavier++
			}
			count(c)
		}
	}
	count(whole.Root)
	if heavier >= 50 {
		t.Errorf("%d frames are heavier than the lightest of 50 that are shown", heavier)
	}
}

func BenchmarkFlame(b *testing.B) {
	p, err := profile.ParseBytes(profiletest.Bytes(profiletest.Config{Samples: 200_000}))
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		flame(b, p, query.Query{})
	}
}

func BenchmarkFolded(b *testing.B) {
	p, err := profile.ParseBytes(profiletest.Bytes(profiletest.Config{Samples: 50_000}))
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		r, err := Folded(recorded(p), query.Query{})
		if err != nil {
			b.Fatal(err)
		}
		for range r.(*report.Folded).Each {
		}
	}
}

// What is left out of a picture is told by whose code it is, the most first.
func TestFlameLeftOut(t *testing.T) {
	p, err := profile.Parse(strings.NewReader("main.main;main.big 1000\nmain.main;fmt.Sprint 30\nmain.main;runtime.mallocgc 20\nmain.main;strings.Index 25\nmain.main;example.org/dep.F 7\n"))
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct{ min, want string }{
		{"0.001", ""},
		{"0.05", "std 55, runtime 20, own 7"},
	} {
		q, err := query.Parse("flame min=" + test.min)
		if err != nil {
			t.Fatal(err)
		}
		c := flame(t, p, q).Columns()
		var got []string
		for _, r := range c.Rows {
			for _, of := range r.LeftOf {
				for i := 0; i < len(of); i += 2 {
					got = append(got, fmt.Sprint(c.Frames.Origins[of[i]], " ", of[i+1]))
				}
			}
		}
		if got := strings.Join(got, ", "); got != test.want {
			t.Errorf("with min=%s, %q is left out, want %q", test.min, got, test.want)
		}
	}
}
