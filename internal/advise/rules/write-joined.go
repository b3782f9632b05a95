package rules

import (
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/hone-perf/hone/internal/advise"
	"github.com/hone-perf/hone/internal/advise/facts/calls"
	"github.com/hone-perf/hone/internal/advise/facts/code"
	"github.com/hone-perf/hone/internal/advise/facts/cost"
	"github.com/hone-perf/hone/internal/advise/facts/edit"
	"github.com/hone-perf/hone/internal/advise/facts/flow"
	"github.com/hone-perf/hone/internal/advise/facts/kind"
	"github.com/hone-perf/hone/internal/advise/facts/symbol"
	"github.com/hone-perf/hone/internal/advise/facts/text"
	"github.com/hone-perf/hone/internal/report"
	"github.com/hone-perf/hone/internal/report/missing"
)

var writeJoined = &advise.Rule{
	Name: "write-joined", Rank: 13,
	Doc: "a string is built, by + or fmt, only to be written",

	NoFix: missing.OnlyFmt,
	Find: func(p *advise.Pass) {
		advise.Each(p, func(call *ast.CallExpr) {
			if arg, w := text.Written(p.Func, call); arg != nil {
				joinedWrite(p, call, w, arg)
			} else if p.Calls(call, "fmt.Fprintf") != nil && len(call.Args) >= 2 && !call.Ellipsis.IsValid() {
				formattedWrite(p, call)
			}
		})
	},
}

// appends returns statements that append pieces to a buffer, and what begins with it: buf, or buf[:0].
func appends(p *advise.Pass, list []text.Piece, buf, begin string) (lines []string, size int) {
	for _, v := range text.Joined(list) {
		from := buf
		if len(lines) == 0 {
			from = begin
		}
		if v.Append == nil {
			size += len(v.Text)
			if len(v.Text) == 1 && v.Text[0] < utf8.RuneSelf {
				lines = append(lines, fmt.Sprintf("%s = append(%s, %s)", buf, from, strconv.QuoteRune(rune(v.Text[0]))))
				continue
			}
			lines = append(lines, fmt.Sprintf("%s = append(%s, %s...)", buf, from, text.QuotedText(v.Text)))
			continue
		}
		size += v.Size
		p.Need(v.Needs...)
		lines = append(lines, buf+" = "+v.Append(from))
	}
	return lines, size
}

// bufferRoom returns a capacity for so many bytes.
func bufferRoom(n int) int {
	room := 64
	for room < n {
		room *= 2
	}
	return room
}

func joinedWrite(p *advise.Pass, call *ast.CallExpr, w, arg ast.Expr) {
	list, ok := texts(p).Pieces(arg)
	conversion := cost.Allocates("stringtoslicebyte")
	format := p.Calls(ast.Unparen(arg), "fmt.Sprintf", "fmt.Sprint", "fmt.Sprintln")
	if format == nil && (!ok || text.Dynamic(list) == 0 || len(text.Joined(list)) == 1 && !isFormat(p, arg)) {
		if p.IsConst(arg) {
			return
		}
		convertedWrite(p, call, w, arg, conversion)
		return
	}
	matches := []func(*cost.Chain) bool{conversion, cost.Allocates("concatstring"), cost.Below("fmt.Sprint", "fmt.Sprintf", "fmt.Sprintln", "strconv.Itoa", "strconv.FormatInt",
		"strconv.FormatUint", "strconv.FormatFloat", "strconv.Quote")}
	if format != nil {
		matches = append(matches, calls.Boxing(p.Func, format))
	}
	c := p.Cost(call, cost.Either(matches...))
	f := advise.Finding{
		Title: "output built as a string before it is written",
		Claim: "the parts are " + howMade(p.Func, arg) + ", and the sum is copied once more to be bytes: each step allocates, and only the last one is needed",
		Risk:  "the buffer has to be large enough for most outputs, or append allocates again; measure it",
	}
	f.Advice = "append the parts to a buffer, and write that"
	known := format == nil
	if format != nil {
		_, known = texts(p).Formatted(format)
	}
	if ok && known {
		f.Fixes = appended(p, call, w, list, &f)
	}
	if format == nil { // one copy less, in the same line
		f.Fixes = append(f.Fixes, writtenString(p, call, w, arg)...)
	}
	if len(f.Fixes) == 0 && format != nil && len(format.Args) > 0 {
		f.Advice = "let fmt write it, which saves a string"
		if isLater(p.Func, call) {
			f.NoFix = missing.EvaluatedLater.Of()
		} else {
			f.Fixes = p.Fix(report.Mechanical, "let fmt write it", edit.New(call.Pos(), format.Args[0].Pos(),
				fmt.Sprintf("%s.F%s(%s, ", p.Src(format.Fun.(*ast.SelectorExpr).X), text.LowerFirst(p.Callee(format).Name()[1:]), writer(p.Func, w))),
				edit.New(format.End(), call.End(), ""))
		}
	}
	p.Report(call, c, f)
}

