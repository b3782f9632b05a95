package store

import (
	"context"
	"fmt"
	"slices"
	"time"
)

// A NothingError says that a query selects nothing.
type NothingError struct {
	Query Query
	Found *Found // nil where nobody has looked
}

// Found is what there is where a query selects nothing: the first of these that says why.
type Found struct {
	Services []string  `json:"services,omitzero"` // that there are, where there is none of that name
	Label    string    `json:"label,omitempty"`   // for which there is no such value
	Labels   []string  `json:"labels,omitzero"`   // that there are, where there is none of that name
	Values   []string  `json:"values,omitzero"`   // that the label has
	More     bool      `json:"more,omitempty"`    // there are more services, labels or values than these
	Kinds    []string  `json:"kinds,omitzero"`    // that there are at that time, of which none was asked for, or is shown
	Before   time.Time `json:"before,omitzero"`   // of the last profile before that time, and the first one after it
	After    time.Time `json:"after,omitzero"`
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

// looking is how long it may take to find out why there is nothing.
const looking = 5 * time.Second

// mostFound is how many names a Found has.
const mostFound = 100

// Explain returns the error that a query selects nothing, with what there is instead where that is found out soon.
func Explain(ctx context.Context, s Store, q Query) *NothingError {
	e := &NothingError{Query: q}
	ctx, stop := context.WithTimeout(ctx, looking)
	defer stop()
	if f, err := find(ctx, s, q); err == nil {
		e.Found = f
	}
	return e
}

// find returns what there is where a query selects nothing.
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
	// At no time is there one: some of its names are wrong.
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
