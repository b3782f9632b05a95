package profileview

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/hone-perf/hone/internal/hint"
	"github.com/hone-perf/hone/internal/profile"
	"github.com/hone-perf/hone/internal/query"
	"github.com/hone-perf/hone/internal/recording"
	"github.com/hone-perf/hone/internal/report"
)

// What a flame chart shows. More parts would have no room for names on a screen; a part of the time shows its parts finer.
const (
	chartParts  = 20
	chartBins   = 40 // of samples that know their times
	chartTracks = 24
	chartCalls  = 30
)

// errTimeless says that profiles do not know when things happened.
var errTimeless = hint.Errorf(hint.Text{hint.Ask("record"), " makes a recording, which has a profile of each second"},
	"a profile does not know when things happened, so it has no flame chart")

// FlameChart shows calls in the order of time: a flame graph of each part of a recording, or the samples of the CPU profile in an
// execution trace.
func FlameChart(in []*recording.Recording, q query.Query) (report.Report, error) {
	if len(in) != 1 {
		return nil, errors.New("a flame chart is about one recording")
	}
	if q.At.Moment() {
		return nil, fmt.Errorf("%s is a moment; a flame chart needs a part of the time, such as %s", q.At, query.Span{From: max(0, q.At.From-time.Second), To: q.At.To + time.Second})
	}
	if q.Mean {
		return nil, errors.New("means do not add up over time; drop mean")
	}
	c := &flameChart{frames: map[report.Frame]int32{}, shown: report.NewFrameList(), root: &timedCall{}}
	c.out = &report.FlameChart{Ref: in[0].Ref, At: q.At.String(), Parts: []report.ChartPart{}}
	var err error
	kind, traced := in[0].PickedKind()
	switch {
	case traced, kind == "" && slices.Contains(in[0].Metrics(), recording.Execution.Name):
		err = c.samples(in[0], q)
	case kind == "", stored(in[0]):
		err = errTimeless
	default:
		err = c.parts(in[0], kind, q)
	}
	if err != nil {
		return nil, err
	}
	for i := range c.out.Parts {
		p := &c.out.Parts[i]
		c.out.Most = max(c.out.Most, p.Total)
		of := c.out.Head
		of.Total, of.Duration = p.Total, p.To-p.From
		p.Cores = of.BusyCores()
	}
	c.listCalls(q)
	c.out.Frames = c.shown.FlameFrames
	return c.out, nil
}

// stored reports whether a recording is what a store has added up.
func stored(r *recording.Recording) bool {
	return r.Manifest != nil && r.Manifest.How == recording.Stored
}

// A flameChart is a report.FlameChart in the making.
type flameChart struct {
	out    *report.FlameChart
	frames map[report.Frame]int32 // places in list and shown
	list   []report.Frame
	shown  *report.FrameList
	root   *timedCall
}

// A timedCall is a call in one context, over all of the time.
type timedCall struct {
	frame  int32
	inline bool
	flat   int64
	cum    int64
	over   map[int]chartCell // by part
	below  map[int32]*timedCall
	sorted []*timedCall // below, heaviest first, once that is known
}

type chartCell struct{ flat, cum int64 }

func (c *timedCall) add(part int, flat, cum int64) {
	c.flat += flat
	c.cum += cum
	if c.over == nil {
		c.over = map[int]chartCell{}
	}
	cell := c.over[part]
	c.over[part] = chartCell{cell.flat + flat, cell.cum + cum}
}

// peak takes a part into account that shows what there was at its end: of several, the largest counts.
func (c *timedCall) peak(part int, flat, cum int64) {
	was := *c
	c.add(part, flat, cum)
	c.flat, c.cum = max(was.flat, flat), max(was.cum, cum)
}

func (c *timedCall) call(frame int32, inline bool) *timedCall {
	if b := c.below[frame]; b != nil {
		b.inline = b.inline && inline
		return b
	}
	if c.below == nil {
		c.below = map[int32]*timedCall{}
	}
	b := &timedCall{frame: frame, inline: inline}
	c.below[frame] = b
	return b
}

