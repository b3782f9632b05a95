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

var scratchPerCall = &Rule{
	Name: "scratch-per-call", Rank: 2, PerCall: true,
	Doc: "lists that are only needed inside a function are made for every call",

	NoFix: "the lists would have to be cleared where the code now relies on them being new",
	Find: func(p *Pass) {
		var made []ast.Node
		var names []string
		var sum, most cost
		var where ast.Node
		lines := map[int]bool{}
		each(p, func(st *ast.AssignStmt) {
			if st.Tok != token.DEFINE || len(st.Rhs) != 1 || len(st.Lhs) != 1 || p.loop(st) != nil || p.literal(st) != nil {
				return
			}
			call := p.builtin(st.Rhs[0], "make")
			v := p.local(st.Lhs[0])
			if call == nil || v == nil {
				return
			}
			switch v.Type().Underlying().(type) {
			case *types.Slice:
				if len(call.Args) < 2 || p.isConst(call.Args[len(call.Args)-1]) {
					return
				}
			case *types.Chan:
				return
			}
			c := p.cost(st, allocates("makeslice", "makemap", "newobject"))
			if c == (cost{}) || lines[p.line(st.Pos())] || !p.ownList(v) {
				return
			}
			lines[p.line(st.Pos())] = true
			made, names = append(made, st), append(names, v.Name())
			sum.add(&c)
			if where == nil || p.costs.weight(&c) > p.costs.weight(&most) {
				where, most = st, c
			}
		})
		if where == nil {
			return
		}
		f := finding{
			title:  "bookkeeping made anew for every call",
			claim:  fmt.Sprintf("%s: made for each call of %s, and garbage when it returns", strings.Join(names, ", "), p.decl.Name.Name),
			advice: "keep them in a struct that the caller keeps, or in a sync.Pool, and begin each call with [:0] or clear; make them larger only when they are too small",
			risk:   "what was in them before has to be cleared; two calls at the same time need two of them; the largest call decides how much memory stays",
			also:   made,
		}
		if p.worth(sum) {
			f.fixes = p.shortOnStack(made)
		}
		if len(f.fixes) == 0 {
			p.no("%s would have to be cleared where the code now relies on them being new", strings.Join(names, ", "))
		}
		p.report(where, sum, f)
	},
}

// stackRoom is how many bytes of a list a function may keep on its stack. They are set to zero in each call. Lists of up to 32 bytes
// are on the stack anyhow, since Go 1.25, and should stay as fast as they are.
const (
	stackRoom = 256
	stackFree = 32
)

// shortOnStack is a fix that has short lists on the stack: make with a constant capacity needs no heap where the slice stays inside.
func (p *Pass) shortOnStack(made []ast.Node) []report.Fix {
	var edits []edit
	for _, n := range made {
		st := n.(*ast.AssignStmt)
		call := st.Rhs[0].(*ast.CallExpr)
		v := p.local(st.Lhs[0])
		slice, ok := v.Type().Underlying().(*types.Slice)
		if !ok || len(call.Args) != 2 || !p.simple(call.Args[1]) || !isBasic(p.typeOf(call.Args[1]), types.IsInteger) || p.statement(st) != st || p.measured(v) {
			continue
		}
		size, _ := p.sizeOf(slice.Elem())
		c := p.cost(st, allocates("makeslice", "newobject"))
		if size <= 0 || stackRoom/size < 4 || c[objectsMade] == 0 || c[bytesMade]/c[objectsMade] > stackRoom {
			continue // those that were made are longer
		}
		room := int64(1) // a power of two
		for room*2 <= min(stackRoom/size, 64) {
			room *= 2
		}
		t, length := p.src(call.Args[0]), p.src(call.Args[1])
		cond := fmt.Sprintf("%s <= %d", length, room)
		if free := stackFree / size; free > 0 {
			cond = fmt.Sprintf("%s > %d && %s", length, free, cond)
		}
		edits = append(edits, replace(st, fmt.Sprintf("var %s %s\nif %s {\n%s = make(%s, %s, %d) // on the stack, as shorter ones are anyhow\n} else {\n%s = make(%s, %s)\n}",
			v.Name(), t, cond, v.Name(), t, length, room, v.Name(), t, length)))
	}
	if len(edits) == 0 {
		return nil
	}
	return p.fix(report.Mechanical, "have short ones on the stack", edits...)
}

// measured reports whether it matters what capacity a slice has.
func (p *function) measured(v *types.Var) bool {
	return slices.ContainsFunc(p.uses(v), func(id *ast.Ident) bool {
		switch up := p.parent(id).(type) {
		case *ast.CallExpr:
			return p.builtin(up, "cap") != nil || p.builtin(up, "append") != nil
		case *ast.SliceExpr:
			return true // behind its length there is something then
		}
		return false
	})
}

