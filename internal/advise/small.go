package advise

import (
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"regexp/syntax"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/hone-perf/hone/internal/report"
)

var deferInLoop = &Rule{
	Name: "defer-in-loop", Rank: 10,
	Doc: "defer in a loop: a record on the heap for each round, and all of them run in the end",
	Find: func(p *Pass) {
		each(p, func(d *ast.DeferStmt) {
			if p.loop(d) == nil {
				return
			}
			p.report(d, p.cost(d, func(c *chain) bool {
				return c.direct() && c.has("runtime.deferproc", "runtime.deferprocStack", "runtime.newdefer", "runtime.deferprocat") || len(c.below) == 0 && c.v[cpu] == 0
			}), finding{
				title:  "defer in a loop",
				claim:  "each round keeps a call for the end of the function, in memory that it allocates; what it would set free is held until then",
				advice: "call it at the end of the round, or make the body of the loop a function",
				risk:   "with a panic in between, a call that is not deferred does not happen",
			})
		})
	},
}

var boxing = &Rule{
	Name: "interface-boxing", Rank: 11,
	Doc: "values are put on the heap to be given to an interface",
	Find: func(p *Pass) {
		lines := map[int]bool{}
		each(p, func(call *ast.CallExpr) {
			fn := p.callee(call)
			if p.info().Types[call.Fun].IsType() || fn != nil && fn.Pkg() != nil && slices.Contains([]string{"fmt", "log", "log/slog", "errors"}, fn.Pkg().Path()) {
				return // of which other rules speak
			}
			sig, ok := p.typeOf(call.Fun).(*types.Signature)
			if !ok || lines[p.line(call.Lparen)] {
				return
			}
			var what []string
			for i, a := range call.Args {
				if t := paramType(sig, i, call.Ellipsis.IsValid()); t != nil && types.IsInterface(t) && !isTypeParam(t) && p.boxes(a) {
					what = append(what, p.src(a))
				}
			}
			if what == nil {
				return
			}
			// Only a CPU profile says that it is this which allocates.
			c := p.cost(call, func(c *chain) bool {
				return c.direct() && slices.ContainsFunc(c.below, func(b string) bool { return strings.HasPrefix(b, "runtime.convT") })
			})
			if c == (cost{}) {
				return
			}
			lines[p.line(call.Lparen)] = true
			heap := p.cost(call, func(c *chain) bool { return len(c.below) == 0 && c.v[cpu] == 0 })
			c.add(&heap)
			name := p.src(call.Fun)
			p.report(call, c, finding{
				title:  "values put on the heap for an interface",
				claim:  fmt.Sprintf("%s takes an interface, so %s is copied to the heap for each call", name, strings.Join(what, ", ")),
				advice: "give it a pointer to something that is there anyhow, or make the function generic, or one for each type",
				risk:   "who is given a pointer sees what becomes of the value later",
			})
		})
	},
}

// paramType returns the type of the parameter that argument i is for.
func paramType(sig *types.Signature, i int, spread bool) types.Type {
	n := sig.Params().Len()
	switch {
	case sig.Variadic() && i >= n-1:
		if spread {
			return nil
		}
		return sig.Params().At(n - 1).Type().(*types.Slice).Elem()
	case i < n:
		return sig.Params().At(i).Type()
	}
	return nil
}

// boxes reports whether an expression needs memory to be an interface.
func (p *Pass) boxes(e ast.Expr) bool {
	t := p.typeOf(e)
	if t == nil || types.IsInterface(t) || p.isConst(e) || p.info().Types[e].IsNil() {
		return false
	}
	switch u := t.Underlying().(type) {
	case *types.Pointer, *types.Map, *types.Chan, *types.Signature:
		return false
	case *types.Basic:
		return u.Kind() != types.UnsafePointer && u.Info()&types.IsBoolean == 0
	case *types.Struct:
		return u.NumFields() > 0
	}
	return true
}

