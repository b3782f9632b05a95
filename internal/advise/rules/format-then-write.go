package rules

import (
	"fmt"
	"go/ast"
	"go/types"
	"strings"

	"github.com/hone-perf/hone/internal/advise"
	"github.com/hone-perf/hone/internal/advise/facts/code"
	"github.com/hone-perf/hone/internal/advise/facts/cost"
	"github.com/hone-perf/hone/internal/advise/facts/edit"
	"github.com/hone-perf/hone/internal/advise/facts/flow"
	"github.com/hone-perf/hone/internal/advise/facts/kind"
	"github.com/hone-perf/hone/internal/advise/facts/symbol"
	"github.com/hone-perf/hone/internal/report"
	"github.com/hone-perf/hone/internal/report/missing"
)

var formatThenWrite = &advise.Rule{
	Name: "format-then-write", Rank: 13, PerCall: true,
	Doc: "a string of any format is made by fmt only to be written to a buffer",

	NoFix: missing.OnlyFmt,
	Find: func(p *advise.Pass) {
		advise.Each(p, func(format *ast.CallExpr) {
			call := writesFormatted(p.Func, format)
			if call == nil {
				return
			}
			name := p.Callee(format).Name()
			c := p.Cost(call, func(c *cost.Chain) bool {
				if c.First() != "fmt."+name {
					return false
				}
				for _, b := range c.Below[1:] {
					if !symbol.IsRuntime(b) {
						return false
					}
				}
				return true
			})
			f := advise.Finding{
				Title:  "string formatted only to be written",
				Claim:  fmt.Sprintf("fmt.%s formats into a buffer of its own, and allocates a copy of that as a string, which is copied once more to %s", name, p.Src(call.Fun.(*ast.SelectorExpr).X)),
				Advice: fmt.Sprintf("let fmt.F%s write what it has formatted", strings.ToLower(name[1:2])+name[2:]),
				Risk:   "none: it formats all of the text before it writes", Safe: true,
			}
			if w := call.Fun.(*ast.SelectorExpr).X; !sameBuffer(p.Func, w, format) {
				f.NoFix = missing.MayWriteToo.Of(p.Src(w))
			} else if p.Worth(c) {
				print := "F" + strings.ToLower(name[1:2]) + name[2:]
				f.Fixes = p.Fix(report.Mechanical, "let fmt write it",
					edit.New(call.Pos(), format.Args[0].Pos(), fmt.Sprintf("%s.%s(%s, ", p.Src(format.Fun.(*ast.SelectorExpr).X), print, writerOf(p.Func, call))),
					edit.New(format.End(), call.End(), ""))
			}
			p.Report(call, c, f)
		})
	},
}

// writesFormatted returns the call that writes what a call of fmt formats, to a buffer that fmt can write to as well. The arguments are those that
// the function was given, or the format is not a constant: of others fmt-text knows what it takes to do without fmt.
func writesFormatted(f *code.Func, format *ast.CallExpr) *ast.CallExpr {
	if f.Calls(format, "fmt.Sprintf", "fmt.Sprint", "fmt.Sprintln") == nil || len(format.Args) == 0 {
		return nil
	}
	if _, named := format.Fun.(*ast.SelectorExpr); !named {
		return nil
	}
	if !format.Ellipsis.IsValid() && (f.Callee(format).Name() != "Sprintf" || f.IsConst(format.Args[0])) {
		return nil
	}
	up := f.Parent(format)
	call, ok := up.(*ast.CallExpr)
	if !ok || f.Calls(call, "(*bytes.Buffer).WriteString", "(*strings.Builder).WriteString", "(*bufio.Writer).WriteString") == nil || len(call.Args) != 1 || call.Args[0] != ast.Expr(format) {
		return nil
	}
	if writerOf(f, call) == "" || isLater(f, call) {
		return nil
	}
	return call
}

// isLater reports whether a call is one of a defer or go statement, which evaluates its arguments before: what is formatted then may change until it is.
func isLater(f *code.Func, call *ast.CallExpr) bool {
	switch f.Parent(call).(type) {
	case *ast.DeferStmt, *ast.GoStmt:
		return true
	}
	return false
}

// writerOf returns a pointer to the buffer that a call of WriteString writes to, as an expression; "" where it is not one that can be taken at any
// time, where its Write is that of another type, or where a variable of the function would move to the heap for a single text.
func writerOf(f *code.Func, call *ast.CallExpr) string {
	sel, ok := call.Fun.(*ast.SelectorExpr)
	if !ok || !flow.Simple(f, sel.X) {
		return ""
	}
	if throughPointer(f.Info().Selections[sel]) {
		return "" // which is followed when it is written, and was before
	}
	t := f.TypeOf(sel.X)
	write, _, _ := types.LookupFieldOrMethod(t, true, f.Pkg.Types, "Write")
	fn, ok := write.(*types.Func)
	if !ok || fn.FullName() != strings.TrimSuffix(f.Callee(call).FullName(), "String") {
		return ""
	}
	if kind.IsPointer(t) {
		return f.Src(sel.X)
	}
	for e := sel.X; ; {
		switch x := ast.Unparen(e).(type) {
		case *ast.SelectorExpr:
			s := f.Info().Selections[x]
			if s == nil || s.Indirect() {
				return "&" + f.Src(sel.X) // a variable of a package, or a part of what a pointer leads to
			}
			e = x.X
			continue
		case *ast.Ident:
			v := f.Local(x)
			if loop := f.Loop(call); v != nil && (loop == nil || loop.Pos() < v.Pos()) {
				return ""
			}
			return "&" + f.Src(sel.X)
		}
		return ""
	}
}

// throughPointer reports whether a method is that of a pointer that is embedded in what it is selected of.
func throughPointer(s *types.Selection) bool {
	t := s.Recv()
	for _, i := range s.Index()[:len(s.Index())-1] {
		if ptr, ok := t.Underlying().(*types.Pointer); ok {
			t = ptr.Elem()
		}
		if t = t.Underlying().(*types.Struct).Field(i).Type(); kind.IsPointer(t) {
			return true
		}
	}
	return false
}

// sameBuffer reports whether a buffer is the same before and after the arguments of a call are evaluated: they call nothing of the program, or
// nothing else can give the variable that leads to it another value.
func sameBuffer(f *code.Func, w ast.Expr, call *ast.CallExpr) bool {
	if flow.Quiet(f, call) {
		return true
	}
	for e := w; ; {
		switch x := ast.Unparen(e).(type) {
		case *ast.SelectorExpr:
			if s := f.Info().Selections[x]; s == nil || len(s.Index()) != 1 || kind.IsPointer(f.TypeOf(x)) {
				return false
			}
			e = x.X
			continue
		case *ast.Ident:
			v := f.Local(x)
			return v != nil && !flow.Captured(f, v, f.Decl.Body) && !(kind.IsPointer(v.Type()) && flow.Addressed(f, v))
		}
		return false
	}
}
