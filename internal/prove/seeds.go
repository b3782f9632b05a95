package prove

import (
	"go/ast"
	"go/constant"
	"go/token"
	"go/types"
	"math"
	"strings"

	"github.com/hone-perf/hone/internal/prove/worker"
)

// A seedCall is a call that the tests of the package make, behind those that make its receiver and its arguments. The last step is the call.
type seedCall []seedStep

// A seedStep is a call of a function or a method, or sets a field. An argument that cannot be read from the test is nil, and made up.
// Results of earlier steps are named by their places among the steps.
type seedStep struct {
	key   string
	outer string          // type that the receiver is embedded in, which the method is called on
	field string          // of the type that key names
	args  []*worker.Value // the receiver of a method comes first
}

// Limits of what is read from tests.
const (
	maxSeeds = 300 // of one function
	maxRows  = 100 // of a table, for each call
	maxSteps = 12  // of one seed
)

// findSeeds finds the calls in tests, with literals, rows of tables and elements of loops as arguments.
func findSeeds(s *surface) map[string][]seedCall {
	seeds := make(map[string][]seedCall)
	for _, v := range []*side{s.old, s.new} {
		s.collectSeeds(v, v.pkg.TypesInfo, v.pkg.Syntax, seeds)
		if v.outer != nil {
			s.collectSeeds(v, v.outer.TypesInfo, v.outer.Syntax, seeds)
		}
	}
	return seeds
}

// A scene is what is known about the variables of a test file.
type scene struct {
	info *types.Info
	vars map[types.Object][]ast.Expr // what a variable may be
	rows map[*types.Struct][]*ast.CompositeLit
}

func (s *surface) collectSeeds(v *side, info *types.Info, files []*ast.File, seeds map[string][]seedCall) {
	for _, f := range files {
		if !strings.HasSuffix(v.pkg.Fset.File(f.Pos()).Name(), "_test.go") {
			continue
		}
		sc := &scene{info, make(map[types.Object][]ast.Expr), make(map[*types.Struct][]*ast.CompositeLit)}
		sc.read(f)
		for _, d := range f.Decls {
			fn, ok := d.(*ast.FuncDecl)
			if !ok || fn.Body == nil {
				continue
			}
			m := &seedMaker{surface: s, scene: sc, side: v, history: sc.historyOf(fn.Body)}
			ast.Inspect(fn.Body, func(n ast.Node) bool {
				call, ok := n.(*ast.CallExpr)
				if !ok || call.Ellipsis != token.NoPos {
					return true
				}
				key, of := m.called(call)
				if of == nil {
					return true
				}
				for _, c := range m.calls(call, of) {
					if len(seeds[key]) < maxSeeds {
						seeds[key] = append(seeds[key], c)
					}
				}
				return true
			})
		}
	}
}

// read notes what variables are set to, and the rows of tables.
func (sc *scene) read(f *ast.File) {
	set := func(e ast.Expr, to ast.Expr) {
		if id, ok := e.(*ast.Ident); ok {
			if obj := sc.info.Defs[id]; obj != nil {
				sc.vars[obj] = append(sc.vars[obj], to)
			}
		}
	}
	ast.Inspect(f, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.AssignStmt:
			if n.Tok == token.DEFINE && len(n.Lhs) == len(n.Rhs) {
				for i := range n.Lhs {
					set(n.Lhs[i], n.Rhs[i])
				}
			}
		case *ast.ValueSpec:
			for i, name := range n.Names {
				if i < len(n.Values) && len(n.Names) == len(n.Values) {
					set(name, n.Values[i])
				}
			}
		case *ast.RangeStmt:
			for _, x := range sc.exprs(n.X) {
				if lit, ok := x.(*ast.CompositeLit); ok {
					for _, e := range lit.Elts {
						if kv, ok := e.(*ast.KeyValueExpr); ok {
							set(n.Key, kv.Key)
							e = kv.Value
						}
						if n.Value != nil {
							set(n.Value, e)
						}
					}
				}
			}
		case *ast.CompositeLit:
			if t := sc.info.TypeOf(n); t != nil {
				if st, ok := base(t).Underlying().(*types.Struct); ok {
					sc.rows[st] = append(sc.rows[st], n)
				}
			}
		}
		return true
	})
}

