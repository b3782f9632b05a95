package recording

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/hone-perf/hone/internal/latency"
	"github.com/hone-perf/hone/internal/scratch"
	"github.com/hone-perf/hone/internal/secret"
)

// LoadFile is what came of the requests of a load run.
const LoadFile = "load.json"

// WriteLoad writes what came of a load run into the folder of a recording.
func WriteLoad(folder string, l *latency.Log) error {
	var b bytes.Buffer
	if err := l.Write(&b); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(folder, LoadFile), b.Bytes(), 0o644)
}

// SaveLoad makes a recording of a load run, in one file, and returns how many secrets were replaced.
func SaveLoad(file string, m *Manifest, l *latency.Log) (hidden int, err error) {
	dir, err := scratch.Files("pack-")
	if err != nil {
		return 0, err
	}
	defer os.RemoveAll(dir)
	if err := WriteLoad(dir, l); err != nil {
		return 0, err
	}
	return Pack(dir, file, m)
}

// stripLoad leaves out where requests went, and what was said about them.
func stripLoad(text []byte, _ string) ([]byte, error) {
	l, err := latency.Read(bytes.NewReader(text))
	if err != nil {
		return nil, err
	}
	l.Target, l.Notes = "", nil
	var b bytes.Buffer
	err = l.Write(&b)
	return b.Bytes(), err
}

// hideLoad replaces secrets in what came of a load run. It returns text itself when there are none.
func hideLoad(text []byte, h *secret.Hider) ([]byte, error) {
	l, err := latency.Read(bytes.NewReader(text))
	if err != nil {
		return nil, &unreadableError{err}
	}
	n := h.N
	l.Target = h.URL(l.Target)
	for i, note := range l.Notes {
		l.Notes[i] = h.Text(note)
	}
	if h.N == n {
		return text, nil
	}
	var b bytes.Buffer
	err = l.Write(&b)
	return b.Bytes(), err
}

// readLoad reads what came of a load run; it is nil in a recording of something else.
func readLoad(r *Recording) (*latency.Log, error) {
	f, err := r.OpenFile(LoadFile)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	l, err := latency.Read(f)
	if err != nil {
		return nil, fmt.Errorf("%s: reading %s: %w", r.Ref, LoadFile, err)
	}
	return l, nil
}
