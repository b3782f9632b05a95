package requests

import (
	"context"
	"runtime/trace"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"
	"golang.org/x/sync/singleflight"
)

const slowly = 8 * time.Millisecond

//go:noinline
func holder(mu *sync.Mutex, held chan<- bool) {
	mu.Lock()
	held <- true
	time.Sleep(slowly)
	mu.Unlock()
}

//go:noinline
func worker(i int) {
	if i == 2 {
		time.Sleep(slowly)
	}
}

//go:noinline
func last(out chan<- int) {
	time.Sleep(slowly)
	out <- 1
}

//go:noinline
func between(in <-chan int, out chan<- int) { out <- <-in }

//go:noinline
func query() (any, error) {
	time.Sleep(slowly)
	return 1, nil
}

//go:noinline
func patient(never <-chan int) {
	select {
	case <-never:
	case <-time.After(slowly):
	}
}

// TestKnownPaths holds that the critical path of what waits in usual ways is for the most part what it is known to wait for.
func TestKnownPaths(t *testing.T) {
	for _, test := range []struct {
		name string
		do   func(ready func()) // calls ready when what it waits for has begun
		what What
		in   string // function
		own  bool   // it is the one that waits
	}{
		{"lock of a goroutine in the background", func(ready func()) {
			var mu sync.Mutex
			held := make(chan bool)
			go holder(&mu, held)
			<-held
			ready()
			mu.Lock()
			mu.Unlock() //lint:ignore SA2001 that is all there is to wait for
		}, Sleep, "holder", false},
		{"one slow worker of four", func(ready func()) {
			ready()
			var wg sync.WaitGroup
			for i := range 4 {
				wg.Go(func() { worker(i) })
			}
			wg.Wait()
		}, Sleep, "worker", false},
		{"chain of channels", func(ready func()) {
			ready()
			a, b, c := make(chan int), make(chan int), make(chan int)
			go last(a)
			go between(a, b)
			go between(b, c)
			<-c
		}, Sleep, "last", false},
		{"errgroup", func(ready func()) {
			ready()
			var g errgroup.Group
			for i := range 4 {
				g.Go(func() error {
					worker(i)
					return nil
				})
			}
			g.Wait()
		}, Sleep, "worker", false},
		{"singleflight", func(ready func()) {
			var g singleflight.Group
			begun := make(chan bool)
			go g.Do("key", func() (any, error) {
				close(begun)
				return query()
			})
			<-begun
			ready()
			g.Do("key", query)
		}, Sleep, "query", false},
		{"select with a timer", func(ready func()) {
			ready()
			patient(make(chan int))
		}, Select, "patient", true},
	} {
		t.Run(test.name, func(t *testing.T) {
			tr := tracing(t, func() {
				var region *trace.Region
				test.do(func() { region = trace.StartRegion(context.Background(), "case") })
				region.End()
			})
			found, err := Regions(tr)
			if err != nil || len(found.Requests) != 1 {
				t.Fatalf("%v, %+v", err, found)
			}
			paths, err := Paths(tr, nil, found.Requests)
			if err != nil {
				t.Fatal(err)
			}
			covered(t, &found.Requests[0], paths[0])
			of := int64(0)
			for _, s := range paths[0] {
				if s.What == test.what && strings.HasSuffix(s.Place.Func, "requests."+test.in) && (s.Depth == 0) == test.own {
					of += s.Took()
				}
			}
			if took := found.Requests[0].Took(); of < int64(slowly)/2 || of < took/2 {
				longest := slices.MaxFunc(paths[0], func(a, b Segment) int { return int(a.Took() - b.Took()) })
				t.Errorf("of %d, %d is %v in %s; most is %v in %s", took, of, test.what, test.in, longest.What, longest.Place.Func)
			}
		})
	}
}
