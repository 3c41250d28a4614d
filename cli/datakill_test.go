//go:build unix

package cli_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/unravel-ml/unravel/cli/internal/clitest"
	"github.com/unravel-ml/unravel/internal/long"
	"github.com/unravel-ml/unravel/internal/must"
)

// A fetch killed at any moment of the download or conversion continues. It ends with the bytes of an uninterrupted
// fetch, and incomplete files are never visible.
func TestDataKilled(t *testing.T) {
	long.NotShort(t)
	calm := ownData(t)
	clitest.OK(t, "data", "fetch", "dsprites", "--from", serveSprites(t).URL+"/")
	root := ownData(t)
	images := filepath.Join("sets", "dsprites", "images.npy")
	want := must.Read(t, filepath.Join(calm, images))
	var victim atomic.Pointer[clitest.Process]
	var at, pieces atomic.Int64
	s := dribble(t, func(n int) {
		pieces.Add(1)
		if int64(n) == at.Load() {
			if p := victim.Load(); p != nil {
				late := time.Now().Add(time.Minute)
				p.Until(func() bool { return partSize(root) >= 500*(n-1) || time.Now().After(late) }) // earlier pieces are stored, even on a busy machine
				_ = p.Process.Kill()
				<-p.Done // it ends before the next piece
			}
		}
	})
	random := rand.New(rand.NewPCG(5, 6))
	fetch := func(kill func(*clitest.Process)) clitest.Outcome {
		p := clitest.Start(t, "data", "fetch", "dsprites", "--from", s.URL+"/")
		victim.Store(p)
		kill(p)
		o := p.End()
		victim.Store(nil)
		if got, err := os.ReadFile(filepath.Join(root, images)); err == nil && !bytes.Equal(got, want) {
			t.Fatal("a half-made set is there")
		}
		if _, err := os.Stat(filepath.Join(root, "downloads", "dsprites", spritesFile)); err == nil &&
			!bytes.Equal(must.Read(t, filepath.Join(root, "downloads", "dsprites", spritesFile)), smallSprites(t)) {
			t.Fatal("a partial file has its name")
		}
		return o
	}
	for _, n := range []int64{1, 2, 9, 14, 20, 26} { // of 27 pieces
		at.Store(n)
		if o := fetch(func(*clitest.Process) {}); o.Code != -1 {
			t.Fatalf("piece %d: %v; want it killed", n, o)
		}
	}
	at.Store(0)
	if n := pieces.Load(); n > 60 { // at least 72 if each fetch starts over
		t.Errorf("%d pieces were sent; parts are not continued", n)
	}
	for killed, tries := 0, 0; killed < 6; tries++ { // during conversion and storage
		if tries == 300 { // a busy machine observes few of the short conversions
			t.Fatalf("%d of %d processes were killed while they converted", killed, tries)
		}
		fetch(func(p *clitest.Process) {
			if !p.Until(func() bool { // it is converting
				list, _ := filepath.Glob(filepath.Join(root, "sets", ".making-*"))
				return len(list) > 0
			}) {
				return
			}
			time.Sleep(time.Duration(random.IntN(4000)) * time.Microsecond)
			if p.Process.Kill() == nil {
				killed++
			}
		})
		if err := os.RemoveAll(filepath.Join(root, "sets", "dsprites")); err != nil { // if the conversion finished
			t.Fatal(err)
		}
	}
	if o := fetch(func(*clitest.Process) {}); o.Code != 0 {
		t.Fatal(o)
	}
	if !bytes.Equal(must.Read(t, filepath.Join(root, images)), want) {
		t.Error("the set differs")
	}
	left, err := filepath.Glob(filepath.Join(root, "sets", ".*"))
	if parts, err2 := filepath.Glob(filepath.Join(root, "downloads", "dsprites", "*.part*")); err != nil || err2 != nil ||
		len(left)+len(parts) > 0 {
		t.Errorf("left: %v %v, %v, %v", left, parts, err, err2)
	}
	if o := clitest.OK(t, "data", "check"); strings.Count(o.Out, "whole\n") != 2 {
		t.Error(o)
	}
}

