package gocmd

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/hone-perf/hone/internal/hint"
)

// A NoModuleError says that a folder is in no module.
type NoModuleError struct {
	Dir   string
	Work  string   // the go.work of the workspace that it is in; "" is none
	Below []string // folders of modules below it, with slashes
}

// NoModule returns the NoModuleError of a folder.
func NoModule(dir string) error {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return err
	}
	return &NoModuleError{Dir: dir, Work: above(dir, "go.work"), Below: ModulesBelow(dir)}
}

func (e *NoModuleError) Error() string {
	if e.Work != "" {
		return e.Dir + " is in the workspace of " + e.Work + ", but in none of its modules"
	}
	return "there is no go.mod in " + e.Dir + " or above it"
}

// Hint says what to do about it.
func (e *NoModuleError) Hint() hint.Text {
	switch n := len(e.Below); {
	case n > mostNamed:
		return hint.Text{"change to the folder of a module, such as " + strings.Join(e.Below[:mostNamed], ", ")}
	case n > 0:
		return hint.Text{"change to the folder of a module: " + strings.Join(e.Below, ", ")}
	case e.Work != "":
		return hint.Text{"change to the folder of one of them; go work edit -print lists them"}
	}
	return hint.Text{"change to the folder of a module, or make one here: go mod init NAME, then go mod tidy"}
}

const (
	mostNamed   = 5      // modules
	mostVisited = 20_000 // files and folders, since the folder may be the home of a user
)

// ModulesBelow returns the folders of modules below a folder, with slashes and in order, as far as they are found soon. The go command looks into
// the same folders for packages, and hone not into vendor and testdata, either.
func ModulesBelow(root string) []string {
	var out []string
	visited := 0
	filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if visited++; visited > mostVisited {
			return fs.SkipAll
		}
		if err != nil || path == root || !d.IsDir() {
			return nil // a folder that cannot be read has none
		}
		if name := d.Name(); name[0] == '.' || name[0] == '_' || name == "node_modules" || name == "testdata" || name == "vendor" {
			return fs.SkipDir
		}
		if _, err := os.Stat(filepath.Join(path, "go.mod")); err != nil {
			return nil
		}
		if rel, err := filepath.Rel(root, path); err == nil {
			out = append(out, filepath.ToSlash(rel))
		}
		return nil
	})
	return out
}

// above returns the nearest file of a name in a folder or above it, or "".
func above(dir, name string) string {
	for ; ; dir = filepath.Dir(dir) {
		file := filepath.Join(dir, name)
		if st, err := os.Stat(file); err == nil && st.Mode().IsRegular() {
			return file
		}
		if dir == filepath.Dir(dir) {
			return ""
		}
	}
}

// An OutsideError says that the module of a folder is not in the workspace of a go.work above it.
type OutsideError struct{ Dir string }

func (e *OutsideError) Error() string {
	return "the module of " + e.Dir + " is not in the workspace of the go.work above it"
}

// Hint returns the next step.
func (e *OutsideError) Hint() hint.Text {
	return hint.Text{"go work use " + e.Dir + " adds the module; GOWORK=off ignores the workspace"}
}

// What the go command says in a folder that is in no module, where it needs one.
const moduleless = "go.mod file not found in current directory or any parent directory"

var (
	// What it says about a pattern for a folder outside of the module, or of those in the workspace. There may be none at all.
	prefixes = []string{"does not contain main module", "does not contain modules listed in go.work"}

	// What it says in a module that is not in the workspace.
	outside = []string{
		"current directory is contained in a module that is not one of the workspace modules",
		"directory prefix . does not contain modules listed in go.work",
	}
)

// Homeless returns what is wrong with a folder if the go command says there that it is in no module, or in none of the workspace: a NoModuleError
// or an OutsideError. Else it returns nil.
func Homeless(dir, said string) error {
	says := func(list []string) bool {
		return slices.ContainsFunc(list, func(text string) bool { return strings.Contains(said, text) })
	}
	dir, err := filepath.Abs(dir)
	switch {
	case err != nil:
		return err
	case strings.Contains(said, moduleless), says(prefixes) && above(dir, "go.mod") == "":
		return NoModule(dir)
	case says(outside):
		return &OutsideError{dir}
	}
	return nil
}