// calls returns what is below c, heaviest first: in all parts in the same order, so that the eye finds a call again.
func (c *flameChart) calls(at *timedCall) []*timedCall {
	if at.sorted == nil && len(at.below) > 0 {
		for _, b := range at.below {
			at.sorted = append(at.sorted, b)
		}
		slices.SortFunc(at.sorted, func(a, b *timedCall) int {
			return cmp.Or(cmp.Compare(b.cum, a.cum), cmp.Compare(c.shown.Name[a.frame], c.shown.Name[b.frame]), cmp.Compare(a.frame, b.frame))
		})
	}
	return at.sorted
}

// frame returns the place of a frame in the list of all.
func (c *flameChart) frame(f report.Frame, origin report.Origin, where func(string) report.FlamePlace) int32 {
	at, ok := c.frames[f]
	if !ok {
		p := where(f.Name)
		out := report.FlameFrame{Name: f.String(), File: f.File, Line: f.Line, Origin: origin, Package: p.Package}
		if out.File == "" {
			out.File, out.Line = p.File, p.Line
		}
		at = c.shown.Add(out)
		c.frames[f] = at
		c.list = append(c.list, f)
	}
	return at
}

// parts makes a flame graph of each part of the time.
func (c *flameChart) parts(rec *recording.Recording, kind string, q query.Query) error {
	a, err := ask([]*recording.Recording{rec}, q)
	if err != nil {
		return err
	}
	c.out.Head = a.head
	typ := rec.Profile.SampleTypes[a.Type].Type
	moves := kind == recording.CPU || recording.Moves(typ)
	c.out.Live = !moves
	if kind != recording.CPU {
		c.out.Notes = slices.Clone(a.head.Notes[len(rec.Profile.Notes):]) // those say of when the profile is
	}
	spans := chartSpans(rec.Profiles(kind).Parts(), kind, q.At)
	if len(spans) == 0 {
		return errTimeless
	}
	share := min(max(float64(len(spans))/2048, minFlameShare), 0.005)
	if q.Min != 0 {
		share = max(q.Min, 0)
	}
	for i, s := range spans {
		from := s.From
		if !moves {
			from = s.To
		}
		p, _, err := rec.Profiles(kind).Between(typ, from, s.To)
		if err != nil {
			return err
		}
		q.Metric = typ
		total, err := c.part(i, rec, p, q, share)
		if err != nil {
			return err
		}
		c.out.Parts = append(c.out.Parts, report.ChartPart{From: int64(s.From), To: int64(s.To), Total: total})
	}
	c.out.Total = c.root.cum
	for i := range c.out.Parts {
		c.out.Parts[i].Rows = c.rows(i)
	}
	c.out.From, c.out.To = int64(spans[0].From), int64(spans[len(spans)-1].To)
	return nil
}

// chartSpans cuts the time of profiles into parts, each of which begins and ends where one of them does.
func chartSpans(parts []recording.Part, kind string, at query.Span) []query.Span {
	var all []query.Span
	var before time.Duration
	for _, p := range parts {
		s := query.Span{From: p.From, To: p.To}
		if kind != recording.CPU {
			s.From = before
		}
		before = p.To
		if s.From < s.To && (at.To == 0 || s.From < at.To) && s.To > at.From {
			all = append(all, s)
		}
	}
	each := (len(all) + chartParts - 1) / chartParts
	var out []query.Span
	for len(all) > 0 {
		n := min(each, len(all))
		out = append(out, query.Span{From: all[0].From, To: all[n-1].To})
		all = all[n:]
	}
	return out
}

