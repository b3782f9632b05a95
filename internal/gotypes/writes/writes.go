// Package writes finds the variables that code writes to, and those whose memory it hands out so that others can write to them.
package writes

import (
	"go/ast"
	"go/token"
	"go/types"
	"iter"
)

// A How is the way in which code writes to a variable.
type How int

const (
	Define  How = iota // x := 1: the variable is new
	Assign             // x = 1
	Op                 // x += 1
	IncDec             // x++
	Range              // for x = range list
	Builtin            // copy(x, …), clear(x), delete(x, …)
	Send               // x <- 1
	Receive            // <-x, for range x
	Address            // &x
	Method             // x.Set(1), x.Set: a method with a pointer receiver takes the address of x
	Slice              // x[:], where x is an array
)

// Sets reports whether the code itself changes the variable, or what it leads to.
func (h How) Sets() bool { return Assign <= h && h <= Builtin }

// HandsOut reports whether the code makes a pointer or a slice through which others can change the variable.
func (h How) HandsOut() bool { return Address <= h && h <= Slice }

// A Write is one place where code writes to a variable, to a part of it, or to what it leads to.
type Write struct {
	Root *ast.Ident // the variable, such as x in (*x.f)[i].g = 1
	Expr ast.Expr   // what is written to
	Type types.Type // of that; for a Method, of the value that the method changes, which can be an embedded field
	How  How
}

// In yields the writes of a node and of the function literals in it, in the order of the source. A write whose expression does not begin with a
// name, such as f().x = 1, is left out. What append writes to is assigned to its result.
func In(info *types.Info, n ast.Node) iter.Seq[Write] {
	return func(yield func(Write) bool) {
		w := walk{info, yield, true}
		ast.Inspect(n, func(n ast.Node) bool {
			if w.going {
				w.node(n)
			}
			return w.going
		})
	}
}

// To reports whether a node has writes to a variable that a function accepts.
func To(info *types.Info, n ast.Node, v types.Object, accept func(Write) bool) bool {
	for w := range In(info, n) {
		if info.ObjectOf(w.Root) == v && accept(w) {
			return true
		}
	}
	return false
}

// Root returns the name of the variable that an expression begins with, such as x in (*x.f)[i].g or x[:], and Name in pkg.Name.f. It returns nil where
// the expression begins with something else.
func Root(info *types.Info, e ast.Expr) *ast.Ident {
	for {
		switch x := ast.Unparen(e).(type) {
		case *ast.SelectorExpr:
			if id, ok := ast.Unparen(x.X).(*ast.Ident); ok {
				if _, ok := info.Uses[id].(*types.PkgName); ok {
					return x.Sel
				}
			}
			e = x.X
		case *ast.StarExpr:
			e = x.X
		case *ast.IndexExpr:
			e = x.X
		case *ast.SliceExpr:
			e = x.X
		case *ast.TypeAssertExpr:
			e = x.X
		case *ast.UnaryExpr:
			if x.Op != token.AND {
				return nil
			}
			e = x.X
		case *ast.CallExpr:
			if !info.Types[x.Fun].IsType() || len(x.Args) != 1 {
				return nil
			}
			e = x.Args[0] // of a conversion
		case *ast.Ident:
			return x
		default:
			return nil
		}
	}
}

// A walk goes through one node.
type walk struct {
	info  *types.Info
	yield func(Write) bool
	going bool
}

func (w *walk) add(e ast.Expr, t types.Type, how How) {
	if id := Root(w.info, e); id != nil && id.Name != "_" && w.going {
		w.going = w.yield(Write{id, e, t, how})
	}
}

// target adds what an assignment changes. With :=, some of the variables may have been there before.
func (w *walk) target(e ast.Expr, tok token.Token, how How) {
	if e == nil {
		return
	}
	if id, ok := e.(*ast.Ident); ok && tok == token.DEFINE && w.info.Uses[id] == nil {
		how = Define
	}
	w.add(e, w.info.TypeOf(e), how)
}

func (w *walk) node(n ast.Node) {
	switch n := n.(type) {
	case *ast.AssignStmt:
		how := Op
		if n.Tok == token.ASSIGN || n.Tok == token.DEFINE {
			how = Assign
		}
		for _, l := range n.Lhs {
			w.target(l, n.Tok, how)
		}
	case *ast.IncDecStmt:
		w.target(n.X, n.Tok, IncDec)
	case *ast.RangeStmt:
		w.target(n.Key, n.Tok, Range)
		w.target(n.Value, n.Tok, Range)
		if t := w.info.TypeOf(n.X); t != nil {
			if _, ok := t.Underlying().(*types.Chan); ok {
				w.add(n.X, t, Receive)
			}
		}
	case *ast.SendStmt:
		w.add(n.Chan, w.info.TypeOf(n.Chan), Send)
	case *ast.UnaryExpr:
		switch n.Op {
		case token.AND:
			w.add(n.X, w.info.TypeOf(n.X), Address)
		case token.ARROW:
			w.add(n.X, w.info.TypeOf(n.X), Receive)
		}
	case *ast.SliceExpr:
		if t := w.info.TypeOf(n.X); t != nil {
			if _, ok := t.Underlying().(*types.Array); ok {
				w.add(n.X, t, Slice)
			}
		}
	case *ast.CallExpr:
		if id, ok := ast.Unparen(n.Fun).(*ast.Ident); ok && len(n.Args) > 0 {
			if b, ok := w.info.Uses[id].(*types.Builtin); ok && (b.Name() == "copy" || b.Name() == "clear" || b.Name() == "delete") {
				w.add(n.Args[0], w.info.TypeOf(n.Args[0]), Builtin)
			}
		}
	case *ast.SelectorExpr:
		if t := w.addressed(n); t != nil {
			w.add(n.X, t, Method)
		}
	}
}

// addressed returns the type of the value whose address x.m takes without saying so: m is a method with a pointer receiver, and x is no
// pointer. That of x.f.m, where x embeds f, is f. It returns nil for all else, also where a pointer is embedded.
func (w *walk) addressed(sel *ast.SelectorExpr) types.Type {
	s := w.info.Selections[sel]
	if s == nil || s.Kind() != types.MethodVal || s.Indirect() {
		return nil
	}
	if _, ok := s.Recv().Underlying().(*types.Pointer); ok {
		return nil
	}
	p, ok := types.Unalias(s.Obj().(*types.Func).Signature().Recv().Type()).(*types.Pointer)
	if !ok {
		return nil
	}
	return p.Elem()
}
