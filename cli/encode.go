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
	deviceFlags
	encoderFlags
	Images string   `placeholder:"PATH" help:"Other images for the run: a folder of pictures, a picture, or a file or folder of arrays." detail:"Pictures are resized to the images of the run, as the data set folder does, and the names of the pictures are written next to the codes. Arrays are read as by the data set grid. --out is required."`
	Option []string `sep:"none" placeholder:"KEY=VALUE" help:"Option of the data set folder or grid for --images; repeatable."`
	Out    string   `placeholder:"FILE" writes:".npy" help:"File of the codes, float32 [n, d] (default: codes.npy in the run's folder, or here)." detail:"With --best or --average, the default is codes-best.npy or codes-average.npy. Factors [n, k] go into a second file beside it: levels as int64. Of hierarchical data, the second file has true values and a third file the levels."`
}

// Run encodes the run's data set, or the sample that its config sets, or a data set for another program's encoder.
func (c *encodeCommand) Run(ctx context.Context, s *streams) error {
	if err := c.check(); err != nil {
		return err
	}
	var d datasets.Dataset
	var codes matrix.Matrix
	var err error
	if c.Encoder != "" {
		d, codes, err = c.encode(ctx, s)
	} else {
		d, codes, err = c.encodeRun(ctx, s)
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
	line := fmt.Sprintf("%d codes of %d columns in %s", codes.Rows, codes.Cols, out)
	if f := d.Factors(); c.Images == "" || len(f) > 1 || f[0].Size > 1 { // pictures have no factors
		for name, write := range rundir.FactorFiles(d) {
			if err := writeInRun(besideCodes(out, name), write); err != nil {
				return err
			}
		}
		line += ", their factors in " + besideCodes(out, rundir.FactorsFile)
	}
	if named, ok := d.(datasets.FileNamed); ok && c.Images != "" {
		names := strings.TrimSuffix(out, filepath.Ext(out)) + "-files.txt"
		if err := writeOut(names, func(w io.Writer) error { return writeNames(w, named, d.Len()) }); err != nil {
			return err
		}
		line += ", the names of their files in " + names
	}
	fmt.Fprintln(s.log, line)
	return nil
}

// writeNames writes the names of the images' files, one in a line.
func writeNames(w io.Writer, named datasets.FileNamed, n int) error {
	for i := range n {
		if _, err := fmt.Fprintln(w, named.FileName(i)); err != nil {
			return err
		}
	}
	return nil
}

// check returns an error for flags that exclude or need each other.
func (c *encodeCommand) check() error {
	if err := c.encoderFlags.check(); err != nil {
		return err
	}
	if err := c.deviceFlags.check(c.Dir); err != nil {
		return err
	}
	switch {
	case c.Dir == "" && c.Encoder == "":
		return usagef("nothing to encode; want --run DIR, or --encoder FILE dataset=NAME")
	case c.Encoder != "" && (c.Best || c.Average):
		return usagef("--best and --average choose weights of a run; want --run DIR")
	case c.Encoder != "" && c.Images != "":
		return usagef("--images belongs to --run; want dataset=NAME for --encoder")
	case c.Images != "" && len(c.Set) > 0:
		return usagef("both --images and %s are given; want only one", c.Set[0])
	case c.Images == "" && c.Option != nil:
		return usagef("--option belongs to --images, which is absent")
	case c.Encoder == "" && c.Out == "" && (c.Images != "" || len(c.Set) > 0):
		return usagef("want --out FILE: codes.npy of the run's folder has the codes of the run's own images")
	}
	return nil
}

// encodeRun returns images and their codes: of the run, of a data set, or of --images.
func (c *encodeCommand) encodeRun(ctx context.Context, s *streams) (d datasets.Dataset, codes matrix.Matrix, err error) {
	e, err := c.openData(ctx, c.Dir, &c.otherData, s)
	if err != nil {
		return nil, codes, err
	}
	if err := c.use(e); err != nil {
		return nil, codes, err
	}
	switch {
	case c.Images != "":
		choice, clean, err := imagesOf(e, c.Images, c.Option)
		defer clean()
		if err != nil {
			return nil, codes, err
		}
		if e, err = onData(ctx, e, choice, s); err != nil {
			return nil, codes, fmt.Errorf("--images: %w (--option KEY=VALUE sets options of the data set %s)", err, choice.Name)
		}
	case len(c.Set) > 0:
		e = e.Some(c.Sample)
	default:
		e = e.Sample()
	}
	e.Progress = train.NewActivity(s.log)
	codes, err = e.Codes(ctx)
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
