package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/hone-perf/hone/tools/study"
)

// trees gets both versions of a case, in folders that can be written and in which tests build.
func (s *proving) trees(ctx context.Context, c caseOf) (before, after string, err error) {
	dir := filepath.Join(s.Dir, c.Name)
	if err := os.RemoveAll(dir); err != nil {
		return "", "", err
	}
	get := func(name, version string) (string, error) {
		to := filepath.Join(dir, name)
		if err := study.Fetch(ctx, to, c.Module, version); err != nil {
			return "", err
		}
		return to, study.MakeBuild(ctx, to, c.Module, "list", "-deps", "-test", "./...")
	}
	if before, err = get("before", c.Before); err == nil {
		after, err = get("after", c.After)
	}
	return before, after, err
}

// repository makes both versions two commits, and returns its folder.
func (s *proving) repository(ctx context.Context, c caseOf) (string, error) {
	before, after, err := s.trees(ctx, c)
	if err != nil {
		return "", err
	}
	dir := filepath.Join(s.Dir, c.Name, "repository")
	for i, tree := range []string{before, after} {
		if i == 0 {
			if err := os.Mkdir(dir, 0o755); err != nil {
				return "", err
			}
			if _, err := study.Command(ctx, dir, "git", "init", "-q"); err != nil {
				return "", err
			}
		} else if _, err := study.Command(ctx, dir, "git", "rm", "-rqf", "."); err != nil {
			return "", err
		}
		if err := study.CopyTree(dir, tree); err != nil {
			return "", err
		}
		if _, err := study.Command(ctx, dir, "git", "add", "-Af", "."); err != nil {
			return "", err
		}
		if _, err := study.Command(ctx, dir, "git", "-c", "user.name=study", "-c", "user.email=study@localhost", "commit", "-qm", filepath.Base(tree)); err != nil {
			return "", err
		}
	}
	return dir, nil
}

// witness looks whether a case is one.
func (s *proving) witness(ctx context.Context, c caseOf) error {
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
		out, err := study.Command(ctx, dir, "go", append(args, "./"+c.Package)...)
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
	own := filepath.Join(s.Dir, c.Name, "tests")
	if err := study.CopyTree(own, before); err != nil {
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
			if err := study.CopyTree(at, name); err != nil {
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
