//go:build amd64 || arm64

package heap

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/hone-perf/hone/internal/testrun"
)

// TestRefused reads what cannot be read. Each error says why.
func TestRefused(t *testing.T) {
	sleep, err := exec.LookPath("sleep")
	if err != nil {
		testrun.Missing(t, "%v", err)
	}
	other := exec.Command(sleep, "600")
	if err := other.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = other.Process.Kill(); _ = other.Wait() }()
	ended := exec.Command(sleep, "0")
	if err := ended.Run(); err != nil {
		t.Fatal(err)
	}
	unseen := exec.Command(sleep, "0") // nobody has asked how it ended
	if err := unseen.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = unseen.Wait() }()
	for {
		if st, err := os.ReadFile("/proc/" + strconv.Itoa(unseen.Process.Pid) + "/stat"); err != nil || strings.Contains(string(st), ") Z ") {
			break
		}
		time.Sleep(time.Millisecond)
	}
	tests := []struct {
		name string
		pid  int
		want string
	}{
		{"hone itself", os.Getpid(), "it is this process"},
		{"one that has ended, and is still listed", unseen.Process.Pid, "it has ended"},
		{"one that has ended", ended.Process.Pid, "no such process"},
		{"not a Go program", other.Process.Pid, "it is not a Go program"},
		{"no process", 1 << 30, "no such process"},
	}
	for _, test := range tests {
		if _, err := Read(t.Context(), test.pid, Options{}); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %v; want %q", test.name, err, test.want)
		}
	}
}

// TestOtherUser reads a process of root as nobody.
func TestOtherUser(t *testing.T) {
	testrun.Live(t, "it builds a program")
	if pid := os.Getenv("HONE_TEST_READ"); pid != "" {
		n, _ := strconv.Atoi(pid)
		_, err := Read(t.Context(), n, Options{})
		t.Log(err)
		return
	}
	if os.Getuid() != 0 {
		testrun.Unable(t, "only root can be nobody")
	}
	// Where nobody can run it.
	dir, err := os.MkdirTemp("/tmp", "hone-test-")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	self, err := os.ReadFile(os.Args[0])
	if err != nil {
		t.Fatal(err)
	}
	name := filepath.Join(dir, "heap.test")
	if err := os.WriteFile(name, self, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	pid, _ := startPlanted(t, build(t, "planted", "", nil))
	cmd := exec.Command(name, "-test.run=^TestOtherUser$", "-test.v")
	cmd.Dir = "/"
	cmd.Env = append(os.Environ(), "HONE_TEST_READ="+strconv.Itoa(pid))
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
	out, err := cmd.CombinedOutput()
	if err != nil || !strings.Contains(string(out), "it belongs to another user") && !strings.Contains(string(out), "ptrace_scope") {
		t.Errorf("%v\n%s", err, out)
	}
	checkUndisturbed(t, pid)
}
