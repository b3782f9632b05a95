package profileview

import (
	"cmp"
	"slices"
	"sync"

	"github.com/hone-perf/hone/internal/calls"
	"github.com/hone-perf/hone/internal/query"
	"github.com/hone-perf/hone/internal/recording"
	"github.com/hone-perf/hone/internal/report"
	"github.com/hone-perf/hone/internal/unit"
)

// Sandwich shows a frame between its callers and its callees, each in their contexts. The argument is what the frame
// reads as, or a regexp of which the heaviest match is taken. On a stack with the frame several times, the outermost
// one counts. With a base there is what each cost before.
func Sandwich(in []*recording.Recording, q query.Query) (report.Report, error) {
	a, s, err := askSides(in, q)
	if err != nil {
		return nil, err
	}
	b, err := a.summed()
	if err != nil {
		return nil, err
	}
	t, err := a.callTreeOf("sandwich", b.Table)
	if err != nil {
		return nil, err
	}
	frame, others, err := a.frame(t, b)
	if err != nil {
		return nil, err
	}
	origins, err := a.originsOnce(t.Table)
	if err != nil {
		return nil, err
	}
	where := whereOf(a.named)
	side := func(inverted bool) *calls.Tree {
		t := calls.NewTree(a.Measure, t.Table, t.Collapse || q.Collapse)
		if t.Inverted = inverted; s != nil {
			t.Before, t.Ratio = s.p.Values(s.before), s.ratio
		}
		return t
	}
	trees := []*calls.Tree{side(false), side(true)}
	starts := trees[0].StartsOf(frame)
	// The page asks for the lines of the function next.
	if name := a.passing(t.Table.Frames[frame].Name); name != "" && s == nil && q.By != "line" {
		recording.Note(a.rec, name, passing{starts.Through(trees[0])})
	}
	part := q
	part.Root = t.Text(frame)
	half := func(of *calls.Tree) (report.FlameTree, error) {
		of.StartAt(starts)
		f := &Flames{head: a.head, origins: origins, where: where, tree: of}
		if s != nil {
			f.before, f.normalized, f.scaled = &s.headBefore, s.normalized, s.scaled
		}
		r, err := f.Flame(part)
		if err != nil {
			return report.FlameTree{}, err
		}
		return r.FlameTree, nil
	}
	out := &report.Sandwich{Head: a.head, Whole: a.head.Total, Frame: t.Table.Frames[frame], Origin: origins[frame], Matches: others}
	if s == nil {
		out.Whole = calls.Measure{Profile: in[0].Profile, Type: a.Type}.Total()
	}
	// Much of either half takes one core.
	var other sync.WaitGroup
	var failed error
	other.Go(func() { out.Callers, failed = half(trees[1]) })
	out.Callees, err = half(trees[0])
	other.Wait()
	if err = cmp.Or(err, failed); err != nil {
		return nil, err
	}
	out.Flat, out.Cum = b.Flat[frame], b.Cum[frame].Sum
	if s != nil {
		was := s.costsBefore(t.Table)
		out.BaseHead, out.Normalized = &s.headBefore, s.normalized
		out.Before = &report.Cost2{Flat: s.scaled(was.Flat[frame]), Cum: s.scaled(was.Cum[frame].Sum)}
	}
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

// SearchFor tells how much goes through frames that match the argument. Each sample counts once, however often it
// matches.
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
	out.Names = out.Names[:min(len(out.Names), maxFound)]
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
