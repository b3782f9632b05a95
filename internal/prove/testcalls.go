package prove

import (
	"go/ast"
	"go/token"
	"go/types"
	"slices"
	"strings"

	"github.com/hone-perf/hone/internal/prove/worker"
)

// A seedMaker reads programs from the calls of a test: what makes a value, what is done to it, and then the call.
type seedMaker struct {
	*surface
	*scene
	side    *side
	history map[types.Object][]ast.Node

	// Of the program that is being read:
	resolve resolver
	steps   []seedStep
	objects map[types.Object]*worker.Value
}

// historyOf notes what is done with each variable of a function, in order: where it is set, called upon, and where its fields are set.
func (sc *scene) historyOf(body ast.Node) map[types.Object][]ast.Node {
	out := make(map[types.Object][]ast.Node)
	note := func(e ast.Expr, n ast.Node) {
		if id, ok := ast.Unparen(e).(*ast.Ident); ok {
			if obj := sc.info.ObjectOf(id); obj != nil {
				out[obj] = append(out[obj], n)
			}
		}
	}
	ast.Inspect(body, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.AssignStmt:
			for _, e := range n.Lhs {
				if sel, ok := e.(*ast.SelectorExpr); ok {
					e = sel.X
				}
				note(e, n)
			}
		case *ast.ValueSpec:
			for _, name := range n.Names {
				note(name, n)
			}
		case *ast.CallExpr:
			if sel, ok := ast.Unparen(n.Fun).(*ast.SelectorExpr); ok {
				note(sel.X, n)
			}
		}
		return true
	})
	return out
}

// called returns the key of the function of the package that is called, and the function; nil where it is another.
func (m *seedMaker) called(call *ast.CallExpr) (string, *types.Func) {
	var id *ast.Ident
	switch fun := ast.Unparen(call.Fun).(type) {
	case *ast.Ident:
		id = fun
	case *ast.SelectorExpr:
		id = fun.Sel
	case *ast.IndexExpr:
		id, _ = fun.X.(*ast.Ident)
	}
	if id == nil {
		return "", nil
	}
	v := m.side
	fn, ok := m.info.Uses[id].(*types.Func)
	if !ok || fn.Pkg() == nil || strings.TrimSuffix(fn.Pkg().Path(), "_test") != v.pkg.PkgPath {
		return "", nil
	}
	key := v.keyOf(fn)
	if key == "" { // seen from outside, it is another object
		key = fn.Name()
		if r := fn.Origin().Signature().Recv(); r != nil {
			if named, ok := base(r.Type()).(*types.Named); ok {
				key = named.Obj().Name() + "." + key
			}
		}
		key = v.named(key)
	}
	if d := v.decls[key]; d == nil || d.test {
		return "", nil
	}
	return key, fn
}

// calls returns the programs of a call, one for each row or element that its arguments come from.
func (m *seedMaker) calls(call *ast.CallExpr, fn *types.Func) []seedCall {
	var out []seedCall
	for _, resolve := range m.rowsFor(m.sources(call)) {
		m.resolve, m.steps, m.objects = resolve, nil, make(map[types.Object]*worker.Value)
		if _, found := m.call(call, fn, 0); found {
			out = append(out, slices.Clone(m.steps))
		}
	}
	return out
}

// sources returns the expressions that a call takes its values from, also those that its variables are set to.
func (m *seedMaker) sources(call *ast.CallExpr) []ast.Expr {
	list := slices.Clone(call.Args)
	if sel, ok := ast.Unparen(call.Fun).(*ast.SelectorExpr); ok {
		list = append(list, sel.X)
	}
	for _, e := range slices.Clone(list) {
		ast.Inspect(e, func(n ast.Node) bool {
			id, ok := n.(*ast.Ident)
			if !ok {
				return true
			}
			for _, n := range m.history[m.info.Uses[id]] {
				if n.Pos() >= call.Pos() {
					break
				}
				switch n := n.(type) {
				case *ast.AssignStmt:
					list = append(list, n.Rhs...)
				case *ast.ValueSpec:
					list = append(list, n.Values...)
				case *ast.CallExpr:
					list = append(list, n.Args...)
				}
			}
			return true
		})
	}
	return list
}

