package storetest

import (
	"bytes"
	"fmt"
	"math"
	"math/rand/v2"
	"strconv"
	"time"

	"github.com/hone-perf/hone/internal/profile"
	"github.com/hone-perf/hone/internal/store"
)

// A Fleet is services whose instances are asked for profiles again and again. The same Fleet makes the same profiles each time.
type Fleet struct {
	Services  int
	Instances int // of each service
	Start     time.Time
	Every     time.Duration
	Rounds    int
	Kinds     []string // cpu, heap, goroutine, mutex
	Deploy    int      // rounds between deploys, each of which changes a part of the code; 0 is never
	Counters  bool     // heap profiles count since the process began

	// How large the programs and profiles are.
	Functions int // of a service
	Stacks    int // that its profiles show in all
	Depth     int // of its stacks, on average
	Ticks     int // of a CPU profile
	Labels    int // values of the label "endpoint" that samples carry; 0 is no such label

	Seed uint64
}

// Small is a fleet for tests of behavior.
func Small() Fleet {
	return Fleet{
		Services: 3, Instances: 2, Start: time.Date(2026, 9, 1, 9, 57, 3, 0, time.UTC), Every: time.Minute, Rounds: 8,
		Kinds: []string{"cpu", "heap", "goroutine", "mutex"}, Deploy: 5, Counters: true,
		Functions: 40, Stacks: 40, Depth: 6, Ticks: 50, Labels: 3, Seed: 1,
	}
}

// Like117kB is a service whose profiles are as large as those of a real one: CPU profiles of 100 kB and heap profiles of 136 kB
// when packed.
func Like117kB() Fleet {
	return Fleet{
		Services: 1, Instances: 1, Start: time.Date(2026, 9, 1, 0, 0, 20, 0, time.UTC), Every: time.Minute, Rounds: 1440,
		Kinds: []string{"cpu", "heap"}, Counters: true,
		Functions: 1800, Stacks: 8000, Depth: 30, Ticks: 2200, Seed: 1,
	}
}

// Uploads calls each for every profile of the fleet, in the order in which they are taken, until it returns false.
func (f Fleet) Uploads(each func(u *store.Upload) bool) {
	services := make([]*service, f.Services)
	for i := range services {
		services[i] = f.service(i)
	}
	for round := range f.Rounds {
		for _, s := range services {
			if f.Deploy > 0 && round > 0 && round%f.Deploy == 0 {
				s.deploy(round / f.Deploy)
			}
			for instance := range f.Instances {
				for _, kind := range f.Kinds {
					if !each(s.upload(round, instance, kind)) {
						return
					}
				}
			}
		}
	}
}

// All returns every profile of the fleet.
func (f Fleet) All() []*store.Upload {
	var out []*store.Upload
	f.Uploads(func(u *store.Upload) bool { out = append(out, u); return true })
	return out
}

type service struct {
	Fleet
	name    string
	version int
	rng     *rand.Rand

	tables profile.Tables
	stacks [][]uint32
	zipf   []float64 // running sum of how often stacks are seen
	heap   []heapState
}

// A heapState is what an instance has allocated, by stack.
type heapState struct{ values [][4]int64 }

