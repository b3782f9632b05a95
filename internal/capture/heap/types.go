package heap

import (
	"cmp"
	"math"
	"slices"
	"strings"
)

// A kind says what a type is, as far as pointers go.
type kind uint8

const (
	plain     kind = iota // without pointers, or not known
	pointer               // to one
	many                  // to the first of several: the array behind a slice, and what is like it
	slice                 //
	text                  // a string
	face                  // an interface
	function              //
	record                // a struct
	array                 //
	directory             // of a map: it points to an array of tables, or to one group
)

// A ref names a type: by its entry in the debug data or, with made set, by its number.
type ref uint64

const made ref = 1 << 63

type typ struct {
	name   string
	size   uint64
	kind   kind
	elem   ref
	other  ref // of a directory: the group
	count  uint64
	fields []field
	inside bool // it is a part of a map that no program sees: steps within have no names
	group  bool // it is a group of a map
	begins bool // it may be the beginning of a larger type
	unsafe bool // it points, but nobody says to what
	steps  []int32
}

type field struct {
	name string
	off  uint64
	typ  ref
}

// An objectType is the type of an object: its number times two, plus one if the object is an array of them.
type objectType uint32

// A leaf is a word of a type that points.
type leaf struct {
	how   kind // pointer, many, face, function, directory, or plain if it is not known to what
	to    objectType
	other objectType
	step  uint32
	none  bool // what it leads to is not held by it
}

// types has the types of a program that have been met.
type types struct {
	debug *debugInfo
	list  []*typ // 0 is not known
	byOff map[uint64]uint32
	base  uint64 // where the runtime has its types
	end   uint64
	bias  uint64            // how far the program is from where it was linked to
	names map[string]uint32 // of steps
	steps []string
	leafs []leaf
	large map[[2]uint64]leaf // of types that are too large for a table
	funcs map[uint64]uint32  // closures by code

	text, generic        uint32 // of strings, and of functions that are not known
	timerType, timeTimer uint32
	timerWhen            uint32 // of the heaps of timers, since Go 1.23; what they hold are roots of their own
}

const (
	maxTypedefs = 64
	maxDepth    = 64
	maxName     = 240
	maxTypes    = 1 << 24
	maxTable    = 64 << 10 // bytes of a type with a table of leafs
	maxLarge    = 1 << 20
	maxSteps    = 1 << 20
	pathLimit   = 200
)

func newTypes(d *debugInfo) *types {
	ts := &types{
		debug: d, list: []*typ{{}}, byOff: map[uint64]uint32{}, names: map[string]uint32{"": 0}, steps: []string{""},
		leafs: []leaf{{}}, large: map[[2]uint64]leaf{}, funcs: map[uint64]uint32{},
	}
	ts.text = ts.add(&typ{name: "string", size: 16, kind: text})
	ts.generic = ts.add(&typ{name: "func", size: 8, kind: record})
	ts.timerType, ts.timeTimer, ts.timerWhen = ts.named("runtime.timer"), ts.named("runtime.timeTimer"), ts.named("runtime.timerWhen")
	return ts
}

func (ts *types) add(t *typ) uint32 {
	if len(ts.list) >= maxTypes {
		return 0
	}
	ts.list = append(ts.list, t)
	return uint32(len(ts.list) - 1)
}

func (ts *types) step(name string) uint32 {
	if i, ok := ts.names[name]; ok {
		return i
	}
	if len(ts.steps) >= maxSteps {
		return 0
	}
	ts.names[name] = uint32(len(ts.steps))
	ts.steps = append(ts.steps, name)
	return uint32(len(ts.steps) - 1)
}

// named returns a type that the debug data has under a name that readDebug was asked for, or 0.
func (ts *types) named(name string) uint32 {
	if off := ts.debug.structs[name]; off != 0 {
		return ts.of(ref(off))
	}
	return 0
}

// runtime returns the type that the runtime has at an address, or 0. What programs make with reflect has no entry.
func (ts *types) runtime(addr uint64) uint32 {
	off, ok := ts.debug.rtypes[addr-ts.base]
	if !ok {
		if off, ok = ts.debug.rtypes[addr]; !ok || addr < ts.base || addr >= ts.end { // as before Go 1.23
			return 0
		}
	}
	return ts.of(ref(off))
}

// of returns the number of a type.
func (ts *types) of(r ref) uint32 {
	if r&made != 0 {
		return uint32(r &^ made)
	}
	if r == 0 {
		return 0
	}
	if i, ok := ts.byOff[uint64(r)]; ok {
		return i
	}
	t := ts.read(uint64(r))
	i := uint32(0)
	if t != nil {
		i = ts.add(t)
	}
	ts.byOff[uint64(r)] = i
	return i
}

