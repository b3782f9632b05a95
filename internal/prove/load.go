package prove

import (
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
	"sync"

	"golang.org/x/tools/go/packages"

	"github.com/hone-perf/hone/internal/gocmd"
	"github.com/hone-perf/hone/internal/gotypes"
)

// A side is one version of a package: what the compiler knows of it, and of its tests.
type side struct {
	version Version
	rel     string // folder, in the version, with slashes
	dir     string
	pkg     *packages.Package // with the tests that are in the package
	outer   *packages.Package // the tests outside of it, or nil
	tests   []string          // names of the files with tests
	decls   map[string]*decl
	renamed map[string]string // key of a function → its key in the new version, where that is another one
}

// A decl is a declaration of a package.
type decl struct {
	key  string // name, or Type.name
	obj  types.Object
	node ast.Node
	text string // its tokens
	body string // those of the body of a function
	uses []string
	test bool
}

func (d *decl) isFunc() bool {
	_, ok := d.obj.(*types.Func)
	return ok
}

// A pair is both versions of a package.
type pair struct {
	rel      string // folder, in the versions
	old, new *side
	called   *pair // another package, which changed, and which this one only uses; usually nil
}

// pairUp loads both versions of the packages in dirs. The notes say what could not be loaded in both.
func pairUp(ctx context.Context, c *Change, dirs []string) (pairs []*pair, notes []string, err error) {
	if c.first("load") {
		// Both load at the same time, and with an empty build cache, each would compile the whole standard library.
		args := append([]string{"-test", "-pgo=off"}, goPatterns(c.Old, dirs)...)
		if err := compile(ctx, c.Old.goIn(c.Old.Dir), args...); err != nil {
			return nil, nil, err
		}
	}
	// The go command compiles what each of them imports, which uses more than one core only in part.
	var old, now map[string]*side
	var oldErr error
	var wg sync.WaitGroup
	wg.Go(func() { old, oldErr = loadSides(ctx, c.Old, dirs) })
	now, err = loadSides(ctx, c.New, dirs)
	wg.Wait()
	var broken *BrokenError
	if errors.As(oldErr, &broken) {
		return nil, nil, fmt.Errorf("the old version, %s, does not build, so there is no comparison: %w", c.Old.Name, oldErr)
	}
	if oldErr != nil {
		return nil, nil, fmt.Errorf("loading %s: %w", c.Old.Name, oldErr)
	}
	if errors.As(err, &broken) {
		broken.New = true
	}
	if err != nil {
		return nil, nil, fmt.Errorf("loading %s: %w", c.New.Name, err)
	}
	for _, dir := range dirs {
		switch a, b := old[dir], now[dir]; {
		case a == nil && b == nil:
		case a == nil:
			notes = append(notes, fmt.Sprintf("package %s is new, so there is no comparison", shownDir(dir)))
		case b == nil:
			notes = append(notes, fmt.Sprintf("package %s was removed", shownDir(dir)))
		default:
			p := &pair{rel: dir, old: a, new: b}
			p.pairRenamed()
			pairs = append(pairs, p)
		}
	}
	return pairs, notes, nil
}

func shownDir(dir string) string {
	if dir == "." {
		return "here"
	}
	return filepath.ToSlash(dir)
}

// A BrokenError reports that a version does not compile.
type BrokenError struct {
	Text string
	New  bool // it is the new one
}

func (e *BrokenError) Error() string { return e.Text }

// goPatterns names the folders with Go files, for the go command.
func goPatterns(v Version, dirs []string) []string {
	var patterns []string
	for _, dir := range dirs {
		if hasGoFiles(filepath.Join(v.Dir, dir)) {
			patterns = append(patterns, "./"+filepath.ToSlash(dir))
		}
	}
	return patterns
}

// compile compiles packages and what they import, as far as it is not in the build cache, for several go commands that run at the same time
// next: each of them would compile all that is missing. What does not compile is for those to report.
func compile(ctx context.Context, in gocmd.Command, args ...string) error {
	_, _ = in.Run(ctx, append([]string{"list", "-e", "-export", "-deps", "-f="}, args...)...)
	return ctx.Err()
}

