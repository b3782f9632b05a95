package prove

import (
	"go/ast"
	"go/token"
	"go/types"
	"slices"
	"strings"

	"github.com/hone-perf/hone/internal/gotypes/writes"
)

// slice returns the statements before one that make variables, without those about some others.
func (r *repeater) slice(before int, need map[types.Object]bool, without map[types.Object]bool) (out []int, ok bool) {
	for i := before - 1; i >= 0; i-- {
		s := r.stmts[i]
		mentioned := r.mentions(s)
		defined := r.defines(s)
		needed := slices.ContainsFunc(defined, func(o types.Object) bool { return need[o] })
		for v := range mentioned {
			needed = needed || need[v]
		}
		if _, deferred := s.(*ast.DeferStmt); !needed || deferred {
			continue
		}
		for v := range mentioned {
			if without[v] {
				return nil, false
			}
			need[v] = true
		}
		if slices.ContainsFunc(defined, func(o types.Object) bool { return without[o] }) || !r.repeatable(s) {
			return nil, false
		}
		out = append(out, i)
	}
	slices.Reverse(out)
	return out, true
}

// statement writes a statement that several goroutines can do at the same time, with all that it needs for that besides the value.
func (r *repeater) statement(s ast.Stmt, at int, v *types.Var, shared []int) (string, bool) {
	if !r.repeatable(s) {
		return "", false
	}
	need := make(map[types.Object]bool)
	for w := range r.mentions(s) {
		if w != v {
			need[w] = true
		}
	}
	assigned := make(map[types.Object]bool)
	if a, ok := s.(*ast.AssignStmt); ok { // its results are for what follows
		for _, l := range a.Lhs {
			id, ok := l.(*ast.Ident)
			if !ok {
				return "", false
			}
			if w, ok := r.info.Uses[id].(*types.Var); ok && !slices.ContainsFunc(a.Rhs, func(e ast.Expr) bool { return r.mentions(e)[w] }) {
				delete(need, w)
				assigned[w] = true
			}
		}
	}
	// What made the shared value is there once. Where others would change it or what it leads to, they may not have it.
	common := make(map[types.Object]bool)
	for _, i := range shared {
		for _, w := range r.defines(r.stmts[i]) {
			common[w] = true
			if need[w] && w != v {
				if _, isType := w.(*types.TypeName); isType {
					continue // it is declared again
				}
				if !unchanging(w.Type()) || r.changes(s, w) {
					return "", false
				}
				delete(need, w)
			}
		}
	}
	without := map[types.Object]bool{v: true}
	for w := range common {
		if _, isVar := w.(*types.Var); isVar && !unchanging(w.Type()) {
			without[w] = true
		}
	}
	own, ok := r.slice(at, need, without)
	if !ok || r.changesOuter(s, own) {
		return "", false
	}
	var b strings.Builder
	for _, i := range own {
		b.WriteString(r.write(r.stmts[i]))
	}
	if a, ok := s.(*ast.AssignStmt); ok {
		names := make([]string, len(a.Lhs))
		for i := range names {
			names[i] = "_"
		}
		rhs := make([]string, len(a.Rhs))
		for i, e := range a.Rhs {
			rhs[i] = r.source(e)
		}
		b.WriteString(strings.Join(names, ", ") + " = " + strings.Join(rhs, ", ") + "\n")
	} else {
		b.WriteString(r.write(s))
	}
	return b.String(), b.Len() < repeatedText
}

// unchanging reports whether nobody can change a value of a type that others have, too.
func unchanging(t types.Type) bool {
	switch u := t.Underlying().(type) {
	case *types.Basic:
		return true
	case *types.Struct:
		for f := range u.Fields() {
			if !unchanging(f.Type()) {
				return false
			}
		}
		return true
	case *types.Array:
		return unchanging(u.Elem())
	}
	return isErrorType(t)
}

// changes reports whether a statement changes a variable or what it leads to, or hands out its memory.
func (r *repeater) changes(s ast.Node, v types.Object) bool {
	return writes.To(r.info, s, v, needsLock)
}

