// Package steady knows what is the same in every call: variables and fields that nothing writes to, and functions whose results depend on
// their arguments alone.
package steady

import (
	"go/ast"
	"go/token"
	"go/types"
	"slices"

	"github.com/hone-perf/hone/internal/advise/facts/code"
	"github.com/hone-perf/hone/internal/advise/facts/flow"
	"github.com/hone-perf/hone/internal/advise/facts/kind"
	"github.com/hone-perf/hone/internal/advise/facts/owner"
)

// Variable reports whether a variable of the package has the value that it is declared with for as long as the program runs, and so has all
// that it leads to: nothing but its declaration writes to it, and nothing that leads into it is passed on to where it may be written to.
// What init functions write counts, too: values of other variables are computed before.
func Variable(of *code.Func, v *types.Var) bool { return variable(of, v, map[*types.Var]bool{}) }

func variable(of *code.Func, v *types.Var, seen map[*types.Var]bool) bool {
	if seen[v] {
		return true // what asks for it first decides
	}
	seen[v] = true
	if v.Pkg() != of.Pkg.Types || v.Parent() != of.Pkg.Types.Scope() || v.Exported() && of.Pkg.Name != "main" || of.Pkg.WrittenElsewhere(v.Name()) {
		return false
	}
	d := declared(of, v)
	if d == nil || leads(of, v.Type()) && d.value != nil && !fresh(of, d.value, seen) {
		return false
	}
	return !slices.ContainsFunc(of.Pkg.UsesOf(v), func(id *ast.Ident) bool {
		f := at(of, id)
		return f == nil || !reads(f, id)
	})
}

// Field reports whether a field that other packages cannot name is only given a value where its struct is made.
func Field(of *code.Func, field *types.Var) bool {
	is := func(o types.Object) bool {
		v, ok := o.(*types.Var)
		return ok && v.Origin() == field.Origin()
	}
	for _, f := range of.Pkg.Files {
		if flow.Assigns(of, f.AST, is) {
			return false
		}
	}
	return true
}

// A declaration is where a variable of the package is declared.
type declaration struct {
	value ast.Expr // nil is the zero value
}

// declared returns the declaration of a variable of the package, or nil if its value comes with that of others.
func declared(of *code.Func, v *types.Var) *declaration {
	for _, file := range of.Pkg.Files {
		for _, d := range file.AST.Decls {
			g, ok := d.(*ast.GenDecl)
			if !ok || g.Tok != token.VAR {
				continue
			}
			for _, s := range g.Specs {
				spec := s.(*ast.ValueSpec)
				i := slices.IndexFunc(spec.Names, func(id *ast.Ident) bool { return of.Info().Defs[id] == types.Object(v) })
				switch {
				case i < 0:
				case len(spec.Values) == 0:
					return &declaration{}
				case len(spec.Values) == len(spec.Names):
					return &declaration{spec.Values[i]}
				default:
					return nil
				}
			}
		}
	}
	return nil
}

// at returns the function that an identifier is in, or one that was made of a declaration of variables.
func at(of *code.Func, id *ast.Ident) *code.Func {
	for _, file := range of.Pkg.Files {
		if id.Pos() < file.AST.FileStart || id.Pos() >= file.AST.FileEnd {
			continue
		}
		for _, d := range file.AST.Decls {
			if fn, ok := d.(*ast.FuncDecl); ok && code.Within(id, fn) {
				return of.In(file, fn)
			}
		}
		decl := file.DeclAt(file.Tok.Line(id.Pos()))
		if decl == nil || !code.Within(id, decl) {
			return nil
		}
		return of.In(file, decl)
	}
	return nil
}

// unchanging are types whose values nobody changes once they are made, but by the methods in changers.
var unchanging = []string{"*regexp.Regexp", "*strings.Replacer", "reflect.Type", "*time.Location"}

// changers are the methods that change a regular expression.
var changers = []string{"(*regexp.Regexp).Longest", "(*regexp.Regexp).UnmarshalText"}

// leads reports whether values of a type lead to memory that may be written to.
func leads(f *code.Func, t types.Type) bool {
	if !slices.Contains(unchanging, types.TypeString(t, nil)) {
		return kind.Refers(t)
	}
	return types.TypeString(t, nil) == "*regexp.Regexp" && f.Pkg.Calls(changers...)
}

