package recording

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hone-perf/hone/internal/profile"
)

// made returns a profile with one sample type for each value, and one function for each stack.
func made(t testing.TB, types []profile.ValueType, samples map[string][]int64) *profile.Profile {
	t.Helper()
	b := profile.NewBuilder(profile.Header{SampleTypes: types})
	names := make([]string, 0, len(samples))
	for name := range samples {
		names = append(names, name)
	}
	slices.Sort(names)
	for i, name := range names {
		b.Functions = append(b.Functions, profile.Function{Name: name, SystemName: name})
		b.Locations = append(b.Locations, profile.Location{
			Mapping: profile.NoMapping, Address: uint64(len(name)), Lines: []profile.Line{{Function: uint32(i)}},
		})
		b.Add([]uint32{uint32(i)}, 0, samples[name])
	}
	b.Renumber()
	p, err := b.Profile()
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// values returns what each function of a profile comes to for a sample type.
func values(t *testing.T, p *profile.Profile, typ string) map[string]int64 {
	t.Helper()
	k, err := p.SampleIndex(typ)
	if err != nil {
		t.Fatal(err)
	}
	out := make(map[string]int64)
	for i, v := range p.Values(k) {
		for _, l := range p.Stack(i, nil) {
			if v != 0 {
				out[p.Functions[p.Locations[l].Lines[0].Function].Name] += v
			}
		}
	}
	return out
}

var (
	cpuTypes  = []profile.ValueType{{Type: "samples", Unit: "count"}, {Type: "cpu", Unit: "nanoseconds"}}
	heapTypes = []profile.ValueType{
		{Type: "alloc_objects", Unit: "count"}, {Type: "alloc_space", Unit: "bytes"},
		{Type: "inuse_objects", Unit: "count"}, {Type: "inuse_space", Unit: "bytes"},
	}
)

// folder writes a recording of three seconds.
func folder(t testing.TB) string {
	t.Helper()
	dir := t.TempDir()
	put := func(kind string, from, to time.Duration, p *profile.Profile) {
		name := filepath.Join(dir, filepath.FromSlash(PartFile(kind, from, to)))
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		f, err := os.Create(name)
		if err != nil {
			t.Fatal(err)
		}
		if err := p.Write(f); err != nil {
			t.Fatal(err)
		}
		f.Close()
	}
	for i := range 3 {
		from := time.Duration(i) * time.Second
		put(CPU, from, from+time.Second, made(t, cpuTypes, map[string][]int64{
			"main.a": {1, 10}, fmt.Sprint("main.second", i): {int64(i), int64(10 * i)},
		}))
		n := int64(i + 1)
		put(Heap, 0, from+time.Second, made(t, heapTypes, map[string][]int64{
			"main.a": {n, 100 * n, 1, 7 * n},
		}))
	}
	m := &Manifest{Format: Format, Hone: "test", How: Built, Command: []string{"./prog", "-x"}, Started: time.Unix(1700000000, 0)}
	if err := WriteManifest(dir, m); err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(dir, GCFile), "gc 1 @0.1s 0%: …\n")
	write(t, filepath.Join(dir, filepath.FromSlash(SourceIndex)), `[
		{"file": "/build/main.go", "at": "0001.go", "note": "it has changed since"},
		{"file": "/build/evil.go", "at": "../manifest.json"},
		{"file": "/build/gone.go", "at": "0002.go"}]`)
	write(t, filepath.Join(dir, SourcesDir, "0001.go"), "package main\r\n\nfunc a() {}\n")
	return dir
}

