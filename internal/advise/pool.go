package advise

import (
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"slices"
	"strings"

	"golang.org/x/tools/go/cfg"

	"github.com/hone-perf/hone/internal/report"
)

var getWithoutPut = &Rule{
	Name: "get-without-put", Rank: 40, PerCall: true,
	Doc: "what is taken out of a sync.Pool does not come back",

	NoFix: "Put is called in a way that a deferred call cannot take the place of",
	Find: func(p *Pass) {
		each(p, func(call *ast.CallExpr) {
			if p.calls(call, "(*sync.Pool).Get") == nil {
				return
			}
			x, st := p.taken(call)
			if x == nil {
				return
			}
			pool := p.src(call.Fun.(*ast.SelectorExpr).X)
			lost, puts := p.lost(st, x)
			if len(lost) == 0 {
				return
			}
			c := p.cost(call, func(c *chain) bool {
				return c.first() == "sync.(*Pool).Get" && slices.ContainsFunc(c.below, func(b string) bool { return !isRuntime(b) && !strings.HasPrefix(b, "sync.") })
			})
			f := finding{
				title:  "Get without Put",
				claim:  fmt.Sprintf("%s is taken out of %s and never put back, so that the pool is empty, and its New is called each time", x.Name(), pool),
				advice: "put it back when it is no longer used, on every way out of the function",
				risk:   fmt.Sprintf("nobody may use %s after the function has returned", x.Name()),
				callee: "sync.(*Pool).Get",
			}
			if len(puts) > 0 {
				var lines []string
				for _, n := range lost {
					lines = append(lines, fmt.Sprint(p.line(n.Pos())))
					f.also = append(f.also, n)
				}
				f.claim = fmt.Sprintf("%s is not put back into %s on the way out at line %s, so that New is called once more for each time", x.Name(), pool, strings.Join(lines, ", "))
			}
			switch {
			case !p.staysInside(x):
				p.why = fmt.Sprintf("%s, or what it holds, may be kept by somebody else", x.Name())
			case len(puts) == 0 && !p.clean(x, st):
				p.why = fmt.Sprintf("%s would come back as it was left: it has to be reset behind Get, or before Put", x.Name())
			default:
				edits := []edit{p.behind(st, fmt.Sprintf("defer %s.Put(%s)", pool, x.Name()))}
				for _, put := range puts {
					s, ok := p.parent(put).(*ast.ExprStmt)
					if !ok || p.src(put.Args[0]) != x.Name() || p.src(put.Fun.(*ast.SelectorExpr).X) != pool {
						edits, f.noFix = nil, fmt.Sprintf("%s at line %d puts back something else, or into another pool", p.src(put), p.line(put.Pos()))
						break
					}
					edits = append(edits, newEdit(s.Pos(), p.nextLine(s), ""))
				}
				if edits != nil {
					f.fixes = p.fix(report.Ownership, "put it back on every way out", edits...)
				}
			}
			p.report(call, c, f)
		})
	},
}

// taken returns the variable that is given what comes out of a pool, and the statement that does it.
func (p *function) taken(get *ast.CallExpr) (*types.Var, *ast.AssignStmt) {
	var e ast.Node = get
	if t, ok := p.parent(e).(*ast.TypeAssertExpr); ok {
		e = t
	}
	st, ok := p.parent(e).(*ast.AssignStmt)
	if !ok || len(st.Rhs) != 1 || p.statement(st) != st {
		return nil, nil
	}
	return p.local(st.Lhs[0]), st
}

