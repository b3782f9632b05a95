package advise

import (
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"slices"

	"github.com/hone-perf/hone/internal/report"
)

var deferInLoop = &Rule{
	Name: "defer-in-loop", Rank: 10,
	Doc: "defer in a loop: a record on the heap for each round, and all of them run in the end",

	NoFix: "a call at the end of the round would not run when something panics before it",
	Find: func(p *Pass) {
		each(p, func(d *ast.DeferStmt) {
			if p.loop(d) == nil {
				return
			}
			p.report(d, p.cost(d, func(c *chain) bool {
				return c.direct() && c.has("runtime.deferproc", "runtime.deferprocStack", "runtime.newdefer", "runtime.deferprocat") || len(c.below) == 0 && !c.onCPU
			}), finding{
				title:  "defer in a loop",
				claim:  "each round keeps a call for the end of the function, in memory that it allocates; what it would set free is held until then",
				advice: "call it at the end of the round, or make the body of the loop a function",
				risk:   "with a panic in between, a call that is not deferred does not happen",
			})
		})
	},
}

var timePerItem = &Rule{
	Name: "time-per-item", Rank: 32,
	Doc: "a timer is made, or the clock is read, in each round of a loop",

	NoFix: "the code does not say how exact the times have to be",
	Find: func(p *Pass) {
		each(p, func(call *ast.CallExpr) {
			if p.calls(call, "time.After", "time.NewTimer", "time.Now", "time.Since", "time.Tick") == nil || p.loop(call) == nil {
				return
			}
			name := p.callee(call).Name()
			f := finding{
				title:  "time." + name + " in each round",
				claim:  "the clock is read in each round",
				advice: "read it once for many rounds, or before the loop",
				risk:   "times are less exact",
				callee: "time." + name,
			}
			if name == "After" || name == "NewTimer" || name == "Tick" {
				f.claim = "each round makes a timer and a channel, though most of them never fire"
				f.advice = "make one with time.NewTimer before the loop, and Reset it in each round"
				f.risk = "before Go 1.23, a timer has to be stopped and its channel emptied before Reset"
				f.noFix = "a timer that is used again has to be stopped on every way out of the round, and its channel may have to be emptied"
			}
			p.report(call, p.cost(call, below("time."+name)), f)
		})
	},
}

var largeCopies = &Rule{
	Name: "large-range-copy", Rank: 23,
	Doc: "a loop copies large elements to look at them",

	NoFix: "the element may change while the loop looks at its copy",
	Find: func(p *Pass) {
		each(p, func(loop *ast.RangeStmt) {
			v, ok := loop.Value.(*ast.Ident)
			if !ok || v.Name == "_" || loop.Tok != token.DEFINE || isMap(p.typeOf(loop.X)) {
				return
			}
			t := p.typeOf(v)
			if t == nil {
				return
			}
			size, _ := p.sizeOf(t)
			if size < 128 {
				return
			}
			obj := p.info().Defs[v]
			// The copy is on the line of the range, by itself or by the runtime.
			head := p.lines[p.line(loop.For)]
			c := head.sum(func(c *chain) bool {
				return c.onCPU && (len(c.below) == 0 || c.has("runtime.duffcopy", "runtime.memmove", "runtime.typedmemmove", "runtime.wbMove"))
			})
			f := finding{
				title:  "large elements copied to look at them",
				claim:  fmt.Sprintf("each round copies an element of %d bytes to %s", size, v.Name),
				advice: "range over the index, and take the address of the element",
				risk:   "what the loop does to the elements is then seen in the variable, too, and the other way round",
			}
			_, isSlice := p.typeOf(loop.X).Underlying().(*types.Slice)
			switch {
			case !isSlice || obj == nil || !p.simple(loop.X):
				f.noFix = fmt.Sprintf("%s is not a slice in a variable", p.src(loop.X))
			case !p.onlyReadIn(loop.Body, obj):
				f.noFix = fmt.Sprintf("the loop does more with %s than to read its fields, or does something that may change the element", v.Name)
			case !p.staysSlice(loop):
				f.noFix = fmt.Sprintf("%s may be another slice before the loop is over", p.src(loop.X))
			default:
				key := p.localName("i")
				begin := key
				if id, ok := loop.Key.(*ast.Ident); ok && id.Name != "_" {
					begin, key = id.Name, id.Name
				}
				f.risk = "none: the loop calls nothing, and writes to no element"
				f.fixes = p.fix(report.Mechanical, "take the address of the element",
					newEdit(loop.Key.Pos(), loop.Value.End(), begin), newEdit(loop.Body.Lbrace+1, loop.Body.Lbrace+1, fmt.Sprintf("\n%s := &%s[%s]", v.Name, p.src(loop.X), key)))
			}
			p.report(loop, c, f)
		})
	},
}

