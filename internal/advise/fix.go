package advise

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/hone-perf/hone/internal/gocmd"
	"github.com/hone-perf/hone/internal/gotypes"
	"github.com/hone-perf/hone/internal/patch"
	"github.com/hone-perf/hone/internal/report"
)

// An edit replaces what is from one place to another in the file of a pass.
type edit struct {
	from, to token.Pos
	text     string
}

func newEdit(from, to token.Pos, text string) edit { return edit{from, to, text} }

func replace(n ast.Node, text string) edit { return newEdit(n.Pos(), n.End(), text) }

func before(n ast.Node, text string) edit { return newEdit(n.Pos(), n.Pos(), text) }

func after(n ast.Node, text string) edit { return newEdit(n.End(), n.End(), text) }

// fix makes a fix of edits to the file of the function: with the imports it needs and without those that nobody uses any
// more, with the lines that it touches as gofmt has them, and checked to compile. It returns none where the file is not to be patched, or where the
// result does not compile: then the rule has not understood the code.
func (p *Pass) fix(grade report.Grade, title string, edits ...edit) []report.Fix {
	if why := p.noFix(); why != "" {
		p.why = why
		return nil
	}
	text, err := p.apply(edits)
	if err != nil || bytes.Equal(text, p.file.text) {
		p.why = "the patch that comes to mind does not fit this code"
		if err != nil && p.debug != nil {
			p.debug("%s: %s: %v", p.Rule.Name, p.file.name, err)
		}
		return nil
	}
	if err := p.compiles(p.file, text); err != nil {
		p.why = "the patch that comes to mind does not compile here"
		if p.debug != nil {
			p.debug("%s: %s: %v\n%s", p.Rule.Name, p.file.name, err, text)
		}
		return nil
	}
	return []report.Fix{{
		Title: title, Grade: grade,
		Edits: patch.Edits(p.file.name, p.file.text, text), Patch: patch.Diff(p.file.name, p.file.text, text),
	}}
}

// noFix says why the file cannot be patched.
func (p *Pass) noFix() string {
	if p.unit.noFix != "" {
		return p.unit.noFix
	}
	if p.file.noFix == "" && p.doubt != "" {
		return "the file is newer than the profile"
	}
	return p.file.noFix
}

// apply returns the text of the file with edits made.
func (p *Pass) apply(edits []edit) ([]byte, error) {
	edits = slices.Clone(edits)
	slices.SortStableFunc(edits, func(a, b edit) int { return int(a.from) - int(b.from) })
	base := token.Pos(p.file.tok.Base())
	var out bytes.Buffer
	at := 0
	for _, e := range edits {
		from, to := int(e.from-base), int(e.to-base)
		if from < at || to < from || to > len(p.file.text) {
			return nil, fmt.Errorf("edits overlap at %d", from)
		}
		out.Write(p.file.text[at:from])
		out.WriteString(e.text)
		at = to
	}
	out.Write(p.file.text[at:])
	text, err := mendImports(p.file.ast, out.Bytes(), p.imports)
	if err != nil {
		return nil, err
	}
	return patch.Format(p.file.text, text)
}

