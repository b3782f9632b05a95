package pprof

import (
	"bufio"
	"fmt"
	"os"
	"path/filepath"

	"github.com/hone-perf/hone/internal/calls"
	"github.com/hone-perf/hone/internal/recording"
)

// files finds sources where pprof looks for them: as recorded, or below the search directories and their parents.
type files struct {
	search, trim string
	known        map[string]recording.Text
	failed       map[string]error
}

func newFiles(search, trim string) *files {
	f := &files{search: search, trim: trim, known: make(map[string]recording.Text), failed: make(map[string]error)}
	if search == "" {
		if dir, err := os.Getwd(); err == nil {
			f.search = dir
		}
	}
	return f
}

// Find reads the source file that a profile calls name.
func (f *files) Find(name, _ string, _ int) (recording.Text, error) {
	if err := f.failed[name]; err != nil {
		return recording.Text{}, err
	}
	t, ok := f.known[name]
	if !ok {
		r, err := f.open(calls.TrimPath(name, f.trim, f.search))
		if err != nil {
			f.failed[name] = err
			return recording.Text{}, err
		}
		defer r.Close()
		t.Path = name
		for lines := bufio.NewScanner(r); lines.Scan(); {
			t.Lines = append(t.Lines, lines.Text())
		}
		f.known[name] = t
	}
	return t, nil
}

func (f *files) open(name string) (*os.File, error) {
	if filepath.IsAbs(name) {
		return os.Open(name)
	}
	for _, dir := range filepath.SplitList(f.search) {
		for {
			if r, err := os.Open(filepath.Join(dir, name)); err == nil {
				return r, nil
			}
			parent := filepath.Dir(dir)
			if parent == dir {
				break
			}
			dir = parent
		}
	}
	return nil, fmt.Errorf("could not find file %s on path %s", name, f.search)
}
