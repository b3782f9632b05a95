package advise

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"strings"

	"github.com/hone-perf/hone/internal/source/gosrc"
)

// A span is lines of a file, the first and the last.
type span struct{ from, to int }

// untimed reports whether a line of a test file is in a benchmark, where its timer does not run: what a benchmark prepares before b.ResetTimer or
// b.Loop costs as much as anything in a profile, but it is not part of what the benchmark measures.
func (t *tree) untimed(fn, file string, line int) bool {
	spans, ok := t.apart[file]
	if !ok {
		spans = untimedIn(t.testText(fn, file, line))
		t.apart[file] = spans
	}
	for _, s := range spans {
		if s.from <= line && line <= s.to {
			return true
		}
	}
	return false
}

// testText returns the text of a test file as it was recorded, or as it is now; "" where it is not known.
func (t *tree) testText(fn, file string, line int) string {
	for _, kept := range t.kept {
		if text, err := kept.Find(file, fn, line); err == nil {
			return strings.Join(text.Lines, "\n")
		}
	}
	src, err := t.finder.Find(t.ctx, gosrc.Frame{Func: fn, File: file, Line: line})
	if err != nil || src.Path == "" {
		return ""
	}
	text, err := os.ReadFile(src.Path)
	if err != nil {
		return ""
	}
	return string(text)
}

// untimedIn returns the lines of a file that benchmarks do not time.
func untimedIn(text string) []span {
	if !strings.Contains(text, "*testing.B") {
		return nil
	}
	set := token.NewFileSet()
	f, err := parser.ParseFile(set, "", text, parser.SkipObjectResolution)
	if err != nil {
		return nil
	}
	apart := make(map[int]bool) // lines
	mark := func(from, to token.Pos, is bool) {
		for n := set.Position(from).Line; n <= set.Position(to).Line; n++ {
			apart[n] = is
		}
	}
	// Outer functions come first, so that those in them decide about their own lines.
	ast.Inspect(f, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncDecl:
			if b := benchmarkParam(n.Type); b != "" && n.Body != nil {
				untimedOf(n.Body, b, mark)
			}
		case *ast.FuncLit:
			mark(n.Pos(), n.End(), false) // where it is called decides, which is another frame
			if b := benchmarkParam(n.Type); b != "" {
				untimedOf(n.Body, b, mark)
			}
		}
		return true
	})
	var out []span
	for n := 1; n <= set.File(f.FileStart).LineCount(); n++ {
		switch {
		case !apart[n]:
		case len(out) > 0 && out[len(out)-1].to == n-1:
			out[len(out)-1].to = n
		default:
			out = append(out, span{n, n})
		}
	}
	return out
}

// untimedOf marks what a benchmark does not time.
func untimedOf(body *ast.BlockStmt, b string, mark func(from, to token.Pos, is bool)) {
	looped := false
	var last ast.Stmt // behind which the timer runs
	for _, s := range body.List {
		if loop, ok := s.(*ast.ForStmt); ok && loop.Cond != nil && callsOn(loop.Cond, b) == "Loop" {
			// It resets the timer when it is called first, and stops it in the end.
			if !looped {
				mark(body.Lbrace, body.Rbrace, true)
			}
			mark(loop.Pos(), loop.End(), false)
			looped = true
		}
		if expr, ok := s.(*ast.ExprStmt); ok && callsOn(expr.X, b) == "ResetTimer" {
			last = s
		}
	}
	if last != nil && !looped {
		mark(body.Lbrace, last.Pos(), true)
	}
	ast.Inspect(body, func(n ast.Node) bool {
		if _, ok := n.(*ast.FuncLit); ok {
			return false
		}
		block, ok := n.(*ast.BlockStmt)
		if !ok {
			return true
		}
		stopped := token.NoPos
		for _, s := range block.List {
			expr, ok := s.(*ast.ExprStmt)
			if !ok {
				continue
			}
			switch callsOn(expr.X, b) {
			case "StopTimer":
				stopped = s.Pos()
			case "StartTimer":
				if stopped.IsValid() {
					mark(stopped, s.Pos(), true)
				}
				stopped = token.NoPos
			}
		}
		return true
	})
}

// benchmarkParam returns the name of the one parameter of a benchmark, or "".
func benchmarkParam(typ *ast.FuncType) string {
	if typ.Params == nil || len(typ.Params.List) != 1 || len(typ.Params.List[0].Names) != 1 {
		return ""
	}
	star, ok := typ.Params.List[0].Type.(*ast.StarExpr)
	if !ok {
		return ""
	}
	if sel, ok := star.X.(*ast.SelectorExpr); !ok || sel.Sel.Name != "B" {
		return ""
	}
	return typ.Params.List[0].Names[0].Name
}

// callsOn returns the name of the method that an expression calls on a variable, or "".
func callsOn(x ast.Expr, name string) string {
	call, ok := x.(*ast.CallExpr)
	if !ok {
		return ""
	}
	sel, ok := call.Fun.(*ast.SelectorExpr)
	if !ok {
		return ""
	}
	if id, ok := sel.X.(*ast.Ident); !ok || id.Name != name {
		return ""
	}
	return sel.Sel.Name
}
