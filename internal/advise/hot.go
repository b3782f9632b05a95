package advise

import (
	"fmt"
	"go/ast"
	"go/types"
	"slices"
	"strings"
)

// The rules of this file come last. They speak of lines of which no other rule does, and only where what is allocated there
// shows: as a tenth of all that is, and in the CPU that it takes. There is no patch for what is only known to cost.
// Shares are multiples of what is worth a word, which is a hundredth when nobody asks for another.
const (
	hotShare = 15 // of all objects, or of all bytes
	hotCPU   = 5  // of all CPU, spent on allocating them
)

// A leaf is a function of the runtime that allocates, and what it says about the code above it.
type leaf struct {
	prefix               string // after runtime.
	title, claim, advice string
}

var leaves = []leaf{
	{"growslice", "slice grown by append", "append makes a larger array again and again, and copies what is in the old one",
		"make room before, where it is known how much there will be at most or mostly; or begin with an array that was used before"},
	{"makeslice", "slice made for every call", "a new array is made each time, and garbage when nobody has the slice any more",
		"append to a slice that the caller has, or keep one and use it again; where it stays in the function, one of constant size is on the stack"},
	{"slicebytetostring", "bytes copied to be a text", "each text is a copy of the bytes, since these might change",
		"work on the bytes as far as possible, take parts of a text that is there already, or keep texts that come again"},
	{"stringtoslicebyte", "text copied to be bytes", "each time, the text is copied to an array that may be written to",
		"work on the text, or append it to a buffer that is used again"},
	{"intstring", "text made of a rune", "each text is a new one, of one letter",
		"write the rune to a strings.Builder, or append it to bytes with utf8.AppendRune"},
	{"stringtoslicerune", "text taken apart into runes", "the runes of the text are written to an array of four bytes for each, before any of them is looked at",
		"range over the text, which finds each rune when it is its turn; texts of ASCII alone can be indexed as they are"},
	{"slicerunetostring", "text made of runes", "a text is made of an array of four bytes for each rune",
		"write runes to a strings.Builder, or append them to bytes with utf8.AppendRune"},
	{"concatstring", "text put together for every call", "each sum of texts is a new one, and copies all its parts",
		"append the parts to where they belong in the end, or leave the sum out where it is only compared or looked up"},
	{"makemap", "map made for every call", "a new map is made each time, with tables that grow as it is filled",
		"for a few keys, search a slice; or keep the map, and clear it before it is used again"},
	{"mapassign", "map that grows", "a map that is filled makes larger tables, and places all of its entries anew",
		"make it with room for what comes, or keep it and clear it"},
	{"convT", "value put on the heap for an interface", "what an interface holds is on the heap, unless it is a pointer or a small number",
		"give it a pointer to something that is there anyhow, or take the type itself"},
	{"newobject", "object on the heap for every call", "each time, a new object is allocated, which is garbage soon after",
		"return a value or let the caller say where it is to be; keep one and use it again; or find out why it leaves the function"},
}

// hotLines shows lines that cost something, and of which no other rule has spoken.
func (p *Pass) hotLines(look func(n ast.Node, l *Line)) {
	if p.unit.Module != nil && !p.unit.Module.Main {
		return // nothing can be done there
	}
	at := make([]int, 0, len(p.lines))
	for n := range p.lines {
		at = append(at, n)
	}
	slices.Sort(at)
	for _, number := range at {
		n := p.nodeOn(number, p.lines[number])
		if n == nil {
			continue
		}
		from, to := number, number
		if st := p.simpleStatement(n); st != nil {
			from, to = p.line(st.Pos()), p.line(st.End())
		}
		if !p.told(from, to) {
			look(n, p.lines[number])
		}
	}
}

// nodeOn returns the first node on a line, in the function literal that it begins where the samples are of that.
func (p *function) nodeOn(number int, l *Line) ast.Node {
	first := p.firstOn(number)
	if first == nil || !strings.Contains(l.fn, ".func") || p.literal(first) != nil {
		return first
	}
	var inside ast.Node
	ast.Inspect(first, func(n ast.Node) bool {
		if lit, ok := n.(*ast.FuncLit); ok && inside == nil {
			for _, st := range lit.Body.List {
				if inside == nil && p.line(st.Pos()) == number {
					inside = st
				}
			}
		}
		return inside == nil
	})
	if inside == nil {
		return first
	}
	return inside
}

