package prove

import (
	"fmt"
	"go/types"
	"slices"
	"strings"
	"sync"
)

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

// noConstructors are packages whose functions do more than make values.
var noConstructors = []string{
	"os", "net", "syscall", "os/exec", "os/signal", "plugin", "database/sql", "crypto/tls", "testing", "runtime", "unsafe", "log/syslog",
	"context", "net/rpc", "net/smtp", "runtime/pprof", "runtime/trace", "embed", "net/http/httptest", "net/http/pprof",
}

// addConstructors adds functions from elsewhere that return a t.
func (s *surface) addConstructors(t types.Type, depth int) {
	if depth > 2 || knownType(s.new.typeKey(t)) != 0 {
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
	// An alias of the package itself may be new, and any was an interface{} once. Those of other packages may stand for what has no
	// other name here.
	own := func(a *types.Alias) bool { return a.Obj().Pkg() == nil || a.Obj().Pkg() == s.new.pkg.Types }
	return types.TypeString(plain(t, s.empty(), own), func(p *types.Package) string {
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
var plainTypes = sync.OnceValue(func() []types.Type {
	return []types.Type{
		types.Typ[types.Int], types.Typ[types.String], types.Typ[types.Bool], types.Typ[types.Float64], types.Typ[types.Int64], types.Typ[types.Uint8],
		types.NewSlice(types.Universe.Lookup("byte").Type()), types.NewSlice(types.Typ[types.String]), types.NewMap(types.Typ[types.String], types.Typ[types.Int]),
		types.NewPointer(types.Typ[types.Int]), types.NewSlice(spelledInterface), types.NewMap(types.Typ[types.String], spelledInterface),
	}
})

// addTypes finds the types that interfaces may hold.
func (s *surface) addTypes() {
	for _, t := range plainTypes() {
		s.types[s.spell(t)] = t
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
		if types.IsInterface(t) || s.reshaped(t, 0) != "" { // one value cannot be both
			continue
		}
		s.types[s.spell(t)] = t
		s.types["*"+s.spell(t)] = types.NewPointer(t)
	}
	s.addAsked()
	s.addHeld()
}
