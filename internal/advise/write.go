package advise

import (
	"fmt"
	"go/ast"
	"go/types"
	"slices"
	"strings"

	"github.com/hone-perf/hone/internal/report"
)

var writeJoined = &Rule{
	Name: "write-joined", Rank: 13,
	Doc: "a text is put together as a string, or by fmt, only to be written",

	NoFix: "only package fmt knows how some of the parts are printed",
	Find: func(p *Pass) {
		each(p, func(call *ast.CallExpr) {
			if arg, w := p.written(call); arg != nil {
				p.joinedWrite(call, w, arg)
			} else if p.calls(call, "fmt.Fprintf") != nil && len(call.Args) >= 2 && !call.Ellipsis.IsValid() {
				p.formattedWrite(call)
			}
		})
	},
}

// written returns the string that a call of Write is given, and the writer: w.Write([]byte(s)).
func (p *function) written(call *ast.CallExpr) (arg, w ast.Expr) {
	sel, ok := call.Fun.(*ast.SelectorExpr)
	if !ok || sel.Sel.Name != "Write" || len(call.Args) != 1 || p.info().Selections[sel] == nil {
		return nil, nil
	}
	fn := p.callee(call)
	if fn == nil || fn.Signature().Results().Len() != 2 {
		return nil, nil
	}
	if s := p.bytesOf(ast.Unparen(call.Args[0])); s != nil {
		return s, sel.X
	}
	return nil, nil
}

func (p *Pass) joinedWrite(call *ast.CallExpr, w, arg ast.Expr) {
	list, ok := p.texts().pieces(arg)
	conversion := allocates("stringtoslicebyte")
	format := p.calls(ast.Unparen(arg), "fmt.Sprintf", "fmt.Sprint", "fmt.Sprintln")
	if format == nil && (!ok || dynamic(list) == 0 || len(joined(list)) == 1 && !isFormat(p, arg)) {
		if p.isConst(arg) {
			return
		}
		p.convertedWrite(call, w, arg, conversion)
		return
	}
	matches := []func(*chain) bool{conversion, allocates("concatstring"), below("fmt.Sprint", "fmt.Sprintf", "fmt.Sprintln", "strconv.Itoa", "strconv.FormatInt",
		"strconv.FormatUint", "strconv.FormatFloat", "strconv.Quote")}
	if format != nil {
		matches = append(matches, p.boxing(format))
	}
	c := p.cost(call, either(matches...))
	f := finding{
		title: "bytes to write put together as a string first",
		claim: "the parts are " + p.howMade(arg) + ", and the sum is copied once more to be bytes: each step allocates, and only the last one is needed",
		risk:  "the buffer has to be large enough for most texts, or append allocates again; measure it",
	}
	f.advice = "append the parts to a buffer, and write that"
	known := format == nil
	if format != nil {
		_, known = p.texts().formatted(format)
	}
	if ok && known {
		f.fixes = p.appended(call, w, list)
	}
	if len(f.fixes) == 0 && format != nil && len(format.Args) > 0 {
		f.advice = "let fmt write it: that is one text less"
		f.fixes = p.fix(report.Mechanical, "let fmt write it", newEdit(call.Pos(), format.Args[0].Pos(),
			fmt.Sprintf("%s.F%s(%s, ", p.src(format.Fun.(*ast.SelectorExpr).X), lowerFirst(p.callee(format).Name()[1:]), p.writer(w))),

			newEdit(format.End(), call.End(), ""))
	}
	p.report(call, c, f)
}

// isFormat reports whether an expression is a call that formats.
func isFormat(p *Pass, e ast.Expr) bool {
	call, ok := ast.Unparen(e).(*ast.CallExpr)
	if !ok {
		return false
	}
	_, ok = p.texts().formatted(call)
	return ok
}

