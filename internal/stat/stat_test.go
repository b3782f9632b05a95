package stat

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/aclements/go-moremath/stats"
	"github.com/hone-perf/hone/internal/testrun"
)

// The exact p-value is the share of all ways to choose signs that are as one-sided.
func TestSignedRank(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 200 {
		ds := make([]float64, 1+r.IntN(9))
		for i := range ds {
			ds[i] = float64(r.IntN(9) - 3) // with ties and zeros
		}
		ranks, up := signedRanks(ds)
		all, le, ge := 0, 0, 0
		for set := range 1 << len(ranks) {
			sum := 0
			for i, rank := range ranks {
				if set>>i&1 == 1 {
					sum += rank
				}
			}
			all++
			if sum <= up {
				le++
			}
			if sum >= up {
				ge++
			}
		}
		want := min(1, 2*float64(min(le, ge))/float64(all))
		if got := SignedRank(ds); math.Abs(got-want) > 1e-12 {
			t.Errorf("SignedRank(%v) = %v, want %v", ds, got, want)
		}
		if got, want := signedRankAbove(ds), float64(ge)/float64(all); math.Abs(got-want) > 1e-12 {
			t.Errorf("signedRankAbove(%v) = %v, want %v", ds, got, want)
		}
	}
}

// The interval is the set of shifts that the test does not refuse.
func TestMiddle(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for range 100 {
		ds := make([]float64, 4+r.IntN(20))
		for i := range ds {
			ds[i] = r.NormFloat64()
		}
		level := []float64{0.5, 0.9, 0.99, 0.999}[r.IntN(4)]
		mid, lo, hi := Middle(ds, level)
		if !(lo <= mid && mid <= hi) {
			t.Fatalf("Middle(%v, %v) = %v in %v … %v", ds, level, mid, lo, hi)
		}
		p := func(x float64) float64 {
			shifted := make([]float64, len(ds))
			for i, d := range ds {
				shifted[i] = d - x
			}
			return SignedRank(shifted)
		}
		if math.IsInf(lo, 0) {
			if p(ds[0]-1000) <= 1-level {
				t.Errorf("no interval for %d values at %v, though the test can refuse", len(ds), level)
			}
			continue
		}
		const little = 1e-9
		if p(lo-little) > 1-level || p(hi+little) > 1-level || p(lo+little) <= 1-level || p(hi-little) <= 1-level {
			t.Errorf("Middle(%v, %v) is in %v … %v, but the test says p = %v, %v outside and %v, %v inside", ds, level, lo, hi,
				p(lo-little), p(hi+little), p(lo+little), p(hi-little))
		}
	}
	if mid, lo, hi := Middle(nil, 0.9); !math.IsNaN(mid) || !math.IsInf(lo, -1) || !math.IsInf(hi, 1) {
		t.Errorf("the middle of nothing is %v in %v … %v", mid, lo, hi)
	}
}

// noises are kinds of differences between identical programs: all symmetric, some wild.
var noises = map[string]func(*rand.Rand) float64{
	"normal": func(r *rand.Rand) float64 { return 0.014 * r.NormFloat64() },
	"wild": func(r *rand.Rand) float64 {
		d := 0.014 * r.NormFloat64()
		if r.IntN(10) == 0 {
			d += 0.5 * float64(1-2*r.IntN(2))
		}
		return d
	},
	"coarse": func(r *rand.Rand) float64 { return math.Round(2*r.NormFloat64()) / 100 },
	"uneven": func(r *rand.Rand) float64 { return 0.002 * math.Exp(2*r.Float64()) * r.NormFloat64() },
}

// most returns the most pairs that a trial takes.
func (p Plan) most() int {
	looks := p.resolve().Looks
	return confirmed(looks[len(looks)-1])
}

// trial runs one until it is decided, or when it is hurried, in one of four until its time is up.
func trial(p Plan, r *rand.Rand, noise func(*rand.Rand) float64, shift float64, hurried bool) Comparison {
	var ds []float64
	most := p.most()
	if hurried && r.IntN(4) == 0 {
		most = r.IntN(most)
	}
	for {
		c, want := p.Judge(ds)
		if want == 0 {
			return c
		}
		if want > most {
			for len(ds) < most {
				ds = append(ds, noise(r)+shift)
			}
			return p.Conclude(ds)
		}
		if want <= len(ds) {
			panic("Judge wants what it has")
		}
		for len(ds) < want {
			ds = append(ds, noise(r)+shift)
		}
	}
}

