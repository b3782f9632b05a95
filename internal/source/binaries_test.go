package source

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hone-perf/hone/internal/profile"
)

// TestShortBuildID holds that a program is looked for below the first two letters of its build ID also where there is nothing
// after them, and not where there is less. pprof says of each place that it found a file, also if it is the same file.
func TestShortBuildID(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "ab"), 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(self, filepath.Join(dir, "ab", ".debug")); err != nil {
		t.Skip(err)
	}
	for id, places := range map[string]int{"ab": 2, "a": 0} {
		var said []string
		o := &Options{BinaryPath: []string{dir}, Say: func(msg string) { said = append(said, msg) }}
		if file := o.find(&profile.Mapping{BuildID: id}); file != "" {
			t.Errorf("build ID %s: found %s, though nobody can say whether it is the right one", id, file)
		}
		if got := strings.Count(strings.Join(said, "\n"), "build-id mismatch ("+id); got != places {
			t.Errorf("build ID %s is in %d places: %q", id, places, said)
		}
	}
}
