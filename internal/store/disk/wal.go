package disk

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/hone-perf/hone/internal/safefile"
	"github.com/hone-perf/hone/internal/store"
)

// A wal is the files in which uploads are safe until they are in segments. Records are written and synced for all who wait at
// the same time.
type wal struct {
	dir      string
	fault    func(op string) error // for tests
	unsynced bool

	mu      sync.Mutex
	f       *os.File
	seq     uint64
	size    int64 // of f, as far as it is synced
	born    time.Time
	next    *group // those who wait for the next sync
	syncing bool

	keep map[uint64]bool // files with records that cannot be read
}

// A group is records that are written together.
type group struct {
	bufs [][]byte
	done chan struct{}
	err  error
}

const walSuffix = ".wal"

func (w *wal) name(seq uint64) string {
	return filepath.Join(w.dir, fmt.Sprintf("%016d", seq)+walSuffix)
}

// files returns the numbers of the files that there are, in order.
func (w *wal) files() ([]uint64, error) {
	list, err := os.ReadDir(w.dir)
	if err != nil {
		return nil, err
	}
	var out []uint64
	for _, e := range list {
		if base, ok := strings.CutSuffix(e.Name(), walSuffix); ok {
			if n, err := strconv.ParseUint(base, 10, 64); err == nil {
				out = append(out, n)
			}
		}
	}
	slices.Sort(out)
	return out, nil
}

// append returns when records, which may be in parts, are on stable storage.
func (w *wal) append(records ...[]byte) error {
	w.mu.Lock()
	g := w.next
	if g == nil {
		g = &group{done: make(chan struct{})}
		w.next = g
	}
	g.bufs = append(g.bufs, records...)
	if w.syncing {
		w.mu.Unlock()
		<-g.done
		return g.err
	}
	w.syncing = true
	w.mu.Unlock()
	w.writeNext()
	return g.err
}

// writeNext writes the group that waits. Those who came meanwhile are written next, by nobody who waits for something else.
func (w *wal) writeNext() {
	w.mu.Lock()
	g := w.next
	w.next = nil
	w.mu.Unlock()
	g.err = w.write(g.bufs)
	close(g.done)
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.next == nil {
		w.syncing = false
		return
	}
	go w.writeNext()
}

// write is only called by the one who syncs.
func (w *wal) write(bufs [][]byte) error {
	if w.f == nil {
		if err := w.create(); err != nil {
			return full(err)
		}
	}
	err := w.try("write")
	size := int64(0)
	for i := 0; i < len(bufs) && err == nil; i++ {
		_, err = w.f.Write(bufs[i])
		size += int64(len(bufs[i]))
	}
	if err == nil {
		if err = w.try("sync"); err == nil {
			err = w.sync(w.f)
		}
	}
	if err != nil {
		// What was written of it may be on disk or not. It is cut off, and the next records go to another file: a sync that
		// failed once says nothing about the rest of its file.
		terr := w.f.Truncate(w.size)
		w.f.Close()
		w.f = nil
		if terr == nil && w.size == 0 {
			os.Remove(w.name(w.seq))
		}
		return full(fmt.Errorf("writing new profiles: %w", err))
	}
	w.mu.Lock()
	w.size += size
	w.mu.Unlock()
	return nil
}

// sync makes what was written to a file stay.
func (w *wal) sync(f *os.File) error {
	if w.unsynced {
		return nil
	}
	return f.Sync()
}

func (w *wal) syncDir(dir string) error {
	if err := w.try("sync " + dir); err != nil {
		return err
	}
	if w.unsynced {
		return nil
	}
	return safefile.SyncDir(dir)
}

func (w *wal) try(op string) error {
	if w.fault == nil {
		return nil
	}
	return w.fault(op)
}

func (w *wal) create() error {
	if err := w.try("create"); err != nil {
		return err
	}
	f, err := os.OpenFile(w.name(w.seq+1), os.O_CREATE|os.O_EXCL|os.O_RDWR, 0o600)
	if err != nil {
		return err
	}
	if err := w.syncDir(w.dir); err != nil {
		f.Close()
		os.Remove(f.Name())
		return err
	}
	w.mu.Lock()
	w.f, w.size, w.born = f, 0, time.Now()
	w.seq++
	w.mu.Unlock()
	return nil
}

