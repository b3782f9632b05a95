package gocmd

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
)

// Trims reports whether programs name their files without the folders that they are in, so that no folder of this machine is in them.
func (a About) Trims(flags []string) (trims bool) {
	for _, f := range slices.Concat(Fields(a.GOFLAGS), flags) {
		if name, value, _ := strings.Cut(strings.TrimLeft(f, "-"), "="); name == "trimpath" {
			on, err := strconv.ParseBool(value)
			trims = on || err != nil
		}
	}
	return trims
}

// shell runs the script of Naming. All systems that have links without asking for them have it.
const shell = "/bin/sh"

// Naming adds to the flags of go build and go test what makes programs name the files of the standard library as they are in goroot, and not by
// the link to it that Replaceable made, which is gone when somebody reads those names. The compiler writes $GOROOT into such names, and the linker
// what $GOROOT is, so only the linker has to be told. The go command gives it an environment of its own, which -toolexec alone can
// change. A user's own -toolexec stays: it is called by ours.
func (a About) Naming(goroot, work string, flags []string) ([]string, error) {
	if a.GOROOT == goroot || a.Trims(flags) || runtime.GOOS == "windows" {
		return flags, nil
	}
	if _, err := os.Stat(shell); err != nil {
		return flags, nil // names that lead nowhere are better than no recording
	}
	const flag = "toolexec"
	own, rest := "", []string(nil)
	take := func(f string) bool {
		name, value, _ := strings.Cut(strings.TrimLeft(f, "-"), "=")
		if name == flag {
			own = value
		}
		return name == flag
	}
	for _, f := range Fields(a.GOFLAGS) {
		take(f)
	}
	for _, f := range flags {
		if !take(f) {
			rest = append(rest, f)
		}
	}
	script := filepath.Join(work, "tool.sh")
	quoted, err := quotedField(script)
	if err != nil {
		return flags, nil // as above
	}
	tools := filepath.Join(a.GOROOT, "pkg", "tool")
	text := fmt.Sprintf(`for arg; do
	case $arg in
	%[1]s/*/link) GOROOT=%[2]s; export GOROOT; break ;;
	%[1]s/*) break ;;
	esac
done
exec "$@"
`, forShell(tools), forShell(goroot))
	if err := os.WriteFile(script, []byte(text), 0o600); err != nil {
		return nil, err
	}
	return append(rest, strings.TrimSpace("-"+flag+"="+shell+" "+quoted+" "+own)), nil
}

// forShell quotes a word for a shell.
func forShell(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }
