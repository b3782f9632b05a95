// Program does a little of all that is in an execution trace, and writes its own to a file. It made the traces beside it.
package main

import (
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"runtime"
	"runtime/pprof"
	"runtime/trace"
	"sync"
	"time"
)

func main() {
	out, err := os.Create(os.Args[1])
	if err != nil {
		panic(err)
	}
	before := make(chan int)
	go worker(before)
	if err := trace.Start(out); err != nil {
		panic(err)
	}
	pprof.StartCPUProfile(io.Discard)
	ctx, task := trace.NewTask(context.Background(), "whole")
	trace.Log(ctx, "category", "message")
	channels(ctx)
	locks()
	network()
	timers()
	garbage()
	coroutines()
	runtime.GOMAXPROCS(runtime.GOMAXPROCS(0) + 1)
	runtime.Gosched()
	spin()
	before <- 1
	task.End()
	pprof.StopCPUProfile()
	trace.Stop()
	if err := out.Close(); err != nil {
		panic(err)
	}
}

func worker(work chan int) {
	for range work {
	}
}

func channels(ctx context.Context) {
	defer trace.StartRegion(ctx, "channels").End()
	there, back := make(chan int), make(chan int)
	go func() {
		for v := range there {
			back <- v + 1
		}
		close(back)
	}()
	for i := range 50 {
		there <- i
		<-back
	}
	close(there)
	<-back
	done := make(chan bool)
	go func() {
		time.Sleep(time.Millisecond)
		close(done)
	}()
	select {
	case <-done:
	case <-time.After(time.Second):
	}
}

func locks() {
	var mu sync.Mutex
	var wg sync.WaitGroup
	n := 0
	for range 8 {
		wg.Add(1)
		go func() {
			defer wg.Done()
			for range 5 {
				mu.Lock()
				n++
				if n%7 == 0 {
					time.Sleep(100 * time.Microsecond)
				}
				mu.Unlock()
			}
		}()
	}
	wg.Wait()
	c := sync.NewCond(&mu)
	ready := false
	go func() {
		mu.Lock()
		ready = true
		mu.Unlock()
		c.Broadcast()
	}()
	mu.Lock()
	for !ready {
		c.Wait()
	}
	mu.Unlock()
}

func network() {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		panic(err)
	}
	go func() {
		c, err := l.Accept()
		if err != nil {
			panic(err)
		}
		io.Copy(c, c)
		c.Close()
	}()
	c, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		panic(err)
	}
	buf := make([]byte, 4)
	for range 10 {
		c.Write(buf)
		io.ReadFull(c, buf)
	}
	c.Close()
	l.Close()
	name := os.Args[0]
	os.ReadFile(name)
}

func timers() {
	done := make(chan bool)
	time.AfterFunc(time.Millisecond, func() { close(done) })
	<-done
	time.Sleep(time.Millisecond)
}

var keep [][]byte

func garbage() {
	for range 200 {
		keep = append(keep, make([]byte, 32<<10))
		if len(keep) > 50 {
			keep = nil
		}
	}
	runtime.GC()
}

var result string

func spin() {
	begin := time.Now()
	for time.Since(begin) < 30*time.Millisecond {
		result = fmt.Sprint(len(result))
	}
}
