package prove

import (
	"context"
	"slices"
	"time"
)

// What more time could settle: a function that was called too few times, or reached only in part, and a difference that there was no time to
// confirm. A run that may take more time for that, with Options.More, takes as much of it as that needs.

const (
	moreAtOnce = 3 * time.Second // after which it is asked what is still missing
	mostIdle   = 2               // how often that brings nothing new of what is reached only in part, until it is left at that
)

// settleWithMore makes more calls of what was called too few times or reached only in part, and looks once more into differences that were
// left open.
func (r *run) settleWithMore(ctx context.Context, f *search) error {
	if f.opt.Executions > 0 || r.opt.More <= 0 || f.called != nil {
		return nil
	}
	idle, missed := 0, 0
	for began := time.Now(); time.Since(began) < r.opt.More && !f.grave(); {
		far := r.reach(f.surface, f)
		switch now := missing(f.targets, far); {
		case now == missed:
			idle++
		default:
			idle, missed = 0, now
		}
		f.only = r.wanting(f, far, idle < mostIdle)
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

// missing returns how much of the functions that changed was not reached.
func missing(targets []*target, far map[string]reach) (n int) {
	for _, t := range targets {
		if t.distance == 0 && !t.gone {
			n += far[t.key].missed + len(far[t.key].always)
		}
	}
	return n
}

// wanting returns the targets that are called for functions that changed, and were called too few times so far, or, if all is to be reached,
// were reached only in part.
func (r *run) wanting(f *search, far map[string]reach, all bool) map[*target]bool {
	out := make(map[*target]bool)
	wants := func(t *target) bool { return t.entry != nil && f.states[t] != nil && !f.states[t].done }
	for _, t := range f.targets {
		if t.distance > 0 || t.gone || far[t.key].reached == 0 {
			continue
		}
		inPart := all && far[t.key].missed+len(far[t.key].always) > 0
		if t.entry != nil {
			if st := f.states[t]; st != nil && wants(t) && (inPart || st.compared() < f.needs(t.entry, t.key, far)) {
				out[t] = true
			}
			if !inPart {
				continue
			}
		}
		had, needs := 0, 0
		var users []*target
		for user, st := range f.states {
			if f.reaches(user.key, t.key) {
				had, needs, users = had+st.compared(), max(needs, f.needs(user.entry, t.key, far)), append(users, user)
			}
		}
		for _, user := range users {
			out[user] = out[user] || (inPart || had < needs) && wants(user)
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
