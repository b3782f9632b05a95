package rules

import (
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"slices"
	"strings"

	"github.com/hone-perf/hone/internal/advise"
	"github.com/hone-perf/hone/internal/advise/facts/code"
	"github.com/hone-perf/hone/internal/advise/facts/cost"
	"github.com/hone-perf/hone/internal/advise/facts/edit"
	"github.com/hone-perf/hone/internal/advise/facts/flow"
	"github.com/hone-perf/hone/internal/advise/facts/kind"
	"github.com/hone-perf/hone/internal/advise/facts/text"
	"github.com/hone-perf/hone/internal/report"
	"github.com/hone-perf/hone/internal/report/missing"
)

var conversionCopy = &advise.Rule{
	Name: "conversion-copy", Rank: 9,
	Doc: "a string is copied to bytes, or bytes to a string, for a function that has a twin for the other",

	NoFix: missing.NoTwin,
	Find: func(p *advise.Pass) {
		advise.Each(p, func(call *ast.CallExpr) {
			if s := p.BytesOf(call); s != nil && !p.IsConst(s) {
				copiedText(p, call, s)
			} else if b := p.StringOf(call); b != nil {
				copiedBytes(p, call, b)
			}
		})
	},
}

// shownInErrors returns the places where a function of the package gives bytes that it is given as parameter at to a function of fmt that shows
// them as text; nil where it does anything else with them but to look at them and at parts of them.
func shownInErrors(f *code.Func, fn *types.Func, at int) (out []ast.Expr) {
	decl, _ := f.DeclOf(fn)
	if decl == nil || decl.Body == nil || fn.Signature().Variadic() {
		return nil
	}
	b := fn.Signature().Params().At(at)
	above := f.Pkg.Above()
	ok := types.Identical(b.Type(), types.NewSlice(types.Typ[types.Byte])) // others may have a method that says how they are shown
	ast.Inspect(decl.Body, func(n ast.Node) bool {
		id, isID := n.(*ast.Ident)
		if !isID || f.Info().Uses[id] != types.Object(b) {
			return ok
		}
		var part ast.Expr = id
		if cut, isCut := above[id].(*ast.SliceExpr); isCut && cut.X == part {
			part = cut
		}
		switch up := above[part].(type) {
		case *ast.IndexExpr:
			ok = ok && up.X == part && !writtenIn(above[up], up)
		case *ast.RangeStmt:
			ok = ok && up.X == part
		case *ast.AssignStmt: // b = b[1:]
			ok = ok && len(up.Lhs) == 1 && len(up.Rhs) == 1 && f.Info().Uses[code.AsIdent(up.Lhs[0])] == types.Object(b)
		case *ast.CallExpr:
			switch {
			case f.Builtin(up, "len") != nil, f.Builtin(up, "cap") != nil, f.StringOf(up) != nil:
			case showsText(f, up, part):
				out = append(out, part)
			default:
				ok = false
			}
		default:
			ok = false
		}
		return ok
	})
	if !ok {
		return nil
	}
	return out
}

// writtenIn reports whether what an expression is in gives it a value, or takes its address.
func writtenIn(above ast.Node, e ast.Expr) bool {
	switch up := above.(type) {
	case *ast.UnaryExpr:
		return up.Op == token.AND
	case *ast.AssignStmt:
		return slices.Contains(up.Lhs, e)
	case *ast.IncDecStmt:
		return true
	case *ast.RangeStmt:
		return up.Key == e || up.Value == e
	}
	return false
}

// showsText reports whether a call is one of fmt.Errorf or Sprintf that shows an argument in a way that is the same for bytes and for a text.
func showsText(f *code.Func, call *ast.CallExpr, arg ast.Expr) bool {
	if f.Calls(call, "fmt.Errorf", "fmt.Sprintf") == nil || call.Ellipsis.IsValid() {
		return false
	}
	format, ok := f.Text(call.Args[0])
	if !ok || strings.ContainsAny(format, "[*") {
		return false
	}
	for _, a := range call.Args[1:] {
		_, verb, found := strings.Cut(strings.ReplaceAll(format, "%%", ""), "%")
		if !found || verb == "" {
			return false
		}
		if format = verb[1:]; a == arg {
			return strings.ContainsRune("sqxX", rune(verb[0]))
		}
	}
	return false
}