// isFormat reports whether an expression is a call that formats.
func isFormat(p *advise.Pass, e ast.Expr) bool {
	call, ok := ast.Unparen(e).(*ast.CallExpr)
	if !ok {
		return false
	}
	_, ok = texts(p).Formatted(call)
	return ok
}

func howMade(f *code.Func, e ast.Expr) string {
	var how []string
	add := func(s string) {
		if !slices.Contains(how, s) {
			how = append(how, s)
		}
	}
	ast.Inspect(e, func(n ast.Node) bool {
		if b, ok := n.(*ast.BinaryExpr); ok && kind.IsString(f.TypeOf(b)) {
			add("added up")
		}
		if f.Calls(n, "fmt.Sprint", "fmt.Sprintf", "fmt.Sprintln") != nil {
			add("formatted by fmt, which boxes its arguments")
		}
		return true
	})
	if how == nil {
		return "made strings"
	}
	return strings.Join(how, ", ")
}

// convertedWrite is about a string that is only copied.
func convertedWrite(p *advise.Pass, call *ast.CallExpr, w, arg ast.Expr, conversion func(*cost.Chain) bool) {
	c := p.Cost(call, conversion)
	f := advise.Finding{
		Title:  "string converted to bytes for Write",
		Claim:  "[]byte(…) copies the string for a Write that only reads it",
		Advice: "WriteString, where the writer has it, copies once less",
		Risk:   "none, unless the writer's WriteString differs from its Write",
	}
	f.Fixes = writtenString(p, call, w, arg)
	p.Report(call, c, f)
}

// writtenString is a fix that writes a string without a copy of its bytes, where the writer can.
func writtenString(p *advise.Pass, call *ast.CallExpr, w, arg ast.Expr) []report.Fix {
	if obj, _, _ := types.LookupFieldOrMethod(p.TypeOf(w), true, p.Pkg.Types, "WriteString"); obj != nil {
		fn, ok := obj.(*types.Func)
		if write := p.Callee(call); !ok || !types.IsInterface(p.TypeOf(w)) && !sameReceiver(fn, write) {
			return p.No(missing.NoWriteString, p.Src(w)) // what it writes goes another way
		}
		return p.Fix(report.Mechanical, "write the string", edit.New(call.Pos(), call.End(), fmt.Sprintf("%s.WriteString(%s)", p.Src(w), p.Src(arg))))
	}
	if t := p.TypeOf(w); !types.IsInterface(t) || isHash(t) {
		return p.No(missing.NoWriteString, p.Src(w))
	}
	p.Need("io")
	return p.Fix(report.Mechanical, "let io.WriteString ask the writer", edit.New(call.Pos(), call.End(), fmt.Sprintf("io.WriteString(%s, %s)", writer(p.Func, w), p.Src(arg))))
}

// sameReceiver reports whether two functions are methods of one type.
func sameReceiver(a, b *types.Func) bool {
	return a.Signature().Recv() != nil && b.Signature().Recv() != nil && named(a.Signature().Recv().Type()) == named(b.Signature().Recv().Type())
}

