package render

import (
	"bytes"
	"image/png"
	"iter"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/hone-perf/hone/internal/report"
)

// chartReport is a report of blocks.
type chartReport []report.Block

func (r chartReport) Blocks() iter.Seq[report.Block] { return slices.Values([]report.Block(r)) }

func sawtooth() report.Chart {
	const mb = 1 << 20
	c := report.Chart{
		Title: "heap", X: &report.Measure{Unit: "nanoseconds"}, To: 8000 * ms, Y: &report.Measure{Unit: "bytes"},
		Series: []report.Series{{Name: "in use"}, {Name: "live"}, {Name: "goal", Draw: report.Line}},
	}
	for i := range int64(4) {
		begin, end := 2000*i*ms, 2000*(i+1)*ms
		c.Series[0].Points = append(c.Series[0].Points, report.Point{X: begin, Y: 40 * mb}, report.Point{X: end, Y: 80 * mb})
		c.Series[1].Points = append(c.Series[1].Points, report.Point{X: begin, Y: 40 * mb}, report.Point{X: end, Y: 40 * mb})
		c.Series[2].Points = append(c.Series[2].Points, report.Point{X: begin, Y: 90 * mb}, report.Point{X: end, Y: 90 * mb})
	}
	return c
}

func bars() report.Chart {
	return report.Chart{
		Title: "pauses", Count: "cycle", Y: &report.Measure{Unit: "nanoseconds"},
		Series: []report.Series{{Name: "world stopped", Draw: report.Bars, Points: []report.Point{
			{X: 1, Y: 1}, {X: 5, Y: 4 * ms}, {X: 9, Y: 2 * ms},
		}}},
	}
}

func TestChartText(t *testing.T) {
	tests := []struct {
		name  string
		chart report.Chart
		o     Options
		want  string
	}{
		{"series", sawtooth(), Options{Width: 48}, `
heap · ░ in use  █ live  ─ goal
     ──────────────────────────────────────────
80MB           ░         ░░         ░         ░
            ░░░░       ░░░░      ░░░░       ░░░
60MB      ░░░░░░    ░░░░░░░    ░░░░░░    ░░░░░░
        ░░░░░░░░  ░░░░░░░░░  ░░░░░░░░  ░░░░░░░░
40MB ░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░
     ██████████████████████████████████████████
20MB ██████████████████████████████████████████
     ██████████████████████████████████████████
   0 ██████████████████████████████████████████
     0         2s        4s         6s       8s
`},
		{"bars", bars(), Options{Width: 48}, `
pauses · world stopped
4ms                      ▇
                         █
2ms                      █                    ▇
  0 ▁                    █                    █
         cycle 2    4         6          8
`},
		{"ASCII", bars(), Options{Width: 48, ASCII: true}, `
pauses - world stopped
4ms                      #
                         #
2ms                      #                    #
  0 .                    #                    #
         cycle 2    4         6          8
`},
		{"no room", bars(), Options{Width: 20}, "\n"},
	}
	for _, tt := range tests {
		var b bytes.Buffer
		if err := Terminal(&b, chartReport{tt.chart}, tt.o); err != nil || "\n"+b.String() != tt.want {
			t.Errorf("%s: %v\n%swant%s", tt.name, err, b.String(), tt.want)
		}
		b.Reset()
		if err := Text(&b, chartReport{tt.chart}, tt.o); err != nil || b.Len() > 0 {
			t.Errorf("%s: a pipe gets %q, %v", tt.name, b.String(), err)
		}
	}
}

func TestChartPictures(t *testing.T) {
	many := bars()
	for i := range int64(50_000) {
		many.Series[0].Points = append(many.Series[0].Points, report.Point{X: 10 + i, Y: i % 97})
	}
	share := report.Chart{
		Title: "CPU", X: &report.Measure{Unit: "nanoseconds"}, Whole: 1000,
		Series: []report.Series{{Name: "share", Points: []report.Point{{X: 0, Y: 10}, {X: 5 * ms, Y: 200}}}},
	}
	extreme := sawtooth()
	extreme.From, extreme.To = 0, 0
	extreme.Series = []report.Series{{Name: "x", Points: []report.Point{{X: math.MaxInt64 - 1, Y: math.MaxInt64}, {X: math.MaxInt64, Y: 0}}}}
	empty := report.Chart{Title: "nothing", Y: &report.Measure{}, Series: []report.Series{{Name: "none"}}}
	r := chartReport{
		report.Heading{Lines: []report.Phrase{{"a <log>"}, {"second"}}}, report.Facts{Items: []report.Fact{{Name: "cycles", Value: 4}}},
		sawtooth(), bars(), many, share, extreme, empty, report.Note{Text: report.Phrase{strings.Repeat("word ", 400)}},
	}
	var svg, img bytes.Buffer
	if err := ChartsSVG(&svg, r, Options{}); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"a &lt;log&gt;", "prefers-color-scheme:dark", "world stopped", "cycle 5: 4ms", "word …"} {
		if !strings.Contains(svg.String(), want) {
			t.Errorf("the picture lacks %s", want)
		}
	}
	if svg.Len() > 1<<20 || strings.Contains(svg.String(), "NaN") || strings.Contains(svg.String(), "Inf") {
		t.Errorf("the picture has %d bytes, or what is not a number", svg.Len())
	}
	if err := ChartsPNG(&img, r, Options{}); err != nil {
		t.Fatal(err)
	}
	if p, err := png.Decode(&img); err != nil || p.Bounds().Dx() != 2*chartWide {
		t.Errorf("image: %v", err)
	}
	if err := ChartsSVG(&svg, chartReport{report.Heading{}}, Options{}); err == nil {
		t.Error("an answer without charts has a picture")
	}
}

func TestChartFormats(t *testing.T) {
	var b bytes.Buffer
	if err := CSV(&b, chartReport{bars()}, Options{}); err != nil {
		t.Fatal(err)
	}
	if want := "chart,series,cycle,value (nanoseconds)\npauses,world stopped,1,1\n"; !strings.HasPrefix(b.String(), want) {
		t.Errorf("CSV is %s", b.String())
	}
	b.Reset()
	if err := Markdown(&b, chartReport{bars()}, Options{}); err != nil || !strings.Contains(b.String(), "    pauses · world stopped\n") {
		t.Errorf("Markdown is %s, %v", b.String(), err)
	}
}
