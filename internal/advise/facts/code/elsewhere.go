package code

import (
	"bytes"
	"go/ast"
	"go/parser"
	"go/scanner"
	"go/token"
	"go/types"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/hone-perf/hone/internal/gocmd"
	"github.com/hone-perf/hone/internal/gotypes/writes"
)

// WrittenElsewhere reports whether a variable of the package may be written to by what was not loaded: tests, files for other systems, assembly,
// and packages that know it by a go:linkname.
func (u *Package) WrittenElsewhere(name string) bool {
	if u.elsewhere == nil {
		u.elsewhere = make(map[string]bool)
		for _, f := range u.Files {
			u.linked(f.Text)
		}
		for _, f := range u.Files {
			all, err := gocmd.Files(filepath.Dir(f.Path), "*.*")
			if err != nil {
				break
			}
			for _, one := range all {
				if u.Files[one] == nil {
					u.readElsewhere(one)
				}
			}
			break
		}
	}
	return u.elsewhere[name]
}

// What names a variable where there are no types.
var (
	linkname = regexp.MustCompile(`(?m)^//go:linkname\s+(\w+)`)
	symbols  = regexp.MustCompile(`·(\w+)`)
)

func (u *Package) linked(text []byte) {
	for _, m := range linkname.FindAllSubmatch(text, -1) {
		u.elsewhere[string(m[1])] = true
	}
}

// readElsewhere notes what a file may write to: all that one for other systems names, and what a test assigns to. Nothing is known of types there.
func (u *Package) readElsewhere(file string) {
	ext := filepath.Ext(file)
	if ext != ".go" && ext != ".s" && ext != ".S" {
		return
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return
	}
	if ext != ".go" {
		for _, m := range symbols.FindAllSubmatch(text, -1) {
			u.elsewhere[string(m[1])] = true
		}
		return
	}
	if bytes.Contains(text, []byte("go:linkname")) {
		u.linked(text)
	}
	f, _ := parser.ParseFile(token.NewFileSet(), file, text, parser.SkipObjectResolution)
	if f == nil || f.Name.Name != u.Types.Name() {
		return
	}
	if !strings.HasSuffix(file, "_test.go") {
		ast.Inspect(f, func(n ast.Node) bool {
			if id, ok := n.(*ast.Ident); ok {
				u.elsewhere[id.Name] = true
			}
			return true
		})
		return
	}
	for w := range writes.In(&types.Info{}, f) {
		switch w.How {
		case writes.Define, writes.Send, writes.Receive:
			continue
		}
		if w.Root != nil {
			u.elsewhere[w.Root.Name] = true
		}
	}
}

// A rest is what the files of the folder say that were not loaded: tests, and those for other systems.
type rest struct {
	text     []byte
	files    []*ast.File     // those of the package, as far as they can be parsed; nothing is known of types there
	made     map[string]bool // types of which a literal has no names of fields
	systems  map[string]bool // identifiers of files that are no tests
	named    map[string]bool // identifiers, and what is named by a go:linkname
	selected map[string]bool // identifiers behind a period, or before a colon
}

// others reads the files of the folder that were not loaded, once.
func (u *Package) others() *rest {
	if u.rest != nil {
		return u.rest
	}
	u.rest = &rest{made: map[string]bool{}, systems: map[string]bool{}, named: map[string]bool{}, selected: map[string]bool{}}
	for _, f := range u.Files {
		all, err := gocmd.Files(filepath.Dir(f.Path), "*.go")
		if err != nil {
			break
		}
		for _, one := range all {
			if text, err := os.ReadFile(one); err == nil && u.Files[one] == nil {
				u.rest.add(one, text, u.Types.Name())
			}
		}
		break
	}
	return u.rest
}

