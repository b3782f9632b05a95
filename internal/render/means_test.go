package render

import (
	"bytes"
	"regexp"
	"testing"

	"github.com/hone-perf/hone/internal/report"
)

// TestMeansHaveNoShares holds that nothing is said of the parts of means: they do not add up.
func TestMeansHaveNoShares(t *testing.T) {
	head := report.Head{Metric: "mean_delay", Unit: "nanoseconds", Total: 5, Mean: true}
	once, often := report.Frame{Name: "main.once"}, report.Frame{Name: "main.often"}
	graph := report.Graph{
		Head: head, Nodes: []report.Node{{Cost: report.Cost{Frame: once, Flat: 900, Cum: 900}}, {Cost: report.Cost{Frame: often, Flat: 5, Cum: 905}}},
		Edges: []report.Edge{{From: 1, To: 0, Weight: 900, Mean: 900}},
	}
	graph.Accounted = 905
	top := &report.Top{Head: head, Rows: []report.TopRow{{Cost: report.Cost{Frame: once, Flat: 900, Cum: 900}}, {Cost: report.Cost{Frame: often, Flat: 5, Cum: 905}}}}
	top.Accounted = 905
	for name, write := range map[string]func(*bytes.Buffer) error{
		"top":   func(b *bytes.Buffer) error { return Text(b, top, Options{}) },
		"tree":  func(b *bytes.Buffer) error { return Text(b, &graph, Options{}) },
		"graph": func(b *bytes.Buffer) error { return GraphSVG(b, &graph, Options{}) },
	} {
		var out bytes.Buffer
		if err := write(&out); err != nil {
			t.Fatal(err)
		}
		if found := regexp.MustCompile(`.*([0-9]%|[a-z]%| of .* shown).*`).Find(out.Bytes()); found != nil || !bytes.Contains(out.Bytes(), []byte("900ns")) {
			t.Errorf("%s shows %q in %s", name, found, out.Bytes())
		}
	}
}
