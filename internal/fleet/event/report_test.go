package event

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/hone-perf/hone/internal/profile"
	"github.com/hone-perf/hone/internal/report"
	"github.com/hone-perf/hone/internal/store"
)

func change(function, typ, unit string, before, after, share float64) *Change {
	return &Change{
		Kind: "cpu", Type: profile.ValueType{Type: typ, Unit: unit}, Function: function, Source: Code, Share: share,
		Before: Cost{Value: before, Profiles: 200}, After: Cost{Value: after, Profiles: 220},
	}
}

// An event reads as one line.
func TestText(t *testing.T) {
	withVersion := change("main.price", "cpu", "nanoseconds", 1.2e9, 1.5e9, 0.12)
	withVersion.Version = "v2"
	withVersion.With = []string{"main.tax", "main.round"}
	later := change("main.price", "cpu", "nanoseconds", 1.2e9, 1.5e9, 0.12)
	later.Version, later.Later = "v2", true
	traffic := change("main.price", "cpu", "nanoseconds", 1.5e9, 1.2e9, -0.12)
	traffic.Source, traffic.Function = Traffic, ""
	instance := store.Labels{{Name: "instance", Value: "10.0.0.7:6060"}}
	for _, c := range []struct {
		e    Event
		want string
	}{
		{Event{Kind: Changed, Change: withVersion}, "main.price costs 12% of api more (1.2 → 1.5 cores, 420 profiles), together with 2 other functions, since version v2 was deployed"},
		{Event{Kind: Changed, Change: later}, "main.price costs 12% of api more (1.2 → 1.5 cores, 420 profiles), soon after version v2 was deployed"},
		{Event{Kind: Changed, Change: traffic}, "api costs 12% less (1.5 → 1.2 cores, 420 profiles), because it has less work to do"},
		{Event{Kind: Changed, Change: change("main.load", "alloc_space", "bytes", 1<<20, 2<<20, 0.4)}, "main.load allocates 40% of what api allocates more (1MB/s → 2MB/s, 420 profiles)"},
		{Event{Kind: Changed, Change: change("main.cache", "inuse_space", "bytes", 1<<20, 2<<20, 0.4)}, "main.cache holds 40% of the heap of api more (1MB → 2MB, 420 profiles)"},
		{Event{Kind: Changed, Change: change("main.lock", "contentions", "count", 10, 20, 0.4)}, "main.lock costs 40% of the contentions of api more (10/s → 20/s, 420 profiles)"},
		{Event{Kind: Deployed, Deploy: &Deploy{Version: "v2", Before: "v1"}}, "version v2 of api was deployed in place of v1"},
		{Event{Kind: Deployed, Deploy: &Deploy{Build: "3f2a"}}, "build 3f2a of api was deployed"},
		{Event{Kind: Broken, Ended: began.Add(20 * time.Minute), Rule: &Rule{Name: "json", Metric: report.RuleShare, Function: "encoding/json.Unmarshal", Value: 0.071, Limit: 0.05}},
			"rule json: encoding/json.Unmarshal costs 7.1% of api (limit 5%), for 1200s"},
		{Event{Kind: Broken, Rule: &Rule{Name: "gc", Metric: report.RuleGC, Value: 0.3, Limit: 0.25}}, "rule gc: garbage collection costs 30% of api (limit 25%)"},
		{Event{Kind: Broken, Rule: &Rule{Name: "cpu", Metric: report.RuleCores, Value: 1.5, Limit: 1.2, Grown: true}}, "rule cpu: api costs 50% more than usual (limit 20% more)"},
		{Event{Kind: Broken, Rule: &Rule{Name: "cpu", Metric: report.RuleCores, Value: 4.25, Limit: 4}}, "rule cpu: api costs 4.25 cores (limit 4 cores)"},
		{Event{Kind: Broken, Rule: &Rule{Name: "leak", Metric: report.RuleGoroutines, Value: 20, Limit: 2, Grown: true}}, "rule leak: api has 20 times more goroutines in a process than usual (limit 100% more)"},
		{Event{Kind: Broken, Rule: &Rule{Name: "heap", Metric: report.RuleHeap, Value: 2 << 30, Limit: 1 << 30}}, "rule heap: api holds 2GB of live heap in a process (limit 1GB)"},
		{Event{Kind: Broken, Rule: &Rule{Name: "near", Metric: report.RuleMemory, Value: 0.93, Limit: 0.9}}, "rule near: api uses 93% of the memory that a process may have (limit 90%)"},
		{Event{Kind: Broken, Labels: instance, Ended: began.Add(time.Minute), Rule: &Rule{Name: "leak", Metric: report.RuleGoroutines, Value: 6528, Most: 57304, Limit: 300}},
			"rule leak: 10.0.0.7:6060 of api has 6528 goroutines, later 57304 (limit 300), for 60s"},
		{Event{Kind: Broken, Labels: store.Labels{{Name: "pod", Value: "api-7"}}, Rule: &Rule{Name: "near", Metric: report.RuleMemory, Value: 0.93, Limit: 0.9}},
			"rule near: api-7 of api uses 93% of the memory that it may have (limit 90%)"},
		{Event{Kind: Broken, Labels: store.Labels{{Name: "version", Value: "v2"}}, Rule: &Rule{Name: "price", Metric: report.RuleShare, Function: "main.price", Value: 0.7, Limit: 0.05}},
			"rule price: main.price costs 70% of version v2 of api (limit 5%)"},
		{Event{Kind: Broken, Ended: began.Add(time.Minute), Labels: store.Labels{{Name: "version", Value: "v2"}}, Rule: &Rule{Name: "price", Metric: report.RuleShare, Function: "main.price", Value: 0.7, Limit: 0.05, Gone: true}},
			"rule price: main.price costs 70% of version v2 of api (limit 5%), for 60s, until version v2 of api was gone"},
		{Event{Kind: Broken, Ended: began.Add(time.Minute), Labels: instance, Rule: &Rule{Name: "leak", Metric: report.RuleGoroutines, Value: 6528, Limit: 300, Gone: true}},
			"rule leak: 10.0.0.7:6060 of api has 6528 goroutines (limit 300), for 60s, until 10.0.0.7:6060 of api was gone"},
		{Event{Kind: Restarted, Process: &Process{Instance: "10.0.0.7:6060", Memory: 1 << 20}}, "10.0.0.7:6060 of api was restarted (1MB in use)"},
		{Event{Kind: Restarted, Ended: began.Add(105 * time.Second), Process: &Process{Instance: "a", Times: 3, Memory: 1 << 20}}, "a of api was restarted 3 times in 105s (1MB in use)"},
		{Event{Kind: Killed, Ended: began.Add(105 * time.Second), Process: &Process{Instance: "a", Times: 2}}, "a of api was killed 2 times in 105s because it ran out of memory"},
		{Event{Kind: Killed, Ended: began.Add(time.Minute), Process: &Process{Instance: "a", Times: 2, Likely: true}}, "a of api was restarted 2 times in 60s because it probably ran out of memory"},
		{Event{Kind: Killed, Labels: instance}, "10.0.0.7:6060 of api was killed because it ran out of memory"},
		{Event{Kind: Killed, Process: &Process{Instance: "a", Memory: 19 << 26, Limit: 20 << 26}}, "a of api was killed because it ran out of memory (1.19GB of 1.25GB in use)"},
		{Event{Kind: Restarted}, "a process of api was restarted"},
		{Event{Kind: Captured, Capture: &Capture{Recording: "x"}}, "a recording of api was taken"},
		{Event{Kind: Captured, Capture: &Capture{Failed: "connection refused"}}, "no recording of api could be taken: connection refused"},
		{Event{Kind: Broken, Rule: &Rule{Name: "gc", Metric: report.RuleGC, Value: 0.3, Limit: 0.25}, Told: []Told{{To: "chat", Failed: "HTTP 500"}}},
			"rule gc: garbage collection costs 30% of api (limit 25%): telling chat: HTTP 500"},
	} {
		c.e.Service, c.e.Time = "api", began
		if got := c.e.Text(); got != c.want {
			t.Errorf("%q\nwant %q", got, c.want)
		}
	}
}

