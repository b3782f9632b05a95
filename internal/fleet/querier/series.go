package querier

import (
	"bytes"
	"cmp"
	"math"
	"slices"
	"time"

	"github.com/hone-perf/hone/internal/fleet/connect"
	"github.com/hone-perf/hone/internal/fleet/message"
	"github.com/hone-perf/hone/internal/order"
	"github.com/hone-perf/hone/internal/profile"
	"github.com/hone-perf/hone/internal/store"
)

const (
	maxPoints = 50_000 // of a line
	average   = 1      // an Aggregation
)

func (s *Server) selectSeries(c *call) error {
	var m selectSeriesRequest
	if err := c.decode(&m); err != nil {
		return err
	}
	q, ref, err := s.selectOne(c, m.ProfileTypeID, m.LabelSelector, m.Start, m.End)
	if err != nil {
		return err
	}
	if !(m.Step >= 0.001 && m.Step <= 1e8) {
		return connect.Errorf(connect.InvalidArgument, "step is %v; it is a number of seconds from 0.001", m.Step)
	}
	if len(callSite(m.Stacks)) > 0 {
		// Totals are kept without stacks: this would read all profiles, once for each point and line.
		return connect.Errorf(connect.Unimplemented, "SelectSeries cannot select a call site; leave stackTraceSelector out, or ask SelectMergeStacktraces")
	}
	step := time.Duration(math.Round(m.Step*1000)) * time.Millisecond
	if n := q.To.Sub(q.From) / step; n > maxPoints {
		return connect.Errorf(connect.InvalidArgument, "there would be %d points, more than %d: choose a longer step", n, maxPoints)
	}
	var by []string
	for _, name := range m.GroupBy {
		if virtual[name] == nil {
			by = append(by, name)
		}
	}
	lines, err := s.opt.Store.Totals(c.ctx, q, step, by)
	if err != nil {
		return err
	}
	type ranked struct {
		timeSeries
		total float64
	}
	var all []ranked
	for _, l := range lines {
		k := slices.IndexFunc(l.Types, func(t profile.ValueType) bool { return t == ref.typ })
		if k < 0 {
			continue
		}
		var one ranked
		for _, name := range m.GroupBy {
			if of := virtual[name]; of != nil {
				one.Labels = append(one.Labels, labelPair{name, of(ref.full())})
			} else if v := l.Labels.Get(name); v != "" {
				one.Labels = append(one.Labels, labelPair{name, v})
			}
		}
		order.Stable(one.Labels, func(a, b labelPair) int { return cmp.Compare(a.Name, b.Name) })
		level := store.NatureOf(ref.kind, ref.typ.Type, false) == store.Level
		for _, p := range l.Points {
			v := float64(p.Values[k])
			if m.Aggregation != nil && *m.Aggregation == average && !level && p.Profiles > 0 {
				v /= float64(p.Profiles)
			}
			// A point of Pyroscope stands at the end of its step.
			one.Points = append(one.Points, point{v, p.Time.Add(step).UnixMilli()})
			one.total += v
		}
		if len(one.Points) > 0 {
			all = append(all, one)
		}
	}
	if m.Limit != nil && *m.Limit > 0 && int64(len(all)) > *m.Limit {
		order.Stable(all, func(a, b ranked) int { return cmp.Compare(b.total, a.total) })
		all = all[:*m.Limit]
	}
	var out selectSeriesResponse
	for _, one := range all {
		out.Series = append(out.Series, one.timeSeries)
	}
	return c.answer(&out)
}

func (s *Server) mergeProfile(c *call) error {
	var m mergeProfileRequest
	if err := c.decode(&m); err != nil {
		return err
	}
	q, ref, err := s.selectOne(c, m.ProfileTypeID, m.LabelSelector, m.Start, m.End)
	if err != nil {
		return err
	}
	p, k, err := s.merged(c, q, ref, m.IDs)
	if err != nil {
		return err
	}
	if p == nil {
		return c.answer(&pprofProfile{})
	}
	if p, err = single(p, k, m.Stacks); err != nil {
		return err
	}
	var raw bytes.Buffer
	if err := p.WriteUncompressed(&raw); err != nil {
		return err
	}
	if c.form == connect.Proto {
		c.form.AnswerBytes(c.w, c.r, raw.Bytes())
		return nil
	}
	var out pprofProfile
	if err := message.Unmarshal(raw.Bytes(), &out, message.Limits{}); err != nil {
		return err
	}
	return c.answer(&out)
}

// single returns a profile with one sample type and without labels, and of the stacks that are asked for.
func single(p *profile.Profile, k int, stacks *stackSelector) (*profile.Profile, error) {
	h := p.Header
	h.SampleTypes, h.DefaultType = []profile.ValueType{p.SampleTypes[k]}, p.SampleTypes[k].Type
	b := profile.NewBuilder(h)
	b.Tables = p.Tables
	b.Mappings = named(p)
	pgo := (*goPGO)(nil)
	if stacks != nil {
		pgo = stacks.GoPGO
	}
	leaves := map[uint32]uint32{} // locations without their line
	if pgo != nil && pgo.AggregateCallees {
		b.Locations = slices.Clone(p.Locations)
	}
	site := callSite(stacks)
	var stack []uint32
	for i, v := range p.Values(k) {
		if v == 0 {
			continue
		}
		stack = p.Stack(i, stack[:0])
		if !beginsWith(p, stack, site) {
			continue
		}
		if pgo != nil && pgo.KeepLocations > 0 && len(stack) > int(pgo.KeepLocations) {
			stack = stack[:pgo.KeepLocations]
		}
		if pgo != nil && pgo.AggregateCallees && len(stack) > 0 {
			stack[0] = withoutLine(b, leaves, stack[0])
		}
		b.Add(stack, 0, []int64{v})
	}
	out, err := b.Profile()
	if err != nil {
		return nil, err
	}
	return profile.Merge(out)
}

// named returns the mappings of a profile, which say of themselves that they have names where all their locations do: other tools would
// look for the program to find the names.
func named(p *profile.Profile) []profile.Mapping {
	out := slices.Clone(p.Mappings)
	bare := make([]bool, len(out))
	for i := range p.Locations {
		if l := &p.Locations[i]; l.Mapping != profile.NoMapping && len(l.Lines) == 0 {
			bare[l.Mapping] = true
		}
	}
	for i := range out {
		if m := &out[i]; !bare[i] {
			m.HasFunctions, m.HasFilenames, m.HasLineNumbers, m.HasInlineFrames = true, true, true, true
		}
	}
	return out
}

// withoutLine returns a location for all calls of the innermost function of another one.
func withoutLine(b *profile.Builder, leaves map[uint32]uint32, at uint32) uint32 {
	if to, ok := leaves[at]; ok {
		return to
	}
	l := b.Locations[at]
	to := at
	if len(l.Lines) > 0 {
		l.ID, l.Address, l.Lines = uint64(len(b.Locations)+1), 0, slices.Clone(l.Lines)
		l.Lines[0].Line = 0
		to = uint32(len(b.Locations))
		b.Locations = append(b.Locations, l)
	}
	leaves[at] = to
	return to
}

// beginsWith reports whether a stack has some functions at its root.
func beginsWith(p *profile.Profile, stack []uint32, site []location) bool {
	if len(site) == 0 {
		return true
	}
	for _, at := range slices.Backward(stack) {
		for _, line := range slices.Backward(p.Locations[at].Lines) {
			if p.Functions[line.Function].Name != site[0].Name {
				return false
			}
			if site = site[1:]; len(site) == 0 {
				return true
			}
		}
	}
	return false
}
