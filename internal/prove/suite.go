package prove

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/hone-perf/hone/internal/gocmd"
)

// A suite is how the tests of a version went.
type suite struct {
	tests  map[string]outcome // by package and name
	broken string             // what does not compile
	short  bool               // those with -short
}

type outcome struct {
	failed, racy bool
	text         string
	took         time.Duration
}

// Tests remembers how the tests of an old version went, for those who compare several changes with it.
type Tests struct {
	old, now map[string]*suite // by testKey
	compiled map[string]bool   // as of Change
}

// Took says that the version that was the new one last is the old one from now on.
func (t *Tests) Took() { t.old, t.now = t.now, nil }

// Again returns what is known of the old version alone, for a change that leads nowhere.
func (t *Tests) Again() *Tests { return &Tests{old: t.old, compiled: t.kinds()} }

// kinds returns the kinds of builds that were made for the changes so far.
func (t *Tests) kinds() map[string]bool {
	if t == nil {
		return make(map[string]bool)
	}
	if t.compiled == nil {
		t.compiled = make(map[string]bool)
	}
	return t.compiled
}

// Failing returns the tests of the old version that fail, as far as they ran.
func (t *Tests) Failing() []string {
	var out []string
	for _, s := range t.old {
		for name, o := range s.tests {
			if o.failed && !slices.Contains(out, name) {
				out = append(out, name)
			}
		}
	}
	slices.Sort(out)
	return out
}

// testKey names tests of folders, as they are run.
func testKey(dirs []string, race bool) string {
	return fmt.Sprint(race, " ", strings.Join(dirs, " "))
}

func (t *Tests) before(key string) *suite {
	if t == nil {
		return nil
	}
	return t.old[key]
}

// begin forgets how the tests of the last change went, which was not kept.
func (t *Tests) begin() {
	if t != nil {
		t.now = nil
	}
}

// went says how tests went. The old version's are nil if they did not run.
func (t *Tests) went(key string, old, now *suite) {
	if t == nil {
		return
	}
	if t.old == nil {
		t.old = make(map[string]*suite)
	}
	if t.now == nil {
		t.now = make(map[string]*suite)
	}
	if t.now[key] = now; old != nil {
		t.old[key] = old
	}
}

// hasRace reports whether the race detector can be used, or why not.
func hasRace(ctx context.Context, in gocmd.Command) (bool, string) {
	out, err := in.Run(ctx, "env", "CGO_ENABLED", "CC", "GOOS", "GOARCH")
	words := strings.Fields(string(out))
	if err != nil || len(words) < 4 {
		return false, "go env does not say whether there is one"
	}
	supported := []string{
		"linux/amd64", "linux/arm64", "linux/ppc64le", "linux/s390x", "linux/loong64", "linux/riscv64",
		"darwin/amd64", "darwin/arm64", "windows/amd64", "freebsd/amd64", "netbsd/amd64",
	}
	if !slices.Contains(supported, words[2]+"/"+words[3]) {
		return false, "there is none for " + words[2] + "/" + words[3]
	}
	if words[0] != "1" {
		return false, "it needs cgo, and CGO_ENABLED is 0"
	}
	if _, err := exec.LookPath(words[1]); err != nil {
		return false, "it needs a C compiler, and there is no " + words[1]
	}
	return true, ""
}

// runTests runs the tests of packages. What fails is an answer, and no error.
func runTests(ctx context.Context, in gocmd.Command, dirs []string, race bool, overlay string, more ...string) (*suite, error) {
	return runTestsFrom(ctx, nil, in, dirs, race, overlay, more...)
}

// runTestsFrom runs the tests of packages, and starts a timer when the first are built and run.
func runTestsFrom(ctx context.Context, begin func() *time.Timer, in gocmd.Command, dirs []string, race bool, overlay string, more ...string) (*suite, error) {
	args := []string{"test", "-json", "-vet=off", "-count=1"}
	if race {
		args = append(args, "-race")
	}
	if overlay != "" {
		args = append(args, "-overlay="+overlay)
	}
	args = append(append(args, more...), dirs...)
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Dir, cmd.Env = in.Dir, in.Env
	cmd.Env = gocmd.Environ(cmd.Environ())
	gocmd.InterruptedAll(cmd)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if begin != nil {
		first := &firstWrite{Writer: &stdout, begin: begin}
		defer first.stop()
		cmd.Stdout = first
	}
	err := cmd.Run()
	var exit *exec.ExitError
	if ctx.Err() != nil || err != nil && !errors.As(err, &exit) {
		return nil, cmp.Or(ctx.Err(), err)
	}
	s := &suite{tests: make(map[string]outcome)}
	texts := make(map[string]*strings.Builder)
	built := make(map[string]string) // what building packages printed: also warnings of a C compiler, which break nothing
	lines := bufio.NewScanner(&stdout)
	lines.Buffer(nil, 16<<20)
	for lines.Scan() {
		var e struct {
			Action, Package, Test, Output, ImportPath, FailedBuild string
			Elapsed                                                float64 // seconds
		}
		if json.Unmarshal(lines.Bytes(), &e) != nil {
			continue
		}
		switch e.Action {
		case "build-output":
			built[e.ImportPath] += e.Output
			continue
		case "build-fail":
			s.broken += built[e.ImportPath]
			continue
		}
		name := filepath.Base(e.Package)
		if e.Test != "" {
			name += "." + e.Test
		}
		if texts[name] == nil {
			texts[name] = new(strings.Builder)
		}
		switch e.Action {
		case "output":
			if texts[name].Len() < 64<<10 {
				texts[name].WriteString(e.Output)
			}
		case "pass", "fail":
			if e.Test == "" && (e.Action == "pass" || e.FailedBuild != "" || hasFailed(s.tests, name)) {
				continue // the package as a whole says nothing that its tests did not
			}
			text := texts[name].String()
			racy := strings.Contains(text, "WARNING: DATA RACE") || strings.Contains(text, "race detected during execution of test")
			before := s.tests[name]
			s.tests[name] = outcome{before.failed || e.Action == "fail" && !onlyRace(text, racy), before.racy || racy, text, time.Duration(e.Elapsed * float64(time.Second))}
		}
	}
	if exit != nil && s.broken == "" && len(s.tests) == 0 {
		s.broken = stderr.String()
	}
	return s, nil
}

// A firstWrite starts a timer with the first that is written: go test says nothing while it builds.
type firstWrite struct {
	io.Writer
	begin func() *time.Timer
	timer *time.Timer
}

func (w *firstWrite) Write(b []byte) (int, error) {
	if w.timer == nil {
		w.timer = w.begin()
	}
	return w.Writer.Write(b)
}

func (w *firstWrite) stop() {
	if w.timer != nil {
		w.timer.Stop()
	}
}

func hasFailed(tests map[string]outcome, pkg string) bool {
	for name, o := range tests {
		if strings.HasPrefix(name, pkg+".") && (o.failed || o.racy) {
			return true
		}
	}
	return false
}

// onlyRace reports whether a race is all that a test fails for.
func onlyRace(text string, racy bool) bool {
	return racy && !strings.Contains(text, "panic: ") && !regexp.MustCompile(`(?m)^\s+\S+_test\.go:\d+: `).MatchString(text)
}

func (s *suite) racy() []string {
	var out []string
	for _, name := range slices.Sorted(maps.Keys(s.tests)) {
		if s.tests[name].racy {
			out = append(out, name)
		}
	}
	return slices.DeleteFunc(out, func(name string) bool { // those that only hold others
		return slices.ContainsFunc(out, func(o string) bool { return strings.HasPrefix(o, name+"/") })
	})
}
