package disk

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/hone-perf/hone/internal/safefile"
	"github.com/hone-perf/hone/internal/store"
)

// newestFile has original profiles of a block: the newest of each series, and those that were pinned before a flush.
const newestFile = "newest"

// Flush writes the profiles in memory to segments. If it fails, they stay in memory and in the log.
func (s *Store) Flush() error {
	s.flushMu.Lock()
	defer s.flushMu.Unlock()

	s.gate.Lock()
	last, err := s.wal.rotate()
	var blocks []*block
	for _, b := range s.all() {
		b.mu.Lock()
		if len(b.head) > 0 {
			if b.flushing == nil {
				b.flushing = map[sectionKey]*section{}
			}
			for key, sec := range b.head {
				if was := b.flushing[key]; was != nil {
					sec.taken = append(slices.Clone(was.taken), sec.taken...)
				}
				b.flushing[key] = sec
			}
			b.head = map[sectionKey]*section{}
		}
		if b.flushing != nil {
			blocks = append(blocks, b)
		}
		b.mu.Unlock()
	}
	s.gate.Unlock()
	if err != nil {
		return full(fmt.Errorf("writing new profiles: %w", err))
	}
	for _, b := range blocks {
		err = errors.Join(err, s.flushBlock(b))
	}
	if err == nil {
		err = s.keepNewest(last)
	}
	if err != nil {
		return full(err)
	}
	return s.wal.remove(last)
}

// flushBlock writes b.flushing.
func (s *Store) flushBlock(b *block) error {
	fail := func(err error) error { return full(fmt.Errorf("writing %s of %s: %w", b.Service, b.Day, err)) }
	b.mu.RLock()
	sections := b.flushing
	piece, size := b.dict.unkept()
	shapes := b.dict.shapes
	b.mu.RUnlock()

	record := b.blockRecord
	if len(piece) > 0 {
		if err := s.appendNames(b, piece); err != nil {
			return fail(err)
		}
		record.Names += int64(len(piece))
	}
	byHour := map[int64][]*section{}
	for _, sec := range sections {
		hours := map[int64]*section{}
		for _, t := range sec.taken {
			at := hourOf(t.start)
			if hours[at] == nil {
				hours[at] = &section{kind: sec.kind, labels: sec.labels, shape: sec.shape}
				byHour[at] = append(byHour[at], hours[at])
			}
			hours[at].taken = append(hours[at].taken, t)
		}
	}
	var made []*segment
	for _, at := range slices.Sorted(maps.Keys(byHour)) {
		g, err := s.writeSegment(b, at, byHour[at], shapes, false)
		if err != nil {
			s.removeSegments(b, made)
			return fail(err)
		}
		made = append(made, g)
	}
	if len(b.segments) == 0 { // parent folders may be new
		for dir := b.dir; dir != s.dir; dir = filepath.Dir(dir) {
			if err := s.wal.syncDir(dir); err != nil {
				s.removeSegments(b, made)
				return fail(err)
			}
		}
	}
	if err := s.catalog.apply(change{blocks: []*blockRecord{&record}, segments: made}); err != nil {
		s.removeSegments(b, made)
		return fail(err)
	}
	b.mu.Lock()
	s.resize(int64(len(piece)))
	b.Names = record.Names
	b.dict.kept = size
	b.flushing = nil
	b.segments = append(slices.Clone(b.segments), made...)
	b.mu.Unlock()
	for _, g := range made {
		s.resize(g.size)
	}
	return nil
}

func (s *Store) resize(by int64) {
	s.mu.Lock()
	s.size += by
	s.mu.Unlock()
}

