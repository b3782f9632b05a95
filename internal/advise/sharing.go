package advise

import (
	"fmt"
	"go/ast"
	"go/types"
	"strings"
)

var falseSharing = &Rule{
	Name: "false-sharing", Rank: 47,
	Doc: "goroutines count in words that share a cache line",

	NoFix: "padding would change the type of the elements, and all that use them",
	Find: func(p *Pass) {
		each(p, func(call *ast.CallExpr) {
			fn := p.callee(call)
			if fn == nil || fn.Pkg() == nil || fn.Pkg().Path() != "sync/atomic" || !strings.HasPrefix(fn.Name(), "Add") && !strings.HasPrefix(fn.Name(), "Store") {
				return
			}
			var index *ast.IndexExpr
			ast.Inspect(call, func(n ast.Node) bool {
				if i, ok := n.(*ast.IndexExpr); ok && p.typeOf(i.X) != nil {
					index = i
				}
				return index == nil
			})
			if index == nil {
				return
			}
			s, ok := p.typeOf(index.X).Underlying().(*types.Slice)
			if !ok {
				return
			}
			size, ok := p.sizeOf(s.Elem())
			if !ok || size >= 64 {
				return
			}
			c := p.cost(call, func(c *chain) bool {
				return len(c.below) == 0 || strings.HasPrefix(c.first(), "sync/atomic.") || strings.HasPrefix(c.first(), "internal/runtime/atomic.")
			})
			p.report(call, c, finding{
				title:  "counters of several goroutines in one cache line",
				claim:  fmt.Sprintf("%s are %d bytes each, so several of them share the 64 bytes that processors hand each other: who writes one takes the others away", p.src(index.X), size),
				advice: "count in a variable of the goroutine, and add it up in the end; or pad each counter to 64 bytes, or 128 on some processors",
				risk:   "it shows with several processors only; padding takes memory",
				noFix:  fmt.Sprintf("the elements of %s would need another type, and all that use them have to change with it", p.src(index.X)),
			})
		})
	},
}
