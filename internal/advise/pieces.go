package advise

import (
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"strconv"
	"strings"
	"unicode/utf8"
)

// A piece is a part of a text that a program puts together: one that is always the same, or one that can be appended.
type piece struct {
	text   string                  // when append is nil
	append func(buf string) string // an expression that appends it
	expr   string                  // the text by itself, as an expression; "" where append alone is known
	size   int                     // bytes that it takes, about
	needs  []string                // imports
	boxed  bool                    // it went through fmt
}

// A textReader takes expressions apart that make texts.
type textReader struct {
	*function
	no func(format string, args ...any) // is told why one can't be
}

// texts takes expressions of the function apart. Why one can't be is why there is no fix.
func (p *Pass) texts() *textReader {
	return &textReader{p.function, func(format string, args ...any) { p.no(format, args...) }}
}

// pieces takes an expression apart that makes a string. How each piece looks in the end is the same as before.
func (p *textReader) pieces(e ast.Expr) ([]piece, bool) {
	e = ast.Unparen(e)
	if s, ok := p.text(e); ok {
		return []piece{{text: s}}, true
	}
	if !isString(p.typeOf(e)) {
		return nil, false
	}
	switch x := e.(type) {
	case *ast.BinaryExpr:
		a, ok := p.pieces(x.X)
		if !ok || x.Op != token.ADD {
			return nil, false
		}
		b, ok := p.pieces(x.Y)
		return append(a, b...), ok
	case *ast.CallExpr:
		if out, ok := p.formatted(x); ok {
			return out, true
		}
	}
	src := p.src(e)
	return []piece{{append: func(buf string) string { return "append(" + buf + ", " + src + "...)" }, size: 24}}, true
}

// formatted takes a call apart that formats something.
func (p *textReader) formatted(call *ast.CallExpr) ([]piece, bool) {
	arg := func(i int) string { return p.src(call.Args[i]) }
	one := func(size int, format string, args ...any) ([]piece, bool) {
		return []piece{{append: func(buf string) string { return fmt.Sprintf(format, append([]any{buf}, args...)...) }, size: size, needs: []string{"strconv"}}}, true
	}
	switch {
	case p.calls(call, "fmt.Sprint") != nil && len(call.Args) == 1 && !call.Ellipsis.IsValid():
		v, ok := p.verb("v", call.Args[0])
		if !ok {
			p.onlyFmt("v", call.Args[0])
		}
		return []piece{v}, ok
	case p.calls(call, "fmt.Sprintf") != nil && len(call.Args) > 0 && !call.Ellipsis.IsValid():
		return p.format(call.Args[0], call.Args[1:])
	case p.calls(call, "strconv.Itoa") != nil:
		return one(8, "strconv.AppendInt(%s, int64(%s), 10)", arg(0))
	case p.calls(call, "strconv.FormatInt") != nil:
		return one(8, "strconv.AppendInt(%s, %s, %s)", arg(0), arg(1))
	case p.calls(call, "strconv.FormatUint") != nil:
		return one(8, "strconv.AppendUint(%s, %s, %s)", arg(0), arg(1))
	case p.calls(call, "strconv.FormatFloat") != nil:
		return one(16, "strconv.AppendFloat(%s, %s, %s, %s, %s)", arg(0), arg(1), arg(2), arg(3))
	case p.calls(call, "strconv.FormatBool") != nil:
		return one(5, "strconv.AppendBool(%s, %s)", arg(0))
	case p.calls(call, "strconv.Quote") != nil:
		return one(24, "strconv.AppendQuote(%s, %s)", arg(0))
	}
	if b := p.stringOf(call); b != nil {
		src := p.src(b)
		return []piece{{append: func(buf string) string { return "append(" + buf + ", " + src + "...)" }, size: 24}}, true
	}
	return nil, false
}

// format takes a format of fmt and its arguments apart. Only verbs without flags and widths are known, for types that fmt
// prints as package strconv does.
func (p *textReader) format(format ast.Expr, args []ast.Expr) ([]piece, bool) {
	s, ok := p.text(format)
	if !ok {
		p.no("the format %s is not a constant", p.src(format))
		return nil, false
	}
	calls, bytes := 0, 0
	for _, a := range args {
		if isBytes(p.typeOf(a)) {
			bytes++
		}
		ast.Inspect(a, func(n ast.Node) bool {
			if call, ok := n.(*ast.CallExpr); ok && !p.info().Types[call.Fun].IsType() {
				calls++
			}
			return true
		})
	}
	if calls > 0 && bytes > 0 {
		p.no("a call among the arguments may change bytes that are formatted after it now, and would be appended before it")
		return nil, false
	}
	var out []piece
	for s != "" {
		i := strings.IndexByte(s, '%')
		if i < 0 {
			out = append(out, piece{text: s})
			break
		}
		if i > 0 {
			out = append(out, piece{text: s[:i]})
		}
		s = s[i+1:]
		end := strings.IndexFunc(s, func(r rune) bool { return r != '.' && (r < '0' || r > '9') })
		if end < 0 || s[end] >= utf8.RuneSelf {
			p.no("the format ends within a verb, or has one that fmt does not know")
			return nil, false
		}
		verb := s[:end+1]
		s = s[end+1:]
		if verb == "%" {
			out = append(out, piece{text: "%"})
			continue
		}
		if len(args) == 0 {
			p.no("the format has more verbs than there are arguments")
			return nil, false
		}
		v, ok := p.verb(verb, args[0])
		if !ok {
			p.onlyFmt(verb, args[0])
			return nil, false
		}
		out, args = append(out, v), args[1:]
	}
	if len(args) > 0 {
		p.no("there are more arguments than the format has verbs")
	}
	return out, len(args) == 0
}

