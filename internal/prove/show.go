package prove

import (
	"fmt"
	"go/types"
	"math"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/hone-perf/hone/internal/prove/worker"
)

func floatValue(f float64) worker.Value {
	return worker.Value{Kind: worker.Float, Int: int64(math.Float64bits(f))}
}

// A printer writes programs as people would: as Go, and requests as HTTP.
type printer struct {
	*surface
	names map[int64]string // of results and arguments that are used again
	lines []string
}

// show writes the calls that a program makes, up to a step.
func (s *surface) show(p *worker.Program, until int) string {
	w := &printer{surface: s, names: make(map[int64]string)}
	used := make(map[int64]bool)
	var find func(v *worker.Value)
	find = func(v *worker.Value) {
		switch v.Kind {
		case worker.Ref:
			used[v.Int] = true
		case worker.Same:
			used[^v.Int] = true
		}
		for i := range v.Elems {
			find(&v.Elems[i])
		}
	}
	for i := range p.Steps {
		for j := range p.Steps[i].Args {
			find(&p.Steps[i].Args[j])
		}
	}
	for i := range p.Steps {
		if i > until {
			break
		}
		w.step(i, &p.Steps[i], used)
	}
	return strings.Join(w.lines, "; ")
}

func (w *printer) step(at int, s *worker.Step, used map[int64]bool) {
	e := w.entries[s.Func]
	args := make([]string, len(s.Args))
	for i := range s.Args {
		args[i] = w.value(&s.Args[i], e.params[i])
		if id := int64(at)<<8 | int64(i); used[^id] && (s.Args[i].Kind != worker.Ref && s.Args[i].Kind != worker.Same) {
			name := w.name("x")
			w.names[^id] = name
			w.lines = append(w.lines, name+" := "+args[i])
			args[i] = name
		}
		if e.variadic && i == len(args)-1 {
			args[i] = w.variadic(&s.Args[i], e.params[i], args[i])
		}
	}
	text := e.name + "(" + strings.Join(args, ", ") + ")"
	switch {
	case e.name == serveName:
		text = args[0] + ": " + args[2]
	case e.called:
		text = args[0] + "(" + strings.Join(args[1:], ", ") + ")"
	case w.isHandler(e):
		text = e.name + ": " + args[len(args)-1]
	case e.method:
		method := e.name[strings.LastIndexByte(e.name, '.')+1:]
		recv := args[0]
		if strings.HasPrefix(recv, "&") {
			recv = "(" + recv + ")"
		}
		if recv == "nil" {
			recv = "(" + w.typeName(e.params[0]) + ")(nil)"
		}
		text = recv + "." + method + "(" + strings.Join(args[1:], ", ") + ")"
	}
	var results []string
	any := false
	for i := range e.results {
		name := "_"
		if used[int64(at)<<8|int64(i)] {
			name = w.name("v")
			w.names[int64(at)<<8|int64(i)] = name
			any = true
		}
		results = append(results, name)
	}
	if any {
		text = strings.Join(results, ", ") + " := " + text
	}
	w.lines = append(w.lines, text)
}

// variadic writes the last argument without the slice around it.
func (w *printer) variadic(v *worker.Value, t types.Type, text string) string {
	s, ok := t.Underlying().(*types.Slice)
	if !ok || v.Kind != worker.List {
		return text + "..."
	}
	parts := make([]string, len(v.Elems))
	for i := range v.Elems {
		parts[i] = w.value(&v.Elems[i], s.Elem())
	}
	return strings.Join(parts, ", ")
}

// isHandler reports whether e is called with a response and a request alone.
func (w *printer) isHandler(e *entry) bool {
	n := len(e.params)
	return n >= 2 && n <= 3 && w.new.typeKey(e.params[n-1]) == "*net/http.Request" && w.new.typeKey(e.params[n-2]) == "net/http.ResponseWriter" && (n == 2 || e.method)
}

func (w *printer) name(prefix string) string { return fmt.Sprintf("%s%d", prefix, len(w.names)+1) }

