package study

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"golang.org/x/mod/modfile"
)

// Command runs a program in a folder and returns what it prints.
func Command(ctx context.Context, dir, name string, args ...string) ([]byte, error) {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir = dir
	cmd.Env = Environ(dir)
	var out, wrong bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &wrong
	if err := cmd.Run(); err != nil {
		return out.Bytes(), fmt.Errorf("%s %s: %w\n%s", name, strings.Join(args, " "), err, Last(wrong.String()+out.String(), 2000))
	}
	return out.Bytes(), nil
}

// Environ is such that the same is measured on each machine: with this Go, and not with one that a module asks for.
func Environ(dir string) []string {
	return append(os.Environ(), "GOTOOLCHAIN=local", "GOWORK=off", "PWD="+dir, "GIT_CONFIG_GLOBAL="+os.DevNull, "GIT_CONFIG_NOSYSTEM=1")
}

// Last is the end of a text.
func Last(s string, n int) string { return s[max(0, len(s)-n):] }

// Fetch gets a version of a module through the Go module proxy, in a folder that can be written.
func Fetch(ctx context.Context, to, module, version string) error {
	if err := os.MkdirAll(to, 0o755); err != nil {
		return err
	}
	out, err := Command(ctx, filepath.Dir(to), "go", "mod", "download", "-json", module+"@"+version)
	if err != nil {
		return err
	}
	var got struct{ Dir, Error string }
	if err := json.Unmarshal(out, &got); err != nil {
		return fmt.Errorf("what go mod download says: %w", err)
	}
	if got.Error != "" {
		return errors.New(got.Error)
	}
	if err := CopyTree(to, got.Dir); err != nil {
		return err
	}
	// The proxy leaves out vendored packages, but not the list of them, which the go command then wants.
	return os.RemoveAll(filepath.Join(to, "vendor"))
}

// MakeBuild makes a module build: with a go.mod, where it is older than those, and with all that its tests need in it. try is the
// arguments of the go command that say whether it does.
func MakeBuild(ctx context.Context, dir, module string, try ...string) error {
	if _, err := os.Stat(filepath.Join(dir, "go.mod")); errors.Is(err, fs.ErrNotExist) {
		if _, err := Command(ctx, dir, "go", "mod", "init", module); err != nil {
			return err
		}
	}
	if err := dropMissing(dir); err != nil {
		return err
	}
	_, err := Command(ctx, dir, "go", try...)
	if err == nil {
		return nil
	}
	if _, wrong := Command(ctx, dir, "go", "mod", "tidy", "-e"); wrong != nil {
		return errors.Join(err, wrong)
	}
	_, err = Command(ctx, dir, "go", try...)
	return err
}

// dropMissing leaves out what go.mod replaces by folders that are not there: other modules of the same repository, which the module proxy has at
// the version that go.mod requires.
func dropMissing(dir string) error {
	name := filepath.Join(dir, "go.mod")
	text, err := os.ReadFile(name)
	if err != nil {
		return err
	}
	f, err := modfile.Parse(name, text, nil)
	if err != nil {
		return err
	}
	changed := false
	for _, r := range f.Replace {
		if r.New.Version != "" {
			continue
		}
		at := filepath.FromSlash(r.New.Path)
		if !filepath.IsAbs(at) {
			at = filepath.Join(dir, at)
		}
		if _, err := os.Stat(filepath.Join(at, "go.mod")); err == nil {
			continue
		}
		changed = true
		if err := f.DropReplace(r.Old.Path, r.Old.Version); err != nil {
			return err
		}
	}
	if !changed {
		return nil
	}
	f.Cleanup()
	if text, err = f.Format(); err != nil {
		return err
	}
	return os.WriteFile(name, text, 0o644)
}

// CopyTree copies a folder of the module cache, so that it can be written.
func CopyTree(to, from string) error {
	return filepath.WalkDir(from, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(from, path)
		if err != nil {
			return err
		}
		at := filepath.Join(to, rel)
		if d.IsDir() {
			return os.MkdirAll(at, 0o755)
		}
		if !d.Type().IsRegular() {
			return nil
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		mode := fs.FileMode(0o644)
		if st, err := d.Info(); err == nil && st.Mode()&0o111 != 0 {
			mode = 0o755
		}
		return os.WriteFile(at, text, mode)
	})
}
