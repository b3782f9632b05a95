package prove

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"time"

	"github.com/hone-perf/hone/internal/prove/worker"
)

// whichDied runs programs again that a worker did not survive, so that it is known which of them it was.
func (f *search) whichDied(ctx context.Context, side int, list []*worker.Program) []*worker.Seen {
	p, err := start(ctx, f.files[side].file, f.config(f.limit()))
	if err != nil {
		return nil // as will the next
	}
	defer p.stop()
	return p.run(list, worker.FlushEach)
}

// replay runs programs in fresh workers, in full, and returns what was seen of the last one: by old, new, old, new….
func (f *search) replay(ctx context.Context, list []*worker.Program, times int, limit time.Duration) ([]*worker.Seen, error) {
	return f.replayFrom(ctx, 0, list, times, limit)
}

// aside is how many goroutines a worker starts before anything else, for those that come later to have other numbers.
const aside = 100

// replayFrom is replay that goes on after so many times before. Every second time the old version is elsewhere, with other lines, and with
// other numbers for its goroutines.
func (f *search) replayFrom(ctx context.Context, before int, list []*worker.Program, times int, limit time.Duration) ([]*worker.Seen, error) {
	out := make([]*worker.Seen, 2*times)
	for i := 0; i < len(out); i += 2 {
		var errs [2]error
		var wg sync.WaitGroup
		for side := range 2 {
			wg.Go(func() {
				file, config := f.files[side].file, f.config(limit)
				if moved := f.files[side].elsewhere; moved != "" && (before+i/2)%2 == 1 {
					file, config.Aside = moved, aside
				}
				p, err := start(ctx, file, config)
				if err != nil {
					errs[side] = err
					return
				}
				defer p.stop()
				seen := p.run(list, worker.Full|worker.FlushEach)
				out[i+side] = seen[len(seen)-1]
				if len(seen) < len(list) && out[i+side].Status == worker.Done {
					out[i+side] = &worker.Seen{Status: died}
				}
			})
		}
		wg.Wait()
		if err := cmp.Or(errs[0], errs[1]); err != nil {
			return nil, err
		}
	}
	return out, ctx.Err()
}

// examine finds out whether a difference is one: it has to show in fresh workers, every time, and the old version has to
// agree with itself.
func (f *search) examine(ctx context.Context, t *target, p *worker.Program, before []*worker.Program, slow bool) (*finding, error) {
	list := []*worker.Program{p}
	for round := 0; round < 7; round++ {
		seen, err := f.replay(ctx, list, 1, f.patience())
		if err != nil {
			return nil, err
		}
		if slow && f.compare(p, seen[0], seen[1]) == nil {
			return nil, nil // one of them took a little more than it gets in a search
		}
		if f.compare(p, seen[0], seen[1]) == nil {
			seen = append(seen, seen...) // it does not show: that need not be seen twice
		} else {
			limit := f.patience()
			if late(seen[0]) != late(seen[1]) {
				limit = min(limit, 2*runLimit) // that it does not return was seen; whether the other does each time is seen soon
			}
			again, err := f.replayFrom(ctx, 1, list, 1, limit)
			if err != nil {
				return nil, err
			}
			seen = append(seen, again...)
		}
		if f.learn(p, seen[0], seen[2]) {
			continue // and see what is left
		}
		d := f.compare(p, seen[0], seen[1])
		again := f.compare(p, seen[2], seen[3])
		switch {
		case d == nil && again == nil && f.left(p, f.taking(p, nil)) != nil:
			return nil, nil // it differs only where it takes what varies
		case d == nil && again == nil && f.noteLayers(p, seen[0], seen[1]):
			return nil, nil // most likely, that was all; what is left is looked into the next time
		case d == nil && again == nil && len(list) == 1 && len(before) > 0:
			list = append(before[max(0, len(before)-256):len(before):len(before)], p) // it may take what went before
			continue
		case d == nil || again == nil || d.bucket() != again.bucket():
			if len(list) == 1 {
				f.unsteady.add(t.name, f.briefly(p))
			}
			return nil, nil
		}
		if len(list) > 1 {
			if list, err = f.cutHistory(ctx, list, d); err != nil {
				return nil, err
			}
			joined := joinPrograms(list)
			seen, err := f.replay(ctx, []*worker.Program{joined}, 2, f.patience())
			if err != nil {
				return nil, err
			}
			if d = f.compare(joined, seen[0], seen[1]); d == nil || f.compare(joined, seen[2], seen[3]) == nil {
				f.unsteady.add(t.name, f.briefly(joined))
				return nil, nil
			}
			p = joined
		}
		if d.lines[0] == nil && !d.late {
			if d, err = f.firstFatal(ctx, p, d); err != nil {
				return nil, err
			}
			p = d.program
		}
		d.target, d.program, d.calls = t, p, f.states[t].executions
		if f.seen[d.bucket()] == nil {
			times := 3
			if slices.Contains(f.taking(p, nil), true) {
				times = sureProcesses // what it takes may come out the same a few times
			}
			if ok, err := f.steady(ctx, d, times); err != nil || !ok {
				return nil, err
			}
		}
		f.keep(d)
		return d, nil
	}
	f.unsteady.add(t.name, f.briefly(p))
	return nil, nil
}

