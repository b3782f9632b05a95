package pgo

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/hone-perf/hone/internal/profile"
	"github.com/hone-perf/hone/internal/profile/profiletest"
	"github.com/hone-perf/hone/internal/report"
	"github.com/hone-perf/hone/internal/testrun"
)

// generated returns a large profile.
func generated(t *testing.T, c profiletest.Config) *profile.Profile {
	t.Helper()
	var b bytes.Buffer
	if err := profiletest.Write(&b, c); err != nil {
		t.Fatal(err)
	}
	p, err := profile.ParseBytes(b.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// odd returns a small profile with what makes graphs hard: recursion, inlined calls, addresses without a name, samples of one frame.
func odd(seed uint64) *profile.Profile {
	r := rand.New(rand.NewPCG(seed, 1))
	b := profile.NewBuilder(profile.Header{SampleTypes: []profile.ValueType{{Type: "samples", Unit: "count"}, {Type: "cpu", Unit: "nanoseconds"}}})
	for i := range 4 {
		b.Functions = append(b.Functions, profile.Function{Name: "main.f" + strconv.Itoa(i%3), StartLine: int64(10*i + 1)})
	}
	for i := range 12 {
		l := profile.Location{Mapping: profile.NoMapping, Address: uint64(0x1000 + i)}
		for range r.IntN(4) {
			f := r.IntN(len(b.Functions))
			l.Lines = append(l.Lines, profile.Line{Function: uint32(f), Line: int64(10*f + 1 + r.IntN(2))})
		}
		b.Locations = append(b.Locations, l)
	}
	for range 1 + r.IntN(30) {
		var stack []uint32
		for range 1 + r.IntN(4) {
			stack = append(stack, uint32(r.IntN(len(b.Locations))))
		}
		n := int64(r.IntN(5))
		b.Add(stack, b.Labels([]profile.Label{{Key: "id", Str: strconv.Itoa(r.IntN(9))}}), []int64{n, n * 10e6})
	}
	b.Renumber()
	p, err := b.Profile()
	if err != nil {
		panic(err)
	}
	return p
}

// preprofiled returns what Go makes of a profile.
func preprofiled(t *testing.T, p *profile.Profile) []Call {
	t.Helper()
	dir := t.TempDir()
	in, out := filepath.Join(dir, "in.pgo"), filepath.Join(dir, "out")
	f, err := os.Create(in)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(p.Write(f), f.Close()); err != nil {
		t.Fatal(err)
	}
	if said, err := exec.CommandContext(t.Context(), "go", "tool", "preprofile", "-i", in, "-o", out).CombinedOutput(); err != nil {
		t.Fatalf("go tool preprofile: %v\n%s", err, said)
	}
	text, err := os.ReadFile(out)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSuffix(string(text), "\n"), "\n")
	var calls []Call
	for at := 1; at+2 < len(lines); at += 3 {
		c := Call{Site: Site{Caller: lines[at], Callee: lines[at+1]}}
		if _, err := fmt.Sscan(lines[at+2], &c.Offset, &c.Weight); err != nil {
			t.Fatal(err)
		}
		calls = append(calls, c)
	}
	return calls
}

func trim(t *testing.T, p *profile.Profile) (*profile.Profile, *report.PGO) {
	t.Helper()
	out, r, err := Make([]Input{{Name: "in", Profile: p}}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	return out, r
}

// The compiler reads the same from what is left as from the whole profile, and Calls is what it reads.
func TestCompilerSeesTheSame(t *testing.T) {
	profiles := map[string]*profile.Profile{"large": generated(t, profiletest.Config{Kind: profiletest.CPU, Samples: testrun.Size(20_000, 4000), Seed: 1, Labels: true})}
	for seed := range uint64(3) {
		profiles["odd "+strconv.Itoa(int(seed))] = odd(seed)
	}
	for name, p := range profiles {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			small, r := trim(t, p)
			whole, left := preprofiled(t, p), preprofiled(t, small)
			if !slices.Equal(whole, left) {
				t.Errorf("the compiler sees %d calls, and of the whole profile %d", len(left), len(whole))
			}
			if calls := Calls(p); !slices.Equal(calls, whole) {
				t.Errorf("Calls has %d calls, and go tool preprofile %d", len(calls), len(whole))
			}
			if r.Calls != len(whole) || r.KeptCalls != r.Calls || r.Kept != 1 {
				t.Errorf("the report says %+v; there are %d calls", r, len(whole))
			}
			if len(small.LabelSets()) > 1 || len(small.Mappings) > 0 {
				t.Error("labels and mappings are left")
			}
			before, err1 := sizeOf(p)
			after, err2 := sizeOf(small)
			if err := errors.Join(err1, err2); err != nil || after > before || after != r.Size {
				t.Errorf("%d bytes became %d, and the report says %d (%v)", before, after, r.Size, err)
			}
		})
	}
}