// call adds the step of a call, and returns its place. It reports whether anything of it could be read; a receiver or an argument that
// could not is made up.
func (m *seedMaker) call(call *ast.CallExpr, fn *types.Func, depth int) (at int, found bool) {
	key, _ := m.called(call)
	st := seedStep{key: key}
	sig := fn.Signature()
	if sig.Recv() != nil {
		st.args = append(st.args, nil)
		if sel, ok := ast.Unparen(call.Fun).(*ast.SelectorExpr); ok {
			st.outer = m.embeddedIn(sel)
			if v, ok := m.value(sel.X, call.Pos(), depth+1); ok {
				st.args[0] = &v
				found = true
			}
		}
	}
	params := sig.Params()
	args := make([]*worker.Value, params.Len())
	found = found || params.Len() == 0
	if len(call.Args) == 1 && params.Len() > 1 && !sig.Variadic() { // f(g())
		if v, ok := m.value(call.Args[0], call.Pos(), depth+1); ok && v.Kind == worker.Ref {
			for i := range args {
				args[i] = &worker.Value{Kind: worker.Ref, Int: v.Int + int64(i)}
			}
			found = true
		}
	} else {
		for i, a := range call.Args {
			v, ok := m.value(a, call.Pos(), depth+1)
			if !ok && fieldMissing(m.scene, a, m.resolve) {
				v, ok = worker.Value{}, true // a row that leaves the field out
			}
			switch {
			case sig.Variadic() && i >= params.Len()-1:
				if args[params.Len()-1] == nil {
					args[params.Len()-1] = &worker.Value{Kind: worker.List}
				}
				if v, ok = m.held(v, ok, a, params.At(params.Len()-1).Type().(*types.Slice).Elem()); ok {
					last := args[params.Len()-1]
					last.Elems = append(last.Elems, v)
					found = true
				}
			case i < params.Len():
				if v, ok = m.held(v, ok, a, params.At(i).Type()); ok {
					args[i] = &v
					found = true
				}
			}
		}
	}
	st.args = append(st.args, args...)
	m.steps = append(m.steps, st)
	return len(m.steps) - 1, found
}

// embeddedIn returns the type that a method is called on which has it from what it embeds, or "".
func (m *seedMaker) embeddedIn(sel *ast.SelectorExpr) string {
	s := m.info.Selections[sel]
	if s == nil || len(s.Index()) < 2 {
		return ""
	}
	if named, ok := types.Unalias(base(s.Recv())).(*types.Named); ok {
		return named.Obj().Name()
	}
	return "?" // it has no name, so that nobody makes one
}

// held puts a value into the interface that a parameter is, where workers know its type.
func (m *seedMaker) held(v worker.Value, ok bool, e ast.Expr, param types.Type) (worker.Value, bool) {
	if !ok || !types.IsInterface(param) {
		return v, ok
	}
	switch v.Kind {
	case worker.Zero, worker.Ref, worker.Same, worker.Reader, worker.Error, worker.Iface:
		return v, true
	}
	to := e
	if r := m.resolve(ast.Unparen(e)); r != nil {
		to = r // a row of a table may hold it in an interface
	}
	t := m.info.TypeOf(to)
	if t == nil {
		return v, false
	}
	name, known := m.holdable(types.Default(t))
	if !known {
		return v, false
	}
	return worker.Value{Kind: worker.Iface, Text: name, Elems: []worker.Value{shaped(v, t)}}, true
}

