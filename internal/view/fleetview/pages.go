package fleetview

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/hone-perf/hone/internal/order"
	"github.com/hone-perf/hone/internal/profile"
	"github.com/hone-perf/hone/internal/recording"
	"github.com/hone-perf/hone/internal/report"
	"github.com/hone-perf/hone/internal/store"
)

// A Measure is something that services cost, and where it is in their profiles.
type Measure struct {
	report.FleetMeasure
	Kind, Type string
}

// Measures are all that pages show over time.
var Measures = []Measure{
	{report.FleetMeasure{Name: "cores", Doc: "CPU", Unit: "cores", Metric: "cpu"}, recording.CPU, "cpu"},
	{report.FleetMeasure{Name: "allocated", Doc: "Allocation rate", Unit: "bytes/s", Metric: "heap:alloc_space"}, recording.Heap, "alloc_space"},
	{report.FleetMeasure{Name: "live", Doc: "Live heap", Unit: "bytes", Metric: "heap"}, recording.Heap, "inuse_space"},
	{report.FleetMeasure{Name: "goroutines", Doc: "Goroutines", Unit: "count", Metric: "goroutine"}, recording.Goroutine, "goroutine"},
	{report.FleetMeasure{Name: "rss", Doc: "Resident memory", Unit: "bytes"}, recording.Process, "rss"},
	{report.FleetMeasure{Name: "requests", Doc: "Requests", Unit: "1/s"}, recording.Process, "requests"},
}

// Nearest returns the name of the measure over time that is nearest to the metric of a profile view.
func Nearest(metric string) string {
	kind, typ, _ := strings.Cut(metric, ":")
	switch {
	case strings.HasPrefix(cmp.Or(typ, kind), "alloc"):
		return "allocated"
	case kind == recording.Heap, strings.HasPrefix(kind, "inuse"):
		return "live"
	case kind == recording.Goroutine:
		return "goroutines"
	}
	return "cores"
}

// Find returns the measure with a name among those with series, the first one if the name is "", or nil.
func Find(name string, series []store.Series) *Measure {
	for i := range Measures {
		if m := &Measures[i]; (name == "" || m.Name == name) && m.in(series) {
			return m
		}
	}
	return nil
}

// FindSingle returns the first measure with series that one profile has, or nil.
func FindSingle(series []store.Series) *Measure {
	for i := range Measures {
		if m := &Measures[i]; !m.Grows() && m.in(series) {
			return m
		}
	}
	return nil
}

func (m *Measure) in(series []store.Series) bool {
	return slices.ContainsFunc(series, func(s store.Series) bool { return s.Kind == m.Kind && m.index(s.Types) >= 0 })
}

// Grows reports whether a measure is a counter, which takes two profiles.
func (m *Measure) Grows() bool { return m.Unit == "bytes/s" || m.Unit == "1/s" }

func (m *Measure) index(types []profile.ValueType) int {
	return slices.IndexFunc(types, func(t profile.ValueType) bool { return t.Type == m.Type })
}

// measuresOf returns the measures with series.
func measuresOf(series []store.Series) []report.FleetMeasure {
	out := []report.FleetMeasure{}
	for i := range Measures {
		if Measures[i].in(series) {
			out = append(out, Measures[i].FleetMeasure)
		}
	}
	return out
}

// DeployLabels identify deploys.
var DeployLabels = []string{store.ServiceLabel, "version", store.BuildLabel}

// Deploys returns the deploys of services: versions and builds that begin after others. The lines are by DeployLabels.
func Deploys(lines []store.Line, step time.Duration) map[string][]report.Deploy {
	type version struct {
		name, selector string
		first, last    time.Time
	}
	all := map[string][]version{}
	for _, l := range lines {
		if len(l.Points) == 0 {
			continue
		}
		label, name := "version", l.Labels.Get("version")
		if name == "" {
			label, name = store.BuildLabel, l.Labels.Get(store.BuildLabel)
		}
		service := l.Labels.Get(store.ServiceLabel)
		selector := with(store.Service(service), label, store.Is, name).String()
		if label == store.BuildLabel {
			name = profile.Shorten(name, 16)
		}
		first, last := l.Points[0].Time, l.Points[len(l.Points)-1].Time
		i := slices.IndexFunc(all[service], func(v version) bool { return v.selector == selector })
		if i < 0 {
			all[service] = append(all[service], version{name, selector, first, last})
			continue
		}
		v := &all[service][i]
		if first.Before(v.first) {
			v.first = first
		}
		if last.After(v.last) {
			v.last = last
		}
	}
	out := map[string][]report.Deploy{}
	for service, list := range all {
		order.Stable(list, func(a, b version) int { return cmp.Or(a.first.Compare(b.first), cmp.Compare(a.name, b.name)) })
		for i, v := range list {
			if i == 0 || !v.first.After(list[0].first) || v.name == "" {
				continue
			}
			out[service] = append(out[service], report.Deploy{
				At: v.first.UnixMilli(), Version: v.name, Before: list[i-1].name, Selector: v.selector, Base: list[i-1].selector,
			})
		}
	}
	return out
}

