package main

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"sync/atomic"
)

func run(n int) (sum int) {
	jobs := make(chan *int, n)
	for i := range n { // want
		x := i // cost: runtime.newobject
		jobs <- &x
	}
	close(jobs)
	var wg sync.WaitGroup
	wg.Go(func() {
		for x := range jobs {
			sum += *x
		}
	})
	wg.Wait()
	return sum
}

// job is what is to be done.
type job struct {
	names []string
	n     int
	text  string
}

type task struct {
	text  string
	bytes []byte
}

var errNegative = errors.New("negative")

// newTask makes a task of a text.
func newTask(text string) (*task, error) {
	if n, err := strconv.Atoi(text); err == nil && n < 0 {
		return nil, errNegative
	}
	return &task{text, make([]byte, 10)}, nil // cost: runtime.newobject
}

// parsed keeps the error until all that came before it is done.
func parsed(j job) (int, error) {
	tasks := make(chan *task, len(j.names))
	for i, name := range j.names { // want
		t, err := newTask(name) // cost: main.newTask runtime.newobject
		if err != nil {
			return 0, fmt.Errorf("task %d: %w", i, err)
		}
		if t.text == "" {
			continue // nothing to do
		}
		tasks <- t
	} // all of them
	close(tasks)

	var all atomic.Int64
	var wg sync.WaitGroup
	for range j.n {
		wg.Add(1)
		go func() {
			defer wg.Done()
			for {
				t, ok := <-tasks
				if !ok {
					return
				}
				all.Add(int64(len(t.text)))
			}
		}()
	}
	wg.Wait()
	return int(all.Load()), nil
}

// passed has those who work in functions of their own, who may stop early.
func passed(ctx context.Context, n int) int {
	var all atomic.Int64
	var wg sync.WaitGroup
	made := 0
	tasks := make(chan task, n)
	for i := 0; i < n; i++ { // want
		t := task{text: strconv.Itoa(i)} // cost: strconv.Itoa
		tasks <- t
		made++
	}
	// No more will come.
	close(tasks)
	for range 2 {
		wg.Go(func() { worker(ctx, tasks, &all) })
	}
	wg.Wait()
	return made + int(all.Load())
}

func worker(ctx context.Context, tasks <-chan task, all *atomic.Int64) {
	for {
		select {
		case t, ok := <-tasks:
			if !ok {
				return
			}
			all.Add(int64(len(t.text)))
		case <-ctx.Done():
			return
		}
	}
}

// What is below gets no patch.

// noWait does not wait for who receives.
func noWait(n int) int {
	jobs, sums := make(chan int, n), make(chan int)
	_ = jobs
	list := make(chan *int, n)
	for i := range n { // want
		list <- &i // cost: runtime.newobject
	}
	close(list)
	go func() {
		sum := 0
		for x := range list {
			sum += *x
		}
		sums <- sum
	}()
	return <-sums
}

// notClosed counts what is received.
func notClosed(n int) (sum int) {
	list := make(chan *int, n)
	for i := range n { // want
		list <- &i // cost: runtime.newobject
	}
	var wg sync.WaitGroup
	wg.Go(func() {
		for range n {
			sum += *<-list
		}
	})
	wg.Wait()
	return sum
}

// asked wants to know how many there are.
func asked(n int) (sum int) {
	list := make(chan *int, n)
	for i := range n { // want
		list <- &i // cost: runtime.newobject
	}
	close(list)
	var wg sync.WaitGroup
	wg.Go(func() {
		for len(list) > 0 {
			sum += *<-list
		}
	})
	wg.Wait()
	return sum
}

// polled goes on when nothing is there.
func polled(n int) (sum int) {
	list := make(chan *int, n)
	for i := range n { // want
		list <- &i // cost: runtime.newobject
	}
	close(list)
	var wg sync.WaitGroup
	wg.Go(func() {
		for {
			select {
			case x, ok := <-list:
				if !ok {
					return
				}
				sum += *x
			default:
				return
			}
		}
	})
	wg.Wait()
	return sum
}

// counted uses a variable of the loop meanwhile.
func counted(n int) (sum int) {
	last := 0
	list := make(chan *int, n)
	for i := range n { // want
		list <- &i // cost: runtime.newobject
		last = i
	}
	close(list)
	var wg sync.WaitGroup
	wg.Go(func() {
		for x := range list {
			sum += *x * last
		}
	})
	wg.Wait()
	return sum
}

// changedMeanwhile changes what the loop goes by.
func changedMeanwhile(n int) (sum int) {
	step := 1
	list := make(chan *int, n)
	for i := 0; i < n; i += step { // want
		list <- &i // cost: runtime.newobject
	}
	close(list)
	var wg sync.WaitGroup
	wg.Go(func() {
		for x := range list {
			sum += *x
			step = 2
		}
	})
	wg.Wait()
	return sum + step
}

