package prove

import (
	"math"
	"slices"
	"strings"

	"github.com/hone-perf/hone/internal/prove/worker"
)

// mutate makes a program that is a little different.
func (g *gen) mutate(t *target, from *worker.Program) *worker.Program {
	p := cloneProgram(from)
	p.After = g.chance(20)
	g.dict.near = t.key
	g.sized = !g.calm[t] || g.chance(5)
	for range 1 + g.rng.IntN(3) {
		if len(p.Steps) == 0 {
			break
		}
		at := g.rng.IntN(len(p.Steps))
		if g.chance(60) {
			at = len(p.Steps) - 1 - g.rng.IntN(min(2, len(p.Steps)))
		}
		s := &p.Steps[at]
		switch c := g.rng.IntN(20); {
		case c == 0 && len(p.Steps) > 1:
			removeStep(p, at)
		case c == 1 && len(p.Steps) < 20: // the same call again, at the end
			again := worker.Step{Func: s.Func, Args: slices.Clone(s.Args)}
			for i := range again.Args {
				again.Args[i] = clone(again.Args[i])
			}
			if e := g.entries[s.Func]; e.method && len(again.Args) > 0 && again.Args[0].Kind != worker.Ref && again.Args[0].Kind != worker.Same {
				again.Args[0] = worker.Value{Kind: worker.Same, Int: int64(at) << 8}
			}
			p.Steps = append(p.Steps, again)
		case c < 5 && len(s.Args) > 0: // one argument anew
			e := g.entries[s.Func]
			i := g.rng.IntN(len(s.Args))
			if e.method && i == 0 {
				continue
			}
			b := &builder{gen: g, p: &worker.Program{}, near: t, said: textsIn(p), before: p.Steps}
			if v := b.value(e.params[i]); len(b.p.Steps) == 0 {
				s.Args[i] = v
			}
		default:
			if len(s.Args) == 0 {
				continue
			}
			g.mutateValue(&s.Args[g.rng.IntN(len(s.Args))])
		}
	}
	return p
}

// textsIn returns the texts of a program.
func textsIn(p *worker.Program) []string {
	var out []string
	for i := range p.Steps {
		for j := range p.Steps[i].Args {
			out = addTexts(out, &p.Steps[i].Args[j])
		}
	}
	return out
}

// mostSaid is how many texts of a program are remembered for others to have to do with.
const mostSaid = 16

// addTexts adds the texts of a value to a list.
func addTexts(list []string, v *worker.Value) []string {
	if v.Kind == worker.String && len(list) < mostSaid {
		list = append(list, v.Text)
	}
	for i := range v.Elems {
		list = addTexts(list, &v.Elems[i])
	}
	return list
}

// mutateValue changes something in a value.
func (g *gen) mutateValue(v *worker.Value) {
	switch v.Kind {
	case worker.Bool:
		v.Int ^= 1
	case worker.Int:
		switch g.rng.IntN(6) {
		case 0:
			v.Int++
		case 1:
			v.Int--
		case 2:
			v.Int = -v.Int
		case 3:
			v.Int *= 2
		case 4:
			v.Int ^= 1 << g.rng.IntN(8)
		default:
			v.Int = int64(g.rng.IntN(64))
		}
	case worker.Float:
		f := math.Float64frombits(uint64(v.Int))
		f = pick(g, []float64{f + 1, f - 1, -f, f / 2, f * 10, f + 0.5, math.Trunc(f), f + 0.005, g.float()})
		v.Int = int64(math.Float64bits(f))
	case worker.String, worker.Error:
		if strings.HasPrefix(v.Text, "{") && g.chance(50) {
			v.Text = g.mutateJSON(v.Text)
		} else {
			v.Text = g.mutateText(v.Text)
		}
	case worker.Reader:
		if g.chance(25) {
			v.Int = int64(g.rng.IntN(4))
		} else {
			v.Text = g.mutateText(v.Text)
		}
	case worker.Writer:
		v.Int = int64(g.rng.IntN(20))
	case worker.Func:
		v.Int++
	case worker.List:
		g.mutateList(v)
	case worker.Map:
		if len(v.Elems) >= 2 {
			i := g.rng.IntN(len(v.Elems)/2) * 2
			if g.chance(30) {
				v.Elems = slices.Delete(v.Elems, i, i+2)
			} else {
				g.mutateValue(&v.Elems[i+g.rng.IntN(2)])
			}
		}
	case worker.Struct, worker.Ptr, worker.Iface, worker.Chan:
		if len(v.Elems) > 0 {
			g.mutateValue(&v.Elems[g.rng.IntN(len(v.Elems))])
		}
	case worker.Request:
		if g.chance(50) {
			*v = g.mutateRequest(v)
		} else {
			*v = g.request()
		}
	case worker.Time:
		v.Text = ""
		v.Int += pick(g, []int64{1, -1, 1e9, 86400e9, -86400e9, 31536000e9})
	}
}

