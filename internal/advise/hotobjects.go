package advise

import (
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"slices"
	"strings"
)

// hotObjects speaks where all other rules are silent: whoever looks for what allocates must not be told that there is nothing, when one
// line makes more objects than all others together.
var hotObjects = &Rule{
	Name: "hot-objects", Rank: 0, Last: true, Story: true,
	Doc: "one line makes more objects than all others together",

	NoFix: "why the values are on the heap decides what to change, and that may be in another function",
	Find: func(p *Pass) {
		if !p.costs.telling() {
			return
		}
		for at, l := range p.lines {
			if 2*l.made[0] <= p.costs.total[objectsMade] {
				continue
			}
			n := p.nodeOn(at, l)
			from, to := at, at
			if n == nil {
				n = &ast.BadStmt{From: p.file.tok.LineStart(at), To: p.file.tok.LineStart(at)} // in the middle of something
			} else if st := p.simpleStatement(n); st != nil && !isInitializer(p.decl) {
				from, to = p.line(st.Pos()), p.line(st.End())
			}
			if p.toldObjects(from, to) || p.poolNew(n) != nil && slices.ContainsFunc(p.getters(l), func(fn string) bool { return p.knows(fn, "sync.(*Pool).Get") }) {
				return
			}
			p.makesMost(n, at, l)
			return
		}
	},
}

// telling reports whether there are enough samples of objects to say where most of them are made: one or two are chance.
func (c *costs) telling() bool {
	const few = 4
	for _, in := range c.inputs {
		if in.column[objectsMade] >= 0 && in.profile.Period > 1 && c.total[bytesMade] > 0 && c.total[bytesMade]/in.profile.Period < few {
			return false
		}
	}
	return c.total[objectsMade] > 0
}

func (p *Pass) makesMost(n ast.Node, at int, l *Line) {
	c := l.sum(func(c *chain) bool { return !slices.ContainsFunc(c.below, p.mine) && (!c.onCPU || allocating(c)) })
	c = cost{cpu: c[cpu], objectsMade: l.made[0], bytesMade: l.made[1]}
	f := finding{
		title:  "most objects are made on one line",
		claim:  fmt.Sprintf("%.0f%% of all objects come from here", 100*p.costs.part(&c, objectsMade)),
		advice: "a value that stays in the function, is used again, or is part of a larger one needs no object of its own",
		onHeap: true,
		risk:   "what is used again is seen by all who have it",
	}
	if c[bytesMade] > 0 {
		f.claim += fmt.Sprintf(", of %d bytes each on average", c[bytesMade]/c[objectsMade])
	}
	made, callee := p.madeOn(at, l)
	if made != "" {
		f.claim += ": " + made
	}
	f.callee = callee
	once := p.once(n)
	if p.startup(n) {
		f.claim += "; the line runs " + map[bool]string{true: "once, "}[once != often] + "when the program starts"
		f.advice += "; what is not always needed can be made when it is first asked for, with sync.OnceValue"
	} else if once != often {
		f.claim += "; the line runs once"
	}
	if pool := p.poolNew(n); pool != nil {
		f.claim += "; it is in the New of a sync.Pool, which Get calls when the pool is empty"
		if list := p.getters(l); list != nil {
			f.claim += ", here in " + shortNames(list)
		}
		f.advice = "see that all that Get hands out comes back through Put, on every way out of the function"
	}
	p.why = "what to change depends on who needs the objects, and for how long"
	p.report(n, c, f)
}

// madeOn says in a few words what a line makes, and what it calls that makes most of it, or "" when that is the line itself.
func (p *function) madeOn(at int, l *Line) (what, callee string) {
	by := map[string]int64{}
	for _, c := range l.chains {
		if c.v[objectsMade] > 0 && !slices.ContainsFunc(c.below, p.mine) {
			by[c.first()] += c.v[objectsMade]
		}
	}
	most := ""
	for fn, v := range by {
		if v > by[most] || v == by[most] && fn < most {
			most = fn
		}
	}
	if most != "" && !isRuntime(most) {
		return shortName(most) + " makes them", most
	}
	var list []string
	ast.Inspect(p.decl.Body, func(n ast.Node) bool {
		e, ok := n.(ast.Expr)
		if !ok {
			return true
		}
		if text := p.allocation(e); text != "" && p.line(e.Pos()) <= at && at <= p.line(e.End()) && p.line(allocatesAt(e)) == at && !slices.Contains(list, text) {
			list = append(list, text)
			if u, isRef := e.(*ast.UnaryExpr); isRef {
				return u.Op != token.AND
			}
		}
		return true
	})
	const most2 = 3
	if len(list) > most2 {
		list = append(list[:most2], "…")
	}
	return strings.Join(list, ", "), ""
}

