package serve

import (
	"context"
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
	"sync"
)

// pagePolicy lets pages load scripts, styles and data only from this server, and show pictures that they draw.
const pagePolicy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; connect-src 'self'; frame-src 'self'; " +
	"base-uri 'none'; form-action 'self'; frame-ancestors 'none'"

// guard rejects methods that write, host names of other machines, other sites, and visitors without the token.
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
		case !s.knownHost(r.Host):
			refuse(w, http.StatusMisdirectedRequest,
				"this server does not answer to that name; want its address, or a name given to it by --host")
		case r.Header.Get("Sec-Fetch-Site") == "cross-site" && r.Header.Get("Sec-Fetch-Mode") != "navigate":
			refuse(w, http.StatusForbidden, "another site asks; want pages of this server only")
		case s.options.Token == "":
			markPermitted(r.Context())
			next.ServeHTTP(w, r)
		case r.URL.Query().Has("token"):
			s.logIn(w, r)
		case !s.hasCookie(r):
			refuse(w, http.StatusForbidden,
				"no token, or another one; want the whole address that unravel serve prints, or the header Authorization: Bearer TOKEN")
		default:
			markPermitted(r.Context())
			next.ServeHTTP(w, r)
		}
	})
}

// refuse answers with an error and closes the connection: visitors without the token must not keep connections open.
func refuse(w http.ResponseWriter, code int, text string) {
	w.Header().Set("Connection", "close")
	http.Error(w, text, code) // Error keeps the other headers
}

// knownHost reports whether the host of a request is a name of this server. It prevents DNS rebinding: with a foreign
// domain that resolves to this server, a browser would let pages of that domain read the answers.
func (s *Server) knownHost(host string) bool {
	name := host
	if h, _, err := net.SplitHostPort(host); err == nil {
		name = h
	}
	name = strings.ToLower(strings.TrimSuffix(strings.Trim(name, "[]"), "."))
	if name == "localhost" || slices.Contains(s.options.Hosts, name) {
		return true
	}
	address, err := netip.ParseAddr(name)
	// With a token, any IP address is safe: rebinding needs a domain name.
	return err == nil && (address.IsLoopback() || s.options.Token != "")
}

// digest hides a token: the time to compare two digests does not reveal the token.
func digest(token string) [sha256.Size]byte { return sha256.Sum256([]byte("unravel serve " + token)) }

func (s *Server) sameToken(token string) bool {
	expected, given := digest(s.options.Token), digest(token)
	return subtle.ConstantTimeCompare(expected[:], given[:]) == 1
}

// cookie is the name of the token's cookie, a digest of the token, because the ports of a machine share cookies.
func (s *Server) cookie() string {
	d := digest("cookie " + s.options.Token)
	return "unravel-" + hex.EncodeToString(d[:6])
}

func (s *Server) hasCookie(r *http.Request) bool {
	if token, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer "); ok {
		return s.sameToken(token)
	}
	c, err := r.Cookie(s.cookie())
	return err == nil && s.sameToken(c.Value)
}

// logIn moves the token from the address into a cookie. The token then does not appear in histories and links.
func (s *Server) logIn(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	if !s.sameToken(q.Get("token")) {
		refuse(w, http.StatusForbidden, "this is not the token; want the whole address that unravel serve prints")
		return
	}
	q.Del("token")
	http.SetCookie(w, &http.Cookie{Name: s.cookie(), Value: s.options.Token, Path: "/", HttpOnly: true,
		SameSite: http.SameSiteStrictMode})
	target := url.URL{Path: path.Clean("/" + r.URL.Path), RawQuery: q.Encode()}
	w.Header().Set("Location", target.String())
	w.WriteHeader(http.StatusSeeOther)
}

// limitedListener is a listener with a limited number of open connections. At the limit, a new connection replaces the
// oldest connection without a permitted request. Visitors without the token therefore cannot block others. If every
// connection has a permitted request, new connections wait.
type limitedListener struct {
	net.Listener
	free   chan struct{}
	closed chan struct{}
	once   sync.Once

	lock      sync.Mutex
	strangers []*trackedConn // oldest first
}

func limitConnections(l net.Listener, n int) net.Listener {
	return &limitedListener{Listener: l, free: make(chan struct{}, n), closed: make(chan struct{})}
}

func (l *limitedListener) Accept() (net.Conn, error) {
	select {
	case l.free <- struct{}{}:
	default:
		l.evict()
		select {
		case l.free <- struct{}{}:
		case <-l.closed:
			return nil, net.ErrClosed
		}
	}
	c, err := l.Listener.Accept()
	if err != nil {
		<-l.free
		return nil, err
	}
	tracked := &trackedConn{Conn: c, listener: l}
	l.lock.Lock()
	l.strangers = append(l.strangers, tracked)
	l.lock.Unlock()
	return tracked, nil
}

// evict closes the oldest connection without a permitted request.
func (l *limitedListener) evict() {
	l.lock.Lock()
	oldest := l.strangers[:min(len(l.strangers), 1)]
	l.lock.Unlock()
	for _, c := range oldest {
		_ = c.Close() // the visitor notices the closed connection
	}
}

func (l *limitedListener) forgetStranger(c *trackedConn) {
	l.lock.Lock()
	defer l.lock.Unlock()
	if i := slices.Index(l.strangers, c); i >= 0 {
		l.strangers = slices.Delete(l.strangers, i, i+1)
	}
}

type connectionKey struct{} // key of a request's connection in its context

func markPermitted(ctx context.Context) {
	if c, ok := ctx.Value(connectionKey{}).(*trackedConn); ok {
		c.listener.forgetStranger(c)
	}
}

func (l *limitedListener) Close() error {
	l.once.Do(func() { close(l.closed) })
	return l.Listener.Close()
}

type trackedConn struct {
	net.Conn
	listener *limitedListener
	once     sync.Once
}

func (c *trackedConn) Close() error {
	err := c.Conn.Close()
	c.once.Do(func() {
		c.listener.forgetStranger(c)
		<-c.listener.free
	})
	return err
}
