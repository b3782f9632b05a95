package main

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
)

// goCommand runs the go command in a folder and returns what it prints.
func goCommand(ctx context.Context, dir string, args ...string) ([]byte, error) {
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Dir = dir
	// What is measured is the code with this Go, and not with one that a module asks for.
	cmd.Env = append(os.Environ(), "GOTOOLCHAIN=local", "GOWORK=off", "PWD="+dir)
	var out, wrong bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &wrong
	if err := cmd.Run(); err != nil {
		return out.Bytes(), fmt.Errorf("go %s: %w\n%s", strings.Join(args, " "), err, last(wrong.String()+out.String(), 2000))
	}
	return out.Bytes(), nil
}

func last(s string, n int) string { return s[max(0, len(s)-n):] }

// fetch gets a version of a module through the proxy, into the module cache.
func fetch(ctx context.Context, dir, module, version string) (string, error) {
	out, err := goCommand(ctx, dir, "mod", "download", "-json", module+"@"+version)
	if err != nil {
		return "", err
	}
	var got struct{ Dir, Error string }
	if err := json.Unmarshal(out, &got); err != nil {
		return "", fmt.Errorf("what go mod download says: %w", err)
	}
	if got.Error != "" {
		return "", errors.New(got.Error)
	}
	return got.Dir, nil
}

// trees are both versions of a case, in folders that can be written.
type trees struct {
	dir           string // of the case
	before, after string // after is "" in a tuned package
}

// fetch gets both versions of a case, with the same benchmark.
func (s *study) fetch(ctx context.Context, c caseOf) (*trees, error) {
	t := &trees{dir: filepath.Join(s.dir, c.Name)}
	if err := os.RemoveAll(t.dir); err != nil {
		return nil, err
	}
	if err := os.MkdirAll(t.dir, 0o755); err != nil {
		return nil, err
	}
	get := func(name, version string) (string, error) {
		from, err := fetch(ctx, t.dir, c.Module, version)
		if err != nil {
			return "", err
		}
		to := filepath.Join(t.dir, name)
		if err := copyTree(to, from); err != nil {
			return "", err
		}
		if c.Add != "" {
			if err := os.WriteFile(filepath.Join(to, filepath.FromSlash(c.Package), "hone_study_test.go"), []byte(c.Add), 0o644); err != nil {
				return "", err
			}
		}
		return to, nil
	}
	var err error
	if c.After != "" {
		if t.after, err = get("after", c.After); err != nil {
			return nil, err
		}
	}
	if t.before, err = get("before", c.Before); err != nil {
		return nil, err
	}
	for _, name := range c.Tests {
		name = filepath.Join(filepath.FromSlash(c.Package), name)
		text, err := os.ReadFile(filepath.Join(t.after, name))
		if err == nil {
			err = os.WriteFile(filepath.Join(t.before, name), text, 0o644)
		}
		if err != nil {
			return nil, err
		}
	}
	for _, dir := range []string{t.before, t.after} {
		if dir == "" {
			continue
		}
		if err := builds(ctx, dir, c); err != nil {
			return nil, err
		}
	}
	return t, nil
}

// builds makes the tests of a package build: with a go.mod, where the module is older than those, and with all that they need in it.
func builds(ctx context.Context, dir string, c caseOf) error {
	if _, err := os.Stat(filepath.Join(dir, "go.mod")); errors.Is(err, fs.ErrNotExist) {
		if _, err := goCommand(ctx, dir, "mod", "init", c.Module); err != nil {
			return err
		}
	}
	try := func() error {
		_, err := goCommand(ctx, dir, "test", "-vet=off", "-count=1", "-run=^$", "./"+c.Package)
		return err
	}
	err := try()
	if err == nil {
		return nil
	}
	if _, wrong := goCommand(ctx, dir, "mod", "tidy", "-e"); wrong != nil {
		return errors.Join(err, wrong)
	}
	return try()
}

// copyTree copies a folder of the module cache, so that it can be written.
func copyTree(to, from string) error {
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
