package prove

import (
	"cmp"
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"slices"
	"strings"
)

// An entry is a function that both workers know, by its place in a table.
type entry struct {
	id       int
	name     string // as people write it: leftpad, (*StatsD).Incr, log.New
	expr     string // the same in the code of the workers
	key      string // of its declaration, "" for those from elsewhere
	params   []types.Type
	results  []types.Type
	variadic bool
	method   bool // the first parameter is a receiver
	inOld    bool
}

// A target is a function to be compared.
type target struct {
	*entry
	key      string
	distance int    // from what was changed
	why      string // it cannot be called, then entry is nil
	gone     bool   // it is only in the old version
	adapted  bool   // all that use it changed as well, and no test names it
	file     string
	line     int
}

// A surface is what can be called of a package, in both versions.
type surface struct {
	*pair
	entries []*entry
	targets []*target
	imports map[string]string // path → name in the code of the workers
	ctors   map[string][]*entry
	methods map[string][]*entry
	types   map[string]types.Type // that interfaces may hold, by how the code spells them
	rules   map[string][]fieldRule
	danger  *danger
	inst    map[types.Type][]types.Type
}

// A fieldRule says what a field of a struct is to the comparison, and whether it may be filled.
type fieldRule struct {
	name   string
	inside bool // only the package can see it
	set    bool // somebody sets it in a literal
}