func write(t testing.TB, name, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// both calls test for a recording in a folder and for the same one as a file.
func both(t *testing.T, test func(t *testing.T, r *Recording)) {
	dir := folder(t)
	file := filepath.Join(t.TempDir(), "x.hone")
	if err := pack(dir, file); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{dir, file} {
		t.Run(map[bool]string{true: "folder", false: "file"}[name == dir], func(t *testing.T) {
			if !IsRecording(name) {
				t.Errorf("%s is said to be no recording", name)
			}
			r, err := Open(name)
			if err != nil {
				t.Fatal(err)
			}
			defer r.Close()
			test(t, r)
		})
	}
}

// A recording that looked out for trouble says so where parts of the time are missing.
func TestPickDropped(t *testing.T) {
	dir := folder(t)
	old, moved := PartFile(CPU, 2*time.Second, 3*time.Second), PartFile(CPU, 8*time.Second, 9*time.Second)
	if err := os.Rename(filepath.Join(dir, filepath.FromSlash(old)), filepath.Join(dir, filepath.FromSlash(moved))); err != nil {
		t.Fatal(err)
	}
	for _, lookout := range []*Lookout{nil, {When: []string{"rss>50%"}, Window: time.Second}} {
		if err := WriteManifest(dir, &Manifest{Format: Format, Lookout: lookout}); err != nil {
			t.Fatal(err)
		}
		r, err := Open(dir)
		if err != nil {
			t.Fatal(err)
		}
		for _, test := range []struct {
			from, to time.Duration
			want     bool
		}{
			{0, 0, true},
			{0, 2 * time.Second, false},
			{8 * time.Second, 9 * time.Second, false},
			{time.Second, 9 * time.Second, true},
		} {
			got, _, err := r.Pick("cpu", test.from, test.to)
			if err != nil {
				t.Fatal(err)
			}
			said := strings.Contains(strings.Join(got.Profile.Notes, "; "), "only the last 1s and what led up to trouble were kept")
			if said != (test.want && lookout != nil) {
				t.Errorf("from %s to %s, looking out %v: notes are %q", test.from, test.to, lookout != nil, got.Profile.Notes)
			}
		}
		r.Close()
	}
}

func TestPick(t *testing.T) {
	const s = time.Second
	tests := []struct {
		metric   string
		from, to time.Duration
		typ      string
		want     string
		note     string
	}{
		{"", 0, 0, "cpu", "map[main.a:30 main.second1:10 main.second2:20]", ""},
		{"samples", 0, 0, "samples", "map[main.a:3 main.second1:1 main.second2:2]", ""},
		{"cpu", s, 2 * s, "cpu", "map[main.a:10 main.second1:10]", ""},
		{"cpu", 1500 * time.Millisecond, 0, "cpu", "map[main.a:20 main.second1:10 main.second2:20]", "from 1s to 3s"},
		{"cpu", 0, 100 * time.Millisecond, "cpu", "map[main.a:10]", "from 0s to 1s"},
		{"cpu", 2500 * time.Millisecond, 2500 * time.Millisecond, "cpu", "map[main.a:10 main.second2:20]", "from 2s to 3s"},
		{"heap", 0, 0, "inuse_space", "map[main.a:21]", "taken 3s after the start"},
		{"inuse_space", 0, 2 * s, "inuse_space", "map[main.a:14]", "taken 2s after the start"},
		{"inuse_space", 1200 * time.Millisecond, 1200 * time.Millisecond, "inuse_space", "map[main.a:7]", "taken 1s after the start"},
		{"heap:alloc_space", 0, 0, "alloc_space", "map[main.a:300]", ""},
		{"allocs", s, 3 * s, "alloc_space", "map[main.a:200]", "from 1s to 3s"},
		{"alloc_objects", 0, 2 * s, "alloc_objects", "map[main.a:2]", "from 0s to 2s"},
		{"alloc_space", 1200 * time.Millisecond, 1800 * time.Millisecond, "alloc_space", "map[main.a:100]", "from 1s to 2s"},
		{"alloc_space", 0, 1200 * time.Millisecond, "alloc_space", "map[main.a:200]", "from 0s to 2s"},
		{"alloc_space", 1200 * time.Millisecond, 2500 * time.Millisecond, "alloc_space", "map[main.a:200]", "from 1s to 3s"},
		{"alloc_space", 2500 * time.Millisecond, 99 * s, "alloc_space", "map[main.a:100]", "from 2s to 3s"},
		{"alloc_space", 2500 * time.Millisecond, 0, "alloc_space", "map[main.a:100]", "from 2s to 3s"},
	}
	both(t, func(t *testing.T, r *Recording) {
		for _, test := range tests {
			got, typ, err := r.Pick(test.metric, test.from, test.to)
			if err != nil {
				t.Errorf("Pick(%q, %s, %s): %v", test.metric, test.from, test.to, err)
				continue
			}
			notes := strings.Join(got.Profile.Notes, "; ")
			if v := fmt.Sprint(values(t, got.Profile, typ)); v != test.want || typ != test.typ || !strings.Contains(notes, test.note) {
				t.Errorf("Pick(%q, %s, %s) = %s %s, notes %q; want %s %s, a note with %q",
					test.metric, test.from, test.to, typ, v, notes, test.typ, test.want, test.note)
			}
		}
	})
}

// A time after the end has no profile, rather than the last one.
func TestPickAfterEnd(t *testing.T) {
	const s = time.Second
	tests := []struct {
		metric   string
		from, to time.Duration
		want     string // part of the error; "" is none
	}{
		{"inuse_space", 99 * s, 99 * s, "there is no heap profile at 1m39s; the recording ends after 3.20s"},
		{"alloc_space", 98 * s, 99 * s, "there is no heap profile between 1m38s and 1m39s; the recording ends after 3.20s"},
		{"inuse_space", 98 * s, 0, "there is no heap profile at 1m38s; the recording ends after 3.20s"},
		{"cpu", 99 * s, 99 * s, "there is no CPU profile at 1m39s; they are from 0s to 3s"},
		{"inuse_space", 3210 * time.Millisecond, 3210 * time.Millisecond, ""}, // it is printed as 3.20s
		{"inuse_space", 2 * s, 99 * s, ""},
		{"alloc_space", 0, 99 * s, ""},
		{"alloc_space", 3100 * time.Millisecond, 3200 * time.Millisecond, "there is no heap profile after 3.1s; 3 were taken from 1s to 3s"},
		{"alloc_space", 3100 * time.Millisecond, 0, "there is no heap profile after 3.1s; 3 were taken from 1s to 3s"},
	}
	both(t, func(t *testing.T, r *Recording) {
		ended, open := *r, *r
		ended.Manifest = &Manifest{How: Built, Started: time.Unix(100, 0), Ended: time.Unix(103, 200e6)}
		open.Manifest = &Manifest{How: Built, Started: time.Unix(100, 0)}
		for _, test := range tests {
			_, _, err := ended.Pick(test.metric, test.from, test.to)
			if (err == nil) != (test.want == "") || err != nil && !strings.Contains(err.Error(), test.want) {
				t.Errorf("Pick(%q, %s, %s): %v; want %q", test.metric, test.from, test.to, err, test.want)
			}
		}
		if _, _, err := open.Pick("inuse_space", 99*s, 99*s); err != nil {
			t.Errorf("while it runs: %v", err)
		}
	})
}

// What a recorder stored is packed with the recording; what is packed, or damaged, stays.
func TestSqueeze(t *testing.T) {
	text := bytes.Repeat([]byte("a profile says the same again and again\n"), 5000)
	gzipped := func(level int) []byte {
		var b bytes.Buffer
		w, err := gzip.NewWriterLevel(&b, level)
		if err != nil {
			t.Fatal(err)
		}
		w.Write(text)
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		return b.Bytes()
	}
	stored := gzipped(gzip.NoCompression)
	small := squeeze(stored)
	r, err := gzip.NewReader(bytes.NewReader(small))
	if err != nil {
		t.Fatal(err)
	}
	if got, err := io.ReadAll(r); err != nil || !bytes.Equal(got, text) || len(small) > len(text)/20 {
		t.Errorf("%d bytes of it are %d, %v", len(small), len(got), err)
	}
	for name, in := range map[string][]byte{
		"nothing": nil, "no gzip": text, "header": stored[:10], "cut": stored[:len(stored)/2], "packed": gzipped(gzip.BestSpeed),
	} {
		if out := squeeze(in); !bytes.Equal(out, in) {
			t.Errorf("%s: %d bytes became %d", name, len(in), len(out))
		}
	}
}

func TestPickErrors(t *testing.T) {
	both(t, func(t *testing.T, r *Recording) {
		for metric, want := range map[string]string{
			"mutex":    "has no metric mutex; it has cpu, cpu:samples, heap, heap:inuse_objects",
			"heap:cpu": "heap profiles have no cpu; they have inuse_space",
			"nonsense": "has no metric nonsense",
		} {
			if _, _, err := r.Pick(metric, 0, 0); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("Pick(%q): %v, want %q", metric, err, want)
			}
		}
		_, _, err := r.Pick("cpu", 10*time.Second, 20*time.Second)
		if want := "there is no CPU profile between 10s and 20s; they are from 0s to 3s"; err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("Pick after the end: %v, want %q", err, want)
		}
	})
}

