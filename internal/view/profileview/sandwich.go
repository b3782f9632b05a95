package profileview

import (
	"cmp"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/hone-perf/hone/internal/calls"
	"github.com/hone-perf/hone/internal/order"
	"github.com/hone-perf/hone/internal/query"
	"github.com/hone-perf/hone/internal/recording"
	"github.com/hone-perf/hone/internal/report"
	"github.com/hone-perf/hone/internal/unit"
)

// Sandwich shows a frame between its callers and its callees, each in their contexts. The argument is what the frame
// reads as, or a regexp of which the heaviest match is taken. On a stack with the frame several times, the outermost
// one counts. With a base there is what each cost before.
func Sandwich(in []*recording.Recording, q query.Query) (report.Report, error) {
	return NewSandwiching(in, q).Report()
}

// A Sandwiching computes a sandwich, partly in advance: Report skips what Ahead has done.
type Sandwiching struct {
	in    []*recording.Recording
	query query.Query

	starts atomic.Pointer[calls.Starts]        // nil until they are found
	halves [2]atomic.Pointer[report.FlameTree] // of callees and of callers; nil until they are made
}

// NewSandwiching begins the sandwich that q asks for. It has done nothing yet.
func NewSandwiching(in []*recording.Recording, q query.Query) *Sandwiching {
	return &Sandwiching{in: in, query: q}
}

// A sandwiched is the input of a sandwich.
type sandwiched struct {
	*question
	*sides  // nil without a base
	costs   *calls.Builder
	table   *calls.FrameTable
	frame   int32
	others  []string // what else the argument may mean
	origins originList
	trees   [2]*calls.Tree // of callees and of callers
	part    query.Query    // of either half
	where   func(function string) report.FlamePlace
}

// set computes everything that is fast once the costs of frames are known.
func (x *Sandwiching) set() (*sandwiched, error) {
	a, s, err := askSides(x.in, x.query)
	if err != nil {
		return nil, err
	}
	out := &sandwiched{question: a, sides: s, where: whereOf(a.named)}
	if out.costs, err = a.summed(); err != nil {
		return nil, err
	}
	out.table = out.costs.Table
	t, err := a.callTreeOf("sandwich", out.table)
	if err != nil {
		return nil, err
	}
	if out.frame, out.others, err = a.frame(t, out.costs); err != nil {
		return nil, err
	}
	if out.origins, err = a.originsOnce(out.table); err != nil {
		return nil, err
	}
	for i := range out.trees {
		of := calls.NewTree(a.Measure, out.table, t.Collapse)
		if of.Inverted = i == 1; s != nil {
			of.Before, of.Ratio = s.p.Values(s.before), s.ratio
		}
		out.trees[i] = of
	}
	out.part = x.query
	out.part.Root = t.Text(out.frame)
	return out, nil
}

// found caches where the frame is on stacks, because the page asks for the lines of the function next.
func (x *Sandwiching) found(s *sandwiched, starts *calls.Starts) {
	if name := s.passing(s.table.Frames[s.frame].Name); name != "" && s.sides == nil && x.query.By != "line" {
		recording.Note(s.rec, name, passing{starts.Through(s.trees[0])})
	}
	x.starts.Store(starts)
}

// half returns one of the halves of a sandwich.
func (s *sandwiched) half(i int) (*report.FlameTree, error) {
	f := &Flames{head: s.question.head, origins: s.origins, where: s.where, tree: s.trees[i], callers: i == 1}
	if s.sides != nil {
		f.before, f.normalized, f.scaled = &s.headBefore, s.normalized, s.scaled
	}
	r, err := f.Flame(s.part)
	if err != nil {
		return nil, err
	}
	return &r.FlameTree, nil
}

// Ahead computes as much as possible in advance, on one core, until enough returns true. It reports whether Report will be fast. It does nothing
// for filters and comparisons, which cannot be interrupted.
func (x *Sandwiching) Ahead(enough func() bool) bool {
	if len(x.in) != 1 || len(x.query.Steps) > 0 || !SumAhead(x.in[0], x.query, enough) {
		return false
	}
	s, err := x.set()
	if err != nil {
		return true // Report says so
	}
	starts := x.starts.Load()
	if starts == nil {
		if starts = s.trees[0].StartsAhead(s.frame, enough); starts == nil {
			return false
		}
		x.found(s, starts)
	}
	share := s.trim(maxFlameCalls, minFlameShare, 0).Min
	for i, t := range s.trees {
		if x.halves[i].Load() != nil {
			continue
		}
		t.StartAt(starts)
		if !t.FindAhead(share, enough) {
			return false
		}
		half, err := s.half(i)
		if err != nil {
			return true
		}
		x.halves[i].Store(half)
	}
	return true
}

