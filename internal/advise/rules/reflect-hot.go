package rules

import (
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"slices"
	"strings"

	"github.com/hone-perf/hone/internal/advise"
	"github.com/hone-perf/hone/internal/advise/facts/calls"
	"github.com/hone-perf/hone/internal/advise/facts/code"
	"github.com/hone-perf/hone/internal/advise/facts/cost"
	"github.com/hone-perf/hone/internal/advise/facts/edit"
	"github.com/hone-perf/hone/internal/advise/facts/flow"
	"github.com/hone-perf/hone/internal/advise/facts/symbol"
	"github.com/hone-perf/hone/internal/advise/facts/text"
	"github.com/hone-perf/hone/internal/report"
	"github.com/hone-perf/hone/internal/report/missing"
)

var reflectHot = &advise.Rule{
	Name: "reflect-hot", Rank: 28,
	Doc: "reflection on a hot path",

	NoFix: missing.TypesAtRunTime,
	Find: func(p *advise.Pass) {
		lines := map[int]bool{}
		var vague several // what reflection costs on several lines is told once
		advise.Each(p, func(call *ast.CallExpr) {
			fn := p.Callee(call)
			if fn == nil || fn.Pkg() == nil || fn.Pkg().Path() != "reflect" || lines[p.Line(call.Pos())] {
				return
			}
			// What it is given is put on the heap for it.
			c := p.Cost(call, cost.Either(reflecting, calls.Boxing(p.Func, call)))
			if c == (cost.Cost{}) || makesUnknown(p.Func, call) {
				return // a value of a type that is only known when the program runs has to be made like that
			}
			lines[p.Line(call.Pos())] = true
			f := advise.Finding{
				Title:  "reflection on a hot path",
				Claim:  "package reflect inspects types on every call, and the values that it makes are on the heap",
				Advice: "use a type switch for common types, a generic function, or a cache by type of what reflection finds out",
				Callee: p.ProfileName(fn),
				Risk:   "types that the type switch does not list still need reflection",
				Vague:  true, // mostly it is what the program is about
				Inside: true, // reflection is not why others are on the heap
			}
			if p.Calls(call, "reflect.DeepEqual") != nil {
				f.Vague = false
				f.Title = "compared by reflection"
				f.Claim = "reflect.DeepEqual converts both values to interfaces, and inspects the type of each part at run time"
				f.Advice = "use ==, or slices.Equal and maps.Equal, which are compiled for the type"
				f.Risk = "DeepEqual follows pointers, and tells nil from empty"
				if p.Worth(c) {
					if f.Fixes = compared(p, call); f.Fixes != nil {
						f.Risk, f.Safe = "none: the patch still tells nil from empty", true
					}
				}
			}
			if !f.Vague {
				p.Report(call, c, f)
				return
			}
			vague.add(p, call, c, f)
		})
		vague.report(p)
	},
}

// reflecting matches what package reflect costs by itself. A function that reflect.Value.Call calls costs as much when it is called directly.
func reflecting(c *cost.Chain) bool {
	if !strings.HasPrefix(c.First(), "reflect.") {
		return false
	}
	i := slices.Index(c.Below, "reflect.Value.call")
	return i < 0 || !slices.ContainsFunc(c.Below[i:], func(fn string) bool {
		return !symbol.IsRuntime(fn) && !strings.HasPrefix(fn, "reflect.") && !strings.HasPrefix(fn, "internal/") && !strings.HasPrefix(fn, "sync.")
	})
}

// makers are functions that make a value of a type.
var makers = []string{"reflect.New", "reflect.MakeSlice", "reflect.MakeMap", "reflect.MakeMapWithSize", "reflect.Zero"}

// makesUnknown reports whether a call is one that makes a value, or is of such a value, of a type that is only known at run time.
func makesUnknown(f *code.Func, call *ast.CallExpr) bool {
	found := false
	ast.Inspect(call, func(n ast.Node) bool {
		if made := f.Calls(n, makers...); made != nil {
			known := false
			ast.Inspect(made.Args[0], func(n ast.Node) bool {
				known = known || f.Calls(n, "reflect.TypeOf", "reflect.TypeFor") != nil
				return !known
			})
			found = !known
		}
		return !found
	})
	return found
}

