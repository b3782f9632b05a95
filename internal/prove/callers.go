package prove

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"go/ast"
	"go/scanner"
	"go/token"
	"go/types"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/hone-perf/hone/internal/gocmd"
	"github.com/hone-perf/hone/internal/report"
)

// mostCallers is how many other packages are called for what changed in one: each takes a build of both versions.
const mostCallers = 2

// callers finds packages of the module that import one that changed, and did not change themselves.
func (r *run) callers(ctx context.Context, p *pair) []string {
	patterns, err := p.new.version.patterns()
	if err != nil {
		return nil
	}
	out, err := p.new.version.goIn(p.new.version.Dir).Run(ctx, append([]string{"list", "-e", "-f", "{{.Dir}}\t{{range .Imports}}{{.}} {{end}}"}, patterns...)...)
	if err != nil {
		return nil // such as a folder that is no module
	}
	var dirs []string
	for line := range strings.Lines(string(out)) {
		dir, imports, _ := strings.Cut(strings.TrimSpace(line), "\t")
		rel, err := filepath.Rel(p.new.version.Dir, dir)
		if err != nil || !filepath.IsLocal(rel) || slices.Contains(r.dirs, rel) || !slices.Contains(strings.Fields(imports), p.new.pkg.PkgPath) {
			continue
		}
		if hasGoFiles(filepath.Join(p.old.version.Dir, rel)) {
			dirs = append(dirs, rel)
		}
	}
	slices.Sort(dirs)
	return dirs
}

// wantsCallers reports whether calls within the package left something of the change open.
func (r *run) wantsCallers(s *surface, f *search) bool {
	far := r.reach(s, f)
	return slices.ContainsFunc(s.targets, func(t *target) bool {
		if t.gone || t.distance > 0 {
			return false
		}
		return t.entry == nil || f == nil || f.states[t].compared() < min(callsNeeded, s.needs(t.entry, t.key, far)) || far[t.key].missed > 0
	})
}

// mostLoaded is how many packages are loaded to find those that are called: that takes as long as compiling them and their tests twice.
const mostLoaded = 2 * mostCallers

// naming returns the folders whose files name something that the change affects, those that do so most often first, and not more than are
// loaded. A package can only call what it names.
func (p *pair) naming(dirs []string) []string {
	names := make(map[string]bool)
	add := func(key string) { names[key[strings.LastIndexByte(key, '.')+1:]] = true }
	affected := p.changed()
	for key := range affected {
		add(key)
	}
	for was, key := range p.old.renamed {
		if _, ok := affected[key]; ok {
			add(was)
		}
	}
	often := make(map[string]int)
	for _, dir := range dirs {
		files, _ := filepath.Glob(filepath.Join(p.new.version.Dir, dir, "*.go"))
		for _, file := range files {
			text, err := os.ReadFile(file)
			if err != nil || strings.HasSuffix(file, "_test.go") {
				continue
			}
			var scan scanner.Scanner
			scan.Init(token.NewFileSet().AddFile(file, -1, len(text)), text, nil, 0)
			for _, tok, lit := scan.Scan(); tok != token.EOF; _, tok, lit = scan.Scan() {
				if tok == token.IDENT && names[lit] {
					often[dir]++
				}
			}
		}
	}
	dirs = slices.DeleteFunc(slices.Clone(dirs), func(dir string) bool { return often[dir] == 0 })
	slices.SortStableFunc(dirs, func(a, b string) int { return cmp.Compare(often[b], often[a]) })
	return dirs[:min(len(dirs), mostLoaded)]
}