// A whole trial, with all its looks, calls a change where there is none at most as often as promised.
func TestFalseCalls(t *testing.T) {
	if testing.Short() {
		t.Skip("simulates thousands of trials")
	}
	for name, noise := range noises {
		for alpha, trials := range map[float64]float64{0.01: 200, 0.1: 600} {
			r := rand.New(rand.NewPCG(5, 6))
			p := Plan{Alpha: alpha, Within: 0.0001}
			wrong := 0
			for range int(trials) {
				if trial(p, r, noise, 0, true).Verdict.Changed() {
					wrong++
				}
			}
			most := alpha*trials + 3*math.Sqrt(alpha*trials)
			t.Logf("%s: %d of %v called a change at %v", name, wrong, trials, alpha)
			if float64(wrong) > most {
				t.Errorf("%s: %d of %v trials called a change, at most %.0f were promised", name, wrong, trials, most)
			}
		}
	}
}

// And it does find changes, and says the right direction.
func TestPower(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 8))
	const trials = 300
	for _, tt := range []struct {
		change  float64
		atLeast int // of trials
	}{{0.02, 297}, {-0.02, 297}, {0.05, 300}, {0.012, 270}} {
		found, pairs := 0, 0
		for range trials {
			c := trial(Plan{}, r, noises["normal"], math.Log1p(tt.change), false)
			pairs += c.N
			switch {
			case c.Verdict == Higher && tt.change > 0, c.Verdict == Lower && tt.change < 0:
				found++
				if c.Lo > c.Ratio || c.Hi < c.Ratio || c.P > DefaultAlpha {
					t.Errorf("found %+v", c)
				}
			case c.Verdict.Changed():
				t.Errorf("a change of %v was called %+v", tt.change, c)
			}
		}
		t.Logf("%+.1f %%: %d of %d found, %.0f pairs each", 100*tt.change, found, trials, float64(pairs)/trials)
		if found < tt.atLeast {
			t.Errorf("%+.1f %%: %d of %d found, want %d", 100*tt.change, found, trials, tt.atLeast)
		}
	}
}

// Changes below the threshold count as none: what is called was measured beyond it, and with Surely, it is beyond it.
func TestWithin(t *testing.T) {
	around := func(change float64) []float64 {
		ds := make([]float64, 90)
		for i := range ds {
			ds[i] = math.Log1p(change) + 0.002*float64(1+i/2%5)*float64(1-2*(i%2))
		}
		return ds
	}
	for _, tt := range []struct {
		change, within float64
		surely         bool
		want           Verdict
	}{
		{0.05, 0.07, true, Same},
		{0.07, 0.07, true, Undecided},
		{-0.066, 0.07, true, Undecided},
		{0.08, 0.07, true, Higher},
		{-0.08, 0.07, true, Lower},
		{0.012, 0.01, false, Higher},
		{-0.012, 0.01, false, Lower},
		{0.011, 0.01, true, Undecided},
		{0.009, 0.01, false, Undecided},
		{-0.009, 0.01, false, Undecided},
		{0.001, 0.01, false, Same},
	} {
		p := Plan{Within: tt.within, Surely: tt.surely}
		c := p.Conclude(around(tt.change))
		if c.Verdict != tt.want || c.Verdict.Changed() && c.P > DefaultAlpha || tt.surely && c.Verdict == Same && c.P < 1 {
			t.Errorf("%+v: %+v", tt, c)
		}
	}
}

// With Surely, a change that is as large as the threshold is called as rarely as promised.
func TestFalseCallsWithin(t *testing.T) {
	if testing.Short() {
		t.Skip("simulates thousands of trials")
	}
	for name, noise := range noises {
		const alpha, trials, within = 0.1, 600.0, 0.03
		r := rand.New(rand.NewPCG(13, 14))
		wrong := 0
		for i := range int(trials) {
			sign := float64(1 - 2*(i%2))
			if trial(Plan{Alpha: alpha, Within: within, Surely: true}, r, noise, sign*math.Log1p(within), true).Verdict.Changed() {
				wrong++
			}
		}
		most := alpha*trials + 3*math.Sqrt(alpha*trials)
		t.Logf("%s: %d of %v called a change", name, wrong, trials)
		if float64(wrong) > most {
			t.Errorf("%s: %d of %v trials called a change, at most %.0f were promised", name, wrong, trials, most)
		}
	}
}

// The interval holds the truth as often as it says, wherever the trial ended.
func TestCoverage(t *testing.T) {
	r := rand.New(rand.NewPCG(9, 10))
	trials := testrun.Size(500, 150)
	for _, change := range []float64{0, 0.003, 0.01, 0.03} {
		missed := 0
		for range trials {
			c := trial(Plan{Alpha: 0.05, Within: 0.001}, r, noises["normal"], math.Log1p(change), true)
			if c.Lo > 1+change || c.Hi < 1+change {
				missed++
			}
		}
		if most := 0.05*float64(trials) + 3*math.Sqrt(0.05*float64(trials)); float64(missed) > most {
			t.Errorf("a change of %v lay outside of the interval in %d of %d trials", change, missed, trials)
		}
	}
}

