package duel

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"maps"
	"math"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/hone-perf/hone/internal/profile"
	"github.com/hone-perf/hone/internal/recording"
	"github.com/hone-perf/hone/internal/scratch"
	"github.com/hone-perf/hone/internal/stat"
)

// Two versions of a benchmark that run the same machine code still differ in time where the linker puts that code elsewhere in memory.
// Linking in other orders does not help: some orders are good or bad for one side only. So the compiler is asked for what it makes of both
// sides before linking, where calls and data have names in place of addresses.

// Bounds of what is looked at. Beyond them, nobody knows whether the code is the same.
const (
	maxListed = 300     // packages that do not come with Go
	maxFiles  = 20_000  // of a module
	maxData   = 8 << 20 // of a file
)

// mostPlaced is how much longer or shorter the same code may take because of where it is in memory. The most that was seen is a fifth.
const mostPlaced = 0.3

// built is how both sides of a package were built.
type built struct {
	builders [2]*builder
	pkgs     [2]*pkg
	tests    *pkg // of the old side, in place of its own
	listings *[2]*listing
	err      error
}

// A listing is what the compiler made of a side.
type listing struct {
	symbols map[string]*symbol
	roots   []string          // run before every benchmark
	benches map[string]string // symbols of functions in tests of the package, by name
	inputs  map[string]string // what else goes into the program, by name
}

// A symbol is code or data.
type symbol struct {
	text string // without names of others
	code bool
	uses []string // names of others, in the order of text
}

// sameCode finds the benchmarks that would not be called the same, although all code that they run is.
func (d *duel) sameCode(ctx context.Context) error {
	for _, r := range d.rows {
		if r.Error != "" || r.Only != "" || r.built == nil || len(r.Pairs) == 0 {
			continue
		}
		ds := recording.Ratios(r.Pairs, r.Unit)
		c := d.opt.Plan.Conclude(ds)
		if len(ds) == 0 || c.Verdict == stat.Same {
			continue
		}
		d.say("%s: whether its code is the same", r.Name)
		lists, err := r.built.list(ctx)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil {
			continue // nobody knows, so the measurements stand
		}
		name, _, _ := strings.Cut(r.Name, "/")
		all, own := false, false
		if r.reached, all = reachSame(lists, "Benchmark"+name); !all && d.opt.Layouts <= 1 && math.Abs(c.Ratio-1) < mostPlaced {
			r.reached, own = reachOwn(lists, "Benchmark"+name)
		}
		if !all && !own {
			continue
		}
		same, err := d.sameRan(ctx, r, own)
		if err != nil {
			return err
		}
		r.SameCode, r.SameOwn = all && same, own && same
	}
	return nil
}

// sameRan reports whether all code that runs in a benchmark is the same, also what it calls in a way that no name shows.
func (d *duel) sameRan(ctx context.Context, r *row, own bool) (bool, error) {
	work, err := scratch.Dir("work-")
	if err != nil {
		return false, err
	}
	defer os.RemoveAll(work)
	d.say("%s: which functions run", r.Name)
	why, err := d.profile(ctx, r, recording.CPU, work, sameTime)
	if ctx.Err() != nil {
		return false, ctx.Err()
	}
	return err == nil && r.sameIn(own, why.Old, why.New), nil
}

// inits are the functions of the runtime that call init functions.
var inits = []string{"runtime.doInit", "runtime.doInit1"}

// ran returns the functions that a profile has samples of, with own without those that only init functions call.
func ran(p *profile.Profile, own bool) map[string]bool {
	names := make(map[string]bool)
	var buf []uint32
	for i := range p.NumSamples() {
		var stack []string
		buf = p.Stack(i, buf[:0])
		for _, l := range buf {
			for _, line := range p.Locations[l].Lines {
				stack = append(stack, p.Functions[line.Function].Name)
			}
		}
		if own && slices.ContainsFunc(stack, func(name string) bool { return slices.Contains(inits, name) }) {
			continue
		}
		for _, name := range stack {
			names[name] = true
		}
	}
	return names
}

