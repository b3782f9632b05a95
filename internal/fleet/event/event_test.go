package event

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

var began = time.Date(2026, 9, 1, 10, 0, 0, 0, time.UTC)

func open(t *testing.T, name string) *Log {
	t.Helper()
	l, err := Open(name)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return l
}

func ids(l *Log, f Filter) string {
	events, more := l.List(f)
	var all []string
	for _, e := range events {
		all = append(all, e.ID)
	}
	if more {
		all = append(all, "…")
	}
	return strings.Join(all, " ")
}

func TestLog(t *testing.T) {
	name := filepath.Join(t.TempDir(), "events")
	l := open(t, name)
	for i, e := range []Event{
		{ID: "a", Tenant: "t", Kind: Deployed, Service: "api", Time: began},
		{ID: "b", Tenant: "t", Kind: Changed, Service: "api", Time: began.Add(time.Hour), Change: &Change{Function: "main.f"}},
		{ID: "a", Tenant: "other", Kind: Deployed, Service: "api", Time: began},
		{ID: "c", Tenant: "t", Kind: Restarted, Service: "web", Time: began.Add(2 * time.Hour)},
		{ID: "b", Tenant: "t", Kind: Changed, Service: "api", Time: began.Add(time.Hour), Ended: began.Add(3 * time.Hour), Change: &Change{Function: "main.g"}},
	} {
		if err := l.Add(e); err != nil {
			t.Fatal(i, err)
		}
	}
	check := func(l *Log) {
		t.Helper()
		for _, c := range []struct {
			f    Filter
			want string
		}{
			{Filter{Tenant: "t"}, "c b a"},
			{Filter{Tenant: "other"}, "a"},
			{Filter{}, ""},
			{Filter{Tenant: "t", Service: "api"}, "b a"},
			{Filter{Tenant: "t", Kinds: []Kind{Deployed, Restarted}}, "c a"},
			{Filter{Tenant: "t", From: began.Add(150 * time.Minute)}, "b"}, // which went on until then
			{Filter{Tenant: "t", To: began.Add(time.Hour)}, "a"},
			{Filter{Tenant: "t", Limit: 2}, "c b …"},
			{Filter{Tenant: "t", Limit: 3}, "c b a"},
		} {
			if got := ids(l, c.f); got != c.want {
				t.Errorf("%+v: %q, want %q", c.f, got, c.want)
			}
		}
		if e := l.Get("t", "b"); e == nil || e.Change.Function != "main.g" {
			t.Errorf("b is %+v", e)
		}
		if e := l.Get("other", "b"); e != nil {
			t.Errorf("another tenant's: %+v", e)
		}
	}
	check(l)
	l.Close()
	if l.Add(Event{ID: "d", Tenant: "t"}) == nil {
		t.Error("a closed log takes events")
	}
	check(open(t, name))

	// What a process that was killed left of its last line is no event, and the next one is whole.
	b, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, append(b, `{"id":"d","ten`...), 0o600); err != nil {
		t.Fatal(err)
	}
	l = open(t, name)
	check(l)
	if err := l.Add(Event{ID: "e", Tenant: "t", Time: began}); err != nil {
		t.Fatal(err)
	}
	l.Close()
	if got := ids(open(t, name), Filter{Tenant: "t"}); got != "c b a e" {
		t.Errorf("after a torn line: %q", got)
	}
}

// A log has a limit; the oldest events go first.
func TestLogIsBounded(t *testing.T) {
	name := filepath.Join(t.TempDir(), "events")
	l := open(t, name)
	for i := range mostEvents { // Add syncs each, which takes minutes
		l.keep(&Event{ID: fmt.Sprint(i), Tenant: "t", Time: began.Add(time.Duration(i) * time.Second)}, 100)
	}
	if err := l.rewrite(); err != nil {
		t.Fatal(err)
	}
	if n := len(l.events); n != mostEvents*9/10 {
		t.Errorf("%d events", n)
	}
	if l.Get("t", "0") != nil || l.Get("t", fmt.Sprint(mostEvents-1)) == nil {
		t.Error("not the oldest went")
	}
}

func TestAddRefusesLongTexts(t *testing.T) {
	l := open(t, filepath.Join(t.TempDir(), "events"))
	if err := l.Add(Event{ID: "a", Tenant: "t", Service: strings.Repeat("x", mostLine)}); err == nil {
		t.Error("taken")
	}
}

// What others know of an event stays when somebody adds it again, and followers see what it was.
func TestUpdateAndFollow(t *testing.T) {
	l := open(t, filepath.Join(t.TempDir(), "events"))
	var seen []string
	l.Follow(func(was, is *Event) { seen = append(seen, fmt.Sprintf("%s %v %s", is.ID, was != nil, is.Pin)) })
	e := Event{ID: "a", Tenant: "t", Kind: Changed, Service: "api", Time: began}
	told := func(e *Event) { e.Pin, e.Told = "p", []Told{{To: "chat", Failed: "HTTP 500"}} }
	for _, err := range []error{l.Add(e), l.Update("t", "a", told), l.Update("t", "b", told), l.Update("other", "a", told), l.Add(e)} {
		if err != nil {
			t.Fatal(err)
		}
	}
	if got := l.Get("t", "a"); got.Pin != "p" || len(got.Told) != 1 {
		t.Errorf("%+v", got)
	}
	if got := strings.Join(seen, ", "); got != "a false , a true p, a true p" {
		t.Errorf("followed: %s", got)
	}
}
