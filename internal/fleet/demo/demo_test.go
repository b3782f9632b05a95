package demo

import (
	"context"
	"fmt"
	"math"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hone-perf/hone/internal/profile"
	"github.com/hone-perf/hone/internal/recording"
	"github.com/hone-perf/hone/internal/store"
	"github.com/hone-perf/hone/internal/testrun"
)

// made is a template of two functions: what a request costs in the function that changed, and in all else.
func made(r *release, changed string, slow int64) *template {
	build := func(types []profile.ValueType, values ...[]int64) *profile.Profile {
		b := profile.NewBuilder(profile.Header{SampleTypes: types})
		for i, name := range []string{"demo/" + r.service + ".(*Service).Do", changed} {
			b.Functions = append(b.Functions, profile.Function{Name: name, StartLine: int64(10 * (i + 1))})
			b.Locations = append(b.Locations, profile.Location{Mapping: profile.NoMapping, Address: uint64(i + 1), Lines: []profile.Line{{Function: uint32(i), Line: 12}}})
		}
		b.Renumber()
		for i, v := range values {
			b.Add([]uint32{1, 0}[1-i:], 0, v)
		}
		p, err := b.Profile()
		if err != nil {
			panic(err)
		}
		return p
	}
	return &template{
		cpu:       build([]profile.ValueType{{Type: "samples", Unit: "count"}, {Type: "cpu", Unit: "nanoseconds"}}, []int64{200, 200 * 10e6}, []int64{slow, slow * 10e6}),
		heap:      build([]profile.ValueType{{Type: "alloc_objects", Unit: "count"}, {Type: "alloc_space", Unit: "bytes"}, {Type: "inuse_objects", Unit: "count"}, {Type: "inuse_space", Unit: "bytes"}}, []int64{1000, 64000, 100, 6400}),
		goroutine: build([]profile.ValueType{{Type: "goroutine", Unit: "count"}}, []int64{6}),
		requests:  10_000, samples: 200 + slow, allocated: 10_000,
	}
}

// The history has what somebody is to find in it: all services all the time, waves of traffic, and a release that made one function slower.
func TestHistoryAndDeploys(t *testing.T) {
	if testing.Short() {
		t.Skip("makes the history of a fleet")
	}
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		began := time.Now()
		var deployed []Deployed
		profiles := map[string]int{} // by service, kind and hour from the beginning
		slow, all := map[string]float64{}, map[string]float64{}
		builds := map[string]bool{}
		covered, lowest, highest := map[string]time.Duration{}, math.Inf(1), 0.0
		ready := false
		o := Options{
			History: true,
			steps:   []step{{2 * time.Hour, 30 * time.Minute}, {0, 5 * time.Minute}},
			Ready: func(s Story) {
				ready = s == Story{began.Add(-before), began.Add(later)}
			},
			Deployed: func(d Deployed) {
				deployed = append(deployed, d)
			},
			Add: func(_ context.Context, uploads []*store.Upload) error {
				for _, u := range uploads {
					if u.End.After(time.Now()) || u.Row.Get("instance") == "" || u.Labels.Get("region") == "" {
						t.Errorf("an upload of %s: %v %v", u.End, u.Labels, u.Row)
					}
					if err := u.Take("demo", store.DefaultLimits, time.Now()); err != nil {
						t.Error(err)
					}
					profiles[fmt.Sprint(u.Service, " ", u.Kind, " ", int(u.End.Sub(began).Hours()-1))]++
					version := u.Service + " " + u.Labels.Get("version")
					builds[u.Row.Get(store.BuildLabel)] = true
					if u.Kind == recording.Heap && u.Service == "images" {
						// What was allocated covers all of the time, also where there are few profiles.
						covered[u.Row.Get("instance")] += u.End.Sub(u.Start)
						rate := 0.0
						for _, n := range u.Parsed.Values(1) {
							rate += float64(n) / u.End.Sub(u.Start).Seconds()
						}
						lowest, highest = min(lowest, rate), max(highest, rate)
					}
					if u.Kind != recording.CPU {
						continue
					}
					for i, n := range u.Parsed.Values(0) {
						if all[version] += float64(n); u.Parsed.Depth(i) == 2 {
							slow[version] += float64(n)
						}
					}
				}
				return nil
			},
			measure: func(r *release) error {
				changed, cost := map[string]string{"shop": "demo/shop.(*Service).discount", "search": "demo/search.(*Service).find", "images": "demo/images.scale"}[r.service], int64(20)
				if r.version == "v3" || r.version == "v8" {
					cost = 100
				}
				r.measured = made(r, changed, cost)
				return nil
			},
		}
		done := make(chan error, 1)
		go func() { done <- Run(ctx, o) }()
		time.Sleep(later + 10*time.Minute + time.Second)
		synctest.Wait()
		cancel()
		if err := <-done; err != nil {
			t.Fatal(err)
		}
		if !ready || len(deployed) != 1 || deployed[0] != (Deployed{"search", "v7", "v8"}) {
			t.Errorf("ready: %t, deployed: %v", ready, deployed)
		}
		for _, s := range []string{"shop", "search", "images"} {
			for _, kind := range []string{recording.CPU, recording.Heap, recording.Goroutine} {
				for hour := -int(Past.Hours()); hour < 0; hour++ {
					if n := profiles[fmt.Sprint(s, " ", kind, " ", hour)]; n < 4*2 {
						t.Errorf("%d %s profiles of %s in the hour %d", n, kind, s, hour)
					}
				}
			}
		}
		for version, want := range map[string]float64{"shop v1": 20 / 220.0, "shop v2": 20 / 220.0, "shop v3": 100 / 300.0, "search v7": 20 / 220.0, "search v8": 100 / 300.0} {
			if got := slow[version] / all[version]; got < want-0.01 || got > want+0.01 {
				t.Errorf("%s: the function has a share of %.3f, want %.3f", version, got, want)
			}
		}
		if lowest <= 0 || highest > 5*lowest { // the wave of a day is a factor of three
			t.Errorf("a process allocates from %g to %g bytes a second", lowest, highest)
		}
		for instance, d := range covered {
			if all := Past + later + 10*time.Minute; d < all-time.Hour || d > all+time.Hour {
				t.Errorf("heap profiles of %s are of %v, want %v", instance, d, all)
			}
		}
		if len(builds) != 6 {
			t.Errorf("there are %d builds of 6 versions", len(builds))
		}
	})
}

