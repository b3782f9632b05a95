package calls

import (
	"fmt"
	"regexp"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/hone-perf/hone/internal/profile"
	"github.com/hone-perf/hone/internal/query"
	"github.com/hone-perf/hone/internal/report"
)

// Apply returns what the steps leave of p.
//
// Each step is a profile to profile function, so that steps can come in any order and prefixes of a list of steps
// can be cached. Most of them only pick samples or edit tables and cost next to nothing.
//
// showUnit is the unit of number labels that become frames. pprof is what query.Query says.
func Apply(p *profile.Profile, steps []query.Step, showUnit string, pprof bool) (*profile.Profile, []report.Remark, error) {
	// All regexps are tried first: a typo in the last step should not cost the time of the others.
	matchers := make([]*regexp.Regexp, len(steps))
	tags := make([]*tagFilter, len(steps))
	var remarks []report.Remark
	for i, s := range steps {
		var err error
		if matchers[i], tags[i], err = compile(s); err != nil {
			return nil, nil, err
		}
		if tags[i] != nil && tags[i].inRange != nil {
			remarks = append(remarks, report.Remark{Op: s.Op, Range: tags[i].text})
		}
	}
	units := NumUnits(p)
	var err error
	found := p // what the first of several steps on labels in a row found; see beside
	for i := 0; i < len(steps); i++ {
		if i == 0 || !beside(steps[i-1].Op, steps[i].Op) {
			found = p
		}
		matched := true
		switch s := steps[i]; s.Op {
		case query.Focus:
			p, matched = focus(p, matchers[i], ignores(steps, matchers))
		case query.Ignore:
			p, matched = ignore(p, matchers[i])
		case query.Hide:
			p, matched = hide(p, matchers[i])
		case query.Show:
			p, matched = show(p, matchers[i])
		case query.ShowFrom:
			p, matched, err = showFrom(p, matchers[i])
		case query.PruneFrom:
			p, err = pruneFrom(p, matchers[i])
		case query.CollapsePackage:
			p, matched, err = collapsePackage(p, matchers[i])
		case query.CollapseRecursion:
			p, matched, err = collapseRecursion(p, matchers[i])
		case query.TagFocus:
			p, matched = filterTags(p, tags[i], units, true)
		case query.TagIgnore:
			if p, matched = filterTags(p, tags[i], units, false); !matched {
				_, matched = filterTags(found, tags[i], units, false)
			}
		case query.TagShow:
			p, matched = filterKeys(p, matchers[i], true)
		case query.TagHide:
			if p, matched = filterKeys(p, matchers[i], false); !matched {
				_, matched = filterKeys(found, matchers[i], false)
			}
		case query.TagRoot, query.TagLeaf:
			var roots, leaves []string
			if s.Op == query.TagRoot {
				roots = splitKeys(s.Arg)
			} else {
				leaves = splitKeys(s.Arg)
			}
			rooted := matched
			if s.Op == query.TagRoot && i+1 < len(steps) && steps[i+1].Op == query.TagLeaf {
				i++
				leaves = splitKeys(steps[i].Arg)
			}
			p, rooted, matched, err = labelFrames(p, roots, leaves, showUnit, pprof)
			if s.Op == query.TagRoot && !rooted {
				remarks = append(remarks, report.Remark{Op: query.TagRoot})
			}
			matched = matched || steps[i].Op != query.TagLeaf
		default:
			return nil, nil, fmt.Errorf("unknown step %q", s.Op)
		}
		if err != nil {
			return nil, nil, err
		}
		if !matched {
			remarks = append(remarks, report.Remark{Op: steps[i].Op})
		}
	}
	return p, remarks, nil
}

// compile reads the argument of a step: a filter of labels, a regexp, or neither where it is a list of keys.
func compile(s query.Step) (*regexp.Regexp, *tagFilter, error) {
	switch s.Op {
	case query.TagFocus, query.TagIgnore:
		f, err := parseTagFilter(s)
		return nil, f, err
	case query.TagRoot, query.TagLeaf:
		return nil, nil, nil
	}
	rx, err := regexp.Compile(s.Arg)
	if err != nil {
		return nil, nil, fmt.Errorf("parsing %s regexp: %w", s.Op, err)
	}
	return rx, nil, nil
}

// CheckStep says what is wrong with the argument of a step. Where it is read as a range of numbers, that is returned.
func CheckStep(s query.Step) (asRange string, _ error) {
	_, f, err := compile(s)
	if err != nil || f == nil || f.inRange == nil {
		return "", err
	}
	return f.text, nil
}

