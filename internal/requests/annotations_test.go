package requests

import (
	"bytes"
	"context"
	"runtime"
	"runtime/trace"
	"sync"
	"testing"
	"time"
)

// TestAnnotations holds that tasks and regions are found with their times, the states of their goroutines, and those that have no begin or end.
func TestAnnotations(t *testing.T) {
	ctx, early := trace.NewTask(context.Background(), "early")
	var lock sync.Mutex
	tr := tracing(t, func() {
		early.End()
		ctx, task := trace.NewTask(ctx, "outer")
		handed := make(chan *trace.Task)
		var wg sync.WaitGroup
		wg.Go(func() {
			defer trace.StartRegion(ctx, "on another goroutine").End()
			_, task := trace.NewTask(ctx, "handed on")
			handed <- task
		})
		other := <-handed
		wg.Wait()
		other.End()
		lock.Lock()
		wg.Go(func() {
			untilLocked()
			time.Sleep(3 * time.Millisecond)
			lock.Unlock()
		})
		trace.WithRegion(ctx, "locked", func() {
			trace.WithRegion(ctx, "locked", func() { lock.Lock() })
		})
		lock.Unlock()
		wg.Wait()
		task.End()
		trace.NewTask(ctx, "never ends")
	})
	tasks, err := Tasks(tr)
	if err != nil {
		t.Fatal(err)
	}
	by := map[string][]Request{}
	for i, r := range tasks.Requests {
		by[r.Handler] = append(by[r.Handler], r)
		if r.Number != i+1 || r.To < r.From || i > 0 && r.To < tasks.Requests[i-1].To {
			t.Errorf("task %d is %+v", i+1, r)
		}
	}
	switch outer, handed := by["outer"], by["handed on"]; {
	case len(tasks.Requests) != 4 || len(outer) != 1 || len(handed) != 1 || len(by["never ends"]) != 1 || len(by[""]) != 1:
		t.Errorf("the tasks are %v", by)
	case handed[0].Goroutine != outer[0].Goroutine:
		t.Error("a task is of the goroutine that began it, not of the one that ended it")
	case outer[0].Split[Lock] < int64(2*time.Millisecond) || sum(outer[0]) != outer[0].Took():
		t.Errorf("outer took %d: %v", outer[0].Took(), outer[0].Split)
	case !by["never ends"][0].Open || !by[""][0].Begun:
		t.Errorf("%+v has no end, and %+v no begin", by["never ends"][0], by[""][0])
	}

	regions, err := Regions(tr)
	if err != nil {
		t.Fatal(err)
	}
	names := map[string]int{}
	for _, r := range regions.Requests {
		names[r.Handler]++
		if sum(r) != r.Took() {
			t.Errorf("%s took %d: %v", r.Handler, r.Took(), r.Split)
		}
		if r.Handler == "locked" && r.Split[Lock] < int64(2*time.Millisecond) {
			t.Errorf("a region that waits for a lock: %v", r.Split)
		}
	}
	if len(names) != 2 || names["locked"] != 2 || names["on another goroutine"] != 1 {
		t.Errorf("the regions are %v", names)
	}
}

// untilLocked waits until a goroutine waits for a mutex, which can take long on a busy machine.
func untilLocked() {
	for buf := make([]byte, 1<<20); !bytes.Contains(buf[:runtime.Stack(buf, true)], []byte("[sync.Mutex.Lock")); {
		time.Sleep(time.Millisecond)
	}
}

func sum(r Request) (n int64) {
	for _, v := range r.Split {
		n += v
	}
	return n
}