// value reads an expression that stands at a place, and adds the steps that make it.
func (m *seedMaker) value(e ast.Expr, at token.Pos, depth int) (worker.Value, bool) {
	none := worker.Value{}
	if v, ok := literalValue(m.info, e, m.resolve); ok {
		return v, true
	}
	if depth > 5 || len(m.steps) >= maxSteps {
		return none, false
	}
	switch e := ast.Unparen(e).(type) {
	case *ast.Ident:
		return m.object(m.info.Uses[e], at, depth)
	case *ast.SelectorExpr:
		if to := m.resolve(e); to != nil {
			return m.value(to, at, depth+1)
		}
	case *ast.UnaryExpr:
		if e.Op == token.AND {
			return m.value(e.X, at, depth)
		}
	case *ast.StarExpr:
		return m.value(e.X, at, depth)
	case *ast.CallExpr:
		if id, ok := e.Fun.(*ast.Ident); ok && id.Name == "new" && len(e.Args) == 1 && m.info.Types[e.Args[0]].IsType() {
			return zeroOf(m.info.TypeOf(e.Args[0]))
		}
		if _, fn := m.called(e); fn != nil && fn.Signature().Results().Len() > 0 && e.Ellipsis == token.NoPos {
			step, found := m.call(e, fn, depth)
			return worker.Value{Kind: worker.Ref, Int: int64(step) << 8}, found
		}
	}
	return none, false
}

// zeroOf describes a pointer to a zero value, which a variable is that is declared without one.
func zeroOf(t types.Type) (worker.Value, bool) {
	if t == nil || types.IsInterface(t) {
		return worker.Value{}, false
	}
	in := worker.Value{}
	if _, ok := t.Underlying().(*types.Struct); ok {
		in.Kind = worker.Struct
	}
	return worker.Value{Kind: worker.Ptr, Elems: []worker.Value{in}}, true
}

// shaped returns a value of a variable as a type wants it, whose address may have been taken or not.
func shaped(v worker.Value, t types.Type) worker.Value {
	switch u := t.Underlying().(type) {
	case *types.Pointer:
		if v.Kind == worker.Struct || v.Kind != worker.Zero && v.Kind != worker.Ptr && v.Kind < worker.Ptr && isBasic(u.Elem()) {
			return worker.Value{Kind: worker.Ptr, Elems: []worker.Value{v}}
		}
	case *types.Interface:
	default:
		if v.Kind == worker.Ptr && len(v.Elems) == 1 {
			return v.Elems[0]
		}
	}
	return v
}

// object returns what a variable is at a place, and adds the steps that made it that.
func (m *seedMaker) object(obj types.Object, at token.Pos, depth int) (worker.Value, bool) {
	if obj == nil {
		return worker.Value{}, false
	}
	if v := m.objects[obj]; v != nil {
		return *v, true
	}
	var made *worker.Value
	for _, n := range m.history[obj] {
		if n.Pos() >= at || len(m.steps) >= maxSteps {
			break
		}
		switch n := n.(type) {
		case *ast.ValueSpec:
			if len(n.Values) == len(n.Names) {
				for i, name := range n.Names {
					if m.info.Defs[name] == obj {
						made = m.made(n.Values[i], 0, n.Pos(), depth)
					}
				}
			} else if v, ok := zeroOf(obj.Type()); ok && len(n.Values) == 0 {
				made = &v
			}
		case *ast.AssignStmt:
			for i, l := range n.Lhs {
				switch l := l.(type) {
				case *ast.Ident:
					if m.info.ObjectOf(l) != obj {
						continue
					}
					if len(n.Rhs) == len(n.Lhs) {
						made = m.made(n.Rhs[i], 0, n.Pos(), depth)
					} else {
						made = m.made(n.Rhs[0], i, n.Pos(), depth)
					}
				case *ast.SelectorExpr:
					if id, ok := l.X.(*ast.Ident); ok && m.info.Uses[id] == obj && made != nil && len(n.Rhs) == len(n.Lhs) {
						m.setField(obj, l.Sel.Name, n.Rhs[i], made, depth)
					}
				}
			}
		case *ast.CallExpr:
			if _, fn := m.called(n); made != nil && fn != nil && fn.Signature().Recv() != nil && n.End() < at {
				m.objects[obj] = made
				if step, _ := m.call(n, fn, depth+1); made.Kind != worker.Ref && made.Kind != worker.Same {
					made = &worker.Value{Kind: worker.Same, Int: int64(step) << 8}
				}
			}
		}
	}
	if made == nil {
		return worker.Value{}, false
	}
	m.objects[obj] = made
	return *made, true
}