// firstOn returns the first node that begins on a line.
func (p *function) firstOn(line int) (first ast.Node) {
	ast.Inspect(p.decl.Body, func(n ast.Node) bool {
		if n == nil || first != nil {
			return false
		}
		if _, isBlock := n.(*ast.BlockStmt); !isBlock && p.line(n.Pos()) == line {
			first = n
		}
		return first == nil
	})
	return first
}

// simpleStatement returns the statement that a node is in, when that has no others in it.
func (p *function) simpleStatement(n ast.Node) ast.Stmt {
	st := p.statement(n)
	switch st.(type) {
	case *ast.IfStmt, *ast.ForStmt, *ast.RangeStmt, *ast.SwitchStmt, *ast.TypeSwitchStmt, *ast.SelectStmt, *ast.BlockStmt, *ast.LabeledStmt:
		return nil
	}
	return st
}

// shows reports whether allocating is worth a word.
func (p *Pass) shows(c *cost, least float64) bool {
	return max(p.costs.surely(c, objectsMade), p.costs.surely(c, bytesMade)) >= hotShare*p.least && (p.costs.total[cpu] == 0 || p.costs.part(c, cpu) >= least*p.least)
}

var hotAllocation = &Rule{
	Name: "hot-allocation", Rank: 0, Vague: true,
	Doc: "a line allocates much of what the program does",

	NoFix: "the code does not say whether others still use what the line allocates when it runs again",
	Find: func(p *Pass) {
		p.hotLines(func(n ast.Node, l *Line) {
			if p.helper(p.name) && p.calledHere() {
				return // who calls it is told
			}
			l = p.withHelpers(l)
			c := l.sum(allocating)
			if !p.shows(&c, hotCPU) {
				return
			}
			f := p.leafOf(l, n)
			if p.poolNew(n) != nil && p.getters(l) != nil {
				return // who calls Get is told
			}
			what := leaf{title: "memory allocated for every call", claim: "the line allocates each time it runs", advice: "find out what leaves the function, and whether it has to"}
			if f != nil {
				what = *f
			}
			if f == &leaves[0] && p.beginsWithRoom(n) {
				what.claim = "the room that the slice begins with is too small: " + what.claim
				what.advice = "make more room, where it is known how much there will be at most or mostly; or begin with an array that was used before"
			}
			risk := "who keeps a slice, map or object may be given one that somebody else uses"
			if p.poolNew(n) != nil {
				what = emptyPool
			}
			switch {
			case p.startup(n):
				what.title, what.claim, what.advice = "memory allocated when the program starts", "the line runs before main", laterAdvice
				risk = "who asks first has to wait for it"
			case p.once(n) != often:
				what.title, what.claim = "memory allocated once", "the line runs once"
			}
			claim := what.claim
			if c[objectsMade] > 0 {
				claim = fmt.Sprintf("%s: %.0f%% of all objects come from here, of %d bytes each", claim, 100*p.costs.part(&c, objectsMade), c[bytesMade]/c[objectsMade])
			}
			p.report(n, c, finding{title: what.title, claim: claim, advice: what.advice, risk: risk, onHeap: what.prefix == "" || what.prefix == "newobject"})
		})
	},
}

// allocating is what a line allocates, with what growing and copying takes.
var allocating = either(allocates(), allocates("growslice", "mapassign", "concatstring", "slicebytetostring", "rawstring"))

// helper reports whether a function of the package is no more than a name for one statement: what it costs is up to who calls it, and
// how often.
func (p *function) helper(fn string) bool {
	if p.unit.helpers == nil {
		p.unit.helpers = map[string]bool{}
		for _, f := range p.unit.files {
			for _, d := range f.ast.Decls {
				decl, ok := d.(*ast.FuncDecl)
				if !ok || decl.Body == nil || len(decl.Body.List) != 1 {
					continue
				}
				if st, ok := decl.Body.List[0].(*ast.AssignStmt); !ok || len(st.Lhs) != 1 {
					continue
				}
				if fn, ok := p.info().Defs[decl.Name].(*types.Func); ok {
					p.unit.helpers[p.profileName(fn)] = true
				}
			}
		}
	}
	return p.unit.helpers[strings.ReplaceAll(fn, "[...]", "")]
}

// calledHere reports whether a line of another function that is looked at calls this one.
func (p *Pass) calledHere() bool {
	return slices.ContainsFunc(p.all, func(f *costly) bool {
		for _, l := range f.lines {
			if f.decl != p.decl && slices.ContainsFunc(l.chains, func(c *chain) bool { return c.first() == p.name }) {
				return true
			}
		}
		return false
	})
}

