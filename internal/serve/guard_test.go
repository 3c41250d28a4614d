package serve

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/unravel-ml/unravel/internal/long"
	"github.com/unravel-ml/unravel/internal/must"
	"github.com/unravel-ml/unravel/train/rundir"
	"github.com/unravel-ml/unravel/train/sweep"
)

const secret = "the secret of another folder"

// around makes a folder of runs next to a secret file, with links from the folder to the secret.
func around(t *testing.T) string {
	t.Helper()
	top := folder(t, "runs/one", "runs/linked")
	write(t, secret, top, "secret.txt")
	write(t, "name: "+secret+"\n", top, "secret", rundir.Config)
	write(t, secret, top, "secret", "figures", "x.png")
	runs := filepath.Join(top, "runs")
	for from, to := range map[string]string{
		"linked/log.jsonl": "../../secret.txt", "linked/report.html": "../../secret.txt", "linked/figures/secret.png": "../../../secret.txt",
		"linked/checkpoint.safetensors": "../../secret.txt", "outside": "../secret", "one/figures/out": "../../../secret",
	} {
		path := filepath.Join(runs, filepath.FromSlash(from))
		_ = os.Remove(path) // the file may not exist
		if err := os.Symlink(filepath.FromSlash(to), path); err != nil {
			t.Skip("no links here:", err)
		}
	}
	write(t, "", runs, "config", "x") // not a run
	must.OK(t, os.Symlink("../../secret/config.yaml", filepath.Join(runs, "config", rundir.Config)))
	return runs
}

// No address reads a file outside the folder of runs, in any notation.
func TestNoEscape(t *testing.T) {
	_, h := started(t, around(t), Options{})
	ways := []string{
		"../secret", "..%2fsecret", "%2e%2e/secret", "..%252fsecret", "..\\secret", "..%5csecret", "one/../../secret", "one/../one", "/etc", "//etc", "./one", "one/", "one/.",
		"one%00", "outside", "config/../one", "one/figures/out", "%c0%ae%c0%ae/secret", "..;/secret", "C:\\", "\\\\host\\share", "file:///etc", "~",
	}
	var addresses []string
	for _, way := range ways {
		for _, at := range []string{"/api/run?dir=", "/api/curves?dir=", "/api/events?dir=", "/api/preview?dir=",
			"/report?dir=", "/figure?name=x.png&dir=", "/figure?name=../../../secret.txt&dir=one/..&dir="} {
			addresses = append(addresses, at+way)
		}
		addresses = append(addresses, "/figure?dir=one&name="+way, "/figure?dir=one&name=../"+way,
			"/figure?dir=linked&name=secret.png", "/report?dir=linked",
			"/assets/"+way, "/assets/../../"+way, "/assets/serve/../"+way, "/"+way)
	}
	addresses = append(addresses, "/api/curves?dir=linked", "/api/preview?dir=linked", "/assets/", "/assets/serve/",
		"/assets", "/pages/list.tmpl", "/api/", "/.git/config",
		"/runs.index", "/one/config.yaml", "/figure?dir=one", "/figure?dir=one&name=", "/debug/pprof/", "/figure?dir=one&name=out/x.png")
	for _, address := range addresses {
		code, text := raw(t, h.Listener.Addr().String(), "GET "+address+" HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n")
		if strings.Contains(text, secret) {
			t.Errorf("%s: the secret", address)
		}
		refused := strings.Contains(text,
			`{"problem":"linked/checkpoint.safetensors is a link that leads out of the folder of runs","pictures":[]}`)
		if code/100 == 2 && !strings.Contains(address, "/api/curves?dir=linked") && !refused {
			t.Errorf("%s: %d %.300s", address, code, text)
		}
	}
	for _, name := range []string{"linked", "config"} {
		if _, text := ask(t, "GET", h.URL+"/api/run?dir="+name); strings.Contains(text, secret) {
			t.Errorf("%s: %s", name, text)
		}
	}
	if l := value[listing](t, h.URL+"/api/runs"); l.Total != 3 || l.States[sweep.Damaged] != 1 {
		t.Errorf("%+v", l)
	}
}

// raw sends a request as bytes and returns the answer's status code and text.
func raw(t *testing.T, at, request string) (code int, text string) {
	t.Helper()
	c := must.Get(net.Dial("tcp", at))(t)
	defer c.Close()
	if _, err := c.Write([]byte(request)); err != nil {
		return 0, err.Error()
	}
	a, err := http.ReadResponse(bufio.NewReader(c), nil)
	if err != nil {
		return 0, err.Error()
	}
	defer a.Body.Close()
	var b strings.Builder
	_, _ = bufio.NewReader(a.Body).WriteTo(&b) // the answer so far
	return a.StatusCode, b.String()
}

