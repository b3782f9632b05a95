package waits

import (
	"bytes"
	"cmp"
	"runtime/trace"
	"testing"
	"time"

	"github.com/hone-perf/hone/internal/exectrace"
)

// TestIdleTimes holds that idle times add up to what the overview says, and are those that followed the wait in it.
func TestIdleTimes(t *testing.T) {
	for name, b := range recorded(t) {
		t.Run(name, func(t *testing.T) {
			tr := open(t, b)
			whole, err := Summarize(tr, Window{}, nil)
			if err != nil {
				t.Fatal(err)
			}
			for _, w := range []Window{{}, {From: whole.End / 3, To: whole.End * 2 / 3}} {
				s, err := Summarize(tr, w, nil)
				if err != nil {
					t.Fatal(err)
				}
				x, err := IdleTimes(tr, w)
				if err != nil {
					t.Fatal(err)
				}
				sum := int64(0)
				for _, r := range x.Sums {
					sum += r.Total
				}
				if x.Capacity != s.Capacity || x.Idle != s.Capacity-s.Busy || x.Ready != s.IdleReady || sum > x.Idle+x.Idle/1000 || x.All > x.Length {
					t.Errorf("%v: idle for %d of %d, by rows %d, all of them for %d of %d; the overview says %d of %d", w, x.Idle, x.Capacity, sum, x.All, x.Length, s.Capacity-s.Busy, s.Capacity)
				}
			}
		})
	}
	var b bytes.Buffer
	if err := trace.Start(&b); err != nil {
		t.Skip("somebody else records a trace: ", err)
	}
	for range 10 {
		time.Sleep(10 * time.Millisecond) // others may be woken meanwhile, but not each time
	}
	trace.Stop()
	x, err := IdleTimes(open(t, b.Bytes()), Window{})
	if err != nil {
		t.Fatal(err)
	}
	slept := int64(0)
	for _, r := range x.Sums {
		if r.Name == Sleep.String() && r.Kind == "testing.tRunner" {
			slept += r.Total
		}
	}
	if slept < 40e6 || x.All < 40e6 {
		t.Errorf("of ten sleeps of 10 ms, Ps were idle for %d because of it, all of them for %d: %+v", slept, x.All, x.Sums)
	}
}

// TestLongerIdle holds that no two sums have an order by chance.
func TestLongerIdle(t *testing.T) {
	at := func(fn, file string, line int, name, kind string, total int64) IdleSum {
		return IdleSum{Frame: exectrace.Frame{Func: fn, File: file, Line: line}, Name: name, Kind: kind, RangeSum: RangeSum{Total: total}}
	}
	want := []IdleSum{
		at("b", "b.go", 2, "b", "b", 2), at("a", "b.go", 2, "b", "b", 1), at("b", "a.go", 2, "b", "b", 1), at("b", "b.go", 1, "b", "b", 1),
		at("b", "b.go", 2, "a", "b", 1), at("b", "b.go", 2, "b", "a", 1), at("b", "b.go", 2, "b", "b", 1),
	}
	for i := range want {
		for j := range want {
			if got := longerIdle(want[i], want[j]); got != cmp.Compare(i, j) {
				t.Errorf("%d and %d: %d", i, j, got)
			}
		}
	}
}
