package rules

import (
	"fmt"
	"go/ast"
	"go/constant"
	"go/parser"
	"go/token"
	"go/types"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/hone-perf/hone/internal/advise"
	"github.com/hone-perf/hone/internal/advise/facts/code"
	"github.com/hone-perf/hone/internal/advise/facts/cost"
	"github.com/hone-perf/hone/internal/advise/facts/edit"
	"github.com/hone-perf/hone/internal/advise/facts/kind"
	"github.com/hone-perf/hone/internal/report"
	"github.com/hone-perf/hone/internal/report/missing"
)

var nothingToEscape = &advise.Rule{
	Name: "nothing-to-escape", Rank: 1, PerCall: true,
	Doc: "a string is copied letter by letter, even when none of them is replaced",

	NoFix: missing.NotOnlyEscaped,
	Find: func(p *advise.Pass) {
		sig, ok := p.TypeOf(p.Decl.Name).(*types.Signature)
		if !ok || sig.Results().Len() != 1 || !types.Identical(sig.Results().At(0).Type(), types.Typ[types.String]) {
			return
		}
		for i, st := range p.Decl.Body.List {
			e := escaping(p.Func, st)
			if e == nil || i+2 != len(p.Decl.Body.List) || !returnsMade(p.Func, p.Decl.Body.List[i+1], st) || !onlyPrepares(p.Func, p.Decl.Body.List[:i], e.s) {
				continue
			}
			c := p.Total(func(c *cost.Chain) bool { return true })
			guard, what := fmt.Sprintf("!strings.ContainsAny(%s, %s)", e.s.Name(), strconv.Quote(e.set)), "has none of "+strconv.Quote(e.set)
			p.Need("strings")
			if e.set == "" {
				guard = fmt.Sprintf("!strings.ContainsFunc(%s, func(%s rune) bool { return %s })", e.s.Name(), e.letter, not(e.kept))
				what = "has only letters that are kept"
				if !p.Pkg.AtLeast(21) {
					guard = fmt.Sprintf("strings.IndexFunc(%s, func(%s rune) bool { return %s }) < 0", e.s.Name(), e.letter, not(e.kept))
				}
			}
			if e.runes {
				guard = fmt.Sprintf("utf8.ValidString(%s) && %s", e.s.Name(), guard)
				p.Need("unicode/utf8")
			}
			f := advise.Finding{
				Title:  "string copied where nothing is to be replaced",
				Claim:  fmt.Sprintf("%s copies %s letter by letter, also when it %s", p.Decl.Name.Name, e.s.Name(), what),
				Advice: fmt.Sprintf("return %s as it is when %s", e.s.Name(), guard),
				Risk:   "strings that have such letters are looked at twice",
			}
			if p.Worth(c) {
				f.Fixes = p.Fix(report.Mechanical, "return it as it is when there is nothing to replace", edit.Before(p.Decl.Body.List[0], fmt.Sprintf("if %s {\nreturn %s\n}\n", guard, e.s.Name())))
			}
			p.Report(st, c, f)
			return
		}
	},
}

// An escapeLoop is one that copies a string, and replaces some of its letters.
type escapeLoop struct {
	s     *types.Var
	set   string // what is replaced
	runes bool   // invalid UTF-8 is replaced, too

	letter, kept string // where there is no set: a variable, and the condition on which it is copied as it is
}