func (r *rest) add(file string, text []byte, pkg string) {
	r.text = append(r.text, text...)
	for _, m := range linkname.FindAllSubmatch(text, -1) {
		r.named[string(m[1])] = true
	}
	if f, _ := parser.ParseFile(token.NewFileSet(), "", text, parser.SkipObjectResolution); f != nil && f.Name != nil && f.Name.Name == pkg {
		r.files = append(r.files, f)
		r.look(f, !strings.HasSuffix(file, "_test.go"))
	}
	var s scanner.Scanner
	s.Init(token.NewFileSet().AddFile("", -1, len(text)), text, func(token.Position, string) {}, 0)
	name, behindPeriod := "", false
	for before := token.ILLEGAL; ; {
		_, tok, lit := s.Scan()
		if behindPeriod || tok == token.COLON && name != "" {
			r.selected[name] = true
		}
		if tok == token.EOF {
			return
		}
		name, behindPeriod = "", false
		if tok == token.IDENT {
			r.named[lit] = true
			name, behindPeriod = lit, before == token.PERIOD
		}
		before = tok
	}
}

// look notes what a file of the package names, and of which types it makes values.
func (r *rest) look(f *ast.File, system bool) {
	ast.Inspect(f, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.Ident:
			if system {
				r.systems[n.Name] = true
			}
		case *ast.CompositeLit:
			if id := AsIdent(n.Type); id != nil && len(n.Elts) > 0 {
				if _, keyed := n.Elts[0].(*ast.KeyValueExpr); !keyed {
					r.made[id.Name] = true
				}
			}
		}
		return true
	})
}

// MadeElsewhere reports whether files for other systems may name a type, or a test makes a value of it without names of fields.
func (u *Package) MadeElsewhere(name string) bool {
	rest := u.others()
	return rest.systems[name] || rest.made[name]
}

// NamedElsewhere reports whether files of the folder that were not loaded may name something of the package: tests, and those for other systems.
func (u *Package) NamedElsewhere(name string) bool { return u.others().named[name] }

// SelectedElsewhere reports whether such files may name a field, behind a value or in a struct that they make.
func (u *Package) SelectedElsewhere(name string) bool { return u.others().selected[name] }

// ComputesElsewhere reports whether such files have variables of the package whose values are computed with what the package declares.
func (u *Package) ComputesElsewhere() bool {
	for _, f := range u.others().files {
		for _, d := range f.Decls {
			if g, ok := d.(*ast.GenDecl); ok && g.Tok == token.VAR && computes(g) {
				return true
			}
		}
	}
	return false
}

// computes reports whether a declaration has a call that is given more than literals.
func computes(d *ast.GenDecl) (found bool) {
	ast.Inspect(d, func(n ast.Node) bool {
		call, ok := n.(*ast.CallExpr)
		if !ok {
			return !found
		}
		sel, ok := call.Fun.(*ast.SelectorExpr)
		found = found || !ok || AsIdent(sel.X) == nil
		for _, a := range call.Args {
			if _, ok := a.(*ast.BasicLit); !ok {
				found = true
			}
		}
		return !found
	})
	return found
}

// lookInside is what compares or shows all of a value.
var lookInside = []string{"DeepEqual", "%#v", "cmp.Equal", "cmp.Diff", "assert.", "require."}

// LooksInsideElsewhere reports whether something in files that were not loaded does so, or shows numbers by the types that they are in.
func (u *Package) LooksInsideElsewhere() bool {
	return slices.ContainsFunc(append([]string{"%+v"}, lookInside...), func(name string) bool { return bytes.Contains(u.others().text, []byte(name)) })
}

// LooksInside reports whether the package or its tests seem to compare or print whole values, including fields that are not exported, as
// reflect.DeepEqual does: such code can tell nil from an empty slice.
func (u *Package) LooksInside() bool {
	for _, name := range lookInside {
		if bytes.Contains(u.others().text, []byte(name)) {
			return true
		}
		for _, f := range u.Files {
			if bytes.Contains(f.Text, []byte(name)) {
				return true
			}
		}
	}
	return false
}
