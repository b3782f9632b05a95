package recording

import (
	"archive/zip"
	"bytes"
	"encoding/binary"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// packedFolder returns the recording of three seconds as one file.
func packedFolder(t testing.TB) []byte {
	t.Helper()
	name := filepath.Join(t.TempDir(), "x.hone")
	if err := pack(folder(t), name); err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// opened opens a recording that is in a file.
func opened(t *testing.T, b []byte) (*Recording, error) {
	t.Helper()
	name := filepath.Join(t.TempDir(), "x.hone")
	write(t, name, string(b))
	r, err := Open(name)
	if err == nil {
		t.Cleanup(func() { r.Close() })
	}
	return r, err
}

// Wherever a recording is cut off, what is whole in front of that can be asked, and is said to be a part.
func TestOpenCutShort(t *testing.T) {
	b := packedFolder(t)
	for n := len(b) - 1; n > 4; n -= 11 {
		r, err := opened(t, b[:n])
		if err != nil {
			if !errors.Is(err, ErrNotRecording) || !strings.Contains(err.Error(), "only the beginning of one") {
				t.Errorf("cut after %d bytes: %v", n, err)
			}
			if bytes.Contains(b[:n], []byte(PartFile(CPU, 0, time.Second))) {
				t.Errorf("cut after %d bytes, behind its manifest: %v", n, err)
			}
			continue
		}
		if len(r.Lost) != 1 || !strings.Contains(r.Lost[0], "cut short") {
			t.Errorf("cut after %d bytes: said %q", n, r.Lost)
		}
		if len(r.Parts[CPU]) == 0 {
			continue
		}
		p, _, err := r.Pick("cpu", 0, 0)
		if err != nil {
			t.Errorf("cut after %d bytes: %v", n, err)
			continue
		}
		var damage *DamageError
		if !errors.As(p.Profile.Damage, &damage) || !slices.Contains(p.Profile.Notes, r.Lost[0]) {
			t.Errorf("cut after %d bytes: the answer says %q, damage %v", n, p.Profile.Notes, p.Profile.Damage)
		}
		if got, want := values(t, p.Profile, "cpu")["main.a"], int64(10*len(r.Parts[CPU])); got != want {
			t.Errorf("cut after %d bytes: main.a costs %d in %d profiles, want %d", n, got, len(r.Parts[CPU]), want)
		}
	}
}

// Without its list of files, a recording is what it was with it.
func TestOpenWithoutList(t *testing.T) {
	b := packedFolder(t)
	end := bytes.LastIndex(b, []byte(endSig))
	list := int(binary.LittleEndian.Uint32(b[end+16:]))
	for name, text := range map[string][]byte{
		"cut before it":      b[:list],
		"cut inside it":      b[:list+100],
		"with zeros in it":   slices.Concat(b[:list], make([]byte, len(b)-list)),
		"with a wrong place": slices.Concat(b[:end+16], []byte{0xff, 0xff, 0xff, 0x7f}, b[end+20:]),
	} {
		r, err := opened(t, text)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if len(r.Parts[CPU]) != 3 || len(r.Parts[Heap]) != 3 || !strings.HasSuffix(r.Lost[0], "could be recovered") {
			t.Errorf("%s: it has %d CPU and %d heap profiles, and says %q", name, len(r.Parts[CPU]), len(r.Parts[Heap]), r.Lost)
		}
		if text, err := r.Sources.Find("/build/main.go", "main.a", 3); err != nil || text.Lines[0] != "package main" {
			t.Errorf("%s: Find = %q, %v", name, text, err)
		}
		if p, _, err := r.Pick("heap", 0, 0); err != nil || values(t, p.Profile, "inuse_space")["main.a"] != 21 {
			t.Errorf("%s: heap: %v", name, err)
		}
	}
}

// An entry whose bytes changed is damaged; those behind it are not, whether there is a list of files or not.
func TestOpenChangedBytes(t *testing.T) {
	b := packedFolder(t)
	at := bytes.Index(b, []byte(PartFile(CPU, 0, time.Second)))
	clear(b[at+60 : at+90])
	for name, text := range map[string][]byte{"whole": b, "cut short": b[:len(b)-10]} {
		r, err := opened(t, text)
		if err != nil {
			t.Fatal(err)
		}
		p, _, err := r.Pick("cpu", 0, 0)
		if err != nil {
			t.Fatal(err)
		}
		notes := strings.Join(p.Profile.Notes, "; ")
		if got := values(t, p.Profile, "cpu")["main.a"]; got != 20 || !strings.Contains(notes, PartFile(CPU, 0, time.Second)+" is damaged") {
			t.Errorf("%s: main.a costs %d, want 20; notes %q", name, got, notes)
		}
	}
}

// Entries that do not fit are left out and named, and cost no other.
func TestOpenMisfits(t *testing.T) {
	dir := folder(t)
	part := PartFile(CPU, 0, time.Second)
	whole, err := os.ReadFile(filepath.Join(dir, filepath.FromSlash(part)))
	if err != nil {
		t.Fatal(err)
	}
	manifest, err := os.ReadFile(filepath.Join(dir, manifestFile))
	if err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		name  string
		added string
		said  string // "" is nothing
	}{
		{"twice", part, "several files with one name, and the first is used: " + part},
		{"a file where a folder is", "cpu", "unknown files are left out: cpu"},
		{"outside", "../cpu/000005000-000006000.pb.gz", "unknown files are left out: ../cpu/000005000-000006000.pb.gz"},
		{"deep", strings.Repeat("a/", 100) + "b", "unknown files are left out"},
		{"backward", "cpu/000002000-000001000.pb.gz", "profiles without a time in their name are left out: cpu/000002000-000001000.pb.gz"},
		{"a folder", "cpu/", ""},
		{"being written", "cpu/.000002000-000003000.pb.gz", ""},
		{"something else", "cpu/README", ""},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			var b bytes.Buffer
			z := zip.NewWriter(&b)
			for _, e := range []struct {
				name string
				text []byte
			}{{manifestFile, manifest}, {part, whole}, {test.added, []byte("nonsense")}} {
				w, err := z.CreateHeader(&zip.FileHeader{Name: e.name, Method: zip.Store})
				if err != nil {
					t.Fatal(err)
				}
				if !strings.HasSuffix(e.name, "/") {
					w.Write(e.text)
				}
			}
			if err := z.Close(); err != nil {
				t.Fatal(err)
			}
			r, err := opened(t, b.Bytes())
			if err != nil {
				t.Fatal(err)
			}
			if said := strings.Join(r.Lost, "; "); !strings.Contains(said, test.said) || test.said == "" && said != "" {
				t.Errorf("said %q, want %q", said, test.said)
			}
			p, _, err := r.Pick("cpu", 0, 0)
			if err != nil {
				t.Fatal(err)
			}
			if got := values(t, p.Profile, "cpu")["main.a"]; got != 10 {
				t.Errorf("main.a costs %d, want 10", got)
			}
		})
	}
}
