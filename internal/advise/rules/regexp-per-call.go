package rules

import (
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"regexp"
	"slices"
	"strings"

	"github.com/hone-perf/hone/internal/advise"
	"github.com/hone-perf/hone/internal/advise/facts/code"
	"github.com/hone-perf/hone/internal/advise/facts/cost"
	"github.com/hone-perf/hone/internal/advise/facts/edit"
	"github.com/hone-perf/hone/internal/advise/facts/text"
	"github.com/hone-perf/hone/internal/report"
	"github.com/hone-perf/hone/internal/report/missing"
)

var regexpPerCall = &advise.Rule{
	Name: "regexp-per-call", Rank: 22, PerCall: true,
	Doc: "a regular expression that is always the same is compiled on every call",

	NoFix: missing.SamePattern,
	Find: func(p *advise.Pass) {
		advise.Each(p, func(call *ast.CallExpr) {
			switch {
			case p.Calls(call, "regexp.MustCompile", "regexp.MustCompilePOSIX", "regexp.Compile", "regexp.CompilePOSIX") != nil:
				compiledRegexp(p, call)
			case p.Calls(call, "regexp.MatchString", "regexp.Match", "regexp.MatchReader") != nil:
				matchedRegexp(p, call)
			}
		})
	},
}

// compiling is what compiling a regular expression costs.
var compiling = []string{"regexp.compile", "regexp.Compile", "regexp.MustCompile", "regexp.CompilePOSIX", "regexp.MustCompilePOSIX"}

func compiledRegexp(p *advise.Pass, call *ast.CallExpr) {
	name := p.Callee(call).Name()
	pattern, ok := p.Text(call.Args[0])
	f := advise.Finding{
		Title:  "regexp compiled on every call",
		Callee: "regexp." + name,
		Risk:   "the regexp is then compiled when the program starts, whether it is needed or not",
	}
	c := p.Cost(call, cost.Below("regexp."+name))
	if !ok {
		f.Claim = fmt.Sprintf("regexp.%s parses and compiles a pattern that is not known before; if there are few different ones, each is compiled many times", name)
		byPattern(p, call, c, f)
		return
	}
	f.Claim = fmt.Sprintf("regexp.%s parses and compiles %s on each call; a Regexp is safe for concurrent use and never changes, so one is enough", name, text.ShownPattern(pattern))
	f.Advice = "compile it once, in a package variable"
	compile := regexp.Compile
	if strings.HasSuffix(name, "POSIX") {
		compile = regexp.CompilePOSIX
	}
	switch _, err := compile(pattern); {
	case err != nil:
		f.NoFix = missing.PatternEndsProgram.Of()
	case newerPattern(p, pattern).Fact != "":
		f.NoFix = newerPattern(p, pattern)
	case p.Mentions("Longest"):
		f.NoFix = missing.Longest.Of()
	case notShared(p, call).Fact != "":
		f.NoFix = notShared(p, call)
	case !strings.HasPrefix(name, "Must"):
		f.Fixes, f.NoFix = compiledOnce(p, call)
	default:
		edits := movedOut(p, call)
		if edits == nil {
			v := p.NewName(text.LowerFirst(p.Decl.Name.Name) + "RE")
			edits = []edit.Edit{edit.Declare(p.Func, "var "+v+" = "+edit.Outer(p.Func, call)), edit.Replace(call, v)}
		}
		f.Fixes = p.Fix(report.Mechanical, "compile it once, in a package variable", edits...)
	}
	p.Report(call, c, f)
}

// newerPattern says what of a pattern the Go of the module need not know, with which the program would panic at start.
func newerPattern(p *advise.Pass, pattern string) missing.Reason {
	const named = 22
	if strings.Contains(pattern, "(?<") && !p.Pkg.AtLeast(named) {
		return missing.OlderGo.Of(named, "(?<name>) in patterns")
	}
	return missing.Reason{}
}

// notShared says why a regular expression that each call has for itself cannot be one for all of them: somebody may change it, or hand it on.
func notShared(p *advise.Pass, e ast.Expr) missing.Reason {
	up := p.Parent(e)
	for paren, ok := up.(*ast.ParenExpr); ok; paren, ok = up.(*ast.ParenExpr) {
		e, up = paren, p.Parent(paren)
	}
	changed := missing.MayBeChangedOrKept.Of("the Regexp")
	switch up := up.(type) {
	case *ast.SelectorExpr:
		if up.Sel.Name != "UnmarshalText" {
			return missing.Reason{}
		}
	case *ast.AssignStmt:
		v := p.Local(up.Lhs[0])
		if slices.Contains(up.Lhs, e) || code.IsBlank(up.Lhs[0]) || len(up.Rhs) == 1 && v == nil && up.Tok == token.DEFINE {
			return missing.Reason{} // it gets another value, or none has it
		}
		if v == nil || len(up.Rhs) > 1 {
			return changed
		}
		for _, id := range p.Uses(v) {
			if p.Parent(id) != ast.Node(up) {
				if why := notShared(p, id); why.Fact != "" {
					return why
				}
			}
		}
		return missing.Reason{}
	case *ast.ReturnStmt:
		if p.Pkg.Name == "main" || !p.Decl.Name.IsExported() || p.Literal(up) != nil {
			return missing.Reason{}
		}
		return missing.ResultMayChange.Of()
	case *ast.CallExpr:
		if fn := p.Callee(up); fn != nil && fn.Pkg() == p.Pkg.Types && !p.Pkg.Calls("(*regexp.Regexp).UnmarshalText") && !types.IsInterface(p.TypeOf(e)) && takesAsIs(fn, slices.Index(up.Args, e)) {
			return missing.Reason{}
		}
	case *ast.BinaryExpr:
		if p.Info().Types[up.X].IsNil() || p.Info().Types[up.Y].IsNil() {
			return missing.Reason{}
		}
	case *ast.ExprStmt:
		return missing.Reason{}
	}
	return changed
}

