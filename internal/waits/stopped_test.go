package waits

import (
	"bytes"
	"os"
	"testing"

	"github.com/hone-perf/hone/internal/exectrace"
)

// TestStopped holds that what goroutines lose while the world is stopped lies in the stop, and counts until the Ps start again.
func TestStopped(t *testing.T) {
	shop, err := os.ReadFile("../../testdata/trace/shop.trace")
	if err != nil {
		t.Fatal(err)
	}
	tr, err := exectrace.Open(bytes.NewReader(shop), int64(len(shop)))
	if err != nil {
		t.Fatal(err)
	}
	s := newSumming(tr, Window{})
	sum, err := Summarize(tr, Window{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if len(sum.Stopped) != 1 {
		t.Fatalf("%d goroutines were stopped, want 1: %+v", len(sum.Stopped), sum.Stopped)
	}
	one := sum.Stopped[0]
	if one.Why != "GC sweep termination" || one.Kind != "net/http.(*conn).serve" || one.From <= 0 || one.To <= one.From {
		t.Errorf("%+v was stopped", one)
	}
	// The Ps start before the range is over.
	g := &Goroutine{ID: 1} // main, of which no stack needs to be known
	slot := &exectrace.Slot{Value: g}
	for _, e := range []exectrace.Event{
		{Kind: exectrace.RangeBegin, Name: stopRange + " (GC mark termination)", Time: 10},
		{Kind: exectrace.Change, From: exectrace.Running, To: exectrace.Ready, Reason: exectrace.Preempted, Time: 12, Goroutine: 1, Slot: slot},
		{Kind: exectrace.ProcStart, Proc: 1, Time: 20},
		{Kind: exectrace.Change, From: exectrace.Ready, To: exectrace.Running, Time: 25, Goroutine: 1, Slot: slot},
		{Kind: exectrace.Change, From: exectrace.Running, To: exectrace.Ready, Reason: exectrace.Preempted, Time: 27, Goroutine: 1, Slot: slot}, // its turn is over
		{Kind: exectrace.RangeEnd, Name: stopRange + " (GC mark termination)", Time: 30},
	} {
		s.event(&e)
	}
	if list := s.stopped.list; len(list) != 1 || list[0].From != 12 || list[0].To != 20 || list[0].Why != "GC mark termination" {
		t.Errorf("%+v were stopped, want one from 12 to 20", list)
	}
}
