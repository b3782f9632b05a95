package profile

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/hone-perf/hone/internal/unit"
)

// LongestName is how many bytes of a name are looked at: what is longer is no name that somebody gave, and would be copied many times before it is
// shown. All of it is in the file still, and in what is written of p itself.
const LongestName = 64 << 10

// WithShortNames returns p with names that are no longer than LongestName: of functions, files, programs, labels and comments. It is p itself
// when there is none that is.
func (p *Profile) WithShortNames() *Profile {
	cut := 0
	short := func(s string) string {
		if len(s) <= LongestName {
			return s
		}
		cut++
		return Shorten(s, LongestName)
	}
	q := *p
	for i := range p.Functions {
		f := &p.Functions[i]
		if len(f.Name) <= LongestName && len(f.SystemName) <= LongestName && len(f.File) <= LongestName {
			continue
		}
		if &q.Functions[0] == &p.Functions[0] {
			q.Functions = slices.Clone(p.Functions)
		}
		g := &q.Functions[i]
		g.Name, g.SystemName, g.File = short(f.Name), short(f.SystemName), short(f.File)
	}
	for i, m := range p.Mappings {
		if len(m.File) > LongestName || len(m.BuildID) > LongestName {
			q.Mappings = slices.Clone(q.Mappings)
			q.Mappings[i].File, q.Mappings[i].BuildID = short(m.File), short(m.BuildID)
		}
	}
	for i, t := range p.SampleTypes {
		if len(t.Type) > LongestName || len(t.Unit) > LongestName {
			q.SampleTypes = slices.Clone(q.SampleTypes)
			q.SampleTypes[i] = ValueType{short(t.Type), short(t.Unit)}
		}
	}
	q.DefaultType, q.DocURL = short(p.DefaultType), short(p.DocURL)
	q.PeriodType = ValueType{short(p.PeriodType.Type), short(p.PeriodType.Unit)}
	for i, c := range p.Comments {
		if len(c) > LongestName {
			q.Comments = slices.Clone(q.Comments)
			q.Comments[i] = short(c)
		}
	}
	long := false
	for _, set := range p.sets {
		for _, l := range set {
			long = long || len(l.Key) > LongestName || len(l.Str) > LongestName || len(l.Unit) > LongestName
		}
	}
	out := &q
	if long {
		out = q.MapLabels(func(set LabelSet) LabelSet {
			now := slices.Clone(set)
			for i, l := range set {
				now[i].Key, now[i].Str, now[i].Unit = short(l.Key), short(l.Str), short(l.Unit)
			}
			return now
		})
	}
	if cut == 0 {
		return p
	}
	return out.WithNote(fmt.Sprintf("names of more than %s are cut: %d", unit.Size(LongestName), cut))
}

// Shorten returns a text of at most that many bytes, with … in place of its middle: its end says most about a function or a file.
func Shorten(s string, most int) string {
	const dots = "…"
	if len(s) <= most {
		return s
	}
	head := (most - len(dots)) / 2
	tail := len(s) - (most - len(dots) - head)
	for head > 0 && !utf8.RuneStart(s[head]) {
		head--
	}
	for tail < len(s) && !utf8.RuneStart(s[tail]) {
		tail++
	}
	return strings.Join([]string{s[:head], s[tail:]}, dots)
}
