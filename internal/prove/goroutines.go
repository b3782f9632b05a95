package prove

import (
	"go/ast"
	"go/types"
	"strings"

	"github.com/hone-perf/hone/internal/report"
)

// doubtGoroutines says of functions that start more goroutines than before that nobody knows whether they end: calls return before.
func (r *run) doubtGoroutines(pairs []*pair) {
	var names []string
	for _, p := range pairs {
		for _, key := range sortedKeys(p.new.decls) {
			d, was := p.new.decls[key], p.old.decls[key]
			if d.test || !d.isFunc() {
				continue
			}
			starts := p.new.starts(d)
			if was != nil {
				starts -= p.old.starts(was)
			}
			if starts > 0 {
				names = append(names, key)
			}
		}
	}
	if len(names) > 0 {
		r.doubt(report.DoubtGoroutines, "new goroutines start, and hone does not check that they end: in %s", strings.Join(names, ", "))
	}
}

// starts counts the go statements of a function that does not wait for a sync.WaitGroup.
func (s *side) starts(d *decl) int {
	n, waits := 0, false
	ast.Inspect(d.node, func(node ast.Node) bool {
		switch node := node.(type) {
		case *ast.GoStmt:
			n++
			return false // a goroutine that waits does not make its caller wait
		case *ast.CallExpr:
			if fn, ok := callee(s.pkg.TypesInfo, node).(*types.Func); ok && fn.FullName() == "(*sync.WaitGroup).Wait" {
				waits = true
			}
		}
		return true
	})
	if waits {
		return 0
	}
	return n
}
