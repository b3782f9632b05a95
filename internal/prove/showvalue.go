package prove

import (
	"fmt"
	"go/types"
	"go/version"
	"math"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/hone-perf/hone/internal/prove/worker"
)

// typeName writes a type as the package itself would.
func (w *printer) typeName(t types.Type) string {
	own := func(a *types.Alias) bool { return a.Obj().Pkg() == w.new.pkg.Types }
	return types.TypeString(plain(t, w.empty(), own), func(p *types.Package) string {
		if p == w.new.pkg.Types {
			return ""
		}
		return w.pkg(p.Path(), p.Name())
	})
}

// quote writes a text: in whole, with strings.Repeat for what makes it long.
func (w *printer) quote(s string) string {
	const (
		long  = 64
		least = 24 // bytes that are worth a Repeat
	)
	if len(s) <= long {
		return strconv.Quote(s)
	}
	var parts []string
	plain := 0
	for i := 0; i < len(s); {
		unit, n := repeated(s[i:])
		if len(unit)*n < least || n < 4 {
			_, size := utf8.DecodeRuneInString(s[i:])
			i += size
			continue
		}
		if plain < i {
			parts = append(parts, strconv.Quote(s[plain:i]))
		}
		parts = append(parts, fmt.Sprintf("%s.Repeat(%s, %d)", w.std("strings"), strconv.Quote(unit), n))
		i += len(unit) * n
		plain = i
	}
	if plain < len(s) {
		parts = append(parts, strconv.Quote(s[plain:]))
	}
	return strings.Join(parts, " + ")
}

