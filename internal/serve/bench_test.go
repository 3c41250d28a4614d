package serve

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"

	"github.com/unravel-ml/unravel/internal/must"
	"github.com/unravel-ml/unravel/train/rundir"
	"github.com/unravel-ml/unravel/train/sweep"
)

// many makes a folder with n finished runs that differ in seed and weights.
func many(b testing.TB, n int) string {
	b.Helper()
	from := must.Get(trained())(b)
	files := map[string]string{}
	for _, name := range []string{rundir.Config, rundir.RecordFile, rundir.MetricsFile, rundir.FitFile, rundir.LogFile} {
		text := must.Read(b, filepath.Join(from, name))
		files[name] = string(text)
	}
	dir := b.TempDir()
	for i := range n {
		config := strings.NewReplacer("seed: 1", fmt.Sprintf("seed: %d", i), "weight: 100",
			fmt.Sprintf("weight: %d", 100+i%10)).Replace(files[rundir.Config])
		at := filepath.Join(dir, fmt.Sprintf("sweep%d", i%10), fmt.Sprintf("run_seed%d", i))
		for name, text := range files {
			if name == rundir.Config {
				text = config
			}
			if name == rundir.RecordFile {
				text = strings.Replace(text, rundir.FileHash([]byte(files[rundir.Config])), rundir.FileHash([]byte(config)), 1)
			}
			write(b, text, at, name)
		}
	}
	return dir
}

// manyRuns is a number of runs that the list must show within 200 ms.
const manyRuns = 5000

// BenchmarkList requests the list of 5000 runs: from the cache, after a change of the runs, and with a filter and an
// order.
func BenchmarkList(b *testing.B) {
	dir := many(b, manyRuns)
	s := must.Get(New(b.Context(), dir, Options{}))(b)
	defer s.runs.close()
	if n := s.runs.latest.Load().states()[sweep.Finished]; n != manyRuns {
		b.Fatalf("%d finished runs", n)
	}
	for name, address := range map[string]string{"kept": "/api/runs", "sorted": "/api/runs?sort=-dlsbd",
		"filtered": "/api/runs?filter=seed%3C4000&filter=state%3Dfinished&sort=seed"} {
		for _, fresh := range []bool{false, true} {
			b.Run(fmt.Sprintf("%s/fresh=%v", name, fresh), func(b *testing.B) {
				r := httptest.NewRequest("GET", "http://localhost"+address, nil)
				r.Header.Set("Accept-Encoding", "gzip")
				for b.Loop() {
					if fresh {
						s.lists.lock.Lock()
						s.lists.entries, s.lists.chosen.entries = nil, nil
						s.lists.lock.Unlock()
					}
					w := httptest.NewRecorder()
					s.ServeHTTP(w, r)
					if w.Code != http.StatusOK {
						b.Fatal(w.Code, w.Body)
					}
				}
			})
		}
	}
}

// BenchmarkScan scans 5000 unchanged runs.
func BenchmarkScan(b *testing.B) {
	dir := many(b, manyRuns)
	r := must.Get(openRuns(b.Context(), dir, false))(b)
	r.cancel()
	r.scanning.Wait()
	defer r.root.Load().Close()
	for b.Loop() {
		must.OK(b, r.scan(b.Context()))
	}
}

// BenchmarkOpen opens a folder of 5000 runs with an index.
func BenchmarkOpen(b *testing.B) {
	dir := many(b, manyRuns)
	for b.Loop() {
		r := must.Get(openRuns(b.Context(), dir, false))(b)
		must.OK(b, r.close())
	}
}

// BenchmarkRequest answers a request for unchanged data.
func BenchmarkRequest(b *testing.B) {
	s := must.Get(New(b.Context(), folder(b, "one"), Options{}))(b)
	defer s.runs.close()
	for _, address := range []string{"/", "/api/runs", "/api/run?dir=one", "/api/curves?dir=one", "/assets/base.js"} {
		b.Run(strings.NewReplacer("/", "", "?dir=", "-").Replace(address)+"_", func(b *testing.B) {
			r := httptest.NewRequest("GET", "http://localhost"+address, nil)
			for b.Loop() {
				s.ServeHTTP(httptest.NewRecorder(), r)
			}
		})
	}
}
