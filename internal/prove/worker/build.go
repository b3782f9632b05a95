package worker

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"reflect"
	"strings"
	"time"
	"unsafe"
)

// A Maker makes values of types that this package does not know, such as those of net/http. It returns false when it
// does not know them either.
type Maker func(v *Value, t reflect.Type, r *Run) (reflect.Value, bool)

// A Run is one program while it runs.
type Run struct {
	table  *Table
	places places
	args   [][]reflect.Value
	outs   [][]reflect.Value
	calls  []string // what functions were called with that were handed in
	out    *rendering
}

// A mismatch reports that a description does not fit its type, as in a program that was cut down.
type mismatch struct{ what string }

func (m mismatch) Error() string { return m.what }

func misfit(v *Value, t reflect.Type) mismatch {
	return mismatch{fmt.Sprintf("no %v can be made from a value of kind %d", t, v.Kind)}
}

// place takes a Ref or Same apart.
func (v *Value) place() (step, index int) { return int(v.Int >> 8), int(v.Int & 255) }

// make returns the value of type t that v describes. It panics with a mismatch when there is none.
func (r *Run) make(v *Value, t reflect.Type) reflect.Value {
	for _, special := range r.table.Makers {
		if made, ok := special(v, t, r); ok {
			return made
		}
	}
	switch v.Kind {
	case Zero:
		return reflect.Zero(t)
	case Ref:
		step, i := v.place()
		if step < 0 || step >= len(r.outs) || i >= len(r.outs[step]) {
			panic(misfit(v, t))
		}
		return fit(r.outs[step][i], t, v)
	case Same:
		step, i := v.place()
		if step < 0 || step >= len(r.args) || i >= len(r.args[step]) {
			panic(misfit(v, t))
		}
		return fit(r.args[step][i], t, v)
	case Reader:
		return fitAny(t, v, readers(v))
	case Writer:
		return fitAny(t, v, writers(v))
	case Context:
		ctx := context.Background()
		if v.Int == 1 {
			c, cancel := context.WithCancel(ctx)
			cancel()
			ctx = c
		}
		return fit(reflect.ValueOf(ctx), t, v)
	case Error:
		err := errors.New(v.Text)
		if v.Text == "EOF" {
			err = io.EOF
		}
		return fit(reflect.ValueOf(err), t, v)
	case Time:
		if v.Text == Seconds {
			return fit(reflect.ValueOf(time.Unix(v.Int, 0).UTC()), t, v)
		}
		return fit(reflect.ValueOf(time.Unix(0, v.Int).UTC()), t, v)
	case Iface:
		dyn, ok := r.table.Types[v.Text]
		if !ok || len(v.Elems) != 1 || t.Kind() != reflect.Interface || !dyn.AssignableTo(t) {
			panic(misfit(v, t))
		}
		made := reflect.New(t).Elem()
		made.Set(r.make(&v.Elems[0], dyn))
		return made
	}
	made := reflect.New(t).Elem()
	switch t.Kind() {
	case reflect.Bool:
		made.SetBool(v.Int&1 == 1)
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		made.SetInt(v.Int)
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64, reflect.Uintptr:
		made.SetUint(uint64(v.Int))
	case reflect.Float32, reflect.Float64:
		made.SetFloat(v.float())
	case reflect.Complex64, reflect.Complex128:
		made.SetComplex(complex(v.float(), v.float()/2))
	case reflect.String:
		made.SetString(v.Text)
	case reflect.Slice:
		r.fillSlice(made, v)
	case reflect.Array:
		for i := 0; i < len(v.Elems) && i < t.Len(); i++ {
			made.Index(i).Set(r.make(&v.Elems[i], t.Elem()))
		}
	case reflect.Map:
		made.Set(reflect.MakeMap(t))
		for i := 0; i+1 < len(v.Elems); i += 2 {
			made.SetMapIndex(r.make(&v.Elems[i], t.Key()), r.make(&v.Elems[i+1], t.Elem()))
		}
	case reflect.Struct:
		r.fillStruct(made, v)
	case reflect.Pointer:
		p := reflect.New(t.Elem())
		if len(v.Elems) == 1 {
			p.Elem().Set(r.make(&v.Elems[0], t.Elem()))
		}
		made.Set(p.Convert(t))
	case reflect.Func:
		made.Set(r.stub(t, v.Int))
	case reflect.Chan:
		c := reflect.MakeChan(reflect.ChanOf(reflect.BothDir, t.Elem()), len(v.Elems))
		for i := range v.Elems {
			c.Send(r.make(&v.Elems[i], t.Elem()))
		}
		c.Close()
		made.Set(c.Convert(t))
	default:
		panic(misfit(v, t))
	}
	return made
}

