package web

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/hone-perf/hone/internal/profile"
	"github.com/hone-perf/hone/internal/query"
	"github.com/hone-perf/hone/internal/recording"
	"github.com/hone-perf/hone/internal/report"
	"github.com/hone-perf/hone/internal/views"
)

// Recorded is recorded, for the tests of the page.
func Recorded(t *testing.T) *recording.Recording { return recorded(t) }

// recorded returns a recording of two seconds with CPU, block and mutex profiles.
func recorded(t *testing.T) *recording.Recording {
	t.Helper()
	dir := t.TempDir()
	put := func(kind string, from, to time.Duration, types []profile.ValueType, name string, values ...int64) {
		putProfile(t, dir, kind, from, to, types, name, values...)
	}
	waits := []profile.ValueType{{Type: "contentions", Unit: "count"}, {Type: "delay", Unit: "nanoseconds"}}
	put(recording.CPU, 0, time.Second, cpu, "main.early", 3, 30)
	put(recording.CPU, time.Second, 2*time.Second, cpu, "main.late", 2, 20)
	put(recording.Block, 0, 2*time.Second, waits, "main.block", 1, 100)
	put(recording.Mutex, 0, 2*time.Second, waits, "main.mutex", 1, 200)
	return reopened(t, dir, &recording.Manifest{Format: recording.Format, How: recording.Built})
}

var cpu = []profile.ValueType{{Type: "samples", Unit: "count"}, {Type: "cpu", Unit: "nanoseconds"}}

// putProfile writes a profile of one function into the recording in a folder.
func putProfile(t *testing.T, dir, kind string, from, to time.Duration, types []profile.ValueType, name string, values ...int64) {
	t.Helper()
	b := profile.NewBuilder(profile.Header{SampleTypes: types, DurationNanos: int64(to - from)})
	b.Functions = []profile.Function{{Name: name}}
	b.Locations = []profile.Location{{Mapping: profile.NoMapping, Lines: []profile.Line{{}}}}
	b.Renumber()
	b.Add([]uint32{0}, 0, values)
	p, err := b.Profile()
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, filepath.FromSlash(recording.PartFile(kind, from, to)))
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		t.Fatal(err)
	}
	f, err := os.Create(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := p.Write(f); err != nil {
		t.Fatal(err)
	}
}

// reopened returns the recording in a folder as hone web opens it.
func reopened(t *testing.T, dir string, m *recording.Manifest) *recording.Recording {
	t.Helper()
	if err := recording.WriteManifest(dir, m); err != nil {
		t.Fatal(err)
	}
	r, err := recording.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	r = r.Named("run.hone")
	if r, _, err = r.Pick("", 0, 0); err != nil {
		t.Fatal(err)
	}
	if err := r.Check(); err != nil {
		t.Fatal(err)
	}
	return r
}

// TestRecording checks that pages reach every part of a recording: by metric, and by time.
func TestRecording(t *testing.T) {
	s := New([]*recording.Recording{recorded(t)}, Options{Version: "test", Hosts: []string{"localhost"}})
	h := s.Handler()
	var there session
	answered(t, get(s, h, "/api/session"), &there)
	want := []sessionMetric{
		{"cpu", "nanoseconds", true, 50, 2, 5, []string{"cpu:cpu"}, false},
		{"cpu:samples", "count", false, 5, 2, 0, []string{"samples"}, false},
		{"block", "nanoseconds", false, 100, 1, 0, []string{"block:delay", "delay"}, false},
		{"block:contentions", "count", false, 1, 1, 0, []string{"contentions"}, false},
		{"mutex", "nanoseconds", false, 200, 1, 0, []string{"mutex:delay"}, false}, // delay alone is that of block
		{"mutex:contentions", "count", false, 1, 1, 0, nil, false},
	}
	if got := there.Recordings[0].Metrics; !reflect.DeepEqual(got, want) {
		t.Errorf("metrics are\n%+v, want\n%+v", got, want)
	}
	for path, want := range map[string]string{
		"/api/top":                              "main.early 30",
		"/api/top?at=1s..2s":                    "main.late 20",
		"/api/top?metric=mutex":                 "main.mutex 200",
		"/api/top?metric=block":                 "main.block 100",
		"/api/top?metric=block:contentions":     "main.block 1",
		"/api/top?metric=samples&at=..500ms":    "main.early 3",
		"/api/flame?metric=mutex":               "main.mutex 200",
		"/api/flame?metric=block":               "main.block 100", // the same sample type in another kind
		"/api/flame?at=1s..2s":                  "main.late 20",
		"/api/flame":                            "main.early 50",
		"/api/flame?metric=cpu:samples&at=1s..": "main.late 2",
	} {
		w := get(s, h, path)
		if w.Code != 200 {
			t.Errorf("%s: %d %s", path, w.Code, w.Body)
			continue
		}
		var got string
		if strings.HasPrefix(path, "/api/flame") {
			var f report.FlameJSON
			answered(t, w, &f)
			got = fmt.Sprintf("%s %d", f.Frames.Name[0], f.Total)
		} else {
			var top report.Top
			answered(t, w, &top)
			got = fmt.Sprintf("%s %d", top.Rows[0].Name, top.Rows[0].Flat)
		}
		if got != want {
			t.Errorf("%s: %s, want %s\n%s", path, got, want, w.Body)
		}
	}
	if w := get(s, h, "/api/top?metric=heap"); w.Code != 422 {
		t.Errorf("a metric that is not there: %d %s", w.Code, w.Body)
	}
}