// mostDeploys is the maximum number of marked deploys: more would merge into a gray area.
const mostDeploys = 50

// ServiceTimes says what services cost over time, for a page. The totals are by service, those of deploys by DeployLabels, and earlier has the CPU totals
// of the time before, which is as long.
func ServiceTimes(totals Totals, earlier, deploys []store.Line, series []store.Series, w Window) *report.FleetServices {
	out := &report.FleetServices{From: w.From.UnixMilli(), To: w.To.UnixMilli(), Services: []report.FleetService{}, Any: len(series) > 0}
	lines := map[string]map[string]line{} // by measure and service
	for i := range Measures {
		lines[Measures[i].Name] = linesOf(totals[Measures[i].Kind], &Measures[i])
	}
	marks := Deploys(deploys, w.Step)
	for _, r := range Services(totals, earlier, series, w).Rows {
		s := report.FleetService{ServiceRow: r, Selector: store.Service(r.Service).String(), Deploys: marks[r.Service], Lines: []report.Spark{}}
		s.Deploys = s.Deploys[max(0, len(s.Deploys)-mostDeploys):]
		for _, m := range Measures {
			if l := lines[m.Name][r.Service]; len(l) > 0 {
				s.Lines = append(s.Lines, report.Spark{Of: m.Name, Points: l.points(false, w)})
			}
		}
		out.Cores += r.Cores
		out.Services = append(out.Services, s)
	}
	return out
}

// mostLines is how many values of a label have a line of their own.
const mostLines = 8

// Graph says how a measure of a selection went over time. The totals are by a label, and those of deploys by DeployLabels; the series are those of the
// selection.
func Graph(of *report.Selection, at store.Ref, m *Measure, by string, totals, deploys []store.Line, series []store.Series, w Window) *report.FleetGraph {
	out := &report.FleetGraph{
		Selection: *of, Measures: measuresOf(series), Of: m.Name, Unit: m.Unit, By: by, Step: w.Step.Milliseconds(), Lines: []report.GraphLine{}, Any: true,
	}
	for _, s := range series {
		out.Profiles += s.Profiles
	}
	byValue := map[string]line{}
	all := 0.0
	for _, t := range totals {
		value := t.Labels.Get(by)
		if byValue[value] == nil {
			byValue[value] = line{}
		}
		byValue[value].add(t, m)
	}
	for _, l := range byValue {
		all += l.sum()
	}
	names := slices.Collect(maps.Keys(byValue))
	slices.SortFunc(names, func(a, b string) int {
		return cmp.Or(cmp.Compare(byValue[b].sum(), byValue[a].sum()), cmp.Compare(a, b))
	})
	add := func(name, selector string, l line) {
		if len(l) == 0 {
			return
		}
		g := report.GraphLine{Name: name, Selector: selector, Points: l.points(by != "", w), Mean: l.mean(w)}
		for _, p := range g.Points {
			g.Max = max(g.Max, p[1])
		}
		if all > 0 {
			g.Share = l.sum() / all
		}
		out.Lines = append(out.Lines, g)
	}
	rest := line{}
	for i, name := range names {
		switch {
		case by == "":
			add(m.Doc, of.Selector, byValue[name])
		case i < mostLines:
			add(cmp.Or(name, "without "+by), with(at.Selector, by, store.Is, name).String(), byValue[name])
		default:
			out.Rest++
			for at, a := range byValue[name] {
				rest.put(at, a)
			}
		}
	}
	if out.Rest > 0 {
		add("others", "", rest)
	}
	for _, list := range Deploys(deploys, w.Step) {
		out.Deploys = append(out.Deploys, list...)
	}
	order.Stable(out.Deploys, func(a, b report.Deploy) int { return cmp.Compare(a.At, b.At) })
	out.Deploys = out.Deploys[max(0, len(out.Deploys)-mostDeploys):]
	return out
}

// with returns a selector with one more matcher, in place of those of the same label.
func with(s store.Selector, name string, op store.Op, value string) store.Selector {
	out := slices.DeleteFunc(slices.Clone(s), func(m store.Matcher) bool {
		return m.Name == name && (op == store.Is || m.Op == op && m.Value == value)
	})
	m, err := store.NewMatcher(name, op, value)
	if err != nil {
		return out // cannot happen: the value is not a pattern
	}
	return append(out, m)
}

