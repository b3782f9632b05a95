package race

import (
	"errors"
	"fmt"
	"go/ast"
	"go/constant"
	"go/token"
	"go/types"
	"slices"
	"strings"
)

// A use is where the variable is named, with what is around it, outermost first.
type use struct {
	expr  ast.Expr // the variable, or the field with what it is a field of
	above []ast.Node
}

// uses finds all places that name the variable, but for its declaration.
func (v *variable) uses() []use {
	var out []use
	for _, f := range v.pkg.Syntax {
		var above []ast.Node
		ast.Inspect(f, func(n ast.Node) bool {
			if n == nil {
				above = above[:len(above)-1]
				return true
			}
			if id, ok := n.(*ast.Ident); ok && v.isUse(id) {
				u := use{expr: id, above: slices.Clone(above)}
				if k := len(above); k > 0 {
					if sel, ok := above[k-1].(*ast.SelectorExpr); ok && sel.Sel == id {
						u.expr, u.above = sel, u.above[:k-1]
					}
				}
				for k := len(u.above); k > 0; k = len(u.above) {
					p, ok := u.above[k-1].(*ast.ParenExpr)
					if !ok {
						break
					}
					u.expr, u.above = p, u.above[:k-1]
				}
				out = append(out, u)
			}
			above = append(above, n)
			return true
		})
	}
	return out
}

func (v *variable) isUse(id *ast.Ident) bool {
	o, _ := v.pkg.TypesInfo.Uses[id].(*types.Var)
	return o != nil && o.Origin() == v.obj
}

func (u *use) parent() ast.Node {
	if len(u.above) == 0 {
		return nil
	}
	return u.above[len(u.above)-1]
}

// atomic makes the variable an atomic one.
func (e *editing) atomic(t string) error {
	if err := e.declareAtomic(t); err != nil {
		return err
	}
	uses := e.v.uses()
	named := make(map[ast.Expr]string) // reads that have the result of the change before them
	for i := range uses {
		if err := e.change(&uses[i], t, uses, named); err != nil {
			return err
		}
	}
	for i := range uses {
		u := &uses[i]
		if changes(u) {
			continue
		}
		if name, ok := named[u.expr]; ok {
			e.replace(u.expr.Pos(), u.expr.End(), name, false, len(u.above))
			continue
		}
		e.read(u)
	}
	return nil
}

// changes reports whether a use changes the variable by itself, and not only reads it.
func changes(u *use) bool {
	switch p := u.parent().(type) {
	case *ast.IncDecStmt:
		return true
	case *ast.AssignStmt:
		return slices.Contains(p.Lhs, u.expr)
	}
	return false
}

// conv returns what a value of the variable's type has to be wrapped in for the atomic one, and back.
func (v *variable) conv() (to, from string) {
	switch v.obj.Type().(*types.Basic).Kind() {
	case types.Int:
		return "int64", "int"
	case types.Uint:
		return "uint64", "uint"
	}
	return "", ""
}

func (e *editing) read(u *use) {
	_, from := e.v.conv()
	depth := len(u.above)
	if from != "" {
		e.insert(u.expr.Pos(), from+"(", false, depth)
		e.insert(u.expr.End(), ".Load())", true, depth)
		return
	}
	e.insert(u.expr.End(), ".Load()", true, depth)
}

