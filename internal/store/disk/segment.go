package disk

import (
	"cmp"
	"encoding/binary"
	"math"
	"slices"
	"strings"

	"github.com/hone-perf/hone/internal/profile"
	"github.com/hone-perf/hone/internal/store"
)

// A taken is a profile of which the samples are rows of a dict.
type taken struct {
	id       store.ID
	row      uint32 // of the dict: its own labels
	start    int64
	end      int64
	time     int64 // as the profile says
	duration int64
	flags    uint8
	totals   []int64
	packed   []byte // rows, from encodeRows

	// Of the sum of many profiles: how many went in, and store.Rounds of them.
	profiles int
	rounds   int
}

// Flags of a profile.
const (
	flagCounters = 1 << iota
	flagClock
	flagBaseline // it is only there for counters of the next one to be compared with
)

func (t *taken) counters() bool { return t.flags&flagCounters != 0 }

// A sectionKey is what profiles in a section share.
type sectionKey struct {
	kind   string
	labels string // of the series, as text
	shape  uint32
}

// A section is profiles of one series and shape, ordered by their own labels and time.
type section struct {
	kind   string
	labels store.Labels
	shape  uint32
	taken  []*taken
}

func (s *section) key() sectionKey { return sectionKey{s.kind, s.labels.String(), s.shape} }

// encodeRows packs the samples of a profile: entries in order, each with its values.
func encodeRows(p *profile.Profile, entries []uint32) (packed []byte, totals []int64) {
	types := len(p.SampleTypes)
	order := make([]uint64, len(entries)) // entries, each with its sample
	for i, at := range entries {
		order[i] = uint64(at)<<32 | uint64(i)
	}
	slices.Sort(order)
	cols := make([][]int64, types)
	for k := range cols {
		cols[k] = p.Values(k)
	}
	totals = make([]int64, types)
	values := make([]int64, types)
	var e encoder
	e.b = make([]byte, 0, len(entries)*(2+2*types))
	last := uint32(0)
	for i := 0; i < len(order); {
		at := uint32(order[i] >> 32)
		clear(values)
		for ; i < len(order) && uint32(order[i]>>32) == at; i++ {
			for k := range values {
				values[k] += cols[k][uint32(order[i])]
			}
		}
		if allZero(values) {
			continue
		}
		e.uint(uint64(at - last))
		last = at
		for k, v := range values {
			totals[k] += v
			e.int(v)
		}
	}
	return slices.Clip(e.b), totals
}

// eachRow calls each for the rows that encodeRows packed. The values are only good until it returns.
func eachRow(packed []byte, types int, each func(entry uint32, values []int64)) error {
	d := decoder{b: packed}
	at := uint32(0)
	values := make([]int64, types)
	for len(d.b) > 0 {
		at += uint32(d.uint())
		for k := range values {
			values[k] = d.int()
		}
		if d.err != nil {
			return d.err
		}
		each(at, values)
	}
	return d.err
}

// A segment file is its magic, pieces for each section, a piece that says where these are, and at the end how long that is.
const (
	segmentMagic  = "hone profiles 1\n"
	segmentFooter = 8
	segmentSuffix = ".seg"
)

// A stored says where a section is in a segment, and what is in it, so that those that do not matter are not read.
type stored struct {
	kind     string
	labels   store.Labels
	shape    uint32
	profiles int
	first    int64 // of starts
	last     int64
	rolled   bool // its profiles are sums of many: streams and single profiles are gone

	about, sums, detail span
}

type span struct{ from, size uint64 }

func (s *stored) encode(e *encoder) {
	e.text(s.kind)
	encodeLabels(e, s.labels)
	e.uint(uint64(s.shape))
	e.uint(uint64(s.profiles))
	e.int(s.first)
	e.int(s.last)
	e.bool(s.rolled)
	for _, sp := range []span{s.about, s.sums, s.detail} {
		e.uint(sp.from)
		e.uint(sp.size)
	}
}

func (s *stored) decode(d *decoder) {
	s.kind, s.labels = d.text(), decodeLabels(d)
	s.shape, s.profiles = uint32(d.uint()), int(d.uint())
	s.first, s.last, s.rolled = d.int(), d.int(), d.bool()
	for _, sp := range []*span{&s.about, &s.sums, &s.detail} {
		sp.from, sp.size = d.uint(), d.uint()
	}
}

