package disk

import (
	"fmt"
	"hash/maphash"
	"math/bits"
	"strings"

	"github.com/hone-perf/hone/internal/profile"
	"github.com/hone-perf/hone/internal/store"
)

// A dict numbers the names in the profiles of a service on a day: texts, functions, frames, the call tree, and sets of labels. An entry is a node of
// the tree with the labels of a sample; profiles are stored as entries and values. Numbers do not change, so a dict only grows, and appending new
// data writes it.
type dict struct {
	texts     []string
	functions []function
	frames    []frame
	nodes     []store.CallNode // nodes[0] is the empty stack
	sets      []profile.LabelSet
	entries   []entry
	rows      []store.Labels // of single profiles
	shapes    []shape

	kept kept // how much is on disk

	find    *finder // nil until the first Add
	outline *outline
}

type kept struct{ texts, functions, frames, nodes, sets, entries, rows, shapes int }

type function struct {
	name, system, file uint32
	start              int64
}

type frame struct {
	mapping uint32 // text of its file, plus 1; 0 is none
	address uint64 // of a frame without lines
	folded  bool
	lines   []line
}

type line struct {
	function uint32
	line     int64
	column   int64
}

type entry struct{ node, set uint32 }

// A shape is the metadata of profiles without their times.
type shape struct {
	profile.Header
}

// A finder looks up the contents of a dict by hash. The hash seed is random, so nobody can send colliding data.
type finder struct {
	texts     map[string]uint32
	functions map[uint64]uint32
	frames    map[uint64]uint32
	nodes     nodeTable
	sets      map[string]uint32
	entries   idTable
	rows      map[string]uint32
	shapes    map[string]uint32
	values    map[string]map[string]bool // of labels of samples, by name
}

var (
	hashSeed   = maphash.MakeSeed()
	hashFactor = maphash.String(hashSeed, "factor") | 1
)

func mix(hash, n uint64) uint64 {
	hi, lo := bits.Mul64(hash^n, hashFactor)
	return bits.RotateLeft64(hi^lo, 29)
}

func newDict() *dict {
	return &dict{nodes: make([]store.CallNode, 1), sets: make([]profile.LabelSet, 1), kept: kept{nodes: 1, sets: 1}, outline: &outline{}}
}

// finding returns the finder of d, and makes it where there is none.
func (d *dict) finding() *finder {
	if d.find != nil {
		return d.find
	}
	f := &finder{
		texts:     make(map[string]uint32, len(d.texts)),
		functions: make(map[uint64]uint32, len(d.functions)),
		frames:    make(map[uint64]uint32, len(d.frames)),
		nodes:     newNodeTable(len(d.nodes)),
		sets:      make(map[string]uint32, len(d.sets)),
		entries:   newIDTable(len(d.entries)),
		rows:      make(map[string]uint32, len(d.rows)),
		shapes:    make(map[string]uint32, len(d.shapes)),
		values:    map[string]map[string]bool{},
	}
	d.find = f
	for i, t := range d.texts {
		f.texts[t] = uint32(i)
	}
	functionHash := make([]uint64, len(d.functions))
	for i, fn := range d.functions {
		functionHash[i] = hashFunction(d.texts[fn.name], d.texts[fn.system], d.texts[fn.file], fn.start)
		f.functions[functionHash[i]] = uint32(i)
	}
	frameHash := make([]uint64, len(d.frames))
	for i := range d.frames {
		fr := &d.frames[i]
		file := ""
		if fr.mapping > 0 {
			file = d.texts[fr.mapping-1]
		}
		h := hashFrame(file, fr.mapping > 0, fr.folded, fr.address)
		for _, l := range fr.lines {
			h = hashLine(h, functionHash[l.function], l.line, l.column)
		}
		frameHash[i] = h
		f.frames[h] = uint32(i)
	}
	stacks := make([]uint64, len(d.nodes)) // hash of each stack, from the root
	for i, n := range d.nodes {
		if i > 0 {
			f.nodes.put(d.nodes, uint32(i))
			stacks[i] = mix(stacks[n.Parent], frameHash[n.Frame])
		}
	}
	for i, s := range d.sets {
		f.sets[string(setKey(nil, s))] = uint32(i)
		f.count(s)
	}
	for i, e := range d.entries {
		f.entries.put(mix(stacks[e.node], uint64(e.set)), uint32(i))
	}
	for i, r := range d.rows {
		f.rows[r.String()] = uint32(i)
	}
	for i, s := range d.shapes {
		f.shapes[s.key()] = uint32(i)
	}
	return f
}

func hashFunction(name, system, file string, start int64) uint64 {
	h := mix(maphash.String(hashSeed, name), uint64(start))
	if system != name {
		h = mix(h, maphash.String(hashSeed, system))
	}
	return mix(h, maphash.String(hashSeed, file))
}

