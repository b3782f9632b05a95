package rules

import (
	"fmt"
	"go/ast"
	"go/types"
	"slices"
	"strings"

	"golang.org/x/tools/go/cfg"

	"github.com/hone-perf/hone/internal/advise"
	"github.com/hone-perf/hone/internal/advise/facts/code"
	"github.com/hone-perf/hone/internal/advise/facts/cost"
	"github.com/hone-perf/hone/internal/advise/facts/edit"
	"github.com/hone-perf/hone/internal/advise/facts/owner"
	"github.com/hone-perf/hone/internal/advise/facts/pool"
	"github.com/hone-perf/hone/internal/advise/facts/symbol"
	"github.com/hone-perf/hone/internal/report"
	"github.com/hone-perf/hone/internal/report/missing"
)

var getWithoutPut = &advise.Rule{
	Name: "get-without-put", Rank: 40, PerCall: true,
	Doc: "a value taken out of a sync.Pool is not put back",

	NoFix: missing.NoPlaceForDefer,
	Find: func(p *advise.Pass) {
		advise.Each(p, func(call *ast.CallExpr) {
			if field := keptIn(p.Func, call); field != nil {
				keptForGood(p, call, field)
				return
			}
			if p.Calls(call, "(*sync.Pool).Get") == nil {
				return
			}
			x, st := taken(p.Func, call)
			if x == nil {
				return
			}
			from := p.Src(call.Fun.(*ast.SelectorExpr).X)
			lost, puts := lost(p.Func, st, x)
			if len(lost) == 0 {
				return
			}
			c := p.Cost(call, func(c *cost.Chain) bool { return c.First() == "sync.(*Pool).Get" && callsNew(c) })
			f := advise.Finding{
				Title:  "Get without Put",
				Claim:  fmt.Sprintf("%s is taken out of %s and never put back, so that the pool is empty, and its New is called each time", x.Name(), from),
				Advice: "put it back when it is no longer used, on every way out of the function",
				Risk:   fmt.Sprintf("nobody may use %s after the function has returned", x.Name()),
				Callee: "sync.(*Pool).Get",
			}
			if len(puts) > 0 {
				var lines []string
				for _, n := range lost {
					lines = append(lines, fmt.Sprint(p.Line(n.Pos())))
					f.Also = append(f.Also, n)
				}
				f.Claim = fmt.Sprintf("%s is not put back into %s on the way out at line %s, so that New is called once more for each time", x.Name(), from, strings.Join(lines, ", "))
			}
			reset := ""
			if len(puts) == 0 && !clean(p.Func, x, st) && pool.Empty(p.Func, call.Fun.(*ast.SelectorExpr).X) {
				reset = "\n" + x.Name() + ".Reset()"
			}
			switch {
			case p.Loop(st) != nil:
				p.No(missing.PutPerRound)
			case !owner.StaysInside(p.Func, x):
				p.No(missing.MayHoldOn, x.Name())
			case len(puts) == 0 && reset == "" && !clean(p.Func, x, st):
				p.No(missing.NotResetForPool, x.Name())
			default:
				edits := []edit.Edit{edit.Behind(p.Func, st, fmt.Sprintf("defer %s.Put(%s)", from, x.Name())+reset)}
				for _, put := range puts {
					s, ok := p.Parent(put).(*ast.ExprStmt)
					if !ok || p.Src(put.Args[0]) != x.Name() || p.Src(put.Fun.(*ast.SelectorExpr).X) != from {
						edits, f.NoFix = nil, missing.PutsOther.Of(p.Src(put), p.Line(put.Pos()))
						break
					}
					edits = append(edits, edit.New(s.Pos(), edit.NextLine(p.Func, s), ""))
				}
				if edits != nil {
					f.Fixes = p.Fix(report.Ownership, "put it back on every way out", edits...)
				}
			}
			p.Report(call, c, f)
		})
	},
}

// callsNew reports whether the New of a pool was called below Get.
func callsNew(c *cost.Chain) bool {
	at := slices.Index(c.Below, "sync.(*Pool).Get")
	return at >= 0 && slices.ContainsFunc(c.Below[at:], func(b string) bool { return !symbol.IsRuntime(b) && !strings.HasPrefix(b, "sync.") })
}

