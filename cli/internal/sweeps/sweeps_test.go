package sweeps

import (
	"bytes"
	"errors"
	"math"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/unravel-ml/unravel/cli/internal/cluster"
	"github.com/unravel-ml/unravel/cli/internal/ui"
	"github.com/unravel-ml/unravel/datasets"
	"github.com/unravel-ml/unravel/datasets/cache"
	"github.com/unravel-ml/unravel/datasets/catalog"
	"github.com/unravel-ml/unravel/internal/must"
	"github.com/unravel-ml/unravel/train"
	"github.com/unravel-ml/unravel/train/sweep"
)

// A task on Kubernetes gets 1.25 times the memory of the largest run, or 256 MiB. A flag sets another limit.
func TestAllotMemory(t *testing.T) {
	const config = "dataset: {square: {size: 32, side: 2}}\nmodel: {vae: {encoder: {mlp: {hidden: [8]}}, latent: 2}}\nlosses: [reconstruction]\n"
	small := must.Get(train.Load("small.yaml", []byte(config)))(t)
	large := must.Get(train.Load("large.yaml", []byte(config), "model.vae.encoder.mlp.hidden=[4096]"))(t)
	peak := must.Get(train.PeakMemory(t.Context(), train.Here(large)))(t)
	for _, c := range []struct {
		on     string
		memory int64
		runs   []train.Config
		want   int64
	}{
		{onKubernetes, 0, []train.Config{small}, 1 << 28},
		{onKubernetes, 0, []train.Config{small, large, small}, int64(1.25 * peak)},
		{onKubernetes, 1 << 20, []train.Config{large}, 1 << 20},
		{onKubernetes, 0, nil, 0},
		{onSlurm, 0, []train.Config{large}, 0},
	} {
		var runs []sweep.Run
		for _, config := range c.runs {
			runs = append(runs, sweep.Run{Config: config})
		}
		var log strings.Builder
		var job cluster.Job
		job.Memory = c.memory
		must.OK(t, (&ClusterFlags{On: c.on}).allotMemory(t.Context(), &ui.Streams{Log: &log}, &job, runs))
		if !(math.Abs(float64(job.Memory-c.want)) <= 1e-3*float64(c.want)) { // estimates differ by a few bytes
			t.Errorf("%d bytes for %d runs on %s, want %d", job.Memory, len(c.runs), c.on, c.want)
		}
		if said := strings.Contains(log.String(), "memory of a task: "); said != (c.want > 1<<20) {
			t.Errorf("%d bytes: the log is %q", c.want, log.String())
		}
	}
}

// Times may be written as in Go or Slurm.
func TestParseTime(t *testing.T) {
	for text, want := range map[string]time.Duration{
		"90m": 90 * time.Minute, "1h30m": 90 * time.Minute, "10:30": 10*time.Minute + 30*time.Second, "04:05:06": 4*time.Hour + 5*time.Minute + 6*time.Second,
		"1-12": 36 * time.Hour, "1-12:30": 36*time.Hour + 30*time.Minute, "1-12:00:01": 36*time.Hour + time.Second,
	} {
		must.Equal(t, must.Get(parseTime(text))(t), want, text)
	}
	for _, text := range []string{"", "4", "90", "4 h", "1:2:3:4", "99999999999999999999", "x", "-"} {
		if got, err := parseTime(text); err == nil {
			t.Errorf("%q: %v; want an error", text, got)
		}
	}
}

func TestSweepProgress(t *testing.T) {
	var w strings.Builder
	p := &progress{w: &w, every: time.Hour, idle: time.Hour}
	p.observe(sweep.Status{Runs: 4, Running: 1, Left: -1})
	p.observe(sweep.Status{Runs: 4, Running: 1, Part: 0.1, Left: time.Minute})
	p.observe(sweep.Status{Runs: 4, Running: 1, Finished: 1, Failed: 1, Elsewhere: 1, Part: 0.5, Left: 90 * time.Second})
	p.say("a line")
	p.observe(sweep.Status{Runs: 4, Finished: 3, Failed: 1, Part: 1, Left: 0})
	p.clear()
	must.Equal(t, w.String(),
		"0 of 4 runs  0 %  1 running\n2 of 4 runs  50 %  1 running  1 in other processes  1 failed  1m30s left\na line\n4 of 4 runs  100 %  1 failed\n")
}

