// Package serve shows the runs in a folder in a browser, also during training. It lists all runs. For each run, it
// shows its curves, the pictures of its newest checkpoint, and its report. It only reads: no request changes a file,
// locks a run, or reads a file outside the folder.
//
// Every page is a file in pages/ with a script in assets/. It loads its data from addresses below /api/.
package serve

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/klauspost/compress/gzip"

	"github.com/unravel-ml/unravel/internal/plain"
	"github.com/unravel-ml/unravel/train/rundir"
)

// Options tell the server how to show runs.
type Options struct {
	Token string       // every visitor needs it; empty: no token
	Hosts []string     // further host names of the server, besides the names of this machine
	Log   *slog.Logger // logs connection errors; nil: no log

	Single bool // the folder is a single run, which may not have started; nothing is written into it

	// Preview computes the preview of the newest checkpoint in a run folder as JSON. nil means [NewPreview] in this
	// process.
	Preview func(ctx context.Context, dir string) ([]byte, error)
}

// Server shows the runs of a folder. It is an [http.Handler].
type Server struct {
	options  Options
	runs     *runs
	previews *previews
	lists    listCache
	logs     store[[]rundir.Line] // logs of compared runs
	tables   tableCache
	streams  atomic.Int64 // number of open streams
	handler  http.Handler
	ended    chan struct{} // closed at shutdown, which ends streams

	compared, overlays, searches, pages, described, curves answers
}

// Limits for one visitor.
const (
	maxConnections = 512
	maxHeader      = 16 << 10
	readPatience   = 10 * time.Second
	writePatience  = 30 * time.Second
	idlePatience   = 2 * time.Minute
	endPatience    = 500 * time.Millisecond
)

// New returns a server for the runs in a folder, at any depth, or for the run in it. The context ends the first scan.
func New(ctx context.Context, dir string, o Options) (*Server, error) {
	o.Log = plain.Or(o.Log)
	if o.Preview == nil {
		o.Preview = NewPreview
	}
	s := &Server{options: o, ended: make(chan struct{}), logs: store[[]rundir.Line]{limit: 2 * maxCurves}}
	var err error
	if s.runs, err = openRuns(ctx, dir, o.Single); err != nil {
		return nil, fmt.Errorf("serve: %w", err)
	}
	s.previews = newPreviews(s.runs, o.Preview)
	s.handler = s.guard(s.routes())
	return s, nil
}

type answer func(w http.ResponseWriter, r *http.Request) error // answers a request. An error becomes a JSON answer.

// forRun returns an answer for the run that the parameter dir names.
func (s *Server) forRun(answer func(w http.ResponseWriter, r *http.Request, run *runState) error) answer {
	return func(w http.ResponseWriter, r *http.Request) error {
		run, err := s.runs.find(r.URL.Query().Get("dir"))
		if err != nil {
			return err
		}
		return answer(w, r, run)
	}
}

// forChoice returns an answer for the runs that the query chooses.
func (s *Server) forChoice(cache *answers, compare func(snap *snapshot, c selection) (any, error)) answer {
	return func(w http.ResponseWriter, r *http.Request) error {
		q, err := readQuery(r)
		if err != nil {
			return err
		}
		v := r.URL.Query()
		c := selection{query: q, runs: v["run"], groupColumn: v.Get("by"), colour: v.Get("colour")}
		snap := s.runs.current()
		return cache.send(w, r, snap.version, r.URL.RawQuery, func() (any, error) { return compare(snap, c) })
	}
}

// page returns an answer: a page that loads all its data from other addresses.
func (s *Server) page(name, title string, widgets []string, scripts ...string) answer {
	return func(w http.ResponseWriter, r *http.Request) error {
		return s.sendPage(w, r, name, s.newPage(title, widgets, scripts...))
	}
}

func (s *Server) routes() http.Handler {
	m := http.NewServeMux()
	for pattern, answer := range map[string]answer{
		"/{$}":                s.listPage,
		"/run":                s.runPage,
		"/compare":            s.page("compare.tmpl", "Comparison", []string{"curves"}, "compare.js", "intervals.js", "parallel.js"),
		"/tables":             s.page("tables.tmpl", "Tables of papers", nil, "tables.js"),
		"/api/runs":           s.listData,
		"/api/searches":       s.searchData,
		"/api/run":            s.forRun(s.runData),
		"/api/curves":         s.forRun(s.curvesData),
		"/api/events":         s.forRun(s.events),
		"/api/compare":        s.forChoice(&s.compared, func(snap *snapshot, c selection) (any, error) { return s.compare(snap, c) }),
		"/api/compare/curves": s.forChoice(&s.overlays, func(snap *snapshot, c selection) (any, error) { return s.overlay(snap, c) }),
		"/api/tables":         s.tablesData,
		"/api/table":          s.tableData,
		"/api/preview":        s.forRun(s.previewData),
		"/report":             s.forRun(s.report),
		"/figure":             s.forRun(s.figureData),
		"/assets/{name...}":   s.asset,
	} {
		m.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) {
			err := badRequest("the query is too long")
			if len(r.URL.RawQuery) <= maxQuery {
				err = answer(w, r)
			}
			if err != nil {
				sendError(w, err)
			}
		})
	}
	return m
}