// The kinds of types of Go as the debug data has them, which are those of internal/abi.
const (
	kindChan, kindFunc, kindInterface, kindMap, kindSlice, kindString, kindUnsafe = 18, 19, 20, 21, 23, 24, 26
)

// read makes a type of an entry of the debug data. What it points to is read when somebody goes there.
func (ts *types) read(off uint64) *typ {
	d := ts.debug
	e, u, err := d.at(off)
	if err != nil {
		return nil
	}
	t := &typ{}
	t.name, _ = goName(e.name)
	for range maxTypedefs {
		if e.tag != tagTypedef || e.kind == kindChan || e.kind == kindMap || e.kind == kindInterface {
			break
		}
		if e.typ == 0 {
			return t
		}
		if e, u, err = d.at(e.typ); err != nil {
			return nil
		}
	}
	t.size = uint64(max(e.size, 0))
	t.elem = ref(e.elem)
	switch {
	case e.kind == kindString:
		t.kind = text
	case e.kind == kindSlice:
		t.kind = slice
	case e.kind == kindInterface:
		t.kind, t.size = face, 16
	case e.kind == kindMap:
		t.kind, t.size = pointer, 8
		t.elem = ts.mapHeader(t.name, e.typ)
	case e.kind == kindChan:
		t.kind, t.size = pointer, 8
		t.elem = ts.channel(t.name, e.typ, ref(e.elem))
	case e.kind == kindFunc || e.tag == tagFuncType:
		t.kind, t.size = function, 8
	case e.tag == tagPointer:
		t.size = 8
		if t.unsafe = e.kind == kindUnsafe || e.typ == 0; !t.unsafe {
			t.kind, t.elem = pointer, ref(e.typ)
		}
	case e.tag == tagArray:
		t.kind, t.elem = array, ref(e.typ)
		_ = d.children(u, &e, func(c *debugEntry, _ int) bool {
			if c.tag == tagSubrange && c.count > 0 {
				t.count = uint64(c.count)
			}
			return false
		})
	case e.tag == tagStruct:
		t.kind = record
		_ = d.children(u, &e, func(c *debugEntry, _ int) bool {
			if c.tag == tagMember && c.member >= 0 && len(t.fields) < 1<<16 {
				t.fields = append(t.fields, field{string(c.name[:min(len(c.name), maxName)]), uint64(c.member), ref(c.typ)})
			}
			return false
		})
		slices.SortStableFunc(t.fields, func(a, b field) int { return cmp.Compare(a.off, b.off) })
		ts.hidden(t)
	}
	return t
}

func (t *typ) field(name string) *field {
	for i := range t.fields {
		if t.fields[i].name == name {
			return &t.fields[i]
		}
	}
	return nil
}

// pointee returns what a type points to.
func (ts *types) pointee(r ref) ref {
	if t := ts.list[ts.of(r)]; t.kind == pointer {
		return t.elem
	}
	return 0
}

// make returns a type that the debug data has not.
func (ts *types) make(t *typ) ref { return made | ref(ts.add(t)) }

// mapHeader returns the type that a map is a pointer to, whose parts have the name of the map.
func (ts *types) mapHeader(name string, pointerTo uint64) ref {
	header := ts.pointee(ref(pointerTo))
	t := *ts.list[ts.of(header)]
	if t.kind != record {
		return header
	}
	t.name, t.inside, t.steps = name, true, nil
	t.fields = slices.Clone(t.fields)
	rest, isLiteral := strings.CutPrefix(name, "map[")
	part := func(r ref, what string) ref { // a part of the map, as map.table[string]int
		p := *ts.list[ts.of(r)]
		if p.kind != record {
			return r
		}
		if p.name = "map." + what + " " + name; isLiteral {
			p.name = "map." + what + "[" + rest
		}
		p.inside, p.steps = true, nil
		p.fields = slices.Clone(p.fields)
		return ts.make(&p)
	}
	if f := t.field("dirPtr"); f != nil { // since Go 1.24
		table := part(ts.pointee(ts.pointee(f.typ)), "table")
		tab := ts.list[ts.of(table)]
		g := tab.field("groups")
		if g == nil {
			return ts.make(&t)
		}
		groups := *ts.list[ts.of(g.typ)]
		groups.fields, groups.steps = slices.Clone(groups.fields), nil
		data := groups.field("data")
		if data == nil {
			return ts.make(&t)
		}
		group := part(ts.pointee(data.typ), "group")
		ts.list[ts.of(group)].group = true
		data.typ = ts.make(&typ{size: 8, kind: many, elem: group})
		g.typ = ts.make(&groups)
		f.typ = ts.make(&typ{size: 8, kind: directory, elem: ts.make(&typ{name: "*" + tab.name, size: 8, kind: pointer, elem: table, inside: true}), other: group})
		return ts.make(&t)
	}
	if f := t.field("buckets"); f != nil { // before
		bucket := part(ts.pointee(f.typ), "bucket")
		b := ts.list[ts.of(bucket)]
		b.group = true
		if o := b.field("overflow"); o != nil && ts.list[ts.of(o.typ)].kind == pointer {
			o.typ = ts.make(&typ{size: 8, kind: pointer, elem: bucket})
		}
		f.typ = ts.make(&typ{size: 8, kind: many, elem: bucket})
		if o := t.field("oldbuckets"); o != nil {
			o.typ = f.typ
		}
	}
	return ts.make(&t)
}

