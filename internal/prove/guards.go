package prove

import (
	"go/ast"
	"go/token"
	"go/types"
	"io"
	"iter"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"unicode"

	"golang.org/x/tools/go/packages"

	"github.com/hone-perf/hone/internal/gotypes/writes"
)

// Guards are what tells whether values of a type are made to be shared by goroutines.
type guards struct {
	*side
	direct  map[string]bool // declarations that take a lock or use atomic operations
	locked  map[string]bool // those, and others by what they call
	docs    map[string]string
	named   map[string]bool     // types that sentences of the package's documentation name, as shared or as not to be shared
	spread  map[string]bool     // methods that tests call on one value from several goroutines
	read    map[*types.Var]bool // fields that code reads which changes something; nil until it is asked for
	guarded map[*types.Var]bool // fields that locks guard; nil until it is asked for
}

var (
	saysSafe = lazily(`(?i)\bsafe\b[^.]{0,40}\b(concurren|goroutine|thread|parallel)|\bconcurren(t|tly)[- ](safe|use|access)|\b(goroutine|thread|concurrency)[- ]?safe|(by|from|among|across|between) (multiple|several|many|different) (goroutine|thread)|(multiple|several|many) goroutines (may|can)|\b(called|used|shared|accessed)\b[^.]{0,20}\b(concurrently|simultaneously|in parallel)`)
	// In a sentence that says no, and where the caller has to do something first.
	saysUnsafe      = lazily(`(?i)(\bnot\b|n't\b|\bnever\b|\bno\b|\bwithout\b|\bunless\b)[^.]{0,60}\b(goroutine|thread|concurren|safe|simultaneous|parallel|synchroni)|\b(non|un)[- ]?(thread|concurren|goroutine|synchroni|safe)|\bmust (be called|hold|not)|should (only )?be called|caller (must|should|is)|before (any|the|calling|use)|only once|single goroutine|one goroutine|\bmutex is held|\block(s)? (is|are|must be) held`)
	aboutGoroutines = lazily(`(?i)goroutine|thread|concurren|parallel|simultaneous|\brace`)
	// settings are names of functions that programs call before they start goroutines.
	settings = lazily(`^(Set|Register|Unregister|Init|Setup|Reset|Configure|Enable|Disable|Use|Replace|Override|Load|Seed|Start|Stop|Close|Shutdown|Flush|Install|Default|With|Option|Debug|Bind|Mock|Stub|Define|On[A-Z]|Add.*(Hook|Handler|Func|Plugin|Translation|Language|Rule|Type))`)
	// permits are names of methods that say what is to be let through or left out, which is settled before it is used. One that answers a
	// question, as a limiter's Allow does, is not meant.
	permits = lazily(`^(Ban|Allow|Disallow|Deny|Forbid|Permit|Block|Unblock|Require|Ignore|Exclude|Include|Skip|Restrict|Limit)([A-Z].*)?$`)
	// contents are names of settings that are also those of what a cache does all day.
	contents = lazily(`^(Set|Load|Replace|Use)$`)
	ends     = lazily(`^(Close|Stop|Shutdown|Wait|Done|Lock|Unlock|RLock|RUnlock|TryLock|Start|Run|Serve|Listen)|(Unsafe|Locked|NoLock|WithoutLock)$`)
	// reads are names of methods that nobody expects to change what they are called on.
	reads = lazily(`^(String|GoString|Error|Len|Size|Cap|Is[A-Z].*|Has[A-Z].*|Match.*|Equals?|Compare|Less|Marshal.*|Name|Kind|Type|Unwrap|Contains.*|Empty|Hash|Eval.*|Validate.*|Sum|Bytes|Execute.*|Render.*|Format.*|Evaluate)$`)
	// gets are those of them that change what they are called on where they take an argument: Name("x") gives a name.
	gets = lazily(`^(String|Error|Len|Size|Cap|Name|Kind|Type|Empty|Bytes)$`)
	// loggers are names of types that all of a program writes logs with, and logs is how.
	loggers = lazily(`(Logger|Entry)$`)
	logs    = lazily(`^(Log|Trace|Debug|Info|Notice|Warn|Warning|Error|Print)(f|ln|w)?$`)
	// compiled are names of types of which programs make one value at the start, and use it wherever they need it; uses is what
	// they do with it. Builders, and what collects results such as a validator with Check, are not among them.
	compiled = lazily(`(Template|Program|Expression|Expr|Schema|Validator|Validate|Policy|Pattern|Regexp?|Glob|Selector|Matcher|Localizer|Translator|Sanitizer|Formatter|Markdown|Minifier|Engine|Rule|Filter|Replacer|Inflector|Humanizer|Converter)$`)
	uses     = lazily(`^(Must)?(Run|Exec|Execute|Eval|Evaluate|Render|Format|Match|Find|Search|Lookup|Localize|Translate|Convert|Sanitize|Validate|Apply|Transform|Replace|Minify|Visit|Expand)([A-Z].*)?$`)
)

