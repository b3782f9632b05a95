package prove

import (
	"fmt"
	"go/ast"
	"go/types"
	"slices"
	"strings"

	"github.com/hone-perf/hone/internal/gotypes/writes"
	"github.com/hone-perf/hone/internal/prove/worker"
	"github.com/hone-perf/hone/internal/report"
)

// What a package keeps in its variables is state that calls of one function set and calls of another one read. A version that keeps a result
// which depends on such state answers as before until the state changes. So calls of functions that change what the changed code reads are made
// in between two calls that are the same.

// alters returns the variables of the package that a function may change: those that it writes to, also where they are made to be shared, and
// those that lead to what it changes with a method of theirs.
func (s *side) alters(d *decl) map[string]bool {
	out := s.writes(d)
	info := s.pkg.TypesInfo
	ast.Inspect(d.node, func(n ast.Node) bool {
		call, ok := n.(*ast.CallExpr)
		if !ok {
			return true
		}
		sel, ok := ast.Unparen(call.Fun).(*ast.SelectorExpr)
		if !ok {
			return true
		}
		fn, ok := info.Uses[sel.Sel].(*types.Func)
		v := s.variableIn(sel.X)
		if !ok || v == nil || fn.Signature().Recv() == nil {
			return true
		}
		m := s.decls[s.keyOf(fn)]
		switch {
		case madeToShare(v.Type()):
			if slices.Contains([]string{"Store", "Swap", "Delete", "Clear", "LoadOrStore", "LoadAndDelete", "CompareAndSwap", "Add", "Or", "And", "Do"}, fn.Name()) {
				out[v.Name()] = true
			}
		case m != nil && s.setsReceiver(m):
			out[v.Name()] = true
		}
		return true
	})
	return out
}

// variableIn returns the variable of the package that an expression is, or a part of, or nil.
func (s *side) variableIn(e ast.Expr) *types.Var {
	id := writes.Root(s.pkg.TypesInfo, e)
	if id == nil {
		return nil
	}
	if v, ok := s.pkg.TypesInfo.Uses[id].(*types.Var); ok && v.Parent() == s.pkg.Types.Scope() {
		return v
	}
	return nil
}

// setsReceiver reports whether a method changes a part of its receiver, or what that leads to.
func (s *side) setsReceiver(d *decl) bool {
	fn, ok := d.node.(*ast.FuncDecl)
	if !ok || fn.Recv == nil || len(fn.Recv.List) == 0 || len(fn.Recv.List[0].Names) == 0 {
		return false
	}
	recv := s.pkg.TypesInfo.Defs[fn.Recv.List[0].Names[0]]
	return recv != nil && writes.To(s.pkg.TypesInfo, fn, recv, func(w writes.Write) bool { return w.How.Sets() })
}

// closure returns declarations and all that they use.
func (s *side) closure(keys ...string) map[string]bool {
	seen := make(map[string]bool)
	for len(keys) > 0 {
		key := keys[len(keys)-1]
		keys = keys[:len(keys)-1]
		d := s.decls[key]
		if seen[key] || d == nil || d.test {
			continue
		}
		seen[key] = true
		keys = append(keys, d.uses...)
	}
	return seen
}

// A setter is a function that changes variables of the package.
type setter struct {
	*entry
	vars map[string]bool
}

// findSetters finds out for each target which functions change what the changed code in it reads.
func (s *surface) findSetters() {
	s.setters, s.sets = make(map[*target][]*entry), make(map[int]map[string]bool)
	var all []setter
	for _, e := range s.entries {
		d := s.new.decls[e.key]
		if d == nil || !d.isFunc() || d.test || e.key == "" {
			continue
		}
		vars := make(map[string]bool)
		for key := range s.new.closure(e.key) {
			if in := s.new.decls[key]; in.isFunc() {
				for v := range s.new.alters(in) {
					vars[v] = true
				}
			}
		}
		if len(vars) > 0 {
			all = append(all, setter{e, vars})
			s.sets[e.id] = vars
		}
	}
	if len(all) == 0 {
		return
	}
	for _, t := range s.targets {
		if t.entry == nil {
			continue
		}
		read := make(map[string]bool)
		for _, v := range []*side{s.old, s.new} {
			for key := range v.closure(t.key) {
				if far, ok := s.changes[key]; ok && far == 0 {
					for used := range v.closure(key) {
						read[used] = true
					}
				}
			}
		}
		own := s.new.closure(t.key)
		var list, inside []*entry
		for _, f := range all {
			if own[f.key] || !intersects(f.vars, read) {
				continue // what a function sets itself is set by calling it
			}
			if exportedKey(f.key) {
				list = append(list, f.entry)
			} else {
				inside = append(inside, f.entry)
			}
		}
		if len(list) == 0 {
			list = inside
		}
		if len(list) > 0 {
			s.setters[t] = list
		}
	}
}

