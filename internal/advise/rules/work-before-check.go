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
	"github.com/hone-perf/hone/internal/advise/facts/steady"
	"github.com/hone-perf/hone/internal/report"
	"github.com/hone-perf/hone/internal/report/missing"
)

var workBeforeCheck = &advise.Rule{
	Name: "work-before-check", Rank: 1, Vague: true, // how often the function returns early is not in the profile
	Doc: "memory is allocated before a check after which the function returns without it",

	NoFix: missing.OrderMatters,
	Find: func(p *advise.Pass) {
		advise.Each(p, func(block *ast.BlockStmt) {
			for i, st := range block.List {
				v, value := allocated(p.Func, st)
				if v == nil {
					continue
				}
				if check := unneeded(p.Func, block.List[i+1:], v); check != nil {
					c := p.Cost(st, cost.Allocates("make", "newobject", "stringtoslice", "slicebytetostring"))
					f := advise.Finding{
						Title:  "allocation before a check that makes it unnecessary",
						Claim:  fmt.Sprintf("%s is allocated on each call, also when the function returns at line %d, where nobody needs it", v.Name(), p.Line(check.Body.List[len(check.Body.List)-1].Pos())),
						Advice: "allocate it behind the check",
						Risk:   "none", Safe: true,
						Also: []ast.Node{check},
					}
					if p.Worth(c) {
						f.Fixes = moved(p, block, st, check, value)
					}
					if f.Fixes != nil || !p.Told(p.Line(st.Pos()), p.Line(st.End())) {
						p.Report(st, c, f)
					}
				}
			}
			for i, st := range block.List {
				onlyInBranch(p, block.List[i+1:], st)
			}
		})
	},
}

// onlyInBranch is about a value that only the body of a later if statement needs: it is made on each call, whether that is run or not.
func onlyInBranch(p *advise.Pass, list []ast.Stmt, st ast.Stmt) {
	assign, ok := st.(*ast.AssignStmt)
	if !ok || assign.Tok != token.DEFINE || len(assign.Lhs) != 1 || len(assign.Rhs) != 1 {
		return
	}
	v, value := p.Local(assign.Lhs[0]), ast.Unparen(assign.Rhs[0])
	if v == nil || !canWait(p.Func, value) || flow.Captured(p.Func, v, p.Decl.Body) {
		return
	}
	i := slices.IndexFunc(list, func(s ast.Stmt) bool { return p.MentionsVar(s, v) })
	if i < 0 {
		return
	}
	check, ok := list[i].(*ast.IfStmt)
	if !ok || p.MentionsVar(check.Cond, v) || check.Init != nil && p.MentionsVar(check.Init, v) || check.Else != nil && p.MentionsVar(check.Else, v) ||
		slices.ContainsFunc(list[i+1:], func(s ast.Stmt) bool { return p.MentionsVar(s, v) }) {
		return
	}
	c := p.Cost(st, func(*cost.Chain) bool { return true })
	f := advise.Finding{
		Title:  "value made before a check that decides whether it is needed",
		Claim:  fmt.Sprintf("%s is made on each call, and needed only when %s", v.Name(), p.Src(check.Cond)),
		Advice: "make it behind the check",
		Risk:   "none", Safe: true,
		Also: []ast.Node{check},
	}
	same := operandsStay(p.Func, append(list[:i:i], check), value)
	switch {
	case !same:
		f.NoFix = missing.MayBeOther.Of(p.Src(value))
	case p.Worth(c):
		end := edit.NextLine(p.Func, st)
		text := p.Src(st) + edit.Comment(p.Func, st)
		at := check.Body.Lbrace + 1
		if first := p.Between(at, check.Body.List[0].Pos()); strings.HasPrefix(strings.TrimSpace(first), "//") && !strings.HasPrefix(strings.TrimLeft(first, " \t"), "\n") {
			at += token.Pos(strings.IndexByte(first, '\n')) // behind the comment on the condition
		}
		f.Fixes = p.Fix(report.Mechanical, "make it behind the check", edit.New(st.Pos(), end, ""), edit.New(at, at, "\n"+text))
	}
	if f.Fixes != nil || !p.Told(p.Line(st.Pos()), p.Line(st.End())) {
		p.Report(st, c, f)
	}
}

