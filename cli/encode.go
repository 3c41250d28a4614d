package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"github.com/unravel-ml/unravel/train"
	"github.com/unravel-ml/unravel/train/rundir"
)

// encodeCommand is `unravel encode --run DIR`.
type encodeCommand struct {
	Dir string `name:"run" required:"" placeholder:"DIR" help:"Folder of the run."`
	weightsFlags
	Out string `placeholder:"FILE" writes:".npy" help:"File of the codes, float32 [n, d] (default: codes.npy in the run's folder)." detail:"With --best or --average, the default is codes-best.npy or codes-average.npy. Factors [n, k] go into a second file beside it: levels as int64. Of hierarchical data, the second file has true values and a third file the levels."`
}

// Run encodes the run's data set, or the sample that its config sets.
func (c *encodeCommand) Run(ctx context.Context, s *streams) error {
	e, err := c.open(ctx, c.Dir, s)
	if err != nil {
		return err
	}
	e = e.Sample()
	e.Progress = train.NewActivity(s.log)
	codes, err := e.Codes(ctx)
	if err != nil {
		return err
	}
	out := c.Out
	if out == "" {
		out = filepath.Join(c.Dir, c.name(rundir.CodesFile))
	}
	if err := writeInRun(out, rundir.WriteCodes(codes)); err != nil {
		return err
	}
	for name, write := range rundir.FactorFiles(e.Data) {
		if err := writeInRun(besideCodes(out, name), write); err != nil {
			return err
		}
	}
	fmt.Fprintf(s.log, "%d codes of %d columns in %s, their factors in %s\n", codes.Rows, codes.Cols, out, besideCodes(out, rundir.FactorsFile))
	return nil
}

// writeInRun is writeOut. If the file lies in the folder of a run, the run's record gets its hash.
func writeInRun(path string, write func(io.Writer) error) error {
	dir, name := filepath.Split(path)
	if dir = filepath.Clean(dir); !isRun(dir) {
		return writeOut(path, write)
	}
	run, err := rundir.Open(dir)
	if errors.Is(err, rundir.ErrLocked) { // the run is under way and writes its own codes at the end
		return writeOut(path, write)
	}
	if err != nil {
		return err
	}
	return errors.Join(run.Write(name, write), run.Close())
}

// besideCodes returns the path of a file that belongs to a file of codes: factors.npy next to codes.npy, and
// other-factors.npy next to other.npy.
func besideCodes(codes, name string) string {
	dir, base := filepath.Split(codes)
	if base == rundir.CodesFile {
		return dir + name
	}
	return dir + strings.TrimSuffix(base, filepath.Ext(base)) + "-" + strings.TrimSuffix(name, ".npy") + filepath.Ext(base)
}