// lazily returns a function that compiles a regular expression when it is first called: commands that prove nothing start without.
func lazily(rx string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(rx) })
}

func (v *side) guards() *guards {
	g := &guards{side: v, direct: make(map[string]bool), locked: make(map[string]bool), docs: make(map[string]string), named: make(map[string]bool), spread: make(map[string]bool)}
	takes := func(d *decl) bool {
		found := false
		ast.Inspect(d.node, func(n ast.Node) bool {
			if sel, ok := n.(*ast.SelectorExpr); ok {
				if fn, ok := v.pkg.TypesInfo.Uses[sel.Sel].(*types.Func); ok && fn.Pkg() != nil && (fn.Pkg().Path() == "sync" || fn.Pkg().Path() == "sync/atomic") {
					found = true
				}
			}
			return !found
		})
		return found
	}
	for _, f := range v.pkg.Syntax {
		for _, d := range f.Decls {
			switch d := d.(type) {
			case *ast.FuncDecl:
				if fn, ok := v.pkg.TypesInfo.Defs[d.Name].(*types.Func); ok {
					g.docs[v.keyOf(fn)] = d.Doc.Text()
				}
			case *ast.GenDecl:
				for _, spec := range d.Specs {
					if ts, ok := spec.(*ast.TypeSpec); ok {
						g.docs[ts.Name.Name] = d.Doc.Text() + ts.Doc.Text() + ts.Comment.Text()
					}
				}
			}
		}
	}
	g.readDocs()
	g.readTests()
	for key, d := range v.decls {
		if d.isFunc() && takes(d) {
			g.direct[key], g.locked[key] = true, true
		}
	}
	for range 3 { // through what they call, not too deep
		for key, d := range v.decls {
			if d.isFunc() && !g.locked[key] && slices.ContainsFunc(d.uses, func(u string) bool { return g.locked[u] }) {
				g.locked[key] = true
			}
		}
	}
	return g
}

// settings reports whether a function changes what the whole package uses, which is done before there are goroutines.
func (g *guards) settings(key string) bool {
	doc := g.docs[key]
	if saysUnsafe().MatchString(doc) {
		return true
	}
	return !g.locked[key] && (settings().MatchString(key) || g.sets(key)) || g.flags(key) || g.registers(key)
}

// registers reports whether a function keeps, in a variable of the package, code that it is given. Programs register such code at their
// start; a lock in it is there for packages that are initialized at the same time as others look.
func (g *guards) registers(key string) bool {
	d := g.decls[key]
	if d == nil {
		return false
	}
	fn, ok := d.node.(*ast.FuncDecl)
	if !ok || fn.Body == nil || fn.Recv != nil {
		return false
	}
	given := make(map[types.Object]bool)
	for _, p := range fn.Type.Params.List {
		for _, name := range p.Names {
			if v := g.pkg.TypesInfo.Defs[name]; v != nil && hasCode(v.Type(), 0) {
				given[v] = true
			}
		}
	}
	found := false
	ast.Inspect(fn.Body, func(n ast.Node) bool {
		a, ok := n.(*ast.AssignStmt)
		if !ok || !slices.ContainsFunc(a.Lhs, g.ofPackage) {
			return !found
		}
		for _, e := range a.Rhs {
			ast.Inspect(e, func(n ast.Node) bool {
				id, ok := n.(*ast.Ident)
				found = found || ok && given[g.pkg.TypesInfo.Uses[id]]
				return !found
			})
		}
		return !found
	})
	return found
}

// hasCode reports whether values of a type are functions, or have some: a struct with a function, or an interface with methods.
func hasCode(t types.Type, depth int) bool {
	switch u := t.Underlying().(type) {
	case *types.Signature:
		return true
	case *types.Interface:
		return u.NumMethods() > 0 && !isErrorType(t)
	case *types.Pointer:
		return depth < 2 && hasCode(u.Elem(), depth+1)
	case *types.Struct:
		for f := range u.Fields() {
			if _, ok := f.Type().Underlying().(*types.Signature); ok {
				return true
			}
		}
	}
	return false
}

