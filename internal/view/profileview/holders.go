package profileview

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/hone-perf/hone/internal/heapgraph"
	"github.com/hone-perf/hone/internal/order"
	"github.com/hone-perf/hone/internal/profile"
	"github.com/hone-perf/hone/internal/query"
	"github.com/hone-perf/hone/internal/recording"
	"github.com/hone-perf/hone/internal/report"
	"github.com/hone-perf/hone/internal/unit"
)

const (
	holderRows   = 20    // shown unless told otherwise
	holderShare  = 0.001 // of all memory, likewise
	holderMakers = 3
)

// Held reports whether a sample type counts what somebody holds. Its functions are variables, fields and elements: they hold memory, and cost none.
func Held(typ string) bool { return typ == heapgraph.Space || typ == heapgraph.Objects }

// Holders ranks who keeps memory alive.
func Holders(in []*recording.Recording, q query.Query) (report.Report, error) {
	a, s, err := askSides(in, q)
	if err != nil {
		return nil, err
	}
	if !Held(a.head.Metric) {
		return nil, fmt.Errorf("the profile counts %s, not who holds memory", a.head.Metric)
	}
	out := &report.Holders{Head: a.head, Rows: []report.Holder{}}
	h := holding{p: a.Profile, value: a.Profile.Values(a.Type), rows: make(map[heldKey]*held)}
	if s != nil {
		out.Before = &s.headBefore
		h.before = a.Profile.Values(s.before)
	} else if k, err := a.Profile.SampleIndex(heapgraph.Objects); err == nil {
		h.objects = a.Profile.Values(k)
		for _, n := range h.objects {
			out.Objects += n
		}
	}
	for i := range a.Profile.NumSamples() {
		h.add(i)
	}
	if read := in[0].HeapRead(); read != nil {
		out.Garbage, out.Go, out.Pause, out.Unread = &read.Garbage, read.Go, read.Pause, read.Notes
	}
	limits := (&question{query: q}).trim(holderRows, holderShare, 0)
	least := int64(float64(out.Total) * limits.Min)
	if s != nil {
		least = below(&out.Head, out.Before, q, limits.Min)
	}
	h.gather()
	for _, r := range h.list(s) {
		switch grown := grown(&r); {
		case unit.Abs(grown) < least || grown == 0:
			out.Dropped++
			out.Below = least
		case limits.Nodes > 0 && out.Shown == limits.Nodes:
			out.Of++
		default:
			out.Of++
			out.Shown++
			out.Accounted += r.Value
			out.Rows = append(out.Rows, r)
		}
	}
	return out, nil
}

// holding adds up samples by holder.
type holding struct {
	p                      *profile.Profile
	value, before, objects []int64 // the last two may be nil
	rows                   map[heldKey]*held
	stack                  []uint32
	names                  []uint32
	file                   string // where the holder of the last sample is declared
	line                   int64
}

// A heldKey tells rows apart. What several hold is told apart by the object that they share, and by its field.
type heldKey struct {
	holder string // with its kind
	object string
	field  string
}

// held is what one holder holds.
type held struct {
	report.Holder
	before int64
	below  *heldStep
	made   map[string]int64
}

// A heldStep is a step from what holds it. Steps are told apart by their functions.
type heldStep struct {
	function           uint32
	up                 *heldStep
	below              map[uint32]*heldStep
	flat, cum, objects int64
}