// sameIn reports whether all code that profiles of both sides show is the same.
func (r *row) sameIn(own bool, profiles ...*profile.Profile) bool {
	lists := r.built.listings
	for i, p := range profiles {
		for name := range ran(p, own) {
			if own && lists[i].before(name) {
				continue // TestMain is on the stacks of all benchmarks
			}
			// What has no symbol of its own is inlined, and part of what was compared. What has one may be inlined here, too.
			if s := lists[i].symbols[name]; s == nil || !s.code || r.reached[name] {
				continue
			}
			if _, same := reachFrom(lists, name); !same {
				return false
			}
		}
	}
	return true
}

// errOtherBuild is that both sides are not built in the same way.
var errOtherBuild = errors.New("the sides are built or run in different ways")

// list compiles both sides.
func (b *built) list(ctx context.Context) (*[2]*listing, error) {
	if b.listings != nil || b.err != nil {
		return b.listings, b.err
	}
	b.err = errOtherBuild
	old, new := b.builders[0], b.builders[1]
	gcflags := func(s string) bool { return strings.Contains(s, "gcflags") }
	if old == new || b.pkgs[0].ImportPath != b.pkgs[1].ImportPath || !sameFolder(old.about.GOROOT, new.about.GOROOT) || old.about.GOVERSION != new.about.GOVERSION ||
		old.side.Tool != new.side.Tool || !slices.Equal(old.side.BuildEnv, new.side.BuildEnv) || !slices.Equal(old.side.Env, new.side.Env) ||
		old.about.GOEXPERIMENT != new.about.GOEXPERIMENT || old.about.GOFLAGS != new.about.GOFLAGS || !slices.Equal(old.flags, new.flags) ||
		old.ldflags != new.ldflags || gcflags(old.about.GOFLAGS) || slices.ContainsFunc(old.flags, gcflags) {
		return nil, b.err
	}
	var lists [2]*listing
	for i, builder := range b.builders {
		tests := b.tests
		if i == 1 {
			tests = nil
		}
		if lists[i], b.err = builder.listing(ctx, b.pkgs[i], tests); b.err != nil {
			return nil, b.err
		}
	}
	if !maps.Equal(lists[0].inputs, lists[1].inputs) {
		b.err = errOtherBuild
		return nil, b.err
	}
	if b.err = sameData(b.pkgs[0].Module, b.pkgs[1].Module); b.err != nil {
		return nil, b.err
	}
	b.listings = &lists
	return b.listings, nil
}

// sameFolder reports whether two names are of one folder. The GOROOT of a Go that the go command fetched is a link in the folder of each side.
func sameFolder(a, b string) bool {
	x, err := filepath.EvalSymlinks(a)
	if err != nil {
		return false
	}
	y, err := filepath.EvalSymlinks(b)
	return err == nil && x == y
}

// listing compiles the tests of a package as build does, without linking them.
func (b *builder) listing(ctx context.Context, p, tests *pkg) (*listing, error) {
	file, err := b.writeOverlay(p, tests)
	if err != nil {
		return nil, err
	}
	flags := slices.Concat([]string{"-trimpath", "-buildvcs=false"}, b.flags, []string{"-overlay=" + file})
	out, err := b.cmd.Run(ctx, slices.Concat([]string{"list", "-deps", "-test", "-json"}, flags, []string{p.ImportPath})...)
	if err != nil {
		return nil, err
	}
	l := &listing{symbols: make(map[string]*symbol), benches: make(map[string]string), inputs: make(map[string]string)}
	paths := make(map[string]bool)
	for dec := json.NewDecoder(bytes.NewReader(out)); ; {
		var q struct {
			Dir, ImportPath, DefaultGODEBUG string
			Standard                        bool

			CgoFiles, CFiles, CXXFiles, MFiles, HFiles, FFiles, SFiles, SwigFiles, SwigCXXFiles, SysoFiles, EmbedFiles []string
			TestEmbedFiles, XTestEmbedFiles                                                                            []string
		}
		if err := dec.Decode(&q); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return nil, err
		}
		if q.Standard {
			continue
		}
		l.inputs[q.ImportPath] = q.DefaultGODEBUG
		name, _, _ := strings.Cut(q.ImportPath, " ")
		paths[name] = true
		for _, f := range slices.Concat(q.CgoFiles, q.CFiles, q.CXXFiles, q.MFiles, q.HFiles, q.FFiles, q.SFiles, q.SwigFiles, q.SwigCXXFiles,
			q.SysoFiles, q.EmbedFiles, q.TestEmbedFiles, q.XTestEmbedFiles) {
			if filepath.IsAbs(f) {
				continue // made by the go command, from one of the others
			}
			text, err := os.ReadFile(filepath.Join(q.Dir, f))
			if err != nil {
				return nil, err
			}
			l.inputs[q.ImportPath+" "+f] = string(text)
		}
	}
	if len(paths) > maxListed {
		return nil, errors.New("too many packages")
	}
	args := slices.Concat([]string{"test", "-c", "-vet=off"}, flags)
	for _, name := range slices.Sorted(maps.Keys(paths)) {
		args = append(args, "-gcflags="+name+"=-S")
	}
	said, err := b.cmd.Said(ctx, append(args, "-ldflags=-w "+b.ldflags, "-o", os.DevNull, p.ImportPath)...)
	if err != nil {
		return nil, err
	}
	return l, l.read(string(said), p.ImportPath)
}

