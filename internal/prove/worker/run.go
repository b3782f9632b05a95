package worker

import (
	"fmt"
	"reflect"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
)

// A Table is what the version has: its functions, its types, its errors, and the counters in its code.
type Table struct {
	Funcs  []any // nil for those that only the other version has
	Names  []string
	Types  map[string]reflect.Type
	Errors map[string]*error
	Cover  []byte
	Away   []byte  // the same of another package
	Refuse *func() // what the code calls in front of what must not be called
	Source *Source
	Makers []Maker
	Shows  []Show

	fields map[string][]FieldRule
	masks  map[string]int
	names  map[reflect.Type]string

	home    string
	refused int32 // since the program began; atomic
}

// rules returns what is to be compared of a struct of the package.
func (t *Table) rules(of reflect.Type) ([]FieldRule, bool) {
	name, ok := t.names[of]
	if !ok {
		return nil, false
	}
	name, _, _ = strings.Cut(name, "[")
	rules, ok := t.fields[name]
	return rules, ok
}

// What became of a program.
const (
	Done    byte = iota
	Invalid      // the description does not fit the functions, or what they came to must not be called
	Late         // it took too long; the worker has ended
	Large        // it took too much memory; the worker has ended
)

// An observer gets what was seen of each step.
type observer func(r *rendering)

// What was printed since it was last asked.
type printed struct{ out, err func() string }

// forget leaves out what was printed so far.
func (p printed) forget() {
	p.out()
	p.err()
}

// run calls what p says.
func (t *Table) run(p *Program, full bool, printed printed, see observer) (status byte) {
	r := &Run{table: t, places: places{Source: t.Source, names: !p.speaksOfFiles(), home: t.home}}
	atomic.StoreInt32(&t.refused, 0)
	kept := make([]string, 0, len(p.Steps)) // results as they were when they came
	for i := range p.Steps {
		s := &p.Steps[i]
		if slices.ContainsFunc(s.Args, r.failed) {
			break // values beside an error are nobody's promise
		}
		args, ok := r.arguments(s)
		if !ok {
			return Invalid
		}
		out := &rendering{run: r, full: full, fn: t.Names[s.Func], step: i}
		r.out, r.calls = out, nil
		results, panicked := r.call(s.Func, args)
		if atomic.LoadInt32(&t.refused) != 0 {
			printed.forget()
			return Invalid
		}
		if panicked != nil {
			out.line(LayerPanic, "outcome", "panics")
			out.line(LayerText, "panic", r.places.text(fmt.Sprint(panicked)))
			if text := printed.out(); text != "" {
				out.line(LayerText, "printed", r.places.text(text))
			}
			printed.err()
			see(out)
			return Done // what is left after a panic is nobody's promise
		}
		r.args, r.outs = append(r.args, args), append(r.outs, results)
		out.line(LayerPanic, "outcome", "returns")
		r.outcome(out, results, args)
		if len(r.calls) > 0 {
			out.line(LayerResult, "calls of the function argument", strings.Join(r.calls, "\n"))
		}
		see(out)
		kept = append(kept, r.mutable(results))
	}
	last := len(kept) - 1
	if last < 0 {
		return Done
	}
	out := &rendering{run: r, full: full, fn: t.Names[p.Steps[last].Func], step: last}
	if text := printed.out(); text != "" {
		out.bytes("standard output", LayerResult, text)
	}
	if text := printed.err(); text != "" {
		out.bytes(StandardError, LayerEmpty, text)
	}
	for i, before := range kept[:last] {
		if before != "" {
			out.line(LayerShared, resultOf+strconv.Itoa(i+1)+" is changed by later calls", strconv.FormatBool(r.mutable(r.outs[i]) != before))
		}
	}
	if p.After {
		r.after(&p.Steps[last], out, printed)
	}
	see(out)
	if atomic.LoadInt32(&t.refused) != 0 { // by what went on beside it, or looked at it
		return Invalid
	}
	return Done
}

// refuse ends the call that runs, or the goroutine that it began.
func (t *Table) refuse(of string) {
	atomic.StoreInt32(&t.refused, 1)
	if goroutineName() != of {
		runtime.Goexit()
	}
	panic("refused")
}

// goroutineName tells goroutines apart.
func goroutineName() string {
	b := make([]byte, 40)
	name, _, _ := strings.Cut(string(b[:runtime.Stack(b, false)]), " [")
	return name
}

// StandardError is the path of what was written to it. It is talk, and no layer of its own.
const StandardError = "standard error"

// failed reports whether a value takes a result of a call that returned an error.
func (r *Run) failed(v Value) bool {
	if v.Kind == Ref {
		if step, _ := v.place(); step >= 0 && step < len(r.outs) {
			for _, x := range r.outs[step] {
				if x.Type() == errorType && !x.IsNil() {
					return true
				}
			}
		}
	}
	return slices.ContainsFunc(v.Elems, r.failed)
}

// arguments makes the arguments of a step. Whatever goes wrong with that, such as a key that cannot be one, is nobody's
// fault but the description's.
func (r *Run) arguments(s *Step) (args []reflect.Value, ok bool) {
	defer func() {
		if x := recover(); x != nil {
			args, ok = nil, false
		}
	}()
	if s.Func < 0 || s.Func >= len(r.table.Funcs) || r.table.Funcs[s.Func] == nil {
		return nil, false
	}
	t := reflect.TypeOf(r.table.Funcs[s.Func])
	if t.NumIn() != len(s.Args) {
		return nil, false
	}
	args = make([]reflect.Value, len(s.Args))
	for i := range args {
		args[i] = r.make(&s.Args[i], t.In(i))
	}
	return args, true
}

