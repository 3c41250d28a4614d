package serve

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/unravel-ml/unravel/datasets/cache"
	"github.com/unravel-ml/unravel/internal/disk"
	"github.com/unravel-ml/unravel/internal/report/web"
	"github.com/unravel-ml/unravel/train"
	"github.com/unravel-ml/unravel/train/rundir"
	"github.com/unravel-ml/unravel/train/sweep"
)

// previews caches the previews of checkpoints. It opens one checkpoint at a time, and each at most once.
type previews struct {
	runs   *runs
	open   func(ctx context.Context, dir string) ([]byte, error)
	cancel context.CancelFunc
	start  func(run *runState, v *preview) // computes a preview in the background, until cancel
	work   sync.WaitGroup                  // running computations

	semaphore chan struct{} // held while a checkpoint is open

	lock     sync.Mutex
	byPath   map[string]*preview
	closed   bool      // no further preview starts
	pauseEnd time.Time // until then, no newer checkpoint of a run is opened
}

type preview struct {
	version  string
	computed chan struct{} // closed when the preview is ready
	body     *content
	err      error
}

// The rate of opening checkpoints: a pause of previewShare times the duration of the last preview.
const (
	previewShare = 40
	previewWait  = 20 * time.Second // maximum waiting time of a request
	maxPreviews  = 24
)

func newPreviews(r *runs, open func(ctx context.Context, dir string) ([]byte, error)) *previews {
	p := &previews{runs: r, open: open, semaphore: make(chan struct{}, 1), byPath: map[string]*preview{}}
	ctx, cancel := context.WithCancel(context.Background()) // a preview continues after the end of its first request
	p.cancel, p.start = cancel, func(run *runState, v *preview) {
		p.work.Go(func() { p.compute(ctx, run, v) })
	}
	return p
}

func (p *previews) close() {
	p.lock.Lock()
	p.closed = true
	p.lock.Unlock()
	p.cancel()
	p.work.Wait()
}

// version identifies the checkpoint of a run; empty: no checkpoint.
func (p *previews) version(run *runState) string {
	s := p.runs.fileStampOf(run, rundir.CheckpointFile)
	if s.size < 0 {
		return ""
	}
	return fmt.Sprintf("%d-%d", s.modified, s.size)
}

// get returns the preview of a run's newest checkpoint, or of the previous checkpoint if it is too early.
func (p *previews) get(run *runState) (*preview, error) {
	version := p.version(run)
	if version == "" {
		return nil, notFound("the run has no checkpoint yet")
	}
	p.lock.Lock()
	defer p.lock.Unlock()
	old := p.byPath[run.path]
	if old != nil && (old.version == version || time.Now().Before(p.pauseEnd) && run.progress.state == sweep.Running ||
		!old.ready()) {
		return old, nil
	}
	if p.closed {
		return nil, context.Canceled
	}
	if len(p.byPath) >= maxPreviews {
		clear(p.byPath)
	}
	newest := &preview{version: version, computed: make(chan struct{})}
	p.byPath[run.path] = newest
	p.start(run, newest)
	return newest, nil
}

func (v *preview) ready() bool {
	select {
	case <-v.computed:
		return true
	default:
		return false
	}
}

func (p *previews) compute(ctx context.Context, run *runState, v *preview) {
	defer close(v.computed)
	select {
	case p.semaphore <- struct{}{}:
	case <-ctx.Done():
		v.err = ctx.Err()
		return
	}
	defer func() { <-p.semaphore }()
	start := time.Now()
	var text []byte
	if v.err = p.runs.checkInside(run); v.err == nil {
		text, v.err = p.open(ctx, p.runs.folder(run))
	}
	if v.err == nil {
		v.body = newContent("application/json", text)
	}
	p.lock.Lock()
	defer p.lock.Unlock()
	p.pauseEnd = time.Now().Add(previewShare * time.Since(start))
}

// checkInside returns an error if a file of a run is a link to outside the folder of runs.
func (r *runs) checkInside(run *runState) error {
	return fs.WalkDir(r.root.Load().FS(), filepath.ToSlash(run.path), func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.Type()&fs.ModeSymlink == 0 {
			return nil // nobody reads a file that has just been deleted
		}
		if _, err := r.root.Load().Stat(filepath.FromSlash(path)); err != nil && !errors.Is(err, os.ErrNotExist) {
			return fmt.Errorf("%s is a link that leads out of the folder of runs", path)
		}
		return nil
	})
}

