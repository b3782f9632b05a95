package capture

import (
	"bytes"
	"fmt"
	"strings"

	"golang.org/x/sys/unix"
)

// kernel returns the version of the kernel.
func kernel() string {
	var u unix.Utsname
	if unix.Uname(&u) != nil {
		return ""
	}
	return unix.ByteSliceToString(u.Release[:])
}

// killedByKernel reports whether the kernel says that it killed a process since there was no memory left. It may not
// be asked by everybody.
func killedByKernel(pid int) bool {
	fd, err := unix.Open("/dev/kmsg", unix.O_RDONLY|unix.O_NONBLOCK, 0)
	if err != nil {
		return false
	}
	defer unix.Close(fd)
	want := fmt.Sprintf("Killed process %d ", pid)
	found := false
	buf := make([]byte, 8<<10)
	for range 1 << 16 {
		n, err := unix.Read(fd, buf)
		if err == unix.EPIPE {
			continue // it was overwritten meanwhile
		}
		if err != nil || n <= 0 {
			break
		}
		found = found || bytes.Contains(buf[:n], []byte(want)) && strings.Contains(strings.ToLower(string(buf[:n])), "out of memory")
	}
	return found
}
