package advise

import (
	"cmp"
	"fmt"
	"go/ast"
	"go/constant"
	"go/token"
	"go/types"
	"regexp"
	"slices"
	"strings"

	"golang.org/x/tools/go/types/typeutil"

	"github.com/hone-perf/hone/internal/hint"
	"github.com/hone-perf/hone/internal/query"
	"github.com/hone-perf/hone/internal/report"
)

// A Rule knows one way in which programs do too much.
type Rule struct {
	Name string // what findings are called: regexp-per-call
	Doc  string // one line: what is wrong with it
	Rank int    // in the catalogue of patterns, by how often people mend it; 0 when it is not in there

	NoFix   string // one sentence: why a finding has no patch, where no check says more
	Vague   bool   // what it costs is known, and not how much of that can be saved
	Last    bool   // it looks at functions, and is ranked, when all others have had their say
	Story   bool   // the compiler is asked why what it finds is on the heap, even far down the list
	PerCall bool   // it is about what is done anew for each call, so it has nothing to say where code runs once

	// Find looks at a function that costs something, and reports what it finds in it.
	Find func(p *Pass)
}

// A function is a function of a package.
type function struct {
	unit *unit
	file *file
	decl *ast.FuncDecl
	name string // as profiles name it

	parents map[ast.Node]ast.Node
}

// in returns another function of the package, which is in a file of it.
func (p *function) in(f *file, decl *ast.FuncDecl) *function {
	return &function{unit: p.unit, file: f, decl: decl, name: p.name}
}

// A costly function is one of which some line costs something.
type costly struct {
	*function
	lines map[int]*Line
	doubt string // about its lines
}

// A Pass is a rule that looks at a function.
type Pass struct {
	*costly
	Rule  *Rule
	costs *costs
	all   []*costly // functions that are looked at
	least float64   // share below which nothing is said

	tree    *tree
	said    *adviser                         // what rules have found so far
	debug   func(format string, args ...any) // nil but in tests
	imports []string                         // that the fix at hand needs
	why     string                           // why there is no fix: which check did not hold
}

// at returns a pass over another function that is looked at.
func (p *Pass) at(f *costly) *Pass {
	q := *p
	q.costly = f
	return &q
}

// inFile returns a pass that changes another file of the package.
func (p *Pass) inFile(f *file) *Pass {
	return p.at(&costly{function: p.in(f, p.decl), doubt: p.doubt})
}

// ofPackage returns the functions of the package that are looked at.
func (p *Pass) ofPackage() (out []*costly) {
	for _, f := range p.all {
		if f.unit == p.unit {
			out = append(out, f)
		}
	}
	return out
}

// told reports whether a rule has spoken of lines of the file.
func (p *Pass) told(from, to int) bool { return p.said.told(p.file.name, from, to) }

// toldObjects reports whether a rule has spoken of objects that lines of the file make.
func (p *Pass) toldObjects(from, to int) bool { return p.said.toldObjects(p.file.name, from, to) }

// knows reports whether a rule has spoken of what a function calls.
func (p *Pass) knows(fn, callee string) bool { return p.said.knows(fn, callee) }

// no says which check did not hold, and that there is no fix.
func (p *Pass) no(format string, args ...any) []report.Fix {
	p.why = fmt.Sprintf(format, args...)
	return nil
}

func (p *function) info() *types.Info { return p.unit.TypesInfo }

// need says that the next fix needs imports.
func (p *Pass) need(imports ...string) { p.imports = append(p.imports, imports...) }

// line returns the line that a place is in.
func (p *function) line(at token.Pos) int { return p.file.tok.Line(at) }

// src returns the text of a node.
func (p *function) src(n ast.Node) string {
	return string(p.file.text[p.file.tok.Offset(n.Pos()):p.file.tok.Offset(n.End())])
}

// cost adds up what the lines of a node cost, where what is below them matches.
func (p *Pass) cost(n ast.Node, match func(*chain) bool) (out cost) {
	for l := p.line(n.Pos()); l <= p.line(n.End()); l++ {
		v := p.lines[l].sum(match)
		out.add(&v)
	}
	return out
}

// worth reports whether a cost is enough for a finding. Where it is not, there need be no patch: each is compiled, which takes as long as
// compiling the package.
func (p *Pass) worth(c cost) bool { return p.costs.share(&c) >= p.least }

