package profileview

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/hone-perf/hone/internal/calls"
	"github.com/hone-perf/hone/internal/order"
	"github.com/hone-perf/hone/internal/profile"
	"github.com/hone-perf/hone/internal/query"
	"github.com/hone-perf/hone/internal/recording"
	"github.com/hone-perf/hone/internal/report"
)

const (
	goroutineGroups = 20 // shown unless told otherwise

	// Goroutines that all wait in one place are suspicious when they are at least so many more than before, or have
	// been waiting for so long without anything to compare with.
	suspectGrowth = 10
	suspectCount  = 10
	suspectWait   = 5 * time.Minute
)

// Goroutines groups goroutines by what they do. With a second recording it says which have become more; without, those of a recording that
// has several snapshots are compared with the first one.
func Goroutines(in []*recording.Recording, q query.Query) (report.Report, error) {
	now, err := goroutinesOf(in[:1], q)
	if err != nil {
		return nil, err
	}
	out := &report.Goroutines{Head: now.head}
	if len(in) == 1 && q.At == (query.Span{}) {
		if first, at := firstSnapshot(in[0]); first != nil {
			in, out.First = []*recording.Recording{in[0], first}, at
		}
	}
	now.markLeaked(in[0], q)
	rows := now.groups
	if len(in) > 1 {
		base := q
		base.Metric = ""
		before, err := goroutinesOf(in[1:], base)
		if err != nil {
			return nil, err
		}
		out.Before = &before.head
		rows = compareGroups(now, before, out.First > 0 || now.build != "" && now.build == before.build)
	}
	out.Returned = MainReturned(in[0])
	for i := range rows {
		rows[i].Suspect = suspicion(&rows[i], len(in) > 1, out.Returned)
	}
	order.Stable(rows, func(a, b report.GoroutineGroup) int { return cmp.Compare(b.Leaked, a.Leaked) })
	limit := cmp.Or(q.Limit, goroutineGroups)
	out.Of = len(rows)
	for i := range rows {
		if rows[i].Count == 0 {
			out.Gone++
		}
	}
	if limit > 0 && limit < len(rows) {
		rows = rows[:limit]
	}
	out.Groups, out.Shown = rows, len(rows)
	return out, nil
}

// isLast reports whether the last goroutine profile of a recording is looked at.
func isLast(rec *recording.Recording) bool {
	snapshots := rec.Profiles(recording.Goroutine)
	if len(snapshots.Parts()) == 0 {
		return false
	}
	last, _, err := snapshots.Between("", 0, 0)
	return err == nil && last == rec.Profile
}

// markLeaked says how many goroutines of each group nothing can wake. The collector found that at the end of the recording, just before the last
// goroutine profile was taken.
func (g *grouping) markLeaked(rec *recording.Recording, q query.Query) {
	leaks := rec.Profiles(recording.Leaks)
	if len(leaks.Parts()) == 0 || q.At != (query.Span{}) || !isLast(rec) {
		return
	}
	p, _, err := leaks.Between("", 0, 0)
	if err != nil {
		return // what there is to say can be said without
	}
	q.Metric = ""
	leaked, err := goroutinesOf([]*recording.Recording{rec.WithProfile(p, "leaked")}, q)
	if err != nil {
		return
	}
	for i, key := range leaked.keys {
		if at, ok := g.byKey[key]; ok {
			g.groups[at].Leaked = min(leaked.groups[i].Count, g.groups[at].Count)
		}
	}
}

// MainReturned reports whether a recording ended because main returned. Goroutines that wait for what only main could send are leaked then, and
// may not have been before.
func MainReturned(rec *recording.Recording) bool {
	if rec.Manifest == nil || rec.Manifest.How != recording.Built || len(rec.Parts[recording.Leaks]) == 0 {
		return false
	}
	goroutines := rec.Profiles(recording.Goroutine)
	if len(goroutines.Parts()) == 0 {
		return false
	}
	p, _, err := goroutines.Between("", 0, 0)
	if err != nil {
		return false
	}
	var stack []uint32
	for i := range p.NumSamples() {
		stack = p.Stack(i, stack[:0])
		for _, l := range stack {
			for _, line := range p.Locations[l].Lines {
				if p.Functions[line.Function].Name == "main.main" {
					return false
				}
			}
		}
	}
	return true
}

