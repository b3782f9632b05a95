package rules

import (
	"fmt"
	"go/ast"
	"go/types"
	"maps"
	"slices"
	"strings"

	"github.com/hone-perf/hone/internal/advise"
	"github.com/hone-perf/hone/internal/advise/facts/code"
	"github.com/hone-perf/hone/internal/advise/facts/cost"
	"github.com/hone-perf/hone/internal/advise/facts/edit"
	"github.com/hone-perf/hone/internal/advise/facts/kind"
	"github.com/hone-perf/hone/internal/advise/facts/once"
	"github.com/hone-perf/hone/internal/advise/facts/owner"
	"github.com/hone-perf/hone/internal/advise/facts/steady"
	"github.com/hone-perf/hone/internal/report"
	"github.com/hone-perf/hone/internal/report/missing"
)

var fieldsPerCall = &advise.Rule{
	Name: "fields-per-call", Rank: 3, PerCall: true,
	Doc: "what depends on a type alone is found by reflection on every call",

	NoFix: missing.NotPure,
	Find: func(p *advise.Pass) {
		fn, ok := p.Info().Defs[p.Decl.Name].(*types.Func)
		if !ok || fn.Exported() || p.Decl.Body == nil {
			return
		}
		sig := fn.Signature()
		if sig.Recv() != nil || sig.TypeParams() != nil || sig.Params().Len() != 1 || sig.Results().Len() != 1 || sig.Variadic() ||
			types.TypeString(sig.Params().At(0).Type(), nil) != "reflect.Type" || !kind.Refers(sig.Results().At(0).Type()) || types.IsInterface(sig.Results().At(0).Type()) {
			return
		}
		uses := p.Pkg.UsesOf(fn)
		if len(uses) == 0 || hasCache(p) {
			return
		}
		if p.Once(p.Decl.Body) != once.Often || !ofTypeAlone(p.Func, fn, p.Decl, 3) {
			return
		}
		if slices.ContainsFunc(uses, func(id *ast.Ident) bool { return changesResult(p, id) }) {
			return // one for all would be wrong
		}
		c := p.Total(func(c *cost.Chain) bool { return true })
		t := types.TypeString(sig.Results().At(0).Type(), p.Qualifier())
		f := advise.Finding{
			Title:  "same type looked at by reflection on every call",
			Claim:  fmt.Sprintf("what %s returns depends on the type alone, and a program has few types", fn.Name()),
			Advice: "keep the result for each type, in a sync.Map",
			Risk:   "who changes the result changes it for all; what is found for a type is kept for good",
		}
		switch {
		case slices.ContainsFunc(uses, func(id *ast.Ident) bool { return !resultOnlyRead(p, id) }):
			f.NoFix = missing.ResultOfMayChange.Of(fn.Name())
		case p.Worth(c):
			f.Fixes = keptByType(p, fn, t)
		}
		p.Report(costliest(p), c, f)
	},
}

// costliest returns the first node of the line of the function that costs most.
func costliest(p *advise.Pass) (n ast.Node) {
	most := 0.0
	for _, at := range slices.Sorted(maps.Keys(p.Lines)) {
		c := p.Lines[at].Sum(func(*cost.Chain) bool { return true })
		if on, w := nodeOn(p.Func, at, p.Lines[at]), p.Costs.Weight(&c); on != nil && (n == nil || w > most) {
			n, most = on, w
		}
	}
	if n == nil {
		return p.Decl.Body.List[0]
	}
	return n
}

// hasCache reports whether the function looks things up that it found before.
func hasCache(p *advise.Pass) bool {
	found := false
	ast.Inspect(p.Decl.Body, func(n ast.Node) bool {
		if call, ok := n.(*ast.CallExpr); ok {
			found = found || p.Calls(call, "(*sync.Map).Load", "(*sync.Map).LoadOrStore") != nil
		}
		return !found
	})
	return found
}

// ofTypeAlone reports whether a function only asks types what they are: it calls methods of types and functions that depend on their arguments
// alone, and changes nothing but its variables.
func ofTypeAlone(of *code.Func, fn *types.Func, decl *ast.FuncDecl, depth int) bool {
	_, file := of.DeclOf(fn)
	if file == nil || depth == 0 {
		return false
	}
	f := of.In(file, decl)
	ok := true
	ast.Inspect(decl.Body, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.GoStmt, *ast.DeferStmt, *ast.SendStmt, *ast.SelectStmt, *ast.FuncLit:
			ok = false
		case *ast.CallExpr:
			if f.Info().Types[n.Fun].IsType() || f.Info().Types[n.Fun].IsBuiltin() {
				ok = ok && f.Builtin(n, "panic") == nil
				return ok
			}
			callee := f.Callee(n)
			switch {
			case callee == nil || callee.Pkg() == nil:
				ok = false
			case callee == fn:
			case callee.Pkg().Path() == "reflect":
				recv := callee.Signature().Recv()
				ok = ok && recv != nil && slices.Contains([]string{"reflect.Type", "reflect.StructField", "reflect.StructTag", "reflect.Method", "reflect.Kind"}, types.TypeString(recv.Type(), nil))
			case callee.Pkg() == f.Pkg.Types:
				inner, _ := f.DeclOf(callee)
				ok = ok && inner != nil && inner.Body != nil && callee.Signature().Recv() == nil && ofTypeAlone(f, callee, inner, depth-1)
			default:
				ok = ok && steady.Pure(f, callee, 2)
			}
		case *ast.AssignStmt:
			for _, l := range n.Lhs {
				ok = ok && (code.IsBlank(l) || rootLocal(f, l))
			}
		case *ast.IncDecStmt:
			ok = ok && rootLocal(f, n.X)
		case *ast.Ident:
			if v, isVar := f.Info().Uses[n].(*types.Var); isVar {
				ok = ok && steady.Known(f, v)
			}
		}
		return ok
	})
	return ok
}

