package render

import (
	"bufio"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/hone-perf/hone/internal/profile"
)

// WriteRaw writes all entries of p in the text format of go tool pprof -raw. Times are local, as in pprof.
func WriteRaw(w io.Writer, p *profile.Profile) error {
	d := dump{w: bufio.NewWriterSize(w, 1<<16), p: p}
	d.header()
	if err := d.samples(); err != nil {
		return err
	}
	d.locations()
	d.mappings()
	return d.w.Flush()
}

// A dump writes a profile as text. It appends each line to a buffer, because a dump has millions of numbers.
type dump struct {
	w    *bufio.Writer
	p    *profile.Profile
	line []byte
}

// end writes the line. w remembers a write error.
func (d *dump) end() {
	d.line = append(d.line, '\n')
	d.w.Write(d.line)
	d.line = d.line[:0]
}

func (d *dump) header() {
	p := d.p
	for _, c := range p.Comments {
		fmt.Fprintf(d.w, "Comment: %s\n", c)
	}
	if p.DocURL != "" {
		fmt.Fprintf(d.w, "Doc: %s\n", p.DocURL)
	}
	fmt.Fprintf(d.w, "PeriodType: %s %s\n", p.PeriodType.Type, p.PeriodType.Unit)
	fmt.Fprintf(d.w, "Period: %d\n", p.Period)
	if p.TimeNanos != 0 {
		fmt.Fprintf(d.w, "Time: %v\n", time.Unix(0, p.TimeNanos))
	}
	if p.DurationNanos != 0 {
		// The precision truncates the text of the duration instead of rounding it.
		fmt.Fprintf(d.w, "Duration: %.4v\n", time.Duration(p.DurationNanos))
	}
}

func (d *dump) samples() error {
	p := d.p
	types := make([]string, len(p.SampleTypes))
	for i, t := range p.SampleTypes {
		types[i] = t.Type + "/" + t.Unit
		if t.Type == p.DefaultType {
			types[i] += "[dflt]"
		}
	}
	fmt.Fprintf(d.w, "Samples:\n%s\n", strings.TrimSpace(strings.Join(types, " ")))

	columns := make([][]int64, len(p.SampleTypes))
	for k := range columns {
		columns[k] = p.Values(k)
	}
	labels := make([]string, len(p.LabelSets()))
	for i, s := range p.LabelSets() {
		labels[i] = rawLabels(s)
	}
	var stack []uint32
	for i := range p.NumSamples() {
		for _, values := range columns {
			d.line = append(d.line, ' ')
			d.line = appendRight(d.line, values[i], 10)
		}
		d.line = append(d.line, ':', ' ')
		stack = p.Stack(i, stack[:0])
		for _, l := range stack {
			d.line = strconv.AppendUint(d.line, p.Locations[l].ID, 10)
			d.line = append(d.line, ' ')
		}
		d.end()
		// Stop after a write error: there may be millions of samples.
		if _, err := d.w.WriteString(labels[p.Label(i)]); err != nil {
			return err
		}
	}
	return nil
}

// rawLabels returns the label lines of a sample: one for text labels and one for numeric labels.
func rawLabels(s profile.LabelSet) string {
	var texts, numbers []string
	for i := 0; i < len(s); {
		end := s.Key(i)
		values := make([]string, 0, end-i)
		for _, l := range s[i:end] {
			switch {
			case !l.Numeric:
				values = append(values, l.Str)
			case l.HasUnit:
				values = append(values, strconv.FormatInt(l.Num, 10)+" "+l.Unit)
			default:
				values = append(values, strconv.FormatInt(l.Num, 10))
			}
		}
		entry := s[i].Key + ":[" + strings.Join(values, " ") + "]"
		if s[i].Numeric {
			numbers = append(numbers, entry)
		} else {
			texts = append(texts, entry)
		}
		i = end
	}
	var b strings.Builder
	for _, entries := range [][]string{texts, numbers} {
		if len(entries) > 0 {
			// Sort the printed labels, not their keys: the order differs because of the ":".
			slices.Sort(entries)
			b.WriteString("                " + strings.Join(entries, " ") + "\n")
		}
	}
	return b.String()
}

func (d *dump) locations() {
	d.w.WriteString("Locations\n")
	for i := range d.p.Locations {
		l := &d.p.Locations[i]
		d.line = appendRight(d.line, l.ID, 6)
		d.line = append(d.line, ": "...)
		d.line = appendHex(d.line, l.Address)
		d.line = append(d.line, ' ')
		if l.Mapping != profile.NoMapping {
			d.line = append(d.line, "M="...)
			d.line = strconv.AppendUint(d.line, d.p.Mappings[l.Mapping].ID, 10)
			d.line = append(d.line, ' ')
		}
		if l.Folded {
			d.line = append(d.line, "[F] "...)
		}
		if len(l.Lines) == 0 {
			d.end()
		}
		for j, ln := range l.Lines {
			if j > 0 {
				d.line = append(d.line, "             "...)
			}
			d.place(ln)
			d.end()
		}
	}
}

func (d *dump) place(ln profile.Line) {
	f := &d.p.Functions[ln.Function]
	b := append(d.line, f.Name...)
	b = append(b, ' ')
	b = append(b, f.File...)
	b = append(b, ':')
	b = strconv.AppendInt(b, ln.Line, 10)
	b = append(b, ':')
	b = strconv.AppendInt(b, ln.Column, 10)
	b = append(b, " s="...)
	b = strconv.AppendInt(b, f.StartLine, 10)
	if f.SystemName != f.Name {
		b = append(b, '(')
		b = append(b, f.SystemName...)
		b = append(b, ')')
	}
	d.line = b
}

func (d *dump) mappings() {
	d.w.WriteString("Mappings\n")
	for _, m := range d.p.Mappings {
		b := strconv.AppendUint(d.line, m.ID, 10)
		b = append(b, ": "...)
		b = appendHex(b, m.Start)
		b = append(b, '/')
		b = appendHex(b, m.Limit)
		b = append(b, '/')
		b = appendHex(b, m.Offset)
		b = append(b, ' ')
		b = append(b, m.File...)
		b = append(b, ' ')
		b = append(b, m.BuildID...)
		b = append(b, ' ')
		for _, known := range []struct {
			set  bool
			mark string
		}{
			{m.HasFunctions, "[FN]"},
			{m.HasFilenames, "[FL]"},
			{m.HasLineNumbers, "[LN]"},
			{m.HasInlineFrames, "[IN]"},
		} {
			if known.set {
				b = append(b, known.mark...)
			}
		}
		d.line = b
		d.end()
	}
}

func appendHex(b []byte, v uint64) []byte { return strconv.AppendUint(append(b, "0x"...), v, 16) }

// appendRight appends v, right-aligned in width columns.
func appendRight[T int64 | uint64](b []byte, v T, width int) []byte {
	var digits [20]byte
	var d []byte
	if v < 0 {
		d = strconv.AppendInt(digits[:0], int64(v), 10)
	} else {
		d = strconv.AppendUint(digits[:0], uint64(v), 10)
	}
	for range width - len(d) {
		b = append(b, ' ')
	}
	return append(b, d...)
}