// repeated returns the text that s begins with more often than with any other, and how often.
func repeated(s string) (unit string, n int) {
	for size := 1; size <= 16 && size <= len(s)/2; size++ {
		k := 1
		for (k+1)*size <= len(s) && s[k*size:(k+1)*size] == s[:size] {
			k++
		}
		if k > 1 && k*size > len(unit)*n {
			unit, n = s[:size], k
		}
	}
	return unit, n
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

// value writes a value that can be assigned to a t.
func (w *printer) value(v *worker.Value, t types.Type) expr {
	switch v.Kind {
	case worker.Zero:
		return w.zero(t)
	case worker.Ref:
		return w.fit(w.names[v.Int], w.placeType(v.Int, func(e *entry) []types.Type { return e.results }), t)
	case worker.Same:
		return w.fit(w.names[^v.Int], w.placeType(v.Int, func(e *entry) []types.Type { return e.params }), t)
	case worker.Reader:
		return w.reader(v, w.new.typeKey(t))
	case worker.Writer:
		return w.writer(v, w.new.typeKey(t))
	case worker.Request:
		return w.request(v)
	case worker.Context:
		background := w.std("context") + ".Background()"
		if v.Int != 1 {
			return exactly("%s", background)
		}
		ctx, cancel := w.variable("ctx"), w.variable("cancel")
		w.line("%s, %s := %s.WithCancel(%s)", ctx, cancel, w.std("context"), background)
		w.line("%s()", cancel)
		return exactly("%s", ctx)
	case worker.Error:
		if v.Text == "EOF" {
			return exactly("%s.EOF", w.std("io"))
		}
		return exactly("%s.New(%s)", w.std("errors"), w.quote(v.Text))
	case worker.Time:
		if v.Text == worker.Seconds {
			return exactly("%s.Unix(%d, 0).UTC()", w.std("time"), v.Int)
		}
		return exactly("%s.Unix(0, %d).UTC()", w.std("time"), v.Int)
	case worker.Iface:
		of, ok := w.types[v.Text]
		if !ok || len(v.Elems) != 1 {
			return expr{text: "nil"}
		}
		return expr{text: w.inInterface(w.value(&v.Elems[0], of), of)}
	case worker.Func:
		return w.function(v, t)
	}
	switch u := t.Underlying().(type) {
	case *types.Basic:
		return w.basic(v, t, u)
	case *types.Pointer:
		return w.pointer(v, t, u)
	case *types.Slice:
		return w.slice(v, t, u)
	case *types.Array:
		return exactly("%s{%s}", w.typeName(t), w.elements(fitting(v, u), u.Elem()))
	case *types.Map:
		return w.mapOf(v, t, u)
	case *types.Struct:
		var parts []string
		for i, name := range v.Names {
			for f := range u.Fields() {
				if f.Name() == name && i < len(v.Elems) {
					parts = append(parts, name+": "+w.value(&v.Elems[i], f.Type()).text)
				}
			}
		}
		return exactly("%s{%s}", w.typeName(t), strings.Join(parts, ", "))
	case *types.Chan:
		name := w.variable("c")
		elem := w.typeName(u.Elem())
		var parts []string
		for i := range v.Elems {
			parts = append(parts, w.value(&v.Elems[i], u.Elem()).text)
		}
		w.line("%s := make(chan %s, %d)", name, elem, len(parts))
		for _, part := range parts {
			w.line("%s <- %s", name, part)
		}
		w.line("close(%s)", name)
		return expr{text: name}
	}
	return expr{text: "nil"}
}

func (w *printer) pointer(v *worker.Value, t types.Type, u *types.Pointer) expr {
	if len(v.Elems) != 1 || v.Elems[0].Kind == worker.Zero {
		return exactly("new(%s)", w.typeName(u.Elem()))
	}
	e := w.value(&v.Elems[0], u.Elem())
	pointer := expr{exact: types.Identical(t, u)}
	switch named := w.typeName(u.Elem()); {
	case isComposite(u.Elem()) && strings.HasPrefix(e.text, named+"{"):
		pointer.text = "&" + e.text
	case w.since("go1.26"):
		pointer.text = "new(" + w.typed(e, u.Elem()) + ")"
	default:
		pointer.text = "&" + w.declare("p", expr{w.typed(e, u.Elem()), true}, u.Elem())
	}
	return pointer
}

// since reports whether the package is written in a version of the language, or a newer one.
func (w *printer) since(v string) bool {
	m := w.new.pkg.Module
	return m != nil && m.GoVersion != "" && version.Compare("go"+m.GoVersion, v) >= 0
}

func (w *printer) slice(v *worker.Value, t types.Type, u *types.Slice) expr {
	name := w.typeName(t)
	spare := int(v.Int & 15)
	if v.Kind == worker.String {
		if spare > 0 {
			text := w.quote(v.Text)
			if !types.Identical(u.Elem(), types.Typ[types.Byte]) {
				text = name + "(" + text + ")"
			}
			return exactly("append(make(%s, 0, %d), %s...)", name, len(v.Text)+spare, text)
		}
		return exactly("%s(%s)", name, w.quote(v.Text))
	}
	if n := len(v.Elems); n > 8 && spare == 0 && w.since("go1.23") {
		plain := !slices.ContainsFunc(v.Elems, func(x worker.Value) bool { return !sameValue(&x, &v.Elems[0]) })
		if plain && isBasic(u.Elem()) {
			return exactly("%s.Repeat(%s{%s}, %d)", w.std("slices"), name, w.value(&v.Elems[0], u.Elem()).text, n)
		}
	}
	elements := w.elements(v, u.Elem())
	if spare == 0 {
		return exactly("%s{%s}", name, elements)
	}
	if elements == "" {
		return exactly("make(%s, 0, %d)", name, spare)
	}
	return exactly("append(make(%s, 0, %d), %s)", name, len(v.Elems)+spare, elements)
}

func sameValue(a, b *worker.Value) bool {
	return a.Kind == b.Kind && a.Int == b.Int && a.Text == b.Text && len(a.Elems) == 0 && len(b.Elems) == 0
}

func (w *printer) elements(v *worker.Value, t types.Type) string {
	parts := make([]string, len(v.Elems))
	for i := range v.Elems {
		parts[i] = w.value(&v.Elems[i], t).text
	}
	return strings.Join(parts, ", ")
}

// mapOf writes a map. Of keys that are written alike the last one counts, and the compiler takes one only.
func (w *printer) mapOf(v *worker.Value, t types.Type, u *types.Map) expr {
	var keys []string
	last := make(map[string]int)
	for i := 0; i+1 < len(v.Elems); i += 2 {
		key := w.value(&v.Elems[i], u.Key()).text
		if _, had := last[key]; !had {
			keys = append(keys, key)
		}
		last[key] = i + 1
	}
	parts := make([]string, len(keys))
	for i, key := range keys {
		parts[i] = key + ": " + w.value(&v.Elems[last[key]], u.Elem()).text
	}
	return exactly("%s{%s}", w.typeName(t), strings.Join(parts, ", "))
}

func (w *printer) zero(t types.Type) expr {
	switch u := t.Underlying().(type) {
	case *types.Basic:
		if u.Kind() == types.UnsafePointer {
			return expr{text: "nil"}
		}
		return w.basic(&worker.Value{Kind: worker.Int}, t, u)
	case *types.Struct, *types.Array:
		return exactly("%s{}", w.typeName(t))
	}
	return expr{text: "nil"}
}

func (w *printer) basic(v *worker.Value, t types.Type, u *types.Basic) expr {
	switch info := u.Info(); {
	case info&types.IsBoolean != 0:
		return expr{text: strconv.FormatBool(v.Int&1 == 1)}
	case info&types.IsString != 0:
		e := expr{text: w.quote(v.Text)}
		if strings.Contains(e.text, ".Repeat(") && !types.Identical(t, types.Typ[types.String]) {
			e = exactly("%s", w.typed(e, t)) // a call is no constant
		}
		return e
	case w.new.typeKey(t) == "time.Duration":
		return w.duration(time.Duration(v.Int))
	case info&types.IsInteger != 0:
		n := fitInteger(v.Int, u)
		switch {
		case w.new.typeKey(t) == "rune" && utf8.ValidRune(rune(n)) && n != utf8.RuneError && n >= ' ':
			return expr{text: strconv.QuoteRune(rune(n))}
		case info&types.IsUnsigned != 0:
			return expr{text: strconv.FormatUint(uint64(n), 10)}
		}
		return expr{text: strconv.FormatInt(n, 10)}
	}
	f := math.Float64frombits(uint64(v.Int))
	if v.Kind != worker.Float {
		f = float64(v.Int)
	}
	if u.Kind() == types.Float32 || u.Kind() == types.Complex64 {
		f = float64(float32(f))
	}
	if u.Kind() == types.Complex64 || u.Kind() == types.Complex128 {
		re, im := w.float(f), w.float(f/2)
		if !re.exact && !im.exact {
			return expr{text: fmt.Sprintf("complex(%s, %s)", re.text, im.text)}
		}
		e := exactly("complex(%s, %s)", w.typed(re, types.Typ[types.Float64]), w.typed(im, types.Typ[types.Float64]))
		return exactly("%s", w.typed(expr{text: e.text}, t))
	}
	e := w.float(f)
	if e.exact && !types.Identical(t, types.Typ[types.Float64]) {
		return exactly("%s", w.typed(expr{text: e.text}, t))
	}
	return e
}

// float writes a float64, or a constant.
func (w *printer) float(f float64) expr {
	switch {
	case math.IsNaN(f):
		return exactly("%s.NaN()", w.std("math"))
	case math.IsInf(f, 1):
		return exactly("%s.Inf(1)", w.std("math"))
	case math.IsInf(f, -1):
		return exactly("%s.Inf(-1)", w.std("math"))
	case f == 0 && math.Signbit(f):
		return exactly("%s.Copysign(0, -1)", w.std("math"))
	}
	return expr{text: strconv.FormatFloat(f, 'g', -1, 64)}
}

func (w *printer) duration(d time.Duration) expr {
	for _, u := range []struct {
		d    time.Duration
		name string
	}{{time.Hour, "Hour"}, {time.Minute, "Minute"}, {time.Second, "Second"}, {time.Millisecond, "Millisecond"}, {time.Microsecond, "Microsecond"}} {
		if d != 0 && d%u.d == 0 {
			return exactly("%d*%s.%s", int64(d/u.d), w.std("time"), u.name)
		}
	}
	return expr{text: strconv.FormatInt(int64(d), 10)}
}

func (w *printer) reader(v *worker.Value, key string) expr {
	text := w.quote(v.Text)
	plain := func() string { return w.std("strings") + ".NewReader(" + text + ")" }
	switch key {
	case "*bytes.Reader":
		return exactly("%s.NewReader([]byte(%s))", w.std("bytes"), text)
	case "*bytes.Buffer":
		return exactly("%s.NewBufferString(%s)", w.std("bytes"), text)
	case "io.ReadWriter":
		return expr{text: fmt.Sprintf("%s.NewBufferString(%s)", w.std("bytes"), text)}
	case "*strings.Reader":
		return exactly("%s", plain())
	case "io.Reader", "io.ReadCloser", "*bufio.Reader":
	default:
		return expr{text: plain()}
	}
	var in string
	switch v.Int {
	case worker.ReadOne:
		in = w.std("testing/iotest") + ".OneByteReader(" + plain() + ")"
	case worker.ReadWithEOF:
		in = w.std("testing/iotest") + ".DataErrReader(" + plain() + ")"
	case worker.ReadFail:
		in = fmt.Sprintf(`%s.MultiReader(%s, %s.ErrReader(%s.New("reading failed")))`, w.std("io"), plain(), w.std("testing/iotest"), w.std("errors"))
	default:
		in = plain()
	}
	switch key {
	case "io.ReadCloser":
		return exactly("%s.NopCloser(%s)", w.std("io"), in)
	case "*bufio.Reader":
		return exactly("%s.NewReader(%s)", w.std("bufio"), in)
	}
	return expr{text: in}
}

func (w *printer) writer(v *worker.Value, key string) expr {
	switch key {
	case "net/http.ResponseWriter":
		return expr{text: w.std("net/http/httptest") + ".NewRecorder()"}
	case "*strings.Builder":
		return exactly("new(%s.Builder)", w.std("strings"))
	case "io.Writer", "io.WriteCloser", "*bufio.Writer":
	default:
		return expr{text: "new(" + w.std("bytes") + ".Buffer)"}
	}
	var to string
	switch v.Int {
	case worker.WriteAll:
		to = "new(" + w.std("bytes") + ".Buffer)"
	default: // a pipe whose other end takes as much, and then no more
		from := w.variable("r")
		to = w.variable("w")
		w.line("%s, %s := %s.Pipe()", from, to, w.std("io"))
		fail := fmt.Sprintf("%s.CloseWithError(%s.New(%q))", from, w.std("errors"), "writing failed")
		if v.Int == worker.WriteNone {
			w.line("%s", fail)
		} else {
			w.line("go func() { %s.CopyN(%s.Discard, %s, %d); %s }()", w.std("io"), w.std("io"), from, v.Int-1, fail)
		}
	}
	switch {
	case key == "*bufio.Writer":
		return exactly("%s.NewWriter(%s)", w.std("bufio"), to)
	case key == "io.WriteCloser" && v.Int == worker.WriteAll:
		io := w.std("io")
		return expr{text: fmt.Sprintf("struct { %s.Writer; %s.Closer }{%s, %s.NopCloser(nil)}", io, io, to, io)}
	}
	return expr{text: to}
}

// request writes an HTTP request.
func (w *printer) request(v *worker.Value) expr {
	method, target, _ := strings.Cut(v.Text, " ")
	body := "nil"
	if n := len(v.Elems); n == len(v.Names)+1 && v.Elems[n-1].Text != "" {
		body = w.std("strings") + ".NewReader(" + w.quote(v.Elems[n-1].Text) + ")"
	}
	var e expr
	if served(method, target) {
		e = exactly("%s.NewRequest(%s, %s, %s)", w.std("net/http/httptest"), strconv.Quote(method), strconv.Quote(target), body)
	} else {
		name := w.variable("req")
		w.line("%s, _ := %s.NewRequest(%s, %s, %s)", name, w.std("net/http"), strconv.Quote(method), strconv.Quote("http://example.com"+target), body)
		e = exactly("%s", name)
	}
	if len(v.Names) == 0 {
		return e
	}
	name := e.text
	if served(method, target) {
		name = w.declare("req", e, nil)
	}
	for i, header := range v.Names {
		switch {
		case i >= len(v.Elems):
		case header == "Host":
			w.line("%s.Host, %s.URL.Host = %s, %s", name, name, w.quote(v.Elems[i].Text), w.quote(v.Elems[i].Text))
		default:
			w.line("%s.Header.Add(%s, %s)", name, strconv.Quote(header), w.quote(v.Elems[i].Text))
		}
	}
	return exactly("%s", name)
}

// served reports whether httptest makes the same request of a target.
func served(method, target string) bool {
	if method == "" || strings.ContainsFunc(method, func(c rune) bool { return c < 'A' || c > 'Z' }) || strings.ContainsFunc(target, func(c rune) bool { return c <= ' ' || c == 0x7f }) {
		return false
	}
	a, err := url.ParseRequestURI(target)
	if err != nil {
		return false
	}
	b, err := url.Parse("http://example.com" + target)
	return err == nil && b.Host == "example.com" && a.Host == "" && a.RequestURI() == b.RequestURI() && b.Fragment == "" && !strings.Contains(target, "#")
}