// forms are the lines that the compiler prints, and the names that matter.
type forms struct {
	symbol, uses, code, size *regexp.Regexp
	init                     *regexp.Regexp // what runs before every benchmark
	numbered                 *regexp.Regexp // data without a name, which the compiler numbers in each package
}

var formsOf = sync.OnceValue(func() *forms {
	return &forms{
		symbol:   regexp.MustCompile(`^(\S.*) (S[A-Z]+) (.*size=\d+.*)$`),
		uses:     regexp.MustCompile(`^\trel (\S+ t=\S+) (.*?)((?:\+-?\d+)?)$`),
		code:     regexp.MustCompile(`^\t0x[0-9a-f]+ (?:[0-9a-f]{2} )*[0-9a-f]{2}(?: |$)`),
		size:     regexp.MustCompile(`size=(\d+)`),
		init:     regexp.MustCompile(`^(init(\.\d+)?|map\.init\.\d+|TestMain)$`),
		numbered: regexp.MustCompile(`\.\.stmp_\d+$`),
	}
})

// errListing is that the compiler writes in another form than this package knows.
var errListing = errors.New("the compiler prints code in an unknown form")

// read reads what go test -gcflags=-S prints.
func (l *listing) read(said, pkg string) error {
	form := formsOf()
	tests, skip := false, false
	var s *symbol
	var of string // name of s
	missing := 0  // bytes of the code of s
	add := func() bool {
		switch was := l.symbols[of]; {
		case s == nil:
		case was == nil:
			l.symbols[of] = s
		case was.text != s.text || !slices.Equal(was.uses, s.uses): // packages may have one each, and the linker takes any
			was.text += s.text
			was.uses = append(was.uses, s.uses...)
		}
		s = nil
		return missing == 0
	}
	for line := range strings.Lines(said) {
		line = strings.TrimSuffix(line, "\n")
		if name, ok := strings.CutPrefix(line, "# "); ok {
			name, _, _ = strings.Cut(name, " [")
			tests, skip = name == pkg || name == pkg+"_test", name == pkg+".test"
			if !add() {
				return errListing
			}
			continue
		}
		if skip {
			continue // the list of all tests
		}
		if m := form.symbol.FindStringSubmatch(line); m != nil {
			if !add() {
				return errListing
			}
			of, s = m[1], &symbol{text: m[2] + " " + m[3] + "\n", code: m[2] == "STEXT"}
			_, short, _ := strings.Cut(path.Base(m[1]), ".")
			if form.init.MatchString(short) {
				l.roots = append(l.roots, m[1])
			}
			if s.code {
				missing, _ = strconv.Atoi(form.size.FindStringSubmatch(m[3])[1])
			}
			if tests && s.code {
				l.benches[short] = m[1]
			}
			continue
		}
		switch {
		case s == nil:
		case form.code.MatchString(line):
			code := form.code.FindString(line)
			s.text += code + "\n"
			if s.code {
				missing -= len(strings.Fields(code)) - 1
			}
		case strings.HasPrefix(line, "\trel "):
			m := form.uses.FindStringSubmatch(line)
			if m == nil {
				return errListing
			}
			s.text += m[1] + m[3] + "\n"
			s.uses = append(s.uses, m[2])
		}
	}
	if !add() {
		return errListing
	}
	return nil
}

