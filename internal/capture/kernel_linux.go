package capture

import (
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

// killedByKernel returns what the kernel says when it killed a process since there was no memory left, or "". It may not
// be asked by everybody.
func killedByKernel(pid int) string {
	fd, err := unix.Open("/dev/kmsg", unix.O_RDONLY|unix.O_NONBLOCK, 0)
	if err != nil {
		return ""
	}
	defer unix.Close(fd)
	want := fmt.Sprintf("Killed process %d ", pid)
	found := ""
	buf := make([]byte, 8<<10)
	for range 1 << 16 {
		n, err := unix.Read(fd, buf)
		if err == unix.EPIPE {
			continue // it was overwritten meanwhile
		}
		if err != nil || n <= 0 {
			break
		}
		// Such as 3,1234,98765,-;Memory cgroup out of memory: Killed process 42 (app) total-vm:…
		_, text, _ := strings.Cut(string(buf[:n]), ";")
		text, _, _ = strings.Cut(text, "\n")
		if strings.Contains(text, want) && strings.Contains(strings.ToLower(text), "out of memory") {
			found = "out of memory: the kernel killed it, and says: " + text
		}
	}
	return found
}
