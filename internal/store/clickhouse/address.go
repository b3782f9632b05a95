package clickhouse

import (
	"cmp"
	"fmt"
	"net"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/hone-perf/hone/internal/profile"
)

// Scheme is what addresses of this store begin with.
const Scheme = "clickhouse"

// An Address says where a database is, and how tables are made in it.
type Address struct {
	Hosts          []string // host:port of the HTTP interface; any of them answers everything
	TLS            bool
	User, Password string
	Database       string

	Layout
}

const form = "clickhouse://user:password@host:8123/database?secure=true&cluster=NAME&keep=7d&hours=30d&days=400d"

// ParseAddress reads clickhouse://user:password@host:port/database. More hosts are divided by commas. Options are secure, cluster,
// and keep, hours and days: how long samples, and those of hours and days, are kept; 0 is for ever.
func ParseAddress(text string) (*Address, error) {
	fail := func(format string, args ...any) (*Address, error) {
		return nil, fmt.Errorf("the address of ClickHouse: %w; it looks like %s", fmt.Errorf(format, args...), form)
	}
	// Not net/url: it knows one host only, and what it says of an address has the password in it.
	scheme, rest, ok := strings.Cut(text, "://")
	if !ok || scheme != Scheme {
		return fail("it does not begin with %s://", Scheme)
	}
	rest, query, _ := strings.Cut(rest, "?")
	hosts, database, _ := strings.Cut(rest, "/")
	a := &Address{User: "default", Layout: DefaultLayout()}
	if i := strings.LastIndexByte(hosts, '@'); i >= 0 {
		user, password, _ := strings.Cut(hosts[:i], ":")
		hosts = hosts[i+1:]
		var err error
		if user, err = url.PathUnescape(user); err == nil {
			a.Password, err = url.PathUnescape(password)
		}
		if err != nil {
			return fail("a %% in user or password does not stand for a byte")
		}
		a.User = cmp.Or(user, a.User)
	}
	if a.Database = cmp.Or(strings.Trim(database, "/"), "hone"); !name().MatchString(a.Database) {
		return fail("%q is not a name of a database", profile.Shorten(a.Database, 60))
	}
	options, err := url.ParseQuery(query)
	if err != nil {
		return fail("its options can't be read")
	}
	known := map[string]func(string) error{
		"secure": func(v string) error {
			a.TLS = v == "true"
			if v != "true" && v != "false" {
				return fmt.Errorf("%q is neither true nor false", v)
			}
			return nil
		},
		"cluster": func(v string) error {
			if !name().MatchString(v) {
				return fmt.Errorf("%q is not a name of a cluster", v)
			}
			a.Cluster = v
			return nil
		},
		"keep":  age(&a.Keep),
		"hours": age(&a.Hours),
		"days":  age(&a.Days),
	}
	for k, v := range options {
		set, ok := known[k]
		if !ok {
			return fail("unknown option %q; the options are cluster, days, hours, keep, secure", k)
		}
		if err := set(v[len(v)-1]); err != nil {
			return fail("%s: %w", k, err)
		}
	}
	port := "8123"
	if a.TLS {
		port = "8443"
	}
	for host := range strings.SplitSeq(hosts, ",") {
		own, at, err := net.SplitHostPort(host)
		if err != nil {
			own, at = strings.Trim(host, "[]"), port
		}
		if n, err := strconv.ParseUint(at, 10, 16); err != nil || n == 0 {
			return fail("a port is not a number from 1 to 65535")
		}
		if own == "" || strings.ContainsAny(own, "[]/@\\ ") || net.ParseIP(own) == nil && strings.Contains(own, ":") {
			return fail("a host is missing, or is not a name or an address")
		}
		a.Hosts = append(a.Hosts, net.JoinHostPort(own, at))
	}
	return a, nil
}

// name is what names of databases and clusters can be made of, so that they need no quotes anywhere.
var name = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]{0,62}$`) })

// age reads a number of days, such as 30d.
func age(to *time.Duration) func(string) error {
	return func(v string) error {
		var n int
		if v == "0" {
			*to = 0
			return nil
		}
		if _, err := fmt.Sscanf(v, "%dd", &n); err != nil || v != fmt.Sprintf("%dd", n) || n < 1 || n > 36500 {
			return fmt.Errorf("%q is not a number of days, such as 30d", v)
		}
		*to = time.Duration(n) * 24 * time.Hour
		return nil
	}
}

// String returns the address without the password.
func (a *Address) String() string {
	return Scheme + "://" + url.PathEscape(a.User) + "@" + strings.Join(a.Hosts, ",") + "/" + a.Database
}

// bases returns the URLs of all hosts, beginning with the n-th.
func (a *Address) bases(n int) []string {
	scheme := "http://"
	if a.TLS {
		scheme = "https://"
	}
	hosts := slices.Concat(a.Hosts[n%len(a.Hosts):], a.Hosts[:n%len(a.Hosts)])
	for i := range hosts {
		hosts[i] = scheme + hosts[i] + "/"
	}
	return hosts
}
