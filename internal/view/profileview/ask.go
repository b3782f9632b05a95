package profileview

import (
	"cmp"
	"errors"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/hone-perf/hone/internal/calls"
	"github.com/hone-perf/hone/internal/filename"
	"github.com/hone-perf/hone/internal/hint"
	"github.com/hone-perf/hone/internal/profile"
	"github.com/hone-perf/hone/internal/query"
	"github.com/hone-perf/hone/internal/recording"
	"github.com/hone-perf/hone/internal/report"
	"github.com/hone-perf/hone/internal/unit"
	"github.com/hone-perf/hone/internal/view"
	"github.com/hone-perf/hone/internal/waits"
)

// A question is a query with its profile.
type question struct {
	calls.Measure // after the steps
	query         query.Query
	head          report.Head
	units         map[string]string    // of number labels
	unit          string               // unit for display
	named         []profile.Function   // functions of the profile, independent of the grouping of q
	rec           *recording.Recording // nil for a comparison
}

// ask applies the steps of q to the first recording, and makes the head of the report.
func ask(in []*recording.Recording, q query.Query) (*question, error) {
	if len(in) == 0 {
		return nil, errors.New("nothing to look at: name a profile")
	}
	p := in[0].Profile
	if p == nil {
		return nil, fmt.Errorf("%s has no profile", in[0].Ref)
	}
	if len(p.SampleTypes) == 0 {
		return nil, errors.New("profile has no samples")
	}
	k, err := p.SampleIndex(q.Metric)
	if err != nil {
		return nil, err
	}
	a := &question{rec: in[0], Measure: calls.Measure{Profile: p, Type: k, Mean: q.Mean, Wraps: q.PProf}, query: q, units: calls.NumUnits(p), unit: cmp.Or(q.Unit, unit.Auto)}
	rest, remarks, err := calls.Apply(p, q.Steps, a.unit, q.PProf)
	if err != nil {
		return nil, err
	}
	a.head = headOf(p, k, q)
	if load := in[0].Load; load != nil && load.Uneven != nil {
		a.head.Uneven = load.Uneven
		a.head.Notes.Add(load.Uneven.Text)
	}
	if note := partly(in[0], q); note != "" {
		a.head.Notes.Add(note)
	}
	if note := unseen(in[0], k, q); note != "" {
		a.head.Notes.Add(note)
	}
	if note := shortened(in[0], k, q); note != nil {
		a.head.Notes.Add(note...)
	}
	if runsInTrace(p, k) && !strings.HasPrefix(q.By, calls.LabelPrefix) && q.View != "tags" && !q.PProf {
		a.head.Notes.Add("a trace says where a goroutine is only when it stops running, and all of the time until then counts there. By function, ", waits.Running,
			" tells where goroutines stop, and not what they compute; labels are exact. A trace has CPU samples of what they compute if a CPU profile was recorded at the same time: ",
			hint.Ask("flamechart", in[0].Ref))
	}
	if q.Relative {
		a.Profile = rest
	}
	a.head.Total, a.head.Lasting = a.Total(), waits.Lasting(a.Profile, k)
	if len(q.Steps) > 0 && !q.Mean { // the mean of some may be more than that of all
		a.head.Left = leftOf(rest, k, a.head.Total)
	}
	if a.Profile, err = calls.GroupBy(rest, q.By); err != nil {
		return nil, err
	}
	a.named = rest.Functions
	if a.Profile, err = collapsed(a.Profile, q); err != nil {
		return nil, err
	}
	a.head.Remarks = remarks
	for _, r := range remarks {
		a.head.Notes.Add(r.String())
	}
	return a, nil
}

// collapsed returns a profile with cycles of calls once, if q asks for that.
func collapsed(p *profile.Profile, q query.Query) (*profile.Profile, error) {
	if !q.Collapse {
		return p, nil
	}
	d, err := calls.DetailOf(q)
	if err != nil {
		return nil, err
	}
	return calls.CollapseCycles(p, calls.NewFrameTable(p, d, calls.PathTrimmer(q)))
}

// leftOf returns what is left of a total in a profile after filters, or nil if that is not less.
func leftOf(rest *profile.Profile, k int, total int64) *int64 {
	left := calls.Measure{Profile: rest, Type: k}.Total()
	if left >= total {
		return nil
	}
	return &left
}

// partly returns a note if CPU profiles cover much less than the whole run.
func partly(rec *recording.Recording, q query.Query) string {
	const least = time.Second // that is missing: recorders take a moment to begin, and pause between profiles
	if kind, _ := rec.PickedKind(); kind != recording.CPU || q.At != (query.Span{}) || rec.Manifest != nil && rec.Manifest.Lookout != nil {
		return "" // with a lookout, the profile has a note
	}
	c, ok := rec.Covered()
	if lost := c.Run - c.Covered; !ok || lost <= least || lost <= c.Run/10 {
		return ""
	}
	about := func(d time.Duration) string { return unit.Time(d.Round(100 * time.Millisecond)) }
	return fmt.Sprintf("CPU profiles cover %s of this run of %s, between %s and %s", about(c.Covered), about(c.Run), about(c.From), about(c.To))
}

