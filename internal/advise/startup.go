package advise

import (
	"go/ast"
	"go/types"
	"slices"
	"strings"

	"golang.org/x/tools/go/types/typeutil"
)

// Code that runs once, when the program starts or in main: nothing is made anew for each call there, and no path is taken often.

// A moment is when code runs that runs once.
type moment int

const (
	often    moment = iota // or nobody knows
	justOnce               // in function main, outside of its loops, or through sync.Once
	atStart                // before main: in functions named init, and for the values of variables of a package
)

// isInit reports whether a function, as profiles name it, runs before main: init, init.0, map.init.0.
func isInit(fn string) bool {
	_, rest, _ := strings.Cut(fn[strings.LastIndexByte(fn, '/')+1:], ".")
	rest, of := strings.CutPrefix(rest, "map.")
	number, ok := strings.CutPrefix(rest, "init")
	if number == "" {
		return ok && !of
	}
	number, dot := strings.CutPrefix(number, ".")
	return ok && dot && number != "" && strings.Trim(number, "0123456789") == ""
}

// initializer makes a function of a declaration of variables of the package, for rules to look at: its values, and the function
// literals in them.
func initializer(d *ast.GenDecl) *ast.FuncDecl {
	return &ast.FuncDecl{
		Doc:  d.Doc,
		Name: ast.NewIdent("init"),
		Type: &ast.FuncType{Func: d.Pos(), Params: &ast.FieldList{}},
		Body: &ast.BlockStmt{Lbrace: d.Pos(), List: []ast.Stmt{&ast.DeclStmt{Decl: d}}, Rbrace: d.End() - 1},
	}
}

// isInitializer reports whether a function is one that was made of a declaration of variables.
func isInitializer(decl *ast.FuncDecl) bool { return decl.Body.Lbrace == decl.Type.Func }

// once says whether a node runs once in the life of a program.
func (p *Pass) once(n ast.Node) moment { return p.moment(n, false) }

// startup reports whether a node runs before main, once or in a loop there.
func (p *Pass) startup(n ast.Node) bool { return p.moment(n, true) == atStart }

func (p *Pass) moment(n ast.Node, loops bool) moment {
	if st, ok := n.(*ast.DeclStmt); ok && isInitializer(p.decl) {
		n = st.Decl
	}
	const deep = 4 // calls that are looked up
	for _, l := range p.lines {
		if !l.startsOnly() {
			return p.unit.once(n, runs{loops: loops})
		}
	}
	return p.unit.once(n, runs{loops: loops, depth: deep})
}

// startsOnly reports whether all that a line costs is on stacks of main or of what runs before it: tests and benchmarks may call
// functions that the program itself calls once.
func (l *Line) startsOnly() bool {
	for _, m := range []metric{cpu, bytesMade, objectsMade} {
		if l.started[m] < l.cum[m]-l.cum[m]/100 {
			return false
		}
	}
	return true
}

// Runs says what is looked for by once.
type runs struct {
	depth  int  // how many calls are looked up
	loops  bool // rounds of a loop count as once
	called bool // it is a call that is looked at
}

// once says whether a node runs once. What functions do that main calls is told like what others do: it may be called for each piece of
// work, in another version or by a test, and mostly is what the program is about.
func (u *unit) once(n ast.Node, r runs) moment {
	above := u.above()
	for child, up := n, above[n]; up != nil; child, up = up, above[up] {
		switch up := up.(type) {
		case *ast.ForStmt:
			if child != ast.Node(up.Init) && !r.loops {
				return often
			}
		case *ast.RangeStmt:
			if child != ast.Node(up.X) && !r.loops {
				return often
			}
		case *ast.FuncLit:
			call := u.callOf(up)
			switch {
			case call == nil, !u.is(call, up) && !u.callsOnce(call):
				return often
			case u.isDo(call):
				return justOnce
			}
		case *ast.File:
			return atStart
		case *ast.FuncDecl:
			switch {
			case up.Recv != nil:
				return often
			case up.Name.Name == "init":
				return atStart
			case up.Name.Name == "main" && u.Name == "main" && !r.called:
				return justOnce
			}
			fn, ok := u.TypesInfo.Defs[up.Name].(*types.Func)
			if !ok || r.depth == 0 || fn.Exported() && u.Name != "main" {
				return often
			}
			return u.calledOnce(fn, runs{r.depth - 1, r.loops, true})
		}
	}
	return often
}

// callOf returns the call that a function literal, or the name of a function, is a part of: it is called, or handed on.
func (u *unit) callOf(f ast.Expr) *ast.CallExpr {
	above := u.above()
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
func (u *unit) is(call *ast.CallExpr, f ast.Expr) bool { return within(f, call.Fun) }

// syncOnce are functions that have their argument called once. The functions that they return may be called often.
var syncOnce = []string{"sync.OnceFunc", "sync.OnceValue", "sync.OnceValues"}

// callsOnce reports whether a call is one of package sync that has a function called once.
func (u *unit) callsOnce(call *ast.CallExpr) bool {
	fn, ok := typeutil.Callee(u.TypesInfo, call).(*types.Func)
	return ok && slices.Contains(syncOnce, fn.Origin().FullName()) || u.isDo(call)
}

// isDo reports whether a call is that of method Do of a sync.Once that is a variable of the package.
func (u *unit) isDo(call *ast.CallExpr) bool {
	fn, ok := typeutil.Callee(u.TypesInfo, call).(*types.Func)
	if !ok || fn.FullName() != "(*sync.Once).Do" {
		return false
	}
	id := asIdent(ast.Unparen(call.Fun.(*ast.SelectorExpr).X))
	return id != nil && u.TypesInfo.Uses[id] != nil && u.TypesInfo.Uses[id].Parent() == u.Types.Scope()
}

// calledOnce reports whether a function is only called by what runs once.
func (u *unit) calledOnce(fn *types.Func, r runs) moment {
	if u.uses == nil {
		u.uses = make(map[*types.Func][]*ast.Ident)
		for id, o := range u.TypesInfo.Uses {
			if f, ok := o.(*types.Func); ok {
				u.uses[f.Origin()] = append(u.uses[f.Origin()], id)
			}
		}
	}
	when := often
	for i, id := range u.uses[fn.Origin()] {
		call := u.callOf(id)
		if call == nil || !u.is(call, id) && !u.callsOnce(call) {
			return often
		}
		at := justOnce
		if u.is(call, id) || !u.isDo(call) {
			at = u.once(call, r)
		}
		if at == often {
			return often
		}
		if i == 0 || at < when {
			when = at
		}
	}
	return when
}
