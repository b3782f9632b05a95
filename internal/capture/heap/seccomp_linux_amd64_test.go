package heap

import (
	"bufio"
	"errors"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/hone-perf/hone/internal/testrun"
)

// filterOf returns a filter that does something special about one system call, if its first argument has a bit.
func filterOf(number, argument, action uint32) []unix.SockFilter {
	return []unix.SockFilter{
		{Code: 0x20, K: 0},                      // the number
		{Code: 0x15, Jt: 0, Jf: 3, K: number},   // if it is another one, allow
		{Code: 0x20, K: 16},                     // the first argument
		{Code: 0x45, Jt: 0, Jf: 1, K: argument}, // if it has the bit
		{Code: 0x06, K: action},                 //
		{Code: 0x06, K: actAllow},               //
	}
}

const actKill = 0x80000000

func TestFilter(t *testing.T) {
	code := filterOf(unix.SYS_CLONE, unix.CLONE_FILES, actKill)
	data := make([]byte, 64)
	for _, test := range []struct {
		number, argument byte
		want             uint32
	}{{unix.SYS_CLONE, 0x04, actKill}, {unix.SYS_CLONE, 0, actAllow}, {unix.SYS_WAIT4, 0x04, actAllow}} {
		data[0], data[17] = test.number, test.argument
		if got, ok := runFilter(code, data); !ok || got != test.want {
			t.Errorf("system call %d with %#x: %#x, %t; want %#x", test.number, test.argument, got, ok, test.want)
		}
	}
	for _, bad := range [][]unix.SockFilter{nil, {{Code: 0x20, K: 62}, {Code: 0x06}}, {{Code: 0x05, K: 1 << 31}}, {{Code: 0x34}}, {{Code: 0x02, K: 16}}} {
		if got, ok := runFilter(bad, data); ok {
			t.Errorf("%+v gives %#x", bad, got)
		}
	}
}

// TestFiltered reads programs whose system calls are filtered: what would kill them is not tried.
func TestFiltered(t *testing.T) {
	testrun.Live(t, "it builds a program")
	if file := os.Getenv("HONE_TEST_FILTERED"); file != "" {
		runtime.LockOSThread()
		action := uint32(actAllow)
		if os.Getenv("HONE_TEST_ACTION") == "kill" {
			action = actKill
		}
		// Threads have more flags than this one, and are allowed.
		code := filterOf(unix.SYS_WAIT4, ^uint32(0), action)
		prog := unix.SockFprog{Len: uint16(len(code)), Filter: &code[0]}
		if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
			t.Fatal(err)
		}
		if _, _, errno := unix.Syscall(unix.SYS_PRCTL, unix.PR_SET_SECCOMP, unix.SECCOMP_MODE_FILTER, uintptr(unsafe.Pointer(&prog))); errno != 0 {
			t.Fatal(errno)
		}
		t.Fatal(syscall.Exec(file, []string{file}, os.Environ()))
	}
	file := build(t, "planted", "", nil)
	for _, action := range []string{"allow", "kill"} {
		cmd := exec.Command(os.Args[0], "-test.run=^TestFiltered$")
		cmd.Env = append(os.Environ(), "HONE_TEST_FILTERED="+file, "HONE_TEST_ACTION="+action)
		in, err := cmd.StdinPipe()
		if err != nil {
			t.Fatal(err)
		}
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		line, _ := bufio.NewReader(out).ReadString('\n')
		if !strings.HasPrefix(line, "ready") {
			t.Fatalf("it printed %q", line)
		}
		_, err = Read(t.Context(), cmd.Process.Pid, Options{})
		switch {
		case action == "kill" && !errors.Is(err, ErrNoFork):
			t.Errorf("with a filter that kills: %v", err)
		case action == "allow" && err != nil && !errors.Is(err, ErrNoFork): // without the right to see filters, it is not tried
			t.Errorf("with a filter that allows all: %v", err)
		}
		t.Logf("%s: %v", action, err)
		checkUndisturbed(t, cmd.Process.Pid)
		in.Close()
		if err := cmd.Wait(); err != nil {
			t.Errorf("the program ended with %v", err)
		}
	}
}