// part adds the calls of a part, and returns what they cost in all.
func (c *flameChart) part(i int, rec *recording.Recording, p *profile.Profile, q query.Query, share float64) (int64, error) {
	a, err := ask([]*recording.Recording{rec.WithProfile(p, "")}, q)
	if err != nil {
		return 0, err
	}
	t, err := a.callTree("flamechart")
	if err != nil {
		return 0, err
	}
	root, err := t.Find("", share)
	if err != nil {
		return 0, err
	}
	origins, where := a.origins(t.Table), whereOf(a.named)
	least := int64(float64(t.Sums[root].Weight) * share)
	type placed struct {
		at    uint32
		to    *timedCall
		depth int
	}
	for todo := []placed{{root, c.root, 0}}; len(todo) > 0; {
		n := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		if flat, cum := t.Nodes[n.at].Flat.Value, t.Sums[n.at].Value; c.out.Live {
			n.to.peak(i, flat, cum)
		} else {
			n.to.add(i, flat, cum)
		}
		if n.depth == maxFlameDepth {
			continue
		}
		for _, b := range t.Calls(n.at) {
			if t.Sums[b].Weight < least {
				break // the others are lighter
			}
			call := &t.Nodes[b]
			f := c.frame(t.Table.Frames[call.Frame], origins[call.Frame], where)
			todo = append(todo, placed{b, n.to.call(f, call.Inline()), n.depth + 1})
		}
	}
	return t.Sums[root].Value, nil
}

// rows returns the flame graph of a part, without its root.
func (c *flameChart) rows(part int) []report.FlameRow {
	type placed struct {
		*timedCall
		x int64
	}
	width := func(n *timedCall) int64 { v := n.over[part].cum; return max(v, -v) }
	var out []report.FlameRow
	for level := []placed{{c.root, 0}}; len(level) > 0; {
		var next []placed
		for _, n := range level {
			x := n.x
			for _, b := range c.calls(n.timedCall) {
				if w := width(b); w > 0 {
					next = append(next, placed{b, x})
					x += w
				}
			}
		}
		if len(next) == 0 {
			break
		}
		var r report.FlameRow
		end := int64(0)
		for _, n := range next {
			cell := n.over[part]
			put(&r, n.frame, n.inline, n.x-end, cell.cum, cell.flat)
			end = n.x + width(n.timedCall)
		}
		out = append(out, r)
		level = next
	}
	return out
}

func put(r *report.FlameRow, frame int32, inline bool, gap, cum, flat int64) {
	in := int8(0)
	if inline {
		in = 1
	}
	r.Frame, r.Inline = append(r.Frame, frame), append(r.Inline, in)
	r.Gap, r.Cum, r.Flat = append(r.Gap, gap), append(r.Cum, cum), append(r.Flat, flat)
}

// listCalls lists the calls that cost most, as far as a table goes.
func (c *flameChart) listCalls(q query.Query) {
	limits := (&question{query: q}).trim(chartCalls, 0.01, 0)
	c.out.Below = int64(float64(c.root.cum) * limits.Min)
	var queue flameQueue
	var all []*timedCall
	kept := map[*timedCall]bool{c.root: true}
	open := func(at *timedCall) {
		for _, b := range c.calls(at) {
			if w := max(b.cum, -b.cum); w < c.out.Below {
				c.out.Dropped++
			} else {
				queue.push(pending{call: uint32(len(all)), weight: w, seq: len(all)})
				all = append(all, b)
			}
		}
	}
	open(c.root)
	for len(queue) > 0 && (limits.Nodes == 0 || len(kept) <= limits.Nodes) {
		n := all[queue.pop().call]
		kept[n] = true
		open(n)
	}
	c.out.Shown, c.out.Of = len(kept)-1, len(kept)-1+len(queue)
	type placed struct {
		*timedCall
		depth int
	}
	for todo := []placed{{c.root, 0}}; len(todo) > 0; {
		n := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		r := report.ChartCall{Depth: n.depth, Flat: n.flat, Cum: n.cum, Over: make([]int64, len(c.out.Parts))}
		if n.depth > 0 {
			r.Frame = c.list[n.frame]
		}
		for i, cell := range n.over {
			r.Over[i] = cell.cum
		}
		c.out.Calls = append(c.out.Calls, r)
		for _, b := range slices.Backward(c.calls(n.timedCall)) {
			if kept[b] {
				todo = append(todo, placed{b, n.depth + 1})
			}
		}
	}
}
