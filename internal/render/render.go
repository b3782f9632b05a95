// Package render writes reports: as text for people and for pipes, as JSON, CSV and Markdown, and in the formats of other programs.
//
// Write takes the name of a format; each format also has a function. Text, Terminal, CSV and Markdown use only the blocks of a report. JSON
// writes the typed report. This is the only package that rounds values, formats them with units, and aligns columns.
package render

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/hone-perf/hone/internal/hint"
	"github.com/hone-perf/hone/internal/report"
)

// Options tune the output. The zero Options are for pipes.
type Options struct {
	Width int            // columns of the terminal; 0 means no limit
	Color bool           // use colors, in Terminal
	ASCII bool           // print only ASCII for lines, bars and marks
	Unit  string         // unit of all values; "" is the unit of the report
	Zone  *time.Location // of times; nil is UTC

	By hint.Speller // spells options and commands; nil uses neutral words

	Dark bool // dark background in pictures; an SVG otherwise follows the reader's preference
	Up   bool // flame graphs grow upwards, with callers below callees
}

// A Format is a way to write a report.
type Format struct {
	Name  string
	Doc   string
	Write func(w io.Writer, r report.Report, o Options) error
}

// Formats lists all formats.
var Formats = []Format{
	{"text", "plain aligned columns, for pipes", Text},
	{"terminal", "columns with bars and colors, fitted to the terminal", Terminal},
	{"json", "the full report with exact values", JSON},
	{"csv", "tables with exact values and units in the header", CSV},
	{"markdown", "tables for issues and pull requests", Markdown},
	{"dot", "call graphs for Graphviz", dotFormat},
	{"callgrind", "call graphs for KCachegrind", callgrindFormat},
	{"speedscope", "stacks for speedscope and compatible viewers", Speedscope},
	{"sarif", "findings, for code review and editors", SARIF},
	{"vim", "findings as FILE:LINE:COLUMN: TEXT, for editors", Quickfix},
	{"github", "findings as annotations of GitHub Actions", GitHub},
	{"svg", "vector pictures of flame graphs and call graphs", svgFormat},
	{"png", "the same pictures as pixels", pngFormat},
	{"html", "self-contained pages", Page},
}

// Write writes r in the format called name.
func Write(w io.Writer, name string, r report.Report, o Options) error {
	names := make([]string, len(Formats))
	for i, f := range Formats {
		if f.Name == name {
			return f.Write(w, r, o)
		}
		names[i] = f.Name
	}
	return fmt.Errorf("unknown format %q; the formats are %s", name, strings.Join(names, ", "))
}

func dotFormat(w io.Writer, r report.Report, o Options) error {
	g, ok := r.(*report.Graph)
	if !ok {
		return errors.New("writing dot: the answer is not a call graph")
	}
	return Dot(w, g, graphOptions(g, o))
}

// Keep each value's own unit, so that no precision is lost.
func callgrindFormat(w io.Writer, r report.Report, _ Options) error {
	g, ok := r.(*report.Graph)
	if !ok {
		return errors.New("writing callgrind: the answer is not a call graph")
	}
	return Callgrind(w, g, g.Metric, g.Unit, g.Unit)
}