// firstSnapshot returns a recording with its first goroutine profile, and when that was taken, where it has a later one that is looked at now.
func firstSnapshot(rec *recording.Recording) (*recording.Recording, time.Duration) {
	snapshots := rec.Profiles(recording.Goroutine)
	parts := snapshots.Parts()
	if len(parts) < 2 || parts[0].To <= 0 || !isLast(rec) {
		return nil, 0
	}
	first, _, err := snapshots.Between("", parts[0].To, parts[0].To)
	if err != nil {
		return nil, 0
	}
	return rec.WithProfile(first, "first"), parts[0].To
}

// A grouping is the goroutines of one recording.
type grouping struct {
	head   report.Head
	groups []report.GoroutineGroup
	byKey  map[string]int
	keys   []string // by group
	form   form
	build  string // of the program, or ""
}

// A form is the information that a source of goroutines has. Profiles have neither, dumps both, and execution traces only states.
type form struct{ states, creators bool }

// goroutinesOf groups the goroutines of a recording by their stacks.
func goroutinesOf(in []*recording.Recording, q query.Query) (*grouping, error) {
	q.By = "line"
	a, err := ask(in, q)
	if err != nil {
		return nil, err
	}
	t := a.Profile.SampleTypes[a.Type].Type
	if !strings.HasPrefix(t, "goroutine") {
		return nil, fmt.Errorf("the profile counts %s, not goroutines; use a goroutine profile or a goroutine dump", t)
	}
	d, err := calls.DetailOf(q)
	if err != nil {
		return nil, err
	}
	table := calls.NewFrameTable(a.Profile, d, calls.PathTrimmer(q))
	origins := a.origins(table)
	g := &grouping{head: a.head, byKey: make(map[string]int)}
	if m := a.Profile.Mappings; len(m) > 0 {
		g.build = m[0].Build()
	}
	sets := a.Profile.LabelSets()
	var stack []uint32
	for i, n := range a.Profile.Values(a.Type) {
		if n == 0 {
			continue
		}
		stack = a.Profile.Stack(i, stack[:0])
		var frames []int32
		for _, l := range stack {
			of := table.Of(l)
			for j := len(of) - 1; j >= 0; j-- {
				frames = append(frames, of[j])
			}
		}
		labels := sets[a.Profile.Label(i)]
		creator := text(labels, "creator")
		line := text(labels, "creator_line")
		var b strings.Builder
		for _, f := range frames {
			fmt.Fprintf(&b, "%s %s:%d\n", table.Frames[f].Name, table.Frames[f].File, table.Frames[f].Line)
		}
		fmt.Fprintf(&b, "%s %s", creator, line)
		at, ok := g.byKey[b.String()]
		if !ok {
			at = len(g.groups)
			g.byKey[b.String()] = at
			g.keys = append(g.keys, b.String())
			r := report.GoroutineGroup{Creator: creator, Line: line, Stack: []report.Frame{}} // a goroutine that has not run yet has no frames
			for _, f := range frames {
				r.Stack = append(r.Stack, table.Frames[f])
			}
			r.Where = whereabouts(table, frames, origins)
			g.groups = append(g.groups, r)
		}
		r := &g.groups[at]
		r.Count += n
		state := text(labels, "state")
		if state != "" && !slices.Contains(r.States, state) {
			r.States = append(r.States, state)
		}
		g.form.states = g.form.states || state != ""
		g.form.creators = g.form.creators || creator != ""
		for _, l := range labels {
			if wait := time.Duration(l.Num) * time.Minute; l.Key == "wait" && l.Numeric {
				if r.WaitMost == 0 || wait < r.WaitLeast {
					r.WaitLeast = wait
				}
				r.WaitMost = max(r.WaitMost, wait)
			}
		}
	}
	for i := range g.groups {
		if t == recording.Leaks {
			g.groups[i].Leaked = g.groups[i].Count
		}
		if r := &g.groups[i]; len(r.States) == 0 {
			if state := stateOf(r.Stack); state != "" {
				r.States, r.Guessed = []string{state}, true
			}
		}
	}
	order := make([]int, len(g.groups))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(i, j int) int {
		return cmp.Or(cmp.Compare(g.groups[j].Count, g.groups[i].Count), cmp.Compare(g.keys[i], g.keys[j]))
	})
	sorted := &grouping{head: g.head, byKey: g.byKey, form: g.form, build: g.build}
	for to, from := range order {
		sorted.groups = append(sorted.groups, g.groups[from])
		sorted.keys = append(sorted.keys, g.keys[from])
		sorted.byKey[g.keys[from]] = to
	}
	return sorted, nil
}

