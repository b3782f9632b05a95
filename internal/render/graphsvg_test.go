package render

import (
	"bytes"
	"encoding/xml"
	"errors"
	"html"
	"image/color"
	"image/png"
	"io"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/hone-perf/hone/internal/hint"
	"github.com/hone-perf/hone/internal/query"
	"github.com/hone-perf/hone/internal/render/layout"
	"github.com/hone-perf/hone/internal/report"
	"github.com/hone-perf/hone/internal/view/profileview"
)

// svgTexts returns the contents of all elements of a kind. The file has to be XML.
func svgTexts(t *testing.T, svg []byte, element string) []string {
	t.Helper()
	var out []string
	inside := false
	for d := xml.NewDecoder(bytes.NewReader(svg)); ; {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			return out
		}
		if err != nil {
			t.Fatalf("%v in\n%.2000s", err, svg)
		}
		switch token := token.(type) {
		case xml.StartElement:
			if inside = token.Name.Local == element; inside {
				out = append(out, "")
			}
		case xml.EndElement:
			inside = false
		case xml.CharData:
			if inside {
				out[len(out)-1] += string(token)
			}
		}
	}
}

func graphSVG(t *testing.T, g *report.Graph) []byte {
	t.Helper()
	var out bytes.Buffer
	if err := GraphSVG(&out, g, Options{}); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

var dotTooltip = regexp.MustCompile(`(?m)[\[ ]tooltip="((?:[^"\\]|\\.)*)"`)

// Whatever Dot gives a tooltip, be it node, call or tag, is in the picture and has the same.
func TestGraphSVGMatchesDot(t *testing.T) {
	byHand := graphReport()
	byHand.Edges[1].Residual = true
	graphs := map[string]*report.Graph{
		"by hand":   byHand,
		"functions": ask(t, profileview.Graph, query.Query{}),
		"lines":     ask(t, profileview.Graph, query.Query{By: "line", Metric: "alloc", Min: -1, MinEdge: -1, Limit: -1}),
	}
	for name, g := range graphs {
		t.Run(name, func(t *testing.T) {
			var text bytes.Buffer
			if err := dotFormat(&text, g, Options{}); err != nil {
				t.Fatal(err)
			}
			count := func(of []string) map[string]int {
				out := make(map[string]int)
				for _, s := range of {
					out[s]++
				}
				return out
			}
			var tips []string
			for _, m := range dotTooltip.FindAllStringSubmatch(text.String(), -1) {
				tips = append(tips, strings.NewReplacer(`\"`, `"`, `\\`, `\`).Replace(m[1]))
			}
			if len(tips) == 0 {
				t.Fatal("dot has no tooltips")
			}
			svg := graphSVG(t, g)
			if got, want := count(svgTexts(t, svg, "title")), count(tips); !maps.Equal(got, want) {
				t.Errorf("titles %v, want those of dot: %v", got, want)
			}
		})
	}
}

func TestGraphSVGText(t *testing.T) {
	svg := graphSVG(t, graphReport())
	// The font of the reader may be wider than ours, and the widest line of a box leaves no room.
	if !regexp.MustCompile(`textLength="[\d.]+" lengthAdjust="spacingAndGlyphs">cpu 13\.01s`).Match(svg) {
		t.Errorf("the legend may be wider than its box:\n%.3000s", svg)
	}
	got := svgTexts(t, svg, "text")
	for _, want := range []string{"main", "0.01s (0.077%)", "of 13.01s (100%)", "json", "Unmarshal", "12s", "(inline)", "not shown"} {
		if !slices.Contains(got, want) {
			t.Errorf("no text %q in %q", want, got)
		}
	}
	if !slices.ContainsFunc(got, func(s string) bool { return strings.HasPrefix(s, "cpu 13.01s") }) {
		t.Errorf("no legend in %q", got)
	}
}

// The boxes of functions say which function they are, and those of tags and of the legend do not. What is on the heaviest path is marked,
// also where a difference has less of it.
func TestGraphSVGParts(t *testing.T) {
	for _, sign := range []int64{1, -1} {
		g := graphReport()
		for i := range g.Edges {
			g.Edges[i].Mean *= sign
		}
		way := g.HeaviestPath()
		out := string(graphSVG(t, g))
		if got, want := strings.Count(out, `class="way"`), len(way.Nodes)+len(way.Edges); got != want || want < 3 {
			t.Errorf("%d parts of the picture are on the heaviest path, want %d:\n%s", got, want, out)
		}
		var names, want []string
		for _, m := range regexp.MustCompile(`data-name="([^"]*)"`).FindAllStringSubmatch(out, -1) {
			names = append(names, html.UnescapeString(m[1]))
		}
		for i := range g.Nodes {
			want = append(want, g.Nodes[i].Frame.String())
		}
		slices.Sort(names)
		slices.Sort(want)
		if !slices.Equal(names, want) {
			t.Errorf("boxes of functions are %q, want %q", names, want)
		}
	}
}

func TestGraphSVGDashes(t *testing.T) {
	g := graphReport()
	solid := bytes.Count(graphSVG(t, g), []byte("stroke-dasharray"))
	g.Edges[1].Residual = true
	if dashed := bytes.Count(graphSVG(t, g), []byte("stroke-dasharray")); solid != 0 || dashed != 1 {
		t.Errorf("%d and then %d lines are dashed, want none and one", solid, dashed)
	}
}

// Names come from files, and files from anybody.
func TestGraphSVGHostile(t *testing.T) {
	long := strings.Repeat("x", 1<<20)
	names := []string{
		"</title><script>alert(1)</script>", `" onload="alert(1)`, "a\x00b\x1b[31m\u202ec\xff\xfe", "]]>&amp;",
		strings.Repeat("a.", 1<<19), long, "", strings.Repeat("(", 1<<16),
	}
	g := graphReport()
	g.Comments = []string{long, strings.Repeat("line\n", 1<<16), "<b>"}
	g.Notes = hint.Said(g.Comments...)
	for _, name := range names {
		g.Nodes[0].Name, g.Unlisted[0].Name = name, name
		g.Nodes[2].Tags = []report.Tag{{Name: name, Flat: 5, Cum: 5}}
		svg := graphSVG(t, g)
		if bytes.Contains(svg, []byte("<script")) || bytes.Contains(svg, []byte("onload=\"")) || bytes.ContainsRune(svg, '\u202e') {
			t.Errorf("a name got out of its place:\n%s", svg)
		}
		if len(svg) > 100_000 {
			t.Errorf("a name of %d bytes makes a picture of %d", len(name), len(svg))
		}
		svgTexts(t, svg, "text")
	}
}

func TestGraphSVGOdd(t *testing.T) {
	none := graphReport()
	none.Total = 0
	negative := graphReport()
	for i := range negative.Nodes {
		negative.Nodes[i].Flat *= -1
		negative.Nodes[i].Cum = -1 << 63
	}
	for i := range negative.Edges {
		negative.Edges[i].Mean = -1 << 63
	}
	self := graphReport()
	self.Edges[1].To = 0
	for name, g := range map[string]*report.Graph{"no total": none, "differences": negative, "recursion": self} {
		if svg := graphSVG(t, g); bytes.Contains(svg, []byte("NaN")) || bytes.Contains(svg, []byte("Inf")) {
			t.Errorf("%s:\n%s", name, svg)
		}
	}
	if got := svgTexts(t, graphSVG(t, &report.Graph{}), "text"); !slices.Contains(got, "There are no calls to show.") {
		t.Errorf("the picture of nothing says %q", got)
	}
	large := &report.Graph{Nodes: make([]report.Node, 10_000)}
	if err := GraphSVG(io.Discard, large, Options{}); !errors.Is(err, layout.ErrTooLarge) {
		t.Errorf("10,000 nodes: %v, want ErrTooLarge", err)
	}
}

func TestGraphPNG(t *testing.T) {
	var out bytes.Buffer
	g := graphReport()
	if err := GraphPNG(&out, g, Options{}); err != nil {
		t.Fatal(err)
	}
	img, err := png.Decode(&out)
	if err != nil {
		t.Fatal(err)
	}
	// Boxes have the colors of what their nodes cost with all that they call.
	counts := make(map[color.Color]int)
	for y := range img.Bounds().Dy() {
		for x := range img.Bounds().Dx() {
			counts[color.RGBAModel.Convert(img.At(x, y))]++
		}
	}
	for i := range g.Nodes {
		want := hexColor(dotColor(float64(g.Nodes[i].Cum)/float64(g.Total), fills))
		if counts[want] < 1000 {
			t.Errorf("%d pixels have the color of %s, %v", counts[want], g.Nodes[i].Name, want)
		}
	}
}
