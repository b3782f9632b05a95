package code

import (
	"fmt"
	"go/ast"
	"go/build"
	"go/token"
	"go/types"
	"slices"
	"strings"

	"golang.org/x/tools/go/packages"

	"github.com/hone-perf/hone/internal/advise/facts/symbol"
	"github.com/hone-perf/hone/internal/report/missing"
)

// A Package is a package that has lines that cost something, with its syntax and types.
type Package struct {
	*packages.Package
	Files   map[string]*File                  // by name on disk
	NoFix   missing.Reason                    // why nothing in it can be patched
	GoMinor int                               // 26 for go 1.26; 0 when it is not known
	rest    *rest                             // what is in files of its folder that were not loaded; read when it is asked for
	names   map[string]bool                   // that fixes gave to new variables of the package
	locals  map[*ast.FuncDecl]map[string]bool // that fixes gave to new variables of functions
	parents map[ast.Node]ast.Node
	helpers map[string]bool // functions that are a name for one statement, as profiles call them
	uses    map[types.Object][]*ast.Ident

	elsewhere map[string]bool // variables that may be written to by what was not loaded; nil before anybody asks
}

// A File is one of the files of a Package.
type File struct {
	Path  string
	Name  string // relative to the root
	Text  []byte
	AST   *ast.File
	NoFix missing.Reason
	Tok   *token.File

	inits map[*ast.GenDecl]*ast.FuncDecl // functions that were made of declarations of variables
}

// Qualifier names types as the package of the function does.
func (f *Func) Qualifier() types.Qualifier {
	return func(pkg *types.Package) string {
		if pkg == f.Pkg.Types {
			return ""
		}
		return pkg.Name()
	}
}

// Helper reports whether a function of the package is no more than a name for one statement: what it costs is up to who calls it, and
// how often.
func (of *Func) Helper(fn string) bool {
	if of.Pkg.helpers == nil {
		of.Pkg.helpers = map[string]bool{}
		for _, f := range of.Pkg.Files {
			for _, d := range f.AST.Decls {
				decl, ok := d.(*ast.FuncDecl)
				if !ok || decl.Body == nil || len(decl.Body.List) != 1 {
					continue
				}
				if st, ok := decl.Body.List[0].(*ast.AssignStmt); !ok || len(st.Lhs) != 1 {
					continue
				}
				if fn, ok := of.Info().Defs[decl.Name].(*types.Func); ok {
					of.Pkg.helpers[of.ProfileName(fn)] = true
				}
			}
		}
	}
	return of.Pkg.helpers[strings.ReplaceAll(fn, "[...]", "")]
}

// Mine reports whether a function is of the module that is looked at.
func (f *Func) Mine(fn string) bool {
	pkg := strings.TrimSuffix(symbol.PackageOf(fn), "_test") // what is inlined into a test is named as a part of it
	return pkg == symbol.PackageOf(f.Name) || f.Pkg.Module != nil && (pkg == f.Pkg.Module.Path || strings.HasPrefix(pkg, f.Pkg.Module.Path+"/"))
}

// AtLeast reports whether the package may use what came with Go 1.minor.
func (u *Package) AtLeast(minor int) bool {
	return u.GoMinor == 0 && slices.Contains(build.Default.ReleaseTags, fmt.Sprintf("go1.%d", minor)) || u.GoMinor >= minor
}

// Any is how the package writes the empty interface.
func (u *Package) Any() string {
	if u.AtLeast(18) {
		return "any"
	}
	return "interface{}"
}

// Above returns what everything in the package is in.
func (u *Package) Above() map[ast.Node]ast.Node {
	if u.parents != nil {
		return u.parents
	}
	u.parents = map[ast.Node]ast.Node{}
	for _, f := range u.Files {
		var stack []ast.Node
		ast.Inspect(f.AST, func(n ast.Node) bool {
			if n == nil {
				stack = stack[:len(stack)-1]
				return true
			}
			if len(stack) > 0 {
				u.parents[n] = stack[len(stack)-1]
			}
			stack = append(stack, n)
			return true
		})
	}
	return u.parents
}

// UsesOf returns where a function, or a variable of the package, is named in the package.
func (u *Package) UsesOf(o types.Object) []*ast.Ident {
	if u.uses == nil {
		u.uses = make(map[types.Object][]*ast.Ident)
		for id, o := range u.TypesInfo.Uses {
			switch o := o.(type) {
			case *types.Func:
				u.uses[o.Origin()] = append(u.uses[o.Origin()], id)
			case *types.Var:
				if o.Parent() == u.Types.Scope() {
					u.uses[o] = append(u.uses[o], id)
				}
			}
		}
	}
	if fn, ok := o.(*types.Func); ok {
		o = fn.Origin()
	}
	return u.uses[o]
}

// Calls reports whether anything in the package calls one of some functions, or hands one on, written as types.Func has them.
func (u *Package) Calls(names ...string) bool {
	for _, o := range u.TypesInfo.Uses {
		if fn, ok := o.(*types.Func); ok && slices.Contains(names, fn.Origin().FullName()) {
			return true
		}
	}
	return false
}

// OwnerOf returns the type of the package that has a field, or nil.
func (fn *Func) OwnerOf(field *types.Var) types.Type {
	scope := fn.Pkg.Types.Scope()
	for _, name := range scope.Names() {
		t, ok := scope.Lookup(name).(*types.TypeName)
		if !ok {
			continue
		}
		if st, ok := t.Type().Underlying().(*types.Struct); ok {
			for f := range st.Fields() {
				if f == field {
					return t.Type()
				}
			}
		}
	}
	return nil
}

// Shown reports whether values of a type, or pointers to them, are given to somebody as an interface, who can see what is in them.
func (f *Func) Shown(t types.Type) bool {
	ptr, above := types.NewPointer(t), f.Pkg.Above()
	for e, tv := range f.Info().Types {
		if tv.IsType() || tv.Type == nil || !types.Identical(tv.Type, t) && !types.Identical(tv.Type, ptr) {
			continue
		}
		call, ok := above[e].(*ast.CallExpr)
		if !ok || !slices.Contains(call.Args, e) {
			continue
		}
		sig, ok := f.TypeOf(call.Fun).Underlying().(*types.Signature)
		if !ok {
			continue // a conversion, or a builtin function
		}
		i := min(slices.Index(call.Args, e), sig.Params().Len()-1)
		param := sig.Params().At(i).Type()
		if l, ok := param.(*types.Slice); ok && sig.Variadic() && i == sig.Params().Len()-1 {
			param = l.Elem()
		}
		if in, ok := param.Underlying().(*types.Interface); ok && in.NumMethods() == 0 {
			return true
		}
	}
	return false
}

// DeclOf returns the declaration of a function of the package.
func (of *Func) DeclOf(fn *types.Func) (*ast.FuncDecl, *File) {
	for _, f := range of.Pkg.Files {
		for _, d := range f.AST.Decls {
			if decl, ok := d.(*ast.FuncDecl); ok && of.Info().Defs[decl.Name] == fn.Origin() {
				return decl, f
			}
		}
	}
	return nil, nil
}