// escaping returns what a loop over a string does when it looks at each letter by a switch, whose default copies the letter.
func escaping(f *code.Func, st ast.Stmt) *escapeLoop {
	var e escapeLoop
	var isLetter func(ast.Expr) bool
	var body *ast.BlockStmt
	switch st := st.(type) {
	case *ast.RangeStmt:
		if e.s, body = f.Local(st.X), st.Body; e.s == nil || st.Value == nil || !types.Identical(e.s.Type(), types.Typ[types.String]) {
			return nil
		}
		v := f.Local(st.Value)
		isLetter = func(x ast.Expr) bool { return v != nil && f.Local(x) == v }
		e.runes = true
		if kept, ok := copiedIf(f, v, body.List); ok && kept != "" && len(kept) <= mostKept && v != nil && f.IsParam(e.s) && !leavesLoop(body) && !jumpsOut(body) {
			e.letter, e.kept = v.Name(), kept
			e.runes = !below(kept, v.Name())
		}
	case *ast.ForStmt:
		cond, ok := st.Cond.(*ast.BinaryExpr)
		inc, isInc := st.Post.(*ast.IncDecStmt)
		if !ok || !isInc || cond.Op != token.LSS || inc.Tok != token.INC || f.Builtin(cond.Y, "len") == nil {
			return nil
		}
		e.s, body = f.Local(cond.Y.(*ast.CallExpr).Args[0]), st.Body
		i := f.Local(cond.X)
		if e.s == nil || i == nil || f.Local(inc.X) != i || !types.Identical(e.s.Type(), types.Typ[types.String]) || !startsAtZero(f, st.Init, i) {
			return nil
		}
		isLetter = func(x ast.Expr) bool {
			at, ok := ast.Unparen(x).(*ast.IndexExpr)
			return ok && f.Local(at.X) == e.s && f.Local(at.Index) == i
		}
		if first, ok := body.List[0].(*ast.AssignStmt); ok && len(body.List) == 2 && len(first.Lhs) == 1 && isLetter(first.Rhs[0]) {
			v := f.Local(first.Lhs[0])
			isLetter = func(x ast.Expr) bool { return v != nil && f.Local(x) == v }
			body = &ast.BlockStmt{List: body.List[1:]}
		}
	default:
		return nil
	}
	general := func() *escapeLoop {
		if e.kept == "" {
			return nil
		}
		e.set = ""
		return &e
	}
	if !f.IsParam(e.s) || len(body.List) != 1 {
		return general()
	}
	sw, ok := body.List[0].(*ast.SwitchStmt)
	if !ok || sw.Init != nil || sw.Tag == nil || !isLetter(sw.Tag) {
		return general()
	}
	copied := false
	var set strings.Builder
	for _, cl := range sw.Body.List {
		clause := cl.(*ast.CaseClause)
		if clause.List == nil {
			copied = len(clause.Body) == 1 && copiesLetter(f, clause.Body[0], isLetter)
			continue
		}
		for _, x := range clause.List {
			v := f.Info().Types[x].Value
			if v == nil {
				return general()
			}
			n, ok := constant.Int64Val(constant.ToInt(v))
			if !ok || n <= 0 || n >= 0x80 {
				return general()
			}
			set.WriteByte(byte(n))
		}
	}
	e.set = set.String()
	if !copied || e.set == "" || leavesLoop(body) {
		return general()
	}
	e.kept = ""
	_, isRange := st.(*ast.RangeStmt)
	e.runes = isRange
	return &e
}

// copiedIf returns the condition on which statements write a letter as it is, and do nothing else: "" is always. It is false where they never do,
// or where that depends on more than the letter.
func copiedIf(f *code.Func, v *types.Var, list []ast.Stmt) (cond string, ok bool) {
	if len(list) == 0 {
		return "", false
	}
	isLetter := func(x ast.Expr) bool { return v != nil && f.Local(x) == v }
	rest := list[1:]
	branch := func(body []ast.Stmt) (string, bool) {
		if n := len(body); n > 0 {
			if b, isBranch := body[n-1].(*ast.BranchStmt); isBranch && b.Tok == token.CONTINUE && b.Label == nil {
				return copiedIf(f, v, body[:n-1])
			}
		}
		return copiedIf(f, v, slices.Concat(body, rest))
	}
	switch st := list[0].(type) {
	case *ast.IfStmt:
		if st.Init != nil || !aboutLetter(f, v, st.Cond) {
			return "", false
		}
		var other []ast.Stmt
		switch e := st.Else.(type) {
		case *ast.BlockStmt:
			other = e.List
		case *ast.IfStmt:
			other = []ast.Stmt{e}
		}
		return either(f.Src(st.Cond), branch, st.Body.List, other)
	case *ast.SwitchStmt:
		if st.Init != nil || st.Tag != nil && !isLetter(st.Tag) {
			return "", false
		}
		return switched(f, v, st, branch)
	}
	if len(rest) == 0 && copiesLetter(f, list[0], isLetter) {
		return "", true
	}
	return "", false
}

