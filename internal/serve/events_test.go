package serve

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/unravel-ml/unravel/internal/long"
	"github.com/unravel-ml/unravel/internal/must"
	"github.com/unravel-ml/unravel/internal/report/web"
	"github.com/unravel-ml/unravel/train/rundir"
	"github.com/unravel-ml/unravel/train/sweep"
)

// listener reads the events of a run.
type listener struct {
	t      *testing.T
	answer *http.Response
	lines  *bufio.Reader
}

func listen(t *testing.T, address string, header ...string) *listener {
	t.Helper()
	r := must.Get(http.NewRequestWithContext(t.Context(), "GET", address, nil))(t)
	for i := 0; i+1 < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	a := must.Get(http.DefaultClient.Do(r))(t)
	t.Cleanup(func() { _ = a.Body.Close() })
	return &listener{t, a, bufio.NewReader(a.Body)}
}

// next returns the data and the id of the next event with a name, or "" at the end of the stream.
func (l *listener) next(name string) (data, id string) {
	l.t.Helper()
	event := ""
	for {
		line, err := l.lines.ReadString('\n')
		if err != nil {
			return "", ""
		}
		key, value, _ := strings.Cut(strings.TrimSuffix(line, "\n"), ": ")
		switch key {
		case "event":
			event = value
		case "id":
			id = value
		case "data":
			if data = value; event == name {
				return data, id
			}
		}
	}
}

// epochLine returns a line of a log.
func epochLine(epoch int) string {
	return fmt.Sprintf(`{"step":%d,"epoch":%d,"images":9,"seconds":2,"losses":{"unsupervised":{"loss":%d.5}}}`+"\n", epoch, epoch, 10-epoch)
}

// The time left counts evaluations: the mean of the last epochs, some of them with an evaluation.
func TestTimeLeft(t *testing.T) {
	evaluation := `{"step":1,"epoch":1,"seconds":8,"metrics":{"mig":0.5}}` + "\n"
	for epochs, want := range map[int]float64{1: 2, 2: 6, paceEpochs: 6} {
		p := progress{state: sweep.Running, epochs: 12}
		p.readTail([]byte(epochLine(1)+evaluation+epochLine(2)+`{"step":3`), epochs)
		if now := time.Now(); p.epoch != 2 || p.loss != 8.5 || p.seconds != want {
			t.Errorf("%d epochs: %+v", epochs, p)
		} else if p.written = now; p.remaining(now) != time.Duration(10*want)*time.Second {
			t.Errorf("%d epochs: %v left", epochs, p.remaining(now))
		}
	}
}

// The stream sends each new point of the log once. It sends a partial line only after its rest, and skips invalid
// lines.
func TestEvents(t *testing.T) {
	long.NotShort(t)
	dir := t.TempDir()
	write(t, tiny, dir, "one", rundir.Config)
	write(t, tiny, dir, "two", rundir.Config)
	log := filepath.Join(dir, "one", rundir.LogFile)
	write(t, epochLine(1)+"nonsense\n"+epochLine(2), log)
	held := must.Get(rundir.Open(filepath.Join(dir, "one")))(t)
	_, h := started(t, dir, Options{})
	if c := value[curvesAnswer](t, h.URL+"/api/curves?dir=two"); c.At != 0 || len(c.Curves.Panels) != 0 {
		t.Errorf("without a log: %+v", c)
	}
	c := value[curvesAnswer](t, h.URL+"/api/curves?dir=one")
	if p := c.Curves.Panels; len(p) != 1 || p[0].Title != "Losses" || p[0].Series[0].Y.Shape[0] != 2 {
		t.Fatalf("%+v", c)
	}
	l := listen(t, fmt.Sprintf("%s/api/events?dir=one&from=%d", h.URL, c.At))
	var r row
	if data, _ := l.next("state"); json.Unmarshal([]byte(data), &r) != nil || r.State != sweep.Running || r.Epoch != 2 || !(r.Left > 0) {
		t.Errorf("state %+v", r)
	}
	add := func(text string) {
		f := must.Get(os.OpenFile(log, os.O_APPEND|os.O_WRONLY, 0))(t)
		must.Get(f.WriteString(text))(t)
		must.OK(t, f.Close())
	}
	third := epochLine(3)
	add(third[:20])
	add(third[20:] + epochLine(4)[:7])
	data, id := l.next("curves")
	var more web.Curves
	if err := json.Unmarshal([]byte(data), &more); err != nil || more.Panels[0].Series[0].Y.Shape[0] != 1 ||
		id != fmt.Sprint(c.At+int64(len(third))) {
		t.Errorf("%v %s %s", err, data, id)
	}
	again := listen(t, h.URL+"/api/events?dir=one&from=0", "Last-Event-ID", fmt.Sprint(c.At)) // after a lost connection
	if data, _ := again.next("curves"); data == "" {
		t.Error("no points after a broken connection")
	}
	write(t, epochLine(1), log) // as a run that continues from an earlier checkpoint
	if data, _ := l.next("reset"); data == "" {
		t.Error("the log was rewritten, and nothing said so")
	}
	gone := listen(t, h.URL+"/api/events?dir=one")
	must.OK(t, errors.Join(held.Close(), os.RemoveAll(filepath.Join(dir, "one"))))
	if data, _ := gone.next("gone"); data == "" {
		t.Error("the run is gone, and nothing said so")
	}
}

// The number of streams is limited, and the end of a stream frees its slot.
func TestManyStreams(t *testing.T) {
	s, h := started(t, folder(t, "one"), Options{})
	var all []*listener
	for range maxStreams {
		l := listen(t, h.URL+"/api/events?dir=one")
		if l.answer.StatusCode != http.StatusOK {
			t.Fatalf("stream %d: %d", len(all), l.answer.StatusCode)
		}
		all = append(all, l)
	}
	if a, _ := ask(t, "GET", h.URL+"/api/events?dir=one"); a.StatusCode != http.StatusServiceUnavailable || a.Header.Get("Retry-After") == "" {
		t.Errorf("one too many: %d", a.StatusCode)
	}
	value[listing](t, h.URL+"/api/runs")
	for _, l := range all {
		_ = l.answer.Body.Close()
	}
	for s.streams.Load() > 0 {
		select {
		case <-t.Context().Done():
			t.Fatal("streams stay")
		case <-time.After(10 * time.Millisecond):
		}
	}
}
