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
	"github.com/hone-perf/hone/internal/advise/facts/text"
	"github.com/hone-perf/hone/internal/report"
	"github.com/hone-perf/hone/internal/report/missing"
)

var concatLoop = &advise.Rule{
	Name: "concat-loop", Rank: 15,
	Doc: "a string grows in a loop, and is copied each time",

	NoFix: missing.NotOnlyAdded,
	Find: func(p *advise.Pass) {
		type growth struct {
			loop ast.Stmt
			s    *types.Var
		}
		var order []growth
		all := map[growth][]*ast.AssignStmt{}
		advise.Each(p, func(st *ast.AssignStmt) {
			s, _ := addsText(p.Func, st)
			if s == nil {
				return
			}
			// The outermost loop that the text lives longer than.
			var loop ast.Stmt
			for l := p.Loop(st); l != nil && s.Pos() < l.Pos(); l = p.Loop(l) {
				loop = l
			}
			if loop == nil {
				return
			}
			g := growth{loop, s}
			if all[g] == nil {
				order = append(order, g)
			}
			all[g] = append(all[g], st)
		})
		for _, g := range order {
			grownText(p, g.loop, g.s, all[g])
		}
	},
}

// A textUse is what is done with a text at one place.
type textUse int

const (
	textOther  textUse = iota // something that a Builder cannot do
	textAdded                 // s += x, s = s + x
	textLength                // len(s), s == ""
	textReset                 // s = "", or another text
	textRead                  // any other use of its value
)

// A builtText is a text that is to be put together with a Builder: what is done with it where, and what becomes of that.
type builtText struct {
	s     *types.Var
	name  string // of the Builder
	room  int64  // for so many bytes; 0 is none
	decl  ast.Stmt
	value ast.Expr // of the declaration, or nil
	uses  []builtUse
}

type builtUse struct {
	at   *ast.Ident
	what textUse
	edit edit.Edit
	also *ast.Ident // the same statement names the text twice
}

// built is a fix that puts a text together with a Builder in a loop. A Builder has all of the text at any time, and its String copies nothing, so
// whatever only looks at the text can go on doing so. all are the statements that add to it in the loop.
func built(p *advise.Pass, loop ast.Stmt, s *types.Var, all []*ast.AssignStmt) []report.Fix {
	at := p.Statement(loop)
	if at == nil || p.IsParamResult(s) || flow.Captured(p.Func, s, p.Decl.Body) || flow.GoesOut(p.Func, loop) || jumps(p.Func) {
		p.No(missing.SeenBeforeEnd)
		return nil
	}
	if b, ok := types.Unalias(s.Type()).(*types.Basic); !ok || b.Kind() != types.String {
		return p.No(missing.OwnTypeAndString, s.Name())
	}
	t := builtTextOf(p.Func, s, p.LocalName("text"))
	for _, u := range t.uses {
		if ref, ok := p.Parent(u.at).(*ast.UnaryExpr); ok && ref.Op == token.AND {
			return p.No(missing.ChangedByAddress, s.Name())
		}
		if code.Within(u.at, loop) && u.what == textOther {
			p.No(missing.NotOnlyAddedOrRead)
			return nil
		}
	}
	const title = "write to a strings.Builder"
	fixes := builtWith(p, t, at, loop, title)
	if n := roomFor(usualSize(p, all, cost.Allocates("concatstring"), byAdding, halfOfAdding)); n > 0 && len(fixes) > 0 {
		t.room = n
		fixes = append(fixes, builtWith(p, t, at, loop, fmt.Sprintf("%s with room for %d bytes", title, n))...)
	}
	return fixes
}

