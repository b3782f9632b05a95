package prove

import (
	"fmt"
	"go/types"
	"strconv"
	"strings"

	"github.com/hone-perf/hone/internal/prove/worker"
)

// function writes the function that a worker hands in, so that it answers as that one does. See the stubs of package worker.
func (w *printer) function(v *worker.Value, t types.Type) expr {
	switch w.new.typeKey(t) {
	case "net/http.Handler":
		return expr{text: w.std("net/http") + ".HandlerFunc(" + w.handlerFunc(v.Int) + ")"}
	case "net/http.HandlerFunc", "func(net/http.ResponseWriter, *net/http.Request)":
		return expr{text: w.handlerFunc(v.Int)}
	}
	sig, ok := t.Underlying().(*types.Signature)
	if !ok {
		return expr{text: "nil"}
	}
	f := &funcLiteral{printer: w, sig: sig, salt: v.Int}
	text := f.text()
	if strings.Contains(text, "\n") {
		return expr{text: w.declare("f", exactly("%s", text), nil)}
	}
	return expr{text: text}
}

// handlerFunc writes what package web has for a handler.
func (w *printer) handlerFunc(mode int64) string {
	http, body := w.std("net/http"), ""
	switch mode % 6 {
	case 0:
		body = w.std("io") + `.WriteString(w, "ok "+r.Method+" "+r.URL.String())`
	case 1:
		body = http + `.Error(w, "there is no such thing", ` + http + `.StatusNotFound)`
	case 2:
		body = w.std("io") + ".Copy(w, r.Body)"
	case 3:
		body = `w.Header().Set("X-Inner", "set"); w.WriteHeader(` + http + ".StatusCreated)"
	case 5:
		body = `w.Header().Add("Vary", "Inner"); w.WriteHeader(` + http + `.StatusInternalServerError); ` + w.std("io") + `.WriteString(w, "first second")`
	}
	return fmt.Sprintf("func(w %s.ResponseWriter, r *%s.Request) { %s }", http, http, body)
}

// A funcLiteral is the code of a stub.
type funcLiteral struct {
	*printer
	sig   *types.Signature
	salt  int64
	asked bool // n is needed
}

func (f *funcLiteral) param(i int) types.Type { return f.sig.Params().At(i).Type() }

func (f *funcLiteral) text() string {
	n := f.sig.Params().Len()
	var params, results []string
	for i := range n {
		t := f.param(i)
		name := f.typeName(t)
		if f.sig.Variadic() && i == n-1 {
			name = "..." + f.typeName(t.(*types.Slice).Elem())
		}
		params = append(params, fmt.Sprintf("a%d %s", i+1, name))
	}
	var answers []string
	for i := range f.sig.Results().Len() {
		t := f.sig.Results().At(i).Type()
		results = append(results, f.typeName(t))
		answers = append(answers, f.answer(i, t))
	}
	head := "func(" + strings.Join(params, ", ") + ") "
	if len(results) == 0 {
		return head + "{}"
	}
	head += "(" + strings.Join(results, ", ") + ") "
	if len(results) == 1 {
		head = "func(" + strings.Join(params, ", ") + ") " + results[0] + " "
	}
	give := "return " + strings.Join(answers, ", ")
	if !f.asked {
		return head + "{ " + give + " }"
	}
	words := []string{"int64(" + strconv.FormatInt(f.salt, 10) + ")"}
	whole := true
	for i := range n {
		b, ok := f.param(i).Underlying().(*types.Basic)
		kind := ""
		if ok {
			kind = widest(b)
		}
		if kind == "" {
			whole = false // what is not plain is rendered in ways of the worker's own
			continue
		}
		words = append(words, fmt.Sprintf("%s(a%d)", kind, i+1))
	}
	more := ""
	if !whole {
		more = " // where it was found, the other arguments count as well"
	}
	return fmt.Sprintf("%s{\n\th := %s.New64a()\n\t%s.Fprint(h, %s)%s\n\tn := h.Sum64()\n\t%s\n}", head, f.std("hash/fnv"), f.std("fmt"), strings.Join(words, ", "), more, give)
}

