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

var replacerPerCall = &Rule{
	Name: "replacer-per-call", Rank: 42, PerCall: true,
	Doc: "a strings.Replacer that is always the same is made for every call",

	NoFix: "the texts that it replaces are not the same for every call",
	Find: func(p *Pass) {
		each(p, func(call *ast.CallExpr) {
			if p.calls(call, "strings.NewReplacer") == nil {
				return
			}
			// It builds its tables when it is first used, which is on another line.
			c := p.total(func(c *chain) bool {
				return c.first() == "strings.NewReplacer" || c.has("strings.(*Replacer).build", "strings.(*Replacer).buildOnce", "strings.(*Replacer).buildOnce-fm")
			})
			f := finding{
				title:  "Replacer made for every call",
				claim:  "strings.NewReplacer is called each time, and the Replacer builds its tables when it is first used, which is here the only time; one can be used by several goroutines",
				callee: "strings.(*Replacer).build",
				risk:   "none but that its tables stay in memory",
				advice: "keep one in a variable of the package",
			}
			if !p.allConst(call) {
				f.advice = "keep one for each set of texts that is replaced, where these do not change"
				f.noFix = p.changing(call) + " is not the same for every call"
			} else {
				v := p.newName(lowerFirst(p.decl.Name.Name) + "Replacer")
				f.fixes = p.fix(report.Mechanical, "keep one in a variable of the package", p.hoisted(call, v)...)
			}
			p.report(call, c, f)
		})
	},
}

// allConst reports whether all that an expression is made of is the same in every call: constants, and calls of functions of
// other packages with them.
func (p *function) allConst(e ast.Expr) bool {
	e = ast.Unparen(e)
	if p.isConst(e) {
		return true
	}
	call, ok := e.(*ast.CallExpr)
	if !ok || call.Ellipsis.IsValid() {
		return false
	}
	fn := p.callee(call)
	if fn == nil || fn.Pkg() == p.unit.Types {
		return false
	}
	if sel, ok := call.Fun.(*ast.SelectorExpr); ok && p.info().Selections[sel] != nil && !p.allConst(sel.X) {
		return false
	}
	return !slices.ContainsFunc(call.Args, func(a ast.Expr) bool { return !p.allConst(a) })
}

// changing returns the part of an expression that may be another one in each call: the innermost.
func (p *function) changing(e ast.Expr) string {
	e = ast.Unparen(e)
	if call, ok := e.(*ast.CallExpr); ok {
		if sel, ok := call.Fun.(*ast.SelectorExpr); ok && p.info().Selections[sel] != nil && !p.allConst(sel.X) {
			return p.changing(sel.X)
		}
		if i := slices.IndexFunc(call.Args, func(a ast.Expr) bool { return !p.allConst(a) }); i >= 0 {
			return p.changing(call.Args[i])
		}
	}
	return p.src(e)
}

// hoisted moves an expression into a variable of the package. Where the function keeps it in a variable of its own that is
// used for nothing else, that one goes.
func (p *function) hoisted(e ast.Expr, name string) []edit {
	decl := p.declare("var " + name + " = " + p.src(e))
	assign, ok := p.parent(e).(*ast.AssignStmt)
	if ok && assign.Tok == token.DEFINE && len(assign.Lhs) == 1 && p.statement(assign) == assign {
		if v := p.local(assign.Lhs[0]); v != nil && p.onlyRead(v, assign) {
			edits := []edit{decl, newEdit(assign.Pos(), p.nextLine(assign), "")}
			for _, id := range p.uses(v) {
				edits = append(edits, replace(id, name))
			}
			return edits
		}
	}
	return []edit{decl, replace(e, name)}
}

// onlyRead reports whether a variable has one value from where it is declared on.
func (p *function) onlyRead(v *types.Var, declared *ast.AssignStmt) bool {
	ok := true
	ast.Inspect(p.decl.Body, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.AssignStmt:
			if n != declared {
				for _, l := range n.Lhs {
					if id, isID := l.(*ast.Ident); isID && p.info().ObjectOf(id) == v {
						ok = false
					}
				}
			}
		case *ast.UnaryExpr:
			if id, isID := ast.Unparen(n.X).(*ast.Ident); isID && n.Op == token.AND && p.info().ObjectOf(id) == v {
				ok = false
			}
		case *ast.RangeStmt:
			for _, e := range []ast.Expr{n.Key, n.Value} {
				if id, isID := e.(*ast.Ident); isID && p.info().ObjectOf(id) == v {
					ok = false
				}
			}
		}
		return ok
	})
	return ok
}

// nextLine returns where the line behind a node begins, or the end of the node when something follows it on its line.
func (p *function) nextLine(n ast.Node) token.Pos {
	at := p.file.tok.Offset(n.End())
	for i := at; i < len(p.file.text); i++ {
		switch p.file.text[i] {
		case '\n':
			return p.file.tok.Pos(i + 1)
		case ' ', '\t', '\r', ';':
		default:
			return n.End()
		}
	}
	return n.End()
}

// behind is an edit that puts a line behind that of a statement, and behind a comment there.
func (p *function) behind(st ast.Stmt, line string) edit {
	at := p.file.tok.Offset(st.End())
	rest, _, _ := strings.Cut(string(p.file.text[at:]), "\n")
	if trimmed := strings.TrimSpace(rest); trimmed == "" || strings.HasPrefix(trimmed, "//") {
		end := p.file.tok.Pos(at + len(rest))
		return newEdit(end, end, "\n"+line)
	}
	return newEdit(st.End(), st.End(), "\n"+line)
}