// named returns the name of the type of a receiver.
func named(t types.Type) *types.TypeName {
	if ptr, ok := types.Unalias(t).(*types.Pointer); ok {
		t = ptr.Elem()
	}
	if n, ok := types.Unalias(t).(*types.Named); ok {
		return n.Obj()
	}
	return nil
}

// isHash reports whether a type is an interface of hashes. Of what has it in the standard library, only maphash has a WriteString; with all
// others, io.WriteString copies the string as before.
func isHash(t types.Type) bool {
	for _, name := range []string{"Sum", "BlockSize"} {
		if obj, _, _ := types.LookupFieldOrMethod(t, false, nil, name); obj == nil {
			return false
		}
	}
	return true
}

// writer returns an expression that can be given to a function for a writer.
func writer(f *code.Func, w ast.Expr) string {
	if t := f.TypeOf(w); !types.IsInterface(t) {
		if _, pointer := types.Unalias(t).(*types.Pointer); !pointer {
			if obj, _, _ := types.LookupFieldOrMethod(t, false, f.Pkg.Types, "Write"); obj == nil || types.NewMethodSet(t).Lookup(nil, "Write") == nil {
				return "&" + f.Src(w)
			}
		}
	}
	return f.Src(w)
}

func formattedWrite(p *advise.Pass, call *ast.CallExpr) {
	list, ok := texts(p).Format(call.Args[1], call.Args[2:])
	w := call.Args[0]
	c := p.Cost(call, cost.Either(func(c *cost.Chain) bool {
		if c.First() != "fmt.Fprintf" {
			return false
		}
		// What the writer does with it stays.
		return len(c.Below) == 1 || strings.HasPrefix(c.Below[1], "fmt.") || strings.HasPrefix(c.Below[1], "sync.") || symbol.IsRuntime(c.Below[1])
	}, calls.Boxing(p.Func, call)))
	f := advise.Finding{
		Title:  "fmt on a hot path",
		Claim:  "fmt.Fprintf reads its format for every call, and its arguments are made interfaces, for which numbers and strings are put on the heap",
		Advice: "append the parts to a buffer with strconv, and write that",
		Risk:   "the buffer has to be large enough for most outputs, or append allocates again; measure it",
		Callee: "fmt.Fprintf",
	}
	if ok && text.Dynamic(list) > 0 {
		f.Fixes = appended(p, call, w, list, &f)
	} else if ok {
		f.NoFix = missing.SameText.Of()
	}
	p.Report(call, c, f)
}

