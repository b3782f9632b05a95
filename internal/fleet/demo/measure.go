package demo

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"runtime"
	"runtime/pprof"
	"slices"
	"strings"
	"time"

	"github.com/hone-perf/hone/internal/profile"
)

// A worker is a practice service. Do is never called twice at the same time.
type worker interface {
	Endpoints() []string
	Do(endpoint string, n int)
}

// A template is what requests of one version of a service cost, as the profilers of Go measured it in this process.
type template struct {
	cpu       *profile.Profile // samples, nanoseconds
	heap      *profile.Profile // alloc_objects, alloc_space of the requests; inuse_objects, inuse_space
	goroutine *profile.Profile
	requests  int   // that the CPU time is of
	samples   int64 // of it
	allocated int   // requests that memory is of
}

// perRequest returns the CPU seconds that a request takes.
func (t *template) perRequest() float64 {
	return float64(t.samples) * samplePeriod.Seconds() / float64(max(t.requests, 1))
}

// samplePeriod is the CPU time between two samples of Go.
const samplePeriod = 10 * time.Millisecond

// serviceLabel tells samples of a service from those of the server around it.
const serviceLabel = "hone-demo"

// callers are goroutines that wait for requests.
const callers = 6

// measure has a service work for some time and returns what that cost.
func measure(ctx context.Context, r *release, w worker, d time.Duration) (*template, error) {
	runtime.GC() // or what was allocated before, such as by New, would be of the requests
	before, err := taken("allocs")
	if err != nil {
		return nil, err
	}
	var cpu bytes.Buffer
	if err := pprof.StartCPUProfile(&cpu); err != nil {
		return nil, fmt.Errorf("measuring a practice service: %w", err)
	}
	t := &template{}
	var goroutines *profile.Profile
	pprof.Do(ctx, pprof.Labels(serviceLabel, r.service), func(ctx context.Context) {
		jobs := make(chan int)
		for range callers {
			go r.idle(ctx, jobs)
		}
		endpoints := w.Endpoints()
		for end := time.Now().Add(d); time.Now().Before(end) && ctx.Err() == nil; {
			for range 8 {
				e := endpoints[min(t.requests%4, len(endpoints)-1)]
				pprof.Do(ctx, pprof.Labels("endpoint", e), func(context.Context) { w.Do(e, t.requests) })
				t.requests++
			}
		}
		goroutines, err = taken("goroutine")
		close(jobs)
	})
	pprof.StopCPUProfile()
	t.allocated = t.requests
	if err != nil {
		return nil, err
	}
	runtime.GC() // memory in use is that of the last collection
	after, err := taken("allocs")
	if err != nil {
		return nil, err
	}
	p, err := profile.ParseBytes(cpu.Bytes())
	if err != nil {
		return nil, err
	}
	if t.cpu, err = r.own(p, true); err != nil {
		return nil, err
	}
	for _, n := range t.cpu.Values(0) {
		t.samples += n
	}
	if t.goroutine, err = r.own(goroutines, false); err != nil {
		return nil, err
	}
	allocated, err := profile.Merge(after, negated(before, 2))
	if err != nil {
		return nil, err
	}
	t.heap, err = r.own(allocated, false)
	return t, err
}

// negated returns a profile with its first n values negated, and without the others.
func negated(p *profile.Profile, n int) *profile.Profile {
	b := profile.NewBuilder(p.Header)
	b.Tables = p.Tables
	var stack []uint32
	for i := range p.NumSamples() {
		stack = p.Stack(i, stack[:0])
		values := make([]int64, len(p.SampleTypes))
		for k := range n {
			values[k] = -p.Values(k)[i]
		}
		b.Add(stack, 0, values)
	}
	out, err := b.Profile()
	if err != nil {
		return p // cannot happen: there were no more stacks in p
	}
	return out
}

// taken returns a profile of this process.
func taken(name string) (*profile.Profile, error) {
	var b bytes.Buffer
	if err := pprof.Lookup(name).WriteTo(&b, 0); err != nil {
		return nil, err
	}
	return profile.ParseBytes(b.Bytes())
}

// idle waits for requests, as servers do.
func (r *release) idle(ctx context.Context, jobs <-chan int) {
	pprof.SetGoroutineLabels(ctx)
	for range jobs {
	}
}