// builtWith makes the fix with as little as possible of what was there before: without the variable, or with one that is declared behind the loop,
// or else with the one that there is.
func builtWith(p *advise.Pass, t *builtText, at, loop ast.Stmt, title string) []report.Fix {
	alone := t
	if name := t.s.Name(); len(name) > 1 || t.name != "text" {
		alone = builtTextOf(p.Func, t.s, name) // which is free then, and says what the text is
		alone.room = t.room
	}
	for _, edits := range [][]edit.Edit{withoutText(p.Func, alone, loop), textBehind(p.Func, t, at, loop), besideText(p.Func, t, at, loop, true), besideText(p.Func, t, at, loop, false)} {
		if edits != nil {
			p.Need("strings")
			if fixes := p.Fix(report.Mechanical, title, edits...); fixes != nil {
				p.Why = missing.Reason{}
				return fixes
			}
		}
	}
	return nil
}

// declaration declares the Builder.
func (t *builtText) declaration() string {
	text := "var " + t.name + " strings.Builder"
	if t.room > 0 {
		text += fmt.Sprintf("\n%s.Grow(%d)", t.name, t.room)
	}
	return text
}

// builtTextOf looks at all that is done with a text.
func builtTextOf(f *code.Func, s *types.Var, name string) *builtText {
	t := &builtText{s: s, name: name}
	t.decl, t.value = f.Declared(s)
	second := map[*ast.Ident]bool{}
	for _, id := range f.Uses(s) {
		if second[id] {
			continue
		}
		u := textUseOf(f, t, id)
		if u.also != nil {
			second[u.also] = true
		}
		t.uses = append(t.uses, u)
	}
	return t
}

// textUseOf says what is done with a text where it is named, and what is done with the Builder instead.
func textUseOf(f *code.Func, t *builtText, id *ast.Ident) builtUse {
	u := builtUse{at: id, what: textRead, edit: edit.Replace(id, t.name+".String()")}
	var in ast.Node = id
	up := f.Parent(in)
	for {
		paren, ok := up.(*ast.ParenExpr)
		if !ok {
			break
		}
		in, up = paren, f.Parent(paren)
	}
	switch up := up.(type) {
	case *ast.AssignStmt:
		if !slices.ContainsFunc(up.Lhs, func(e ast.Expr) bool { return e == in }) {
			break
		}
		u.what = textOther
		if text, ok := f.Text(up.Rhs[0]); ok && text == "" && up.Tok == token.ASSIGN && len(up.Lhs) == 1 {
			u.what, u.edit = textReset, edit.Replace(up, t.name+".Reset()")
			break
		}
		v, add := addsText(f, up)
		if v != t.s || add == nil {
			if up.Tok == token.ASSIGN && len(up.Lhs) == 1 && !f.MentionsVar(up.Rhs[0], t.s) && f.Statement(up) == ast.Stmt(up) {
				reset := t.name + ".Reset()\n"
				if whereEmpty(f, t.s, up) {
					reset = ""
				}
				u.what, u.edit = textReset, edit.Replace(up, reset+text.Writes(f, t.name, up.Rhs[0]))
			}
			break
		}
		parts := summands(f, add)
		if up.Tok == token.ASSIGN {
			u.also, _ = ast.Unparen(parts[0]).(*ast.Ident)
			parts = parts[1:]
		}
		for _, x := range parts {
			if f.MentionsVar(x, t.s) {
				return u // it adds the text to itself
			}
		}
		comments := ""
		if f.Statement(up) == ast.Stmt(up) {
			comments = f.CommentsIn(up)
		}
		u.what, u.edit = textAdded, edit.Replace(up, comments+writesAll(f, t.name, up, parts))
	case *ast.RangeStmt:
		if up.Key == in || up.Value == in {
			u.what = textOther
		}
	case *ast.UnaryExpr:
		if up.Op == token.AND {
			u.what = textOther
		}
	case *ast.CallExpr:
		if f.Builtin(up, "len") != nil {
			u.what, u.edit = textLength, edit.Replace(up, t.name+".Len()")
		}
	case *ast.BinaryExpr:
		other := up.Y
		if other == in {
			other = up.X
		}
		if text, ok := f.Text(other); ok && text == "" && (up.Op == token.EQL || up.Op == token.NEQ) {
			u.what, u.edit = textLength, edit.Replace(up, fmt.Sprintf("%s.Len() %s 0", t.name, map[token.Token]string{token.EQL: "==", token.NEQ: ">"}[up.Op]))
		}
	}
	return u
}

