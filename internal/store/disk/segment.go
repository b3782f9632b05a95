package disk

import (
	"cmp"
	"encoding/binary"
	"os"
	"path/filepath"
	"slices"

	"github.com/hone-perf/hone/internal/store"
)

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

// readSegment reads what a file says about itself at its end.
func readSegment(name string) (*segment, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	size := info.Size()
	body := size - segmentFooter
	if body < int64(len(segmentMagic)) {
		return nil, errDamaged
	}
	in := make([]byte, len(segmentMagic)+segmentFooter)
	magic, footer := in[:len(segmentMagic)], in[len(segmentMagic):]
	if _, err := f.ReadAt(magic, 0); err != nil {
		return nil, err
	}
	if _, err := f.ReadAt(footer, body); err != nil {
		return nil, err
	}
	n := binary.LittleEndian.Uint64(footer)
	if string(magic) != segmentMagic || n > uint64(body) {
		return nil, errDamaged
	}
	in = make([]byte, n)
	if _, err := f.ReadAt(in, body-int64(n)); err != nil {
		return nil, err
	}
	plain, _, err := cutPiece(in)
	if err != nil {
		return nil, err
	}
	g, err := decodeSegment(plain)
	if err != nil {
		return nil, err
	}
	for i := range g.sections {
		for _, sp := range []span{g.sections[i].about, g.sections[i].sums, g.sections[i].detail} {
			if sp.from > uint64(size) || sp.size > uint64(size)-sp.from {
				return nil, errDamaged
			}
		}
	}
	g.file, g.size = filepath.Base(name), size
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