func (s *Store) appendNames(b *block, piece []byte) error {
	if err := s.wal.try("names"); err != nil {
		return err
	}
	if err := os.MkdirAll(b.dir, 0o700); err != nil {
		return err
	}
	f, err := os.OpenFile(filepath.Join(b.dir, namesFile), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return err
	}
	// Bytes after the valid part are from a failed write, or of segments that the catalog does not name.
	info, err := f.Stat()
	if err == nil && info.Size() > b.Names {
		err = s.keepUnnamed(b)
	}
	if err == nil {
		err = f.Truncate(b.Names)
	}
	if err == nil {
		_, err = f.WriteAt(piece, b.Names)
	}
	if err == nil {
		err = s.wal.sync(f)
	}
	return errors.Join(err, f.Close())
}

// writeSegment writes sections to a new file, which is not in the catalog yet.
func (s *Store) writeSegment(b *block, hour int64, sections []*section, shapes []shape, rolled bool) (*segment, error) {
	if err := s.wal.try("segment"); err != nil {
		return nil, err
	}
	slices.SortFunc(sections, func(a, b *section) int { return compareKeys(a.key(), b.key()) })
	w := newSegment()
	for _, sec := range sections {
		sec.taken = slices.Clone(sec.taken)
		if err := w.add(sec, &shapes[sec.shape], rolled); err != nil {
			return nil, err
		}
	}
	if err := os.MkdirAll(b.dir, 0o700); err != nil {
		return nil, err
	}
	g := &segment{block: string(b.key()), hour: hour}
	var f *os.File
	for {
		g.seq = s.nextSeq()
		g.file = fmt.Sprintf("%012d%s", g.seq, segmentSuffix)
		var err error
		if f, err = os.OpenFile(filepath.Join(b.dir, g.file), os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600); err == nil {
			break
		}
		if !errors.Is(err, fs.ErrExist) { // after a crash there may be one that the catalog never knew
			return nil, err
		}
	}
	name := f.Name()
	out := w.finish(g)
	g.size = int64(len(out))
	_, err := f.Write(out)
	if err == nil {
		err = s.wal.sync(f)
	}
	if err = errors.Join(err, f.Close()); err == nil {
		err = s.wal.syncDir(b.dir)
	}
	if err != nil {
		os.Remove(name)
		return nil, err
	}
	return g, nil
}

// nextSeq returns the number of a new segment.
func (s *Store) nextSeq() uint64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.seq++
	return s.seq
}

// removeSegments removes files that are not in the catalog.
func (s *Store) removeSegments(b *block, list []*segment) {
	for _, g := range list {
		os.Remove(filepath.Join(b.dir, g.file)) // Check finds files that cannot be removed now
	}
}

// A logged is the place of a profile in the log, or in newestFile.
type logged struct {
	file  string
	at    int64
	start time.Time
}

// note finds the newest profile of each series in a file of records, and the pinned ones.
func note(name string, newest map[*block]map[string]logged, pins []store.Pin, of func(tenant string, u *store.Upload) *block) error {
	f, err := os.Open(name)
	if err != nil {
		return err
	}
	defer f.Close()
	_, err = eachRecord(f, func(at int64, tenant string, u *store.Upload) error {
		b := of(tenant, u)
		if b == nil {
			return nil
		}
		if newest[b] == nil {
			newest[b] = map[string]logged{}
		}
		key := u.Kind + u.Labels.String()
		if was, ok := newest[b][key]; !ok || !u.Start.Before(was.start) {
			newest[b][key] = logged{name, at, u.Start}
		}
		if keeps(pins, tenant, u) {
			newest[b]["pinned "+u.ID.String()] = logged{name, at, u.Start}
		}
		return nil
	})
	return err
}

// keeps reports whether one of the pins protects an upload.
func keeps(pins []store.Pin, tenant string, u *store.Upload) bool {
	return slices.ContainsFunc(pins, func(p store.Pin) bool { return p.Keeps(tenant, u) })
}