// TestDamaged checks that what a killed program was writing does not spoil the rest.
func TestDamaged(t *testing.T) {
	dir := folder(t)
	write(t, filepath.Join(dir, "heap", "000004000.pb.gz"), "\x1f\x8b nonsense")
	write(t, filepath.Join(dir, "cpu", "000003000-000004000.pb.gz"), "")
	write(t, filepath.Join(dir, "cpu", ".000004000-000005000.pb.gz"), "half")
	write(t, filepath.Join(dir, "cpu", "README"), "not ours")
	r, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	cpu, _, err := r.Pick("cpu", 0, 0)
	if err != nil {
		t.Fatal(err)
	}
	if got := values(t, cpu.Profile, "cpu")["main.a"]; got != 30 || !strings.Contains(strings.Join(cpu.Profile.Notes, ";"), "is damaged") {
		t.Errorf("main.a costs %d, notes %q; want 30 and a note about the part that is lost", got, cpu.Profile.Notes)
	}
	heap, _, err := r.Pick("heap", 0, 0)
	if err != nil {
		t.Fatal(err)
	}
	if got := values(t, heap.Profile, "inuse_space")["main.a"]; got != 21 || heap.Profile.Damage == nil {
		t.Errorf("the heap before the damaged one has %d, damage %v; want 21 and a mention", got, heap.Profile.Damage)
	}
	// What was allocated between two times is that between the whole ones.
	allocs, _, err := r.Pick("alloc_space", time.Second, 4*time.Second)
	if err != nil {
		t.Fatal(err)
	}
	if got := values(t, allocs.Profile, "alloc_space")["main.a"]; got != 200 {
		t.Errorf("from 1s on, main.a allocated %d, want 200", got)
	}
}

