package prove

import (
	"go/ast"
	"go/token"
	"go/types"
	"regexp"
	"slices"
	"strings"
)

// Guards are what tells whether values of a type are made to be shared by goroutines.
type guards struct {
	*side
	locked map[string]bool // declarations that take a lock or use atomic operations, themselves or by what they call
	docs   map[string]string
}

var (
	saysSafe = regexp.MustCompile(`(?i)\bsafe\b[^.]{0,40}\b(concurren|goroutine|thread|parallel)|\bconcurren(t|tly)[- ](safe|use|access)|\b(goroutine|thread|concurrency)[- ]?safe|(by|from|among|across|between) (multiple|several|many|different) (goroutine|thread)|(multiple|several|many) goroutines (may|can)|\b(called|used|shared|accessed)\b[^.]{0,20}\b(concurrently|simultaneously|in parallel)`)
	// In a sentence that says no, and where the caller has to do something first.
	saysUnsafe = regexp.MustCompile(`(?i)(\bnot\b|n't\b|\bnever\b|\bno\b|\bwithout\b|\bunless\b)[^.]{0,60}\b(goroutine|thread|concurren|safe|simultaneous|parallel|synchroni)|\b(non|un)[- ]?(thread|concurren|goroutine|synchroni|safe)|\bmust (be called|hold|not)|should (only )?be called|caller (must|should|is)|before (any|the|calling|use)|only once|single goroutine|one goroutine|\bmutex is held|\block(s)? (is|are|must be) held`)
	// settings are names of functions that programs call before they start goroutines.
	settings = regexp.MustCompile(`^(Set|Register|Unregister|Init|Setup|Reset|Configure|Enable|Disable|Use|Replace|Override|Load|Seed|Start|Stop|Close|Shutdown|Flush|Install|Default|With|Option|Debug|Bind|Mock|Stub|Add.*(Hook|Handler|Func|Plugin|Translation|Language|Rule|Type))`)
	ends     = regexp.MustCompile(`^(Close|Stop|Shutdown|Wait|Done|Lock|Unlock|RLock|RUnlock|TryLock|Start|Run|Serve|Listen)|(Unsafe|Locked|NoLock|WithoutLock)$`)
	// reads are names of methods that nobody expects to change what they are called on.
	reads = regexp.MustCompile(`^(String|GoString|Error|Len|Size|Cap|Is[A-Z].*|Has[A-Z].*|Match.*|Equals?|Compare|Less|Marshal.*|Name|Kind|Type|Unwrap|Contains.*|Empty|Hash|Eval.*|Validate.*|Sum|Bytes|Execute.*|Render.*|Format.*|Evaluate)$`)
)

func (v *side) guards() *guards {
	g := &guards{side: v, locked: make(map[string]bool), docs: make(map[string]string)}
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
	for key, d := range v.decls {
		if d.isFunc() && takes(d) {
			g.locked[key] = true
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
	if saysUnsafe.MatchString(doc) {
		return true
	}
	return !g.locked[key] && (settings.MatchString(key) || g.sets(key))
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
		a, ok := n.(*ast.AssignStmt)
		if !ok {
			return !found
		}
		for _, l := range a.Lhs {
			for {
				switch x := l.(type) {
				case *ast.ParenExpr:
					l = x.X
					continue
				case *ast.SelectorExpr:
					l = x.X
					continue
				case *ast.StarExpr:
					l = x.X
					continue
				}
				break
			}
			if id, ok := l.(*ast.Ident); ok {
				v, ok := g.pkg.TypesInfo.Uses[id].(*types.Var)
				found = found || ok && v.Parent() == g.pkg.Types.Scope()
			}
		}
		return !found
	})
	return found
}

// mayShare reports whether goroutines may call a method of one value at the same time: where its type, or the function that made it,
// is made for that, or where the method only reads.
func (g *guards) mayShare(t *types.TypeName, e *entry, made string) bool {
	method := e.name[strings.LastIndexByte(e.name, '.')+1:]
	if !token.IsExported(method) || ends.MatchString(method) || saysUnsafe.MatchString(g.docs[e.key]) {
		return false
	}
	switch {
	case saysUnsafe.MatchString(g.docs[t.Name()]) || made != "" && saysUnsafe.MatchString(g.docs[made]):
		return false
	case saysSafe.MatchString(g.docs[t.Name()]) || made != "" && saysSafe.MatchString(g.docs[made]) || e.key != "" && saysSafe.MatchString(g.docs[e.key]):
		return true
	case holdsLock(t.Type(), g.pkg.Types, 0):
		return g.locked[e.key] || !settings.MatchString(method)
	}
	return reads.MatchString(method)
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