// total adds up what the function costs, where what is below a line matches. A stack counts once.
func (p *Pass) total(match func(*chain) bool) (out cost) {
	for _, l := range p.lines {
		v := l.sum(func(c *chain) bool { return match(c) && !p.again(c) })
		out.add(&v)
	}
	return out
}

// again reports whether the function is once more below its line.
func (p *function) again(c *chain) bool {
	return slices.ContainsFunc(c.below, func(b string) bool {
		rest, ok := strings.CutPrefix(b, p.name)
		return ok && (rest == "" || rest[0] == '.')
	})
}

// below is what calls of functions cost: those that the line calls first.
func below(names ...string) func(*chain) bool {
	return func(c *chain) bool { return slices.Contains(names, c.first()) }
}

// through is what passes one of some functions anywhere.
func through(names ...string) func(*chain) bool {
	return func(c *chain) bool { return c.has(names...) }
}

// calling is what passes the callee of a call, which may be a method of an interface.
func (p *function) calling(call *ast.CallExpr) func(*chain) bool {
	fn := p.callee(call)
	if fn == nil {
		return func(*chain) bool { return false }
	}
	if recv := fn.Signature().Recv(); recv != nil && types.IsInterface(recv.Type()) {
		return func(c *chain) bool { return strings.HasSuffix(c.first(), "."+fn.Name()) && !isRuntime(c.first()) }
	}
	name := p.profileName(fn)
	return func(c *chain) bool { return c.first() == name }
}

// allocates is what a line allocates by itself: heap profiles leave out the functions of the runtime that do it, CPU
// profiles have them.
func allocates(leaves ...string) func(*chain) bool {
	return func(c *chain) bool {
		if len(c.below) == 0 {
			return !c.onCPU
		}
		return c.direct() && (len(leaves) == 0 && c.has("runtime.mallocgc", "runtime.newobject") || slices.ContainsFunc(c.below, func(b string) bool {
			return slices.ContainsFunc(leaves, func(l string) bool { return strings.HasPrefix(b, "runtime."+l) })
		}))
	}
}

// either is what one of some matches.
func either(matches ...func(*chain) bool) func(*chain) bool {
	return func(c *chain) bool {
		return slices.ContainsFunc(matches, func(m func(*chain) bool) bool { return m(c) })
	}
}

// profileName returns the name that profiles have for a function.
func (p *function) profileName(fn *types.Func) string {
	fn = fn.Origin()
	pkg := ""
	if fn.Pkg() != nil {
		pkg = fn.Pkg().Path()
		if pkg == p.unit.PkgPath {
			pkg = packageOf(p.name) // main, where it is a command
		}
	}
	recv := fn.Signature().Recv()
	if recv == nil {
		return pkg + "." + fn.Name()
	}
	t := recv.Type()
	star := false
	if ptr, ok := types.Unalias(t).(*types.Pointer); ok {
		t, star = ptr.Elem(), true
	}
	name := "?"
	if n, ok := types.Unalias(t).(*types.Named); ok {
		name = n.Obj().Name()
	}
	if star {
		return pkg + ".(*" + name + ")." + fn.Name()
	}
	return pkg + "." + name + "." + fn.Name()
}

// callee returns the function or method that is called, or nil for what is only known at run time.
func (p *function) callee(call *ast.CallExpr) *types.Func {
	fn, _ := typeutil.Callee(p.info(), call).(*types.Func)
	return fn
}

// calls reports whether a call is one of some functions, written as types.Func has them: strings.Split, (*log.Logger).Printf.
func (p *function) calls(n ast.Node, names ...string) *ast.CallExpr {
	call, ok := n.(*ast.CallExpr)
	if !ok {
		return nil
	}
	fn := p.callee(call)
	if fn == nil || !slices.Contains(names, fn.Origin().FullName()) {
		return nil
	}
	return call
}

// builtin reports whether a call is one of a builtin function.
func (p *function) builtin(n ast.Node, name string) *ast.CallExpr {
	call, ok := n.(*ast.CallExpr)
	if !ok {
		return nil
	}
	b, ok := typeutil.Callee(p.info(), call).(*types.Builtin)
	if !ok || b.Name() != name {
		return nil
	}
	return call
}

