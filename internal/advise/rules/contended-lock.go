package rules

import (
	"cmp"
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
	"github.com/hone-perf/hone/internal/advise/facts/kind"
	"github.com/hone-perf/hone/internal/order"
	"github.com/hone-perf/hone/internal/report"
	"github.com/hone-perf/hone/internal/report/missing"
	amount "github.com/hone-perf/hone/internal/unit"
)

var contendedLock = &advise.Rule{
	Name: "contended-lock", Rank: 20,
	Doc: "goroutines wait for a contended mutex",

	NoFix: missing.Guarded,
	Find: func(p *advise.Pass) {
		if p.Costs.Total[cost.Blocked]+p.Costs.Total[cost.Held] == 0 {
			return
		}
		all := p.OfPackage()
		if all[0] != p.Function {
			return // once for a package
		}
		byMutex := map[types.Object][]*region{}
		var order []types.Object
		for _, f := range all {
			q := p.On(f)
			list := regions(q)
			for _, r := range list {
				r.waits = q.Cost(r.lock, cost.Below(calls.LockFuncs...))
				same := 0
				for _, o := range list {
					if o.mutex == r.mutex {
						same++
					}
				}
				// A profile of mutexes names the line of the Unlock, which may be that of the end.
				held := q.Total(cost.Below(calls.UnlockFuncs...))
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
			contended(p.Func, m, byMutex[m])
		}
	},
}

// A region is what a function does while it holds a mutex.
type region struct {
	p     *advise.Pass
	lock  *ast.CallExpr
	name  string // of the function called: Lock, RLock
	mutex types.Object
	body  []ast.Stmt // between Lock and Unlock
	waits cost.Cost
	held  cost.Cost
}

// regions returns what the function locks itself.
func regions(p *advise.Pass) (out []*region) {
	advise.Each(p, func(call *ast.CallExpr) {
		if p.Calls(call, "(*sync.Mutex).Lock", "(*sync.RWMutex).Lock", "(*sync.RWMutex).RLock") == nil {
			return
		}
		sel, ok := call.Fun.(*ast.SelectorExpr)
		if !ok {
			return
		}
		m := mutexOf(p.Func, sel)
		st, isStmt := p.Parent(call).(*ast.ExprStmt)
		if m == nil || !isStmt {
			return
		}
		r := &region{p: p, lock: call, name: sel.Sel.Name, mutex: m}
		if block, ok := p.Parent(st).(*ast.BlockStmt); ok {
			rest := block.List[slices.Index(block.List, ast.Stmt(st))+1:]
			for i, s := range rest {
				if unlocks(p.Func, s, m) {
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
func mutexOf(f *code.Func, sel *ast.SelectorExpr) types.Object {
	if s := f.Info().Selections[sel]; s != nil && len(s.Index()) > 1 {
		t := s.Recv()
		if ptr, ok := t.Underlying().(*types.Pointer); ok {
			t = ptr.Elem()
		}
		if st, ok := t.Underlying().(*types.Struct); ok {
			return st.Field(s.Index()[0])
		}
	}
	return f.Object(sel.X)
}

func unlocks(f *code.Func, s ast.Stmt, m types.Object) bool {
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
	return ok && strings.HasSuffix(sel.Sel.Name, "Unlock") && mutexOf(f, sel) == m
}

func contended(fn *code.Func, m types.Object, list []*region) {
	slices.SortStableFunc(list, func(a, b *region) int { // who lets others wait is the cause; who waits is not
		return cmp.Or(cmp.Compare(b.held[cost.Held], a.held[cost.Held]), cmp.Compare(b.waits[cost.Blocked], a.waits[cost.Blocked]))
	})
	var sum cost.Cost
	for _, r := range list {
		w, h := r.waits, r.held
		sum[cost.Blocked] += w[cost.Blocked]
		sum[cost.Held] += h[cost.Held]
	}
	worst := list[0]
	var who []string
	var told []*code.Func
	for _, r := range list {
		if slices.Contains(told, r.p.Func) {
			continue
		}
		told = append(told, r.p.Func)
		if text := waited(r.p, list, cost.Waited(&sum)/20); text != "" {
			who = append(who, text)
		}
	}
	f := advise.Finding{
		Title: "goroutines wait for " + mutexName(m),
		Claim: strings.Join(who, "; "),
		Risk:  "if the mutex is released in between, what was true before may no longer be",
	}
	q := worst.p
	f.Callee = map[bool]string{true: "sync.(*RWMutex)." + worst.name, false: "sync.(*Mutex)." + worst.name}[isRW(m)]
	readers := 0
	for _, r := range list {
		if r.name == "RLock" {
			readers++
		}
	}
	work, holder, waits := workIn(q.Func, worst.body), worst, waitsIn(worst)
	if len(waits) == 0 && sum[cost.Held] == 0 { // no profile says who holds it
		if i := slices.IndexFunc(list, func(r *region) bool { return len(waitsIn(r)) > 0 }); i >= 0 {
			holder, waits, work = list[i], waitsIn(list[i]), nil
		}
	}
	switch {
	case len(waits) > 0:
		f.Claim += fmt.Sprintf("; while it is held, %s %s", holder.p.Decl.Name.Name, strings.Join(append(waits, work...), " and "))
		f.Advice = "wait before Lock or after Unlock, if that needs nothing that the mutex guards: as long as it is held, all others wait as well"
		f.NoFix = missing.WaitsLocked.Of(holder.p.Decl.Name.Name)
	case isRW(m) && readers > 0 && shortRegions(q.Func, list):
		f.Title += ", an RWMutex around next to nothing"
		f.Claim += "; RLock and RUnlock also write to the mutex, so readers contend as much as with a Mutex, and each writer waits for all of them"
		f.Advice = "for one word, a type of sync/atomic: readers then only read; for more, a pointer to a value that never changes, in an atomic.Pointer; else a Mutex, which is cheaper for so short a time"
		f.Risk = "values that have to change together need one pointer, and writers that read first need CompareAndSwap, or a mutex among themselves"
		f.NoFix = missing.ChangeTogether.Of(m.Name())
	case oneWord(q.Func, list):
		f.Claim += "; it only guards reads and writes of one word"
		f.Advice = "a type of sync/atomic does that without a mutex"
		f.Risk = "reading and then writing is two steps: use Add or CompareAndSwap, which are one"
		f.Fixes = atomicWord(q, m)
	case len(work) > 0:
		f.Claim += fmt.Sprintf("; while it is held, %s %s", q.Decl.Name.Name, strings.Join(work, " and "))
		f.Advice = "do before Lock what needs nothing that the mutex guards; then, if it is still not enough, several mutexes, each for a part of the data"
		f.NoFix = missing.WorkNeedsMore.Of(q.Decl.Name.Name)
		f.Fixes = narrowed(q, worst)
	default:
		f.Advice = "hold it for a shorter time, or have several, each for a part of the data, picked by a hash of the key"
		f.NoFix = missing.PartWithout.Of(m.Name())
	}
	if line, part, all := busiest(worst); line != nil && len(f.Fixes) == 0 {
		f.Claim += fmt.Sprintf("; of the %s of CPU time that %s takes while it holds it, %s go into line %d: %s", amount.Format(all, "nanoseconds", amount.Auto), q.Decl.Name.Name,
			amount.Format(part, "nanoseconds", amount.Auto), q.Line(line.Pos()), firstLine(q.Src(line)))
		if call, calls := busyCall(line); calls && len(work)+len(waits) == 0 {
			f.Advice = fmt.Sprintf("call %s before Lock or after Unlock, if it needs nothing that the mutex guards; if it makes an entry that others may ask for at the same time, let only those wait (golang.org/x/sync/singleflight)", q.Src(call.Fun))
		}
	}
	q.Report(worst.lock, sum, f)
}

// busiest returns the statement that takes most of the CPU time between Lock and Unlock, if one does, how much, and how much all take.
func busiest(r *region) (most ast.Stmt, part, all int64) {
	seen := map[int]bool{}
	for _, st := range r.body {
		ast.Inspect(st, func(n ast.Node) bool {
			s, ok := n.(ast.Stmt)
			if _, isLit := n.(*ast.FuncLit); isLit {
				return false
			}
			if at := r.p.Line; ok && r.p.Statement(s) == s && !seen[at(s.Pos())] && r.p.Lines[at(s.Pos())] != nil {
				seen[at(s.Pos())] = true
				c := r.p.Lines[at(s.Pos())].Cum
				all += c[cost.CPU]
				if c[cost.CPU] > part && r.p.Costs.Surely(&c, cost.CPU) > 0 {
					most, part = s, c[cost.CPU]
				}
			}
			return true
		})
	}
	if part < all/2 || part == 0 {
		return nil, 0, 0
	}
	return most, part, all
}

// busyCall returns the only call of a statement.
func busyCall(st ast.Stmt) (call *ast.CallExpr, only bool) {
	ast.Inspect(st, func(n ast.Node) bool {
		if c, ok := n.(*ast.CallExpr); ok {
			call, only = c, call == nil
		}
		return true
	})
	return call, only
}

// firstLine returns a statement as far as it stands on one line.
func firstLine(text string) string {
	line, _, more := strings.Cut(text, "\n")
	if more {
		line += " …"
	}
	return line
}

// waited says how long a function waited for a mutex, and where if it locks it in several places, and how long it let others wait. It is
// empty for what is not more than little.
func waited(p *advise.Pass, list []*region, little int64) string {
	var waits, held int64
	var places []string
	for _, r := range list {
		if r.p.Func != p.Func {
			continue
		}
		waits += r.waits[cost.Blocked]
		held += r.held[cost.Held]
		if w := r.waits[cost.Blocked]; w > 0 {
			places = append(places, fmt.Sprintf("%s in line %d", amount.Format(w, "nanoseconds", amount.Auto), p.Line(r.lock.Pos())))
		}
	}
	if waits+held <= little {
		return ""
	}
	text := p.Decl.Name.Name
	if waits > 0 {
		text += " waited " + amount.Format(waits, "nanoseconds", amount.Auto)
		if len(places) > 1 {
			text += " (" + strings.Join(places, ", ") + ")"
		}
	}
	if held > 0 {
		if waits > 0 {
			text += ", and"
		}
		text += " let others wait " + amount.Format(held, "nanoseconds", amount.Auto)
	}
	return text
}

func isRW(m types.Object) bool { return strings.HasSuffix(m.Type().String(), "sync.RWMutex") }

func mutexName(m types.Object) string {
	if v, ok := m.(*types.Var); ok && v.IsField() {
		return "the mutex " + m.Name()
	}
	return m.Name()
}

// workIn says what of some weight statements do: formatting, adding up texts, allocating, input and output.
func workIn(f *code.Func, body []ast.Stmt) (out []string) {
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
				if n.Op == token.ADD && kind.IsString(f.TypeOf(n)) && !f.IsConst(n) {
					add("builds strings")
				}
			case *ast.CallExpr:
				fn := f.Callee(n)
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

// waitsIn says what a region may wait for with the mutex locked, and how long it did where a profile says so: that first.
func waitsIn(r *region) []string {
	type wait struct {
		text string
		long int64
	}
	var list []wait
	eachWait(r.p.Func, r.body, r.mutex, 2, func(at ast.Node, what string) {
		line := r.p.Lines[r.p.Line(at.Pos())].Sum(func(*cost.Chain) bool { return true })
		if !slices.ContainsFunc(list, func(w wait) bool { return w.text == what }) {
			list = append(list, wait{what, line[cost.Blocked]})
		}
	})
	order.Stable(list, func(a, b wait) int { return cmp.Compare(b.long, a.long) })
	var out []string
	for _, w := range list {
		if w.long > 0 {
			w.text += " (" + amount.Format(w.long, "nanoseconds", amount.Auto) + ")"
		}
		out = append(out, w.text)
	}
	return out
}

// waiting are the beginnings of the names of functions that wait: for time to pass, for goroutines, for locks, for files, the network and
// other programs. A sync.Cond is none of them: its Wait unlocks the mutex.
var waiting = []string{
	"time.Sleep", "(*sync.WaitGroup).Wait", "(*sync.Mutex).Lock", "(*sync.RWMutex).Lock", "(*sync.RWMutex).RLock", "(*golang.org/x/sync/errgroup.Group).Wait",
	"os.Read", "os.Write", "os.Open", "os.Create", "os.Remove", "os.Rename", "os.Stat", "os.Lstat", "os.Mkdir",
	"(*os.File).Read", "(*os.File).Write", "(*os.File).Sync", "(*os.File).Stat",
	"(*os/exec.Cmd).Run", "(*os/exec.Cmd).Wait", "(*os/exec.Cmd).Output", "(*os/exec.Cmd).CombinedOutput",
	"net.Dial", "net.Lookup", "net.Resolve", "(*net.Dialer).Dial", "(*net.Resolver).Lookup", "(net.Conn).Read", "(net.Conn).Write", "(net.Listener).Accept",
	"net/http.Get", "net/http.Post", "net/http.Head", "(*net/http.Client).Do", "(*net/http.Client).Get", "(*net/http.Client).Post", "(*net/http.Client).Head",
	"(net/http.RoundTripper).RoundTrip", "(*net/http.Transport).RoundTrip",
	"(*database/sql.DB).Query", "(*database/sql.DB).Exec", "(*database/sql.DB).Prepare", "(*database/sql.DB).Begin", "(*database/sql.DB).Ping",
	"(*database/sql.Tx).Query", "(*database/sql.Tx).Exec", "(*database/sql.Tx).Prepare", "(*database/sql.Tx).Commit", "(*database/sql.Tx).Rollback",
	"(*database/sql.Conn).Query", "(*database/sql.Conn).Exec", "(*database/sql.Stmt).Query", "(*database/sql.Stmt).Exec",
}

// eachWait yields what in statements may wait, up to where they unlock a mutex, and what it does. Functions of the package are looked into.
func eachWait(f *code.Func, list []ast.Stmt, m types.Object, depth int, yield func(at ast.Node, what string)) {
	for _, s := range list {
		if _, deferred := s.(*ast.DeferStmt); !deferred && unlocks(f, s, m) {
			return
		}
		ast.Inspect(s, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.FuncLit, *ast.GoStmt:
				return false
			case *ast.BlockStmt:
				eachWait(f, n.List, m, depth, yield)
				return false
			case *ast.CaseClause:
				eachWait(f, n.Body, m, depth, yield)
				return false
			case *ast.SelectStmt:
				waits := true
				for _, c := range n.Body.List {
					waits = waits && c.(*ast.CommClause).Comm != nil
				}
				if waits {
					yield(n, "waits in a select")
				}
				for _, c := range n.Body.List {
					eachWait(f, c.(*ast.CommClause).Body, m, depth, yield)
				}
				return false
			case *ast.SendStmt:
				yield(n, "sends to a channel")
			case *ast.UnaryExpr:
				if n.Op == token.ARROW {
					yield(n, "receives from a channel")
				}
			case *ast.RangeStmt:
				if _, isChan := f.TypeOf(n.X).Underlying().(*types.Chan); isChan {
					yield(n, "receives from a channel")
				}
			case *ast.CallExpr:
				fn := f.Callee(n)
				if fn == nil {
					break
				}
				if slices.ContainsFunc(waiting, func(name string) bool { return strings.HasPrefix(fn.FullName(), name) }) {
					yield(n, "calls "+f.ProfileName(fn))
					break
				}
				decl, file := f.DeclOf(fn)
				if depth == 0 || decl == nil || decl.Body == nil {
					break
				}
				first := ""
				eachWait(f.In(file, decl), decl.Body.List, m, depth-1, func(_ ast.Node, what string) { first = cmp.Or(first, what) })
				if first != "" {
					yield(n, fmt.Sprintf("calls %s, which %s", fn.Name(), first))
				}
			}
			return true
		})
	}
}

// shortRegions reports whether nothing that is locked is more than a few reads and writes.
func shortRegions(f *code.Func, list []*region) bool {
	return !slices.ContainsFunc(list, func(r *region) bool { return len(r.body) > 2 || !plainStmts(f, r) })
}

func plainStmts(f *code.Func, r *region) bool {
	plain := true
	for _, s := range r.body {
		ast.Inspect(s, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.CallExpr:
				plain = plain && r.p.Info().Types[n.Fun].IsType()
			case *ast.ForStmt, *ast.RangeStmt, *ast.FuncLit, *ast.SelectStmt, *ast.SendStmt:
				plain = false
			}
			return plain
		})
	}
	return plain
}

// oneWord reports whether all that a mutex guards is one field or variable that fits into a word.
func oneWord(f *code.Func, list []*region) bool {
	var only types.Object
	for _, r := range list {
		if len(r.body) != 1 || !plainStmts(f, r) {
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
			if o := r.p.Object(e); s.Tok == token.DEFINE || o == nil || !o.Pos().IsValid() {
				e = s.Rhs[0]
			}
		default:
			return false
		}
		o := r.p.Object(e)
		if o == nil || only != nil && o != only || !kind.IsBasic(o.Type(), types.IsInteger|types.IsBoolean) {
			return false
		}
		only = o
	}
	return only != nil
}

// narrowed is a fix that does before Lock what needs only parameters of the function.
func narrowed(p *advise.Pass, r *region) []report.Fix {
	st, ok := p.Parent(r.lock).(*ast.ExprStmt)
	if !ok || p.Statement(st) != st || p.Literal(st) != nil {
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
			if e, ok := n.(ast.Expr); ok && kind.IsString(p.TypeOf(e)) && !p.IsConst(e) && onlyParams(p.Func, e) {
				if _, isID := ast.Unparen(e).(*ast.Ident); !isID {
					found = e
				}
			}
			return true
		})
		if found != nil {
			name := p.LocalName("text")
			if k, ok := p.Parent(found).(*ast.IndexExpr); ok && k.Index == found {
				name = p.LocalName("key")
			}
			return p.Fix(report.Mechanical, "build the string before Lock", edit.Before(st, name+" := "+p.Src(found)+"\n"), edit.Replace(found, name))
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
func onlyParams(f *code.Func, e ast.Expr) bool {
	ok := true
	ast.Inspect(e, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.CallExpr:
			fn := f.Callee(n)
			if arg, _ := f.Conversion(n); arg != nil {
				ok = ok && kind.IsBasic(f.TypeOf(arg), types.IsString|types.IsInteger) // bytes and runes may change until it is locked
				break
			}
			if f.Calls(n, "strconv.FormatInt", "strconv.FormatUint") != nil && !f.IsConst(n.Args[1]) {
				ok = false // it panics with some bases
			}
			ok = ok && fn != nil && slices.Contains(pureFuncs, fn.FullName())
			for _, a := range n.Args {
				ok = ok && onlyParams(f, a)
			}
			return false
		case *ast.Ident:
			v := f.Local(n)
			ok = ok && v != nil && f.IsParam(v) && !kind.IsPointer(v.Type()) && !flow.Assigns(f, f.Decl.Body, func(o types.Object) bool { return o == v })
		case nil, *ast.BasicLit, *ast.BinaryExpr, *ast.ParenExpr:
		default:
			ok = false
		}
		return ok
	})
	return ok
}
