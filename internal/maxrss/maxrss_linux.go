package maxrss

import (
	"bytes"
	"os"
	"strconv"
	"syscall"
)

// own reads the peak of this program's memory. What getrusage says may be that of the program that started this one, and what
// programs start with here is the former.
func own() int64 {
	if status, err := os.ReadFile("/proc/self/status"); err == nil {
		_, rest, _ := bytes.Cut(status, []byte("\nVmHWM:"))
		line, _, _ := bytes.Cut(rest, []byte("\n"))
		if kB, err := strconv.ParseInt(string(bytes.TrimSpace(bytes.TrimSuffix(line, []byte(" kB")))), 10, 64); err == nil {
			return kB << 10
		}
	}
	return usage(syscall.RUSAGE_SELF)
}
