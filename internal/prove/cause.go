package prove

import (
	"cmp"
	"go/types"
	"slices"

	"github.com/hone-perf/hone/internal/prove/worker"
)

// A group is findings that are most likely of one cause: the first one is shown, and the functions of the others are named.
type group struct {
	cause string // key of the declaration that changed
	list  []*finding
}

// ownKey returns the key of the function in which a finding shows, "" where that is not one of the package.
func (f *search) ownKey(d *finding) string {
	if d.at < len(d.program.Steps) {
		return f.entries[d.program.Steps[d.at].Func].key
	}
	return ""
}

// cause returns the key of the declaration that a finding is most likely due to: the nearest one that changed and that the function uses,
// or the function itself. One that was called without a difference is not to blame. When the function changed as well, it is only a guess
// that holds where others have the same.
func (f *search) cause(d *finding, found map[string][]*finding) (key string, guess bool) {
	key = cmp.Or(f.ownKey(d), d.target.key)
	if _, affected := f.changes[key]; !affected {
		key = d.target.key // as for the methods of what a constructor made
	}
	if f.called != nil {
		if away := f.awayFrom(key); len(away) > 0 {
			return f.called.new.pkg.Types.Name() + "." + away[0], false
		}
	}
	itself := f.changes[key] == 0
	seen := map[string]bool{key: true}
	queue := []string{key}
	nearest, shared := "", ""
	for len(queue) > 0 {
		at := queue[0]
		queue = queue[1:]
		for _, used := range f.usedBy(at) {
			if seen[used] {
				continue
			}
			seen[used] = true
			queue = append(queue, used)
			if far, ok := f.changes[used]; !ok || far > 0 {
				continue
			}
			nearest = cmp.Or(nearest, used)
			if f.isType(used) || !f.blamed(used, d, found) {
				continue // a type changes together with all that there is about it
			}
			switch with := found[used]; {
			case !itself:
				return used, false
			case slices.ContainsFunc(with, func(o *finding) bool { return o.shape() == d.shape() }):
				return used, false
			case with == nil && f.new.decls[used] != nil:
				shared = cmp.Or(shared, used)
			}
		}
	}
	switch {
	case !itself && nearest != "":
		return nearest, false
	case shared != "":
		return shared, true
	}
	return key, false
}

// causes returns what each finding is most likely due to.
func (f *search) causes(list []*finding, found map[string][]*finding) map[*finding]string {
	out := make(map[*finding]string)
	guesses := make(map[string][]*finding)
	for _, d := range list {
		cause, guess := f.cause(d, found)
		out[d] = cause
		if guess {
			id := cause + "\n" + d.shape()
			guesses[id] = append(guesses[id], d)
		}
	}
	for _, list := range guesses {
		if first := f.ownKey(list[0]); !slices.ContainsFunc(list, func(d *finding) bool { return f.ownKey(d) != first }) {
			for _, d := range list {
				out[d] = cmp.Or(f.ownKey(d), d.target.key)
			}
		}
	}
	// Where a function does not leave its results alone, what is read of one later is due to it.
	for _, d := range list {
		if key := f.readsKept(d, list); key != "" {
			out[d] = key
		}
	}
	// What is due to something that is due to something else is due to that.
	for _, d := range list {
		for range len(list) {
			with := found[out[d]]
			if len(with) == 0 || out[with[0]] == out[d] || out[with[0]] == "" {
				break
			}
			out[d] = out[with[0]]
		}
	}
	return out
}

// readsKept returns the key of a function whose result a finding is about, where that result was changed by calls before the one that took
// it, as another finding shows.
func (f *search) readsKept(d *finding, list []*finding) string {
	if !d.alarms() || d.step >= len(d.program.Steps) {
		return ""
	}
	for _, v := range d.program.Steps[d.step].Args {
		step := int(v.Int >> 8)
		if v.Kind != worker.Ref || step+1 >= d.step {
			continue
		}
		from := f.entries[d.program.Steps[step].Func].key
		for _, o := range list {
			if _, kept := keptCall(o.path); kept && o != d && o.alarms() && from != "" && f.ownKey(o) == from {
				return from
			}
		}
	}
	return ""
}

func (f *search) isType(key string) bool {
	for _, v := range []*side{f.new, f.old} {
		if d := v.decls[key]; d != nil {
			_, ok := d.obj.(*types.TypeName)
			return ok
		}
	}
	return false
}