func (h *holding) add(i int) {
	v, before := h.value[i], int64(0)
	if h.before != nil {
		before = h.before[i]
	}
	if v == 0 && before == 0 {
		return
	}
	labels := h.p.LabelSets()[h.p.Label(i)]
	kind := heapgraph.Kind(text(labels, heapgraph.KindLabel))
	var names []string
	for _, l := range labels {
		if l.Key == heapgraph.HolderLabel && !l.Numeric {
			names = append(names, l.Str)
		}
	}
	whole := strings.Join(names, heapgraph.Together)
	key := heldKey{holder: string(kind) + " " + whole}
	steps := h.steps(i, whole)
	if kind == heapgraph.KindTogether && manyHold(names) && len(steps) > 0 {
		key.object = h.p.Functions[steps[0]].Name
		if len(steps) > 1 {
			if field, _, ok := strings.Cut(h.p.Functions[steps[1]].Name, " "); ok && strings.HasPrefix(field, ".") {
				key.field = strings.TrimSuffix(field, "[]")
			}
		}
	}
	r := h.row(key)
	if r.Names == nil {
		r.Kind = kind
		r.Names = slices.DeleteFunc(names, func(name string) bool { return name == heapgraph.More })
		r.More = len(r.Names) < len(names)
	}
	if r.Line == 0 {
		r.File, r.Line = h.file, h.line
	}
	r.Value += v
	r.before += before
	if v != 0 {
		r.Waits = cmp.Or(r.Waits, text(labels, heapgraph.WaitsLabel))
		for _, l := range labels {
			switch {
			case !l.Numeric:
			case l.Key == heapgraph.GoroutinesLabel:
				r.Goroutines = max(r.Goroutines, l.Num)
			case l.Key == heapgraph.StacksLabel:
				r.Stacks = max(r.Stacks, l.Num)
			case l.Key == heapgraph.SinceLabel:
				r.Since = max(r.Since, time.Duration(l.Num)*time.Second)
			}
		}
		if made := text(labels, heapgraph.MadeLabel); made != "" {
			r.made[made] += v
		}
	}
	objects := int64(0)
	if h.objects != nil {
		objects = h.objects[i]
		r.Objects += objects
	}
	r.walk(steps, v-before, objects)
}

func (h *holding) row(key heldKey) *held {
	r, ok := h.rows[key]
	if !ok {
		r = &held{below: &heldStep{}, made: make(map[string]int64)}
		h.rows[key] = r
	}
	return r
}

// manyHold reports whether holders are too many to let go of something one by one, or some are goroutines, which cannot be told to. Then the object is of
// more use that they share, such as the server that all handlers refer to.
func manyHold(names []string) bool {
	return len(names) > 3 || slices.ContainsFunc(names, func(name string) bool { return strings.HasPrefix(name, heapgraph.Goroutine) })
}

// sharedPart is the part of what several hold that an object or a field has at least, to be a row.
const sharedPart = 0.1

// gather puts rows of small objects and fields together with what they are part of. An object with a single large field is one row, too.
func (h *holding) gather() {
	weight := func(r *held) float64 { return float64(max(r.Value, r.before)) }
	sums, large := make(map[heldKey]float64), make(map[heldKey]int)
	for k, r := range h.rows {
		if k.object != "" {
			sums[heldKey{holder: k.holder}] += weight(r)
			sums[heldKey{holder: k.holder, object: k.object}] += weight(r)
		}
	}
	for k, r := range h.rows {
		object := heldKey{holder: k.holder, object: k.object}
		if k.field != "" && weight(r) >= sharedPart*sums[object] {
			large[object]++
		}
	}
	byName := func(a, b heldKey) int {
		return cmp.Or(cmp.Compare(a.holder, b.holder), cmp.Compare(a.object, b.object), cmp.Compare(a.field, b.field))
	}
	for _, k := range slices.SortedFunc(maps.Keys(h.rows), byName) {
		if k.object == "" {
			continue
		}
		r := h.rows[k]
		whole, object := heldKey{holder: k.holder}, heldKey{holder: k.holder, object: k.object}
		to := k
		switch {
		case sums[object] < sharedPart*sums[whole]:
			to = whole
		case k.field != "" && (weight(r) < sharedPart*sums[object] || large[object] < 2):
			to = object
		}
		if to != k {
			delete(h.rows, k)
			h.row(to).join(r)
			r = h.rows[to]
		}
		r.Object = to.object + to.field
	}
}

// join adds what another row has.
func (r *held) join(from *held) {
	made := r.made
	for f, v := range from.made {
		made[f] += v
	}
	below, sum := r.below, r.Holder
	r.Holder = from.Holder
	r.Value += sum.Value
	r.Objects += sum.Objects
	r.before += from.before
	r.Waits, r.Goroutines, r.Since = cmp.Or(sum.Waits, r.Waits), max(sum.Goroutines, r.Goroutines), max(sum.Since, r.Since)
	below.join(from.below)
}