// allocatesAt returns where profiles say that an expression allocates.
func allocatesAt(e ast.Expr) token.Pos {
	switch e := e.(type) {
	case *ast.CallExpr:
		return e.Lparen
	case *ast.BinaryExpr:
		return e.OpPos
	}
	return e.Pos()
}

// allocation returns the text of an expression that may allocate, shortened, or "".
func (p *function) allocation(e ast.Expr) string {
	may := false
	switch e := e.(type) {
	case *ast.CallExpr:
		arg, to := p.conversion(e)
		switch {
		case arg != nil:
			from := p.typeOf(arg)
			may = isString(to) != isString(from) && from != nil && !p.isConst(e) || types.IsInterface(to) && p.boxes(arg)
		default:
			may = p.builtin(e, "make") != nil || p.builtin(e, "new") != nil || p.builtin(e, "append") != nil
		}
	case *ast.BinaryExpr:
		may = e.Op == token.ADD && isString(p.typeOf(e)) && !p.isConst(e) && p.outermostSum(e)
	case *ast.UnaryExpr:
		_, isLit := ast.Unparen(e.X).(*ast.CompositeLit)
		may = e.Op == token.AND && isLit
	case *ast.CompositeLit:
		switch p.typeOf(e).Underlying().(type) {
		case *types.Slice, *types.Map:
			may = true
		}
	case *ast.FuncLit:
		if may = len(p.capturedBy(e)) > 0; may {
			return "a function literal"
		}
	}
	if !may {
		return ""
	}
	const long = 50
	text := strings.Join(strings.Fields(types.ExprString(e)), " ")
	if len(text) > long {
		text = strings.ToValidUTF8(text[:long], "") + "…"
	}
	return text
}

// shortName is the name of a function without the path of its package.
func shortName(fn string) string { return fn[strings.LastIndexByte(fn, '/')+1:] }

// poolNew returns the function literal that a node is in when it is the New of a sync.Pool, or nil.
func (p *function) poolNew(n ast.Node) *ast.FuncLit {
	isPool := func(t types.Type) bool {
		if t == nil {
			return false
		}
		if ptr, ok := types.Unalias(t).(*types.Pointer); ok {
			t = ptr.Elem()
		}
		named, ok := types.Unalias(t).(*types.Named)
		return ok && named.Obj().Pkg() != nil && named.Obj().Pkg().Path() == "sync" && named.Obj().Name() == "Pool"
	}
	for lit := p.literal(n); lit != nil; lit = p.literal(lit) {
		switch up := p.parent(lit).(type) {
		case *ast.KeyValueExpr:
			if key := asIdent(up.Key); key != nil && key.Name == "New" {
				if pool, ok := p.parent(up).(*ast.CompositeLit); ok && isPool(p.typeOf(pool)) {
					return lit
				}
			}
		case *ast.AssignStmt:
			i := slices.Index(up.Rhs, ast.Expr(lit))
			if i >= 0 && i < len(up.Lhs) {
				if sel, ok := up.Lhs[i].(*ast.SelectorExpr); ok && sel.Sel.Name == "New" && isPool(p.typeOf(sel.X)) {
					return lit
				}
			}
		}
	}
	return nil
}

// getters returns the functions whose calls of Get have a line called that is in the New of a pool.
func (p *Pass) getters(l *Line) []string {
	var list []string
	for _, f := range p.all {
		for _, line := range f.lines {
			if slices.ContainsFunc(line.chains, func(c *chain) bool {
				return c.first() == "sync.(*Pool).Get" && c.has(l.fn)
			}) && !slices.Contains(list, f.name) {
				list = append(list, f.name)
			}
		}
	}
	slices.Sort(list)
	return list
}

// shortNames names functions without the paths of their packages.
func shortNames(fns []string) string {
	var list []string
	for _, fn := range fns {
		list = append(list, shortName(fn))
	}
	return strings.Join(list, ", ")
}

// callable names the function, or the function literal, that a node is in.
func (p *function) callable(n ast.Node) string {
	if lit := p.literal(n); lit != nil {
		return fmt.Sprintf("the function literal at line %d", p.line(lit.Pos()))
	}
	return p.decl.Name.Name
}
