package web

import (
	"crypto/subtle"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/hone-perf/hone/internal/fleet/token"
)

// policy allows a page to load only from this server, and to run no inline scripts.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; connect-src 'self'; " +
	"font-src 'self'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'"

// guard allows only requests that name this server by its own host name, come from its own pages, and have the token.
//
// Other pages in the same browser can send requests to servers on this machine, even from the same origin by DNS rebinding, and must not read
// profiles and sources.
func (s *Server) guard(next http.Handler) http.Handler {
	return policed(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !token.Named(r.Host, s.opt.Hosts) {
			refuse(w, "this server does not have the name "+r.Host)
			return
		}
		if origin := r.Header.Get("Origin"); origin != "" && origin != "http://"+r.Host {
			refuse(w, "this server answers only its own pages")
			return
		}
		switch r.Header.Get("Sec-Fetch-Site") {
		case "", "same-origin", "none":
		default:
			// Links from other pages may open pages, but nothing else.
			if r.Header.Get("Sec-Fetch-Mode") != "navigate" || isData(r.URL) {
				refuse(w, "this server answers only its own pages")
				return
			}
		}
		if given := r.URL.Query().Get("token"); given != "" {
			if !s.isToken(given) {
				refuse(w, "the token in the address is not that of this server")
				return
			}
			http.SetCookie(w, &http.Cookie{
				Name: s.cookie(r), Value: s.token, Path: "/", HttpOnly: true, SameSite: http.SameSiteStrictMode,
			})
			r.URL.RawQuery = withoutToken(r.URL.RawQuery)
			if !isData(r.URL) {
				// Keep the token out of the history and of shared links.
				http.Redirect(w, r, r.URL.RequestURI(), http.StatusSeeOther)
				return
			}
			next.ServeHTTP(w, r)
			return
		}
		if c, err := r.Cookie(s.cookie(r)); err != nil || !s.isToken(c.Value) {
			refuse(w, "open the address that hone printed, which ends in a token")
			return
		}
		next.ServeHTTP(w, r)
	}))
}

// policed tells browsers not to share answers and not to run scripts in them.
func policed(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Content-Security-Policy", policy)
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Referrer-Policy", "no-referrer")
		h.Set("Cross-Origin-Resource-Policy", "same-origin")
		h.Set("Cross-Origin-Opener-Policy", "same-origin")
		h.Set("Cache-Control", "no-store")
		next.ServeHTTP(w, r)
	})
}

// cookie returns the cookie's name. It has the port, because all ports of a host share cookies.
func (s *Server) cookie(r *http.Request) string {
	return "hone-" + r.Host[strings.LastIndex(r.Host, ":")+1:]
}

func (s *Server) isToken(given string) bool {
	return subtle.ConstantTimeCompare([]byte(given), []byte(s.token)) == 1
}

// isData reports whether u is a URL of data, rather than of a page.
func isData(u *url.URL) bool {
	return strings.HasPrefix(u.Path, "/api/") || strings.HasPrefix(u.Path, "/download/")
}

// withoutToken removes the token from a query string, and keeps the order of the rest.
func withoutToken(query string) string {
	pairs := strings.Split(query, "&")
	return strings.Join(slices.DeleteFunc(pairs, func(p string) bool { return strings.HasPrefix(p, "token=") }), "&")
}

func refuse(w http.ResponseWriter, why string) {
	http.Error(w, "hone: "+why, http.StatusForbidden)
}