// whereEmpty reports whether a text is empty where a statement gives it another value: that comes first in what is done if it is "".
func whereEmpty(f *code.Func, s *types.Var, st ast.Stmt) bool {
	block, _ := f.Parent(st).(*ast.BlockStmt)
	if block == nil {
		return false
	}
	branch, ok := f.Parent(block).(*ast.IfStmt)
	if !ok || branch.Body != block {
		return false
	}
	cmp, ok := ast.Unparen(branch.Cond).(*ast.BinaryExpr)
	if !ok || cmp.Op != token.EQL || f.Local(cmp.X) != s {
		return false
	}
	text, ok := f.Text(cmp.Y)
	return ok && text == "" && !slices.ContainsFunc(f.Uses(s), func(id *ast.Ident) bool { return id.Pos() > block.Lbrace && id.Pos() < st.Pos() })
}

// writesAll are statements that write what a statement adds; one, where there is room for no more.
func writesAll(f *code.Func, b string, st ast.Stmt, parts []ast.Expr) string {
	if len(parts) > 1 && f.Statement(st) != st {
		var texts []string
		for _, x := range parts {
			texts = append(texts, f.Src(x))
		}
		return fmt.Sprintf("%s.WriteString(%s)", b, strings.Join(texts, " + "))
	}
	var lines []string
	for _, x := range parts {
		lines = append(lines, text.Writes(f, b, x))
	}
	return strings.Join(lines, "\n")
}

// replaced declares the Builder in the place of the text.
func replaced(f *code.Func, t *builtText) edit.Edit {
	begin := t.declaration()
	if !beginsEmpty(f, t) {
		begin += "\n" + text.Writes(f, t.name, t.value)
	}
	return edit.Replace(t.decl, begin)
}

// beginsEmpty reports whether a text is declared, and empty then.
func beginsEmpty(f *code.Func, t *builtText) bool {
	if t.value == nil {
		_, isVar := t.decl.(*ast.DeclStmt)
		return isVar
	}
	text, ok := f.Text(t.value)
	return ok && text == ""
}

// declaredAlone reports whether a text has a declaration of its own, which may be another one.
func declaredAlone(f *code.Func, t *builtText) bool {
	switch d := t.decl.(type) {
	case *ast.AssignStmt:
		return len(d.Lhs) == 1 && f.Statement(d) == ast.Stmt(d)
	case *ast.DeclStmt:
		g := d.Decl.(*ast.GenDecl)
		return len(g.Specs) == 1 && len(g.Specs[0].(*ast.ValueSpec).Names) == 1
	}
	return false
}

// withoutText are edits after which there is only the Builder: where nobody changes the text in another way, and little is asked for it outside of the
// loop. It is nil when there are none.
func withoutText(f *code.Func, t *builtText, loop ast.Stmt) []edit.Edit {
	if !declaredAlone(f, t) {
		return nil
	}
	edits, reads := []edit.Edit{replaced(f, t)}, 0
	for _, u := range t.uses {
		if u.what == textOther {
			return nil
		}
		if u.what == textRead && !code.Within(u.at, loop) {
			reads++
		}
		edits = append(edits, u.edit)
	}
	if reads > 1 {
		return nil
	}
	return edits
}

// textBehind are edits after which the text is declared behind the loop, where nobody names it before that.
func textBehind(f *code.Func, t *builtText, at, loop ast.Stmt) []edit.Edit {
	if !declaredAlone(f, t) || f.Parent(t.decl) != f.Parent(at) {
		return nil
	}
	edits, behind := []edit.Edit{replaced(f, t)}, false
	for _, u := range t.uses {
		switch {
		case code.Within(u.at, loop):
			edits = append(edits, u.edit)
		case u.at.Pos() < loop.Pos():
			return nil
		default:
			behind = true
		}
	}
	if !behind {
		return nil
	}
	return append(edits, edit.After(at, fmt.Sprintf("\n%s := %s.String()", t.s.Name(), t.name)))
}