// TestFlameTreeIsOfItsPart holds that trees are found again by the part they are of: neither by the sample type, which is
// called the same in block and mutex profiles, nor by where in memory a profile lies, which is that of another one after the
// first was let go of.
func TestFlameTreeIsOfItsPart(t *testing.T) {
	dir := t.TempDir()
	waits := []profile.ValueType{{Type: "contentions", Unit: "count"}, {Type: "delay", Unit: "nanoseconds"}}
	putProfile(t, dir, recording.Block, 0, 2*time.Second, waits, "main.block", 1, 100)
	putProfile(t, dir, recording.Mutex, 0, 2*time.Second, waits, "main.mutex", 1, 200)
	for i := range 20 {
		from := time.Duration(i) * time.Second
		putProfile(t, dir, recording.CPU, from, from+time.Second, cpu, "main.work", 1, 10)
	}
	rec := reopened(t, dir, &recording.Manifest{Format: recording.Format, How: recording.Built})
	s := New([]*recording.Recording{rec}, Options{Version: "test", Hosts: []string{"localhost"}})
	s.idle.Stop()
	h := s.Handler()
	first := func(path string) string {
		var f report.FlameJSON
		answered(t, get(s, h, path), &f)
		return f.Frames.Name[0]
	}
	if got := first("/api/flame?metric=block"); got != "main.block" {
		t.Errorf("block profiles begin with %s", got)
	}
	tree := s.cache.made()[0]
	// More parts are asked for than are kept.
	for i := range 20 {
		answered(t, get(s, h, fmt.Sprintf("/api/top?at=%ds..%ds", i, i+1)), &report.Top{})
	}
	if got := first("/api/flame?metric=block&root=main.block"); got != "main.block" {
		t.Errorf("looking closer shows %s", got)
	}
	if s.cache.made()[0] != tree {
		t.Error("the tree of a part that was read anew is made anew")
	}
	if got := first("/api/flame?metric=mutex"); got != "main.mutex" {
		t.Errorf("mutex profiles begin with %s", got)
	}
	if got := first("/api/flame?metric=block&limit=5"); got != "main.block" {
		t.Errorf("after those of mutex, block profiles begin with %s", got)
	}
}

// TestMetricsOfProfile holds that each metric of a profile has its own count of samples, and all names that it can be asked
// for by, also those of profiles that are older than the names of today.
func TestMetricsOfProfile(t *testing.T) {
	b := profile.NewBuilder(profile.Header{SampleTypes: []profile.ValueType{
		{Type: "alloc_space", Unit: "bytes"}, {Type: "space", Unit: "bytes"},
	}})
	b.Functions = []profile.Function{{Name: "main.a"}}
	b.Locations = []profile.Location{{Mapping: profile.NoMapping, Lines: []profile.Line{{}}}, {Mapping: profile.NoMapping, Address: 1, Lines: []profile.Line{{}}}}
	b.Renumber()
	b.Add([]uint32{0}, 0, []int64{8, 0})
	b.Add([]uint32{1}, 0, []int64{8, 4})
	p, err := b.Profile()
	if err != nil {
		t.Fatal(err)
	}
	s := New([]*recording.Recording{{Ref: "heap.pprof", Profile: p}}, Options{Hosts: []string{"localhost"}})
	var there session
	answered(t, get(s, s.Handler(), "/api/session"), &there)
	want := []sessionMetric{
		{"alloc_space", "bytes", false, 16, 2, 0, []string{"inuse_alloc_space", "0"}, false},
		{"space", "bytes", true, 4, 1, 0, []string{"inuse_space", "1"}, false},
	}
	got := there.Recordings[0].Metrics
	if !reflect.DeepEqual(got, want) {
		t.Errorf("metrics are\n%+v, want\n%+v", got, want)
	}
	for _, m := range got {
		for _, name := range m.Names {
			var top report.Top
			answered(t, get(s, s.Handler(), "/api/top?metric="+name), &top)
			if top.Metric != m.Type || top.Total != m.Total {
				t.Errorf("metric=%s is %s of %d, want %s of %d", name, top.Metric, top.Total, m.Type, m.Total)
			}
		}
	}
}

// What a recording lacks is named with the command whose file has it.
func TestAbsentParts(t *testing.T) {
	in := []*recording.Recording{recorded(t)}
	for name, want := range map[string]string{"trace": "hone record --trace ", "load": "hone load -o ", "bench": "hone record --test ", "gc": "hone record ./"} {
		v, ok := views.Find(name)
		if !ok {
			t.Fatalf("there is no view %s", name)
		}
		_, err := run(v, in, query.Query{})
		if got := (*hinted)(nil); !errors.As(err, &got) || !strings.HasPrefix(got.hint, want) {
			t.Errorf("%s: %v, want a hint that begins with %q", name, err, want)
		}
	}
}
