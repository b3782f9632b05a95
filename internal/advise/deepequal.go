package advise

import (
	"fmt"
	"go/ast"
	"go/types"

	"github.com/hone-perf/hone/internal/report"
)

// compared is a fix for reflect.DeepEqual of two values of one type for which the language has an answer that is the same
// for all values: == where that compares all there is, and element by element for lists and maps of such.
func (p *Pass) compared(call *ast.CallExpr) []report.Fix {
	x, y := call.Args[0], call.Args[1]
	t := p.typeOf(x)
	if t == nil || !types.Identical(t, p.typeOf(y)) {
		return p.no("the two values are of different types, or untyped")
	}
	unlike := fmt.Sprintf("DeepEqual and == disagree on some values of %s: on those with pointers, interfaces or floating-point numbers", types.TypeString(t, p.qualifier()))
	a, b := p.src(x), p.src(y)
	if alike(t) {
		return p.fix(report.Mechanical, "compare with ==", replace(call, p.asOperand(call, operand(x, a)+" == "+operand(y, b))))
	}
	// DeepEqual tells a list that is nil from one that is empty.
	nils := fmt.Sprintf("(%s == nil) == (%s == nil)", a, b)
	twice := p.simple(x) && p.simple(y)
	switch u := t.Underlying().(type) {
	case *types.Slice:
		if !alike(u.Elem()) {
			return p.no("%s", unlike)
		}
		pkg := "slices"
		if types.Identical(u.Elem(), types.Typ[types.Byte]) {
			pkg = "bytes"
		}
		if twice && (pkg == "bytes" || p.unit.atLeast(21)) {
			p.need(pkg)
			return p.fix(report.Mechanical, "compare elements", replace(call, p.asOperand(call, fmt.Sprintf("%s.Equal(%s, %s) && %s", pkg, a, b, nils))))
		}
		name := p.newName("equalLists")
		list := types.TypeString(t, p.qualifier())
		return p.fix(report.Mechanical, "compare elements", replace(call, fmt.Sprintf("%s(%s, %s)", name, a, b)), p.declare(fmt.Sprintf(`// %[1]s reports whether two lists have the same elements, and both or neither are nil.
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
			return p.no("%s", unlike)
		case !twice:
			return p.no("what is compared would be evaluated twice")
		case !p.unit.atLeast(21):
			return p.no("the module is for a Go older than 1.21, which has no maps.Equal")
		}
		p.need("maps")
		return p.fix(report.Mechanical, "compare elements", replace(call, p.asOperand(call, fmt.Sprintf("maps.Equal(%s, %s) && %s", a, b, nils))))
	}
	return p.no("%s", unlike)
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
func (p *function) asOperand(old ast.Expr, text string) string {
	switch p.parent(old).(type) {
	case *ast.UnaryExpr, *ast.BinaryExpr:
		return "(" + text + ")"
	}
	return text
}

// qualifier names types as the package of the pass does.
func (p *function) qualifier() types.Qualifier {
	return func(pkg *types.Package) string {
		if pkg == p.unit.Types {
			return ""
		}
		return pkg.Name()
	}
}
