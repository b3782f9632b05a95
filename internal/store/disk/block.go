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

// A block is the data of a service on a day: its names, its segments, and the profiles in memory that are not in a segment yet.
type block struct {
	blockRecord
	dir string
	day time.Time

	mu       sync.RWMutex
	dict     *dict // nil when it is not in memory
	segments []*segment
	head     map[sectionKey]*section
	flushing map[sectionKey]*section // sections that are being written
	ids      map[int64]map[store.ID]bool

	gone   bool  // dropped; another block may have replaced it
	newest int64 // size of newestFile; guarded by the mu of the store

	settled settled // guarded by flushMu

	used atomic.Int64 // last use of the dict, for evict
}

// A segment is an immutable file of a block.
type segment struct {
	seq      uint64
	block    string // key of its block
	file     string
	size     int64
	hour     int64 // the hour of all start times; for sums, the step
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

// hourOf returns the number of the hour of a time in nanoseconds.
func hourOf(nano int64) int64 { return floorDiv(nano, hour) }

func floorDiv(a, b int64) int64 {
	q := a / b
	if a%b < 0 {
		q--
	}
	return q
}

// folderOf returns a folder name for text from users: readable, and distinct for distinct texts on all file systems.
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

// names returns the dict, and reads it if necessary. The caller must hold b.mu for writing.
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

// view returns the current contents of b as a snapshot. Names and lists only grow or are replaced, so it does not change.
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

// opened is a snapshot of a block.
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

// ErrTooOld means that profiles of that time are only kept as sums, which do not tell which profiles they contain.
var ErrTooOld = errors.New("the store has only sums for this day")

// has reports whether b has a profile. The caller must hold b.mu for writing.
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

// index adds an upload to the head. The caller must hold b.mu for writing.
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

// A segmentReader reads pieces of a segment. The first one opens the file.
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

// about returns the profiles in a section.
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

// A segmentError names the segment that cannot be read.
type segmentError struct {
	*segment
	err error
}

func (e *segmentError) Error() string {
	return fmt.Sprintf("segment %s: %v; its profiles are missing", e.file, e.err)
}

func (e *segmentError) Unwrap() error { return e.err }