// staysSlice reports whether a loop ranges over a variable of the function, which it gives no other value.
func (p *function) staysSlice(loop *ast.RangeStmt) bool {
	v := p.local(loop.X)
	return v != nil && !p.captured(v, p.decl.Body) && !p.assigns(loop.Body, func(o types.Object) bool { return o == v })
}

// onlyReadIn reports whether a node only reads fields of a variable, calls nothing, and assigns to nothing but plain variables.
func (p *function) onlyReadIn(n ast.Node, v types.Object) bool {
	ok := true
	ast.Inspect(n, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.CallExpr:
			if p.builtin(n, "len") == nil && p.builtin(n, "min") == nil && p.builtin(n, "max") == nil && !p.info().Types[n.Fun].IsType() {
				ok = false
			}
		case *ast.AssignStmt:
			for _, l := range n.Lhs {
				id, isID := l.(*ast.Ident)
				ok = ok && isID && p.info().ObjectOf(id) != v
			}
		case *ast.IncDecStmt:
			_, isID := n.X.(*ast.Ident)
			ok = ok && isID
		case *ast.UnaryExpr:
			ok = ok && n.Op != token.AND && n.Op != token.ARROW
		case *ast.FuncLit, *ast.SendStmt, *ast.GoStmt, *ast.DeferStmt:
			ok = false
		case *ast.Ident:
			if p.info().Uses[n] == v {
				sel, isSel := p.parent(n).(*ast.SelectorExpr)
				ok = ok && isSel && sel.X == n
			}
		}
		return ok
	})
	return ok
}

var linearSearch = &Rule{
	Name: "linear-search", Rank: 0,
	Doc: "a list is searched from its beginning again and again",

	NoFix: "the list is a parameter, and what fills it has to change as well",
	Find: func(p *Pass) {
		// A function that does nothing but search one.
		var loop *ast.RangeStmt
		for _, s := range p.decl.Body.List {
			if r, ok := s.(*ast.RangeStmt); ok && loop == nil {
				loop = r
			}
		}
		if loop == nil || len(p.decl.Body.List) > 2 || len(loop.Body.List) != 1 {
			return
		}
		cond, ok := loop.Body.List[0].(*ast.IfStmt)
		if !ok || cond.Else != nil || len(cond.Body.List) != 1 {
			return
		}
		cmp, ok := cond.Cond.(*ast.BinaryExpr)
		_, returns := cond.Body.List[0].(*ast.ReturnStmt)
		list := p.local(loop.X)
		if !ok || cmp.Op != token.EQL || !returns || list == nil || !p.isParam(list) {
			return
		}
		if _, ok := list.Type().Underlying().(*types.Slice); !ok {
			return
		}
		c := p.total(func(c *chain) bool {
			return len(c.below) == 0 && c.onCPU || c.has("runtime.memequal", "memeqbody")
		})
		if p.costs.surely(&c, cpu) < 0.05 {
			return // short lists are what it is good for
		}
		what := "whether something is in a list"
		ast.Inspect(p.decl.Body, func(n ast.Node) bool {
			if p.builtin(n, "append") != nil {
				what = "whether something is in a list before it is added"
			}
			return true
		})
		p.report(loop, c, finding{
			title:  "lists searched from the beginning",
			claim:  fmt.Sprintf("%s looks at each element to find out %s, so that a list of n costs n² steps to fill", p.decl.Name.Name, what),
			advice: "where elements are objects or small numbers, mark those that are in: with a field, a []bool, or the number of the round; where lists are long, a map or a sorted list",
			risk:   "marks have to be taken away again, or numbered by round",
			noFix:  fmt.Sprintf("%s is a parameter, and what fills it has to change as well", list.Name()),
		})
	},
}

