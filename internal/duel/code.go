package duel

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/rogpeppe/go-internal/diff"

	"github.com/hone-perf/hone/internal/escape"
	"github.com/hone-perf/hone/internal/gocmd"
	"github.com/hone-perf/hone/internal/order"
	"github.com/hone-perf/hone/internal/profile"
	"github.com/hone-perf/hone/internal/recording"
)

// A codeSide is where the code of a version is.
type codeSide struct {
	dir    string // of its module
	module string // path
	pkg    string // folder of the benchmark's package in it, with slashes
	cmd    gocmd.Command
	flags  []string
}

// Bounds of what is kept.
const (
	maxCode     = 20 // functions
	maxDiffText = 8 << 10
	maxMessages = 12 // of the compiler about a function
)

// A declared function.
type declared struct {
	name     string // as profiles have it
	file     string // in the module
	from, to int    // lines
	text     string
	says     []string // the compiler about it
}

// A codeKey is what functions of both versions are matched by.
type codeKey struct{ dir, name string }

// changedCode says how the code of the functions in the profiles of two versions differs: those of the module, whose source
// or of which what the compiler says is another. Those that matter most come first.
func changedCode(ctx context.Context, old, new codeSide, before, after *profile.Profile) ([]recording.DuelCode, error) {
	// A function that a profile has no sample of is there all the same.
	oldNames, newNames := old.names(before), new.names(after)
	was, err := old.declared(ctx, oldNames, newNames)
	if err != nil {
		return nil, err
	}
	is, err := new.declared(ctx, newNames, oldNames)
	if err != nil {
		return nil, err
	}
	weight := make(map[codeKey]int64)
	old.weigh(before, weight)
	new.weigh(after, weight)
	var keys []codeKey
	for k := range weight {
		keys = append(keys, k)
	}
	order.Stable(keys, func(a, b codeKey) int {
		return cmp.Or(cmp.Compare(weight[b], weight[a]), cmp.Compare(a.dir, b.dir), cmp.Compare(a.name, b.name))
	})
	var out []recording.DuelCode
	for _, k := range keys {
		a, b := was[k], is[k]
		if a == nil && b == nil || len(out) == maxCode {
			continue
		}
		if c, differs := codeOf(a, b); differs {
			out = append(out, c)
		}
	}
	return out, nil
}

// code says how the code of what was profiled differs. That is more than was asked for, so what goes wrong is a note.
func (d *duel) code(ctx context.Context, r *row, why *recording.DuelWhy) []recording.DuelCode {
	old, okOld := r.old[0].code()
	new, okNew := r.new[0].code()
	if !okOld || !okNew || d.out.BuiltOnce {
		return nil
	}
	old.cmd, old.flags = d.opt.Old.command(), d.opt.Old.flags(d.opt.Flags)
	new.cmd, new.flags = d.opt.New.command(), d.opt.New.flags(d.opt.Flags)
	d.say("%s: changes in the code", r.Name)
	out, err := changedCode(ctx, old, new, why.Old, why.New)
	if err != nil && ctx.Err() == nil {
		d.out.Notes = append(d.out.Notes, fmt.Sprintf("%s: the changes in the code are unknown: %v", r.Name, err))
	}
	return out
}

// code returns where the code of a program is.
func (p *program) code() (codeSide, bool) {
	if p.from == nil || p.from.Dir == "" {
		return codeSide{}, false
	}
	dir, err := filepath.Rel(p.from.Dir, p.dir)
	return codeSide{dir: p.from.Dir, module: p.from.Path, pkg: filepath.ToSlash(dir)}, err == nil && filepath.IsLocal(dir)
}

// codeOf says how two versions of a function differ. One of them may be nil.
func codeOf(a, b *declared) (c recording.DuelCode, differs bool) {
	empty := &declared{}
	c.Function = cmp.Or(b, a).name
	if a == nil {
		a = empty
	}
	if b == nil {
		b = empty
	}
	if a.text != b.text {
		text := diff.Diff("old/"+a.file, []byte(a.text), "new/"+b.file, []byte(b.text))
		if _, rest, ok := bytes.Cut(text, []byte("\n")); ok {
			text = rest // which names both once more
		}
		if len(text) > maxDiffText {
			text = append(text[:bytes.LastIndexByte(text[:maxDiffText], '\n')+1], "…\n"...)
		}
		c.Diff = string(text)
	}
	c.Lost, c.Gained = without(a.says, b.says), without(b.says, a.says)
	return c, c.Diff != "" || len(c.Lost)+len(c.Gained) > 0
}

// without returns what is more often in a than in b.
func without(a, b []string) []string {
	have := make(map[string]int)
	for _, s := range b {
		have[s]++
	}
	var out []string
	for _, s := range a {
		if have[s]--; have[s] < 0 && len(out) < maxMessages {
			out = append(out, s)
		}
	}
	return out
}

// place returns the file of a function in the module, with slashes, where it is in it.
func (s codeSide) place(file string) (string, bool) {
	return strings.CutPrefix(file, s.module+"/")
}

// key returns what a function of a profile is matched by.
func (s codeSide) key(fn *profile.Function) (k codeKey, ok bool) {
	file, ok := s.place(fn.File)
	if !ok {
		return k, false
	}
	declared, part := profile.CutPart(fn.Name)
	for part != profile.Declared {
		declared, part = profile.CutPart(declared)
	}
	_, name, ok := strings.Cut(path.Base(declared), ".")
	if !ok {
		return k, false
	}
	if strings.HasPrefix(name, "init.") {
		name = "init" // the number tells those of a package apart
	}
	name = strings.ReplaceAll(name, "[...]", "")
	return codeKey{s.folder(path.Dir(file)), name}, true
}

