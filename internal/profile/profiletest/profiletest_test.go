package profiletest

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/google/pprof/profile"
	"github.com/klauspost/compress/gzip"
)

func TestEqualConfigsMakeEqualBytes(t *testing.T) {
	base := Config{Samples: 300, Functions: 500, Labels: true, Raw: true}
	want := Bytes(base)
	if !bytes.Equal(Bytes(base), want) {
		t.Error("the same Config made two profiles")
	}

	zipped := base
	zipped.Raw = false
	zr, err := gzip.NewReader(bytes.NewReader(Bytes(zipped)))
	if err != nil {
		t.Fatal(err)
	}
	got, err := io.ReadAll(zr)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Error("gzip holds another profile than Raw")
	}

	for name, change := range map[string]func(*Config){
		"Kind":        func(c *Config) { c.Kind = Mutex },
		"Samples":     func(c *Config) { c.Samples++ },
		"Seed":        func(c *Config) { c.Seed++ },
		"Run":         func(c *Config) { c.Run++ },
		"Functions":   func(c *Config) { c.Functions *= 2 },
		"TablesLast":  func(c *Config) { c.TablesLast = true },
		"Labels":      func(c *Config) { c.Labels = false },
		"UnpackedIDs": func(c *Config) { c.UnpackedIDs = true },
		"SparseIDs":   func(c *Config) { c.SparseIDs = true },
	} {
		other := base
		change(&other)
		if bytes.Equal(Bytes(other), want) {
			t.Errorf("another %s made the same profile", name)
		}
	}
}

func TestProfilesAreValid(t *testing.T) {
	for kind, types := range map[Kind]string{
		CPU:   "samples/count cpu/nanoseconds default ",
		Heap:  "alloc_objects/count alloc_space/bytes inuse_objects/count inuse_space/bytes default inuse_space",
		Mutex: "contentions/count delay/nanoseconds default ",
	} {
		for bits := range 1 << 5 {
			c := Config{Kind: kind, Samples: 200, Seed: 1, Functions: 400, TablesLast: bits&1 != 0, Labels: bits&2 != 0,
				UnpackedIDs: bits&4 != 0, SparseIDs: bits&8 != 0, Raw: bits&16 != 0}
			t.Run(fmt.Sprintf("%v/%05b", kind, bits), func(t *testing.T) {
				p := parse(t, Bytes(c))
				var got strings.Builder
				for _, st := range p.SampleType {
					fmt.Fprintf(&got, "%s/%s ", st.Type, st.Unit)
				}
				got.WriteString("default " + p.DefaultSampleType)
				if got.String() != types {
					t.Errorf("types are %s, want %s", &got, types)
				}
				if p.TimeNanos == 0 || p.DurationNanos == 0 || p.PeriodType == nil || p.Period == 0 {
					t.Errorf("header says time %d, duration %d, period type %v, period %d; want all of them", p.TimeNanos,
						p.DurationNanos, p.PeriodType, p.Period)
				}
				checkTables(t, p)
				checkSamples(t, p, c)
			})
		}
	}
}

func checkTables(t *testing.T, p *profile.Profile) {
	main := p.Mapping[0]
	if main.BuildID == "" || main.File == "" || !main.HasFunctions || len(p.Mapping) < 3 {
		t.Errorf("first of %d mappings is %v, want a program with libraries", len(p.Mapping), main)
	}
	addresses := map[uint64]bool{}
	for _, l := range p.Location {
		if l.Mapping != main || l.Address < main.Start || l.Address >= main.Limit || addresses[l.Address] {
			t.Errorf("location %d has address %#x, which is outside the program or another location's", l.ID, l.Address)
		}
		addresses[l.Address] = true
		for i, line := range l.Line {
			if line.Line < line.Function.StartLine {
				t.Errorf("location %d is in line %d of %s, which starts at %d", l.ID, line.Line, line.Function.Name,
					line.Function.StartLine)
			}
			if outer := l.Line[len(l.Line)-1]; i < len(l.Line)-1 && line.Function == outer.Function {
				t.Errorf("location %d has %s inlined into itself", l.ID, line.Function.Name)
			}
		}
	}
	names := map[string]bool{}
	for _, f := range p.Function {
		if f.StartLine == 0 || f.Filename == "" || f.SystemName != f.Name || names[f.Name] {
			t.Errorf("function %v is incomplete or was there before", f)
		}
		names[f.Name] = true
	}
}

