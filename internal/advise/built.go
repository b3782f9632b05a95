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

// A textUse is what is done with a text at one place.
type textUse int

const (
	textOther  textUse = iota // something that a Builder cannot do
	textAdded                 // s += x, s = s + x
	textLength                // len(s), s == ""
	textReset                 // s = ""
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
	edit edit
	also *ast.Ident // the same statement names the text twice
}

// built is a fix that puts a text together with a Builder in a loop. A Builder has all of the text at any time, and its String copies nothing, so
// whatever only looks at the text can go on doing so. all are the statements that add to it in the loop.
func (p *Pass) built(loop ast.Stmt, s *types.Var, all []*ast.AssignStmt) []report.Fix {
	at := p.statement(loop)
	if at == nil || p.isParamResult(s) || p.captured(s, p.decl.Body) || p.goesOut(loop) || p.jumps() {
		p.why = "the text may be seen before the loop is over"
		return nil
	}
	if b, ok := types.Unalias(s.Type()).(*types.Basic); !ok || b.Kind() != types.String {
		return p.no("%s has a type of its own, and String returns a string", s.Name())
	}
	t := p.builtText(s, p.localName("text"))
	for _, u := range t.uses {
		if ref, ok := p.parent(u.at).(*ast.UnaryExpr); ok && ref.Op == token.AND {
			return p.no("the text may be changed through &%s", s.Name())
		}
		if within(u.at, loop) && u.what == textOther {
			p.why = "the loop does more with the text than to add to it and look at it"
			return nil
		}
	}
	const title = "write to a strings.Builder"
	fixes := p.builtWith(t, at, loop, title)
	if n := usualSize(p, all, allocates("concatstring"), byAdding, halfOfAdding); n > 0 && len(fixes) > 0 {
		t.room = n
		fixes = append(fixes, p.builtWith(t, at, loop, fmt.Sprintf("%s with room for %d bytes, as most texts took", title, n))...)
	}
	return fixes
}

