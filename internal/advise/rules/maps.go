package rules

import (
	"cmp"
	"fmt"
	"go/ast"
	"go/types"
	"slices"
	"strings"

	"github.com/hone-perf/hone/internal/advise"
	"github.com/hone-perf/hone/internal/advise/facts/cost"
	"github.com/hone-perf/hone/internal/advise/facts/kind"
)

// inMap is what looking things up in maps and putting them there costs.
func inMap(c *cost.Chain) bool {
	if len(c.Below) == 0 {
		return !c.OnCPU
	}
	return c.Direct() && slices.ContainsFunc(c.Below, func(b string) bool {
		return strings.HasPrefix(b, "runtime.map") || strings.HasPrefix(b, "internal/runtime/maps.") || strings.HasPrefix(b, "runtime.makemap")
	})
}

// mapGrowth is where maps move their entries to larger tables, in the names of Go 1.24 and later, and of Go before.
var mapGrowth = []string{
	"internal/runtime/maps.(*Map).growToTable", "internal/runtime/maps.(*table).grow", "internal/runtime/maps.(*table).rehash", "internal/runtime/maps.(*table).split",
	"runtime.hashGrow", "runtime.growWork", "runtime.evacuate",
}

// mapGrows is what moving the entries of maps to larger tables costs.
func mapGrows(c *cost.Chain) bool {
	return c.Direct() && slices.ContainsFunc(c.Below, func(b string) bool {
		return slices.ContainsFunc(mapGrowth, func(in string) bool { return strings.HasPrefix(b, in) })
	})
}

// mapBegins is what the first entry of maps costs: it allocates room for eight, and moves nothing. No size makes that less.
func mapBegins(c *cost.Chain) bool {
	if !c.Direct() {
		return false
	}
	i := slices.IndexFunc(c.Below, func(b string) bool { return strings.HasPrefix(b, "runtime.mapassign") })
	return c.Has("internal/runtime/maps.(*Map).growToSmall") || i >= 0 && i+1 < len(c.Below) && c.Below[i+1] == "runtime.newobject" // before Go 1.24
}

// mostlyBegins reports whether most CPU time that maps take to grow goes to the room for their first entries.
func mostlyBegins(begins, grows cost.Cost) bool { return begins[cost.CPU] > 2*grows[cost.CPU] }

// A mapUse is the lines that use maps of one type.
type mapUse struct {
	t     *types.Map
	nodes []ast.Node
	in    []*advise.Pass
	costs []cost.Cost
	lines map[string]bool
	sum   cost.Cost
}

// mapsOf finds what the maps of some kind cost in all functions of the package. It does so once, for the first of them.
func mapsOf(p *advise.Pass, is func(*types.Map) bool) []*mapUse {
	all := p.OfPackage()
	if all[0] != p.Function {
		return nil
	}
	byType := map[string]*mapUse{}
	var out []*mapUse
	for _, f := range all {
		q := p.On(f)
		add := func(n ast.Node, t types.Type) {
			m, ok := t.Underlying().(*types.Map)
			if !ok || !is(m) {
				return
			}
			c := q.Cost(n, inMap)
			key := types.TypeString(m, nil)
			u := byType[key]
			if u == nil {
				u = &mapUse{t: m, lines: map[string]bool{}}
				byType[key] = u
				out = append(out, u)
			}
			if at := fmt.Sprint(f.File.Path, q.Line(n.Pos())); c != (cost.Cost{}) && !u.lines[at] {
				u.lines[at] = true
				u.nodes, u.in, u.costs = append(u.nodes, n), append(u.in, q), append(u.costs, c)
				u.sum.Add(&c)
			}
		}
		advise.Each(q, func(n *ast.IndexExpr) {
			if t := q.TypeOf(n.X); t != nil {
				add(n, t)
			}
		})
		advise.Each(q, func(n *ast.RangeStmt) {
			if t := q.TypeOf(n.X); t != nil && kind.IsMap(t) {
				add(n.X, t)
			}
		})
		advise.Each(q, func(n *ast.CallExpr) {
			if q.Builtin(n, "make") != nil && kind.IsMap(q.TypeOf(n)) {
				add(n, q.TypeOf(n))
			}
		})
		advise.Each(q, func(n *ast.CompositeLit) {
			if t := q.TypeOf(n); t != nil && kind.IsMap(t) {
				add(n, t)
			}
		})
	}
	return slices.DeleteFunc(out, func(u *mapUse) bool { return len(u.nodes) == 0 })
}

// report reports what maps of one type cost, at the line that costs most.
func (u *mapUse) report(f advise.Finding) {
	order := make([]int, len(u.nodes))
	for i := range order {
		order[i] = i
	}
	at := u.in[0]
	slices.SortStableFunc(order, func(i, j int) int { return cmp.Compare(at.Costs.Weight(&u.costs[j]), at.Costs.Weight(&u.costs[i])) })
	first := order[0]
	q := u.in[first]
	var elsewhere []string
	for _, i := range order[1:] {
		if u.in[i].Func == q.Func {
			f.Also = append(f.Also, u.nodes[i])
		} else {
			elsewhere = append(elsewhere, fmt.Sprintf("%s:%d", u.in[i].File.Name, u.in[i].Line(u.nodes[i].Pos())))
		}
	}
	if len(elsewhere) > 0 {
		const most = 5
		if n := len(elsewhere); n > most {
			elsewhere = append(elsewhere[:most], fmt.Sprintf("%d more", n-most))
		}
		f.Claim += "; also at " + strings.Join(elsewhere, ", ")
	}
	q.Report(u.nodes[first], u.sum, f)
}
