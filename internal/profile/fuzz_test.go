package profile

import (
	"bytes"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"

	library "github.com/google/pprof/profile"
)

// normal returns data as the pprof library writes it, or false if that cannot read it. What has several readings, such
// as numbers that look like units, has one afterwards.
func normal(data []byte) ([]byte, bool) {
	lp, err := library.ParseData(data)
	if err != nil {
		return nil, false
	}
	var b bytes.Buffer
	if err := lp.WriteUncompressed(&b); err != nil {
		return nil, false
	}
	if lp, err = library.ParseUncompressed(b.Bytes()); err != nil || lp.CheckValid() != nil {
		return nil, false
	}
	return b.Bytes(), true
}

// both reads data, which normal returned, with the pprof library and with hone. The library changes profiles in place,
// so each use needs its own.
func both(t *testing.T, data []byte) (*library.Profile, *Profile) {
	t.Helper()
	lp, err := library.ParseUncompressed(data)
	if err != nil {
		t.Fatal(err)
	}
	p, err := ParseBytes(data)
	if err != nil {
		t.Fatalf("Parse: %v; the pprof library reads it", err)
	}
	return lp, p
}

// sameProfile checks that p is lp, byte for byte.
func sameProfile(t *testing.T, what string, p *Profile, lp *library.Profile) {
	t.Helper()
	var got, want bytes.Buffer
	if err := p.WriteUncompressed(&got); err != nil {
		t.Fatal(err)
	}
	if err := lp.WriteUncompressed(&want); err != nil {
		t.Fatal(err)
	}
	if bytes.Equal(got.Bytes(), want.Bytes()) {
		return
	}
	text := "which the pprof library cannot read"
	if gp, err := library.ParseUncompressed(got.Bytes()); err == nil {
		text = gp.String()
	}
	t.Fatalf("%s:\n%.3000s\nthe pprof library makes it\n%.3000s", what, text, lp)
}

// sameError checks that both failed or neither, and reports whether they failed.
func sameError(t *testing.T, what string, err, lerr error) bool {
	t.Helper()
	if (err == nil) != (lerr == nil) {
		t.Fatalf("%s: error is %v, that of the pprof library %v", what, err, lerr)
	}
	return err != nil
}

// checkAlone compares what can be done to one profile with what the pprof library makes of it.
func checkAlone(t *testing.T, data []byte) {
	t.Helper()
	lp, p := both(t, data)
	m, err := Merge(p)
	if err != nil {
		t.Fatalf("Merge: %v", err)
	}
	sameProfile(t, "Merge of one", m, lp.Compact())

	for _, ratio := range []float64{-1, 0, 0.5, 1, 1.0 / 3, 1000} {
		lp, p := both(t, data)
		ratios := slices.Repeat([]float64{ratio}, len(p.SampleTypes))
		lp.Scale(ratio)
		sameProfile(t, "Scale", p.Scale(ratios), lp)
		if ratio == -1 {
			sameProfile(t, "Negate", p.Negate(), lp)
		}
		// The first as it is: samples that have nothing else go.
		if len(ratios) > 0 {
			ratios[0] = 1
			lp, p = both(t, data)
			lp.ScaleN(ratios)
			sameProfile(t, "Scale of all but the first", p.Scale(ratios), lp)
		}
	}

	lp, p = both(t, data)
	q, err := p.DropUninteresting()
	if !sameError(t, "DropUninteresting", err, lp.RemoveUninteresting()) {
		sameProfile(t, "DropUninteresting", q, lp)
		if m, err = Merge(q); err != nil {
			t.Fatalf("Merge: %v", err)
		}
		sameProfile(t, "Merge after DropUninteresting", m, lp.Compact())
	}
}