var templatePerCall = &Rule{
	Name: "template-per-call", Rank: 42, PerCall: true,
	Doc: "a template that is always the same is parsed for every call",

	NoFix: "the template is not the same for every call",
	Find: func(p *Pass) {
		parse := []string{"(*text/template.Template).Parse", "(*html/template.Template).Parse"}
		calls := 0
		each(p, func(call *ast.CallExpr) {
			if p.calls(call, parse...) != nil {
				calls++
			}
		})
		each(p, func(call *ast.CallExpr) {
			if p.calls(call, parse...) == nil {
				return
			}
			pkg := p.callee(call).Pkg().Path()
			c := p.cost(call, p.calling(call))
			if escape := p.total(through("html/template.escapeTemplate")); calls == 1 {
				c.add(&escape)
			}
			f := finding{
				title:  "template parsed for every call",
				claim:  "the text is parsed for each call" + map[bool]string{true: ", and html/template looks through it once more when it is first executed"}[pkg == "html/template"] + "; a template can be executed by several goroutines",
				callee: pkg + ".(*Template).Parse",
				advice: "parse it once, in a variable of the package",
				risk:   "a text that does not parse then ends the program when it starts, and not in the first call",
			}
			must, ok := p.parent(call).(*ast.CallExpr)
			switch {
			case !ok || p.calls(must, "text/template.Must", "html/template.Must") == nil:
				f.noFix = "the error of Parse is used, which a variable of the package cannot hand on"
			case !p.allConst(must):
				f.noFix = p.changing(must) + " is not the same for every call"
			case !p.executedOnly(must):
				f.noFix = "the template is used for more than to be executed, so it may change"
			default:
				v := p.newName(lowerFirst(p.decl.Name.Name) + "Template")
				f.fixes = p.fix(report.Mechanical, "parse it once, in a variable of the package", p.hoisted(must, v)...)
			}
			p.report(call, c, f)
		})
	},
}

// executedOnly reports whether a template is only executed: nothing is added to it.
func (p *function) executedOnly(e ast.Expr) bool {
	executes := func(id ast.Node) bool {
		sel, ok := p.parent(id).(*ast.SelectorExpr)
		return ok && strings.HasPrefix(sel.Sel.Name, "Execute")
	}
	if executes(e) {
		return true
	}
	assign, ok := p.parent(e).(*ast.AssignStmt)
	if !ok || len(assign.Lhs) != 1 {
		return false
	}
	v := p.local(assign.Lhs[0])
	return v != nil && !slices.ContainsFunc(p.uses(v), func(id *ast.Ident) bool { return !executes(id) })
}

var invariantText = &Rule{
	Name: "invariant-text", Rank: 3,
	Doc: "a text that never changes is put together in every call of a function literal",

	NoFix: "the text cannot be put together before the function literal",
	Find: func(p *Pass) {
		each(p, func(e *ast.BinaryExpr) {
			if e.Op != token.ADD || !isString(p.typeOf(e)) || p.isConst(e) || !p.outermostSum(e) {
				return
			}
			lit := p.literal(e)
			if lit == nil {
				return
			}
			operands := map[types.Object]bool{}
			ok := true
			ast.Inspect(e, func(n ast.Node) bool {
				switch n := n.(type) {
				case *ast.CallExpr, *ast.SelectorExpr, *ast.IndexExpr, *ast.StarExpr, *ast.SliceExpr:
					ok = ok && p.isConst(n.(ast.Expr))
				case *ast.Ident:
					if v := p.local(n); v != nil {
						operands[v] = true
						ok = ok && (v.Pos() < lit.Pos() || v.Pos() >= lit.End())
					} else if _, isVar := p.info().ObjectOf(n).(*types.Var); isVar {
						ok = false
					}
				}
				return ok
			})
			if !ok || len(operands) == 0 {
				return
			}
			for o := range operands {
				v := o.(*types.Var)
				if !p.isParam(v) || p.assigns(p.decl.Body, func(x types.Object) bool { return x == o }) {
					return // it may not have its value yet where the literal is made
				}
			}
			st := p.statement(lit)
			if st == nil || p.loop(lit) != nil {
				return
			}
			name := p.localName("text")
			f := finding{
				title:  "text that never changes put together for every call",
				claim:  fmt.Sprintf("%s is the same in every call of the function literal, since its parts are parameters of %s that nobody changes", p.src(e), p.decl.Name.Name),
				advice: "put it together before the function literal is made",
				risk:   "it is then put together even if the function literal is never called",
			}
			f.fixes = p.fix(report.Mechanical, "put it together once", before(st, name+" := "+p.src(e)+"\n"), replace(e, name))
			p.report(e, p.cost(e, allocates("concatstring")), f)
		})
	},
}

// outermostSum reports whether a sum of texts is no part of a larger one.
func (p *function) outermostSum(e *ast.BinaryExpr) bool {
	up, ok := p.parent(e).(*ast.BinaryExpr)
	for n := p.parent(e); n != nil; n = p.parent(n) {
		if _, isParen := n.(*ast.ParenExpr); !isParen {
			up, ok = n.(*ast.BinaryExpr)
			break
		}
	}
	return !ok || up.Op != token.ADD
}

// literal returns the function literal that a node is in, or nil.
func (p *function) literal(n ast.Node) *ast.FuncLit {
	for n = p.parent(n); n != nil; n = p.parent(n) {
		if lit, ok := n.(*ast.FuncLit); ok {
			return lit
		}
	}
	return nil
}