func TestOddProfilesKeepCalls(t *testing.T) {
	for seed := range uint64(2000) {
		p := odd(seed)
		want := Calls(p)
		if len(want) == 0 {
			continue
		}
		c, err := read(p)
		if err != nil {
			continue
		}
		tr := newTrimmed([]Input{{Profile: p}})
		tr.add(p, c, 1)
		small, err := tr.profile(len(tr.order))
		if err != nil {
			t.Fatal(err)
		}
		if got := Calls(small); !slices.Equal(got, want) {
			t.Fatalf("seed %d: the calls are %v, want %v", seed, got, want)
		}
	}
}

// program returns a profile of a main that calls one function.
func program(callee string, samples int64, took time.Duration) *profile.Profile {
	b := profile.NewBuilder(profile.Header{SampleTypes: []profile.ValueType{{Type: "samples", Unit: "count"}, {Type: "cpu", Unit: "nanoseconds"}}, DurationNanos: int64(took)})
	b.Functions = []profile.Function{{Name: "main.main", StartLine: 10}, {Name: callee, StartLine: 20}}
	b.Locations = []profile.Location{
		{Mapping: profile.NoMapping, Address: 1, Lines: []profile.Line{{Function: 0, Line: 13}}},
		{Mapping: profile.NoMapping, Address: 2, Lines: []profile.Line{{Function: 1, Line: 25}}},
	}
	b.Renumber()
	b.Add([]uint32{1, 0}, 0, []int64{samples, samples * 10e6})
	p, err := b.Profile()
	if err != nil {
		panic(err)
	}
	return p
}

// The compiler finds a function by the name of its symbol, whatever is shown of it.
func TestNamesOfSymbols(t *testing.T) {
	const symbol = "main.TypeAssert[go.shape.interface { MarshalJSON() ([]uint8, error) }]"
	b := profile.NewBuilder(profile.Header{SampleTypes: []profile.ValueType{{Type: "samples", Unit: "count"}}})
	b.Functions = []profile.Function{
		{Name: "main.TypeAssert[go.shape.interface { MarshalJSON  }]", SystemName: symbol, StartLine: 10},
		{Name: "main.main", StartLine: 1},
	}
	for f := range b.Functions {
		b.Locations = append(b.Locations, profile.Location{Mapping: profile.NoMapping, Address: uint64(0x1000 + f), Lines: []profile.Line{{Function: uint32(f), Line: int64(12 - 9*f)}}})
	}
	b.Add([]uint32{0, 1}, 0, []int64{7})
	b.Renumber()
	p, err := b.Profile()
	if err != nil {
		t.Fatal(err)
	}
	small, _ := trim(t, p)
	if calls := Calls(small); len(calls) != 1 || calls[0].Callee != symbol || calls[0].Caller != "main.main" {
		t.Errorf("%+v, want a call of %s", calls, symbol)
	}
}

func TestWeights(t *testing.T) {
	large, small := program("main.large", 9000, 30*time.Second), program("main.small", 500, 10*time.Second) // 3 cores and half a core
	tests := []struct {
		name   string
		inputs []Input
		o      Options
		large  float64 // share
	}{
		{"by cores", []Input{{Profile: large}, {Profile: small}}, Options{}, 3 / 3.5},
		{"by the cores of all processes", []Input{{Profile: large, Cores: 6}, {Profile: small, Cores: 4}}, Options{}, 0.6},
		{"all the same", []Input{{Profile: large}, {Profile: small}}, Options{Equal: true}, 0.5},
		{"one is given", []Input{{Profile: large}, {Profile: small, Weight: 3}}, Options{}, 0.25},
		{"without a duration", []Input{{Profile: program("main.large", 9000, 0)}, {Profile: small}}, Options{}, 9000 / 9500.0},
	}
	for _, tt := range tests {
		p, r, err := Make(tt.inputs, tt.o)
		if err != nil {
			t.Fatal(err)
		}
		weights, cpu := map[string]int64{}, int64(0)
		for _, c := range Calls(p) {
			weights[c.Callee] = c.Weight
		}
		for _, v := range p.Values(1) {
			cpu += v
		}
		got := float64(weights["main.large"]) / float64(weights["main.large"]+weights["main.small"])
		if math.Abs(got-tt.large) > 1e-3 || math.Abs(r.Inputs[0].Share-tt.large) > 1e-9 {
			t.Errorf("%s: the large one has a share of %.4f and is said to have %.4f, want %.4f", tt.name, got, r.Inputs[0].Share, tt.large)
		}
		if want := int64(9500 * 10e6); cpu < want-10 || cpu > want+10 {
			t.Errorf("%s: the CPU time is %d, want the %d that were measured", tt.name, cpu, want)
		}
	}
}