var bufferPerRound = &Rule{
	Name: "list-per-round", Rank: 5,
	Doc: "a list is begun anew in each round of a loop, with nothing to grow from",

	NoFix: "another variable of the function has the same name, or the loop has a label",
	Find: func(p *Pass) {
		each(p, func(st *ast.DeclStmt) {
			g := st.Decl.(*ast.GenDecl)
			if g.Tok != token.VAR || len(g.Specs) != 1 {
				return
			}
			spec := g.Specs[0].(*ast.ValueSpec)
			if len(spec.Names) != 1 || len(spec.Values) > 0 || spec.Type == nil {
				return
			}
			v, ok := p.info().Defs[spec.Names[0]].(*types.Var)
			if !ok {
				return
			}
			elem, ok := v.Type().Underlying().(*types.Slice)
			if !ok || !p.grownInside(v) {
				return
			}
			var c cost
			each(p, func(a *ast.AssignStmt) {
				if len(a.Lhs) == 1 && p.local(a.Lhs[0]) == v {
					x := p.cost(a, growing())
					c.add(&x)
				}
			})
			loop := p.loop(st)
			if loop == nil {
				p.smallList(st, spec, v, elem.Elem(), c)
				return
			}
			f := finding{
				title:  "list grown anew in every round",
				claim:  fmt.Sprintf("%s is empty at the start of each round and grows again, and the array of the round before is garbage", v.Name()),
				advice: "declare it before the loop, and begin each round with [:0]",
				risk:   "the longest round decides how much memory stays, and what its elements point to lives until they are overwritten",
			}
			if p.statement(loop) == loop && p.localName(v.Name()) == v.Name()+"2" && p.onlyOneNamed(v) {
				f.fixes = p.fix(report.Ownership, "use the array again", before(loop, p.src(st)+"\n"), replace(st, fmt.Sprintf("%s = %s[:0]", v.Name(), v.Name())))
			}
			p.report(st, c, f)
		})
	},
}

// onlyOneNamed reports whether no other variable of the function has the name.
func (p *function) onlyOneNamed(v *types.Var) bool {
	only := true
	ast.Inspect(p.decl, func(n ast.Node) bool {
		if id, ok := n.(*ast.Ident); ok && id.Name == v.Name() && p.info().ObjectOf(id) != v {
			only = false
		}
		return only
	})
	return only
}

// grownInside reports whether a slice is appended to and looked at, and nothing else: it does not matter which array it has, nor
// whether it is nil.
func (p *function) grownInside(v *types.Var) bool {
	if p.captured(v, p.decl.Body) {
		return false
	}
	grown := false
	for _, id := range p.uses(v) {
		switch up := p.parent(id).(type) {
		case *ast.AssignStmt:
			if len(up.Lhs) != 1 || up.Lhs[0] != id || len(up.Rhs) != 1 {
				return false
			}
			call := p.builtin(up.Rhs[0], "append")
			if call == nil || p.local(call.Args[0]) != v {
				return false
			}
		case *ast.CallExpr:
			i := slices.Index(up.Args, ast.Expr(id))
			switch {
			case p.builtin(up, "append") != nil && i == 0:
				grown = true
			case p.builtin(up, "append") != nil && up.Ellipsis.IsValid() && i == 1: // copied
			case p.builtin(up, "len") != nil, p.builtin(up, "cap") != nil:
			default:
				fn := p.callee(up)
				if fn == nil || i < 0 || !p.forgets(fn, i, 2) || fn.Pkg() != p.unit.Types {
					return false
				}
			}
		case *ast.IndexExpr:
			if up.X != id {
				return false
			}
			if u, ok := p.parent(up).(*ast.UnaryExpr); ok && u.Op == token.AND {
				return false
			}
		case *ast.RangeStmt:
			if up.X != id {
				return false
			}
		default:
			return false
		}
	}
	return grown
}

// smallList is about a list that is made once for each call: a few elements fit on the stack.
func (p *Pass) smallList(st *ast.DeclStmt, spec *ast.ValueSpec, v *types.Var, elem types.Type, c cost) {
	if p.literal(st) != nil || p.once(st) != often {
		return
	}
	size, _ := p.sizeOf(elem)
	n := int64(16)
	for n > 1 && n*size > 512 {
		n /= 2
	}
	if n < 4 || size == 0 {
		return
	}
	f := finding{
		title:  "short list grown on the heap",
		claim:  fmt.Sprintf("%s never leaves the function, but append does not know how long it will be, so each array that it makes is on the heap", v.Name()),
		advice: "begin with room for a few elements: an array of constant size that does not leave the function is on the stack, and only longer lists need the heap",
		risk:   "the stack of each call grows by the room",
	}
	f.fixes = p.fix(report.Mechanical, fmt.Sprintf("begin with room for %d on the stack", n), replace(st, fmt.Sprintf("%s := make(%s, 0, %d)", v.Name(), p.src(spec.Type), n)))
	p.report(st, c, f)
}