// takesAsIs reports whether a parameter of a function is a pointer, and no interface, where somebody else may find out what it is.
func takesAsIs(fn *types.Func, i int) bool {
	sig := fn.Signature()
	if i < 0 || i >= sig.Params().Len() || sig.Variadic() && i == sig.Params().Len()-1 {
		return false
	}
	_, ok := sig.Params().At(i).Type().Underlying().(*types.Pointer)
	return ok
}

// byPattern reports a call whose pattern is not constant.
func byPattern(p *advise.Pass, call *ast.CallExpr, c cost.Cost, f advise.Finding) {
	f.Advice = "keep what was compiled, by pattern, in a map of limited size behind a mutex, or in a sync.Map"
	f.Risk = "a map of patterns that users send grows without end, unless it has a limit"
	f.NoFix = missing.ConstantPattern.Of(p.Src(call.Args[0]))
	p.Report(call, c, f)
}

// movedOut are edits that make a package variable of the local one that a call is the value of, under its name where that says enough for a package,
// else under that of the function; nil where there is none, or it gets other values.
func movedOut(p *advise.Pass, call *ast.CallExpr) []edit.Edit {
	const enough = 4 // letters
	assign, ok := p.Parent(call).(*ast.AssignStmt)
	if !ok || assign.Tok != token.DEFINE || len(assign.Lhs) != 1 || p.Statement(assign) != ast.Stmt(assign) {
		return nil
	}
	re := p.Local(assign.Lhs[0])
	if re == nil {
		return nil
	}
	uses := p.Uses(re)
	for _, use := range uses {
		switch up := p.Parent(use).(type) {
		case *ast.AssignStmt:
			if slices.Contains(up.Lhs, ast.Expr(use)) {
				return nil
			}
		case *ast.UnaryExpr:
			if up.Op == token.AND {
				return nil
			}
		}
	}
	var v string
	if len(re.Name()) < enough {
		v = p.NewName(text.LowerFirst(p.Decl.Name.Name) + "RE")
	} else {
		v = p.OuterName(re)
	}
	edits := []edit.Edit{edit.Declare(p.Func, "var "+v+" = "+edit.Outer(p.Func, call)+edit.Comment(p.Func, assign)), edit.New(assign.Pos(), edit.NextLine(p.Func, assign), "")}
	for _, use := range uses {
		if v != re.Name() {
			edits = append(edits, edit.Replace(use, v))
		}
	}
	return edits
}

// compiledOnce is a fix for re, err := regexp.Compile("…"), or why there is none: the pattern is good, so the check of the error goes, and the
// package variable is named where the local one was.
func compiledOnce(p *advise.Pass, call *ast.CallExpr) ([]report.Fix, missing.Reason) {
	name := p.Callee(call).Name()
	assign, ok := p.Parent(call).(*ast.AssignStmt)
	if !ok || assign.Tok != token.DEFINE || len(assign.Lhs) != 2 || code.IsBlank(assign.Lhs[0]) {
		return nil, missing.ErrorForVariable.Of(name)
	}
	v := p.NewName(text.LowerFirst(p.Decl.Name.Name) + "RE")
	edits := []edit.Edit{
		edit.Declare(p.Func, "var "+v+" = "+p.Src(call.Fun.(*ast.SelectorExpr).X)+"."+strings.Replace(name, "Compile", "MustCompile", 1)+"("+edit.Outer(p.Func, call.Args[0])+")"),
		edit.New(assign.Pos(), edit.NextLine(p.Func, assign), ""),
	}
	if !code.IsBlank(assign.Lhs[1]) {
		unchecked, why := withoutCheck(p, assign)
		if why.Fact != "" {
			return nil, why
		}
		edits = append(edits, unchecked...)
	}
	re := p.Local(assign.Lhs[0])
	if re == nil || p.Info().Defs[code.AsIdent(assign.Lhs[0])] == nil {
		return nil, missing.ErrorForVariable.Of(name)
	}
	for _, use := range p.Uses(re) {
		if set, ok := p.Parent(use).(*ast.AssignStmt); ok && slices.Contains(set.Lhs, ast.Expr(use)) {
			return nil, missing.ErrorForVariable.Of(name)
		}
		edits = append(edits, edit.Replace(use, v))
	}
	return p.Fix(report.Mechanical, "compile it once, in a package variable", edits...), missing.Reason{}
}

