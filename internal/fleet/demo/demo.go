// Package demo is a small fleet for those who want to look at hone serve: three practice services with instances in two regions, some days of
// history, a deploy that made one of them slower before it began, and another one while it runs.
//
// The services are real code, which works in this process for a moment now and then under the profilers of Go. What instances send is drawn from
// these profiles, as much as their requests would have cost: samples of a profile are chance, as those of real ones are.
package demo

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"hash/fnv"
	"math"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/hone-perf/hone/internal/fleet/demo/images"
	"github.com/hone-perf/hone/internal/fleet/demo/search"
	"github.com/hone-perf/hone/internal/fleet/demo/shop"
	"github.com/hone-perf/hone/internal/profile"
	"github.com/hone-perf/hone/internal/recording"
	"github.com/hone-perf/hone/internal/store"
)

// Options are how the fleet reaches its store.
type Options struct {
	// Add keeps profiles.
	Add func(ctx context.Context, uploads []*store.Upload) error

	Ready    func(s Story)        // is called when there is history; may be nil
	Deployed func(d Deployed)     // is called when an instance got the version that comes while the fleet runs; may be nil
	History  bool                 // there is none yet
	Folder   string               // keeps what services cost, for a fleet that goes on; "" is none
	Began    time.Time            // when the fleet began, if it goes on: what was deployed then is not deployed again
	Now      func() time.Time     // nil is time.Now
	measure  func(*release) error // in place of the profilers, in tests
	steps    []step
}

// Deployed says that the first instance of a service runs a new version.
type Deployed struct{ Service, From, To string }

// A Story is what a fleet has been through, and what is to come: when the shop got slower, and when search gets a new version, or got it.
type Story struct{ Slower, Next time.Time }

// What the fleet has been through when it begins, and what is to come.
const (
	Past    = 3 * 24 * time.Hour
	before  = 40 * time.Minute // ago, the shop got slower
	later   = 3 * time.Minute  // from the beginning, search gets slower
	rolling = 20 * time.Second // from one instance to the next
)

// Beginning returns when a fleet began whose profiles a store has: the shop got slower some time before. It is the zero time when that is not known.
func Beginning(series []store.Series) time.Time {
	for _, s := range series {
		if s.Service == slowed && s.Labels.Get("version") == slowedTo {
			return s.First.Add(before)
		}
	}
	return time.Time{}
}

// What got slower before the fleet began.
const (
	slowed   = "shop"
	slowedTo = "v3"
)

// A service is some instances of a program.
type service struct {
	name      string
	changed   string  // the function in which releases differ
	cores     float64 // that an instance uses on average, with the oldest version
	releases  []*release
	instances []instance
}

// A release is a version of a service.
type release struct {
	service, version string
	since            time.Duration // from when the fleet begins
	make             func() worker
	worker           worker
	measured         *template
	template         *template // once all of the service are put together
	like             *release  // the code is that of another one
}

// An instance is one process.
type instance struct {
	name, region string
	phase        float64 // when it is noon there, in days
}

// fleet returns the services.
func fleet() []*service {
	list := []*service{
		{name: slowed, changed: "shop.(*Service).discount", cores: 0.8, releases: []*release{
			{version: "v1", since: -2 * Past},
			{version: "v2", since: -Past / 2, make: func() worker { return shop.New(2) }},
			{version: slowedTo, since: -before, make: func() worker { return shop.New(3) }},
		}},
		{name: "search", changed: "search.(*Service).find", cores: 1.2, releases: []*release{
			{version: "v7", since: -2 * Past, make: func() worker { return search.New(7) }},
			{version: "v8", since: later, make: func() worker { return search.New(8) }},
		}},
		{name: "images", cores: 0.5, releases: []*release{{version: "v4", since: -2 * Past, make: func() worker { return images.New(4) }}}},
	}
	list[0].releases[0].like = list[0].releases[1]
	for _, s := range list {
		for _, r := range s.releases {
			r.service = s.name
		}
		for _, region := range []instance{{region: "eu-1", phase: 0.5}, {region: "us-1", phase: 0.8}} {
			for _, n := range []string{"a", "b"} {
				s.instances = append(s.instances, instance{s.name + "-" + region.region + n, region.region, region.phase})
			}
		}
	}
	return list
}

// A Fleet sends profiles.
type Fleet struct {
	Options
	began    time.Time
	services []*service
}

// A step says how often instances send until some time before the beginning.
type step struct{ until, every time.Duration }

var steps = []step{{24 * time.Hour, 10 * time.Minute}, {2 * time.Hour, 5 * time.Minute}, {0, time.Minute}}

const (
	profiled  = 10 * time.Second // of CPU time in a profile
	pace      = 15 * time.Second // between looks at what is to be sent
	round     = time.Second      // of work in a measurement
	rounds    = 12               // of it at most, until a release has
	enough    = 300              // samples
	perUpload = 128              // profiles
)