// checkPair compares what can be done to two profiles with what the pprof library makes of them.
func checkPair(t *testing.T, a, b []byte) {
	t.Helper()
	la, pa := both(t, a)
	lb, pb := both(t, b)

	q, err := pa.Normalize(pb)
	if !sameError(t, "Normalize", err, la.Normalize(lb)) {
		sameProfile(t, "Normalize", q, la)
		m, err := Merge(q, pb.Negate())
		if err != nil {
			t.Fatalf("Merge: %v", err)
		}
		lb.Scale(-1)
		lm, err := library.Merge([]*library.Profile{la, lb})
		if err != nil {
			t.Fatal(err)
		}
		sameProfile(t, "Merge of normalized and negative", m, lm)
	}

	la, pa = both(t, a)
	lb, pb = both(t, b)
	if repeats(pa.SampleTypes) || repeats(pb.SampleTypes) {
		return // the library counts names and takes two in one profile for one in both
	}
	lerr := library.CompatibilizeSampleTypes([]*library.Profile{la, lb})
	if lerr == nil && (!slices.EqualFunc(la.SampleType, lb.SampleType, sameUnit) || !sameUnit(la.PeriodType, lb.PeriodType)) {
		return // what pprof makes of units is not in the library
	}
	m, err := Merge(pa, pb)
	if lerr == nil {
		var lm *library.Profile
		if lm, lerr = library.Merge([]*library.Profile{la, lb}); lerr == nil {
			if err != nil {
				t.Fatalf("Merge: %v", err)
			}
			sameProfile(t, "Merge", m, lm)
			return
		}
	}
	sameError(t, "Merge", err, lerr)
}

func sameUnit(a, b *library.ValueType) bool { return a.Type == b.Type && a.Unit == b.Unit }

func repeats(types []ValueType) bool {
	for i, t := range types {
		if slices.ContainsFunc(types[:i], func(u ValueType) bool { return u.Type == t.Type }) {
			return true
		}
	}
	return false
}

// checkDiff checks what must hold for any two profiles that have been put side by side.
func checkDiff(t *testing.T, a, b []byte) {
	t.Helper()
	_, pa := both(t, a)
	_, pb := both(t, b)
	d, err := Diff(pb, pa)
	if err != nil {
		return
	}
	agreed, err := Agree(pa, pb)
	if err != nil {
		t.Fatalf("Agree: %v after Diff", err)
	}
	n := len(agreed[0].SampleTypes)
	for side, p := range agreed {
		for k := range n {
			if got, want := sum(d, side*n+k), sum(p, k); got != want {
				t.Fatalf("Diff: sum of column %d is %d, want %d", side*n+k, got, want)
			}
		}
	}
	self, err := Diff(pa, pa)
	if err != nil {
		t.Fatalf("Diff: %v", err)
	}
	for k := range len(pa.SampleTypes) {
		if !slices.Equal(self.Values(k), self.Values(len(pa.SampleTypes)+k)) {
			t.Fatalf("Diff of a profile and itself: %v and %v", self.Values(k), self.Values(len(pa.SampleTypes)+k))
		}
	}
}

func sum(p *Profile, k int) (n int64) {
	for _, v := range p.Values(k) {
		n += v
	}
	return n
}

// smallCorpus returns profiles of public projects as normal makes them, and drawn ones for what those lack.
func smallCorpus(t testing.TB, limit int) (names []string, profiles [][]byte) {
	for _, f := range append(corpus(t, ""), corpus(t, "malformed")...) {
		data, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		if data, ok := normal(data); ok && len(data) < limit {
			names = append(names, filepath.Base(f))
			profiles = append(profiles, data)
		}
	}
	rnd := rand.New(rand.NewPCG(1, 2))
	for i := range 20 {
		choices := make([]byte, 400)
		for j := range choices {
			choices[j] = byte(rnd.Uint32())
		}
		names = append(names, fmt.Sprintf("drawn%d", i))
		profiles = append(profiles, draw(t, choices))
	}
	return names, profiles
}

