package profileview

import (
	"cmp"
	"slices"

	"github.com/hone-perf/hone/internal/exectrace"
	"github.com/hone-perf/hone/internal/hint"
	"github.com/hone-perf/hone/internal/order"
	"github.com/hone-perf/hone/internal/profile"
	"github.com/hone-perf/hone/internal/query"
	"github.com/hone-perf/hone/internal/recording"
	"github.com/hone-perf/hone/internal/report"
	"github.com/hone-perf/hone/internal/waits"
)

// A CPU profile has a sample for each 10 ms that a thread runs. A sample stands for the time before it, back to the one before where that
// may be the sample next to it: timers of a busy system come late.
const (
	samplePeriod = 10_000_000
	sampleLate   = 25_000_000
)

// sampled are samples of an execution trace as a question leaves them.
type sampled struct {
	frames []int32 // outermost first
	inline []bool
	from   int64
	to     int64
	part   int
}

// samples shows the samples of an execution trace, each at its time, on a track of its goroutine.
func (c *flameChart) samples(rec *recording.Recording, q query.Query) error {
	rec, err := rec.TraceAt(q.At.From, q.At.To)
	if err != nil {
		return err
	}
	t, err := recording.Execution.Read(rec)
	if err != nil {
		return err
	}
	if t == nil {
		return errTimeless
	}
	p, err := recording.Once(t, "samples", func(t *exectrace.Trace) (*profile.Profile, error) {
		p, err := waits.Samples(t)
		if err != nil {
			return nil, err
		}
		return p.WithShortNames(), nil
	})
	if err != nil {
		return err
	}
	q.Metric = ""
	one := rec.WithProfile(p.WithHeader(withDefault(p.Header)), "samples")
	a, err := ask([]*recording.Recording{one}, q)
	if err != nil {
		return err
	}
	c.out.Head, c.out.Sampled = a.head, true
	if p.NumSamples() == 0 {
		c.out.Unsampled = true
		c.out.Notes = slices.Clip(c.out.Notes)
		c.out.Notes.Add("the execution trace has no CPU samples: it has them when a CPU profile is recorded at the same time; ", hint.Ask("record").With("trace", ""), " records both")
		return nil
	}
	whole := p.Values(waits.TimeColumn)
	from, to := max(0, whole[0]-samplePeriod), whole[len(whole)-1]
	if q.At.To != 0 {
		to = int64(q.At.To)
	}
	from = max(from, int64(q.At.From))
	if from >= to {
		return &waits.OutsideError{Begin: whole[0], End: whole[len(whole)-1]}
	}
	c.out.From, c.out.To = from, to
	bin := func(at int64) int { return int(min(chartBins-1, max(0, (at-from)*chartBins/(to-from)))) }
	for i := range int64(chartBins) {
		c.out.Parts = append(c.out.Parts, report.ChartPart{From: from + (to-from)*i/chartBins, To: from + (to-from)*(i+1)/chartBins})
	}

	table, err := a.table()
	if err != nil {
		return err
	}
	origins, where := a.origins(table), whereOf(a.named)
	times, tracks := a.Profile.Values(waits.TimeColumn), a.Profile.Values(waits.TrackColumn)
	by := map[int64][]sampled{}
	c.out.Total = 0
	for i, at := range times {
		if at < from || at > to || a.Profile.Values(a.Type)[i] == 0 {
			continue
		}
		s := sampled{from: at - samplePeriod, to: at, part: bin(at)}
		stack := a.Profile.StackAt(i)
		call := c.root
		call.add(s.part, 0, 1)
		c.out.Total++
		c.out.Parts[s.part].Total++
		for l := stack.Len() - 1; l >= 0 && len(s.frames) < maxFlameDepth; l-- {
			for j, f := range table.Of(stack.At(l)) {
				at := c.frame(table.Frames[f], origins[f], where)
				s.frames, s.inline = append(s.frames, at), append(s.inline, table.Inlines(j))
				call = call.call(at, table.Inlines(j))
				call.add(s.part, 0, 1)
			}
		}
		call.flat++
		of := by[tracks[i]]
		if n := len(of); n > 0 && s.to-of[n-1].to < sampleLate {
			s.from = of[n-1].to
		}
		s.from = max(s.from, from)
		by[tracks[i]] = append(of, s)
	}
	c.pack(by)
	return nil
}

