package escape

import (
	"go/ast"
	"go/token"
	"go/types"
	"slices"
	"strings"
)

// Makes is what an expression allocates that goes to the heap. The compiler does not tell: it writes the same of string(b)
// when the new string is on the heap as when an interface holds a copy of it.
type Makes string

// What expressions make.
const (
	Box     Makes = "box"          // the copy of a value that an interface holds
	Text    Makes = "conversion"   // a string of bytes or runes, or the other way around
	Sum     Makes = "sum"          // a string put together of others
	Bound   Makes = "method value" // a function that holds its receiver
	Value   Makes = "value"        // what make, new, append or a literal allocates
	Nothing Makes = "nothing"      // an interface points to memory that the program has anyway: see preset
	Unclear Makes = ""             // nobody looked at the types, and the text alone does not say
)

// spilled reports whether the remark is about the memory of an expression, not about a variable.
func (r *Remark) spilled() bool {
	return r.Kind == Heap && len(r.Flow) > 0 && len(r.Flow[0].How) > 0 && r.Flow[0].How[0].Why == "spill" && r.Flow[0].From == "{storage for "+r.What+"}"
}

// intoInterface reports whether what the expression allocates is put into an interface at once.
func (r *Remark) intoInterface() bool {
	return r.spilled() && slices.ContainsFunc(r.Flow[0].How, func(n Note) bool { return n.Why == "interface-converted" })
}

// pairBoxes finds interfaces that hold what an expression makes: there are two remarks about that, with the same words. The one
// that goes into an interface is the value, and the one at the same place, or before it, is the copy that the interface holds.
func (l *Log) pairBoxes() {
	for i := range l.Remarks {
		r := &l.Remarks[i]
		if !r.intoInterface() || r.Makes == Box {
			continue
		}
		var box *Remark
		for j := range l.Remarks[:min(i+2, len(l.Remarks))] {
			c := &l.Remarks[j]
			if i != j && c.What == r.What && c.spilled() && !c.intoInterface() && c.Line == r.Line && c.Column <= r.Column && c.File == r.File && sameLines(c.Through, r.Through) {
				box = c // the nearest one
			}
		}
		if box != nil {
			box.Makes = Box
		}
	}
}

func sameLines(a, b []Place) bool {
	return slices.EqualFunc(a, b, func(a, b Place) bool { return a.File == b.File && a.Line == b.Line && a.Column <= b.Column })
}

// Learn finds out from types what the expressions of a package make that go to the heap.
func (l *Log) Learn(set *token.FileSet, files []*ast.File, info *types.Info) {
	type line struct {
		file *ast.File
		n    int
	}
	about := make(map[line][]*Remark)
	for i := range l.Remarks {
		r := &l.Remarks[i]
		if r.Makes != Unclear || !r.spilled() {
			continue
		}
		at := r.Written()
		for _, f := range files {
			if SameFile(at.File, set.Position(f.Package).Filename) {
				about[line{f, at.Line}] = append(about[line{f, at.Line}], r)
			}
		}
	}
	for _, f := range files {
		ast.Inspect(f, func(n ast.Node) bool {
			e, ok := n.(ast.Expr)
			if !ok {
				return true
			}
			at := set.Position(compiledAt(e))
			for _, r := range about[line{f, at.Line}] {
				if column := r.Written().Column; r.Makes == Unclear && reaches(set, e, at.Column, column, r.What) {
					if r.Makes = makes(info, e, column > at.Column); r.Makes == Box && preset(info, e) {
						r.Makes = Nothing
					}
				}
			}
			return true
		})
	}
}

// compiledAt returns where the compiler says that an expression is.
func compiledAt(e ast.Expr) token.Pos {
	switch e := e.(type) {
	case *ast.BinaryExpr:
		return e.OpPos
	case *ast.CallExpr:
		return e.Lparen
	case *ast.CompositeLit:
		return e.Lbrace
	case *ast.SelectorExpr:
		return e.Sel.Pos()
	}
	return e.Pos()
}

// reaches reports whether a remark with these words at a column is about an expression: at its own place, or at that of its operand
// when it is a conversion, which is where the compiler says that the conversion itself is.
func reaches(set *token.FileSet, e ast.Expr, own, column int, what string) bool {
	if sum, ok := e.(*ast.BinaryExpr); ok {
		return column == own && strings.Contains(what, " "+sum.Op.String()+" ")
	}
	if bare(types.ExprString(e)) != bare(what) {
		return false
	}
	if call, ok := e.(*ast.CallExpr); ok && len(call.Args) == 1 {
		end := set.Position(call.Rparen)
		return column >= own && (end.Line > set.Position(call.Lparen).Line || column < end.Column)
	}
	if _, ok := e.(*ast.SelectorExpr); ok {
		return true // its place is the dot, or the name behind it
	}
	return column == own
}

