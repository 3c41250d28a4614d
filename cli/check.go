package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/unravel-ml/unravel/datasets"
	"github.com/unravel-ml/unravel/train"
	"github.com/unravel-ml/unravel/train/rundir"
	"github.com/unravel-ml/unravel/train/sweep"
)

// checkCommand is `unravel check RUN|DIR...`.
type checkCommand struct {
	Dirs []string `arg:"" name:"dir" help:"Folders of runs, or folders that hold runs at any depth."`
	JSON bool     `name:"json" help:"Print one JSON object for each run."`
}

// comparedFiles lists the differences between a run's files and its record.
type comparedFiles struct {
	Run         string              `json:"run"`
	Differences []rundir.Difference `json:"differences"`
	Note        string              `json:"note,omitempty"`   // why nothing was compared
	Others      []string            `json:"others,omitempty"` // files that neither the run nor a later command on it wrote
}

// Run compares the files of the runs with their hashes.
func (c *checkCommand) Run(ctx context.Context, s *streams) error {
	var runs []string
	for _, dir := range c.Dirs {
		if isRun(dir) {
			runs = append(runs, dir)
			continue
		}
		names, err := sweep.Folders(dir)
		if err != nil {
			return err
		}
		if len(names) == 0 {
			return usagef("there is no run in %s", dir)
		}
		for _, name := range names {
			runs = append(runs, filepath.Join(dir, filepath.FromSlash(name)))
		}
	}
	differ, hasher := 0, new(datasets.Hasher)
	for _, dir := range runs {
		r, err := checkRun(ctx, dir, hasher)
		if err != nil {
			return err
		}
		if len(r.Differences) > 0 {
			differ++
		}
		if err := c.show(s, r); err != nil {
			return err
		}
	}
	if differ > 0 {
		return fmt.Errorf("files of %s differ from the record, of %d", counted(differ, "run"), len(runs))
	}
	return nil
}

func (c *checkCommand) show(s *streams, r *comparedFiles) error {
	if c.JSON {
		return json.NewEncoder(s.out).Encode(r)
	}
	switch {
	case r.Note != "":
		fmt.Fprintln(s.out, r.Note)
	case len(r.Differences) == 0:
		fmt.Fprintf(s.out, "%s: as the run wrote it\n", r.Run)
	}
	for _, d := range r.Differences {
		fmt.Fprintf(s.out, "%s: %s: %s\n", r.Run, d.File, d.What)
	}
	if n := len(r.Others); n > 0 {
		list, more := r.Others[:min(n, shownOthers)], ""
		if n > shownOthers {
			more = fmt.Sprintf(" and %d more", n-shownOthers)
		}
		fmt.Fprintf(s.out, "%s: not written by the run: %s%s\n", r.Run, strings.Join(list, ", "), more)
	}
	return nil
}

// shownOthers is the largest number of files to name.
const shownOthers = 10

// checkRun compares a run's files and data with its record.
func checkRun(ctx context.Context, dir string, h *datasets.Hasher) (*comparedFiles, error) {
	r := &comparedFiles{Run: dir, Differences: []rundir.Difference{}}
	list, err := rundir.Check(dir)
	if errors.Is(err, rundir.ErrNoHashes) {
		r.Note = err.Error()
	} else if err != nil {
		return nil, err
	}
	r.Differences = append(r.Differences, list...)
	others, err := rundir.Others(dir)
	if err != nil {
		return nil, err
	}
	for _, name := range others {
		extra := slices.ContainsFunc(list, func(d rundir.Difference) bool { return d.File == name })
		if !extra && name != sweep.OutputFile {
			r.Others = append(r.Others, name)
		}
	}
	began, err := rundir.ReadData(dir)
	if err != nil { // data.json is damaged, as its hash shows
		return r, nil
	}
	if began == nil || len(began.Inputs) == 0 {
		return r, nil
	}
	config, err := train.ReadConfig(dir)
	if err != nil {
		return r, nil // it is listed as changed
	}
	for _, change := range config.ChangedInputs(ctx, began.Inputs, h) {
		r.Differences = append(r.Differences, rundir.Difference{File: "data", What: change})
	}
	return r, nil
}