// The server only answers requests with its own names, methods that read, and its own pages.
func TestRefused(t *testing.T) {
	long.NotShort(t)
	_, h := started(t, folder(t, "one"), Options{Hosts: []string{"lab.example"}})
	port := h.Listener.Addr().(*net.TCPAddr).Port
	for host, want := range map[string]int{
		"localhost": 200, "LOCALHOST:1": 200, "localhost.": 200, "127.0.0.1:9": 200, "127.1.2.3": 200, "[::1]:80": 200, "lab.example": 200, "lab.example:99": 200,
		"evil.example": 421, fmt.Sprintf("evil.example:%d", port): 421, "127.0.0.1.evil.example": 421, "localhost.evil.example": 421, "192.168.0.1": 421, "0.0.0.0": 421,
		"2130706433": 421, "[::ffff:10.0.0.1]": 421, "evil.lab.example": 421,
	} {
		if a, _ := ask(t, "GET", h.URL+"/api/runs", "Host", host); a.StatusCode != want {
			t.Errorf("host %s: %d, want %d", host, a.StatusCode, want)
		}
	}
	for _, method := range []string{"POST", "PUT", "DELETE", "PATCH", "OPTIONS", "TRACE", "PROPFIND", "CONNECT"} {
		for _, path := range []string{"/", "/api/runs", "/report?dir=one"} {
			if a, _ := ask(t, method, h.URL+path); a.StatusCode != http.StatusMethodNotAllowed || a.Header.Get("Allow") != "GET, HEAD" {
				t.Errorf("%s %s: %d", method, path, a.StatusCode)
			}
		}
	}
	if a, _ := ask(t, "GET", h.URL+
		"/api/runs", "Sec-Fetch-Site", "cross-site", "Sec-Fetch-Mode", "no-cors"); a.StatusCode != http.StatusForbidden {
		t.Errorf("another site: %d", a.StatusCode)
	}
	if a, _ := ask(t, "GET", h.URL, "Sec-Fetch-Site", "cross-site", "Sec-Fetch-Mode", "navigate"); a.StatusCode != http.StatusOK {
		t.Errorf("a link from another site: %d", a.StatusCode)
	}
	code, _ := raw(t, h.Listener.Addr().String(), "GET / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000000\r\n\r\n")
	must.Equal(t, code, http.StatusRequestEntityTooLarge, "a body")
}

// Every answer has strict security headers; reports are sandboxed.
func TestPolicies(t *testing.T) {
	_, h := started(t, folder(t, "one"), Options{})
	for _, address := range []string{"/", "/run?dir=one", "/api/runs", "/api/none", "/assets/base.js", "/figure?dir=one&name=losses.png"} {
		a, _ := ask(t, "GET", h.URL+address)
		for name, want := range map[string]string{
			"Content-Security-Policy": "default-src 'none'; script-src 'self'", "X-Content-Type-Options": "nosniff", "Referrer-Policy": "no-referrer",
			"Cross-Origin-Resource-Policy": "same-origin", "Cache-Control": "private",
		} {
			if got := a.Header.Get(name); !strings.HasPrefix(got, want) {
				t.Errorf("%s: %s is %q, want %q", address, name, got, want)
			}
		}
		if policy := a.Header.Get("Content-Security-Policy"); strings.Contains(policy, "unsafe") ||
			!strings.Contains(policy, "frame-ancestors 'none'") {
			t.Errorf("%s: %q", address, policy)
		}
		must.Equal(t, a.Header.Get("Access-Control-Allow-Origin"), "", address, "answers are for everybody")
	}
	a, _ := ask(t, "GET", h.URL+"/report?dir=one")
	if p := a.Header.Get("Content-Security-Policy"); !strings.HasPrefix(p, "sandbox allow-scripts") ||
		strings.Contains(p, "allow-same-origin") || strings.Contains(p, "connect-src") {
		t.Errorf("report: %q", p)
	}
}