// besideText are edits after which the text begins as it did, and the loop writes to a Builder. With once, the only place behind the loop that asks for
// the text asks the Builder; there are none when there are more. Else the text ends as it did.
func besideText(f *code.Func, t *builtText, at, loop ast.Stmt, once bool) []edit.Edit {
	begin := t.declaration() + "\n"
	if !beginsEmpty(f, t) || !flow.Follows(f, at, t.decl) {
		begin += fmt.Sprintf("%s.WriteString(%s)\n", t.name, t.s.Name())
	}
	edits, behind := []edit.Edit{edit.Before(at, begin)}, 0
	for _, u := range t.uses {
		switch {
		case code.Within(u.at, loop):
			edits = append(edits, u.edit)
		case u.at.Pos() > loop.Pos():
			behind++
			if once && (behind > 1 || u.what != textRead && u.what != textLength) {
				return nil
			}
			if once {
				edits = append(edits, u.edit)
			}
		}
	}
	if once {
		return edits
	}
	return append(edits, edit.After(at, fmt.Sprintf("\n%s = %s.String()", t.s.Name(), t.name)))
}

// jumps reports whether the function has a goto, with which what is behind a loop may come before it.
func jumps(f *code.Func) bool {
	found := false
	ast.Inspect(f.Decl, func(n ast.Node) bool {
		b, ok := n.(*ast.BranchStmt)
		found = found || ok && b.Tok == token.GOTO
		return !found
	})
	return found
}

// grownText is about a text that some statements add to in a loop.
func grownText(p *advise.Pass, loop ast.Stmt, s *types.Var, all []*ast.AssignStmt) {
	var sum, most cost.Cost
	worst, front := all[0], false
	for _, st := range all {
		c := p.Cost(st, cost.Allocates("concatstring"))
		sum.Add(&c)
		if p.Costs.Weight(&c) > p.Costs.Weight(&most) {
			worst, most = st, c
		}
		_, add := addsText(p.Func, st)
		front = front || add == nil
	}
	f := advise.Finding{
		Title:  "string built with + in a loop",
		Claim:  fmt.Sprintf("each round copies all of %s to a new string, so the cost grows with the square of its length", s.Name()),
		Advice: "write the parts to a strings.Builder, and take its String after the loop",
		Risk:   "none", Safe: true,
	}
	if front {
		f.Claim += "; what is added comes in front, so a Builder alone does not help"
		f.Advice = "find out how much is to be added, and add it once"
		f.NoFix = missing.NotOnlyPadded.Of()
		if len(all) == 1 {
			f.Fixes = padded(p, loop, s, worst)
		}
	} else {
		f.Fixes = built(p, loop, s, all)
	}
	p.Report(worst, sum, f)
}

// addsText returns the variable that a statement adds a text to, and what it adds; nothing when that comes in front.
func addsText(f *code.Func, st *ast.AssignStmt) (s *types.Var, add ast.Expr) {
	if len(st.Lhs) != 1 || len(st.Rhs) != 1 {
		return nil, nil
	}
	s = f.Local(st.Lhs[0])
	if s == nil || !kind.IsString(s.Type()) {
		return nil, nil
	}
	if st.Tok == token.ADD_ASSIGN {
		return s, st.Rhs[0]
	}
	sum, ok := ast.Unparen(st.Rhs[0]).(*ast.BinaryExpr)
	if st.Tok != token.ASSIGN || !ok || sum.Op != token.ADD {
		return nil, nil
	}
	first, last := summands(f, sum)[0], sum.Y
	switch {
	case f.Local(first) == s:
		return s, sum
	case f.Local(last) == s:
		return s, nil
	}
	return nil, nil
}

