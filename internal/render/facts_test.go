package render

import (
	"strings"
	"testing"

	"github.com/hone-perf/hone/internal/report"
)

// A value is an answer: where there is no room for it in one line it takes several, rather than lose its end.
func TestFactsKeepTheirEnds(t *testing.T) {
	facts := blockReport{report.Facts{Items: []report.Fact{
		{Name: "cycles", Value: 85},
		{Name: "pauses", Value: report.Phrase{"85ms in 170 stops: p50 230us, ", "p99 8.10ms, max 14ms"}},
		{Name: "path", Value: strings.Repeat("x", 60)},
	}}}
	tests := []struct {
		width int
		want  string
	}{
		{0, "cycles  85\npauses  85ms in 170 stops: p50 230us, p99 8.10ms, max 14ms\npath    " + strings.Repeat("x", 60) + "\n"},
		{80, "cycles  85\npauses  85ms in 170 stops: p50 230us, p99 8.10ms, max 14ms\npath    " + strings.Repeat("x", 60) + "\n"},
		{40, "cycles  85\npauses  85ms in 170 stops: p50 230us,\n        p99 8.10ms, max 14ms\npath    " + strings.Repeat("x", 31) + "…\n"},
	}
	for _, test := range tests {
		var out strings.Builder
		if err := Terminal(&out, facts, Options{Width: test.width}); err != nil {
			t.Fatal(err)
		}
		if out.String() != test.want {
			t.Errorf("in %d columns:\n%s\nwant\n%s", test.width, out.String(), test.want)
		}
	}
}

// Sentences in a table begin in one column, also those with settings and reasons in them; only numbers end in one.
func TestPhrasesAlignLeft(t *testing.T) {
	table := blockReport{report.Table{
		Columns: []report.Column{{Name: "#"}, {Name: "why not"}},
		Rows:    [][]any{{1, report.Phrase{"no patch: ", "it is generated"}}, {10, report.Phrase{"no time"}}},
	}}
	var out strings.Builder
	if err := Text(&out, table, Options{}); err != nil {
		t.Fatal(err)
	}
	const want = " #  why not\n 1  no patch: it is generated\n10  no time\n"
	if out.String() != want {
		t.Errorf("got\n%s\nwant\n%s", out.String(), want)
	}
}
