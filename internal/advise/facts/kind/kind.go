// Package kind knows kinds of types: texts, lists of bytes, maps and sets, and what leads to memory that others may see.
package kind

import (
	"go/types"
	"slices"
)

// IsMap reports whether a type is one of maps.
func IsMap(t types.Type) bool {
	_, ok := t.Underlying().(*types.Map)
	return ok
}

// Sized reports whether types have one size.
func Sized(t types.Type) bool {
	switch t := types.Unalias(t).(type) {
	case *types.TypeParam:
		return false
	case *types.Named:
		return Sized(t.Underlying())
	case *types.Array:
		return Sized(t.Elem())
	case *types.Struct:
		for f := range t.Fields() {
			if !Sized(f.Type()) {
				return false
			}
		}
	}
	return true
}

// IsRunes reports whether a type is one of slices of runes, or of other numbers that are no bytes.
func IsRunes(t types.Type) bool {
	s, ok := t.Underlying().(*types.Slice)
	return ok && IsBasic(s.Elem(), types.IsInteger) && !IsBytes(t)
}

// IsPointer reports whether a type is one of pointers.
func IsPointer(t types.Type) bool {
	_, ok := t.Underlying().(*types.Pointer)
	return ok
}

// IsSet reports whether a map only says what is in it.
func IsSet(m *types.Map) bool {
	if s, ok := m.Elem().Underlying().(*types.Struct); ok {
		return s.NumFields() == 0
	}
	return IsBasic(m.Elem(), types.IsBoolean)
}

// IsBytes reports whether a type is one of slices of bytes.
func IsBytes(t types.Type) bool {
	if t == nil {
		return false
	}
	s, ok := t.Underlying().(*types.Slice)
	if !ok {
		return false
	}
	b, ok := s.Elem().Underlying().(*types.Basic)
	return ok && b.Kind() == types.Byte
}

// IsString reports whether a type is one of strings.
func IsString(t types.Type) bool { return IsBasic(t, types.IsString) }

// IsBasic reports whether a type is basic and has one of some properties.
func IsBasic(t types.Type, what types.BasicInfo) bool {
	if t == nil {
		return false
	}
	b, ok := t.Underlying().(*types.Basic)
	return ok && b.Info()&what != 0
}

// PrintsItself reports whether fmt asks values of a type how they are printed, or it can only know at run time.
func PrintsItself(t types.Type) bool {
	if types.IsInterface(t) {
		return true
	}
	if _, ok := t.(*types.TypeParam); ok {
		return true
	}
	for _, m := range []string{"String", "Error", "Format", "GoString"} {
		if obj, _, _ := types.LookupFieldOrMethod(t, true, nil, m); obj != nil {
			return true
		}
	}
	return false
}

// Refers reports whether values of a type lead to memory that others can change.
func Refers(t types.Type) bool {
	switch u := t.Underlying().(type) {
	case *types.Basic:
		return u.Kind() == types.UnsafePointer
	case *types.Array:
		return Refers(u.Elem())
	case *types.Struct:
		for f := range u.Fields() {
			if Refers(f.Type()) {
				return true
			}
		}
		return false
	case *types.Interface:
		return !types.Identical(t, types.Universe.Lookup("error").Type())
	}
	return true
}

// IsContext reports whether a type is context.Context.
func IsContext(t types.Type) bool {
	n, ok := types.Unalias(t).(*types.Named)
	return ok && n.Obj().Pkg() != nil && n.Obj().Pkg().Path() == "context" && n.Obj().Name() == "Context"
}

// shareable are types whose values several goroutines may use.
var shareable = []string{"context.Context", "*net/http.Client", "*net/http.Transport", "*log.Logger", "*log/slog.Logger", "*regexp.Regexp", "*strings.Replacer", "*database/sql.DB"}

// IsShareable reports whether goroutines may use a value of a type at the same time.
func IsShareable(t types.Type) bool {
	_, isChan := t.Underlying().(*types.Chan)
	return isChan || slices.Contains(shareable, types.TypeString(t, nil)) || IsSync(t)
}

// IsSync reports whether a type is one of package sync, or sync/atomic.
func IsSync(t types.Type) bool {
	o := TypeName(t)
	return o != nil && o.Pkg() != nil && (o.Pkg().Path() == "sync" || o.Pkg().Path() == "sync/atomic")
}

// TypeName returns the name of a type, or of the type that it points to; nil if that has none.
func TypeName(t types.Type) *types.TypeName {
	if ptr, ok := types.Unalias(t).(*types.Pointer); ok {
		t = ptr.Elem()
	}
	if n, ok := types.Unalias(t).(*types.Named); ok {
		return n.Obj()
	}
	return nil
}

// IsTypeParam reports whether a type is a type parameter.
func IsTypeParam(t types.Type) bool {
	_, ok := t.(*types.TypeParam)
	return ok
}