// exprs returns what an expression may stand for.
func (sc *scene) exprs(e ast.Expr) []ast.Expr {
	if id, ok := e.(*ast.Ident); ok {
		if obj := sc.info.Uses[id]; obj != nil && len(sc.vars[obj]) > 0 {
			return sc.vars[obj]
		}
	}
	return []ast.Expr{e}
}

// A resolver says what variables and fields of rows stand for, in one row of a table.
type resolver func(ast.Expr) ast.Expr

// rowsFor returns for each row of the table, or element of the loop, that expressions come from what they stand for.
func (sc *scene) rowsFor(list []ast.Expr) []resolver {
	var table *types.Struct
	most := 1
	for _, a := range list {
		ast.Inspect(a, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.SelectorExpr:
				if t := sc.info.TypeOf(n.X); t != nil {
					if st, ok := base(t).Underlying().(*types.Struct); ok && len(sc.rows[st]) > 0 {
						table = st
						most = max(most, len(sc.rows[st]))
					}
				}
			case *ast.Ident:
				if obj := sc.info.Uses[n]; obj != nil {
					most = max(most, len(sc.vars[obj]))
				}
			}
			return true
		})
	}
	out := make([]resolver, min(most, maxRows))
	for i := range out {
		out[i] = func(e ast.Expr) ast.Expr {
			switch e := e.(type) {
			case *ast.Ident:
				if obj := sc.info.Uses[e]; obj != nil && len(sc.vars[obj]) > 0 {
					return sc.vars[obj][i%len(sc.vars[obj])]
				}
			case *ast.SelectorExpr:
				if t := sc.info.TypeOf(e.X); t != nil && table != nil && base(t).Underlying() == table {
					return fieldOf(sc.rows[table][i%len(sc.rows[table])], table, e.Sel.Name)
				}
			}
			return nil
		}
	}
	return out
}

// fieldOf returns what a literal sets a field to, or nil.
func fieldOf(lit *ast.CompositeLit, st *types.Struct, name string) ast.Expr {
	for i, e := range lit.Elts {
		if kv, ok := e.(*ast.KeyValueExpr); ok {
			if id, ok := kv.Key.(*ast.Ident); ok && id.Name == name {
				return kv.Value
			}
		} else if i < st.NumFields() && st.Field(i).Name() == name {
			return e
		}
	}
	return nil
}

func fieldMissing(sc *scene, e ast.Expr, resolve func(ast.Expr) ast.Expr) bool {
	sel, ok := e.(*ast.SelectorExpr)
	if !ok || resolve(e) != nil {
		return false
	}
	t := sc.info.TypeOf(sel.X)
	if t == nil {
		return false
	}
	st, ok := base(t).Underlying().(*types.Struct)
	return ok && len(sc.rows[st]) > 0
}

// literalValue reads a value from source. resolve says what variables and fields stand for; it may be nil.
func literalValue(info *types.Info, e ast.Expr, resolve func(ast.Expr) ast.Expr) (worker.Value, bool) {
	return readLiteral(info, e, resolve, 0)
}

func readLiteral(info *types.Info, e ast.Expr, resolve func(ast.Expr) ast.Expr, depth int) (worker.Value, bool) {
	none := worker.Value{}
	if depth > 12 {
		return none, false
	}
	tv := info.Types[e]
	if tv.Value != nil {
		return constantValue(tv)
	}
	if tv.IsNil() {
		return none, true
	}
	read := func(e ast.Expr) (worker.Value, bool) { return readLiteral(info, e, resolve, depth+1) }
	switch e := e.(type) {
	case *ast.ParenExpr:
		return read(e.X)
	case *ast.Ident, *ast.SelectorExpr:
		if resolve != nil {
			if to := resolve(e); to != nil && to != e {
				return readLiteral(info, to, nil, depth+1)
			}
		}
	case *ast.UnaryExpr:
		if e.Op == token.AND {
			v, ok := read(e.X)
			return worker.Value{Kind: worker.Ptr, Elems: []worker.Value{v}}, ok && v.Kind != worker.Ptr
		}
	case *ast.CompositeLit:
		return readComposite(info, e, read)
	case *ast.CallExpr:
		return readCallValue(info, e, read)
	}
	return none, false
}

