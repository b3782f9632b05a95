package patch

import (
	"bytes"
	"go/format"
	"go/parser"
	"go/printer"
	"go/token"
	"slices"
	"strings"

	"github.com/hone-perf/hone/internal/report"
)

// Format applies gofmt to the lines of is that are new since was. Lines of was that gofmt would have changed stay as they are. If was is
// as gofmt writes it, so is the result. Lines end as they did before.
func Format(was, is []byte) ([]byte, error) {
	if bytes.Contains(was, []byte("\r\n")) {
		out, err := Format(withoutCR(was), withoutCR(is))
		if err != nil {
			return nil, err
		}
		return endedAs(was, out), nil
	}
	all, err := format.Source(is)
	if err != nil {
		return nil, err
	}
	wasAll, err := format.Source(was)
	if err != nil {
		return nil, err
	}
	if bytes.Equal(wasAll, was) {
		return all, nil
	}
	pretty, err := printed(is)
	if err != nil {
		return nil, err
	}
	wasPretty, err := printed(was)
	if err != nil {
		return nil, err
	}
	out := join(lines(is), lines(pretty), statesOf(was, is, wasPretty))
	// Lines are told apart by what they have but for white space, and two may be alike in that.
	if same, err := format.Source(out); err != nil || !bytes.Equal(same, all) {
		return all, nil
	}
	return out, nil
}

// endedAs returns a text with its lines ended as they were in the old one; those that are new end as the line that they take the place of, or else
// as the one before.
func endedAs(was, is []byte) []byte {
	old, now := lines(was), lines(is)
	var out []byte
	ends := func(i int) bool { return len(old) > 0 && strings.HasSuffix(old[min(max(i, 0), len(old)-1)], "\r\n") }
	write := func(line string, cr bool) {
		if cr && strings.HasSuffix(line, "\n") {
			line = strings.TrimSuffix(line, "\n") + "\r\n"
		}
		out = append(out, line...)
	}
	each(Edits("", withoutCR(was), is), len(old), func(i, j int) { write(now[j], ends(i)) }, func(from, to, newFrom, newTo int) {
		at := from
		if from == to {
			at = from - 1
		}
		for j := newFrom; j < newTo; j++ {
			write(now[j], ends(at))
		}
	})
	return out
}

func withoutCR(text []byte) []byte {
	return bytes.ReplaceAll(text, []byte("\r\n"), []byte("\n"))
}

// printed returns a text as gofmt has it, with imports in the order in which they are: so all lines stay in their order.
func printed(text []byte) ([]byte, error) {
	const normalizeNumbers = 1 << 30 // as gofmt and go/format have it; see go/printer
	set := token.NewFileSet()
	f, err := parser.ParseFile(set, "", text, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	err = (&printer.Config{Mode: printer.UseSpaces | printer.TabIndent | normalizeNumbers, Tabwidth: 8}).Fprint(&out, set, f)
	return out.Bytes(), err
}

func lines(text []byte) []string { return slices.Collect(strings.Lines(string(text))) }

// A state is what a line was before.
type state int

const (
	fresh  state = iota // not there
	shaped              // as gofmt has it
	rough               // not as gofmt has it
)

// statesOf returns what the lines of a text were in the old one.
func statesOf(was, is, wasPretty []byte) []state {
	old, pretty := lines(was), lines(wasPretty)
	before := make([]state, len(old))
	for i := range before {
		before[i] = rough
	}
	each(aligned(old, pretty), len(old), func(i, j int) {
		if old[i] == pretty[j] {
			before[i] = shaped
		}
	}, nil)
	out := make([]state, len(lines(is)))
	each(Edits("", was, is), len(old), func(i, j int) { out[j] = before[i] }, nil)
	return out
}

// aligned returns the differences of lines, but for white space.
func aligned(a, b []string) []report.Edit {
	bare := func(lines []string) []byte {
		var out []byte
		for _, l := range lines {
			out = append(out, strings.Join(strings.Fields(l), "")+"\n"...)
		}
		return out
	}
	return Edits("", bare(a), bare(b))
}

// each calls both for each of n lines that edits leave alone, with its number and the one that it then has, and changed for the lines
// that they replace, unless it is nil, in order.
func each(edits []report.Edit, n int, both func(i, j int), changed func(from, to, newFrom, newTo int)) {
	i, j := 0, 0
	until := func(end int) {
		for ; i < end; i, j = i+1, j+1 {
			both(i, j)
		}
	}
	for _, e := range edits {
		until(e.StartLine - 1)
		from, newFrom := i, j
		i, j = e.EndLine-1, j+len(slices.Collect(strings.Lines(e.New)))
		if changed != nil {
			changed(from, i, newFrom, j)
		}
	}
	until(n)
}

// join takes lines from a text, or from the same as gofmt has it.
func join(is, pretty []string, states []state) []byte {
	var out []byte
	write := func(lines []string) {
		for _, l := range lines {
			out = append(out, l...)
		}
	}
	each(aligned(is, pretty), len(is), func(i, j int) {
		if states[i] == rough {
			write(is[i : i+1])
		} else {
			write(pretty[j : j+1])
		}
	}, func(from, to, newFrom, newTo int) {
		takes := slices.ContainsFunc(states[from:to], func(s state) bool { return s != rough })
		if from == to { // what gofmt adds belongs to the lines beside it
			takes = slices.Contains(states[max(from-1, 0):min(to+1, len(states))], fresh)
		}
		if takes {
			write(pretty[newFrom:newTo])
		} else {
			write(is[from:to])
		}
	})
	return out
}
