// Package git runs git. There is one environment for all of it: the repository is the one that the folder of a Command is in, whatever
// hook hone runs in, and git asks for no password, takes no lock it can do without, and fetches nothing unless it is allowed to.
package git

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"time"

	"github.com/hone-perf/hone/internal/hint"
)

// A Command runs git. The zero Command does it in the current folder.
type Command struct {
	Dir   string   // "" is the current folder
	Env   []string // more variables, such as GIT_INDEX_FILE=…
	Input []byte
	Limit int  // bytes of the answer; 0 means 64 MB
	Fetch bool // from the remote, what a partial clone lacks
}

// Errors of Run, besides Error and those of the context.
var (
	ErrNotInstalled = hint.Errorf(hint.Text{"install git (https://git-scm.com/downloads), or add its folder to PATH"}, "git is not installed")
	ErrTooLarge     = errors.New("git printed too much")
)

// An Error reports that git failed.
type Error struct {
	Args []string // of git
	Said string   // its first complaint; how it ended where it said nothing
	Next string   // the command that it advises, such as for a repository of another user; "" is none
}

func (e *Error) Error() string { return "git " + strings.Join(e.Args, " ") + ": " + e.Said }

// Hint returns the next step, if git knows one.
func (e *Error) Hint() hint.Text {
	if e.Next == "" {
		return nil
	}
	return hint.Text{"if you trust the repository: " + e.Next}
}

// IsOutside reports whether git failed because the folder is in no repository.
func IsOutside(err error) bool {
	var failed *Error
	return errors.As(err, &failed) && strings.Contains(failed.Said, "not a git repository")
}

// Said returns what git complained about, without the command, where an error is that git failed; else the text of the error.
func Said(err error) string {
	var failed *Error
	if errors.As(err, &failed) {
		return failed.Said
	}
	return err.Error()
}

const (
	maxOutput = 64 << 20
	maxSaid   = 4 << 10
	waitDelay = 2 * time.Second // for git to remove its locks when it was interrupted
)

// Run runs git and returns what it prints. When that is more than the limit, the error is ErrTooLarge, and the answer what came until then.
func (c Command) Run(ctx context.Context, args ...string) ([]byte, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	cmd := exec.CommandContext(ctx, "git", args...)
	cmd.Dir = c.Dir
	cmd.Env = c.environ(cmd.Environ())
	cmd.WaitDelay = waitDelay
	cmd.Cancel = func() error {
		if cmd.Process.Signal(os.Interrupt) != nil {
			return cmd.Process.Kill() // systems without such a signal
		}
		return nil
	}
	limit := c.Limit
	if limit == 0 {
		limit = maxOutput
	}
	out, said := &capped{limit: limit, over: cancel}, &capped{limit: maxSaid, over: func() {}}
	cmd.Stdout, cmd.Stderr = out, said
	if c.Input != nil {
		cmd.Stdin = bytes.NewReader(c.Input)
	}
	err := cmd.Run()
	var exit *exec.ExitError
	switch {
	case out.full:
		return out.text, fmt.Errorf("git %s: %w", strings.Join(args, " "), ErrTooLarge)
	case ctx.Err() != nil:
		return nil, context.Cause(ctx)
	case errors.Is(err, exec.ErrNotFound):
		return nil, ErrNotInstalled
	case errors.As(err, &exit):
		return out.text, &Error{args, complaint(string(said.text), exit), advice(string(said.text))}
	case err != nil:
		return nil, fmt.Errorf("git %s: %w", strings.Join(args, " "), err)
	}
	return out.text, nil
}

// Line runs git and returns what it prints, without space around it.
func (c Command) Line(ctx context.Context, args ...string) (string, error) {
	out, err := c.Run(ctx, args...)
	if err != nil {
		return "", err
	}
	return string(bytes.TrimSpace(out)), nil
}

// complaint returns the line of what git says that tells what is wrong. Warnings may come before it, and advice after.
func complaint(text string, exit error) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	for _, line := range lines {
		for _, mark := range []string{"fatal: ", "error: "} {
			if rest, ok := strings.CutPrefix(line, mark); ok {
				return rest
			}
		}
	}
	if lines[0] != "" {
		return lines[0]
	}
	return exit.Error()
}

// advice returns the command with which git says that a repository of another user can be trusted, or "".
func advice(text string) string {
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); strings.HasPrefix(line, "git config ") && strings.Contains(line, " safe.directory ") {
			return line
		}
	}
	return ""
}

func (c Command) environ(env []string) []string {
	env = slices.DeleteFunc(env, func(v string) bool { return strings.HasPrefix(v, "GIT_") && !kept(v) })
	env = append(env, "GIT_OPTIONAL_LOCKS=0", "GIT_TERMINAL_PROMPT=0", "LC_ALL=C")
	if !c.Fetch {
		// Git before 2.45 fetches what a partial clone lacks all the same, but not over a protocol that is not allowed.
		env = append(env, "GIT_NO_LAZY_FETCH=1", "GIT_ALLOW_PROTOCOL=none")
	}
	return append(env, c.Env...)
}

// kept reports whether a variable of git is one about the user or the machine, and not about a repository or the command that runs a hook.
func kept(v string) bool {
	name, _, _ := strings.Cut(v, "=")
	switch name {
	case "GIT_CONFIG": // the one file that git config is about
		return false
	case "GIT_EXEC_PATH", "GIT_TEMPLATE_DIR", "GIT_CEILING_DIRECTORIES", "GIT_DISCOVERY_ACROSS_FILESYSTEM", "GIT_ASKPASS", "GIT_SSH", "GIT_SSH_COMMAND":
		return true
	}
	for _, about := range []string{"GIT_AUTHOR_", "GIT_COMMITTER_", "GIT_CONFIG_"} {
		if strings.HasPrefix(name, about) {
			return true
		}
	}
	return false
}

// local are the variables that git sets for hooks and aliases, and with which it finds a repository, as git rev-parse --local-env-vars lists
// them; without those that carry settings.
var local = []string{
	"GIT_ALTERNATE_OBJECT_DIRECTORIES", "GIT_COMMON_DIR", "GIT_DIR", "GIT_GRAFT_FILE", "GIT_IMPLICIT_WORK_TREE", "GIT_INDEX_FILE",
	"GIT_INTERNAL_SUPER_PREFIX", "GIT_NAMESPACE", "GIT_NO_REPLACE_OBJECTS", "GIT_OBJECT_DIRECTORY", "GIT_PREFIX", "GIT_QUARANTINE_PATH",
	"GIT_REPLACE_REF_BASE", "GIT_SHALLOW_FILE", "GIT_WORK_TREE",
}

// Unbound returns an environment without the variables that tie git to one repository. It is for programs that may run git by themselves in
// other folders, as the go command does to stamp what it builds; nil stands for the environment of this process.
func Unbound(env []string) []string {
	if env == nil {
		env = os.Environ()
	}
	return slices.DeleteFunc(slices.Clone(env), func(v string) bool {
		name, _, _ := strings.Cut(v, "=")
		return slices.Contains(local, name)
	})
}

// capped keeps what is written to it up to a limit, and calls over when there is more, which it throws away.
type capped struct {
	text  []byte
	limit int
	full  bool
	over  func()
}

func (c *capped) Write(p []byte) (int, error) {
	n := min(len(p), c.limit-len(c.text))
	c.text = append(c.text, p[:n]...)
	if n < len(p) && !c.full {
		c.full = true
		c.over()
	}
	return len(p), nil
}
