package rules

import (
	"cmp"
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"slices"

	"github.com/hone-perf/hone/internal/advise"
	"github.com/hone-perf/hone/internal/advise/facts/code"
	"github.com/hone-perf/hone/internal/advise/facts/cost"
	"github.com/hone-perf/hone/internal/advise/facts/edit"
	"github.com/hone-perf/hone/internal/report"
	"github.com/hone-perf/hone/internal/report/missing"
)

var textByParts = &advise.Rule{
	Name: "text-by-parts", Rank: 9,
	Doc: "strings are copied one by one out of the bytes of a field that stay the same",

	NoFix: missing.FieldNeedsBytes,
	Find: func(p *advise.Pass) {
		all := p.OfPackage()
		if all[0] != p.Function {
			return // once for the package
		}
		var found []*partsOf
		for _, f := range all {
			q := p.On(f)
			advise.Each(q, func(conv *ast.CallExpr) {
				cut, ok := ast.Unparen(orNil(q.StringOf(conv))).(*ast.SliceExpr)
				if !ok {
					return
				}
				field, ok := q.Object(cut.X).(*types.Var)
				if !ok || !field.IsField() || field.Pkg() != q.Pkg.Types || !types.Identical(field.Type(), types.NewSlice(types.Typ[types.Byte])) {
					return
				}
				c := q.Cost(conv, cost.Allocates("slicebytetostring", "rawstring"))
				if c == (cost.Cost{}) {
					return
				}
				i := slices.IndexFunc(found, func(t *partsOf) bool { return t.field == field })
				if i < 0 {
					i = len(found)
					found = append(found, &partsOf{field: field})
				}
				t := found[i]
				t.nodes, t.in, t.costs = append(t.nodes, conv), append(t.in, q), append(t.costs, c)
				t.sum.Add(&c)
			})
		}
		for _, t := range found {
			t.report(p)
		}
	},
}

// orNil returns an expression that can be asked for its kind.
func orNil(e ast.Expr) ast.Expr {
	if e == nil {
		return &ast.BadExpr{}
	}
	return e
}

// A partsOf is a field with bytes, and the strings that are made of parts of it.
type partsOf struct {
	field *types.Var
	nodes []*ast.CallExpr
	in    []*advise.Pass
	costs []cost.Cost
	sum   cost.Cost

	edits map[*code.File][]edit.Edit
	bytes bool // it is used in a way that a string cannot be
}

func (t *partsOf) report(p *advise.Pass) {
	if len(t.nodes) < 2 || !p.Worth(t.sum) || !t.uses(p) {
		return
	}
	order := make([]int, len(t.nodes))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(i, j int) int { return cmp.Compare(p.Costs.Weight(&t.costs[j]), p.Costs.Weight(&t.costs[i])) })
	q := t.in[order[0]]
	f := advise.Finding{
		Title:  "strings copied one by one out of the same bytes",
		Claim:  fmt.Sprintf("each of %d conversions copies a part of %s, which nothing writes to", len(t.nodes), t.field.Name()),
		Advice: fmt.Sprintf("convert %s to a string once, where it is set: parts of a string need no copy", t.field.Name()),
		Risk:   "as long as one of the parts is kept, so is the whole string",
	}
	for _, i := range order[1:] {
		if t.in[i].Func == q.Func {
			f.Also = append(f.Also, t.nodes[i])
		}
	}
	switch {
	case p.Pkg.NoFix.Fact != "":
		q.Because(p.Pkg.NoFix)
	case t.bytes || q.Shown(q.OwnerOf(t.field)):
		q.No(missing.FieldNeedsBytes, t.field.Name())
	case p.Pkg.NamedElsewhere(t.field.Name()):
		q.No(missing.StatesElsewhere, t.field.Name())
	case t.field.Exported() && p.Pkg.Name != "main":
		q.No(missing.FieldNeedsBytes, t.field.Name())
	case len(t.edits) != 1:
		q.No(missing.SeveralFiles)
	default:
		for file, edits := range t.edits {
			at := q.InFile(file)
			f.Fixes = at.Fix(report.Ownership, "convert the field once", edits...)
			q.Why = at.Why
		}
	}
	q.Report(t.nodes[order[0]], t.sum, f)
}