func TestUnpaired(t *testing.T) {
	olds, news := []float64{10, 11, 12, 10.5, 11.5, 10.2}, []float64{12.1, 13, 12.5, 14, 13.5, 12.8}
	c := Unpaired(olds, news, 0.01)
	want, err := stats.MannWhitneyUTest(olds, news, stats.LocationDiffers)
	if err != nil || c.Verdict != Higher || c.P != want.P || c.Lo <= 1 || c.N != 6 {
		t.Errorf("%+v, %v; the test says p = %v", c, err, want)
	}
	if c := Unpaired(olds, olds, 0.01); c.Verdict != Undecided || c.Ratio != 1 {
		t.Errorf("a set with itself: %+v", c)
	}
	if c := Unpaired(olds[:2], news[:2], 0.01); c.Verdict != Undecided || len(c.Warnings) == 0 || c.Lo != 0 || !math.IsInf(c.Hi, 1) {
		t.Errorf("two of each: %+v", c)
	}
	many := make([]float64, 300)
	for i := range many {
		many[i] = 100 + float64(i%7)/100
	}
	if c := Unpaired(many, many, 0.01); c.Verdict != Same {
		t.Errorf("300 alike: %+v", c)
	}
	// Its interval holds the truth.
	r := rand.New(rand.NewPCG(11, 12))
	missed := 0
	for range 1000 {
		var a, b [8]float64
		for i := range a {
			a[i], b[i] = math.Exp(0.1*r.NormFloat64()), math.Exp(0.1*r.NormFloat64()+0.3)
		}
		if c := Unpaired(a[:], b[:], 0); math.Log(c.Lo) > 0.3 || math.Log(c.Hi) < 0.3 {
			missed++
		}
	}
	if missed > 70 {
		t.Errorf("the truth lay outside %d times of 1000", missed)
	}
}

func TestExactly(t *testing.T) {
	for _, tt := range []struct {
		olds, news []float64
		verdict    Verdict
		ratio      float64
		ok         bool
	}{
		{[]float64{3, 3}, []float64{3, 3, 3}, Same, 1, true},
		{[]float64{0, 0}, []float64{0, 0}, Same, 1, true},
		{[]float64{0, 0}, []float64{2, 2}, Higher, math.Inf(1), true},
		{[]float64{4, 4}, []float64{1, 1}, Lower, 0.25, true},
		{[]float64{4}, []float64{1, 1}, "", 0, false},
		{[]float64{4, 5}, []float64{1, 1}, "", 0, false},
		{nil, []float64{1}, "", 0, false},
	} {
		c, ok := Exactly(tt.olds, tt.news)
		if ok != tt.ok || c.Verdict != tt.verdict || c.Ratio != tt.ratio {
			t.Errorf("Exactly(%v, %v) = %+v, %v", tt.olds, tt.news, c, ok)
		}
	}
}

func TestDiscoveries(t *testing.T) {
	got := Discoveries([]float64{0.5, 0.001, 0.02, 0.9, 0.03}, 0.05)
	want := []bool{false, true, true, false, true} // 0.03 ≤ 3/5·0.05
	for i := range want {
		if got[i] != want[i] {
			t.Fatalf("%v, want %v", got, want)
		}
	}
	if got := Discoveries([]float64{0.04, 0.04, 0.04, 0.9}, 0.05); got[0] {
		t.Errorf("0.04 three times of four stands")
	}
	if len(Discoveries(nil, 0.05)) != 0 {
		t.Error("of none, some")
	}
}

func TestResolution(t *testing.T) {
	if p := (Plan{}); p.Resolution(0.014) > 0.01 || p.Resolution(0.014) < 0.004 {
		t.Errorf("with a spread of 1.4 %% a change of %v can be told", p.Resolution(0.014))
	}
	if g := GeoMean([]float64{1, 4}); math.Abs(g-2) > 1e-12 {
		t.Errorf("GeoMean is %v", g)
	}
}

func BenchmarkJudge(b *testing.B) {
	r := rand.New(rand.NewPCG(1, 2))
	ds := make([]float64, Plan{}.most())
	for i := range ds {
		ds[i] = 0.05 * r.NormFloat64()
	}
	b.ReportAllocs()
	for b.Loop() {
		Plan{}.Judge(ds)
	}
}