// channel returns the type that a channel is a pointer to. Its buffer follows it, or is an object of its own if there are pointers in it.
func (ts *types) channel(name string, pointerTo uint64, elem ref) ref {
	header := ts.pointee(ref(pointerTo))
	t := *ts.list[ts.of(header)]
	if t.kind != record {
		return header
	}
	t.name, t.steps = name, nil
	t.fields = slices.Clone(t.fields)
	if f := t.field("buf"); f != nil && elem != 0 {
		f.typ = ts.make(&typ{size: 8, kind: many, elem: elem})
	}
	return ts.make(&t)
}

// hidden gives types to the unsafe pointers of the standard library that hold what users put in.
func (ts *types) hidden(t *typ) {
	t.begins = t.name == "time.Timer" || t.name == "time.Ticker" || strings.HasPrefix(t.name, "internal/sync.node[") || strings.HasPrefix(t.name, "internal/concurrent.node[")
	switch {
	case t.name == "sync.Pool":
		if local := ts.debug.structs["sync.poolLocal"]; local != 0 {
			for _, name := range []string{"local", "victim"} {
				if f := t.field(name); f != nil {
					f.typ = ts.make(&typ{size: 8, kind: many, elem: ref(local)})
				}
			}
		}
	case t.name == "sync.eface":
		t.kind = face
	case strings.HasPrefix(t.name, "sync/atomic.Pointer["):
		v, phantom := t.field("v"), t.field("_")
		if v == nil || phantom == nil {
			return
		}
		for i := range t.fields { // the marker against copies has the same name
			if a := ts.list[ts.of(t.fields[i].typ)]; t.fields[i].name == "_" && a.kind == array {
				v.typ = a.elem
			}
		}
	}
}

// fit returns the type of an object that a pointer to t leads to. Some types of the standard library are the beginning of a larger one.
func (ts *types) fit(t uint32, size uint64) uint32 {
	name := ts.list[t].name
	if ts.list[t].size >= size {
		return t
	}
	rule := ""
	switch {
	case name == "time.Timer" || name == "time.Ticker":
		rule = "runtime.timeTimer"
	case strings.HasPrefix(name, "internal/sync.node["), strings.HasPrefix(name, "internal/concurrent.node["):
		head, args, _ := strings.Cut(name, ".node[")
		rule = head + ".entry[" + args
		if large := ts.named(head + ".indirect[" + args); large != 0 && size >= ts.list[large].size {
			return large
		}
	default:
		return t
	}
	if r := ts.named(rule); r != 0 && ts.list[r].size <= size {
		return r
	}
	return t
}

// leaf returns what the word at an offset of an object leads to.
func (ts *types) leaf(o objectType, off uint64) leaf {
	t := ts.list[o>>1]
	if t.size == 0 {
		return leaf{}
	}
	repeated := o&1 != 0
	if repeated {
		off %= t.size
	}
	if off >= t.size {
		return leaf{}
	}
	if t.size > maxTable {
		key := [2]uint64{uint64(o), off}
		l, ok := ts.large[key]
		if !ok {
			l = ts.find(o, off)
			if len(ts.large) < maxLarge {
				ts.large[key] = l
			}
		}
		return l
	}
	// Both tables of a type are in one: as a single object, and as an element.
	words := int(t.size+7) / 8
	if t.steps == nil {
		t.steps = make([]int32, 2*words)
	}
	i := int(off / 8)
	if repeated {
		i += words
	}
	if t.steps[i] == 0 {
		l := ts.find(o, off)
		if len(ts.leafs) >= math.MaxInt32 {
			return l
		}
		t.steps[i] = int32(len(ts.leafs))
		ts.leafs = append(ts.leafs, l)
	}
	return ts.leafs[t.steps[i]]
}