var timePerItem = &Rule{
	Name: "time-per-item", Rank: 32,
	Doc: "a timer is made, or the clock is read, in each round of a loop",
	Find: func(p *Pass) {
		each(p, func(call *ast.CallExpr) {
			if p.calls(call, "time.After", "time.NewTimer", "time.Now", "time.Since", "time.Tick") == nil || p.loop(call) == nil {
				return
			}
			name := p.callee(call).Name()
			f := finding{
				title:  "time." + name + " in each round",
				claim:  "the clock is read in each round",
				advice: "read it once for many rounds, or before the loop",
				risk:   "times are less exact",
				callee: "time." + name,
			}
			if name == "After" || name == "NewTimer" || name == "Tick" {
				f.claim = "each round makes a timer and a channel, though most of them never fire"
				f.advice = "make one with time.NewTimer before the loop, and Reset it in each round"
				f.risk = "before Go 1.23, a timer has to be stopped and its channel emptied before Reset"
			}
			p.report(call, p.cost(call, below("time."+name)), f)
		})
	},
}

var readAll = &Rule{
	Name: "read-all", Rank: 43,
	Doc: "a body is read into a slice that grows, to be decoded from there",
	Find: func(p *Pass) {
		each(p, func(call *ast.CallExpr) {
			if p.calls(call, "io.ReadAll", "io/ioutil.ReadAll") == nil {
				return
			}
			c := p.cost(call, func(c *chain) bool {
				return slices.Contains([]string{"io.ReadAll", "io/ioutil.ReadAll"}, c.first()) && (len(c.below) == 1 || isRuntime(c.below[1]) || c.below[1] == "io.ReadAll")
			})
			f := finding{
				title:  "body read into a slice that grows",
				claim:  "io.ReadAll begins with 512 bytes and makes a larger slice whenever they are full",
				advice: "where the length is known, such as from ContentLength, read into a buffer of that size, after a look at whether it is reasonable; or use a bytes.Buffer again, from a pool",
				risk:   "a length that a peer sends is not to be trusted",
			}
			p.report(call, c, f)
		})
	},
}

var reflectBinary = &Rule{
	Name: "binary-reflect", Rank: 38,
	Doc: "numbers are read or written through encoding/binary.Read and Write",
	Find: func(p *Pass) {
		each(p, func(call *ast.CallExpr) {
			if p.calls(call, "encoding/binary.Read", "encoding/binary.Write") == nil || len(call.Args) != 3 {
				return
			}
			name := p.callee(call).Name()
			c := p.cost(call, func(c *chain) bool {
				return c.first() == "encoding/binary."+name && (len(c.below) == 1 || strings.HasPrefix(c.below[1], "encoding/binary.") || strings.HasPrefix(c.below[1], "reflect.") || isRuntime(c.below[1]))
			})
			verb := map[string]string{"Read": "Uint32 and the like take a number out of bytes", "Write": "AppendUint32 and the like append a number to bytes"}[name]
			p.report(call, c, finding{
				title:  "binary." + name + " on a hot path",
				claim:  fmt.Sprintf("binary.%s looks at the type of its argument for each call, by reflection where it is no plain number, and allocates bytes for it", name),
				advice: verb + ", without an interface in between",
				callee: "encoding/binary." + name,
				risk:   "the order and the size of fields have to be the same",
			})
		})
	},
}

var reflectHot = &Rule{
	Name: "reflect-hot", Rank: 28,
	Doc: "reflection on a hot path",
	Find: func(p *Pass) {
		lines := map[int]bool{}
		each(p, func(call *ast.CallExpr) {
			fn := p.callee(call)
			if fn == nil || fn.Pkg() == nil || fn.Pkg().Path() != "reflect" || lines[p.line(call.Pos())] {
				return
			}
			c := p.cost(call, func(c *chain) bool { return strings.HasPrefix(c.first(), "reflect.") })
			if c == (cost{}) {
				return
			}
			lines[p.line(call.Pos())] = true
			p.report(call, c, finding{
				title:  "reflection on a hot path",
				claim:  "package reflect looks at types for each call, and values that it makes are on the heap",
				advice: "a type switch for the types that come often, a generic function, or what was found out about a type kept by type",
				callee: p.profileName(fn),
				risk:   "types that are not thought of need reflection still",
			})
		})
	},
}

