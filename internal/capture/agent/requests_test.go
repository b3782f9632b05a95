package agent

import (
	"fmt"
	"testing"
	"time"
)

func TestRequests(t *testing.T) {
	conditions := []Condition{{RSS, 1e18, false}, {Latency, 900e6, false}, {Latency, 200e6, false}}
	r := &recorder{host: host{requests: &requests{}}, start: time.Now()}
	r.When = conditions
	r.alarm = Alarm{Conditions: conditions, Left: 5}
	r.sys.watched.system = Self()
	r.requests.watch(conditions)
	type answer struct {
		took    time.Duration // milliseconds
		pattern string
	}
	for i, tt := range []struct {
		answers []answer
		want    string // conditions that go off, and for which request
	}{
		{nil, ""},
		{[]answer{{5, "/"}, {200, "/"}}, ""},
		{[]answer{{300, "/a"}, {400, "/b"}, {350, "/c"}}, "2 400 /b;"},
		{nil, ""},
		{[]answer{{399, "/d"}}, ""}, // not worse than before
		{[]answer{{1000, ""}}, "1 1000 ;2 1000 ;"},
	} {
		for _, a := range tt.answers {
			r.requests.add(a.took*time.Millisecond, a.pattern)
		}
		before := len(r.alarm.Troubles)
		trouble, slow := r.trouble()
		got := ""
		for _, o := range r.alarm.Troubles[before:] {
			got += fmt.Sprintf("%d %v %s;", o.Condition, o.Value/1e6, o.Request)
		}
		if got != tt.want || trouble != (tt.want != "") || slow != trouble {
			t.Errorf("step %d: %q went off (%v, %v), want %q", i, got, trouble, slow, tt.want)
		}
		if blind := r.alarm.Blind(); i == 0 && len(blind) != 2 || i > 0 && len(blind) != 0 {
			t.Errorf("step %d: blind to %v", i, blind)
		}
	}
}

func BenchmarkRequests(b *testing.B) {
	var q requests
	q.watch([]Condition{{Latency, 200e6, false}})
	b.RunParallel(func(p *testing.PB) {
		for p.Next() {
			q.add(time.Millisecond, "GET /")
		}
	})
}
