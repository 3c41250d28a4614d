package source

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/unravel-ml/unravel/internal/must"
	"github.com/unravel-ml/unravel/internal/progress"
)

// A file matches the published facts. An unknown size or hash matches every file, and SHA-256 replaces MD5.
func TestMatch(t *testing.T) {
	got := Found{Size: 7, SHA256: "a", MD5: "b"}
	for want, f := range map[string]File{
		"it has 7 bytes; want 8": {Size: 8, SHA256: "a"}, "its SHA-256 is a; want b": {Size: 7, SHA256: "b", MD5: "b"},
		"its MD5 is b; want a": {MD5: "a"},
	} {
		must.Error(t, f.Match(got), want)
	}
	for _, f := range []File{{}, {Size: 7}, {SHA256: "a", MD5: "x"}, {MD5: "b"}} {
		must.OK(t, f.Match(got))
	}
}

// A file placed by hand is hashed once, and a changed file is hashed again.
func TestVerify(t *testing.T) {
	content := bytes.Repeat([]byte("content"), 1000)
	dir, f := t.TempDir(), File{Name: "set.bin"}
	if _, err := Verify(t.Context(), dir, f); !errors.Is(err, ErrAbsent) {
		t.Error(err)
	}
	path := must.Write(t, filepath.Join(dir, f.Name), content)
	right := must.Get(Find(t.Context(), path))(t)
	f.Size, f.SHA256 = right.Size, right.SHA256
	hashed := 0
	ctx := progress.With(t.Context(), func(string, int64, int64) { hashed++ })
	for range 2 {
		must.Equal(t, must.Get(Verify(ctx, dir, f))(t), right)
	}
	must.Equal(t, hashed, 1, "hashed in", "pieces")
	if _, err := Check(ctx, dir, f); err != nil || hashed != 2 {
		t.Errorf("Check: %v, %d pieces", err, hashed)
	}
	content[0]++
	must.Write(t, path, content)
	must.OK(t, os.Chtimes(path, time.Time{}, time.Unix(1_700_000_000, 0)))
	if _, err := Verify(t.Context(), dir, f); !errors.Is(err, ErrWrong) {
		t.Error(err)
	}
	f.SHA256, f.MD5 = "", right.MD5
	if _, err := Verify(t.Context(), dir, f); !errors.Is(err, ErrWrong) || !strings.Contains(err.Error(), f.MD5) {
		t.Error(err)
	}
}

// Place refuses a file of another size or hash, unless it is trusted, and stops with the context. Trust ends when the
// file changes.
func TestPlace(t *testing.T) {
	path := must.Write(t, filepath.Join(t.TempDir(), "x"), []byte("content"))
	dir, f := filepath.Join(t.TempDir(), "new"), File{Name: "set.bin", Size: 8}
	if err := Place(t.Context(), dir, f, path, false); !errors.Is(err, ErrWrong) {
		t.Errorf("wrong: %v", err)
	}
	if _, err := Verify(t.Context(), dir, f); !errors.Is(err, ErrAbsent) {
		t.Errorf("wrong: %v", err)
	}
	must.OK(t, Place(t.Context(), dir, f, path, true))
	found := must.Get(Verify(t.Context(), dir, f))(t)
	if !found.Trusted || found.From != path || found.Size != 7 {
		t.Errorf("trusted: %+v", found)
	}
	must.Equal(t, must.Get(Records(dir))(t)[f.Name], found, "recorded")
	must.Write(t, filepath.Join(dir, f.Name), []byte("another"))
	must.OK(t, os.Chtimes(filepath.Join(dir, f.Name), time.Time{}, time.Unix(1_700_000_000, 0)))
	if _, err := Verify(t.Context(), dir, f); !errors.Is(err, ErrWrong) {
		t.Errorf("another file in place of the trusted one: %v", err)
	}
	stopped, cancel := context.WithCancel(t.Context())
	cancel()
	if err := Place(stopped, dir, f, path, true); !errors.Is(err, context.Canceled) {
		t.Errorf("stopped: %v", err)
	}
}
