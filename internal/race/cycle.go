package race

import (
	"context"
	"go/ast"
	"go/token"
	"slices"
	"strings"

	"golang.org/x/tools/go/packages"

	"github.com/hone-perf/hone/internal/racelog"
)

// A lock is a variable or a field, by where it is declared.
type lock struct{ name, at string }

// A holding is what a goroutine that waits for a lock may have: as there may be several locks on a line, there may be several of it.
type holding struct {
	wants lock
	holds []lock
}

// crossed returns two goroutines that took two locks in different orders, so that each waits for the lock of the other, and these locks. If a made-up call
// waits for anything else, such as a value that nobody sends, the call may be wrong; here, the package is.
func (s *Search) crossed(ctx context.Context, sub *subject, all []racelog.Stopped) (both []racelog.Stopped, locks []lock) {
	type waiter struct {
		*racelog.Stopped
		may []holding
	}
	var waiters []waiter
	seen := make(map[racelog.Frame]bool)
	for i := range all {
		g := &all[i]
		at := racelog.User(g.Stack)
		if !strings.HasPrefix(g.State, "sync.") && !strings.HasPrefix(g.State, "semacquire") || seen[at] || s.ownFrame(sub, g.Stack) == nil {
			continue
		}
		seen[at] = true // who waits at the same place holds the same
		if may := s.holdings(ctx, sub, g.Stack); len(may) > 0 {
			waiters = append(waiters, waiter{g, may})
		}
	}
	for i, a := range waiters {
		for _, b := range waiters[i+1:] {
			for _, x := range a.may {
				for _, y := range b.may {
					if x.wants != y.wants && slices.Contains(x.holds, y.wants) && slices.Contains(y.holds, x.wants) {
						return []racelog.Stopped{*a.Stopped, *b.Stopped}, []lock{y.wants, x.wants}
					}
				}
			}
		}
	}
	return nil, nil
}

// holdings says which lock a goroutine may wait for, and what it holds then.
func (s *Search) holdings(ctx context.Context, sub *subject, stack []racelog.Frame) []holding {
	var out []holding
	var held []lock // by callers
	for len(stack) > 1 && racelog.Library(stack[0].Func) {
		stack = stack[1:]
	}
	for i, f := range stack {
		if made(&f) {
			break
		}
		p, err := s.code.load(ctx, f.File)
		if err != nil || p == nil {
			continue
		}
		before, on := locksUpTo(p, f)
		if i > 0 {
			held = append(held, before...)
			continue
		}
		for n, l := range on {
			out = append(out, holding{l, slices.Concat(before, on[:n])})
		}
	}
	for i := range out {
		out[i].holds = append(out[i].holds, held...)
	}
	return out
}

// locksUpTo returns the locks that a function has taken before a line and not given back, and those that it takes on that line, in their order.
func locksUpTo(p *packages.Package, at racelog.Frame) (before, on []lock) {
	body := functionAt(p, at)
	if body == nil {
		return nil, nil
	}
	ast.Inspect(body, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncLit, *ast.DeferStmt, *ast.GoStmt:
			return false
		case *ast.CallExpr:
			sel, ok := n.Fun.(*ast.SelectorExpr)
			line := p.Fset.Position(n.Pos()).Line
			if !ok || len(n.Args) > 0 || line > at.Line {
				return true
			}
			v := varOf(p.TypesInfo, sel.X)
			if v == nil {
				return true
			}
			l := lock{v.Name(), p.Fset.Position(v.Pos()).String()}
			switch name := sel.Sel.Name; {
			case (name == "Lock" || name == "RLock") && line == at.Line:
				on = append(on, l)
			case name == "Lock" || name == "RLock":
				before = append(before, l)
			case (name == "Unlock" || name == "RUnlock") && line < at.Line:
				before = slices.DeleteFunc(before, func(o lock) bool { return o == l })
			}
		}
		return true
	})
	return before, on
}

// functionAt returns the body of the innermost function that a frame is in.
func functionAt(p *packages.Package, at racelog.Frame) (body *ast.BlockStmt) {
	line := func(pos token.Pos) int { return p.Fset.Position(pos).Line }
	for _, f := range p.Syntax {
		if p.Fset.File(f.FileStart).Name() != at.File {
			continue
		}
		ast.Inspect(f, func(n ast.Node) bool {
			if n == nil || line(n.Pos()) > at.Line || line(n.End()) < at.Line {
				return n == nil
			}
			switch n := n.(type) {
			case *ast.FuncDecl:
				body = n.Body
			case *ast.FuncLit:
				body = n.Body
			}
			return true
		})
	}
	return body
}
