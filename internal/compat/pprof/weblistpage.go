package pprof

import (
	_ "embed"
	"fmt"
	"html"
	"io"
	"path/filepath"
	"strings"

	"github.com/hone-perf/hone/internal/report"
)

// weblistHead is the style and the script of the page, as they are in pprof.
//
//go:embed weblist.html
var weblistHead string

// escape is what html/template makes of text.
var escape = strings.NewReplacer("\x00", "\uFFFD", `"`, "&#34;", "&", "&amp;", "'", "&#39;", "+", "&#43;", "<", "&lt;", ">", "&gt;")

func printWeblist(w io.Writer, r report.Report, f *form) error {
	list := r.(*weblist)
	put := func(format string, args ...any) { escape.WriteString(w, fmt.Sprintf(format, args...)) }
	tag := func(s string) { io.WriteString(w, s) }

	legend := f.profileLines()
	tag("<!DOCTYPE html>\n<html>\n<head>\n  <meta charset=\"utf-8\">\n  <title>")
	put("%s %s", after(legend, "File: "), after(legend, "Type: "))
	tag("</title>\n" + weblistHead + "</head>\n<body>\n\n<div class=\"legend\">")
	for i, l := range legend {
		if i > 0 {
			tag("<br>\n")
		}
		put("%s", l)
	}
	tag("<br>Total: ")
	put("%s", f.value(f.head.Total))
	tag("</div>")
	for i := range list.funcs {
		fn := &list.funcs[i]
		tag("<h2>")
		put("%s", fn.name)
		tag(`</h2><p class="filename">`)
		put("%s", fn.file)
		tag("</p>\n<pre onClick=\"pprof_toggle_asm(event)\">\n")
		put("  Total:  %10s %10s (flat, cum) %s", f.value(fn.flat), f.value(fn.cum), f.percent(fn.cum))
		for j := range fn.lines {
			writeWebLine(&fn.lines[j], f, put, tag)
		}
		tag("\n</pre>\n")
	}
	tag("\n</body>\n</html>\n")
	return nil
}

// writeWebLine writes a line and below it, to be shown when it is clicked, its instructions.
func writeWebLine(l *webLine, f *form, put func(string, ...any), tag func(string)) {
	class := "nop"
	for _, in := range l.code {
		if in.text != "" || len(in.calls) > 0 {
			class = "livesrc"
			break
		}
		class = "deadsrc"
	}
	tag("\n<span class=line>")
	put(" %6d", l.line)
	tag("</span> <span class=" + class + ">")
	put("  %10s %10s %8s  %s ", f.valueOrDot(l.flat), f.valueOrDot(l.cum), "", l.text)
	tag("</span>")
	if class != "livesrc" {
		return
	}
	tag("<span class=asm>")
	indent := indentation(l.text) + 4
	var open []webPlace // calls that the instructions before are in
	for i := range l.code {
		in := &l.code[i]
		if in.apart {
			put(" %8s %28s\n", "", "⋮")
		}
		for j, c := range in.calls {
			if j < len(open) && open[j] == c {
				continue
			}
			open = nil
			put(" %8s %10s %10s %8s  ", "", "", "", "")
			tag("<span class=inlinesrc>")
			put("%s", padded(strings.Repeat(" ", indent+4*j)+strings.TrimSpace(c.text), 80))
			tag("</span> <span class=unimportant>")
			put("%s:%d", filepath.Base(c.file), c.line)
			tag("</span>\n")
		}
		open = in.calls
		if in.text == "" {
			continue
		}
		text := padded(strings.Repeat(" ", indent+4*len(in.calls))+in.text, 80)
		put(" %8s %10s %10s %8x: %s ", "", f.valueOrDot(in.flat), f.valueOrDot(in.cum), in.at, text)
		tag("<span class=unimportant>")
		if in.place.file != "" {
			put("%s:%d", html.EscapeString(filepath.Base(in.place.file)), in.place.line) // pprof escapes it twice
		}
		tag("</span>\n")
	}
	tag("</span>")
}

// after returns what follows prefix in the first line that begins with it.
func after(lines []string, prefix string) string {
	for _, l := range lines {
		if rest, ok := strings.CutPrefix(l, prefix); ok {
			return rest
		}
	}
	return "unknown"
}
