package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/hone-perf/hone/internal/profile/profiletest"
)

// An input is a profile to make.
type input struct {
	path   string
	config profiletest.Config
}

// newInput returns the input for c in a folder. Its name says all of c that inputs differ in. All are runs of one
// program, as large as Functions says.
func newInput(dir string, c profiletest.Config) input {
	c.Seed = 1
	name := c.Kind.String() + "-" + formatSize(c.Samples)
	if c.Functions > 0 {
		name += fmt.Sprintf("-of-%d-functions", c.Functions)
	}
	if c.TablesLast {
		name += "-tables-last"
	}
	if c.Run > 0 {
		name += fmt.Sprintf("-run%d", c.Run)
	}
	return input{filepath.Join(dir, name+".pb.gz"), c}
}

// make makes the profile unless it is there already.
func (in input) make(ctx context.Context, self string) error {
	if _, err := os.Stat(in.path); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	config, err := json.Marshal(in.config)
	if err != nil {
		return err
	}
	_, err = output(ctx, "", self, "generate", string(config), in.path)
	return err
}

// generate is the command that makes a profile: its arguments are a Config in JSON and the file to write.
func generate(args []string) (err error) {
	if len(args) != 2 {
		return fmt.Errorf("generate: %d arguments, want a configuration and a file", len(args))
	}
	var c profiletest.Config
	if err := json.Unmarshal([]byte(args[0]), &c); err != nil {
		return fmt.Errorf("generate: reading the configuration: %w", err)
	}
	// Under another name first, so that nobody ever takes half a profile for a whole one.
	f, err := os.CreateTemp(filepath.Dir(args[1]), filepath.Base(args[1])+".*")
	if err != nil {
		return err
	}
	err = errors.Join(profiletest.Write(f, c), f.Close())
	if err == nil {
		err = os.Rename(f.Name(), args[1])
	}
	if err != nil {
		return errors.Join(err, os.Remove(f.Name()))
	}
	return nil
}

// parseSize parses a number of samples such as 500k or 2M.
func parseSize(s string) (int, error) {
	digits, unit := s, 1
	if d, ok := strings.CutSuffix(s, "k"); ok {
		digits, unit = d, 1000
	} else if d, ok := strings.CutSuffix(s, "M"); ok {
		digits, unit = d, 1000_000
	}
	n, err := strconv.Atoi(digits)
	if err != nil || n < 1 || n > 1000_000_000/unit {
		return 0, fmt.Errorf("%q is not a number of samples such as 500k or 2M", s)
	}
	return n * unit, nil
}

func formatSize(n int) string {
	switch {
	case n >= 1000_000 && n%1000_000 == 0:
		return strconv.Itoa(n/1000_000) + "M"
	case n >= 1000 && n%1000 == 0:
		return strconv.Itoa(n/1000) + "k"
	}
	return strconv.Itoa(n)
}
