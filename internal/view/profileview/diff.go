package profileview

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/hone-perf/hone/internal/calls"
	"github.com/hone-perf/hone/internal/hint"
	"github.com/hone-perf/hone/internal/order"
	"github.com/hone-perf/hone/internal/profile"
	"github.com/hone-perf/hone/internal/query"
	"github.com/hone-perf/hone/internal/recording"
	"github.com/hone-perf/hone/internal/report"
	"github.com/hone-perf/hone/internal/unit"
	"github.com/hone-perf/hone/internal/waits"
)

// Diff compares the costs of frames in two recordings: the new one comes first, then the base. The frames with the
// largest changes come first.
func Diff(in []*recording.Recording, q query.Query) (report.Report, error) {
	s, err := compare(in, q)
	if err != nil {
		return nil, err
	}
	out := &report.Diff{Head: s.head, Before: s.headBefore, Normalized: s.normalized}
	rows, err := s.rows(q)
	if err != nil {
		return nil, err
	}
	inBoth := func(r report.DiffRow) bool { return r.Cum != 0 && r.CumBefore != 0 }
	if len(q.Steps) == 0 && out.Total != 0 && out.Before.Total != 0 && !slices.ContainsFunc(rows, inBoth) {
		out.Notes.Add("the two profiles have no function in common: are they of the same program?")
	}
	out.Rows = rows
	trimRows(out, q)
	if waitsOf(in[0]) && waitsOf(in[1]) {
		out.Notes.Add("the same for each request: ", hint.Ask("requests", in[0].Ref).With("base", in[1].Ref))
	}
	return out, nil
}

// waitsOf reports whether the profile is waiting times from an execution trace.
func waitsOf(rec *recording.Recording) bool {
	return slices.EqualFunc(rec.Profile.SampleTypes, waits.Types, func(t profile.ValueType, name string) bool { return t.Type == name })
}

// compare brings two recordings together, the new one first, and applies the steps of q to both.
func compare(in []*recording.Recording, q query.Query) (*sides, error) {
	switch {
	case len(in) != 2:
		return nil, errors.New("nothing to compare with: give a base")
	case q.Mean:
		return nil, errors.New("means of two profiles cannot be compared; drop mean")
	}
	after, err := profileOf(in[0])
	if err != nil {
		return nil, err
	}
	before, err := profileOf(in[1])
	if err != nil {
		return nil, err
	}
	steps := q.Steps
	if len(q.BaseTags) > 0 {
		if before, after, steps, err = labeled(before, after, q); err != nil {
			return nil, err
		}
	}
	s, err := sidesOf(before, after, q)
	if err != nil {
		return nil, fmt.Errorf("comparing %s with %s: %w", in[0].Ref, in[1].Ref, err)
	}
	s.head, s.headBefore = headOf(after, s.afterType, q), headOf(before, s.beforeType, q)
	s.head.Unit, s.headBefore.Unit = s.p.SampleTypes[s.after].Unit, s.p.SampleTypes[s.after].Unit
	rest, remarks, err := calls.Apply(s.p, steps, cmp.Or(q.Unit, unit.Auto), q.PProf)
	if err != nil {
		return nil, err
	}
	if q.Relative {
		s.p = rest
	}
	s.head.Total = calls.Measure{Profile: s.p, Type: s.after}.Total()
	s.headBefore.Total = calls.Measure{Profile: s.p, Type: s.before}.Total()
	if len(q.BaseTags) == 0 {
		s.head.Lasting, s.headBefore.Lasting = waits.Lasting(after, s.afterType), waits.Lasting(before, s.beforeType)
	}
	if len(q.Steps) > 0 {
		s.head.Left = leftOf(rest, s.after, s.head.Total)
		s.headBefore.Left = leftOf(rest, s.before, s.headBefore.Total)
	}
	s.named = rest.Functions
	if s.p, err = calls.GroupBy(rest, q.By); err != nil {
		return nil, err
	}
	if s.p, err = collapsed(s.p, q); err != nil {
		return nil, err
	}
	h, was := &s.head, &s.headBefore
	h.Remarks = remarks
	h.Notes = slices.Clip(h.Notes)
	for _, r := range remarks {
		h.Notes.Add(r.String())
	}
	h.Notes = append(h.Notes, sideNotes(h, was, q)...)
	s.ratio = 1
	if q.Per != "" {
		if err := s.perSecond(in, after, before, q); err != nil {
			return nil, err
		}
	}
	if q.Normalize && h.Total != 0 && was.Total != 0 {
		s.ratio = float64(h.Total) / float64(was.Total)
		s.normalized = true
		h.Notes.Add(fmt.Sprintf("before is scaled by %s, from %s to %s", unit.Number(s.ratio),
			unit.Label(was.Total, h.Unit), unit.Label(h.Total, h.Unit)))
		was.Total, was.Scaled = h.Total, true
		if was.Left != nil {
			left := s.scaled(*was.Left)
			was.Left = &left
		}
	}
	return s, nil
}

