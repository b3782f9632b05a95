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
	"github.com/hone-perf/hone/internal/advise/facts/cost"
	"github.com/hone-perf/hone/internal/advise/facts/edit"
	"github.com/hone-perf/hone/internal/advise/facts/flow"
	"github.com/hone-perf/hone/internal/advise/facts/kind"
	"github.com/hone-perf/hone/internal/advise/facts/once"
	"github.com/hone-perf/hone/internal/advise/facts/owner"
	"github.com/hone-perf/hone/internal/advise/facts/text"
	"github.com/hone-perf/hone/internal/report"
	"github.com/hone-perf/hone/internal/report/missing"
)

var scratchPerCall = &advise.Rule{
	Name: "scratch-per-call", Rank: 2, PerCall: true,
	Doc: "slices or maps that are only needed inside a function are allocated on every call",

	NoFix: missing.ReliesOnNew,
	Find: func(p *advise.Pass) {
		var made []ast.Node
		var names []string
		var sum, most cost.Cost
		var where ast.Node
		lines := map[int]bool{}
		advise.Each(p, func(st *ast.AssignStmt) {
			if st.Tok != token.DEFINE || len(st.Rhs) != 1 || len(st.Lhs) != 1 || p.Loop(st) != nil || p.Literal(st) != nil {
				return
			}
			call := p.Builtin(st.Rhs[0], "make")
			v := p.Local(st.Lhs[0])
			if call == nil || v == nil {
				return
			}
			switch v.Type().Underlying().(type) {
			case *types.Slice:
				if len(call.Args) < 2 || p.IsConst(call.Args[len(call.Args)-1]) {
					return
				}
			case *types.Chan:
				return
			}
			c := p.Cost(st, cost.Allocates("makeslice", "makemap", "newobject"))
			if c == (cost.Cost{}) || lines[p.Line(st.Pos())] || !owner.OwnList(p.Func, v) {
				return
			}
			lines[p.Line(st.Pos())] = true
			made, names = append(made, st), append(names, v.Name())
			sum.Add(&c)
			if where == nil || p.Costs.Weight(&c) > p.Costs.Weight(&most) {
				where, most = st, c
			}
		})
		if where == nil {
			return
		}
		f := advise.Finding{
			Title:  "scratch slices or maps allocated on every call",
			Claim:  fmt.Sprintf("%s: allocated on each call of %s, and garbage when it returns", strings.Join(names, ", "), p.Decl.Name.Name),
			Advice: "keep them in a struct of the caller, or in a sync.Pool, start each call with [:0] or clear, and grow them only when they are too small",
			Risk:   riskOfReuse,
			Also:   made,
		}
		if p.Worth(sum) {
			onStack, pooled := shortOnStack(p, made), pooledScratch(p, where.(*ast.AssignStmt))
			f.Fixes = append(onStack, pooled...)
			switch {
			case onStack == nil:
			case pooled == nil:
				f.Risk = riskOnStack
			default:
				f.Risk = riskOnStack + "; from a pool: " + riskOfReuse
			}
		}
		if len(f.Fixes) == 0 {
			p.No(missing.NamesRelyOnNew, strings.Join(names, ", "))
		}
		p.Report(where, sum, f)
	},
}

// What can go wrong with scratch memory that is used again, and with short lists on the stack: where a list is longer than its room there, append
// makes an array of twice the room.
const (
	riskOfReuse = "old content has to be cleared; concurrent calls need one each; the largest call decides how much memory stays"
	riskOnStack = "a slice that does not fit on the stack may take up to twice the memory that it needs, since append rounds up; each call clears the room there"
)

// stackRoom is how many bytes of a list a function may keep on its stack. They are set to zero in each call.
const stackRoom = 256