// A segmentWriter makes a segment in memory; the largest are a few megabytes.
type segmentWriter struct {
	out      []byte
	sections []stored
}

func newSegment() *segmentWriter { return &segmentWriter{out: []byte(segmentMagic)} }

func (w *segmentWriter) piece(plain []byte) span {
	from := len(w.out)
	w.out = appendPiece(w.out, plain)
	return span{uint64(from), uint64(len(w.out) - from)}
}

// finish returns the bytes of the segment. At the end stands what the catalog knows of g, so that it can be made anew.
func (w *segmentWriter) finish(g *segment) []byte {
	g.sections = w.sections
	toc := w.piece(g.encode())
	return binary.LittleEndian.AppendUint64(w.out, toc.size)
}

// readContents reads what finish wrote.
func readContents(in []byte) (*segment, error) {
	if len(in) < len(segmentMagic)+segmentFooter || string(in[:len(segmentMagic)]) != segmentMagic {
		return nil, errDamaged
	}
	body := in[:len(in)-segmentFooter]
	n := binary.LittleEndian.Uint64(in[len(body):])
	if n > uint64(len(body)) {
		return nil, errDamaged
	}
	plain, _, err := cutPiece(body[uint64(len(body))-n:])
	if err != nil {
		return nil, err
	}
	g, err := decodeSegment(plain)
	if err != nil {
		return nil, err
	}
	for i := range g.sections {
		for _, sp := range []span{g.sections[i].about, g.sections[i].sums, g.sections[i].detail} {
			if sp.from > uint64(len(in)) || sp.size > uint64(len(in))-sp.from {
				return nil, errDamaged
			}
		}
	}
	return g, nil
}

// add writes a section. Types and their natures decide how values are written.
func (w *segmentWriter) add(s *section, sh *shape, rolled bool) error {
	types := len(sh.SampleTypes)
	slices.SortStableFunc(s.taken, func(a, b *taken) int {
		return cmp.Or(cmp.Compare(a.row, b.row), cmp.Compare(a.start, b.start), slices.Compare(a.id[:], b.id[:]))
	})
	at := stored{
		kind: s.kind, labels: s.labels, shape: s.shape, profiles: len(s.taken), rolled: rolled,
		first: s.taken[0].start, last: s.taken[0].start,
	}
	for _, t := range s.taken {
		at.first, at.last = min(at.first, t.start), max(at.last, t.start)
	}
	at.about = w.piece(encodeAbout(s.taken, types))
	rows, err := gather(s.taken, types)
	if err != nil {
		return err
	}
	at.sums = w.piece(rows.encodeSums())
	at.detail = w.piece(rows.encodeDetail(s.taken))
	w.sections = append(w.sections, at)
	return nil
}

// encodeAbout packs all that is known of profiles but their rows, column by column.
func encodeAbout(taken []*taken, types int) []byte {
	var e encoder
	e.uint(uint64(len(taken)))
	last := int64(0)
	for _, t := range taken {
		e.int(t.start - last)
		last = t.start
	}
	for _, t := range taken {
		e.int(t.end - t.start)
	}
	for _, t := range taken {
		e.int(t.time - t.start)
	}
	for _, t := range taken {
		e.int(t.duration)
	}
	lastRow := int64(0)
	for _, t := range taken {
		e.int(int64(t.row) - lastRow)
		lastRow = int64(t.row)
	}
	for _, t := range taken {
		e.uint(uint64(t.flags))
	}
	for _, t := range taken {
		e.uint(uint64(t.profiles))
	}
	for _, t := range taken {
		e.uint(uint64(t.rounds))
	}
	for k := range types {
		last := int64(0)
		for _, t := range taken {
			e.int(t.totals[k] - last)
			last = t.totals[k]
		}
	}
	for _, t := range taken {
		e.b = append(e.b, t.id[:]...)
	}
	return e.b
}

