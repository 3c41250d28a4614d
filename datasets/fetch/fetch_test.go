package fetch

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/unravel-ml/unravel/datasets/source"
	"github.com/unravel-ml/unravel/internal/long"
	"github.com/unravel-ml/unravel/internal/must"
	"github.com/unravel-ml/unravel/internal/plain"
	"github.com/unravel-ml/unravel/internal/progress"
)

// quick returns options with short waits.
func quick(t *testing.T) Options {
	return Options{Tries: 3, Wait: time.Millisecond, MaxWait: 2 * time.Millisecond, Stall: time.Minute, Log: plain.Logger(t.Output())}
}

// wanted returns the file with its hash.
func wanted(url string) source.File {
	sum := sha256.Sum256(content)
	return source.File{Name: "set.bin", URL: url + "/set.bin", Size: int64(len(content)), SHA256: hex.EncodeToString(sum[:])}
}

// one fetches a file and compares it with the content.
func one(t *testing.T, ctx context.Context, dir string, f source.File, o Options) (Result, error) {
	t.Helper()
	results, err := Files(ctx, dir, []source.File{f}, o)
	if err != nil {
		if _, missing := os.Stat(filepath.Join(dir, f.Name)); missing == nil {
			t.Error("a file that was not accepted has its name")
		}
		return Result{}, err
	}
	got, err := os.ReadFile(filepath.Join(dir, f.Name))
	if err != nil || !bytes.Equal(got, content) {
		t.Errorf("%d bytes, %v; want the %d that the server has", len(got), err, len(content))
	}
	for _, suffix := range []string{partSuffix, stateSuffix} {
		if _, err := os.Stat(filepath.Join(dir, f.Name+suffix)); err == nil {
			t.Errorf("%s is left", f.Name+suffix)
		}
	}
	return results[0], nil
}

// TestFetch fetches the file from servers with common faults.
func TestFetch(t *testing.T) {
	for _, c := range []struct {
		name     string
		requests int64
		ranges   int // requests with a range
		answer   func(n int, w http.ResponseWriter, r *http.Request)
	}{
		{"a good one", 1, 0, func(_ int, w http.ResponseWriter, r *http.Request) { whole(w, r, `"a"`, content) }},
		{"breaks off twice", 3, 2, func(n int, w http.ResponseWriter, r *http.Request) {
			if n < 2 {
				brokenOff(w, r, `"a"`, content, 100_000)
			}
			whole(w, r, `"a"`, content)
		}},
		{"breaks off ten times, each time later", 11, 10, func(n int, w http.ResponseWriter, r *http.Request) {
			if n < 10 {
				brokenOff(w, r, `"a"`, content, 25_000)
			}
			whole(w, r, `"a"`, content)
		}},
		{"ignores Range", 2, 1, func(n int, w http.ResponseWriter, r *http.Request) {
			if n == 0 {
				brokenOff(w, r, `"a"`, content, 100_000)
			}
			w.Header().Set("Content-Length", fmt.Sprint(len(content)))
			_, _ = w.Write(content)
		}},
		{"has another file meanwhile", 2, 1, func(n int, w http.ResponseWriter, r *http.Request) {
			if n == 0 {
				brokenOff(w, r, `"a"`, make([]byte, len(content)), 100_000)
			}
			whole(w, r, `"b"`, content)
		}},
		{"continues with another file", 3, 1, func(n int, w http.ResponseWriter, r *http.Request) {
			if n == 0 {
				brokenOff(w, r, `"a"`, make([]byte, len(content)), 100_000)
			}
			whole(w, r, `"a"`, content)
		}},
		{"answers 500 twice", 3, 0, func(n int, w http.ResponseWriter, r *http.Request) {
			if n < 2 {
				w.WriteHeader(500)
				return
			}
			whole(w, r, `"a"`, content)
		}},
		{"says it is longer than it is", 3, 1, func(n int, w http.ResponseWriter, r *http.Request) {
			if n == 0 {
				w.Header().Set("ETag", `"a"`)
				w.WriteHeader(200) // chunked
				_, _ = w.Write(content[:250_000])
				w.(http.Flusher).Flush()
				panic(http.ErrAbortHandler)
			}
			if n == 1 { // a range with a wrong start
				w.Header().Set("Content-Range", fmt.Sprintf("bytes 7-%d/%d", len(content)-1, len(content)))
				w.WriteHeader(http.StatusPartialContent)
				_, _ = w.Write(content[7:])
				return
			}
			whole(w, r, `"a"`, content)
		}},
		{"has no length", 1, 0, func(_ int, w http.ResponseWriter, _ *http.Request) {
			for i := 0; i < len(content); i += 100_000 {
				_, _ = w.Write(content[i : i+100_000])
				w.(http.Flusher).Flush()
			}
		}},
		{"redirects", 2, 0, func(n int, w http.ResponseWriter, r *http.Request) {
			if n == 0 {
				http.Redirect(w, r, "/elsewhere", http.StatusFound)
				return
			}
			whole(w, r, `"a"`, content)
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			s, dir := serve(t, c.answer), t.TempDir()
			f := wanted(s.URL)
			r := must.Get(one(t, t.Context(), dir, f, quick(t)))(t)
			continued := 0
			for _, span := range s.ranges {
				if span != "" {
					continued++
				}
			}
			if n := s.requests.Load(); n != c.requests || continued != c.ranges {
				t.Errorf("%d requests, ranges %q; want %d with %d ranges", n, s.ranges, c.requests, c.ranges)
			}
			if r.Already || r.Found.SHA256 != f.SHA256 || r.Found.Trusted {
				t.Errorf("result %+v", r)
			}
			if r, err := one(t, t.Context(), dir, f, quick(t)); err != nil || !r.Already || s.requests.Load() != c.requests {
				t.Errorf("a second call: %+v, %v", r, err)
			}
		})
	}
}

