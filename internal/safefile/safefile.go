// Package safefile writes files completely or not at all: after a full disk, an error or a kill, the old content is still there. Only their
// owner can read recordings; for other files, the umask decides.
package safefile

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// A File is written beside its name until Commit puts it there.
type File struct {
	*os.File
	name string // where it goes; "" when it is written in place
}

// Create begins a file. What is no plain file, such as a device or a pipe, is written in place; so is a file in a folder that nothing can
// be added to. A link stays, and the file that it leads to is written.
func Create(name string) (*File, error) {
	f, err := Replace(name)
	var place *onlyInPlace
	if !errors.As(err, &place) {
		return f, err
	}
	in, err := os.OpenFile(place.name, os.O_RDWR|os.O_CREATE|os.O_TRUNC, mode(place.name))
	if err != nil {
		return nil, err
	}
	return &File{File: in}, nil
}

// An onlyInPlace error reports that a file can be written, and cannot be replaced.
type onlyInPlace struct {
	name string
	error
}

func (e *onlyInPlace) Unwrap() error { return e.error }

var errNotPlain = errors.New("it is not a plain file")

// Replace begins a file as Create does, and fails where that would write in place.
func Replace(name string) (*File, error) {
	name = followed(name)
	var was fs.FileInfo
	switch st, err := os.Stat(name); {
	case err == nil && !st.Mode().IsRegular():
		return nil, &onlyInPlace{name, errNotPlain}
	case err == nil:
		// The file itself decides who may write it, not the folder.
		f, err := os.OpenFile(name, os.O_WRONLY, 0)
		if err != nil {
			return nil, err
		}
		f.Close()
		was = st
	}
	temp, err := beside(name)
	if errors.Is(err, fs.ErrPermission) {
		return nil, &onlyInPlace{name, fmt.Errorf("its folder takes no new file: %w", reason(err))}
	}
	if err != nil {
		return nil, &fs.PathError{Op: "open", Path: name, Err: reason(err)}
	}
	f := &File{temp, name}
	if was != nil {
		if err := temp.Chmod(was.Mode().Perm()); err != nil {
			f.Discard()
			return nil, err
		}
	}
	return f, nil
}

// maxLinks is how many links in a row lead to a file. Linux follows as many.
const maxLinks = 40

// followed returns where the links of a name lead, also where there is no file yet.
func followed(name string) string {
	at := name
	for range maxLinks {
		if to, err := filepath.EvalSymlinks(at); err == nil {
			return to
		}
		to, err := os.Readlink(at)
		if err != nil {
			return at // what is missing is the file, or its folder
		}
		if !filepath.IsAbs(to) {
			dir, err := filepath.EvalSymlinks(filepath.Dir(at)) // .. is that of where the folder is
			if err != nil {
				return name
			}
			to = filepath.Join(dir, to)
		}
		at = to
	}
	return name // they lead around in a circle
}

// beside makes the file that will replace another, and removes those that killed processes left there for the same purpose.
func beside(target string) (*os.File, error) {
	dir, prefix := filepath.Dir(target), "."+filepath.Base(target)+"."
	sweep(dir, prefix)
	for {
		name := filepath.Join(dir, prefix+strconv.FormatUint(rand.Uint64(), 36)+ending)
		f, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_EXCL, mode(target)) // not os.CreateTemp, whose files nobody else may read
		if err != nil {
			return nil, err
		}
		Lock(f)
		if _, err := os.Lstat(name); err == nil {
			return f, nil
		}
		f.Close() // another process took it for abandoned before it was locked
	}
}

// ending is that of files that will replace others.
const ending = ".hone-new"

func sweep(dir, prefix string) {
	d, err := os.Open(dir)
	if err != nil {
		return
	}
	defer d.Close()
	names, err := d.Readdirnames(10_000) // no more, for the sake of folders that are full of files
	if err != nil {
		return
	}
	for _, n := range names {
		if strings.HasPrefix(n, prefix) && strings.HasSuffix(n, ending) && Abandoned(filepath.Join(dir, n)) {
			os.Remove(filepath.Join(dir, n))
		}
	}
}

// mode is that of a new file. A recording tells more than its maker may think of.
func mode(name string) fs.FileMode {
	if strings.EqualFold(filepath.Ext(name), ".hone") {
		return 0o600
	}
	return 0o666
}

// reason is an error without the name of the temporary file.
func reason(err error) error {
	var path *fs.PathError
	if errors.As(err, &path) {
		return path.Err
	}
	return err
}

// Write writes to the file. Its errors name where the file goes.
func (f *File) Write(b []byte) (int, error) {
	n, err := f.File.Write(b)
	if err != nil && f.name != "" {
		err = &fs.PathError{Op: "write", Path: f.name, Err: reason(err)}
	}
	return n, err
}

// Commit puts the file in its place. After an error, what was there before still is.
func (f *File) Commit() error {
	err := f.Close()
	if f.name == "" {
		return err
	}
	if err == nil {
		err = os.Rename(f.File.Name(), f.name)
	}
	if err != nil {
		os.Remove(f.File.Name())
	}
	return err
}

// Discard leaves what was there before. What was written in place stays.
func (f *File) Discard() {
	f.Close()
	if f.name != "" {
		os.Remove(f.File.Name())
	}
}

// Write writes a file with a function.
func Write(name string, write func(io.Writer) error) error {
	f, err := Create(name)
	if err != nil {
		return err
	}
	if err := write(f); err != nil {
		f.Discard()
		return err
	}
	return f.Commit()
}

// CannotWrite says why a file cannot be written into a folder.
func CannotWrite(file, folder string, err error) error {
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("writing %s: no such folder: %s", file, folder)
	case errors.Is(err, fs.ErrPermission):
		what := "folder"
		if _, err := os.Stat(file); err == nil {
			what = "file"
		}
		return fmt.Errorf("writing %s: %w: this %s is read-only for you; choose another file", file, fs.ErrPermission, what)
	}
	return fmt.Errorf("writing %s: %w", file, err)
}
