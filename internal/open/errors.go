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

// A NoNameError says that a ref is empty. Part is what it should have named; nil is a profile.
type NoNameError struct{ Part *recording.FileKind }

func (e *NoNameError) Error() string {
	if e.Part == recording.GC.FileKind {
		return "an empty name is not a log"
	}
	return "an empty name is not a profile"
}

// A NoFileError says that there is no file of a name.
type NoFileError struct {
	Ref  string
	Near string // the file that was probably meant; "" when none is like it
}

func (e *NoFileError) Error() string { return fmt.Sprintf("%s: no such file", e.Ref) }

// A NotRecordingError says that a ref names something else than a recording.
type NotRecordingError struct{ Ref string }

func (e *NotRecordingError) Error() string { return fmt.Sprintf("%s is not a hone recording", e.Ref) }

// Why says what makes it none.
func (e *NotRecordingError) Why() error {
	r, err := recording.Open(e.Ref)
	if err == nil {
		r.Close() // it has become one
		return e
	}
	return err
}

// A NoPartError says that a recording lacks a part.
type NoPartError struct {
	Ref  string
	Part *recording.FileKind
	How  recording.How // the recording was made; "" when it does not say
}

func (e *NoPartError) Error() string { return fmt.Sprintf("%s has no %s", e.Ref, e.Part.Doc) }

// A ProgramError says that a file is a program and not what a program left behind.
type ProgramError struct{ Ref string }

func (e *ProgramError) Error() string { return fmt.Sprintf("%s is a program, not a log", e.Ref) }

// A TimelessError says that a time was asked for of profiles that know none.
type TimelessError struct{ Refs string }

func (e *TimelessError) Error() string {
	return fmt.Sprintf("%s is a profile: it has no times to pick", e.Refs)
}

// A StoredTimeError says that a part of a run was asked for of profiles in a store, which are selected by a time of their own.
type StoredTimeError struct{ Ref string }

func (e *StoredTimeError) Error() string {
	return fmt.Sprintf("%s: profiles in a store come from many runs, so no part of a run can be picked", e.Ref)
}

// A StoredPartError says that a part was asked for that a store does not have.
type StoredPartError struct {
	Ref  string
	Part *recording.FileKind
}

func (e *StoredPartError) Error() string {
	return fmt.Sprintf("%s: a store has profiles, but no %s", e.Ref, e.Part.Doc)
}

// A PickError says that a recording has no profile of the kind or time that was asked for.
type PickError struct {
	Recording *recording.Recording
	Err       error
}

func (e *PickError) Error() string { return e.Err.Error() }
func (e *PickError) Unwrap() error { return e.Err }

// A ProfilesError says that there is no profile to be had of refs that are no recordings.
type ProfilesError struct {
	Refs []string // all that were named with them
	Err  error
}

func (e *ProfilesError) Error() string { return e.Err.Error() }
func (e *ProfilesError) Unwrap() error { return e.Err }

// A LinesError says that files are no profiles, of which the first holds benchmark lines.
type LinesError struct {
	Refs []string
	Err  error
}

func (e *LinesError) Error() string { return e.Err.Error() }
func (e *LinesError) Unwrap() error { return e.Err }

// A LogError says that a file is no profile but a garbage collector log.
type LogError struct {
	Ref string
	Err error
}

func (e *LogError) Error() string { return e.Err.Error() }
func (e *LogError) Unwrap() error { return e.Err }

// A RefusedError says that no server answers at an address.
type RefusedError struct{ Ref string }

func (e *RefusedError) Error() string { return fmt.Sprintf("%s: connection refused", e.Ref) }

// fetchError says what is wrong with ref.
func fetchError(ref string, err error) error {
	var path *fs.PathError
	var addr *url.Error
	switch {
	case errors.Is(err, syscall.ECONNREFUSED):
		return &RefusedError{ref}
	case errors.As(err, &path) && path.Path == ref, errors.As(err, &addr):
		return err // it says so itself
	case ref == "-":
		ref = "standard input"
	}
	return fmt.Errorf("%s: %w", ref, err)
}

// orLines says that files which are no profiles hold benchmark lines, or that a single one is a garbage collector log.
func orLines(refs []string, err error) error {
	if rec, lineErr := Lines(refs[0]); rec != nil && lineErr == nil {
		return &LinesError{refs, err}
	}
	if len(refs) == 1 && source.IsGCLog(refs[0]) {
		return &LogError{refs[0], err}
	}
	return err
}

// Present refuses files that are not there. Of many profiles one may be damaged or not answer, and the rest is still an
// answer; but a name that means nothing is a typo.
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

// NoFile returns the error that there is no file of a name.
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

// IsProgram reports whether f is a program for some system. It moves nothing.
func IsProgram(f *os.File) bool {
	var head [4]byte
	f.ReadAt(head[:], 0) // a pipe refuses that, and keeps what is in it
	return slices.Contains([]string{"\x7fELF", "\xcf\xfa\xed\xfe", "\xca\xfe\xba\xbe"}, string(head[:])) || string(head[:2]) == "MZ"
}
