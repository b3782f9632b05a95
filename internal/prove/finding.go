package prove

import (
	"cmp"
	"context"
	"fmt"
	"go/token"
	"go/types"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/hone-perf/hone/internal/order"
	"github.com/hone-perf/hone/internal/prove/worker"
	"github.com/hone-perf/hone/internal/unit"
)

// A finding is a difference that showed every time.
type finding struct {
	target  *target
	program *worker.Program
	layer   worker.Layer
	path    string
	step    int
	at      int // the step to blame, which is an earlier one where its result does not stay as it was
	fn      string
	old     string
	new     string
	note    string // what softens it
	late    bool   // one side did not return
	calls   int    // about the target, until it was found
	lines   [2][]worker.Line
	masks   map[string]int // of what varies beside it, if it is one that those of the search would hide: see sure

	cause string   // key of the declaration that it is most likely due to
	also  []string // functions that differ for the same cause
}

// bucket is the same for differences that are probably one.
func (d *finding) bucket() string {
	return fmt.Sprintf("%c %s %s", d.layer, d.fn, worker.MaskKey("", d.path))
}

// sort is the same for findings of which one says enough.
func (d *finding) sort() string { return fmt.Sprintf("%c %s %v", d.layer, d.fn, d.note != "") }

// keep keeps a finding if it is the first of its kind.
func (f *search) keep(d *finding) {
	if had := f.seen[d.bucket()]; had != nil {
		if cmp.Or(cmpBool(had.note == "", d.note == ""), cmp.Compare(f.rank(d), f.rank(had)), cmp.Compare(weight(d.program), weight(had.program))) < 0 {
			d.calls = had.calls
			f.seen[d.bucket()] = d
		}
		return
	}
	f.seen[d.bucket()] = d
	if d.alarms() && f.foundAt.IsZero() {
		f.foundAt = time.Now()
	}
}

// alarms reports whether a finding makes a change a different one.
func (d *finding) alarms() bool { return d.layer <= worker.LayerShared && d.note == "" }

// weight is how much there is to read in a program.
func weight(p *worker.Program) int {
	n := 0
	var count func(v *worker.Value)
	count = func(v *worker.Value) {
		n += 1 + len(v.Text)
		if v.Kind == worker.Ref {
			n++ // one has to look what it was
		}
		for i := range v.Elems {
			count(&v.Elems[i])
		}
	}
	for i := range p.Steps {
		n += 20
		for j := range p.Steps[i].Args {
			count(&p.Steps[i].Args[j])
		}
	}
	return n
}

type stepPath struct {
	step int
	path string
}

// differingPaths returns where two lists of lines differ.
func differingPaths(a, b []worker.Line) []stepPath {
	index, other := make(map[stepPath]string), make(map[stepPath]string)
	for _, l := range a {
		if l.Layer != worker.LayerWhole {
			index[stepPath{l.Step, l.Path}] += l.Text + "\n"
		}
	}
	for _, l := range b {
		if l.Layer != worker.LayerWhole {
			other[stepPath{l.Step, l.Path}] += l.Text + "\n"
		}
	}
	var out []stepPath
	for k, v := range index {
		if other[k] != v {
			out = append(out, k)
		}
	}
	for k := range other {
		if _, ok := index[k]; !ok {
			out = append(out, k)
		}
	}
	order.Stable(out, func(a, b stepPath) int { return cmp.Or(cmp.Compare(a.step, b.step), cmp.Compare(a.path, b.path)) })
	return out
}

