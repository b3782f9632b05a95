package notice

import (
	"cmp"
	"math"
	"slices"

	"github.com/hone-perf/hone/internal/order"
)

// A cause is a function because of which a service costs more or less.
type cause struct {
	function      int32
	before, after float64 // before is scaled to the amount of work after
	z             float64
	callers       []payer
	with          []int32
	touched       map[int32]bool // all functions above and below it
}

func (c *cause) delta() float64 { return c.after - c.before }

// A payer is a caller, and its part of a change.
type payer struct {
	function int32
	share    float64
}

// A noise is the variance of counts, of their mean, and that of relative costs. Both are by function.
type noise struct {
	spread, wander func(f int32) float64
}

// most is how many causes are looked for at once, and how many functions are listed with one.
const (
	mostCauses = 4
	mostWith   = 8
	mostPayers = 5
)

// besideLarge is how large a change must be, next to the largest one at the same time: a function that now costs half as much again as all of the service
// changes how caches and the collector work for all others, and makes it uncertain how much work there was.
const besideLarge = 0.1

// A comparison is the samples of two sides, those of the first multiplied such that they stand for as much work as the other.
type comparison struct {
	names   *names
	stacks  [][]int32 // from the entry on
	entered [][]int32 // whole
	rows    []int     // of their entries
	values  []float64
	unit    float64   // of a sample
	again   []float64 // by row: what the first side was multiplied by once more, since causes were taken out
	first   int       // how many of them are from before
	known   float64
	total   float64 // after
	noise
}

// compare combines two sides; ratio is how much more work there was after, by row. It is 0 for rows that cannot be compared.
func (m *memory) compare(before, after *costs, ratio []float64, known float64, n noise) *comparison {
	c := &comparison{names: m.names, known: known, noise: n, total: after.total(), unit: m.unit, again: make([]float64, len(m.entries))}
	for row := range c.again {
		c.again[row] = 1
	}
	add := func(side *costs, factor func(row int) float64) {
		for i, s := range side.stacks {
			row := m.row(side.entries[i])
			f := factor(row)
			if f <= 0 {
				continue
			}
			at := slices.Index(s, side.entries[i])
			c.stacks = append(c.stacks, s[at:])
			c.entered = append(c.entered, s)
			c.rows = append(c.rows, row)
			c.values = append(c.values, side.values[i]*f)
		}
	}
	add(before, func(row int) float64 { return ratio[row] })
	c.first = len(c.stacks)
	add(after, func(row int) float64 {
		if ratio[row] <= 0 {
			return 0
		}
		return 1
	})
	return c
}

// sums returns the cost of the stacks with each function, except those that are left out.
func (c *comparison) sums(out []bool, within int32) (before, after []float64) {
	n := len(c.names.functions)
	before, after = make([]float64, n), make([]float64, n)
	last := make([]int, n)
	for i, s := range c.stacks {
		if out[i] || within >= 0 && !slices.Contains(s, within) {
			continue
		}
		to := after
		if i < c.first {
			to = before
		}
		for _, f := range s {
			if last[f] != i+1 {
				last[f] = i + 1
				to[f] += c.values[i]
			}
		}
	}
	return before, after
}

func (c *comparison) z(f int32, before, after float64) float64 {
	return deviates(after, before, before*c.known, c.spread(f), c.wander(f))
}

// causes returns what explains the changes, the largest first. Functions that changed because one that they call did, or one that
// calls them, are no causes of their own.
func (c *comparison) causes(sure float64) []*cause {
	out := make([]bool, len(c.stacks))
	var found []*cause
	for len(found) < mostCauses {
		before, after := c.sums(out, -1)
		best, bestZ := int32(-1), 0.0
		for f := range before {
			if math.Abs(after[f]-before[f]) < worth*c.total {
				continue
			}
			if z := c.z(int32(f), before[f], after[f]); math.Abs(z) > max(sure, math.Abs(bestZ)) {
				best, bestZ = int32(f), z
			}
		}
		if best < 0 {
			break
		}
		best = c.climb(best, out)
		found = append(found, c.cause(best, out))
		for i, s := range c.stacks {
			out[i] = out[i] || slices.Contains(s, best)
		}
		c.measure(out, best)
	}
	slices.SortStableFunc(found, func(a, b *cause) int { return cmp.Compare(math.Abs(b.delta()), math.Abs(a.delta())) })
	return slices.DeleteFunc(found, func(x *cause) bool { return math.Abs(x.delta()) < besideLarge*math.Abs(found[0].delta()) })
}

// measure measures again how much work there was below the entries that a cause is a part of, by what is not left out: a large change moves functions that
// others call as well, such as those of the runtime, so that most functions of an entry may move with it. All else then looks like a change the other way.
func (c *comparison) measure(out []bool, f int32) {
	rows := len(c.again)
	part, all := make([]float64, rows), make([]float64, rows)
	for i, s := range c.stacks {
		all[c.rows[i]] += c.values[i]
		if slices.Contains(s, f) {
			part[c.rows[i]] += c.values[i]
		}
	}
	for row := range rows {
		if part[row] < uncertain*all[row] {
			continue
		}
		before, after := make([]float64, len(c.names.functions)), make([]float64, len(c.names.functions))
		for i, s := range c.stacks {
			switch leaf := s[len(s)-1]; {
			case out[i] || c.rows[i] != row:
			case i < c.first:
				before[leaf] += c.values[i]
			default:
				after[leaf] += c.values[i]
			}
		}
		ratio := together(before, after, c.unit)
		if ratio <= 0 {
			continue
		}
		c.again[row] *= ratio
		for i := range c.first {
			if c.rows[i] == row {
				c.values[i] *= ratio
			}
		}
	}
}

