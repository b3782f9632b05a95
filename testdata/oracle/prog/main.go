// The program whose profiles the oracle test records: something of everything that a profile can
// hold, in as little time as gives a CPU profile some samples.
package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"runtime/pprof"
	"strconv"
	"sync"
	"time"

	"example.com/prog/shape"
)

var (
	kept [][]byte // stays alive, for the heap profile
	sum  float64
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: prog DIR")
		os.Exit(2)
	}
	if err := run(os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, "prog:", err)
		os.Exit(1)
	}
}

func run(dir string) error {
	runtime.MemProfileRate = 512
	runtime.SetBlockProfileRate(1)
	runtime.SetMutexProfileFraction(1)
	cpu, err := os.Create(filepath.Join(dir, "cpu.pb.gz"))
	if err != nil {
		return err
	}
	if err := pprof.StartCPUProfile(cpu); err != nil {
		return err
	}
	work(400 * time.Millisecond)
	contend()
	allocate()
	pprof.StopCPUProfile()
	if err := cpu.Close(); err != nil {
		return err
	}

	stop := make(chan bool)
	defer close(stop)
	park(stop)
	runtime.GC()
	for _, name := range []string{"heap", "allocs", "block", "mutex", "goroutine", "threadcreate"} {
		for debug, suffix := range []string{".pb.gz", ".txt"} {
			if err := write(filepath.Join(dir, name+suffix), name, debug); err != nil {
				return err
			}
		}
	}
	return nil
}

func write(path, name string, debug int) error {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	if err := pprof.Lookup(name).WriteTo(f, debug); err != nil {
		return err
	}
	return f.Close()
}

// work burns CPU under labels, some of them nested.
func work(d time.Duration) {
	shapes := []shape.Shape{shape.Circle{R: 2}, shape.Square{Side: 3}, &shape.Union{Of: []shape.Shape{shape.Circle{R: 1}, shape.Square{Side: 1}}}}
	var wg sync.WaitGroup
	for i := range 3 {
		labels := pprof.Labels("worker", strconv.Itoa(i), "kind", "number crunching")
		wg.Go(func() {
			pprof.Do(context.Background(), labels, func(ctx context.Context) {
				end := time.Now().Add(d)
				for step := 0; time.Now().Before(end); step++ {
					pprof.Do(ctx, pprof.Labels("step", strconv.Itoa(step%3)), func(context.Context) {
						add(shape.Total(shapes, 2000))
						add(float64(shape.Fibonacci(17)))
					})
				}
			})
		})
	}
	wg.Wait()
}

var mu sync.Mutex

func add(x float64) {
	mu.Lock()
	defer mu.Unlock()
	sum += x
}

// contend makes goroutines wait for a lock and for a channel.
func contend() {
	var wg sync.WaitGroup
	queue := make(chan int)
	for range 4 {
		wg.Go(func() {
			for n := range queue {
				mu.Lock()
				sum += float64(shape.Fibonacci(10 + n%5))
				mu.Unlock()
			}
		})
	}
	for n := range 2000 {
		queue <- n
	}
	close(queue)
	wg.Wait()
}

// allocate leaves objects of many sizes, and drops others.
func allocate() {
	tree := &shape.Tree[int]{}
	for i := range 3000 {
		tree = tree.Insert(i * 7919 % 3001)
		if i%10 == 0 {
			kept = append(kept, make([]byte, 16<<(i%9)))
		}
		_ = fmt.Sprintf("dropped %d of %d", i, tree.Len())
	}
}

// park starts goroutines that wait in different places.
func park(stop chan bool) {
	for i := range 9 {
		labels := pprof.Labels("parked", strconv.Itoa(i%3))
		ready := make(chan bool)
		go pprof.Do(context.Background(), labels, func(context.Context) {
			if i%2 == 0 {
				close(ready)
				<-stop
				return
			}
			close(ready)
			select {
			case <-stop:
			case <-time.After(time.Hour):
			}
		})
		<-ready
	}
}
