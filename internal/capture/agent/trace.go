package agent

import (
	"bytes"
	"io"
	"os"
	"runtime/trace"
)

// startTrace starts an execution trace. What was flushed of it can be read after a crash.
func (r *recorder) startTrace() {
	f, err := r.write.files.open("trace.out", os.O_TRUNC|os.O_APPEND)
	if err == nil {
		err = trace.Start(&traceFile{r: r, f: f})
	}
	if err != nil {
		r.write.check(err)
		r.Trace = false
	}
}

// A traceFile is written until something cannot be written: what comes after a gap could not be read. Package trace says nothing of that.
type traceFile struct {
	r      *recorder
	f      io.Writer
	failed bool
}

func (t *traceFile) Write(b []byte) (int, error) {
	if t.failed {
		return len(b), nil
	}
	n, err := t.f.Write(b)
	if err != nil {
		t.failed = true
		go func() { // the lock may be held by who waits for this trace to stop
			t.r.mu.Lock()
			defer t.r.mu.Unlock()
			t.r.write.check(err)
		}()
	}
	return n, err
}

func (r *recorder) stopTrace() {
	if r.Trace {
		trace.Stop()
	}
}

const flightFolder = "flight"

// writeFlight writes the last of an execution trace, when one is taken.
func (r *recorder) writeFlight() {
	if r.Flight == 0 {
		return
	}
	at := r.since()
	var b bytes.Buffer
	if err := r.last.write(&b); err != nil {
		r.write.say("no execution trace of the last seconds could be written: " + err.Error())
		return
	}
	r.write.file(flightFolder, number(at)+".out", b.Bytes())
}