// canWait reports whether an expression costs something and can be evaluated later, or not at all, without anybody noticing, as long as its
// operands stay as they are.
func canWait(f *code.Func, e ast.Expr) bool {
	return waits(f, e, func(*ast.SelectorExpr) bool { return false })
}

// waits is canWait, where some fields of variables count as operands, too, be it through a pointer. Who says so has to know that they stay.
func waits(f *code.Func, e ast.Expr, isOperand func(*ast.SelectorExpr) bool) bool {
	if f.IsConst(e) {
		return false
	}
	costs, ok := false, true
	ast.Inspect(e, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.CallExpr:
			arg, to := f.Conversion(n)
			switch fn := f.Callee(n); {
			case arg != nil:
				costs = costs || kind.IsString(to) != kind.IsString(f.TypeOf(arg))
				ok = ok && !types.IsInterface(to)
			case f.Builtin(n, "len") != nil:
			case fn != nil && slices.Contains(canPanic, fn.FullName()):
				ok = false
			case fn != nil && (fn.FullName() == "fmt.Sprintf" || fn.FullName() == "fmt.Sprint"):
				costs = true
				ok = ok && !n.Ellipsis.IsValid() && !slices.ContainsFunc(n.Args, func(a ast.Expr) bool { return kind.Refers(f.TypeOf(a)) || kind.PrintsItself(f.TypeOf(a)) })
			case fn != nil && fn.Pkg() != f.Pkg.Types && steady.Pure(f, fn, 3): // those of the package may panic
				costs = true
				if sel, isSel := n.Fun.(*ast.SelectorExpr); isSel && f.Info().Selections[sel] != nil {
					ok = false // of a method, whose receiver may change
				}
			default:
				ok = false
			}
		case *ast.BinaryExpr:
			costs = costs || n.Op == token.ADD && kind.IsString(f.TypeOf(n))
			ok = ok && n.Op != token.QUO && n.Op != token.REM && n.Op != token.SHL && n.Op != token.SHR
		case *ast.IndexExpr, *ast.SliceExpr, *ast.StarExpr, *ast.TypeAssertExpr, *ast.FuncLit, *ast.CompositeLit:
			ok = false
		case *ast.UnaryExpr:
			ok = ok && n.Op != token.ARROW && n.Op != token.AND
		case *ast.SelectorExpr:
			if isOperand(n) {
				return false
			}
			if s := f.Info().Selections[n]; s != nil {
				ok = ok && s.Kind() == types.FieldVal && !s.Indirect()
			}
		case *ast.Ident:
			if v, isVar := f.Info().Uses[n].(*types.Var); isVar {
				ok = ok && (v.IsField() || f.Local(n) != nil) && !kind.Refers(v.Type())
			}
		}
		return ok
	})
	return costs && ok
}

// canPanic are functions that depend on nothing but their arguments, some of which they don't take.
var canPanic = []string{"strings.Repeat", "strconv.FormatInt", "strconv.FormatUint", "strings.NewReplacer"}

// operandsStay reports whether no variable of an expression gets another value in statements, in the head of the last of them, or in a function
// literal.
func operandsStay(f *code.Func, list []ast.Stmt, e ast.Expr) bool {
	vars := map[types.Object]bool{}
	ast.Inspect(e, func(n ast.Node) bool {
		if id, ok := n.(*ast.Ident); ok {
			if v, isVar := f.Info().Uses[id].(*types.Var); isVar {
				vars[v] = true
			}
		}
		return true
	})
	for v := range vars {
		if !v.(*types.Var).IsField() && (flow.Captured(f, v, f.Decl.Body) || flow.Addressed(f, v)) {
			return false
		}
	}
	is := func(o types.Object) bool { return vars[o] }
	if hidden(f, list, e) != "" {
		return false
	}
	for _, st := range list {
		if check, ok := st.(*ast.IfStmt); ok && st == list[len(list)-1] {
			return (check.Init == nil || !flow.Assigns(f, check.Init, is)) && !flow.Assigns(f, check.Cond, is)
		}
		if flow.Assigns(f, st, is) {
			return false
		}
	}
	return true
}

