package text

import (
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/hone-perf/hone/internal/advise/facts/code"
	"github.com/hone-perf/hone/internal/advise/facts/kind"
	"github.com/hone-perf/hone/internal/report/missing"
)

// A Reader takes expressions apart that make texts.
type Reader struct {
	*code.Func
	No func(fact missing.Fact, of ...any) // is told why one can't be
}

// Pieces takes an expression apart that makes a string. How each piece looks in the end is the same as before.
func (p *Reader) Pieces(e ast.Expr) ([]Piece, bool) {
	e = ast.Unparen(e)
	if s, ok := p.Text(e); ok {
		return []Piece{{Text: s}}, true
	}
	if !kind.IsString(p.TypeOf(e)) {
		return nil, false
	}
	switch x := e.(type) {
	case *ast.BinaryExpr:
		a, ok := p.Pieces(x.X)
		if !ok || x.Op != token.ADD {
			return nil, false
		}
		b, ok := p.Pieces(x.Y)
		return append(a, b...), ok
	case *ast.CallExpr:
		if out, ok := p.Formatted(x); ok {
			return out, true
		}
	}
	src := p.Src(e)
	return []Piece{{Append: func(buf string) string { return "append(" + buf + ", " + src + "...)" }, Size: 24}}, true
}

// Formatted takes a call apart that formats something.
func (p *Reader) Formatted(call *ast.CallExpr) ([]Piece, bool) {
	arg := func(i int) string { return p.Src(call.Args[i]) }
	one := func(size int, format string, args ...any) ([]Piece, bool) {
		return []Piece{{Append: func(buf string) string { return fmt.Sprintf(format, append([]any{buf}, args...)...) }, Size: size, Needs: []string{"strconv"}}}, true
	}
	switch {
	case p.Calls(call, "fmt.Sprint") != nil && len(call.Args) == 1 && !call.Ellipsis.IsValid():
		v, ok := p.verb("v", call.Args[0])
		if !ok {
			p.onlyFmt("v", call.Args[0])
		}
		return []Piece{v}, ok
	case p.Calls(call, "fmt.Sprintf") != nil && len(call.Args) > 0 && !call.Ellipsis.IsValid():
		return p.Format(call.Args[0], call.Args[1:])
	case p.Calls(call, "strconv.Itoa") != nil:
		return one(8, "strconv.AppendInt(%s, int64(%s), 10)", arg(0))
	case p.Calls(call, "strconv.FormatInt") != nil:
		return one(8, "strconv.AppendInt(%s, %s, %s)", arg(0), arg(1))
	case p.Calls(call, "strconv.FormatUint") != nil:
		return one(8, "strconv.AppendUint(%s, %s, %s)", arg(0), arg(1))
	case p.Calls(call, "strconv.FormatFloat") != nil:
		return one(16, "strconv.AppendFloat(%s, %s, %s, %s, %s)", arg(0), arg(1), arg(2), arg(3))
	case p.Calls(call, "strconv.FormatBool") != nil:
		return one(5, "strconv.AppendBool(%s, %s)", arg(0))
	case p.Calls(call, "strconv.Quote") != nil:
		return one(24, "strconv.AppendQuote(%s, %s)", arg(0))
	}
	if b := p.StringOf(call); b != nil {
		src := p.Src(b)
		return []Piece{{Append: func(buf string) string { return "append(" + buf + ", " + src + "...)" }, Size: 24}}, true
	}
	return nil, false
}

