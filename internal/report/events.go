package report

import (
	"fmt"
	"iter"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/hone-perf/hone/internal/hint"
	"github.com/hone-perf/hone/internal/unit"
)

// Events lists events of services, newest first.
type Events struct {
	From  time.Time  `json:"from"`
	To    time.Time  `json:"to"`
	Rows  []Event    `json:"events"`
	More  bool       `json:"more,omitempty"` // there are older ones in this period
	Notes hint.Texts `json:"notes,omitempty"`

	WithoutData []RuleWithoutData `json:"rules_without_data,omitempty"` // by rule

	Next []hint.Command `json:"-"`
}

// An Event is something that happened to a service. Unknown fields are empty.
type Event struct {
	ID      string            `json:"id"`
	Kind    string            `json:"kind"` // change, deploy, rule, restart, oom, capture
	Service string            `json:"service"`
	Labels  map[string]string `json:"labels,omitempty"`
	Time    time.Time         `json:"time"`
	Ended   time.Time         `json:"ended,omitzero"`
	State   string            `json:"state,omitempty"` // firing or over, of a rule
	Cause   string            `json:"cause,omitempty"` // the ID of another event
	Pin     string            `json:"pin,omitempty"`

	// For a change. For a rule, Function is what the rule watches.
	Function string   `json:"function,omitempty"`
	Metric   string   `json:"metric,omitempty"` // sample type; of a rule, what it measures
	Unit     string   `json:"unit,omitempty"`
	Source   string   `json:"source,omitempty"` // code, traffic, mix, growth
	Before   float64  `json:"before,omitempty"` // per second, in Unit
	After    float64  `json:"after,omitempty"`
	Share    float64  `json:"share,omitempty"` // share of the earlier cost of the service
	Profiles int      `json:"profiles,omitempty"`
	Requests float64  `json:"requests,omitempty"` // per second, after the change, if counted
	Also     []Also   `json:"also,omitempty"`     // other costs that changed, too
	With     []string `json:"with,omitempty"`     // functions that changed for the same reason

	// For a deploy, and for a change that came with one. For a rule, Version is the one that it is about.
	Version string `json:"version,omitempty"`
	Build   string `json:"build,omitempty"`
	Since   string `json:"version_before,omitempty"`
	Later   bool   `json:"later,omitempty"` // it began some time after the deploy, so there may be another reason

	// For a rule.
	Rule   string  `json:"rule,omitempty"`
	Grown  bool    `json:"grown,omitempty"` // Value and Limit are growth factors
	Value  float64 `json:"value,omitempty"` // when it began
	Most   float64 `json:"most,omitempty"`  // the largest later, if it is over
	Limit  float64 `json:"limit,omitempty"`
	Gone   bool    `json:"gone,omitempty"`   // it is over because there are no more profiles of the version, process or service
	Failed string  `json:"failed,omitempty"` // why the notification or the recording failed

	// For a process.
	Instance    string `json:"instance,omitempty"`
	Memory      int64  `json:"memory,omitempty"` // last known memory
	MemoryLimit int64  `json:"memory_limit,omitempty"`
	Times       int    `json:"times,omitempty"`  // number of times, if more than one
	Likely      bool   `json:"likely,omitempty"` // that it ran out of memory is likely, but nobody has said so
	Shared      bool   `json:"shared,omitempty"` // several processes seem to send with the same labels, so this is no restart

	Recording string `json:"recording,omitempty"`
}

// An Also is another cost that changed in the same event.
type Also struct {
	Function string  `json:"function"`
	Metric   string  `json:"metric"`
	Unit     string  `json:"unit"`
	Before   float64 `json:"before"` // a second
	After    float64 `json:"after"`
	Share    float64 `json:"share"`
}

// Text describes the event in one line.
func (e *Event) Text() string {
	var text string
	switch e.Kind {
	case "change":
		text = e.change()
	case "deploy":
		text = e.deploy()
	case "rule":
		text = e.rule()
	case "restart":
		text = e.process() + " was restarted" + e.times() + e.memory()
		if e.Shared {
			text = e.process() + " seems to be several that send profiles with the same labels: give each a label instance"
		}
	case "oom":
		text = e.process() + " was killed" + e.times() + " because it ran out of memory" + e.memory()
		if e.Likely {
			text = e.process() + " was restarted" + e.times() + " because it probably ran out of memory" + e.memory()
		}
	case "capture":
		text = "a recording of " + e.Service + " was taken"
		if e.Recording == "" {
			text = "no recording of " + e.Service + " could be taken"
		}
	default:
		text = e.Kind + " of " + e.Service
	}
	if e.Times < 2 {
		if d := e.lasted(); d != "" {
			text += ", for " + d
		}
	}
	if e.Gone {
		text += ", until " + e.subject() + " was gone"
	}
	if e.Failed != "" {
		text += ": " + e.Failed
	}
	return text
}