// ofPackage reports whether what is assigned to is a variable of the package, or in one.
func (g *guards) ofPackage(e ast.Expr) bool {
	root := writes.Root(g.pkg.TypesInfo, e)
	if root == nil {
		return false
	}
	v, ok := g.pkg.TypesInfo.Uses[root].(*types.Var)
	return ok && v.Parent() == g.pkg.Types.Scope()
}

// flags reports whether a function uses the flags of the program, which are declared before there are goroutines.
func (g *guards) flags(key string) bool {
	d := g.decls[key]
	if d == nil {
		return false
	}
	found := false
	ast.Inspect(d.node, func(n ast.Node) bool {
		if id, ok := n.(*ast.Ident); ok {
			p, ok := g.pkg.TypesInfo.Uses[id].(*types.PkgName)
			found = found || ok && p.Imported().Path() == "flag"
		}
		return !found
	})
	return found
}

// sets reports whether all that a function does for its caller is to set variables of the package.
func (g *guards) sets(key string) bool {
	d := g.decls[key]
	if d == nil {
		return false
	}
	fn, ok := d.node.(*ast.FuncDecl)
	if !ok || fn.Body == nil || fn.Type.Results.NumFields() > 0 {
		return false
	}
	found := false
	ast.Inspect(fn.Body, func(n ast.Node) bool {
		if a, ok := n.(*ast.AssignStmt); ok {
			found = found || slices.ContainsFunc(a.Lhs, func(l ast.Expr) bool { return !isElement(l) && g.ofPackage(l) })
		}
		return !found
	})
	return found
}

// isElement reports whether an expression is an element of a map, slice or array.
func isElement(e ast.Expr) bool {
	_, ok := ast.Unparen(e).(*ast.IndexExpr)
	return ok
}

// readDocs looks for types in what the documentation of the package and the README beside it say about goroutines.
func (g *guards) readDocs() {
	var text strings.Builder
	for _, f := range g.pkg.Syntax {
		text.WriteString(f.Doc.Text() + "\n\n")
	}
	const most = 1 << 20
	if f, err := os.Open(filepath.Join(g.dir, "README.md")); err == nil {
		readme, _ := io.ReadAll(io.LimitReader(f, most))
		f.Close()
		text.Write(readme)
	}
	for sentence := range sentences(text.String()) {
		safe, unsafe := saysSafe().MatchString(sentence), saysUnsafe().MatchString(sentence)
		if !safe && !unsafe || !aboutGoroutines().MatchString(sentence) {
			continue
		}
		for _, word := range strings.FieldsFunc(sentence, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) && r != '_' }) {
			if _, ok := g.pkg.Types.Scope().Lookup(word).(*types.TypeName); ok {
				was, said := g.named[word]
				g.named[word] = !unsafe && (was || !said)
			}
		}
	}
}

// sentences yields the sentences of a text.
func sentences(text string) iter.Seq[string] {
	return func(yield func(string) bool) {
		for paragraph := range strings.SplitSeq(text, "\n\n") {
			for s := range strings.SplitSeq(strings.ReplaceAll(paragraph, "\n", " "), ". ") {
				if !yield(s) {
					return
				}
			}
		}
	}
}

// readTests looks for methods that tests call from goroutines, where these are several and take no lock for it.
func (g *guards) readTests() {
	look := func(info *types.Info, body *ast.BlockStmt) {
		var called []string
		locks := false
		ast.Inspect(body, func(n ast.Node) bool {
			sel, ok := n.(*ast.SelectorExpr)
			if !ok {
				return true
			}
			fn, ok := info.Uses[sel.Sel].(*types.Func)
			if !ok || fn.Pkg() == nil {
				return true
			}
			locks = locks || fn.Pkg().Path() == "sync" && strings.HasSuffix(fn.Name(), "Lock")
			id, ok := ast.Unparen(sel.X).(*ast.Ident)
			if !ok || fn.Signature().Recv() == nil || fn.Pkg().Path() != g.pkg.PkgPath {
				return true
			}
			obj := info.Uses[id]
			named, isNamed := types.Unalias(base(info.TypeOf(id))).(*types.Named)
			if obj != nil && isNamed && (obj.Pos() < body.Pos() || obj.Pos() > body.End()) {
				called = append(called, named.Obj().Name()+"."+fn.Name())
			}
			return true
		})
		for _, m := range called {
			if !locks {
				g.spread[m] = true
			}
		}
	}
	for _, t := range g.testFiles() {
		var loops []ast.Node
		ast.Inspect(t.file, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.ForStmt, *ast.RangeStmt:
				loops = append(loops, n)
			case *ast.GoStmt: // of one goroutine nobody knows what it runs beside
				inLoop := slices.ContainsFunc(loops, func(l ast.Node) bool { return l.Pos() <= n.Pos() && n.End() <= l.End() })
				if fn, ok := n.Call.Fun.(*ast.FuncLit); ok && inLoop {
					look(t.info, fn.Body)
				}
			case *ast.CallExpr:
				sel, ok := n.Fun.(*ast.SelectorExpr)
				if ok && sel.Sel.Name == "RunParallel" && len(n.Args) == 1 {
					if fn, ok := n.Args[0].(*ast.FuncLit); ok {
						look(t.info, fn.Body)
					}
				}
			}
			return true
		})
	}
}