// compare returns the gravest difference between what two workers saw, or nil.
func (f *search) compare(p *worker.Program, old, now *worker.Seen) *finding {
	d := &finding{program: p}
	left := f.left(p, f.taking(p, nil))
	if old.Status == killed || now.Status == killed {
		return nil
	}
	if old.Status != now.Status {
		d.layer, d.path, d.old, d.new = worker.LayerPanic, "outcome", f.statusText(old.Status), f.statusText(now.Status)
		d.late = late(old) || late(now)
		d.fn, d.step, d.at = f.lastName(p), len(p.Steps)-1, len(p.Steps)-1
		if old.Status == worker.Invalid || now.Status == worker.Invalid || left != nil {
			return nil
		}
		if old.Status != worker.Done {
			d.note = "the old version did not return"
		}
		return d
	}
	if old.Status != worker.Done {
		return nil
	}
	d.lines = [2][]worker.Line{old.Lines, now.Lines}
	paths := differingPaths(old.Lines, now.Lines)
	if left != nil {
		paths = slices.DeleteFunc(paths, func(at stepPath) bool { return left[at.step] })
	}
	if len(paths) == 0 {
		return nil
	}
	find := func(lines []worker.Line, at stepPath) (worker.Layer, string, bool) {
		for _, l := range lines {
			if l.Step == at.step && l.Path == at.path && l.Layer != worker.LayerWhole {
				return l.Layer, l.Text, true
			}
		}
		return worker.LayerInside, "", false
	}
	best := worker.LayerInside + 1
	for _, at := range paths {
		a, was, had := find(old.Lines, at)
		b, is, has := find(now.Lines, at)
		layer := max(a, b)
		if !had || !has {
			layer = min(a, b)
		}
		// The first step that differs is to blame for the others.
		better := layer < best && (best > worker.LayerShared || at.step == d.step)
		if better || layer == best && at.step == d.step && strings.HasSuffix(at.path, " status") {
			best = layer
			d.layer, d.path, d.step, d.old, d.new = layer, at.path, at.step, was, is
			if !had {
				d.old = "nothing"
			}
			if !has {
				d.new = "nothing"
			}
		}
	}
	if best >= worker.LayerInside {
		return nil
	}
	d.at = d.step
	if n, ok := keptCall(d.path); ok && n < d.step {
		d.at = n
	}
	d.fn = f.entries[p.Steps[d.at].Func].name
	d.soften(f.surface)
	return d
}

// keptCall returns the step whose result later calls change, where a path says that.
func keptCall(path string) (step int, ok bool) {
	var n int
	if _, err := fmt.Sscanf(path, "result of call %d is changed by later calls", &n); err != nil || n < 1 {
		return 0, false
	}
	return n - 1, true
}

// soften notes what makes a difference less grave than its layer.
func (d *finding) soften(s *surface) {
	switch {
	case d.layer == worker.LayerPanic && d.old == "panics" && !s.meant(d):
		d.note = "the old version panicked"
	case d.layer == worker.LayerShared && d.old == "true" && d.new == "false":
		d.note = "less memory is shared than before"
	case saysVersion(s.entries[d.program.Steps[d.at].Func], d.old, d.new):
		d.note = "it says which version this is"
	case s.own(s.entries[d.program.Steps[d.at].Func]):
		d.note = "only the package can call it, and all its callers changed too"
	default:
		if of := s.nilReceiver(d.program, d.step); of != "" {
			d.note = "it takes a nil *" + of + ", and neither version checks for one"
			return
		}
		for i := range d.program.Steps {
			for j, t := range s.entries[d.program.Steps[i].Func].params {
				if ctor := s.bypassed(&d.program.Steps[i].Args[j], t); ctor != "" {
					d.note = "it takes a value that " + ctor + " did not make"
				}
			}
		}
	}
}

var versionText = lazily(`^"v?\d+(\.\d+){1,3}([-+][\w.+-]*)?"$`)

// saysVersion reports whether a function does nothing but tell the version of the package, which is another one in each release.
func saysVersion(e *entry, old, now string) bool {
	return len(e.params) == 0 && strings.Contains(strings.ToLower(e.name), "version") && versionText().MatchString(old) && versionText().MatchString(now)
}

// own reports whether a function is one that changed together with all that use it.
func (s *surface) own(e *entry) bool {
	return slices.ContainsFunc(s.targets, func(t *target) bool { return t.entry != nil && t.is(e) && t.adapted })
}

