package code

import (
	"go/ast"
	"go/types"
	"slices"
	"strconv"
)

// AsIdent returns an expression as a name, or nil when it is none.
func AsIdent(e ast.Expr) *ast.Ident {
	id, _ := e.(*ast.Ident)
	return id
}

// Declared returns the statement that declares a variable of the function, and the value that it gives it, if any.
func (f *Func) Declared(v *types.Var) (st ast.Stmt, value ast.Expr) {
	ast.Inspect(f.Decl.Body, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.AssignStmt:
			for i, l := range n.Lhs {
				if id, ok := l.(*ast.Ident); ok && f.Info().Defs[id] == v {
					st = n
					if len(n.Rhs) == len(n.Lhs) {
						value = n.Rhs[i]
					}
				}
			}
		case *ast.DeclStmt:
			for _, spec := range n.Decl.(*ast.GenDecl).Specs {
				if vs, ok := spec.(*ast.ValueSpec); ok {
					for i, id := range vs.Names {
						if f.Info().Defs[id] == v {
							st = n
							if len(vs.Values) == len(vs.Names) {
								value = vs.Values[i]
							}
						}
					}
				}
			}
		}
		return st == nil
	})
	return st, value
}

// Literal returns the function literal that a node is in, or nil.
func (f *Func) Literal(n ast.Node) *ast.FuncLit {
	for n = f.Parent(n); n != nil; n = f.Parent(n) {
		if lit, ok := n.(*ast.FuncLit); ok {
			return lit
		}
	}
	return nil
}

// Parent returns what a node is in.
func (f *Func) Parent(n ast.Node) ast.Node {
	if f.parents == nil {
		f.parents = map[ast.Node]ast.Node{}
		var stack []ast.Node
		ast.Inspect(f.Decl, func(n ast.Node) bool {
			if n == nil {
				stack = stack[:len(stack)-1]
				return true
			}
			if len(stack) > 0 {
				f.parents[n] = stack[len(stack)-1]
			}
			stack = append(stack, n)
			return true
		})
	}
	return f.parents[n]
}

// Statement returns the statement of a list that a node is in: something can be put before it.
func (f *Func) Statement(n ast.Node) ast.Stmt {
	for ; n != nil; n = f.Parent(n) {
		s, ok := n.(ast.Stmt)
		if !ok {
			continue
		}
		switch up := f.Parent(n).(type) {
		case *ast.BlockStmt:
			return s
		case *ast.CaseClause:
			if slices.Contains(up.Body, s) {
				return s
			}
		case *ast.CommClause:
			if slices.Contains(up.Body, s) {
				return s
			}
		}
	}
	return nil
}

// Loop returns the innermost loop that a node is in, within its function; nil when it is in none.
func (f *Func) Loop(n ast.Node) ast.Stmt {
	inner := n
	for n = f.Parent(n); n != nil; inner, n = n, f.Parent(n) {
		switch l := n.(type) {
		case *ast.ForStmt:
			if inner == l.Body || inner == l.Post || inner == l.Cond {
				return l
			}
		case *ast.RangeStmt:
			if inner == l.Body {
				return l
			}
		case *ast.FuncLit:
			return nil
		}
	}
	return nil
}

// FuncOf returns the body of the function or function literal that a node is in.
func (f *Func) FuncOf(n ast.Node) *ast.BlockStmt {
	for n = f.Parent(n); n != nil; n = f.Parent(n) {
		if lit, ok := n.(*ast.FuncLit); ok {
			return lit.Body
		}
	}
	return f.Decl.Body
}

// Uses returns where a variable is named, but for where it is declared.
func (f *Func) Uses(v types.Object) (out []*ast.Ident) {
	ast.Inspect(f.Decl, func(n ast.Node) bool {
		if id, ok := n.(*ast.Ident); ok && f.Info().Uses[id] == v {
			out = append(out, id)
		}
		return true
	})
	return out
}

// Within reports whether a node is in another one, or is that.
func Within(n, outer ast.Node) bool { return n.Pos() >= outer.Pos() && n.End() <= outer.End() }

// NewLocal returns what LocalName does, and another name each time: the patches of two findings may declare a variable in one block.
func (f *Func) NewLocal(base string) string {
	if f.Pkg.locals == nil {
		f.Pkg.locals = make(map[*ast.FuncDecl]map[string]bool)
	}
	given := f.Pkg.locals[f.Decl]
	if given == nil {
		given = make(map[string]bool)
		f.Pkg.locals[f.Decl] = given
	}
	name := f.localName(base, given)
	given[name] = true
	return name
}

// LocalName returns a name for a variable that nothing in the function has.
func (f *Func) LocalName(base string) string { return f.localName(base, nil) }

// localName returns a name that is not given away either.
func (f *Func) localName(base string, given map[string]bool) string {
	taken := map[string]bool{}
	ast.Inspect(f.Decl, func(n ast.Node) bool {
		if id, ok := n.(*ast.Ident); ok {
			taken[id.Name] = true
		}
		return true
	})
	name := base
	for i := 2; taken[name] || given[name]; i++ {
		name = base + strconv.Itoa(i)
	}
	return name
}

// IsBlank reports whether an expression is the blank identifier.
func IsBlank(e ast.Expr) bool {
	id, ok := e.(*ast.Ident)
	return ok && id.Name == "_"
}

// MentionsVar reports whether a variable is named in a node.
func (f *Func) MentionsVar(n ast.Node, v types.Object) bool {
	found := false
	ast.Inspect(n, func(n ast.Node) bool {
		if id, ok := n.(*ast.Ident); ok && f.Info().ObjectOf(id) == v {
			found = true
		}
		return !found
	})
	return found
}

// CommentsIn returns the comments in a node, each on lines of its own.
func (f *Func) CommentsIn(n ast.Node) (text string) {
	for _, group := range f.File.AST.Comments {
		if Within(group, n) {
			text += f.Src(group) + "\n"
		}
	}
	return text
}
