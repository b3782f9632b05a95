package store

import (
	"context"
	"fmt"
	"slices"
	"time"
)

// A NothingError means that a query selects no profiles.
type NothingError struct {
	Query Query
	Found *Found // nil if nobody has looked
}

// Found is what the store has instead of the selected profiles. The first of these fields that is set explains why nothing was found.
type Found struct {
	Services []string  `json:"services,omitzero"` // all services, if there is none of that name
	Filling  bool      `json:"filling,omitempty"` // the server is still making its first profiles
	Label    string    `json:"label,omitempty"`   // label that never has this value
	Labels   []string  `json:"labels,omitzero"`   // all labels, if there is none of that name
	Values   []string  `json:"values,omitzero"`   // values of Label
	More     bool      `json:"more,omitempty"`    // there are further services, labels or values
	Kinds    []string  `json:"kinds,omitzero"`    // kinds of profiles at that time, none of which the query or the view selects
	Before   time.Time `json:"before,omitzero"`   // times of the last profile before the selected time, and of the first one after it
	After    time.Time `json:"after,omitzero"`

	Sums *Sums `json:"sums,omitempty"` // what is left of the time, if that is sums
}

func (e *NothingError) Error() string {
	q := &e.Query
	service, named := q.Selector.Only(ServiceLabel)
	if f := e.Found; f != nil {
		at := slices.IndexFunc(q.Selector, func(m Matcher) bool { return m.Name == f.Label })
		switch {
		case f.Services != nil && named:
			return "there is no service " + shown(service)
		case f.Labels != nil && at >= 0:
			return fmt.Sprintf("no profile of %s has the label %s", Service(service), f.Label)
		case f.Label != "" && at >= 0:
			return fmt.Sprintf("no profile of %s has %s", Service(service), q.Selector[at])
		}
	}
	what := "profile"
	if q.Kind != "" {
		what = shown(q.Kind) + " profile"
	}
	return fmt.Sprintf("there is no %s of %s from %s to %s", what, q.Selector, q.From.Format(moment), q.To.Format(moment))
}

// looking limits the time for finding out why nothing was selected.
const looking = 5 * time.Second

// mostFound is the maximum number of names in a Found.
const mostFound = 100

// Explain returns a NothingError for a query, with what the store has instead if it finds out in time.
func Explain(ctx context.Context, s Store, q Query) *NothingError {
	e := &NothingError{Query: q}
	ctx, stop := context.WithTimeout(ctx, looking)
	defer stop()
	f, err := find(ctx, s, q)
	if err != nil {
		return e
	}
	e.Found = f
	service, named := q.Selector.Only(ServiceLabel)
	if sums, ok := s.(SumStore); ok && named && f.Services == nil {
		q.Selector = Service(service) // sums do not have all labels
		f.Sums, _ = sums.Sums(ctx, q)
	}
	return e
}

// find returns what the store has instead of the profiles of a query.
func find(ctx context.Context, s Store, q Query) (*Found, error) {
	f := &Found{}
	q.Kind = ""
	series, err := s.Series(ctx, q)
	if err != nil {
		return nil, err
	}
	for _, one := range series {
		if !slices.Contains(f.Kinds, one.Kind) && len(f.Kinds) < mostFound {
			f.Kinds = append(f.Kinds, one.Kind)
		}
	}
	if len(f.Kinds) > 0 {
		return f, nil
	}
	before, after := q, q
	before.From, before.To = time.Unix(0, 0), q.From
	after.From, after.To = q.To, time.Unix(1<<33, 0)
	if series, err = s.Series(ctx, before); err != nil {
		return nil, err
	}
	for _, one := range series {
		if one.Last.After(f.Before) {
			f.Before = one.Last
		}
	}
	if series, err = s.Series(ctx, after); err != nil {
		return nil, err
	}
	for _, one := range series {
		if f.After.IsZero() || one.First.Before(f.After) {
			f.After = one.First
		}
	}
	service, named := q.Selector.Only(ServiceLabel)
	if !f.Before.IsZero() || !f.After.IsZero() || !named {
		return f, nil
	}
	// No time has such a profile, so some name in the query is wrong.
	always := Query{Tenant: q.Tenant, From: before.From, To: after.To}
	services, more, err := s.Values(ctx, always, ServiceLabel, "", 10*mostFound)
	if err != nil {
		return nil, err
	}
	if !slices.Contains(services, service) {
		return &Found{Services: append([]string{}, services[:min(len(services), mostFound)]...), More: more || len(services) > mostFound}, nil
	}
	always.Selector = Service(service)
	names, err := s.Names(ctx, always)
	if err != nil {
		return nil, err
	}
	for _, m := range q.Selector {
		if m.Name == ServiceLabel {
			continue
		}
		if !slices.Contains(names, m.Name) && !m.Match("") {
			names = slices.DeleteFunc(names, func(n string) bool { return n == ServiceLabel })
			return &Found{Label: m.Name, Labels: append([]string{}, names[:min(len(names), mostFound)]...), More: len(names) > mostFound}, nil
		}
		one := always
		one.Selector = append(Service(service), m)
		series, err := s.Series(ctx, one)
		if err != nil {
			return nil, err
		}
		if len(series) == 0 {
			f := &Found{Label: m.Name}
			f.Values, f.More, err = s.Values(ctx, always, m.Name, "", mostFound)
			return f, err
		}
	}
	return f, nil
}
