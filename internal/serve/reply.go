package serve

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"net/http"
	"strconv"
	"strings"
	"sync"

	"github.com/klauspost/compress/gzip"
)

// content is a kept answer: its text, a compressed copy where that helps, and its tag.
type content struct {
	kind, tag    string
	body, zipped []byte
	code         int // status of the answer; 0: success
}

// leastZipped is the least length of a compressed text.
const leastZipped = 1 << 10

func newContent(kind string, body []byte) *content {
	sum := sha256.Sum256(body)
	c := &content{kind: kind, body: body, tag: `W/"` + hex.EncodeToString(sum[:12]) + `"`}
	if len(body) < leastZipped || strings.HasPrefix(kind, "image/") {
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

// jsonContent returns newContent of a value as JSON.
func jsonContent(v any) (*content, error) {
	text, err := json.Marshal(v)
	if err != nil {
		return nil, err
	}
	return newContent("application/json", text), nil
}

// send answers a request with the content, or tells the browser that its copy is current. It returns nil.
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
		_, _ = w.Write(body) // a visitor who is gone needs nothing
	}
	return nil
}

// missing is an error about a missing thing.
type missing string

func (m missing) Error() string { return string(m) }

// wrong is an error about a request.
type wrong string

func (m wrong) Error() string { return string(m) }

// sendError answers with an error, as JSON.
func sendError(w http.ResponseWriter, err error) {
	code := http.StatusInternalServerError
	switch err.(type) {
	case missing:
		code = http.StatusNotFound
	case wrong:
		code = http.StatusBadRequest
	}
	text, _ := json.Marshal(map[string]string{"error": strings.ToValidUTF8(err.Error(), "\uFFFD")}) // a map of strings encodes
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	_, _ = w.Write(text)
}

// answers keeps answers by key, each for one version of its data. It makes one answer at a time. Goroutines may share it.
type answers struct {
	lock sync.Mutex
	kept map[string]kept
}

type kept struct {
	version any
	*content
}

// maxKept bounds the number of kept answers.
const maxKept = 64

// send answers a request with the answer kept under a key, or makes a fresh one: content, or a value for JSON.
func (a *answers) send(w http.ResponseWriter, r *http.Request, version any, key string, fresh func() (any, error)) error {
	c, err := a.of(version, key, fresh)
	if err != nil {
		return err
	}
	return c.send(w, r)
}

func (a *answers) of(version any, key string, fresh func() (any, error)) (*content, error) {
	a.lock.Lock()
	defer a.lock.Unlock()
	if k, ok := a.kept[key]; ok && k.version == version {
		return k.content, nil
	}
	v, err := fresh()
	if err != nil {
		return nil, err
	}
	c, ok := v.(*content)
	if !ok {
		c, err = jsonContent(v)
	}
	if err == nil {
		if a.kept == nil || len(a.kept) >= maxKept {
			a.kept = map[string]kept{}
		}
		a.kept[key] = kept{version, c}
	}
	return c, err
}
