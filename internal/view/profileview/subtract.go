package profileview

import (
	"fmt"

	"github.com/hone-perf/hone/internal/calls"
	"github.com/hone-perf/hone/internal/profile"
	"github.com/hone-perf/hone/internal/recording"
)

// Subtract turns a profile and its base into their difference, for views that know only one profile.
func Subtract(in []*recording.Recording, normalize bool) ([]*recording.Recording, error) {
	p, base := in[0].Profile, in[1].Profile.WithLabel(calls.BaseLabel, "true")
	if normalize {
		var err error
		if p, err = p.Normalize(base); err != nil {
			return nil, err
		}
	}
	p, err := profile.Merge(p, base.Negate())
	if err != nil {
		return nil, fmt.Errorf("comparing %s with %s: %w", in[0].Ref, in[1].Ref, err)
	}
	p = p.WithNote("values are new minus base; shares are of the base")
	by := "minus " + in[1].Key()
	if normalize {
		by += ", normalized"
	}
	return []*recording.Recording{in[0].WithProfile(p, by)}, nil
}
