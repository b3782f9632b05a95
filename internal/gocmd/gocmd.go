// Package gocmd runs the go command: a Command runs it in a folder, with an overlay that replaces files if there is one.
package gocmd

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"time"

	"github.com/hone-perf/hone/internal/git"
	"github.com/hone-perf/hone/internal/scratch"
)

// A Command runs the go command. The zero Command does it in the current folder.
type Command struct {
	Dir  string   // "" is the current folder
	Env  []string // nil is that of this process
	Tool string   // the go command; "" is go

	link, root string // the installation by another name, if there is one: see Replaceable
}

// Is reports whether a program is the go command, of whatever version.
func Is(program string) bool { return names().MatchString(filepath.Base(program)) }

var names = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^go([1-9][0-9.]*((rc|beta)[0-9]+)?)?(\.exe)?$`) })

// Environ returns an environment for the go command: it asks git about the folder that it builds in, so it must not be tied to another
// repository, it must not print what GODEBUG asks for, and its temporary folders go to that of this process, which the next one removes when this one is killed. nil stands for the
// environment of this process.
func Environ(env []string) []string {
	env = untraced(git.Unbound(env))
	if temp, err := scratch.Own(); err == nil {
		env = append(env, scratch.Variable+"="+temp)
	}
	return env
}

// An Error reports that the go command failed, with what it printed.
type Error struct {
	Doing  string // go build ./cmd/app
	Output string
}

func (e *Error) Error() string {
	return fmt.Sprintf("%s:\n%s", e.Doing, strings.TrimSpace(e.Output))
}

// waitDelay is how long the go command has to come to an end when it was interrupted.
const waitDelay = 5 * time.Second

// Interrupted makes the end of its context interrupt a command instead of killing it, so that the go command can wait for the compilers that
// run and remove its temporary folders. It is killed when it has not ended some seconds later.
func Interrupted(cmd *exec.Cmd) {
	cmd.WaitDelay = waitDelay
	cmd.Cancel = func() error {
		if cmd.Process.Signal(os.Interrupt) != nil {
			return cmd.Process.Kill() // systems without such a signal
		}
		return nil
	}
}

// Shown returns what the go command said with the usual name of its installation, in place of the one that Replaceable gave it for a while.
func (c Command) Shown(text string) string {
	if c.link == "" {
		return text
	}
	return strings.ReplaceAll(text, c.link, c.root)
}

// Run runs the go command and returns what it prints. When it fails, the error is an Error.
func (c Command) Run(ctx context.Context, args ...string) ([]byte, error) {
	stdout, _, err := c.run(ctx, args)
	return stdout, err
}

// Said runs the go command and returns what it says besides, such as what the compiler does when it is asked for that.
func (c Command) Said(ctx context.Context, args ...string) ([]byte, error) {
	_, stderr, err := c.run(ctx, args)
	return stderr, err
}

func (c Command) run(ctx context.Context, args []string) (out, said []byte, err error) {
	cmd := exec.CommandContext(ctx, cmp.Or(c.Tool, "go"), args...)
	cmd.Dir, cmd.Env = c.Dir, c.Env
	cmd.Env = Environ(cmd.Environ())
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	Interrupted(cmd)
	err = cmd.Run()
	var exit *exec.ExitError
	switch {
	case errors.Is(err, exec.ErrNotFound):
		return nil, nil, fmt.Errorf("the go command cannot be run: %w", err)
	case ctx.Err() != nil:
		return nil, nil, ctx.Err()
	case errors.As(err, &exit):
		if homeless := Homeless(c.Dir, stderr.String()); homeless != nil {
			return nil, nil, homeless
		}
		return nil, nil, &Error{"go " + strings.Join(args, " "), cmp.Or(c.Shown(stderr.String()), exit.Error())}
	}
	return stdout.Bytes(), stderr.Bytes(), err
}

// About is what the go command says about itself.
type About struct {
	GOROOT, GOMODCACHE, GOVERSION, GOFLAGS, GOEXPERIMENT, GOOS, GOARCH, GOMOD, GOWORK, CGO_ENABLED string
}

// About asks the go command about itself.
func (c Command) About(ctx context.Context) (About, error) {
	var a About
	out, err := c.Run(ctx, "env", "-json", "GOROOT", "GOMODCACHE", "GOVERSION", "GOFLAGS", "GOEXPERIMENT", "GOOS", "GOARCH", "GOMOD", "GOWORK", "CGO_ENABLED")
	if err != nil {
		return a, err
	}
	if err := json.Unmarshal(out, &a); err != nil {
		return a, fmt.Errorf("reading what go env says: %w", err)
	}
	return a, nil
}

// Replaceable returns a command that lets an overlay replace files of its standard library, and what it says about itself.
// A toolchain that the go command got by itself is in the module cache, where it lets nothing be replaced: that one is
// called by another name, in a folder that may be thrown away.
func (c Command) Replaceable(about About, work string) (Command, About, error) {
	env := c.Env
	if env == nil {
		env = os.Environ()
	}
	env = env[:len(env):len(env)]
	if about.GOMODCACHE == "" { // without a home there is none, and the go command takes all files for files in it
		c.Env = append(env, "GOMODCACHE="+filepath.Join(work, "modules"))
		return c, about, nil
	}
	rel, err := filepath.Rel(about.GOMODCACHE, about.GOROOT)
	if err != nil || !filepath.IsLocal(rel) {
		return c, about, nil
	}
	link := filepath.Join(work, "goroot")
	if err := os.Symlink(about.GOROOT, link); err != nil {
		return c, about, fmt.Errorf("%s is a toolchain in the module cache, where no file may be replaced, and hone cannot link to it: %w; install Go itself, or set GOTOOLCHAIN=local", about.GOVERSION, err)
	}
	c.link, c.root = link, about.GOROOT
	c.Env = append(env, "GOROOT="+link, "GOTOOLCHAIN=local")
	c.Tool = filepath.Join(link, "bin", "go")
	about.GOROOT = link
	return c, about, nil
}

// SplitFlags takes the overlay and the flags of the linker out of those for the go command. Others in GOFLAGS reach it
// by themselves.
func SplitFlags(goflags string, flags []string) (rest []string, overlay, ldflags string) {
	take := func(f string) bool {
		name, value, _ := strings.Cut(strings.TrimPrefix(strings.TrimPrefix(f, "-"), "-"), "=")
		switch name {
		case "overlay":
			overlay = value
		case "ldflags":
			ldflags = value
		default:
			return false
		}
		return true
	}
	for _, f := range Fields(goflags) {
		take(f)
	}
	for _, f := range flags {
		if !take(f) {
			rest = append(rest, f)
		}
	}
	return rest, overlay, ldflags
}

// Fields splits as the go command does with GOFLAGS: at blanks, but not between quotes around a whole word.
func Fields(s string) []string {
	var out []string
	for {
		s = strings.TrimLeft(s, " \t\n\r")
		if s == "" {
			return out
		}
		if q := s[:1]; q == `"` || q == "'" {
			word, rest, _ := strings.Cut(s[1:], q)
			out, s = append(out, word), rest
			continue
		}
		i := strings.IndexAny(s, " \t\n\r")
		if i < 0 {
			i = len(s)
		}
		out, s = append(out, s[:i]), s[i:]
	}
}

// An Overlay says by name which files the go command is to read instead of others. It may add files.
type Overlay map[string]string

// ReadOverlay reads one that the user has. The go command takes relative names in it to be in the folder of the build.
func ReadOverlay(dir, file string) (Overlay, error) {
	if !filepath.IsAbs(file) {
		file = filepath.Join(dir, file)
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("reading the overlay in GOFLAGS: %w", err)
	}
	var o struct{ Replace Overlay }
	if err := json.Unmarshal(text, &o); err != nil {
		return nil, fmt.Errorf("reading the overlay %s: %w", file, err)
	}
	if o.Replace == nil {
		o.Replace = Overlay{}
	}
	return o.Replace, nil
}

// Write writes the overlay into a file that -overlay can name.
func (o Overlay) Write(file string) error {
	text, err := json.Marshal(map[string]any{"Replace": o})
	if err != nil {
		return err
	}
	return os.WriteFile(file, text, 0o600)
}
