package profileview

import (
	"errors"
	"fmt"
	"slices"

	"github.com/hone-perf/hone/internal/calls"
	"github.com/hone-perf/hone/internal/profile"
	"github.com/hone-perf/hone/internal/query"
	"github.com/hone-perf/hone/internal/recording"
)

// Subtract turns a profile and its base into their difference, for views that know only one profile.
func Subtract(in []*recording.Recording, q query.Query) ([]*recording.Recording, error) {
	if err := oneScale(q); err != nil {
		return nil, err
	}
	p, base := in[0].Profile, in[1].Profile.WithLabel(calls.BaseLabel, "true")
	if q.Normalize {
		var err error
		if p, err = p.Normalize(base); err != nil {
			return nil, err
		}
	}
	types, note := p.SampleTypes, ""
	if q.Per != "" {
		var err error
		if base, types, note, err = basePerSecond(in, p, base, q); err != nil {
			return nil, err
		}
	}
	p, err := profile.Merge(p, base.Negate())
	if err != nil {
		return nil, fmt.Errorf("comparing %s with %s: %w", in[0].Ref, in[1].Ref, err)
	}
	if q.Per != "" {
		h := p.Header
		h.SampleTypes = slices.Clone(h.SampleTypes)
		for k := range h.SampleTypes {
			for _, t := range types {
				if t.Type == h.SampleTypes[k].Type {
					h.SampleTypes[k].Unit = t.Unit
				}
			}
		}
		p = p.WithHeader(h).WithNote(note)
	}
	p = p.WithNote("values are new minus base; shares are of the base")
	by := "minus " + in[1].Key()
	if q.Normalize {
		by += ", normalized"
	}
	if q.Per != "" {
		by += ", per " + q.Per
	}
	return []*recording.Recording{in[0].WithProfile(p, by)}, nil
}

// Base returns the base of a comparison by itself, and the question about it. If q normalizes, it is scaled to the total of what is compared
// with it, and per second to its time.
func Base(in []*recording.Recording, q query.Query) ([]*recording.Recording, query.Query, error) {
	if len(in) != 2 {
		return nil, q, errors.New("nothing to compare with: give a base")
	}
	if err := oneScale(q); err != nil {
		return nil, q, err
	}
	p, base := in[0].Profile, in[1].Profile
	by := "base of " + in[0].Key() + " " + q.URL()
	var err error
	if len(q.BaseTags) > 0 {
		if base, p, q.Steps, err = labeled(base, p, q); err != nil {
			return nil, q, err
		}
	}
	if q.Normalize {
		s, err := sidesOf(base, p, q)
		if err != nil {
			return nil, q, fmt.Errorf("comparing %s with %s: %w", in[0].Ref, in[1].Ref, err)
		}
		now, was := calls.Measure{Profile: p, Type: s.afterType}.Total(), calls.Measure{Profile: base, Type: s.beforeType}.Total()
		if now != 0 && was != 0 {
			base = base.Divide(float64(was) / float64(now)) // unlike Scale, it keeps the sum
		}
	}
	if q.Per != "" {
		var note string
		if base, _, note, err = basePerSecond(in, p, base, q); err != nil {
			return nil, q, err
		}
		base = base.WithNote(note + "; the values here are those of before, for as much time as after")
	}
	q.Base, q.BaseTags, q.Normalize, q.Per = nil, nil, false, ""
	return []*recording.Recording{in[1].WithProfile(base, by)}, q, nil
}