// uses reports whether the bytes of the field stay as they are once they are set, wherever it is named, and collects what changes if it is a string.
func (t *partsOf) uses(p *advise.Pass) bool {
	if p.OwnerOf(t.field) == nil {
		return false
	}
	t.edits = make(map[*code.File][]edit.Edit)
	above := p.Pkg.Above()
	sets := 0
	for id, o := range p.Info().Uses {
		if o != types.Object(t.field) {
			continue
		}
		var x ast.Expr = id
		if sel, ok := above[id].(*ast.SelectorExpr); ok && sel.Sel == id {
			x = sel
		}
		f := fileOf(p.Pkg, id)
		if f == nil {
			return false
		}
		add := func(e edit.Edit) { t.edits[f] = append(t.edits[f], e) }
		switch up := above[x].(type) {
		case *ast.KeyValueExpr:
			if up.Key != ast.Expr(id) {
				return false
			}
			sets++
			add(edit.Replace(up.Value, asText(p.Func, f, up.Value)))
		case *ast.AssignStmt:
			i := slices.Index(up.Lhs, x)
			if i < 0 || up.Tok != token.ASSIGN || len(up.Lhs) != len(up.Rhs) {
				return false
			}
			sets++
			add(edit.Replace(up.Rhs[i], asText(p.Func, f, up.Rhs[i])))
		case *ast.IndexExpr:
			if up.X != x || writtenIn(above[up], up) {
				return false
			}
			if st, ok := above[up].(*ast.IncDecStmt); ok && st.X == ast.Expr(up) {
				return false
			}
		case *ast.SliceExpr:
			conv, ok := above[up].(*ast.CallExpr)
			if up.X != x || !ok || up.Slice3 {
				return false
			}
			switch {
			case p.StringOf(conv) != nil && types.Identical(p.TypeOf(conv), types.Typ[types.String]):
				add(edit.Replace(conv, sourceOf(f, up)))
			case onlyLooks(p.Func, conv, up):
				t.bytes = true
			default:
				return false
			}
		case *ast.CallExpr:
			switch {
			case p.Builtin(up, "len") != nil:
			case p.StringOf(up) != nil && types.Identical(p.TypeOf(up), types.Typ[types.String]):
				add(edit.Replace(up, sourceOf(f, x)))
			case onlyLooks(p.Func, up, x):
				t.bytes = true
			default:
				return false
			}
		case *ast.RangeStmt:
			if up.X != x {
				return false
			}
			t.bytes = true // a loop over a string is one over runes
		default:
			return false
		}
	}
	for id, o := range p.Info().Defs {
		if field, ok := above[id].(*ast.Field); ok && o == types.Object(t.field) {
			if len(field.Names) != 1 || field.Tag != nil {
				t.bytes = true
				continue
			}
			f := fileOf(p.Pkg, id)
			t.edits[f] = append(t.edits[f], edit.Replace(field.Type, "string"))
		}
	}
	return sets == 1 // with more, as much may be converted as there is now
}

// asText returns what an expression of bytes is written as where a string is wanted.
func asText(of *code.Func, f *code.File, e ast.Expr) string {
	if id := code.AsIdent(e); id != nil && of.Info().Types[e].IsNil() {
		return `""`
	}
	if s := of.BytesOf(ast.Unparen(e)); s != nil {
		return sourceOf(f, s)
	}
	return "string(" + sourceOf(f, e) + ")"
}

// onlyLooks reports whether a call hands bytes to a function of package bytes or utf8 that looks at them.
func onlyLooks(f *code.Func, call *ast.CallExpr, e ast.Expr) bool {
	return slices.Contains(call.Args, e) && f.Calls(call, "bytes.Equal", "bytes.Contains", "bytes.HasPrefix", "bytes.HasSuffix", "bytes.Index", "bytes.IndexByte", "bytes.IndexAny", "bytes.Compare",
		"unicode/utf8.DecodeRune", "unicode/utf8.FullRune", "unicode/utf8.Valid", "unicode/utf8.RuneCount") != nil
}

// fileOf returns the file of a package that a node is in, or nil.
func fileOf(u *code.Package, n ast.Node) *code.File {
	for _, f := range u.Files {
		if f.AST.FileStart <= n.Pos() && n.Pos() < f.AST.FileEnd {
			return f
		}
	}
	return nil
}

// sourceOf returns the text of a node.
func sourceOf(f *code.File, n ast.Node) string {
	return string(f.Text[f.Tok.Offset(n.Pos()):f.Tok.Offset(n.End())])
}