// reads reports whether a variable of the package, or a part of it, is only read where an expression of it stands.
func reads(f *code.Func, e ast.Expr) bool {
	t := f.TypeOf(e)
	if pair, ok := t.(*types.Tuple); ok { // v, ok := m[k]
		t = pair.At(0).Type()
	}
	if t == nil {
		return false
	}
	kept := !leads(f, t) || owner.ReadOnly(f, e) // whatever happens to its value
	switch up := f.Parent(e).(type) {
	case *ast.ParenExpr:
		return reads(f, up)
	case *ast.StarExpr:
		return reads(f, up)
	case *ast.SliceExpr:
		return up.X != e || kind.IsString(t) || reads(f, up)
	case *ast.IndexExpr:
		return up.X != e && kept || up.X == e && reads(f, up)
	case *ast.SelectorExpr:
		s := f.Info().Selections[up]
		switch {
		case s == nil: // pkg.name
			return false
		case s.Kind() == types.FieldVal:
			return reads(f, up)
		}
		fn, ok := s.Obj().(*types.Func)
		if !ok {
			return false
		}
		name := fn.Origin().FullName()
		if name == "(*sync.Pool).Get" || name == "(*sync.Pool).Put" {
			return true // what is in a pool is no part of it
		}
		if slices.Contains(unchanging, types.TypeString(t, nil)) {
			return kept
		}
		_, byAddress := fn.Signature().Recv().Type().Underlying().(*types.Pointer)
		return !byAddress && !leads(f, t) || owner.ReadOnly(f, e)
	case *ast.AssignStmt:
		return !slices.Contains(up.Lhs, e) && kept
	case *ast.IncDecStmt:
		return false
	case *ast.UnaryExpr:
		return up.Op != token.AND && kept
	case *ast.RangeStmt:
		return up.X == e && kept
	case *ast.KeyValueExpr:
		return kept
	}
	return kept
}

// makers are packages whose functions return memory of their own, or that of their arguments.
var makers = []string{"strings", "strconv", "regexp", "errors", "bytes", "maps", "slices", "unicode", "math"}

// fresh reports whether nothing but a value of an expression leads to the memory that it leads to.
func fresh(of *code.Func, e ast.Expr, seen map[*types.Var]bool) bool {
	e = ast.Unparen(e)
	tv := of.Info().Types[e]
	if tv.Type == nil || tv.Value != nil || tv.IsNil() || !leads(of, tv.Type) {
		return true
	}
	all := func(list []ast.Expr) bool {
		return !slices.ContainsFunc(list, func(e ast.Expr) bool { return !fresh(of, e, seen) })
	}
	switch e := e.(type) {
	case *ast.FuncLit:
		return true
	case *ast.CompositeLit:
		return !slices.ContainsFunc(e.Elts, func(x ast.Expr) bool {
			kv, ok := x.(*ast.KeyValueExpr)
			if !ok {
				return !fresh(of, x, seen)
			}
			key := code.AsIdent(kv.Key)
			isField := key != nil && of.Info().Types[kv.Key].Type == nil
			return !fresh(of, kv.Value, seen) || !isField && !fresh(of, kv.Key, seen)
		})
	case *ast.UnaryExpr:
		lit, ok := ast.Unparen(e.X).(*ast.CompositeLit)
		return ok && e.Op == token.AND && fresh(of, lit, seen)
	case *ast.Ident:
		switch o := of.Info().Uses[e].(type) {
		case *types.Func:
			return true
		case *types.Var:
			return variable(of, o, seen)
		}
		return false
	case *ast.SelectorExpr:
		_, isFunc := of.Info().Uses[e.Sel].(*types.Func)
		return isFunc && of.Info().Selections[e] == nil
	case *ast.CallExpr:
		switch fn := of.Callee(e); {
		case of.Info().Types[e.Fun].IsType(), of.Builtin(e, "append") != nil:
			return all(e.Args)
		case of.Builtin(e, "make") != nil, of.Builtin(e, "new") != nil:
			return true
		case fn == nil || fn.Pkg() == nil:
			return false
		case fn.Pkg() == of.Pkg.Types:
			return apart(of, fn, 3) && all(e.Args)
		case fn.Signature().Recv() == nil:
			return slices.Contains(makers, fn.Pkg().Path()) && all(e.Args)
		}
	}
	return false
}

// apart reports whether a function of the package uses nothing of it but other such functions: then what it returns is not known elsewhere.
func apart(of *code.Func, fn *types.Func, depth int) bool {
	decl, _ := of.DeclOf(fn)
	if decl == nil || decl.Body == nil || depth == 0 || decl.Recv != nil {
		return false
	}
	ok := true
	ast.Inspect(decl.Body, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.GoStmt:
			ok = false
		case *ast.Ident:
			switch o := of.Info().Uses[n].(type) {
			case *types.Var:
				ok = ok && (o.IsField() || o.Pkg() == nil || o.Parent() != o.Pkg().Scope())
			case *types.Func:
				switch {
				case o.Pkg() == nil: // Error of error
				case o.Pkg() == of.Pkg.Types:
					ok = ok && apart(of, o, depth-1)
				default:
					ok = ok && slices.Contains(makers, o.Pkg().Path())
				}
			}
		}
		return ok
	})
	return ok
}