// typeName writes a type as the package itself would.
func (w *printer) typeName(t types.Type) string {
	return types.TypeString(t, func(p *types.Package) string {
		if p == w.new.pkg.Types {
			return ""
		}
		return p.Name()
	})
}

// maxShown is how long a literal is shown.
const maxShown = 400

func quote(s string) string {
	if len(s) > maxShown {
		if unit, n := period(s); n > 1 {
			return fmt.Sprintf("strings.Repeat(%s, %d)", strconv.Quote(unit), n)
		}
		return strconv.Quote(s[:maxShown]) + fmt.Sprintf("… (%d bytes)", len(s))
	}
	return strconv.Quote(s)
}

// period returns the text that s repeats, and how often.
func period(s string) (string, int) {
	for n := 1; n <= 16 && n <= len(s)/2; n++ {
		if len(s)%n == 0 && strings.Repeat(s[:n], len(s)/n) == s {
			return s[:n], len(s) / n
		}
	}
	return s, 1
}

// value writes a value of type t.
func (w *printer) value(v *worker.Value, t types.Type) string {
	switch v.Kind {
	case worker.Zero:
		return w.zero(t)
	case worker.Ref:
		return w.named(v.Int)
	case worker.Same:
		return w.named(^v.Int)
	case worker.Reader:
		text := "strings.NewReader(" + quote(v.Text) + ")"
		switch v.Int {
		case worker.ReadOne:
			return "iotest.OneByteReader(" + text + ")"
		case worker.ReadWithEOF:
			return "iotest.DataErrReader(" + text + ")"
		case worker.ReadFail:
			return "(" + text + ", then an error)"
		}
		return text
	case worker.Writer:
		switch {
		case w.new.typeKey(t) == "net/http.ResponseWriter" || v.Int == worker.WriteAll:
			return "w"
		case v.Int == worker.WriteNone:
			return "(a writer that fails)"
		}
		return fmt.Sprintf("(a writer that fails after %d bytes)", v.Int-1)
	case worker.Request:
		return w.request(v)
	case worker.Context:
		if v.Int == 1 {
			return "(a cancelled context)"
		}
		return "context.Background()"
	case worker.Error:
		if v.Text == "EOF" {
			return "io.EOF"
		}
		return "errors.New(" + quote(v.Text) + ")"
	case worker.Time:
		return "time.Unix(0, " + strconv.FormatInt(v.Int, 10) + ")"
	case worker.Iface:
		return w.iface(v)
	case worker.Func:
		return "f" + strconv.FormatInt(v.Int, 10)
	}
	switch u := t.Underlying().(type) {
	case *types.Basic:
		return w.basic(v, t, u)
	case *types.Pointer:
		if len(v.Elems) == 1 {
			if _, ok := u.Elem().Underlying().(*types.Basic); ok {
				return "new(" + w.value(&v.Elems[0], u.Elem()) + ")"
			}
			return "&" + w.value(&v.Elems[0], u.Elem())
		}
	case *types.Slice:
		if v.Kind == worker.String {
			return w.typeName(t) + "(" + quote(v.Text) + ")"
		}
		return w.typeName(t) + w.elements(v, u.Elem())
	case *types.Array:
		return w.typeName(t) + w.elements(v, u.Elem())
	case *types.Map:
		var parts []string
		for i := 0; i+1 < len(v.Elems); i += 2 {
			parts = append(parts, w.value(&v.Elems[i], u.Key())+": "+w.value(&v.Elems[i+1], u.Elem()))
		}
		return w.typeName(t) + "{" + strings.Join(parts, ", ") + "}"
	case *types.Struct:
		var parts []string
		for i, name := range v.Names {
			for f := range u.Fields() {
				if f.Name() == name && i < len(v.Elems) {
					parts = append(parts, name+": "+w.value(&v.Elems[i], f.Type()))
				}
			}
		}
		return w.typeName(t) + "{" + strings.Join(parts, ", ") + "}"
	case *types.Chan:
		return "(a channel with" + w.elements(v, u.Elem()) + ")"
	}
	return "?"
}

