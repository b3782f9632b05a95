package recording

import (
	"bufio"
	"bytes"
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
	"sync/atomic"
	"time"

	"github.com/klauspost/compress/gzip"

	"github.com/hone-perf/hone/internal/cache"
	"github.com/hone-perf/hone/internal/exectrace"
	"github.com/hone-perf/hone/internal/profile"
	"github.com/hone-perf/hone/internal/requests"
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
	lost atomic.Bool               // something in it could not be read
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
	tr.OnLost(func() { t.lost.Store(true) })
	return tr, nil
}

// LostTrace reports whether something could not be read of the execution trace that is chosen, as far as it was read by now.
func (r *Recording) LostTrace() bool {
	t, _ := r.given[Execution.FileKind].(*Trace)
	if t == nil && r.parts != nil {
		v, _ := r.parts.Get(Execution.key(r))
		t, _ = v.(*Trace)
	}
	return t != nil && t.lost.Load()
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

// traceIn returns the name of the file with the trace to read: the one that was chosen, else that of the whole run, else the flight recording of the
// latest trouble, else that of the end.
func (r *Recording) traceIn() string {
	switch {
	case r.files == nil || r.trace != "":
		return r.trace
	case r.wholeTrace():
		return TraceFile
	}
	trouble := r.lastTrouble()
	name := ""
	for _, file := range slices.Backward(r.flights()) {
		if at, ok := flightEnd(file); name != "" && (!ok || at < trouble.Truncate(time.Millisecond)) {
			break
		}
		name = file
	}
	return name
}

// wholeTrace reports whether there is an execution trace of the whole run.
func (r *Recording) wholeTrace() bool {
	st, err := fs.Stat(r.files, TraceFile)
	return err == nil && st.Size() > 0
}

// flights are the files with flight recordings, in the order of time.
func (r *Recording) flights() (list []string) {
	entries, _ := fs.ReadDir(r.files, FlightDir)
	for _, e := range entries {
		if st, err := e.Info(); err == nil && st.Size() > 0 && path.Ext(e.Name()) == ".out" {
			list = append(list, path.Join(FlightDir, e.Name()))
		}
	}
	return list
}

// flightEnd returns when a flight recording was written, which is in its name.
func flightEnd(file string) (time.Duration, bool) {
	ms, err := strconv.ParseInt(strings.TrimSuffix(path.Base(file), ".out"), 10, 64)
	return time.Duration(ms) * time.Millisecond, err == nil
}

// A TraceTime is the time of one of several execution traces in a recording.
type TraceTime struct {
	From, To time.Duration // of the recording
	Read     bool          // this is the one that is read
	file     string
}

func (t TraceTime) String() string { return t.From.String() + ".." + t.To.String() }

// common is how much of a time a trace has; of a moment that it covers, 1. A to of 0 is the end.
func (t *TraceTime) common(from, to time.Duration) time.Duration {
	if to == from && to != 0 {
		to++
	}
	if to == 0 {
		to = math.MaxInt64
	}
	return max(0, min(t.To, to)-max(t.From, from))
}

// Traces lists the execution traces of a recording that has several: one that has a trace of the whole run needs no other.
func (r *Recording) Traces() []TraceTime {
	if r.files == nil || r.wholeTrace() {
		return nil
	}
	if v, ok := r.given[Execution.FileKind]; ok && v == nil {
		return nil
	}
	files := r.flights()
	if len(files) < 2 {
		return nil
	}
	v, _ := r.parts.Do(FlightDir, func() (any, error) {
		var list []TraceTime
		for _, file := range files {
			begin, last, err := r.timesOf(file)
			// What happened while it was being written may be in it.
			end, ok := flightEnd(file)
			if end = max(end, (last + time.Millisecond - 1).Truncate(time.Millisecond)); ok && err == nil && begin < end {
				list = append(list, TraceTime{From: begin.Truncate(time.Millisecond), To: end, file: file})
			}
		}
		return list, nil
	})
	list := slices.Clone(v.([]TraceTime))
	read := r.traceIn()
	for i := range list {
		list[i].Read = list[i].file == read
	}
	return list
}

// timesOf returns when an execution trace begins and ends.
func (r *Recording) timesOf(file string) (begin, end time.Duration, err error) {
	t, err := r.traceFile(file)
	if err != nil {
		return 0, 0, err
	}
	if c, ok := t.in.(io.Closer); ok {
		defer c.Close()
	}
	tr, err := t.Open()
	if err != nil {
		return 0, 0, err
	}
	last, err := tr.End()
	return time.Duration(tr.Begin()), time.Duration(last), err
}

// A NoTraceThenError says that a recording has execution traces, and none of a time that was asked for.
type NoTraceThenError struct{ Times []TraceTime }

func (e *NoTraceThenError) Error() string {
	return "there is no execution trace of that time; there are traces of " + timesText(e.Times)
}

func timesText(list []TraceTime) string {
	text := make([]string, len(list))
	for i, t := range list {
		text[i] = t.String()
	}
	return strings.Join(text, ", ")
}

// TraceAt returns a recording of whose execution traces the one is read that has most of a time, or covers it where from and to are the same. A to of 0
// is the end. Of two that have as much of it, it is the one that is read anyhow.
func (r *Recording) TraceAt(from, to time.Duration) (*Recording, error) {
	if from == 0 && to == 0 {
		return r, nil
	}
	list := r.Traces()
	if len(list) == 0 {
		if from == to {
			return r, r.traceCovers(int64(to))
		}
		return r, nil
	}
	best, most := TraceTime{}, time.Duration(0)
	for _, t := range list {
		if d := t.common(from, to); d > most || d == most && d > 0 && t.Read {
			best, most = t, d
		}
	}
	switch {
	case most == 0:
		return nil, &NoTraceThenError{list}
	case best.Read:
		return r, nil
	}
	out := *r
	out.trace = best.file
	return &out, nil
}

// traceCovers says where a moment is not in the only execution trace that there is.
func (r *Recording) traceCovers(at int64) error {
	t, err := Execution.Read(r)
	if err != nil || t == nil {
		return err
	}
	type times struct{ begin, end int64 }
	of, err := Once(t, "times", func(tr *exectrace.Trace) (w times, err error) {
		for e, err := range tr.Events() {
			if err != nil {
				return w, err
			}
			w.end = e.Time
		}
		w.begin = tr.Begin()
		return w, nil
	})
	if err == nil && (at < of.begin || at > of.end) {
		err = &waits.OutsideError{Begin: of.begin, End: of.end}
	}
	return err
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

// openTrace opens the execution trace that covers a time.
func (r *Recording) openTrace(from, to time.Duration) (*exectrace.Trace, error) {
	r, err := r.TraceAt(from, to)
	if err != nil {
		return nil, err
	}
	t, err := Execution.Read(r)
	if err != nil {
		return nil, err
	}
	return t.Open()
}

// waits is the execution trace as a profile of where goroutines waited, for a time of it.
func (r *Recording) waits(from, to time.Duration) (*profile.Profile, error) {
	tr, err := r.openTrace(from, to)
	if err != nil {
		return nil, err
	}
	if from == to {
		from, to = 0, 0 // all of the trace that covers the moment
	}
	return requests.Profile(tr, waits.Window{From: int64(from), To: int64(to)})
}

// traced reports whether an execution trace covers a moment.
func (r *Recording) traced(at time.Duration) bool {
	if !r.has(traceKind) {
		return false
	}
	_, err := r.TraceAt(at, at)
	return err == nil
}

// goroutinesAt returns what goroutines were doing at a moment that an execution trace covers.
func (r *Recording) goroutinesAt(at time.Duration) (*profile.Profile, error) {
	tr, err := r.openTrace(at, at)
	if err != nil {
		return nil, err
	}
	p, err := waits.Moment(tr, int64(at))
	if err != nil {
		return nil, err
	}
	return p.WithNote(fmt.Sprintf("goroutines %s after the start, from the execution trace", at)).WithShortNames(), nil
}

func readTrace(r *Recording) (*Trace, error) {
	name := r.traceIn()
	if name == "" {
		return nil, nil
	}
	return r.traceFile(name)
}

// traceFile returns the execution trace in a file of a recording.
func (r *Recording) traceFile(name string) (*Trace, error) {
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
			begin := make([]byte, BeginOfTrace)
			n, _ := f.ReadAt(begin, 0)
			if is, packed := IsTrace(begin[:n]); !is || !packed {
				return newTrace(name, f, st.Size()), nil
			}
			defer f.Close() // Spool has it all
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

// IsTrace reports whether a file that begins so is an execution trace, and whether it is packed with gzip. BeginOfTrace bytes suffice.
func IsTrace(begin []byte) (is, packed bool) {
	if !bytes.HasPrefix(begin, []byte{0x1f, 0x8b}) {
		return exectrace.Is(begin), false
	}
	in, err := gzip.NewReader(bytes.NewReader(begin))
	if err != nil {
		return false, true
	}
	var first [16]byte
	n, _ := io.ReadFull(in, first[:])
	return exectrace.Is(first[:n]), true
}

// BeginOfTrace is how much of a file IsTrace wants to see.
const BeginOfTrace = 4096

// Spool keeps an execution trace, which may be packed with gzip, in a file without a name: it is read at many places, and may be larger than memory.
func Spool(in io.Reader) (*os.File, error) {
	r := bufio.NewReaderSize(in, BeginOfTrace)
	in = r
	begin, _ := r.Peek(BeginOfTrace)
	if is, packed := IsTrace(begin); is && packed {
		unpacked, err := gzip.NewReader(r)
		if err != nil {
			return nil, err
		}
		in = unpacked
	}
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
