package owner

import (
	"go/ast"
	"go/token"
	"go/types"
	"slices"

	"github.com/hone-perf/hone/internal/advise/facts/code"
	"github.com/hone-perf/hone/internal/advise/facts/flow"
	"github.com/hone-perf/hone/internal/advise/facts/kind"
)

// OwnList reports whether what a variable holds does not leave the function: it is not returned, kept, sent, given to a goroutine, or
// captured by a function literal, nor is anything that shares its memory.
func OwnList(f *code.Func, v *types.Var) bool {
	s := staying{Func: f, depth: 4, seen: map[*types.Var]bool{}, known: map[*types.Var]*outcome{}}
	return s.variable(v)
}

// A staying follows what a variable of a function holds.
type staying struct {
	*code.Func
	depth    int // how many calls are looked into
	seen     map[*types.Var]bool
	callee   bool // it may be returned, which whoever calls has to look at
	returned bool
	known    map[*types.Var]*outcome // by parameter
}

// An outcome is what a function does with a parameter: while it is being found out, it is taken to do nothing, since it calls itself.
type outcome struct{ stays, returned bool }

func (s *staying) variable(v *types.Var) bool {
	if s.seen[v] {
		return true
	}
	s.seen[v] = true
	return !flow.Captured(s.Func, v, s.Decl.Body) && !slices.ContainsFunc(s.Uses(v), func(id *ast.Ident) bool { return !s.use(id) })
}

// use reports whether an expression that shares the memory stays where it is used.
func (s *staying) use(e ast.Expr) bool {
	switch up := s.Parent(e).(type) {
	case *ast.ParenExpr:
		return s.use(up)
	case *ast.TypeAssertExpr:
		return s.use(up)
	case *ast.SliceExpr:
		return up.X != e || s.use(up)
	case *ast.IndexExpr:
		return up.X != e || s.element(up)
	case *ast.BinaryExpr, *ast.ExprStmt, *ast.IncDecStmt, *ast.RangeStmt, *ast.SwitchStmt, *ast.CaseClause, *ast.IfStmt, *ast.ForStmt:
		return true
	case *ast.AssignStmt:
		if slices.Contains(up.Lhs, e) {
			return true
		}
		return s.given(up.Lhs, slices.Index(up.Rhs, e), len(up.Rhs))
	case *ast.ValueSpec:
		var names []ast.Expr
		for _, id := range up.Names {
			names = append(names, id)
		}
		return s.given(names, slices.Index(up.Values, e), len(up.Values))
	case *ast.ReturnStmt:
		s.returned = true
		return s.callee
	case *ast.CallExpr:
		return s.argument(up, e)
	case *ast.SelectorExpr:
		call, ok := s.Parent(up).(*ast.CallExpr)
		fn := (*types.Func)(nil)
		if ok && call.Fun == ast.Expr(up) {
			fn = s.Func.Callee(call)
		}
		return fn != nil && fn.Signature().Recv() != nil && s.into(call, fn, fn.Origin().Signature().Recv())
	}
	return false
}

// given follows value i of some to the variable that it is given to; the only value of a call is that of all variables.
func (s *staying) given(to []ast.Expr, i, values int) bool {
	if i < 0 {
		return false
	}
	if values == len(to) {
		to = to[i : i+1]
	}
	for _, e := range to {
		v := s.Local(e)
		switch {
		case code.IsBlank(e), v != nil && values != len(to) && !kind.Refers(v.Type()):
		case v == nil:
			return false
		case s.IsParamResult(v):
			if s.returned = true; !s.callee {
				return false
			}
		case !s.variable(v):
			return false
		}
	}
	return true
}