func loadSides(ctx context.Context, v Version, dirs []string) (map[string]*side, error) {
	patterns := goPatterns(v, dirs)
	sides := make(map[string]*side)
	if len(patterns) == 0 {
		return sides, nil
	}
	found, err := gotypes.Load(&packages.Config{
		Context: ctx, Dir: v.Dir, Env: v.Env, Tests: true,
		Mode: packages.LoadSyntax | packages.NeedModule | packages.NeedForTest,
	}, patterns...)
	if err != nil {
		return nil, err
	}
	for _, p := range found {
		if strings.HasSuffix(p.PkgPath, ".test") || len(p.GoFiles) == 0 {
			continue
		}
		dir, err := filepath.Rel(v.Dir, filepath.Dir(p.GoFiles[0]))
		if err != nil {
			return nil, err
		}
		s := sides[dir]
		if s == nil {
			s = &side{version: v, rel: filepath.ToSlash(dir), dir: filepath.Join(v.Dir, dir)}
			sides[dir] = s
		}
		switch {
		case strings.HasSuffix(p.Name, "_test") && p.ForTest != "":
			s.outer = p
		case s.pkg == nil || p.ForTest != "" && len(p.Errors) == 0:
			s.pkg = p
		}
	}
	for dir, s := range sides {
		if s.pkg == nil {
			delete(sides, dir) // tests alone
			continue
		}
		var newer *gotypes.NewerError
		if errors.As(gotypes.Problem(s.pkg), &newer) {
			return nil, newer
		}
		if len(s.pkg.Errors) > 0 {
			var text []string
			for _, e := range s.pkg.Errors {
				text = append(text, strings.ReplaceAll(gotypes.Text(e), v.Dir+string(filepath.Separator), ""))
			}
			return nil, &BrokenError{Text: strings.Join(text, "\n")}
		}
		if s.outer != nil && len(s.outer.Errors) > 0 {
			s.outer = nil // the tests will say so
		}
		s.index()
	}
	return sides, nil
}

func hasGoFiles(dir string) bool { return hasFiles(dir, ".go") }

// hasTests reports whether a package has tests in one of the versions: those without need not be built to run none.
func (c *Change) hasTests(dir string) bool {
	return hasFiles(filepath.Join(c.Old.Dir, dir), "_test.go") || hasFiles(filepath.Join(c.New.Dir, dir), "_test.go")
}

func hasFiles(dir, suffix string) bool {
	list, err := os.ReadDir(dir)
	return err == nil && slices.ContainsFunc(list, func(e os.DirEntry) bool {
		return strings.HasSuffix(e.Name(), suffix) && e.Type().IsRegular()
	})
}

// index finds the declarations of the package.
func (s *side) index() {
	s.decls, s.tests = make(map[string]*decl), nil
	for _, f := range s.pkg.Syntax {
		name := s.pkg.Fset.File(f.Pos()).Name()
		test := strings.HasSuffix(name, "_test.go")
		if test {
			s.tests = append(s.tests, name)
		}
		text, err := os.ReadFile(name)
		if err != nil {
			continue // such as a file that cgo made
		}
		for _, d := range f.Decls {
			switch d := d.(type) {
			case *ast.FuncDecl:
				key := s.funcKey(d)
				s.add(d.Name, d, key, s.tokens(text, d.Type.Pos(), d.End()), test)
				if in := s.decls[key]; in != nil && d.Body != nil {
					in.body = s.tokens(text, d.Body.Pos(), d.Body.End())
				}
			case *ast.GenDecl:
				for _, spec := range d.Specs {
					s.addSpec(spec, text, test)
				}
			}
		}
	}
	if s.outer != nil {
		for _, f := range s.outer.Syntax {
			s.tests = append(s.tests, s.outer.Fset.File(f.Pos()).Name())
		}
	}
}

func (s *side) addSpec(spec ast.Spec, text []byte, test bool) {
	switch spec := spec.(type) {
	case *ast.TypeSpec:
		s.add(spec.Name, spec, spec.Name.Name, s.tokens(text, spec.Pos(), spec.End()), test)
	case *ast.ValueSpec:
		words := s.tokens(text, spec.Pos(), spec.End())
		for _, name := range spec.Names {
			if name.Name == "_" {
				continue
			}
			if c, ok := s.pkg.TypesInfo.Defs[name].(*types.Const); ok {
				words = c.Val().ExactString() + " " + c.Type().String() // what iota makes of it
			}
			s.add(name, spec, name.Name, words, test)
		}
	}
}

