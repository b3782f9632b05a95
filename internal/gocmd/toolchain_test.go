package gocmd

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/hone-perf/hone/internal/testrun"
)

// TestRefused holds that what the go command says is put into one line, and that a module for a newer Go is told apart.
func TestRefused(t *testing.T) {
	for _, tt := range []struct{ output, want string }{
		{"flag provided but not defined: -pgoo\nusage: go build\nRun 'go help build'\n", "flag provided but not defined: -pgoo"},
		{"go: downloading go1.26.5 (linux/amd64)\ngo: unknown GOEXPERIMENT such\n", "unknown GOEXPERIMENT such"},
		{"go: go.mod requires go >= 1.26 (running go 1.22.12; GOTOOLCHAIN=go1.22.12)\n", "go1.22.12 is too old for this module: go.mod asks for go 1.26"},
		{"go: module ../lib listed in go.work file requires go >= 1.27.1, but go.work lists go 1.26\n", "go1.22.12 is too old for this module: ../lib listed in go.work file asks for go 1.27.1"},
	} {
		if got := Refused(&Error{"go build", tt.output}, "go1.22.12"); got.Error() != tt.want {
			t.Errorf("%q is refused with %q; want %q", tt.output, got, tt.want)
		}
	}
	if other := errors.New("no go command"); !errors.Is(Refused(other, ""), other) {
		t.Error("another error is not kept")
	}
}

// TestUsing holds how a go command is named: by its path, that of its GOROOT, or local.
func TestUsing(t *testing.T) {
	about, err := Command{}.About(t.Context())
	if err != nil {
		testrun.Missing(t, "there is no go command: %v", err)
	}
	for _, name := range []string{"local", filepath.Join(about.GOROOT, "bin", "go"), about.GOROOT} {
		_, got, err := Command{Dir: t.TempDir(), Env: append(os.Environ(), "GOTOOLCHAIN=local")}.Using(t.Context(), name)
		if err != nil || got == "" {
			t.Errorf("%s is %q, %v", name, got, err)
		}
	}
	for name, want := range map[string]string{
		"./nosuch":   "./nosuch: no such file",
		".":          ".: it is a folder without bin/go",
		"nosuch-go":  "nosuch-go: it is neither a version of Go nor a command",
		"1.x":        "1.x: it is neither a version of Go nor a command",
		"./README":   "./README: no such file",
		"go1.27.3.1": "go1.27.3.1: it is neither a version of Go nor a command",
	} {
		_, _, err := Command{Dir: t.TempDir()}.Using(t.Context(), name)
		if err == nil || err.Error() != want {
			t.Errorf("%s: %v; want %s", name, err, want)
		}
	}
}
