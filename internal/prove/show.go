package prove

import (
	"fmt"
	"go/types"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/hone-perf/hone/internal/prove/worker"
)

func floatValue(f float64) worker.Value {
	return worker.Value{Kind: worker.Float, Int: int64(math.Float64bits(f))}
}

// A printer writes programs as people would, in statements that compile in a test of the package.
type printer struct {
	*surface
	steps   []worker.Step
	names   map[int64]string  // of results, and of arguments below zero, that are used again
	imports map[string]string // by path, how the statements name them
	taken   map[string]bool
	count   map[string]int
	lines   []string

	variables []string
}

// useAll uses variables that nothing uses, such as results that are in a part of an argument that is not written.
func (w *printer) useAll() { w.useAllBut("") }

// useAllBut leaves those out that an expression behind the lines uses.
func (w *printer) useAllBut(after string) {
	text := strings.Join(w.lines, "\n") + "\n" + after
	for _, name := range w.variables {
		if !usedAgain(text, name) {
			w.line("_ = %s", name)
		}
	}
}

// usedAgain reports whether a name is in a text more than once.
func usedAgain(text, name string) bool {
	n := 0
	isPart := func(at int) bool {
		return at >= 0 && at < len(text) && (text[at] == '_' || text[at] >= '0' && text[at] <= '9' || text[at]|0x20 >= 'a' && text[at]|0x20 <= 'z' || text[at] >= utf8.RuneSelf)
	}
	for at := 0; n < 2; at += len(name) {
		i := strings.Index(text[at:], name)
		if i < 0 {
			return false
		}
		at += i
		if !isPart(at-1) && !isPart(at+len(name)) {
			n++
		}
	}
	return true
}

// A shown is a program for people.
type shown struct {
	call    string   // statements, each on a line of its own
	imports []string // what they need, as in an import declaration
}

// show writes the calls that a program makes, up to a step.
func (s *surface) show(p *worker.Program, until int) shown {
	w := s.printer(p, until)
	used := make(map[int64]bool)
	markUsed(&worker.Program{Steps: w.steps}, used)
	for i := range w.steps {
		w.step(i, &w.steps[i], used)
	}
	w.useAll()
	out := shown{call: strings.Join(w.lines, "\n")}
	for path, name := range w.imports {
		if !strings.Contains(out.call, name+".") {
			continue
		}
		text := strconv.Quote(path)
		if path[strings.LastIndexByte(path, '/')+1:] != name {
			text = name + " " + text
		}
		out.imports = append(out.imports, text)
	}
	slices.Sort(out.imports)
	return out
}

// pkg returns how to name a package.
func (w *printer) pkg(path, name string) string {
	if had, ok := w.imports[path]; ok {
		return had
	}
	for w.taken[name] {
		name += "_"
	}
	w.taken[name] = true
	w.imports[path] = name
	return name
}

// std is pkg for a package of the standard library.
func (w *printer) std(path string) string {
	return w.pkg(path, path[strings.LastIndexByte(path, '/')+1:])
}

// variable returns a new name.
func (w *printer) variable(prefix string) string {
	for {
		w.count[prefix]++
		if name := prefix + strconv.Itoa(w.count[prefix]); !w.taken[name] {
			w.variables = append(w.variables, name)
			return name
		}
	}
}

func (w *printer) line(format string, args ...any) {
	w.lines = append(w.lines, fmt.Sprintf(format, args...))
}

// An expr is an expression that can be assigned to the type that it was written for. An exact one is of that type by itself.
type expr struct {
	text  string
	exact bool
}

func exactly(format string, args ...any) expr { return expr{fmt.Sprintf(format, args...), true} }

// typed writes an expression of exactly the type t.
func (w *printer) typed(e expr, t types.Type) string {
	if e.exact {
		return e.text
	}
	name := w.typeName(t)
	if strings.ContainsAny(name[:1], "*<(") || strings.HasPrefix(name, "func") || strings.HasPrefix(name, "chan") {
		name = "(" + name + ")"
	}
	return name + "(" + e.text + ")"
}

// declare gives an expression a name.
func (w *printer) declare(prefix string, e expr, t types.Type) string {
	name := w.variable(prefix)
	if e.exact && e.text != "nil" {
		w.line("%s := %s", name, e.text)
	} else {
		w.line("var %s %s = %s", name, w.typeName(t), e.text)
	}
	return name
}

