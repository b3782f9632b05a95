package race

import (
	"errors"
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"slices"
	"strings"
)

// mutex puts a mutex beside the variable, and holds it wherever the variable is used.
func (e *editing) mutex() error {
	v := e.v
	d, err := v.declaration()
	if err != nil {
		return err
	}
	if d.unkeyed {
		return errors.New("an unkeyed literal creates the struct, so hone cannot add a field")
	}
	name := v.obj.Name() + "Mu"
	if err := v.free(name, d); err != nil {
		return err
	}
	g := &guarding{editing: e, mu: name, local: !v.obj.IsField() && v.obj.Parent() != v.pkg.Types.Scope()}
	if err := g.everywhere(); err != nil {
		return err
	}
	comment := " // guards " + v.obj.Name()
	switch n := d.node.(type) {
	case *ast.Field:
		if list := d.above[len(d.above)-1].(*ast.FieldList); v.line(list.Closing) == v.line(n.End()) {
			e.insert(n.End(), "; "+name+" sync.Mutex", true, 0)
			break
		}
		e.afterLine(n.End(), name+" sync.Mutex"+comment)
	case *ast.ValueSpec:
		decl := d.above[len(d.above)-1].(*ast.GenDecl)
		switch {
		case g.local:
			e.insert(decl.Pos(), "var "+name+" sync.Mutex"+comment+"\n", false, 0)
		case decl.Lparen.IsValid():
			e.afterLine(n.End(), name+" sync.Mutex"+comment)
		default:
			e.afterLine(decl.End(), "\nvar "+name+" sync.Mutex"+comment)
		}
	case *ast.AssignStmt:
		e.insert(n.Pos(), "var "+name+" sync.Mutex"+comment+"\n", false, 0)
	}
	return nil
}

func (v *variable) line(pos token.Pos) int { return v.pkg.Fset.Position(pos).Line }

// free reports whether a name is not taken where the variable is declared.
func (v *variable) free(name string, d *declaration) error {
	taken := false
	for id, obj := range v.pkg.TypesInfo.Defs {
		if obj != nil && id.Name == name {
			taken = true
		}
	}
	if taken {
		return fmt.Errorf("there is already a %s", name)
	}
	return nil
}

// A guarding holds a mutex in all functions that use the variable.
type guarding struct {
	*editing
	mu    string
	local bool
	byFn  map[ast.Node][]use // by the function that they are in
	locks map[types.Object]bool
}

// everywhere edits all functions.
func (g *guarding) everywhere() error {
	g.byFn = make(map[ast.Node][]use)
	var order []ast.Node
	for _, u := range g.v.uses() {
		if kv, ok := u.parent().(*ast.KeyValueExpr); ok && kv.Key == u.expr {
			if _, ok := u.above[len(u.above)-2].(*ast.CompositeLit); ok && g.v.obj.IsField() {
				continue // a literal makes it, and nobody else has it yet
			}
		}
		if p, ok := u.parent().(*ast.UnaryExpr); ok && p.Op == token.AND {
			return fmt.Errorf("its address is taken (line %d)", g.v.pkg.Fset.Position(u.expr.Pos()).Line)
		}
		fn := innermostFunc(u.above)
		if fn == nil {
			return errors.New("a package variable is initialized with it")
		}
		if g.local && fn == g.home() && !g.reported(&u) {
			continue // before and after the goroutines
		}
		if g.byFn[fn] == nil {
			order = append(order, fn)
		}
		g.byFn[fn] = append(g.byFn[fn], u)
	}
	if len(order) == 0 {
		return errors.New("no function uses it")
	}
	g.findLocks()
	for _, fn := range order {
		if err := g.guard(fn, g.byFn[fn]); err != nil {
			return err
		}
	}
	return nil
}

// home returns the function that declares a local variable.
func (g *guarding) home() ast.Node {
	d, err := g.v.declaration()
	if err != nil {
		return nil
	}
	return innermostFunc(d.above)
}

// reported reports whether a use is one of the accesses of the race.
func (g *guarding) reported(u *use) bool {
	p := g.v.pkg.Fset.Position(u.expr.Pos())
	return g.v.lines[p.Filename][p.Line]
}

