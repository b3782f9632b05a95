package rules

import (
	"fmt"
	"go/ast"
	"go/constant"
	"go/token"
	"go/types"
	"slices"

	"github.com/hone-perf/hone/internal/advise"
	"github.com/hone-perf/hone/internal/advise/facts/code"
	"github.com/hone-perf/hone/internal/advise/facts/edit"
	"github.com/hone-perf/hone/internal/advise/facts/kind"
	"github.com/hone-perf/hone/internal/report"
	"github.com/hone-perf/hone/internal/report/missing"
)

var mapAsSet = &advise.Rule{
	Name: "map-as-set", Rank: 14,
	Doc: "sets are maps although they are small or their members are small numbers",

	NoFix: missing.SetUse,
	Find: func(p *advise.Pass) {
		for _, u := range mapsOf(p, func(m *types.Map) bool { return kind.IsSet(m) && !kind.IsString(m.Key()) && !kind.IsTypeParam(m.Key()) }) {
			key := types.TypeString(u.t.Key(), types.RelativeTo(p.Pkg.Types))
			f := advise.Finding{
				Title: "map as a set",
				Claim: fmt.Sprintf("each set of %s is a map, which allocates a group of slots for its first member and hashes on each lookup", key),
				Risk:  "searching a slice takes longer with more members: measure with the largest sets; members are then in insertion order",
			}
			switch {
			case kind.IsBasic(u.t.Key(), types.IsInteger):
				f.Advice = "if the sets stay small, search a slice; if many stay empty, make the map with the first member; for members that are small numbers, use a []bool or a bitmap"
			default:
				f.Advice = "if the sets stay small, search a slice; if many stay empty, make the map with the first member; for one set at a time, mark the objects"
			}
			f.Fixes = listed(u.in[0], u.t)
			for _, q := range u.in {
				q.Why = u.in[0].Why
			}
			u.report(f)
		}
	},
}

// listed makes sets of one type lists that are searched: those in variables and fields that are used for nothing that a list
// cannot do as well. What a loop over a map does first is anybody's guess, so the order of a list is as good. All that has to do
// with them is to be in one file. The error says in words why there is no patch.
func listed(p *advise.Pass, m *types.Map) []report.Fix {
	if p.Pkg.NoFix.Fact != "" {
		return p.Because(p.Pkg.NoFix)
	}
	switch m.Key().Underlying().(type) {
	case *types.Pointer, *types.Chan:
	case *types.Basic:
		if !kind.IsBasic(m.Key(), types.IsInteger) {
			p.No(missing.EqualNotSame)
			return nil
		}
	default:
		p.No(missing.LargeMembers)
		return nil
	}
	s := &setting{Pass: p, m: m, parents: p.Pkg.Above(), edits: map[*code.File][]edit.Edit{}}
	var homes []*types.Var
	for _, o := range p.Info().Defs {
		if v, ok := o.(*types.Var); ok && s.holds(v.Type()) {
			homes = append(homes, v)
		}
	}
	if len(homes) == 0 {
		p.No(missing.SetsElsewhere)
		return nil
	}
	slices.SortFunc(homes, func(a, b *types.Var) int { return int(a.Pos() - b.Pos()) })
	for _, h := range homes {
		if p.Pkg.NamedElsewhere(h.Name()) && (h.IsField() || h.Parent() == p.Pkg.Types.Scope()) {
			return p.No(missing.StatesElsewhere, h.Name())
		}
		if !s.home(h) {
			p.No(missing.SetUseOf, h.Name())
			return nil
		}
	}
	if len(s.edits) != 1 {
		p.No(missing.SeveralFiles)
		return nil
	}
	for f, edits := range s.edits {
		q := p.InFile(f)
		if s.contains && !p.Pkg.AtLeast(21) {
			p.No(missing.OlderGo, 21, "package slices")
			return nil
		}
		if s.contains {
			q.Need("slices")
		}
		fixes := q.Fix(report.Mechanical, "keep the members in slices, and search those", edits...)
		p.Why = q.Why
		return fixes
	}
	return nil
}

// A setting is sets on their way to be lists.
type setting struct {
	*advise.Pass
	m        *types.Map
	parents  map[ast.Node]ast.Node
	edits    map[*code.File][]edit.Edit
	contains bool // lists are searched
}

// holds reports whether a type is that of the sets, or of slices of them.
func (s *setting) holds(t types.Type) bool {
	if l, ok := t.(*types.Slice); ok {
		t = l.Elem()
	}
	return types.Identical(t, s.m)
}

func (s *setting) edit(e edit.Edit) {
	for _, f := range s.Pkg.Files {
		if f.AST.FileStart <= e.From && e.From < f.AST.FileEnd {
			s.edits[f] = append(s.edits[f], e)
		}
	}
}

