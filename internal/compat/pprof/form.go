package pprof

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/hone-perf/hone/internal/profile"
	"github.com/hone-perf/hone/internal/report"
	"github.com/hone-perf/hone/internal/unit"
)

// A printer writes a report as pprof does.
type printer func(w io.Writer, r report.Report, f *form) error

// A form is what a report needs to know beyond its content to look like one of pprof.
type form struct {
	cfg   config
	head  *report.Head
	ratio float64 // values are multiplied by it
	unit  string  // to show values in

	source *profile.Profile // what the report is about
}

func newForm(cfg config, head *report.Head) *form {
	return &form{cfg: cfg, head: head, ratio: 1 / cfg.divideBy, unit: cfg.unit}
}

func (f *form) scale(v int64) int64 {
	if f.ratio > 0 && f.ratio != 1 {
		return int64(float64(v) * f.ratio)
	}
	return v
}

func (f *form) value(v int64) string { return unit.Format(f.scale(v), f.head.Unit, f.unit) }

func (f *form) percent(v int64) string { return unit.Percent(v, f.head.Total) }

// valueOrDot leaves zeros out of listings.
func (f *form) valueOrDot(v int64) string {
	if v == 0 {
		return "."
	}
	return f.value(v)
}

// chooseUnit sets one unit for the whole report: that of its smallest value, but not if the total would then have
// more than two digits too many. Formats that only know whole numbers always take the smallest.
func (f *form) chooseUnit(costs func(yield func(flat, cum int64)), whole bool) {
	if f.unit != unit.Minimum {
		return
	}
	some := false
	var least int64
	costs(func(flat, cum int64) {
		some = true
		v := abs(flat)
		if v == 0 {
			v = abs(cum)
		}
		if v > 0 && (least == 0 || v < least) {
			least = v
		}
	})
	if !some {
		return
	}
	most := f.head.Total
	if least == 0 {
		least = most
	}
	least, most = f.scale(least), f.scale(most)
	_, small := unit.Scale(least, f.head.Unit, unit.Minimum)
	_, large := unit.Scale(most, f.head.Unit, unit.Minimum)
	f.unit = small
	if small != large && least*100 < most && !whole {
		_, f.unit = unit.Scale(100*least, f.head.Unit, unit.Minimum)
	}
	if f.unit == "" {
		f.unit = f.head.Unit
	}
}

func abs(v int64) int64 {
	if v < 0 {
		return -v
	}
	return v
}

// profileLines are the lines about the profile at the head of a report.
func (f *form) profileLines() []string {
	h := f.head
	var lines []string
	if h.File != "" {
		lines = append(lines, "File: "+h.File)
	}
	if h.BuildID != "" {
		lines = append(lines, "Build ID: "+h.BuildID)
	}
	for _, c := range h.Comments {
		if !strings.HasPrefix(c, "#") {
			lines = append(lines, c)
		}
	}
	if h.Metric != "" {
		lines = append(lines, "Type: "+h.Metric)
	}
	if h.Doc != "" {
		lines = append(lines, "Doc: "+h.Doc)
	}
	if h.Time != 0 {
		lines = append(lines, "Time: "+time.Unix(0, h.Time).Format("2006-01-02 15:04:05 MST"))
	}
	if h.Duration != 0 {
		share := ""
		if ns, u := unit.Scale(h.Total, h.Unit, "nanoseconds"); u == "ns" && ns != 0 {
			share = "(" + unit.Percent(int64(ns), h.Duration) + ")"
		}
		lines = append(lines, fmt.Sprintf("Duration: %s, Total samples = %s %s",
			unit.Label(h.Duration, "nanoseconds"), f.value(h.Total), share))
	}
	return lines
}

// lines are all lines at the head of a report that was trimmed.
func (f *form) lines(t report.Trimming, full bool) []string {
	var lines []string
	if full || !f.cfg.compact {
		lines = f.profileLines()
	}
	lines = append(lines, f.cfg.filters()...)
	lines = append(lines, fmt.Sprintf("Showing nodes accounting for %s, %s of %s total",
		f.value(t.Accounted), strings.TrimSpace(f.percent(t.Accounted)), f.value(f.head.Total)))
	if f.head.Total == 0 {
		return f.withLink(lines, full)
	}
	dropped := func(n int, what, by string, below int64) {
		if n > 1 {
			what += "s"
		}
		if n > 0 {
			lines = append(lines, fmt.Sprintf("Dropped %d %s (%s <= %s)", n, what, by, f.value(below)))
		}
	}
	dropped(t.Dropped, "node", "cum", t.Below)
	if full {
		dropped(t.DroppedEdges, "edge", "freq", t.EdgesBelow)
	}
	if t.Shown > 0 && t.Shown < t.Of {
		lines = append(lines, fmt.Sprintf("Showing top %d nodes out of %d", t.Shown, t.Of))
	}
	return f.withLink(lines, full)
}

func (f *form) withLink(lines []string, full bool) []string {
	if full {
		lines = append(lines, "\nSee https://git.io/JfYMW for how to read the graph")
	}
	return lines
}
