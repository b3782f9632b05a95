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
	"github.com/hone-perf/hone/internal/advise/facts/flow"
	"github.com/hone-perf/hone/internal/report"
	"github.com/hone-perf/hone/internal/report/missing"
)

var splitOne = &advise.Rule{
	Name: "split-one", Rank: 25,
	Doc: "a string is split into a slice for one part of it, or to range over the parts once",

	NoFix: missing.PartsNeeded,
	Find: func(p *advise.Pass) {
		advise.Each(p, func(call *ast.CallExpr) {
			if p.Calls(call, "strings.Split", "strings.SplitN", "strings.Fields") != nil {
				splitText(p, call)
			}
			if p.Calls(call, "strings.Split", "strings.SplitN") != nil {
				splitPair(p, call)
			}
		})
	},
}

// lengths are those that a list of parts may have: one, two, or more.
type lengths [3]bool

func (a lengths) and(b lengths) lengths { return lengths{a[0] && b[0], a[1] && b[1], a[2] && b[2]} }

func (a lengths) not() lengths { return lengths{!a[0], !a[1], !a[2]} }

// A pair is a text that is split, and what is done with the parts: they are counted, and the first two are looked at.
type pair struct {
	p    *advise.Pass
	v    *types.Var
	all  lengths
	decl *ast.AssignStmt
}

// splitPair is about parts := strings.Split(s, sep), or SplitN, where only the first two parts are looked at, and only where there are
// no more than those.
func splitPair(p *advise.Pass, call *ast.CallExpr) {
	st, ok := p.Parent(call).(*ast.AssignStmt)
	if !ok || st.Tok != token.DEFINE || len(st.Lhs) != 1 || p.Statement(st) != st {
		return
	}
	name := p.Callee(call).Name()
	w := pair{p: p, v: p.Local(st.Lhs[0]), all: lengths{true, true, true}, decl: st}
	if name == "SplitN" {
		if n := p.Info().Types[call.Args[2]].Value; n == nil || n.ExactString() != "2" {
			return
		}
		w.all[2] = false
	}
	if w.v == nil || flow.Captured(p.Func, w.v, p.Decl.Body) {
		return
	}
	sep, known := p.Text(call.Args[1])
	known = known && sep != ""
	if name == "Split" && (w.onlyLast(call, sep) || w.onlyCounted(call, known)) {
		return
	}
	var edits []edit.Edit
	before, after, found, second := p.LocalName("before"), p.LocalName("after"), p.LocalName("found"), p.LocalName("second")
	used := map[string]bool{}
	sure := known
	var seconds []*ast.IndexExpr // where there may be more parts behind it
	for _, id := range p.Uses(w.v) {
		switch up := p.Parent(id).(type) {
		case *ast.CallExpr:
			cmp, ok := p.Parent(up).(*ast.BinaryExpr)
			if p.Builtin(up, "len") == nil || !ok {
				return
			}
			is, ok := w.counted(cmp)
			if !ok {
				return
			}
			if !w.all[2] && is[0] == is[1] {
				return // it says nothing of the two parts that there may be
			}
			text := w.asFound(is, w.at(cmp), found)
			if text == "" {
				return
			}
			used[found] = used[found] || strings.Contains(text, found)
			if strings.Contains(text, "more") {
				used[after] = true
				contains := fmt.Sprintf("%s.Contains(%s, %s)", p.Src(call.Fun.(*ast.SelectorExpr).X), after, p.Src(call.Args[1]))
				text = strings.Replace(text, "more", contains, 1)
			}
			edits = append(edits, edit.Replace(cmp, text))
		case *ast.IndexExpr:
			v := p.Info().Types[up.Index].Value
			if up.X != id || v == nil || v.Kind() != constant.Int {
				return
			}
			if !isRead(p.Func, up) {
				return
			}
			switch v.ExactString() {
			case "0":
				used[before] = true
				edits = append(edits, edit.Replace(up, before))
			case "1":
				switch may := w.at(up); {
				case may[0]:
					sure = false // it may panic now
				case may[2]:
					seconds = append(seconds, up)
				default:
					used[after] = true
					edits = append(edits, edit.Replace(up, after))
				}
			default:
				return
			}
		default:
			return
		}
	}
	if len(edits)+len(seconds) == 0 && sure {
		return
	}
	for _, up := range seconds {
		used[after] = true
		edits = append(edits, edit.Replace(up, second))
	}
	f := advise.Finding{
		Title:  "string split for its first two parts",
		Claim:  fmt.Sprintf("strings.%s returns a slice of all parts, but only the first two are used", name),
		Advice: "strings.Cut finds both without a slice",
		Callee: "strings." + name, Risk: "none", Safe: true,
	}
	or := func(name string) string {
		if used[name] {
			return name
		}
		return "_"
	}
	c := p.Cost(call, cost.Below("strings."+name))
	switch {
	case !p.Worth(c):
	case sure && !p.Pkg.AtLeast(hasCut):
		f.NoFix = missing.OlderGo.Of(hasCut, "strings.Cut")
	case sure:
		pkg, by := p.Src(call.Fun.(*ast.SelectorExpr).X), p.Src(call.Args[1])
		text := fmt.Sprintf("%s, %s, %s := %s.Cut(%s, %s)", or(before), or(after), or(found), pkg, p.Src(call.Args[0]), by)
		if len(seconds) > 0 {
			text += fmt.Sprintf("\n%s, _, _ := %s.Cut(%s, %s)", second, pkg, after, by)
		}
		edits = append(edits, edit.Replace(st, text))
		f.Fixes = p.Fix(report.Mechanical, "cut it", edits...)
	case !known:
		f.NoFix = missing.ConstantSplit.Of(p.Src(call.Args[1]))
	default:
		f.NoFix = missing.SecondPartMayPanic.Of()
	}
	p.Report(call, c, f)
}

