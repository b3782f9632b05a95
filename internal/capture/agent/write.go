package agent

import (
	"bytes"
	"errors"
	"os"
	"runtime"
	"runtime/metrics"
	"runtime/pprof"
	"strconv"
	"time"
)

// number is how times are written in the names of files: milliseconds in nine digits.
func number(d time.Duration) string {
	s := strconv.FormatInt(d.Milliseconds(), 10)
	for len(s) < 9 {
		s = "0" + s
	}
	return s
}

// A writer writes the files of a recording, each whole or not at all.
type writer struct {
	files   files
	bytes   int64
	failed  int           // files
	err     error         // the first of them
	since   time.Duration // when that was
	now     func() time.Duration
	status  *file
	notes   []string
	metrics *file
	buf     plain
	window  Window
}

// A plain buffer takes a profile that is not packed, where runtime/pprof knows how: see pack.go.txt. Who makes one file of
// the recording packs it.
type plain struct{ bytes.Buffer }

// HoneStores is how runtime/pprof knows.
func (*plain) HoneStores() {}

// statusRoom is how much of the disk the status takes from the beginning: when the disk is full later, it can still be written.
const statusRoom = 4 << 10

// begin makes the folders.
func (w *writer) begin() {
	w.status, _ = w.files.open(Status, 0)
	w.writeStatus([]byte("{}"))
	folders := append([]string{"cpu"}, kinds...)
	if pprof.Lookup(leaks) != nil {
		folders = append(folders, leaks)
	}
	for _, kind := range folders {
		w.check(w.files.mkdir(kind))
	}
	w.window.Remove = w.files.remove
	f, err := w.files.open("metrics.jsonl", os.O_APPEND)
	w.check(err)
	w.metrics = f
}

// check counts what goes wrong. The program goes on.
func (w *writer) check(err error) {
	if err == nil {
		return
	}
	if w.failed++; w.failed == 1 {
		w.err, w.since = err, w.now()
	}
}

// writeStatus replaces the status, in the room that it has.
func (w *writer) writeStatus(text []byte) {
	if w.status == nil {
		return
	}
	padded := bytes.Repeat([]byte{' '}, max(statusRoom, len(text)))
	copy(padded, text)
	w.status.replace(padded)
}

// say notes what the user should know, once.
func (w *writer) say(note string) {
	for _, n := range w.notes {
		if n == note {
			return
		}
	}
	w.notes = append(w.notes, note)
}

// part writes a profile of a part of the time.
func (w *writer) part(kind string, from, to time.Duration, name string, data []byte) {
	w.file(kind, name, data)
	w.window.Add(kind+"/"+name, from, to)
}

// file writes a file in a folder of the recording.
func (w *writer) file(dir, name string, data []byte) {
	if err := w.files.write(dir, name, data); err != nil {
		w.check(err)
		return
	}
	w.bytes += int64(len(data))
}

// kinds are the profiles that show a moment, or count from the start, those that matter most first.
var kinds = []string{"heap", "goroutine", "block", "mutex", "threadcreate"}

// leaks is the profile of goroutines that nobody can wake. Only some toolchains have it.
const leaks = "goroutineleak"

// many is a number of goroutines of which a profile stops the program for noticeable time.
const many = 100_000

// An occasion is why profiles are written.
type occasion int

const (
	inTime    occasion = iota // since it is time again
	early                     // in case the program crashes at once
	inTrouble                 // before it becomes worse
	atEnd
)

// snapshot writes profiles of all kinds but the CPU; early only those that help when the program crashes at once.
func (r *recorder) snapshot(why occasion) {
	var heap heapBefore
	if why == atEnd {
		heap.take(r)
		r.collect()
		heap.compare()
	}
	at := r.since()
	for i, kind := range kinds {
		if why == early && i >= 2 {
			break
		}
		if kind == "heap" && heap.larger {
			r.write.part(kind, heap.at, heap.at, number(heap.at)+".pb.gz", heap.text.Bytes())
			continue
		}
		if kind == "goroutine" && why <= early && runtime.NumGoroutine() > many {
			r.write.say("there were so many goroutines that some goroutine profiles were skipped")
			continue
		}
		r.profile(kind, at)
	}
	r.write.buf = plain{} // it would be alive until the next time, and the program collect more often for that
}

// collect has the garbage collected, as go test -memprofile does: a heap profile shows what was live at the last collection but one, and right
// after runtime.GC what that found. The profile of leaked goroutines begins with the same.
//
// The log of the collector has that cycle, too. It is the first of those from here on that was forced, which hone leaves out with all that follow it.
func (r *recorder) collect() {
	r.cycle = cycles() + 1
	if pprof.Lookup(leaks) == nil {
		runtime.GC()
		return
	}
	r.profile(leaks, r.since())
}

// cycles returns how many collections there were.
func cycles() uint64 {
	s := []metrics.Sample{{Name: "/gc/cycles/total:gc-cycles"}}
	metrics.Read(s)
	if s[0].Value.Kind() != metrics.KindUint64 {
		return 0
	}
	return s[0].Value.Uint64()
}

// A heapBefore is the heap profile from before the last collection. If main has returned, that collection frees all that only main held, which may be
// nearly all of the heap. Of the profiles before and after it, the recording then keeps the one with more in use.
type heapBefore struct {
	text   plain
	at     time.Duration
	inUse  int64
	larger bool
}

