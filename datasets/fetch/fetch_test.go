package fetch

import (
	"bytes"
	"context"
	"crypto/md5"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/unravel-ml/unravel/internal/progress"
)

// content is the file that servers have.
var content = func() []byte {
	b := make([]byte, 300_000)
	for i := range b {
		b[i] = byte(i*i>>7 + i>>3)
	}
	return b
}()

// quick are options that do not make tests wait.
func quick(t *testing.T) Options {
	return Options{Tries: 3, Wait: time.Millisecond, MaxWait: 2 * time.Millisecond, Stall: 10 * time.Second, Log: t.Logf}
}

// wanted is the file with its hash.
func wanted(url string) File {
	sum := sha256.Sum256(content)
	return File{Name: "set.bin", URL: url + "/set.bin", Size: int64(len(content)), SHA256: hex.EncodeToString(sum[:])}
}

// server is a test server that answers the n-th request, from 0, by a function.
type server struct {
	*httptest.Server
	requests atomic.Int64
	ranges   []string
	lock     sync.Mutex
}

func serve(t *testing.T, answer func(n int, w http.ResponseWriter, r *http.Request)) *server {
	t.Helper()
	s := &server{}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		n := int(s.requests.Add(1)) - 1
		s.lock.Lock()
		s.ranges = append(s.ranges, r.Header.Get("Range"))
		s.lock.Unlock()
		answer(n, w, r)
	}))
	t.Cleanup(s.Close)
	return s
}

// whole answers as a good server does, Range and If-Range included.
func whole(w http.ResponseWriter, r *http.Request, etag string, b []byte) {
	w.Header().Set("ETag", etag)
	http.ServeContent(w, r, "set.bin", time.Unix(1_600_000_000, 0), bytes.NewReader(b))
}

// brokenOff sends the first bytes of an answer and breaks the connection.
func brokenOff(w http.ResponseWriter, r *http.Request, etag string, b []byte, n int) {
	from := 0
	if span := r.Header.Get("Range"); span != "" && r.Header.Get("If-Range") == etag {
		from, _ = strconv.Atoi(strings.TrimSuffix(strings.TrimPrefix(span, "bytes="), "-"))
	}
	w.Header().Set("ETag", etag)
	w.Header().Set("Accept-Ranges", "bytes")
	w.Header().Set("Content-Length", fmt.Sprint(len(b)-from))
	if from > 0 {
		w.Header().Set("Content-Range", fmt.Sprintf("bytes %d-%d/%d", from, len(b)-1, len(b)))
		w.WriteHeader(http.StatusPartialContent)
	}
	_, _ = w.Write(b[from:min(from+n, len(b))])
	if f, ok := w.(http.Flusher); ok {
		f.Flush()
	}
	panic(http.ErrAbortHandler)
}

// one fetches a file and compares it with the content.
func one(t *testing.T, ctx context.Context, dir string, f File, o Options) (Result, error) {
	t.Helper()
	results, err := Files(ctx, dir, []File{f}, o)
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
		if Has(dir, f.Name+suffix) {
			t.Errorf("%s is left", f.Name+suffix)
		}
	}
	return results[0], nil
}

// Servers that do what servers do bring the file in the end.
func TestFetch(t *testing.T) {
	for _, c := range []struct {
		name     string
		requests int64
		ranges   int // requests that continue
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
			if n == 1 { // a range that does not begin where it should
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
			r, err := one(t, t.Context(), dir, f, quick(t))
			if err != nil {
				t.Fatal(err)
			}
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

// Servers that do not have the file end with a clear error, after a bounded number of tries.
func TestFetchFails(t *testing.T) {
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
			if err == nil || !strings.Contains(err.Error(), c.words) || strings.Contains(err.Error(), "\n") {
				t.Errorf("error %v; want %q, in one line", err, c.words)
			}
			if n := s.requests.Load(); n > c.most {
				t.Errorf("%d requests; want at most %d", n, c.most)
			}
		})
	}
}