// lost returns the ways out of the function on which what a variable holds is lost: neither put back nor handed on. It also
// returns where it is put back.
func (p *function) lost(st *ast.AssignStmt, x *types.Var) (out []ast.Node, puts []*ast.CallExpr) {
	body := p.funcOf(st)
	ends := func(n ast.Node) bool {
		found := false
		ast.Inspect(n, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.CallExpr:
				for _, a := range n.Args {
					if !p.mentionsVar(a, x) {
						continue
					}
					if p.calls(n, "(*sync.Pool).Put") != nil {
						found = true
						if !slices.Contains(puts, n) {
							puts = append(puts, n)
						}
					} else if fn := p.callee(n); fn == nil || fn.Pkg() == p.unit.Types && !p.forgets(fn, slices.Index(n.Args, a), 3) {
						found = true // it may put it back
					}
				}
			case *ast.ReturnStmt:
				for _, r := range n.Results {
					if id, ok := ast.Unparen(r).(*ast.Ident); ok && p.info().ObjectOf(id) == x {
						found = true
					}
				}
			case *ast.AssignStmt:
				for i, r := range n.Rhs {
					if id, ok := ast.Unparen(r).(*ast.Ident); ok && n != st && p.info().ObjectOf(id) == x && (len(n.Lhs) != len(n.Rhs) || !isBlank(n.Lhs[i])) {
						found = true
					}
				}
			case *ast.CompositeLit, *ast.SendStmt:
				found = found || p.mentionsVar(n, x)
			case *ast.FuncLit:
				if p.mentionsVar(n, x) && !p.onlyPuts(n, x) {
					found = true
				}
			}
			return true
		})
		return found
	}
	graph := cfg.New(body, func(call *ast.CallExpr) bool {
		return p.calls(call, "os.Exit", "log.Fatal", "log.Fatalf", "log.Fatalln", "runtime.Goexit") == nil && p.builtin(call, "panic") == nil
	})
	seen := map[*cfg.Block]bool{}
	var walk func(b *cfg.Block, from int)
	walk = func(b *cfg.Block, from int) {
		for _, n := range b.Nodes[from:] {
			if ends(n) {
				return
			}
		}
		if len(b.Succs) == 0 && b.Live {
			var last ast.Node = body
			if ret := b.Return(); ret != nil {
				last = ret
			} else if len(b.Nodes) > 0 {
				if e, ok := b.Nodes[len(b.Nodes)-1].(*ast.ExprStmt); ok {
					if call, ok := e.X.(*ast.CallExpr); ok && p.builtin(call, "panic") != nil {
						return // not a usual way out
					}
				}
				last = b.Nodes[len(b.Nodes)-1]
			}
			out = append(out, last)
		}
		for _, s := range b.Succs {
			if !seen[s] {
				seen[s] = true
				walk(s, 0)
			}
		}
	}
	for _, b := range graph.Blocks {
		if i := slices.Index(b.Nodes, ast.Node(st)); i >= 0 {
			walk(b, i+1)
		}
	}
	// Those on other ways count, too.
	ast.Inspect(body, func(n ast.Node) bool {
		if call := p.calls(n, "(*sync.Pool).Put"); call != nil && p.mentionsVar(call.Args[0], x) && !slices.Contains(puts, call) {
			puts = append(puts, call)
		}
		return true
	})
	return out, puts
}

// onlyPuts reports whether a function literal is called by a defer, and may put the variable back.
func (p *function) onlyPuts(lit *ast.FuncLit, x *types.Var) bool {
	call, ok := p.parent(lit).(*ast.CallExpr)
	if !ok {
		return false
	}
	_, ok = p.parent(call).(*ast.DeferStmt)
	return ok
}

// clean reports whether a value is used as if it were new, though it was used before: it is reset first, or has no state.
func (p *function) clean(x *types.Var, st ast.Stmt) bool {
	if ptr, ok := types.Unalias(x.Type()).(*types.Pointer); ok {
		if n, ok := types.Unalias(ptr.Elem()).(*types.Named); ok && n.Obj().Pkg() != nil {
			switch n.Obj().Pkg().Path() + "." + n.Obj().Name() {
			case "regexp.Regexp", "strings.Replacer", "text/template.Template", "html/template.Template":
				return true
			}
		}
	}
	block, ok := p.parent(st).(*ast.BlockStmt)
	if !ok {
		return false
	}
	i := slices.Index(block.List, st)
	if i+1 >= len(block.List) {
		return false
	}
	next, ok := block.List[i+1].(*ast.ExprStmt)
	if !ok {
		return false
	}
	call, ok := next.X.(*ast.CallExpr)
	if !ok {
		return false
	}
	sel, ok := call.Fun.(*ast.SelectorExpr)
	return ok && sel.Sel.Name == "Reset" && p.local(sel.X) == x
}