// Servers without the file give a clear error after a bounded number of tries.
func TestFetchFails(t *testing.T) {
	long.NotShort(t)
	other := append([]byte{content[0] + 1}, content[1:]...)
	for _, c := range []struct {
		name, words string
		most        int64 // requests
		answer      func(n int, w http.ResponseWriter, r *http.Request)
	}{
		{"404", "the server answers 404 Not Found", 1, func(_ int, w http.ResponseWriter, _ *http.Request) { w.WriteHeader(404) }},
		{"403", "the server answers 403 Forbidden", 1, func(_ int, w http.ResponseWriter, _ *http.Request) { w.WriteHeader(403) }},
		{"500", "the server answers 500", 3, func(_ int, w http.ResponseWriter, _ *http.Request) { w.WriteHeader(500) }},
		{"another hash", "its SHA-256 is", 1, func(_ int, w http.ResponseWriter, r *http.Request) { whole(w, r, `"a"`, other) }},
		{"another hash in parts", "its SHA-256 is", 4, func(n int, w http.ResponseWriter, r *http.Request) {
			if n == 0 {
				brokenOff(w, r, `"a"`, other, 100_000)
			}
			whole(w, r, `"a"`, other)
		}},
		{"shorter", "the server has 299999 bytes; want 300000", 1, func(_ int, w http.ResponseWriter, r *http.Request) { whole(w, r, `"a"`, content[1:]) }},
		{"longer", "the server has 300002 bytes; want 300000", 1, func(_ int, w http.ResponseWriter, r *http.Request) {
			whole(w, r, `"a"`, append(append([]byte{}, content...), 1, 2))
		}},
		{"longer without saying so", "the server sends more than the 300000 bytes", 1, func(_ int, w http.ResponseWriter, _ *http.Request) {
			for range 5 {
				_, _ = w.Write(content[:100_000])
				w.(http.Flusher).Flush()
			}
		}},
		{"shorter without saying so", "given up after 3 tries", 20, func(n int, w http.ResponseWriter, r *http.Request) {
			w.WriteHeader(200)
			_, _ = w.Write(content[:100_000])
			w.(http.Flusher).Flush()
		}},
		{"breaks off at the same place", "given up after 3 tries", 20, func(n int, w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Length", fmt.Sprint(len(content)))
			_, _ = w.Write(content[:100_000])
			w.(http.Flusher).Flush()
			panic(http.ErrAbortHandler)
		}},
		{"hangs", "no byte came for", 20, func(_ int, w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Length", fmt.Sprint(len(content)))
			_, _ = w.Write(content[:1000])
			w.(http.Flusher).Flush()
			<-r.Context().Done()
		}},
		{"says nothing", "timeout awaiting response headers", 20, func(_ int, _ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }},
		{"a page", "answers with a page", 1, func(_ int, w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/html; charset=utf-8")
			_, _ = w.Write([]byte("<html>please log in</html>"))
		}},
		{"packed", "packs the file", 1, func(_ int, w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Encoding", "gzip")
			_, _ = w.Write(content)
		}},
		{"redirects in a circle", "redirect", 12, func(_ int, w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/set.bin", http.StatusFound) }},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := serve(t, c.answer)
			o := quick(t)
			if c.name == "hangs" || c.name == "says nothing" {
				o.Stall = 50 * time.Millisecond
			}
			_, err := one(t, t.Context(), t.TempDir(), wanted(s.URL), o)
			for c.name == "hangs" && o.Stall < time.Minute && err != nil && strings.Contains(err.Error(), "awaiting response headers") { // on a busy machine
				s.requests.Store(0)
				o.Stall *= 2
				_, err = one(t, t.Context(), t.TempDir(), wanted(s.URL), o)
			}
			if err == nil || !strings.Contains(err.Error(), c.words) || strings.Contains(err.Error(), "\n") {
				t.Errorf("error %v; want %q, in one line", err, c.words)
			}
			if n := s.requests.Load(); n > c.most {
				t.Errorf("%d requests; want at most %d", n, c.most)
			}
		})
	}
}

