package serve

import (
	"context"
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/unravel-ml/unravel/internal/must"
	"github.com/unravel-ml/unravel/train/rundir"
)

// opened counts the checkpoints that a server opens.
type opened struct {
	calls, now, most atomic.Int64
	fail             atomic.Bool
	begin            chan struct{} // closed: previews are computed
}

func (o *opened) preview(ctx context.Context, dir string) ([]byte, error) {
	o.calls.Add(1)
	if n := o.now.Add(1); n > o.most.Load() {
		o.most.Store(n)
	}
	defer o.now.Add(-1)
	select {
	case <-o.begin:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	if o.fail.Load() {
		return nil, errors.New("a <broken> checkpoint")
	}
	return []byte(`{"of":"` + filepath.Base(dir) + `"}`), nil
}

// The server opens one checkpoint at a time, and each only once, for any number of visitors.
func TestPreviewOnce(t *testing.T) {
	o := &opened{begin: make(chan struct{})}
	dir := folder(t, "one", "two", "three")
	_, h := started(t, dir, Options{Preview: o.preview})
	var all sync.WaitGroup
	for range 5 {
		for _, name := range []string{"one", "two", "three"} {
			all.Go(func() {
				if a, text := ask(t, "GET", h.URL+"/api/preview?dir="+name); a.StatusCode != http.StatusOK || !strings.Contains(text, name) {
					t.Errorf("%s: %d %s", name, a.StatusCode, text)
				}
			})
		}
	}
	for o.calls.Load() == 0 {
		runtime.Gosched()
	}
	close(o.begin)
	all.Wait()
	if o.calls.Load() != 3 || o.most.Load() != 1 {
		t.Errorf("%d were opened, %d at a time; want 3 and 1", o.calls.Load(), o.most.Load())
	}
	o.fail.Store(true)
	write(t, "new", dir, "one", rundir.CheckpointFile)
	for range 3 {
		if a, text := ask(t, "GET", h.URL+"/api/preview?dir=one"); a.StatusCode != http.StatusOK ||
			!strings.Contains(text, `"problem":"a \u003cbroken\u003e checkpoint"`) {
			t.Errorf("a broken one: %d %s", a.StatusCode, text)
		}
	}
	must.Equal(t, o.calls.Load(), 4, "a new checkpoint", "were opened")
	must.OK(t, os.Remove(filepath.Join(dir, "two", rundir.CheckpointFile)))
	if a, _ := ask(t, "GET", h.URL+"/api/preview?dir=two"); a.StatusCode != http.StatusNotFound {
		t.Errorf("none: %d", a.StatusCode)
	}
}

// During training, the server waits before it opens the next checkpoint, so the training stays fast.
func TestPreviewRests(t *testing.T) {
	o := &opened{begin: make(chan struct{})}
	dir := folder(t, "one")
	must.OK(t, os.Remove(filepath.Join(dir, "one", rundir.RecordFile)))
	held := must.Get(rundir.Open(filepath.Join(dir, "one")))(t)
	defer held.Close()
	s, h := started(t, dir, Options{Preview: o.preview})
	close(o.begin)
	value[map[string]any](t, h.URL+"/api/preview?dir=one")
	s.previews.lock.Lock()
	s.previews.pauseEnd = s.previews.pauseEnd.AddDate(1, 0, 0)
	s.previews.lock.Unlock()
	write(t, "new", dir, "one", rundir.CheckpointFile)
	value[map[string]any](t, h.URL+"/api/preview?dir=one")
	must.Equal(t, o.calls.Load(), 1, "were opened before the rest was over")
}

// Output of a process is limited, and the limit itself is allowed. A message loses only its further lines.
func TestBounded(t *testing.T) {
	for _, c := range []struct {
		most    int
		forgive bool
		want    string
		fails   bool
	}{{6, false, "abcdef", false}, {5, false, "abc", true}, {5, true, "abc", false}, {2, false, "", true}} {
		b := limitedBuffer{limit: c.most, dropsRest: c.forgive}
		_, first := b.Write([]byte("abc"))
		_, second := b.Write([]byte("def"))
		if failed := first != nil || second != nil; b.String() != c.want || failed != c.fails {
			t.Errorf("%d bytes: %q, errors %v and %v", c.most, b.String(), first, second)
		}
	}
}
