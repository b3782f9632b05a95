package calls

import (
	"slices"

	"github.com/hone-perf/hone/internal/profile"
)

// NumUnits returns the unit of each number label: the first that any sample names, else what the key suggests.
func NumUnits(p *profile.Profile) map[string]string {
	units, _ := numUnits(p)
	return units
}

// A UnitClash is a number label that is recorded in several units.
type UnitClash struct {
	Key    string
	Used   string
	Others []string
}

// UnitClashes returns the number labels of p that have several units, by key.
func UnitClashes(p *profile.Profile) []UnitClash {
	_, clashes := numUnits(p)
	return clashes
}

func numUnits(p *profile.Profile) (map[string]string, []UnitClash) {
	units := make(map[string]string)
	others := make(map[string][]string)
	var keys []string
	sets := p.LabelSets()
	seen := make([]bool, len(sets))
	for i := range p.NumSamples() {
		set := p.Label(i)
		if seen[set] {
			continue
		}
		seen[set] = true
		for _, l := range sets[set] {
			if !l.Numeric {
				continue
			}
			if _, ok := units[l.Key]; !ok {
				units[l.Key] = ""
				keys = append(keys, l.Key)
			}
			switch {
			case l.Unit == "":
			case units[l.Key] == "":
				units[l.Key] = l.Unit
			case units[l.Key] != l.Unit && !slices.Contains(others[l.Key], l.Unit):
				others[l.Key] = append(others[l.Key], l.Unit)
			}
		}
	}
	var clashes []UnitClash
	slices.Sort(keys)
	for _, k := range keys {
		if o := others[k]; o != nil {
			slices.Sort(o)
			clashes = append(clashes, UnitClash{k, units[k], o})
		}
		if units[k] == "" {
			units[k] = k
			if k == "alignment" || k == "request" {
				units[k] = "bytes"
			}
		}
	}
	return units, clashes
}