// switched is what copiedIf says of a switch over the letter, or over conditions.
func switched(f *code.Func, v *types.Var, st *ast.SwitchStmt, branch func([]ast.Stmt) (string, bool)) (string, bool) {
	var conds []string
	var bodies [][]ast.Stmt
	var last []ast.Stmt
	for _, cl := range st.Body.List {
		clause := cl.(*ast.CaseClause)
		for _, inner := range clause.Body {
			if b, isBranch := inner.(*ast.BranchStmt); isBranch && b.Tok != token.CONTINUE {
				return "", false
			}
		}
		if clause.List == nil {
			last = clause.Body
			continue
		}
		var any []string
		for _, x := range clause.List {
			if !aboutLetter(f, v, x) {
				return "", false
			}
			if st.Tag != nil {
				any = append(any, v.Name()+" == "+f.Src(x))
			} else {
				any = append(any, f.Src(x))
			}
		}
		conds, bodies = append(conds, strings.Join(any, " || ")), append(bodies, clause.Body)
	}
	cond, ok := branch(last)
	for i := len(conds) - 1; i >= 0; i-- {
		cond, ok = joined(conds[i])(func() (string, bool) { return branch(bodies[i]) }, func() (string, bool) { return cond, ok })
	}
	return cond, ok
}

func either(cond string, branch func([]ast.Stmt) (string, bool), yes, no []ast.Stmt) (string, bool) {
	return joined(cond)(func() (string, bool) { return branch(yes) }, func() (string, bool) { return branch(no) })
}

// joined returns on which condition one of two branches copies the letter.
func joined(cond string) func(yes, no func() (string, bool)) (string, bool) {
	return func(yes, no func() (string, bool)) (string, bool) {
		a, isA := yes()
		b, isB := no()
		switch {
		case isA && isB && a == "" && b == "":
			return "", true
		case isA && isB && a == "":
			return fmt.Sprintf("%s || (%s)", cond, b), true
		case isA && isB && b == "":
			return fmt.Sprintf("%s || (%s)", not(cond), a), true
		case isA && isB:
			return "", false
		case isA && a == "":
			return cond, true
		case isA:
			return fmt.Sprintf("(%s) && (%s)", cond, a), true
		case isB && b == "":
			return not(cond), true
		case isB:
			return fmt.Sprintf("%s && (%s)", not(cond), b), true
		}
		return "", false
	}
}

// not negates a condition, as people write it.
func not(cond string) string {
	x, err := parser.ParseExpr(cond)
	if err != nil {
		return "!(" + cond + ")"
	}
	return negated(x, func(e ast.Expr) string { return cond[e.Pos()-1 : e.End()-1] })
}

// otherwise returns the comparison that is true where op is false.
func otherwise(op token.Token) (token.Token, bool) {
	switch op {
	case token.EQL:
		return token.NEQ, true
	case token.NEQ:
		return token.EQL, true
	case token.LSS:
		return token.GEQ, true
	case token.GEQ:
		return token.LSS, true
	case token.GTR:
		return token.LEQ, true
	case token.LEQ:
		return token.GTR, true
	}
	return op, false
}

func negated(e ast.Expr, src func(ast.Expr) string) string {
	e = ast.Unparen(e)
	switch x := e.(type) {
	case *ast.BinaryExpr:
		switch x.Op {
		case token.LAND:
			return negated(x.X, src) + " || " + negated(x.Y, src)
		case token.LOR:
			list := []string{negated(x.X, src), negated(x.Y, src)}
			for i, side := range []ast.Expr{x.X, x.Y} {
				if b, ok := ast.Unparen(side).(*ast.BinaryExpr); ok && b.Op == token.LAND {
					list[i] = "(" + list[i] + ")" // it is a sum then
				}
			}
			return strings.Join(list, " && ")
		}
		if other, ok := otherwise(x.Op); ok {
			return src(x.X) + " " + other.String() + " " + src(x.Y)
		}
	case *ast.UnaryExpr:
		if x.Op == token.NOT {
			return src(ast.Unparen(x.X))
		}
	case *ast.CallExpr, *ast.Ident, *ast.SelectorExpr:
		return "!" + src(e)
	}
	return "!(" + src(e) + ")"
}

