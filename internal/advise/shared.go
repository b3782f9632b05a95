package advise

import (
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"slices"
)

// What a loop shares with others, who run at the same time once it has a goroutine of its own. Variables are looked at, and what of the
// package is changed; that others change what an argument leads to is left to the race detector.

// declaredIn reports whether a variable is declared in a node.
func declaredIn(v *types.Var, n ast.Node) bool { return n.Pos() <= v.Pos() && v.Pos() < n.End() }

// refers reports whether values of a type lead to memory that others can change.
func refers(t types.Type) bool {
	switch u := t.Underlying().(type) {
	case *types.Basic:
		return u.Kind() == types.UnsafePointer
	case *types.Array:
		return refers(u.Elem())
	case *types.Struct:
		for f := range u.Fields() {
			if refers(f.Type()) {
				return true
			}
		}
		return false
	case *types.Interface:
		return !types.Identical(t, types.Universe.Lookup("error").Type())
	}
	return true
}

func isContext(t types.Type) bool {
	n, ok := types.Unalias(t).(*types.Named)
	return ok && n.Obj().Pkg() != nil && n.Obj().Pkg().Path() == "context" && n.Obj().Name() == "Context"
}

// shareable are types whose values several goroutines may use.
var shareable = []string{"context.Context", "*net/http.Client", "*net/http.Transport", "*log.Logger", "*log/slog.Logger", "*regexp.Regexp", "*strings.Replacer", "*database/sql.DB"}

func isShareable(t types.Type) bool {
	_, isChan := t.Underlying().(*types.Chan)
	return isChan || slices.Contains(shareable, types.TypeString(t, nil)) || isSync(t)
}

// isSync reports whether a type is one of package sync, or sync/atomic.
func isSync(t types.Type) bool {
	if ptr, ok := types.Unalias(t).(*types.Pointer); ok {
		t = ptr.Elem()
	}
	n, ok := types.Unalias(t).(*types.Named)
	return ok && n.Obj().Pkg() != nil && (n.Obj().Pkg().Path() == "sync" || n.Obj().Pkg().Path() == "sync/atomic")
}

// apart says which variable both the loop and those who work use, in a way that one of them could notice.
func (u *upFront) apart() string {
	var seen []*types.Var
	why := ""
	ast.Inspect(u.loop, func(n ast.Node) bool {
		id, ok := n.(*ast.Ident)
		if !ok {
			return why == ""
		}
		v, ok := u.info().Uses[id].(*types.Var)
		if !ok || v.IsField() || v == u.ch || u.local(id) == nil || declaredIn(v, u.loop) || slices.Contains(seen, v) {
			return why == ""
		}
		seen = append(seen, v)
		if why = u.shared(v); why != "" {
			return false
		}
		return true
	})
	return why
}

// shared says what speaks against a variable that is declared outside of the loop and used in it.
func (u *upFront) shared(v *types.Var) string {
	is := func(o types.Object) bool { return o == v }
	if isSync(v.Type()) {
		return fmt.Sprintf("the loop waits for others with %s", v.Name())
	}
	written := u.assigns(u.loop, is)
	if written && refers(v.Type()) {
		return fmt.Sprintf("the loop changes %s, which may lead to what was sent", v.Name())
	}
	for _, id := range u.uses(v) {
		if within(id, u.loop) {
			continue
		}
		// Other literals may be called by those who work.
		lit := u.literal(id)
		if elsewhere := lit != nil && lit != u.literal(u.loop) && !within(u.loop, lit); !u.inWindow(id) && !elsewhere {
			continue
		}
		switch {
		case written:
			return fmt.Sprintf("the loop changes %s, and others use it", v.Name())
		case u.written(id):
			return fmt.Sprintf("others change %s, and the loop uses it", v.Name())
		case isShareable(v.Type()), u.ownPart(id):
		case !u.onlyReads(id):
			return fmt.Sprintf("others may change what %s leads to", v.Name())
		default:
			for _, other := range u.uses(v) {
				if within(other, u.loop) && !u.onlyReads(other) && !u.ownPart(other) {
					return fmt.Sprintf("the loop may change what %s leads to, and others use it", v.Name())
				}
			}
		}
	}
	return ""
}

