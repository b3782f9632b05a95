package prove

import (
	"go/ast"
	"go/token"
	"go/types"
	"slices"
	"strings"

	"github.com/hone-perf/hone/internal/prove/worker"
)

// rank says how little a difference is about what a function promises: 0 for valid arguments of an exported and documented function. What
// callers outside cannot reach comes later, and a nil that callers seldom pass last.
func (s *surface) rank(d *finding) int {
	n := 0
	if d.at < len(d.program.Steps) {
		switch e := s.entries[d.program.Steps[d.at].Func]; {
		case e.public() == "" || !exportedKey(e.public()):
			n = 2
		case !s.documented(e.key):
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
			if s.isNil(e, p, i, j) {
				return true
			}
		}
	}
	return false
}

// isNil reports whether an argument of a step is a nil pointer, function or interface, or one in an interface.
func (s *surface) isNil(e *entry, p *worker.Program, step, arg int) bool {
	if arg >= len(e.params) {
		return false
	}
	v, t := &p.Steps[step].Args[arg], e.params[arg]
	if v.Kind == worker.Iface && len(v.Elems) == 1 {
		v, t = &v.Elems[0], s.types[v.Text]
	}
	if v.Kind != worker.Zero || t == nil || isErrorType(t) {
		return false
	}
	switch t.Underlying().(type) {
	case *types.Pointer, *types.Signature, *types.Interface:
		return true
	}
	return false
}

// outOfRoom are what functions panic with that were asked for more than there is.
var outOfRoom = []string{"makeslice", "makemap", "makechan", "growslice", "too large", "out of memory", "output length overflow", "stack overflow"}

// meant reports whether a panic that is gone is a change that callers see: they can make the call, with no nil but where one of the versions
// asks for it, and the old version did not only want more memory than there is.
func (s *surface) meant(d *finding) bool {
	if d.at >= len(d.program.Steps) {
		return false
	}
	if key := s.entries[d.program.Steps[d.at].Func].public(); key == "" || !exportedKey(key) {
		return false
	}
	for _, l := range d.lines[0] {
		if l.Step == d.step && l.Path == "panic" && slices.ContainsFunc(outOfRoom, func(text string) bool { return strings.Contains(l.Text, text) }) {
			return false
		}
	}
	return !s.passesUnasked(d.program)
}

// passesUnasked reports whether a program passes a nil pointer, function or interface, or one in an interface, where neither version of
// what is called compares that with nil.
func (s *surface) passesUnasked(p *worker.Program) bool {
	for i := range p.Steps {
		e := s.entries[p.Steps[i].Func]
		for j := range p.Steps[i].Args {
			if s.isNil(e, p, i, j) && (e.key == "" || p.Steps[i].Args[j].Kind != worker.Zero || !s.old.comparesWithNil(e, j, 0) && !s.new.comparesWithNil(e, j, 0)) {
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
		if !e.method || e.public() == "" || len(step.Args) == 0 || step.Args[0].Kind != worker.Zero {
			continue
		}
		if _, ptr := types.Unalias(e.params[0]).(*types.Pointer); ptr && !s.old.comparesWithNil(e, 0, 0) && !s.new.comparesWithNil(e, 0, 0) {
			name, _, _ := strings.Cut(e.public(), ".")
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
	return v.nilAsked(fn.Body, v.pkg.TypesInfo.Defs[fn.Recv.List[0].Names[0]], depth)
}

// comparesWithNil reports whether a function compares an argument with nil, or calls a method on it that does.
func (v *side) comparesWithNil(e *entry, arg, depth int) bool {
	if e.method && arg == 0 {
		return e.outer == "" && v.asksForNil(e.key, depth) // a nil embeds nothing
	}
	d := v.decls[e.key]
	if d == nil {
		return false
	}
	fn, ok := d.node.(*ast.FuncDecl)
	if !ok || fn.Body == nil {
		return false
	}
	if e.method {
		arg--
	}
	for _, f := range fn.Type.Params.List {
		for _, name := range f.Names {
			if arg == 0 {
				return v.nilAsked(fn.Body, v.pkg.TypesInfo.Defs[name], depth)
			}
			arg--
		}
	}
	return false
}

// nilAsked reports whether code compares a variable with nil, or calls a method on it that does.
func (v *side) nilAsked(body *ast.BlockStmt, of types.Object, depth int) bool {
	is := func(e ast.Expr) bool {
		id, ok := ast.Unparen(e).(*ast.Ident)
		return ok && of != nil && v.pkg.TypesInfo.Uses[id] == of
	}
	found := false
	ast.Inspect(body, func(n ast.Node) bool {
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