// labeled returns both sides with the labels that were asked for of each, and the steps that are left for both.
func labeled(before, after *profile.Profile, q query.Query) (_, _ *profile.Profile, rest []query.Step, err error) {
	var own, others []query.Step
	for _, s := range q.Steps {
		if s.Op == query.TagFocus {
			own = append(own, s)
		} else {
			rest = append(rest, s)
		}
	}
	for _, arg := range q.BaseTags {
		others = append(others, query.Step{Op: query.TagFocus, Arg: arg})
	}
	for _, side := range []struct {
		p     **profile.Profile
		steps []query.Step
		whose string
	}{{&after, own, "tag"}, {&before, others, "base-tag"}} {
		p, remarks, err := calls.Apply(*side.p, side.steps, cmp.Or(q.Unit, unit.Auto), q.PProf)
		if err != nil {
			return nil, nil, nil, err
		}
		for _, r := range remarks {
			if r.Range == "" {
				return nil, nil, nil, fmt.Errorf("%s: no sample has such a label", side.whose)
			}
		}
		*side.p = p
	}
	return before, after, rest, nil
}

// askSides is ask for one recording, or compare for two. There are sides then.
func askSides(in []*recording.Recording, q query.Query) (*question, *sides, error) {
	if len(in) < 2 {
		a, err := ask(in, q)
		return a, nil, err
	}
	s, err := compare(in, q)
	if err != nil {
		return nil, nil, err
	}
	return &question{Measure: calls.Measure{Profile: s.p, Type: s.after}, query: q, units: calls.NumUnits(s.p), unit: cmp.Or(q.Unit, unit.Auto), head: s.head, named: s.named}, s, nil
}

// costs adds up what each frame costs on both sides.
func (s *sides) costs(q query.Query) (after, before *calls.Builder, err error) {
	d, err := calls.DetailOf(q)
	if err != nil {
		return nil, nil, err
	}
	table := calls.NewFrameTable(s.p, d, calls.PathTrimmer(q))
	after = calls.NewBuilder(calls.Measure{Profile: s.p, Type: s.after}, table)
	after.Costs()
	return after, s.costsBefore(table), nil
}

func (s *sides) costsBefore(table *calls.FrameTable) *calls.Builder {
	b := s.builderBefore(table)
	b.Costs()
	return b
}

// builderBefore returns a builder for the base, without costs.
func (s *sides) builderBefore(table *calls.FrameTable) *calls.Builder {
	return calls.NewBuilder(calls.Measure{Profile: s.p, Type: s.before}, table)
}

// sides are two profiles in one, with a column of values for each.
type sides struct {
	p             *profile.Profile
	after, before int // sample types of p

	afterType, beforeType int // the same in the profiles by themselves

	head, headBefore report.Head
	ratio            float64 // by which values of the base are scaled
	normalized       bool
	named            []profile.Function // as the profiles name them, whatever is grouped by
}

// scaled returns a sum of values of the base as it is compared.
func (s *sides) scaled(v int64) int64 {
	if s.ratio == 1 {
		return v
	}
	return int64(math.Round(float64(v) * s.ratio))
}

// sidesOf puts two profiles side by side.
func sidesOf(before, after *profile.Profile, q query.Query) (*sides, error) {
	if len(after.SampleTypes) == 0 || len(before.SampleTypes) == 0 {
		return nil, errors.New("profile has no samples")
	}
	k, err := after.SampleIndex(q.Metric)
	if err != nil {
		return nil, err
	}
	p, err := profile.Diff(before, after)
	if err != nil {
		return nil, err
	}
	// Only what both have is left, and no type may be asked for by its place among those.
	called := func(name string) func(profile.ValueType) bool {
		return func(t profile.ValueType) bool { return t.Type == name }
	}
	name := after.SampleTypes[k].Type
	n := len(p.SampleTypes) / 2
	s := &sides{
		p:          p,
		after:      slices.IndexFunc(p.SampleTypes[:n], called(name)),
		afterType:  k,
		beforeType: slices.IndexFunc(before.SampleTypes, called(name)),
	}
	if s.after < 0 {
		names := make([]string, n)
		for i := range names {
			names[i] = p.SampleTypes[i].Type
		}
		return nil, fmt.Errorf("only one profile has sample type %s; both have %s", name, strings.Join(names, ", "))
	}
	s.before = n + s.after
	return s, nil
}