// Report returns the sandwich.
func (x *Sandwiching) Report() (report.Report, error) {
	s, err := x.set()
	if err != nil {
		return nil, err
	}
	starts := x.starts.Load()
	if starts == nil {
		starts = s.trees[0].StartsOf(s.frame)
		x.found(s, starts)
	}
	// Much of either half takes one core.
	var halves [2]*report.FlameTree
	var failed [2]error
	half := func(i int) {
		if halves[i] = x.halves[i].Load(); halves[i] == nil {
			s.trees[i].StartAt(starts)
			halves[i], failed[i] = s.half(i)
		}
	}
	var other sync.WaitGroup
	other.Go(func() { half(1) })
	half(0)
	other.Wait()
	if err := cmp.Or(failed[0], failed[1]); err != nil {
		return nil, err
	}
	frame := s.frame
	out := &report.Sandwich{
		Head: s.question.head, Whole: s.question.head.Total, Frame: s.table.Frames[frame], Origin: s.origins[frame], Matches: s.others,
		Callees: *halves[0], Callers: *halves[1], Flat: s.costs.Flat[frame], Cum: s.costs.Cum[frame].Sum,
	}
	if s.sides == nil {
		out.Whole = calls.Measure{Profile: x.in[0].Profile, Type: s.Type}.Total()
		return out, nil
	}
	was := s.costsBefore(s.table)
	out.BaseHead, out.Normalized = &s.headBefore, s.normalized
	out.Before = &report.Cost2{Flat: s.scaled(was.Flat[frame]), Cum: s.scaled(was.Cum[frame].Sum)}
	return out, nil
}

// frame returns the frame that the argument means, and what else it may mean. b has what each frame costs.
func (a *question) frame(t *calls.Tree, b *calls.Builder) (int32, []string, error) {
	heavier := func(i, j int32) int {
		return cmp.Or(cmp.Compare(unit.Abs(b.Cum[j].Sum), unit.Abs(b.Cum[i].Sum)), cmp.Compare(t.Text(i), t.Text(j)), cmp.Compare(i, j))
	}
	var found []int32
	for f := range t.Table.Frames {
		if t.Text(int32(f)) == a.query.Arg {
			found = append(found, int32(f))
		}
	}
	if len(found) == 0 {
		rx, err := a.pattern()
		if err != nil {
			return 0, nil, err
		}
		for f := range t.Table.Frames {
			if (b.Cum[f].Sum != 0 || b.Flat[f] != 0) && rx.MatchString(t.Text(int32(f))) {
				found = append(found, int32(f))
			}
		}
	}
	if len(found) == 0 {
		return 0, nil, a.noMatch()
	}
	slices.SortFunc(found, heavier)
	var others []string
	for _, f := range found[1:] {
		others = append(others, t.Text(f))
	}
	return found[0], others, nil
}

// maxFound is how many names a search returns.
const maxFound = 5000

// SearchFor shows the cost of samples with frames that match the argument. Each sample counts once, however often it
// matches. Of too many names it returns the heaviest: these are the ones that a flame graph draws.
func SearchFor(in []*recording.Recording, q query.Query) (report.Report, error) {
	a, err := ask(in, q)
	if err != nil {
		return nil, err
	}
	rx, err := a.pattern()
	if err != nil {
		return nil, err
	}
	t, err := a.callTree("search")
	if err != nil {
		return nil, err
	}
	matches := make([]bool, len(t.Table.Frames))
	out := &report.Search{Head: a.head, Names: []string{}}
	for f := range matches {
		if matches[f] = rx.MatchString(t.Text(int32(f))); matches[f] {
			out.Count++
			out.Names = append(out.Names, t.Text(int32(f)))
		}
	}
	slices.Sort(out.Names)
	out.Names = slices.Compact(out.Names)
	if len(out.Names) > maxFound {
		if out.Names, err = a.heaviestNames(t, matches); err != nil {
			return nil, err
		}
	}
	found := make([]bool, len(a.Profile.Locations))
	for l := range found {
		found[l] = slices.ContainsFunc(t.Table.Of(uint32(l)), func(f int32) bool { return matches[f] })
	}
	if out.Count == 0 {
		return out, nil
	}
	out.Value = a.Through(found)
	return out, nil
}

// heaviestNames returns maxFound of the names of frames that match, in order. If the argument matches some names only because it ignores
// case, one of these is included: if the page sees such a name, its filter ignores case, too.
func (a *question) heaviestNames(t *calls.Tree, matches []bool) ([]string, error) {
	costs, err := a.summed() // its frames have the same numbers
	if err != nil {
		return nil, err
	}
	found := make([]int32, 0, len(matches))
	for f, is := range matches {
		if is {
			found = append(found, int32(f))
		}
	}
	order.Stable(found, func(i, j int32) int { return cmp.Compare(unit.Abs(costs.Cum[j].Sum), unit.Abs(costs.Cum[i].Sum)) })
	other := func(string) bool { return false } // a name that matches in another case only
	if text, ok := strings.CutPrefix(a.query.Arg, query.IgnoreCase); ok {
		if exact, err := regexp.Compile(text); err == nil {
			other = func(name string) bool { return !exact.MatchString(name) }
		}
	}
	kept, names := make(map[string]bool, maxFound), make([]string, 0, maxFound)
	include := func(name string) {
		if !kept[name] {
			kept[name] = true
			names = append(names, name)
		}
	}
	for len(found) > 0 && len(names) < maxFound {
		include(t.Text(found[0]))
		found = found[1:]
	}
	if !slices.ContainsFunc(names, other) {
		if i := slices.IndexFunc(found, func(f int32) bool { return other(t.Text(f)) }); i >= 0 {
			names[maxFound-1] = t.Text(found[i])
		}
	}
	slices.Sort(names)
	return names, nil
}