// conversion returns what is converted, and to what, when a node is a conversion.
func (p *function) conversion(n ast.Node) (arg ast.Expr, to types.Type) {
	call, ok := n.(*ast.CallExpr)
	if !ok || len(call.Args) != 1 || !p.info().Types[call.Fun].IsType() {
		return nil, nil
	}
	return call.Args[0], p.info().Types[call.Fun].Type
}

// bytesOf returns the string that a node makes bytes of: s in []byte(s).
func (p *function) bytesOf(n ast.Node) ast.Expr {
	if arg, to := p.conversion(n); arg != nil && isBytes(to) && isString(p.typeOf(arg)) {
		return arg
	}
	return nil
}

// stringOf returns the bytes that a node makes a string of: b in string(b).
func (p *function) stringOf(n ast.Node) ast.Expr {
	if arg, to := p.conversion(n); arg != nil && isString(to) && isBytes(p.typeOf(arg)) {
		return arg
	}
	return nil
}

func (p *function) typeOf(e ast.Expr) types.Type { return p.info().TypeOf(e) }

func isBytes(t types.Type) bool {
	if t == nil {
		return false
	}
	s, ok := t.Underlying().(*types.Slice)
	if !ok {
		return false
	}
	b, ok := s.Elem().Underlying().(*types.Basic)
	return ok && b.Kind() == types.Byte
}

func isString(t types.Type) bool { return isBasic(t, types.IsString) }

func isBasic(t types.Type, what types.BasicInfo) bool {
	if t == nil {
		return false
	}
	b, ok := t.Underlying().(*types.Basic)
	return ok && b.Info()&what != 0
}

// text returns the value of a constant string.
func (p *function) text(e ast.Expr) (string, bool) {
	v := p.info().Types[e].Value
	if v == nil || v.Kind() != constant.String {
		return "", false
	}
	return constant.StringVal(v), true
}

func (p *function) isConst(e ast.Expr) bool { return p.info().Types[e].Value != nil }

// local returns the variable of the function that an expression is, or nil.
func (p *function) local(e ast.Expr) *types.Var {
	id, ok := ast.Unparen(e).(*ast.Ident)
	if !ok {
		return nil
	}
	v, ok := p.info().ObjectOf(id).(*types.Var)
	if !ok || v.IsField() || v.Parent() == nil || v.Parent() == p.unit.Types.Scope() || v.Pos() < p.decl.Pos() || v.Pos() >= p.decl.End() {
		return nil
	}
	return v
}

// isParam reports whether a variable is a parameter, receiver or result.
func (p *function) isParam(v *types.Var) bool {
	return p.decl.Body != nil && v.Pos() < p.decl.Body.Pos()
}

// parent returns what a node is in.
func (p *function) parent(n ast.Node) ast.Node {
	if p.parents == nil {
		p.parents = map[ast.Node]ast.Node{}
		var stack []ast.Node
		ast.Inspect(p.decl, func(n ast.Node) bool {
			if n == nil {
				stack = stack[:len(stack)-1]
				return true
			}
			if len(stack) > 0 {
				p.parents[n] = stack[len(stack)-1]
			}
			stack = append(stack, n)
			return true
		})
	}
	return p.parents[n]
}

// statement returns the statement of a list that a node is in: something can be put before it.
func (p *function) statement(n ast.Node) ast.Stmt {
	for ; n != nil; n = p.parent(n) {
		s, ok := n.(ast.Stmt)
		if !ok {
			continue
		}
		switch up := p.parent(n).(type) {
		case *ast.BlockStmt:
			return s
		case *ast.CaseClause:
			if slices.Contains(up.Body, s) {
				return s
			}
		case *ast.CommClause:
			if slices.Contains(up.Body, s) {
				return s
			}
		}
	}
	return nil
}

// loop returns the innermost loop that a node is in, within its function; nil when it is in none.
func (p *function) loop(n ast.Node) ast.Stmt {
	inner := n
	for n = p.parent(n); n != nil; inner, n = n, p.parent(n) {
		switch l := n.(type) {
		case *ast.ForStmt:
			if inner == l.Body || inner == l.Post || inner == l.Cond {
				return l
			}
		case *ast.RangeStmt:
			if inner == l.Body {
				return l
			}
		case *ast.FuncLit:
			return nil
		}
	}
	return nil
}

