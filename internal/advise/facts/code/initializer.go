package code

import (
	"go/ast"
	"go/token"
)

// DeclAt returns the function that a line is in, or one that was made of the declaration of variables that it is in, or nil.
func (f *File) DeclAt(line int) *ast.FuncDecl {
	for _, d := range f.AST.Decls {
		if fn, ok := d.(*ast.FuncDecl); ok && fn.Body != nil && f.Tok.Line(fn.Pos()) <= line && line <= f.Tok.Line(fn.End()) {
			return fn
		}
		if g, ok := d.(*ast.GenDecl); ok && g.Tok == token.VAR && f.Tok.Line(g.Pos()) <= line && line <= f.Tok.Line(g.End()) {
			if f.inits[g] == nil {
				if f.inits == nil {
					f.inits = make(map[*ast.GenDecl]*ast.FuncDecl)
				}
				f.inits[g] = initializer(g)
			}
			return f.inits[g]
		}
	}
	return nil
}

// initializer makes a function of a declaration of variables of the package, for rules to look at: its values, and the function
// literals in them.
func initializer(d *ast.GenDecl) *ast.FuncDecl {
	return &ast.FuncDecl{
		Doc:  d.Doc,
		Name: ast.NewIdent("init"),
		Type: &ast.FuncType{Func: d.Pos(), Params: &ast.FieldList{}},
		Body: &ast.BlockStmt{Lbrace: d.Pos(), List: []ast.Stmt{&ast.DeclStmt{Decl: d}}, Rbrace: d.End() - 1},
	}
}

// IsInitializer reports whether a function is one that was made of a declaration of variables.
func IsInitializer(decl *ast.FuncDecl) bool { return decl.Body.Lbrace == decl.Type.Func }