// blamed reports whether a declaration that changed may be why others differ: it cannot be called itself, or differs as well.
func (f *search) blamed(key string, d *finding, found map[string][]*finding) bool {
	for t, st := range f.states {
		if t.key == key && st.executions > 0 {
			return slices.ContainsFunc(found[key], func(o *finding) bool { return o.alarms() == d.alarms() })
		}
	}
	return true
}

// usedBy returns what a declaration uses, in either version.
func (f *search) usedBy(key string) []string {
	var out []string
	for _, v := range []*side{f.old, f.new} {
		if d := v.decls[key]; d != nil {
			out = append(out, d.uses...)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// shape says how a difference shows, where that is the same for functions with other results.
func (d *finding) shape() string {
	if d.layer == 'C' || d.layer == 'D' {
		return string(rune(d.layer))
	}
	return string(rune(d.layer)) + d.old + " " + d.new
}

// groups puts findings together that are most likely of one cause. list is in the order in which they would be shown; that of the groups is
// by their first one.
func (f *search) groups(list []*finding) []*group {
	found := make(map[string][]*finding)
	for _, d := range list {
		if key := f.ownKey(d); key != "" {
			found[key] = append(found[key], d)
		}
	}
	var out []*group
	at := make(map[string]*group)
	join := func(id, cause string, d *finding) {
		g := at[id]
		if g == nil {
			g = &group{cause: cause}
			at[id] = g
			out = append(out, g)
		}
		g.list = append(g.list, d)
	}
	kind := func(d *finding) string {
		if d.alarms() {
			return "alarm"
		}
		return "note " + string(rune(d.layer)) + d.note
	}
	// What changed shows for itself first, each of its layers, and those who use it join it then.
	var users []*finding
	causes := f.causes(list, found)
	first := make(map[string]string) // id of the first group of a cause
	for _, d := range list {
		cause := causes[d]
		if f.ownKey(d) != cause {
			users = append(users, d)
			continue
		}
		id := cause + "\n" + kind(d) + "\n" + string(rune(d.layer))
		first[cause+"\n"+kind(d)] = cmp.Or(first[cause+"\n"+kind(d)], id)
		join(id, cause, d)
	}
	slices.SortStableFunc(users, func(a, b *finding) int {
		return cmp.Or(cmp.Compare(a.target.distance, b.target.distance), cmp.Compare(a.layer, b.layer))
	})
	for _, d := range users {
		about := causes[d] + "\n" + kind(d)
		id := about + "\n" + string(rune(d.layer))
		if at[id] == nil {
			id = cmp.Or(first[about], about)
		}
		if far, ok := f.changes[f.ownKey(d)]; ok && far == 0 && first[about] == "" {
			id = about + "\n" + d.shape()
		}
		join(id, causes[d], d)
	}
	// A call that other packages can make says more than one of a helper, whatever they may ever pass to that.
	for _, g := range out {
		slices.SortStableFunc(g.list, func(a, b *finding) int { return cmpBool(f.hidden(a), f.hidden(b)) })
	}
	return out
}

// hidden reports whether a finding is about anything but a function that other packages can call.
func (f *search) hidden(d *finding) bool {
	if d.at >= len(d.program.Steps) {
		return true
	}
	key := f.entries[d.program.Steps[d.at].Func].public()
	return key == "" || !exportedKey(key)
}

// others names the functions of a group besides the one that is shown.
func (g *group) others(shown *finding) []string {
	var out []string
	for _, d := range g.list {
		if d.fn != shown.fn && !slices.Contains(out, d.fn) {
			out = append(out, d.fn)
		}
	}
	slices.Sort(out)
	return out
}

// unclear returns the functions that a declaration uses, directly or through others of them, that changed and cannot be compared by
// themselves: they may be the cause as well as the declaration. What is only in the new version is a part of how its users changed.
func (f *search) unclear(key string) (out []string) {
	called := make(map[string]bool)
	for t, st := range f.states {
		called[t.key] = called[t.key] || st.executions > 0
	}
	seen := map[string]bool{key: true}
	queue := []string{key}
	for len(queue) > 0 {
		at := queue[0]
		queue = queue[1:]
		for _, used := range f.usedBy(at) {
			far, affected := f.changes[used]
			if d := f.new.decls[used]; seen[used] || !affected || far > 0 || called[used] || d == nil || !d.isFunc() || f.old.decls[used] == nil {
				continue
			}
			seen[used] = true
			queue = append(queue, used)
			out = append(out, f.causeName(used))
		}
	}
	slices.Sort(out)
	return out
}

// causeName is what people call a declaration.
func (s *surface) causeName(key string) string {
	for _, t := range s.targets {
		if t.key == key && t.entry != nil {
			return t.name
		}
	}
	return key
}
