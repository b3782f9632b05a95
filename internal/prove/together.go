package prove

import "github.com/hone-perf/hone/internal/prove/worker"

// What takes more than one change at a time to be cut down: lengths and numbers that go with each other, and calls that others
// take their receiver from.

// together makes two arguments of a call smaller by as much.
func (s *shrinker) together() {
	const most = 8 // arguments of a call that are looked at
	for i := range s.best.Steps {
		var places []func(p *worker.Program) *worker.Value
		var collect func(at func(p *worker.Program) *worker.Value, depth int)
		collect = func(at func(p *worker.Program) *worker.Value, depth int) {
			v := at(s.best)
			if sizeOf(v) > 0 && len(places) < most {
				places = append(places, at)
			}
			if depth < 2 {
				for k := range v.Elems {
					collect(func(p *worker.Program) *worker.Value {
						if v := at(p); k < len(v.Elems) {
							return &v.Elems[k]
						}
						return &worker.Value{}
					}, depth+1)
				}
			}
		}
		for j := range s.best.Steps[i].Args {
			collect(func(p *worker.Program) *worker.Value { return &p.Steps[i].Args[j] }, 0)
		}
		for a := range places {
			for b := range a {
				s.pair(places[a], places[b])
			}
		}
	}
}

func (s *shrinker) pair(a, b func(p *worker.Program) *worker.Value) {
	for by := min(sizeOf(a(s.best)), sizeOf(b(s.best))); by > 0 && s.left(); {
		fits := by <= sizeOf(a(s.best)) && by <= sizeOf(b(s.best))
		if !fits || !s.change(func(p *worker.Program) { reduce(a(p), by); reduce(b(p), by) }) {
			by /= 2
		}
	}
}

// sizeOf is by how much a value can be reduced.
func sizeOf(v *worker.Value) int64 {
	switch v.Kind {
	case worker.Int, worker.Writer:
		return max(v.Int, 0)
	case worker.String, worker.Reader:
		return int64(len(v.Text))
	case worker.List:
		return int64(len(v.Elems))
	}
	return 0
}

func reduce(v *worker.Value, by int64) {
	switch v.Kind {
	case worker.Int, worker.Writer:
		v.Int -= by
	case worker.String, worker.Reader:
		v.Text = v.Text[:int64(len(v.Text))-by]
	case worker.List:
		v.Elems = v.Elems[:int64(len(v.Elems))-by]
	}
}

// withoutStep takes a step out whose arguments are used by later ones: the first of those gets them instead. It returns nil
// when that cannot be.
func withoutStep(p *worker.Program, at int) *worker.Program {
	q := cloneProgram(p)
	moved := make(map[int64]int64) // old place of an argument → new one
	var fix func(v *worker.Value)
	fix = func(v *worker.Value) {
		if to, ok := moved[v.Int]; ok && v.Kind == worker.Same {
			v.Int = to
		}
		for i := range v.Elems {
			fix(&v.Elems[i])
		}
	}
	for i := at + 1; i < len(q.Steps); i++ {
		for j := range q.Steps[i].Args {
			v := &q.Steps[i].Args[j]
			if _, had := moved[v.Int]; v.Kind == worker.Same && int(v.Int>>8) == at && !had && int(v.Int&255) < len(p.Steps[at].Args) {
				from := v.Int
				*v = clone(p.Steps[at].Args[v.Int&255])
				moved[from] = int64(i)<<8 | int64(j)
				continue
			}
			fix(v)
		}
	}
	if len(moved) == 0 || !removeStep(q, at) {
		return nil
	}
	return q
}