// aliases are methods that return something that shares memory with their receiver.
var aliases = []string{"Bytes", "AvailableBuffer", "Next", "Peek", "ReadSlice", "ReadLine", "Buffer"}

// staysInside reports whether nobody can keep what a variable points to: it is only asked to do something, or given to functions
// that are known to keep nothing.
func (p *function) staysInside(x *types.Var) bool {
	return !p.captured(x, p.decl.Body) && !slices.ContainsFunc(p.uses(x), func(id *ast.Ident) bool { return !p.harmless(id) })
}

// harmless reports whether a use of a variable lets nobody keep it.
func (p *function) harmless(id *ast.Ident) bool {
	switch up := p.parent(id).(type) {
	case *ast.SelectorExpr:
		call, ok := p.parent(up).(*ast.CallExpr)
		if !ok || call.Fun != up {
			return false
		}
		if slices.Contains(aliases, up.Sel.Name) {
			outer, ok := p.parent(call).(*ast.CallExpr)
			return ok && (p.isWrite(outer) || p.builtin(outer, "len") != nil || p.stringOf(outer) != nil)
		}
		return true
	case *ast.CallExpr:
		i := slices.Index(up.Args, ast.Expr(id))
		if i < 0 {
			return false
		}
		if p.builtin(up, "len") != nil || p.builtin(up, "cap") != nil || p.builtin(up, "clear") != nil || p.calls(up, "(*sync.Pool).Put") != nil {
			return true
		}
		fn := p.callee(up)
		return fn != nil && p.forgets(fn, i, 3)
	}
	return false
}

// isWrite reports whether a call is one of a Write method, which must not keep what it is given.
func (p *function) isWrite(call *ast.CallExpr) bool {
	sel, ok := call.Fun.(*ast.SelectorExpr)
	if !ok || sel.Sel.Name != "Write" || len(call.Args) != 1 || !isBytes(p.typeOf(call.Args[0])) {
		return false
	}
	fn := p.callee(call)
	return fn != nil && fn.Signature().Results().Len() == 2
}

// forgetful are functions of the standard library that keep nothing of what they are given.
var forgetful = []string{
	"fmt.Fprint", "fmt.Fprintf", "fmt.Fprintln", "io.WriteString", "io.Copy", "io.CopyN", "io.ReadAll", "io.ReadFull",
	"encoding/binary.Write", "encoding/binary.Read", "bytes.Equal", "bytes.Contains", "bytes.Index", "copy",
}

// forgets reports whether a function keeps nothing of its argument i: it is known to, or it is one of this package that
// only asks it to do something.
func (p *function) forgets(fn *types.Func, i, depth int) bool {
	name := fn.Origin().FullName()
	if slices.Contains(forgetful, name) || strings.HasSuffix(name, "emplate).Execute") || strings.HasSuffix(name, "emplate).ExecuteTemplate") {
		return true
	}
	sig := fn.Signature()
	if depth == 0 || fn.Pkg() != p.unit.Types || i < 0 || i >= sig.Params().Len() || sig.Variadic() && i >= sig.Params().Len()-1 {
		return false
	}
	for _, f := range p.unit.files {
		for _, d := range f.ast.Decls {
			decl, ok := d.(*ast.FuncDecl)
			if !ok || decl.Body == nil || p.info().Defs[decl.Name] != fn.Origin() {
				continue
			}
			q := p.in(f, decl)
			v := fn.Origin().Signature().Params().At(i)
			if _, isSlice := v.Type().Underlying().(*types.Slice); isSlice {
				return q.onlyLooksAt(v)
			}
			return !q.captured(v, decl.Body) && !slices.ContainsFunc(q.uses(v), func(id *ast.Ident) bool {
				if call, ok := q.parent(id).(*ast.CallExpr); ok {
					if at := slices.Index(call.Args, ast.Expr(id)); at >= 0 {
						callee := q.callee(call)
						return callee == nil || !q.forgets(callee, at, depth-1)
					}
				}
				return !q.harmless(id)
			})
		}
	}
	return false
}

