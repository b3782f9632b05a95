package rules

import (
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"strings"

	"github.com/hone-perf/hone/internal/advise"
	"github.com/hone-perf/hone/internal/advise/facts/code"
	"github.com/hone-perf/hone/internal/advise/facts/cost"
	"github.com/hone-perf/hone/internal/advise/facts/edit"
	"github.com/hone-perf/hone/internal/advise/facts/flow"
	"github.com/hone-perf/hone/internal/advise/facts/kind"
	"github.com/hone-perf/hone/internal/advise/facts/lists"
	"github.com/hone-perf/hone/internal/report"
	"github.com/hone-perf/hone/internal/report/missing"
)

var textFromList = &advise.Rule{
	Name: "text-from-list", Rank: 9,
	Doc: "a string is put together in a slice of bytes or runes, and copied out of it at the end",

	NoFix: missing.NotOnlyAppended,
	Find: func(p *advise.Pass) {
		seen := map[*types.Var]bool{}
		advise.Each(p, func(conv *ast.CallExpr) {
			arg, to := p.Conversion(conv)
			if arg == nil || !types.Identical(to, types.Typ[types.String]) {
				return
			}
			v := p.Local(arg)
			if v == nil || seen[v] || p.IsParam(v) {
				return
			}
			seen[v] = true
			if l := listOf(p, v); l != nil {
				l.report(p)
			}
		})
	},
}

// A textList is a slice of the function that is empty at first, appended to, and converted to a string.
type textList struct {
	v       *types.Var
	runes   bool
	decl    ast.Stmt
	value   ast.Expr
	appends []*ast.AssignStmt
	texts   []*ast.CallExpr // string(v)
	bytes   ast.Expr        // []byte(string(v)), where that is all that comes of it
	edits   []edit.Edit
	why     missing.Reason // why a Builder cannot take its place
}

// listOf returns what is done with a slice, or nil where it is no list of bytes or runes, or not empty at first.
func listOf(p *advise.Pass, v *types.Var) *textList {
	l := &textList{v: v}
	switch t := v.Type(); {
	case types.Identical(t, types.NewSlice(types.Typ[types.Byte])):
	case types.Identical(t, types.NewSlice(types.Typ[types.Rune])):
		l.runes = true
	default:
		return nil
	}
	l.decl, l.value = p.Declared(v)
	if l.decl == nil || p.Statement(l.decl) != l.decl || flow.Captured(p.Func, v, p.Decl.Body) {
		return nil
	}
	begin := l.begin(p)
	if begin == "" {
		return nil
	}
	l.bytes = l.backToBytes(p)
	if l.bytes != nil {
		begin = strings.Replace(begin, "strings.Builder", "bytes.Buffer", 1)
	}
	l.edits = append(l.edits, edit.Replace(l.decl, begin))
	for _, id := range p.Uses(v) {
		l.use(p, id)
	}
	if len(l.appends) == 0 || len(l.texts) == 0 {
		return nil
	}
	return l
}

// backToBytes returns []byte(string(v)) where the function does nothing else with the list after that, so that the bytes of a Buffer can be had
// without a copy, and nobody sees whether they are nil.
func (l *textList) backToBytes(p *advise.Pass) ast.Expr {
	uses := p.Uses(l.v)
	if len(uses) == 0 {
		return nil
	}
	text := p.Parent(uses[len(uses)-1])
	back := p.Parent(text)
	if arg, to := p.Conversion(text); arg == nil || !kind.IsString(to) {
		return nil
	}
	if arg, to := p.Conversion(back); arg == nil || !types.Identical(to, types.NewSlice(types.Typ[types.Byte])) {
		return nil
	}
	st, ok := p.Parent(back).(*ast.AssignStmt)
	if !ok || st.Tok != token.DEFINE || len(st.Lhs) != 1 || p.Parent(st) != p.Parent(l.decl) {
		return nil
	}
	if b := p.Local(st.Lhs[0]); b == nil || !lists.NilUnseen(p.Func, b) {
		return nil
	}
	return back.(*ast.CallExpr)
}

