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
	numbers := report.Table{Columns: []report.Column{{Name: "cycle"}, {Name: "heap before"}, {Name: "heap after"}, {Name: "goal"}, {Name: "stopped"}, {Name: "assist"}}}
	for i := range 2 {
		numbers.Rows = append(numbers.Rows, []any{i + 1, 4_000_000, 2_000_000, 4_100_000, 31 + i, 7})
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
		{"prose with room", prose, 100, `
#  saves at most  where                        what
1  48.21% of cpu  stage0/handler.go:17         the regular expression is compiled for every call
2  3.10% of cpu   internal/store/store.go:204  short
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
