// Package testrun says which tests of hone run, and on what.
//
//	go test -short ./...         what takes less than a minute
//	go test ./...                the gate for a change: it waits for nothing and measures little
//	go test -tags live ./...     as .ci/run: whatever hone does is done once for real, where it records, builds, measures and compares
//	go test -tags nightly ./...  all there is: each combination, every guide, and what has to measure for long
//
// Only tests import it.
package testrun

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime/debug"
	"testing"
)

// Tests make much garbage and keep little. With a heap that may grow more, those of some packages take a third less CPU time. Programs that
// they run collect as usual, and so does hone, which sets this for itself.
func init() {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(400)
	}
}

// Live leaves a test out of plain runs. The reason says what takes so long.
func Live(t testing.TB, reason string) {
	t.Helper()
	if !InLive() {
		t.Skip("left out without -tags live: " + reason)
	}
}

// Nightly leaves a test to the nightly run. The reason says what takes so long. What a live run has left out is listed at the end of
// .ci/run, so that nothing is left out unnoticed.
func Nightly(t testing.TB, reason string) {
	t.Helper()
	if !InNightly() {
		Left(t, t.Name(), reason)
		t.Skip("left out without -tags nightly: " + reason)
	}
}

// Left notes, for the end of .ci/run, what a live run leaves to the nightly one, where that is not a test of its own.
func Left(t testing.TB, what, reason string) {
	t.Helper()
	if IsLive && !IsNightly {
		note(t, "HONE_LEFT", what+": "+reason)
	}
}

// InLive reports whether this is a live run, or a nightly one, and not a short one.
func InLive() bool { return IsLive && !testing.Short() }

// Size returns how much a test tries: all of it, or less in a short run.
func Size(all, short int) int {
	if testing.Short() {
		return short
	}
	return all
}

// InNightly reports whether all of a test's cases are to run, rather than some of each kind.
func InNightly() bool { return IsNightly && !testing.Short() }

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
	note(t, "HONE_SKIPPED", fmt.Sprintf("%s: %s", t.Name(), fmt.Sprintf(format, args...)))
	t.Skipf(format, args...)
}

// note appends a line to the file that a variable of the environment names, if it does.
func note(t testing.TB, variable, line string) {
	t.Helper()
	name := os.Getenv(variable)
	if name == "" {
		return
	}
	f, err := os.OpenFile(name, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o666)
	if err != nil {
		t.Fatal(err)
	}
	_, err = fmt.Fprintln(f, line)
	if err := errors.Join(err, f.Close()); err != nil {
		t.Fatal(err)
	}
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