// matchedRegexp is about the functions that compile and match in one.
func matchedRegexp(p *advise.Pass, call *ast.CallExpr) {
	name := p.Callee(call).Name()
	pattern, ok := p.Text(call.Args[0])
	f := advise.Finding{
		Title:  "regexp compiled on every call",
		Callee: "regexp.Compile",
		Risk:   "the regexp is then compiled when the program starts, whether it is needed or not",
	}
	c := p.Cost(call, func(c *cost.Chain) bool { return c.First() == "regexp."+name && c.Has(compiling...) })
	if !ok {
		f.Claim = fmt.Sprintf("regexp.%s compiles its pattern for every call", name)
		byPattern(p, call, c, f)
		return
	}
	f.Claim = fmt.Sprintf("regexp.%s compiles %s before it matches, for every call; a Regexp is safe for concurrent use, so one is enough", name, text.ShownPattern(pattern))
	f.Advice = "compile it once, in a package variable, and call its method"
	// The error is always nil when the pattern is good.
	assign, isAssign := p.Parent(call).(*ast.AssignStmt)
	switch _, err := regexp.Compile(pattern); {
	case err != nil:
		f.NoFix = missing.PatternReturnsError.Of()
	case newerPattern(p, pattern).Fact != "":
		f.NoFix = newerPattern(p, pattern)
	case !isAssign || len(assign.Lhs) != 2 || len(assign.Rhs) != 1 || code.IsBlank(assign.Lhs[0]):
		f.NoFix = missing.ErrorIsUsed.Of(name)
	default:
		var unchecked []edit.Edit
		if !code.IsBlank(assign.Lhs[1]) {
			if unchecked, f.NoFix = withoutCheck(p, assign); f.NoFix.Fact != "" {
				break
			}
		}
		v := p.NewName(text.LowerFirst(p.Decl.Name.Name) + "RE")
		pkg := p.Src(call.Fun.(*ast.SelectorExpr).X)
		edits := []edit.Edit{edit.Declare(p.Func, "var "+v+" = "+pkg+".MustCompile("+edit.Outer(p.Func, call.Args[0])+")")}
		if not, check := condition(p, assign); check != nil {
			edits = append(edits, edit.New(check.Init.Pos(), call.Args[1].Pos(), not+v+"."+name+"("), edit.New(call.End(), check.Cond.End(), ""))
		} else {
			edits = append(append(edits, unchecked...), edit.New(assign.Lhs[0].End(), assign.Lhs[1].End(), ""), edit.New(call.Pos(), call.Args[1].Pos(), v+"."+name+"("))
		}
		f.Fixes = p.Fix(report.Mechanical, "compile it once, in a package variable", edits...)
	}
	p.Report(call, c, f)
}

// condition returns the if statement that declares a variable for nothing but its condition: if ok, _ := f(); ok, or !ok. Then the call
// can be the condition.
func condition(p *advise.Pass, assign *ast.AssignStmt) (not string, check *ast.IfStmt) {
	check, isIf := p.Parent(assign).(*ast.IfStmt)
	if !isIf || check.Init != assign || assign.Tok != token.DEFINE {
		return "", nil
	}
	cond := check.Cond
	if negated, ok := cond.(*ast.UnaryExpr); ok && negated.Op == token.NOT {
		not, cond = "!", negated.X
	}
	used, ok := cond.(*ast.Ident)
	if !ok || len(p.Func.Uses(p.Info().Uses[used])) != 1 || p.Info().Defs[assign.Lhs[0].(*ast.Ident)] != p.Info().Uses[used] {
		return "", nil
	}
	return not, check
}

// withoutCheck returns edits that leave out the check of an error that is always nil, or why that cannot be done. The error is the second
// thing that a statement declares, and the check comes next.
func withoutCheck(p *advise.Pass, st *ast.AssignStmt) (edits []edit.Edit, why missing.Reason) {
	err := p.Local(st.Lhs[1])
	if err == nil || p.Info().Defs[code.AsIdent(st.Lhs[1])] == nil {
		return nil, missing.ErrorShared.Of()
	}
	block, ok := p.Parent(st).(*ast.BlockStmt)
	if !ok {
		return nil, missing.ErrorNotChecked.Of()
	}
	i := slices.Index(block.List, ast.Stmt(st))
	var check *ast.IfStmt
	if i+1 < len(block.List) {
		check, _ = block.List[i+1].(*ast.IfStmt)
	}
	if check == nil || check.Init != nil || check.Else != nil || p.Src(check.Cond) != err.Name()+" != nil" {
		return nil, missing.ErrorNotChecked.Of()
	}
	for _, id := range p.Uses(err) {
		if !code.Within(id, check) {
			return nil, missing.ErrorUsedAgain.Of()
		}
	}
	return []edit.Edit{edit.New(check.Pos(), edit.NextLine(p.Func, check), "")}, missing.Reason{}
}
