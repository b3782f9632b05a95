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
	"github.com/hone-perf/hone/internal/advise/facts/flow"
	"github.com/hone-perf/hone/internal/report"
	"github.com/hone-perf/hone/internal/report/missing"
)

// An atomicField is a field of one word that a mutex of the same struct guards, and nothing else.
type atomicField struct {
	p         *advise.Pass
	mu, field *types.Var
	typ, word string // atomic.Int64, int64
	edits     []edit.Edit
	counted   map[*ast.Ident]bool // uses of the two that the edits take care of
}

// atomicType returns the type of sync/atomic for a kind, and what it holds.
func atomicType(kind types.BasicKind) ([2]string, bool) {
	switch kind {
	case types.Bool:
		return [2]string{"Bool", "bool"}, true
	case types.Int, types.Int64:
		return [2]string{"Int64", "int64"}, true
	case types.Int32:
		return [2]string{"Int32", "int32"}, true
	case types.Uint, types.Uint64:
		return [2]string{"Uint64", "uint64"}, true
	case types.Uint32:
		return [2]string{"Uint32", "uint32"}, true
	case types.Uintptr:
		return [2]string{"Uintptr", "uintptr"}, true
	}
	return [2]string{}, false
}

// atomicWord is a fix that makes a field atomic in place of the mutex that guards it: where all of the package's code that uses either of them
// locks the mutex, reads or writes the field once, and unlocks it.
func atomicWord(p *advise.Pass, m types.Object) []report.Fix {
	mu, ok := m.(*types.Var)
	if !ok || !mu.IsField() || mu.Embedded() || mu.Exported() {
		return p.No(missing.ShownMutex, m.Name())
	}
	if !p.Pkg.AtLeast(19) {
		return p.No(missing.OlderGo, 19, "the types of sync/atomic")
	}
	a := &atomicField{p: p, mu: mu, counted: map[*ast.Ident]bool{}}
	for _, d := range p.File.AST.Decls {
		if decl, ok := d.(*ast.FuncDecl); ok && decl.Body != nil && !code.IsInitializer(decl) {
			if why := a.function(p.On(&advise.Function{Func: p.In(p.File, decl)})); why.Fact != "" {
				return p.Because(why)
			}
		}
	}
	if a.field == nil {
		return p.No(missing.GuardedField, mu.Name())
	}
	for _, v := range []*types.Var{a.field, mu} {
		if p.Pkg.SelectedElsewhere(v.Name()) {
			return p.No(missing.StatesElsewhere, v.Name())
		}
	}
	whole := structOf(p.Func, a.field)
	if name := whole.usedElsewhere(); name != "" {
		return p.No(missing.StatesElsewhere, name)
	}
	if why := whole.seen(); why.Fact != "" {
		return p.Because(why)
	}
	if why := a.declaration(); why.Fact != "" {
		return p.Because(why)
	}
	for id, o := range p.Info().Uses {
		if (o == a.mu || o == a.field) && !a.counted[id] {
			return p.No(missing.OtherwiseUsed, id.Name, p.Pkg.Fset.Position(id.Pos()).Line)
		}
	}
	p.Need("sync/atomic")
	if !whole.leaves() {
		return p.Fix(report.Mechanical, "make it atomic", a.edits...)
	}
	fixes := p.Fix(report.Ownership, "make it atomic", a.edits...)
	for i := range fixes {
		fixes[i].Risk = "other packages that show or compare all of the struct, with %+v for example, see an atomic type"
	}
	return fixes
}

// function changes the regions of a function that the mutex guards.
func (a *atomicField) function(p *advise.Pass) (why missing.Reason) {
	ast.Inspect(p.Decl.Body, func(n ast.Node) bool {
		var list []ast.Stmt
		switch n := n.(type) {
		case *ast.BlockStmt:
			list = n.List
		case *ast.CaseClause:
			list = n.Body
		case *ast.CommClause:
			list = n.Body
		}
		for i, st := range list {
			if why.Fact == "" && a.locks(p, st, "Lock", "RLock") != nil {
				why = a.region(p, list[i:])
			}
		}
		return why.Fact == ""
	})
	return why
}

// locks returns the name of the mutex in a statement that calls one of some methods of it.
func (a *atomicField) locks(p *advise.Pass, st ast.Stmt, methods ...string) *ast.SelectorExpr {
	var call *ast.CallExpr
	switch st := st.(type) {
	case *ast.ExprStmt:
		call, _ = st.X.(*ast.CallExpr)
	case *ast.DeferStmt:
		call = st.Call
	}
	if call == nil {
		return nil
	}
	sel, ok := call.Fun.(*ast.SelectorExpr)
	if !ok || !slices.Contains(methods, sel.Sel.Name) || p.Object(sel.X) != types.Object(a.mu) {
		return nil
	}
	mu, _ := ast.Unparen(sel.X).(*ast.SelectorExpr)
	return mu
}

