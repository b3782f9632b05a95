package scratch

import (
	"bufio"
	"errors"
	"os"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/hone-perf/hone/internal/testrun"
)

// noexecFolder returns a folder that is mounted noexec: one that is made for that where it may be, or one of the system.
func noexecFolder(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	if err := unix.Mount("tmpfs", dir, "tmpfs", unix.MS_NOEXEC, "size=64k"); err == nil {
		t.Cleanup(func() { unix.Unmount(dir, unix.MNT_DETACH) })
		return dir
	}
	f, err := os.Open("/proc/self/mounts")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		word := strings.Fields(lines.Text())
		if len(word) > 3 && strings.Contains(","+word[3]+",", ",noexec,") && unix.Access(word[1], unix.W_OK) == nil {
			return word[1]
		}
	}
	testrun.Unable(t, "this user may not mount a folder, and none is mounted noexec")
	return ""
}

func TestNoExec(t *testing.T) {
	dir := noexecFolder(t)
	Clean()
	t.Cleanup(Clean)
	t.Setenv(Variable, dir)
	_, err := Dir("work-")
	var no *NoExec
	if !errors.As(err, &no) || no.Dir != dir {
		t.Errorf("a folder for programs in %s: %v", dir, err)
	}
	if _, err := Files("data-"); err != nil {
		t.Errorf("a folder for files in %s: %v", dir, err)
	}
	Clean()
	t.Setenv(Variable, t.TempDir())
	if _, err := Dir("work-"); err != nil {
		t.Errorf("elsewhere: %v", err)
	}
}
