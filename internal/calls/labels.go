package calls

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/hone-perf/hone/internal/profile"
	"github.com/hone-perf/hone/internal/query"
	"github.com/hone-perf/hone/internal/unit"
)

// filterTags keeps the samples whose labels match f, or those whose labels do not.
func filterTags(p *profile.Profile, f *tagFilter, units map[string]string, keep bool) (*profile.Profile, bool) {
	sets := p.LabelSets()
	ok := make([]bool, len(sets))
	for i, s := range sets {
		ok[i] = f.match(s, units)
	}
	matched := false
	kept := profile.NewSampleSet(p.NumSamples())
	for i := range p.NumSamples() {
		is := ok[p.Label(i)]
		matched = matched || is
		if is == keep {
			kept.Add(uint32(i))
		}
	}
	return p.Filter(kept), matched
}

// filterKeys keeps the labels whose key matches, or those whose key does not.
func filterKeys(p *profile.Profile, rx *regexp.Regexp, keep bool) (*profile.Profile, bool) {
	used := make([]bool, len(p.LabelSets()))
	for i := range p.NumSamples() {
		used[p.Label(i)] = true
	}
	matched, at := false, 0
	q := p.MapLabels(func(s profile.LabelSet) profile.LabelSet {
		var out profile.LabelSet
		for _, l := range s {
			ok := rx.MatchString(l.Key)
			matched = matched || ok && used[at]
			if ok == keep {
				out = append(out, l)
			}
		}
		at++
		return out
	})
	return q, matched
}

// A tagFilter decides about label sets.
type tagFilter struct {
	key     string // "" is any
	text    string
	inRange func(v int64, unit string) bool // for numbers; else:
	rxs     []*regexp.Regexp
}

func parseTagFilter(s query.Step) (*tagFilter, error) {
	f := &tagFilter{text: s.Arg}
	if key, rest, ok := strings.Cut(s.Arg, "="); ok {
		f.key, f.text = key, rest
	}
	if f.inRange = parseRange(f.text); f.inRange != nil {
		return f, nil
	}
	for part := range strings.SplitSeq(f.text, ",") {
		rx, err := regexp.Compile(part)
		if err != nil {
			return nil, fmt.Errorf("parsing %s regexp: %w", s.Op, err)
		}
		f.rxs = append(f.rxs, rx)
	}
	return f, nil
}

var rangeRx = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^(:?)([+-]?[0-9]+)([[:alpha:]]*)(?:(:)(?:([+-]?[0-9]+)([[:alpha:]]*))?)?$`)
})

// parseRange reads 32kb, :64kb, 4mb: and 12kb:64mb. It returns nil for anything else.
func parseRange(text string) func(v int64, unit string) bool {
	m := rangeRx().FindStringSubmatch(text)
	if m == nil || m[1] != "" && m[4] != "" {
		return nil
	}
	lo, ok := parseAmount(m[2], m[3], m[3])
	if !ok {
		return nil
	}
	hi := lo
	if m[5] != "" {
		if hi, ok = parseAmount(m[5], m[6], lo.unit); !ok || hi.unit != lo.unit {
			return nil
		}
	}
	from, to := m[1] == "", m[4] == "" || m[5] != "" // whether the range has these ends
	return func(v int64, u string) bool {
		x, xu := unit.Scale(v, u, lo.unit)
		return xu == lo.unit && (!from || x >= lo.v) && (!to || x <= hi.v)
	}
}

type amount struct {
	v    float64
	unit string
}

func parseAmount(digits, from, to string) (amount, bool) {
	n, err := strconv.ParseInt(digits, 10, 64)
	if err != nil {
		return amount{}, false
	}
	v, u := unit.Scale(n, from, to)
	return amount{v, u}, true
}

func splitKeys(list string) []string {
	return slices.DeleteFunc(strings.Split(list, ","), func(k string) bool { return k == "" })
}

// labelFrames returns p with label values as frames: of roots above the outermost frame, the first key on top, and
// of leaves below the innermost, the last key at the bottom. A sample without the label gets a frame that says so, and
// with pprof one without a name, so that depths stay comparable. It also reports whether any sample had one of the roots, and of the leaves.
func labelFrames(p *profile.Profile, roots, leaves []string, showUnit string, pprof bool) (_ *profile.Profile, rooted, leaved bool, _ error) {
	if len(roots)+len(leaves) == 0 {
		return p, false, false, nil
	}
	t := p.Tables
	t.Functions, t.Locations = slices.Clone(t.Functions), slices.Clone(t.Locations)
	var maxFunction, maxLocation uint64
	for _, f := range t.Functions {
		maxFunction = max(maxFunction, f.ID)
	}
	for _, l := range t.Locations {
		maxLocation = max(maxLocation, l.ID)
	}
	type frame struct{ value, key string }
	known := make(map[frame]uint32)
	locate := func(f frame) uint32 {
		if l, ok := known[f]; ok {
			return l
		}
		maxFunction++
		maxLocation++
		t.Functions = append(t.Functions, profile.Function{ID: maxFunction, Name: f.value, File: f.key})
		t.Locations = append(t.Locations, profile.Location{
			ID:      maxLocation,
			Mapping: profile.NoMapping,
			Lines:   []profile.Line{{Function: uint32(len(t.Functions) - 1)}},
		})
		known[f] = uint32(len(t.Locations) - 1)
		return known[f]
	}
	sets := p.LabelSets()
	frames := func(set uint32, keys []string, found *bool, out []uint32) []uint32 {
		for _, k := range slices.Backward(keys) {
			values := labelValues(sets[set], k, showUnit)
			*found = *found || len(values) > 0
			value := strings.Join(values, ",")
			if len(values) == 0 && !pprof {
				value = withoutLabel(k)
			}
			out = append(out, locate(frame{value, k}))
		}
		return out
	}
	type added struct{ roots, leaves []uint32 }
	bySet := make(map[uint32]added)
	// The tables grow while stacks are made, so the samples are gone through first.
	for i := range p.NumSamples() {
		set := p.Label(i)
		if _, ok := bySet[set]; ok {
			continue
		}
		var a added
		a.roots = frames(set, roots, &rooted, nil)
		a.leaves = frames(set, leaves, &leaved, nil)
		bySet[set] = a
	}
	var buf []uint32
	q, err := p.Rewrite(t, func(i int, stack []uint32) ([]uint32, bool) {
		a := bySet[p.Label(i)]
		buf = append(append(append(buf[:0], a.leaves...), stack...), a.roots...)
		return buf, true
	})
	return q, rooted, leaved, err
}

// labelValues returns the values of a key as text.
func labelValues(s profile.LabelSet, key, showUnit string) []string {
	var out []string
	for _, l := range s {
		switch {
		case l.Key != key:
		case !l.Numeric:
			out = append(out, l.Str)
		case l.HasUnit:
			out = append(out, unit.Format(l.Num, l.Unit, showUnit))
		default:
			out = append(out, unit.Format(l.Num, "", ""))
		}
	}
	return out
}