// rootLocal reports whether an assignment sets a local variable, or part of the value of one that is not a parameter.
func rootLocal(f *code.Func, e ast.Expr) bool {
	part := false
	for {
		switch x := ast.Unparen(e).(type) {
		case *ast.IndexExpr:
			e, part = x.X, true
		case *ast.SelectorExpr:
			e, part = x.X, true
		default:
			v := f.Local(e)
			return v != nil && !(part && f.IsParam(v))
		}
	}
}

// resultOnlyRead reports whether the result of a call of a function that is named somewhere is only looked at there.
func resultOnlyRead(p *advise.Pass, id *ast.Ident) bool {
	above := p.Pkg.Above()
	call, ok := above[id].(*ast.CallExpr)
	if !ok || call.Fun != ast.Expr(id) {
		return false
	}
	return lookedThrough(p, above, call, map[types.Object]bool{})
}

// changesResult reports whether the result of a call of a function that is named somewhere is changed there.
func changesResult(p *advise.Pass, id *ast.Ident) bool {
	above := p.Pkg.Above()
	call, ok := above[id].(*ast.CallExpr)
	if !ok || call.Fun != ast.Expr(id) {
		return false
	}
	st, ok := above[call].(*ast.AssignStmt)
	if !ok || len(st.Lhs) != 1 {
		part, ok := above[call].(ast.Expr)
		if !ok {
			return false
		}
		set, ok := above[part].(*ast.AssignStmt) // f(t)[0] = x
		return ok && slices.Contains(set.Lhs, part)
	}
	name := code.AsIdent(st.Lhs[0])
	if name == nil {
		return false
	}
	v := p.Info().ObjectOf(name)
	for n := ast.Node(st); n != nil; n = above[n] {
		decl, ok := n.(*ast.FuncDecl)
		if !ok {
			continue
		}
		f := p.In(p.File, decl)
		return slices.ContainsFunc(f.Uses(v), func(use *ast.Ident) bool { return use != name && owner.ChangedAt(f, use) })
	}
	return false
}

// lookedThrough follows what a call returned: it may be measured, indexed, ranged over, appended to something else, and given to variables of
// the function which are used in no other way.
func lookedThrough(p *advise.Pass, above map[ast.Node]ast.Node, e ast.Expr, seen map[types.Object]bool) bool {
	switch up := above[e].(type) {
	case *ast.ParenExpr:
		return lookedThrough(p, above, up, seen)
	case *ast.RangeStmt:
		return up.X == e
	case *ast.IndexExpr:
		st, isAssign := above[up].(*ast.AssignStmt)
		ref, isRef := above[up].(*ast.UnaryExpr)
		return up.X == e && !(isAssign && slices.Contains(st.Lhs, ast.Expr(up))) && !(isRef && ref.Op.String() == "&")
	case *ast.BinaryExpr:
		return true
	case *ast.CallExpr:
		if p.Builtin(up, "len") != nil {
			return true
		}
		return p.Builtin(up, "append") != nil && up.Args[0] != e && up.Ellipsis.IsValid()
	case *ast.AssignStmt:
		i := slices.Index(up.Rhs, e)
		if i < 0 || len(up.Lhs) != len(up.Rhs) {
			return slices.Contains(up.Lhs, e)
		}
		id := code.AsIdent(up.Lhs[i])
		if id == nil {
			return false
		}
		v, ok := p.Info().ObjectOf(id).(*types.Var)
		if !ok || v.IsField() || v.Parent() == nil || v.Parent() == p.Pkg.Types.Scope() {
			return false
		}
		if seen[v] {
			return true
		}
		seen[v] = true
		for use, o := range p.Info().Uses {
			if o == types.Object(v) && !lookedThrough(p, above, use, seen) {
				return false
			}
		}
		return true
	}
	return false
}

// keptByType is a fix that makes the function another one, and has one in its place that asks it once for each type.
func keptByType(p *advise.Pass, fn *types.Func, t string) []report.Fix {
	param := fn.Signature().Params().At(0).Name()
	if param == "" || param == "_" {
		param = "t"
	}
	name := p.NewName("find" + upperFirst(fn.Name()))
	cache := p.NewName(fn.Name() + "Cache")
	p.Need("sync")
	const result = "found"
	text := fmt.Sprintf("// %[1]s has what %[2]s returned.\nvar %[1]s sync.Map // by reflect.Type\n\n", cache, name)
	doc := ""
	edits := []edit.Edit{edit.Replace(p.Decl.Name, name)}
	at := p.Decl.Pos()
	if p.Decl.Doc != nil {
		at = p.Decl.Doc.Pos()
		doc = string(p.File.Text[p.File.Tok.Offset(at):p.File.Tok.Offset(p.Decl.Doc.End())]) + "\n"
		edits = append(edits, edit.New(at, p.Decl.Type.Func, ""))
	}
	reflectType := strings.TrimPrefix(types.TypeString(fn.Signature().Params().At(0).Type(), p.Qualifier()), "*")
	text += doc + fmt.Sprintf("func %[1]s(%[2]s %[3]s) %[4]s {\nif %[5]s, ok := %[6]s.Load(%[2]s); ok {\nreturn %[5]s.(%[4]s)\n}\n%[5]s := %[7]s(%[2]s)\n%[6]s.Store(%[2]s, %[5]s)\nreturn %[5]s\n}\n\n",
		fn.Name(), param, reflectType, t, result, cache, name)
	return p.Fix(report.Ownership, "keep the result for each type", append([]edit.Edit{edit.New(at, at, text)}, edits...)...)
}