// mendImports adds imports that are needed, and removes those that old used and text does not.
func mendImports(old *ast.File, text []byte, need []string) ([]byte, error) {
	set := token.NewFileSet()
	now, err := parser.ParseFile(set, "", text, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	base := set.File(now.FileStart).Base()
	var add []string
	for _, n := range need {
		if !slices.Contains(add, n) && !slices.ContainsFunc(now.Imports, func(s *ast.ImportSpec) bool { return importPath(s) == n }) {
			add = append(add, n)
		}
	}
	used, usedBefore := selectedNames(now), selectedNames(old)
	type cut struct{ from, to int }
	var cuts []cut
	for _, s := range now.Imports {
		name := localName(s)
		if name == "_" || name == "." || used[name] || !usedBefore[name] || s.Name == nil && slices.Contains(need, importPath(s)) {
			continue
		}
		from, to := int(s.Pos())-base, int(s.End())-base
		for from > 0 && text[from-1] != '\n' && strings.TrimSpace(string(text[from-1:from])) == "" {
			from--
		}
		if to < len(text) && text[to] == '\r' {
			to++
		}
		if to < len(text) && text[to] == '\n' {
			to++
		}
		for _, d := range now.Decls {
			if g, ok := d.(*ast.GenDecl); ok && g.Tok == token.IMPORT && len(g.Specs) == 1 && g.Specs[0] == s {
				from, to = int(g.Pos())-base, int(g.End())-base
			}
		}
		cuts = append(cuts, cut{from, to})
	}
	for i := len(cuts) - 1; i >= 0; i-- {
		text = slices.Concat(text[:cuts[i].from], text[cuts[i].to:])
	}
	for _, n := range add {
		if text, err = addImport(text, n); err != nil {
			return nil, err
		}
	}
	return text, nil
}

// addImport adds an import among those of its kind.
func addImport(text []byte, name string) ([]byte, error) {
	set := token.NewFileSet()
	f, err := parser.ParseFile(set, "", text, parser.ParseComments|parser.ImportsOnly)
	if err != nil {
		return nil, err
	}
	tok := set.File(f.FileStart)
	insert := func(at token.Pos, s string) []byte {
		i := tok.Offset(at)
		return slices.Concat(text[:i], []byte(s), text[i:])
	}
	for _, d := range f.Decls {
		g, ok := d.(*ast.GenDecl)
		if !ok || g.Tok != token.IMPORT || !g.Lparen.IsValid() || len(g.Specs) == 0 {
			continue
		}
		line := 0
		for _, s := range g.Specs {
			s := s.(*ast.ImportSpec)
			at := tok.Line(s.Pos())
			if line != 0 && at > line+1 {
				break // another group
			}
			line = tok.Line(s.End())
			if importPath(s) > name {
				return insert(s.Pos(), strconv.Quote(name)+"\n\t"), nil
			}
		}
		last := g.Specs[0]
		line = 0
		for _, s := range g.Specs {
			if line != 0 && tok.Line(s.Pos()) > line+1 {
				break
			}
			last, line = s, tok.Line(s.End())
		}
		return insert(last.End(), "\n\t"+strconv.Quote(name)), nil
	}
	for _, d := range f.Decls {
		if g, ok := d.(*ast.GenDecl); ok && g.Tok == token.IMPORT && len(g.Specs) == 1 {
			s := g.Specs[0].(*ast.ImportSpec)
			if importPath(s) == "C" {
				continue
			}
			from, to := tok.Offset(g.Pos()), tok.Offset(g.End())
			lines := []string{string(text[tok.Offset(s.Pos()):tok.Offset(s.End())]), strconv.Quote(name)}
			if importPath(s) > name {
				slices.Reverse(lines)
			}
			return slices.Concat(text[:from], []byte("import (\n\t"+strings.Join(lines, "\n\t")+"\n)"), text[to:]), nil
		}
	}
	return insert(f.Name.End(), "\n\nimport "+strconv.Quote(name)+"\n"), nil
}

func importPath(s *ast.ImportSpec) string {
	p, _ := strconv.Unquote(s.Path.Value)
	return p
}

// localName returns what an import is called in its file, as far as its path tells.
func localName(s *ast.ImportSpec) string {
	if s.Name != nil {
		return s.Name.Name
	}
	base := path.Base(importPath(s))
	if len(base) > 1 && base[0] == 'v' && strings.Trim(base[1:], "0123456789") == "" {
		base = path.Base(path.Dir(importPath(s)))
	}
	return base
}

// selectedNames returns the names before a dot.
func selectedNames(f *ast.File) map[string]bool {
	names := map[string]bool{}
	ast.Inspect(f, func(n ast.Node) bool {
		if s, ok := n.(*ast.SelectorExpr); ok {
			if id, ok := s.X.(*ast.Ident); ok {
				names[id.Name] = true
			}
		}
		return true
	})
	return names
}

// usualImports are what most fixes add.
var usualImports = []string{"bytes", "io", "maps", "slices", "strconv", "strings", "sync"}

// compiles checks the package with other text for one of its files.
func (p *Pass) compiles(f *file, text []byte) error {
	u := p.unit
	set := token.NewFileSet()
	var files []*ast.File
	for _, name := range u.CompiledGoFiles {
		var src any
		if real, ok := u.samePath(name); ok && real == f.path {
			src = text
		}
		parsed, err := parser.ParseFile(set, name, src, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		files = append(files, parsed)
	}
	imp, err := p.tree.importer(p.imports)
	if err != nil {
		return err
	}
	conf := types.Config{Importer: imp, Sizes: u.TypesSizes, GoVersion: gotypes.Version(u.Package)}
	_, err = conf.Check(u.PkgPath, set, files, nil)
	return err
}

// samePath returns the name by which a file of the unit is known.
func (u *unit) samePath(name string) (string, bool) {
	for p, f := range u.files {
		if p == name || f.tok.Name() == name {
			return p, true
		}
	}
	return "", false
}

// importer knows the types of what the packages that cost something import, and of what a fix adds. There is one for all of them, made anew
// when a fix adds another package: most import the same.
func (t *tree) importer(added []string) (types.Importer, error) {
	missing := func(path string) bool { return !slices.Contains(t.imported, path) }
	if t.imports != nil && !slices.ContainsFunc(added, missing) {
		return t.imports, nil
	}
	if t.imported == nil {
		t.imported = slices.Clone(usualImports)
		for _, u := range t.units {
			for _, p := range u.Imports {
				t.imported = append(t.imported, p.PkgPath)
			}
		}
	}
	t.imported = append(t.imported, added...)
	slices.Sort(t.imported)
	t.imported = slices.Compact(t.imported)
	var err error
	t.imports, err = gotypes.Imports(t.loading(), t.imported...)
	return t.imports, err
}

// newName returns a name for a variable of the package that nothing in it has.
func (p *function) newName(base string) string {
	if token.IsKeyword(base) || base == "" {
		base += "Value"
	}
	for i := 1; ; i++ {
		name := base
		if i > 1 {
			name += strconv.Itoa(i)
		}
		if p.unit.Types.Scope().Lookup(name) == nil && types.Universe.Lookup(name) == nil && !p.unit.names[name] && !p.mentions(name) {
			p.unit.names[name] = true
			return name
		}
	}
}

// mentions reports whether any file of the package has an identifier.
func (p *function) mentions(name string) bool {
	for _, f := range p.unit.files {
		found := false
		ast.Inspect(f.ast, func(n ast.Node) bool {
			if id, ok := n.(*ast.Ident); ok && id.Name == name {
				found = true
			}
			return !found
		})
		if found {
			return true
		}
	}
	return p.unit.others(name)
}

// others reports whether a name is in any of the files of the folder that were not loaded: tests, and those for other systems.
func (u *unit) others(name string) bool {
	if u.rest == nil {
		u.rest = []byte{}
		for _, f := range u.files {
			all, err := gocmd.Files(filepath.Dir(f.path), "*.go")
			if err != nil {
				break
			}
			for _, one := range all {
				if text, err := os.ReadFile(one); err == nil && u.files[one] == nil {
					u.rest = append(u.rest, text...)
				}
			}
			break
		}
	}
	return bytes.Contains(u.rest, []byte(name))
}

// declare is an edit that puts a declaration before the function.
func (p *function) declare(text string) edit {
	at := p.decl.Pos()
	if p.decl.Doc != nil {
		at = p.decl.Doc.Pos()
	}
	return newEdit(at, at, text+"\n\n")
}