// Run measures the services, adds their history, and goes on until a context ends.
func Run(ctx context.Context, o Options) error {
	if o.steps == nil {
		o.steps = steps
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	f := &Fleet{Options: o, began: o.Now(), services: fleet()}
	started := f.began
	if !o.Began.IsZero() {
		f.began = o.Began
	}
	if f.measure == nil {
		f.measure = func(r *release) error { return r.work(ctx, enough) }
	}
	for _, s := range f.services {
		for _, r := range s.releases {
			if r.make == nil || r.since >= 0 && !started.After(f.began.Add(r.since)) {
				continue
			}
			if !o.History {
				if err := r.load(o.Folder); err != nil {
					return err
				}
			}
			if r.measured != nil {
				continue
			}
			if err := f.measure(r); err != nil {
				return ended(ctx, err)
			}
			if err := r.save(o.Folder); err != nil {
				return err
			}
		}
		if err := s.compose(); err != nil {
			return err
		}
	}
	last := started.Add(-time.Minute)
	if o.History {
		from := f.began.Add(-Past)
		for _, step := range f.steps {
			to := f.began.Add(-step.until)
			if err := f.send(ctx, from, to, step.every); err != nil {
				return ended(ctx, err)
			}
			from = to
		}
		last = from
	}
	if o.Ready != nil {
		o.Ready(Story{f.began.Add(-before), f.began.Add(later)})
	}
	return ended(ctx, f.live(ctx, last))
}

// ended returns the error that a fleet ended with, which was not that it had to.
func ended(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return nil
	}
	return err
}

// live sends what instances have to send from now on.
func (f *Fleet) live(ctx context.Context, last time.Time) error {
	tick := time.NewTicker(pace)
	defer tick.Stop()
	told := map[*release]bool{}
	for _, s := range f.services {
		for _, r := range s.releases {
			told[r] = r.measured != nil // it was deployed before
		}
	}
	for {
		now := f.Now()
		for _, s := range f.services {
			for i, r := range s.releases {
				if r.since <= 0 || now.Before(f.began.Add(r.since)) || told[r] {
					continue
				}
				if told[r] = true; r.measured == nil {
					if err := errors.Join(f.measure(r), s.compose()); err != nil {
						return err
					}
					if err := r.save(f.Folder); err != nil {
						return err
					}
				}
				if f.Deployed != nil {
					f.Deployed(Deployed{s.name, s.releases[i-1].version, r.version})
				}
			}
		}
		if err := f.send(ctx, last, now, time.Minute); err != nil {
			return err
		}
		last = now
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-tick.C:
		}
	}
}

// work measures a release until there are enough samples, as far as the machine has time for it. It is not measured again: what it costs would change.
func (r *release) work(ctx context.Context, samples int64) error {
	if r.worker == nil {
		r.worker = r.make()
	}
	var got int64
	for range rounds {
		t, err := measure(ctx, r, r.worker, round)
		if err != nil {
			return err
		}
		got += t.samples
		if r.measured, err = r.measured.add(t); err != nil || got >= samples || ctx.Err() != nil {
			return err
		}
	}
	return nil
}

// running returns the release that an instance runs at a time from the beginning of the fleet: they get a new one after the other.
func (s *service) running(name string, at time.Duration) *release {
	place := slices.IndexFunc(s.instances, func(i instance) bool { return i.name == name })
	out := s.releases[0]
	for _, r := range s.releases {
		if at >= r.since+time.Duration(place)*rolling && (r.template != nil || r.like != nil) {
			out = r
		}
	}
	return out
}

// send adds what instances send in [from, to), in the order of time.
func (f *Fleet) send(ctx context.Context, from, to time.Time, every time.Duration) error {
	var batch []*store.Upload
	flush := func() error {
		if len(batch) == 0 {
			return nil
		}
		err := f.Add(ctx, batch)
		batch = batch[:0:0]
		return err
	}
	for at := from.Truncate(every); at.Before(to); at = at.Add(every) {
		for _, s := range f.services {
			for _, in := range s.instances {
				// Each has a second of its own, at which it sends.
				when := at.Add(time.Duration(draws(in.name, time.Time{}).Int64N(int64(every))).Truncate(time.Second))
				if when.Before(from) || !when.Before(to) {
					continue
				}
				list, err := s.uploads(in, when, when.Sub(f.began), every)
				if err != nil {
					return err
				}
				batch = append(batch, list...)
			}
		}
		if len(batch) >= perUpload {
			if err := errors.Join(ctx.Err(), flush()); err != nil {
				return err
			}
		}
	}
	return flush()
}

