package serve

import (
	"bufio"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/unravel-ml/unravel/internal/long"
	"github.com/unravel-ml/unravel/internal/must"
	"github.com/unravel-ml/unravel/internal/priority"
	"github.com/unravel-ml/unravel/train/rundir"
)

// Duration of BenchmarkBeside.
var (
	steps  = flag.Int("steps", 0, "BenchmarkBeside: steps of a training; 0: 2000 with -long, or 40")
	rounds = flag.Int("rounds", 0, "BenchmarkBeside: trainings on each side; 0: 2 with -long, or 1")
	rate   = flag.Int("rate", 200, "BenchmarkBeside: requests per second")
)

// besideVisits is the environment variable that makes the test binary act as the visitors of BenchmarkBeside.
const besideVisits = "UNRAVEL_TEST_VISITS"

// BenchmarkBeside trains the VAE of vae/sprites, alone and next to unravel serve. The server shows this run and 300
// other runs to visitors. They send 200 requests per second for all pages and their data, and four pages follow the
// training. Server and visitors are separate processes. Visitors have low priority, because most real visitors are on
// other machines. The metric served/alone is the ratio of the median training times.
func BenchmarkBeside(b *testing.B) {
	n, pairs := *steps, *rounds
	if n == 0 {
		n = map[bool]int{true: 2000, false: 40}[long.Enabled()]
	}
	if pairs == 0 {
		pairs = map[bool]int{true: 2, false: 1}[long.Enabled()]
	}
	program := filepath.Join(b.TempDir(), "unravel.exe")
	if out, err := exec.Command("go", "build", "-o", program, "github.com/unravel-ml/unravel/cmd/unravel").CombinedOutput(); err != nil {
		b.Fatalf("%v\n%s", err, out)
	}
	dir := many(b, 300)
	for b.Loop() {
		var alone, served []float64
		var all visits
		for i := range 2 * pairs {
			name := fmt.Sprintf("training%d", i)
			train := func() float64 { return besideTraining(b, program, filepath.Join(dir, name), n) }
			if i%4 == 0 || i%4 == 3 { // a drift of the machine's speed affects both sides
				alone = append(alone, train())
				b.Logf("%s alone: %.2f s", name, alone[len(alone)-1])
				continue
			}
			end := besideServer(b, program, dir, name)
			served = append(served, train())
			v := end()
			b.Logf("%s served: %.2f s; %d requests in %.1f s", name, served[len(served)-1], len(v.Milliseconds), v.Seconds)
			all.add(v)
		}
		slices.Sort(all.Milliseconds)
		b.ReportMetric(median(served)/median(alone), "served/alone")
		b.ReportMetric(float64(len(all.Milliseconds))/all.Seconds, "requests/s")
		b.ReportMetric(float64(len(all.Failed)), "failed")
		for _, f := range all.Failed[:min(5, len(all.Failed))] {
			b.Log("failed: ", f)
		}
		for _, part := range []float64{50, 95, 99, 100} {
			at := int(float64(len(all.Milliseconds)-1) * part / 100)
			b.ReportMetric(all.Milliseconds[at], fmt.Sprintf("p%v-ms", part))
		}
	}
}

func median(v []float64) float64 {
	s := slices.Sorted(slices.Values(v))
	return (s[len(s)/2] + s[(len(s)-1)/2]) / 2
}

// besideTraining trains and returns the duration of the epochs in seconds.
func besideTraining(b *testing.B, program, dir string, steps int) (seconds float64) {
	const epoch = 20
	cmd := exec.CommandContext(b.Context(), program, "train", "vae/sprites", "--run", dir,
		fmt.Sprintf("train.epoch_steps=%d", min(epoch, steps)),
		fmt.Sprintf("train.epochs=%d", max(1, steps/epoch)), "metrics.final=[]", "train.figures=false")
	if out, err := cmd.CombinedOutput(); err != nil {
		b.Fatalf("%v\n%s", err, out)
	}
	f := must.Get(os.Open(filepath.Join(dir, rundir.LogFile)))(b)
	defer f.Close()
	lines, _, err := readLines(f, maxPageBytes)
	must.OK(b, err)
	for _, line := range lines {
		seconds += line.Seconds
	}
	return seconds
}

