package advise

import (
	"fmt"
	"go/ast"
	"strings"
)

var reflectBinary = &Rule{
	Name: "binary-reflect", Rank: 38, PerCall: true,
	Doc: "numbers are read or written through encoding/binary.Read and Write",

	NoFix: "the size and order of all fields would have to be written out by hand",
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

	NoFix: "which types it is given is only known when the program runs",
	Find: func(p *Pass) {
		lines := map[int]bool{}
		each(p, func(call *ast.CallExpr) {
			fn := p.callee(call)
			if fn == nil || fn.Pkg() == nil || fn.Pkg().Path() != "reflect" || lines[p.line(call.Pos())] {
				return
			}
			// What it is given is put on the heap for it.
			c := p.cost(call, either(func(c *chain) bool { return strings.HasPrefix(c.first(), "reflect.") }, p.boxing(call)))
			if c == (cost{}) {
				return
			}
			lines[p.line(call.Pos())] = true
			f := finding{
				title:  "reflection on a hot path",
				claim:  "package reflect looks at types for each call, and values that it makes are on the heap",
				advice: "a type switch for the types that come often, a generic function, or what was found out about a type kept by type",
				callee: p.profileName(fn),
				risk:   "types that are not thought of need reflection still",
				vague:  true, // mostly it is what the program is about
			}
			if p.calls(call, "reflect.DeepEqual") != nil {
				f.vague = false
				f.title = "compared by reflection"
				f.claim = "reflect.DeepEqual boxes both values, and looks at the type of each part of them at run time"
				f.advice = "== or slices.Equal and maps.Equal, which the compiler makes for the type"
				f.risk = "DeepEqual follows pointers, and tells nil from empty"
				if p.worth(c) {
					if f.fixes = p.compared(call); f.fixes != nil {
						f.risk = "none: what is nil and what is empty is told apart as before"
					}
				}
			}
			p.report(call, c, f)
		})
	},
}
