package main

import (
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// Bounds of what packages of hone may allocate before main begins: one, and all of them. On 2026-11-28 they took at most 3 kB and 31 kB.
const (
	mostOfPackage = 8 << 10
	mostOfStart   = 48 << 10
)

// TestStart holds that every command starts fast. What package variables hold is made at each start, also of commands that never use it:
// a table of constants is free, a map takes time and memory for each entry, and a regular expression takes 10 to 50 µs. A large one belongs into
// sync.OnceValue or a switch.
func TestStart(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), self, "version")
	cmd.Env = append(os.Environ(), "HONE_TEST_EXEC=1", "GODEBUG=inittrace=1")
	var stderr strings.Builder
	cmd.Stderr = &stderr
	if err := cmd.Run(); err != nil {
		t.Fatalf("hone version: %v\n%s", err, stderr.String())
	}
	packages, sum := 0, 0
	for _, m := range regexp.MustCompile(`(?m)^init (github\.com/hone-perf/hone/\S+) .* (\d+) bytes, \d+ allocs$`).FindAllStringSubmatch(stderr.String(), -1) {
		if strings.HasSuffix(m[1], "test") {
			continue // such as profiletest, which only this program has
		}
		n, _ := strconv.Atoi(m[2])
		packages++
		sum += n
		if n > mostOfPackage {
			t.Errorf("%s allocates %d bytes at each start, want %d at most", m[1], n, mostOfPackage)
		}
	}
	t.Logf("%d packages allocate %d bytes", packages, sum)
	if packages == 0 {
		t.Errorf("GODEBUG=inittrace=1 names no package of hone:\n%s", stderr.String())
	}
	if sum > mostOfStart {
		t.Errorf("packages of hone allocate %d bytes at each start, want %d at most", sum, mostOfStart)
	}
}
