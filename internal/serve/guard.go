package serve

import (
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"path"
	"slices"
	"strings"
)

// pagePolicy lets pages have scripts, styles and data of this server only, and pictures that they draw themselves.
const pagePolicy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; connect-src 'self'; frame-src 'self'; " +
	"base-uri 'none'; form-action 'self'; frame-ancestors 'none'"

// guard refuses what this server never answers: other methods than GET and HEAD, names of other machines, other pages' requests,
// and visitors without the token.
func (s *Server) guard(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Content-Security-Policy", pagePolicy)
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Referrer-Policy", "no-referrer")
		h.Set("Cross-Origin-Resource-Policy", "same-origin")
		h.Set("Cross-Origin-Opener-Policy", "same-origin")
		h.Set("Cache-Control", "private, no-cache")
		h.Set("Vary", "Accept-Encoding, Cookie")
		switch {
		case r.Method != http.MethodGet && r.Method != http.MethodHead:
			h.Set("Allow", "GET, HEAD")
			refuse(w, http.StatusMethodNotAllowed, "this server only shows runs; want GET or HEAD")
		case r.ContentLength != 0:
			refuse(w, http.StatusRequestEntityTooLarge, "this server only shows runs; want requests without content")
		case !s.knows(r.Host):
			refuse(w, http.StatusMisdirectedRequest, "this server does not answer to that name; want its address, or a name given to it by --host")
		case r.Header.Get("Sec-Fetch-Site") == "cross-site" && r.Header.Get("Sec-Fetch-Mode") != "navigate":
			refuse(w, http.StatusForbidden, "another site asks; want pages of this server only")
		case s.options.Token == "":
			admit(r.Context())
			next.ServeHTTP(w, r)
		case r.URL.Query().Has("token"):
			s.enter(w, r)
		case !s.admitted(r):
			refuse(w, http.StatusForbidden, "no token, or another one; want the whole address that unravel serve prints, or the header Authorization: Bearer TOKEN")
		default:
			admit(r.Context())
			next.ServeHTTP(w, r)
		}
	})
}

// refuse answers with an error in plain text, and ends the connection, so that visitors without the token hold none.
func refuse(w http.ResponseWriter, code int, text string) {
	w.Header().Set("Connection", "close")
	http.Error(w, text, code) // which keeps other headers
}

// knows reports whether the host of a request names this server. A name of another domain that leads here is an attack by DNS
// rebinding: the browser would let that domain's page read the answers.
func (s *Server) knows(host string) bool {
	name := host
	if h, _, err := net.SplitHostPort(host); err == nil {
		name = h
	}
	name = strings.ToLower(strings.TrimSuffix(strings.Trim(name, "[]"), "."))
	if name == "localhost" || slices.Contains(s.options.Hosts, name) {
		return true
	}
	at, err := netip.ParseAddr(name)
	// With a token any address will do: a number cannot be rebound.
	return err == nil && (at.IsLoopback() || s.options.Token != "")
}

// digest hides a token: comparing digests takes a time that says nothing about it.
func digest(token string) [sha256.Size]byte { return sha256.Sum256([]byte("unravel serve " + token)) }

func (s *Server) same(token string) bool {
	want, got := digest(s.options.Token), digest(token)
	return subtle.ConstantTimeCompare(want[:], got[:]) == 1
}

// cookie is the name of the cookie with the token: servers on other ports of the machine have other ones.
func (s *Server) cookie() string {
	d := digest("cookie " + s.options.Token)
	return "unravel-" + hex.EncodeToString(d[:6])
}

// admitted reports whether a request has the token, in a cookie or a header.
func (s *Server) admitted(r *http.Request) bool {
	if token, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer "); ok {
		return s.same(token)
	}
	c, err := r.Cookie(s.cookie())
	return err == nil && s.same(c.Value)
}

// enter takes the token out of an address and keeps it in a cookie, so that it is in no history and no link.
func (s *Server) enter(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	if !s.same(q.Get("token")) {
		refuse(w, http.StatusForbidden, "this is not the token; want the whole address that unravel serve prints")
		return
	}
	q.Del("token")
	http.SetCookie(w, &http.Cookie{Name: s.cookie(), Value: s.options.Token, Path: "/", HttpOnly: true, SameSite: http.SameSiteStrictMode})
	to := url.URL{Path: path.Clean("/" + r.URL.Path), RawQuery: q.Encode()}
	w.Header().Set("Location", to.String())
	w.WriteHeader(http.StatusSeeOther)
}