// Selected returns the selection of a ref, with or without its prefix.
func Selected(text string, now time.Time) (*report.Selection, store.Ref, error) {
	text = strings.TrimPrefix(text, store.RefPrefix)
	at, err := store.ParseRef(text, now)
	if err != nil {
		return nil, at, err
	}
	_, times := store.SplitRef(text)
	out := &report.Selection{
		Ref: store.RefPrefix + text, Selector: at.Selector.String(), Time: times, From: at.From.UnixMilli(), To: at.To.UnixMilli(), Matchers: []report.Matcher{},
	}
	out.Service, _ = at.Selector.Only(store.ServiceLabel)
	for i, m := range at.Selector {
		switch {
		case m.Name == store.ServiceLabel && m.Op == store.Is:
			continue
		case m.Name == store.ProfileLabel && m.Op == store.Is:
			out.Profile = m.Value
		}
		rest := slices.Delete(slices.Clone(at.Selector), i, i+1)
		without := ""
		if len(rest) > 0 {
			without = rest.String()
		}
		out.Matchers = append(out.Matchers, report.Matcher{Name: m.Name, Op: string(m.Op), Value: m.Value, Without: without})
	}
	return out, at, nil
}

// mostValues is how many values of a label are listed.
const mostValues = 50

// Labels says what values of labels have of a measure. The totals are by label, of all the time.
func Labels(of *report.Selection, at store.Ref, m *Measure, names []string, totals [][]store.Line) *report.FleetLabels {
	out := &report.FleetLabels{Selection: *of, Of: m.Name, Labels: []report.LabelShare{}}
	for i, name := range names {
		values := map[string]float64{}
		all := 0.0
		for _, t := range totals[i] {
			l := line{}
			l.add(t, m)
			values[t.Labels.Get(name)] += l.sum()
			all += l.sum()
		}
		share := report.LabelShare{Name: name, Values: []report.ValueShare{}}
		for value, v := range values {
			one := report.ValueShare{Value: value, Only: with(at.Selector, name, store.Is, value).String(), Except: with(at.Selector, name, store.IsNot, value).String()}
			if all > 0 {
				one.Share = v / all
			}
			share.Values = append(share.Values, one)
		}
		order.Stable(share.Values, func(a, b report.ValueShare) int {
			return cmp.Or(cmp.Compare(b.Share, a.Share), cmp.Compare(a.Value, b.Value))
		})
		share.Rest = max(0, len(share.Values)-mostValues)
		share.Values = share.Values[:len(share.Values)-share.Rest]
		out.Labels = append(out.Labels, share)
	}
	return out
}

// Limits of a heat map.
const (
	mostRows    = 40
	rangeRows   = 12
	mostHighest = 20
)

