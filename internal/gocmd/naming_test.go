package gocmd

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
)

func TestTrims(t *testing.T) {
	for _, tt := range []struct {
		goflags string
		flags   []string
		want    bool
	}{
		{"", nil, false},
		{"-trimpath", nil, true},
		{"-trimpath", []string{"--trimpath=false"}, false},
		{"", []string{"-race", "-trimpath=1"}, true},
	} {
		if got := (About{GOFLAGS: tt.goflags}).Trims(tt.flags); got != tt.want {
			t.Errorf("GOFLAGS=%s %v: Trims is %v", tt.goflags, tt.flags, got)
		}
	}
}

// Of all tools, the linker alone learns where the toolchain is, also behind a program that a user has between the go command and its tools.
func TestNaming(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("there is no shell")
	}
	work := filepath.Join(t.TempDir(), "it's a folder")
	link, goroot := filepath.Join(work, "goroot"), "/go $1/o'r"
	tools := filepath.Join(link, "pkg", "tool", "linux_amd64")
	if err := os.MkdirAll(tools, 0o755); err != nil {
		t.Fatal(err)
	}
	says := func(dir, name, text string) string {
		file := filepath.Join(dir, name)
		if err := os.WriteFile(file, []byte("#!/bin/sh\n"+text+"\n"), 0o755); err != nil {
			t.Fatal(err)
		}
		return file
	}
	linker := says(tools, "link", `echo "$GOROOT" "$@"`)
	compiler := says(tools, "compile", `echo "$GOROOT" "$@"`)
	between := says(t.TempDir(), "between", `echo before; exec "$@"`)

	for _, tt := range []struct {
		goflags string
		flags   []string
		tool    string
		args    []string
		want    string
	}{
		{"", []string{"-race"}, linker, []string{"-o", "a b"}, goroot + " -o a b\n"},
		{"", []string{"-race"}, compiler, []string{linker}, "inherited " + linker + "\n"},
		{"", []string{"-race", "-toolexec=" + between}, linker, []string{"x"}, "before\n" + goroot + " x\n"},
		{"-toolexec=" + between, []string{"-race"}, linker, []string{"x"}, "before\n" + goroot + " x\n"},
	} {
		flags, err := About{GOROOT: link, GOFLAGS: tt.goflags}.Naming(goroot, work, tt.flags)
		if err != nil || len(flags) != 2 || flags[0] != "-race" {
			t.Fatal(flags, err)
		}
		words := Fields(strings.TrimPrefix(flags[1], "-toolexec=")) // the go command splits it in the same way
		cmd := exec.Command(words[0], slices.Concat(words[1:], []string{tt.tool}, tt.args)...)
		cmd.Env = []string{"GOROOT=inherited"}
		out, err := cmd.CombinedOutput()
		if string(out) != tt.want || err != nil {
			t.Errorf("%s %s: %v\n%s\nwant %s", flags[1], tt.tool, err, out, tt.want)
		}
	}
	for _, tt := range []struct {
		goroot string
		flags  []string
	}{{link, nil}, {goroot, []string{"-trimpath"}}} {
		if flags, err := (About{GOROOT: link}).Naming(tt.goroot, work, tt.flags); err != nil || len(flags) != len(tt.flags) {
			t.Errorf("Naming(%s, %v) = %v, %v; there is nothing to name", tt.goroot, tt.flags, flags, err)
		}
	}
}
