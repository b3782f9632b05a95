package render

import (
	"errors"
	"io"

	"github.com/hone-perf/hone/internal/report"
)

// errNoPicture is the error for answers without a flame graph, call graph or chart.
var errNoPicture = errors.New("this answer has no picture")

func svgFormat(w io.Writer, r report.Report, o Options) error {
	switch r := r.(type) {
	case *report.Flame:
		return FlameSVG(w, r, FlameOptions{Options: o})
	case *report.Graph:
		return GraphSVG(w, r, o)
	}
	return ChartsSVG(w, r, o)
}

func pngFormat(w io.Writer, r report.Report, o Options) error {
	switch r := r.(type) {
	case *report.Flame:
		return FlamePNG(w, r, FlameOptions{Options: o})
	case *report.Graph:
		return GraphPNG(w, r, o)
	}
	return ChartsPNG(w, r, o)
}