func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) { s.handler.ServeHTTP(w, r) }

// Serve answers the requests of a listener until the context ends, and then closes the listener.
func (s *Server) Serve(ctx context.Context, l net.Listener) error {
	h := &http.Server{
		Handler: s, ReadHeaderTimeout: readPatience, IdleTimeout: idlePatience, WriteTimeout: writePatience,
		MaxHeaderBytes: maxHeader,
		ConnContext: func(ctx context.Context, c net.Conn) context.Context {
			return context.WithValue(ctx, connectionKey{}, c)
		},
		ErrorLog: slog.NewLogLogger(s.options.Log.Handler(), slog.LevelError),
	}
	failed := make(chan error, 1)
	go func() {
		failed <- h.Serve(limitConnections(l, maxConnections))
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

// content is a cached answer: its body, a compressed copy if it is smaller, and its entity tag.
type content struct {
	kind, tag    string
	body, zipped []byte
	code         int // status code; 0: success
}

const minZippedBytes = 1 << 10

func newContent(kind string, body []byte) *content {
	sum := sha256.Sum256(body)
	c := &content{kind: kind, body: body, tag: `W/"` + hex.EncodeToString(sum[:12]) + `"`}
	if len(body) < minZippedBytes || strings.HasPrefix(kind, "image/") {
		return c
	}
	var b bytes.Buffer
	w, _ := gzip.NewWriterLevel(&b, gzip.BestSpeed) // the level exists
	_, _ = w.Write(body)                            // a write to memory does not fail
	if w.Close() == nil && b.Len() < len(body)*9/10 {
		c.zipped = b.Bytes()
	}
	return c
}

func jsonContent(v any) (*content, error) {
	text, err := json.Marshal(v)
	if err != nil {
		return nil, err
	}
	return newContent("application/json", text), nil
}

// send answers a request with the content, or with "not modified" if the browser has it. It returns nil.
func (c *content) send(w http.ResponseWriter, r *http.Request) error {
	h := w.Header()
	if c.code == 0 {
		h.Set("ETag", c.tag)
	}
	if c.code == 0 && strings.Contains(r.Header.Get("If-None-Match"), c.tag) {
		w.WriteHeader(http.StatusNotModified)
		return nil
	}
	h.Set("Content-Type", c.kind)
	body := c.body
	if c.zipped != nil && strings.Contains(r.Header.Get("Accept-Encoding"), "gzip") {
		h.Set("Content-Encoding", "gzip")
		body = c.zipped
	}
	h.Set("Content-Length", strconv.Itoa(len(body)))
	if c.code != 0 {
		w.WriteHeader(c.code)
	}
	if r.Method != http.MethodHead {
		_, _ = w.Write(body) // an error means that the visitor has disconnected
	}
	return nil
}

// requestError is an error caused by the visitor, with a status code.
type requestError struct {
	code int
	text string
}

func (e requestError) Error() string { return e.text }

func notFound(text string) error   { return requestError{http.StatusNotFound, text} }
func badRequest(text string) error { return requestError{http.StatusBadRequest, text} }

func sendError(w http.ResponseWriter, err error) {
	code := http.StatusInternalServerError
	if e, ok := err.(requestError); ok {
		code = e.code
	}
	text, _ := json.Marshal(map[string]string{"error": strings.ToValidUTF8(err.Error(), "\uFFFD")}) // a map of strings encodes
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	_, _ = w.Write(text)
}

// store caches one value per key, each for one version of its data. It computes one value at a time.
type store[V any] struct {
	limit   int // maximum number of values; 0: maxEntries
	lock    sync.Mutex
	entries map[string]entry[V]
}

type entry[V any] struct {
	version any
	value   V
}

const maxEntries = 64

// get returns the value of a key, or a fresh one if the version differs.
func (s *store[V]) get(version any, key string, compute func() (V, error)) (V, error) {
	s.lock.Lock()
	defer s.lock.Unlock()
	if k, ok := s.entries[key]; ok && k.version == version {
		return k.value, nil
	}
	v, err := compute()
	if err == nil {
		if s.entries == nil || len(s.entries) >= cmp.Or(s.limit, maxEntries) {
			s.entries = map[string]entry[V]{}
		}
		s.entries[key] = entry[V]{version, v}
	}
	return v, err
}

type answers struct{ store[*content] }

// send answers a request with the cached answer of a key, or with a fresh one: content, or a value for JSON.
func (a *answers) send(w http.ResponseWriter, r *http.Request, version any, key string, compute func() (any, error)) error {
	c, err := a.get(version, key, func() (*content, error) {
		v, err := compute()
		if c, ok := v.(*content); ok || err != nil {
			return c, err
		}
		return jsonContent(v)
	})
	if err != nil {
		return err
	}
	return c.send(w, r)
}
