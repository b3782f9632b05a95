package prove

import (
	"go/ast"
	"go/token"
	"go/types"
	"slices"
	"strings"

	"github.com/hone-perf/hone/internal/gotypes/writes"
)

// setsUp reports whether all that a method does is to put what its caller gives it into fields of its receiver that no lock guards: it
// adds to a list or a map, or sets an option. Such calls belong to making a value, before goroutines use it. The lock that the type
// has is there for something else, such as a cache. A method that returns something is called for that, and is not meant.
func (g *guards) setsUp(t *types.TypeName, method, key string) bool {
	d := g.decls[key]
	if d == nil || g.locks(key) || !g.saysNothing(t, method) {
		return false
	}
	fn, ok := d.node.(*ast.FuncDecl)
	if !ok || fn.Type.Params.NumFields() == 0 {
		return false
	}
	m := &setUp{guards: g, fields: make(map[*types.Var]bool)}
	if !m.look(fn, 0) || !m.elements && (!m.sets || m.counts) {
		return false
	}
	if g.guarded == nil {
		g.findGuarded()
	}
	for f := range m.fields {
		if g.guarded[f] {
			return false
		}
	}
	return true
}

// A setUp is what a method does to its receiver.
type setUp struct {
	*guards
	fields map[*types.Var]bool // that it changes

	elements bool // it adds elements to a field, or takes some out
	sets     bool // it sets a field to what does not come from the receiver
	counts   bool // it changes a field otherwise
}

// look reads a method, and those that it calls on its receiver. It reports false if one of them does more than change fields.
func (m *setUp) look(fn *ast.FuncDecl, depth int) bool {
	const deep = 3
	if fn.Body == nil || fn.Recv.NumFields() == 0 || len(fn.Recv.List[0].Names) == 0 || depth > deep {
		return false
	}
	recv := fn.Recv.List[0].Names[0]
	only := true
	ast.Inspect(fn.Body, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.GoStmt, *ast.SendStmt, *ast.SelectStmt, *ast.DeferStmt:
			only = false
		case *ast.UnaryExpr:
			// What has the address of a field may change it.
			only = only && n.Op != token.ARROW && !(n.Op == token.AND && m.names(n.X, recv))
		case *ast.IncDecStmt:
			only = only && m.change(recv, n.X, nil, token.ADD_ASSIGN)
		case *ast.AssignStmt:
			for i, l := range n.Lhs {
				only = only && m.change(recv, l, n.Rhs[min(i, len(n.Rhs)-1)], n.Tok)
			}
		case *ast.CallExpr:
			only = only && m.call(recv, n, depth)
		}
		return only
	})
	return only
}

// change notes what an assignment changes. It reports false if that may be seen elsewhere and is not a field of the receiver.
func (m *setUp) change(recv *ast.Ident, l, to ast.Expr, tok token.Token) bool {
	path := writes.PathOf(m.pkg.TypesInfo, l)
	root := path.Root
	if root == nil {
		return false
	}
	v, _ := m.pkg.TypesInfo.Uses[root].(*types.Var)
	switch {
	case tok == token.DEFINE || root.Name == "_":
		return true
	case v == nil || v.Parent() == v.Pkg().Scope():
		return false
	case v != m.pkg.TypesInfo.Defs[recv]:
		return path.Inside // and not memory that may be the receiver's
	}
	f := firstFieldOf(path)
	if f == nil {
		return false
	}
	m.fields[f] = true
	call, _ := ast.Unparen(to).(*ast.CallExpr)
	switch {
	case tok == token.ASSIGN && (isElement(l) || call != nil && m.builtin(call) == "append"):
		m.elements = true
	case tok == token.ASSIGN && !m.names(to, recv):
		m.sets = true
	default:
		m.counts = true
	}
	return true
}

// call reports false for calls that may do anything with the receiver or with what its fields hold.
func (m *setUp) call(recv *ast.Ident, c *ast.CallExpr, depth int) bool {
	switch m.builtin(c) {
	case "delete", "clear":
		f := m.firstField(c.Args[0])
		m.fields[f], m.elements = true, true
		return f != nil && m.names(c.Args[0], recv)
	case "copy", "close":
		return false
	}
	isRecv := func(e ast.Expr) bool {
		id, ok := ast.Unparen(e).(*ast.Ident)
		return ok && m.names(id, recv)
	}
	if slices.ContainsFunc(c.Args, isRecv) {
		return false
	}
	if !m.names(c.Fun, recv) {
		return true
	}
	sel, ok := ast.Unparen(c.Fun).(*ast.SelectorExpr)
	if !ok || !isRecv(sel.X) {
		return false
	}
	d := m.decls[m.keyOf(m.pkg.TypesInfo.Uses[sel.Sel])]
	if d == nil || m.direct[d.key] {
		return false
	}
	fn, ok := d.node.(*ast.FuncDecl)
	return ok && m.look(fn, depth+1)
}