func innermostFunc(above []ast.Node) ast.Node {
	for _, n := range slices.Backward(above) {
		switch n.(type) {
		case *ast.FuncDecl, *ast.FuncLit:
			return n
		}
	}
	return nil
}

func bodyOf(fn ast.Node) *ast.BlockStmt {
	switch fn := fn.(type) {
	case *ast.FuncDecl:
		return fn.Body
	case *ast.FuncLit:
		return fn.Body
	}
	return nil
}

// findLocks finds the functions of the package that will hold the mutex at some time, themselves or in what they call.
func (g *guarding) findLocks() {
	g.locks = make(map[types.Object]bool)
	calls := make(map[types.Object][]types.Object)
	for _, f := range g.v.pkg.Syntax {
		for _, d := range f.Decls {
			fn, ok := d.(*ast.FuncDecl)
			if !ok || fn.Body == nil {
				continue
			}
			obj := g.v.pkg.TypesInfo.Defs[fn.Name]
			ast.Inspect(fn.Body, func(n ast.Node) bool {
				if g.byFn[n] != nil {
					g.locks[obj] = true
				}
				if id, ok := n.(*ast.Ident); ok {
					if called, ok := g.v.pkg.TypesInfo.Uses[id].(*types.Func); ok && called.Pkg() == g.v.pkg.Types {
						calls[obj] = append(calls[obj], called.Origin())
					}
				}
				return true
			})
			if g.byFn[fn] != nil {
				g.locks[obj] = true
			}
		}
	}
	for again := true; again; {
		again = false
		for from, list := range calls {
			if !g.locks[from] && slices.ContainsFunc(list, func(o types.Object) bool { return g.locks[o] }) {
				g.locks[from], again = true, true
			}
		}
	}
}

// guard holds the mutex in a function: around as few statements as hold all uses, so that what belongs together stays so.
func (g *guarding) guard(fn ast.Node, uses []use) error {
	mu, err := g.mutexOf(uses)
	if err != nil {
		return err
	}
	list, first, last, top := g.statements(fn, uses)
	if list == nil {
		return fmt.Errorf("line %d uses it outside a statement", g.line(uses[0].expr))
	}
	part := list[first : last+1]
	if leaves(part) {
		if !top {
			// A deferred unlock belongs to the function, so it is for all of it.
			list, top = bodyOf(fn).List, true
			first = slices.IndexFunc(list, func(s ast.Stmt) bool { return s.End() > uses[0].expr.Pos() })
			if first < 0 {
				return fmt.Errorf("line %d uses it outside a statement", g.line(uses[0].expr))
			}
		}
		if err := g.mayHold(fn, list[first:]); err != nil {
			return err
		}
		g.insert(list[first].Pos(), mu+".Lock()\ndefer "+mu+".Unlock()\n", false, 0)
		return nil
	}
	if err := g.mayHold(fn, part); err != nil {
		return err
	}
	g.insert(part[0].Pos(), mu+".Lock()\n", false, 0)
	g.afterLine(part[len(part)-1].End(), mu+".Unlock()")
	return nil
}

func (g *guarding) line(n ast.Node) int { return g.v.line(n.Pos()) }

// mutexOf returns how the mutex is written beside the uses.
func (g *guarding) mutexOf(uses []use) (string, error) {
	out := ""
	for _, u := range uses {
		mu := g.mu
		if sel, ok := ast.Unparen(u.expr).(*ast.SelectorExpr); ok && g.v.obj.IsField() {
			if !simple(sel.X) {
				return "", fmt.Errorf("line %d reaches it through a call", g.line(sel))
			}
			mu = types.ExprString(sel.X) + "." + g.mu
		}
		if out != "" && mu != out {
			return "", fmt.Errorf("line %d uses a different one than the lines before it", g.line(u.expr))
		}
		out = mu
	}
	return out, nil
}

// simple reports whether an expression can be written twice.
func simple(e ast.Expr) bool {
	switch e := ast.Unparen(e).(type) {
	case *ast.Ident:
		return true
	case *ast.SelectorExpr:
		return simple(e.X)
	}
	return false
}