// onlyLooksAt reports whether a slice is only indexed, ranged over and measured.
func (p *function) onlyLooksAt(v types.Object) bool {
	return !p.captured(v, p.decl.Body) && !slices.ContainsFunc(p.uses(v), func(id *ast.Ident) bool {
		switch up := p.parent(id).(type) {
		case *ast.IndexExpr:
			return up.X != id
		case *ast.RangeStmt:
			return up.X != id
		case *ast.CallExpr:
			return p.builtin(up, "len") == nil && p.builtin(up, "cap") == nil
		}
		return true
	})
}

var poolNonPointer = &Rule{
	Name: "pool-non-pointer", Rank: 12, PerCall: true,
	Doc: "what is put into a sync.Pool is no pointer, so that Put allocates",

	NoFix: "what Get returns would have another type, and all that use the pool have to change with it",
	Find: func(p *Pass) {
		each(p, func(call *ast.CallExpr) {
			if p.calls(call, "(*sync.Pool).Put") == nil {
				return
			}
			t := p.typeOf(call.Args[0])
			switch t.Underlying().(type) {
			case *types.Pointer, *types.Map, *types.Chan, *types.Signature, *types.Interface:
				return
			}
			p.report(call, p.cost(call, p.boxing(call)), finding{
				title:  "Put of a value that is no pointer",
				claim:  fmt.Sprintf("Put takes an interface, and a %s does not fit into one: each Put allocates a copy of it", t),
				advice: "put a pointer into the pool, and keep it with what it points to until then",
				risk:   "Get returns another type then, everywhere",
			})
		})
	},
}

// A reusable is a type whose values can be used again.
type reusable struct {
	new     string // function that makes one, in the words of types.Func
	where   []string
	typ     string // *gzip.Writer
	again   string // statement that makes x as good as new
	newNone string // expression that makes one for nobody
	what    string
}

var reusables = []reusable{
	{"compress/gzip.NewWriter", []string{"compress/flate.NewWriter", "compress/gzip.NewWriterLevel", "compress/gzip.NewWriter"}, "*gzip.Writer", "%s.Reset(%s)", "gzip.NewWriter(nil)", "compressor"},
	{"compress/zlib.NewWriter", []string{"compress/flate.NewWriter", "compress/zlib.NewWriterLevelDict", "compress/zlib.NewWriter"}, "*zlib.Writer", "%s.Reset(%s)", "zlib.NewWriter(nil)", "compressor"},
	{"bufio.NewWriter", []string{"bufio.NewWriterSize", "bufio.NewWriter"}, "*bufio.Writer", "%s.Reset(%s)", "bufio.NewWriter(nil)", "buffer"},
	{"bufio.NewReader", []string{"bufio.NewReaderSize", "bufio.NewReader"}, "*bufio.Reader", "%s.Reset(%s)", "bufio.NewReader(nil)", "buffer"},
	{"compress/flate.NewWriter", []string{"compress/flate.NewWriter"}, "", "", "", "compressor"},
	{"compress/gzip.NewWriterLevel", []string{"compress/flate.NewWriter", "compress/gzip.NewWriterLevel"}, "", "", "", "compressor"},
	{"compress/zlib.NewWriterLevel", []string{"compress/flate.NewWriter", "compress/zlib.NewWriterLevelDict"}, "", "", "", "compressor"},
	{"bufio.NewWriterSize", []string{"bufio.NewWriterSize"}, "", "", "", "buffer"},
	{"bufio.NewReaderSize", []string{"bufio.NewReaderSize"}, "", "", "", "buffer"},
	{"compress/gzip.NewReader", []string{"compress/gzip.NewReader", "compress/flate.NewReader"}, "", "", "", "decompressor"},
	{"compress/flate.NewReader", []string{"compress/flate.NewReader"}, "", "", "", "decompressor"},
}

var writerPerCall = &Rule{
	Name: "writer-per-call", Rank: 35, PerCall: true,
	Doc: "a compressor or buffer is made for every call, though it can be used again",

	NoFix: "Reset does not make this type as good as new with the same settings",
	Find: func(p *Pass) {
		each(p, func(call *ast.CallExpr) {
			fn := p.callee(call)
			if fn == nil {
				return
			}
			for _, r := range reusables {
				if fn.FullName() == r.new {
					p.madeAnew(call, r)
				}
			}
		})
	},
}

