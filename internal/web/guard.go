package web

import (
	"crypto/subtle"
	"net/http"
	"net/url"
	"slices"
	"strings"
)

// policy lets a page load only what the server itself holds, and run nothing that stands in a page.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; connect-src 'self'; " +
	"font-src 'self'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'"

// guard lets through only those who name this server by its own name, come from its own pages, and know the token.
//
// Any page in the same browser can send requests to servers on this machine, and a name that its owner makes point
// here passes for the same origin; profiles and sources are nobody else's business.
func (s *Server) guard(next http.Handler) http.Handler {
	return policed(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !slices.Contains(s.opt.Hosts, r.Host) {
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
			// A link on another page may lead here, but nothing else may.
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
				// The token should not stay in the history or be part of links.
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

// policed has browsers keep answers to themselves, and run nothing that stands in one.
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

// cookie returns the name of the cookie. Cookies of a host are shared by all its ports.
func (s *Server) cookie(r *http.Request) string {
	return "hone-" + r.Host[strings.LastIndex(r.Host, ":")+1:]
}

func (s *Server) isToken(given string) bool {
	return subtle.ConstantTimeCompare([]byte(given), []byte(s.token)) == 1
}

// isData reports whether u leads to data rather than to a page.
func isData(u *url.URL) bool {
	return strings.HasPrefix(u.Path, "/api/") || strings.HasPrefix(u.Path, "/download/")
}

// withoutToken takes the token out of a query string and leaves the order of the rest.
func withoutToken(query string) string {
	pairs := strings.Split(query, "&")
	return strings.Join(slices.DeleteFunc(pairs, func(p string) bool { return strings.HasPrefix(p, "token=") }), "&")
}

func refuse(w http.ResponseWriter, why string) {
	http.Error(w, "hone: "+why, http.StatusForbidden)
}
