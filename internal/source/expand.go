package source

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// A NoMatchError means that no file has a name that matches a pattern.
type NoMatchError struct{ Pattern string }

func (e *NoMatchError) Error() string { return e.Pattern + ": no file matches" }

// Expand replaces folders by their files, and patterns by the matching files, for shells that do not expand patterns. It omits hidden files.
func (o *Options) Expand(refs []string) ([]string, error) {
	var out []string
	for _, ref := range refs {
		st, err := os.Stat(ref)
		switch {
		case ref == "-" || err == nil && !st.IsDir():
			out = append(out, ref)
		case err == nil:
			files, err := inFolder(ref)
			if err != nil {
				return nil, err
			}
			out = append(out, files...)
		case strings.ContainsAny(ref, "*?["):
			files, globErr := filepath.Glob(ref)
			if globErr != nil {
				return nil, fmt.Errorf("%s: %w", ref, globErr)
			}
			if len(files) == 0 && o.url(ref) == nil {
				return nil, &NoMatchError{ref}
			}
			if len(files) == 0 {
				files = []string{ref}
			}
			out = append(out, files...)
		default:
			out = append(out, ref)
		}
	}
	return out, nil
}

// inFolder returns the files in a folder that may be profiles.
func inFolder(dir string) ([]string, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	var files []string
	lacks := "files"
	for _, e := range entries {
		switch {
		case !e.Type().IsRegular(), strings.HasPrefix(e.Name(), "."):
		case slices.Contains([]string{".go", ".mod", ".sum"}, filepath.Ext(e.Name())):
			lacks = "profiles"
		default:
			files = append(files, filepath.Join(dir, e.Name()))
		}
	}
	if len(files) == 0 {
		return nil, fmt.Errorf("%s: the folder has no %s", dir, lacks)
	}
	slices.Sort(files)
	return files, nil
}