// draw makes a profile that choices describe. Its names and numbers are so few that much of it is nearly the same, which
// is where merging can go wrong.
func draw(t testing.TB, choices []byte) []byte {
	pick := func(n int) int {
		if len(choices) == 0 {
			return 0
		}
		c := choices[0]
		choices = choices[1:]
		return int(c) % n
	}
	text := func(of ...string) string { return of[pick(len(of))] }
	number := func(of ...int64) int64 { return of[pick(len(of))] }

	h := Header{
		DefaultType:   text("", "cpu", "samples"),
		DropFrames:    text("", "a", "b|operator", "f.*", "("),
		KeepFrames:    text("", "fa", "f.*"),
		TimeNanos:     number(0, 1, 2),
		DurationNanos: number(0, 1, 2),
		PeriodType:    ValueType{text("cpu", "cpu", "space"), "nanoseconds"},
		Period:        number(0, 1, 2),
		DocURL:        text("", "x", "y"),
	}
	for range pick(3) {
		h.Comments = append(h.Comments, text("one", "two"))
	}
	for range 1 + pick(3) {
		h.SampleTypes = append(h.SampleTypes, ValueType{text("samples", "cpu", "space"), text("count", "count", "count", "bytes")})
	}
	b := NewBuilder(h)
	for range pick(3) {
		start := uint64(number(0, 0x1000, 0x400000, -0x1000))
		b.Mappings = append(b.Mappings, Mapping{
			Start: start, Limit: start + uint64(number(0x1000, 0xfff, 0x1001, 0)), Offset: uint64(number(0, 0x10)),
			File: text("", "bin", "lib"), BuildID: text("", "", "bin", "id"),
			HasFunctions: pick(2) > 0, HasInlineFrames: pick(2) > 0,
		})
	}
	for range 1 + pick(4) {
		name := text("", "a", "b", "fa", "fa(int)", ".b", "operator()(x)", "(anonymous namespace)::fa(int)")
		b.Functions = append(b.Functions, Function{
			Name: name, SystemName: text(name, "a", ""), File: text("", "x.go"), StartLine: number(0, 7),
		})
	}
	for range 1 + pick(6) {
		l := Location{Mapping: int32(pick(len(b.Mappings)+1)) - 1, Folded: pick(4) == 0, Address: uint64(number(0, 1, 0x400001, -1))}
		for range pick(4) {
			l.Lines = append(l.Lines, Line{
				Function: uint32(pick(len(b.Functions))), Line: number(0, 1, -1, 16), Column: number(0, 0, 1, 2),
			})
		}
		b.Locations = append(b.Locations, l)
	}
	b.Renumber()
	for range pick(12) {
		var stack []uint32
		for range pick(5) {
			stack = append(stack, uint32(pick(len(b.Locations))))
		}
		var labels []Label
		for range pick(4) {
			l := Label{Key: text("k", "l", ""), Str: text("x", "y"), Numeric: pick(2) > 0}
			if l.Numeric {
				l.Str, l.Num, l.Unit = "", number(0, 1, -1), text("", "", "bytes", "ms")
				l.HasUnit = l.Unit != ""
			}
			labels = append(labels, l)
		}
		values := make([]int64, len(h.SampleTypes))
		for k := range values {
			values[k] = number(0, 1, -1, 2, 100, math.MaxInt64, math.MinInt64)
		}
		b.Add(stack, b.Labels(labels), values)
	}
	p, err := b.Profile()
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := p.WriteUncompressed(&out); err != nil {
		t.Fatal(err)
	}
	data, ok := normal(out.Bytes())
	if !ok {
		t.Fatalf("the pprof library cannot read what was written: %q", out.Bytes())
	}
	return data
}

func TestMergeCorpus(t *testing.T) {
	names, profiles := smallCorpus(t, 50_000)
	for i, a := range profiles {
		t.Run(names[i], func(t *testing.T) {
			checkAlone(t, a)
			for _, b := range profiles[max(0, i-1) : i+1] {
				checkPair(t, a, b)
				checkDiff(t, a, b)
			}
		})
	}
}

// A sum does not depend on whether profiles are added one by one or all at once.
func TestMergeMany(t *testing.T) {
	for seed := range uint64(50) {
		rnd := rand.New(rand.NewPCG(seed, 3))
		choices := make([]byte, 200)
		var all []*Profile
		var libs []*library.Profile
		for len(all) < 5 {
			for i := range choices {
				// Comments and types stay, so that the profiles fit together.
				if period, types := i == 5, 8 <= i && i < 20; len(all) == 0 || !period && !types {
					choices[i] = byte(rnd.Uint32())
				}
			}
			lp, p := both(t, draw(t, choices))
			all, libs = append(all, p), append(libs, lp)
		}
		m, err := Merge(all...)
		if err != nil {
			t.Fatal(err)
		}
		lm, err := library.Merge(libs)
		if err != nil {
			t.Fatal(err)
		}
		sameProfile(t, "Merge", m, lm)
	}
}