// hidden returns a name in an expression that means something else behind statements, which declare it anew, or in the body of the last of them; or "".
func hidden(f *code.Func, list []ast.Stmt, e ast.Expr) (name string) {
	for i, st := range list {
		if check, ok := st.(*ast.IfStmt); ok {
			if st = check.Init; i < len(list)-1 || st == nil {
				continue
			}
		}
		ast.Inspect(st, func(n ast.Node) bool {
			id, ok := n.(*ast.Ident)
			if _, isLit := n.(*ast.FuncLit); isLit || name != "" {
				return false
			}
			if ok && f.Info().Defs[id] != nil && mentionsName(e, id.Name) {
				name = id.Name
			}
			return true
		})
	}
	return name
}

// mentionsName reports whether a name is in an expression.
func mentionsName(e ast.Expr, name string) (found bool) {
	ast.Inspect(e, func(n ast.Node) bool {
		id, ok := n.(*ast.Ident)
		found = found || ok && id.Name == name
		return !found
	})
	return found
}

// allocated returns the variable that a statement declares with new memory, and its value.
func allocated(f *code.Func, st ast.Stmt) (*types.Var, ast.Expr) {
	assign, ok := st.(*ast.AssignStmt)
	if !ok || assign.Tok != token.DEFINE || len(assign.Lhs) != 1 || len(assign.Rhs) != 1 {
		return nil, nil
	}
	value := ast.Unparen(assign.Rhs[0])
	switch {
	case f.Builtin(value, "make") != nil, f.Builtin(value, "new") != nil, f.BytesOf(value) != nil, f.StringOf(value) != nil:
	case isNewStruct(value):
	default:
		arg, to := f.Conversion(value)
		if arg == nil || to.String() != "[]rune" {
			return nil, nil
		}
	}
	return f.Local(assign.Lhs[0]), value
}

// isNewStruct reports whether an expression is &T{}, without values.
func isNewStruct(e ast.Expr) bool {
	ref, ok := e.(*ast.UnaryExpr)
	if !ok || ref.Op != token.AND {
		return false
	}
	lit, ok := ref.X.(*ast.CompositeLit)
	return ok && len(lit.Elts) == 0
}

// unneeded returns the first statement that is a check after which the function returns, when neither it nor what is before it
// needs a variable. A function that returns an error is on no path that is taken often.
func unneeded(f *code.Func, list []ast.Stmt, v *types.Var) *ast.IfStmt {
	for _, st := range list {
		if f.MentionsVar(st, v) {
			return nil
		}
		check, ok := st.(*ast.IfStmt)
		if !ok {
			if _, ok := st.(*ast.AssignStmt); ok {
				continue
			}
			return nil
		}
		if check.Else != nil || len(check.Body.List) == 0 {
			return nil
		}
		ret, ok := check.Body.List[len(check.Body.List)-1].(*ast.ReturnStmt)
		if !ok {
			return nil
		}
		if n := len(ret.Results); n > 0 && !f.Info().Types[ret.Results[n-1]].IsNil() {
			if t := f.TypeOf(ret.Results[n-1]); t != nil && types.Implements(t, types.Universe.Lookup("error").Type().Underlying().(*types.Interface)) {
				return nil
			}
		}
		return check
	}
	return nil
}

// moved is a fix that allocates behind the check.
func moved(p *advise.Pass, block *ast.BlockStmt, st ast.Stmt, check *ast.IfStmt, value ast.Expr) []report.Fix {
	args := []ast.Expr{}
	if call, ok := value.(*ast.CallExpr); ok {
		if args = call.Args; p.Builtin(call, "make") != nil {
			for _, size := range args[1:] {
				if !neverNegative(p.Func, size) {
					return p.No(missing.MayBeNegative, p.Src(size))
				}
			}
			args = args[1:]
		} else if p.Builtin(call, "new") != nil {
			args = nil
		}
	}
	from, to := slices.Index(block.List, st), slices.Index(block.List, ast.Stmt(check))
	// What is behind the check does not see what its head declares.
	if name := hidden(p.Func, append(slices.Clone(block.List[from+1:to]), &ast.IfStmt{}), value); name != "" {
		return p.No(missing.AnotherName, name)
	}
	quiet := !slices.ContainsFunc(block.List[from+1:to], func(st ast.Stmt) bool { return !changesNothing(p.Func, st) }) &&
		(check.Init == nil || changesNothing(p.Func, check.Init)) && changesNothing(p.Func, check.Cond)
	for _, a := range args {
		if !flow.Simple(p.Func, a) {
			return p.No(missing.MayBeOther, p.Src(a))
		}
		if root, lasting := lasts(p.Func, block.List[:from], a); !lasting || !quiet && root {
			return p.No(missing.MayChangeBefore, p.Src(a))
		}
		used := map[types.Object]bool{}
		ast.Inspect(a, func(n ast.Node) bool {
			if id, ok := n.(*ast.Ident); ok {
				if o, isVar := p.Info().Uses[id].(*types.Var); isVar {
					used[o] = true
				}
			}
			return true
		})
		if t := p.TypeOf(a); !quiet && kind.Refers(t) && p.Builtin(value, "make") == nil {
			return p.No(missing.MayChangeBefore, p.Src(a)) // the bytes of it
		}
		for _, between := range block.List[from+1 : to+1] {
			if flow.Assigns(p.Func, between, func(o types.Object) bool { return used[o] }) {
				return p.No(missing.ChangesBefore, p.Src(a))
			}
		}
	}
	end := st.End() // of a comment behind it, which belongs to it
	for _, group := range p.File.AST.Comments {
		if group.Pos() > st.End() && p.Line(group.Pos()) == p.Line(st.End()) {
			end = group.List[0].End()
		}
	}
	text := string(p.File.Text[p.File.Tok.Offset(st.Pos()):p.File.Tok.Offset(end)])
	return p.Fix(report.Mechanical, "allocate it behind the check", edit.New(st.Pos(), min(end+1, p.File.AST.FileEnd), ""), edit.After(check, "\n"+text))
}