func checkSamples(t *testing.T, p *profile.Profile, c Config) {
	if len(p.Sample) != c.Samples {
		t.Errorf("%d samples, want %d", len(p.Sample), c.Samples)
	}
	stacks := map[string]bool{}
	keys := map[string]int{}
	for _, s := range p.Sample {
		id := stackID(s)
		if stacks[id] {
			t.Errorf("two samples have the stack %s", id)
		}
		stacks[id] = true
		if n := len(s.Location); n < minDepth || n > maxDepth {
			t.Errorf("stack of %d locations, want %d to %d", n, minDepth, maxDepth)
		}
		if slices.Min(s.Value) < 0 || s.Value[0] == 0 {
			t.Errorf("values are %v, want none negative and the first above 0", s.Value)
		}
		switch c.Kind {
		case CPU:
			if s.Value[1] != s.Value[0]*p.Period {
				t.Errorf("%d samples took %d ns, want %d ns each", s.Value[0], s.Value[1], p.Period)
			}
		case Heap:
			if size := s.NumLabel["bytes"][0]; s.Value[1] != s.Value[0]*size || s.Value[3] != s.Value[2]*size ||
				s.Value[2] > s.Value[0] {
				t.Errorf("values are %v for objects of %d bytes", s.Value, size)
			}
		}
		for k := range s.Label {
			keys[k]++
		}
		for k := range s.NumLabel {
			keys[k]++
		}
	}
	for k, want := range map[string]bool{"endpoint": c.Labels, "user": c.Labels, "request": c.Labels, "bytes": c.Kind == Heap} {
		if got := keys[k] > c.Samples/3; got != want || !want && keys[k] > 0 {
			t.Errorf("label %s is on %d of %d samples", k, keys[k], c.Samples)
		}
	}
}

func TestProgramSharesStacksLikeARealOne(t *testing.T) {
	if testing.Short() {
		t.Skip("needs many samples; only tests use what it checks")
	}
	const n = 20000
	p := parse(t, Bytes(Config{Samples: n, Seed: 7}))

	var frames, recursive int
	contexts := map[string]int{} // samples below each
	leaves := map[uint64]bool{}
	cum := map[string]int{}
	for _, s := range p.Sample {
		frames += len(s.Location)
		leaves[s.Location[0].ID] = true
		seen := map[string]bool{}
		again := false
		path := make([]byte, 0, 512)
		for _, l := range slices.Backward(s.Location) {
			path = binary.AppendUvarint(path, l.ID)
			contexts[string(path)]++
			for _, line := range l.Line {
				name := line.Function.Name
				if !seen[name] {
					cum[name]++
				}
				again = again || seen[name]
				seen[name] = true
			}
		}
		if again {
			recursive++
		}
	}
	inlined := map[int]int{}
	for _, l := range p.Location {
		inlined[len(l.Line)-1]++
	}
	top := 0
	for c, samples := range contexts {
		if samples > n/100 && len(c) < 40 {
			top++
		}
	}

	for _, tt := range []struct {
		what     string
		got      float64
		min, max float64
	}{
		{"locations on a stack", float64(frames) / n, 34, 48},
		{"contexts that a sample adds", float64(len(contexts)) / n, 5, 15}, // fewer the more samples there are
		{"contexts with more than 1 % of the samples", float64(top), 50, 500},
		{"different leaves", float64(len(leaves)), n / 10, n / 2},
		{"functions reached", float64(len(p.Function)), 10000, 20000},
		{"share of stacks with recursion", float64(recursive) / n, 0.05, 0.6},
		{"share of net/http.(*conn).serve", float64(cum["net/http.(*conn).serve"]) / n, 0.3, 0.6},
		{"share of runtime.mallocgc", float64(cum["runtime.mallocgc"]) / n, 0.1, 0.4},
		{"share of locations with inlined frames", 1 - float64(inlined[0])/float64(len(p.Location)), 0.13, 0.17},
		{"locations with four inlined frames or more", float64(len(inlined) - 4), 0, 0},
	} {
		if tt.got < tt.min || tt.got > tt.max {
			t.Errorf("%s: %.4g, want %.4g to %.4g", tt.what, tt.got, tt.min, tt.max)
		}
	}
}

func TestRunsOfOneProgramOverlap(t *testing.T) {
	c := Config{Samples: 4000, Seed: 5, Functions: 2000}
	a := parse(t, Bytes(c))
	c.Run++
	b := parse(t, Bytes(c))
	both, err := profile.Merge([]*profile.Profile{a, b})
	if err != nil {
		t.Fatal(err)
	}
	if most := len(a.Function) + len(b.Function)/4; len(both.Function) > most {
		t.Errorf("two runs have %d functions, want %d at most", len(both.Function), most)
	}
	if shared := 2*c.Samples - len(both.Sample); shared < c.Samples/10 || shared > c.Samples/2 {
		t.Errorf("two runs share %d of %d stacks", shared, c.Samples)
	}
}

func TestOrderOfFields(t *testing.T) {
	kinds := func(c Config) string {
		c.Samples, c.Functions, c.Raw = 50, 300, true
		var b strings.Builder
		fields(t, Bytes(c), func(field, _ int, _ []byte) {
			if s := string("0123456789ABCDE"[field]); !strings.HasSuffix(b.String(), s) {
				b.WriteString(s)
			}
		})
		return b.String()
	}
	if got, want := kinds(Config{TablesLast: true}), "12345"+"6"+"9ABC"; got != want {
		t.Errorf("fields of the order of google/pprof: %s, want %s", got, want)
	}
	got := kinds(Config{})
	if !strings.HasPrefix(got, "9ABC1454") || !strings.HasSuffix(got, "236") || strings.Count(got, "2") < 25 {
		t.Errorf("fields of the order of the Go runtime: %s, want 9ABC1, then 4, 5 and 2 taking turns, then 36", got)
	}
}

