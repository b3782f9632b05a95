package layout

import (
	"cmp"
	"slices"
)

// A vertex is something in a row: a box, or the place where an edge crosses the row.
type vertex struct {
	node        int // of the graph, or -1
	edge        int // of the drawing, when it is no box
	label       bool
	left, right float64 // room from x to either side
	high        float64
	rank, pos   int
	x           float64
}

// solid reports whether lines of others have to go round v.
func (v *vertex) solid() bool { return v.node >= 0 || v.label }

// A piece is the part of an edge between two rows that follow each other.
type piece struct {
	to     int // vertex
	weight int
}

// A layering is the vertices of a part, by rows.
type layering struct {
	vertices []vertex
	up, down [][]piece // of each vertex
	rows     [][]int   // vertices from left to right
}

// place makes pos agree with rows.
func (l *layering) place() {
	for _, row := range l.rows {
		for i, v := range row {
			l.vertices[v].pos = i
		}
	}
}

// order sorts the rows so that few edges cross: vertices go, row by row, down and up again, to where their neighbors
// are, and then neighbors in a row change places where that helps.
func (l *layering) order(work *budget) {
	const patience = 8 // rounds without fewer crossings
	var best [][]int
	fewest := -1
	keep := func() bool {
		n := l.crossings(work)
		if fewest >= 0 && n >= fewest {
			return false
		}
		fewest = n
		best = best[:0]
		for _, row := range l.rows {
			best = append(best, slices.Clone(row))
		}
		return true
	}
	for _, downwards := range []bool{true, false} {
		l.walk(downwards)
		keep()
		l.transpose(false, work)
		keep()
		for round, idle := 0, 0; idle < patience && fewest > 0 && !work.spent(); round++ {
			l.sweep(round%2 == 0, round%4 >= 2, work)
			l.transpose(round%4 < 2, work)
			if idle++; keep() {
				idle = 0
			}
		}
	}
	l.rows = best
	l.place()
}

// walk makes a first order: that in which a depth-first walk meets the vertices.
func (l *layering) walk(downwards bool) {
	for r := range l.rows {
		l.rows[r] = l.rows[r][:0]
	}
	met := make([]bool, len(l.vertices))
	along, against := l.down, l.up
	if !downwards {
		along, against = l.up, l.down
	}
	visit := func(root int) {
		stack := []int{root}
		for len(stack) > 0 {
			v := stack[len(stack)-1]
			stack = stack[:len(stack)-1]
			if met[v] {
				continue
			}
			met[v] = true
			r := l.vertices[v].rank
			l.rows[r] = append(l.rows[r], v)
			for i := len(along[v]) - 1; i >= 0; i-- {
				stack = append(stack, along[v][i].to)
			}
		}
	}
	for v := range l.vertices {
		if len(against[v]) == 0 {
			visit(v)
		}
	}
	l.place()
}

// sweep sorts each row by where the neighbors in the row before are, going down or up. By turns that is their median,
// which leaves few crossings, and their mean, which gets out of where the median is stuck.
func (l *layering) sweep(downwards, mean bool, work *budget) {
	near := l.up
	if !downwards {
		near = l.down
	}
	keys := make([]float64, len(l.vertices))
	var at []int
	for i := range l.rows {
		r := i
		if !downwards {
			r = len(l.rows) - 1 - i
		}
		row := l.rows[r]
		for _, v := range row {
			at = l.positions(at[:0], near[v])
			work.spend(len(at) + 1)
			switch {
			case len(at) == 0:
				keys[v] = -1
			case mean:
				keys[v] = meanOf(at)
			default:
				keys[v] = medianOf(at)
			}
		}
		l.sortRow(row, keys)
	}
}

// positions appends the places of neighbors in their row, sorted.
func (l *layering) positions(to []int, near []piece) []int {
	for _, p := range near {
		to = append(to, l.vertices[p.to].pos)
	}
	if len(to) > 1 {
		slices.Sort(to)
	}
	return to
}

// sortRow sorts the vertices that have a key among the places that they have; the others stay where they are.
func (l *layering) sortRow(row []int, keys []float64) {
	var places, moving []int
	for i, v := range row {
		if keys[v] >= 0 {
			places = append(places, i)
			moving = append(moving, v)
		}
	}
	slices.SortStableFunc(moving, func(a, b int) int { return cmp.Compare(keys[a], keys[b]) })
	for i, v := range moving {
		row[places[i]] = v
	}
	for i, v := range row {
		l.vertices[v].pos = i
	}
}

func meanOf(at []int) float64 {
	sum := 0
	for _, p := range at {
		sum += p
	}
	return float64(sum) / float64(len(at))
}

// medianOf returns the middle of sorted places. Of two it is the one on the side where places are close together.
func medianOf(at []int) float64 {
	m := len(at) / 2
	switch {
	case len(at)%2 == 1:
		return float64(at[m])
	case len(at) == 2:
		return float64(at[0]+at[1]) / 2
	}
	left, right := float64(at[m-1]-at[0]), float64(at[len(at)-1]-at[m])
	if left+right == 0 {
		return float64(at[m-1]+at[m]) / 2
	}
	return (float64(at[m-1])*right + float64(at[m])*left) / (left + right)
}

// transpose lets neighbors in a row change places as long as that leaves fewer crossings; or, once, as many: that is a
// way out of where sweeps and exchanges are stuck.
func (l *layering) transpose(asMany bool, work *budget) {
	var a, b []int
	for better := true; better && !work.spent(); asMany = false {
		better = false
		for _, row := range l.rows {
			for i := 0; i+1 < len(row); i++ {
				v, w := row[i], row[i+1]
				gain := 0
				for _, near := range [][][]piece{l.up, l.down} {
					if len(near[v]) == 0 || len(near[w]) == 0 {
						continue
					}
					a, b = l.positions(a[:0], near[v]), l.positions(b[:0], near[w])
					gain += inversions(a, b) - inversions(b, a)
					work.spend(len(a) + len(b) + 2)
				}
				if gain > 0 || asMany && gain == 0 {
					row[i], row[i+1] = w, v
					l.vertices[v].pos, l.vertices[w].pos = i+1, i
					better = better || gain > 0
				}
			}
		}
	}
}

// inversions counts the pairs of sorted places in which that of the left vertex is right of that of the right one.
func inversions(left, right []int) int {
	n, j := 0, 0
	for _, p := range left {
		for j < len(right) && right[j] < p {
			j++
		}
		n += j
	}
	return n
}

// crossings counts how often edges cross.
func (l *layering) crossings(work *budget) int {
	total := 0
	var at []int
	for r := 0; r+1 < len(l.rows); r++ {
		sums := make([]int, len(l.rows[r+1])+1) // a Fenwick tree of the ends met so far
		met := 0
		for _, v := range l.rows[r] {
			at = l.positions(at[:0], l.down[v])
			for _, p := range at {
				total += met
				for i := p + 1; i > 0; i &= i - 1 {
					total -= sums[i]
				}
			}
			for _, p := range at {
				met++
				for i := p + 1; i < len(sums); i += i & -i {
					sums[i]++
				}
			}
			work.spend(4*len(at) + 1)
		}
	}
	return total
}
