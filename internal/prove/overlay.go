package prove

import (
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/hone-perf/hone/internal/gocmd"
)

// VetWith returns the first thing that go vet says of packages with an overlay and does not say without, or "".
func VetWith(ctx context.Context, in gocmd.Command, overlay string, packages ...string) (string, error) {
	said, err := newComplaints(ctx, in, in, packages, append([]string{"-overlay=" + overlay}, packages...))
	if err != nil || len(said) == 0 {
		return "", err
	}
	return said[0], nil
}

// TestsWith returns a test of packages that fails with an overlay and does not fail without, and what it says, or "".
func TestsWith(ctx context.Context, in gocmd.Command, overlay string, flags []string, packages ...string) (string, error) {
	after, err := runTests(ctx, in, packages, false, overlay, flags...)
	if err != nil || !after.fails() {
		return "", err
	}
	before, err := runTests(ctx, in, packages, false, "", flags...)
	if err != nil {
		return "", err
	}
	if after.broken != "" && before.broken == "" {
		return after.broken, nil
	}
	for _, name := range slices.Sorted(maps.Keys(after.tests)) {
		if now := after.tests[name]; now.failed && !before.tests[name].failed {
			return name + ": " + strings.TrimSpace(now.text), nil
		}
	}
	return "", nil
}

func (s *suite) fails() bool {
	if s.broken != "" {
		return true
	}
	for _, o := range s.tests {
		if o.failed {
			return true
		}
	}
	return false
}