// region changes what begins with locking the mutex.
func (a *atomicField) region(p *advise.Pass, list []ast.Stmt) missing.Reason {
	where := missing.MoreThanOneStep.Of(p.Line(list[0].Pos()))
	if len(list) < 3 {
		return where
	}
	lock, body, unlock := list[0], list[1], list[2]
	if _, deferred := list[1].(*ast.DeferStmt); deferred {
		if body, unlock = list[2], list[1]; len(list) > 3 {
			return where
		}
	} else if _, deferred := unlock.(*ast.DeferStmt); deferred {
		return where
	}
	from, to := a.locks(p, lock, "Lock", "RLock"), a.locks(p, unlock, "Unlock", "RUnlock")
	if from == nil || to == nil || p.Src(from.X) != p.Src(to.X) || !flow.Simple(p.Func, from.X) {
		return where
	}
	if why := a.access(p, body, p.Src(from.X), where); why.Fact != "" {
		return why
	}
	a.counted[from.Sel], a.counted[to.Sel] = true, true
	for _, st := range []ast.Stmt{lock, unlock} {
		a.edits = append(a.edits, edit.New(st.Pos(), edit.NextLine(p.Func, st), ""))
	}
	return missing.Reason{}
}

// access changes the statement that reads or writes the field of x.
func (a *atomicField) access(p *advise.Pass, st ast.Stmt, x string, where missing.Reason) missing.Reason {
	var place ast.Expr
	write := ""
	var value ast.Expr
	switch st := st.(type) {
	case *ast.IncDecStmt:
		place, write = st.X, "Add(1)"
		if st.Tok == token.DEC {
			write = "Add(-1)"
		}
	case *ast.ReturnStmt:
		if len(st.Results) != 1 {
			return where
		}
		place = st.Results[0]
	case *ast.AssignStmt:
		if len(st.Lhs) != 1 || len(st.Rhs) != 1 {
			return where
		}
		place, value = st.Lhs[0], st.Rhs[0]
		switch st.Tok {
		case token.ADD_ASSIGN:
			write = "Add(%s)"
		case token.SUB_ASSIGN:
			write = "Add(-%s)"
		case token.ASSIGN, token.DEFINE:
			if write = "Store(%s)"; p.Local(place) != nil {
				place, value, write = value, nil, ""
			}
		default:
			return where
		}
	default:
		return where
	}
	sel, ok := ast.Unparen(place).(*ast.SelectorExpr)
	if !ok || p.Src(sel.X) != x {
		return where
	}
	field, ok := p.Info().Uses[sel.Sel].(*types.Var)
	if !ok || a.field != nil && a.field != field {
		return where
	}
	if why := a.guards(field); why.Fact != "" {
		return why
	}
	if value != nil && !flow.Simple(p.Func, value) {
		return missing.WritesMore.Of(p.Line(st.Pos()))
	}
	if value != nil && p.MentionsVar(value, field) {
		return missing.ReadsAndWrites.Of(p.Line(st.Pos()), field.Name())
	}
	if unsigned := strings.HasPrefix(a.word, "uint"); strings.Contains(write, "-") && unsigned || a.word == "bool" && strings.HasPrefix(write, "Add") {
		return missing.TakesFromUnsigned.Of(p.Line(st.Pos()))
	}
	a.counted[sel.Sel] = true
	if write == "" {
		text := p.Src(sel) + ".Load()"
		if t := types.TypeString(field.Type(), p.Qualifier()); t != a.word {
			text = t + "(" + text + ")"
		}
		a.edits = append(a.edits, edit.Replace(place, text))
		return missing.Reason{}
	}
	if value != nil {
		text := p.Src(value)
		if t := types.TypeString(field.Type(), p.Qualifier()); t != a.word && !p.IsConst(value) {
			text = a.word + "(" + text + ")"
		} else if _, plain := ast.Unparen(value).(*ast.BinaryExpr); plain && strings.Contains(write, "-") {
			text = "(" + text + ")"
		}
		write = fmt.Sprintf(write, text)
	}
	a.edits = append(a.edits, edit.Replace(st, p.Src(sel)+"."+write))
	return missing.Reason{}
}

// guards takes a field for the one that the mutex guards.
func (a *atomicField) guards(field *types.Var) missing.Reason {
	b, ok := field.Type().Underlying().(*types.Basic)
	if !ok || !field.IsField() || field.Exported() || field.Embedded() {
		return missing.NoWord.Of(field.Name())
	}
	t, ok := atomicType(b.Kind())
	if !ok {
		return missing.NoAtomicType.Of(field.Type())
	}
	a.field, a.typ, a.word = field, "atomic."+t[0], t[1]
	return missing.Reason{}
}

// declaration changes the fields.
func (a *atomicField) declaration() (why missing.Reason) {
	p := a.p
	found := 0
	ast.Inspect(p.File.AST, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.Field:
			if len(n.Names) != 1 {
				break
			}
			switch p.Info().Defs[n.Names[0]] {
			case types.Object(a.field):
				found++
				a.edits = append(a.edits, edit.Replace(n.Type, a.typ))
			case types.Object(a.mu):
				found++
				a.edits = append(a.edits, edit.New(n.Pos(), edit.NextLine(p.Func, commentOf(n)), ""))
			}
		case *ast.CompositeLit:
			if st, ok := p.TypeOf(n).Underlying().(*types.Struct); ok && len(n.Elts) > 0 {
				if _, keyed := n.Elts[0].(*ast.KeyValueExpr); !keyed && slices.Contains(slices.Collect(st.Fields()), a.field) {
					why = missing.StructInOrder.Of(p.Line(n.Pos()))
				}
			}
		}
		return why.Fact == ""
	})
	if why.Fact == "" && found != 2 {
		why = missing.NotDeclaredAlone.Of(a.mu.Name(), a.field.Name())
	}
	return why
}

// commentOf returns the comment behind a field, or the field where there is none.
func commentOf(f *ast.Field) ast.Node {
	if f.Comment != nil {
		return f.Comment
	}
	return f
}
