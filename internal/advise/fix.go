package advise

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/parser"
	"go/scanner"
	"go/token"
	"go/types"
	"slices"

	"github.com/hone-perf/hone/internal/advise/facts/code"
	"github.com/hone-perf/hone/internal/advise/facts/edit"
	"github.com/hone-perf/hone/internal/gotypes"
	"github.com/hone-perf/hone/internal/order"
	"github.com/hone-perf/hone/internal/patch"
	"github.com/hone-perf/hone/internal/report"
	"github.com/hone-perf/hone/internal/report/missing"
)

// Fix makes a fix of edits to the file of the function: with the imports it needs and without those that nobody uses any
// more, with the lines that it touches as gofmt has them, and checked to compile. It returns none where the file is not to be patched, or where the
// result does not compile: then the rule has not understood the code.
func (p *Pass) Fix(grade report.Grade, title string, edits ...edit.Edit) []report.Fix {
	if why := p.noFix(); why.Fact != "" {
		return p.Because(why)
	}
	if name := p.otherMeaning(edits); name != "" {
		return p.No(missing.OtherMeaning, name)
	}
	text, err := p.apply(edits)
	if err != nil || bytes.Equal(text, p.File.Text) {
		p.No(missing.DoesNotApply)
		if err != nil && p.debug != nil {
			p.debug("%s: %s: %v", p.Rule.Name, p.File.Name, err)
		}
		return nil
	}
	if !p.Rule.Early && p.tooEarly(text, edits) {
		return p.No(missing.BeforeVariable, p.Decl.Name.Name)
	}
	if err := p.compiles(p.File, text); err != nil {
		p.No(missing.DoesNotCompile)
		if p.debug != nil {
			p.debug("%s: %s: %v\n%s", p.Rule.Name, p.File.Name, err, text)
		}
		return nil
	}
	return []report.Fix{{
		Title: title, Grade: grade,
		Edits: patch.Edits(p.File.Name, p.File.Text, text), Patch: patch.Diff(p.File.Name, p.File.Text, text),
	}}
}

// otherMeaning returns a name in new texts that stands for one thing in the function, and for another where a text goes: a constant of the
// function is not the one of the package that has the same name. Rules see to variables themselves.
func (p *Pass) otherMeaning(edits []edit.Edit) string {
	meant := map[string][]types.Object{}
	ast.Inspect(p.Decl, func(n ast.Node) bool {
		if id, ok := n.(*ast.Ident); ok {
			if o := p.Info().ObjectOf(id); o != nil && !isMember(o) {
				meant[id.Name] = append(meant[id.Name], o)
			}
		}
		return true
	})
	for _, e := range edits {
		at := p.Pkg.Types.Scope().Innermost(e.From)
		if at == nil {
			continue
		}
		for _, name := range names(e.Text) {
			_, there := at.LookupParent(name, e.From)
			for _, here := range meant[name] {
				if there != nil && there != here && !(isLocal(there) && isLocal(here)) {
					return name
				}
			}
		}
	}
	return ""
}

// isMember reports whether an object is a field or a method, which is named behind a value.
func isMember(o types.Object) bool {
	switch o := o.(type) {
	case *types.Var:
		return o.IsField()
	case *types.Func:
		return o.Signature().Recv() != nil
	}
	return false
}

// isLocal reports whether an object is a variable of a function.
func isLocal(o types.Object) bool {
	v, ok := o.(*types.Var)
	return ok && o.Pkg() != nil && v.Parent() != o.Pkg().Scope()
}

// names returns the names in a text of Go that it does not declare itself, and that do not stand behind a period.
func names(text string) (out []string) {
	var s scanner.Scanner
	s.Init(token.NewFileSet().AddFile("", -1, len(text)), []byte(text), func(token.Position, string) {}, 0)
	var list []string // that a := may follow
	declared := map[string]bool{}
	before := token.ILLEGAL
	for {
		_, tok, lit := s.Scan()
		switch tok {
		case token.EOF:
			return slices.DeleteFunc(out, func(name string) bool { return declared[name] })
		case token.IDENT:
			if before != token.PERIOD {
				out, list = append(out, lit), append(list, lit)
			}
		case token.DEFINE:
			for _, name := range list {
				declared[name] = true
			}
		case token.COMMA:
		default:
			list = nil
		}
		before = tok
	}
}

// noFix says why the file cannot be patched.
func (p *Pass) noFix() missing.Reason {
	if p.Pkg.NoFix.Fact != "" {
		return p.Pkg.NoFix
	}
	if p.File.NoFix.Fact == "" && p.doubt != "" {
		if p.tree.afar {
			return missing.NoStartLine.Of()
		}
		return missing.NewerFile.Of()
	}
	return p.File.NoFix
}

// apply returns the text of the file with edits made.
func (p *Pass) apply(edits []edit.Edit) ([]byte, error) {
	edits = slices.Clone(edits)
	order.Stable(edits, func(a, b edit.Edit) int { return int(a.From) - int(b.From) })
	base := token.Pos(p.File.Tok.Base())
	var out bytes.Buffer
	at := 0
	for _, e := range edits {
		from, to := int(e.From-base), int(e.To-base)
		if from < at || to < from || to > len(p.File.Text) {
			return nil, fmt.Errorf("edits overlap at %d", from)
		}
		out.Write(p.File.Text[at:from])
		out.WriteString(e.Text)
		at = to
	}
	out.Write(p.File.Text[at:])
	text, err := edit.MendImports(p.File.AST, out.Bytes(), p.imports)
	if err != nil {
		return nil, err
	}
	return patch.Format(p.File.Text, text)
}

// usualImports are what most fixes add.
var usualImports = []string{"bytes", "io", "maps", "slices", "strconv", "strings", "sync"}

// compiles checks the package with other text for one of its files.
func (p *Pass) compiles(f *code.File, text []byte) error {
	u := p.Pkg
	set := token.NewFileSet()
	var files []*ast.File
	for _, name := range u.CompiledGoFiles {
		var src any
		if real, ok := samePath(u, name); ok && real == f.Path {
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

// samePath returns the name by which a file of the package is known.
func samePath(u *code.Package, name string) (string, bool) {
	for p, f := range u.Files {
		if p == name || f.Tok.Name() == name {
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