// A list says which rules are broken now.
func TestStates(t *testing.T) {
	rule := &Rule{Name: "gc", Metric: report.RuleGC, Value: 0.3, Limit: 0.25}
	l := open(t, filepath.Join(t.TempDir(), "events"))
	for i, e := range []Event{
		{Kind: Broken, Rule: rule}, {Kind: Broken, Rule: rule, Ended: began.Add(time.Hour)}, {Kind: Deployed, Deploy: &Deploy{Version: "v2"}},
	} {
		e.ID, e.Tenant, e.Service, e.Time = fmt.Sprint(i), "t", "api", began.Add(time.Duration(i)*time.Minute)
		if err := l.Add(e); err != nil {
			t.Fatal(err)
		}
	}
	list, _ := l.List(Filter{Tenant: "t"})
	var states []string
	for _, e := range list {
		states = append(states, string(e.State))
	}
	if got := strings.Join(states, ","); got != ",over,firing" {
		t.Errorf("the states of events are %q", got)
	}
	r := Report(list, false, began, began.Add(time.Hour))
	for b := range r.Blocks() {
		if table, ok := b.(report.Table); ok {
			if got := fmt.Sprint(table.Columns[2].Name, ":", table.Rows[0][2], ",", table.Rows[1][2], ",", table.Rows[2][2]); got != "state:,over,firing" {
				t.Errorf("the table says %q", got)
			}
		}
	}
}

// What to look at next is about the time and the processes of an event.
func TestNext(t *testing.T) {
	c := change("main.price", "cpu", "nanoseconds", 1.2e9, 1.5e9, 0.12)
	c.Since, c.Version = "v1", "v2"
	events := []Event{
		{Kind: Changed, Service: "api", Time: began, Change: c},
		{Kind: Changed, Service: "web", Time: began, Change: c}, // one of a kind is enough
		{Kind: Killed, Service: "api", Time: began, Process: &Process{Instance: "a:1"}},
	}
	var got []string
	for _, n := range Report(events, false, began.Add(-24*time.Hour), began.Add(30*time.Minute)).Next {
		got = append(got, n.String())
	}
	want := []string{
		`diff per=second store:api{version="v1"}@2026-09-01T09:00:00Z..2026-09-01T10:00:01Z store:api{version="v2"}@2026-09-01T10:00:00Z..2026-09-01T10:30:01Z`,
		`top metric=inuse_space store:api{instance="a:1"}@2026-09-01T09:50:00Z..2026-09-01T10:00:01Z`,
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}