// decodeAbout reads what encodeAbout packed.
func decodeAbout(plain []byte, types, rows int) ([]taken, error) {
	d := decoder{b: plain}
	out := make([]taken, d.count())
	last := int64(0)
	for i := range out {
		last += d.int()
		out[i].start = last
	}
	for i := range out {
		out[i].end = out[i].start + d.int()
	}
	for i := range out {
		out[i].time = out[i].start + d.int()
	}
	for i := range out {
		out[i].duration = d.int()
	}
	row := int64(0)
	for i := range out {
		row += d.int()
		if row < 0 || row >= int64(rows) {
			return nil, errDamaged
		}
		out[i].row = uint32(row)
	}
	for i := range out {
		out[i].flags = uint8(d.uint())
	}
	for i := range out {
		out[i].profiles = int(min(d.uint(), math.MaxInt32))
	}
	for i := range out {
		out[i].rounds = int(min(d.uint(), math.MaxInt32))
	}
	totals := make([]int64, types*len(out))
	for i := range out {
		out[i].totals = totals[i*types : (i+1)*types : (i+1)*types]
	}
	for k := range types {
		last := int64(0)
		for i := range out {
			last += d.int()
			out[i].totals[k] = last
		}
	}
	for i := range out {
		if len(d.b) < len(out[i].id) {
			return nil, errDamaged
		}
		copy(out[i].id[:], d.b)
		d.b = d.b[len(out[i].id):]
	}
	return out, d.err
}

// gathered is the rows of many profiles by entry: those of entries[i] are from starts[i] to starts[i+1].
type gathered struct {
	types   int
	entries []uint32
	starts  []int
	which   []uint32  // profile
	values  [][]int64 // by type
}

func gather(taken []*taken, types int) (*gathered, error) {
	var counts []int // by entry
	for _, t := range taken {
		err := eachRow(t.packed, types, func(entry uint32, _ []int64) {
			if int(entry) >= len(counts) {
				counts = append(counts, make([]int, int(entry)+1-len(counts))...)
			}
			counts[entry]++
		})
		if err != nil {
			return nil, err
		}
	}
	g := &gathered{types: types, values: make([][]int64, types)}
	rows := 0
	for entry, n := range counts {
		if n > 0 {
			g.entries = append(g.entries, uint32(entry))
			g.starts = append(g.starts, rows)
		}
		counts[entry], rows = rows, rows+n
	}
	g.starts = append(g.starts, rows)
	g.which = make([]uint32, rows)
	for k := range g.values {
		g.values[k] = make([]int64, rows)
	}
	for i, t := range taken {
		err := eachRow(t.packed, types, func(entry uint32, values []int64) {
			r := counts[entry]
			counts[entry]++
			g.which[r] = uint32(i)
			for k, v := range values {
				g.values[k][r] = v
			}
		})
		if err != nil {
			return nil, err
		}
	}
	return g, nil
}

// encodeSums packs the sum of each entry over all profiles.
func (g *gathered) encodeSums() []byte {
	var e encoder
	encodeEntries(&e, g.entries)
	for k := range g.types {
		for i := range g.entries {
			sum := int64(0)
			for _, v := range g.values[k][g.starts[i]:g.starts[i+1]] {
				sum += v
			}
			e.int(sum)
		}
	}
	return e.b
}

func encodeEntries(e *encoder, entries []uint32) {
	e.uint(uint64(len(entries)))
	last := uint32(0)
	for _, at := range entries {
		e.uint(uint64(at - last))
		last = at
	}
}

func decodeEntries(d *decoder, entries int) []uint32 {
	out := make([]uint32, d.count())
	at := uint64(0)
	for i := range out {
		at += d.uint()
		if at >= uint64(entries) {
			d.fail()
			return nil
		}
		out[i] = uint32(at)
	}
	return out
}

// addSums adds what encodeSums packed to sums[type][entry], but not those of types that are nil.
func addSums(plain []byte, sums [][]int64, entries int) error {
	d := decoder{b: plain}
	at := decodeEntries(&d, entries)
	for _, sum := range sums {
		if sum == nil {
			d.skip(len(at))
			continue
		}
		for _, entry := range at {
			sum[entry] += d.int()
		}
	}
	return d.err
}

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

func allZero(values []int64) bool {
	for _, v := range values {
		if v != 0 {
			return false
		}
	}
	return true
}

func compareKeys(a, b sectionKey) int {
	return cmp.Or(strings.Compare(a.kind, b.kind), strings.Compare(a.labels, b.labels), cmp.Compare(a.shape, b.shape))
}
