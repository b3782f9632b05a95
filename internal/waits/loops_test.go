package waits

import (
	"bytes"
	"context"
	"runtime/pprof"
	"runtime/trace"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hone-perf/hone/internal/exectrace"
)

//go:noinline
func answer(c chan int, wg *sync.WaitGroup) {
	<-c
	wg.Done()
}

//go:noinline
func leak(c chan int) { <-c }

//go:noinline
func jobs(c chan int, wg *sync.WaitGroup) {
	for range c {
		wg.Done()
	}
}

// TestWaitingForWork holds that a goroutine waits for work where it does so again and again, and not where it waits once, or for ever.
func TestWaitingForWork(t *testing.T) {
	before := make(chan int)
	go leak(before)
	time.Sleep(time.Millisecond)
	var b bytes.Buffer
	if err := trace.Start(&b); err != nil {
		t.Skip("somebody else records a trace: ", err)
	}
	var wg sync.WaitGroup
	never, work := make(chan int), make(chan int)
	go leak(never)
	go jobs(work, &wg)
	for range 10 {
		c := make(chan int)
		wg.Add(2)
		go answer(c, &wg)
		time.Sleep(2 * time.Millisecond)
		c <- 1
		work <- 1
		wg.Wait()
	}
	trace.Stop()
	close(before)
	close(never)
	close(work)
	tr := open(t, b.Bytes())
	names := NewNames(tr)
	idle, blocked := map[string]int64{}, map[string]int64{}
	walk := &Walk{}
	walk.Span = func(s *Span) {
		if f, ok := names.Place(s.Stack); ok && names.Cause(s) == Channel {
			_, name, _ := strings.Cut(f.Func, "waits.")
			if names.Idle(s) {
				idle[name] += s.Length()
			} else {
				blocked[name] += s.Length()
			}
		}
	}
	if err := walk.Run(tr); err != nil {
		t.Fatal(err)
	}
	if idle["answer"] != 0 || blocked["answer"] < 15e6 {
		t.Errorf("who waits once waits for work for %d, is blocked for %d", idle["answer"], blocked["answer"])
	}
	if idle["leak"] != 0 || blocked["leak"] < 30e6 {
		t.Errorf("who waits for ever waits for work for %d, is blocked for %d", idle["leak"], blocked["leak"])
	}
	if blocked["jobs"] >= idle["jobs"] { // it does not wait for work before it has done so twice
		t.Errorf("a worker waits for work for %d, is blocked for %d", idle["jobs"], blocked["jobs"])
	}
}

// TestStartedByCallers holds that a goroutine which runtime/pprof or runtime/trace calls a function in is there for that function, and not for the recording.
func TestStartedByCallers(t *testing.T) {
	var b bytes.Buffer
	if err := trace.Start(&b); err != nil {
		t.Skip("somebody else records a trace: ", err)
	}
	var wg sync.WaitGroup
	wg.Add(2)
	go pprof.Do(t.Context(), pprof.Labels("job", "1"), func(context.Context) { byTimer(&wg) })
	go trace.WithRegion(t.Context(), "job", func() { byTimer(&wg) })
	wg.Wait()
	trace.Stop()
	list, _, err := Kinds(open(t, b.Bytes()), Window{})
	if err != nil {
		t.Fatal(err)
	}
	born := map[string]int64{}
	for _, k := range list {
		born[k.Kind] += k.Born
	}
	const test = "github.com/hone-perf/hone/internal/waits.TestStartedByCallers.func"
	if born[test+"1"] != 1 || born[test+"2"] != 1 {
		t.Errorf("kinds of goroutines created: %v, want one each of %s1 and 2", born, test)
	}
	tr := open(t, b.Bytes())
	names := NewNames(tr)
	slept := 0
	walk := &Walk{}
	walk.Span = func(s *Span) {
		if s.State == exectrace.Waiting && names.Cause(s) == Sleep && strings.HasPrefix(names.Kind(s.Goroutine, s.Stack), test) && !names.OfRuntime(s.Goroutine, s.Stack) {
			slept++
		}
	}
	if err := walk.Run(tr); err != nil {
		t.Fatal(err)
	}
	if slept != 2 {
		t.Errorf("%d sleeps of the program, want one of each goroutine", slept)
	}
}

// TestTimersCreate holds that goroutines which timers create are known to be created.
func TestTimersCreate(t *testing.T) {
	var b bytes.Buffer
	if err := trace.Start(&b); err != nil {
		t.Skip("somebody else records a trace: ", err)
	}
	var wg sync.WaitGroup
	for range 5 {
		wg.Add(1)
		time.AfterFunc(time.Millisecond, func() { byTimer(&wg) })
	}
	wg.Wait()
	trace.Stop()
	list, _, err := Kinds(open(t, b.Bytes()), Window{})
	if err != nil {
		t.Fatal(err)
	}
	born, ended := int64(0), int64(0)
	for _, k := range list {
		if strings.Contains(k.Kind, "TestTimersCreate") {
			born += k.Born
			ended += k.Ended
		}
	}
	if born != 5 || ended != 5 {
		t.Errorf("5 functions of timers: %d goroutines created, %d ended: %+v", born, ended, list)
	}
}

//go:noinline
func byTimer(wg *sync.WaitGroup) {
	time.Sleep(time.Millisecond)
	wg.Done()
}