var constError = &Rule{
	Name: "const-error", Rank: 18,
	Doc: "an error that is always the same is made for every call",
	Find: func(p *Pass) {
		each(p, func(call *ast.CallExpr) {
			if p.calls(call, "errors.New", "fmt.Errorf") == nil || len(call.Args) != 1 {
				return
			}
			text, ok := p.text(call.Args[0])
			if !ok || strings.Contains(text, "%") {
				return
			}
			name := p.callee(call).Pkg().Name() + "." + p.callee(call).Name()
			p.why = "two errors that were different would be the same to errors.Is, and to =="
			p.report(call, p.cost(call, below(name)), finding{
				title:  "error made anew for every call",
				claim:  fmt.Sprintf("%s allocates an error whose text never changes", name),
				advice: "a variable of the package: var Err… = errors.New(…), which callers can ask for with errors.Is, too",
				callee: name,
				risk:   "two errors with the same text are then one",
			})
		})
	},
}

var largeCopies = &Rule{
	Name: "large-range-copy", Rank: 23,
	Doc: "a loop copies large elements to look at them",
	Find: func(p *Pass) {
		each(p, func(loop *ast.RangeStmt) {
			v, ok := loop.Value.(*ast.Ident)
			if !ok || v.Name == "_" || loop.Tok != token.DEFINE || isMap(p.typeOf(loop.X)) {
				return
			}
			t := p.typeOf(v)
			if t == nil || isTypeParam(t) {
				return
			}
			size := p.unit.TypesSizes.Sizeof(t)
			if size < 128 {
				return
			}
			obj := p.info().Defs[v]
			// The copy is on the line of the range, by itself or by the runtime.
			head := p.lines[p.line(loop.For)]
			c := head.sum(func(c *chain) bool {
				return c.v[cpu] > 0 && (len(c.below) == 0 || c.has("runtime.duffcopy", "runtime.memmove", "runtime.typedmemmove", "runtime.wbMove"))
			})
			f := finding{
				title:  "large elements copied to look at them",
				claim:  fmt.Sprintf("each round copies an element of %d bytes to %s", size, v.Name),
				advice: "range over the index, and take the address of the element",
				risk:   "what the loop does to the elements is then seen in the variable, too, and the other way round",
			}
			if _, isSlice := p.typeOf(loop.X).Underlying().(*types.Slice); isSlice && obj != nil && p.simple(loop.X) && p.onlyReadIn(loop.Body, obj) && p.staysSlice(loop) {
				key := p.localName("i")
				begin := key
				if id, ok := loop.Key.(*ast.Ident); ok && id.Name != "_" {
					begin, key = id.Name, id.Name
				}
				f.risk = "none: the loop calls nothing, and writes to no element"
				f.fixes = p.fix(report.Mechanical, "take the address of the element",
					edit{loop.Key.Pos(), loop.Value.End(), begin}, edit{loop.Body.Lbrace + 1, loop.Body.Lbrace + 1, fmt.Sprintf("\n%s := &%s[%s]", v.Name, p.src(loop.X), key)})
			}
			p.report(loop, c, f)
		})
	},
}

// staysSlice reports whether a loop ranges over a variable of the function, which it gives no other value.
func (p *Pass) staysSlice(loop *ast.RangeStmt) bool {
	v := p.local(loop.X)
	return v != nil && !p.captured(v, p.decl.Body) && !p.assigns(loop.Body, func(o types.Object) bool { return o == v })
}