// call calls a function, and returns what it panicked with.
func (r *Run) call(fn int, args []reflect.Value) (results []reflect.Value, panicked any) {
	f := reflect.ValueOf(r.table.Funcs[fn])
	defer func() { panicked = recover() }()
	if f.Type().IsVariadic() {
		return f.CallSlice(args), nil
	}
	return f.Call(args), nil
}

// outcome renders what came of a call that returned.
func (r *Run) outcome(out *rendering, results, args []reflect.Value) {
	failed := false
	for i, x := range results {
		if x.Type() == errorType {
			text := "nil"
			if !x.IsNil() {
				text, failed = "not nil", true
			}
			out.line(LayerError, resultName(i, results)+" ", text)
		}
	}
	if failed {
		out.least = LayerText
	}
	out.source = r.places.inSource(results)
	for i, x := range results {
		if x.Type() == errorType {
			if !x.IsNil() {
				least := out.least
				out.least = 0
				out.err(resultName(i, results), x)
				out.least = least
			}
			continue
		}
		out.value(resultName(i, results), LayerResult, x, 0)
		out.whole(resultName(i, results), x)
	}
	if failed {
		out.least = LayerEmpty
	}
	out.source = false
	for i, x := range args {
		if mutable(x.Type()) {
			layer := LayerShared
			if x.Kind() == reflect.Interface {
				layer = LayerResult // a writer, most likely
			}
			out.value("argument "+strconv.Itoa(i+1), layer, x, 0)
			out.whole("argument "+strconv.Itoa(i+1), x)
		}
	}
	out.least = 0
}

func resultName(i int, results []reflect.Value) string {
	if results[i].Type() == errorType {
		return "error"
	}
	if len(results) == 1 || len(results) == 2 && results[1].Type() == errorType {
		return "result"
	}
	return "result " + strconv.Itoa(i+1)
}

// mutable reports whether a value of type t can be changed by somebody who shares it.
func mutable(t reflect.Type) bool {
	switch t.Kind() {
	case reflect.Slice, reflect.Map, reflect.Pointer, reflect.Interface:
		return true
	case reflect.Array:
		return mutable(t.Elem())
	case reflect.Struct:
		for i := 0; i < t.NumField(); i++ {
			if mutable(t.Field(i).Type) {
				return true
			}
		}
	}
	return false
}

// mutable renders what can change among values.
func (r *Run) mutable(values []reflect.Value) string {
	var text strings.Builder // a graph has lines enough for += to take longer than the calls may
	for _, x := range values {
		if x.IsValid() && mutable(x.Type()) && x.Type() != errorType {
			in := &rendering{run: r, full: true}
			in.value(" ", LayerResult, x, 0)
			for _, l := range in.lines {
				if l.Layer < LayerInside {
					text.WriteString(l.Path)
					text.WriteString(l.Text)
					text.WriteByte('\n')
				}
			}
		}
	}
	return text.String()
}

// after finds out what is shared: it changes the arguments in place and looks whether that shows in the results, and the
// other way round, and whether what was changed shows when the last call is made again.
func (r *Run) after(s *Step, out *rendering, printed printed) {
	last := len(r.outs) - 1
	results, args := r.outs[last], r.args[last]
	before := r.mutable(results)
	changed := false
	for _, x := range args {
		changed = scribble(x, 0) || changed
	}
	if changed && before != "" {
		out.line(LayerShared, changeOf+"the arguments shows in the results", strconv.FormatBool(r.mutable(results) != before))
	}
	again := func() string {
		args, ok := r.arguments(s)
		if !ok {
			return ""
		}
		fresh, panicked := r.call(s.Func, args)
		printed.forget()
		if panicked != nil {
			return "panics"
		}
		return r.mutable(fresh)
	}
	first := again()
	before = r.mutable(args)
	changed = false
	for _, x := range results {
		changed = scribble(x, 0) || changed
	}
	if !changed {
		return
	}
	if before != "" {
		out.line(LayerShared, changeOf+"the results shows in the arguments", strconv.FormatBool(r.mutable(args) != before))
	}
	if second := again(); first != "panics" {
		out.line(LayerShared, changeOf+"the results shows in the next call", strconv.FormatBool(second != first))
	}
}

// scribble changes what can be changed in place, and reports whether there was something.
func scribble(x reflect.Value, depth int) bool {
	if !x.IsValid() || depth > 3 {
		return false
	}
	changed := false
	switch x.Kind() {
	case reflect.Slice:
		for i := 0; i < x.Len() && i < 64; i++ {
			changed = change(x.Index(i)) || scribble(x.Index(i), depth+1) || changed
		}
	case reflect.Map:
		for _, k := range x.MapKeys() {
			e := reflect.New(x.Type().Elem()).Elem()
			e.Set(x.MapIndex(k))
			if change(e) {
				x.SetMapIndex(k, e)
				changed = true
			}
		}
	}
	return changed
}

// change changes a plain value.
func change(x reflect.Value) bool {
	if !x.CanSet() {
		return false
	}
	switch {
	case x.CanInt():
		x.SetInt(x.Int() ^ 1)
	case x.CanUint():
		x.SetUint(x.Uint() ^ 1)
	case x.CanFloat():
		x.SetFloat(x.Float() + 1)
	case x.Kind() == reflect.String:
		x.SetString(x.String() + "~")
	case x.Kind() == reflect.Bool:
		x.SetBool(!x.Bool())
	default:
		return false
	}
	return true
}
