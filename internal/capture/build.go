package capture

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/mod/semver"

	"github.com/hone-perf/hone/internal/gocmd"
	"github.com/hone-perf/hone/internal/hint"
	"github.com/hone-perf/hone/internal/recording"
)

// ErrBuilding is that time was up, or the user ended it, before the program was built.
var ErrBuilding = errors.New("building")

// A Build says what to build with the recorder inside.
type Build struct {
	Targets []string // a package, or Go files of one
	Test    bool     // the tests of the package
	Flags   []string // for the go command: -race, -tags=…
	Dir     string   // "" is the current folder
	Env     []string // nil is that of this process
	Tool    string   // the go command; "" is go
	Leaks   bool     // with the experiment that finds leaked goroutines
	Flight  bool     // a flight recorder is wanted
	Trace   bool     // an execution trace is
	Latency bool     // it is to be known how long requests take

	named string // the targets as the user gave them, when they are others by now
	ready *built // it was built before
}

// Once builds what b says now, into a folder that has to stay, so that what b is recorded with later is the same program.
func (b *Build) Once(ctx context.Context, work string) (err error) {
	of, err := b.build(ctx, work)
	if err != nil {
		return err
	}
	b.ready = of
	return nil
}

// home returns b as it has to be built: a folder of another module is built from there, since the go command knows one
// module at a time.
func (b *Build) home() *Build {
	dir, targets := gocmd.Home(b.Dir, b.Targets)
	if dir == b.Dir {
		return b
	}
	moved := *b
	moved.Dir, moved.Targets, moved.named = dir, targets, b.name()
	return &moved
}

// name is what is built, as the user calls it.
func (b *Build) name() string { return cmp.Or(b.named, strings.Join(b.Targets, " ")) }

// A built program.
type built struct {
	file string // the program
	name string // what to call it
	dir  string // of its package
	path string // of its package
	tree *tree  // that it was built from; nil when there is none
}

// build builds a program with the recorder inside, into a folder that may be thrown away.
func (b *Build) build(ctx context.Context, work string) (*built, error) {
	if b.ready != nil {
		again := *b.ready
		return &again, nil
	}
	b = b.home()
	env := b.Env
	if env == nil {
		env = os.Environ()
	}
	cmd := gocmd.Command{Dir: b.Dir, Env: env, Tool: b.Tool}
	about, err := cmd.About(ctx)
	if err != nil {
		return nil, b.wrong(err)
	}
	if err := check(about, b.Flight, b.Test); err != nil {
		return nil, err
	}
	goroot := about.GOROOT
	if cmd, about, err = cmd.Replaceable(about, work); err != nil {
		return nil, err
	}
	if b.Leaks {
		experiment, err := leaksExperiment(about.GOVERSION)
		if err != nil {
			return nil, err
		}
		if experiment != "" {
			cmd.Env = append(cmd.Env[:len(cmd.Env):len(cmd.Env)], "GOEXPERIMENT="+strings.Trim(about.GOEXPERIMENT+","+experiment, ","))
		}
	}
	pkg, err := b.target(ctx, cmd)
	if err != nil {
		return nil, err
	}
	flags, overlay, ldflags := gocmd.SplitFlags(about.GOFLAGS, b.Flags)
	replace := gocmd.Overlay{}
	if overlay != "" {
		if replace, err = gocmd.ReadOverlay(b.Dir, overlay); err != nil {
			return nil, err
		}
	}
	named := filepath.Join(goroot, "src")
	if about.Trims(flags) {
		named = "" // as the go command names them
	}
	added, err := addAgent(about, named, work, b.Trace || b.Flight || b.Latency, replace)
	if err != nil {
		return nil, err
	}
	if _, ok := replace[filepath.Join(about.GOROOT, "src", filepath.FromSlash(requestsFile))]; b.Latency && !ok {
		return nil, fmt.Errorf("hone cannot measure request times in the net/http of %s, or in the overlay that replaces it", about.GOVERSION)
	}
	name, clause := filepath.Join(pkg.Dir, addedFile+".go"), pkg.clause
	covered := !b.Test && covers(about.GOFLAGS, flags)
	switch {
	case b.Test:
		name = filepath.Join(pkg.Dir, addedFile+"_test.go")
	case covered:
		name, clause = filepath.Join(about.GOROOT, "src", filepath.FromSlash(coverPackage), addedFile+".go"), path.Base(coverPackage)
	}
	file := filepath.Join(added, addedFile+".go")
	if err := os.WriteFile(file, fmt.Appendf(nil, "package %s\n\nimport _ %q\n", clause, agentPackage), 0o600); err != nil {
		return nil, err
	}
	replace[name] = file
	overlay = filepath.Join(work, "overlay.json")
	if err := replace.Write(overlay); err != nil {
		return nil, err
	}

	p := &built{name: pkg.name(b.Targets), dir: pkg.Dir, path: pkg.ImportPath}
	p.file = filepath.Join(work, p.name)
	if about.GOOS == "windows" {
		p.file += ".exe"
	}
	args := []string{"build"}
	if b.Test {
		args = []string{"test", "-c", "-vet=off"}
	}
	if flags, err = about.Naming(goroot, work, flags); err != nil {
		return nil, err
	}
	// The recorder asks the runtime when the next timer goes off, which is nobody's business but a debugger's.
	args = append(args, flags...)
	args = append(args, "-overlay="+overlay, "-ldflags="+strings.TrimSpace(ldflags+" -checklinkname=0"), "-o", p.file)
	args = append(args, b.Targets...)
	if pkg.files && !covered {
		args = append(args, filepath.Join(filepath.Dir(b.Targets[0]), addedFile+".go")) // named as the others are
	}
	if _, err := cmd.Run(ctx, args...); err != nil {
		return nil, b.wrong(err)
	}
	_, err = os.Stat(p.file)
	switch {
	case err == nil:
		return p, nil
	case about.Names("n") != "":
		return nil, hint.Errorf(hint.Text{"remove it from GOFLAGS"}, "building %s: GOFLAGS has -n, with which the go command builds nothing", b.name())
	case b.Test:
		return nil, fmt.Errorf("%s has no tests", b.name()) // go test -c says so and succeeds
	}
	return nil, fmt.Errorf("building %s: the go command wrote no program", b.name())
}