// find walks down to the word at an offset.
func (ts *types) find(o objectType, off uint64) leaf {
	var path strings.Builder
	if o&1 != 0 {
		path.WriteString("[]")
	}
	inside, group := ts.list[o>>1].inside, ts.list[o>>1].group
	t := ts.list[o>>1]
	none := false
	for range maxDepth {
		var l leaf
		one := func(r ref) objectType { return objectType(ts.of(r) << 1) }
		switch t.kind {
		case record:
			i, ok := slices.BinarySearchFunc(t.fields, off, func(f field, off uint64) int { return cmp.Compare(f.off, off) })
			if !ok {
				i--
			}
			// of fields without a size, at the same offset, the last may be the one
			for ok && i+1 < len(t.fields) && t.fields[i+1].off == off {
				i++
			}
			for i > 0 && ts.list[ts.of(t.fields[i].typ)].size == 0 {
				i--
			}
			if i < 0 || i >= len(t.fields) {
				return leaf{}
			}
			f := &t.fields[i]
			if path.Len() < pathLimit {
				path.WriteByte('.')
				path.WriteString(f.name)
			}
			if ts.timerWhen != 0 {
				none = none || t.name == "runtime.timer" && f.name == "ts" || t.name == "runtime.timerWhen" && f.name == "timer"
			}
			off -= f.off
			t = ts.list[ts.of(f.typ)]
			continue
		case array:
			e := ts.list[ts.of(t.elem)]
			if e.size == 0 {
				return leaf{}
			}
			if path.Len() < pathLimit {
				path.WriteString("[]")
			}
			off %= e.size
			t = e
			continue
		case pointer:
			l = leaf{how: pointer, to: one(t.elem)}
		case many, slice:
			l = leaf{how: many, to: one(t.elem) | 1}
		case text:
			l = leaf{how: many, to: objectType(ts.text << 1)}
		case directory:
			l = leaf{how: directory, to: one(t.elem) | 1, other: one(t.other)}
		case function:
			l = leaf{how: function}
		case face:
			if off == 8 {
				l = leaf{how: face}
			}
			off = 0
		}
		if off != 0 {
			l = leaf{}
		}
		l.none, l.step = none, ts.step(stepName(path.String(), inside, group))
		return l
	}
	return leaf{}
}

// stepName returns what a user calls the way through a type. In a map, there are only keys and values.
func stepName(path string, inside, group bool) string {
	if !inside {
		if strings.HasPrefix(path, ".captured ") {
			return path[1:]
		}
		return path
	}
	if !group {
		return ""
	}
	path = strings.TrimPrefix(path, "[]")
	for _, p := range []struct{ prefix, name string }{
		{".slots[].key", "key"}, {".slots[].elem", "value"}, {".keys[]", "key"}, {".elems[]", "value"}, {".values[]", "value"},
	} {
		if rest, ok := strings.CutPrefix(path, p.prefix); ok {
			return p.name + rest
		}
	}
	return ""
}

// held returns the type of the object that an interface with a dynamic type points to. A value that is a pointer is in the interface itself.
// It returns true for functions.
func (ts *types) held(t uint32) (to objectType, isFunc bool) {
	in := t
	for range maxDepth {
		d := ts.list[in]
		switch {
		case d.kind == pointer:
			return objectType(ts.of(d.elem) << 1), false
		case d.kind == function:
			return 0, true
		case d.kind == record && len(d.fields) > 0 && d.size == 8:
			f := d.fields[0]
			for _, g := range d.fields {
				if ts.list[ts.of(g.typ)].size == 8 {
					f = g
				}
			}
			in = ts.of(f.typ)
			continue
		case d.kind == array && d.count == 1:
			in = ts.of(d.elem)
			continue
		}
		break
	}
	return objectType(t << 1), false
}

// closure returns the type of the closures of a function.
func (ts *types) closure(pc uint64) uint32 {
	if i, ok := ts.funcs[pc]; ok {
		return i
	}
	i := uint32(0)
	if name, vars, err := ts.debug.captured(pc - ts.bias); err == nil && name != "" {
		t := &typ{name: "func " + name, kind: record, size: 8}
		for _, v := range vars {
			f := field{"captured " + strings.TrimPrefix(v.name, "&"), v.off, ref(v.typ)}
			t.fields = append(t.fields, f)
			t.size = max(t.size, v.off+ts.list[ts.of(f.typ)].size)
		}
		slices.SortStableFunc(t.fields, func(a, b field) int { return cmp.Compare(a.off, b.off) })
		i = ts.add(t)
	}
	ts.funcs[pc] = i
	return i
}

// name returns the name of the type of an object.
func (ts *types) name(o objectType) string {
	t := ts.list[o>>1]
	if o&1 != 0 && t.name != "" {
		return "[]" + t.name
	}
	return t.name
}
