// Package racelog reads the reports of Go's race detector, and those of the runtime about deadlocks and concurrent writes to a map. Read
// finds them among other output, and Group joins reports about the same pair of places.
package racelog

import (
	"slices"
	"strconv"
	"strings"
)

// A Log is what was found.
type Log struct {
	Races   []Race
	Crashes []Crash
	Notes   []string // what was left out
}

// A Race is one report of the race detector.
type Race struct {
	Accesses   []Access    // the one that was noticed comes first, then the previous one
	Global     string      // the variable, when it is a global one
	Declared   Frame       // where, without a function
	Heap       *Allocation // of what the accesses are to, when it is on the heap and that is known
	Size       int64       // of the variable, or of the block on the heap
	Goroutines []Goroutine // that made the accesses, but for the main one
}

// An Access is a read or a write.
type Access struct {
	Write     bool
	Atomic    bool
	Address   uint64
	Goroutine int     // 1 is the main one
	Stack     []Frame // innermost first; none when it could not be restored
}

// Place returns the innermost frame that is neither of the runtime nor of the packages that synchronize. It is false where the detector does not know it.
func (a *Access) Place() (at Frame, ok bool) {
	at = User(a.Stack)
	return at, len(a.Stack) > 0 && !Library(at.Func) && !a.lost()
}

// lost reports whether the function that reads a map is missing, so that the stack goes on where it was called: Go 1.27 lets v := m[k] go through the
// function of v, ok := m[k], which takes that one for the caller.
func (a *Access) lost() bool {
	return len(a.Stack) > 1 && strings.HasPrefix(a.Stack[0].Func, "runtime.mapaccess2") && strings.HasPrefix(a.Stack[1].Func, "runtime.mapaccess1")
}

// An Allocation is where memory comes from.
type Allocation struct {
	Goroutine int
	Stack     []Frame
}

// A Goroutine is where one was started.
type Goroutine struct {
	ID       int
	Finished bool
	Created  []Frame
}

// A Frame is a call on a stack.
type Frame struct {
	Func string `json:"func,omitempty"`
	File string `json:"file"`
	Line int    `json:"line"`
}

// A Crash is how a program ended that could not go on.
type Crash struct {
	Kind       CrashKind
	Text       string // its first line
	Goroutines []Stopped
	Running    []string // tests, when the time was up
}

// A CrashKind is what kind of end it was.
type CrashKind string

// The kinds.
const (
	Deadlock CrashKind = "deadlock"            // all goroutines are asleep
	Map      CrashKind = "concurrent map"      // writes, or iteration and write
	Timeout  CrashKind = "timeout"             // of tests
	Misuse   CrashKind = "misuse of sync"      // such as a negative WaitGroup, or unlock of an unlocked mutex
	Panic    CrashKind = "panic"               //
	Fatal    CrashKind = "other fatal message" // of the runtime
)

// A Stopped is a goroutine in the dump of a crash.
type Stopped struct {
	ID      int
	State   string // sync.Mutex.Lock, chan receive, running…
	Stack   []Frame
	Created *Frame
}

// Waits reports whether the goroutine waits for another one.
func (s *Stopped) Waits() bool {
	state, _, _ := strings.Cut(s.State, ",")
	switch state {
	case "semacquire", "chan receive", "chan send", "select", "select (no cases)", "chan receive (nil chan)", "chan send (nil chan)":
		return true
	}
	return strings.HasPrefix(state, "sync.")
}

// User returns the innermost frame that is neither of the runtime nor of the packages that synchronize, or the innermost one.
func User(stack []Frame) Frame {
	for _, f := range stack {
		if !Library(f.Func) {
			return f
		}
	}
	if len(stack) > 0 {
		return stack[0]
	}
	return Frame{}
}

// Library reports whether a function only does what another one asked for: the runtime's map functions, sync, append.
func Library(fn string) bool {
	for _, p := range []string{"runtime.", "internal/", "sync.", "sync/atomic.", "reflect.", "maps.", "slices."} {
		if strings.HasPrefix(fn, p) {
			return true
		}
	}
	return false
}

// A Pair is reports about the same two places.
type Pair struct {
	Race         // the first of them
	Count    int // of reports
	Sources  []int
	Variants []Race // others, in which what is called otherwise led there; a few
}

// maxVariants is how many other ways to the same pair of places are kept.
const maxVariants = 3

// Key names the pair of places, in either order. Addresses and numbers of goroutines differ from run to run, and whether a place
// that changes a variable was caught reading or writing it is chance. Reads of maps at unknown places are the same.
func (r *Race) Key() string {
	var places []string
	for i := range r.Accesses {
		a := &r.Accesses[i]
		if a.lost() {
			places = append(places, "")
			continue
		}
		at := User(a.Stack)
		places = append(places, at.File+":"+strconv.Itoa(at.Line))
	}
	slices.Sort(places)
	return strings.Join(places, "\n")
}

// A Grouper puts reports together as they come.
type Grouper struct {
	pairs map[string]*Pair
	order []*Pair
}

// Add adds a report of a run. It is new when there was none about the same pair of places.
func (g *Grouper) Add(r Race, run int) (isNew bool) {
	if g.pairs == nil {
		g.pairs = make(map[string]*Pair)
	}
	key := r.Key()
	p, ok := g.pairs[key]
	if !ok {
		p = &Pair{Race: r}
		g.pairs[key] = p
		g.order = append(g.order, p)
	}
	p.Count++
	if n := len(p.Sources); n == 0 || p.Sources[n-1] != run {
		p.Sources = append(p.Sources, run)
	}
	if ok && len(p.Variants) < maxVariants && !slices.ContainsFunc(append(p.Variants, p.Race), func(v Race) bool { return sameStacks(&v, &r) }) {
		p.Variants = append(p.Variants, r)
	}
	return !ok
}

// Pairs returns what was added, in the order in which it came.
func (g *Grouper) Pairs() []*Pair { return g.order }

func sameStacks(a, b *Race) bool {
	return slices.EqualFunc(a.Accesses, b.Accesses, func(x, y Access) bool { return x.Write == y.Write && slices.Equal(x.Stack, y.Stack) })
}