// shortOnStack is a fix that has short lists on the stack: make with a constant capacity needs no heap where the slice stays inside.
func shortOnStack(p *advise.Pass, made []ast.Node) []report.Fix {
	var edits []edit.Edit
	grade := report.Mechanical
	for _, n := range made {
		st := n.(*ast.AssignStmt)
		call := st.Rhs[0].(*ast.CallExpr)
		v := p.Local(st.Lhs[0])
		slice, ok := v.Type().Underlying().(*types.Slice)
		if !ok || len(call.Args) != 2 || !flow.Simple(p.Func, call.Args[1]) || !kind.IsBasic(p.TypeOf(call.Args[1]), types.IsInteger) || p.Statement(st) != st || measured(p.Func, v) {
			continue
		}
		if cut(p.Func, v) {
			grade = report.Ownership // what is behind its length can be seen
		}
		size, _ := p.SizeOf(slice.Elem())
		c := p.Cost(st, cost.Allocates("makeslice", "newobject"))
		if size <= 0 || stackRoom/size < 4 || c[cost.ObjectsMade] == 0 || c[cost.BytesMade]/c[cost.ObjectsMade] > stackRoom {
			continue // those that were made are longer
		}
		// The compiler makes no list of its own for what is appended here.
		t := p.Src(call.Args[0])
		if copied, from := copiedNext(p, st, v, call.Args[1]); copied != nil {
			comment := "// Of constant capacity, so that a short one is on the stack.\n"
			if own := strings.TrimSpace(edit.Comment(p.Func, copied)); own != "" {
				comment = own + "\n" + comment
			}
			edits = append(edits, edit.Before(st, comment),
				edit.Replace(call, fmt.Sprintf("append(make(%s, 0, %d), %s...)", t, roomOnStack(size), p.Src(from))), edit.New(copied.Pos(), edit.NextLine(p.Func, copied), ""))
			continue
		}
		edits = append(edits, edit.Before(st, "// Of constant capacity, so that a short one is on the stack.\n"),
			edit.Replace(call, fmt.Sprintf("append(make(%s, 0, %d), make(%s, %s)...)", t, roomOnStack(size), t, p.Src(call.Args[1]))))
	}
	if len(edits) == 0 {
		return nil
	}
	return p.Fix(grade, "keep short ones on the stack", edits...)
}

// copiedNext returns the statement right behind one that declares a list, where all that it does is to copy another list of that length into it,
// and that list.
func copiedNext(p *advise.Pass, st ast.Stmt, v *types.Var, length ast.Expr) (copied ast.Stmt, from ast.Expr) {
	block, ok := p.Parent(st).(*ast.BlockStmt)
	size := p.Builtin(ast.Unparen(length), "len")
	if !ok || size == nil {
		return nil, nil
	}
	i := slices.Index(block.List, st)
	if i < 0 || i+1 == len(block.List) {
		return nil, nil
	}
	next, ok := block.List[i+1].(*ast.ExprStmt)
	if !ok {
		return nil, nil
	}
	call := p.Builtin(next.X, "copy")
	if call == nil || p.Local(call.Args[0]) != v || !samePath(p.Func, call.Args[1], size.Args[0]) || p.MentionsVar(call.Args[1], v) {
		return nil, nil
	}
	if _, isSlice := p.TypeOf(call.Args[1]).Underlying().(*types.Slice); !isSlice {
		return nil, nil
	}
	return next, call.Args[1]
}

// startOnStack is a fix that has the first elements of a slice on the stack that begins with none and is appended to, for which appending costs
// so much. Where it gets longer, it grows as it did before.
func startOnStack(p *advise.Pass, s *types.Var, c cost.Cost) []report.Fix {
	decl, value := p.Declared(s)
	if decl == nil || p.Statement(decl) != decl || p.Loop(decl) != nil || p.Literal(decl) != nil || p.Once(decl) != once.Often {
		return nil
	}
	elem, _, ok := emptyDeclaration(p, s, decl, value)
	if !ok || c[cost.ObjectsMade] == 0 || c[cost.BytesMade]/c[cost.ObjectsMade] > stackRoom {
		return nil // most arrays are larger than what fits there
	}
	size, _ := p.SizeOf(s.Type().Underlying().(*types.Slice).Elem())
	if size <= 0 || stackRoom/size < 4 || !owner.UsedPlainly(p.Func, s) || jumps(p.Func) { // the compiler takes code that may run again for a loop, whose variables may outlive a round
		return nil
	}
	return p.Fix(report.Mechanical, "keep short ones on the stack", edit.Replace(decl, fmt.Sprintf("// Of constant capacity, so that a short one is on the stack.\n%s := make([]%s, 0, %d)", s.Name(), elem, roomOnStack(size))))
}

// roomOnStack returns for how many elements of a size there is room on the stack, as a power of two.
func roomOnStack(size int64) int64 {
	room := int64(1)
	for room*2 <= min(stackRoom/size, 64) {
		room *= 2
	}
	return room
}

// leastPooled is how many bytes a list or map takes on average from which on a pool may be cheaper than the allocator.
const leastPooled = 128

