package serve

import (
	"net/http"
	"sync"
)

// answers keeps the answers to requests while the runs stay at one version. It makes one answer at a time.
type answers struct {
	lock    sync.Mutex
	version int
	kept    map[string]*content
}

// send answers a request with the answer kept under a key, or makes a fresh one.
func (a *answers) send(w http.ResponseWriter, r *http.Request, version int, key string, fresh func() (any, error)) error {
	c, err := a.of(version, key, fresh)
	if err != nil {
		return err
	}
	return c.send(w, r)
}

func (a *answers) of(version int, key string, fresh func() (any, error)) (*content, error) {
	a.lock.Lock()
	defer a.lock.Unlock()
	if a.kept == nil || a.version != version || len(a.kept) > maxKept {
		a.version, a.kept = version, map[string]*content{}
	}
	if c, ok := a.kept[key]; ok {
		return c, nil
	}
	v, err := fresh()
	if err != nil {
		return nil, err
	}
	c, err := jsonContent(v)
	if err == nil {
		a.kept[key] = c
	}
	return c, err
}