// onlyReadIn reports whether a node only reads fields of a variable, calls nothing, and assigns to nothing but plain variables.
func (p *Pass) onlyReadIn(n ast.Node, v types.Object) bool {
	ok := true
	ast.Inspect(n, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.CallExpr:
			if p.builtin(n, "len") == nil && p.builtin(n, "min") == nil && p.builtin(n, "max") == nil && !p.info().Types[n.Fun].IsType() {
				ok = false
			}
		case *ast.AssignStmt:
			for _, l := range n.Lhs {
				id, isID := l.(*ast.Ident)
				ok = ok && isID && p.info().ObjectOf(id) != v
			}
		case *ast.IncDecStmt:
			_, isID := n.X.(*ast.Ident)
			ok = ok && isID
		case *ast.UnaryExpr:
			ok = ok && n.Op != token.AND && n.Op != token.ARROW
		case *ast.FuncLit, *ast.SendStmt, *ast.GoStmt, *ast.DeferStmt:
			ok = false
		case *ast.Ident:
			if p.info().Uses[n] == v {
				sel, isSel := p.parent(n).(*ast.SelectorExpr)
				ok = ok && isSel && sel.X == n
			}
		}
		return ok
	})
	return ok
}

var linearSearch = &Rule{
	Name: "linear-search", Rank: 0,
	Doc: "a list is searched from its beginning again and again",
	Find: func(p *Pass) {
		// A function that does nothing but search one.
		var loop *ast.RangeStmt
		for _, s := range p.decl.Body.List {
			if r, ok := s.(*ast.RangeStmt); ok && loop == nil {
				loop = r
			}
		}
		if loop == nil || len(p.decl.Body.List) > 2 || len(loop.Body.List) != 1 {
			return
		}
		cond, ok := loop.Body.List[0].(*ast.IfStmt)
		if !ok || cond.Else != nil || len(cond.Body.List) != 1 {
			return
		}
		cmp, ok := cond.Cond.(*ast.BinaryExpr)
		_, returns := cond.Body.List[0].(*ast.ReturnStmt)
		list := p.local(loop.X)
		if !ok || cmp.Op != token.EQL || !returns || list == nil || !p.isParam(list) {
			return
		}
		if _, ok := list.Type().Underlying().(*types.Slice); !ok {
			return
		}
		c := p.total(func(c *chain) bool {
			return len(c.below) == 0 && c.v[cpu] > 0 || c.has("runtime.memequal", "memeqbody")
		})
		if p.costs.part(&c, cpu) < 0.05 {
			return // short lists are what it is good for
		}
		what := "whether something is in a list"
		ast.Inspect(p.decl.Body, func(n ast.Node) bool {
			if p.builtin(n, "append") != nil {
				what = "whether something is in a list before it is added"
			}
			return true
		})
		p.report(loop, c, finding{
			title:  "lists searched from the beginning",
			claim:  fmt.Sprintf("%s looks at each element to find out %s, so that a list of n costs n² steps to fill", p.decl.Name.Name, what),
			advice: "where elements are objects or small numbers, mark those that are in: with a field, a []bool, or the number of the round; where lists are long, a map or a sorted list",
			risk:   "marks have to be taken away again, or numbered by round",
		})
	},
}

var recomputed = &Rule{
	Name: "recomputed-value", Rank: 3,
	Doc: "something is worked out anew from a field that never changes",
	Find: func(p *Pass) {
		each(p, func(call *ast.CallExpr) {
			fn := p.callee(call)
			if fn == nil || fn.Pkg() != p.unit.Types || fn.Signature().Recv() != nil || len(call.Args) != 1 || fn.Signature().Results().Len() != 1 {
				return
			}
			sel, ok := ast.Unparen(call.Args[0]).(*ast.SelectorExpr)
			if !ok || !isString(p.typeOf(sel)) || !isString(fn.Signature().Results().At(0).Type()) {
				return
			}
			field, ok := p.object(sel).(*types.Var)
			if !ok || !field.IsField() || field.Exported() || p.assignedLater(field) {
				return
			}
			// Calls of the same function on the same lines cannot be told apart.
			same := int64(0)
			st := p.statement(call)
			if st == nil {
				return
			}
			ast.Inspect(st, func(n ast.Node) bool {
				if other, ok := n.(*ast.CallExpr); ok && p.callee(other) == fn {
					same++
				}
				return true
			})
			c := p.cost(call, p.calling(call))
			for m := range c {
				c[m] /= same
			}
			p.why = "that the function only looks at its argument is not known"
			p.report(call, c, finding{
				title:  fmt.Sprintf("%s of a field that never changes", fn.Name()),
				claim:  fmt.Sprintf("%s is only set when its struct is made, so %s gives the same each time", p.src(sel), p.src(call)),
				advice: "keep the result in the struct, from when it is made",
				callee: p.profileName(fn),
				risk:   fmt.Sprintf("%s must look at nothing but its argument", fn.Name()),
			})
		})
	},
}

