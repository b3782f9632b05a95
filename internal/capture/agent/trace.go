package agent

import (
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
