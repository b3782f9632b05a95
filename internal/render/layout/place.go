package layout

import (
	"cmp"

	"github.com/hone-perf/hone/internal/order"
)

// straighten gives the vertices of all rows an x, in their order and with room between them, such that pieces of edges
// are as upright as can be.
//
// Down and up again, the vertices of each row are drawn to where their neighbors are. What keeps them apart turns
// that, row by row, into an isotonic regression, which has an exact and fast solution. Heavy edges pull harder, and so do
// the inner pieces of long edges, since bends in these are what one sees first.
func (l *layering) straighten(gap float64, work *budget) {
	const rounds = 61 // the last one goes down
	for _, row := range l.rows {
		x := 0.0
		for i, v := range row {
			if i > 0 {
				x += l.apart(row[i-1], v, gap)
			}
			l.vertices[v].x = x
		}
		for _, v := range row { // around zero
			l.vertices[v].x -= x / 2
		}
	}
	var wanted, pulls []float64
	var near []tie
	for round := 0; round < rounds && !work.spent(); round++ {
		both := round >= rounds/3
		for i := range l.rows {
			r := i
			if round%2 == 1 {
				r = len(l.rows) - 1 - i
			}
			row := l.rows[r]
			wanted, pulls = wanted[:0], pulls[:0]
			for _, v := range row {
				behind, ahead := l.up[v], l.down[v]
				if round%2 == 1 {
					behind, ahead = ahead, behind
				}
				near = l.ties(near[:0], v, behind, true)
				if both {
					near = l.ties(near, v, ahead, false)
				}
				work.spend(len(near) + 2)
				x, pull := l.vertices[v].x, 1e-3 // it stays where nothing pulls
				if len(near) > 0 {
					x, pull = balance(near, round >= rounds/2)
				}
				wanted = append(wanted, x)
				pulls = append(pulls, pull)
			}
			l.settle(row, wanted, pulls, gap)
		}
	}
}

// A tie is where a neighbor is, and how hard it pulls.
type tie struct {
	x, pull float64
	behind  bool // in the row that was placed before
}

func (l *layering) ties(to []tie, v int, pieces []piece, behind bool) []tie {
	for _, p := range pieces {
		to = append(to, tie{l.vertices[p.to].x, l.pull(v, p), behind})
	}
	return to
}

// balance returns where ties pull to, and how hard. That is their mean, which finds a place among many; or their median,
// which makes the heaviest line straight and lets light ones bend.
func balance(ties []tie, median bool) (x, pull float64) {
	for _, t := range ties {
		x += t.x * t.pull
		pull += t.pull
	}
	if !median {
		return x / pull, pull
	}
	order.Stable(ties, func(a, b tie) int { return cmp.Compare(a.x, b.x) })
	sum := 0.0
	for i, t := range ties {
		sum += t.pull
		if sum == pull/2 && i+1 < len(ties) {
			// Anywhere between the two will do. Below the one behind, a line that is as heavy above as below is straight
			// as far as it can be, and bends in one place.
			u := ties[i+1]
			switch {
			case t.behind == u.behind:
				return (t.x + u.x) / 2, pull
			case t.behind:
				return t.x, pull
			}
			return u.x, pull
		}
		if sum > pull/2 {
			return t.x, pull
		}
	}
	return ties[len(ties)-1].x, pull
}

// pull returns how strongly a piece holds its ends under each other.
func (l *layering) pull(v int, p piece) float64 {
	w := float64(p.weight)
	switch a, b := l.vertices[v].node < 0, l.vertices[p.to].node < 0; {
	case a && b:
		return 8 * w
	case a || b:
		return 2 * w
	}
	return w
}

// apart returns how far v has to be from the vertex on its left.
func (l *layering) apart(left, v int, gap float64) float64 {
	a, b := &l.vertices[left], &l.vertices[v]
	if a.node < 0 && b.node < 0 {
		gap *= 0.5 // lines may be closer than boxes
	}
	return a.right + gap + b.left
}

// settle puts the vertices of a row as near as they may be to where they are wanted: pulls weigh the squares of the
// distances. Those that would be in each other's way form blocks, which go where their members want on average.
func (l *layering) settle(row []int, wanted, pulls []float64, gap float64) {
	type block struct {
		x, pull float64
		first   int
	}
	var blocks []block
	offset := 0.0
	offsets := make([]float64, len(row))
	for i, v := range row {
		if i > 0 {
			offset += l.apart(row[i-1], v, gap)
		}
		offsets[i] = offset
		b := block{wanted[i] - offset, pulls[i], i}
		for n := len(blocks); n > 0 && blocks[n-1].x >= b.x; n = len(blocks) {
			a := blocks[n-1]
			sum := a.pull + b.pull
			b = block{(a.x*a.pull + b.x*b.pull) / sum, sum, a.first}
			blocks = blocks[:n-1]
		}
		blocks = append(blocks, b)
	}
	for n, b := range blocks {
		last := len(row)
		if n+1 < len(blocks) {
			last = blocks[n+1].first
		}
		for i := b.first; i < last; i++ {
			l.vertices[row[i]].x = b.x + offsets[i]
		}
	}
}
