package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"debug/buildinfo"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hone-perf/hone/internal/testrun"
)

// A lab is the place where both programs run: a folder with the profiles, and a home for each
// program in which nothing of the user's is found.
type lab struct {
	dir   string // the working folder; its base name is fixed, because pprof cuts source paths at it
	hone  program
	pprof program
	cache string // HONE_ORACLE_CACHE
	only  *regexp.Regexp
	made  []*subject // all subjects, once made
	tally tally
}

// A program is one of the two that are compared.
type program struct {
	path string
	args []string // before the arguments of the case
	env  []string
	home string // holds HOME and PPROF_TMPDIR; masked in what the program prints
	hash string // of the binary, for the cache
}

// An invocation is one command line, run by both programs.
type invocation struct {
	dir   string // relative to the lab
	args  []string
	stdin string
}

// An outcome is what a program did.
type outcome struct {
	Stdout, Stderr []byte
	OK             bool              // exit status 0
	Files          map[string][]byte // files the command left in its folder, when that was its own
}

func newLab(t *testing.T) *lab {
	if _, err := exec.LookPath("go"); err != nil {
		testrun.Missing(t, "no go command, so no go tool pprof to compare with")
	}
	root := t.TempDir()
	l := &lab{
		dir:   filepath.Join(root, "oracle-work"),
		cache: os.Getenv("HONE_ORACLE_CACHE"),
		only:  only(t),
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	l.hone = program{path: self, args: []string{"pprof"}}
	l.hone.settle(t, filepath.Join(root, "home-hone"), "HONE_TEST_EXEC=1")
	l.pprof = program{path: findPprof(t, root)}
	l.pprof.settle(t, filepath.Join(root, "home-pprof"))
	info, err := buildinfo.ReadFile(l.pprof.path)
	if err != nil {
		t.Fatal(err)
	}
	l.tally.differences = differencesTo(info.GoVersion)
	if l.cache != "" {
		b, err := os.ReadFile(l.pprof.path)
		if err != nil {
			t.Fatal(err)
		}
		l.pprof.hash = fmt.Sprintf("%x", sha256.Sum256(b))
		if err := os.MkdirAll(l.cache, 0o777); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.MkdirAll(l.dir, 0o777); err != nil {
		t.Fatal(err)
	}
	return l
}

// findPprof returns the path of the pprof that go tool runs. The go command builds the tool when
// it is first asked for it, and running it directly spares its own start in each of thousands of cases.
func findPprof(t *testing.T, dir string) string {
	t.Helper()
	if out, err := exec.CommandContext(t.Context(), "go", "tool", "-n", "pprof").Output(); err == nil {
		path := strings.TrimSpace(string(out))
		if _, err := os.Stat(path); err == nil {
			return path
		}
	}
	path := filepath.Join(dir, "pprof")
	if runtime.GOOS == "windows" {
		path += ".exe"
	}
	if out, err := exec.CommandContext(t.Context(), "go", "build", "-o", path, "cmd/pprof").CombinedOutput(); err != nil {
		t.Fatalf("building pprof: %v\n%s", err, out)
	}
	return path
}

// settle gives p a home and an environment in which its output is reproducible.
func (p *program) settle(t *testing.T, home string, extra ...string) {
	t.Helper()
	p.home = home
	tmp := filepath.Join(home, "tmp")
	if err := os.MkdirAll(tmp, 0o777); err != nil {
		t.Fatal(err)
	}
	for _, kv := range os.Environ() {
		name, _, _ := strings.Cut(kv, "=")
		switch strings.ToUpper(name) {
		case "PATH", "SYSTEMROOT", "GOCOVERDIR":
			p.env = append(p.env, kv)
		}
	}
	p.env = append(p.env, "HOME="+home, "USERPROFILE="+home, "TMPDIR="+tmp, "TMP="+tmp, "PPROF_TMPDIR="+tmp, "TZ=UTC", "TERM=dumb")
	p.env = append(p.env, extra...)
}

// limit ends a program that hangs. It is far above what any case needs.
const limit = 2 * time.Minute

// run runs p in dir, an absolute path.
func (p *program) run(t *testing.T, dir string, inv invocation) outcome {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	defer cancel()
	cmd := exec.CommandContext(ctx, p.path, append(slices.Clip(p.args), inv.args...)...)
	cmd.Dir = dir
	// PWD as a shell would set it: os.Getwd believes it.
	cmd.Env = append(slices.Clip(p.env), "PWD="+dir)
	cmd.Stdin = strings.NewReader(inv.stdin)
	cmd.WaitDelay = time.Second
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatalf("running %s %q: %v", p.path, inv.args, err)
	}
	if ctx.Err() != nil {
		t.Errorf("%s %q did not end within %v", p.path, inv.args, limit)
	}
	return outcome{
		Stdout: bytes.ReplaceAll(stdout.Bytes(), []byte(p.home), []byte("$HOME")),
		Stderr: bytes.ReplaceAll(stderr.Bytes(), []byte(p.home), []byte("$HOME")),
		OK:     err == nil,
	}
}

// runOwn runs p in a folder of its own that holds copies of the files that the arguments name,
// and collects the files that the command leaves there.
func (p *program) runOwn(t *testing.T, l *lab, inv invocation) outcome {
	t.Helper()
	// Below the working folder, from where pprof finds the sources that are found from there.
	unique, err := os.MkdirTemp(l.dir, "own")
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(unique, filepath.Base(l.dir))
	given := map[string]bool{}
	for _, a := range inv.args {
		_, value, _ := strings.Cut(a, "=")
		for _, name := range []string{a, value} {
			b, err := os.ReadFile(filepath.Join(l.dir, inv.dir, name))
			if name == "" || err != nil {
				continue // a flag, or a file that is meant to be missing
			}
			given[filepath.FromSlash(name)] = true
			writeFile(t, filepath.Join(dir, name), b)
		}
	}
	if err := os.MkdirAll(dir, 0o777); err != nil {
		t.Fatal(err)
	}
	o := p.run(t, dir, inv)
	hide := func(b []byte) []byte { return bytes.ReplaceAll(b, []byte(unique), []byte("$OWN")) }
	o.Stdout, o.Stderr = hide(o.Stdout), hide(o.Stderr)
	o.Files = map[string][]byte{}
	err = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		name, err := filepath.Rel(dir, path)
		if err != nil || given[name] {
			return err
		}
		b, err := os.ReadFile(path)
		o.Files[name] = hide(b)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return o
}

func writeFile(t *testing.T, path string, b []byte) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, b, 0o666); err != nil {
		t.Fatal(err)
	}
}

