// Package noticetest simulates a service whose truth is known: what each function costs, how much work there is, and what changes when.
//
// A Fleet is a store.Store that answers what a notice.Noticer asks, from profiles that are drawn as a profiler with 100 Hz does. Time is
// simulated, and the same seed makes the same fleet.
package noticetest

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"time"

	"github.com/hone-perf/hone/internal/profile"
	"github.com/hone-perf/hone/internal/store"
)

// Step is how far Advance goes: five profiles of each instance, of ten seconds each.
const Step = 5 * time.Minute

const (
	perStep  = 5
	seconds  = 10
	hertz    = 100
	kept     = 64 // steps
	slowStep = 2  // of an instance, in a rollout: instances a step
)

// Tenant and Service are whose profiles there are.
const (
	Tenant  = "default"
	Service = "shop"
)

// A Fleet is a simulated service.
type Fleet struct {
	store.Store // nil: what the Noticer does not ask

	Now       time.Time
	Instances int
	Cores     float64 // that an instance uses on average
	Canary    int     // so many instances get a new version; 0 is all
	Requests  bool    // handlers count their requests
	Quiet     bool    // nothing of what follows happens: noisy neighbors, shifts of the mix

	// What happened, for those who count.
	Shifts  []time.Time // of traffic and its mix, beginnings and ends
	Deploys []time.Time

	rng    *rand.Rand
	chance *rand.Rand // of what requests cost, of its own so that counting changes nothing else
	costs  []float64  // per request, by root: how far from usual
	tables profile.Tables
	stacks []stack
	roots  []root

	change   *change
	version  int
	versions []int // by instance
	next     int   // instances that have the version
	slow     []slow
	shift    []shift
	payload  []float64
	rates    []float64 // of the last step
	load     float64
	steps    []*drawn
	total    float64 // of the weights at the base
}

// A stack is what is drawn.
type stack struct {
	places  []uint32 // leaf first
	frames  []uint32 // functions, root first
	root    int
	weight  float64
	payload float64 // how much it follows the size of requests
	bound   float64 // how much it suffers from noisy neighbors
}

// A root is a handler, or work in the background.
type root struct {
	name     string
	weight   float64
	follows  float64 // how much it follows traffic
	phase    float64 // of its day
	wandered float64
	wanders  float64
}

type slow struct {
	instance int
	from, to time.Time
	factor   float64
}

type shift struct {
	root     int // all when -1
	from, to time.Time
	factor   float64
}

type drawn struct {
	at       time.Time
	counts   [][]uint32 // by instance and stack
	served   []int64    // requests by root, in all of the step
	versions []int
}

// New returns a fleet that begins at a time.
func New(seed uint64, at time.Time) *Fleet {
	f := &Fleet{Now: at, Instances: 10, rng: rand.New(rand.NewPCG(seed, 29)), chance: rand.New(rand.NewPCG(seed, 31))}
	f.Cores = 0.15 + 0.5*f.rng.Float64()
	f.tables.Mappings = []profile.Mapping{{ID: 1, File: "/srv/shop", HasFunctions: true, HasFilenames: true, HasLineNumbers: true, HasInlineFrames: true}}
	f.grow()
	f.versions = make([]int, f.Instances)
	f.next = f.Instances
	f.payload = make([]float64, len(f.roots))
	return f
}

// function returns the number of a function, and of the place in it that is on stacks.
func (f *Fleet) function(known map[string]uint32, name string) uint32 {
	if id, ok := known[name]; ok {
		return id
	}
	id := uint32(len(f.tables.Functions))
	known[name] = id
	f.tables.Functions = append(f.tables.Functions, profile.Function{ID: uint64(id) + 1, Name: name, SystemName: name, File: "/src/shop/file" + strconv.Itoa(int(id%40)) + ".go", StartLine: int64(10 + id)})
	f.tables.Locations = append(f.tables.Locations, profile.Location{ID: uint64(id) + 1, Address: uint64(0x400000 + 64*id), Lines: []profile.Line{{Function: id, Line: int64(12 + id)}}})
	return id
}

