package rules

import (
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"slices"

	"github.com/hone-perf/hone/internal/advise"
	"github.com/hone-perf/hone/internal/advise/facts/code"
	"github.com/hone-perf/hone/internal/advise/facts/cost"
	"github.com/hone-perf/hone/internal/advise/facts/kind"
	"github.com/hone-perf/hone/internal/advise/facts/lists"
	"github.com/hone-perf/hone/internal/advise/facts/once"
	"github.com/hone-perf/hone/internal/advise/facts/owner"
	"github.com/hone-perf/hone/internal/advise/facts/pool"
	"github.com/hone-perf/hone/internal/report/missing"
	"github.com/hone-perf/hone/internal/unit"
)

var hotAllocation = &advise.Rule{
	Name: "hot-allocation", Rank: 0, Vague: true,
	Doc: "a line makes a large share of the program's allocations",

	NoFix: missing.StillInUse,
	Find: func(p *advise.Pass) {
		hotLines(p, func(n ast.Node, l *cost.Line) {
			if p.Helper(p.Name) && calledHere(p) {
				return // who calls it is told
			}
			l = withHelpers(p.Func, l)
			c := l.Sum(allocating)
			if !shows(p, n, &c) {
				return
			}
			if copyForCaller(p.Func, n) && !mostly(p, &c) {
				return
			}
			f := leafOf(p, l, n)
			if pool.InNew(p.Func, n) != nil && getters(p, l) != nil {
				return // who calls Get is told
			}
			what := leaf{title: "memory allocated on every call", claim: "the line allocates each time it runs", advice: "find out what escapes the function, and whether it has to"}
			if f != nil {
				what = *f
			}
			if f == growing && beginsWithRoom(p.Func, n) {
				what.claim = "the initial capacity of the slice is too small: " + what.claim
				what.advice = "raise the initial capacity if the usual or maximum length is known, or reuse a slice"
			}
			if also := besides(p, l, f); also != nil {
				what.claim += "; also, " + also.claim
				what.advice += "; " + also.advice
			}
			risk := "code that keeps a reused slice, map or object may see the data of another caller"
			if pool.InNew(p.Func, n) != nil {
				what = emptyPool
			}
			switch {
			case p.Startup(n):
				what.title, what.claim, what.advice = "memory allocated when the program starts", "the line runs before main", laterAdvice
				risk = "the first caller has to wait for it"
			case p.Once(n) != once.Often:
				what.title, what.claim = "memory allocated once", "the line runs once"
			}
			claim := what.claim
			if (fewObjects(p, &c) || f == growing && appendsMade(p.Func, n)) && c[cost.BytesMade] > 0 {
				claim = fmt.Sprintf("%s: %s of all bytes come from here", claim, unit.Share(p.Costs.Part(&c, cost.BytesMade)))
			} else if c[cost.ObjectsMade] > 0 {
				claim = fmt.Sprintf("%s: %s of all objects come from here, of %d bytes each", claim, unit.Share(p.Costs.Part(&c, cost.ObjectsMade)), c[cost.BytesMade]/c[cost.ObjectsMade])
			}
			if f != nil { // the place is that of the expression, which the compiler says more about
				if e := shownLeaf(p.Func, n, f.prefix); e != nil && p.Line(e.Pos()) == p.Line(n.Pos()) {
					n = e
				}
			}
			told := advise.Finding{Title: what.title, Claim: claim, Advice: what.advice, Risk: risk, OnHeap: what.prefix == "" || what.prefix == "newobject"}
			if f == growing && p.Loop(n) != nil {
				told.NoFix = missing.ElementsUnknown.Of() // room would be enough, whoever has the slice
			}
			if st, ok := p.Statement(n).(*ast.AssignStmt); ok && f == growing && lists.Added(p.Func, st) != nil {
				if s := p.Local(st.Lhs[0]); s != nil {
					told.Fixes = usualRoom(p, s, &told)
				}
			}
			if told.NoFix.Fact == "" {
				told.NoFix = keptBy(p, n, f)
			}
			p.Report(n, c, told)
		})
	},
}

// keptBy says who has what a statement allocates, where the code shows that it cannot be used again: a list that grows over calls, or a map that
// leaves the function.
func keptBy(p *advise.Pass, n ast.Node, f *leaf) (why missing.Reason) {
	st, ok := p.Statement(n).(*ast.AssignStmt)
	if !ok || f == nil || len(st.Lhs) != 1 {
		return why
	}
	target := st.Lhs[0]
	switch f.prefix {
	case growing.prefix:
		if p.Local(target) == nil {
			return missing.GrowsOverCalls.Of(p.Src(target))
		}
	case "mapassign", "makemap":
		if index, ok := target.(*ast.IndexExpr); ok {
			target = index.X
		}
		if m := p.Local(target); m != nil && kind.IsMap(m.Type()) && !owner.StaysInside(p.Func, m) {
			return missing.MayBeKept.Of(m.Name())
		}
	}
	return why
}

