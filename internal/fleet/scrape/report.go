package scrape

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/hone-perf/hone/internal/report"
)

// Failing returns what fails of what is asked for a tenant.
func (st *Status) Failing(tenant string, now time.Time) *report.Targets {
	out := &report.Targets{Now: now, Rows: []report.FailingTarget{}}
	for _, t := range st.Targets {
		if t.Tenant != tenant {
			continue
		}
		out.Found++
		rows := t.failing()
		if len(rows) > 0 {
			out.Failing++
		}
		out.Rows = append(out.Rows, rows...)
	}
	slices.SortStableFunc(out.Rows, func(a, b report.FailingTarget) int {
		return cmp.Or(a.Since.Compare(b.Since), cmp.Compare(a.Job, b.Job), cmp.Compare(a.Address, b.Address))
	})
	for _, j := range st.Jobs {
		if j.Tenant != tenant {
			continue
		}
		add := func(source, why string) {
			out.Jobs = append(out.Jobs, report.FailingJob{Job: j.Job, Source: source, Why: why})
		}
		if j.Err != nil {
			add("", fmt.Sprintf("%d profiles cannot be asked for: %s", j.Wrong, j.Err))
		}
		if j.Over > 0 {
			add("", fmt.Sprintf("%d targets are over the target_limit, and are not asked", j.Over))
		}
		for _, s := range j.Sources {
			switch {
			case s.Err != nil:
				add(s.What, s.Err.Error())
			case s.Targets == 0 && !s.Looked.IsZero():
				add(s.What, "it has no targets")
			}
		}
	}
	return out
}

// failing returns the kinds of profiles of a target that fail, by why they do. One for which another client took a CPU profile does not fail.
func (t *TargetStatus) failing() (out []report.FailingTarget) {
	for _, p := range t.Profiles {
		why, since := "", p.Since
		switch {
		case p.Health == Down && p.Err != nil && p.Err.Cause != CauseBusy:
			why = p.Err.Error()
		case p.Refused != nil:
			why, since = "the store refuses it: "+p.Refused.Error(), time.Time{}
		default:
			continue
		}
		i := slices.IndexFunc(out, func(r report.FailingTarget) bool { return r.Why == why })
		if i < 0 {
			i = len(out)
			out = append(out, report.FailingTarget{Job: t.Job, Service: t.Service, Address: t.Address, Since: since, Why: why})
		}
		r := &out[i]
		r.Kinds = append(r.Kinds, p.Kind)
		r.All = len(r.Kinds) == len(t.Profiles)
		if since.Before(r.Since) {
			r.Since = since
		}
		if p.Good.After(r.Good) {
			r.Good = p.Good
		}
	}
	return out
}
