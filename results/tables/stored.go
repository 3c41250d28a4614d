package tables

import (
	"encoding/json"
	"errors"
	"io"

	"github.com/unravel-ml/unravel/train/rundir"
	"github.com/unravel-ml/unravel/train/sweep"
)

// readStored reads a source's file from a run's folder or the ledger. ok is false if the file is missing or damaged.
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

// writeStored writes a source's result to a file in a run's folder.
func writeStored(dir, file string, x any) error {
	store, err := rundir.Open(dir)
	if err != nil {
		return err
	}
	err = store.Write(file, func(w io.Writer) error { return json.NewEncoder(w).Encode(x) })
	return errors.Join(err, store.Close())
}
