package gocmd

import (
	"os"
	"path/filepath"
	"strings"
)

// Home returns the folder to run the go command in for packages that are named in dir, and their names there. The go command knows one
// module at a time: a folder of another module is home to its package, or to those below it (./sub/...). Nothing changes for packages in the
// module of dir, and for several patterns.
func Home(dir string, packages []string) (string, []string) {
	if len(packages) != 1 {
		return dir, packages
	}
	at, below := packages[0], "."
	if folder, ok := strings.CutSuffix(filepath.ToSlash(at), "/..."); ok {
		at, below = filepath.FromSlash(folder), "./..."
	}
	if !filepath.IsAbs(at) {
		at = filepath.Join(dir, at)
	}
	if st, err := os.Stat(at); err != nil || !st.IsDir() {
		return dir, packages
	}
	if of := moduleOf(at); of == "" || of == moduleOf(dir) {
		return dir, packages
	}
	return at, []string{below}
}

// moduleOf returns the folder of the module that a folder is in, or "".
func moduleOf(dir string) string {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return ""
	}
	for {
		if st, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil && st.Mode().IsRegular() {
			return dir
		}
		up := filepath.Dir(dir)
		if up == dir {
			return ""
		}
		dir = up
	}
}
