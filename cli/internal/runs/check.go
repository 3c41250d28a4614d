package runs

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"

	"github.com/unravel-ml/unravel/cli/internal/inputs"
	"github.com/unravel-ml/unravel/cli/internal/ui"
	"github.com/unravel-ml/unravel/datasets"
	"github.com/unravel-ml/unravel/internal/wording"
	"github.com/unravel-ml/unravel/train"
	"github.com/unravel-ml/unravel/train/rundir"
	"github.com/unravel-ml/unravel/train/sweep"
)

// Check is `unravel check RUN|DIR...`.
type Check struct {
	Dirs []string `arg:"" name:"dir" help:"Folders of runs, or folders that contain runs at any depth."`
	JSON bool     `name:"json" help:"Print one JSON object for each run."`
}

// ComparedFiles is the result of comparing a run's files with its record.
type ComparedFiles struct {
	Run         string              `json:"run"`
	Differences []rundir.Difference `json:"differences"`
	Note        string              `json:"note,omitempty"`   // why nothing was compared
	Others      []string            `json:"others,omitempty"` // files written neither by the run nor by a later command on it
}

func (c *Check) Run(ctx context.Context, s *ui.Streams) error {
	var runs []string
	for _, dir := range c.Dirs {
		if inputs.IsRun(dir) {
			runs = append(runs, dir)
			continue
		}
		names, err := sweep.Folders(dir)
		if err != nil {
			return err
		}
		if len(names) == 0 {
			return ui.Usagef("there is no run in %s", dir)
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
		return fmt.Errorf("files differ from the record in %d of %s", differ, wording.Count(len(runs), "run"))
	}
	return nil
}

func (c *Check) show(s *ui.Streams, r *ComparedFiles) error {
	if c.JSON {
		return ui.WriteJSON(s.Out, r)
	}
	switch {
	case r.Note != "":
		fmt.Fprintln(s.Out, r.Note)
	case len(r.Differences) == 0:
		fmt.Fprintf(s.Out, "%s: as the run wrote it\n", r.Run)
	}
	for _, d := range r.Differences {
		fmt.Fprintf(s.Out, "%s: %s: %s\n", r.Run, d.File, d.What)
	}
	if len(r.Others) > 0 {
		fmt.Fprintf(s.Out, "%s: not written by the run: %s\n", r.Run, ui.Some(r.Others, 10))
	}
	return nil
}

func checkRun(ctx context.Context, dir string, h *datasets.Hasher) (*ComparedFiles, error) {
	r := &ComparedFiles{Run: dir, Differences: []rundir.Difference{}}
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
	recorded, err := rundir.ReadData(dir)
	if err != nil || recorded == nil || len(recorded.Inputs) == 0 { // the hash shows a damaged data.json
		return r, nil
	}
	config, err := train.ReadConfig(dir)
	if err != nil {
		return r, nil // it is listed as changed
	}
	for _, change := range config.ChangedInputs(ctx, recorded.Inputs, h) {
		r.Differences = append(r.Differences, rundir.Difference{File: "data", What: change})
	}
	return r, nil
}

// Report is `unravel report --run DIR`.
type Report struct {
	Dir string `name:"run" required:"" placeholder:"DIR" help:"Folder of the run."`
	Out string `placeholder:"FILE" writes:".html,.htm" help:"HTML file to write (default: report.html in the run's folder)." detail:"The page replaces an older file."`
}

func (c *Report) Run(ctx context.Context, s *ui.Streams) error {
	if err := train.PrepareRun(ctx, c.Dir, s.Activity()); err != nil {
		return err
	}
	progress := s.Activity()
	write, remarks, err := train.StoredPage(ctx, c.Dir, progress)
	progress.End()
	if err != nil {
		return err
	}
	for _, r := range remarks {
		fmt.Fprintln(s.Log, r)
	}
	out := cmp.Or(c.Out, filepath.Join(c.Dir, rundir.ReportFile))
	if err := inputs.WriteInRun(out, write); err != nil {
		return err
	}
	fmt.Fprintf(s.Log, "the page about %s is %s\n", c.Dir, out)
	return nil
}
