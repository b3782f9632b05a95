package rules

import (
	"fmt"
	"go/ast"
	"go/types"
	"math/bits"

	"github.com/hone-perf/hone/internal/advise"
	"github.com/hone-perf/hone/internal/advise/facts/calls"
	"github.com/hone-perf/hone/internal/advise/facts/cost"
	"github.com/hone-perf/hone/internal/advise/facts/edit"
	"github.com/hone-perf/hone/internal/advise/facts/lists"
	"github.com/hone-perf/hone/internal/report"
	"github.com/hone-perf/hone/internal/unit"
)

// Where nothing in the code says how long a slice gets, heap profiles do: append doubles its array, and each sample says how large an array was.
// So those of one size, compared with those of half that size, say how many slices got that long.

// The room that slices begin with when samples tell how long they get.
const (
	fewestInRoom  = 4    // elements; less saves an array or two
	mostInRoom    = 16   // elements; more is what the inputs of one profile need, and the steps up to there are most of all steps
	mostBytesRoom = 1024 // of a slice that may stay empty
	leastSaved    = 0.4  // of all arrays
	mostMemory    = 1.05 // of what the arrays need now
)

// A usual length is what samples tell of the arrays of a slice.
type usualLength struct {
	room  int64   // with which hardly more memory is needed than now, and the fewest arrays
	saves float64 // the share of all arrays that are not needed then
}

// usualLengthOf returns with how much room a slice would begin best whose elements have a size, by the number of arrays that were made for
// so many elements, each a power of two; 0 if no room saves arrays and costs no memory.
func usualLengthOf(size int64, arrays map[int64]float64) (best usualLength) {
	var longest int64
	for n := range arrays {
		longest = max(longest, n)
	}
	// Of very small arrays, there are few samples that tell; but who has a larger one had each smaller one before.
	first := int64(1)
	for first*size < 8 {
		first *= 2
	}
	made := map[int64]float64{}
	before, bytes := 0.0, 0.0
	for n := longest; n >= first; n /= 2 {
		made[n] = max(arrays[n], made[2*n])
		before += made[n]
		bytes += made[n] * float64(n*size)
	}
	saves := leastSaved
	after, more := before, bytes
	for room := first; room <= min(longest, mostInRoom, mostBytesRoom/size); room *= 2 {
		after -= made[room]
		more -= made[room] * float64(room*size)
		// All slices begin with the room, and those that get longer need what they need now.
		less := 1 - (made[first]+after)/before
		if room >= fewestInRoom && less >= saves && made[first]*float64(room*size)+more <= mostMemory*bytes {
			best, saves = usualLength{room, less}, less
		}
	}
	return best
}

// usualLengthIn returns how long a local slice gets that is appended to one by one, by what samples tell of its arrays.
func usualLengthIn(p *advise.Pass, s *types.Var, all []*ast.AssignStmt) usualLength {
	elem := s.Type().Underlying().(*types.Slice).Elem()
	size, ok := p.SizeOf(elem)
	if !ok || size <= 0 {
		return usualLength{}
	}
	sizes := map[int64]*cost.Cost{}
	lines := map[int]bool{}
	for _, st := range all {
		for _, e := range lists.Added(p.Func, st) {
			if types.IsInterface(elem) && calls.Boxes(p.Func, e) || allocatesItself(p, e) {
				return usualLength{} // samples of the line are not of arrays alone
			}
		}
		l := p.Line(st.Pos())
		if p.Line(st.End()) != l {
			return usualLength{}
		}
		if p.Lines[l] == nil || lines[l] {
			continue
		}
		lines[l] = true
		for _, c := range p.Lines[l].Chains {
			if n := c.Size / size; cost.Growing()(c) && len(c.Below) == 0 && n > 0 && c.Cost[cost.ObjectsMade] > 0 {
				n = 1 << (bits.Len64(uint64(n)) - 1)
				if sizes[n] == nil {
					sizes[n] = &cost.Cost{}
				}
				sizes[n].Add(&c.Cost)
			}
		}
	}
	arrays := map[int64]float64{}
	for n, c := range sizes {
		made := float64(c[cost.ObjectsMade])
		if made*made >= fewSamples*p.Costs.Spread(c, cost.ObjectsMade) {
			arrays[n] = made / byGrowing(n) // append makes them in smaller steps from 256 elements on
		}
	}
	return usualLengthOf(size, arrays)
}

// allocatesItself reports whether an expression may allocate on its line, and not only in what it calls.
func allocatesItself(p *advise.Pass, e ast.Expr) bool {
	found := false
	ast.Inspect(e, func(n ast.Node) bool {
		call, isCall := n.(*ast.CallExpr)
		_, isLit := n.(*ast.FuncLit)
		switch {
		case n == nil || found:
			return false
		case isLit || leafFor(p.Func, n) != "":
			found = true
		case isCall && !p.Info().Types[call.Fun].IsType():
			sig, ok := p.TypeOf(call.Fun).Underlying().(*types.Signature)
			for i := 0; ok && !found && i < sig.Params().Len(); i++ {
				found = sig.Variadic() && !call.Ellipsis.IsValid() || types.IsInterface(sig.Params().At(i).Type())
			}
		}
		return !found
	})
	return found
}

// usualRoom is a fix that has a slice of the function begin with the room that most of its kind get, where the code does not say how many
// elements there will be. What is nil when nothing is appended stays so, unless nobody can tell.
func usualRoom(p *advise.Pass, s *types.Var, f *advise.Finding) []report.Fix {
	decl, value := p.Declared(s)
	elem, isNil, ok := emptyDeclaration(p, s, decl, value)
	if !ok || p.Statement(decl) != decl || lists.Restarted(p.Func, p.Decl.Body, s) || !lists.RoomUnseen(p.Func, s) {
		return nil
	}
	var all []*ast.AssignStmt
	for _, id := range p.Uses(s) {
		if st, ok := p.Parent(id).(*ast.AssignStmt); ok && len(st.Lhs) == 1 && st.Lhs[0] == ast.Expr(id) {
			if lists.Added(p.Func, st) == nil {
				return nil // it gets whole lists
			}
			all = append(all, st)
		}
	}
	usual := usualLengthIn(p, s, all)
	if usual.room == 0 {
		return nil
	}
	title := fmt.Sprintf("begin with room for %d elements", usual.room)
	made := fmt.Sprintf("make([]%s, 0, %d)", elem, usual.room)
	var edits []edit.Edit
	switch {
	case !isNil || lists.NilUnseen(p.Func, s):
		edits = append(edits, edit.Replace(decl, s.Name()+" := "+made))
	case len(all) == 1 && p.Statement(all[0]) == ast.Stmt(all[0]):
		edits = append(edits, edit.Before(all[0], fmt.Sprintf("if %[1]s == nil {\n%[1]s = %[2]s\n}\n", s.Name(), made)))
	default:
		return nil
	}
	f.Advice = fmt.Sprintf("begin with room for %d elements, which saves %s of the arrays, by their sizes in the profile", usual.room, unit.Share(usual.saves))
	f.Risk = "shorter slices need more memory than they do now, and longer ones still grow"
	return p.Fix(report.Mechanical, title, edits...)
}