// appended gives a finding a fix that puts pieces together in a buffer and writes that, in place of a call, or that writes them one by one.
func appended(p *advise.Pass, call *ast.CallExpr, w ast.Expr, list []text.Piece, f *advise.Finding) []report.Fix {
	st := p.Statement(call)
	if st == nil || !firstIn(p.Func, st, call) {
		p.No(missing.EvaluatedLater)
		return nil
	}
	if u, ok := ast.Unparen(w).(*ast.UnaryExpr); ok {
		w = u.X // (&b).Write is b.Write
	}
	if !flow.Simple(p.Func, w) {
		p.No(missing.WriterIsNoVariable)
		return nil
	}
	if lines := writes(p, call, w, list); lines != nil {
		grade := report.Mechanical
		f.Advice, f.Risk, f.Safe = "write the parts one by one, which allocates nothing", "none", true
		if types.IsInterface(p.TypeOf(w)) && !has(p.Func, w, "Flush") {
			grade = report.Ownership
			f.Risk, f.Safe = "each part is written by itself: that takes longer where "+p.Src(w)+" is a file or a connection without a buffer", false
		}
		return p.Fix(grade, "write the parts", edit.Replace(st, strings.Join(lines, "\n")))
	}
	inLoop := p.Loop(call) != nil && p.Statement(p.Loop(call)) != nil
	grade, risk := report.Mechanical, ""
	if p.Calls(call, "fmt.Fprintf") != nil && types.IsInterface(p.TypeOf(w)) && !inLoop && !has(p.Func, w, "AvailableBuffer") {
		// What may keep the buffer has it on the heap, which fmt has only its arguments on.
		_, size := appends(p, list, "", "")
		switch objects, bytes := boxed(p, call.Args[2:]); {
		case bytes >= bufferRoom(size):
		case objects < 2:
			return p.No(missing.BufferOnHeap, p.Src(w))
		default:
			grade, risk = report.Ownership, fmt.Sprintf("%s.Write may keep the buffer, so it is on the heap: one object of %d bytes in place of %d of %d bytes altogether", p.Src(w), bufferRoom(size), objects, bytes)
		}
	}
	buf := p.NewLocal("buf")
	write := fmt.Sprintf("%s.Write(%s)", p.Src(w), buf)
	if hasFreePart(p.Func, w) && flow.Quiet(p.Func, call) && lacksFreePart(p.Func, w).Fact == "" {
		lines, _ := appends(p, list, buf, buf)
		return p.Fix(report.Mechanical, "append to the free part of the buffer that is written to",
			edit.Before(st, fmt.Sprintf("%s := %s.AvailableBuffer()\n%s\n", buf, p.Src(w), strings.Join(lines, "\n"))), edit.Replace(call, write))
	}
	if loop := p.Loop(call); inLoop && types.IsInterface(p.TypeOf(w)) {
		lines, size := appends(p, list, buf, buf+"[:0]")
		return p.Fix(report.Ownership, "append to a buffer that all rounds share",
			edit.Before(p.Statement(loop), fmt.Sprintf("%s := make([]byte, 0, %d)\n", buf, bufferRoom(size))),
			edit.Before(st, strings.Join(lines, "\n")+"\n"), edit.Replace(call, write))
	}
	lines, size := appends(p, list, buf, buf)
	return withRisk(p.Fix(grade, "append to a buffer",
		edit.Before(st, fmt.Sprintf("%s := make([]byte, 0, %d)\n%s\n", buf, bufferRoom(size), strings.Join(lines, "\n"))), edit.Replace(call, write)), risk)
}

// withRisk says what may go wrong with fixes.
func withRisk(fixes []report.Fix, risk string) []report.Fix {
	for i := range fixes {
		fixes[i].Risk = risk
	}
	return fixes
}

// boxed returns how many values are put on the heap to be arguments of fmt, and their size. Constants and values of one byte are in the program
// already.
func boxed(p *advise.Pass, args []ast.Expr) (objects, bytes int) {
	for _, a := range args {
		size, ok := p.SizeOf(p.TypeOf(a))
		if ok && size > 1 && !p.IsConst(a) && !types.IsInterface(p.TypeOf(a)) && calls.Boxes(p.Func, a) {
			objects, bytes = objects+1, bytes+int(size)
		}
	}
	return objects, bytes
}

// writes returns statements that write pieces one by one, where a call is a statement that writes all of them, or nil: to a Buffer or a Builder
// in memory, to a Writer with a buffer that has no free part yet, or, where all pieces are texts, to an interface that writes strings.
func writes(p *advise.Pass, call *ast.CallExpr, w ast.Expr, list []text.Piece) (lines []string) {
	t := strings.TrimPrefix(p.TypeOf(w).String(), "*")
	one, two := "", "" // what the results of WriteByte and WriteString are assigned to
	switch st := p.Statement(call).(type) {
	case *ast.ExprStmt:
		if st.X != call {
			return nil
		}
	case *ast.AssignStmt:
		if !assignsOnly(st, call) || slices.ContainsFunc(st.Lhs, func(e ast.Expr) bool { return !code.IsBlank(e) }) {
			return nil
		}
		one, two = "_ = ", "_, _ = "
	default:
		return nil
	}
	older := lacksFreePart(p.Func, w).Fact != ""
	byByte := true
	switch {
	case t == "bytes.Buffer", t == "strings.Builder", t == "bufio.Writer" && older:
	case types.IsInterface(p.TypeOf(w)) && hasMethod(p.Func, w, "WriteString", writeString):
		byByte = hasMethod(p.Func, w, "WriteByte", writeByte)
	default:
		return nil
	}
	if !flow.Quiet(p.Func, call) {
		return nil
	}
	to := p.Src(w)
	for _, v := range text.Joined(list) {
		if v.Append == nil {
			if byByte && len(v.Text) == 1 && v.Text[0] < utf8.RuneSelf {
				lines = append(lines, fmt.Sprintf("%s%s.WriteByte(%s)", one, to, strconv.QuoteRune(rune(v.Text[0]))))
			} else {
				lines = append(lines, fmt.Sprintf("%s%s.WriteString(%s)", two, to, text.QuotedText(v.Text)))
			}
			continue
		}
		part, isText := strings.CutSuffix(strings.TrimPrefix(v.Append("buf"), "append(buf, "), "...)")
		switch {
		case isText && v.Bytes:
			lines = append(lines, fmt.Sprintf("%s%s.Write(%s)", two, to, part))
		case isText && v.Expr != "":
			lines = append(lines, fmt.Sprintf("%s%s.WriteString(%s)", two, to, withoutParens(v.Expr)))
		case t == "bytes.Buffer" && !isText && !older:
			lines = append(lines, fmt.Sprintf("%s%s.Write(%s)", two, to, v.Append(to+".AvailableBuffer()")))
		default:
			return nil
		}
		p.Need(v.Needs...)
	}
	return lines
}