// covers reports whether the go command measures coverage.
func covers(goflags string, flags []string) (on bool) {
	for _, f := range slices.Concat(gocmd.Fields(goflags), flags) {
		switch name, value, _ := strings.Cut(strings.TrimLeft(f, "-"), "="); name {
		case "cover":
			said, err := strconv.ParseBool(value)
			on = said || err != nil
		case "covermode", "coverpkg":
			on = true
		}
	}
	return on
}

// An OwnError reports that the go command failed at a file that hone adds to the program: without hone, it would not.
type OwnError struct{ said gocmd.Error }

func (e *OwnError) Error() string { return e.said.Error() }

// Hint says what to do about it.
func (e *OwnError) Hint() hint.Text {
	return hint.Text{"this is about the file that hone adds to the program; ", hint.Command{Verb: "record", Behind: []string{"PROGRAM"}}, " records a built program without it"}
}

// wrong says what was being built when the go command failed.
func (b *Build) wrong(err error) error {
	doing := "building " + b.name()
	var wrong *gocmd.Error
	switch {
	case errors.As(err, &wrong) && strings.Contains(wrong.Output, strings.TrimSuffix(recording.RecorderFiles, "_")):
		return &OwnError{gocmd.Error{Doing: doing, Output: wrong.Output}}
	case errors.As(err, &wrong):
		return &gocmd.Error{Doing: doing, Output: wrong.Output}
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return fmt.Errorf("%w %s: %w", ErrBuilding, b.name(), err)
	}
	return fmt.Errorf("%s: %w", doing, err)
}

// semverOf returns a version of Go as package semver takes it, which finds those to be invalid that come before or after all releases: go1.27rc1, devel.
func semverOf(goversion string) string {
	version, _, _ := strings.Cut(strings.TrimPrefix(goversion, "go"), "-")
	version, _, _ = strings.Cut(version, " ")
	return "v" + version
}

// leaksExperiment returns what GOEXPERIMENT needs so that programs can find leaked goroutines. Since Go 1.27, all programs can, and there is no such
// experiment any more.
func leaksExperiment(goversion string) (string, error) {
	switch v := semverOf(goversion); {
	case !semver.IsValid(v) || semver.Compare(v, "v1.27") >= 0:
		return "", nil
	case semver.Compare(v, "v1.26") < 0:
		return "", fmt.Errorf("finding leaked goroutines needs Go 1.26 or later, but this is %s", goversion)
	}
	return "goroutineleakprofile", nil
}

// check refuses what the recorder does not run on.
func check(e gocmd.About, flight, tests bool) error {
	const oldest, flies = "v1.23", "v1.25"
	switch v := semverOf(e.GOVERSION); {
	case !semver.IsValid(v): // what comes after all versions
	case semver.Compare(v, oldest) < 0:
		next := hint.Text{hint.Command{Verb: "record", Behind: []string{"PROGRAM"}}, " records a program of any Go"}
		if tests {
			next = hint.Text{hint.Command{Verb: "record", Behind: []string{"./PKG.test", "-test.bench=."}}, " records what go test -c builds with any Go"}
		}
		return hint.Errorf(next, "building with the recorder needs Go 1.23 or later, but this is %s", e.GOVERSION)
	case flight && semver.Compare(v, flies) < 0:
		return hint.Errorf(hint.Text{hint.Option{Name: "trace"}, " writes all of one"}, "keeping the last part of an execution trace needs Go 1.25 or later, but this is %s", e.GOVERSION)
	}
	if e.GOOS != runtime.GOOS || e.GOARCH != runtime.GOARCH {
		return fmt.Errorf("the go command builds for %s/%s here, which does not run on %s/%s", e.GOOS, e.GOARCH, runtime.GOOS, runtime.GOARCH)
	}
	return nil
}