func constantValue(tv types.TypeAndValue) (worker.Value, bool) {
	b, ok := tv.Type.Underlying().(*types.Basic)
	if !ok {
		return worker.Value{}, false
	}
	switch info := b.Info(); {
	case info&types.IsBoolean != 0:
		v := worker.Value{Kind: worker.Bool}
		if constant.BoolVal(tv.Value) {
			v.Int = 1
		}
		return v, true
	case info&types.IsString != 0:
		return worker.Value{Kind: worker.String, Text: constant.StringVal(tv.Value)}, true
	case info&types.IsInteger != 0:
		c := constant.ToInt(tv.Value)
		if n, exact := constant.Int64Val(c); exact {
			return worker.Value{Kind: worker.Int, Int: n}, true
		}
		n, exact := constant.Uint64Val(c)
		return worker.Value{Kind: worker.Int, Int: int64(n)}, exact
	case info&types.IsFloat != 0:
		f, _ := constant.Float64Val(tv.Value)
		return worker.Value{Kind: worker.Float, Int: int64(math.Float64bits(f))}, true
	}
	return worker.Value{}, false
}

func readComposite(info *types.Info, e *ast.CompositeLit, read func(ast.Expr) (worker.Value, bool)) (worker.Value, bool) {
	t := info.TypeOf(e)
	if t == nil {
		return worker.Value{}, false
	}
	_, ptr := types.Unalias(t).(*types.Pointer)
	var v worker.Value
	switch u := base(t).Underlying().(type) {
	case *types.Slice, *types.Array:
		v.Kind = worker.List
		for _, elt := range e.Elts {
			if _, keyed := elt.(*ast.KeyValueExpr); keyed {
				return v, false
			}
			x, ok := read(elt)
			if !ok {
				return v, false
			}
			v.Elems = append(v.Elems, x)
		}
		if s, ok := u.(*types.Slice); ok {
			if b, ok := s.Elem().Underlying().(*types.Basic); ok && b.Kind() == types.Uint8 {
				text := make([]byte, len(v.Elems))
				for i := range text {
					text[i] = byte(v.Elems[i].Int)
				}
				v = worker.Value{Kind: worker.String, Text: string(text)}
			}
		}
	case *types.Map:
		v.Kind = worker.Map
		for _, elt := range e.Elts {
			kv, ok := elt.(*ast.KeyValueExpr)
			if !ok {
				return v, false
			}
			key, ok1 := read(kv.Key)
			val, ok2 := read(kv.Value)
			if !ok1 || !ok2 {
				return v, false
			}
			v.Elems = append(v.Elems, key, val)
		}
	case *types.Struct:
		v.Kind = worker.Struct
		for i, elt := range e.Elts {
			name := ""
			if kv, ok := elt.(*ast.KeyValueExpr); ok {
				id, ok := kv.Key.(*ast.Ident)
				if !ok {
					return v, false
				}
				name, elt = id.Name, kv.Value
			} else if i < u.NumFields() {
				name = u.Field(i).Name()
			}
			x, ok := read(elt)
			if !ok {
				return v, false
			}
			v.Names = append(v.Names, name)
			v.Elems = append(v.Elems, x)
		}
	default:
		return v, false
	}
	if ptr {
		v = worker.Value{Kind: worker.Ptr, Elems: []worker.Value{v}}
	}
	return v, true
}

func readCallValue(info *types.Info, e *ast.CallExpr, read func(ast.Expr) (worker.Value, bool)) (worker.Value, bool) {
	none := worker.Value{}
	if len(e.Args) == 0 {
		return none, false
	}
	v, ok := read(e.Args[0])
	if !ok {
		return none, false
	}
	if info.Types[e.Fun].IsType() {
		return v, v.Kind == worker.String || v.Kind == worker.List || v.Kind == worker.Int
	}
	sel, isSel := e.Fun.(*ast.SelectorExpr)
	if !isSel {
		return none, false
	}
	fn, _ := info.Uses[sel.Sel].(*types.Func)
	if fn == nil {
		return none, false
	}
	switch fn.FullName() {
	case "strings.NewReader", "bytes.NewReader", "bytes.NewBufferString", "bytes.NewBuffer":
		return worker.Value{Kind: worker.Reader, Text: v.Text}, v.Kind == worker.String
	case "strings.Repeat":
		n, ok := read(e.Args[1])
		if !ok || n.Int < 0 || n.Int*int64(len(v.Text)) > 1<<16 {
			return none, false
		}
		return worker.Value{Kind: worker.String, Text: strings.Repeat(v.Text, int(n.Int))}, true
	case "errors.New":
		return worker.Value{Kind: worker.Error, Text: v.Text}, true
	}
	return none, false
}
