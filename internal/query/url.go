package query

import (
	"errors"
	"fmt"
	"net/url"
	"strings"
)

// argument is the name of Arg in URLs.
const argument = "arg"

// FromURL reads a query from a URL that has the view as its path and settings in its query string, with only the keys that the view has.
//
//	/top?limit=20&focus=json&ignore=runtime
//
// Filters apply in the order in which they stand there.
func (g Grammar) FromURL(u *url.URL) (Query, error) {
	q := Query{View: strings.TrimPrefix(u.Path, "/")}
	set, err := g.setter(q.View)
	if err != nil {
		return Query{}, err
	}
	var args []string
	// url.Values loses the order of different keys.
	for pair := range strings.SplitSeq(u.RawQuery, "&") {
		name, value, _ := strings.Cut(pair, "=")
		name, err := url.QueryUnescape(name)
		value, verr := url.QueryUnescape(value)
		switch {
		case pair == "":
		case errors.Join(err, verr) != nil:
			return Query{}, fmt.Errorf("reading %s of a URL: %w", shown(pair), errors.Join(err, verr))
		case name != argument:
			if err := set(&q, name, value); err != nil {
				return Query{}, err
			}
		case value != "":
			args = append(args, value)
		}
	}
	q.Arg = Pattern(strings.Join(args, "|"))
	return q, nil
}

// URL returns q as the path and query string of a URL, which FromURL parses as the same query.
func (q Query) URL() string {
	var pairs []string
	add := func(name, value string) { pairs = append(pairs, name+"="+escape(value)) }
	if q.Arg != "" {
		add(argument, q.Arg)
	}
	q.settings(func(k *Key, value string) { add(k.Name, value) })
	out := "/" + url.PathEscape(q.View)
	if len(pairs) > 0 {
		out += "?" + strings.Join(pairs, "&")
	}
	return out
}

// harmless removes unnecessary escapes from a value in a query string.
var harmless = strings.NewReplacer(
	"%2F", "/", "%3A", ":", "%2C", ",", "%3D", "=", "%40", "@", "%28", "(", "%29", ")", "%2A", "*", "%24", "$",
)

func escape(value string) string { return harmless.Replace(url.QueryEscape(value)) }