// partSize returns the size of the stored part of an unfinished download.
func partSize(root string) int {
	parts, _ := filepath.Glob(filepath.Join(root, "downloads", "dsprites", "*.part*"))
	size := 0
	for _, p := range parts {
		if info, err := os.Stat(p); err == nil {
			size = max(size, int(info.Size()))
		}
	}
	return size
}

// Two concurrent processes download and convert once.
func TestDataAtOnce(t *testing.T) {
	long.NotShort(t)
	root := ownData(t)
	var pieces atomic.Int64
	s := dribble(t, func(int) { pieces.Add(1) })
	var wait sync.WaitGroup
	for range 3 {
		p := clitest.Start(t, "data", "fetch", "dsprites", "--from", s.URL+"/"+spritesFile)
		wait.Go(func() {
			if o := p.End(); o.Code != 0 || !strings.Contains(o.Out, "384 images") {
				t.Error(o)
			}
		})
	}
	wait.Wait()
	if n := pieces.Load(); n > 27 {
		t.Errorf("%d pieces were sent; want 27, once", n)
	}
	must.OK(t, os.RemoveAll(filepath.Join(root, "sets")))
	pieces.Store(0)
	a, b := clitest.Start(t, "data", "fetch", "dsprites"), clitest.Start(t, "data", "show", "dsprites", "--out", filepath.Join(t.TempDir(), "a.png"))
	for _, p := range []*clitest.Process{a, b} {
		if o := p.End(); o.Code != 0 {
			t.Error(o)
		}
	}
	must.Equal(t, pieces.Load(), 0, "was downloaded again")
}

// A signal stops a download. The stored part remains, and the next download continues it.
func TestDataStopped(t *testing.T) {
	root := ownData(t)
	var victim atomic.Pointer[clitest.Process]
	var pieces atomic.Int64
	s := dribble(t, func(n int) {
		pieces.Add(1)
		if p := victim.Load(); p != nil && n == 15 {
			p.Until(func() bool { return partSize(root) >= 5000 }) // a busy process stores pieces late
			_ = p.Process.Signal(syscall.SIGINT)
			<-p.Done // it stops before the next piece
		}
	})
	p := clitest.Start(t, "data", "fetch", "dsprites", "--from", s.URL+"/")
	victim.Store(p)
	o := p.End()
	if o.Code != 130 || !strings.Contains(o.Log, "the same command continues") || !strings.Contains(o.Log, "unravel: stopped by a signal") {
		t.Error(o)
	}
	victim.Store(nil)
	if info, err := os.Stat(filepath.Join(root, "downloads", "dsprites", spritesFile+".part")); err != nil || info.Size() < 5000 {
		t.Error(info, err)
	}
	if o := clitest.Start(t, "data", "fetch", "dsprites", "--from", s.URL+"/").End(); o.Code != 0 {
		t.Error(o)
	}
	if n := pieces.Load(); n > 32 {
		t.Errorf("%d pieces were sent; the part was not continued", n)
	}
}

// dribble serves the small file in pieces of 500 bytes, and reports the number of sent pieces.
func dribble(t *testing.T, sent func(pieces int)) *httptest.Server {
	t.Helper()
	content := smallSprites(t)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		from := 0
		w.Header().Set("ETag", `"one"`)
		if n, err := fmt.Sscanf(r.Header.Get("Range"), "bytes=%d-", &from); n == 1 && err == nil {
			w.Header().Set("Content-Range", fmt.Sprintf("bytes %d-%d/%d", from, len(content)-1, len(content)))
			w.Header().Set("Content-Length", fmt.Sprint(len(content)-from))
			if from == len(content) {
				w.WriteHeader(http.StatusRequestedRangeNotSatisfiable)
				return
			}
			w.WriteHeader(http.StatusPartialContent)
		} else {
			w.Header().Set("Content-Length", fmt.Sprint(len(content)))
		}
		for at := from; at < len(content); at += 500 {
			if _, err := w.Write(content[at:min(at+500, len(content))]); err != nil {
				return
			}
			w.(http.Flusher).Flush()
			select {
			case <-r.Context().Done():
				return
			case <-time.After(2 * time.Millisecond):
			}
			sent(at/500 + 1)
		}
	}))
	t.Cleanup(s.Close)
	return s
}