// A testFile is a file with tests, of the package or outside of it.
type testFile struct {
	file  *ast.File
	info  *types.Info
	outer bool
}

func (v *side) testFiles() (out []testFile) {
	add := func(p *packages.Package, outer bool) {
		if p == nil {
			return
		}
		for _, f := range p.Syntax {
			if strings.HasSuffix(p.Fset.File(f.Pos()).Name(), "_test.go") {
				out = append(out, testFile{f, p.TypesInfo, outer})
			}
		}
	}
	add(v.pkg, false)
	add(v.outer, true)
	return out
}

// mayShare reports whether goroutines may call a method of one value at the same time: where its type, or the function that made it,
// is made for that, or where the method only reads. key is that of the method's declaration, or "".
func (g *guards) mayShare(t *types.TypeName, method, key, made string) bool {
	serving := method == "ServeHTTP" && serves(t.Type()) // a server has a goroutine for each connection
	if !token.IsExported(method) || ends().MatchString(method) && !serving || saysUnsafe().MatchString(g.docs[key]) {
		return false
	}
	if saysSafe().MatchString(g.docs[key]) {
		return true
	}
	setting := !g.locks(key) && (settings().MatchString(method) || g.setsFields(key) || permits().MatchString(method) && g.saysNothing(t, method))
	switch safe, said := g.says(t, made); {
	case said: // what is safe to use is not always safe to set up
		return safe && (!setting || contents().MatchString(method))
	case serving:
		return true
	case holdsLock(t.Type(), g.pkg.Types, 0) && (setting || !g.setsUp(t, method, key)):
		return !setting
	case reads().MatchString(method) && !(gets().MatchString(method) && takesArguments(t, method)), g.spread[t.Name()+"."+method]:
		return true
	}
	return compiled().MatchString(t.Name()) && uses().MatchString(method) || loggers().MatchString(t.Name()) && logs().MatchString(method)
}

// owns reports whether the package declares a type.
func (g *guards) owns(t *types.TypeName) bool {
	return t.Pkg() != nil && t.Pkg().Path() == g.pkg.PkgPath
}

// locks reports whether a function takes a lock itself, or a function that it calls does. Those that call something deeper down that
// does may well do the rest without.
func (g *guards) locks(key string) bool {
	d := g.decls[key]
	return d != nil && (g.direct[key] || slices.ContainsFunc(d.uses, func(u string) bool { return g.direct[u] }))
}

// setsFields reports whether all that a method does is to set fields of its receiver to what its caller gave: an option, whatever its name.
func (g *guards) setsFields(key string) bool {
	d := g.decls[key]
	if d == nil {
		return false
	}
	fn, ok := d.node.(*ast.FuncDecl)
	if !ok || fn.Body == nil || fn.Recv.NumFields() == 0 || fn.Type.Params.NumFields() == 0 || fn.Type.Results.NumFields() > 0 {
		return false
	}
	for _, s := range fn.Body.List {
		a, ok := s.(*ast.AssignStmt)
		if !ok || a.Tok != token.ASSIGN {
			return false
		}
		for _, l := range a.Lhs {
			if _, ok := l.(*ast.SelectorExpr); !ok {
				return false
			}
		}
		if recv := fn.Recv.List[0].Names; slices.ContainsFunc(a.Rhs, func(e ast.Expr) bool { return len(recv) > 0 && g.names(e, recv[0]) }) {
			return false // it counts, or collects
		}
	}
	return true
}