// grow makes the program: handlers with trees of calls that share libraries, work in the background, and the collector.
func (f *Fleet) grow() {
	known := map[string]uint32{}
	server := []string{"runtime.goexit", "net/http.(*conn).serve", "net/http.serverHandler.ServeHTTP", "net/http.(*ServeMux).ServeHTTP", "net/http.HandlerFunc.ServeHTTP", "main.logged.func1", "net/http.HandlerFunc.ServeHTTP"}
	libraries := [][]string{
		{"encoding/json.Marshal", "encoding/json.(*encodeState).reflectValue", "encoding/json.structEncoder.encode"},
		{"encoding/json.Unmarshal", "encoding/json.(*decodeState).object", "encoding/json.(*decodeState).literalStore"},
		{"runtime.mallocgc", "runtime.nextFreeFast"}, {"runtime.mallocgc"}, {"runtime.newobject", "runtime.mallocgc"}, {"runtime.memmove"}, {"runtime.mapaccess2_faststr"}, {"runtime.mapassign_faststr", "runtime.growslice", "runtime.mallocgc"},
		{"strings.Index"}, {"regexp.(*Regexp).doExecute", "regexp.(*machine).backtrack"}, {"fmt.Sprintf", "fmt.(*pp).doPrintf"}, {"time.Time.Format", "time.Time.appendFormat"},
		{"database/sql.(*DB).QueryContext", "github.com/lib/pq.(*conn).query", "syscall.Syscall"}, {"sort.Slice", "sort.pdqsort_func"},
		{"compress/gzip.(*Writer).Write", "compress/flate.(*compressor).deflate"}, {"crypto/sha256.block"}, {"runtime.growslice", "runtime.memmove"},
	}
	handlers := 5 + f.rng.IntN(6)
	for h := range handlers {
		f.roots = append(f.roots, root{name: fmt.Sprintf("example.com/shop/api.handle%c", 'A'+h), weight: math.Pow(float64(h+1), -0.8), follows: 1, phase: 0.3 * f.rng.NormFloat64(), wanders: 0.04})
	}
	for b := range 3 {
		f.roots = append(f.roots, root{name: fmt.Sprintf("example.com/shop/jobs.(*Worker%d).run", b), weight: 0.05 + 0.1*f.rng.Float64(), follows: f.rng.Float64(), wanders: 0.05})
	}
	f.roots = append(f.roots, root{name: "runtime.gcBgMarkWorker", weight: 0.25, follows: 1.2, wanders: 0.05}, root{name: "runtime.mcall", weight: 0.15, follows: 0.8, wanders: 0.03})
	for r := range f.roots {
		var above []string
		switch {
		case r < handlers:
			above = append(slices.Clone(server), f.roots[r].name)
		case r < handlers+3:
			above = []string{"runtime.goexit", f.roots[r].name}
		case f.roots[r].name == "runtime.gcBgMarkWorker":
			above = []string{"runtime.goexit", f.roots[r].name, "runtime.systemstack", "runtime.gcDrain"}
		default:
			above = []string{f.roots[r].name, "runtime.park_m", "runtime.schedule"}
		}
		first := len(f.stacks)
		if r >= handlers+3 {
			for i := range 8 {
				f.leaf(known, r, append(slices.Clone(above), fmt.Sprintf("runtime.%s%d", []string{"scan", "find"}[r-handlers-3], i)))
			}
		} else {
			f.branch(known, libraries, r, above, 0)
		}
		sum := 0.0
		for _, s := range f.stacks[first:] {
			sum += s.weight
		}
		for i := range f.stacks[first:] {
			f.stacks[first+i].weight *= f.roots[r].weight / sum
		}
	}
	for _, s := range f.stacks {
		f.total += s.weight
	}
}