// callFrom calls what changed in a package from others that use it, which know how to.
func (r *run) callFrom(ctx context.Context, p *pair, s *surface, dirs []string, opt Options, work func(side int) string) (from []report.Tried, err error) {
	if dirs = p.naming(dirs); len(dirs) == 0 {
		return nil, nil
	}
	r.opt.Say("loading packages that use " + p.new.pkg.PkgPath)
	pairs, _, err := pairUp(ctx, r.change, dirs)
	var broken *BrokenError
	if errors.As(err, &broken) {
		return nil, nil // the checks say so
	}
	if err != nil {
		return nil, err
	}
	var list []*surface
	for _, c := range pairs {
		c.called = p
		d, err := findDanger(ctx, c.old, c.new)
		if err != nil {
			return nil, err
		}
		d.refused = true
		cs := newSurface(c, d)
		cs.addPromoted()
		cs.targets = slices.DeleteFunc(cs.targets, func(t *target) bool { return t.entry == nil })
		if len(cs.targets) > 0 {
			list = append(list, cs)
		}
	}
	slices.SortStableFunc(list, func(a, b *surface) int { return cmp.Compare(len(b.targets), len(a.targets)) })
	list = list[:min(len(list), mostCallers)]
	for i, cs := range list {
		opt := opt
		opt.Time /= time.Duration(len(list))
		f, err := r.search(ctx, cs, opt, func(side int) string { return fmt.Sprintf("%s-caller%d", work(side), i) })
		var wrong *gocmd.Error
		if errors.As(err, &wrong) {
			continue // such as a package whose files are made by cgo
		}
		if err != nil {
			return nil, fmt.Errorf("calling it from %s: %w", cs.new.pkg.PkgPath, err)
		}
		if f != nil {
			s.calledFrom(f)
			from = append(from, f.triedFrom()...)
		}
	}
	return from, nil
}

// calledFrom adds what calls from another package reached.
func (s *surface) calledFrom(f *search) {
	for side := range s.away {
		if s.away[side] == nil {
			s.away[side] = make([]bool, len(f.away[side]))
		}
		for i, ran := range f.away[side] {
			s.away[side][i] = s.away[side][i] || ran
		}
	}
	if s.awayHad == nil {
		s.awayHad = make(map[string]int)
	}
	for t, st := range f.states {
		reached := make(map[string]bool)
		for _, used := range f.awayFrom(t.key) {
			for _, to := range s.targets {
				if to.key == used || s.reaches(used, to.key) {
					reached[to.key] = true
				}
			}
		}
		for key := range reached {
			s.awayHad[key] += st.compared()
		}
	}
}

// triedFrom says how often functions of another package were called.
func (f *search) triedFrom() []report.Tried {
	var out []report.Tried
	for _, t := range f.targets {
		if st := f.states[t]; st != nil && st.executions+st.veiled > 0 {
			in := report.Tried{Name: f.new.pkg.Types.Name() + "." + t.name, File: t.file, Line: t.line, Executions: st.executions - st.partly, Partly: st.partly + st.veiled}
			for i, b := range f.files[1].blocks {
				if b.key == t.key {
					in.Blocks++
					if f.covered[1][i] {
						in.Reached++
					}
				}
			}
			out = append(out, in)
		}
	}
	return out
}

// awayUses returns what a declaration uses of the changed package, by key, where that is affected by the change.
func (p *pair) awayUses(v *side, d *decl, affected map[string]int) []string {
	path, in := p.called.new.pkg.PkgPath, p.called.new
	if v == p.old {
		path, in = p.called.old.pkg.PkgPath, p.called.old
	}
	var out []string
	ast.Inspect(d.node, func(n ast.Node) bool {
		id, ok := n.(*ast.Ident)
		if !ok {
			return true
		}
		obj := v.pkg.TypesInfo.Uses[id]
		if obj == nil || obj.Pkg() == nil || obj.Pkg().Path() != path {
			return true
		}
		key := obj.Name()
		if fn, ok := obj.(*types.Func); ok {
			if recv := fn.Origin().Signature().Recv(); recv != nil {
				if named, ok := base(recv.Type()).(*types.Named); ok {
					key = named.Obj().Name() + "." + key
				}
			}
		}
		key = in.named(key)
		if _, ok := affected[key]; ok && !slices.Contains(out, key) {
			out = append(out, key)
		}
		return true
	})
	return out
}

// awayFrom returns what a function uses of the changed package, directly or not, the nearest first.
func (s *surface) awayFrom(key string) []string {
	affected := s.called.changed()
	seen := map[string]bool{key: true}
	queue := []string{key}
	var out []string
	for len(queue) > 0 {
		at := queue[0]
		queue = queue[1:]
		for _, v := range []*side{s.new, s.old} {
			d := v.decls[at]
			if d == nil {
				continue
			}
			for _, used := range s.awayUses(v, d, affected) {
				if !slices.Contains(out, used) {
					out = append(out, used)
				}
			}
			for _, u := range d.uses {
				if !seen[u] {
					seen[u] = true
					queue = append(queue, u)
				}
			}
		}
	}
	return out
}
