package capture

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/hone-perf/hone/internal/capture/agent"
	"github.com/hone-perf/hone/internal/recording"
)

// A Condition is trouble to look out for.
type Condition struct {
	Text string // as the user wrote it, without blanks
	agent.Condition
}

// A measure is what a condition can be about.
type measure struct {
	name    string
	unit    string
	percent string // what a percentage is of; "" where there is none
	example string
	from    []recording.How // where it is known
}

var (
	inside    = []recording.How{recording.Built}
	outside   = []recording.How{recording.Built, recording.Ran, recording.Watched}
	answered  = []recording.How{recording.Built, recording.Fetched}
	anywhere  = []recording.How{recording.Built, recording.Ran, recording.Watched, recording.Fetched}
	fromWords = map[recording.How]string{
		recording.Ran: "a program that is watched from outside", recording.Watched: "a program that is watched from outside",
		recording.Fetched: "a server",
	}
)

// measures are what there is to choose from.
var measures = []measure{
	{agent.RSS, "bytes", "the machine's memory", "rss>50% or rss>300MB", anywhere},
	{agent.Cgroup, "bytes", "its control group's limit", "cgroup>80%", outside},
	{agent.Heap, "bytes", "GOMEMLIMIT", "heap>90% or heap>1GB", answered},
	{agent.Goroutines, "count", "", "goroutines>10000", answered},
	{agent.CPU, "percent", "a core", "cpu>180%", anywhere},
	{agent.GC, "percent", "the CPU time", "gc>20%", anywhere},
	{agent.Latency, "nanoseconds", "", "latency>200ms", inside},
}

func measureOf(name string) *measure {
	i := slices.IndexFunc(measures, func(m measure) bool { return m.name == name })
	if i < 0 {
		return nil
	}
	return &measures[i]
}

// conditionExamples are all the ways to write one.
func conditionExamples() string {
	var all []string
	for _, m := range measures {
		all = append(all, m.example)
	}
	return strings.Join(all[:len(all)-1], ", ") + ", or " + all[len(all)-1]
}

// ParseConditions reads conditions such as rss>50%,goroutines>10000.
func ParseConditions(text string) ([]Condition, error) {
	var out []Condition
	for part := range strings.SplitSeq(text, ",") {
		c, err := parseCondition(strings.Join(strings.Fields(part), ""))
		if err != nil {
			return nil, err
		}
		out = append(out, c)
	}
	return out, nil
}

func parseCondition(text string) (Condition, error) {
	c := Condition{Text: text}
	name, limit, ok := strings.Cut(text, ">")
	if !ok || limit == "" {
		return c, fmt.Errorf("want a condition such as %s", conditionExamples())
	}
	m := measureOf(strings.ToLower(name))
	if m == nil {
		var names []string
		for _, m := range measures {
			names = append(names, m.name)
		}
		return c, fmt.Errorf("unknown quantity %q; the quantities are %s", name, strings.Join(names, ", "))
	}
	c.Of = m.name
	if m.unit == "nanoseconds" {
		d, err := time.ParseDuration(strings.ToLower(limit))
		if err != nil || d <= 0 {
			return c, fmt.Errorf("%q is not a limit of %s: want one such as in %s", limit, name, m.example)
		}
		c.Limit = float64(d)
		return c, nil
	}
	digits := strings.TrimRight(limit, "%abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ")
	n, err := strconv.ParseFloat(digits, 64)
	unit := strings.ToLower(limit[len(digits):])
	if err != nil || strings.Trim(digits, "0123456789.") != "" || n <= 0 || n > 1e18 {
		return c, fmt.Errorf("the limit of %s is not a number: want one such as in %s", name, m.example)
	}
	percent := unit == "%"
	size, isSize := sizes[unit]
	switch {
	case percent && m.percent == "",
		!percent && m.unit == "percent",
		!percent && m.unit == "count" && unit != "",
		!percent && m.unit == "bytes" && !isSize:
		return c, fmt.Errorf("%q is not a limit of %s: want one such as in %s", limit, name, m.example)
	case percent && m.name != agent.CPU && n > 100:
		return c, fmt.Errorf("%s can be no more than 100%% of %s", name, m.percent)
	case percent:
		c.Share = m.unit == "bytes"
	case isSize:
		n *= size
	}
	c.Limit = n
	return c, nil
}

