package render

import (
	"bytes"
	"html"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/hone-perf/hone/internal/report"
)

// readMarkdown reads a table the way GitHub does: it returns the cells of each row as a reader would see them.
func readMarkdown(text string) [][]string {
	var rows [][]string
	for line := range strings.Lines(text) {
		line = strings.TrimSuffix(strings.TrimPrefix(strings.TrimRight(line, "\n"), "|"), "|")
		var cells []string
		var cell strings.Builder
		end := func() {
			cells = append(cells, cell.String())
			cell.Reset()
		}
		for i := 0; i < len(line); i++ {
			switch {
			case line[i] == '\\' && i+1 < len(line):
				cell.WriteString(line[i : i+2])
				i++
			case line[i] == '|':
				end()
			default:
				cell.WriteByte(line[i])
			}
		}
		end()
		for i, c := range cells {
			cells[i] = unescape(strings.Trim(c, " "))
		}
		rows = append(rows, cells)
	}
	return rows
}

// unescape takes back escapes and entities.
func unescape(s string) string {
	var b strings.Builder
	for s != "" {
		if s[0] == '\\' {
			b.WriteByte(s[1])
			s = s[2:]
			continue
		}
		n := strings.IndexByte(s[1:], '\\') + 1
		if n == 0 {
			n = len(s)
		}
		b.WriteString(html.UnescapeString(s[:n]))
		s = s[n:]
	}
	return b.String()
}

// Whatever is in a label, a table has the same cells, and a reader sees the same text.
func FuzzMarkdown(f *testing.F) {
	f.Add("a|b", `c\|d`)
	f.Add("*bold* _em_ `code`", "[link](url) <b> &amp;")
	f.Add(" blanks ", "line\nbreak\ttab")
	f.Add("", `\`)
	f.Fuzz(func(t *testing.T, a, b string) {
		var out bytes.Buffer
		if err := Markdown(&out, names(a, b), Options{}); err != nil {
			t.Fatal(err)
		}
		got := readMarkdown(out.String())
		want := [][]string{{"a", "b"}, {":---", ":---"}, {clean(a), clean(b)}}
		if !slices.EqualFunc(got, want, slices.Equal) {
			t.Errorf("read back %q, want %q from\n%s", got, want, out.String())
		}
		// Text that is not cleaned first, such as of facts, must keep within its line all the same.
		escaped := escapeMarkdown(a)
		if strings.ContainsAny(escaped, "\n\r") {
			t.Errorf("escapeMarkdown(%q) = %q", a, escaped)
		}
	})
}

// TestDetails holds that what few readers want is folded in Markdown, and in the way of nobody elsewhere.
func TestDetails(t *testing.T) {
	r := blockReport{
		report.Title{Text: "verdict: a<b"},
		report.Details{Title: "what was tried <&>", Blocks: []report.Block{
			report.Table{Title: "functions", Columns: []report.Column{{Name: "calls"}, {Name: "function"}}, Rows: [][]any{{3, "f"}}},
		}},
		report.Note{Text: report.Phrase{"the end"}},
	}
	tests := []struct {
		name  string
		write func(w io.Writer) error
		want  string
	}{
		{"markdown", func(w io.Writer) error { return Markdown(w, r, Options{}) }, `## verdict: a\<b

<details>
<summary>what was tried &lt;&amp;&gt;</summary>

### functions

| calls | function |
|---:|:---|
| 3 | f |

</details>

> note: the end
`},
		{"text", func(w io.Writer) error { return Text(w, r, Options{}) }, "verdict: a<b\n\nfunctions\ncalls  function\n    3  f\nnote: the end\n"},
		{"csv", func(w io.Writer) error { return CSV(w, r, Options{}) }, "calls,function\n3,f\n"},
	}
	for _, tt := range tests {
		var b bytes.Buffer
		if err := tt.write(&b); err != nil {
			t.Errorf("%s: %v", tt.name, err)
		} else if b.String() != tt.want {
			t.Errorf("%s:\n%s\nwant:\n%s", tt.name, b.String(), tt.want)
		}
	}
}