func FuzzMerge(f *testing.F) {
	_, profiles := smallCorpus(f, 3_000)
	for i, a := range profiles {
		f.Add(a, profiles[(i+1)%len(profiles)])
	}
	f.Add([]byte("0123456789abcdefghijklmnopqrstuvwxyz0123456789"), []byte("zyxwvutsrqponmlkjihgfedcba9876543210zyxwvutsr"))
	f.Fuzz(func(t *testing.T, a, b []byte) {
		for _, in := range []*[]byte{&a, &b} {
			data, ok := normal(*in)
			if !ok {
				data = draw(t, *in)
			}
			*in = data
		}
		checkAlone(t, a)
		checkPair(t, a, b)
		checkDiff(t, a, b)
	})
}

func FuzzLabels(f *testing.F) {
	_, profiles := smallCorpus(f, 3_000)
	for _, data := range profiles {
		f.Add(data, "k", "x")
	}
	f.Add([]byte("0123456789abcdefghijklmnopqrstuvwxyz0123456789"), "", "")
	f.Fuzz(func(t *testing.T, data []byte, key, value string) {
		in, ok := normal(data)
		if !ok {
			in = draw(t, data)
		}
		lp, p := both(t, in)
		for i, s := range lp.Sample {
			set := p.LabelSets()[p.Label(i)]
			if got, want := set.Has(key, value), s.HasLabel(key, value); got != want {
				t.Fatalf("sample %d: Has(%q, %q) = %t, the pprof library says %t: %v", i, key, value, got, want, set)
			}
			checkLabelSet(t, set)
		}
		// Sets have one number each.
		sets := p.LabelSets()
		for i, s := range sets {
			for _, other := range sets[:i] {
				if slices.Equal(s, other) {
					t.Fatalf("label set %v is there twice", s)
				}
			}
		}

		lp.SetLabel(key, []string{value})
		with := p.WithLabel(key, value)
		sameProfile(t, "WithLabel", with, lp)
		for i := range with.NumSamples() {
			checkLabelSet(t, with.LabelSets()[with.Label(i)])
		}
		lp.RemoveLabel(key)
		sameProfile(t, "MapLabels, without what was added", withoutLabel(with, key), lp)

		lp, p = both(t, in)
		lp.RemoveLabel(key)
		sameProfile(t, "MapLabels", withoutLabel(p, key), lp)
		sameProfile(t, "MapLabels without a change", withoutLabel(p.MapLabels(func(s LabelSet) LabelSet { return s }), key), lp)
	})
}

// withoutLabel takes a text label away.
func withoutLabel(p *Profile, key string) *Profile {
	return p.MapLabels(func(s LabelSet) LabelSet {
		return slices.DeleteFunc(slices.Clone(s), func(l Label) bool { return !l.Numeric && l.Key == key })
	})
}

// checkLabelSet checks that a set is in order and that Key finds the runs of equal keys.
func checkLabelSet(t *testing.T, set LabelSet) {
	t.Helper()
	seen := make(map[Label]bool)
	for i := 0; i < len(set); i = set.Key(i) {
		run := Label{Key: set[i].Key, Numeric: set[i].Numeric}
		if seen[run] {
			t.Fatalf("key %q is in two places of %v", run.Key, set)
		}
		seen[run] = true
		for _, l := range set[i:set.Key(i)] {
			if l.Key != run.Key || l.Numeric != run.Numeric || l.HasUnit != set[i].HasUnit {
				t.Fatalf("%v is among the labels of %v in %v", l, set[i], set)
			}
		}
		if i > 0 && (set[i-1].Numeric && !set[i].Numeric || set[i-1].Numeric == set[i].Numeric && set[i-1].Key > set[i].Key) {
			t.Fatalf("%v is not in order", set)
		}
	}
}