// previewData answers with the preview of a run's newest checkpoint, its error, or the status 202 for now.
func (s *Server) previewData(w http.ResponseWriter, r *http.Request, run *runState) error {
	v, err := s.previews.get(run)
	if err != nil {
		return err
	}
	select {
	case <-v.computed:
	case <-time.After(previewWait):
		w.WriteHeader(http.StatusAccepted)
		return nil
	case <-r.Context().Done():
		return nil
	case <-s.ended:
		w.WriteHeader(http.StatusServiceUnavailable)
		return nil
	}
	if errors.As(v.err, new(internalError)) || errors.Is(v.err, context.Canceled) {
		return v.err
	}
	if v.err != nil { // the run causes the error: an unreadable checkpoint or data set, for example
		c, err := jsonContent(previewAnswer{Problem: strings.ToValidUTF8(v.err.Error(), "\uFFFD"), Pictures: []picture{}})
		if err != nil {
			return err
		}
		return c.send(w, r)
	}
	return v.body.send(w, r)
}

// previewAnswer is the answer of /api/preview.
type previewAnswer struct {
	position
	Warning  string          `json:"warning,omitempty"`
	Problem  string          `json:"problem,omitempty"` // why there is no preview
	Pictures []picture       `json:"pictures"`
	Explore  json.RawMessage `json:"explore,omitempty"`
}

// position is the position of a checkpoint in the training, if known.
type position struct {
	Epoch *int `json:"epoch,omitempty"`
	Step  *int `json:"step,omitempty"`
}

type picture struct {
	Name    string `json:"name"`
	Caption string `json:"caption"`
	Source  string `json:"src"` // a data URL
}

// NewPreview opens the newest checkpoint in a run's folder and computes its preview as JSON: reconstructions,
// traversals and the interactive decoder. It writes no files, neither in the folder nor in the cache of data sets.
func NewPreview(ctx context.Context, dir string) ([]byte, error) {
	a := previewAnswer{Pictures: []picture{}}
	if text, err := rundir.ReadFile(dir, rundir.StateFile); err == nil && json.Unmarshal(text, &a.position) != nil {
		a.position = position{}
	}
	if err := train.PrepareRun(cache.WithoutMaking(ctx), dir, nil); err != nil {
		return nil, fmt.Errorf("%w; a server converts no data set, but unravel eval --run %s does", err, dir)
	}
	e, warning, err := train.OpenExperiment(dir)
	if err != nil {
		return nil, err
	}
	a.Warning = warning
	p, err := e.Preview(ctx)
	if err != nil {
		return nil, err
	}
	a.Explore = p.Explore
	for _, f := range p.Figures {
		a.Pictures = append(a.Pictures, picture{f.Name, f.Caption, web.PNG(f.PNG)})
	}
	return json.Marshal(a)
}

type internalError struct{ error } // error of this program or machine, not of a run

func (f internalError) Unwrap() error { return f.error }

const maxPreview = 64 << 20

// PreviewProcess returns a function for [Options] that computes each preview in a separate process with one thread. A
// broken or very large checkpoint then does not affect the server. The arguments of the program are args and the run's
// folder. The program must print the result of [NewPreview].
func PreviewProcess(program string, args ...string) func(ctx context.Context, dir string) ([]byte, error) {
	return func(ctx context.Context, dir string) ([]byte, error) {
		cmd := exec.CommandContext(ctx, program, append(args[:len(args):len(args)], disk.Argument(dir))...)
		cmd.Env = append(cmd.Environ(), "GOMAXPROCS=1")
		cmd.WaitDelay = time.Second
		stdout, stderr := &limitedBuffer{limit: maxPreview}, &limitedBuffer{limit: 4 << 10, dropsRest: true}
		cmd.Stdout, cmd.Stderr = stdout, stderr
		if err := cmd.Run(); err != nil {
			if ctx.Err() != nil {
				return nil, ctx.Err()
			}
			if !errors.As(err, new(*exec.ExitError)) {
				return nil, internalError{err}
			}
			return nil, errors.New(cmp.Or(strings.TrimPrefix(strings.TrimSpace(stderr.String()), "unravel: "), err.Error()))
		}
		return stdout.Bytes(), nil
	}
}

type limitedBuffer struct {
	bytes.Buffer
	limit     int
	dropsRest bool // drop further bytes without an error
}

func (b *limitedBuffer) Write(p []byte) (int, error) {
	switch {
	case b.Len()+len(p) <= b.limit:
	case b.dropsRest:
		return len(p), nil
	default:
		return 0, fmt.Errorf("more than %d bytes", b.limit)
	}
	return b.Buffer.Write(p)
}
