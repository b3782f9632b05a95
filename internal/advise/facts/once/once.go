// Package once knows code that runs once, when the program starts or in main: nothing is made anew for each call there, and no path is
// taken often.
package once

import (
	"go/ast"
	"go/types"
	"slices"

	"golang.org/x/tools/go/types/typeutil"

	"github.com/hone-perf/hone/internal/advise/facts/code"
)

// A Moment is when code runs that runs once.
type Moment int

const (
	Often    Moment = iota // or nobody knows
	justOnce               // in function main, outside of its loops, or through sync.Once
	AtStart                // before main: in functions named init, and for the values of variables of a package
)

// Runs says what is looked for by once.
type Runs struct {
	Depth  int  // how many calls are looked up
	Loops  bool // rounds of a loop count as once
	called bool // it is a call that is looked at
}

// Of says whether a node runs once. What functions do that main calls is told like what others do: it may be called for each piece of
// work, in another version or by a test, and mostly is what the program is about.
func Of(u *code.Package, n ast.Node, r Runs) Moment {
	above := u.Above()
	for child, up := n, above[n]; up != nil; child, up = up, above[up] {
		switch up := up.(type) {
		case *ast.ForStmt:
			if child != ast.Node(up.Init) && !r.Loops {
				return Often
			}
		case *ast.RangeStmt:
			if child != ast.Node(up.X) && !r.Loops {
				return Often
			}
		case *ast.FuncLit:
			call := callOf(u, up)
			switch {
			case call == nil, !is(u, call, up) && !callsOnce(u, call):
				return Often
			case isDo(u, call):
				return justOnce
			}
		case *ast.File:
			return AtStart
		case *ast.FuncDecl:
			switch {
			case up.Recv != nil:
				return Often
			case up.Name.Name == "init":
				return AtStart
			case up.Name.Name == "main" && u.Name == "main" && !r.called:
				return justOnce
			}
			fn, ok := u.TypesInfo.Defs[up.Name].(*types.Func)
			if !ok || r.Depth == 0 || fn.Exported() && u.Name != "main" {
				return Often
			}
			return calledOnce(u, fn, Runs{r.Depth - 1, r.Loops, true})
		}
	}
	return Often
}

// callOf returns the call that a function literal, or the name of a function, is a part of: it is called, or handed on.
func callOf(u *code.Package, f ast.Expr) *ast.CallExpr {
	above := u.Above()
	var e ast.Node = f
	for {
		switch up := above[e].(type) {
		case *ast.ParenExpr, *ast.IndexExpr, *ast.IndexListExpr: // with types
			e = up
			continue
		case *ast.CallExpr:
			return up
		}
		return nil
	}
}

// is reports whether it is f that is called.
func is(u *code.Package, call *ast.CallExpr, f ast.Expr) bool { return code.Within(f, call.Fun) }

// syncOnce are functions that have their argument called once. The functions that they return may be called often.
var syncOnce = []string{"sync.OnceFunc", "sync.OnceValue", "sync.OnceValues"}

// callsOnce reports whether a call is one of package sync that has a function called once.
func callsOnce(u *code.Package, call *ast.CallExpr) bool {
	fn, ok := typeutil.Callee(u.TypesInfo, call).(*types.Func)
	return ok && slices.Contains(syncOnce, fn.Origin().FullName()) || isDo(u, call)
}

// isDo reports whether a call is that of method Do of a sync.Once that is a variable of the package.
func isDo(u *code.Package, call *ast.CallExpr) bool {
	fn, ok := typeutil.Callee(u.TypesInfo, call).(*types.Func)
	if !ok || fn.FullName() != "(*sync.Once).Do" {
		return false
	}
	id := code.AsIdent(ast.Unparen(call.Fun.(*ast.SelectorExpr).X))
	return id != nil && u.TypesInfo.Uses[id] != nil && u.TypesInfo.Uses[id].Parent() == u.Types.Scope()
}

// calledOnce reports whether a function is only called by what runs once.
func calledOnce(u *code.Package, fn *types.Func, r Runs) Moment {
	when := Often
	for i, id := range u.UsesOf(fn) {
		call := callOf(u, id)
		if call == nil || !is(u, call, id) && !callsOnce(u, call) {
			return Often
		}
		at := justOnce
		if is(u, call, id) || !isDo(u, call) {
			at = Of(u, call, r)
		}
		if at == Often {
			return Often
		}
		if i == 0 || at < when {
			when = at
		}
	}
	return when
}