func intersects(a, b map[string]bool) bool {
	for k := range a {
		if b[k] {
			return true
		}
	}
	return false
}

// between makes a program in which functions that change what a target reads are called in between two calls of it that are the same. It returns the
// places of these, or 0, 0.
func (g *gen) between(t *target, from *worker.Program) (p *worker.Program, first, again int) {
	if from == nil {
		from = g.program(t)
	}
	p = cloneProgram(from)
	first = -1
	b := &builder{gen: g, p: p, near: t, said: textsIn(p)}
	for i, s := range p.Steps {
		b.types = append(b.types, g.entries[s.Func].results)
		if t.is(g.entries[s.Func]) {
			first = i
		}
	}
	if first < 0 || len(p.Steps) > 20 {
		return p, 0, 0
	}
	g.dict.near = t.key
	setters := g.setters[t]
	for range 1 + g.rng.IntN(3) {
		set := pick(g, setters)
		if set.method {
			recv, _ := b.object(set.params[0], set)
			b.callOn(set, recv)
		} else {
			b.call(set, b.argsOf(set, 0))
		}
	}
	step := cloneProgram(&worker.Program{Steps: p.Steps[first : first+1]}).Steps[0]
	e := g.entries[step.Func]
	if e.method && len(step.Args) > 0 && step.Args[0].Kind != worker.Ref && step.Args[0].Kind != worker.Same {
		step.Args[0] = worker.Value{Kind: worker.Same, Int: int64(first) << 8}
	}
	return p, first, b.call(e, step.Args)
}

// stateEvery is how many batches of calls there are for each one with changes of state in between: what was set stays, and the calls after it may have
// nothing to say.
const stateEvery = 8

// stateCalls makes up the calls of a batch with changes of state in between, and says where in each of them the two calls are that are the same.
func (f *search) stateCalls(t *target, st *state) (list []*worker.Program, around [][2]int) {
	for range st.size {
		var from *worker.Program
		if len(st.corpus) > 0 && f.chance(60) {
			from = pick(f.gen, st.corpus)
		}
		p, first, again := f.between(t, from)
		list, around = append(list, p), append(around, [2]int{first, again})
	}
	return list, around
}

// noteState notes which state changes the answer of a call.
func (f *search) noteState(p *worker.Program, old *worker.Seen, around [2]int) {
	if around[1] == 0 || !moved(old, around[0], around[1]) {
		return
	}
	for _, s := range p.Steps[around[0]:around[1]] {
		for v := range f.sets[s.Func] {
			f.moved[v] = true
		}
	}
}

// moved reports whether a call had another answer once the state had changed.
func moved(s *worker.Seen, first, again int) bool {
	if s.Status != worker.Done {
		return false
	}
	of := func(step int) (out []worker.Hash) {
		for _, h := range s.Hashes {
			if int(h.Step) == step && h.Layer <= worker.LayerResult {
				h.Step = 0
				out = append(out, h)
			}
		}
		return out
	}
	return !slices.Equal(of(first), of(again))
}

// stale returns a doubt for each new variable of the package that keeps what comes of state that functions change, where no call of these showed that
// what is kept changes with it.
func (s *surface) stale(f *search) (doubts []report.Doubt) {
	changes := make(map[string]string) // variable → function that changes it
	for _, key := range sortedKeys(s.new.decls) {
		if d := s.new.decls[key]; d.isFunc() && !d.test && key != "init" {
			for v := range s.new.alters(d) {
				if had := changes[v]; had == "" || !exportedKey(had) && exportedKey(key) {
					changes[v] = key
				}
			}
		}
	}
	for _, name := range sortedKeys(s.new.decls) {
		d := s.new.decls[name]
		v, ok := d.obj.(*types.Var)
		if !ok || d.test || s.old.decls[name] != nil {
			continue
		}
		from := s.new.closure(name)
		if changes[name] != "" || keeps(v.Type()) {
			for key, by := range s.new.decls {
				if far, ok := s.changes[key]; ok && far == 0 && by.isFunc() && !by.test && slices.Contains(by.uses, name) {
					for k := range s.new.closure(key) {
						from[k] = true
					}
				}
			}
		}
		for _, state := range sortedKeys(changes) {
			if state != name && from[state] && s.old.decls[state] != nil && (f == nil || !f.moved[state]) {
				doubts = append(doubts, report.Doubt{Fact: report.DoubtStaleState, Text: fmt.Sprintf("%s is new and keeps what comes of %s, which %s changes, and no call showed whether it keeps up with that", name, state, changes[state])})
				break
			}
		}
	}
	return doubts
}

// keeps reports whether values of a type are there to keep what was found before. Pools keep memory alone.
func keeps(t types.Type) bool {
	return madeToShare(t) && !strings.HasSuffix(types.TypeString(t, nil), "sync.Pool") && !strings.HasSuffix(types.TypeString(t, nil), "Mutex")
}
