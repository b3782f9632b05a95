package notice

import (
	"cmp"
	"math"
	"slices"
)

// When a function is most of its entry.
const (
	mostParts  = 24   // functions of an entry that are looked at
	leastPart  = 0.08 // of the cost of an entry that one of them has
	largePart  = 0.35 // of the cost of an entry that may hide a change: others say how much work there was
	wholePart  = 0.97 // of the cost of an entry that leaves nothing to compare with
	partFades  = 0.97 // a step
	belongs    = 0.1  // of a function's own cost that may be below a part, when the function is said to be outside
	leastCount = 200  // samples outside that are needed to say anything
)

// A part is a function that is much of its entry, and what else is below it.
//
// How much work there was below an entry is how most of its functions move. When one function that is most of the entry costs less, all
// below it moves together, and looks like less work. But then everything outside it seems to cost more at once, and that has no cause:
// what is outside a function is not what another function calls.
type part struct {
	key    wanderKey // cum says nothing here
	row    int
	share  float64
	inside map[int32]float64 // own costs below it, by function, fading
	wander *wander           // of what is outside
}

type partKey struct {
	function int32
	row      int
}

// addParts takes what the parts of entries cost in a step.
func (m *memory) addParts(c *costs, t *table) {
	if m.parts == nil {
		m.parts = map[partKey]*part{}
	}
	for len(m.own) < len(m.entries) {
		m.own = append(m.own, map[int32]float64{})
	}
	for r := 1; r < len(m.entries); r++ {
		for f := range m.own[r] {
			m.own[r][f] *= partFades
		}
		sum, count := 0.0, 0
		for f, v := range t.self[r] {
			if v > 0 {
				m.own[r][int32(f)] += v
			}
			sum += v
		}
		for k := range m.parts {
			if k.row == r {
				count++
			}
		}
		for f, v := range t.cum[r] {
			if v <= 0 {
				continue
			}
			k := partKey{int32(f), r}
			p := m.parts[k]
			share := v / sum
			switch {
			case p == nil && count < mostParts && share >= leastPart && share <= wholePart:
				p = &part{key: wanderKey{k.function, true}, row: r, inside: map[int32]float64{}}
				m.parts[k] = p
				count++
			case p != nil && (share < leastPart/2 || share > (1+wholePart)/2):
				delete(m.parts, k)
				p = nil
			}
			if p != nil {
				p.share = share
			}
		}
	}
	for _, p := range m.parts {
		for f := range p.inside {
			p.inside[f] *= partFades
		}
	}
	for i, s := range c.stacks {
		r := m.row(c.entries[i])
		if r == 0 {
			continue
		}
		leaf := s[len(s)-1]
		for j, f := range s {
			if p := m.parts[partKey{f, r}]; p != nil && !slices.Contains(s[:j], f) {
				p.inside[leaf] += c.values[i]
			}
		}
	}
}

// within returns which share of a function's own cost below the entry of p is below p.
func (m *memory) within(p *part, f int32) float64 {
	if all := m.own[p.row][f]; all > 0 {
		return p.inside[f] / all
	}
	return 1
}

// asides is what a list of series costs beyond what it should.
func asides(list []*series, scale []float64, from, to int) *track {
	tr := &track{over: make([]float64, len(scale)), should: make([]float64, len(scale))}
	for _, x := range list {
		usual := x.usual(scale, from, to)
		for t, v := range x.values {
			tr.over[t] += float64(v) - scale[t]*usual
			tr.should[t] += scale[t] * usual
		}
	}
	return tr
}

