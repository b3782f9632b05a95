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

// fresh reports whether a slice of the function has an array of its own, or none.
func (p *function) fresh(s *types.Var) bool {
	decl, value := p.declared(s)
	if decl == nil {
		return false
	}
	_, isLit := value.(*ast.CompositeLit)
	_, isVar := decl.(*ast.DeclStmt)
	return isLit || p.builtin(value, "make") != nil || value == nil && isVar
}

// declared returns the statement that declares a variable of the function, and the value that it gives it, if any.
func (p *function) declared(v *types.Var) (st ast.Stmt, value ast.Expr) {
	ast.Inspect(p.decl.Body, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.AssignStmt:
			for i, l := range n.Lhs {
				if id, ok := l.(*ast.Ident); ok && p.info().Defs[id] == v {
					st = n
					if len(n.Rhs) == len(n.Lhs) {
						value = n.Rhs[i]
					}
				}
			}
		case *ast.DeclStmt:
			for _, spec := range n.Decl.(*ast.GenDecl).Specs {
				if vs, ok := spec.(*ast.ValueSpec); ok {
					for i, id := range vs.Names {
						if p.info().Defs[id] == v {
							st = n
							if len(vs.Values) == len(vs.Names) {
								value = vs.Values[i]
							}
						}
					}
				}
			}
		}
		return st == nil
	})
	return st, value
}

// follows reports whether a statement comes right after another one.
func (p *function) follows(st, first ast.Stmt) bool {
	block, ok := p.parent(st).(*ast.BlockStmt)
	if !ok {
		return false
	}
	i := slices.Index(block.List, st)
	return i > 0 && block.List[i-1] == first
}

// leaves reports whether rounds of a loop may end before their end, other than by returning.
func (p *function) leaves(body *ast.BlockStmt) bool {
	found := false
	var walk func(n ast.Node, breaks bool)
	walk = func(n ast.Node, breaks bool) {
		ast.Inspect(n, func(m ast.Node) bool {
			switch m := m.(type) {
			case *ast.FuncLit:
				return false
			case *ast.BranchStmt:
				if m.Label != nil || m.Tok == token.GOTO || m.Tok == token.CONTINUE || m.Tok == token.BREAK && breaks {
					found = true
				}
			case *ast.ForStmt, *ast.RangeStmt:
				if m != n {
					return false // their own; labels are rare enough
				}
			case *ast.SwitchStmt, *ast.TypeSwitchStmt, *ast.SelectStmt:
				if m != n {
					walk(m, false)
					return false
				}
			}
			return !found
		})
	}
	walk(body, true)
	return found || hasLabel(body)
}

// hasLabel reports whether something in a node goes to a label.
func hasLabel(n ast.Node) bool {
	found := false
	ast.Inspect(n, func(n ast.Node) bool {
		if b, ok := n.(*ast.BranchStmt); ok && b.Label != nil {
			found = true
		}
		return !found
	})
	return found
}

var preallocMap = &Rule{
	Name: "prealloc-map", Rank: 4,
	Doc: "a map grows step by step to a size that is known before",

	NoFix: "how many entries there will be is not known before the loop",
	Find: func(p *Pass) {
		each(p, func(loop ast.Stmt) {
			body := bodyOf(loop)
			if body == nil {
				return
			}
			for _, st := range body.List {
				assign, ok := st.(*ast.AssignStmt)
				if !ok || len(assign.Lhs) != 1 || assign.Tok != token.ASSIGN {
					continue
				}
				index, ok := assign.Lhs[0].(*ast.IndexExpr)
				if !ok {
					continue
				}
				m := p.local(index.X)
				if m == nil || !isMap(m.Type()) || m.Pos() > loop.Pos() {
					continue
				}
				p.grownMap(loop, assign, m)
			}
		})
	},
}

func isMap(t types.Type) bool {
	_, ok := t.Underlying().(*types.Map)
	return ok
}

// mapGrowth is where maps grow.
var mapGrowth = []string{
	"internal/runtime/maps.(*Map).growToTable", "internal/runtime/maps.(*Map).growToSmall", "internal/runtime/maps.(*table).grow",
	"internal/runtime/maps.(*table).rehash", "internal/runtime/maps.(*table).split", "internal/runtime/maps.newTable", "internal/runtime/maps.newarray",
	"internal/runtime/maps.NewTable", "runtime.hashGrow", "runtime.growWork", "runtime.evacuate",
}