// TestDamagedNames checks that of many damaged profiles only some are named, and that what can be read of damaged ones is the answer
// where none is whole.
func TestDamagedNames(t *testing.T) {
	dir := folder(t)
	first := filepath.Join(dir, filepath.FromSlash(PartFile(CPU, 0, time.Second)))
	whole, err := os.ReadFile(first)
	if err != nil {
		t.Fatal(err)
	}
	for i := range time.Duration(10) {
		write(t, filepath.Join(dir, filepath.FromSlash(PartFile(CPU, (i+3)*time.Second, (i+4)*time.Second))), "\x1f\x8b nonsense")
	}
	notes := func() []string {
		r, err := Open(dir)
		if err != nil {
			t.Fatal(err)
		}
		p, _, err := r.Pick("cpu", 0, 0)
		if err != nil {
			t.Fatal(err)
		}
		if p.Profile.Damage == nil {
			t.Error("the answer is said to be whole")
		}
		return p.Profile.Notes
	}
	if got := notes(); len(got) != maxDamaged+1 || !strings.Contains(got[maxDamaged], "5 more cpu profiles are damaged") {
		t.Errorf("notes are %q", got)
	}
	for i := range time.Duration(3) {
		write(t, filepath.Join(dir, filepath.FromSlash(PartFile(CPU, i*time.Second, (i+1)*time.Second))), string(whole[:len(whole)-10]))
	}
	got := strings.Join(notes(), "; ")
	if want := PartFile(CPU, 0, time.Second) + ": the profile is damaged after 2 samples"; !strings.Contains(got, want) {
		t.Errorf("notes are %q, want one with %q", got, want)
	}
	if strings.Contains(got, PartFile(CPU, 0, time.Second)+" is damaged") {
		t.Errorf("notes %q say that what is in the answer is not", got)
	}
}