// written reports whether the statement that a use of a variable is in changes the variable, or what is in it.
func (u *upFront) written(id *ast.Ident) bool {
	var n ast.Node = id
	for {
		if _, ok := n.(ast.Stmt); ok {
			break
		}
		n = u.parent(n)
	}
	v := u.info().Uses[id]
	if r, ok := n.(*ast.RangeStmt); ok {
		for _, e := range []ast.Expr{r.Key, r.Value} {
			if e != nil && within(id, e) {
				return true
			}
		}
		return false
	}
	if _, ok := n.(*ast.BlockStmt); ok {
		return true
	}
	return u.assigns(n, func(o types.Object) bool { return o == v })
}

// ownPart reports whether a use of a variable reads a part of it that leads nowhere: a number, a text.
func (u *upFront) ownPart(id *ast.Ident) bool {
	var e ast.Expr = id
	for {
		if !refers(u.typeOf(e)) {
			return true
		}
		sel, ok := u.parent(e).(*ast.SelectorExpr)
		if !ok || sel.X != e {
			return false
		}
		s := u.info().Selections[sel]
		if s == nil || s.Kind() != types.FieldVal || s.Indirect() {
			return false
		}
		e = sel
	}
}

// onlyReads reports whether a use of a variable reads something that it leads to, and passes on nothing that leads anywhere.
func (u *upFront) onlyReads(id *ast.Ident) bool {
	var e ast.Expr = id
	for {
		switch up := u.parent(e).(type) {
		case *ast.CallExpr:
			return u.builtin(up, "len") != nil || u.builtin(up, "cap") != nil || !refers(u.typeOf(e))
		case *ast.RangeStmt:
			return up.X == e && (up.Value == nil || isBlank(up.Value) || !refers(u.typeOf(up.Value)))
		case *ast.IndexExpr:
			if up.X != e {
				return !refers(u.typeOf(e))
			}
			e = up
		case *ast.SelectorExpr:
			s := u.info().Selections[up]
			if s == nil || s.Kind() != types.FieldVal {
				return false
			}
			e = up
		case *ast.ParenExpr:
			e = up
		case *ast.UnaryExpr:
			return up.Op != token.AND && !refers(u.typeOf(e))
		default:
			return !refers(u.typeOf(e))
		}
	}
}

// state says which variable of the package the loop uses, by itself or in functions of the package that it calls, that is ever changed.
func (u *upFront) state() string {
	seen := map[*types.Func]bool{}
	var look func(p *function, n ast.Node, depth int) string
	look = func(p *function, n ast.Node, depth int) (why string) {
		ast.Inspect(n, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.Ident:
				v, ok := p.info().Uses[n].(*types.Var)
				if ok && !v.IsField() && v.Parent() == p.unit.Types.Scope() && !isShareable(v.Type()) && (v.Exported() && p.unit.Name != "main" || p.changed(v)) {
					why = fmt.Sprintf("making a job uses %s, which may change meanwhile", v.Name())
				}
			case *ast.CallExpr:
				fn := p.callee(n)
				if fn == nil || fn.Pkg() != p.unit.Types || seen[fn.Origin()] {
					return why == ""
				}
				seen[fn.Origin()] = true
				decl, f := p.declOf(fn)
				if decl == nil || decl.Body == nil || depth == 0 {
					if recv := fn.Signature().Recv(); recv == nil || !types.IsInterface(recv.Type()) {
						why = fmt.Sprintf("what %s does is not known", fn.Name())
					}
					return why == ""
				}
				q := p.in(f, decl)
				why = look(q, decl.Body, depth-1)
			}
			return why == ""
		})
		return why
	}
	const deep = 8
	return look(u.function, u.loop, deep)
}

// changed reports whether any function of the package changes a variable of it.
func (p *function) changed(v *types.Var) bool {
	for _, f := range p.unit.files {
		for _, d := range f.ast.Decls {
			if fn, ok := d.(*ast.FuncDecl); ok && p.assigns(fn, func(o types.Object) bool { return o == v }) {
				return true
			}
		}
	}
	return false
}

// mayEnd reports whether something may end the function, or go on elsewhere, outside of function literals.
func (p *function) mayEnd(n ast.Node) (found bool) {
	ast.Inspect(n, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncLit:
			return false
		case *ast.ReturnStmt, *ast.LabeledStmt:
			found = true
		case *ast.BranchStmt:
			found = found || n.Label != nil || n.Tok == token.GOTO
		case *ast.CallExpr:
			found = found || p.builtin(n, "panic") != nil || p.calls(n, "runtime.Goexit") != nil
		}
		return !found
	})
	return found
}
