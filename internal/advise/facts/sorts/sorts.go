// Package sorts knows what functions compare that sort a list by indices, and writes the same as a comparison of two elements.
package sorts

import (
	"go/ast"
	"go/constant"
	"go/token"
	"go/types"
	"maps"
	"slices"
	"strings"

	"github.com/hone-perf/hone/internal/advise/facts/code"
	"github.com/hone-perf/hone/internal/advise/facts/kind"
)

// A Less is a function that compares the elements I and J of a list.
type Less struct {
	Func  *code.Func // whose file it is in
	I, J  types.Object
	Body  *ast.BlockStmt
	List  func(ast.Expr) bool                 // reports whether an expression is the list
	Field func(*ast.SelectorExpr) (as string) // what stands for something of the receiver; "" for nothing
	Means func(*ast.Ident) bool               // reports whether a name means the same where the comparison is put
}

// A Comparison is what a Less does, as a function of two elements. It has the same sign for the same elements, and evaluates the same calls, in the
// same order.
type Comparison struct {
	Result string // the comparison, as an expression
	Func   string // a function that does it with both elements, if Result does no more than call that
	Body   string // in place of Result, what a function does that returns it
	Needs  []string
	Plain  bool // the elements are compared as they are, by the order of their type, and not downwards
	Calls  []*ast.CallExpr
}

// Compare returns the comparison of elements that are called a and b. The names x and y are free for others.
func (l *Less) Compare(a, b, x, y string) (Comparison, bool) {
	n := len(l.Body.List)
	if n == 0 {
		return Comparison{}, false
	}
	ret, ok := l.Body.List[n-1].(*ast.ReturnStmt)
	if !ok || len(ret.Results) != 1 {
		return Comparison{}, false
	}
	r := &rendering{Less: l, names: map[types.Object]string{l.I: a, l.J: b}, defs: map[types.Object]ast.Expr{}}
	first := slices.IndexFunc(l.Body.List, func(st ast.Stmt) bool { _, isIf := st.(*ast.IfStmt); return isIf })
	if first < 0 {
		first = n - 1
	}
	if !r.define(l.Body.List[:first]) {
		return Comparison{}, false
	}
	var body string
	needs := map[string]bool{}
	for _, st := range l.Body.List[first : n-1] {
		c, ok := r.unlessEqual(st)
		if !ok {
			return Comparison{}, false
		}
		for _, pkg := range c.Needs {
			needs[pkg] = true
		}
		body += "\nif " + x + " := " + c.Result + "; " + x + " != 0 {\nreturn " + x + "\n}"
	}
	c, ok := r.compare(ast.Unparen(ret.Results[0]), x, y)
	if body != "" {
		ok = ok && len(r.calls) == 0 && len(r.called) == 0 // the first check evaluates what it compares twice
		if c.Body == "" {
			c.Body = "\nreturn " + c.Result + "\n"
		}
		for _, pkg := range c.Needs {
			needs[pkg] = true
		}
		c = Comparison{Body: body + c.Body, Needs: slices.Sorted(maps.Keys(needs))}
	}
	c.Calls = r.calls
	return c, ok && !r.bad && r.inOrder()
}

// unlessEqual is the comparison of a statement that decides unless both sides are equal: if x != y { return x < y }.
func (r *rendering) unlessEqual(st ast.Stmt) (Comparison, bool) {
	check, ok := st.(*ast.IfStmt)
	if !ok || check.Init != nil || check.Else != nil || len(check.Body.List) != 1 {
		return Comparison{}, false
	}
	ret, ok := check.Body.List[0].(*ast.ReturnStmt)
	not, isNot := ast.Unparen(check.Cond).(*ast.BinaryExpr)
	if !ok || len(ret.Results) != 1 || !isNot || not.Op != token.NEQ {
		return Comparison{}, false
	}
	less, ok := ast.Unparen(ret.Results[0]).(*ast.BinaryExpr)
	if !ok || less.Op != token.LSS && less.Op != token.GTR || !kind.IsBasic(r.Func.TypeOf(less.X), types.IsInteger|types.IsString) {
		return Comparison{}, false
	}
	x, y, left, right := r.text(not.X), r.text(not.Y), r.text(less.X), r.text(less.Y)
	if !(x == left && y == right || x == right && y == left) {
		return Comparison{}, false
	}
	return r.compare(less, "", "")
}

// A rendering writes expressions of a Less.
type rendering struct {
	*Less
	names  map[types.Object]string   // of the elements at I and J
	defs   map[types.Object]ast.Expr // what variables of the body stand for
	called []types.Object            // of them, those whose values are made by calls, in the order of the body
	used   []types.Object            // and in the order of the text
	calls  []*ast.CallExpr
	direct bool // something is called outside of them
	bad    bool
	i, j   bool // which elements the text names
}

// define notes what the variables stand for that statements declare, and reports whether the statements do nothing else.
func (r *rendering) define(list []ast.Stmt) bool {
	for _, st := range list {
		def, ok := st.(*ast.AssignStmt)
		if !ok || def.Tok != token.DEFINE || len(def.Lhs) != len(def.Rhs) {
			return false
		}
		for i, l := range def.Lhs {
			o := r.Func.Info().Defs[code.AsIdent(l)]
			if o == nil {
				return false
			}
			r.defs[o] = def.Rhs[i]
			if r.callsIn(def.Rhs[i]) {
				r.called = append(r.called, o)
			}
		}
	}
	return true
}