// A fleet that goes on deploys nothing again, and runs the newest versions.
func TestGoesOn(t *testing.T) {
	series := []store.Series{
		{Service: "shop", Labels: store.Labels{{Name: "version", Value: "v2"}}, First: time.Unix(0, 0)},
		{Service: "shop", Labels: store.Labels{{Name: "region", Value: "eu-1"}, {Name: "version", Value: "v3"}}, First: time.Unix(1e9, 0)},
	}
	if got := Beginning(series); !got.Equal(time.Unix(1e9, 0).Add(before)) {
		t.Errorf("it began at %v", got)
	}
	if got := Beginning(series[:1]); !got.IsZero() {
		t.Errorf("without the release it began at %v", got)
	}
	// One service was measured before, and costs what it cost then.
	folder := filepath.Join(t.TempDir(), "demo")
	before := &release{service: "images", version: "v4"}
	before.measured = made(before, "main.before", 20)
	if err := before.save(folder); err != nil {
		t.Fatal(err)
	}
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		versions := map[string]bool{}
		costs := map[string]bool{}
		uploads := 0
		done := make(chan error, 1)
		go func() {
			done <- Run(ctx, Options{
				Folder: folder,
				Began:  time.Now().Add(-2 * time.Hour),
				Ready: func(s Story) {
					if want := time.Now().Add(later - 2*time.Hour); !s.Next.Equal(want) {
						t.Errorf("search got its version at %v, want %v", s.Next, want)
					}
				},
				Deployed: func(d Deployed) { t.Errorf("%v is deployed again", d) },
				Add: func(_ context.Context, list []*store.Upload) error {
					for _, u := range list {
						versions[u.Service+" "+u.Labels.Get("version")] = true
						for _, f := range u.Parsed.Functions {
							costs[u.Service+" "+f.Name] = true
						}
						uploads++
					}
					return nil
				},
				measure: func(r *release) error {
					if r.service == "images" {
						t.Errorf("%s %s is measured again", r.service, r.version)
					}
					r.measured = made(r, "", 20)
					return nil
				},
			})
		}()
		time.Sleep(10*time.Minute + time.Second)
		synctest.Wait()
		cancel()
		if err := <-done; err != nil {
			t.Fatal(err)
		}
		if !costs["images main.before"] {
			t.Errorf("images has other functions than before: %v", costs)
		}
		if len(versions) != 3 || !versions["shop v3"] || !versions["search v8"] || uploads > 12*3*13 {
			t.Errorf("%d uploads of %v", uploads, versions)
		}
	})
}

// The services do what they are for, and what the profilers see of them is theirs alone.
func TestServicesWork(t *testing.T) {
	for _, s := range fleet() {
		for _, r := range s.releases {
			if r.make == nil {
				continue
			}
			w := r.make()
			for n := range testrun.Size(200, 40) {
				for _, e := range w.Endpoints() {
					w.Do(e, n)
				}
			}
		}
	}
}