// The methods of io.StringWriter and io.ByteWriter.
var (
	writeString = signature([]types.Type{types.Typ[types.String]}, types.Typ[types.Int], types.Universe.Lookup("error").Type())
	writeByte   = signature([]types.Type{types.Typ[types.Byte]}, types.Universe.Lookup("error").Type())
)

func signature(params []types.Type, results ...types.Type) *types.Signature {
	tuple := func(list []types.Type) *types.Tuple {
		var vars []*types.Var
		for _, t := range list {
			vars = append(vars, types.NewParam(token.NoPos, nil, "", t))
		}
		return types.NewTuple(vars...)
	}
	return types.NewSignatureType(nil, nil, nil, tuple(params), tuple(results), false)
}

// hasMethod reports whether an expression has a method with a signature.
func hasMethod(f *code.Func, e ast.Expr, method string, sig *types.Signature) bool {
	obj, _, _ := types.LookupFieldOrMethod(f.TypeOf(e), true, f.Pkg.Types, method)
	fn, ok := obj.(*types.Func)
	return ok && types.Identical(fn.Signature(), sig)
}

// has reports whether an expression has a method.
func has(f *code.Func, e ast.Expr, method string) bool {
	obj, _, _ := types.LookupFieldOrMethod(f.TypeOf(e), true, f.Pkg.Types, method)
	_, ok := obj.(*types.Func)
	return ok
}

// hasFreePart reports whether a writer gives out the free part of its own buffer, to which its Write then has nothing to copy. A Write of an outer type
// may write something else there before.
func hasFreePart(f *code.Func, w ast.Expr) bool {
	var methods []*types.Func
	for _, name := range []string{"AvailableBuffer", "Write"} {
		obj, _, _ := types.LookupFieldOrMethod(f.TypeOf(w), true, f.Pkg.Types, name)
		fn, ok := obj.(*types.Func)
		if !ok {
			return false
		}
		methods = append(methods, fn)
	}
	return sameReceiver(methods[0], methods[1])
}

// firstIn reports whether a call is the first thing that a statement does, so that what comes before the statement comes before
// nothing else.
func firstIn(f *code.Func, st ast.Stmt, call *ast.CallExpr) bool {
	switch st := st.(type) {
	case *ast.ExprStmt:
		return st.X == call
	case *ast.AssignStmt:
		return assignsOnly(st, call)
	case *ast.IfStmt:
		if init, ok := st.Init.(*ast.AssignStmt); ok {
			return assignsOnly(init, call)
		}
	}
	return false
}

func assignsOnly(st *ast.AssignStmt, call *ast.CallExpr) bool {
	return len(st.Rhs) == 1 && st.Rhs[0] == call && !slices.ContainsFunc(st.Lhs, func(e ast.Expr) bool { _, ok := e.(*ast.Ident); return !ok })
}
