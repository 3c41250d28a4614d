// Package analysis computes analyses of the codes of finished runs that the runs themselves do not compute. It stores
// the results in the run's folder.
package analysis

import (
	"encoding/json"
	"errors"
	"io"
	"slices"

	"github.com/unravel-ml/unravel/metrics"
	"github.com/unravel-ml/unravel/train/rundir"
	"github.com/unravel-ml/unravel/train/sweep"
)

// ErrNotRun is the error for a run that does not exist or has not been analysed.
var ErrNotRun = errors.New("not run yet")

// selectResults returns the named results; all is false if one is missing.
func selectResults(results []metrics.Result, names []string) (list []metrics.Result, all bool) {
	for _, name := range names {
		index := slices.IndexFunc(results, func(r metrics.Result) bool { return r.Name == name })
		if index < 0 {
			return nil, false
		}
		list = append(list, results[index])
	}
	return list, true
}

// readStored reads the file of an analysis from a run's folder or the ledger. ok is false without a sound file.
func readStored(run sweep.Entry, file string, x any) (ok bool, err error) {
	if run.Dir == "" {
		text, ok := run.Stored[file]
		return ok && json.Unmarshal(text, x) == nil, nil
	}
	store, err := rundir.View(run.Dir)
	if err != nil {
		return false, err
	}
	text, err := store.Read(file)
	if err != nil { // missing or unreadable
		return false, nil
	}
	return json.Unmarshal(text, x) == nil, nil
}

func writeStored(dir, file string, x any) error {
	store, err := rundir.Open(dir)
	if err != nil {
		return err
	}
	err = store.Write(file, func(w io.Writer) error { return json.NewEncoder(w).Encode(x) })
	return errors.Join(err, store.Close())
}
