package querier

import (
	"maps"
	"slices"
	"strings"

	"github.com/hone-perf/hone/internal/fleet/connect"
	"github.com/hone-perf/hone/internal/order"
	"github.com/hone-perf/hone/internal/profile"
	"github.com/hone-perf/hone/internal/store"
)

// A typeRef is a profile type as a client names it.
type typeRef struct {
	kind string
	typ  profile.ValueType
}

// full returns all that there is to say about the type.
func (r typeRef) full() profileType { return typeOf(r.kind, r.typ) }

// kindNames are Pyroscope's names for the kinds of the store that have other ones there.
var kindNames = map[string]string{"cpu": "process_cpu", "heap": "memory"}

// periods are what profiles of Go say is between two samples. The store does not keep it for each series.
var periods = map[string]profile.ValueType{
	"cpu":           {Type: "cpu", Unit: "nanoseconds"},
	"heap":          {Type: "space", Unit: "bytes"},
	"goroutine":     {Type: "goroutine", Unit: "count"},
	"goroutineleak": {Type: "goroutineleak", Unit: "count"},
	"threadcreate":  {Type: "threadcreate", Unit: "count"},
	"mutex":         {Type: "contentions", Unit: "count"},
	"block":         {Type: "contentions", Unit: "count"},
	"wall":          {Type: "wall", Unit: "nanoseconds"},
}

func typeOf(kind string, t profile.ValueType) profileType {
	name := kind
	if n := kindNames[kind]; n != "" {
		name = n
	}
	period := periods[kind]
	return profileType{
		ID:   strings.Join([]string{name, t.Type, t.Unit, period.Type, period.Unit}, ":"),
		Name: name, SampleType: t.Type, SampleUnit: t.Unit, PeriodType: period.Type, PeriodUnit: period.Unit,
	}
}

func typesOfSeries(s *store.Series) (out []profileType) {
	for _, t := range s.Types {
		out = append(out, typeOf(s.Kind, t))
	}
	return out
}

// parseType reads process_cpu:cpu:nanoseconds:cpu:nanoseconds. What it says about the period does not matter.
func parseType(id string) (typeRef, error) {
	parts := strings.Split(id, ":")
	if len(parts) != 5 && len(parts) != 6 || parts[0] == "" || parts[1] == "" {
		return typeRef{}, connect.Errorf(connect.InvalidArgument,
			"profile-type selection must be of the form <name>:<sample-type>:<sample-unit>:<period-type>:<period-unit>(:delta), got(%d): %q", len(parts), profile.Shorten(id, 200))
	}
	kind := parts[0]
	for k, name := range kindNames {
		if name == kind {
			kind = k
		}
	}
	return typeRef{kind, profile.ValueType{Type: parts[1], Unit: parts[2]}}, nil
}

// virtual are the labels that Pyroscope gives to series because of their type. The last one is all of it.
var virtual = map[string]func(t profileType) string{
	"__name__":         func(t profileType) string { return t.Name },
	"__type__":         func(t profileType) string { return t.SampleType },
	"__unit__":         func(t profileType) string { return t.SampleUnit },
	"__period_type__":  func(t profileType) string { return t.PeriodType },
	"__period_unit__":  func(t profileType) string { return t.PeriodUnit },
	"__profile_type__": func(t profileType) string { return t.ID },
}

// parseSelector reads a selector as Prometheus writes it: a name, which may be left out, and labels in braces. Grafana puts a profile
// type where the name is.
func parseSelector(text string) (store.Selector, error) {
	name, rest, found := strings.Cut(strings.TrimSpace(text), "{")
	if found {
		rest = "{" + rest
	}
	sel, err := store.ParseSelector(rest)
	if err != nil {
		return nil, connect.Errorf(connect.InvalidArgument, "%v", err)
	}
	switch name = strings.TrimSpace(name); {
	case name == "":
	case strings.Contains(name, ":"):
		sel = append(sel, store.Matcher{Name: "__profile_type__", Op: store.Is, Value: name})
	default:
		sel = append(sel, store.Matcher{Name: "__name__", Op: store.Is, Value: name})
	}
	return sel, nil
}

// split parts a selector into what the store knows, and what is about types.
func split(sel store.Selector) (real, about store.Selector) {
	for _, m := range sel {
		if virtual[m.Name] != nil {
			about = append(about, m)
		} else {
			real = append(real, m)
		}
	}
	return real, about
}

func matchType(about store.Selector, t profileType) bool {
	for i := range about {
		if !about[i].Match(virtual[about[i].Name](t)) {
			return false
		}
	}
	return true
}

// A part is a question that the store can answer.
type part struct {
	store.Query
	types []profileType // that are meant, where that makes a difference
}

