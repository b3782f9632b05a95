package profile

import (
	"bytes"
	"errors"
	"fmt"
	"strings"

	pprof "github.com/google/pprof/profile"
)

// parseLegacy reads the text and binary forms that came before profile.proto. They are rare and small, so the
// library that defines how to read them does so.
func parseLegacy(data []byte) (p *Profile, err error) {
	defer func() {
		// The library has crashed on hostile input before.
		if r := recover(); r != nil {
			p, err = nil, &FormatError{Doing: "parsing profile", Err: fmt.Errorf("malformed input: %v", r)}
		}
	}()
	if bytes.HasPrefix(data, []byte{0x1f, 0x8b}) {
		return nil, errUnrecognized // the library would unpack once more
	}
	lp, err := pprof.ParseData(data)
	if err != nil {
		doing, what, ok := strings.Cut(err.Error(), ": ")
		switch {
		case !ok:
			return nil, &FormatError{Doing: "parsing profile", Err: err}
		case what == errUnrecognized.Error():
			return nil, errUnrecognized
		}
		return nil, &FormatError{Doing: doing, Err: errors.New(what)}
	}
	return fromLibrary(lp)
}

// fromLibrary converts a profile of the pprof library.
func fromLibrary(lp *pprof.Profile) (*Profile, error) {
	h := Header{
		DefaultType:   lp.DefaultSampleType,
		DropFrames:    lp.DropFrames,
		KeepFrames:    lp.KeepFrames,
		TimeNanos:     lp.TimeNanos,
		DurationNanos: lp.DurationNanos,
		Period:        lp.Period,
		Comments:      lp.Comments,
		DocURL:        lp.DocURL,
	}
	for _, t := range lp.SampleType {
		h.SampleTypes = append(h.SampleTypes, ValueType{t.Type, t.Unit})
	}
	if lp.PeriodType != nil {
		h.PeriodType = ValueType{lp.PeriodType.Type, lp.PeriodType.Unit}
	}
	b := NewBuilder(h)
	mappings := make(map[*pprof.Mapping]int32)
	for i, m := range lp.Mapping {
		mappings[m] = int32(i)
		b.Mappings = append(b.Mappings, Mapping{
			ID: m.ID, Start: m.Start, Limit: m.Limit, Offset: m.Offset, File: m.File, BuildID: m.BuildID,
			HasFunctions: m.HasFunctions, HasFilenames: m.HasFilenames,
			HasLineNumbers: m.HasLineNumbers, HasInlineFrames: m.HasInlineFrames,
		})
	}
	functions := make(map[*pprof.Function]uint32)
	for i, f := range lp.Function {
		functions[f] = uint32(i)
		b.Functions = append(b.Functions, Function{f.ID, f.Name, f.SystemName, f.Filename, f.StartLine})
	}
	locations := make(map[*pprof.Location]uint32)
	for i, l := range lp.Location {
		locations[l] = uint32(i)
		loc := Location{ID: l.ID, Mapping: NoMapping, Folded: l.IsFolded, Address: l.Address}
		if l.Mapping != nil {
			loc.Mapping = mappings[l.Mapping]
		}
		for _, ln := range l.Line {
			loc.Lines = append(loc.Lines, Line{functions[ln.Function], ln.Line, ln.Column})
		}
		b.Locations = append(b.Locations, loc)
	}
	var stack []uint32
	for _, s := range lp.Sample {
		stack = stack[:0]
		for _, l := range s.Location {
			stack = append(stack, locations[l])
		}
		var labels []Label
		for k, vs := range s.Label {
			for _, v := range vs {
				labels = append(labels, Label{Key: k, Str: v})
			}
		}
		for k, vs := range s.NumLabel {
			units := s.NumUnit[k]
			for i, v := range vs {
				l := Label{Key: k, Numeric: true, Num: v, HasUnit: len(units) > 0}
				if i < len(units) {
					l.Unit = units[i]
				}
				labels = append(labels, l)
			}
		}
		b.Add(stack, b.Labels(labels), s.Value)
	}
	return b.Profile()
}
