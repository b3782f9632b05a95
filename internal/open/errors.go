package open

import (
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/hone-perf/hone/internal/query"
	"github.com/hone-perf/hone/internal/recording"
	"github.com/hone-perf/hone/internal/source"
)

// A NoNameError means that a ref is empty. Part is the missing part; nil means a profile.
type NoNameError struct{ Part *recording.FileKind }

func (e *NoNameError) Error() string {
	if e.Part == recording.GC.FileKind {
		return "an empty name is not a log"
	}
	return "an empty name is not a profile"
}

// A NoFileError means that a file does not exist.
type NoFileError struct {
	Ref  string
	Near string // a similar name of an existing file, or ""
}

func (e *NoFileError) Error() string { return fmt.Sprintf("%s: no such file", e.Ref) }

// A NotRecordingError means that a ref is not a recording.
type NotRecordingError struct{ Ref string }

func (e *NotRecordingError) Error() string { return fmt.Sprintf("%s is not a hone recording", e.Ref) }

// Why returns the reason.
func (e *NotRecordingError) Why() error {
	r, err := recording.Open(e.Ref)
	if err == nil {
		r.Close() // it is a recording now
		return e
	}
	return err
}

// A NoPartError means that a recording lacks a part.
type NoPartError struct {
	Ref  string
	Part *recording.FileKind
	How  recording.How // how the recording was made; "" if unknown
}

func (e *NoPartError) Error() string { return fmt.Sprintf("%s has no %s", e.Ref, e.Part.Doc) }

// A ProgramError means that a file is a program, not a profile of one.
type ProgramError struct{ Ref string }

func (e *ProgramError) Error() string { return fmt.Sprintf("%s is a program, not a log", e.Ref) }

// A TimelessError means that a query has a time range, but the profiles have no times.
type TimelessError struct{ Refs string }

func (e *TimelessError) Error() string {
	return fmt.Sprintf("%s is a profile: it has no times to pick", e.Refs)
}

// A StoredTimeError means that a query selects a time range of a run, but the profiles are in a store, where the ref selects the time.
type StoredTimeError struct{ Ref string }

func (e *StoredTimeError) Error() string {
	return fmt.Sprintf("%s: profiles in a store come from many runs, so no part of a run can be picked", e.Ref)
}

// A StoredPartError means that a store does not have this part.
type StoredPartError struct {
	Ref  string
	Part *recording.FileKind
}

func (e *StoredPartError) Error() string {
	return fmt.Sprintf("%s: a store has profiles, but no %s", e.Ref, e.Part.Doc)
}

// A PickError means that a recording has no profile of the selected kind or time.
type PickError struct {
	Recording *recording.Recording
	Err       error
}

func (e *PickError) Error() string { return e.Err.Error() }
func (e *PickError) Unwrap() error { return e.Err }

// A ProfilesError means that none of some refs is a profile or a recording.
type ProfilesError struct {
	Refs []string // all refs on the command line
	Err  error
}

func (e *ProfilesError) Error() string { return e.Err.Error() }
func (e *ProfilesError) Unwrap() error { return e.Err }

// A LinesError means that files are not profiles, and the first one has benchmark lines.
type LinesError struct {
	Refs []string
	Err  error
}

func (e *LinesError) Error() string { return e.Err.Error() }
func (e *LinesError) Unwrap() error { return e.Err }

// A LogError means that a file is a garbage collector log, not a profile.
type LogError struct {
	Ref string
	Err error
}

func (e *LogError) Error() string { return e.Err.Error() }
func (e *LogError) Unwrap() error { return e.Err }

// A RefusedError means that no server listens at an address.
type RefusedError struct{ Ref string }

func (e *RefusedError) Error() string { return fmt.Sprintf("%s: connection refused", e.Ref) }

// fetchError returns an error about ref.
func fetchError(ref string, err error) error {
	var path *fs.PathError
	var addr *url.Error
	switch {
	case errors.Is(err, syscall.ECONNREFUSED):
		return &RefusedError{ref}
	case errors.As(err, &path) && path.Path == ref, errors.As(err, &addr):
		return err // the error names the ref
	case ref == "-":
		ref = "standard input"
	}
	return fmt.Errorf("%s: %w", ref, err)
}

// orLines returns an error about files with benchmark lines, or about a garbage collector log, if the files that are not profiles are such files.
func orLines(refs []string, err error) error {
	if rec, lineErr := Lines(refs[0]); rec != nil && lineErr == nil {
		return &LinesError{refs, err}
	}
	if len(refs) == 1 && source.IsGCLog(refs[0]) {
		return &LogError{refs[0], err}
	}
	return err
}

// Present returns an error if a file does not exist. One of many profiles may be damaged or unreachable, and the others still give an answer; but a
// missing file is a typo.
func Present(refs []string) error {
	for _, ref := range refs {
		if ref == "" {
			return &NoNameError{}
		}
		if ref == "-" || strings.ContainsAny(ref, ":*?[") {
			continue
		}
		if _, err := os.Stat(ref); errors.Is(err, fs.ErrNotExist) {
			return NoFile(ref)
		}
	}
	return nil
}

// NoFile returns a NoFileError.
func NoFile(name string) *NoFileError {
	entries, err := os.ReadDir(filepath.Dir(name))
	if err != nil {
		return &NoFileError{Ref: name}
	}
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	near := query.Nearest(filepath.Base(name), names)
	if near != "" {
		near = filepath.Join(filepath.Dir(name), near)
	}
	return &NoFileError{name, near}
}

// IsProgram reports whether f is a program of some system. It does not move the offset.
func IsProgram(f *os.File) bool {
	var head [4]byte
	f.ReadAt(head[:], 0) // pipes refuse it, and lose no data
	return slices.Contains([]string{"\x7fELF", "\xcf\xfa\xed\xfe", "\xca\xfe\xba\xbe"}, string(head[:])) || string(head[:2]) == "MZ"
}