// newSurface finds out what can be called.
func newSurface(p *pair, d *danger) *surface {
	s := &surface{
		pair: p, danger: d,
		imports: make(map[string]string),
		ctors:   make(map[string][]*entry),
		methods: make(map[string][]*entry),
		types:   make(map[string]types.Type),
		rules:   make(map[string][]fieldRule),
	}
	s.compareStructs()
	distance := p.changed()
	keys := make([]string, 0, len(p.new.decls))
	for key := range p.new.decls {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	for _, key := range keys {
		now := p.new.decls[key]
		fn, ok := now.obj.(*types.Func)
		if !ok || now.test {
			continue
		}
		far, affected := distance[key]
		e, why := s.entryOf(key, fn)
		if e != nil {
			s.add(e)
		}
		if affected {
			t := &target{entry: e, key: key, distance: far, why: why}
			t.file, t.line = p.new.place(now.node.Pos())
			s.targets = append(s.targets, t)
		}
	}
	for key, d := range p.old.decls {
		if _, ok := d.obj.(*types.Func); ok && !d.test && p.new.decls[key] == nil {
			t := &target{key: key, gone: true}
			t.file, t.line = p.old.place(d.node.Pos())
			s.targets = append(s.targets, t)
		}
	}
	slices.SortFunc(s.targets, func(a, b *target) int {
		return cmp.Or(cmp.Compare(a.distance, b.distance), cmp.Compare(a.file, b.file), cmp.Compare(a.line, b.line))
	})
	for _, t := range s.targets {
		t.adapted = s.adapted(t.key, distance)
	}
	for i := 0; i < len(s.entries); i++ { // it grows
		for _, t := range s.entries[i].params {
			s.addConstructors(t, 0)
		}
	}
	s.addServe()
	s.addTypes()
	return s
}

// adapted reports whether a function is the package's own, and all that use it changed with it: what it has to do is then
// between them.
func (s *surface) adapted(key string, distance map[string]int) bool {
	name := key[strings.LastIndexByte(key, '.')+1:]
	if token.IsExported(name) {
		return false
	}
	used := false
	for _, v := range []*side{s.old, s.new} {
		for user, d := range v.decls {
			if user == key || !slices.Contains(d.uses, key) {
				continue
			}
			if far, ok := distance[user]; d.test || !ok || far > 0 {
				return false
			}
			used = true
		}
	}
	return used
}

// entryOf makes the entry of a function, or says why it cannot be called.
func (s *surface) entryOf(key string, fn *types.Func) (*entry, string) {
	if key == "main" && s.new.pkg.Types.Name() == "main" {
		return nil, "it is the program itself; arguments behind -- have it run"
	}
	before := s.old.decls[key]
	if before == nil {
		return nil, "it is only in the new version"
	}
	old, ok := before.obj.(*types.Func)
	if !ok {
		return nil, "it was no function"
	}
	if s.old.typeKey(old.Type()) != s.new.typeKey(fn.Type()) || s.old.recvKey(old) != s.new.recvKey(fn) {
		return nil, "its parameters or results have other types now"
	}
	for _, d := range []string{s.danger.of(s.old, key), s.danger.of(s.new, key)} {
		if d != "" {
			return nil, "it can reach " + d + ", and is not called with made-up arguments"
		}
	}
	sig := fn.Signature()
	e := &entry{key: key, name: fn.Name(), inOld: true}
	recv := sig.Recv()
	if recv == nil {
		if sig, ok = s.instantiate(sig); !ok {
			return nil, "no types are known that it could be used with"
		}
		e.expr = fn.Name() + s.typeArgs(sig, fn)
		e.fill(sig)
		return e, s.incomparable(e)
	}
	t := recv.Type()
	ptr, isPtr := t.(*types.Pointer)
	if isPtr {
		t = ptr.Elem()
	}
	named, ok := t.(*types.Named)
	if !ok {
		return nil, "its receiver has no name"
	}
	if named.TypeParams().Len() > 0 {
		if named, ok = s.instantiateNamed(named); !ok {
			return nil, "no types are known that it could be used with"
		}
		obj, _, _ := types.LookupFieldOrMethod(types.NewPointer(named), true, s.new.pkg.Types, fn.Name())
		m, ok := obj.(*types.Func)
		if !ok {
			return nil, "its receiver has no name"
		}
		sig = m.Signature()
	}
	e.method = true
	e.fill(sig)
	spelled := s.spell(named)
	if isPtr {
		e.params = append([]types.Type{types.NewPointer(named)}, e.params...)
		e.name, e.expr = "(*"+named.Obj().Name()+")."+fn.Name(), "(*"+spelled+")."+fn.Name()
	} else {
		e.params = append([]types.Type{named}, e.params...)
		e.name, e.expr = named.Obj().Name()+"."+fn.Name(), spelled+"."+fn.Name()
	}
	return e, s.incomparable(e)
}

func (e *entry) fill(sig *types.Signature) {
	e.variadic = sig.Variadic()
	for v := range sig.Params().Variables() {
		e.params = append(e.params, v.Type())
	}
	for v := range sig.Results().Variables() {
		e.results = append(e.results, v.Type())
	}
}

// incomparable says why what a function takes or returns cannot be held against each other.
func (s *surface) incomparable(e *entry) string {
	for _, t := range slices.Concat(e.params, e.results) {
		if name := s.reshaped(t, 0); name != "" {
			return "type " + name + " is another one now"
		}
	}
	return ""
}

// reshaped returns the name of a type in t that has another shape in the old version. Structs are compared field by
// field, and whole numbers as numbers.
func (s *surface) reshaped(t types.Type, depth int) string {
	if depth > 8 {
		return ""
	}
	switch t := t.(type) {
	case *types.Alias:
		return s.reshaped(types.Unalias(t), depth)
	case *types.Pointer:
		return s.reshaped(t.Elem(), depth+1)
	case *types.Slice:
		return s.reshaped(t.Elem(), depth+1)
	case *types.Array:
		return s.reshaped(t.Elem(), depth+1)
	case *types.Map:
		return cmp.Or(s.reshaped(t.Key(), depth+1), s.reshaped(t.Elem(), depth+1))
	case *types.Named:
		if t.Obj().Pkg() != s.new.pkg.Types {
			return ""
		}
		was, ok := s.old.pkg.Types.Scope().Lookup(t.Obj().Name()).(*types.TypeName)
		if !ok {
			return t.Obj().Name()
		}
		a, b := was.Type().Underlying(), t.Underlying()
		if _, ok := b.(*types.Struct); ok {
			if _, ok := a.(*types.Struct); ok {
				return ""
			}
			return t.Obj().Name()
		}
		if isInteger(a) && isInteger(b) || s.old.typeKey(a) == s.new.typeKey(b) || t.TypeArgs() != nil {
			return ""
		}
		return t.Obj().Name()
	}
	return ""
}

func isInteger(t types.Type) bool {
	b, ok := t.Underlying().(*types.Basic)
	return ok && b.Info()&types.IsInteger != 0
}

// typeKey spells a type the same in both versions.
func (s *side) typeKey(t types.Type) string {
	return types.TypeString(t, func(p *types.Package) string {
		if p == s.pkg.Types || p.Path() == s.pkg.Types.Path() {
			return ""
		}
		if m := s.pkg.Module; m != nil {
			if rest, ok := strings.CutPrefix(p.Path(), m.Path); ok {
				return "~" + rest
			}
		}
		return p.Path()
	})
}

func (s *side) recvKey(f *types.Func) string {
	if r := f.Signature().Recv(); r != nil {
		return s.typeKey(r.Type())
	}
	return ""
}

// compareStructs finds the fields that the structs of both versions have.
func (s *surface) compareStructs() {
	literals := make(map[string]bool)
	kept := make(map[string]bool) // what the package itself sets afterwards is for it to keep in order
	for _, f := range s.new.pkg.Syntax {
		ast.Inspect(f, func(n ast.Node) bool {
			if set, ok := n.(*ast.AssignStmt); ok {
				for _, x := range set.Lhs {
					if sel, ok := x.(*ast.SelectorExpr); ok {
						if named, _ := structOf(s.new.pkg.TypesInfo.TypeOf(sel.X)); named != nil {
							kept[named.Obj().Name()+"."+sel.Sel.Name] = true
						}
					}
				}
			}
			lit, ok := n.(*ast.CompositeLit)
			if !ok {
				return true
			}
			named, st := structOf(s.new.pkg.TypesInfo.TypeOf(lit))
			if named == nil {
				return true
			}
			for i, e := range lit.Elts {
				if kv, ok := e.(*ast.KeyValueExpr); ok {
					if id, ok := kv.Key.(*ast.Ident); ok {
						literals[named.Obj().Name()+"."+id.Name] = true
					}
				} else if i < st.NumFields() {
					literals[named.Obj().Name()+"."+st.Field(i).Name()] = true
				}
			}
			return true
		})
	}
	for key, d := range s.new.decls {
		tn, ok := d.obj.(*types.TypeName)
		if !ok {
			continue
		}
		named, st := structOf(tn.Type())
		was, ok := s.old.pkg.Types.Scope().Lookup(key).(*types.TypeName)
		if named == nil || !ok {
			continue
		}
		_, before := structOf(was.Type())
		if before == nil {
			continue
		}
		types0 := make(map[string]string)
		for f := range before.Fields() {
			types0[f.Name()] = s.old.typeKey(f.Type())
		}
		plain := named.NumMethods() == 0
		rules := []fieldRule{}
		for f := range st.Fields() {
			if types0[f.Name()] != s.new.typeKey(f.Type()) || f.Name() == "_" || s.reshaped(f.Type(), 0) != "" {
				continue
			}
			name := key + "." + f.Name()
			rules = append(rules, fieldRule{f.Name(), !f.Exported() && !plain, literals[name] || f.Exported() && (plain || !kept[name])})
		}
		s.rules[key] = rules
	}
}

// structOf returns the named struct that t is or points to, or nil.
func structOf(t types.Type) (*types.Named, *types.Struct) {
	if t == nil {
		return nil, nil
	}
	t = types.Unalias(t)
	if p, ok := t.(*types.Pointer); ok {
		t = types.Unalias(p.Elem())
	}
	named, ok := t.(*types.Named)
	if !ok {
		return nil, nil
	}
	st, ok := named.Underlying().(*types.Struct)
	if !ok {
		return nil, nil
	}
	return named, st
}

func (s *surface) add(e *entry) {
	e.id = len(s.entries)
	s.entries = append(s.entries, e)
	if e.method {
		k := s.baseKey(e.params[0])
		s.methods[k] = append(s.methods[k], e)
		return
	}
	if len(e.results) == 0 || len(e.results) > 2 || isBasic(e.results[0]) {
		return
	}
	k := s.baseKey(e.results[0])
	for _, p := range e.params {
		if s.baseKey(p) == k {
			return // it changes one rather than making it
		}
	}
	if _, ok := types.Unalias(base(e.results[0])).(*types.Named); ok {
		s.ctors[k] = append(s.ctors[k], e)
	}
}

func isBasic(t types.Type) bool {
	_, ok := t.Underlying().(*types.Basic)
	return ok
}

// base returns what t points to, or t.
func base(t types.Type) types.Type {
	if p, ok := types.Unalias(t).(*types.Pointer); ok {
		return p.Elem()
	}
	return t
}

func (s *surface) baseKey(t types.Type) string { return s.new.typeKey(base(t)) }

// noConstructors are packages whose functions do more than make values.
var noConstructors = []string{
	"os", "net", "syscall", "os/exec", "os/signal", "plugin", "database/sql", "crypto/tls", "testing", "runtime", "unsafe", "log/syslog",
	"context", "net/rpc", "net/smtp", "runtime/pprof", "runtime/trace", "embed", "net/http/httptest", "net/http/pprof",
}

// addConstructors adds functions from elsewhere that return a t.
func (s *surface) addConstructors(t types.Type, depth int) {
	if depth > 2 || knownType(s.new.typeKey(t)) {
		return
	}
	switch u := types.Unalias(t).(type) {
	case *types.Slice:
		s.addConstructors(u.Elem(), depth+1)
		return
	case *types.Map:
		s.addConstructors(u.Elem(), depth+1)
		return
	}
	if named, st := structOf(t); st != nil && named.Obj().Pkg() == s.new.pkg.Types {
		for _, r := range s.rules[named.Obj().Name()] {
			for f := range st.Fields() {
				if f.Name() == r.name && r.set {
					s.addConstructors(f.Type(), depth+1)
				}
			}
		}
		return
	}
	named, ok := types.Unalias(base(t)).(*types.Named)
	if !ok || named.Obj().Pkg() == nil || named.Obj().Pkg() == s.new.pkg.Types || named.TypeParams().Len() > 0 {
		return
	}
	pkg := named.Obj().Pkg()
	if slices.Contains(noConstructors, pkg.Path()) || s.ctors[s.baseKey(t)] != nil || !s.canImport(pkg.Path()) {
		return
	}
	s.ctors[s.baseKey(t)] = []*entry{}
	for _, name := range pkg.Scope().Names() {
		fn, ok := pkg.Scope().Lookup(name).(*types.Func)
		if !ok || !fn.Exported() || fn.Signature().TypeParams().Len() > 0 || !strings.HasPrefix(name, "New") && !strings.HasPrefix(name, "Must") && !strings.HasPrefix(name, "Parse") {
			continue
		}
		if pkg.Path() == "net/http" && name != "NewServeMux" {
			continue
		}
		res := fn.Signature().Results()
		if n := res.Len(); n == 0 || n > 2 || s.baseKey(res.At(0).Type()) != s.baseKey(t) {
			continue
		}
		e := &entry{name: pkg.Name() + "." + name, inOld: true}
		e.expr = s.importName(pkg) + "." + name
		e.fill(fn.Signature())
		s.add(e)
	}
}

// canImport reports whether both versions import a package, so that neither can be in it or below it.
func (s *surface) canImport(path string) bool {
	return s.old.pkg.Imports[path] != nil && s.new.pkg.Imports[path] != nil
}

// importName returns what a package is called in the code of the workers.
func (s *surface) importName(p *types.Package) string {
	name, ok := s.imports[p.Path()]
	if !ok {
		name = fmt.Sprintf("hone%d", len(s.imports))
		s.imports[p.Path()] = name
	}
	return name
}

// spell writes a type as the workers do.
func (s *surface) spell(t types.Type) string {
	return types.TypeString(t, func(p *types.Package) string {
		if p == s.new.pkg.Types {
			return ""
		}
		return s.importName(p)
	})
}

const serveName = "http.Handler.ServeHTTP"

// addServe adds the call of a handler, in packages that serve HTTP.
func (s *surface) addServe() {
	p := s.new.pkg.Imports["net/http"]
	if p == nil || s.old.pkg.Imports["net/http"] == nil {
		return
	}
	scope := p.Types.Scope()
	handler, w, r := scope.Lookup("Handler"), scope.Lookup("ResponseWriter"), scope.Lookup("Request")
	if handler == nil || w == nil || r == nil {
		return
	}
	s.add(&entry{
		name: serveName, expr: s.importName(p.Types) + ".Handler.ServeHTTP", method: true, inOld: true,
		params: []types.Type{handler.Type(), w.Type(), types.NewPointer(r.Type())},
	})
}

// plainTypes are what an any is filled with.
var plainTypes = map[string]types.Type{
	"int": types.Typ[types.Int], "string": types.Typ[types.String], "bool": types.Typ[types.Bool],
	"float64": types.Typ[types.Float64], "[]byte": types.NewSlice(types.Typ[types.Byte]),
	"[]string": types.NewSlice(types.Typ[types.String]), "int64": types.Typ[types.Int64], "uint8": types.Typ[types.Uint8],
	"map[string]int": types.NewMap(types.Typ[types.String], types.Typ[types.Int]), "*int": types.NewPointer(types.Typ[types.Int]),
	"[]interface{}": types.NewSlice(types.NewInterfaceType(nil, nil)), "map[string]interface{}": types.NewMap(types.Typ[types.String], types.NewInterfaceType(nil, nil)),
}

// addTypes finds the types that interfaces may hold.
func (s *surface) addTypes() {
	for name, t := range plainTypes {
		s.types[name] = t
	}
	for key, d := range s.new.decls {
		tn, ok := d.obj.(*types.TypeName)
		if !ok || d.test || tn.IsAlias() {
			continue
		}
		was, ok := s.old.pkg.Types.Scope().Lookup(key).(*types.TypeName)
		if !ok || was.IsAlias() {
			continue
		}
		t := tn.Type()
		if named, ok := t.(*types.Named); ok && named.TypeParams().Len() > 0 {
			if t, ok = s.instantiateNamed(named); !ok {
				continue
			}
		}
		if types.IsInterface(t) {
			continue
		}
		s.types[s.spell(t)] = t
		s.types["*"+s.spell(t)] = types.NewPointer(t)
	}
}

// instantiate chooses types for the type parameters of a function.
func (s *surface) instantiate(sig *types.Signature) (*types.Signature, bool) {
	if sig.TypeParams().Len() == 0 {
		return sig, true
	}
	args, ok := s.choose(sig.TypeParams(), sig)
	if !ok {
		return nil, false
	}
	t, err := types.Instantiate(nil, sig, args, true)
	if err != nil {
		return nil, false
	}
	inst := t.(*types.Signature)
	s.remember(inst, args)
	return inst, true
}

func (s *surface) instantiateNamed(n *types.Named) (*types.Named, bool) {
	args, ok := s.choose(n.TypeParams(), n.Origin())
	if !ok {
		return nil, false
	}
	t, err := types.Instantiate(nil, n.Origin(), args, true)
	if err != nil {
		return nil, false
	}
	named, ok := t.(*types.Named)
	return named, ok
}

// choose finds types for type parameters, one after the other.
func (s *surface) choose(params *types.TypeParamList, of types.Type) ([]types.Type, bool) {
	plain := []types.Type{
		types.Typ[types.Int], types.Typ[types.String], types.Typ[types.Float64], types.NewSlice(types.Typ[types.Int]),
		types.NewSlice(types.Typ[types.Byte]), types.NewMap(types.Typ[types.String], types.Typ[types.Int]), types.Typ[types.Bool],
		types.NewSlice(types.Typ[types.String]), types.Typ[types.Uint8], types.Typ[types.Int64], types.NewMap(types.Typ[types.Int], types.Typ[types.String]),
	}
	args := make([]types.Type, params.Len())
	tries := 0
	var try func(i int) bool
	try = func(i int) bool {
		tries++
		if tries > 5000 {
			return false
		}
		if i == len(args) {
			_, err := types.Instantiate(nil, of, args, true)
			return err == nil
		}
		for j := range plain {
			args[i] = plain[(j+i)%len(plain)] // different ones, where they may be
			if try(i + 1) {
				return true
			}
		}
		return false
	}
	return args, len(args) <= 4 && try(0)
}

func (s *surface) remember(sig *types.Signature, args []types.Type) {
	if s.inst == nil {
		s.inst = make(map[types.Type][]types.Type)
	}
	s.inst[sig] = args
}

// typeArgs writes the types that a function is used with.
func (s *surface) typeArgs(sig *types.Signature, fn *types.Func) string {
	args := s.inst[sig]
	if len(args) == 0 {
		return ""
	}
	words := make([]string, len(args))
	for i, a := range args {
		words[i] = s.spell(a)
	}
	return "[" + strings.Join(words, ", ") + "]"
}
