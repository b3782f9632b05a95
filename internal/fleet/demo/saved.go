package demo

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/hone-perf/hone/internal/profile"
	"github.com/hone-perf/hone/internal/safefile"
)

// What was measured is kept in a file for each release: a fleet that goes on costs what it cost before. Measured again, on a machine that does other
// things meanwhile, its functions would have changed.
type saved struct {
	CPU, Heap, Goroutine []byte
	Requests             int
	Samples              int64
	Allocated            int
}

func (r *release) file(folder string) string {
	return filepath.Join(folder, r.service+"-"+r.version+".json")
}

// save keeps what was measured of a release.
func (r *release) save(folder string) error {
	if folder == "" {
		return nil
	}
	t := r.measured
	s := saved{Requests: t.requests, Samples: t.samples, Allocated: t.allocated}
	for to, p := range map[*[]byte]*profile.Profile{&s.CPU: t.cpu, &s.Heap: t.heap, &s.Goroutine: t.goroutine} {
		var b bytes.Buffer
		if err := p.Write(&b); err != nil {
			return err
		}
		*to = b.Bytes()
	}
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return err
	}
	return safefile.Write(r.file(folder), func(w io.Writer) error { return json.NewEncoder(w).Encode(s) })
}

// load takes what was measured of a release before, if it is there.
func (r *release) load(folder string) error {
	if folder == "" {
		return nil
	}
	text, err := os.ReadFile(r.file(folder))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	var s saved
	if err == nil {
		err = json.Unmarshal(text, &s)
	}
	t := &template{requests: s.Requests, samples: s.Samples, allocated: s.Allocated}
	for to, b := range map[**profile.Profile][]byte{&t.cpu: s.CPU, &t.heap: s.Heap, &t.goroutine: s.Goroutine} {
		if err == nil {
			*to, err = profile.ParseBytes(b)
		}
	}
	if err == nil {
		r.measured = t
	}
	return err
}
