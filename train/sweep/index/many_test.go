package index_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/unravel-ml/unravel/internal/disk"
	"github.com/unravel-ml/unravel/metrics"
	"github.com/unravel-ml/unravel/train"
	"github.com/unravel-ml/unravel/train/rundir"
	"github.com/unravel-ml/unravel/train/sweep"
)

// planOf returns a sweep of n runs, a multiple of 10 up to 100,000: ten seeds for each of n/10 combinations of two
// settings.
func planOf(n int) (*sweep.Plan, error) {
	side := 1
	for side*side < n/10 {
		side++
	}
	for n/10%side > 0 {
		side++
	}
	numbers := func(n int, format string) string {
		var list []string
		for i := range n {
			list = append(list, fmt.Sprintf(format, i+1))
		}
		return strings.Join(list, ", ")
	}
	return sweep.Load("many.yaml", fmt.Appendf(nil, `base: vae/bumps
seeds: [0, 1, 2, 3, 4, 5, 6, 7, 8, 9]
set: {metrics.final: [mig, sap, dci, modularity, factor-vae, beta-vae, explicitness]}
product: {losses.1.kl.weight: [%s], train.optimizer.adam.lr: [%s]}
`, numbers(side, "%d"), numbers(n/10/side, "%de-4")))
}

// writeMany makes the folders of ended runs: configs, records, logs and results, which depend on the position in the
// list. Every rest-th run has only a config, as if not begun. If rest is 0, all runs have ended.
func writeMany(dir string, runs []sweep.Run, rest int) error {
	errs := make([]error, len(runs))
	disk.Each(context.Background(), len(runs), func(i int) {
		errs[i] = writeOne(filepath.Join(dir, runs[i].Name), runs[i], i, rest > 0 && i%rest == 0)
	})
	return errors.Join(errs...)
}

// writeOne makes one folder.
func writeOne(dir string, run sweep.Run, i int, waiting bool) error {
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return err
	}
	text, err := run.Config.Encode()
	if err != nil {
		return err
	}
	files := map[string][]byte{rundir.Config: text, ".lock": []byte("1\n\n")}
	if !waiting {
		record := rundir.Record{Config: rundir.FileHash(text), Begun: time.Unix(int64(1700000000+60*i), 0).UTC(), Seconds: 40 + float64(i%100)/10,
			Epochs: 10, Steps: 640, Version: "v1.0.0", Machine: rundir.Machine{OS: "linux", Arch: "amd64", Kernels: "avx512",
				Cores: 64, Threads: 1, Go: "go1.26.0"}}
		record.Ended = record.Begun.Add(time.Duration(record.Seconds * float64(time.Second)))
		for name, value := range map[string]any{rundir.RecordFile: record, rundir.MetricsFile: inventedResults(i),
			rundir.FitFile: train.Fit{Reconstruction: float64(i) / 7}} {
			var b bytes.Buffer
			e := json.NewEncoder(io.Writer(&b))
			e.SetIndent("", "  ")
			if err := e.Encode(value); err != nil {
				return err
			}
			files[name] = b.Bytes()
		}
		files[rundir.LogFile] = bytes.Repeat([]byte(`{"step":64,"epoch":1,"seconds":4,"loss":31.25}`+"\n"), 10)
	}
	for name, content := range files {
		if err := os.WriteFile(filepath.Join(dir, name), content, 0o666); err != nil {
			return err
		}
	}
	return nil
}

// inventedResults derives results from a run's position.
func inventedResults(i int) (list []metrics.Result) {
	at := func(k int) float64 { return float64((i*37+k*101)%1009) / 1009 }
	for k, name := range []string{"mig", "sap", "dci", "modularity", "factor-vae", "beta-vae", "explicitness"} {
		r := metrics.Result{Name: name, Value: at(k), Better: metrics.HigherIsBetter, Parts: []metrics.Part{
			{Name: "per_factor", Labels: []string{"shape", "scale", "orientation", "x", "y"}, Values: []float64{at(k + 1), at(k + 2), at(k + 3), at(k + 4), at(k + 5)}},
			{Name: "score", Values: []float64{at(k + 6)}}, {Name: "completeness", Values: []float64{at(k + 7)}},
		}}
		list = append(list, r)
	}
	return list
}
