package prove

import (
	"context"
	"slices"
	"time"
)

// What more time could settle: a function that was called too few times, and a difference that there was no time to confirm. A run that may take
// more time for that, with Options.More, takes as much of it as that needs.

// moreAtOnce is the time after which it is asked what is still missing.
const moreAtOnce = 3 * time.Second

// settleWithMore makes more calls of what was called too few times, and looks once more into differences that were left open.
func (r *run) settleWithMore(ctx context.Context, f *search) error {
	if f.opt.Executions > 0 || r.opt.More <= 0 || f.called != nil {
		return nil
	}
	for began := time.Now(); time.Since(began) < r.opt.More && !f.grave(); {
		f.only = r.wanting(f)
		if len(f.only) == 0 && len(f.open) == 0 {
			break
		}
		f.extend(min(moreAtOnce, r.opt.More))
		if err := within(ctx, f.callsEnd, f.reopen); err != nil {
			return err
		}
		if len(f.only) > 0 && !f.grave() {
			if err := within(ctx, f.callsEnd, f.rounds); err != nil {
				return err
			}
			f.stop()
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
	}
	f.only = nil
	return nil
}

// wanting returns the targets that are called for functions that changed and were called too few times so far.
func (r *run) wanting(f *search) map[*target]bool {
	out := make(map[*target]bool)
	far := r.reach(f.surface, f)
	wants := func(t *target) bool { return t.entry != nil && f.states[t] != nil && !f.states[t].done }
	for _, t := range f.targets {
		if t.distance > 0 || t.gone || far[t.key].reached == 0 {
			continue
		}
		if t.entry != nil {
			if st := f.states[t]; st != nil && wants(t) && st.compared() < f.needs(t.entry, t.key, far) {
				out[t] = true
			}
			continue
		}
		had, needs := 0, 0
		var users []*target
		for user, st := range f.states {
			if f.reaches(user.key, t.key) {
				had, needs, users = had+st.compared(), max(needs, f.needs(user.entry, t.key, far)), append(users, user)
			}
		}
		for _, user := range users {
			out[user] = out[user] || had < needs && wants(user)
		}
	}
	for t, is := range out {
		if !is {
			delete(out, t)
		}
	}
	return out
}

// grave reports whether a difference was found that makes the change another one.
func (f *search) grave() bool {
	for _, st := range f.states {
		if st.found {
			return true
		}
	}
	return false
}

// extend gives a search more time from now on.
func (f *search) extend(by time.Duration) {
	now := time.Now()
	f.until, f.callsEnd, f.end = now.Add(by*5/6), now.Add(by*11/12), now.Add(by)
}

// reopen looks into the differences that were left open, each for as long as there is time.
func (f *search) reopen(ctx context.Context) error {
	defer f.stop()
	for _, o := range slices.Clone(f.open) {
		i := slices.IndexFunc(f.targets, func(t *target) bool { return t.entry != nil && t.name == o })
		p := f.openCalls[o]
		if i < 0 || p == nil {
			continue
		}
		found, err := f.examine(ctx, f.targets[i], p, nil, true)
		if err != nil || ctx.Err() != nil {
			return err
		}
		f.open = slices.DeleteFunc(f.open, func(name string) bool { return name == o })
		if found != nil && found.alarms() {
			f.states[f.targets[i]].found = true
		}
	}
	return nil
}
