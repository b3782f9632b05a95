package profileview

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/hone-perf/hone/internal/hint"
	"github.com/hone-perf/hone/internal/profile"
	"github.com/hone-perf/hone/internal/query"
	"github.com/hone-perf/hone/internal/recording"
	"github.com/hone-perf/hone/internal/report"
	"github.com/hone-perf/hone/internal/store"
	"github.com/hone-perf/hone/internal/unit"
)

// perOf returns what values of sample type k are divided by, so that they are what one process costs in a second. Of what is held at a moment, such as live memory,
// they are what one process has.
func perOf(rec *recording.Recording, p *profile.Profile, k int) (report.Per, error) {
	kind, _ := rec.PickedKind()
	t := p.SampleTypes[k]
	level := store.NatureOf(kind, t.Type, false) == store.Level
	out := report.Per{Processes: 1}
	if rec.Load != nil {
		out.Processes = cmp.Or(rec.Load.Processes, 1)
	}
	if level {
		out.Of = t.Unit
		if out.Processes != 1 {
			out.Of = unit.Each(t.Unit, out.Processes)
		}
		return out.Shown(), nil
	}
	if out.Time = time.Duration(p.DurationNanos); rec.Load != nil {
		out.Time = rec.Load.Covered
	}
	if out.Time <= 0 {
		return out, hint.Errorf(hint.Text{hint.Option{Name: "normalize"}, " compares shares, which need no time"},
			"%s does not say how long %s was recorded, so nobody knows what it costs per second", rec.Ref, t.Type)
	}
	out.Of = unit.Rate(t.Unit, out.Time.Seconds(), t.Type == "cpu")
	return out.Shown(), nil
}

// ratioOf returns by which factor values of before are multiplied to be of as much time as those of after.
func ratioOf(after, before report.Per) float64 {
	if after.Time > 0 {
		return float64(after.Time) / float64(before.Time)
	}
	return after.Processes / before.Processes
}

// perNote says what was divided by what.
func perNote(after, before report.Per) string {
	if after.Time > 0 {
		return fmt.Sprintf("values are what one process costs per second; profiles cover %s of before, and %s of after", unit.Label(int64(before.Time), "nanoseconds"), unit.Label(int64(after.Time), "nanoseconds"))
	}
	return fmt.Sprintf("values are what one process has on average; before had %s, and after %s", processes(before.Processes), processes(after.Processes))
}

func processes(n float64) string {
	if n == 1 {
		return "1 process"
	}
	return unit.Number(n) + " processes"
}

// oneScale returns an error if a query asks for equal totals and for costs per second, which cannot both be shown.
func oneScale(q query.Query) error {
	if q.Normalize && q.Per != "" {
		return fmt.Errorf("normalize and per=%s are two scales: choose one", q.Per)
	}
	return nil
}

// A UnitError means that costs per second are not shown in the unit that a query asks for.
type UnitError struct {
	Unit, Metric, Per string
	Shown             string // the unit that they are shown in
}

func (e *UnitError) Error() string {
	return fmt.Sprintf("unit=%s: %s per %s is shown in %s", e.Unit, e.Metric, e.Per, e.Shown)
}

// perSecond divides both sides by the time that was profiled.
func (s *sides) perSecond(in []*recording.Recording, after, before *profile.Profile, q query.Query) error {
	if err := oneScale(q); err != nil {
		return err
	}
	now, err := perOf(in[0], after, s.afterType)
	if err != nil {
		return err
	}
	was, err := perOf(in[1], before, s.beforeType)
	if err != nil {
		return err
	}
	if q.Unit != "" && q.Unit != unit.Auto && q.Unit != unit.Minimum && !unit.Compatible(q.Unit, now.Of) {
		return &UnitError{Unit: q.Unit, Metric: s.head.Metric, Per: q.Per, Shown: now.Unit}
	}
	s.ratio = ratioOf(now, was)
	h, b := &s.head, &s.headBefore
	was.Unit, was.Factor = now.Unit, now.Factor
	h.Per, b.Per = &now, &was
	h.Unit, b.Unit = now.Of, now.Of
	if b.Total = s.scaled(b.Total); b.Left != nil {
		left := s.scaled(*b.Left)
		b.Left = &left
	}
	if now.Time > 0 || now.Processes != 1 || was.Processes != 1 {
		h.Notes.Add(perNote(now, was))
	}
	return nil
}

// basePerSecond returns the base with values as if it were of as much time as p, with a note, and the sample types of p in units that are shown per second. Only the
// sample type that q is about has to be of a known time.
func basePerSecond(in []*recording.Recording, p, base *profile.Profile, q query.Query) (scaled *profile.Profile, types []profile.ValueType, note string, err error) {
	asked, err := p.SampleIndex(q.Metric)
	if err != nil {
		return nil, nil, "", err
	}
	types = slices.Clone(p.SampleTypes)
	ratios := make([]float64, len(base.SampleTypes))
	for i, b := range base.SampleTypes {
		ratios[i] = 1
		k := slices.IndexFunc(p.SampleTypes, func(t profile.ValueType) bool { return t.Type == b.Type })
		if k < 0 {
			continue
		}
		now, err := perOf(in[0], p, k)
		was, err2 := perOf(in[1], base, i)
		if err = cmp.Or(err, err2); err != nil {
			if k == asked {
				return nil, nil, "", err
			}
			continue
		}
		ratios[i], types[k].Unit = ratioOf(now, was), now.Of
		if k == asked {
			note = perNote(now, was)
		}
	}
	if !slices.ContainsFunc(ratios, func(r float64) bool { return r != ratios[0] }) {
		return base.Divide(1 / ratios[0]), types, note, nil // unlike Scale, it keeps the sum
	}
	return base.Scale(ratios), types, note, nil
}