func TestSources(t *testing.T) {
	both(t, func(t *testing.T, r *Recording) {
		text, err := r.Sources.Find("/build/main.go", "main.a", 3)
		if err != nil || len(text.Lines) != 3 || text.Lines[0] != "package main" || len(text.Notes) != 1 {
			t.Errorf("Find = %q, %v", text, err)
		}
		for _, file := range []string{"/build/evil.go", "/build/gone.go", "/build/other.go"} {
			if text, err := r.Sources.Find(file, "", 0); err == nil {
				t.Errorf("Find(%s) = %q, want an error", file, text)
			}
		}
	})
}

func TestOpenErrors(t *testing.T) {
	cut := filepath.Join(t.TempDir(), "cut.hone")
	write(t, cut, string(packedFolder(t)[:100]))
	newer := folder(t)
	write(t, filepath.Join(newer, manifestFile), `{"format": 99, "hone": "v9"}`)
	odd := folder(t)
	write(t, filepath.Join(odd, manifestFile), `{"format": "x"`)
	foreign := t.TempDir()
	for name, want := range map[string]string{
		cut:                        "only the beginning of one",
		newer:                      "install a newer one",
		odd:                        "reading manifest.json",
		foreign:                    "not a recording",
		filepath.Join(odd, "nope"): "no such file",
	} {
		if _, err := Open(name); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("Open(%s): %v, want %q", name, err, want)
		}
	}
	if _, err := Open(foreign); !errors.Is(err, ErrNotRecording) {
		t.Errorf("Open of an empty folder: %v", err)
	}
}

func TestPartNames(t *testing.T) {
	for _, name := range []string{
		"cpu/000000000-000001000.pb.gz", "cpu/1234567890-1234567891.pb.gz", "heap/000005000.pb.gz", "goroutine/000000001.pb.gz",
		"cpu/000000000-1209600000000.pb.gz", // 2000 weeks of a store
	} {
		p, ok := parsePart(name)
		if got := PartFile(p.Kind, p.From, p.To); !ok || got != name {
			t.Errorf("%s is read as %+v, which is written %s", name, p, got)
		}
	}
	for _, name := range []string{
		"cpu/000001000.pb.gz", "heap/000000000-000001000.pb.gz", "cpu/000002000-000001000.pb.gz", "x/000001000.pb.gz",
		"heap/-1.pb.gz", "heap/1e3.pb.gz", "heap/9999999999999999.pb.gz", "heap/99999999999999999999.pb.gz", "heap/000001000.pb", "../heap/000001000.pb.gz",
	} {
		if p, ok := parsePart(name); ok {
			t.Errorf("%s is taken for %+v", name, p)
		}
	}
}