var recomputed = &Rule{
	Name: "recomputed-value", Rank: 3, PerCall: true,
	Doc: "something is worked out anew from a field that never changes",

	NoFix: "the field is used otherwise, too",
	Find: func(p *Pass) {
		each(p, func(call *ast.CallExpr) {
			fn := p.callee(call)
			if fn == nil || fn.Pkg() != p.unit.Types || fn.Signature().Recv() != nil || len(call.Args) != 1 || fn.Signature().Results().Len() != 1 {
				return
			}
			sel, ok := ast.Unparen(call.Args[0]).(*ast.SelectorExpr)
			if !ok || !isString(p.typeOf(sel)) || !isString(fn.Signature().Results().At(0).Type()) {
				return
			}
			field, ok := p.object(sel).(*types.Var)
			if !ok || !field.IsField() || field.Exported() || p.assignedLater(field) {
				return
			}
			// Calls of the same function on the same lines cannot be told apart.
			same := int64(0)
			st := p.statement(call)
			if st == nil {
				return
			}
			ast.Inspect(st, func(n ast.Node) bool {
				if other, ok := n.(*ast.CallExpr); ok && p.callee(other) == fn {
					same++
				}
				return true
			})
			c := p.cost(call, p.calling(call))
			for m := range c {
				c[m] /= same
			}
			p.report(call, c, finding{
				fixes:  p.workedOut(fn, field),
				title:  fmt.Sprintf("%s of a field that never changes", fn.Name()),
				claim:  fmt.Sprintf("%s is only set when its struct is made, so %s gives the same each time", p.src(sel), p.src(call)),
				advice: "keep the result in the struct, from when it is made",
				callee: p.profileName(fn),
				risk:   fmt.Sprintf("%s must look at nothing but its argument", fn.Name()),
			})
		})
	},
}

// assignedLater reports whether a field is given a value anywhere but where its struct is made, or its address is taken.
func (p *function) assignedLater(field *types.Var) bool {
	for _, f := range p.unit.files {
		found := false
		ast.Inspect(f.ast, func(n ast.Node) bool {
			is := func(e ast.Expr) bool { return p.object(e) == field }
			switch n := n.(type) {
			case *ast.AssignStmt:
				found = found || slices.ContainsFunc(n.Lhs, is)
			case *ast.IncDecStmt:
				found = found || is(n.X)
			case *ast.UnaryExpr:
				found = found || n.Op == token.AND && is(n.X)
			}
			return !found
		})
		if found {
			return true
		}
	}
	return false
}

var goPerItem = &Rule{
	Name: "goroutine-per-item", Rank: 26,
	Doc: "a goroutine is started for each item",

	NoFix: "the items may wait for one another, which needs a goroutine for each",
	Find: func(p *Pass) {
		each(p, func(n ast.Node) {
			var call *ast.CallExpr
			switch n := n.(type) {
			case *ast.GoStmt:
				call = n.Call
			case *ast.CallExpr:
				call = p.calls(n, "(*sync.WaitGroup).Go")
			}
			if call == nil || p.loop(n) == nil {
				return
			}
			c := p.cost(n, func(c *chain) bool {
				return c.has("runtime.newproc", "runtime.newproc1") || c.first() == "sync.(*WaitGroup).Go" && len(c.below) == 1
			})
			p.report(n, c, finding{
				title:  "a goroutine for each item",
				claim:  "starting a goroutine takes longer than what small items need, and all of them are in memory at once",
				advice: "as many goroutines as processors, each with a part of the items",
				risk:   "items that wait for something hold up those behind them",
			})
		})
	},
}
