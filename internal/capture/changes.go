package capture

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/hone-perf/hone/internal/git"
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
	top, err := git.Command{Dir: dir}.Line(ctx, "rev-parse", "--show-toplevel", "HEAD")
	lines := strings.Split(top, "\n")
	if err != nil || len(lines) != 2 {
		return nil
	}
	t := &tree{revision: lines[1]}
	in := git.Command{Dir: lines[0]}
	status, err := in.Run(ctx, "status", "--porcelain", "-z")
	if err != nil && !errors.Is(err, git.ErrTooLarge) {
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
	in.Limit = maxDiff
	diff, err := in.Run(ctx, "diff", "--no-color", "--no-ext-diff", "--no-textconv", "HEAD")
	t.changes.Cut = err != nil
	b.Write(diff)
	t.text = b.Bytes()
	return t
}

// keepChanges adds to the recording what was not committed when the program was built.
func (s *session) keepChanges(t *tree) {
	if t == nil || t.changes.Files == 0 {
		return
	}
	s.manifest.Changes = &t.changes
	s.wrote(0, writeNonEmpty(filepath.Join(s.folder, recording.DiffFile), t.text))
}
