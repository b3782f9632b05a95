package safefile

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/hone-perf/hone/internal/testrun"
)

func text(t *testing.T, name string) string {
	t.Helper()
	b, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func TestWrite(t *testing.T) {
	dir := t.TempDir()
	name := filepath.Join(dir, "default.pgo")
	put := func(s string, after error) error {
		return Write(name, func(w io.Writer) error {
			io.WriteString(w, s)
			return after
		})
	}
	full := errors.New("no space left on device")
	if err := put("half of", full); err != full {
		t.Fatal(err)
	}
	if _, err := os.Stat(name); !os.IsNotExist(err) {
		t.Errorf("a file that was not written whole is there: %v", err)
	}
	if err := put("good", nil); err != nil {
		t.Fatal(err)
	}
	if err := put("half of", full); err != full || text(t, name) != "good" {
		t.Errorf("after an error %v the file holds %q", err, text(t, name))
	}
	if err := put("better", nil); err != nil || text(t, name) != "better" {
		t.Errorf("the file holds %q, %v", text(t, name), err)
	}
	if names := list(t, dir); len(names) != 1 {
		t.Errorf("the folder holds %v", names)
	}
}

func TestModeAndLinksStay(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("Windows has other modes, and links for few")
	}
	dir := t.TempDir()
	old, link, fresh := filepath.Join(dir, "old"), filepath.Join(dir, "link"), filepath.Join(dir, "fresh")
	if err := errors.Join(os.WriteFile(old, nil, 0o640), os.Symlink("old", link)); err != nil {
		t.Fatal(err)
	}
	hello := func(w io.Writer) error { _, err := io.WriteString(w, "hello"); return err }
	if err := errors.Join(Write(link, hello), Write(fresh, hello)); err != nil {
		t.Fatal(err)
	}
	if st, err := os.Lstat(link); err != nil || st.Mode()&os.ModeSymlink == 0 {
		t.Errorf("the link became %v, %v", st.Mode(), err)
	}
	if st, err := os.Stat(old); err != nil || st.Mode().Perm() != 0o640 || text(t, old) != "hello" {
		t.Errorf("the file has mode %v and holds %q, %v", st.Mode(), text(t, old), err)
	}
	plain := filepath.Join(dir, "plain")
	f, err := os.Create(plain)
	if err != nil {
		t.Fatal(err)
	}
	f.Close()
	want, _ := os.Stat(plain)
	if st, err := os.Stat(fresh); err != nil || st.Mode() != want.Mode() {
		t.Errorf("a new file has mode %v, where os.Create gives %v", st.Mode(), want.Mode())
	}
}

// TestLinksToNewFiles holds that a link stays where the file that it leads to is not there yet.
func TestLinksToNewFiles(t *testing.T) {
	if runtime.GOOS == "windows" {
		testrun.Unable(t, "on Windows, few users may make links")
	}
	dir := t.TempDir()
	in := func(name string) string { return filepath.Join(dir, filepath.FromSlash(name)) }
	err := errors.Join(os.MkdirAll(in("disk/deep"), 0o700), os.Symlink(in("disk/a"), in("absolute")), os.Symlink("disk/b", in("relative")),
		os.Symlink("relative2", in("chain")), os.Symlink("disk/c", in("relative2")), os.Symlink("disk/deep", in("folder")), os.Symlink("../d", in("disk/deep/up")),
		os.Symlink("nowhere/e", in("lost")), os.Symlink("circle", in("circle")))
	if err != nil {
		t.Fatal(err)
	}
	hello := func(w io.Writer) error { _, err := io.WriteString(w, "hello"); return err }
	for link, target := range map[string]string{"absolute": "disk/a", "relative": "disk/b", "chain": "disk/c", "folder/up": "disk/d"} {
		if err := Write(in(link), hello); err != nil {
			t.Errorf("%s: %v", link, err)
			continue
		}
		if st, err := os.Lstat(in(link)); err != nil || st.Mode()&os.ModeSymlink == 0 {
			t.Errorf("%s became %v, %v", link, st.Mode(), err)
		}
		if got := text(t, in(target)); got != "hello" {
			t.Errorf("%s: %s holds %q", link, target, got)
		}
	}
	if err := Write(in("lost"), hello); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a link into a folder that is not there: %v", err)
	}
	if st, err := os.Lstat(in("lost")); err != nil || st.Mode()&os.ModeSymlink == 0 {
		t.Errorf("that link became %v, %v", st, err)
	}
}