// verb returns what a verb makes of an argument, such as d or .3f.
func (p *textReader) verb(verb string, e ast.Expr) (piece, bool) {
	t := p.typeOf(e)
	src := p.src(e)
	mk := func(size int, need, format string, args ...any) (piece, bool) {
		v := piece{size: size, boxed: true, append: func(buf string) string { return fmt.Sprintf(format, append([]any{buf}, args...)...) }}
		v.expr = p.alone(e, format, args)
		if need != "" {
			v.needs = []string{need}
		}
		return v, true
	}
	if t == nil {
		return piece{}, false
	}
	if n, ok := types.Unalias(t).(*types.Named); ok && n.Obj().Pkg() != nil && n.Obj().Pkg().Path() == "time" && n.Obj().Name() == "Duration" && (verb == "s" || verb == "v") {
		return mk(8, "", "append(%s, %s.String()...)", operand(e, src))
	}
	if printsItself(t) {
		return piece{}, false
	}
	as := func(want types.BasicKind, name string) string {
		if b, ok := types.Unalias(t).(*types.Basic); ok && b.Kind() == want {
			return src
		}
		return name + "(" + src + ")"
	}
	base := map[string]int{"d": 10, "v": 10, "x": 16, "o": 8, "b": 2}[verb]
	b, ok := t.Underlying().(*types.Basic)
	if !ok {
		if isBytes(t) && verb == "s" {
			return mk(24, "", "append(%s, %s...)", src)
		}
		return piece{}, false
	}
	switch info := b.Info(); {
	case b.Kind() == types.Uintptr:
	case info&types.IsString != 0 && (verb == "s" || verb == "v"):
		if text, isText := p.text(e); isText {
			return piece{text: text, boxed: true}, true
		}
		return mk(24, "", "append(%s, %s...)", src)
	case info&types.IsString != 0 && verb == "q":
		return mk(24, "strconv", "strconv.AppendQuote(%s, %s)", as(types.String, "string"))
	case info&types.IsInteger != 0 && verb == "c" && b.Kind() == types.Int32:
		return mk(4, "unicode/utf8", "utf8.AppendRune(%s, %s)", as(types.Int32, "rune"))
	case info&types.IsInteger != 0 && base != 0 && info&types.IsUnsigned != 0:
		return mk(8, "strconv", "strconv.AppendUint(%s, %s, %d)", as(types.Uint64, "uint64"), base)
	case info&types.IsInteger != 0 && base != 0:
		return mk(8, "strconv", "strconv.AppendInt(%s, %s, %d)", as(types.Int64, "int64"), base)
	case info&types.IsBoolean != 0 && (verb == "t" || verb == "v"):
		return mk(5, "strconv", "strconv.AppendBool(%s, %s)", as(types.Bool, "bool"))
	case info&types.IsFloat != 0 && b.Info()&types.IsUntyped == 0:
		prec, letter, ok := floatVerb(verb)
		if !ok {
			return piece{}, false
		}
		bits := 64
		if b.Kind() == types.Float32 {
			bits = 32
		}
		return mk(16, "strconv", "strconv.AppendFloat(%s, %s, '%c', %d, %d)", as(types.Float64, "float64"), letter, prec, bits)
	}
	return piece{}, false
}

// onlyFmt says why there is nothing but fmt for a verb and its argument.
func (p *textReader) onlyFmt(verb string, e ast.Expr) {
	t := p.typeOf(e)
	switch {
	case t == nil:
	case types.IsInterface(t) || isTypeParam(t):
		p.no("what %s holds is only known when the program runs", p.src(e))
	case printsItself(t):
		p.no("the type of %s has a method that says how it is printed", p.src(e))
	default:
		p.no("package strconv does not print %s as %%%s does", p.src(e), verb)
	}
}