func (s *setting) text(n ast.Node) string {
	return sourceOf(fileOf(s.Pkg, n), n)
}

// home changes a variable or field, and all that uses it. It reports whether that can be.
func (s *setting) home(v *types.Var) bool {
	if v.IsField() {
		if v.Exported() && s.Pkg.Name != "main" || !s.byPointer(v) {
			return false
		}
	} else if v.Parent() == nil || v.Parent() == s.Pkg.Types.Scope() && v.Exported() && s.Pkg.Name != "main" {
		return false
	}
	for id, o := range s.Info().Defs {
		if o == v && !s.declared(id, v) {
			return false
		}
	}
	for id, o := range s.Info().Uses {
		if o == v && !s.used(id, v) {
			return false
		}
	}
	return true
}

// byPointer reports whether the struct of a field is only ever reached through pointers, and given to nobody as an interface: a
// copy would share a set, and not a list; and who prints it would see the difference.
func (s *setting) byPointer(v *types.Var) bool {
	owner := s.OwnerOf(v)
	if owner == nil {
		return false
	}
	for e, tv := range s.Info().Types {
		if tv.IsType() || tv.Type == nil || !types.Identical(tv.Type, owner) {
			continue
		}
		switch up := s.parents[e].(type) {
		case *ast.UnaryExpr:
			if _, lit := e.(*ast.CompositeLit); !lit || up.Op != token.AND {
				return false
			}
		case *ast.SelectorExpr:
		default:
			return false
		}
	}
	return !s.Shown(owner)
}

// list returns the type of a list in place of that of sets.
func (s *setting) list(t ast.Expr) (string, bool) {
	switch t := t.(type) {
	case *ast.MapType:
		return "[]" + s.text(t.Key), true
	case *ast.ArrayType:
		if inner, ok := s.list(t.Elt); ok && t.Len == nil {
			return "[]" + inner, true
		}
	}
	return "", false
}

// declared changes where something is declared.
func (s *setting) declared(id *ast.Ident, v *types.Var) bool {
	var typ ast.Expr
	switch up := s.parents[id].(type) {
	case *ast.Field:
		typ = up.Type
		if _, isFunc := s.parents[s.parents[up]].(*ast.FuncType); isFunc {
			return false // somebody else's set
		}
		if len(up.Names) != 1 {
			return false
		}
	case *ast.ValueSpec:
		if len(up.Names) != 1 || len(up.Values) > 1 {
			return false
		}
		if len(up.Values) == 1 && !s.made(up.Values[0], v.Type()) {
			return false
		}
		typ = up.Type
	case *ast.AssignStmt:
		return up.Tok == token.DEFINE && len(up.Lhs) == 1 && len(up.Rhs) == 1 && s.made(up.Rhs[0], v.Type())
	default:
		return false
	}
	if typ == nil {
		return true
	}
	text, ok := s.list(typ)
	if ok {
		s.edit(edit.Replace(typ, text))
	}
	return ok
}

// made changes an expression that makes a set, or a slice of them.
func (s *setting) made(e ast.Expr, t types.Type) bool {
	call, ok := ast.Unparen(e).(*ast.CallExpr)
	if !ok || s.Builtin(call, "make") == nil || len(call.Args) == 0 {
		return false
	}
	text, ok := s.list(call.Args[0])
	if !ok {
		return false
	}
	if kind.IsMap(t) {
		if _, define := s.parents[call].(*ast.AssignStmt); define && s.parents[call].(*ast.AssignStmt).Tok != token.DEFINE {
			s.edit(edit.Replace(call, "nil"))
		} else {
			s.edit(edit.Replace(call, text+"(nil)"))
		}
		return true
	}
	s.edit(edit.Replace(call.Args[0], text))
	return true
}

// used changes a use.
func (s *setting) used(id *ast.Ident, v *types.Var) bool {
	var e ast.Expr = id
	up := s.parents[id]
	if kv, ok := up.(*ast.KeyValueExpr); ok && kv.Key == id && v.IsField() {
		return s.filled(kv, v)
	}
	if sel, ok := up.(*ast.SelectorExpr); ok && sel.Sel == id {
		if !s.plain(sel.X) {
			return false
		}
		e, up = sel, s.parents[sel]
	}
	if !kind.IsMap(v.Type()) { // a slice of sets
		switch x := up.(type) {
		case *ast.CallExpr:
			return s.Builtin(x, "len") != nil
		case *ast.RangeStmt:
			return x.X == e && (x.Value == nil || isBlankExpr(x.Value))
		case *ast.AssignStmt:
			return len(x.Lhs) == 1 && len(x.Rhs) == 1 && x.Lhs[0] == e && s.made(x.Rhs[0], v.Type())
		case *ast.IndexExpr:
			if x.X != e || !s.plain(x.Index) {
				return false
			}
			e, up = x, s.parents[x]
		default:
			return false
		}
	}
	return s.set(e, up)
}