// rows returns what each frame costs on both sides. Sums are scaled, not samples: there are many small ones, whose
// rounding would add up.
func (s *sides) rows(q query.Query) ([]report.DiffRow, error) {
	after, before, err := s.costs(q)
	if err != nil {
		return nil, err
	}
	table := after.Table
	met := func(f int) bool {
		return after.Flat[f] != 0 || after.Cum[f].Sum != 0 || before.Flat[f] != 0 || before.Cum[f].Sum != 0
	}
	n := 0
	for f := range table.Frames {
		if met(f) {
			n++
		}
	}
	rows := make([]report.DiffRow, 0, n)
	for f := range table.Frames {
		if !met(f) {
			continue
		}
		r := report.DiffRow{
			Frame: table.Frames[f],
			Flat:  after.Flat[f], Cum: after.Cum[f].Sum,
			FlatBefore: s.scaled(before.Flat[f]), CumBefore: s.scaled(before.Cum[f].Sum),
		}
		if r.Flat != 0 || r.Cum != 0 || r.FlatBefore != 0 || r.CumBefore != 0 {
			rows = append(rows, r)
		}
	}
	return rows, nil
}

// below is what a row has to have on one side to be shown.
func below(after, before *report.Head, q query.Query, share float64) int64 {
	a, b := float64(after.Total), float64(before.Total)
	if q.Min == 0 {
		a, b = a*after.Ended(), b*before.Ended()
	}
	return int64(max(a, b) * share)
}

// trimRows sorts the rows of d and leaves out those where little changed.
func trimRows(d *report.Diff, q query.Query) {
	limits := (&question{query: q}).trim(0, minShare, 0)
	d.Below = below(&d.Head, &d.Before, q, limits.Min)
	flat := func(r *report.DiffRow) int64 { return unit.Difference(r.FlatBefore, r.Flat) }
	cum := func(r *report.DiffRow) int64 { return unit.Difference(r.CumBefore, r.Cum) }

	d.Rows = slices.DeleteFunc(d.Rows, func(r report.DiffRow) bool {
		return q.Positive && (flat(&r) < 0 || flat(&r) == 0 && cum(&r) < 0)
	})
	all := len(d.Rows)
	d.Rows = slices.DeleteFunc(d.Rows, func(r report.DiffRow) bool {
		// Where nothing changed there is nothing to show, however low the bar is, unless everything is asked for.
		return limits.Min > 0 && max(unit.Abs(flat(&r)), unit.Abs(cum(&r))) < max(d.Below, 1)
	})
	d.Dropped = all - len(d.Rows)
	d.Of = len(d.Rows)

	rank, second := flat, cum
	if limits.ByCum {
		rank, second = second, rank
	}
	order.Stable(d.Rows, func(a, b report.DiffRow) int {
		return cmp.Or(
			cmp.Compare(unit.Abs(rank(&b)), unit.Abs(rank(&a))),
			cmp.Compare(unit.Abs(second(&b)), unit.Abs(second(&a))),
			cmp.Compare(a.Frame.String(), b.Frame.String()),
			cmp.Compare(a.StartLine, b.StartLine),
			cmp.Compare(a.Object, b.Object),
		)
	})
	if limits.Nodes > 0 {
		d.Rows = d.Rows[:min(limits.Nodes, len(d.Rows))]
	}
	d.Shown = len(d.Rows)
	for i := range d.Rows {
		d.Accounted += d.Rows[i].Flat
	}
}

// sideNotes returns reasons why the two sides may not be comparable.
func sideNotes(after, before *report.Head, q query.Query) hint.Texts {
	var notes hint.Texts
	// What is in use at one moment does not grow with the length of a recording.
	if a, b := after.Duration, before.Duration; !q.Normalize && q.Per == "" && a > 0 && b > 0 && !strings.HasPrefix(after.Metric, "inuse_") &&
		float64(max(a, b)) > 1.2*float64(min(a, b)) {
		notes.Add(fmt.Sprintf("before was recorded for %s and after for %s", unit.Label(b, "nanoseconds"), unit.Label(a, "nanoseconds")),
			hint.Text{"; ", hint.Option{Name: "per", Value: query.PerSecond}, " compares costs per second, and ", hint.Option{Name: "normalize"}, " shares"})
	}
	if (q.By == "line" || q.By == "address") && after.BuildID != "" && before.BuildID != "" && after.BuildID != before.BuildID {
		notes.Add("the two profiles are of different builds: code that moved appears as two frames")
	}
	if before.Total == 0 {
		notes.Add("before has no samples of " + after.Metric)
	}
	if after.Total == 0 {
		notes.Add("after has no samples of " + after.Metric)
	}
	return notes
}