// outside measures the scales of entries again of which a large part changed: by what is outside that part.
func (m *memory) outside(scales [][]float64, learn bool) {
	from, to := m.base()
	n := len(m.steps)
	var parts []*part
	for _, p := range m.parts {
		parts = append(parts, p)
	}
	slices.SortFunc(parts, func(a, b *part) int {
		return cmp.Or(cmp.Compare(a.row, b.row), cmp.Compare(a.key.function, b.key.function))
	})
	byRow := make([][]*series, len(m.entries))
	for _, x := range m.series {
		if !x.cum {
			byRow[x.row] = append(byRow[x.row], x)
		}
	}
	best := make([]float64, len(m.entries))
	better := make([][]float64, len(m.entries))
	counts := make([]per, len(m.entries))
	for row := 1; row < len(m.entries); row++ {
		counts[row] = m.perRequest(row, scales[row], learn)
	}
	for _, p := range parts {
		scale := scales[p.row]
		if scale == nil || p.share < largePart {
			continue
		}
		var list []*series
		for _, x := range byRow[p.row] {
			if m.within(p, x.function) < belongs {
				list = append(list, x)
			}
		}
		tr := asides(list, scale, from, to)
		spread := tr.spread(from, to, m.unit)
		known := 0.0
		for t := from; t < to; t++ {
			known += tr.should[t]
		}
		if known < leastCount*m.unit {
			continue
		}
		drift := p.wander.variance(usualWander * usualWander)
		z, ratio, length := 0.0, 0.0, 0
		over, should := 0.0, 0.0
		for t := n - 1; t >= to; t-- {
			over += tr.over[t]
			should += tr.should[t]
			if learn && n-t == 6 && should > 0 {
				d, count := over/should, spread*(1/should+1/known)
				if p.wander == nil {
					p.wander = &wander{}
				}
				p.wander.learn(min(d*d, 9*(count+drift)) - count)
			}
			if n-t < shortest {
				continue
			}
			x := deviates(should+over, should, known, spread, drift)
			if perZ, _ := counts[p.row].of(t); counts[p.row].counted {
				x = m.agreed(x, over/should, perZ, counts[p.row].usual)
			}
			if math.Abs(x) > math.Abs(z) {
				z, ratio, length = x, over/should, n-t
			}
		}
		if math.Abs(z) < sureOutside || math.Abs(z) <= math.Abs(best[p.row]) || !m.alike(p, parts, list, scale, ratio, length) {
			continue
		}
		again := make([]float64, n)
		for t := range again {
			again[t] = scale[t]
			if tr.should[t] > 0 {
				again[t] *= 1 + tr.over[t]/tr.should[t]
			}
		}
		for range 2 {
			again = refined(list, again, from, to, m.unit)
		}
		a, b := 0.0, 0.0
		for t := n - length; t < n; t++ {
			a, b = a+again[t], b+scale[t]
		}
		if b > 0 && (a/b-1)/ratio > 0.6 { // and not one function of them
			best[p.row], better[p.row] = z, again
		}
	}
	for row, scale := range better {
		if scale != nil {
			scales[row] = scale
		} else if since, z, change := counts[row].surest(to); math.Abs(z) > sureOutside {
			// All that the entry does costs more or less per request.
			again := slices.Clone(scales[row])
			for t := since; t < n; t++ {
				again[t] *= math.Exp(-change)
			}
			scales[row] = again
		}
	}
}

// agreed returns how sure it is that what is outside a part, which moved by z standard deviations and by a ratio, shows how much work there was, when
// counts of requests say something about that, too. If the functions below the entry moved otherwise than their work, their cost per request moved the
// other way, by perZ standard deviations.
func (m *memory) agreed(z, ratio, perZ, usual float64) float64 {
	if ratio > 0 {
		perZ = -perZ
	}
	would := math.Abs(math.Log(max(1+ratio, 0.01))) / usual
	switch {
	case math.Abs(z) < leastAside, would > clear && perZ < agree:
		return 0 // nothing shows it, or the counts would
	case perZ <= 0:
		return z
	}
	return math.Copysign(math.Hypot(z, perZ), z)
}

// sureOutside is how many standard deviations what is outside a part must have moved from what most functions did.
const sureOutside = sure

// alike reports whether what is outside a part moved together, rather than one other function and what it calls.
func (m *memory) alike(p *part, parts []*part, list []*series, scale []float64, ratio float64, length int) bool {
	from, to := m.base()
	all := 0.0
	for _, x := range list {
		all += m.own[p.row][x.function]
	}
	for _, other := range parts {
		if other == p || other.row != p.row {
			continue
		}
		mine, whole := 0.0, 0.0
		for _, x := range list {
			mine += other.inside[x.function]
		}
		for _, v := range other.inside {
			whole += v
		}
		if mine < 0.4*all || mine < 0.7*whole {
			continue
		}
		var rest []*series
		for _, x := range list {
			if m.within(other, x.function) < 0.5 {
				rest = append(rest, x)
			}
		}
		tr := asides(rest, scale, from, to)
		over, should := 0.0, 0.0
		for t := len(scale) - length; t < len(scale); t++ {
			over += tr.over[t]
			should += tr.should[t]
		}
		if should <= 0 || over/should/ratio < 0.5 || math.Abs(over)/math.Sqrt(sampleSpread*m.unit*should) < 2.5 {
			return false
		}
	}
	return true
}