// beside reports whether two steps that follow each other look at the same labels: a label that one drops is still a match for
// the other, as in pprof, which does both at once.
func beside(a, b query.Op) bool {
	samples := func(o query.Op) bool { return o == query.TagFocus || o == query.TagIgnore }
	keys := func(o query.Op) bool { return o == query.TagShow || o == query.TagHide }
	return samples(a) && samples(b) || keys(a) && keys(b)
}

// ignores returns the regexps of all ignore steps.
func ignores(steps []query.Step, matchers []*regexp.Regexp) []*regexp.Regexp {
	var out []*regexp.Regexp
	for i, s := range steps {
		if s.Op == query.Ignore {
			out = append(out, matchers[i])
		}
	}
	return out
}

// A matcher tries a regexp once on each name of a profile.
type matcher struct {
	p         *profile.Profile
	functions []bool
	mappings  []bool
}

func match(p *profile.Profile, rx *regexp.Regexp) *matcher {
	m := &matcher{p, make([]bool, len(p.Functions)), make([]bool, len(p.Mappings))}
	names := make(map[string]bool)
	try := func(name string) bool {
		if name == "" {
			return rx.MatchString("")
		}
		ok, seen := names[name]
		if !seen {
			ok = rx.MatchString(name)
			names[name] = ok
		}
		return ok
	}
	for i := range p.Functions {
		f := &p.Functions[i]
		m.functions[i] = rx.MatchString(f.Name) || try(f.File)
	}
	for i := range p.Mappings {
		m.mappings[i] = try(p.Mappings[i].File)
	}
	return m
}

func (m *matcher) mapping(l *profile.Location) bool {
	return l.Mapping != profile.NoMapping && m.mappings[l.Mapping]
}

// location reports whether any part of a location matches.
func (m *matcher) location(l *profile.Location) bool {
	for _, ln := range l.Lines {
		if m.functions[ln.Function] {
			return true
		}
	}
	return m.mapping(l)
}

// locations returns which locations of p match.
func (m *matcher) locations() []bool {
	out := make([]bool, len(m.p.Locations))
	for i := range out {
		out[i] = m.location(&m.p.Locations[i])
	}
	return out
}

// passing returns the samples whose stacks have one of the locations that are not hidden.
func passing(p *profile.Profile, locations []bool) profile.SampleSet {
	hit := make([]bool, len(locations))
	for l, ok := range locations {
		hit[l] = ok && !p.Locations[l].Hidden
	}
	set := p.LocationSet(hit)
	out := profile.NewSampleSet(p.NumSamples())
	inParts(p.NumSamples(), func() func(from, to int) {
		return func(from, to int) {
			for i := from; i < to; i++ {
				if p.HasAny(i, set) {
					out.Add(uint32(i))
				}
			}
		}
	})
	return out
}

// inParts does work on n samples in parts, as many at a time as there are cores. worker makes what does one part
// after the other.
func inParts(n int, worker func() func(from, to int)) {
	const size = 1 << 14 // whole words of a set of samples
	var next atomic.Int64
	var wg sync.WaitGroup
	for range min(runtime.GOMAXPROCS(0), (n+size-1)/size) {
		work := worker()
		wg.Go(func() {
			for from := (int(next.Add(1)) - 1) * size; from < n; from = (int(next.Add(1)) - 1) * size {
				work(from, min(from+size, n))
			}
		})
	}
	wg.Wait()
}

// visible returns which locations can be seen.
func visible(p *profile.Profile) []bool {
	out := make([]bool, len(p.Locations))
	for i := range out {
		out[i] = !p.Locations[i].Hidden
	}
	return out
}

func focus(p *profile.Profile, rx *regexp.Regexp, ignored []*regexp.Regexp) (*profile.Profile, bool) {
	locs := match(p, rx).locations()
	// What an ignore step will drop does not count as a match.
	matched := false
	var dropped [][]bool
	for _, x := range ignored {
		dropped = append(dropped, match(p, x).locations())
	}
	for i, ok := range locs {
		matched = matched || ok && !slices.ContainsFunc(dropped, func(d []bool) bool { return d[i] })
	}
	return p.Filter(passing(p, locs)), matched
}

func ignore(p *profile.Profile, rx *regexp.Regexp) (*profile.Profile, bool) {
	locs := match(p, rx).locations()
	some := passing(p, visible(p))
	some.Without(passing(p, locs))
	return p.Filter(some), slices.Contains(locs, true)
}