// keepNewest keeps the original of the newest profile of each series in the log files up to one.
func (s *Store) keepNewest(last uint64) error {
	files, err := s.wal.files()
	if err != nil {
		return err
	}
	pins, err := s.catalog.pins("", true)
	if err != nil {
		return err
	}
	newest := map[*block]map[string]logged{}
	for _, n := range files {
		if n > last {
			continue
		}
		err := note(s.wal.name(n), newest, pins, func(tenant string, u *store.Upload) *block {
			s.mu.Lock()
			defer s.mu.Unlock()
			r := blockRecord{Tenant: tenant, Service: u.Service, Day: u.Start.UTC().Format(dayFormat)}
			return s.blocks[string(r.key())]
		})
		if err != nil {
			return err
		}
	}
	for b, list := range newest {
		if err := s.writeNewest(b, list, pins); err != nil {
			return fmt.Errorf("writing %s of %s: %w", b.Service, b.Day, err)
		}
	}
	return nil
}

// writeNewest adds original profiles to those of other series.
func (s *Store) writeNewest(b *block, list map[string]logged, pins []store.Pin) error {
	b.mu.RLock()
	empty := len(b.segments) == 0
	b.mu.RUnlock()
	if empty {
		return nil // all of them were in the file already, or cannot be used
	}
	if err := s.wal.try("newest"); err != nil {
		return err
	}
	name := filepath.Join(b.dir, newestFile)
	all := map[*block]map[string]logged{}
	if err := note(name, all, pins, func(string, *store.Upload) *block { return b }); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if all[b] == nil {
		all[b] = map[string]logged{}
	}
	for key, l := range list {
		if was, ok := all[b][key]; !ok || !l.start.Before(was.start) {
			all[b][key] = l
		}
	}
	out, err := safefile.Replace(name)
	if err != nil {
		return err
	}
	defer out.Discard()
	written := map[logged]bool{}
	for _, key := range slices.Sorted(maps.Keys(all[b])) {
		l := all[b][key]
		if written[l] {
			continue
		}
		written[l] = true
		if err := copyRecord(out, l); err != nil {
			return err
		}
	}
	if err := out.Commit(); err != nil {
		return err
	}
	s.weighNewest(b)
	return nil
}

// keepPinned removes the original profiles of a block that no pin protects. The block may have moved to another folder.
func (s *Store) keepPinned(b *block, dir string, pins []store.Pin) error {
	from, to := filepath.Join(b.dir, newestFile), filepath.Join(dir, newestFile)
	in, err := os.Open(from)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer in.Close()
	var list []logged
	if _, err := eachRecord(in, func(at int64, tenant string, u *store.Upload) error {
		if keeps(pins, tenant, u) {
			list = append(list, logged{from, at, u.Start})
		}
		return nil
	}); err != nil {
		return err
	}
	if len(list) == 0 {
		if from == to {
			return os.Remove(to)
		}
		return nil
	}
	out, err := safefile.Replace(to)
	if err != nil {
		return err
	}
	defer out.Discard()
	for _, l := range list {
		if err := copyRecord(out, l); err != nil {
			return err
		}
	}
	return out.Commit()
}

// weighNewest counts the size of newestFile.
func (s *Store) weighNewest(b *block) {
	size := b.sizeOfNewest()
	s.mu.Lock()
	defer s.mu.Unlock()
	if !b.gone {
		s.size += size - b.newest
		b.newest = size
	}
}

func (b *block) sizeOfNewest() int64 {
	info, err := os.Stat(filepath.Join(b.dir, newestFile))
	if err != nil {
		return 0 // there is no such file
	}
	return info.Size()
}

func copyRecord(w io.Writer, l logged) error {
	f, err := os.Open(l.file)
	if err != nil {
		return err
	}
	defer f.Close()
	var head [recordHead]byte
	if _, err := f.ReadAt(head[:], l.at); err != nil {
		return err
	}
	size := int64(binary.LittleEndian.Uint32(head[:]))
	_, err = io.Copy(w, io.NewSectionReader(f, l.at, recordHead+size))
	return err
}