// A redirect to an address without encryption is not followed, and a server that is not there is one error.
func TestUnreachable(t *testing.T) {
	s := serve(t, func(int, http.ResponseWriter, *http.Request) {})
	s.Close()
	if _, err := one(t, t.Context(), t.TempDir(), wanted(s.URL), quick(t)); !errors.Is(err, ErrUnreachable) {
		t.Error(err)
	}
	from, err := http.NewRequest("GET", "https://host/a", nil)
	if err != nil {
		t.Fatal(err)
	}
	to, err := http.NewRequest("GET", "http://host/a", nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := checkRedirect(to, []*http.Request{from}); !errors.Is(err, errRedirect) {
		t.Error(err)
	}
	if err := checkRedirect(from, []*http.Request{to}); err != nil {
		t.Error(err)
	}
}

// A call that is stopped leaves a part, which the next call continues; what is known of the part decides.
func TestResume(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(t *testing.T, dir string, f *File, s *server) // between the calls
		span   string                                             // of the second call's first request
	}{
		{"unchanged", func(*testing.T, string, *File, *server) {}, "bytes=100000-"},
		{"without a hash", func(_ *testing.T, _ string, f *File, _ *server) { f.SHA256, f.Size = "", 0 }, "bytes=100000-"},
		{"a damaged part", func(t *testing.T, dir string, f *File, _ *server) {
			b, err := os.ReadFile(filepath.Join(dir, "set.bin.part"))
			if err != nil {
				t.Fatal(err)
			}
			b[17]++
			if err := os.WriteFile(filepath.Join(dir, "set.bin.part"), b, 0o666); err != nil {
				t.Fatal(err)
			}
		}, "bytes=100000-"},
		{"no state", func(t *testing.T, dir string, _ *File, _ *server) {
			if err := os.Remove(filepath.Join(dir, "set.bin.part.json")); err != nil {
				t.Fatal(err)
			}
		}, ""},
		{"another address", func(_ *testing.T, _ string, f *File, _ *server) { f.URL += "?again" }, ""},
		{"a whole part", func(t *testing.T, dir string, _ *File, _ *server) {
			if err := os.WriteFile(filepath.Join(dir, "set.bin.part"), content, 0o666); err != nil {
				t.Fatal(err)
			}
		}, "none"},
		{"a part that is too long", func(t *testing.T, dir string, _ *File, _ *server) {
			if err := os.WriteFile(filepath.Join(dir, "set.bin.part"), append(content, 1), 0o666); err != nil {
				t.Fatal(err)
			}
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
			if _, err := one(t, t.Context(), dir, f, quick(t)); err != nil {
				t.Fatal(err)
			}
			span := "none"
			if len(s.ranges) > 1 {
				span = s.ranges[1]
			}
			if span != c.span {
				t.Errorf("the second call asks for %q; want %q", s.ranges, c.span)
			}
		})
	}
}

