package source

import (
	"errors"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/hone-perf/hone/internal/hint"
	"github.com/hone-perf/hone/internal/query"
	"github.com/hone-perf/hone/internal/recording"
	"github.com/hone-perf/hone/internal/store"
)

// Nothing returns the error that a query selects nothing, with the next step: the name that was meant, or the time in which there is something. Prefix begins
// refs to this store.
func Nothing(prefix string, e *store.NothingError) error {
	return nothing(prefix, "", e)
}

// nothing is Nothing where the address of the store is known.
func nothing(prefix, address string, e *store.NothingError) error {
	next := instead(prefix, address, e)
	if f := e.Found; f != nil && f.Sums != nil {
		next = summed(prefix, e, next)
	}
	if next != nil {
		return &hint.Error{Err: e, Next: next}
	}
	return e
}

// mostNames is how many names a hint lists.
const mostNames = 8

// EmptyStore says how profiles get into a store that has none.
var EmptyStore = hint.Text{
	"the store is empty; ", hint.Command{Verb: "push"}, " and ", hint.Command{Verb: "serve", Options: []hint.Option{{Name: "config", Value: "FILE"}}}, " put profiles into it",
}

// FillingStore says that the server of a store is still making its first profiles.
var FillingStore = hint.Text{"the demo is still making its profiles; ask again in a minute"}

// summed adds to a hint that there are only sums of the time.
func summed(prefix string, e *store.NothingError, next hint.Text) hint.Text {
	f, q := e.Found, &e.Query
	if f.Labels != nil || f.Label != "" {
		return append(next, "; "+f.Sums.String())
	}
	service, _ := q.Selector.Only(store.ServiceLabel)
	ref := store.Ref{Selector: store.Service(service), From: f.Sums.From, To: f.Sums.To}
	return hint.Text{f.Sums.String() + ": ", hint.Ask("top", prefix+ref.String())}
}

func instead(prefix, address string, e *store.NothingError) hint.Text {
	f := e.Found
	if f == nil {
		return nil
	}
	service, _ := e.Query.Selector.Only(store.ServiceLabel)
	list := func(meant string, names []string, of string) hint.Text {
		var out hint.Text
		if meant = query.Nearest(meant, names); len(meant) > 2 { // v2 is as near to v9 as any other
			out = append(out, "did you mean "+meant+"? ")
		}
		more := f.More
		if len(names) > mostNames {
			names, more = names[:mostNames], true
		}
		said := strings.Join(names, ", ")
		if more {
			said += ", …"
		}
		return append(out, of+" "+said)
	}
	switch {
	case f.Filling:
		return FillingStore
	case f.Services != nil && len(f.Services) == 0:
		return EmptyStore
	case f.Services != nil:
		return list(service, f.Services, "the store has")
	case f.Labels != nil && len(f.Labels) == 0:
		return hint.Text{"its profiles have no labels"}
	case f.Labels != nil:
		return list(f.Label, f.Labels, "its labels are")
	case f.Label != "":
		value, _ := e.Query.Selector.Only(f.Label)
		return list(value, f.Values, "its values are")
	case len(f.Kinds) > 0 && e.Query.Kind == "":
		said := "there are only profiles of the kinds " + strings.Join(f.Kinds, ", ") + ", and refs select " + strings.Join(recording.Kinds, ", ")
		if address == "" {
			return hint.Text{said}
		}
		ref := store.Ref{Selector: e.Query.Selector, From: e.Query.From, To: e.Query.To}
		one := url.Values{"kind": f.Kinds[:1], "ref": {ref.String()}}
		return hint.Text{said + ": ", hint.Ask("top", strings.TrimSuffix(address, "/")+"/"+storeProfile+"?"+one.Encode())}
	case len(f.Kinds) > 0:
		return hint.Text{"there are profiles of the kinds " + strings.Join(f.Kinds, ", ")}
	}
	zone := e.Query.From.Location()
	at := func(t time.Time) string { return t.In(zone).Format("2006-01-02 15:04:05 MST") }
	ref := store.Ref{Selector: e.Query.Selector}
	var said string
	switch {
	case !f.Before.IsZero():
		said = "the last one before is of " + at(f.Before)
		ref.From, ref.To = f.Before.Add(-e.Query.To.Sub(e.Query.From)).Add(time.Second), f.Before.Add(time.Second)
		if !f.After.IsZero() {
			said += ", the next one of " + at(f.After)
		}
	case !f.After.IsZero():
		said = "the first one is of " + at(f.After)
		ref.From, ref.To = f.After, f.After.Add(e.Query.To.Sub(e.Query.From))
	default:
		return nil
	}
	return hint.Text{said + ": ", hint.Ask("top", prefix+ref.String())}
}

// NoService returns what a store answered about a service as the error that there is none of that name, where it says so, and else err.
func NoService(service string, err error) error {
	err, _ = nothingOf(store.Ref{Selector: store.Service(service)}, store.RefPrefix, "", err)
	return err
}

// nothingOf returns what the answer to a query says that there is, where that is nothing; ok is false when the answer says something else.
func nothingOf(at store.Ref, prefix, address string, err error) (_ error, ok bool) {
	var none *nothingAnswer
	if !errors.As(err, &none) {
		return err, false
	}
	f := none.found
	for _, names := range []*[]string{&f.Services, &f.Labels, &f.Values, &f.Kinds} {
		if *names != nil {
			*names = slices.DeleteFunc(*names, func(name string) bool { return len(name) > 200 })
		}
	}
	return nothing(prefix, address, &store.NothingError{Query: store.Query{Selector: at.Selector, From: at.From, To: at.To}, Found: f}), true
}

// A nothingAnswer is the answer that a query selects nothing.
type nothingAnswer struct{ found *store.Found }

func (*nothingAnswer) Error() string { return "there is nothing" }
