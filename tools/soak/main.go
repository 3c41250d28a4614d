// Command soak runs for hours in one process, and fails if memory, goroutines or open files grow:
//
//	go run ./tools/soak -for 24h
//
// Each round trains and measures a small model, sweeps two settings in child processes, and loads pages from a server
// that shows the runs. Every minute, soak prints a line of JSON.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/unravel-ml/unravel/cli"
)

func main() {
	if len(os.Args) > 1 && !strings.HasPrefix(os.Args[1], "-") { // a run of the sweep
		cli.Main()
	}
	length := flag.Duration("for", time.Hour, "how long to work")
	every := flag.Duration("every", time.Minute, "time between two lines")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	samples, err := soak(ctx, *length, *every, os.Stdout)
	if err == nil {
		err = judge(samples)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "soak:", err)
		os.Exit(1)
	}
}

// sample is the state of the process after a garbage collection.
type sample struct {
	Seconds    float64 `json:"seconds"`
	Rounds     int     `json:"rounds"`
	Heap       uint64  `json:"heap"` // bytes of live objects
	Goroutines int     `json:"goroutines"`
	Files      int     `json:"files"` // open files; 0: the system does not list them
}

func measure(begun time.Time, rounds int) sample {
	http.DefaultClient.CloseIdleConnections()
	time.Sleep(100 * time.Millisecond) // let the goroutines of connections end
	runtime.GC()
	runtime.GC() // frees objects that finalizers kept
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	open, _ := os.ReadDir("/proc/self/fd") // only exists on Linux
	return sample{time.Since(begun).Seconds(), rounds, m.HeapAlloc, runtime.NumGoroutine(), len(open)}
}

const experiment = `name: soak
dataset: {square: {size: 16, side: 4}}
model: {vae: {encoder: {mlp: {hidden: [16]}}, latent: 2}}
losses: [reconstruction: {likelihood: bernoulli}, kl: {}]
train: {epochs: 2, batch: 64}
metrics: [mig]
`

const study = `base: soak.yaml
seeds: [0]
product: {train.batch: [32, 64]}
`

// soak runs for a time in a temporary folder, which it removes.
func soak(ctx context.Context, length, every time.Duration, log io.Writer) (samples []sample, err error) {
	dir, err := os.MkdirTemp("", "soak")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	runs := filepath.Join(dir, "runs")
	config, sweep := filepath.Join(dir, "soak.yaml"), filepath.Join(dir, "sweep.yaml")
	err = errors.Join(os.Mkdir(runs, 0o777), os.WriteFile(config, []byte(experiment), 0o666),
		os.WriteFile(sweep, []byte(study), 0o666))
	if err != nil {
		return nil, err
	}
	address, end, err := serve(ctx, runs)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, end()) }()
	begun, next := time.Now(), time.Now()
	for round := 1; time.Since(begun) < length && ctx.Err() == nil; round++ {
		single, many := filepath.Join(runs, fmt.Sprint("run", round%4)), filepath.Join(runs, "many")
		if err := errors.Join(os.RemoveAll(single), os.RemoveAll(many)); err != nil {
			return samples, err
		}
		for _, args := range [][]string{
			{"train", config, "--run", single, fmt.Sprint("seed=", round)},
			{"eval", "--run", single, "--metrics", "mig,sap"},
			{"sweep", sweep, "--out", many, "--jobs", "2"},
			{"runs", runs},
		} {
			if err := command(ctx, args...); err != nil {
				return samples, err
			}
		}
		if err := load(address); err != nil {
			return samples, err
		}
		if now := time.Now(); now.After(next) {
			next = now.Add(every)
			samples = append(samples, measure(begun, round))
			line, err := json.Marshal(samples[len(samples)-1])
			if err != nil {
				return samples, err
			}
			fmt.Fprintf(log, "%s\n", line)
		}
	}
	return samples, ctx.Err()
}

// command runs a command line of unravel in this process.
func command(ctx context.Context, args ...string) error {
	var out strings.Builder
	if code := cli.Run(ctx, args, io.Discard, &out); code != 0 {
		return fmt.Errorf("unravel %s: exit code %d\n%s", strings.Join(args, " "), code, out.String())
	}
	return nil
}

// serve starts a server for a folder in this process.
func serve(ctx context.Context, dir string) (address string, end func() error, err error) {
	l, err := net.Listen("tcp", "127.0.0.1:0") // chooses a free port
	if err != nil {
		return "", nil, err
	}
	address = l.Addr().String()
	if err := l.Close(); err != nil {
		return "", nil, err
	}
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan error, 1)
	go func() { done <- command(ctx, "serve", dir, "--listen", address) }()
	end = func() error {
		cancel()
		err := <-done
		if err != nil && strings.Contains(err.Error(), "exit code 130") { // the exit code after end
			return nil
		}
		return err
	}
	for range 100 {
		if load(address) == nil {
			return address, end, nil
		}
		time.Sleep(50 * time.Millisecond)
	}
	return "", nil, errors.Join(fmt.Errorf("the server does not answer on %s", address), end())
}

// load loads the list of runs, the page of a run, and their data.
func load(address string) error {
	for _, path := range []string{"/", "/api/runs", "/run?dir=run1", "/api/run?dir=run1", "/api/tables"} {
		r, err := http.Get("http://" + address + path)
		if err != nil {
			return err
		}
		_, err = io.Copy(io.Discard, r.Body)
		if err := errors.Join(err, r.Body.Close()); err != nil {
			return err
		}
		if r.StatusCode >= 500 {
			return fmt.Errorf("%s: %s", path, r.Status)
		}
	}
	return nil
}

// judge returns an error for growth from the first half of the samples to the second, ignoring the first tenth.
func judge(samples []sample) error {
	samples = samples[len(samples)/10:]
	if len(samples) < 8 {
		return fmt.Errorf("%d lines are too few; want 9 or more: a longer time, or lines more often", len(samples))
	}
	half := len(samples) / 2
	for _, m := range []struct {
		name  string
		value func(sample) float64
		slack float64 // permitted growth
	}{
		{"live bytes", func(s sample) float64 { return float64(s.Heap) }, 4 << 20},
		{"goroutines", func(s sample) float64 { return float64(s.Goroutines) }, 2},
		{"open files", func(s sample) float64 { return float64(s.Files) }, 2},
	} {
		first, last := median(samples[:half], m.value), median(samples[half:], m.value)
		if last > first*1.02+m.slack {
			return fmt.Errorf("%s grow from %.0f to %.0f", m.name, first, last)
		}
	}
	return nil
}

func median(samples []sample, value func(sample) float64) float64 {
	var list []float64
	for _, s := range samples {
		list = append(list, value(s))
	}
	slices.Sort(list)
	return list[len(list)/2]
}