// hasCut is the minor version of Go that has strings.Cut.
const hasCut = 18

// onlyLast is about parts of which only the last one is looked at. It reports whether that is so.
func (w *pair) onlyLast(call *ast.CallExpr, sep string) bool {
	p := w.p
	name := p.LocalName("last")
	var edits []edit.Edit
	var only *ast.IndexExpr // the use, where it is the only one
	for _, id := range p.Uses(w.v) {
		if length := p.Builtin(p.Parent(id), "len"); length != nil {
			if sub, ok := p.Parent(length).(*ast.BinaryExpr); ok {
				if at, ok := p.Parent(sub).(*ast.IndexExpr); ok && w.isLast(at) {
					continue // it is replaced with the part
				}
			}
			return false
		}
		at, ok := p.Parent(id).(*ast.IndexExpr)
		if !ok || !w.isLast(at) || !isRead(p.Func, at) {
			return false
		}
		edits, only = append(edits, edit.Replace(at, name)), at
	}
	if len(edits) == 0 {
		return false
	}
	f := advise.Finding{
		Title:  "string split for its last part",
		Claim:  "strings.Split returns a slice of all parts, but only the last one is used",
		Advice: "look for the last separator: what follows it is the last part",
		Callee: "strings.Split", Risk: "none", Safe: true,
	}
	c := p.Cost(call, cost.Below("strings.Split"))
	text := call.Args[0]
	switch {
	case !p.Worth(c):
	case len(sep) != 1: // longer ones may overlap, and which of them count depends on where the search begins
		f.NoFix = missing.MayOverlap.Of(p.Src(call.Args[1]))
	case !flow.Simple(p.Func, text):
		f.NoFix = missing.EvaluatedTwice.Of(p.Src(text))
	default:
		part := fmt.Sprintf("%s[%s.LastIndexByte(%s, %s)+1:]", p.Src(text), p.Src(call.Fun.(*ast.SelectorExpr).X), p.Src(text), strconv.QuoteRune(rune(sep[0])))
		if st := p.Statement(only); st != nil && len(edits) == 1 && flow.Follows(p.Func, st, w.decl) && evaluatedFirst(p.Func, only) == st {
			edits = []edit.Edit{edit.New(w.decl.Pos(), edit.NextLine(p.Func, w.decl), ""), edit.Replace(only, part)}
		} else {
			edits = append(edits, edit.Replace(w.decl, name+" := "+part))
		}
		f.Fixes = p.Fix(report.Mechanical, "cut behind the last separator", edits...)
	}
	p.Report(call, c, f)
	return true
}

