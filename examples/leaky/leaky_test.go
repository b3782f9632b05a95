package main

import (
	"bytes"
	"runtime"
	"runtime/pprof"
	"strings"
	"testing"
	"time"
)

// The tests hold that the program is good to practise on.

func TestLookup(t *testing.T) {
	waiting := func() int { return strings.Count(goroutines(t), "[chan send") }
	before := waiting()
	for range 50 {
		if got := lookup("who?"); got != "left says WHO?" && got != "right says WHO?" {
			t.Errorf("lookup returned %q", got)
		}
	}
	for end := time.Now().Add(10 * time.Second); waiting() != before+50 && time.Now().Before(end); {
		time.Sleep(time.Millisecond)
	}
	if n := waiting(); n != before+50 {
		t.Errorf("%d goroutines wait to send, before %d; want 50 more", n, before)
	}
	if n := strings.Count(goroutines(t), "lookup.func1"); n < 50 {
		t.Errorf("%d of them do so in lookup; want 50", n)
	}
}

func TestOpen(t *testing.T) {
	var reg registry
	var old, now runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&old)
	for i := range 100 {
		reg.open(i, 64<<10)
	}
	runtime.GC()
	runtime.ReadMemStats(&now)
	if grown := int64(now.HeapAlloc) - int64(old.HeapAlloc); grown < 90*64<<10 {
		t.Errorf("the heap grew by %d bytes; want about 100 times 64 KiB", grown)
	}
	if n := reg.count(); n != 100 {
		t.Errorf("%d sessions; want 100", n)
	}
}

func goroutines(t *testing.T) string {
	var out bytes.Buffer
	if err := pprof.Lookup("goroutine").WriteTo(&out, 2); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

func BenchmarkOpen(b *testing.B) {
	b.ReportAllocs()
	var reg registry
	for b.Loop() {
		reg.open(1, 64<<10)
	}
}
