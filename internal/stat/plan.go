package stat

import "math"

// A Plan says when to look at pairs of measurements that come in one after the other, and how sure to be. Looking often
// at a fixed level would call every change a change sooner or later; here the chance of a false call is shared out among
// all the points where one can be made, so that it is at most Alpha in a whole trial, whatever the noise.
type Plan struct {
	Alpha  float64 // the zero Plan uses 0.01
	Within float64 // a change below this share counts as none: 0.01 is 1 %. 0 is that.
	Surely bool    // call a change only if it is surely beyond Within, not only if it is surely not zero and measured beyond
	Looks  []int   // after so many pairs; nil is 9, 13, 19, 28, 41 and 60
}

// defaultLooks are the numbers of pairs after which a Plan looks. At the usual Alpha, nine are the fewest that can tell.
var defaultLooks = []int{9, 13, 19, 28, 41, 60}

// freshAlpha is the one-sided level at which the pairs that confirm a change have to show it by themselves.
const freshAlpha = 0.1

const (
	// DefaultAlpha is the chance of a false call that a Plan takes when it is not told.
	DefaultAlpha = 0.01
	// DefaultWithin is the share below which a change counts as none when a Plan is not told.
	DefaultWithin = 0.01
)

func (p Plan) resolve() Plan {
	if p.Alpha == 0 {
		p.Alpha = DefaultAlpha
	}
	if p.Within == 0 {
		p.Within = DefaultWithin
	}
	if p.Looks == nil {
		p.Looks = defaultLooks
	}
	return p
}

// Level returns the confidence of the interval at each point where a trial can end. A false call at a look needs pairs
// that show a change at this level and, independently of them, fresh ones that confirm it; and when time is up, pairs that
// show one. By that the chances of a false call add up to Alpha.
func (p Plan) Level() float64 {
	p = p.resolve()
	return 1 - p.Alpha/(1+freshAlpha*float64(len(p.Looks)))
}

// corrected returns the chance that a trial of which nothing is true ends in a p-value as small as this at a point where
// a change is called. Where none is, all points count at which a trial can end.
func (p Plan) corrected(single float64, v Verdict) float64 {
	looks := float64(len(p.Looks))
	if v == Same {
		return min(1, single*(2*looks+1))
	}
	return min(1, single+looks*min(single, freshAlpha*(1-p.Level())))
}

// Fewest returns the fewest pairs that can tell anything.
func (p Plan) Fewest() int { return p.resolve().Looks[0] }

// confirmed returns how many pairs there are when a change seen after n has been confirmed.
func confirmed(n int) int { return n + (n+1)/2 }

// Judge follows a trial: ds are the logarithms of new/old of its pairs in the order in which they were measured. When more
// are needed to decide, want says how many in all. A change is called when Verdict sees one, and as many pairs again as half of
// those before confirm it by themselves.
func (p Plan) Judge(ds []float64) (c Comparison, want int) {
	p = p.resolve()
	from := 0
	for _, n := range p.Looks {
		if n < from {
			continue // the pairs that were to confirm a change went past it
		}
		if len(ds) < n {
			return p.comparison(ds, Undecided), n
		}
		v := p.Verdict(Middle(ds[:n], p.Level()))
		switch v {
		case Same:
			return p.comparison(ds[:n], Same), 0
		case Undecided:
			continue
		}
		m := confirmed(n)
		if len(ds) < m {
			return p.comparison(ds, Undecided), m
		}
		switch all := p.Verdict(Middle(ds[:m], p.Level())); {
		case all == Same, all == v && p.confirms(ds[n:m], v):
			return p.comparison(ds[:m], all), 0
		}
		from = m
	}
	return p.comparison(ds, Undecided), 0
}

// Verdict says what a change in an interval shows. All three are logarithms of new/old.
func (p Plan) Verdict(mid, lo, hi float64) Verdict {
	p = p.resolve()
	within, limit := math.Log1p(p.Within), p.limit()
	switch {
	case -within < lo && hi < within:
		return Same
	case lo > limit && mid >= within:
		return Higher
	case hi < -limit && mid <= -within:
		return Lower
	}
	return Undecided
}

// limit is the logarithm of the largest change that is ruled out when one is called.
func (p Plan) limit() float64 {
	if p.Surely {
		return math.Log1p(p.Within)
	}
	return 0
}

// confirms reports whether fresh pairs show by themselves what was seen before them.
func (p Plan) confirms(fresh []float64, v Verdict) bool {
	if v == Lower {
		fresh = negated(fresh)
	}
	return signedRankAbove(shifted(fresh, -p.limit())) <= freshAlpha
}

// Conclude judges a trial for which there is no more time. That must not depend on what its pairs show.
func (p Plan) Conclude(ds []float64) Comparison {
	c, want := p.Judge(ds)
	if want > 0 {
		c = p.comparison(ds, p.Verdict(Middle(ds, p.Level())))
	}
	return c
}

// comparison says what ds show.
func (p Plan) comparison(ds []float64, v Verdict) Comparison {
	p = p.resolve()
	mid, lo, hi := Middle(ds, p.Level())
	return Comparison{
		Ratio: math.Exp(mid), Lo: math.Exp(lo), Hi: math.Exp(hi),
		P: p.corrected(p.chance(ds, mid), v), N: len(ds), Verdict: v,
	}
}

// chance returns how often pairs with that middle would show as much as ds do if the change were none, or, with Surely, not beyond Within.
func (p Plan) chance(ds []float64, mid float64) float64 {
	switch limit := p.limit(); {
	case mid > limit:
		return SignedRank(shifted(ds, -limit))
	case mid < -limit:
		return SignedRank(shifted(ds, limit))
	case limit > 0:
		return 1
	}
	return SignedRank(ds)
}

// Resolution returns the smallest change that a trial can tell from none when pairs spread by so much around their middle:
// half of the interval after the last look.
func (p Plan) Resolution(spread float64) float64 {
	p = p.resolve()
	n := float64(p.Looks[len(p.Looks)-1])
	// A normal interval from ranks is 2 % wider than one from the mean.
	return math.Expm1(1.02 * quantile(1-(1-p.Level())/2) * spread / math.Sqrt(n))
}

// quantile returns the value that a standard normal variable stays below with chance p.
func quantile(p float64) float64 { return math.Sqrt2 * math.Erfinv(2*p-1) }

func shifted(ds []float64, by float64) []float64 {
	out := make([]float64, len(ds))
	for i, d := range ds {
		out[i] = d + by
	}
	return out
}

func negated(ds []float64) []float64 {
	out := make([]float64, len(ds))
	for i, d := range ds {
		out[i] = -d
	}
	return out
}
