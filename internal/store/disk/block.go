package disk

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hone-perf/hone/internal/profile"
	"github.com/hone-perf/hone/internal/store"
)

// A block is what there is of a service on a day: its names, its segments, and what is in memory until it is in a segment.
type block struct {
	blockRecord
	dir string
	day time.Time

	mu       sync.RWMutex
	dict     *dict // nil while nobody needs it
	segments []*segment
	head     map[sectionKey]*section
	flushing map[sectionKey]*section // being written
	ids      map[int64]map[store.ID]bool

	gone   bool  // it was dropped, and another one may be in its place
	newest int64 // bytes of newestFile; under the mu of the store

	settled settled // under flushMu

	used atomic.Int64 // when somebody needed the dict, for evict
}

// A segment is a file of a block. It does not change.
type segment struct {
	seq      uint64
	block    string // key of its block
	file     string
	size     int64
	hour     int64 // that all its starts are in; or the step, of sums
	sections []stored
}

func (s *segment) rolled() bool { return len(s.sections) > 0 && s.sections[0].rolled }

func (s *segment) encode() []byte {
	var e encoder
	e.text(s.block)
	e.text(s.file)
	e.int(s.size)
	e.int(s.hour)
	e.uint(uint64(len(s.sections)))
	for i := range s.sections {
		s.sections[i].encode(&e)
	}
	return e.b
}

func decodeSegment(in []byte) (*segment, error) {
	d := decoder{b: in}
	s := &segment{block: d.text(), file: d.text(), size: d.int(), hour: d.int()}
	for range d.count() {
		var at stored
		at.decode(&d)
		s.sections = append(s.sections, at)
	}
	return s, d.err
}

const (
	dayFormat = "2006-01-02"
	namesFile = "names"
	dataDir   = "data"
	hour      = int64(time.Hour)
)

// hourOf returns the number of the hour that a time in nanoseconds is in.
func hourOf(nano int64) int64 { return floorDiv(nano, hour) }

func floorDiv(a, b int64) int64 {
	q := a / b
	if a%b < 0 {
		q--
	}
	return q
}

// folderOf returns the name of a folder for a text that comes from outside: readable, and different for different texts on all
// file systems.
func folderOf(text string) string {
	sum := sha256.Sum256([]byte(text))
	plain := strings.Map(func(r rune) rune {
		if 'a' <= r && r <= 'z' || '0' <= r && r <= '9' || r == '-' || r == '_' {
			return r
		}
		return '_'
	}, strings.ToLower(profile.Shorten(text, 40)))
	if len(plain) > 40 {
		plain = plain[:40]
	}
	return plain + "." + hex.EncodeToString(sum[:6])
}

func newBlock(root string, r blockRecord) (*block, error) {
	day, err := time.Parse(dayFormat, r.Day)
	if err != nil {
		return nil, err
	}
	return &block{
		blockRecord: r, day: day, dir: filepath.Join(root, dataDir, filepath.FromSlash(r.Folder)),
		head: map[sectionKey]*section{}, ids: map[int64]map[store.ID]bool{},
	}, nil
}

// names returns the dict, which is read when nobody needed it before. b.mu must be held for writing.
func (b *block) names() (*dict, error) {
	b.used.Store(time.Now().UnixNano())
	if b.dict != nil {
		return b.dict, nil
	}
	if b.Names == 0 {
		b.dict = newDict()
		return b.dict, nil
	}
	f, err := os.Open(filepath.Join(b.dir, namesFile))
	if err != nil {
		return nil, err
	}
	defer f.Close()
	in, err := io.ReadAll(io.LimitReader(f, b.Names))
	if err == nil && int64(len(in)) < b.Names {
		err = fmt.Errorf("the names of the profiles: %w", errDamaged)
	}
	if err != nil {
		return nil, err
	}
	d, err := readDict(in)
	if err != nil {
		return nil, err
	}
	b.dict = d
	return d, nil
}

// view returns what there is of b now. It stays as it is: names and lists only grow, and others are put in their place.
func (b *block) view() (*opened, error) {
	b.mu.RLock()
	if b.dict == nil {
		b.mu.RUnlock()
		b.mu.Lock()
		_, err := b.names()
		if err != nil {
			b.mu.Unlock()
			return nil, fmt.Errorf("%s of %s: %w", b.Service, b.Day, err)
		}
		defer b.mu.Unlock()
	} else {
		b.used.Store(time.Now().UnixNano())
		defer b.mu.RUnlock()
	}
	o := &opened{block: b, dict: b.dict.view(), segments: b.segments, rows: map[uint32]string{}}
	for _, sections := range []map[sectionKey]*section{b.flushing, b.head} {
		for _, s := range sections {
			o.memory = append(o.memory, section{s.kind, s.labels, s.shape, s.taken[:len(s.taken):len(s.taken)]})
		}
	}
	return o, nil
}

