package recording

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/hone-perf/hone/internal/heapgraph"
	"github.com/hone-perf/hone/internal/profile"
	"github.com/hone-perf/hone/internal/unit"
	"github.com/hone-perf/hone/internal/waits"
)

// types are the sample types of each kind of profile, the one to show first in front.
var types = map[string][]string{
	CPU:          {"cpu", "samples"},
	Heap:         {"inuse_space", "inuse_objects", "alloc_space", "alloc_objects"},
	Goroutine:    {"goroutine"},
	Block:        {"delay", "contentions"},
	Mutex:        {"delay", "contentions"},
	ThreadCreate: {"threadcreate"},
	Leaks:        {"goroutineleak"},
	Held:         {heapgraph.Space, heapgraph.Objects},
	traceKind:    waits.Types,
}

// traceKind is what an execution trace is called that is asked for as a profile, of where goroutines waited.
const traceKind = "trace"

// has reports whether there are profiles of a kind, or an execution trace that can be one.
func (r *Recording) has(kind string) bool {
	if kind != traceKind || len(r.Parts[kind]) > 0 {
		return len(r.Parts[kind]) > 0
	}
	if v, ok := r.given[Execution.FileKind]; ok {
		return v != nil
	}
	return r.traceIn() != ""
}

// pickable are the kinds of profiles that a metric can be of.
var pickable = append(slices.Clone(Kinds), traceKind)

// Metrics lists what can be asked about a recording, as metrics are written: the kind of profile, and its sample type
// where that is not the first.
func (r *Recording) Metrics() []string {
	var out []string
	for _, kind := range pickable {
		if !r.has(kind) {
			continue
		}
		for i, t := range r.typesOf(kind) {
			if i == 0 {
				out = append(out, kind)
			} else {
				out = append(out, kind+":"+t)
			}
		}
	}
	return out
}

// typesOf returns the sample types that profiles of a kind have, the one to show first in front. Agents that are not Go's send some of them.
func (r *Recording) typesOf(kind string) []string {
	p := r.made[kind]
	if p == nil {
		p = r.added(kind)
	}
	if p == nil {
		return types[kind]
	}
	var out []string
	for _, t := range types[kind] {
		if slices.ContainsFunc(p.SampleTypes, func(v profile.ValueType) bool { return v.Type == t }) {
			out = append(out, t)
		}
	}
	if len(out) == 0 {
		for _, t := range p.SampleTypes {
			out = append(out, t.Type)
		}
	}
	return out
}

// added returns the profile of a kind that a store added up, or nil where that is not what r is, or what cannot be read as a whole. What was sent to a store as a
// kind may count something else than Go's profiles of this kind.
func (r *Recording) added(kind string) *profile.Profile {
	parts := r.Parts[kind]
	if r.files == nil || r.Manifest == nil || r.Manifest.How != Stored || len(parts) != 1 {
		return nil
	}
	p, err := r.read.Do("added "+kind, func() (*profile.Profile, error) {
		p, err := r.parse(parts[0].File)
		if err == nil {
			err = p.Damage
		}
		return p, err
	})
	if err != nil {
		return nil
	}
	return p
}

// Profiled lists the kinds of profiles that there are, but for what is made of an execution trace.
func (r *Recording) Profiled() []string {
	return slices.DeleteFunc(slices.Clone(Kinds), func(kind string) bool { return len(r.Parts[kind]) == 0 })
}

// MetricNames returns the names other than its own by which one of Metrics can be asked for.
func (r *Recording) MetricNames(metric string) []string {
	kind, typ, err := r.find(metric)
	if err != nil {
		return nil
	}
	var out []string
	for _, name := range []string{kind, kind + ":" + typ, typ, "allocs"} {
		k, t, err := r.find(name)
		if err == nil && k == kind && t == typ && name != metric && !slices.Contains(out, name) {
			out = append(out, name)
		}
	}
	return out
}

