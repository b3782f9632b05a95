package prove

import (
	"go/ast"
	"go/types"
	"slices"
)

// Most functions that can reach what must not be called with made-up arguments do so in one branch of many. These are called all the same:
// in front of each statement that leads there, the worker ends the call, and nobody looks at what came of it.

// refusing reports whether calls can be ended in front of what must not be called. Code that C is in is built as it is.
func (p *pair) refusing() bool {
	for _, v := range []*side{p.old, p.new} {
		if slices.ContainsFunc(v.pkg.Syntax, usesC) {
			return false
		}
	}
	return true
}

// leads returns what a statement, without the blocks in it, leads to outside of the package that must not be called, or "".
func (d *danger) leads(v *side, st ast.Stmt) (found string) {
	d.mentions(v, st, func(obj types.Object) bool {
		switch obj := obj.(type) {
		case *types.Func:
			if obj.Pkg() == v.pkg.Types {
				return false // the call ends in there
			}
			found = d.from(v.name() + " " + obj.Origin().FullName())
		case *types.Var:
			if obj.Pkg() != nil && obj.Parent() == obj.Pkg().Scope() {
				found = d.from(v.name() + " " + obj.Pkg().Path() + "." + obj.Name())
			}
		}
		return found != ""
	})
	return found
}

// mentions calls f with what a statement uses, up to where it says stop. Blocks in it have statements of their own.
func (d *danger) mentions(v *side, st ast.Stmt, f func(types.Object) (stop bool)) {
	stopped := false
	var look func(n ast.Node) bool
	look = func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.BlockStmt:
			for _, st := range n.List { // of a switch or select
				switch c := st.(type) {
				case *ast.CaseClause:
					for _, e := range c.List {
						ast.Inspect(e, look)
					}
				case *ast.CommClause:
					if c.Comm != nil {
						ast.Inspect(c.Comm, look)
					}
				}
			}
			return false
		case *ast.Ident:
			if obj := v.pkg.TypesInfo.Uses[n]; obj != nil && !stopped {
				stopped = f(obj)
			}
		}
		return !stopped
	}
	ast.Inspect(st, look)
}

// always returns what each call of a function leads to that must not be called, or "".
func (d *danger) always(v *side, key string, above ...string) string {
	decl := v.decls[key]
	if decl == nil || slices.Contains(above, key) {
		return ""
	}
	fn, ok := decl.node.(*ast.FuncDecl)
	if !ok || fn.Body == nil {
		return ""
	}
	found := ""
	for _, st := range fn.Body.List {
		if found = d.leads(v, st); found != "" {
			return found
		}
		d.mentions(v, st, func(obj types.Object) bool {
			if f, ok := obj.(*types.Func); ok && f.Pkg() == v.pkg.Types {
				found = d.always(v, v.keyOf(f), append(above, key)...)
			}
			return found != ""
		})
		if found != "" {
			return found
		}
	}
	ast.Inspect(fn.Body, func(n ast.Node) bool {
		if l, ok := n.(*ast.LabeledStmt); ok && found == "" {
			found = d.leads(v, l) // a jump would pass by what stands in front of it
		}
		return found == ""
	})
	return found
}

// forbids says what keeps a function from being called, and whether some of its calls have to be ended.
func (s *surface) forbids(key string) (what string, refuses bool) {
	for _, v := range []*side{s.old, s.new} {
		what := s.danger.of(v, key)
		if what == "" {
			continue
		}
		refuses = true
		if s.refuses {
			what = s.danger.always(v, key)
		}
		if what != "" {
			return what, true
		}
	}
	return "", refuses
}

// guard returns where the worker of a side ends calls, or nil.
func (s *surface) guard(v *side) func(ast.Stmt) bool {
	if !s.refuses {
		return nil
	}
	return func(st ast.Stmt) bool { return s.danger.leads(v, st) != "" }
}