func (p *Pass) grownMap(loop ast.Stmt, st *ast.AssignStmt, m *types.Var) {
	decl, value := p.declared(m)
	made := p.builtin(value, "make")
	lit, isLit := value.(*ast.CompositeLit)
	if made != nil && len(made.Args) > 1 || made == nil && (!isLit || len(lit.Elts) > 0) {
		return
	}
	c := p.cost(st, func(c *chain) bool {
		return len(c.below) == 0 && !c.onCPU || c.direct() && c.has(mapGrowth...)
	})
	f := finding{
		title:  "map grown step by step",
		claim:  fmt.Sprintf("%s is made without a size, so it has to grow, and to place all its entries anew, again and again", m.Name()),
		advice: "make it with room for all entries",
		risk:   "none; where many keys are the same, some of the room is not needed",
	}
	n, _, ok := p.atMost(loop)
	ok = ok && (strings.HasPrefix(n, "len(") || !returns(bodyOf(loop))) // a number may be any, and the loop is left long before
	over, _ := loop.(*ast.RangeStmt)
	var t ast.Expr
	if isLit {
		t = lit.Type
	} else {
		t = made.Args[0]
	}
	if outer := p.merges(decl, over); outer != nil {
		n := p.localName("n")
		f.fixes = p.fix(report.Mechanical, "make it with room for all entries of all of them",
			before(decl, fmt.Sprintf("%s := 0\nfor _, %s := range %s {\n%s += len(%s)\n}\n", n, p.src(over.X), p.src(outer.X), n, p.src(over.X))),
			replace(value, fmt.Sprintf("make(%s, %s)", p.src(t), n)))
	} else if ok && decl != nil && (p.follows(loop, decl) || over != nil && (p.between(decl, loop, over.X) || p.known(decl, loop, over.X))) && !p.leaves(bodyOf(loop)) {
		f.fixes = p.fix(report.Mechanical, "make it with room for all entries", replace(value, fmt.Sprintf("make(%s, %s)", p.src(t), n)))
	} else if ok && decl != nil && p.leaves(bodyOf(loop)) {
		f.noFix = "rounds of the loop may end before they add an entry, and so much room may be too much"
	} else if ok {
		f.noFix = fmt.Sprintf("%s may be another number where %s is made", n, m.Name())
	}
	p.report(st, c, f)
}

// merges returns the loop around a loop that goes through each of its elements in turn, from their beginning to their end, where how
// many that are can be counted where a variable is declared before it.
func (p *function) merges(decl ast.Stmt, loop *ast.RangeStmt) *ast.RangeStmt {
	if loop == nil {
		return nil
	}
	outer, ok := p.loop(loop).(*ast.RangeStmt)
	if !ok || decl == nil || outer.Tok != token.DEFINE || !slices.Contains(outer.Body.List, ast.Stmt(loop)) || p.statement(outer) != outer {
		return nil
	}
	v, ok := outer.Value.(*ast.Ident)
	x, isID := loop.X.(*ast.Ident)
	if !ok || !isID || p.info().Defs[v] == nil || p.info().Uses[x] != p.info().Defs[v] || p.leaves(outer.Body) || p.leaves(loop.Body) {
		return nil
	}
	switch p.typeOf(outer.X).Underlying().(type) {
	case *types.Slice, *types.Map:
	default:
		return nil
	}
	switch p.typeOf(x).Underlying().(type) {
	case *types.Slice, *types.Map:
	default:
		return nil
	}
	if !p.between(decl, outer, outer.X) && !p.known(decl, outer, outer.X) || p.assigns(outer.Body, func(o types.Object) bool { return o == p.info().Defs[v] }) {
		return nil
	}
	return outer
}