// branch makes what a function calls.
func (f *Fleet) branch(known map[string]uint32, libraries [][]string, r int, above []string, depth int) {
	f.leaf(known, r, above)
	children := 2 + f.rng.IntN(3)
	if depth >= 3 {
		children = f.rng.IntN(3)
	}
	for range children {
		if depth < 4 && f.rng.IntN(3) > 0 {
			// Some functions are called by several handlers.
			name := fmt.Sprintf("example.com/shop/part%d.(*Type%d).do%d", f.rng.IntN(12), r, len(known))
			if f.rng.IntN(4) == 0 {
				name = fmt.Sprintf("example.com/shop/shared.Do%d", f.rng.IntN(30))
				if slices.Contains(above, name) {
					continue
				}
			}
			f.branch(known, libraries, r, append(slices.Clone(above), name), depth+1)
			continue
		}
		lib := libraries[f.rng.IntN(len(libraries))]
		for i := range lib {
			f.leaf(known, r, append(slices.Clone(above), lib[:i+1]...))
		}
	}
}

func (f *Fleet) leaf(known map[string]uint32, r int, frames []string) {
	s := stack{root: r, weight: math.Exp(1.1 * f.rng.NormFloat64()), payload: f.rng.Float64(), bound: 0.6 + 0.8*f.rng.Float64()}
	for _, name := range frames {
		s.frames = append(s.frames, f.function(known, name))
	}
	s.places = slices.Clone(s.frames)
	slices.Reverse(s.places)
	f.stacks = append(f.stacks, s)
}

// Deploy begins to roll out a new version.
func (f *Fleet) Deploy() {
	f.version++
	f.next = 0
	f.Deploys = append(f.Deploys, f.Now)
}

// Shift changes the traffic of a handler, or of all when handler is below zero, by a factor for some time.
func (f *Fleet) Shift(handler int, factor float64, d time.Duration) {
	f.shift = append(f.shift, shift{handler, f.Now, f.Now.Add(d), factor})
	f.Shifts = append(f.Shifts, f.Now, f.Now.Add(d))
}

// Handlers returns how many handlers there are.
func (f *Fleet) Handlers() int {
	return slices.IndexFunc(f.roots, func(r root) bool { return r.follows < 1 || r.name[:8] == "runtime." })
}

// Slow gives an instance a noisy neighbor.
func (f *Fleet) Slow(instance int, factor float64, d time.Duration) {
	f.slow = append(f.slow, slow{instance, f.Now, f.Now.Add(d), factor})
}

// Live has happen what happens to services: a shift of the mix now and then, deploys that change nothing, noisy neighbors. It is called
// before each step.
func (f *Fleet) Live() {
	day := float64(24*time.Hour) / float64(Step)
	if f.rng.Float64() < 1/day {
		f.Shift(f.rng.IntN(f.Handlers()), math.Exp(0.6*f.rng.NormFloat64()), time.Duration(1+f.rng.IntN(8))*time.Hour)
	}
	if f.rng.Float64() < 0.3/day {
		f.Shift(-1, math.Exp(0.4*f.rng.NormFloat64()), time.Duration(1+f.rng.IntN(8))*time.Hour)
	}
	if f.rng.Float64() < 0.5/day {
		f.Slow(f.rng.IntN(f.Instances), 1.05+0.4*f.rng.Float64(), time.Duration(1+f.rng.IntN(8))*time.Hour)
	}
	if f.rng.Float64() < 1/day {
		f.Deploy()
	}
}