// lasts reports whether an expression can be evaluated later than behind some statements, as long as what is run until then changes nothing that it names:
// it looks through no pointer that may be nil. It says, too, whether something else than assignments to its variables may change what it is.
func lasts(f *code.Func, before []ast.Stmt, e ast.Expr) (byOthers, ok bool) {
	ok = true
	ast.Inspect(e, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.SelectorExpr:
			s := f.Info().Selections[n]
			if s == nil || s.Kind() != types.FieldVal { // of another package
				byOthers = true
				return false
			}
			if v := f.Local(n.X); s.Indirect() {
				byOthers = true
				ok = ok && v != nil && len(s.Index()) == 1 && slices.ContainsFunc(before, func(st ast.Stmt) bool { return v.Pos() < st.Pos() && flow.LooksInto(f, st, v) })
			}
		case *ast.Ident:
			if v, isVar := f.Info().Uses[n].(*types.Var); isVar && !v.IsField() {
				byOthers = byOthers || f.Local(n) == nil || flow.Captured(f, v, f.Decl.Body) || flow.Addressed(f, v)
			}
		}
		return true
	})
	return byOthers, ok
}

// changesNothing reports whether a node calls nothing but what depends on its arguments alone, waits for nothing, and assigns to nothing but variables
// of the function.
func changesNothing(f *code.Func, n ast.Node) bool {
	ok := true
	ast.Inspect(n, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.CallExpr:
			if !f.Info().Types[n.Fun].IsType() && f.Builtin(n, "len") == nil && f.Builtin(n, "cap") == nil {
				ok = ok && steady.Pure(f, f.Callee(n), 3)
			}
		case *ast.UnaryExpr:
			ok = ok && n.Op != token.ARROW
		case *ast.AssignStmt:
			for _, l := range n.Lhs {
				ok = ok && (code.IsBlank(l) || f.Local(l) != nil && !flow.Addressed(f, f.Local(l)) && !flow.Captured(f, f.Local(l), f.Decl.Body))
			}
		case *ast.IncDecStmt, *ast.FuncLit, *ast.GoStmt, *ast.SendStmt:
			ok = false
		}
		return ok
	})
	return ok
}

// neverNegative reports whether a size is made of lengths and constants that are none.
func neverNegative(f *code.Func, e ast.Expr) bool {
	e = ast.Unparen(e)
	if v := f.Info().Types[e].Value; v != nil {
		return v.ExactString()[0] != '-'
	}
	switch e := e.(type) {
	case *ast.CallExpr:
		return f.Builtin(e, "len") != nil || f.Builtin(e, "cap") != nil
	case *ast.BinaryExpr:
		return (e.Op == token.ADD || e.Op == token.MUL || e.Op == token.QUO) && neverNegative(f, e.X) && neverNegative(f, e.Y)
	}
	return false
}

func isText(t types.Type) bool {
	b, ok := t.Underlying().(*types.Basic)
	return ok && b.Info()&types.IsString != 0
}