// change edits a use that is not just a read.
func (e *editing) change(u *use, t string, uses []use, named map[ast.Expr]string) error {
	at := e.v.pkg.Fset.Position(u.expr.Pos())
	no := func(what string) error { return fmt.Errorf("%s (line %d)", what, at.Line) }
	depth := len(u.above)
	switch p := u.parent().(type) {
	case *ast.UnaryExpr:
		if p.Op == token.AND {
			return no("its address is taken")
		}
	case *ast.KeyValueExpr:
		if p.Key == u.expr {
			if lit, ok := u.above[len(u.above)-2].(*ast.CompositeLit); ok && e.v.obj.IsField() && lit != nil {
				return no("a literal sets it")
			}
		}
	case *ast.RangeStmt:
		if p.Key == u.expr || p.Value == u.expr {
			return no("a loop sets it")
		}
	case *ast.IncDecStmt:
		if t == "Bool" {
			return no("it is counted")
		}
		by := "1"
		if p.Tok == token.DEC {
			if strings.HasPrefix(t, "Uint") {
				return no("it is unsigned and counted down")
			}
			by = "-1"
		}
		e.added(u, p, uses, named, func(open, end string) {
			e.insert(u.expr.Pos(), open, false, depth-1)
			e.replace(u.expr.End(), p.End(), ".Add("+by+")"+end, true, depth)
		})
	case *ast.AssignStmt:
		if !slices.Contains(p.Lhs, u.expr) {
			return nil
		}
		if len(p.Lhs) != 1 || len(p.Rhs) != 1 {
			return no("it is set together with others")
		}
		to, _ := e.v.conv()
		if tv := e.v.pkg.TypesInfo.Types[p.Rhs[0]]; tv.Value != nil && tv.Value.Kind() != constant.Unknown {
			to = "" // a constant has the type that is asked for
		}
		call, sign := ".Store(", ""
		switch p.Tok {
		case token.ASSIGN:
		case token.ADD_ASSIGN:
			call = ".Add("
		case token.SUB_ASSIGN:
			if strings.HasPrefix(t, "Uint") {
				return no("it is unsigned and counted down")
			}
			call, sign = ".Add(", "-("
		default:
			return no("it is set with " + p.Tok.String())
		}
		if p.Tok == token.ASSIGN && e.v.readsItself(p.Rhs[0]) {
			return no("its new value depends on the old one")
		}
		open, end := call, ")"
		if sign != "" {
			open, end = open+sign, ")"+end
		}
		if to != "" {
			open, end = open+to+"(", ")"+end
		}
		edit := func(before, after string) {
			e.insert(u.expr.Pos(), before, false, depth-1)
			e.replace(u.expr.End(), p.Rhs[0].Pos(), open, false, depth-1)
			e.insert(p.Rhs[0].End(), end+after, true, depth-1)
		}
		if p.Tok == token.ASSIGN {
			edit("", "")
			return nil
		}
		e.added(u, p, uses, named, edit)
	}
	return nil
}

// readsItself reports whether an expression reads the variable.
func (v *variable) readsItself(x ast.Expr) bool {
	found := false
	ast.Inspect(x, func(n ast.Node) bool {
		if id, ok := n.(*ast.Ident); ok && v.isUse(id) {
			found = true
		}
		return !found
	})
	return found
}

// added edits an addition. What the same block reads afterwards is to be the number that this addition made, not what others
// made of it since: those reads get the result by name.
func (e *editing) added(u *use, stmt ast.Stmt, uses []use, named map[ast.Expr]string, edit func(open, end string)) {
	var after []*use
	block, _ := u.above[len(u.above)-2].(*ast.BlockStmt)
	if block != nil {
		for i := range uses {
			o := &uses[i]
			k := slices.Index(o.above, ast.Node(block))
			if k < 0 || o.expr.Pos() < stmt.End() || !sameBase(u.expr, o.expr) {
				continue
			}
			if changes(o) {
				after = slices.DeleteFunc(after, func(a *use) bool { return a.expr.Pos() > o.expr.Pos() })
				break
			}
			if slices.ContainsFunc(o.above[k:], func(n ast.Node) bool {
				switch n.(type) {
				case *ast.FuncLit, *ast.ForStmt, *ast.RangeStmt: // which may run later, or more than once
					return true
				}
				return false
			}) {
				continue
			}
			if un, ok := o.parent().(*ast.UnaryExpr); ok && un.Op == token.AND {
				continue
			}
			after = append(after, o)
		}
	}
	if len(after) == 0 {
		edit("", "")
		return
	}
	name := freeName(u, "n", "number", "now", e.v.obj.Name()+"Now")
	open, end := name+" := ", ""
	if _, from := e.v.conv(); from != "" {
		open, end = open+from+"(", ")"
	}
	edit(open, end)
	for _, o := range after {
		named[o.expr] = name
	}
}

// sameBase reports whether two expressions are the same variable, or the field of the same one.
func sameBase(a, b ast.Expr) bool {
	sa, ok := a.(*ast.SelectorExpr)
	if !ok {
		_, ok := b.(*ast.SelectorExpr)
		return !ok
	}
	sb, ok := b.(*ast.SelectorExpr)
	return ok && types.ExprString(sa.X) == types.ExprString(sb.X)
}