// changesOuter reports whether a statement uses a variable of the tests' own that all goroutines would have, in a way that is not only
// reading what nobody changes.
func (r *repeater) changesOuter(s ast.Stmt, own []int) bool {
	bad := false
	look := func(in ast.Node) {
		ast.Inspect(in, func(n ast.Node) bool {
			id, ok := n.(*ast.Ident)
			if !ok {
				return !bad
			}
			v, ok := r.info.Uses[id].(*types.Var)
			if ok && !v.IsField() && v.Pkg() != nil && v.Parent() == v.Pkg().Scope() && r.ofTests(v) {
				bad = bad || !unchanging(v.Type()) || r.changes(in, v)
			}
			return !bad
		})
	}
	look(s)
	for _, i := range own {
		look(r.stmts[i])
	}
	return bad
}

// ofTests reports whether a file with tests declares a variable.
func (r *repeater) ofTests(v *types.Var) bool {
	f := r.pkg.Fset.File(v.Pos())
	return f != nil && strings.HasSuffix(f.Name(), "_test.go") && r.typeOf(v) == nil
}

// repeatable reports whether a statement can be done again and again without anything that waits, ends the test or leaves something behind.
func (r *repeater) repeatable(s ast.Stmt) bool {
	ok := true
	ast.Inspect(s, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.GoStmt, *ast.SelectStmt, *ast.SendStmt, *ast.LabeledStmt:
			ok = false
		case *ast.BranchStmt:
			ok = ok && n.Label == nil
		case *ast.UnaryExpr:
			ok = ok && n.Op != token.ARROW
		case *ast.SelectorExpr:
			obj := r.info.Uses[n.Sel]
			if obj == nil || obj.Pkg() == nil {
				return ok
			}
			name := obj.Name()
			switch p := obj.Pkg().Path(); {
			case p == "testing" && slices.Contains([]string{"Parallel", "Setenv", "Chdir", "Skip", "SkipNow", "Skipf", "Cleanup", "TempDir", "Run"}, name),
				p == "time" && slices.Contains([]string{"Sleep", "After", "Tick", "NewTimer", "NewTicker", "AfterFunc"}, name),
				p == "net/http" && slices.Contains([]string{"Get", "Post", "PostForm", "Head", "ListenAndServe", "Serve", "DefaultClient"}, name),
				p == "net/http/httptest" && strings.HasPrefix(name, "New") && strings.HasSuffix(name, "Server"),
				p == "sync" && name == "Wait",
				slices.Contains(outside, p) && name != "Stdout" && name != "Stderr":
				ok = false
			}
		}
		return ok
	})
	return ok
}

// write writes a statement; what it declares need not be used.
func (r *repeater) write(s ast.Stmt) string {
	text := r.source(s) + "\n"
	for _, o := range r.defines(s) {
		if v, ok := o.(*types.Var); ok && v.Name() != "_" {
			text += "_ = " + v.Name() + "\n"
		}
	}
	return text
}

// takeImports notes the packages that the statements name.
func (r *repeater) takeImports(out *borrowed, nodes []ast.Node) bool {
	ok := true
	for _, n := range nodes {
		ast.Inspect(n, func(n ast.Node) bool {
			id, isIdent := n.(*ast.Ident)
			if !isIdent {
				return true
			}
			switch obj := r.info.Uses[id].(type) {
			case *types.PkgName:
				out.imports[obj.Name()] = obj.Imported().Path()
			case nil:
			default: // from a package that is imported with a dot
				if obj.Pkg() != nil && obj.Parent() == obj.Pkg().Scope() && obj.Pkg().Path() != r.pkgPath() {
					if !r.qualified(id) {
						ok = false
					}
				}
			}
			return true
		})
	}
	return ok
}

func (r *repeater) pkgPath() string {
	if r.outer {
		return r.guards.outer.Types.Path()
	}
	return r.pkg.Types.Path()
}

// qualified reports whether an identifier is behind the name of a package.
func (r *repeater) qualified(id *ast.Ident) bool {
	f := r.pkg.Fset.File(id.Pos())
	at := f.Offset(id.Pos())
	return at > 0 && at <= len(r.text) && r.text[at-1] == '.'
}
