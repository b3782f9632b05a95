package prove

import (
	"slices"
	"strings"

	"github.com/hone-perf/hone/internal/prove/worker"
	"github.com/hone-perf/hone/internal/report"
)

// kind says what a difference is, and in which version what happens.
func (d *finding) kind() string {
	switch {
	case d.path == worker.StandardError:
		return "output on standard error"
	case d.layer == worker.LayerEmpty && strings.HasSuffix(d.path, " type"):
		return "the type behind an interface"
	case d.layer == worker.LayerPanic:
		if d.path != "outcome" || d.old == "nothing" || d.new == "nothing" {
			break
		}
		if d.old == "panics" {
			return "the old version panics, the new one does not"
		}
		if d.new == "panics" {
			return "the new version panics, the old one does not"
		}
		if d.old == "returns" {
			return "the new version " + d.new + ", the old one returns"
		}
		return "the old version " + d.old + ", the new one " + d.new
	case d.layer == worker.LayerError:
		if d.old == "nil" {
			return "the new version returns an error, the old one does not"
		}
		return "the old version returns an error, the new one does not"
	}
	return layerName(d.layer)
}

func layerName(l worker.Layer) string {
	switch l {
	case worker.LayerResult:
		return "another result"
	case worker.LayerShared:
		return "arguments or shared memory"
	case worker.LayerEmpty:
		return "nil or empty"
	case worker.LayerText:
		return "text of an error"
	}
	return ""
}

// difference writes a finding for people.
func (f *search) difference(d *finding) report.Difference {
	text := f.show(d.program, d.step)
	out := report.Difference{
		Layer: string(rune(d.layer)), Kind: d.kind(), Grave: d.alarms() || f.opt.Strict, Function: d.fn,
		File: d.target.file, Line: d.target.line, Call: text.call, Imports: text.imports, What: strings.TrimSpace(d.path), Old: d.old, New: d.new, Note: d.note,
		Calls: d.calls, Also: slices.Clone(d.also), Shared: (&worker.Line{Path: d.path}).Shares(),
	}
	if d.cause != "" && d.cause != f.ownKey(d) {
		out.Cause = f.causeName(d.cause)
		out.Unclear = f.unclear(d.cause)
	}
	for _, e := range f.entries {
		if e.key != "" && e.key == d.cause { // the cause itself, called on one type or another
			out.Also = slices.DeleteFunc(out.Also, func(fn string) bool { return fn == e.name })
		}
	}
	if d.layer == worker.LayerPanic {
		for i, text := range []*string{&out.Old, &out.New} {
			for _, l := range d.lines[i] {
				if *text == "panics" && l.Step == d.step && l.Path == "panic" {
					*text += ": " + l.Text
				}
			}
		}
	}
	if root := rootOf(d.path); root != d.path || d.layer == worker.LayerEmpty {
		a, b := wholeOf(d.lines[0], d.step, root), wholeOf(d.lines[1], d.step, root)
		if a != "" && b != "" && a != b {
			pkg := f.new.pkg.Types.Name() + "."
			out.What, out.Old, out.New = root, strings.ReplaceAll(a, pkg, ""), strings.ReplaceAll(b, pkg, "")
		}
	}
	if key := worker.MaskKey(f.entries[d.program.Steps[d.step].Func].name, d.path); out.Note == "" && d.masks == nil && f.masks[key] > 0 && strings.Contains(out.Old+out.New, "#") {
		out.Note = "# stands for a number that varies from call to call of the old version, and is not compared"
	}
	if rest, ok := strings.CutPrefix(out.What, "argument "); ok {
		if _, name, ok := strings.Cut(rest, " "); ok && (name == "status" || strings.HasPrefix(name, "header ") || strings.HasPrefix(name, "body")) {
			out.What = name
		}
	}
	return out
}

// rootOf returns the result or argument that a path leads into.
func rootOf(path string) string {
	root, _, _ := strings.Cut(path, "[")
	root, _, _ = strings.Cut(root, ".")
	return strings.TrimSuffix(strings.TrimSuffix(root, " length"), worker.InOrder)
}

// wholeOf returns a result or argument in one piece, or "".
func wholeOf(lines []worker.Line, step int, root string) string {
	for _, l := range lines {
		if l.Layer == worker.LayerWhole && l.Step == step && l.Path == root {
			return l.Text
		}
	}
	return ""
}