// Files come from files, folders and mirrors, and wrong ones are refused unless they are trusted.
func TestFrom(t *testing.T) {
	there := t.TempDir()
	for name, b := range map[string][]byte{"set.bin": content, "other.bin": content, "wrong.bin": content[:9], "second.bin": content} {
		if err := os.WriteFile(filepath.Join(there, name), b, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	s := serve(t, func(_ int, w http.ResponseWriter, r *http.Request) {
		http.ServeFile(w, r, filepath.Join(there, filepath.Base(r.URL.Path)))
	})
	f := wanted("http://nowhere.invalid")
	for _, from := range []string{there, filepath.Join(there, "set.bin"), filepath.Join(there, "other.bin"), s.URL, s.URL + "/", s.URL + "/a/b/", s.URL + "/other.bin"} {
		o := quick(t)
		o.From = from
		if _, err := one(t, t.Context(), t.TempDir(), f, o); err != nil && from != s.URL+"/a/b/" {
			t.Errorf("%s: %v", from, err)
		}
	}
	second := f
	second.Name = "second.bin"
	for _, from := range []string{there, filepath.Join(there, "set.bin"), s.URL + "/", s.URL + "/set.bin"} {
		o := quick(t)
		o.From = from
		if r, err := Files(t.Context(), t.TempDir(), []File{f, second}, o); err != nil || len(r) != 2 {
			t.Errorf("two files from %s: %v", from, err)
		}
	}
	for _, from := range []string{filepath.Join(there, "wrong.bin"), s.URL + "/wrong.bin"} {
		o, dir := quick(t), t.TempDir()
		o.From = from
		if _, err := Files(t.Context(), dir, []File{f}, o); !errors.Is(err, ErrWrong) {
			t.Errorf("%s: %v", from, err)
		}
		o.Trust = true
		if r, err := Files(t.Context(), dir, []File{f}, o); err != nil || !r[0].Trusted || r[0].Found.Size != 9 {
			t.Errorf("%s, trusted: %+v, %v", from, r, err)
		}
		if found, err := Verify(t.Context(), dir, f); err != nil || !found.Trusted {
			t.Errorf("%s, trusted, later: %+v, %v", from, found, err)
		}
	}
	// a file without a known hash is there already, unless it is asked for again
	unknown, dir := f, t.TempDir()
	unknown.SHA256, unknown.Size = "", 0
	for i, step := range []struct {
		from    string
		again   bool
		already bool
	}{{"set.bin", false, false}, {"", false, true}, {"wrong.bin", false, false}, {"set.bin", true, false}} {
		o := quick(t)
		if o.Again = step.again; step.from != "" {
			o.From = filepath.Join(there, step.from)
		}
		r, err := Files(t.Context(), dir, []File{unknown}, o)
		if err != nil || r[0].Already != step.already {
			t.Errorf("step %d: %+v, %v", i, r, err)
		}
	}
	o := quick(t)
	for _, from := range []string{filepath.Join(there, "none"), t.TempDir()} {
		o.From = from
		if _, err := Files(t.Context(), t.TempDir(), []File{f}, o); !errors.Is(err, os.ErrNotExist) || !strings.Contains(err.Error(), from) {
			t.Errorf("%s: %v", from, err)
		}
	}
}

// A file that was put there by hand is hashed once; one that changed is hashed again.
func TestVerify(t *testing.T) {
	dir, f := t.TempDir(), wanted("")
	if _, err := Verify(t.Context(), dir, f); !errors.Is(err, ErrAbsent) {
		t.Error(err)
	}
	path := filepath.Join(dir, f.Name)
	if err := os.WriteFile(path, content, 0o666); err != nil {
		t.Fatal(err)
	}
	hashed := 0
	ctx := progress.With(t.Context(), func(string, int64, int64) { hashed++ })
	for range 2 {
		if found, err := Verify(ctx, dir, f); err != nil || found.SHA256 != f.SHA256 {
			t.Fatal(found, err)
		}
	}
	if hashed != 1 {
		t.Errorf("hashed in %d pieces; want 1, once", hashed)
	}
	if _, err := Check(ctx, dir, f); err != nil || hashed != 2 {
		t.Errorf("Check: %v, %d pieces", err, hashed)
	}
	wrong := append([]byte{content[0] + 1}, content[1:]...)
	if err := os.WriteFile(path, wrong, 0o666); err != nil {
		t.Fatal(err)
	}
	if err := os.Chtimes(path, time.Time{}, time.Unix(1_700_000_000, 0)); err != nil {
		t.Fatal(err)
	}
	if _, err := Verify(t.Context(), dir, f); !errors.Is(err, ErrWrong) {
		t.Error(err)
	}
	f.SHA256 = ""
	sum := md5.Sum(content)
	f.MD5 = hex.EncodeToString(sum[:])
	if _, err := Verify(t.Context(), dir, f); !errors.Is(err, ErrWrong) || !strings.Contains(err.Error(), f.MD5) {
		t.Error(err)
	}
}

// Two calls at once fetch a file once.
func TestTwice(t *testing.T) {
	s := serve(t, func(_ int, w http.ResponseWriter, r *http.Request) { whole(w, r, `"a"`, content) })
	dir, f := t.TempDir(), wanted(s.URL)
	var wait sync.WaitGroup
	var already atomic.Int64
	for range 4 {
		wait.Go(func() {
			r, err := Files(t.Context(), dir, []File{f}, quick(t))
			if err != nil {
				t.Error(err)
			} else if r[0].Already {
				already.Add(1)
			}
		})
	}
	wait.Wait()
	if s.requests.Load() != 1 || already.Load() != 3 {
		t.Errorf("%d requests, %d found it there; want 1 and 3", s.requests.Load(), already.Load())
	}
}
