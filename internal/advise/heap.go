package advise

import (
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"math"
	"slices"
	"strings"
)

var boxing = &Rule{
	Name: "interface-boxing", Rank: 11, PerCall: true,
	Doc: "values are put on the heap to be given to an interface",

	NoFix: "the function takes an interface, and would need another signature",
	Find: func(p *Pass) {
		lines := map[int]bool{}
		each(p, func(call *ast.CallExpr) {
			fn := p.callee(call)
			if p.info().Types[call.Fun].IsType() || fn != nil && fn.Pkg() != nil && slices.Contains([]string{"fmt", "log", "log/slog", "errors", "reflect", "sort"}, fn.Pkg().Path()) {
				return // of which other rules speak
			}
			sig, ok := p.typeOf(call.Fun).(*types.Signature)
			if !ok || lines[p.line(call.Lparen)] {
				return
			}
			var what []string
			for i, a := range call.Args {
				if t := paramType(sig, i, call.Ellipsis.IsValid()); t != nil && types.IsInterface(t) && !isTypeParam(t) && p.boxes(a) {
					what = append(what, p.src(a))
				}
			}
			if what == nil {
				return
			}
			c := p.cost(call, p.boxing(call))
			if c[cpu] == 0 {
				return // only a CPU profile says that it is this which allocates
			}
			lines[p.line(call.Lparen)] = true
			name := p.src(call.Fun)
			p.report(call, c, finding{
				title:  "values put on the heap for an interface",
				claim:  fmt.Sprintf("%s takes an interface, so %s is copied to the heap for each call", name, strings.Join(what, ", ")),
				advice: "give it a pointer to something that is there anyhow, or make the function generic, or one for each type",
				risk:   "who is given a pointer sees what becomes of the value later",
				noFix:  fmt.Sprintf("%s takes an interface, and would need another signature, or %s another type", name, strings.Join(what, ", ")),
			})
		})
	},
}

// paramType returns the type of the parameter that argument i is for.
func paramType(sig *types.Signature, i int, spread bool) types.Type {
	n := sig.Params().Len()
	switch {
	case sig.Variadic() && i >= n-1:
		if spread {
			return nil
		}
		return sig.Params().At(n - 1).Type().(*types.Slice).Elem()
	case i < n:
		return sig.Params().At(i).Type()
	}
	return nil
}

// boxes reports whether an expression needs memory to be an interface.
func (p *function) boxes(e ast.Expr) bool {
	t := p.typeOf(e)
	if t == nil || types.IsInterface(t) || p.isConst(e) || p.info().Types[e].IsNil() {
		return false
	}
	switch u := t.Underlying().(type) {
	case *types.Pointer, *types.Map, *types.Chan, *types.Signature:
		return false
	case *types.Basic:
		return u.Kind() != types.UnsafePointer && u.Info()&types.IsBoolean == 0
	case *types.Struct:
		return u.NumFields() > 0
	}
	return true
}

// boxing is what it costs to make interfaces of the arguments of a call. A heap profile does not say what it is that a line
// allocates by itself, but how large: what is larger than any of the arguments is something else.
func (p *function) boxing(call *ast.CallExpr) func(*chain) bool {
	most := int64(0)
	for _, arg := range call.Args {
		if p.boxes(arg) {
			size, ok := p.sizeOf(p.typeOf(arg))
			if !ok {
				size = math.MaxInt64 / 2
			}
			most = max(most, upToPower(max(size, leastObject)))
		}
	}
	boxed := allocates("convT")
	return func(c *chain) bool { return boxed(c) && (c.onCPU || c.size <= most && most > 0) }
}

// leastObject is the size that small objects without pointers have in profiles: several share as many bytes.
const leastObject = 16

// sizeOf returns how many bytes a value of a type takes, if that is not left to the arguments of a generic function.
func (p *function) sizeOf(t types.Type) (int64, bool) {
	if !sized(t) {
		return 0, false
	}
	return p.unit.TypesSizes.Sizeof(t), true
}

// sized reports whether types have one size.
func sized(t types.Type) bool {
	switch t := types.Unalias(t).(type) {
	case *types.TypeParam:
		return false
	case *types.Named:
		return sized(t.Underlying())
	case *types.Array:
		return sized(t.Elem())
	case *types.Struct:
		for f := range t.Fields() {
			if !sized(f.Type()) {
				return false
			}
		}
	}
	return true
}

var closurePerCall = &Rule{
	Name: "closure-per-call", Rank: 6, PerCall: true,
	Doc: "a function literal that captures variables is allocated for every call",

	NoFix: "who is given the function literal may keep it",
	Find: func(p *Pass) {
		each(p, func(lit *ast.FuncLit) {
			line := p.lines[p.line(lit.Pos())]
			c := line.sum(allocates("newobject"))
			if p.line(lit.Pos()) == p.line(p.decl.Pos()) || p.allocatesElse(lit) || c == (cost{}) {
				return
			}
			captured := p.capturedBy(lit)
			if len(captured) == 0 {
				return
			}
			p.report(lit, c, finding{
				title:  "function literal allocated for every call",
				claim:  fmt.Sprintf("it captures %s, and is kept by somebody for all that the compiler knows, so it and what it changes are on the heap", strings.Join(captured, ", ")),
				advice: "make it a method, or give it what it needs as arguments; or make it once, and use it again",
				risk:   "what is captured is seen as it is when the function is called, arguments as they were before",
				noFix:  fmt.Sprintf("who is given the function literal may keep it, and %s with it", strings.Join(captured, ", ")),
			})
		})
	},
}

// allocatesElse reports whether something else on the first line of a literal may allocate.
func (p *function) allocatesElse(lit *ast.FuncLit) bool {
	found := false
	at := p.line(lit.Pos())
	ast.Inspect(p.decl, func(n ast.Node) bool {
		if n == nil || n == ast.Node(lit) {
			return false
		}
		if p.line(n.Pos()) != at {
			return true
		}
		switch n := n.(type) {
		case *ast.CompositeLit:
			found = true
		case *ast.BinaryExpr:
			found = found || n.Op == token.ADD && isString(p.typeOf(n)) && !p.isConst(n)
		case *ast.CallExpr:
			found = found || p.builtin(n, "make") != nil || p.builtin(n, "new") != nil || p.builtin(n, "append") != nil || p.info().Types[n.Fun].IsType()
		case *ast.FuncLit:
			found = true
		case *ast.GoStmt:
			found = true
		}
		return !found
	})
	return found
}

// capturedBy returns the names of the variables of the function that a literal uses.
func (p *function) capturedBy(lit *ast.FuncLit) (out []string) {
	ast.Inspect(lit.Body, func(n ast.Node) bool {
		if id, ok := n.(*ast.Ident); ok {
			if v := p.local(id); v != nil && (v.Pos() < lit.Pos() || v.Pos() >= lit.End()) && !slices.Contains(out, v.Name()) {
				out = append(out, v.Name())
			}
		}
		return true
	})
	return out
}