// compared is a fix for reflect.DeepEqual of two values of one type for which the language has an answer that is the same
// for all values: == where that compares all there is, and element by element for lists and maps of such.
func compared(p *advise.Pass, call *ast.CallExpr) []report.Fix {
	x, y := call.Args[0], call.Args[1]
	t := p.TypeOf(x)
	if t == nil || !types.Identical(t, p.TypeOf(y)) {
		return p.No(missing.DifferentTypes)
	}
	unlike := missing.UnlikeDeepEqual.Of(types.TypeString(t, p.Qualifier()))
	a, b := p.Src(x), p.Src(y)
	if alike(t) {
		switch up := p.Parent(call).(type) {
		case *ast.ExprStmt, *ast.DeferStmt, *ast.GoStmt:
			return p.No(missing.NoTwin)
		case *ast.UnaryExpr:
			if up.Op == token.NOT {
				return p.Fix(report.Mechanical, "compare with !=", edit.Replace(up, asOperand(p.Func, up, comparand(x, a)+" != "+comparand(y, b))))
			}
		}
		return p.Fix(report.Mechanical, "compare with ==", edit.Replace(call, asOperand(p.Func, call, comparand(x, a)+" == "+comparand(y, b))))
	}
	// DeepEqual tells a list that is nil from one that is empty.
	nils := fmt.Sprintf("(%s == nil) == (%s == nil)", a, b)
	twice := flow.Simple(p.Func, x) && flow.Simple(p.Func, y)
	switch u := t.Underlying().(type) {
	case *types.Slice:
		if !alike(u.Elem()) {
			return p.Because(unlike)
		}
		pkg := "slices"
		if types.Identical(u.Elem(), types.Typ[types.Byte]) {
			pkg = "bytes"
		}
		if twice && (pkg == "bytes" || p.Pkg.AtLeast(21)) {
			p.Need(pkg)
			return p.Fix(report.Mechanical, "compare elements", edit.Replace(call, asOperand(p.Func, call, fmt.Sprintf("%s.Equal(%s, %s) && %s", pkg, a, b, nils))))
		}
		name := p.NewName("equalLists")
		list := types.TypeString(t, p.Qualifier())
		return p.Fix(report.Mechanical, "compare elements", edit.Replace(call, fmt.Sprintf("%s(%s, %s)", name, a, b)), edit.Declare(p.Func, fmt.Sprintf(`// %[1]s reports whether two lists have the same elements, and both or neither are nil.
func %[1]s(a, b %[2]s) bool {
	if len(a) != len(b) || (a == nil) != (b == nil) {
		return false
	}
	for i := range a {
		if a[i] != b[i] {
			return false
		}
	}
	return true
}`, name, list)))
	case *types.Map:
		switch {
		case !alike(u.Key()) || !alike(u.Elem()):
			return p.Because(unlike)
		case !twice:
			return p.No(missing.EvaluatedTwice, a)
		case !p.Pkg.AtLeast(21):
			return p.No(missing.OlderGo, 21, "maps.Equal")
		}
		p.Need("maps")
		return p.Fix(report.Mechanical, "compare elements", edit.Replace(call, asOperand(p.Func, call, fmt.Sprintf("maps.Equal(%s, %s) && %s", a, b, nils))))
	}
	return p.Because(unlike)
}

// comparand is an expression as it stands beside ==.
func comparand(e ast.Expr, src string) string {
	switch ast.Unparen(e).(type) {
	case *ast.StarExpr, *ast.BasicLit:
		return src
	}
	return text.Operand(e, src)
}

// alike reports whether == says of all values of a type what reflect.DeepEqual says. It does not where there are pointers,
// which DeepEqual follows, interfaces, floats, since a list with a NaN is like itself there, and fields without a name.
func alike(t types.Type) bool {
	switch u := t.Underlying().(type) {
	case *types.Basic:
		return u.Info()&(types.IsBoolean|types.IsInteger|types.IsString) != 0 && u.Info()&types.IsUntyped == 0
	case *types.Array:
		return alike(u.Elem())
	case *types.Struct:
		for f := range u.Fields() {
			if f.Name() == "_" || !alike(f.Type()) {
				return false
			}
		}
		return true
	}
	return false
}

// asOperand puts an expression in parentheses where what is around the one that it replaces would take it apart.
func asOperand(f *code.Func, old ast.Expr, text string) string {
	switch f.Parent(old).(type) {
	case *ast.UnaryExpr, *ast.BinaryExpr:
		return "(" + text + ")"
	}
	return text
}