// rotate closes the file, and returns the number of the last one that there is, which may be one before. Nobody may append meanwhile.
func (w *wal) rotate() (last uint64, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.f != nil {
		err = w.f.Close()
		w.f = nil
	}
	return w.seq, err
}

// remove removes files up to last. Those with records that cannot be read go to the folder of damaged files.
func (w *wal) remove(last uint64) error {
	files, err := w.files()
	if err != nil {
		return err
	}
	for _, n := range files {
		if n > last {
			continue
		}
		if w.keep[n] {
			_, kerr := aside(filepath.Dir(w.dir), w.name(n))
			err = errors.Join(err, kerr)
			continue
		}
		err = errors.Join(err, os.Remove(w.name(n)))
	}
	return err
}

// state returns how much is in the file that is written to, and since when.
func (w *wal) state() (size int64, born time.Time) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.f == nil {
		return 0, time.Time{}
	}
	return w.size, w.born
}

// A record is its length, a checksum, and the upload.
const recordHead = 8

// maxRecord is more than any upload that Limits let in.
const maxRecord = 1 << 30

// record returns the record of an upload but for u.Raw, which is at its end and is not copied.
func record(tenant string, u *store.Upload) []byte {
	e := encoder{make([]byte, recordHead, 512)}
	e.text(tenant)
	e.text(u.Service)
	e.text(u.Kind)
	encodeLabels(&e, u.Labels)
	encodeLabels(&e, u.Row)
	e.int(u.Start.UnixNano())
	e.int(u.End.UnixNano())
	e.int(u.Arrived.UnixNano())
	e.bool(u.Counters)
	e.bool(u.Clock)
	e.b = append(e.b, u.ID[:]...)
	e.uint(uint64(len(u.Raw)))
	body := e.b[recordHead:]
	binary.LittleEndian.PutUint32(e.b, uint32(len(body)+len(u.Raw)))
	binary.LittleEndian.PutUint32(e.b[4:], crc32.Update(crc32.Checksum(body, castagnoli), castagnoli, u.Raw))
	return e.b
}

func decodeRecord(body []byte) (tenant string, u *store.Upload, err error) {
	d := decoder{b: body}
	u = &store.Upload{}
	tenant = d.text()
	u.Service, u.Kind = d.text(), d.text()
	u.Labels, u.Row = decodeLabels(&d), decodeLabels(&d)
	u.Start, u.End, u.Arrived = fromNano(d.int()), fromNano(d.int()), fromNano(d.int())
	u.Counters, u.Clock = d.bool(), d.bool()
	if len(d.b) < len(u.ID) {
		return "", nil, errDamaged
	}
	copy(u.ID[:], d.b)
	d.b = d.b[len(u.ID):]
	u.Raw = d.bytes()
	return tenant, u, d.err
}

func fromNano(n int64) time.Time { return time.Unix(0, n).UTC() }

// A gap is a part of a file of records that cannot be read.
type gap struct {
	at, size int64
	torn     bool // it is an incomplete record at the end of the file
}

func (g gap) Error() string {
	if g.torn {
		return fmt.Sprintf("the last %d bytes are an incomplete profile, as after a write that did not finish and was not acknowledged", g.size)
	}
	return fmt.Sprintf("%d bytes from byte %d on can't be read: profiles in them are lost, and may have been acknowledged", g.size, g.at)
}

// eachRecord calls each for the records in a file, with where they are. The profile as it came in is only good until each returns. After damage, it goes on
// with the next record that is whole. It returns what it left out.
func eachRecord(f *os.File, each func(at int64, tenant string, u *store.Upload) error) ([]gap, error) {
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	return eachRecordIn(f, info.Size(), each)
}

func eachRecordIn(f io.ReaderAt, size int64, each func(at int64, tenant string, u *store.Upload) error) (gaps []gap, err error) {
	var buf []byte
	for at := int64(0); at < size; {
		body, end := recordAt(f, at, size, buf)
		if body != nil {
			if tenant, u, err := decodeRecord(body); err == nil {
				if err := each(at, tenant, u); err != nil {
					return gaps, err
				}
				at = end
				if cap(body) <= largeRecord {
					buf = body
				}
				continue
			}
		}
		g := gap{at: at, size: nextRecord(f, at, end, size) - at}
		g.torn = at+g.size == size && end > size
		gaps = append(gaps, g)
		at += g.size
	}
	return gaps, nil
}