// twinOf reports whether the packages bytes and strings both have a function of that name that does the same, and whether its last argument
// is a text in strings and bytes in bytes, not the same in both.
func twinOf(name string) (differs, ok bool) {
	switch name {
	case "Contains", "HasPrefix", "HasSuffix", "Index", "LastIndex", "Count", "EqualFold":
		return true, true
	case "ContainsAny", "IndexAny", "ContainsRune", "IndexRune", "IndexByte", "LastIndexByte":
		return false, true
	}
	return false, false
}

// copiedText is about []byte(s).
func copiedText(p *advise.Pass, conv *ast.CallExpr, s ast.Expr) {
	f := advise.Finding{
		Title: "string converted to bytes needlessly",
		Claim: "[]byte(…) allocates memory and copies the string", Risk: "none", Safe: true,
	}
	up, ok := p.Parent(conv).(*ast.CallExpr)
	if !ok {
		return
	}
	at := slices.Index(up.Args, ast.Expr(conv))
	fn := p.Callee(up)
	switch {
	case p.Builtin(up, "append") != nil && up.Ellipsis.IsValid() && at == 1, p.Builtin(up, "copy") != nil && at == 1:
		f.Advice = "append and copy accept strings, too"
		f.Fixes = p.Fix(report.Mechanical, "pass the string as it is", edit.Replace(conv, p.Src(s)))
	case fn != nil && fn.Pkg() != nil && fn.Pkg().Path() == "bytes" && at == 0 && len(up.Args) == 2 && hasTwin(fn):
		f.Advice = "package strings has the same function for strings"
		f.NoFix = missing.ChangedBeforeRead.Of(p.Src(s))
		if !flow.Quiet(p.Func, up) {
			break // what makes the other argument may change the bytes
		}
		second := up.Args[1]
		other := p.Src(second)
		if differs, _ := twinOf(fn.Name()); differs {
			if inner := p.BytesOf(ast.Unparen(second)); inner != nil {
				other = p.Src(inner)
			} else {
				other = "string(" + other + ")"
			}
		}
		p.Need("strings")
		f.Fixes = p.Fix(report.Mechanical, "call the function for strings", edit.Replace(up, fmt.Sprintf("strings.%s(%s, %s)", fn.Name(), p.Src(s), other)))
	case p.Calls(up, "bytes.NewReader") != nil:
		f.Advice = "strings.NewReader reads a string without copying it"
		f.NoFix = missing.ReaderOfOtherType.Of()
		if outer, ok := p.Parent(up).(*ast.CallExpr); ok && interfaceParam(p.Func, outer, up) {
			p.Need("strings")
			grade := report.Mechanical
			if to := p.Callee(outer); to == nil || to.Pkg() == nil || !standard(to.Pkg().Path()) {
				grade = report.Ownership
				f.Risk, f.Safe = "who asks for the type of the reader finds another one", false
			}
			f.Fixes = p.Fix(grade, "read the string", edit.Replace(up, "strings.NewReader("+p.Src(s)+")"))
		}
	case fn != nil && at >= 0 && !up.Ellipsis.IsValid() && at < fn.Signature().Params().Len():
		shown := shownInErrors(p.Func, fn, at)
		if shown == nil {
			return
		}
		f.Title = "string copied to the heap for an error message"
		f.Claim = fmt.Sprintf("%s only looks at the bytes, which would need no copy, if they were not passed to package fmt for the message of an error", fn.Name())
		f.Advice = "give fmt a copy, string(…), which is made only when there is an error"
		var edits []edit.Edit
		for _, e := range shown {
			f.Also = append(f.Also, e)
			edits = append(edits, edit.Before(e, "string("), edit.After(e, ")"))
		}
		f.NoFix = missing.AnotherFile.Of(fn.Name())
		if _, file := p.DeclOf(fn); file == p.File {
			f.Fixes = p.Fix(report.Mechanical, "give package fmt a copy", edits...)
		}
	default:
		return
	}
	p.Report(conv, p.Cost(conv, cost.Allocates("stringtoslicebyte")), f)
}

func hasTwin(fn *types.Func) bool {
	_, ok := twinOf(fn.Name())
	return ok && fn.Signature().Recv() == nil
}

// interfaceParam reports whether an argument is given to a function for an interface.
func interfaceParam(f *code.Func, call *ast.CallExpr, arg ast.Expr) bool {
	sig, ok := f.TypeOf(call.Fun).(*types.Signature)
	i := slices.Index(call.Args, arg)
	if !ok || i < 0 || sig.Params().Len() == 0 {
		return false
	}
	if i >= sig.Params().Len() || sig.Variadic() && i == sig.Params().Len()-1 {
		return false
	}
	return types.IsInterface(sig.Params().At(i).Type()) && !kind.IsTypeParam(sig.Params().At(i).Type())
}

