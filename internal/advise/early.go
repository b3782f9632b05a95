package advise

import (
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"

	"github.com/hone-perf/hone/internal/advise/facts/code"
	"github.com/hone-perf/hone/internal/advise/facts/edit"
	"github.com/hone-perf/hone/internal/advise/facts/start"
)

// tooEarly reports whether the function may run before a variable of the package has its value that it only needs with a patch: a new one, or one
// that is there already. What the linker lays out, such as a list of constants, is there from the beginning.
func (p *Pass) tooEarly(text []byte, edits []edit.Edit) bool {
	before := declared(p.File.AST)
	now, err := parser.ParseFile(token.NewFileSet(), "", text, parser.SkipObjectResolution)
	if err != nil {
		return false // which the compiler will say
	}
	computed := false
	for name, value := range declared(now) {
		if _, ok := before[name]; !ok && p.computed(value) {
			computed = true
		}
	}
	for _, e := range edits {
		for _, name := range names(e.Text) {
			if v, ok := p.Pkg.Types.Scope().Lookup(name).(*types.Var); ok && !p.MentionsVar(p.Decl, v) && p.computed(p.valueOf(name)) {
				computed = true
			}
		}
	}
	return computed && start.MayPrecede(p.Func)
}

// declared returns the variables that a file declares, and their values.
func declared(f *ast.File) map[string]ast.Expr {
	out := map[string]ast.Expr{}
	for _, d := range f.Decls {
		g, ok := d.(*ast.GenDecl)
		if !ok || g.Tok != token.VAR {
			continue
		}
		for _, spec := range g.Specs {
			spec := spec.(*ast.ValueSpec)
			for i, name := range spec.Names {
				if len(spec.Values) > 0 {
					out[name.Name] = spec.Values[min(i, len(spec.Values)-1)]
				}
			}
		}
	}
	return out
}

// valueOf returns what a variable of the package is declared with, or nil.
func (p *Pass) valueOf(name string) ast.Expr {
	for _, f := range p.Pkg.Files {
		if value := declared(f.AST)[name]; value != nil {
			return value
		}
	}
	return nil
}

// computed reports whether code has to run for the value of a variable: it has a call, a map, or the value of another variable.
func (p *Pass) computed(value ast.Expr) (found bool) {
	if value == nil {
		return false
	}
	ast.Inspect(value, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncLit:
			return false
		case *ast.CallExpr, *ast.MapType, *ast.IndexExpr, *ast.SliceExpr, *ast.TypeAssertExpr:
			found = true
		case *ast.KeyValueExpr:
			if code.AsIdent(n.Key) != nil { // a field, or a constant
				found = found || p.computed(n.Value)
				return false
			}
		case *ast.SelectorExpr:
			found = found || code.AsIdent(n.X) == nil || code.AsIdent(n.X).Name != "sync" || n.Sel.Name != "Pool"
			return false
		case *ast.Ident:
			switch o := p.Pkg.Types.Scope().Lookup(n.Name).(type) {
			case *types.Var:
				found = true
			case *types.TypeName:
				_, isMap := o.Type().Underlying().(*types.Map)
				found = found || isMap
			}
		}
		return !found
	})
	return found
}
