package rules

import (
	"fmt"
	"go/ast"
	"go/token"
	"go/types"

	"github.com/hone-perf/hone/internal/advise"
	"github.com/hone-perf/hone/internal/advise/facts/cost"
	"github.com/hone-perf/hone/internal/report/missing"
	"github.com/hone-perf/hone/internal/unit"
)

// cutFromSlices is the size in bytes up to which thousands of objects in one slice are no more than memory has for them.
const cutFromSlices = 512

var objectPerCall = &advise.Rule{
	Name: "object-per-call", Rank: 8, PerCall: true,
	Doc: "a hot function allocates each object that it returns separately",

	NoFix: missing.ObjectsMayBeKept,
	Find: func(p *advise.Pass) {
		var own several // a function that returns one of several objects is told of once
		hidden := disguiseOf(p.Func)
		if hidden != nil && !hidden.onlyAsked() {
			hidden = nil
		}
		advise.Each(p, func(ret *ast.ReturnStmt) {
			for _, r := range ret.Results {
				u, ok := r.(*ast.UnaryExpr)
				if !ok || u.Op != token.AND {
					continue
				}
				lit, ok := u.X.(*ast.CompositeLit)
				if !ok {
					continue
				}
				c := p.Cost(r, cost.Allocates("newobject"))
				if max(p.Costs.Surely(&c, cost.BytesMade), p.Costs.Surely(&c, cost.ObjectsMade)) < 0.05 {
					continue // one now and then is what memory is for
				}
				t := types.TypeString(p.TypeOf(lit), types.RelativeTo(p.Pkg.Types))
				size, known := p.SizeOf(p.TypeOf(lit))
				switch {
				case known && size > cutFromSlices:
					t += " of " + unit.Size(size)
				case known:
					t += fmt.Sprintf(" of %d bytes", size)
				}
				f := advise.Finding{
					Title:  "objects allocated one by one in a hot function",
					Claim:  fmt.Sprintf("each call of %s allocates one %s, since its address is returned", p.Callable(r), t),
					Advice: "where one call makes many that live equally long, such as the nodes of a tree, cut them from slices; where one is made at a time, use it again when it is done; where callers need no identity, return the value",
					Risk:   "one object that is used keeps all of its slice in memory",
					NoFix:  missing.SliceMayBeKept.Of(p.Decl.Name.Name),
				}
				if known && size > cutFromSlices {
					f.Title = "large objects allocated in a hot function"
					f.Advice = "keep those that nobody uses any more, in a sync.Pool or where they are needed next"
					f.Risk = "one that was used has to be made as good as new; what is kept stays in memory"
					f.NoFix = missing.ObjectsNeverDone.Of(p.Decl.Name.Name)
				}
				if hidden != nil && p.Literal(r) == nil && p.Worth(c) {
					if f.Fixes = hidden.shed(p); len(f.Fixes) > 0 {
						f.Title = "object on the heap because it is returned as an interface"
						f.Claim = fmt.Sprintf("%s returns each %s as %s, which hides from the compiler that callers do not keep it", p.Callable(r), t, p.Src(hidden.as))
						f.Advice = fmt.Sprintf("return %s: the compiler can then inline its methods, and keep it on the stack, and what its methods are given", hidden.typ)
						f.Risk, f.Safe = "none: only the package calls "+p.Decl.Name.Name, true
					}
				}
				if p.Literal(r) != nil {
					p.Report(r, c, f)
				} else {
					own.add(p, r, c, f)
				}
			}
		})
		own.report(p)
	},
}
