package edit

import (
	"go/ast"
	"go/constant"
	"go/token"
	"go/types"
	"strconv"
	"unicode/utf8"

	"github.com/hone-perf/hone/internal/advise/facts/code"
	"github.com/hone-perf/hone/internal/advise/facts/flow"
)

// Hoisted moves an expression into a variable of the package. Where the function keeps it in a variable of its own that is
// used for nothing else, that one goes, and takes its comment along.
func Hoisted(f *code.Func, e ast.Expr, name string) []Edit {
	decl := "var " + name + " = " + Outer(f, e)
	assign, ok := f.Parent(e).(*ast.AssignStmt)
	if ok && assign.Tok == token.DEFINE && len(assign.Lhs) == 1 && f.Statement(assign) == assign {
		if v := f.Local(assign.Lhs[0]); v != nil && flow.OnlyRead(f, v, assign) {
			edits := []Edit{Declare(f, decl+Comment(f, assign)), New(assign.Pos(), NextLine(f, assign), "")}
			for _, id := range f.Uses(v) {
				edits = append(edits, Replace(id, name))
			}
			return edits
		}
	}
	return []Edit{Declare(f, decl), Replace(e, name)}
}

// Outer returns the text of an expression for outside of the function: with the values of constants that the function declares.
func Outer(f *code.Func, e ast.Expr) string {
	text, at := "", e.Pos()
	ast.Inspect(e, func(n ast.Node) bool {
		id, ok := n.(*ast.Ident)
		if !ok {
			return true
		}
		c, ok := f.Info().Uses[id].(*types.Const)
		if !ok || c.Pkg() != f.Pkg.Types || c.Parent() == c.Pkg().Scope() {
			return true
		}
		if value := valueOf(f, c); value != "" {
			switch f.Parent(id).(type) {
			case *ast.BinaryExpr, *ast.UnaryExpr:
				if value[0] == '-' {
					value = "(" + value + ")"
				}
			}
			text += f.Between(at, id.Pos()) + value
			at = id.End()
		}
		return true
	})
	return text + f.Between(at, e.End())
}

// valueOf returns an expression for the value of a constant of the function, or "" if there is none that is as exact, and of the same type.
func valueOf(f *code.Func, c *types.Const) (value string) {
	lit := literalOf(f, c)
	if lit != nil {
		value = f.Src(lit)
	}
	t, isBasic := c.Type().(*types.Basic)
	switch v := c.Val(); {
	case isBasic && t.Kind() == types.UntypedRune:
		if r, ok := constant.Int64Val(v); lit == nil || lit.Kind != token.CHAR {
			value = strconv.QuoteRune(rune(r))
			if !ok || !utf8.ValidRune(rune(r)) {
				return ""
			}
		}
	case isBasic && t.Kind() == types.UntypedFloat:
		if lit == nil || lit.Kind != token.FLOAT {
			return ""
		}
	case v.Kind() == constant.String && value == "":
		value = strconv.Quote(constant.StringVal(v))
	case v.Kind() == constant.Int, v.Kind() == constant.Bool:
		value = v.ExactString()
	}
	if value == "" || isBasic && (t.Info()&types.IsUntyped != 0 || t == types.Typ[types.String] || t == types.Typ[types.Bool] || t == types.Typ[types.Int]) {
		return value
	}
	return types.TypeString(c.Type(), f.Qualifier()) + "(" + value + ")"
}

// literalOf returns the literal that a constant is declared with, or nil.
func literalOf(f *code.Func, c *types.Const) (found *ast.BasicLit) {
	ast.Inspect(f.Decl.Body, func(n ast.Node) bool {
		if spec, ok := n.(*ast.ValueSpec); ok {
			for i, id := range spec.Names {
				if f.Info().Defs[id] == types.Object(c) && i < len(spec.Values) {
					if lit, ok := spec.Values[i].(*ast.BasicLit); ok {
						found = lit
					}
				}
			}
		}
		return found == nil
	})
	return found
}
