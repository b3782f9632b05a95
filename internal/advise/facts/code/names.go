package code

import (
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"strconv"
	"strings"
)

// NewName returns a name for a variable of the package that nothing in it has, nor in its tests and files for other systems.
func (f *Func) NewName(base string) string {
	if token.IsKeyword(base) || base == "" {
		base += "Value"
	}
	for i := 1; ; i++ {
		name := base
		if i > 1 {
			name += strconv.Itoa(i)
		}
		if f.Pkg.Types.Scope().Lookup(name) == nil && types.Universe.Lookup(name) == nil && !f.Pkg.names[name] && !f.Mentions(name) && !f.Pkg.NamedElsewhere(name) {
			if f.Pkg.names == nil {
				f.Pkg.names = make(map[string]bool)
			}
			f.Pkg.names[name] = true
			return name
		}
	}
}

// OuterName returns a name for what becomes of a variable of the function that moves to the package: its own where nothing else has that.
func (f *Func) OuterName(v *types.Var) string {
	alone := f.Pkg.Types.Scope().Lookup(v.Name()) == nil && types.Universe.Lookup(v.Name()) == nil && !f.Pkg.names[v.Name()]
	ast.Inspect(f.Decl, func(n ast.Node) bool {
		if id, ok := n.(*ast.Ident); ok && id.Name == v.Name() && f.Info().Defs[id] != v && f.Info().Uses[id] != v {
			alone = false
		}
		return alone
	})
	if !alone {
		return f.NewName(v.Name())
	}
	if f.Pkg.names == nil {
		f.Pkg.names = make(map[string]bool)
	}
	f.Pkg.names[v.Name()] = true
	return v.Name()
}

// SharedName returns the name of a declaration of the package, whose text has %s for it, and whether the package has one that is the same but for
// the name and comments. Two findings that need the same get two names, so that both of their patches can be applied: the second of them has
// the first declaration only when it is made anew with that in the package.
func (f *Func) SharedName(base, text string) (name string, declared bool) {
	bare := func(text string) string { return strings.Join(strings.Fields(text), " ") }
	for _, file := range f.Pkg.Files {
		src := func(d ast.Decl) string { // without comments in front of it
			from := d.Pos()
			switch d := d.(type) {
			case *ast.FuncDecl:
				from = d.Type.Func
			case *ast.GenDecl:
				from = d.TokPos
			}
			return string(file.Text[file.Tok.Offset(from):file.Tok.Offset(d.End())])
		}
		for _, d := range file.AST.Decls {
			name := ""
			switch d := d.(type) {
			case *ast.FuncDecl:
				if d.Recv == nil && !IsInitializer(d) {
					name = d.Name.Name
				}
			case *ast.GenDecl:
				if spec, ok := d.Specs[0].(*ast.ValueSpec); ok && len(d.Specs) == 1 && len(spec.Names) == 1 && !d.Lparen.IsValid() {
					name = spec.Names[0].Name
				}
			}
			if name == "" {
				continue
			}
			if bare(src(d)) == bare(fmt.Sprintf(text, name)) {
				return name, true
			}
		}
	}
	return f.NewName(base), false
}

// Mentions reports whether any file of the package has an identifier.
func (fn *Func) Mentions(name string) bool {
	for _, f := range fn.Pkg.Files {
		found := false
		ast.Inspect(f.AST, func(n ast.Node) bool {
			if id, ok := n.(*ast.Ident); ok && id.Name == name {
				found = true
			}
			return !found
		})
		if found {
			return true
		}
	}
	return fn.Pkg.NamedElsewhere(name)
}

// PackageName returns a name for a variable of the package that takes the place of one of the function: its own, where nothing else in the package
// has that.
func (f *Func) PackageName(v *types.Var) string {
	name := v.Name()
	if f.Pkg.Types.Scope().Lookup(name) != nil || types.Universe.Lookup(name) != nil || f.Pkg.names[name] || f.Pkg.NamedElsewhere(name) {
		return f.NewName(name)
	}
	for _, file := range f.Pkg.Files {
		another := false
		ast.Inspect(file.AST, func(n ast.Node) bool {
			if id, ok := n.(*ast.Ident); ok && id.Name == name && f.Info().ObjectOf(id) != v {
				another = true
			}
			return !another
		})
		if another {
			return f.NewName(name)
		}
	}
	if f.Pkg.names == nil {
		f.Pkg.names = make(map[string]bool)
	}
	f.Pkg.names[name] = true
	return name
}
