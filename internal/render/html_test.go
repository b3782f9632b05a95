package render

import (
	"bytes"
	"encoding/xml"
	"errors"
	"io"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/hone-perf/hone/internal/hint"
	"github.com/hone-perf/hone/internal/report"
)

// An element is one of a part of a page, with the text in it.
type element struct{ name, class, text string }

// readHTML reads what HTML writes, which is well-formed, and returns the innermost elements in their order.
func readHTML(text string) (out []element, err error) {
	d := xml.NewDecoder(strings.NewReader("<div>" + text + "</div>"))
	d.Entity = xml.HTMLEntity
	var open []element
	for {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			return out, nil
		}
		if err != nil {
			return out, err
		}
		switch v := token.(type) {
		case xml.StartElement:
			e := element{name: v.Name.Local}
			for _, a := range v.Attr {
				if a.Name.Local == "class" {
					e.class = a.Value
				}
			}
			open = append(open, e)
		case xml.CharData:
			open[len(open)-1].text += string(v)
		case xml.EndElement:
			e := open[len(open)-1]
			open = open[:len(open)-1]
			if slices.Contains([]string{"h3", "h4", "p", "td", "th", "dt", "dd", "span", "code", "summary"}, e.name) {
				out = append(out, e)
			}
		}
	}
}

// Whatever is in a report, the page has the same elements, and a reader sees the same text.
func FuzzHTML(f *testing.F) {
	f.Add("<script>alert(1)</script>", "a & b")
	f.Add("line\nbreak\ttab", `"quoted" 'too'`)
	f.Add("\x00\x1b[31m", "\xff\xfe")
	f.Add("]]>", "<!-- ")
	f.Fuzz(func(t *testing.T, a, b string) {
		r := blockReport{
			report.Title{Text: a},
			report.Heading{Lines: []report.Phrase{{b}}},
			report.Facts{Items: []report.Fact{{Name: a, Value: b}}},
			report.Commands{Items: []hint.Command{hint.Ask(a, b).Of(b).With(a, b).For(b)}},
		}
		for block := range names(a, b).Blocks() {
			r = append(r, block)
		}
		r = append(r, report.Details{Title: a, Blocks: []report.Block{report.Note{Text: report.Phrase{b}}}})
		r = append(r, report.Plain{Text: "--- " + a + "\n" + b})
		var out bytes.Buffer
		if err := HTML(&out, r, Options{}); err != nil {
			t.Fatal(err)
		}
		got, err := readHTML(out.String())
		if err != nil {
			t.Fatalf("%v in\n%s", err, out.String())
		}
		got = slices.DeleteFunc(got, func(e element) bool { return e.name == "span" })
		a, b = clean(a), clean(b)
		want := []element{
			{"h3", "", a}, {"p", "quiet", b}, {"dt", "", a}, {"dd", "", b}, {"code", "", strings.Join([]string{a, b, a + "=" + b, b}, " ")},
			{"th", "", "a"}, {"th", "", "b"}, {"td", "", a}, {"td", "", b}, {"summary", "", a}, {"p", "note", b},
		}
		if !slices.Equal(got, want) {
			t.Errorf("read back %q, want %q from\n%s", got, want, out.String())
		}
	})
}

func TestHTML(t *testing.T) {
	r := blockReport{
		report.Table{
			Title: "speed", Summary: report.Phrase{"of two"},
			Columns: []report.Column{{Name: "n"}, {Name: "verdict"}},
			Rows:    [][]any{{1, report.Judgment{Text: "faster", Good: 1}}, {2, report.Judgment{Text: "slower", Good: -1}}},
		},
		report.Plain{Text: "--- a/x.go\n+++ b/x.go\n@@ -1 +1 @@\n \tx\n-\ty < 1\n+\tz\n"},
		report.Plain{Text: "- a list\n+ of words\n"},
	}
	var out bytes.Buffer
	if err := HTML(&out, r, Options{}); err != nil {
		t.Fatal(err)
	}
	const want = `<h4>speed</h4>
<p class="quiet">of two</p>
<div class="wide" tabindex="0"><table>
<thead><tr><th class="num">n</th><th>verdict</th></tr></thead>
<tbody>
<tr><td class="num">1</td><td class="less">faster</td></tr>
<tr><td class="num">2</td><td class="more">slower</td></tr>
</tbody></table></div>
<pre tabindex="0"><span class="at">--- a/x.go</span>
<span class="at">+++ b/x.go</span>
<span class="at">@@ -1 +1 @@</span>
 	x
<span class="del">-	y &lt; 1</span>
<span class="add">+	z</span>
</pre>
<pre tabindex="0">- a list
+ of words
</pre>
`
	if got := out.String(); got != want {
		t.Errorf("HTML wrote\n%s\nwant\n%s", got, want)
	}
}

// TestHTMLOfEachReport holds that there is a page of every report.
func TestHTMLOfEachReport(t *testing.T) {
	for _, name := range everyName() {
		var out bytes.Buffer
		if err := HTML(&out, everyReport()[name], Options{}); err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if _, err := readHTML(out.String()); err != nil || out.Len() == 0 {
			t.Errorf("%s: %v in\n%s", name, err, out.String())
		}
	}
}

// TestFlamePrefix holds that two pictures on a page do not paint each other.
func TestFlamePrefix(t *testing.T) {
	f := everyReport()["flame"].(*report.Flame)
	var out bytes.Buffer
	if err := FlameSVG(&out, f, FlameOptions{Prefix: "one-"}); err != nil {
		t.Fatal(err)
	}
	sheet, _, _ := strings.Cut(out.String(), "</style>")
	named := regexp.MustCompile(`class="([^"]*)"`).FindAllStringSubmatch(out.String(), -1)
	if len(named) == 0 {
		t.Fatal("nothing has a class")
	}
	for _, m := range named {
		for _, class := range strings.Fields(m[1]) {
			if !strings.HasPrefix(class, "one-") || !strings.Contains(sheet, "."+class+"{") {
				t.Errorf("class %q is not one of the picture", class)
			}
		}
	}
}

// A page of its own has its style, one heading for all, and each run of charts as one picture with names of its own.
func TestPage(t *testing.T) {
	r := blockReport{
		report.Heading{Lines: []report.Phrase{{"a & b"}, {"more"}}},
		sawtooth(), bars(),
		report.Note{Text: report.Phrase{"between"}},
		bars(),
	}
	for _, dark := range []bool{false, true} {
		var out bytes.Buffer
		if err := Page(&out, r, Options{Dark: dark, Color: true, Width: 40}); err != nil {
			t.Fatal(err)
		}
		page := out.String()
		for part, want := range map[string]int{
			"<title>a &amp; b</title>": 1, "<h1>a &amp; b</h1>": 1, `<p class="quiet">more</p>`: 1, "<svg ": 2, "\x1b": 0, "<script": 0,
			".chart-f0{": 1 + btoi(!dark), ".charts-f0{": 1 + btoi(!dark), "color-scheme: dark; }": btoi(dark),
		} {
			if n := strings.Count(page, part); n != want {
				t.Errorf("dark %v: %q is %d times in the page, want %d:\n%s", dark, part, n, want, page)
			}
		}
	}
}

func btoi(b bool) int {
	if b {
		return 1
	}
	return 0
}
