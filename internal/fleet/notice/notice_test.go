package notice_test

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hone-perf/hone/internal/fleet/event"
	"github.com/hone-perf/hone/internal/fleet/notice"
	"github.com/hone-perf/hone/internal/fleet/notice/noticetest"
	"github.com/hone-perf/hone/internal/store/storetest"
	"github.com/hone-perf/hone/internal/testrun"
)

var began = time.Date(2026, 9, 1, 10, 0, 0, 0, time.UTC)

// A watched fleet is one that a Noticer looks at after each step.
type watched struct {
	*noticetest.Fleet
	t      *testing.T
	events *event.Log
	notice *notice.Noticer
}

func watch(t *testing.T, seed uint64) *watched {
	events, err := event.Open(filepath.Join(t.TempDir(), "events.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { events.Close() })
	w := &watched{Fleet: noticetest.New(seed, began), t: t, events: events}
	w.restart()
	return w
}

func (w *watched) restart() {
	f := w.Fleet
	w.notice = notice.New(notice.Options{Store: f, Events: w.events, Now: func() time.Time { return f.Now.Add(3 * time.Minute) }})
}

func (w *watched) steps(n int) {
	w.t.Helper()
	for range n {
		w.Advance()
		if err := w.notice.Look(context.Background()); err != nil {
			w.t.Fatal(err)
		}
	}
}

func (w *watched) list(kinds ...event.Kind) []event.Event {
	all, _ := w.events.List(event.Filter{Tenant: noticetest.Tenant, Service: noticetest.Service, Kinds: kinds})
	return all
}

func (w *watched) code() []event.Event {
	return slices.DeleteFunc(w.list(event.Changed), func(e event.Event) bool { return e.Change.Source != event.Code })
}

// TestFindsRegressions is a small run of tools/fleetsim.
func TestFindsRegressions(t *testing.T) {
	for seed, kind := range []noticetest.Kind{noticetest.Slower, noticetest.Busier, noticetest.Calls} {
		w := watch(t, uint64(seed)+1)
		w.steps(40)
		at := w.Now
		name := w.Regress(noticetest.Regression{At: at, Size: 0.03, Kind: kind})
		w.steps(12)
		found := w.code()
		if len(found) != 1 {
			t.Fatalf("seed %d: %d events, want 1: %+v", seed, len(found), found)
		}
		e := found[0]
		c := e.Change
		if !w.Near(c.Function) || c.Share < 0.015 || c.Share > 0.06 || e.Time.Sub(at).Abs() > 15*time.Minute || e.Noticed.Sub(at) > time.Hour {
			t.Errorf("seed %d: %s was changed by 3 %% at %v; found %+v of %+v", seed, name, at, e, *c)
		}
		if c.Before.Low > c.Before.Value || c.After.High < c.After.Value || c.Before.High > c.After.Low || c.After.Profiles < 100 || len(c.Callers) == 0 || c.File == "" {
			t.Errorf("seed %d: facts are missing: %+v", seed, *c)
		}
	}
}

// TestFindsMostOfAHandler changes a function that is most of a handler, so most of what is below that moves with it.
func TestFindsMostOfAHandler(t *testing.T) {
	w := watch(t, 34)
	for range 45 {
		w.Live()
		w.steps(1)
	}
	at := w.Now
	name := w.Regress(noticetest.Regression{At: at.Add(4 * time.Minute), Size: 0.1, Kind: noticetest.Busier})
	for range 13 {
		w.Live()
		w.steps(1)
	}
	found := slices.DeleteFunc(w.code(), func(e event.Event) bool { return e.Time.Before(at) })
	if len(found) != 1 {
		t.Fatalf("%d events, want 1: %+v", len(found), found)
	}
	if c := found[0].Change; c.Function != name && !slices.Contains(c.With, name) || c.Share < 0.05 {
		t.Errorf("%s costs 10 %% more; found %+v", name, *c)
	}
}

// TestOneCause has a function call what most of its handler calls, too. What it does not call must not seem to have become cheaper, and the handler must not
// seem to have other work. Where the function is much of its handler, that is not always told apart.
func TestOneCause(t *testing.T) {
	one := 0
	var others []string
	sizes, seeds := []float64{0.3, 0.4}, testrun.Size(6, 2)
	for _, size := range sizes {
		for seed := range uint64(seeds) {
			w := watch(t, 1+seed)
			w.steps(45)
			name := w.Regress(noticetest.Regression{At: w.Now, Size: size, Kind: noticetest.Shared})
			w.steps(16)
			found := w.list(event.Changed)
			if len(found) == 1 && found[0].Change.Source == event.Code && w.Near(found[0].Change.Function) {
				one++
				continue
			}
			for _, e := range found {
				others = append(others, fmt.Sprintf("seed %d, %.0f %% of %s: %s", 1+seed, 100*size, name, e.Text()))
			}
		}
	}
	if all := len(sizes) * seeds; one < all*3/4 {
		t.Errorf("%d changes of %d are one event, want at least %d; the others are:\n%s", one, all, all*3/4, strings.Join(others, "\n"))
	}
}

func TestDailyTrafficIsNoAlarm(t *testing.T) {
	w := watch(t, 2)
	for range 36 * 12 {
		w.Live()
		w.steps(1)
	}
	if found := w.code(); len(found) > 0 {
		t.Errorf("nothing changed, and yet: %+v of %+v", found[0], *found[0].Change)
	}
	if len(w.Deploys) == 0 || len(w.list(event.Deployed)) != len(w.Deploys) {
		t.Errorf("%d deploys were noticed of %d", len(w.list(event.Deployed)), len(w.Deploys))
	}
}

func TestEnds(t *testing.T) {
	w := watch(t, 4)
	w.steps(40)
	end := w.Now.Add(2 * time.Hour)
	w.Regress(noticetest.Regression{At: w.Now, Size: 0.05, Ended: end})
	w.steps(24)
	w.restart() // a new one fills its memory from the store, and says nothing twice
	w.steps(12)
	found := w.code()
	if len(found) != 1 || found[0].Ended.Sub(end).Abs() > 15*time.Minute {
		t.Errorf("want one event that ended at %v; got %+v", end, found)
	}
}

func TestMixIsNotCode(t *testing.T) {
	w := watch(t, 5)
	w.steps(30)
	w.Shift(0, 2.5, 6*time.Hour)
	w.steps(24)
	found := w.list(event.Changed)
	if len(found) != 1 || found[0].Change.Source != event.Mix || found[0].Change.Function != "example.com/shop/api.handleA" {
		t.Errorf("want one mix of handleA, got %+v", found)
	}
	w = watch(t, 5)
	w.steps(30)
	w.Shift(-1, 1.8, 6*time.Hour)
	w.steps(24)
	if found := w.list(event.Changed); len(found) != 1 || found[0].Change.Source != event.Traffic {
		t.Errorf("want one of traffic, got %+v", found)
	}
}

func TestCanary(t *testing.T) {
	w := watch(t, 6)
	w.steps(30)
	w.Canary = 1
	w.Deploy()
	name := w.Regress(noticetest.Regression{At: w.Now, Size: 0.1})
	w.steps(13)
	deploys, found := w.list(event.Deployed), w.code()
	if len(deploys) != 1 || deploys[0].Deploy.Version != "v1" || deploys[0].Deploy.Before != "v0" {
		t.Fatalf("want the deploy of v1, got %+v", deploys)
	}
	if len(found) != 1 || !w.Near(found[0].Change.Function) || found[0].Change.Version != "v1" || found[0].Change.Since != "v0" || found[0].Cause != deploys[0].ID {
		t.Errorf("want %s with v1, got %+v", name, found)
	}
}

// TestStore runs on a store that others hold themselves against, with all kinds and several services.
func TestStore(t *testing.T) {
	if testing.Short() {
		t.Skip("draws profiles of hours")
	}
	fleet := storetest.Small()
	fleet.Services, fleet.Instances, fleet.Rounds, fleet.Deploy = 2, 1, 150, 70
	s := storetest.NewMemory()
	now := fleet.Start.Add(150 * time.Minute)
	s.Now = func() time.Time { return now }
	if _, err := s.Add(context.Background(), "t", fleet.All()); err != nil {
		t.Fatal(err)
	}
	events, err := event.Open(filepath.Join(t.TempDir(), "events.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	defer events.Close()
	n := notice.New(notice.Options{Store: s, Events: events, Now: s.Now})
	if err := n.Look(context.Background()); err != nil {
		t.Fatal(err)
	}
	// The memory begins anew, and what is known is known.
	deploys, _ := events.List(event.Filter{Tenant: "t", Kinds: []event.Kind{event.Deployed}})
	if len(deploys) != 2*fleet.Services {
		t.Errorf("%d deploys noticed, want two of each of %d services", len(deploys), fleet.Services)
	}
	// A deploy is told at its first profile, and not at the beginning of the five minutes in which that came.
	began := map[string]time.Time{}
	for _, u := range fleet.All() {
		if k := u.Service + " " + u.Labels.Get("version"); began[k].IsZero() || u.Start.Before(began[k]) {
			began[k] = u.Start
		}
	}
	for _, d := range deploys {
		if late := began[d.Service+" "+d.Deploy.Version].Sub(d.Time); late < 0 || late >= 10*time.Second {
			t.Errorf("%s of %s is told %v before its first profile", d.Deploy.Version, d.Service, late)
		}
	}
	again := notice.New(notice.Options{Store: s, Events: events, Now: s.Now})
	before, _ := events.List(event.Filter{Tenant: "t"})
	if err := again.Look(context.Background()); err != nil {
		t.Fatal(err)
	}
	if after, _ := events.List(event.Filter{Tenant: "t"}); len(after) != len(before) {
		t.Errorf("%d events after a restart, %d before", len(after), len(before))
	}
}

// TestCostPerRequest changes all that a handler does, which looks like more work of that handler unless requests are counted.
func TestCostPerRequest(t *testing.T) {
	for _, counted := range []bool{false, true} {
		w := watch(t, 5)
		w.Requests = counted
		w.steps(50)
		at := w.Now
		name := w.Regress(noticetest.Regression{At: at, Size: 0.08, Kind: noticetest.Whole})
		w.steps(12)
		found := w.code()
		if !counted {
			if len(found) != 0 {
				t.Errorf("without counts: %+v", found)
			}
			continue
		}
		if len(found) != 1 {
			t.Fatalf("with counts: %d changes of code in %+v", len(found), w.list())
		}
		e := found[0]
		if c := e.Change; !w.Near(c.Function) || c.Share < 0.04 || c.Share > 0.12 || c.Requests < 1 {
			t.Errorf("%s was changed by 8 %%; found %+v", name, *c)
		}
		if text := e.Text(); !strings.Contains(text, " per request") {
			t.Errorf("the text is %q", text)
		}
	}
}

// TestTrafficIsNotAChange doubles the work of a handler whose requests are counted.
func TestTrafficIsNotAChange(t *testing.T) {
	w := watch(t, 5)
	w.Requests = true
	w.steps(50)
	w.Shift(0, 1.8, 3*time.Hour)
	w.steps(12)
	if found := w.code(); len(found) != 0 {
		t.Errorf("traffic is said to be a change of code: %+v", *found[0].Change)
	}
	if len(w.list(event.Changed)) == 0 {
		t.Error("traffic is not noticed")
	}
}
