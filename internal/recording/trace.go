package recording

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/hone-perf/hone/internal/cache"
	"github.com/hone-perf/hone/internal/exectrace"
	"github.com/hone-perf/hone/internal/profile"
	"github.com/hone-perf/hone/internal/scratch"
	"github.com/hone-perf/hone/internal/unit"
	"github.com/hone-perf/hone/internal/waits"
)

// Execution is the execution trace of a recording. A file can be one alone.
var Execution = kindOf(FileKind{
	Name: "trace", Doc: "execution trace", is: isTrace, soft: true,
	missed: true, hideBig: hideTrace, early: 2,
	alone: alone(aloneTrace),
}, readTrace, func(*Trace) bool { return true })

// A Trace is an execution trace in a file. It is read where it is needed, since it may be larger than memory.
type Trace struct {
	Name string // in the recording, or of the file
	Size int64
	in   io.ReaderAt
	zero int64 // time of day, in Unix nanoseconds, from which its times count; 0 is its begin

	kept *cache.Cache[string, any] // what was found in it
}

// maxKeptOf is how many things are kept that were found in a trace.
const maxKeptOf = 8

// Once returns what make finds in the trace. It is kept under its name, for the next who asks.
func Once[T any](t *Trace, name string, make func(*exectrace.Trace) (T, error)) (T, error) {
	v, err := t.kept.Do(name, func() (any, error) {
		tr, err := t.Open()
		if err != nil {
			return nil, err
		}
		return make(tr)
	})
	if err != nil {
		var none T
		return none, err
	}
	return v.(T), nil
}

// Open begins to read the trace. It may be opened any number of times.
func (t *Trace) Open() (*exectrace.Trace, error) {
	tr, err := exectrace.Open(t.in, t.Size)
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", t.Name, err)
	}
	if t.zero != 0 {
		tr.CountFrom(t.zero)
	}
	return tr, nil
}

// Kept returns what was kept under a name, where somebody has asked for it before.
func Kept[T any](t *Trace, name string) (T, bool) {
	v, ok := t.kept.Get(name)
	if !ok {
		var none T
		return none, false
	}
	return v.(T), true
}

// maxTrace bounds the execution trace of a recording, which is unpacked to be read.
const maxTrace = 4 << 30

// traceIn returns the name of the file with the trace to read: that of the whole run, else the flight recording of the latest trouble, else that of
// the end.
func (r *Recording) traceIn() string {
	if r.files == nil {
		return ""
	}
	if st, err := fs.Stat(r.files, TraceFile); err == nil && st.Size() > 0 {
		return TraceFile
	}
	entries, err := fs.ReadDir(r.files, FlightDir)
	if err != nil {
		return ""
	}
	trouble := r.lastTrouble()
	name := ""
	for _, e := range slices.Backward(entries) {
		st, err := e.Info()
		if err != nil || st.Size() == 0 || path.Ext(e.Name()) != ".out" {
			continue
		}
		if at, err := strconv.ParseInt(strings.TrimSuffix(e.Name(), ".out"), 10, 64); name != "" && (err != nil || at < trouble.Milliseconds()) {
			break
		}
		name = path.Join(FlightDir, e.Name())
	}
	return name
}

// OtherTraces is how many execution traces a recording has beside the one that is read.
func (r *Recording) OtherTraces() int {
	if r.files == nil {
		return 0
	}
	n := -1
	entries, _ := fs.ReadDir(r.files, FlightDir)
	for _, e := range entries {
		if st, err := e.Info(); err == nil && st.Size() > 0 && path.Ext(e.Name()) == ".out" {
			n++
		}
	}
	if r.traceIn() == TraceFile {
		n++
	}
	return max(0, n)
}

// lastTrouble returns when there last was trouble that was looked out for; where there was none, it is after all that can be recorded.
func (r *Recording) lastTrouble() time.Duration {
	if r.Manifest == nil || len(r.Manifest.Events) == 0 {
		return math.MaxInt64
	}
	last := time.Duration(math.MinInt64)
	for _, e := range r.Manifest.Events {
		last = max(last, e.At)
	}
	return last
}

// WholeTrace reports whether the execution trace of a recording is of the whole run, so that both have the same times.
func WholeTrace(r *Recording) bool { return r.files != nil && r.traceIn() == TraceFile }

// waits is the execution trace as a profile of where goroutines waited, for a time of it.
func (r *Recording) waits(from, to time.Duration) (*profile.Profile, error) {
	t, err := Execution.Read(r)
	if err != nil {
		return nil, err
	}
	tr, err := t.Open()
	if err != nil {
		return nil, err
	}
	return waits.Profile(tr, waits.Window{From: int64(from), To: int64(to)})
}

func readTrace(r *Recording) (*Trace, error) {
	name := r.traceIn()
	if name == "" {
		return nil, nil
	}
	f, err := r.files.Open(name)
	if err != nil {
		return nil, err
	}
	t, err := traceOf(f, name)
	if err != nil {
		f.Close()
		return nil, fmt.Errorf("%s: reading %s: %w", r.Ref, name, err)
	}
	if name != TraceFile && r.Manifest != nil && !r.Manifest.Started.IsZero() {
		t.zero = r.Manifest.Started.UnixNano() // so that it has the times of all else in the recording
	}
	return t, nil
}

// aloneTrace takes a file that is a trace, which it opens again, since whoever calls it closes theirs.
func aloneTrace(in io.Reader, name string) (*Trace, error) {
	if f, ok := in.(*os.File); ok {
		if st, err := f.Stat(); err == nil && st.Mode().IsRegular() {
			again, err := os.Open(f.Name())
			if err != nil {
				return nil, err
			}
			in = again
		}
	}
	t, err := traceOf(in, name)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	_, err = t.Open()
	if errors.Is(err, exectrace.ErrNoTrace) {
		err = &NotTraceError{name}
	}
	if err != nil {
		return nil, err
	}
	return t, nil
}

// A NotTraceError says that a file is no execution trace.
type NotTraceError struct{ Ref string }

func (e *NotTraceError) Error() string { return e.Ref + " is not an execution trace" }

// traceOf keeps what is read in a file of its own where it cannot be read at any place.
func traceOf(in io.Reader, name string) (*Trace, error) {
	if f, ok := in.(*os.File); ok {
		if st, err := f.Stat(); err == nil && st.Mode().IsRegular() {
			return newTrace(name, f, st.Size()), nil
		}
	}
	f, err := Spool(in)
	if err != nil {
		return nil, err
	}
	st, err := f.Stat()
	if err != nil {
		f.Close()
		return nil, err
	}
	return newTrace(name, f, st.Size()), nil
}

func newTrace(name string, in io.ReaderAt, size int64) *Trace {
	return &Trace{Name: name, Size: size, in: in, kept: cache.New[string, any](maxKeptOf, nil)}
}

// Spool keeps an execution trace in a file without a name: it is read at many places, and may be larger than memory.
func Spool(in io.Reader) (*os.File, error) {
	dir, err := scratch.Files("trace")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	f, err := os.CreateTemp(dir, "trace-*.out")
	if err != nil {
		return nil, err
	}
	n, err := io.Copy(f, io.LimitReader(in, maxTrace+1))
	switch {
	case n > maxTrace:
		err = fmt.Errorf("the trace is longer than %s", unit.Size(maxTrace))
	case n > 0 && errors.Is(err, io.ErrUnexpectedEOF):
		err = nil // what came of it can be read
	}
	if err != nil {
		f.Close()
		return nil, fmt.Errorf("reading an execution trace: %w", err)
	}
	return f, nil
}