// pooledScratch is a fix that takes a list or map that stays inside the function from a pool.
func pooledScratch(p *advise.Pass, st *ast.AssignStmt) []report.Fix {
	call := st.Rhs[0].(*ast.CallExpr)
	v := p.Local(st.Lhs[0])
	c := p.Cost(st, cost.Allocates("makeslice", "makemap", "newobject"))
	if !p.Pkg.AtLeast(21) || p.Statement(st) != st || c[cost.ObjectsMade] > 0 && c[cost.BytesMade]/c[cost.ObjectsMade] < leastPooled {
		return nil
	}
	t := p.Src(call.Args[0])
	base := text.LowerFirst(v.Name()) + "Pool"
	comment := "// %s has what calls of " + p.Decl.Name.Name + " do not use any more."
	if kind.IsMap(v.Type()) {
		if !flow.OnlyRead(p.Func, v, st) {
			return nil
		}
		pool, edits := edit.DeclareShared(p.Func, base, comment, "var %s = sync.Pool{New: func() "+p.Pkg.Any()+" { return make("+t+") }}")
		p.Need("sync")
		return p.Fix(report.Ownership, "take it from a pool", append(edits, edit.Replace(st, fmt.Sprintf("%[1]s := %[2]s.Get().(%[3]s)\ndefer %[2]s.Put(%[1]s)\ndefer clear(%[1]s)", v.Name(), pool, t)))...)
	}
	size := call.Args[len(call.Args)-1]
	if !flow.Simple(p.Func, size) || !types.Identical(types.Default(p.TypeOf(size)), types.Typ[types.Int]) || capacityMatters(p.Func, v, len(call.Args) == 3) {
		return nil
	}
	if len(call.Args) == 3 && p.Src(call.Args[1]) != "0" {
		return nil
	}
	pool, edits := edit.DeclareShared(p.Func, base, comment, "var %s = sync.Pool{New: func() "+p.Pkg.Any()+" { return new("+t+") }}")
	p.Need("sync", "slices")
	n := p.Src(size)
	buf := p.LocalName(v.Name() + "Buf")
	lines := []string{
		fmt.Sprintf("%s := %s.Get().(*%s)", buf, pool, t),
		fmt.Sprintf("defer %s.Put(%s)", pool, buf),
	}
	if len(call.Args) == 3 {
		lines = append(lines, fmt.Sprintf("*%[1]s = slices.Grow((*%[1]s)[:0], %[2]s)", buf, n))
	} else {
		lines = append(lines, fmt.Sprintf("*%[1]s = slices.Grow((*%[1]s)[:0], %[2]s)[:%[2]s]", buf, n), fmt.Sprintf("clear(*%s)", buf))
	}
	lines = append(lines, fmt.Sprintf("%s := *%s", v.Name(), buf))
	fixes := p.Fix(report.Ownership, "take it from a pool", append(edits, edit.Replace(st, strings.Join(lines, "\n")))...)
	if p.Builtin(ast.Unparen(size), "len") == nil && !p.IsConst(size) {
		for i := range fixes {
			fixes[i].Risk = "where " + n + " is negative, the panic has another text"
		}
	}
	return fixes
}

// capacityMatters reports whether the function asks for the capacity of a slice, or makes what is behind the length of an empty one visible.
func capacityMatters(f *code.Func, v *types.Var, empty bool) bool {
	return slices.ContainsFunc(f.Uses(v), func(id *ast.Ident) bool {
		switch up := f.Parent(id).(type) {
		case *ast.CallExpr:
			return f.Builtin(up, "cap") != nil
		case *ast.SliceExpr:
			return up.X == id && (up.Slice3 || empty && up.High != nil && f.Src(up.High) != "0" && !strings.HasPrefix(f.Src(up.High), "len("+v.Name()+")-"))
		}
		return false
	})
}

// measured reports whether it matters what capacity a slice has.
func measured(f *code.Func, v *types.Var) bool {
	return slices.ContainsFunc(f.Uses(v), func(id *ast.Ident) bool {
		switch up := f.Parent(id).(type) {
		case *ast.CallExpr:
			return f.Builtin(up, "cap") != nil || f.Builtin(up, "append") != nil
		case *ast.SliceExpr:
			st, ok := f.Parent(up).(*ast.AssignStmt)
			return up.Slice3 || up.X != ast.Expr(id) || !ok || st.Tok != token.DEFINE // what is behind its length may be appended to
		}
		return false
	})
}

// cut reports whether parts of a slice are taken.
func cut(f *code.Func, v *types.Var) bool {
	return slices.ContainsFunc(f.Uses(v), func(id *ast.Ident) bool { _, ok := f.Parent(id).(*ast.SliceExpr); return ok })
}