// funcOf returns the body of the function or function literal that a node is in.
func (p *function) funcOf(n ast.Node) *ast.BlockStmt {
	for n = p.parent(n); n != nil; n = p.parent(n) {
		if lit, ok := n.(*ast.FuncLit); ok {
			return lit.Body
		}
	}
	return p.decl.Body
}

// uses returns where a variable is named, but for where it is declared.
func (p *function) uses(v types.Object) (out []*ast.Ident) {
	ast.Inspect(p.decl, func(n ast.Node) bool {
		if id, ok := n.(*ast.Ident); ok && p.info().Uses[id] == v {
			out = append(out, id)
		}
		return true
	})
	return out
}

// each calls look for each node of a kind in the function.
func each[N ast.Node](p *Pass, look func(N)) {
	ast.Inspect(p.decl, func(n ast.Node) bool {
		if x, ok := n.(N); ok {
			p.why = "" // that is of another node
			look(x)
		}
		return true
	})
}

// simple reports whether an expression can be evaluated again, or at another time, without anybody noticing, as long as its
// variables stay as they are: no calls, no receiving, no indexing that may fail.
func (p *function) simple(e ast.Expr) bool {
	ok := true
	ast.Inspect(e, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.CallExpr:
			if p.builtin(n, "len") == nil && p.builtin(n, "cap") == nil && !p.info().Types[n.Fun].IsType() {
				ok = false
			}
		case *ast.UnaryExpr:
			ok = ok && n.Op != token.ARROW
		case *ast.IndexExpr, *ast.SliceExpr, *ast.StarExpr, *ast.TypeAssertExpr, *ast.FuncLit, *ast.CompositeLit:
			ok = false
		case *ast.SelectorExpr:
			if s := p.info().Selections[n]; s != nil && s.Indirect() && p.local(n.X) == nil {
				ok = false
			}
		}
		return ok
	})
	return ok
}

// assigns reports whether something in a node gives one of some variables a value, or takes its address.
func (p *function) assigns(in ast.Node, is func(types.Object) bool) bool {
	found := false
	hit := func(e ast.Expr) {
		for {
			switch x := ast.Unparen(e).(type) {
			case *ast.IndexExpr:
				e = x.X
				continue
			case *ast.SelectorExpr:
				if o := p.info().ObjectOf(x.Sel); o != nil && is(o) {
					found = true
				}
				e = x.X
				continue
			case *ast.StarExpr:
				e = x.X
				continue
			case *ast.SliceExpr:
				e = x.X
				continue
			case *ast.Ident:
				if o := p.info().ObjectOf(x); o != nil && is(o) {
					found = true
				}
			}
			return
		}
	}
	ast.Inspect(in, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.AssignStmt:
			for _, l := range n.Lhs {
				hit(l)
			}
		case *ast.IncDecStmt:
			hit(n.X)
		case *ast.RangeStmt:
			if n.Key != nil {
				hit(n.Key)
			}
			if n.Value != nil {
				hit(n.Value)
			}
		case *ast.UnaryExpr:
			if n.Op == token.AND {
				hit(n.X)
			}
		case *ast.CallExpr: // of a method with a pointer receiver
			if s, ok := n.Fun.(*ast.SelectorExpr); ok {
				if sel := p.info().Selections[s]; sel != nil && sel.Kind() == types.MethodVal {
					if fn, ok := sel.Obj().(*types.Func); ok {
						_, pointer := fn.Signature().Recv().Type().(*types.Pointer)
						if _, is := types.Unalias(sel.Recv()).(*types.Pointer); pointer && !is {
							hit(s.X)
						}
					}
				}
			}
		}
		return !found
	})
	return found
}

// captured reports whether a variable is used in a function literal inside of a node.
func (p *function) captured(v types.Object, in ast.Node) bool {
	found := false
	ast.Inspect(in, func(n ast.Node) bool {
		lit, ok := n.(*ast.FuncLit)
		if !ok {
			return !found
		}
		ast.Inspect(lit.Body, func(n ast.Node) bool {
			if id, ok := n.(*ast.Ident); ok && p.info().ObjectOf(id) == v {
				found = true
			}
			return !found
		})
		return false
	})
	return found
}

func within(n, outer ast.Node) bool { return n.Pos() >= outer.Pos() && n.End() <= outer.End() }

