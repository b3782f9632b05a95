// Command planted holds memory in each way that there is, says how much it is, and waits for the end of its input.
package main

import (
	"container/list"
	"fmt"
	"os"
	"runtime"
	"sync"
	"time"
)

type blob struct {
	next *blob
	data []byte
	m    map[string]*blob
}

type holder struct {
	name  string
	inner struct{ b *blob }
	arr   [4]*blob
	any   any
	f     func() int
	ch    chan *blob
}

type key struct {
	a, b string
}

type shaper interface{ shape() int }

func (b *blob) shape() int { return len(b.data) }

//go:noinline
func mk(n int) *blob { return &blob{data: make([]byte, n)} }

var (
	global    *blob
	structed  holder
	pointed   *holder
	slice     []*blob
	structs   []holder
	small     map[string]*blob
	large     map[int]*blob
	keyed     map[key]*blob
	bigval    map[int][40]*blob
	nested    map[string]map[string][]*blob
	channel   = make(chan *blob, 16)
	chstr     = make(chan [3]uint64, 16)
	boxed     any
	shaped    shaper
	closure   func() int
	chain     *blob
	sm        sync.Map
	pool      = sync.Pool{New: func() any { return mk(10) }}
	heads     [][]byte
	lst       = list.New()
	array     [100]*blob
	strs      []string
	sharedA   *blob
	sharedB   []*blob
	floats    []float64
	timer     *time.Timer
	once      sync.Once
	boxedInt  []any
	bigarr    *[1000]holder
	pp        **blob
	finalized *blob
	large2    *[2000]*blob
	method    func() int
)

//go:noinline
func worker(wg *sync.WaitGroup, stop chan bool, n int) {
	local := []*blob{mk(n), mk(n)}
	onstack := holder{name: "x"}
	onstack.inner.b = mk(n)
	p := &onstack
	wg.Done()
	<-stop
	use(p)
	runtime.KeepAlive(local)
}

//go:noinline
func use(h *holder) { runtime.KeepAlive(h) }

//go:noinline
func spin(wg *sync.WaitGroup, n int) {
	held := mk(n)
	wg.Done()
	for i := 0; ; i++ {
		if i%(1<<28) == 0 {
			held.shape()
		}
	}
}

func fill() {
	global = mk(1 << 20)
	structed.inner.b = mk(1 << 20)
	structed.arr[2] = mk(1 << 20)
	structed.any = mk(1 << 19)
	pointed = &holder{name: "pointed"}
	pointed.inner.b = mk(1 << 20)
	pointed.ch = make(chan *blob, 4)
	pointed.ch <- mk(1 << 18)
	x := mk(1 << 20)
	pointed.f = func() int { return x.shape() }
	for i := range 1000 {
		slice = append(slice, mk(1000+i%10))
		h := holder{name: fmt.Sprint("secret-name-", i)}
		h.inner.b = mk(500)
		h.any = [3]int{i, i, i}
		structs = append(structs, h)
	}
	small = map[string]*blob{"secret-a": mk(1 << 20), "secret-b": mk(1 << 10)}
	large = map[int]*blob{}
	keyed = map[key]*blob{}
	bigval = map[int][40]*blob{}
	nested = map[string]map[string][]*blob{}
	for i := range 20000 {
		large[i] = mk(100)
		keyed[key{fmt.Sprint("secret-k", i), "b"}] = mk(60)
		if i < 100 {
			bigval[i] = [40]*blob{3: mk(2000)}
			nested[fmt.Sprint("n", i)] = map[string][]*blob{"in": {mk(300), mk(301)}}
		}
	}
	for range 10 {
		channel <- mk(1 << 16)
	}
	boxed = *pointed
	shaped = mk(1 << 19)
	y, z := mk(1<<19), 0
	closure = func() int { z++; return y.shape() + z }
	for range 10000 {
		chain = &blob{next: chain, data: make([]byte, 64)}
	}
	for i := range 3000 {
		sm.Store(i, mk(128))
		strs = append(strs, fmt.Sprint("secret-string-", i))
		boxedInt = append(boxedInt, i+1000)
	}
	for range 8 {
		pool.Put(mk(1 << 16))
		big := make([]byte, 1<<20)
		heads = append(heads, big[100:110])
	}
	for range 100 {
		lst.PushBack(mk(1000))
	}
	array[50] = mk(1 << 20)
	sharedA = mk(1 << 22)
	sharedB = []*blob{sharedA}
	floats = make([]float64, 1<<18)
	fin := mk(1 << 10)
	finalized = fin
	fb := mk(1 << 20)
	runtime.SetFinalizer(fin, func(b *blob) { use(&holder{inner: struct{ b *blob }{fb}}) })
	finself := &blob{next: mk(1 << 20)}
	finalized.next = finself
	runtime.SetFinalizer(finself, func(b *blob) { use(&holder{inner: struct{ b *blob }{b}}) })
	tb := mk(1 << 20)
	timer = time.AfterFunc(time.Hour, func() { use(&holder{inner: struct{ b *blob }{tb}}) })
	bigarr = new([1000]holder)
	bigarr[700].inner.b = mk(1 << 18)
	b := mk(1 << 18)
	pp = &b
	large2 = new([2000]*blob)
	large2[1999] = mk(1 << 18)
	bound := mk(1 << 18)
	method = bound.shape
	runtime.KeepAlive(fin)
	runtime.KeepAlive(finself)
}

func main() {
	fill()
	var wg sync.WaitGroup
	stop := make(chan bool)
	for range 20 {
		wg.Add(1)
		go worker(&wg, stop, 100<<10)
	}
	if len(os.Args) > 1 && os.Args[1] == "spin" {
		wg.Add(1)
		go spin(&wg, 1<<20)
	}
	wg.Wait()
	time.Sleep(50 * time.Millisecond)
	if len(os.Args) < 2 || os.Args[1] != "young" { // or the collector never runs
		runtime.GC()
		runtime.GC()
		runtime.GC()
	}
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	fmt.Println("ready", m.HeapAlloc, m.HeapObjects)
	if len(os.Args) > 1 && os.Args[1] == "churn" {
		go func() {
			for {
				runtime.GC()
			}
		}()
		for range 2 {
			go func() {
				var young *blob
				for i := 0; ; i++ {
					if young = (&blob{next: young, m: map[string]*blob{"a": young}}); i%100 == 0 {
						young = nil
					}
				}
			}()
		}
	}
	runtime.MemProfile(nil, false) // without this, the linker leaves the profiler out
	buf := make([]byte, 1)
	os.Stdin.Read(buf)
	close(stop)
}