// freeName returns the first of names that the function does not use.
func freeName(u *use, names ...string) string {
	used := make(map[string]bool)
	for _, n := range u.above {
		if fn, ok := n.(*ast.FuncDecl); ok {
			var look func(n ast.Node) bool
			look = func(n ast.Node) bool {
				switch n := n.(type) {
				case *ast.SelectorExpr: // the name of a field is in nobody's way
					ast.Inspect(n.X, look)
					return false
				case *ast.Ident:
					used[n.Name] = true
				}
				return true
			}
			ast.Inspect(fn, look)
		}
	}
	for _, n := range names {
		if !used[n] {
			return n
		}
	}
	return names[len(names)-1] + "2"
}

// declareAtomic edits the declaration.
func (e *editing) declareAtomic(t string) error {
	d, err := e.v.declaration()
	if err != nil {
		return err
	}
	switch n := d.node.(type) {
	case *ast.Field:
		if d.unkeyed {
			return errors.New("an unkeyed literal sets it")
		}
		e.replace(n.Type.Pos(), n.Type.End(), "atomic."+t, false, 0)
	case *ast.ValueSpec:
		if len(n.Values) > 0 && !isZero(e.v.pkg.TypesInfo.Types[n.Values[0]]) {
			return errors.New("its initial value is not zero")
		}
		e.replace(n.Names[0].End(), n.End(), " atomic."+t, false, 0)
	case *ast.AssignStmt:
		if !isZero(e.v.pkg.TypesInfo.Types[n.Rhs[0]]) {
			return errors.New("its initial value is not zero")
		}
		e.replace(n.Pos(), n.End(), "var "+e.v.obj.Name()+" atomic."+t, false, 0)
	}
	return nil
}

func isZero(tv types.TypeAndValue) bool {
	if tv.Value == nil {
		return false
	}
	switch tv.Value.Kind() {
	case constant.Bool:
		return !constant.BoolVal(tv.Value)
	case constant.Int:
		return constant.Sign(tv.Value) == 0
	}
	return false
}

// A declaration is where the variable is declared: a field, a ValueSpec or a short declaration, by itself.
type declaration struct {
	node    ast.Node
	above   []ast.Node
	unkeyed bool // some literal of the struct has no names
}

func (v *variable) declaration() (*declaration, error) {
	var d *declaration
	for _, f := range v.pkg.Syntax {
		var above []ast.Node
		ast.Inspect(f, func(n ast.Node) bool {
			if n == nil {
				above = above[:len(above)-1]
				return true
			}
			if id, ok := n.(*ast.Ident); ok && v.pkg.TypesInfo.Defs[id] == v.obj && len(above) > 0 && d == nil {
				d = &declaration{node: above[len(above)-1], above: slices.Clone(above[:len(above)-1])}
			}
			above = append(above, n)
			return true
		})
	}
	if d == nil {
		return nil, errors.New("its declaration was not found")
	}
	single := false
	switch n := d.node.(type) {
	case *ast.Field:
		if _, ok := d.above[len(d.above)-2].(*ast.StructType); !ok {
			return nil, errors.New("it is a parameter or a result")
		}
		single = len(n.Names) == 1
		d.unkeyed = v.unkeyed()
	case *ast.ValueSpec:
		single = len(n.Names) == 1 && len(n.Values) <= 1
	case *ast.AssignStmt:
		single = len(n.Lhs) == 1 && len(n.Rhs) == 1
		if _, ok := d.above[len(d.above)-1].(*ast.BlockStmt); !ok {
			return nil, errors.New("it is declared in a statement header")
		}
	default:
		return nil, errors.New("a loop or a switch declares it")
	}
	if !single {
		return nil, errors.New("it is declared together with others")
	}
	return d, nil
}

// unkeyed reports whether a literal sets the fields of the struct without naming them.
func (v *variable) unkeyed() bool {
	found := false
	for _, f := range v.pkg.Syntax {
		ast.Inspect(f, func(n ast.Node) bool {
			lit, ok := n.(*ast.CompositeLit)
			if !ok || len(lit.Elts) == 0 {
				return true
			}
			if _, keyed := lit.Elts[0].(*ast.KeyValueExpr); keyed {
				return true
			}
			t := v.pkg.TypesInfo.TypeOf(lit)
			if t == nil {
				return true
			}
			if p, ok := t.Underlying().(*types.Pointer); ok {
				t = p.Elem()
			}
			if st, ok := t.Underlying().(*types.Struct); ok {
				for f := range st.Fields() {
					if f.Origin() == v.obj {
						found = true
					}
				}
			}
			return true
		})
	}
	return found
}