func (p *Pass) madeAnew(call *ast.CallExpr, r reusable) {
	// Compressors get their tables when they are first written to, which is on another line.
	c := p.total(through(r.where...))
	name := p.callee(call).Pkg().Name() + "." + p.callee(call).Name()
	f := finding{
		title:  r.what + " made for every call",
		claim:  fmt.Sprintf("%s allocates a %s with all its tables and buffers, which is garbage soon after; one that was used is as good as new after Reset", name, r.what),
		advice: "keep those that nobody uses in a sync.Pool",
		risk:   "what is in the pool stays in memory until the collector has run twice, and keeps what it wrote to last until it is reset",
		callee: r.where[0],
	}
	st, ok := p.parent(call).(*ast.AssignStmt)
	switch {
	case r.typ == "":
	case !ok || st.Tok != token.DEFINE || len(st.Lhs) != 1 || p.statement(st) != st:
		f.noFix = fmt.Sprintf("the %s is not given to a variable of the function, so where it is used last is not known", r.what)
	case p.loop(st) != nil:
		f.noFix = fmt.Sprintf("it is made in a loop, and a deferred Put would keep the %s of each round until the function returns", r.what)
	case p.decl.Name.Name == "main":
		f.noFix = "main runs once"
	default:
		arg := p.typeOf(call.Args[0])
		if strings.HasPrefix(r.new, "bufio.") && (types.IsInterface(arg) || arg.String() == r.typ) {
			p.why = "what it is given may be a " + strings.TrimPrefix(r.typ, "*") + " already, which is then used as it is"
		} else if x := p.local(st.Lhs[0]); x != nil && p.staysInside(x) && p.onlyRead(x, st) {
			pkg, kind, _ := strings.Cut(strings.TrimPrefix(r.typ, "*"), ".")
			pool := p.newName(lowerFirst(strings.TrimPrefix(pkg, "bufio") + kind + "s"))
			p.need("sync")
			f.fixes = p.fix(report.Ownership, "take it from a pool",
				p.declare(fmt.Sprintf("// %s holds those that nobody uses at the moment.\nvar %s = sync.Pool{New: func() any { return %s }}", pool, pool, r.newNone)),
				replace(st, fmt.Sprintf("%s := %s.Get().(%s)\ndefer %s.Put(%s)\n"+r.again, x.Name(), pool, r.typ, pool, x.Name(), x.Name(), p.src(call.Args[0]))))
		} else {
			p.why = "it may be kept by somebody else when the function has returned"
		}
	}
	p.report(call, c, f)
}