// isLast reports whether an index is that of the last part.
func (w *pair) isLast(at *ast.IndexExpr) bool {
	sub, ok := ast.Unparen(at.Index).(*ast.BinaryExpr)
	if !ok || sub.Op != token.SUB || w.p.Src(sub.Y) != "1" || w.p.Local(at.X) != w.v {
		return false
	}
	length := w.p.Builtin(ast.Unparen(sub.X), "len")
	return length != nil && w.p.Local(length.Args[0]) == w.v
}

// onlyCounted is about parts that are only counted. It reports whether that is so, and comparisons with a number do not say more.
func (w *pair) onlyCounted(call *ast.CallExpr, known bool) bool {
	p := w.p
	name := p.LocalName("count")
	var edits []edit.Edit
	for _, id := range p.Uses(w.v) {
		length := p.Builtin(p.Parent(id), "len")
		if length == nil {
			return false
		}
		edits = append(edits, edit.Replace(length, name))
	}
	if len(edits) == 0 {
		return false
	}
	f := advise.Finding{
		Title:  "string split for only some of its parts",
		Claim:  "strings.Split makes a slice with all parts, and they are only counted",
		Advice: "strings.Count counts what is between them",
		NoFix:  missing.ConstantSplit.Of(p.Src(call.Args[1])),
		Callee: "strings.Split", Risk: "none", Safe: true,
	}
	c := p.Cost(call, cost.Below("strings.Split"))
	if known && p.Worth(c) {
		edits = append(edits, edit.Replace(w.decl, fmt.Sprintf("%s := %s.Count(%s, %s) + 1", name, p.Src(call.Fun.(*ast.SelectorExpr).X), p.Src(call.Args[0]), p.Src(call.Args[1]))))
		f.Fixes = p.Fix(report.Mechanical, "count", edits...)
	}
	p.Report(call, c, f)
	return true
}

// isRead reports whether an element is only read.
func isRead(f *code.Func, e ast.Expr) bool {
	switch up := f.Parent(e).(type) {
	case *ast.UnaryExpr:
		return up.Op != token.AND
	case *ast.AssignStmt:
		return !slices.Contains(up.Lhs, e)
	}
	return true
}

// asFound returns the shortest condition that is true for the same of the numbers of parts that there may be, or "". In it, more stands for
// whether what is behind the first separator has another one, which it never has where there is none: it is empty then.
func (w *pair) asFound(is, may lengths, found string) string {
	for _, c := range []struct {
		is   lengths
		text string
	}{
		{lengths{false, true, true}, found},
		{lengths{true, false, false}, "!" + found},
		{lengths{false, false, true}, "more"},
		{lengths{true, true, false}, "!more"},
		{lengths{false, true, false}, "(" + found + " && !more)"},
		{lengths{true, false, true}, "(!" + found + " || more)"},
	} {
		if c.is.and(may) == is.and(may) {
			return c.text
		}
	}
	return ""
}

