package advise

import (
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"slices"
	"strings"

	"github.com/hone-perf/hone/internal/report"
)

// numbered puts the entries of maps by pointer at the places that a number in the objects says. What is at a place says whose it
// is, so nothing has to be known of the numbers but that they stay: objects with the same number, or with one that is far away,
// are in a map as before. The maps have to be in variables and parameters of functions of the package alone, in one file.
func (p *Pass) numbered(m *types.Map) []report.Fix {
	if p.unit.noFix != "" {
		p.why = p.unit.noFix
		return nil
	}
	named, ok := types.Unalias(m.Key().(*types.Pointer).Elem()).(*types.Named)
	if !ok || named.Obj().Pkg() != p.unit.Types || named.TypeArgs().Len() > 0 {
		p.why = "the objects are of another package"
		return nil
	}
	field := p.steadyNumber(named)
	if field == nil {
		p.why = "no field is known to number the objects and to stay as it is"
		return nil
	}
	n := &numbering{Pass: p, m: m, above: p.unit.above(), homes: map[types.Object]bool{}, edits: map[*file][]edit{}}
	for _, o := range p.info().Defs {
		if v, ok := o.(*types.Var); ok && types.Identical(v.Type(), m) {
			n.homes[v] = true
		}
	}
	n.typ = p.newName(lowerFirst(named.Obj().Name()) + "Map")
	if why := n.all(); why != "" {
		p.why = why
		return nil
	}
	if len(n.edits) != 1 {
		p.why = "it would change several files"
		return nil
	}
	for f, edits := range n.edits {
		q := p.inFile(f)
		qual := p.qualifier()
		key, value := types.TypeString(m.Key(), qual), types.TypeString(m.Elem(), qual)
		words := strings.NewReplacer("NAME", n.typ, "KEY", key, "VALUE", value, "FIELD", field.Name())
		// Behind everything else in the file, where it is out of the way.
		edits = append(edits, newEdit(f.ast.FileEnd, f.ast.FileEnd, words.Replace(numberedCode)))
		fixes := q.fix(report.Mechanical, "keep entries at the place that "+field.Name()+" says", edits...)
		p.why = q.why
		return fixes
	}
	return nil
}

const numberedCode = `
// NAME is a map[KEY]VALUE. It has an entry at the place that FIELD says, where that is near those of the others and not taken,
// and the rest in a map.
type NAME struct {
	places []NAMEEntry
	taken  int
	rest   map[KEY]VALUE
}

type NAMEEntry struct {
	key   KEY
	value VALUE
}

func (m *NAME) get(key KEY) VALUE {
	if key != nil && uint(key.FIELD) < uint(len(m.places)) {
		if e := &m.places[key.FIELD]; e.key == key {
			return e.value
		}
	}
	return m.rest[key]
}

func (m *NAME) set(key KEY, value VALUE) {
	if key != nil && key.FIELD >= 0 && key.FIELD < 2*m.taken+64 {
		if key.FIELD >= len(m.places) {
			more := make([]NAMEEntry, 2*key.FIELD+8)
			copy(more, m.places)
			m.places = more
		}
		e := &m.places[key.FIELD]
		_, elsewhere := m.rest[key]
		if e.key == nil && !elsewhere {
			e.key = key
			m.taken++
		}
		if e.key == key {
			e.value = value
			return
		}
	}
	if m.rest == nil {
		m.rest = make(map[KEY]VALUE)
	}
	m.rest[key] = value
}
`

// steadyNumber returns a field of a type that is an int and never changes once its struct is made, or nil.
func (p *function) steadyNumber(named *types.Named) *types.Var {
	name := numberField(named)
	st, ok := named.Underlying().(*types.Struct)
	if !ok || name == "" || p.shown(named) {
		return nil
	}
	var field *types.Var
	for f := range st.Fields() {
		if f.Name() == name {
			field = f
		}
	}
	if field == nil || !types.Identical(field.Type(), types.Typ[types.Int]) || field.Exported() && p.unit.Name != "main" || p.assignedLater(field) {
		return nil
	}
	// Nor is a struct of the type ever overwritten as a whole.
	for _, f := range p.unit.files {
		whole := false
		ast.Inspect(f.ast, func(n ast.Node) bool {
			if as, ok := n.(*ast.AssignStmt); ok {
				whole = whole || slices.ContainsFunc(as.Lhs, func(e ast.Expr) bool {
					t := p.typeOf(e)
					return t != nil && types.Identical(t, named)
				})
			}
			if call, ok := n.(*ast.CallExpr); ok && (p.builtin(call, "copy") != nil || p.builtin(call, "clear") != nil) {
				if l, ok := p.typeOf(call.Args[0]).Underlying().(*types.Slice); ok && types.Identical(l.Elem(), named) {
					whole = true
				}
			}
			return !whole
		})
		if whole {
			return nil
		}
	}
	return field
}

