package agent

import (
	"bytes"
	"os"
	"path/filepath"
	"runtime/trace"
)

// startTrace starts an execution trace. What was flushed of it can be read after a crash.
func (r *recorder) startTrace() {
	f, err := os.Create(filepath.Join(r.Dir, "trace.out"))
	if err == nil {
		err = trace.Start(f)
	}
	if err != nil {
		r.write.check(err)
		r.Trace = false
	}
}

func (r *recorder) stopTrace() {
	if r.Trace {
		trace.Stop()
	}
}

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
	r.write.check(os.MkdirAll(filepath.Join(r.Dir, "flight"), 0o755))
	r.write.file("flight", number(at)+".out", b.Bytes())
}