// find returns the kind of profile and the sample type that a metric means: heap, heap:alloc_space, or alloc_space. The
// type is "" for the one that the profile itself shows first.
func (r *Recording) find(metric string) (kind, typ string, err error) {
	switch kind, typ, _ = strings.Cut(metric, ":"); {
	case metric == "":
		for _, k := range pickable {
			if of := r.typesOf(k); r.has(k) && len(of) > 0 {
				return k, of[0], nil
			}
		}
		return "", "", fmt.Errorf("%s: %w%s", r.Ref, ErrNoProfile, r.why())
	case kind == "allocs" && r.has(Heap):
		return Heap, "alloc_space", nil
	case r.has(kind):
		of := r.typesOf(kind)
		if typ == "" && len(of) > 0 {
			typ = of[0]
		} else if !slices.Contains(of, typ) {
			return "", "", fmt.Errorf("%s profiles have no %s; they have %s", kind, typ, strings.Join(of, ", "))
		}
		return kind, typ, nil
	}
	for _, k := range pickable {
		if r.has(k) && slices.Contains(r.typesOf(k), metric) {
			return k, metric, nil
		}
	}
	if len(r.Metrics()) == 0 {
		return "", "", fmt.Errorf("%s has no metric %s: %w%s", r.Ref, metric, ErrNoProfile, r.why())
	}
	return "", "", fmt.Errorf("%s has no metric %s; it has %s", r.Ref, metric, strings.Join(r.Metrics(), ", "))
}

// why says why there are no profiles, where that is known.
func (r *Recording) why() string {
	if r.Manifest != nil && len(r.Manifest.Notes) > 0 {
		return " (" + r.Manifest.Notes[0] + ")"
	}
	return ""
}

// Pick returns r with the profile that a metric is in, and the sample type it means there. When parts of the recording are damaged, it is
// made of the others, and its Damage says so. A time after the end of the recording is an error. When from or to are not 0, only
// what happened between from and to counts, where a to of 0 is the end; of what shows a moment, such as live memory, it is the last one before to. When
// from and to are the same, it is that moment. What counts from the start of the program is known only when profiles were taken: it is the difference of
// the last one until from and the first one at to or later, and a note says of when these are. What goroutines did at a time comes from the execution
// trace, where one covers it.
func (r *Recording) Pick(metric string, from, to time.Duration) (*Recording, string, error) {
	if err := r.over(metric, from, to); err != nil {
		return nil, "", err
	}
	return r.pick(metric, from, to, true)
}

// over returns an error if a time begins after the end of the recording, if it is known when that was. CPU profiles and execution
// traces say themselves which time they cover.
func (r *Recording) over(metric string, from, to time.Duration) error {
	if r.Manifest == nil || r.Manifest.Ended.IsZero() || r.Manifest.Started.IsZero() || r.Manifest.How == Stored || from == 0 {
		return nil
	}
	end := r.Manifest.Ended.Sub(r.Manifest.Started)
	for _, parts := range r.Parts {
		if len(parts) > 0 {
			end = max(end, parts[len(parts)-1].To)
		}
	}
	kind, _, err := r.find(metric)
	if err != nil || kind == CPU || kind == traceKind || from <= end+end/100 { // reports round the length of a recording
		return nil // if err != nil, pick reports it
	}
	when := fmt.Sprintf("between %s and %s", from, to)
	if to <= from {
		when = fmt.Sprintf("at %s", from)
	}
	return fmt.Errorf("%s: there is no %s profile %s; the recording ends after %s", r.Ref, kind, when, unit.Time(end))
}

// pick is Pick. With trace, an execution trace says what goroutines did at a time; else the goroutine profiles do.
func (r *Recording) pick(metric string, from, to time.Duration, trace bool) (*Recording, string, error) {
	if r.files == nil && r.made == nil && (from == 0 && to == 0 || !r.has(traceKind)) {
		return r, metric, nil // a bare profile, or all of a trace
	}
	kind, typ, err := r.find(metric)
	if err != nil {
		return nil, "", err
	}
	added := r.added(kind)
	if (r.made != nil || added != nil) && (from != 0 || to != 0) {
		return nil, "", fmt.Errorf("%s: the time of profiles in a store is part of the ref", r.Ref)
	}
	counted := moves(typ) && from != to
	if all := r.Parts[kind]; from > 0 && to == 0 && kind != traceKind {
		to = max(from, all[len(all)-1].To)
	}
	trace = trace && kind == Goroutine && to != 0 && r.traced(to)
	key := fmt.Sprint(kind, from, to, counted, trace)
	p, err := r.read.Do(key, func() (p *profile.Profile, err error) {
		s := &partReader{Recording: r, kind: kind}
		switch {
		case r.made != nil:
			p = r.made[kind]
		case added != nil:
			p = added
		case kind == traceKind:
			p, err = r.waits(from, to)
			if err != nil {
				return nil, err
			}
			return p.WithShortNames(), nil
		case trace:
			return r.goroutinesAt(to)
		case kind == CPU:
			p, err = s.cpu(from, to)
		case counted:
			p, err = s.between(from, to)
		default:
			p, err = s.at(to, typ)
		}
		if err == nil {
			p, err = apart(kind, p)
		}
		if err != nil {
			return nil, err
		}
		p = s.withDamage(p.WithShortNames())
		if r.Manifest != nil {
			load := r.Manifest.Fleet[kind]
			for _, n := range load.Notes {
				p = p.WithNote(n)
			}
			if load.Sums != nil {
				p = p.WithNote(load.Sums.String())
			}
			if load.Shared != nil {
				p = p.WithNote(load.Shared.String())
			}
		}
		return p, nil
	})
	if err != nil {
		return nil, "", fmt.Errorf("%s: %w", r.Ref, err)
	}
	out := *r
	out.Profile, out.Picked, out.kind, out.Load = p, key, kind, r.load(kind, typ, from, to)
	return &out, typ, nil
}

