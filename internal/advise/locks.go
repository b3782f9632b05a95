package advise

import (
	"cmp"
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"slices"
	"strings"

	"github.com/hone-perf/hone/internal/report"
	amount "github.com/hone-perf/hone/internal/unit"
)

var (
	lockFuncs   = []string{"sync.(*Mutex).Lock", "sync.(*RWMutex).Lock", "sync.(*RWMutex).RLock"}
	unlockFuncs = []string{"sync.(*Mutex).Unlock", "sync.(*RWMutex).Unlock", "sync.(*RWMutex).RUnlock"}
)

// A region is what a function does while it holds a mutex.
type region struct {
	p     *Pass
	lock  *ast.CallExpr
	name  string // of the function called: Lock, RLock
	mutex types.Object
	body  []ast.Stmt // between Lock and Unlock
	waits cost
	held  cost
}

// regions returns what the function locks itself.
func (p *Pass) regions() (out []*region) {
	each(p, func(call *ast.CallExpr) {
		if p.calls(call, "(*sync.Mutex).Lock", "(*sync.RWMutex).Lock", "(*sync.RWMutex).RLock") == nil {
			return
		}
		sel, ok := call.Fun.(*ast.SelectorExpr)
		if !ok {
			return
		}
		m := p.mutexOf(sel)
		st, isStmt := p.parent(call).(*ast.ExprStmt)
		if m == nil || !isStmt {
			return
		}
		r := &region{p: p, lock: call, name: sel.Sel.Name, mutex: m}
		if block, ok := p.parent(st).(*ast.BlockStmt); ok {
			rest := block.List[slices.Index(block.List, ast.Stmt(st))+1:]
			for i, s := range rest {
				if p.unlocks(s, m) {
					if _, deferred := s.(*ast.DeferStmt); deferred {
						r.body = rest[i+1:]
					}
					break
				}
				r.body = append(r.body, s)
			}
		}
		out = append(out, r)
	})
	return out
}

// mutexOf returns the field or variable that a method is called of. A mutex that is embedded is its struct.
func (p *function) mutexOf(sel *ast.SelectorExpr) types.Object {
	if s := p.info().Selections[sel]; s != nil && len(s.Index()) > 1 {
		t := s.Recv()
		if ptr, ok := t.Underlying().(*types.Pointer); ok {
			t = ptr.Elem()
		}
		if st, ok := t.Underlying().(*types.Struct); ok {
			return st.Field(s.Index()[0])
		}
	}
	return p.object(sel.X)
}

func (p *function) unlocks(s ast.Stmt, m types.Object) bool {
	var call ast.Expr
	switch s := s.(type) {
	case *ast.ExprStmt:
		call = s.X
	case *ast.DeferStmt:
		call = s.Call
	}
	c, ok := call.(*ast.CallExpr)
	if !ok {
		return false
	}
	sel, ok := c.Fun.(*ast.SelectorExpr)
	return ok && strings.HasSuffix(sel.Sel.Name, "Unlock") && p.mutexOf(sel) == m
}

var contendedLock = &Rule{
	Name: "contended-lock", Rank: 20,
	Doc: "goroutines wait for a mutex that others hold",

	NoFix: "what else the mutex guards is not known",
	Find: func(p *Pass) {
		if p.costs.total[blocked]+p.costs.total[held] == 0 {
			return
		}
		all := p.ofPackage()
		if all[0] != p.costly {
			return // once for a package
		}
		byMutex := map[types.Object][]*region{}
		var order []types.Object
		for _, f := range all {
			q := p.at(f)
			list := q.regions()
			for _, r := range list {
				r.waits = q.cost(r.lock, below(lockFuncs...))
				same := 0
				for _, o := range list {
					if o.mutex == r.mutex {
						same++
					}
				}
				// A profile of mutexes names the line of the Unlock, which may be that of the end.
				held := q.total(below(unlockFuncs...))
				for m := range held {
					held[m] /= int64(same)
				}
				r.held = held
				if byMutex[r.mutex] == nil {
					order = append(order, r.mutex)
				}
				byMutex[r.mutex] = append(byMutex[r.mutex], r)
			}
		}
		for _, m := range order {
			p.contended(m, byMutex[m])
		}
	},
}

// waited is how much of waiting there is in a cost: from the side of those that wait, or of those that let them.
func waited(c *cost) int64 { return max(c[blocked], c[held]) }