// begin returns the declaration of a Builder in the place of that of the list, or "" where that is not empty, or declares more.
func (l *textList) begin(p *advise.Pass) string {
	text := "var " + l.v.Name() + " strings.Builder"
	switch d := l.decl.(type) {
	case *ast.DeclStmt:
		g := d.Decl.(*ast.GenDecl)
		if len(g.Specs) != 1 || g.Lparen.IsValid() || len(g.Specs[0].(*ast.ValueSpec).Names) != 1 {
			return ""
		}
		if l.value == nil {
			return text
		}
	case *ast.AssignStmt:
		if len(d.Lhs) != 1 || d.Tok != token.DEFINE {
			return ""
		}
	}
	if lit, ok := ast.Unparen(l.value).(*ast.CompositeLit); ok && len(lit.Elts) == 0 {
		return text
	}
	made := p.Builtin(l.value, "make")
	if made == nil || len(made.Args) < 2 || p.Info().Types[made.Args[1]].Value == nil || p.Info().Types[made.Args[1]].Value.ExactString() != "0" {
		return ""
	}
	if len(made.Args) == 3 {
		if !types.Identical(types.Default(p.TypeOf(made.Args[2])), types.Typ[types.Int]) {
			return ""
		}
		text += fmt.Sprintf("\n%s.Grow(%s)", l.v.Name(), p.Src(made.Args[2]))
	}
	return text
}

// use looks at one place where the list is named.
func (l *textList) use(p *advise.Pass, id *ast.Ident) {
	switch up := p.Parent(id).(type) {
	case *ast.AssignStmt:
		if p.Local(up.Lhs[0]) == l.v && len(up.Lhs) == 1 && l.added(p, up) {
			return
		}
	case *ast.CallExpr:
		st, isAssign := p.Parent(up).(*ast.AssignStmt)
		arg, to := p.Conversion(up)
		switch {
		case isAssign && len(st.Lhs) == 1 && p.Local(st.Lhs[0]) == l.v && up.Args[0] == ast.Expr(id):
			return // which is looked at on the left side
		case arg != nil && types.Identical(to, types.Typ[types.String]):
			l.texts = append(l.texts, up)
			if l.bytes != nil && p.Parent(up) == ast.Node(l.bytes) {
				l.edits = append(l.edits, edit.Replace(l.bytes, l.v.Name()+".Bytes()"))
			} else {
				l.edits = append(l.edits, edit.Replace(up, l.v.Name()+".String()"))
			}
			return
		case p.Builtin(up, "len") != nil && (!l.runes || comparedToZero(p.Func, up)):
			l.edits = append(l.edits, edit.Replace(up, l.v.Name()+".Len()"))
			return
		}
	}
	if l.why.Fact == "" {
		l.why = missing.NotABuilderAt.Of(l.v.Name(), p.Line(id.Pos()))
	}
}

// comparedToZero reports whether a length is only asked whether it is 0.
func comparedToZero(f *code.Func, n ast.Expr) bool {
	cmp, ok := f.Parent(n).(*ast.BinaryExpr)
	if !ok {
		return false
	}
	other := cmp.Y
	if other == n {
		other = cmp.X
	}
	v := f.Info().Types[other].Value
	if v == nil || v.ExactString() != "0" {
		return false
	}
	return cmp.Op == token.EQL || cmp.Op == token.NEQ || cmp.Op == token.GTR && cmp.X == n || cmp.Op == token.LSS && cmp.Y == n
}

