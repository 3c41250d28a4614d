package serve

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/unravel-ml/unravel/train/rundir"
)

// previews keeps what is shown of the newest checkpoints of runs. At most one checkpoint is opened at a time, each at most once.
type previews struct {
	runs   *runs
	open   func(ctx context.Context, dir string) ([]byte, error)
	ctx    context.Context
	cancel context.CancelFunc

	turn chan struct{} // held while a checkpoint is open

	lock sync.Mutex
	kept map[string]*preview // by path
	rest time.Time           // until then no newer checkpoint of a run is opened
}

// preview is what is shown of a checkpoint of a run.
type preview struct {
	version string
	done    chan struct{} // closed when the rest is there
	body    *content
	err     error
}

// The pace of opening checkpoints: it takes at most the given part of the time.
const (
	previewShare = 40
	previewWait  = 20 * time.Second // of a request
	maxPreviews  = 24
)

func newPreviews(r *runs, open func(ctx context.Context, dir string) ([]byte, error)) *previews {
	p := &previews{runs: r, open: open, turn: make(chan struct{}, 1), kept: map[string]*preview{}}
	p.ctx, p.cancel = context.WithCancel(context.Background())
	return p
}

// close ends what is under way.
func (p *previews) close() { p.cancel() }

// version tells checkpoints of a run apart; empty: it has none.
func (p *previews) version(one *run) string {
	s := stampOf(filepath.Join(p.runs.dir, filepath.FromSlash(one.path)), rundir.CheckpointFile)
	if s.size < 0 {
		return ""
	}
	return fmt.Sprintf("%d-%d", s.modified, s.size)
}

// of returns what is shown of the newest checkpoint of a run, or of the one before while the newest has to wait.
func (p *previews) of(one *run) (*preview, error) {
	version := p.version(one)
	if version == "" {
		return nil, missing("the run has no checkpoint yet")
	}
	p.lock.Lock()
	defer p.lock.Unlock()
	old := p.kept[one.path]
	if old != nil && (old.version == version || time.Now().Before(p.rest) && one.progress.state == running || !old.ready()) {
		return old, nil
	}
	if len(p.kept) >= maxPreviews {
		clear(p.kept)
	}
	fresh := &preview{version: version, done: make(chan struct{})}
	p.kept[one.path] = fresh
	go p.compute(one, fresh)
	return fresh, nil
}

// ready reports whether it is computed.
func (v *preview) ready() bool {
	select {
	case <-v.done:
		return true
	default:
		return false
	}
}

// compute opens a checkpoint.
func (p *previews) compute(one *run, v *preview) {
	defer close(v.done)
	select {
	case p.turn <- struct{}{}:
	case <-p.ctx.Done():
		v.err = p.ctx.Err()
		return
	}
	defer func() { <-p.turn }()
	begin := time.Now()
	var text []byte
	if v.err = p.runs.enclosed(one); v.err == nil {
		text, v.err = p.open(p.ctx, filepath.Join(p.runs.dir, filepath.FromSlash(one.path)))
	}
	if v.err == nil {
		v.body = newContent("application/json", text)
	}
	p.lock.Lock()
	defer p.lock.Unlock()
	p.rest = time.Now().Add(previewShare * time.Since(begin))
}

// enclosed reports a file of a run that is a link out of the folder of runs.
func (r *runs) enclosed(one *run) error {
	return fs.WalkDir(r.root.Load().FS(), filepath.ToSlash(one.path), func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.Type()&fs.ModeSymlink == 0 {
			return nil // what is gone meanwhile is not read
		}
		if _, err := r.root.Load().Stat(filepath.FromSlash(path)); err != nil && !errors.Is(err, os.ErrNotExist) {
			return fmt.Errorf("%s is a link that leads out of the folder of runs", path)
		}
		return nil
	})
}

// previewData answers with what is shown of the newest checkpoint of a run, or why it cannot be shown: 202 while it is computed.
func (s *Server) previewData(w http.ResponseWriter, r *http.Request) {
	one, err := s.named(r)
	if err != nil {
		sendError(w, err)
		return
	}
	v, err := s.previews.of(one)
	if err != nil {
		sendError(w, err)
		return
	}
	select {
	case <-v.done:
	case <-time.After(previewWait):
		w.WriteHeader(http.StatusAccepted)
		return
	case <-r.Context().Done():
		return
	case <-s.ended:
		w.WriteHeader(http.StatusServiceUnavailable)
		return
	}
	if errors.As(v.err, new(ownFault)) || errors.Is(v.err, context.Canceled) {
		sendError(w, v.err)
		return
	}
	if v.err != nil { // that of the run: its checkpoint or data cannot be read, say
		sendJSON(w, r, previewAnswer{Problem: strings.ToValidUTF8(v.err.Error(), "\uFFFD"), Pictures: []picture{}}, nil)
		return
	}
	v.body.send(w, r)
}