func TestLocationsComeBeforeTheirSamples(t *testing.T) {
	seen := map[uint64]bool{}
	samples := 0
	fields(t, Bytes(Config{Samples: 50, Functions: 300, Raw: true}), func(field, _ int, data []byte) {
		switch field {
		case profileLocation:
			_, k := binary.Uvarint(data) // the tag of the id, which comes first
			id, _ := binary.Uvarint(data[k:])
			seen[id] = true
		case profileSample:
			samples++
			fields(t, data, func(field, _ int, ids []byte) {
				for field == sampleLocation && len(ids) > 0 {
					id, k := binary.Uvarint(ids)
					if !seen[id] {
						t.Errorf("sample %d has location %d before its definition", samples, id)
					}
					ids = ids[k:]
				}
			})
		}
	})
	if samples != 50 {
		t.Errorf("%d samples, want 50", samples)
	}
}

func TestUnpackedIDs(t *testing.T) {
	for _, unpacked := range []bool{false, true} {
		fields(t, Bytes(Config{Samples: 20, Raw: true, UnpackedIDs: unpacked}), func(field, _ int, sample []byte) {
			if field != profileSample {
				return
			}
			count := map[int]int{}
			fields(t, sample, func(field, wire int, _ []byte) {
				count[field]++
				if single := wire == 0; single != unpacked {
					t.Errorf("UnpackedIDs %v: field %d has wire type %d", unpacked, field, wire)
				}
			})
			if several := count[sampleLocation] > 1 && count[sampleValue] == 2; several != unpacked {
				t.Errorf("UnpackedIDs %v: sample has fields %v times", unpacked, count)
			}
		})
	}
}

func TestSparseIDs(t *testing.T) {
	p := parse(t, Bytes(Config{Samples: 100, Functions: 300, SparseIDs: true}))
	var huge int
	for _, l := range p.Location {
		if l.ID > 1<<60 {
			huge++
		}
	}
	if huge < len(p.Location)/2 {
		t.Errorf("%d of %d location ids are huge, want most", huge, len(p.Location))
	}
}

// A chunks counts what is written to it.
type chunks struct{ total, largest int }

func (c *chunks) Write(b []byte) (int, error) {
	c.total += len(b)
	c.largest = max(c.largest, len(b))
	return len(b), nil
}

func TestSamplesAreNotHeld(t *testing.T) {
	var c chunks
	if err := Write(&c, Config{Samples: 50000, Functions: 500, Raw: true}); err != nil {
		t.Fatal(err)
	}
	if c.largest > c.total/10 {
		t.Errorf("%d of %d bytes were written at once", c.largest, c.total)
	}
}

func TestConfigErrors(t *testing.T) {
	for _, tt := range []struct {
		c    Config
		want string
	}{
		{Config{Samples: -1}, "making a profile: -1 samples of 0 functions: less than none"},
		{Config{Functions: -3}, "making a profile: 0 samples of -3 functions: less than none"},
		{Config{Kind: 9}, "making a profile: Kind(9) is not a kind"},
	} {
		if err := Write(io.Discard, tt.c); err == nil || err.Error() != tt.want {
			t.Errorf("Write(%+v) = %v, want %s", tt.c, err, tt.want)
		}
	}
}

func TestFewSamples(t *testing.T) {
	for _, n := range []int{0, 1, 2, 3, 5, 8} {
		if p := parse(t, Bytes(Config{Samples: n, Functions: 1})); len(p.Sample) != n {
			t.Errorf("%d samples, want %d", len(p.Sample), n)
		}
	}
}

func BenchmarkWrite(b *testing.B) {
	for _, raw := range []bool{true, false} {
		b.Run(fmt.Sprintf("raw=%v", raw), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				var c chunks
				if err := Write(&c, Config{Samples: 50000, Raw: raw}); err != nil {
					b.Fatal(err)
				}
				b.SetBytes(int64(c.total))
			}
		})
	}
}

func parse(t *testing.T, data []byte) *profile.Profile {
	t.Helper()
	p, err := profile.ParseData(data)
	if err != nil {
		t.Fatal(err)
	}
	if err := p.CheckValid(); err != nil {
		t.Fatal(err)
	}
	return p
}

func stackID(s *profile.Sample) string {
	ids := make([]uint64, len(s.Location))
	for i, l := range s.Location {
		ids[i] = l.ID
	}
	return fmt.Sprint(ids)
}

// fields calls f for each field of a message, with its bytes if it has any.
func fields(t *testing.T, msg []byte, f func(field, wire int, data []byte)) {
	t.Helper()
	for len(msg) > 0 {
		tag, n := binary.Uvarint(msg)
		v, m := binary.Uvarint(msg[max(n, 0):])
		if n <= 0 || m <= 0 || tag&7 != 0 && tag&7 != 2 {
			t.Fatalf("no field at the last %d bytes", len(msg))
		}
		msg = msg[n+m:]
		var data []byte
		if tag&7 == 2 {
			data, msg = msg[:v], msg[v:]
		}
		f(int(tag>>3), int(tag&7), data)
	}
}