// text returns the value of a label, or "".
func text(labels profile.LabelSet, key string) string {
	for _, l := range labels {
		if l.Key == key && !l.Numeric {
			return l.Str
		}
	}
	return ""
}

// whereabouts returns where somebody who wrote the program would look: the innermost frame that is not of the standard
// library or else, of a goroutine that the library started, the outermost that is not of the runtime.
func whereabouts(t *calls.FrameTable, frames []int32, origins []report.Origin) report.Frame {
	for _, f := range frames {
		if o := origins[f]; o != report.StdLibrary && o != report.GoRuntime {
			return t.Frames[f]
		}
	}
	for _, f := range slices.Backward(frames) {
		if origins[f] != report.GoRuntime {
			return t.Frames[f]
		}
	}
	if len(frames) == 0 {
		return report.Frame{}
	}
	return t.Frames[frames[0]]
}

// stateOf says what a goroutine waits for by what it called last, or "" when that is not known. Goroutine profiles, other
// than dumps, have no states.
func stateOf(stack []report.Frame) string {
	for i := range stack[:min(len(stack), 6)] {
		switch stack[i].Name {
		case "runtime.chanrecv", "runtime.chanrecv1", "runtime.chanrecv2":
			return "chan receive"
		case "runtime.chansend", "runtime.chansend1":
			return "chan send"
		case "runtime.selectgo", "runtime.block":
			return "select"
		case "internal/poll.runtime_pollWait":
			return "IO wait"
		case "time.Sleep":
			return "sleep"
		case "internal/sync.runtime_SemacquireMutex", "sync.runtime_SemacquireMutex":
			return "sync.Mutex.Lock"
		case "sync.runtime_SemacquireRWMutex", "sync.runtime_SemacquireRWMutexR":
			return "sync.RWMutex"
		case "sync.runtime_SemacquireWaitGroup":
			return "sync.WaitGroup.Wait"
		case "sync.runtime_notifyListWait":
			return "sync.Cond.Wait"
		case "syscall.Syscall", "syscall.Syscall6", "runtime.cgocall":
			return "syscall"
		}
	}
	return ""
}

// by returns a grouping by another key. The largest group with a key stands for all of them.
func (g *grouping) by(keyOf func(*report.GoroutineGroup) string) *grouping {
	out := &grouping{head: g.head, byKey: make(map[string]int), form: g.form, build: g.build}
	for _, r := range g.groups {
		key := keyOf(&r)
		at, ok := out.byKey[key]
		if !ok {
			out.byKey[key] = len(out.groups)
			out.keys = append(out.keys, key)
			out.groups = append(out.groups, r)
			continue
		}
		into := &out.groups[at]
		into.Count += r.Count
		into.Leaked += r.Leaked
		into.WaitLeast, into.WaitMost = min(into.WaitLeast, r.WaitLeast), max(into.WaitMost, r.WaitMost)
		for _, state := range r.States {
			if !slices.Contains(into.States, state) {
				into.States = append(slices.Clip(into.States), state)
			}
		}
	}
	return out
}

// waitsIn are packages and functions in which goroutines wait for others. Profiles have all of their frames, execution traces and dumps leave some out.
var waitsIn = []string{"runtime.", "sync.", "internal/sync.", "internal/poll.", "time.Sleep"}

