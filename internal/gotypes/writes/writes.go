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
	Path
	Expr ast.Expr   // what is written to
	Type types.Type // of that; for a Method, of the value that the method changes, which can be an embedded field
	How  How
	At   ast.Node // the statement or the expression that writes
}

// A Path says where an expression leads.
type Path struct {
	Root   *ast.Ident   // the variable that it begins with, such as x in (*x.f)[i].g; nil where it begins with something else, such as a call
	Fields []*types.Var // that are named on the way, the last one first
	Inside bool         // it is memory of the variable itself, and nothing that it points or refers to
}

// In yields the writes of a node and of the function literals in it, in the order of the source, but for those to the blank identifier. What append
// writes to is assigned to its result.
//
// Where nothing is known of types, info may be empty. Then In yields what the syntax alone says: no Method, no Slice, and of copy, clear and
// delete what their names say.
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
		if w.Root != nil && info.ObjectOf(w.Root) == v && accept(w) {
			return true
		}
	}
	return false
}

// Root returns the name of the variable that an expression begins with, such as x in (*x.f)[i].g or x[:], and Name in pkg.Name.f. It returns nil where
// the expression begins with something else.
func Root(info *types.Info, e ast.Expr) *ast.Ident { return PathOf(info, e).Root }

// PathOf returns where an expression leads that can be written to.
func PathOf(info *types.Info, e ast.Expr) Path {
	p := Path{Inside: true}
	for {
		switch x := ast.Unparen(e).(type) {
		case *ast.SelectorExpr:
			if id, ok := ast.Unparen(x.X).(*ast.Ident); ok {
				if _, ok := info.Uses[id].(*types.PkgName); ok {
					p.Root = x.Sel
					return p
				}
			}
			if s := info.Selections[x]; s != nil {
				p.Inside = p.Inside && !s.Indirect()
				if f, ok := s.Obj().(*types.Var); ok {
					p.Fields = append(p.Fields, f)
				}
			}
			e = x.X
		case *ast.StarExpr:
			p.Inside = false
			e = x.X
		case *ast.IndexExpr:
			p.Inside = p.Inside && isArray(info.TypeOf(x.X))
			e = x.X
		case *ast.SliceExpr:
			p.Inside = p.Inside && isArray(info.TypeOf(x.X))
			e = x.X
		case *ast.TypeAssertExpr:
			p.Inside = false
			e = x.X
		case *ast.UnaryExpr:
			if x.Op != token.AND {
				return p
			}
			e = x.X
		case *ast.CallExpr:
			if !info.Types[x.Fun].IsType() || len(x.Args) != 1 {
				return p
			}
			e = x.Args[0] // of a conversion
		case *ast.Ident:
			p.Root = x
			return p
		default:
			return p
		}
	}
}

func isArray(t types.Type) bool {
	if t == nil {
		return false
	}
	_, ok := t.Underlying().(*types.Array)
	return ok
}

// A walk goes through one node.
type walk struct {
	info  *types.Info
	yield func(Write) bool
	going bool
}

func (w *walk) add(at ast.Node, e ast.Expr, t types.Type, how How) {
	if !w.going {
		return
	}
	p := PathOf(w.info, e)
	if p.Root != nil && p.Root.Name == "_" {
		return
	}
	p.Inside = p.Inside && how != Builtin
	w.going = w.yield(Write{p, e, t, how, at})
}

// target adds what an assignment changes. With :=, some of the variables may have been there before.
func (w *walk) target(at ast.Node, e ast.Expr, tok token.Token, how How) {
	if e == nil {
		return
	}
	if id, ok := e.(*ast.Ident); ok && tok == token.DEFINE && w.info.Uses[id] == nil {
		how = Define
	}
	w.add(at, e, w.info.TypeOf(e), how)
}

func (w *walk) node(n ast.Node) {
	switch n := n.(type) {
	case *ast.AssignStmt:
		how := Op
		if n.Tok == token.ASSIGN || n.Tok == token.DEFINE {
			how = Assign
		}
		for _, l := range n.Lhs {
			w.target(n, l, n.Tok, how)
		}
	case *ast.IncDecStmt:
		w.target(n, n.X, n.Tok, IncDec)
	case *ast.RangeStmt:
		w.target(n, n.Key, n.Tok, Range)
		w.target(n, n.Value, n.Tok, Range)
		if t := w.info.TypeOf(n.X); t != nil {
			if _, ok := t.Underlying().(*types.Chan); ok {
				w.add(n, n.X, t, Receive)
			}
		}
	case *ast.SendStmt:
		w.add(n, n.Chan, w.info.TypeOf(n.Chan), Send)
	case *ast.UnaryExpr:
		switch n.Op {
		case token.AND:
			w.add(n, n.X, w.info.TypeOf(n.X), Address)
		case token.ARROW:
			w.add(n, n.X, w.info.TypeOf(n.X), Receive)
		}
	case *ast.SliceExpr:
		if t := w.info.TypeOf(n.X); isArray(t) {
			w.add(n, n.X, t, Slice)
		}
	case *ast.CallExpr:
		if id, ok := ast.Unparen(n.Fun).(*ast.Ident); ok && len(n.Args) > 0 && (id.Name == "copy" || id.Name == "clear" || id.Name == "delete") && w.builtin(id) {
			w.add(n, n.Args[0], w.info.TypeOf(n.Args[0]), Builtin)
		}
	case *ast.SelectorExpr:
		if t := w.addressed(n); t != nil {
			w.add(n, n.X, t, Method)
		}
	}
}

// builtin reports whether a name is that of a function of the language, as far as that is known.
func (w *walk) builtin(id *ast.Ident) bool {
	_, ok := w.info.Uses[id].(*types.Builtin)
	return ok || w.info.Uses == nil
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
