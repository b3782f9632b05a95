package prove

import (
	"go/ast"
	"go/token"
	"go/types"
	"strings"
)

// decoders are packages that fill what a pointer in an interface points to, and one that others do it with.
var decoders = []string{"reflect", "encoding/json", "encoding/xml", "encoding/gob", "encoding/binary", "encoding/asn1"}

// addHeld adds types to what interfaces may hold that a package has none of: a time, whose methods fail for the year 10000 and panic for a
// nil pointer; and for decoders, structs whose keys are the beginnings of one another.
func (s *surface) addHeld() {
	if s.new.pkg.Module == nil { // the standard library, which a worker is built of
		return
	}
	takes := false
	for _, e := range s.entries {
		for _, t := range e.params {
			takes = takes || holdsAny(t)
		}
	}
	if !takes {
		return
	}
	s.addTested()
	t := s.timeType()
	s.types[s.spell(t)] = t
	s.types["*"+s.spell(t)] = types.NewPointer(t)
	if !s.decodes() {
		return
	}
	for _, k := range filledKinds {
		s.types[types.Typ[k].Name()] = types.Typ[k]
		s.types["*"+types.Typ[k].Name()] = types.NewPointer(types.Typ[k])
	}
	keys, options := s.tags()
	made := madeStructs(keys)
	s.types[s.spell(made[0])] = made[0]
	if len(keys) > 0 {
		for _, option := range options {
			st := optionStruct(keys, option)
			s.types[s.spell(st)] = st
			s.tested = append(s.tested, s.spell(st))
			made = append(made, st)
		}
	}
	for _, st := range made {
		p := types.NewPointer(st)
		s.types[s.spell(p)] = p
	}
	s.made = append(s.made, made...)
}

// filledKinds are kinds of values that decoders fill, besides those that any may hold.
var filledKinds = []types.BasicKind{types.Int, types.Int8, types.Uint, types.Uint64, types.Float64, types.Float32, types.String, types.Bool}

// mostAsked is how many types are added that code asks for.
const mostAsked = 12

// addAsked adds types that the package tells from others: what takes anything does something of its own with them.
func (s *surface) addAsked() {
	n := 0
	add := func(key string, t types.Type) {
		if t == nil || types.IsInterface(t) {
			return
		}
		if t = s.renew(s.new, t, 0); t == nil || knownType(s.new.typeKey(t)) != 0 {
			return
		}
		name := s.spell(t)
		if s.types[name] == nil {
			if n >= mostAsked || s.recast[base(t).String()] {
				return
			}
			s.types[name] = t
			n++
		}
		s.asked[key] = append(s.asked[key], name)
	}
	for _, key := range sortedKeys(s.new.decls) {
		d := s.new.decls[key]
		if d.test {
			continue
		}
		ast.Inspect(d.node, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.TypeAssertExpr:
				if n.Type != nil {
					add(key, s.new.pkg.TypesInfo.TypeOf(n.Type))
				}
			case *ast.TypeSwitchStmt:
				for _, st := range n.Body.List {
					for _, e := range st.(*ast.CaseClause).List {
						if tv := s.new.pkg.TypesInfo.Types[e]; tv.IsType() {
							add(key, tv.Type)
						}
					}
				}
			}
			return true
		})
	}
	for key := range s.asked {
		s.asked[key] = unique(s.asked[key])
	}
}

// decodes reports whether the package fills or reads structs that it does not know.
func (s *surface) decodes() bool {
	for _, path := range decoders {
		if s.new.pkg.Imports[path] != nil || s.old.pkg.Imports[path] != nil {
			return true
		}
	}
	return false
}

// holdsAny reports whether a parameter takes values that the package need not know: anything, or what has one of the usual methods.
func holdsAny(t types.Type) bool {
	if s, ok := t.Underlying().(*types.Slice); ok {
		t = s.Elem()
	}
	it, ok := t.Underlying().(*types.Interface)
	if !ok || isErrorType(t) {
		return false
	}
	if it.NumMethods() == 0 {
		return true
	}
	if it.NumMethods() > 1 {
		return false
	}
	switch it.Method(0).Name() {
	case "String", "MarshalJSON", "MarshalText", "MarshalBinary":
		return true
	}
	return false
}

// timeType is time.Time: that of the import, or one with the methods that interfaces ask for, since only its name is written.
func (s *surface) timeType() types.Type {
	if p := s.new.pkg.Imports["time"]; p != nil && s.old.pkg.Imports["time"] != nil {
		if obj := p.Types.Scope().Lookup("Time"); obj != nil {
			return obj.Type()
		}
	}
	pkg := types.NewPackage("time", "time")
	t := types.NewNamed(types.NewTypeName(token.NoPos, pkg, "Time", nil), types.NewStruct(nil, nil), nil)
	text := types.NewParam(token.NoPos, nil, "", types.Typ[types.String])
	bytes := types.NewParam(token.NoPos, nil, "", types.NewSlice(types.Universe.Lookup("byte").Type()))
	failed := types.NewParam(token.NoPos, nil, "", types.Universe.Lookup("error").Type())
	for name, results := range map[string]*types.Tuple{
		"String": types.NewTuple(text), "MarshalJSON": types.NewTuple(bytes, failed), "MarshalText": types.NewTuple(bytes, failed),
		"MarshalBinary": types.NewTuple(bytes, failed),
	} {
		recv := types.NewParam(token.NoPos, pkg, "t", t)
		t.AddMethod(types.NewFunc(token.NoPos, pkg, name, types.NewSignatureType(recv, nil, nil, nil, results, false)))
	}
	return t
}

// madeKeys are the keys of the structs that are made up, and texts with them.
var madeKeys = []string{"A", "AB", "Name", "NameLong", "a", "ab", "name", "A=1\nAB=2", "AB=2\nA=1", `{"A":"x","AB":2}`, `{"ab":3,"a":1}`}

// madeStructs makes struct types up: fields whose keys are the beginnings of others', left out when empty, pointers, and one in another.
// Their tags have the usual keys, and those that the code looks for.
func madeStructs(keys []string) []*types.Struct {
	basic := func(k types.BasicKind) types.Type { return types.Typ[k] }
	field := func(name string, t types.Type) *types.Var { return types.NewField(token.NoPos, nil, name, t, false) }
	tag := func(name string) string {
		var parts []string
		for _, key := range unique(append([]string{"json", "yaml", "xml", "toml"}, keys...)) {
			parts = append(parts, key+`:"`+name+`"`)
		}
		return strings.Join(parts, " ")
	}
	inner := types.NewStruct([]*types.Var{field("A", basic(types.Int)), field("B", basic(types.String))}, nil)
	return []*types.Struct{
		types.NewStruct([]*types.Var{
			field("AB", basic(types.String)), field("A", basic(types.String)), field("NameLong", basic(types.String)), field("Name", basic(types.String)),
			field("N", basic(types.Int)), field("On", basic(types.Bool)),
		}, nil),
		types.NewStruct([]*types.Var{
			field("A", basic(types.Int)), field("AB", types.NewPointer(types.Typ[types.Int])), field("Name", types.NewSlice(types.Typ[types.String])),
			field("In", inner), field("Of", types.NewMap(types.Typ[types.String], types.Typ[types.Int])),
		}, []string{tag("a,omitempty"), tag("ab,omitempty"), tag("name,omitempty"), tag("in"), tag("of,omitempty")}),
	}
}
