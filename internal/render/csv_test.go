package render

import (
	"bytes"
	"encoding/csv"
	"iter"
	"slices"
	"strings"
	"testing"

	"github.com/hone-perf/hone/internal/report"
)

// blockReport is a report of given blocks.
type blockReport []report.Block

func (r blockReport) Blocks() iter.Seq[report.Block] { return slices.Values(r) }

// names returns a report that shows two names.
func names(a, b string) report.Report {
	return blockReport{report.Table{
		Columns: []report.Column{{Name: "a"}, {Name: "b"}},
		Rows:    [][]any{{a, report.Name{Text: b}}},
	}}
}

func TestCSVRaw(t *testing.T) {
	err := CSV(&bytes.Buffer{}, everyReport()["raw"], Options{})
	if err == nil || !strings.Contains(err.Error(), "writing csv:") {
		t.Errorf("error is %v", err)
	}
}

// Whatever is in a name, a reader of CSV gets it back.
func FuzzCSV(f *testing.F) {
	f.Add("a,b", "c\nd")
	f.Add(`say "hi"`, " blank ")
	f.Add("", `\.`)
	f.Fuzz(func(t *testing.T, a, b string) {
		var out bytes.Buffer
		if err := CSV(&out, names(a, b), Options{}); err != nil {
			t.Fatal(err)
		}
		records, err := csv.NewReader(&out).ReadAll()
		if err != nil {
			t.Fatal(err)
		}
		// The reader takes this for the end of a line, even in quotes.
		lines := strings.NewReplacer("\r\n", "\n")
		want := [][]string{{"a", "b"}, {lines.Replace(a), lines.Replace(b)}}
		if !slices.EqualFunc(records, want, slices.Equal) {
			t.Errorf("read back %q, want %q", records, want)
		}
	})
}