func (w *printer) named(id int64) string {
	if n, ok := w.names[id]; ok {
		return n
	}
	return "?"
}

func (w *printer) elements(v *worker.Value, t types.Type) string {
	if len(v.Elems) > 8 {
		first := w.value(&v.Elems[0], t)
		same := true
		for i := range v.Elems {
			same = same && w.value(&v.Elems[i], t) == first
		}
		if same {
			return fmt.Sprintf("{%s, … %d times}", first, len(v.Elems))
		}
	}
	parts := make([]string, len(v.Elems))
	for i := range v.Elems {
		parts[i] = w.value(&v.Elems[i], t)
	}
	return "{" + strings.Join(parts, ", ") + "}"
}

func (w *printer) iface(v *worker.Value) string {
	t, ok := w.types[v.Text]
	if !ok || len(v.Elems) != 1 {
		return "?"
	}
	text := w.value(&v.Elems[0], t)
	if b, ok := t.(*types.Basic); ok && b.Kind() != types.Int && b.Kind() != types.String && b.Kind() != types.Bool {
		return v.Text + "(" + text + ")"
	}
	if text == "nil" {
		return "(" + v.Text + ")(nil)"
	}
	return text
}

func (w *printer) zero(t types.Type) string {
	switch u := t.Underlying().(type) {
	case *types.Basic:
		return w.basic(&worker.Value{Kind: worker.Int}, t, u)
	case *types.Struct, *types.Array:
		return w.typeName(t) + "{}"
	}
	return "nil"
}

func (w *printer) basic(v *worker.Value, t types.Type, u *types.Basic) string {
	info := u.Info()
	var text string
	switch {
	case info&types.IsBoolean != 0:
		text = strconv.FormatBool(v.Int&1 == 1)
	case info&types.IsString != 0:
		text = quote(v.Text)
	case w.new.typeKey(t) == "time.Duration":
		return w.duration(time.Duration(v.Int))
	case info&types.IsInteger != 0:
		n := fitInteger(v.Int, u)
		switch {
		case w.new.typeKey(t) == "rune" && utf8.ValidRune(rune(n)) && n != utf8.RuneError && n >= ' ':
			return strconv.QuoteRune(rune(n))
		case info&types.IsUnsigned != 0:
			text = strconv.FormatUint(uint64(n), 10)
		default:
			text = strconv.FormatInt(n, 10)
		}
	default:
		f := math.Float64frombits(uint64(v.Int))
		if v.Kind != worker.Float {
			f = float64(v.Int)
		}
		switch {
		case math.IsNaN(f):
			text = "math.NaN()"
		case math.IsInf(f, 1):
			text = "math.Inf(1)"
		case math.IsInf(f, -1):
			text = "math.Inf(-1)"
		default:
			text = strconv.FormatFloat(f, 'g', -1, 64)
		}
	}
	return text
}

func (w *printer) duration(d time.Duration) string {
	for _, u := range []struct {
		d    time.Duration
		name string
	}{{time.Hour, "time.Hour"}, {time.Minute, "time.Minute"}, {time.Second, "time.Second"}, {time.Millisecond, "time.Millisecond"}, {time.Microsecond, "time.Microsecond"}} {
		if d != 0 && d%u.d == 0 {
			return strconv.FormatInt(int64(d/u.d), 10) + "*" + u.name
		}
	}
	return strconv.FormatInt(int64(d), 10)
}

// request writes an HTTP request in a line.
func (w *printer) request(v *worker.Value) string {
	text := v.Text
	for i, name := range v.Names {
		if i < len(v.Elems) {
			text += ", " + name + ": " + v.Elems[i].Text
		}
	}
	if n := len(v.Elems); n == len(v.Names)+1 && v.Elems[n-1].Text != "" {
		text += ", body " + quote(v.Elems[n-1].Text)
	}
	return text
}