// lasted returns how long the event took, if it is over and took some time.
func (e *Event) lasted() string {
	if e.Ended.IsZero() || !e.Ended.After(e.Time) {
		return ""
	}
	return unit.Time(e.Ended.Sub(e.Time).Round(time.Second))
}

func (e *Event) change() string {
	if e.Source == "growth" {
		return e.growth()
	}
	verb, of := "costs", e.Service
	switch {
	case strings.HasPrefix(e.Metric, "alloc_"):
		verb, of = "allocates", "what "+e.Service+" allocates"
	case strings.HasPrefix(e.Metric, "inuse_"):
		verb, of = "holds", "the heap of "+e.Service
	case e.Metric != "cpu":
		of = "the " + e.Metric + " of " + e.Service
	}
	more := "more"
	if e.Share < 0 {
		more = "less"
	}
	text := fmt.Sprintf("%s %s %s of %s %s (%s → %s", e.Function, verb, unit.Share(math.Abs(e.Share)), of, more, e.amount(e.Before), e.amount(e.After))
	if e.Function == "" { // the whole service
		text = fmt.Sprintf("%s %s %s %s (%s → %s", e.Service, verb, unit.Share(math.Abs(e.Share)), more, e.amount(e.Before), e.amount(e.After))
	}
	if e.Metric == "cpu" {
		text += " cores"
	}
	if e.Requests > 0 && e.Source == "code" {
		text += "; " + e.each(e.Before) + " → " + e.each(e.After) + " per request"
	}
	if e.Profiles > 0 {
		text += fmt.Sprintf(", %d profiles", e.Profiles)
	}
	text += ")"
	for _, a := range e.Also {
		sign := "+"
		if a.Share < 0 {
			sign = "-"
		}
		of := Event{Metric: a.Metric, Unit: a.Unit}
		text += fmt.Sprintf("; %s %s%s in %s (%s → %s)", a.Metric, sign, unit.Share(math.Abs(a.Share)), a.Function, of.amount(a.Before), of.amount(a.After))
	}
	switch n := len(e.With); {
	case n == 1:
		text += ", together with " + e.With[0]
	case n > 1:
		text += fmt.Sprintf(", together with %d other functions", n)
	}
	switch {
	case e.Version == "":
	case e.Later:
		text += ", soon after version " + e.Version + " was deployed"
	default:
		text += ", since version " + e.Version + " was deployed"
	}
	switch e.Source {
	case "traffic":
		text += ", because it has " + more + " work to do"
	case "mix":
		text += ", because " + e.Service + " gets a different mix of requests"
	}
	return text
}

// amount prints a cost per second.
func (e *Event) amount(v float64) string {
	switch {
	case e.Metric == "cpu" && e.Unit == "nanoseconds":
		return unit.Number(v / float64(time.Second))
	case strings.HasPrefix(e.Metric, "inuse_"):
		return unit.Label(int64(v), e.Unit)
	case e.Unit == "bytes":
		return unit.SizePerSecond(v)
	case e.Unit == "nanoseconds":
		return unit.Time(time.Duration(v)) + "/s"
	}
	return unit.PerSecond(v)
}

// growth describes a resource that a process accumulates.
func (e *Event) growth() string {
	text := fmt.Sprintf("goroutines of %s grow steadily: %s → %s in one process", e.Service, unit.Number(e.Before), unit.Number(e.After))
	if strings.HasPrefix(e.Metric, "inuse_") {
		text = fmt.Sprintf("live heap of %s grows steadily: %s → %s in one process", e.Service, unit.Label(int64(e.Before), e.Unit), unit.Label(int64(e.After), e.Unit))
	}
	if e.Function != "" {
		text += ", most of it in " + e.Function
	}
	return text
}

// each prints a cost per request.
func (e *Event) each(v float64) string {
	v /= e.Requests
	switch e.Unit {
	case "nanoseconds":
		return unit.Time(time.Duration(v))
	case "bytes":
		return unit.Size(int64(v))
	}
	return unit.Number(v)
}

func (e *Event) deploy() string {
	text := "version " + e.Version
	if e.Version == "" {
		text = "build " + e.Build
	}
	text += " of " + e.Service + " was deployed"
	if e.Since != "" {
		text += " in place of " + e.Since
	}
	return text
}

