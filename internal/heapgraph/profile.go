package heapgraph

import (
	"cmp"
	"maps"

	"slices"
	"strings"

	"github.com/hone-perf/hone/internal/profile"
)

// The sample types of a profile of a heap.
const (
	Space   = "held_space"
	Objects = "held_objects"
)

// The labels of its samples.
const (
	HolderLabel     = "holder"     // its name; several times, where several hold an object together
	KindLabel       = "kind"       // one of the kinds below
	MadeLabel       = "made"       // the function that allocated the objects, if the memory profiler sampled them
	WaitsLabel      = "waits"      // what goroutines wait for
	GoroutinesLabel = "goroutines" // how many
	StacksLabel     = "stacks"     // bytes of their stacks, which are not held but theirs
	SinceLabel      = "since"      // seconds that one of them has waited at least
)

// A Kind is a kind of holder, as a label has it.
type Kind string

// The kinds of holders.
const (
	KindGlobal    Kind = "global"
	KindGoroutine Kind = "goroutine"
	KindWord      Kind = "word"
	KindFinalizer Kind = "finalizer"
	KindRuntime   Kind = "runtime"
	KindTogether  Kind = "together" // several holders
)

// Together is between the names of holders that hold objects together, and More stands for those that are not named.
const (
	Together = " + "
	More     = "…"
)

// Goroutine is before the function of a goroutine among the names of holders that hold objects together.
const Goroutine = "goroutine "

// Around is how a step to an object begins that several ways lead to from the one above it.
const Around = "… "

func (h *holder) label() Kind {
	switch h.kind {
	case Variable:
		return KindGoroutine
	case Word:
		return KindWord
	case Finalizer:
		return KindFinalizer
	case Runtime:
		return KindRuntime
	}
	return KindGlobal
}

// frame returns the name that a holder has on stacks.
func (h *holder) frame() string {
	switch k := h.label(); {
	case h.name == "":
		return string(k)
	case k == KindWord:
		return "a temporary of " + h.name
	case k == KindFinalizer:
		return string(k) + " " + h.name
	}
	return h.name
}

// A Sum is how much memory there is.
type Sum struct {
	Bytes   uint64 `json:"bytes"`
	Objects uint64 `json:"objects"`
}

// Profile returns who holds the memory of a heap, as a profile. A stack leads from the holder, a variable of a package or the functions of a
// goroutine, over fields and elements to the objects of the sample. The cost of a call with all that it calls is then the memory that would be freed
// if it went away. Garbage is what is allocated besides: no root leads to it.
func Profile(h *Heap) (p *profile.Profile, garbage Sum, err error) {
	if err := h.Check(); err != nil {
		return nil, Sum{}, err
	}
	r := merge(&h.Graph)
	b := profile.NewBuilder(profile.Header{
		SampleTypes: []profile.ValueType{{Type: Objects, Unit: "count"}, {Type: Space, Unit: "bytes"}},
		DefaultType: Space,
		PeriodType:  profile.ValueType{Type: "space", Unit: "bytes"},
		Period:      8,
		TimeNanos:   h.Time.UnixNano(),
	})
	if h.BuildID != "" || h.Command != "" {
		b.Mappings = []profile.Mapping{{File: h.Command, BuildID: h.BuildID, HasFunctions: true}} // which program it is
	}
	w := writer{rows: r, b: b, functions: make(map[[2]string]uint32), locations: make(map[place]uint32), frames: make([]uint32, len(r.list))}
	for i := range r.list {
		w.add(int32(i))
	}
	b.Renumber()
	p, err = b.Profile()
	all := h.Allocated // no less, unless the process was amid a change of its tables
	return p, Sum{all.Bytes - min(all.Bytes, r.reached.bytes), all.Objects - min(all.Objects, r.reached.objects)}, err
}

// A writer writes rows as samples.
type writer struct {
	*rows
	b         *profile.Builder
	functions map[[2]string]uint32
	locations map[place]uint32
	frames    []uint32 // by row
}

type place struct {
	function uint32
	line     int
}