// known reports whether an expression can be evaluated at a statement as well as later, at another one of the same list, whatever
// its value is then: it is a variable of the function, or a field of one that was looked into before.
func (p *function) known(from, to ast.Stmt, e ast.Expr) bool {
	block, ok := p.parent(to).(*ast.BlockStmt)
	if !ok {
		return false
	}
	i, j := slices.Index(block.List, from), slices.Index(block.List, to)
	if i < 0 || j < i {
		return false
	}
	e = ast.Unparen(e)
	if v := p.local(e); v != nil {
		return v.Pos() < from.Pos()
	}
	sel, ok := e.(*ast.SelectorExpr)
	if !ok {
		return false
	}
	v := p.local(sel.X)
	if v == nil || v.Pos() >= from.Pos() {
		return false
	}
	return slices.ContainsFunc(block.List[:i], func(st ast.Stmt) bool {
		found := false
		ast.Inspect(st, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.BlockStmt, *ast.FuncLit, *ast.CaseClause, *ast.CommClause:
				return false // that may not be reached
			case *ast.BinaryExpr:
				if n.Op == token.LAND || n.Op == token.LOR {
					return false
				}
			case *ast.SelectorExpr:
				found = found || p.local(n.X) == v && p.info().Selections[n] != nil && p.info().Selections[n].Kind() == types.FieldVal
			}
			return true
		})
		return found
	})
}

// between reports whether an expression has the same value at a statement as later, at another one of the same list: all its
// variables are of the function, there already, and nothing in between changes them.
func (p *function) between(from, to ast.Stmt, e ast.Expr) bool {
	block, ok := p.parent(to).(*ast.BlockStmt)
	if !ok {
		return false
	}
	i, j := slices.Index(block.List, from), slices.Index(block.List, to)
	if i < 0 || j < i {
		return false
	}
	ok = p.simple(e)
	vars := map[types.Object]bool{}
	ast.Inspect(e, func(n ast.Node) bool {
		if id, isID := n.(*ast.Ident); isID {
			if v, isVar := p.info().ObjectOf(id).(*types.Var); isVar {
				vars[v] = true
				ok = ok && !v.IsField() && p.local(id) != nil && v.Pos() < from.Pos()
			}
		}
		return true
	})
	for _, st := range block.List[i:j] {
		if p.assigns(st, func(o types.Object) bool { return vars[o] }) {
			return false
		}
	}
	for o := range vars {
		ok = ok && !p.captured(o, p.decl.Body)
	}
	return ok
}

var appendLoop = &Rule{
	Name: "append-loop", Rank: 27,
	Doc: "a slice is appended to another one element by element",

	NoFix: "the loop has a label, which something may go to",
	Find: func(p *Pass) {
		each(p, func(loop *ast.RangeStmt) {
			st := p.copies(loop)
			if st == nil {
				return
			}
			s := p.src(st.Lhs[0])
			f := finding{
				title:  "slice appended one by one",
				claim:  "append with all elements at once makes room once, and copies them as one piece of memory",
				advice: "append the whole slice",
				risk:   "none",
			}
			grade := report.Mechanical
			if v := p.local(st.Lhs[0]); v == nil || !p.fresh(v) {
				grade = report.Ownership
				f.risk = "the two must not be parts of one array that overlap"
			}
			if p.statement(loop) == loop {
				f.fixes = p.fix(grade, "append the whole slice", replace(loop, fmt.Sprintf("%s = append(%s, %s...)", s, s, p.src(loop.X))))
			}
			p.report(loop, p.cost(loop, either(growing(), func(c *chain) bool { return len(c.below) == 0 })), f)
		})
	},
}

// copies returns the statement of a loop that does nothing but append what it ranges over, or nil.
func (p *function) copies(loop *ast.RangeStmt) *ast.AssignStmt {
	v, ok := loop.Value.(*ast.Ident)
	if !ok || loop.Tok != token.DEFINE || loop.Key != nil && !isBlank(loop.Key) || len(loop.Body.List) != 1 {
		return nil
	}
	list := p.appendsIn(loop.Body)
	if len(list) != 1 || loop.Body.List[0] != list[0] {
		return nil
	}
	call := list[0].Rhs[0].(*ast.CallExpr)
	arg, ok := ast.Unparen(call.Args[1]).(*ast.Ident)
	if !ok || len(call.Args) > 2 || p.info().ObjectOf(arg) != p.info().ObjectOf(v) || !p.simple(list[0].Lhs[0]) {
		return nil
	}
	from, ok := p.typeOf(loop.X).Underlying().(*types.Slice)
	if !ok {
		return nil
	}
	to, ok := p.typeOf(call.Args[0]).Underlying().(*types.Slice)
	if !ok || !types.Identical(from.Elem(), to.Elem()) {
		return nil
	}
	return list[0]
}