// assignedLater reports whether a field is given a value anywhere but where its struct is made, or its address is taken.
func (p *Pass) assignedLater(field *types.Var) bool {
	for _, f := range p.unit.files {
		found := false
		ast.Inspect(f.ast, func(n ast.Node) bool {
			is := func(e ast.Expr) bool { return p.object(e) == field }
			switch n := n.(type) {
			case *ast.AssignStmt:
				found = found || slices.ContainsFunc(n.Lhs, is)
			case *ast.IncDecStmt:
				found = found || is(n.X)
			case *ast.UnaryExpr:
				found = found || n.Op == token.AND && is(n.X)
			}
			return !found
		})
		if found {
			return true
		}
	}
	return false
}

var unbufferedWrite = &Rule{
	Name: "unbuffered-write", Rank: 39,
	Doc: "each piece of output is a system call",
	Find: func(p *Pass) {
		each(p, func(call *ast.CallExpr) {
			if p.loop(call) == nil || p.calls(call, logFuncs...) != nil {
				return
			}
			fn := p.callee(call)
			if fn == nil || !strings.HasPrefix(fn.Name(), "Write") && !strings.HasPrefix(fn.Name(), "Fprint") && !strings.HasPrefix(fn.Name(), "Print") {
				return
			}
			match := p.calling(call)
			c := p.cost(call, func(c *chain) bool {
				return match(c) && c.has("syscall.write", "syscall.Write", "internal/poll.(*FD).Write", "internal/poll.ignoringEINTRIO") &&
					!slices.ContainsFunc(c.below, func(b string) bool { return strings.HasPrefix(b, "bufio.") || strings.HasPrefix(b, "log.") })
			})
			p.report(call, c, finding{
				title:  "a system call for each piece of output",
				claim:  "each round writes by itself, which is a switch to the system",
				advice: "write through a bufio.Writer, and Flush it behind the loop, and before something else has to be seen",
				risk:   "what is in the buffer is lost in a crash; errors show when it is flushed",
			})
		})
	},
}

var closurePerCall = &Rule{
	Name: "closure-per-call", Rank: 6,
	Doc: "a function literal that captures variables is allocated for every call",
	Find: func(p *Pass) {
		each(p, func(lit *ast.FuncLit) {
			line := p.lines[p.line(lit.Pos())]
			c := line.sum(allocates("newobject"))
			if p.line(lit.Pos()) == p.line(p.decl.Pos()) || p.allocatesElse(lit) || c == (cost{}) {
				return
			}
			captured := p.capturedBy(lit)
			if len(captured) == 0 {
				return
			}
			p.report(lit, c, finding{
				title:  "function literal allocated for every call",
				claim:  fmt.Sprintf("it captures %s, and is kept by somebody for all that the compiler knows, so it and what it changes are on the heap", strings.Join(captured, ", ")),
				advice: "make it a method, or give it what it needs as arguments; or make it once, and use it again",
				risk:   "what is captured is seen as it is when the function is called, arguments as they were before",
			})
		})
	},
}

