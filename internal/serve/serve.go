// Package serve shows the runs of a folder in a browser, also while they train: a list of all runs, and for each its curves, pictures of
// its newest checkpoint and its report. It only reads: no request changes a file, no lock of a run is taken, and no file outside of the
// folder can be asked for.
//
// Every page is a file of pages/ with a script of assets/, and has the data it shows from addresses below /api/.
package serve

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"sync/atomic"
	"time"
)

// Options say how runs are shown.
type Options struct {
	Token string   // asked of every visitor; empty: none is asked
	Hosts []string // names by which browsers may call the server, besides those of the own machine
	Log   io.Writer

	Single bool // the folder is that of one run, also before this has begun; nothing is written into it

	// Preview computes what is shown of the newest checkpoint of a run's folder, as JSON; nil: [NewPreview], in this process.
	Preview func(ctx context.Context, dir string) ([]byte, error)
}

// Server shows the runs of a folder. It is an [http.Handler].
type Server struct {
	options  Options
	runs     *runs
	previews *previews
	tails    *tails
	lists    lists
	compared answers
	overlays answers
	tables   shownTables
	streams  atomic.Int64 // that are open
	handler  http.Handler
	ended    chan struct{} // closed when the server shuts down: streams end

	pages, described, curves store
}

// Limits of what one visitor can take from others.
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
	if o.Log == nil {
		o.Log = io.Discard
	}
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

// routes lists what can be asked for.
func (s *Server) routes() http.Handler {
	m := http.NewServeMux()
	for pattern, answer := range map[string]http.HandlerFunc{
		"/{$}":                s.listPage,
		"/run":                s.runPage,
		"/compare":            s.comparePage,
		"/tables":             s.tablesPage,
		"/api/runs":           s.listData,
		"/api/run":            s.runData,
		"/api/curves":         s.curvesData,
		"/api/events":         s.events,
		"/api/compare":        s.compareData,
		"/api/compare/curves": s.compareCurves,
		"/api/tables":         s.tablesData,
		"/api/table":          s.tableData,
		"/api/preview":        s.previewData,
		"/report":             s.report,
		"/figure":             s.figureData,
		"/assets/{name...}":   s.asset,
	} {
		m.HandleFunc(pattern, answer)
	}
	return m
}

// ServeHTTP answers a request.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) { s.handler.ServeHTTP(w, r) }

// Serve answers the requests of a listener until the context ends, and then ends what is under way. The listener is closed.
func (s *Server) Serve(ctx context.Context, l net.Listener) error {
	h := &http.Server{
		Handler: s, ConnContext: withConnection, ReadHeaderTimeout: readPatience, IdleTimeout: idlePatience, WriteTimeout: writePatience,
		MaxHeaderBytes: maxHeader, ErrorLog: log.New(s.options.Log, "serve: ", 0),
	}
	failed := make(chan error, 1)
	go func() { failed <- h.Serve(limit(l, maxConnections)) }()
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
