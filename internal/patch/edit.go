package patch

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/hone-perf/hone/internal/order"
	"github.com/hone-perf/hone/internal/report"
)

// Errors of Apply and Moved.
var (
	ErrStale   = errors.New("the file is not as it was when the patch was made")
	ErrOverlap = errors.New("another patch changed the same lines")
)

// Edits returns the difference of two texts of a file as edits of whole lines.
func Edits(name string, was, is []byte) []report.Edit {
	starts := lineStarts(was)
	at := func(line int) int { return starts[min(line-1, len(starts)-1)] }
	var edits []report.Edit
	line, open, last := 0, -1, byte(' ')
	for l := range strings.Lines(Diff(name, was, is)) {
		if strings.HasPrefix(l, "@@ -") {
			fmt.Sscanf(l, "@@ -%d", &line)
			if strings.HasPrefix(l, "@@ -0,0") {
				line = 1
			}
			open = -1
			continue
		}
		if line == 0 {
			continue // the names
		}
		switch l[0] {
		case ' ':
			line++
			open, last = -1, ' '
			continue
		case '\\': // there is no newline behind the line before
			if last == '+' {
				edits[open].New = strings.TrimSuffix(edits[open].New, "\n")
			}
			continue
		}
		last = l[0]
		if open < 0 {
			edits = append(edits, report.Edit{File: name, Start: at(line), End: at(line), StartLine: line, EndLine: line})
			open = len(edits) - 1
		}
		e := &edits[open]
		if l[0] == '-' {
			line++
			e.End, e.EndLine = at(line), line
		} else {
			e.New += l[1:]
		}
	}
	return edits
}

// Line returns where a line of one text of a file is in another one. A line that is not there as it was has the place of what is there instead, and
// same is false.
func Line(name string, from, to []byte, line int) (at int, same bool) {
	by := 0
	for _, e := range Edits(name, from, to) {
		added := strings.Count(e.New, "\n")
		switch {
		case e.EndLine <= line:
			by += added - (e.EndLine - e.StartLine)
		case e.StartLine <= line:
			return e.StartLine + by + min(line-e.StartLine, max(added-1, 0)), false
		}
	}
	return line + by, true
}

// lineStarts returns where lines begin, and the end of the last.
func lineStarts(text []byte) []int {
	starts := []int{0}
	for i, b := range text {
		if b == '\n' {
			starts = append(starts, i+1)
		}
	}
	if starts[len(starts)-1] != len(text) {
		starts = append(starts, len(text))
	}
	return starts
}

// Apply returns what a text becomes by edits.
func Apply(was []byte, edits []report.Edit) ([]byte, error) {
	edits = sorted(edits)
	var out []byte
	at := 0
	for _, e := range edits {
		if e.Start < at || e.End < e.Start || e.End > len(was) {
			return nil, ErrStale
		}
		out = append(append(out, was[at:e.Start]...), e.New...)
		at = e.End
	}
	return append(out, was[at:]...), nil
}

func sorted(edits []report.Edit) []report.Edit {
	edits = slices.Clone(edits)
	order.Stable(edits, func(a, b report.Edit) int { return a.Start - b.Start })
	return edits
}

// Moved moves edits that were made for one text to where their lines are in another one that it became. Lines that changed
// cannot be edited: then the error is ErrOverlap. What is inserted at one place comes behind what was inserted there before, unless
// it is the same: two patches may want one import.
func Moved(name string, was, is []byte, edits []report.Edit) ([]report.Edit, error) {
	between := Edits(name, was, is)
	starts := lineStarts(is)
	var out []report.Edit
	for _, e := range sorted(edits) {
		if slices.ContainsFunc(between, func(c report.Edit) bool {
			return e.Start == e.End && c.Start == c.End && c.Start == e.Start && c.New == e.New
		}) {
			continue
		}
		by := 0
		for _, c := range between {
			if c.EndLine <= e.StartLine {
				by += strings.Count(c.New, "\n") - (c.EndLine - c.StartLine)
				continue
			}
			if c.StartLine < e.EndLine || c.StartLine == e.StartLine && c.EndLine > c.StartLine {
				return nil, ErrOverlap
			}
		}
		from, to := e.StartLine+by, e.EndLine+by
		if from < 1 || to > len(starts) {
			return nil, ErrOverlap
		}
		e.StartLine, e.EndLine, e.Start, e.End = from, to, starts[from-1], starts[to-1]
		out = append(out, e)
	}
	return out, nil
}