// folder returns the folder of a package as both versions have it: that of the benchmark may be called otherwise.
func (s codeSide) folder(dir string) string {
	if dir == s.pkg {
		return "."
	}
	return "/" + dir
}

// dirOf returns the folder of a function in the module.
func (s codeSide) dirOf(k codeKey) string {
	if dir, ok := strings.CutPrefix(k.dir, "/"); ok {
		return dir
	}
	return s.pkg
}

// weigh adds up what functions of the module cost with what they call.
func (s codeSide) weigh(p *profile.Profile, weight map[codeKey]int64) {
	if len(p.SampleTypes) == 0 {
		return
	}
	values := p.Values(len(p.SampleTypes) - 1)
	var buf []uint32
	for i, v := range values {
		buf = p.Stack(i, buf[:0])
		seen := make(map[codeKey]bool)
		for _, l := range buf {
			for _, line := range p.Locations[l].Lines {
				if k, ok := s.key(&p.Functions[line.Function]); ok && !seen[k] {
					seen[k] = true
					weight[k] += v
				}
			}
		}
	}
}

// names returns the functions of the module that a profile has, as it calls them.
func (s codeSide) names(p *profile.Profile) map[codeKey]string {
	names := make(map[codeKey]string)
	for i := range p.Functions {
		fn := &p.Functions[i]
		k, ok := s.key(fn)
		if !ok || strings.HasSuffix(fn.File, "_test.go") {
			continue
		}
		pkg, _, _ := strings.Cut(strings.TrimPrefix(fn.Name, path.Dir(fn.Name)+"/"), ".")
		names[k] = path.Join(path.Dir(fn.Name), pkg) + "." + k.name
	}
	return names
}

// declared finds the functions that the profile of this side names, and those that only the profile of the other side names.
func (s codeSide) declared(ctx context.Context, own, others map[codeKey]string) (map[codeKey]*declared, error) {
	dirs := make(map[string]bool)
	for _, names := range []map[codeKey]string{own, others} {
		for k := range names {
			dirs[s.dirOf(k)] = true
		}
	}
	out := make(map[codeKey]*declared)
	var patterns []string
	for dir := range dirs {
		found, err := s.parse(dir)
		if err != nil {
			return nil, err
		}
		for k, d := range found {
			if d.name = cmp.Or(own[k], others[k]); d.name != "" {
				out[k] = d
			}
		}
		if len(found) > 0 {
			patterns = append(patterns, "./"+dir)
		}
	}
	slices.Sort(patterns)
	if len(patterns) == 0 {
		return out, nil
	}
	return out, s.compiled(ctx, patterns, out)
}

// parse reads the functions of a package.
func (s codeSide) parse(dir string) (map[codeKey]*declared, error) {
	out := make(map[codeKey]*declared)
	files, err := gocmd.Files(filepath.Join(s.dir, filepath.FromSlash(dir)), "*.go")
	if err != nil {
		return nil, err
	}
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		text, err := os.ReadFile(name)
		if err != nil {
			return nil, err
		}
		set := token.NewFileSet()
		f, err := parser.ParseFile(set, name, text, parser.SkipObjectResolution)
		if err != nil {
			continue // it was built without this file
		}
		for _, d := range f.Decls {
			fn, ok := d.(*ast.FuncDecl)
			if !ok || fn.Body == nil {
				continue
			}
			from, to := set.Position(fn.Pos()), set.Position(fn.End())
			out[codeKey{s.folder(dir), nameOf(fn)}] = &declared{
				file: path.Join(dir, filepath.Base(name)), from: from.Line, to: to.Line,
				text: string(text[from.Offset:to.Offset]) + "\n",
			}
		}
	}
	return out, nil
}

// nameOf returns the name of a function as profiles have it, without types that it is instantiated with.
func nameOf(fn *ast.FuncDecl) string {
	if fn.Recv == nil || len(fn.Recv.List) == 0 {
		return fn.Name.Name
	}
	t, star := fn.Recv.List[0].Type, false
	if p, ok := t.(*ast.StarExpr); ok {
		t, star = p.X, true
	}
	switch x := t.(type) {
	case *ast.IndexExpr:
		t = x.X
	case *ast.IndexListExpr:
		t = x.X
	}
	id, ok := t.(*ast.Ident)
	switch {
	case !ok:
		return fn.Name.Name
	case star:
		return "(*" + id.Name + ")." + fn.Name.Name
	}
	return id.Name + "." + fn.Name.Name
}

// compiled adds what the compiler says about functions.
func (s codeSide) compiled(ctx context.Context, patterns []string, fns map[codeKey]*declared) error {
	args := append([]string{"build", "-gcflags=-m", "-o", os.DevNull}, s.flags...)
	cmd := s.cmd
	cmd.Dir = s.dir
	text, err := cmd.Said(ctx, append(args, patterns...)...)
	if err != nil {
		var wrong *gocmd.Error
		if errors.As(err, &wrong) {
			return nil // it was built otherwise, and this is only more about it
		}
		return err
	}
	said, err := escape.ReadText(bytes.NewReader(text), "")
	if err != nil {
		return err
	}
	byFile := make(map[string][]*declared)
	for _, d := range fns {
		byFile[d.file] = append(byFile[d.file], d)
	}
	for i := range said.Remarks {
		r := &said.Remarks[i]
		if !telling(r) {
			continue
		}
		for _, d := range byFile[path.Clean(filepath.ToSlash(r.File))] {
			if d.from <= r.Line && r.Line <= d.to {
				d.says = append(d.says, r.String())
			}
		}
	}
	return nil
}

// telling reports whether what the compiler says is about what costs.
func telling(r *escape.Remark) bool { return r.OnHeap() || r.Kind == escape.Inlined }