// A line is repeated after a change other than the time left, or after a long time.
func TestSweepProgressRepeats(t *testing.T) {
	waits := sweep.Status{Runs: 4, Elsewhere: 1, Left: time.Hour}
	for idle, want := range map[time.Duration]int{time.Hour: 2, 0: 4} {
		var w strings.Builder
		p := &progress{w: &w, idle: idle}
		for i, part := range []float64{0, 0, 0.001, 0.25} {
			waits.Part, waits.Left = part, time.Hour-time.Duration(i)*time.Minute
			p.observe(waits)
		}
		if n := strings.Count(w.String(), "\n"); n != want {
			t.Errorf("after %v without anything new: %d lines, want %d:\n%s", idle, n, want, w.String())
		}
	}
}

// An unfinished run has no seconds.
func TestSweepListsUnfinishedRuns(t *testing.T) {
	var b bytes.Buffer
	must.OK(t, new(Command).print(&b, []sweep.Outcome{{Run: sweep.Run{Name: "a"}, Entry: sweep.Entry{State: sweep.Unfinished}}}))
	if want := []string{"RUN", "STATE", "SECONDS", "RESULT", "a", "unfinished", "-", "-"}; !slices.Equal(strings.Fields(b.String()), want) {
		t.Errorf("it prints %q, want the words %q", b.String(), want)
	}
}

// Each data set of a plan is prepared once, even after a repeated one.
func TestPrepare(t *testing.T) {
	t.Setenv(cache.RootVariable, must.MappedDir(t))
	var runs []sweep.Run
	for _, name := range []string{"square", "square", "dsprites"} {
		d := must.Get(catalog.Registry.Named(name))(t)
		var r sweep.Run
		r.Config.Dataset = catalog.Choice(d)
		runs = append(runs, r)
	}
	var log bytes.Buffer
	if err := Prepare(t.Context(), runs[:2], &log); err != nil {
		t.Error(err)
	}
	if err := Prepare(t.Context(), runs, &log); !errors.Is(err, datasets.ErrNotFetched) {
		t.Errorf("error %v, want the absent dsprites", err)
	}
}

// Long times are rounded to minutes, and short times to milliseconds.
func TestRounded(t *testing.T) {
	for seconds, want := range map[float64]string{0.0126: "13ms", 60: "1m0s", 60.4: "1m0s", 61.6: "1m2s", 3600: "1h0m0s",
		3629: "1h0m0s", 3631: "1h1m0s"} {
		must.Equal(t, Rounded(seconds).String(), want, seconds, "s")
	}
}

// Flags accept their values up to the limits. An empty want is an error.
func TestClusterFlags(t *testing.T) {
	name := func(text string) (string, error) {
		var n nameFlag
		err := n.UnmarshalText([]byte(text))
		return string(n), err
	}
	volume := func(text string) (string, error) {
		var v volumeFlag
		err := v.UnmarshalText([]byte(text))
		return v.claim + " " + v.path, err
	}
	atMost := func(text string) (string, error) {
		var d timeFlag
		err := d.UnmarshalText([]byte(text))
		return time.Duration(d).String(), err
	}
	memory := func(text string) (string, error) {
		var m memoryFlag
		err := m.UnmarshalText([]byte(text))
		return strconv.FormatInt(int64(m), 10), err
	}
	index := func(text string) (string, error) {
		f := &indexFlag{text: text}
		n, err := f.number()
		return strconv.Itoa(n), err
	}
	for _, c := range []struct {
		read       func(string) (string, error)
		text, want string
	}{
		{name, "a", "a"}, {name, "gpu-long", "gpu-long"}, {name, "", ""}, {name, "a b", ""}, {name, "a\t", ""}, {name, `"a"`, ""}, {name, "it's", ""}, {name, "a\n", ""},
		{volume, "data:/shared", "data /shared"}, {volume, ":/shared", ""}, {volume, "data:shared", ""}, {volume, "/shared", ""},
		{atMost, "2m", "2m0s"}, {atMost, "119s", ""}, {atMost, "1-00", "24h0m0s"}, {atMost, "0", ""},
		{memory, "1K", "1024"}, {memory, "1.5M", "1572864"}, {memory, "2GB", "2147483648"}, {memory, "1TiB", "1099511627776"}, {memory, "1048576T", "1152921504606846976"},
		{memory, "1048577T", ""}, {memory, "0K", ""}, {memory, "1", ""}, {memory, "1g", ""},
		{index, "0", "0"}, {index, "12", "12"}, {index, "-1", ""}, {index, "x", ""},
	} {
		if got, err := c.read(c.text); (err != nil) != (c.want == "") || err == nil && got != c.want {
			t.Errorf("%q: %s, %v; want %q", c.text, got, err, c.want)
		}
	}
}