// Advance draws the profiles of a step.
func (f *Fleet) Advance() {
	d := &drawn{at: f.Now, versions: make([]int, f.Instances)}
	if f.next < f.Instances {
		most := f.Instances
		if f.Canary > 0 {
			most = f.Canary
		}
		for range slowStep {
			if f.next < most {
				f.versions[f.next] = f.version
				f.next++
			}
		}
	}
	copy(d.versions, f.versions)
	// The day, with noise that takes its time.
	hour := float64(f.Now.Unix()%86400) / 3600
	walk := func(x, sd, minutes float64) float64 {
		keep := math.Exp(-Step.Minutes() / minutes)
		return x*keep + sd*math.Sqrt(1-keep*keep)*f.rng.NormFloat64()
	}
	f.load = walk(f.load, 0.05, 20)
	rates := make([]float64, len(f.roots))
	f.rates = rates
	for r := range f.roots {
		x := &f.roots[r]
		x.wandered = walk(x.wandered, x.wanders, 25)
		f.payload[r] = walk(f.payload[r], 0.03, 40)
		wave := 1 + 0.55*math.Sin(2*math.Pi*(hour-9)/24+x.phase)
		rates[r] = math.Pow(wave*math.Exp(f.load)*f.shifted(-1), x.follows) * math.Exp(x.wandered) * f.shifted(r)
	}
	var changed float64
	if c := f.change; c != nil {
		end := f.Now.Add(Step)
		changed = max(0, min(1, float64(end.Sub(c.At))/float64(Step)))
		if !c.Ended.IsZero() {
			changed = min(changed, max(0, min(1, float64(c.Ended.Sub(f.Now))/float64(Step))))
		}
	}
	d.served = make([]int64, len(f.roots))
	for i := range f.Instances {
		counts := make([]uint32, len(f.stacks))
		slowed := 1.0
		for _, s := range f.slow {
			if s.instance == i && !f.Now.Before(s.from) && f.Now.Before(s.to) {
				slowed *= s.factor
			}
		}
		mine := make([]float64, len(f.roots))
		for r := range mine {
			mine[r] = rates[r] * (1 + 0.08*f.rng.NormFloat64())
		}
		if f.Requests {
			f.serve(d, mine, i == 0)
		}
		ticks := f.Cores * perStep * seconds * hertz / f.total
		for k := range f.stacks {
			s := &f.stacks[k]
			w := s.weight
			if changed > 0 && (f.Canary == 0 || f.versions[i] == f.version) {
				w = max(0, w+changed*f.change.extra[k])
			}
			w *= ticks * mine[s.root] * (1 + s.payload*f.payload[s.root])
			if slowed != 1 {
				w *= 1 + (slowed-1)*s.bound
			}
			w *= 1 + 0.1*f.rng.NormFloat64()
			counts[k] = f.poisson(w)
		}
		d.counts = append(d.counts, counts)
	}
	f.steps = append(f.steps, d)
	if len(f.steps) > kept {
		f.steps = f.steps[1:]
	}
	f.Now = f.Now.Add(Step)
}

// How requests of handlers are simulated: a handler of weight 1 answers so many a second and instance, and what one costs moves for reasons that
// nobody sees, beside the sizes of requests.
const (
	perSecond = 20
	costMoves = 0.02
)

// serve counts the requests of an instance in a step. All of the step is counted, and not only what is profiled.
func (f *Fleet) serve(d *drawn, rates []float64, first bool) {
	if f.costs == nil {
		f.costs = make([]float64, len(f.roots))
	}
	keep := math.Exp(-Step.Minutes() / 25)
	for r := range f.Handlers() {
		if first {
			f.costs[r] = f.costs[r]*keep + costMoves*math.Sqrt(1-keep*keep)*f.chance.NormFloat64()
		}
		mean := max(rates[r], 0) * f.roots[r].weight * perSecond * Step.Seconds() * math.Exp(-f.costs[r])
		d.served[r] += int64(max(0, math.Round(mean+math.Sqrt(mean)*f.chance.NormFloat64())))
	}
}

func (f *Fleet) shifted(root int) float64 {
	x := 1.0
	for _, s := range f.shift {
		if s.root == root && !f.Now.Before(s.from) && f.Now.Before(s.to) {
			x *= s.factor
		}
	}
	return x
}

func (f *Fleet) poisson(mean float64) uint32 {
	if mean <= 0 {
		return 0
	}
	if mean > 40 {
		return uint32(max(0, math.Round(mean+math.Sqrt(mean)*f.rng.NormFloat64())))
	}
	limit, p, n := math.Exp(-mean), 1.0, uint32(0)
	for p *= f.rng.Float64(); p > limit; p *= f.rng.Float64() {
		n++
	}
	return n
}