func (p *function) contended(m types.Object, list []*region) {
	slices.SortStableFunc(list, func(a, b *region) int {
		return cmp.Compare(waited(&b.waits)+waited(&b.held), waited(&a.waits)+waited(&a.held))
	})
	var sum cost
	for _, r := range list {
		w, h := r.waits, r.held
		sum[blocked] += w[blocked]
		sum[held] += h[held]
	}
	worst := list[0]
	var who []string
	for _, r := range list {
		if w := waited(&r.waits) + waited(&r.held); w > 0 && w*20 > waited(&sum) {
			text := r.p.decl.Name.Name
			if r.waits[blocked] > 0 {
				text += " waited " + amount.Format(r.waits[blocked], "nanoseconds", amount.Auto)
			}
			if r.held[held] > 0 {
				if r.waits[blocked] > 0 {
					text += ", and"
				}
				text += " let others wait " + amount.Format(r.held[held], "nanoseconds", amount.Auto)
			}
			who = append(who, text)
		}
	}
	f := finding{
		title: "goroutines wait for " + mutexName(m),
		claim: strings.Join(who, "; "),
		risk:  "what was true while the mutex was held may not be so any more when it is let go in between",
	}
	q := worst.p
	f.callee = map[bool]string{true: "sync.(*RWMutex)." + worst.name, false: "sync.(*Mutex)." + worst.name}[isRW(m)]
	readers := 0
	for _, r := range list {
		if r.name == "RLock" {
			readers++
		}
	}
	work := q.workIn(worst.body)
	switch {
	case isRW(m) && readers > 0 && q.shortRegions(list):
		f.title += ", an RWMutex around next to nothing"
		f.claim += "; RLock and RUnlock write to the mutex, too, so readers get in each other's way as much as with a Mutex, and each writer waits for all of them"
		f.advice = "for one word, a type of sync/atomic: readers then only read; for more, a pointer to a value that never changes, in an atomic.Pointer; else a Mutex, which is cheaper for so short a time"
		f.risk = "values that have to change together need one pointer, and writers that read first need CompareAndSwap, or a mutex among themselves"
		f.noFix = fmt.Sprintf("what %s guards may have to change together, which no single atomic operation does", m.Name())
	case q.oneWord(list):
		f.claim += "; all that is done with it is to read or write one word"
		f.advice = "a type of sync/atomic does that without a mutex"
		f.risk = "reading and then writing is two steps: Add and CompareAndSwap are one"
		f.noFix = "the word would get another type, and all that use it have to change with it"
	case len(work) > 0:
		f.claim += fmt.Sprintf("; while it is held, %s %s", q.decl.Name.Name, strings.Join(work, " and "))
		f.advice = "do before Lock what needs nothing that the mutex guards; then, if it is still not enough, several mutexes, each for a part of the data"
		f.noFix = fmt.Sprintf("what %s does while it holds the mutex needs more than its parameters, and may need what the mutex guards", q.decl.Name.Name)
		f.fixes = q.narrowed(worst)
	default:
		f.advice = "hold it for a shorter time, or have several, each for a part of the data, picked by a hash of the key"
		f.noFix = fmt.Sprintf("the code does not say which part of the data can do without %s", m.Name())
	}
	q.report(worst.lock, sum, f)
}

func isRW(m types.Object) bool { return strings.HasSuffix(m.Type().String(), "sync.RWMutex") }

func mutexName(m types.Object) string {
	if v, ok := m.(*types.Var); ok && v.IsField() {
		return "the mutex " + m.Name()
	}
	return m.Name()
}

// workIn says what of some weight statements do: formatting, adding up texts, allocating, input and output.
func (p *function) workIn(body []ast.Stmt) (out []string) {
	add := func(s string) {
		if !slices.Contains(out, s) {
			out = append(out, s)
		}
	}
	for _, s := range body {
		ast.Inspect(s, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.FuncLit:
				return false
			case *ast.BinaryExpr:
				if n.Op == token.ADD && isString(p.typeOf(n)) && !p.isConst(n) {
					add("puts texts together")
				}
			case *ast.CallExpr:
				fn := p.callee(n)
				if fn == nil || fn.Pkg() == nil {
					break
				}
				switch path := fn.Pkg().Path(); {
				case path == "fmt" || path == "strconv" || strings.HasPrefix(path, "encoding/"):
					add("calls " + path[strings.LastIndexByte(path, '/')+1:] + "." + fn.Name())
				case path == "os" || path == "net" || path == "log" || path == "io":
					add("calls " + fn.Name() + " of package " + path)
				}
			}
			return true
		})
	}
	return out
}

// shortRegions reports whether nothing that is locked is more than a few reads and writes.
func (p *function) shortRegions(list []*region) bool {
	return !slices.ContainsFunc(list, func(r *region) bool { return len(r.body) > 2 || !p.plainStmts(r) })
}

func (p *function) plainStmts(r *region) bool {
	plain := true
	for _, s := range r.body {
		ast.Inspect(s, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.CallExpr:
				plain = plain && r.p.info().Types[n.Fun].IsType()
			case *ast.ForStmt, *ast.RangeStmt, *ast.FuncLit, *ast.SelectStmt, *ast.SendStmt:
				plain = false
			}
			return plain
		})
	}
	return plain
}

