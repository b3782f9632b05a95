package prove

import (
	"cmp"
	"errors"
	"fmt"
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
	oldExpr  string // that of the old one, where the function was renamed
	key      string // of its declaration, "" for those from elsewhere
	outer    string // of a method that a type has from what it embeds: the type, and its name
	params   []types.Type
	results  []types.Type
	variadic bool
	method   bool   // the first parameter is a receiver
	called   bool   // the first parameter is a function that is called
	field    string // it sets that one
	refuses  bool   // the worker ends some of its calls, see refuse.go
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
	through map[int][]*entry      // by number of a method: the same, on types that embed its receiver
	types   map[string]types.Type // that interfaces may hold, by how the code spells them
	asked   map[string][]string   // those that a declaration tells from others
	tested  []string              // structs that tests pass, or that have the tags that the code looks for
	rules   map[string][]fieldRule
	danger  *danger
	refuses bool            // calls end in front of what must not be called
	made    []*types.Struct // without a name, for decoders
	away    [2][]bool       // which counters of the package calls from others reached
	awayHad map[string]int  // how many of these calls each function is used by
	recast  map[string]bool // structs that have other fields now
	changes map[string]int  // how far declarations are from what changed
	inst    map[types.Type][]types.Type
	setters map[*target][]*entry    // functions that change what the changed code in a target reads
	sets    map[int]map[string]bool // by number of such a function: the variables that it changes
	used    map[string]bool         // types of results that were looked into
}

// newSurface finds out what can be called.
func newSurface(p *pair, d *danger) *surface {
	s := &surface{
		pair: p, danger: d, refuses: d.refused && p.refusing(),
		imports: make(map[string]string),
		ctors:   make(map[string][]*entry),
		methods: make(map[string][]*entry),
		through: make(map[int][]*entry),
		types:   make(map[string]types.Type),
		rules:   make(map[string][]fieldRule),
		recast:  make(map[string]bool),
		used:    make(map[string]bool),
		asked:   make(map[string][]string),
	}
	s.compareStructs()
	distance := p.changed()
	s.changes = distance
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
	s.addFields()
	s.addUses()
	s.addTypes()
	return s
}

// ErrFunction is that the one function to compare is none that the change affects.
var ErrFunction = errors.New("the change affects no such function")

// compares reports whether a function is the one to compare. (*Ring).Size is Ring.Size, and Map[int] is Map.
func (o *Options) compares(key string) bool {
	return o.Only == key || plainName(o.Only) == plainName(key)
}

func plainName(name string) string {
	name, _, _ = strings.Cut(name, "[")
	return strings.NewReplacer("(", "", "*", "", ")", "").Replace(name)
}

// affected is an error if the one function to compare is none of those that changed or use what changed: then nothing would be compared.
func (o *Options) affected(pairs []*pair) error {
	if o.Only == "" {
		return nil
	}
	var names []string
	for _, p := range pairs {
		for key := range p.changed() {
			d := p.new.decls[key]
			if d == nil {
				d = p.old.decls[key]
			}
			if _, ok := d.obj.(*types.Func); !ok || d.test {
				continue
			}
			if o.compares(key) {
				return nil
			}
			names = append(names, key)
		}
	}
	if len(names) == 0 {
		return fmt.Errorf("%w as %s, and no other", ErrFunction, o.Only)
	}
	slices.Sort(names)
	if n := len(names); n > 8 {
		names = append(names[:7:7], fmt.Sprintf("%d others", n-7))
	}
	return fmt.Errorf("%w as %s, but %s", ErrFunction, o.Only, strings.Join(names, ", "))
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
		return nil, "it is the program itself; pass arguments after -- to run it"
	}
	before := s.old.decls[key]
	if before == nil {
		return nil, "it is only in the new version"
	}
	old, ok := before.obj.(*types.Func)
	if !ok {
		return nil, "it is not a function in the old version"
	}
	if !s.sameType(old.Type(), fn.Type()) || !s.sameReceiver(old, fn) {
		return nil, "the types of its parameters or results changed"
	}
	what, refuses := s.forbids(key)
	if what != "" {
		return nil, "it can reach " + what + ", so it is not called with made-up arguments"
	}
	sig := fn.Signature()
	e := &entry{key: key, name: fn.Name(), inOld: true, refuses: refuses}
	recv := sig.Recv()
	if recv == nil {
		if sig, ok = s.instantiate(sig); !ok {
			return nil, "hone knows no types to instantiate it with"
		}
		e.expr = fn.Name() + s.typeArgs(sig, fn)
		if old.Name() != fn.Name() {
			e.oldExpr = old.Name() + s.typeArgs(sig, fn)
		}
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
			return nil, "hone knows no types to instantiate it with"
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
	if old.Name() != fn.Name() {
		e.oldExpr = strings.TrimSuffix(e.expr, fn.Name()) + old.Name()
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