func (r *rendering) callsIn(e ast.Expr) (found bool) {
	ast.Inspect(e, func(n ast.Node) bool {
		call, ok := n.(*ast.CallExpr)
		found = found || ok && r.isCall(call)
		return !found
	})
	return found
}

// isCall reports whether a call runs code.
func (r *rendering) isCall(call *ast.CallExpr) bool {
	return !r.Func.Info().Types[call.Fun].IsType() && r.Func.Builtin(call, "len") == nil && r.Func.Builtin(call, "cap") == nil
}

// inOrder reports whether the text makes each call once, and in the order of the body.
func (r *rendering) inOrder() bool {
	return slices.Equal(r.called, r.used) && (len(r.used) == 0 || !r.direct)
}

// compare is the comparison that an expression makes.
func (r *rendering) compare(e ast.Expr, x, y string) (Comparison, bool) {
	r.i, r.j = false, false
	if call, ok := e.(*ast.CallExpr); ok {
		return r.times(call)
	}
	cond, ok := e.(*ast.BinaryExpr)
	if !ok {
		return Comparison{}, false
	}
	f := r.Func
	isConst := func(e ast.Expr, n int64) bool {
		v := f.Info().Types[e].Value
		return v != nil && constant.Compare(v, token.EQL, constant.MakeInt64(n))
	}
	if kind.IsBasic(f.TypeOf(cond.Y), types.IsNumeric) && (cond.Op == token.LSS && isConst(cond.Y, 0) || cond.Op == token.EQL && isConst(cond.Y, -1) && r.isSign(cond.X)) {
		return r.sign(cond.X)
	}
	if cond.Op != token.LSS && cond.Op != token.GTR || !types.Identical(f.TypeOf(cond.X), f.TypeOf(cond.Y)) {
		return Comparison{}, false
	}
	left := r.text(cond.X)
	i, j := r.i, r.j
	r.i, r.j = false, false
	right := r.text(cond.Y)
	if i == j || r.i == r.j || i == r.i {
		return Comparison{}, false
	}
	up := (cond.Op == token.LSS) == i
	// Elements are ordered if both sides are the same but for the element.
	turned := &rendering{Less: r.Less, names: map[types.Object]string{r.I: r.names[r.J], r.J: r.names[r.I]}, defs: r.defs}
	if turned.text(cond.X) != right {
		return Comparison{}, false
	}
	a, b := r.names[r.I], r.names[r.J]
	switch t := f.TypeOf(cond.X); {
	case kind.IsBasic(t, types.IsFloat): // cmp.Compare has another order of NaN
		op := cond.Op.String()
		other := map[string]string{"<": ">", ">": "<"}[op]
		return Comparison{Body: "\nswitch " + x + ", " + y + " := " + left + ", " + right + "; {\ncase " + x + " " + op + " " + y + ":\nreturn -1\ncase " + x + " " + other + " " + y + ":\nreturn 1\n}\nreturn 0\n"}, true
	case !kind.IsBasic(t, types.IsInteger|types.IsString):
		return Comparison{}, false
	case cond.Op == token.LSS:
		return Comparison{Result: "cmp.Compare(" + left + ", " + right + ")", Needs: []string{"cmp"}, Plain: up && left == a && right == b}, true
	case len(r.calls) == 0:
		return Comparison{Result: "cmp.Compare(" + right + ", " + left + ")", Needs: []string{"cmp"}, Plain: up && right == a && left == b}, true
	}
	return Comparison{Result: "-cmp.Compare(" + left + ", " + right + ")", Needs: []string{"cmp"}}, true
}

// isSign reports whether an expression is -1, 0 or 1.
func (r *rendering) isSign(e ast.Expr) bool {
	return r.Func.Calls(ast.Unparen(e), "strings.Compare", "bytes.Compare", "cmp.Compare", "(*math/big.Int).Cmp", "(*math/big.Rat).Cmp", "(*math/big.Float).Cmp", "(time.Time).Compare") != nil
}

// sign is the comparison that is negative where an expression of both elements is.
func (r *rendering) sign(e ast.Expr) (Comparison, bool) {
	if !types.Identical(r.Func.TypeOf(e), types.Typ[types.Int]) {
		return Comparison{}, false
	}
	c := Comparison{Result: r.text(ast.Unparen(e))}
	if call, ok := ast.Unparen(e).(*ast.CallExpr); ok && len(call.Args) == 2 && !call.Ellipsis.IsValid() && len(r.used) == 0 {
		fun := (&rendering{Less: r.Less, names: r.names, defs: r.defs}).text(call.Fun)
		callee := r.Func.Callee(call)
		plain := callee != nil && callee.Signature().Recv() == nil
		if id := code.AsIdent(ast.Unparen(call.Fun)); id != nil && callee == nil {
			_, isDef := r.defs[r.Func.Info().Uses[id]]
			plain = !isDef && r.Func.Local(id) != nil
		} else if sel, ok := ast.Unparen(call.Fun).(*ast.SelectorExpr); ok && callee == nil {
			plain = r.Field != nil && r.Field(sel) != ""
		}
		if plain && c.Result == fun+"("+r.names[r.I]+", "+r.names[r.J]+")" {
			c.Func = fun
		}
	}
	return c, r.i && r.j
}

