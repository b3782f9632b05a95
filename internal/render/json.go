package render

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"
	"strconv"

	"github.com/hone-perf/hone/internal/hint"
	"github.com/hone-perf/hone/internal/profile"
	"github.com/hone-perf/hone/internal/render/words"
	"github.com/hone-perf/hone/internal/report"
	"github.com/hone-perf/hone/internal/report/missing"
)

// JSON writes r as indented JSON. Lists that can have millions of entries have one entry per line, and it never holds them in memory. It uses only
// the option By.
func JSON(w io.Writer, r report.Report, o Options) error {
	if s, ok := r.(interface {
		Spelled(hint.Speller) report.Report
	}); ok && o.By != nil {
		r = s.Spelled(o.By)
	}
	if s, ok := r.(interface {
		Worded(func(missing.Reason) string) report.Report
	}); ok {
		r = s.Worded(words.Missing)
	}
	switch r := r.(type) {
	case *report.Traces:
		return writeTraces(w, r)
	case *report.Folded:
		return writeFolded(w, r)
	case *report.Raw:
		return writeProfile(w, r)
	case *report.Flame:
		return writeFlame(w, r.JSON())
	case *report.Sandwich:
		return writeSandwich(w, r.JSON())
	}
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	return enc.Encode(r)
}

// A jsonStream writes an object whose last fields are long lists.
type jsonStream struct {
	w    *bufio.Writer
	buf  bytes.Buffer // one entry
	some bool         // the list has an entry already

	opened bool // the object has no field yet, so no comma is needed
}

// encode returns v on one line. The result is valid until the next call.
func (s *jsonStream) encode(v any) ([]byte, error) {
	s.buf.Reset()
	enc := json.NewEncoder(&s.buf)
	enc.SetEscapeHTML(false)
	err := enc.Encode(v)
	return bytes.TrimSuffix(s.buf.Bytes(), []byte("\n")), err
}

// begin writes the fields of head, which has at least one.
func (s *jsonStream) begin(head any) error {
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(head); err != nil {
		return err
	}
	s.w.Write(bytes.TrimSuffix(buf.Bytes(), []byte("\n}\n")))
	return nil
}

func (s *jsonStream) beginList(name string) {
	if !s.opened {
		s.w.WriteByte(',')
	}
	s.w.WriteString("\n  " + strconv.Quote(name) + ": [")
	s.opened, s.some = false, false
}

func (s *jsonStream) entry(b []byte) error {
	if s.some {
		s.w.WriteByte(',')
	}
	s.some = true
	s.w.WriteString("\n    ")
	_, err := s.w.Write(b)
	return err
}

func (s *jsonStream) endList() {
	if s.some {
		s.w.WriteString("\n  ")
	}
	s.w.WriteByte(']')
}

func (s *jsonStream) end() error {
	s.w.WriteString("\n}\n")
	return s.w.Flush()
}

func writeTraces(w io.Writer, t *report.Traces) error {
	s := jsonStream{w: bufio.NewWriterSize(w, 1<<16)}
	head := struct {
		report.Head
		Of int `json:"of"`
	}{t.Head, t.Of}
	if err := s.begin(head); err != nil {
		return err
	}
	s.beginList("traces")
	// Cache frames, because a few of them appear again and again.
	frames := make(map[report.TraceFrame]string)
	var line []byte
	for tr := range t.Each {
		line = append(line[:0], `{"value":`...)
		line = strconv.AppendInt(line, tr.Value, 10)
		if len(tr.Labels) > 0 {
			b, err := s.encode(report.Labels(tr.Labels))
			if err != nil {
				return err
			}
			line = append(line, `,"labels":`...)
			line = append(line, b...)
		}
		line = append(line, `,"frames":[`...)
		for i, f := range tr.Frames {
			text, ok := frames[f]
			if !ok {
				b, err := s.encode(f)
				if err != nil {
					return err
				}
				text = string(b)
				frames[f] = text
			}
			if i > 0 {
				line = append(line, ',')
			}
			line = append(line, text...)
		}
		if err := s.entry(append(line, "]}"...)); err != nil {
			return err
		}
	}
	s.endList()
	return s.end()
}

func writeFolded(w io.Writer, f *report.Folded) error {
	s := jsonStream{w: bufio.NewWriterSize(w, 1<<16)}
	if err := s.begin(f.FoldedHead); err != nil {
		return err
	}
	s.beginList("stacks")
	for stack := range f.Each {
		b, err := s.encode(stack)
		if err != nil {
			return err
		}
		if err := s.entry(b); err != nil {
			return err
		}
	}
	s.endList()
	return s.end()
}

func writeFlame(w io.Writer, f report.FlameJSON) error {
	s := jsonStream{w: bufio.NewWriterSize(w, 1<<16)}
	if err := s.begin(f.FlameHead); err != nil {
		return err
	}
	if err := s.columns(f.FlameColumns); err != nil {
		return err
	}
	return s.end()
}

func writeSandwich(w io.Writer, sw report.SandwichJSON) error {
	s := jsonStream{w: bufio.NewWriterSize(w, 1<<16)}
	if err := s.begin(sw.SandwichHead); err != nil {
		return err
	}
	for _, half := range []struct {
		name  string
		calls report.FlameColumns
	}{{"callees", sw.Callees}, {"callers", sw.Callers}} {
		s.w.WriteString(",\n  " + strconv.Quote(half.name) + ": {")
		s.opened = true
		if err := s.columns(half.calls); err != nil {
			return err
		}
		s.w.WriteString("\n  }")
	}
	return s.end()
}

