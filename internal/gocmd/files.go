package gocmd

import (
	"cmp"
	"io/fs"
	"os"
	"path/filepath"
)

// Files returns the paths of the files in a folder that match a pattern, such as *.go. In filepath.Glob, what is special in
// patterns would be so in the name of the folder, too, and there are people who put brackets there.
func Files(dir, pattern string) ([]string, error) {
	names, err := fs.Glob(os.DirFS(cmp.Or(dir, ".")), pattern)
	if err != nil {
		return nil, err
	}
	for i, name := range names {
		names[i] = filepath.Join(dir, filepath.FromSlash(name))
	}
	return names, nil
}