func (g *gen) mutateList(v *worker.Value) {
	n := len(v.Elems)
	if n == 0 {
		return
	}
	i, j := g.rng.IntN(n), g.rng.IntN(n)
	switch g.rng.IntN(6) {
	case 0:
		v.Elems = slices.Delete(v.Elems, i, i+1)
	case 1:
		v.Elems = slices.Insert(v.Elems, j, clone(v.Elems[i]))
	case 2:
		v.Elems[i], v.Elems[j] = v.Elems[j], v.Elems[i]
	case 3:
		if n < 40 {
			v.Elems = append(v.Elems, clone(*v).Elems...)
		}
	default:
		g.mutateValue(&v.Elems[i])
	}
}

// mutateRequest changes the body, a header or the address of a request.
func (g *gen) mutateRequest(v *worker.Value) worker.Value {
	out := clone(*v)
	other := g.request()
	last := len(out.Elems) - 1
	switch g.rng.IntN(4) {
	case 0:
		if body := &out.Elems[last]; strings.HasPrefix(body.Text, "{") && g.chance(60) {
			body.Text = g.mutateJSON(body.Text)
		} else {
			body.Text = g.mutateText(body.Text)
		}
	case 1:
		out.Text = other.Text
	case 2:
		out.Names, out.Elems = other.Names, append(other.Elems[:len(other.Elems)-1:len(other.Elems)-1], out.Elems[last])
	default:
		path, query, _ := strings.Cut(out.Text, "?")
		if len(g.dict.params) > 0 {
			name := pick(g, g.dict.params)
			pair := escape(name) + "=" + escape(g.formValue(name))
			if query != "" && g.chance(60) {
				pair = query + "&" + pair
			}
			out.Text = path + "?" + pair
		}
	}
	return out
}

// mutateJSON replaces a value in a JSON text.
func (g *gen) mutateJSON(s string) string {
	var places []int // behind the colons
	for i := range len(s) {
		if s[i] == ':' {
			places = append(places, i+1)
		}
	}
	if len(places) == 0 {
		return g.mutateText(s)
	}
	from := pick(g, places)
	for from < len(s) && s[from] == ' ' {
		from++
	}
	to := from
	if to < len(s) && s[to] == '"' {
		for to++; to < len(s) && s[to] != '"'; to++ {
			if s[to] == '\\' {
				to++
			}
		}
		to++
	} else {
		for to < len(s) && !strings.ContainsRune(",}]", rune(s[to])) {
			to++
		}
	}
	to = min(to, len(s))
	var with string
	if s[from:to] != "" && s[from] == '"' && g.chance(80) {
		with = `"` + strings.NewReplacer(`"`, `\"`, `\`, `\\`, "\n", `\n`).Replace(g.word()) + `"`
	} else {
		with = pick(g, []string{"0", "1", "-1", "5", "33", "100", "5000", "null", "true", `""`, `"a"`, "1.5", "[]", "{}", "9223372036854775808"})
	}
	return s[:from] + with + s[to:]
}

// removeStep takes a step out, unless a later one needs what it gives.
func removeStep(p *worker.Program, at int) bool {
	q := cloneProgram(p)
	ok := true
	var fix func(v *worker.Value)
	fix = func(v *worker.Value) {
		if v.Kind == worker.Ref || v.Kind == worker.Same {
			step := int(v.Int >> 8)
			switch {
			case step == at:
				ok = false
			case step > at:
				v.Int -= 1 << 8
			}
		}
		for i := range v.Elems {
			fix(&v.Elems[i])
		}
	}
	q.Steps = slices.Delete(q.Steps, at, at+1)
	for i := at; i < len(q.Steps); i++ {
		for j := range q.Steps[i].Args {
			fix(&q.Steps[i].Args[j])
		}
	}
	if ok {
		*p = *q
	}
	return ok
}

// joinPrograms makes one program of several, one after the other.
func joinPrograms(list []*worker.Program) *worker.Program {
	out := &worker.Program{}
	for _, p := range list {
		base := int64(len(out.Steps)) << 8
		q := cloneProgram(p)
		var move func(v *worker.Value)
		move = func(v *worker.Value) {
			if v.Kind == worker.Ref || v.Kind == worker.Same {
				v.Int += base
			}
			for i := range v.Elems {
				move(&v.Elems[i])
			}
		}
		for i := range q.Steps {
			for j := range q.Steps[i].Args {
				move(&q.Steps[i].Args[j])
			}
		}
		out.Steps = append(out.Steps, q.Steps...)
		out.After = p.After
	}
	return out
}
