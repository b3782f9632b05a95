// Package escape reads the diagnostics of the Go compiler: which values escape to the heap and why, which calls it inlines and
// which are too large for that, and where it checks bounds and pointers.
//
// The compiler writes them in two forms. ReadDir reads its optimization log, -gcflags=-json=0,DIR, which has all but the calls
// that were inlined. ReadText reads the output of -gcflags=-m or -m=2, which has those, too. Both return a Log of remarks by
// place, and Merge joins two logs. Remark.Story says in a few sentences why a value is on the heap.
package escape

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"github.com/hone-perf/hone/internal/filename"
	"github.com/hone-perf/hone/internal/order"
)

// A Kind is what a remark is about.
type Kind string

// The kinds.
const (
	Heap       Kind = "heap"        // a value is allocated on the heap
	Moved      Kind = "moved"       // a variable is: something holds on to its address
	Stack      Kind = "stack"       // a value does not escape; only in text
	Leak       Kind = "leak"        // a parameter, or what it points to, gets out of the function
	Inlinable  Kind = "inlinable"   // a function can be inlined
	TooBig     Kind = "not inlined" // a function cannot be inlined, for Reason
	Inlined    Kind = "inlined"     // a call was; only in text
	CallKept   Kind = "call"        // a call was not inlined, for Reason
	Bounds     Kind = "bounds"      // an index is checked
	SliceBound Kind = "slice"       // the bounds of a slice expression are checked
	NilCheck   Kind = "nil"         // a pointer is checked
	Copied     Kind = "copy"        // a value is copied, of some size
	Other      Kind = "other"
)

// A Place is where something is.
type Place struct {
	File   string `json:"file"`
	Line   int    `json:"line"`
	Column int    `json:"column,omitempty"`
}

// A Remark is something that the compiler says about a place.
type Remark struct {
	Kind Kind `json:"kind"`
	Place
	// Through are the places in the bodies of what was inlined at Place, outermost first: the last is where the code was
	// written that the remark is about. None means that it was written at Place.
	Through []Place `json:"through,omitempty"`

	What   string `json:"what,omitempty"`   // the value, variable, parameter or function, as the compiler writes it
	Makes  Makes  `json:"makes,omitempty"`  // what it allocates, of a value that goes to the heap
	Reason string `json:"reason,omitempty"` // of what was not inlined; what leaks where
	Cost   int    `json:"cost,omitempty"`   // of inlining a function, where the compiler says it
	Budget int    `json:"budget,omitempty"` // that the cost is above
	Flow   []Flow `json:"flow,omitempty"`   // of a value that goes to the heap, or of a parameter that leaks
}

// A Flow is a step of a value on its way: from one location to the next.
type Flow struct {
	To     string `json:"to"`               // {heap}, a variable, a result, or {storage for …}
	From   string `json:"from"`             // the same, without what stands before it
	Derefs int    `json:"derefs,omitempty"` // -1 is its address, 1 is what it points to
	How    []Note `json:"how,omitempty"`    // the expressions that made it, innermost first
}

// A Note is an expression that a value passed.
type Note struct {
	Expr string `json:"expr"`
	Why  string `json:"why"` // in the compiler's words: call parameter, assign, return…
	Place
	Through []Place `json:"through,omitempty"`
}

// Written returns where the code was written that the remark is about.
func (r *Remark) Written() Place {
	if n := len(r.Through); n > 0 {
		return r.Through[n-1]
	}
	return r.Place
}

// OnHeap reports whether the remark is about an allocation. The compiler says of every value that an interface holds that it goes to the heap,
// also where the interface points to memory that the program has anyway.
func (r *Remark) OnHeap() bool {
	return r.Kind == Moved || r.Kind == Heap && r.Makes != Nothing && !r.isLiteral()
}

// isLiteral reports whether the remark is about a string, a number or a bool that is written in the code: it is in memory that is read only.
func (r *Remark) isLiteral() bool {
	if r.What == "true" || r.What == "false" {
		return true
	}
	if _, err := strconv.Unquote(r.What); err == nil {
		return true
	}
	_, err := strconv.ParseFloat(r.What, 64)
	return err == nil && r.What[0] >= '0' && r.What[0] <= '9'
}

// Panics reports whether the value is only made to panic with it, which happens once at most.
func (r *Remark) Panics() bool {
	if len(r.Flow) == 0 {
		return false
	}
	how := r.Flow[len(r.Flow)-1].How
	return len(how) > 0 && strings.HasPrefix(how[len(how)-1].Expr, "panic(")
}

// A Log is remarks, sorted by place.
type Log struct {
	Go      string   `json:"go,omitempty"` // version of the compiler
	OS      string   `json:"os,omitempty"`
	Arch    string   `json:"arch,omitempty"`
	Remarks []Remark `json:"remarks"`
	Notes   []string `json:"notes,omitempty"` // what was left out
}

// sort puts the remarks in order and takes out those that are there twice.
func (l *Log) sort() {
	order.Stable(l.Remarks, compare)
	l.Remarks = slices.CompactFunc(l.Remarks, func(a, b Remark) bool {
		return compare(a, b) == 0 && a.Reason == b.Reason && a.intoInterface() == b.intoInterface()
	})
	l.pairBoxes()
}

func compare(a, b Remark) int {
	return cmp.Or(comparePlaces(a.Place, b.Place), slices.CompareFunc(a.Through, b.Through, comparePlaces),
		cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.What, b.What),
		-cmp.Compare(len(a.Flow), len(b.Flow))) // the one that says more comes first
}

func comparePlaces(a, b Place) int {
	return cmp.Or(cmp.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
}

// Merge returns the remarks of both. What only a text can say is taken from the text: calls that were inlined, and values
// that do not escape; of the rest the log says more.
func Merge(log, text *Log) *Log {
	out := *log
	out.Remarks = slices.Clone(log.Remarks)
	for _, r := range text.Remarks {
		if r.Kind == Inlined || r.Kind == Stack {
			out.Remarks = append(out.Remarks, r)
		}
	}
	out.Notes = slices.Concat(log.Notes, text.Notes)
	out.sort()
	return &out
}

// At returns the remarks on a line: about what was written there, and about what was inlined there. A file is named by its
// path, or by the end of it.
func (l *Log) At(file string, line int) []Remark {
	return l.Select(func(r *Remark) bool { return r.Line == line && SameFile(r.File, file) })
}

// Compiled reports whether the compiler made code of the function that begins on a line. It makes none of a generic function that nothing calls
// with types, and says nothing of what is in it.
func (l *Log) Compiled(file string, line int) bool {
	return slices.ContainsFunc(l.At(file, line), func(r Remark) bool { return r.Kind == Inlinable || r.Kind == TooBig })
}

// InlinedFrom returns the remarks about what was written on a line, at the places where it was inlined.
func (l *Log) InlinedFrom(file string, line int) []Remark {
	return l.Select(func(r *Remark) bool {
		w := r.Written()
		return len(r.Through) > 0 && w.Line == line && SameFile(w.File, file)
	})
}

// Select returns the remarks for which keep is true.
func (l *Log) Select(keep func(*Remark) bool) []Remark {
	var out []Remark
	for i := range l.Remarks {
		if keep(&l.Remarks[i]) {
			out = append(out, l.Remarks[i])
		}
	}
	return out
}

// SameFile reports whether two names may be of one file: one is the end of the other, in whole elements.
func SameFile(a, b string) bool {
	a, b = filename.Key(a), filename.Key(b)
	if len(a) < len(b) {
		a, b = b, a
	}
	return b != "" && (a == b || strings.HasSuffix(a, "/"+b))
}
