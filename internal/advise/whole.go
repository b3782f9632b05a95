package advise

import (
	"go/ast"
	"go/types"
	"slices"
)

// What is known of a package as a whole.

// above returns what everything in the package is in.
func (u *unit) above() map[ast.Node]ast.Node {
	if u.parents != nil {
		return u.parents
	}
	u.parents = map[ast.Node]ast.Node{}
	for _, f := range u.files {
		var stack []ast.Node
		ast.Inspect(f.ast, func(n ast.Node) bool {
			if n == nil {
				stack = stack[:len(stack)-1]
				return true
			}
			if len(stack) > 0 {
				u.parents[n] = stack[len(stack)-1]
			}
			stack = append(stack, n)
			return true
		})
	}
	return u.parents
}

// ownerOf returns the type of the package that has a field, or nil.
func (p *function) ownerOf(field *types.Var) types.Type {
	scope := p.unit.Types.Scope()
	for _, name := range scope.Names() {
		t, ok := scope.Lookup(name).(*types.TypeName)
		if !ok {
			continue
		}
		if st, ok := t.Type().Underlying().(*types.Struct); ok {
			for f := range st.Fields() {
				if f == field {
					return t.Type()
				}
			}
		}
	}
	return nil
}

// shown reports whether values of a type, or pointers to them, are given to somebody as an interface, who can see what is in them.
func (p *function) shown(t types.Type) bool {
	ptr, above := types.NewPointer(t), p.unit.above()
	for e, tv := range p.info().Types {
		if tv.IsType() || tv.Type == nil || !types.Identical(tv.Type, t) && !types.Identical(tv.Type, ptr) {
			continue
		}
		call, ok := above[e].(*ast.CallExpr)
		if !ok || !slices.Contains(call.Args, e) {
			continue
		}
		sig, ok := p.typeOf(call.Fun).Underlying().(*types.Signature)
		if !ok {
			continue // a conversion, or a builtin function
		}
		i := min(slices.Index(call.Args, e), sig.Params().Len()-1)
		param := sig.Params().At(i).Type()
		if l, ok := param.(*types.Slice); ok && sig.Variadic() && i == sig.Params().Len()-1 {
			param = l.Elem()
		}
		if in, ok := param.Underlying().(*types.Interface); ok && in.NumMethods() == 0 {
			return true
		}
	}
	return false
}

// pure reports whether what a function returns depends on its arguments alone, and it changes nothing: as far as it calls
// functions that are known for that, and reads no variable of the package that is ever changed.
func (p *function) pure(fn *types.Func, depth int) bool {
	if fn == nil || fn.Pkg() == nil {
		return false
	}
	if fn.Pkg() != p.unit.Types {
		if recv := fn.Signature().Recv(); recv != nil {
			return slices.Contains([]string{"(*strings.Replacer).Replace", "(*regexp.Regexp).MatchString", "(*regexp.Regexp).ReplaceAllString", "(time.Duration).String"}, fn.FullName())
		}
		return slices.Contains([]string{"strings", "strconv", "unicode", "unicode/utf8", "path", "math", "math/bits"}, fn.Pkg().Path())
	}
	decl, f := p.declOf(fn)
	if decl == nil || depth == 0 || decl.Body == nil {
		return false
	}
	q := p.in(f, decl)
	ok := true
	ast.Inspect(decl.Body, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.GoStmt, *ast.DeferStmt, *ast.SendStmt, *ast.SelectStmt, *ast.FuncLit, *ast.StarExpr:
			ok = false
		case *ast.CallExpr:
			if p.info().Types[n.Fun].IsType() {
				return ok
			}
			if callee := q.callee(n); callee != nil {
				ok = ok && p.pure(callee, depth-1)
				return ok
			}
			id, isID := ast.Unparen(n.Fun).(*ast.Ident)
			ok = ok && isID && slices.Contains([]string{"len", "cap", "append", "make", "min", "max", "copy", "string"}, id.Name)
		case *ast.AssignStmt:
			for _, l := range n.Lhs {
				ok = ok && (isBlank(l) || q.local(l) != nil)
			}
		case *ast.IncDecStmt:
			ok = ok && q.local(n.X) != nil
		case *ast.Ident:
			if v, isVar := p.info().Uses[n].(*types.Var); isVar && !v.IsField() && v.Parent() == p.unit.Types.Scope() {
				ok = ok && !v.Exported() && !p.assignedLater(v)
			}
		}
		return ok
	})
	return ok
}

// declOf returns the declaration of a function of the package.
func (p *function) declOf(fn *types.Func) (*ast.FuncDecl, *file) {
	for _, f := range p.unit.files {
		for _, d := range f.ast.Decls {
			if decl, ok := d.(*ast.FuncDecl); ok && p.info().Defs[decl.Name] == fn.Origin() {
				return decl, f
			}
		}
	}
	return nil, nil
}
