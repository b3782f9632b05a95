package rules

import (
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"slices"
	"strings"

	"github.com/hone-perf/hone/internal/advise"
	"github.com/hone-perf/hone/internal/advise/facts/code"
	"github.com/hone-perf/hone/internal/advise/facts/edit"
	"github.com/hone-perf/hone/internal/advise/facts/kind"
	"github.com/hone-perf/hone/internal/advise/facts/steady"
	"github.com/hone-perf/hone/internal/advise/facts/text"
	"github.com/hone-perf/hone/internal/report"
	"github.com/hone-perf/hone/internal/report/missing"
)

var mapByPointer = &advise.Rule{
	Name: "map-by-pointer", Rank: 14,
	Doc: "data of an object is looked up in a map by the object's address",

	NoFix: missing.NoNumberField,
	Find: func(p *advise.Pass) {
		for _, u := range mapsOf(p, func(m *types.Map) bool {
			ptr, ok := m.Key().Underlying().(*types.Pointer)
			if !ok || kind.IsSet(m) {
				return false
			}
			_, ok = ptr.Elem().Underlying().(*types.Struct)
			return ok
		}) {
			ptr := u.t.Key().Underlying().(*types.Pointer)
			key := types.TypeString(ptr.Elem(), types.RelativeTo(p.Pkg.Types))
			f := advise.Finding{
				Title: "map keyed by pointers where a field or an index would do",
				Claim: fmt.Sprintf("each lookup of the %s of a *%s hashes the pointer and searches; a field needs one load", types.TypeString(u.t.Elem(), types.RelativeTo(p.Pkg.Types)), key),
				Risk:  "a field is there for all users of the type, and for one of them at a time",
			}
			f.Advice = "keep it in a field of " + key
			if id := numberField(ptr.Elem()); id != "" {
				f.Advice += fmt.Sprintf("; or, if %s counts from 0 on, in a slice indexed by it", id)
			} else {
				f.Advice += "; or number the objects, and keep it in a slice"
			}
			if f.Fixes = numbered(u.in[0], u.t); len(f.Fixes) > 0 {
				f.Risk = "with the patch, there is room for two entries where there is one; a field would be for all users of the type, and for one of them at a time"
			}
			for _, q := range u.in {
				q.Why = u.in[0].Why
			}
			u.report(f)
		}
	},
}

// numberField returns the name of a field that may number the objects of a type, or "".
func numberField(t types.Type) string {
	s, ok := t.Underlying().(*types.Struct)
	if !ok {
		return ""
	}
	best := ""
	for f := range s.Fields() {
		if !kind.IsBasic(f.Type(), types.IsInteger) {
			continue
		}
		name := strings.ToLower(f.Name())
		if strings.HasSuffix(name, "id") || slices.Contains([]string{"name", "index", "number", "num", "no", "idx", "pos"}, name) {
			return f.Name()
		}
		if best == "" {
			best = f.Name()
		}
	}
	return best
}

