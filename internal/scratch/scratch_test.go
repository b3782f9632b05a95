package scratch

import (
	"bufio"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"
)

// TestMain makes a folder and waits, where a test runs itself as another process.
func TestMain(m *testing.M) {
	if os.Getenv("SCRATCH_TEST") == "" {
		os.Exit(m.Run())
	}
	dir, err := Dir("work-")
	if err != nil {
		os.Exit(1)
	}
	os.Stdout.WriteString(dir + "\n")
	os.Stdin.Read(make([]byte, 1))
}

// other starts a process that has a folder in temp, and returns it and how to kill it.
func other(t *testing.T, temp string) (dir string, kill func()) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self)
	cmd.Env = append(os.Environ(), "SCRATCH_TEST=1", "TMPDIR="+temp, "TMP="+temp)
	if _, err := cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	kill = func() {
		cmd.Process.Kill()
		cmd.Wait()
	}
	t.Cleanup(kill)
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	return line[:len(line)-1], kill
}

func exists(name string) bool {
	_, err := os.Stat(name)
	return err == nil
}

func TestKilledProcessesLeaveNothing(t *testing.T) {
	temp, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	foreign := filepath.Join(temp, "hone-of-somebody-else")
	if err := os.Mkdir(foreign, 0o755); err != nil {
		t.Fatal(err)
	}
	gone, kill := other(t, temp)
	alive, _ := other(t, temp)
	if !exists(gone) || !exists(alive) {
		t.Fatal("a process that runs has lost its folder")
	}
	kill()
	third, _ := other(t, temp)
	if exists(filepath.Dir(gone)) {
		t.Errorf("the folder of a process that was killed is still there")
	}
	if !exists(alive) || !exists(third) || !exists(foreign) {
		t.Errorf("folders that are in use, or not ours, are gone: %v %v %v", exists(alive), exists(third), exists(foreign))
	}
}

func TestClean(t *testing.T) {
	temp := t.TempDir()
	t.Setenv("TMPDIR", temp)
	t.Setenv("TMP", temp)
	for range 2 {
		dir, err := Dir("a-")
		if err != nil || !exists(dir) {
			t.Fatal(dir, err)
		}
		Clean()
		if list, err := os.ReadDir(temp); err != nil || len(list) != 0 {
			t.Errorf("the folder holds %v, %v", list, err)
		}
	}
}

func TestRelativeFolder(t *testing.T) {
	t.Chdir(t.TempDir())
	if err := os.Mkdir("tmp", 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("TMPDIR", "tmp")
	t.Setenv("TMP", "tmp")
	defer Clean()
	if dir, err := Dir("a-"); err != nil || !filepath.IsAbs(dir) {
		t.Errorf("Dir = %q, %v", dir, err)
	}
}

// Compilers that outlive their process make its folder again when the next one has removed it. Then it has no lock.
func TestFoldersWithoutLock(t *testing.T) {
	temp := t.TempDir()
	young, old, foreign := filepath.Join(temp, prefix+"1"), filepath.Join(temp, prefix+"2"), filepath.Join(temp, "hone-of-somebody-else")
	for _, dir := range []string{young, old, foreign} {
		if err := os.MkdirAll(filepath.Join(dir, "go-build1"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	then := time.Now().Add(-time.Hour)
	for _, dir := range []string{old, foreign} {
		if err := os.Chtimes(dir, then, then); err != nil {
			t.Fatal(err)
		}
	}
	sweep(temp)
	if !exists(young) || exists(old) || !exists(foreign) {
		t.Errorf("a young folder is there: %v, an old one: %v, that of somebody else: %v", exists(young), exists(old), exists(foreign))
	}
}
