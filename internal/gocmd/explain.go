package gocmd

import (
	"bytes"
	"context"
	"os"
	"strings"

	"github.com/hone-perf/hone/internal/escape"
	"github.com/hone-perf/hone/internal/scratch"
)

// Explain builds packages, keeps nothing of that, and returns what the compiler says about their code. With tests there is one
// package, and its tests are built with it. It takes as long as compiling the packages: nothing comes from the cache.
func (c Command) Explain(ctx context.Context, tests bool, flags []string, patterns ...string) (*escape.Log, error) {
	dir, err := scratch.Dir("work-") // the compiler says nothing into a folder that it was told before
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	rest, own := takeGcflags(flags)
	asked := strings.TrimSpace(own + " -m '-json=0," + dir + "'")
	args := []string{"build"}
	if tests {
		args = []string{"test", "-c"}
	}
	args = append(args, "-gcflags="+asked, "-o", os.DevNull)
	args = append(args, rest...)
	// Names of files are to be those of this machine.
	args = append(append(args, "-trimpath=false"), patterns...)
	said, err := c.Said(ctx, args...)
	if err != nil {
		return nil, err
	}
	log, err := escape.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	base := c.Dir
	if base == "" {
		if base, err = os.Getwd(); err != nil {
			return nil, err
		}
	}
	text, err := escape.ReadText(bytes.NewReader(said), base)
	if err != nil {
		return nil, err
	}
	return escape.Merge(log, text), nil
}

// takeGcflags takes out the flags for the compiler, as far as they are for the packages that are named.
func takeGcflags(flags []string) (rest []string, gcflags string) {
	for _, f := range flags {
		value, ok := strings.CutPrefix(strings.TrimPrefix(f, "-"), "-gcflags=")
		if !ok {
			value, ok = strings.CutPrefix(f, "-gcflags=")
		}
		if ok && strings.HasPrefix(value, "-") {
			gcflags = value
			continue
		}
		rest = append(rest, f)
	}
	return rest, gcflags
}