// opened is what there was of a block at some time.
type opened struct {
	*block
	dict     *dict
	segments []*segment
	memory   []section
	rows     map[uint32]string // labels of single profiles as text
}

func (o *opened) row(id uint32) string {
	s, ok := o.rows[id]
	if !ok {
		s = o.dict.rows[id].String()
		o.rows[id] = s
	}
	return s
}

// ErrTooOld says that profiles of that time have been summed up, so that nobody knows any more which ones they were.
var ErrTooOld = errors.New("the store has only sums for this day")

// has reports whether b has a profile. b.mu must be held for writing.
func (b *block) has(id store.ID, start time.Time) (bool, error) {
	at := hourOf(start.UnixNano())
	ids, ok := b.ids[at]
	if !ok {
		ids = map[store.ID]bool{}
		if len(b.segments) > 0 {
			d, err := b.names()
			if err != nil {
				return false, err
			}
			for _, s := range b.segments {
				if s.rolled() {
					return false, ErrTooOld
				}
				if s.hour != at {
					continue
				}
				r := segmentReader{segment: s, dir: b.dir}
				for i := range s.sections {
					about, err := r.about(&s.sections[i], d)
					if err != nil {
						r.close()
						return false, err
					}
					for j := range about {
						ids[about[j].id] = true
					}
				}
				r.close()
			}
		}
		b.ids[at] = ids
	}
	return ids[id], nil
}

// index takes an upload into the head. b.mu must be held for writing.
func (b *block) index(u *store.Upload) error {
	d, err := b.names()
	if err != nil {
		return err
	}
	entries := d.entriesOf(u.Parsed)
	shape := d.shape(u.Parsed.Header)
	packed, totals := encodeRows(u.Parsed, entries)
	t := &taken{
		id: u.ID, row: d.row(u.Row), start: u.Start.UnixNano(), end: u.End.UnixNano(), time: u.Parsed.TimeNanos, duration: u.Parsed.DurationNanos,
		totals: totals, packed: packed, profiles: 1,
	}
	if u.Counters {
		t.flags |= flagCounters
	}
	if u.Clock {
		t.flags |= flagClock
	}
	key := sectionKey{u.Kind, u.Labels.String(), shape}
	s := b.head[key]
	if s == nil {
		s = &section{kind: u.Kind, labels: u.Labels, shape: shape}
		b.head[key] = s
	}
	s.taken = append(s.taken, t)
	b.ids[hourOf(t.start)][u.ID] = true
	return nil
}

// A segmentReader reads pieces of a segment, which is opened when the first one is needed.
type segmentReader struct {
	*segment
	dir string
	f   *os.File
}

func (r *segmentReader) close() {
	if r.f != nil {
		r.f.Close()
	}
}

func (r *segmentReader) piece(at span) ([]byte, error) {
	if r.f == nil {
		f, err := os.Open(filepath.Join(r.dir, r.file))
		if err != nil {
			return nil, err
		}
		r.f = f
	}
	if at.size > uint64(r.size) {
		return nil, &segmentError{r.segment, errDamaged}
	}
	in := make([]byte, at.size)
	if _, err := r.f.ReadAt(in, int64(at.from)); err != nil {
		if err == io.EOF {
			err = fmt.Errorf("%w: it is cut off", errDamaged)
		}
		return nil, &segmentError{r.segment, err}
	}
	plain, _, err := cutPiece(in)
	if err != nil {
		return nil, &segmentError{r.segment, err}
	}
	return plain, nil
}

// about returns what is known of the profiles in a section.
func (r *segmentReader) about(s *stored, d *dict) ([]taken, error) {
	if int(s.shape) >= len(d.shapes) {
		return nil, &segmentError{r.segment, errDamaged}
	}
	plain, err := r.piece(s.about)
	if err != nil {
		return nil, err
	}
	out, err := decodeAbout(plain, len(d.shapes[s.shape].SampleTypes), len(d.rows))
	if err != nil {
		return nil, &segmentError{r.segment, err}
	}
	return out, nil
}

// A segmentError says which segment can't be read.
type segmentError struct {
	*segment
	err error
}

func (e *segmentError) Error() string {
	return fmt.Sprintf("segment %s: %v; its profiles are missing", e.file, e.err)
}

func (e *segmentError) Unwrap() error { return e.err }
