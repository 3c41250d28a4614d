package fetch

import (
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/unravel-ml/unravel/datasets/source"
	"github.com/unravel-ml/unravel/internal/must"
)

// Files come from files, folders and mirrors. Wrong files are refused unless trusted.
func TestFrom(t *testing.T) {
	there := t.TempDir()
	for name, b := range map[string][]byte{"set.bin": content, "other.bin": content, "wrong.bin": content[:9], "second.bin": content} {
		must.Write(t, filepath.Join(there, name), b)
	}
	s := serve(t, func(_ int, w http.ResponseWriter, r *http.Request) {
		http.ServeFile(w, r, filepath.Join(there, filepath.Base(r.URL.Path)))
	})
	f := wanted("http://nowhere.invalid")
	for _, from := range []string{there, filepath.Join(there, "set.bin"), filepath.Join(there, "other.bin"), s.URL,
		s.URL + "/", s.URL + "/a/b/", s.URL + "/other.bin"} {
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
		if r, err := Files(t.Context(), t.TempDir(), []source.File{f, second}, o); err != nil || len(r) != 2 {
			t.Errorf("two files from %s: %v", from, err)
		}
	}
	for _, from := range []string{filepath.Join(there, "wrong.bin"), s.URL + "/wrong.bin"} {
		o, dir := quick(t), t.TempDir()
		o.From = from
		if _, err := Files(t.Context(), dir, []source.File{f}, o); !errors.Is(err, source.ErrWrong) {
			t.Errorf("%s: %v", from, err)
		}
		o.Trust = true
		if r, err := Files(t.Context(), dir, []source.File{f}, o); err != nil || !r[0].Trusted || r[0].Found.Size != 9 {
			t.Errorf("%s, trusted: %+v, %v", from, r, err)
		}
		if found, err := source.Verify(t.Context(), dir, f); err != nil || !found.Trusted {
			t.Errorf("%s, trusted, later: %+v, %v", from, found, err)
		}
	}
	// An existing file without a known hash is kept, unless From changes or Again is set.
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
		r, err := Files(t.Context(), dir, []source.File{unknown}, o)
		if err != nil || r[0].Already != step.already {
			t.Errorf("step %d: %+v, %v", i, r, err)
		}
	}
	o := quick(t)
	for _, from := range []string{filepath.Join(there, "none"), t.TempDir()} {
		o.From = from
		if _, err := Files(t.Context(), t.TempDir(), []source.File{f}, o); !errors.Is(err, os.ErrNotExist) ||
			!strings.Contains(err.Error(), from) {
			t.Errorf("%s: %v", from, err)
		}
	}
}

// A wrong file is fetched again, or trusted where it is.
func TestTrustInPlace(t *testing.T) {
	f := wanted("")
	for name, b := range map[string][]byte{"wrong": content[:9], "right": content} {
		dir, o := t.TempDir(), quick(t)
		must.Write(t, filepath.Join(dir, f.Name), b)
		o.Trust, f.URL = true, "http://nowhere.invalid"
		r, err := Files(t.Context(), dir, []source.File{f}, o)
		if err != nil || !r[0].Already || r[0].Trusted != (name == "wrong") || r[0].Found.Size != int64(len(b)) {
			t.Errorf("%s: %+v, %v", name, r, err)
		}
		if found, err := source.Verify(t.Context(), dir, f); err != nil || found.Trusted != (name == "wrong") {
			t.Errorf("%s, later: %+v, %v", name, found, err)
		}
	}
}

// Addresses and paths that no file can come from are errors.
func TestSourceErrors(t *testing.T) {
	f, second := wanted(""), wanted("")
	f.URL, second.Name = "", "second.bin"
	single := must.Write(t, filepath.Join(t.TempDir(), "x"), content)
	for from, want := range map[string]string{
		"":          f.Name + " has no address; want --from",
		"https:///": `"https:///" is not an address; want one such as https://host/folder/`,
		single:      single + " is one file; want a folder with " + f.Name,
	} {
		o := Options{From: from}
		if _, err := o.address(f, []source.File{f, second}); err == nil || err.Error() != want {
			t.Errorf("%q: %v, want %s", from, err, want)
		}
	}
	for from, want := range map[string]string{
		"https://h/a/set.bin": "https://h/a/second.bin", "https://h/a": "https://h/a/second.bin", "https://h": "https://h/second.bin",
		"https://h/second.bin": "https://h/second.bin", "https://h/a/": "https://h/a/second.bin",
	} {
		o := Options{From: from}
		must.Equal(t, must.Get(o.address(second, []source.File{f, second}))(t), want, from)
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
			r, err := Files(t.Context(), dir, []source.File{f}, quick(t))
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