func (w *printer) step(at int, s *worker.Step, used map[int64]bool) {
	e := w.entries[s.Func]
	args := make([]expr, len(s.Args))
	words := make([]string, len(args))
	for i := range s.Args {
		again := ^(int64(at)<<8 | int64(i))
		if e.variadic && i == len(args)-1 && !used[again] {
			words[i] = w.variadic(&s.Args[i], e.params[i])
			continue
		}
		args[i] = w.value(&s.Args[i], e.params[i])
		if used[again] {
			if s.Args[i].Kind != worker.Ref && s.Args[i].Kind != worker.Same {
				args[i] = exactly("%s", w.declare("x", args[i], e.params[i]))
			}
			w.names[again] = args[i].text
		}
		words[i] = args[i].text
		if e.variadic && i == len(args)-1 {
			words[i] += "..."
		}
	}
	list := func(from int) string {
		var out []string
		for _, word := range words[from:] {
			if word != "" {
				out = append(out, word)
			}
		}
		return "(" + strings.Join(out, ", ") + ")"
	}
	text := w.funcName(e) + list(0)
	if e.called || e.method {
		recv := args[0]
		word := w.typed(recv, e.params[0])
		if strings.ContainsAny(word[:1], "&*") || strings.HasPrefix(word, "func") {
			word = "(" + word + ")"
		}
		text = word + list(1)
		if !e.called {
			text = word + "." + e.name[strings.LastIndexByte(e.name, '.')+1:] + list(1)
		}
	}
	if e.field != "" {
		text = strings.TrimSuffix(text, list(1)) + " = " + words[1]
	}
	if e.name == readAllName {
		text = w.std("io") + ".ReadAll" + list(0)
	}
	var results []string
	any := false
	for i := range e.results {
		name := "_"
		if id := int64(at)<<8 | int64(i); used[id] {
			name = w.variable("v")
			w.names[id], any = name, true
		}
		results = append(results, name)
	}
	if any {
		text = strings.Join(results, ", ") + " := " + text
	}
	w.lines = append(w.lines, text)
}

// funcName writes a function as the package itself would call it.
func (w *printer) funcName(e *entry) string {
	if pkg, rest, ok := strings.Cut(e.expr, "."); ok && e.key == "" {
		for path, name := range w.surface.imports {
			if p := w.new.pkg.Imports[path]; name == pkg && p != nil {
				return w.pkg(path, p.Name) + "." + rest
			}
		}
	}
	if strings.HasPrefix(e.expr, e.name+"[") {
		return e.expr // its types cannot always be told from its arguments
	}
	return e.name
}

// variadic writes the last argument, without the slice around it where that can be left out.
func (w *printer) variadic(v *worker.Value, t types.Type) string {
	s, ok := t.Underlying().(*types.Slice)
	switch {
	case v.Kind == worker.Zero:
		return ""
	case !ok || v.Kind != worker.List || v.Int&15 != 0 || len(v.Elems) == 0:
		return w.value(v, t).text + "..."
	}
	return w.elements(v, s.Elem())
}

// placeType is the type of a result or an argument of a step.
func (w *printer) placeType(id int64, of func(e *entry) []types.Type) types.Type {
	step, i := int(id>>8), int(id&255)
	if step < 0 || step >= len(w.steps) {
		return nil
	}
	list := of(w.entries[w.steps[step].Func])
	if i >= len(list) {
		return nil
	}
	return list[i]
}

// fit writes a variable of one type where another is wanted, as workers do.
func (w *printer) fit(name string, has, want types.Type) expr {
	switch {
	case name == "" || has == nil:
		return w.zero(want) // what is not there is not made either
	case types.Identical(has, want):
		return exactly("%s", name)
	case types.AssignableTo(has, want):
		return expr{text: name}
	case types.IsInterface(has) && types.AssertableTo(has.Underlying().(*types.Interface), want):
		return exactly("%s.(%s)", name, w.typeName(want))
	case types.Identical(base(has), want):
		return exactly("*%s", name)
	case types.Identical(has, base(want)):
		return exactly("&%s", name)
	}
	return w.zero(want)
}

// inInterface writes what an interface holds, so that it has the type t.
func (w *printer) inInterface(e expr, t types.Type) string {
	if b, ok := t.(*types.Basic); ok && slices.Contains([]types.BasicKind{types.Int, types.String, types.Bool}, b.Kind()) {
		return e.text // as constants are by themselves
	}
	return w.typed(e, t)
}