// add adds the samples of a row. Rows above it were added before.
func (w *writer) add(i int32) {
	at := &w.list[i]
	name, file, line := w.nameOf(at)
	w.frames[i] = w.location(name, file, line)
	if at.objects == 0 {
		return
	}
	var stack []uint32
	top := i
	holder := int32(-1)
	for up := i; up >= 0; up = w.list[up].up {
		stack = append(stack, w.frames[up])
		if holder < 0 && w.list[up].holder >= 0 {
			holder = up
		}
		top = up
	}
	if holder < 0 {
		holder = top // a set
	}
	left := own{at.bytes, at.objects}
	for _, site := range slices.Sorted(maps.Keys(at.made)) {
		m := at.made[site]
		left.bytes -= m.bytes
		left.objects -= m.objects
		labels := w.labels(&w.list[holder])
		if made := maker(w.g.Sites[site]); made != "" {
			labels = append(labels, profile.Label{Key: MadeLabel, Str: made})
		}
		w.b.Add(stack, w.b.Labels(labels), []int64{int64(m.objects), int64(m.bytes)})
	}
	if left.objects > 0 {
		w.b.Add(stack, w.b.Labels(w.labels(&w.list[holder])), []int64{int64(left.objects), int64(left.bytes)})
	}
}

// maker returns the function that made an object: the first that is not of the runtime.
func maker(stack []Frame) string {
	for _, f := range stack {
		if !strings.HasPrefix(f.Func, "runtime.") {
			return f.Func
		}
	}
	return ""
}

func (w *writer) nameOf(at *row) (name, file string, line int) {
	switch {
	case at.holder >= 0:
		h := &w.holders[at.holder]
		return h.frame(), h.file, h.line
	case at.set > 0:
		names, more := w.names(at.set - 1)
		if more {
			names = append(names, More)
		}
		return strings.Join(names, Together), "", 0
	}
	typ := cmp.Or(w.g.Types[at.typ], "?")
	if at.step == around {
		return Around + typ, "", 0
	}
	if step := w.steps[at.step]; step != "" {
		return step + " " + typ, "", 0
	}
	return typ, "", 0
}

// names returns the names of the holders in a set.
func (w *writer) names(set uint32) (names []string, more bool) {
	s := &w.sets.list[set]
	for _, n := range s.nodes {
		h := &w.holders[w.nodes[n]-uint32(len(w.g.Words))]
		name := h.frame()
		if h.label() == KindGoroutine {
			name = Goroutine + name
		}
		names = append(names, name)
	}
	slices.Sort(names)
	return slices.Compact(names), s.more
}

// labels returns the labels of samples below a row of a holder or a set.
func (w *writer) labels(at *row) []profile.Label {
	if at.holder < 0 {
		labels := []profile.Label{{Key: KindLabel, Str: string(KindTogether)}}
		names, more := w.names(at.set - 1)
		if more {
			names = append(names, More)
		}
		for _, name := range names {
			labels = append(labels, profile.Label{Key: HolderLabel, Str: name})
		}
		return labels
	}
	h := &w.holders[at.holder]
	labels := []profile.Label{{Key: KindLabel, Str: string(h.label())}, {Key: HolderLabel, Str: h.frame()}}
	if h.waits != "" {
		labels = append(labels, profile.Label{Key: WaitsLabel, Str: h.waits})
	}
	if h.goroutines > 0 {
		labels = append(labels, profile.Label{Key: GoroutinesLabel, Numeric: true, Num: int64(h.goroutines), Unit: "count", HasUnit: true})
	}
	if h.stacks > 0 {
		labels = append(labels, profile.Label{Key: StacksLabel, Numeric: true, Num: int64(h.stacks), Unit: "bytes", HasUnit: true})
	}
	if s := int64(h.since.Seconds()); s > 0 {
		labels = append(labels, profile.Label{Key: SinceLabel, Numeric: true, Num: s, Unit: "seconds", HasUnit: true})
	}
	return labels
}

func (w *writer) location(name, file string, line int) uint32 {
	f, ok := w.functions[[2]string{name, file}]
	if !ok {
		f = uint32(len(w.b.Functions))
		w.functions[[2]string{name, file}] = f
		w.b.Functions = append(w.b.Functions, profile.Function{Name: name, SystemName: name, File: file})
	}
	k := place{f, line}
	at, ok := w.locations[k]
	if !ok {
		at = uint32(len(w.b.Locations))
		w.locations[k] = at
		w.b.Locations = append(w.b.Locations, profile.Location{Mapping: profile.NoMapping, Lines: []profile.Line{{Function: f, Line: int64(line)}}})
	}
	return at
}