func TestDevicesAreWrittenInPlace(t *testing.T) {
	if err := Write(os.DevNull, func(w io.Writer) error { _, err := io.WriteString(w, "x"); return err }); err != nil {
		t.Error(err)
	}
	if st, err := os.Stat(os.DevNull); err != nil || st.Mode().IsRegular() {
		t.Errorf("%s became %v, %v", os.DevNull, st.Mode(), err)
	}
}

// A full disk is an error that names the file that was to be written.
func TestFullDisk(t *testing.T) {
	name := filepath.Join(t.TempDir(), "out.txt")
	f, err := Create(name)
	if err != nil {
		t.Fatal(err)
	}
	f.File.Close() // as good as full: what is written fails
	_, err = f.Write([]byte("x"))
	var path *os.PathError
	if !errors.As(err, &path) || path.Path != name {
		t.Errorf("the error is %v", err)
	}
	if f.Discard(); len(list(t, filepath.Dir(name))) != 0 {
		t.Errorf("the folder holds %v", list(t, filepath.Dir(name)))
	}
}

func list(t *testing.T, dir string) []string {
	t.Helper()
	found, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, e := range found {
		names = append(names, e.Name())
	}
	return names
}

func TestErrorsNameTheFile(t *testing.T) {
	name := filepath.Join(t.TempDir(), "none", "out.txt")
	_, err := Create(name)
	var path *os.PathError
	if !errors.As(err, &path) || path.Path != name {
		t.Errorf("the error is %v", err)
	}
}

// What a killed process left beside a file is removed by the next one that writes it; what another one is writing just now stays.
func TestKilledWritersLeaveNothing(t *testing.T) {
	dir := t.TempDir()
	name := filepath.Join(dir, "x.txt")
	alive, err := Create(name)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range []string{".x.txt.abc" + ending, ".x.txt.swp", ".other.txt.abc" + ending} {
		if err := os.WriteFile(filepath.Join(dir, f), []byte("half"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := Write(name, func(w io.Writer) error { _, err := io.WriteString(w, "new"); return err }); err != nil {
		t.Fatal(err)
	}
	for f, want := range map[string]bool{
		".x.txt.abc" + ending: false, ".x.txt.swp": true, ".other.txt.abc" + ending: true, filepath.Base(alive.File.Name()): true, "x.txt": true,
	} {
		if _, err := os.Lstat(filepath.Join(dir, f)); (err == nil) != want {
			t.Errorf("%s is there: %v, want %v", f, err == nil, want)
		}
	}
	if err := alive.Commit(); err != nil {
		t.Error(err)
	}
}

func TestReplaceWritesNothingInPlace(t *testing.T) {
	if f, err := Replace(os.DevNull); err == nil {
		f.Discard()
		t.Error("a device was to be replaced")
	}
}

func TestRecordingsAreForTheirOwnerAlone(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("Windows has no such modes")
	}
	dir := t.TempDir()
	for name, want := range map[string]os.FileMode{"run.hone": 0o600, "run.json": 0o666} {
		name = filepath.Join(dir, name)
		if err := Write(name, func(w io.Writer) error { return nil }); err != nil {
			t.Fatal(err)
		}
		st, err := os.Stat(name)
		if err != nil {
			t.Fatal(err)
		}
		// What others may is what the umask leaves.
		if got := st.Mode().Perm(); got&^want != 0 || want == 0o600 && got != want {
			t.Errorf("%s has the mode %v, want %v at most", filepath.Base(name), got, want)
		}
	}
}

func TestCannotWrite(t *testing.T) {
	there := filepath.Join(t.TempDir(), "there")
	if err := os.WriteFile(there, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		file string
		err  error
		want string
	}{
		{"a.svg", &fs.PathError{Err: fs.ErrPermission}, "writing a.svg: permission denied: this folder is read-only for you; choose another file"},
		{there, &fs.PathError{Err: fs.ErrPermission}, "writing " + there + ": permission denied: this file is read-only for you; choose another file"},
		{"b/a.svg", &fs.PathError{Err: fs.ErrNotExist}, "writing b/a.svg: no such folder: b"},
	} {
		folder := filepath.Dir(tt.file)
		if got := CannotWrite(tt.file, folder, tt.err).Error(); got != tt.want {
			t.Errorf("got %s, want %s", got, tt.want)
		}
	}
}
