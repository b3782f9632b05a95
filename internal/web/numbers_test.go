package web

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// Files that may compute: format.ts prints, and saved.ts answers in place of a server.
var computing = []string{"format.ts", "saved.ts", "answers.ts"}

// What else the page may compute: the difference or ratio of two numbers that stand beside each other, the largest of a list or what is left
// of it, times that follow the pointer, and places on the screen.
var computed = []string{
	`beside.tsx: signed(y - x, unit)`,
	`calltree.tsx: count((c.row.calls ?? 0) - c.below.length)`,
	`compare.tsx: relative(1 + mean.change)`,
	`compare.tsx: relative(r.change === null ? null : 1 + r.change)`,
	`events.tsx: amount(c.value / 1e9, "cores")`,
	`flame.tsx: count(steps.length - 4)`,
	`flame.tsx: reduce((sum, is) => sum + is, 0)`,
	`flamechart.tsx: reduce((n, p) => n + (p.rows?.[d]?.frame.length ?? 0), 0)`,
	`flamechart.tsx: reduce((n, v) => n + Math.abs(v), 0)`,
	`memory.tsx: size(g.to - g.from)`,
	`paint.ts: reduce((n, u) => n + u.texts.length, 0)`,
	`panel.tsx: signed(cum - before, unit)`,
	`parts.tsx: signed(now - from, unit, chosen)`,
	`requests.tsx: longer(c.slow_nanos - c.middle_nanos)`,
	`services.tsx: relative(s.cores / s.cores_before)`,
	`timeline.tsx: value(Math.max(...list.map((c) => c.stopped_nanos)), "nanoseconds")`,
	`trace.tsx: ns(all[1] - all[0])`,
	`trace.tsx: ns(span[1] - span[0])`,
}

var (
	comments = regexp.MustCompile(`(?s:/\*.*?\*/)|(?m:(^|\s)//.*$)`)
	texts    = regexp.MustCompile(`"[^"\n]*"`)
	places   = regexp.MustCompile(`style=\{\{[^\n]*?\}\}|const share = [^\n]*`) // on the screen
	rounding = regexp.MustCompile(`Math\.round\([\w.\[\]]+( / 1e6)?\)( \* 1e6)?`)
	prints   = regexp.MustCompile(`\b(value|percent|number|count|share|perSecond|measured|busyCores|short|shortCores|fixed|relative|growth|signed|duration|ns|amount|moment|difference|bytes|nanos|size|longer)\(|\breduce\(`)
	makes    = regexp.MustCompile(`[^=<>!&|?] [-+*/] |\breduce\(|\bMath\.`)
	digits   = regexp.MustCompile(`\.to(Fixed|Precision|LocaleString|Exponential)\(|\bIntl\.NumberFormat|Math\.(round|floor|ceil|trunc)\([^;\n]*\* 100\)|\* 100\)? \+ [^\n]{0,40}%`)
)

// sums returns what a source of the page computes of the numbers that it shows.
func sums(source string) (out []string) {
	source = places.ReplaceAllString(comments.ReplaceAllString(source, ""), "")
	for _, at := range digits.FindAllStringIndex(source, -1) {
		out = append(out, source[at[0]:at[1]])
	}
	for _, at := range prints.FindAllStringIndex(source, -1) {
		if at[0] > 0 && source[at[0]-1] == '.' && !strings.HasPrefix(source[at[0]:], "reduce") || strings.HasSuffix(source[:at[0]], "function ") {
			continue // a method, or what is declared
		}
		end, open := at[1], 1
		for ; open > 0 && end < len(source); end++ {
			open += strings.Count("([{", source[end:end+1]) - strings.Count(")]}", source[end:end+1])
		}
		call := source[at[0]:end]
		of := rounding.ReplaceAllString(texts.ReplaceAllString(source[at[1]:end-1], `""`), "x")
		if strings.HasPrefix(call, "reduce") {
			if regexp.MustCompile(`=> \(?\w+ \+ |\? \w+ \+ `).MatchString(of) {
				out = append(out, call)
			}
		} else if makes.MatchString(of) {
			out = append(out, call)
		}
	}
	return out
}

// Every number on the page comes from a report; the page only prints them.
func TestPageComputesNothing(t *testing.T) {
	files, err := filepath.Glob("ui/src/*.ts*")
	if err != nil || len(files) < 20 {
		t.Fatal(len(files), err)
	}
	var met []string
	for _, file := range files {
		name := filepath.Base(file)
		if slices.Contains(computing, name) {
			continue
		}
		b, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range sums(string(b)) {
			met = append(met, name+": "+s)
		}
	}
	for _, m := range met {
		if !slices.Contains(computed, m) {
			t.Errorf("%s\n\tcomputes a number; make it a field of the report, or print it with ui/src/format.ts", m)
		}
	}
	for _, c := range computed {
		if !slices.Contains(met, c) {
			t.Errorf("%s\n\tis not in the page any more; remove it from the list", c)
		}
	}
}

// The check above finds what it is for.
func TestSums(t *testing.T) {
	for _, test := range []struct {
		source string
		finds  bool
	}{
		{`value(row.cum, data.unit, unit)`, false},
		{`value(Math.round(v), "bytes")`, false},
		{`percent(v.flat, data.total)`, false},
		{`percent(v.flat + v.rest, data.total)`, true},
		{`value(rows.reduce((n, r) => n + r.flat, 0), unit)`, true},
		{`const sum = rows.reduce((n, r) => n + r.flat, 0);`, true},
		{`const all = pairs.reduce((s, p) => add(s, p), state);`, false},
		{`Math.round(rate(p) * 100) + "% CPU"`, true},
		{`x.toFixed(1) + "%"`, true},
		{`n.toLocaleString()`, true},
		{"`${100 * x}`; (part / whole) * 100 + \"%\"", true},
		{`number(total / Math.max(1, length))`, true},
		{`// percent(a + b, c)`, false},
		{`<i style={{ width: share * 100 + "%" }} />`, false},
		{`percent(part, whole, "a - b")`, false},
	} {
		if got := sums(test.source); (len(got) > 0) != test.finds {
			t.Errorf("in %s there is %s", test.source, fmt.Sprintf("%q", got))
		}
	}
}
