package prove

import (
	"cmp"
	"go/ast"
	"go/types"
	"maps"
	"slices"
	"strings"
)

// Two functions with different names are taken for one that was renamed if their bodies have this much in common, and no other function
// comes close.
const (
	alikeEnough = 0.6
	alikeMargin = 0.15
)

// pairRenamed finds functions and methods that have another name in the new version, and calls the old ones by their new names from then
// on. It compares bodies, and takes only functions with the same types: a pair that is only guessed would raise false alarms.
func (p *pair) pairRenamed() {
	gone, added := only(p.old.decls, p.new.decls), only(p.new.decls, p.old.decls)
	if len(gone) == 0 || len(added) == 0 || len(gone)*len(added) > 10_000 {
		return
	}
	words := make(map[*decl]map[string]int)
	for _, list := range [][]*decl{gone, added} {
		for _, d := range list {
			words[d] = wordPairs(d)
		}
	}
	// best returns the function that is most like d, or nil when another one is nearly as much like it.
	best := func(d *decl, list []*decl, same func(other *decl) bool) *decl {
		var found *decl
		most, next := 0.0, 0.0
		for _, other := range list {
			if !same(other) {
				continue
			}
			switch alike := common(words[d], words[other]); {
			case alike > most:
				found, most, next = other, alike, most
			case alike > next:
				next = alike
			}
		}
		if most < alikeEnough || most-next < alikeMargin {
			return nil
		}
		return found
	}
	renamed := make(map[string]string)
	for _, was := range gone {
		now := best(was, added, func(now *decl) bool { return p.sameFunc(was, now) })
		if now == nil || best(now, gone, func(was *decl) bool { return p.sameFunc(was, now) }) != was {
			continue
		}
		renamed[was.key] = now.key
	}
	if len(renamed) > 0 {
		p.old.renamed = renamed
		p.old.index()
	}
}

// only returns the functions that a version has and the other one has not.
func only(in, other map[string]*decl) []*decl {
	var out []*decl
	for _, key := range slices.Sorted(maps.Keys(in)) {
		if d := in[key]; d.isFunc() && !d.test && other[key] == nil && key != "main" {
			out = append(out, d)
		}
	}
	return out
}

// sameFunc reports whether two functions have the same receiver, parameters and results.
func (p *pair) sameFunc(old, now *decl) bool {
	a, b := old.obj.(*types.Func), now.obj.(*types.Func)
	return p.sameType(a.Type(), b.Type()) && p.sameReceiver(a, b)
}

// wordPairs counts the pairs of neighboring tokens in the body of a function.
func wordPairs(d *decl) map[string]int {
	out := make(map[string]int)
	fn, ok := d.node.(*ast.FuncDecl)
	if !ok {
		return out
	}
	before := ""
	for w := range strings.FieldsSeq(d.body) {
		if w == fn.Name.Name {
			w = "itself"
		}
		out[before+" "+w]++
		before = w
	}
	return out
}

// common returns how much two counts have in common, from 0 to 1.
func common(a, b map[string]int) float64 {
	both, all := 0, 0
	for w, n := range a {
		both += 2 * min(n, b[w])
		all += n
	}
	for _, n := range b {
		all += n
	}
	return float64(both) / float64(cmp.Or(all, 1))
}