// summands returns what a sum is made of, from left to right.
func summands(f *code.Func, e ast.Expr) []ast.Expr {
	if b, ok := ast.Unparen(e).(*ast.BinaryExpr); ok && b.Op == token.ADD && !f.IsConst(b) {
		return append(summands(f, b.X), summands(f, b.Y)...)
	}
	return []ast.Expr{e}
}

// padded is a fix of a loop that puts the same text in front until there is enough: for len(s) < n { s = x + s }.
func padded(p *advise.Pass, loop ast.Stmt, s *types.Var, st *ast.AssignStmt) []report.Fix {
	l, ok := loop.(*ast.ForStmt)
	if !ok || l.Init != nil || l.Post != nil || len(l.Body.List) != 1 || l.Body.List[0] != st || p.Statement(l) != l {
		return nil
	}
	cond, ok := l.Cond.(*ast.BinaryExpr)
	if !ok || cond.Op != token.LSS {
		return nil
	}
	length := p.Builtin(cond.X, "len")
	n := p.Local(cond.Y)
	if length == nil || p.Local(length.Args[0]) != s || n == nil && !p.IsConst(cond.Y) || !types.Identical(p.TypeOf(cond.Y), types.Typ[types.Int]) {
		return nil
	}
	pad := ast.Unparen(st.Rhs[0]).(*ast.BinaryExpr).X
	text, isText := p.Text(pad)
	arg, to := p.Conversion(pad)
	rune := arg != nil && kind.IsString(to) && p.Local(arg) != nil && kind.IsBasic(p.TypeOf(arg), types.IsInteger) // such a text is never empty
	if !rune && (!isText || text == "") {
		return nil
	}
	return filledUp(p, l, s, pad, cond.Y, isText && len(text) == 1)
}

// filledUp is a fix that writes a text and what comes before it to memory for both. Each write doubles what is there, as
// strings.Repeat does, which would need memory of its own.
func filledUp(p *advise.Pass, l *ast.ForStmt, s *types.Var, pad, n ast.Expr, oneByte bool) []report.Fix {
	p.Need("strings")
	b, size, x := p.LocalName("text"), p.LocalName("size"), p.Src(pad)
	missing := fmt.Sprintf("%s - len(%s)", p.Src(n), s.Name())
	begin := fmt.Sprintf("%s := %s\n", size, missing)
	if !oneByte {
		x = p.LocalName("pad")
		begin = fmt.Sprintf("%s := %s\n%s := (%s + len(%s) - 1) / len(%s) * len(%s)\n", x, p.Src(pad), size, missing, x, x, x)
	}
	// In few words, with memory for what is put in front as well.
	repeated := fmt.Sprintf("%s = strings.Repeat(%s, %s) + %s", s.Name(), p.Src(pad), missing, s.Name())
	if !oneByte {
		repeated = fmt.Sprintf("%s := %s\n%s = strings.Repeat(%s, (%s+len(%s)-1)/len(%s)) + %s", x, p.Src(pad), s.Name(), x, missing, x, x, s.Name())
	}
	fixes := p.Fix(report.Mechanical, "repeat it as often as needed", edit.Replace(l, p.CommentsIn(l)+"if "+p.Src(l.Cond)+" {\n"+repeated+"\n}"))
	if !p.Pkg.AtLeast(21) { // which has min
		return fixes
	}
	write := strings.NewReplacer("TEXT", b, "SIZE", size, "REST", s.Name(), "PAD", x).Replace(strings.Join([]string{
		"var TEXT strings.Builder",
		"TEXT.Grow(SIZE + len(REST))",
		"TEXT.WriteString(PAD)",
		"for TEXT.Len() < SIZE {",
		"TEXT.WriteString(TEXT.String()[:min(TEXT.Len(), SIZE-TEXT.Len())])",
		"}",
		"TEXT.WriteString(REST)",
		"REST = TEXT.String()",
	}, "\n"))
	return append(fixes, p.Fix(report.Mechanical, "add it all at once", edit.Replace(l, p.CommentsIn(l)+"if "+p.Src(l.Cond)+" {\n"+begin+write+"\n}"))...)
}