// below reports whether a condition lets a letter be no larger than some number, below the one that stands for what is no UTF-8.
func below(cond, letter string) bool {
	x, err := parser.ParseExpr(cond)
	if err != nil {
		return false
	}
	var is func(ast.Expr) bool
	is = func(e ast.Expr) bool {
		b, ok := ast.Unparen(e).(*ast.BinaryExpr)
		if !ok {
			return false
		}
		switch b.Op {
		case token.LAND:
			return is(b.X) || is(b.Y)
		case token.LOR:
			return is(b.X) && is(b.Y)
		case token.LSS, token.LEQ, token.EQL:
			id := code.AsIdent(b.X)
			text := cond[b.Y.Pos()-1 : b.Y.End()-1]
			switch y := b.Y.(type) {
			case *ast.BasicLit:
				v := constant.MakeFromLiteral(y.Value, y.Kind, 0)
				n, exact := constant.Int64Val(constant.ToInt(v))
				return id != nil && id.Name == letter && exact && n < utf8.RuneError
			}
			return id != nil && id.Name == letter && slices.Contains([]string{"utf8.RuneSelf", "unicode.MaxASCII", "unicode.MaxLatin1"}, text)
		}
		return false
	}
	return is(x)
}

// aboutLetter reports whether a condition depends on the letter alone: it compares it with constants, and asks package unicode.
func aboutLetter(f *code.Func, v *types.Var, e ast.Expr) bool {
	ok := true
	ast.Inspect(e, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.CallExpr:
			fn := f.Callee(n)
			ok = ok && fn != nil && fn.Pkg() != nil && slices.Contains([]string{"unicode", "unicode/utf8"}, fn.Pkg().Path()) && fn.Signature().Recv() == nil
		case *ast.Ident:
			switch o := f.Info().ObjectOf(n).(type) {
			case *types.Var:
				ok = ok && (o == v || o.Pkg() != nil && o.Pkg().Path() == "unicode")
			case *types.Const, *types.Func, *types.PkgName:
			default:
				ok = false
			}
		case *ast.IndexExpr, *ast.FuncLit, *ast.CompositeLit, *ast.StarExpr, *ast.TypeAssertExpr:
			ok = false
		}
		return ok
	})
	return ok
}

// jumpsOut reports whether a loop has a break of its own, or returns.
func jumpsOut(body *ast.BlockStmt) bool {
	found := false
	var walk func(n ast.Node, inner bool)
	walk = func(n ast.Node, inner bool) {
		ast.Inspect(n, func(m ast.Node) bool {
			switch m := m.(type) {
			case *ast.FuncLit:
				return false
			case *ast.ReturnStmt:
				found = true
			case *ast.BranchStmt:
				found = found || m.Tok == token.BREAK && !inner
			case *ast.ForStmt, *ast.RangeStmt, *ast.SelectStmt, *ast.SwitchStmt, *ast.TypeSwitchStmt:
				if m != n {
					walk(m, true)
					return false
				}
			}
			return !found
		})
	}
	walk(body, false)
	return found
}

// mostKept is how long a condition may be that somebody else is to read.
const mostKept = 70

func startsAtZero(f *code.Func, init ast.Stmt, i *types.Var) bool {
	st, ok := init.(*ast.AssignStmt)
	if !ok || len(st.Lhs) != 1 || f.Local(st.Lhs[0]) != i {
		return false
	}
	v := f.Info().Types[st.Rhs[0]].Value
	return v != nil && v.ExactString() == "0"
}