func hashFrame(file string, mapped, folded bool, address uint64) uint64 {
	h := mix(address, maphash.String(hashSeed, file))
	if mapped {
		h = mix(h, 1)
	}
	if folded {
		h = mix(h, 2)
	}
	return h
}

func hashLine(h, function uint64, line, column int64) uint64 {
	return mix(mix(h, function), uint64(line)^uint64(column)<<40)
}

func setKey(b []byte, s profile.LabelSet) []byte {
	e := encoder{b}
	for _, l := range s {
		e.text(l.Key)
		e.bool(l.Numeric)
		e.text(l.Str)
		e.int(l.Num)
		e.bool(l.HasUnit)
		e.text(l.Unit)
	}
	return e.b
}

// maxValues is the maximum number of values of a sample label in a service per day. More values are usually IDs of requests, which appear once. They
// are replaced by "__overflow__".
const (
	maxValues = 2000
	overflow  = "__overflow__"
)

func (f *finder) count(s profile.LabelSet) {
	for _, l := range s {
		if l.Numeric {
			continue
		}
		if f.values[l.Key] == nil {
			f.values[l.Key] = map[string]bool{}
		}
		f.values[l.Key][l.Str] = true
	}
}

func (d *dict) text(s string) uint32 {
	f := d.find
	id, ok := f.texts[s]
	if !ok {
		id = uint32(len(d.texts))
		s = strings.Clone(s) // do not keep the memory of the whole profile
		d.texts = append(d.texts, s)
		f.texts[s] = id
	}
	return id
}

func (d *dict) set(s profile.LabelSet) uint32 {
	f := d.find
	if len(s) == 0 {
		return 0
	}
	id, ok := f.sets[string(setKey(nil, s))]
	if ok {
		return id
	}
	copied := false
	for i, l := range s {
		if values := f.values[l.Key]; !l.Numeric && len(values) >= maxValues && !values[l.Str] {
			if !copied {
				s, copied = append(profile.LabelSet(nil), s...), true
			}
			s[i].Str = overflow
		}
	}
	if copied {
		if id, ok := f.sets[string(setKey(nil, s))]; ok {
			return id
		}
	}
	id = uint32(len(d.sets))
	own := make(profile.LabelSet, len(s))
	for i, l := range s {
		l.Key, l.Str, l.Unit = d.texts[d.text(l.Key)], d.texts[d.text(l.Str)], d.texts[d.text(l.Unit)]
		own[i] = l
	}
	d.sets = append(d.sets, own)
	f.sets[string(setKey(nil, own))] = id
	f.count(own)
	return id
}

func (d *dict) row(l store.Labels) uint32 {
	key := l.String()
	id, ok := d.find.rows[key]
	if !ok {
		id = uint32(len(d.rows))
		d.rows = append(d.rows, l)
		d.find.rows[key] = id
	}
	return id
}

func (s *shape) key() string {
	var e encoder
	s.encode(&e)
	return string(e.b)
}

func (s *shape) encode(e *encoder) {
	value := func(t profile.ValueType) { e.text(t.Type); e.text(t.Unit) }
	e.uint(uint64(len(s.SampleTypes)))
	for _, t := range s.SampleTypes {
		value(t)
	}
	e.text(s.DefaultType)
	e.text(s.DropFrames)
	e.text(s.KeepFrames)
	value(s.PeriodType)
	e.int(s.Period)
	e.uint(uint64(len(s.Comments)))
	for _, c := range s.Comments {
		e.text(c)
	}
	e.text(s.DocURL)
}

func (s *shape) decode(d *decoder) {
	value := func() profile.ValueType { return profile.ValueType{Type: d.text(), Unit: d.text()} }
	for range d.count() {
		s.SampleTypes = append(s.SampleTypes, value())
	}
	s.DefaultType, s.DropFrames, s.KeepFrames = d.text(), d.text(), d.text()
	s.PeriodType, s.Period = value(), d.int()
	for range d.count() {
		s.Comments = append(s.Comments, d.text())
	}
	s.DocURL = d.text()
}

// shape returns the number of what h says, times apart.
func (d *dict) shape(h profile.Header) uint32 {
	h.TimeNanos, h.DurationNanos = 0, 0
	s := shape{h}
	key := s.key()
	id, ok := d.find.shapes[key]
	if !ok {
		id = uint32(len(d.shapes))
		s = shape{}
		s.decode(&decoder{b: []byte(key)}) // copies the texts
		d.shapes = append(d.shapes, s)
		d.find.shapes[key] = id
	}
	return id
}

// view returns a snapshot of d for reading, while others add to it.
func (d *dict) view() *dict {
	v := *d
	v.find = nil
	return &v
}