// times is the comparison of two times.
func (r *rendering) times(call *ast.CallExpr) (Comparison, bool) {
	if r.Func.Calls(call, "(time.Time).Before", "(time.Time).After") == nil {
		return Comparison{}, false
	}
	sel, ok := call.Fun.(*ast.SelectorExpr)
	if !ok || r.callsIn(sel.X) || r.callsIn(call.Args[0]) || len(r.called) > 0 {
		return Comparison{}, false
	}
	left, i, j := r.text(sel.X), r.i, r.j
	r.i, r.j = false, false
	right := r.text(call.Args[0])
	if i == j || r.i == r.j || i == r.i {
		return Comparison{}, false
	}
	turned := &rendering{Less: r.Less, names: map[types.Object]string{r.I: r.names[r.J], r.J: r.names[r.I]}, defs: r.defs}
	if turned.text(sel.X) != right {
		return Comparison{}, false
	}
	if sel.Sel.Name == "After" {
		left, right = right, left
	}
	return Comparison{Result: left + ".Compare(" + right + ")"}, true
}

// isList reports whether an expression is the list, or a variable that stands for it.
func (r *rendering) isList(e ast.Expr) bool {
	e = ast.Unparen(e)
	if id, ok := e.(*ast.Ident); ok {
		if def := r.defs[r.Func.Info().Uses[id]]; def != nil {
			return r.isList(def)
		}
	}
	return r.List(e)
}

// text is an expression in terms of the elements.
func (r *rendering) text(e ast.Expr) string {
	var out strings.Builder
	at := e.Pos()
	put := func(n ast.Node, text string) {
		out.WriteString(r.source(at, n.Pos()))
		out.WriteString(text)
		at = n.End()
	}
	named := map[*ast.Ident]bool{} // by what is in front of it
	ast.Inspect(e, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncLit, *ast.CompositeLit, *ast.TypeAssertExpr:
			r.bad = r.bad || !isAssertion(n)
		case *ast.UnaryExpr:
			r.bad = r.bad || n.Op == token.AND || n.Op == token.ARROW // the address of a copy is another one
		case *ast.BinaryExpr:
			r.bad = r.bad || n.Op == token.LAND || n.Op == token.LOR // what is behind it may not be evaluated
		case *ast.SliceExpr:
			_, isArray := r.Func.TypeOf(n.X).Underlying().(*types.Array)
			r.bad = r.bad || isArray
		case *ast.CallExpr:
			if r.isCall(n) {
				r.calls = append(r.calls, n)
				r.direct = true
			}
		case *ast.IndexExpr:
			if !r.isList(n.X) {
				return true
			}
			o := r.Func.Info().Uses[code.AsIdent(ast.Unparen(n.Index))]
			name, ok := r.names[o]
			r.bad = r.bad || !ok || o == nil
			r.i, r.j = r.i || o == r.I, r.j || o == r.J
			put(n, name)
			return false
		case *ast.SelectorExpr:
			if r.Field != nil {
				if as := r.Field(n); as != "" {
					put(n, as)
					return false
				}
			}
			named[n.Sel] = true
			s := r.Func.Info().Selections[n]
			if s != nil && s.Kind() == types.MethodVal {
				_, pointer := types.Unalias(s.Obj().(*types.Func).Signature().Recv().Type()).(*types.Pointer)
				_, is := types.Unalias(s.Recv()).(*types.Pointer)
				r.bad = r.bad || pointer && !is // of which it takes the address
			}
		case *ast.Ident:
			if named[n] {
				return false
			}
			o := r.Func.Info().Uses[n]
			if def := r.defs[o]; def != nil {
				put(n, r.inline(o, def))
				return false
			}
			r.bad = r.bad || o == nil || o == r.I || o == r.J || !r.Means(n)
		}
		return true
	})
	out.WriteString(r.source(at, e.End()))
	return out.String()
}

// isAssertion reports whether a node is x.(T), which is evaluated as often, and in the same order.
func isAssertion(n ast.Node) bool {
	a, ok := n.(*ast.TypeAssertExpr)
	return ok && a.Type != nil
}

// inline is what a variable stands for.
func (r *rendering) inline(o types.Object, def ast.Expr) string {
	direct := r.direct
	text := r.text(def)
	if slices.Contains(r.called, o) {
		r.used = append(r.used, o)
		r.direct = direct
	}
	switch ast.Unparen(def).(type) {
	case *ast.BinaryExpr, *ast.UnaryExpr, *ast.StarExpr:
		return "(" + text + ")"
	}
	return text
}

func (r *rendering) source(from, to token.Pos) string {
	tok := r.Func.File.Tok
	return string(r.Func.File.Text[tok.Offset(from):tok.Offset(to)])
}
