package prove

import (
	"fmt"
	"go/ast"
	"go/types"

	"github.com/hone-perf/hone/internal/gotypes/writes"
	"github.com/hone-perf/hone/internal/prove/worker"
)

// Limits of the shared values that have a field set.
const (
	fieldsOfType = 6  // fields of a type
	fieldsInAll  = 32 // of a package
)

// withFields returns ways to make a shared value that has one exported field set. Many a race is only in what an option asks for, such as
// a pattern that is compiled when it is first used.
func (w *parallelWriter) withFields(obj *types.TypeName, m *maker) (out []*maker) {
	results := w.entries[m.steps[m.at>>8].Func].results
	p, ok := results[m.at&255].(*types.Pointer)
	if !ok {
		return nil // a copy of it would have the field set
	}
	for _, f := range w.guards.deciding(obj) {
		if len(out) == fieldsOfType || w.fieldsSet == fieldsInAll {
			break
		}
		to := worker.Value{Kind: worker.Bool, Int: 1}
		if info := f.Type().Underlying().(*types.Basic).Info(); info&types.IsString != 0 {
			to = worker.Value{Kind: worker.String, Text: "a"}
		}
		w.fieldsSet++
		e := &entry{
			id: len(w.entries), name: fmt.Sprintf("(*%s).%s", obj.Name(), f.Name()), field: f.Name(), method: true, inOld: true, params: []types.Type{p, f.Type()},
			expr: fmt.Sprintf("func(v %s, to %s) { v.%s = to }", w.spell(p), w.spell(f.Type()), f.Name()),
		}
		w.entries = append(w.entries, e)
		steps := cloneProgram(&worker.Program{Steps: m.steps}).Steps
		steps = append(steps, worker.Step{Func: e.id, Args: []worker.Value{{Kind: worker.Ref, Int: m.at}, to}})
		out = append(out, &maker{steps: steps, at: m.at, key: m.key + " " + e.name, made: m.made})
	}
	return out
}

// deciding returns the exported fields of a struct, truth values and texts, that code reads which changes something it did not make, or
// calls what does.
func (g *guards) deciding(t *types.TypeName) (out []*types.Var) {
	st, ok := t.Type().Underlying().(*types.Struct)
	if !ok {
		return nil
	}
	if g.read == nil {
		g.findReads()
	}
	for f := range st.Fields() {
		b, ok := f.Type().Underlying().(*types.Basic)
		if ok && f.Exported() && b.Info()&(types.IsBoolean|types.IsString) != 0 && g.read[f] {
			out = append(out, f)
		}
	}
	return out
}

// findReads finds the fields that functions read which change something, or call what does.
func (g *guards) findReads() {
	g.read = make(map[*types.Var]bool)
	changes := make(map[string]bool)
	for key, d := range g.decls {
		changes[key] = d.isFunc() && !d.test && g.changesOthers(d.node)
	}
	for key, d := range g.decls {
		relevant := changes[key]
		for _, u := range d.uses {
			relevant = relevant || changes[u]
		}
		if !relevant || !d.isFunc() || d.test {
			continue
		}
		set := make(map[*ast.SelectorExpr]bool)
		ast.Inspect(d.node, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.AssignStmt:
				for _, l := range n.Lhs {
					if sel, ok := l.(*ast.SelectorExpr); ok {
						set[sel] = true
					}
				}
			case *ast.SelectorExpr:
				if s := g.pkg.TypesInfo.Selections[n]; s != nil && s.Kind() == types.FieldVal && !set[n] {
					g.read[s.Obj().(*types.Var)] = true
				}
			}
			return true
		})
	}
}

// changesOthers reports whether code sets variables of the package, or what a pointer leads to.
func (g *guards) changesOthers(n ast.Node) bool {
	for w := range writes.In(g.pkg.TypesInfo, n) {
		if w.How.Sets() && g.isOfOthers(w) {
			return true
		}
	}
	return false
}

// isOfOthers reports whether what is written to is a variable of the package or behind a pointer. A slice or a map may be the function's own.
func (g *guards) isOfOthers(w writes.Write) bool {
	if w.Root != nil {
		if v, ok := g.pkg.TypesInfo.Uses[w.Root].(*types.Var); ok && v.Parent() == g.pkg.Types.Scope() {
			return true
		}
	}
	for e := w.Expr; ; {
		switch x := ast.Unparen(e).(type) {
		case *ast.SelectorExpr:
			if s := g.pkg.TypesInfo.Selections[x]; s != nil && s.Indirect() {
				return true
			}
			e = x.X
		case *ast.IndexExpr:
			e = x.X
		case *ast.SliceExpr:
			e = x.X
		case *ast.StarExpr:
			return true
		default:
			return false
		}
	}
}