// runsInTrace reports whether a sample type is the running time of goroutines in an execution trace.
func runsInTrace(p *profile.Profile, k int) bool {
	return p.SampleTypes[k].Type == waits.Running && k < len(waits.Types) && waits.Types[k] == waits.Running
}

// unseen returns a note if a heap profile lacks much of what the program allocated, as where the program was killed: the runtime shows only what was
// allocated before the last but one garbage collection.
func unseen(rec *recording.Recording, k int, q query.Query) string {
	const allocated, least = "/gc/heap/allocs:bytes", 4 << 20 // some samples of 512 kB
	p := rec.Profile
	if kind, _ := rec.PickedKind(); kind != recording.Heap || q.At != (query.Span{}) || !strings.HasPrefix(p.SampleTypes[k].Type, "alloc_") {
		return ""
	}
	space, err := p.SampleIndex("alloc_space")
	s := recording.Metrics.In(rec)
	if err != nil || s == nil {
		return ""
	}
	all, ok := s.At(allocated, len(s.Times)-1)
	seen := calls.Measure{Profile: p, Type: space}.Total()
	if lost := int64(all) - seen; !ok || lost < least || lost < int64(all)/5 {
		return ""
	}
	return fmt.Sprintf("the heap profile has %s of the %s that were allocated; the rest came after the last but one garbage collection", unit.Label(seen, "bytes"), unit.Label(int64(all), "bytes"))
}

// headOf returns the head of a report about a profile.
func headOf(p *profile.Profile, k int, q query.Query) report.Head {
	h := report.Head{
		Comments: p.Comments,
		Metric:   p.SampleTypes[k].Type,
		By:       q.By,
		Unit:     p.SampleTypes[k].Unit,
		Doc:      p.DocURL,
		Time:     p.TimeNanos,
		Duration: p.DurationNanos,
		Notes:    hint.Said(p.Notes...),
		Show:     report.Show{Unit: q.Unit},
	}
	if len(p.Mappings) > 0 {
		m := &p.Mappings[0]
		h.File, h.BuildID = filename.Base(m.File), m.Build()
		if q.PProf {
			if h.BuildID = m.BuildID; m.File != "" {
				h.File = filepath.Base(m.File)
			}
		}
	}
	if q.Mean {
		h.Metric, h.Mean = "mean_"+h.Metric, !q.PProf
	}
	if q.Divide != 0 {
		h.Show.Factor = 1 / q.Divide
	}
	for _, s := range q.Steps {
		if s.Op != query.TagRoot && s.Op != query.TagLeaf && s.Op != query.PruneFrom {
			h.Filters = append(h.Filters, string(s.Op)+"="+s.Arg)
		}
	}
	for _, t := range q.BaseTags {
		h.Filters = append(h.Filters, "base-tag="+t)
	}
	return h
}

// builder returns the builder of graphs for what was asked.
func (a *question) builder(objects bool) (*calls.Builder, error) {
	d, err := calls.DetailOf(a.query)
	if err != nil {
		return nil, err
	}
	d.Object = objects
	table := calls.NewFrameTable(a.Profile, d, calls.PathTrimmer(a.query))
	b := calls.NewBuilder(a.Measure, table)
	b.DropNegative, b.ByMean = a.query.Positive, a.head.Mean
	return b, nil
}

// summed returns a builder with the cost of each frame. Many queries share it, so it is cached if the recording has a memo.
func (a *question) summed() (*calls.Builder, error) {
	b := &calls.Builder{Measure: a.Measure, DropNegative: a.query.Positive, ByMean: a.head.Mean}
	var err error
	b.Costing, err = recording.Remember(a.rec, a.costing(), func() (*calls.Costing, error) {
		made, err := a.builder(false)
		if err != nil {
			return nil, err
		}
		made.Costs()
		return made.Costing, nil
	})
	return b, err
}

// costing returns the cache key for the costs of frames.
func (a *question) costing() string {
	q := a.query
	same := query.Query{
		View: "costs", Metric: strconv.Itoa(a.Type), Mean: q.Mean, Steps: q.Steps, By: q.By, NoInlines: q.NoInlines, Columns: q.Columns,
		Collapse: q.Collapse, TrimPath: q.TrimPath, SourcePath: q.SourcePath,
	}
	return same.URL()
}

// A passing is the samples that cost something and have a function on their stacks.
type passing struct{ samples profile.SampleSet }

func (p passing) Size() int64 { return int64(8 * len(p.samples)) }

