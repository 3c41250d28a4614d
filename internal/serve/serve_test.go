package serve

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/unravel-ml/unravel/internal/browser"
	"github.com/unravel-ml/unravel/internal/leak"
	"github.com/unravel-ml/unravel/internal/must"
	"github.com/unravel-ml/unravel/train"
)

// tiny is an experiment that takes a moment.
const tiny = `name: tiny
seed: 1
dataset: {square: {size: 16, side: 4}}
supervision: {pairs: {count: 32}}
model:
  lsbd-vae:
    encoder: {mlp: {hidden: [16]}}
    latent: [{sphere: {dim: 1, log_t: [-10, -9]}}, {sphere: {dim: 1, log_t: [-10, -9]}}]
losses: [{reconstruction: {likelihood: gaussian}}, {kl: {}}, {lsbd: {weight: 100}}]
train: {epochs: 3, batch: 32}
metrics: {final: [dlsbd], during: fast}
`

// trained is a finished run. It is trained once.
var trained = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "serve")
	if err != nil {
		return "", err
	}
	c, err := train.Load("tiny.yaml", []byte(tiny))
	if err != nil {
		return "", err
	}
	dir = filepath.Join(dir, "tiny")
	_, err = train.Run(context.Background(), c, train.Options{Dir: dir})
	return dir, err
})

func TestMain(m *testing.M) {
	if address := os.Getenv(besideVisits); address != "" {
		if err := visit(address, os.Getenv(besideVisits+"_RUN")); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	code := leak.Main(func() int { return browser.Main(m) })
	if dir, err := trained(); err == nil {
		_ = os.RemoveAll(filepath.Dir(dir)) // files that remain are harmless
	}
	os.Exit(code)
}

// folder makes a folder with a finished run for each name.
func folder(t testing.TB, names ...string) string {
	t.Helper()
	from := must.Get(trained())(t)
	dir := t.TempDir()
	for _, name := range names {
		must.OK(t, os.CopyFS(filepath.Join(dir, filepath.FromSlash(name)), os.DirFS(from)))
	}
	return dir
}

// started serves a folder until the end of the test.
func started(t testing.TB, dir string, o Options) (*Server, *httptest.Server) {
	t.Helper()
	s := must.Get(New(t.Context(), dir, o))(t)
	h := httptest.NewServer(s)
	t.Cleanup(func() {
		close(s.ended)
		h.Close()
		s.previews.close()
		if err := s.runs.close(); err != nil {
			t.Error(err)
		}
	})
	return s, h
}

// ask sends a request and returns the answer's status code and text.
func ask(t testing.TB, method, address string, header ...string) (*http.Response, string) {
	t.Helper()
	r := must.Get(http.NewRequestWithContext(t.Context(), method, address, nil))(t)
	for i := 0; i+1 < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	if host := r.Header.Get("Host"); host != "" {
		r.Host = host
	}
	client := http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	answer := must.Get(client.Do(r))(t)
	defer answer.Body.Close()
	text := must.Get(io.ReadAll(answer.Body))(t)
	return answer, string(text)
}

// value reads JSON from an address.
func value[T any](t testing.TB, address string) (v T) {
	t.Helper()
	a, text := ask(t, "GET", address)
	if a.StatusCode != http.StatusOK {
		t.Fatalf("%s: %d %s", address, a.StatusCode, text)
	}
	if err := json.Unmarshal([]byte(text), &v); err != nil {
		t.Fatalf("%s: %v: %s", address, err, text)
	}
	return v
}

// until reads JSON repeatedly until the condition is true.
func until[T any](t testing.TB, address string, wanted func(T) bool) T {
	t.Helper()
	for {
		v := value[T](t, address)
		if wanted(v) {
			return v
		}
		select {
		case <-t.Context().Done():
			t.Fatalf("%s: %v", address, v)
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// write writes a file of a run.
func write(t testing.TB, text string, path ...string) {
	t.Helper()
	must.Write(t, filepath.Join(path...), text)
}
