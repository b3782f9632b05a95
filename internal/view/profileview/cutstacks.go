package profileview

import (
	"iter"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/hone-perf/hone/internal/calls"
	"github.com/hone-perf/hone/internal/hint"
	"github.com/hone-perf/hone/internal/profile"
	"github.com/hone-perf/hone/internal/query"
	"github.com/hone-perf/hone/internal/recording"
	"github.com/hone-perf/hone/internal/unit"
)

// The most frames that the Go runtime keeps of a stack, the innermost. Those of CPU profiles are maxCPUProfStack in runtime/cpuprof.go.
// The others were maxStack in runtime/mprof.go until Go 1.22, and are as many as GODEBUG=profstackdepth says since.
const (
	cpuDepth   = 64
	eventDepth = 128
	oldDepth   = 32
)

// beyond is how many more frames a stack may have that was cut: where the last one kept is of code with inlined calls, the profile has the
// functions around it, too.
const beyond = 16

// A cutting is the stacks that the Go runtime has cut.
type cutting struct {
	depth int     // frames that it keeps; 0 if it has cut none
	share float64 // of the total, of samples with such stacks
	some  bool    // only some of the stacks were looked at
}

// enough is how many stacks are looked at, if there are more: a hundred thousand would take 3 % of the time of an answer
// about two million.
const enough = 20_000

func (c cutting) Size() int64 { return 32 }

// shortened returns a note if stacks were cut that matter.
func shortened(rec *recording.Recording, k int, q query.Query) hint.Text {
	if q.PProf || q.View == "tags" || strings.HasPrefix(q.By, calls.LabelPrefix) {
		return nil
	}
	name := query.Query{View: "cut-stacks", Metric: rec.Profile.SampleTypes[k].Type}
	c, _ := recording.Remember(rec, name.URL(), func() (cutting, error) { return cuttingOf(rec.Profile, k), nil })
	if c.depth == 0 || c.share < minShare {
		return nil
	}
	more := hint.Text{}
	switch c.depth {
	case eventDepth:
		more = hint.Text{"; with GODEBUG=profstackdepth=1024, a program keeps more"}
	case oldDepth:
		more = hint.Text{"; Go 1.23 and later keep ", eventDepth}
	}
	about := ""
	if c.some {
		about = "about "
	}
	return append(hint.Text{about, unit.Share(c.share), " of ", rec.Profile.SampleTypes[k].Type, " is in stacks that were cut: Go keeps the innermost ", c.depth,
		" frames. Their outer callers are missing: the cum of these is too low, and functions in the middle of a stack look like roots"}, more...)
}

// cuttingOf finds the stacks that were cut when a profile was recorded. The file does not say which they are. A stack that has as many frames
// as the runtime keeps may be complete by chance; it is if other, shorter stacks begin with the same function.
func cuttingOf(p *profile.Profile, k int) cutting {
	limits := depthsOf(p, k)
	if len(limits) == 0 {
		return cutting{}
	}
	least := slices.Min(limits)
	size, most := make([]int, len(p.Locations)), 1
	for i := range p.Locations {
		size[i] = max(1, len(p.Locations[i].Lines))
		most = max(most, size[i])
	}
	values := p.Values(k)
	deep := make(map[int]int) // frames of samples that may have been cut
	byDepth := make([]int64, eventDepth+beyond+1)
	total := int64(0)
	for i := range someOf(len(values)) {
		v := unit.Abs(values[i])
		total += v
		stack := p.StackAt(i)
		if v == 0 || stack.Len()*most < least-oldTail {
			continue
		}
		n := 0
		for at := range stack.Len() {
			n += size[stack.At(at)]
		}
		byDepth[min(n, len(byDepth)-1)] += v
		if n >= least {
			deep[i] = n
		}
	}
	limit := 0
	for _, l := range limits {
		if reaches(byDepth, l) {
			limit = l
		}
	}
	if limit == 0 {
		return cutting{}
	}
	begins := make(map[uint32]bool) // functions with which complete stacks begin
	for i := range someOf(len(values)) {
		if n, ok := deep[i]; values[i] != 0 && (!ok || n < limit) {
			if f, ok := startOf(p, i); ok {
				begins[f] = true
			}
		}
	}
	sum := int64(0)
	for i, n := range deep {
		if f, ok := startOf(p, i); n > limit || n == limit && ok && !begins[f] {
			sum += unit.Abs(values[i])
		}
	}
	if sum == 0 {
		return cutting{}
	}
	return cutting{limit, float64(sum) / float64(total), len(values) > enough}
}

// someOf yields the numbers below n, or enough of them. They have no fixed distance, since stacks may come in turns.
func someOf(n int) iter.Seq[int] {
	return func(yield func(int) bool) {
		random := rand.New(rand.NewPCG(1, 2)) // the same each time
		step := 1 + (n-1)/enough
		for i := 0; i < n; i += step {
			at := i
			if step > 1 {
				at = min(i+random.IntN(step), n-1)
			}
			if !yield(at) {
				return
			}
		}
	}
}

// oldTail is how many depths below that of old versions of Go are looked at, to tell a profile of theirs from one whose stacks happen to end
// there.
const oldTail = 3

// reaches reports whether the deepest stacks have as many frames as a runtime keeps that keeps so many.
func reaches(byDepth []int64, limit int) bool {
	at, above, below := int64(0), int64(0), int64(0)
	for n, v := range byDepth {
		switch {
		case n >= limit+beyond:
			above += v
		case n >= limit:
			at += v
		case n >= limit-oldTail:
			below += v
		}
	}
	return at > 0 && above == 0 && (limit != oldDepth || at > below)
}

// depthsOf returns how many frames the Go runtime may have kept in a profile of its own.
func depthsOf(p *profile.Profile, k int) []int {
	has := func(name string) bool {
		return slices.ContainsFunc(p.SampleTypes, func(t profile.ValueType) bool { return t.Type == name })
	}
	switch p.SampleTypes[k].Type {
	case "cpu", "samples":
		if len(p.SampleTypes) == 2 && has("cpu") && has("samples") {
			return []int{cpuDepth}
		}
	case "alloc_objects", "alloc_space", "inuse_objects", "inuse_space":
		return []int{oldDepth, eventDepth}
	case "contentions", "delay":
		if has("contentions") && has("delay") {
			return []int{oldDepth, eventDepth}
		}
	}
	return nil
}

// startOf returns the function with which the stack of a sample begins, or false if it is not known.
func startOf(p *profile.Profile, i int) (function uint32, ok bool) {
	stack := p.StackAt(i)
	if stack.Len() == 0 {
		return 0, false
	}
	lines := p.Locations[stack.At(stack.Len()-1)].Lines
	if len(lines) == 0 {
		return 0, false
	}
	return lines[len(lines)-1].Function, true
}
