package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"github.com/unravel-ml/unravel/datasets"
	"github.com/unravel-ml/unravel/train"
	"github.com/unravel-ml/unravel/train/rundir"
)

// encodeCommand is `unravel encode --run DIR`.
type encodeCommand struct {
	Dir string `name:"run" required:"" placeholder:"DIR" help:"Folder of the run."`
	weightsFlags
	Images string   `placeholder:"PATH" help:"Other images to encode: a folder or file of arrays for the data set grid." detail:"The images have the shape of the run's images, and --out is required. If they have factors, these go into a second file."`
	Option []string `sep:"none" placeholder:"KEY=VALUE" help:"Option of the data set grid for --images; repeatable."`
	Out    string   `placeholder:"FILE" writes:".npy" help:"File of the codes, float32 [n, d] (default: codes.npy in the run's folder)." detail:"With --best or --average, the default is codes-best.npy or codes-average.npy. Factors [n, k] go into a second file beside it: levels as int64. Of hierarchical data, the second file has true values and a third file the levels."`
}

// Run encodes the run's data set, or the sample that its config sets.
func (c *encodeCommand) Run(ctx context.Context, s *streams) error {
	switch {
	case c.Images == "" && c.Option != nil:
		return usagef("--option belongs to --images, which is absent")
	case c.Images != "" && c.Out == "":
		return usagef("--images needs --out FILE: codes.npy of the run's folder has the codes of the run's own images")
	}
	e, err := c.open(ctx, c.Dir, s)
	if err != nil {
		return err
	}
	e = e.Sample()
	if c.Images != "" {
		if e, err = c.others(ctx, e, s); err != nil {
			return err
		}
	}
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

// others returns the experiment on the images of --images.
func (c *encodeCommand) others(ctx context.Context, e *train.Experiment, s *streams) (*train.Experiment, error) {
	own := []string{fmt.Sprintf("path=%q", c.Images), fmt.Sprintf("real=%t", datasets.RealValued(e.Data))}
	choice, err := chooseData("grid", append(own, c.Option...))
	if err != nil {
		return nil, err
	}
	if err := train.PrepareData(ctx, choice, s.log); err != nil {
		return nil, err
	}
	d, err := choice.Build(0)
	if err != nil {
		return nil, err
	}
	h, w, channels := d.ImageShape()
	if mh, mw, mc := e.Data.ImageShape(); h != mh || w != mw || channels != mc {
		return nil, fmt.Errorf("--images: %d x %d x %d; want the run's shape, %d x %d x %d", h, w, channels, mh, mw, mc)
	}
	other := *e
	other.Data = d
	return &other, nil
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
