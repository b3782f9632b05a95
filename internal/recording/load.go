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

// SaveLoad makes a recording of a load run, in one file.
func SaveLoad(file string, m *Manifest, l *latency.Log) error {
	dir, err := scratch.Files("pack-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	if err := errors.Join(WriteManifest(dir, m), WriteLoad(dir, l)); err != nil {
		return err
	}
	return Pack(dir, file)
}

// ReadLoad reads what came of a load run; it is nil in a recording of something else.
func (r *Recording) ReadLoad() (*latency.Log, error) {
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
