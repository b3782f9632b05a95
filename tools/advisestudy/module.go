package main

import (
	"context"
	"os"
	"path/filepath"

	"github.com/hone-perf/hone/tools/study"
)

// trees are both versions of a case, in folders that can be written.
type trees struct {
	dir           string // of the case
	before, after string // after is "" in a tuned package
}

// fetch gets both versions of a case, with the same benchmark. The version after is made to build only if it is to run.
func (s *advising) fetch(ctx context.Context, c caseOf, both bool) (*trees, error) {
	t := &trees{dir: filepath.Join(s.Dir, c.Name)}
	if err := os.RemoveAll(t.dir); err != nil {
		return nil, err
	}
	if err := os.MkdirAll(t.dir, 0o755); err != nil {
		return nil, err
	}
	get := func(name, version string) (string, error) {
		to := filepath.Join(t.dir, name)
		if err := study.Fetch(ctx, to, c.Module, version); err != nil {
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
		if dir == "" || dir == t.after && !both {
			continue
		}
		if err := study.MakeBuild(ctx, dir, c.Module, "test", "-vet=off", "-count=1", "-run=^$", "./"+c.Package); err != nil {
			return nil, err
		}
	}
	return t, nil
}
