package worker

import (
	"errors"
	"fmt"
	"hash/fnv"
	"reflect"
	"strings"
)

// What a Func answers. Other numbers answer by the arguments, each in another way. Hone writes these functions as Go, too, for people to
// make the call themselves: see funcLiteral in package prove.
const (
	FuncZero = 0 // nothing but zero values
	FuncSame = 1 // an argument of the type of the result, or one value of it
)

// stub returns a function that answers by its arguments, so that it answers both versions alike, whatever the order
// of their questions. What asks which of two things comes first gets an order.
func (r *Run) stub(t reflect.Type, salt int64) reflect.Value {
	sorts := t.NumIn() == 2 && t.In(0) == t.In(1) && t.NumOut() == 1 &&
		(t.Out(0).Kind() == reflect.Bool || t.Out(0).Kind() == reflect.Int)
	left := 10000 // calls that are remembered
	return reflect.MakeFunc(t, func(in []reflect.Value) []reflect.Value {
		source := r.places.inSource(in)
		if t.NumOut() == 0 && left > 0 {
			left--
			r.calls = append(r.calls, r.argumentsText(in, source))
		}
		out := make([]reflect.Value, t.NumOut())
		for i := range out {
			out[i] = reflect.New(t.Out(i)).Elem()
		}
		if sorts {
			c := order(in[0], in[1], 0)
			if out[0].Kind() == reflect.Bool {
				out[0].SetBool(c < 0)
			} else {
				out[0].SetInt(int64(c))
			}
			return out
		}
		n := uint64(0)
		if salt > FuncSame && len(out) > 0 {
			n = r.digest(in, source, salt)
		}
		for i := range out {
			if salt != FuncZero {
				answer(out[i], salt, n>>(8*i), in)
			}
		}
		return out
	})
}

func (r *Run) argumentsText(in []reflect.Value, source bool) string {
	text := ""
	for i, x := range in {
		in := &rendering{run: r, full: true, source: source}
		in.value(fmt.Sprintf("argument %d", i+1), LayerResult, x, 0)
		text += linesText(in.lines) + ";"
	}
	return text
}

// digest makes a number of arguments: of those that are plain, as fmt prints them, and of others as they are rendered.
func (r *Run) digest(in []reflect.Value, source bool, salt int64) uint64 {
	list := []any{salt}
	for _, x := range in {
		switch {
		case x.CanInt() && !source && !isAddress(uint64(x.Int())):
			list = append(list, x.Int())
		case x.CanUint() && !isAddress(x.Uint()):
			list = append(list, x.Uint())
		case x.CanFloat():
			list = append(list, x.Float())
		case x.Kind() == reflect.Bool:
			list = append(list, x.Bool())
		case x.Kind() == reflect.String:
			list = append(list, r.places.text(x.String()))
		default:
			list = append(list, r.argumentsText([]reflect.Value{x}, source))
		}
	}
	h := fnv.New64a()
	fmt.Fprint(h, list...)
	return h.Sum64()
}

// answer sets out to something that depends on n, and on an argument of the same type.
func answer(out reflect.Value, salt int64, n uint64, in []reflect.Value) {
	for _, x := range in {
		if x.Type() != out.Type() {
			continue
		}
		switch {
		case salt == FuncSame || n%4 == 0:
			out.Set(x)
		case out.CanInt():
			out.SetInt(x.Int()*3 + 1)
		case out.Kind() == reflect.String:
			out.SetString(x.String() + "!")
		default:
			out.Set(x)
		}
		return
	}
	switch out.Kind() {
	case reflect.Bool:
		out.SetBool(n&1 == 0)
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		out.SetInt(int64(n%9) - 2)
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		out.SetUint(n % 7)
	case reflect.Float32, reflect.Float64:
		out.SetFloat(float64(n%9)/4 - 1)
	case reflect.String:
		out.SetString(StubTexts[n%uint64(len(StubTexts))])
	case reflect.Interface:
		if out.Type() == errorType && n%4 == 1 {
			out.Set(reflect.ValueOf(errors.New("an error")))
		}
	}
}

// StubTexts are what functions answer that return a text.
var StubTexts = [...]string{"", "a", "b", "é", "key"}

// maxPointers is how many pointers in a row order follows. Values may lead around in a circle, as the elements of a list do.
const maxPointers = 4

// order compares two values of a type by what they hold, first by what they hold themselves. It has followed some pointers to them.
func order(a, b reflect.Value, followed int) int {
	switch {
	case a.Type() != b.Type(): // in an interface
		return strings.Compare(a.Type().String(), b.Type().String())
	case a.CanInt():
		return compare(a.Int(), b.Int())
	case a.CanUint():
		return compare(a.Uint(), b.Uint())
	case a.CanFloat():
		return compare(a.Float(), b.Float())
	case a.Kind() == reflect.String:
		return strings.Compare(a.String(), b.String())
	case a.Kind() == reflect.Struct:
		for _, far := range []bool{false, true} {
			for i := 0; i < a.NumField(); i++ {
				if f := a.Field(i); leads(f) == far {
					if c := order(f, b.Field(i), followed); c != 0 {
						return c
					}
				}
			}
		}
	case leads(a) && !a.IsNil() && !b.IsNil() && followed < maxPointers:
		return order(a.Elem(), b.Elem(), followed+1)
	}
	return 0
}

// leads reports whether what a value holds is somewhere else.
func leads(v reflect.Value) bool { return v.Kind() == reflect.Pointer || v.Kind() == reflect.Interface }

func compare[T int64 | uint64 | float64](a, b T) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}
