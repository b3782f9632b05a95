package token

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/hone-perf/hone/internal/profile"
)

// TenantHeader names the tenant that an admin asks for. Pyroscope and Grafana call it so.
const TenantHeader = "X-Scope-OrgID"

// A Gate decides about requests.
type Gate struct {
	Tokens *File

	// Hosts are the names, without ports, by which clients may call the server. Where there are none, they are those of this
	// machine for a server without tokens, and any for one with tokens.
	Hosts []string

	Now func() time.Time // nil is time.Now
}

// Who is who sent a request.
type Who struct {
	Tenant string
	Token  string // its name; "" where the server has none
	Admin  bool
}

// Refused is why a request may not be answered.
type Refused struct {
	Status  int // of HTTP
	Message string
}

func (r *Refused) Error() string { return r.Message }

func refuse(status int, format string, args ...any) error {
	return &Refused{status, fmt.Sprintf(format, args...)}
}

// ReasonOf returns why a request is refused, as an error of Allow says it. Other errors are about the server itself.
func ReasonOf(err error) *Refused {
	var r *Refused
	if errors.As(err, &r) {
		return r
	}
	return &Refused{http.StatusServiceUnavailable, err.Error()}
}

// Allow returns who sent a request that needs a scope, or a Refused.
func (g *Gate) Allow(r *http.Request, need Scope) (Who, error) {
	guarded := g.Tokens.Guarded()
	if err := g.checkPlace(r, guarded); err != nil {
		return Who{}, err
	}
	if !guarded {
		return Who{Tenant: DefaultTenant}, nil
	}
	secret := secretOf(r)
	if secret == "" {
		return Who{}, refuse(http.StatusUnauthorized, "a token is needed: send it as Authorization: Bearer TOKEN, or as the password of basic authentication")
	}
	t, err := g.Tokens.find(secret)
	if err != nil {
		return Who{}, err
	}
	now := time.Now
	if g.Now != nil {
		now = g.Now
	}
	switch {
	case t == nil:
		return Who{}, refuse(http.StatusUnauthorized, "this server does not know the token, or it was revoked")
	case t.Expired(now()):
		return Who{}, refuse(http.StatusUnauthorized, "the token %s expired at %s", t.Name, t.Expires.Format(time.RFC3339))
	case !t.Allows(need):
		return Who{}, refuse(http.StatusForbidden, "the token %s does not have the scope %s", t.Name, need)
	}
	who := Who{Tenant: t.Tenant, Token: t.Name, Admin: t.Allows(Admin)}
	if other := r.Header.Get(TenantHeader); other != "" && who.Admin {
		if err := CheckName("tenant", other); err != nil {
			return Who{}, refuse(http.StatusBadRequest, "%s: %v", TenantHeader, err)
		}
		who.Tenant = other
	}
	return who, nil
}

// longestSecret is more than any token has.
const longestSecret = 1024

// secretOf returns the token that a request carries. The Go SDK of Pyroscope and Grafana send it as a password.
func secretOf(r *http.Request) string {
	h := r.Header.Get("Authorization")
	if len(h) > 2*longestSecret {
		return ""
	}
	if scheme, rest, ok := strings.Cut(h, " "); ok && strings.EqualFold(scheme, "Bearer") {
		return strings.TrimSpace(rest)
	}
	_, password, _ := r.BasicAuth()
	return password
}

// checkPlace refuses what pages of others make browsers send, which know passwords and reach servers on their own machine, and
// requests to a name that somebody else made point here.
func (g *Gate) checkPlace(r *http.Request, guarded bool) error {
	host := hostOf(r.Host)
	named := slices.ContainsFunc(g.Hosts, func(h string) bool { return strings.EqualFold(h, host) })
	if !named && (len(g.Hosts) > 0 || !guarded) && !isLocal(host) {
		return refuse(http.StatusForbidden, "this server does not have the name %s", profile.Shorten(host, 100))
	}
	if origin := r.Header.Get("Origin"); origin != "" {
		u, err := url.Parse(origin)
		if err != nil || u.Host == "" || !strings.EqualFold(u.Host, r.Host) {
			return refuse(http.StatusForbidden, "this server answers only its own pages")
		}
	}
	switch r.Header.Get("Sec-Fetch-Site") {
	case "", "same-origin", "none":
		return nil
	}
	if isLink(r) {
		return nil
	}
	return refuse(http.StatusForbidden, "this server answers only its own pages")
}

// isLink reports whether somebody followed a link to a page, such as one in a ticket. The page that has the link does not see what it leads to.
func isLink(r *http.Request) bool {
	return r.Method == http.MethodGet && r.Header.Get("Sec-Fetch-Mode") == "navigate" && r.Header.Get("Sec-Fetch-Dest") == "document" &&
		!strings.HasPrefix(r.URL.Path, "/api/") && !strings.HasPrefix(r.URL.Path, "/download/")
}

// hostOf returns a host without its port.
func hostOf(host string) string {
	if h, _, err := net.SplitHostPort(host); err == nil {
		return h
	}
	return strings.TrimSuffix(strings.TrimPrefix(host, "["), "]")
}

// isLocal reports whether a host is this machine for sure.
func isLocal(host string) bool {
	if strings.EqualFold(host, "localhost") {
		return true
	}
	ip, err := netip.ParseAddr(host)
	return err == nil && ip.Unmap().IsLoopback()
}

// IsLoopback reports whether only this machine can reach an address to listen on, such as localhost:8080.
func IsLoopback(addr string) bool { return isLocal(hostOf(addr)) }