// numbered puts the entries of maps by pointer at the places that a number in the objects says. What is at a place says whose it
// is, so nothing has to be known of the numbers but that they stay: objects with the same number, or with one that is far away,
// are in a map as before. The maps have to be in variables and parameters of functions of the package alone, in one file.
func numbered(p *advise.Pass, m *types.Map) []report.Fix {
	if p.Pkg.NoFix.Fact != "" {
		return p.Because(p.Pkg.NoFix)
	}
	named, ok := types.Unalias(m.Key().(*types.Pointer).Elem()).(*types.Named)
	if !ok || named.Obj().Pkg() != p.Pkg.Types || named.TypeArgs().Len() > 0 {
		p.No(missing.ObjectsElsewhere)
		return nil
	}
	field := steadyNumber(p.Func, named)
	if field == nil {
		p.No(missing.NoNumberField)
		return nil
	}
	n := &numbering{Pass: p, m: m, above: p.Pkg.Above(), homes: map[types.Object]bool{}, edits: map[*code.File][]edit.Edit{}}
	for _, o := range p.Info().Defs {
		if v, ok := o.(*types.Var); ok && types.Identical(v.Type(), m) {
			n.homes[v] = true
		}
	}
	n.typ = p.NewName(text.LowerFirst(named.Obj().Name()) + "Map")
	if why := n.all(); why.Fact != "" {
		return p.Because(why)
	}
	if len(n.edits) != 1 {
		p.No(missing.SeveralFiles)
		return nil
	}
	for f, edits := range n.edits {
		q := p.InFile(f)
		qual := p.Qualifier()
		key, value := types.TypeString(m.Key(), qual), types.TypeString(m.Elem(), qual)
		words := strings.NewReplacer("NAME", n.typ, "KEY", key, "VALUE", value, "FIELD", field.Name())
		// Behind everything else in the file, where it is out of the way.
		edits = append(edits, edit.New(f.AST.FileEnd, f.AST.FileEnd, words.Replace(numberedCode)))
		fixes := q.Fix(report.Mechanical, "keep entries at the place that "+field.Name()+" says", edits...)
		p.Why = q.Why
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
func steadyNumber(fn *code.Func, named *types.Named) *types.Var {
	name := numberField(named)
	st, ok := named.Underlying().(*types.Struct)
	if !ok || name == "" || fn.Shown(named) {
		return nil
	}
	var field *types.Var
	for f := range st.Fields() {
		if f.Name() == name {
			field = f
		}
	}
	if field == nil || !types.Identical(field.Type(), types.Typ[types.Int]) || field.Exported() && fn.Pkg.Name != "main" || !steady.Field(fn, field) {
		return nil
	}
	// Nor is a struct of the type ever overwritten as a whole.
	for _, f := range fn.Pkg.Files {
		whole := false
		ast.Inspect(f.AST, func(n ast.Node) bool {
			if as, ok := n.(*ast.AssignStmt); ok {
				whole = whole || slices.ContainsFunc(as.Lhs, func(e ast.Expr) bool {
					t := fn.TypeOf(e)
					return t != nil && types.Identical(t, named)
				})
			}
			if call, ok := n.(*ast.CallExpr); ok && (fn.Builtin(call, "copy") != nil || fn.Builtin(call, "clear") != nil) {
				if l, ok := fn.TypeOf(call.Args[0]).Underlying().(*types.Slice); ok && types.Identical(l.Elem(), named) {
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
	*advise.Pass
	m     *types.Map
	typ   string
	above map[ast.Node]ast.Node
	homes map[types.Object]bool
	edits map[*code.File][]edit.Edit
}

func (n *numbering) edit(e edit.Edit) {
	for _, f := range n.Pkg.Files {
		if f.AST.FileStart <= e.From && e.From < f.AST.FileEnd {
			n.edits[f] = append(n.edits[f], e)
		}
	}
}

// all changes all declarations and uses, and says why that cannot be.
func (n *numbering) all() missing.Reason {
	for id, o := range n.Info().Defs {
		if n.homes[o] && !n.declared(id) {
			return missing.MoreThanVariable.Of(id.Name)
		}
	}
	for id, o := range n.Info().Uses {
		if n.homes[o] && !n.used(id) {
			return missing.MoreThanLookup.Of(id.Name)
		}
	}
	return missing.Reason{}
}

func (n *numbering) declared(id *ast.Ident) bool {
	switch up := n.above[id].(type) {
	case *ast.AssignStmt:
		if up.Tok != token.DEFINE || len(up.Lhs) != 1 || len(up.Rhs) != 1 {
			return false
		}
		call := n.Builtin(ast.Unparen(up.Rhs[0]), "make")
		if call == nil {
			return false
		}
		n.edit(edit.Replace(call, "new("+n.typ+")"))
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
		if !ok || decl.Recv != nil || decl.Name.IsExported() && n.Pkg.Name != "main" || n.Pkg.NamedElsewhere(decl.Name.Name) || !n.onlyCalled(decl) {
			return false
		}
		if up.Names[0] == id { // once for all names of the type
			n.edit(edit.Replace(up.Type, "*"+n.typ))
		}
		return true
	}
	return false
}

// onlyCalled reports whether a function is used for nothing but to be called, with maps that are known.
func (n *numbering) onlyCalled(decl *ast.FuncDecl) bool {
	fn := n.Info().Defs[decl.Name]
	sig := fn.Type().(*types.Signature)
	if sig.Variadic() {
		return false
	}
	for id, o := range n.Info().Uses {
		if o != fn {
			continue
		}
		call, ok := n.above[id].(*ast.CallExpr)
		if !ok || call.Fun != id || len(call.Args) != sig.Params().Len() {
			return false
		}
		for i, a := range call.Args {
			if n.homes[sig.Params().At(i)] && !n.homes[n.Object(a)] {
				return false
			}
		}
	}
	return true
}

func (n *numbering) used(id *ast.Ident) bool {
	switch up := n.above[id].(type) {
	case *ast.CallExpr:
		fn := n.Callee(up)
		i := slices.Index(up.Args, ast.Expr(id))
		return fn != nil && i >= 0 && fn.Pkg() == n.Pkg.Types && i < fn.Signature().Params().Len() && n.homes[fn.Signature().Params().At(i)]
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
				n.edit(edit.New(id.End(), up.Index.Pos(), ".set("))
				n.edit(edit.New(up.Index.End(), st.Rhs[0].Pos(), ", "))
				n.edit(edit.New(st.End(), st.End(), ")"))
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
		n.edit(edit.New(id.End(), up.Index.Pos(), ".get("))
		n.edit(edit.New(up.Index.End(), up.End(), ")"))
		return true
	}
	return false
}
