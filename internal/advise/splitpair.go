package advise

import (
	"fmt"
	"go/ast"
	"go/constant"
	"go/token"
	"go/types"
	"slices"

	"github.com/hone-perf/hone/internal/report"
)

// lengths are those that a list of parts may have: one, two, or more.
type lengths [3]bool

func (a lengths) and(b lengths) lengths { return lengths{a[0] && b[0], a[1] && b[1], a[2] && b[2]} }

func (a lengths) not() lengths { return lengths{!a[0], !a[1], !a[2]} }

// A pair is a text that is split, and what is done with the parts: they are counted, and the first two are looked at.
type pair struct {
	p    *Pass
	v    *types.Var
	all  lengths
	decl *ast.AssignStmt
}

// splitPair is about parts := strings.Split(s, sep), or SplitN, where only the first two parts are looked at, and only where there are
// no more than those.
func (p *Pass) splitPair(call *ast.CallExpr) {
	st, ok := p.parent(call).(*ast.AssignStmt)
	if !ok || st.Tok != token.DEFINE || len(st.Lhs) != 1 || p.statement(st) != st {
		return
	}
	name := p.callee(call).Name()
	w := pair{p: p, v: p.local(st.Lhs[0]), all: lengths{true, true, true}, decl: st}
	if name == "SplitN" {
		if n := p.info().Types[call.Args[2]].Value; n == nil || n.ExactString() != "2" {
			return
		}
		w.all[2] = false
	}
	if w.v == nil || p.captured(w.v, p.decl.Body) {
		return
	}
	sep, known := p.text(call.Args[1])
	known = known && sep != ""
	var edits []edit
	before, after, found := p.localName("before"), p.localName("after"), p.localName("found")
	used := map[string]bool{}
	sure := known
	for _, id := range p.uses(w.v) {
		switch up := p.parent(id).(type) {
		case *ast.CallExpr:
			cmp, ok := p.parent(up).(*ast.BinaryExpr)
			if p.builtin(up, "len") == nil || !ok {
				return
			}
			is, ok := w.counted(cmp)
			if !ok {
				return
			}
			text := map[lengths]string{
				{false, true, true}: found, {true, false, false}: "!" + found,
				{false, true, false}: "(" + found + " && !more)", {true, false, true}: "(!" + found + " || more)",
				{false, false, true}: "(" + found + " && more)", {true, true, false}: "(!" + found + " || !more)",
			}[is]
			if !w.all[2] { // there is no third part
				text = map[bool]string{true: found, false: "!" + found}[is[1]]
				if is[0] == is[1] {
					return
				}
			}
			if text == "" {
				return
			}
			used[found] = true
			if w.all[2] && is[1] != is[2] {
				used[after] = true
				contains := fmt.Sprintf("%s.Contains(%s, %s)", p.src(call.Fun.(*ast.SelectorExpr).X), after, p.src(call.Args[1]))
				text = replaceWord(text, "more", contains)
			}
			edits = append(edits, replace(cmp, text))
		case *ast.IndexExpr:
			v := p.info().Types[up.Index].Value
			if up.X != id || v == nil || v.Kind() != constant.Int {
				return
			}
			if u, ok := p.parent(up).(*ast.UnaryExpr); ok && u.Op == token.AND {
				return
			}
			if as, ok := p.parent(up).(*ast.AssignStmt); ok && slices.Contains(as.Lhs, ast.Expr(up)) {
				return
			}
			switch v.ExactString() {
			case "0":
				used[before] = true
				edits = append(edits, replace(up, before))
			case "1":
				used[after] = true
				edits = append(edits, replace(up, after))
				if w.at(up) != (lengths{false, true, false}) {
					sure = false // it panics now, or there are more parts
				}
			default:
				return
			}
		default:
			return
		}
	}
	if len(edits) == 0 {
		return
	}
	f := finding{
		title:  "text split for two parts of it",
		claim:  fmt.Sprintf("strings.%s makes a slice for the parts, of which only the first two are looked at", name),
		advice: "strings.Cut finds both without a slice",
		callee: "strings." + name, risk: "none",
	}
	or := func(name string) string {
		if used[name] {
			return name
		}
		return "_"
	}
	c := p.cost(call, below("strings."+name))
	switch {
	case !p.worth(c):
	case sure:
		edits = append(edits, replace(st, fmt.Sprintf("%s, %s, %s := %s.Cut(%s, %s)", or(before), or(after), or(found), p.src(call.Fun.(*ast.SelectorExpr).X), p.src(call.Args[0]), p.src(call.Args[1]))))
		f.fixes = p.fix(report.Mechanical, "cut it", edits...)
	default:
		p.why = "the second part may be asked for where there is none, or where there are more"
	}
	p.report(call, c, f)
}