// Profiles of the same length are added up as they are.
func TestEqualWeightsChangeNothing(t *testing.T) {
	p, _, err := Make([]Input{{Profile: program("main.a", 300, time.Second)}, {Profile: program("main.b", 7, time.Second)}}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if got := Calls(p); len(got) != 2 || got[0].Weight != 300 || got[1].Weight != 7 || got[0].Offset != 3 {
		t.Errorf("the calls are %v, want a with 300 and b with 7, at line 3 of main", got)
	}
}

func TestMaxSize(t *testing.T) {
	p := generated(t, profiletest.Config{Kind: profiletest.CPU, Samples: 5000, Seed: 2})
	_, whole := trim(t, p)
	last := 1.0
	for _, limit := range []int64{whole.Size, whole.Size / 2, whole.Size / 10} {
		small, r, err := Make([]Input{{Name: "in", Profile: p}}, Options{MaxSize: limit})
		if err != nil {
			t.Fatal(err)
		}
		if size, _ := sizeOf(small); size > limit || size != r.Size {
			t.Errorf("with a limit of %d the profile has %d bytes, and the report says %d", limit, size, r.Size)
		}
		if got := float64(weightOf(Calls(small))) / float64(weightOf(Calls(p))); math.Abs(got-r.Kept) > 1e-9 || got > last || r.Kept < float64(limit)/float64(whole.Size)/2 {
			t.Errorf("with a limit of %d, %.3f of the weight is kept, and the report says %.3f", limit, got, r.Kept)
		}
		last = r.Kept
	}
	_, _, err := Make([]Input{{Name: "in", Profile: p}}, Options{MaxSize: 10})
	if !errors.As(err, new(*TooSmallError)) {
		t.Errorf("with a limit of 10 bytes: %v", err)
	}
}

func TestRefused(t *testing.T) {
	bare := program("main.f", 10, time.Second)
	tables := bare.Tables
	tables.Functions = slices.Clone(tables.Functions)
	for i := range tables.Functions {
		tables.Functions[i].StartLine = 0
	}
	_, _, err := Make([]Input{{Name: "old", Profile: bare.WithTables(tables)}}, Options{})
	if !errors.Is(err, ErrNoStartLines) {
		t.Errorf("without the lines where functions begin: %v", err)
	}
	h := bare.Header
	h.SampleTypes = []profile.ValueType{{Type: "inuse_objects", Unit: "count"}, {Type: "inuse_space", Unit: "bytes"}}
	_, _, err = Make([]Input{{Name: "heap", Profile: bare.WithHeader(h)}}, Options{})
	if !errors.As(err, new(*NotCPUError)) {
		t.Errorf("of a heap profile: %v", err)
	}
	none, err := profile.Parse(strings.NewReader("\x0a\x04\x08\x01\x10\x02\x32\x00\x32\x03cpu\x32\x0bnanoseconds")) // a sample type, and its words
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err = Make([]Input{{Name: "none", Profile: none}}, Options{}); err == nil || !strings.HasSuffix(err.Error(), "the profile has no samples") {
		t.Errorf("of a CPU profile without samples: %v", err)
	}
}

func TestDoubts(t *testing.T) {
	in := []Input{{Name: "a.pprof", Profile: program("example.com/shop/cart.Add", 50, time.Second)}}
	has := map[string]bool{"main.main": true}
	o := Options{Module: "example.com/shop", Has: func(name string) bool { return has[name] }}
	for _, tt := range []struct {
		module string
		has    []string
		want   string
	}{
		{"example.com/shop", []string{"main.main", "example.com/shop/cart.Add"}, ""},
		{"example.com/shop", []string{"main.main"}, "such as example.com/shop/cart.Add, are not in the sources"},
		{"example.com/other", nil, "it is of another program"},
	} {
		clear(has)
		for _, name := range tt.has {
			has[name] = true
		}
		o.Module = tt.module
		_, r, err := Make(in, o)
		if err != nil {
			t.Fatal(err)
		}
		notes := r.Notes.String()
		if !strings.Contains(notes, "a.pprof has only 50 samples") {
			t.Errorf("the notes are %q", notes)
		}
		if doubts := strings.Contains(notes, "sources") || strings.Contains(notes, "another"); doubts != (tt.want != "") || !strings.Contains(notes, tt.want) {
			t.Errorf("of %s with %q the notes are %q, want %q", tt.module, tt.has, notes, tt.want)
		}
	}
}
