package advise

import (
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"strings"
)

var constError = &Rule{
	Name: "const-error", Rank: 18, PerCall: true,
	Doc: "an error that is always the same is made for every call",

	NoFix: "two errors that were different would be the same to errors.Is, and to ==",
	Find: func(p *Pass) {
		each(p, func(call *ast.CallExpr) {
			if p.calls(call, "errors.New", "fmt.Errorf") == nil || len(call.Args) != 1 || p.startup(call) {
				return
			}
			text, ok := p.text(call.Args[0])
			if !ok || strings.Contains(text, "%") {
				return
			}
			name := p.callee(call).Pkg().Name() + "." + p.callee(call).Name()
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

var errorPerCall = &Rule{
	Name: "error-per-call", Rank: 18, PerCall: true,
	Doc: "errors are put together on a path that is taken often",

	NoFix: "whether callers read the text is not known",
	Find: func(p *Pass) {
		if p.makesError(p.info().Defs[p.decl.Name]) && p.calledHere() {
			return // who calls it is told
		}
		each(p, func(call *ast.CallExpr) {
			fn := p.callee(call)
			if fn == nil || !p.makesError(fn) || len(call.Args) == 0 || p.startup(call) {
				return
			}
			if _, isText := p.text(call.Args[0]); isText && len(call.Args) == 1 {
				return // const-error has the word
			}
			name := fn.Name()
			if fn.Pkg() != nil {
				name = fn.Pkg().Name() + "." + name
			}
			p.report(call, p.cost(call, p.calling(call)), finding{
				title:  "error put together for every call",
				claim:  fmt.Sprintf("%s allocates, and formats a text, also for a caller that only asks whether there is an error", name),
				advice: "find out first whether somebody wants it; return an error that is there already, or a type that keeps the parts and makes the text in its method Error",
				callee: p.profileName(fn),
				risk:   "callers may compare errors, or read their text",
			})
		})
	},
}

// makesError reports whether a function is there to make errors: fmt.Errorf, newError, wrapf.
func (p *function) makesError(o types.Object) bool {
	fn, ok := o.(*types.Func)
	if !ok || fn.Signature().Results().Len() != 1 || fn.Signature().Params().Len() == 0 {
		return false
	}
	name := strings.ToLower(fn.Name())
	if !strings.Contains(name, "err") && !strings.HasPrefix(name, "wrap") && fn.FullName() != "errors.New" {
		return false
	}
	return types.Implements(fn.Signature().Results().At(0).Type(), types.Universe.Lookup("error").Type().Underlying().(*types.Interface))
}

// shownInErrors returns the places where a function of the package gives bytes that it is given as parameter at to a function of fmt that shows
// them as text; nil where it does anything else with them but to look at them and at parts of them.
func (p *function) shownInErrors(fn *types.Func, at int) (out []ast.Expr) {
	decl, _ := p.declOf(fn)
	if decl == nil || decl.Body == nil || fn.Signature().Variadic() {
		return nil
	}
	b := fn.Signature().Params().At(at)
	above := p.unit.above()
	ok := types.Identical(b.Type(), types.NewSlice(types.Typ[types.Byte])) // others may have a method that says how they are shown
	ast.Inspect(decl.Body, func(n ast.Node) bool {
		id, isID := n.(*ast.Ident)
		if !isID || p.info().Uses[id] != types.Object(b) {
			return ok
		}
		var part ast.Expr = id
		if cut, isCut := above[id].(*ast.SliceExpr); isCut && cut.X == part {
			part = cut
		}
		switch up := above[part].(type) {
		case *ast.IndexExpr:
			ok = ok && up.X == part && !isAddressed(above[up], up)
		case *ast.RangeStmt:
			ok = ok && up.X == part
		case *ast.AssignStmt: // b = b[1:]
			ok = ok && len(up.Lhs) == 1 && len(up.Rhs) == 1 && p.info().Uses[asIdent(up.Lhs[0])] == types.Object(b)
		case *ast.CallExpr:
			switch {
			case p.builtin(up, "len") != nil, p.builtin(up, "cap") != nil, p.stringOf(up) != nil:
			case p.showsText(up, part):
				out = append(out, part)
			default:
				ok = false
			}
		default:
			ok = false
		}
		return ok
	})
	if !ok {
		return nil
	}
	return out
}

func isAddressed(above ast.Node, n ast.Expr) bool {
	ref, ok := above.(*ast.UnaryExpr)
	return ok && ref.Op == token.AND && ref.X == n
}

func asIdent(e ast.Expr) *ast.Ident {
	id, _ := e.(*ast.Ident)
	return id
}

// showsText reports whether a call is one of fmt.Errorf or Sprintf that shows an argument in a way that is the same for bytes and for a text.
func (p *function) showsText(call *ast.CallExpr, arg ast.Expr) bool {
	if p.calls(call, "fmt.Errorf", "fmt.Sprintf") == nil || call.Ellipsis.IsValid() {
		return false
	}
	format, ok := p.text(call.Args[0])
	if !ok || strings.ContainsAny(format, "[*") {
		return false
	}
	for _, a := range call.Args[1:] {
		_, verb, found := strings.Cut(strings.ReplaceAll(format, "%%", ""), "%")
		if !found || verb == "" {
			return false
		}
		if format = verb[1:]; a == arg {
			return strings.ContainsRune("sqxX", rune(verb[0]))
		}
	}
	return false
}
