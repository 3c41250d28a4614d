package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"github.com/unravel-ml/unravel/datasets"
	"github.com/unravel-ml/unravel/metrics/matrix"
	"github.com/unravel-ml/unravel/train"
	"github.com/unravel-ml/unravel/train/rundir"
)

// encodeCommand is `unravel encode (--run DIR | --encoder FILE dataset=NAME ...)`.
type encodeCommand struct {
	Dir string `name:"run" xor:"source" placeholder:"DIR" help:"Folder of the run."`
	weightsFlags
	encoderFlags
	Out string `placeholder:"FILE" writes:".npy" help:"File of the codes, float32 [n, d] (default: codes.npy in the run's folder, or here)." detail:"With --best or --average, the default is codes-best.npy or codes-average.npy. Factors [n, k] go into a second file beside it: levels as int64. Of hierarchical data, the second file has true values and a third file the levels."`
}

// Run encodes the run's data set, or the sample that its config sets, or a data set for another program's encoder.
func (c *encodeCommand) Run(ctx context.Context, s *streams) error {
	if err := c.check(); err != nil {
		return err
	}
	var d datasets.Dataset
	var codes matrix.Matrix
	var err error
	switch {
	case c.Encoder != "" && (c.Best || c.Average):
		return usagef("--best and --average choose weights of a run; want --run DIR")
	case c.Encoder != "":
		d, codes, err = c.encode(ctx, s)
	case c.Dir != "":
		d, codes, err = c.encodeRun(ctx, s)
	default:
		return usagef("nothing to encode; want --run DIR, or --encoder FILE dataset=NAME")
	}
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
	for name, write := range rundir.FactorFiles(d) {
		if err := writeInRun(besideCodes(out, name), write); err != nil {
			return err
		}
	}
	fmt.Fprintf(s.log, "%d codes of %d columns in %s, their factors in %s\n", codes.Rows, codes.Cols, out, besideCodes(out, rundir.FactorsFile))
	return nil
}

// encodeRun returns the images of a run and their codes.
func (c *encodeCommand) encodeRun(ctx context.Context, s *streams) (datasets.Dataset, matrix.Matrix, error) {
	e, err := c.open(ctx, c.Dir, s)
	if err != nil {
		return nil, matrix.Matrix{}, err
	}
	e = e.Sample()
	e.Progress = train.NewActivity(s.log)
	codes, err := e.Codes(ctx)
	return e.Data, codes, err
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
