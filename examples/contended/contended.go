// Command contended lets goroutines get in the way of each other, in one of four modes:
//
//	mutex    all add to one map under a mutex
//	rwmutex  most read one number under a read lock, some write it
//	channel  two goroutines send a number back and forth, however many workers are asked for
//	sharing  each counts in a field of its own, and the fields are neighbors
//
// It runs for -for, or until each worker did -n steps, and prints how many steps were done.
package main

import (
	"context"
	"flag"
	"fmt"
	"log"
	"strconv"
	"sync"
	"sync/atomic"
	"time"
)

// modes are the ways to get in the way.
var modes = []struct {
	name string
	run  func(ctx context.Context, workers, n int) int
}{
	{"mutex", runMutex},
	{"rwmutex", runRWMutex},
	{"channel", runChannel},
	{"sharing", runSharing},
}

// batch is how many steps a worker does before it looks at the time.
const batch = 1000

// run lets workers do steps, each of them n, or as many as there is time for when n is 0. It returns how many.
func run(ctx context.Context, workers, n int, step func(worker, i int)) int {
	var steps atomic.Int64
	var wg sync.WaitGroup
	for worker := range workers {
		wg.Go(func() {
			done := 0
			for (n == 0 || done < n) && ctx.Err() == nil {
				size := batch
				if n > 0 {
					size = min(batch, n-done)
				}
				for i := range size {
					step(worker, i)
				}
				done += size
			}
			steps.Add(int64(done))
		})
	}
	wg.Wait()
	return int(steps.Load())
}

// A tally counts words.
type tally struct {
	mu    sync.Mutex
	count map[string]int
}

// Add counts a word.
func (t *tally) Add(word int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.count["word "+strconv.Itoa(word)]++
}

// total returns how many words were counted.
func (t *tally) total() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	sum := 0
	for _, n := range t.count {
		sum += n
	}
	return sum
}

func runMutex(ctx context.Context, workers, n int) int {
	t := tally{count: make(map[string]int)}
	run(ctx, workers, n, func(worker, _ int) { t.Add(worker) })
	return t.total()
}

// A setting is read often and seldom written.
type setting struct {
	mu    sync.RWMutex
	value int
}

// Get returns the setting.
func (s *setting) Get() int {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.value
}

// Set changes the setting.
func (s *setting) Set(value int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.value = value
}

func runRWMutex(ctx context.Context, workers, n int) int {
	var s setting
	return run(ctx, workers, n, func(_, i int) {
		if v := s.Get(); i%64 == 0 {
			s.Set(v + 1)
		}
	})
}

// pingPong sends a number back and forth until it is n, or the time is over. It returns the number.
func pingPong(ctx context.Context, n int) int {
	ping, pong := make(chan int), make(chan int)
	go func() {
		defer close(pong)
		for v := range ping {
			pong <- v + 1
		}
	}()
	v := 0
	for (n == 0 || v < n) && (v%batch != 0 || ctx.Err() == nil) {
		ping <- v
		v = <-pong
	}
	close(ping)
	<-pong
	return v
}

func runChannel(ctx context.Context, _, n int) int {
	return pingPong(ctx, n)
}

// A counter is what one worker did.
type counter struct {
	n atomic.Int64
}

func runSharing(ctx context.Context, workers, n int) int {
	counters := make([]counter, workers)
	run(ctx, workers, n, func(worker, _ int) { counters[worker].n.Add(1) })
	sum := 0
	for i := range counters {
		sum += int(counters[i].n.Load())
	}
	return sum
}

func main() {
	mode := flag.String("mode", "mutex", "mutex, rwmutex, channel or sharing")
	workers := flag.Int("workers", 8, "number of goroutines")
	n := flag.Int("n", 0, "steps of each worker; 0 means as many as there is time for")
	stop := flag.Duration("for", 2*time.Second, "how long to run")
	flag.Parse()
	ctx, cancel := context.WithTimeout(context.Background(), *stop)
	defer cancel()
	for _, m := range modes {
		if m.name == *mode {
			fmt.Printf("%s: %d steps\n", m.name, m.run(ctx, *workers, *n))
			return
		}
	}
	log.Fatalf("unknown mode %q; there are mutex, rwmutex, channel and sharing", *mode)
}
