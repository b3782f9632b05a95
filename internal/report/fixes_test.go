package report

import (
	"slices"
	"testing"

	"github.com/hone-perf/hone/internal/hint"
)

// A patch that was cut short was tried, so the heading of its table does not deny that.
func TestFixesLeft(t *testing.T) {
	for _, tt := range []struct {
		left       []Fixed
		want, head string
	}{
		{[]Fixed{{Reason: "there was no time"}}, "not tried", "no fix is proven; no patch was tried"},
		{
			[]Fixed{{Reason: "time ran out while it was tried", Unfinished: true}, {Reason: "there was no time"}}, "not finished or not tried",
			"no fix is proven; 1 tried but not finished",
		},
	} {
		if got := (&Fixes{Left: tt.left}).headline(); got != tt.head {
			t.Errorf("%v: it begins with %q; want %q", tt.left, got, tt.head)
		}
		if got := find[Table](t, &Fixes{Left: tt.left}).Title; got != tt.want {
			t.Errorf("%v: the table is %q; want %q", tt.left, got, tt.want)
		}
	}
}

// Without anything written, lines are those of the user's file; what is only in a fix says so, and the end says why nothing is written.
func TestFixesDry(t *testing.T) {
	f := &Fixes{
		Dry:     true,
		Kept:    []Fixed{{Title: "first", Where: Spot{File: "a.go", Line: 3, Function: "m.F"}}, {Title: "second", Where: Spot{File: "a.go", Line: 4, Function: "m.F"}, InFix: 1}},
		Refused: []Fixed{{Title: "third", Fix: "less", Where: Spot{File: "a.go", Line: 4}, InFix: 1}},
		Left:    []Fixed{{Number: 4, Title: "fourth", Where: Spot{File: "a.go", Line: 4}, InFix: 2}, {Number: 5, Title: "fifth", Where: Spot{File: "a.go", Line: 9}}},
	}
	var wheres, whats []string
	var last Block
	for b := range f.Blocks() {
		switch last = b; b := b.(type) {
		case Heading:
			if text, ok := b.Lines[0][0].(string); ok {
				wheres = append(wheres, text)
			}
		case Table:
			for _, row := range b.Rows {
				whats = append(whats, row[len(row)-2].(string))
			}
		}
	}
	if want := []string{"where: a.go:3 in m.F", "where: a.go:4 in m.F, in the code of fix 1"}; !slices.Equal(wheres[1:], want) {
		t.Errorf("kept: %q; want %q", wheres[1:], want)
	}
	if want := []string{"third, in the code of fix 1: less", "fourth, in the code of fix 2", "fifth"}; !slices.Equal(whats, want) {
		t.Errorf("others: %q; want %q", whats, want)
	}
	if n, ok := last.(Note); !ok || !slices.Contains(n.Text, any(hint.Option{Name: "dry-run"})) {
		t.Errorf("it ends with %#v", last)
	}
}

// TestSpeedTable holds that benchmarks in which nothing changed do not hide the others.
func TestSpeedTable(t *testing.T) {
	row := func(name string, what Dimension, verdict string) CompareRow {
		return CompareRow{Name: name, What: what, Old: 1, New: 1, Ratio: 1, Verdict: verdict}
	}
	rows := []CompareRow{row("a", CPUTime, Same), row("b", CPUTime, Better), row("c", CPUTime, Undecided), row("d", CPUTime, Same), row("e", CPUTime, Same), row("a", Memory, Better)}
	shown := func(rows []CompareRow) (names []string) {
		for _, r := range speedTable("", rows).Rows {
			names = append(names, r[0].(string))
		}
		return names
	}
	if got := shown(rows); len(got) != len(rows) {
		t.Errorf("three without a change: %q are shown, want all", got)
	}
	rows = append(rows, row("f", CPUTime, Undecided), row("f", Memory, Same))
	if got, want := shown(rows), []string{"a", "b", "a"}; !slices.Equal(got, want) {
		t.Errorf("four without a change: %q are shown, want %q", got, want)
	}
	if got := speedTable("", rows).Summary; got == nil {
		t.Error("nothing says that some are left out")
	}
	for i := range rows {
		rows[i].Verdict = Undecided
	}
	if got := shown(rows); len(got) != len(rows) {
		t.Errorf("nothing changed: %q are shown, want all", got)
	}
}

// TestOnlyFix holds that what was measured of the only fix is shown once.
func TestOnlyFix(t *testing.T) {
	speed := []CompareRow{{Name: "a", What: CPUTime, Old: 2, New: 1, Ratio: 0.5, Verdict: Better}}
	for _, tt := range []struct{ kept, want int }{{1, 1}, {2, 3}} {
		f := &Fixes{Whole: speed}
		for range tt.kept {
			f.Kept = append(f.Kept, Fixed{Speed: speed})
		}
		tables := 0
		for b := range f.Blocks() {
			if table, ok := b.(Table); ok && len(table.Rows) > 0 {
				tables++
			}
		}
		if tables != tt.want {
			t.Errorf("%d fixes: %d tables, want %d", tt.kept, tables, tt.want)
		}
	}
}

// What was not proven is said to be so, whether it was written or not.
func TestFixesNotProven(t *testing.T) {
	few := Fixed{Title: "slow", Doubts: []Doubt{{Fact: DoubtFewCalls, Text: "called too few times"}}}
	for _, tt := range []struct {
		fixes Fixes
		want  string
	}{
		{Fixes{Kept: []Fixed{{}}}, "1 fix proven and written"},
		{Fixes{Kept: []Fixed{{}}, Doubtful: []Fixed{few}}, "1 fix proven and written; 1 not proven and not written"},
		{Fixes{Doubtful: []Fixed{few}}, "no fix is proven; 1 not proven and not written"},
		{Fixes{Kept: []Fixed{{}, few}}, "2 fixes written, 1 of them not proven"},
	} {
		if got := tt.fixes.headline(); got != tt.want {
			t.Errorf("headline is %q; want %q", got, tt.want)
		}
	}
}