func (s *heldStep) join(from *heldStep) {
	s.flat += from.flat
	s.cum += from.cum
	s.objects += from.objects
	for f, next := range from.below {
		s.next(f).join(next)
	}
}

// next returns the step below with a function.
func (s *heldStep) next(function uint32) *heldStep {
	next, ok := s.below[function]
	if !ok {
		if s.below == nil {
			s.below = make(map[uint32]*heldStep)
		}
		next = &heldStep{function: function, up: s}
		s.below[function] = next
	}
	return next
}

// steps returns the functions that stand for the steps from a holder to the objects of a sample, and notes where the stack has that the holder is declared.
func (h *holding) steps(i int, holder string) []uint32 {
	h.file, h.line = "", 0
	h.stack = h.p.Stack(i, h.stack[:0])
	h.names = h.names[:0]
	for _, l := range slices.Backward(h.stack) {
		for _, line := range slices.Backward(h.p.Locations[l].Lines) {
			f := &h.p.Functions[line.Function]
			if f.Name == holder {
				h.names = h.names[:0]
				if h.line == 0 {
					h.file, h.line = f.File, line.Line
				}
				continue
			}
			h.names = append(h.names, line.Function)
		}
	}
	return h.names
}

// walk adds a sample to the tree of steps. In a comparison, the way leads to what grew.
func (r *held) walk(steps []uint32, v, objects int64) {
	at := r.below
	at.cum += v
	for _, f := range steps {
		at = at.next(f)
		at.cum += v
	}
	at.flat += v
	at.objects += objects
}

// most returns the step below one with the largest flat.
func (s *heldStep) most(less func(a, b *heldStep) bool) *heldStep {
	best := s
	todo := []*heldStep{s}
	for len(todo) > 0 {
		at := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		if less(best, at) {
			best = at
		}
		for _, f := range slices.Sorted(maps.Keys(at.below)) { // where two are alike, each run chooses the same
			todo = append(todo, at.below[f])
		}
	}
	return best
}

// grown returns how much more a holder holds than before, or how much it holds if that is not compared.
func grown(r *report.Holder) int64 {
	if r.Before == nil {
		return r.Value
	}
	return unit.Difference(*r.Before, r.Value)
}

// list returns the rows, those that hold most first or, in a comparison, those that grew most.
func (h *holding) list(s *sides) []report.Holder {
	var out []report.Holder
	less := func(a, b *heldStep) bool {
		if a.flat != b.flat {
			return a.flat < b.flat
		}
		return a.up != nil && b.up != nil && h.p.Functions[a.function].Name < h.p.Functions[b.function].Name
	}
	for _, r := range h.rows {
		for at := r.below.most(less); at.up != nil; at = at.up {
			r.Way = append(r.Way, report.HolderStep{Name: h.p.Functions[at.function].Name, Flat: at.flat, Cum: at.cum, Objects: at.objects})
		}
		slices.Reverse(r.Way)
		if r.Object != "" && len(r.Way) > 1 {
			r.Way = r.Way[1:] // the object is in its name
		}
		for _, f := range slices.Sorted(maps.Keys(r.made)) {
			r.Made = append(r.Made, report.HolderMaker{Function: f, Value: r.made[f]})
		}
		order.Stable(r.Made, func(a, b report.HolderMaker) int { return cmp.Compare(b.Value, a.Value) })
		r.Made = r.Made[:min(len(r.Made), holderMakers)]
		if s != nil {
			before := s.scaled(r.before)
			r.Before = &before
		}
		if r.Way == nil {
			r.Way = []report.HolderStep{}
		}
		out = append(out, r.Holder)
	}
	order.Stable(out, func(a, b report.Holder) int {
		return cmp.Or(cmp.Compare(grown(&b), grown(&a)), cmp.Compare(a.Kind, b.Kind), slices.Compare(a.Names, b.Names), cmp.Compare(a.Object, b.Object))
	})
	return out
}