// ask runs c with p. What pprof says comes from the cache where it can.
func (l *lab) ask(t *testing.T, p *program, c check) outcome {
	t.Helper()
	if c.own {
		return p.runOwn(t, l, c.inv)
	}
	dir := filepath.Join(l.dir, c.inv.dir)
	key, ok := l.cacheKey(p, c.inv)
	if !ok {
		return p.run(t, dir, c.inv)
	}
	file := filepath.Join(l.cache, key+".json")
	var o outcome
	if b, err := os.ReadFile(file); err == nil && json.Unmarshal(b, &o) == nil {
		return o
	}
	o = p.run(t, dir, c.inv)
	b, err := json.Marshal(o)
	if err != nil {
		t.Fatal(err)
	}
	writeFile(t, file, b)
	return o
}

// cacheKey names the answer of p to inv by everything the answer depends on. Listings and forced
// symbols are left out: they depend on sources and binaries that no argument names.
func (l *lab) cacheKey(p *program, inv invocation) (string, bool) {
	if l.cache == "" || p.hash == "" {
		return "", false
	}
	h := sha256.New()
	fmt.Fprintf(h, "%s\n%s\n%q\n%q\n", p.hash, inv.dir, inv.args, inv.stdin)
	for _, a := range inv.args {
		if strings.HasPrefix(a, "-list") || strings.HasPrefix(a, "-symbolize") {
			return "", false
		}
		_, value, _ := strings.Cut(a, "=")
		for _, name := range []string{a, value} {
			if b, err := os.ReadFile(filepath.Join(l.dir, inv.dir, name)); err == nil {
				fmt.Fprintf(h, "%s %x\n", name, sha256.Sum256(b))
			}
		}
	}
	return fmt.Sprintf("%x", h.Sum(nil)), true
}
