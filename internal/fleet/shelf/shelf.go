// Package shelf keeps recordings that people share: files with a name, who put them there, and until when they stay.
//
// Add takes a recording, and List, Get and Open are for those who look at them. Each tenant has its own, within a number of bytes: those that have expired make
// room first, then the oldest of those that are not to be kept for ever.
//
// The ID of a recording is a hash of the tenant, of who put it there and of its bytes. So one that is sent again, after an answer that was lost, is there once;
// and nobody finds an ID who does not have the recording.
package shelf

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/base32"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/hone-perf/hone/internal/fleet/body"
	"github.com/hone-perf/hone/internal/order"
	"github.com/hone-perf/hone/internal/profile"
	"github.com/hone-perf/hone/internal/recording"
	"github.com/hone-perf/hone/internal/safefile"
	"github.com/hone-perf/hone/internal/store"
	"github.com/hone-perf/hone/internal/unit"
)

// Options are the limits of a shelf. Zero values mean Defaults.
type Options struct {
	Bytes    int64         // of all recordings of a tenant
	Each     int64         // of one
	Unpacked int64         // of one, when all that is in it is unpacked
	Count    int           // recordings of a tenant
	Keep     time.Duration // unless who adds one says otherwise
	Now      func() time.Time
}

// Defaults are the options of hone serve.
var Defaults = Options{Bytes: 5 << 30, Each: 512 << 20, Unpacked: 8 << 30, Count: 10_000, Keep: 90 * 24 * time.Hour, Now: time.Now}

// Names of limits in answers.
const (
	LimitEach       = "recording-size"
	LimitUnpacked   = "recording-size-unpacked"
	LimitConcurrent = "concurrent-recordings"
)

// Limits of the description of a recording.
const (
	maxName = 200 // bytes
	maxNote = 2000
)

// atOnce is how many recordings of a tenant can be on their way in.
const atOnce = 4

// Meta is the description of a recording by its sender.
type Meta struct {
	Name    string        // such as that of its file
	Who     string        // put it there; "" is not known
	Note    string        // why
	Keep    time.Duration // 0 is as long as usual
	Forever bool          // until somebody deletes it
}

// An Entry is a recording on the shelf.
type Entry struct {
	ID      string    `json:"id"`
	Tenant  string    `json:"tenant"`
	Name    string    `json:"name"`
	Who     string    `json:"who,omitempty"`
	Note    string    `json:"note,omitempty"`
	Size    int64     `json:"size"`
	Made    time.Time `json:"made"` // when it was added
	Expires time.Time `json:"expires,omitzero"`
}

func (e *Entry) expired(now time.Time) bool { return !e.Expires.IsZero() && !now.Before(e.Expires) }

// ErrNotFound means that there is no such recording, perhaps not anymore.
var ErrNotFound = errors.New("no such recording on the shelf; it may have expired")

// A Shelf is a folder of recordings. It is safe for concurrent use.
type Shelf struct {
	dir string
	Options

	mu     sync.Mutex
	all    map[string]*Entry // by ID; nobody changes one
	coming map[string]int    // by tenant
}

// Files on the shelf.
const (
	fileEnding = ".hone"
	factEnding = ".json"
	newPrefix  = "new-"
)

// Open opens the shelf in a folder, which Add makes. It removes recordings without a description, because they were never acknowledged.
func Open(dir string, o Options) (*Shelf, error) {
	d := Defaults
	s := &Shelf{dir: dir, all: map[string]*Entry{}, coming: map[string]int{}, Options: Options{
		Bytes: cmp.Or(o.Bytes, d.Bytes), Each: cmp.Or(o.Each, d.Each), Unpacked: cmp.Or(o.Unpacked, d.Unpacked), Count: cmp.Or(o.Count, d.Count),
		Keep: cmp.Or(o.Keep, d.Keep), Now: o.Now,
	}}
	if s.Now == nil {
		s.Now = d.Now
	}
	files, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return s, nil
	}
	if err != nil {
		return nil, fmt.Errorf("opening the shelf: %w", err)
	}
	for _, f := range files {
		id, ok := strings.CutSuffix(f.Name(), factEnding)
		if !ok || !IsID(id) {
			continue
		}
		e, err := s.load(id)
		if err != nil {
			return nil, fmt.Errorf("opening the shelf: %w", err)
		}
		if e != nil {
			s.all[id] = e
		}
	}
	for _, f := range files {
		id, ok := strings.CutSuffix(f.Name(), fileEnding)
		if ok && (strings.HasPrefix(id, newPrefix) || IsID(id) && s.all[id] == nil) {
			os.Remove(filepath.Join(dir, f.Name()))
		}
	}
	return s, nil
}

