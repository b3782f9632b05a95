package prove

import (
	"go/ast"
	"go/token"
	"go/types"
	"strings"

	"github.com/hone-perf/hone/internal/prove/worker"
)

// rank says how little a difference is about what a function promises: 0 for valid arguments of an exported and documented function. What
// callers outside cannot reach comes later, and a nil that callers seldom pass last.
func (s *surface) rank(d *finding) int {
	n := 0
	if d.at < len(d.program.Steps) {
		switch key := s.entries[d.program.Steps[d.at].Func].key; {
		case key == "" || !exportedKey(key):
			n = 2
		case !s.documented(key):
			n = 1
		}
	}
	if s.passesNil(d.program) {
		n += 4
	}
	return n
}

// exportedKey reports whether other packages can name what has a key.
func exportedKey(key string) bool {
	for part := range strings.SplitSeq(key, ".") {
		if !token.IsExported(part) {
			return false
		}
	}
	return true
}

func (s *surface) documented(key string) bool {
	d := s.new.decls[key]
	if d == nil {
		return false
	}
	fn, ok := d.node.(*ast.FuncDecl)
	return ok && fn.Doc != nil
}

// passesNil reports whether a program passes a nil pointer, function or interface, or one in an interface.
func (s *surface) passesNil(p *worker.Program) bool {
	for i := range p.Steps {
		e := s.entries[p.Steps[i].Func]
		for j := range p.Steps[i].Args {
			if j >= len(e.params) {
				break
			}
			v, t := &p.Steps[i].Args[j], e.params[j]
			if v.Kind == worker.Iface && len(v.Elems) == 1 {
				v, t = &v.Elems[0], s.types[v.Text]
			}
			if v.Kind != worker.Zero || t == nil || isErrorType(t) {
				continue
			}
			switch t.Underlying().(type) {
			case *types.Pointer, *types.Signature, *types.Interface:
				return true
			}
		}
	}
	return false
}

// nilReceiver returns the type of a receiver that is nil in a program, up to a step, where neither version of the method asks for that.
func (s *surface) nilReceiver(p *worker.Program, until int) string {
	for i := range p.Steps[:min(until+1, len(p.Steps))] {
		step := &p.Steps[i]
		e := s.entries[step.Func]
		if !e.method || e.key == "" || len(step.Args) == 0 || step.Args[0].Kind != worker.Zero {
			continue
		}
		if _, ptr := types.Unalias(e.params[0]).(*types.Pointer); ptr && !s.old.asksForNil(e.key, 0) && !s.new.asksForNil(e.key, 0) {
			name, _, _ := strings.Cut(e.key, ".")
			return name
		}
	}
	return ""
}

// asksForNil reports whether a method compares its receiver with nil, or calls one on it that does.
func (v *side) asksForNil(key string, depth int) bool {
	d := v.decls[key]
	if d == nil || depth > 3 {
		return false
	}
	fn, ok := d.node.(*ast.FuncDecl)
	if !ok || fn.Recv == nil || len(fn.Recv.List) == 0 || len(fn.Recv.List[0].Names) == 0 || fn.Body == nil {
		return false
	}
	recv := v.pkg.TypesInfo.Defs[fn.Recv.List[0].Names[0]]
	is := func(e ast.Expr) bool {
		id, ok := ast.Unparen(e).(*ast.Ident)
		return ok && recv != nil && v.pkg.TypesInfo.Uses[id] == recv
	}
	found := false
	ast.Inspect(fn.Body, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.BinaryExpr:
			for _, pair := range [][2]ast.Expr{{n.X, n.Y}, {n.Y, n.X}} {
				found = found || is(pair[0]) && v.pkg.TypesInfo.Types[pair[1]].IsNil()
			}
		case *ast.SelectorExpr:
			if is(n.X) {
				found = found || v.asksForNil(v.keyOf(v.pkg.TypesInfo.Uses[n.Sel]), depth+1)
			}
		}
		return !found
	})
	return found
}
