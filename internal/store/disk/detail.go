package disk

import "slices"

// How a column of values is written.
const (
	asValues   = iota
	asMultiple // of the first column
)

// encodeDetail packs all rows by entry: as they are, or only where something changed since the profile before of the same
// stream, whichever is less. Most of what a process holds stays, and most of what it counts.
func (g *gathered) encodeDetail(taken []*taken) []byte {
	var e encoder
	changed := g.changes(taken)
	changes := len(changed.which) < len(g.which)
	e.bool(changes)
	if changes {
		g = changed
	}
	encodeEntries(&e, g.entries)
	for i := range g.entries {
		e.uint(uint64(g.starts[i+1] - g.starts[i]))
	}
	for i := range g.entries {
		last := uint32(0)
		for _, w := range g.which[g.starts[i]:g.starts[i+1]] {
			e.uint(uint64(w - last))
			last = w
		}
	}
	for k := range g.types {
		if n, ok := multiple(g.values[0], g.values[k]); ok && k > 0 {
			e.uint(asMultiple)
			e.int(n)
			continue
		}
		e.uint(asValues)
		for _, v := range g.values[k] {
			e.int(v)
		}
	}
	return e.b
}

// multiple returns what each value of a has to be multiplied by to get b.
func multiple(a, b []int64) (int64, bool) {
	n, known := int64(0), false
	for i, v := range a {
		switch {
		case v == 0 && b[i] == 0:
		case v == 0 || b[i]%v != 0 || b[i]/v == 0 || known && b[i]/v != n:
			return 0, false
		default:
			n, known = b[i]/v, true
		}
	}
	return n, known
}

// changes returns the rows as changes since the profile before of the same stream.
func (g *gathered) changes(taken []*taken) *gathered {
	out := &gathered{types: g.types, values: make([][]int64, g.types)}
	// first[i] is the first profile of the stream of profile i, and behind it the first one of the next stream.
	behind := make([]uint32, len(taken))
	for i := len(taken) - 1; i >= 0; i-- {
		behind[i] = uint32(i + 1)
		if i+1 < len(taken) && taken[i+1].row == taken[i].row {
			behind[i] = behind[i+1]
		}
	}
	before, now := make([]int64, g.types), make([]int64, g.types)
	add := func(which uint32) {
		same := true
		for k := range now {
			same = same && now[k] == before[k]
		}
		if same {
			return
		}
		out.which = append(out.which, which)
		for k := range now {
			out.values[k] = append(out.values[k], now[k]-before[k])
		}
		copy(before, now)
	}
	for i, entry := range g.entries {
		from := len(out.which)
		rows := g.starts[i+1]
		clear(before)
		for r := g.starts[i]; r < rows; r++ {
			w := g.which[r]
			if r > g.starts[i] && behind[g.which[r-1]] != behind[w] {
				clear(before) // another stream
			}
			for k := range now {
				now[k] = g.values[k][r]
			}
			add(w)
			// Where the next profile of the stream does not have the entry, it is zero there.
			if next := w + 1; next < behind[w] && (r+1 == rows || g.which[r+1] != next) {
				clear(now)
				add(next)
			}
		}
		if len(out.which) > from {
			out.entries = append(out.entries, entry)
			out.starts = append(out.starts, from)
		}
	}
	out.starts = append(out.starts, len(out.which))
	return out
}

// readDetail reads what encodeDetail packed, and whether the rows are changes.
func readDetail(plain []byte, profiles, types, entries int) (g *gathered, changes bool, err error) {
	d := decoder{b: plain}
	changes = d.bool()
	g = &gathered{types: types, entries: decodeEntries(&d, entries), values: make([][]int64, types)}
	g.starts = make([]int, 1, len(g.entries)+1)
	rows := 0
	for range g.entries {
		n := d.uint()
		if rows += int(n); n > uint64(len(d.b)) || rows > len(d.b) {
			return nil, false, errDamaged
		}
		g.starts = append(g.starts, rows)
	}
	g.which = make([]uint32, rows)
	for i := range g.entries {
		last := uint64(0)
		for r := g.starts[i]; r < g.starts[i+1]; r++ {
			if last += d.uint(); last >= uint64(profiles) {
				return nil, false, errDamaged
			}
			g.which[r] = uint32(last)
		}
	}
	for k := range g.values {
		g.values[k] = make([]int64, rows)
		switch d.uint() {
		case asMultiple:
			n := d.int()
			for r := range g.values[k] {
				g.values[k][r] = g.values[0][r] * n
			}
		case asValues:
			for r := range g.values[k] {
				g.values[k][r] = d.int()
			}
		default:
			return nil, false, errDamaged
		}
	}
	return g, changes, d.err
}

// addDetail adds to sums[type][entry] the values of all profiles, each multiplied by its factor for the type. A row that
// is a change counts for all later profiles of its stream, so it gets the sum of their factors.
func addDetail(plain []byte, about []*taken, factors, sums [][]int64, entries int) error {
	g, changes, err := readDetail(plain, len(about), len(sums), entries)
	if err != nil {
		return err
	}
	for k, f := range factors {
		if sums[k] == nil {
			continue
		}
		if changes {
			f = slices.Clone(f)
			for i := len(f) - 2; i >= 0; i-- {
				if about[i+1].row == about[i].row {
					f[i] += f[i+1]
				}
			}
		}
		values := g.values[k]
		for i, entry := range g.entries {
			sum := int64(0)
			for r := g.starts[i]; r < g.starts[i+1]; r++ {
				sum += values[r] * f[g.which[r]]
			}
			sums[k][entry] += sum
		}
	}
	return nil
}

// rowsOf returns the rows of each profile of a section, as encodeRows packs them.
func rowsOf(plain []byte, about []*taken, types, entries int) ([][]byte, error) {
	g, changes, err := readDetail(plain, len(about), types, entries)
	if err != nil {
		return nil, err
	}
	out := make([]encoder, len(about))
	last := make([]uint32, len(about))
	now := make([]int64, types)
	put := func(profile int, entry uint32) {
		if allZero(now) {
			return
		}
		e := &out[profile]
		e.uint(uint64(entry - last[profile]))
		last[profile] = entry
		for _, v := range now {
			e.int(v)
		}
	}
	for i, entry := range g.entries {
		for r := g.starts[i]; r < g.starts[i+1]; r++ {
			p := int(g.which[r])
			if !changes || r == g.starts[i] || about[g.which[r-1]].row != about[p].row {
				clear(now)
			}
			for k := range now {
				now[k] += g.values[k][r]
			}
			// A change stays until the next one of the same stream.
			until := p + 1
			if changes {
				until = len(about)
				if r+1 < g.starts[i+1] {
					until = int(g.which[r+1])
				}
			}
			for q := p; q < until && about[q].row == about[p].row; q++ {
				put(q, entry)
			}
		}
	}
	packed := make([][]byte, len(out))
	for i := range out {
		packed[i] = out[i].b
	}
	return packed, nil
}