func (h *heapBefore) take(r *recorder) {
	if !mainReturned() {
		return
	}
	h.at, h.inUse = r.since(), inUse()
	if err := pprof.Lookup("heap").WriteTo(&h.text, 0); err != nil {
		h.inUse = 0
	}
}

// compare is called after the collection.
func (h *heapBefore) compare() { h.larger = h.inUse > 0 && h.inUse > inUse() }

// inUse returns how many bytes in use heap profiles have samples of.
func inUse() (bytes int64) {
	n, _ := runtime.MemProfile(nil, false)
	for {
		list := make([]runtime.MemProfileRecord, n+50)
		var ok bool
		if n, ok = runtime.MemProfile(list, false); !ok {
			continue
		}
		for i := range list[:n] {
			bytes += list[i].InUseBytes()
		}
		return bytes
	}
}

// mainReturned reports whether the goroutine that ends the program is the main one, without main.
func mainReturned() bool {
	pcs := make([]uintptr, 100)
	frames := runtime.CallersFrames(pcs[:runtime.Callers(0, pcs)])
	for {
		f, more := frames.Next()
		switch {
		case f.Function == "main.main":
			return false
		case f.Function == "runtime.main":
			return true
		case !more:
			return false
		}
	}
}

func (r *recorder) profile(kind string, at time.Duration) {
	b := &r.write.buf
	b.Reset()
	if err := pprof.Lookup(kind).WriteTo(b, 0); err != nil {
		r.write.check(errors.New(kind + " profile: " + err.Error()))
		return
	}
	r.write.part(kind, at, at, number(at)+".pb.gz", b.Bytes())
}

// Allocated is the file of a second heap profile from the end, which has everything that was allocated until then. What it says is in use includes
// garbage that was not collected yet, so hone takes that from the last profile of the recording, and merges both.
const Allocated = "heap/" + allocatedFile

const allocatedFile = ".allocated.pb.gz"

// allocated writes that profile.
func (r *recorder) allocated() {
	if r.publish == nil {
		return
	}
	r.publish()
	var b plain
	if err := pprof.Lookup("heap").WriteTo(&b, 0); err == nil {
		r.write.file("heap", allocatedFile, b.Bytes())
	}
}

// Status is the file in which the recorder tells what it did. It is for hone, and no part of the recording.
const Status = ".recorder.json"

// status says what recording has cost so far.
func (r *recorder) status() {
	w := &r.write
	b := []byte(`{"start":`)
	b = strconv.AppendInt(b, r.start.UnixNano(), 10)
	b = append(b, `,"cpu_ns":`...)
	b = strconv.AppendInt(b, r.cost.Load(), 10)
	b = append(b, `,"pauses_ns":`...)
	b = strconv.AppendInt(b, int64(r.cpu.pauses), 10)
	b = append(b, `,"bytes":`...)
	b = strconv.AppendInt(b, w.bytes, 10)
	b = append(b, `,"gomaxprocs":`...)
	b = strconv.AppendInt(b, int64(runtime.GOMAXPROCS(0)), 10)
	b = append(b, `,"peak":`...)
	b = strconv.AppendInt(b, r.sys.peak(), 10)
	b = append(b, `,"cycle":`...)
	b = strconv.AppendUint(b, r.cycle, 10)
	b = append(b, `,"ended":`...)
	b = strconv.AppendBool(b, r.ended)
	b = append(b, `,"failed":`...)
	b = strconv.AppendInt(b, int64(w.failed), 10)
	if w.err != nil {
		b = append(b, `,"error":`...)
		b = appendJSON(b, w.err.Error())
		b = append(b, `,"denied":`...)
		b = strconv.AppendBool(b, errors.Is(w.err, os.ErrPermission))
		b = append(b, `,"since":`...)
		b = strconv.AppendInt(b, int64(w.since), 10)
	}
	b = append(b, `,"missed":`...)
	b = strconv.AppendInt(b, int64(r.alarm.Missed), 10)
	b = append(b, `,"troubles":[`...)
	for i, t := range r.alarm.Troubles {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(b, `{"at":`...)
		b = strconv.AppendInt(b, int64(t.At), 10)
		b = append(b, `,"condition":`...)
		b = strconv.AppendInt(b, int64(t.Condition), 10)
		b = append(b, `,"value":`...)
		b = strconv.AppendFloat(b, t.Value, 'f', -1, 64)
		b = append(b, `,"limit":`...)
		b = strconv.AppendFloat(b, t.Limit, 'f', -1, 64)
		if t.Request != "" {
			b = append(b, `,"request":`...)
			b = appendJSON(b, t.Request)
		}
		b = append(b, '}')
	}
	b = append(b, `],"blind":[`...)
	for i, n := range r.alarm.Blind() {
		if i > 0 {
			b = append(b, ',')
		}
		b = strconv.AppendInt(b, int64(n), 10)
	}
	b = append(b, `],"notes":[`...)
	for i, n := range w.notes {
		if i > 0 {
			b = append(b, ',')
		}
		b = appendJSON(b, n)
	}
	b = append(b, "]}\n"...)
	w.writeStatus(b)
}

// appendJSON appends s as a string of JSON. Control characters, and what is no text, become question marks.
func appendJSON(b []byte, s string) []byte {
	b = append(b, '"')
	for _, c := range s {
		switch {
		case c == '"' || c == '\\':
			b = append(b, '\\', byte(c))
		case c < ' ' || c > '~' && c < 0xa0 || c == 0xfffd:
			b = append(b, '?')
		default:
			b = append(b, string(c)...)
		}
	}
	return append(b, '"')
}