// alone returns an expression for the text that a format such as strconv.AppendInt(%s, %s, 10) appends.
func (p *textReader) alone(e ast.Expr, format string, args []any) string {
	text := fmt.Sprintf(format, append([]any{"\x00"}, args...)...)
	switch name, rest, _ := strings.Cut(text, "(\x00, "); name {
	case "append":
		text = strings.TrimSuffix(rest, "...)")
		if b, ok := types.Unalias(p.typeOf(e)).(*types.Basic); isString(p.typeOf(e)) && (!ok || b.Kind() != types.String && b.Kind() != types.UntypedString) || isBytes(p.typeOf(e)) {
			return "string(" + text + ")"
		}
		if _, ok := ast.Unparen(e).(*ast.BinaryExpr); ok && isString(p.typeOf(e)) {
			return "(" + text + ")"
		}
		return text
	case "strconv.AppendQuote":
		return "strconv.Quote(" + rest
	case "strconv.AppendInt":
		if b, ok := types.Unalias(p.typeOf(e)).(*types.Basic); ok && b.Kind() == types.Int && strings.HasSuffix(rest, ", 10)") {
			return "strconv.Itoa(" + p.src(e) + ")"
		}
		return "strconv.FormatInt(" + rest
	case "strconv.AppendUint", "strconv.AppendBool", "strconv.AppendFloat":
		return "strconv.Format" + strings.TrimPrefix(name, "strconv.Append") + "(" + rest
	}
	return ""
}

// operand returns an expression that a selector can follow.
func operand(e ast.Expr, src string) string {
	switch ast.Unparen(e).(type) {
	case *ast.Ident, *ast.SelectorExpr, *ast.CallExpr, *ast.IndexExpr, *ast.ParenExpr:
		return src
	}
	return "(" + src + ")"
}

// floatVerb says how package strconv writes what fmt does with a verb: e, f, g and v, perhaps with a precision.
func floatVerb(verb string) (prec int, letter byte, ok bool) {
	letter = verb[len(verb)-1]
	digits, dotted := strings.CutPrefix(verb[:len(verb)-1], ".")
	switch {
	case letter == 'v' && verb == "v":
		return -1, 'g', true
	case letter != 'e' && letter != 'f' && letter != 'g':
		return 0, 0, false
	case !dotted && digits != "":
		return 0, 0, false // a width
	case dotted:
		n, err := strconv.Atoi(digits + "")
		if digits == "" {
			n, err = 0, nil
		}
		return n, letter, err == nil
	case letter == 'g':
		return -1, letter, true
	}
	return 6, letter, true
}

// printsItself reports whether fmt asks values of a type how they are printed, or it can only know at run time.
func printsItself(t types.Type) bool {
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

// dynamic returns how many pieces are not always the same.
func dynamic(list []piece) (n int) {
	for _, v := range list {
		if v.append != nil {
			n++
		}
	}
	return n
}

// joined returns pieces with texts that follow each other made one, and without empty ones.
func joined(list []piece) (out []piece) {
	for _, v := range list {
		switch {
		case v.append == nil && v.text == "":
		case v.append == nil && len(out) > 0 && out[len(out)-1].append == nil:
			out[len(out)-1].text += v.text
		default:
			out = append(out, v)
		}
	}
	return out
}

// appends returns statements that append pieces to a buffer, and what begins with it: buf, or buf[:0].
func (p *Pass) appends(list []piece, buf, begin string) (lines []string, size int) {
	for _, v := range joined(list) {
		from := buf
		if len(lines) == 0 {
			from = begin
		}
		if v.append == nil {
			size += len(v.text)
			if len(v.text) == 1 && v.text[0] < utf8.RuneSelf {
				lines = append(lines, fmt.Sprintf("%s = append(%s, %s)", buf, from, strconv.QuoteRune(rune(v.text[0]))))
				continue
			}
			lines = append(lines, fmt.Sprintf("%s = append(%s, %s...)", buf, from, quotedText(v.text)))
			continue
		}
		size += v.size
		p.need(v.needs...)
		lines = append(lines, buf+" = "+v.append(from))
	}
	return lines, size
}

// quotedText writes a text as people do.
func quotedText(s string) string {
	if strings.Contains(s, `"`) && strconv.CanBackquote(s) {
		return "`" + s + "`"
	}
	return strconv.Quote(s)
}

// roomFor returns a capacity for so many bytes.
func roomFor(n int) int {
	room := 64
	for room < n {
		room *= 2
	}
	return room
}

// localName returns a name for a variable that nothing in the function has.
func (p *function) localName(base string) string {
	taken := map[string]bool{}
	ast.Inspect(p.decl, func(n ast.Node) bool {
		if id, ok := n.(*ast.Ident); ok {
			taken[id.Name] = true
		}
		return true
	})
	name := base
	for i := 2; taken[name]; i++ {
		name = base + strconv.Itoa(i)
	}
	return name
}