// Heat says when single profiles had which value: a row for each value of a label, or, when by is "", for each range of values.
func Heat(of *report.Selection, at store.Ref, m *Measure, by string, entries []store.Entry, more bool, series []store.Series, w Window) *report.FleetHeat {
	out := &report.FleetHeat{
		Selection: *of, Measures: []report.FleetMeasure{}, Of: m.Name, Unit: m.Unit, By: by, Labels: []string{}, Step: w.Step.Milliseconds(),
		Columns: int((w.To.Sub(w.From) + w.Step - 1) / w.Step), Rows: []report.HeatRow{}, More: more, Highest: []report.HeatProfile{},
	}
	for i := range Measures {
		if one := &Measures[i]; !one.Grows() && one.in(series) {
			out.Measures = append(out.Measures, one.FleetMeasure)
		}
	}
	type one struct {
		report.HeatProfile
		row    string
		column int
	}
	var all []one
	values := map[string]map[string]bool{}
	most := 0.0
	for _, e := range entries {
		k := m.index(e.Types)
		if k < 0 {
			continue
		}
		v := float64(e.Totals[k])
		if m.Unit == "cores" {
			d := e.End.Sub(e.Start)
			if d <= 0 {
				continue
			}
			v /= float64(d)
		}
		for _, l := range e.Labels {
			if values[l.Name] == nil {
				values[l.Name] = map[string]bool{}
			}
			values[l.Name][l.Value] = true
		}
		start := e.Start.UTC().Truncate(time.Second)
		ref := store.Ref{Selector: with(store.Service(e.Service), store.ProfileLabel, store.Is, e.ID.String()), From: start, To: start.Add(time.Second)}
		row := e.Labels.Get(by)
		all = append(all, one{
			report.HeatProfile{Ref: store.RefPrefix + ref.String(), At: e.Start.UnixMilli(), Value: v, Labels: e.Labels.String()},
			row, min(max(int(e.Start.Sub(w.From)/w.Step), 0), out.Columns-1),
		})
		most = max(most, v)
	}
	out.Profiles = len(all)
	for _, name := range slices.Sorted(maps.Keys(values)) {
		if len(values[name]) > 1 || name == by {
			out.Labels = append(out.Labels, name)
		}
	}
	rows := map[string]*report.HeatRow{}
	var listed []*report.HeatRow
	row := func(name string) *report.HeatRow {
		r := rows[name]
		if r == nil {
			r = &report.HeatRow{Name: name, Cells: []report.HeatCell{}}
			rows[name] = r
			listed = append(listed, r)
		}
		return r
	}
	ranges := make([]*report.HeatRow, rangeRows)
	if by == "" {
		for i := range ranges {
			ranges[i] = &report.HeatRow{Low: most / rangeRows * float64(i), High: most / rangeRows * float64(i+1), Cells: []report.HeatCell{}}
		}
		if listed = ranges; len(all) == 0 {
			listed = nil
		}
	}
	order.Stable(all, func(a, b one) int { return cmp.Compare(a.column, b.column) })
	sums := map[*report.HeatRow]float64{}
	for _, p := range all {
		var r *report.HeatRow
		if by != "" {
			r = row(p.row)
		} else if most > 0 {
			r = ranges[min(int(p.Value/most*rangeRows), rangeRows-1)]
		} else {
			r = ranges[0]
		}
		n := len(r.Cells)
		if n == 0 || r.Cells[n-1].Column != p.column {
			r.Cells = append(r.Cells, report.HeatCell{Column: p.column, Highest: p.HeatProfile})
			n++
		}
		c := &r.Cells[n-1]
		c.N++
		if p.Value > c.Highest.Value {
			c.Highest = p.HeatProfile
		}
		if c.Heat = float64(c.N); by != "" {
			c.Heat = c.Highest.Value
		}
		sums[r] = max(sums[r], p.Value)
	}
	if by == "" {
		slices.Reverse(listed) // the highest values are above
	} else {
		order.Stable(listed, func(a, b *report.HeatRow) int {
			return cmp.Or(cmp.Compare(sums[b], sums[a]), cmp.Compare(a.Name, b.Name))
		})
		out.Rest = max(0, len(listed)-mostRows)
		listed = listed[:len(listed)-out.Rest]
	}
	for _, r := range listed {
		for _, c := range r.Cells {
			out.Max = max(out.Max, c.Heat)
		}
		out.Rows = append(out.Rows, *r)
	}
	order.Stable(all, func(a, b one) int { return cmp.Or(cmp.Compare(b.Value, a.Value), cmp.Compare(b.At, a.At)) })
	for _, p := range all[:min(len(all), mostHighest)] {
		out.Highest = append(out.Highest, p.HeatProfile)
	}
	return out
}

// mostVersions is how many versions are offered to compare with.
const mostVersions = 6

// Bases says what a selection can be compared with: earlier times, and versions against those before. The versions are in the order in which they came.
func Bases(of *report.Selection, at store.Ref, versions []string) *report.FleetBases {
	out := &report.FleetBases{Selection: *of, Bases: []report.FleetBase{}}
	if of.Profile == "" {
		length := at.To.Sub(at.From)
		past := func(title string, by time.Duration) {
			base := store.Ref{Selector: at.Selector, From: at.From.Add(-by), To: at.To.Add(-by)}
			out.Bases = append(out.Bases, report.FleetBase{Title: title, Ref: of.Ref, Base: store.RefPrefix + base.String()})
		}
		past("the time before it", length)
		for _, p := range []struct {
			title string
			by    time.Duration
		}{{"the same time yesterday", 24 * time.Hour}, {"the same time last week", 7 * 24 * time.Hour}} {
			if length < p.by {
				past(p.title, p.by)
			}
		}
	}
	times := ""
	if of.Time != "" {
		times = "@" + of.Time
	}
	for i := len(versions) - 1; i > 0 && len(versions)-i <= mostVersions; i-- {
		ref := store.RefPrefix + with(at.Selector, "version", store.Is, versions[i]).String() + times
		base := store.RefPrefix + with(at.Selector, "version", store.Is, versions[i-1]).String() + times
		out.Bases = append(out.Bases, report.FleetBase{Title: "version " + versions[i] + " against " + versions[i-1], Ref: ref, Base: base})
	}
	return out
}