// withHelpers returns what is below a line as if helpers that it calls were written out there.
func (p *function) withHelpers(l *Line) *Line {
	out := *l
	out.chains = nil
	for _, c := range l.chains {
		if c.first() != "" && p.helper(c.first()) {
			called := *c
			called.below = c.below[1:]
			c = &called
		}
		out.chains = append(out.chains, c)
	}
	return &out
}

// leafOf returns the leaf that takes most CPU below a line, or the one that the code on it shows, where only memory was profiled.
func (p *function) leafOf(l *Line, n ast.Node) *leaf {
	var most *leaf
	best := int64(0)
	for i := range leaves {
		c := l.sum(allocates(leaves[i].prefix))
		if leaves[i].prefix == "mapassign" && p.mapWithRoom(n) {
			continue // the room is not what is missing
		}
		if c[cpu] > best {
			most, best = &leaves[i], c[cpu]
		}
	}
	if most != nil {
		return most
	}
	ast.Inspect(n, func(n ast.Node) bool {
		if most == nil && n != nil {
			if prefix := p.leafFor(n); prefix != "" {
				i := slices.IndexFunc(leaves, func(l leaf) bool { return l.prefix == prefix })
				most = &leaves[i]
			}
		}
		return most == nil
	})
	return most
}

// leafFor returns the leaf that a node calls, as far as it shows in the code.
func (p *function) leafFor(n ast.Node) string {
	switch n := n.(type) {
	case *ast.CallExpr:
		switch {
		case p.builtin(n, "append") != nil:
			return "growslice"
		case p.builtin(n, "make") != nil && isMap(p.typeOf(n)):
			return "makemap"
		case p.builtin(n, "make") != nil:
			return "makeslice"
		case p.builtin(n, "new") != nil:
			return "newobject"
		case p.bytesOf(n) != nil:
			return "stringtoslicebyte"
		case p.stringOf(n) != nil:
			return "slicebytetostring"
		}
		arg, to := p.conversion(n)
		switch {
		case arg == nil || p.isConst(n):
		case isString(p.typeOf(arg)) && isRunes(to):
			return "stringtoslicerune"
		case isString(to) && isRunes(p.typeOf(arg)):
			return "slicerunetostring"
		case isString(to) && isBasic(p.typeOf(arg), types.IsInteger):
			return "intstring"
		}
	case *ast.BinaryExpr:
		if isString(p.typeOf(n)) && !p.isConst(n) {
			return "concatstring"
		}
	case *ast.UnaryExpr:
		if _, ok := n.X.(*ast.CompositeLit); ok {
			return "newobject"
		}
	}
	return ""
}

var hotCall = &Rule{
	Name: "hot-call", Rank: 0, Vague: true,
	Doc: "a call of a library allocates much of what the program does",

	NoFix: "the code does not say whether the result can be kept, or left out",
	Find: func(p *Pass) {
		p.hotLines(func(n ast.Node, l *Line) {
			by := map[string]*cost{}
			for _, c := range l.chains {
				if fn := c.first(); fn != "" && !isRuntime(fn) && !p.mine(fn) && !talks(fn) {
					if by[fn] == nil {
						by[fn] = new(cost)
					}
					by[fn].add(&c.v)
				}
			}
			most := ""
			for fn, c := range by {
				if most == "" || p.costs.weight(c) > p.costs.weight(by[most]) || p.costs.weight(c) == p.costs.weight(by[most]) && fn < most {
					most = fn
				}
			}
			if most == "" || p.knows(p.name, most) {
				return
			}
			c := *by[most]
			if !p.shows(&c, hotCPU) {
				return
			}
			if p.poolNew(n) != nil && p.getters(l) != nil {
				return // who calls Get is told
			}
			name := shortName(most)
			what, risk := p.unknownCallee(most, n), "what is used again is seen by all who have it"
			if k := knownCallee(most); k != nil {
				what = *k
				if strings.Contains(k.advice, "(Grow)") && p.hasGrown(n) {
					what.claim = "the room that Grow made is too small: " + what.claim
					what.advice = "make more room where it is known how much there will be, or use a buffer again"
				}
			}
			if p.poolNew(n) != nil {
				what.title, what.claim, what.advice = emptyPool.title, emptyPool.claim, emptyPool.advice
			}
			switch {
			case p.startup(n):
				what.title, what.claim, what.advice = "work that is done when the program starts", name+" is called here before main", laterAdvice
				risk = "who asks first has to wait for it"
			case p.once(n) != often:
				what.title = name + " allocates much in one call"
			}
			p.report(n, c, finding{title: what.title, claim: what.claim, advice: what.advice, callee: most, risk: risk})
		})
	},
}

