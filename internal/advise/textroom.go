package advise

import (
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"strings"

	"github.com/hone-perf/hone/internal/report"
)

var textRoom = &Rule{
	Name: "text-room", Rank: 4,
	Doc: "a Builder or Buffer grows step by step",

	NoFix: "how long the text will be is not known before",
	Find: func(p *Pass) {
		seen := map[*types.Var]bool{}
		each(p, func(call *ast.CallExpr) {
			if b, _ := p.writeTo(call); b != nil && !seen[b] {
				seen[b] = true
				p.grownBuffer(b)
			}
		})
	},
}

// writeTo returns the Builder or Buffer of the function that a call writes to, and the name of its type.
func (p *function) writeTo(call *ast.CallExpr) (*types.Var, string) {
	sel, ok := call.Fun.(*ast.SelectorExpr)
	if !ok || !strings.HasPrefix(sel.Sel.Name, "Write") {
		return nil, ""
	}
	b := p.local(sel.X)
	if b == nil || p.isParam(b) {
		return nil, ""
	}
	t := types.TypeString(b.Type(), nil)
	switch t = strings.TrimPrefix(t, "*"); t {
	case "strings.Builder", "bytes.Buffer":
		return b, t
	}
	return nil, ""
}

func (p *Pass) grownBuffer(b *types.Var) {
	decl, value := p.declared(b)
	if decl == nil || !p.isNewBuffer(decl, value) || p.captured(b, p.decl.Body) {
		return
	}
	var writes []*ast.CallExpr
	lines := map[int]bool{}
	var sum, most cost
	var worst *ast.CallExpr
	typ := strings.TrimPrefix(types.TypeString(b.Type(), nil), "*")
	for _, id := range p.uses(b) {
		sel, ok := p.parent(id).(*ast.SelectorExpr)
		if !ok {
			ref, isRef := p.parent(id).(*ast.UnaryExpr)
			if _, points := b.Type().(*types.Pointer); !points && !(isRef && ref.Op == token.AND) {
				return // a copy would have the same room
			}
			continue
		}
		if sel.Sel.Name == "Grow" || sel.Sel.Name == "Bytes" { // what nothing was written to has none
			return
		}
		call, ok := p.parent(sel).(*ast.CallExpr)
		if !ok {
			continue
		}
		if to, _ := p.writeTo(call); to != b || lines[p.line(call.Pos())] {
			continue
		}
		lines[p.line(call.Pos())] = true
		c := p.cost(call, growingBuffer)
		sum.add(&c)
		if worst == nil || p.costs.weight(&c) > p.costs.weight(&most) {
			worst, most = call, c
		}
		writes = append(writes, call)
	}
	if worst == nil {
		return
	}
	f := finding{
		title:  "text that grows step by step",
		claim:  fmt.Sprintf("a %s begins with nothing: it makes a larger array again and again, and copies %s each time", typ, b.Name()),
		advice: "begin with room for what is usual (Grow)",
		risk:   "some of the room may not be needed",
		callee: strings.Replace(typ, ".", ".(*", 1) + ")." + worst.Fun.(*ast.SelectorExpr).Sel.Name,
	}
	for _, w := range writes {
		if w != worst {
			f.also = append(f.also, w)
		}
	}
	if n := p.roomFor(decl, writes); n != "" {
		f.fixes = p.fix(report.Mechanical, "make room for as long a text as there is to read", after(decl, fmt.Sprintf("\n%s.Grow(%s)", b.Name(), n)))
	}
	if n := usualSize(p, writes, growingBuffer, byGrowing, halfOfGrowing); n > 0 {
		f.fixes = append(f.fixes, p.fix(report.Mechanical, fmt.Sprintf("make room for %d bytes, as most texts took", n), after(decl, fmt.Sprintf("\n%s.Grow(%d)", b.Name(), n)))...)
	}
	p.report(worst, sum, f)
}

// growingBuffer is what making a Builder or Buffer larger costs.
func growingBuffer(c *chain) bool {
	first := c.first()
	if strings.HasPrefix(first, "strings.(*Builder).Write") {
		return !c.onCPU || c.has("runtime.growslice")
	}
	return strings.HasPrefix(first, "bytes.(*Buffer).Write") && c.has("bytes.(*Buffer).grow", "bytes.growSlice")
}