// keptIn returns the field that is given what comes out of a pool, by Get or by a function of the package that only calls it.
func keptIn(f *code.Func, call *ast.CallExpr) *types.Var {
	if f.Calls(call, "(*sync.Pool).Get") == nil && !handsOut(f, f.Callee(call)) {
		return nil
	}
	var e ast.Node = call
	if t, ok := f.Parent(e).(*ast.TypeAssertExpr); ok {
		e = t
	}
	var to ast.Expr
	switch up := f.Parent(e).(type) {
	case *ast.KeyValueExpr:
		if _, ok := f.Parent(up).(*ast.CompositeLit); ok && up.Value == e {
			to = up.Key
		}
	case *ast.AssignStmt:
		if sel, ok := ast.Unparen(up.Lhs[0]).(*ast.SelectorExpr); ok && len(up.Lhs) == 1 {
			to = sel.Sel
		}
	}
	id, ok := to.(*ast.Ident)
	if !ok {
		return nil
	}
	field, _ := f.Info().Uses[id].(*types.Var)
	if field == nil || !field.IsField() || field.Exported() {
		return nil
	}
	return field
}

// handsOut reports whether a function of the package returns what it takes from a pool, and does nothing else with it.
func handsOut(f *code.Func, fn *types.Func) bool {
	if fn == nil || fn.Pkg() != f.Pkg.Types {
		return false
	}
	decl, _ := f.DeclOf(fn)
	if decl == nil || decl.Body == nil || len(decl.Body.List) != 1 {
		return false
	}
	ret, ok := decl.Body.List[0].(*ast.ReturnStmt)
	if !ok || len(ret.Results) != 1 {
		return false
	}
	e := ast.Unparen(ret.Results[0])
	if t, ok := e.(*ast.TypeAssertExpr); ok {
		e = ast.Unparen(t.X)
	}
	return f.Calls(e, "(*sync.Pool).Get") != nil
}

// keptForGood is about what goes from a pool into a field that nothing takes it from again.
func keptForGood(p *advise.Pass, call *ast.CallExpr, field *types.Var) {
	above := p.Pkg.Above()
	for id, o := range p.Info().Uses {
		if o != types.Object(field) {
			continue
		}
		sel, ok := above[id].(*ast.SelectorExpr)
		if !ok {
			continue
		}
		switch up := above[sel].(type) {
		case *ast.CallExpr: // which may put it back
			if fn := p.Callee(up); up.Fun != ast.Expr(sel) && (fn == nil || fn.Pkg() != p.Pkg.Types || takesBack(p.Func, fn)) {
				return
			}
		case *ast.AssignStmt:
			if slices.Contains(up.Rhs, ast.Expr(sel)) {
				return
			}
		case *ast.ValueSpec, *ast.ReturnStmt, *ast.CompositeLit, *ast.KeyValueExpr:
			return
		}
	}
	p.Report(call, p.Cost(call, callsNew), advise.Finding{
		Title:  "Get without Put",
		Claim:  fmt.Sprintf("what comes out of the pool stays in the field %s, which nothing takes it from again, so that the pool is empty, and its New is called each time", field.Name()),
		Advice: "take it from the pool where it is used, and put it back there; or put it back when its owner is done",
		Risk:   "who still has it when it is back in the pool shares it with somebody else",
		NoFix:  missing.OwnerDone.Of(field.Name()),
		Callee: "sync.(*Pool).Get",
	})
}

// takesBack reports whether a function of the package may put something into a pool.
func takesBack(f *code.Func, fn *types.Func) bool {
	decl, q := f.DeclOf(fn)
	if decl == nil || decl.Body == nil {
		return true
	}
	in, found := f.In(q, decl), false
	ast.Inspect(decl.Body, func(n ast.Node) bool {
		found = found || in.Calls(n, "(*sync.Pool).Put") != nil
		return !found
	})
	return found
}

// taken returns the variable that is given what comes out of a pool, and the statement that does it.
func taken(f *code.Func, get *ast.CallExpr) (*types.Var, *ast.AssignStmt) {
	var e ast.Node = get
	if t, ok := f.Parent(e).(*ast.TypeAssertExpr); ok {
		e = t
	}
	st, ok := f.Parent(e).(*ast.AssignStmt)
	if !ok || len(st.Rhs) != 1 || f.Statement(st) != st {
		return nil, nil
	}
	return f.Local(st.Lhs[0]), st
}