// bypassed returns the constructor that would have made v, when v is a literal.
func (s *surface) bypassed(v *worker.Value, t types.Type) string {
	if v.Kind != worker.Struct && v.Kind != worker.Ptr {
		return ""
	}
	named, _ := structOf(t)
	if named == nil {
		return ""
	}
	for _, e := range s.ctors[s.baseKey(t)] {
		if named.Obj().Exported() && !token.IsExported(e.name) {
			continue // callers outside can only write the literal
		}
		if strings.EqualFold(e.name, "new"+named.Obj().Name()) || e.name == "New" {
			return e.name
		}
	}
	return ""
}

func (f *search) statusText(s byte) string {
	switch s {
	case worker.Done:
		return "returns"
	case worker.Late:
		return "does not return within " + f.patience().String()
	case worker.Large:
		return fmt.Sprintf("takes more than %s", unit.Size(confirmMemory))
	}
	return "ends the process"
}

// textsOnly is in how many functions nothing graver than the text of an error differs.
func (f *search) textsOnly() int {
	worst := make(map[string]worker.Layer)
	for _, d := range f.seen {
		if l, ok := worst[d.fn]; !ok || d.layer < l {
			worst[d.fn] = d.layer
		}
	}
	n := 0
	for _, l := range worst {
		if l == worker.LayerText {
			n++
		}
	}
	return n
}

// findings returns what was found, the gravest first, each cut down to the least that shows it.
func (f *search) findings(ctx context.Context) ([]*finding, error) {
	list := slices.Collect(maps.Values(f.seen))
	if !f.opt.Strict {
		list = slices.DeleteFunc(list, func(d *finding) bool { return d.layer == worker.LayerText })
	}
	slices.SortFunc(list, func(a, b *finding) int {
		return cmp.Or(cmpBool(b.alarms(), a.alarms()), cmp.Compare(f.rank(a)/4, f.rank(b)/4), cmp.Compare(a.layer, b.layer), cmp.Compare(a.target.distance, b.target.distance), cmp.Compare(a.bucket(), b.bucket()))
	})
	f.look()
	limited := ctx
	if !f.last.IsZero() {
		var cancel context.CancelFunc
		limited, cancel = context.WithDeadline(ctx, f.last)
		defer cancel()
	}
	// One of each layer and function is shown, the one that says most, and of those with one cause the one that is nearest to it.
	known, alike := make(map[string]bool), make(map[string][]*finding)
	list = slices.DeleteFunc(list, func(d *finding) bool {
		k := d.sort()
		had := known[k]
		known[k] = true
		alike[k] = append(alike[k], d)
		return had
	})
	var out []*finding
	for _, g := range f.groups(list) {
		d, err := f.shown(limited, g, alike)
		if err != nil && (ctx.Err() != nil || limited.Err() == nil) {
			return nil, err
		}
		if d != nil {
			d.cause, d.also = g.cause, g.others(d)
			out = append(out, d)
		}
	}
	slices.SortStableFunc(out, func(a, b *finding) int {
		return cmp.Or(cmpBool(b.alarms(), a.alarms()), cmp.Compare(f.rank(a), f.rank(b)), cmp.Compare(a.layer, b.layer), cmp.Compare(weight(a.program), weight(b.program)))
	})
	return out, nil
}

// shown cuts down the first finding of a group that shows each time, and returns it, or nil. When the time is up it returns what it
// has, as it was found, and the error of ctx.
func (f *search) shown(ctx context.Context, g *group, alike map[string][]*finding) (*finding, error) {
	for _, first := range g.list {
		for _, d := range alike[first.sort()] {
			if d.masks != nil {
				return d, f.cut(ctx, d)
			}
			if err := f.shrink(ctx, d); err != nil || !d.alarms() {
				return d, err
			}
			if ok, err := f.steady(ctx, d, 4); err != nil || ok {
				return d, err
			}
			// Masks that were learned since may hide it.
			if again, err := f.sure(ctx, d.target, d.program); err != nil || again != nil {
				return again, err
			}
		}
	}
	return nil, nil
}

func cmpBool(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return 1
	}
	return -1
}