// builtWith makes the fix with as little as possible of what was there before: without the variable, or with one that is declared behind the loop,
// or else with the one that there is.
func (p *Pass) builtWith(t *builtText, at, loop ast.Stmt, title string) []report.Fix {
	alone := t
	if t.s.Name() == "text" {
		alone = p.builtText(t.s, t.s.Name()) // which is free then
		alone.room = t.room
	}
	for _, edits := range [][]edit{p.withoutText(alone, loop), p.textBehind(t, at, loop), p.besideText(t, at, loop, true), p.besideText(t, at, loop, false)} {
		if edits != nil {
			p.need("strings")
			if fixes := p.fix(report.Mechanical, title, edits...); fixes != nil {
				p.why = ""
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

// builtText looks at all that is done with a text.
func (p *function) builtText(s *types.Var, name string) *builtText {
	t := &builtText{s: s, name: name}
	t.decl, t.value = p.declared(s)
	second := map[*ast.Ident]bool{}
	for _, id := range p.uses(s) {
		if second[id] {
			continue
		}
		u := p.textUse(t, id)
		if u.also != nil {
			second[u.also] = true
		}
		t.uses = append(t.uses, u)
	}
	return t
}

// textUse says what is done with a text where it is named, and what is done with the Builder instead.
func (p *function) textUse(t *builtText, id *ast.Ident) builtUse {
	u := builtUse{at: id, what: textRead, edit: replace(id, t.name+".String()")}
	var in ast.Node = id
	up := p.parent(in)
	for {
		paren, ok := up.(*ast.ParenExpr)
		if !ok {
			break
		}
		in, up = paren, p.parent(paren)
	}
	switch up := up.(type) {
	case *ast.AssignStmt:
		if !slices.ContainsFunc(up.Lhs, func(e ast.Expr) bool { return e == in }) {
			break
		}
		u.what = textOther
		if text, ok := p.text(up.Rhs[0]); ok && text == "" && up.Tok == token.ASSIGN && len(up.Lhs) == 1 {
			u.what, u.edit = textReset, replace(up, t.name+".Reset()")
			break
		}
		v, add := p.addsText(up)
		if v != t.s || add == nil {
			break
		}
		parts := p.summands(add)
		if up.Tok == token.ASSIGN {
			u.also, _ = ast.Unparen(parts[0]).(*ast.Ident)
			parts = parts[1:]
		}
		for _, x := range parts {
			if p.mentionsVar(x, t.s) {
				return u // it adds the text to itself
			}
		}
		u.what, u.edit = textAdded, replace(up, p.writesAll(t.name, up, parts))
	case *ast.RangeStmt:
		if up.Key == in || up.Value == in {
			u.what = textOther
		}
	case *ast.UnaryExpr:
		if up.Op == token.AND {
			u.what = textOther
		}
	case *ast.CallExpr:
		if p.builtin(up, "len") != nil {
			u.what, u.edit = textLength, replace(up, t.name+".Len()")
		}
	case *ast.BinaryExpr:
		other := up.Y
		if other == in {
			other = up.X
		}
		if text, ok := p.text(other); ok && text == "" && (up.Op == token.EQL || up.Op == token.NEQ) {
			u.what, u.edit = textLength, replace(up, fmt.Sprintf("%s.Len() %s 0", t.name, map[token.Token]string{token.EQL: "==", token.NEQ: ">"}[up.Op]))
		}
	}
	return u
}

// writesAll are statements that write what a statement adds; one, where there is room for no more.
func (p *function) writesAll(b string, st ast.Stmt, parts []ast.Expr) string {
	if len(parts) > 1 && p.statement(st) != st {
		var texts []string
		for _, x := range parts {
			texts = append(texts, p.src(x))
		}
		return fmt.Sprintf("%s.WriteString(%s)", b, strings.Join(texts, " + "))
	}
	var lines []string
	for _, x := range parts {
		lines = append(lines, p.writes(b, x))
	}
	return strings.Join(lines, "\n")
}

// replaced declares the Builder in the place of the text.
func (p *function) replaced(t *builtText) edit {
	begin := t.declaration()
	if !p.beginsEmpty(t) {
		begin += "\n" + p.writes(t.name, t.value)
	}
	return replace(t.decl, begin)
}

// beginsEmpty reports whether a text is declared, and empty then.
func (p *function) beginsEmpty(t *builtText) bool {
	if t.value == nil {
		_, isVar := t.decl.(*ast.DeclStmt)
		return isVar
	}
	text, ok := p.text(t.value)
	return ok && text == ""
}

// declaredAlone reports whether a text has a declaration of its own, which may be another one.
func (p *function) declaredAlone(t *builtText) bool {
	switch d := t.decl.(type) {
	case *ast.AssignStmt:
		return len(d.Lhs) == 1 && p.statement(d) == ast.Stmt(d)
	case *ast.DeclStmt:
		g := d.Decl.(*ast.GenDecl)
		return len(g.Specs) == 1 && len(g.Specs[0].(*ast.ValueSpec).Names) == 1
	}
	return false
}

// withoutText are edits after which there is only the Builder: where nobody changes the text in another way, and little is asked for it outside of the
// loop. It is nil when there are none.
func (p *function) withoutText(t *builtText, loop ast.Stmt) []edit {
	if !p.declaredAlone(t) {
		return nil
	}
	edits, reads := []edit{p.replaced(t)}, 0
	for _, u := range t.uses {
		if u.what == textOther {
			return nil
		}
		if u.what == textRead && !within(u.at, loop) {
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
func (p *function) textBehind(t *builtText, at, loop ast.Stmt) []edit {
	if !p.declaredAlone(t) || p.parent(t.decl) != p.parent(at) {
		return nil
	}
	edits, behind := []edit{p.replaced(t)}, false
	for _, u := range t.uses {
		switch {
		case within(u.at, loop):
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
	return append(edits, after(at, fmt.Sprintf("\n%s := %s.String()", t.s.Name(), t.name)))
}

// besideText are edits after which the text begins as it did, and the loop writes to a Builder. With once, the only place behind the loop that asks for
// the text asks the Builder; there are none when there are more. Else the text ends as it did.
func (p *function) besideText(t *builtText, at, loop ast.Stmt, once bool) []edit {
	begin := t.declaration() + "\n"
	if !p.beginsEmpty(t) || !p.follows(at, t.decl) {
		begin += fmt.Sprintf("%s.WriteString(%s)\n", t.name, t.s.Name())
	}
	edits, behind := []edit{before(at, begin)}, 0
	for _, u := range t.uses {
		switch {
		case within(u.at, loop):
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
	return append(edits, after(at, fmt.Sprintf("\n%s = %s.String()", t.s.Name(), t.name)))
}

// jumps reports whether the function has a goto, with which what is behind a loop may come before it.
func (p *function) jumps() bool {
	found := false
	ast.Inspect(p.decl, func(n ast.Node) bool {
		b, ok := n.(*ast.BranchStmt)
		found = found || ok && b.Tok == token.GOTO
		return !found
	})
	return found
}

// goesOut reports whether something in a loop goes to a label that is not in it.
func (p *function) goesOut(loop ast.Stmt) bool {
	labels := map[string]bool{}
	ast.Inspect(loop, func(n ast.Node) bool {
		if l, ok := n.(*ast.LabeledStmt); ok {
			labels[l.Label.Name] = true
		}
		return true
	})
	if l, ok := p.parent(loop).(*ast.LabeledStmt); ok {
		labels[l.Label.Name] = true
	}
	out := false
	ast.Inspect(loop, func(n ast.Node) bool {
		if b, ok := n.(*ast.BranchStmt); ok && b.Label != nil && !labels[b.Label.Name] {
			out = true
		}
		return !out
	})
	return out
}

// writes is a statement that writes a text to a Builder.
func (p *function) writes(b string, e ast.Expr) string {
	if arg, to := p.conversion(ast.Unparen(e)); arg != nil && isString(to) {
		if k, ok := types.Unalias(p.typeOf(arg)).(*types.Basic); ok && k.Kind() == types.Int32 {
			return fmt.Sprintf("%s.WriteRune(%s)", b, p.src(arg))
		}
		if isBytes(p.typeOf(arg)) {
			return fmt.Sprintf("%s.Write(%s)", b, p.src(arg))
		}
	}
	return fmt.Sprintf("%s.WriteString(%s)", b, p.src(ast.Unparen(e)))
}