var bufferPerCall = &Rule{
	Name: "buffer-per-call", Rank: 2, PerCall: true,
	Doc: "a buffer is allocated for every call, though nobody keeps it",

	NoFix: "its length or capacity is not a constant, so buffers in a pool may be too small",
	Find: func(p *Pass) {
		each(p, func(call *ast.CallExpr) {
			if p.builtin(call, "make") == nil || !isBytes(p.typeOf(call)) {
				return
			}
			st, ok := p.parent(call).(*ast.AssignStmt)
			if !ok || st.Tok != token.DEFINE || len(st.Lhs) != 1 || p.statement(st) != st {
				return
			}
			b := p.local(st.Lhs[0])
			if b == nil || !p.scratchBytes(b) {
				return
			}
			f := finding{
				title:  "buffer allocated for every call",
				claim:  fmt.Sprintf("%s is given to a method of an interface, which could keep it for all that the compiler knows, so it is on the heap; but Write must not keep what it is given, and nobody else has it", b.Name()),
				advice: "keep buffers that nobody uses in a sync.Pool",
				risk:   "a Write that keeps what it is given, against what io.Writer says, would see other data later; one large text makes a large buffer that stays in the pool for a while",
			}
			switch loop := p.loop(st); {
			case loop != nil:
				f.title = "buffer allocated in every round"
				f.advice = "make it before the loop, and cut it to [:0] in each round"
				f.noFix = "it is not made empty with a constant capacity, so an earlier round may have left it too small"
				if len(call.Args) == 3 && p.src(call.Args[1]) == "0" && p.statement(loop) == loop && p.isConst(call.Args[2]) {
					f.fixes = p.fix(report.Ownership, "make it before the loop", before(loop, p.src(st)+"\n"), replace(st, fmt.Sprintf("%s = %s[:0]", b.Name(), b.Name())))
				}
			case len(call.Args) == 3 && p.src(call.Args[1]) == "0" && p.isConst(call.Args[2]) && p.literal(st) == nil:
				pool := p.newName(lowerFirst(p.decl.Name.Name) + "Buffers")
				ref := p.localName(b.Name() + "p")
				p.need("sync")
				take := fmt.Sprintf("%s := %s.Get().(*[]byte)\n%s := (*%s)[:0]", ref, pool, b.Name(), ref)
				back := fmt.Sprintf("*%s = %s\n%s.Put(%s)", ref, b.Name(), pool, ref)
				edits := []edit{p.declare(fmt.Sprintf("// %s holds buffers that nobody uses at the moment.\nvar %s = sync.Pool{New: func() any {\n\tb := %s\n\treturn &b\n}}", pool, pool, p.src(call)))}
				// A deferred function would keep the slice in memory, where each append has to fetch it. Who panics in between loses a buffer.
				if last := p.lastUse(st, b); last != nil {
					edits = append(edits, replace(st, take), after(last, "\n"+back))
				} else {
					edits = append(edits, replace(st, take+"\ndefer func() {\n"+back+"\n}()"))
				}
				f.fixes = p.fix(report.Ownership, "take it from a pool", edits...)
			}
			p.report(st, p.cost(st, allocates("makeslice", "newobject")), f)
		})
	},
}

// lastUse returns the last statement that uses a variable, when it is in the block that declares it and what is between them leads to it, or
// nil.
func (p *function) lastUse(decl ast.Stmt, v *types.Var) ast.Stmt {
	block, ok := p.parent(decl).(*ast.BlockStmt)
	if !ok {
		return nil
	}
	behind := block.List[slices.Index(block.List, decl)+1:]
	last := -1
	for i, s := range behind {
		if p.mentionsVar(s, v) {
			last = i
		}
	}
	if last < 0 || slices.ContainsFunc(behind[:last+1], func(s ast.Stmt) bool { return p.mayEnd(s) }) {
		return nil
	}
	return behind[last]
}

// scratchBytes reports whether a slice of bytes is only appended to, measured and written, at least once.
func (p *function) scratchBytes(b *types.Var) bool {
	if p.captured(b, p.decl.Body) {
		return false
	}
	written := false
	for _, id := range p.uses(b) {
		switch up := p.parent(id).(type) {
		case *ast.AssignStmt:
			if !slices.Contains(up.Lhs, ast.Expr(id)) || len(up.Rhs) != 1 {
				return false
			}
			call, ok := up.Rhs[0].(*ast.CallExpr)
			if !ok || len(call.Args) == 0 || p.local(call.Args[0]) != b || !p.appending(call) {
				return false
			}
		case *ast.CallExpr:
			switch {
			case p.isWrite(up):
				written = true
			case p.appending(up) && up.Args[0] == id:
				switch outer := p.parent(up).(type) {
				case *ast.CallExpr:
					if !p.isWrite(outer) {
						return false
					}
					written = true
				case *ast.AssignStmt:
					if len(outer.Lhs) != 1 || p.local(outer.Lhs[0]) != b {
						return false
					}
				default:
					return false
				}
			case p.builtin(up, "len") != nil, p.builtin(up, "cap") != nil, p.stringOf(up) != nil:
			default:
				return false
			}
		default:
			return false
		}
	}
	return written
}

// appending reports whether a call appends to its first argument and returns that.
func (p *function) appending(call *ast.CallExpr) bool {
	if p.builtin(call, "append") != nil {
		return true
	}
	fn := p.callee(call)
	return fn != nil && fn.Pkg() != nil && strings.HasPrefix(fn.Name(), "Append") && slices.Contains([]string{"strconv", "fmt", "unicode/utf8", "encoding/hex"}, fn.Pkg().Path())
}