// besideServer starts a server, and visitors who watch a training before and after its start. The returned function
// stops both.
func besideServer(b *testing.B, program, dir, name string) func() visits {
	server := exec.CommandContext(b.Context(), program, "serve", dir, "--listen=127.0.0.1:0")
	said, err := server.StderrPipe()
	if err == nil {
		err = server.Start()
	}
	must.OK(b, err)
	first, err := bufio.NewReader(said).ReadString('\n')
	_, address, ok := strings.Cut(first, "see ")
	if err != nil || !ok {
		b.Fatalf("unravel serve: %q, %v", first, err)
	}
	address, _, _ = strings.Cut(address, " ")
	visitors := exec.CommandContext(b.Context(), os.Args[0])
	visitors.Env = append(os.Environ(), besideVisits+"="+address, besideVisits+"_RUN="+name, besideVisits+"_RATE="+strconv.Itoa(*rate))
	visitors.Stderr = os.Stderr
	in, errIn := visitors.StdinPipe()
	out, errOut := visitors.StdoutPipe()
	if errIn != nil || errOut != nil {
		b.Fatal(errIn, errOut)
	}
	must.OK(b, visitors.Start())
	return func() (v visits) {
		_ = in.Close() // the visitors end
		must.OK(b, json.NewDecoder(out).Decode(&v))
		must.OK(b, visitors.Wait())
		_ = server.Process.Kill() // works on every system
		_ = server.Wait()         // the process was killed
		return v
	}
}

// visits are the results of requests.
type visits struct {
	Seconds      float64
	Milliseconds []float64 // latency of every request except previews, from its scheduled time
	Failed       []string
}

func (v *visits) add(more visits) {
	v.Seconds += more.Seconds
	v.Milliseconds = append(v.Milliseconds, more.Milliseconds...)
	v.Failed = append(v.Failed, more.Failed...)
}

// visit sends requests until the end of standard input, and prints the results.
func visit(address, run string) error {
	priority.Lower()
	perSecond, err := strconv.Atoi(os.Getenv(besideVisits + "_RATE"))
	if err != nil {
		return err
	}
	ctx, end := context.WithCancel(context.Background())
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin) // until the other end closes the pipe
		end()
	}()
	client := &http.Client{Timeout: 30 * time.Second, Transport: &http.Transport{MaxIdleConnsPerHost: 64}}
	q := "?dir=" + url.QueryEscape(run)
	var v visits
	var lock sync.Mutex // of v
	fail := func(err error) {
		lock.Lock()
		defer lock.Unlock()
		v.Failed = append(v.Failed, err.Error())
	}
	var under sync.WaitGroup
	general := []string{"", "api/runs", "api/runs?sort=-loss", "api/runs?filter=state%3Drunning",
		"assets/base.js", "assets/serve/serve.css", "compare",
		"api/compare?filter=seed%3C20", "api/run?dir=sweep1/run_seed1", "api/curves?dir=sweep1/run_seed1"}
	paths := slices.Concat(general, []string{"run" + q, "api/run" + q, "api/curves" + q})
	var there atomic.Bool // the training has begun
	under.Go(func() {
		for ; get(client, address+"api/run"+q) != nil; time.Sleep(100 * time.Millisecond) {
			if ctx.Err() != nil {
				return
			}
		}
		there.Store(true)
		for range 4 {
			under.Go(func() {
				if err := follow(ctx, address+"api/events"+q); ctx.Err() == nil {
					fail(fmt.Errorf("a stream of events ended: %w", err))
				}
			})
		}
	})
	begin := time.Now()
	for i := 0; ctx.Err() == nil; i++ {
		due := begin.Add(time.Duration(i) * time.Second / time.Duration(perSecond)) // keeps the schedule after a delay
		time.Sleep(time.Until(due))
		path, preview := general[i%len(general)], i%perSecond == perSecond-1
		if there.Load() {
			path = paths[i%len(paths)]
		}
		if preview = preview && there.Load(); preview { // one per second; it waits for the computation
			path = "api/preview" + q
		}
		under.Go(func() {
			err := get(client, address+path)
			took := time.Since(due)
			if err != nil && !(preview && strings.Contains(err.Error(), "no checkpoint yet")) {
				fail(err)
			}
			if !preview {
				lock.Lock()
				defer lock.Unlock()
				v.Milliseconds = append(v.Milliseconds, float64(took.Microseconds())/1000)
			}
		})
	}
	v.Seconds = time.Since(begin).Seconds()
	under.Wait()
	return json.NewEncoder(os.Stdout).Encode(&v)
}

// get reads a complete answer.
func get(c *http.Client, address string) error {
	a, err := c.Get(address)
	if err != nil {
		return err
	}
	defer a.Body.Close() // it was only read
	text, err := io.ReadAll(a.Body)
	if err == nil && a.StatusCode >= http.StatusBadRequest {
		err = fmt.Errorf("%s: %d %s", address, a.StatusCode, text[:min(200, len(text))])
	}
	return err
}

// follow reads a stream of events until it ends.
func follow(ctx context.Context, address string) error {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return err
	}
	a, err := http.DefaultClient.Do(r)
	if err != nil {
		return err
	}
	defer a.Body.Close() // it was only read
	if _, err = io.Copy(io.Discard, a.Body); err == nil {
		err = io.EOF
	}
	return err
}
