package store

import (
	"cmp"
	"slices"
	"strings"

	"github.com/hone-perf/hone/internal/profile"
	"github.com/hone-perf/hone/internal/unit"
)

// A Group is profiles of one service and kind with the same sample types.
type Group struct {
	Service, Kind string
	Types         []profile.ValueType
	Profiles      int
}

// A Common is the groups of profiles that can be added up.
type Common struct {
	Keep   []bool   // by group
	Types  []string // sample types that all of these have
	Damage []error  // about the groups that are left out
}

// Together decides which profiles Merge and Calls add up for q. They are of the kind that their sender said, and have the metric of q. If q names none, they
// have a metric in common with the others that says as much as any of theirs: adding folded stacks to CPU profiles would leave the samples, and lose the CPU time.
func Together(q *Query, groups []Group) Common {
	out := Common{Keep: make([]bool, len(groups))}
	var distinct []*Group // by sample types
	of := make([]*Group, len(groups))
	for i, g := range groups {
		if Misfit(g.Kind, g.Types) != "" {
			out.Damage = append(out.Damage, &MisfitError{Service: g.Service, Kind: g.Kind, Types: g.Types, Profiles: g.Profiles})
			continue
		}
		if q.Metric != (profile.ValueType{}) && !slices.Contains(g.Types, q.Metric) {
			continue
		}
		out.Keep[i] = true
		at := slices.IndexFunc(distinct, func(d *Group) bool { return slices.Equal(d.Types, g.Types) })
		if at < 0 {
			at = len(distinct)
			distinct = append(distinct, &Group{Kind: g.Kind, Types: g.Types})
		}
		of[i] = distinct[at]
		of[i].Profiles += g.Profiles
	}
	if len(distinct) == 0 {
		return out
	}
	slices.SortFunc(distinct, func(a, b *Group) int {
		return cmp.Or(cmp.Compare(metricRank(b.Kind, b.Types), metricRank(a.Kind, a.Types)), cmp.Compare(b.Profiles, a.Profiles),
			strings.Compare(TypesText(a.Types), TypesText(b.Types)))
	})
	kind, common := distinct[0].Kind, distinct[0].Types
	apart := map[*Group]bool{}
	for _, d := range distinct[1:] {
		both := shared(common, d.Types)
		if q.Metric == (profile.ValueType{}) && (len(both) == 0 || metricRank(kind, both) < metricRank(kind, common)) {
			apart[d] = true
			continue
		}
		common = both
	}
	for _, t := range common {
		out.Types = append(out.Types, t.Type)
	}
	type key struct {
		service string
		of      *Group
	}
	left := map[key]*OtherMetricError{}
	for i, g := range groups {
		if !apart[of[i]] {
			continue
		}
		out.Keep[i] = false
		k := key{g.Service, of[i]}
		if left[k] == nil {
			left[k] = &OtherMetricError{Service: g.Service, Types: g.Types, Metrics: common}
			out.Damage = append(out.Damage, left[k])
		}
		left[k].Profiles += g.Profiles
	}
	return out
}

// Has reports whether profiles of a kind with these sample types are among those that were added up.
func (m *Merged) Has(kind string, types []profile.ValueType) bool {
	return Misfit(kind, types) == "" && len(shared(m.Profile.SampleTypes, types)) == len(m.Profile.SampleTypes)
}

// shared returns the sample types that others have, too, in compatible units.
func shared(types, others []profile.ValueType) (both []profile.ValueType) {
	for _, t := range types {
		if slices.ContainsFunc(others, func(o profile.ValueType) bool { return o.Type == t.Type && unit.Compatible(o.Unit, t.Unit) }) {
			both = append(both, t)
		}
	}
	return both
}

// metricRank ranks sample types by how much the best of them says about profiles of a kind.
func metricRank(kind string, types []profile.ValueType) int {
	best := 0
	for _, t := range types {
		rank := 1
		switch {
		case slices.Contains(kindsOf[t.Type], kind):
			rank = 2
		case t.Type == "samples": // any profile may count those
			rank = 0
		}
		best = max(best, rank)
	}
	return best
}

// AddUp adds up profiles that Together keeps.
func (c *Common) AddUp(profiles []*profile.Profile) (*profile.Profile, error) {
	first := profile.ValueType{}
	same := true
	for _, p := range profiles {
		switch t := p.PeriodType; {
		case t == profile.ValueType{}:
		case first == profile.ValueType{}:
			first = t
		default:
			same = same && t.Type == first.Type && unit.Compatible(t.Unit, first.Unit)
		}
	}
	reduced := make([]*profile.Profile, len(profiles))
	for i, p := range profiles {
		p = p.WithTypes(c.Types)
		if !same {
			// Different events were sampled, so the sum has no period. Its values are right nevertheless.
			h := p.Header
			h.Period, h.PeriodType = 0, profile.ValueType{}
			p = p.WithHeader(h)
		}
		reduced[i] = p
	}
	return profile.Merge(reduced...)
}
