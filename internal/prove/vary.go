package prove

import (
	"go/types"
	"slices"
	"strings"

	"github.com/hone-perf/hone/internal/prove/worker"
)

// A part of what a function does, such as a result, may vary from call to call of the old version. What is left of a text without its numbers,
// or of a list without its order, is still compared. What is not compared is a doubt: it could hide any change.

// A varying is a part of what a function does that is not compared.
type varying struct {
	fn, part string
	numbers  bool // in it are not compared, but the rest is
}

// lose notes the parts that masks took something from, of what was seen with them.
func (f *search) lose(p *worker.Program, lines []worker.Line) {
	for _, l := range lines {
		if f.masks[worker.MaskKey(f.entries[p.Steps[l.Step].Func].name, l.Path)] == 0 || !strings.Contains(l.Text, "#") {
			continue
		}
		f.loses(p, l, !strings.HasPrefix(strings.TrimPrefix(l.Text, "-"), "#")) // else it is one
	}
}

// losesAt notes the part that lines say something of.
func (f *search) losesAt(p *worker.Program, at stepPath, lines ...[]worker.Line) {
	for _, l := range slices.Concat(lines...) {
		if l.Step == at.step && l.Path == at.path && l.Layer != worker.LayerWhole {
			f.loses(p, l, false)
		}
	}
}

// loses notes one part, or only the numbers in it, if a difference would have been one.
func (f *search) loses(p *worker.Program, l worker.Line, numbers bool) {
	most := worker.LayerShared
	if f.opt.Strict {
		most = worker.LayerText
	}
	// Whether memory is shared cannot be said of results that vary by themselves.
	if l.Layer > most || l.Shares() {
		return
	}
	v := varying{f.entries[p.Steps[l.Step].Func].name, strings.TrimSpace(worker.MaskKey("", l.Path)), numbers}
	if !slices.Contains(f.lost, v) {
		f.lost = append(f.lost, v)
	}
}

// vary returns a doubt about what varies and matters: a changed function does it, or one through which alone a change can be seen.
func (f *search) vary() string {
	var list []string
	for _, v := range f.lost {
		if v.numbers && slices.Contains(f.lost, varying{fn: v.fn, part: v.part}) {
			continue // nothing of it is compared
		}
		if slices.ContainsFunc(f.entries, func(e *entry) bool { return e.name == v.fn && f.judges(e) }) {
			part := v.part + " of " + v.fn
			if v.numbers {
				part = "numbers in " + part
			}
			list = append(list, part)
		}
	}
	if len(list) == 0 {
		return ""
	}
	slices.Sort(list)
	return "not compared, since they vary from call to call of the old version: " + strings.Join(list, ", ")
}

// judges reports whether what a function does says how something changed that no call of the changed function itself says.
func (s *surface) judges(e *entry) bool {
	called := make(map[string]bool) // functions that changed and are called themselves
	for _, t := range s.targets {
		if t.distance > 0 || t.entry == nil {
			continue
		}
		called[t.key] = true
		if t.entry == e {
			return true
		}
		for _, result := range t.entry.results { // what one returns is used
			if e.key == "" && slices.Contains(s.uses(result), e) {
				return true
			}
		}
	}
	if e.key == "" {
		return false
	}
	seen := map[string]bool{e.key: true}
	queue := []string{e.key}
	for len(queue) > 0 {
		key := queue[0]
		queue = queue[1:]
		if far, ok := s.changes[key]; ok && far == 0 {
			return true
		}
		for _, v := range []*side{s.old, s.new} {
			d := v.decls[key]
			if d == nil {
				continue
			}
			if s.called != nil && len(s.awayUses(v, d, s.called.changed())) > 0 {
				return true
			}
			for _, u := range d.uses {
				if !seen[u] && !called[u] {
					seen[u] = true
					queue = append(queue, u)
				}
			}
		}
	}
	return false
}

// takesVarying reports whether a step takes a plain value from a call whose result varies: then its own result may do so for that alone, which
// is not to be learned. Calls with other values tell how it is.
func (f *search) takesVarying(p *worker.Program, step int, differ []stepPath) bool {
	varies := func(v *worker.Value) bool {
		from, result := int(v.Int>>8), int(v.Int&255)
		if v.Kind != worker.Ref || from < 0 || from >= step {
			return false
		}
		e := f.entries[p.Steps[from].Func]
		if result >= len(e.results) || !plainValue(e.results[result]) {
			return false
		}
		if slices.ContainsFunc(differ, func(at stepPath) bool { return at.step == from }) {
			return true
		}
		for key := range f.nondet {
			if strings.HasPrefix(key, e.name+" result") {
				return true
			}
		}
		return false
	}
	var find func(v *worker.Value) bool
	find = func(v *worker.Value) bool {
		for i := range v.Elems {
			if find(&v.Elems[i]) {
				return true
			}
		}
		return varies(v)
	}
	for i := range p.Steps[step].Args {
		if find(&p.Steps[step].Args[i]) {
			return true
		}
	}
	return false
}

// takesAnyVarying reports whether a step of a program takes a plain value from a call whose result is known to vary.
func (f *search) takesAnyVarying(p *worker.Program) bool {
	for i := range p.Steps {
		if len(f.nondet) > 0 && f.takesVarying(p, i, nil) {
			return true
		}
	}
	return false
}

// plainValue reports whether values of a type are made up as well, so that they need not come from a call.
func plainValue(t types.Type) bool {
	switch u := t.Underlying().(type) {
	case *types.Basic:
		return true
	case *types.Slice:
		return plainValue(u.Elem())
	case *types.Map:
		return plainValue(u.Key()) && plainValue(u.Elem())
	}
	return false
}