// A redirect to an unencrypted address is refused, and a missing server is one error.
func TestUnreachable(t *testing.T) {
	s := serve(t, func(int, http.ResponseWriter, *http.Request) {})
	s.Close()
	if _, err := one(t, t.Context(), t.TempDir(), wanted(s.URL), quick(t)); !errors.Is(err, errUnreachable) {
		t.Error(err)
	}
	from := must.Get(http.NewRequest("GET", "https://host/a", nil))(t)
	to := must.Get(http.NewRequest("GET", "http://host/a", nil))(t)
	if err := checkRedirect(to, []*http.Request{from}); !errors.Is(err, errRedirect) {
		t.Error(err)
	}
	if err := checkRedirect(from, []*http.Request{to}); err != nil {
		t.Error(err)
	}
}

// A stopped call leaves a partial file, and the next call continues it if the stored state allows.
func TestResume(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(t *testing.T, dir string, f *source.File, s *server) // between the calls
		span   string                                                    // of the second call's first request
	}{
		{"unchanged", func(*testing.T, string, *source.File, *server) {}, "bytes=100000-"},
		{"without a hash", func(_ *testing.T, _ string, f *source.File, _ *server) { f.SHA256, f.Size = "", 0 }, "bytes=100000-"},
		{"a damaged part", func(t *testing.T, dir string, f *source.File, _ *server) {
			b := must.Read(t, filepath.Join(dir, "set.bin.part"))
			b[17]++
			must.Write(t, filepath.Join(dir, "set.bin.part"), b)
		}, "bytes=100000-"},
		{"no state", func(t *testing.T, dir string, _ *source.File, _ *server) {
			must.OK(t, os.Remove(filepath.Join(dir, "set.bin.part.json")))
		}, ""},
		{"another address", func(_ *testing.T, _ string, f *source.File, _ *server) { f.URL += "?again" }, ""},
		{"a whole part", func(t *testing.T, dir string, _ *source.File, _ *server) {
			must.Write(t, filepath.Join(dir, "set.bin.part"), content)
		}, "none"},
		{"a part that is too long", func(t *testing.T, dir string, _ *source.File, _ *server) {
			must.Write(t, filepath.Join(dir, "set.bin.part"), append(content, 1))
		}, "bytes=300001-"},
	} {
		t.Run(c.name, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			s := serve(t, func(n int, w http.ResponseWriter, r *http.Request) {
				if n == 0 {
					w.Header().Set("ETag", `"a"`)
					w.Header().Set("Content-Length", fmt.Sprint(len(content)))
					_, _ = w.Write(content[:100_000])
					w.(http.Flusher).Flush()
					<-r.Context().Done()
					return
				}
				whole(w, r, `"a"`, content)
			})
			dir, f := t.TempDir(), wanted(s.URL)
			stopping := progress.With(ctx, func(_ string, done, _ int64) {
				if done == 100_000 {
					cancel()
				}
			})
			if _, err := one(t, stopping, dir, f, quick(t)); !errors.Is(err, context.Canceled) {
				t.Fatal(err)
			}
			if info, err := os.Stat(filepath.Join(dir, "set.bin.part")); err != nil || info.Size() != 100_000 {
				t.Fatal(info, err)
			}
			c.change(t, dir, &f, s)
			must.Get(one(t, t.Context(), dir, f, quick(t)))(t)
			span := "none"
			if len(s.ranges) > 1 {
				span = s.ranges[1]
			}
			must.Equal(t, span, c.span, "the second call asks", s.ranges)
		})
	}
}
