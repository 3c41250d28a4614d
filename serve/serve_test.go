package serve

import (
	"context"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/unravel-ml/unravel/train"
)

// tiny is an experiment of a moment.
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

// trained is a finished run, trained once.
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
	code := m.Run()
	if dir, err := trained(); err == nil {
		_ = os.RemoveAll(filepath.Dir(dir)) // what is left harms nobody
	}
	os.Exit(code)
}

// folder makes a folder of runs with a finished run of each name.
func folder(t testing.TB, names ...string) string {
	t.Helper()
	from, err := trained()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for _, name := range names {
		if err := os.CopyFS(filepath.Join(dir, filepath.FromSlash(name)), os.DirFS(from)); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// started begins to show a folder, until the test ends.
func started(t testing.TB, dir string, o Options) (*Server, *httptest.Server) {
	t.Helper()
	s, err := New(t.Context(), dir, o)
	if err != nil {
		t.Fatal(err)
	}
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

// ask sends a request and returns the answer's code and text.
func ask(t testing.TB, method, address string, header ...string) (*http.Response, string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, address, nil)
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i+1 < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	if host := r.Header.Get("Host"); host != "" {
		r.Host = host
	}
	client := http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	answer, err := client.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	var b strings.Builder
	if _, err := answer.Body.(interface{ Read([]byte) (int, error) }).Read(nil); err != nil && answer.ContentLength > 0 {
		t.Fatal(err)
	}
	buffer := make([]byte, 64<<10)
	for {
		n, err := answer.Body.Read(buffer)
		b.Write(buffer[:n])
		if err != nil {
			break
		}
	}
	return answer, b.String()
}

func TestList(t *testing.T) {
	_, h := started(t, folder(t, "one", "deep/er/two"), Options{})
	a, text := ask(t, "GET", h.URL+"/api/runs")
	if a.StatusCode != 200 || !strings.Contains(text, `"dir":"deep/er/two"`) || !strings.Contains(text, `"state":"finished"`) {
		t.Errorf("%d %s", a.StatusCode, text)
	}
	if again, _ := ask(t, "GET", h.URL+"/api/runs", "If-None-Match", a.Header.Get("ETag")); again.StatusCode != http.StatusNotModified {
		t.Errorf("again: %d", again.StatusCode)
	}
	if _, text := ask(t, "GET", h.URL+"/api/preview?dir=one"); !strings.Contains(text, "reconstructions") || !strings.Contains(text, "data:image/png") {
		t.Errorf("preview: %.200s", text)
	}
}
