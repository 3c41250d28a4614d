package cli

import (
	"context"
	"fmt"
	"path/filepath"

	"github.com/unravel-ml/unravel/train"
	"github.com/unravel-ml/unravel/train/rundir"
)

// reportCommand is `unravel report --run DIR`.
type reportCommand struct {
	Dir string `name:"run" required:"" placeholder:"DIR" help:"Folder of the run."`
	Out string `placeholder:"FILE" writes:".html,.htm" help:"File of the page (default: report.html in the run's folder)." detail:"The page replaces an older file."`
}

// Run writes the page about a run again, from the files in its folder.
func (c *reportCommand) Run(ctx context.Context, s *streams) error {
	if err := train.PrepareRun(ctx, c.Dir, s.log); err != nil {
		return err
	}
	progress := train.NewActivity(s.log)
	write, remarks, err := train.StoredPage(ctx, c.Dir, progress)
	progress.End()
	if err != nil {
		return err
	}
	for _, r := range remarks {
		fmt.Fprintln(s.log, r)
	}
	out := c.Out
	if out == "" {
		out = filepath.Join(c.Dir, rundir.ReportFile)
	}
	if err := writeInRun(out, write); err != nil {
		return err
	}
	fmt.Fprintf(s.log, "the page about %s is %s\n", c.Dir, out)
	return nil
}
