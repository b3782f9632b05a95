//go:build unix

package main

import (
	"bytes"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/tools/txtar"

	"github.com/hone-perf/hone/internal/testrun"
)

// killedModule is a program with a benchmark, a function that was changed since the last commit, and one that hone can mend.
const killedModule = `
-- go.mod --
module example.com/killed

go 1.22
-- main.go --
package main

import (
	"fmt"
	"time"

	"example.com/killed/text"
)

func main() {
	n := 0
	for begin := time.Now(); time.Since(begin) < 500*time.Millisecond; {
		n += len(text.Join([]string{"one", "two", "three"}))
	}
	fmt.Println(n > 0)
}
-- text/text.go --
// Package text puts texts together.
package text

// Join returns all of the list, one after the other.
func Join(list []string) string {
	s := ""
	for _, x := range list {
		s += x + " "
	}
	return s
}

// Sum adds up.
func Sum(list []int) int {
	n := 0
	for _, x := range list {
		n += x
	}
	return n
}
-- text/text_test.go --
package text

import "testing"

var words = []string{"some", "words", "of", "a", "list", "that", "is", "long", "enough", "to", "matter"}

func TestJoin(t *testing.T) {
	if got := Join(words[:2]); got != "some words " {
		t.Error(got)
	}
}

var size int

func BenchmarkJoin(b *testing.B) {
	for range b.N {
		size += len(Join(words))
	}
}
`

// A killed command leaves the files of the user as they were, or what it made whole; and nothing else that the next command would not remove.
// A nightly run kills each command at two times that are drawn by lot, or as often as HONE_KILLS says; a live run kills two of them, halfway.
func TestKilled(t *testing.T) {
	testrun.Live(t, "runs each command several times, and kills it")
	t.Parallel()
	kills := 2
	if v := os.Getenv("HONE_KILLS"); v != "" {
		var err error
		if kills, err = strconv.Atoi(v); err != nil {
			t.Fatalf("HONE_KILLS=%q: want a number", v)
		}
	}
	for _, c := range []struct{ name, args string }{
		{"record", "record -o {out}/new.hone ."},
		{"bench", "bench -count 3 -o {out}/new.hone ./text -benchtime 50ms"},
		{"merge", "merge -o {out}/sum.pb.gz {out}/kept.hone {out}/kept.hone"},
		{"compare", "compare HEAD --budget 6s -o {out}/new.hone ./text"},
		{"prove", "prove HEAD --calls 500"},
		{"fix", "fix --budget 30s --calls 500 ./text"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			if c.name != "record" && c.name != "merge" {
				testrun.Nightly(t, "runs the command several times, and kills it")
			}
			k := newKilled(t)
			k.kill(t, strings.Fields(strings.ReplaceAll(c.args, "{out}", k.out)), kills)
		})
	}
}

type killed struct {
	module, out, temp, cache string
	env                      []string
	before                   map[string]string
}

func newKilled(t *testing.T) *killed {
	t.Helper()
	k := &killed{module: t.TempDir(), out: t.TempDir(), temp: t.TempDir(), cache: t.TempDir()}
	k.env = append(os.Environ(), "HONE_TEST_EXEC=1", "TMPDIR="+k.temp, "XDG_CACHE_HOME="+k.cache, "GOCACHE="+strings.TrimSpace(goCommand(t, "env", "GOCACHE")))
	for _, f := range txtar.Parse([]byte(killedModule)).Files {
		name := filepath.Join(k.module, f.Name)
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, f.Data, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for _, args := range [][]string{{"init", "-q"}, {"add", "."}, {"-c", "user.name=x", "-c", "user.email=x@example.com", "commit", "-qm", "all"}} {
		cmd := exec.CommandContext(t.Context(), "git", args...)
		cmd.Dir = k.module
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("git %q: %v\n%s", args, err, out)
		}
	}
	name := filepath.Join(k.module, "text/text.go")
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	text = bytes.Replace(text, []byte("for _, x := range list {\n\t\tn += x"), []byte("for i := range list {\n\t\tn += list[i]"), 1)
	if err := os.WriteFile(name, text, 0o644); err != nil {
		t.Fatal(err)
	}
	return k
}