func (f Fleet) service(i int) *service {
	s := &service{Fleet: f, name: "service-" + strconv.Itoa(i), rng: rand.New(rand.NewPCG(f.Seed, uint64(i)))}
	s.heap = make([]heapState, f.Instances)
	s.tables.Mappings = []profile.Mapping{{
		ID: 1, Start: 0x400000, Limit: 0x2000000, File: "/srv/" + s.name, BuildID: s.name + "-v0",
		HasFunctions: true, HasFilenames: true, HasLineNumbers: true, HasInlineFrames: true,
	}}
	for n := range f.Functions {
		pkg := fmt.Sprintf("example.com/%s/internal/part%d", s.name, n%37)
		s.tables.Functions = append(s.tables.Functions, profile.Function{
			Name:       fmt.Sprintf("%s.(*Worker%d).step%d", pkg, n%11, n),
			SystemName: fmt.Sprintf("%s.(*Worker%d).step%d", pkg, n%11, n),
			File:       fmt.Sprintf("/home/ci/src/%s/file%d.go", pkg, n%7),
			StartLine:  int64(10 + n%500),
		})
	}
	// One and a half places for each function; every fifth place is inlined into another one.
	for n := range f.Functions * 3 / 2 {
		fn := uint32(n % f.Functions)
		l := profile.Location{Address: uint64(0x401000 + 48*n)}
		l.Lines = []profile.Line{{Function: fn, Line: s.tables.Functions[fn].StartLine + int64(n%29)}}
		if n%5 == 0 {
			outer := uint32(s.rng.IntN(f.Functions))
			l.Lines = append(l.Lines, profile.Line{Function: outer, Line: s.tables.Functions[outer].StartLine + 3})
		}
		s.tables.Locations = append(s.tables.Locations, l)
	}
	s.tables.Renumber()
	// Stacks grow as in programs: each leaves another one at some depth.
	for n := range f.Stacks {
		depth := max(2, int(float64(f.Depth)*(0.5+s.rng.Float64())))
		var down []uint32 // from the root
		if n > 0 {
			other := s.stacks[s.rng.IntN(n)]
			keep := min(len(other)-1, int(float64(depth)*(0.3+0.6*s.rng.Float64())))
			for i := range keep {
				down = append(down, other[len(other)-1-i])
			}
		}
		for len(down) < depth {
			down = append(down, uint32(s.rng.IntN(len(s.tables.Locations))))
		}
		stack := make([]uint32, len(down))
		for i, l := range down {
			stack[len(down)-1-i] = l
		}
		s.stacks = append(s.stacks, stack)
	}
	sum := 0.0
	for n := range s.stacks {
		sum += 1 / math.Pow(float64(n+1), 0.95)
		s.zipf = append(s.zipf, sum)
	}
	return s
}