// counted says for which numbers of parts a comparison of their number is true.
func (w *pair) counted(e ast.Expr) (is lengths, ok bool) {
	cmp, ok := ast.Unparen(e).(*ast.BinaryExpr)
	if !ok {
		return is, false
	}
	length := w.p.Builtin(ast.Unparen(cmp.X), "len")
	v := w.p.Info().Types[cmp.Y].Value
	if length == nil || w.p.Local(length.Args[0]) != w.v || v == nil || v.Kind() != constant.Int {
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
	for up := w.p.Parent(n); up != nil; n, up = up, w.p.Parent(up) {
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
		if cond, ok := st.(*ast.IfStmt); ok && st.Pos() > w.decl.Pos() && cond.Else == nil && goesAway(w.p.Func, cond.Body) {
			may = may.and(w.told(cond.Cond, false))
		}
	}
	return may
}

// goesAway reports whether what follows a block is not reached from it.
func goesAway(f *code.Func, b *ast.BlockStmt) bool {
	if len(b.List) == 0 {
		return false
	}
	switch st := b.List[len(b.List)-1].(type) {
	case *ast.ReturnStmt:
		return true
	case *ast.BranchStmt:
		return st.Tok != token.FALLTHROUGH && st.Tok != token.GOTO // which may lead behind it
	case *ast.ExprStmt:
		return f.Builtin(st.X, "panic") != nil
	}
	return false
}

func splitText(p *advise.Pass, call *ast.CallExpr) {
	name := p.Callee(call).Name()
	c := p.Cost(call, cost.Below("strings."+name))
	f := advise.Finding{
		Title:  "string split for only some of its parts",
		Claim:  fmt.Sprintf("strings.%s makes a slice with all parts", name),
		Callee: "strings." + name, Risk: "none", Safe: true,
	}
	sep, known := "", false
	switch name {
	case "Split":
		sep, known = p.Text(call.Args[1])
		known = known && sep != ""
	case "SplitN":
		if n := p.Info().Types[call.Args[2]].Value; n == nil || n.ExactString() != "2" {
			return
		}
		sep, known = p.Text(call.Args[1])
		known = known && sep != ""
		f.NoFix = missing.ConstantSplit.Of(p.Src(call.Args[1]))
	}
	switch up := p.Parent(call).(type) {
	case *ast.IndexExpr:
		if up.X != call || name == "Fields" || p.Src(up.Index) != "0" || !isRead(p.Func, up) {
			return
		}
		f.Claim += ", and only the first is used"
		f.Advice = "strings.Cut finds it without a slice"
		if !p.Worth(c) {
			break
		}
		if known && p.Pkg.AtLeast(hasCut) {
			f.Fixes = firstPart(p, call, up)
		}
		if len(f.Fixes) == 0 && name == "Split" {
			f.Advice = "strings.SplitN stops when it has found it"
			f.Fixes = p.Fix(report.Mechanical, "stop after the first part", edit.New(call.Fun.End(), call.Fun.End(), "N"), edit.After(call.Args[1], ", 2"))
		}
	case *ast.RangeStmt:
		if up.X != call || name == "SplitN" || up.Key != nil && !code.IsBlank(up.Key) {
			return
		}
		f.Title = "string split into a slice to range over once"
		f.Claim += ", which the loop goes through once"
		f.Advice = fmt.Sprintf("strings.%sSeq finds each part when it is its turn", name)
		if f.NoFix = missing.NoPartVariable.Of(); !p.Pkg.AtLeast(24) {
			f.NoFix = missing.OlderGo.Of(24, "strings."+name+"Seq")
		}
		if up.Value != nil && up.Tok == token.DEFINE && p.Pkg.AtLeast(24) {
			f.Fixes = p.Fix(report.Mechanical, "find each part when it is its turn", edit.New(up.Key.Pos(), up.Value.End(), p.Src(up.Value)),
				edit.New(call.Fun.End(), call.Fun.End(), "Seq"))
		}
	case *ast.CallExpr:
		if p.Builtin(up, "len") == nil || name != "Split" {
			return
		}
		f.Claim += ", and they are only counted"
		f.Advice = "strings.Count counts what is between them"
		f.NoFix = missing.ConstantSplit.Of(p.Src(call.Args[1]))
		if known {
			f.Fixes = p.Fix(report.Mechanical, "count", edit.Replace(up, asOperand(p.Func, up, fmt.Sprintf("%s.Count(%s, %s) + 1", p.Src(call.Fun.(*ast.SelectorExpr).X), p.Src(call.Args[0]), p.Src(call.Args[1])))))
		}
	default:
		return
	}
	p.Report(call, c, f)
}

// firstPart is a fix that cuts a text where only the first of its parts is used: where that is given to a variable, or else in front of the
// statement.
func firstPart(p *advise.Pass, call *ast.CallExpr, first *ast.IndexExpr) []report.Fix {
	cut := fmt.Sprintf("%s.Cut(%s, %s)", p.Src(call.Fun.(*ast.SelectorExpr).X), p.Src(call.Args[0]), p.Src(call.Args[1]))
	assign, ok := p.Parent(first).(*ast.AssignStmt)
	if ok && len(assign.Lhs) == 1 && len(assign.Rhs) == 1 && (assign.Tok == token.DEFINE || assign.Tok == token.ASSIGN) {
		return p.Fix(report.Mechanical, "cut it", edit.New(assign.Lhs[0].End(), assign.Lhs[0].End(), ", _, _"), edit.New(call.Pos(), first.End(), cut))
	}
	name := p.LocalName("before")
	cut = fmt.Sprintf("%s, _, _ := %s", name, cut)
	switch at := evaluatedFirst(p.Func, call).(type) {
	case nil:
		return nil
	case ast.Stmt:
		return p.Fix(report.Mechanical, "cut it", edit.Before(at, cut+"\n"), edit.Replace(first, name))
	default: // the condition or the tag of a statement
		return p.Fix(report.Mechanical, "cut it", edit.Before(at, cut+"; "), edit.Replace(first, name))
	}
}

// evaluatedFirst returns the statement in front of which an expression can be evaluated as well, or the condition of an if or the tag of a
// switch that has no statement in front of it: whenever that is run, so is the expression, and nothing that is run before it in there may
// change it.
func evaluatedFirst(f *code.Func, e ast.Expr) ast.Node {
	var n, up ast.Node = e, f.Parent(e)
	for ; ; n, up = up, f.Parent(up) {
		switch up := up.(type) {
		case *ast.BinaryExpr:
			if n == up.Y && (up.Op == token.LAND || up.Op == token.LOR) {
				return nil
			}
			continue
		case *ast.FuncLit, nil:
			return nil
		case ast.Stmt:
		default:
			continue
		}
		break
	}
	var at ast.Node
	switch st := up.(type) {
	case *ast.IfStmt:
		if n == st.Cond && st.Init == nil {
			at = st.Cond
		}
	case *ast.SwitchStmt:
		if n == st.Tag && st.Init == nil {
			at = st.Tag
		}
	case *ast.RangeStmt:
		if n == st.X && f.Statement(st) == st {
			at = st
		}
	case *ast.ExprStmt, *ast.AssignStmt, *ast.ReturnStmt, *ast.SendStmt:
		if f.Statement(up) == up {
			at = up
		}
	case *ast.DeclStmt:
		at = up
	}
	if at == nil || runsBefore(f, up, e) {
		return nil
	}
	return at
}

// runsBefore reports whether something in a statement is called, or received, before an expression in it is evaluated.
func runsBefore(f *code.Func, st ast.Node, e ast.Expr) (found bool) {
	ast.Inspect(st, func(n ast.Node) bool {
		if n == nil || n.Pos() >= e.Pos() || found {
			return false
		}
		switch n := n.(type) {
		case *ast.FuncLit:
			return false
		case *ast.CallExpr:
			if !code.Within(e, n) && !f.Info().Types[n.Fun].IsType() && f.Builtin(n, "len") == nil {
				found = true
			}
		case *ast.UnaryExpr:
			found = found || n.Op == token.ARROW
		}
		return true
	})
	return found
}

// notFixed says why what a separator is has to be known: Split takes a text apart letter by letter where it is empty.
