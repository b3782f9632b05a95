// Package text takes texts apart that a program puts together, so that they can be put together in another way.
package text

import (
	"fmt"
	"go/ast"
	"go/types"
	"strconv"
	"strings"

	"github.com/hone-perf/hone/internal/advise/facts/code"
	"github.com/hone-perf/hone/internal/advise/facts/kind"
)

// A Piece is a part of a text that a program puts together: one that is always the same, or one that can be appended.
type Piece struct {
	Text   string                  // when append is nil
	Append func(buf string) string // an expression that appends it
	Expr   string                  // the text by itself, as an expression; "" where append alone is known
	Bytes  bool                    // it is a []byte
	Size   int                     // bytes that it takes, about
	Needs  []string                // imports
	boxed  bool                    // it went through fmt
}

// Writes is a statement that writes a text to a Builder. What fmt makes, it writes where it goes.
func Writes(f *code.Func, b string, e ast.Expr) string {
	if call, ok := ast.Unparen(e).(*ast.CallExpr); ok && len(call.Args) > 0 && f.Calls(call, "fmt.Sprintf", "fmt.Sprint", "fmt.Sprintln") != nil {
		if name, ok := call.Fun.(*ast.SelectorExpr); ok {
			return fmt.Sprintf("%s.F%s(&%s, %s", f.Src(name.X), strings.TrimPrefix(name.Sel.Name, "S"), b, f.File.Text[f.File.Tok.Offset(call.Args[0].Pos()):f.File.Tok.Offset(call.End())])
		}
	}
	if arg, to := f.Conversion(ast.Unparen(e)); arg != nil && kind.IsString(to) {
		if k, ok := types.Unalias(f.TypeOf(arg)).(*types.Basic); ok && k.Kind() == types.Int32 {
			return fmt.Sprintf("%s.WriteRune(%s)", b, f.Src(arg))
		}
		if kind.IsBytes(f.TypeOf(arg)) {
			return fmt.Sprintf("%s.Write(%s)", b, f.Src(arg))
		}
	}
	return fmt.Sprintf("%s.WriteString(%s)", b, f.Src(ast.Unparen(e)))
}

// Operand returns an expression that a selector can follow.
func Operand(e ast.Expr, src string) string {
	switch ast.Unparen(e).(type) {
	case *ast.Ident, *ast.SelectorExpr, *ast.CallExpr, *ast.IndexExpr, *ast.ParenExpr:
		return src
	}
	return "(" + src + ")"
}

// Dynamic returns how many pieces are not always the same.
func Dynamic(list []Piece) (n int) {
	for _, v := range list {
		if v.Append != nil {
			n++
		}
	}
	return n
}

// Joined returns pieces with texts that follow each other made one, and without empty ones.
func Joined(list []Piece) (out []Piece) {
	for _, v := range list {
		switch {
		case v.Append == nil && v.Text == "":
		case v.Append == nil && len(out) > 0 && out[len(out)-1].Append == nil:
			out[len(out)-1].Text += v.Text
		default:
			out = append(out, v)
		}
	}
	return out
}

// QuotedText writes a text as people do.
func QuotedText(s string) string {
	if strings.Contains(s, `"`) && strconv.CanBackquote(s) {
		return "`" + s + "`"
	}
	return strconv.Quote(s)
}

// LowerFirst makes the first letter of a name a lower case one, or all of an abbreviation that it begins with.
func LowerFirst(s string) string {
	if s == "" {
		return s
	}
	n := 1
	for n < len(s) && s[n] >= 'A' && s[n] <= 'Z' && (n+1 == len(s) || s[n+1] >= 'A' && s[n+1] <= 'Z') {
		n++ // HTTPServer
	}
	return strings.ToLower(s[:n]) + s[n:]
}

// ShownPattern quotes a regular expression for people to read, shortened.
func ShownPattern(s string) string {
	if len(s) > 40 {
		s = strings.ToValidUTF8(s[:37], "") + "…"
	}
	return fmt.Sprintf("%#q", s)
}

// Written returns the string that a call of Write is given, and the writer: w.Write([]byte(s)).
func Written(f *code.Func, call *ast.CallExpr) (arg, w ast.Expr) {
	sel, ok := call.Fun.(*ast.SelectorExpr)
	if !ok || sel.Sel.Name != "Write" || len(call.Args) != 1 || f.Info().Selections[sel] == nil {
		return nil, nil
	}
	fn := f.Callee(call)
	if fn == nil || fn.Signature().Results().Len() != 2 {
		return nil, nil
	}
	if s := f.BytesOf(ast.Unparen(call.Args[0])); s != nil {
		return s, sel.X
	}
	return nil, nil
}