// pick returns a stack, those in front more often.
func (s *service) pick() int {
	x := s.rng.Float64() * s.zipf[len(s.zipf)-1]
	lo, hi := 0, len(s.zipf)-1
	for lo < hi {
		if mid := (lo + hi) / 2; s.zipf[mid] < x {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	return lo
}

// deploy makes another version: functions of one file in twenty move, and addresses of all change.
func (s *service) deploy(version int) {
	s.version = version
	t := profile.Tables{
		Mappings:  append([]profile.Mapping(nil), s.tables.Mappings...),
		Functions: append([]profile.Function(nil), s.tables.Functions...),
		Locations: append([]profile.Location(nil), s.tables.Locations...),
	}
	t.Mappings[0].BuildID = s.name + "-v" + strconv.Itoa(version)
	moved := func(fn uint32) bool { return int(fn)%20 == version%20 }
	for i := range t.Functions {
		if moved(uint32(i)) {
			t.Functions[i].StartLine += 4
		}
	}
	for i := range t.Locations {
		l := &t.Locations[i]
		l.Address += 0x40
		l.Lines = append([]profile.Line(nil), l.Lines...)
		for j := range l.Lines {
			if moved(l.Lines[j].Function) {
				l.Lines[j].Line += 4
			}
		}
	}
	s.tables = t
	s.heap = make([]heapState, s.Instances)
}

func (s *service) upload(round, instance int, kind string) *store.Upload {
	start := s.Start.Add(time.Duration(round)*s.Every + time.Duration(instance)*3*time.Second)
	u := &store.Upload{
		Service: s.name, Kind: kind, Start: start, End: start,
		Labels: store.NewLabels(store.Label{Name: "version", Value: "v" + strconv.Itoa(s.version)}),
		Row:    store.NewLabels(store.Label{Name: "instance", Value: fmt.Sprintf("10.0.%d.%d:80", s.version, instance)}),
	}
	h := profile.Header{TimeNanos: start.UnixNano()}
	switch kind {
	case "cpu":
		h.SampleTypes = []profile.ValueType{{Type: "samples", Unit: "count"}, {Type: "cpu", Unit: "nanoseconds"}}
		h.PeriodType, h.Period = profile.ValueType{Type: "cpu", Unit: "nanoseconds"}, 10_000_000
		h.DurationNanos = int64(10 * time.Second)
		u.End = start.Add(10 * time.Second)
	case "heap":
		h.SampleTypes = []profile.ValueType{{Type: "alloc_objects", Unit: "count"}, {Type: "alloc_space", Unit: "bytes"},
			{Type: "inuse_objects", Unit: "count"}, {Type: "inuse_space", Unit: "bytes"}}
		h.PeriodType, h.Period, h.DefaultType = profile.ValueType{Type: "space", Unit: "bytes"}, 512<<10, "inuse_space"
		u.Counters = s.Counters
	case "goroutine":
		h.SampleTypes = []profile.ValueType{{Type: "goroutine", Unit: "count"}}
		h.PeriodType, h.Period = h.SampleTypes[0], 1
	case "mutex", "block":
		h.SampleTypes = []profile.ValueType{{Type: "contentions", Unit: "count"}, {Type: "delay", Unit: "nanoseconds"}}
		h.PeriodType, h.Period = h.SampleTypes[0], 1
	}
	b := profile.NewBuilder(h)
	s.fill(b, kind, instance)
	p, err := b.Profile()
	if err != nil {
		panic(err) // cannot happen: it is far from all limits
	}
	if p, err = profile.Merge(p); err != nil { // leaves out what no sample is in
		panic(err)
	}
	var raw bytes.Buffer
	if err := p.Write(&raw); err != nil {
		panic(err)
	}
	u.Raw = raw.Bytes()
	return u
}

func (s *service) fill(b *profile.Builder, kind string, instance int) {
	b.Tables = s.tables
	labels := func() uint32 {
		if s.Labels == 0 {
			return 0
		}
		return b.Labels([]profile.Label{{Key: "endpoint", Str: "/e" + strconv.Itoa(s.rng.IntN(s.Labels))}})
	}
	switch kind {
	case "cpu":
		type place struct {
			stack  int
			labels uint32
		}
		counts := map[place]int64{}
		var order []place
		for range s.Ticks {
			at := place{s.pick(), labels()}
			if counts[at]++; counts[at] == 1 {
				order = append(order, at)
			}
		}
		for _, at := range order {
			b.Add(s.stacks[at.stack], at.labels, []int64{counts[at], counts[at] * b.Period})
		}
	case "heap":
		h := &s.heap[instance]
		if h.values == nil || !s.Counters {
			h.values = make([][4]int64, min(len(s.stacks), max(8, len(s.stacks)*5/16)))
			for range 8 * len(h.values) {
				h.allocate(s)
			}
		}
		for range len(h.values)/12 + 2 {
			h.allocate(s)
		}
		for n, v := range h.values {
			if v != [4]int64{} {
				size := b.Labels([]profile.Label{{Key: "bytes", Numeric: true, Num: int64(16 << (n % 8)), Unit: "bytes", HasUnit: true}})
				b.Add(s.stacks[n], size, v[:])
			}
		}
	case "goroutine":
		for n := range min(len(s.stacks), 40) {
			b.Add(s.stacks[n], 0, []int64{int64(1 + s.rng.IntN(5))})
		}
	case "mutex", "block":
		for n := range min(len(s.stacks), 25) {
			count := int64(1 + s.rng.IntN(50))
			b.Add(s.stacks[n], 0, []int64{count, count * int64(1000+s.rng.IntN(9000))})
		}
	}
}

// allocate takes and frees memory at some place.
func (h *heapState) allocate(s *service) {
	n := s.pick() % len(h.values)
	v := &h.values[n]
	size, count := int64(16<<(n%8)), int64(1+s.rng.IntN(64))
	freed := min(v[2], int64(s.rng.IntN(int(2*count))))
	v[0], v[1] = v[0]+count, v[1]+count*size
	v[2], v[3] = v[2]+count-freed, v[3]+(count-freed)*size
}