// load reads what describes a recording. One whose file is not there is nil.
func (s *Shelf) load(id string) (*Entry, error) {
	text, err := os.ReadFile(s.facts(id))
	if err != nil {
		return nil, err
	}
	e := &Entry{}
	st, statErr := os.Stat(s.file(id))
	if json.Unmarshal(text, e) != nil || e.ID != id || e.Tenant == "" || statErr != nil {
		return nil, os.Remove(s.facts(id))
	}
	e.Size = st.Size()
	return e, nil
}

func (s *Shelf) file(id string) string  { return filepath.Join(s.dir, id+fileEnding) }
func (s *Shelf) facts(id string) string { return filepath.Join(s.dir, id+factEnding) }

// idForm writes IDs, in letters that are the same on systems that do not tell small letters from large ones.
var idForm = base32.NewEncoding("abcdefghijklmnopqrstuvwxyz234567").WithPadding(base32.NoPadding)

// idLength is how many letters an ID has: they say 100 bits.
const idLength = 20

// IsID reports whether text has the form of an ID.
func IsID(text string) bool {
	return len(text) == idLength && strings.Trim(text, "abcdefghijklmnopqrstuvwxyz234567") == ""
}

// Add stores a recording and returns its ID. The recording is then on stable storage. Errors about the recording are a body.Error; if the shelf is
// full, the error is store.ErrFull.
func (s *Shelf) Add(ctx context.Context, tenant string, m Meta, in io.Reader) (id string, err error) {
	if err := m.check(); err != nil {
		return "", err
	}
	if err := s.begin(tenant); err != nil {
		return "", err
	}
	defer s.end(tenant)
	if err := os.MkdirAll(s.dir, 0o700); err != nil {
		return "", full(err)
	}
	f, err := os.CreateTemp(s.dir, newPrefix+"*"+fileEnding)
	if err != nil {
		return "", full(err)
	}
	defer os.Remove(f.Name()) // which has another name when it is kept
	hash := sha256.New()
	for _, text := range []string{tenant, m.Who} {
		hash.Write(binary.AppendUvarint(nil, uint64(len(text))))
		io.WriteString(hash, text)
	}
	size, err := io.Copy(f, io.TeeReader(io.LimitReader(in, s.Each+1), hash))
	if err == nil && size > s.Each {
		err = body.TooLarge(LimitEach, "the recording", s.Each)
	}
	if err == nil {
		err = s.check(f, size)
	}
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return "", full(err)
	}
	if err := ctx.Err(); err != nil {
		return "", err
	}
	now := s.Now().UTC()
	e := &Entry{ID: idForm.EncodeToString(hash.Sum(nil))[:idLength], Tenant: tenant, Name: m.Name, Who: m.Who, Note: m.Note, Size: size, Made: now}
	if !m.Forever {
		e.Expires = now.Add(cmp.Or(m.Keep, s.Keep))
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.room(e); err != nil {
		return "", err
	}
	return e.ID, full(s.keep(e, f.Name()))
}

// full says that there is no room where that is what an error means.
func full(err error) error {
	if safefile.IsFull(err) {
		return fmt.Errorf("%w: %w", store.ErrFull, err)
	}
	return err
}

// begin and end count the recordings of a tenant that are on their way.
func (s *Shelf) begin(tenant string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.coming[tenant] >= atOnce {
		return &body.Error{
			Status: http.StatusTooManyRequests, Limit: LimitConcurrent, Retry: 10 * time.Second,
			Message: fmt.Sprintf("%d recordings are being received already (limit: %s)", atOnce, LimitConcurrent),
		}
	}
	s.coming[tenant]++
	return nil
}

func (s *Shelf) end(tenant string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.coming[tenant]--; s.coming[tenant] == 0 {
		delete(s.coming, tenant)
	}
}

