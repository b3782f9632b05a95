package scrape

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/hone-perf/hone/internal/report"
	"github.com/hone-perf/hone/internal/unit"
)

// Failing returns which targets and jobs of a tenant fail, and why.
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
			add("", fmt.Sprintf("%s cannot be fetched: %s", unit.Counted(j.Wrong, "profile"), j.Err))
		}
		if j.Over > 0 {
			add("", "target_limit leaves out "+unit.Counted(j.Over, "target"))
		}
		for _, s := range j.Sources {
			switch {
			case s.Err != nil:
				add(s.What, s.Err.Error())
			case s.Targets == 0 && !s.Looked.IsZero():
				add(s.What, "there are no targets")
			}
		}
	}
	return out
}

// failing returns which kinds of profiles of a target fail: a row for each reason.
func (t *TargetStatus) failing() (out []report.FailingTarget) {
	for _, p := range t.Profiles {
		why, since := "", p.Since
		switch {
		case p.fails():
			why = p.why()
		case p.Refused != nil:
			why, since = "the store refuses the profile: "+p.Refused.Error(), time.Time{}
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