// sizes are units of memory, as hone prints them and as others write them.
var sizes = map[string]float64{
	"b": 1, "kb": 1 << 10, "mb": 1 << 20, "gb": 1 << 30, "tb": 1 << 40,
	"k": 1 << 10, "m": 1 << 20, "g": 1 << 30, "t": 1 << 40,
	"kib": 1 << 10, "mib": 1 << 20, "gib": 1 << 30, "tib": 1 << 40,
}

// CanSee reports, as an error, that a condition can never be told of what is recorded in a way.
func CanSee(how recording.How, conditions []Condition) error {
	for _, c := range conditions {
		m := measureOf(c.Of)
		if !slices.Contains(m.from, how) {
			var others []string
			for _, m := range measures {
				if slices.Contains(m.from, how) {
					others = append(others, m.name)
				}
			}
			return fmt.Errorf("%s: %s cannot be watched for %s, only for %s", c.Text, fromWords[how], c.Of, strings.Join(others, ", "))
		}
		if how == recording.Fetched && c.Share {
			return fmt.Errorf("%s: a server does not report what %s is a share of: give a limit in bytes, such as %s>300MB", c.Text, m.percent, c.Of)
		}
	}
	return nil
}

// WatchesLatency reports whether a condition is about how long requests take.
func WatchesLatency(conditions []Condition) bool {
	return slices.ContainsFunc(conditions, func(c Condition) bool { return c.Of == agent.Latency })
}

// blindness says why a condition could never be told.
func blindness(c Condition) string {
	switch {
	case c.Of == agent.Heap && c.Share:
		return "the program has no GOMEMLIMIT"
	case c.Of == agent.Cgroup && c.Share:
		return "its control group has no memory limit"
	case c.Of == agent.GC:
		return "no profile or measurement reported it"
	case c.Of == agent.Latency:
		return "the program answered no request with net/http"
	}
	return "that is unknown on this system"
}

// event is what a recording keeps of trouble.
func (opt *Options) event(t agent.Trouble) (e recording.Event, ok bool) {
	if t.Condition < 0 || t.Condition >= len(opt.When) || math.IsNaN(t.Value) || math.IsInf(t.Value, 0) {
		return e, false
	}
	c := opt.When[t.Condition]
	return recording.Event{At: t.At, When: c.Text, Of: c.Of, Unit: measureOf(c.Of).unit, Value: t.Value, Limit: t.Limit, Request: t.Request}, true
}

// noticed tells of trouble while the program runs.
func (opt *Options) noticed(list []agent.Trouble) {
	for _, t := range list {
		if e, ok := opt.event(t); ok && opt.Trouble != nil {
			opt.Trouble(e)
		}
	}
}

// follow tells of the trouble that the recorder inside notices, until the context ends.
func (s *session) follow(ctx context.Context) {
	const often = 500 * time.Millisecond
	told := 0
	for {
		select {
		case <-ctx.Done():
			return
		case <-time.After(often):
		}
		var status agentStatus
		text, err := os.ReadFile(filepath.Join(s.folder, agent.Status))
		if err == nil && json.Unmarshal(text, &status) == nil && len(status.Troubles) > told { // it may just be written
			s.noticed(status.Troubles[told:])
			told = len(status.Troubles)
		}
	}
}

// troubles adds to the manifest what an alarm saw.
func (s *session) troubles(list []agent.Trouble, missed int, blind []int) {
	for _, t := range list {
		if e, ok := s.event(t); ok {
			s.manifest.Events = append(s.manifest.Events, e)
		}
	}
	if missed > 0 {
		s.note("the limit of %d captures was reached; later trouble was not captured", s.Captures)
	}
	for _, i := range blind {
		if i >= 0 && i < len(s.When) {
			s.note("%s was never checked: %s", s.When[i].Text, blindness(s.When[i]))
		}
	}
}