// element reports whether an element, or a part of it, is used in a way that leaves nothing behind that points into the memory.
func (s *staying) element(e ast.Expr) bool {
	switch up := s.Parent(e).(type) {
	case *ast.ParenExpr:
		return s.element(up)
	case *ast.UnaryExpr:
		return up.Op != token.AND
	case *ast.IndexExpr:
		_, isArray := s.TypeOf(e).Underlying().(*types.Array)
		return up.X != e || !isArray || s.element(up)
	case *ast.SliceExpr:
		_, isArray := s.TypeOf(e).Underlying().(*types.Array)
		return up.X != e || !isArray || s.use(up)
	case *ast.SelectorExpr:
		sel := s.Info().Selections[up]
		if sel == nil {
			return true
		}
		if sel.Kind() == types.FieldVal {
			return sel.Indirect() || s.element(up)
		}
		fn, ok := sel.Obj().(*types.Func)
		if !ok || fn.Signature().Recv() == nil {
			return true
		}
		_, pointer := fn.Signature().Recv().Type().(*types.Pointer)
		_, is := types.Unalias(sel.Recv()).(*types.Pointer)
		call, called := s.Parent(up).(*ast.CallExpr)
		return !pointer || is || called && call.Fun == ast.Expr(up) && s.into(call, fn, fn.Origin().Signature().Recv())
	}
	return true
}

// lookers are packages whose functions keep nothing of what they are given; what they return may share its memory.
var lookers = []string{"slices", "sort", "maps", "strings", "bytes", "strconv", "fmt", "unicode/utf8", "encoding/binary", "encoding/hex", "math/rand", "math/rand/v2"}

// copiers are functions of them that return something new.
var copiers = []string{"slices.Clone", "slices.Concat", "slices.Collect", "slices.Sorted", "slices.SortedFunc", "slices.SortedStableFunc", "slices.Repeat",
	"maps.Clone", "maps.Collect", "bytes.Clone", "bytes.Join", "bytes.Repeat", "bytes.ToLower", "bytes.ToUpper", "bytes.Map", "bytes.Replace", "bytes.ReplaceAll"}

// argument follows what a call is given.
func (s *staying) argument(call *ast.CallExpr, e ast.Expr) bool {
	if _, isGo := s.Parent(call).(*ast.GoStmt); isGo || call.Fun == e {
		return false
	}
	i := slices.Index(call.Args, e)
	fun := s.Info().Types[call.Fun]
	switch {
	case fun.IsType():
		return kind.IsString(fun.Type) || s.use(call)
	case s.Builtin(call, "append") != nil:
		if i == 0 {
			return s.use(call)
		}
		return call.Ellipsis.IsValid() // else it becomes an element
	case fun.IsBuiltin():
		return s.Builtin(call, "panic") == nil
	case IsWrite(s.Func, call):
		return true
	}
	fn := s.Func.Callee(call)
	if fn == nil || fn.Pkg() == nil {
		return false
	}
	if fn.Pkg() != s.Pkg.Types {
		switch {
		case !slices.Contains(lookers, fn.Pkg().Path()) && !slices.Contains(forgetful, fn.FullName()):
			return false
		case slices.Contains(copiers, fn.Origin().FullName()), !sharing(s.TypeOf(call)):
			return true
		}
		return s.use(call)
	}
	sig := fn.Origin().Signature()
	if sig.Variadic() && i >= sig.Params().Len()-1 && !call.Ellipsis.IsValid() || i >= sig.Params().Len() {
		return false // it becomes an element
	}
	return s.into(call, fn, sig.Params().At(i))
}

// into looks into a function of the package that is given it as a parameter.
func (s *staying) into(call *ast.CallExpr, fn *types.Func, param *types.Var) bool {
	decl, f := s.DeclOf(fn)
	if decl == nil || decl.Body == nil || s.depth == 0 {
		return false
	}
	out, ok := s.known[param]
	if !ok {
		out = &outcome{stays: true}
		s.known[param] = out
		inner := staying{Func: s.In(f, decl), depth: s.depth - 1, seen: map[*types.Var]bool{}, callee: true, known: s.known}
		out.stays = inner.variable(param)
		out.returned = inner.returned
	}
	return out.stays && (!out.returned || !sharing(s.TypeOf(call)) || s.use(call))
}

// sharing reports whether results of a type may share memory with what a function was given.
func sharing(t types.Type) bool {
	if list, ok := t.(*types.Tuple); ok {
		for v := range list.Variables() {
			if sharing(v.Type()) {
				return true
			}
		}
		return false
	}
	return t != nil && kind.Refers(t)
}