func (s *side) add(name *ast.Ident, node ast.Node, key, text string, test bool) {
	obj := s.pkg.TypesInfo.Defs[name]
	if obj == nil || key == "init" || key == "_" {
		return
	}
	d := &decl{key: key, obj: obj, node: node, text: text, test: test}
	ast.Inspect(node, func(n ast.Node) bool {
		if id, ok := n.(*ast.Ident); ok {
			if used := s.keyOf(s.pkg.TypesInfo.Uses[id]); used != "" && used != key && !slices.Contains(d.uses, used) {
				d.uses = append(d.uses, used)
			}
		}
		return true
	})
	s.decls[key] = d
}

// funcKey returns the key of a function or method.
func (s *side) funcKey(d *ast.FuncDecl) string {
	if f, ok := s.pkg.TypesInfo.Defs[d.Name].(*types.Func); ok {
		return s.keyOf(f)
	}
	return d.Name.Name
}

// keyOf returns the key of what the package declares at its top, or "".
func (s *side) keyOf(obj types.Object) string {
	if obj == nil || obj.Pkg() != s.pkg.Types {
		return ""
	}
	if f, ok := obj.(*types.Func); ok {
		f = f.Origin()
		if recv := f.Signature().Recv(); recv != nil {
			t := recv.Type()
			if p, ok := t.(*types.Pointer); ok {
				t = p.Elem()
			}
			if n, ok := t.(*types.Named); ok && n.Obj().Pkg() == s.pkg.Types {
				return s.named(n.Obj().Name() + "." + f.Name())
			}
			return "" // of an interface
		}
	}
	if obj.Parent() == s.pkg.Types.Scope() {
		return s.named(obj.Name())
	}
	return ""
}

// named returns the key that both versions have for a key of this one.
func (s *side) named(key string) string {
	if now, ok := s.renamed[key]; ok {
		return now
	}
	return key
}

// tokens returns the tokens between two places, without comments: a change of layout is none.
func (s *side) tokens(text []byte, from, to token.Pos) string {
	file := s.pkg.Fset.File(from)
	a, b := file.Offset(from), file.Offset(to)
	if a < 0 || b > len(text) || a > b {
		return ""
	}
	text = text[a:b]
	var sc scanner.Scanner
	set := token.NewFileSet()
	sc.Init(set.AddFile("", -1, len(text)), text, nil, 0)
	var out strings.Builder
	for {
		_, tok, lit := sc.Scan()
		if tok == token.EOF {
			return out.String()
		}
		if tok == token.SEMICOLON {
			lit = ";"
		}
		if lit == "" {
			lit = tok.String()
		}
		out.WriteString(lit + " ")
	}
}

// place returns where something is, for people.
func (s *side) place(pos token.Pos) (file string, line int) {
	p := s.pkg.Fset.Position(pos)
	if rel, err := filepath.Rel(s.version.Dir, p.Filename); err == nil && filepath.IsLocal(rel) {
		p.Filename = filepath.ToSlash(rel)
	}
	return p.Filename, p.Line
}

// changed returns the keys of what differs between the versions, and those of the functions that use it, directly or
// not, with how many steps away they are.
func (p *pair) changed() (distance map[string]int) {
	distance = make(map[string]int)
	var queue []string
	for key, d := range p.new.decls {
		if before := p.old.decls[key]; !d.test && (before == nil || before.text != d.text) {
			distance[key] = 0
			queue = append(queue, key)
		}
	}
	for key, d := range p.old.decls {
		if _, still := p.new.decls[key]; !still && !d.test {
			distance[key] = 0
			queue = append(queue, key)
		}
	}
	if p.called != nil {
		affected := p.called.changed()
		for _, v := range []*side{p.old, p.new} {
			for key, d := range v.decls {
				if _, had := distance[key]; !had && !d.test && len(p.awayUses(v, d, affected)) > 0 {
					distance[key] = 1
					queue = append(queue, key)
				}
			}
		}
	}
	slices.Sort(queue)
	users := make(map[string][]string)
	for _, s := range []*side{p.old, p.new} {
		for key, d := range s.decls {
			if d.test {
				continue
			}
			for _, u := range d.uses {
				users[u] = append(users[u], key)
			}
		}
	}
	for len(queue) > 0 {
		key := queue[0]
		queue = queue[1:]
		for _, u := range users[key] {
			if _, ok := distance[u]; !ok {
				distance[u] = distance[key] + 1
				queue = append(queue, u)
			}
		}
	}
	return distance
}