// recordAt returns the body of a record whose checksum is right, or nil, and where the record ends according to its length. That is 0 if the length is
// damaged for sure, and after the end of the file if the record is incomplete.
func recordAt(f io.ReaderAt, at, size int64, buf []byte) (body []byte, end int64) {
	if size-at < recordHead {
		return nil, size + 1
	}
	var head [recordHead]byte
	if _, err := f.ReadAt(head[:], at); err != nil {
		return nil, 0
	}
	n := int64(binary.LittleEndian.Uint32(head[:]))
	if n == 0 || n > maxRecord {
		return nil, 0
	}
	end = at + recordHead + n
	if end > size {
		return nil, end
	}
	body, err := readBody(io.NewSectionReader(f, at+recordHead, n), n, buf)
	if err != nil || crc32.Checksum(body, castagnoli) != binary.LittleEndian.Uint32(head[4:]) {
		return nil, end
	}
	return body, end
}

// How far nextRecord looks for a record, and how many bytes it compares with checksums at most.
const (
	searchLimit   = 64 << 20
	checksumLimit = 1 << 30
)

// nextRecord returns where the next whole record after a damaged one starts, or the size of the file. end is the end of the damaged one according to its
// length.
func nextRecord(f io.ReaderAt, at, end, size int64) int64 {
	starts := func(at int64) bool {
		if at == size {
			return true
		}
		body, _ := recordAt(f, at, size, nil)
		return body != nil && lengthOf(body) == len(body)
	}
	if end > 0 && end <= size && starts(end) {
		return end
	}
	in := make([]byte, min(size-at, searchLimit))
	n, _ := f.ReadAt(in, at) // what cannot be read is lost
	in = in[:n]
	if len(in) <= recordHead {
		return size
	}
	// What a record says about itself has its length, too. Bytes within a profile are up to its sender, so they are the last resort.
	if n := lengthOf(in[recordHead:]); n > 0 && starts(at+recordHead+int64(n)) {
		return at + recordHead + int64(n)
	}
	checked := 0
	for p := 1; p+recordHead < len(in) && checked < checksumLimit; p++ {
		n := binary.LittleEndian.Uint32(in[p:])
		rest := in[p+recordHead:]
		if uint64(n) > uint64(len(rest)) || n == 0 || lengthOf(rest[:n]) != int(n) {
			continue
		}
		checked += int(n)
		if crc32.Checksum(rest[:n], castagnoli) == binary.LittleEndian.Uint32(in[p+4:]) {
			return at + int64(p)
		}
	}
	return size
}

// lengthOf returns the length of the body of a record according to its fields, or 0 if in does not start with one.
func lengthOf(in []byte) int {
	d := decoder{b: in}
	for range 3 { // tenant, service, kind
		d.bytes()
	}
	for range 2 { // labels
		n := d.count()
		if n > 1000 {
			return 0
		}
		for range 2 * n {
			d.bytes()
		}
	}
	d.skip(5) // three times and two flags
	if len(d.b) < len(store.ID{}) {
		return 0
	}
	d.b = d.b[len(store.ID{}):]
	if d.bytes(); d.err != nil {
		return 0
	}
	return len(in) - len(d.b)
}

// largeRecord is from where on memory is for the bytes that are there: the size may be damaged.
const largeRecord = 1 << 20

// readBody reads so many bytes, into buf where they fit.
func readBody(r io.Reader, size int64, buf []byte) ([]byte, error) {
	if size <= largeRecord {
		body := slices.Grow(buf[:0], int(size))[:size]
		_, err := io.ReadFull(r, body)
		return body, err
	}
	body, err := io.ReadAll(io.LimitReader(r, size))
	if err == nil && int64(len(body)) < size {
		err = io.ErrUnexpectedEOF
	}
	return body, err
}

// full says that the store is full where that is what an error means.
func full(err error) error {
	if safefile.IsFull(err) {
		return fmt.Errorf("%w: %w", store.ErrFull, err)
	}
	return err
}