// A numbering is maps on their way.
type numbering struct {
	*Pass
	m     *types.Map
	typ   string
	above map[ast.Node]ast.Node
	homes map[types.Object]bool
	edits map[*file][]edit
}

func (n *numbering) edit(e edit) {
	for _, f := range n.unit.files {
		if f.ast.FileStart <= e.from && e.from < f.ast.FileEnd {
			n.edits[f] = append(n.edits[f], e)
		}
	}
}

// all changes all declarations and uses, and says why that cannot be.
func (n *numbering) all() string {
	for id, o := range n.info().Defs {
		if n.homes[o] && !n.declared(id) {
			return fmt.Sprintf("%s is more than a variable or a parameter of a function of this package", id.Name)
		}
	}
	for id, o := range n.info().Uses {
		if n.homes[o] && !n.used(id) {
			return fmt.Sprintf("%s is used for more than to look things up and to put them there", id.Name)
		}
	}
	return ""
}

func (n *numbering) declared(id *ast.Ident) bool {
	switch up := n.above[id].(type) {
	case *ast.AssignStmt:
		if up.Tok != token.DEFINE || len(up.Lhs) != 1 || len(up.Rhs) != 1 {
			return false
		}
		call := n.builtin(ast.Unparen(up.Rhs[0]), "make")
		if call == nil {
			return false
		}
		n.edit(replace(call, "new("+n.typ+")"))
		return true
	case *ast.Field:
		list, ok := n.above[up].(*ast.FieldList)
		if !ok {
			return false
		}
		typ, ok := n.above[list].(*ast.FuncType)
		if !ok || typ.Params != list {
			return false
		}
		decl, ok := n.above[typ].(*ast.FuncDecl)
		if !ok || decl.Recv != nil || decl.Name.IsExported() && n.unit.Name != "main" || !n.onlyCalled(decl) {
			return false
		}
		if up.Names[0] == id { // once for all names of the type
			n.edit(replace(up.Type, "*"+n.typ))
		}
		return true
	}
	return false
}

// onlyCalled reports whether a function is used for nothing but to be called, with maps that are known.
func (n *numbering) onlyCalled(decl *ast.FuncDecl) bool {
	fn := n.info().Defs[decl.Name]
	sig := fn.Type().(*types.Signature)
	if sig.Variadic() {
		return false
	}
	for id, o := range n.info().Uses {
		if o != fn {
			continue
		}
		call, ok := n.above[id].(*ast.CallExpr)
		if !ok || call.Fun != id || len(call.Args) != sig.Params().Len() {
			return false
		}
		for i, a := range call.Args {
			if n.homes[sig.Params().At(i)] && !n.homes[n.object(a)] {
				return false
			}
		}
	}
	return true
}

func (n *numbering) used(id *ast.Ident) bool {
	switch up := n.above[id].(type) {
	case *ast.CallExpr:
		fn := n.callee(up)
		i := slices.Index(up.Args, ast.Expr(id))
		return fn != nil && i >= 0 && fn.Pkg() == n.unit.Types && i < fn.Signature().Params().Len() && n.homes[fn.Signature().Params().At(i)]
	case *ast.IndexExpr:
		if up.X != id {
			return false
		}
		switch st := n.above[up].(type) {
		case *ast.AssignStmt:
			if slices.Contains(st.Lhs, ast.Expr(up)) {
				if len(st.Lhs) != 1 || len(st.Rhs) != 1 || st.Tok != token.ASSIGN {
					return false
				}
				n.edit(newEdit(id.End(), up.Index.Pos(), ".set("))
				n.edit(newEdit(up.Index.End(), st.Rhs[0].Pos(), ", "))
				n.edit(newEdit(st.End(), st.End(), ")"))
				return true
			}
			if len(st.Lhs) != len(st.Rhs) {
				return false
			}
		case *ast.ValueSpec:
			if len(st.Names) != len(st.Values) {
				return false
			}
		case *ast.IncDecStmt:
			return false
		case *ast.UnaryExpr:
			if st.Op == token.AND {
				return false
			}
		case *ast.RangeStmt:
			if st.Key == up || st.Value == up {
				return false
			}
		}
		n.edit(newEdit(id.End(), up.Index.Pos(), ".get("))
		n.edit(newEdit(up.Index.End(), up.End(), ")"))
		return true
	}
	return false
}