var objectsOneByOne = &Rule{
	Name: "objects-one-by-one", Rank: 8,
	Doc: "objects are allocated one by one for a slice that is filled with them",

	NoFix: "how many objects there will be is not known before the loop",
	Find: func(p *Pass) {
		each(p, func(loop *ast.RangeStmt) {
			key, ok := loop.Key.(*ast.Ident)
			if !ok || key.Name == "_" || loop.Tok != token.DEFINE || isMap(p.typeOf(loop.X)) || isString(p.typeOf(loop.X)) {
				return
			}
			for _, st := range loop.Body.List {
				assign, ok := st.(*ast.AssignStmt)
				if !ok || len(assign.Lhs) != 1 || len(assign.Rhs) != 1 {
					continue
				}
				index, ok := assign.Lhs[0].(*ast.IndexExpr)
				if !ok || isMap(p.typeOf(index.X)) || p.src(index.Index) != key.Name {
					continue
				}
				if t := p.newObject(assign.Rhs[0]); t != "" {
					p.objectInLoop(loop, key, assign, t)
				}
			}
		})
	},
}

// newObject returns the type of what an expression allocates, when it has no values yet: new(T), &T{}.
func (p *function) newObject(e ast.Expr) string {
	if call := p.builtin(e, "new"); call != nil && p.info().Types[call.Args[0]].IsType() {
		return p.src(call.Args[0])
	}
	if u, ok := e.(*ast.UnaryExpr); ok && u.Op == token.AND {
		if lit, ok := u.X.(*ast.CompositeLit); ok && len(lit.Elts) == 0 && lit.Type != nil {
			return p.src(lit.Type)
		}
	}
	return ""
}

func (p *Pass) objectInLoop(loop *ast.RangeStmt, key *ast.Ident, st *ast.AssignStmt, t string) {
	f := finding{
		title:  "objects allocated one by one",
		claim:  fmt.Sprintf("each round allocates a %s; one array of them is one allocation, and they lie next to each other", t),
		advice: "allocate all of them as one slice, and take the addresses of its elements",
		risk:   "all of them stay in memory as long as one of them is used",
	}
	if p.assigns(loop.Body, func(o types.Object) bool { return o == p.info().ObjectOf(key) }) {
		f.noFix = fmt.Sprintf("the loop gives %s other values", key.Name)
	}
	if n, ok := p.rounds(loop); ok && !p.assigns(loop.Body, func(o types.Object) bool { return o == p.info().ObjectOf(key) }) && p.statement(loop) == loop {
		all := p.localName("all")
		f.fixes = p.fix(report.Ownership, "allocate all of them as one slice",
			before(loop, fmt.Sprintf("%s := make([]%s, %s)\n", all, t, n)), replace(st.Rhs[0], fmt.Sprintf("&%s[%s]", all, key.Name)))
	}
	p.report(st, p.cost(st, allocates("newobject")), f)
}

var objectPerCall = &Rule{
	Name: "object-per-call", Rank: 8, PerCall: true,
	Doc: "a function that is called often allocates each of the objects that it returns by itself",

	NoFix: "callers may keep each object as long as they like",
	Find: func(p *Pass) {
		each(p, func(ret *ast.ReturnStmt) {
			for _, r := range ret.Results {
				u, ok := r.(*ast.UnaryExpr)
				if !ok || u.Op != token.AND {
					continue
				}
				lit, ok := u.X.(*ast.CompositeLit)
				if !ok {
					continue
				}
				c := p.cost(r, allocates("newobject"))
				if max(p.costs.surely(&c, bytesMade), p.costs.surely(&c, objectsMade)) < 0.05 {
					continue // one now and then is what memory is for
				}
				t := types.TypeString(p.typeOf(lit), types.RelativeTo(p.unit.Types))
				if size, ok := p.sizeOf(p.typeOf(lit)); ok {
					t += fmt.Sprintf(" of %d bytes", size)
				}
				p.report(r, c, finding{
					title:  "objects allocated one at a time",
					claim:  fmt.Sprintf("each call of %s allocates one %s, since its address is returned", p.callable(r), t),
					advice: "where many are made that live equally long, cut them from slices of some thousands; where callers need no identity, return the value",
					risk:   "one object that is used keeps all of its slice in memory",
					noFix:  fmt.Sprintf("callers of %s may keep each object as long as they like, and the rest of its slice with it", p.decl.Name.Name),
				})
			}
		})
	},
}
