package prove

import (
	"context"
	"slices"

	"github.com/hone-perf/hone/internal/prove/worker"
)

// How grave a line is goes by both versions: what a type holds that only one of them has is for the package alone, so that compare takes the
// lesser of two layers. A worker knows its own version only. Where the old one returns an io.NopCloser, and the new one a type of its own that
// does the same, hashes differ with every call, and lines do not. Such calls are made again for their lines.

// noteLayers notes functions whose lines are in other layers in the new version, and reports whether one of them was not known.
func (f *search) noteLayers(p *worker.Program, old, now *worker.Seen) (isNew bool) {
	layers := make(map[stepPath]worker.Layer)
	for _, l := range old.Lines {
		if l.Layer != worker.LayerWhole {
			layers[stepPath{l.Step, l.Path}] = l.Layer
		}
	}
	for _, l := range now.Lines {
		had, ok := layers[stepPath{l.Step, l.Path}]
		if fn := p.Steps[l.Step].Func; ok && l.Layer != worker.LayerWhole && had != l.Layer && !f.layered[fn] {
			f.layered[fn], isNew = true, true
		}
	}
	if isNew {
		f.lessons++
	}
	return isNew
}

// asLines makes hashes alike that differ although lines do not. It returns the programs that were run again to know that.
func (f *search) asLines(ctx context.Context, list []*worker.Program, seen [2][]*worker.Seen) (again []*worker.Program) {
	var which []int
	for i := range min(len(seen[0]), len(seen[1])) {
		if f.maybeLayers(list[i], seen[0][i], seen[1][i]) {
			which, again = append(which, i), append(again, list[i])
		}
	}
	if len(which) == 0 || ctx.Err() != nil || f.live[0].dead || f.live[1].dead {
		return nil
	}
	full := f.bothWith(ctx, again, worker.Full)
	for side := range full {
		for _, s := range full[side] {
			f.forget(side, s.Cover) // the next program that comes there says so
		}
	}
	for n := range min(len(full[0]), len(full[1])) {
		i, old, now := which[n], full[0][n], full[1][n]
		if answersAs(seen[0][i], old) && answersAs(seen[1][i], now) && f.compare(list[i], old, now) == nil {
			seen[1][i].Hashes = alike(seen[0][i].Hashes, seen[1][i].Hashes)
		}
	}
	return again
}

// maybeLayers reports whether versions may differ in a program only because lines are in other layers: all that differs is of functions of which that
// is known, and masks took nothing of it.
func (f *search) maybeLayers(p *worker.Program, old, now *worker.Seen) bool {
	if len(f.layered) == 0 || old.Status != worker.Done || now.Status != worker.Done || f.left(p, f.taking(p, nil)) != nil {
		return false
	}
	differs, only := false, true
	same := func(a, b worker.Hash) bool {
		only = only && (sameSum(a, b) || a.All == 0 && b.All == 0)
		return sameSum(a, b)
	}
	unlike(old.Hashes, now.Hashes, same, func(h worker.Hash) {
		differs = true
		only = only && f.layered[p.Steps[h.Step].Func]
	})
	return differs && only
}

// answersAs reports whether a program that was run again for its lines answered as it did before.
func answersAs(before, again *worker.Seen) bool {
	same := again.Status == worker.Done
	unlike(before.Hashes, again.Hashes, sameSum, func(worker.Hash) { same = false })
	return same
}

func sameSum(a, b worker.Hash) bool { return a.Sum == b.Sum }

// alike returns hashes with the sums of old, and with what now has beside the same sums.
func alike(old, now []worker.Hash) []worker.Hash {
	out := slices.Clone(old)
	for i, o := range out {
		if j := slices.IndexFunc(now, func(h worker.Hash) bool { return h.Step == o.Step && h.Layer == o.Layer && h.Sum == o.Sum }); j >= 0 {
			out[i] = now[j]
		}
	}
	return out
}