func FuzzSeries(f *testing.F) {
	f.Add(`{"t": 0, "process/rss": 1}` + "\n" + `{"t": 1000, "a": 2.5, "b": null}` + "\n" + `{"t": 2`)
	f.Add(`{"t": -1}` + "\n" + `[]` + "\n\n" + `{"t": 5, "t": 4}` + "\n" + `{"t": 1e300}`)
	f.Fuzz(func(t *testing.T, text string) {
		s, err := parseSeries(strings.NewReader(text))
		if err != nil {
			return
		}
		if !slices.IsSorted(s.Times) {
			t.Errorf("times are %v", s.Times)
		}
		for name, col := range s.values {
			if len(col) != len(s.Times) {
				t.Errorf("%s has %d values at %d times", name, len(col), len(s.Times))
			}
		}
	})
}

func FuzzOpen(f *testing.F) {
	f.Add([]byte("PK\x03\x04"))
	whole := packedFolder(f)
	f.Add(whole)
	f.Add(whole[:len(whole)-100])
	f.Add(whole[:len(whole)/2])
	f.Fuzz(func(t *testing.T, b []byte) {
		name := filepath.Join(t.TempDir(), "x.hone")
		if err := os.WriteFile(name, b, 0o600); err != nil {
			t.Fatal(err)
		}
		r, err := Open(name)
		if err != nil {
			return
		}
		defer r.Close()
		for _, m := range append(r.Metrics(), "") {
			r.Pick(m, 0, 0)
			r.Pick(m, time.Second, 2*time.Second)
		}
		Metrics.Read(r)
	})
}

// Between two CPU profiles that follow one another there is a moment in which none is taken.
func TestSampled(t *testing.T) {
	ms := func(n int) time.Duration { return time.Duration(n) * time.Millisecond }
	var r Recording
	r.Parts = map[string][]Part{CPU: {{From: ms(5), To: ms(1000)}, {From: ms(1001), To: ms(2000)}, {From: ms(5000), To: ms(6000)}}}
	for at, want := range map[time.Duration]time.Duration{
		0: 0, ms(5): ms(5), ms(500): ms(500), ms(1000): ms(1000) - 1, ms(1001): ms(1001), ms(2050): ms(2000) - 1, ms(3000): ms(3000), ms(7000): ms(7000),
	} {
		if got := r.sampled(at); got != want {
			t.Errorf("at %v the profile of %v, want %v", at, got, want)
		}
	}
}

// Of several traces that a flight recorder kept, the one of the latest trouble counts, or else that of the end.
func TestTraceOfTrouble(t *testing.T) {
	for _, tt := range []struct {
		events []time.Duration // milliseconds
		want   string
	}{
		{nil, "flight/000009000.out"},
		{[]time.Duration{900}, "flight/000001004.out"},
		{[]time.Duration{900, 5000}, "flight/000005000.out"},
		{[]time.Duration{8990}, "flight/000009000.out"},
		{[]time.Duration{9100}, "flight/000009000.out"}, // it could not be written then
	} {
		dir := folder(t)
		m := &Manifest{Format: Format}
		for _, at := range tt.events {
			m.Events = append(m.Events, Event{At: at*time.Millisecond + 700*time.Microsecond, Of: Latency, Request: "GET /"})
		}
		if err := WriteManifest(dir, m); err != nil {
			t.Fatal(err)
		}
		for _, name := range []string{"000001004.out", "000005000.out", "000009000.out"} {
			write(t, filepath.Join(dir, FlightDir, name), "go 1.26 trace")
		}
		r, err := Open(dir)
		if err != nil {
			t.Fatal(err)
		}
		if got := r.traceIn(); got != tt.want || r.Manifest.Slow() != (len(tt.events) > 0) {
			t.Errorf("after trouble at %v it is %s, want %s", tt.events, got, tt.want)
		}
		if s := r.Manifest.stripped(); s.Slow() != r.Manifest.Slow() || s.Slow() && (s.Events[0].Request != "" || r.Manifest.Events[0].Request == "") {
			t.Errorf("stripped, it has %+v", s.Events)
		}
		r.Close()
	}
}
