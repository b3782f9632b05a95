package advise

import (
	"cmp"
	"fmt"
	"go/ast"
	"go/types"
	"slices"
	"strings"
)

// inMap is what looking things up in maps and putting them there costs.
func inMap(c *chain) bool {
	if len(c.below) == 0 {
		return !c.onCPU
	}
	return c.direct() && slices.ContainsFunc(c.below, func(b string) bool {
		return strings.HasPrefix(b, "runtime.map") || strings.HasPrefix(b, "internal/runtime/maps.") || strings.HasPrefix(b, "runtime.makemap")
	})
}

// A mapUse is the lines that use maps of one type.
type mapUse struct {
	t     *types.Map
	nodes []ast.Node
	in    []*Pass
	costs []cost
	lines map[string]bool
	sum   cost
}

// mapsOf finds what the maps of some kind cost in all functions of the package. It does so once, for the first of them.
func (p *Pass) mapsOf(kind func(*types.Map) bool) []*mapUse {
	all := p.ofPackage()
	if all[0] != p.costly {
		return nil
	}
	byType := map[string]*mapUse{}
	var out []*mapUse
	for _, f := range all {
		q := p.at(f)
		add := func(n ast.Node, t types.Type) {
			m, ok := t.Underlying().(*types.Map)
			if !ok || !kind(m) {
				return
			}
			c := q.cost(n, inMap)
			key := types.TypeString(m, nil)
			u := byType[key]
			if u == nil {
				u = &mapUse{t: m, lines: map[string]bool{}}
				byType[key] = u
				out = append(out, u)
			}
			if at := fmt.Sprint(f.file.path, q.line(n.Pos())); c != (cost{}) && !u.lines[at] {
				u.lines[at] = true
				u.nodes, u.in, u.costs = append(u.nodes, n), append(u.in, q), append(u.costs, c)
				u.sum.add(&c)
			}
		}
		each(q, func(n *ast.IndexExpr) {
			if t := q.typeOf(n.X); t != nil {
				add(n, t)
			}
		})
		each(q, func(n *ast.RangeStmt) {
			if t := q.typeOf(n.X); t != nil && isMap(t) {
				add(n.X, t)
			}
		})
		each(q, func(n *ast.CallExpr) {
			if q.builtin(n, "make") != nil && isMap(q.typeOf(n)) {
				add(n, q.typeOf(n))
			}
		})
		each(q, func(n *ast.CompositeLit) {
			if t := q.typeOf(n); t != nil && isMap(t) {
				add(n, t)
			}
		})
	}
	return slices.DeleteFunc(out, func(u *mapUse) bool { return len(u.nodes) == 0 })
}

// report reports what maps of one type cost, at the line that costs most.
func (u *mapUse) report(f finding) {
	order := make([]int, len(u.nodes))
	for i := range order {
		order[i] = i
	}
	at := u.in[0]
	slices.SortStableFunc(order, func(i, j int) int { return cmp.Compare(at.costs.weight(&u.costs[j]), at.costs.weight(&u.costs[i])) })
	first := order[0]
	q := u.in[first]
	var elsewhere []string
	for _, i := range order[1:] {
		if u.in[i].function == q.function {
			f.also = append(f.also, u.nodes[i])
		} else {
			elsewhere = append(elsewhere, fmt.Sprintf("%s:%d", u.in[i].file.name, u.in[i].line(u.nodes[i].Pos())))
		}
	}
	if len(elsewhere) > 0 {
		const most = 5
		if n := len(elsewhere); n > most {
			elsewhere = append(elsewhere[:most], fmt.Sprintf("%d more", n-most))
		}
		f.claim += "; also at " + strings.Join(elsewhere, ", ")
	}
	q.report(u.nodes[first], u.sum, f)
}