// own returns the part of a profile of this process that is of the service, as a profile of a program of its own: outer frames that are not of
// it are cut off, and of the CPU time of the runtime, what belongs to nobody else counts.
func (r *release) own(p *profile.Profile, cpu bool) (*profile.Profile, error) {
	inside := make([]bool, len(p.Functions))
	goRuntime := make([]bool, len(p.Functions))
	for i := range p.Functions {
		inside[i] = strings.Contains(p.Functions[i].Name, "/fleet/demo/"+r.service+".") || strings.HasSuffix(p.Functions[i].Name, "demo.(*release).idle")
		pkg := p.Functions[i].Package()
		goRuntime[i] = pkg == "runtime" || strings.HasPrefix(pkg, "internal/runtime/")
	}
	h := p.Header
	h.Comments = nil
	b := profile.NewBuilder(h)
	b.Tables = r.program(p.Tables)
	var stack []uint32
	for i := range p.NumSamples() {
		stack = p.Stack(i, stack[:0])
		for len(stack) > 1 && strings.HasPrefix(leafOf(p, stack), "runtime.asyncPreempt") {
			stack = stack[1:] // a busy machine stops a goroutine all the time
		}
		outermost, system := -1, true
		for at, l := range stack {
			for _, line := range p.Locations[l].Lines {
				if inside[line.Function] {
					outermost = at
				}
				system = system && goRuntime[line.Function]
			}
		}
		labels := p.LabelSets()[p.Label(i)]
		switch {
		case outermost >= 0:
			stack = stack[:outermost+1]
		case !cpu || !system || slices.ContainsFunc(labels, func(l profile.Label) bool { return l.Key == serviceLabel }):
			continue // of the server, or of what calls the service
		}
		values := make([]int64, len(p.SampleTypes))
		some := false
		for k := range values {
			values[k] = max(p.Values(k)[i], 0)
			some = some || values[k] > 0
		}
		if !some {
			continue
		}
		labels = slices.DeleteFunc(slices.Clone(labels), func(l profile.Label) bool { return l.Key != "endpoint" })
		b.Add(stack, b.Labels(labels), values)
	}
	out, err := b.Profile()
	if err != nil {
		return nil, err
	}
	return profile.Merge(out) // drops what is not used
}

// add returns a template with one more measurement of the same release. Memory and goroutines are those of the newer one.
func (t *template) add(more *template) (*template, error) {
	if t == nil {
		return more, nil
	}
	cpu, err := profile.Merge(t.cpu, more.cpu)
	if err != nil {
		return nil, err
	}
	sum := *more
	if t.allocated > more.allocated { // more requests say better what one allocates
		sum.heap, sum.goroutine, sum.allocated = t.heap, t.goroutine, t.allocated
	}
	sum.cpu, sum.requests, sum.samples = cpu, t.requests+more.requests, t.samples+more.samples
	return &sum, nil
}

// program returns tables in which all is of a program that is this release.
func (r *release) program(t profile.Tables) profile.Tables {
	t.Locations = slices.Clone(t.Locations)
	for i := range t.Locations {
		t.Locations[i].Mapping = 0
	}
	build := sha256.Sum256([]byte(r.service + r.version))
	t.Mappings = []profile.Mapping{{
		ID: 1, Start: 0x400000, Limit: 1 << 40, File: "/srv/" + r.service, BuildID: hex.EncodeToString(build[:10]),
		HasFunctions: true, HasFilenames: true, HasLineNumbers: true, HasInlineFrames: true,
	}}
	return t
}

func leafOf(p *profile.Profile, stack []uint32) string {
	if lines := p.Locations[stack[0]].Lines; len(lines) > 0 {
		return p.Functions[lines[0].Function].Name
	}
	return ""
}

// fine is what a sample counts in a template that was put together.
const fine = 1000

// compose puts together what the releases of a service cost. Their code differs in one function, so all else is the mean of all of them: it
// would differ by chance.
func (s *service) compose() error {
	var rest profile.Merger
	requests := 0
	for _, r := range s.releases {
		if r.measured == nil || r.since > 0 { // one that comes later must not change what others cost
			continue
		}
		requests += r.measured.requests
		if err := rest.Add(r.measured.cpu.Filter(s.inChanged(r.measured.cpu, false))); err != nil {
			return err
		}
	}
	common, err := rest.Profile()
	if err != nil {
		return err
	}
	for _, r := range s.releases {
		if r.measured == nil {
			continue
		}
		sum := *r.measured
		own := r.measured.cpu.Filter(s.inChanged(r.measured.cpu, true))
		if sum.cpu, err = profile.Merge(times(common, fine), times(own, fine*float64(requests)/float64(max(r.measured.requests, 1)))); err != nil {
			return err
		}
		sum.cpu = sum.cpu.WithTables(r.program(sum.cpu.Tables))
		sum.requests, sum.samples = fine*requests, 0
		for _, n := range sum.cpu.Values(0) {
			sum.samples += n
		}
		r.template = &sum
	}
	return nil
}

// inChanged returns the samples that are in the function that differs between releases, or those that are not.
func (s *service) inChanged(p *profile.Profile, in bool) profile.SampleSet {
	set := profile.NewSampleSet(p.NumSamples())
	var stack []uint32
	for i := range p.NumSamples() {
		stack = p.Stack(i, stack[:0])
		found := slices.ContainsFunc(stack, func(at uint32) bool {
			return slices.ContainsFunc(p.Locations[at].Lines, func(l profile.Line) bool {
				return s.changed != "" && strings.HasSuffix(p.Functions[l.Function].Name, s.changed)
			})
		})
		if found == in {
			set.Add(uint32(i))
		}
	}
	return set
}

// times returns a profile with values multiplied.
func times(p *profile.Profile, by float64) *profile.Profile {
	out, err := drawn(p, time.Unix(0, p.TimeNanos), 0, func(_ int, values []int64) {
		for k := range values {
			values[k] = int64(float64(values[k]) * by)
		}
	})
	if err != nil {
		return p // cannot happen: there are no more stacks than there were
	}
	return out
}
