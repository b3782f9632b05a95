package recording

import (
	"archive/zip"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/hone-perf/hone/internal/cache"
	"github.com/hone-perf/hone/internal/profile"
	"github.com/hone-perf/hone/internal/safefile"
	"github.com/hone-perf/hone/internal/secret"
)

// Limits on what a file of unknown origin can make us read.
const (
	maxManifest = 1 << 20
	maxSource   = 16 << 20
	maxFiles    = 1 << 18
)

// ErrNoProfile says that a recording holds no profile of any kind.
var ErrNoProfile = errors.New("it has no profile")

// ErrNotRecording says that a file or folder is no recording.
var ErrNotRecording = errors.New("not a recording")

// IsRecording reports whether a path names a recording: a folder with a manifest, or a zip file with one.
func IsRecording(name string) bool {
	st, err := os.Stat(name)
	if err != nil {
		return false
	}
	if st.IsDir() {
		_, err := os.Stat(filepath.Join(name, manifestFile))
		return err == nil
	}
	if !st.Mode().IsRegular() {
		return false // reading from a pipe here would lose data
	}
	f, err := os.Open(name)
	if err != nil {
		return false
	}
	defer f.Close()
	var magic [4]byte
	_, err = io.ReadFull(f, magic[:])
	return err == nil && string(magic[:]) == "PK\x03\x04"
}

// Open opens a recording: a folder while it is being written, or after its recorder died; one file else. Profiles are
// only read when they are picked.
func Open(name string) (*Recording, error) {
	r, err := open(name)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	r.Ref = name
	r.number = numbers.Add(1)
	return r, nil
}

// IsPacked reports whether what begins so is a recording in one file.
func IsPacked(begin []byte) bool { return bytes.HasPrefix(begin, []byte("PK\x03\x04")) }

// Read opens a packed recording that is in memory.
func Read(name string, in []byte) (*Recording, error) {
	z, err := newPacked(bytes.NewReader(in), int64(len(in)), io.NopCloser(nil))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	r, err := openFS(z, z)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	r.Lost = append(z.lost, r.Lost...)
	r.Ref = name
	return r.Numbered(), nil
}

// Whole reports whether r is complete, so that it can be packed.
func (r *Recording) Whole() bool { return r.files != nil }

// PackTo writes all that is in the recording as one file, however it is kept.
func (r *Recording) PackTo(w io.Writer) error {
	z := zip.NewWriter(w)
	if p, ok := r.files.(*packed); ok {
		for _, f := range p.File {
			if err := z.Copy(f); err != nil {
				return fmt.Errorf("packing %s: %w", r.Ref, err)
			}
		}
		return z.Close()
	}
	err := fs.WalkDir(r.files, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		in, err := r.files.Open(name)
		if err != nil {
			return err
		}
		defer in.Close()
		out, err := z.Create(name)
		if err == nil {
			_, err = io.Copy(out, in)
		}
		return err
	})
	if err != nil {
		return fmt.Errorf("packing %s: %w", r.Ref, err)
	}
	return z.Close()
}

func open(name string) (*Recording, error) {
	st, err := os.Stat(name)
	if err != nil {
		return nil, err.(*fs.PathError).Err
	}
	if st.IsDir() {
		return openFS(os.DirFS(name), nil)
	}
	z, err := openZip(name)
	if err != nil {
		return nil, err
	}
	r, err := openFS(z, z)
	if err != nil {
		z.Close()
		return nil, err
	}
	r.Lost = append(z.lost, r.Lost...)
	return r, nil
}

func openFS(files fs.FS, c io.Closer) (*Recording, error) {
	b, err := readFile(files, manifestFile, maxManifest)
	if err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return nil, fmt.Errorf("%w: there is no %s inside", ErrNotRecording, manifestFile)
		}
		return nil, fmt.Errorf("reading %s: %w", manifestFile, err)
	}
	m := &Manifest{}
	if err := json.Unmarshal(b, m); err != nil {
		return nil, fmt.Errorf("reading %s: %w", manifestFile, err)
	}
	switch {
	case m.Format <= 0:
		return nil, fmt.Errorf("%w: %s names no format", ErrNotRecording, manifestFile)
	case m.Format > Format:
		return nil, fmt.Errorf("it is in format %d, written by hone %s; this hone reads formats up to %d: install a newer one", m.Format, m.Hone, Format)
	}
	parts, lost, err := partsOf(files)
	if err != nil {
		return nil, err
	}
	r := &Recording{Manifest: m, Parts: parts, Lost: lost, files: files, close: c, read: cache.New[string, *profile.Profile](maxKept, nil), parts: cache.New[string, any](maxOther, nil)}
	r.Sources = newKeptSources(files)
	return r, nil
}

// Close lets go of the file of a recording that was opened.
func (r *Recording) Close() error {
	if r.close == nil {
		return nil
	}
	return r.close.Close()
}