var mapByPointer = &Rule{
	Name: "map-by-pointer", Rank: 14,
	Doc: "what belongs to an object is looked up in a map by its address",

	NoFix: "no field is known to number the objects and to stay as it is",
	Find: func(p *Pass) {
		for _, u := range p.mapsOf(func(m *types.Map) bool {
			ptr, ok := m.Key().Underlying().(*types.Pointer)
			if !ok || isSet(m) {
				return false
			}
			_, ok = ptr.Elem().Underlying().(*types.Struct)
			return ok
		}) {
			ptr := u.t.Key().Underlying().(*types.Pointer)
			key := types.TypeString(ptr.Elem(), types.RelativeTo(p.unit.Types))
			f := finding{
				title: "map with pointers for keys where a field or a number does",
				claim: fmt.Sprintf("each look at the %s of a *%s hashes the pointer and searches; a field is one step away", types.TypeString(u.t.Elem(), types.RelativeTo(p.unit.Types)), key),
				risk:  "a field is there for all users of the type, and for one of them at a time",
			}
			f.advice = "keep it in a field of " + key
			if id := numberField(ptr.Elem()); id != "" {
				f.advice += fmt.Sprintf("; or, if %s counts from 0 on, in a slice indexed by it", id)
			} else {
				f.advice += "; or number the objects, and keep it in a slice"
			}
			if f.fixes = u.in[0].numbered(u.t); len(f.fixes) > 0 {
				f.risk = "with the patch, there is room for two entries where there is one; a field would be for all users of the type, and for one of them at a time"
			}
			for _, q := range u.in {
				q.why = u.in[0].why
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
		if !isBasic(f.Type(), types.IsInteger) {
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

// isSet reports whether a map only says what is in it.
func isSet(m *types.Map) bool {
	if s, ok := m.Elem().Underlying().(*types.Struct); ok {
		return s.NumFields() == 0
	}
	return isBasic(m.Elem(), types.IsBoolean)
}

var mapAsSet = &Rule{
	Name: "map-as-set", Rank: 14,
	Doc: "sets are maps, where they are small or their members are small numbers",

	NoFix: "the sets are used for what a list does not do",
	Find: func(p *Pass) {
		for _, u := range p.mapsOf(func(m *types.Map) bool { return isSet(m) && !isString(m.Key()) && !isTypeParam(m.Key()) }) {
			key := types.TypeString(u.t.Key(), types.RelativeTo(p.unit.Types))
			f := finding{
				title: "map as a set",
				claim: fmt.Sprintf("each set of %s is a map, with a group of slots of its own from the first member on, and each question hashes", key),
				risk:  "a search through a list takes longer the more members there are: measure with the largest sets; the order of members is then that of adding",
			}
			switch {
			case isBasic(u.t.Key(), types.IsInteger):
				f.advice = "where sets have few members, a slice that is searched; where members are small numbers, a []bool or bits"
			default:
				f.advice = "where sets have few members, a slice that is searched; where there is one set at a time, a mark in the objects"
			}
			f.fixes = u.in[0].listed(u.t)
			for _, q := range u.in {
				q.why = u.in[0].why
			}
			u.report(f)
		}
	},
}

var growingMap = &Rule{
	Name: "growing-map", Rank: 0,
	Doc: "a map only ever grows",

	NoFix: "the code does not say which entries nobody needs any more",
	Find: func(p *Pass) {
		if p.costs.total[inUse] == 0 {
			return
		}
		each(p, func(st *ast.AssignStmt) {
			if len(st.Lhs) != 1 {
				return
			}
			index, ok := st.Lhs[0].(*ast.IndexExpr)
			if !ok || p.typeOf(index.X) == nil || !isMap(p.typeOf(index.X)) {
				return
			}
			v, ok := p.object(index.X).(*types.Var)
			if !ok || !v.IsField() && v.Parent() != p.unit.Types.Scope() || p.shrinks(v) {
				return
			}
			// What lives on because of it is what this function allocated, or had allocated.
			var c cost
			for _, l := range p.lines {
				if l.cum[inUse] > c[inUse] {
					c = cost{inUse: l.cum[inUse], inUseSpread: l.cum[inUseSpread]}
				}
			}
			if p.costs.surely(&c, inUse) < 0.2 {
				return
			}
			p.report(st, c, finding{
				title:  "map that only grows",
				claim:  fmt.Sprintf("nothing in the package ever deletes from %s, and what is put into it stays in memory for good", p.src(index.X)),
				advice: "delete what is over, or limit how much is kept and drop the oldest",
				risk:   "what is deleted too early is missed later",
				noFix:  fmt.Sprintf("the code does not say which entries of %s nobody needs any more", p.src(index.X)),
			})
		})
	},
}

// object returns what an identifier or a selector stands for.
func (p *function) object(e ast.Expr) types.Object {
	switch e := ast.Unparen(e).(type) {
	case *ast.Ident:
		return p.info().ObjectOf(e)
	case *ast.SelectorExpr:
		return p.info().ObjectOf(e.Sel)
	}
	return nil
}

// shrinks reports whether anything in the package makes a map smaller: deletes from it, clears it, puts another in its place, or
// hands it to somebody who could.
func (p *function) shrinks(v *types.Var) bool {
	found := false
	for _, f := range p.unit.files {
		var inNil []ast.Node // the body of: if m == nil
		ast.Inspect(f.ast, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.IfStmt:
				if b, ok := n.Cond.(*ast.BinaryExpr); ok && p.object(b.X) == v {
					inNil = append(inNil, n.Body)
				}
			case *ast.CallExpr:
				for i, a := range n.Args {
					if p.object(a) != v {
						continue
					}
					fn, isID := ast.Unparen(n.Fun).(*ast.Ident)
					if !isID || i > 0 || fn.Name != "len" {
						found = true
					}
				}
			case *ast.AssignStmt:
				for _, l := range n.Lhs {
					if p.object(l) == v && !slices.ContainsFunc(inNil, func(b ast.Node) bool { return within(n, b) }) {
						found = true
					}
				}
				for _, r := range n.Rhs {
					if p.object(r) == v {
						found = true
					}
				}
			case *ast.ReturnStmt:
				for _, r := range n.Results {
					if p.object(r) == v {
						found = true
					}
				}
			}
			return !found
		})
	}
	return found
}