// replaceWord puts a text in place of the only word in another one that is called so.
func replaceWord(text, word, with string) string {
	for i := 0; i+len(word) <= len(text); i++ {
		if text[i:i+len(word)] == word {
			return text[:i] + with + text[i+len(word):]
		}
	}
	return text
}

// counted says for which numbers of parts a comparison of their number is true.
func (w *pair) counted(e ast.Expr) (is lengths, ok bool) {
	cmp, ok := ast.Unparen(e).(*ast.BinaryExpr)
	if !ok {
		return is, false
	}
	length := w.p.builtin(ast.Unparen(cmp.X), "len")
	v := w.p.info().Types[cmp.Y].Value
	if length == nil || w.p.local(length.Args[0]) != w.v || v == nil || v.Kind() != constant.Int {
		return is, false
	}
	switch cmp.Op {
	case token.EQL, token.NEQ, token.LSS, token.LEQ, token.GTR, token.GEQ:
	default:
		return is, false
	}
	of := func(n int64) bool { return constant.Compare(constant.MakeInt64(n), cmp.Op, v) }
	for _, n := range []int64{4, 5, 1 << 40} {
		if of(n) != of(3) {
			return is, false
		}
	}
	if m, exact := constant.Int64Val(v); !exact || m > 3 {
		return is, false
	}
	return lengths{of(1), of(2), of(3)}, true
}

// told says how many parts there may be where a condition is true, or where it is not.
func (w *pair) told(e ast.Expr, yes bool) lengths {
	all := lengths{true, true, true}
	switch x := ast.Unparen(e).(type) {
	case *ast.UnaryExpr:
		if x.Op == token.NOT {
			return w.told(x.X, !yes)
		}
	case *ast.BinaryExpr:
		if x.Op == token.LAND && yes || x.Op == token.LOR && !yes {
			return w.told(x.X, yes).and(w.told(x.Y, yes))
		}
		if is, ok := w.counted(x); ok {
			if yes {
				return is
			}
			return is.not()
		}
	}
	return all
}

// at says how many parts there may be where a node is reached.
func (w *pair) at(n ast.Node) lengths {
	may := w.all
	for up := w.p.parent(n); up != nil; n, up = up, w.p.parent(up) {
		switch up := up.(type) {
		case *ast.BinaryExpr:
			if n == up.Y && (up.Op == token.LAND || up.Op == token.LOR) {
				may = may.and(w.told(up.X, up.Op == token.LAND))
			}
		case *ast.IfStmt:
			if n == up.Body {
				may = may.and(w.told(up.Cond, true))
			} else if n == up.Else {
				may = may.and(w.told(up.Cond, false))
			}
		case *ast.BlockStmt:
			may = may.and(w.before(up.List, n))
		case *ast.CaseClause:
			may = may.and(w.before(up.Body, n))
		case *ast.FuncLit:
			return may
		}
	}
	return may
}

// before says what statements of a list in front of a node leave open: those that go away where there are too few parts.
func (w *pair) before(list []ast.Stmt, n ast.Node) lengths {
	may := lengths{true, true, true}
	for _, st := range list {
		if st == n {
			break
		}
		if cond, ok := st.(*ast.IfStmt); ok && st.Pos() > w.decl.Pos() && cond.Else == nil && goesAway(cond.Body) {
			may = may.and(w.told(cond.Cond, false))
		}
	}
	return may
}

// goesAway reports whether what follows a block is not reached from it.
func goesAway(b *ast.BlockStmt) bool {
	if len(b.List) == 0 {
		return false
	}
	switch st := b.List[len(b.List)-1].(type) {
	case *ast.ReturnStmt:
		return true
	case *ast.BranchStmt:
		return st.Tok != token.FALLTHROUGH
	case *ast.ExprStmt:
		call, ok := st.X.(*ast.CallExpr)
		if !ok {
			return false
		}
		id, ok := call.Fun.(*ast.Ident)
		return ok && id.Name == "panic"
	}
	return false
}