// allocatesElse reports whether something else on the first line of a literal may allocate.
func (p *Pass) allocatesElse(lit *ast.FuncLit) bool {
	found := false
	at := p.line(lit.Pos())
	ast.Inspect(p.decl, func(n ast.Node) bool {
		if n == nil || n == ast.Node(lit) {
			return false
		}
		if p.line(n.Pos()) != at {
			return true
		}
		switch n := n.(type) {
		case *ast.CompositeLit:
			found = true
		case *ast.BinaryExpr:
			found = found || n.Op == token.ADD && isString(p.typeOf(n)) && !p.isConst(n)
		case *ast.CallExpr:
			found = found || p.builtin(n, "make") != nil || p.builtin(n, "new") != nil || p.builtin(n, "append") != nil || p.info().Types[n.Fun].IsType()
		case *ast.FuncLit:
			found = true
		case *ast.GoStmt:
			found = true
		}
		return !found
	})
	return found
}

// capturedBy returns the names of the variables of the function that a literal uses.
func (p *Pass) capturedBy(lit *ast.FuncLit) (out []string) {
	ast.Inspect(lit.Body, func(n ast.Node) bool {
		if id, ok := n.(*ast.Ident); ok {
			if v := p.local(id); v != nil && (v.Pos() < lit.Pos() || v.Pos() >= lit.End()) && !slices.Contains(out, v.Name()) {
				out = append(out, v.Name())
			}
		}
		return true
	})
	return out
}

var goPerItem = &Rule{
	Name: "goroutine-per-item", Rank: 26,
	Doc: "a goroutine is started for each item",
	Find: func(p *Pass) {
		each(p, func(n ast.Node) {
			var call *ast.CallExpr
			switch n := n.(type) {
			case *ast.GoStmt:
				call = n.Call
			case *ast.CallExpr:
				call = p.calls(n, "(*sync.WaitGroup).Go")
			}
			if call == nil || p.loop(n) == nil {
				return
			}
			c := p.cost(n, func(c *chain) bool {
				return c.has("runtime.newproc", "runtime.newproc1") || c.first() == "sync.(*WaitGroup).Go" && len(c.below) == 1
			})
			p.report(n, c, finding{
				title:  "a goroutine for each item",
				claim:  "starting a goroutine takes longer than what small items need, and all of them are in memory at once",
				advice: "as many goroutines as processors, each with a part of the items",
				risk:   "items that wait for something hold up those behind them",
			})
		})
	},
}

var builderForBuffer = &Rule{
	Name: "buffer-string", Rank: 29,
	Doc: "a text is put together in a bytes.Buffer, and copied to be a string",
	Find: func(p *Pass) {
		each(p, func(call *ast.CallExpr) {
			if p.calls(call, "(*bytes.Buffer).String") == nil {
				return
			}
			sel := call.Fun.(*ast.SelectorExpr)
			b := p.local(sel.X)
			if b == nil {
				return
			}
			f := finding{
				title:  "text copied out of a bytes.Buffer",
				claim:  "String copies all that is in the Buffer; that of a strings.Builder does not",
				advice: "put the text together in a strings.Builder",
				callee: "bytes.(*Buffer).String",
				risk:   "none",
			}
			decl, value := p.declared(b)
			st, isVar := decl.(*ast.DeclStmt)
			if isVar && value == nil && p.onlyBuilds(b) {
				spec := st.Decl.(*ast.GenDecl).Specs
				if vs, ok := spec[0].(*ast.ValueSpec); ok && len(spec) == 1 && len(vs.Names) == 1 {
					p.need("strings")
					f.fixes = p.fix(report.Mechanical, "put it together in a strings.Builder", replace(vs.Type, "strings.Builder"))
				}
			}
			p.report(call, p.cost(call, below("bytes.(*Buffer).String")), f)
		})
	},
}