// firstFatal cuts off the calls behind the one that ends a worker, which is to blame.
func (f *search) firstFatal(ctx context.Context, p *worker.Program, d *finding) (*finding, error) {
	for n := 1; n < len(p.Steps); n++ {
		short := &worker.Program{Steps: p.Steps[:n]}
		seen, err := f.replay(ctx, []*worker.Program{short}, 1, f.patience())
		if err != nil {
			return nil, err
		}
		if c := f.compare(short, seen[0], seen[1]); c != nil && c.lines[0] == nil && c.old == d.old && c.new == d.new {
			return c, nil
		}
	}
	return d, nil
}

func late(s *worker.Seen) bool { return s.Status == worker.Late }

// steady reports whether a finding shows each of n times more. What the versions take by chance, such as the order of a
// map, can come out the same a few times in a row.
func (f *search) steady(ctx context.Context, d *finding, n int) (bool, error) {
	limit := f.patience()
	if d.late {
		n, limit = 1, min(limit, 2*runLimit) // each time takes as long again, and showed it in full the first time
	}
	if ok, err := f.repeats(ctx, d, n+2); ok || err != nil {
		return ok, err
	}
	// A version that remembers may do it only once in a process.
	seen, err := f.replay(ctx, []*worker.Program{d.program}, n, limit)
	if err != nil {
		return false, err
	}
	for i := 0; i < len(seen); i += 2 {
		c := f.compare(d.program, seen[i], seen[i+1])
		if c == nil || c.bucket() != d.bucket() || f.learn(d.program, seen[0], seen[i]) {
			f.unsteady.add(d.fn, f.briefly(d.program))
			return false, nil
		}
	}
	return true, nil
}

// repeats reports whether both versions say the same n times in one process, and the finding shows each time.
func (f *search) repeats(ctx context.Context, d *finding, n int) (bool, error) {
	if d.lines[0] == nil {
		return false, nil // it ended a worker
	}
	list := slices.Repeat([]*worker.Program{d.program}, n)
	var seen [2][]*worker.Seen
	for side := range 2 {
		p, err := start(ctx, f.files[side].file, f.config(f.patience()))
		if err != nil {
			return false, err
		}
		seen[side] = p.run(list, worker.Full)
		p.stop()
		if len(seen[side]) < n {
			return false, ctx.Err()
		}
	}
	for i := range n {
		c := f.compare(d.program, seen[0][i], seen[1][i])
		if c == nil || c.bucket() != d.bucket() || c.old != d.old || c.new != d.new {
			return false, nil
		}
	}
	return true, nil
}

// cutHistory finds how much of what went before a difference takes.
func (f *search) cutHistory(ctx context.Context, list []*worker.Program, d *finding) ([]*worker.Program, error) {
	for n := 1; n < len(list); n *= 2 {
		short := list[len(list)-1-n:]
		seen, err := f.replay(ctx, short, 1, f.patience())
		if err != nil {
			return nil, err
		}
		if c := f.compare(short[n], seen[0], seen[1]); c != nil && c.bucket() == d.bucket() {
			return short, nil
		}
	}
	return list, nil
}

// learn masks what the old version does not say the same twice, and reports whether there was something.
func (f *search) learn(p *worker.Program, a, b *worker.Seen) bool {
	if a.Status != worker.Done || b.Status != worker.Done {
		return false
	}
	learned := false
	raised := make(map[string]bool) // several calls of a function, or elements of a list, count once
	paths := differingPaths(a.Lines, b.Lines)
	taking := f.taking(p, func(step int) bool {
		return slices.ContainsFunc(paths, func(at stepPath) bool { return at.step == step })
	})
	f.lose(p, a.Lines, taking)
	left := f.left(p, taking)
	for _, path := range paths {
		if left != nil && left[path.step] {
			continue
		}
		key := worker.MaskKey(f.entries[p.Steps[path.step].Func].name, path.path)
		if f.masks[key] < worker.MaskAll && !raised[key] {
			f.masks[key]++
			f.masked[key] = true
			f.lessons++
			learned, raised[key] = true, true
		}
		if !taking[path.step] {
			f.byItself[key], f.sources[p.Steps[path.step].Func] = true, true
			if f.masks[key] == worker.MaskAll {
				f.losesAt(p, path, a.Lines, b.Lines)
			}
		}
		// The order of a list is masked at the list.
		for i := len(path.path) - 1; i > 0; i-- {
			if path.path[i] == '[' {
				f.masks[worker.MaskKey(f.entries[p.Steps[path.step].Func].name, path.path[:i])] = worker.MaskOrder
				break
			}
		}
	}
	return learned
}