// File returns the text of a part that is no profile. It is nil when there is none, and at most limit bytes long.
func (r *Recording) File(name string, limit int) ([]byte, error) {
	if r.files == nil {
		return nil, nil
	}
	b, err := readFile(r.files, name, limit)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("%s: reading %s: %w", r.Ref, name, err)
	}
	return b, nil
}

// OpenFile opens a part to be read as a stream. It fails with fs.ErrNotExist when there is none.
func (r *Recording) OpenFile(name string) (io.ReadCloser, error) {
	if r.files == nil {
		return nil, fs.ErrNotExist
	}
	return r.files.Open(name)
}

// SizeOf returns the number of bytes of a part, as it is kept.
func (r *Recording) SizeOf(name string) (int64, error) {
	if r.files == nil {
		return 0, fs.ErrNotExist
	}
	st, err := fs.Stat(r.files, name)
	if err != nil {
		return 0, err
	}
	return st.Size(), nil
}

// readFile reads a file of a recording, which must not be longer than limit.
func readFile(files fs.FS, name string, limit int) ([]byte, error) {
	f, err := files.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, int64(limit)+1))
	if err != nil {
		return nil, err
	}
	if len(b) > limit {
		return nil, fmt.Errorf("it is longer than %d bytes", limit)
	}
	return b, nil
}

// Pack makes one file of a recording in a folder, whose manifest is m. The file appears whole or not at all, and only its owner may read it.
// What looks like a secret is replaced, also in the folder, unless m says that it is to be kept; Pack returns how many were.
func Pack(folder, file string, m *Manifest) (hidden int, err error) {
	var h secret.Hider
	if !m.KeepSecrets {
		m.hidden(&h) // which collects secrets to find in the files
		if err := hideSecrets(folder, &h, m); err != nil {
			return 0, err
		}
	}
	if err := WriteManifest(folder, m); err != nil {
		return 0, err
	}
	return h.N, pack(folder, file)
}

// pack makes one file of a recording in a folder, as it is there.
func pack(folder, file string) error {
	return safefile.Write(file, func(w io.Writer) error {
		z := zip.NewWriter(w)
		// The manifest comes first, for those who only look at the beginning.
		if err := packFile(z, folder, manifestFile); err != nil {
			return err
		}
		err := filepath.WalkDir(folder, func(name string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() {
				return err
			}
			rel, err := filepath.Rel(folder, name)
			if err != nil || rel == manifestFile || strings.HasPrefix(path.Base(rel), ".") {
				return err // files with a dot were being written when the program ended
			}
			return packFile(z, folder, filepath.ToSlash(rel))
		})
		if err != nil {
			return err
		}
		return z.Close()
	})
}

func packFile(z *zip.Writer, folder, name string) error {
	f, err := os.Open(filepath.Join(folder, filepath.FromSlash(name)))
	if err != nil {
		return err
	}
	defer f.Close()
	st, err := f.Stat()
	if err != nil {
		return err
	}
	head := &zip.FileHeader{Name: name, Method: zip.Deflate, Modified: st.ModTime()}
	if !strings.HasSuffix(name, ".gz") {
		w, err := z.CreateHeader(head)
		if err != nil {
			return err
		}
		_, err = io.Copy(w, f)
		return err
	}
	head.Method = zip.Store
	w, err := z.CreateHeader(head)
	if err != nil {
		return err
	}
	text, err := io.ReadAll(f) // of a profile, which was in memory as a whole when it was written
	if err != nil {
		return err
	}
	_, err = w.Write(squeeze(text))
	return err
}

// squeeze compresses gzip files whose data is only stored: the recorder in a program writes these, to use as little CPU as possible. Other files
// stay as they are.
func squeeze(text []byte) []byte {
	const header, kind = 10, 6 // bytes; bits of the first byte behind it, which are 0 where it is stored
	if len(text) <= header || text[3] != 0 || text[header]&kind != 0 {
		return text
	}
	r, err := gzip.NewReader(bytes.NewReader(text))
	if err != nil {
		return text
	}
	var out bytes.Buffer
	w := gzip.NewWriter(&out)
	_, err = io.Copy(w, r)
	if err := errors.Join(err, w.Close()); err != nil {
		return text
	}
	return out.Bytes()
}

// WriteManifest writes the manifest of the recording in a folder, replacing the one before. Secrets are in it only when it says so.
func WriteManifest(folder string, m *Manifest) error {
	m = m.hidden(&secret.Hider{})
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false) // for people who read it
	enc.SetIndent("", "  ")
	if err := enc.Encode(m); err != nil {
		return err
	}
	tmp := filepath.Join(folder, "."+manifestFile)
	if err := os.WriteFile(tmp, b.Bytes(), 0o600); err != nil {
		return err
	}
	return os.Rename(tmp, filepath.Join(folder, manifestFile))
}