// added takes a statement that appends to the list, and reports whether it does nothing else.
func (l *textList) added(p *advise.Pass, st *ast.AssignStmt) bool {
	if st.Tok != token.ASSIGN || len(st.Rhs) != 1 {
		return false
	}
	var lines []string
	write := func(format string, e ast.Expr) { lines = append(lines, l.v.Name()+fmt.Sprintf(format, p.Src(e))) }
	call := p.Builtin(st.Rhs[0], "append")
	switch {
	case call == nil:
		if call = p.Calls(st.Rhs[0], "unicode/utf8.AppendRune"); call == nil || p.Local(call.Args[0]) != l.v {
			return false
		}
		write(".WriteRune(%s)", call.Args[1])
	case p.Local(call.Args[0]) != l.v || len(call.Args) < 2:
		return false
	case call.Ellipsis.IsValid():
		switch t := p.TypeOf(call.Args[1]); {
		case l.runes:
			return false // a text that is no UTF-8 would become another
		case p.BytesOf(call.Args[1]) != nil:
			write(".WriteString(%s)", p.BytesOf(call.Args[1]))
		case kind.IsString(t) && types.Identical(types.Default(t), types.Typ[types.String]):
			write(".WriteString(%s)", call.Args[1])
		case types.Identical(t, types.NewSlice(types.Typ[types.Byte])):
			write(".Write(%s)", call.Args[1])
		default:
			return false
		}
	default:
		if len(call.Args) > 3 {
			return false // that is one line now
		}
		for _, e := range call.Args[1:] {
			if len(call.Args) > 2 && p.MentionsVar(e, l.v) {
				return false
			}
			write(map[bool]string{true: ".WriteRune(%s)", false: ".WriteByte(%s)"}[l.runes], e)
		}
	}
	if len(lines) > 1 && p.Statement(st) != ast.Stmt(st) {
		return false
	}
	l.appends = append(l.appends, st)
	l.edits = append(l.edits, edit.Replace(st, strings.Join(lines, "\n")))
	return true
}

func (l *textList) report(p *advise.Pass) {
	growing := cost.Allocates("makeslice", "growslice")
	made := p.Cost(l.decl, growing)
	for _, st := range l.appends {
		c := p.Cost(st, growing)
		made.Add(&c)
	}
	if made == (cost.Cost{}) {
		return // it is on the stack, where a Builder would not be
	}
	worst, c := l.texts[0], cost.Cost{}
	var most cost.Cost
	lines := map[int]bool{}
	var also []ast.Node
	for _, e := range l.texts {
		if lines[p.Line(e.Pos())] {
			continue
		}
		lines[p.Line(e.Pos())] = true
		one := p.Cost(e, cost.Allocates("slicebytetostring", "slicerunetostring"))
		if p.Costs.Weight(&one) > p.Costs.Weight(&most) {
			worst, most = e, one
		}
		c.Add(&one)
		also = append(also, e)
	}
	if l.runes { // which take four bytes for each
		c.Add(&made)
	}
	what := map[bool]string{true: "runes", false: "bytes"}[l.runes]
	f := advise.Finding{
		Title:  fmt.Sprintf("string copied out of a slice of %s", what),
		Claim:  fmt.Sprintf("%s is there only to become a string, which is a copy of its %s", l.v.Name(), what),
		Advice: "write to a strings.Builder, whose String copies nothing",
		Risk:   "none", Safe: true,
		Also:  also,
		NoFix: l.why,
	}
	if l.bytes != nil {
		f.Claim = fmt.Sprintf("%s is there only to become a string, and that to become bytes, which copies them twice", l.v.Name())
		f.Advice = "write to a bytes.Buffer, whose Bytes copies nothing"
	}
	if l.runes {
		f.Claim += "; a rune takes four bytes in the slice, whatever it takes in the string"
	}
	if l.why.Fact == "" && p.Worth(c) {
		to := "strings.Builder"
		if l.bytes != nil {
			to = "bytes.Buffer"
		}
		p.Need(to[:strings.IndexByte(to, '.')])
		f.Fixes = p.Fix(report.Mechanical, "write to a "+to, l.edits...)
	}
	p.Report(worst, c, f)
}