func (v *Value) float() float64 {
	if v.Kind == Float {
		return math.Float64frombits(uint64(v.Int))
	}
	return float64(v.Int)
}

func (r *Run) fillSlice(made reflect.Value, v *Value) {
	t := made.Type()
	if v.Kind == String {
		// With room behind it, as slices that were cut from larger ones have.
		b := make([]byte, len(v.Text), len(v.Text)+int(v.Int&15))
		copy(b, v.Text)
		if t.Elem().Kind() != reflect.Uint8 {
			panic(misfit(v, t))
		}
		made.Set(reflect.ValueOf(b).Convert(t))
		return
	}
	if v.Kind != List {
		panic(misfit(v, t))
	}
	s := reflect.MakeSlice(t, len(v.Elems), len(v.Elems)+int(v.Int&15))
	for i := range v.Elems {
		s.Index(i).Set(r.make(&v.Elems[i], t.Elem()))
	}
	made.Set(s)
}

func (r *Run) fillStruct(made reflect.Value, v *Value) {
	if v.Kind != Struct {
		panic(misfit(v, made.Type()))
	}
	for i, name := range v.Names {
		f := made.FieldByName(name)
		if !f.IsValid() || i >= len(v.Elems) {
			continue // the other version has it
		}
		val := r.make(&v.Elems[i], f.Type())
		if !f.CanSet() {
			f = reflect.NewAt(f.Type(), unsafe.Pointer(f.UnsafeAddr())).Elem() // a field of the package we are in
		}
		f.Set(val)
	}
}

// fit returns x as a t.
func fit(x reflect.Value, t reflect.Type, v *Value) reflect.Value {
	if !x.IsValid() {
		return reflect.Zero(t)
	}
	switch {
	case x.Type().AssignableTo(t):
	case x.Kind() == reflect.Interface && !x.IsNil() && x.Elem().Type().AssignableTo(t):
		x = x.Elem()
	case x.Kind() == reflect.Pointer && !x.IsNil() && x.Type().Elem().AssignableTo(t):
		x = x.Elem() // the receiver of a method of the value
	case reflect.PointerTo(x.Type()).AssignableTo(t):
		p := reflect.New(x.Type())
		p.Elem().Set(x)
		x = p
	default:
		panic(misfit(v, t))
	}
	made := reflect.New(t).Elem()
	made.Set(x)
	return made
}

func fitAny(t reflect.Type, v *Value, of []any) reflect.Value {
	for _, x := range of {
		if reflect.TypeOf(x).AssignableTo(t) {
			return fit(reflect.ValueOf(x), t, v)
		}
	}
	panic(misfit(v, t))
}

// readers returns what a Reader can be, the plainest first.
func readers(v *Value) []any {
	own := &reader{text: v.Text, mode: v.Int}
	return []any{own, strings.NewReader(v.Text), bytes.NewReader([]byte(v.Text)), bytes.NewBufferString(v.Text), bufio.NewReader(own)}
}

// A reader reads text in unusual ways.
type reader struct {
	text string
	mode int64
}

var errRead = errors.New("reading failed, as it was told to")

func (r *reader) Read(p []byte) (int, error) {
	end := io.EOF
	if r.mode == ReadFail {
		end = errRead
	}
	if r.text == "" {
		return 0, end
	}
	if r.mode == ReadOne && len(p) > 1 {
		p = p[:1]
	}
	n := copy(p, r.text)
	r.text = r.text[n:]
	if r.mode == ReadWithEOF && r.text == "" {
		return n, io.EOF
	}
	return n, nil
}

func (r *reader) Close() error { return nil }

// writers returns what a Writer can be.
func writers(v *Value) []any {
	own := &writer{mode: v.Int}
	return []any{own, &bytes.Buffer{}, &strings.Builder{}, bufio.NewWriter(own)}
}

// A writer keeps what is written until it fails.
type writer struct {
	buf  []byte
	mode int64
}

var errWrite = errors.New("writing failed, as it was told to")

const maxWritten = 4 << 20

func (w *writer) Write(p []byte) (int, error) {
	n := len(p)
	if w.mode > 0 {
		n = max(0, min(n, int(w.mode)-1-len(w.buf)))
	}
	if len(w.buf)+n > maxWritten {
		n = maxWritten - len(w.buf)
	}
	w.buf = append(w.buf, p[:n]...)
	if n < len(p) {
		return n, errWrite
	}
	return n, nil
}

func (w *writer) Close() error { return nil }

var errorType = reflect.TypeOf((*error)(nil)).Elem()