// oneWord reports whether all that a mutex guards is one field or variable that fits into a word.
func (p *function) oneWord(list []*region) bool {
	var only types.Object
	for _, r := range list {
		if len(r.body) != 1 || !p.plainStmts(r) {
			return false
		}
		var e ast.Expr
		switch s := r.body[0].(type) {
		case *ast.ReturnStmt:
			if len(s.Results) != 1 {
				return false
			}
			e = s.Results[0]
		case *ast.IncDecStmt:
			e = s.X
		case *ast.AssignStmt:
			if len(s.Lhs) != 1 {
				return false
			}
			e = s.Lhs[0]
			if o := r.p.object(e); s.Tok == token.DEFINE || o == nil || !o.Pos().IsValid() {
				e = s.Rhs[0]
			}
		default:
			return false
		}
		o := r.p.object(e)
		if o == nil || only != nil && o != only || !isBasic(o.Type(), types.IsInteger|types.IsBoolean) {
			return false
		}
		only = o
	}
	return only != nil
}

// narrowed is a fix that does before Lock what needs only parameters of the function.
func (p *Pass) narrowed(r *region) []report.Fix {
	st, ok := p.parent(r.lock).(*ast.ExprStmt)
	if !ok || p.statement(st) != st || p.literal(st) != nil {
		return nil
	}
	for _, s := range r.body {
		var found ast.Expr
		ast.Inspect(s, func(n ast.Node) bool {
			if _, isLit := n.(*ast.FuncLit); isLit || found != nil {
				return false
			}
			switch s.(type) {
			case *ast.ExprStmt, *ast.AssignStmt, *ast.IncDecStmt, *ast.ReturnStmt:
			default:
				return false // it may not come to it
			}
			if b, ok := n.(*ast.BinaryExpr); ok && (b.Op == token.LAND || b.Op == token.LOR) {
				return false
			}
			if e, ok := n.(ast.Expr); ok && isString(p.typeOf(e)) && !p.isConst(e) && p.onlyParams(e) {
				if _, isID := ast.Unparen(e).(*ast.Ident); !isID {
					found = e
				}
			}
			return true
		})
		if found != nil {
			name := p.localName("text")
			if k, ok := p.parent(found).(*ast.IndexExpr); ok && k.Index == found {
				name = p.localName("key")
			}
			return p.fix(report.Mechanical, "put the text together before Lock", before(st, name+" := "+p.src(found)+"\n"), replace(found, name))
		}
	}
	return nil
}

// pureFuncs make texts of values and do nothing else.
var pureFuncs = []string{
	"strconv.Itoa", "strconv.FormatInt", "strconv.FormatUint", "strconv.FormatBool", "strconv.Quote", "strings.ToLower", "strings.ToUpper",
	"strings.TrimSpace", "strings.TrimPrefix", "strings.TrimSuffix", "strings.ReplaceAll",
}

// onlyParams reports whether an expression is made of constants, parameters that nobody changes, and functions that only make
// texts of them.
func (p *function) onlyParams(e ast.Expr) bool {
	ok := true
	ast.Inspect(e, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.CallExpr:
			fn := p.callee(n)
			if p.info().Types[n.Fun].IsType() {
				break
			}
			ok = ok && fn != nil && slices.Contains(pureFuncs, fn.FullName())
			for _, a := range n.Args {
				ok = ok && p.onlyParams(a)
			}
			return false
		case *ast.Ident:
			v := p.local(n)
			ok = ok && v != nil && p.isParam(v) && !isPointer(v.Type()) && !p.assigns(p.decl.Body, func(o types.Object) bool { return o == v })
		case nil, *ast.BasicLit, *ast.BinaryExpr, *ast.ParenExpr:
		default:
			ok = false
		}
		return ok
	})
	return ok
}

func isPointer(t types.Type) bool {
	_, ok := t.Underlying().(*types.Pointer)
	return ok
}

var lockedRand = &Rule{
	Name: "locked-rand", Rank: 34,
	Doc: "random numbers come from one source with a mutex",

	NoFix: "other numbers would come out for the same seed",
	Find: func(p *Pass) {
		each(p, func(call *ast.CallExpr) {
			fn := p.callee(call)
			if fn == nil || fn.Pkg() == nil || fn.Pkg().Path() != "math/rand" {
				return
			}
			c := p.cost(call, func(c *chain) bool {
				return c.first() == p.profileName(fn) && slices.ContainsFunc(c.below, func(b string) bool { return strings.HasPrefix(b, "math/rand.(*lockedSource).") })
			})
			p.report(call, c, finding{
				title:  "random numbers behind a mutex",
				claim:  "the functions of math/rand share one source, with a mutex since somebody called rand.Seed, or GODEBUG=randautoseed=0 is set",
				advice: "math/rand/v2, whose functions need none; or a source for each goroutine where the numbers have to be the same each time",
				risk:   "other numbers come out for the same seed",
			})
		})
	},
}