// load returns how much time the values of a sample type between two times are of, or nil if the profile itself says so, or nobody.
func (r *Recording) load(kind, typ string, from, to time.Duration) *Load {
	if r.Manifest == nil || kind == traceKind {
		return nil
	}
	if load, ok := r.Manifest.Fleet[kind]; ok {
		return &load
	}
	parts := r.Parts[kind]
	if !moves(typ) || r.Manifest.How == Stored || len(parts) == 0 {
		return nil
	}
	before, after := around(parts, from, to)
	if from == to {
		before, after = -1, last(parts, to)
	}
	out := &Load{Processes: 1}
	switch {
	case after < 0:
	case before >= 0:
		out.Covered = parts[after].To - parts[before].To
	case r.Manifest.How == Built || r.Manifest.How == Ran: // others count since before the recording began
		out.Covered = parts[after].To
	}
	return out
}

// Profiles are those of one kind in a recording. One is decoded when somebody asks for it, once for all who do.
type Profiles struct {
	of   *Recording
	kind string
}

// Profiles returns those of a kind, of which there may be none.
func (r *Recording) Profiles(kind string) Profiles { return Profiles{r, kind} }

// Parts lists them in the order of time.
func (p Profiles) Parts() []Part { return p.of.Parts[p.kind] }

// Between returns what one of their sample types counts between two times, or at a moment when they are the same, and what that type is
// called, which is the first when typ is "". The times mean what they mean for Pick. All come from profiles, none from an execution trace, so that two
// of them can be compared: a trace has other names for what goroutines wait for, and other stacks.
func (p Profiles) Between(typ string, from, to time.Duration) (*profile.Profile, string, error) {
	metric := p.kind
	if typ != "" {
		metric += ":" + typ
	}
	picked, typ, err := p.of.pick(metric, from, to, false)
	if err != nil {
		return nil, "", err
	}
	return picked.Profile, typ, nil
}

// PickedKind returns the kind of the profile that was picked, and whether it is made of an execution trace; "" where none was.
func (r *Recording) PickedKind() (kind string, traced bool) { return r.kind, r.kind == traceKind }

// Timed reports whether there are profiles of parts of the time, or an execution trace.
func (r *Recording) Timed() bool {
	for kind, parts := range r.Parts {
		if len(parts) > 1 && r.added(kind) == nil {
			return true
		}
	}
	return r.has(traceKind)
}

// Moves reports whether values of a sample type count from the start of the program, so that those of a time are a difference.
func Moves(typ string) bool { return moves(typ) }

// moves reports whether values of a sample type count from the start of the program, so that those of a time are a
// difference.
func moves(typ string) bool {
	switch typ {
	case "alloc_space", "alloc_objects", "delay", "contentions":
		return true
	}
	return false
}

// cpu returns the sum of the CPU profiles of a time. Those that are only partly in it count whole.
func (s *partReader) cpu(from, to time.Duration) (*profile.Profile, error) {
	all := s.Parts[CPU]
	if from == to && to != 0 {
		from = s.sampled(to)
		to = from
	}
	var parts []Part
	for _, part := range all {
		switch {
		case to == 0:
		case from == to && (part.From > to || part.To <= to):
			continue // a moment
		case from < to && (part.From >= to || part.To <= from):
			continue
		}
		parts = append(parts, part)
	}
	if len(parts) == 0 {
		text := fmt.Sprintf("there is no CPU profile between %s and %s", from, to)
		if from == to {
			text = fmt.Sprintf("there is no CPU profile at %s", to)
		}
		return nil, fmt.Errorf("%s; they are from %s to %s", text, all[0].From, all[len(all)-1].To)
	}
	p, first, last, err := s.sum(parts)
	if err != nil {
		return nil, err
	}
	if to != 0 && (first.From != from || last.To != to) {
		p = p.WithNote(fmt.Sprintf("the CPU profiles that overlap this time run from %s to %s", first.From, last.To))
	}
	if s.Manifest != nil && s.Manifest.Lookout != nil && s.dropped(first.To, last.To) {
		p = p.WithNote(fmt.Sprintf("only the last %s and what led up to trouble were kept of this time", s.Manifest.Lookout.Window))
	}
	return p, nil
}