// check refuses what is said about a recording.
func (m *Meta) check() error {
	for _, x := range []struct {
		what, text string
		most       int
	}{{"name", m.Name, maxName}, {"note", m.Note, maxNote}} {
		if len(x.text) > x.most {
			return body.Errorf(http.StatusUnprocessableEntity, "the %s has %d bytes; it can have %d", x.what, len(x.text), x.most)
		}
		if !utf8.ValidString(x.text) || strings.ContainsFunc(x.text, unicode.IsControl) {
			return body.Errorf(http.StatusBadRequest, "the %s is not a text without control characters", x.what)
		}
	}
	if m.Name == "" || strings.ContainsAny(m.Name, `/\`) || strings.Trim(m.Name, ".") == "" {
		return body.Errorf(http.StatusBadRequest, "%q is not a name of a recording, such as server.hone", profile.Shorten(m.Name, 60))
	}
	if m.Keep < 0 {
		return body.Errorf(http.StatusBadRequest, "a recording can't have expired before it comes")
	}
	return nil
}

// check refuses what is no recording.
func (s *Shelf) check(f io.ReaderAt, size int64) error {
	_, err := recording.Check(f, size, s.Unpacked)
	switch {
	case err == nil:
		return nil
	case errors.Is(err, recording.ErrTooLarge):
		return body.TooLarge(LimitUnpacked, "what is packed in the recording", s.Unpacked)
	case errors.Is(err, recording.ErrNotRecording):
		return body.Errorf(http.StatusUnsupportedMediaType, "the body is not a whole recording of hone: %v", err)
	}
	return body.Errorf(http.StatusUnprocessableEntity, "the recording can't be read: %v", err)
}

// room makes room for a recording, or says that there is none.
func (s *Shelf) room(e *Entry) error {
	now := s.Now()
	var mine []*Entry
	kept, bytes := 1, e.Size
	for _, other := range s.all {
		switch {
		case other.expired(now):
			s.remove(other.ID)
		case other.Tenant == e.Tenant && other.ID != e.ID:
			kept, bytes = kept+1, bytes+other.Size
			if !other.Expires.IsZero() {
				mine = append(mine, other)
			}
		}
	}
	slices.SortFunc(mine, func(a, b *Entry) int { return cmp.Or(a.Made.Compare(b.Made), cmp.Compare(a.ID, b.ID)) })
	var leave []*Entry
	for ; bytes > s.Bytes || kept > s.Count; mine = mine[1:] {
		if len(mine) == 0 {
			return fmt.Errorf("%w: with this one, %d recordings of %s would be kept forever; the limit is %s and %d recordings",
				store.ErrFull, kept, unit.Size(bytes), unit.Size(s.Bytes), s.Count)
		}
		kept, bytes = kept-1, bytes-mine[0].Size
		leave = append(leave, mine[0])
	}
	for _, other := range leave {
		s.remove(other.ID)
	}
	return nil
}

// keep puts a file that was written on the shelf. What describes it comes last: without that, it is not there.
func (s *Shelf) keep(e *Entry, file string) error {
	if err := os.Rename(file, s.file(e.ID)); err != nil {
		return err
	}
	text, err := json.Marshal(e)
	if err != nil {
		return err
	}
	f, err := safefile.Create(s.facts(e.ID))
	if err != nil {
		return err
	}
	if _, err = f.Write(append(text, '\n')); err == nil {
		err = f.Sync()
	}
	if err != nil {
		f.Discard()
		return err
	}
	if err := f.Commit(); err != nil {
		return err
	}
	s.all[e.ID] = e
	return safefile.SyncDir(s.dir)
}

// remove takes a recording off the shelf. Where somebody reads the file, the system may keep it until the shelf is opened again.
func (s *Shelf) remove(id string) error {
	delete(s.all, id)
	err := os.Remove(s.facts(id))
	os.Remove(s.file(id))
	return err
}

// List returns the recordings of a tenant, newest first.
func (s *Shelf) List(tenant string) []Entry {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.Now()
	out := []Entry{}
	for _, e := range s.all {
		if e.Tenant == tenant && !e.expired(now) {
			out = append(out, *e)
		}
	}
	order.Stable(out, func(a, b Entry) int { return cmp.Or(b.Made.Compare(a.Made), cmp.Compare(a.ID, b.ID)) })
	return out
}

// Get returns a recording of a tenant, and the name of its file.
func (s *Shelf) Get(tenant, id string) (Entry, string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	e := s.all[id]
	if e == nil || e.Tenant != tenant || e.expired(s.Now()) {
		return Entry{}, "", ErrNotFound
	}
	return *e, s.file(id), nil
}

// Open opens the file of a recording of a tenant.
func (s *Shelf) Open(tenant, id string) (Entry, *os.File, error) {
	e, name, err := s.Get(tenant, id)
	if err != nil {
		return e, nil, err
	}
	f, err := os.Open(name)
	if errors.Is(err, fs.ErrNotExist) {
		err = ErrNotFound // it was deleted meanwhile
	}
	return e, f, err
}

// ErrNotYours means that a recording belongs to somebody else.
var ErrNotYours = errors.New("only who put a recording on the shelf, and an admin, can delete it")

// Delete deletes a recording of a tenant, for its sender or an admin.
func (s *Shelf) Delete(tenant, id, who string, admin bool) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	e := s.all[id]
	switch {
	case e == nil || e.Tenant != tenant || e.expired(s.Now()):
		return ErrNotFound
	case e.Who != who && !admin:
		return ErrNotYours
	}
	return s.remove(id)
}

// Size returns the bytes of all recordings.
func (s *Shelf) Size() (bytes int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, e := range s.all {
		bytes += e.Size
	}
	return bytes
}

// Run removes recordings that have expired, until ctx ends.
func (s *Shelf) Run(ctx context.Context, failed func(error)) {
	tick := time.NewTicker(time.Hour)
	defer tick.Stop()
	for {
		if err := s.expire(); err != nil {
			failed(err)
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

func (s *Shelf) expire() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.Now()
	var errs []error
	for id, e := range s.all {
		if e.expired(now) {
			errs = append(errs, s.remove(id))
		}
	}
	return errors.Join(errs...)
}
