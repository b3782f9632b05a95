package event

import (
	"slices"
	"time"

	"github.com/hone-perf/hone/internal/hint"
	"github.com/hone-perf/hone/internal/query"
	"github.com/hone-perf/hone/internal/report"
	"github.com/hone-perf/hone/internal/store"
)

// ProcessLabels are the labels that say which process a profile is of, the best first.
var ProcessLabels = []string{"instance", "pod", "k8s_pod_name", "k8s.pod.name", "host", "hostname", "host_name", "service_instance_id", "container_id"}

// ProcessOf names a process by its labels; "" is unknown.
func ProcessOf(labels store.Labels) string {
	for _, name := range ProcessLabels {
		if v := labels.Get(name); v != "" {
			return v
		}
	}
	return ""
}

// Text describes the event in one line.
func (e *Event) Text() string {
	r := e.facts()
	return r.Text()
}

// facts returns the event as a report.
func (e *Event) facts() report.Event {
	r := report.Event{ID: e.ID, Kind: string(e.Kind), Service: e.Service, Time: e.Time, Ended: e.Ended, Cause: e.Cause, Pin: e.Pin, Instance: ProcessOf(e.Labels)}
	if len(e.Labels) > 0 {
		r.Labels = make(map[string]string, len(e.Labels))
		for _, l := range e.Labels {
			r.Labels[l.Name] = l.Value
		}
	}
	if c := e.Change; c != nil {
		r.Function, r.Metric, r.Unit, r.Source = c.Function, c.Type.Type, c.Type.Unit, string(c.Source)
		r.Before, r.After, r.Share, r.Profiles = c.Before.Value, c.After.Value, c.Share, c.Before.Profiles+c.After.Profiles
		r.With, r.Version, r.Since, r.Later, r.Requests = c.With, c.Version, c.Since, c.Later, c.Requests
	}
	if c := e.Change; c != nil {
		for _, a := range c.Also {
			r.Also = append(r.Also, report.Also{Function: a.Function, Metric: a.Type.Type, Unit: a.Type.Unit, Before: a.Before.Value, After: a.After.Value, Share: a.Share})
		}
	}
	if d := e.Deploy; d != nil {
		r.Version, r.Build, r.Since = d.Version, d.Build, d.Before
	}
	if b := e.Rule; b != nil {
		r.Rule, r.Metric, r.Function, r.Unit, r.Value, r.Most, r.Limit, r.Grown = b.Name, b.Metric, b.Function, b.Unit, b.Value, b.Most, b.Limit, b.Grown
		r.Version, r.Gone, r.State = e.Labels.Get("version"), b.Gone, string(e.state())
	}
	if p := e.Process; p != nil {
		r.Instance, r.Memory, r.MemoryLimit, r.Times, r.Likely, r.Shared = p.Instance, p.Memory, p.Limit, p.Times, p.Likely, p.Shared
	}
	if c := e.Capture; c != nil {
		r.Recording, r.Failed = c.Recording, c.Failed
	}
	for _, t := range e.Told {
		if t.Failed != "" {
			r.Failed = "telling " + t.To + ": " + t.Failed
		}
	}
	return r
}

// Time to show before and after an event.
const (
	aroundChange = time.Hour
	aroundOther  = 10 * time.Minute
)

// mostNext is the maximum number of next steps.
const mostNext = 3

// Report returns events, newest first, as a report about a period.
func Report(events []Event, more bool, from, to time.Time) *report.Events {
	out := &report.Events{From: from, To: to, More: more, Rows: []report.Event{}}
	zone := from.Location()
	for i := range events {
		r := events[i].facts()
		r.Time = r.Time.In(zone)
		if !r.Ended.IsZero() {
			r.Ended = r.Ended.In(zone)
		}
		out.Rows = append(out.Rows, r)
		if next, ok := events[i].next(to); ok && len(out.Next) < mostNext && !slices.ContainsFunc(out.Next, func(c hint.Command) bool { return c.Verb == next.Verb }) {
			out.Next = append(out.Next, next)
		}
	}
	return out
}

// next returns the next steps for an event.
func (e *Event) next(now time.Time) (hint.Command, bool) {
	ref := func(from, to time.Time, more ...store.Matcher) string {
		if to.After(now) {
			to = now
		}
		return "store:" + store.Ref{Selector: append(store.Service(e.Service), more...), From: from, To: to.Add(time.Second)}.String()
	}
	version := func(v string) []store.Matcher {
		if v == "" {
			return nil
		}
		return []store.Matcher{{Name: "version", Op: store.Is, Value: v}}
	}
	before, after := "", ""
	metric := ""
	switch {
	case e.Change != nil:
		before, after = e.Change.Since, e.Change.Version
		if e.Change.Kind != "cpu" {
			metric = e.Change.Type.Type
		}
	case e.Deploy != nil && e.Deploy.Version != "":
		before, after = e.Deploy.Before, e.Deploy.Version
	case e.Kind == Deployed:
	case e.Kind == Broken:
		verb := hint.Ask("top", ref(e.Time.Add(-aroundOther), e.Time.Add(aroundOther))).For("what it does then")
		if e.Rule != nil && (e.Rule.Metric == report.RuleHeap || e.Rule.Metric == report.RuleRSS) {
			verb = verb.With("metric", "inuse_space")
		}
		return verb, true
	case e.Process != nil && e.Process.Shared:
		return hint.Command{}, false
	case e.Kind == Restarted, e.Kind == Killed:
		var only []store.Matcher
		if e.Process != nil && e.Process.Instance != "" {
			only = []store.Matcher{{Name: "instance", Op: store.Is, Value: e.Process.Instance}}
		}
		return hint.Ask("top", ref(e.Time.Add(-aroundOther), e.Time, only...)).With("metric", "inuse_space").For("the heap before it"), true
	default:
		return hint.Command{}, false
	}
	c := hint.Ask("diff", ref(e.Time.Add(-aroundChange), e.Time, version(before)...), ref(e.Time, e.Time.Add(aroundChange), version(after)...))
	if e.Change != nil && e.Change.Source == Growth {
		c = hint.Ask("diff", ref(e.Time, e.Time.Add(aroundChange)), ref(e.Noticed.Add(-aroundChange), e.Noticed))
	}
	c = c.With("per", query.PerSecond) // one side may be of less time, or of fewer processes
	if metric != "" {
		c = c.With("metric", metric)
	}
	return c.For("before and after"), true
}
