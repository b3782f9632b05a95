package rules

import (
	"fmt"
	"go/ast"
	"strings"

	"github.com/hone-perf/hone/internal/advise"
	"github.com/hone-perf/hone/internal/advise/facts/cost"
	"github.com/hone-perf/hone/internal/advise/facts/symbol"
)

var binaryReflect = &advise.Rule{
	Name: "binary-reflect", Rank: 38, PerCall: true,
	Doc: "numbers are read or written with encoding/binary.Read and Write",

	NoFix: "the patch would have to spell out the size and order of all fields",
	Find: func(p *advise.Pass) {
		advise.Each(p, func(call *ast.CallExpr) {
			if p.Calls(call, "encoding/binary.Read", "encoding/binary.Write") == nil || len(call.Args) != 3 {
				return
			}
			name := p.Callee(call).Name()
			c := p.Cost(call, func(c *cost.Chain) bool {
				return c.First() == "encoding/binary."+name && (len(c.Below) == 1 || strings.HasPrefix(c.Below[1], "encoding/binary.") || strings.HasPrefix(c.Below[1], "reflect.") || symbol.IsRuntime(c.Below[1]))
			})
			verb := map[string]string{"Read": "Uint32 and the like take a number out of bytes", "Write": "AppendUint32 and the like append a number to bytes"}[name]
			p.Report(call, c, advise.Finding{
				Title:  "binary." + name + " on a hot path",
				Claim:  fmt.Sprintf("binary.%s inspects the type of its argument on each call, by reflection unless it is a plain number, and allocates bytes for it", name),
				Advice: verb + ", without an interface in between",
				Callee: "encoding/binary." + name,
				Risk:   "the order and size of fields have to stay the same",
			})
		})
	},
}