// parts returns the questions that selectors stand for; what one of them selects is meant.
func (s *Server) parts(c *call, matchers []string, start, end int64) ([]part, error) {
	if len(matchers) == 0 {
		matchers = []string{"{}"}
	}
	if len(matchers) > 100 {
		return nil, connect.Errorf(connect.InvalidArgument, "there are %d selectors, more than 100", len(matchers))
	}
	var out []part
	for _, text := range matchers {
		sel, err := parseSelector(text)
		if err != nil {
			return nil, err
		}
		q := s.between(c, start, end)
		var about store.Selector
		q.Selector, about = split(sel)
		if len(about) == 0 {
			out = append(out, part{Query: q})
			continue
		}
		// Which kinds are meant is for the series to say.
		all, err := s.opt.Store.Series(c.ctx, q)
		if err != nil {
			return nil, err
		}
		kinds := map[string][]profileType{}
		for i := range all {
			if kinds[all[i].Kind] != nil {
				continue
			}
			for _, t := range typesOfSeries(&all[i]) {
				if matchType(about, t) {
					kinds[all[i].Kind] = append(kinds[all[i].Kind], t)
				}
			}
		}
		for _, kind := range slices.Sorted(maps.Keys(kinds)) {
			one := part{q, kinds[kind]}
			one.Kind = kind
			out = append(out, one)
		}
	}
	return out, nil
}

func (s *Server) labelNames(c *call) error {
	var m labelNamesRequest
	if err := c.decode(&m); err != nil {
		return err
	}
	parts, err := s.parts(c, m.Matchers, m.Start, m.End)
	if err != nil {
		return err
	}
	names := map[string]bool{}
	for _, p := range parts {
		got, err := s.opt.Store.Names(c.ctx, p.Query)
		if err != nil {
			return err
		}
		for _, n := range got {
			names[n] = true
		}
	}
	if len(names) > 0 {
		for n := range virtual {
			names[n] = true
		}
	}
	return c.answer(&namesResponse{slices.Sorted(maps.Keys(names))})
}

// maxValues is how many values of a label are listed.
const maxValues = 10_000

func (s *Server) labelValues(c *call) error {
	var m labelValuesRequest
	if err := c.decode(&m); err != nil {
		return err
	}
	if m.Name == "" {
		return connect.Errorf(connect.InvalidArgument, "name is required")
	}
	parts, err := s.parts(c, m.Matchers, m.Start, m.End)
	if err != nil {
		return err
	}
	values := map[string]bool{}
	for _, p := range parts {
		of := virtual[m.Name]
		if of == nil {
			got, _, err := s.opt.Store.Values(c.ctx, p.Query, m.Name, "", maxValues)
			if err != nil {
				return err
			}
			for _, v := range got {
				values[v] = true
			}
			continue
		}
		types := p.types
		if types == nil {
			all, err := s.opt.Store.Series(c.ctx, p.Query)
			if err != nil {
				return err
			}
			types = typesOf(all)
		}
		for _, t := range types {
			if v := of(t); v != "" {
				values[v] = true
			}
		}
	}
	out := slices.Sorted(maps.Keys(values))
	return c.answer(&namesResponse{out[:min(len(out), maxValues)]})
}

// series lists sets of labels. Labels of single profiles are none of their series.
func (s *Server) series(c *call) error {
	var m seriesRequest
	if err := c.decode(&m); err != nil {
		return err
	}
	parts, err := s.parts(c, m.Matchers, m.Start, m.End)
	if err != nil {
		return err
	}
	wanted := func(name string) bool { return len(m.LabelNames) == 0 || slices.Contains(m.LabelNames, name) }
	seen := map[string]bool{}
	var out seriesResponse
	for _, p := range parts {
		all, err := s.opt.Store.Series(c.ctx, p.Query)
		if err != nil {
			return err
		}
		for i := range all {
			types := typesOfSeries(&all[i])
			for _, t := range types {
				if p.types != nil && !slices.Contains(p.types, t) {
					continue
				}
				labels := all[i].Labels.With(store.Labels{{Name: store.ServiceLabel, Value: all[i].Service}})
				for name, of := range virtual {
					labels = append(labels, store.Label{Name: name, Value: of(t)})
				}
				var set labelSet
				for _, l := range store.NewLabels(labels...) {
					if wanted(l.Name) {
						set.Labels = append(set.Labels, labelPair(l))
					}
				}
				var key strings.Builder
				for _, l := range set.Labels {
					key.WriteString(l.Name + "\x00" + l.Value + "\x00")
				}
				if len(set.Labels) > 0 && !seen[key.String()] {
					seen[key.String()] = true
					out.LabelsSet = append(out.LabelsSet, set)
				}
			}
		}
	}
	order.Stable(out.LabelsSet, func(a, b labelSet) int {
		return slices.CompareFunc(a.Labels, b.Labels, func(a, b labelPair) int {
			return strings.Compare(a.Name+"\x00"+a.Value, b.Name+"\x00"+b.Value)
		})
	})
	return c.answer(&out)
}
