package agent

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// A program may close all that it did not open, and what it opens then may get our numbers. That stays as it is, and the recording goes on.
func TestFilesClosed(t *testing.T) {
	s := files{dir: t.TempDir()}
	if err := s.mkdir("heap"); err != nil {
		t.Fatal(err)
	}
	lines, err := s.open("lines", os.O_APPEND)
	if err != nil {
		t.Fatal(err)
	}
	status, err := s.open("status", 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := lines.Write([]byte("one ")); err != nil {
		t.Fatal(err)
	}
	status.replace([]byte("longer than it will be"))
	program := filepath.Join(t.TempDir(), "program")
	taken, err := os.Create(program)
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	for _, f := range []*file{lines, status, s.folders["heap"]} {
		if f.fd < int(high[len(high)-1]) {
			t.Errorf("%s has the number %d, which the program may want", f.name, f.fd)
		}
		was := f.fd
		if err := syscall.Dup3(int(taken.Fd()), was, syscall.O_CLOEXEC); err != nil {
			t.Fatal(err)
		}
		defer syscall.Close(was)
	}
	if _, err := lines.Write([]byte("two")); err != nil {
		t.Error(err)
	}
	status.replace([]byte("short"))
	if err := s.write("heap", "profile", []byte("all of it")); err != nil {
		t.Error(err)
	}
	for name, want := range map[string]string{
		program: "", filepath.Join(s.dir, "lines"): "one two", filepath.Join(s.dir, "status"): "short", filepath.Join(s.dir, "heap/profile"): "all of it",
	} {
		if got, err := os.ReadFile(name); err != nil || string(got) != want {
			t.Errorf("%s has %q, %v; want %q", name, got, err, want)
		}
	}
	s.remove("heap/profile")
	if left, _ := filepath.Glob(filepath.Join(s.dir, "heap", "*")); len(left) > 0 {
		t.Errorf("%q is left", left)
	}

	// Where it cannot be opened again, nothing is written.
	if err := os.Remove(filepath.Join(s.dir, "lines")); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Dup3(int(taken.Fd()), lines.fd, syscall.O_CLOEXEC); err != nil {
		t.Fatal(err)
	}
	if _, err := lines.Write([]byte("three")); err == nil {
		t.Error("there is no error for what cannot be written")
	}
	if got, _ := os.ReadFile(program); len(got) > 0 {
		t.Errorf("the program's file has %q", got)
	}
}

// A crash is written to the file of the recording, or to what the program has asked for.
func TestKeepCrash(t *testing.T) {
	to := noFile
	r := &recorder{host: host{crashTo: func(fd uintptr) uintptr {
		old := to
		to = fd
		return old
	}}}
	r.write.files.dir = t.TempDir()
	r.watchCrash()
	first := r.crash.fd
	if r.keepCrash(); to != uintptr(first) {
		t.Errorf("crashes go to %d, want %d", to, first)
	}
	syscall.Close(first)
	if r.keepCrash(); to != uintptr(r.crash.fd) || !r.crash.ours() {
		t.Errorf("after it was closed, crashes go to %d, want %d", to, r.crash.fd)
	}
	syscall.Close(r.crash.fd)
	to = 2 // the program's
	if r.keepCrash(); to != 2 || r.crash != nil {
		t.Errorf("crashes go to %d, and not to what the program asked for", to)
	}
}
