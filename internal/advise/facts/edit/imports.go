package edit

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path"
	"slices"
	"strconv"
	"strings"
)

// MendImports adds imports that are needed, and removes those that old used and text does not.
func MendImports(old *ast.File, text []byte, need []string) ([]byte, error) {
	set := token.NewFileSet()
	now, err := parser.ParseFile(set, "", text, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	base := set.File(now.FileStart).Base()
	used, usedBefore := selectedNames(now), selectedNames(old)
	var add []string
	for _, n := range need {
		name := localName(&ast.ImportSpec{Path: &ast.BasicLit{Value: strconv.Quote(n)}})
		if used[name] && !slices.Contains(add, n) && !slices.ContainsFunc(now.Imports, func(s *ast.ImportSpec) bool { return importPath(s) == n }) {
			add = append(add, n)
		}
	}
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
