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

// remove removes files up to last.
func (w *wal) remove(last uint64) error {
	files, err := w.files()
	if err != nil {
		return err
	}
	for _, n := range files {
		if n <= last {
			err = errors.Join(err, os.Remove(w.name(n)))
		}
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

// eachRecord calls each for the records in a file, with where they are, until one is not whole. The profile as it came in is only good until each returns.
// It returns how many bytes are good.
func eachRecord(r io.Reader, each func(at int64, tenant string, u *store.Upload) error) (good int64, err error) {
	var head [recordHead]byte
	var buf []byte
	for {
		if _, err := io.ReadFull(r, head[:]); err != nil {
			return good, nil
		}
		size := binary.LittleEndian.Uint32(head[:])
		if size > maxRecord {
			return good, nil
		}
		body, err := readBody(r, int64(size), buf)
		if err != nil || crc32.Checksum(body, castagnoli) != binary.LittleEndian.Uint32(head[4:]) {
			return good, nil
		}
		tenant, u, err := decodeRecord(body)
		if err != nil {
			return good, nil
		}
		if err := each(good, tenant, u); err != nil {
			return good, err
		}
		good += int64(recordHead) + int64(size)
		if cap(body) <= largeRecord {
			buf = body
		}
	}
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