// pack puts goroutines that were started with the same function and never ran at the same time on one track.
func (c *flameChart) pack(by map[int64][]sampled) {
	type goroutine struct {
		id      int64
		name    string
		samples []sampled
	}
	var all []goroutine
	sums := map[string]int{}
	for id, list := range by {
		name := "(no frames)"
		for _, f := range list[0].frames {
			if name = c.shown.Name[f]; name != "runtime.goexit" {
				break // that is where all begin
			}
		}
		all = append(all, goroutine{id, name, list})
		sums[name] += len(list)
	}
	order.Stable(all, func(a, b goroutine) int {
		return cmp.Or(cmp.Compare(sums[b.name], sums[a.name]), cmp.Compare(a.name, b.name), cmp.Compare(a.samples[0].from, b.samples[0].from), cmp.Compare(a.id, b.id))
	})
	type track struct {
		report.ChartTrack
		samples []sampled
	}
	var tracks []*track
	first := 0 // track of this name
	for i, g := range all {
		if i > 0 && all[i-1].name != g.name {
			first = len(tracks)
		}
		var to *track
		for _, t := range tracks[first:] {
			if t.samples[len(t.samples)-1].to <= g.samples[0].from {
				to = t
				break
			}
		}
		if to == nil {
			if len(tracks)-first >= chartTracks {
				continue // what is of one kind and runs at the same time so often says little more
			}
			to = &track{ChartTrack: report.ChartTrack{Name: g.name}}
			tracks = append(tracks, to)
		}
		to.Goroutines++
		to.samples = append(to.samples, g.samples...)
	}
	slices.SortStableFunc(tracks, func(a, b *track) int { return cmp.Compare(len(b.samples), len(a.samples)) })
	shown := 0
	for _, t := range tracks[:min(len(tracks), chartTracks)] {
		t.Samples = len(t.samples)
		shown += t.Samples
		t.Rows = trackRows(t.samples, c.out.From)
		c.out.Tracks = append(c.out.Tracks, t.ChartTrack)
	}
	if rest := int(c.out.Total) - shown; rest > 0 {
		c.out.Notes = slices.Clip(c.out.Notes)
		c.out.Notes.Add(rest, " samples are of goroutines that are not drawn; ", hint.Option{Name: "focus"}, " chooses others")
	}
}

// trackRows joins samples that follow each other: a call goes on as long as all above it does.
func trackRows(samples []sampled, begin int64) []report.FlameRow {
	type box struct {
		frame     int32
		inline    bool
		from, to  int64
		cum, flat int64
	}
	var rows [][]box
	var before *sampled
	for i := range samples {
		s := &samples[i]
		same := before != nil && before.to == s.from
		for d, f := range s.frames {
			if d == len(rows) {
				rows = append(rows, nil)
			}
			n := len(rows[d])
			same = same && d < len(before.frames) && before.frames[d] == f
			if !same {
				rows[d] = append(rows[d], box{frame: f, inline: s.inline[d], from: s.from})
				n++
			}
			b := &rows[d][n-1]
			b.to = s.to
			b.cum++
			if d == len(s.frames)-1 {
				b.flat++
			}
		}
		before = s
	}
	out := make([]report.FlameRow, len(rows))
	for d, boxes := range rows {
		end := begin
		for _, b := range boxes {
			put(&out[d], b.frame, b.inline, b.from-end, b.cum, b.flat)
			out[d].Width = append(out[d].Width, b.to-b.from)
			end = b.to
		}
	}
	return out
}

// withDefault returns the header of samples with the column that is shown.
func withDefault(h profile.Header) profile.Header {
	h.DefaultType = h.SampleTypes[waits.SampleColumn].Type
	return h
}