// subject returns what a rule measured.
func (e *Event) subject() string {
	switch {
	case e.Instance != "":
		return e.process()
	case e.Version != "":
		return "version " + e.Version + " of " + e.Service
	}
	return e.Service
}

func (e *Event) rule() string {
	who, in := e.subject(), " in a process"
	if e.Instance != "" {
		in = ""
	}
	subject, verb, thing := who, "has", e.Metric
	switch e.Metric {
	case RuleShare:
		subject, verb, thing = e.Function, "costs", "of "+who
	case RuleGC:
		subject, verb, thing = "garbage collection", "costs", "of "+who
	case RuleCores:
		verb, thing = "costs", ""
	case RuleHeap:
		verb, thing = "holds", "of live heap"+in
	case RuleRSS:
		verb, thing = "uses", "of resident memory"+in
	case RuleGoroutines:
		thing = "goroutines" + in
	case RuleMemory:
		verb, thing = "uses", "of the memory that a process may have"
		if in == "" {
			thing = "of the memory that it may have"
		}
	}
	show := func(v float64) string {
		switch {
		case e.Grown && v < 10:
			return unit.Share(v-1) + " more"
		case e.Grown:
			return unit.Number(v) + " times more"
		case e.Metric == RuleCores:
			return unit.Number(v) + " cores"
		case e.Metric == RuleHeap, e.Metric == RuleRSS:
			return unit.Size(int64(v))
		case e.Metric == RuleGoroutines:
			return unit.Number(v)
		}
		return unit.Share(v)
	}
	text := "rule " + e.Rule + ": " + subject + " " + verb + " " + show(e.Value)
	if thing != "" {
		text += " " + thing
	}
	if e.Grown {
		text += " than usual"
	}
	if e.Most > 0 {
		text += ", later " + show(e.Most)
	}
	return text + " (limit " + show(e.Limit) + ")"
}

// The measures of rules.
const (
	RuleShare      = "share" // CPU share of a function
	RuleCores      = "cores"
	RuleHeap       = "heap"
	RuleGoroutines = "goroutines"
	RuleRSS        = "rss"    // resident memory of a process
	RuleGC         = "gc"     // CPU share of garbage collection
	RuleMemory     = "memory" // memory of a process, as a share of its limit
)

// process returns the name of the process.
func (e *Event) process() string {
	if e.Instance == "" {
		return "a process of " + e.Service
	}
	return e.Instance + " of " + e.Service
}

func (e *Event) times() string {
	if e.Times < 2 {
		return ""
	}
	text := fmt.Sprintf(" %d times", e.Times)
	if d := e.lasted(); d != "" {
		text += " in " + d
	}
	return text
}

func (e *Event) memory() string {
	switch {
	case e.Memory > 0 && e.MemoryLimit > 0:
		return fmt.Sprintf(" (%s of %s in use)", unit.Size(e.Memory), unit.Size(e.MemoryLimit))
	case e.Memory > 0:
		return fmt.Sprintf(" (%s in use)", unit.Size(e.Memory))
	}
	return ""
}

// Blocks returns the events as a table.
func (e *Events) Blocks() iter.Seq[Block] {
	t := Table{Columns: []Column{{Name: "time"}, {Name: "kind"}, {Name: "event"}}}
	states := slices.ContainsFunc(e.Rows, func(r Event) bool { return r.State != "" })
	if states {
		t.Columns = slices.Insert(t.Columns, 2, Column{Name: "state"})
	}
	for i := range e.Rows {
		r := &e.Rows[i]
		row := []any{r.Time.Format(time.DateTime), r.Kind, r.Text()}
		if states {
			row = slices.Insert(row, 2, any(r.State))
		}
		t.Rows = append(t.Rows, row)
	}
	events := " events"
	if len(e.Rows) == 1 {
		events = " event"
	}
	list := []Block{Heading{[]Phrase{{len(e.Rows), events, Sep{}, e.From.Format(time.DateTime), " to ", e.To.Format(dateTimeZone)}}}}
	if len(e.Rows) > 0 {
		list = append(list, t)
	}
	for _, r := range e.WithoutData { // no table: in CSV, there are only events
		list = append(list, Note{Phrase{"rule " + r.Rule + " cannot fire: " + r.Text}})
	}
	if e.More {
		list = append(list, Note{Phrase{"there are older ones; raise ", hint.Option{Name: "limit"}, " to see them"}})
	}
	for _, n := range e.Notes {
		list = append(list, Note{Phrase{n}})
	}
	if len(e.Next) > 0 {
		list = append(list, Commands{Items: e.Next})
	}
	return blocks(list)
}
