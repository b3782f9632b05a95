// Package testrun says which tests of hone run, and on what.
//
//	go test -short ./...      what takes less than a minute
//	go test ./...             the gate for a change: it waits for nothing and measures little
//	go test -tags live ./...  all there is: it records, builds, measures and compares for real, as .ci/run does
//
// Only tests import it.
package testrun

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"
)

// Live leaves a test out, unless all tests are to run. The reason says what takes so long.
func Live(t testing.TB, reason string) {
	t.Helper()
	if !All() {
		t.Skip("left out without -tags live: " + reason)
	}
}

// Missing skips a test that needs something that is not installed here. Where all tests are to run, that is a failure: nobody
// reads what is skipped.
func Missing(t testing.TB, format string, args ...any) {
	t.Helper()
	if IsLive || os.Getenv("CI") != "" {
		t.Fatalf("with -tags live and in CI, nothing is left out: "+format, args...)
	}
	t.Skipf(format, args...)
}

// Unable skips a test that this system does not let run, whatever is installed. It is written to the file that HONE_SKIPPED names, which
// .ci/run prints.
func Unable(t testing.TB, format string, args ...any) {
	t.Helper()
	if name := os.Getenv("HONE_SKIPPED"); name != "" {
		f, err := os.OpenFile(name, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o666)
		if err != nil {
			t.Fatal(err)
		}
		_, err = fmt.Fprintf(f, "%s: %s\n", t.Name(), fmt.Sprintf(format, args...))
		if err := errors.Join(err, f.Close()); err != nil {
			t.Fatal(err)
		}
	}
	t.Skipf(format, args...)
}

// Corpus returns the files of a folder that every reader is tried on, by their paths: those in testdata/corpus, which are of programs in this
// repository, and those in the folder of the same name in HONE_CORPUS, where that is set. Tests read no other files of others.
func Corpus(t testing.TB, folder string) []string {
	t.Helper()
	var files []string
	for _, dir := range CorpusFolders(t, folder) {
		list, err := os.ReadDir(dir)
		if err != nil {
			t.Fatal(err)
		}
		before := len(files)
		for _, e := range list {
			if name := filepath.Join(dir, e.Name()); isFile(name) && filepath.Ext(name) != ".tsv" {
				files = append(files, name)
			}
		}
		if len(files) == before {
			t.Fatalf("the corpus has no files in %s", dir)
		}
	}
	return files
}

// CorpusFolders returns the folders in which Corpus looks for files.
func CorpusFolders(t testing.TB, folder string) []string {
	t.Helper()
	own, err := root()
	if err != nil {
		t.Fatal(err)
	}
	dirs := []string{filepath.Join(own, "testdata", "corpus", folder)}
	if more := os.Getenv("HONE_CORPUS"); more != "" {
		if !filepath.IsAbs(more) {
			t.Fatalf("HONE_CORPUS=%q: want an absolute path, since each package is tested in its own folder", more)
		}
		dirs = append(dirs, filepath.Join(more, folder))
	}
	for _, dir := range dirs {
		if info, err := os.Stat(dir); err != nil || !info.IsDir() {
			t.Fatalf("the corpus has no folder %s: %v", dir, err)
		}
	}
	return dirs
}

func isFile(name string) bool {
	info, err := os.Stat(name)
	return err == nil && info.Mode().IsRegular()
}

// root is the folder of go.mod above the one that a test runs in.
func root() (string, error) {
	dir, err := os.Getwd()
	for err == nil {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir, nil
		}
		up := filepath.Dir(dir)
		if up == dir {
			return "", os.ErrNotExist
		}
		dir = up
	}
	return "", err
}

// All reports whether all of a test's cases are to run, rather than some of each kind.
func All() bool { return IsLive && !testing.Short() }