// laterAdvice is for what runs before main.
const laterAdvice = "make it when it is first asked for, with sync.OnceValue, or keep it in a form that needs no such work"

// emptyPool is about what the New of a pool makes.
var emptyPool = leaf{title: "pool that is often empty", claim: "Get calls the New of the pool when there is nothing in it",
	advice: "see that all that Get hands out comes back through Put, on every way out of the function"}

// unknownCallee says of a function of another package what its results tell.
func (p *function) unknownCallee(fn string, n ast.Node) callee {
	name := shortName(fn)
	out := callee{title: name + " allocates for every call", claim: name + " allocates each time",
		advice: "look whether it is needed in all cases, and whether there is a form that takes a buffer, or a value to use again"}
	sig := p.signatureOf(fn, n)
	if sig == nil {
		return out
	}
	fails := false
	for v := range sig.Results().Variables() {
		if isString(v.Type()) || refers(v.Type()) {
			out.claim = name + " allocates what it returns, or needs in between, each time"
			out.advice = "look whether the result can be kept, whether it is needed in all cases, and whether there is a form that takes a buffer, or a value to use again"
			return out
		}
		fails = fails || types.IsInterface(v.Type())
	}
	if !fails {
		out.claim = name + " allocates what it needs in between, each time"
	}
	return out
}

// signatureOf returns the signature of what a statement calls by a name that profiles have, or nil.
func (p *function) signatureOf(fn string, n ast.Node) (sig *types.Signature) {
	var in ast.Node = p.statement(n)
	if p.statement(n) == nil {
		in = n
	}
	ast.Inspect(in, func(n ast.Node) bool {
		if call, ok := n.(*ast.CallExpr); ok && sig == nil {
			if f := p.callee(call); f != nil && p.calling(call)(&chain{below: []string{fn}}) {
				sig = f.Signature()
			}
		}
		return sig == nil
	})
	return sig
}

// hasGrown reports whether the function makes room in the Builder or Buffer that a statement has a method called of.
func (p *function) hasGrown(n ast.Node) bool {
	found := false
	ast.Inspect(n, func(n ast.Node) bool {
		sel, ok := n.(*ast.SelectorExpr)
		if !ok || found {
			return !found
		}
		if b := p.local(sel.X); b != nil {
			found = slices.ContainsFunc(p.uses(b), func(id *ast.Ident) bool {
				up, ok := p.parent(id).(*ast.SelectorExpr)
				return ok && up.Sel.Name == "Grow"
			})
		}
		return !found
	})
	return found
}

// mapWithRoom reports whether a statement fills a map of the function that was made with room.
func (p *function) mapWithRoom(n ast.Node) bool {
	found := false
	ast.Inspect(n, func(n ast.Node) bool {
		if index, ok := n.(*ast.IndexExpr); ok {
			if m := p.local(index.X); m != nil && isMap(m.Type()) {
				_, value := p.declared(m)
				made := p.builtin(value, "make")
				found = found || made != nil && len(made.Args) > 1
			}
		}
		return !found
	})
	return found
}

// beginsWithRoom reports whether a statement appends to a slice of the function that was made with room.
func (p *function) beginsWithRoom(n ast.Node) bool {
	found := false
	ast.Inspect(n, func(n ast.Node) bool {
		if call := p.builtin(n, "append"); call != nil && len(call.Args) > 0 {
			if s := p.local(call.Args[0]); s != nil {
				_, value := p.declared(s)
				found = found || p.hasRoom(value)
			}
		}
		return !found
	})
	return found
}

func isRunes(t types.Type) bool {
	s, ok := t.Underlying().(*types.Slice)
	return ok && isBasic(s.Elem(), types.IsInteger) && !isBytes(t)
}

// mine reports whether a function is of the module that is looked at.
func (p *function) mine(fn string) bool {
	pkg := strings.TrimSuffix(packageOf(fn), "_test") // what is inlined into a test is named as a part of it
	return pkg == packageOf(p.name) || p.unit.Module != nil && (pkg == p.unit.Module.Path || strings.HasPrefix(pkg, p.unit.Module.Path+"/"))
}