// widest names the type in which a worker prints a plain argument.
func widest(b *types.Basic) string {
	switch info := b.Info(); {
	case info&types.IsBoolean != 0:
		return "bool"
	case info&types.IsString != 0:
		return "string"
	case info&types.IsUnsigned != 0:
		return "uint64"
	case info&types.IsInteger != 0:
		return "int64"
	case info&types.IsFloat != 0:
		return "float64"
	}
	return ""
}

// answer writes what the function returns in a place.
func (f *funcLiteral) answer(i int, t types.Type) string {
	n := f.sig.Params().Len()
	u, _ := t.Underlying().(*types.Basic)
	if n == 2 && f.sig.Results().Len() == 1 && u != nil && types.Identical(f.param(0), f.param(1)) && (u.Kind() == types.Bool || u.Kind() == types.Int) {
		return f.order(f.param(0), t, u)
	}
	if f.salt == worker.FuncZero {
		return f.zero(t).text
	}
	num := "n"
	if i > 0 {
		num = fmt.Sprintf("(n>>%d)", 8*i)
	}
	if f.salt == worker.FuncSame {
		num = "0"
	}
	conv := func(e string) string {
		name := f.typeName(t)
		return name + "(" + e + ")"
	}
	for j := range n {
		if !types.Identical(f.param(j), t) {
			continue
		}
		arg := fmt.Sprintf("a%d", j+1)
		other := arg
		switch {
		case u != nil && u.Info()&types.IsInteger != 0 && u.Info()&types.IsUnsigned == 0:
			other = arg + "*3 + 1"
		case u != nil && u.Info()&types.IsString != 0:
			other = arg + ` + "!"`
		}
		if f.salt == worker.FuncSame || other == arg {
			return arg
		}
		f.asked = true
		return fmt.Sprintf("map[bool]%s{true: %s, false: %s}[%s%%4 == 0]", f.typeName(t), arg, other, num)
	}
	if u == nil {
		if isErrorType(t) && f.salt != worker.FuncSame {
			f.asked = true
			return fmt.Sprintf("map[bool]error{true: %s.New(%q)}[%s%%4 == 1]", f.std("errors"), "an error", num)
		}
		return f.zero(t).text
	}
	same := f.salt == worker.FuncSame
	f.asked = f.asked || !same
	switch info := u.Info(); {
	case info&types.IsBoolean != 0:
		if same {
			return "true"
		}
		return conv(num + "&1 == 0")
	case info&types.IsString != 0:
		if same {
			return strconv.Quote(worker.StubTexts[0])
		}
		return conv(fmt.Sprintf("%#v[%s%%%d]", worker.StubTexts[:], num, len(worker.StubTexts)))
	case info&types.IsUnsigned != 0 && u.Kind() != types.Uintptr:
		if same {
			return "0"
		}
		return conv(num + "%7")
	case info&types.IsInteger != 0 && u.Kind() != types.Uintptr:
		if same {
			return "-2"
		}
		return conv("int64(" + num + "%9) - 2")
	case info&types.IsFloat != 0:
		if same {
			return "-1"
		}
		return conv("float64(" + num + "%9)/4 - 1")
	}
	return f.zero(t).text
}

// order writes which of two arguments comes first.
func (f *funcLiteral) order(t, result types.Type, u *types.Basic) string {
	less, compare := "a1 < a2", f.std("cmp")+".Compare(a1, a2)" // of the imports those stay that are used
	if b, ok := t.Underlying().(*types.Basic); !ok || b.Info()&types.IsOrdered == 0 {
		key := func(a string) string { return fmt.Sprintf("%s.Sprintf(%q, %s)", f.std("fmt"), "%+v", a) }
		less, compare = key("a1")+" < "+key("a2"), fmt.Sprintf("%s.Compare(%s, %s)", f.std("strings"), key("a1"), key("a2"))
	}
	text := compare
	if u.Kind() == types.Bool {
		text = less
	}
	if _, named := types.Unalias(result).(*types.Named); named {
		return f.typeName(result) + "(" + text + ")"
	}
	return text
}