var leaves = []leaf{
	{"growslice", "slice grown by append", "append allocates a larger array again and again, and copies the old one",
		"preallocate if the usual or maximum length is known, or reuse a slice"},
	{"makeslice", "slice allocated on every call", "make allocates a new array on every call",
		"append to a slice that the caller passes, or keep one and reuse it; a slice of constant size that does not escape is on the stack"},
	{"slicebytetostring", "bytes converted to a string", "each string is a copy of the bytes, because the bytes may change later",
		"use the bytes without the conversion where possible, take a part of an existing string, or intern strings that repeat"},
	{"stringtoslicebyte", "string converted to bytes", "each conversion copies the string, because the bytes may be written to",
		"use the string itself, or append it to a reused buffer"},
	{"intstring", "rune converted to a string", "each conversion makes a new string of one character",
		"write the rune to a strings.Builder, or append it to bytes with utf8.AppendRune"},
	{"stringtoslicerune", "string converted to runes", "the conversion decodes the whole string into an array with four bytes for each rune",
		"range over the string, which decodes one rune at a time; a string of ASCII characters can be indexed directly"},
	{"slicerunetostring", "runes converted to a string", "the conversion encodes all runes, of four bytes each, into a new string",
		"write runes to a strings.Builder, or append them to bytes with utf8.AppendRune"},
	{"concatstring", "strings concatenated on every call", "each concatenation allocates a new string, and copies all parts",
		"append the parts to the final buffer, or avoid the string where it is only compared or looked up"},
	{"makemap", "map allocated on every call", "make allocates a new map on every call, and its tables grow while it is filled",
		"for a few keys, search a slice; or keep the map, and clear it before reuse"},
	{"mapassign", "map that allocates while it is filled", "a map allocates room for its first entries, and larger tables when it is full",
		"make it with a size where it gets more than 8 entries, or keep it and clear it"},
	{"convT", "value moved to the heap for an interface", "a value in an interface is on the heap, unless it is a pointer or a small number",
		"pass a pointer to an existing value, or accept the concrete type"},
	{"newobject", "object allocated on every call", "each call allocates a new object",
		"return a value, let the caller provide the memory, reuse an object, or find out why it escapes"},
}

// mapWritten is about a map literal, which makes the map with room for its entries.
var mapWritten = leaf{"mapassign", "map made on every call", "the literal makes a new map, with its entries, each time the line runs",
	"if the keys are always the same, use a struct where those who read it allow that; or keep one map, and set its values again"}

// What CPU samples tell of maps that are filled.
var (
	mapThatGrows  = leaf{"mapassign", "map that grows", "a map that is filled allocates larger tables, and moves all entries to them", "make it with a size, or keep it and clear it"}
	mapThatBegins = leaf{"mapassign", "map filled on every call", "a new map allocates room for 8 entries with its first one",
		"for a few keys, search a slice; make the map only where it is needed, or keep it and clear it; a size of up to 8 changes nothing"}
)

// withHelpers returns what is below a line as if helpers that it calls were written out there.
func withHelpers(f *code.Func, l *cost.Line) *cost.Line {
	out := *l
	out.Chains = nil
	for _, c := range l.Chains {
		if c.First() != "" && f.Helper(c.First()) {
			called := *c
			called.Below = c.Below[1:]
			c = &called
		}
		out.Chains = append(out.Chains, c)
	}
	return &out
}

// leafOf returns the leaf that takes most CPU below a line, or the one that the code on it shows, where only memory was profiled. An element that
// is allocated for append comes before the array of the list, unless CPU samples surely say otherwise.
func leafOf(p *advise.Pass, l *cost.Line, n ast.Node) *leaf {
	f := p.Func
	var most *leaf
	best := int64(0)
	for i := range leaves {
		c, is := l.Sum(cost.Allocates(leaves[i].prefix)), &leaves[i]
		if is.prefix == "mapassign" {
			switch begins, grows := l.Sum(mapBegins), l.Sum(mapGrows); {
			case mostlyBegins(begins, grows):
				is = &mapThatBegins
			case mapWithRoom(f, n):
				continue // the room is not what is missing
			case grows[cost.CPU] > 0:
				is = &mapThatGrows
			}
		}
		if c[cost.CPU] > best {
			most, best = is, c[cost.CPU]
		}
	}
	if most != nil && (most.prefix == "makemap" || most.prefix == "mapassign") && writesMap(f, n) {
		return &mapWritten
	}
	e := shownLeaf(f, n, "")
	if e == nil || most != nil && most != growing {
		return most
	}
	prefix := leafFor(f, e)
	shown := &leaves[slices.IndexFunc(leaves, func(l leaf) bool { return l.prefix == prefix })]
	if most == growing {
		c, all := l.Sum(cost.Allocates(prefix)), l.Sum(allocating)
		lead := float64(best - c[cost.CPU])
		c.Add(&cost.Cost{cost.CPU: best})
		if fewObjects(p, &all) || lead*lead > 4*p.Costs.Spread(&c, cost.CPU) {
			return most
		}
	}
	return shown
}

