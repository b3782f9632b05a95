package shelf

import (
	"archive/zip"
	"bytes"
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hone-perf/hone/internal/fleet/body"
	"github.com/hone-perf/hone/internal/store"
)

// made returns a recording of about so many bytes.
func made(t *testing.T, seed uint64, size int) []byte {
	t.Helper()
	var out bytes.Buffer
	z := zip.NewWriter(&out)
	noise := rand.NewChaCha8([32]byte{byte(seed), byte(seed >> 8)})
	for name, in := range map[string]io.Reader{
		"manifest.json": strings.NewReader(`{"format":1,"how":"ran"}`), "stderr.log": io.LimitReader(noise, int64(size)),
	} {
		w, err := z.CreateHeader(&zip.FileHeader{Name: name})
		if err == nil {
			_, err = io.Copy(w, in)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func add(t *testing.T, s *Shelf, tenant string, m Meta, b []byte) string {
	t.Helper()
	id, err := s.Add(t.Context(), tenant, m, bytes.NewReader(b))
	if err != nil || !IsID(id) {
		t.Fatalf("adding %s: %q, %v", m.Name, id, err)
	}
	return id
}

func open(t *testing.T, dir string, o Options) *Shelf {
	t.Helper()
	s, err := Open(dir, o)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// names returns what is on the shelf of a tenant.
func names(s *Shelf, tenant string) string {
	var out []string
	for _, e := range s.List(tenant) {
		out = append(out, e.Name)
	}
	return strings.Join(out, " ")
}

func read(s *Shelf, tenant, id string) (string, error) {
	_, f, err := s.Open(tenant, id)
	if err != nil {
		return "", err
	}
	defer f.Close()
	b, err := io.ReadAll(f)
	return string(b), err
}

// clock is a time that goes on by a minute whenever somebody asks.
func clock() func() time.Time {
	now := time.Date(2026, 9, 1, 0, 0, 0, 0, time.UTC)
	return func() time.Time { now = now.Add(time.Minute); return now }
}

func TestShelf(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "shelf")
	s := open(t, dir, Options{Now: clock()})
	a, b := made(t, 1, 100), made(t, 2, 100)
	first := add(t, s, "shop", Meta{Name: "a.hone", Who: "ci", Note: "slow"}, a)
	second := add(t, s, "shop", Meta{Name: "b.hone", Who: "ann", Forever: true}, b)
	theirs := add(t, s, "other", Meta{Name: "c.hone", Who: "ci"}, a)
	if again := add(t, s, "shop", Meta{Name: "a2.hone", Who: "ci"}, a); again != first {
		t.Errorf("a recording that is sent again is %s, and was %s", again, first)
	}
	if theirs == first {
		t.Error("tenants have recordings of one ID")
	}
	if got := names(s, "shop"); got != "a2.hone b.hone" {
		t.Errorf("on the shelf: %s", got)
	}
	for _, tt := range []struct{ tenant, id string }{{"other", first}, {"shop", theirs}, {"shop", "../" + first}, {"shop", ""}, {"nobody", first}} {
		if _, err := read(s, tt.tenant, tt.id); !errors.Is(err, ErrNotFound) {
			t.Errorf("%s reads %q: %v", tt.tenant, tt.id, err)
		}
	}
	// A server that was killed may leave files that nobody was told of.
	for _, left := range []string{"new-123.hone", strings.Repeat("a", idLength) + ".hone"} {
		if err := os.WriteFile(filepath.Join(dir, left), a, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, strings.Repeat("b", idLength)+".json"), []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	s = open(t, dir, Options{Now: s.Now})
	if got, err := read(s, "shop", first); err != nil || got != string(a) {
		t.Errorf("after opening again there are %d bytes, %v", len(got), err)
	}
	if e, _, err := s.Get("shop", second); err != nil || !e.Expires.IsZero() || e.Who != "ann" || e.Size != int64(len(b)) {
		t.Errorf("after opening again: %+v, %v", e, err)
	}
	if files, _ := os.ReadDir(dir); len(files) != 6 {
		t.Errorf("there are %d files: %v", len(files), files)
	}
	if err := s.Delete("shop", first, "ann", false); !errors.Is(err, ErrNotYours) {
		t.Errorf("somebody else deletes it: %v", err)
	}
	if err := s.Delete("other", first, "ci", true); !errors.Is(err, ErrNotFound) {
		t.Errorf("another tenant deletes it: %v", err)
	}
	if err := errors.Join(s.Delete("shop", first, "ci", false), s.Delete("shop", second, "root", true)); err != nil {
		t.Error(err)
	}
	if files, _ := os.ReadDir(dir); len(files) != 2 || names(s, "shop") != "" {
		t.Errorf("after deleting there are %v", files)
	}
}

func TestRoom(t *testing.T) {
	one := int64(len(made(t, 0, 1000)))
	s := open(t, t.TempDir(), Options{Now: clock(), Bytes: 3*one + 100, Count: 3})
	add(t, s, "other", Meta{Name: "theirs"}, made(t, 9, 1000))
	add(t, s, "shop", Meta{Name: "1", Forever: true}, made(t, 1, 1000))
	add(t, s, "shop", Meta{Name: "2"}, made(t, 2, 1000))
	add(t, s, "shop", Meta{Name: "3"}, made(t, 3, 1000))
	add(t, s, "shop", Meta{Name: "4", Forever: true}, made(t, 4, 1000))
	if got := names(s, "shop"); got != "4 3 1" {
		t.Errorf("on the shelf: %s; the oldest that may go is 2", got)
	}
	add(t, s, "shop", Meta{Name: "5", Forever: true}, made(t, 5, 1000))
	_, err := s.Add(t.Context(), "shop", Meta{Name: "6"}, bytes.NewReader(made(t, 6, 1000)))
	if !errors.Is(err, store.ErrFull) || names(s, "shop") != "5 4 1" {
		t.Errorf("when all are kept for ever: %v; on the shelf: %s", err, names(s, "shop"))
	}
	if names(s, "other") != "theirs" {
		t.Error("the recordings of another tenant made room")
	}
	if s.Size() != 4*one {
		t.Errorf("all take %d bytes, want %d", s.Size(), 4*one)
	}
}

func TestExpiry(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		s := open(t, dir, Options{Keep: 48 * time.Hour})
		id := add(t, s, "shop", Meta{Name: "usual"}, made(t, 1, 10))
		add(t, s, "shop", Meta{Name: "short", Keep: 30 * time.Minute}, made(t, 2, 10))
		add(t, s, "shop", Meta{Name: "ever", Forever: true}, made(t, 3, 10))
		ctx, stop := context.WithCancel(t.Context())
		go s.Run(ctx, func(err error) { t.Error(err) })
		time.Sleep(31 * time.Minute)
		if got := names(s, "shop"); strings.Contains(got, "short") {
			t.Errorf("after half an hour: %s", got)
		}
		time.Sleep(48 * time.Hour)
		synctest.Wait()
		if _, err := read(s, "shop", id); !errors.Is(err, ErrNotFound) {
			t.Errorf("after two days: %v", err)
		}
		if files, _ := os.ReadDir(dir); len(files) != 2 || names(s, "shop") != "ever" {
			t.Errorf("after two days there are %v", files)
		}
		stop()
		synctest.Wait()
	})
}

func TestRefused(t *testing.T) {
	good := made(t, 1, 1000)
	s := open(t, t.TempDir(), Options{Each: 4000, Unpacked: 5000, Now: clock()})
	var bomb bytes.Buffer
	z := zip.NewWriter(&bomb)
	for name, text := range map[string]string{"manifest.json": `{"format":1}`, "gc.log": strings.Repeat("a", 6000)} {
		w, err := z.Create(name)
		if err == nil {
			_, err = io.WriteString(w, text)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	z.Close()
	name := Meta{Name: "a.hone"}
	tests := []struct {
		what   string
		m      Meta
		in     []byte
		status int
		says   string
	}{
		{"no name", Meta{}, good, 400, "not a name"},
		{"a path", Meta{Name: "../a.hone"}, good, 400, "not a name"},
		{"a folder", Meta{Name: ".."}, good, 400, "not a name"},
		{"a header", Meta{Name: "a\r\nSet-Cookie: x"}, good, 400, "control characters"},
		{"a long name", Meta{Name: strings.Repeat("a", 300)}, good, 422, "300 bytes"},
		{"a note that is no text", Meta{Name: "a", Note: "\xff"}, good, 400, "not a text"},
		{"a note that draws", Meta{Name: "a", Note: "\x1b[2J"}, good, 400, "control characters"},
		{"what has expired", Meta{Name: "a", Keep: -1}, good, 400, "expired"},
		{"too much", name, append(good, make([]byte, 4000)...), 413, "recording-size"},
		{"a bomb", name, bomb.Bytes(), 413, "recording-size-unpacked"},
		{"half of one", name, good[:700], 415, "not a whole recording"},
		{"text", name, []byte("hello"), 415, "not a whole recording"},
		{"nothing", name, nil, 415, "not a whole recording"},
	}
	for _, tt := range tests {
		_, err := s.Add(t.Context(), "shop", tt.m, bytes.NewReader(tt.in))
		var bad *body.Error
		if !errors.As(err, &bad) || bad.Status != tt.status || !strings.Contains(err.Error(), tt.says) {
			t.Errorf("%s: %v, want %d and %q", tt.what, err, tt.status, tt.says)
		}
	}
	if _, err := s.Add(t.Context(), "shop", name, io.MultiReader(bytes.NewReader(good[:500]), broken{})); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("a body that ends early: %v", err)
	}
	if files, _ := os.ReadDir(s.dir); len(files) != 0 {
		t.Errorf("what was refused left %v", files)
	}
	// Of one tenant, so many come at the same time.
	slow := &waiting{begun: make(chan struct{}), end: make(chan struct{})}
	ended := make(chan error)
	for range atOnce {
		go func() {
			_, err := s.Add(t.Context(), "shop", name, slow)
			ended <- err
		}()
		<-slow.begun
	}
	var bad *body.Error
	if _, err := s.Add(t.Context(), "shop", name, bytes.NewReader(good)); !errors.As(err, &bad) || bad.Limit != LimitConcurrent {
		t.Errorf("one more at the same time: %v", err)
	}
	add(t, s, "other", name, good)
	close(slow.end)
	for range atOnce {
		<-ended
	}
	add(t, s, "shop", name, good)
}

type broken struct{}

func (broken) Read([]byte) (int, error) { return 0, io.ErrUnexpectedEOF }

// waiting is a body that does not come.
type waiting struct{ begun, end chan struct{} }

func (w *waiting) Read([]byte) (int, error) {
	w.begun <- struct{}{}
	<-w.end
	return 0, io.EOF
}