// uncertain is the share of the cost of an entry from which on a cause makes the amount of work uncertain.
const uncertain = 0.1

// climb returns the function that explains what f does and what else changed the same way beside it, if there is one: the lowest one
// below which all of that is.
func (c *comparison) climb(f int32, out []bool) int32 {
	for range 20 {
		before, after := c.sums(out, -1)
		insideB, insideA := c.sums(out, f)
		now := after[f] - before[f]
		up, upRest := int32(-1), 0.0
		for g := range before {
			if int32(g) == f || insideB[g]+insideA[g] < 0.5*(before[f]+after[f]) {
				continue // f is not below it, or only a part
			}
			d := after[g] - before[g]
			rb, ra := before[g]-insideB[g], after[g]-insideA[g]
			if rb < 0.001*c.total && ra < 0.001*c.total && before[g]+after[g] <= before[f]+after[f] {
				continue // it is below f
			}
			rest := ra - rb
			if rest*now <= 0 || math.Abs(rest) < max(0.15*math.Abs(now), worth/2*c.total) || math.Abs(d) < math.Abs(now) {
				continue
			}
			if z := c.z(int32(g), rb, ra); math.Abs(z) < sure*0.8 {
				continue
			}
			// Of those that explain as much, the lowest one.
			if up < 0 || math.Abs(rest) > 1.1*math.Abs(upRest) ||
				math.Abs(rest) > 0.9*math.Abs(upRest) && before[g]+after[g] < before[up]+after[up] {
				up, upRest = int32(g), rest
			}
		}
		if up < 0 {
			return f
		}
		f = up
	}
	return f
}

// cause describes a change of f.
func (c *comparison) cause(f int32, out []bool) *cause {
	before, after := c.sums(out, f)
	all := &cause{function: f, before: before[f], after: after[f], touched: map[int32]bool{}}
	all.z = c.z(f, all.before, all.after)
	delta := all.delta()
	callers := map[int32]float64{}
	for i, s := range c.entered {
		if out[i] || !slices.Contains(c.stacks[i], f) {
			continue
		}
		for _, g := range s {
			all.touched[g] = true
		}
		v := c.values[i]
		if i < c.first {
			v = -v
		}
		if at := slices.Index(s, f); at > 0 {
			callers[s[at-1]] += v
		}
	}
	for g, d := range callers {
		if share := d / delta; share >= 0.02 {
			all.callers = append(all.callers, payer{g, share})
		}
	}
	order.Stable(all.callers, func(a, b payer) int {
		return cmp.Or(cmp.Compare(b.share, a.share), cmp.Compare(a.function, b.function))
	})
	all.callers = all.callers[:min(len(all.callers), mostPayers)]
	type part struct {
		f int32
		d float64
	}
	var parts []part
	for g := range before {
		d := after[g] - before[g]
		if int32(g) == f || d*delta <= 0 || math.Abs(d) < max(0.1*math.Abs(delta), worth/4*c.total) {
			continue
		}
		if at := before[g] + after[g]; at > before[f]+after[f] || c.above(int32(g), f) {
			continue
		}
		if math.Abs(c.z(int32(g), before[g], after[g])) > sure*0.6 {
			parts = append(parts, part{int32(g), math.Abs(d)})
		}
	}
	order.Stable(parts, func(a, b part) int { return cmp.Or(cmp.Compare(b.d, a.d), cmp.Compare(a.f, b.f)) })
	for _, p := range parts[:min(len(parts), mostWith)] {
		all.with = append(all.with, p.f)
	}
	return all
}

// above reports whether g is nearer to the root than f, on the first stack with both.
func (c *comparison) above(g, f int32) bool {
	for _, s := range c.stacks {
		a, b := slices.Index(s, g), slices.Index(s, f)
		if a >= 0 && b >= 0 {
			return a < b
		}
	}
	return false
}

// ratios returns by row how much more the second side costs: how most functions below the entry moved together.
func (m *memory) ratios(before, after *table) []float64 {
	out := make([]float64, len(m.entries))
	for row := range m.entries {
		out[row] = together(before.self[row], after.self[row], m.unit)
	}
	return out
}

// together returns how most functions moved from b to x, by their own costs; it is 0 when that is not known.
func together(b, x []float64, unit float64) float64 {
	ratios, weights := make([]float64, len(b)), make([]float64, len(b))
	top, bottom := 0.0, 0.0
	for f := range b {
		top, bottom = top+x[f], bottom+b[f]
	}
	if top <= 0 || bottom <= 0 {
		return 0
	}
	all := top / bottom
	for f := range b {
		if b[f] > 0 {
			ratios[f] = x[f] / b[f]
			weights[f] = b[f] / (sampleSpread*unit*(1+all) + apart*apart*b[f])
		}
	}
	mid := middle(ratios, weights)
	far := make([]float64, len(b))
	for f := range b {
		if b[f] > 0 {
			far[f] = math.Abs(ratios[f]-mid) / math.Sqrt(sampleSpread*unit*mid*(1+mid)/b[f]+mid*mid*usualWander*usualWander)
		}
	}
	keep := nearest(far, weights)
	top, bottom = 0, 0
	for f := range b {
		if keep[f] && b[f] > 0 {
			w := weights[f] / b[f]
			top, bottom = top+w*x[f], bottom+w*b[f]
		}
	}
	if bottom <= 0 {
		return 0
	}
	return top / bottom
}
