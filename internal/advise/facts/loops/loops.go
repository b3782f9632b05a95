// Package loops knows how often loops go round, and how their rounds may end.
package loops

import (
	"fmt"
	"go/ast"
	"go/constant"
	"go/token"
	"go/types"
	"strconv"
	"strings"

	"github.com/hone-perf/hone/internal/advise/facts/code"
	"github.com/hone-perf/hone/internal/advise/facts/flow"
	"github.com/hone-perf/hone/internal/advise/facts/kind"
)

// Leaves reports whether rounds of a loop may end before their end, other than by returning.
func Leaves(f *code.Func, body *ast.BlockStmt) bool {
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

// BodyOf returns the body of a loop, or nil for other statements.
func BodyOf(st ast.Stmt) *ast.BlockStmt {
	switch l := st.(type) {
	case *ast.RangeStmt:
		return l.Body
	case *ast.ForStmt:
		return l.Body
	}
	return nil
}

// Returns reports whether a loop may be left by returning.
func Returns(body *ast.BlockStmt) bool {
	found := false
	ast.Inspect(body, func(n ast.Node) bool {
		switch n.(type) {
		case *ast.FuncLit:
			return false
		case *ast.ReturnStmt:
			found = true
		}
		return !found
	})
	return found
}

// Rounds returns how many rounds a loop has, as an expression that can be evaluated before it.
func Rounds(f *code.Func, loop *ast.RangeStmt) (string, bool) {
	if !flow.Simple(f, loop.X) {
		return "", false
	}
	t := f.TypeOf(loop.X)
	if kind.IsBasic(t, types.IsInteger) {
		if f.IsConst(loop.X) {
			return f.Src(loop.X), true
		}
		if b, ok := types.Unalias(t).(*types.Basic); ok && b.Kind() == types.Int {
			return "max(0, " + f.Src(loop.X) + ")", true
		}
		return "", false
	}
	switch u := t.Underlying().(type) {
	case *types.Slice, *types.Array, *types.Map:
		return "len(" + f.Src(loop.X) + ")", true
	case *types.Pointer:
		_, isArray := u.Elem().Underlying().(*types.Array)
		return "len(" + f.Src(loop.X) + ")", isArray
	}
	return "", false
}

// AtMost returns how many rounds a loop has at most, as an expression that can be evaluated right before it, and whether it has that many
// unless it is left. It can be evaluated earlier, or later, as long as what is Over says so.
func AtMost(f *code.Func, loop ast.Stmt) (n string, exact, ok bool) {
	switch l := loop.(type) {
	case *ast.RangeStmt:
		if n, ok := Rounds(f, l); ok {
			return n, true, true
		}
		isText := kind.IsString(f.TypeOf(l.X))
		if isText && flow.Simple(f, l.X) {
			return "len(" + f.Src(l.X) + ")", false, true
		}
		if index, ok := ast.Unparen(l.X).(*ast.IndexExpr); ok && (isText || hasLen(f.TypeOf(l.X))) && !kind.IsTypeParam(f.TypeOf(index.X)) && flow.Simple(f, index.X) && flow.Simple(f, index.Index) {
			return "len(" + f.Src(l.X) + ")", !isText, true
		}
	case *ast.ForStmt:
		if c := counterOf(f, l); c != nil {
			n, ok := c.rounds(f)
			return n, true, ok
		}
	}
	return "", false, false
}

func hasLen(t types.Type) bool {
	switch t.Underlying().(type) {
	case *types.Slice, *types.Map:
		return true
	}
	return false
}

// IsLength reports whether a number of rounds is made of the length of something that is there, and not of a number, which may be any.
func IsLength(n string) bool {
	return strings.HasPrefix(strings.TrimLeft(n, "("), "len(") || strings.HasSuffix(n, "()")
}

// Times is so many times a number of rounds.
func Times(k int, n string) string {
	if k == 1 {
		return n
	}
	if strings.Contains(n, "/") {
		n = "(" + n + ")"
	}
	return strconv.Itoa(k) + "*" + n
}

// Over returns what the number of rounds depends on: what is ranged over, or what it is the length of. It is nil where that is not all.
func Over(f *code.Func, loop ast.Stmt) ast.Expr {
	switch l := loop.(type) {
	case *ast.RangeStmt:
		return l.X
	case *ast.ForStmt:
		if c := counterOf(f, l); c != nil && f.IsConst(c.from) {
			if call, ok := ast.Unparen(c.to).(*ast.CallExpr); ok && f.Builtin(call, "len") != nil {
				return call.Args[0]
			}
		}
	}
	return nil
}

// A counter is what a loop counts with, from one number to the one before another, or where it counts down, from there: for i := a; i < b; i += step.
type counter struct {
	from, to ast.Expr
	step     int64
	more     int64 // is added to the difference between them
}

// counterOf returns the counter of a loop, if that is all that says how often it goes round.
func counterOf(f *code.Func, l *ast.ForStmt) *counter {
	init, ok := l.Init.(*ast.AssignStmt)
	if !ok || init.Tok != token.DEFINE || len(init.Lhs) != 1 || len(init.Rhs) != 1 {
		return nil
	}
	cond, isCond := l.Cond.(*ast.BinaryExpr)
	i := f.Local(init.Lhs[0])
	if !isCond || i == nil || !types.Identical(i.Type(), types.Typ[types.Int]) {
		return nil
	}
	c := &counter{from: init.Rhs[0], to: cond.Y}
	up := false
	switch post := l.Post.(type) {
	case *ast.IncDecStmt:
		up, c.step = post.Tok == token.INC, 1
		ok = f.Local(post.X) == i
	case *ast.AssignStmt:
		up = post.Tok == token.ADD_ASSIGN
		ok = len(post.Lhs) == 1 && (up || post.Tok == token.SUB_ASSIGN) && f.Local(post.Lhs[0]) == i
		if ok {
			c.step, ok = number(f, post.Rhs[0])
		}
	default:
		return nil
	}
	if !ok || c.step < 1 {
		return nil
	}
	x := ast.Unparen(cond.X)
	if sum, isSum := x.(*ast.BinaryExpr); isSum && sum.Op == token.ADD && up { // i+1 < b
		n, isNumber := number(f, sum.Y)
		if !isNumber || n < 0 {
			return nil
		}
		x, c.more = sum.X, -n
	}
	if f.Local(x) != i {
		return nil
	}
	switch {
	case up && cond.Op == token.LSS:
	case up && cond.Op == token.LEQ:
		c.more++
	case !up && cond.Op == token.GTR:
		c.from, c.to = c.to, c.from
	case !up && cond.Op == token.GEQ:
		c.from, c.to = c.to, c.from
		c.more++
	default:
		return nil
	}
	vars := map[types.Object]bool{i: true}
	for _, e := range []ast.Expr{c.from, c.to} {
		if !flow.Simple(f, e) && !countsType(f, e) || f.MentionsVar(e, i) {
			return nil
		}
		ast.Inspect(e, func(n ast.Node) bool {
			if id, ok := n.(*ast.Ident); ok {
				if v, ok := f.Info().ObjectOf(id).(*types.Var); ok {
					vars[v] = true
				}
			}
			return true
		})
	}
	if flow.Assigns(f, l.Body, func(o types.Object) bool { return vars[o] }) {
		return nil
	}
	return c
}

// number returns the value of a constant that is a small number.
func number(f *code.Func, e ast.Expr) (int64, bool) {
	v := f.Info().Types[e].Value
	if v == nil || v.Kind() != constant.Int {
		return 0, false
	}
	n, ok := constant.Int64Val(v)
	return n, ok && n > -1<<20 && n < 1<<20
}

// countsType reports whether a call asks a type how many fields, methods or parameters it has: the answer is always the same.
func countsType(f *code.Func, e ast.Expr) bool {
	call := f.Calls(ast.Unparen(e), "(reflect.Type).NumField", "(reflect.Type).NumMethod", "(reflect.Type).NumIn", "(reflect.Type).NumOut",
		"(reflect.Value).NumField", "(reflect.Value).NumMethod")
	if call == nil {
		return false
	}
	sel, ok := call.Fun.(*ast.SelectorExpr)
	return ok && f.Local(sel.X) != nil
}

// isCount reports whether an expression is a variable that is only ever the length of something, so that it is no number below 0.
func isCount(f *code.Func, e ast.Expr) bool {
	v := f.Local(ast.Unparen(e))
	if v == nil {
		return false
	}
	decl, value := f.Declared(v)
	st, ok := decl.(*ast.AssignStmt)
	if !ok || value == nil || !flow.OnlyRead(f, v, st) {
		return false
	}
	value = ast.Unparen(value)
	return f.Builtin(value, "len") != nil || f.Builtin(value, "cap") != nil || countsType(f, value) ||
		f.Calls(value, "(reflect.Value).Len", "(*bytes.Buffer).Len", "(*strings.Builder).Len", "unicode/utf8.RuneCountInString", "unicode/utf8.RuneCount", "strings.Count", "bytes.Count") != nil
}

// NeedsMax reports whether only a version of Go that has max can say how many rounds a loop has: the number may be below 0.
func NeedsMax(f *code.Func, loop ast.Stmt) bool {
	l, ok := loop.(*ast.ForStmt)
	return ok && !f.Pkg.AtLeast(hasMax) && counterOf(f, l) != nil
}

// hasMax is the minor version of Go that has max.
const hasMax = 21

// rounds returns how many rounds there are.
func (c *counter) rounds(f *code.Func) (string, bool) {
	to, more := c.to, c.more
	if less, ok := ast.Unparen(to).(*ast.BinaryExpr); ok && more > 0 && less.Op == token.SUB && f.Src(less.Y) == "1" {
		to, more = less.X, more-1
	}
	from, isNumber := number(f, c.from)
	if isNumber && from >= 0 && from <= c.step {
		// What is left of the length of nothing is more than -1 then.
		switch rest := more - from + c.step - 1; {
		case rest <= -c.step:
		case f.Builtin(ast.Unparen(to), "len") != nil, countsType(f, to), isCount(f, to), f.IsConst(to) && rest == 0:
			return over(f.Src(to), rest, c.step), true
		}
	}
	if !f.Pkg.AtLeast(hasMax) {
		return "", false
	}
	n := f.Src(to)
	if more > 0 {
		n += "+" + strconv.FormatInt(more, 10)
	} else if more < 0 {
		n += strconv.FormatInt(more, 10)
	}
	if !isNumber || from != 0 {
		if _, sum := ast.Unparen(c.from).(*ast.BinaryExpr); sum {
			n += "-(" + f.Src(c.from) + ")"
		} else {
			n += "-" + f.Src(c.from)
		}
	}
	return "max(0, " + over(n, c.step-1, c.step) + ")", true
}

// over is n+rest, divided by a step.
func over(n string, rest, step int64) string {
	if rest != 0 {
		n = fmt.Sprintf("%s%+d", n, rest)
	}
	if step == 1 {
		return n
	}
	if strings.ContainsAny(n, "+-|^") {
		n = "(" + n + ")"
	}
	return fmt.Sprintf("%s/%d", n, step)
}