// passing returns the cache key for the samples with a function, or "" if the query does not add up samples.
func (a *question) passing(function string) string {
	if by := a.query.By; a.Mean || by != "" && by != "function" && by != "line" {
		return ""
	}
	same := query.Query{View: "passing", Arg: function, Metric: strconv.Itoa(a.Type), Steps: a.query.Steps, NoInlines: a.query.NoInlines}
	return same.URL()
}

// SumAhead computes the costs of frames in advance, and gives up when enough returns true. It reports whether the costs are known.
func SumAhead(rec *recording.Recording, q query.Query, enough func() bool) bool {
	if !rec.Remembers() {
		return true
	}
	a, err := ask([]*recording.Recording{rec}, q)
	if err != nil {
		return true // the query itself will return the error
	}
	if _, known := recording.Recall[*calls.Costing](rec, a.costing()); known {
		return true
	}
	b, err := a.builder(false)
	if err != nil {
		return true
	}
	if !b.CostsAhead(enough) {
		return false
	}
	recording.Note(rec, a.costing(), b.Costing)
	return true
}

// A GraphSearch finds in advance the calls by which a graph selects its nodes.
type GraphSearch struct {
	rec    *recording.Recording
	name   string
	search *calls.CallSearch // nil where there is nothing to find
}

// SearchGraph begins to find them, once SumAhead is done.
func SearchGraph(rec *recording.Recording, q query.Query) *GraphSearch {
	out := &GraphSearch{rec: rec}
	a, err := ask([]*recording.Recording{rec}, q)
	if err != nil || a.Mean || !rec.Remembers() {
		return out
	}
	b, err := a.summed()
	if err != nil {
		return out
	}
	t := a.trim(defaultNodes, minShare, minEdgeShare)
	out.name = a.calling(t)
	if _, known := recording.Recall[*calls.KnownCalls](rec, out.name); known {
		return out
	}
	begun := false
	if out.search, begun = recording.Recall[*calls.CallSearch](rec, out.name); begun {
		return out
	}
	if out.search = b.SearchCalls(t); out.search != nil {
		recording.Note(rec, out.name, out.search) // what was found takes its place
	}
	return out
}

// Go continues until enough returns true, and caches the result when it is done.
func (s *GraphSearch) Go(enough func() bool) {
	if s.search == nil {
		return
	}
	if found := s.search.Go(enough); found != nil {
		recording.Note(s.rec, s.name, found)
		s.search = nil // and with it its tables
	}
}

// Done reports whether there is nothing left to find.
func (s *GraphSearch) Done() bool { return s.search == nil }

// trim returns the limits of the query, with the defaults of the view.
func (a *question) trim(limit int, minShare, minEdge float64) calls.Trim {
	q := a.query
	t := calls.Trim{Nodes: limit, Min: minShare, MinEdge: minEdge, ByCum: q.Sort == "cum", Units: a.units, ShowUnit: a.unit}
	if q.Limit != 0 {
		t.Nodes = max(q.Limit, 0)
	}
	t.Min *= a.head.Ended()
	if q.Min != 0 {
		t.Min = max(q.Min, 0)
	}
	if q.MinEdge != 0 {
		t.MinEdge = max(q.MinEdge, 0)
	}
	return t
}

// pattern compiles the argument of a view.
func (a *question) pattern() (*regexp.Regexp, error) {
	rx, err := regexp.Compile(a.query.Arg)
	if err != nil {
		return nil, query.CheckRegexp(a.query.Arg) // which says where the mistake is
	}
	return rx, nil
}

// Head returns the head of reports about the recording.
func Head(in []*recording.Recording, q query.Query) (report.Head, error) {
	a, err := ask(in, q)
	if err != nil {
		return report.Head{}, err
	}
	return a.head, nil
}

func (a *question) noMatch() error {
	unused, removed := a.unmatched()
	return &view.NoMatch{Arg: a.query.Arg, Unused: unused, Removed: removed, Remarks: a.head.Remarks}
}

// unmatched says why functions of the profile that match the argument are not there: it returns the metric if that has no samples of them even
// without filters, or true if filters removed the samples.
func (a *question) unmatched() (unused string, removed bool) {
	rx, err := a.pattern()
	if err != nil || a.rec == nil || len(a.query.Base) > 0 { // in a difference, samples may cancel out
		return "", false
	}
	p := a.rec.Profile
	found := false
	matches := make([]bool, len(p.Functions))
	for i := range p.Functions {
		matches[i] = rx.MatchString(p.Functions[i].Name)
		found = found || matches[i]
	}
	if !found {
		return "", false
	}
	in := make([]bool, len(p.Locations))
	for i := range p.Locations {
		in[i] = slices.ContainsFunc(p.Locations[i].Lines, func(l profile.Line) bool { return int(l.Function) < len(matches) && matches[l.Function] })
	}
	set := p.LocationSet(in)
	for i, v := range p.Values(a.Type) {
		if v != 0 && p.HasAny(i, set) {
			return "", true
		}
	}
	return p.SampleTypes[a.Type].Type, false
}
