package serve

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/unravel-ml/unravel/internal/report"
	"github.com/unravel-ml/unravel/train/rundir"
)

// The intervals of streams, and the maximum number of streams.
const (
	streamPause = 500 * time.Millisecond
	pingPause   = 15 * time.Second
	maxStreams  = 128
)

// events streams the changes of a run: new points of its curves (event curves), its new state (state) and new
// checkpoints (checkpoint). The parameter from, or the header Last-Event-ID, is the number of log bytes that the
// browser has. After the event reset, the browser must read the curves again. It means that the log was rewritten, for
// example by a run that continues from a checkpoint.
func (s *Server) events(w http.ResponseWriter, r *http.Request, run *runState) error {
	if s.streams.Add(1) > maxStreams {
		s.streams.Add(-1)
		w.Header().Set("Retry-After", "10")
		refuse(w, http.StatusServiceUnavailable, "too many pages follow runs; close some")
		return nil
	}
	defer s.streams.Add(-1)
	start := r.URL.Query().Get("from")
	if id := r.Header.Get("Last-Event-ID"); id != "" {
		start = id
	}
	e := &stream{server: s, name: run.Dir, w: w, controller: http.NewResponseController(w)}
	e.offset, _ = strconv.ParseInt(start, 10, 64) // "": from the start
	h := w.Header()
	h.Set("Content-Type", "text/event-stream")
	h.Set("Cache-Control", "no-store")
	if r.Method == http.MethodHead || !e.send("retry: 2000\n\n") {
		return nil
	}
	tick := time.NewTicker(streamPause)
	defer tick.Stop()
	for e.look() {
		select {
		case <-tick.C:
		case <-r.Context().Done():
			return nil
		case <-s.ended:
			return nil
		}
	}
	return nil
}

type stream struct {
	server     *Server
	name       string
	w          http.ResponseWriter
	controller *http.ResponseController

	offset     int64 // number of log bytes sent so far
	file       os.FileInfo
	state      string // last sent state
	checkpoint string
	sent       time.Time
}

// send writes and flushes. It returns false if the visitor has disconnected or does not read.
func (e *stream) send(text string) bool {
	e.sent = time.Now()
	_ = e.controller.SetWriteDeadline(e.sent.Add(writePatience)) // an error means that the connection has no deadline
	_, err := e.w.Write([]byte(text))
	return err == nil && e.controller.Flush() == nil
}

func (e *stream) event(name string, v any) bool {
	text, err := json.Marshal(v)
	if err != nil {
		return false
	}
	return e.send(fmt.Sprintf("event: %s\nid: %d\ndata: %s\n\n", name, e.offset, text))
}

// look sends new points, states and checkpoints. It returns false at the end of the stream.
func (e *stream) look() bool {
	run, err := e.server.runs.find(e.name)
	if err != nil {
		return e.event("gone", e.name) && false
	}
	if !e.follow(run) {
		return false
	}
	r := rowOf(run, nil, time.Now())
	text, _ := json.Marshal(r) // a row has a JSON form
	remaining := r.Left
	r.Left = 0
	untimed, _ := json.Marshal(r)
	if string(untimed) != e.state {
		e.state = string(untimed)
		r.Left = remaining
		if !e.event("state", json.RawMessage(text)) {
			return false
		}
	}
	if v := e.server.previews.version(run); v != e.checkpoint {
		e.checkpoint = v
		if !e.event("checkpoint", v) {
			return false
		}
	}
	if time.Since(e.sent) > pingPause {
		return e.send(": still here\n\n")
	}
	return true
}

func (e *stream) follow(run *runState) bool {
	info, err := os.Lstat(filepath.Join(e.server.runs.folder(run), rundir.LogFile))
	if err != nil {
		return true // no log yet
	}
	if info.Size() < e.offset || e.file != nil && !os.SameFile(info, e.file) {
		return e.event("reset", nil) && false
	}
	e.file = info
	if info.Size() == e.offset {
		return true
	}
	f, err := e.server.runs.open(run, rundir.LogFile)
	if err != nil {
		return true
	}
	defer f.Close() // it was only read
	if _, err := f.Seek(e.offset, 0); err != nil {
		return true
	}
	lines, read, err := readLines(f, maxPageBytes)
	if err != nil || read == 0 {
		return true
	}
	e.offset += read
	if curves := report.RunCurves(nil, lines); curves != nil {
		return e.event("curves", curves)
	}
	return true
}