// made reads what a variable is set to, a result of a call or a value; nil is that it cannot be read.
func (m *seedMaker) made(e ast.Expr, result int, at token.Pos, depth int) *worker.Value {
	v, ok := m.value(e, at, depth+1)
	if !ok || result > 0 && v.Kind != worker.Ref {
		return nil
	}
	if v.Kind == worker.Ref {
		v.Int += int64(result)
	}
	return &v
}

// setField adds that a field of a value is set.
func (m *seedMaker) setField(obj types.Object, field string, to ast.Expr, made *worker.Value, depth int) {
	named, _ := structOf(obj.Type())
	v, ok := m.value(to, to.Pos(), depth+1)
	if named == nil || !ok {
		return
	}
	switch {
	case made.Kind == worker.Struct:
		made.Names, made.Elems = append(made.Names, field), append(made.Elems, v)
	case made.Kind == worker.Ptr && len(made.Elems) == 1 && made.Elems[0].Kind == worker.Struct:
		in := &made.Elems[0]
		in.Names, in.Elems = append(in.Names, field), append(in.Elems, v)
	default:
		m.steps = append(m.steps, seedStep{key: named.Obj().Name(), field: field, args: []*worker.Value{made, &v}})
	}
}

// entryFor returns the entry that a step of a seed calls, or nil.
func (g *gen) entryFor(st *seedStep) *entry {
	for _, e := range g.entries {
		if st.field != "" && e.field == st.field {
			if named, _ := structOf(e.params[0]); named != nil && named.Obj().Name() == st.key {
				return e
			}
		}
		if st.field == "" && e.key == st.key && e.isOf(st.outer) {
			return e
		}
	}
	return nil
}

// isOf reports whether a function is not a method of an embedded type, outer is "", or the one that a type has which outer names.
func (e *entry) isOf(outer string) bool {
	of, _, _ := strings.Cut(e.outer, ".")
	return of == outer
}

// fromSeed makes a program of a call in a test.
func (g *gen) fromSeed(t *target, seed seedCall) *worker.Program {
	p := &worker.Program{After: true}
	b := &builder{gen: g, p: p, near: t}
	g.dict.near = t.key
	for i := range seed {
		for _, v := range seed[i].args {
			if v != nil {
				b.said = addTexts(b.said, v)
			}
		}
	}
	places := make([]int, len(seed)) // of the steps in the program
	for i := range seed {
		st, last := &seed[i], i == len(seed)-1
		e := t.entry
		if !last || st.outer != "" {
			e = g.entryFor(st)
		}
		if last && e == nil {
			e = t.entry
		}
		if places[i] = -1; e == nil {
			continue // what takes it is made up
		}
		values := make([]worker.Value, len(e.params))
		for j, typ := range e.params {
			switch {
			case j < len(st.args) && st.args[j] != nil && (j > 0 || e.isOf(st.outer)) && relocatable(st.args[j], places) && g.shared(st.args[j], typ):
				values[j] = clone(*st.args[j])
				relocate(&values[j], places)
				values[j] = shaped(values[j], typ)
			case j == 0 && e.method:
				values[j], _ = b.object(typ, e)
			default:
				values[j] = b.value(typ)
			}
		}
		places[i] = b.call(e, values)
		if last {
			b.follow(e, places[i])
		}
	}
	return p
}

// relocatable reports whether the steps that a value names are in the program.
func relocatable(v *worker.Value, places []int) bool {
	if v.Kind == worker.Ref || v.Kind == worker.Same {
		if step := int(v.Int >> 8); step >= len(places) || places[step] < 0 {
			return false
		}
	}
	return !slices.ContainsFunc(v.Elems, func(e worker.Value) bool { return !relocatable(&e, places) })
}

// relocate makes a value name the places that steps of a seed have in a program.
func relocate(v *worker.Value, places []int) {
	if v.Kind == worker.Ref || v.Kind == worker.Same {
		v.Int = int64(places[v.Int>>8])<<8 | v.Int&255
	}
	for i := range v.Elems {
		relocate(&v.Elems[i], places)
	}
}
