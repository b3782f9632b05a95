// Package patch prepares changes to files in memory, shows them as a diff, and writes all of them or none.
//
// Apply makes the new text of a file from edits, and Moved moves edits to where their lines are when the file was changed
// meanwhile. A Patch collects files, shows them as a diff, and Writes them where they still are as it was made for.
package patch

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/rogpeppe/go-internal/diff"

	"github.com/hone-perf/hone/internal/gocmd"
	"github.com/hone-perf/hone/internal/safefile"
)

// A Patch is a change of files. The zero Patch changes none.
type Patch struct {
	Dir   string // that names in diffs and errors are relative to
	files map[string]texts
}

type texts struct{ was, is []byte }

// Set says what a file is to hold, and what it holds. Its name is absolute.
func (p *Patch) Set(name string, was, is []byte) {
	if p.files == nil {
		p.files = make(map[string]texts)
	}
	p.files[name] = texts{was, is}
}

// Names returns the files, sorted.
func (p *Patch) Names() []string {
	names := make([]string, 0, len(p.files))
	for name := range p.files {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// Rel returns the name of a file relative to Dir, where it is below it.
func (p *Patch) Rel(name string) string {
	if rel, err := filepath.Rel(p.Dir, name); err == nil && filepath.IsLocal(rel) {
		return filepath.ToSlash(rel)
	}
	return name
}

// Diff writes the patch as others can apply it.
func (p *Patch) Diff() string {
	var b strings.Builder
	for _, name := range p.Names() {
		f := p.files[name]
		b.WriteString(Diff(p.Rel(name), f.was, f.is))
	}
	return b.String()
}

// Diff returns the difference of two texts of a file as a unified diff, or "".
func Diff(name string, was, is []byte) string {
	text := string(diff.Diff("a/"+name, was, "b/"+name, is))
	_, text, _ = strings.Cut(text, "\n") // the first line names both once more
	return fine(text)
}

// Overlay writes the new texts into a folder, for the go command to read instead.
func (p *Patch) Overlay(dir string) (gocmd.Overlay, error) {
	overlay := gocmd.Overlay{}
	for i, name := range p.Names() {
		at := filepath.Join(dir, fmt.Sprintf("%d_%s", i, filepath.Base(name)))
		if err := os.WriteFile(at, p.files[name].is, 0o600); err != nil {
			return nil, err
		}
		overlay[name] = at
	}
	return overlay, nil
}

// A ChangedError reports that a file has changed since the patch was made.
type ChangedError struct{ Name string }

func (e *ChangedError) Error() string {
	return e.Name + " was changed in the meantime: nothing is written"
}

// Check says why the patch could not be written.
func (p *Patch) Check() error {
	for _, name := range p.Names() {
		is, err := os.ReadFile(name)
		if errors.Is(err, fs.ErrNotExist) || err == nil && !bytes.Equal(is, p.files[name].was) {
			return &ChangedError{p.Rel(name)}
		}
		if err != nil {
			return err
		}
		if err := writable(name); err != nil {
			return fmt.Errorf("%s cannot be written: %w", p.Rel(name), err)
		}
	}
	return nil
}

// writable says why a file cannot be replaced.
func writable(name string) error {
	w, err := os.OpenFile(name, os.O_WRONLY, 0)
	if err != nil {
		return withoutPath(err)
	}
	if err := w.Close(); err != nil {
		return err
	}
	probe, err := safefile.Replace(name)
	if err != nil {
		return err
	}
	probe.Discard()
	return nil
}

func withoutPath(err error) error {
	var at *fs.PathError
	if errors.As(err, &at) {
		return at.Err
	}
	return err
}

// Write changes the files, all of them or none, and returns their names relative to Dir. A file has the old text or the new
// one at any time, never a part of it. What is not as the patch was made for is left alone: a ChangedError.
func (p *Patch) Write() (written []string, err error) {
	if err := p.Check(); err != nil {
		return nil, err
	}
	var steps []*safefile.File
	defer func() {
		for _, f := range steps {
			f.Discard()
		}
	}()
	for _, name := range p.Names() {
		f, err := safefile.Replace(name)
		if err == nil {
			steps = append(steps, f)
			_, err = f.Write(p.files[name].is)
		}
		if err == nil {
			err = f.Sync()
		}
		if err != nil {
			return nil, fmt.Errorf("writing %s: %w", p.Rel(name), err)
		}
	}
	for i := range steps {
		f := steps[0]
		steps = steps[1:]
		if err := f.Commit(); err != nil {
			return nil, errors.Join(fmt.Errorf("writing %s: %w", p.Rel(p.Names()[i]), err), p.restore(i))
		}
	}
	for _, name := range p.Names() {
		written = append(written, p.Rel(name))
	}
	return written, nil
}

// restore puts the first n files back.
func (p *Patch) restore(n int) error {
	var all []error
	for _, name := range p.Names()[:n] {
		all = append(all, safefile.Write(name, func(w io.Writer) error {
			_, err := w.Write(p.files[name].was)
			return err
		}))
	}
	return errors.Join(all...)
}