// copiedBytes is about string(b).
func copiedBytes(p *advise.Pass, conv *ast.CallExpr, b ast.Expr) {
	f := advise.Finding{
		Title: "bytes converted to a string needlessly",
		Claim: "string(…) allocates memory and copies the bytes", Risk: "none", Safe: true,
	}
	up, ok := p.Parent(conv).(*ast.CallExpr)
	if !ok {
		return
	}
	at := slices.Index(up.Args, ast.Expr(conv))
	fn := p.Callee(up)
	switch {
	case fn == nil:
		return
	case runsLater(p.Func, up):
		return // the bytes may have changed until then
	case p.Calls(up, "(*strings.Builder).WriteString", "(*bytes.Buffer).WriteString", "(*bufio.Writer).WriteString") != nil:
		f.Advice = "Write takes bytes"
		if !p.HasToo(up, "Write") || ofBuffer(p.Func, b) {
			return // another Write, or a buffer that moves its own bytes before it writes
		}
		f.Fixes = p.Fix(report.Mechanical, "write the bytes", edit.New(up.Fun.(*ast.SelectorExpr).Sel.Pos(), up.End(), "Write("+p.Src(b)+")"))
	case p.Calls(up, "io.WriteString") != nil && at == 1:
		f.Advice = "Write takes bytes"
		w := ast.Unparen(up.Args[0])
		f.NoFix = missing.NoVariableToWrite.Of(p.Src(w))
		grade := report.Mechanical
		if !slices.Contains([]string{"*bytes.Buffer", "*strings.Builder", "*bufio.Writer", "*os.File"}, types.TypeString(p.TypeOf(w), nil)) || ofBuffer(p.Func, b) {
			grade = report.Ownership
			f.Risk, f.Safe = "a Write that keeps what it is given, against what io.Writer says, would see other data later", false
		}
		if ref, ok := w.(*ast.UnaryExpr); ok && ref.Op == token.AND {
			w = ref.X // whose methods can be called
		}
		f.Fixes = p.Fix(grade, "write the bytes", edit.Replace(up, fmt.Sprintf("%s.Write(%s)", text.Operand(w, p.Src(w)), p.Src(b))))
	case fn.Pkg() != nil && fn.Pkg().Path() == "strings" && at == 0 && len(up.Args) == 2 && hasTwin(fn):
		f.Advice = "package bytes has the same function for bytes"
		f.NoFix = missing.ChangedBeforeRead.Of(p.Src(b))
		if !flow.Quiet(p.Func, up) {
			break
		}
		second := p.Src(up.Args[1])
		if differs, _ := twinOf(fn.Name()); differs {
			second = "[]byte(" + second + ")"
		}
		p.Need("bytes")
		f.Fixes = p.Fix(report.Mechanical, "call the function for bytes", edit.Replace(up, fmt.Sprintf("bytes.%s(%s, %s)", fn.Name(), p.Src(b), second)))
	case p.Calls(up, "strings.NewReader") != nil:
		f.Advice = "bytes.NewReader reads bytes without a copy, as long as nobody changes them"
		f.NoFix = missing.ChangedBeforeRead.Of(p.Src(b))
	default:
		return
	}
	p.Report(conv, p.Cost(conv, cost.Allocates("slicebytetostring")), f)
}

// runsLater reports whether a call is one of a defer or go statement, after which what it is given may change.
func runsLater(f *code.Func, call *ast.CallExpr) bool {
	switch f.Parent(call).(type) {
	case *ast.DeferStmt, *ast.GoStmt:
		return true
	}
	return false
}

// ofBuffer reports whether bytes may be those of a Buffer.
func ofBuffer(f *code.Func, b ast.Expr) bool {
	found := false
	look := func(n ast.Node) bool {
		if call, ok := n.(*ast.CallExpr); ok {
			fn := f.Callee(call)
			found = found || fn != nil && fn.Signature().Recv() != nil && strings.HasPrefix(fn.FullName(), "(*bytes.Buffer).")
		}
		return !found
	}
	ast.Inspect(b, look)
	ast.Inspect(b, func(n ast.Node) bool {
		if id, ok := n.(*ast.Ident); ok && f.Local(id) != nil {
			if _, value := f.Declared(f.Local(id)); value != nil {
				ast.Inspect(value, look)
			}
		}
		return !found
	})
	return found
}

// standard reports whether a package is one of the standard library.
func standard(path string) bool {
	first, _, _ := strings.Cut(path, "/")
	return !strings.Contains(first, ".") && first != "main" && first != "command-line-arguments"
}