// A node is in a list.
type node struct {
	n    int
	next *node
}

// linked follows what it sent.
func linked(head *node, n int) (sum int) {
	list := make(chan *node, n)
	for p := head; p != nil; p = p.next { // want
		list <- p // cost: runtime.newobject
	}
	close(list)
	var wg sync.WaitGroup
	wg.Go(func() {
		for p := range list {
			sum += p.n
			p.next = nil
		}
	})
	wg.Wait()
	return sum
}

// chained changes what it sent before.
func chained(n int) (sum int) {
	var last *node
	list := make(chan *node, n)
	for i := range n { // want
		p := &node{n: i} // cost: runtime.newobject
		if last != nil {
			last.next = p
		}
		last = p
		list <- p
	}
	close(list)
	var wg sync.WaitGroup
	wg.Go(func() {
		for p := range list {
			for q := p; q != nil; q = q.next {
				sum++
			}
		}
	})
	wg.Wait()
	return sum
}

var serial int

func nextNode() *node {
	serial++
	return &node{n: serial} // cost: runtime.newobject
}

// numbered uses what the package keeps.
func numbered(n int) (sum int) {
	list := make(chan *node, n)
	for range n { // want
		list <- nextNode() // cost: main.nextNode runtime.newobject
	}
	close(list)
	var wg sync.WaitGroup
	wg.Go(func() {
		for p := range list {
			sum += p.n
		}
	})
	wg.Wait()
	return sum
}

// functions sends functions, which are run later.
func functions(n int) (sum int) {
	list := make(chan func(), n)
	for i := range n { // want
		list <- func() { sum += i } // cost: runtime.newobject
	}
	close(list)
	var wg sync.WaitGroup
	wg.Go(func() {
		for f := range list {
			f()
		}
	})
	wg.Wait()
	return sum
}

// nothing returns early, and for no error.
func nothing(n int) (sum int) {
	list := make(chan *int, n)
	for i := range n { // want
		if i == 1000 {
			return -1
		}
		list <- &i // cost: runtime.newobject
	}
	close(list)
	var wg sync.WaitGroup
	wg.Go(func() {
		for x := range list {
			sum += *x
		}
	})
	wg.Wait()
	return sum
}

// ended may return before all is done.
func ended(n int) (sum int) {
	list := make(chan *int, n)
	for i := range n { // want
		list <- &i // cost: runtime.newobject
	}
	close(list)
	if n == 1000 {
		return -1
	}
	var wg sync.WaitGroup
	wg.Go(func() {
		for x := range list {
			sum += *x
		}
	})
	wg.Wait()
	return sum
}

// recovered knows what to do when a job cannot be made.
func recovered(n int) (sum int) {
	defer func() { recover() }()
	list := make(chan *int, n)
	for i := range n { // want
		list <- &i // cost: runtime.newobject
	}
	close(list)
	var wg sync.WaitGroup
	wg.Go(func() {
		for x := range list {
			sum += *x
		}
	})
	wg.Wait()
	return sum
}

// filled has others change the list that it reads.
func filled(names []string) int {
	list := make(chan task, len(names))
	for i := range names { // want
		list <- task{text: names[i]} // cost: runtime.newobject
	}
	close(list)
	var wg sync.WaitGroup
	wg.Go(func() {
		for t := range list {
			names[len(names)-1] = t.text
		}
	})
	wg.Wait()
	return len(names)
}

// started has somebody receive before; that is as it should be.
func started(n int) (sum int) {
	list := make(chan *int, n)
	var wg sync.WaitGroup
	wg.Go(func() {
		for x := range list {
			sum += *x
		}
	})
	for i := range n {
		list <- &i // cost: runtime.newobject
	}
	close(list)
	wg.Wait()
	return sum
}

func main() {
	fmt.Println(run(4), run(0), run(1000))
	fmt.Println(parsed(job{names: []string{"a", "", "b"}, n: 2}))
	fmt.Println(parsed(job{names: []string{"a", "-1", "b"}, n: 2}))
	fmt.Println(parsed(job{names: []string{"a", "-1", "b"}}))
	fmt.Println(parsed(job{names: []string{"a", "b"}}))
	fmt.Println(passed(context.Background(), 1000))
	done, cancel := context.WithCancel(context.Background())
	cancel()
	fmt.Println(passed(done, 0))
	func() {
		defer func() { fmt.Println(recover()) }()
		fmt.Println(run(-1))
	}()
	fmt.Println(noWait(4), notClosed(4), asked(4), polled(4), counted(4), changedMeanwhile(4), linked(&node{n: 1}, 4), chained(4), numbered(4),
		functions(4), nothing(4), ended(4), recovered(4), filled([]string{"a"}), started(4))
}
