package render

import (
	"strings"
	"testing"

	"github.com/hone-perf/hone/internal/report"
)

// Tables that have more columns than a terminal are legible there.
func TestNarrowTables(t *testing.T) {
	prose := report.Table{
		Columns: []report.Column{{Name: "#"}, {Name: "saves at most"}, {Name: "where", Path: true}, {Name: "what"}},
		Rows: [][]any{
			{1, "48.21% of cpu", "stage0/handler.go:17", "the regular expression is compiled for every call"},
			{2, "3.10% of cpu", "internal/store/store.go:204", "short"},
		},
	}
	advice := report.Advice{Findings: []report.Finding{
		{
			Number: 1, Title: "sorted through reflection or an interface", Where: report.Spot{File: "internal/toml/encode.go", Line: 420},
			Savings: []report.Saving{{Short: "CPU", Share: 0.0727}, {Short: "bytes", Share: 0.0669}, {Short: "objects", Share: 0.0831}},
		},
		{Number: 2, Title: "short", Where: report.Spot{File: "internal/toml/encode.go", Line: 616}, Savings: []report.Saving{{Short: "CPU", Share: 0.0999}}},
	}}
	var savings report.Table
	for b := range advice.Blocks() {
		if t, ok := b.(report.Table); ok && savings.Rows == nil {
			savings = t
		}
	}
	numbers := report.Table{Columns: []report.Column{{Name: "cycle"}, {Name: "heap before"}, {Name: "heap after"}, {Name: "goal"}, {Name: "stopped"}, {Name: "assist"}}}
	for i := range 2 {
		numbers.Rows = append(numbers.Rows, []any{i + 1, 4_000_000, 2_000_000, 4_100_000, 31 + i, 7})
	}
	holders := report.Table{
		Columns: []report.Column{{Name: "held"}, {Name: "holder", Wraps: true}, {Name: "most is in", Wraps: true}},
		Rows: [][]any{
			{7, report.Qualified("example.com/shop/v2.Open.gowrap1, net/http.(*connReader).startBackgroundRead.gowrap2 together"), report.Phrase{report.Qualified("map[string]*example.com/shop/internal/cart.Item"), " → ", report.Qualified(".body []uint8")}},
			{5, report.Qualified("main.sessions"), report.Phrase{report.Qualified("main.Session")}},
		},
	}
	tests := []struct {
		name  string
		table report.Table
		width int
		want  string
	}{
		{"prose", prose, 60, `
#  saves at most  where             what
1  48.21% of cpu  …/handler.go:17   the regular expression
                                    is compiled for every
                                    call
2  3.10% of cpu   …/store.go:204    short
`},
		{"savings", savings, 60, `
#  saves at most        where             what
1  7.27% CPU, 6.69%     …/encode.go:420   sorted through
   bytes, 8.31%                           reflection or an
   objects                                interface
2  9.99% CPU            …/encode.go:616   short
`},
		{"prose with room", prose, 100, `
#  saves at most  where                        what
1  48.21% of cpu  stage0/handler.go:17         the regular expression is compiled for every call
2  3.10% of cpu   internal/store/store.go:204  short
`},
		{"two texts", holders, 70, `
held  holder                           most is in
   7  shop.Open.gowrap1,               map[string]*cart.Item → .body
      http.(*connReader).              []uint8
      startBackgroundRead.gowrap2
      together
   5  main.sessions                    main.Session
`},
		{"numbers", numbers, 36, `
cycle  heap before  heap after
    1      4000000     2000000
    2      4000000     2000000

cycle     goal  stopped  assist
    1  4100000       31       7
    2  4100000       32       7
`},
		{"numbers with room", numbers, 0, `
cycle  heap before  heap after     goal  stopped  assist
    1      4000000     2000000  4100000       31       7
    2      4000000     2000000  4100000       32       7
`},
	}
	for _, tt := range tests {
		var b strings.Builder
		if err := Terminal(&b, chartReport{tt.table}, Options{Width: tt.width}); err != nil {
			t.Fatal(err)
		}
		if got := "\n" + b.String(); got != tt.want {
			t.Errorf("%s in %d columns:%s\nwant%s", tt.name, tt.width, got, tt.want)
		}
	}
}

// TestStrips holds that strips are as wide as the terminal has room for, that all tables have the same, and that blanks in them stay.
func TestStrips(t *testing.T) {
	strips := report.Strips{Draw: func(places int) []report.Block {
		strip := "|" + strings.Repeat("z", places/2) + strings.Repeat(" ", places-places/2) + "|"
		over := report.Column{Name: "over time", Whole: true}
		return []report.Block{
			report.Table{Title: "Ps", Columns: []report.Column{{Name: "number"}, over}, Rows: [][]any{{0, strip}}},
			report.Table{
				Title: "goroutines", Columns: []report.Column{{Name: "number"}, over, {Name: "started as", Path: true}},
				Rows: [][]any{{17, strip, report.Name{Text: "example.com/service/internal/store.(*shard).compact"}}, {8, strip, report.Name{Text: "main.main"}}},
			},
		}
	}}
	for _, test := range []struct{ width, places int }{{0, 72}, {140, 72}, {100, 72}, {80, 52}, {60, 32}, {30, 16}} {
		var b strings.Builder
		if err := Terminal(&b, chartReport{strips}, Options{Width: test.width}); err != nil {
			t.Fatal(err)
		}
		if n := strings.Count(b.String(), "|"+strings.Repeat("z", test.places/2)+strings.Repeat(" ", test.places/2)+"|"); n != 3 {
			t.Errorf("in %d columns, %d strips have %d places, want 3:\n%s", test.width, n, test.places, b.String())
		}
		for line := range strings.Lines(b.String()) {
			if w := width(strings.TrimSuffix(line, "\n")); test.width >= 60 && w > test.width {
				t.Errorf("in %d columns, a line has %d:\n%s", test.width, w, line)
			}
		}
	}
}

// TestSigns holds that the ways of holders and strips are ASCII where a terminal has no more, and that places of strips stay one wide.
func TestSigns(t *testing.T) {
	way := []report.HolderStep{{Name: "main.cache"}, {Name: "a"}, {Name: "b"}, {Name: "c"}, {Name: "d"}, {Name: "e", Objects: 7}}
	r := &report.Holders{Head: report.Head{Unit: "bytes", Total: 10}, Rows: []report.Holder{{Names: []string{"main.cache"}, Value: 10, Way: way}}}
	strip := chartReport{report.Strips{Draw: func(int) []report.Block {
		return []report.Block{report.Table{Columns: []report.Column{{Name: "over time", Whole: true}}, Rows: [][]any{{report.Signs("|█▒s·|")}}}}
	}}}
	for _, tt := range []struct {
		r           report.Report
		ascii, full string
	}{
		{r, "main.cache -> ... -> c -> d -> e x7", "main.cache → … → c → d → e ×7"},
		{strip, "|#:s.|", "|█▒s·|"},
	} {
		for want, ascii := range map[string]bool{tt.ascii: true, tt.full: false} {
			var b strings.Builder
			if err := Terminal(&b, tt.r, Options{Width: 120, ASCII: ascii}); err != nil {
				t.Fatal(err)
			}
			if got := b.String(); !strings.Contains(got, want) || ascii && strings.ContainsFunc(got, func(c rune) bool { return c > 126 }) {
				t.Errorf("ASCII %v: want %s in\n%s", ascii, want, got)
			}
		}
	}
}