// filled changes where a field gets its value in a literal.
func (s *setting) filled(kv *ast.KeyValueExpr, v *types.Var) bool {
	call, ok := kv.Value.(*ast.CallExpr)
	if !ok || s.Builtin(call, "make") == nil {
		return false
	}
	if !kind.IsMap(v.Type()) {
		return s.made(call, v.Type())
	}
	// An empty list needs nothing.
	f := fileOf(s.Pkg, kv)
	at := f.Tok.Offset(kv.End())
	for at < len(f.Text) && (f.Text[at] == ' ' || f.Text[at] == ',') {
		at++
	}
	if at < len(f.Text) && f.Text[at] == '\n' && f.Tok.Line(kv.Pos()) > 1 {
		from := f.Tok.Offset(kv.Pos())
		for from > 0 && (f.Text[from-1] == '\t' || f.Text[from-1] == ' ') {
			from--
		}
		if from > 0 && f.Text[from-1] == '\n' {
			s.edit(edit.New(f.Tok.Pos(from), f.Tok.Pos(at+1), ""))
			return true
		}
	}
	s.edit(edit.Replace(call, "nil"))
	return true
}

// set changes what is done with one set.
func (s *setting) set(e ast.Expr, up ast.Node) bool {
	switch x := up.(type) {
	case *ast.CallExpr:
		return s.Builtin(x, "len") != nil
	case *ast.RangeStmt:
		if x.X != e || x.Value != nil {
			return false
		}
		if x.Key != nil {
			s.edit(edit.New(x.Key.Pos(), x.Key.Pos(), "_, "))
		}
		return true
	case *ast.AssignStmt:
		return len(x.Lhs) == 1 && len(x.Rhs) == 1 && x.Lhs[0] == e && x.Tok == token.ASSIGN && s.made(x.Rhs[0], s.m)
	case *ast.IndexExpr:
		if x.X != e || !s.plain(x.Index) {
			return false
		}
		st, ok := s.parents[x].(*ast.AssignStmt)
		if ok && slices.Contains(st.Lhs, ast.Expr(x)) {
			return s.added(st, x)
		}
		if ok && len(st.Lhs) != len(st.Rhs) || !types.Identical(s.m.Elem(), types.Typ[types.Bool]) { // Contains returns a bool
			return false
		}
		switch up := s.parents[x].(type) {
		case *ast.IncDecStmt:
			return false
		case *ast.UnaryExpr:
			if up.Op == token.AND {
				return false
			}
		}
		s.contains = true
		s.edit(edit.Replace(x, fmt.Sprintf("slices.Contains(%s, %s)", s.text(e), s.text(x.Index))))
		return true
	}
	return false
}

// added changes a statement that puts a member into a set.
func (s *setting) added(st *ast.AssignStmt, x *ast.IndexExpr) bool {
	if len(st.Lhs) != 1 || len(st.Rhs) != 1 || st.Tok != token.ASSIGN || !s.isMember(st.Rhs[0]) {
		return false
	}
	switch s.parents[st].(type) {
	case *ast.BlockStmt, *ast.CaseClause, *ast.CommClause:
	default:
		return false
	}
	s.contains = true
	set, member := s.text(x.X), s.text(x.Index)
	s.edit(edit.Replace(st, fmt.Sprintf("if !slices.Contains(%s, %s) {\n%s = append(%s, %s)", set, member, set, set, member)))
	s.edit(edit.Behind(s.In(fileOf(s.Pkg, st), s.Decl), st, "}"))
	return true
}

// isMember reports whether a value in a map says that the key is in the set.
func (s *setting) isMember(e ast.Expr) bool {
	if v := s.Info().Types[e].Value; v != nil {
		return v.Kind() == constant.Bool && constant.BoolVal(v)
	}
	lit, ok := e.(*ast.CompositeLit)
	return ok && len(lit.Elts) == 0 && !kind.IsBasic(s.m.Elem(), types.IsBoolean)
}

// plain reports whether an expression can be evaluated twice: names, fields and constants.
func (s *setting) plain(e ast.Expr) bool {
	switch e := ast.Unparen(e).(type) {
	case *ast.Ident, *ast.BasicLit:
		return true
	case *ast.SelectorExpr:
		return s.plain(e.X)
	}
	return false
}

func isBlankExpr(e ast.Expr) bool { return e == nil || code.IsBlank(e) }