// lost returns the ways out of the function on which what a variable holds is lost: neither put back nor handed on. It also
// returns where it is put back.
func lost(f *code.Func, st *ast.AssignStmt, x *types.Var) (out []ast.Node, puts []*ast.CallExpr) {
	body := f.FuncOf(st)
	ends := func(n ast.Node) bool {
		found := false
		ast.Inspect(n, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.CallExpr:
				for _, a := range n.Args {
					if !f.MentionsVar(a, x) {
						continue
					}
					if f.Calls(n, "(*sync.Pool).Put") != nil {
						found = true
						if !slices.Contains(puts, n) {
							puts = append(puts, n)
						}
					} else if fn := f.Callee(n); fn == nil || fn.Pkg() == f.Pkg.Types && !owner.Forgets(f, fn, slices.Index(n.Args, a), 3) {
						found = true // it may put it back
					}
				}
			case *ast.ReturnStmt:
				for _, r := range n.Results {
					if id, ok := ast.Unparen(r).(*ast.Ident); ok && f.Info().ObjectOf(id) == x {
						found = true
					}
				}
			case *ast.AssignStmt:
				for i, r := range n.Rhs {
					if id, ok := ast.Unparen(r).(*ast.Ident); ok && n != st && f.Info().ObjectOf(id) == x && (len(n.Lhs) != len(n.Rhs) || !code.IsBlank(n.Lhs[i])) {
						found = true
					}
				}
			case *ast.CompositeLit, *ast.SendStmt:
				found = found || f.MentionsVar(n, x)
			case *ast.FuncLit:
				if f.MentionsVar(n, x) && !onlyPuts(f, n, x) {
					found = true
				}
			}
			return true
		})
		return found
	}
	graph := cfg.New(body, func(call *ast.CallExpr) bool {
		return f.Calls(call, "os.Exit", "log.Fatal", "log.Fatalf", "log.Fatalln", "runtime.Goexit") == nil && f.Builtin(call, "panic") == nil
	})
	seen := map[*cfg.Block]bool{}
	var walk func(b *cfg.Block, from int)
	walk = func(b *cfg.Block, from int) {
		for _, n := range b.Nodes[from:] {
			if ends(n) {
				return
			}
		}
		if len(b.Succs) == 0 && b.Live {
			var last ast.Node = body
			if ret := b.Return(); ret != nil {
				last = ret
			} else if len(b.Nodes) > 0 {
				if e, ok := b.Nodes[len(b.Nodes)-1].(*ast.ExprStmt); ok {
					if call, ok := e.X.(*ast.CallExpr); ok && f.Builtin(call, "panic") != nil {
						return // not a usual way out
					}
				}
				last = b.Nodes[len(b.Nodes)-1]
			}
			out = append(out, last)
		}
		for _, s := range b.Succs {
			if !seen[s] {
				seen[s] = true
				walk(s, 0)
			}
		}
	}
	for _, b := range graph.Blocks {
		if i := slices.Index(b.Nodes, ast.Node(st)); i >= 0 {
			walk(b, i+1)
		}
	}
	// Those on other ways count, too.
	ast.Inspect(body, func(n ast.Node) bool {
		if call := f.Calls(n, "(*sync.Pool).Put"); call != nil && f.MentionsVar(call.Args[0], x) && !slices.Contains(puts, call) {
			puts = append(puts, call)
		}
		return true
	})
	return out, puts
}

// onlyPuts reports whether a function literal is called by a defer, and may put the variable back.
func onlyPuts(f *code.Func, lit *ast.FuncLit, x *types.Var) bool {
	call, ok := f.Parent(lit).(*ast.CallExpr)
	if !ok {
		return false
	}
	_, ok = f.Parent(call).(*ast.DeferStmt)
	return ok
}

// clean reports whether a value is used as if it were new, though it was used before: it is reset first, or has no state.
func clean(f *code.Func, x *types.Var, st ast.Stmt) bool {
	if ptr, ok := types.Unalias(x.Type()).(*types.Pointer); ok {
		if n, ok := types.Unalias(ptr.Elem()).(*types.Named); ok && n.Obj().Pkg() != nil {
			switch n.Obj().Pkg().Path() + "." + n.Obj().Name() {
			case "regexp.Regexp", "strings.Replacer", "text/template.Template", "html/template.Template":
				return true
			}
		}
	}
	block, ok := f.Parent(st).(*ast.BlockStmt)
	if !ok {
		return false
	}
	i := slices.Index(block.List, st)
	if i+1 >= len(block.List) {
		return false
	}
	next, ok := block.List[i+1].(*ast.ExprStmt)
	if !ok {
		return false
	}
	call, ok := next.X.(*ast.CallExpr)
	if !ok {
		return false
	}
	sel, ok := call.Fun.(*ast.SelectorExpr)
	return ok && sel.Sel.Name == "Reset" && f.Local(sel.X) == x
}