// bare is the text of an expression without what the compiler writes otherwise than people do.
func bare(s string) string {
	return strings.NewReplacer("(", "", ")", "", " ", "", "…", "...").Replace(s)
}

// makes says what an expression allocates. That of a conversion is told at its operand, and a copy of its result at its own place.
func makes(info *types.Info, e ast.Expr, inside bool) Makes {
	switch e := e.(type) {
	case *ast.CallExpr:
		fun := info.Types[e.Fun]
		if !fun.IsType() || len(e.Args) != 1 {
			if fun.IsBuiltin() {
				return Unclear // make and the like, which their names tell
			}
			return Box
		}
		if inside && makesText(fun.Type, info.TypeOf(e.Args[0])) && info.Types[e].Value == nil {
			return Text
		}
		return Box
	case *ast.BinaryExpr:
		if t := info.TypeOf(e); e.Op == token.ADD && t != nil && isText(t) && info.Types[e].Value == nil {
			return Sum // the copy of one was told apart by its twin
		}
		return Box
	case *ast.SelectorExpr:
		if s := info.Selections[e]; s != nil && s.Kind() == types.MethodVal {
			return Bound
		}
		return Box
	case *ast.CompositeLit:
		switch t := info.TypeOf(e); t.Underlying().(type) {
		case *types.Struct, *types.Array:
			return Box
		}
		return Value
	case *ast.UnaryExpr:
		if e.Op == token.AND {
			return Value
		}
	case *ast.FuncLit:
		return Value
	}
	return Box
}

// preset reports whether the value of an expression needs no new memory when an interface holds it. Constants are in memory that is read only, the
// runtime has one of each value of a byte, and all values without a size share an address.
func preset(info *types.Info, e ast.Expr) bool {
	if call, ok := e.(*ast.CallExpr); ok && len(call.Args) == 1 && info.Types[call.Fun].IsType() && types.IsInterface(info.TypeOf(call)) {
		e = call.Args[0] // any(b): what the interface holds
	}
	t := info.TypeOf(e)
	return info.Types[e].Value != nil || t != nil && (isByte(t) || sizeless(t))
}

func isByte(t types.Type) bool {
	return every(t, func(t types.Type) bool {
		b, ok := t.Underlying().(*types.Basic)
		if !ok {
			return false
		}
		switch b.Kind() {
		case types.Bool, types.UntypedBool, types.Int8, types.Uint8:
			return true
		}
		return false
	})
}

// sizeless reports whether values of a type have no size.
func sizeless(t types.Type) bool {
	return every(t, func(t types.Type) bool {
		switch u := t.Underlying().(type) {
		case *types.Array:
			return u.Len() == 0 || sizeless(u.Elem())
		case *types.Struct:
			for f := range u.Fields() {
				if !sizeless(f.Type()) {
					return false
				}
			}
			return true
		}
		return false
	})
}

// makesText reports whether a conversion between two types makes a new string, or new bytes or runes.
func makesText(to, from types.Type) bool {
	if from == nil || to == nil {
		return false
	}
	return isText(to) && !isText(from) || isText(from) && isElements(to)
}

// isText reports whether values of a type are strings. Those of a type parameter are when its types are.
func isText(t types.Type) bool {
	return every(t, func(t types.Type) bool {
		b, ok := t.Underlying().(*types.Basic)
		return ok && b.Info()&types.IsString != 0
	})
}

func isElements(t types.Type) bool {
	return every(t, func(t types.Type) bool { _, ok := t.Underlying().(*types.Slice); return ok })
}

// every reports whether something is true of a type, or of all types that a type parameter may be.
func every(t types.Type, is func(types.Type) bool) bool {
	param, ok := types.Unalias(t).(*types.TypeParam)
	if !ok {
		return is(t)
	}
	u, ok := param.Constraint().Underlying().(*types.Interface)
	if !ok || u.NumEmbeddeds() == 0 {
		return false
	}
	for i := range u.NumEmbeddeds() {
		union, ok := u.EmbeddedType(i).(*types.Union)
		if !ok {
			if !is(u.EmbeddedType(i)) {
				return false
			}
			continue
		}
		for term := range union.Terms() {
			if !is(term.Type()) {
				return false
			}
		}
	}
	return true
}