// files returns the files below a folder with their texts, without those of git.
func files(t *testing.T, dir string) map[string]string {
	t.Helper()
	out := make(map[string]string)
	err := filepath.WalkDir(dir, func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.Name() == ".git":
			return fs.SkipDir
		case d.IsDir():
			return nil
		}
		text, err := os.ReadFile(name)
		out[strings.TrimPrefix(name, dir+"/")] = string(text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// command returns hone in the folder of the module.
func (k *killed) command(t *testing.T, args ...string) *exec.Cmd {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), self, args...)
	cmd.Dir, cmd.Env = k.module, k.env
	return cmd
}

func (k *killed) run(t *testing.T, args ...string) {
	t.Helper()
	if out, err := k.command(t, args...).CombinedOutput(); err != nil {
		t.Fatalf("hone %q: %v\n%s", args, err, out)
	}
}

// restore puts the files back as they were, and the file that merge replaces.
func (k *killed) restore(t *testing.T, kept string) {
	t.Helper()
	for name, text := range k.before {
		if err := os.WriteFile(filepath.Join(k.module, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for _, dir := range []string{k.out, k.cache} { // what was refused would not be tried again
		list, err := os.ReadDir(dir)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range list {
			if err := os.RemoveAll(filepath.Join(dir, e.Name())); err != nil {
				t.Fatal(err)
			}
		}
	}
	for _, name := range []string{"kept.hone", "sum.pb.gz"} { // the second is what merge replaces, and is read by what is in it
		if err := os.WriteFile(filepath.Join(k.out, name), []byte(kept), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

func (k *killed) kill(t *testing.T, args []string, kills int) {
	k.before = files(t, k.module)
	k.run(t, "record", "-o", filepath.Join(k.out, "kept.hone"), ".")
	kept := files(t, k.out)["kept.hone"]
	k.restore(t, kept)
	begin := time.Now()
	k.run(t, args...)
	takes := time.Since(begin)
	whole := files(t, k.module)
	if !testrun.InNightly() {
		kills = 1
	}
	for i := range kills {
		k.restore(t, kept)
		at := takes / 2
		if testrun.InNightly() {
			at = time.Duration(rand.Int64N(int64(takes)))
		}
		cmd := k.command(t, args...)
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		time.Sleep(at)
		cmd.Process.Kill()
		cmd.Wait()
		if t.Context().Err() != nil {
			return
		}
		after := files(t, k.module)
		for name, text := range after {
			if text != k.before[name] && text != whole[name] && !isWhole(text, k.before[name]) {
				t.Errorf("killed %v after %v, %s is there with this text:\n%s", args, at, name, text)
			}
		}
		for name := range k.before {
			if _, ok := after[name]; !ok {
				t.Errorf("killed %v after %v, %s is gone", args, at, name)
			}
		}
		k.look(t, args, at, i)
	}
	// What it started may have some seconds more to do.
	for try := 0; ; try++ {
		k.restore(t, kept)
		k.run(t, "why-alloc", "text/text.go:8")
		left, err := os.ReadDir(k.temp)
		if err != nil {
			t.Fatal(err)
		}
		if len(left) == 0 {
			return
		}
		if try == 20 {
			t.Fatalf("killed %v: %v stays in the temporary folder, with %v", args, left, slices.Sorted(maps.Keys(files(t, k.temp))))
		}
		time.Sleep(time.Second)
	}
}

// isWhole reports whether a file of Go code is as a fix leaves it: which of several patches fix keeps depends on what it measures, and differs
// from run to run, but what it writes is Go code that ends as the file did before.
func isWhole(text, before string) bool {
	end := before[max(0, len(before)-100):]
	_, err := parser.ParseFile(token.NewFileSet(), "", text, parser.SkipObjectResolution)
	return before != "" && err == nil && strings.HasSuffix(text, end)
}

// look looks at the recordings that are there: whole ones, and what can be read of one that was being made.
func (k *killed) look(t *testing.T, args []string, at time.Duration, i int) {
	t.Helper()
	list, err := os.ReadDir(k.out)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range list {
		switch name := e.Name(); {
		case strings.HasSuffix(name, ".hone"), name == "sum.pb.gz":
			if out, err := k.command(t, filepath.Join(k.out, name)).CombinedOutput(); err != nil {
				t.Errorf("killed %v after %v (kill %d), %s is not whole: %v\n%s", args, at, i, name, err, out)
			}
		case name == "new.hone.part":
		case strings.HasSuffix(name, ".hone-new"): // the next one that writes the file removes it: see package safefile
		default:
			t.Errorf("killed %v after %v (kill %d), %s is left", args, at, i, name)
		}
	}
}
