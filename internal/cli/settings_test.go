package cli

import (
	"slices"
	"testing"

	"github.com/spf13/cobra"
)

// TestCommandLinesAreKeptWithoutSecrets holds that a recording keeps the command line of a comparison, but not values that look like secrets.
func TestCommandLinesAreKeptWithoutSecrets(t *testing.T) {
	got := passable([]string{"compare", "--new-env", "TOKEN=abc", "--old-env=GOGC=200", "--new-flags", "-ldflags=-X main.k=abc", "--old-flags=-X a.b=c", "./...", "--new-env"})
	want := []string{"compare", "--new-env", "TOKEN=…", "--old-env=GOGC=200", "--new-flags", "-ldflags=-X main.k=…", "--old-flags=-X a.b=…", "./...", "--new-env"}
	if !slices.Equal(got, want) {
		t.Errorf("passable gives %q; want %q", got, want)
	}
}

// TestSideFlags holds that go build flags in --old-flags and --new-flags apply to one side, and other build flags to both.
func TestSideFlags(t *testing.T) {
	var f settingFlags
	cmd := &cobra.Command{}
	f.add(cmd.Flags())
	own, build, test, err := splitGoFlags(cmd, []string{"--old-flags", "-pgo=off", "-tags=x", "--new-flags=-race", "-bench=.", "./..."})
	if err != nil {
		t.Error(err)
	}
	if want := []string{"--old-flags", "-pgo=off", "--new-flags=-race", "./..."}; !slices.Equal(own, want) {
		t.Errorf("flags of hone: %q; want %q", own, want)
	}
	if !slices.Equal(build, []string{"-tags=x"}) || !slices.Equal(test, []string{"-test.bench=."}) {
		t.Errorf("flags of go build: %q, of go test: %q", build, test)
	}
}