// placeOf returns a stack without the frames that only some forms have: those of waitsIn, and the start of the main goroutine.
func placeOf(stack []report.Frame) []report.Frame {
	from, to := 0, len(stack)
	for from < to && slices.ContainsFunc(waitsIn, func(name string) bool { return strings.HasPrefix(stack[from].Name, name) }) {
		from++
	}
	for to > from && strings.HasPrefix(stack[to-1].Name, "runtime.") {
		to--
	}
	if from == to {
		from, to = 0, len(stack)
	}
	return stack[from:to]
}

// compareGroups returns the groups of now with how many there were before, those that grew most first, and then those
// that are gone, the largest first. Goroutines of the same build are compared by the lines where they are. In other builds, lines and the
// folders of files may have moved, so they are compared by functions, and by what they wait for.
func compareGroups(now, before *grouping, sameBuild bool) []report.GoroutineGroup {
	if sameForm := now.form == before.form; !sameForm || !sameBuild {
		key := func(r *report.GoroutineGroup) string {
			var b strings.Builder
			stack := r.Stack
			if sameForm {
				fmt.Fprintf(&b, "%s\n%s\n", strings.Join(foreverIn(r), ", "), r.Creator)
			} else {
				stack = placeOf(stack)
			}
			for _, f := range stack {
				b.WriteString(f.Name)
				if sameBuild {
					fmt.Fprintf(&b, " %s:%d", f.File, f.Line)
				}
				b.WriteByte('\n')
			}
			return b.String()
		}
		now, before = now.by(key), before.by(key)
	}
	rows := slices.Clone(now.groups)
	for i := range rows {
		n := int64(0)
		if at, ok := before.byKey[now.keys[i]]; ok {
			n = before.groups[at].Count
		}
		rows[i].Before = &n
	}
	for i, key := range before.keys {
		if _, ok := now.byKey[key]; !ok {
			gone := before.groups[i]
			n := gone.Count
			gone.Count, gone.Before = 0, &n
			rows = append(rows, gone)
		}
	}
	order.Stable(rows, func(a, b report.GoroutineGroup) int {
		switch {
		case a.Count == 0 && b.Count == 0:
			return cmp.Compare(*b.Before, *a.Before)
		case a.Count == 0:
			return 1
		case b.Count == 0:
			return -1
		}
		return cmp.Compare(b.Count-*b.Before, a.Count-*a.Before)
	})
	return rows
}

// foreverIn returns the states in which nothing but the program itself can wake goroutines.
func foreverIn(r *report.GoroutineGroup) []string {
	var out []string
	for _, state := range r.States {
		if strings.HasPrefix(state, "chan ") || strings.HasPrefix(state, "select") || strings.HasPrefix(state, "sync.") {
			out = append(out, state)
		}
	}
	return out
}

// suspicion returns the reason why goroutines may never end, or nothing.
func suspicion(r *report.GoroutineGroup, compared, returned bool) string {
	states := strings.Join(r.States, ", ")
	where := r.Where.Name
	if r.Where.Line != 0 {
		where = fmt.Sprintf("%s at %s:%d", where, r.Where.File, r.Where.Line)
	}
	by := ""
	if r.Creator != "" {
		by = ", started by " + r.Creator
	}
	switch {
	case r.Leaked > 0:
		how, what := "are leaked: nothing can wake them", fmt.Sprintf("%d goroutines wait", r.Leaked)
		if returned {
			how = "are blocked forever, since main returned if not before"
		}
		if r.Leaked == 1 {
			what = "1 goroutine waits"
			how = strings.NewReplacer("are ", "is ", "them", "it").Replace(how)
		}
		return fmt.Sprintf("%s in %s (%s)%s and %s", what, where, states, by, how)
	case len(foreverIn(r)) == 0:
	case compared && r.Count-*r.Before >= suspectGrowth:
		return fmt.Sprintf("%d more goroutines than before wait in %s (%s)%s: they may be leaked", r.Count-*r.Before, where, states, by)
	case !compared && r.Count >= suspectCount && r.WaitLeast >= suspectWait:
		return fmt.Sprintf("%d goroutines have waited in %s (%s) for %g minutes or more%s: they may be leaked",
			r.Count, where, states, r.WaitLeast.Minutes(), by)
	}
	return ""
}