// size returns the number of entries of each kind.
func (d *dict) size() kept {
	return kept{len(d.texts), len(d.functions), len(d.frames), len(d.nodes), len(d.sets), len(d.entries), len(d.rows), len(d.shapes)}
}

// unkept returns a piece with the data that is not on disk, or nil, and the new value of kept after writing it.
func (d *dict) unkept() ([]byte, kept) {
	now := d.size()
	if now == d.kept {
		return nil, now
	}
	var e encoder
	k := d.kept
	e.uint(uint64(now.texts - k.texts))
	for _, t := range d.texts[k.texts:] {
		e.text(t)
	}
	e.uint(uint64(now.functions - k.functions))
	for _, f := range d.functions[k.functions:] {
		e.uint(uint64(f.name))
		e.uint(uint64(f.system))
		e.uint(uint64(f.file))
		e.int(f.start)
	}
	e.uint(uint64(now.frames - k.frames))
	for i := range d.frames[k.frames:] {
		f := &d.frames[k.frames+i]
		e.uint(uint64(f.mapping))
		e.uint(f.address)
		e.bool(f.folded)
		e.uint(uint64(len(f.lines)))
		for _, l := range f.lines {
			e.uint(uint64(l.function))
			e.int(l.line)
			e.int(l.column)
		}
	}
	e.uint(uint64(now.nodes - k.nodes))
	for i, n := range d.nodes[k.nodes:] {
		e.uint(uint64(k.nodes + i - 1 - int(n.Parent)))
		e.uint(uint64(n.Frame))
	}
	e.uint(uint64(now.sets - k.sets))
	for _, s := range d.sets[k.sets:] {
		e.uint(uint64(len(s)))
		e.b = setKey(e.b, s)
	}
	e.uint(uint64(now.entries - k.entries))
	for _, n := range d.entries[k.entries:] {
		e.uint(uint64(n.node))
		e.uint(uint64(n.set))
	}
	e.uint(uint64(now.rows - k.rows))
	for _, r := range d.rows[k.rows:] {
		encodeLabels(&e, r)
	}
	e.uint(uint64(now.shapes - k.shapes))
	for _, s := range d.shapes[k.shapes:] {
		s.encode(&e)
	}
	return appendPiece(nil, e.b), now
}

func encodeLabels(e *encoder, labels store.Labels) {
	e.uint(uint64(len(labels)))
	for _, l := range labels {
		e.text(l.Name)
		e.text(l.Value)
	}
}

func decodeLabels(d *decoder) store.Labels {
	n := d.count()
	out := make(store.Labels, 0, n)
	for range n {
		out = append(out, store.Label{Name: d.text(), Value: d.text()})
	}
	if n == 0 {
		return nil
	}
	return out
}

// readDict reads pieces from unkept.
func readDict(in []byte) (*dict, error) {
	d := newDict()
	for len(in) > 0 {
		plain, rest, err := cutPiece(in)
		if err != nil {
			return nil, fmt.Errorf("the names of the profiles: %w", err)
		}
		in = rest
		if err := d.readPiece(plain); err != nil {
			return nil, fmt.Errorf("the names of the profiles: %w", err)
		}
	}
	d.kept = d.size()
	return d, nil
}

func (d *dict) readPiece(plain []byte) error {
	r := decoder{b: plain}
	for range r.count() {
		d.texts = append(d.texts, r.text())
	}
	for range r.count() {
		n := len(d.texts)
		d.functions = append(d.functions, function{r.below(n), r.below(n), r.below(n), r.int()})
	}
	for range r.count() {
		f := frame{mapping: r.below(len(d.texts) + 1), address: r.uint(), folded: r.bool()}
		n := r.count()
		f.lines = make([]line, 0, n)
		for range n {
			f.lines = append(f.lines, line{r.below(len(d.functions)), r.int(), r.int()})
		}
		d.frames = append(d.frames, f)
	}
	for range r.count() {
		back := r.uint()
		if back >= uint64(len(d.nodes)) {
			return errDamaged
		}
		d.nodes = append(d.nodes, store.CallNode{Parent: uint32(len(d.nodes) - 1 - int(back)), Frame: r.below(len(d.frames))})
	}
	for range r.count() {
		var s profile.LabelSet
		for range r.count() {
			s = append(s, profile.Label{Key: r.text(), Numeric: r.bool(), Str: r.text(), Num: r.int(), HasUnit: r.bool(), Unit: r.text()})
		}
		d.sets = append(d.sets, s)
	}
	for range r.count() {
		d.entries = append(d.entries, entry{r.below(len(d.nodes)), r.below(len(d.sets))})
	}
	for range r.count() {
		d.rows = append(d.rows, decodeLabels(&r))
	}
	for range r.count() {
		var s shape
		s.decode(&r)
		d.shapes = append(d.shapes, s)
	}
	return r.err
}
