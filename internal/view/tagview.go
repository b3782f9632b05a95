package view

import (
	"github.com/hone-perf/hone/internal/query"
	"github.com/hone-perf/hone/internal/recording"
	"github.com/hone-perf/hone/internal/report"
	"github.com/hone-perf/hone/internal/unit"
)

// Tags shows the labels of samples by key and value.
func Tags(in []*recording.Recording, q query.Query) (report.Report, error) {
	a, err := ask(in, q)
	if err != nil {
		return nil, err
	}
	sums := make([]int64, len(a.p.LabelSets()))
	used := make([]bool, len(sums))
	for i, v := range a.p.Values(a.k) {
		sums[a.p.Label(i)] += v
		used[a.p.Label(i)] = true
	}
	totals := make(map[string]int64)
	keys := make(map[string]tagMap)
	for i, s := range a.p.LabelSets() {
		if !used[i] {
			continue
		}
		for _, l := range s {
			if keys[l.Key] == nil {
				keys[l.Key] = make(tagMap)
			}
			value := l.Str
			if l.Numeric {
				value = unit.Format(l.Num, a.units[l.Key], a.unit)
			}
			keys[l.Key].get(value, "", 0).Flat += sums[i]
			totals[l.Key] += sums[i]
		}
	}
	out := &report.Tags{Head: a.head}
	for _, key := range sortedKeys(keys) {
		out.Keys = append(out.Keys, report.TagKey{Key: key, Total: totals[key], Values: keys[key].sorted(true, a.magnitude())})
	}
	return out, nil
}
