package source

import (
	"io"
	"os"

	"github.com/hone-perf/hone/internal/gclog"
)

// gcHead is how much of a file is looked at for lines of gctrace.
const gcHead = 1 << 20

// IsGCLog reports whether a file begins with lines that GODEBUG=gctrace=1 writes, also between others.
func IsGCLog(name string) bool {
	st, err := os.Stat(name)
	if err != nil || !st.Mode().IsRegular() {
		return false
	}
	f, err := os.Open(name)
	if err != nil {
		return false
	}
	defer f.Close()
	log, _ := gclog.Parse(io.LimitReader(f, gcHead))
	return len(log.Cycles) > 0
}
