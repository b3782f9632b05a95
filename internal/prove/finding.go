package prove

import (
	"cmp"
	"context"
	"fmt"
	"go/types"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/hone-perf/hone/internal/prove/worker"
)

// A finding is a difference that showed every time.
type finding struct {
	target  *target
	program *worker.Program
	layer   worker.Layer
	path    string
	step    int
	fn      string
	old     string
	new     string
	note    string // what softens it
	late    bool   // one side did not return
	calls   int    // about the target, until it was found
	lines   [2][]worker.Line
}

// bucket is the same for differences that are probably one.
func (d *finding) bucket() string {
	return fmt.Sprintf("%c %s %s", d.layer, d.fn, worker.MaskKey("", d.path))
}

// keep keeps a finding if it is the first of its kind.
func (f *search) keep(d *finding) {
	if had := f.seen[d.bucket()]; had != nil {
		if weight(d.program) < weight(had.program) {
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
	slices.SortFunc(out, func(a, b stepPath) int { return cmp.Or(cmp.Compare(a.step, b.step), cmp.Compare(a.path, b.path)) })
	return out
}

// compare returns the gravest difference between what two workers saw, or nil.
func (f *search) compare(p *worker.Program, old, now *worker.Seen) *finding {
	d := &finding{program: p}
	if old.Status == killed || now.Status == killed {
		return nil
	}
	if old.Status != now.Status {
		d.layer, d.path, d.old, d.new = worker.LayerPanic, "outcome", f.statusText(old.Status), f.statusText(now.Status)
		d.late = late(old) || late(now)
		d.fn, d.step = f.lastName(p), len(p.Steps)-1
		if old.Status == worker.Invalid || now.Status == worker.Invalid {
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
	d.fn = f.entries[p.Steps[d.step].Func].name
	d.soften(f.surface)
	return d
}

// soften notes what makes a difference less grave than its layer.
func (d *finding) soften(s *surface) {
	switch {
	case d.layer == worker.LayerPanic && d.old == "panics":
		d.note = "the old version panicked"
	case d.layer == worker.LayerShared && d.old == "true" && d.new == "false":
		d.note = "less memory is shared than before"
	case s.own(d.fn):
		d.note = "only the package can call it, and all that does changed with it"
	default:
		for i := range d.program.Steps {
			for j, t := range s.entries[d.program.Steps[i].Func].params {
				if ctor := s.bypassed(&d.program.Steps[i].Args[j], t); ctor != "" {
					d.note = "it takes a value that " + ctor + " did not make"
				}
			}
		}
	}
}

// own reports whether a function is one that changed together with all that use it.
func (s *surface) own(name string) bool {
	return slices.ContainsFunc(s.targets, func(t *target) bool { return t.entry != nil && t.name == name && t.adapted })
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
		return fmt.Sprintf("takes more than %d MB", confirmMemory>>20)
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
		return cmp.Or(cmpBool(b.alarms(), a.alarms()), cmp.Compare(a.layer, b.layer), cmp.Compare(a.target.distance, b.target.distance), cmp.Compare(a.bucket(), b.bucket()))
	})
	f.look()
	limited := ctx
	if !f.last.IsZero() {
		var cancel context.CancelFunc
		limited, cancel = context.WithDeadline(ctx, f.last)
		defer cancel()
	}
	over := func() bool { return limited.Err() != nil && ctx.Err() == nil } // then what is left stays as it was found
	// One of each layer and function is shown, the one that says most.
	known := make(map[string]bool)
	var out []*finding
	for _, d := range list {
		k := fmt.Sprintf("%c %s %v", d.layer, d.fn, d.note != "")
		if known[k] {
			continue
		}
		if err := f.shrink(limited, d); err != nil && !over() {
			return nil, err
		}
		if d.alarms() {
			switch ok, err := f.steady(limited, d, 4); {
			case err != nil && !over():
				return nil, err
			case err == nil && !ok:
				continue
			}
		}
		known[k] = true
		out = append(out, d)
	}
	slices.SortStableFunc(out, func(a, b *finding) int {
		return cmp.Or(cmpBool(b.alarms(), a.alarms()), cmp.Compare(a.layer, b.layer), cmp.Compare(weight(a.program), weight(b.program)))
	})
	return out, nil
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