// copiesLetter reports whether a statement writes the letter, and nothing else.
func copiesLetter(f *code.Func, st ast.Stmt, isLetter func(ast.Expr) bool) bool {
	switch st := st.(type) {
	case *ast.ExprStmt:
		call := f.Calls(st.X, "(*strings.Builder).WriteByte", "(*strings.Builder).WriteRune", "(*bytes.Buffer).WriteByte", "(*bytes.Buffer).WriteRune")
		return call != nil && isLetter(call.Args[0])
	case *ast.AssignStmt:
		if len(st.Lhs) != 1 || len(st.Rhs) != 1 {
			return false
		}
		if call := f.Builtin(st.Rhs[0], "append"); call != nil {
			return len(call.Args) == 2 && !call.Ellipsis.IsValid() && isLetter(call.Args[1]) && f.Local(call.Args[0]) != nil && f.Local(call.Args[0]) == f.Local(st.Lhs[0])
		}
		call := f.Calls(st.Rhs[0], "unicode/utf8.AppendRune")
		return call != nil && isLetter(call.Args[1]) && f.Local(call.Args[0]) != nil && f.Local(call.Args[0]) == f.Local(st.Lhs[0])
	}
	return false
}

// leavesLoop reports whether the loop may end, or skip letters, before the string does.
func leavesLoop(body *ast.BlockStmt) (found bool) {
	ast.Inspect(body, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.BranchStmt:
			found = found || n.Label != nil || n.Tok == token.GOTO
		case *ast.FuncLit:
			return false
		}
		return !found
	})
	return found
}

// returnsMade reports whether a statement returns what a buffer of the function has, as a string: the only one that a loop writes to.
func returnsMade(f *code.Func, st, loop ast.Stmt) bool {
	ret, ok := st.(*ast.ReturnStmt)
	if !ok || len(ret.Results) != 1 {
		return false
	}
	var b *types.Var
	e := ast.Unparen(ret.Results[0])
	if arg, to := f.Conversion(e); arg != nil {
		if !types.Identical(to, types.Typ[types.String]) || kind.IsString(f.TypeOf(arg)) {
			return false
		}
		b = f.Local(arg)
	} else if call := f.Calls(e, "(*strings.Builder).String", "(*bytes.Buffer).String"); call != nil {
		b = f.Local(call.Fun.(*ast.SelectorExpr).X)
	}
	if b == nil {
		return false
	}
	only := true
	ast.Inspect(loop, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.SelectorExpr:
			if v := f.Local(n.X); v != nil && strings.HasPrefix(n.Sel.Name, "Write") {
				only = only && v == b
			}
		case *ast.AssignStmt:
			if v := f.Local(n.Lhs[0]); v != nil && f.Builtin(n.Rhs[0], "append") != nil {
				only = only && v == b
			}
		}
		return only
	})
	return only
}

// onlyPrepares reports whether statements only make the empty buffer: nothing is in it before the loop, and s is as it was.
func onlyPrepares(f *code.Func, list []ast.Stmt, s *types.Var) bool {
	return !slices.ContainsFunc(list, func(st ast.Stmt) bool {
		switch st := st.(type) {
		case *ast.DeclStmt:
			decl := st.Decl.(*ast.GenDecl)
			return decl.Tok != token.VAR || slices.ContainsFunc(decl.Specs, func(spec ast.Spec) bool { return len(spec.(*ast.ValueSpec).Values) > 0 })
		case *ast.ExprStmt:
			return f.Calls(st.X, "(*strings.Builder).Grow", "(*bytes.Buffer).Grow") == nil
		case *ast.AssignStmt:
			if lit, isLit := st.Rhs[0].(*ast.CompositeLit); isLit && st.Tok == token.DEFINE && len(st.Rhs) == 1 {
				return len(lit.Elts) > 0
			}
			call := f.Builtin(st.Rhs[0], "make")
			return st.Tok != token.DEFINE || len(st.Rhs) != 1 || call == nil || len(call.Args) < 2 || !kind.Refers(f.TypeOf(call)) || kind.IsMap(f.TypeOf(call)) || f.Info().Types[call.Args[1]].Value == nil || f.Info().Types[call.Args[1]].Value.ExactString() != "0"
		}
		return true
	})
}