// A finding is what a rule has to say. The rest is filled in.
type finding struct {
	title, claim, advice, risk string
	fixes                      []report.Fix
	noFix                      string // why there are none, where no check says more
	also                       []ast.Node
	callee                     string // where the cost is, to be asked about
	live                       bool   // what is saved is held, not made
	vague                      bool   // see Rule.Vague
	last                       bool   // see Rule.Last
	onHeap                     bool   // it is asked what is on the heap, and why
}

// report reports that something at a node costs something.
func (p *Pass) report(n ast.Node, c cost, f finding) {
	if p.Rule.PerCall && (p.once(n) != often || p.poolNew(n) != nil) {
		p.imports, p.why = nil, ""
		return // it runs once, or as often as a pool is empty
	}
	if c[goroutines] < leastStuck {
		c[goroutines] = 0 // they were at work there at that moment
	}
	at := p.file.tok.Position(n.Pos())
	out := &report.Finding{
		Rule: p.Rule.Name, Title: f.title, Claim: f.claim, Advice: f.advice, Risk: f.risk, Fixes: f.fixes,
		Where: p.spot(at.Line, at.Column), Live: f.live,
	}
	if len(f.fixes) == 0 { // a finding has a patch, or the reason why there is none
		out.NoFix = cmp.Or(p.noFix(), p.why, f.noFix, p.Rule.NoFix)
	}
	for _, a := range f.also {
		if l := p.line(a.Pos()); l != at.Line {
			out.Also = append(out.Also, p.spot(l, p.file.tok.Position(a.Pos()).Column))
		}
	}
	out.Savings = p.costs.savings(c)
	if p.doubt != "" {
		out.Claim += "; " + p.doubt
	}
	out.Evidence = p.evidence(c, f.callee)
	out.Proof = proofOf(out)
	if f.onHeap {
		out.Ask = append(out.Ask, hint.Ask("why-alloc", out.Where.String()).For("which values go to the heap here, and why"))
	}
	foreign := p.unit.Module != nil && !p.unit.Module.Main // who is asked for advice can change little there
	f.vague, f.last = p.Rule.Vague || f.vague || foreign, p.Rule.Last
	p.said.add(out, c, f)
	p.imports, p.why = nil, ""
}

func (p *function) spot(line, column int) report.Spot {
	text := ""
	lines := strings.Split(string(p.file.text), "\n")
	if line-1 < len(lines) {
		text = strings.TrimRight(lines[line-1], "\r")
	}
	return report.Spot{File: p.file.name, Line: line, Column: column, Function: p.name, Text: text}
}

// evidence returns questions that show what a finding claims, about what it costs most of first.
func (p *Pass) evidence(c cost, callee string) (out []report.Evidence) {
	order := []metric{}
	for m := range metric(numMetrics) {
		if p.costs.part(&c, m) >= leastShown {
			order = append(order, m)
		}
	}
	slices.SortStableFunc(order, func(a, b metric) int { return cmp.Compare(p.costs.part(&c, b), p.costs.part(&c, a)) })
	for i, m := range order {
		if i == 2 {
			break
		}
		for _, in := range p.costs.inputs {
			if in.column[m] < 0 {
				continue
			}
			name := metricInfo[m].name
			if in.spelled != "" {
				name = in.profile.SampleTypes[in.column[m]].Type
			}
			q := query.Query{View: "list", Arg: "^" + regexp.QuoteMeta(p.name) + `([.[]|$)`, Refs: []string{in.ref}, Metric: name}
			out = append(out, report.Evidence{Says: "what each line costs in " + metricInfo[m].short, Query: q})
			if callee != "" && i == 0 {
				q := query.Query{View: "peek", Arg: "^" + regexp.QuoteMeta(callee) + "$", Refs: []string{in.ref}, Metric: name}
				out = append(out, report.Evidence{Says: "who calls " + callee + ", and what it calls", Query: q})
			}
			break
		}
	}
	return out
}

// proofOf says how a fix is to be proven.
func proofOf(f *report.Finding) hint.Text {
	const compiles = "the patched package compiles; "
	switch prove := hint.Ask("prove"); {
	case len(f.Fixes) == 0:
		return hint.Text{"none yet: there is no patch to try"}
	case f.Live:
		return hint.Text{compiles, prove, " says whether it does the same, and ", hint.Ask("compare").With("live", ""), " how much of the heap it has in use"}
	default:
		return hint.Text{compiles, prove.With("faster", ""), " says whether it does the same, and whether it is faster"}
	}
}