// edit returns p with lines taken out of locations and samples dropped that have nothing left to see. keep returns
// the lines of a location that stay.
func edit(p *profile.Profile, keep func(l *profile.Location) []profile.Line) *profile.Profile {
	t := p.Tables
	t.Locations = slices.Clone(t.Locations)
	for i := range t.Locations {
		l := &t.Locations[i]
		l.Lines = keep(l)
	}
	q := p.WithTables(t)
	return q.Filter(passing(q, visible(q)))
}

func hide(p *profile.Profile, rx *regexp.Regexp) (*profile.Profile, bool) {
	m := match(p, rx)
	matched := false
	q := edit(p, func(l *profile.Location) []profile.Line {
		if !m.location(l) {
			return l.Lines
		}
		matched = true
		var kept []profile.Line
		if !m.mapping(l) {
			for _, ln := range l.Lines {
				if !m.functions[ln.Function] {
					kept = append(kept, ln)
				}
			}
		}
		l.Hidden = l.Hidden || len(kept) == 0
		return kept
	})
	return q, matched
}

func show(p *profile.Profile, rx *regexp.Regexp) (*profile.Profile, bool) {
	m := match(p, rx)
	matched := false
	q := edit(p, func(l *profile.Location) []profile.Line {
		kept := l.Lines
		if !m.mapping(l) {
			kept = nil
			for _, ln := range l.Lines {
				if m.functions[ln.Function] {
					kept = append(kept, ln)
				}
			}
		}
		if len(kept) == 0 {
			l.Hidden = true
		} else {
			matched = true
		}
		return kept
	})
	return q, matched
}

func showFrom(p *profile.Profile, rx *regexp.Regexp) (*profile.Profile, bool, error) {
	m := match(p, rx)
	t := p.Tables
	t.Locations = slices.Clone(t.Locations)
	start := make([]bool, len(t.Locations))
	for i := range t.Locations {
		l := &t.Locations[i]
		if m.mapping(l) {
			start[i] = true
			continue
		}
		for j := len(l.Lines) - 1; j >= 0; j-- {
			if m.functions[l.Lines[j].Function] {
				l.Lines = l.Lines[:j+1]
				start[i] = true
				break
			}
		}
	}
	q, err := p.Rewrite(t, func(_ int, stack []uint32) ([]uint32, bool) {
		for i := len(stack) - 1; i >= 0; i-- {
			if start[stack[i]] && !t.Locations[stack[i]].Hidden {
				return stack[:i+1], true
			}
		}
		return nil, false
	})
	return q, slices.Contains(start, true), err
}

func pruneFrom(p *profile.Profile, rx *regexp.Regexp) (*profile.Profile, error) {
	matched := make([]bool, len(p.Functions))
	for i := range matched {
		name := p.Functions[i].Name
		matched[i] = name != "" && rx.MatchString(profile.SimpleName(name))
	}
	t := p.Tables
	t.Locations = slices.Clone(t.Locations)
	end := make([]bool, len(t.Locations))
	for i := range t.Locations {
		l := &t.Locations[i]
		for j, ln := range l.Lines {
			if matched[ln.Function] {
				l.Lines = l.Lines[j:]
				end[i] = true
				break
			}
		}
	}
	return p.Rewrite(t, func(_ int, stack []uint32) ([]uint32, bool) {
		for i, l := range stack {
			if end[l] && !t.Locations[l].Hidden {
				return stack[i:], true
			}
		}
		return stack, true
	})
}

func (f *tagFilter) match(s profile.LabelSet, units map[string]string) bool {
	if f.inRange != nil {
		return slices.ContainsFunc(s, func(l profile.Label) bool {
			return l.Numeric && (f.key == "" || f.key == l.Key) && f.inRange(l.Num, units[l.Key])
		})
	}
	if f.key != "" {
		// Any of the regexps may match the value.
		return slices.ContainsFunc(s, func(l profile.Label) bool {
			return !l.Numeric && l.Key == f.key &&
				slices.ContainsFunc(f.rxs, func(rx *regexp.Regexp) bool { return rx.MatchString(l.Str) })
		})
	}
	// Each of the regexps must match some key:value.
	for _, rx := range f.rxs {
		if !slices.ContainsFunc(s, func(l profile.Label) bool {
			return !l.Numeric && rx.MatchString(l.Key+":"+l.Str)
		}) {
			return false
		}
	}
	return true
}
