package serve

import (
	"net/http"
	"sync"
)

// answers keeps what was answered to requests, as long as the runs are at one version. One answer is made at a time.
type answers struct {
	lock    sync.Mutex
	version int
	kept    map[string]*content
}

// send answers a request with what is kept under a key, or else with what is made now.
func (a *answers) send(w http.ResponseWriter, r *http.Request, version int, key string, fresh func() (any, error)) {
	c, err := a.of(version, key, fresh)
	if err != nil {
		sendError(w, err)
		return
	}
	c.send(w, r)
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
