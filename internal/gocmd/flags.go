package gocmd

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/hone-perf/hone/internal/git"
)

// WithFlags returns a command that gives the flags of a build to all that the go command builds, lists and tests, behind those in GOFLAGS,
// and to all that runs it with this environment; and what the go command says about itself then. Files that flags name are looked for in the
// folder of the command, wherever it runs.
func (c Command) WithFlags(ctx context.Context, flags []string) (Command, About, error) {
	about, err := c.About(ctx)
	if err != nil {
		return c, about, err
	}
	dir, err := filepath.Abs(c.Dir)
	if err != nil {
		return c, about, err
	}
	all := Fields(about.GOFLAGS)
	before := len(all)
	all = append(all, flags...)
	moved := false
	for i, f := range all {
		all[i] = FromFolder(f, dir)
		moved = moved || all[i] != f
	}
	if len(all) == before && !moved {
		c.Env = git.Unbound(c.Env)
		return c, about, nil
	}
	for i, f := range all {
		if all[i], err = quotedField(f); err != nil {
			return c, about, err
		}
	}
	about.GOFLAGS = strings.Join(all, " ")
	c.Env = append(git.Unbound(c.Env), "GOFLAGS="+about.GOFLAGS)
	return c, about, nil
}

// Loading returns an environment and the flags in its GOFLAGS apart, for packages.Load: that asks the go command for its version with
// modules off, and then -modfile in GOFLAGS is an error. nil stands for the environment of this process.
func Loading(env []string) (without, flags []string) {
	for _, v := range Environ(env) {
		if goflags, ok := strings.CutPrefix(v, "GOFLAGS="); ok {
			flags = Fields(goflags) // the last one counts
			continue
		}
		without = append(without, v)
	}
	return without, flags
}

// FromFolder makes the name of a file that a flag has one that holds in every folder.
func FromFolder(flag, dir string) string {
	name, value, _ := strings.Cut(flag, "=")
	switch strings.TrimLeft(name, "-") {
	case "overlay", "modfile":
	case "pgo":
		if value == "auto" || value == "off" {
			return flag
		}
	default:
		return flag
	}
	if value == "" || filepath.IsAbs(value) {
		return flag
	}
	return name + "=" + filepath.Join(dir, value)
}

// quotedField writes a word of GOFLAGS, which has no way to write both kinds of quotes.
func quotedField(s string) (string, error) {
	if s != "" && !strings.ContainsAny(s, " \t\n\r") && s[0] != '\'' && s[0] != '"' {
		return s, nil
	}
	for _, q := range []string{"'", `"`} {
		if !strings.Contains(s, q) {
			return q + s + q, nil
		}
	}
	return "", fmt.Errorf("%s: GOFLAGS cannot hold a flag with a space and both kinds of quotes", s)
}

// Names reports which of the flags that are named reach a command, by itself or in GOFLAGS; "" is none.
func (a About) Names(names ...string) string {
	for _, f := range Fields(a.GOFLAGS) {
		name, _, _ := strings.Cut(strings.TrimLeft(f, "-"), "=")
		if slices.Contains(names, name) {
			return "-" + name
		}
	}
	return ""
}

// ModFile returns the file that is the go.mod of a build, which a flag may name; "" is none.
func (a About) ModFile() string {
	file := a.GOMOD
	for _, f := range Fields(a.GOFLAGS) {
		if name, value, _ := strings.Cut(strings.TrimLeft(f, "-"), "="); name == "modfile" && value != "" {
			file = value
		}
	}
	return file
}

// WithoutDWARF returns flags with which a program is linked without DWARF, and as GOFLAGS says besides. A third of the time of the linker goes
// into that, and stack traces, profiles and coverage need none.
func (a About) WithoutDWARF() []string {
	_, _, ldflags := SplitFlags(a.GOFLAGS, nil)
	ldflags = strings.TrimSpace(ldflags)
	if ldflags != "" && ldflags[0] != '-' {
		return nil // it is for packages that a pattern names, and would no longer apply
	}
	return []string{"-ldflags=" + strings.TrimSpace("-w "+ldflags)}
}

// OwnOverlay returns the overlay that GOFLAGS names for builds in a folder, with whole names; it is empty when there is none.
func (a About) OwnOverlay(dir string) (Overlay, error) {
	out := Overlay{}
	_, file, _ := SplitFlags(a.GOFLAGS, nil)
	if file == "" {
		return out, nil
	}
	own, err := ReadOverlay(dir, file)
	whole := func(name string) string {
		if name == "" || filepath.IsAbs(name) {
			return name
		}
		return filepath.Join(dir, name)
	}
	for name, by := range own {
		out[whole(name)] = whole(by)
	}
	return out, err
}
