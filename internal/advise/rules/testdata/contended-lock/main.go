package main

import (
	"fmt"
	"os"
	"strconv"
	"sync"
	"time"
	"unsafe"
)

type tally struct {
	mu    sync.Mutex
	count map[string]int
}

func (t *tally) Add(word int) {
	t.mu.Lock() // cost: [delay] sync.(*Mutex).Lock; want
	defer t.mu.Unlock()
	t.count["word "+strconv.Itoa(word)]++
}

type setting struct {
	mu    sync.RWMutex
	value int
}

func (s *setting) Get() int {
	s.mu.RLock() // cost: [delay] sync.(*RWMutex).RLock; want
	defer s.mu.RUnlock()
	return s.value
}

func (s *setting) Set(v int) {
	s.mu.Lock() // cost: [delay] sync.(*RWMutex).Lock
	s.value = v
	s.mu.Unlock()
}

type counter struct {
	mu sync.Mutex
	n  int
}

func (c *counter) Inc() {
	c.mu.Lock() // cost: [delay] sync.(*Mutex).Lock; want
	c.n++
	c.mu.Unlock()
}

// A gauge has its word used in all ways that an atomic has a method for.
type gauge struct {
	name string
	mu   sync.RWMutex // guards n
	n    int
}

func (g *gauge) add(n int) {
	g.mu.Lock() // cost: [delay] sync.(*RWMutex).Lock; want
	g.n += n
	g.mu.Unlock()
}

func (g *gauge) set(n int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.n = n
}

func (g *gauge) get() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.n
}

func (g *gauge) text() string {
	g.mu.Lock()
	n := g.n
	g.mu.Unlock()
	return g.name + strconv.Itoa(n)
}

type twice struct {
	mu sync.Mutex
	n  int
}

func (t *twice) inc() {
	t.mu.Lock() // cost: [delay] sync.(*Mutex).Lock; want
	t.n++
	t.mu.Unlock()
}

func (t *twice) double() {
	t.mu.Lock()
	t.n = 2 * t.n
	t.mu.Unlock()
}

// A journal waits with its mutex locked, which is what others wait for, and not what is computed besides.
type journal struct {
	mu    sync.Mutex
	lines map[int]string
}

func (j *journal) slow(i int) {
	j.mu.Lock() // cost: [delay] sync.(*Mutex).Lock; want
	defer j.mu.Unlock()
	j.lines[i] = fmt.Sprintf("v%d", i)
	time.Sleep(time.Microsecond)
}

func (j *journal) quick(i int) string {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.lines[i]
}

// A queue waits in functions that it calls, and for channels; not where it has unlocked the mutex, or in other goroutines.
type queue struct {
	mu    sync.Mutex
	tasks chan int
	path  string
	n     int
}

func (q *queue) next() int {
	q.mu.Lock() // cost: [delay] sync.(*Mutex).Lock; want
	defer q.mu.Unlock()
	q.load()
	go func() { time.Sleep(time.Microsecond) }()
	select {
	case q.tasks <- 1:
	default:
	}
	return <-q.tasks // cost: [delay*3] runtime.chanrecv1
}

func (q *queue) load() {
	text, err := os.ReadFile(q.path)
	if err == nil {
		q.n = len(text)
	}
}

func (q *queue) idle() {
	q.mu.Lock()
	if q.n > 0 {
		q.mu.Unlock()
		time.Sleep(time.Microsecond)
		return
	}
	q.n++
	q.mu.Unlock()
}

// A gate is waited for by those that hold it for a moment only: who holds it is another.
type gate struct {
	mu   sync.Mutex
	open chan bool
	n    int
}

func (g *gate) pass() int {
	g.mu.Lock() // cost: [delay*3] sync.(*Mutex).Lock; want
	defer g.mu.Unlock()
	return g.n
}

func (g *gate) hold() {
	g.mu.Lock() // cost: [delay] sync.(*Mutex).Lock
	defer g.mu.Unlock()
	for range g.open {
		g.n++
	}
}

// An entry is made while the mutex is held.
type pages struct {
	mu   sync.Mutex
	made map[string]string
}

func (p *pages) page(key string, render func() string) string {
	p.mu.Lock() // cost: [delay] sync.(*Mutex).Lock; want
	defer p.mu.Unlock()
	if text, ok := p.made[key]; ok { // cost: [cpu] runtime.mapaccess2_faststr
		return text
	}
	text := render() // cost: [cpu*9] main.render
	p.made[key] = text
	return text
}

// measured is looked at by a test, which no patch can change.
type measured struct {
	lockOfMeasured sync.Mutex
	measuredTotal  int64
}

func (m *measured) add() {
	m.lockOfMeasured.Lock() // cost: [delay] sync.(*Mutex).Lock; want
	m.measuredTotal++
	m.lockOfMeasured.Unlock()
}

func main() {
	new(measured).add()
	whole()
	x := &index{pages: map[string]int{"p:b": 1}}
	fmt.Println(x.find([]byte("b")), x.count(7, 10), x.count(7, 99), x.pages["calls"])
	cached := &pages{made: map[string]string{}}
	fmt.Println(cached.page("a", func() string { return "A" }), cached.page("a", nil))
	j := &journal{lines: map[int]string{}}
	j.slow(1)
	w := &queue{tasks: make(chan int, 1)}
	w.idle()
	opened := &gate{open: make(chan bool)}
	close(opened.open)
	opened.hold()
	fmt.Println(j.quick(1), w.next(), opened.pass())
	g := &gauge{name: "g"}
	g.set(3)
	g.add(4)
	var d twice
	d.inc()
	d.double()
	fmt.Println(g.get(), g.text(), d.n)
	t := tally{count: map[string]int{}}
	t.Add(1)
	var s setting
	s.Set(s.Get() + 1)
	var c counter
	c.Inc()
	fmt.Println(t.count, s.value, c.n)
}

// A cache locks in two places of one function.
type cache struct {
	mu    sync.RWMutex
	known map[string][]byte
}

func (c *cache) get(name string) []byte {
	c.mu.RLock() // cost: [delay] sync.(*RWMutex).RLock; want
	b, ok := c.known[name]
	c.mu.RUnlock()
	if !ok {
		b = append(append(b, name...), name...)
		c.mu.Lock() // cost: [delay] sync.(*RWMutex).Lock
		if len(c.known) > 1000 {
			clear(c.known)
		}
		c.known[name] = b
		c.mu.Unlock()
	}
	return b
}

// An index is asked for bytes, which others may change until they have the mutex.
type index struct {
	mu    sync.Mutex
	pages map[string]int
}

func (x *index) find(b []byte) int {
	x.mu.Lock() // cost: [delay*9] sync.(*Mutex).Lock; want
	defer x.mu.Unlock()
	return x.pages["p:"+string(b)]
}

// There are bases for which it panics.
func (x *index) count(n int64, base int) (pages int) {
	defer func() { recover() }()
	x.mu.Lock() // cost: [delay] sync.(*Mutex).Lock
	defer x.mu.Unlock()
	x.pages["calls"]++
	return x.pages["n:"+strconv.FormatInt(n, base)]
}

// Who shows, compares, copies or measures all of a struct sees the type of its field.
type printed struct {
	mu sync.Mutex
	n  int
}

func (x *printed) inc() {
	x.mu.Lock() // cost: [delay] sync.(*Mutex).Lock; want
	x.n++
	x.mu.Unlock()
}

func (x *printed) text() string { return fmt.Sprintf("%+v", x) }

type listed struct {
	mu sync.Mutex
	n  int
}

func (x *listed) inc() {
	x.mu.Lock() // cost: [delay] sync.(*Mutex).Lock; want
	x.n++
	x.mu.Unlock()
}

type lists struct {
	all map[string][]*listed
}

func (l lists) text() string { return fmt.Sprint(l) }

type stored struct {
	mu sync.Mutex
	n  int
}

func (x *stored) inc() {
	x.mu.Lock() // cost: [delay] sync.(*Mutex).Lock; want
	x.n++
	x.mu.Unlock()
}

type store interface {
	inc()
	path() string
}

func (x *stored) path() string { return "" }

func newStore() store { return &stored{} }

type equal struct {
	mu sync.Mutex
	n  int
}

func (x *equal) inc() {
	x.mu.Lock() // cost: [delay] sync.(*Mutex).Lock; want
	x.n++
	x.mu.Unlock()
}

func (x *equal) is(y *equal) bool { return *x == *y }

type taken struct {
	mu sync.Mutex
	n  int
}

func (x *taken) inc() {
	x.mu.Lock() // cost: [delay] sync.(*Mutex).Lock; want
	x.n++
	x.mu.Unlock()
}

func (x *taken) out() taken { return *x }

type sizedUp struct {
	mu sync.Mutex
	n  int
}

func (x *sizedUp) inc() {
	x.mu.Lock() // cost: [delay] sync.(*Mutex).Lock; want
	x.n++
	x.mu.Unlock()
}

const sizeOfSizedUp = unsafe.Sizeof(sizedUp{})

type lentOut struct {
	mu sync.Mutex
	n  int
}

func (x *lentOut) inc() {
	x.mu.Lock() // cost: [delay] sync.(*Mutex).Lock; want
	x.n++
	x.mu.Unlock()
}

func shownAs[T any](x T) string { return fmt.Sprintf("%+v", x) }

type hidden struct {
	mu sync.Mutex
	n  int
}

func (x *hidden) inc() {
	x.mu.Lock() // cost: [delay] sync.(*Mutex).Lock; want
	x.n++
	x.mu.Unlock()
}

// It is only handed on as what it is, and as one of its methods.
func incremented(x interface{ inc() }, list []*hidden) int {
	x.inc()
	list = append(list, list[0])
	return list[1].get()
}

func (x *hidden) get() int {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.n
}

func whole() {
	var pr printed
	pr.inc()
	fmt.Println(pr.text() != "")
	ls := new(listed)
	ls.inc()
	fmt.Println(lists{map[string][]*listed{}}.text())
	st := newStore()
	st.inc()
	fmt.Printf("%+v\n", st)
	eq := new(equal)
	eq.inc()
	fmt.Println(eq.is(new(equal)))
	tk := new(taken)
	tk.inc()
	tk2 := tk.out()
	fmt.Println(tk2.n)
	su := new(sizedUp)
	su.inc()
	fmt.Println(sizeOfSizedUp > 0)
	lo := new(lentOut)
	lo.inc()
	fmt.Println(shownAs(lo) != "")
	hi := new(hidden)
	hi.inc()
	fmt.Println(incremented(hi, []*hidden{hi}))
}