// isNewBuffer reports whether a declaration is that of a Builder or Buffer alone, with nothing in it.
func (p *function) isNewBuffer(decl ast.Stmt, value ast.Expr) bool {
	switch d := decl.(type) {
	case *ast.AssignStmt:
		if len(d.Lhs) > 1 {
			return false
		}
	case *ast.DeclStmt:
		if len(d.Decl.(*ast.GenDecl).Specs) > 1 {
			return false
		}
		if value == nil {
			return true
		}
	}
	if ref, ok := value.(*ast.UnaryExpr); ok {
		value = ref.X
	}
	if lit, ok := value.(*ast.CompositeLit); ok {
		return len(lit.Elts) == 0
	}
	return p.builtin(value, "new") != nil && p.statement(decl) == decl
}

// roomFor returns how long the text is that a loop with writes in it goes through, if there is one. How long others are that the function is
// given says little: what it makes of them may be a small part.
func (p *function) roomFor(decl ast.Stmt, writes []*ast.CallExpr) string {
	there := func(e ast.Expr) bool {
		v := p.local(e)
		return v != nil && v.Pos() < decl.Pos() && (isString(v.Type()) || isBytes(v.Type()))
	}
	for _, w := range writes {
		for l := p.loop(w); l != nil && l.Pos() > decl.Pos(); l = p.loop(l) {
			switch l := l.(type) {
			case *ast.RangeStmt:
				if there(l.X) {
					return "len(" + p.src(l.X) + ")"
				}
				if size := p.builtin(l.X, "len"); size != nil && there(size.Args[0]) {
					return p.src(l.X)
				}
			case *ast.ForStmt:
				if cond, ok := l.Cond.(*ast.BinaryExpr); ok {
					if size := p.builtin(cond.Y, "len"); size != nil && cond.Op == token.LSS && there(size.Args[0]) {
						return p.src(size)
					}
				}
			}
		}
	}
	return ""
}

// Of the sizes of texts that samples tell.
const (
	leastRoom  = 32      // that is worth a word; smaller objects share memory, and samples of them do not tell how large they are
	mostRoom   = 4 << 10 // where a text is short now and then, no more than that is wasted
	fewSamples = 4       // of one size are chance
)

// byGrowing and byAdding say in how many arrays a text is that grows from half of a size to that size: as append makes them larger, and where a new
// text is made for each part of it, all of which are of a like size. The last step is half of that on average where texts are made by adding.
func byGrowing(size int64) float64 {
	switch {
	case size <= 512:
		return 1
	case size <= 2048:
		return 2
	}
	return 3
}

func byAdding(size int64) float64 { return float64(size) }

// The shares of texts that are usual.
const (
	halfOfGrowing = 0.5
	halfOfAdding  = 0.25
)

// usualSize returns how many bytes at least half of the texts took that are put together at some nodes, as a power of two: profiles tell how large
// the arrays were that they were in on the way. It is 0 where there are too few samples to tell, and where texts are very small or large.
func usualSize[N ast.Node](p *Pass, nodes []N, match func(*chain) bool, arrays func(size int64) float64, share float64) int64 {
	sizes := map[int64]*cost{}
	lines := map[int]bool{}
	for _, n := range nodes {
		for l := p.line(n.Pos()); l <= p.line(n.End()); l++ {
			if p.lines[l] == nil || lines[l] {
				continue
			}
			lines[l] = true
			for _, c := range p.lines[l].chains {
				if match(c) && c.size >= leastRoom && c.v[objectsMade] > 0 {
					if sizes[c.size] == nil {
						sizes[c.size] = &cost{}
					}
					sizes[c.size].add(&c.v)
				}
			}
		}
	}
	texts := map[int64]float64{} // that were so large, and larger ones on their way
	most := 0.0
	for size, c := range sizes {
		n := float64(c[objectsMade])
		if n*n >= fewSamples*p.costs.spread(c, objectsMade) {
			texts[size] = n / arrays(size)
			most = max(most, texts[size])
		}
	}
	usual := int64(0)
	for size, n := range texts {
		if n >= share*most {
			usual = max(usual, size)
		}
	}
	if usual > mostRoom {
		return 0
	}
	return usual
}