// sampled returns a moment that is in a CPU profile: at itself, or where it is between two that follow one another, since to end one and
// to begin the next takes a moment, too, the end of the first.
func (r *Recording) sampled(at time.Duration) time.Duration {
	const between = 100 * time.Millisecond
	near := at
	for _, part := range r.Parts[CPU] {
		if part.From <= at && at < part.To {
			return at
		}
		if part.To <= at && at-part.To < between {
			near = part.To - 1
		}
	}
	return near
}

// dropped reports whether CPU profiles between two times were not kept, or of before the first when that is the first.
func (r *Recording) dropped(from, to time.Duration) bool {
	const pause = time.Second // between two of a server
	end := time.Duration(0)
	if all := r.Parts[CPU]; all[0].To != from {
		end = from
	}
	for _, p := range r.Parts[CPU] {
		if p.To >= from && p.To <= to {
			if p.From > end+pause {
				return true
			}
			end = p.To
		}
	}
	return false
}

// at returns the last profile of the kind at some time, for values of a type; 0 is the end. A time before the first profile gives the first.
func (s *partReader) at(at time.Duration, typ string) (*profile.Profile, error) {
	parts := s.Parts[s.kind]
	p, i, err := s.nearest(last(parts, at), 0, len(parts))
	if err == nil && len(parts) > 1 {
		p = p.WithNote(fmt.Sprintf("%s profile taken %s after the start", s.kind, parts[i].To))
	}
	if err == nil && s.kind == Heap && !moves(typ) {
		if c := s.LiveAsOf(parts[i].To); c != nil {
			p = p.WithNote(fmt.Sprintf("live memory as of gc %d, which began %s after the start: heap profiles in Go lag by up to two collections", c.N, c.Start))
		}
	}
	return p, err
}

// between returns what was added to the profiles of the kind in a time: from the last profile that was taken until it begins, or the start, to
// the first that was taken when it ends or later, or the last of all.
func (s *partReader) between(from, to time.Duration) (*profile.Profile, error) {
	parts := s.Parts[s.kind]
	before, after := around(parts, from, to)
	if after < 0 {
		return nil, fmt.Errorf("there is no %s profile after %s; %s", s.kind, from, taken(parts))
	}
	p, after, err := s.nearest(after, before+1, len(parts))
	if err != nil {
		return nil, err
	}
	start := time.Duration(0)
	if before >= 0 {
		var base *profile.Profile
		if base, before, err = s.nearest(before, 0, before+1); err != nil {
			return nil, err
		}
		start = parts[before].To
		ratios := make([]float64, len(base.SampleTypes))
		for k, t := range base.SampleTypes {
			if moves(t.Type) {
				ratios[k] = -1
			}
		}
		if p, err = profile.Merge(p, base.Scale(ratios)); err != nil {
			return nil, err
		}
	}
	return p.WithNote(fmt.Sprintf("%s from %s to %s after the start, which is when there are profiles", s.kind, start, parts[after].To)), nil
}

// last returns which part is the last at some time; 0 is the end. Before the first one it is that.
func last(parts []Part, at time.Duration) int {
	i := len(parts) - 1
	for i > 0 && at != 0 && parts[i].To > at {
		i--
	}
	return i
}

// around returns which parts are the last until a time begins, or -1, and the first when it ends or later, or the last of all, or -1 if there is none
// after it begins.
func around(parts []Part, from, to time.Duration) (before, after int) {
	before = -1
	for before+1 < len(parts) && parts[before+1].To <= from {
		before++
	}
	if before == len(parts)-1 {
		return before, -1
	}
	after = before + 1
	for after < len(parts)-1 && parts[after].To < to {
		after++
	}
	return before, after
}

// taken says when profiles were taken.
func taken(parts []Part) string {
	last := parts[len(parts)-1].To
	if len(parts) == 1 {
		return fmt.Sprintf("the only one was taken at %s", last)
	}
	return fmt.Sprintf("%d were taken from %s to %s", len(parts), parts[0].To, last)
}