// names reports whether an expression names a variable.
func (g *guards) names(e ast.Expr, v *ast.Ident) bool {
	found := false
	ast.Inspect(e, func(n ast.Node) bool {
		id, ok := n.(*ast.Ident)
		found = found || ok && g.pkg.TypesInfo.Uses[id] == g.pkg.TypesInfo.Defs[v]
		return !found
	})
	return found
}

// saysNothing reports whether all that a method of a type returns is whether it went well, or what it was called on.
func (g *guards) saysNothing(t *types.TypeName, method string) bool {
	obj, _, _ := types.LookupFieldOrMethod(types.NewPointer(t.Type()), true, t.Pkg(), method)
	fn, ok := obj.(*types.Func)
	if !ok {
		return false
	}
	for v := range fn.Signature().Results().Variables() {
		if named, ok := types.Unalias(base(v.Type())).(*types.Named); !isErrorType(v.Type()) && !(ok && named.Obj() == t) {
			return false
		}
	}
	return true
}

// serves reports whether a type, or a pointer to it, is an http.Handler.
func serves(t types.Type) bool {
	if _, ok := t.(*types.Pointer); !ok && !types.IsInterface(t) {
		t = types.NewPointer(t)
	}
	obj, _, _ := types.LookupFieldOrMethod(t, true, nil, "ServeHTTP")
	fn, ok := obj.(*types.Func)
	if !ok || fn.Signature().Params().Len() != 2 {
		return false
	}
	w, ok := types.Unalias(fn.Signature().Params().At(0).Type()).(*types.Named)
	return ok && w.Obj().Name() == "ResponseWriter" && w.Obj().Pkg() != nil && w.Obj().Pkg().Path() == "net/http"
}

// takesArguments reports whether a method of a type has parameters.
func takesArguments(t *types.TypeName, method string) bool {
	obj, _, _ := types.LookupFieldOrMethod(t.Type(), true, t.Pkg(), method)
	fn, ok := obj.(*types.Func)
	return ok && fn.Signature().Params().Len() > 0
}

// mayPass reports whether goroutines may pass one value to a function at the same time.
func (g *guards) mayPass(t *types.TypeName, fn, made string) bool {
	if !token.IsExported(fn) || ends().MatchString(fn) && !uses().MatchString(fn) || g.settings(fn) {
		return false
	}
	if saysSafe().MatchString(g.docs[fn]) {
		return true
	}
	if safe, said := g.says(t, made); said {
		return safe
	}
	return compiled().MatchString(t.Name()) && uses().MatchString(fn)
}

// says returns what documentation says about sharing the values of a type, also that of the function that made one, and whether it does.
func (g *guards) says(t *types.TypeName, made string) (safe, said bool) {
	safe, said = g.named[t.Name()]
	doc := g.docs[t.Name()]
	if !g.owns(t) {
		doc, said = "", false
	}
	switch {
	case saysUnsafe().MatchString(doc) || made != "" && saysUnsafe().MatchString(g.docs[made]):
		return false, true
	case saysSafe().MatchString(doc) || made != "" && saysSafe().MatchString(g.docs[made]):
		return true, true
	}
	return safe, said
}

// holdsLock reports whether a value has a lock or an atomic variable of its own.
func holdsLock(t types.Type, pkg *types.Package, depth int) bool {
	const deep = 3
	named, ok := types.Unalias(base(t)).(*types.Named)
	if ok && named.Obj().Pkg() != nil {
		switch path := named.Obj().Pkg().Path(); {
		case path == "sync":
			return slices.Contains([]string{"Mutex", "RWMutex", "Map"}, named.Obj().Name())
		case path == "sync/atomic":
			return true
		case named.Obj().Pkg() != pkg:
			return false
		}
	}
	st, ok := base(t).Underlying().(*types.Struct)
	if !ok || depth > deep {
		return false
	}
	for f := range st.Fields() {
		// What it only points to guards itself, except for a lock that several share.
		if _, ptr := types.Unalias(f.Type()).(*types.Pointer); holdsLock(f.Type(), pkg, depth+1) && (!ptr || isLock(base(f.Type()))) {
			return true
		}
	}
	return false
}

// isLock reports whether a type is a mutex.
func isLock(t types.Type) bool {
	named, ok := types.Unalias(t).(*types.Named)
	return ok && named.Obj().Pkg() != nil && named.Obj().Pkg().Path() == "sync"
}
