package gocmd

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"go/version"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
)

// A ToolchainError reports that the go command that the user named is not available.
type ToolchainError struct {
	Name    string
	Why     string
	Release bool // it was named as a release of Go
}

func (e *ToolchainError) Error() string { return e.Name + ": " + e.Why }

// Using returns a command that runs the go command with a name, and its version. A name is a release (go1.27.3, 1.27.3, or 1.27 for the newest
// of its releases that is here, or else that there is), latest, local for the go command that was installed, the name of another one in the
// PATH (gotip), or the path of one, or of its GOROOT. Releases that are not here are fetched by the go command.
func (c Command) Using(ctx context.Context, name string) (Command, string, error) {
	env := c.Environ()
	release := "go" + strings.TrimPrefix(name, "go")
	switch {
	case name == "local":
		c.Env = append(env, "GOTOOLCHAIN=local")
	case name == "latest" || version.IsValid(release):
		if name == "latest" {
			release = name
		}
		full, err := c.release(ctx, release)
		if err != nil {
			return c, "", err
		}
		c.Env = append(env, "GOTOOLCHAIN="+full)
	default:
		file, err := goAt(c.Dir, name)
		if err != nil {
			return c, "", err
		}
		c.Tool = file
		// GOROOT is that of the other one.
		c.Env = append(slices.DeleteFunc(env, func(v string) bool { return strings.HasPrefix(v, "GOROOT=") }), "GOTOOLCHAIN=local")
	}
	out, err := c.Run(ctx, "env", "GOVERSION")
	got := strings.TrimSpace(string(out))
	switch {
	case ctx.Err() != nil:
		return c, "", ctx.Err()
	case err != nil && c.Tool == "":
		return c, "", &ToolchainError{name, "the go command cannot fetch it: " + lastWords(err), true}
	case err != nil || !strings.Contains(got, "go1"):
		return c, "", &ToolchainError{name, "it is not a go command: go env GOVERSION does not print a version with it", false}
	}
	return c, got, nil
}

// release returns the full name of a release of which only the beginning is given. Since Go 1.21 the first one of 1.27 is 1.27.0, and go1.27
// is a version of the language.
func (c Command) release(ctx context.Context, name string) (string, error) {
	if name != "latest" && (name != version.Lang(name) || version.Compare(name, "go1.21") < 0) {
		return name, nil
	}
	if name != "latest" {
		if here := c.newestHere(ctx, name); here != "" {
			return here, nil
		}
	}
	out, err := Command{Dir: os.TempDir(), Env: c.Env, Tool: c.Tool}.Run(ctx, "list", "-m", "-f", "{{.Version}}", "go@"+strings.TrimPrefix(name, "go"))
	if err != nil {
		if ctx.Err() != nil {
			return "", ctx.Err()
		}
		return "", &ToolchainError{name, "the go command cannot find its newest release: " + lastWords(err), true}
	}
	return "go" + strings.TrimSpace(string(out)), nil
}

// newestHere returns the newest release of a version of the language that needs not be fetched, or "".
func (c Command) newestHere(ctx context.Context, lang string) string {
	local := Command{Dir: os.TempDir(), Env: append(c.Environ(), "GOTOOLCHAIN=local")}
	about, err := local.About(ctx)
	if err != nil {
		return ""
	}
	newest := ""
	consider := func(v string) {
		if version.Lang(v) == lang && !strings.ContainsAny(v, "- ") && version.Compare(v, newest) > 0 {
			newest = v
		}
	}
	consider(about.GOVERSION)
	entries, _ := os.ReadDir(filepath.Join(about.GOMODCACHE, "golang.org"))
	for _, e := range entries {
		if v, ok := strings.CutPrefix(e.Name(), "toolchain@v0.0.1-"); ok {
			if v, ok = strings.CutSuffix(v, "."+runtime.GOOS+"-"+runtime.GOARCH); ok {
				consider(v)
			}
		}
	}
	return newest
}

// Environ returns a copy of the environment of the command.
func (c Command) Environ() []string {
	if c.Env == nil {
		return os.Environ()
	}
	return slices.Clone(c.Env)
}

// goAt returns the go command at a path, or with a name in the PATH.
func goAt(dir, name string) (string, error) {
	if !strings.ContainsAny(name, `/\`) && name != "." && name != ".." {
		file, err := exec.LookPath(name)
		if err != nil {
			return "", &ToolchainError{name, "it is neither a version of Go nor a command", false}
		}
		return filepath.Abs(file)
	}
	file := name
	if !filepath.IsAbs(file) {
		file = filepath.Join(dir, file)
	}
	file, err := filepath.Abs(file)
	if err != nil {
		return "", err
	}
	st, err := os.Stat(file)
	if err == nil && st.IsDir() {
		file = filepath.Join(file, "bin", "go")
		if runtime.GOOS == "windows" {
			file += ".exe"
		}
		if _, err := os.Stat(file); err != nil {
			return "", &ToolchainError{name, "it is a folder without bin/go", false}
		}
		return file, nil
	}
	if err != nil {
		return "", &ToolchainError{name, "no such file", false}
	}
	return file, nil
}

// lastWords returns the end of what the go command says when it fails: download go1.99: …: 404 Not Found.
func lastWords(err error) string {
	var wrong *Error
	if !errors.As(err, &wrong) {
		return err.Error()
	}
	text := ""
	for line := range strings.Lines(wrong.Output) {
		if line = strings.TrimSpace(line); strings.HasPrefix(line, "go: ") && !strings.HasPrefix(line, "go: downloading ") {
			text = strings.TrimPrefix(line, "go: ")
		}
	}
	if text == "" {
		return strings.TrimSpace(wrong.Output)
	}
	if i := strings.LastIndex(text, ": "); i >= 0 {
		text = text[i+2:]
	}
	return text
}

// A TooOldError reports that a module needs a newer Go.
type TooOldError struct {
	Go   string // that is too old
	File string // go.mod or go.work, or the module that asks for it
	Want string
}

func (e *TooOldError) Error() string {
	return fmt.Sprintf("%s is too old for this module: %s asks for go %s", e.Go, e.File, e.Want)
}

// Refused says why the go command refused to do something, in one line: a TooOldError where that is why.
func Refused(err error, goVersion string) error {
	var wrong *Error
	if !errors.As(err, &wrong) {
		return err
	}
	line := ""
	for l := range strings.Lines(wrong.Output) {
		if l = strings.TrimSpace(l); l != "" && !strings.HasPrefix(l, "go: downloading ") {
			line = strings.TrimPrefix(l, "go: ")
			break
		}
	}
	if file, rest, ok := strings.Cut(line, " requires go >= "); ok {
		want, _, _ := strings.Cut(rest, " ")
		return &TooOldError{goVersion, strings.TrimPrefix(file, "module "), strings.TrimRight(want, ",")}
	}
	return errors.New(line)
}

// Vars returns all variables that the go command knows, and what it takes them for.
func (c Command) Vars(ctx context.Context) (map[string]string, error) {
	out, err := c.Run(ctx, "env", "-json")
	if err != nil {
		return nil, err
	}
	var vars map[string]string
	if err := json.Unmarshal(out, &vars); err != nil {
		return nil, fmt.Errorf("reading what go env says: %w", err)
	}
	return vars, nil
}

// Try asks the go command whether it would build something with its environment and some flags in this folder, without building anything.
// Refused tells why not.
func (c Command) Try(ctx context.Context, flags []string) error {
	_, err := c.Run(ctx, slices.Concat([]string{"build", "-n", "-o", os.DevNull}, flags, []string{"unsafe"})...)
	return err
}
