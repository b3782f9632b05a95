package fix

import (
	"bytes"
	"context"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/hone-perf/hone/internal/git"
)

// ignored finds what git ignores below a folder and the go command does not read: data, logs, and what was built. There may be much more of it
// than of the module, and copies link to it. The names are relative, with slashes. Without git there are none.
func ignored(ctx context.Context, root string) (map[string]bool, error) {
	out, err := git.Command{Dir: root}.Run(ctx, "ls-files", "-z", "--others", "--ignored", "--exclude-standard", "--directory")
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if err != nil || len(out) == 0 {
		return nil, nil
	}
	embedded, err := embeds(ctx, root)
	if err != nil {
		return nil, err
	}
	found := make(map[string]bool)
	for name := range strings.SplitSeq(strings.TrimSuffix(string(out), "\x00"), "\x00") {
		name = strings.TrimSuffix(name, "/")
		if name == "" || name == "." || slices.ContainsFunc(embedded, func(e string) bool { return strings.HasPrefix(e, name) || strings.HasPrefix(name, e) }) {
			continue
		}
		if !isRead(filepath.Join(root, filepath.FromSlash(name))) {
			found[name] = true
		}
	}
	return found, nil
}

// What is smaller is copied, so that what tests write there stays in the copy.
const (
	smallBytes = 1 << 20
	fewFiles   = 1000
)

// isRead reports whether the go command may read a file, or any file in a folder, or whether there is too little for a link to matter.
func isRead(name string) bool {
	built, files, bytes := false, 0, int64(0)
	err := filepath.WalkDir(name, func(at string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		if isBuilt(d.Name()) || at == name && !d.Type().IsRegular() {
			built = true
			return fs.SkipAll
		}
		if st, err := d.Info(); err == nil {
			files, bytes = files+1, bytes+st.Size()
		}
		return nil
	})
	return built || err != nil || files <= fewFiles && bytes <= smallBytes
}

// isBuilt reports whether the go command builds a file of that name, or is told by it what to build.
func isBuilt(name string) bool {
	switch strings.ToLower(path.Ext(name)) {
	case ".go", ".s", ".c", ".cc", ".cpp", ".cxx", ".m", ".h", ".hh", ".hpp", ".hxx", ".f", ".for", ".f90", ".syso", ".swig", ".swigcxx", ".a", ".so":
		return true
	}
	return slices.Contains([]string{"go.mod", "go.sum", "go.work", "go.work.sum", "modules.txt", "default.pgo"}, name)
}

// embeds returns what Go files below a folder embed: names relative to it, up to the first part that is a pattern.
func embeds(ctx context.Context, root string) ([]string, error) {
	var out []string
	err := filepath.WalkDir(root, func(at string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case ctx.Err() != nil:
			return ctx.Err()
		case d.IsDir() && at != root && skipped(d.Name()):
			return fs.SkipDir
		case !d.Type().IsRegular() || path.Ext(d.Name()) != ".go":
			return nil
		}
		text, err := os.ReadFile(at)
		if err != nil {
			return nil
		}
		rel, err := filepath.Rel(root, filepath.Dir(at))
		if err != nil {
			return err
		}
		for line := range bytes.Lines(text) {
			patterns, ok := bytes.CutPrefix(line, []byte("//go:embed "))
			if !ok {
				continue
			}
			for _, p := range strings.Fields(string(patterns)) {
				p = strings.TrimPrefix(strings.Trim(p, "\"`"), "all:")
				if i := strings.IndexAny(p, `*?[\`); i >= 0 {
					p = p[:i]
				}
				out = append(out, strings.TrimPrefix(filepath.ToSlash(rel)+"/"+p, "./"))
			}
		}
		return nil
	})
	return out, err
}
