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

// command runs a program in a folder and returns what it prints.
func command(ctx context.Context, dir, name string, args ...string) ([]byte, error) {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir = dir
	cmd.Env = environ(dir)
	var out, wrong bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &wrong
	if err := cmd.Run(); err != nil {
		return out.Bytes(), fmt.Errorf("%s %s: %w\n%s", name, strings.Join(args, " "), err, last(wrong.String()+out.String(), 2000))
	}
	return out.Bytes(), nil
}

// environ is such that the same is compared on each machine: with this Go, and not with one that a module asks for.
func environ(dir string) []string {
	return append(os.Environ(), "GOTOOLCHAIN=local", "GOWORK=off", "PWD="+dir, "GIT_CONFIG_GLOBAL="+os.DevNull, "GIT_CONFIG_NOSYSTEM=1")
}

func last(s string, n int) string { return s[max(0, len(s)-n):] }

// download gets a version of a module through the proxy, into the module cache.
func download(ctx context.Context, dir, module, version string) (string, error) {
	out, err := command(ctx, dir, "go", "mod", "download", "-json", module+"@"+version)
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

// trees gets both versions of a case, in folders that can be written and in which tests build.
func (s *study) trees(ctx context.Context, c caseOf) (before, after string, err error) {
	dir := filepath.Join(s.dir, c.Name)
	if err := os.RemoveAll(dir); err != nil {
		return "", "", err
	}
	get := func(name, version string) (string, error) {
		to := filepath.Join(dir, name)
		if err := os.MkdirAll(to, 0o755); err != nil {
			return "", err
		}
		from, err := download(ctx, dir, c.Module, version)
		if err != nil {
			return "", err
		}
		if err := copyTree(to, from); err != nil {
			return "", err
		}
		return to, builds(ctx, to, c)
	}
	if before, err = get("before", c.Before); err == nil {
		after, err = get("after", c.After)
	}
	return before, after, err
}

// builds makes a module build: with a go.mod, where it is older than those, and with all that its tests need in it.
func builds(ctx context.Context, dir string, c caseOf) error {
	if _, err := os.Stat(filepath.Join(dir, "go.mod")); errors.Is(err, fs.ErrNotExist) {
		if _, err := command(ctx, dir, "go", "mod", "init", c.Module); err != nil {
			return err
		}
	}
	try := func() error {
		_, err := command(ctx, dir, "go", "list", "-deps", "-test", "./...")
		return err
	}
	err := try()
	if err == nil {
		return nil
	}
	if _, wrong := command(ctx, dir, "go", "mod", "tidy", "-e"); wrong != nil {
		return errors.Join(err, wrong)
	}
	return try()
}

// repository makes both versions two commits, and returns its folder.
func (s *study) repository(ctx context.Context, c caseOf) (string, error) {
	before, after, err := s.trees(ctx, c)
	if err != nil {
		return "", err
	}
	dir := filepath.Join(s.dir, c.Name, "repository")
	for i, tree := range []string{before, after} {
		if i == 0 {
			if err := os.Mkdir(dir, 0o755); err != nil {
				return "", err
			}
			if _, err := command(ctx, dir, "git", "init", "-q"); err != nil {
				return "", err
			}
		} else if _, err := command(ctx, dir, "git", "rm", "-rqf", "."); err != nil {
			return "", err
		}
		if err := copyTree(dir, tree); err != nil {
			return "", err
		}
		if _, err := command(ctx, dir, "git", "add", "-Af", "."); err != nil {
			return "", err
		}
		if _, err := command(ctx, dir, "git", "-c", "user.name=study", "-c", "user.email=study@localhost", "commit", "-qm", filepath.Base(tree)); err != nil {
			return "", err
		}
	}
	return dir, nil
}

// witness looks whether a case is one.
func (s *study) witness(ctx context.Context, c caseOf) error {
	before, after, err := s.trees(ctx, c)
	if err != nil {
		return err
	}
	builds := true
	test := func(dir string) (passes bool, err error) {
		args := []string{"test", "-vet=off", "-count=1", "-timeout=2m"}
		if c.Witness != "" {
			args = append(args, "-run="+c.Witness)
		}
		out, err := command(ctx, dir, "go", append(args, "./"+c.Package)...)
		switch {
		case err == nil && bytes.Contains(out, []byte("[no tests to run]")):
			return false, fmt.Errorf("no test matches %s", c.Witness)
		case err != nil && !bytes.Contains(out, []byte("--- FAIL")) && !bytes.Contains(out, []byte("panic: ")):
			builds = false
			return false, err
		}
		return err == nil, nil
	}
	if c.Kind == changed {
		if c.Add == "" {
			err = takeTests(filepath.Join(before, c.Package), filepath.Join(after, c.Package))
		} else {
			for _, dir := range []string{before, after} {
				if err == nil {
					err = os.WriteFile(filepath.Join(dir, c.Package, "hone_study_test.go"), []byte(c.Add), 0o644)
				}
			}
		}
		if err != nil {
			return err
		}
		if passes, err := test(after); err != nil || !passes {
			return errors.Join(err, fmt.Errorf("%s fails in the version after", c.Witness))
		}
		if passes, err := test(before); err != nil || passes {
			return errors.Join(err, fmt.Errorf("%s passes in the version before", c.Witness))
		}
		return nil
	}
	// The tests of before go to a third folder first, as those of after take their place.
	own := filepath.Join(s.dir, c.Name, "tests")
	if err := copyTree(own, before); err != nil {
		return err
	}
	for _, t := range []struct{ code, tests string }{{before, after}, {after, own}} {
		if err := takeTests(filepath.Join(t.code, c.Package), filepath.Join(t.tests, c.Package)); err != nil {
			return err
		}
		passes, err := test(t.code)
		if !builds && t.code == before {
			continue // as these tests are also about what was added
		}
		if err != nil || !passes {
			return errors.Join(err, errors.New("the tests of the other version fail in "+filepath.Base(t.code)))
		}
	}
	return nil
}

// takeTests puts the test files of one folder, and their data, in place of those of another.
func takeTests(to, from string) error {
	remove := func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() && path != to {
			return filepath.SkipDir
		}
		if err == nil && strings.HasSuffix(path, "_test.go") {
			return os.Remove(path)
		}
		return err
	}
	if err := filepath.WalkDir(to, remove); err != nil {
		return err
	}
	list, err := os.ReadDir(from)
	if err != nil {
		return err
	}
	for _, e := range list {
		at, name := filepath.Join(to, e.Name()), filepath.Join(from, e.Name())
		switch {
		case e.IsDir() && e.Name() == "testdata":
			if err := copyTree(at, name); err != nil {
				return err
			}
		case strings.HasSuffix(name, "_test.go"):
			text, err := os.ReadFile(name)
			if err == nil {
				err = os.WriteFile(at, text, 0o644)
			}
			if err != nil {
				return err
			}
		}
	}
	return nil
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
		return os.WriteFile(at, text, 0o644)
	})
}