// onlyBuilds reports whether all that is done with a bytes.Buffer can be done with a strings.Builder.
func (p *Pass) onlyBuilds(b *types.Var) bool {
	same := []string{"Write", "WriteByte", "WriteRune", "WriteString", "String", "Len", "Grow", "Reset", "Cap"}
	for _, id := range p.uses(b) {
		switch up := p.parent(id).(type) {
		case *ast.SelectorExpr:
			if !slices.Contains(same, up.Sel.Name) {
				return false
			}
		case *ast.UnaryExpr:
			call, ok := p.parent(up).(*ast.CallExpr)
			if !ok || up.Op != token.AND || p.calls(call, "fmt.Fprint", "fmt.Fprintf", "fmt.Fprintln", "io.WriteString") == nil {
				return false
			}
		default:
			return false
		}
	}
	return true
}

var plainRegexp = &Rule{
	Name: "plain-regexp", Rank: 36,
	Doc: "a regular expression is used for a text that has nothing special",
	Find: func(p *Pass) {
		each(p, func(call *ast.CallExpr) {
			if p.calls(call, "(*regexp.Regexp).MatchString") == nil {
				return
			}
			sel := call.Fun.(*ast.SelectorExpr)
			pattern, ok := p.packagePattern(sel.X)
			if !ok {
				return
			}
			fn, text := plainPattern(pattern)
			if fn == "" {
				return
			}
			f := finding{
				title:  "regexp for a fixed text",
				claim:  fmt.Sprintf("the pattern %s has nothing special in it: strings.%s says the same", shownPattern(pattern), fn),
				advice: fmt.Sprintf("strings.%s", fn),
				callee: "regexp.(*Regexp).MatchString",
				risk:   "none",
			}
			p.need("strings")
			f.fixes = p.fix(report.Mechanical, "look for the text", replace(call, fmt.Sprintf("strings.%s(%s, %s)", fn, p.src(call.Args[0]), strconv.Quote(text))))
			p.report(call, p.cost(call, p.calling(call)), f)
		})
	},
}

// packagePattern returns the pattern of a variable of the package that is compiled where it is declared, and only there.
func (p *Pass) packagePattern(e ast.Expr) (string, bool) {
	v, ok := p.object(e).(*types.Var)
	if !ok || v.Parent() != p.unit.Types.Scope() || v.Exported() || p.assignedLater(v) {
		return "", false
	}
	for _, f := range p.unit.files {
		for _, d := range f.ast.Decls {
			g, ok := d.(*ast.GenDecl)
			if !ok {
				continue
			}
			for _, s := range g.Specs {
				spec, ok := s.(*ast.ValueSpec)
				if !ok || len(spec.Names) != 1 || len(spec.Values) != 1 || p.info().Defs[spec.Names[0]] != v {
					continue
				}
				if call := p.calls(spec.Values[0], "regexp.MustCompile"); call != nil {
					return p.text(call.Args[0])
				}
			}
		}
	}
	return "", false
}

// plainPattern returns the function of package strings that matches what a pattern does, and the text for it.
func plainPattern(pattern string) (fn, text string) {
	re, err := syntax.Parse(pattern, syntax.Perl)
	if err != nil {
		return "", ""
	}
	list := []*syntax.Regexp{re}
	if re.Op == syntax.OpConcat {
		list = re.Sub
	}
	begin, end := false, false
	if len(list) > 0 && list[0].Op == syntax.OpBeginText {
		begin, list = true, list[1:]
	}
	if len(list) > 0 && list[len(list)-1].Op == syntax.OpEndText {
		end, list = true, list[:len(list)-1]
	}
	if len(list) != 1 || list[0].Op != syntax.OpLiteral || list[0].Flags&syntax.FoldCase != 0 {
		return "", ""
	}
	for _, r := range list[0].Rune {
		if r > unicode.MaxASCII {
			return "", "" // bytes that are no text are another matter
		}
	}
	switch {
	case begin && end:
		return "", ""
	case begin:
		fn = "HasPrefix"
	case end:
		fn = "HasSuffix"
	default:
		fn = "Contains"
	}
	return fn, string(list[0].Rune)
}
