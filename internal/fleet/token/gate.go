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

// TenantHeader selects the tenant of a request with an admin token. Pyroscope and Grafana use the same header.
const TenantHeader = "X-Scope-OrgID"

// A Gate checks requests.
type Gate struct {
	Tokens *File

	// Hosts are the accepted host names, without ports. The default is the names of this machine for a server without tokens, and any name for a
	// server with tokens.
	Hosts []string

	Now func() time.Time // nil means time.Now
}

// Who is the sender of a request.
type Who struct {
	Tenant string
	Token  string // name of the token; "" if the server has no tokens
	Admin  bool
}

// Refused is the reason to refuse a request.
type Refused struct {
	Status  int // HTTP status
	Message string
}

func (r *Refused) Error() string { return r.Message }

func refuse(status int, format string, args ...any) error {
	return &Refused{status, fmt.Sprintf(format, args...)}
}

// ReasonOf returns the reason in an error of Allow. Other errors are errors of the server.
func ReasonOf(err error) *Refused {
	var r *Refused
	if errors.As(err, &r) {
		return r
	}
	return &Refused{http.StatusServiceUnavailable, err.Error()}
}

// Allow returns the sender of a request that needs a scope, or a Refused.
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

// longestSecret is longer than any token.
const longestSecret = 1024

// secretOf returns the secret in a request. The Go SDK of Pyroscope, and Grafana, send it as a password.
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

// checkPlace refuses requests that pages of other sites make browsers send, with the browser's passwords and access to this machine, and requests
// with a foreign host name (DNS rebinding).
func (g *Gate) checkPlace(r *http.Request, guarded bool) error {
	host := hostOf(r.Host)
	if (len(g.Hosts) > 0 || !guarded) && !Named(host, g.Hosts) {
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

// Named reports whether a Host header names a server: it has one of the server's names, or certainly names this machine. The port does not
// matter, since a published or forwarded port can have another number.
func Named(header string, names []string) bool {
	host := hostOf(header)
	return isLocal(host) || slices.ContainsFunc(names, func(name string) bool { return strings.EqualFold(name, host) })
}

// isLink reports whether the user followed a link to a page, for example in an issue. The page with the link cannot read the answer.
func isLink(r *http.Request) bool {
	return r.Method == http.MethodGet && r.Header.Get("Sec-Fetch-Mode") == "navigate" && r.Header.Get("Sec-Fetch-Dest") == "document" &&
		!strings.HasPrefix(r.URL.Path, "/api/") && !strings.HasPrefix(r.URL.Path, "/download/")
}

// hostOf returns a host without the port.
func hostOf(host string) string {
	if h, _, err := net.SplitHostPort(host); err == nil {
		return h
	}
	return strings.TrimSuffix(strings.TrimPrefix(host, "["), "]")
}

// isLocal reports whether a host is certainly this machine.
func isLocal(host string) bool {
	if strings.EqualFold(host, "localhost") {
		return true
	}
	ip, err := netip.ParseAddr(host)
	return err == nil && ip.Unmap().IsLoopback()
}

// IsLoopback reports whether only this machine can reach a listen address, such as localhost:8080.
func IsLoopback(addr string) bool { return isLocal(hostOf(addr)) }