// builtin returns the name of the builtin function that is called, or "".
func (g *guards) builtin(c *ast.CallExpr) string {
	if id, ok := ast.Unparen(c.Fun).(*ast.Ident); ok {
		if b, ok := g.pkg.TypesInfo.Uses[id].(*types.Builtin); ok {
			return b.Name()
		}
	}
	return ""
}

// firstField returns the field of a variable that an expression goes through first, such as f of (*x.f)[i].g; nil for none.
func (g *guards) firstField(e ast.Expr) *types.Var {
	return firstFieldOf(writes.PathOf(g.pkg.TypesInfo, e))
}

func firstFieldOf(p writes.Path) *types.Var {
	if len(p.Fields) == 0 {
		return nil
	}
	return p.Fields[len(p.Fields)-1].Origin()
}

// findGuarded finds the fields that locks guard: those that code uses while it holds a lock, or passes to atomic operations, and those
// that functions change which it calls while it holds one.
func (g *guards) findGuarded() {
	g.guarded = make(map[*types.Var]bool)
	var called []string // with a lock held
	uses := func(id *ast.Ident) {
		switch obj := g.pkg.TypesInfo.Uses[id].(type) {
		case *types.Var:
			g.guarded[obj.Origin()] = true
		case *types.Func:
			called = append(called, g.keyOf(obj))
		}
	}
	for _, d := range g.decls {
		fn, ok := d.node.(*ast.FuncDecl)
		if !ok || fn.Body == nil || d.test {
			continue
		}
		first, last := g.locksBetween(fn.Body)
		ast.Inspect(fn.Body, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.CallExpr:
				if sel, ok := n.Fun.(*ast.SelectorExpr); !ok || packageOf(g.pkg.TypesInfo.Uses[sel.Sel]) != "sync/atomic" {
					return true
				}
				ast.Inspect(n, func(n ast.Node) bool {
					if id, ok := n.(*ast.Ident); ok {
						uses(id)
					}
					return true
				})
			case *ast.Ident:
				if first < n.Pos() && n.Pos() < last {
					uses(n)
				}
			}
			return true
		})
	}
	seen := make(map[string]bool)
	for len(called) > 0 {
		d := g.decls[called[0]]
		called = called[1:]
		if d == nil || seen[d.key] || !d.isFunc() || d.test {
			continue
		}
		seen[d.key] = true
		called = append(called, d.uses...)
		for w := range writes.In(g.pkg.TypesInfo, d.node) {
			if f := firstFieldOf(w.Path); f != nil && w.How.Sets() {
				g.guarded[f] = true
			}
		}
	}
}

// locksBetween returns the part of a function that holds a lock: from where it takes the first to where it lets the last go, or to the
// end of the function, or function literal, that defers this. It is empty if the function takes none.
func (g *guards) locksBetween(body *ast.BlockStmt) (first, last token.Pos) {
	ends := []token.Pos{body.End()} // of the function, and of the literals that the walk is in
	var deferred token.Pos          // end of the last defer statement
	ast.Inspect(body, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncLit:
			for ends[len(ends)-1] < n.Pos() {
				ends = ends[:len(ends)-1]
			}
			if n.Pos() > deferred { // a literal that is deferred runs at the end of the function around it
				ends = append(ends, n.End())
			}
		case *ast.DeferStmt:
			deferred = n.End()
		case *ast.CallExpr:
			sel, ok := n.Fun.(*ast.SelectorExpr)
			if !ok {
				return true
			}
			fn := g.pkg.TypesInfo.Uses[sel.Sel]
			if packageOf(fn) != "sync" && !g.direct[g.keyOf(fn)] {
				return true
			}
			switch strings.ToLower(fn.Name()) {
			case "lock", "rlock", "trylock", "tryrlock":
				if !first.IsValid() {
					first = n.End()
				}
			case "unlock", "runlock":
				at := n.Pos()
				if at < deferred {
					for ends[len(ends)-1] < at {
						ends = ends[:len(ends)-1]
					}
					at = ends[len(ends)-1]
				}
				last = max(last, at)
			}
		}
		return true
	})
	switch {
	case !first.IsValid():
		return token.NoPos, token.NoPos
	case last < first: // another function lets it go
		last = body.End()
	}
	return first, last
}

// packageOf returns the path of the package that declares something, or "".
func packageOf(obj types.Object) string {
	if obj == nil || obj.Pkg() == nil {
		return ""
	}
	return obj.Pkg().Path()
}
