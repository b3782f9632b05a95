package advise

import (
	"fmt"
	"go/ast"
	"go/types"
	"strings"

	"github.com/hone-perf/hone/internal/report"
)

var joinedParts = &Rule{
	Name: "joined-parts", Rank: 24,
	Doc: "texts are kept in a list, only to be joined",

	NoFix: "what comes between the parts is not a constant",
	Find: func(p *Pass) {
		each(p, func(call *ast.CallExpr) {
			if p.calls(call, "strings.Join") == nil {
				return
			}
			if s := p.local(call.Args[0]); s != nil {
				if j := p.joinOf(s); j != nil {
					p.partsJoined(j)
				}
			}
		})
	},
}

// A join is a list of texts that is there to be joined, and nothing else.
type join struct {
	list *types.Var
	decl ast.Stmt
	all  []*ast.AssignStmt // that append to it
	call *ast.CallExpr     // of strings.Join
}

// joinOf returns what is done with a list of texts that is empty at first, appended to, and joined, or nil.
func (p *function) joinOf(list *types.Var) *join {
	if t, ok := types.Unalias(list.Type()).(*types.Slice); !ok || !types.Identical(t.Elem(), types.Typ[types.String]) {
		return nil
	}
	decl, value := p.declared(list)
	if decl == nil || !p.isEmpty(decl, value) || p.captured(list, p.decl.Body) {
		return nil
	}
	j := &join{list: list, decl: decl}
	known := 0
	for _, id := range p.uses(list) {
		switch up := p.parent(id).(type) {
		case *ast.AssignStmt:
			if p.local(up.Lhs[0]) != list || p.added(up) == nil || p.statement(up) != ast.Stmt(up) {
				return nil
			}
			j.all = append(j.all, up)
			known += 2 // it is named on both sides
		case *ast.CallExpr:
			if p.calls(up, "strings.Join") != nil && up.Args[0] == ast.Expr(id) && j.call == nil {
				j.call = up
				known++
			}
		}
	}
	if j.call == nil || len(j.all) == 0 || known != len(p.uses(list)) || p.loop(decl) != p.loop(j.call) {
		return nil
	}
	return j
}

// isEmpty reports whether a declaration is one of a list alone, without anything in it.
func (p *function) isEmpty(decl ast.Stmt, value ast.Expr) bool {
	switch d := decl.(type) {
	case *ast.DeclStmt:
		spec, ok := d.Decl.(*ast.GenDecl).Specs[0].(*ast.ValueSpec)
		if !ok || len(d.Decl.(*ast.GenDecl).Specs) > 1 || len(spec.Names) > 1 {
			return false
		}
	case *ast.AssignStmt:
		if len(d.Lhs) > 1 {
			return false
		}
	}
	if value == nil {
		_, isVar := decl.(*ast.DeclStmt)
		return isVar
	}
	if lit, ok := value.(*ast.CompositeLit); ok {
		return len(lit.Elts) == 0
	}
	call := p.builtin(value, "make")
	return call != nil && p.src(call.Args[1]) == "0" && (len(call.Args) == 2 || p.simple(call.Args[2]))
}

func (p *Pass) partsJoined(j *join) {
	worst, c, also := p.worst(j.all, either(growing(), allocates("intstring", "slicebytetostring")))
	joining := p.cost(j.call, below("strings.Join"))
	c.add(&joining)
	f := finding{
		title:  "texts kept in a list to be joined",
		claim:  fmt.Sprintf("the list takes 16 bytes for each of its texts and grows step by step; then strings.Join copies all of %s", j.list.Name()),
		advice: "write each part to a strings.Builder when it is there",
		risk:   "none",
		callee: "strings.Join",
		also:   append(also, j.call),
	}
	f.fixes = p.writtenAtOnce(j)
	if loop := p.loop(worst); loop != nil {
		if p.loop(j.decl) == p.loop(loop) {
			g := &growth{loop, bodyOf(loop), j.list, j.all}
			f.fixes = append(f.fixes, p.makeRoom(g, &f)...)
		}
	}
	p.report(worst, c, f)
}

// writtenAtOnce is a fix that writes each part to a Builder, with what is between them: that needs to know whether something was
// written before, be it empty.
func (p *Pass) writtenAtOnce(j *join) []report.Fix {
	sep, known := p.text(j.call.Args[1])
	if !known {
		return p.no("%s, which comes between the parts, is not a constant", p.src(j.call.Args[1]))
	}
	name := j.list.Name()
	begin, between := "var "+name+" strings.Builder", ""
	if sep != "" {
		n := p.localName("written")
		begin += "\n" + n + " := 0"
		between = fmt.Sprintf("if %s > 0 {\n%s.WriteString(%s)\n}\n%s++", n, name, p.src(j.call.Args[1]), n)
	}
	edits := []edit{replace(j.decl, begin), replace(j.call, name+".String()")}
	for _, st := range j.all {
		var lines []string
		for _, x := range p.added(st) {
			if between != "" {
				lines = append(lines, between)
			}
			lines = append(lines, p.writes(name, x))
		}
		edits = append(edits, replace(st, strings.Join(lines, "\n")))
	}
	p.need("strings")
	return p.fix(report.Mechanical, "write the parts to a strings.Builder", edits...)
}
