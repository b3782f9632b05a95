package profileview

import (
	"errors"
	"fmt"

	"github.com/hone-perf/hone/internal/calls"
	"github.com/hone-perf/hone/internal/hint"
	"github.com/hone-perf/hone/internal/profile"
	"github.com/hone-perf/hone/internal/query"
	"github.com/hone-perf/hone/internal/recording"
	"github.com/hone-perf/hone/internal/report"
)

// Info shows what is in a profile, as it is: no filter applies. It answers for profiles without samples too.
func Info(in []*recording.Recording, q query.Query) (report.Report, error) {
	if len(in) == 0 {
		return nil, errors.New("nothing to look at: name a profile")
	}
	if q.Privacy {
		return privacy(in[0])
	}
	p, err := profileOf(in[0])
	if err != nil {
		return nil, err
	}
	out := &report.Info{
		Samples:    p.NumSamples(),
		Locations:  len(p.Locations),
		Functions:  len(p.Functions),
		Contexts:   p.NumStacks(),
		Labels:     labelKeys(p),
		Period:     p.Period,
		PeriodType: p.PeriodType.Type,
		PeriodUnit: p.PeriodType.Unit,
		DropFrames: p.DropFrames,
		KeepFrames: p.KeepFrames,
		Traces:     report.NewTraceTimes(in[0].Traces(), query.Span{}),
	}
	if m := in[0].Manifest; m != nil {
		out.Machine = m.Machine
	}
	if k, err := p.SampleIndex(""); err == nil && k >= 0 {
		out.Head = headOf(p, k, query.Query{})
		out.Total = calls.Measure{Profile: p, Type: k}.Total()
		for i, t := range p.SampleTypes {
			sum := int64(0)
			for _, v := range p.Values(i) {
				sum += v
			}
			out.Types = append(out.Types, report.TypeTotal{Type: t.Type, Unit: t.Unit, Total: sum, Default: i == k})
		}
	} else {
		out.Head = report.Head{Comments: p.Comments, Doc: p.DocURL, Time: p.TimeNanos, Duration: p.DurationNanos, Notes: hint.Said(p.Notes...)}
	}
	note := func(format string, args ...any) {
		out.Notes.Add(fmt.Sprintf(format, args...))
	}
	unnamed := 0
	out.Mappings, unnamed = mappings(p)
	if p.NumSamples() == 0 {
		note("the profile has no samples")
	}
	if unnamed > 0 {
		note("%d of %d locations have no function name", unnamed, len(p.Locations))
	}
	return out, nil
}

// profileOf returns the profile of a recording.
func profileOf(r *recording.Recording) (*profile.Profile, error) {
	if r.Profile == nil {
		return nil, fmt.Errorf("%s has no profile", r.Ref)
	}
	return r.Profile, nil
}

// mostLabels is how many keys of labels are listed where they are not what is asked for. The view tags has them all.
const mostLabels = 10_000

// labelKeys returns the keys of the labels that samples have, in order.
func labelKeys(p *profile.Profile) []string {
	used := make([]bool, len(p.LabelSets()))
	for i := range p.NumSamples() {
		used[p.Label(i)] = true
	}
	keys := make(map[string]bool)
	for i, s := range p.LabelSets() {
		for _, l := range s {
			if used[i] {
				keys[l.Key] = true
			}
		}
	}
	out := sortedKeys(keys)
	return out[:min(len(out), mostLabels)]
}

// mappings returns the programs and libraries of p, and how many locations have no function name, in them or not.
func mappings(p *profile.Profile) (list []report.MappingInfo, unnamed int) {
	without := make([]int, len(p.Mappings))
	for _, m := range p.Mappings {
		list = append(list, report.MappingInfo{File: m.File, BuildID: m.Build(), Start: m.Start, Limit: m.Limit})
	}
	for i := range p.Locations {
		l := &p.Locations[i]
		named := len(l.Lines) > 0 && p.Functions[l.Lines[0].Function].Name != ""
		if !named {
			unnamed++
		}
		if l.Mapping == profile.NoMapping {
			continue
		}
		list[l.Mapping].Locations++
		if !named {
			without[l.Mapping]++
		}
	}
	for i, m := range p.Mappings {
		list[i].Named = without[i] == 0 && (list[i].Locations > 0 || m.HasFunctions)
	}
	return list, unnamed
}
