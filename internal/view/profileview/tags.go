package profileview

import (
	"cmp"
	"slices"

	"github.com/hone-perf/hone/internal/hint"
	"github.com/hone-perf/hone/internal/order"
	"github.com/hone-perf/hone/internal/query"
	"github.com/hone-perf/hone/internal/recording"
	"github.com/hone-perf/hone/internal/report"
	"github.com/hone-perf/hone/internal/unit"
	"github.com/hone-perf/hone/internal/waits"
)

// usualTags is the default number of keys, and of values of each key.
const usualTags = 200

// Tags shows the labels of samples by key and value.
func Tags(in []*recording.Recording, q query.Query) (report.Report, error) {
	a, err := ask(in, q)
	if err != nil {
		return nil, err
	}
	sums := make([]int64, len(a.Profile.LabelSets()))
	used := make([]bool, len(sums))
	for i, v := range a.Profile.Values(a.Type) {
		sums[a.Profile.Label(i)] += v
		used[a.Profile.Label(i)] = true
	}
	totals := make(map[string]int64)
	for i, s := range a.Profile.LabelSets() {
		for _, l := range s {
			if used[i] {
				totals[l.Key] += sums[i]
			}
		}
	}
	limit := cmp.Or(q.Limit, usualTags)
	out := &report.Tags{Head: a.head, Of: len(totals)}
	keys := sortedKeys(totals)
	if limit > 0 && len(keys) > limit {
		// Those that weigh most, by name.
		slices.SortStableFunc(keys, func(a, b string) int { return cmp.Compare(unit.Abs(totals[b]), unit.Abs(totals[a])) })
		keys = slices.Clone(keys[:limit])
		slices.Sort(keys)
	}
	place := make(map[string]int, len(keys))
	for i, key := range keys {
		place[key] = i
		out.Keys = append(out.Keys, report.TagKey{Key: key, Total: totals[key]})
	}
	// One list for all: a profile may have a key for each sample.
	type label struct {
		key   int
		value string
		sum   int64
	}
	var all []label
	for i, s := range a.Profile.LabelSets() {
		for _, l := range s {
			k, shown := place[l.Key]
			if !used[i] || !shown {
				continue
			}
			value := l.Str
			if l.Numeric {
				value = unit.Format(l.Num, a.units[l.Key], a.unit)
			}
			all = append(all, label{k, value, sums[i]})
		}
	}
	order.Stable(all, func(a, b label) int { return cmp.Or(cmp.Compare(a.key, b.key), cmp.Compare(a.value, b.value)) })
	cut := 0
	for len(all) > 0 {
		key := &out.Keys[all[0].key]
		n := 0
		for ; n < len(all) && all[n].key == all[0].key; n++ {
			if last := len(key.Values) - 1; last >= 0 && key.Values[last].Name == all[n].value {
				key.Values[last].Flat += all[n].sum
			} else {
				key.Values = append(key.Values, report.Tag{Name: all[n].value, Flat: all[n].sum})
			}
		}
		all = all[n:]
		order.Stable(key.Values, func(a, b report.Tag) int { return cmp.Compare(unit.Abs(b.Flat), unit.Abs(a.Flat)) })
		if key.Of = len(key.Values); limit > 0 && key.Of > limit {
			cut++
			key.Values = slices.Clone(key.Values[:limit])
		}
	}
	out.Notes = slices.Clip(out.Notes)
	if t := a.Profile.SampleTypes[a.Type].Type; !slices.Contains(waits.Types, t) && slices.Contains(in[0].Metrics(), recording.Execution.Name) {
		out.Notes.Add("the labels of the execution trace in the recording are shown with ", hint.Option{Name: "metric", Value: waits.Blocked})
	}
	more := hint.Text{"; raise ", hint.Option{Name: "limit"}, " to see more"}
	if len(keys) < out.Of {
		out.Notes.Add(len(keys), " of ", out.Of, " keys are shown, those with the most", more)
	}
	if cut > 0 {
		out.Notes.Add("for ", cut, " keys, only the first ", limit, " values are shown", more)
	}
	return out, nil
}
