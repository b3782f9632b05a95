package worker

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
	"unsafe"
)

// stringOf returns what a value from elsewhere says about itself.
func stringOf(v reflect.Value) (text string, ok bool) {
	defer func() {
		if recover() != nil {
			text, ok = "", false
		}
	}()
	if !v.CanInterface() {
		if !v.CanAddr() {
			return "", false
		}
		v = reflect.NewAt(v.Type(), unsafe.Pointer(v.UnsafeAddr())).Elem()
	}
	if v.CanAddr() {
		if s, ok := v.Addr().Interface().(fmt.Stringer); ok {
			return s.String(), true
		}
	}
	if s, ok := v.Interface().(fmt.Stringer); ok {
		return s.String(), true
	}
	return "", false
}

// whole adds a value in one piece, when there is nothing in it that says where it is in memory.
func (r *rendering) whole(path string, v reflect.Value) {
	if !r.full || !v.IsValid() || !v.CanInterface() || !isPlain(v.Type(), 0) || v.Kind() != reflect.Slice && v.Kind() != reflect.Map && v.Kind() != reflect.Struct && v.Kind() != reflect.Array {
		return
	}
	text := fmt.Sprintf("%#v", v.Interface())
	if len(text) < 200 {
		r.lines = append(r.lines, Line{r.step, LayerWhole, path, text})
	}
}

func isPlain(t reflect.Type, depth int) bool {
	switch t.Kind() {
	case reflect.Slice, reflect.Array:
		return depth < 4 && isPlain(t.Elem(), depth+1)
	case reflect.Map:
		return depth < 4 && isPlain(t.Key(), depth+1) && isPlain(t.Elem(), depth+1)
	case reflect.Struct:
		for i := 0; i < t.NumField(); i++ {
			if !t.Field(i).IsExported() || !isPlain(t.Field(i).Type, depth+1) {
				return false
			}
		}
		return depth < 4
	case reflect.Pointer, reflect.Func, reflect.Chan, reflect.Interface, reflect.UnsafePointer:
		return false
	}
	return true
}

// special renders types that are more than their fields.
func (r *rendering) special(path string, layer Layer, v reflect.Value) bool {
	t := v.Type()
	if t == reflect.TypeOf(time.Time{}) && v.CanInterface() {
		at := v.Interface().(time.Time)
		r.line(layer, path, at.Format(time.RFC3339Nano)+" "+at.Location().String())
		return true
	}
	if t.Kind() == reflect.Pointer && !v.IsNil() && v.CanInterface() {
		switch x := v.Interface().(type) {
		case *writer:
			r.quoted(layer, path+" was written", string(x.buf))
			return true
		case *reader:
			r.line(LayerInside, path+" left to read", strconv.Itoa(len(x.text)))
			return true
		case *bytes.Buffer:
			r.bytes(path+" holds", layer, x.String())
			return true
		case *bytes.Reader:
			r.line(LayerInside, path+" left to read", strconv.Itoa(x.Len()))
			return true
		case *strings.Reader:
			r.line(LayerInside, path+" left to read", strconv.Itoa(x.Len()))
			return true
		case *bufio.Reader:
			return true
		case *bufio.Writer:
			x.Flush()
			return true
		case *sync.Mutex, *sync.RWMutex, *sync.Once, *sync.WaitGroup:
			return true
		}
	}
	if r.run != nil && v.CanInterface() {
		for _, show := range r.run.table.Shows {
			if show(v, func(l Layer, name, text string) {
				if plain, err := strconv.Unquote(text); err == nil {
					text = strconv.Quote(r.run.places.text(plain))
				}
				r.line(max(layer, l), path+name, text)
			}) {
				return true
			}
		}
	}
	return false
}

// err renders an error: that there is one, what it is known as, and what it says.
func (r *rendering) err(path string, v reflect.Value) {
	if !v.CanInterface() {
		return
	}
	err, ok := v.Interface().(error)
	if !ok || err == nil {
		return
	}
	text := func() (s string) {
		defer func() {
			if recover() != nil {
				s = "(its text cannot be had)"
			}
		}()
		return err.Error()
	}()
	r.quoted(LayerText, path+" text", text)
	var known []string
	for name, e := range r.run.table.Errors {
		if e != nil && *e != nil && errors.Is(err, *e) {
			known = append(known, name)
		}
	}
	for name, e := range map[string]error{"io.EOF": io.EOF, "io.ErrUnexpectedEOF": io.ErrUnexpectedEOF} {
		if errors.Is(err, e) {
			known = append(known, name)
		}
	}
	var types []string
	for e := err; e != nil; e = errors.Unwrap(e) {
		if name, ok := r.run.table.names[reflect.TypeOf(e)]; ok {
			types = append(types, name)
		}
	}
	slices.Sort(known)
	if len(known) > 0 {
		r.line(LayerResult, path+" is", strings.Join(known, ", "))
	}
	if len(types) > 0 {
		r.line(LayerResult, path+" type", strings.Join(types, ", "))
	}
}

// function renders what a function yields, when it is an iterator.
func (r *rendering) function(path string, layer Layer, v reflect.Value, depth int) {
	if v.IsNil() {
		r.line(layer, path, "nil")
		return
	}
	t := v.Type()
	if t.NumIn() != 1 || t.NumOut() != 0 || t.In(0).Kind() != reflect.Func || !v.CanInterface() {
		r.line(layer, path, "a function")
		return
	}
	yield := t.In(0)
	if yield.NumOut() != 1 || yield.Out(0).Kind() != reflect.Bool || yield.IsVariadic() {
		r.line(layer, path, "a function")
		return
	}
	n := 0
	v.Call([]reflect.Value{reflect.MakeFunc(yield, func(in []reflect.Value) []reflect.Value {
		for i, x := range in {
			r.value(fmt.Sprintf("%s yields[%d].%d", path, n, i), layer, x, depth+1)
		}
		n++
		return []reflect.Value{reflect.ValueOf(n < 1000).Convert(yield.Out(0))}
	})})
	r.line(layer, path+" yields", strconv.Itoa(n))
}