func TestToken(t *testing.T) {
	const token = "right-horse"
	s, h := started(t, folder(t, "one"), Options{Token: token})
	for name, header := range map[string][]string{
		"none": nil, "other": {"Authorization", "Bearer wrong"}, "empty": {"Authorization", "Bearer "}, "half": {"Authorization", "Bearer right"},
		"cookie": {"Cookie", s.cookie() + "=wrong"}, "plain": {"Cookie", "token=" + token},
	} {
		for _, path := range []string{"/", "/api/runs", "/assets/base.js", "/report?dir=one", "/api/events?dir=one"} {
			if a, text := ask(t, "GET", h.URL+path, header...); a.StatusCode != http.StatusForbidden || strings.Contains(text, token) {
				t.Errorf("%s, %s: %d", name, path, a.StatusCode)
			}
		}
	}
	if a, _ := ask(t, "GET", h.URL+"/?token=wrong"); a.StatusCode != http.StatusForbidden || a.Header.Get("Set-Cookie") != "" {
		t.Errorf("a wrong token: %d %v", a.StatusCode, a.Header)
	}
	if a, _ := ask(t, "GET", h.URL+"/api/runs", "Authorization", "Bearer "+token); a.StatusCode != http.StatusOK {
		t.Errorf("header: %d", a.StatusCode)
	}
	a, _ := ask(t, "GET", h.URL+"/run?token="+token+"&dir=one")
	cookies := a.Cookies()
	if a.StatusCode != http.StatusSeeOther || a.Header.Get("Location") != "/run?dir=one" || len(cookies) != 1 ||
		!cookies[0].HttpOnly || cookies[0].SameSite != http.SameSiteStrictMode {
		t.Fatalf("%d %v", a.StatusCode, a.Header)
	}
	if a, _ := ask(t, "GET", h.URL+"/api/runs", "Cookie", cookies[0].Name+"="+cookies[0].Value); a.StatusCode != http.StatusOK {
		t.Errorf("cookie: %d", a.StatusCode)
	}
	if code, text := raw(t, h.Listener.Addr().String(), "GET //evil.example/?token="+token+
		" HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n"); code != http.StatusSeeOther || strings.Contains(text, "//evil") {
		t.Errorf("%d %s", code, text)
	}
	if a, _ := ask(t, "GET", h.URL+"/api/runs", "Host", "10.1.2.3:80", "Authorization", "Bearer "+token); a.StatusCode != http.StatusOK {
		t.Errorf("an address of the machine: %d", a.StatusCode)
	}
	if a, _ := ask(t, "GET", h.URL+"/api/runs", "Host", "evil.example", "Authorization",
		"Bearer "+token); a.StatusCode != http.StatusMisdirectedRequest {
		t.Errorf("another name: %d", a.StatusCode)
	}
}

// The server limits headers and connections, and shuts down cleanly with visitors that do not read.
func TestBounds(t *testing.T) {
	long.NotShort(t)
	s := must.Get(New(t.Context(), folder(t, "one"), Options{}))(t)
	l := must.Get(net.Listen("tcp", "127.0.0.1:0"))(t)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() { ended <- s.Serve(ctx, l) }()
	at := l.Addr().String()
	if code, _ := raw(t, at, "GET / HTTP/1.1\r\nHost: localhost\r\nX: "+
		strings.Repeat("x", 2*maxHeader)+"\r\n\r\n"); code != http.StatusRequestHeaderFieldsTooLarge {
		t.Errorf("a huge header: %d", code)
	}
	if code, _ := raw(t, at, "GET / HTTP/1.1\r\n\r\n"); code != http.StatusBadRequest {
		t.Errorf("no host: %d", code)
	}
	var idle []net.Conn
	for i := range 60 {
		c := must.Get(net.Dial("tcp", at))(t)
		idle = append(idle, c)
		if i%2 == 0 {
			fmt.Fprintf(c, "GET /api/events?dir=one HTTP/1.1\r\nHost: localhost\r\n\r\n") // and does not read
		} else {
			fmt.Fprintf(c, "GET / HTTP/1.1\r\nHost: loc")
		}
	}
	if a, _ := ask(t, "GET", "http://"+at+"/api/runs"); a.StatusCode != http.StatusOK {
		t.Errorf("beside slow visitors: %d", a.StatusCode)
	}
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	for _, c := range idle {
		_ = c.Close()
	}
}

// Visitors without the token do not block connections of other visitors.
func TestStrangersMakeRoom(t *testing.T) {
	long.NotShort(t)
	const tries = 5 // a busy machine may be slow once
	for i := range tries {
		took := besideStrangers(t)
		if took < readPatience/2 {
			return
		}
		t.Logf("try %d: %v", i, took)
	}
	t.Error("an answer always waits until strangers' time is over")
}

// besideStrangers returns how long a visitor with the token waits for an answer. There are more visitors without the
// token than connections.
func besideStrangers(t *testing.T) time.Duration {
	t.Helper()
	const token = "right-horse"
	s := must.Get(New(t.Context(), folder(t, "one"), Options{Token: token}))(t)
	inner := must.Get(net.Listen("tcp", "127.0.0.1:0"))(t)
	at := inner.Addr().String()
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() { ended <- s.Serve(ctx, inner) }()
	for i := range maxConnections + 8 {
		c := must.Get(net.Dial("tcp", at))(t)
		defer c.Close()
		if i%2 == 0 {
			fmt.Fprintf(c, "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n") // refused
		}
	}
	begin := time.Now()
	if a, _ := ask(t, "GET", "http://"+at+"/api/runs", "Authorization", "Bearer "+token); a.StatusCode != http.StatusOK {
		t.Errorf("code %d", a.StatusCode)
	}
	took := time.Since(begin)
	c := must.Get(net.Dial("tcp", at))(t)
	defer c.Close()
	fmt.Fprintf(c, "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n")
	_ = c.SetReadDeadline(time.Now().Add(idlePatience / 2)) // the server closes a kept connection after idlePatience
	if text, err := io.ReadAll(c); err != nil || !strings.HasPrefix(string(text), "HTTP/1.1 403 ") {
		t.Errorf("a refused connection stays: %q, %v", text, err)
	}
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	return took
}
