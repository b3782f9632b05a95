package capture

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/hone-perf/hone/internal/recording"
)

// Bounds of what is kept of changes that were not committed.
const (
	maxDiff      = 256 << 10 // bytes
	maxUntracked = 1000      // names
	gitTime      = 10 * time.Second
)

// A tree is the state of the git tree that a program is built from.
type tree struct {
	revision string
	changes  recording.Changes
	text     []byte
}

// treeOf returns the state of the git tree that a folder is in, or nil when it is in none.
func treeOf(ctx context.Context, dir string) *tree {
	ctx, stop := context.WithTimeout(ctx, gitTime)
	defer stop()
	top, _, err := git(ctx, dir, 4<<10, "rev-parse", "--show-toplevel", "HEAD")
	lines := strings.Split(strings.TrimSpace(string(top)), "\n")
	if err != nil || len(lines) != 2 {
		return nil
	}
	t := &tree{revision: lines[1]}
	status, _, err := git(ctx, lines[0], 16<<20, "status", "--porcelain", "-z")
	if err != nil {
		return t
	}
	var untracked []string
	entries := strings.Split(string(status), "\x00")
	for i := 0; i < len(entries); i++ {
		code, name, ok := strings.Cut(entries[i], " ")
		switch {
		case len(entries[i]) < 4:
			continue
		case code == "??" && ok:
			if strings.HasSuffix(name, ".hone") || strings.HasSuffix(name, ".hone"+partSuffix+"/") {
				continue // recordings are no change
			}
			untracked = append(untracked, name)
		case strings.ContainsAny(entries[i][:2], "RC"):
			i++ // what it was called before
		}
		t.changes.Files++
	}
	if t.changes.Files == 0 {
		return t
	}
	t.changes.Untracked = len(untracked)
	var b bytes.Buffer
	for i, name := range untracked {
		if i == maxUntracked {
			fmt.Fprintf(&b, "# and %d more\n", len(untracked)-i)
			break
		}
		fmt.Fprintf(&b, "# new: %q\n", name)
	}
	diff, cut, err := git(ctx, lines[0], maxDiff, "diff", "--no-color", "--no-ext-diff", "--no-textconv", "HEAD")
	if err != nil {
		cut = true
	}
	t.changes.Cut = cut
	b.Write(diff)
	t.text = b.Bytes()
	return t
}

// git runs a git command that changes nothing, and returns at most limit bytes of what it prints, and whether that is
// not all.
func git(ctx context.Context, dir string, limit int64, args ...string) (text []byte, cut bool, err error) {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	cmd := exec.CommandContext(ctx, "git", args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GIT_OPTIONAL_LOCKS=0")
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, false, err
	}
	if err := cmd.Start(); err != nil {
		return nil, false, err
	}
	text, err = io.ReadAll(io.LimitReader(out, limit+1))
	if int64(len(text)) > limit {
		stop() // nobody reads the rest
		cmd.Wait()
		return text[:limit], true, nil
	}
	if waitErr := cmd.Wait(); err == nil {
		err = waitErr
	}
	return text, false, err
}

// keepChanges adds to the recording what was not committed when the program was built.
func (s *session) keepChanges(t *tree) {
	if t == nil || t.changes.Files == 0 {
		return
	}
	s.manifest.Changes = &t.changes
	s.wrote(0, writeNonEmpty(filepath.Join(s.folder, recording.DiffFile), t.text))
}