// draws returns the chance of an instance at a time: the same each time.
func draws(name string, at time.Time) *rand.Rand {
	h := fnv.New64a()
	h.Write([]byte(name))
	return rand.New(rand.NewPCG(h.Sum64(), uint64(at.Unix())))
}

// traffic returns how many requests there are at a time, next to the mean: fewer at night and on weekends, which begin and end slowly.
func (in *instance) traffic(at time.Time, chance *rand.Rand) float64 {
	days := float64(at.Unix()) / 86400
	wave := 1 + 0.45*math.Cos(2*math.Pi*(days-in.phase))
	const slowly = 6 // hours
	free := 0.0
	for h := -slowly; h <= slowly; h++ {
		if day := at.UTC().Add(time.Duration(h) * time.Hour).Weekday(); day == time.Saturday || day == time.Sunday {
			free += 1.0 / (2*slowly + 1)
		}
	}
	wave *= 1 - 0.2*free
	return wave * (1 + 0.04*chance.NormFloat64())
}

// uploads returns the profiles that an instance sends at a time. The one of its heap has all allocations since the one before.
func (s *service) uploads(in instance, at time.Time, since, interval time.Duration) ([]*store.Upload, error) {
	r := s.running(in.name, since)
	labels := store.NewLabels(store.Label{Name: "version", Value: r.version}, store.Label{Name: "region", Value: in.region})
	row := store.NewLabels(store.Label{Name: "instance", Value: in.name})
	t := cmp.Or(r.like, r).template
	usual := cmp.Or(s.releases[0].like, s.releases[0]).template.perRequest()
	chance := draws(in.name, at)
	traffic := max(in.traffic(at, chance), 0.1)
	cores := s.cores * traffic * t.perRequest() / usual
	requests := s.cores * traffic * interval.Seconds() / usual
	var out []*store.Upload
	for _, k := range []struct {
		kind  string
		took  time.Duration
		draws func() (*profile.Profile, error)
	}{
		{recording.CPU, profiled, func() (*profile.Profile, error) {
			part := cores * profiled.Seconds() / samplePeriod.Seconds() / float64(t.samples)
			return drawn(t.cpu, at, profiled, func(_ int, values []int64) {
				values[0] = poisson(chance, float64(values[0])*part)
				values[1] = values[0] * int64(samplePeriod)
			})
		}},
		{recording.Heap, interval, func() (*profile.Profile, error) {
			part := requests / float64(t.allocated)
			return drawn(t.heap, at, interval, func(_ int, values []int64) {
				each := part * (1 + 0.05*chance.NormFloat64())
				held := 1 + 0.03*chance.NormFloat64()
				for k, by := range []float64{each, each, held, held} {
					values[k] = int64(float64(values[k]) * max(by, 0))
				}
			})
		}},
		{recording.Goroutine, 0, func() (*profile.Profile, error) {
			return drawn(t.goroutine, at, 0, func(_ int, values []int64) {
				values[0] = poisson(chance, float64(values[0])*8*traffic)
			})
		}},
	} {
		p, err := k.draws()
		if err != nil {
			return nil, err
		}
		var raw bytes.Buffer
		if err := p.Write(&raw); err != nil {
			return nil, err
		}
		out = append(out, &store.Upload{
			Service: s.name, Kind: k.kind, Labels: labels, Row: row, Start: at.Add(-k.took), End: at, Raw: raw.Bytes(), Parsed: p,
		})
	}
	return out, nil
}

// drawn returns a profile with values changed.
func drawn(p *profile.Profile, at time.Time, took time.Duration, change func(i int, values []int64)) (*profile.Profile, error) {
	h := p.Header
	h.TimeNanos, h.DurationNanos = at.Add(-took).UnixNano(), int64(took)
	b := profile.NewBuilder(h)
	b.Tables = p.Tables
	labels := make([]uint32, len(p.LabelSets()))
	for i, set := range p.LabelSets() {
		labels[i] = b.Labels(slices.Clone(set))
	}
	values := make([]int64, len(p.SampleTypes))
	var stack []uint32
	for i := range p.NumSamples() {
		for k := range values {
			values[k] = p.Values(k)[i]
		}
		if change(i, values); slices.Max(values) <= 0 {
			continue
		}
		stack = p.Stack(i, stack[:0])
		b.Add(stack, labels[p.Label(i)], values)
	}
	return b.Profile()
}

// poisson returns how often something happens that happens so often on average.
func poisson(chance *rand.Rand, mean float64) int64 {
	if mean > 30 {
		return max(0, int64(math.Round(mean+math.Sqrt(mean)*chance.NormFloat64())))
	}
	n, p, limit := int64(-1), 1.0, math.Exp(-mean)
	for ; p > limit; n++ {
		p *= chance.Float64()
	}
	return max(n, 0)
}
