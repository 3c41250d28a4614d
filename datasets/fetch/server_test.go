package fetch

import (
	"bytes"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// content is the file on the servers.
var content = func() []byte {
	b := make([]byte, 300_000)
	for i := range b {
		b[i] = byte(i*i>>7 + i>>3)
	}
	return b
}()

// server is a test server with a function that answers request n, from 0.
type server struct {
	*httptest.Server
	requests atomic.Int64
	ranges   []string
	lock     sync.Mutex
}

func serve(t *testing.T, answer func(n int, w http.ResponseWriter, r *http.Request)) *server {
	t.Helper()
	s := &server{}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		n := int(s.requests.Add(1)) - 1
		s.lock.Lock()
		s.ranges = append(s.ranges, r.Header.Get("Range"))
		s.lock.Unlock()
		answer(n, w, r)
	}))
	t.Cleanup(s.Close)
	return s
}

// whole answers like a good server, including Range and If-Range.
func whole(w http.ResponseWriter, r *http.Request, etag string, b []byte) {
	w.Header().Set("ETag", etag)
	http.ServeContent(w, r, "set.bin", time.Unix(1_600_000_000, 0), bytes.NewReader(b))
}

// brokenOff sends the first bytes of an answer and breaks the connection.
func brokenOff(w http.ResponseWriter, r *http.Request, etag string, b []byte, n int) {
	from := 0
	if span := r.Header.Get("Range"); span != "" && r.Header.Get("If-Range") == etag {
		from, _ = strconv.Atoi(strings.TrimSuffix(strings.TrimPrefix(span, "bytes="), "-"))
	}
	w.Header().Set("ETag", etag)
	w.Header().Set("Accept-Ranges", "bytes")
	w.Header().Set("Content-Length", fmt.Sprint(len(b)-from))
	if from > 0 {
		w.Header().Set("Content-Range", fmt.Sprintf("bytes %d-%d/%d", from, len(b)-1, len(b)))
		w.WriteHeader(http.StatusPartialContent)
	}
	_, _ = w.Write(b[from:min(from+n, len(b))])
	if f, ok := w.(http.Flusher); ok {
		f.Flush()
	}
	panic(http.ErrAbortHandler)
}