// columns writes each column of the frames, and each row of calls, on its own line.
func (s *jsonStream) columns(c report.FlameColumns) error {
	if !s.opened {
		s.w.WriteByte(',')
	}
	s.opened = false
	s.w.WriteString("\n  \"frames\": {")
	f := &c.Frames
	for i, column := range []struct {
		name   string
		values any
	}{
		{"name", f.Name}, {"file", f.File}, {"line", f.Line}, {"package", f.Package}, {"origin", f.Origin},
		{"files", f.Files}, {"packages", f.Packages}, {"origins", f.Origins},
	} {
		if i > 0 {
			s.w.WriteByte(',')
		}
		b, err := s.encode(column.values)
		if err != nil {
			return err
		}
		s.w.WriteString("\n    " + strconv.Quote(column.name) + ": ")
		s.w.Write(b)
	}
	s.w.WriteString("\n  }")
	return writeList(s, "rows", c.Rows)
}

// writeList writes a list with each entry on its own line.
func writeList[T any](s *jsonStream, name string, list []T) error {
	s.beginList(name)
	for i := range list {
		b, err := s.encode(&list[i])
		if err != nil {
			return err
		}
		if err := s.entry(b); err != nil {
			return err
		}
	}
	s.endList()
	return nil
}

// The entries of a profile, with the field names of profile.proto.
type (
	jsonProfile struct {
		report.Head
		SampleTypes []profile.ValueType `json:"sample_type"`
		DefaultType string              `json:"default_sample_type,omitempty"`
		PeriodType  profile.ValueType   `json:"period_type"`
		Period      int64               `json:"period"`
		DropFrames  string              `json:"drop_frames,omitempty"`
		KeepFrames  string              `json:"keep_frames,omitempty"`
	}
	jsonSample struct {
		Locations []uint64       `json:"location_id"`
		Values    []int64        `json:"value"`
		Labels    []report.Label `json:"label,omitempty"`
	}
	jsonLocation struct {
		ID      uint64     `json:"id"`
		Mapping uint64     `json:"mapping_id,omitempty"`
		Address uint64     `json:"address"`
		Lines   []jsonLine `json:"line,omitempty"`
		Folded  bool       `json:"is_folded,omitempty"`
	}
	jsonLine struct {
		Function uint64 `json:"function_id"`
		Line     int64  `json:"line"`
		Column   int64  `json:"column,omitempty"`
	}
	jsonFunction struct {
		ID         uint64 `json:"id"`
		Name       string `json:"name"`
		SystemName string `json:"system_name,omitempty"`
		File       string `json:"filename,omitempty"`
		StartLine  int64  `json:"start_line,omitempty"`
	}
	jsonMapping struct {
		ID              uint64 `json:"id"`
		Start           uint64 `json:"memory_start"`
		Limit           uint64 `json:"memory_limit"`
		Offset          uint64 `json:"file_offset,omitempty"`
		File            string `json:"filename,omitempty"`
		BuildID         string `json:"build_id,omitempty"`
		HasFunctions    bool   `json:"has_functions,omitempty"`
		HasFilenames    bool   `json:"has_filenames,omitempty"`
		HasLineNumbers  bool   `json:"has_line_numbers,omitempty"`
		HasInlineFrames bool   `json:"has_inline_frames,omitempty"`
	}
)

func writeProfile(w io.Writer, r *report.Raw) error {
	p := r.Profile
	s := jsonStream{w: bufio.NewWriterSize(w, 1<<16)}
	err := s.begin(jsonProfile{r.Head, p.SampleTypes, p.DefaultType, p.PeriodType, p.Period, p.DropFrames, p.KeepFrames})
	if err != nil {
		return err
	}
	var stack []uint32
	sample := jsonSample{Locations: []uint64{}, Values: make([]int64, len(p.SampleTypes))}
	err = list(&s, "sample", p.NumSamples(), func(i int) any {
		stack = p.Stack(i, stack[:0])
		sample.Locations = sample.Locations[:0]
		for _, l := range stack {
			sample.Locations = append(sample.Locations, p.Locations[l].ID)
		}
		for k := range sample.Values {
			sample.Values[k] = p.Values(k)[i]
		}
		sample.Labels = report.Labels(p.LabelSets()[p.Label(i)])
		return &sample
	})
	if err != nil {
		return err
	}
	err = list(&s, "location", len(p.Locations), func(i int) any {
		l := &p.Locations[i]
		out := jsonLocation{ID: l.ID, Address: l.Address, Folded: l.Folded}
		if l.Mapping != profile.NoMapping {
			out.Mapping = p.Mappings[l.Mapping].ID
		}
		for _, ln := range l.Lines {
			out.Lines = append(out.Lines, jsonLine{p.Functions[ln.Function].ID, ln.Line, ln.Column})
		}
		return out
	})
	if err != nil {
		return err
	}
	err = list(&s, "function", len(p.Functions), func(i int) any { return jsonFunction(p.Functions[i]) })
	if err != nil {
		return err
	}
	err = list(&s, "mapping", len(p.Mappings), func(i int) any { return jsonMapping(p.Mappings[i]) })
	if err != nil {
		return err
	}
	return s.end()
}

// list writes n entries.
func list(s *jsonStream, name string, n int, entry func(i int) any) error {
	s.beginList(name)
	for i := range n {
		b, err := s.encode(entry(i))
		if err != nil {
			return err
		}
		if err := s.entry(b); err != nil {
			return err
		}
	}
	s.endList()
	return nil
}
