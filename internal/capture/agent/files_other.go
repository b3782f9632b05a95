//go:build !linux

package agent

import (
	"os"
	"path/filepath"
	"runtime/debug"
)

// A files is the files of a recording.
type files struct{ dir string }

// A file is an open file of ours.
type file struct{ *os.File }

// replace writes b in place of what there is.
func (f *file) replace(b []byte) {
	if n, err := f.WriteAt(b, 0); err == nil {
		f.Truncate(int64(n)) // of a longer one before
	}
}

// open makes a file in the folder of the recording, if there is none yet.
func (s *files) open(name string, flags int) (*file, error) {
	f, err := os.OpenFile(filepath.Join(s.dir, name), os.O_WRONLY|os.O_CREATE|flags, 0o644)
	if err != nil {
		return nil, err
	}
	return &file{f}, nil
}

func (s *files) mkdir(name string) error { return os.MkdirAll(filepath.Join(s.dir, name), 0o755) }

// write writes a file in a folder, whole or not at all.
func (s *files) write(dir, name string, data []byte) error {
	dir = filepath.Join(s.dir, dir)
	tmp := filepath.Join(dir, "."+name)
	err := os.WriteFile(tmp, data, 0o644)
	if err == nil {
		err = os.Rename(tmp, filepath.Join(dir, name))
	}
	if err != nil {
		os.Remove(tmp)
	}
	return err
}

// remove removes a file in a folder.
func (s *files) remove(name string) { os.Remove(filepath.Join(s.dir, name)) }

// watchCrash has the runtime write to a file when the program crashes.
func (r *recorder) watchCrash() {
	f, err := r.write.files.open(crashFile, 0)
	if err != nil {
		return
	}
	r.crash = f
	debug.SetCrashOutput(f.File, debug.CrashOptions{}) // it keeps a copy
}

func (r *recorder) keepCrash() {}