// statements returns the innermost list of statements that holds all uses, and which of them do. It is the top one of the
// function, or not.
func (g *guarding) statements(fn ast.Node, uses []use) (list []ast.Stmt, first, last int, top bool) {
	body := bodyOf(fn)
	for _, n := range slices.Backward(uses[0].above) {
		var stmts []ast.Stmt
		switch n := n.(type) {
		case *ast.BlockStmt:
			stmts = n.List
		case *ast.CaseClause:
			stmts = n.Body
		case *ast.CommClause:
			stmts = n.Body
		case *ast.FuncDecl, *ast.FuncLit:
			return nil, 0, 0, false
		default:
			continue
		}
		if len(stmts) > 0 {
			if isClause(stmts[0]) {
				continue // the body of a switch
			}
		}
		all := true
		first, last = len(stmts), -1
		for _, u := range uses {
			i := slices.IndexFunc(stmts, func(s ast.Stmt) bool { return s.Pos() <= u.expr.Pos() && u.expr.End() <= s.End() })
			if i < 0 {
				all = false
				break
			}
			first, last = min(first, i), max(last, i)
		}
		if all {
			return stmts, first, last, n == body
		}
	}
	return nil, 0, 0, false
}

func isClause(s ast.Stmt) bool {
	switch s.(type) {
	case *ast.CaseClause, *ast.CommClause:
		return true
	}
	return false
}

// leaves reports whether statements may be left otherwise than at their end, or declare what is used behind them in a way that
// makes no difference.
func leaves(list []ast.Stmt) bool {
	out := false
	for _, s := range list {
		depth := 0 // of loops and switches, which end what is in them
		var look func(n ast.Node) bool
		look = func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.FuncLit:
				return false
			case *ast.ReturnStmt:
				out = true
			case *ast.BranchStmt:
				if n.Label != nil || depth == 0 || n.Tok == token.GOTO {
					out = true
				}
			case *ast.ForStmt, *ast.RangeStmt, *ast.SwitchStmt, *ast.TypeSwitchStmt, *ast.SelectStmt:
				if n != nil {
					depth++
					for _, c := range children(n) {
						ast.Inspect(c, look)
					}
					depth--
					return false
				}
			}
			return !out
		}
		ast.Inspect(s, look)
	}
	return out
}

// children returns the parts of a statement.
func children(n ast.Node) []ast.Node {
	var out []ast.Node
	ast.Inspect(n, func(c ast.Node) bool {
		if c == n {
			return true
		}
		if c != nil {
			out = append(out, c)
		}
		return false
	})
	return out
}

// mayHold reports whether nothing that runs while the mutex is held needs it too, or waits for others.
func (g *guarding) mayHold(fn ast.Node, list []ast.Stmt) error {
	var err error
	refuse := func(n ast.Node, what string) {
		if err == nil {
			err = fmt.Errorf("line %d %s while the mutex would be held", g.line(n), what)
		}
	}
	for _, s := range list {
		ast.Inspect(s, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.FuncLit:
				if g.byFn[n] != nil && n != fn {
					refuse(n, "has a function literal that uses it")
				}
				return false
			case *ast.SendStmt:
				refuse(n, "sends on a channel")
			case *ast.SelectStmt:
				refuse(n, "waits for channels")
			case *ast.UnaryExpr:
				if n.Op == token.ARROW {
					refuse(n, "receives from a channel")
				}
			case *ast.CallExpr:
				id := calledName(n)
				if id == nil {
					return true
				}
				f, ok := g.v.pkg.TypesInfo.Uses[id].(*types.Func)
				if !ok {
					return true
				}
				switch {
				case g.locks[f.Origin()]:
					refuse(n, "calls "+f.Name()+", which also needs it,")
				case strings.HasPrefix(f.FullName(), "(*sync.WaitGroup).Wait"), strings.HasPrefix(f.FullName(), "(*sync.Cond).Wait"):
					refuse(n, "waits for goroutines")
				}
			}
			return true
		})
	}
	return err
}

func calledName(c *ast.CallExpr) *ast.Ident {
	switch f := ast.Unparen(c.Fun).(type) {
	case *ast.Ident:
		return f
	case *ast.SelectorExpr:
		return f.Sel
	}
	return nil
}