// besides returns the second cause of what a line allocates, or nil if it takes less than a quarter of the CPU time of the first.
func besides(p *advise.Pass, l *cost.Line, told *leaf) *leaf {
	if told == nil {
		return nil
	}
	first := cost.Allocates(told.prefix)
	all := l.Sum(first)
	var also *leaf
	best := max(all[cost.CPU]/4, 1)
	for i := range leaves {
		is := cost.Allocates(leaves[i].prefix)
		c := l.Sum(func(c *cost.Chain) bool { return c.OnCPU && is(c) && !first(c) })
		if told.prefix == "mapassign" && leaves[i].prefix == "makemap" || told == &mapWritten && leaves[i].prefix == "newobject" {
			continue // of the same map
		}
		if leaves[i].prefix != "mapassign" && c[cost.CPU] >= best && p.Costs.Surely(&c, cost.CPU) > 0 {
			also, best = &leaves[i], c[cost.CPU]+1
		}
	}
	return also
}

// growing is what append does with the array of a list.
var growing = &leaves[0]

// fewObjects reports whether a cost is a much smaller part of all objects than of all bytes.
func fewObjects(p *advise.Pass, c *cost.Cost) bool {
	return p.Costs.Part(c, cost.ObjectsMade) < p.Costs.Part(c, cost.BytesMade)/10
}

// shownLeaf returns the first expression in a node that calls the leaf with a prefix, or any leaf if prefix is "", or nil. An element that is
// allocated for append comes before the array of the list: append makes a larger array now and then, but an element for each call.
func shownLeaf(f *code.Func, n ast.Node, prefix string) (found ast.Node) {
	ast.Inspect(n, func(n ast.Node) bool {
		if n == nil || found != nil {
			return false
		}
		if is := leafFor(f, n); is != "" && (prefix == "" || is == prefix) {
			found = n
			if call := f.Builtin(n, "append"); call != nil && prefix == "" && call.Ellipsis == token.NoPos {
				for _, element := range call.Args[1:] {
					if made := shownLeaf(f, element, ""); made != nil {
						found = made
						break
					}
				}
			}
		}
		return found == nil
	})
	return found
}

// appendsMade reports whether a statement appends elements that it allocates: then most of its objects are those.
func appendsMade(f *code.Func, n ast.Node) bool {
	e := shownLeaf(f, n, "")
	return e != nil && leafFor(f, e) != growing.prefix
}

// leafFor returns the leaf that a node calls, as far as it shows in the code.
func leafFor(f *code.Func, n ast.Node) string {
	switch n := n.(type) {
	case *ast.CallExpr:
		switch {
		case f.Builtin(n, "append") != nil:
			return "growslice"
		case f.Builtin(n, "make") != nil && kind.IsMap(f.TypeOf(n)):
			return "makemap"
		case f.Builtin(n, "make") != nil:
			return "makeslice"
		case f.Builtin(n, "new") != nil:
			return "newobject"
		case f.BytesOf(n) != nil:
			return "stringtoslicebyte"
		case f.StringOf(n) != nil:
			return "slicebytetostring"
		}
		arg, to := f.Conversion(n)
		switch {
		case arg == nil || f.IsConst(n):
		case kind.IsString(f.TypeOf(arg)) && kind.IsRunes(to):
			return "stringtoslicerune"
		case kind.IsString(to) && kind.IsRunes(f.TypeOf(arg)):
			return "slicerunetostring"
		case kind.IsString(to) && kind.IsBasic(f.TypeOf(arg), types.IsInteger):
			return "intstring"
		}
	case *ast.BinaryExpr:
		if kind.IsString(f.TypeOf(n)) && !f.IsConst(n) {
			return "concatstring"
		}
	case *ast.UnaryExpr:
		if _, ok := n.X.(*ast.CompositeLit); ok {
			return "newobject"
		}
	}
	return ""
}

// writesMap reports whether a node has a map literal with entries.
func writesMap(f *code.Func, n ast.Node) bool {
	found := false
	ast.Inspect(n, func(n ast.Node) bool {
		lit, ok := n.(*ast.CompositeLit)
		found = found || ok && len(lit.Elts) > 0 && kind.IsMap(f.TypeOf(lit))
		return !found
	})
	return found
}

// mapWithRoom reports whether a statement fills a map of the function that was made with room.
func mapWithRoom(f *code.Func, n ast.Node) bool {
	found := false
	ast.Inspect(n, func(n ast.Node) bool {
		if index, ok := n.(*ast.IndexExpr); ok {
			if m := f.Local(index.X); m != nil && kind.IsMap(m.Type()) {
				_, value := f.Declared(m)
				made := f.Builtin(value, "make")
				found = found || made != nil && len(made.Args) > 1
			}
		}
		return !found
	})
	return found
}

// beginsWithRoom reports whether a statement appends to a slice of the function that was made with room.
func beginsWithRoom(f *code.Func, n ast.Node) bool {
	found := false
	ast.Inspect(n, func(n ast.Node) bool {
		if call := f.Builtin(n, "append"); call != nil && len(call.Args) > 0 {
			if s := f.Local(call.Args[0]); s != nil {
				_, value := f.Declared(s)
				found = found || lists.HasRoom(f, value)
			}
		}
		return !found
	})
	return found
}