func (p *function) howMade(e ast.Expr) string {
	var how []string
	add := func(s string) {
		if !slices.Contains(how, s) {
			how = append(how, s)
		}
	}
	ast.Inspect(e, func(n ast.Node) bool {
		if b, ok := n.(*ast.BinaryExpr); ok && isString(p.typeOf(b)) {
			add("added up")
		}
		if p.calls(n, "fmt.Sprint", "fmt.Sprintf", "fmt.Sprintln") != nil {
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
func (p *Pass) convertedWrite(call *ast.CallExpr, w, arg ast.Expr, conversion func(*chain) bool) {
	c := p.cost(call, conversion)
	f := finding{
		title:  "string copied to bytes to be written",
		claim:  "[]byte(…) copies the string for a Write that only reads it",
		advice: "WriteString, where the writer has it, copies once less",
		risk:   "none, unless the writer does something else in WriteString than in Write",
	}
	if obj, _, _ := types.LookupFieldOrMethod(p.typeOf(w), true, p.unit.Types, "WriteString"); obj != nil {
		f.fixes = p.fix(report.Mechanical, "write the string", newEdit(call.Pos(), call.End(), fmt.Sprintf("%s.WriteString(%s)", p.src(w), p.src(arg))))
	} else {
		p.need("io")
		f.fixes = p.fix(report.Mechanical, "let io.WriteString ask the writer", newEdit(call.Pos(), call.End(), fmt.Sprintf("io.WriteString(%s, %s)", p.writer(w), p.src(arg))))
	}
	p.report(call, c, f)
}

// writer returns an expression that can be given to a function for a writer.
func (p *function) writer(w ast.Expr) string {
	if t := p.typeOf(w); !types.IsInterface(t) {
		if _, pointer := types.Unalias(t).(*types.Pointer); !pointer {
			if obj, _, _ := types.LookupFieldOrMethod(t, false, p.unit.Types, "Write"); obj == nil || types.NewMethodSet(t).Lookup(nil, "Write") == nil {
				return "&" + p.src(w)
			}
		}
	}
	return p.src(w)
}

func (p *Pass) formattedWrite(call *ast.CallExpr) {
	list, ok := p.texts().format(call.Args[1], call.Args[2:])
	w := call.Args[0]
	c := p.cost(call, either(func(c *chain) bool {
		if c.first() != "fmt.Fprintf" {
			return false
		}
		// What the writer does with it stays.
		return len(c.below) == 1 || strings.HasPrefix(c.below[1], "fmt.") || strings.HasPrefix(c.below[1], "sync.") || isRuntime(c.below[1])
	}, p.boxing(call)))
	f := finding{
		title:  "fmt on a hot path",
		claim:  "fmt.Fprintf reads its format for every call, and its arguments are made interfaces, for which numbers and strings are put on the heap",
		advice: "append the parts to a buffer with strconv, and write that",
		risk:   "the buffer has to be large enough for most texts, or append allocates again; measure it",
		callee: "fmt.Fprintf",
	}
	if ok && dynamic(list) > 0 {
		f.fixes = p.appended(call, w, list)
	} else if ok {
		f.noFix = "it writes the same text each time, which needs no fmt at all"
	}
	p.report(call, c, f)
}

// appended is a fix that puts pieces together in a buffer and writes that, in place of a call.
func (p *Pass) appended(call *ast.CallExpr, w ast.Expr, list []piece) []report.Fix {
	st := p.statement(call)
	if st == nil || !p.firstIn(st, call) {
		p.why = "what is evaluated before the call would be evaluated after it"
		return nil
	}
	if u, ok := ast.Unparen(w).(*ast.UnaryExpr); ok {
		w = u.X // (&b).Write is b.Write
	}
	if !p.simple(w) {
		p.why = "the writer is not a variable"
		return nil
	}
	buf := p.localName("buf")
	write := fmt.Sprintf("%s.Write(%s)", p.src(w), buf)
	if p.has(w, "AvailableBuffer") && p.quiet(call) {
		lines, _ := p.appends(list, buf, buf)
		return p.fix(report.Mechanical, "append to the free part of the buffer that is written to",
			before(st, fmt.Sprintf("%s := %s.AvailableBuffer()\n%s\n", buf, p.src(w), strings.Join(lines, "\n"))), replace(call, write))
	}
	if loop := p.loop(call); loop != nil && p.statement(loop) != nil && types.IsInterface(p.typeOf(w)) {
		lines, size := p.appends(list, buf, buf+"[:0]")
		return p.fix(report.Ownership, "append to a buffer that all rounds share",
			before(p.statement(loop), fmt.Sprintf("%s := make([]byte, 0, %d)\n", buf, roomFor(size))),
			before(st, strings.Join(lines, "\n")+"\n"), replace(call, write))
	}
	lines, size := p.appends(list, buf, buf)
	return p.fix(report.Mechanical, "append to a buffer",
		before(st, fmt.Sprintf("%s := make([]byte, 0, %d)\n%s\n", buf, roomFor(size), strings.Join(lines, "\n"))), replace(call, write))
}

// quiet reports whether the arguments of a call only make texts and numbers, so that nothing is written meanwhile to what the
// call is about.
func (p *function) quiet(call *ast.CallExpr) bool {
	ok := true
	for _, a := range call.Args {
		ast.Inspect(a, func(n ast.Node) bool {
			if inner, isCall := n.(*ast.CallExpr); isCall && !p.info().Types[inner.Fun].IsType() && p.builtin(inner, "len") == nil {
				fn := p.callee(inner)
				ok = ok && fn != nil && fn.Pkg() != nil && (slices.Contains([]string{"strconv", "strings"}, fn.Pkg().Path()) || fn.FullName() == "(time.Duration).String")
			}
			return ok
		})
	}
	return ok
}

// has reports whether an expression has a method.
func (p *function) has(e ast.Expr, method string) bool {
	obj, _, _ := types.LookupFieldOrMethod(p.typeOf(e), true, p.unit.Types, method)
	_, ok := obj.(*types.Func)
	return ok
}

// firstIn reports whether a call is the first thing that a statement does, so that what comes before the statement comes before
// nothing else.
func (p *function) firstIn(st ast.Stmt, call *ast.CallExpr) bool {
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
