// Package serve shows the runs of a folder in a browser, also while they train. It lists all runs, and shows for each
// its curves, pictures of its newest checkpoint and its report. It only reads: no request changes a file, takes a lock
// of a run, or reads a file outside the folder.
//
// Every page is a file of pages/ with a script of assets/, and loads its data from addresses below /api/.
package serve

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/unravel-ml/unravel/internal/plain"
)

// Options tell the server how to show runs.
type Options struct {
	Token string       // required from every visitor; empty: no token
	Hosts []string     // names of the server that browsers may use, besides this machine's names
	Log   *slog.Logger // errors of connections; nil: silent

	Single bool // the folder is one run, which may not have begun; nothing is written into it

	// Preview computes the preview of a run folder's newest checkpoint as JSON; nil means [NewPreview], in this
	// process.
	Preview func(ctx context.Context, dir string) ([]byte, error)
}

// Server shows the runs of a folder. It is an [http.Handler].
type Server struct {
	options  Options
	runs     *runs
	previews *previews
	tails    *tails
	lists    lists
	tables   shownTables
	streams  atomic.Int64 // number of open streams
	handler  http.Handler
	ended    chan struct{} // closed when the server shuts down: streams end

	compared, overlays, searches, pages, described, curves answers
}

// Limits on one visitor's use of the server.
const (
	maxConnections = 512
	maxHeader      = 16 << 10
	readPatience   = 10 * time.Second
	writePatience  = 30 * time.Second
	idlePatience   = 2 * time.Minute
	endPatience    = 500 * time.Millisecond
)

// New prepares to show the runs of a folder, at any depth, or the run in it. The context bounds the first look at the runs.
func New(ctx context.Context, dir string, o Options) (*Server, error) {
	o.Log = plain.Or(o.Log)
	if o.Preview == nil {
		o.Preview = NewPreview
	}
	s := &Server{options: o, ended: make(chan struct{})}
	var err error
	if s.runs, err = openRuns(ctx, dir, o.Single); err != nil {
		return nil, fmt.Errorf("serve: %w", err)
	}
	s.previews = newPreviews(s.runs, o.Preview)
	s.tails = newTails(s.runs)
	s.handler = s.guard(s.routes())
	return s, nil
}

// answer answers a request. An error is sent as JSON.
type answer func(w http.ResponseWriter, r *http.Request) error

// ofRun answers about the run that the parameter dir names.
func (s *Server) ofRun(answer func(w http.ResponseWriter, r *http.Request, one *run) error) answer {
	return func(w http.ResponseWriter, r *http.Request) error {
		one, err := s.named(r)
		if err != nil {
			return err
		}
		return answer(w, r, one)
	}
}

// routes maps the addresses to their handlers.
func (s *Server) routes() http.Handler {
	m := http.NewServeMux()
	for pattern, answer := range map[string]answer{
		"/{$}":                s.listPage,
		"/run":                s.runPage,
		"/compare":            s.comparePage,
		"/tables":             s.tablesPage,
		"/api/runs":           s.listData,
		"/api/searches":       s.searchData,
		"/api/run":            s.ofRun(s.runData),
		"/api/curves":         s.ofRun(s.curvesData),
		"/api/events":         s.ofRun(s.events),
		"/api/compare":        s.compareData,
		"/api/compare/curves": s.compareCurves,
		"/api/tables":         s.tablesData,
		"/api/table":          s.tableData,
		"/api/preview":        s.ofRun(s.previewData),
		"/report":             s.ofRun(s.report),
		"/figure":             s.ofRun(s.figureData),
		"/assets/{name...}":   s.asset,
	} {
		m.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) {
			if err := answer(w, r); err != nil {
				sendError(w, err)
			}
		})
	}
	return m
}

// ServeHTTP answers a request.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) { s.handler.ServeHTTP(w, r) }

// Serve answers the requests of a listener until the context ends. It then stops the work under way and closes the
// listener.
func (s *Server) Serve(ctx context.Context, l net.Listener) error {
	h := &http.Server{
		Handler: s, ConnContext: withConnection, ReadHeaderTimeout: readPatience, IdleTimeout: idlePatience, WriteTimeout: writePatience,
		MaxHeaderBytes: maxHeader, ErrorLog: slog.NewLogLogger(s.options.Log.Handler(), slog.LevelError),
	}
	failed := make(chan error, 1)
	go func() {
		failed <- h.Serve(limit(l, maxConnections))
		close(failed)
	}()
	defer func() { <-failed }()
	h.ErrorLog.SetPrefix("serve: ")
	var err error
	select {
	case err = <-failed:
	case <-ctx.Done():
	}
	close(s.ended)
	short, cancel := context.WithTimeout(context.WithoutCancel(ctx), endPatience)
	defer cancel()
	if h.Shutdown(short) != nil {
		err = errors.Join(err, h.Close())
	}
	s.previews.close()
	if errors.Is(err, http.ErrServerClosed) {
		err = nil
	}
	return errors.Join(err, s.runs.close())
}