// reachSame reports whether a benchmark reaches the same code and data on both sides, and what it reaches.
func reachSame(lists *[2]*listing, bench string) (reached map[string]bool, same bool) {
	old, new := lists[0], lists[1]
	if old.benches[bench] == "" || old.benches[bench] != new.benches[bench] || !slices.Equal(slices.Sorted(slices.Values(old.roots)), slices.Sorted(slices.Values(new.roots))) {
		return nil, false
	}
	return reachFrom(lists, append(slices.Clone(old.roots), old.benches[bench])...)
}

// reachOwn is reachSame without what runs before all benchmarks.
func reachOwn(lists *[2]*listing, bench string) (reached map[string]bool, same bool) {
	name := lists[0].benches[bench]
	if name == "" || name != lists[1].benches[bench] {
		return nil, false
	}
	return reachFrom(lists, name)
}

// before reports whether a function is one that runs before every benchmark.
func (l *listing) before(name string) bool { return slices.Contains(l.roots, name) }

// reachFrom reports whether functions reach the same code and data on both sides, and what they reach.
func reachFrom(lists *[2]*listing, names ...string) (reached map[string]bool, same bool) {
	form := formsOf()
	type pair struct{ old, new string }
	seen := make(map[pair]bool)
	var work []pair
	for _, name := range names {
		work = append(work, pair{name, name})
	}
	reached = make(map[string]bool)
	for len(work) > 0 {
		n := work[len(work)-1]
		work = work[:len(work)-1]
		if seen[n] {
			continue
		}
		seen[n] = true
		if n.old != n.new && (!form.numbered.MatchString(n.old) || !form.numbered.MatchString(n.new)) {
			return nil, false
		}
		a, b := lists[0].symbols[n.old], lists[1].symbols[n.new]
		if a == nil && b == nil {
			continue // of a package that comes with Go
		}
		if a == nil || b == nil || a.text != b.text || len(a.uses) != len(b.uses) {
			return nil, false
		}
		reached[n.new] = true
		for i := range a.uses {
			work = append(work, pair{a.uses[i], b.uses[i]})
		}
	}
	return reached, true
}

// sameData looks for files that a benchmark may read and that the change touched.
func sameData(old, new *module) error {
	if old == nil || new == nil || old.Dir == "" || new.Dir == "" {
		return errOtherBuild
	}
	a, err := dataOf(old.Dir)
	if err != nil {
		return err
	}
	b, err := dataOf(new.Dir)
	if err != nil {
		return err
	}
	other := errors.New("files that it may read differ")
	test := func(name string) bool { return strings.Contains("/"+name, "/testdata/") }
	for name, size := range a {
		if is, ok := b[name]; ok && is == size {
			x, err := os.ReadFile(filepath.Join(old.Dir, filepath.FromSlash(name)))
			if err != nil {
				return err
			}
			y, err := os.ReadFile(filepath.Join(new.Dir, filepath.FromSlash(name)))
			if err != nil {
				return err
			}
			if !bytes.Equal(x, y) {
				return other
			}
		} else if ok || test(name) {
			return other
		}
	}
	for name := range b {
		if _, ok := a[name]; !ok && test(name) {
			return other
		}
	}
	return nil
}

// dataOf returns the sizes of files of a module that are not compiled and are no documentation.
func dataOf(dir string) (map[string]int64, error) {
	files, n := make(map[string]int64), 0
	err := filepath.WalkDir(dir, func(name string, e fs.DirEntry, err error) error {
		if err != nil || name == dir {
			return err
		}
		if strings.HasPrefix(e.Name(), ".") {
			if e.IsDir() {
				return fs.SkipDir
			}
			return nil
		}
		if !e.Type().IsRegular() {
			return nil
		}
		if n++; n > maxFiles {
			return errors.New("too many files")
		}
		rel, err := filepath.Rel(dir, name)
		if err != nil {
			return err
		}
		rel = filepath.ToSlash(rel)
		if !strings.Contains("/"+rel, "/testdata/") && (rel == "go.mod" || rel == "go.sum" || slices.Contains([]string{".go", ".md"}, path.Ext(rel))) {
			return nil
		}
		info, err := e.Info()
		if err != nil {
			return err
		}
		if info.Size() > maxData {
			return errors.New("too large a file")
		}
		files[rel] = info.Size()
		return nil
	})
	return files, err
}