// A target is the package that is built.
type target struct {
	Dir, Name, ImportPath     string
	GoFiles, CgoFiles         []string
	TestGoFiles, XTestGoFiles []string
	Error                     *struct{ Err string }

	clause string // of the file that is added
	files  bool   // it was named by its files
}

func (b *Build) target(ctx context.Context, cmd gocmd.Command) (*target, error) {
	args := append([]string{"list", "-e", "-json=Dir,Name,ImportPath,GoFiles,CgoFiles,TestGoFiles,XTestGoFiles,Error"}, b.Flags...)
	out, err := cmd.Run(ctx, append(args, b.Targets...)...)
	if err != nil {
		return nil, b.wrong(err)
	}
	var found []*target
	for dec := json.NewDecoder(bytes.NewReader(out)); ; {
		t := &target{}
		if err := dec.Decode(t); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return nil, fmt.Errorf("reading the output of go list: %w", err)
		}
		found = append(found, t)
	}
	named := b.name()
	switch {
	case len(found) == 0:
		return nil, fmt.Errorf("%s matches no package", named)
	case len(found) > 1:
		return nil, b.oneOf(found)
	}
	t := found[0]
	if t.Error != nil && t.Name == "" {
		return nil, &gocmd.Error{Doing: "looking for " + named, Output: cmd.Shown(t.Error.Err)}
	}
	t.files = strings.HasSuffix(b.Targets[0], ".go")
	t.clause = t.Name
	if b.Test {
		if len(t.GoFiles)+len(t.CgoFiles)+len(t.TestGoFiles) == 0 && len(t.XTestGoFiles) > 0 {
			t.clause = strings.TrimSuffix(t.Name, "_test") + "_test"
		}
		if len(t.TestGoFiles)+len(t.XTestGoFiles) == 0 {
			return nil, fmt.Errorf("%s has no tests", named)
		}
		return t, nil
	}
	if t.Name != "main" {
		return nil, hint.Errorf(hint.Text{hint.Ask("record", named).With("test", ""), " records its tests"}, "%s is package %s, not a program", named, t.Name)
	}
	return t, nil
}

// oneOf says which of several packages can be recorded.
func (b *Build) oneOf(found []*target) error {
	const most = 5
	ask, what := hint.Ask("record"), "programs"
	if b.Test {
		ask, what = ask.With("test", ""), "tests"
	}
	var places []string
	for _, t := range found {
		if b.Test && len(t.TestGoFiles)+len(t.XTestGoFiles) > 0 || !b.Test && t.Name == "main" {
			places = append(places, b.place(t))
		}
	}
	if len(places) == 0 {
		return fmt.Errorf("%s matches %d packages, none of which has %s", b.name(), len(found), what)
	}
	ask.Args = places[:1]
	next := hint.Text{ask}
	switch n := len(places); {
	case n > most:
		next = append(next, "; of the packages with "+what+", these are the first: "+strings.Join(places[:most], ", "))
	case n > 1:
		next = append(next, "; the packages with "+what+" are "+strings.Join(places, ", "))
	}
	return hint.Errorf(next, "%s matches %d packages, but only one can be recorded at a time", b.name(), len(found))
}

// place is how to name a package where the user is.
func (b *Build) place(t *target) string {
	dir, err := filepath.Abs(b.Dir)
	if err != nil || b.named != "" {
		return t.Dir
	}
	switch rel, err := filepath.Rel(dir, t.Dir); {
	case err != nil || !filepath.IsLocal(rel):
		return t.ImportPath
	case rel == ".":
		return rel
	default:
		return "./" + filepath.ToSlash(rel)
	}
}

// name returns what a program is called: as go build would, but not v2.
func (t *target) name(targets []string) string {
	if t.files {
		return strings.TrimSuffix(filepath.Base(targets[0]), ".go")
	}
	elem := path.Base(t.ImportPath)
	if dir := path.Dir(t.ImportPath); isVersion(elem) && dir != "." {
		elem = path.Base(dir)
	}
	if elem == "." || elem == "/" || strings.HasPrefix(elem, "_") {
		elem = filepath.Base(t.Dir)
	}
	return elem
}

func isVersion(s string) bool {
	return len(s) > 1 && s[0] == 'v' && strings.Trim(s[1:], "0123456789") == ""
}