// Format takes a format of fmt and its arguments apart. Only verbs without flags and widths are known, for types that fmt
// prints as package strconv does.
func (p *Reader) Format(format ast.Expr, args []ast.Expr) ([]Piece, bool) {
	s, ok := p.Text(format)
	if !ok {
		p.No(missing.ConstantFormat, p.Src(format))
		return nil, false
	}
	calls, bytes := 0, 0
	for _, a := range args {
		if kind.IsBytes(p.TypeOf(a)) {
			bytes++
		}
		ast.Inspect(a, func(n ast.Node) bool {
			if call, ok := n.(*ast.CallExpr); ok && !p.Info().Types[call.Fun].IsType() {
				calls++
			}
			return true
		})
	}
	if calls > 0 && bytes > 0 {
		p.No(missing.CallChangesBytes)
		return nil, false
	}
	var out []Piece
	for s != "" {
		i := strings.IndexByte(s, '%')
		if i < 0 {
			out = append(out, Piece{Text: s})
			break
		}
		if i > 0 {
			out = append(out, Piece{Text: s[:i]})
		}
		s = s[i+1:]
		end := strings.IndexFunc(s, func(r rune) bool { return r != '.' && (r < '0' || r > '9') })
		if end < 0 || s[end] >= utf8.RuneSelf {
			p.No(missing.VerbUnknown)
			return nil, false
		}
		verb := s[:end+1]
		s = s[end+1:]
		if verb == "%" {
			out = append(out, Piece{Text: "%"})
			continue
		}
		if len(args) == 0 {
			p.No(missing.TooFewArguments)
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
		p.No(missing.TooManyArguments)
	}
	return out, len(args) == 0
}

// verb returns what a verb makes of an argument, such as d or .3f.
func (p *Reader) verb(verb string, e ast.Expr) (Piece, bool) {
	t := p.TypeOf(e)
	src := p.Src(e)
	mk := func(size int, need, format string, args ...any) (Piece, bool) {
		v := Piece{Size: size, boxed: true, Append: func(buf string) string { return fmt.Sprintf(format, append([]any{buf}, args...)...) }}
		v.Expr = p.alone(e, format, args)
		if need != "" {
			v.Needs = []string{need}
		}
		return v, true
	}
	if t == nil {
		return Piece{}, false
	}
	if n, ok := types.Unalias(t).(*types.Named); ok && n.Obj().Pkg() != nil && n.Obj().Pkg().Path() == "time" && n.Obj().Name() == "Duration" && (verb == "s" || verb == "v") {
		return mk(8, "", "append(%s, %s.String()...)", Operand(e, src))
	}
	if kind.PrintsItself(t) {
		return Piece{}, false
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
		if kind.IsBytes(t) && verb == "s" {
			v, ok := mk(24, "", "append(%s, %s...)", src)
			v.Bytes = true
			return v, ok
		}
		return Piece{}, false
	}
	switch info := b.Info(); {
	case b.Kind() == types.Uintptr:
	case info&types.IsString != 0 && (verb == "s" || verb == "v"):
		if text, isText := p.Text(e); isText {
			return Piece{Text: text, boxed: true}, true
		}
		return mk(24, "", "append(%s, %s...)", src)
	case info&types.IsString != 0 && verb == "q":
		return mk(24, "strconv", "strconv.AppendQuote(%s, %s)", as(types.String, "string"))
	case info&types.IsInteger != 0 && verb == "c" && b.Kind() == types.Int32 && p.Pkg.AtLeast(18):
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
			return Piece{}, false
		}
		bits := 64
		if b.Kind() == types.Float32 {
			bits = 32
		}
		return mk(16, "strconv", "strconv.AppendFloat(%s, %s, '%c', %d, %d)", as(types.Float64, "float64"), letter, prec, bits)
	}
	return Piece{}, false
}

// onlyFmt says why there is nothing but fmt for a verb and its argument.
func (p *Reader) onlyFmt(verb string, e ast.Expr) {
	t := p.TypeOf(e)
	switch {
	case t == nil:
	case types.IsInterface(t) || kind.IsTypeParam(t):
		p.No(missing.ValueAtRunTime, p.Src(e))
	case kind.PrintsItself(t):
		p.No(missing.PrintsItself, p.Src(e))
	case verb == "c" && kind.IsBasic(t, types.IsInteger) && !p.Pkg.AtLeast(18):
		p.No(missing.OlderGo, 18, "utf8.AppendRune")
	default:
		p.No(missing.NotAsStrconv, p.Src(e), verb)
	}
}

// alone returns an expression for the text that a format such as strconv.AppendInt(%s, %s, 10) appends.
func (p *Reader) alone(e ast.Expr, format string, args []any) string {
	text := fmt.Sprintf(format, append([]any{"\x00"}, args...)...)
	switch name, rest, _ := strings.Cut(text, "(\x00, "); name {
	case "append":
		text = strings.TrimSuffix(rest, "...)")
		if b, ok := types.Unalias(p.TypeOf(e)).(*types.Basic); kind.IsString(p.TypeOf(e)) && (!ok || b.Kind() != types.String && b.Kind() != types.UntypedString) || kind.IsBytes(p.TypeOf(e)) {
			return "string(" + text + ")"
		}
		if _, ok := ast.Unparen(e).(*ast.BinaryExpr); ok && kind.IsString(p.TypeOf(e)) {
			return "(" + text + ")"
		}
		return text
	case "strconv.AppendQuote":
		return "strconv.Quote(" + rest
	case "strconv.AppendInt":
		if b, ok := types.Unalias(p.TypeOf(e)).(*types.Basic); ok && b.Kind() == types.Int && strings.HasSuffix(rest, ", 10)") {
			return "strconv.Itoa(" + p.Src(e) + ")"
		}
		return "strconv.FormatInt(" + rest
	case "strconv.AppendUint", "strconv.AppendBool", "strconv.AppendFloat":
		return "strconv.Format" + strings.TrimPrefix(name, "strconv.Append") + "(" + rest
	}
	return ""
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
