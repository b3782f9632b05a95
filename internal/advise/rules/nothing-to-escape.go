package rules

import (
	"fmt"
	"go/ast"
	"go/constant"
	"go/token"
	"go/types"
	"slices"
	"strconv"
	"strings"

	"github.com/hone-perf/hone/internal/advise"
	"github.com/hone-perf/hone/internal/advise/facts/code"
	"github.com/hone-perf/hone/internal/advise/facts/cost"
	"github.com/hone-perf/hone/internal/advise/facts/edit"
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
			if e == nil || i+2 != len(p.Decl.Body.List) || !returnsMade(p.Func, p.Decl.Body.List[i+1]) || !onlyPrepares(p.Func, p.Decl.Body.List[:i], e.s) {
				continue
			}
			c := p.Total(func(c *cost.Chain) bool { return true })
			guard := fmt.Sprintf("!strings.ContainsAny(%s, %s)", e.s.Name(), strconv.Quote(e.set))
			p.Need("strings")
			if e.runes {
				guard = fmt.Sprintf("utf8.ValidString(%s) && %s", e.s.Name(), guard)
				p.Need("unicode/utf8")
			}
			f := advise.Finding{
				Title:  "string copied where nothing is to be replaced",
				Claim:  fmt.Sprintf("%s copies %s letter by letter, also when it has none of %s", p.Decl.Name.Name, e.s.Name(), strconv.Quote(e.set)),
				Advice: fmt.Sprintf("return %s as it is when %s", e.s.Name(), guard),
				Risk:   "texts that have such letters are looked at twice",
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
	if !f.IsParam(e.s) || len(body.List) != 1 {
		return nil
	}
	sw, ok := body.List[0].(*ast.SwitchStmt)
	if !ok || sw.Init != nil || sw.Tag == nil || !isLetter(sw.Tag) {
		return nil
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
				return nil
			}
			n, ok := constant.Int64Val(constant.ToInt(v))
			if !ok || n <= 0 || n >= 0x80 {
				return nil
			}
			set.WriteByte(byte(n))
		}
	}
	e.set = set.String()
	if !copied || e.set == "" || leavesLoop(body) {
		return nil
	}
	return &e
}

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

// returnsMade reports whether a statement returns what a buffer of the function has, as a string.
func returnsMade(f *code.Func, st ast.Stmt) bool {
	ret, ok := st.(*ast.ReturnStmt)
	if !ok || len(ret.Results) != 1 {
		return false
	}
	e := ast.Unparen(ret.Results[0])
	if b := f.StringOf(e); b != nil {
		return f.Local(b) != nil
	}
	call := f.Calls(e, "(*strings.Builder).String", "(*bytes.Buffer).String")
	return call != nil && f.Local(call.Fun.(*ast.SelectorExpr).X) != nil
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
			call := f.Builtin(st.Rhs[0], "make")
			return st.Tok != token.DEFINE || len(st.Rhs) != 1 || call == nil || len(call.Args) != 3 || f.Info().Types[call.Args[1]].Value == nil || f.Info().Types[call.Args[1]].Value.ExactString() != "0"
		}
		return true
	})
}
